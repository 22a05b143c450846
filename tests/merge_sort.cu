// SPDX-License-Identifier: MIT
//
// Sorting by comparisons: right around every tile and every number of passes, in every order, for keys and values of
// every size, at any alignment, in place and not, in any order of blocks; stable; and what it promises of errors, scratch,
// what is no order, and what it leaves as it was.

#include "device.h"
#include "operators.h"
#include "sorts.h"

// Orders that a radix sort has not.
static inline __host__ __device__ bool by_member(triple a, triple b)
{
    return a.x % 16 < b.x % 16; // the rest tells equal keys apart
}
static inline __host__ __device__ bool nan_last(float a, float b)
{
    return a < b || (a == a && b != b);
}
static inline __host__ __device__ bool by_words(wide a, wide b)
{
    return a.word[5] != b.word[5] ? a.word[5] < b.word[5] : a.word[0] < b.word[0];
}
static inline __host__ __device__ bool odd_first(unsigned long long a, unsigned long long b)
{
    return a % 2 != b % 2 ? a % 2 > b % 2 : a < b;
}

#if TESTED(merge_sort)
#define COARSEN_NAME   small // few keys of a thread: an even number, and passes of each width
#define COARSEN_TYPE   unsigned int
#define COARSEN_VALUE  unsigned int
#define COARSEN_PAIRS  0
#define BLOCK_DIM      64
#define COARSE_FACTOR  2
#define COARSEN_RANKED 0
#include <coarsen/merge_sort.h>

namespace users
{ // whose names are those of our variables
static const unsigned int n = 1000, i = 1, run = 0, item = 0;
}
using namespace users;
#define COARSEN_NAME       by_digits
#define COARSEN_TYPE       unsigned short
#define COARSEN_LESS(a, b) ((a) % n + run < (b) % n * i + item)
#define BLOCK_DIM          96
#define COARSE_FACTOR      5
#define COARSEN_RANKED     0
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       records
#define COARSEN_TYPE       triple
#define COARSEN_LESS(a, b) by_member(a, b)
#define COARSEN_VALUE      wide
#define COARSEN_PAIRS      1
#define BLOCK_DIM          32
#define COARSE_FACTOR      3
#define COARSEN_RANKED     0
#include <coarsen/merge_sort.h>

#ifndef TEST_FIRST
#define COARSEN_NAME       floats
#define COARSEN_TYPE       float
#define COARSEN_VALUE      unsigned char
#define COARSEN_LESS(a, b) nan_last(a, b)
#define COARSEN_PAIRS      0
#define BLOCK_DIM          128
#define COARSE_FACTOR      4
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       bytes_down
#define COARSEN_TYPE       unsigned char
#define COARSEN_VALUE      triple
#define COARSEN_LESS(a, b) ((a) > (b))
#define COARSEN_PAIRS      1
#define BLOCK_DIM          32
#define COARSE_FACTOR      7
#define COARSEN_RANKED     0
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       odd_longs
#define COARSEN_TYPE       unsigned long long
#define COARSEN_VALUE      counter
#define COARSEN_LESS(a, b) odd_first(a, b)
#define COARSEN_PAIRS      0
#define BLOCK_DIM          64
#define COARSE_FACTOR      1
#define COARSEN_RANKED     0
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       wide_keys
#define COARSEN_TYPE       wide
#define COARSEN_LESS(a, b) by_words(a, b)
#define BLOCK_DIM          64
#define COARSEN_RANKED     0
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       wide_few // of which few are counted, by few warps
#define COARSEN_TYPE       wide
#define COARSEN_VALUE      unsigned char
#define COARSEN_LESS(a, b) by_words(a, b)
#include <coarsen/merge_sort.h>

#define COARSEN_NAME  doubles
#define COARSEN_TYPE  double
#define COARSEN_PAIRS 0
#include <coarsen/merge_sort.h>

#define COARSEN_NAME ints // as they are
#define COARSEN_TYPE unsigned int
#include <coarsen/merge_sort.h>

#define COARSEN_NAME alone // keys of a byte
#define COARSEN_TYPE unsigned char
#include <coarsen/merge_sort.h>
#endif

