// SPDX-License-Identifier: MIT
//
// bench/shapes/map.cu: sums of two arrays by map.h beside cub::DeviceTransform. A line:
//     TYPE n= apart= apart_b= apart_out= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME      SHAPE(_add)
#define COARSEN_TYPE      SHAPE_TYPE
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((SHAPE_TYPE)((a) + (b)))
#include <coarsen/map.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_array<SHAPE_TYPE> in_a(n, s.at("apart"), shape_data_of(s), 1);
    const shape_array<SHAPE_TYPE> in_b(n, s.at("apart_b"), shape_data_of(s), 9);
    const shape_array<SHAPE_TYPE> out(n, s.at("apart_out"));
    const SHAPE_TYPE *const x = in_a.data, *const y = in_b.data;
    shape_contest(
        b, "map", s, n, 3.0 * (double)in_a.bytes, {shape_result(out.data, n)}, "CUB",
        [=](cudaStream_t stream) {
            (void)in_a, (void)in_b;
            return cub::DeviceTransform::Transform(cuda::std::make_tuple(x, y), out.data, n,
                                                   addition<SHAPE_TYPE>(), stream);
        },
        [=](cudaStream_t stream) { return SHAPE(_add_launch)(x, y, out.data, n, stream); });
}
#undef SHAPE_TYPE
#undef SHAPE_NAME

#else

#include "shapes.h"

#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>

template <typename T> struct addition {
    __host__ __device__ T operator()(T a, T b) const
    {
        return (T)(a + b);
    }
};

#define SHAPE_TYPE float
#define SHAPE_NAME f32
#include "map.cu"
#define SHAPE_TYPE double
#define SHAPE_NAME f64
#include "map.cu"
#define SHAPE_TYPE unsigned short
#define SHAPE_NAME u16
#include "map.cu"
#define SHAPE_TYPE unsigned char
#define SHAPE_NAME u8
#include "map.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Sums of two arrays, of random shapes: map.h beside CUB's.");
}

#endif
