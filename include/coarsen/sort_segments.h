// SPDX-License-Identifier: MIT
//
// coarsen/sort_segments.h: many sorts at once: of each row of a matrix, or of each of many segments of an array.
// Stable; keys, or keys with values: integers, or floating-point numbers.
// out[b], ..., out[e - 1] = in[b], ..., in[e - 1] in ascending order, where b = offsets[s] and e = offsets[s + 1]
//
//     #define COARSEN_NAME   sort_lists
//     #define COARSEN_TYPE   float
//     #define COARSEN_OFFSET int
//     #include <coarsen/sort_segments.h>
//
//     size_t segments = 3, rows = 480, width = 640;
//     size_t bytes = sort_lists_scratch_bytes(n, segments); // of scratch
//     const int *offsets = (const int *)in + n;             // segments + 1 of them
//     sort_lists_launch(in, out, n, offsets, segments, scratch, bytes, stream);
//     sort_lists_launch_rows(in, out, rows, width, scratch, bytes, stream);
//
// | parameter          | default  | meaning                                                          |
// |--------------------|----------|------------------------------------------------------------------|
// | COARSEN_NAME       | required | what every name this makes begins with                           |
// | COARSEN_TYPE       | required | type of the keys: an integer or floating-point type of at most 8 bytes |
// | COARSEN_VALUE      | none     | type of the values, any; without it there are keys alone         |
// | COARSEN_DESCENDING | 0        | 1: the greatest first                                            |
// | COARSEN_OFFSET     | int      | type of the offsets: any integer                                 |
// | BLOCK_DIM          | 256; 512 | threads per block: a power of two from 32 to 1024                |
// | COARSE_FACTOR      | 16; 8    | keys per thread: a power of two from 1 to 32                     |
// | COARSEN_FEW_WAVES  | 2        | segments by offsets, up to so many waves of blocks, get a block each: 0 to 64 |
// The second number is for keys of 8 bytes, or of 4 with values; of 8 bytes with values it is 256 x 8.
// Defines NAME_bits(key), the key as an unsigned number in the order of the keys; what block/merge.h and
// block/overlap.h do; the kernels that the launchers launch, NAME_few_kernel, NAME_short_kernel, NAME_rows_kernel and
// NAME_long_kernel; and
//     size_t      NAME_scratch_bytes(size_t n, size_t segments)         never falls as one of them grows
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out,
//                             [const COARSEN_VALUE *in_values, COARSEN_VALUE *out_values,] size_t n,
//                             const COARSEN_OFFSET *offsets, size_t segments,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     size_t      NAME_scratch_bytes_rows(size_t rows, size_t width)    never falls as one of them grows
//     cudaError_t NAME_launch_rows(the same up to out_values, size_t rows, size_t width,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// The first launcher sorts segments. in, in_values: n elements each in device memory. offsets: segments + 1 of them in
// device memory, none less than the one before or more than n; what is before the first and from the last on belongs
// to no segment, and is not written. Wrong offsets end the launch with an error (__trap). The second one sorts
// segments of one length, the rows of a matrix, one right behind the other; n is rows * width. It is faster, as it
// reads no offsets.
// out, out_values: n elements each, apart from in and in_values, or the same arrays. Keys at any alignment of an
// element (its size). scratch: device memory, 16-byte aligned, which need not be made ready; none for rows of up to
// BLOCK_DIM COARSE_FACTOR keys. One scratch per launch that may run at the same time. Errors: cudaErrorInvalidValue for
// a null, misaligned or overflowing array or too small a scratch, with nothing written; those of the runtime's device
// queries; cudaErrorInvalidValue for 2^31 tiles (of BLOCK_DIM COARSE_FACTOR keys) or more, too. No segments: nothing.
// Keys come in the order -infinity ... -0, +0 ... infinity, NaN, negative NaN, and keep their bits. Stable: keys of a
// segment that are equal keep their order, and so do their values. Deterministic.
//
// How the work is divided: by the length of a segment, which the kernels find out themselves.
//     up to 32 COARSE_FACTOR keys     some lanes of a warp, in registers; so a warp sorts several at once
//     up to a tile, BLOCK_DIM COARSE_FACTOR keys    some warps of a block: each sorts a run, and these are merged in
//                                     shared memory; so a block sorts several at once, or one
//     longer                          a block per tile, and then passes over memory that merge the tiles' runs
// A lane's keys are sorted by a network, and so are those of several lanes, which exchange keys by shuffles. With
// values, each key has its place beside it. So no two are equal, and the order is stable by itself.
// Segments that no warp can sort come on lists, and the blocks of one launch work them off. It goes on with the
// merges, each pass as soon as the pass before is done. Few segments, which leave multiprocessors idle, need no lists:
// each has a block, whose threads take few keys each, and only what is longer than a tile comes on a list. Of one word per
// key, and if two per multiprocessor are enough, these blocks have twice as many threads, and tiles twice as long.
// Where there are so few keys that no segment can need them, blocks have fewer threads. Where the segments are more than the
// blocks that run at a time, a block sorts some at once, if these are short.
// What is in order is left as it is, in segments of more than a warp's keys: those of a warp, two runs, and tiles all of whose
// keys come from one run.
// Price saved: passes over memory: up to a tile, each key is read once and written once.
// Price paid: comparisons. There are log2(length)^2 / 2 per key up to a warp's.
// Cost: n keys and values read and written; of a segment of more than a tile, ceil(log2(its tiles)) times more. Of
// offsets: these once, and scratch for n keys and values, if a segment may be longer than a tile.
// Source: K. E. Batcher, Sorting Networks and Their Applications (1968); O. Green, R. McColl, D. A. Bader, GPU Merge
// Path (2012).

#ifndef COARSEN_VALUE // of keys alone
#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_SORT_SEGMENTS_BLOCK_DIM)
#define BLOCK_DIM COARSEN_SORT_SEGMENTS_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_SORT_SEGMENTS_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_SORT_SEGMENTS_COARSE_FACTOR
#endif
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_SORT
#include "base.h"

// An item is what is sorted: a key's bits, and with values its place below them.
#ifdef COARSEN_VALUE
#define COARSEN_PLACED 1
#define COARSEN_WORDS  (sizeof(COARSEN_TYPE) <= 2 ? 1 : sizeof(COARSEN_TYPE) <= 4 ? 2 : 3)
#else
#define COARSEN_PLACED 0
#define COARSEN_WORDS  (sizeof(COARSEN_TYPE) <= 4 ? 1 : 2)
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM (COARSEN_WORDS == 2 ? 512 : 256)
#elif (BLOCK_DIM & (BLOCK_DIM - 1)) != 0
#error "coarsen/sort_segments: BLOCK_DIM must be a power of two from 32 to 1024"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR (COARSEN_WORDS == 1 ? 16 : 8)
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32 || (COARSE_FACTOR & (COARSE_FACTOR - 1)) != 0
#error "coarsen/sort_segments: COARSE_FACTOR must be a power of two from 1 to 32"
#endif
#ifndef COARSEN_FEW_WAVES
#define COARSEN_FEW_WAVES 2
#endif
static_assert(COARSEN_FEW_WAVES >= 0 && COARSEN_FEW_WAVES <= 64,
              "coarsen/sort_segments: COARSEN_FEW_WAVES must be from 0 to 64");
