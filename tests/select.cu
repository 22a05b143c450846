// SPDX-License-Identifier: MIT
//
// Selection, partition and unique: right around every tile, for every type, at any alignment, from none kept
// to all, in any order of blocks; and what it promises of errors, scratch and what it leaves as it was.

#include "device.h"
#include "operators.h"

#include <coarsen/base.h>

// ---- Types and expressions ------------------------------------------------------------------------

// With a constructor, which makes what no array here has.
struct tagged {
    unsigned int key, tag;
    __host__ __device__ tagged() : key(77), tag(77)
    {
    }
    __host__ __device__ tagged(unsigned int key, unsigned int tag) : key(key), tag(tag)
    {
    }
};
static inline __host__ __device__ bool operator==(tagged a, tagged b)
{
    return a.key == b.key && a.tag == b.tag;
}

// Of two bytes, at any of which it may be written.
struct two_bytes {
    unsigned char a, b;
};
static inline bool operator==(two_bytes x, two_bytes y)
{
    return x.a == y.a && x.b == y.b;
}

// Whether an element is kept is told by another array, and what is written has a bias.
typedef struct {
    const unsigned char *kept;
    int bias;
} flags;

#if TESTED(single_pass)

#define COARSEN_NAME     small
#define COARSEN_TYPE     int
#define COARSEN_IF(x, i) ((x) > 0)
#define BLOCK_DIM        64
#define COARSE_FACTOR    1
#include <coarsen/select.h>

#define COARSEN_NAME       where
#define COARSEN_TYPE       unsigned char
#define COARSEN_OUT        size_t
#define COARSEN_IF(x, i)   ((x) != 0)
#define COARSEN_LIFT(x, i) (i)
#define BLOCK_DIM          64
#define COARSE_FACTOR      5
#include <coarsen/select.h>

#define COARSEN_NAME      halves
#define COARSEN_TYPE      int
#define COARSEN_IF(x, i)  ((x) > 0)
#define COARSEN_PARTITION 1
#define BLOCK_DIM         96
#define COARSE_FACTOR     2
#include <coarsen/select.h>

#define COARSEN_NAME       unique
#define COARSEN_TYPE       float
#define COARSEN_SAME(a, b) ((a) == (b))
#define BLOCK_DIM          96
#define COARSE_FACTOR      3
#include <coarsen/select.h>

#ifndef TEST_FIRST

#define COARSEN_NAME     positive
#define COARSEN_TYPE     int
#define COARSEN_IF(x, i) ((x) > 0)
#include <coarsen/select.h>

#define COARSEN_NAME        above
#define COARSEN_TYPE        float
#define COARSEN_SCALAR      float
#define COARSEN_IF(x, i, s) ((x) > (s))
#define BLOCK_DIM           96
#define COARSE_FACTOR       3
#include <coarsen/select.h>

#define COARSEN_NAME       odd
#define COARSEN_TYPE       short
#define COARSEN_IF(x, i)   ((x)&1)
#define COARSEN_LIFT(x, i) ((short)((x) ^ (short)((i) % 251)))
#define BLOCK_DIM          64
#define COARSE_FACTOR      3
#include <coarsen/select.h>

#define COARSEN_NAME     anywhere
#define COARSEN_TYPE     two_bytes
#define COARSEN_IF(x, i) ((x).a & 1)
#define BLOCK_DIM        64
#define COARSE_FACTOR    2
#include <coarsen/select.h>

#define COARSEN_NAME     triples
#define COARSEN_TYPE     triple
#define COARSEN_IF(x, i) ((x).y > (x).z)
#define BLOCK_DIM        64
#define COARSE_FACTOR    2
#include <coarsen/select.h>

#define COARSEN_NAME          flagged
#define COARSEN_TYPE          tagged
#define COARSEN_OUT           tagged
#define COARSEN_SCALAR        flags
#define COARSEN_IF(x, i, s)   ((s).kept[i])
#define COARSEN_LIFT(x, i, s) (tagged((x).key + (unsigned int)(s).bias, (unsigned int)(i)))
#define BLOCK_DIM             64
#define COARSE_FACTOR         3
#include <coarsen/select.h>

