// SPDX-License-Identifier: MIT
//
// coarsen/histogram/private_shared.h: histogram, third rung. Over private_global.h:
// the copies are in shared memory.
//
//     counts[b] = how many i in [0, n) have BIN(in[i]) == b, for each b in [0, NUM_BINS)
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #include <coarsen/histogram/private_shared.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | NUM_BINS             | required         | number of bins, from 1 to 12288, which take 48 KiB   |
// | COARSEN_BIN(x)       | (x)              | bin of element x, an integer; x is not counted if    |
// |                      |                  | that is negative or not below NUM_BINS               |
// | COARSEN_COUNT        | unsigned int     | type of a count: that or unsigned long long          |
// | BLOCK_DIM            | 1024             | threads a block: a multiple of 32 from 32 to 1024    |
//
// Defines NAME_add(copy, x), for any 32-bit counters, and NAME_kernel(in, counts, n), and
//
//     size_t      NAME_scratch_bytes(size_t n)        0
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//
// in: n elements in device memory, left as they are. counts: NUM_BINS of them, apart from in; what
// they held is lost. scratch: not looked at; NULL will do.
// Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, with nothing written.
// Deterministic. An unsigned int count that passes 2^32 goes on from 0.
//
// Price saved: the trips to global memory, of which those to add the copies up are left: at most
// NUM_BINS atomics a block. No scratch.
// Price paid: shared memory, 4 NUM_BINS bytes a block. Still NUM_BINS counts to set to zero and to
// add for each block of BLOCK_DIM elements, most of which run one after the other: see
// contiguous.h.
//
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 9.4.

#include "../base.h"

// ---- Template: each inclusion -------------------------------------------------------------------

#ifndef COARSEN_NAME
#error "coarsen/histogram: define COARSEN_NAME, the prefix of the names to make, before the include"
#endif
#ifndef COARSEN_TYPE
#error "coarsen/histogram: define COARSEN_TYPE, the element type, before the include"
#endif
#ifndef NUM_BINS
#error "coarsen/histogram: define NUM_BINS, the number of bins, before the include"
#elif NUM_BINS < 1 || NUM_BINS > 12288
#error "coarsen/histogram: NUM_BINS must be from 1 to 12288"
#endif
#ifndef COARSEN_BIN
#define COARSEN_BIN(x) (x)
#endif
#ifndef COARSEN_COUNT
#define COARSEN_COUNT unsigned int
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif
#if BLOCK_DIM < 32 || BLOCK_DIM > 1024 || BLOCK_DIM % 32 != 0
#error "coarsen/histogram: BLOCK_DIM must be a multiple of 32 from 32 to 1024"
#endif

#define NAME_add           COARSEN_JOIN(COARSEN_NAME, _add)
#define NAME_kernel        COARSEN_JOIN(COARSEN_NAME, _kernel)
#define NAME_scratch_bytes COARSEN_JOIN(COARSEN_NAME, _scratch_bytes)
#define NAME_launch        COARSEN_JOIN(COARSEN_NAME, _launch)

static_assert((COARSEN_COUNT)-1 > 0 && (COARSEN_COUNT)0.5 == 0 && sizeof(COARSEN_COUNT) >= 4,
              "coarsen/histogram: COARSEN_COUNT must be unsigned int or unsigned long long");

// Counts x among copy.
COARSEN_DEVICE void NAME_add(unsigned int *copy, COARSEN_TYPE x)
{
    static_assert((decltype(+(COARSEN_BIN(x))))1.5 == 1, "COARSEN_BIN must give an integer");
    const long long bin = COARSEN_BIN(x);
    if (bin >= 0 && bin < NUM_BINS)
        atomicAdd(copy + bin, (unsigned int)1);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    NAME_kernel(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n)
{
    __shared__ unsigned int copy[NUM_BINS];
    for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += BLOCK_DIM)
        copy[bin] = 0;
    __syncthreads();

    const size_t i = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (i < n)
        NAME_add(copy, in[i]);

    __syncthreads();
    for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += BLOCK_DIM)
        if (copy[bin] > 0)
            atomicAdd(counts + bin, (COARSEN_COUNT)copy[bin]);
}

#ifndef __CUDACC_RTC__

COARSEN_HOST size_t NAME_scratch_bytes(size_t n)
{
    (void)n;
    return 0;
}

COARSEN_HOST cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                     void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    (void)scratch, (void)scratch_bytes;
    const size_t blocks = coarsen_ceil_div(n, BLOCK_DIM);
    if (!coarsen_array_ok(in, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||
        !coarsen_array_ok(counts, NUM_BINS, sizeof(COARSEN_COUNT), __alignof__(COARSEN_COUNT)) ||
        blocks > 0x7fffffff)
        return cudaErrorInvalidValue;

    const cudaError_t status = cudaMemsetAsync(counts, 0, NUM_BINS * sizeof(COARSEN_COUNT), stream);
    if (status != cudaSuccess || n == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, NAME_kernel, in, counts, n);
}

#endif

#undef NAME_add
#undef NAME_kernel
#undef NAME_scratch_bytes
#undef NAME_launch
#undef COARSEN_NAME
#undef COARSEN_TYPE
#undef NUM_BINS
#undef COARSEN_BIN
#undef COARSEN_COUNT
#undef BLOCK_DIM
#undef CFACTOR