#ifndef COARSEN_OFFSET
#define COARSEN_OFFSET int
#endif
typedef COARSEN_OFFSET COARSEN_(offset);
#undef COARSEN_OFFSET
#define COARSEN_OFFSET COARSEN_(offset)
static_assert((COARSEN_OFFSET)0.5 == 0,
              "coarsen/sort_segments: COARSEN_OFFSET must be an integer type");

COARSEN_DEVICE bool COARSEN_(less)(COARSEN_TYPE a, COARSEN_TYPE b)
{
    return COARSEN_(bits)(a) < COARSEN_(bits)(b);
}

#include "block/merge.h"
#include "block/overlap.h"

#define COARSEN_SHORT      (32 * COARSE_FACTOR)         // keys that a warp sorts
#define COARSEN_TILE       (BLOCK_DIM * COARSE_FACTOR)  // and a block
#define COARSEN_ROOM       (COARSEN_TILE / 32 * 33 + 1) // places in shared memory
#define COARSEN_SIZES      5 // of teams of warps, at the most: 2, 4, ... 32
#define COARSEN_MOST_TILES 8 // tiles of a longer segment that a block takes, at the most
#define COARSEN_KINDS      8 // of short segments
#define COARSEN_WAVES      4 // that more segments are spread over, if a block then has a tile of keys
// Threads of a block of few segments: twice as many, if there is room for two tiles then.
#define COARSEN_FEW_DIM                                                                            \
    (COARSEN_WORDS == 1 && BLOCK_DIM <= 512 && COARSEN_TILE / 16 * 33 < 11 << 10 ? 2 * BLOCK_DIM   \
                                                                                 : BLOCK_DIM)
// Blocks per multiprocessor: with 64 registers for a thread, which the default's items leave room for.
#define COARSEN_RESIDENT                                                                           \
    (COARSEN_WORDS * COARSE_FACTOR <= 16 && BLOCK_DIM <= 512                                       \
         ? 1024 / (BLOCK_DIM > 64 ? BLOCK_DIM : 64)                                                \
         : 1)
#define COARSEN_FEW_RESIDENT                                                                       \
    (COARSEN_RESIDENT > 1 ? COARSEN_RESIDENT * BLOCK_DIM / COARSEN_FEW_DIM : 1)
// Beside a tile, a block has where a segment per thread is, in 4 words, and some more.
static_assert(COARSEN_ROOM * COARSEN_WORDS + 4 * BLOCK_DIM + COARSEN_KINDS <= 48 << 8,
              "coarsen/sort_segments: a block takes more than 48 KiB of shared memory: define a "
              "smaller BLOCK_DIM or COARSE_FACTOR");

// ---- items ------------------------------------------------------------------------------------------------

typedef struct {
    unsigned int word[COARSEN_WORDS]; // the lowest first
} COARSEN_(item);

// Behind all items of keys.
COARSEN_INLINE COARSEN_(item) COARSEN_(no_item)(void)
{
    COARSEN_(item) item;
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_WORDS; w++)
        item.word[w] = ~0u;
    return item;
}

COARSEN_INLINE COARSEN_(item) COARSEN_(item_of)(COARSEN_TYPE key, unsigned int place)
{
    const unsigned long long bits = COARSEN_(bits)(key);
    COARSEN_(item) item;
    if (COARSEN_PLACED && COARSEN_WORDS == 1) {
        item.word[0] = (unsigned int)bits << 16 | place;
    } else {
        item.word[0] = place;
#pragma unroll
        for (unsigned int w = COARSEN_PLACED; w < COARSEN_WORDS; w++)
            item.word[w] = (unsigned int)(bits >> 32 * (w - COARSEN_PLACED));
    }
    return item;
}

COARSEN_INLINE unsigned int COARSEN_(place_in)(COARSEN_(item) item)
{
    return COARSEN_WORDS == 1 ? item.word[0] & 0xffff : item.word[0];
}

// What NAME_bits was made of.
COARSEN_INLINE COARSEN_TYPE COARSEN_(key_in)(COARSEN_(item) item)
{
    const unsigned int width = 8 * sizeof(COARSEN_TYPE);
    const unsigned long long all = ~0ULL >> (64 - width), sign = 1ULL << (width - 1);
    unsigned long long bits = 0;
    if (COARSEN_PLACED && COARSEN_WORDS == 1)
        bits = item.word[0] >> 16;
    else
#pragma unroll
        for (unsigned int w = COARSEN_PLACED; w < COARSEN_WORDS; w++)
            bits |= (unsigned long long)item.word[w] << 32 * (w - COARSEN_PLACED);
    if (COARSEN_DESCENDING)
        bits ^= all;
    if (sizeof(COARSEN_TYPE) > 1 &&
        (__is_class(COARSEN_TYPE) || (COARSEN_TYPE)0.5 != (COARSEN_TYPE)0)) {
        double above = COARSEN_INFINITY; // as in base.h
        const COARSEN_TYPE infinity = (COARSEN_TYPE)above;
        unsigned long long infinite = 0;
        memcpy(&infinite, (const void *)&infinity, sizeof(infinity));
        bits = (bits + (sign - 1 - infinite)) & all;
        bits = bits & sign ? bits ^ sign : bits ^ all;
    } else if ((COARSEN_TYPE)-1 < (COARSEN_TYPE)0) {
        bits ^= sign;
    }
    COARSEN_TYPE key;
    memcpy((void *)&key, &bits, sizeof(key));
    return key;
}

COARSEN_INLINE bool COARSEN_(before)(COARSEN_(item) a, COARSEN_(item) b)
{
    const unsigned int low = COARSEN_WORDS == 3, high = COARSEN_WORDS - 1; // of 8 bytes, or 4
    const unsigned long long of_a = (unsigned long long)a.word[high] << 32 | a.word[low];
    const unsigned long long of_b = (unsigned long long)b.word[high] << 32 | b.word[low];
    return COARSEN_WORDS == 1   ? a.word[0] < b.word[0]
           : COARSEN_WORDS == 2 ? of_a < of_b
                                : of_a < of_b || (of_a == of_b && a.word[0] < b.word[0]);
}

// In shared memory a place in 33 is free, so that lanes that each go through neighbours meet in no bank.
COARSEN_INLINE void COARSEN_(put)(unsigned int *words, unsigned int place, COARSEN_(item) item)
{
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_WORDS; w++)
        words[place + place / 32 + w * COARSEN_ROOM] = item.word[w];
}

// places: an item's place is where it is.
COARSEN_INLINE COARSEN_(item)
    COARSEN_(get)(const unsigned int *words, unsigned int place, bool places)
{
    COARSEN_(item) item;
    item.word[0] = place;
#pragma unroll
    for (unsigned int w = places && COARSEN_PLACED && COARSEN_WORDS > 1; w < COARSEN_WORDS; w++)
        item.word[w] = words[place + place / 32 + w * COARSEN_ROOM];
    return item;
}

// ---- networks ---------------------------------------------------------------------------------------------

COARSEN_INLINE void COARSEN_(order)(COARSEN_(item) * a, COARSEN_(item) * b)
{
    const COARSEN_(item) left = *a, right = *b;
    const bool swap = COARSEN_(before)(right, left);
    *a = swap ? right : left;
    *b = swap ? left : right;
}

