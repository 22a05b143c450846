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

typedef struct {
    const COARSEN_TYPE *in;
    COARSEN_TYPE *out;
#ifdef COARSEN_VALUE
    const COARSEN_VALUE *in_values;
    COARSEN_VALUE *out_values;
#endif
} COARSEN_(arrays);

COARSEN_DEVICE unsigned int COARSEN_(digit)(COARSEN_TYPE key, unsigned int first)
{
    return (unsigned int)(COARSEN_(bits)(key) >> first) % COARSEN_RADIX;
}

// How many keys of each digit each block has: table[digit * blocks + block].
COARSEN_KERNEL void COARSEN_(count_kernel)(const COARSEN_TYPE *in, size_t n, unsigned int first,
                                           unsigned long long *table)
{
    const size_t i = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    const int ones = __syncthreads_count(i < n && COARSEN_(digit)(in[i], first) == 1);
    const int zeros = __syncthreads_count(i < n && COARSEN_(digit)(in[i], first) == 0);
    if (threadIdx.x == 0) {
        table[blockIdx.x] = (unsigned long long)zeros;
        table[gridDim.x + blockIdx.x] = (unsigned long long)ones;
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
