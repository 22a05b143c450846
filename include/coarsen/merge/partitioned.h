// SPDX-License-Identifier: MIT
//
// coarsen/merge/partitioned.h: merge, fifth rung. tiled.h + a kernel that searches for all ends of tiles at once, and
// registers for the results of a tile, which so has room for more blocks.
//
//     #define COARSEN_NAME merge_i32
//     #define COARSEN_TYPE int
//     #include <coarsen/merge/partitioned.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the keys, aligned to 16 bytes at the most    |
// | COARSEN_VALUE        | none             | type of the values, one beside each key; without it keys only |
// | COARSEN_LESS(a, b)   | ((a) < (b))      | whether key a comes before key b: a strict weak order |
// | BLOCK_DIM            | 512, or tuned    | threads per block, at the most: a multiple of 32 from 32 to 1024 |
// | COARSE_FACTOR        | 15, or 19 for keys of more than 4 bytes, or tuned; 11 with values | 4-byte words in a thread's run, from 1 to 64: of keys; with values half of those of both, and results at the most |
// Keys of less than 4 bytes, without values, have blocks of 256.
// tuned: COARSEN_MERGE_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune.
// Defines NAME_arrays, the functions of block/copy.h, block/merge.h, block/overlap.h and block/vector.h,
// NAME_ends_kernel(arrays, head, tile, bits) and NAME_kernel(arrays, head, each, found), of which NAME_launch launches the
// second or both, and
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_VALUE *a_values,] size_t m,
//                             const COARSEN_TYPE *b, [const COARSEN_VALUE *b_values,] size_t n,
//                             COARSEN_TYPE *out, [COARSEN_VALUE *out_values,] cudaStream_t stream)
// a: m keys in device memory, b: n keys, each sorted: of two neighbours, the second is not less than the first.
// out: m + n keys, apart from both. The values go where their keys go. m and n may be 0. Each array at any
// element's alignment (its size, if that divides 16). Stable: of equal keys, those of a come first, and those of
// one array keep their order. Keys that are not sorted, or no strict weak order, give some order of some of
// the keys, and nothing else goes wrong. Floats with NaN need an order of all values: see docs/merge.md. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array, or elements so large that shared memory
// cannot hold 100 keys and as many values, with nothing written; those of the runtime's device queries. No scratch. Deterministic.
//
// A tile needs to know where it ends in both inputs. A block that searches for that waits for a dozen trips to memory, and
// its room is empty meanwhile. So a small kernel searches for all ends at once: first for those of every 16th tile, or of
// many tiles every 32nd, then for the others between these, with a few lanes each. It leaves them in `out`, where the
// tile's results will be: each block reads its own, and then writes over them.
// Where all tiles run in two turns, that kernel takes longer than it saves: each block searches for its own ends with two
// warps, while all blocks ask for the keys to be brought to the L2 cache.
// Results are held in registers until all keys of the tile are read, and then take their places. So four blocks of 512
// threads fit where two of pipelined.h's 256 do, and while one waits for its keys, others merge and write. Keys of one or
// two bytes have long runs, as a search costs as much as for others; their results have places of their own.
// A tile has a few keys more of each input than it needs. So nearly no run asks whether an input ends.
// Price saved: the rings, and most waits.
// Price paid: a second launch.
// Cost: m + n keys read and written once, but those behind a tile twice, 1 in 200 or so; and 2 KB read per tile for its
// ends.
// Source: O. Green, R. McColl, D. A. Bader, GPU Merge Path (2012), for ends that are searched for first.

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_MERGE_BLOCK_DIM)
#define BLOCK_DIM COARSEN_MERGE_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_MERGE_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_MERGE_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MERGE
#include "../base.h"

