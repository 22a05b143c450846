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
// | COARSEN_COMMUTES     | 1 for a sum of numbers, else 0 | 1: OP(a, b) == OP(b, a), and long segments take less time |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 256 or tuned     | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 5 or tuned       | 16-byte vectors per thread and tile, from 1 to 16, best odd; fewer where they would need too much shared memory |
// | COARSEN_FEW_TILES    | 2                | few elements: so many tiles of a block per multiprocessor, from 0 to 64; 0: none are, nor are segments long |
// tuned: COARSEN_OFFSETS_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune.
// Defines the functions of block/copy.h, block/look_back.h and block/vector.h; NAME_kernel; NAME_few_kernel,
// NAME_small_kernel and NAME_wide_kernel, a block per segment, and NAME_group_kernel, a block per group of segments; and
//     size_t      NAME_scratch_bytes(size_t n, size_t segments)   never falls as one of them grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, size_t n, const COARSEN_OFFSET *offsets,
//                             size_t segments, COARSEN_ACC *out, void *scratch, size_t scratch_bytes,
//                             cudaStream_t stream)
//     cudaError_t NAME_launch_counted(const COARSEN_TYPE *in, size_t n, COARSEN_OFFSET *offsets,
//                             const unsigned long long *segments, size_t most, COARSEN_ACC *out,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// The second is for what another kernel found, as select.h finds where runs of equal keys begin: *segments, in
// device memory, is read when the kernel runs, and is `most` or less, or the launch ends with an error
// (__trap). There is an offset for each segment, and room for most + 1: the launch writes n behind them, where
// the last segment ends. Else, of both:
// in: n elements in device memory, at any element's alignment (its size, if that divides 16). offsets:
// segments + 1 of them in device memory, none less than the one before or more than n; what is before the
// first and from the last on belongs to no segment. out: a COARSEN_ACC per segment, apart from both. scratch:
// device memory, 16-byte aligned, which NAME_scratch_init makes ready once, by zeros; each launch leaves it
// ready for the next, for any n and segments. One scratch per launch that may run at the same time. Wrong
// offsets, or a scratch that was not made ready, end the launch with an error (__trap). Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array or too small a scratch, or elements or
// results so large that shared memory cannot hold two and one of them for each thread (take a lower BLOCK_DIM),
// with nothing written; those of the runtime's device queries.
// Deterministic: on one model of device, the same offsets at the same alignment give the same bits always.
//
// Price saved: threads that wait for the longest segment. A thread, a warp or a block per segment is right
// for one length. Here the elements and the boundaries between segments are cut in as many runs as there are
// warps, all of one cost: a boundary is as much as eight elements. So a million empty segments, and one of a
// million elements, are no special cases. Price paid: a search for where a run begins, and shuffles.
// A warp goes through its run by tiles. A boundary is a mark at the element behind it, the head of a segment.
// Each lane adds up neighbours, begins anew at each head, and leaves its sums in shared memory. Five steps of
// shuffles give it what the lanes before have since their last head. Then each lane takes a boundary: the
// segment that ends there is the sum at the place before, and, if it began elsewhere, what was open there.
// What a run has after its last head it leaves in a slot. The run that has the next head adds these up.
// Few elements are not worth a search: each segment has a block, or, if the device has no room for so many blocks, some
// neighbouring segments share one. So have long segments, of 28 bytes per thread on average, or 8 if the blocks are not
// more than eight times what the device has room for. What such a block has of more than a tile others take: for each
// multiple of a tile's size in the array there is a block, which looks for the segment there. The last of a
// segment's blocks to end puts its sums together, so that no block waits.
// What binds then is how long a load takes. So if there are more segments than room for blocks, and these are short, a
// block has 64 threads, that more segments are under way at once; which pays from 16 bytes per thread on. If there are so
// few blocks that all have room for twice the registers, a thread has 8 vectors under way, not 3, and segments are cut later.
// Cost: n elements and segments + 1 offsets read, these twice, once from the cache; a result per segment
// written once.
// Source: D. Merrill and M. Garland, Merge-based Parallel Sparse Matrix-Vector Multiplication (2016), for
// how the work is cut.

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_OFFSETS_BLOCK_DIM)
#define BLOCK_DIM COARSEN_OFFSETS_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_OFFSETS_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_OFFSETS_COARSE_FACTOR
#endif
#if !defined(COARSEN_COMMUTES) && defined(COARSEN_OP)
#define COARSEN_COMMUTES 0
#elif !defined(COARSEN_COMMUTES)
#define COARSEN_COMMUTES (!__is_class(COARSEN_ACC))
#elif COARSEN_COMMUTES != 0 && COARSEN_COMMUTES != 1
#error "coarsen/segmented: COARSEN_COMMUTES must be 0 or 1"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_SEGMENTED
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 5
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/segmented: COARSE_FACTOR must be from 1 to 16"
#endif
#ifndef COARSEN_FEW_TILES
#define COARSEN_FEW_TILES 2
#endif
static_assert(COARSEN_FEW_TILES >= 0 && COARSEN_FEW_TILES <= 64,
              "coarsen/segmented: COARSEN_FEW_TILES must be from 0 to 64");

#include "../block/copy.h"
#include "../block/look_back.h"
#include "../block/vector.h"

#define COARSEN_WARPS  (BLOCK_DIM / 32)
// What a boundary costs, in elements: measured, so that a run of tiny segments takes as long as another.
#define COARSEN_CHARGE 8
// The vectors of a lane, and of a warp's tile the places for elements. A place has in shared memory its element,
// that of the next tile, and a sum: 62 KiB for a block, as there are 64 since compute capability 7.5.
#define COARSEN_PLACE  (2 * sizeof(COARSEN_TYPE) + sizeof(COARSEN_ACC))
#define COARSEN_FIT    (63488 / (BLOCK_DIM * COARSEN_ITEMS * COARSEN_PLACE))
#define COARSEN_ROWS                                                                               \
    (COARSE_FACTOR < COARSEN_FIT ? COARSE_FACTOR : COARSEN_FIT > 0 ? COARSEN_FIT : 1)
#define COARSEN_LENGTH (COARSEN_ROWS * COARSEN_ITEMS) // of a lane's part
#define COARSEN_PLACES (32 * COARSEN_LENGTH)
#define COARSEN_RUN                                                                                \
    (COARSEN_PLACES - COARSEN_ITEMS) // of a tile, what a run has that need not begin at a vector
#define COARSEN_TILE_OF(threads) ((threads)*COARSEN_LENGTH - COARSEN_ITEMS) // likewise, of a block
#define COARSEN_TILE             COARSEN_TILE_OF(BLOCK_DIM)
// Blocks that a multiprocessor can hold, at the most: so many threads, and 16 blocks.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
#define COARSEN_THREADS 1024
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
#define COARSEN_THREADS 2048
#else
#define COARSEN_THREADS 1536
#endif
#define COARSEN_RESIDENT      (COARSEN_THREADS / BLOCK_DIM < 16 ? COARSEN_THREADS / BLOCK_DIM : 16)
// The same of blocks that have twice the registers, or more.
#define COARSEN_WIDE_RESIDENT (BLOCK_DIM < 64 ? 16 : 1024 / BLOCK_DIM)
// Threads of a small block; and so many of these blocks a multiprocessor can hold, at the most.
#define COARSEN_SMALL         (BLOCK_DIM < 64 ? BLOCK_DIM : 64)
#define COARSEN_SMALL_RESIDENT                                                                     \
    (COARSEN_THREADS < 2048                 ? 16                                                   \
     : COARSEN_THREADS / COARSEN_SMALL < 32 ? COARSEN_THREADS / COARSEN_SMALL                      \
                                            : 32)
