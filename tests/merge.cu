// SPDX-License-Identifier: MIT
//
// Every rung of the merge: right and stable around every tile, for every type and order, with values and without, at
// any shape and alignment, in any order of blocks; and what it promises of errors and counts. And co-ranks.
//
// The file includes itself, once for each rung.

// ---- one rung ----

#if defined(MERGE_HEADER)

#define COARSEN_NAME MERGE(default)
#define COARSEN_TYPE int
#include MERGE_HEADER

#define COARSEN_NAME  MERGE(ints)
#define COARSEN_TYPE  int
#define BLOCK_DIM     32
#define COARSE_FACTOR 1
#include MERGE_HEADER

#define COARSEN_NAME       MERGE(pairs)
#define COARSEN_TYPE       int
#define COARSEN_VALUE      unsigned int
#define COARSEN_LESS(a, b) ((a) > (b))
#define BLOCK_DIM          64
#define COARSE_FACTOR      3
#include MERGE_HEADER

#define COARSEN_NAME  MERGE(bytes)
#define COARSEN_TYPE  unsigned char
#define BLOCK_DIM     96
#define COARSE_FACTOR 2
#include MERGE_HEADER

#ifndef TEST_FIRST
#define COARSEN_NAME       MERGE(floats)
#define COARSEN_TYPE       float
#define COARSEN_VALUE      unsigned char
#define COARSEN_LESS(a, b) (total_order(a) < total_order(b))
#define BLOCK_DIM          64
#define COARSE_FACTOR      5
#include MERGE_HEADER

#define COARSEN_NAME  MERGE(shorts)
#define COARSEN_TYPE  unsigned short
#define COARSEN_VALUE triple
#define BLOCK_DIM     32
#define COARSE_FACTOR 3
#include MERGE_HEADER

#define COARSEN_NAME       MERGE(longs)
#define COARSEN_TYPE       unsigned long long
#define COARSEN_LESS(a, b) ((a) >> 4 < (b) >> 4)
#define BLOCK_DIM          64
#define COARSE_FACTOR      6
#include MERGE_HEADER

#define COARSEN_NAME  MERGE(doubles)
#define COARSEN_TYPE  double
#define COARSEN_VALUE counter
#define BLOCK_DIM     32
#define COARSE_FACTOR 2
#include MERGE_HEADER
#endif

#define COARSEN_NAME       MERGE(triples)
#define COARSEN_TYPE       triple
#define COARSEN_LESS(a, b) ((a).x < (b).x)
#define BLOCK_DIM          64
#define COARSE_FACTOR      4
#include MERGE_HEADER

#define COARSEN_NAME       MERGE(counted)
#define COARSEN_TYPE       int
#define COARSEN_LESS(a, b) counted_less(a, b)
#define BLOCK_DIM          64
#define COARSE_FACTOR      MERGE_COUNTED
#include MERGE_HEADER

#ifndef SIMT
#define COARSEN_NAME MERGE(big)
#define COARSEN_TYPE unsigned char
#include MERGE_HEADER
#endif

static void MERGE(check)(void)
{
    check_errors(MERGE_KEYS(default, int), MERGE_PAIRS(pairs, int, unsigned int));
    check_overflow(MERGE_KEYS(bytes, unsigned char));
    check(MERGE_KEYS(ints, int), of_ints, MERGE_TILE(ints, 32, 1), 9);
    check(MERGE_PAIRS(pairs, int, unsigned int), of_falling, MERGE_TILE(pairs, 64, 3));
    check(MERGE_KEYS(bytes, unsigned char), of_bytes, MERGE_TILE(bytes, 96, 2));
    check(MERGE_KEYS(triples, triple), of_triples, MERGE_TILE(triples, 64, 4));
    check_borders(MERGE_KEYS(ints, int), 9 * MERGE_TILE(ints, 32, 1) + 2);
    check_unsorted(MERGE_KEYS(ints, int), 50 * MERGE_TILE(ints, 32, 1));
    check_unsorted(MERGE_PAIRS(pairs, int, unsigned int), 4 * MERGE_TILE(pairs, 64, 3));
#ifndef TEST_FIRST
    check_unsorted(MERGE_KEYS(default, int), 2 * MERGE_TILE(default, 256, 7) + 5);
    check(MERGE_KEYS(default, int), of_ints, MERGE_TILE(default, 256, 7), 1);
    check(MERGE_PAIRS(floats, float, unsigned char), of_floats, MERGE_TILE(floats, 64, 5));
    check(MERGE_PAIRS(shorts, unsigned short, triple), of_shorts, MERGE_TILE(shorts, 32, 3));
    check(MERGE_KEYS(longs, unsigned long long), of_longs, MERGE_TILE(longs, 64, 6));
    check(MERGE_PAIRS(doubles, double, counter), of_doubles, MERGE_TILE(doubles, 32, 2));
#endif
#ifndef SIMT
    check_graph(MERGE_KEYS(default, int));
    check_big(MERGE_KEYS(big, unsigned char));
#endif
}

#undef MERGE
#undef MERGE_HEADER
#undef MERGE_TILE
#undef MERGE_COUNTED

#else // ---- the test ------------------------------------------------------------------------------

#include "device.h"
#include "operators.h"

#include <algorithm>

#include <coarsen/base.h>

// ---- What is merged --------------------------------------------------------------------------------

