// SPDX-License-Identifier: MIT
//
// coarsen/merge/circular.h: merge, third rung. tiled.h + circular buffers: a block walks over 8 tiles, and what
// one of them leaves is there for the next.
//
//     #define COARSEN_NAME merge_i32
//     #define COARSEN_TYPE int
//     #include <coarsen/merge/circular.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the keys                                     |
// | COARSEN_VALUE        | none             | type of the values, one beside each key; without it keys only |
// | COARSEN_LESS(a, b)   | ((a) < (b))      | whether key a comes before key b: a strict weak order |
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 7                | elements of a thread's run, from 1 to 64; best an odd number |
// Defines NAME_arrays, NAME_kernel(arrays), NAME_co_rank (device; of basic.h), NAME_ring_rank (of rings), and
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_VALUE *a_values,] size_t m,
//                             const COARSEN_TYPE *b, [const COARSEN_VALUE *b_values,] size_t n,
//                             COARSEN_TYPE *out, [COARSEN_VALUE *out_values,] cudaStream_t stream)
// a: m keys in device memory, b: n keys, each sorted: of two neighbours, the second is not less than the first.
// out: m + n keys, apart from both. The values go where their keys go. m and n may be 0. Each array at any
// element's alignment (its size, if that divides 16). Stable: of equal keys, those of a come first, and those of
// one array keep their order. Keys that are not sorted, or no strict weak order, give some order of some of
// the keys, and nothing else goes wrong. Floats with NaN need an order of all values: see docs/merge.md. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array, with nothing written. No scratch.
// Deterministic.
//
// Two threads search for the ends of the block's 8 tiles. Nobody searches for those in between, as a tile ends
// where the last thread's run ends. But before that, it is not known how many keys of a tile come from a: there may be
// none, or all. So as many keys as a tile has results are there of each input, twice what the tile needs. The
// rest stays where it is: the places of the keys that are used up, BLOCK_DIM COARSE_FACTOR of them in both
// buffers together, get the next ones. A buffer is a ring: behind its last place is its first.
// Price saved: searches in global memory, 7 of 8. Without the rings each key would be read twice.
// Price paid: shared memory for three tiles in place of two; an index that may pass the end of a ring; and a tile
// begins when the one before has ended.
// Cost: m + n keys read and written once; per 8 tiles two searches of up to log2(min(m, n)) + 1 pairs of keys.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 12.6.

#define COARSEN_BEGIN COARSEN_PATTERN_MERGE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 7
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/merge: COARSE_FACTOR must be from 1 to 64"
#endif

enum { COARSEN_(tile) = BLOCK_DIM * COARSE_FACTOR, COARSEN_(walk) = 8 }; // elements; tiles
#ifdef COARSEN_VALUE
#define COARSEN_PLACE sizeof(unsigned int)
#else
#define COARSEN_PLACE 0
#endif
static_assert(COARSEN_(tile) * (3 * sizeof(COARSEN_TYPE) + COARSEN_PLACE) <= 47 << 10,
              "coarsen/merge: a tile takes more than 47 KiB of shared memory: define a smaller "
              "BLOCK_DIM or COARSE_FACTOR");

// How many of the first k results come from a.
COARSEN_DEVICE size_t COARSEN_(co_rank)(size_t k, const COARSEN_TYPE *a, size_t m,
                                        const COARSEN_TYPE *b, size_t n)
{
    size_t low = k > n ? k - n : 0, high = coarsen_min(k, m);
    while (low < high) {
        const size_t i = low + (high - low) / 2;
        if (COARSEN_(less)(b[k - 1 - i], a[i]))
            high = i;
        else
            low = i + 1;
    }
    return low;
}

// The next keys of an input, in a ring of a tile's places.
typedef struct {
    const COARSEN_TYPE *keys;
    unsigned int first, count; // the place of the next one; how many of them matter
} COARSEN_(ring);

COARSEN_DEVICE const COARSEN_TYPE *COARSEN_(at)(COARSEN_(ring) ring, unsigned int e)
{
    return ring.keys + (ring.first + e) % COARSEN_(tile);
}

