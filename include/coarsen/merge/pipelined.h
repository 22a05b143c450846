// SPDX-License-Identifier: MIT
//
// coarsen/merge/pipelined.h: merge, fourth rung. circular.h + asynchronous copies: while a tile is merged, the keys
// for the next one are on their way to the places that the tile before has left.
//
//     #define COARSEN_NAME merge_i32
//     #define COARSEN_TYPE int
//     #include <coarsen/merge/pipelined.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the keys, aligned to 16 bytes at the most    |
// | COARSEN_VALUE        | none             | type of the values, one beside each key; without it keys only |
// | COARSEN_LESS(a, b)   | ((a) < (b))      | whether key a comes before key b: a strict weak order |
// | BLOCK_DIM            | 256 or tuned; 128 with values | threads per block: a multiple of 32 from 32 to 1024 |
// | COARSE_FACTOR        | 21, or 15 for keys of 4 bytes, or tuned; 17 with values | 4-byte words of keys in a thread's run, from 1 to 64; fewer with values |
// tuned: COARSEN_MERGE_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune.
// Defines NAME_arrays, the functions of block/merge.h, block/copy.h and block/vector.h, NAME_kernel(arrays, section)
// and NAME_short_kernel(arrays, items), of which NAME_launch launches one, and
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_VALUE *a_values,] size_t m,
//                             const COARSEN_TYPE *b, [const COARSEN_VALUE *b_values,] size_t n,
//                             COARSEN_TYPE *out, [COARSEN_VALUE *out_values,] cudaStream_t stream)
// a: m keys in device memory, b: n keys, each sorted: of two neighbours, the second is not less than the first.
// out: m + n keys, apart from both. The values go where their keys go. m and n may be 0. Each array at any
// element's alignment (its size, if that divides 16). Stable: of equal keys, those of a come first, and those of
// one array keep their order. Keys that are not sorted, or no strict weak order, give some order of some of
// the keys, and nothing else goes wrong. Floats with NaN need an order of all values: see docs/merge.md. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array, or elements so large that shared memory
// cannot hold three for each thread (take a lower BLOCK_DIM), with nothing written; those of the runtime's device
// queries. No scratch. Deterministic.
//
// There are as many blocks as the device holds, and each walks over an equal section of the results. Its rings have
// places for two tiles of each input. So when a tile begins, what it needs is there, and the places that the tile
// before has left get the keys after those: whole vectors of 16 bytes, by cp.async, which needs no registers and
// no thread that waits. The results of a tile go through shared memory, and are written as vectors too.
// Price saved: the wait for memory at the start of each tile; and all searches in global memory except two per block,
// in which a warp tries 32 places at once.
// Price paid: shared memory for five tiles.
// What is left is bound by its instructions, so a section counts in 32 bits from where it begins, and what is asked of
// a tile or a warp is not asked of each key.
// Where a block would have few tiles, it has none of this to gain: such arrays have a kernel of one tile per block.
// There two searches per tile are the longest wait. While they go on, the blocks ask for all the keys to be
// brought to the L2 cache.
// Cost: m + n keys read and written once; with the defaults, one in 450 or so is read twice, as behind the end of a ring
// its start is there again, so that a run can go on.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 12.6, for the rings;
// O. Green, R. McColl, D. A. Bader, GPU Merge Path (2012), for equal sections.

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_MERGE_BLOCK_DIM)
#define BLOCK_DIM COARSEN_MERGE_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_MERGE_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_MERGE_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MERGE
#include "../base.h"
#if !defined(BLOCK_DIM) && defined(COARSEN_VALUE)
#define BLOCK_DIM 128
#elif !defined(BLOCK_DIM)
#define BLOCK_DIM 256
#endif
#if !defined(COARSE_FACTOR) && defined(COARSEN_VALUE)
#define COARSE_FACTOR 17
#elif !defined(COARSE_FACTOR)
#define COARSE_FACTOR (sizeof(COARSEN_TYPE) == 4 ? 15 : 21)
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/merge: COARSE_FACTOR must be from 1 to 64"
#endif

