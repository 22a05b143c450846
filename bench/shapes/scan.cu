// SPDX-License-Identifier: MIT
//
// bench/shapes/scan.cu: running sums by scan.h beside cub::DeviceScan. A line: TYPE n= apart= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME      SHAPE(_scan)
#define COARSEN_TYPE      SHAPE_TYPE
#define COARSEN_ACC       SHAPE_ACC
#define COARSEN_EXCLUSIVE SHAPE_EXCLUSIVE
#include <coarsen/scan.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"), shape_data_of(s));
    const shape_array<SHAPE_ACC> out(n);
    const shape_scratch scratch(SHAPE(_scan_scratch_bytes)(n), SHAPE(_scan_scratch_init));
    shape_contest(b, "scan", s, n, (double)(in.bytes + out.bytes),
                  {shape_result(out.data, n, shape_slack<SHAPE_ACC>(n))}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      const SHAPE_TYPE *const from = in.data;
                      return SHAPE_EXCLUSIVE
                                 ? cub::DeviceScan::ExclusiveScan(storage, bytes, from, out.data,
                                                                  cuda::std::plus<>{}, (SHAPE_ACC)0,
                                                                  (int)n, stream)
                                 : cub::DeviceScan::InclusiveScanInit(storage, bytes, from,
                                                                      out.data, cuda::std::plus<>{},
                                                                      (SHAPE_ACC)0, (int)n, stream);
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_scan_launch)(in.data, out.data, n, scratch.memory.get(),
                                                 scratch.bytes, stream);
                  });
}
#undef SHAPE_TYPE
#undef SHAPE_ACC
#undef SHAPE_NAME
#undef SHAPE_EXCLUSIVE

#else

#include "shapes.h"

#include <cub/device/device_scan.cuh>

#define SHAPE_TYPE      float
#define SHAPE_ACC       float
#define SHAPE_NAME      f32
#define SHAPE_EXCLUSIVE 0
#include "scan.cu"
#define SHAPE_TYPE      double
#define SHAPE_ACC       double
#define SHAPE_NAME      f64
#define SHAPE_EXCLUSIVE 0
#include "scan.cu"
#define SHAPE_TYPE      int
#define SHAPE_ACC       int
#define SHAPE_NAME      i32
#define SHAPE_EXCLUSIVE 1
#include "scan.cu"
#define SHAPE_TYPE      unsigned char
#define SHAPE_ACC       unsigned int
#define SHAPE_NAME      u8
#define SHAPE_EXCLUSIVE 0
#include "scan.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Running sums of random shapes: scan.h beside CUB's.");
}

#endif
