// SPDX-License-Identifier: MIT
//
// bench/sort.cu: keys, and keys with values, sorted by radix. sort.h and the rungs below it beside
// cub::DeviceRadixSort and a device copy; and keys that are not random. With --sweep: every pair of knobs of sort.h.
//
// The file includes itself, once for each type and once for each pair of knobs.

#if defined(                                                                                       \
    SORT_BLOCK_DIM) // ---- one pair of knobs -----------------------------------------------------

#define COARSEN_NAME  SORT_KNOBS_NAME(knobs)
#define COARSEN_TYPE  unsigned int
#define BLOCK_DIM     SORT_BLOCK_DIM
#define COARSE_FACTOR SORT_COARSE_FACTOR
#include <coarsen/sort.h>
static const bool COARSEN_JOIN(SORT_KNOBS_NAME(knobs), _added) = bench_add(
    bench_variants<sorter<unsigned int, none>>(),
    {"sort.h",
     "BLOCK_DIM=" SORT_TEXT(SORT_BLOCK_DIM) " COARSE_FACTOR=" SORT_TEXT(SORT_COARSE_FACTOR), 40,
     COARSEN_JOIN(SORT_KNOBS_NAME(knobs), _scratch_bytes),
     COARSEN_JOIN(SORT_KNOBS_NAME(knobs), _scratch_init),
     SORT_KEYS(SORT_KNOBS_NAME(knobs), unsigned int)});
#undef SORT_BLOCK_DIM
#undef SORT_COARSE_FACTOR

#elif defined(                                                                                     \
    SORT_TYPE) // ---- the rungs of one type of key, with values or without -----------------------

#ifdef SORT_LADDER
#define COARSEN_NAME COARSEN_JOIN(single_bit_, SORT_NAME)
#define COARSEN_TYPE SORT_TYPE
#include <coarsen/sort/single_bit.h>
RUNG(single_bit, "single_bit", 24);

#define COARSEN_NAME COARSEN_JOIN(local_, SORT_NAME)
#define COARSEN_TYPE SORT_TYPE
#include <coarsen/sort/local.h>
RUNG(local, "local", 24);

#define COARSEN_NAME COARSEN_JOIN(multi_bit_, SORT_NAME)
#define COARSEN_TYPE SORT_TYPE
#include <coarsen/sort/multi_bit.h>
RUNG(multi_bit, "multi_bit", 26);

#define COARSEN_NAME COARSEN_JOIN(coarsened_, SORT_NAME)
#define COARSEN_TYPE SORT_TYPE
#include <coarsen/sort/coarsened.h>
RUNG(coarsened, "coarsened", 28);
#undef SORT_LADDER
#endif

#define COARSEN_NAME COARSEN_JOIN(sort_, SORT_NAME)
#define COARSEN_TYPE SORT_TYPE
#ifdef SORT_VALUE
#define COARSEN_VALUE SORT_VALUE
#include <coarsen/sort.h>
static const bool COARSEN_JOIN(COARSEN_JOIN(pairs_, SORT_NAME), _added) =
    bench_add(bench_rungs<sorter<SORT_TYPE, SORT_VALUE>>(),
              {"sort.h", "", 40, COARSEN_JOIN(COARSEN_JOIN(sort_, SORT_NAME), _scratch_bytes),
               COARSEN_JOIN(COARSEN_JOIN(sort_, SORT_NAME), _scratch_init),
               COARSEN_JOIN(COARSEN_JOIN(sort_, SORT_NAME), _launch)});
#undef SORT_VALUE
#else
#include <coarsen/sort.h>
RUNG(sort, "sort.h", 40);
#endif
#undef SORT_TYPE
#undef SORT_NAME

#else // ---- the bench ------------------------------------------------------------------------------------

#include "sorts.h"

#include <cub/device/device_radix_sort.cuh>