#include "../block/copy.h"
#include "../block/merge.h"
#include "../block/vector.h"

static_assert(
    alignof(COARSEN_TYPE) <= 16,
    "coarsen/merge: keys must have an alignment of 16 bytes or less, as shared memory has");

#define COARSEN_SIZE sizeof(COARSEN_TYPE)
#ifdef COARSEN_VALUE
#define COARSEN_PLACE sizeof(unsigned int) // where a result came from
#else
#define COARSEN_PLACE 0
#endif
#define COARSEN_FEW        2 // tiles, with fewer of which a block has no use for a pipeline
#define COARSEN_RING(tile) (2 * (tile) + COARSEN_ITEMS) // places for an input's keys
// A thread that merges a run reads on behind the last place, where the first ones are again.
#define COARSEN_AGAIN(run) (((run) + COARSEN_ITEMS - 1) / COARSEN_ITEMS * COARSEN_ITEMS)

// At most so many results, so that they are an odd number of words, or of keys of more than a word: then the lanes of
// a warp, which are a run apart, meet in few banks of shared memory.
#define COARSEN_ODD(run)                                                                           \
    (COARSEN_SIZE < 4 ? COARSEN_ODD_BELOW((run)*COARSEN_SIZE / 4) * 4 / COARSEN_SIZE               \
                      : COARSEN_ODD_BELOW(run))
#define COARSEN_ODD_BELOW(n) (((n) - ((n) > 0)) | 1)
// Of a thread's run, and of a tile. With values a run is shorter, so that it takes no more shared memory.
enum {
    COARSEN_(each) = COARSEN_ODD(20 * COARSE_FACTOR / (5 * COARSEN_SIZE + COARSEN_PLACE)),
    COARSEN_(tile) = BLOCK_DIM * COARSEN_(each)
};

// Where in a vector an array begins.
COARSEN_HOST_DEVICE size_t COARSEN_(skip)(const COARSEN_TYPE *keys)
{
    return COARSEN_ITEMS > 1 ? (size_t)keys / COARSEN_SIZE % COARSEN_ITEMS : 0;
}

// An input of a section. Its elements are counted from the vector that has the section's first one: so 32 bits do.
typedef struct {
    size_t first;            // element e is element first + e of the array
    unsigned int begin, end; // of the array, or what is far enough from the section
    unsigned int next, stop; // of the section: the next element to merge; where it ends
    unsigned int copied;     // what is before is in the ring, or on its way; a multiple of a vector
    const COARSEN_TYPE *from; // where that one is
    COARSEN_(run) ring;       // the next elements there
} COARSEN_(input);

COARSEN_INLINE COARSEN_(input) COARSEN_(input_of)(const COARSEN_TYPE *keys, size_t n, size_t next,
                                                  size_t stop, unsigned int base, unsigned int size)
{
    const unsigned int past = (unsigned int)((COARSEN_(skip)(keys) + next) % COARSEN_ITEMS);
    const unsigned int last = past + (unsigned int)(stop - next);
    const COARSEN_(input)
        input = {next - past,
                 next < past ? past - (unsigned int)next : 0,
                 past + (unsigned int)coarsen_min(n - next, stop - next + COARSEN_ITEMS),
                 past,
                 last,
                 0,
                 keys + next - past,
                 {base, past, 0, size}};
    return input;
}

// Begins to copy the vector at e, of which there are elements `begin` to `end`. whole: all of it is there.
COARSEN_INLINE void COARSEN_(copy_vector)(COARSEN_TYPE *to, const COARSEN_TYPE *from,
                                          unsigned int e, unsigned int begin, unsigned int end,
                                          bool whole)
{
    if (!whole && (e < begin || e + COARSEN_(items) > end)) {
#pragma unroll 1
        for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
            if (e + v >= begin && e + v < end)
                to[v] = from[v];
    } else if (sizeof(COARSEN_(vector)) == 16 && COARSEN_VECTOR_ALIGN(COARSEN_TYPE) == 16) {
        COARSEN_(copy_async)(to, from, 16);
    } else {
        *(COARSEN_(vector) *)to = *(const COARSEN_(vector) *)from;
    }
}

