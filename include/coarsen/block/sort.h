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
//     unsigned int NAME_mine(unsigned int rows, unsigned int k)       which key of the tile is the thread's k-th one
//     void NAME_clear(NAME_ranking *ranking)
//     void NAME_count(NAME_ranking *ranking, unsigned int digit)
//     void NAME_totals(NAME_ranking *ranking)
//     void NAME_begins(NAME_ranking *ranking)
//     void NAME_scan_totals(NAME_ranking *ranking)
//     bool NAME_alike(NAME_ranking *ranking, unsigned int count)
//     unsigned int NAME_place(NAME_ranking *ranking, unsigned int digit)
// In a tile each warp has `rows` rows of 32 keys. After NAME_clear each thread counts each of its keys. NAME_totals
// begins with a barrier; then ranking->totals[d] is how many keys have digit d, and after NAME_begins, which begins with
// a barrier too, ranking->begin[d] is where digit d begins: both known to thread d % BLOCK_DIM. NAME_alike
// begins with a barrier too, and says whether all `count` keys have one digit: then they are in order; if not,
// NAME_scan_totals is NAME_begins without its barrier. Then each warp calls
// NAME_place for its rows in their order, and gets the place of each key in the order of the digits. A lane that has no
// key gives the last digit, if all lanes and rows behind it have none either.
//
// How: the counts are taken first, per warp, so that each warp knows where its first key of each digit goes. Then a
// warp takes a row. The lanes vote on each bit of the digit, and so each knows which lanes have its digit. Those
// below it come first, and the highest one moves the warp's next place of that digit on.
// Cost: per key and digit, one count and two accesses of shared memory, and 8 votes; 1 KiB of shared memory per warp.
// Source: D. Merrill and A. Grimshaw, High Performance and Scalable Radix Sorting (2011); A. Ashkiani et al., GPU
// Multisplit (2016), for the votes; A. Adinets and D. Merrill, Onesweep (2022), for counts per warp, taken first.

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

#define COARSEN_RADIX 256 // digits of 8 bits

typedef struct COARSEN_ALIGNED(16) {
    unsigned int counts[BLOCK_DIM / 32][COARSEN_RADIX]; // of each warp; then the next place
    unsigned int totals[COARSEN_RADIX], begin[COARSEN_RADIX];
} COARSEN_(ranking);

COARSEN_DEVICE unsigned int COARSEN_(mine)(unsigned int rows, unsigned int k)
{
    return (threadIdx.x / 32 * rows + k) * 32 + threadIdx.x % 32;
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

COARSEN_DEVICE void COARSEN_(clear)(COARSEN_(ranking) * ranking)
{
    unsigned int *const counts = ranking->counts[threadIdx.x / 32];
#pragma unroll
    for (unsigned int d = 0; d < COARSEN_RADIX; d += 32)
        counts[d + threadIdx.x % 32] = 0;
    __syncwarp();
}

COARSEN_DEVICE void COARSEN_(count)(COARSEN_(ranking) * ranking, unsigned int digit)
{
    atomicAdd(&ranking->counts[threadIdx.x / 32][digit], 1u);
}

COARSEN_DEVICE void COARSEN_(totals)(COARSEN_(ranking) * ranking)
{
    __syncthreads();
    for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM) {
        unsigned int sum = 0;
#pragma unroll
        for (unsigned int w = 0; w < BLOCK_DIM / 32; w++) {
            const unsigned int mine = ranking->counts[w][d];
            ranking->counts[w][d] = sum;
            sum += mine;
        }
        ranking->totals[d] = sum;
    }
}

// Each warp scans all totals for itself, so that it waits for no other one. A lane has some neighbours.
COARSEN_DEVICE void COARSEN_(scan_totals)(COARSEN_(ranking) * ranking)
{
    const unsigned int lane = threadIdx.x % 32, each = COARSEN_RADIX / 32;
    unsigned int *const counts = ranking->counts[threadIdx.x / 32] + lane * each;
    unsigned int begin[COARSEN_RADIX / 32], total = 0;
#pragma unroll
    for (unsigned int j = 0; j < each; j++) {
        begin[j] = total;
        total += ranking->totals[lane * each + j];
    }
    unsigned int upto = total;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int below = __shfl_up_sync(0xffffffff, upto, delta);
        upto += lane >= delta ? below : 0;
    }
#pragma unroll
    for (unsigned int j = 0; j < each; j++) {
        begin[j] += upto - total;
        counts[j] += begin[j];
    }
    if (lane * each / 32 % (BLOCK_DIM / 32) == threadIdx.x / 32) // digits of this warp's threads
#pragma unroll
        for (unsigned int j = 0; j < each; j++)
            ranking->begin[lane * each + j] = begin[j];
    __syncwarp();
}

COARSEN_DEVICE void COARSEN_(begins)(COARSEN_(ranking) * ranking)
{
    __syncthreads();
    COARSEN_(scan_totals)(ranking);
}

COARSEN_DEVICE bool COARSEN_(alike)(COARSEN_(ranking) * ranking, unsigned int count)
{
    bool all = false;
    for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM)
        all |= ranking->totals[d] == count;
    return __syncthreads_or(all);
}

COARSEN_DEVICE unsigned int COARSEN_(place)(COARSEN_(ranking) * ranking, unsigned int digit)
{
    const unsigned int lane = threadIdx.x % 32, lower = (1u << lane) - 1;
    unsigned int *const next = &ranking->counts[threadIdx.x / 32][digit];
    const unsigned int begin = *next, peers = COARSEN_(peers)(digit);
    const unsigned int place = begin + (unsigned int)__popc(peers & lower);
    __syncwarp();           // all have read it
    if (peers >> lane == 1) // the highest of them
        *next = place + 1;
    __syncwarp();
    return place;
}

COARSEN_DEVICE void COARSEN_(sort)(COARSEN_(ranking) * ranking,
                                   COARSEN_TYPE *keys COARSEN_ALSO(COARSEN_VALUE *values),
                                   unsigned int count, unsigned int first, unsigned int width)
{
    const unsigned int rows = (count + BLOCK_DIM - 1) / BLOCK_DIM;
    COARSEN_TYPE key[COARSE_FACTOR];
#ifdef COARSEN_VALUE
    COARSEN_VALUE value[COARSE_FACTOR];
#endif
    __syncthreads();
    for (unsigned int done = 0; done < width; done += 8) {
        const unsigned int bits = width - done < 8 ? width - done : 8;
        COARSEN_(clear)(ranking);
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            if (k >= rows)
                break;
            if (COARSEN_(mine)(rows, k) < count) {
                key[k] = keys[COARSEN_(mine)(rows, k)];
#ifdef COARSEN_VALUE
                value[k] = values[COARSEN_(mine)(rows, k)];
#endif
                COARSEN_(count)(ranking, COARSEN_(digit)(key[k], first + done, bits));
            }
        }
        COARSEN_(totals)(ranking);
        COARSEN_(begins)(ranking);
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            if (k >= rows)
                break;
            const bool there = COARSEN_(mine)(rows, k) < count;
            const unsigned int place = COARSEN_(place)(
                ranking, there ? COARSEN_(digit)(key[k], first + done, bits) : (1u << bits) - 1);
            if (there) {
                keys[place] = key[k];
#ifdef COARSEN_VALUE
                values[place] = value[k];
#endif
            }
        }
        __syncthreads();
    }
}
#endif

#define COARSEN_END
#include "../base.h"
