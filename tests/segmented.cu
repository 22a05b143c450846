// SPDX-License-Identifier: MIT
//
// Reductions of segments: right for segments of any lengths, for every operator and type, at any alignment,
// in any order of blocks; and what they promise of errors and scratch.

#include "device.h"
#include "operators.h"

#include <coarsen/base.h>

// ---- What is reduced ------------------------------------------------------------------------------

static inline __host__ __device__ affine affine_at(affine x, size_t i)
{
    x.b += (unsigned int)i;
    return x;
}

#if TESTED(offsets)

// COARSEN_FEW_TILES 0: runs, however few elements there are.
#define COARSEN_NAME      offsets_sum
#define COARSEN_TYPE      int
#define COARSEN_OFFSET    unsigned int
#define COARSEN_FEW_TILES 0
#define BLOCK_DIM         64
#define COARSE_FACTOR     1
#include <coarsen/segmented/offsets.h>

// A tile of 64 elements, and few warps: so each warp has many tiles one after the other.
#define COARSEN_NAME       offsets_small
#define COARSEN_TYPE       affine
#define COARSEN_LIFT(x, i) affine_at(x, i)
#define COARSEN_OP         affine_then
#define COARSEN_IDENTITY   (affine{1, 0})
#define COARSEN_FEW_TILES  0
#define BLOCK_DIM          32
#define COARSE_FACTOR      1
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME      offsets_last
#define COARSEN_TYPE      int
#define COARSEN_OP        last_of
#define COARSEN_IDENTITY  7
#define COARSEN_FEW_TILES 0
#define BLOCK_DIM         64
#define COARSE_FACTOR     2
#include <coarsen/segmented/offsets.h>

// Groups of segments, and many tiles of each.
#define COARSEN_NAME      offsets_few
#define COARSEN_TYPE      int
#define COARSEN_OFFSET    unsigned int
#define COARSEN_FEW_TILES 64
#define BLOCK_DIM         64
#define COARSE_FACTOR     1
#include <coarsen/segmented/offsets.h>

// Long segments of more elements than are few.
#define COARSEN_NAME       offsets_long
#define COARSEN_TYPE       affine
#define COARSEN_LIFT(x, i) affine_at(x, i)
#define COARSEN_OP         affine_then
#define COARSEN_IDENTITY   (affine{1, 0})
#define COARSEN_FEW_TILES  1
#define BLOCK_DIM          32
#define COARSE_FACTOR      3
#include <coarsen/segmented/offsets.h>

// The same where the order of the elements does not matter, but their indices do.
static inline __host__ __device__ unsigned int any_lift(short x, size_t i)
{
    return (unsigned int)x * 3 ^ (unsigned int)i;
}

#define COARSEN_NAME       offsets_any
#define COARSEN_TYPE       short
#define COARSEN_ACC        unsigned int
#define COARSEN_LIFT(x, i) any_lift(x, i)
#define COARSEN_OP         COARSEN_SUM
#define COARSEN_IDENTITY   0
#define COARSEN_COMMUTES   1
#define COARSEN_FEW_TILES  1
#define BLOCK_DIM          32
#define COARSE_FACTOR      3
#include <coarsen/segmented/offsets.h>

// Blocks sixteen times as large as small ones.
#define COARSEN_NAME       offsets_blocks
#define COARSEN_TYPE       short
#define COARSEN_ACC        unsigned int
#define COARSEN_LIFT(x, i) any_lift(x, i)
#define COARSEN_OP         COARSEN_SUM
#define COARSEN_IDENTITY   0
#define COARSEN_COMMUTES   1
#define COARSEN_FEW_TILES  1
#define BLOCK_DIM          1024
#define COARSE_FACTOR      1
#include <coarsen/segmented/offsets.h>

// A sum of what is no number: its + need not commute.
struct chained {
    unsigned int a, b;
};
static inline __host__ __device__ chained operator+(chained f, chained g)
{
    return chained{f.a * g.a, f.b * g.a + g.b};
}

#define COARSEN_NAME      offsets_chained
#define COARSEN_TYPE      chained
#define COARSEN_IDENTITY  (chained{1, 0})
#define COARSEN_FEW_TILES 1
#define BLOCK_DIM         32
#define COARSE_FACTOR     3
#include <coarsen/segmented/offsets.h>

