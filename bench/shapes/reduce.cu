// SPDX-License-Identifier: MIT
//
// bench/shapes/reduce.cu: sums by reduce.h beside cub::DeviceReduce::Sum. A line: TYPE n= apart= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_sum)
#define COARSEN_TYPE SHAPE_TYPE
#define COARSEN_ACC  SHAPE_ACC
#include <coarsen/reduce.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"), shape_data_of(s));
    const shape_array<SHAPE_ACC> out(1);
    const shape_scratch scratch(SHAPE(_sum_scratch_bytes)(n), SHAPE(_sum_scratch_init));
    shape_contest(b, "reduce", s, n, (double)in.bytes,
                  {shape_result(out.data, 1, shape_slack<SHAPE_ACC>(n))}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      return cub::DeviceReduce::Sum(storage, bytes, (const SHAPE_TYPE *)in.data,
                                                    out.data, (int)n, stream);
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_sum_launch)(in.data, out.data, n, scratch.memory.get(),
                                                scratch.bytes, stream);
                  });
}
#undef SHAPE_TYPE
#undef SHAPE_ACC
#undef SHAPE_NAME

#else

#include "shapes.h"

#include <cub/device/device_reduce.cuh>

#define SHAPE_TYPE float
#define SHAPE_ACC  float
#define SHAPE_NAME f32
#include "reduce.cu"
#define SHAPE_TYPE double
#define SHAPE_ACC  double
#define SHAPE_NAME f64
#include "reduce.cu"
#define SHAPE_TYPE int
#define SHAPE_ACC  int
#define SHAPE_NAME i32
#include "reduce.cu"
#define SHAPE_TYPE signed char
#define SHAPE_ACC  int
#define SHAPE_NAME i8
#include "reduce.cu"
#define SHAPE_TYPE unsigned short
#define SHAPE_ACC  unsigned long long
#define SHAPE_NAME u16
#include "reduce.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Sums of random shapes: reduce.h beside CUB's.");
}

#endif