// A lane's items, `many` of them, which is a power of two: Batcher's merges of odd and even ones.
COARSEN_INLINE void COARSEN_(sort_lane)(COARSEN_(item) * item, unsigned int many)
{
#pragma unroll
    for (unsigned int half = 1; half < many; half *= 2)
#pragma unroll
        for (unsigned int gap = half; gap > 0; gap /= 2)
#pragma unroll
            for (unsigned int i = 0; i + gap < many; i++)
                if (i >= gap % half && (i - gap % half) / gap % 2 == 0 &&
                    i / (2 * half) == (i + gap) / (2 * half))
                    COARSEN_(order)(item + i, item + i + gap);
}

// The lesser one of this lane's item and another lane's, or for the upper of the two lanes the other one.
COARSEN_INLINE COARSEN_(item)
    COARSEN_(exchange)(COARSEN_(item) mine, COARSEN_(item) theirs, unsigned int lanes, bool upper)
{
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_WORDS; w++)
        theirs.word[w] = __shfl_xor_sync(0xffffffff, theirs.word[w], (int)lanes);
    return COARSEN_(before)(theirs, mine) != upper ? theirs : mine;
}

// Items of so many lanes, each of which has sorted its own ones. Two sorted runs, one of them backwards, rise and fall:
// of such a row, the lesser ones of each two that are half a row apart are in no order again, but rise and fall, and so
// do the greater ones.
COARSEN_INLINE void COARSEN_(sort_lanes)(COARSEN_(item) * item, unsigned int many,
                                         unsigned int lanes)
{
#pragma unroll 1
    for (unsigned int row = 2; row <= lanes; row *= 2) {
        bool upper = (threadIdx.x & row / 2) != 0;
#pragma unroll
        for (unsigned int k = 0; k < (many + 1) / 2; k++) {
            const COARSEN_(item) left = item[k], right = item[many - 1 - k];
            item[k] = COARSEN_(exchange)(left, right, row - 1, upper);
            item[many - 1 - k] = COARSEN_(exchange)(right, left, row - 1, upper);
        }
#pragma unroll 1
        for (unsigned int delta = row / 4; delta > 0; delta /= 2) {
            upper = (threadIdx.x & delta) != 0;
#pragma unroll
            for (unsigned int k = 0; k < many; k++)
                item[k] = COARSEN_(exchange)(item[k], item[k], delta, upper);
        }
#pragma unroll
        for (unsigned int gap = many / 2; gap > 0; gap /= 2)
#pragma unroll
            for (unsigned int k = 0; k < many; k++)
                if (k / gap % 2 == 0)
                    COARSEN_(order)(item + k, item + k + gap);
    }
}

// ---- merges -----------------------------------------------------------------------------------------------

// Of two runs in shared memory, the second right behind the first, `many` results from result `rank` on. There is a
// place behind the second, and with less results than that there are as many as a tile has.
COARSEN_INLINE void COARSEN_(merge_items)(const unsigned int *words, unsigned int a,
                                          unsigned int a_count, unsigned int b_count,
                                          unsigned int rank, bool places, unsigned int many,
                                          COARSEN_(item) * item)
{
    const unsigned int b = a + a_count, end = b + b_count;
    unsigned int low = rank > b_count ? rank - b_count : 0, high = rank < a_count ? rank : a_count;
#pragma unroll 1
    while (low < high) {
        const unsigned int middle = (low + high) / 2;
        if (COARSEN_(before)(COARSEN_(get)(words, b + rank - 1 - middle, places),
                             COARSEN_(get)(words, a + middle, places)))
            high = middle;
        else
            low = middle + 1;
    }
    unsigned int i = a + low, j = b + rank - low;
    COARSEN_(item) of_a = COARSEN_(get)(words, i, places), of_b = COARSEN_(get)(words, j, places);
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        const bool from_b = i >= b || (j < end && COARSEN_(before)(of_b, of_a));
        item[k] = from_b ? of_b : of_a;
        if (k + 1 < many) {
            const unsigned int behind = (from_b ? j : i) + 1;
            const COARSEN_(item) next = COARSEN_(get)(words, behind, places);
            of_a = from_b ? of_a : next;
            of_b = from_b ? next : of_b;
            i = from_b ? i : behind;
            j = from_b ? behind : j;
        }
    }
}

// ---- where segments are -----------------------------------------------------------------------------------

typedef struct {
    size_t start;
    size_t count;
} COARSEN_(slot);

// What the short kernel finds, and how far the long one is. All 0 before the launch.
typedef struct {
    unsigned long long longer; // segments of more than a tile, in the upper half, and their chunks
    unsigned int stages;       // of merges, that the longest one needs
    unsigned long long counts[COARSEN_SIZES]; // segments for teams of 2, 4, ... warps
    unsigned long long ticket, done;
} COARSEN_(progress);

// A segment of more than a tile, and the number of its first chunk.
typedef struct {
    COARSEN_(slot) slot;
    unsigned long long first;
} COARSEN_(long_slot);

typedef struct {
    const COARSEN_OFFSET *offsets; // null: rows
    size_t n, segments, width;     // width: of rows
    unsigned int warps;            // of up to a tile, that a row takes
    unsigned int chunk_log;        // tiles of a longer segment that a block takes at once
    COARSEN_(progress) * progress;
    COARSEN_(slot) * lists[COARSEN_SIZES];
    COARSEN_(long_slot) * longer;
} COARSEN_(segments);

COARSEN_DEVICE COARSEN_(slot) COARSEN_(segment)(COARSEN_(segments) of, size_t s)
{
    COARSEN_(slot) slot = {s * of.width, of.width};
    if (of.offsets) {
        const size_t start = (size_t)of.offsets[s], end = (size_t)of.offsets[s + 1];
        if (start > end || end > of.n)
            __trap(); // wrong offsets
        slot.start = start;
        slot.count = end - start;
    }
    return slot;
}

COARSEN_HOST_DEVICE unsigned int COARSEN_(log_of)(size_t number) // rounded up
{
    unsigned int log = 0;
    while (log < 63 && (size_t)1 << log < number)
        log++;
    return log;
}

COARSEN_HOST_DEVICE size_t COARSEN_(chunks)(COARSEN_(segments) of, size_t count)
{
    return coarsen_ceil_div(count, (size_t)COARSEN_TILE << of.chunk_log);
}

// ---- short segments: some lanes of a warp --------------------------------------------------------------------

// A kind of short segments says how many keys a lane takes, and how many lanes, as a power of two, a segment: few keys
// and a lane; some, and 1, 2, ... 32 lanes; or COARSE_FACTOR, and 32.
#define COARSEN_FEW  (COARSE_FACTOR < 4 ? COARSE_FACTOR : 4)
#define COARSEN_SOME (COARSE_FACTOR < 8 ? COARSE_FACTOR : 8)

COARSEN_HOST_DEVICE unsigned int COARSEN_(kind_of)(unsigned int count)
{
    unsigned int kind = count <= COARSEN_FEW ? 0 : 1;
    while (kind > 0 && kind < COARSEN_KINDS - 1 && (COARSEN_SOME << (kind - 1)) + 0u < count)
        kind++;
    return kind;
}

COARSEN_HOST_DEVICE unsigned int COARSEN_(lanes_log_of)(unsigned int kind)
{
    return kind == 0 ? 0 : kind < COARSEN_KINDS - 1 ? kind - 1 : 5;
}

// Where a short segment begins; how many keys it has.
COARSEN_INLINE size_t COARSEN_(start_of)(const COARSEN_(slot) * slots, COARSEN_(slot) row,
                                         unsigned int s)
{
    return slots ? slots[s].start : row.start + s * (unsigned int)row.count;
}

