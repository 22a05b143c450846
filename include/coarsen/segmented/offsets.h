// SPDX-License-Identifier: MIT
//
// coarsen/segmented/offsets.h: reduces each of many segments of an array, given by where they begin.
// out[s] = LIFT(in[b], 0) OP LIFT(in[b + 1], 1) OP ... OP LIFT(in[e - 1], e - 1 - b),
// where b = offsets[s] and e = offsets[s + 1]; the identity, if b == e
//
//     #define COARSEN_NAME   row_sums
//     #define COARSEN_TYPE   float
//     #define COARSEN_OFFSET int
//     #include <coarsen/segmented/offsets.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_OFFSET       | int              | type of the offsets: any integer                     |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and of the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i of its segment (a size_t) as a COARSEN_ACC |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative operator on COARSEN_ACC; need not be commutative |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 64 to 1024  |
// | COARSE_FACTOR        | 5                | 16-byte vectors per thread and tile, from 1 to 16, best odd; fewer where they would need too much shared memory |
// Defines the functions of block/look_back.h and block/vector.h; NAME_kernel; and
//     size_t      NAME_scratch_bytes(size_t n, size_t segments)   never falls as one of them grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, size_t n, const COARSEN_OFFSET *offsets,
//                             size_t segments, COARSEN_ACC *out, void *scratch, size_t scratch_bytes,
//                             cudaStream_t stream)
// in: n elements in device memory, at any element's alignment (its size, if that divides 16). offsets:
// segments + 1 of them in device memory, none less than the one before or more than n; what is before the
// first and from the last on belongs to no segment. out: a COARSEN_ACC per segment, apart from both. scratch:
// device memory, 16-byte aligned, which NAME_scratch_init makes ready once, by zeros; each launch leaves it
// ready for the next, for any n and segments. One scratch per launch that may run at the same time. Wrong
// offsets, or a scratch that was not made ready, end the launch with an error (__trap). Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array or too small a scratch, with nothing
// written.
// Deterministic: the same offsets at the same alignment give the same bits always.
//
// Price saved: threads that wait for the longest segment. A thread, a warp or a block per segment is right
// for one length. Here elements and boundaries between segments are counted alike, and a tile is so many of
// both: where it begins is found by a search. So a million empty segments, and one of a million elements, are
// the same number of tiles. Price paid: a search and a look at the tiles before, per tile.
// How a tile is reduced: a boundary is a mark on the element behind it, the head of a segment. A warp reads
// rows of vectors; each lane adds up from head to head, five shuffles add to that what the lanes before have
// since their last head, and a lane that has a head writes what is before it: the segment that ends there.
// What a tile has after its last head it leaves in a slot. The tile that has the next head adds these up.
// Cost: n elements and segments + 1 offsets read, a result per segment written once.
// Source: D. Merrill and M. Garland, Merge-based Parallel Sparse Matrix-Vector Multiplication (2016), for
// what a tile is.

#define COARSEN_BEGIN COARSEN_PATTERN_SEGMENTED
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#elif BLOCK_DIM < 64
#error "coarsen/segmented: BLOCK_DIM must be 64 or more, as two warps search at the same time"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 5
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/segmented: COARSE_FACTOR must be from 1 to 16"
#endif

#include "../block/copy.h"
#include "../block/look_back.h"
#include "../block/vector.h"

#define COARSEN_WARPS       (BLOCK_DIM / 32)
// The vectors of a thread, and of a tile the places for elements. Of two tiles, each place has in shared memory
// its element and a number, 96 KiB in all.
#define COARSEN_PLACE_BYTES (2 * (sizeof(COARSEN_TYPE) + sizeof(unsigned int)))
#define COARSEN_FIT         (98304 / (BLOCK_DIM * COARSEN_ITEMS * COARSEN_PLACE_BYTES))
#define COARSEN_ROWS                                                                               \
    (COARSE_FACTOR < COARSEN_FIT ? COARSE_FACTOR : COARSEN_FIT > 0 ? COARSEN_FIT : 1)
#define COARSEN_PLACES (BLOCK_DIM * COARSEN_ROWS * COARSEN_ITEMS)

// What a kernel gets. Boundary b is where segment b begins and segment b - 1 ends; it comes before the
// element at its offset.
typedef struct {
    const COARSEN_TYPE *in;
    size_t skip, n; // in[0] is element skip of the first whole vector
    const COARSEN_OFFSET *offsets;
    size_t segments;
    COARSEN_ACC *out;
} COARSEN_(arrays);