// All floats, from the NaN with a sign to the one without; -0 comes before 0.
static inline __host__ __device__ int total_order(float x)
{
    int bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

// Counts how often it is called.
static __device__ unsigned long long calls;
static inline __device__ bool counted_less(int a, int b)
{
    atomicAdd(&calls, 1ULL);
    return a < b;
}
static __global__ void take_calls(unsigned long long *out)
{
    *out = calls;
    calls = 0;
}

struct nothing {
};

template <class T, class V> struct rung {
    const char *name;
    cudaError_t (*launch)(const T *a, const V *a_values, size_t m, const T *b, const V *b_values,
                          size_t n, T *out, V *out_values, cudaStream_t stream);
};
#define KEYS_OF(name, call, T)                                                                     \
    (rung<T, nothing>{#name,                                                                       \
                      [](const T *a, const nothing *, size_t m, const T *b, const nothing *,       \
                         size_t n, T *out, nothing *,                                              \
                         cudaStream_t stream) { return name##_##call(a, m, b, n, out, stream); }})
#define PAIRS_OF(name, call, T, V)                                                                 \
    (rung<T, V>{#name, [](const T *a, const V *a_values, size_t m, const T *b, const V *b_values,  \
                          size_t n, T *out, V *out_values, cudaStream_t stream) {                  \
                    return name##_##call(a, a_values, m, b, b_values, n, out, out_values, stream); \
                }})
#define KEYS_(name, call, T)     KEYS_OF(name, call, T)
#define PAIRS_(name, call, T, V) PAIRS_OF(name, call, T, V)
#define MERGE_KEYS(stem, T)      KEYS_(MERGE(stem), launch, T)
#define MERGE_PAIRS(stem, T, V)  PAIRS_(MERGE(stem), launch, T, V)

// The kernel of pipelined.h that long arrays have, for short ones too: of three blocks.
template <class A>
static cudaError_t walk(void (*kernel)(A, size_t), A arrays, size_t all, unsigned int dim,
                        size_t shared_bytes, cudaStream_t stream)
{
    const size_t section = (all / 3 + 16) / 16 * 16; // whole vectors
    if (arrays.m + arrays.n == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t config = {dim3((unsigned int)((all + section - 1) / section)),
                                       dim3(dim),
                                       shared_bytes,
                                       stream,
                                       NULL,
                                       0};
    return cudaLaunchKernelEx(&config, kernel, arrays, section);
}
#define WALK(name, dim, ...)                                                                       \
    walk(name##_kernel, name##_arrays{__VA_ARGS__}, m + n + name##_skip(out), dim,                 \
         name##_shared_bytes(name##_tile, 2 * name##_tile + name##_each + 2 * name##_items),       \
         stream)

// A launcher of a rung by one of its ways: `how`, which the macro HOW calls.
#define BY_KEYS(name, how, HOW, T, dim)                                                            \
    static cudaError_t name##_##how(const T *a, size_t m, const T *b, size_t n, T *out,            \
                                    cudaStream_t stream)                                           \
    {                                                                                              \
        return HOW(name, dim, a, m, b, n, out);                                                    \
    }
#define BY_PAIRS(name, how, HOW, T, V, dim)                                                        \
    static cudaError_t name##_##how(const T *a, const V *a_values, size_t m, const T *b,           \
                                    const V *b_values, size_t n, T *out, V *out_values,            \
                                    cudaStream_t stream)                                           \
    {                                                                                              \
        return HOW(name, dim, a, m, b, n, out, a_values, b_values, out_values);                    \
    }
#define WALK_KEYS(name, T, dim)     BY_KEYS(name, walk, WALK, T, dim)
#define WALK_PAIRS(name, T, V, dim) BY_PAIRS(name, walk, WALK, T, V, dim)

// Keys, their order, and the values that go with them: each is made of its place in the inputs.
template <class T, class V> struct problem {
    T (*make)(uint64_t bits);
    bool (*less)(T a, T b);
    V (*value)(size_t place);
};

static nothing no_value(size_t)
{
    return nothing{};
}
template <class T> static bool less_than(T a, T b)
{
    return a < b;
}
template <class V> static V of_place(size_t place)
{
    return (V)place;
}

static const problem<int, nothing> of_ints = {
    [](uint64_t bits) { return (int)(bits % 2001) - 1000; }, less_than<int>, no_value};
static const problem<int, unsigned int> of_falling = {
    [](uint64_t bits) { return (int)(bits % 101) - 50; }, [](int a, int b) { return a > b; },
    of_place<unsigned int>};
static const problem<unsigned char, nothing> of_bytes = {
    [](uint64_t bits) { return (unsigned char)bits; }, less_than<unsigned char>, no_value};
// Of all bits, so that there are infinities and every kind of NaN.
static const problem<float, unsigned char> of_floats = {
    [](uint64_t bits) {
        const unsigned int some = bits >> 60 ? (unsigned int)bits : (unsigned int)bits | 0x7f800000;
        float x;
        memcpy(&x, &some, sizeof(x));
        return x;
    },
    [](float a, float b) { return total_order(a) < total_order(b); }, of_place<unsigned char>};
// Of 8 bytes, and aligned to 4.
struct point {
    unsigned int x, y;
};
static bool operator==(point a, point b)
{
    return a.x == b.x && a.y == b.y;
}
static const problem<unsigned char, point> of_points = {
    [](uint64_t bits) { return (unsigned char)(bits % 90); }, less_than<unsigned char>,
    [](size_t place) {
        return point{(unsigned int)place, ~(unsigned int)place};
    }};
static const problem<unsigned short, triple> of_shorts = {
    [](uint64_t bits) { return (unsigned short)bits; }, less_than<unsigned short>,
    [](size_t place) {
        return triple{(unsigned int)place, (unsigned int)place * 3, (unsigned int)place * 5};
    }};
// The order looks at some of a key's bits, so it shows which of the equal ones comes first.
static const problem<unsigned long long, nothing> of_longs = {
    [](uint64_t bits) { return (unsigned long long)bits >> (bits % 50); },
    [](unsigned long long a, unsigned long long b) { return a >> 4 < b >> 4; }, no_value};
static const problem<double, counter> of_doubles = {
    [](uint64_t bits) { return (double)(int64_t)(bits >> 50) / 16; }, less_than<double>,
    [](size_t place) { return counter(place, ~place); }};
static const problem<triple, nothing> of_triples = {
    [](uint64_t bits) {
        return triple{(unsigned int)bits % 37, (unsigned int)(bits >> 16),
                      (unsigned int)(bits >> 32)};
    },
    [](triple a, triple b) { return a.x < b.x; }, no_value};

// ---- Running one ----------------------------------------------------------------------------------

template <class T, class V> struct launched {
    cudaError_t status;
    std::vector<T> keys;
    std::vector<V> values;
    bool clean; // guards intact, and the inputs as they were
};

static size_t value_bytes(nothing *)
{
    return 0;
}
template <class V> static size_t value_bytes(V *)
{
    return sizeof(V);
}

// By how much an array of values is offset.
template <class V> static size_t value_step(V *)
{
    return value_bytes((V *)NULL);
}
static size_t value_step(point *)
{
    return alignof(point);
}

// The values of b are those behind a's. offsets: of the six arrays in elements, four bits each.
template <class T, class V>
static launched<T, V> run(const rung<T, V> &r, const std::vector<T> &a, const std::vector<T> &b,
                          const std::vector<V> &values, uint64_t offsets = 0)
{
    const size_t m = a.size(), n = b.size(), all = m + n, bytes = value_bytes((V *)NULL);
    const auto offset = [&](int array, size_t size) {
        return (offsets >> (4 * array) & 15) * size;
    };
    const test_array a_keys(m * sizeof(T), offset(0, sizeof(T)));
    const test_array b_keys(n * sizeof(T), offset(1, sizeof(T)));
    const test_array out(all * sizeof(T), offset(2, sizeof(T)));
    const test_array a_values(m * bytes, offset(3, value_step((V *)NULL)));
    const test_array b_values(n * bytes, offset(4, value_step((V *)NULL)));
    const test_array out_values(all * bytes, offset(5, value_step((V *)NULL)));
    a_keys.fill(a.data());
    b_keys.fill(b.data());
    a_values.fill((const void *)values.data());
    b_values.fill((const char *)values.data() + m * bytes);
    launched<T, V> got;
    got.status =
        r.launch((const T *)a_keys.get(), (const V *)a_values.get(), m, (const T *)b_keys.get(),
                 (const V *)b_values.get(), n, (T *)out.get(), (V *)out_values.get(), 0);
    if (got.status == cudaSuccess)
        got.status = cudaDeviceSynchronize();
    got.keys.resize(all);
    got.values.resize(all, values.empty() ? V() : values[0]);
    got.clean = a_keys.intact() && b_keys.intact() && out.intact() && a_values.intact() &&
                b_values.intact() && out_values.intact();
    if (got.status != cudaSuccess)
        return got;
    out.read((void *)got.keys.data());
    if (bytes > 0)
        out_values.read((void *)got.values.data());
    std::vector<T> again(all);
    a_keys.read((void *)again.data());
    b_keys.read((void *)(again.data() + m));
    got.clean &=
        memcmp((const void *)again.data(), (const void *)a.data(), m * sizeof(T)) == 0 &&
        memcmp((const void *)(again.data() + m), (const void *)b.data(), n * sizeof(T)) == 0;
    return got;
}

// ---- Shapes ---------------------------------------------------------------------------------------

enum kind { RANDOM, A_FIRST, B_FIRST, TURNS, EQUAL, RUNS, KINDS };
static const char *const kind_names[] = {"random",   "a before b", "b before a",
                                         "in turns", "all equal",  "in runs"};

// Two sorted arrays of m and n keys.
template <class T, class V>
static void make(const problem<T, V> &p, kind which, size_t m, size_t n, uint64_t seed,
                 std::vector<T> *a, std::vector<T> *b)
{
    std::vector<T> all;
    for (size_t i = 0; i < m + n; i++)
        all.push_back(p.make(test_random(seed, which == EQUAL ? 0 : i)));
    a->clear(), b->clear();
    if (which == RANDOM || which == EQUAL) {
        a->assign(all.begin(), all.begin() + (ptrdiff_t)m);
        b->assign(all.begin() + (ptrdiff_t)m, all.end());
        std::stable_sort(a->begin(), a->end(), p.less);
        std::stable_sort(b->begin(), b->end(), p.less);
        return;
    }
    std::stable_sort(all.begin(), all.end(), p.less);
    for (size_t i = 0; i < m + n; i++) {
        const bool to_a = which == A_FIRST   ? i < m
                          : which == B_FIRST ? i >= n
                          : which == TURNS   ? i % 2 == 0
                                             : test_random(seed, i / 100) & 1;
        const bool room = to_a ? a->size() < m : b->size() == n;
        (room ? a : b)->push_back(all[i]);
    }
}

// What it is to be: of equal keys, those of a first.
template <class T, class V>
static void expected(const problem<T, V> &p, const std::vector<T> &a, const std::vector<T> &b,
                     std::vector<T> *keys, std::vector<size_t> *places)
{
    keys->clear(), places->clear();
    for (size_t i = 0, j = 0; i + j < a.size() + b.size();) {
        const bool from_b = i == a.size() || (j < b.size() && p.less(b[j], a[i]));
        keys->push_back(from_b ? b[j] : a[i]);
        places->push_back(from_b ? a.size() + j : i);
        from_b ? j++ : i++;
    }
}

static bool same_value(nothing, nothing)
{
    return true;
}
template <class V> static bool same_value(V a, V b)
{
    return a == b;
}

// One shape, in one order of blocks: NULL if it is right, or what is wrong.
template <class T, class V>
static bool right(const rung<T, V> &r, const problem<T, V> &p, kind which, size_t m, size_t n,
                  uint64_t seed, const char *order)
{
    std::vector<T> a, b, keys;
    std::vector<V> values;
    std::vector<size_t> places;
    make(p, which, m, n, seed, &a, &b);
    expected(p, a, b, &keys, &places);
    for (size_t i = 0; i < m + n; i++)
        values.push_back(p.value(i));
    const uint64_t offsets = seed % 3 == 0 ? 0 : test_random(seed, m + n);
    const launched<T, V> got = run(r, a, b, values, offsets);
    size_t wrong = 0;
    while (wrong < m + n &&
           memcmp((const void *)&got.keys[wrong], (const void *)&keys[wrong], sizeof(T)) == 0 &&
           same_value(got.values[wrong], values[places[wrong]]))
        wrong++;
    if (got.status == cudaSuccess && got.clean && wrong == m + n)
        return true;
    tap_ok(0, "%s: m = %zu, n = %zu, %s, offsets %llx, %s: %s, first at %zu%s", r.name, m, n,
           kind_names[which], (unsigned long long)offsets, order,
           got.status != cudaSuccess ? cudaGetErrorString(got.status) : "wrong result", wrong,
           got.clean ? "" : ", wrote where it must not");
    return false;
}

// One test: the rung against the host, around its tiles. most: tiles of the largest size.
template <class T, class V>
static void check(const rung<T, V> &r, const problem<T, V> &p, size_t tile, size_t most = 4)
{
    std::vector<size_t> sizes = {0, 1, 2, 31, 33};
    for (size_t k = 1; k <= most && k <= 3; k++)
        for (size_t n = k * tile - 1; n <= k * tile + 1; n++)
            sizes.push_back(n);
    for (uint64_t k = 0; k < 3; k++)
        sizes.push_back(1 + test_random(tile, k) % (most * tile));
    sizes.push_back(most * tile + 7);
    uint64_t seed = 1;
    for (size_t s = 0; s < sizes.size(); s++) {
        const size_t all = sizes[s];
        for (int k = 0; k < KINDS; k++) {
            // How much of it is a's: half, nothing, all, one, all but one, anything.
            const size_t random = all > 0 ? test_random(tile, seed) % all : 0;
            const size_t of_a[] = {all / 2, 0, all, all > 0 ? 1u : 0u, all > 0 ? all - 1 : 0,
                                   random};
            const char *order = test_order((int)(seed % test_order_count()));
            if (!right(r, p, (kind)k, of_a[(k + s) % 6], all - of_a[(k + s) % 6], seed, order))
                return;
            seed++;
        }
    }
    const size_t last = sizes.back();
    for (int k = 0; k < test_order_count(); k++)
        if (!right(r, p, RANDOM, last / 2 + 1, last - last / 2 - 1, seed++, test_order(k)) ||
            !right(r, p, RUNS, last / 3, last - last / 3, seed++, test_order(k)))
            return;
    test_order(0);
    tap_ok(1, "%s: right at every size up to %zu, of every kind", r.name, last);
}

// ---- What is promised beyond the result -----------------------------------------------------------

// Arrays in no order: nothing is read or written but what they hold.
template <class T, class V> static void check_unsorted(const rung<T, V> &r, size_t all)
{
    bool ok = true;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const size_t m = test_random(seed, 0) % all;
        std::vector<T> a, b;
        for (size_t i = 0; i < all; i++)
            (i < m ? a : b).push_back((T)(test_random(seed, i) % 1000));
        test_order((int)seed % test_order_count());
        const launched<T, V> got =
            run(r, a, b, std::vector<V>(all, V()), seed % 2 ? test_random(seed, all) : 0);
        ok &= got.status == cudaSuccess && got.clean;
        for (T key : got.keys)
            ok &= key >= 0 && key < 1000;
    }
    test_order(0);
    tap_ok(ok, "%s: what is not sorted gives some of its keys, and nothing else", r.name);
}

// Nothing around the inputs is read, not even of the vectors that they share with something else: simt knows what
// nobody wrote.
static void check_borders(const rung<int, nothing> &r, size_t all)
{
    bool ok = true;
    for (size_t offset = 1; offset < 4; offset++) {
        const size_t m = all / offset, n = all - m;
        std::vector<int> a, b, keys, got(all);
        std::vector<size_t> places;
        int *in = NULL, *out = NULL;
        make(of_ints, offset < 3 ? RANDOM : B_FIRST, m, n, offset, &a, &b);
        expected(of_ints, a, b, &keys, &places);
        CHECK(cudaMalloc((void **)&in, (all + 64) * sizeof(int)));
        CHECK(cudaMalloc((void **)&out, all * sizeof(int)));
        int *const other = in + offset + m + 10; // once at a vector's start
        CHECK(cudaMemcpy(in + offset, a.data(), m * sizeof(int), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(other, b.data(), n * sizeof(int), cudaMemcpyHostToDevice));
        ok &= r.launch(in + offset, NULL, m, other, NULL, n, out, NULL, 0) == cudaSuccess;
        ok &= cudaDeviceSynchronize() == cudaSuccess;
        if (ok)
            CHECK(cudaMemcpy(got.data(), out, all * sizeof(int), cudaMemcpyDeviceToHost));
        ok &= got == keys;
        CHECK(cudaFree(in));
        CHECK(cudaFree(out));
    }
    tap_ok(ok, "%s: reads nothing around its arrays", r.name);
}

// Each of two arrays of bytes may be as large as half of all memory, but not both.
static void check_overflow(const rung<unsigned char, nothing> &r)
{
    const test_array x(1000), y(1000), out(1000);
    const size_t half = (size_t)-1 / 2 + 500;
    const cudaError_t status =
        r.launch((const unsigned char *)x.get(), NULL, half, (const unsigned char *)y.get(), NULL,
                 half, (unsigned char *)out.get(), NULL, 0);
    tap_ok(status == cudaErrorInvalidValue && out.untouched(),
           "%s: two arrays that overflow together: %s", r.name, cudaGetErrorString(status));
}

static void check_errors(const rung<int, nothing> &keys, const rung<int, unsigned int> &pairs)
{
    const size_t m = 5000, n = 3000, big = (size_t)-1 / 4;
    test_array x(m * 4), y(n * 4), out((m + n) * 4), x_values(m * 4), y_values(n * 4),
        out_values((m + n) * 4);
    const int *const a = (const int *)x.get(), *const b = (const int *)y.get();
    const unsigned int *const a_values = (const unsigned int *)x_values.get();
    const unsigned int *const b_values = (const unsigned int *)y_values.get();
    int *const c = (int *)out.get();
    unsigned int *const c_values = (unsigned int *)out_values.get();
    const auto off = [](auto *pointer) { return (decltype(pointer))((const char *)pointer + 1); };
    bool ok = true;
    const auto wrong = [&](const int *from_a, size_t count_a, const int *from_b, size_t count_b,
                           int *to) {
        ok &= keys.launch(from_a, NULL, count_a, from_b, NULL, count_b, to, NULL, 0) ==
              cudaErrorInvalidValue;
        ok &= pairs.launch(from_a, a_values, count_a, from_b, b_values, count_b, to, c_values, 0) ==
              cudaErrorInvalidValue;
    };
    wrong(NULL, m, b, n, c);
    wrong(a, m, NULL, n, c);
    wrong(a, m, b, n, NULL);
    wrong(off(a), m, b, n, c);
    wrong(a, m, off(b), n, c);
    wrong(a, m, b, n, off(c));
    wrong(a, big, b, n, c);
    wrong(a, m, b, big, c);
    wrong(a, (size_t)-1, b, 1, c);
    wrong(a, big / 2 + 1, b, big / 2 + 1, c);
    tap_ok(ok, "%s: wrong keys return cudaErrorInvalidValue", keys.name);
    ok = true;
    const auto wrong_values = [&](const unsigned int *from_a, const unsigned int *from_b,
                                  unsigned int *to) {
        ok &= pairs.launch(a, from_a, m, b, from_b, n, c, to, 0) == cudaErrorInvalidValue;
    };
    wrong_values(NULL, b_values, c_values);
    wrong_values(a_values, NULL, c_values);
    wrong_values(a_values, b_values, NULL);
    wrong_values(off(a_values), b_values, c_values);
    wrong_values(a_values, off(b_values), c_values);
    wrong_values(a_values, b_values, off(c_values));
    tap_ok(ok, "%s: wrong values return cudaErrorInvalidValue", keys.name);
    ok = keys.launch(NULL, NULL, 0, NULL, NULL, 0, NULL, NULL, 0) == cudaSuccess;
    ok &= pairs.launch(a, a_values, 0, b, b_values, 0, c, c_values, 0) == cudaSuccess;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: no elements are no error", keys.name);
    tap_ok(x.untouched() && y.untouched() && out.untouched() && x_values.untouched() &&
               y_values.untouched() && out_values.untouched(),
           "%s: wrong arguments and no elements write nothing", keys.name);
}

// Of m even numbers and the odd ones between them, the figures of docs/merge.md: how often two keys are compared; and
// the bytes of global memory, if they are given: basic.h reads a key again or not as the compiler likes.
static void check_counts(const rung<int, nothing> &r, size_t m, unsigned long long comparisons,
                         unsigned long long bytes)
{
    const test_array out(8);
    const cudaLaunchConfig_t config = {dim3(1), dim3(1), 0, 0, NULL, 0};
    std::vector<int> a, b;
    unsigned long long count = 0;
    for (size_t i = 0; i < m; i++)
        a.push_back(2 * (int)i), b.push_back(2 * (int)i + 1);
    CHECK(cudaLaunchKernelEx(&config, take_calls, (unsigned long long *)out.get()));
    run(r, a, b, std::vector<nothing>(2 * m));
#ifdef SIMT
    simt_counts c;
    simt_last_counts(&c);
    if (bytes > 0)
        tap_ok(c.global_bytes == bytes, "%s: %llu bytes (%llu)", r.name, c.global_bytes, bytes);
#else
    (void)bytes;
#endif
    CHECK(cudaLaunchKernelEx(&config, take_calls, (unsigned long long *)out.get()));
    CHECK(cudaDeviceSynchronize());
    out.read(&count);
    tap_ok(count == comparisons, "%s: %llu comparisons (%llu)", r.name, count, comparisons);
}

// So many that the launcher itself takes the kernels of long arrays, of each of the first kinds.
static void check_long(const rung<int, nothing> &r, size_t all, int kinds)
{
    bool ok = true;
    for (int k = 0; k < kinds; k++) {
        const size_t m = all / 3 * (size_t)(k % 3);
        ok &= right(r, of_ints, (kind)k, m, all - m, 77 + (uint64_t)k,
                    test_order(k % test_order_count()));
    }
    test_order(0);
    tap_ok(ok, "%s: right at %zu", r.name, all);
}

// ---- Only on a GPU --------------------------------------------------------------------------------

#ifndef SIMT

static void check_graph(const rung<int, nothing> &r)
{
    const size_t m = 100003, n = 70001;
    std::vector<int> a, b, keys;
    std::vector<size_t> places;
    make(of_ints, RANDOM, m, n, 1, &a, &b);
    expected(of_ints, a, b, &keys, &places);
    const test_array x(m * 4), y(n * 4), out((m + n) * 4);
    x.fill(a.data());
    y.fill(b.data());
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(r.launch((const int *)x.get(), NULL, m, (const int *)y.get(), NULL, n,
                           (int *)out.get(), NULL, stream));
        },
        [&] { return out.holds(keys); });
    tap_ok(ok, "%s: is captured in a graph and replayed", r.name);
}

