// SPDX-License-Identifier: MIT
//
// coarsen/merge/basic.h: merge, first rung. Two sorted arrays become one; a thread makes COARSE_FACTOR
// neighbours of it, once a search has told it where to begin in each.
//
//     #define COARSEN_NAME merge_i32
//     #define COARSEN_TYPE int
//     #include <coarsen/merge/basic.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the keys                                     |
// | COARSEN_VALUE        | none             | type of the values, one beside each key; without it keys only |
// | COARSEN_LESS(a, b)   | ((a) < (b))      | whether key a comes before key b: a strict weak order |
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 8                | elements of a thread's run, from 1 to 64             |
// Defines NAME_arrays, NAME_kernel(arrays), NAME_co_rank (device; below), and
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
// The co-rank of k is how many of the first k results come from a; the other k - i come from b. It is found by
// binary search: a[i] is among the first k if b[k - 1 - i] is not less than it. So a thread can begin anywhere.
// Price saved by coarsening: searches. A run of COARSE_FACTOR results needs one, of log2(k) steps.
// Price paid: less exposed parallelism; and the lanes of a warp read and write COARSE_FACTOR elements apart, so a
// warp's 32 accesses are to many lines. The steps of a search wait for one another, each for global memory.
// Cost: m + n keys read and written; for each run up to log2(min(m, n)) + 1 pairs of keys read.
// Source: O. Green, R. McColl, D. A. Bader, GPU Merge Path (2012); Hwu, Kirk, El Hajj, Programming Massively
// Parallel Processors, 4th ed., sections 12.3 and 12.4, where a thread searches for the end of its run too.

#define COARSEN_BEGIN COARSEN_PATTERN_MERGE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/merge: COARSE_FACTOR must be from 1 to 64"
#endif

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
    const COARSEN_TYPE *const a = arrays.a, *const b = arrays.b;
    const size_t m = arrays.m, n = arrays.n;
    const size_t first = ((size_t)blockIdx.x * BLOCK_DIM + threadIdx.x) * COARSE_FACTOR;
    if (first >= m + n)
        return;

    size_t i = COARSEN_(co_rank)(first, a, m, b, n), j = first - i;
#pragma unroll 1
    for (size_t k = first; k < first + COARSE_FACTOR && k < m + n; k++) {
        const bool from_b = i == m || (j < n && COARSEN_(less)(b[j], a[i]));
        arrays.out[k] = from_b ? b[j] : a[i];
#ifdef COARSEN_VALUE
        arrays.out_values[k] = from_b ? arrays.b_values[j] : arrays.a_values[i];
#endif
        if (from_b)
            j++;
        else
            i++;
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
    const size_t blocks = coarsen_ceil_div(m + n, BLOCK_DIM * COARSE_FACTOR);
    if (!COARSEN_(arrays_ok)(arrays) || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    if (blocks == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), arrays);
}
#endif

#define COARSEN_END
#include "../base.h"