#define RUNG(stem, kernel, max_exponent)                                                           \
    static const bool COARSEN_JOIN(COARSEN_JOIN(stem##_, SORT_NAME), _added) = bench_add(          \
        bench_rungs<sorter<SORT_TYPE, none>>(),                                                    \
        {kernel, "", max_exponent, COARSEN_JOIN(COARSEN_JOIN(stem##_, SORT_NAME), _scratch_bytes), \
         COARSEN_JOIN(COARSEN_JOIN(stem##_, SORT_NAME), _scratch_init),                            \
         SORT_KEYS(COARSEN_JOIN(stem##_, SORT_NAME), SORT_TYPE)})
#define SORT_KNOBS_NAME(stem)                                                                      \
    COARSEN_JOIN(COARSEN_JOIN(stem##_, SORT_BLOCK_DIM), COARSEN_JOIN(_, SORT_COARSE_FACTOR))

#define SORT_TYPE unsigned int
#define SORT_NAME u32
#define SORT_LADDER
#include "sort.cu"
#define SORT_TYPE unsigned char
#define SORT_NAME u8
#include "sort.cu"
#define SORT_TYPE unsigned short
#define SORT_NAME u16
#include "sort.cu"
#define SORT_TYPE unsigned long long
#define SORT_NAME u64
#include "sort.cu"
#define SORT_TYPE float
#define SORT_NAME f32
#include "sort.cu"
#define SORT_TYPE  unsigned int
#define SORT_VALUE unsigned int
#define SORT_NAME  u32_u32
#include "sort.cu"
#define SORT_TYPE  unsigned long long
#define SORT_VALUE unsigned int
#define SORT_NAME  u64_u32
#include "sort.cu"

#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 12
#include "sort.cu"
#define SORT_BLOCK_DIM     256
#define SORT_COARSE_FACTOR 16
#include "sort.cu"
#define SORT_BLOCK_DIM     384
#define SORT_COARSE_FACTOR 12
#include "sort.cu"
#define SORT_BLOCK_DIM     384
#define SORT_COARSE_FACTOR 16
#include "sort.cu"
#define SORT_BLOCK_DIM     384
#define SORT_COARSE_FACTOR 20
#include "sort.cu"
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 12
#include "sort.cu"
#define SORT_BLOCK_DIM     512
#define SORT_COARSE_FACTOR 16
#include "sort.cu"
#define SORT_BLOCK_DIM     1024
#define SORT_COARSE_FACTOR 8
#include "sort.cu"

// ---- contests -------------------------------------------------------------------------------------

template <typename K, typename V>
static cudaError_t run_cub(void *scratch, size_t &bytes, const K *in, K *out, const V *in_values,
                           V *out_values, size_t n, cudaStream_t stream)
{
    const int bits = 8 * (int)sizeof(K);
    return sizeof(V) >= 4
               ? cub::DeviceRadixSort::SortPairs(scratch, bytes, in, out, in_values, out_values,
                                                 (int)n, 0, bits, stream)
               : cub::DeviceRadixSort::SortKeys(scratch, bytes, in, out, (int)n, 0, bits, stream);
}

template <typename K, typename V>
static void sorts(bench &b, const char *type, const std::vector<sorter<K, V>> &list,
                  const std::vector<int> &exponents, shape of = RANDOM)
{
    sort_contests(b, "sort", type, run_cub<K, V>, list, exponents, of);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Sorts by radix: the rungs of coarsen's beside CUB's and a device copy.", "Gkeys/s",
             10, 28});
    if (b.sweep) {
        sorts(b, "u32", bench_variants<sorter<unsigned int, none>>(), b.exponents(4));
        return b.finish();
    }
    sorts(b, "u32", bench_rungs<sorter<unsigned int, none>>(), b.exponents(2));
    for (shape of : {SORTED, REVERSED, CONSTANT, FEW, SKEWED})
        sorts(b, "u32", bench_rungs<sorter<unsigned int, none>>(), b.exponents(8), of);
    sorts(b, "u8", bench_rungs<sorter<unsigned char, none>>(), b.exponents(4));
    sorts(b, "u16", bench_rungs<sorter<unsigned short, none>>(), b.exponents(4));
    sorts(b, "u64", bench_rungs<sorter<unsigned long long, none>>(), b.exponents(4));
    sorts(b, "float", bench_rungs<sorter<float, none>>(), b.exponents(4));
    sorts(b, "u32 with u32", bench_rungs<sorter<unsigned int, unsigned int>>(), b.exponents(4));
    sorts(b, "u64 with u32", bench_rungs<sorter<unsigned long long, unsigned int>>(),
          b.exponents(4));
    return b.finish();
}

#endif