#define COARSEN_NAME       byte_halves
#define COARSEN_TYPE       unsigned char
#define COARSEN_OUT        unsigned int
#define COARSEN_IF(x, i)   ((x) != 0)
#define COARSEN_LIFT(x, i) ((unsigned int)(x) << 24 | (unsigned int)(i))
#define COARSEN_PARTITION  1
#define BLOCK_DIM          64
#define COARSE_FACTOR      1
#include <coarsen/select.h>

#define COARSEN_NAME       unique_bytes
#define COARSEN_TYPE       unsigned char
#define COARSEN_SAME(a, b) ((a) == (b))
#define BLOCK_DIM          64
#define COARSE_FACTOR      4
#include <coarsen/select.h>

#define COARSEN_NAME       unique_triples
#define COARSEN_TYPE       triple
#define COARSEN_OUT        unsigned int
#define COARSEN_SAME(a, b) ((a) == (b))
#define COARSEN_LIFT(t, i) ((t).x ^ (unsigned int)(i))
#define COARSEN_PARTITION  1
#define BLOCK_DIM          64
#define COARSE_FACTOR      2
#include <coarsen/select.h>

#define COARSEN_NAME     of_wide
#define COARSEN_TYPE     wide
#define COARSEN_IF(x, i) ((x).word[3] & 1)
#define BLOCK_DIM        1024
#include <coarsen/select.h>

#endif

#ifndef SIMT
#define COARSEN_NAME     bytes
#define COARSEN_TYPE     unsigned char
#define COARSEN_IF(x, i) ((x) != 7)
#include <coarsen/select.h>
#endif

// ---- Running one ----------------------------------------------------------------------------------

// A selection, and what the host does for it.
template <class T, class O> struct selection {
    const char *name;
    bool partition;
    size_t row; // elements of a row of the block
    size_t (*scratch_bytes)(size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    cudaError_t (*launch)(const T *, O *, size_t, unsigned long long *, void *, size_t,
                          cudaStream_t);
    // An element that is to be kept or not, from random bits and the element before it, if there is one.
    T (*make)(bool kept, uint64_t bits, const T *before);
    O (*lift)(T, size_t);
};

#define SELECTION(name, partition, dim, T)                                                         \
#name, partition, (dim)*COARSEN_VECTOR_ITEMS(T), name##_scratch_bytes, name##_scratch_init

static const selection<int, int> of_small = {SELECTION(small, false, 64, int), small_launch,
                                             [](bool kept, uint64_t bits, const int *) {
                                                 return kept ? 1 + (int)(bits >> 40)
                                                             : -(int)(bits >> 40);
                                             },
                                             itself<int>};
static const selection<unsigned char, size_t> of_where = {
    SELECTION(where, false, 64, char), where_launch,
    [](bool kept, uint64_t bits, const unsigned char *) {
        return (unsigned char)(kept ? 1 + bits % 255 : 0);
    },
    [](unsigned char, size_t i) { return i; }};
static const selection<int, int> of_halves = {SELECTION(halves, true, 96, int), halves_launch,
                                              of_small.make, itself<int>};
// Now and then NaN, which is not the same as itself.
static const selection<float, float> of_unique = {
    SELECTION(unique, false, 96, float), unique_launch,
    [](bool kept, uint64_t bits, const float *before) {
        return !before ? 3.0f : !kept ? *before : bits % 16 == 0 ? __builtin_nanf("") : *before + 1;
    },
    itself<float>};

#ifndef TEST_FIRST
static const selection<int, int> of_positive = {SELECTION(positive, false, 512, int),
                                                positive_launch, of_small.make, itself<int>};
static const float threshold = 0.25f;
static const selection<float, float> of_above = {
    SELECTION(above, false, 96, float),
    [](const float *in, float *out, size_t n, unsigned long long *count, void *scratch,
       size_t bytes, cudaStream_t stream) {
        return above_launch(in, out, n, count, threshold, scratch, bytes, stream);
    },
    [](bool kept, uint64_t bits, const float *) {
        const float x = threshold + (float)(bits >> 44);
        return kept ? x + 1 : bits % 16 == 0 ? __builtin_nanf("") : -x;
    },
    itself<float>};
static const selection<short, short> of_odd = {
    SELECTION(odd, false, 64, short), odd_launch,
    [](bool kept, uint64_t bits, const short *) { return (short)((bits & ~1ull) | kept); },
    [](short x, size_t i) { return (short)(x ^ (short)(i % 251)); }};
static const selection<triple, triple> of_triples = {
    SELECTION(triples, false, 64, triple), triples_launch,
    [](bool kept, uint64_t bits, const triple *) {
        return triple{(unsigned int)bits, 5u + kept, 5};
    },
    itself<triple>};
static const selection<unsigned char, unsigned int> of_byte_halves = {
    SELECTION(byte_halves, true, 64, char), byte_halves_launch, of_where.make,
    [](unsigned char x, size_t i) { return (unsigned int)x << 24 | (unsigned int)i; }};
static const selection<unsigned char, unsigned char> of_unique_bytes = {
    SELECTION(unique_bytes, false, 64, char), unique_bytes_launch,
    [](bool kept, uint64_t bits, const unsigned char *before) {
        return (unsigned char)(!before ? 0xA5 : !kept ? *before : *before + 1 + bits % 255);
    },
    itself<unsigned char>};
static const selection<triple, unsigned int> of_unique_triples = {
    SELECTION(unique_triples, true, 64, triple), unique_triples_launch,
    [](bool kept, uint64_t bits, const triple *before) {
        return !before ? triple{0, 0, 0}
               : kept  ? triple{(unsigned int)bits, before->y, before->z + 1}
                       : *before;
    },
    [](triple t, size_t i) { return t.x ^ (unsigned int)i; }};
static const selection<wide, wide> of_of_wide = {
    SELECTION(of_wide, false, 1024, wide), of_wide_launch,
    [](bool kept, uint64_t bits, const wide *) {
        return wide{{bits, 0, 0, kept ? 1ull : 2ull, 0, bits}};
    },
    itself<wide>};
#endif

// How many of 256 are kept; ONE: of all.
enum { ALL = 256, NONE = 0, ONE = -1 };

template <class T> struct sample {
    std::vector<T> x;
    std::vector<bool> kept;
};

template <class T, class O>
static sample<T> make(const selection<T, O> &s, size_t n, int share, uint64_t seed)
{
    sample<T> made;
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = test_random(seed, i);
        const bool kept =
            share == ONE ? i == test_random(seed, n) % n : (int)(bits >> 8 & 255) < share;
        const T x = s.make(kept, bits, i > 0 ? &made.x[i - 1] : NULL);
        // The first element of all is one that is kept, and NaN after NaN is.
        const bool nan = !(x == x) || (i > 0 && !(made.x[i - 1] == made.x[i - 1]));
        const bool runs = strncmp(s.name, "unique", 6) == 0;
        made.x.push_back(x);
        made.kept.push_back(kept || (runs && (i == 0 || nan)));
    }
    return made;
}