COARSEN_INLINE unsigned int COARSEN_(count_of)(const COARSEN_(slot) * slots, COARSEN_(slot) row,
                                               unsigned int s)
{
    return (unsigned int)(slots ? slots[s].count : row.count);
}

// The warp sorts the segments of slots `first` up to `end`, 2^lanes_log lanes taking one, and a lane `many` of its keys.
// slots: null, if the first is `row`, and the others follow it.
COARSEN_INLINE void COARSEN_(sort_slots)(COARSEN_(arrays) arrays, unsigned int *words,
                                         const COARSEN_(slot) * slots, COARSEN_(slot) row,
                                         unsigned int first, unsigned int end, unsigned int many,
                                         unsigned int lanes_log)
{
    const unsigned int lane = threadIdx.x % 32, at = threadIdx.x / 32 * COARSEN_SHORT;
    const unsigned int each_log = COARSEN_(log_of)(many) + lanes_log; // keys of a slot
    const unsigned int last = (1u << each_log) - 1;
    COARSEN_(item) item[COARSE_FACTOR];
    COARSEN_TYPE key[COARSE_FACTOR];
    unsigned int there = 0; // bit k: the lane has a k-th element
    // Neighbours in the slots are neighbours in memory, whichever lane sorts them.
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        const unsigned int e = k * 32 + lane, s = first + (e >> each_log), place = e & last;
        if (s < end && place < COARSEN_(count_of)(slots, row, s)) {
            there |= 1u << k;
            key[k] = arrays.in[COARSEN_(start_of)(slots, row, s) + place];
        }
    }
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        const unsigned int e = k * 32 + lane;
        COARSEN_(put)
        (words, at + e, there >> k & 1 ? COARSEN_(item_of)(key[k], e & last) : COARSEN_(no_item)());
    }
    __syncwarp();
#pragma unroll
    for (unsigned int k = 0; k < many; k++)
        item[k] = COARSEN_(get)(words, at + lane * many + k, false);
    COARSEN_(sort_lane)(item, many);
    COARSEN_(sort_lanes)(item, many, 1u << lanes_log);
    __syncwarp();
#pragma unroll
    for (unsigned int k = 0; k < many; k++)
        COARSEN_(put)(words, at + lane * many + k, item[k]);
    __syncwarp();
#ifdef COARSEN_VALUE
    COARSEN_VALUE value[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        const unsigned int e = k * 32 + lane, s = first + (e >> each_log);
        if (there >> k & 1)
            value[k] = arrays.in_values[COARSEN_(start_of)(slots, row, s) +
                                        COARSEN_(place_in)(COARSEN_(get)(words, at + e, false))];
    }
    __syncwarp(); // all are read, and may be overwritten
#endif
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        // The next ones come to the same places, each by the lane that reads it here.
        const unsigned int e = k * 32 + lane, s = first + (e >> each_log);
        if (there >> k & 1) {
            const size_t to = COARSEN_(start_of)(slots, row, s) + (e & last);
            arrays.out[to] = COARSEN_(key_in)(COARSEN_(get)(words, at + e, false));
#ifdef COARSEN_VALUE
            arrays.out_values[to] = value[k];
#endif
        }
    }
}

COARSEN_INLINE void COARSEN_(sort_kind)(COARSEN_(arrays) arrays, unsigned int *words,
                                        const COARSEN_(slot) * slots, COARSEN_(slot) row,
                                        unsigned int first, unsigned int end, unsigned int kind)
{
    if (kind == 0)
        COARSEN_(sort_slots)(arrays, words, slots, row, first, end, COARSEN_FEW, 0);
    else if (kind < COARSEN_KINDS - 1)
        COARSEN_(sort_slots)(arrays, words, slots, row, first, end, COARSEN_SOME, kind - 1);
    else
        COARSEN_(sort_slots)(arrays, words, slots, row, first, end, COARSE_FACTOR, 5);
}

// Rows, of one kind: a warp takes those that its lanes can sort at once.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(rows_kernel)(COARSEN_(arrays) arrays, size_t rows, unsigned int width,
                          unsigned int kind)
{
    __shared__ unsigned int words[COARSEN_WORDS * COARSEN_ROOM];
    const size_t warp = (size_t)blockIdx.x * (BLOCK_DIM / 32) + threadIdx.x / 32;
    const unsigned int each = 32u >> COARSEN_(lanes_log_of)(kind);
    const size_t first = warp * each;
    if (first < rows) {
        const COARSEN_(slot) row = {first * width, width};
        const unsigned int here = (unsigned int)coarsen_min(rows - first, each);
        COARSEN_(sort_kind)(arrays, words, NULL, row, 0, here, kind);
    }
}

// A segment that is too long for a warp comes on a list.
COARSEN_DEVICE void COARSEN_(enlist)(COARSEN_(segments) of, COARSEN_(slot) slot)
{
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int size =
        slot.count <= COARSEN_SHORT ? ~0u
        : slot.count <= COARSEN_TILE
            ? COARSEN_(log_of)(coarsen_ceil_div(slot.count, COARSEN_SHORT)) - 1
            : COARSEN_SIZES;
#pragma unroll
    for (unsigned int c = 0; 2u << c <= BLOCK_DIM / 32; c++) {
        const unsigned int mine = __ballot_sync(0xffffffff, size == c);
        if (mine == 0)
            continue;
        unsigned long long first = 0;
        if (lane == 0)
            first = atomicAdd(of.progress->counts + c, (unsigned long long)__popc(mine));
        first = __shfl_sync(0xffffffff, first, 0);
        if (size == c)
            of.lists[c][first + (unsigned int)__popc(mine & ((1u << lane) - 1))] = slot;
    }
    if (size == COARSEN_SIZES) {
        const unsigned long long before =
            atomicAdd(&of.progress->longer, 1ULL << 32 | COARSEN_(chunks)(of, slot.count));
        const COARSEN_(long_slot) entry = {slot, before & 0xffffffff};
        of.longer[before >> 32] = entry;
        atomicMax(&of.progress->stages,
                  COARSEN_(log_of)(coarsen_ceil_div(slot.count, COARSEN_TILE)));
    }
}

// A block takes `each` segments, as many as it has threads or fewer, and puts those of like lengths side by side.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(short_kernel)(COARSEN_(arrays) arrays, COARSEN_(segments) of, unsigned int each)
{
    __shared__ unsigned int words[COARSEN_WORDS * COARSEN_ROOM];
    __shared__ COARSEN_(slot) slots[BLOCK_DIM];
    __shared__ unsigned int counts[COARSEN_KINDS];
    const unsigned int lane = threadIdx.x % 32;
    const size_t s = (size_t)blockIdx.x * each + threadIdx.x;
    COARSEN_(slot) slot = {0, 0};
    if (threadIdx.x < each && s < of.segments)
        slot = COARSEN_(segment)(of, s);
    if (of.longer)
        COARSEN_(enlist)(of, slot);
    if (threadIdx.x < COARSEN_KINDS)
        counts[threadIdx.x] = 0;
    __syncthreads();

    const bool mine = slot.count > 0 && slot.count <= COARSEN_SHORT;
    const unsigned int kind = mine ? COARSEN_(kind_of)((unsigned int)slot.count) : COARSEN_KINDS;
    unsigned int place = 0, rest = __ballot_sync(0xffffffff, mine);
    while (rest != 0) {
        const unsigned int now = __shfl_sync(0xffffffff, kind, __ffs((int)rest) - 1);
        const unsigned int like = __ballot_sync(0xffffffff, kind == now);
        unsigned int before = 0;
        if (lane == 0)
            before = atomicAdd(counts + now, (unsigned int)__popc(like));
        before = __shfl_sync(0xffffffff, before, 0);
        if (kind == now)
            place = before + (unsigned int)__popc(like & ((1u << lane) - 1));
        rest &= ~like;
    }
    __syncthreads();
    if (mine) {
        for (unsigned int k = 0; k < kind; k++)
            place += counts[k];
        slots[place] = slot;
    }
    __syncthreads();

    // The warps take rounds of one kind by turns.
    unsigned int round = threadIdx.x / 32, first = 0;
#pragma unroll 1
    for (unsigned int k = 0; k < COARSEN_KINDS; k++) {
        const unsigned int each_log = 5 - COARSEN_(lanes_log_of)(k), end = first + counts[k];
#pragma unroll 1
        for (; first + (round << each_log) < end; round += BLOCK_DIM / 32)
            COARSEN_(sort_kind)
        (arrays, words, slots, slot, first + (round << each_log), end, k);
        round -= (end - first + (1u << each_log) - 1) >> each_log;
        first = end;
    }
}