// How many of the next k results come from a, in rings.
COARSEN_DEVICE unsigned int COARSEN_(ring_rank)(unsigned int k, COARSEN_(ring) a, COARSEN_(ring) b)
{
    unsigned int low = k > b.count ? k - b.count : 0, high = k < a.count ? k : a.count;
    while (low < high) {
        const unsigned int i = (low + high) / 2;
        if (COARSEN_(less)(*COARSEN_(at)(b, k - 1 - i), *COARSEN_(at)(a, i)))
            high = i;
        else
            low = i + 1;
    }
    return low;
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM) COARSEN_(kernel)(COARSEN_(arrays) arrays)
{
    COARSEN_SHARED(COARSEN_TYPE, a_keys, COARSEN_(tile));
    COARSEN_SHARED(COARSEN_TYPE, b_keys, COARSEN_(tile));
    COARSEN_SHARED(COARSEN_TYPE, merged, COARSEN_(tile));
#ifdef COARSEN_VALUE
    __shared__ unsigned int
        from[COARSEN_(tile)]; // which of the next keys a result was; of b, with a tile added
#endif
    __shared__ size_t ends[2];
    __shared__ unsigned int used; // of a, by a tile
    const unsigned int t = threadIdx.x;
    const size_t total = arrays.m + arrays.n;
    const size_t start = (size_t)blockIdx.x * COARSEN_(walk) * COARSEN_(tile);
    const size_t stop = coarsen_min(start + COARSEN_(walk) * COARSEN_(tile), total);

    if (t < 2)
        ends[t] = COARSEN_(co_rank)(t == 0 ? start : stop, arrays.a, arrays.m, arrays.b, arrays.n);
    __syncthreads();
    size_t a_first = ends[0], b_first = start - a_first;
    // If the arrays are not sorted, the ends may be any.
    const size_t a_stop =
        ends[1] > a_first ? coarsen_min(ends[1], a_first + (stop - start)) : a_first;
    const size_t b_stop = stop - a_stop;
    size_t a_copied = a_first, b_copied = b_first; // up to these the keys are in the rings
    COARSEN_(ring) a = {}, b = {};
    a.keys = a_keys, b.keys = b_keys; // clang would make a constant of an initializer
    for (size_t first = start; first < stop; first += COARSEN_(tile)) {
        const unsigned int count = (unsigned int)coarsen_min(COARSEN_(tile), stop - first);
        a.count = (unsigned int)coarsen_min(COARSEN_(tile), a_stop - a_first);
        b.count = (unsigned int)coarsen_min(COARSEN_(tile), b_stop - b_first);
        for (size_t e = a_copied + t; e < a_first + a.count; e += BLOCK_DIM)
            a_keys[(a.first + (unsigned int)(e - a_first)) % COARSEN_(tile)] = arrays.a[e];
        for (size_t e = b_copied + t; e < b_first + b.count; e += BLOCK_DIM)
            b_keys[(b.first + (unsigned int)(e - b_first)) % COARSEN_(tile)] = arrays.b[e];
        a_copied = a_first + a.count;
        b_copied = b_first + b.count;
        __syncthreads();

        const unsigned int begin = t * COARSE_FACTOR;
        unsigned int i = COARSEN_(ring_rank)(begin < count ? begin : count, a, b);
        unsigned int j = begin - i;
#pragma unroll 1
        for (unsigned int k = begin; k < begin + COARSE_FACTOR && k < count; k++) {
            const bool from_b =
                i == a.count ||
                (j < b.count && COARSEN_(less)(*COARSEN_(at)(b, j), *COARSEN_(at)(a, i)));
            merged[k] = *(from_b ? COARSEN_(at)(b, j) : COARSEN_(at)(a, i));
#ifdef COARSEN_VALUE
            from[k] = from_b ? COARSEN_(tile) + j : i;
#endif
            if (from_b)
                j++;
            else
                i++;
        }
        if (t == BLOCK_DIM - 1)
            used = i;
        __syncthreads();
        for (unsigned int k = t; k < count; k += BLOCK_DIM) {
            arrays.out[first + k] = merged[k];
#ifdef COARSEN_VALUE
            arrays.out_values[first + k] =
                from[k] < COARSEN_(tile) ? arrays.a_values[a_first + from[k]]
                                         : arrays.b_values[b_first + (from[k] - COARSEN_(tile))];
#endif
        }
        a_first += used;
        b_first += count - used;
        a.first = (a.first + used) % COARSEN_(tile);
        b.first = (b.first + count - used) % COARSEN_(tile);
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t
COARSEN_(launch)(const COARSEN_TYPE *a COARSEN_ALSO(const COARSEN_VALUE *a_values), size_t m,
                 const COARSEN_TYPE *b COARSEN_ALSO(const COARSEN_VALUE *b_values), size_t n,
                 COARSEN_TYPE *out COARSEN_ALSO(COARSEN_VALUE *out_values), cudaStream_t stream)
{
    const COARSEN_(arrays) arrays = {
        a, m, b, n, out COARSEN_ALSO(a_values) COARSEN_ALSO(b_values) COARSEN_ALSO(out_values)};
    const size_t blocks = coarsen_ceil_div(m + n, COARSEN_(walk) * COARSEN_(tile));
    if (!COARSEN_(arrays_ok)(arrays) || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    if (blocks == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), arrays);
}
#endif

#undef COARSEN_PLACE

#define COARSEN_END
#include "../base.h"
