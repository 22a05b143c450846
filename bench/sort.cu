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
static const bool COARSEN_JOIN(SORT_KNOBS_NAME(knobs), _added) = add<unsigned int, none>(
    variants(),
    {"sort.h",
     "BLOCK_DIM=" SORT_TEXT(SORT_BLOCK_DIM) " COARSE_FACTOR=" SORT_TEXT(SORT_COARSE_FACTOR), 40,
     COARSEN_JOIN(SORT_KNOBS_NAME(knobs), _scratch_bytes),
     COARSEN_JOIN(SORT_KNOBS_NAME(knobs), _scratch_init),
     KEYS(SORT_KNOBS_NAME(knobs), unsigned int)});
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
    add<SORT_TYPE, SORT_VALUE>(rungs<SORT_TYPE, SORT_VALUE>(),
                               {"sort.h", "", 40,
                                COARSEN_JOIN(COARSEN_JOIN(sort_, SORT_NAME), _scratch_bytes),
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

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_radix_sort.cuh>

template <> struct bench_value<unsigned short> {
    __host__ __device__ static unsigned short of(uint64_t bits)
    {
        return (unsigned short)(bits >> 48);
    }
};
template <> struct bench_value<unsigned long long> {
    __host__ __device__ static unsigned long long of(uint64_t bits)
    {
        return (unsigned long long)bits;
    }
};

struct none { // of values
    char nothing;
};

template <typename K, typename V> struct rung {
    const char *kernel, *knobs;
    int max_exponent; // beyond, it takes too long
    std::function<size_t(size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init;
    std::function<cudaError_t(const K *, K *, const V *, V *, size_t, void *, size_t, cudaStream_t)>
        launch;
};

// The inclusions below register their rungs here.
template <typename K, typename V> static std::vector<rung<K, V>> &rungs()
{
    static std::vector<rung<K, V>> list;
    return list;
}

static std::vector<rung<unsigned int, none>> &variants()
{
    static std::vector<rung<unsigned int, none>> list;
    return list;
}

template <typename K, typename V> static bool add(std::vector<rung<K, V>> &list, rung<K, V> entry)
{
    list.push_back(entry);
    return true;
}

#define KEYS(name, K)                                                                              \
    [](const K *in, K *out, const none *, none *, size_t n, void *scratch, size_t bytes,           \
       cudaStream_t stream) {                                                                      \
        return COARSEN_JOIN(name, _launch)(in, out, n, scratch, bytes, stream);                    \
    }
#define RUNG(stem, kernel, max_exponent)                                                           \
    static const bool COARSEN_JOIN(COARSEN_JOIN(stem##_, SORT_NAME), _added) =                     \
        add<SORT_TYPE, none>(rungs<SORT_TYPE, none>(),                                             \
                             {kernel, "", max_exponent,                                            \
                              COARSEN_JOIN(COARSEN_JOIN(stem##_, SORT_NAME), _scratch_bytes),      \
                              COARSEN_JOIN(COARSEN_JOIN(stem##_, SORT_NAME), _scratch_init),       \
                              KEYS(COARSEN_JOIN(stem##_, SORT_NAME), SORT_TYPE)})
#define SORT_TEXT(a)  SORT_TEXT_(a)
#define SORT_TEXT_(a) #a
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

// ---- the data --------------------------------------------------------------------------------------------

// How keys are made of random bits and an index.
enum shape { RANDOM, SORTED, REVERSED, CONSTANT, FEW, SKEWED };
static const char *const shape_names[] = {"random",   "sorted",     "reversed",
                                          "constant", "few values", "skewed"};

template <typename K> __global__ void shape_keys(K *keys, size_t n, shape of)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += threads) {
        const double part = (double)(of == REVERSED ? n - 1 - i : i) / (double)n;
        const unsigned long long bits = bench_random(7, i);
        keys[i] = of == SORTED || of == REVERSED ? (K)(part * 250)
                  : of == CONSTANT               ? (K)77
                  : of == FEW                    ? (K)(bits % 5 * 40)
                  : bits % 16                    ? (K)1
                                                 : keys[i];
        if (sizeof(K) >= 4 && (of == SORTED || of == REVERSED))
            keys[i] = (K)(part * 4e9);
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
static void sorts(bench &b, const char *type, const std::vector<rung<K, V>> &list,
                  const std::vector<int> &exponents, shape of = RANDOM)
{
    const bool pairs = sizeof(V) >= 4;
    const double each = sizeof(K) + (pairs ? sizeof(V) : 0);
    for (int e : exponents) {
        const size_t n = (size_t)1 << e;
        if (!b.fits(4.5 * each * (double)n,
                    ("sort, " + std::string(type) + ", n = 2^" + std::to_string(e)).c_str()))
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

        bench_contest contest("sort", type, n);
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
            return pairs ? cub::DeviceRadixSort::SortPairs(scratch, bytes, (const K *)in, out,
                                                           (const V *)in_values, out_values, (int)n,
                                                           0, 8 * (int)sizeof(K), stream)
                         : cub::DeviceRadixSort::SortKeys(scratch, bytes, (const K *)in, out,
                                                          (int)n, 0, 8 * (int)sizeof(K), stream);
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

        for (const rung<K, V> &r : list) {
            if (e > r.max_exponent)
                continue;
            const size_t scratch_bytes = r.scratch_bytes(n);
            const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
            BENCH_CHECK(r.scratch_init(scratch.get(), scratch_bytes, 0));
            bench_entry entry = sorted;
            entry.kernel = r.kernel;
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
            {"Sorts by radix: the rungs of coarsen's beside CUB's and a device copy.", "Gkeys/s",
             10, 28});
    if (b.sweep) {
        sorts(b, "u32", variants(), b.exponents(4));
        return b.finish();
    }
    sorts(b, "u32", rungs<unsigned int, none>(), b.exponents(2));
    for (shape of : {SORTED, REVERSED, CONSTANT, FEW, SKEWED})
        sorts(b, "u32", rungs<unsigned int, none>(), b.exponents(8), of);
    sorts(b, "u8", rungs<unsigned char, none>(), b.exponents(4));
    sorts(b, "u16", rungs<unsigned short, none>(), b.exponents(4));
    sorts(b, "u64", rungs<unsigned long long, none>(), b.exponents(4));
    sorts(b, "float", rungs<float, none>(), b.exponents(4));
    sorts(b, "u32 with u32", rungs<unsigned int, unsigned int>(), b.exponents(4));
    sorts(b, "u64 with u32", rungs<unsigned long long, unsigned int>(), b.exponents(4));
    return b.finish();
}

#endif
