// SPDX-License-Identifier: MIT
//
// bench/shapes/merge_sort.cu: keys sorted by comparisons by merge_sort.h beside cub::DeviceMergeSort. A line:
//     TYPE n= apart= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_merge_sort)
#define COARSEN_TYPE SHAPE_TYPE
#include <coarsen/merge_sort.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"), shape_data_of(s)), out(n);
    const shape_scratch scratch(SHAPE(_merge_sort_scratch_bytes)(n));
    shape_contest(b, "merge_sort", s, n, 2.0 * (double)in.bytes, {shape_result(out.data, n)}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      return cub::DeviceMergeSort::StableSortKeysCopy(
                          storage, bytes, (const SHAPE_TYPE *)in.data, out.data, (long long)n,
                          cuda::std::less<>{}, stream);
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_merge_sort_launch)(in.data, out.data, n, scratch.memory.get(),
                                                       scratch.bytes, stream);
                  });
}
#undef SHAPE_TYPE
#undef SHAPE_NAME

#else

#include "shapes.h"

#include <cub/device/device_merge_sort.cuh>

#define SHAPE_TYPE int
#define SHAPE_NAME i32
#include "merge_sort.cu"
#define SHAPE_TYPE double
#define SHAPE_NAME f64
#include "merge_sort.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv,
                       "Sorts by comparisons, of random shapes: merge_sort.h beside CUB's.");
}

#endif
