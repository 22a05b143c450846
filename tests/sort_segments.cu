// SPDX-License-Identifier: MIT
//
// Sorting many segments at once: right for segments of any lengths, around every length at which another way begins,
// for every type of key, with values and without, at any alignment, in place and not, in any order of blocks; and what
// it promises of errors, scratch and what it leaves as it was.

#include "device.h"
#include "operators.h"
#include "sorts.h"

#include <coarsen/base.h>

// A warp sorts 128 keys, and a block 256.
#define COARSEN_NAME      segs_pairs
#define COARSEN_FEW_WAVES 0
#define COARSEN_TYPE      int
#define COARSEN_VALUE     unsigned int
#define COARSEN_OFFSET    unsigned int
#define BLOCK_DIM         64
#define COARSE_FACTOR     4
#include <coarsen/sort_segments.h>

// 64 and 256: so teams of two and four warps.
#define COARSEN_NAME       segs_f32
#define COARSEN_TYPE       float
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          128
#define COARSE_FACTOR      2
#include <coarsen/sort_segments.h>

#ifndef TEST_FIRST
// 32, and no more: a block is a warp.
#define COARSEN_NAME      segs_i16
#define COARSEN_FEW_WAVES 0
#define COARSEN_TYPE      short
#define COARSEN_VALUE     triple
#define COARSEN_OFFSET    long long
#define BLOCK_DIM         32
#define COARSE_FACTOR     1
#include <coarsen/sort_segments.h>

#define COARSEN_NAME  segs_u8
#define COARSEN_TYPE  unsigned char
#define BLOCK_DIM     32
#define COARSE_FACTOR 8
#include <coarsen/sort_segments.h>

#define COARSEN_NAME  segs_u64
#define COARSEN_TYPE  unsigned long long
#define COARSEN_VALUE unsigned char
#define BLOCK_DIM     64
#define COARSE_FACTOR 2
#include <coarsen/sort_segments.h>

#define COARSEN_NAME       segs_f64
#define COARSEN_FEW_WAVES  0
#define COARSEN_TYPE       double
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          64
#define COARSE_FACTOR      16
#include <coarsen/sort_segments.h>

#define COARSEN_NAME segs_u32
#define COARSEN_TYPE unsigned int
#include <coarsen/sort_segments.h>
#endif

#ifndef SIMT
#define COARSEN_NAME   segs_big
#define COARSEN_TYPE   unsigned char
#define COARSEN_OFFSET unsigned long long
#include <coarsen/sort_segments.h>
#endif

#ifndef TEST_ONLY
#define COARSEN_NAME   segs_byte
#define COARSEN_TYPE   unsigned char
#define COARSEN_VALUE  unsigned char
#define COARSEN_OFFSET unsigned long long
#define BLOCK_DIM      256
#define COARSE_FACTOR  1
#include <coarsen/sort_segments.h>

#define COARSEN_NAME       segs_i64
#define COARSEN_TYPE       long long
#define COARSEN_VALUE      wide
#define COARSEN_DESCENDING 1
#define COARSEN_OFFSET     short
#define BLOCK_DIM          64
#define COARSE_FACTOR      8
#include <coarsen/sort_segments.h>

#define COARSEN_NAME  segs_large
#define COARSEN_TYPE  unsigned int
#define BLOCK_DIM     1024
#define COARSE_FACTOR 1
#include <coarsen/sort_segments.h>
#endif

// ---- Running one ----------------------------------------------------------------------------------

// A sort with values, or without: then V is char, and what is passed of values is not used.
template <class K, class V, class O> struct sorter {
    const char *name;
    size_t warp, tile; // keys that each sorts
    bool descending, values;
    size_t (*scratch_bytes)(size_t, size_t);
    size_t (*scratch_bytes_rows)(size_t, size_t);
    cudaError_t (*launch)(const K *, K *, const V *, V *, size_t, const O *, size_t, void *, size_t,
                          cudaStream_t);
    cudaError_t (*launch_rows)(const K *, K *, const V *, V *, size_t, size_t, void *, size_t,
                               cudaStream_t);
};

#define SORTER(name, threads, factor, descending, values)                                          \
#name, 32 * factor, threads *factor, descending, values, name##_scratch_bytes,                 \
        name##_scratch_bytes_rows
