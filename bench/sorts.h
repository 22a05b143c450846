// SPDX-License-Identifier: MIT
//
// bench/sorts.h: sorts of keys, or of keys with values, beside each other: the lists that they are in, keys that are random
// or not, the check, and the contest.

#ifndef BENCH_SORTS_H
#define BENCH_SORTS_H

#include "harness.h"

#include <coarsen/base.h>

struct none { // of values
    char nothing;
};

// ---- the sorts -------------------------------------------------------------------------------------------

template <typename K, typename V> struct sorter {
    const char *kernel, *knobs;
    int max_exponent; // beyond, it takes too long
    std::function<size_t(size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init; // may be none
    std::function<cudaError_t(const K *, K *, const V *, V *, size_t, void *, size_t, cudaStream_t)>
        launch;
};

// NAME_launch of keys alone, as a sorter's.
#define SORT_KEYS(name, K)                                                                         \
    [](const K *in, K *out, const none *, none *, size_t n, void *scratch, size_t bytes,           \
       cudaStream_t stream) {                                                                      \
        return COARSEN_JOIN(name, _launch)(in, out, n, scratch, bytes, stream);                    \
    }
#define SORT_TEXT(a)  SORT_TEXT_(a)
#define SORT_TEXT_(a) #a

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
        keys[i] = of == SORTED || of == REVERSED ? (K)(part * (sizeof(K) < 4 ? 250 : 4e9))
                  : of == CONSTANT               ? (K)77
                  : of == FEW                    ? (K)(bits % 5 * 40)
                  : bits % 16                    ? (K)1
                                                 : keys[i];
    }
}

// ---- the check: order, the sum of a hash of the keys, and with values the keys that they came from -----------

template <typename K> __global__ void hash_keys(const K *keys, size_t n, unsigned long long *sum)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    unsigned long long mine = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += threads) {
        unsigned long long bits = 0;
        memcpy(&bits, keys + i, sizeof(K));
        mine += bench_mixed(bits + 1);
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

// The peer, CUB's, says how much scratch it needs where that is null.
template <typename K, typename V>
static void sort_contests(bench &b, const char *pattern, const char *type,
                          cudaError_t (*peer)(void *, size_t &, const K *, K *, const V *, V *,
                                              size_t, cudaStream_t),
                          const std::vector<sorter<K, V>> &list, const std::vector<int> &exponents,
                          shape of)
{
    const bool pairs = sizeof(V) >= 4;
    const double each = sizeof(K) + (pairs ? sizeof(V) : 0);
    for (int e : exponents) {
        const size_t n = (size_t)1 << e;
        if (!b.fits(4.5 * each * (double)n,
                    (pattern + std::string(", ") + type + ", n = 2^" + std::to_string(e)).c_str()))
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
        bench_number<<<2048, 256>>>(in_values, m);
        unsigned long long wanted = 0;
        BENCH_CHECK(cudaMemset(words, 0, 16));
        hash_keys<<<2048, 256>>>((const K *)in, n, words);
        BENCH_CHECK(cudaMemcpy(&wanted, words, 8, cudaMemcpyDeviceToHost));

        bench_contest contest(pattern, type, n);
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

        bench_entry copied = bench_copy(
            {{out, in, n * sizeof(K)}, {out_values, in_values, pairs ? n * sizeof(V) : 0}},
            sorted.poison);
        copied.work = sorted.work;
        contest.entries.push_back(copied);

        size_t cub_bytes = 0;
        BENCH_CHECK(peer(nullptr, cub_bytes, in, out, in_values, out_values, n, 0));
        const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
        bench_entry cub = sorted;
        cub.kernel = "CUB";
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return peer(cub_scratch.get(), bytes, in, out, in_values, out_values, n, stream);
        };
        contest.entries.push_back(cub);

        for (const sorter<K, V> &r : list) {
            if (e > r.max_exponent)
                continue;
            const size_t scratch_bytes = r.scratch_bytes(n);
            const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
            if (r.scratch_init)
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

#endif // BENCH_SORTS_H
