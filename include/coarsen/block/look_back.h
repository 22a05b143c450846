// SPDX-License-Identifier: MIT
//
// coarsen/block/look_back.h: what all tiles of an array before one hold, combined. Each block takes a tile,
// leaves what it holds where others can read it, and one of its warps looks back.
//
//     #define COARSEN_NAME place
//     #define COARSEN_TYPE unsigned long long
//     #define BLOCK_DIM    256
//     #include <coarsen/block/look_back.h>
//
//     // in a kernel of one block per tile, one thread, with ticket and tile in shared memory
//     //     ticket = place_take(scratch);
//     //     tile = place_tile_of(scratch, ticket, gridDim.x);
//     // later, the first warp, with count, what the tile holds, in all lanes
//     //     const place_slots slots = place_find_slots(scratch, ticket, gridDim.x);
//     //     place_sight sight;
//     //     place_publish(slots, tile, count);
//     //     place_ask(slots, tile, &sight);
//     //     before = place_look_back(slots, tile, &sight, count);
//
// Parameters: those of block/scan.h, whose functions this defines too, with NAME_take and NAME_tile_of of
// block/ticket.h, and
//     NAME_slots   NAME_find_slots(unsigned long long *scratch, unsigned long long ticket, unsigned int tiles)
//     void         NAME_publish(NAME_slots slots, unsigned int tile, COARSEN_TYPE sum)
//     void         NAME_ask(NAME_slots slots, unsigned int tile, NAME_sight *sight)
//     bool         NAME_answered(NAME_slots slots, unsigned int tile, NAME_sight *sight)
//     bool         NAME_lane_answered(NAME_slots slots, unsigned int tile, NAME_sight *sight)   by one lane
//     COARSEN_TYPE NAME_look_back(NAME_slots slots, unsigned int tile, NAME_sight *sight, COARSEN_TYPE sum)
//     size_t       NAME_look_back_bytes(size_t tiles)               of scratch; host
//     cudaError_t  NAME_scratch_init(void *scratch, size_t bytes, cudaStream_t stream)   host
// A block that asks for tiles until there is none left gets `tiles` or more when it has asked in vain. Any ticket
// of the launch finds the slots. The others are for a whole warp. NAME_publish leaves the sum of a tile; NAME_ask
// begins to read the sums before a tile; NAME_answered says whether all of them are there, and asks again for
// those that are not; NAME_lane_answered says it of what the calling lane asked for; and NAME_look_back waits for
// them: before is all tiles before this one, combined, in all lanes. Every tile is published and looks back.
// scratch: device memory, 16-byte aligned, made ready once by NAME_scratch_init; each launch leaves it ready for
// the next, with any number of tiles, 2^32 - 2 times. A scratch that was not made ready ends the launch with an
// error (__trap), unless its first word happens to be small.
// Deterministic: the tree in which tiles are combined depends on their numbers alone.
//
// There is a slot for the sum of each tile, and one for each group of 128 tiles, with all up to its end,
// which the last tile of the group leaves. A tile reads the slots of its group, side by side, and that of the
// group before. So it waits for tiles to be read, and only once per group for another one's look-back.
// No deadlock: who has a lower ticket runs already, in whatever order the device starts blocks.
// Cost: a ticket, and up to 129 slots read per tile; 8 bytes of a slot per 4-byte word of a sum.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016).

#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#ifndef COARSEN_MADE_LOOK_BACK
#define COARSEN_MADE_LOOK_BACK
#include "scan.h"
#include "ticket.h"

#define COARSEN_GROUP 128 // tiles

typedef struct {
    unsigned long long *sums, *groups;
    unsigned int flag; // of this launch
} COARSEN_(slots);

COARSEN_DEVICE COARSEN_(slots)
    COARSEN_(find_slots)(unsigned long long *scratch, unsigned long long ticket, unsigned int tiles)
{
    const size_t groups = tiles / COARSEN_GROUP;
    const COARSEN_(slots) slots = {scratch + 2 + groups * COARSEN_(words_of_slot), scratch + 2,
                                   (unsigned int)(ticket >> 32) + 1};
    return slots;
}

COARSEN_DEVICE void COARSEN_(publish)(COARSEN_(slots) slots, unsigned int tile, COARSEN_ACC sum)
{
    if (threadIdx.x % 32 == 0)
        COARSEN_(leave)(slots.sums + (size_t)tile * COARSEN_(words_of_slot), slots.flag, sum);
}

