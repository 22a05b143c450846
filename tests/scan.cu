// SPDX-License-Identifier: MIT
//
// Every rung of the scan: right around every section and tile, for every operator and type, inclusive and
// exclusive, in place and at any alignment, in any order of blocks; and what it promises of errors,
// scratch and counts.
//
// The file includes itself, once for each rung.

// ---- one rung ----

#if defined(SCAN_HEADER)

#define COARSEN_NAME SCAN(default)
#define COARSEN_TYPE float
#include SCAN_HEADER

#define COARSEN_NAME  SCAN(sum)
#define COARSEN_TYPE  int
#define BLOCK_DIM     SCAN_LEAST
#define COARSE_FACTOR 1
#include SCAN_HEADER

#define COARSEN_NAME      SCAN(exact)
#define COARSEN_TYPE      double
#define COARSEN_EXCLUSIVE 1
#define BLOCK_DIM         96
#define COARSE_FACTOR     3
#include SCAN_HEADER

#define COARSEN_NAME      SCAN(product)
#define COARSEN_TYPE      unsigned long long
#define COARSEN_OP(a, b)  ((a) * (b))
#define COARSEN_IDENTITY  1
#define COARSEN_EXCLUSIVE 1
#define BLOCK_DIM         SCAN_LEAST
#define COARSE_FACTOR     1
#include SCAN_HEADER

#ifndef TEST_FIRST
#define COARSEN_NAME       SCAN(indices)
#define COARSEN_TYPE       signed char
#define COARSEN_ACC        int
#define COARSEN_LIFT(x, i) indices_lift(x, i)
#define BLOCK_DIM          64
#define COARSE_FACTOR      5
#include SCAN_HEADER

#define COARSEN_NAME      SCAN(triples)
#define COARSEN_TYPE      triple
#define COARSEN_OP        triple_add
#define COARSEN_IDENTITY  (triple{0, 0, 0})
#define COARSEN_EXCLUSIVE 1
#define BLOCK_DIM         64
#define COARSE_FACTOR     2
#include SCAN_HEADER
#endif

#define COARSEN_NAME       SCAN(composed)
#define COARSEN_TYPE       affine
#define COARSEN_LIFT(x, i) affine_lift(x, i)
#define COARSEN_OP         affine_then
#define COARSEN_IDENTITY   (affine{1, 0})
#define BLOCK_DIM          64
#define COARSE_FACTOR      3
#include SCAN_HEADER

#ifndef TEST_FIRST
#define COARSEN_NAME       SCAN(counters)
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter_lift(x, i)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define COARSEN_EXCLUSIVE  1
#define BLOCK_DIM          SCAN_LEAST
#define COARSE_FACTOR      4
#include SCAN_HEADER

#define COARSEN_NAME     SCAN(last)
#define COARSEN_TYPE     int
#define COARSEN_OP       last_of
#define COARSEN_IDENTITY 7
#define BLOCK_DIM        64
#define COARSE_FACTOR    2
#include SCAN_HEADER
#endif

#define COARSEN_NAME      SCAN(before)
#define COARSEN_TYPE      int
#define COARSEN_OP        last_of
#define COARSEN_IDENTITY  7
#define COARSEN_EXCLUSIVE 1
#define BLOCK_DIM         64
#define COARSE_FACTOR     2
#include SCAN_HEADER

#ifndef SIMT
#define COARSEN_NAME SCAN(bytes)
#define COARSEN_TYPE unsigned char
#define COARSEN_ACC  unsigned char
#include SCAN_HEADER
#endif