// ---- longer segments: some warps of a block, or all of several ----------------------------------------------

// Whether the warp's items are in order, where lane l has l, 32 + l, ... of them. Most that are not, are not from the start.
COARSEN_INLINE bool COARSEN_(in_order)(const COARSEN_(item) * item, unsigned int many)
{
    const unsigned int lane = threadIdx.x % 32;
    bool sorted = true;
#pragma unroll
    for (unsigned int k = 0; k < many; k++)
        if (sorted) { // the next one of lane 31's is lane 0's next one
            COARSEN_(item) next = lane == 0 && k + 1 < many ? item[k + 1] : item[k];
#pragma unroll
            for (unsigned int w = 0; w < COARSEN_WORDS; w++)
                next.word[w] = __shfl_sync(0xffffffff, next.word[w], (int)((lane + 1) % 32));
            const bool last = lane == 31 && k + 1 == many;
            sorted = __all_sync(0xffffffff, last || !COARSEN_(before)(next, item[k]));
        }
    return sorted;
}

// Keys `start` and behind it, to the same places of out, by a team of so many warps, a lane taking `many`. All threads
// of the block call.
COARSEN_INLINE void COARSEN_(sort_tile)(COARSEN_(arrays) arrays, unsigned int *words, size_t start,
                                        unsigned int count, unsigned int warps, unsigned int many)
{
    const unsigned int t = threadIdx.x & (32 * warps - 1), at = (threadIdx.x - t) * many;
    const unsigned int own = t / 32 * 32 * many; // the warp's run
    COARSEN_(item) item[COARSE_FACTOR];
    COARSEN_TYPE key[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        const unsigned int e = own + k * 32 + t % 32;
        if (e < count)
            key[k] = arrays.in[start + e];
    }
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        const unsigned int e = own + k * 32 + t % 32;
        item[k] = e < count ? COARSEN_(item_of)(key[k], e) : COARSEN_(no_item)();
    }
    // What is in order is left as it is: a warp's items, and then each two runs.
    unsigned int place = own + t % 32, gap = 32;
    if (own < count && !COARSEN_(in_order)(item, many)) {
        COARSEN_(sort_lane)(item, many);
        COARSEN_(sort_lanes)(item, many, 32);
        place = t * many, gap = 1;
    }
    bool changed = true;
#pragma unroll 1
    for (unsigned int run = 32 * many;; run *= 2) {
        __syncthreads();
        if (changed)
#pragma unroll
            for (unsigned int k = 0; k < many; k++)
                COARSEN_(put)(words, at + place + k * gap, item[k]);
        __syncthreads();
        if (run >= warps * 32 * many)
            break;
        const unsigned int rank = t * many & (2 * run - 1);
        const unsigned int first = t * many - rank, second = first + run;
        changed = second < count && // or the second run has no keys
                  COARSEN_(before)(COARSEN_(get)(words, at + second, false),
                                   COARSEN_(get)(words, at + second - 1, false));
        if (changed) {
            COARSEN_(merge_items)(words, at + first, run, run, rank, false, many, item);
            place = t * many, gap = 1;
        }
    }
#ifdef COARSEN_VALUE
    COARSEN_VALUE value[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        const unsigned int e = k * 32 * warps + t;
        if (e < count)
            value[k] =
                arrays.in_values[start + COARSEN_(place_in)(COARSEN_(get)(words, at + e, false))];
    }
    __syncthreads(); // all are read, and may be overwritten
#endif
#pragma unroll
    for (unsigned int k = 0; k < many; k++) {
        const unsigned int e = k * 32 * warps + t;
        if (e < count) {
            arrays.out[start + e] = COARSEN_(key_in)(COARSEN_(get)(words, at + e, false));
#ifdef COARSEN_VALUE
            arrays.out_values[start + e] = value[k];
#endif
        }
    }
}

// Few segments: the first blocks take `each` of them, and sort these at once if each is short enough for its part of the block.
// Else the first one, and other blocks the others. By as few keys per lane as suffice. The block behind these lists the
// longer segments.
COARSEN_KERNEL void __launch_bounds__(COARSEN_FEW_DIM, COARSEN_FEW_RESIDENT)
    COARSEN_(few_kernel)(COARSEN_(arrays) arrays, COARSEN_(segments) of, unsigned int each,
                         unsigned int groups)
{
    enum { room = COARSEN_FEW_DIM * COARSE_FACTOR / 32 * 33 + 1 };
    __shared__ unsigned int words[COARSEN_WORDS * room];
    __shared__ COARSEN_(slot) slots[COARSEN_FEW_DIM / 32];
    const unsigned int most = COARSE_FACTOR * blockDim.x;
    const unsigned int group = blockIdx.x % groups, member = blockIdx.x / groups;
    COARSEN_(let_next)();
    if (member < each) {
        if (threadIdx.x < each) {
            const size_t s = (size_t)group * each + threadIdx.x;
            COARSEN_(slot) slot = {0, 0};
            if (s < of.segments)
                slot = COARSEN_(segment)(of, s);
            slots[threadIdx.x] = slot;
        }
        __syncthreads();
        bool together = true;
        for (unsigned int s = 0; s < each; s++)
            together &= slots[s].count <= most / each;
        if (together && member > 0)
            return;
        size_t longest = together ? 0 : slots[member].count;
        for (unsigned int s = 0; together && s < each; s++)
            longest = slots[s].count > longest ? slots[s].count : longest;
        if (longest == 0 || longest > most)
            return;
        const unsigned int lanes = together ? blockDim.x / each : blockDim.x;
        const unsigned int many = longest <= COARSEN_FEW * lanes    ? COARSEN_FEW
                                  : longest <= COARSEN_SOME * lanes ? COARSEN_SOME
                                                                    : COARSE_FACTOR;
        const unsigned int warps = 1u << COARSEN_(log_of)(coarsen_ceil_div(longest, 32 * many));
        const unsigned int team = threadIdx.x / (32 * warps);
        COARSEN_(slot) slot = {0, 0};
        if (together ? team < each : team == 0)
            slot = slots[together ? team : member];
        const unsigned int count = (unsigned int)slot.count;
        if (threadIdx.x == 0)
            COARSEN_(put)(words, blockDim.x * many, COARSEN_(no_item)());
        if (many == COARSEN_FEW)
            COARSEN_(sort_tile)(arrays, words, slot.start, count, warps, COARSEN_FEW);
        else if (COARSEN_SOME < COARSE_FACTOR && many == COARSEN_SOME)
            COARSEN_(sort_tile)(arrays, words, slot.start, count, warps, COARSEN_SOME);
        else
            COARSEN_(sort_tile)(arrays, words, slot.start, count, warps, COARSE_FACTOR);
        return;
    }
    if (threadIdx.x == 0)
        memset((void *)of.progress, 0, sizeof(*of.progress));
    __syncthreads();
#pragma unroll 1
    for (size_t s = 0; s < of.segments; s += blockDim.x) {
        COARSEN_(slot) slot = {0, 0};
        if (s + threadIdx.x < of.segments)
            slot = COARSEN_(segment)(of, s + threadIdx.x);
        if (slot.count <= most)
            slot.count = 0;
        COARSEN_(enlist)(of, slot);
    }
}