// Boundaries among the first `units` elements and boundaries, by a warp: each step takes the 32nd part.
COARSEN_DEVICE size_t COARSEN_(boundaries_before)(COARSEN_(arrays) arrays, size_t units)
{
    const size_t lane = threadIdx.x % 32;
    size_t first = 0, count = coarsen_min(arrays.segments + 1, units); // it is among these
    while (count > 0) {
        const size_t step = count / 32 + 1, b = first + lane * step + step - 1;
        const bool before = lane * step + step - 1 < count && b + (size_t)arrays.offsets[b] < units;
        const unsigned int steps = __popc(__ballot_sync(0xffffffff, before));
        first += steps * step;
        count = coarsen_min(count - steps * step, step - 1);
    }
    return first;
}

// The marks of the vector at a place of the tile: bit k for a head at its element k.
COARSEN_DEVICE unsigned int COARSEN_(heads_at)(const unsigned int *heads, unsigned int place)
{
    return heads[place / 32] >> place % 32 & ((2u << (COARSEN_ITEMS - 1)) - 1);
}

// Of the vector at a place, those elements that are at places from `lowest` on and before `places`, as bits.
COARSEN_DEVICE unsigned int COARSEN_(places_between)(unsigned int place, unsigned int lowest,
                                                     unsigned int places)
{
    unsigned int there = 0;
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_ITEMS; k++)
        if (place + k >= lowest && place + k < places)
            there |= 1u << k;
    return there;
}

// What a lane, a warp or a tile holds: before its first head, and from its last one on.
typedef struct {
    COARSEN_ACC first, last; // both are all of it, if there is no head; of no element, the identity
    unsigned int
        head; // the boundary of the first head, counted from the run's first one; ~0u: none
    bool any; // whether first is of any element
} COARSEN_(part);

// What the 32 lanes of a warp hold together. It writes the segments that begin and end in different lanes.
COARSEN_DEVICE COARSEN_(part) COARSEN_(combine)(COARSEN_(part) part, COARSEN_ACC *ended)
{
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int heads = __ballot_sync(0xffffffff, part.head != ~0u);
    const unsigned int any = __ballot_sync(0xffffffff, part.any);
    const unsigned int lower = heads & ((1u << lane) - 1), upto = heads & ((2u << lane) - 1);
    // Each lane gets what the lanes before have since their last head: by steps, as far back as that is.
    const unsigned int back = upto != 0 ? lane - (31 - __clz((int)upto)) : lane;
    COARSEN_ACC sum = part.last;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const COARSEN_ACC below = COARSEN_(from_below)(sum, delta);
        if (delta <= back)
            sum = COARSEN_(op)(below, sum);
    }
    COARSEN_ACC before = COARSEN_(from_below)(sum, 1);
    if (lane == 0)
        before = part.first;
    else if (part.any)
        before = COARSEN_(op)(before, part.first);
    if (part.head != ~0u && lower != 0)
        ended[part.head] = before;

    const unsigned int last =
        heads | any ? 31 - __clz((int)(heads | any)) : 0; // that holds something
    const unsigned int first = heads != 0 ? __ffs((int)heads) - 1 : last;
    COARSEN_(part) all;
    all.first = COARSEN_(of_lane)(before, first);
    all.last = COARSEN_(of_lane)(sum, last);
    all.head = __shfl_sync(0xffffffff, part.head, (int)first);
    all.any = (any & ((2u << first) - 1)) != 0;
    return all;
}

// Adds a tile to what the run holds, by a warp, from what the tile's warps hold.
COARSEN_DEVICE void COARSEN_(go_on)(COARSEN_(part) * whole, const COARSEN_(part) * parts,
                                    COARSEN_ACC *ended)
{
    const unsigned int lane = threadIdx.x % 32;
    COARSEN_(part) tile = {COARSEN_(identity)(), COARSEN_(identity)(), ~0u, false};
    if (lane < COARSEN_WARPS)
        tile = parts[lane];
    tile = COARSEN_(combine)(tile, ended);
    if (tile.any)
        whole->last = COARSEN_(op)(whole->last, tile.first);
    if (whole->head == ~0u) {
        whole->any |= tile.any;
        whole->first = whole->last;
        whole->head = tile.head;
    } else if (tile.head != ~0u && lane == 0) {
        ended[tile.head] = whole->last;
    }
    if (tile.head != ~0u)
        whole->last = tile.last;
}

