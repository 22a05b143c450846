// SPDX-License-Identifier: MIT
//
// bench/shapes/sort_segments.cu: keys sorted within segments by sort_segments.h beside cub::DeviceSegmentedSort. A line:
//     TYPE n= mean= lengths= apart= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_segments)
#define COARSEN_TYPE SHAPE_TYPE
#include <coarsen/sort_segments.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_segments of(s, n);
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"), shape_data_of(s)), out(n);
    const shape_scratch scratch(SHAPE(_segments_scratch_bytes)(n, of.segments));
    shape_contest(
        b, "sort_segments", s, n, 2.0 * (double)in.bytes + 4.0 * (double)of.segments,
        {shape_result(out.data, n)}, "CUB",
        shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
            return cub::DeviceSegmentedSort::SortKeys(storage, bytes, (const SHAPE_TYPE *)in.data,
                                                      out.data, (int)n, (int)of.segments,
                                                      of.offsets, of.offsets + 1, stream);
        }),
        [=](cudaStream_t stream) {
            return SHAPE(_segments_launch)(in.data, out.data, n, of.offsets, of.segments,
                                           scratch.memory.get(), scratch.bytes, stream);
        },
        true);
}
#undef SHAPE_TYPE
#undef SHAPE_NAME

#else

#include "segments.h"

#include <cub/device/device_segmented_sort.cuh>

#define SHAPE_TYPE unsigned int
#define SHAPE_NAME u32
#include "sort_segments.cu"
#define SHAPE_TYPE double
#define SHAPE_NAME f64
#include "sort_segments.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Sorts of random segments: sort_segments.h beside CUB's.");
}

#endif
