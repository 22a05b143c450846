// SPDX-License-Identifier: MIT
//
// bench/shapes/sort.cu: keys, alone or with values, by sort.h beside cub::DeviceRadixSort. A line: TYPE n= apart= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_sort)
#define COARSEN_TYPE SHAPE_TYPE
#ifdef SHAPE_VALUE
#define COARSEN_VALUE SHAPE_VALUE
#endif
#include <coarsen/sort.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"), shape_data_of(s)), out(n);
    const shape_scratch scratch(SHAPE(_sort_scratch_bytes)(n), SHAPE(_sort_scratch_init));
#ifdef SHAPE_VALUE
    const shape_array<SHAPE_VALUE> in_values(n, 0, UNIFORM, 5), out_values(n);
    shape_contest(b, "sort", s, n, 2.0 * (double)(in.bytes + in_values.bytes),
                  {shape_result(out.data, n), shape_result(out_values.data, n)}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      return cub::DeviceRadixSort::SortPairs(
                          storage, bytes, (const SHAPE_TYPE *)in.data, out.data,
                          (const SHAPE_VALUE *)in_values.data, out_values.data, (int)n, 0,
                          8 * (int)sizeof(SHAPE_TYPE), stream);
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_sort_launch)(in.data, out.data, in_values.data, out_values.data,
                                                 n, scratch.memory.get(), scratch.bytes, stream);
                  });
#else
    shape_contest(b, "sort", s, n, 2.0 * (double)in.bytes, {shape_result(out.data, n)}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      return cub::DeviceRadixSort::SortKeys(
                          storage, bytes, (const SHAPE_TYPE *)in.data, out.data, (int)n, 0,
                          8 * (int)sizeof(SHAPE_TYPE), stream);
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_sort_launch)(in.data, out.data, n, scratch.memory.get(),
                                                 scratch.bytes, stream);
                  });
#endif
}
#undef SHAPE_TYPE
#undef SHAPE_VALUE
#undef SHAPE_NAME

#else

#include "shapes.h"

#include <cub/device/device_radix_sort.cuh>

#define SHAPE_TYPE unsigned int
#define SHAPE_NAME u32
#include "sort.cu"
#define SHAPE_TYPE long long
#define SHAPE_NAME i64
#include "sort.cu"
#define SHAPE_TYPE float
#define SHAPE_NAME f32
#include "sort.cu"
#define SHAPE_TYPE unsigned short
#define SHAPE_NAME u16
#include "sort.cu"
#define SHAPE_TYPE  unsigned int
#define SHAPE_VALUE unsigned int
#define SHAPE_NAME  u32_u32
#include "sort.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Sorts of random shapes: sort.h beside CUB's.");
}

#endif
