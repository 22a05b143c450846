// SPDX-License-Identifier: MIT
//
// bench/merge.cu: merges of two sorted arrays of n keys each. merge.h and the rungs below it beside
// cub::DeviceMerge::MergeKeys and ::MergePairs and a device copy. With --sweep: pairs of knobs of merge.h.
//
// The file includes itself, once for each type and once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME  SWEEP_NAME(keys)
#define COARSEN_TYPE  MERGE_SWEPT
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/merge.h>
static const bool COARSEN_JOIN(SWEEP_NAME(keys), _added) = bench_add(
    bench_variants<rung<MERGE_SWEPT, none>>(),
    {"merge.h", SWEEP_KNOBS, of_keys<MERGE_SWEPT, COARSEN_JOIN(SWEEP_NAME(keys), _launch)>});

#define COARSEN_NAME  SWEEP_NAME(pairs)
#define COARSEN_TYPE  MERGE_SWEPT
#define COARSEN_VALUE unsigned int
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/merge.h>
static const bool COARSEN_JOIN(SWEEP_NAME(pairs), _added) =
    bench_add(bench_variants<rung<MERGE_SWEPT, unsigned int>>(),
              {"merge.h", SWEEP_KNOBS,
               of_pairs<MERGE_SWEPT, unsigned int, COARSEN_JOIN(SWEEP_NAME(pairs), _launch)>});

// ---- one rung, for keys and for pairs of one type ----

#elif defined(MERGE_HEADER)

#define COARSEN_NAME COARSEN_JOIN(MERGE_NAME, _keys)
#define COARSEN_TYPE MERGE_TYPE
#include MERGE_HEADER
static const bool COARSEN_JOIN(MERGE_NAME, _keys_added) =
    bench_add(bench_rungs<rung<MERGE_TYPE, none>>(),
              {MERGE_KERNEL, "", of_keys<MERGE_TYPE, COARSEN_JOIN(MERGE_NAME, _keys_launch)>});

#define COARSEN_NAME  COARSEN_JOIN(MERGE_NAME, _pairs)
#define COARSEN_TYPE  MERGE_TYPE
#define COARSEN_VALUE MERGE_VALUE
#include MERGE_HEADER
static const bool COARSEN_JOIN(MERGE_NAME, _pairs_added) = bench_add(
    bench_rungs<rung<MERGE_TYPE, MERGE_VALUE>>(),
    {MERGE_KERNEL, "", of_pairs<MERGE_TYPE, MERGE_VALUE, COARSEN_JOIN(MERGE_NAME, _pairs_launch)>});

#undef MERGE_HEADER
#undef MERGE_KERNEL
#undef MERGE_NAME

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>

struct none { // in the place of a value
};

// Arrays of n keys each, and their values; out has room for 2 n.
template <typename T, typename V> struct arrays {
    const T *a, *b;
    T *out;
    const V *a_values, *b_values;
    V *out_values;
};

template <typename T, typename V> struct rung {
    const char *kernel, *knobs;
    cudaError_t (*launch)(arrays<T, V>, size_t, cudaStream_t);
};

template <typename T,
          cudaError_t (*launch)(const T *, size_t, const T *, size_t, T *, cudaStream_t)>
static cudaError_t of_keys(arrays<T, none> x, size_t n, cudaStream_t stream)
{
    return launch(x.a, n, x.b, n, x.out, stream);
}

template <typename T, typename V,
          cudaError_t (*launch)(const T *, const V *, size_t, const T *, const V *, size_t, T *,
                                V *, cudaStream_t)>
static cudaError_t of_pairs(arrays<T, V> x, size_t n, cudaStream_t stream)
{
    return launch(x.a, x.a_values, n, x.b, x.b_values, n, x.out, x.out_values, stream);
}

#define MERGE_TYPE   unsigned int
#define MERGE_VALUE  unsigned int
#define MERGE_HEADER <coarsen/merge/basic.h>
#define MERGE_KERNEL "basic"
#define MERGE_NAME   basic_u32
#include "merge.cu"
#define MERGE_HEADER <coarsen/merge/tiled.h>
#define MERGE_KERNEL "tiled"
#define MERGE_NAME   tiled_u32
#include "merge.cu"
#define MERGE_HEADER <coarsen/merge/circular.h>
#define MERGE_KERNEL "circular"
#define MERGE_NAME   circular_u32
#include "merge.cu"
#define MERGE_HEADER <coarsen/merge/pipelined.h>
#define MERGE_KERNEL "pipelined"
#define MERGE_NAME   pipelined_u32
#include "merge.cu"
#define MERGE_HEADER <coarsen/merge.h>
#define MERGE_KERNEL "merge.h"
#define MERGE_NAME   merge_u32
#include "merge.cu"
#undef MERGE_TYPE

#define MERGE_TYPE   unsigned char
#define MERGE_HEADER <coarsen/merge.h>
#define MERGE_KERNEL "merge.h"
#define MERGE_NAME   merge_u8
#include "merge.cu"
#undef MERGE_TYPE

