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
#define SORT_LIST     variants
#define BLOCK_DIM     SORT_BLOCK_DIM
#define COARSE_FACTOR SORT_COARSE_FACTOR
#else
#define SORT_NAME  SORT_STEM
#define SORT_KNOBS ""
#define SORT_LIST  sorts_of
#endif
#define COARSEN_NAME SORT_NAME
#define COARSEN_TYPE SORT_TYPE
#ifdef SORT_VALUE
#define COARSEN_VALUE SORT_VALUE
#include <coarsen/merge_sort.h>
static const bool COARSEN_JOIN(SORT_NAME, _added) = add<SORT_TYPE, SORT_VALUE>(
    SORT_LIST<SORT_TYPE, SORT_VALUE>(),
    {SORT_KNOBS, COARSEN_JOIN(SORT_NAME, _scratch_bytes), COARSEN_JOIN(SORT_NAME, _launch)});
#undef SORT_VALUE
#else
#include <coarsen/merge_sort.h>
static const bool COARSEN_JOIN(SORT_NAME, _added) = add<SORT_TYPE, none>(
    SORT_LIST<SORT_TYPE, none>(), {SORT_KNOBS, COARSEN_JOIN(SORT_NAME, _scratch_bytes),
                                   [](const SORT_TYPE *in, SORT_TYPE *out, const none *, none *,
                                      size_t n, void *scratch, size_t bytes, cudaStream_t stream) {
                                       return COARSEN_JOIN(SORT_NAME, _launch)(in, out, n, scratch,
                                                                               bytes, stream);
                                   }});
#endif
#undef SORT_TYPE
#undef SORT_STEM
#undef SORT_NAME
#undef SORT_KNOBS
#undef SORT_LIST
#undef SORT_BLOCK_DIM
#undef SORT_COARSE_FACTOR

#else // ---- the bench ------------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_merge_sort.cuh>

template <> struct bench_value<unsigned long long> {
    __host__ __device__ static unsigned long long of(uint64_t bits)
    {
        return (unsigned long long)bits;
    }
};

struct none { // of values
    char nothing;
};

struct before {
    template <typename K> __device__ bool operator()(const K &a, const K &b) const
    {
        return a < b;
    }
};

template <typename K, typename V> struct entry {
    const char *knobs;
    std::function<size_t(size_t)> scratch_bytes;
    std::function<cudaError_t(const K *, K *, const V *, V *, size_t, void *, size_t, cudaStream_t)>
        launch;
};

// The inclusions below register their sorts here: those with the default knobs, and the others.
template <typename K, typename V> static std::vector<entry<K, V>> &sorts_of()
{
    static std::vector<entry<K, V>> list;
    return list;
}

template <typename K, typename V> static std::vector<entry<K, V>> &variants()
{
    static std::vector<entry<K, V>> list;
    return list;
}

template <typename K, typename V> static bool add(std::vector<entry<K, V>> &list, entry<K, V> one)
{
    list.push_back(one);
    return true;
}

#define SORT_TEXT(a)  SORT_TEXT_(a)
#define SORT_TEXT_(a) #a

#define SORT_TYPE     unsigned int
#define SORT_STEM     u32
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

// ---- the data --------------------------------------------------------------------------------------------

// How keys are made of random bits and an index.
enum shape { RANDOM, SORTED, REVERSED, CONSTANT, FEW };
static const char *const shape_names[] = {"random", "sorted", "reversed", "constant", "few values"};

template <typename K> __global__ void shape_keys(K *keys, size_t n, shape of)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += threads) {
        const double part = (double)(of == REVERSED ? n - 1 - i : i) / (double)n;
        const unsigned long long bits = bench_random(7, i);
        keys[i] = of == CONSTANT ? (K)77 : of == FEW ? (K)(bits % 5 * 40) : (K)(part * 4e9);
    }
}

template <typename V> __global__ void number(V *values, size_t n)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += threads)
        memcpy(values + i, &i, sizeof(V) < 8 ? sizeof(V) : 8);
}

// ---- the check: order, the sum of a hash of the keys, and with values the keys that they came from -----------

__device__ static unsigned long long mixed(unsigned long long x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

template <typename K> __global__ void hash_keys(const K *keys, size_t n, unsigned long long *sum)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    unsigned long long mine = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += threads) {
        unsigned long long bits = 0;
        memcpy(&bits, keys + i, sizeof(K));
        mine += mixed(bits + 1);
    }
    atomicAdd(sum, mine);
}

template <typename K, typename V>
__global__ void check_order(const K *in, const K *out, const V *values, size_t n,
                            unsigned long long *first_wrong)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += threads) {
        bool ok = i == 0 || !(out[i] < out[i - 1]);
        if (sizeof(V) >=
            4) { // each value is the index that its key had; equal keys keep their order
            unsigned int from = 0, before = 0;
            memcpy(&from, values + i, 4);
            if (i > 0)
                memcpy(&before, values + i - 1, 4);
            ok = ok && in[from] == out[i] && (i == 0 || out[i - 1] < out[i] || before < from);
        }
        if (!ok)
            atomicMin(first_wrong, (unsigned long long)i);
    }
}

// ---- contests -------------------------------------------------------------------------------------

