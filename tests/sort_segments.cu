// SPDX-License-Identifier: MIT
//
// Sorting many segments at once: right for segments of any lengths, around every length at which another way begins,
// for every type of key, with values and without, at any alignment, in place and not, in any order of blocks; and what
// it promises of errors, scratch and what it leaves as it was.

#include "device.h"
#include "operators.h"

#include <coarsen/base.h>

#include <algorithm>

// A warp sorts 128 keys, and a block 256.
#define COARSEN_NAME   segs_pairs
#define COARSEN_TYPE   int
#define COARSEN_VALUE  unsigned int
#define COARSEN_OFFSET unsigned int
#define BLOCK_DIM      64
#define COARSE_FACTOR  4
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
#define COARSEN_NAME   segs_i16
#define COARSEN_TYPE   short
#define COARSEN_VALUE  triple
#define COARSEN_OFFSET long long
#define BLOCK_DIM      32
#define COARSE_FACTOR  1
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

// The key as a number in the order wanted, worked out in another way than the header's.
template <class K> static uint64_t order_of(K x)
{
    return (K)-1 < (K)0 ? (uint64_t)(long long)x + (1ULL << 63) : (uint64_t)x;
}
template <class F, class B> static uint64_t order_of_float(F x, B infinite)
{
    B bits, sign = (B)1 << (8 * sizeof(B) - 1);
    memcpy(&bits, &x, sizeof(x));
    const B magnitude = bits & (B)~sign;
    if (magnitude > infinite) // NaN: the positive ones first, and the least negative one last
        return bits & sign ? (uint64_t)(B)(infinite * 2 + 2 + ((B)~sign - magnitude) +
                                           ((B)~sign - infinite))
                           : (uint64_t)(infinite + 1 + magnitude);
    return bits & sign ? (uint64_t)(infinite - magnitude) : (uint64_t)(infinite + 1 + magnitude);
}
template <> uint64_t order_of(float x)
{
    return order_of_float(x, (uint32_t)0x7f800000);
}
template <> uint64_t order_of(double x)
{
    return order_of_float(x, (uint64_t)0x7ff0000000000000);
}

enum shape { RANDOM, FEW, SORTED, REVERSED, CONSTANT, GREATEST };
static const char *const shape_names[] = {"random",   "few values", "sorted",
                                          "reversed", "constant",   "many of all ones"};

template <class K> static K key_of(uint64_t bits)
{
    K key;
    memcpy(&key, &bits, sizeof(key));
    return key;
}

template <class K> static std::vector<K> make(shape of, size_t n, uint64_t seed)
{
    std::vector<K> x(n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = test_random(seed, i);
        x[i] = of == FEW        ? key_of<K>(bits % 5 * 0x3f81c10305010207 + bits % 3)
               : of == CONSTANT ? key_of<K>(0x4040404040404040)
               : of == GREATEST ? key_of<K>(bits % 2 ? ~0ULL >> (bits % 6 == 1) : bits)
                                : key_of<K>(bits);
    }
    // Now and then what floating-point numbers have.
    for (size_t i = 0; of == RANDOM && i < n; i += 7) {
        const uint64_t special[] = {0,
                                    1ULL << (8 * sizeof(K) - 1),
                                    sizeof(K) == 4 ? 0x7f800000u : 0x7ff0000000000000,
                                    sizeof(K) == 4 ? 0xff800000u : 0xfff0000000000000,
                                    sizeof(K) == 4 ? 0x7fc00001u : 0x7ff8000000000001,
                                    sizeof(K) == 4 ? 0xffc00001u : 0xfff8000000000001};
        x[i] = key_of<K>(special[i / 7 % 6]);
    }
    if (of == SORTED || of == REVERSED)
        std::stable_sort(x.begin(), x.end(), [&](K a, K b) {
            return of == SORTED ? order_of(a) < order_of(b) : order_of(b) < order_of(a);
        });
    return x;
}

