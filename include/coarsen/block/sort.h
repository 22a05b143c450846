// SPDX-License-Identifier: MIT
//
// coarsen/block/sort.h: a block sorts keys, with values beside them, by radix; and what a larger sort is built of: the
// place of each key of a tile in the order of one digit.
//
//     #define COARSEN_NAME  depths
//     #define COARSEN_TYPE  float
//     #define COARSEN_VALUE unsigned int
//     #define BLOCK_DIM     256
//     #include <coarsen/block/sort.h>
//
//     // in a kernel of 256 threads per block: up to 2048 keys in shared memory, and a value beside each
//     //     __shared__ depths_ranking ranking;
//     //     depths_sort(&ranking, keys, values, count, 0, 32);
//
// | parameter          | default  | meaning                                                          |
// |--------------------|----------|------------------------------------------------------------------|
// | COARSEN_NAME       | required | what every name this makes begins with                           |
// | COARSEN_TYPE       | required | type of the keys: an integer or floating-point type of at most 8 bytes |
// | COARSEN_VALUE      | none     | type of the values; without it there are keys alone              |
// | COARSEN_DESCENDING | 0        | 1: the greatest first                                            |
// | BLOCK_DIM          | required | threads per block: a multiple of 32 from 32 to 1024              |
// | COARSE_FACTOR      | 8        | keys per thread at the most, from 1 to 32                        |
// Defines NAME_ranking, a struct of shared memory that needs no beginning, and for a block of BLOCK_DIM x 1 x 1
//     void NAME_sort(NAME_ranking *ranking, COARSEN_TYPE *keys, [COARSEN_VALUE *values,] unsigned int count,
//                    unsigned int first, unsigned int width)
// which sorts by `width` bits from bit `first` on, 0 being the lowest; keys that are equal there keep their order. count:
// at most BLOCK_DIM COARSE_FACTOR. The keys are in shared memory; all threads can see them before, and can see them
// sorted afterwards. Floating-point numbers come in the order -infinity ... -0, +0 ... infinity, NaN, negative NaN, and
// keep their bits. And, of which that is made,
//     unsigned long long NAME_bits(COARSEN_TYPE key)   as an unsigned number in the order of the keys
//     unsigned int NAME_digit(COARSEN_TYPE key, unsigned int first, unsigned int width)   of at most 8 bits
//     void NAME_count(NAME_ranking *ranking, const COARSEN_TYPE *key, unsigned int count,
//                     unsigned int first, unsigned int width, unsigned int *place)
//     void NAME_places(NAME_ranking *ranking, const COARSEN_TYPE *key, unsigned int count,
//                      unsigned int first, unsigned int width, unsigned int *place)
// key: COARSE_FACTOR keys of the calling thread: key[k] is key NAME_mine(k) of the tile, if that is below count. After
// NAME_count ranking->begin[d] is how many keys have digit d, known to thread d % BLOCK_DIM. NAME_places begins with
// a barrier; after it place[k] is where key[k] goes, and ranking->begin[d] where digit d begins.
//
// How: each warp goes through its keys in their order, 32 at a time. The lanes vote on each bit of the digit, and so each
// knows which lanes have its digit. One of them adds their number to the warp's count of this digit; those
// below the lane and what was counted before are its rank. Then all that is missing is what the warps before have.
// Cost: per key and digit, 8 votes and two accesses of shared memory to count, one to find the place; 1 KiB of shared
// memory per warp.
// Source: D. Merrill and A. Grimshaw, High Performance and Scalable Radix Sorting (2011); A. Ashkiani et al., GPU
// Multisplit (2016), for the votes; A. Adinets and D. Merrill, Onesweep (2022), for counts per warp.

#define COARSEN_BEGIN COARSEN_PATTERN_SORT
#include "../base.h"
#ifndef COARSEN_MADE_SORT
#define COARSEN_MADE_SORT