static __global__ void fill_big(unsigned char *data, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        data[i] = (unsigned char)(i >> 24);
}

static __global__ void count_wrong(const unsigned char *out, size_t n, unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        if (out[i] != (unsigned char)(i >> 25))
            atomicAdd(wrong, 1ULL);
}

// More than 2^32 results: 2^24 of each byte in either array.
static void check_big(const rung<unsigned char, nothing> &r)
{
    const size_t m = ((size_t)1 << 31) + 5, n = ((size_t)1 << 31) + 2099;
    if (!test_room("m + n > 2^32", 2 * (m + n)))
        return;
    const test_array x(m, 1), y(n, 6), to(m + n, 3);
    unsigned char *const a = (unsigned char *)x.get(), *const b = (unsigned char *)y.get();
    unsigned char *const out = (unsigned char *)to.get();
    fill_big<<<4096, 256>>>(a, m);
    fill_big<<<4096, 256>>>(b, n);
    CHECK(r.launch(a, NULL, m, b, NULL, n, out, NULL, 0));
    const unsigned long long found = test_count(count_wrong, out, m + n);
    tap_ok(found == 0, "%s: m + n = 2^32 + 2104: %llu are wrong", r.name, found);
}

#endif

// ---- Co-ranks, and merges by a thread and a block ---------------------------------------------------

