// SPDX-License-Identifier: MIT
//
// coarsen/block/ticket.h: the tiles of an array, taken by blocks in the order in which they begin, whatever order
// that is. So a block may wait for those with lower tiles: they run already.
//
//     #define COARSEN_NAME turn
//     #include <coarsen/block/ticket.h>
//
//     // in a kernel of one block per tile, one thread, with ticket and tile in shared memory
//     //     ticket = turn_take(scratch);
//     //     tile = turn_tile_of(scratch, ticket, gridDim.x);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// Defines, for one thread of a block,
//     unsigned long long NAME_take(unsigned long long *scratch)
//     unsigned int NAME_tile_of(unsigned long long *scratch, unsigned long long ticket, unsigned int takes)
// NAME_take asks for a tile, and NAME_tile_of says which one it got, when that is needed: 0, 1, 2 ... in the order in
// which blocks ask. takes: how often all blocks of the launch ask. One thread calls NAME_tile_of once per ticket.
// ticket >> 32 is how many launches there have been on this scratch. scratch: a word in device memory, 0 before the first
// launch; each launch leaves it ready for the next, 2^32 - 2 times. If it was not 0, the launch ends with an
// error (__trap), unless it happens to be small. Cost: an atomic per ticket.

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"
#ifndef COARSEN_MADE_TICKET
#define COARSEN_MADE_TICKET

// The first word of the scratch counts the tickets of this launch, and in its upper half the launches: one
// atomic gives both.
COARSEN_DEVICE unsigned long long COARSEN_(take)(unsigned long long *scratch)
{
    // threadIdx.z is 0, which nvcc does not know. Of an addend that is the same in all lanes it would make
    // one atomic per warp, and the caller would wait for the ticket at once.
    return atomicAdd(scratch, 1ULL + threadIdx.z);
}

COARSEN_DEVICE unsigned int COARSEN_(tile_of)(unsigned long long *scratch,
                                              unsigned long long ticket, unsigned int takes)
{
    const unsigned int tile = (unsigned int)ticket;
    const unsigned long long launches = ticket >> 32;
    if (tile >= takes)
        __trap();          // the scratch was not made ready
    if (tile == takes - 1) // nobody asks after this one
        *(volatile unsigned long long *)scratch = (launches < 0xfffffffe ? launches + 1 : 0) << 32;
    return tile;
}
#endif

#define COARSEN_END
#include "../base.h"
