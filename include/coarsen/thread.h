// SPDX-License-Identifier: MIT
//
// coarsen/thread.h: where am I, and when. Device functions for any block and grid of one, two or
// three dimensions. It takes no parameters.
//
//     unsigned int       coarsen_thread_id()        in the block: x + Dx (y + Dy z)
//     unsigned int       coarsen_block_threads()    threads a block
//     unsigned int       coarsen_block_warps()      warps a block, the last one perhaps not full
//     unsigned int       coarsen_warp_id()          in the block: thread id / 32
//     unsigned int       coarsen_lane_id()          in the warp: thread id mod 32
//     unsigned long long coarsen_block_id()         in the grid: x + Gx (y + Gy z)
//     unsigned long long coarsen_grid_blocks()      blocks a grid
//     unsigned long long coarsen_global_id()        in the grid: block id * threads a block + thread id
//     unsigned long long coarsen_grid_threads()     threads a grid
//     void               coarsen_clock_record(...)  when each thread was here; see below
//
// A warp is 32 threads with consecutive ids, so the idle lanes of a block are those that fill its
// last warp up: coarsen_idle_lanes(threads), on the host too. A 14 x 8 block idles 16 lanes of 128.
//
// Source: CUDA C++ Programming Guide, "Thread Hierarchy"; N. Wilt, The CUDA Handbook, section 7.3.

#ifndef COARSEN_THREAD_H
#define COARSEN_THREAD_H

#include "base.h"

COARSEN_DEVICE unsigned int coarsen_thread_id(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

COARSEN_DEVICE unsigned int coarsen_block_threads(void)
{
    return blockDim.x * blockDim.y * blockDim.z;
}

COARSEN_DEVICE unsigned int coarsen_block_warps(void)
{
    return (coarsen_block_threads() + 31) / 32;
}

COARSEN_DEVICE unsigned int coarsen_warp_id(void)
{
    return coarsen_thread_id() / 32;
}

COARSEN_DEVICE unsigned int coarsen_lane_id(void)
{
    return coarsen_thread_id() % 32;
}

COARSEN_DEVICE unsigned long long coarsen_block_id(void)
{
    return blockIdx.x + gridDim.x * (blockIdx.y + 1ULL * gridDim.y * blockIdx.z);
}

COARSEN_DEVICE unsigned long long coarsen_grid_blocks(void)
{
    return 1ULL * gridDim.x * gridDim.y * gridDim.z;
}

COARSEN_DEVICE unsigned long long coarsen_global_id(void)
{
    return coarsen_block_id() * coarsen_block_threads() + coarsen_thread_id();
}

COARSEN_DEVICE unsigned long long coarsen_grid_threads(void)
{
    return coarsen_grid_blocks() * coarsen_block_threads();
}

// The lanes that a block of so many threads leaves idle in its last warp.
COARSEN_HOST_DEVICE unsigned int coarsen_idle_lanes(unsigned int threads)
{
    return (32 - threads % 32) % 32;
}

// What one thread saw: the clock of its multiprocessor, in cycles, and who it was. The clocks of two
// multiprocessors need not agree.
typedef struct {
    long long clock;
    unsigned long long block;
    unsigned int warp, lane;
} coarsen_clock;

// Writes records[coarsen_global_id()]; records holds coarsen_grid_threads() elements.
COARSEN_DEVICE void coarsen_clock_record(coarsen_clock *records)
{
    coarsen_clock here;
    here.clock = clock64();
    here.block = coarsen_block_id();
    here.warp = coarsen_warp_id();
    here.lane = coarsen_lane_id();
    records[coarsen_global_id()] = here;
}

#endif // COARSEN_THREAD_H