// COARSEN_APART: whether results go to an area of their own: keys of which a register holds several.
// COARSEN_FACTOR: less than 16 words of keys of up to 4 bytes. Where the runs of a warp take 16 of one input each, its lanes
// meet in two banks.
#define COARSEN_SIZE sizeof(COARSEN_TYPE)
#ifdef COARSEN_VALUE
#define COARSEN_BESIDE sizeof(COARSEN_VALUE)
#define COARSEN_APART  false
#define COARSEN_FACTOR 11
#define COARSEN_MOST   11 // with which 32 registers suffice
#else
#define COARSEN_BESIDE 0
#define COARSEN_APART  (COARSEN_SIZE < 4)
#define COARSEN_FACTOR (COARSEN_SIZE <= 4 ? 15 : 19)
#define COARSEN_MOST   19
#endif

#ifndef BLOCK_DIM
#define BLOCK_DIM       512
#define COARSEN_THREADS (COARSEN_APART ? 256 : BLOCK_DIM) // of a block, at the most
#else
#define COARSEN_THREADS BLOCK_DIM
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR COARSEN_FACTOR
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/merge: COARSE_FACTOR must be from 1 to 64"
#endif

#include "../block/copy.h"
#include "../block/merge.h"
#include "../block/overlap.h"
#include "../block/vector.h"

static_assert(
    alignof(COARSEN_TYPE) <= 16,
    "coarsen/merge: keys must have an alignment of 16 bytes or less, as shared memory has");
#ifdef COARSEN_VALUE
static_assert(
    alignof(COARSEN_VALUE) <= 16,
    "coarsen/merge: values must have an alignment of 16 bytes or less, as shared memory has");
#endif

// At most so many results, so that they are an odd number, or of keys of less than a word an odd number of words: then
// the lanes of a warp, which are a run apart, meet in few banks of shared memory.
#define COARSEN_ODD_BELOW(n) (((n) - ((n) > 0)) | 1)
#define COARSEN_ODD(run)                                                                           \
    (COARSEN_APART ? COARSEN_ODD_BELOW((run)*COARSEN_SIZE / 4) * 4 / COARSEN_SIZE                  \
                   : COARSEN_ODD_BELOW(run))
#define COARSEN_RUN                                                                                \
    (COARSEN_BESIDE == 0                 ? 4 * COARSE_FACTOR / COARSEN_SIZE                        \
     : COARSEN_SIZE + COARSEN_BESIDE < 8 ? COARSE_FACTOR                                           \
                                         : 8 * COARSE_FACTOR / (COARSEN_SIZE + COARSEN_BESIDE))
enum {
    COARSEN_(each) = COARSEN_ODD(COARSEN_RUN), // results of a thread's run, at the most
    // Of each input a tile has so many keys behind those that it needs: no run ends with the last of them.
    COARSEN_(behind) = COARSEN_(each) + 1,
};

// Blocks per multiprocessor, where it has 2048 threads and nothing needs more than 32 registers of each.
#if COARSEN_PTX == 800 || COARSEN_PTX == 900 || COARSEN_PTX == 1000 || COARSEN_PTX == 1030
#define COARSEN_RESIDENT                                                                           \
    (COARSE_FACTOR > COARSEN_MOST || COARSEN_SIZE + COARSEN_BESIDE > 16 ? 1                        \
     : BLOCK_DIM < 128                                                  ? 16                       \
                                                                        : 2048 / BLOCK_DIM)
#else
#define COARSEN_RESIDENT 1
#endif
#define COARSEN_TURNS     2         // of all blocks: so many may search for their own ends
#define COARSEN_ENDS_DIM  128       // threads of a block that searches for ends
#define COARSEN_MANY      (1 << 14) // tiles, from which on 4 lanes search for each end, not 8
#define COARSEN_ENDS_SIZE (2 * sizeof(size_t))

// Where in a vector an array begins.
COARSEN_HOST_DEVICE size_t COARSEN_(skip)(const COARSEN_TYPE *keys)
{
    return COARSEN_ITEMS > 1 ? (size_t)keys / COARSEN_SIZE % COARSEN_ITEMS : 0;
}