#define WITH_VALUES(name, K, V, O) name##_launch, name##_launch_rows
#define KEYS_ALONE(name, K, O)                                                                     \
    [](const K *in, K *out, const char *, char *, size_t n, const O *offsets, size_t segments,     \
       void *scratch, size_t bytes, cudaStream_t stream) {                                         \
        return name##_launch(in, out, n, offsets, segments, scratch, bytes, stream);               \
    },                                                                                             \
        [](const K *in, K *out, const char *, char *, size_t rows, size_t width, void *scratch,    \
           size_t bytes, cudaStream_t stream) {                                                    \
            return name##_launch_rows(in, out, rows, width, scratch, bytes, stream);               \
        }

// Whether launches do what they are to. ends: of the segments, and first where the first one begins. rows: they are rows,
// all of one length.
template <class K, class V, class O>
static bool right(const sorter<K, V, O> &s, const std::vector<K> &x, const std::vector<O> &ends,
                  bool rows, size_t in_offset, size_t out_offset, int in_place, const char **why,
                  int times = 1)
{
    const sort_arrays<K, V> arrays(x, s.values, in_offset, out_offset, in_place);
    const size_t n = arrays.n, segments = ends.size() - 1;
    const size_t width = rows && segments > 0 ? n / segments : 0;
    const test_array offsets(ends.size() * sizeof(O));
    const test_array scratch(rows ? s.scratch_bytes_rows(segments, width)
                                  : s.scratch_bytes(n, segments));
    cudaError_t status = cudaSuccess;
    offsets.fill(ends.data());
    for (int k = 0; k < times && status == cudaSuccess; k++) {
        arrays.fill();
        status =
            rows ? s.launch_rows(arrays.from, arrays.to, arrays.from_values, arrays.to_values,
                                 segments, width, scratch.get(), scratch.bytes, 0)
                 : s.launch(arrays.from, arrays.to, arrays.from_values, arrays.to_values, n,
                            (const O *)offsets.get(), segments, scratch.get(), scratch.bytes, 0);
    }
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    *why = status != cudaSuccess ? cudaGetErrorString(status)
           : !scratch.intact() || !offsets.intact()
               ? "wrote outside its scratch or offsets"
               : arrays.wrong(
                     [&](K a, K b) {
                         const uint64_t left = order_of(a), right = order_of(b);
                         return s.descending ? right < left : left < right;
                     },
                     ends);
    return !**why;
}

// One case of many, whose number chooses the rest.
template <class K, class V, class O>
static bool one(const sorter<K, V, O> &s, const std::vector<O> &ends, size_t behind, bool rows,
                size_t number, const char *what)
{
    const size_t n = (size_t)ends.back() + behind;
    const shape shapes[] = {RANDOM, FEW, SORTED, REVERSED, CONSTANT, NEARLY, GREATEST};
    const shape of = shapes[number % 7];
    const uint64_t bits = test_random(number, n);
    const size_t in_offset = bits % 131, out_offset = (bits >> 8) % 5;
    const int in_place = bits >> 16 & 3;
    const char *order = test_order((int)number % test_order_count()), *why;
    const bool ok =
        right(s, make<K>(of, n, number), ends, rows, in_offset, out_offset, in_place, &why, 2);
    test_order(0);
    if (!ok)
        tap_ok(0, "%s: %s, n = %zu, %zu segments, %s, offsets %zu and %zu%s, %s: %s", s.name, what,
               n, ends.size() - 1, shape_names[of], in_offset, out_offset,
               in_place == 0   ? ""
               : in_place == 1 ? ", keys in place"
               : in_place == 2 ? ", values in place"
                               : ", in place",
               order, why);
    return ok;
}

struct lengths {
    const char *name;
    size_t (*of)(uint64_t bits, size_t s, size_t warp, size_t tile);
};