// Vectors that a thread has in flight; and a thread of a wide block, which has more registers: but bytes take one each, and
// elements of more than 16 bytes more than a vector has.
#define COARSEN_AT_ONCE      3
#define COARSEN_WIDE_AT_ONCE (COARSEN_ITEMS > 8 || sizeof(COARSEN_TYPE) > 16 ? COARSEN_AT_ONCE : 8)
#define COARSEN_ALIGN                                                                              \
    (16 % sizeof(COARSEN_ACC) != 0                   ? alignof(COARSEN_ACC)                        \
     : COARSEN_ITEMS * sizeof(COARSEN_ACC) % 16 == 0 ? 16                                          \
                                                     : COARSEN_ITEMS * sizeof(COARSEN_ACC))

typedef struct COARSEN_ALIGNED(COARSEN_ALIGN) COARSEN_MAY_ALIAS {
    COARSEN_ACC item[COARSEN_ITEMS];
} COARSEN_(sums);

// What a kernel gets. Boundary b is where segment b begins and segment b - 1 ends; it comes before the
// element at its offset, which is the head of a segment if that is not empty.
typedef struct {
    const COARSEN_TYPE *in;
    size_t skip, n; // in[0] is element skip of the first whole vector
    const COARSEN_OFFSET *offsets;
    size_t segments;
    const unsigned long long *count; // if not null, of the segments, and these are the most
    COARSEN_ACC *out;
} COARSEN_(arrays);

// Where elements and boundaries are split in two: before a boundary and an element. last: the offset of the boundary
// before that one, or 0.
typedef struct {
    size_t boundary, element, last;
} COARSEN_(place);

// A search by a warp, each step of which leaves a 32nd of `count` boundaries, from `first` on.
typedef struct {
    size_t first, count, last;
} COARSEN_(search);

// The offset at which a lane looks in a step.
COARSEN_DEVICE size_t COARSEN_(look_at)(COARSEN_(arrays) arrays, COARSEN_(search) search)
{
    const size_t lane = threadIdx.x % 32, step = search.count / 32 + 1;
    const size_t place = lane * step + step - 1;
    return place < search.count ? (size_t)arrays.offsets[search.first + place] : 0;
}

COARSEN_DEVICE void COARSEN_(narrow)(COARSEN_(search) * search, size_t offset, size_t units)
{
    const size_t lane = threadIdx.x % 32, step = search->count / 32 + 1;
    const bool before = lane * step + step - 1 < search->count &&
                        COARSEN_CHARGE * (search->first + lane * step + step - 1) + offset < units;
    const unsigned int steps = (unsigned int)__popc(__ballot_sync(0xffffffff, before));
    const size_t last =
        __shfl_sync(0xffffffff, (unsigned long long)offset, (int)(steps > 0 ? steps - 1 : 0));
    search->last = steps > 0 ? last : search->last;
    search->first += steps * step;
    search->count = coarsen_min(search->count - steps * step, step - 1);
}

// Where the first `units` of elements and boundaries end.
COARSEN_DEVICE COARSEN_(place)
    COARSEN_(found)(COARSEN_(arrays) arrays, COARSEN_(search) search, size_t units)
{
    const size_t weight = COARSEN_CHARGE * search.first;
    COARSEN_(place) place = {search.first, search.last, search.last};
    if (units > weight && units - weight > place.element)
        place.element = units - weight;
    place.element = coarsen_min(place.element, arrays.n);
    return place;
}

// Of bits that are not all 0.
COARSEN_DEVICE unsigned int COARSEN_(lowest_bit)(unsigned int bits)
{
    return (unsigned int)__ffs((int)bits) - 1;
}

COARSEN_DEVICE unsigned int COARSEN_(highest_bit)(unsigned int bits)
{
    return 31 - (unsigned int)__clz((int)bits);
}

// Where a lane's vector r is in the tile.
COARSEN_DEVICE unsigned int COARSEN_(place_of)(unsigned int lane, unsigned int r)
{
    return (unsigned int)(lane * COARSEN_LENGTH + r * COARSEN_ITEMS);
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

// The places of the first head of the calling lane's part; of the last one before that part; and of the last one
// of the tile. Or ~0u.
COARSEN_DEVICE unsigned int COARSEN_(first_head)(const unsigned int *heads)
{
    unsigned int first = ~0u;
#pragma unroll
    for (unsigned int r = COARSEN_ROWS; r > 0; r--) {
        const unsigned int place = COARSEN_(place_of)(threadIdx.x % 32, r - 1);
        const unsigned int marks = COARSEN_(heads_at)(heads, place);
        if (marks != 0)
            first = place + COARSEN_(lowest_bit)(marks);
    }
    return first;
}

COARSEN_DEVICE unsigned int COARSEN_(head_before)(const unsigned int *heads)
{
    const unsigned int lane = threadIdx.x % 32;
    unsigned int behind = 0; // the last head of the lane's part; 0: none
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int place = COARSEN_(place_of)(lane, r);
        const unsigned int marks = COARSEN_(heads_at)(heads, place);
        if (marks != 0)
            behind = place + COARSEN_(highest_bit)(marks) + 1;
    }
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int below = __shfl_up_sync(0xffffffff, behind, delta);
        behind = lane >= delta && below > behind ? below : behind;
    }
    const unsigned int below = __shfl_up_sync(0xffffffff, behind, 1);
    return lane > 0 ? below - 1 : ~0u;
}

COARSEN_DEVICE unsigned int COARSEN_(last_head)(const unsigned int *heads)
{
    for (unsigned int w = COARSEN_PLACES / 32; w > 0; w--)
        if (heads[w - 1] != 0)
            return (w - 1) * 32 + COARSEN_(highest_bit)(heads[w - 1]);
    return ~0u;
}

// A vector whose first element is number `element`, of which those from `skip` on and before `stop` are there. The others
// are zeros.
COARSEN_DEVICE COARSEN_(vector)
    COARSEN_(part_of_vector)(const COARSEN_TYPE *from, size_t element, size_t skip, size_t stop)
{
    COARSEN_(vector) some = {};
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_ITEMS; k++)
        if (element + k >= skip && element + k < stop)
            some.item[k] = from[k];
    return some;
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
            *vector = COARSEN_(part_of_vector)(from + i, element + i, arrays.skip, stop);
        }
    }
    COARSEN_(copies_end)();
}

// A lane's sums, each since the last head, or since the lane's first place. start: where the segment began that
// is open there; only LIFT asks. The last of them.
COARSEN_DEVICE COARSEN_ACC COARSEN_(add_up)(COARSEN_(sums) * sums, const COARSEN_(vector) * stage,
                                            size_t tile, unsigned int lowest, unsigned int places,
                                            const unsigned int *heads, size_t start)
{
    const bool whole = lowest == 0 && places == COARSEN_PLACES;
    COARSEN_ACC sum = COARSEN_(identity)();
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int place = COARSEN_(place_of)(threadIdx.x % 32, r);
        const unsigned int marks = COARSEN_(heads_at)(heads, place);
        const unsigned int there = whole ? ~0u : COARSEN_(places_between)(place, lowest, places);
        COARSEN_(vector) load = {};
        COARSEN_(sums) made;
        if (there != 0)
            load = stage[place / COARSEN_ITEMS];
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_ITEMS; k++) {
            if (marks >> k & 1) {
                sum = COARSEN_(identity)();
                start = tile + place + k;
            }
            if (there >> k & 1)
                sum = COARSEN_(op)(sum, COARSEN_(lift)(load.item[k], tile + place + k - start));
            made.item[k] = sum;
        }
        sums[place / COARSEN_ITEMS] = made;
    }
    return sum;
}

