// SPDX-License-Identifier: MIT
//
// coarsen/block/grid.h: what the blocks of an ordinary launch can do together: hold a lock in
// turns, and let the last one to finish do the rest.
//
//     #define COARSEN_NAME mine
//     #include <coarsen/block/grid.h>
//
//     // in a kernel, after each block has written its part:
//     //     if (mine_last_block(arrived))
//     //         ... the parts of all blocks can be read ...
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// Defines, for the device (coarsen/base.h has them, with their manuals),
//     bool NAME_last_block(unsigned int *arrived)    true in all threads of the last block to call it
//     void NAME_lock(unsigned int *lock)             waits until the lock is free, and takes it
//     void NAME_unlock(unsigned int *lock)
// *arrived and *lock are in global memory, and 0 before the first launch; each launch leaves them
// 0. One thread per block takes the lock. There is no barrier across the blocks: blocks that wait
// for others may keep those from starting.
// Source: the CUDA C++ Programming Guide, "Memory Fence Functions".

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"
#define COARSEN_END
#include "../base.h"