static const lengths all_lengths[] = {
    {"all empty", [](uint64_t, size_t, size_t, size_t) { return (size_t)0; }},
    {"0 to 3", [](uint64_t bits, size_t, size_t, size_t) { return (size_t)(bits % 4); }},
    {"0 to 40", [](uint64_t bits, size_t, size_t, size_t) { return (size_t)(bits % 41); }},
    {"up to a warp's",
     [](uint64_t bits, size_t, size_t warp, size_t) { return (size_t)(bits % (warp + 1)); }},
    {"up to a tile",
     [](uint64_t bits, size_t, size_t, size_t tile) { return (size_t)(bits % (tile + 1)); }},
    {"up to a tile, some of them whole",
     [](uint64_t bits, size_t s, size_t, size_t tile) {
         return s % 4 < 2 ? tile >> s % 4 : (size_t)(bits % (tile / 4 + 1));
     }},
    {"a power law", [](uint64_t bits, size_t, size_t,
                       size_t tile) { return (size_t)(5 * tile / (1 + bits % (5 * tile))); }},
    {"two tiles, and more than one, among short ones",
     [](uint64_t bits, size_t s, size_t warp, size_t tile) {
         return s % 12 == 1   ? 2 * tile - 1 + bits % 3
                : s % 12 == 7 ? tile + 1 + bits % tile
                              : (size_t)(bits % (warp + 1) / 4);
     }},
    {"more than a tile among those of some warps",
     [](uint64_t bits, size_t s, size_t warp, size_t tile) {
         return s % 4 == 1 ? 2 * tile + 1 + bits % tile
                           : (size_t)(warp + 1 + bits % (tile - warp + 1));
     }},
    {"few long among tiny ones",
     [](uint64_t bits, size_t s, size_t, size_t tile) {
         return s % 120 == 20 ? 4 * tile + 1 + bits % tile : (size_t)(bits % 6);
     }},
};

template <class K, class V, class O> static void check(const sorter<K, V, O> &s, size_t most = 7)
{
    const size_t limit = sizeof(O) == 2 ? 32767 : (size_t)1 << 40; // that an offset can tell
    size_t number = 0;
    bool ok = true;
    // Of one length, as rows and as segments.
    std::vector<size_t> sizes = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
    for (size_t k : {s.warp / 2, s.warp, 2 * s.warp, 3 * s.warp, s.tile, 2 * s.tile, 3 * s.tile,
                     4 * s.tile, most * s.tile})
        for (size_t width = k - 1; width <= k + 1; width++)
            sizes.push_back(width);
    for (size_t width : sizes) {
        const size_t rows = 1 + test_random(width, 5) % (width <= 64       ? 150
                                                         : width <= s.tile ? 9
                                                                           : 2);
        std::vector<O> ends;
        for (size_t r = 0; r <= rows && r * width <= limit; r++)
            ends.push_back((O)(r * width));
        if (width > 0 && ends.size() > 1) {
            ok = ok && one(s, ends, 0, true, number++, "rows");
            ok = ok && one(s, ends, width % 3, false, number++, "segments of one length");
        }
    }
    tap_ok(ok, "%s: rows, and segments of one length", s.name);
    const std::vector<size_t> around = {s.tile, s.tile + 5, 2 * s.tile - 1, 2 * s.tile,
                                        2 * s.tile + 1};
    for (size_t first : around) {
        const std::vector<O> two = {2, (O)(first + 2), (O)(first + 5)};
        const std::vector<O> four = {0, (O)first, (O)(first + 3), (O)(first + s.tile / 2),
                                     (O)(first + s.tile / 2 + 1)};
        ok = ok && one(s, two, 0, false, number++, "two segments");
        ok = ok && one(s, four, 0, false, number++, "four segments");
    }
    tap_ok(ok, "%s: few segments", s.name);
    // As many keys as blocks of fewer threads can sort, and one more, nearly all of them in one of so many segments that
    // some multiprocessors have two.
    int processors = 1;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    const size_t some = (size_t)(processors + (processors + 1) / 2);
    for (size_t n = 2 * s.tile; n >= s.tile / 8; n /= 2)
        for (size_t all = n; all <= n + 1; all++) {
            std::vector<O> ends;
            for (size_t i = 0; i <= some; i++)
                ends.push_back((O)(i <= some / 2 ? i * all / (50 * some)
                                                 : all - (some - i) * all / (50 * some)));
            ok = ok && one(s, ends, 0, false, number++, "one of some segments has nearly all");
        }
    tap_ok(ok, "%s: few keys", s.name);
    for (const lengths &of : all_lengths)
        for (size_t round = 0; round < 4 && ok; round++) {
            const size_t segments = round == 0   ? 1
                                    : round == 1 ? 150
                                                 : 1 + test_random(number, 3) % 150;
            std::vector<O> ends(
                1, (O)(round % 3 * 5)); // the first need not begin where the array does
            for (size_t e = 0; e < segments; e++) {
                const size_t end =
                    (size_t)ends[e] + of.of(test_random(number, e), e, s.warp, s.tile);
                if (end > std::min(limit, 16 * s.tile + 1000))
                    break;
                ends.push_back((O)end);
            }
            ok = ok && one(s, ends, round % 2 * 3, false, number++, of.name);
        }
    tap_ok(ok, "%s: segments of any lengths", s.name);
}

