// SPDX-License-Identifier: MIT
//
// coarsen/histogram/private_global.h: second rung, basic.h + a copy per block, in global memory.
//     counts[b] = the number of i in [0, n) with BIN(in[i]) == b, for each b in [0, NUM_BINS)
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #include <coarsen/histogram/private_global.h>
//
// | parameter      | default      | meaning                                                      |
// |----------------|--------------|--------------------------------------------------------------|
// | COARSEN_NAME   | required     | prefix of every name defined here                            |
// | COARSEN_TYPE   | required     | element type                                                 |
// | NUM_BINS       | required     | number of bins, from 1 to 2147483647                         |
// | COARSEN_BIN(x) | (x)          | bin of x, an integer; x is not counted if < 0 or >= NUM_BINS |
// | COARSEN_COUNT  | unsigned int | type of a count: unsigned int or unsigned long long          |
// | BLOCK_DIM      | 1024         | threads per block: a multiple of 32 from 32 to 1024          |
// Defines NAME_kernel(in, counts, n, copies) and
//     size_t      NAME_scratch_bytes(size_t n)    the copies of all blocks except the first
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, unchanged. counts: NUM_BINS counts, apart from in; overwritten.
// scratch: device memory with any content, aligned as counts is; one per launch in flight. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array, or a scratch that is too
// small, with nothing written. Deterministic. An unsigned int count wraps to 0 at 2^32.
//
// Price saved: collisions. Atomics now collide only within a block. The first block's copy is
// counts itself; at the end the other blocks add their copies to it.
// Price paid: per block, NUM_BINS counts to set to zero, read back and add with as many atomics.
// This does not pay if a block has fewer elements than bins. The scratch grows with n.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 9.4.

#define COARSEN_BEGIN COARSEN_PATTERN_HISTOGRAM
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n, COARSEN_COUNT *copies)
{
    COARSEN_COUNT *const copy =
        blockIdx.x == 0 ? counts : copies + (size_t)(blockIdx.x - 1) * NUM_BINS;
    const size_t i = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (i < n) {
        const unsigned long long bin = COARSEN_(bin)(in[i]);
        if (bin < NUM_BINS)
            atomicAdd(copy + bin, (COARSEN_COUNT)1);
    }
    if (blockIdx.x == 0)
        return;

    __syncthreads();
    for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += BLOCK_DIM)
        if (copy[bin] > 0)
            atomicAdd(counts + bin, copy[bin]);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    const size_t blocks = coarsen_ceil_div(n, BLOCK_DIM), copy = NUM_BINS * sizeof(COARSEN_COUNT);
    return blocks < 2 ? 0 : blocks - 1 <= (size_t)-1 / copy ? (blocks - 1) * copy : (size_t)-1;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    COARSEN_COUNT *const copies = (COARSEN_COUNT *)scratch;
    const size_t blocks = coarsen_ceil_div(n, BLOCK_DIM), bytes = COARSEN_(scratch_bytes)(n);
    if (!coarsen_array_ok(copies, bytes / sizeof(*copies)) || scratch_bytes < bytes)
        return cudaErrorInvalidValue;
    cudaError_t status = COARSEN_(start)(in, counts, n, blocks, stream);
    if (status == cudaSuccess && bytes > 0)
        status = cudaMemsetAsync(copies, 0, bytes, stream);
    if (status != cudaSuccess || n == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, counts, n, copies);
}
#endif

#define COARSEN_END
#include "../base.h"