static void SCAN(check)(void)
{
    check_errors(RUNG(default, float, float));
    check_same_bits(RUNG(default, float, float), SCAN_SECTION(SCAN_DIM, SCAN_FACTOR, float));
    check(RUNG(sum, int, int), of_sum, SCAN_SECTION(SCAN_LEAST, 1, int), 40);
    check(RUNG(exact, double, double), of_exact, SCAN_SECTION(96, 3, double));
    check(RUNG(composed, affine, affine), of_composed, SCAN_SECTION(64, 3, affine), 9);
    check(RUNG(before, int, int), of_before, SCAN_SECTION(64, 2, int));
    check_one_scratch(RUNG(sum, int, int), 40 * SCAN_SECTION(SCAN_LEAST, 1, int));
#ifndef TEST_FIRST
    check(RUNG(product, unsigned long long, unsigned long long), of_product,
          SCAN_SECTION(SCAN_LEAST, 1, long long));
    check(RUNG(indices, signed char, int), of_indices, SCAN_SECTION(64, 5, int));
    check(RUNG(triples, triple, triple), of_triples, SCAN_SECTION(64, 2, triple));
    check(RUNG(counters, unsigned short, counter), of_counters,
          SCAN_SECTION(SCAN_LEAST, 4, long long));
    check(RUNG(last, int, int), of_last, SCAN_SECTION(64, 2, int));
    check_waits(RUNG(sum, int, int), 20 * SCAN_SECTION(SCAN_LEAST, 1, int));
#endif
#ifndef SIMT
    check_graph(RUNG(default, float, float));
    check_big(RUNG(bytes, unsigned char, unsigned char));
#endif
}

#undef SCAN
#undef SCAN_HEADER
#undef SCAN_SECTION
#undef SCAN_LEAST
#undef SCAN_DIM
#undef SCAN_FACTOR

#else // ---- the test ------------------------------------------------------------------------------

#include "device.h"
#include "operators.h"

#include <coarsen/base.h>

// Of block/, which single_pass.h is made of.
#if defined(TEST_look_back) || defined(TEST_pipeline) || defined(TEST_ticket)
#define TEST_single_pass 1
#endif

// ---- What is scanned -------------------------------------------------------------------------------

// Counts how often it is called.
static __device__ unsigned long long calls;
static inline __device__ int counted_add(int a, int b)
{
    atomicAdd(&calls, 1ULL);
    return a + b;
}
static __global__ void take_calls(unsigned long long *out)
{
    *out = calls;
    calls = 0;
}

// ---- Running one ----------------------------------------------------------------------------------