// Whether results are held in registers until they take the places of the tile's keys. Otherwise they go to places of
// their own: keys of which a register holds several, and runs so short that there is room.
COARSEN_HOST_DEVICE bool COARSEN_(held)(unsigned int each)
{
    return !COARSEN_APART && each == COARSEN_(each);
}

// Where in shared memory are a tile's values, its results, and where these came from; and how much it takes: bytes from
// the keys on. Of those each input begins somewhere in a vector, and ends with a whole one.
typedef struct {
    unsigned int values, merged, from, all;
} COARSEN_(areas);

COARSEN_HOST_DEVICE COARSEN_(areas) COARSEN_(areas_of)(unsigned int threads, unsigned int each)
{
    const unsigned int tile = threads * each, size = (unsigned int)COARSEN_SIZE;
    const unsigned int keys = tile + 2 * (COARSEN_(behind) + 2 * COARSEN_(items));
    COARSEN_(areas) areas;
    areas.values = (keys * size + 15) / 16 * 16;
    areas.merged = areas.values + (keys * (unsigned int)COARSEN_BESIDE + 15) / 16 * 16;
    areas.from = areas.merged + (COARSEN_(held)(each) ? 0 : (tile * size + 15) / 16 * 16);
    areas.all = areas.from + (COARSEN_(held)(each) || COARSEN_BESIDE == 0 ? 0 : 4 * tile);
    return areas;
}

// ---- the ends of tiles ----------------------------------------------------------------------------------------

// Results `head` to m + n in tiles: where each begins and ends in a, to the first bytes of its results. A tile of fewer
// bytes has no room for it. 2^bits lanes search for each.
COARSEN_KERNEL void __launch_bounds__(COARSEN_ENDS_DIM)
    COARSEN_(ends_kernel)(COARSEN_(arrays) arrays, unsigned int head, unsigned int tile,
                          unsigned int bits)
{
    __shared__ size_t ends[COARSEN_ENDS_DIM / 2 + 1];
    const unsigned int t = threadIdx.x, lanes = 1u << bits, tiles = COARSEN_ENDS_DIM >> bits;
    const size_t all = arrays.m + arrays.n, start = head + (size_t)blockIdx.x * tiles * tile;
    const size_t stop = coarsen_min(start + (size_t)tiles * tile, all);
    COARSEN_(let_next)();

    if (t < 64) {
        const size_t end =
            COARSEN_(warp_co_rank)(t < 32 ? start : stop, arrays.a, arrays.m, arrays.b, arrays.n);
        if (t % 32 == 0)
            ends[t < 32 ? 0 : tiles] = end;
    }
    __syncthreads();
    // If the arrays are not sorted, the ends may be any.
    const size_t a = ends[0], b = start - a, last = ends[tiles];
    const size_t a_stop = last > a ? coarsen_min(last, a + (stop - start)) : a;
    const unsigned int w = t >> bits;
    if (w > 0) {
        const size_t k = coarsen_min((size_t)w * tile, stop - start);
        const size_t end = COARSEN_(group_co_rank)(k, arrays.a + a, a_stop - a, arrays.b + b,
                                                   stop - a_stop - b, bits);
        if (t % lanes == 0)
            ends[w] = a + end;
    }
    __syncthreads();
    const size_t first = start + (size_t)w * tile;
    if (first < stop &&
        (coarsen_min(first + tile, all) - first) * COARSEN_SIZE >= COARSEN_ENDS_SIZE)
        for (unsigned int e = t % lanes; e < COARSEN_ENDS_SIZE; e += lanes)
            ((unsigned char *)(arrays.out + first))[e] = ((const unsigned char *)(ends + w))[e];
}

