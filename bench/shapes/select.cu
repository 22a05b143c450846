// SPDX-License-Identifier: MIT
//
// bench/shapes/select.cu: selection, and unique, by select.h beside cub::DeviceSelect. A line:
//     TYPE n= apart= data= percent=
// percent: of the range of values that are kept; unique's line has none.
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_select)
#define COARSEN_TYPE SHAPE_TYPE
#ifdef SHAPE_UNIQUE
#define COARSEN_SAME(a, b) ((a) == (b))
#else
#define COARSEN_SCALAR      SHAPE_TYPE
#define COARSEN_IF(x, i, s) ((x) < (s))
#endif
#include <coarsen/select.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"), shape_data_of(s)), out(n);
    const shape_array<unsigned long long> count(1);
    const shape_scratch scratch(SHAPE(_select_scratch_bytes)(n), SHAPE(_select_scratch_init));
#ifndef SHAPE_UNIQUE
    const size_t percent = s.at("percent");
    const SHAPE_TYPE limit =
        shape_value<SHAPE_TYPE>::of(percent >= 100 ? ~0ull : (uint64_t)(percent * (0x1p64 / 100)));
#endif
    shape_contest(b, "select", s, n, (double)in.bytes,
                  {shape_result(out.data, n), shape_result(count.data, 1)}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      const SHAPE_TYPE *const from = in.data;
#ifdef SHAPE_UNIQUE
                      return cub::DeviceSelect::Unique(storage, bytes, from, out.data, count.data,
                                                       (int)n, stream);
#else
            return cub::DeviceSelect::If(storage, bytes, from, out.data, count.data, (int)n,
                                         below<SHAPE_TYPE>{limit}, stream);
#endif
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_select_launch)(in.data, out.data, n, count.data,
#ifndef SHAPE_UNIQUE
                                                   limit,
#endif
                                                   scratch.memory.get(), scratch.bytes, stream);
                  });
}
#undef SHAPE_TYPE
#undef SHAPE_NAME
#undef SHAPE_UNIQUE

#else

#include "shapes.h"

#include <cub/device/device_select.cuh>

template <typename T> struct below {
    T limit;
    __host__ __device__ bool operator()(T x) const
    {
        return x < limit;
    }
};

#define SHAPE_TYPE int
#define SHAPE_NAME i32
#include "select.cu"
#define SHAPE_TYPE double
#define SHAPE_NAME f64
#include "select.cu"
#define SHAPE_TYPE unsigned char
#define SHAPE_NAME u8
#include "select.cu"
#define SHAPE_TYPE int
#define SHAPE_NAME i32_unique
#define SHAPE_UNIQUE
#include "select.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Selections of random shapes: select.h beside CUB's.");
}

#endif