// What a lane has seen: of every 32nd tile of the group before its own, and of the groups before. Nothing
// waits for it until it is needed.
typedef struct {
    COARSEN_(slot) sums[COARSEN_GROUP / 32], group;
} COARSEN_(sight);

COARSEN_DEVICE void COARSEN_(ask)(COARSEN_(slots) slots, unsigned int tile, COARSEN_(sight) * sight)
{
    const unsigned int words = COARSEN_(words_of_slot), lane = threadIdx.x % 32;
    const unsigned int group = tile / COARSEN_GROUP, count = tile % COARSEN_GROUP;
    if (group > 0)
        sight->group = COARSEN_(peek)(slots.groups + (size_t)(group - 1) * words);
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_GROUP / 32; k++)
        if (k * 32 + lane < count)
            sight->sums[k] =
                COARSEN_(peek)(slots.sums + (tile - count + k * 32 + lane) * (size_t)words);
}

// Whether the calling lane has seen all that it asked for. What is missing it asks for again, and nothing else: the
// others need the L2 cache too.
COARSEN_DEVICE bool COARSEN_(lane_answered)(COARSEN_(slots) slots, unsigned int tile,
                                            COARSEN_(sight) * sight)
{
    const unsigned int words = COARSEN_(words_of_slot), lane = threadIdx.x % 32;
    const unsigned int group = tile / COARSEN_GROUP, count = tile % COARSEN_GROUP;
    COARSEN_ACC value;
    const bool missing_group = group > 0 && COARSEN_(value_of)(sight->group, &value) != slots.flag;
    bool missing[COARSEN_GROUP / 32], any = missing_group;
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_GROUP / 32; k++) {
        missing[k] =
            k * 32 + lane < count && COARSEN_(value_of)(sight->sums[k], &value) != slots.flag;
        any |= missing[k];
    }
    if (!any)
        return true;
    if (missing_group)
        sight->group = COARSEN_(peek)(slots.groups + (size_t)(group - 1) * words);
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_GROUP / 32; k++)
        if (missing[k])
            sight->sums[k] =
                COARSEN_(peek)(slots.sums + (tile - count + k * 32 + lane) * (size_t)words);
    return false;
}

// Whether all lanes have.
COARSEN_DEVICE bool COARSEN_(answered)(COARSEN_(slots) slots, unsigned int tile,
                                       COARSEN_(sight) * sight)
{
    return __all_sync(0xffffffff, COARSEN_(lane_answered)(slots, tile, sight));
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(look_back)(COARSEN_(slots) slots, unsigned int tile,
                                               COARSEN_(sight) * sight, COARSEN_ACC sum)
{
    const unsigned int group = tile / COARSEN_GROUP, count = tile % COARSEN_GROUP;
    const unsigned int lane = threadIdx.x % 32;
    COARSEN_ACC before = COARSEN_(identity)(), row[COARSEN_GROUP / 32];
    while (!COARSEN_(lane_answered)(slots, tile, sight)) {
    }
    __syncwarp();
    if (group > 0)
        COARSEN_(value_of)(sight->group, &before);
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_GROUP / 32; k++) {
        row[k] = COARSEN_(identity)();
        if (k * 32 + lane < count)
            COARSEN_(value_of)(sight->sums[k], &row[k]);
    }
    COARSEN_(inclusive_rows)(row, COARSEN_GROUP / 32);
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_GROUP / 32; k++) {
        const unsigned int last = count > k * 32 + 32 ? 31 : (count - k * 32 - 1) % 32;
        const COARSEN_ACC all = COARSEN_(of_lane)(row[k], last);
        if (k * 32 < count)
            before = COARSEN_(op)(before, all);
    }
    if (count == COARSEN_GROUP - 1 && lane == 0)
        COARSEN_(leave)
    (slots.groups + (size_t)group * COARSEN_(words_of_slot), slots.flag, COARSEN_(op)(before, sum));
    return before;
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(look_back_bytes)(size_t tiles)
{
    return (2 + (tiles + tiles / COARSEN_GROUP) * COARSEN_(words_of_slot)) *
           sizeof(unsigned long long);
}
#endif
#undef COARSEN_GROUP
#endif

#define COARSEN_END
#include "../base.h"