// Asks for the block's share of an array to be brought to the L2 cache, in which the others look for it too.
COARSEN_DEVICE void COARSEN_(ask_for)(const void *array, size_t bytes)
{
    const size_t share = coarsen_ceil_div(bytes, gridDim.x), first = blockIdx.x * share;
    const size_t stop = coarsen_min(first + share, bytes), sector = 32;
    for (size_t at = first + threadIdx.x * sector; at < stop; at += blockDim.x * sector)
        COARSEN_(prefetch)((const unsigned char *)array + at);
}

// Where the tile of results `start` to `stop` begins and ends in a, by the block itself.
COARSEN_INLINE void COARSEN_(find_ends)(COARSEN_(arrays) arrays, size_t start, size_t stop,
                                        size_t *ends)
{
    for (unsigned int w = threadIdx.x / 32; w < 2; w += blockDim.x / 32) {
        const size_t end =
            COARSEN_(warp_co_rank)(w == 0 ? start : stop, arrays.a, arrays.m, arrays.b, arrays.n);
        if (threadIdx.x % 32 == 0)
            ends[w] = end;
    }
}

// ---- a tile -----------------------------------------------------------------------------------------------------

// Begins to copy a vector.
COARSEN_INLINE void COARSEN_(copy_vector)(COARSEN_TYPE *to, const COARSEN_TYPE *from)
{
    if (sizeof(COARSEN_(vector)) == 16 && COARSEN_VECTOR_ALIGN(COARSEN_TYPE) == 16)
        COARSEN_(copy_async)(to, from, 16);
    else
        *(COARSEN_(vector) *)to = *(const COARSEN_(vector) *)from;
}

// Begins to copy vectors, of which the first has element `first` of n, and begins `past` before it. Not all of their
// elements may be there: in the place of the others it writes any key, so that each place may be read.
COARSEN_INLINE void COARSEN_(copy_cut)(COARSEN_TYPE *to, const COARSEN_TYPE *array, size_t n,
                                       size_t first, unsigned int past, unsigned int vectors,
                                       const COARSEN_TYPE *any)
{
#pragma unroll 1
    for (unsigned int v = threadIdx.x; v < vectors; v += blockDim.x) {
        const size_t e = first + v * COARSEN_(items); // of which `past` is to be taken
        if (e >= past && e - past + COARSEN_ITEMS <= n)
            COARSEN_(copy_vector)(to + v * COARSEN_(items), array + (e - past));
        else
#pragma unroll 1
            for (unsigned int k = 0; k < COARSEN_ITEMS; k++)
                to[v * COARSEN_(items) + k] =
                    e + k >= past && e + k - past < n ? array[e + k - past] : *any;
    }
}

// Begins to copy the keys from a and b on, as many as the runs count and one more each; tells where they are, and how
// many are there.
COARSEN_INLINE void COARSEN_(copy_keys)(COARSEN_(arrays) arrays, size_t a, size_t b,
                                        COARSEN_(run) * run_a, COARSEN_(run) * run_b,
                                        COARSEN_TYPE *keys)
{
    const unsigned int items = COARSEN_(items);
    const unsigned int past_a = (unsigned int)((COARSEN_(skip)(arrays.a) + a) % COARSEN_ITEMS);
    const unsigned int past_b = (unsigned int)((COARSEN_(skip)(arrays.b) + b) % COARSEN_ITEMS);
    const unsigned int of_a = (past_a + run_a->count + items) / items; // vectors
    const unsigned int of_b = (past_b + run_b->count + items) / items;
    run_a->first = past_a;
    run_b->first = of_a * items + past_b;
    if (a >= items && b >= items && of_a * items <= arrays.m - a &&
        of_b * items <= arrays.n - b) { // as all but the arrays' ends
        // Addresses from which vector v of both is as far; that of b need not be in the array.
        const unsigned int size = items * (unsigned int)COARSEN_SIZE;
        const size_t from_a = (size_t)(arrays.a + (a - past_a));
        const size_t from_b = (size_t)(arrays.b + (b - past_b)) - of_a * size;
#pragma unroll 4
        for (unsigned int v = threadIdx.x; v < of_a + of_b; v += blockDim.x)
            COARSEN_(copy_vector)
        (keys + v * items, (const COARSEN_TYPE *)((v < of_a ? from_a : from_b) + v * size));
        return;
    }
    const COARSEN_TYPE *const any = arrays.m > 0 ? arrays.a : arrays.b;
    COARSEN_(copy_cut)(keys, arrays.a, arrays.m, a, past_a, of_a, any);
    COARSEN_(copy_cut)(keys + of_a * items, arrays.b, arrays.n, b, past_b, of_b, any);
    run_a->count = (unsigned int)coarsen_min(run_a->count, arrays.m - a);
    run_b->count = (unsigned int)coarsen_min(run_b->count, arrays.n - b);
}