// The place of the last head before one, by a warp, or ~0u.
COARSEN_DEVICE unsigned int COARSEN_(last_head)(const unsigned int *heads, unsigned int place)
{
    const unsigned int lane = threadIdx.x % 32;
    for (unsigned int end = (place + 31) / 32; end > 0; end -= end < 32 ? end : 32) {
        unsigned int marks = lane < end ? heads[end - 1 - lane] : 0;
        if ((end - lane) * 32 > place && lane < end) // what of the word is from the place on
            marks &= (1u << place % 32) - 1;
        const unsigned int lanes = __ballot_sync(0xffffffff, marks != 0);
        if (lanes != 0) {
            const unsigned int nearest = __ffs((int)lanes) - 1;
            return (end - 1 - nearest) * 32 + 31 -
                   __clz((int)__shfl_sync(0xffffffff, marks, (int)nearest));
        }
    }
    return ~0u;
}

// The place of the last head before the calling lane's run, which begins at a place, by a warp, or ~0u.
COARSEN_DEVICE unsigned int COARSEN_(head_before)(const unsigned int *heads, unsigned int place)
{
    const unsigned int lane = threadIdx.x % 32;
    unsigned int behind = 0; // the last head; 0: none
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int marks = COARSEN_(heads_at)(heads, place + r * COARSEN_ITEMS);
        if (marks != 0)
            behind = place + r * COARSEN_ITEMS + 32 - __clz((int)marks);
    }
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int below = __shfl_up_sync(0xffffffff, behind, delta);
        behind = lane >= delta && below > behind ? below : behind;
    }
    const unsigned int below = __shfl_up_sync(0xffffffff, behind, 1);
    const unsigned int warp_place = place - lane * COARSEN_ROWS * COARSEN_ITEMS;
    const unsigned int outside = COARSEN_(last_head)(heads, warp_place);
    return lane > 0 && below > 0 ? below - 1 : outside;
}

// Begins to copy a thread's vectors of a tile to shared memory. element: the first one's, counted from the
// first whole vector. What is before the array or from element `stop` on is zeros there.
COARSEN_DEVICE void COARSEN_(copy_tile)(COARSEN_(vector) * to, COARSEN_(arrays) arrays,
                                        size_t element, size_t stop)
{
    const COARSEN_TYPE *const from = arrays.in + (element - arrays.skip);
    const bool there =
        element >= arrays.skip && element + COARSEN_ROWS * 32 * COARSEN_ITEMS <= stop;
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int i = r * 32 * COARSEN_ITEMS;
        COARSEN_(vector) *const vector = to + r * 32;
        if (there || (element + i >= arrays.skip && element + i + COARSEN_ITEMS <= stop)) {
            if (sizeof(COARSEN_(vector)) == 16 && COARSEN_VECTOR_ALIGN(COARSEN_TYPE) == 16)
                COARSEN_(copy_async)(vector, from + i, 16);
            else
                *vector = *(const COARSEN_(vector) *)(from + i);
        } else if (element + i < stop) {
            COARSEN_(vector) some = {};
#pragma unroll
            for (unsigned int k = 0; k < COARSEN_ITEMS; k++)
                if (element + i + k >= arrays.skip && element + i + k < stop)
                    some.item[k] = from[i + k];
            *vector = some;
        }
    }
    COARSEN_(copies_end)();
}

// A run of the elements and boundaries, the part of one block.
typedef struct {
    size_t first_boundary, boundaries_end;
    size_t first_element, elements_end;
} COARSEN_(run);

// A boundary and the one before it, read long before they are needed.
typedef struct {
    COARSEN_OFFSET offset, before;
} COARSEN_(bound);

COARSEN_DEVICE COARSEN_(bound)
    COARSEN_(bound_at)(COARSEN_(arrays) arrays, COARSEN_(run) run, size_t boundary)
{
    COARSEN_(bound) bound = {0, 0};
    if (boundary < run.boundaries_end) {
        bound.offset = arrays.offsets[boundary];
        bound.before = boundary > 0 ? arrays.offsets[boundary - 1] : bound.offset;
    }
    return bound;
}

// Where a thread is among the boundaries, of which it takes every BLOCK_DIMth.
typedef struct {
    size_t boundary;
    COARSEN_(bound) bound, next;
} COARSEN_(cursor);

