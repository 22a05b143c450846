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
// | COARSE_FACTOR        | 4                | 16-byte vectors per thread and tile, from 1 to 16; fewer where a tile would have more than 2^13 elements |
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
#define COARSE_FACTOR 4
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/segmented: COARSE_FACTOR must be from 1 to 16"
#endif

#include "../block/copy.h"
#include "../block/look_back.h"
#include "../block/vector.h"

#define COARSEN_WARPS  (BLOCK_DIM / 32)
// Rows of vectors of a warp, and of a tile the places for elements: at most 2^13, as there is a number in
// shared memory for each.
#define COARSEN_FIT    (8192 / (BLOCK_DIM * COARSEN_ITEMS))
#define COARSEN_ROWS   (COARSE_FACTOR < COARSEN_FIT ? COARSE_FACTOR : COARSEN_FIT)
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

// The place of the last head in a row, of those of these lanes.
COARSEN_DEVICE unsigned int COARSEN_(head_of)(const unsigned int *heads, unsigned int row,
                                              unsigned int lanes)
{
    const unsigned int place = row + (31 - __clz((int)lanes)) * COARSEN_ITEMS;
    return place + 31 - __clz((int)COARSEN_(heads_at)(heads, place));
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

// The last lane that has anything in a row: an element before `places`, or a head, which may be behind the last
// element. Or 32.
COARSEN_DEVICE unsigned int COARSEN_(last_lane)(unsigned int row, unsigned int places,
                                                unsigned int lanes)
{
    const unsigned int elements = places > row ? places - row : 0;
    if (elements >= 32 * COARSEN_ITEMS)
        return 31;
    const unsigned int last = elements > 0 ? (elements - 1) / COARSEN_ITEMS : 0;
    if (lanes != 0 && 31 - __clz((int)lanes) > (int)last)
        return 31 - __clz((int)lanes);
    return elements > 0 || lanes != 0 ? last : 32;
}

// The place of the last head before one, by a warp, or ~0u.
COARSEN_DEVICE unsigned int COARSEN_(last_head)(const unsigned int *heads, unsigned int place)
{
    for (unsigned int end = place / 32; end > 0;
         end -= end < 32 ? end : 32) { // places are whole words
        const unsigned int lane = threadIdx.x % 32;
        const unsigned int marks = lane < end ? heads[end - 1 - lane] : 0;
        const unsigned int lanes = __ballot_sync(0xffffffff, marks != 0);
        if (lanes != 0) {
            const unsigned int nearest = __ffs((int)lanes) - 1;
            return (end - 1 - nearest) * 32 + 31 -
                   __clz((int)__shfl_sync(0xffffffff, marks, (int)nearest));
        }
    }
    return ~0u;
}

// What a warp has of a tile: before its first head, and from its last one on. Nothing is the identity.
typedef struct {
    COARSEN_ACC first, last;
    unsigned int
        head; // the boundary of the first head, counted from the run's first one; ~0u: none
    bool any; // whether first, or last if there is no head, is of any element
} COARSEN_(part);

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
        COARSEN_(vector) *const vector = to + r * BLOCK_DIM;
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

// A boundary and the one before it, read long before they are needed.
typedef struct {
    COARSEN_OFFSET offset, before;
} COARSEN_(bound);

COARSEN_DEVICE COARSEN_(bound)
    COARSEN_(bound_at)(COARSEN_(arrays) arrays, size_t boundary, size_t boundaries_end)
{
    COARSEN_(bound) bound = {0, 0};
    if (boundary < boundaries_end) {
        bound.offset = arrays.offsets[boundary];
        bound.before = boundary > 0 ? arrays.offsets[boundary - 1] : bound.offset;
    }
    return bound;
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
    __shared__ unsigned int run;
    __shared__ size_t bounds[2];
    // In turns, as one is written while the other is read.
    __shared__ unsigned int heads[2][COARSEN_PLACES / 32];
    COARSEN_SHARED(COARSEN_(part), parts, 2 * COARSEN_WARPS);
    __shared__ unsigned int boundary_at[COARSEN_PLACES]; // of the run, where there is a head
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        ticket = COARSEN_(take)(scratch);
        run = COARSEN_(tile_of)(scratch, ticket, gridDim.x);
    }
    for (unsigned int i = threadIdx.x; i < COARSEN_PLACES / 32; i += BLOCK_DIM)
        heads[0][i] = 0;
    __syncthreads();
    const size_t units = arrays.n + arrays.segments + 1;
    const size_t begin = coarsen_min(run * each, units), end = coarsen_min(begin + each, units);
    if (warp < 2) {
        const size_t before = COARSEN_(boundaries_before)(arrays, warp == 0 ? begin : end);
        if (lane == 0)
            bounds[warp] = before;
    }
    __syncthreads();
    const size_t first_boundary = bounds[0], boundaries_end = bounds[1];
    const size_t first_element = begin - first_boundary, elements_end = end - boundaries_end;
    if (first_boundary > boundaries_end || first_element > elements_end || elements_end > arrays.n)
        __trap(); // an offset is less than the one before, or more than n
    COARSEN_ACC *const ended =
        arrays.out + first_boundary - 1; // at a boundary of the run, the segment that ends

    // Elements from here on are counted from the first whole vector. The last tile has the place behind the
    // last element, where there may be a boundary.
    const size_t lead = first_element + arrays.skip, stop = elements_end + arrays.skip;
    const unsigned int mine =
        warp * COARSEN_ROWS * 32 * COARSEN_ITEMS;       // the warp's first place in a tile
    size_t tile = lead / COARSEN_ITEMS * COARSEN_ITEMS; // the element at place 0
    COARSEN_(vector) *const stages = (COARSEN_(vector) *)coarsen_shared + threadIdx.x;
    COARSEN_(copy_tile)(stages, arrays, tile + mine + lane * COARSEN_ITEMS, stop);
    // A thread marks every BLOCK_DIMth boundary, and has read the next two.
    size_t boundary = first_boundary + threadIdx.x;
    COARSEN_(bound) bound = COARSEN_(bound_at)(arrays, boundary, boundaries_end);
    COARSEN_(bound) next = COARSEN_(bound_at)(arrays, boundary + BLOCK_DIM, boundaries_end);
    // Where the open segment began; for LIFT.
    size_t start =
        first_boundary > 0 ? (size_t)arrays.offsets[first_boundary - 1] + arrays.skip : 0;
    // In the first warp: what is open since the run's last head; what was, at its first.
    COARSEN_ACC open = COARSEN_(identity)(), first_open = open;
    unsigned int first_head = ~0u;
    bool any = false; // element in open, or, after the first head, in first_open

    for (unsigned int turn = 0; tile <= stop; turn = 1 - turn, tile += COARSEN_PLACES) {
        COARSEN_(copy_tile)
        (stages + (1 - turn) * COARSEN_ROWS * BLOCK_DIM, arrays,
         tile + COARSEN_PLACES + mine + lane * COARSEN_ITEMS, stop);
        const COARSEN_(vector) *const stage = stages + turn * COARSEN_ROWS * BLOCK_DIM;
        while (boundary < boundaries_end &&
               (size_t)bound.offset + arrays.skip < tile + COARSEN_PLACES) {
            const size_t offset = (size_t)bound.offset;
            if (offset + arrays.skip < tile || offset < first_element || offset > elements_end ||
                bound.before > bound.offset)
                __trap();
            if (boundary > 0 && bound.before == bound.offset) {
                arrays.out[boundary - 1] = COARSEN_(identity)();
            } else {
                const unsigned int place = (unsigned int)(offset + arrays.skip - tile);
                atomicOr(&heads[turn][place / 32], 1u << place % 32);
                boundary_at[place] = (unsigned int)(boundary - first_boundary);
            }
            boundary += BLOCK_DIM;
            bound = next;
            next = COARSEN_(bound_at)(arrays, boundary + BLOCK_DIM, boundaries_end);
        }
        __syncthreads();

        COARSEN_(copies_wait)(1);
        // A lane's sums, from head to head.
        const unsigned int *const marked = heads[turn];
        COARSEN_(part) *const part = &parts[turn * COARSEN_WARPS + warp];
        const unsigned int lowest =
            lead > tile ? (unsigned int)(lead - tile) : 0; // place with an element
        const unsigned int places = (unsigned int)coarsen_min(stop - tile, COARSEN_PLACES);
        const bool whole = lowest == 0 && places == COARSEN_PLACES;
        const COARSEN_(vector) none = {};
        size_t row_start = start;
        if (COARSEN_LIFTED) {
            const unsigned int last = COARSEN_(last_head)(marked, COARSEN_PLACES);
            const unsigned int before = COARSEN_(last_head)(marked, mine);
            row_start = before != ~0u ? tile + before : start;
            start = last != ~0u ? tile + last : start;
        }
        COARSEN_ACC sum[COARSEN_ROWS], first[COARSEN_ROWS]; // after its last head, before its first
        unsigned int marks[COARSEN_ROWS],
            lanes[COARSEN_ROWS]; // bits: its heads; the lanes that have one
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
            const unsigned int row = mine + r * 32 * COARSEN_ITEMS;
            const unsigned int place = row + lane * COARSEN_ITEMS;
            marks[r] = COARSEN_(heads_at)(marked, place);
            lanes[r] = __ballot_sync(0xffffffff, marks[r] != 0);
            size_t lane_start = row_start;
            if (COARSEN_LIFTED) {
                const unsigned int lower = lanes[r] & ((1u << lane) - 1);
                if (lower != 0)
                    lane_start = tile + COARSEN_(head_of)(marked, row, lower);
                if (lanes[r] != 0)
                    row_start = tile + COARSEN_(head_of)(marked, row, lanes[r]);
            }
            const COARSEN_(vector) load = whole || place < places ? stage[r * BLOCK_DIM] : none;
            const unsigned int there =
                whole ? ~0u : COARSEN_(places_between)(place, lowest, places);
            COARSEN_ACC inner = COARSEN_(identity)();
            sum[r] = first[r] = inner;
            bool inside = false; // a segment that began in this vector
#pragma unroll
            for (unsigned int k = 0; k < COARSEN_ITEMS; k++) {
                if (marks[r] >> k & 1) {
                    if (!inside)
                        first[r] = sum[r];
                    inside = true;
                    sum[r] = COARSEN_(identity)();
                    lane_start = tile + place + k;
                }
                if (there >> k & 1)
                    sum[r] = COARSEN_(op)(
                        sum[r], COARSEN_(lift)(load.item[k], tile + place + k - lane_start));
            }
            if ((marks[r] & (marks[r] - 1)) != 0) { // segments that begin and end in this vector
                inside = false;
#pragma unroll
                for (unsigned int k = 0; k < COARSEN_ITEMS; k++) {
                    if (marks[r] >> k & 1) {
                        if (inside)
                            ended[boundary_at[place + k]] = inner;
                        inside = true;
                        inner = COARSEN_(identity)();
                        lane_start = tile + place + k;
                    }
                    if (inside && there >> k & 1)
                        inner = COARSEN_(op)(
                            inner, COARSEN_(lift)(load.item[k], tile + place + k - lane_start));
                }
            }
        }

        // Each lane gets what the lanes before have since their last head: by steps, as far back as that is.
#pragma unroll
        for (unsigned int delta = 1; delta < 32; delta *= 2)
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
                const unsigned int upto = lanes[r] & ((2u << lane) - 1);
                const unsigned int back = upto != 0 ? lane - (31 - __clz((int)upto)) : lane;
                const COARSEN_ACC below = COARSEN_(from_below)(sum[r], delta);
                if (delta <= back)
                    sum[r] = COARSEN_(op)(below, sum[r]);
            }

        // Row by row, what is open goes on.
        COARSEN_ACC warp_open = COARSEN_(identity)();
        bool closed = false; // whether the warp has had a head
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
            const COARSEN_ACC below = COARSEN_(from_below)(sum[r], 1);
            if (marks[r] != 0) {
                const unsigned int place = mine + (r * 32 + lane) * COARSEN_ITEMS;
                const unsigned int head = place + __ffs((int)marks[r]) - 1;
                const bool inside = (lanes[r] & ((1u << lane) - 1)) != 0; // it began in this row
                COARSEN_ACC before = lane == 0 ? warp_open
                                     : inside  ? below
                                               : COARSEN_(op)(warp_open, below);
                if (head > place && head > lowest)
                    before = COARSEN_(op)(before, first[r]);
                if (inside || closed) {
                    ended[boundary_at[head]] = before;
                } else {
                    part->first = before;
                    part->head = boundary_at[head];
                    part->any = head > mine && head > lowest;
                }
            }
            const unsigned int last =
                whole ? 31 : COARSEN_(last_lane)(mine + r * 32 * COARSEN_ITEMS, places, lanes[r]);
            if (last < 32) {
                const COARSEN_ACC tail = COARSEN_(of_lane)(sum[r], last);
                warp_open = lanes[r] != 0 ? tail : COARSEN_(op)(warp_open, tail);
            }
            closed |= lanes[r] != 0;
        }
        if (lane == 0) {
            part->last = warp_open;
            if (!closed) {
                part->head = ~0u;
                part->any = mine < places;
            }
        }
        for (unsigned int i = threadIdx.x; i < COARSEN_PLACES / 32; i += BLOCK_DIM)
            heads[1 - turn][i] = 0;
        __syncthreads();

        // Warp by warp, likewise.
        if (warp == 0)
            for (unsigned int w = 0; w < COARSEN_WARPS; w++) {
                const COARSEN_(part) *const of = &parts[turn * COARSEN_WARPS + w];
                if (of->head == ~0u) {
                    if (of->any)
                        open = COARSEN_(op)(open, of->last);
                } else {
                    if (of->any)
                        open = COARSEN_(op)(open, of->first);
                    if (first_head == ~0u) {
                        first_head = of->head;
                        first_open = open;
                        any |= of->any;
                    } else if (lane == 0) {
                        ended[of->head] = open;
                    }
                    open = of->last;
                }
                any |= first_head == ~0u && of->any;
            }
    }

    // What the runs before have of the segment that ends at the run's first head.
    if (warp > 0)
        return;
    const COARSEN_(slots) slots = COARSEN_(find_slots)(scratch, ticket, gridDim.x);
    COARSEN_(publish)(slots, run, open);
    const size_t b = first_boundary + first_head;
    if (first_head == ~0u || b == 0)
        return;
    const size_t segment_start = (size_t)arrays.offsets[b - 1];
    if (segment_start < first_element) {
        const COARSEN_ACC before =
            COARSEN_(left_by)(slots, (unsigned int)((segment_start + b - 1) / each), run);
        first_open = any ? COARSEN_(op)(before, first_open) : before;
    }
    if (lane == 0)
        ended[first_head] = first_open;
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
    const size_t shared_bytes = 2 * COARSEN_ROWS * BLOCK_DIM * sizeof(COARSEN_(vector));
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
#undef COARSEN_FIT
#undef COARSEN_ROWS
#undef COARSEN_PLACES

#define COARSEN_END
#include "../base.h"