// Writes so many results to out, which begins with a vector.
COARSEN_INLINE void COARSEN_(write)(COARSEN_TYPE *out, const COARSEN_TYPE *merged,
                                    unsigned int count)
{
    const unsigned int items = COARSEN_(items), whole = count / items * items;
#pragma unroll 4
    for (unsigned int k = threadIdx.x * items; k < whole; k += blockDim.x * items)
        *(COARSEN_(vector) *)(out + k) = *(const COARSEN_(vector) *)(merged + k);
    if (threadIdx.x < count - whole)
        out[whole + threadIdx.x] = merged[whole + threadIdx.x];
}

#ifdef COARSEN_VALUE
// Begins to copy the values from a and b on, to the places that their keys have.
COARSEN_INLINE void COARSEN_(copy_values)(const COARSEN_VALUE *a, const COARSEN_VALUE *b,
                                          COARSEN_(run) run_a, COARSEN_(run) run_b,
                                          COARSEN_VALUE *values)
{
    const unsigned int size = (unsigned int)sizeof(COARSEN_VALUE), of_a = run_a.count;
    const size_t from_a = (size_t)a, from_b = (size_t)b - of_a * size; // as in copy_keys
#pragma unroll 4
    for (unsigned int e = threadIdx.x; e < of_a + run_b.count; e += blockDim.x) {
        const bool in_a = e < of_a;
        COARSEN_VALUE *const to = values + (e + (in_a ? run_a.first : run_b.first - of_a));
        const COARSEN_VALUE *const from =
            (const COARSEN_VALUE *)((in_a ? from_a : from_b) + e * size);
        if ((size == 4 || size == 8 || size == 16) && alignof(COARSEN_VALUE) == size)
            COARSEN_(copy_async)(to, from, size);
        else
            *to = *from;
    }
}
#endif

// The k-th result, one of the few before out's first vector.
COARSEN_DEVICE void COARSEN_(merge_one)(COARSEN_(arrays) arrays, unsigned int k)
{
    const size_t i = COARSEN_(co_rank)(k, arrays.a, arrays.m, arrays.b, arrays.n), j = k - i;
    const bool from_b = i == arrays.m || (j < arrays.n && COARSEN_(less)(arrays.b[j], arrays.a[i]));
    arrays.out[k] = from_b ? arrays.b[j] : arrays.a[i];
#ifdef COARSEN_VALUE
    arrays.out_values[k] = from_b ? arrays.b_values[j] : arrays.a_values[i];
#endif
}

// A tile's results, from `start` on, which is at a vector's boundary; and where it begins and ends in a. In shared memory:
// while a thread holds its results, it has no registers left for what it needs only then.
typedef struct {
    size_t ends[2], start;
    unsigned int count;
} COARSEN_(tile);

