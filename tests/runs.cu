// SPDX-License-Identifier: MIT
//
// segmented/runs.h: right for runs of every length, keys and elements of every size, every operator, at any
// alignment, in any order of blocks; and what it promises of errors and scratch.

#include "device.h"
#include "operators.h"
#include "heads.h"

#include <coarsen/base.h>

typedef struct {
    int high;
    unsigned int low;
} pair_key;
typedef struct {
    unsigned int word[3];
} triple_key;
static inline __host__ __device__ bool operator==(triple_key a, triple_key b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1] && a.word[2] == b.word[2];
}
static inline __host__ __device__ bool same_pairs(pair_key a, pair_key b)
{
    return a.high == b.high && a.low == b.low;
}

// ---- The inclusions ---------------------------------------------------------------------------------

#define COARSEN_NAME  runs_sum
#define COARSEN_TYPE  int
#define COARSEN_KEY   unsigned int
#define BLOCK_DIM     64
#define COARSE_FACTOR 3
#include <coarsen/segmented.h>

#define COARSEN_NAME       runs_composed
#define COARSEN_TYPE       affine
#define COARSEN_KEY        short
#define COARSEN_LIFT(x, i) affine_lift(x, i)
#define COARSEN_OP         affine_then
#define COARSEN_IDENTITY   (affine{1, 0})
#define BLOCK_DIM          96
#define COARSE_FACTOR      2
#include <coarsen/segmented.h>

#define COARSEN_NAME       runs_indices
#define COARSEN_TYPE       signed char
#define COARSEN_KEY        int
#define COARSEN_SAME(a, b) ((b) - (a) < 10)
#define COARSEN_ACC        int
#define COARSEN_LIFT(x, i) indices_lift(x, i)
#define BLOCK_DIM          64
#define COARSE_FACTOR      3
#include <coarsen/segmented.h>

#define COARSEN_NAME     runs_last
#define COARSEN_TYPE     long long
#define COARSEN_ACC      int
#define COARSEN_KEY      pair_key
#define COARSEN_SAME     same_pairs
#define COARSEN_OP       last_of
#define COARSEN_IDENTITY 7
#define BLOCK_DIM        64
#define COARSE_FACTOR    1
#include <coarsen/segmented/runs.h>

#ifndef TEST_FIRST
#define COARSEN_NAME runs_default
#define COARSEN_TYPE float
#define COARSEN_KEY  int
#include <coarsen/segmented.h>

#define COARSEN_NAME     runs_triples
#define COARSEN_TYPE     triple
#define COARSEN_KEY      unsigned char
#define COARSEN_OP       triple_add
#define COARSEN_IDENTITY (triple{0, 0, 0})
#define BLOCK_DIM        64
#define COARSE_FACTOR    2
#include <coarsen/segmented/runs.h>

#define COARSEN_NAME       runs_counters
#define COARSEN_TYPE       unsigned short
#define COARSEN_KEY        triple_key
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter_lift(x, i)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#define COARSE_FACTOR      2
#include <coarsen/segmented.h>

#define COARSEN_NAME     runs_greatest
#define COARSEN_TYPE     double
#define COARSEN_KEY      long long
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(double)
#define BLOCK_DIM        64
#define COARSE_FACTOR    16
#include <coarsen/segmented.h>

#define COARSEN_NAME     runs_wide
#define COARSEN_TYPE     wide
#define COARSEN_KEY      float
#define COARSEN_OP       wide_add
#define COARSEN_IDENTITY (wide{{0, 0, 0, 0, 0, 0}})
#define BLOCK_DIM        64
#define COARSE_FACTOR    3
#include <coarsen/segmented.h>
#endif

#ifndef SIMT
#define COARSEN_NAME runs_bytes
#define COARSEN_TYPE unsigned char
#define COARSEN_KEY  unsigned char
#define COARSEN_ACC  unsigned char
#include <coarsen/segmented.h>
#endif