// Whether a launch does what it is to: the elements, the count, and nothing else.
template <class T, class O>
static bool right(const selection<T, O> &s, const sample<T> &from, size_t in_offset,
                  size_t out_offset, const char **why, int times = 1)
{
    const size_t n = from.x.size();
    const test_array in(n * sizeof(T), in_offset * sizeof(T));
    const test_array out(n * sizeof(O), out_offset * sizeof(O)), count(8);
    const test_array scratch(s.scratch_bytes(n));
    std::vector<O> want, rest, got(n);
    for (size_t i = 0; i < n; i++)
        (from.kept[i] ? want : rest).push_back(s.lift(from.x[i], i));
    const size_t kept = want.size();
    if (s.partition)
        for (size_t k = rest.size(); k > 0; k--)
            want.push_back(rest[k - 1]);

    in.fill(from.x.data());
    cudaError_t status = s.scratch_init(scratch.get(), scratch.bytes, 0);
    for (int k = 0; k < times && status == cudaSuccess; k++)
        status = s.launch((const T *)in.get(), (O *)out.get(), n, (unsigned long long *)count.get(),
                          scratch.get(), scratch.bytes, 0);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    *why = status == cudaSuccess ? "" : cudaGetErrorString(status);
    if (status != cudaSuccess)
        return false;
    unsigned long long counted;
    count.read(&counted);
    out.read(got.data());
    if (counted != kept)
        *why = "wrong count";
    else if (want.size() > 0 && memcmp((const void *)got.data(), (const void *)want.data(),
                                       want.size() * sizeof(O)) != 0)
        *why = "wrong elements";
    else if (!in.intact() || !out.intact() || !count.intact() || !scratch.intact())
        *why = "wrote outside its arrays";
    else if (!out.poisoned(test_array::GUARD + (out_offset + want.size()) * sizeof(O), out.total()))
        *why = "wrote behind the last element";
    return !**why;
}

