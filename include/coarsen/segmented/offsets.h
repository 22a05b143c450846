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
// | COARSE_FACTOR        | 8                | 16-byte vectors per thread and tile, from 1 to 16; fewer where a tile would have more than 2^14 elements |
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
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/segmented: COARSE_FACTOR must be from 1 to 16"
#endif

#include "../block/look_back.h"
#include "../block/vector.h"

#define COARSEN_WARPS  (BLOCK_DIM / 32)
// Rows of vectors of a warp, and of a tile the places for elements: at most 2^14, as there is a number in
// shared memory for each.
#define COARSEN_FIT    (16384 / (BLOCK_DIM * COARSEN_ITEMS))
#define COARSEN_ROWS   (COARSE_FACTOR < COARSEN_FIT ? COARSE_FACTOR : COARSEN_FIT)
#define COARSEN_PLACES (BLOCK_DIM * COARSEN_ROWS * COARSEN_ITEMS)
// Elements and boundaries of a tile: so many that the vectors they begin and end in, and one place behind
// them, are within it.
#define COARSEN_TILE   ((BLOCK_DIM * COARSEN_ROWS - 1) * COARSEN_ITEMS)

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

// What a warp, or a tile, holds: before its first head, and from its last one on. Nothing is the identity.
typedef struct {
    COARSEN_ACC first, last;
    unsigned int
        head; // the boundary of the first head, counted from the tile's first one; ~0u: none
    bool any; // whether first is of any element
} COARSEN_(part);

// What is there of the vector at an element, which is counted from the first whole vector.
COARSEN_DEVICE COARSEN_(vector) COARSEN_(fetch)(COARSEN_(arrays) arrays, size_t element)
{
    const COARSEN_TYPE *const from = arrays.in + (element - arrays.skip);
    if (element >= arrays.skip && element + COARSEN_ITEMS <= arrays.skip + arrays.n)
        return *(const COARSEN_(vector) *)from;
    COARSEN_(vector) some;
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_ITEMS; k++)
        if (element + k >= arrays.skip && element + k < arrays.skip + arrays.n)
            some.item[k] = from[k];
    return some;
}