// K: of a key; T: of an element; A: of a result.
template <class K, class T, class A> struct kind {
    const char *name;
    size_t row; // elements that a block takes at once
    size_t (*scratch_bytes)(size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    cudaError_t (*launch)(const K *, const T *, size_t, K *, A *, unsigned long long *, void *,
                          size_t, cudaStream_t);
    A identity;
    A (*op)(A, A);
    A (*lift)(T, size_t);
    T (*make)(uint64_t);
    K (*key)(size_t run, size_t i); // another one for each of two runs that meet
};
#define KIND(stem, K, T, A, dim, ...)                                                              \
    (kind<K, T, A>{#stem, (dim)*COARSEN_VECTOR_ITEMS(T), stem##_scratch_bytes,                     \
                   stem##_scratch_init, stem##_launch, __VA_ARGS__})

static int narrowed(long long x, size_t)
{
    return (int)x;
}
static double greatest(double a, double b)
{
    return a < b ? b : a;
}
template <class K> static K number(size_t run, size_t)
{
    return (K)(run * 77 % 101);
}
static int rising(size_t run, size_t i) // by 1 in a run
{
    return (int)(run * 100 + i);
}
static pair_key pair_of(size_t run, size_t)
{
    return run % 2 ? pair_key{(int)(run % 3), 5} : pair_key{5, (unsigned int)(run % 7)};
}
static triple_key triple_key_of(size_t run, size_t)
{
    return triple_key{{1, 2, (unsigned int)run}};
}
static wide wide_of(uint64_t bits)
{
    return wide{{bits, bits + 1, bits + 2, bits + 3, bits + 4, bits + 5}};
}

// ---- Running one ----------------------------------------------------------------------------------

template <class K, class A> struct answer {
    std::vector<K> keys;
    std::vector<A> totals;
};

template <class K, class T, class A>
static answer<K, A> expected(const kind<K, T, A> &k, const std::vector<K> &keys,
                             const std::vector<T> &x, const std::vector<bool> &heads, size_t n)
{
    answer<K, A> want;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || heads[i]) {
            want.keys.push_back(keys[i]);
            want.totals.push_back(k.identity);
        }
        want.totals.back() = k.op(want.totals.back(), k.lift(x[i], i));
    }
    return want;
}

template <class T> static bool alike(const std::vector<T> &got, const std::vector<T> &want)
{
    return memcmp((const void *)got.data(), (const void *)want.data(), want.size() * sizeof(T)) ==
           0;
}

// The bits say how the arrays are aligned, and whether keys are written. One scratch, for n and, before that, for
// less. The results have room for as many as there are, and no more.
template <class K, class T, class A>
static bool check_once(const kind<K, T, A> &k, const layout &of, size_t n, uint64_t bits)
{
    const size_t in_offset = bits % 131, out_offset = (bits >> 8) % 5, at = (bits >> 32) % 5;
    const size_t keys_offset = (bits >> 16) % 2 ? in_offset : (bits >> 24) % 131; // alike, or not
    const bool no_keys = (bits >> 40) % 4 == 0;
    std::vector<T> x(n);
    std::vector<K> keys(n);
    std::vector<bool> heads(n);
    size_t run = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = k.make(test_random(n, i));
        heads[i] = of.head(test_random(n + 1, i), i, k.row);
        run += heads[i];
        keys[i] = k.key(run, i);
    }
    const test_array in(n * sizeof(T), in_offset * sizeof(T));
    const test_array from(n * sizeof(K), keys_offset * sizeof(K));
    const test_array scratch(k.scratch_bytes(n)), count(8);
    in.fill(x.data());
    from.fill(keys.data());
    CHECK(k.scratch_init(scratch.get(), scratch.bytes, 0));
    for (size_t m : {n - n / 3, n}) {
        const answer<K, A> want = expected(k, keys, x, heads, m);
        const size_t runs = want.keys.size();
        const test_array out(runs * sizeof(A), out_offset * sizeof(A));
        const test_array out_keys(runs * sizeof(K), at * sizeof(K));
        unsigned long long counted = 0;
        cudaError_t status = k.launch(
            (const K *)from.get(), (const T *)in.get(), m, no_keys ? NULL : (K *)out_keys.get(),
            (A *)out.get(), (unsigned long long *)count.get(), scratch.get(), scratch.bytes, 0);
        if (status == cudaSuccess)
            status = cudaDeviceSynchronize();
        answer<K, A> got = want;
        if (status == cudaSuccess) {
            count.read(&counted);
            out.read((void *)got.totals.data());
            out_keys.read((void *)got.keys.data());
        }
        const bool clean = in.intact() && from.intact() && scratch.intact() && count.intact() &&
                           out.intact() && out_keys.intact();
        const bool right_keys = no_keys ? out_keys.untouched() : alike(got.keys, want.keys);
        const bool right = alike(got.totals, want.totals);
        if (status == cudaSuccess && clean && counted == runs && right && right_keys)
            continue;
        tap_ok(0, "%s: n = %zu, runs: %s, offsets %zu, %zu, %zu and %zu: %s%s", k.name, m, of.name,
               keys_offset, in_offset, at, out_offset,
               status != cudaSuccess ? cudaGetErrorString(status)
               : counted != runs     ? "wrong count"
               : !right_keys         ? "wrong key"
               : !right              ? "wrong result"
                                     : "",
               clean ? "" : ", wrote outside its arrays");
        return false;
    }
    return true;
}

