// SPDX-License-Identifier: MIT
//
// coarsen/histogram/basic.h: histogram, first rung: one thread and one atomic per element.
//     counts[b] = the number of i in [0, n) with BIN(in[i]) == b, for each b in [0, NUM_BINS)
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #include <coarsen/histogram/basic.h>
//
// | parameter      | default      | meaning                                                      |
// |----------------|--------------|--------------------------------------------------------------|
// | COARSEN_NAME   | required     | prefix of every name defined here                            |
// | COARSEN_TYPE   | required     | element type                                                 |
// | NUM_BINS       | required     | number of bins, from 1 to 2147483647                         |
// | COARSEN_BIN(x) | (x)          | bin of x, an integer; x is not counted if < 0 or >= NUM_BINS |
// | COARSEN_COUNT  | unsigned int | type of a count: unsigned int or unsigned long long          |
// | BLOCK_DIM      | 1024         | threads per block: a multiple of 32 from 32 to 1024          |
// Defines NAME_kernel(in, counts, n) and
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             cudaStream_t stream)
// in: n elements in device memory, unchanged. counts: NUM_BINS counts, apart from in; overwritten.
// Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, with nothing written.
// Deterministic. An unsigned int count wraps to 0 at 2^32.
//
// Price saved: none yet. Price paid: one global atomic per element. Atomics on the same bin wait
// for each other: the fewer bins the data uses, the more of them wait.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 9.2.

#define COARSEN_BEGIN COARSEN_PATTERN_HISTOGRAM
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n)
{
    const size_t i = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (i < n) {
        const unsigned long long bin = COARSEN_(bin)(in[i]);
        if (bin < NUM_BINS)
            atomicAdd(counts + bin, (COARSEN_COUNT)1);
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                          cudaStream_t stream)
{
    const size_t blocks = coarsen_ceil_div(n, BLOCK_DIM);
    const cudaError_t status = COARSEN_(start)(in, counts, n, blocks, stream);
    if (status != cudaSuccess || n == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, counts, n);
}
#endif

#define COARSEN_END
#include "../base.h"