// Around rows and tiles, at random sizes and alignments, in every order of blocks.
template <class T, class O> static void check(const selection<T, O> &s, size_t most = 12)
{
    static const int shares[] = {128, ALL, 3, NONE, ONE, 250};
    std::vector<size_t> sizes = {0, 1, 2, 31, 33};
    for (size_t k = 1; k <= 3; k++)
        for (size_t n = k * s.row - 1; n <= k * s.row + 1; n++)
            sizes.push_back(n);
    for (uint64_t k = 0; k < 6; k++)
        sizes.push_back(1 + test_random(s.row, k) % (most * s.row));
    sizes.push_back(most * s.row + 7);
    for (size_t z = 0; z < sizes.size(); z++) {
        const size_t n = sizes[z];
        for (int k = 0; k < 6; k++) {
            // At small and at the largest sizes each share; at the others two, in turn.
            if (n > 100 && z + 1 < sizes.size() && k % 3 != (int)(z % 3))
                continue;
            const sample<T> from = make(s, n, shares[k], n + (uint64_t)k);
            const char *order = test_order((int)(z + (size_t)k) % test_order_count()), *why;
            const uint64_t bits = test_random(n, s.row + (uint64_t)k);
            const size_t in_offset = bits % 131, out_offset = (bits >> 8) % 5;
            if (!right(s, from, in_offset, out_offset, &why, 2)) {
                tap_ok(0, "%s: n = %zu, share %d, offsets %zu and %zu, %s: %s", s.name, n,
                       shares[k], in_offset, out_offset, order, why);
                return;
            }
        }
    }
    test_order(0);
    tap_ok(1, "%s: right at every size up to %zu", s.name, most * s.row + 7);
}

// So many tiles that the counts of many of them are summed up in turn.
template <class T, class O>
static void check_many(const selection<T, O> &s, size_t n, int share = 100)
{
    const char *order = test_order(test_order_count() - 1), *why;
    const bool ok = right(s, make(s, n, share, 5), 1, 1, &why);
    test_order(0);
    tap_ok(ok, "%s: n = %zu, %s: %s", s.name, n, order, why);
}

