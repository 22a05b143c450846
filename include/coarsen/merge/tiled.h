// SPDX-License-Identifier: MIT
//
// coarsen/merge/tiled.h: merge, second rung. basic.h + a tile in shared memory: a block brings the keys that its
// results come from there, and its threads search and merge there.
//
//     #define COARSEN_NAME merge_i32
//     #define COARSEN_TYPE int
//     #include <coarsen/merge/tiled.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the keys                                     |
// | COARSEN_VALUE        | none             | type of the values, one beside each key; without it keys only |
// | COARSEN_LESS(a, b)   | ((a) < (b))      | whether key a comes before key b: a strict weak order |
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 7                | elements of a thread's run, from 1 to 64; best an odd number |
// Defines NAME_arrays, NAME_kernel(arrays), NAME_co_rank (device; of basic.h), and
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
// Two threads search for the ends of the tile, in global memory. What is between them is BLOCK_DIM COARSE_FACTOR
// keys: no more than the tile needs. There each thread searches again, for the start of its run.
// Price saved: memory traffic. Keys are read and results written by neighbours, in order, and all searches except
// two per tile wait for shared memory only.
// Price paid: shared memory for a tile and its results, three barriers; and while two threads search, all wait.
// Values are not staged: a place that tells where each result comes from is, and its value is read from there.
// Neighbours among the results come from neighbours in a and in b, so these reads are nearly in order too.
// Cost: m + n keys read and written once; per tile two searches of up to log2(min(m, n)) + 1 pairs of keys.
// Source: O. Green, R. McColl, D. A. Bader, GPU Merge Path (2012), for tiles of equal size; Hwu, Kirk, El Hajj,
// Programming Massively Parallel Processors, 4th ed., section 12.5.

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

enum { COARSEN_(tile) = BLOCK_DIM * COARSE_FACTOR }; // elements
#ifdef COARSEN_VALUE
#define COARSEN_PLACE sizeof(unsigned int)
#else
#define COARSEN_PLACE 0
#endif
static_assert(COARSEN_(tile) * (2 * sizeof(COARSEN_TYPE) + COARSEN_PLACE) <= 47 << 10,
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

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM) COARSEN_(kernel)(COARSEN_(arrays) arrays)
{
    COARSEN_SHARED(COARSEN_TYPE, keys, COARSEN_(tile)); // of a, and then of b
    COARSEN_SHARED(COARSEN_TYPE, merged, COARSEN_(tile));
#ifdef COARSEN_VALUE
    __shared__ unsigned int from[COARSEN_(tile)]; // where in keys a result was
#endif
    __shared__ size_t ends[2];
    const unsigned int t = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * COARSEN_(tile);
    const unsigned int count =
        (unsigned int)coarsen_min(COARSEN_(tile), arrays.m + arrays.n - first);

    if (t < 2)
        ends[t] = COARSEN_(co_rank)(first + t * count, arrays.a, arrays.m, arrays.b, arrays.n);
    __syncthreads();
    const size_t a_first = ends[0], b_first = first - a_first;
    // If the arrays are not sorted, the ends may be any.
    const unsigned int of_a =
        ends[1] > a_first ? (unsigned int)coarsen_min(ends[1] - a_first, count) : 0;
    const unsigned int of_b = count - of_a;
    for (unsigned int e = t; e < count; e += BLOCK_DIM)
        keys[e] = e < of_a ? arrays.a[a_first + e] : arrays.b[b_first + (e - of_a)];
    __syncthreads();

    const COARSEN_TYPE *const a = keys, *const b = keys + of_a;
    const unsigned int begin = t * COARSE_FACTOR;
    unsigned int i = (unsigned int)COARSEN_(co_rank)(begin, a, of_a, b, of_b);
    unsigned int j = begin - i;
#pragma unroll 1
    for (unsigned int k = begin; k < begin + COARSE_FACTOR && k < count; k++) {
        const bool from_b = i == of_a || (j < of_b && COARSEN_(less)(b[j], a[i]));
        merged[k] = from_b ? b[j] : a[i];
#ifdef COARSEN_VALUE
        from[k] = from_b ? of_a + j : i;
#endif
        if (from_b)
            j++;
        else
            i++;
    }
    __syncthreads();
    for (unsigned int k = t; k < count; k += BLOCK_DIM) {
        arrays.out[first + k] = merged[k];
#ifdef COARSEN_VALUE
        arrays.out_values[first + k] = from[k] < of_a ? arrays.a_values[a_first + from[k]]
                                                      : arrays.b_values[b_first + (from[k] - of_a)];
#endif
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
    const size_t blocks = coarsen_ceil_div(m + n, COARSEN_(tile));
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