// Some tiles of a segment, one behind the other.
typedef struct {
    COARSEN_(slot) slot;
    size_t first;
    unsigned int tiles;
    size_t splits[COARSEN_MOST_TILES +
                  1]; // of each tile, and the one behind: how many keys of the first run are before
} COARSEN_(job);

// Finds a chunk, of 2^chunk_log tiles of one segment, by a warp: each step takes the 32nd part of the segments.
COARSEN_DEVICE COARSEN_(job)
    COARSEN_(find)(COARSEN_(segments) of, unsigned long long longer, unsigned long long chunk)
{
    COARSEN_(job) job = {};
    size_t number = chunk; // in the segment
    if (of.offsets) {
        unsigned long long low = 0, count = longer;
        while (count > 1) {
            const unsigned long long step = coarsen_ceil_div(count, 32);
            const unsigned long long i = threadIdx.x % 32 * step;
            const bool not_behind = i < count && of.longer[low + i].first <= chunk;
            const unsigned int before =
                (unsigned int)__popc(__ballot_sync(0xffffffff, not_behind)) - 1;
            low += before * step;
            count = coarsen_min(count - before * step, step);
        }
        const COARSEN_(long_slot) found = of.longer[low];
        job.slot = found.slot;
        number = chunk - found.first;
    } else {
        const size_t chunks = COARSEN_(chunks)(of, of.width);
        job.slot = COARSEN_(segment)(of, chunk / chunks);
        number = chunk % chunks;
    }
    const size_t tiles = coarsen_ceil_div(job.slot.count, COARSEN_TILE);
    job.first = number << of.chunk_log;
    job.tiles = (unsigned int)coarsen_min(tiles - job.first, (size_t)1 << of.chunk_log);
    return job;
}

// The two runs whose merge a tile belongs to, from place `first` of the segment on, and how many of its results are
// before the tile. Runs have 2^(stage - 1) tiles, but for the last one.
typedef struct {
    size_t first, rank, a_count, b_count;
} COARSEN_(pair);

COARSEN_DEVICE COARSEN_(pair) COARSEN_(pair_of)(size_t count, size_t tile, unsigned int stage)
{
    const size_t run = (size_t)COARSEN_TILE << (stage - 1), begin = tile * COARSEN_TILE;
    COARSEN_(pair) pair;
    pair.rank = begin & (2 * run - 1);
    pair.first = begin - pair.rank;
    pair.a_count = coarsen_min(count - pair.first, run);
    pair.b_count = coarsen_min(count - pair.first - pair.a_count, run);
    return pair;
}

// Merges the job's tiles, by the whole block.
COARSEN_INLINE void COARSEN_(merge_tiles)(COARSEN_(arrays) arrays, unsigned int *words,
                                          COARSEN_(job) * job, unsigned int stage)
{
    const unsigned int t = threadIdx.x, mine = t * COARSE_FACTOR;
    const size_t start = job->slot.start, count = job->slot.count;
    for (unsigned int w = t / 32; w <= job->tiles; w += BLOCK_DIM / 32)
        if ((job->first + w) * COARSEN_TILE < count) {
            const COARSEN_(pair) pair = COARSEN_(pair_of)(count, job->first + w, stage);
            const COARSEN_TYPE *const a = arrays.in + start + pair.first;
            const size_t split =
                COARSEN_(warp_co_rank)(pair.rank, a, pair.a_count, a + pair.a_count, pair.b_count);
            if (t % 32 == 0)
                job->splits[w] = split;
        }
#pragma unroll 1
    for (unsigned int w = 0; w < job->tiles; w++) {
        __syncthreads(); // the splits are there, and the tile before is written
        const COARSEN_(pair) pair = COARSEN_(pair_of)(count, job->first + w, stage);
        const size_t left = pair.a_count + pair.b_count - pair.rank, of_a = job->splits[w];
        const size_t upto = left <= COARSEN_TILE ? pair.a_count : job->splits[w + 1];
        const unsigned int all = (unsigned int)coarsen_min(left, COARSEN_TILE);
        const unsigned int a_part = (unsigned int)(upto - of_a);
        // Place e of the tile, first a's part and then b's, is in the array at from_a + e or from_b + e.
        const size_t from_a = start + pair.first + of_a;
        const size_t from_b = start + pair.first + pair.a_count + (pair.rank - of_a) - a_part;
        if (a_part == 0 || a_part == all) { // of one run alone, as of keys that are in order
            const size_t from = a_part == 0 ? from_b : from_a;
            const size_t to = start + (job->first + w) * COARSEN_TILE;
#pragma unroll 8
            for (unsigned int e = t; e < all; e += BLOCK_DIM) {
                arrays.out[to + e] = arrays.in[from + e];
#ifdef COARSEN_VALUE
                arrays.out_values[to + e] = arrays.in_values[from + e];
#endif
            }
            continue;
        }
#pragma unroll 8
        for (unsigned int e = t; e < COARSEN_TILE; e += BLOCK_DIM) {
            COARSEN_(item) one = COARSEN_(no_item)();
            if (e < all)
                one = COARSEN_(item_of)(arrays.in[(e < a_part ? from_a : from_b) + e], e);
            COARSEN_(put)(words, e, one);
        }
        __syncthreads();
        COARSEN_(item) item[COARSE_FACTOR];
        if (mine < all)
            COARSEN_(merge_items)(words, 0, a_part, all - a_part, mine, true, COARSE_FACTOR, item);
        __syncthreads();
        if (mine < all)
#pragma unroll
            for (unsigned int k = 0; k < COARSE_FACTOR; k++)
                COARSEN_(put)(words, mine + k, item[k]);
        __syncthreads();
        const size_t to = start + (job->first + w) * COARSEN_TILE;
#pragma unroll 8
        for (unsigned int e = t; e < all; e += BLOCK_DIM) {
            const COARSEN_(item) one = COARSEN_(get)(words, e, false);
            arrays.out[to + e] = COARSEN_(key_in)(one);
#ifdef COARSEN_VALUE
            const unsigned int place = COARSEN_(place_in)(one);
            arrays.out_values[to + e] =
                arrays.in_values[(place < a_part ? from_a : from_b) + place];
#endif
        }
    }
}

// Of segments of up to a tile, so many of which teams of so many warps have, those that a block takes.
COARSEN_DEVICE unsigned long long COARSEN_(blocks_of)(unsigned long long many, unsigned int warps)
{
    return coarsen_ceil_div(many, BLOCK_DIM / 32 / warps);
}