#ifndef TEST_FIRST
// By an array of flags, which a struct given at launch has.
static void check_flags(size_t n)
{
    const test_array in(n * sizeof(tagged), sizeof(tagged)), kept(n), out(n * sizeof(tagged));
    const test_array count(8);
    const test_array scratch(flagged_scratch_bytes(n));
    std::vector<tagged> x, want, got;
    std::vector<unsigned char> flag;
    for (size_t i = 0; i < n; i++) {
        x.push_back(tagged((unsigned int)test_random(3, i), 0));
        flag.push_back((unsigned char)(test_random(4, i) % 3 == 0 ? 0 : i % 255 + 1));
        if (flag[i])
            want.push_back(tagged(x[i].key + 11, (unsigned int)i));
    }
    in.fill(x.data());
    kept.fill(flag.data());
    CHECK(flagged_scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(flagged_launch(
        (const tagged *)in.get(), (tagged *)out.get(), n, (unsigned long long *)count.get(),
        flags{(const unsigned char *)kept.get(), 11}, scratch.get(), scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    unsigned long long counted;
    count.read(&counted);
    got.resize(n);
    out.read(got.data());
    got.resize(want.size());
    tap_ok(counted == want.size() && got == want && out.intact(), "flagged: n = %zu", n);
}

// To an odd address, where the type may lie.
static void check_odd_out(size_t n)
{
    const test_array in(n * 2, 6), count(8), scratch(anywhere_scratch_bytes(n));
    std::vector<two_bytes> x, want;
    for (size_t i = 0; i < n; i++) {
        x.push_back(two_bytes{(unsigned char)test_random(5, i), (unsigned char)i});
        if (x[i].a & 1)
            want.push_back(x[i]);
    }
    const test_array out(want.size() * 2, 3);
    in.fill(x.data());
    CHECK(anywhere_scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(anywhere_launch((const two_bytes *)in.get(), (two_bytes *)out.get(), n,
                          (unsigned long long *)count.get(), scratch.get(), scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    unsigned long long counted;
    count.read(&counted);
    tap_ok(counted == want.size() && out.holds(want) && out.intact(),
           "anywhere: n = %zu, to an odd address", n);
}
#endif

// ---- What is promised beyond the result -----------------------------------------------------------

static void check_errors(void)
{
    const size_t n = 100000, bytes = small_scratch_bytes(n);
    test_array in(n * 4), out(n * 4), count(16), scratch(bytes);
    const int *const x = (const int *)in.get();
    int *const y = (int *)out.get();
    unsigned long long *const c = (unsigned long long *)count.get();
    bool ok = true;
    const auto wrong = [&](const int *from, int *to, size_t many, unsigned long long *counted,
                           void *with, size_t with_bytes) {
        ok &= small_launch(from, to, many, counted, with, with_bytes, 0) == cudaErrorInvalidValue;
    };
    wrong(NULL, y, n, c, scratch.get(), bytes);
    wrong(x, NULL, n, c, scratch.get(), bytes);
    wrong(x, y, n, NULL, scratch.get(), bytes);
    wrong(x, y, 0, NULL, scratch.get(), bytes);
    wrong((const int *)((const char *)x + 1), y, n, c, scratch.get(), bytes);
    wrong(x, (int *)((char *)y + 1), n, c, scratch.get(), bytes);
    wrong(x, y, n, (unsigned long long *)((char *)c + 4), scratch.get(), bytes);
    wrong(x, y, SIZE_MAX / 4, c, scratch.get(), SIZE_MAX);
    wrong(x, y, SIZE_MAX, c, scratch.get(), bytes);
    wrong(x, y, n, c, NULL, bytes);
    wrong(x, y, n, c, scratch.get(), bytes - 1);
    wrong(x, y, n, c, scratch.get(), 0);
    wrong(x, y, n, c, (char *)scratch.get() + 1, bytes);
    tap_ok(ok, "wrong arguments return cudaErrorInvalidValue");
    tap_ok(in.untouched() && out.untouched() && count.untouched() && scratch.untouched(),
           "wrong arguments write nothing");

    unsigned long long counted[2];
    ok = small_launch(NULL, NULL, 0, c, NULL, 0, 0) == cudaSuccess;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    count.read(counted);
    tap_ok(ok && counted[0] == 0 && counted[1] == 0xA5A5A5A5A5A5A5A5 && in.untouched() &&
               out.untouched() && scratch.untouched(),
           "of no elements the count is 0, and nothing else is written");
    for (size_t m = 1; m <= n; m = m * 3 / 2 + 1)
        ok &= small_scratch_bytes(m) <= bytes;
    tap_ok(ok, "scratch for n is enough for less");
}

// A scratch for more serves for less, as it is, and then for more again.
static void check_one_scratch(size_t n)
{
    const test_array in(n * 4), out(n * 4), count(8), scratch(small_scratch_bytes(n));
    bool ok = true;
    CHECK(small_scratch_init(scratch.get(), scratch.bytes, 0));
    test_order(test_order_count() - 1);
    for (size_t m = n, round = 0; round < 2; m = m * 2 / 5) {
        if (m == 0)
            m = n, round++;
        const sample<int> from = make(of_small, m, 128, m + round);
        unsigned long long counted;
        size_t kept = 0;
        std::vector<int> got(n);
        CHECK(cudaMemcpy(in.get(), from.x.data(), m * 4, cudaMemcpyHostToDevice));
        CHECK(small_launch((const int *)in.get(), (int *)out.get(), m,
                           (unsigned long long *)count.get(), scratch.get(), scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        count.read(&counted);
        out.read(got.data());
        for (size_t i = 0; i < m; i++)
            ok &= !from.kept[i] || got[kept++] == from.x[i];
        ok &= counted == kept;
    }
    test_order(0);
    tap_ok(ok && scratch.intact(), "one scratch serves any smaller n, and the largest again");
}

// A block may run long before the blocks whose counts it needs.
static void check_waits(size_t n)
{
#ifdef SIMT
    const sample<int> from = make(of_small, n, 128, 1);
    const char *why = "";
    const bool ok = test_interleaved(20, [&] { return right(of_small, from, 0, 0, &why); });
    tap_ok(ok, "right in twenty orders of blocks that interleave: %s", why);
#else
    (void)n;
#endif
}

#ifdef SIMT
// A scratch that was not made ready ends the launch.
static void check_unready(size_t n)
{
    for (unsigned int word : {0xffffffffu, 0x01010101u}) {
        const simt_kind kind = test_unready(small_scratch_bytes(n), word, [&](void *scratch) {
            return small_launch((const int *)test_zeros(n * 4), (int *)test_zeros(n * 4), n,
                                (unsigned long long *)test_zeros(8), scratch,
                                small_scratch_bytes(n), 0);
        });
        tap_ok(kind == SIMT_TRAP, "n = %zu, a scratch of words 0x%x: %s", n, word,
               simt_kind_name(kind));
    }
}
#endif

// ---- Only on a GPU --------------------------------------------------------------------------------

#ifndef SIMT

static void check_graph(void)
{
    const size_t n = 100003;
    const sample<int> from = make(of_positive, n, 128, 9);
    const test_array in(n * 4), out(n * 4), count(8), scratch(positive_scratch_bytes(n));
    std::vector<int> got(n);
    in.fill(from.x.data());
    CHECK(positive_scratch_init(scratch.get(), scratch.bytes, 0));
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(
                positive_launch(NULL, NULL, 0, (unsigned long long *)count.get(), NULL, 0, stream));
            CHECK(positive_launch((int *)in.get(), (int *)out.get(), n,
                                  (unsigned long long *)count.get(), scratch.get(), scratch.bytes,
                                  stream));
        },
        [&] {
            unsigned long long kept = 0;
            bool right = true;
            out.read(got.data());
            for (size_t i = 0; i < n; i++)
                right &= !from.kept[i] || got[kept++] == from.x[i];
            return right && count.holds(std::vector<unsigned long long>{kept});
        });
    tap_ok(ok, "is captured in a graph and replayed");
}

// A period of test_fill is 100003 elements, of which 399 are 7: 398 whole rounds of 251, and what is left.
static __global__ void count_wrong(const unsigned char *in, const unsigned char *out, size_t n,
                                   unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256) {
        const size_t in_period = i % 100003;
        const size_t dropped = i / 100003 * 399 + in_period / 251 + (in_period % 251 > 7);
        if (in[i] != 7 && out[i - dropped] != in[i])
            atomicAdd(wrong, 1ULL);
    }
}

static void check_big(void)
{
    const size_t n = ((size_t)1 << 32) + 4099;
    if (!test_room("n > 2^32", 2 * n + bytes_scratch_bytes(n)))
        return;
    const test_array x(n, 1), y(n), scratch(bytes_scratch_bytes(n)), count(8);
    unsigned char *const in = (unsigned char *)x.get(), *const out = (unsigned char *)y.get();
    unsigned long long counted = 0, sevens = n / 100003 * 399;
    sevens += n % 100003 / 251 + (n % 100003 % 251 > 7);
    test_fill<<<4096, 256>>>(in, n);
    CHECK(bytes_scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(bytes_launch(in, out, n, (unsigned long long *)count.get(), scratch.get(), scratch.bytes,
                       0));
    const unsigned long long found = test_count(count_wrong, in, out, n);
    count.read(&counted);
    tap_ok(found == 0 && counted == n - sevens, "n = 2^32 + 4099: %llu are wrong, count %llu",
           found, counted);
}

#endif
#endif // TESTED(single_pass)

int main(void)
{
    test_begin();
#if TESTED(single_pass)
#ifdef SIMT
    check_unready(2000); // of the short kernel, and of the other
    check_unready(50000);
#endif
    check_errors();
    check(of_where);
    check(of_unique, 40);
    check(of_halves, 40);
    check(of_small, 40);
#ifndef TEST_FIRST
    check(of_positive);
    check(of_above);
    check(of_odd);
    check(of_triples, 40);
    check(of_byte_halves);
    check(of_unique_bytes);
    check(of_unique_triples, 40);
    for (size_t n : {1000, 4097, 20000})
        check_many(of_of_wide, n);
    for (size_t n : {1, 100, 4097, 20000})
        check_flags(n);
    for (size_t n : {1, 33, 4099})
        check_odd_out(n);
    check_many(of_small, 300 * 64 * 4 + 5); // two groups of tiles, and more
    check_many(of_unique, 60001);
    check_many(of_where, 200001, 5); // few, of several words of bits
    for (int share : {100, 8})       // of tiles of several rows
        check_many(of_unique_bytes, 300001, share);
    check_one_scratch(40 * 64 * 4);
    check_waits(20 * 64 * 4);
#endif
#ifndef SIMT
    check_graph();
    check_big();
#endif
#endif
    return tap_done();
}