// Begins to copy elements input->copied to `last`. again: so many places of the ring's start are behind it too.
COARSEN_INLINE void COARSEN_(copy_part)(const COARSEN_(input) * input, COARSEN_TYPE *keys,
                                        unsigned int again, unsigned int last, bool whole)
{
    const COARSEN_(run) ring = input->ring;
    const unsigned int row = BLOCK_DIM * COARSEN_(items), first = threadIdx.x * COARSEN_(items);
    const unsigned int copied = input->copied, shift = ring.first - input->next;
    const COARSEN_TYPE *from = input->from + first;
    COARSEN_TYPE *const to = keys + ring.base;
#pragma unroll 1
    for (unsigned int e = copied + first; e < last; e += row, from += row) {
        const unsigned int place = e + shift, before = place - ring.size;
        COARSEN_(copy_vector)
        (to + (place < before ? place : before), from, e, input->begin, input->end, whole);
    }
#pragma unroll 1
    for (unsigned int place = first; place < again; place += row) {
        const unsigned int in = place - shift - copied; // counted from `copied`
        const unsigned int e = in < ring.size ? in : in + ring.size;
        if (e < last - copied)
            COARSEN_(copy_vector)
        (to + ring.size + place, input->from + e, copied + e, input->begin, input->end, whole);
    }
}

// Begins to copy what there are places for in the ring. again: so many places of its start are there behind it too.
COARSEN_INLINE void COARSEN_(fill)(COARSEN_(input) * input, COARSEN_TYPE *keys, unsigned int again)
{
    const COARSEN_(run) ring = input->ring;
    // The vector that has the next element may not be overwritten.
    const unsigned int room = input->next / COARSEN_(items) * COARSEN_(items) + ring.size;
    const unsigned int stop = input->stop < room ? input->stop : room;
    const unsigned int last = (stop + COARSEN_(items) - 1) / COARSEN_(items) * COARSEN_(items);
    // Only at the array's ends can a vector be cut: elsewhere nothing is asked of each.
    const bool whole = input->copied >= input->begin && last <= input->end;
    if (whole)
        COARSEN_(copy_part)(input, keys, again, last, true);
    else
        COARSEN_(copy_part)(input, keys, again, last, false);
    input->from += last - input->copied;
    input->copied = last;
}

// After so many elements were merged.
COARSEN_INLINE void COARSEN_(advance)(COARSEN_(input) * input, unsigned int used)
{
    input->next += used;
    input->ring.first = COARSEN_(place)(input->ring, used) - input->ring.base;
}

// Writes results begin to stop of a tile whose vectors start at out.
COARSEN_INLINE void COARSEN_(write)(COARSEN_TYPE *out, const COARSEN_TYPE *merged,
                                    unsigned int begin, unsigned int stop, unsigned int tile)
{
    if (begin == 0 && stop == tile && tile % COARSEN_ITEMS == 0) { // as all but the ends
        const unsigned int row = BLOCK_DIM * COARSEN_(items), k = threadIdx.x * COARSEN_(items);
#pragma unroll 8
        for (unsigned int r = 0; r < tile; r += row)
            if (r + row <= tile || r + k < tile)
                *(COARSEN_(vector) *)(out + k + r) = *(const COARSEN_(vector) *)(merged + k + r);
        return;
    }
#pragma unroll 1
    for (unsigned int k = threadIdx.x * COARSEN_ITEMS; k < stop; k += BLOCK_DIM * COARSEN_ITEMS)
        if (k >= begin && k + COARSEN_ITEMS <= stop) {
            *(COARSEN_(vector) *)(out + k) = *(const COARSEN_(vector) *)(merged + k);
        } else {
#pragma unroll 1
            for (unsigned int v = k; v < k + COARSEN_ITEMS; v++)
                if (v >= begin && v < stop)
                    out[v] = merged[v];
        }
}

