// SPDX-License-Identifier: MIT
//
// bench/shapes/segmented.cu: the sum of each segment by segmented/offsets.h beside cub::DeviceSegmentedReduce. A line:
//     TYPE n= mean= lengths= apart= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME   SHAPE(_segmented)
#define COARSEN_TYPE   SHAPE_TYPE
#define COARSEN_OFFSET int
#include <coarsen/segmented/offsets.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_segments of(s, n);
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"), shape_data_of(s)), out(of.segments);
    const shape_scratch scratch(SHAPE(_segmented_scratch_bytes)(n, of.segments),
                                SHAPE(_segmented_scratch_init));
    shape_contest(b, "segmented", s, n, (double)(in.bytes + out.bytes) + 4.0 * (double)of.segments,
                  {shape_result(out.data, of.segments, shape_slack<SHAPE_TYPE>(n))}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      return cub::DeviceSegmentedReduce::Sum(
                          storage, bytes, (const SHAPE_TYPE *)in.data, out.data, (int)of.segments,
                          of.offsets, of.offsets + 1, stream);
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_segmented_launch)(in.data, n, of.offsets, of.segments, out.data,
                                                      scratch.memory.get(), scratch.bytes, stream);
                  });
}
#undef SHAPE_TYPE
#undef SHAPE_NAME

#else

#include "segments.h"

#include <cub/device/device_segmented_reduce.cuh>

#define SHAPE_TYPE float
#define SHAPE_NAME f32
#include "segmented.cu"
#define SHAPE_TYPE long long
#define SHAPE_NAME i64
#include "segmented.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Sums of random segments: segmented/offsets.h beside CUB's.");
}

#endif