template <typename K, typename V>
static void sorts(bench &b, const char *type, const std::vector<entry<K, V>> &list,
                  const std::vector<int> &exponents, shape of = RANDOM)
{
    const bool pairs = sizeof(V) >= 4;
    const double each = sizeof(K) + (pairs ? sizeof(V) : 0);
    for (int e : exponents) {
        const size_t n = (size_t)1 << e;
        if (!b.fits(4.5 * each * (double)n,
                    ("merge_sort, " + std::string(type) + ", n = 2^" + std::to_string(e)).c_str()))
            continue;
        const size_t m = pairs ? n : 1;
        const std::shared_ptr<void> input = bench_alloc(n * sizeof(K)),
                                    output = bench_alloc(n * sizeof(K)),
                                    values = bench_alloc(m * sizeof(V)),
                                    output_values = bench_alloc(m * sizeof(V)),
                                    found = bench_alloc(16);
        K *const in = (K *)input.get(), *const out = (K *)output.get();
        V *const in_values = (V *)values.get(), *const out_values = (V *)output_values.get();
        unsigned long long *const words = (unsigned long long *)found.get();
        bench_fill(in, n, 1);
        if (of != RANDOM)
            shape_keys<<<2048, 256>>>(in, n, of);
        number<<<2048, 256>>>(in_values, m);
        unsigned long long wanted = 0;
        BENCH_CHECK(cudaMemset(words, 0, 16));
        hash_keys<<<2048, 256>>>((const K *)in, n, words);
        BENCH_CHECK(cudaMemcpy(&wanted, words, 8, cudaMemcpyDeviceToHost));

        bench_contest contest("merge_sort", type, n);
        contest.data = shape_names[of];
        bench_entry sorted; // what all entries except the copy share
        sorted.bytes = 2 * each * (double)n;
        sorted.work = (double)n;
        sorted.poison = [=] {
            BENCH_CHECK(cudaMemset(out, 0x7f, n * sizeof(K)));
            BENCH_CHECK(cudaMemset(out_values, 0x7f, m * sizeof(V)));
        };
        sorted.check = [=](std::string *why) {
            const unsigned long long begin[2] = {0, ~0ull};
            unsigned long long end[2];
            BENCH_CHECK(cudaMemcpy(words, begin, 16, cudaMemcpyHostToDevice));
            hash_keys<<<2048, 256>>>((const K *)out, n, words);
            check_order<<<2048, 256>>>((const K *)in, (const K *)out, (const V *)out_values, n,
                                       words + 1);
            BENCH_CHECK(cudaMemcpy(end, words, 16, cudaMemcpyDeviceToHost));
            *why = end[1] != ~0ull ? "element " + std::to_string(end[1]) : "other keys than before";
            return end[0] == wanted && end[1] == ~0ull;
        };

        bench_entry copied;
        copied.kernel = "copy";
        copied.bytes = sorted.bytes;
        copied.work = sorted.work;
        copied.launch = [=](cudaStream_t stream) {
            const cudaError_t status =
                cudaMemcpyAsync(out, in, n * sizeof(K), cudaMemcpyDeviceToDevice, stream);
            return !pairs || status != cudaSuccess
                       ? status
                       : cudaMemcpyAsync(out_values, in_values, n * sizeof(V),
                                         cudaMemcpyDeviceToDevice, stream);
        };
        copied.poison = sorted.poison;
        copied.check = [](std::string *) { return true; };
        contest.entries.push_back(copied);

        const auto run_cub = [=](void *scratch, size_t &bytes, cudaStream_t stream) {
            // The copies' functions are those of StableSortKeys and StableSortPairs, without a copy before.
            return pairs
                       ? cub::DeviceMergeSort::SortPairsCopy(scratch, bytes, (const K *)in,
                                                             (const V *)in_values, out, out_values,
                                                             (long long)n, before(), stream)
                       : cub::DeviceMergeSort::StableSortKeysCopy(
                             scratch, bytes, (const K *)in, out, (long long)n, before(), stream);
        };
        size_t cub_bytes = 0;
        BENCH_CHECK(run_cub(nullptr, cub_bytes, 0));
        const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
        bench_entry cub = sorted;
        cub.kernel = "CUB";
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return run_cub(cub_scratch.get(), bytes, stream);
        };
        contest.entries.push_back(cub);

        for (const entry<K, V> &r : list) {
            const size_t scratch_bytes = r.scratch_bytes(n);
            const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
            bench_entry entry = sorted;
            entry.kernel = "merge_sort.h";
            entry.knobs = r.knobs;
            entry.launch = [=](cudaStream_t stream) {
                return r.launch(in, out, in_values, out_values, n, scratch.get(), scratch_bytes,
                                stream);
            };
            contest.entries.push_back(entry);
        }
        b.run(contest);
    }
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Sorts by comparisons: coarsen's beside CUB's and a device copy.", "Gkeys/s", 10, 28});
    if (b.sweep) {
        sorts(b, "u32", variants<unsigned int, none>(), b.exponents(4));
        sorts(b, "u64", variants<unsigned long long, none>(), b.exponents(4));
        sorts(b, "u32 with u32", variants<unsigned int, unsigned int>(), b.exponents(4));
        return b.finish();
    }
    sorts(b, "u32", sorts_of<unsigned int, none>(), b.exponents(2));
    for (shape of : {SORTED, REVERSED, CONSTANT, FEW})
        sorts(b, "u32", sorts_of<unsigned int, none>(), b.exponents(8), of);
    sorts(b, "u64", sorts_of<unsigned long long, none>(), b.exponents(4));
    sorts(b, "double", sorts_of<double, none>(), b.exponents(4));
    sorts(b, "u32 with u32", sorts_of<unsigned int, unsigned int>(), b.exponents(4));
    sorts(b, "u64 with u32", sorts_of<unsigned long long, unsigned int>(), b.exponents(4));
    return b.finish();
}

#endif
