// SPDX-License-Identifier: MIT
//
// coarsen/histogram/vectorized.h: sixth rung, interleaved.h + 16-byte loads, CFACTOR in flight.
//     counts[b] = the number of i in [0, n) with BIN(in[i]) == b, for each b in [0, NUM_BINS)
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #define CFACTOR      3
//     #include <coarsen/histogram/vectorized.h>
//
// | parameter      | default      | meaning                                                      |
// |----------------|--------------|--------------------------------------------------------------|
// | COARSEN_NAME   | required     | prefix of every name defined here                            |
// | COARSEN_TYPE   | required     | element type                                                 |
// | NUM_BINS       | required     | number of bins, from 1 to 12288, which take 48 KiB           |
// | COARSEN_BIN(x) | (x)          | bin of x, an integer; x is not counted if < 0 or >= NUM_BINS |
// | COARSEN_COUNT  | unsigned int | type of a count: unsigned int or unsigned long long          |
// | BLOCK_DIM      | 1024         | threads per block: a multiple of 32 from 32 to 1024          |
// | CFACTOR        | 4; 3 of bytes | 16-byte vectors per thread, from 1 to 32                    |
// Defines NAME_kernel(in, counts, n), what block/vector.h defines, and
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             cudaStream_t stream)
// in: n elements in device memory, unchanged. counts: NUM_BINS counts, apart from in; overwritten.
// Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, with nothing written.
// Deterministic. An unsigned int count wraps to 0 at 2^32.
//
// Price saved: load instructions and waiting. A load of a warp brings 512 bytes, and CFACTOR loads
// are in flight at once. There are fewer blocks still, as a thread counts CFACTOR times 16 bytes.
// Price paid: 4 CFACTOR registers per thread, and separate code for the unaligned ends of an array.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 9.5; V.
// Volkov, Better Performance at Lower Occupancy (2010), for the loads in flight.

#define COARSEN_BEGIN COARSEN_PATTERN_HISTOGRAM
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif
#ifndef CFACTOR
#define CFACTOR (sizeof(COARSEN_TYPE) == 1 ? 3 : 4) // 4 vectors of bytes spill registers
#elif CFACTOR < 1 || CFACTOR > 32
#error "coarsen/histogram: CFACTOR must be from 1 to 32"
#endif

#include "../block/vector.h"

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n)
{
    __shared__ unsigned int copy[NUM_BINS];
    for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += BLOCK_DIM)
        copy[bin] = 0;
    __syncthreads();

    const COARSEN_(parts) parts = COARSEN_(split)(in, n);
    const size_t first = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    const size_t threads = (size_t)gridDim.x * BLOCK_DIM;
    COARSEN_(vector) load[CFACTOR];
#pragma unroll
    for (unsigned int k = 0; k < CFACTOR; k++)
        if (first + k * threads < parts.vectors)
            load[k] = parts.first[first + k * threads];
#pragma unroll
    for (unsigned int k = 0; k < CFACTOR; k++)
        if (first + k * threads < parts.vectors)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
                const unsigned long long bin = COARSEN_(bin)(load[k].item[j]);
                if (bin < NUM_BINS)
                    atomicAdd(copy + bin, 1u);
            }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < parts.rest) {
        const unsigned long long bin = COARSEN_(bin)(in[COARSEN_(rest)(parts, threadIdx.x)]);
        if (bin < NUM_BINS)
            atomicAdd(copy + bin, 1u);
    }

    __syncthreads();
    for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += BLOCK_DIM)
        if (copy[bin] > 0)
            atomicAdd(counts + bin, (COARSEN_COUNT)copy[bin]);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                          cudaStream_t stream)
{
    const size_t blocks = coarsen_ceil_div(n, (size_t)BLOCK_DIM * CFACTOR * COARSEN_ITEMS);
    const cudaError_t status = COARSEN_(start)(in, counts, n, blocks, stream);
    if (status != cudaSuccess || n == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, counts, n);
}
#endif

#define COARSEN_END
#include "../base.h"
