// SPDX-License-Identifier: MIT
//
// coarsen/merge_sort.h: stable sort of keys, or of keys with values, in any order that compares two keys. For what
// sort.h cannot sort: it is faster, but takes numbers in the order of numbers only.
//
//     #define COARSEN_NAME by_size
//     #define COARSEN_TYPE float
//     #define COARSEN_LESS(a, b) (fabsf(a) < fabsf(b))
//     #include <coarsen/merge_sort.h>
//
//     // once
//     cudaMalloc(&scratch, by_size_scratch_bytes(n));
//     // as often as you like; out may be in
//     by_size_launch(in, out, n, scratch, by_size_scratch_bytes(n), stream);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the keys, any                                |
// | COARSEN_VALUE        | none             | type of the values, one beside each key; without it keys only |
// | COARSEN_LESS(a, b)   | ((a) < (b))      | whether key a comes before key b: a strict weak order |
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 17; fewer of keys of more than 4 bytes | keys of a thread, from 1 to 32; best an odd number |
// | COARSEN_PAIRS        | 1; 0 with values | 1: merge two runs at a time where there are few tiles; 0: always four |
// | COARSEN_RANKED       | 65536            | keys that are sorted by counting, at the most, from 0 to 65536: as many as the device's multiprocessors count in less time than tiles take |
// Defines what block/copy.h, block/merge.h, block/overlap.h, block/rank.h and block/vector.h do; the kernels that NAME_launch
// launches: NAME_tiles_kernel, once, and once per pass NAME_splits_kernel and NAME_merge_kernel, or NAME_pairs_kernel; or for
// few keys NAME_rank_kernel and NAME_gather_kernel; and
//     size_t      NAME_scratch_bytes(size_t n)        never falls as n grows
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out,
//                             [const COARSEN_VALUE *in_values, COARSEN_VALUE *out_values,] size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in, in_values: n elements each in device memory. out, out_values: likewise, apart from those, or the same arrays.
// Each at any element's alignment (a key's size, if that divides 16). scratch: device memory, 16-byte aligned, which
// need not be made ready. One scratch per launch that may run at the same time. Stable: keys of which neither comes
// before the other keep their order, and so do their values. If COARSEN_LESS is no strict weak order, out is some
// order of some of the keys, and nothing else goes wrong; docs/merge.md has orders of all floats. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array or too small a scratch, with nothing written.
// Deterministic.
//
// Each block sorts a tile: a thread sorts COARSE_FACTOR keys in registers, and then runs are merged in shared memory,
// two at a time. A pass over memory merges four runs at a time. The tile of the result that a block makes needs a part
// of each run; where these parts begin and end, NAME_splits_kernel has found. The block brings them to shared memory
// as whole vectors, and merges them there in two steps: the first two and the last two, and then what these gave.
// A thread begins each step by a search, as in merge/tiled.h, and keeps its results in registers until all have
// read. So one tile of shared memory is enough, and many blocks share a multiprocessor.
// Few tiles, up to three quarters of the blocks that run at a time, are merged two runs at a time, and a block finds
// itself where its parts begin and end. Such a pass takes as long as what waits for each other in it: the search in
// four runs, and the launch of it, take longer than to read all keys once more. Not so their values, which a block
// waits for when it knows their places.
// Still fewer keys, 10922 with 132 multiprocessors or 12672 with values, would keep few of these busy. So all
// multiprocessors count for each key those before it (block/rank.h): that is its place. A second kernel finds for each
// place whose it is.
// Price saved by coarsening: searches, in shared memory one per COARSE_FACTOR keys and step; and passes over memory,
// as a tile is longer. Price saved by four at a time: every second pass over memory.
// Price paid: registers for the keys of a thread; five barriers per tile and pass.
// What is in order is left as it is: a tile whose keys came in order, and one of a pass all of whose keys come from one run.
// Of values only their places move in shared memory. A value is read from its place, once per pass, when its key is
// written.
// Cost: 1 + ceil(log4(n / tile)) times n keys and values read and written, or with few tiles 1 + ceil(log2(n / tile)),
// where a tile has BLOCK_DIM - 1 times COARSE_FACTOR keys, or up to a vector less; with values in place, they may be
// copied once more. Scratch for n keys and values, and 32 bytes per tile, or 2 per key that may be counted. Of n keys that are
// counted n^2 comparisons; each key and value is read and written twice, and n / 32 times n keys are read from the L2 cache.
// Source: O. Green, R. McColl, D. A. Bader, GPU Merge Path (2012), for tiles of equal size; P. J. Varman et al., Merging
// Multiple Lists on Hierarchical-Memory Multiprocessors (1991), for splits of many runs; odd-even transposition:
// D. E. Knuth, The Art of Computer Programming, vol. 3, section 5.3.4, exercise 37.