template <class K, class T, class A> static void check(const kind<K, T, A> &k, size_t most)
{
    check_layouts(k.name, k.row, most, [&](const layout &of, size_t n, uint64_t bits) {
        return check_once(k, of, n, bits);
    });
}

// ---- What is promised beyond the result -----------------------------------------------------------

template <class K, class T, class A> static void check_errors(const kind<K, T, A> &k)
{
    const size_t n = 10000, bytes = k.scratch_bytes(n);
    const test_array keys(n * sizeof(K)), in(n * sizeof(T)), out_keys(n * sizeof(K));
    const test_array out(n * sizeof(A)), count(16), scratch(bytes);
    const K *const at = (const K *)keys.get();
    const T *const x = (const T *)in.get();
    K *const to = (K *)out_keys.get();
    A *const y = (A *)out.get();
    unsigned long long *const c = (unsigned long long *)count.get();
    bool ok = true;
    const auto wrong = [&](const K *from, const T *elements, size_t m, K *runs, A *totals,
                           unsigned long long *counted, void *with, size_t with_bytes) {
        ok &= k.launch(from, elements, m, runs, totals, counted, with, with_bytes, 0) ==
              cudaErrorInvalidValue;
    };
    wrong(NULL, x, n, to, y, c, scratch.get(), bytes);
    wrong(at, NULL, n, to, y, c, scratch.get(), bytes);
    wrong(at, x, n, to, NULL, c, scratch.get(), bytes);
    wrong(at, x, n, to, y, NULL, scratch.get(), bytes);
    wrong((const K *)((const char *)at + 1), x, n, to, y, c, scratch.get(), bytes);
    wrong(at, (const T *)((const char *)x + 1), n, to, y, c, scratch.get(), bytes);
    wrong(at, x, n, (K *)((char *)to + 1), y, c, scratch.get(), bytes);
    wrong(at, x, n, to, (A *)((char *)y + 1), c, scratch.get(), bytes);
    wrong(at, x, n, to, y, (unsigned long long *)((char *)c + 4), scratch.get(), bytes);
    wrong(at, x, SIZE_MAX / sizeof(T), to, y, c, scratch.get(), SIZE_MAX);
    wrong(at, x, SIZE_MAX, to, y, c, scratch.get(), bytes);
    wrong(at, x, n, to, y, c, NULL, bytes);
    wrong(at, x, n, to, y, c, scratch.get(), bytes - 1);
    wrong(at, x, n, to, y, c, (char *)scratch.get() + 1, bytes);
    wrong(NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", k.name);
    tap_ok(keys.untouched() && in.untouched() && out_keys.untouched() && out.untouched() &&
               count.untouched() && scratch.untouched(),
           "%s: wrong arguments write nothing", k.name);
    unsigned long long counted[2] = {1, 1};
    ok = k.launch(NULL, NULL, 0, NULL, NULL, c, NULL, 0, 0) == cudaSuccess;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    count.read(counted);
    tap_ok(ok && counted[0] == 0, "%s: no elements have no runs", k.name);
    for (size_t m = 1; m <= n; m = m * 3 / 2 + 1)
        ok &= k.scratch_bytes(m) <= bytes;
    tap_ok(ok, "%s: scratch for n is enough for less", k.name);
}

#ifdef SIMT
static void check_trap(void)
{
    const size_t n = 5000, bytes = runs_sum_scratch_bytes(n);
    const simt_kind kind = test_unready(bytes, 0xffffffff, [&](void *scratch) {
        return runs_sum_launch((const unsigned int *)test_zeros(4 * n),
                               (const int *)test_zeros(4 * n), n, NULL, (int *)test_zeros(4 * n),
                               (unsigned long long *)test_zeros(8), scratch, bytes, 0);
    });
    tap_ok(kind == SIMT_TRAP, "a scratch that was not made ready: %s", simt_kind_name(kind));
}
#endif

#ifndef TEST_FIRST
// Of sums that round, so that another tree would show.
static void check_same_bits(size_t n)
{
    std::vector<float> x(n), first, next;
    std::vector<int> keys(n);
    const test_array in(n * 4), from(n * 4), scratch(runs_default_scratch_bytes(n)), count(8);
    std::vector<double> sum, magnitude;
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)((double)(int64_t)test_random(7, i) * 1e-19);
        keys[i] = (i > 0 ? keys[i - 1] : 0) + (test_random(8, i) % 3000 == 0);
        if (i == 0 || keys[i] != keys[i - 1])
            sum.push_back(0), magnitude.push_back(0);
        sum.back() += (double)x[i], magnitude.back() += x[i] < 0 ? -(double)x[i] : (double)x[i];
    }
    in.fill(x.data());
    from.fill(keys.data());
    const test_array out(sum.size() * 4);
    first.resize(sum.size()), next.resize(sum.size());
    CHECK(runs_default_scratch_init(scratch.get(), scratch.bytes, 0));
    bool same = true, near = true;
    for (int k = 0; k < 6; k++) {
        test_order(k % test_order_count());
        CHECK(runs_default_launch((const int *)from.get(), (const float *)in.get(), n, NULL,
                                  (float *)out.get(), (unsigned long long *)count.get(),
                                  scratch.get(), scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(k == 0 ? first.data() : next.data());
        same &= k == 0 || first == next;
    }
    test_order(0);
    tap_ok(same, "runs_default: the same bits on every run, in every order of blocks");
    for (size_t r = 0; r < sum.size(); r++) {
        const double error = first[r] - sum[r];
        near &= (error < 0 ? -error : error) <= 64 * 0x1p-24 * magnitude[r];
    }
    tap_ok(near, "runs_default: near the sums in double");
}
#endif

// ---- Only on a GPU --------------------------------------------------------------------------------

#ifndef SIMT

static void check_graph(void)
{
    const size_t n = 100003, length = 37, runs = (n + length - 1) / length;
    std::vector<int> x(n, 1), sums(runs, (int)length);
    std::vector<unsigned int> keys(n), of_runs(runs);
    sums.back() = (int)(n - (runs - 1) * length);
    for (size_t i = 0; i < n; i++)
        of_runs[i / length] = keys[i] = (unsigned int)(i / length * 3);
    const test_array in(n * 4), from(n * 4), out(runs * 4), out_keys(runs * 4), count(8);
    const test_array scratch(runs_sum_scratch_bytes(n));
    in.fill(x.data());
    from.fill(keys.data());
    CHECK(runs_sum_scratch_init(scratch.get(), scratch.bytes, 0));
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(runs_sum_launch((const unsigned int *)from.get(), (const int *)in.get(), n,
                                  (unsigned int *)out_keys.get(), (int *)out.get(),
                                  (unsigned long long *)count.get(), scratch.get(), scratch.bytes,
                                  stream));
        },
        [&] {
            return out.holds(sums) && out_keys.holds(of_runs) &&
                   count.holds(std::vector<unsigned long long>{runs});
        });
    tap_ok(ok, "runs_sum: is captured in a graph and replayed");
}