#ifndef BLOCK_DIM
#error "coarsen/block: define BLOCK_DIM, the threads per block, before the include"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#endif
static_assert(COARSE_FACTOR >= 1 && COARSE_FACTOR <= 32,
              "coarsen/block: COARSE_FACTOR must be from 1 to 32");

#define COARSEN_RADIX  256 // digits of 8 bits
#define COARSEN_INLINE COARSEN_DEVICE __attribute__((always_inline))

typedef struct {
    unsigned int counts[BLOCK_DIM / 32][COARSEN_RADIX]; // of each warp
    unsigned int begin[COARSEN_RADIX];
} COARSEN_(ranking);

// A warp's keys are one run of the tile, and each step reads 32 neighbours.
COARSEN_DEVICE unsigned int COARSEN_(mine)(unsigned int k)
{
    return threadIdx.x / 32 * 32 * COARSE_FACTOR + k * 32 + threadIdx.x % 32;
}

COARSEN_DEVICE unsigned int COARSEN_(digit)(COARSEN_TYPE key, unsigned int first,
                                            unsigned int width)
{
    return (unsigned int)(COARSEN_(bits)(key) >> first) & ((1u << width) - 1);
}

// The lanes that have the same digit.
COARSEN_DEVICE unsigned int COARSEN_(peers)(unsigned int digit)
{
    unsigned int peers = 0xffffffff;
#pragma unroll
    for (unsigned int bit = 1; bit < COARSEN_RADIX; bit *= 4) { // two bits at a time
#if COARSEN_PTX // 22 instructions for a digit; the compiler's own way takes 56
        asm volatile("{\n\t"
                     ".reg .pred low, high;\n\t"
                     ".reg .b32 lows, highs;\n\t"
                     "and.b32 lows, %1, %2;\n\t"
                     "setp.ne.u32 low, lows, 0;\n\t"
                     "vote.sync.ballot.b32 lows, low, 0xffffffff;\n\t"
                     "@!low not.b32 lows, lows;\n\t"
                     "and.b32 highs, %1, %3;\n\t"
                     "setp.ne.u32 high, highs, 0;\n\t"
                     "vote.sync.ballot.b32 highs, high, 0xffffffff;\n\t"
                     "@!high not.b32 highs, highs;\n\t"
                     "lop3.b32 %0, %0, lows, highs, 0x80;\n\t"
                     "}"
                     : "+r"(peers)
                     : "r"(digit), "r"(bit), "r"(2 * bit));
#else
        const unsigned int lows = __ballot_sync(0xffffffff, (digit & bit) != 0);
        const unsigned int highs = __ballot_sync(0xffffffff, (digit & (2 * bit)) != 0);
        peers &= (digit & bit ? lows : ~lows) & (digit & (2 * bit) ? highs : ~highs);
#endif
    }
    return peers;
}

// The rank of each key among those of its digit in the warp. whole: all keys of the tile are there.
COARSEN_INLINE void COARSEN_(rank)(unsigned int *counts, const COARSEN_TYPE *key, bool whole,
                                   unsigned int count, unsigned int first, unsigned int width,
                                   unsigned int *rank)
{
    const unsigned int lane = threadIdx.x % 32, lower = (1u << lane) - 1;
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        // What is not there has the last digit, and is behind all keys, so no key's place depends on it.
        unsigned int digit = (1u << width) - 1;
        if (whole || COARSEN_(mine)(k) < count)
            digit = COARSEN_(digit)(key[k], first, width);
        const unsigned int peers = COARSEN_(peers)(digit);
        const unsigned int below = (unsigned int)__popc(peers & lower);
        unsigned int before = 0;
        if ((peers & ~lower) == 1u << lane) { // the highest of them
            before = counts[digit];
            counts[digit] = before + below + 1;
        }
        __syncwarp();
        before = __shfl_sync(0xffffffff, before, 31 - __clz((int)peers));
        rank[k] = before + below;
    }
}