#define COARSEN_BEGIN COARSEN_PATTERN_MERGESORT
#include "base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR                                                                              \
    (sizeof(COARSEN_TYPE) <= 4    ? 17                                                             \
     : sizeof(COARSEN_TYPE) <= 8  ? 11                                                             \
     : sizeof(COARSEN_TYPE) <= 16 ? 5                                                              \
     : sizeof(COARSEN_TYPE) <= 32 ? 3                                                              \
                                  : 1)
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/merge_sort: COARSE_FACTOR must be from 1 to 32"
#endif

#ifndef COARSEN_PAIRS
#ifdef COARSEN_VALUE
#define COARSEN_PAIRS 0
#else
#define COARSEN_PAIRS 1
#endif
#endif

#ifndef COARSEN_RANKED
#define COARSEN_RANKED 65536
#endif
static_assert(COARSEN_RANKED >= 0 && COARSEN_RANKED <= 65536,
              "coarsen/merge_sort: COARSEN_RANKED must be from 0 to 65536");

#include "block/copy.h"
#include "block/merge.h"
#include "block/overlap.h"
#include "block/rank.h"
#include "block/vector.h"

// The runs of two merges that share a block have BLOCK_DIM threads' keys at most, as each merge may have one thread
// that is not full.
#define COARSEN_TILE ((BLOCK_DIM - 1) * COARSE_FACTOR / COARSEN_ITEMS * COARSEN_ITEMS)
// Places in shared memory: each of four parts begins and ends within a vector, and a thread reads on behind the last.
#define COARSEN_ROOM                                                                               \
    ((BLOCK_DIM * COARSE_FACTOR + 10 * (COARSEN_ITEMS - 1)) / COARSEN_ITEMS * COARSEN_ITEMS)
#define COARSEN_TEAM 8 // lanes that search for one split
#ifdef COARSEN_VALUE
#define COARSEN_PLACE sizeof(unsigned short)
#else
#define COARSEN_PLACE 0
#endif
static_assert(COARSEN_ROOM * (sizeof(COARSEN_TYPE) + COARSEN_PLACE) <= 47 << 10,
              "coarsen/merge_sort: a tile takes more than 47 KiB of shared memory: define a "
              "smaller BLOCK_DIM or COARSE_FACTOR");

// A part of a run, which a block needs: `count` keys, in shared memory from place `at` on. Place p has key shift + p
// of the array. Its vectors there begin at vector `vector`.
typedef struct {
    size_t shift;
    unsigned int count, at, vector;
} COARSEN_(part);

// Where in a vector an array begins.
COARSEN_DEVICE unsigned int COARSEN_(skip)(const COARSEN_TYPE *keys)
{
    return COARSEN_ITEMS > 1 ? (unsigned int)((size_t)keys / sizeof(*keys) % COARSEN_ITEMS) : 0;
}

// Key `first` of the array `in`, and those behind it, go to shared memory from vector `vector` on.
COARSEN_DEVICE COARSEN_(part)
    COARSEN_(part_of)(const COARSEN_TYPE *in, size_t first, unsigned int count, unsigned int vector)
{
    const unsigned int past =
        (COARSEN_(skip)(in) + (unsigned int)(first % COARSEN_ITEMS)) % COARSEN_ITEMS;
    const unsigned int at = vector * COARSEN_ITEMS + past;
    const COARSEN_(part) part = {first - at, count, at, vector};
    return part;
}

// The vector behind its last.
COARSEN_DEVICE unsigned int COARSEN_(behind)(COARSEN_(part) part)
{
    return (part.at + part.count + COARSEN_ITEMS - 1) / COARSEN_ITEMS;
}

