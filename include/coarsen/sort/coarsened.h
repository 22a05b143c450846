// SPDX-License-Identifier: MIT
//
// coarsen/sort/coarsened.h: stable sort by radix, fourth rung. multi_bit.h + COARSE_FACTOR keys per thread.
// out = in, in ascending order
//
//     #define COARSEN_NAME sort_u32
//     #define COARSEN_TYPE unsigned int
//     #include <coarsen/sort/coarsened.h>
//
// | parameter          | default  | meaning                                                          |
// |--------------------|----------|------------------------------------------------------------------|
// | COARSEN_NAME       | required | what every name this makes begins with                           |
// | COARSEN_TYPE       | required | type of the keys: an integer or floating-point type of at most 8 bytes |
// | COARSEN_VALUE      | none     | type of the values, any; without it there are keys alone         |
// | COARSEN_DESCENDING | 0        | 1: the greatest first                                            |
// | BLOCK_DIM          | 256      | threads per block: a multiple of 32 from 32 to 1024              |
// | COARSE_FACTOR      | 7        | keys per thread, from 1 to 32; best an odd number                |
// Defines NAME_bits(key), the key as an unsigned number in the order of the keys; NAME_count_kernel, NAME_scan_kernel, to
// launch as one block, and NAME_kernel, launched one after the other for each digit; and
//     size_t      NAME_scratch_bytes(size_t n)        NAME_scratch_init is not needed
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out,
//                             [const COARSEN_VALUE *in_values, COARSEN_VALUE *out_values,] size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in, in_values: n elements each in device memory. out, out_values: likewise, apart from those, or the same arrays. scratch:
// device memory, 16-byte aligned, any content; one per launch that may run at the same time. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array or too small a scratch, with nothing written.
// Keys come in the order -infinity ... -0, +0 ... infinity, NaN, negative NaN, and keep their bits. Stable. Deterministic.
//
// Price saved: short runs, and a large table. A block's keys of one digit are COARSE_FACTOR times as many, and go to one
// place; there are fewer blocks, each with its 16 counts; and a thread adds up its own keys without a barrier.
// Price paid: shared memory and registers for COARSE_FACTOR keys per thread, so fewer blocks at a time.
// Cost: per digit, n keys read twice and written once.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 13.6.

#define COARSEN_BEGIN COARSEN_PATTERN_SORT
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 7
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/sort: COARSE_FACTOR must be from 1 to 32"
#endif

#define COARSEN_WIDTH 4 // bits of a digit
#define COARSEN_RADIX (1u << COARSEN_WIDTH)
#define COARSEN_TILE  (BLOCK_DIM * COARSE_FACTOR) // keys of a block

COARSEN_DEVICE unsigned int COARSEN_(digit)(COARSEN_TYPE key, unsigned int first)
{
    return (unsigned int)(COARSEN_(bits)(key) >> first) % COARSEN_RADIX;
}

// How many keys of each digit each block has: table[digit * blocks + block].
COARSEN_KERNEL void COARSEN_(count_kernel)(const COARSEN_TYPE *in, size_t n, unsigned int first,
                                           unsigned long long *table)
{
    __shared__ unsigned int counts[COARSEN_RADIX];
    const unsigned int t = threadIdx.x;
    if (t < COARSEN_RADIX)
        counts[t] = 0;
    __syncthreads();
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t i = (size_t)blockIdx.x * COARSEN_TILE + k * BLOCK_DIM + t;
        if (i < n)
            atomicAdd(counts + COARSEN_(digit)(in[i], first), 1u);
    }
    __syncthreads();
    if (t < COARSEN_RADIX)
        table[t * (size_t)gridDim.x + blockIdx.x] = counts[t];
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

// Sorts the keys of a block, of which there are so many, by one bit. Each thread has a run of them.
COARSEN_DEVICE void COARSEN_(split)(COARSEN_TYPE *keys COARSEN_ALSO(COARSEN_VALUE *values),
                                    unsigned int count, unsigned int bit)
{
    __shared__ unsigned int warps[BLOCK_DIM / 32];
    const unsigned int t = threadIdx.x, begin = t * COARSE_FACTOR;
    COARSEN_TYPE key[COARSE_FACTOR];
#ifdef COARSEN_VALUE
    COARSEN_VALUE value[COARSE_FACTOR];
#endif
    unsigned int mine = 0, run = 0; // the bits of the run, and how many are 1
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (begin + k < count) {
            key[k] = keys[begin + k];
#ifdef COARSEN_VALUE
            value[k] = values[begin + k];
#endif
            const unsigned int one = (unsigned int)(COARSEN_(bits)(key[k]) >> bit) & 1;
            mine |= one << k;
            run += one;
        }

    // How many keys before this run have a 1: in the warp, and in the warps before; and of all.
    unsigned int ones = run, all = 0;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int below = __shfl_up_sync(0xffffffff, ones, delta);
        ones += t % 32 >= delta ? below : 0;
    }
    if (t % 32 == 31)
        warps[t / 32] = ones;
    ones -= run;
    __syncthreads();
    for (unsigned int w = 0; w < BLOCK_DIM / 32; w++) {
        ones += w < t / 32 ? warps[w] : 0;
        all += warps[w];
    }

#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (begin + k < count) {
            const unsigned int place = mine >> k & 1 ? count - all + ones : begin + k - ones;
            keys[place] = key[k];
#ifdef COARSEN_VALUE
            values[place] = value[k];
#endif
            ones += mine >> k & 1;
        }
    __syncthreads();
}

COARSEN_KERNEL void COARSEN_(kernel)(COARSEN_(arrays) arrays, size_t n, unsigned int first,
                                     const unsigned long long *table)
{
    COARSEN_SHARED(COARSEN_TYPE, keys, COARSEN_TILE);
#ifdef COARSEN_VALUE
    COARSEN_SHARED(COARSEN_VALUE, values, COARSEN_TILE);
#endif
    __shared__ unsigned int begin[COARSEN_RADIX]; // of each digit's keys in the block
    const size_t tile = (size_t)blockIdx.x * COARSEN_TILE;
    const unsigned int t = threadIdx.x;
    const unsigned int count = (unsigned int)coarsen_min(n - tile, COARSEN_TILE);
    for (unsigned int j = t; j < count; j += BLOCK_DIM) {
        keys[j] = arrays.in[tile + j];
#ifdef COARSEN_VALUE
        values[j] = arrays.in_values[tile + j];
#endif
    }
    __syncthreads();
    for (unsigned int bit = first; bit < first + COARSEN_WIDTH; bit++)
        COARSEN_(split)(keys COARSEN_ALSO(values), count, bit);
    for (unsigned int j = t; j < count; j += BLOCK_DIM) {
        const unsigned int digit = COARSEN_(digit)(keys[j], first);
        if (j == 0 || COARSEN_(digit)(keys[j - 1], first) != digit)
            begin[digit] = j;
    }
    __syncthreads();

    for (unsigned int j = t; j < count; j += BLOCK_DIM) {
        const unsigned int digit = COARSEN_(digit)(keys[j], first);
        const size_t place = table[digit * (size_t)gridDim.x + blockIdx.x] + j - begin[digit];
        arrays.out[place] = keys[j];
#ifdef COARSEN_VALUE
        arrays.out_values[place] = values[j];
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
