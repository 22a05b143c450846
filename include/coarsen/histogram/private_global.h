// SPDX-License-Identifier: MIT
//
// coarsen/histogram/private_global.h: histogram, second rung. Over basic.h:
// a copy of the counts for each block, in global memory.
//
//     counts[b] = how many i in [0, n) have BIN(in[i]) == b, for each b in [0, NUM_BINS)
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #include <coarsen/histogram/private_global.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | NUM_BINS             | required         | number of bins, from 1 to 2147483647                 |
// | COARSEN_BIN(x)       | (x)              | bin of element x, an integer; x is not counted if    |
// |                      |                  | that is negative or not below NUM_BINS               |
// | COARSEN_COUNT        | unsigned int     | type of a count: that or unsigned long long          |
// | BLOCK_DIM            | 1024             | threads a block: a multiple of 32 from 32 to 1024    |
//
// Defines NAME_kernel(in, counts, n, copies), and
//
//     size_t      NAME_scratch_bytes(size_t n)        the copies of all blocks but the first
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//
// in: n elements in device memory, left as they are. counts: NUM_BINS of them, apart from in; what
// they held is lost. scratch: device memory, aligned as counts are, any content; one for each
// launch that may run at the same time.
// Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array and for too small a
// scratch, with nothing written. Deterministic. An unsigned int count that passes 2^32 goes on from
// 0.
//
// Price saved: the meetings, of which only those within a block are left. The first block's copy is
// counts itself, and the other blocks add theirs to it at the end.
// Price paid: NUM_BINS counts a block to set to zero, to read back and to add, by as many atomics
// again. It does not pay with fewer elements than bins in a block, and its scratch grows with n.
//
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
        const unsigned int bin = COARSEN_(bin)(in[i]);
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