#ifdef COARSEN_VALUE
// How many values a thread asks for before it waits: about 16 words.
#define COARSEN_AHEAD                                                                              \
    (sizeof(COARSEN_VALUE) <= 4 ? 16 : sizeof(COARSEN_VALUE) <= 16 ? 64 / sizeof(COARSEN_VALUE) : 4)
// And their values, from where each result's key came from.
COARSEN_INLINE void COARSEN_(write_values)(COARSEN_VALUE *out, const unsigned int *from,
                                           const COARSEN_VALUE *a, const COARSEN_VALUE *b,
                                           unsigned int begin, unsigned int stop)
{
#pragma unroll 1
    for (unsigned int k = begin + threadIdx.x; k < stop; k += COARSEN_AHEAD * BLOCK_DIM) {
        COARSEN_VALUE values[COARSEN_AHEAD];
#pragma unroll
        for (unsigned int v = 0; v < COARSEN_AHEAD; v++)
            if (k + v * BLOCK_DIM < stop) {
                const unsigned int place = from[k + v * BLOCK_DIM];
                values[v] = *(place >> 31 ? b + ~place : a + place);
            }
#pragma unroll
        for (unsigned int v = 0; v < COARSEN_AHEAD; v++)
            if (k + v * BLOCK_DIM < stop)
                out[k + v * BLOCK_DIM] = values[v];
    }
}
#undef COARSEN_AHEAD
#endif