// The lane's last sum where the tile has no head and an element at every place: most tiles of long segments.
COARSEN_DEVICE COARSEN_ACC COARSEN_(add_all)(const COARSEN_(vector) * stage, size_t tile,
                                             size_t start)
{
    COARSEN_ACC sum = COARSEN_(identity)();
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROWS; r++) {
        const unsigned int place = COARSEN_(place_of)(threadIdx.x % 32, r);
        const COARSEN_(vector) load = stage[place / COARSEN_ITEMS];
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_ITEMS; k++)
            sum = COARSEN_(op)(sum, COARSEN_(lift)(load.item[k], tile + place + k - start));
    }
    return sum;
}

// What the lanes have, combined, from the last one that has a head on, up to the calling one. with_head: those that have,
// as bits.
COARSEN_DEVICE COARSEN_ACC COARSEN_(since_head)(COARSEN_ACC sum, unsigned int with_head)
{
    const unsigned int lane = threadIdx.x % 32, upto = with_head & ((2u << lane) - 1);
    const unsigned int back = upto != 0 ? lane - COARSEN_(highest_bit)(upto) : lane;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const COARSEN_ACC below = COARSEN_(from_below)(sum, delta);
        if (delta <= back)
            sum = COARSEN_(op)(below, sum);
    }
    return sum;
}

// The sums that the runs from one up to another left, combined, by a warp. A lane has a few in a row, the last
// lane the last ones, so that it is the first that may have none: the identity is one on the left only.
COARSEN_DEVICE COARSEN_ACC COARSEN_(left_by)(COARSEN_(slots) slots, unsigned int from,
                                             unsigned int to)
{
    const unsigned int each = (to - from + 31) / 32, none = 32 * each - (to - from);
    const unsigned int begin = threadIdx.x % 32 * each, at_once = 4;
    COARSEN_ACC sum = COARSEN_(identity)();
    for (unsigned int i = begin; i < begin + each; i += at_once) {
        COARSEN_(slot) seen[at_once];
        COARSEN_ACC value[at_once];
        bool all = false;
        while (!all) {
            all = true;
#pragma unroll
            for (unsigned int k = 0; k < at_once; k++)
                if (i + k >= none && i + k < begin + each)
                    seen[k] = COARSEN_(peek)(slots.sums + (size_t)(from + i + k - none) *
                                                              COARSEN_(words_of_slot));
#pragma unroll
            for (unsigned int k = 0; k < at_once; k++)
                if (i + k >= none && i + k < begin + each)
                    all &= COARSEN_(value_of)(seen[k], &value[k]) == slots.flag;
        }
#pragma unroll
        for (unsigned int k = 0; k < at_once; k++)
            if (i + k >= none && i + k < begin + each)
                sum = COARSEN_(op)(sum, value[k]);
    }
    __syncwarp();
    return COARSEN_(of_lane)(COARSEN_(warp_inclusive)(sum), 31);
}

// Writes where the last of counted segments ends.
COARSEN_KERNEL void COARSEN_(end_kernel)(COARSEN_OFFSET *offsets,
                                         const unsigned long long *segments, size_t most, size_t n)
{
    if (*segments > most)
        __trap(); // more than there is room for
    offsets[*segments] = (COARSEN_OFFSET)n;
}