template <class T, class A> struct rung {
    const char *name;
    size_t (*scratch_bytes)(size_t);
    cudaError_t (*launch)(const T *, A *, size_t, void *, size_t, cudaStream_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
};
#define RUNG_OF(name, T, A)                                                                        \
    (rung<T, A>{#name, name##_scratch_bytes, name##_launch, name##_scratch_init})
#define RUNG_(name, T, A) RUNG_OF(name, T, A)
#define RUNG(stem, T, A)  RUNG_(SCAN(stem), T, A)

template <class A> struct launched {
    cudaError_t status;
    std::vector<A> result;
    bool clean; // guards intact
};

// `times` launches in a row on the same scratch; the result is the last one's.
template <class T, class A>
static launched<A> run(const rung<T, A> &r, const std::vector<T> &x, size_t in_offset = 0,
                       size_t out_offset = 0, bool in_place = false, int times = 1)
{
    const size_t n = x.size();
    const test_array in(n * sizeof(T), in_offset * sizeof(T));
    const test_array apart(in_place ? 0 : n * sizeof(A), out_offset * sizeof(A));
    const test_array scratch(r.scratch_bytes(n)), &out = in_place ? in : apart;
    launched<A> got;
    got.status = r.scratch_init(scratch.get(), scratch.bytes, 0);
    for (int i = 0; i < times && got.status == cudaSuccess; i++) {
        in.fill(x.data());
        got.status =
            r.launch((const T *)in.get(), (A *)out.get(), n, scratch.get(), scratch.bytes, 0);
    }
    if (got.status == cudaSuccess)
        got.status = cudaDeviceSynchronize();
    got.result.resize(n);
    if (got.status == cudaSuccess)
        out.read(got.result.data());
    got.clean = in.intact() && apart.intact() && scratch.intact();
    return got;
}

// What a scan is of, and what the host does for it.
template <class T, class A> struct problem {
    bool exclusive;
    A identity;
    A (*op)(A, A);
    A (*lift)(T, size_t);
    T (*make)(uint64_t);
};

static const problem<int, int> of_sum = {false, 0, plus<int>, itself<int>,
                                         [](uint64_t bits) { return (int)(bits % 2001) - 1000; }};
// Exact, so that the order in which it is added does not show.
static const problem<double, double> of_exact = {
    true, 0, plus<double>, itself<double>,
    [](uint64_t bits) { return (double)(int64_t)(bits >> 30) / 16; }};
// Of odd numbers, so that none of them is lost in the product.
static const problem<unsigned long long, unsigned long long> of_product = {
    true, 1, [](unsigned long long a, unsigned long long b) { return a * b; },
    itself<unsigned long long>, [](uint64_t bits) { return (unsigned long long)bits | 1; }};
static const problem<signed char, int> of_indices = {false, 0, plus<int>, indices_lift,
                                                     of_bits<signed char>};
static const problem<triple, triple> of_triples = {
    true, {0, 0, 0}, triple_add, itself<triple>, [](uint64_t bits) {
        return triple{(unsigned int)bits, (unsigned int)(bits >> 16), (unsigned int)(bits >> 32)};
    }};
static const problem<affine, affine> of_composed = {
    false, {1, 0}, affine_then, affine_lift, [](uint64_t bits) {
        return affine{(unsigned int)bits | 1, (unsigned int)(bits >> 32)};
    }};
static const problem<unsigned short, counter> of_counters = {true, counter(0, 0), counter_add,
                                                             counter_lift, of_bits<unsigned short>};
static const problem<int, int> of_last = {false, 7, last_of, itself<int>, of_bits<int>};
static const problem<int, int> of_before = {true, 7, last_of, itself<int>, of_bits<int>};

static const problem<wide, wide> of_wide = {
    false, {}, wide_add, itself<wide>, [](uint64_t bits) {
        return wide{{bits, bits >> 1, bits >> 2, bits >> 3, bits >> 4, bits >> 5}};
    }};

template <class T, class A>
static std::vector<A> expected(const problem<T, A> &p, const std::vector<T> &x)
{
    std::vector<A> want;
    A sum = p.identity;
    for (size_t i = 0; i < x.size(); i++) {
        const A next = p.op(sum, p.lift(x[i], i));
        want.push_back(p.exclusive ? sum : next);
        sum = next;
    }
    return want;
}

// Where an input is the result's own type, it is scanned in place too.
template <class T, class A> struct may_be_in_place {
    static const bool value = sizeof(T) == sizeof(A);
};

// One test: the rung against the host, around its sections, at random sizes and alignments, in every order of
// blocks. most: sections of the largest size.
template <class T, class A>
static void check(const rung<T, A> &r, const problem<T, A> &p, size_t section, size_t most = 4)
{
    std::vector<size_t> sizes = {0, 1, 2, 31, 33};
    for (size_t k = 1; k <= 3; k++)
        for (size_t n = k * section - 1; n <= k * section + 1; n++)
            sizes.push_back(n);
    for (uint64_t k = 0; k < 3; k++)
        sizes.push_back(1 + test_random(section, k) % (4 * section));
    sizes.push_back(most * section + 7);
    for (size_t s = 0; s < sizes.size(); s++) {
        const size_t n = sizes[s];
        std::vector<T> x(n);
        for (size_t i = 0; i < n; i++)
            x[i] = p.make(test_random(n, i));
        const std::vector<A> want = expected(p, x);
        // Every order at the last size, one of them in turn at the others.
        for (int k = 0; k < test_order_count(); k++) {
            if (s + 1 < sizes.size() && k != (int)(s % test_order_count()))
                continue;
            const char *order = test_order(k);
            const uint64_t bits = test_random(n, section + k);
            const size_t in_offset = bits % 131, out_offset = (bits >> 8) % 5;
            for (int in_place = 0; in_place <= (may_be_in_place<T, A>::value ? 1 : 0); in_place++) {
                const launched<A> got = run(r, x, in_offset, out_offset, in_place, 2);
                size_t wrong = 0;
                while (wrong < n && memcmp((const void *)&got.result[wrong],
                                           (const void *)&want[wrong], sizeof(A)) == 0)
                    wrong++;
                if (got.status != cudaSuccess || !got.clean || wrong < n) {
                    tap_ok(0, "%s: n = %zu, offsets %zu and %zu%s, %s: %s, first at %zu%s", r.name,
                           n, in_offset, out_offset, in_place ? ", in place" : "", order,
                           got.status != cudaSuccess ? cudaGetErrorString(got.status)
                                                     : "wrong result",
                           wrong, got.clean ? "" : ", wrote outside its arrays");
                    return;
                }
            }
        }
    }
    test_order(0);
    tap_ok(1, "%s: right at every size up to %zu", r.name, most * section + 7);
}

// So many tiles that the sums of many of them are summed up in turn.
template <class T, class A>
static void check_many(const rung<T, A> &r, const problem<T, A> &p, size_t n)
{
    std::vector<T> x(n);
    for (size_t i = 0; i < n; i++)
        x[i] = p.make(test_random(n, i));
    const std::vector<A> want = expected(p, x);
    const char *order = test_order(test_order_count() - 1);
    const launched<A> got = run(r, x);
    test_order(0);
    tap_ok(got.status == cudaSuccess && got.clean &&
               memcmp((const void *)got.result.data(), (const void *)want.data(), n * sizeof(A)) ==
                   0,
           "%s: n = %zu, %s", r.name, n, order);
}

// ---- What is promised beyond the result -----------------------------------------------------------

template <class T, class A> static void check_errors(const rung<T, A> &r)
{
    const size_t n = 100000, bytes = r.scratch_bytes(n);
    test_array in(n * sizeof(T)), out(n * sizeof(A)), scratch(bytes);
    const T *const x = (const T *)in.get();
    A *const y = (A *)out.get();
    bool ok = true;
    const auto wrong = [&](const T *from, A *to, size_t count, void *with, size_t with_bytes) {
        ok &= r.launch(from, to, count, with, with_bytes, 0) == cudaErrorInvalidValue;
    };
    wrong(NULL, y, n, scratch.get(), bytes);
    wrong(x, NULL, n, scratch.get(), bytes);
    wrong((const T *)((const char *)x + 1), y, n, scratch.get(), bytes);
    wrong(x, (A *)((char *)y + 1), n, scratch.get(), bytes);
    wrong(x, y, SIZE_MAX / sizeof(T), scratch.get(), SIZE_MAX);
    wrong(x, y, SIZE_MAX, scratch.get(), bytes);
    if (bytes > 0) {
        wrong(x, y, n, NULL, bytes);
        wrong(x, y, n, scratch.get(), bytes - 1);
        wrong(x, y, n, scratch.get(), 0);
        wrong(x, y, n, (char *)scratch.get() + 1, bytes);
    }
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", r.name);
    ok = r.launch(NULL, NULL, 0, scratch.get(), bytes, 0) == cudaSuccess;
    ok &= r.launch(x, y, 0, scratch.get(), bytes, 0) == cudaSuccess;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: no elements are no error", r.name);
    tap_ok(in.untouched() && out.untouched() && scratch.untouched(),
           "%s: wrong arguments and no elements write nothing", r.name);
    for (size_t m = 1; m <= n; m = m * 3 / 2 + 1)
        ok &= r.scratch_bytes(m) <= bytes;
    tap_ok(ok, "%s: scratch for n is enough for less", r.name);
}

// Of sums that round, so that another tree would show.
static void check_same_bits(const rung<float, float> &r, size_t section)
{
    std::vector<float> x(3 * section + 77), first;
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (float)((double)(int64_t)test_random(7, i) * 1e-19);
    bool same = true, near = true;
    for (int k = 0; k < 6; k++) {
        test_order(k % test_order_count());
        const launched<float> got = run(r, x);
        if (k == 0)
            first = got.result;
        same &= got.status == cudaSuccess &&
                memcmp(got.result.data(), first.data(), x.size() * sizeof(float)) == 0;
    }
    test_order(0);
    tap_ok(same, "%s: the same bits on every run, in every order of blocks", r.name);
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < x.size(); i++) {
        sum += (double)x[i], magnitude += x[i] < 0 ? -(double)x[i] : (double)x[i];
        const double error = first[i] - sum;
        near &= (error < 0 ? -error : error) <= 64 * 0x1p-24 * magnitude;
    }
    tap_ok(near, "%s: near the sums in double", r.name);
}

// A scratch for more serves for less, as it is, and then for more again.
static void check_one_scratch(const rung<int, int> &r, size_t n)
{
    const size_t bytes = r.scratch_bytes(n);
    const test_array in(n * sizeof(int)), out(n * sizeof(int)), scratch(bytes);
    std::vector<int> sums(n);
    bool ok = true;
    CHECK(r.scratch_init(scratch.get(), bytes, 0));
    test_order(test_order_count() - 1);
    int each = 1; // another one in each launch, so that what a launch left shows
    for (size_t m = n, round = 0; round < 2; m = m * 2 / 5, each++) {
        if (m == 0)
            m = n, round++;
        in.fill(std::vector<int>(n, each).data());
        CHECK(r.launch((int *)in.get(), (int *)out.get(), m, scratch.get(), bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(sums.data());
        for (size_t i = 0; i < m; i++)
            ok &= sums[i] == each * (int)(i + 1);
    }
    test_order(0);
    tap_ok(ok && scratch.intact(), "%s: one scratch serves any smaller n, and the largest again",
           r.name);
}

// A block may run long before the blocks whose sums it needs.
static void check_waits(const rung<int, int> &r, size_t n)
{
#ifdef SIMT
    if (r.scratch_bytes(1) == r.scratch_bytes(n)) // one block
        return;
    const std::vector<int> x(n, 1);
    const bool ok = test_interleaved(20, [&] {
        const launched<int> got = run(r, x);
        bool right = got.status == cudaSuccess;
        for (size_t i = 0; i < n; i++)
            right &= got.result[i] == (int)i + 1;
        return right;
    });
    tap_ok(ok, "%s: right in twenty orders of blocks that interleave", r.name);
#else
    (void)r, (void)n;
#endif
}

#ifdef SIMT
// A scratch that was not made ready ends the launch.
static void check_unready(const rung<int, int> &r, size_t n,
                          const std::vector<unsigned int> &words = {0xffffffffu, 0x01010101u})
{
    for (unsigned int word : words) {
        const simt_kind kind = test_unready(r.scratch_bytes(n), word, [&](void *scratch) {
            return r.launch((const int *)test_zeros(n * sizeof(int)),
                            (int *)test_zeros(n * sizeof(int)), n, scratch, r.scratch_bytes(n), 0);
        });
        tap_ok(kind == SIMT_TRAP, "%s: n = %zu, a scratch of words 0x%x: %s", r.name, n, word,
               simt_kind_name(kind));
    }
}
#endif

// ---- Only on a GPU --------------------------------------------------------------------------------

#ifndef SIMT

static void check_graph(const rung<float, float> &r)
{
    const size_t n = 100003;
    const std::vector<float> x(n, 1.0f);
    std::vector<float> sums(n);
    for (size_t i = 0; i < n; i++)
        sums[i] = (float)(i + 1);
    const test_array in(n * 4), out(n * 4), scratch(r.scratch_bytes(n));
    in.fill(x.data());
    CHECK(r.scratch_init(scratch.get(), scratch.bytes, 0));
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(r.launch((float *)in.get(), (float *)out.get(), n, scratch.get(), scratch.bytes,
                           stream));
        },
        [&] { return out.holds(sums); });
    tap_ok(ok, "%s: is captured in a graph and replayed", r.name);
}

static __global__ void count_wrong(const unsigned char *sums, size_t n, unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        if (sums[i] != (unsigned char)(i + 1))
            atomicAdd(wrong, 1ULL);
}

// More than 2^32 ones, in place; the sums are modulo 256.
static void check_big(const rung<unsigned char, unsigned char> &r)
{
    const size_t n = ((size_t)1 << 32) + 4099;
    if (!test_room("n > 2^32", n + r.scratch_bytes(n)))
        return;
    const test_array data(n, 1), scratch(r.scratch_bytes(n));
    unsigned char *const x = (unsigned char *)data.get();
    CHECK(cudaMemset(x, 1, n));
    CHECK(r.scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(r.launch(x, x, n, scratch.get(), scratch.bytes, 0));
    const unsigned long long found = test_count(count_wrong, x, n);
    tap_ok(found == 0, "%s: n = 2^32 + 4099: %llu are wrong", r.name, found);
}

#endif

// ---- The rungs ------------------------------------------------------------------------------------

// SCAN_LEAST: the fewest threads of a block. SCAN_DIM, SCAN_FACTOR: the defaults.
// SCAN_SECTION: the elements of a section, or, of single_pass.h, those of a tile of one row.

#if TESTED(kogge_stone)
#define SCAN(stem)                   kogge_stone_##stem
#define SCAN_HEADER                  <coarsen/scan/kogge_stone.h>
#define SCAN_SECTION(dim, factor, T) (dim)
#define SCAN_LEAST                   32
#define SCAN_DIM                     1024
#define SCAN_FACTOR                  1
#include "scan.cu"
#endif

#if TESTED(brent_kung)
#define SCAN(stem)                   brent_kung_##stem
#define SCAN_HEADER                  <coarsen/scan/brent_kung.h>
#define SCAN_SECTION(dim, factor, T) (2 * (dim))
#define SCAN_LEAST                   32
#define SCAN_DIM                     1024
#define SCAN_FACTOR                  1
#include "scan.cu"
#endif

#if TESTED(coarsened)
#define SCAN(stem)                   coarsened_##stem
#define SCAN_HEADER                  <coarsen/scan/coarsened.h>
#define SCAN_SECTION(dim, factor, T) ((dim) * (factor))
#define SCAN_LEAST                   32
#define SCAN_DIM                     256
#define SCAN_FACTOR                  7
#include "scan.cu"
#endif

#if TESTED(three_kernel)
#define SCAN(stem)                   three_kernel_##stem
#define SCAN_HEADER                  <coarsen/scan/three_kernel.h>
#define SCAN_SECTION(dim, factor, T) ((dim) * (factor))
#define SCAN_LEAST                   32
#define SCAN_DIM                     256
#define SCAN_FACTOR                  7
#include "scan.cu"
#endif

#if TESTED(chained)
#define SCAN(stem)                   chained_##stem
#define SCAN_HEADER                  <coarsen/scan/chained.h>
#define SCAN_SECTION(dim, factor, T) ((dim) * (factor))
#define SCAN_LEAST                   32
#define SCAN_DIM                     256
#define SCAN_FACTOR                  7
#include "scan.cu"
#endif

#if TESTED(single_pass)
#define SCAN(stem)                   scan_##stem
#define SCAN_HEADER                  <coarsen/scan.h>
#define SCAN_SECTION(dim, factor, T) ((dim)*COARSEN_VECTOR_ITEMS(T))
#define SCAN_LEAST                   64
#define SCAN_DIM                     512
#define SCAN_FACTOR                  4
#include "scan.cu"
#endif

#if TESTED(single_pass)
#define COARSEN_NAME     scan_wide
#define COARSEN_TYPE     wide
#define COARSEN_OP       wide_add
#define COARSEN_IDENTITY (wide{})
#define BLOCK_DIM        1024
#include <coarsen/scan.h>

#define COARSEN_NAME scan_large_block
#define COARSEN_TYPE int
#define BLOCK_DIM    1024
#include <coarsen/scan.h>
#endif

// ---- Counts ---------------------------------------------------------------------------------------

#if TESTED(kogge_stone)
#define COARSEN_NAME     kogge_stone_counted
#define COARSEN_TYPE     int
#define COARSEN_OP       counted_add
#define COARSEN_IDENTITY 0
#include <coarsen/scan/kogge_stone.h>
#endif

#if TESTED(brent_kung)
#define COARSEN_NAME     brent_kung_counted
#define COARSEN_TYPE     int
#define COARSEN_OP       counted_add
#define COARSEN_IDENTITY 0
#define BLOCK_DIM        512
#include <coarsen/scan/brent_kung.h>
#endif

#if TESTED(coarsened)
#define COARSEN_NAME     coarsened_counted
#define COARSEN_TYPE     int
#define COARSEN_OP       counted_add
#define COARSEN_IDENTITY 0
#define BLOCK_DIM        128
#define COARSE_FACTOR    8
#include <coarsen/scan/coarsened.h>

#define COARSEN_NAME     coarsened_odd
#define COARSEN_TYPE     int
#define COARSEN_OP       counted_add
#define COARSEN_IDENTITY 0
#define BLOCK_DIM        128
#define COARSE_FACTOR    7
#include <coarsen/scan/coarsened.h>
#endif

// The figures of docs/scan.md and docs/counts.md. One operation more than the literature has is for what is
// before a section.
static void check_counts(const rung<int, int> &r, size_t section, unsigned long long operations,
                         unsigned long long barriers, unsigned long long wavefronts,
                         unsigned long long conflicts)
{
    const test_array out(8);
    for (size_t sections = 1; sections <= 2; sections++) {
        const cudaLaunchConfig_t config = {dim3(1), dim3(1), 0, 0, NULL, 0};
        unsigned long long count = 0;
        run(r, std::vector<int>(section * sections, 1));
#ifdef SIMT
        simt_counts c;
        simt_last_counts(&c);
        tap_ok(c.barriers == sections * barriers, "%s: %llu barriers (%llu)", r.name, c.barriers,
               sections * barriers);
        tap_ok(c.shared_wavefronts == sections * wavefronts &&
                   c.shared_conflicts == sections * conflicts,
               "%s: %llu shared wavefronts (%llu), %llu of them conflicts (%llu)", r.name,
               c.shared_wavefronts, sections * wavefronts, c.shared_conflicts,
               sections * conflicts);
#else
        (void)barriers, (void)wavefronts, (void)conflicts;
#endif
        CHECK(cudaLaunchKernelEx(&config, take_calls, (unsigned long long *)out.get()));
        CHECK(cudaDeviceSynchronize());
        out.read(&count);
        tap_ok(count == sections * (operations + 1), "%s: %llu operations (%llu)", r.name, count,
               sections * (operations + 1));
    }
}

// Of ten sections of 1792 floats.
static void check_bytes(const rung<float, float> &r, unsigned long long bytes)
{
#ifdef SIMT
    simt_counts c;
    simt_reset_counts();
    run(r, std::vector<float>(17920, 1.0f));
    simt_total_counts(&c);
    tap_ok(c.global_bytes == bytes, "%s: %llu bytes (%llu)", r.name, c.global_bytes, bytes);
#else
    (void)r, (void)bytes;
#endif
}

// ---- All of it --------------------------------------------------------------------------------------

int main(void)
{
    test_begin();
#if TESTED(kogge_stone)
    kogge_stone_check();
#ifndef TEST_FIRST
    check_counts(RUNG_OF(kogge_stone_counted, int, int), 1024, 1024 * 10 - 1023, 10 + 1, 673, 0);
#endif
#endif
#if TESTED(brent_kung)
    brent_kung_check();
#ifndef TEST_FIRST
    check_counts(RUNG_OF(brent_kung_counted, int, int), 1024, 2 * 1024 - 2 - 10, 19 + 2, 1208, 915);
#endif
#endif
#if TESTED(coarsened)
    coarsened_check();
#ifndef TEST_FIRST
    check_counts(RUNG_OF(coarsened_counted, int, int), 1024,
                 (1024 - 128) + (128 * 7 - 127) + 127 * (8 - 1), 7 + 4, 1113, 840);
    check_counts(RUNG_OF(coarsened_odd, int, int), 896,
                 (896 - 128) + (128 * 7 - 127) + 127 * (7 - 1), 7 + 4, 245, 0);
#endif
#endif
#if TESTED(three_kernel)
    three_kernel_check();
#ifndef TEST_FIRST
    check_bytes(RUNG_OF(three_kernel_default, float, float), 281712);
#endif
#endif
#if TESTED(chained)
    chained_check();
#ifndef TEST_FIRST
    check_bytes(RUNG_OF(chained_default, float, float), 143576);
#endif
#ifdef SIMT
    check_unready(RUNG_OF(chained_sum, int, int), 20, {0xffffffffu, 0x01010101u, 3u});
    check_unready(RUNG_OF(chained_sum, int, int), 4099, {0xffffffffu, 0x01010101u, 3u});
#endif
#endif
#if TESTED(single_pass)
    check_many(RUNG_OF(scan_product, unsigned long long, unsigned long long), of_product,
               312 * 64 + 5); // two groups of tiles, and more
    check_many(RUNG_OF(scan_exact, double, double), of_exact, 60001);
#ifdef SIMT
    check_unready(RUNG_OF(scan_sum, int, int), 2000); // of the short kernel, and of the other
    check_unready(RUNG_OF(scan_sum, int, int), 50000);
#endif
    scan_check();
    for (size_t n : {1000, 4097, 20000})
        check_many(RUNG_OF(scan_wide, wide, wide), of_wide, n);
    for (size_t n : {4096, 16385, 70000})
        check_many(RUNG_OF(scan_large_block, int, int), of_sum, n);
#endif
    return tap_done();
}

#endif