// Marks the heads of a tile, which begins at an element counted from the first whole vector, and writes the
// results of empty segments.
COARSEN_DEVICE void COARSEN_(mark)(COARSEN_(cursor) * at, COARSEN_(arrays) arrays,
                                   COARSEN_(run) run, size_t tile, unsigned int *heads,
                                   unsigned int *boundary_at)
{
    while (at->boundary < run.boundaries_end &&
           (size_t)at->bound.offset + arrays.skip < tile + COARSEN_PLACES) {
        const size_t offset = (size_t)at->bound.offset;
        if (offset + arrays.skip < tile || offset < run.first_element ||
            offset > run.elements_end || at->bound.before > at->bound.offset)
            __trap();
        if (at->boundary > 0 && at->bound.before == at->bound.offset) {
            arrays.out[at->boundary - 1] = COARSEN_(identity)();
        } else {
            const unsigned int place = (unsigned int)(offset + arrays.skip - tile);
            atomicOr(&heads[place / 32], 1u << place % 32);
            boundary_at[place] = (unsigned int)(at->boundary - run.first_boundary);
        }
        at->boundary += BLOCK_DIM;
        at->bound = at->next;
        at->next = COARSEN_(bound_at)(arrays, run, at->boundary + BLOCK_DIM);
    }
}

// What a lane's run holds, from place `mine` on, and the segments that begin and end in it, written. start:
// where the segment began that is open there; only LIFT asks.
COARSEN_DEVICE COARSEN_(part)
    COARSEN_(add_up)(const COARSEN_(vector) * stage, size_t tile, unsigned int mine,
                     unsigned int lowest, unsigned int places, const unsigned int *heads,
                     const unsigned int *boundary_at, size_t start, COARSEN_ACC *ended)
{
    const bool whole = lowest == 0 && places == COARSEN_PLACES;
    COARSEN_(part) part = {COARSEN_(identity)(), COARSEN_(identity)(), ~0u, false};
    unsigned int first_end = mine + COARSEN_ROWS * COARSEN_ITEMS; // the place where part.first ends
#pragma unroll 1 // the code for all vectors would not fit the instruction cache
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int place = mine + r * COARSEN_ITEMS;
        const unsigned int marks = COARSEN_(heads_at)(heads, place);
        const unsigned int there = whole ? ~0u : COARSEN_(places_between)(place, lowest, places);
        COARSEN_(vector) load = {};
        if (there != 0)
            load = stage[place / COARSEN_ITEMS];
        if (marks == 0 && there == ~0u) { // as most vectors of long segments
#pragma unroll
            for (unsigned int k = 0; k < COARSEN_ITEMS; k++)
                part.last =
                    COARSEN_(op)(part.last, COARSEN_(lift)(load.item[k], tile + place + k - start));
            continue;
        }
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_ITEMS; k++) {
            if (marks >> k & 1) {
                const unsigned int head = boundary_at[place + k];
                if (part.head != ~0u) {
                    ended[head] = part.last;
                } else {
                    part.first = part.last;
                    part.head = head;
                    first_end = place + k;
                }
                part.last = COARSEN_(identity)();
                start = tile + place + k;
            }
            if (there >> k & 1)
                part.last =
                    COARSEN_(op)(part.last, COARSEN_(lift)(load.item[k], tile + place + k - start));
        }
    }
    if (part.head == ~0u)
        part.first = part.last;
    part.any = (mine > lowest ? mine : lowest) < (first_end < places ? first_end : places);
    return part;
}