static __global__ void make_bytes(unsigned char *bytes, size_t n, size_t length)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        bytes[i] = (unsigned char)(i / length % 251);
}

static __global__ void count_wrong(const unsigned char *keys, const unsigned char *sums,
                                   size_t runs, size_t length, size_t n, unsigned long long *wrong)
{
    for (size_t r = blockIdx.x * (size_t)256 + threadIdx.x; r < runs;
         r += (size_t)gridDim.x * 256) {
        const size_t elements = r + 1 < runs ? length : n - r * length;
        if (keys[r] != r % 251 || sums[r] != (unsigned char)(r % 251 * elements))
            atomicAdd(wrong, 1ULL);
    }
}

// More than 2^32 elements that are their own keys, in as many runs as there are if one has `length` of them; the sums
// are modulo 256.
static void check_big(size_t length)
{
    const size_t n = ((size_t)1 << 32) + 4099, runs = (n + length - 1) / length;
    if (!test_room("n > 2^32", n + 2 * runs + runs_bytes_scratch_bytes(n)))
        return;
    const test_array x(n, 1), from(runs), to(runs);
    const test_array scratch(runs_bytes_scratch_bytes(n)), count(8);
    unsigned char *const in = (unsigned char *)x.get(), *const keys = (unsigned char *)from.get();
    unsigned char *const out = (unsigned char *)to.get();
    unsigned long long counted = 0;
    make_bytes<<<4096, 256>>>(in, n, length);
    CHECK(runs_bytes_scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(runs_bytes_launch(in, in, n, keys, out, (unsigned long long *)count.get(), scratch.get(),
                            scratch.bytes, 0));
    const unsigned long long found = test_count(count_wrong, keys, out, runs, length, n);
    count.read(&counted);
    tap_ok(found == 0 && counted == runs,
           "runs_bytes: n = 2^32 + 4099, runs of %zu: %llu of %zu, %llu wrong", length, counted,
           runs, found);
}

#endif

// ---- All of it --------------------------------------------------------------------------------------

int main(void)
{
    test_begin();
    const kind<unsigned int, int, int> runs_sum =
        KIND(runs_sum, unsigned int, int, int, 64, 0, plus<int>, itself<int>, of_bits<int>,
             number<unsigned int>);
    check_errors(runs_sum);
    check(runs_sum, 40);
    check(KIND(runs_composed, short, affine, affine, 96, affine{1, 0}, affine_then, affine_lift,
               affine_of, number<short>),
          30);
    check(KIND(runs_indices, int, signed char, int, 64, 0, plus<int>, indices_lift,
               of_bits<signed char>, rising),
          20);
#ifdef SIMT
    check_trap();
#endif
    check(KIND(runs_last, pair_key, long long, int, 64, 7, second<int>, narrowed,
               of_bits<long long>, pair_of),
          20);
#ifndef TEST_FIRST
    check_same_bits(75 * 1024 + 77);
    check(KIND(runs_default, int, float, float, 256, 0, plus<float>, itself<float>, small_float,
               number<int>),
          24);
    check(KIND(runs_triples, unsigned char, triple, triple, 64, triple{0, 0, 0}, triple_add,
               itself<triple>, triple_of, number<unsigned char>),
          30);
    check(KIND(runs_counters, triple_key, unsigned short, counter, 64, counter(0, 0), counter_add,
               counter_lift, of_bits<unsigned short>, triple_key_of),
          20);
    check(KIND(runs_greatest, long long, double, double, 64, COARSEN_LEAST(double), greatest,
               itself<double>, of_bits<double>, number<long long>),
          60);
    check(KIND(runs_wide, float, wide, wide, 64, wide{{0, 0, 0, 0, 0, 0}}, wide_add, itself<wide>,
               wide_of, number<float>),
          20);
#endif
#ifndef SIMT
    check_graph();
    check_big(1013);
    check_big(1);
#endif
    return tap_done();
}