COARSEN_DEVICE void COARSEN_(count)(COARSEN_(ranking) * ranking, const COARSEN_TYPE *key,
                                    unsigned int count, unsigned int first, unsigned int width,
                                    unsigned int *place)
{
    unsigned int *const counts = ranking->counts[threadIdx.x / 32];
    for (unsigned int d = threadIdx.x % 32; d < COARSEN_RADIX; d += 32)
        counts[d] = 0;
    __syncwarp();
    if (count == BLOCK_DIM * COARSE_FACTOR)
        COARSEN_(rank)(counts, key, true, count, first, width, place);
    else
        COARSEN_(rank)(counts, key, false, count, first, width, place);
    __syncthreads();
    for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM) {
        unsigned int sum = 0;
#pragma unroll
        for (unsigned int w = 0; w < BLOCK_DIM / 32; w++)
            sum += ranking->counts[w][d];
        if (d == (1u << width) - 1)
            sum -= BLOCK_DIM * COARSE_FACTOR - count;
        ranking->begin[d] = sum;
    }
}

COARSEN_DEVICE void COARSEN_(places)(COARSEN_(ranking) * ranking, const COARSEN_TYPE *key,
                                     unsigned int count, unsigned int first, unsigned int width,
                                     unsigned int *place)
{
    const unsigned int lane = threadIdx.x % 32, each = COARSEN_RADIX / 32;
    __syncthreads();
    if (threadIdx.x < 32) { // each lane scans some neighbours
        unsigned int sum[COARSEN_RADIX / 32], total = 0;
#pragma unroll
        for (unsigned int j = 0; j < each; j++) {
            sum[j] = total;
            total += ranking->begin[lane * each + j];
        }
        unsigned int upto = total;
#pragma unroll
        for (unsigned int delta = 1; delta < 32; delta *= 2) {
            const unsigned int below = __shfl_up_sync(0xffffffff, upto, delta);
            upto += lane >= delta ? below : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < each; j++)
            ranking->begin[lane * each + j] = upto - total + sum[j];
    }
    __syncthreads();
    for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM) {
        unsigned int sum = ranking->begin[d];
#pragma unroll
        for (unsigned int w = 0; w < BLOCK_DIM / 32; w++) {
            const unsigned int mine = ranking->counts[w][d];
            ranking->counts[w][d] = sum;
            sum += mine;
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (COARSEN_(mine)(k) < count)
            place[k] += ranking->counts[threadIdx.x / 32][COARSEN_(digit)(key[k], first, width)];
}

COARSEN_DEVICE void COARSEN_(sort)(COARSEN_(ranking) * ranking,
                                   COARSEN_TYPE *keys COARSEN_ALSO(COARSEN_VALUE *values),
                                   unsigned int count, unsigned int first, unsigned int width)
{
    COARSEN_TYPE key[COARSE_FACTOR];
#ifdef COARSEN_VALUE
    COARSEN_VALUE value[COARSE_FACTOR];
#endif
    unsigned int place[COARSE_FACTOR];
    __syncthreads();
    for (unsigned int done = 0; done < width; done += 8) {
        const unsigned int bits = width - done < 8 ? width - done : 8;
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
            if (COARSEN_(mine)(k) < count) {
                key[k] = keys[COARSEN_(mine)(k)];
#ifdef COARSEN_VALUE
                value[k] = values[COARSEN_(mine)(k)];
#endif
            }
        COARSEN_(count)(ranking, key, count, first + done, bits, place);
        COARSEN_(places)(ranking, key, count, first + done, bits, place);
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
            if (COARSEN_(mine)(k) < count) {
                keys[place[k]] = key[k];
#ifdef COARSEN_VALUE
                values[place[k]] = value[k];
#endif
            }
        __syncthreads();
    }
}
#endif

#define COARSEN_END
#include "../base.h"