// The sums that the runs from one up to another left, combined, by a warp. A lane has a few in a row, the last
// lane the last ones, so that it is the first that may have none: the identity is one on the left only.
COARSEN_DEVICE COARSEN_ACC COARSEN_(left_by)(COARSEN_(slots) slots, unsigned int from,
                                             unsigned int to)
{
    const unsigned int each = (to - from + 31) / 32, none = 32 * each - (to - from);
    COARSEN_ACC sum = COARSEN_(identity)(), value;
    for (unsigned int i = threadIdx.x % 32 * each; i < (threadIdx.x % 32 + 1) * each; i++)
        if (i >= none) {
            while (COARSEN_(look)(slots.sums + (from + i - none) * COARSEN_(words_of_slot),
                                  &value) != slots.flag) {
            }
            sum = COARSEN_(op)(sum, value);
        }
    __syncwarp();
    return COARSEN_(of_lane)(COARSEN_(warp_inclusive)(sum), 31);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(COARSEN_(arrays) arrays, size_t each, unsigned long long *scratch)
{
    __shared__ unsigned long long ticket;
    __shared__ unsigned int number; // of the block's run
    __shared__ size_t bounds[2];
    // Of several tiles, as one is written while another is read. So there is one barrier per tile.
    __shared__ unsigned int heads[3][COARSEN_PLACES / 32];
    COARSEN_SHARED(COARSEN_(part), parts, 2 * COARSEN_WARPS);
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        ticket = COARSEN_(take)(scratch);
        number = COARSEN_(tile_of)(scratch, ticket, gridDim.x);
    }
    for (unsigned int i = threadIdx.x; i < COARSEN_PLACES / 32; i += BLOCK_DIM)
        heads[0][i] = heads[1][i] = 0;
    __syncthreads();
    const size_t units = arrays.n + arrays.segments + 1;
    const size_t begin = coarsen_min(number * each, units), end = coarsen_min(begin + each, units);
    if (warp < 2) {
        const size_t before = COARSEN_(boundaries_before)(arrays, warp == 0 ? begin : end);
        if (lane == 0)
            bounds[warp] = before;
    }
    __syncthreads();
    const COARSEN_(run) run = {bounds[0], bounds[1], begin - bounds[0], end - bounds[1]};
    if (run.first_boundary > run.boundaries_end || run.first_element > run.elements_end ||
        run.elements_end > arrays.n)
        __trap(); // an offset is less than the one before, or more than n
    // At a boundary of the run, the result of the segment that ends there.
    COARSEN_ACC *const ended = arrays.out + run.first_boundary - 1;

    // Elements from here on are counted from the first whole vector. The last tile has the place behind the
    // last element, where there may be a boundary.
    const size_t lead = run.first_element + arrays.skip, stop = run.elements_end + arrays.skip;
    // A warp copies rows of vectors, and a lane adds up a run of them. These runs are COARSEN_ROWS vectors
    // apart: if that is odd, no two of eight lanes meet in a bank.
    const unsigned int copied =
        (warp * COARSEN_ROWS * 32 + lane) * COARSEN_ITEMS;                // the first place
    const unsigned int mine = threadIdx.x * COARSEN_ROWS * COARSEN_ITEMS; // likewise
    size_t tile = lead / COARSEN_ITEMS * COARSEN_ITEMS;                   // the element at place 0
    COARSEN_(vector) *stage = (COARSEN_(vector) *)coarsen_shared;
    COARSEN_(vector) *next_stage = stage + BLOCK_DIM * COARSEN_ROWS;
    unsigned int *boundary_at = (unsigned int *)(next_stage + BLOCK_DIM * COARSEN_ROWS);
    unsigned int *next_boundary_at =
        boundary_at + COARSEN_PLACES; // of the run, where there is a head
    COARSEN_(copy_tile)(stage + copied / COARSEN_ITEMS, arrays, tile + copied, stop);
    COARSEN_(cursor) at;
    at.boundary = run.first_boundary + threadIdx.x;
    at.bound = COARSEN_(bound_at)(arrays, run, at.boundary);
    at.next = COARSEN_(bound_at)(arrays, run, at.boundary + BLOCK_DIM);
    COARSEN_(mark)(&at, arrays, run, tile, heads[0], boundary_at);
    __syncthreads();

    // Where the open segment began; for LIFT.
    size_t start =
        run.first_boundary > 0 ? (size_t)arrays.offsets[run.first_boundary - 1] + arrays.skip : 0;
    COARSEN_(part)
    whole = {COARSEN_(identity)(), COARSEN_(identity)(), ~0u, false}; // in warp 0: the run
    unsigned int turn = 0;
    for (; tile <= stop; tile += COARSEN_PLACES, turn++) {
        COARSEN_(copy_tile)
        (next_stage + copied / COARSEN_ITEMS, arrays, tile + COARSEN_PLACES + copied, stop);
        COARSEN_(mark)
        (&at, arrays, run, tile + COARSEN_PLACES, heads[(turn + 1) % 3], next_boundary_at);
        for (unsigned int i = threadIdx.x; i < COARSEN_PLACES / 32; i += BLOCK_DIM)
            heads[(turn + 2) % 3][i] = 0;
        COARSEN_(copies_wait)(1);
        __syncwarp();

        const unsigned int *const marked = heads[turn % 3];
        const unsigned int lowest =
            lead > tile ? (unsigned int)(lead - tile) : 0; // with an element
        const unsigned int places = (unsigned int)coarsen_min(stop - tile, COARSEN_PLACES);
        size_t lane_start = start;
        if (COARSEN_LIFTED) {
            const unsigned int before = COARSEN_(head_before)(marked, mine);
            const unsigned int last = COARSEN_(last_head)(marked, COARSEN_PLACES);
            lane_start = before != ~0u ? tile + before : start;
            start = last != ~0u ? tile + last : start;
        }
        // What lanes hold makes what a warp holds, and the warps' makes the tile's: that in the next turn.
        const COARSEN_(part) part =
            COARSEN_(combine)(COARSEN_(add_up)(stage, tile, mine, lowest, places, marked,
                                               boundary_at, lane_start, ended),
                              ended);
        if (lane == 0)
            parts[turn % 2 * COARSEN_WARPS + warp] = part;
        if (warp == 0 && turn > 0)
            COARSEN_(go_on)(&whole, parts + (turn + 1) % 2 * COARSEN_WARPS, ended);
        __syncthreads();
        COARSEN_(vector) *const done = stage;
        stage = next_stage, next_stage = done;
        unsigned int *const read = boundary_at;
        boundary_at = next_boundary_at, next_boundary_at = read;
    }

    // What the runs before have of the segment that ends at the run's first head.
    if (warp > 0)
        return;
    COARSEN_(go_on)(&whole, parts + (turn + 1) % 2 * COARSEN_WARPS, ended);
    const COARSEN_(slots) slots = COARSEN_(find_slots)(scratch, ticket, gridDim.x);
    COARSEN_(publish)(slots, number, whole.last);
    const size_t b = run.first_boundary + whole.head;
    if (whole.head == ~0u || b == 0)
        return;
    const size_t segment_start = (size_t)arrays.offsets[b - 1];
    if (segment_start < run.first_element) {
        const COARSEN_ACC before =
            COARSEN_(left_by)(slots, (unsigned int)((segment_start + b - 1) / each), number);
        whole.first = whole.any ? COARSEN_(op)(before, whole.first) : before;
    }
    if (lane == 0)
        ended[whole.head] = whole.first;
}