// So many segments that a block takes several, of many kinds.
template <class K, class V, class O> static void check_many(const sorter<K, V, O> &s)
{
#ifdef SIMT
    const size_t segments = 9000;
#else
    const size_t segments = 300000;
#endif
    bool ok = true;
    for (size_t number = 0; number < 2; number++) {
        std::vector<O> ends(1, 0);
        for (size_t e = 0; e < segments; e++) {
            const uint64_t bits = test_random(number, e);
            const size_t most = bits % 50 == 0 ? s.warp : bits % 60 == 1 ? s.tile : 11;
            ends.push_back((O)((size_t)ends[e] + (bits >> 12) % (most + 1)));
        }
        ok = ok && one(s, ends, 0, false, number, "many segments");
    }
    tap_ok(ok, "%s: many segments", s.name);
}

// In a large array, a block takes several tiles of a segment at once.
template <class K, class V, class O> static void check_chunks(const sorter<K, V, O> &s)
{
    bool ok = true;
    size_t number = 0;
    for (size_t tiles : {2048, 8192})
        for (int round = 0; round < 3; round++) {
            const std::vector<O> ends = {3, (O)(3 * s.tile), (O)(20 * s.tile + 7),
                                         (O)(20 * s.tile + 9), (O)(37 * s.tile)};
            ok = ok && one(s, ends, tiles * s.tile, false, number++, "chunks of tiles");
        }
    tap_ok(ok, "%s: several tiles of a segment at once", s.name);
}

#define PAIRS(name, threads, factor, descending, K, V, O)                                          \
    {                                                                                              \
        SORTER(name, threads, factor, descending, true), WITH_VALUES(name, K, V, O)                \
    }
#define KEYS(name, threads, factor, descending, K, O)                                              \
    {                                                                                              \
        SORTER(name, threads, factor, descending, false), KEYS_ALONE(name, K, O)                   \
    }

static const sorter<int, unsigned int, unsigned int> of_pairs =
    PAIRS(segs_pairs, 64, 4, false, int, unsigned int, unsigned int);
static const sorter<float, char, int> of_f32 = KEYS(segs_f32, 128, 2, true, float, int);
#ifndef TEST_FIRST
static const sorter<short, triple, long long> of_i16 =
    PAIRS(segs_i16, 32, 1, false, short, triple, long long);
static const sorter<unsigned char, char, int> of_u8 =
    KEYS(segs_u8, 32, 8, false, unsigned char, int);
static const sorter<unsigned long long, unsigned char, int> of_u64 =
    PAIRS(segs_u64, 64, 2, false, unsigned long long, unsigned char, int);
static const sorter<double, char, int> of_f64 = KEYS(segs_f64, 64, 16, true, double, int);
static const sorter<unsigned int, char, int> of_u32 =
    KEYS(segs_u32, 256, 16, false, unsigned int, int);
#endif
#ifndef TEST_ONLY
static const sorter<unsigned char, unsigned char, unsigned long long> of_byte =
    PAIRS(segs_byte, 256, 1, false, unsigned char, unsigned char, unsigned long long);
static const sorter<long long, wide, short> of_i64 =
    PAIRS(segs_i64, 64, 8, true, long long, wide, short);
static const sorter<unsigned int, char, int> of_large =
    KEYS(segs_large, 1024, 1, false, unsigned int, int);
#endif

// ---- What is promised beyond the result -----------------------------------------------------------