// Begins to copy four parts of an array of n keys to shared memory. Places of a vector that are not in the array get its
// last key, and so do those behind the last part that a thread may read.
COARSEN_INLINE void COARSEN_(fetch)(COARSEN_TYPE *keys, const COARSEN_TYPE *in, size_t n,
                                    const COARSEN_(part) * parts)
{
    const unsigned int second = parts[1].vector, third = parts[2].vector, last = parts[3].vector;
    // And those of results, which begin elsewhere in a vector.
    const unsigned int end = parts[3].at + parts[3].count + COARSE_FACTOR + COARSEN_ITEMS - 1;
    const unsigned int all = (end + COARSEN_ITEMS - 1) / COARSEN_ITEMS;
    for (unsigned int v = threadIdx.x; v < all; v += BLOCK_DIM) {
        const int part = (v >= second) + (v >= third) + (v >= last);
        COARSEN_TYPE *const to = keys + v * COARSEN_ITEMS;
        const size_t e = parts[part].shift + v * COARSEN_ITEMS; // before the array it wraps around
        if (e >= n || n - e < COARSEN_ITEMS) {
#pragma unroll 1
            for (unsigned int k = 0; k < COARSEN_ITEMS; k++)
                to[k] = in[coarsen_min(e + k, n - 1)];
        } else if (sizeof(COARSEN_(vector)) == 16 && COARSEN_VECTOR_ALIGN(COARSEN_TYPE) == 16) {
            COARSEN_(copy_async)(to, in + e, 16);
        } else {
            *(COARSEN_(vector) *)to = *(const COARSEN_(vector) *)(in + e);
        }
    }
    COARSEN_(copies_end)();
}

// Merges runs a and b in keys from result `begin` on: COARSE_FACTOR results to item, and their places to from. Behind
// the last result it takes what is behind b.
COARSEN_INLINE void COARSEN_(merge_items)(const COARSEN_TYPE *keys, COARSEN_(run) a,
                                          COARSEN_(run) b, unsigned int begin, COARSEN_TYPE *item,
                                          unsigned int *from)
{
    const unsigned int all = a.count + b.count, rank = begin < all ? begin : all;
    const unsigned int of_a = COARSEN_(run_rank)(rank, keys, a, b);
    COARSEN_(merge_held)(of_a, rank - of_a, COARSE_FACTOR, keys, a, b, item, from, true);
}

// A tile's results, `sorted`, which is as far from a vector's boundary as out, as vectors; and their values, whose
// places in_values has in four parts.
COARSEN_INLINE void COARSEN_(write)(COARSEN_(arrays) arrays, size_t first, unsigned int count,
                                    const COARSEN_TYPE *sorted,
                                    COARSEN_UNUSED const unsigned short *places,
                                    COARSEN_UNUSED const COARSEN_(part) * parts)
{
    const unsigned int skip = COARSEN_(skip)(arrays.out), stop = skip + count;
    COARSEN_TYPE *const out = arrays.out + first - skip;
    for (unsigned int e = threadIdx.x * COARSEN_ITEMS; e < stop; e += BLOCK_DIM * COARSEN_ITEMS)
        if (e >= skip && e + COARSEN_ITEMS <= stop) {
            *(COARSEN_(vector) *)(out + e) = *(const COARSEN_(vector) *)(sorted + e - skip);
        } else {
#pragma unroll 1
            for (unsigned int k = e; k < e + COARSEN_ITEMS; k++)
                if (k >= skip && k < stop)
                    out[k] = sorted[k - skip];
        }
#ifdef COARSEN_VALUE
    const unsigned int second = parts[1].vector * COARSEN_ITEMS,
                       third = parts[2].vector * COARSEN_ITEMS,
                       last = parts[3].vector * COARSEN_ITEMS;
#pragma unroll 4
    for (unsigned int e = threadIdx.x; e < count; e += BLOCK_DIM) {
        const unsigned int place = places[e];
        const int part = (place >= second) + (place >= third) + (place >= last);
        arrays.out_values[first + e] = arrays.in_values[parts[part].shift + place];
    }
#endif
}

// Sorts a thread's keys: each goes at most COARSE_FACTOR places, one per turn, and past no equal one.
COARSEN_INLINE void COARSEN_(sort_items)(COARSEN_TYPE *item, COARSEN_UNUSED unsigned int *from)
{
#pragma unroll
    for (unsigned int turn = 0; turn < COARSE_FACTOR; turn++)
#pragma unroll
        for (unsigned int k = turn % 2; k + 1 < COARSE_FACTOR; k += 2) {
            const COARSEN_TYPE left = item[k], right = item[k + 1];
            const bool swap = COARSEN_(less)(right, left);
            item[k] = swap ? right : left;
            item[k + 1] = swap ? left : right;
#ifdef COARSEN_VALUE
            const unsigned int left_from = from[k], right_from = from[k + 1];
            from[k] = swap ? right_from : left_from;
            from[k + 1] = swap ? left_from : right_from;
#endif
        }
}