// Merges a tile. each: results of a thread's run.
COARSEN_INLINE void COARSEN_(merge_tile)(COARSEN_(arrays) arrays, const COARSEN_(tile) * tile,
                                         unsigned int each)
{
    const COARSEN_(areas) areas = COARSEN_(areas_of)(blockDim.x, each);
    COARSEN_TYPE *const keys = (COARSEN_TYPE *)coarsen_shared;
    const size_t a = tile->ends[0], b = tile->start - a;
    // If the arrays are not sorted, the ends may be any.
    const unsigned int of_a =
        tile->ends[1] > a ? (unsigned int)coarsen_min(tile->ends[1] - a, tile->count) : 0;
    COARSEN_(run) run_a = COARSEN_(run_of)(0, of_a + COARSEN_(behind));
    COARSEN_(run) run_b = COARSEN_(run_of)(0, tile->count - of_a + COARSEN_(behind));
    COARSEN_(copy_keys)(arrays, a, b, &run_a, &run_b, keys);
#ifdef COARSEN_VALUE
    COARSEN_VALUE *const values = (COARSEN_VALUE *)((char *)coarsen_shared + areas.values);
    COARSEN_(copy_values)
    (arrays.a_values + a, arrays.b_values + b, run_a, run_b, values);
#endif
    COARSEN_(copies_end)();
    COARSEN_(copies_wait)(0);
    __syncthreads();

    const unsigned int mine = threadIdx.x * each;
    const bool busy = mine < tile->count;
    unsigned int i = busy ? COARSEN_(run_rank)(mine, keys, run_a, run_b) : 0;
    unsigned int j = mine - i;
    if (!COARSEN_(held)(each)) {
        COARSEN_TYPE *const merged = (COARSEN_TYPE *)((char *)coarsen_shared + areas.merged);
#ifdef COARSEN_VALUE
        unsigned int *const from = (unsigned int *)((char *)coarsen_shared + areas.from);
        unsigned int *const of_mine = from + mine;
#else
        unsigned int *const of_mine = NULL;
#endif
        // Only where they are apart has each run whole pieces.
        const bool whole = COARSEN_APART || COARSEN_PIECE == 1;
        if (busy)
            COARSEN_(merge_run)(&i, &j, each, keys, run_a, run_b, merged + mine, of_mine, whole);
        __syncthreads();
        COARSEN_(write)(arrays.out + tile->start, merged, tile->count);
#ifdef COARSEN_VALUE
#pragma unroll 4
        for (unsigned int e = threadIdx.x; e < tile->count; e += blockDim.x)
            arrays.out_values[tile->start + e] =
                values[from[e] >> 31 ? run_b.first + ~from[e] : run_a.first + from[e]];
#endif
        return;
    }

    COARSEN_TYPE item[COARSEN_(each)];
#ifdef COARSEN_VALUE
    unsigned int from[COARSEN_(each)];
    COARSEN_VALUE value[COARSEN_(each)];
#else
    unsigned int *const from = NULL;
#endif
    if (busy && i + COARSEN_(each) < run_a.count && j + COARSEN_(each) < run_b.count)
        COARSEN_(merge_held)(i, j, COARSEN_(each), keys, run_a, run_b, item, from, false);
    else if (busy)
        COARSEN_(merge_held)(i, j, COARSEN_(each), keys, run_a, run_b, item, from, true);
    __syncthreads();
    if (busy)
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_(each); k++) {
            keys[mine + k] = item[k];
#ifdef COARSEN_VALUE
            if (mine + k < tile->count)
                value[k] = values[from[k]];
#endif
        }
    __syncthreads();
#ifdef COARSEN_VALUE
    if (busy)
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_(each); k++)
            if (mine + k < tile->count)
                values[mine + k] = value[k];
#endif
    COARSEN_(write)(arrays.out + tile->start, keys, tile->count);
#ifdef COARSEN_VALUE
    __syncthreads();
#pragma unroll 4
    for (unsigned int e = threadIdx.x; e < tile->count; e += blockDim.x)
        arrays.out_values[tile->start + e] = values[e];
#endif
}

