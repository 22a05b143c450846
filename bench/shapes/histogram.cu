// SPDX-License-Identifier: MIT
//
// bench/shapes/histogram.cu: counts of values in even bins by histogram.h beside cub::DeviceHistogram::HistogramEven. A
// line: TYPE_BINS n= apart= data=
//
// The file includes itself, once for each type and number of bins.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_counts)
#define COARSEN_TYPE SHAPE_TYPE
#define NUM_BINS     SHAPE_BINS
#include <coarsen/histogram.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n");
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"));
    const shape_array<unsigned int> counts(SHAPE_BINS);
    fill_kernel<<<1024, 256>>>(in.data, n, shape_data_of(s), SHAPE_BINS);
    BENCH_CHECK(cudaGetLastError());
    shape_contest(b, "histogram", s, n, (double)in.bytes, {shape_result(counts.data, SHAPE_BINS)},
                  "CUB", shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      return cub::DeviceHistogram::HistogramEven(
                          storage, bytes, (const SHAPE_TYPE *)in.data, counts.data, SHAPE_BINS + 1,
                          0, SHAPE_BINS, (int)n, stream);
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_counts_launch)(in.data, counts.data, n, stream);
                  });
}
#undef SHAPE_TYPE
#undef SHAPE_BINS
#undef SHAPE_NAME

#else

#include "shapes.h"

#include <cub/device/device_histogram.cuh>

// One value in 16 is in no bin, where the type has such values.
template <typename T>
__global__ void fill_kernel(T *to, size_t n, shape_data data, unsigned int bins)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const uint64_t part = (shape_bits(i, n, data, 3) >> 32) * (bins + bins / 16);
        to[i] = (T)(part >> 32);
    }
}

#define SHAPE_TYPE unsigned char
#define SHAPE_BINS 256
#define SHAPE_NAME u8_256
#include "histogram.cu"
#define SHAPE_TYPE unsigned char
#define SHAPE_BINS 37
#define SHAPE_NAME u8_37
#include "histogram.cu"
#define SHAPE_TYPE unsigned short
#define SHAPE_BINS 3000
#define SHAPE_NAME u16_3000
#include "histogram.cu"
#define SHAPE_TYPE int
#define SHAPE_BINS 100
#define SHAPE_NAME i32_100
#include "histogram.cu"
#define SHAPE_TYPE int
#define SHAPE_BINS 1500
#define SHAPE_NAME i32_1500
#include "histogram.cu"
#define SHAPE_TYPE int
#define SHAPE_BINS 20000
#define SHAPE_NAME i32_20000
#include "histogram.cu"
#define SHAPE_TYPE int
#define SHAPE_BINS 150000
#define SHAPE_NAME i32_150000
#include "histogram.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "Histograms of random shapes: histogram.h beside CUB's.");
}

#endif