// Warps share nothing but the ticket: each has a run of its own. The 1: or the compiler may spill registers, to make
// room for more blocks than shared memory has.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(kernel)(COARSEN_(arrays) arrays, unsigned long long *scratch, unsigned long long *runs)
{
    __shared__ unsigned long long ticket;
    __shared__ unsigned int block;
    __shared__ unsigned int marks[COARSEN_WARPS][COARSEN_PLACES / 32];
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned int vectors = COARSEN_PLACES / COARSEN_ITEMS;
    unsigned int *const heads = marks[warp];
    COARSEN_(sums) *const sums = (COARSEN_(sums) *)coarsen_shared + warp * vectors;
    COARSEN_(vector) *stage =
        (COARSEN_(vector) *)((COARSEN_(sums) *)coarsen_shared + COARSEN_WARPS * vectors) +
        warp * 2 * vectors;
    COARSEN_(vector) *next_stage = stage + vectors;

    // The first step of the search is the same for all runs, and need not wait for the ticket.
    unsigned long long taken = 0;
    if (threadIdx.x == 0)
        taken = COARSEN_(take)(scratch);
    if (arrays.count)
        arrays.segments = *arrays.count;
    COARSEN_(search) from = {0, arrays.segments + 1, 0}, to = from;
    const size_t look = COARSEN_(look_at)(arrays, from);
    for (unsigned int i = lane; i < COARSEN_PLACES / 32; i += 32)
        heads[i] = 0;
    if (threadIdx.x == 0) {
        ticket = taken;
        block = COARSEN_(tile_of)(scratch, taken, gridDim.x);
    }
    __syncthreads();
    const unsigned int run = block * COARSEN_WARPS + warp;
    const size_t each = coarsen_ceil_div(arrays.n + COARSEN_CHARGE * (arrays.segments + 1),
                                         (size_t)gridDim.x * COARSEN_WARPS);
    COARSEN_(narrow)(&from, look, run * each);
    COARSEN_(narrow)(&to, look, (run + 1) * each);
    while (from.count > 0 || to.count > 0) {
        const size_t look_from = COARSEN_(look_at)(arrays, from);
        const size_t look_to = COARSEN_(look_at)(arrays, to);
        COARSEN_(narrow)(&from, look_from, run * each);
        COARSEN_(narrow)(&to, look_to, (run + 1) * each);
    }
    const COARSEN_(place) begin = COARSEN_(found)(arrays, from, run * each);
    const COARSEN_(place) end = COARSEN_(found)(arrays, to, (run + 1) * each);
    if (begin.boundary > end.boundary || begin.element > end.element)
        __trap(); // an offset is less than the one before

    // Elements from here on are counted from the first whole vector. The last tile has the place behind the
    // last element, where there may be a boundary.
    const size_t lead = begin.element + arrays.skip, stop = end.element + arrays.skip;
    size_t tile = lead / COARSEN_ITEMS * COARSEN_ITEMS; // the element at place 0
    // The lanes copy rows of vectors, and add up COARSEN_ROWS neighbours each: if that is odd, no two of eight
    // lanes meet in a bank.
    COARSEN_(copy_tile)(stage + lane, arrays, tile + lane * COARSEN_ITEMS, stop);
    // A lane looks at one of 32 boundaries, whose offset was read long before.
    size_t boundary = begin.boundary, before = begin.last, offset = 0;
    if (boundary + lane < end.boundary)
        offset = (size_t)arrays.offsets[boundary + lane];
    size_t start = before + arrays.skip; // where the open segment began
    // What is open since the run's last head; and what was, at its first one, of any element or not.
    COARSEN_ACC open = COARSEN_(identity)(), first_open = open;
    size_t first_boundary = end.boundary; // the first head's; and where the segment before it began
    size_t segment_start = 0;
    bool any = false;
    for (; tile <= stop; tile += COARSEN_PLACES) {
        COARSEN_(copy_tile)
        (next_stage + lane, arrays, tile + COARSEN_PLACES + lane * COARSEN_ITEMS, stop);
        // Mark the heads.
        const size_t tile_boundary = boundary, tile_offset = offset;
        for (unsigned int count = 32; count == 32; boundary += count) {
            if (boundary > tile_boundary && boundary + lane < end.boundary)
                offset = (size_t)arrays.offsets[boundary + lane];
            const size_t place =
                offset + arrays.skip - tile; // if less than 0, more than all places
            const bool here = boundary + lane < end.boundary && place < COARSEN_PLACES;
            if (here)
                atomicOr(&heads[place / 32], 1u << place % 32);
            count = (unsigned int)__popc(__ballot_sync(0xffffffff, here));
        }
        if (boundary + lane < end.boundary)
            offset = (size_t)arrays.offsets[boundary + lane];
        COARSEN_(copies_wait)(1);
        __syncwarp();

        // Add up: each lane its part, and each gets what the lanes before have since their last head.
        const unsigned int lowest =
            lead > tile ? (unsigned int)(lead - tile) : 0; // with an element
        const unsigned int places = (unsigned int)coarsen_min(stop - tile, COARSEN_PLACES);
        const bool plain = boundary == tile_boundary && lowest == 0 && places == COARSEN_PLACES;
        const unsigned int first_head = plain ? ~0u : COARSEN_(first_head)(heads);
        size_t lane_start = start;
        if (COARSEN_LIFTED && !plain) {
            const unsigned int head = COARSEN_(head_before)(heads);
            const unsigned int last = COARSEN_(last_head)(heads);
            lane_start = head != ~0u ? tile + head : start;
            start = last != ~0u ? tile + last : start;
        }
        COARSEN_ACC sum =
            plain ? COARSEN_(add_all)(stage, tile, start)
                  : COARSEN_(add_up)(sums, stage, tile, lowest, places, heads, lane_start);
        const unsigned int with_head = __ballot_sync(0xffffffff, first_head != ~0u);
        sum = COARSEN_(since_head)(sum, with_head);
        COARSEN_ACC lane_open = COARSEN_(from_below)(sum, 1);
        if (lane == 0)
            lane_open = open;
        else if ((with_head & ((1u << lane) - 1)) == 0)
            lane_open = COARSEN_(op)(open, lane_open);

        // At each head, the segment before it ends.
        __syncwarp();
        for (size_t b = tile_boundary; b < boundary; b += 32) {
            const size_t mine = b + lane;
            size_t at = tile_offset;
            if (b > tile_boundary && mine < boundary)
                at = (size_t)arrays.offsets[mine];
            size_t previous = __shfl_up_sync(0xffffffff, (unsigned long long)at, 1);
            if (lane == 0)
                previous = before;
            before = __shfl_sync(0xffffffff, (unsigned long long)at, 31);
            if (mine < boundary && (previous > at || at + arrays.skip - tile > places))
                __trap(); // an offset is less than the one before, or more than n
            const bool head = mine < boundary && (mine == 0 || previous < at);
            const unsigned int place = (unsigned int)(at + arrays.skip - tile);
            const unsigned int last = head && place > lowest ? place - 1 : 0; // of the segment
            const unsigned int other = last / COARSEN_LENGTH; // the lane that has it
            COARSEN_ACC value = COARSEN_(of_lane)(lane_open, other);
            const bool inside = __shfl_sync(0xffffffff, first_head, (int)other) <= last;
            if (head && place > lowest) {
                const COARSEN_ACC made = sums[last / COARSEN_ITEMS].item[last % COARSEN_ITEMS];
                value = inside ? made : COARSEN_(op)(value, made);
            } else {
                value = open;
            }
            const unsigned int with = __ballot_sync(0xffffffff, head);
            if (first_boundary == end.boundary && with != 0) { // the segment began in another run
                const unsigned int that = COARSEN_(lowest_bit)(with);
                first_boundary = b + that;
                segment_start = __shfl_sync(0xffffffff, (unsigned long long)previous, (int)that);
                first_open = COARSEN_(of_lane)(value, that);
                any = tile + __shfl_sync(0xffffffff, place, (int)that) > lead;
            }
            if (mine > 0 && mine < boundary && mine != first_boundary)
                arrays.out[mine - 1] = head ? value : COARSEN_(identity)();
        }
        if (boundary > tile_boundary)
            before = (size_t)arrays.offsets[boundary - 1];
        const unsigned int some = __ballot_sync(
            0xffffffff, first_head != ~0u || (lane * COARSEN_LENGTH < places && lowest < places));
        if (some != 0) {
            const COARSEN_ACC tail = COARSEN_(of_lane)(sum, COARSEN_(highest_bit)(some));
            open = with_head != 0 ? tail : COARSEN_(op)(open, tail);
        }

        __syncwarp();
        if (boundary > tile_boundary)
            for (unsigned int i = lane; i < COARSEN_PLACES / 32; i += 32)
                heads[i] = 0;
        __syncwarp();
        COARSEN_(vector) *const done = stage;
        stage = next_stage, next_stage = done;
    }

    if (boundary != end.boundary)
        __trap(); // an offset is more than n

    // What the runs before have of the segment that ends at the run's first head.
    const COARSEN_(slots) slots = COARSEN_(find_slots)(runs, ticket, gridDim.x * COARSEN_WARPS);
    COARSEN_(publish)(slots, run, open);
    if (first_boundary == end.boundary || first_boundary == 0)
        return;
    if (segment_start < begin.element) {
        const COARSEN_ACC others = COARSEN_(left_by)(
            slots, (unsigned int)((segment_start + COARSEN_CHARGE * (first_boundary - 1)) / each),
            run);
        first_open = any ? COARSEN_(op)(others, first_open) : others;
    }
    if (lane == 0)
        arrays.out[first_boundary - 1] = first_open;
}

// ---- Few elements: a block per group of segments -----------------------------------------------------
// threads: of a block, a constant.

// The last of `count` boundaries, the first of which is at `element` or before it, that is.
COARSEN_DEVICE size_t COARSEN_(boundary_at)(const COARSEN_OFFSET *offsets, size_t count,
                                            size_t element)
{
    size_t first = 0;
    while (count > 1) {
        const size_t half = count / 2;
        const bool behind = (size_t)offsets[first + half] <= element;
        first += behind ? half : 0;
        count = behind ? count - half : half;
    }
    return first;
}

// Begins to bring what is there near, to the L1 cache.
COARSEN_DEVICE void COARSEN_(bring)(COARSEN_UNUSED const COARSEN_OFFSET *from)
{
#if COARSEN_PTX
    asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
#endif
}