#define COARSEN_NAME       no_order // each key comes before each
#define COARSEN_TYPE       unsigned int
#define COARSEN_VALUE      unsigned int
#define COARSEN_LESS(a, b) ((a) <= (b) + 100 || ((a) ^ (b)) % 3 == 0)
#define COARSEN_PAIRS      0
#define BLOCK_DIM          32
#define COARSE_FACTOR      3
#define COARSEN_RANKED     0
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       no_order_few
#define COARSEN_TYPE       unsigned int
#define COARSEN_VALUE      unsigned int
#define COARSEN_LESS(a, b) ((a) <= (b) + 100 || ((a) ^ (b)) % 3 == 0)
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       circle // each comes before the next half
#define COARSEN_TYPE       unsigned int
#define COARSEN_VALUE      unsigned int
#define COARSEN_LESS(a, b) ((int)((a) - (b)) < 0)
#define COARSEN_PAIRS      1
#define BLOCK_DIM          32
#define COARSE_FACTOR      3
#define COARSEN_RANKED     0
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       circle_few
#define COARSEN_TYPE       unsigned int
#define COARSEN_VALUE      unsigned int
#define COARSEN_LESS(a, b) ((int)((a) - (b)) < 0)
#include <coarsen/merge_sort.h>
#endif

#if defined(SIMT) && !defined(TEST_ONLY) // to be counted
static __device__ unsigned long long compared;
static inline __device__ bool counting_less(unsigned int a, unsigned int b)
{
    atomicAdd(&compared, 1ULL);
    return a < b;
}
static __global__ void take_compared(unsigned long long *to)
{
    *to = compared;
    compared = 0;
}
#define COARSEN_NAME       counted
#define COARSEN_TYPE       unsigned int
#define COARSEN_LESS(a, b) counting_less(a, b)
#include <coarsen/merge_sort.h>

#define COARSEN_NAME  fours
#define COARSEN_TYPE  unsigned int
#define COARSEN_PAIRS 0
#include <coarsen/merge_sort.h>
#endif

// ---- Running one ----------------------------------------------------------------------------------

// A sort with values, or without: then V is char, and what is passed of values is not used.
template <class K, class V> struct sorter {
    const char *name;
    size_t tile;
    bool values;
    bool (*less)(K, K);
    size_t (*scratch_bytes)(size_t);
    cudaError_t (*launch)(const K *, K *, const V *, V *, size_t, void *, size_t, cudaStream_t);
};

