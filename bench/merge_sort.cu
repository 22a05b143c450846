// SPDX-License-Identifier: MIT
//
// bench/merge_sort.cu: keys, and keys with values, sorted by comparisons. merge_sort.h beside cub::DeviceMergeSort and a
// device copy; and keys that are not random. With --sweep: every pair of knobs.
//
// The file includes itself, once for each type and once for each pair of knobs.

#ifdef SORT_TYPE // ---- one sort ------------------------------------------------------------------

#ifdef SORT_BLOCK_DIM
#define SORT_NAME                                                                                  \
    COARSEN_JOIN(COARSEN_JOIN(SORT_STEM, SORT_BLOCK_DIM), COARSEN_JOIN(_, SORT_COARSE_FACTOR))
#define SORT_KNOBS                                                                                 \
    "BLOCK_DIM=" SORT_TEXT(SORT_BLOCK_DIM) " COARSE_FACTOR=" SORT_TEXT(SORT_COARSE_FACTOR)
#define SORT_LIST     bench_variants
#define BLOCK_DIM     SORT_BLOCK_DIM
#define COARSE_FACTOR SORT_COARSE_FACTOR
#else
#define SORT_NAME  SORT_STEM
#define SORT_KNOBS ""
#define SORT_LIST  bench_rungs
#endif
#define COARSEN_NAME SORT_NAME
#define COARSEN_TYPE SORT_TYPE
#ifdef SORT_VALUE
#define COARSEN_VALUE SORT_VALUE
#include <coarsen/merge_sort.h>
static const bool COARSEN_JOIN(SORT_NAME,
                               _added) = bench_add(SORT_LIST<sorter<SORT_TYPE, SORT_VALUE>>(),
                                                   {"merge_sort.h", SORT_KNOBS, 40,
                                                    COARSEN_JOIN(SORT_NAME, _scratch_bytes),
                                                    nullptr, COARSEN_JOIN(SORT_NAME, _launch)});
#undef SORT_VALUE
#else
#include <coarsen/merge_sort.h>
static const bool COARSEN_JOIN(SORT_NAME,
                               _added) = bench_add(SORT_LIST<sorter<SORT_TYPE, none>>(),
                                                   {"merge_sort.h", SORT_KNOBS, 40,
                                                    COARSEN_JOIN(SORT_NAME, _scratch_bytes),
                                                    nullptr, SORT_KEYS(SORT_NAME, SORT_TYPE)});
#endif
#undef SORT_TYPE
#undef SORT_STEM
#undef SORT_NAME
#undef SORT_KNOBS
#undef SORT_LIST
#undef SORT_BLOCK_DIM
#undef SORT_COARSE_FACTOR

#else // ---- the bench ------------------------------------------------------------------------------------

#include "sorts.h"

#include <cub/device/device_merge_sort.cuh>

#define SORT_TYPE unsigned int
#define SORT_STEM u32
#include "merge_sort.cu"
#define SORT_TYPE unsigned long long
#define SORT_STEM u64
#include "merge_sort.cu"
#define SORT_TYPE double
#define SORT_STEM f64
#include "merge_sort.cu"
#define SORT_TYPE  unsigned int
#define SORT_VALUE unsigned int
#define SORT_STEM  u32_u32
#include "merge_sort.cu"
#define SORT_TYPE  unsigned long long
#define SORT_VALUE unsigned int
#define SORT_STEM  u64_u32
#include "merge_sort.cu"

