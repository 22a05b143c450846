// SPDX-License-Identifier: MIT
//
// coarsen/segmented/columns.h for coarsen-tune: the sum of each column. docs/tune.md says what the lines
// "tune:" are.
//
// tune: --type f32,f64,i32 --size rows=2^16 --width 256
// tune: --knob BLOCK_DIM=128:1024:*2 --default BLOCK_DIM=512
// tune: --knob COARSE_FACTOR=1:16:*2 --default COARSE_FACTOR=4
// tune: --in 'TUNE_TYPE in[rows * TUNE_WIDTH]' --out 'TUNE_TYPE out[TUNE_WIDTH]'
// tune: --scratch 'unsigned char scratch[tuned_scratch_bytes(rows, TUNE_WIDTH)]'
// tune: --launch 'launch((const number *)in, (number *)out, rows, scratch)'
// tune: --reference columns.cu --tolerance 'tolerance(rows)' --work '(double)rows * TUNE_WIDTH'

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

#define COARSEN_NAME tuned
#define COARSEN_TYPE number
#include <coarsen/segmented/columns.h>

static inline cudaError_t launch(const number *in, number *out, size_t rows, void *scratch)
{
    return tuned_launch(in, TUNE_WIDTH, out, rows, TUNE_WIDTH, scratch,
                        tuned_scratch_bytes(rows, TUNE_WIDTH), 0);
}

#else

static __global__ void tuned_kernel(const number *in, number *out, size_t rows) // a thread a column
{
    const size_t c = (size_t)blockIdx.x * 32 + threadIdx.x;
    exact sum = 0;
    for (size_t r = 0; r < rows && c < TUNE_WIDTH; r++)
        sum += in[r * TUNE_WIDTH + c];
    if (c < TUNE_WIDTH)
        out[c] = (number)sum;
}

static inline size_t tuned_scratch_bytes(size_t, size_t)
{
    return 16;
}

static inline cudaError_t launch(const number *in, number *out, size_t rows, void *)
{
    return tune_launch_kernel(tune_dim(coarsen_ceil_div(TUNE_WIDTH, 32)), 32, 0, tuned_kernel, in,
                              out, rows);
}

#endif