// A block has several segments of few elements, or of many.
#define COARSEN_NAME      offsets_group
#define COARSEN_TYPE      int
#define COARSEN_OFFSET    unsigned int
#define COARSEN_FEW_TILES 8
#define BLOCK_DIM         256
#define COARSE_FACTOR     1
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME       offsets_group_lifted
#define COARSEN_TYPE       affine
#define COARSEN_LIFT(x, i) affine_at(x, i)
#define COARSEN_OP         affine_then
#define COARSEN_IDENTITY   (affine{1, 0})
#define COARSEN_FEW_TILES  8
#define BLOCK_DIM          256
#define COARSE_FACTOR      1
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME       offsets_few_lifted
#define COARSEN_TYPE       affine
#define COARSEN_LIFT(x, i) affine_at(x, i)
#define COARSEN_OP         affine_then
#define COARSEN_IDENTITY   (affine{1, 0})
#define COARSEN_FEW_TILES  64
#define BLOCK_DIM          96
#define COARSE_FACTOR      1
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME      offsets_few_last
#define COARSEN_TYPE      int
#define COARSEN_OP        last_of
#define COARSEN_IDENTITY  7
#define COARSEN_FEW_TILES 64
#define BLOCK_DIM         32
#define COARSE_FACTOR     2
#include <coarsen/segmented/offsets.h>

#ifndef TEST_FIRST
#define COARSEN_NAME offsets_default
#define COARSEN_TYPE float
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME     offsets_composed
#define COARSEN_TYPE     affine
#define COARSEN_OFFSET   long long
#define COARSEN_OP       affine_then
#define COARSEN_IDENTITY (affine{1, 0})
#define BLOCK_DIM        96
#define COARSE_FACTOR    3
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME       offsets_indices
#define COARSEN_TYPE       signed char
#define COARSEN_ACC        int
#define COARSEN_LIFT(x, i) indices_lift(x, i)
#define BLOCK_DIM          64
#define COARSE_FACTOR      2
#include <coarsen/segmented/offsets.h>
#endif

#ifndef TEST_ONLY
#define COARSEN_NAME     offsets_triples
#define COARSEN_TYPE     triple
#define COARSEN_OP       triple_add
#define COARSEN_IDENTITY (triple{0, 0, 0})
#define BLOCK_DIM        64
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME       offsets_counters
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter_lift(x, i)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          1024
#define COARSE_FACTOR      16
#include <coarsen/segmented/offsets.h>
#endif

#ifndef SIMT
#define COARSEN_NAME   offsets_bytes
#define COARSEN_TYPE   unsigned char
#define COARSEN_ACC    unsigned long long
#define COARSEN_OFFSET unsigned long long
#include <coarsen/segmented/offsets.h>
#endif

#endif

// Where runs of equal keys begin.
#if TESTED(offsets) && !defined(TEST_ONLY)
#define COARSEN_NAME       run_starts
#define COARSEN_TYPE       short
#define COARSEN_SAME(a, b) ((a) == (b))
#define COARSEN_OUT        unsigned int
#define COARSEN_LIFT(x, i) ((unsigned int)(i))
#include <coarsen/select.h>
#endif