template <class V> static V value_of(size_t i)
{
    V value;
    uint64_t bits[(sizeof(V) + 7) / 8];
    for (size_t w = 0; w < sizeof(bits) / 8; w++)
        bits[w] = i * 0x9E3779B97F4A7C15 + w;
    memcpy((void *)&value, bits, sizeof(value));
    return value;
}

// Whether a launch does what it is to: the keys, their values, and nothing else. ends: of the segments, and first where
// the first one begins. rows: they are rows, all of one length.
template <class K, class V, class O>
static bool right(const sorter<K, V, O> &s, const std::vector<K> &x, const std::vector<O> &ends,
                  bool rows, size_t in_offset, size_t out_offset, int in_place, const char **why,
                  int times = 1)
{
    const size_t n = x.size(), m = s.values ? n : 0, segments = ends.size() - 1;
    const size_t width = rows && segments > 0 ? n / segments : 0;
    const test_array in(n * sizeof(K), in_offset * sizeof(K));
    const test_array in_values(m * sizeof(V), in_offset * sizeof(V));
    const test_array out(n * sizeof(K), out_offset * sizeof(K));
    const test_array out_values(m * sizeof(V), out_offset * sizeof(V));
    const test_array offsets(ends.size() * sizeof(O));
    const test_array scratch(rows ? s.scratch_bytes_rows(segments, width)
                                  : s.scratch_bytes(n, segments));
    std::vector<size_t> at(n);
    std::vector<V> v(m), got_values(m);
    std::vector<K> got(n), again(n);
    for (size_t i = 0; i < n; i++)
        at[i] = i;
    for (size_t i = 0; i < m; i++)
        v[i] = value_of<V>(i);
    for (size_t e = 0; e < segments; e++)
        std::stable_sort(at.begin() + (ptrdiff_t)ends[e], at.begin() + (ptrdiff_t)ends[e + 1],
                         [&](size_t a, size_t b) {
                             const uint64_t left = order_of(x[a]), right = order_of(x[b]);
                             return s.descending ? right < left : left < right;
                         });

    // 1 and 3: the keys in place; 2 and 3: the values.
    const test_array &to = in_place & 1 ? in : out;
    const test_array &to_values = in_place & 2 ? in_values : out_values;
    cudaError_t status = cudaSuccess;
    offsets.fill(ends.data());
    for (int k = 0; k < times && status == cudaSuccess; k++) {
        in.fill(x.data());
        in_values.fill(v.data());
        const K *const from = (const K *)in.get();
        const V *const from_values = (const V *)in_values.get();
        status =
            rows ? s.launch_rows(from, (K *)to.get(), from_values, (V *)to_values.get(), segments,
                                 width, scratch.get(), scratch.bytes, 0)
                 : s.launch(from, (K *)to.get(), from_values, (V *)to_values.get(), n,
                            (const O *)offsets.get(), segments, scratch.get(), scratch.bytes, 0);
    }
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    *why = status == cudaSuccess ? "" : cudaGetErrorString(status);
    if (status != cudaSuccess)
        return false;
    to.read(got.data());
    to_values.read(got_values.data());
    in.read(again.data());
    // What is in no segment is as it was: that of in, or what no one wrote.
    const size_t first = (size_t)ends[0], last = (size_t)ends[segments];
    std::vector<unsigned char> poison(std::max(sizeof(K), sizeof(V)), POISON);
    for (size_t i = 0; i < n && !**why; i++) {
        const bool none = i < first || i >= last;
        const void *const key = none && !(in_place & 1) ? (const void *)poison.data() : &x[at[i]];
        const void *const value = none && !(in_place & 2) ? (const void *)poison.data()
                                  : m > 0                 ? (const void *)&v[at[i]]
                                                          : NULL;
        if (memcmp((const void *)&got[i], key, sizeof(K)) != 0)
            *why = none ? "wrote what is in no segment" : "wrong keys";
        else if (m > 0 && memcmp((const void *)&got_values[i], value, sizeof(V)) != 0)
            *why = none ? "wrote a value of no segment" : "wrong values";
    }
    if (!**why && !(in_place & 1) && n > 0 &&
        memcmp((const void *)again.data(), (const void *)x.data(), n * sizeof(K)) != 0)
        *why = "changed its input";
    if (!**why && (!in.intact() || !out.intact() || !in_values.intact() || !out_values.intact() ||
                   !scratch.intact() || !offsets.intact()))
        *why = "wrote outside its arrays";
    return !**why;
}