template <class K, class V, class O> static void check_errors(const sorter<K, V, O> &s)
{
    // Five tiles in one row or segment: so each launcher needs all of its scratch.
    const size_t rows = 1, width = 5 * s.tile, n = rows * width, segments = 9;
    const size_t bytes = s.scratch_bytes(n, segments), of_rows = s.scratch_bytes_rows(rows, width);
    const sort_arrays<K, V> arrays(std::vector<K>(n), s.values, 0, 0, 0);
    const test_array scratch(std::max(bytes, of_rows)), ends((segments + 1) * sizeof(O));
    const K *const x = arrays.from;
    K *const y = arrays.to;
    const V *const v = arrays.from_values;
    V *const w = arrays.to_values;
    const O *const at = (const O *)ends.get();
    bool ok = refuses(
        arrays, scratch.get(),
        [&](const K *from, K *to, const V *from_values, V *to_values, void *with, size_t less) {
            return s.launch(from, to, from_values, to_values, n, at, segments, with, bytes - less,
                            0);
        });
    ok &= refuses(
        arrays, scratch.get(),
        [&](const K *from, K *to, const V *from_values, V *to_values, void *with, size_t less) {
            return s.launch_rows(from, to, from_values, to_values, rows, width, with,
                                 of_rows - less, 0);
        });
    tap_ok(ok, "%s: wrong keys, values and scratch return cudaErrorInvalidValue", s.name);
    ok = true;
    const auto wrong = [&](size_t many, const O *offsets, size_t many_segments, size_t with) {
        ok &= s.launch(x, y, v, w, many, offsets, many_segments, scratch.get(), with, 0) ==
              cudaErrorInvalidValue;
    };
    wrong(n, NULL, segments, bytes);
    wrong(n, (const O *)((const char *)at + 1), segments, bytes);
    wrong(n, at, SIZE_MAX, SIZE_MAX);
    wrong(n, at, SIZE_MAX / sizeof(O), SIZE_MAX);
    wrong(SIZE_MAX, at, segments, SIZE_MAX);
    wrong(SIZE_MAX / sizeof(K), at, segments, SIZE_MAX);
    const auto wrong_rows = [&](size_t many, size_t many_wide, size_t with) {
        ok &= s.launch_rows(x, y, v, w, many, many_wide, scratch.get(), with, 0) ==
              cudaErrorInvalidValue;
    };
    wrong_rows((size_t)1 << 33, (size_t)1 << 33, SIZE_MAX);
    wrong_rows(8, ((size_t)1 << 61) + 1, SIZE_MAX); // 8, if it overflows
    wrong_rows(SIZE_MAX, 1, SIZE_MAX);
    wrong_rows(1, SIZE_MAX / sizeof(K), SIZE_MAX);
    tap_ok(ok, "%s: wrong sizes and offsets return cudaErrorInvalidValue", s.name);
    ok = s.launch(NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, 0) == cudaSuccess &&
         s.launch_rows(NULL, NULL, NULL, NULL, 0, 9, NULL, 0, 0) == cudaSuccess &&
         s.launch_rows(NULL, NULL, NULL, NULL, 9, 0, NULL, 0, 0) == cudaSuccess &&
         s.scratch_bytes_rows(1000, s.tile) == 0;
    tap_ok(ok && arrays.untouched() && scratch.untouched() && ends.untouched(),
           "%s: wrong arguments, and nothing to sort, write nothing", s.name);
    ok = true;
    for (size_t m = 1; m <= n; m = m * 3 / 2 + 1)
        ok &= s.scratch_bytes(m, segments) <= bytes &&
              s.scratch_bytes(n, m) <= s.scratch_bytes(n, m + 1) &&
              s.scratch_bytes_rows(rows, m) <= of_rows &&
              s.scratch_bytes_rows(m, width) <= s.scratch_bytes_rows(m + 1, width);
    tap_ok(ok, "%s: scratch is enough for less", s.name);
}

// No elements, and offsets all the same: there is nothing to write.
static void check_empty(void)
{
    const unsigned int zeros[4] = {0, 0, 0, 0};
    const test_array offsets(sizeof(zeros));
    offsets.fill(zeros);
    const cudaError_t status = segs_pairs_launch(
        NULL, NULL, NULL, NULL, 0, (const unsigned int *)offsets.get(), 3, NULL, 0, 0);
    tap_ok(status == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess,
           "three empty segments of no elements");
}