// Results `head` to m + n in tiles, one per block, and the first `head` results. found: where they begin and end lies at
// the start of each, from ends_kernel.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(kernel)(COARSEN_(arrays) arrays, unsigned int head, unsigned int each, bool found)
{
    __shared__ COARSEN_(tile) tile;
    const size_t all = arrays.m + arrays.n;
    const size_t start = head + (size_t)blockIdx.x * (blockDim.x * each);
    const size_t stop = coarsen_min(start + blockDim.x * each, all);
    const unsigned int count = start < stop ? (unsigned int)(stop - start) : 0;
    if (!found) {
        COARSEN_(ask_for)(arrays.a, arrays.m * COARSEN_SIZE);
        COARSEN_(ask_for)(arrays.b, arrays.n * COARSEN_SIZE);
#ifdef COARSEN_VALUE
        COARSEN_(ask_for)(arrays.a_values, arrays.m * COARSEN_BESIDE);
        COARSEN_(ask_for)(arrays.b_values, arrays.n * COARSEN_BESIDE);
#endif
    }
    if (blockIdx.x == 0 && threadIdx.x < head)
        COARSEN_(merge_one)(arrays, threadIdx.x);
    COARSEN_(follow)();
    if (!found || count * COARSEN_SIZE < COARSEN_ENDS_SIZE)
        COARSEN_(find_ends)(arrays, start, start + count, tile.ends);
    else if (threadIdx.x < COARSEN_ENDS_SIZE)
        ((unsigned char *)tile.ends)[threadIdx.x] =
            ((const unsigned char *)(arrays.out + start))[threadIdx.x];
    if (threadIdx.x == 0)
        tile.start = start, tile.count = count;
    __syncthreads();
    COARSEN_(merge_tile)(arrays, &tile, each);
}

// ---- the launch -------------------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
// Of dynamic shared memory, for a tile.
COARSEN_HOST size_t COARSEN_(shared_bytes)(size_t threads, size_t each)
{
    return COARSEN_(areas_of)((unsigned int)threads, (unsigned int)each).all;
}

// Results per run with which so many threads make a share of them.
COARSEN_HOST size_t COARSEN_(run_for)(size_t share, size_t threads)
{
    const size_t run = coarsen_ceil_div(share, threads);
    return COARSEN_APART ? COARSEN_ODD(run + 2 * COARSEN_PIECE) : COARSEN_ODD(run + 1);
}

// Launches one kernel or both, for blocks of so many threads and runs of so many results.
COARSEN_HOST cudaError_t COARSEN_(launch_tiles)(COARSEN_(arrays) arrays, size_t head,
                                                size_t threads, size_t each, bool found,
                                                cudaStream_t stream)
{
    const size_t all = arrays.m + arrays.n - head;
    const size_t tiles = coarsen_ceil_div(all > 0 ? all : 1, threads * each);
    const size_t bytes = COARSEN_(shared_bytes)(threads, each);
    const unsigned int bits = tiles < COARSEN_MANY ? 3 : 2;
    if (tiles > 0x7fffffff)
        return cudaErrorInvalidValue;
    cudaError_t status = coarsen_let_share((const void *)COARSEN_(kernel), bytes, 1 << 10);
    cudaLaunchConfig_t merge = coarsen_launch_config(tiles, (unsigned int)threads, bytes, stream);
    cudaLaunchAttribute early;
    if (status == cudaSuccess && found) {
        const cudaLaunchConfig_t search = coarsen_launch_config(
            coarsen_ceil_div(tiles, COARSEN_ENDS_DIM >> bits), COARSEN_ENDS_DIM, 0, stream);
        status = cudaLaunchKernelEx(&search, COARSEN_(ends_kernel), arrays, (unsigned int)head,
                                    (unsigned int)(threads * each), bits);
        if (status == cudaSuccess)
            status = COARSEN_(overlap)(&merge, &early, (const void *)COARSEN_(kernel));
    }
    return status != cudaSuccess
               ? status
               : cudaLaunchKernelEx(&merge, COARSEN_(kernel), arrays, (unsigned int)head,
                                    (unsigned int)each, found);
}