// The jobs, in the order in which blocks take them: the tiles of longer segments; segments of up to a tile; and then
// merges, stage after stage.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(long_kernel)(COARSEN_(arrays) arrays, COARSEN_(arrays) spare, COARSEN_(segments) of,
                          unsigned long long chunks, unsigned int stages)
{
    __shared__ unsigned int words[COARSEN_WORDS * COARSEN_ROOM];
    __shared__ COARSEN_(job) job;
    __shared__ unsigned long long ticket;
    __shared__ unsigned long long longer, all_chunks, listed; // segments, their chunks, jobs
    __shared__ unsigned int all_stages;
    COARSEN_(follow)();
    if (threadIdx.x == 0) {
        longer = of.offsets ? of.progress->longer >> 32 : 0;
        all_chunks = of.offsets ? of.progress->longer & 0xffffffff : chunks;
        all_stages = of.offsets ? of.progress->stages : stages;
        listed = 0;
        if (of.offsets)
#pragma unroll
            for (unsigned int c = 0; 2u << c <= BLOCK_DIM / 32; c++)
                listed += COARSEN_(blocks_of)(of.progress->counts[c], 2u << c);
        COARSEN_(put)(words, COARSEN_TILE, COARSEN_(no_item)());
    }
    for (bool more = true; more; more = of.progress != NULL) {
        __syncthreads(); // the job before is done
        if (threadIdx.x == 0)
            ticket = of.progress ? atomicAdd(&of.progress->ticket, 1ULL) : blockIdx.x;
        __syncthreads();
        unsigned long long number = ticket;
        chunks = all_chunks;
        unsigned int stage = 0;
        if (number >= chunks) { // of segments of up to a tile, or a merge
            number -= chunks;
            unsigned long long many = of.offsets || chunks > 0 ? 0 : of.segments;
            unsigned int warps = of.warps; // of rows
            const COARSEN_(slot) *list = NULL;
            if (number >= listed)
                number -= listed;
            else
#pragma unroll
                for (unsigned int c = 0; 2u << c <= BLOCK_DIM / 32; c++)
                    if (!list) {
                        many = of.progress->counts[c];
                        warps = 2u << c;
                        if (number < COARSEN_(blocks_of)(many, warps))
                            list = of.lists[c];
                        else
                            number -= COARSEN_(blocks_of)(many, warps);
                    }
            if (list || (!of.offsets && many > 0)) {
                const size_t s = number * (BLOCK_DIM / 32 / warps) + threadIdx.x / 32 / warps;
                COARSEN_(slot) slot = {0, 0};
                if (s < many)
                    slot = list ? list[s] : COARSEN_(segment)(of, s);
                COARSEN_(sort_tile)
                (arrays, words, slot.start, (unsigned int)slot.count, warps, COARSE_FACTOR);
                continue;
            }
            if (chunks == 0 || number / chunks >= all_stages)
                return;
            stage = 1 + (unsigned int)(number / chunks);
            number %= chunks;
        }

        if (threadIdx.x < 32) {
            const COARSEN_(job) found = COARSEN_(find)(of, longer, number);
            if (threadIdx.x == 0) {
                job = found;
                // All of the stage before is written.
                while (*(volatile unsigned long long *)&of.progress->done < stage * chunks) {
                }
                __threadfence();
            }
        }
        __syncthreads();
        // The segment's last stage writes out, and those before it write by turns.
        const unsigned int last = COARSEN_(log_of)(coarsen_ceil_div(job.slot.count, COARSEN_TILE));
        const bool to_out = (last - stage) % 2 == 0;
        COARSEN_(arrays) pass = arrays;
        pass.out = to_out ? arrays.out : spare.out;
        if (stage > 0)
            pass.in = to_out ? spare.out : arrays.out;
#ifdef COARSEN_VALUE
        pass.out_values = to_out ? arrays.out_values : spare.out_values;
        if (stage > 0)
            pass.in_values = to_out ? spare.out_values : arrays.out_values;
#endif
        if (stage == 0)
            for (unsigned int w = 0; w < job.tiles; w++) {
                const size_t begin = (job.first + w) * COARSEN_TILE;
                COARSEN_(sort_tile)
                (pass, words, job.slot.start + begin,
                 (unsigned int)coarsen_min(job.slot.count - begin, COARSEN_TILE), BLOCK_DIM / 32,
                 COARSE_FACTOR);
            }
        else if (stage <= last)
            COARSEN_(merge_tiles)(pass, words, &job, stage);
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&of.progress->done, 1ULL);
        }
    }
}

// ---- the launch ---------------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
// Divides the scratch; the number of its bytes.
COARSEN_HOST size_t COARSEN_(divide)(COARSEN_(segments) * of, COARSEN_(arrays) * spare,
                                     char *scratch)
{
    const size_t n = of->n;
    size_t at = 0;
    of->progress = NULL;
    of->longer = NULL;
    if (n <= COARSEN_SHORT || (!of->offsets && of->width <= COARSEN_TILE))
        return 0;
    if (n > (size_t)-1 >> 16)
        return (size_t)-1 >> 1; // no such array, so no such scratch
    of->progress = (COARSEN_(progress) *)scratch;
    at += coarsen_ceil_div(sizeof(COARSEN_(progress)), 16) * 16;
    if (of->offsets) {
        of->longer = (COARSEN_(long_slot) *)(scratch + at);
        at += coarsen_min(of->segments, n / (COARSEN_TILE + 1)) * sizeof(COARSEN_(long_slot));
        for (unsigned int c = 0; 2u << c <= BLOCK_DIM / 32; c++) {
            of->lists[c] = (COARSEN_(slot) *)(scratch + at);
            at += coarsen_min(of->segments, n / (((size_t)COARSEN_SHORT << c) + 1)) *
                  sizeof(COARSEN_(slot));
        }
        at = coarsen_ceil_div(at, 16) * 16;
    }
    if (n <= COARSEN_TILE)
        return at;
    spare->out = (COARSEN_TYPE *)(scratch + at);
#ifdef COARSEN_VALUE
    spare->out_values = (COARSEN_VALUE *)(scratch + at + COARSEN_(spare_bytes)(n, false));
#endif
    return at + COARSEN_(spare_bytes)(n, true);
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n, size_t segments)
{
    COARSEN_(segments) of = {};
    COARSEN_(arrays) spare = {};
    const COARSEN_OFFSET some = 0;
    of.offsets = &some;
    of.n = n;
    of.segments = segments;
    return COARSEN_(divide)(&of, &spare, NULL);
}

COARSEN_HOST size_t COARSEN_(scratch_bytes_rows)(size_t rows, size_t width)
{
    COARSEN_(segments) of = {};
    COARSEN_(arrays) spare = {};
    of.n = width > 0 && rows > (size_t)-1 / width ? (size_t)-1 : rows * width;
    of.segments = rows;
    of.width = width;
    return COARSEN_(divide)(&of, &spare, NULL);
}

