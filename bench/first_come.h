// SPDX-License-Identifier: MIT
//
// bench/first_come.h: scan.h with another look-back, the usual one, which takes what is there: a tile adds up the
// sums before it until one of the tiles has what is before it, too. Which one has depends on the run, and so
// do the bits of a sum of floats. For the price of scan.h's tree, which is always the same.
//
//     #define COARSEN_NAME first_come
//     #define COARSEN_TYPE float
//     #include "first_come.h"
//
// Parameters and functions: scan.h's.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016).

#define COARSEN_BEGIN COARSEN_PATTERN_SCAN
#include <coarsen/base.h>
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif

#define COARSEN_MADE_LOOK_BACK // in place of block/look_back.h
#include <coarsen/block/scan.h>
#include <coarsen/block/ticket.h>

typedef struct {
    unsigned long long *sums, *prefixes; // of each tile: what it holds, and with all before it
    unsigned int flag;
} COARSEN_(slots);

COARSEN_DEVICE COARSEN_(slots)
    COARSEN_(find_slots)(unsigned long long *scratch, unsigned long long ticket, unsigned int tiles)
{
    const COARSEN_(slots)
        slots = {scratch + 2, scratch + 2 + (size_t)tiles * COARSEN_(words_of_slot),
                 (unsigned int)(ticket >> 32) + 1};
    return slots;
}

COARSEN_DEVICE void COARSEN_(publish)(COARSEN_(slots) slots, unsigned int tile, COARSEN_ACC sum)
{
    if (threadIdx.x % 32 == 0)
        COARSEN_(leave)(slots.sums + (size_t)tile * COARSEN_(words_of_slot), slots.flag, sum);
}

// A lane looks at one of 32 tiles, of which the last one is `end` - 1. after: what those from `end` on hold.
typedef struct {
    COARSEN_(slot) sum, prefix;
    unsigned int end;
    COARSEN_ACC after;
    bool done;
} COARSEN_(sight);

COARSEN_DEVICE void COARSEN_(ask_window)(COARSEN_(slots) slots, COARSEN_(sight) * sight)
{
    const unsigned int words = COARSEN_(words_of_slot), back = 32 - threadIdx.x % 32;
    if (sight->end < back)
        return;
    sight->sum = COARSEN_(peek)(slots.sums + (size_t)(sight->end - back) * words);
    sight->prefix = COARSEN_(peek)(slots.prefixes + (size_t)(sight->end - back) * words);
}

COARSEN_DEVICE void COARSEN_(ask)(COARSEN_(slots) slots, unsigned int tile, COARSEN_(sight) * sight)
{
    sight->end = tile;
    sight->after = COARSEN_(identity)();
    sight->done = false;
    COARSEN_(ask_window)(slots, sight);
}

COARSEN_DEVICE bool COARSEN_(answered)(COARSEN_(slots) slots, unsigned int, COARSEN_(sight) * sight)
{
    if (sight->done)
        return true;
    const unsigned int lane = threadIdx.x % 32;
    COARSEN_ACC value = COARSEN_(identity)(), prefix = value;
    const bool out = sight->end < 32 - lane; // before the first tile
    const bool whole = out || COARSEN_(value_of)(sight->prefix, &prefix) == slots.flag;
    const bool there = !out && COARSEN_(value_of)(sight->sum, &value) == slots.flag;
    const unsigned int wholes = __ballot_sync(0xffffffff, whole);
    const unsigned int missing = __ballot_sync(0xffffffff, !whole && !there);
    const unsigned int last = wholes == 0 ? 0 : 31 - __clz((int)wholes); // from here on they count
    if ((missing >> last) != 0) {
        COARSEN_(ask_window)(slots, sight);
        return false;
    }
    value = whole ? prefix : value;
    value = COARSEN_(warp_inclusive)(lane < last || out ? COARSEN_(identity)() : value);
    sight->after = COARSEN_(op)(COARSEN_(of_lane)(value, 31), sight->after);
    sight->done = wholes != 0;
    sight->end -= 32;
    if (!sight->done)
        COARSEN_(ask_window)(slots, sight);
    return sight->done;
}

COARSEN_DEVICE bool COARSEN_(lane_answered)(COARSEN_(slots) slots, unsigned int tile,
                                            COARSEN_(sight) * sight)
{
    return COARSEN_(answered)(slots, tile, sight);
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(look_back)(COARSEN_(slots) slots, unsigned int tile,
                                               COARSEN_(sight) * sight, COARSEN_ACC sum)
{
    while (!COARSEN_(answered)(slots, tile, sight)) {
    }
    if (threadIdx.x % 32 == 0)
        COARSEN_(leave)
    (slots.prefixes + (size_t)tile * COARSEN_(words_of_slot), slots.flag,
     COARSEN_(op)(sight->after, sum));
    return sight->after;
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(look_back_bytes)(size_t tiles)
{
    return (2 + 2 * tiles * COARSEN_(words_of_slot)) * sizeof(unsigned long long);
}
#endif

#include <coarsen/scan.h>

#define COARSEN_END
#include <coarsen/base.h>