// ---- few keys: each counts those before it ------------------------------------------------------------------

COARSEN_KERNEL void __launch_bounds__(COARSEN_(rankers))
    COARSEN_(rank_kernel)(COARSEN_(arrays) arrays, unsigned int n, unsigned short *places)
{
    COARSEN_SHARED(COARSEN_(ranked), held, COARSEN_(held));
    const unsigned int i = blockIdx.x * 32 + threadIdx.x;
    const unsigned int place = COARSEN_(rank)(held, arrays.in, n, 0, 0);
    if (threadIdx.x < 32 && i < n) {
        places[i] = (unsigned short)place;
        arrays.out[i] = arrays.in[i];
#ifdef COARSEN_VALUE
        arrays.out_values[i] = arrays.in_values[i];
#endif
    }
}

// Puts keys in their places, as many as the block has threads. So that one key goes to each if there is no order, and the
// same each time: of keys with one place the last, and one that has another where nobody has this one.
COARSEN_KERNEL void __launch_bounds__(COARSEN_(rankers))
    COARSEN_(gather_kernel)(COARSEN_(arrays) arrays, unsigned int n, const unsigned short *places)
{
    __shared__ unsigned int whose[COARSEN_(rankers)]; // index + 1
    const unsigned int begin = blockIdx.x * COARSEN_(rankers), place = begin + threadIdx.x;
    whose[threadIdx.x] = 0;
    __syncthreads();
    COARSEN_(follow)();
#pragma unroll 8
    for (unsigned int i = threadIdx.x; i < n; i += COARSEN_(rankers)) {
        const unsigned int p = places[i] - begin;
        if (p < COARSEN_(rankers))
            atomicMax(whose + p, i + 1);
    }
    __syncthreads();
    if (place < n) {
        const unsigned int from = whose[threadIdx.x] > 0 ? whose[threadIdx.x] - 1 : place;
        arrays.out[place] = arrays.in[from];
#ifdef COARSEN_VALUE
        arrays.out_values[place] = arrays.in_values[from];
#endif
    }
}

// ---- a tile alone -----------------------------------------------------------------------------------------

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(tiles_kernel)(COARSEN_(arrays) arrays, size_t n)
{
    COARSEN_SHARED(COARSEN_(vector), vectors, COARSEN_ROOM / COARSEN_ITEMS);
#ifdef COARSEN_VALUE
    __shared__ unsigned short places[COARSEN_ROOM];
#else
    unsigned short *const places = NULL;
#endif
    __shared__ COARSEN_(part) parts[4];
    COARSEN_TYPE *const keys = (COARSEN_TYPE *)vectors;
    COARSEN_TYPE *const sorted = keys + COARSEN_(skip)(arrays.out);
    COARSEN_TYPE item[COARSE_FACTOR];
    unsigned int from[COARSE_FACTOR];
    const unsigned int t = threadIdx.x, begin = t * COARSE_FACTOR;
    const size_t first = (size_t)blockIdx.x * COARSEN_TILE;
    const unsigned int count = (unsigned int)coarsen_min(COARSEN_TILE, n - first);

    // One part, of an array that is no more than the tile: what is around it, another block may be writing.
    const COARSEN_(part) part = COARSEN_(part_of)(arrays.in + first, 0, count, 0);
    if (t < 4) {
        parts[t] = part;
        parts[t].vector = t == 0 ? 0 : COARSEN_ROOM;
    }
    __syncthreads();
    COARSEN_(fetch)(keys, arrays.in + first, count, parts);
    COARSEN_(copies_wait)(0);
    __syncthreads();
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        from[k] = part.at + (begin + k < count ? begin + k : count - 1);
        item[k] = keys[from[k]];
    }
    // The tile's last thread: what it lacks is as its greatest key, and so stays behind all others.
    if (begin < count && begin + COARSE_FACTOR > count) {
        COARSEN_TYPE greatest = item[0];
#pragma unroll
        for (unsigned int k = 1; k < COARSE_FACTOR; k++)
            if (begin + k >= count)
                item[k] = greatest;
            else if (!COARSEN_(less)(item[k], greatest))
                greatest = item[k];
    }
    if (begin < count)
        COARSEN_(sort_items)(item, from);
    for (unsigned int run = COARSE_FACTOR;; run *= 2) {
        __syncthreads();
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            sorted[begin + k] = item[k];
#ifdef COARSEN_VALUE
            places[begin + k] = (unsigned short)from[k];
#endif
        }
        __syncthreads();
        if (run >= count || (run == COARSE_FACTOR &&
                             __syncthreads_and(begin == 0 || begin >= count ||
                                               !COARSEN_(less)(sorted[begin], sorted[begin - 1]))))
            break; // at once, if the keys came in order
        const unsigned int start = begin / (2 * run) * (2 * run);
        const unsigned int left = start < count ? start : count;
        const unsigned int middle = start + run < count ? start + run : count;
        const unsigned int right = start + 2 * run < count ? start + 2 * run : count;
        COARSEN_(merge_items)
        (sorted, COARSEN_(run_of)(left, middle - left), COARSEN_(run_of)(middle, right - middle),
         begin - start, item, from);