// Merges a section of the results: elements `first` to `last` of out, counted from a vector's boundary and from the
// start of a vector on. each: results of a thread's run. size and again: places of a ring, and behind it.
COARSEN_INLINE void COARSEN_(merge_section)(COARSEN_(arrays) arrays, size_t first, size_t last,
                                            unsigned int each, unsigned int size,
                                            unsigned int again)
{
    const unsigned int t = threadIdx.x, tile = BLOCK_DIM * each;
    const size_t skip = COARSEN_(skip)(arrays.out);
    __shared__ size_t ends[2];
    __shared__ unsigned int used; // of a, by a tile
#ifdef COARSEN_VALUE
    unsigned int *const from = (unsigned int *)coarsen_shared;
    COARSEN_TYPE *const keys = (COARSEN_TYPE *)(from + tile);
#else
    unsigned int *const from = NULL;
    COARSEN_TYPE *const keys = (COARSEN_TYPE *)coarsen_shared;
#endif
    COARSEN_TYPE *const merged = keys + 2 * (size + again);

    const size_t start = (first > skip ? first : skip) - skip;
    const size_t stop = coarsen_min(last - skip, arrays.m + arrays.n);
    for (unsigned int w = t / 32; w < 2; w += BLOCK_DIM / 32) {
        const size_t end =
            COARSEN_(warp_co_rank)(w == 0 ? start : stop, arrays.a, arrays.m, arrays.b, arrays.n);
        if (t % 32 == 0)
            ends[w] = end;
    }
    __syncthreads();
    const size_t a_start = ends[0], b_start = start - a_start;
    // If the arrays are not sorted, the ends may be any.
    const size_t a_stop =
        ends[1] > a_start ? coarsen_min(ends[1], a_start + (stop - start)) : a_start;
    COARSEN_(input) a = COARSEN_(input_of)(arrays.a, arrays.m, a_start, a_stop, 0, size);
    COARSEN_(input)
    b = COARSEN_(input_of)(arrays.b, arrays.n, b_start, stop - a_stop, size + again, size);

    COARSEN_(fill)(&a, keys, again);
    COARSEN_(fill)(&b, keys, again);
    COARSEN_(copies_end)();
    COARSEN_(copies_end)(); // an empty group, in the place of the next tile's keys
    COARSEN_TYPE *out = arrays.out + first - skip;
#ifdef COARSEN_VALUE
    COARSEN_VALUE *out_values = arrays.out_values + first - skip;
#endif
    unsigned int begin = first < skip ? (unsigned int)skip : 0;
    unsigned int left = (unsigned int)(stop + skip - first);
    while (left > 0) {
        const unsigned int end = left < tile ? left : tile;
        // One more than a tile needs, as a run that ends with it reads the next key.
        a.ring.count = a.stop - a.next < tile + 1 ? a.stop - a.next : tile + 1;
        b.ring.count = b.stop - b.next < tile + 1 ? b.stop - b.next : tile + 1;
        COARSEN_(copies_wait)(1);
        __syncthreads();

        const unsigned int mine = t * each < begin ? begin : t * each < end ? t * each : end;
        const unsigned int behind = (t + 1) * each < end ? (t + 1) * each : end;
        const unsigned int count = behind > mine ? behind - mine : 0;
        unsigned int i = COARSEN_(run_rank)(mine - begin, keys, a.ring, b.ring);
        unsigned int j = mine - begin - i;
        unsigned int *const places = from ? from + mine : from;
        // A constant length spares what a run would ask of each key.
        const bool whole = __all_sync(0xffffffff, count == each);
        if (whole)
            COARSEN_(merge_run)
        (&i, &j, each, keys, a.ring, b.ring, merged + mine, places, true);
        else COARSEN_(merge_run)(&i, &j, count, keys, a.ring, b.ring, merged + mine, places, false);
        if (t == BLOCK_DIM - 1)
            used = i;
        __syncthreads();

        const unsigned int of_a = used, of_b = end - begin - used;
#ifdef COARSEN_VALUE
        const COARSEN_VALUE *const a_values = arrays.a_values + (a.first + a.next);
        const COARSEN_VALUE *const b_values = arrays.b_values + (b.first + b.next);
#endif
        COARSEN_(advance)(&a, of_a);
        COARSEN_(advance)(&b, of_b);
        COARSEN_(fill)(&a, keys, again);
        COARSEN_(fill)(&b, keys, again);
        COARSEN_(copies_end)();
        COARSEN_(write)(out, merged, begin, end, tile);
        out += tile;
#ifdef COARSEN_VALUE
        COARSEN_(write_values)(out_values, from, a_values, b_values, begin, end);
        out_values += tile;
#endif
        left -= end;
        begin = 0;
    }
}

// The 1: shared memory says how many blocks a multiprocessor has, and they have registers enough.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(kernel)(COARSEN_(arrays) arrays, size_t section)
{
    const size_t first = blockIdx.x * section;
    COARSEN_(merge_section)
    (arrays, first, first + section, COARSEN_(each), COARSEN_RING(COARSEN_(tile)),
     COARSEN_AGAIN(COARSEN_(each)));
}