#if TESTED(merge)

#define COARSEN_NAME rank_ints
#define COARSEN_TYPE int
#define BLOCK_DIM    64
#include <coarsen/block/merge.h>

#define COARSEN_NAME       rank_floats
#define COARSEN_TYPE       float
#define COARSEN_LESS(a, b) (total_order(a) < total_order(b))
#define BLOCK_DIM          64
#include <coarsen/block/merge.h>

#define COARSEN_NAME rank_bytes
#define COARSEN_TYPE unsigned char
#define BLOCK_DIM    64
#include <coarsen/block/merge.h>

// The co-ranks of k = 0, stride, 2 stride, ... by each thread and by each warp.
#define RANK_KERNELS(name, T)                                                                      \
    static __global__ void name##_ranks(const T *a, size_t m, const T *b, size_t n, size_t stride, \
                                        size_t *out, size_t *by_warp)                              \
    {                                                                                              \
        const size_t t = blockIdx.x * blockDim.x + threadIdx.x, all = m + n;                       \
        const size_t threads = gridDim.x * blockDim.x;                                             \
        for (size_t k = t * stride; k <= all; k += threads * stride)                               \
            out[k / stride] = name##_co_rank(k, a, m, b, n);                                       \
        for (size_t k = t / 32 * stride; k <= all; k += threads / 32 * stride) {                   \
            const size_t rank = name##_warp_co_rank(k, a, m, b, n);                                \
            for (unsigned int bits = 1; bits < 5; bits++)                                          \
                if (name##_group_co_rank(k, a, m, b, n, bits) != rank)                             \
                    __trap();                                                                      \
            by_warp[k / stride * 32 + t % 32] = rank;                                              \
        }                                                                                          \
    }                                                                                              \
    /* a run of 12 results by each thread, whole where it may be */                                \
    static __device__ void name##_runs(const T *keys, name##_run a, name##_run b, T *out,          \
                                       unsigned int *from)                                         \
    {                                                                                              \
        const unsigned int all = a.count + b.count, each = 12;                                     \
        const unsigned int first = threadIdx.x * each < all ? threadIdx.x * each : all;            \
        const unsigned int count = all - first < each ? all - first : each;                        \
        unsigned int i = name##_run_rank(first, keys, a, b), j = first - i;                        \
        if (count == each)                                                                         \
            name##_merge_run(&i, &j, each, keys, a, b, out + first, from + first, true);           \
        else                                                                                       \
            name##_merge_run(&i, &j, count, keys, a, b, out + first, from + first, false);         \
        if (i + j != first + count)                                                                \
            __trap();                                                                              \
    }                                                                                              \
    /* the same to registers; the runs lie one behind the other */                                 \
    static __device__ void name##_held(const T *keys, unsigned int m, unsigned int n, T *out,      \
                                       unsigned int *from)                                         \
    {                                                                                              \
        const unsigned int all = m + n, each = 12;                                                 \
        const unsigned int first = threadIdx.x * each < all ? threadIdx.x * each : all;            \
        const name##_run a = name##_run_of(0, m), b = name##_run_of(m, n);                         \
        const unsigned int i = name##_run_rank(first, keys, a, b), j = first - i;                  \
        T item[each];                                                                              \
        unsigned int place[each];                                                                  \
        if (i + each < m && j + each < n)                                                          \
            name##_merge_held(i, j, each, keys, a, b, item, place, false);                         \
        else                                                                                       \
            name##_merge_held(i, j, each, keys, a, b, item, place, true);                          \
        for (unsigned int k = 0; k < each && first + k < all; k++) {                               \
            out[first + k] = item[k];                                                              \
            from[first + k] = place[k] < m ? place[k] : ~(place[k] - m);                           \
        }                                                                                          \
    }                                                                                              \
    static __global__ void name##_blocks(const T *a, unsigned int m, const T *b, unsigned int n,   \
                                         T *out, unsigned int *from)                               \
    {                                                                                              \
        __shared__ T keys[1300];                                                                   \
        __shared__ __attribute__((aligned(4))) T merged[600];                                      \
        __shared__ unsigned int places[600];                                                       \
        /* in rings whose last places they pass */                                                 \
        const name##_run x = {5, 500, m, 600}, y = {650, 400, n, 600};                             \
        const name##_run plain = n > 200 ? y : name##_run_of(650 + 400, n);                        \
        for (unsigned int e = threadIdx.x; e < m; e += 64) {                                       \
            keys[name##_place(x, e)] = a[e];                                                       \
            if (name##_place(x, e) < 5 + 20)                                                       \
                keys[name##_place(x, e) + 600] = a[e];                                             \
        }                                                                                          \
        for (unsigned int e = threadIdx.x; e < n; e += 64) {                                       \
            keys[name##_place(y, e)] = b[e];                                                       \
            if (name##_place(y, e) < 650 + 20)                                                     \
                keys[name##_place(y, e) + 600] = b[e];                                             \
        }                                                                                          \
        for (unsigned int way = 0; way < 4; way++, out += m + n, from += m + n) {                  \
            if (way == 3)                                                                          \
                for (unsigned int e = threadIdx.x; e < m + n + 13; e += 64)                        \
                    keys[e] = e < m ? a[e] : e < m + n ? b[e - m] : (T)0;                          \
            for (unsigned int e = threadIdx.x; e < m + n; e += 64)                                 \
                places[e] = 0, merged[e] = (T)0;                                                   \
            __syncthreads();                                                                       \
            if (way < 2)                                                                           \
                name##_block_merge(keys, x, plain, merged, way == 0 ? places : NULL);              \
            else if (way == 2)                                                                     \
                name##_runs(keys, x, y, merged, places);                                           \
            else                                                                                   \
                name##_held(keys, m, n, merged, places);                                           \
            __syncthreads();                                                                       \
            for (unsigned int e = threadIdx.x; e < m + n; e += 64) {                               \
                out[e] = merged[e];                                                                \
                from[e] = places[e];                                                               \
            }                                                                                      \
            __syncthreads();                                                                       \
        }                                                                                          \
    }
RANK_KERNELS(rank_ints, int)
RANK_KERNELS(rank_floats, float)
RANK_KERNELS(rank_bytes, unsigned char)

template <class T, class V, class K, class B>
static void check_ranks(const char *name, const problem<T, V> &p, K ranks, B blocks)
{
    // The last two are more than a warp's probes can tell apart in one step, and in two.
    const size_t shapes[][2] = {{0, 0},       {0, 1},        {1, 0},     {1, 1},    {5, 0},
                                {0, 40},      {17, 333},     {300, 300}, {600, 0},  {0, 600},
                                {599, 1},     {1, 599},      {257, 343}, {700, 40}, {30, 3000},
                                {9000, 8000}, {70000, 67000}};
    bool ok = true, merged = true;
    uint64_t seed = 1;
    for (const auto &shape : shapes)
        for (int which = 0; which < KINDS; which++, seed++) {
            const size_t m = shape[0], n = shape[1], all = m + n;
            const size_t stride = all > 1000 ? all / 61 + 1 : 1, count = all / stride + 1;
            std::vector<T> a, b, keys;
            std::vector<size_t> places, found(count), by_warp(count * 32);
            if (all > 20000 && which != RANDOM && which != RUNS)
                continue;
            make(p, (kind)which, m, n, seed, &a, &b);
            expected(p, a, b, &keys, &places);
            const test_array x(m * sizeof(T)), y(n * sizeof(T)), out(count * 8), warp(count * 256);
            x.fill(a.data());
            y.fill(b.data());
            const cudaLaunchConfig_t config = {dim3(2), dim3(64), 0, 0, NULL, 0};
            CHECK(cudaLaunchKernelEx(&config, ranks, (const T *)x.get(), m, (const T *)y.get(), n,
                                     stride, (size_t *)out.get(), (size_t *)warp.get()));
            CHECK(cudaDeviceSynchronize());
            out.read(found.data());
            warp.read(by_warp.data());
            size_t of_a = 0, k = 0;
            for (size_t c = 0; c < count; c++) {
                for (; k < c * stride; k++)
                    of_a += places[k] < m;
                ok &= found[c] == of_a;
                for (int lane = 0; lane < 32; lane++)
                    ok &= by_warp[c * 32 + (size_t)lane] == of_a;
            }
            if (all > 600)
                continue;
            const cudaLaunchConfig_t one = {dim3(1), dim3(64), 0, 0, NULL, 0};
            const test_array to(4 * all * sizeof(T)), from(4 * all * 4);
            std::vector<T> got(4 * all);
            std::vector<unsigned int> got_from(4 * all);
            CHECK(cudaLaunchKernelEx(&one, blocks, (const T *)x.get(), (unsigned int)m,
                                     (const T *)y.get(), (unsigned int)n, (T *)to.get(),
                                     (unsigned int *)from.get()));
            CHECK(cudaDeviceSynchronize());
            to.read(got.data());
            from.read(got_from.data());
            for (size_t e = 0; e < 4 * all; e++) {
                const size_t place = places[e % all];
                merged &= memcmp(&got[e], &keys[e % all], sizeof(T)) == 0;
                merged &= e / all == 1 || got_from[e] == (place < m ? (unsigned int)place
                                                                    : ~(unsigned int)(place - m));
            }
        }
    tap_ok(ok, "%s: the co-rank of every k, by a thread and by a warp", name);
    tap_ok(merged, "%s: two runs, merged by a block, by whole runs, and to registers", name);
}

#endif

// ---- The rungs ------------------------------------------------------------------------------------

// MERGE_TILE: the results of a block at a time. MERGE_COUNTED: the factor with which it is counted.

#if TESTED(basic)
#define MERGE(stem)                   basic_##stem
#define MERGE_HEADER                  <coarsen/merge/basic.h>
#define MERGE_TILE(stem, dim, factor) ((dim) * (factor))
#define MERGE_COUNTED                 1
#include "merge.cu"

#define COARSEN_NAME       basic_coarsened
#define COARSEN_TYPE       int
#define COARSEN_LESS(a, b) counted_less(a, b)
#define BLOCK_DIM          64
#define COARSE_FACTOR      8
#include <coarsen/merge/basic.h>
#endif

#if TESTED(tiled)
#define MERGE(stem)                   tiled_##stem
#define MERGE_HEADER                  <coarsen/merge/tiled.h>
#define MERGE_TILE(stem, dim, factor) ((dim) * (factor))
#define MERGE_COUNTED                 8
#include "merge.cu"
#endif

#if TESTED(circular)
#define MERGE(stem)                   circular_##stem
#define MERGE_HEADER                  <coarsen/merge/circular.h>
#define MERGE_TILE(stem, dim, factor) ((dim) * (factor))
#define MERGE_COUNTED                 8
#include "merge.cu"
#endif

#if TESTED(pipelined)
#define MERGE(stem)                   pipelined_##stem
#define MERGE_HEADER                  <coarsen/merge/pipelined.h>
#define MERGE_TILE(stem, dim, factor) (pipelined_##stem##_tile)
#define MERGE_COUNTED                 9
#include "merge.cu"

WALK_KEYS(pipelined_ints, int, 32)
WALK_PAIRS(pipelined_pairs, int, unsigned int, 64)
WALK_KEYS(pipelined_bytes, unsigned char, 96)
WALK_KEYS(pipelined_triples, triple, 64)
#ifndef TEST_FIRST
WALK_KEYS(pipelined_counted, int, 64)
WALK_PAIRS(pipelined_floats, float, unsigned char, 64)
WALK_PAIRS(pipelined_shorts, unsigned short, triple, 32)
WALK_KEYS(pipelined_longs, unsigned long long, 64)
WALK_PAIRS(pipelined_doubles, double, counter, 32)
#endif

// By the kernel with the pipeline, in three blocks, each of which walks over up to 4 tiles.
static void check_walks(void)
{
    check(KEYS_OF(pipelined_ints, walk, int), of_ints, 3 * pipelined_ints_tile, 12);
    check(PAIRS_OF(pipelined_pairs, walk, int, unsigned int), of_falling, 3 * pipelined_pairs_tile);
    check(KEYS_OF(pipelined_bytes, walk, unsigned char), of_bytes, 3 * pipelined_bytes_tile);
    check(KEYS_OF(pipelined_triples, walk, triple), of_triples, 3 * pipelined_triples_tile);
    check_borders(KEYS_OF(pipelined_ints, walk, int), 3 * 32 * 9);
    check_unsorted(KEYS_OF(pipelined_ints, walk, int), 3 * 32 * 9);
    check_unsorted(PAIRS_OF(pipelined_pairs, walk, int, unsigned int), 12 * pipelined_pairs_tile);
#ifndef TEST_FIRST
    check(PAIRS_OF(pipelined_floats, walk, float, unsigned char), of_floats,
          3 * pipelined_floats_tile);
    check(PAIRS_OF(pipelined_shorts, walk, unsigned short, triple), of_shorts,
          3 * pipelined_shorts_tile);
    check(KEYS_OF(pipelined_longs, walk, unsigned long long), of_longs, 3 * pipelined_longs_tile);
    check(PAIRS_OF(pipelined_doubles, walk, double, counter), of_doubles,
          3 * pipelined_doubles_tile);
#endif
}

#endif

#if TESTED(partitioned)
#define MERGE(stem)                   partitioned_##stem
#define MERGE_HEADER                  <coarsen/merge.h>
#define MERGE_TILE(stem, dim, factor) ((dim) * (size_t)partitioned_##stem##_each)
#define MERGE_COUNTED                 9
#include "merge.cu"

#define COARSEN_NAME       partitioned_wide
#define COARSEN_TYPE       wide
#define COARSEN_VALUE      unsigned int
#define COARSEN_LESS(a, b) ((a).word[3] < (b).word[3])
#define BLOCK_DIM          1024
#define COARSE_FACTOR      64
#include <coarsen/merge.h>

// Of short arrays the runs are shorter, and those of keys that are less than a word need not be whole words.
#define COARSEN_NAME  partitioned_halves
#define COARSEN_TYPE  unsigned short
#define COARSEN_VALUE triple
#define BLOCK_DIM     64
#define COARSE_FACTOR 24
#include <coarsen/merge.h>

#define COARSEN_NAME  partitioned_points
#define COARSEN_TYPE  unsigned char
#define COARSEN_VALUE point
#define BLOCK_DIM     64
#define COARSE_FACTOR 32
#include <coarsen/merge.h>

static const problem<wide, unsigned int> of_wide = {
    [](uint64_t bits) {
        return wide{{bits, bits >> 1, bits >> 2, bits % 300, bits >> 4, bits >> 5}};
    },
    [](wide a, wide b) { return a.word[3] < b.word[3]; }, of_place<unsigned int>};

// Their ends are searched for by a kernel of its own, as those of long arrays are: by eight lanes each, or by four.
template <class A>
static cudaError_t found(cudaError_t (*launch)(A, size_t, size_t, size_t, bool, cudaStream_t),
                         A arrays, size_t head, size_t threads, size_t each, cudaStream_t stream)
{
    const size_t all = arrays.m + arrays.n;
    return all == 0 ? cudaSuccess
                    : launch(arrays, head < all ? head : all, threads, each, true, stream);
}
#define FOUND(name, dim, ...)                                                                      \
    found(name##_launch_tiles, name##_arrays{__VA_ARGS__},                                         \
          (name##_items - name##_skip(out)) % name##_items, dim, name##_each, stream)
#define FOUND_KEYS(name, T, dim)     BY_KEYS(name, found, FOUND, T, dim)
#define FOUND_PAIRS(name, T, V, dim) BY_PAIRS(name, found, FOUND, T, V, dim)
#define MERGE_TILE_OF(stem, dim)     ((dim) * (size_t)partitioned_##stem##_each)
FOUND_KEYS(partitioned_ints, int, 32)
FOUND_PAIRS(partitioned_pairs, int, unsigned int, 64)
FOUND_KEYS(partitioned_bytes, unsigned char, 96)
FOUND_KEYS(partitioned_triples, triple, 64)
#ifndef TEST_FIRST
FOUND_KEYS(partitioned_counted, int, 64)
FOUND_PAIRS(partitioned_floats, float, unsigned char, 64)
FOUND_PAIRS(partitioned_shorts, unsigned short, triple, 32)
FOUND_KEYS(partitioned_longs, unsigned long long, 64)
FOUND_PAIRS(partitioned_doubles, double, counter, 32)
#endif

static void check_found(void)
{
    check(KEYS_OF(partitioned_ints, found, int), of_ints, MERGE_TILE_OF(ints, 32), 40);
    check(PAIRS_OF(partitioned_pairs, found, int, unsigned int), of_falling,
          MERGE_TILE_OF(pairs, 64));
    check(KEYS_OF(partitioned_bytes, found, unsigned char), of_bytes, MERGE_TILE_OF(bytes, 96));
    check(KEYS_OF(partitioned_triples, found, triple), of_triples, MERGE_TILE_OF(triples, 64));
    check_borders(KEYS_OF(partitioned_ints, found, int), 3 * 32 * 9);
    check_unsorted(KEYS_OF(partitioned_ints, found, int), 20 * 32 * 9);
    check_unsorted(PAIRS_OF(partitioned_pairs, found, int, unsigned int),
                   20 * MERGE_TILE_OF(pairs, 64));
#ifndef TEST_FIRST
    check(PAIRS_OF(partitioned_floats, found, float, unsigned char), of_floats,
          MERGE_TILE_OF(floats, 64));
    check(PAIRS_OF(partitioned_shorts, found, unsigned short, triple), of_shorts,
          MERGE_TILE_OF(shorts, 32));
    check(KEYS_OF(partitioned_longs, found, unsigned long long), of_longs, MERGE_TILE_OF(longs, 64),
          20);
    check(PAIRS_OF(partitioned_doubles, found, double, counter), of_doubles,
          MERGE_TILE_OF(doubles, 32));
#endif
}
#endif

// ---- All of it --------------------------------------------------------------------------------------

int main(void)
{
    test_begin();
#if TESTED(merge)
    check_ranks("ints", of_ints, rank_ints_ranks, rank_ints_blocks);
    check_ranks("floats", of_floats, rank_floats_ranks, rank_floats_blocks);
    check_ranks("bytes", of_bytes, rank_bytes_ranks, rank_bytes_blocks);
#endif
#if TESTED(basic)
    basic_check();
#ifndef TEST_FIRST
    check_counts(KEYS_OF(basic_counted, launch, int), 8192, 204840, 0);
    check_counts(KEYS_OF(basic_coarsened, launch, int), 8192, 38922, 0);
#endif
#endif
#if TESTED(tiled)
    tiled_check();
#ifndef TEST_FIRST
    check_counts(KEYS_OF(tiled_counted, launch, int), 8192, 29534, 136688);
#endif
#endif
#if TESTED(circular)
    circular_check();
#ifndef TEST_FIRST
    check_counts(KEYS_OF(circular_counted, launch, int), 8192, 30530, 131664);
#endif
#endif
#if TESTED(pipelined)
    pipelined_check();
    check_walks();
#ifndef TEST_FIRST
    check_long(KEYS_OF(pipelined_ints, launch, int), 8 * 32 * 4 * 32 + 5,
               KINDS); // 8 multiprocessors of 32 blocks
    check_counts(KEYS_OF(pipelined_counted, walk, int), 8192, 31056, 133984);
#endif
#endif
#if TESTED(partitioned)
    partitioned_check();
    check_found();
#ifndef TEST_FIRST
    check_long(KEYS_OF(partitioned_ints, launch, int), 8 * 32 * 3 * 32 + 5, KINDS);
    check_long(KEYS_OF(partitioned_ints, launch, int), (1 << 14) * 32 + 5,
               1); // searches by 4 lanes
    check(PAIRS_OF(partitioned_wide, launch, wide, unsigned int), of_wide, 1024, 3);
    check(PAIRS_OF(partitioned_halves, launch, unsigned short, triple), of_shorts, 200, 8);
    check(PAIRS_OF(partitioned_points, launch, unsigned char, point), of_points, 200, 8);
    check_counts(KEYS_OF(partitioned_counted, found, int), 8192, 30149, 134320);
#endif
#endif
    return tap_done();
}

#endif
