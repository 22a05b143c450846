// SPDX-License-Identifier: MIT
//
// coarsen/segmented/offsets.h for coarsen-tune: the sum of each segment, of which the mean length is given.
// docs/tune.md says what the lines "tune:" are.
//
// tune: --type f32,f64,i32 --size n=2^24 --width 256
// tune: --knob BLOCK_DIM=64:1024:*2 --default BLOCK_DIM=256
// tune: --knob COARSE_FACTOR=1,2,3,5,7,9 --default COARSE_FACTOR=5
// tune: --in 'TUNE_TYPE in[n]' --in 'int offsets[segments(n) + 1] up to n'
// tune: --out 'TUNE_TYPE out[segments(n)]'
// tune: --scratch 'unsigned char scratch[sums_scratch_bytes(n, segments(n))]'
// tune: --launch 'tuned_launch((const number *)in, offsets, (number *)out, n, scratch)'
// tune: --reference offsets.cu --tolerance 'tolerance(n)'
//
// The header takes fewer vectors where so many have no room, 3 * 16 bytes for each.
//
// tune: --require '48 * BLOCK_DIM * COARSE_FACTOR <= 63488'

#include <math.h>

// Sums of ints may overflow, which only an unsigned type defines. The reference adds floats up in
// double.
#ifdef TUNE_TYPE_i32
typedef unsigned int number, exact;
#else
typedef TUNE_TYPE number;
typedef double exact;
#endif

static inline size_t segments(size_t n)
{
    return coarsen_ceil_div(n, TUNE_WIDTH);
}

// Of a sum of n, as one segment may have them all: reduce.cu says why.
static inline double tolerance(double n)
{
    const double unit = sizeof(TUNE_TYPE) == 8 ? 0x1p-53 : 0x1p-24;
#if defined TUNE_TYPE_i32
    return 0;
#elif defined TUNE_DATA_uniform
    // A segment has twice the mean at most.
    return (sizeof(TUNE_TYPE) == 8 ? 1024 : 64) * unit * sqrt(fmin(n, 2.0 * TUNE_WIDTH));
#elif defined TUNE_DATA_file
    return -1;
#else
    return unit * n * fmax(32, n / (sizeof(TUNE_TYPE) == 8 ? 1024 : 32768));
#endif
}

#ifndef TUNE_REFERENCE

#define COARSEN_NAME   sums
#define COARSEN_TYPE   number
#define COARSEN_OFFSET int
#include <coarsen/segmented/offsets.h>

static inline cudaError_t tuned_launch(const number *in, const int *offsets, number *out, size_t n,
                                       void *scratch)
{
    return sums_launch(in, n, offsets, segments(n), out, scratch,
                       sums_scratch_bytes(n, segments(n)), 0);
}

#else

// A block a segment.
static __global__ void sums_kernel(const number *in, const int *offsets, number *out)
{
    __shared__ exact partial[32];
    const size_t s = blockIdx.x, end = (size_t)offsets[s + 1];
    exact sum = 0;
    for (size_t i = (size_t)offsets[s] + threadIdx.x; i < end; i += 32)
        sum += in[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned int t = 1; t < 32; t++)
            sum += partial[t];
        out[s] = (number)sum;
    }
}

static inline size_t sums_scratch_bytes(size_t, size_t)
{
    return 16;
}

static inline cudaError_t tuned_launch(const number *in, const int *offsets, number *out, size_t n,
                                       void *)
{
    return tune_launch_kernel(tune_dim(segments(n)), 32, 0, sums_kernel, in, offsets, out);
}

#endif