// The sums that the tiles from one up to another left, combined, by the first so many threads of the block,
// 32 or all. A thread has a run of them, the last thread the last ones, so that it is the first that may have
// none: the identity is one on the left only.
COARSEN_DEVICE COARSEN_ACC COARSEN_(left_by)(COARSEN_(slots) slots, unsigned int from,
                                             unsigned int to, unsigned int threads)
{
    const unsigned int at_once = 4, each = (to - from + threads - 1) / threads;
    const size_t none = (size_t)threads * each - (to - from); // places without a slot
    const size_t begin = (size_t)threadIdx.x * each;
    COARSEN_ACC sum = COARSEN_(identity)();
    for (unsigned int i = 0; i < each; i += at_once) {
        COARSEN_(slot) seen[at_once];
        for (bool all = false; !all;) {
            COARSEN_ACC value;
            all = true;
#pragma unroll
            for (unsigned int k = 0; k < at_once; k++)
                if (i + k < each && begin + i + k >= none)
                    seen[k] = COARSEN_(peek)(slots.sums + (from + (begin + i + k - none)) *
                                                              COARSEN_(words_of_slot));
#pragma unroll
            for (unsigned int k = 0; k < at_once; k++)
                if (i + k < each && begin + i + k >= none)
                    all &= COARSEN_(value_of)(seen[k], &value) == slots.flag;
        }
#pragma unroll
        for (unsigned int k = 0; k < at_once; k++) {
            COARSEN_ACC value;
            if (i + k < each && begin + i + k >= none) {
                COARSEN_(value_of)(seen[k], &value);
                sum = COARSEN_(op)(sum, value);
            }
        }
    }
    COARSEN_ACC total;
    if (threads == 32)
        return COARSEN_(of_lane)(COARSEN_(warp_inclusive)(sum), 31);
    COARSEN_(inclusive)(sum, &total);
    return total;
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(COARSEN_(arrays) arrays, unsigned long long *scratch)
{
    __shared__ unsigned long long ticket;
    __shared__ unsigned int tile, from; // from: where the segment began that ends at the first head
    __shared__ size_t bounds[2];
    __shared__ unsigned int heads[COARSEN_PLACES / 32];
    __shared__ unsigned short boundary_at[COARSEN_PLACES];    // where there is a head
    COARSEN_SHARED(COARSEN_(part), parts, COARSEN_WARPS + 1); // of the warps, and of the tile
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        ticket = COARSEN_(take)(scratch);
        tile = COARSEN_(tile_of)(scratch, ticket, gridDim.x);
    }
    for (unsigned int i = threadIdx.x; i < COARSEN_PLACES / 32; i += BLOCK_DIM)
        heads[i] = 0;
    __syncthreads();

    // Where the tile begins and ends.
    const size_t units = arrays.n + arrays.segments + 1;
    const size_t begin = (size_t)tile * COARSEN_TILE,
                 end = coarsen_min(begin + COARSEN_TILE, units);
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

    // Place 0 is the vector that has the first element.
    const size_t base = (first_element + arrays.skip) / COARSEN_ITEMS * COARSEN_ITEMS;
    const unsigned int lead = (unsigned int)(first_element + arrays.skip - base);
    const unsigned int places = (unsigned int)(elements_end + arrays.skip - base);
    const unsigned int mine = warp * COARSEN_ROWS * 32 * COARSEN_ITEMS; // the warp's first place
    COARSEN_(vector) load[COARSEN_ROWS];
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int place = mine + (r * 32 + lane) * COARSEN_ITEMS;
        if (place < places)
            load[r] = COARSEN_(fetch)(arrays, base + place);
    }

    for (size_t b = first_boundary + threadIdx.x; b < boundaries_end; b += BLOCK_DIM) {
        const size_t offset = (size_t)arrays.offsets[b];
        const size_t before = b > 0 ? (size_t)arrays.offsets[b - 1] : 0;
        if (offset < first_element || offset > elements_end || before > offset)
            __trap();
        if (b > 0 && before == offset) {
            arrays.out[b - 1] = COARSEN_(identity)();
        } else {
            const unsigned int place = (unsigned int)(offset + arrays.skip - base);
            atomicOr(&heads[place / 32], 1u << place % 32);
            boundary_at[place] = (unsigned short)(b - first_boundary);
        }
    }
    __syncthreads();

    // A warp's part. start: where the segment began, as an element; only LIFT asks.
    COARSEN_ACC *const ended =
        arrays.out + first_boundary - 1; // at a head's boundary, the segment that ends
    const unsigned int head_before = COARSEN_(last_head)(heads, mine);
    size_t start = head_before != ~0u   ? base + head_before
                   : first_boundary > 0 ? (size_t)arrays.offsets[first_boundary - 1] + arrays.skip
                                        : 0;
    COARSEN_ACC sum[COARSEN_ROWS],
        first[COARSEN_ROWS]; // of a lane: after its last head, before its first
    unsigned int marks[COARSEN_ROWS],
        some[COARSEN_ROWS]; // bits: its heads; the lanes with something
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int place = mine + (r * 32 + lane) * COARSEN_ITEMS;
        marks[r] = place <= places ? COARSEN_(heads_at)(heads, place) : 0;
        const unsigned int lanes = __ballot_sync(0xffffffff, marks[r] != 0);
        const unsigned int lower = lanes & ((1u << lane) - 1);
        some[r] = __ballot_sync(0xffffffff, place < places || marks[r] != 0);
        size_t lane_start = start;
        if (lower != 0) {
            const unsigned int other = mine + (r * 32 + 31 - __clz((int)lower)) * COARSEN_ITEMS;
            lane_start = base + other + 31 - __clz((int)COARSEN_(heads_at)(heads, other));
        }
        sum[r] = first[r] = COARSEN_(identity)();
        bool open = true;
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_ITEMS; k++) {
            if (marks[r] >> k & 1) {
                if (open)
                    first[r] = sum[r];
                else
                    ended[boundary_at[place + k]] = sum[r];
                open = false;
                sum[r] = COARSEN_(identity)();
                lane_start = base + place + k;
            }
            if (place + k >= lead && place + k < places)
                sum[r] = COARSEN_(op)(
                    sum[r], COARSEN_(lift)(load[r].item[k], base + place + k - lane_start));
        }
        if (open)
            first[r] = sum[r];
        if (lanes != 0) {
            const unsigned int other = mine + (r * 32 + 31 - __clz((int)lanes)) * COARSEN_ITEMS;
            start = base + other + 31 - __clz((int)COARSEN_(heads_at)(heads, other));
        }
    }

    // Each lane gets what the lanes before have since their last head: by steps, as far back as that is.
    unsigned int back[COARSEN_ROWS];
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int lanes = __ballot_sync(0xffffffff, marks[r] != 0) & ((2u << lane) - 1);
        back[r] = lanes != 0 ? lane - (31 - __clz((int)lanes)) : lane;
    }
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2)
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
            const COARSEN_ACC below = COARSEN_(from_below)(sum[r], delta);
            if (delta <= back[r])
                sum[r] = COARSEN_(op)(below, sum[r]);
        }

    // Row by row, what is open goes on.
    COARSEN_ACC open = COARSEN_(identity)();
    bool closed = false; // whether the warp has had a head
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int lanes = __ballot_sync(0xffffffff, marks[r] != 0);
        const COARSEN_ACC below = COARSEN_(from_below)(sum[r], 1);
        if (marks[r] != 0) {
            const unsigned int place = mine + (r * 32 + lane) * COARSEN_ITEMS;
            const unsigned int head = place + __ffs((int)marks[r]) - 1;
            const bool inside = (lanes & ((1u << lane) - 1)) != 0; // it began in this row
            COARSEN_ACC before = lane == 0 ? open : inside ? below : COARSEN_(op)(open, below);
            if (head > place && head > lead)
                before = COARSEN_(op)(before, first[r]);
            if (inside || closed) {
                ended[boundary_at[head]] = before;
            } else {
                parts[warp].first = before;
                parts[warp].head = boundary_at[head];
                parts[warp].any = head > mine && head > lead;
            }
        }
        if (some[r] != 0) {
            const COARSEN_ACC last = COARSEN_(of_lane)(sum[r], 31 - __clz((int)some[r]));
            open = lanes != 0 ? last : COARSEN_(op)(open, last);
        }
        closed |= lanes != 0;
    }
    if (lane == 0) {
        parts[warp].last = open;
        if (!closed) {
            parts[warp].head = ~0u;
            parts[warp].any = mine < places;
        }
    }
    __syncthreads();

    // The tile's.
    const COARSEN_(slots) slots = COARSEN_(find_slots)(scratch, ticket, gridDim.x);
    COARSEN_(part) *const whole = &parts[COARSEN_WARPS];
    if (threadIdx.x == 0) {
        COARSEN_ACC sum = COARSEN_(identity)();
        bool any = false;
        whole->head = ~0u;
        for (unsigned int w = 0; w < COARSEN_WARPS; w++) {
            const COARSEN_(part) *const part = &parts[w];
            if (part->head == ~0u) {
                if (part->any)
                    sum = COARSEN_(op)(sum, part->last);
            } else {
                if (part->any)
                    sum = COARSEN_(op)(sum, part->first);
                if (whole->head != ~0u) {
                    ended[part->head] = sum;
                } else {
                    whole->first = sum;
                    whole->head = part->head;
                    whole->any = any || part->any;
                }
                sum = part->last;
            }
            any |= part->any;
        }
        COARSEN_(leave)(slots.sums + (size_t)tile * COARSEN_(words_of_slot), slots.flag, sum);
        from = tile;
        const size_t b = first_boundary + whole->head;
        if (whole->head != ~0u && b > 0) {
            const size_t segment_start = (size_t)arrays.offsets[b - 1];
            if (segment_start < first_element)
                from = (unsigned int)((segment_start + b - 1) / COARSEN_TILE);
            else
                ended[whole->head] = whole->first;
        }
    }
    __syncthreads();
    const unsigned int threads = tile - from <= 32 ? 32 : BLOCK_DIM;
    if (from == tile || threadIdx.x >= threads)
        return;
    const COARSEN_ACC before = COARSEN_(left_by)(slots, from, tile, threads);
    if (threadIdx.x == 0)
        ended[whole->head] = whole->any ? COARSEN_(op)(before, whole->first) : before;
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n, size_t segments)
{
    return COARSEN_(look_back_bytes)(coarsen_ceil_div(n, COARSEN_TILE) +
                                     coarsen_ceil_div(segments, COARSEN_TILE) + 1);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, size_t n,
                                          const COARSEN_OFFSET *offsets, size_t segments,
                                          COARSEN_ACC *out, void *scratch, size_t scratch_bytes,
                                          cudaStream_t stream)
{
    if (segments == 0)
        return cudaSuccess;
    const size_t most = (size_t)-1 / 4; // so that no sum of two overflows
    const size_t bytes =
        n < most && segments < most ? COARSEN_(scratch_bytes)(n, segments) : (size_t)-1;
    if (!coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        bytes == (size_t)-1 || !coarsen_array_ok(offsets, segments + 1) ||
        !coarsen_array_ok(out, segments) || !coarsen_bytes_ok(scratch, 1, bytes, 16) ||
        scratch_bytes < bytes)
        return cudaErrorInvalidValue;
    const size_t tiles = coarsen_ceil_div(n + segments + 1, COARSEN_TILE);
    if (tiles > 0x7fffffff)
        return cudaErrorInvalidValue;
    const size_t skip = COARSEN_ITEMS > 1 ? (size_t)in % sizeof(COARSEN_(vector)) / sizeof(*in) : 0;
    const COARSEN_(arrays) arrays = {in, skip, n, offsets, segments, out};
    const cudaLaunchConfig_t config = coarsen_launch_config(tiles, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), arrays, (unsigned long long *)scratch);
}
#endif
#undef COARSEN_FIT
#undef COARSEN_ROWS
#undef COARSEN_PLACES
#undef COARSEN_TILE

#define COARSEN_END
#include "../base.h"