#define MERGE_TYPE   unsigned short
#define MERGE_HEADER <coarsen/merge.h>
#define MERGE_KERNEL "merge.h"
#define MERGE_NAME   merge_u16
#include "merge.cu"
#undef MERGE_TYPE

#define MERGE_TYPE   float
#define MERGE_HEADER <coarsen/merge.h>
#define MERGE_KERNEL "merge.h"
#define MERGE_NAME   merge_f32
#include "merge.cu"
#undef MERGE_TYPE
#undef MERGE_VALUE

#define MERGE_TYPE   unsigned long long
#define MERGE_VALUE  unsigned long long
#define MERGE_HEADER <coarsen/merge.h>
#define MERGE_KERNEL "merge.h"
#define MERGE_NAME   merge_u64
#include "merge.cu"
#undef MERGE_TYPE
#undef MERGE_VALUE

#define SWEEP_LONG
#define MERGE_SWEPT   unsigned int
#define SWEEP_VARIANT "merge.cu"
#include "sweep.h"
#undef MERGE_SWEPT

// ---- data, and the check: a stable sort of a and b, one behind the other ---------------------------------

enum data { RANDOM, FEW, BELOW };
static const char *const data_names[] = {"random", "4 values", "a below b"};

template <typename T> __global__ void few_values(T *keys, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += gridDim.x * (size_t)256)
        keys[i] = (T)((unsigned long long)bench_random(2, i) % 4);
}

static __global__ void count_up(unsigned int *values, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += gridDim.x * (size_t)256)
        values[i] = (unsigned int)i;
}

// The value that goes with the key at that place among a and b.
__device__ static void value_of(unsigned int place, unsigned int *value)
{
    *value = place * 2654435761u;
}
__device__ static void value_of(unsigned int place, unsigned long long *value)
{
    *value = place * 0x9e3779b97f4a7c15ull;
}
__device__ static void value_of(unsigned int, none *)
{
}

template <typename V> __global__ void make_values(V *values, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += gridDim.x * (size_t)256)
        value_of((unsigned int)i, values + i);
}

__device__ static bool same(none, none)
{
    return true;
}
template <typename V> __device__ static bool same(V a, V b)
{
    return a == b;
}

template <typename T, typename V>
__global__ void check_merged(const T *out, const V *out_values, const T *wanted,
                             const unsigned int *places, size_t n, unsigned long long *first_wrong)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += gridDim.x * (size_t)256) {
        V value;
        value_of(places[i], &value);
        if (out[i] != wanted[i] || (sizeof(V) > 1 && !same(out_values[i], value)))
            atomicMin(first_wrong, (unsigned long long)i);
    }
}

template <typename T> static void sort_keys(T *keys, size_t n, T *other)
{
    size_t bytes = 0;
    BENCH_CHECK(cub::DeviceRadixSort::SortKeys(nullptr, bytes, keys, other, n));
    const std::shared_ptr<void> scratch = bench_alloc(bytes);
    BENCH_CHECK(cub::DeviceRadixSort::SortKeys(scratch.get(), bytes, keys, other, n));
    BENCH_CHECK(cudaMemcpy(keys, other, n * sizeof(T), cudaMemcpyDeviceToDevice));
}

// keys: a, and behind it b. other: the merged keys. places: where each of them was.
template <typename T> static void reference(const T *keys, size_t n, T *other, unsigned int *places)
{
    const std::shared_ptr<void> before = bench_alloc(2 * n * sizeof(unsigned int));
    size_t bytes = 0;
    count_up<<<1024, 256>>>((unsigned int *)before.get(), 2 * n);
    BENCH_CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, other,
                                                (const unsigned int *)before.get(), places, 2 * n));
    const std::shared_ptr<void> scratch = bench_alloc(bytes);
    BENCH_CHECK(cub::DeviceRadixSort::SortPairs(scratch.get(), bytes, keys, other,
                                                (const unsigned int *)before.get(), places, 2 * n));
    BENCH_CHECK(cudaDeviceSynchronize());
}

// ---- contests -------------------------------------------------------------------------------------

struct less {
    template <typename T> __host__ __device__ bool operator()(T a, T b) const
    {
        return a < b;
    }
};

template <typename T>
static cudaError_t cub_merge(void *scratch, size_t &bytes, arrays<T, none> x, size_t n,
                             cudaStream_t stream)
{
    return cub::DeviceMerge::MergeKeys(scratch, bytes, x.a, (int64_t)n, x.b, (int64_t)n, x.out,
                                       less(), stream);
}
template <typename T, typename V>
static cudaError_t cub_merge(void *scratch, size_t &bytes, arrays<T, V> x, size_t n,
                             cudaStream_t stream)
{
    return cub::DeviceMerge::MergePairs(scratch, bytes, x.a, x.a_values, (int64_t)n, x.b,
                                        x.b_values, (int64_t)n, x.out, x.out_values, less(),
                                        stream);
}