#ifndef __CUDACC_RTC__
// A run is a tile or more, and there are no more than the device can hold, so that there is one wave.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n, size_t segments)
{
    cudaError_t status;
    return COARSEN_(look_back_bytes)(coarsen_min(
        coarsen_ceil_div(n, COARSEN_PLACES) + coarsen_ceil_div(segments, COARSEN_PLACES) + 1,
        coarsen_attribute(cudaDevAttrMultiProcessorCount, &status) * (2048 / BLOCK_DIM)));
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, size_t n,
                                          const COARSEN_OFFSET *offsets, size_t segments,
                                          COARSEN_ACC *out, void *scratch, size_t scratch_bytes,
                                          cudaStream_t stream)
{
    if (segments == 0)
        return cudaSuccess;
    const size_t most = (size_t)-1 / 4; // so that no sum of two overflows
    if (n > most || segments > most ||
        !coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_array_ok(offsets, segments + 1) || !coarsen_array_ok(out, segments) ||
        !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n, segments), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n, segments))
        return cudaErrorInvalidValue;
    cudaError_t status;
    int resident = 0; // blocks per multiprocessor
    const size_t units = n + segments + 1;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t shared_bytes = COARSEN_PLACES * COARSEN_PLACE_BYTES;
    if (status == cudaSuccess)
        status =
            cudaFuncSetAttribute((const void *)COARSEN_(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               BLOCK_DIM, shared_bytes);
    if (status != cudaSuccess)
        return status;
    const size_t runs = coarsen_min(coarsen_ceil_div(units, COARSEN_PLACES),
                                    processors * (size_t)(resident > 0 ? resident : 1));
    const size_t skip = COARSEN_ITEMS > 1 ? (size_t)in % sizeof(COARSEN_(vector)) / sizeof(*in) : 0;
    const COARSEN_(arrays) arrays = {in, skip, n, offsets, segments, out};
    const cudaLaunchConfig_t config = coarsen_launch_config(runs, BLOCK_DIM, shared_bytes, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), arrays, coarsen_ceil_div(units, runs),
                              (unsigned long long *)scratch);
}
#endif
#undef COARSEN_PLACE_BYTES
#undef COARSEN_FIT
#undef COARSEN_ROWS
#undef COARSEN_PLACES

#define COARSEN_END
#include "../base.h"