template <class T, class A, class O> struct kind {
    const char *name;
    size_t tile; // elements that a warp takes at once
    size_t (*scratch_bytes)(size_t, size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    cudaError_t (*launch)(const T *, size_t, const O *, size_t, A *, void *, size_t, cudaStream_t);
    cudaError_t (*launch_counted)(const T *, size_t, O *, const unsigned long long *, size_t, A *,
                                  void *, size_t, cudaStream_t);
    A identity;
    A (*op)(A, A);
    A (*lift)(T, size_t);
    T (*make)(uint64_t);
};
#define KIND(stem, T, A, O, tile, ...)                                                             \
    (kind<T, A, O>{#stem, tile, stem##_scratch_bytes, stem##_scratch_init, stem##_launch,          \
                   stem##_launch_counted, __VA_ARGS__})

// ---- Running one ----------------------------------------------------------------------------------

struct lengths {
    const char *name;
    size_t (*of)(uint64_t bits, size_t s, size_t tile);
};

static const lengths all_lengths[] = {
    {"none", [](uint64_t, size_t, size_t) { return (size_t)0; }},
    {"1", [](uint64_t, size_t, size_t) { return (size_t)1; }},
    {"0 to 3", [](uint64_t bits, size_t, size_t) { return (size_t)(bits % 4); }},
    {"16", [](uint64_t, size_t, size_t) { return (size_t)16; }},
    {"0 to 100", [](uint64_t bits, size_t, size_t) { return (size_t)(bits % 101); }},
    {"about a tile", [](uint64_t bits, size_t, size_t tile) { return tile - 3 + bits % 5; }},
    {"a power law",
     [](uint64_t bits, size_t, size_t tile) { return tile * 3 / (1 + bits % (4 * tile)); }},
    {"one of many tiles between none",
     [](uint64_t, size_t s, size_t tile) { return s == 70 ? tile * 40 + 5 : (size_t)0; }},
};

// Of groups of two and three: some fill tiles of a block to the last element, some go on in the next tile but one.
static const lengths group_lengths[] = {
    {"a tile, and others",
     [](uint64_t bits, size_t s, size_t tile) { return s % 12 == 6 ? tile : (size_t)(bits % 3); }},
    {"two tiles and more",
     [](uint64_t bits, size_t s, size_t tile) {
         return s % 13 == 5 ? 2 * tile + bits % tile : (size_t)(bits % 3);
     }},
    {"0 to 100", [](uint64_t bits, size_t, size_t) { return (size_t)(bits % 101); }}};

// About two vectors for each thread of a small block, on average, if `tile` is as many elements as 2 KiB have.
static const lengths block_lengths[] = {
    {"some vectors",
     [](uint64_t bits, size_t, size_t tile) { return tile / 2 + (size_t)(bits % tile); }},
    {"some vectors or none", [](uint64_t bits, size_t s,
                                size_t tile) { return s % 3 == 1 ? (size_t)0 : tile + bits % 99; }},
    {"many tiles, and two, between some vectors", [](uint64_t bits, size_t s, size_t tile) {
         return s == 7 ? tile * 20 + 5 : s == 9 ? tile * 4 : tile * 3 / 4 + (size_t)(bits % 9);
     }}};

template <class A> struct reduced {
    cudaError_t status;
    std::vector<A> result;
    bool clean;
};

// most: 0, or the number of segments is in device memory, and there is room for that many, and the last offset,
// which is the number of elements, is not.
template <class T, class A, class O>
static reduced<A> run(const kind<T, A, O> &k, const std::vector<T> &x,
                      const std::vector<O> &offsets, size_t in_offset = 0, size_t out_offset = 0,
                      size_t most = 0)
{
    const size_t n = x.size(), segments = offsets.size() - 1;
    const size_t room = most > 0 ? most : segments;
    const unsigned long long count = segments;
    const test_array in(n * sizeof(T), in_offset * sizeof(T)), counted(8);
    const test_array at((room + 1) * sizeof(O));
    const test_array out(room * sizeof(A), out_offset * sizeof(A));
    const test_array scratch(k.scratch_bytes(n, room));
    std::vector<O> where(offsets);
    where.resize(room + 1);
    if (most > 0)
        where[segments] = 0;
    reduced<A> got;
    in.fill(x.data());
    at.fill(where.data());
    counted.fill(&count);
    got.status = k.scratch_init(scratch.get(), scratch.bytes, 0);
    const int times = n + segments < 10000 ? 2 : 1;
    for (int i = 0; i < times && got.status == cudaSuccess; i++)
        got.status = most > 0 ? k.launch_counted((const T *)in.get(), n, (O *)at.get(),
                                                 (const unsigned long long *)counted.get(), most,
                                                 (A *)out.get(), scratch.get(), scratch.bytes, 0)
                              : k.launch((const T *)in.get(), n, (const O *)at.get(), segments,
                                         (A *)out.get(), scratch.get(), scratch.bytes, 0);
    if (got.status == cudaSuccess)
        got.status = cudaDeviceSynchronize();
    got.result.resize(room);
    if (got.status == cudaSuccess)
        out.read(got.result.data());
    const unsigned char *const behind = (const unsigned char *)(got.result.data() + segments);
    got.clean = in.intact() && at.intact() && out.intact() && scratch.intact();
    for (size_t i = 0; i < (room - segments) * sizeof(A) && got.status == cudaSuccess; i++)
        got.clean &= behind[i] == POISON;
    return got;
}

template <class T, class A, class O>
static std::vector<A> expected(const kind<T, A, O> &k, const std::vector<T> &x,
                               const std::vector<O> &offsets)
{
    std::vector<A> want;
    for (size_t s = 0; s + 1 < offsets.size(); s++) {
        A sum = k.identity;
        for (size_t i = (size_t)offsets[s]; i < (size_t)offsets[s + 1]; i++)
            sum = k.op(sum, k.lift(x[i], i - (size_t)offsets[s]));
        want.push_back(sum);
    }
    return want;
}

// One test: segments of these lengths against the host, some of the array before and behind them, at random
// alignments, in every order of blocks.
template <class T, class A, class O>
static bool check_lengths(const kind<T, A, O> &k, const lengths &of, size_t segments, uint64_t seed)
{
    std::vector<O> offsets(1, (O)(test_random(seed, 1) % 3 == 0 ? test_random(seed, 2) % 100 : 0));
    for (size_t s = 0; s < segments; s++)
        offsets.push_back((O)((size_t)offsets[s] + of.of(test_random(seed + 5, s), s, k.tile)));
    const size_t most = seed % 3 == 0 ? segments + seed % 5 : 0;
    std::vector<T> x((size_t)offsets[segments] + (most > 0 ? 0 : test_random(seed, 3) % 4 * 7));
    for (size_t i = 0; i < x.size(); i++)
        x[i] = k.make(test_random(x.size(), i));
    const std::vector<A> want = expected(k, x, offsets);
    for (int order = (int)(seed % test_order_count()), o = 0; o < 2; o++, order++) {
        const char *name = test_order(order % test_order_count());
        const uint64_t bits = test_random(seed, 4 + o);
        const reduced<A> got = run(k, x, offsets, bits % 131, (bits >> 8) % 5, most);
        size_t wrong = 0;
        while (wrong < segments &&
               memcmp((const void *)&got.result[wrong], (const void *)&want[wrong], sizeof(A)) == 0)
            wrong++;
        if (got.status != cudaSuccess || !got.clean || wrong < segments) {
            tap_ok(0, "%s: %zu segments%s of lengths %s, %zu elements, %s: %s, first at %zu%s",
                   k.name, segments, most > 0 ? ", counted on the device," : "", of.name, x.size(),
                   name,
                   got.status != cudaSuccess ? cudaGetErrorString(got.status) : "wrong result",
                   wrong, got.clean ? "" : ", wrote outside its arrays");
            return false;
        }
    }
    return true;
}

template <class T, class A, class O> static void check(const kind<T, A, O> &k)
{
    uint64_t seed = 1;
    for (const lengths &of : all_lengths) {
        bool ok = true;
        for (size_t segments : {(size_t)1, (size_t)2, k.tile / 16 + 1, k.tile + 1, 3 * k.tile})
            if (segments * (of.of(seed, 0, k.tile) + 1) < 40 * k.tile || segments == 2)
                ok = ok && check_lengths(k, of, segments, seed++);
        if (ok)
            tap_ok(1, "%s: segments of lengths %s", k.name, of.name);
    }
    test_order(0);
}

// Enough for several tiles per warp, one after the other, in all blocks that the device can hold.
template <class T, class A, class O> static void check_long_runs(const kind<T, A, O> &k)
{
    int processors = 0;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    const size_t most = 4 * k.tile * 32 * (size_t)processors;
    uint64_t seed = 77;
    for (const lengths &of : all_lengths) {
        const bool one = &of == &all_lengths[sizeof(all_lengths) / sizeof(*all_lengths) - 1];
        const size_t tile = one ? most / 50 : k.tile;
        size_t segments = 0, n = 0;
        while (one ? segments < 300 : n + 4 * segments < most)
            n += of.of(test_random(seed + 5, segments), segments, tile), segments++;
        kind<T, A, O> larger = k;
        larger.tile = tile;
        if (check_lengths(larger, of, segments, seed++))
            tap_ok(1, "%s: %zu segments of lengths %s, in runs of many tiles", k.name, segments,
                   of.name);
    }
    test_order(0);
}

// ---- What is promised beyond the result -----------------------------------------------------------

template <class T, class A, class O> static void check_errors(const kind<T, A, O> &k)
{
    const size_t n = 10000, segments = 100, bytes = k.scratch_bytes(n, segments);
    const test_array in(n * sizeof(T)), at((segments + 1) * sizeof(O)), out(segments * sizeof(A));
    const test_array scratch(bytes);
    const T *const x = (const T *)in.get();
    const O *const offsets = (const O *)at.get();
    A *const y = (A *)out.get();
    bool ok = true;
    const auto wrong = [&](const T *from, size_t count, const O *where, size_t parts, A *to,
                           void *with, size_t with_bytes) {
        ok &= k.launch(from, count, where, parts, to, with, with_bytes, 0) == cudaErrorInvalidValue;
    };
    wrong(NULL, n, offsets, segments, y, scratch.get(), bytes);
    wrong(x, n, NULL, segments, y, scratch.get(), bytes);
    wrong(x, n, offsets, segments, NULL, scratch.get(), bytes);
    wrong((const T *)((const char *)x + 1), n, offsets, segments, y, scratch.get(), bytes);
    wrong(x, n, (const O *)((const char *)offsets + 1), segments, y, scratch.get(), bytes);
    wrong(x, n, offsets, segments, (A *)((char *)y + 1), scratch.get(), bytes);
    wrong(x, SIZE_MAX, offsets, segments, y, scratch.get(), SIZE_MAX);
    wrong(x, n, offsets, SIZE_MAX, y, scratch.get(), SIZE_MAX);
    wrong(x, SIZE_MAX / 2, offsets, SIZE_MAX / 2, y, scratch.get(), SIZE_MAX);
    wrong(x, n, offsets, segments, y, NULL, bytes);
    wrong(x, n, offsets, segments, y, scratch.get(), bytes - 1);
    wrong(x, n, offsets, segments, y, (char *)scratch.get() + 1, bytes);
    for (const size_t misaligned : {0, 4}) // null, or no place for a count
        ok &= k.launch_counted(x, n, (O *)at.get(), (const unsigned long long *)misaligned,
                               segments, y, scratch.get(), bytes, 0) == cudaErrorInvalidValue;
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", k.name);
    ok = k.launch(NULL, 0, NULL, 0, NULL, NULL, 0, 0) == cudaSuccess;
    ok &= k.launch(x, n, offsets, 0, y, scratch.get(), bytes, 0) == cudaSuccess;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: no segments are no error", k.name);
    tap_ok(in.untouched() && at.untouched() && out.untouched() && scratch.untouched(),
           "%s: wrong arguments and no segments write nothing", k.name);
    for (size_t m = 1; m <= n; m = m * 3 / 2 + 1)
        ok &= k.scratch_bytes(m, segments) <= bytes && k.scratch_bytes(m, m / 100) <= bytes;
    tap_ok(ok, "%s: scratch for n is enough for less", k.name);
}

// Of sums that round, so that another tree would show.
template <class O> static void check_same_bits(const kind<float, float, O> &k)
{
    std::vector<float> x(5 * k.tile + 77), first;
    for (size_t i = 0; i < x.size(); i++)
        x[i] = k.make(test_random(7, i));
    const std::vector<O> offsets = {0, 3, (O)(2 * k.tile), (O)x.size()};
    const std::vector<float> want = expected(k, x, offsets);
    bool same = true, near = true;
    for (int run_number = 0; run_number < 6; run_number++) {
        test_order(run_number % test_order_count());
        const reduced<float> got = run(k, x, offsets);
        if (run_number == 0)
            first = got.result;
        same &= got.status == cudaSuccess && memcmp(got.result.data(), first.data(), 12) == 0;
    }
    test_order(0);
    for (size_t s = 0; s < 3; s++)
        near &= first[s] - want[s] < 1 && want[s] - first[s] < 1;
    tap_ok(same, "%s: the same bits on every run, in every order of blocks", k.name);
    tap_ok(near, "%s: near the sums one by one", k.name);
}

// One scratch serves what is smaller, as it is, and what is larger again.
static void check_one_scratch(const kind<int, int, unsigned int> &k)
{
    const size_t n = 20 * k.tile, bytes = k.scratch_bytes(n, 3);
    const test_array in(n * 4), at(16), out(12), scratch(bytes);
    bool ok = true;
    CHECK(k.scratch_init(scratch.get(), bytes, 0));
    test_order(test_order_count() - 1);
    int each = 1, sums[3]; // another one in each launch, so that what a launch left shows
    for (size_t m : {n, n / 3, (size_t)5, n / 2, n}) {
        in.fill(std::vector<int>(n, each).data());
        at.fill(std::vector<unsigned int>{0, 1, (unsigned int)m - 1, (unsigned int)m}.data());
        CHECK(k.launch((int *)in.get(), m, (unsigned int *)at.get(), 3, (int *)out.get(),
                       scratch.get(), bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(sums);
        ok &= sums[0] == each && sums[1] == each * ((int)m - 2) && sums[2] == each;
        each++;
    }
    test_order(0);
    tap_ok(ok && scratch.intact(), "%s: one scratch serves what is smaller, and the largest again",
           k.name);
}

#if TESTED(offsets) && !defined(TEST_ONLY)
// Runs of equal keys: select.h finds where they begin and how many they are, and the launch after it reads both
// from device memory.
static void check_keys(const kind<int, int, unsigned int> &k, size_t n, unsigned int about)
{
    std::vector<short> keys(n);
    std::vector<int> x(n), want;
    for (size_t i = 0; i < n; i++) {
        x[i] = k.make(test_random(n, i));
        keys[i] = i > 0 && test_random(about, i) % about != 0 ? keys[i - 1]
                                                              : (short)(test_random(3, i) % 5);
        if (i == 0 || keys[i] != keys[i - 1])
            want.push_back(0);
        want.back() += x[i];
    }
    const test_array key(n * 2), in(n * 4), at((n + 1) * 4), count(8), out(n * 4);
    const test_array first(run_starts_scratch_bytes(n)), second(k.scratch_bytes(n, n));
    unsigned long long found = 0;
    std::vector<int> got(n);
    key.fill(keys.data());
    in.fill(x.data());
    CHECK(run_starts_scratch_init(first.get(), first.bytes, 0));
    CHECK(k.scratch_init(second.get(), second.bytes, 0));
    CHECK(run_starts_launch((short *)key.get(), (unsigned int *)at.get(), n,
                            (unsigned long long *)count.get(), first.get(), first.bytes, 0));
    CHECK(k.launch_counted((int *)in.get(), n, (unsigned int *)at.get(),
                           (unsigned long long *)count.get(), n, (int *)out.get(), second.get(),
                           second.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    count.read(&found);
    out.read(got.data());
    tap_ok(found == want.size() && memcmp(got.data(), want.data(), want.size() * 4) == 0,
           "%s: %zu elements, %llu runs of equal keys", k.name, n, found);
}
#endif

// No segments, counted on the device, write nothing.
static void check_none_counted(const kind<int, int, unsigned int> &k)
{
    const test_array in(400), at(40), out(40), count(8), scratch(k.scratch_bytes(100, 10));
    in.zero(), at.zero(), count.zero();
    CHECK(k.scratch_init(scratch.get(), scratch.bytes, 0));
    bool ok = k.launch_counted((int *)in.get(), 100, (unsigned int *)at.get(),
                               (unsigned long long *)count.get(), 10, (int *)out.get(),
                               scratch.get(), scratch.bytes, 0) == cudaSuccess;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok && out.untouched(), "%s: no segments, counted on the device", k.name);
}

// Segments that share blocks.
template <class T, class A, class O> static void check_groups(const kind<T, A, O> &k)
{
    int processors = 0;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    bool ok = true;
    for (const lengths &of : group_lengths)
        for (uint64_t seed = 1; seed <= 4; seed++)
            ok =
                ok && check_lengths(k, of, (size_t)processors * (16 + 8 * (seed % 2)) + seed, seed);
    test_order(0);
    if (ok)
        tap_ok(1, "%s: segments that share blocks", k.name);
}

// A block of so many threads per segment, for a few more segments than there is room for if blocks have more registers; and
// a small one, for more than there is room for at all, of few elements and of more.
template <class T, class A, class O>
static void check_blocks(const kind<T, A, O> &k, size_t threads)
{
    int processors = 0;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    const size_t room = (size_t)processors * (1024 / threads);
    kind<T, A, O> other = k;
    other.tile = 2048 / sizeof(T);
    bool ok = true;
    for (const lengths &of : block_lengths)
        for (uint64_t seed = 3; seed <= 6; seed++) {
            const size_t rooms = seed < 5 ? 1 : 2 * (seed - 4);
            ok = ok && check_lengths(other, of, rooms * room + seed, seed);
        }
    test_order(0);
    if (ok)
        tap_ok(1, "%s: blocks for segments of some vectors", k.name);
}

#ifdef SIMT
// What is not true of offsets ends the launch, and nothing is read or written out of bounds.
// behind: so many empty segments more.
static void check_wrong_offsets(const kind<int, int, unsigned int> &k, size_t n, size_t behind = 0)
{
    std::vector<std::vector<unsigned int>> lists = {
        {0, 5, 4, (unsigned int)n},
        {0, 5, (unsigned int)n + 1},
        {0, 0xffffffffu, 7},
        {(unsigned int)n, 0},
        {0, 3 * (unsigned int)n / 5, 7, 4 * (unsigned int)n / 5}};
    simt_print_reports(0);
    for (std::vector<unsigned int> &offsets : lists) {
        offsets.insert(offsets.end(), behind, offsets.back());
        void *scratch = NULL, *at = NULL;
        const size_t segments = offsets.size() - 1, bytes = k.scratch_bytes(n, segments);
        CHECK(cudaMalloc(&scratch, bytes));
        CHECK(cudaMemset(scratch, 0, bytes));
        CHECK(cudaMalloc(&at, offsets.size() * 4));
        CHECK(cudaMemcpy(at, offsets.data(), offsets.size() * 4, cudaMemcpyHostToDevice));
        cudaError_t status = k.launch((const int *)test_zeros(n * 4), n, (const unsigned int *)at,
                                      segments, (int *)test_zeros(segments * 4), scratch, bytes, 0);
        if (status == cudaSuccess)
            status = cudaDeviceSynchronize();
        const simt_kind what = simt_last_report()->kind;
        tap_ok(status != cudaSuccess && what == SIMT_TRAP,
               "%s: %zu elements, offsets %u, %u, ...: %s", k.name, n, offsets[0], offsets[1],
               simt_kind_name(what));
        cudaDeviceReset();
    }
    void *scratch = NULL, *count = NULL;
    const size_t bytes = k.scratch_bytes(n, 9);
    const unsigned long long more = 10;
    CHECK(cudaMalloc(&scratch, bytes));
    CHECK(cudaMemset(scratch, 0, bytes));
    CHECK(cudaMalloc(&count, 8));
    CHECK(cudaMemcpy(count, &more, 8, cudaMemcpyHostToDevice));
    cudaError_t status = k.launch_counted(
        (const int *)test_zeros(n * 4), n, (unsigned int *)test_zeros(40),
        (const unsigned long long *)count, 9, (int *)test_zeros(40), scratch, bytes, 0);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    tap_ok(status != cudaSuccess && simt_last_report()->kind == SIMT_TRAP,
           "%s: more segments, counted on the device, than there is room for: %s", k.name,
           simt_kind_name(simt_last_report()->kind));
    cudaDeviceReset();
    simt_print_reports(1);
}
#endif

// ---- Only on a GPU --------------------------------------------------------------------------------

#if !defined(SIMT) && TESTED(offsets)

static void check_graph(const kind<float, float, int> &k)
{
    const size_t n = 100003;
    const test_array in(n * 4), at(16), out(12), scratch(k.scratch_bytes(n, 3));
    in.fill(std::vector<float>(n, 1.0f).data());
    at.fill(std::vector<int>{0, 10, 10, (int)n}.data());
    CHECK(k.scratch_init(scratch.get(), scratch.bytes, 0));
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(k.launch((float *)in.get(), n, (int *)at.get(), 3, (float *)out.get(),
                           scratch.get(), scratch.bytes, stream));
        },
        [&] {
            return out.holds(std::vector<float>{10, 0, (float)(n - 10)});
        });
    tap_ok(ok, "%s: is captured in a graph and replayed", k.name);
}

// More than 2^32 ones.
static void check_big(void)
{
    const size_t n = ((size_t)1 << 32) + 4099;
    if (!test_room("n > 2^32", n + offsets_bytes_scratch_bytes(n, 3)))
        return;
    const test_array data(n, 1);
    unsigned char *const x = (unsigned char *)data.get();
    const unsigned long long offsets[] = {0, 5, n - 7, n};
    unsigned long long sums[3];
    const test_array scratch(offsets_bytes_scratch_bytes(n, 3)), at(sizeof offsets),
        out(sizeof sums);
    CHECK(cudaMemset(x, 1, n));
    at.fill(offsets);
    CHECK(offsets_bytes_scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(offsets_bytes_launch(x, n, (unsigned long long *)at.get(), 3,
                               (unsigned long long *)out.get(), scratch.get(), scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    out.read(sums);
    tap_ok(sums[0] == 5 && sums[1] == n - 12 && sums[2] == 7,
           "offsets_bytes: n = 2^32 + 4099: %llu, %llu and %llu", sums[0], sums[1], sums[2]);
}

#endif

int main(void)
{
    test_begin();
#if TESTED(offsets)
    const kind<int, int, unsigned int> sum =
        KIND(offsets_sum, int, int, unsigned int, 32 * 4, 0, plus<int>, itself<int>,
             [](uint64_t bits) { return (int)(bits % 2001) - 1000; });
    check_errors(sum);
    check_one_scratch(sum);
    check_none_counted(sum);
    const kind<int, int, unsigned int> few =
        KIND(offsets_few, int, int, unsigned int, 64 * 4, 0, plus<int>, itself<int>,
             [](uint64_t bits) { return (int)(bits % 2001) - 1000; });
    const kind<int, int, unsigned int> group =
        KIND(offsets_group, int, int, unsigned int, 256 * 4 - 4, 0, plus<int>, itself<int>,
             [](uint64_t bits) { return (int)(bits % 2001) - 1000; });
    check_one_scratch(few);
    check_groups(group);
    check_groups(KIND(offsets_group_lifted, affine, affine, int, 256 * 2 - 2, {1, 0}, affine_then,
                      affine_at, affine_of));
    check_blocks(group, 256);
    check_blocks(KIND(offsets_group_lifted, affine, affine, int, 0, {1, 0}, affine_then, affine_at,
                      affine_of),
                 256);
    check_blocks(KIND(offsets_blocks, short, unsigned int, int, 0, 0u, plus<unsigned int>, any_lift,
                      of_bits<short>),
                 1024);
    check_none_counted(few);
#ifdef SIMT
    check_wrong_offsets(sum, 5 * sum.tile);
    check_wrong_offsets(few, 5 * few.tile);
    check_wrong_offsets(few, few.tile / 2);
    check_wrong_offsets(group, 1000, 200);
#endif
    check(few);
    const kind<affine, affine, int> longs = KIND(offsets_long, affine, affine, int, 32 * 3 * 2,
                                                 {1, 0}, affine_then, affine_at, affine_of);
    if (check_lengths(longs, all_lengths[5], 300, 5) &&
        check_lengths(longs, all_lengths[7], 100, 6))
        tap_ok(1, "%s: long segments of many elements", longs.name);
    const kind<short, unsigned int, int> any =
        KIND(offsets_any, short, unsigned int, int, 32 * 3 * 8, 0u, plus<unsigned int>, any_lift,
             of_bits<short>);
    kind<short, unsigned int, int> longer = any; // several rounds of a block's threads
    longer.tile = 2500;
    if (check_lengths(longer, all_lengths[5], 60, 5) && check_lengths(any, all_lengths[7], 100, 6))
        tap_ok(1, "%s: long segments of many elements, in any order", any.name);
    test_order(0);
    check(any);
    const kind<chained, chained, int> sums =
        KIND(offsets_chained, chained, chained, int, 32 * 3 * 2, {1, 0}, plus<chained>,
             itself<chained>, [](uint64_t bits) {
                 return chained{(unsigned int)bits | 1, (unsigned int)(bits >> 32)};
             });
    if (check_lengths(sums, all_lengths[5], 300, 5))
        tap_ok(1, "%s: long segments of a class", sums.name);
    test_order(0);
    check(KIND(offsets_few_lifted, affine, affine, int, 96 * 2, {1, 0}, affine_then, affine_at,
               affine_of));
    check(KIND(offsets_few_last, int, int, int, 32 * 2 * 4, 7, last_of, itself<int>, of_bits<int>));
    check(sum);
    check(KIND(offsets_last, int, int, int, 32 * 2 * 4, 7, last_of, itself<int>, of_bits<int>));
    check_long_runs(KIND(offsets_small, affine, affine, int, 32 * 2, {1, 0}, affine_then, affine_at,
                         affine_of));
#ifndef TEST_FIRST
    const kind<float, float, int> rounded =
        KIND(offsets_default, float, float, int, 32 * 5 * 4, 0.0f, plus<float>, itself<float>,
             [](uint64_t bits) { return (float)((double)(int64_t)bits * 1e-19); });
    check_same_bits(rounded);
    check(KIND(offsets_composed, affine, affine, long long, 32 * 3 * 2, {1, 0}, affine_then,
               itself<affine>, affine_of));
    check(KIND(offsets_indices, signed char, int, int, 32 * 2 * 16, 0, plus<int>, indices_lift,
               of_bits<signed char>));
#endif
#ifndef TEST_ONLY
    check(KIND(offsets_triples, triple, triple, int, 32 * 5, {0, 0, 0}, triple_add, itself<triple>,
               triple_of));
    check(KIND(offsets_counters, unsigned short, counter, int, 32 * 2 * 8, counter(0, 0),
               counter_add, counter_lift, of_bits<unsigned short>));
    check_keys(sum, 1, 1);
    check_keys(sum, 5000, 2);
    check_keys(sum, 20003, 700);
    check_keys(few, 5000, 2);
    check_keys(few, 20003, 700);
#endif
#ifndef SIMT
    check_graph(rounded);
    check_big();
#endif
#endif
    return tap_done();
}