template <typename T, typename V>
static void merges(bench &b, const char *type, data which, const std::vector<rung<T, V>> &list,
                   const std::vector<int> &exponents)
{
    const size_t value = sizeof(V) > 1 ? sizeof(V) : 0, pair = sizeof(T) + value;
    std::vector<int> sizes;
    for (int e : exponents)
        if (b.fits((6.2 * sizeof(T) + 4.2 * (double)value + 24) * (double)(1ull << e),
                   ("merge, " + std::string(type) + ", n = 2^" + std::to_string(e)).c_str()))
            sizes.push_back(e);
    for (int e : sizes) {
        const size_t n = (size_t)1 << e;
        const std::shared_ptr<void> input = bench_alloc(2 * n * sizeof(T)),
                                    output = bench_alloc(2 * n * sizeof(T)),
                                    sorted = bench_alloc(2 * n * sizeof(T)),
                                    values = bench_alloc(2 * n * value),
                                    moved = bench_alloc(2 * n * value),
                                    places = bench_alloc(2 * n * sizeof(unsigned int));
        T *const keys = (T *)input.get(), *const wanted = (T *)sorted.get();
        if (which == FEW)
            few_values<<<1024, 256>>>(keys, 2 * n);
        else
            bench_fill(keys, 2 * n, 1);
        if (which == BELOW) {
            sort_keys(keys, 2 * n, wanted);
        } else {
            sort_keys(keys, n, wanted);
            sort_keys(keys + n, n, wanted);
        }
        if (value > 0)
            make_values<<<1024, 256>>>((V *)values.get(), 2 * n);
        reference(keys, n, wanted, (unsigned int *)places.get());
        const V *const from = (const V *)values.get();
        const arrays<T, V> x = {keys, keys + n, (T *)output.get(),
                                from, from + n, (V *)moved.get()};

        bench_contest contest(value > 0 ? "merge pairs" : "merge", type, n);
        contest.data = data_names[which];
        bench_entry merge; // what all entries except the copy share
        merge.bytes = 4.0 * (double)n * (double)pair;
        merge.poison = [=] {
            BENCH_CHECK(cudaMemset(x.out, 0x7f, 2 * n * sizeof(T)));
            BENCH_CHECK(cudaMemset(x.out_values, 0x7f, 2 * n * value));
        };
        merge.check = [=](std::string *why) {
            return bench_all_right("element", why, [&](unsigned long long *wrong) {
                check_merged<<<1024, 256>>>(x.out, x.out_values, wanted,
                                            (const unsigned int *)places.get(), 2 * n, wrong);
            });
        };

        contest.entries.push_back(bench_copy(
            {{x.out, keys, 2 * n * sizeof(T)}, {x.out_values, from, 2 * n * value}}, merge.poison));

        // Its scratch is made outside the timing.
        size_t cub_bytes = 0;
        BENCH_CHECK(cub_merge(nullptr, cub_bytes, x, n, 0));
        const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
        bench_entry cub = merge;
        cub.kernel = "CUB";
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return cub_merge(cub_scratch.get(), bytes, x, n, stream);
        };
        contest.entries.push_back(cub);

        for (const rung<T, V> &r : list) {
            bench_entry entry = merge;
            entry.kernel = r.kernel;
            entry.knobs = r.knobs;
            const auto launch = r.launch;
            entry.launch = [=](cudaStream_t stream) { return launch(x, n, stream); };
            contest.entries.push_back(entry);
        }
        b.run(contest);
    }
}

int main(int argc, char **argv)
{
    typedef unsigned int u32;
    typedef unsigned long long u64;
    bench b(
        argc, argv,
        {"Merges of two sorted arrays of n keys each: the rungs of coarsen's merge beside CUB's "
         "and a device copy.",
         "", 16, 27});
    if (b.sweep) {
        merges(b, "uint32", RANDOM, bench_variants<rung<u32, none>>(), b.exponents(1));
        merges(b, "uint32", RANDOM, bench_variants<rung<u32, u32>>(), b.exponents(1));
        return b.finish();
    }
    for (data which : {RANDOM, FEW, BELOW}) {
        const int step = which == RANDOM ? 1 : 4;
        merges(b, "uint32", which, bench_rungs<rung<u32, none>>(), b.exponents(step));
        merges(b, "uint32", which, bench_rungs<rung<u32, u32>>(), b.exponents(step));
    }
    for (data which : {RANDOM, BELOW}) {
        merges(b, "uint8", which, bench_rungs<rung<unsigned char, none>>(), b.exponents(3));
        merges(b, "uint16", which, bench_rungs<rung<unsigned short, none>>(), b.exponents(3));
        merges(b, "float", which, bench_rungs<rung<float, none>>(), b.exponents(3));
        merges(b, "uint64", which, bench_rungs<rung<u64, none>>(), b.exponents(3));
    }
    merges(b, "uint8", RANDOM, bench_rungs<rung<unsigned char, u32>>(), b.exponents(3));
    merges(b, "uint16", RANDOM, bench_rungs<rung<unsigned short, u32>>(), b.exponents(3));
    merges(b, "float", RANDOM, bench_rungs<rung<float, u32>>(), b.exponents(3));
    merges(b, "uint64", RANDOM, bench_rungs<rung<u64, u64>>(), b.exponents(3));
    return b.finish();
}

#endif