COARSEN_HOST cudaError_t
COARSEN_(launch)(const COARSEN_TYPE *a COARSEN_ALSO(const COARSEN_VALUE *a_values), size_t m,
                 const COARSEN_TYPE *b COARSEN_ALSO(const COARSEN_VALUE *b_values), size_t n,
                 COARSEN_TYPE *out COARSEN_ALSO(COARSEN_VALUE *out_values), cudaStream_t stream)
{
    const COARSEN_(arrays) arrays = {
        a, m, b, n, out COARSEN_ALSO(a_values) COARSEN_ALSO(b_values) COARSEN_ALSO(out_values)};
    if (!COARSEN_(arrays_ok)(arrays))
        return cudaErrorInvalidValue;
    if (m + n == 0)
        return cudaSuccess;

    cudaError_t status = cudaSuccess;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    size_t most = 0; // of shared memory, without what the kernel has beside it
    if (status == cudaSuccess)
        most = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &status) - 64;
    if (status != cudaSuccess)
        return status;
    if (COARSEN_SIZE + COARSEN_BESIDE > most) // before it is multiplied in 32 bits
        return cudaErrorInvalidValue;
    size_t threads = COARSEN_THREADS, each = COARSEN_(each);
    while (threads > 32 && COARSEN_(shared_bytes)(threads, each) > most)
        threads -= 32;
    const size_t bytes = COARSEN_(shared_bytes)(threads, each);
    if (bytes > most)
        return cudaErrorInvalidValue;

    const size_t head = coarsen_min((COARSEN_ITEMS - COARSEN_(skip)(out)) % COARSEN_ITEMS, m + n);
    const size_t all = m + n > head ? m + n - head : 1; // a block at the least
    const size_t per = coarsen_ceil_div(all, processors * threads * each);
    if (per <= 2) {
        // Two tiles for each multiprocessor, of runs or of blocks that are shorter.
        const size_t share = coarsen_ceil_div(all, 2 * processors);
        const size_t few = coarsen_min(threads, 256), run = COARSEN_(run_for)(share, few);
        if (COARSEN_APART || (2 * run < each && COARSEN_(shared_bytes)(few, run) <= most)) {
            threads = few;
            each = coarsen_min(each, run);
        } else {
            threads = coarsen_min(threads, coarsen_ceil_div(share, 32 * each) * 32);
        }
        return COARSEN_(launch_tiles)(arrays, head, threads, each, false, stream);
    }

    int resident = 0;
    status = coarsen_let_share((const void *)COARSEN_(kernel), bytes, 1 << 10);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               (int)threads, bytes);
    if (status != cudaSuccess)
        return status;
    const size_t at_once = resident > 0 ? (size_t)resident : 1;
    const size_t turns = coarsen_ceil_div(per, at_once);
    if (COARSEN_APART) { // runs as long as fill all turns
        const size_t share = coarsen_ceil_div(all, processors * turns * at_once);
        each = coarsen_min(each, COARSEN_(run_for)(share, threads));
    }
    return COARSEN_(launch_tiles)(arrays, head, threads, each, turns > COARSEN_TURNS, stream);
}
#endif

#undef COARSEN_APART
#undef COARSEN_BESIDE
#undef COARSEN_ENDS_DIM
#undef COARSEN_ENDS_SIZE
#undef COARSEN_FACTOR
#undef COARSEN_MANY
#undef COARSEN_MOST
#undef COARSEN_ODD
#undef COARSEN_ODD_BELOW
#undef COARSEN_RESIDENT
#undef COARSEN_RUN
#undef COARSEN_SIZE
#undef COARSEN_THREADS
#undef COARSEN_TURNS

#define COARSEN_END
#include "../base.h"