COARSEN_HOST cudaError_t COARSEN_(start)(COARSEN_(arrays) arrays, COARSEN_(segments) of,
                                         void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    COARSEN_(arrays) spare = arrays;
    const size_t n = of.n, needed = COARSEN_(divide)(&of, &spare, (char *)scratch);
    const unsigned int kind = COARSEN_(kind_of)((unsigned int)coarsen_min(of.width, COARSEN_SHORT));
    // A warp takes as many rows as its lanes can sort at once.
    size_t each = of.offsets ? BLOCK_DIM : (size_t)BLOCK_DIM >> COARSEN_(lanes_log_of)(kind);
    if (!COARSEN_(arrays_ok)(arrays, n) || n / COARSEN_TILE >= 1u << 31 ||
        coarsen_ceil_div(of.segments, each) > 0x7fffffff ||
        (needed > 0 && !coarsen_bytes_ok(scratch, 1, needed, 16)) || scratch_bytes < needed)
        return cudaErrorInvalidValue;
    if (n == 0 || of.segments == 0)
        return cudaSuccess;

    cudaError_t status = cudaSuccess;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status != cudaSuccess)
        return status;
    const size_t wave = processors * COARSEN_RESIDENT; // blocks
    // Few segments have a block each. If the mean is more than half of what it can sort, some are longer, most likely, and
    // the launch for these takes the others too; but where each segment has a multiprocessor, that would leave most of them
    // idle.
    unsigned int threads = of.segments <= 2 * processors ? COARSEN_FEW_DIM : BLOCK_DIM;
    // So few keys that no segment needs as many threads: with fewer, a multiprocessor has room for more blocks.
    while (threads > 64 && of.segments > processors && n <= (size_t)threads / 2 * COARSE_FACTOR)
        threads /= 2;
    const size_t most = (size_t)threads * COARSE_FACTOR;
    const size_t mean = of.segments <= processors ? COARSEN_TILE : most / 2;
    const bool few =
        of.offsets && of.segments <= COARSEN_FEW_WAVES * wave && n / mean < of.segments;
    // Blocks take as many segments each as make whole waves, so few that a block has no more than some tiles of keys.
    if (of.offsets && !few) {
        const size_t least = coarsen_ceil_div(of.segments, wave * BLOCK_DIM);
        const size_t waves = coarsen_min(n / COARSEN_TILE / wave, COARSEN_WAVES);
        each = coarsen_ceil_div(of.segments, wave * (waves > least ? waves : least));
    }
    // Blocks of few segments take so many each as make one wave.
    if (few) {
        const size_t at_a_time = processors * COARSEN_FEW_RESIDENT * COARSEN_FEW_DIM / threads;
        each = 1;
        while (each < threads / 32 && each * at_a_time < of.segments)
            each *= 2;
    }
    const bool some_longer = few          ? n > most
                             : of.offsets ? n > COARSEN_SHORT
                                          : of.width > COARSEN_SHORT;
    size_t resident = 0; // blocks of the long kernel
    if (of.progress) {
        int many = 0;
        if (status == cudaSuccess)
            status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, COARSEN_(long_kernel),
                                                                   BLOCK_DIM, 0);
        resident = processors * (size_t)(many > 0 ? many : 1);
        while (2u << of.chunk_log <= COARSEN_MOST_TILES &&
               n / COARSEN_TILE >> (of.chunk_log + 1) >= 2 * resident)
            of.chunk_log++;
    }
    // Chunks of rows are known, and all jobs but the merges if they are segments of up to a tile; else they are no more
    // than these.
    const unsigned int stages = COARSEN_(log_of)(coarsen_ceil_div(of.width, COARSEN_TILE));
    const size_t chunks =
        of.offsets || stages == 0 ? 0 : of.segments * COARSEN_(chunks)(of, of.width);
    size_t jobs = of.offsets ? 2 * (n / COARSEN_TILE) + COARSEN_SIZES : chunks;
    if (!of.progress && some_longer) {
        of.warps = 1u << COARSEN_(log_of)(coarsen_ceil_div(of.width, COARSEN_SHORT));
        jobs = coarsen_ceil_div(of.segments, BLOCK_DIM / 32 / of.warps);
    } else {
        jobs = coarsen_min(jobs, resident);
    }
    if (jobs > 0x7fffffff)
        return cudaErrorInvalidValue;

    const size_t groups = coarsen_ceil_div(of.segments, each);
    const size_t blocks = few ? groups * each + some_longer : groups;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(blocks, few ? threads : BLOCK_DIM, 0, stream);
    cudaLaunchConfig_t longer = coarsen_launch_config(jobs, BLOCK_DIM, 0, stream);
    cudaLaunchAttribute early;
    if (status == cudaSuccess && of.progress && !few)
        status = cudaMemsetAsync(of.progress, 0, sizeof(*of.progress), stream);
    if (status == cudaSuccess && few)
        status = cudaLaunchKernelEx(&config, COARSEN_(few_kernel), arrays, of, (unsigned int)each,
                                    (unsigned int)groups);
    else if (status == cudaSuccess && of.offsets)
        status =
            cudaLaunchKernelEx(&config, COARSEN_(short_kernel), arrays, of, (unsigned int)each);
    else if (status == cudaSuccess && !some_longer)
        status = cudaLaunchKernelEx(&config, COARSEN_(rows_kernel), arrays, of.segments,
                                    (unsigned int)of.width, kind);
    if (status == cudaSuccess && some_longer && of.offsets)
        status = COARSEN_(overlap)(&longer, &early, (const void *)COARSEN_(long_kernel));
    if (status == cudaSuccess && some_longer)
        status = cudaLaunchKernelEx(&longer, COARSEN_(long_kernel), arrays, spare, of,
                                    (unsigned long long)chunks, stages);
    return status;
}

COARSEN_HOST cudaError_t
COARSEN_(launch)(const COARSEN_TYPE *in,
                 COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
                     COARSEN_ALSO(COARSEN_VALUE *out_values),
                 size_t n, const COARSEN_OFFSET *offsets, size_t segments, void *scratch,
                 size_t scratch_bytes, cudaStream_t stream)
{
    const COARSEN_(arrays) arrays = {in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values)};
    COARSEN_(segments) of = {};
    of.offsets = offsets;
    of.n = n;
    of.segments = segments;
    if (segments == 0)
        return cudaSuccess;
    if (segments == (size_t)-1 || !coarsen_array_ok(offsets, segments + 1))
        return cudaErrorInvalidValue;
    return COARSEN_(start)(arrays, of, scratch, scratch_bytes, stream);
}

COARSEN_HOST cudaError_t COARSEN_(launch_rows)(
    const COARSEN_TYPE *in,
    COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
        COARSEN_ALSO(COARSEN_VALUE *out_values),
    size_t rows, size_t width, void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    const COARSEN_(arrays) arrays = {in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values)};
    COARSEN_(segments) of = {};
    if (rows == 0 || width == 0)
        return cudaSuccess;
    if (rows > (size_t)-1 / width)
        return cudaErrorInvalidValue;
    of.n = rows * width;
    of.segments = rows;
    of.width = width;
    return COARSEN_(start)(arrays, of, scratch, scratch_bytes, stream);
}
#endif

#undef COARSEN_PLACED
#undef COARSEN_WORDS
#undef COARSEN_SHORT
#undef COARSEN_TILE
#undef COARSEN_ROOM
#undef COARSEN_SIZES
#undef COARSEN_MOST_TILES
#undef COARSEN_FEW
#undef COARSEN_SOME
#undef COARSEN_KINDS
#undef COARSEN_FEW_DIM
#undef COARSEN_WAVES
#undef COARSEN_RESIDENT
#undef COARSEN_FEW_RESIDENT

#define COARSEN_END
#include "base.h"