// One case of many, whose number chooses the rest.
template <class K, class V, class O>
static bool one(const sorter<K, V, O> &s, const std::vector<O> &ends, size_t behind, bool rows,
                size_t number, const char *what)
{
    const size_t n = (size_t)ends.back() + behind;
    const shape of = (shape)(number % 6);
    const uint64_t bits = test_random(number, n);
    const size_t in_offset = bits % 17, out_offset = (bits >> 8) % 5;
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
    {"a power law", [](uint64_t bits, size_t, size_t,
                       size_t tile) { return (size_t)(5 * tile / (1 + bits % (5 * tile))); }},
    {"one long among tiny ones",
     [](uint64_t bits, size_t s, size_t, size_t tile) {
         return s == 20 ? 4 * tile + 1 + bits % tile : (size_t)(bits % 6);
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
    for (const lengths &of : all_lengths)
        for (size_t round = 0; round < 4 && ok; round++) {
            const size_t segments = round == 0 ? 1 : 1 + test_random(number, 3) % 150;
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
    const test_array in(n * sizeof(K)), out(n * sizeof(K)), scratch(std::max(bytes, of_rows));
    const test_array in_values(n * sizeof(V)), out_values(n * sizeof(V));
    const test_array ends((segments + 1) * sizeof(O));
    K *const x = (K *)in.get(), *const y = (K *)out.get();
    V *const v = (V *)in_values.get(), *const w = (V *)out_values.get();
    const O *const at = (const O *)ends.get();
    bool ok = true;
    const auto both = [&](K *from, K *to, V *from_values, V *to_values, void *with, size_t less) {
        ok &= s.launch(from, to, from_values, to_values, n, at, segments, with, bytes - less, 0) ==
              cudaErrorInvalidValue;
        ok &= s.launch_rows(from, to, from_values, to_values, rows, width, with, of_rows - less,
                            0) == cudaErrorInvalidValue;
    };
    both(NULL, y, v, w, scratch.get(), 0);
    both(x, NULL, v, w, scratch.get(), 0);
    both((K *)((char *)x + 1), y, v, w, scratch.get(), 0);
    both(x, (K *)((char *)y + 1), v, w, scratch.get(), 0);
    if (s.values) {
        both(x, y, NULL, w, scratch.get(), 0);
        both(x, y, v, NULL, scratch.get(), 0);
        both(x, y, (V *)((char *)v + 1), w, scratch.get(), 0);
        both(x, y, v, (V *)((char *)w + 1), scratch.get(), 0);
    }
    both(x, y, v, w, NULL, 0);
    both(x, y, v, w, (char *)scratch.get() + 1, 0);
    both(x, y, v, w, scratch.get(), 1);
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
    tap_ok(ok && in.untouched() && out.untouched() && in_values.untouched() &&
               out_values.untouched() && scratch.untouched() && ends.untouched(),
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
    simt_config config = simt_get_config();
    const simt_config before = config;
    const size_t n = 9 * 256 + 5;
    const std::vector<int> ends = {0, 300, (int)n};
    const std::vector<float> x = make<float>(RANDOM, n, 1);
    bool ok = true;
    const char *why = "";
    config.resident = 8;
    config.order = SIMT_SHUFFLE;
    for (config.seed = 1; ok && config.seed <= 10; config.seed++) {
        simt_set_config(&config);
        ok = right(of_f32, x, ends, false, 0, 0, 0, &why);
    }
    simt_set_config(&before);
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
    std::vector<unsigned int> x = make<unsigned int>(RANDOM, n, 9), got(n);
    const test_array in(n * 4), out(n * 4), offsets(ends.size() * 4);
    const test_array scratch(segs_u32_scratch_bytes(n, ends.size() - 1));
    in.fill(x.data());
    offsets.fill(ends.data());
    for (size_t s = 0; s + 1 < ends.size(); s++)
        std::stable_sort(x.begin() + ends[s], x.begin() + ends[s + 1]);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(segs_u32_launch((unsigned int *)in.get(), (unsigned int *)out.get(), n,
                          (const int *)offsets.get(), ends.size() - 1, scratch.get(), scratch.bytes,
                          stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    bool ok = true;
    for (int k = 0; k < 3; k++) {
        CHECK(cudaMemset(out.get(), POISON, n * 4));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        out.read(got.data());
        ok &= got == x;
    }
    tap_ok(ok, "is captured in a graph and replayed");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

static __global__ void fill_big(unsigned char *data, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        data[i] = (unsigned char)(i % 100003 % 251);
}

// Descents within [start, end), and where there each key ends.
static __global__ void look_at_big(const unsigned char *out, size_t start, size_t end,
                                   unsigned long long *found)
{
    for (size_t i = start + blockIdx.x * (size_t)256 + threadIdx.x; i < end;
         i += (size_t)gridDim.x * 256) {
        if (i > start && out[i - 1] > out[i])
            atomicAdd(found + 256, 1ULL);
        if (i + 1 == end || out[i] != out[i + 1])
            atomicAdd(found + out[i], (unsigned long long)(i + 1 - start));
    }
}

// One segment is longer than 2^32, and those behind it begin beyond.
static void check_big(void)
{
    const size_t n = ((size_t)1 << 32) + 5000000;
    const unsigned long long ends[] = {0, 7, ((size_t)1 << 32) + 4099, ((size_t)1 << 32) + 4110, n};
    const size_t segments = 4;
    unsigned char *in = NULL;
    if (test_quick()) {
        tap_skip("n > 2^32: quick");
        return;
    }
    if (cudaMalloc((void **)&in, 2 * n + 1) != cudaSuccess) {
        cudaGetLastError();
        tap_skip("n > 2^32: not that much memory");
        return;
    }
    unsigned char *const out = in + 1 + n;
    const test_array scratch(segs_big_scratch_bytes(n, segments)), counts(257 * 8);
    const test_array offsets(sizeof(ends));
    const cudaLaunchConfig_t config = {dim3(4096), dim3(256), 0, 0, NULL, 0};
    offsets.fill(ends);
    CHECK(cudaLaunchKernelEx(&config, fill_big, in + 1, n));
    CHECK(segs_big_launch(in + 1, out, n, (const unsigned long long *)offsets.get(), segments,
                          scratch.get(), scratch.bytes, 0));
    bool ok = true;
    for (size_t s = 0; s < segments; s++) {
        std::vector<unsigned long long> found(257), want(257);
        for (size_t i = ends[s]; i < ends[s + 1] && i < ends[s] + 100003; i++) // it comes again
            want[i % 100003 % 251] += (ends[s + 1] - i + 100002) / 100003;
        unsigned long long sum = 0;
        for (size_t key = 0; key < 251; key++) {
            sum += want[key];
            want[key] = want[key] > 0 ? sum : 0;
        }
        counts.zero();
        CHECK(cudaLaunchKernelEx(&config, look_at_big, (const unsigned char *)out, (size_t)ends[s],
                                 (size_t)ends[s + 1], (unsigned long long *)counts.get()));
        CHECK(cudaDeviceSynchronize());
        counts.read(found.data());
        ok &= found == want;
    }
    tap_ok(ok && scratch.intact(), "a segment of more than 2^32 keys");
    CHECK(cudaFree(in));
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
