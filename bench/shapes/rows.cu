// SPDX-License-Identifier: MIT
//
// bench/shapes/rows.cu: the sum of each row of a matrix by segmented/rows.h beside cub::DeviceSegmentedReduce with
// segments of one size. A line: TYPE rows= width= apart= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_rows)
#define COARSEN_TYPE SHAPE_TYPE
#define COARSEN_ACC  SHAPE_ACC
#include <coarsen/segmented/rows.h>

SHAPE_CONTEST
{
    const size_t rows = s.at("rows"), width = s.at("width");
    const shape_array<SHAPE_TYPE> in(rows * width, s.at("apart"), shape_data_of(s));
    const shape_array<SHAPE_ACC> out(rows);
    const shape_scratch scratch(SHAPE(_rows_scratch_bytes)(rows, width), SHAPE(_rows_scratch_init));
    shape_contest(b, "rows", s, rows * width, (double)(in.bytes + out.bytes),
                  {shape_result(out.data, rows, shape_slack<SHAPE_ACC>(width))}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      return cub::DeviceSegmentedReduce::Sum(
                          storage, bytes, (const SHAPE_TYPE *)in.data, out.data,
                          (cuda::std::int64_t)rows, (int)width, stream);
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_rows_launch)(in.data, width, out.data, rows, width,
                                                 scratch.memory.get(), scratch.bytes, stream);
                  });
}
#undef SHAPE_TYPE
#undef SHAPE_ACC
#undef SHAPE_NAME

#else

#include "shapes.h"

#include <cub/device/device_segmented_reduce.cuh>

#define SHAPE_TYPE float
#define SHAPE_ACC  float
#define SHAPE_NAME f32
#include "rows.cu"
#define SHAPE_TYPE double
#define SHAPE_ACC  double
#define SHAPE_NAME f64
#include "rows.cu"
#define SHAPE_TYPE unsigned char
#define SHAPE_ACC  unsigned int
#define SHAPE_NAME u8
#include "rows.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Sums of rows of random shapes: segmented/rows.h beside CUB's.");
}

#endif
