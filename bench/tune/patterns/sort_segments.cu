// SPDX-License-Identifier: MIT
//
// coarsen/sort_segments.h for coarsen-tune: each row of a matrix of keys. docs/tune.md says what the lines "tune:" are.
//
// tune: --type u32,i32,f32,f64 --size rows=2^14 --width 4096
// tune: --knob BLOCK_DIM=64:1024:*2
// tune: --knob COARSE_FACTOR=4:32:*2
// tune u32: --default BLOCK_DIM=256 --default COARSE_FACTOR=16 --let words=1
// tune i32: --default BLOCK_DIM=256 --default COARSE_FACTOR=16 --let words=1
// tune f32: --default BLOCK_DIM=256 --default COARSE_FACTOR=16 --let words=1
// tune f64: --default BLOCK_DIM=512 --default COARSE_FACTOR=8 --let words=2
// tune: --in 'TUNE_TYPE in[rows * TUNE_WIDTH]' --out 'TUNE_TYPE out[rows * TUNE_WIDTH]'
// tune: --scratch 'unsigned char scratch[tuned_scratch_bytes_rows(rows, TUNE_WIDTH)]'
// tune: --launch 'tuned_launch_rows(in, out, rows, TUNE_WIDTH, scratch, tuned_scratch_bytes_rows(rows, TUNE_WIDTH), 0)'
// tune: --reference sort_segments.cu --tolerance 0 --work '(double)rows * TUNE_WIDTH'
//
// The header's static_assert: a tile in shared memory, one place in 33 free, and where segments are.
//
// tune: --require '(BLOCK_DIM * COARSE_FACTOR / 32 * 33 + 1) * words + 4 * BLOCK_DIM + 8 <= 12288'

#ifndef TUNE_REFERENCE

#define COARSEN_NAME tuned
#define COARSEN_TYPE TUNE_TYPE
#include <coarsen/sort_segments.h>

#else

#include "order.h"

// Merges each two sorted runs of a row, of `run` keys: a key goes behind those of the other run that are before it.
static __global__ void tuned_kernel(const TUNE_TYPE *in, TUNE_TYPE *out, size_t n, size_t width,
                                    size_t run)
{
    const size_t i = blockIdx.x * (size_t)256 + threadIdx.x;
    if (i >= n)
        return;
    const size_t row = i / width * width,
                 mine = (i - row) / run * run; // where its run begins, in the row
    const bool second = mine / run % 2;
    const size_t other = second ? mine - run : mine + run;
    const size_t end = other + run < width ? other + run : width;
    size_t low = other < width ? other : width, high = end;
    const unsigned long long bits = tune_order(in[i]);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const unsigned long long there = tune_order(in[row + middle]);
        if (there < bits || (second && there == bits))
            low = middle + 1;
        else
            high = middle;
    }
    const size_t before = other < width ? low - other : 0;
    out[row + (second ? other : mine) + (i - row - mine) + before] = in[i];
}

static inline unsigned int tuned_passes(size_t width)
{
    unsigned int passes = 1;
    while ((size_t)1 << passes < width)
        passes++;
    return passes;
}

static inline size_t tuned_scratch_bytes_rows(size_t rows, size_t width)
{
    return rows * width * sizeof(TUNE_TYPE);
}

static inline cudaError_t tuned_launch_rows(const TUNE_TYPE *in, TUNE_TYPE *out, size_t rows,
                                            size_t width, void *scratch, size_t, cudaStream_t)
{
    const size_t n = rows * width;
    const unsigned int passes = tuned_passes(width);
    cudaError_t status = cudaSuccess;
    for (unsigned int p = 0; p < passes && status == cudaSuccess; p++) {
        TUNE_TYPE *const to = (passes - p) % 2 ? out : (TUNE_TYPE *)scratch;
        status = tune_launch_kernel(tune_dim(coarsen_ceil_div(n, 256)), 256, 0, tuned_kernel, in,
                                    to, n, width, (size_t)1 << p);
        in = to;
    }
    return status;
}

#endif