#ifdef COARSEN_VALUE
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
            from[k] = places[from[k]];
#endif
    }
#ifdef COARSEN_VALUE
    arrays.in_values += first;
#endif
    COARSEN_(write)(arrays, first, count, sorted, places, parts);
}

// ---- a pass: runs are merged, two or four at a time -----------------------------------------------------------

// Runs have 2^bits tiles each, except the last one, and each 2^ways of them are merged.

// Where run r of those that this tile is made of begins, and how many keys it has.
COARSEN_DEVICE size_t COARSEN_(start)(size_t tile, unsigned int bits, unsigned int ways,
                                      unsigned int r)
{
    return (((tile >> (bits + ways) << ways) + r) << bits) * COARSEN_TILE;
}

COARSEN_DEVICE size_t COARSEN_(length)(size_t n, size_t start, unsigned int bits)
{
    return start < n ? coarsen_min(n - start, (size_t)COARSEN_TILE << bits) : 0;
}

// For each tile of the result, and each run, how many keys of the run come before the tile. A team of lanes finds them
// together. Each looks at a key, `step` keys behind the one that the lane before looks at, if that has the same run.
// If a key is number r of those looked at, and no other run has its last one of them before it, then there are less
// than (r + 2^ways - 1) step keys up to it, and r is at most 5 of four runs and 7 of two. So its step of keys is among
// the 8 step or more that are left: it is counted, and the next look is from there on. Of less than 8, each is looked
// at. In runs that are alike this finds five eighths of what is left each time, and else a quarter.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(splits_kernel)(const COARSEN_TYPE *in, size_t n, unsigned int bits, unsigned int ways,
                            unsigned long long *splits)
{
    COARSEN_SHARED(COARSEN_TYPE, probes, BLOCK_DIM);
    COARSEN_(follow)();
    const unsigned int t = threadIdx.x, lane = t % COARSEN_TEAM, each = COARSEN_TEAM >> ways;
    const unsigned int mine = lane / each, number = lane % each; // the run, and the place in it
    const size_t tile = ((size_t)blockIdx.x * BLOCK_DIM + t) / COARSEN_TEAM;
    const size_t tiles = coarsen_ceil_div(n, COARSEN_TILE);
    const size_t start = COARSEN_(start)(tile, bits, ways, mine);
    const size_t length = COARSEN_(length)(n, start, bits);
    const COARSEN_TYPE *const probe = probes + t / COARSEN_TEAM * COARSEN_TEAM;
    size_t rest = tile < tiles ? tile * COARSEN_TILE - COARSEN_(start)(tile, bits, ways, 0) : 0;
    size_t found = 0;
    const unsigned int shift = t % 32 / COARSEN_TEAM * COARSEN_TEAM, all = (1u << COARSEN_TEAM) - 1;
    const unsigned int own = ((1u << each) - 1) << mine * each; // the lanes with this run
    const unsigned int last = ways == 2 ? 0xaa : 0x88;          // and the last one with each run

    while (__any_sync(0xffffffff, rest > 0)) {
        const size_t step = rest >= 8 ? rest / 8 : 1, at = found + (number + 1) * step - 1;
        const bool there = rest > 0 && at < length;
        const COARSEN_TYPE key = in[there ? start + at : 0]; // any key does where there is none
        probes[t] = key;
        const unsigned int team = __ballot_sync(0xffffffff, there) >> shift & all;
        __syncwarp();
        unsigned int before = 0;
#pragma unroll
        for (unsigned int l = 0; l < COARSEN_TEAM; l++) {
            const bool lower = l < lane; // of equal keys, that of a lower run comes first
            const COARSEN_TYPE other = probe[l];
            if (COARSEN_(less)(lower ? key : other, lower ? other : key) != lower)
                before |= 1u << l;
        }
        before &= team & ~own;
        const unsigned int rank = number + 1 + (unsigned int)__popc(before);
        const bool counted = there && !(before & last) && rank * step <= rest;
        unsigned int chosen = __ballot_sync(0xffffffff, counted) >> shift & all;
        // Only if there is no order. One is as good as any.
        if (chosen == 0 || (unsigned int)__popc(chosen) * step > rest)
            chosen = team & (0u - team);
        found += (unsigned int)__popc(chosen & own) * step;
        rest -= (unsigned int)__popc(chosen) * step;
        __syncwarp();
    }
    if (number == 0 && tile < tiles)
        splits[tile * 4 + mine] = found;
}