// Whether the calling block is the last of so many that call it with this counter, which is 0 before and after. It then
// sees all that they wrote before.
COARSEN_DEVICE bool COARSEN_(last_of)(unsigned long long *counter, size_t blocks)
{
    __shared__ bool last;
    __syncthreads(); // the block's writes, before the fence that publishes them
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned long long before = atomicAdd(counter, 1ULL);
        if (before >= blocks)
            __trap(); // the counter was not 0
        last = before == blocks - 1;
        if (last)
            *counter = 0;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// Begins to copy the elements from one up to another, a tile or fewer, to shared memory. Where the first one is then.
COARSEN_INLINE const COARSEN_TYPE *COARSEN_(copy_elements)(COARSEN_(arrays) arrays, size_t begin,
                                                           size_t end, unsigned int threads)
{
    COARSEN_(vector) *const stage = (COARSEN_(vector) *)coarsen_shared;
    const size_t from = (begin + arrays.skip) / COARSEN_ITEMS * COARSEN_ITEMS; // as in copy_tile
    const size_t stop = arrays.n + arrays.skip;
#pragma unroll 1
    for (size_t element = from + threadIdx.x * COARSEN_ITEMS; element < end + arrays.skip;
         element += threads * COARSEN_ITEMS) {
        const COARSEN_TYPE *const at = arrays.in + (element - arrays.skip);
        COARSEN_(vector) *const to = stage + (element - from) / COARSEN_ITEMS;
        if (element < arrays.skip || element + COARSEN_ITEMS > stop)
            *to = COARSEN_(part_of_vector)(at, element, arrays.skip, stop);
        else if (sizeof(COARSEN_(vector)) == 16 && COARSEN_VECTOR_ALIGN(COARSEN_TYPE) == 16)
            COARSEN_(copy_async)(to, at, 16);
        else
            *to = *(const COARSEN_(vector) *)at;
    }
    COARSEN_(copies_end)();
    return (const COARSEN_TYPE *)stage + (begin + arrays.skip - from);
}

// What a thread has of `length` neighbours, `each` of them. If there are fewer than that, the first threads have none: the
// identity is one on the left only. index: of the first in its segment.
COARSEN_INLINE COARSEN_ACC COARSEN_(neighbours)(const COARSEN_TYPE *from, unsigned int length,
                                                unsigned int each, size_t index,
                                                unsigned int threads)
{
    const unsigned int none = each * threads - length;
    COARSEN_ACC sum = COARSEN_(identity)();
#pragma unroll 4
    for (unsigned int i = threadIdx.x * each; i < (threadIdx.x + 1) * each; i++)
        if (i >= none)
            sum = COARSEN_(op)(sum, COARSEN_(lift)(from[i - none], index + (i - none)));
    return sum;
}

// What all threads of a block have, combined, in all threads.
COARSEN_INLINE COARSEN_ACC COARSEN_(all_of_block)(COARSEN_ACC sum, unsigned int threads)
{
    COARSEN_SHARED(COARSEN_ACC, totals, COARSEN_WARPS);
    sum = COARSEN_(warp_inclusive)(sum);
    if (threadIdx.x % 32 == 31)
        totals[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = totals[0];
#pragma unroll
    for (unsigned int w = 1; w < threads / 32; w++)
        sum = COARSEN_(op)(sum, totals[w]);
    return sum;
}

// The elements from one up to another, combined by a block, in all threads, in any order: each thread takes vectors as they
// come, and the block meets once. 32 bits, as registers are few; a tile, which is no more than a part of the memory per
// block, has less than 2^32 elements.
COARSEN_INLINE COARSEN_ACC COARSEN_(all_in_any_order)(COARSEN_(arrays) arrays, size_t begin,
                                                      size_t end, size_t index,
                                                      unsigned int threads, unsigned int at_once)
{
    const COARSEN_TYPE *const from = arrays.in + begin;
    const unsigned int length = (unsigned int)(end - begin);
    const size_t misaligned = -(size_t)from % sizeof(COARSEN_(vector));
    const unsigned int head = (unsigned int)coarsen_min(length, misaligned / sizeof(COARSEN_TYPE));
    const unsigned int vectors = (length - head) / COARSEN_ITEMS;
    COARSEN_ACC sum = COARSEN_(identity)();
    if (threadIdx.x < length - vectors * COARSEN_ITEMS) { // in no vector
        const unsigned int i =
            threadIdx.x < head ? threadIdx.x : threadIdx.x + vectors * COARSEN_ITEMS;
        sum = COARSEN_(lift)(from[i], index + i);
    }
#pragma unroll 1
    for (unsigned int v = threadIdx.x; v < vectors; v += at_once * threads) {
        const unsigned int first = head + v * COARSEN_ITEMS;
        const COARSEN_(vector) *const next = (const COARSEN_(vector) *)(from + first);
        COARSEN_(vector)
        load[COARSEN_WIDE_AT_ONCE > COARSEN_AT_ONCE ? COARSEN_WIDE_AT_ONCE : COARSEN_AT_ONCE];
#pragma unroll
        for (unsigned int k = 0; k < at_once; k++)
            if (v + k * threads < vectors)
                load[k] = COARSEN_(load_vector)(next + k * threads);
#pragma unroll
        for (unsigned int k = 0; k < at_once; k++)
            if (v + k * threads < vectors)
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    sum = COARSEN_(op)(
                        sum, COARSEN_(lift)(load[k].item[j],
                                            index + first + k * threads * COARSEN_ITEMS + j));
    }
    return COARSEN_(all_of_block)(sum, threads);
}

// The same, in their order. Few are read where they are; many are copied first, tile by tile, as neighbours of a thread are
// far from those of the next one then.
COARSEN_INLINE COARSEN_ACC COARSEN_(all_in_order)(COARSEN_(arrays) arrays, size_t begin, size_t end,
                                                  size_t index, unsigned int threads)
{
    if (end - begin <= 4 * threads) {
        const unsigned int length = (unsigned int)(end - begin);
        return COARSEN_(all_of_block)(COARSEN_(neighbours)(arrays.in + begin, length,
                                                           (length + threads - 1) / threads, index,
                                                           threads),
                                      threads);
    }
    COARSEN_ACC all = COARSEN_(identity)();
#pragma unroll 1
    for (size_t tile = begin; tile < end; tile += COARSEN_TILE_OF(threads)) {
        const unsigned int length = (unsigned int)coarsen_min(end - tile, COARSEN_TILE_OF(threads));
        const COARSEN_TYPE *const from =
            COARSEN_(copy_elements)(arrays, tile, tile + length, threads);
        COARSEN_(copies_wait)(0);
        __syncthreads();
        // An odd number, so that the threads' first ones are in different banks.
        const COARSEN_ACC some = COARSEN_(all_of_block)(
            COARSEN_(neighbours)(from, length, (length + threads - 1) / threads | 1,
                                 index + (tile - begin), threads),
            threads);
        all = COARSEN_(op)(all, some);
    }
    return all;
}

// What segments have in a tile of elements. The first segment begins at the tile's first element or before. Writes the
// results of those that end here; but what the tile has of one that began before it goes to *cut, and what it has of the
// last one, if that goes on, to *open.
COARSEN_DEVICE void COARSEN_(add_group)(COARSEN_(arrays) arrays, const COARSEN_OFFSET *offsets,
                                        size_t count, size_t begin, size_t end, bool first_tile,
                                        COARSEN_ACC *out, unsigned long long *cut,
                                        unsigned long long *open)
{
    __shared__ bool warp_has_head[COARSEN_WARPS];
    COARSEN_(vector) *const stage = (COARSEN_(vector) *)coarsen_shared;
    COARSEN_ACC *const sums = (COARSEN_ACC *)(stage + COARSEN_ROWS * BLOCK_DIM); // of threads
    COARSEN_ACC *const warp_sums = sums + BLOCK_DIM;
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    const COARSEN_TYPE *const elements = COARSEN_(copy_elements)(arrays, begin, end, BLOCK_DIM);
    // A thread has an odd number of neighbours, so that the threads' first ones are in different banks. It begins at the
    // last head there.
    const unsigned int places = (unsigned int)(end - begin);
    const unsigned int length = (places + BLOCK_DIM - 1) / BLOCK_DIM | 1;
    const unsigned int low = threadIdx.x * length;
    const unsigned int high = (unsigned int)coarsen_min(low + length, places);
    size_t start = begin;
    if (low < high)
        start = (size_t)offsets[COARSEN_(boundary_at)(offsets, count, begin + high - 1)];
    const bool has_head = low < high && start >= begin + low;
    COARSEN_(copies_wait)(0);
    __syncthreads();
    COARSEN_ACC sum = COARSEN_(identity)();
#pragma unroll 1
    for (unsigned int i = has_head ? (unsigned int)(start - begin) : low; i < high; i++)
        sum = COARSEN_(op)(sum, COARSEN_(lift)(elements[i], begin + i - start));

    // What all threads up to this one have since the last head.
    const unsigned int with_head = __ballot_sync(0xffffffff, has_head);
    sum = COARSEN_(since_head)(sum, with_head);
    if (lane == 31) {
        warp_sums[warp] = sum;
        warp_has_head[warp] = with_head != 0;
    }
    __syncthreads();
    if (warp > 0 && (with_head & ((2u << lane) - 1)) == 0) {
        COARSEN_ACC others = warp_sums[0];
#pragma unroll 1
        for (unsigned int w = 1; w < warp; w++)
            others = warp_has_head[w] ? warp_sums[w] : COARSEN_(op)(others, warp_sums[w]);
        sum = COARSEN_(op)(others, sum);
    }
    sums[threadIdx.x] = sum;
    if (open && low < high && high == places)
        COARSEN_(leave)(open, 1, sum);
    __syncthreads();

    // A thread per segment that ends here: the last thread that has some of it, from its head on, and what is before.
#pragma unroll 1
    for (size_t s = threadIdx.x; s < count; s += BLOCK_DIM) {
        const size_t at = (size_t)offsets[s], next = (size_t)offsets[s + 1];
        if (at > next || next > (size_t)offsets[count])
            __trap(); // an offset is less than the one before
        COARSEN_ACC value = COARSEN_(identity)();
        if (at < next && next > begin && next <= end) {
            const unsigned int last = (unsigned int)(next - 1 - begin), thread = last / length;
            const unsigned int head = at > begin ? (unsigned int)(at - begin) : 0;
            const unsigned int its = thread * length;
#pragma unroll 1
            for (unsigned int i = head > its ? head : its; i <= last; i++)
                value = COARSEN_(op)(value, COARSEN_(lift)(elements[i], begin + i - at));
            if (head < its)
                value = COARSEN_(op)(sums[thread - 1], value);
            if (at < begin)
                COARSEN_(leave)(cut, 1, value);
            else
                out[s] = value;
        } else if (at == next && first_tile) {
            out[s] = value;
        }
    }
}

// Which of so many groups has that element; or ~0. Each step leaves one of as many parts as a block has threads.
COARSEN_INLINE size_t COARSEN_(group_at)(const COARSEN_OFFSET *offsets, size_t groups, size_t each,
                                         size_t element, unsigned int threads)
{
    size_t first = 0, step;
    do {
        step = coarsen_ceil_div(groups, threads);
        const size_t place = threadIdx.x * step;
        const size_t before = (size_t)__syncthreads_count(
            place < groups && (size_t)offsets[(first + place) * each] <= element);
        if (before == 0)
            return ~(size_t)0;
        first += (before - 1) * step;
        groups = coarsen_min(step, groups - (before - 1) * step);
    } while (step > 1);
    return first;
}

// Of a group of neighbouring segments, the tile that a block takes.
typedef struct {
    size_t first, begin, end; // the first segment; the elements of all
    unsigned int count;       // segments
    unsigned int tile, tiles; // of the group; 0 tiles: there is nothing to do
    unsigned int before;      // multiples of a tile's size before the group
} COARSEN_(share);

// The first `groups` blocks take the first tiles of as many groups, each of `each` segments. If a group has more elements
// than a tile, tile t is that of the block which has the t-th multiple of the tile's size behind its first element.
COARSEN_DEVICE unsigned int COARSEN_(multiple_of)(unsigned int groups)
{
    return blockIdx.x < groups ? 0 : blockIdx.x - groups + 1;
}

COARSEN_INLINE size_t COARSEN_(group_of)(COARSEN_(arrays) arrays, unsigned int groups, size_t each,
                                         size_t tile, unsigned int threads)
{
    return blockIdx.x < groups
               ? blockIdx.x
               : COARSEN_(group_at)(arrays.offsets, coarsen_ceil_div(arrays.segments, each), each,
                                    COARSEN_(multiple_of)(groups) * tile, threads);
}

COARSEN_DEVICE COARSEN_(share) COARSEN_(share_of)(COARSEN_(arrays) arrays, size_t group,
                                                  unsigned int multiple, size_t each, size_t tile)
{
    COARSEN_(share) share = {group * each, 0, 0, 0, 0, 0, 0};
    if (group == ~(size_t)0 || share.first >= arrays.segments)
        return share;
    share.count = (unsigned int)coarsen_min(each, arrays.segments - share.first);
    if (each > 1 && threadIdx.x < share.count)
        COARSEN_(bring)(arrays.offsets + share.first + threadIdx.x);
    share.begin = (size_t)arrays.offsets[share.first];
    share.end = (size_t)arrays.offsets[share.first + share.count];
    if (share.begin > share.end || share.end > arrays.n)
        __trap(); // an offset is less than the one before, or more than n
    share.tiles = 1;
    if (multiple > 0 || share.end - share.begin > tile) {
        share.tiles = (unsigned int)coarsen_ceil_div(share.end - share.begin, tile);
        share.before = (unsigned int)(share.begin / tile);
        share.tile = multiple > 0 ? multiple - share.before : 0;
        if (multiple > 0 && (share.tile == 0 || share.tile >= share.tiles))
            share.tiles = 0;
    }
    return share;
}

// For each multiple a counter, what the tile before that one leaves for it, and what it has of the segment that it ends.
enum { COARSEN_(words_of_cut) = 1 + 2 * COARSEN_(words_of_slot) };

// Puts together what was cut, in the last block of a group.
COARSEN_INLINE void COARSEN_(join)(COARSEN_(arrays) arrays, COARSEN_(share) share, size_t tile,
                                   unsigned long long *scratch, unsigned int threads)
{
    if (!COARSEN_(last_of)(scratch + share.before * COARSEN_(words_of_cut), share.tiles))
        return;
    const COARSEN_OFFSET *const offsets = arrays.offsets + share.first;
    const unsigned int words = COARSEN_(words_of_cut), lane = threadIdx.x % 32;
#pragma unroll 1
    for (size_t t = 1 + threadIdx.x / 32; t < share.tiles; t += threads / 32) {
        const size_t cut = share.begin + t * tile;
        const size_t s = COARSEN_(boundary_at)(offsets, share.count, cut);
        const size_t at = (size_t)offsets[s], next = (size_t)offsets[s + 1];
        if (at == cut || next > coarsen_min(cut + tile, share.end))
            continue;
        // A lane has neighbours, and the last lane the last ones.
        const unsigned int first = (unsigned int)((at - share.begin) / tile);
        const unsigned int count = (unsigned int)t - first, each = (count + 31) / 32;
        const unsigned int none = 32 * each - count;
        COARSEN_ACC sum = COARSEN_(identity)(), value;
#pragma unroll 1
        for (unsigned int i = lane * each; i < (lane + 1) * each; i++)
            if (i >= none) {
                COARSEN_(look)
                (scratch + (share.before + first + i - none) * words + 1, &value);
                sum = COARSEN_(op)(sum, value);
            }
        __syncwarp();
        sum = COARSEN_(of_lane)(COARSEN_(warp_inclusive)(sum), 31);
        COARSEN_(look)
        (scratch + (share.before + t - 1) * words + 1 + COARSEN_(words_of_slot), &value);
        if (lane == 0)
            arrays.out[share.first + s] = COARSEN_(op)(sum, value);
    }
}

// A block per segment, of so many threads, each of which has so many vectors in flight.
COARSEN_INLINE void COARSEN_(add_segment)(COARSEN_(arrays) arrays, unsigned int groups,
                                          unsigned int tile_log, unsigned long long *cuts,
                                          unsigned int threads, unsigned int at_once)
{
    const size_t tile = (size_t)1 << tile_log; // so that the compiler need not divide
    if (arrays.count)
        arrays.segments = *arrays.count;
    const size_t group = COARSEN_(group_of)(arrays, groups, 1, tile, threads);
    COARSEN_(share)
    share = COARSEN_(share_of)(arrays, group, COARSEN_(multiple_of)(groups), 1, tile);
    if (share.tiles == 0)
        return;
    const size_t begin = share.begin + share.tile * tile;
    const size_t end = coarsen_min(begin + tile, share.end);
    const COARSEN_ACC all =
        COARSEN_COMMUTES
            ? COARSEN_(all_in_any_order)(arrays, begin, end, share.tile * tile, threads, at_once)
            : COARSEN_(all_in_order)(arrays, begin, end, share.tile * tile, threads);
    if (share.tiles == 1) {
        if (threadIdx.x == 0)
            arrays.out[blockIdx.x] = all; // who takes a multiple has no segment of one tile
        return;
    }
    // Where registers are few, found again, so that they are free until here.
    if (at_once <= COARSEN_AT_ONCE)
        share = COARSEN_(share_of)(arrays, COARSEN_(group_of)(arrays, groups, 1, tile, threads),
                                   COARSEN_(multiple_of)(groups), 1, tile);
    unsigned long long *const cut =
        cuts + (size_t)(share.before + share.tile) * COARSEN_(words_of_cut) + 1;
    if (threadIdx.x == 0)
        COARSEN_(leave)
    (share.tile + 1 < share.tiles ? cut : cut - COARSEN_(words_of_cut) + COARSEN_(words_of_slot), 1,
     all);
    COARSEN_(join)(arrays, share, tile, cuts, threads);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(few_kernel)(COARSEN_(arrays) arrays, unsigned int groups, unsigned int tile_log,
                         unsigned long long *cuts)
{
    COARSEN_(add_segment)(arrays, groups, tile_log, cuts, BLOCK_DIM, COARSEN_AT_ONCE);
}

// For short segments, so that many are under way at once.
COARSEN_KERNEL void __launch_bounds__(COARSEN_SMALL, COARSEN_SMALL_RESIDENT)
    COARSEN_(small_kernel)(COARSEN_(arrays) arrays, unsigned int groups, unsigned int tile_log,
                           unsigned long long *cuts)
{
    COARSEN_(add_segment)(arrays, groups, tile_log, cuts, COARSEN_SMALL, COARSEN_AT_ONCE);
}

// For so few blocks that each has room for more registers.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_WIDE_RESIDENT)
    COARSEN_(wide_kernel)(COARSEN_(arrays) arrays, unsigned int groups, unsigned int tile_log,
                          unsigned long long *cuts)
{
    COARSEN_(add_segment)(arrays, groups, tile_log, cuts, BLOCK_DIM, COARSEN_WIDE_AT_ONCE);
}

// A block per group of segments.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_WIDE_RESIDENT)
    COARSEN_(group_kernel)(COARSEN_(arrays) arrays, unsigned int groups, size_t each,
                           unsigned long long *cuts)
{
    if (arrays.count) {
        arrays.segments = *arrays.count;
        each = coarsen_ceil_div(arrays.segments, groups);
        if (each == 0)
            return;
    }
    const size_t group = COARSEN_(group_of)(arrays, groups, each, COARSEN_TILE, BLOCK_DIM);
    const COARSEN_(share) share =
        COARSEN_(share_of)(arrays, group, COARSEN_(multiple_of)(groups), each, COARSEN_TILE);
    if (share.tiles == 0)
        return;
    const size_t begin = share.begin + share.tile * COARSEN_TILE;
    unsigned long long *const cut =
        cuts + (size_t)(share.before + share.tile) * COARSEN_(words_of_cut) + 1;
    COARSEN_(add_group)
    (arrays, arrays.offsets + share.first, share.count, begin,
     coarsen_min(begin + COARSEN_TILE, share.end), share.tile == 0, arrays.out + share.first,
     cut - COARSEN_(words_of_cut) + COARSEN_(words_of_slot),
     share.tile + 1 < share.tiles ? cut : NULL);
    if (share.tiles > 1)
        COARSEN_(join)(arrays, share, COARSEN_TILE, cuts, BLOCK_DIM);
}

#ifndef __CUDACC_RTC__
// So many times COARSEN_TILE is few.
COARSEN_HOST size_t COARSEN_(few)(cudaError_t *status)
{
    return COARSEN_FEW_TILES * coarsen_attribute(cudaDevAttrMultiProcessorCount, status);
}

// Multiples of a tile's size that any array has, at the most.
COARSEN_HOST size_t COARSEN_(multiples)(size_t few)
{
    return COARSEN_FEW_TILES > 0 && COARSEN_FEW_TILES < 32 ? few / COARSEN_FEW_TILES * 32 : few;
}

// The same of an array of few elements.
COARSEN_HOST size_t COARSEN_(few_multiples)(size_t n, size_t few)
{
    return coarsen_min(n / (COARSEN_TILE / 2), COARSEN_(multiples)(few));
}

COARSEN_HOST bool COARSEN_(is_few)(size_t n, size_t segments, size_t few)
{
    const size_t most = few * COARSEN_TILE, weight = COARSEN_CHARGE * (segments + 1);
    return weight <= most && n <= most - weight;
}

// What few blocks need comes first, for any n, and then slots for runs. A run is a tile or more, and there are no more runs
// than the device has room for, so that there is one wave.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n, size_t segments)
{
    cudaError_t status;
    const size_t few = COARSEN_(few)(&status);
    const size_t cuts = COARSEN_(multiples)(few);
    const size_t tiles = coarsen_ceil_div(n, COARSEN_RUN) +
                         COARSEN_CHARGE * coarsen_ceil_div(segments + 1, COARSEN_RUN) +
                         COARSEN_WARPS;
    const size_t bytes = COARSEN_(words_of_cut) * sizeof(unsigned long long);
    if (COARSEN_(is_few)(n, segments, few))
        return 16 + COARSEN_(few_multiples)(n, few) * bytes;
    return cuts * bytes +
           COARSEN_(look_back_bytes)(coarsen_min(
               tiles, coarsen_attribute(cudaDevAttrMultiProcessorCount, &status) * (2048 / 32)));
}

// The size at which blocks of so many threads cut long segments, as a power of 2: a tile, or less, times 2^more. Of many
// elements blocks need not be so many; and there are no more multiples than `most`.
COARSEN_HOST unsigned int COARSEN_(cut_log)(size_t n, size_t threads, unsigned int more,
                                            size_t processors, size_t most)
{
    const size_t enough = 4 * processors * (BLOCK_DIM / threads);
    unsigned int log = 0;
    while ((size_t)2 << log <= COARSEN_TILE_OF(threads))
        log++;
    log += more;
    for (unsigned int k = 0; k < 3 && (size_t)1 << log < n / enough; k++)
        log++;
    while (n >> log > most)
        log++;
    return log;
}

// arrays: what a launcher got.
COARSEN_HOST cudaError_t COARSEN_(check)(COARSEN_(arrays) arrays, const void *scratch,
                                         size_t scratch_bytes)
{
    const size_t n = arrays.n, segments = arrays.segments;
    const size_t most = (size_t)-1 / (4 * COARSEN_CHARGE); // so that no sum overflows
    if (segments > 0 &&
        (n > most || segments > most ||
         !coarsen_bytes_ok(arrays.in, n, sizeof(*arrays.in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
         !coarsen_array_ok(arrays.offsets, segments + 1) ||
         !coarsen_array_ok(arrays.out, segments) ||
         !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n, segments), 16) ||
         scratch_bytes < COARSEN_(scratch_bytes)(n, segments)))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

COARSEN_HOST cudaError_t COARSEN_(start)(COARSEN_(arrays) arrays, void *scratch,
                                         cudaStream_t stream)
{
    cudaError_t status;
    int resident = 0; // blocks per multiprocessor
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t shared_bytes = COARSEN_WARPS * COARSEN_PLACES * COARSEN_PLACE;
    const size_t few = COARSEN_(few)(&status), cuts = COARSEN_(multiples)(few);
    const size_t room = processors * (2048 / BLOCK_DIM); // for blocks
    const size_t n = arrays.n, segments = arrays.segments, mean = n / segments;
    const size_t bytes_each = mean * sizeof(*arrays.in);
    const bool is_few = COARSEN_(is_few)(n, segments, few);
    const bool may = COARSEN_FEW_TILES > 0 && segments < 0x70000000; // have a block per segment
    // With less than a vector for each of its threads, those of a small block mostly wait for each other; with more than six,
    // it takes several rounds where a larger block takes one. And eight waves of small blocks take no longer than a search.
    const bool is_small = may && segments > room &&
                          segments <= 8 * processors * coarsen_min(2048 / COARSEN_SMALL, 32) &&
                          bytes_each >= 16 * COARSEN_SMALL && bytes_each <= 96 * COARSEN_SMALL;
    const bool is_long =
        is_small || (may && bytes_each >= (segments <= 8 * room ? 8 : 28) * BLOCK_DIM);
    unsigned long long *const words = (unsigned long long *)scratch;
    if (COARSEN_ITEMS > 1)
        arrays.skip = (size_t)arrays.in % sizeof(COARSEN_(vector)) / sizeof(*arrays.in);
    if (status == cudaSuccess && (is_few || is_long)) {
        const size_t each = is_long || segments <= room ? 1 : coarsen_ceil_div(segments, 2 * few);
        const size_t groups = coarsen_ceil_div(segments, each);
        const size_t most = is_few ? COARSEN_(few_multiples)(n, few) : cuts;
        const size_t threads = is_small ? COARSEN_SMALL : BLOCK_DIM;
        // If most segments are shorter than a tile, four tiles take no longer than blocks that meet; nor do they in small
        // blocks, and in wide ones, which have more on their way. There eight take no longer, if next to none is cut then.
        const unsigned int more = is_small || mean <= COARSEN_TILE ? 2 : 0;
        const unsigned int wide_more =
            mean <= 4 * COARSEN_TILE && n <= 3 * 8 * COARSEN_TILE ? 3 : 2;
        unsigned int tile_log = COARSEN_(cut_log)(n, BLOCK_DIM, wide_more, processors, most);
        const bool is_wide =
            !is_small && groups + (n >> tile_log) <= processors * COARSEN_WIDE_RESIDENT;
        if (!is_wide)
            tile_log = COARSEN_(cut_log)(n, threads, more, processors, most);
        const size_t tile = each > 1 ? COARSEN_TILE : (size_t)1 << tile_log;
        const size_t multiples = n > 0 ? (n - 1) / tile : 0;
        const size_t bytes =
            (each > 1 || !COARSEN_COMMUTES ? COARSEN_ROWS * threads * sizeof(COARSEN_(vector))
                                           : 0) +
            (each > 1 ? (BLOCK_DIM + COARSEN_WARPS) * sizeof(COARSEN_ACC) : 0);
        const void *const kernel = each > 1   ? (const void *)COARSEN_(group_kernel)
                                   : is_wide  ? (const void *)COARSEN_(wide_kernel)
                                   : is_small ? (const void *)COARSEN_(small_kernel)
                                              : (const void *)COARSEN_(few_kernel);
        const cudaLaunchConfig_t config =
            coarsen_launch_config(groups + multiples, threads, bytes, stream);
        status = coarsen_let_share(kernel, bytes, COARSEN_WARPS * sizeof(COARSEN_ACC) + 256);
        if (status == cudaSuccess)
            status = each > 1   ? cudaLaunchKernelEx(&config, COARSEN_(group_kernel), arrays,
                                                     (unsigned int)groups, each, words + 2)
                     : is_wide  ? cudaLaunchKernelEx(&config, COARSEN_(wide_kernel), arrays,
                                                     (unsigned int)groups, tile_log, words + 2)
                     : is_small ? cudaLaunchKernelEx(&config, COARSEN_(small_kernel), arrays,
                                                     (unsigned int)groups, tile_log, words + 2)
                                : cudaLaunchKernelEx(&config, COARSEN_(few_kernel), arrays,
                                                     (unsigned int)groups, tile_log, words + 2);
        return status;
    }
    if (status == cudaSuccess)
        status =
            cudaFuncSetAttribute((const void *)COARSEN_(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               BLOCK_DIM, shared_bytes);
    if (status != cudaSuccess)
        return status;
    const size_t tiles =
        coarsen_ceil_div(arrays.n + COARSEN_CHARGE * (arrays.segments + 1), COARSEN_RUN);
    const size_t blocks = coarsen_min(coarsen_ceil_div(tiles, COARSEN_WARPS),
                                      processors * (size_t)(resident > 0 ? resident : 1));
    const cudaLaunchConfig_t config =
        coarsen_launch_config(blocks, BLOCK_DIM, shared_bytes, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), arrays, words,
                              words + cuts * COARSEN_(words_of_cut));
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, size_t n,
                                          const COARSEN_OFFSET *offsets, size_t segments,
                                          COARSEN_ACC *out, void *scratch, size_t scratch_bytes,
                                          cudaStream_t stream)
{
    const COARSEN_(arrays) arrays = {in, 0, n, offsets, segments, NULL, out};
    const cudaError_t status = COARSEN_(check)(arrays, scratch, scratch_bytes);
    return status != cudaSuccess || segments == 0 ? status
                                                  : COARSEN_(start)(arrays, scratch, stream);
}

COARSEN_HOST cudaError_t COARSEN_(launch_counted)(const COARSEN_TYPE *in, size_t n,
                                                  COARSEN_OFFSET *offsets,
                                                  const unsigned long long *segments, size_t most,
                                                  COARSEN_ACC *out, void *scratch,
                                                  size_t scratch_bytes, cudaStream_t stream)
{
    const COARSEN_(arrays) arrays = {in, 0, n, offsets, most, segments, out};
    cudaError_t status = COARSEN_(check)(arrays, scratch, scratch_bytes);
    if (!coarsen_array_ok(segments, 1))
        status = cudaErrorInvalidValue;
    if (status != cudaSuccess || most == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(1, 1, 0, stream);
    status = cudaLaunchKernelEx(&config, COARSEN_(end_kernel), offsets, segments, most, n);
    return status != cudaSuccess ? status : COARSEN_(start)(arrays, scratch, stream);
}
#endif
#undef COARSEN_CHARGE
#undef COARSEN_PLACE
#undef COARSEN_FIT
#undef COARSEN_ROWS
#undef COARSEN_LENGTH
#undef COARSEN_PLACES
#undef COARSEN_RUN
#undef COARSEN_TILE_OF
#undef COARSEN_TILE
#undef COARSEN_SMALL
#undef COARSEN_SMALL_RESIDENT
#undef COARSEN_WIDE_RESIDENT
#undef COARSEN_AT_ONCE
#undef COARSEN_WIDE_AT_ONCE
#undef COARSEN_THREADS
#undef COARSEN_RESIDENT

#define COARSEN_END
#include "../base.h"