#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     128
#define SORT_COARSE_FACTOR 17
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 9
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 11
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 13
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 15
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 17
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 19
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 21
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 23
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 9
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 13
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_STEM          u32_
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 17
#include "merge_sort.cu"
#define SORT_TYPE          unsigned long long
#define SORT_STEM          u64_
#define SORT_BLOCK_DIM     128
#define SORT_COARSE_FACTOR 11
#include "merge_sort.cu"
#define SORT_TYPE          unsigned long long
#define SORT_STEM          u64_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 7
#include "merge_sort.cu"
#define SORT_TYPE          unsigned long long
#define SORT_STEM          u64_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 9
#include "merge_sort.cu"
#define SORT_TYPE          unsigned long long
#define SORT_STEM          u64_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 11
#include "merge_sort.cu"
#define SORT_TYPE          unsigned long long
#define SORT_STEM          u64_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 13
#include "merge_sort.cu"
#define SORT_TYPE          unsigned long long
#define SORT_STEM          u64_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 15
#include "merge_sort.cu"
#define SORT_TYPE          unsigned long long
#define SORT_STEM          u64_
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 7
#include "merge_sort.cu"
#define SORT_TYPE          unsigned long long
#define SORT_STEM          u64_
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 9
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_VALUE         unsigned int
#define SORT_STEM          u32_u32_
#define SORT_BLOCK_DIM     128
#define SORT_COARSE_FACTOR 15
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_VALUE         unsigned int
#define SORT_STEM          u32_u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 9
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_VALUE         unsigned int
#define SORT_STEM          u32_u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 11
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_VALUE         unsigned int
#define SORT_STEM          u32_u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 13
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_VALUE         unsigned int
#define SORT_STEM          u32_u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 15
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_VALUE         unsigned int
#define SORT_STEM          u32_u32_
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 17
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_VALUE         unsigned int
#define SORT_STEM          u32_u32_
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 9
#include "merge_sort.cu"
#define SORT_TYPE          unsigned int
#define SORT_VALUE         unsigned int
#define SORT_STEM          u32_u32_
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 11
#include "merge_sort.cu"

// ---- contests -------------------------------------------------------------------------------------

struct before {
    template <typename K> __device__ bool operator()(const K &a, const K &b) const
    {
        return a < b;
    }
};

// The copies' functions are those of StableSortKeys and StableSortPairs, without a copy before.
template <typename K, typename V>
static cudaError_t run_cub(void *scratch, size_t &bytes, const K *in, K *out, const V *in_values,
                           V *out_values, size_t n, cudaStream_t stream)
{
    return sizeof(V) >= 4
               ? cub::DeviceMergeSort::SortPairsCopy(scratch, bytes, in, in_values, out, out_values,
                                                     (long long)n, before(), stream)
               : cub::DeviceMergeSort::StableSortKeysCopy(scratch, bytes, in, out, (long long)n,
                                                          before(), stream);
}

template <typename K, typename V>
static void sorts(bench &b, const char *type, const std::vector<sorter<K, V>> &list,
                  const std::vector<int> &exponents, shape of = RANDOM)
{
    sort_contests(b, "merge_sort", type, run_cub<K, V>, list, exponents, of);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Sorts by comparisons: coarsen's beside CUB's and a device copy.", "Gkeys/s", 10, 28});
    if (b.sweep) {
        sorts(b, "u32", bench_variants<sorter<unsigned int, none>>(), b.exponents(4));
        sorts(b, "u64", bench_variants<sorter<unsigned long long, none>>(), b.exponents(4));
        sorts(b, "u32 with u32", bench_variants<sorter<unsigned int, unsigned int>>(),
              b.exponents(4));
        return b.finish();
    }
    sorts(b, "u32", bench_rungs<sorter<unsigned int, none>>(), b.exponents(2));
    for (shape of : {SORTED, REVERSED, CONSTANT, FEW})
        sorts(b, "u32", bench_rungs<sorter<unsigned int, none>>(), b.exponents(8), of);
    sorts(b, "u64", bench_rungs<sorter<unsigned long long, none>>(), b.exponents(4));
    sorts(b, "double", bench_rungs<sorter<double, none>>(), b.exponents(4));
    sorts(b, "u32 with u32", bench_rungs<sorter<unsigned int, unsigned int>>(), b.exponents(4));
    sorts(b, "u64 with u32", bench_rungs<sorter<unsigned long long, unsigned int>>(),
          b.exponents(4));
    return b.finish();
}

#endif