// Merges the block's tile. splits: of this tile, and behind it those of the next.
COARSEN_INLINE void COARSEN_(merge_tile)(COARSEN_(arrays) arrays, size_t n, unsigned int bits,
                                         unsigned int ways, const unsigned long long *splits)
{
    COARSEN_SHARED(COARSEN_(vector), vectors, COARSEN_ROOM / COARSEN_ITEMS);
#ifdef COARSEN_VALUE
    __shared__ unsigned short places[COARSEN_ROOM];
#else
    unsigned short *const places = NULL;
#endif
    __shared__ COARSEN_(part) parts[4];
    __shared__ size_t starts[4], lengths[4], ends[4];
    __shared__ unsigned int alone; // the part that is the whole tile, if any
    COARSEN_TYPE *const keys = (COARSEN_TYPE *)vectors;
    COARSEN_TYPE *const sorted = keys + COARSEN_(skip)(arrays.out);
    COARSEN_TYPE item[COARSE_FACTOR];
    unsigned int from[COARSE_FACTOR];
    const unsigned int t = threadIdx.x, begin = t * COARSE_FACTOR;
    const size_t tile = blockIdx.x, first = tile * COARSEN_TILE;
    const unsigned int count = (unsigned int)coarsen_min(COARSEN_TILE, n - first);

    if (t < 4) {
        // Two runs are the first of each two.
        const unsigned int mine = ways == 2 ? t : t / 2;
        const bool none = ways == 1 && t % 2 == 1;
        const size_t start = COARSEN_(start)(tile, bits, ways, mine);
        const size_t length = none ? 0 : COARSEN_(length)(n, start, bits);
        const bool last = (tile + 1) >> (bits + ways) != tile >> (bits + ways);
        const size_t before = none ? 0 : splits[mine];
        starts[t] = start + before;
        lengths[t] = length - before;
        ends[t] = (last || none || first + count == n ? length : splits[4 + mine]) - before;
    }
    __syncwarp();
    if (t == 0) {
        // If there is no order, the next split may be before this one, and a part too long or of less than no keys.
        unsigned int rest = count, vector = 0, whole = 4;
#pragma unroll
        for (unsigned int p = 0; p < 4; p++) {
            const size_t most = ends[p] <= lengths[p] ? ends[p] : 0;
            const COARSEN_(part) part = COARSEN_(part_of)(
                arrays.in, starts[p], (unsigned int)coarsen_min(most, rest), vector);
            parts[p] = part;
            rest -= part.count;
            vector = COARSEN_(behind)(part);
            whole = part.count == count ? p : whole;
        }
        alone = whole;
    }
    __syncthreads();
    COARSEN_(fetch)(keys, arrays.in, n, parts);
    COARSEN_(copies_wait)(0);
    __syncthreads();

    if (alone < 4) { // of one run, as of keys that came in order
        const COARSEN_TYPE *const only = keys + parts[alone].at;
#pragma unroll 4
        for (unsigned int e = t; e < count; e += BLOCK_DIM) {
            arrays.out[first + e] = only[e];
#ifdef COARSEN_VALUE
            arrays.out_values[first + e] = arrays.in_values[starts[alone] + e];
#endif
        }
        return;
    }

    COARSEN_(run) a = COARSEN_(run_of)(parts[0].at, parts[0].count);
    COARSEN_(run) b = COARSEN_(run_of)(parts[2].at, parts[2].count);
    const COARSEN_TYPE *both = keys;
    if (ways == 2) {
        // Some threads merge the first two parts, and those behind them the last two.
        const unsigned int half = parts[0].count + parts[1].count;
        const unsigned int threads = (half + COARSE_FACTOR - 1) / COARSE_FACTOR;
        const unsigned int p = t < threads ? 0 : 2, to = t < threads ? 0 : half;
        const unsigned int mine = (t < threads ? t : t - threads) * COARSE_FACTOR;
        const unsigned int all = parts[p].count + parts[p + 1].count;
        COARSEN_(merge_items)
        (keys, COARSEN_(run_of)(parts[p].at, parts[p].count),
         COARSEN_(run_of)(parts[p + 1].at, parts[p + 1].count), mine, item, from);
        __syncthreads();
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
            if (mine + k < all) {
                sorted[to + mine + k] = item[k];
#ifdef COARSEN_VALUE
                places[to + mine + k] = (unsigned short)from[k];
#endif
            }
        __syncthreads();
        a = COARSEN_(run_of)(0, half);
        b = COARSEN_(run_of)(half, count - half);
        both = sorted;
    }
    COARSEN_(merge_items)(both, a, b, begin, item, from);
#ifdef COARSEN_VALUE
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (ways == 2 && begin + k < count)
            from[k] = places[from[k]];
#endif
    __syncthreads();
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        sorted[begin + k] = item[k];
#ifdef COARSEN_VALUE
        places[begin + k] = (unsigned short)from[k];
#endif
    }
    __syncthreads();
    COARSEN_(write)(arrays, first, count, sorted, places, parts);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(merge_kernel)(COARSEN_(arrays) arrays, size_t n, unsigned int bits, unsigned int ways,
                           const unsigned long long *splits)
{
    COARSEN_(follow)();
    COARSEN_(merge_tile)(arrays, n, bits, ways, splits + (size_t)blockIdx.x * 4);
}

