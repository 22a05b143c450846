// SPDX-License-Identifier: MIT
//
// bench/shapes/merge.cu: two sorted arrays by merge.h beside cub::DeviceMerge::MergeKeys. A line:
//     TYPE m= n= apart= apart_b= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_merge)
#define COARSEN_TYPE SHAPE_TYPE
#include <coarsen/merge.h>

SHAPE_CONTEST
{
    const size_t m = s.at("m"), n = s.at("n");
    const shape_array<SHAPE_TYPE> in_a(m, s.at("apart")), in_b(n, s.at("apart_b")), out(m + n);
    sorted_kernel<<<1024, 256>>>(in_a.data, m, shape_data_of(s), 0);
    sorted_kernel<<<1024, 256>>>(in_b.data, n, shape_data_of(s), 1);
    BENCH_CHECK(cudaGetLastError());
    const SHAPE_TYPE *const x = in_a.data, *const y = in_b.data;
    shape_contest(
        b, "merge", s, m + n, 2.0 * (double)out.bytes, {shape_result(out.data, m + n)}, "CUB",
        shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
            (void)in_a, (void)in_b;
            return cub::DeviceMerge::MergeKeys(storage, bytes, x, (int64_t)m, y, (int64_t)n,
                                               out.data, cuda::std::less<>{}, stream);
        }),
        [=](cudaStream_t stream) { return SHAPE(_merge_launch)(x, m, y, n, out.data, stream); });
}
#undef SHAPE_TYPE
#undef SHAPE_NAME

#else

#include "shapes.h"

#include <cub/device/device_merge.cuh>

// Sorted values: of a random number each, between those of its neighbours. sorted: all of the first array are before
// all of the second.
template <typename T>
__global__ void sorted_kernel(T *to, size_t n, shape_data data, unsigned int array)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const double part = ((double)i + (bench_random(array, i) >> 11) * 0x1p-53) / (double)n;
        const double place = data == FEW        ? floor(part * 5) / 5
                             : data == SKEWED   ? part * part * part * part
                             : data == SORTED   ? (part + array) / 2
                             : data == CONSTANT ? 0.5
                                                : part;
        to[i] = shape_value<T>::of((uint64_t)(place * 0x1p63) * 2);
    }
}

#define SHAPE_TYPE int
#define SHAPE_NAME i32
#include "merge.cu"
#define SHAPE_TYPE float
#define SHAPE_NAME f32
#include "merge.cu"
#define SHAPE_TYPE unsigned long long
#define SHAPE_NAME u64
#include "merge.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Merges of random shapes: merge.h beside CUB's.");
}

#endif