#define KEYS_ALONE(name, K)                                                                        \
    [](const K *in, K *out, const char *, char *, size_t n, void *scratch, size_t bytes,           \
       cudaStream_t stream) { return name##_launch(in, out, n, scratch, bytes, stream); }

template <class K> static bool ascending(K a, K b)
{
    return a < b;
}
template <class K> static bool descending(K a, K b)
{
    return a > b;
}

template <class T> static T of_bits_of(uint64_t bits)
{
    uint64_t words[(sizeof(T) + 7) / 8];
    T x;
    for (size_t w = 0; w < sizeof(words) / 8; w++)
        words[w] = w == 0 ? bits : test_random(bits, w);
    memcpy((void *)&x, words, sizeof(x));
    return x;
}

// A double whose bits are any would be NaN now and then, and that has no place in its order.
template <> double of_bits_of<double>(uint64_t bits)
{
    return (double)(int64_t)bits;
}

template <class K> static std::vector<K> make(shape of, size_t n, uint64_t seed, bool (*less)(K, K))
{
    std::vector<K> x(n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = test_random(seed, i);
        x[i] = of_bits_of<K>(of == FEW        ? bits % 5 * 0x3f81c10305010207
                             : of == CONSTANT ? 0x4040404040404040
                                              : bits);
    }
    if (of == SORTED || of == REVERSED || of == NEARLY)
        std::stable_sort(x.begin(), x.end(), less);
    if (of == REVERSED)
        std::reverse(x.begin(), x.end());
    for (size_t i = 0; of == NEARLY && n > 0 && i < 5; i++)
        x[test_random(seed, n + i) % n] = of_bits_of<K>(test_random(seed, i));
    return x;
}

// Whether a launch does what it is to.
template <class K, class V>
static bool right(const sorter<K, V> &s, const std::vector<K> &x, size_t in_offset,
                  size_t out_offset, int in_place, const char **why)
{
    const sort_arrays<K, V> arrays(x, s.values, in_offset, out_offset, in_place);
    const test_array scratch(s.scratch_bytes(arrays.n));
    arrays.fill();
    cudaError_t status = s.launch(arrays.from, arrays.to, arrays.from_values, arrays.to_values,
                                  arrays.n, scratch.get(), scratch.bytes, 0);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    *why = status != cudaSuccess ? cudaGetErrorString(status)
           : !scratch.intact()   ? "wrote outside its scratch"
                                 : arrays.wrong(s.less);
    return !**why;
}

// Around tiles, and where a pass more begins, at random sizes and alignments, in every order of blocks.
template <class K, class V> static void check(const sorter<K, V> &s, size_t most)
{
    const shape shapes[] = {RANDOM, FEW, SORTED, REVERSED, CONSTANT, NEARLY};
    std::vector<size_t> sizes = {0, 1, 2, 3, 31, 33};
    for (size_t k = 1; k <= most; k = k < 5 ? k + 1 : k == 5 ? 8 : k * 2)
        for (size_t n = k * s.tile - 1; n <= k * s.tile + 1; n++)
            sizes.push_back(n);
    for (uint64_t k = 0; k < 12; k++)
        sizes.push_back(1 + test_random(s.tile, k) % (most * s.tile));
    for (size_t z = 0; z < sizes.size(); z++) {
        const size_t n = sizes[z];
        const shape of = shapes[z % 6];
        const uint64_t bits = test_random(n, s.tile);
        const size_t in_offset = bits % 131, out_offset = (bits >> 8) % 19;
        const int in_place = bits >> 16 & 3;
        const char *order = test_order((int)z % test_order_count()), *why;
        if (!right(s, make<K>(of, n, n, s.less), in_offset, out_offset, in_place, &why)) {
            tap_ok(0, "%s: n = %zu, %s, offsets %zu and %zu%s, %s: %s", s.name, n, shape_names[of],
                   in_offset, out_offset, in_place ? ", in place" : "", order, why);
            return;
        }
    }
    test_order(0);
    tap_ok(1, "%s: right at every size up to %zu", s.name, most * s.tile + 1);
}

#if TESTED(merge_sort)
static const sorter<unsigned int, unsigned int> of_small = {
    "u32, u32", 126 / 4 * 4, true, ascending<unsigned int>, small_scratch_bytes, small_launch};
static const sorter<unsigned short, char> of_digits = {
    "u16 by its digits",
    95 * 5 / 8 * 8,
    false,
    [](unsigned short a, unsigned short b) { return a % 1000 < b % 1000; },
    by_digits_scratch_bytes,
    KEYS_ALONE(by_digits, unsigned short)};
static const sorter<triple, wide> of_records = {"12 bytes by a member, 48 bytes",
                                                31 * 3,
                                                true,
                                                by_member,
                                                records_scratch_bytes,
                                                records_launch};
#ifndef TEST_FIRST
static const sorter<float, unsigned char> of_floats = {
    "float, NaN last, u8", 127 * 4, true, nan_last, floats_scratch_bytes, floats_launch};
static const sorter<unsigned char, triple> of_bytes = {
    "u8 descending, 12 bytes", 31 * 7 / 16 * 16,         true,
    descending<unsigned char>, bytes_down_scratch_bytes, bytes_down_launch};
static const sorter<unsigned long long, counter> of_longs = {
    "u64, odd ones first, 16 bytes", 63 / 2 * 2,      true, odd_first,
    odd_longs_scratch_bytes,         odd_longs_launch};
static const sorter<wide, char> of_wide = {
    "48 bytes", 63, false, by_words, wide_keys_scratch_bytes, KEYS_ALONE(wide_keys, wide)};
static const sorter<wide, unsigned char> of_wide_few = {
    "48 bytes, u8", 640, true, by_words, wide_few_scratch_bytes, wide_few_launch};
static const sorter<double, char> of_doubles = {
    "double",          255 * 11 / 2 * 2,      false,
    ascending<double>, doubles_scratch_bytes, KEYS_ALONE(doubles, double)};
static const sorter<unsigned int, char> of_ints = {"u32",
                                                   255 * 17 / 4 * 4,
                                                   false,
                                                   ascending<unsigned int>,
                                                   ints_scratch_bytes,
                                                   KEYS_ALONE(ints, unsigned int)};
#endif

// ---- What is promised beyond the result -----------------------------------------------------------

template <class K, class V> static void check_errors(const sorter<K, V> &s)
{
    check_sort_errors<K, V>(s.name, s.values, s.scratch_bytes,
                            [&](const K *from, K *to, const V *from_values, V *to_values, size_t n,
                                void *scratch, size_t bytes) {
                                return s.launch(from, to, from_values, to_values, n, scratch, bytes,
                                                0);
                            });
    const sort_arrays<K, V> arrays(std::vector<K>(2000), s.values, 0, 0, 0);
    const test_array scratch(s.scratch_bytes(arrays.n));
    tap_ok(s.launch(arrays.from, arrays.to, arrays.from_values, arrays.to_values, (size_t)1 << 46,
                    scratch.get(), SIZE_MAX / 4, 0) == cudaErrorInvalidValue &&
               arrays.out.untouched() && arrays.out_values.untouched() && scratch.untouched(),
           "%s: more tiles than a grid has return cudaErrorInvalidValue", s.name);
}

// Where few keys are counted: right around each wave of blocks, each block that puts them in their places, and where there
// are too many. On simt with devices of 1 to 17 multiprocessors.
template <class K, class V> static void check_counted(const sorter<K, V> &s)
{
#ifdef SIMT
    const simt_config before = simt_get_config();
    simt_config config = before;
    for (unsigned int processors : {1, 5, 17}) {
        config.processors = processors;
        simt_set_config(&config);
        const size_t wave = 32 * processors;
        for (size_t n : {wave - 1, wave, wave + 1, 2 * wave + 1, 3 * wave, (size_t)1024,
                         (size_t)1025, (size_t)1137, (size_t)1138}) {
            const char *why;
            if (!right(s, make<K>(n % 2 ? FEW : RANDOM, n, n, s.less), n % 3, n % 5, n / 3 % 4,
                       &why)) {
                simt_set_config(&before);
                tap_ok(0, "%s: n = %zu, %u multiprocessors: %s", s.name, n, processors, why);
                return;
            }
        }
    }
    simt_set_config(&before);
    tap_ok(1, "%s: right around waves of blocks that count", s.name);
#else
    (void)s;
#endif
}

// Each result is one of the keys, with its value, and all else stays as it was.
static void check_no_order(const sorter<unsigned int, unsigned int> &s)
{
    bool ok = true;
    for (size_t n : {50, 200, 1000, 7001}) {
        const test_array in(n * 4), out(n * 4), scratch(s.scratch_bytes(n));
        const test_array in_values(n * 4), out_values(n * 4);
        std::vector<unsigned int> x = make<unsigned int>(n == 50 ? FEW : RANDOM, n, n, NULL), v(n),
                                  got(n), got_values(n), again(n), again_values(n);
        for (size_t i = 0; i < n; i++)
            v[i] = (unsigned int)i;
        in.fill(x.data());
        in_values.fill(v.data());
        const auto launch = [&] {
            CHECK(s.launch((unsigned int *)in.get(), (unsigned int *)out.get(),
                           (unsigned int *)in_values.get(), (unsigned int *)out_values.get(), n,
                           scratch.get(), scratch.bytes, 0));
            CHECK(cudaDeviceSynchronize());
        };
        launch();
        out.read(got.data());
        out_values.read(got_values.data());
        for (size_t i = 0; i < n;
             i++) // of more than one tile's last keys, the value may be another
            ok &= got_values[i] < n && std::find(x.begin(), x.end(), got[i]) != x.end();
        launch();
        out.read(again.data());
        out_values.read(again_values.data());
        ok &= got == again && got_values == again_values;
        ok &= in.intact() && out.intact() && in_values.intact() && out_values.intact() &&
              scratch.intact();
    }
    tap_ok(ok, "%s: does no harm, and the same each time", s.name);
}
#endif

#if defined(SIMT) && !defined(TEST_ONLY)
// The figures of docs/sort.md: of a sort of n random keys.
static void check_count(size_t n, double compared_per_key, double bytes_per_key,
                        double bytes_of_fours)
{
    const test_array in(n * 4), out(n * 4), scratch(counted_scratch_bytes(n)), count(8);
    const cudaLaunchConfig_t config = {dim3(1), dim3(1), 0, 0, NULL, 0};
    unsigned long long calls = 0;
    simt_counts c;
    in.fill(make<unsigned int>(RANDOM, n, 3, NULL).data());
    CHECK(cudaLaunchKernelEx(&config, take_compared, (unsigned long long *)count.get()));
    CHECK(counted_launch((const unsigned int *)in.get(), (unsigned int *)out.get(), n,
                         scratch.get(), scratch.bytes, 0));
    CHECK(cudaLaunchKernelEx(&config, take_compared, (unsigned long long *)count.get()));
    CHECK(cudaDeviceSynchronize());
    count.read(&calls);
    simt_reset_counts();
    CHECK(ints_launch((const unsigned int *)in.get(), (unsigned int *)out.get(), n, scratch.get(),
                      scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    simt_total_counts(&c);
    const double per_key = (double)calls / (double)n, moved = (double)c.global_bytes / (double)n;
    simt_reset_counts();
    CHECK(fours_launch((const unsigned int *)in.get(), (unsigned int *)out.get(), n, scratch.get(),
                       scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    simt_total_counts(&c);
    const double fours = (double)c.global_bytes / (double)n;
    tap_ok(per_key > 0.995 * compared_per_key && per_key < 1.005 * compared_per_key &&
               moved > 0.995 * bytes_per_key && moved < 1.005 * bytes_per_key &&
               fours > 0.995 * bytes_of_fours && fours < 1.005 * bytes_of_fours,
           "n = %zu: %.1f comparisons and %.2f bytes per key, %.2f if four runs at a time", n,
           per_key, moved, fours);
}
#endif

int main(void)
{
    test_begin();
#if defined(SIMT) && !defined(TEST_ONLY)
    check_count(4332, 18.8, 8.02, 8.02);
    check_count(4 * 4332, 22.0, 24.35, 16.18);
    check_count(16 * 4332, 25.2, 40.89, 24.38);
#endif
#if TESTED(merge_sort)
    const sorter<unsigned int, unsigned int> none = {
        "each before each", 92, true, NULL, no_order_scratch_bytes, no_order_launch};
    const sorter<unsigned int, unsigned int> around = {
        "a circle", 92, true, NULL, circle_scratch_bytes, circle_launch};
    check_errors(of_small);
    check(of_digits, 8);
    check(of_small, 64);
    check(of_records, 32);
    check_no_order(none);
    check_no_order(around);
    check_no_order({"each before each, counted", 92, true, NULL, no_order_few_scratch_bytes,
                    no_order_few_launch});
    check_no_order(
        {"a circle, counted", 92, true, NULL, circle_few_scratch_bytes, circle_few_launch});
#ifndef TEST_FIRST
    check(of_floats, 16);
    check(of_bytes, 32);
    check(of_longs, 256);
    check(of_wide, 32);
    check(of_wide_few, 3);
    check_counted(of_ints);
    check_counted(of_wide_few);
    check(of_doubles, 3);
    check(of_ints, 3);
#ifndef SIMT
    const auto nothing = [](void *, size_t) { return cudaSuccess; }; // a scratch needs no beginning
    check_graph(ints_scratch_bytes, nothing, ints_launch);
    check_big(alone_scratch_bytes, nothing, alone_launch);
#endif
#endif
#endif
    return tap_done();
}