// Two runs at a time, of which the block itself finds where its parts begin and end.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(pairs_kernel)(COARSEN_(arrays) arrays, size_t n, unsigned int bits)
{
    __shared__ unsigned long long splits[8];
    const size_t tile = blockIdx.x, a = COARSEN_(start)(tile, bits, 1, 0),
                 b = COARSEN_(start)(tile, bits, 1, 1);
    COARSEN_(follow)();
    for (unsigned int w = threadIdx.x / 32; w < 2; w += BLOCK_DIM / 32) {
        const size_t rank = coarsen_min((tile + w) * COARSEN_TILE, n) - a;
        const size_t of_a =
            COARSEN_(warp_co_rank)(rank, arrays.in + a, COARSEN_(length)(n, a, bits), arrays.in + b,
                                   COARSEN_(length)(n, b, bits));
        if (threadIdx.x % 32 == 0) {
            splits[4 * w] = of_a;
            splits[4 * w + 1] = rank - of_a;
        }
    }
    __syncthreads();
    COARSEN_(merge_tile)(arrays, n, bits, 1, splits);
}

// ---- the launch ---------------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
// Of splits, or of places of counted keys.
COARSEN_HOST size_t COARSEN_(splits_bytes)(size_t n)
{
    const size_t splits = coarsen_ceil_div(n, COARSEN_TILE) * 4 * sizeof(unsigned long long);
    const size_t places = coarsen_ceil_div(coarsen_min(n, COARSEN_RANKED), 8) * 16;
    return splits > places ? splits : places;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    return COARSEN_(splits_bytes)(n) + COARSEN_(spare_bytes)(n, true);
}

COARSEN_HOST cudaError_t
COARSEN_(launch)(const COARSEN_TYPE *in,
                 COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
                     COARSEN_ALSO(COARSEN_VALUE *out_values),
                 size_t n, void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    const COARSEN_(arrays) arrays = {in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values)};
    const size_t tiles = coarsen_ceil_div(n, COARSEN_TILE), teams = BLOCK_DIM / COARSEN_TEAM;
    if (n == 0)
        return cudaSuccess;
    if (!COARSEN_(arrays_ok)(arrays, n) || tiles > 0x7fffffff ||
        !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n))
        return cudaErrorInvalidValue;

    unsigned long long *const splits = (unsigned long long *)scratch;
    void *const spare = (char *)scratch + COARSEN_(splits_bytes)(n);
    cudaError_t status;
    int resident = 0; // blocks per multiprocessor
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(pairs_kernel),
                                                               BLOCK_DIM, 0);
    if (status != cudaSuccess)
        return status;
        // While a tile is sorted, and merged with some others, a block counts so many keys. With values, that takes longer.
