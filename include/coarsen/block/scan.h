// SPDX-License-Identifier: MIT
//
// coarsen/block/scan.h: per thread, the values of the threads before it, combined; in a warp or a
// block.
//
//     #define COARSEN_NAME running
//     #define COARSEN_TYPE int
//     #define BLOCK_DIM    256
//     #include <coarsen/block/scan.h>
//
//     // in a kernel of 256 threads per block: how many threads before this one have something, and of all
//     //     int total;
//     //     const int place = running_exclusive(has ? 1 : 0, &total);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the values; or COARSEN_ACC, if that is given |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative operator; need not be commutative        |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | required         | threads per block: a multiple of 32 from 32 to 1024  |
// Defines NAME_op(a, b), NAME_identity(), NAME_words (of block/slots.h), and
//     COARSEN_TYPE NAME_of_lane(COARSEN_TYPE value, unsigned int lane)   the value of that lane; all 32 call
//     void NAME_inclusive_rows(COARSEN_TYPE *row, unsigned int rows)   row[r] of lanes 0 to this one, in each
//                                                            of the rows; all 32 lanes call it
//     COARSEN_TYPE NAME_warp_inclusive(COARSEN_TYPE value)   lanes 0 to this one; all 32 lanes call it
//     COARSEN_TYPE NAME_warp_exclusive(COARSEN_TYPE value)   lanes before this one; lane 0: the identity
//     COARSEN_TYPE NAME_inclusive(COARSEN_TYPE value, COARSEN_TYPE *total)   threads 0 to this one
//     COARSEN_TYPE NAME_exclusive(COARSEN_TYPE value, COARSEN_TYPE *total)   threads before this one
// The block is BLOCK_DIM x 1 x 1 and all of it calls. *total is all values combined, in every
// thread. A barrier goes between two calls for the block. Values are combined in the order of the
// threads, and always in the same tree, so a type that rounds gives the same bits on every run.
// Cost: 10 shuffles per thread and word of a value, one barrier, and BLOCK_DIM / 32 values of
// shared memory.
// Source: P. M. Kogge and H. S. Stone (1973), for the steps within a warp; M. Harris, S. Sengupta,
// J. D. Owens, Parallel Prefix Sum (Scan) with CUDA (2007), for the totals of the warps.

#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#ifndef COARSEN_MADE_SCAN
#define COARSEN_MADE_SCAN
#include "slots.h"

#ifndef BLOCK_DIM
#error "coarsen/block: define BLOCK_DIM, the threads per block, before the include"
#endif

// The value of the lane so far below; every lane calls it, and the lowest get their own.
COARSEN_DEVICE COARSEN_ACC COARSEN_(from_below)(COARSEN_ACC value, unsigned int delta)
{
    COARSEN_(words) words = COARSEN_(to_words)(value);
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++)
        words.word[w] = __shfl_up_sync(0xffffffff, words.word[w], delta);
    return COARSEN_(from_words)(words);
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(of_lane)(COARSEN_ACC value, unsigned int lane)
{
    COARSEN_(words) words = COARSEN_(to_words)(value);
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++)
        words.word[w] = __shfl_sync(0xffffffff, words.word[w], (int)lane);
    return COARSEN_(from_words)(words);
}

// In place and side by side, as what one row waits for leaves time for the others.
COARSEN_INLINE void COARSEN_(inclusive_rows)(COARSEN_ACC *row, unsigned int rows)
{
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2)
#pragma unroll
        for (unsigned int r = 0; r < rows; r++) {
            const COARSEN_ACC below = COARSEN_(from_below)(row[r], delta);
            if (threadIdx.x % 32 >= delta)
                row[r] = COARSEN_(op)(below, row[r]);
        }
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(warp_inclusive)(COARSEN_ACC value)
{
    COARSEN_(inclusive_rows)(&value, 1);
    return value;
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(warp_exclusive)(COARSEN_ACC value)
{
    const COARSEN_ACC below = COARSEN_(from_below)(COARSEN_(warp_inclusive)(value), 1);
    return threadIdx.x % 32 == 0 ? COARSEN_(identity)() : below;
}

// What the warps before this one add up to, from each warp's total, which its last lane holds.
COARSEN_DEVICE COARSEN_ACC COARSEN_(warps_before)(COARSEN_ACC warp_total, COARSEN_ACC *total)
{
    COARSEN_SHARED(COARSEN_ACC, totals, BLOCK_DIM / 32);
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (lane == 31)
        totals[warp] = warp_total;
    __syncthreads();
    // Every warp adds up all of them, in the same order: a second barrier would cost more.
    COARSEN_ACC before = COARSEN_(identity)(), all = COARSEN_(identity)();
#pragma unroll
    for (unsigned int w = 0; w < BLOCK_DIM / 32; w++) {
        if (w == warp)
            before = all;
        all = COARSEN_(op)(all, totals[w]);
    }
    *total = all;
    return before;
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(inclusive)(COARSEN_ACC value, COARSEN_ACC *total)
{
    value = COARSEN_(warp_inclusive)(value);
    return COARSEN_(op)(COARSEN_(warps_before)(value, total), value);
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(exclusive)(COARSEN_ACC value, COARSEN_ACC *total)
{
    value = COARSEN_(warp_inclusive)(value);
    const COARSEN_ACC before = COARSEN_(warps_before)(value, total);
    const COARSEN_ACC below = COARSEN_(from_below)(value, 1);
    return threadIdx.x % 32 == 0 ? before : COARSEN_(op)(before, below);
}
#endif

#define COARSEN_END
#include "../base.h"
