// SPDX-License-Identifier: MIT
//
// coarsen/block/reduce.h: one value per thread reduced to one, over a warp, a block or the whole
// grid.
//
//     #define COARSEN_NAME     greatest
//     #define COARSEN_TYPE     float
//     #define COARSEN_OP       COARSEN_MAX
//     #define COARSEN_IDENTITY COARSEN_LEAST(float)
//     #define BLOCK_DIM        256
//     #include <coarsen/block/reduce.h>
//
//     // in a kernel of 256 threads per block: the block's greatest value, in thread 0
//     //     const float most = greatest_block(value);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the values; or COARSEN_ACC, if that is given |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator                 |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | required         | threads per block: a multiple of 32 from 32 to 1024  |
// For argmax and argmin, use the type and the operators of coarsen/arg.h.
// Defines NAME_op(a, b), NAME_identity(), the functions of block/slots.h, and
//     COARSEN_TYPE NAME_warp(COARSEN_TYPE value)    the 32 lanes' values, in lane 0; all 32 lanes call it
//     COARSEN_TYPE NAME_block(COARSEN_TYPE value)   the block's values, in thread 0; all threads call it
//     void NAME_enter(unsigned long long *scratch, unsigned long long *ticket)
//     void NAME_grid(COARSEN_TYPE value, COARSEN_TYPE *out, unsigned long long *scratch,
//                    const unsigned long long *ticket)
//     void NAME_meet(COARSEN_TYPE value, COARSEN_TYPE *out, unsigned long long *counter,
//                    unsigned long long *slots, unsigned int block, unsigned int blocks,
//                    const unsigned long long *ticket)   as NAME_grid, for some blocks of a grid
//     size_t NAME_grid_bytes(size_t blocks)         scratch for so many blocks; host
//     cudaError_t NAME_scratch_init(void *scratch, size_t bytes, cudaStream_t stream)
// A block is BLOCK_DIM x 1 x 1, a grid one-dimensional. A barrier goes between two calls of
// NAME_block, or of NAME_block and NAME_grid. In the other lanes and threads the value returned has
// no meaning. For the grid: all threads of all blocks call NAME_enter, and then NAME_grid, once per
// launch, which writes *out. For some blocks of a grid: all threads of those blocks call
// NAME_enter(counter, ticket) and NAME_meet, each block with its index among them; slots has a slot
// per block, and it and counter are zeros before and after. *ticket is the thread's own, 0 before, or
// in shared memory. It comes while the kernel loads, so it is not looked at before NAME_grid. scratch:
// NAME_grid_bytes() bytes of device memory, 16-byte aligned. NAME_scratch_init makes it ready once;
// each launch leaves it ready for the next. A scratch that was not made ready ends the launch with
// an error (__trap). For one number of blocks the result has the same bits always.
//
// How the blocks meet: each leaves its result in a slot of its own. The block that entered last
// collects them. All others have entered by then, so it waits for none that cannot run, whatever
// the order of blocks. It reduces them by their place, so the order does not show in the result.
// Cost: at most 10 shuffles per thread and word of a value, and one barrier, for a block.
// Source: M. Harris, Optimizing Parallel Reduction in CUDA (2007).

#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#ifndef COARSEN_MADE_REDUCE
#define COARSEN_MADE_REDUCE
#include "slots.h"

#ifndef BLOCK_DIM
#error "coarsen/block: define BLOCK_DIM, the threads per block, before the include"
#endif

// Of the first so many lanes. The others have the identity.
COARSEN_DEVICE COARSEN_ACC COARSEN_(lanes)(COARSEN_ACC value, unsigned int lanes)
{
#pragma unroll
    for (unsigned int delta = 16; delta > 0; delta /= 2) {
        if (delta >= lanes)
            continue;
        COARSEN_(words) words = COARSEN_(to_words)(value);
#pragma unroll
        for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++)
            words.word[w] = __shfl_down_sync(0xffffffff, words.word[w], delta);
        value = COARSEN_(op)(value, COARSEN_(from_words)(words));
    }
    return value;
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(warp)(COARSEN_ACC value)
{
    return COARSEN_(lanes)(value, 32);
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(block)(COARSEN_ACC value)
{
    COARSEN_SHARED(COARSEN_ACC, partial, BLOCK_DIM / 32);
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    value = COARSEN_(warp)(value);
    if (lane == 0)
        partial[warp] = value;
    __syncthreads();
    // Every warp does the rest, as asking which one it is takes more instructions than it saves.
    value = COARSEN_(identity)();
    if (lane < BLOCK_DIM / 32)
        value = partial[lane];
    return COARSEN_(lanes)(value, BLOCK_DIM / 32);
}

COARSEN_DEVICE void COARSEN_(enter)(unsigned long long *scratch, unsigned long long *ticket)
{
    if (threadIdx.x == 0)
        *ticket = atomicAdd(scratch, 1ULL);
}

COARSEN_DEVICE void COARSEN_(meet)(COARSEN_ACC value, COARSEN_ACC *out, unsigned long long *counter,
                                   unsigned long long *slots, unsigned int block,
                                   unsigned int blocks, const unsigned long long *ticket)
{
    __shared__ unsigned long long number;
    if (threadIdx.x == 0)
        number = *ticket;
    value = COARSEN_(block)(value);
    if (threadIdx.x == 0)
        COARSEN_(leave)(slots + block * COARSEN_(words_of_slot), 1, value);
    if (number != blocks - 1) {
        if (number >= blocks)
            __trap(); // the scratch was not made ready: NAME_scratch_init was forgotten
        return;
    }

    value = COARSEN_(identity)();
    for (unsigned int b = threadIdx.x; b < blocks; b += BLOCK_DIM)
        value = COARSEN_(op)(value, COARSEN_(collect)(slots + b * COARSEN_(words_of_slot)));
    __syncthreads();
    value = COARSEN_(block)(value);
    if (threadIdx.x == 0) {
        *out = value;
        atomicAnd(counter, 0ULL); // which, unlike an exchange, has no result to wait for
    }
}

COARSEN_DEVICE void COARSEN_(grid)(COARSEN_ACC value, COARSEN_ACC *out, unsigned long long *scratch,
                                   const unsigned long long *ticket)
{
    COARSEN_(meet)(value, out, scratch, scratch + 2, blockIdx.x, gridDim.x, ticket);
}

#ifndef __CUDACC_RTC__
// The ticket, in 16 bytes, and a slot per block.
COARSEN_HOST size_t COARSEN_(grid_bytes)(size_t blocks)
{
    return 16 + blocks * COARSEN_(words_of_slot) * sizeof(unsigned long long);
}
#endif
#endif

#define COARSEN_END
#include "../base.h"