#ifdef COARSEN_VALUE
    const size_t compared = 40960;
#else
    const size_t compared = 32768;
#endif
    if (n <= COARSEN_(most_ranked)(compared, COARSEN_RANKED, processors)) {
        const cudaLaunchConfig_t config =
            coarsen_launch_config(coarsen_ceil_div(n, 32), COARSEN_(rankers), 0, stream);
        cudaLaunchConfig_t gather = coarsen_launch_config(coarsen_ceil_div(n, COARSEN_(rankers)),
                                                          COARSEN_(rankers), 0, stream);
        cudaLaunchAttribute early;
        unsigned short *const places = (unsigned short *)scratch;
        status = COARSEN_(overlap)(&gather, &early, (const void *)COARSEN_(gather_kernel));
        if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&config, COARSEN_(rank_kernel),
                                        COARSEN_(arrays_of)(arrays, spare, n, 0, 2),
                                        (unsigned int)n, places);
        if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&gather, COARSEN_(gather_kernel),
                                        COARSEN_(arrays_of)(arrays, spare, n, 1, 2),
                                        (unsigned int)n, (const unsigned short *)places);
        return status;
    }
    const bool pairs = COARSEN_PAIRS && tiles <= processors * (size_t)resident * 3 / 4;
    unsigned int passes = 0;
    size_t most = 1; // tiles, for so many passes
    for (; most < tiles; most *= pairs ? 2 : 4)
        passes++;
    COARSEN_(arrays) pass = COARSEN_(arrays_of)(arrays, spare, n, 0, passes + 1);
    pass.in = in; // a block has read its keys before it writes any; not so their values
#ifdef COARSEN_VALUE
    if (in_values != pass.out_values)
        pass.in_values = in_values;
    else
        status = cudaMemcpyAsync((COARSEN_VALUE *)pass.in_values, in_values, n * sizeof(*in_values),
                                 cudaMemcpyDeviceToDevice, stream);
#endif
    const cudaLaunchConfig_t config = coarsen_launch_config(tiles, BLOCK_DIM, 0, stream);
    if (status == cudaSuccess)
        status = cudaLaunchKernelEx(&config, COARSEN_(tiles_kernel), pass, n);
    unsigned int bits = 0;
    for (unsigned int p = 1; p <= passes && status == cudaSuccess; p++) {
        const unsigned int ways = pairs || (p == 1 && most / 2 >= tiles) ? 1 : 2;
        cudaLaunchConfig_t search =
            coarsen_launch_config(coarsen_ceil_div(tiles, teams), BLOCK_DIM, 0, stream);
        cudaLaunchConfig_t merge = coarsen_launch_config(tiles, BLOCK_DIM, 0, stream);
        cudaLaunchAttribute early[2];
        const void *const kernel =
            pairs ? (const void *)COARSEN_(pairs_kernel) : (const void *)COARSEN_(merge_kernel);
        pass = COARSEN_(arrays_of)(arrays, spare, n, p, passes + 1);
        status = COARSEN_(overlap)(&merge, early, kernel);
        if (status == cudaSuccess && !pairs)
            status = COARSEN_(overlap)(&search, early + 1, (const void *)COARSEN_(splits_kernel));
        if (status == cudaSuccess && !pairs)
            status = cudaLaunchKernelEx(&search, COARSEN_(splits_kernel), pass.in, n, bits, ways,
                                        splits);
        if (status == cudaSuccess && pairs)
            status = cudaLaunchKernelEx(&merge, COARSEN_(pairs_kernel), pass, n, bits);
        else if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&merge, COARSEN_(merge_kernel), pass, n, bits, ways,
                                        (const unsigned long long *)splits);
        bits += ways;
    }
    return status;
}
#endif

#undef COARSEN_PAIRS
#undef COARSEN_RANKED
#undef COARSEN_TILE
#undef COARSEN_ROOM
#undef COARSEN_TEAM
#undef COARSEN_PLACE

#define COARSEN_END
#include "base.h"
