// SPDX-License-Identifier: MIT
//
// coarsen/sort/single_bit.h: stable sort by radix, first rung. Bit by bit from the lowest: all keys with a 0 go before all
// with a 1, and keep their order. A thread per key.
// out = in, in ascending order
//
//     #define COARSEN_NAME sort_u32
//     #define COARSEN_TYPE unsigned int
//     #include <coarsen/sort/single_bit.h>
//
// | parameter          | default  | meaning                                                          |
// |--------------------|----------|------------------------------------------------------------------|
// | COARSEN_NAME       | required | what every name this makes begins with                           |
// | COARSEN_TYPE       | required | type of the keys: an integer or floating-point type of at most 8 bytes |
// | COARSEN_VALUE      | none     | type of the values, any; without it there are keys alone         |
// | COARSEN_DESCENDING | 0        | 1: the greatest first                                            |
// | BLOCK_DIM          | 256      | threads per block: a multiple of 32 from 32 to 1024              |
// Defines NAME_bits(key), the key as an unsigned number in the order of the keys; NAME_count_kernel, NAME_scan_kernel, to
// launch as one block, and NAME_kernel, launched one after the other for each bit; and
//     size_t      NAME_scratch_bytes(size_t n)        NAME_scratch_init is not needed
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out,
//                             [const COARSEN_VALUE *in_values, COARSEN_VALUE *out_values,] size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in, in_values: n elements each in device memory. out, out_values: likewise, apart from those, or the same arrays. scratch:
// device memory, 16-byte aligned, any content; one per launch that may run at the same time. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array or too small a scratch, with nothing written.
// Keys come in the order -infinity ... -0, +0 ... infinity, NaN, negative NaN, and keep their bits. Stable. Deterministic.
//
// Price paid: a pass over memory for each bit. And neighbours in a warp write far apart: with random bits a warp's 32 keys
// go to two places, in each of which they share lines with those of other warps.
// Cost: per bit, n keys read twice and written once; a table of two counts per block.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 13.3.

#define COARSEN_BEGIN COARSEN_PATTERN_SORT
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif

#define COARSEN_WIDTH 1 // bits of a digit
#define COARSEN_RADIX (1u << COARSEN_WIDTH)
#define COARSEN_TILE  BLOCK_DIM // keys of a block

COARSEN_DEVICE unsigned int COARSEN_(digit)(COARSEN_TYPE key, unsigned int first)
{
    return (unsigned int)(COARSEN_(bits)(key) >> first) % COARSEN_RADIX;
}

// How many keys of each digit each block has: table[digit * blocks + block].
COARSEN_KERNEL void COARSEN_(count_kernel)(const COARSEN_TYPE *in, size_t n, unsigned int first,
                                           unsigned long long *table)
{
    const size_t begin = (size_t)blockIdx.x * BLOCK_DIM, i = begin + threadIdx.x;
    const size_t ones = (size_t)__syncthreads_count(i < n && COARSEN_(digit)(in[i], first) == 1);
    if (threadIdx.x == 0) {
        table[blockIdx.x] = coarsen_min(n - begin, BLOCK_DIM) - ones;
        table[gridDim.x + blockIdx.x] = ones;
    }
}

// The exclusive scan of the table: where the first key of each digit and block goes. One block.
COARSEN_KERNEL void COARSEN_(scan_kernel)(unsigned long long *table, size_t count)
{
    __shared__ unsigned long long sums[2 * BLOCK_DIM];
    const unsigned int t = threadIdx.x;
    unsigned long long before = 0;
    for (size_t begin = 0; begin < count; begin += BLOCK_DIM) {
        const unsigned long long mine = begin + t < count ? table[begin + t] : 0;
        unsigned long long sum = mine;
        unsigned int half = 0;
        for (unsigned int stride = 1; stride < BLOCK_DIM; stride *= 2) {
            sums[half + t] = sum;
            __syncthreads();
            sum += t >= stride ? sums[half + t - stride] : 0;
            half = BLOCK_DIM - half;
        }
        sums[half + t] = sum;
        __syncthreads();
        if (begin + t < count)
            table[begin + t] = before + sum - mine;
        before += sums[half + BLOCK_DIM - 1];
        __syncthreads();
    }
}

COARSEN_KERNEL void COARSEN_(kernel)(COARSEN_(arrays) arrays, size_t n, unsigned int first,
                                     const unsigned long long *table)
{
    __shared__ unsigned int warps[BLOCK_DIM / 32];
    const unsigned int t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * BLOCK_DIM + t;
    const bool there = i < n;
    COARSEN_TYPE key;
    if (there)
        key = arrays.in[i];
    const unsigned int digit = there ? COARSEN_(digit)(key, first) : 0;

    // How many keys before this one have a 1: in the warp, and in the warps before.
    const unsigned int votes = __ballot_sync(0xffffffff, digit == 1);
    unsigned int ones = (unsigned int)__popc(votes & ((1u << t % 32) - 1));
    if (t % 32 == 0)
        warps[t / 32] = (unsigned int)__popc(votes);
    __syncthreads();
    for (unsigned int w = 0; w < t / 32; w++)
        ones += warps[w];

    if (there) {
        const size_t place =
            table[digit * (size_t)gridDim.x + blockIdx.x] + (digit == 1 ? ones : t - ones);
        arrays.out[place] = key;
#ifdef COARSEN_VALUE
        arrays.out_values[place] = arrays.in_values[i];
#endif
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    const size_t blocks = coarsen_ceil_div(n, COARSEN_TILE);
    return coarsen_ceil_div(blocks * COARSEN_RADIX * sizeof(unsigned long long), 16) * 16 +
           COARSEN_(spare_bytes)(n, true);
}

COARSEN_HOST cudaError_t
COARSEN_(launch)(const COARSEN_TYPE *in,
                 COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
                     COARSEN_ALSO(COARSEN_VALUE *out_values),
                 size_t n, void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    const COARSEN_(arrays) arrays = {in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values)};
    const size_t blocks = coarsen_ceil_div(n, COARSEN_TILE);
    if (n == 0)
        return cudaSuccess;
    if (!COARSEN_(arrays_ok)(arrays, n) || blocks > 0x7fffffff ||
        !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n))
        return cudaErrorInvalidValue;

    unsigned long long *const table = (unsigned long long *)scratch;
    void *const spare =
        (char *)scratch + (COARSEN_(scratch_bytes)(n) - COARSEN_(spare_bytes)(n, true));
    const unsigned int passes = 8 * sizeof(COARSEN_TYPE) / COARSEN_WIDTH;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    const cudaLaunchConfig_t one = coarsen_launch_config(1, BLOCK_DIM, 0, stream);
    cudaError_t status = COARSEN_(begin)(arrays, spare, n, passes, stream);
    for (unsigned int p = 0; p < passes && status == cudaSuccess; p++) {
        const COARSEN_(arrays) pass = COARSEN_(arrays_of)(arrays, spare, n, p, passes);
        const unsigned int first = p * COARSEN_WIDTH;
        status = cudaLaunchKernelEx(&config, COARSEN_(count_kernel), pass.in, n, first, table);
        if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&one, COARSEN_(scan_kernel), table, blocks * COARSEN_RADIX);
        if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&config, COARSEN_(kernel), pass, n, first,
                                        (const unsigned long long *)table);
    }
    return status;
}
#endif

#undef COARSEN_WIDTH
#undef COARSEN_TILE

#define COARSEN_END
#include "../base.h"