// Asks for the block's share of an array to be brought to the L2 cache, in which the others look for it too.
COARSEN_DEVICE void COARSEN_(ask_for)(const void *array, size_t bytes)
{
    const size_t share = coarsen_ceil_div(bytes, gridDim.x), first = blockIdx.x * share;
    const size_t stop = coarsen_min(first + share, bytes), sector = 32;
    for (size_t at = first + threadIdx.x * sector; at < stop; at += BLOCK_DIM * sector)
        COARSEN_(prefetch)((const unsigned char *)array + at);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(short_kernel)(COARSEN_(arrays) arrays, unsigned int each)
{
    const size_t tile = (size_t)BLOCK_DIM * each;
    COARSEN_(ask_for)(arrays.a, arrays.m * COARSEN_SIZE);
    COARSEN_(ask_for)(arrays.b, arrays.n * COARSEN_SIZE);
#ifdef COARSEN_VALUE
    COARSEN_(ask_for)(arrays.a_values, arrays.m * sizeof(COARSEN_VALUE));
    COARSEN_(ask_for)(arrays.b_values, arrays.n * sizeof(COARSEN_VALUE));
#endif
    COARSEN_(merge_section)
    (arrays, blockIdx.x * tile, (blockIdx.x + 1) * tile, each, (unsigned int)tile + COARSEN_ITEMS,
     0); // a ring that is filled once: no run passes its end
}

#ifndef __CUDACC_RTC__
// Of dynamic shared memory, for a tile and two rings of so many places.
COARSEN_HOST size_t COARSEN_(shared_bytes)(size_t tile, size_t ring)
{
    return tile * (COARSEN_SIZE + COARSEN_PLACE) + 2 * ring * COARSEN_SIZE;
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
    const size_t all = m + n + COARSEN_(skip)(out);
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    size_t most = 0; // of shared memory, without what the kernels have beside it
    if (status == cudaSuccess)
        most = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &status) - 64;
    if (status != cudaSuccess)
        return status;

    size_t bytes = COARSEN_(shared_bytes)(COARSEN_(tile), COARSEN_RING(COARSEN_(tile)) +
                                                              COARSEN_AGAIN(COARSEN_(each)));
    if (bytes <= most && all >= processors * COARSEN_FEW * COARSEN_(tile)) {
        int resident = 0; // blocks per multiprocessor
        status = coarsen_let_share((const void *)COARSEN_(kernel), bytes, 1 << 10);
        if (status == cudaSuccess)
            status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                                   BLOCK_DIM, bytes);
        if (status != cudaSuccess)
            return status;
        const size_t blocks = processors * (size_t)(resident > 0 ? resident : 1);
        size_t section = coarsen_ceil_div(coarsen_ceil_div(all, blocks), 128) * 128;
        section = coarsen_min(section, 1 << 30); // in which 32 bits count
        if (section >= COARSEN_FEW * COARSEN_(tile)) {
            const cudaLaunchConfig_t config =
                coarsen_launch_config(coarsen_ceil_div(all, section), BLOCK_DIM, bytes, stream);
            return cudaLaunchKernelEx(&config, COARSEN_(kernel), arrays, section);
        }
    }

    // An equal number of tiles for each multiprocessor: two, or as many more as the longest run and the shared memory
    // make of them.
    const size_t other = 2 * COARSEN_ITEMS * COARSEN_SIZE;
    const size_t row = BLOCK_DIM * COARSEN_PIECE * (3 * COARSEN_SIZE + COARSEN_PLACE);
    const size_t longest = coarsen_min(COARSEN_(each), (most - other) / row * COARSEN_PIECE);
    if (longest == 0)
        return cudaErrorInvalidValue;
    size_t tiles = coarsen_ceil_div(all, processors * BLOCK_DIM * longest);
    tiles = tiles > 2 ? tiles : 2;
    size_t each = coarsen_ceil_div(all, tiles * processors * BLOCK_DIM);
    each = coarsen_min(longest, COARSEN_ODD(each + COARSEN_PIECE));
    if (coarsen_ceil_div(all, BLOCK_DIM * each) > 0x7fffffff)
        return cudaErrorInvalidValue;
    bytes = COARSEN_(shared_bytes)(BLOCK_DIM * each, BLOCK_DIM * each + COARSEN_ITEMS);
    status = coarsen_let_share((const void *)COARSEN_(short_kernel), bytes, 1 << 10);
    if (status != cudaSuccess)
        return status;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(coarsen_ceil_div(all, BLOCK_DIM * each), BLOCK_DIM, bytes, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(short_kernel), arrays, (unsigned int)each);
}
#endif

#undef COARSEN_FEW
#undef COARSEN_ODD
#undef COARSEN_ODD_BELOW
#undef COARSEN_AGAIN
#undef COARSEN_PLACE
#undef COARSEN_RING
#undef COARSEN_SIZE

#define COARSEN_END
#include "../base.h"
