// SPDX-License-Identifier: MIT
//
// coarsen/segmented/rows.h for coarsen-tune: the sum of each row. docs/tune.md says what the lines
// "tune:" are.
//
// tune: --type f32,f64,i32 --size rows=2^16 --width 256
// tune: --knob BLOCK_DIM=128:1024:*2 --default BLOCK_DIM=256
// tune: --knob COARSE_FACTOR=1:16:*2 --default COARSE_FACTOR=4
// tune: --in 'TUNE_TYPE in[rows * TUNE_WIDTH]' --out 'TUNE_TYPE out[rows]'
// tune: --scratch 'unsigned char scratch[sums_scratch_bytes(rows, TUNE_WIDTH)]'
// tune: --launch 'tuned_launch((const number *)in, (number *)out, rows, scratch)'
// tune: --reference rows.cu --tolerance 'tolerance(TUNE_WIDTH)' --work '(double)rows * TUNE_WIDTH'

#include <math.h>

// Sums of ints may overflow, which only an unsigned type defines. The reference adds floats up in
// double.
#ifdef TUNE_TYPE_i32
typedef unsigned int number, exact;
#else
typedef TUNE_TYPE number;
typedef double exact;
#endif

// Of a sum of so many: reduce.cu says why.
static inline double tolerance(double n)
{
    const double unit = sizeof(TUNE_TYPE) == 8 ? 0x1p-53 : 0x1p-24;
#if defined TUNE_TYPE_i32
    return 0;
#elif defined TUNE_DATA_uniform
    return (sizeof(TUNE_TYPE) == 8 ? 1024 : 64) * unit * sqrt(n);
#elif defined TUNE_DATA_file
    return -1;
#else
    return unit * n * fmax(32, n / (sizeof(TUNE_TYPE) == 8 ? 1024 : 32768));
#endif
}

#ifndef TUNE_REFERENCE

#define COARSEN_NAME sums
#define COARSEN_TYPE number
#include <coarsen/segmented/rows.h>

static inline cudaError_t tuned_launch(const number *in, number *out, size_t rows, void *scratch)
{
    return sums_launch(in, TUNE_WIDTH, out, rows, TUNE_WIDTH, scratch,
                       sums_scratch_bytes(rows, TUNE_WIDTH), 0);
}

#else

static __global__ void sums_kernel(const number *in, number *out, size_t rows) // a block a row
{
    __shared__ exact partial[32];
    const size_t r = blockIdx.x;
    exact sum = 0;
    for (size_t i = threadIdx.x; i < TUNE_WIDTH; i += 32)
        sum += in[r * TUNE_WIDTH + i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned int t = 1; t < 32; t++)
            sum += partial[t];
        out[r] = (number)sum;
    }
}

static inline size_t sums_scratch_bytes(size_t, size_t)
{
    return 16;
}

static inline cudaError_t tuned_launch(const number *in, number *out, size_t rows, void *)
{
    return tune_launch_kernel(tune_dim(rows), 32, 0, sums_kernel, in, out, rows);
}

#endif