#ifdef SIMT
// Blocks wait for the merges of others.
static void check_waits(void)
{
    const size_t n = 9 * 256 + 5;
    const std::vector<int> ends = {0, 300, (int)n};
    const std::vector<float> x = make<float>(RANDOM, n, 1);
    const char *why = "";
    const bool ok =
        test_interleaved(10, [&] { return right(of_f32, x, ends, false, 0, 0, 0, &why); });
    tap_ok(ok, "right in ten orders of blocks that interleave: %s", why);
}

// Offsets that fall, or that are beyond the array, end the launch.
static void check_traps(void)
{
    const int wrong[][4] = {{0, 200, 100, 600}, {0, 100, 601, 601}, {-1, 100, 200, 600}};
    for (const auto &offsets : wrong) {
        const simt_kind kind = test_unready(segs_f32_scratch_bytes(600, 3), 0, [&](void *scratch) {
            int *const at = (int *)test_zeros(sizeof(offsets));
            CHECK(cudaMemcpy(at, offsets, sizeof(offsets), cudaMemcpyHostToDevice));
            return segs_f32_launch((const float *)test_zeros(2400), (float *)test_zeros(2400), 600,
                                   at, 3, scratch, segs_f32_scratch_bytes(600, 3), 0);
        });
        tap_ok(kind == SIMT_TRAP, "offsets %d, %d, %d, %d of 600: %s", offsets[0], offsets[1],
               offsets[2], offsets[3], simt_kind_name(kind));
    }
}
#elif !defined(TEST_FIRST)
static void check_graph(void)
{
    const size_t n = 300000;
    const std::vector<int> ends = {0, 5, 3000, 3003, 60000, 61000, (int)n};
    std::vector<unsigned int> x = make<unsigned int>(RANDOM, n, 9);
    const test_array in(n * 4), out(n * 4), offsets(ends.size() * 4);
    const test_array scratch(segs_u32_scratch_bytes(n, ends.size() - 1));
    in.fill(x.data());
    offsets.fill(ends.data());
    for (size_t s = 0; s + 1 < ends.size(); s++)
        std::stable_sort(x.begin() + ends[s], x.begin() + ends[s + 1]);
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(segs_u32_launch((unsigned int *)in.get(), (unsigned int *)out.get(), n,
                                  (const int *)offsets.get(), ends.size() - 1, scratch.get(),
                                  scratch.bytes, stream));
        },
        [&] { return out.holds(x); });
    tap_ok(ok, "is captured in a graph and replayed");
}

// One segment is longer than 2^32, and those behind it begin beyond.
static void check_big(void)
{
    const size_t n = ((size_t)1 << 32) + 5000000, segments = 4;
    const unsigned long long ends[] = {0, 7, ((size_t)1 << 32) + 4099, ((size_t)1 << 32) + 4110, n};
    if (!test_room("n > 2^32", 2 * n + segs_big_scratch_bytes(n, segments)))
        return;
    const test_array in(n, 1), out(n, 1), scratch(segs_big_scratch_bytes(n, segments));
    const test_array offsets(sizeof(ends));
    unsigned char *const x = (unsigned char *)in.get(), *const y = (unsigned char *)out.get();
    bool ok = true;
    offsets.fill(ends);
    test_fill<<<4096, 256>>>(x, n);
    CHECK(segs_big_launch(x, y, n, (const unsigned long long *)offsets.get(), segments,
                          scratch.get(), scratch.bytes, 0));
    for (size_t s = 0; s < segments; s++)
        ok &= big_sorted(y, ends[s], ends[s + 1]);
    tap_ok(ok && scratch.intact(), "a segment of more than 2^32 keys");
}
#endif

int main(void)
{
    test_begin();
#ifdef SIMT
    check_traps(); // first, as they reset the device
    check_waits();
#endif
    check_empty();
    check_errors(of_pairs);
    check_errors(of_f32);
    check(of_pairs);
    check(of_f32);
    check_many(of_f32);
    check_many(of_pairs);
    check_chunks(of_f32);
    check_chunks(of_pairs);
#ifndef TEST_FIRST
    check_errors(of_i16);
    check(of_i16);
    check(of_u8);
    check(of_u64);
    check(of_f64, 5);
    check(of_u32, 5);
#ifndef SIMT
    check_graph();
    check_big();
#endif
#endif
#ifndef TEST_ONLY
    check(of_byte);
    check(of_i64, 5);
    check(of_large);
#endif
    return tap_done();
}
