// SPDX-License-Identifier: MIT
//
// Sorting by radix: right around every tile, for every type of key, with values and without, at any alignment, in place
// and not, by all bits and by some, in any order of blocks; and what it promises of errors, scratch and what it
// leaves as it was.

#include "device.h"
#include "operators.h"
#include "sorts.h"

#include <coarsen/base.h>

#include <cmath>

#if defined(TEST_sort) || defined(TEST_rank) // of block/, which onesweep.h is made of
#define TEST_onesweep 1
#endif

#if TESTED(single_bit)
#define COARSEN_NAME  single_i16
#define COARSEN_TYPE  short
#define COARSEN_VALUE unsigned int
#define BLOCK_DIM     64
#include <coarsen/sort/single_bit.h>

#define COARSEN_NAME       single_f32
#define COARSEN_TYPE       float
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          96
#include <coarsen/sort/single_bit.h>

#ifndef TEST_FIRST
#define COARSEN_NAME  single_u8
#define COARSEN_TYPE  unsigned char
#define COARSEN_VALUE triple
#define BLOCK_DIM     32
#include <coarsen/sort/single_bit.h>
#endif
#endif

#if TESTED(local)
#define COARSEN_NAME  local_i16
#define COARSEN_TYPE  short
#define COARSEN_VALUE unsigned int
#define BLOCK_DIM     64
#include <coarsen/sort/local.h>

#define COARSEN_NAME       local_f32
#define COARSEN_TYPE       float
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          96
#include <coarsen/sort/local.h>

#ifndef TEST_FIRST
#define COARSEN_NAME  local_u8
#define COARSEN_TYPE  unsigned char
#define COARSEN_VALUE triple
#define BLOCK_DIM     32
#include <coarsen/sort/local.h>
#endif
#endif

#if TESTED(multi_bit)
#define COARSEN_NAME  multi_i16
#define COARSEN_TYPE  short
#define COARSEN_VALUE unsigned int
#define BLOCK_DIM     64
#include <coarsen/sort/multi_bit.h>

#define COARSEN_NAME       multi_f32
#define COARSEN_TYPE       float
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          96
#include <coarsen/sort/multi_bit.h>

#ifndef TEST_FIRST
#define COARSEN_NAME  multi_u8
#define COARSEN_TYPE  unsigned char
#define COARSEN_VALUE triple
#define BLOCK_DIM     32
#include <coarsen/sort/multi_bit.h>
#endif
#endif

#if TESTED(coarsened)
#define COARSEN_NAME  coarsened_i16
#define COARSEN_TYPE  short
#define COARSEN_VALUE unsigned int
#define BLOCK_DIM     64
#define COARSE_FACTOR 5
#include <coarsen/sort/coarsened.h>

#define COARSEN_NAME       coarsened_f32
#define COARSEN_TYPE       float
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          96
#define COARSE_FACTOR      3
#include <coarsen/sort/coarsened.h>

#ifndef TEST_FIRST
#define COARSEN_NAME  coarsened_u8
#define COARSEN_TYPE  unsigned char
#define COARSEN_VALUE triple
#define BLOCK_DIM     32
#define COARSE_FACTOR 5
#include <coarsen/sort/coarsened.h>
#endif
#endif

#if TESTED(onesweep)
#define COARSEN_NAME       block_f32
#define COARSEN_TYPE       float
#define COARSEN_VALUE      unsigned int
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          96
#define COARSE_FACTOR      3
#include <coarsen/block/sort.h>

#define COARSEN_NAME    one_pairs
#define COARSEN_TYPE    int
#define COARSEN_VALUE   unsigned int
#define BLOCK_DIM       64
#define COARSE_FACTOR   3
#define COARSEN_PORTION 1000
#include <coarsen/sort.h>

#define COARSEN_NAME       one_f32
#define COARSEN_TYPE       float
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          96
#define COARSE_FACTOR      5
#define COARSEN_RANKED     0
#define COARSEN_TOGETHER   1200
#include <coarsen/sort.h>

#ifndef TEST_FIRST
#define COARSEN_NAME   one_u8
#define COARSEN_TYPE   unsigned char
#define BLOCK_DIM      32
#define COARSE_FACTOR  7
#define COARSEN_RANKED 0
#include <coarsen/sort.h>

#define COARSEN_NAME     one_bool
#define COARSEN_TYPE     bool
#define COARSEN_PORTION  100
#define BLOCK_DIM        32
#define COARSE_FACTOR    3
#define COARSEN_RANKED   0
#define COARSEN_TOGETHER 0
#include <coarsen/sort.h>

#define COARSEN_NAME       one_bool_down
#define COARSEN_TYPE       bool
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          32
#define COARSE_FACTOR      3
#define COARSEN_RANKED     0
#define COARSEN_TOGETHER   0
#include <coarsen/sort.h>

#define COARSEN_NAME  one_i16
#define COARSEN_TYPE  short
#define COARSEN_VALUE triple
#define BLOCK_DIM     256
#define COARSE_FACTOR 1
#include <coarsen/sort.h>

// As they are. One never lets 16 blocks do it all, so its passes are tested with fewer keys.
#define COARSEN_NAME     one_u32
#define COARSEN_TYPE     unsigned int
#define COARSEN_TOGETHER 0
#include <coarsen/sort.h>

#define COARSEN_NAME  one_few
#define COARSEN_TYPE  unsigned int
#define COARSEN_VALUE unsigned int
#include <coarsen/sort.h>

#define COARSEN_NAME  one_u64
#define COARSEN_TYPE  unsigned long long
#define COARSEN_VALUE unsigned char
#define BLOCK_DIM     512
#define COARSE_FACTOR 2
#include <coarsen/sort.h>

// Shared memory has no place for all 12 rows of a tile, or not for one.
typedef struct page {
    unsigned int word[64];
    bool operator==(const page &other) const
    {
        return memcmp(word, other.word, sizeof(word)) == 0;
    }
} page;
#define COARSEN_NAME  one_wide
#define COARSEN_TYPE  unsigned short
#define COARSEN_VALUE page
#define BLOCK_DIM     96
#define COARSE_FACTOR 12
#include <coarsen/sort.h>

#define COARSEN_NAME  one_huge
#define COARSEN_TYPE  unsigned short
#define COARSEN_VALUE page
#define BLOCK_DIM     1024
#define COARSE_FACTOR 1
#include <coarsen/sort.h>

#define COARSEN_NAME  one_f64
#define COARSEN_TYPE  double
#define BLOCK_DIM     64
#define COARSE_FACTOR 4
#include <coarsen/sort.h>
#endif
#endif

#if defined(SIMT) && !defined(TEST_ONLY) // to be counted, as they are
#define COARSEN_NAME counted_single_bit
#define COARSEN_TYPE unsigned int
#include <coarsen/sort/single_bit.h>

#define COARSEN_NAME counted_local
#define COARSEN_TYPE unsigned int
#include <coarsen/sort/local.h>

#define COARSEN_NAME counted_multi_bit
#define COARSEN_TYPE unsigned int
#include <coarsen/sort/multi_bit.h>

#define COARSEN_NAME counted_coarsened
#define COARSEN_TYPE unsigned int
#include <coarsen/sort/coarsened.h>

#define COARSEN_NAME  counted_onesweep
#define BLOCK_DIM     64
#define COARSE_FACTOR 32
#define COARSEN_TYPE  unsigned int
#include <coarsen/sort/onesweep.h>
#endif

// ---- Running one ----------------------------------------------------------------------------------

// A sort with values, or without: then V is char, and what is passed of values is not used.
template <class K, class V> struct sorter {
    const char *name;
    size_t tile;
    bool descending, values, bits; // bits: some of them may be chosen
    size_t (*scratch_bytes)(size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    cudaError_t (*launch)(const K *, K *, const V *, V *, size_t, unsigned int, unsigned int,
                          void *, size_t, cudaStream_t);
};

#define SORTER(name, tile, descending, values, bits)                                               \
#name, tile, descending, values, bits, name##_scratch_bytes, name##_scratch_init
#define WITH_VALUES(name, K, V)                                                                    \
    [](const K *in, K *out, const V *in_values, V *out_values, size_t n, unsigned int first,       \
       unsigned int width, void *scratch, size_t bytes, cudaStream_t stream) {                     \
        return name##_launch_bits(in, out, in_values, out_values, n, first, width, scratch, bytes, \
                                  stream);                                                         \
    }
#define KEYS_ALONE(name, K)                                                                        \
    [](const K *in, K *out, const char *, char *, size_t n, unsigned int first,                    \
       unsigned int width, void *scratch, size_t bytes, cudaStream_t stream) {                     \
        return name##_launch_bits(in, out, n, first, width, scratch, bytes, stream);               \
    }

#define ALL_BITS_VALUES(name, K, V)                                                                \
    [](const K *in, K *out, const V *in_values, V *out_values, size_t n, unsigned int,             \
       unsigned int, void *scratch, size_t bytes, cudaStream_t stream) {                           \
        return name##_launch(in, out, in_values, out_values, n, scratch, bytes, stream);           \
    }
#define ALL_BITS(name, K)                                                                          \
    [](const K *in, K *out, const char *, char *, size_t n, unsigned int, unsigned int,            \
       void *scratch, size_t bytes,                                                                \
       cudaStream_t stream) { return name##_launch(in, out, n, scratch, bytes, stream); }

// Whether launches, with one scratch, do what they are to.
template <class K, class V>
static bool right(const sorter<K, V> &s, const std::vector<K> &x, unsigned int first,
                  unsigned int width, size_t in_offset, size_t out_offset, int in_place,
                  const char **why, int times = 1)
{
    const sort_arrays<K, V> arrays(x, s.values, in_offset, out_offset, in_place);
    const test_array scratch(s.scratch_bytes(arrays.n));
    const uint64_t mask = width == 64 ? ~0ULL : ((1ULL << width) - 1) << first;
    cudaError_t status = s.scratch_init(scratch.get(), scratch.bytes, 0);
    for (int k = 0; k < times && status == cudaSuccess; k++) {
        arrays.fill();
        status = s.launch(arrays.from, arrays.to, arrays.from_values, arrays.to_values, arrays.n,
                          first, width, scratch.get(), scratch.bytes, 0);
    }
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    *why = status != cudaSuccess ? cudaGetErrorString(status)
           : !scratch.intact()
               ? "wrote outside its scratch"
               : arrays.wrong([&](K a, K b) {
                     const uint64_t left = order_of(a) & mask, right = order_of(b) & mask;
                     return s.descending ? right < left : left < right;
                 });
    return !**why;
}

// Around tiles, at random sizes and alignments, in every order of blocks.
template <class K, class V> static void check(const sorter<K, V> &s, size_t most = 6)
{
    const unsigned int all = 8 * sizeof(K);
    const bool large = s.tile > 4000; // a few of the sizes are enough
    std::vector<size_t> sizes = {0, 1, 2, 31, 33};
    for (size_t k = 1; k <= (large ? 1 : 3); k++)
        for (size_t n = k * s.tile - 1; n <= k * s.tile + 1; n++)
            sizes.push_back(n);
    for (uint64_t k = 0; k < (large ? 2 : 6); k++)
        sizes.push_back(1 + test_random(s.tile, k) % (most * s.tile));
    if (s.bits && most >= 16) // as many as 16 blocks sort together
        for (size_t n = 16 * s.tile - 1; n <= 16 * s.tile + 1; n++)
            sizes.push_back(n);
    sizes.push_back(most * s.tile + 7);
    for (size_t z = 0; z < sizes.size(); z++) {
        const size_t n = sizes[z];
        const shape of = (shape)(z % 6);
        const uint64_t bits = test_random(n, s.tile);
        const size_t in_offset = bits % 131, out_offset = (bits >> 8) % 5;
        int in_place = bits >> 16 & 3;
        unsigned int first = s.bits && z % 3 == 2 ? (unsigned int)(bits >> 20) % all : 0;
        unsigned int width = first > 0 ? (unsigned int)(bits >> 32) % (all - first + 1) : all;
        if (s.bits && z == 4) // no bits at all
            in_place = 0, first = all / 2, width = 0;
        if (s.bits && z + 1 == sizes.size()) // one pass, which must not write where it reads
            in_place = s.values ? 2 : 1, first = 0, width = 8;
        const char *order = test_order((int)z % test_order_count()), *why;
        if (!right(s, make<K>(of, n, n), first, width, in_offset, out_offset, in_place, &why,
                   z % 4 == 3 ? 2 : 1)) {
            tap_ok(0, "%s: n = %zu, %s, bits %u to %u, offsets %zu and %zu%s, %s: %s", s.name, n,
                   shape_names[of], first, first + width, in_offset, out_offset,
                   in_place ? ", in place" : "", order, why);
            return;
        }
    }
    test_order(0);
    tap_ok(1, "%s: right at every size up to %zu", s.name, most * s.tile + 7);
}

#if TESTED(single_bit)
static const sorter<short, unsigned int> of_single_i16 = {
    SORTER(single_i16, 64, false, true, false), ALL_BITS_VALUES(single_i16, short, unsigned int)};
static const sorter<float, char> of_single_f32 = {SORTER(single_f32, 96, true, false, false),
                                                  ALL_BITS(single_f32, float)};
#ifndef TEST_FIRST
static const sorter<unsigned char, triple> of_single_u8 = {
    SORTER(single_u8, 32, false, true, false), ALL_BITS_VALUES(single_u8, unsigned char, triple)};
#endif
#endif
#if TESTED(local)
static const sorter<short, unsigned int> of_local_i16 = {
    SORTER(local_i16, 64, false, true, false), ALL_BITS_VALUES(local_i16, short, unsigned int)};
static const sorter<float, char> of_local_f32 = {SORTER(local_f32, 96, true, false, false),
                                                 ALL_BITS(local_f32, float)};
#ifndef TEST_FIRST
static const sorter<unsigned char, triple> of_local_u8 = {
    SORTER(local_u8, 32, false, true, false), ALL_BITS_VALUES(local_u8, unsigned char, triple)};
#endif
#endif
#if TESTED(multi_bit)
static const sorter<short, unsigned int> of_multi_i16 = {
    SORTER(multi_i16, 64, false, true, false), ALL_BITS_VALUES(multi_i16, short, unsigned int)};
static const sorter<float, char> of_multi_f32 = {SORTER(multi_f32, 96, true, false, false),
                                                 ALL_BITS(multi_f32, float)};
#ifndef TEST_FIRST
static const sorter<unsigned char, triple> of_multi_u8 = {
    SORTER(multi_u8, 32, false, true, false), ALL_BITS_VALUES(multi_u8, unsigned char, triple)};
#endif
#endif
#if TESTED(coarsened)
static const sorter<short, unsigned int> of_coarsened_i16 = {
    SORTER(coarsened_i16, 320, false, true, false),
    ALL_BITS_VALUES(coarsened_i16, short, unsigned int)};
static const sorter<float, char> of_coarsened_f32 = {SORTER(coarsened_f32, 288, true, false, false),
                                                     ALL_BITS(coarsened_f32, float)};
#ifndef TEST_FIRST
static const sorter<unsigned char, triple> of_coarsened_u8 = {
    SORTER(coarsened_u8, 160, false, true, false),
    ALL_BITS_VALUES(coarsened_u8, unsigned char, triple)};
#endif
#endif

#if TESTED(onesweep)
static const sorter<int, unsigned int> of_pairs = {SORTER(one_pairs, 192, false, true, true),
                                                   WITH_VALUES(one_pairs, int, unsigned int)};
static const sorter<float, char> of_f32 = {SORTER(one_f32, 480, true, false, true),
                                           KEYS_ALONE(one_f32, float)};
#ifndef TEST_FIRST
static const sorter<unsigned char, char> of_u8 = {SORTER(one_u8, 224, false, false, true),
                                                  KEYS_ALONE(one_u8, unsigned char)};
static const sorter<short, triple> of_i16 = {SORTER(one_i16, 256, false, true, true),
                                             WITH_VALUES(one_i16, short, triple)};
static const sorter<unsigned int, char> of_u32 = {SORTER(one_u32, 14336, false, false, true),
                                                  KEYS_ALONE(one_u32, unsigned int)};
static const sorter<unsigned int, unsigned int> of_few = {
    SORTER(one_few, 4096, false, true, true), WITH_VALUES(one_few, unsigned int, unsigned int)};
static const sorter<unsigned long long, unsigned char> of_u64 = {
    SORTER(one_u64, 1024, false, true, true),
    WITH_VALUES(one_u64, unsigned long long, unsigned char)};
static const sorter<unsigned short, page> of_wide = {SORTER(one_wide, 9 * 96, false, true, true),
                                                     WITH_VALUES(one_wide, unsigned short, page)};
static const sorter<double, char> of_f64 = {SORTER(one_f64, 256, false, false, true),
                                            KEYS_ALONE(one_f64, double)};

// Keys that are one of two: what fills a portion's last tile up is one of them too.
static void check_bool(void)
{
    const size_t n = 1000;
    std::vector<unsigned char> x(n), got(n), down(n);
    const test_array in(n), out(n), scratch(one_bool_down_scratch_bytes(n));
    for (size_t i = 0; i < n; i++)
        x[i] = i * i % 7 < 3;
    in.fill(x.data());
    CHECK(one_bool_down_scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(one_bool_launch((const bool *)in.get(), (bool *)out.get(), n, scratch.get(),
                          scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    out.read(got.data());
    CHECK(one_bool_down_launch((const bool *)in.get(), (bool *)out.get(), n, scratch.get(),
                               scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    out.read(down.data());
    std::sort(x.begin(), x.end());
    bool ok = got == x;
    std::reverse(x.begin(), x.end());
    ok &= down == x;
    tap_ok(ok && scratch.intact(), "one_bool: right in both directions");
}

static void check_huge(void)
{
    const test_array x(2), v(sizeof(page)), scratch(one_huge_scratch_bytes(1));
    unsigned short *const key = (unsigned short *)x.get();
    page *const value = (page *)v.get();
    CHECK(one_huge_scratch_init(scratch.get(), scratch.bytes, 0));
    tap_ok(one_huge_launch(key, key, value, value, 1, scratch.get(), scratch.bytes, 0) ==
               cudaErrorInvalidValue,
           "values of which shared memory holds too few return cudaErrorInvalidValue");
}
#endif
#endif

// ---- What is promised beyond the result -----------------------------------------------------------

template <class K, class V> static void check_errors(const sorter<K, V> &s)
{
    const unsigned int all = 8 * sizeof(K);
    check_sort_errors<K, V>(s.name, s.values, s.scratch_bytes,
                            [&](const K *from, K *to, const V *from_values, V *to_values, size_t n,
                                void *scratch, size_t bytes) {
                                return s.launch(from, to, from_values, to_values, n, 0, all,
                                                scratch, bytes, 0);
                            });
    if (!s.bits)
        return;
    const sort_arrays<K, V> arrays(std::vector<K>(2000), s.values, 0, 0, 0);
    const test_array scratch(s.scratch_bytes(arrays.n));
    const unsigned int wrong[][2] = {{0, all + 1}, {all - 2, 3}, {all + 1, 0}, {~0u, 2}};
    bool ok = true;
    for (const unsigned int *bits : wrong)
        ok &= s.launch(arrays.from, arrays.to, arrays.from_values, arrays.to_values, arrays.n,
                       bits[0], bits[1], scratch.get(), scratch.bytes, 0) == cudaErrorInvalidValue;
    tap_ok(ok && arrays.out.untouched() && arrays.out_values.untouched() && scratch.untouched(),
           "%s: bits that a key does not have return cudaErrorInvalidValue", s.name);
}

#if TESTED(onesweep)
// A scratch for more serves for less, as it is, and then for more again.
static void check_one_scratch(size_t n)
{
    const test_array in(n * 4), out(n * 4), scratch(one_f32_scratch_bytes(n));
    bool ok = true;
    CHECK(one_f32_scratch_init(scratch.get(), scratch.bytes, 0));
    test_order(test_order_count() - 1);
    for (size_t m = n, round = 0; round < 2; m = m * 2 / 5) {
        if (m == 0)
            m = n, round++;
        std::vector<float> x = make<float>(RANDOM, m, m + round), got(n);
        CHECK(cudaMemcpy(in.get(), x.data(), m * 4, cudaMemcpyHostToDevice));
        CHECK(one_f32_launch((const float *)in.get(), (float *)out.get(), m, scratch.get(),
                             scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(got.data());
        std::stable_sort(x.begin(), x.end(),
                         [](float a, float b) { return order_of(b) < order_of(a); });
        ok &= memcmp(got.data(), x.data(), m * 4) == 0;
    }
    test_order(0);
    tap_ok(ok && scratch.intact(), "one scratch serves any smaller n, and the largest again");
}

// Keys that look like slots, which a launch in place leaves where a later one of more keys has its slots: whichever pass
// that is, one block will look there before another has been.
static void check_keys_like_slots(void)
{
    const size_t few = 1300, many = 60 * 96;
    const auto sort = [&](unsigned int like) {
        const test_array in(many * 4), scratch(one_f32_scratch_bytes(many));
        const std::vector<unsigned int> alike(few, like);
        std::vector<float> x = make<float>(RANDOM, many, like), got(many);
        CHECK(one_f32_scratch_init(scratch.get(), scratch.bytes, 0));
        CHECK(cudaMemcpy(in.get(), alike.data(), few * 4, cudaMemcpyHostToDevice));
        CHECK(one_f32_launch((const float *)in.get(), (float *)in.get(), few, scratch.get(),
                             scratch.bytes, 0));
        in.fill(x.data());
        CHECK(one_f32_launch((const float *)in.get(), (float *)in.get(), many, scratch.get(),
                             scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        std::stable_sort(x.begin(), x.end(),
                         [](float a, float b) { return order_of(b) < order_of(a); });
        in.read(got.data());
        return memcmp(got.data(), x.data(), many * 4) == 0 && scratch.intact();
    };
    bool ok = true;
    for (unsigned int like = 9; like < 19; like++) // flags of the fourth pass up to the ninth
#ifdef SIMT
        ok &= test_interleaved(3, [&] { return sort(like); });
#else
        ok &= sort(like);
#endif
    tap_ok(ok, "keys of an earlier launch are not taken for slots");
}

// A block's own sort (block/sort.h), of up to 288 keys; those behind the last of them must stay.
static __global__ void block_kernel(float *keys, unsigned int *values, unsigned int count,
                                    unsigned int first, unsigned int width)
{
    __shared__ block_f32_ranking ranking;
    __shared__ float key[288];
    __shared__ unsigned int value[288];
    for (unsigned int i = threadIdx.x; i < 288; i += 96) {
        key[i] = keys[i];
        value[i] = values[i];
    }
    __syncthreads();
    block_f32_sort(&ranking, key, value, count, first, width);
    for (unsigned int i = threadIdx.x; i < 288; i += 96) {
        keys[i] = key[i];
        values[i] = value[i];
    }
}

static void check_block(void)
{
    const test_array keys(288 * 4), values(288 * 4);
    bool ok = true;
    for (unsigned int turn = 0; turn < 24; turn++) {
        const unsigned int counts[] = {0, 1, 32, 95, 96, 97, 192, 287, 288};
        const unsigned int count = counts[turn % 9], first = turn % 4 ? 0 : 19;
        const unsigned int width = turn % 4 ? 32 : 13;
        const uint64_t mask = ((1ULL << width) - 1) << first;
        std::vector<float> x = make<float>(turn % 2 ? FEW : RANDOM, 288, turn), got(288);
        std::vector<unsigned int> places(288), got_values(288);
        for (unsigned int i = 0; i < 288; i++)
            places[i] = i;
        keys.fill(x.data());
        values.fill(places.data());
        test_order((int)turn % test_order_count());
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(1);
        config.blockDim = dim3(96);
        CHECK(cudaLaunchKernelEx(&config, block_kernel, (float *)keys.get(),
                                 (unsigned int *)values.get(), count, first, width));
        CHECK(cudaDeviceSynchronize());
        keys.read(got.data());
        values.read(got_values.data());
        std::stable_sort(places.begin(), places.begin() + count,
                         [&](unsigned int a, unsigned int b) {
                             return (order_of(x[b]) & mask) < (order_of(x[a]) & mask);
                         });
        for (unsigned int i = 0; i < 288; i++)
            ok = ok && got_values[i] == places[i] && memcmp(&got[i], &x[places[i]], 4) == 0;
    }
    test_order(0);
    tap_ok(ok,
           "block/sort.h: up to 288 keys of a block with their values, by all bits and by some");
}

// One scratch, in place and not, by any number of bits: counted, by 16 blocks together, and in passes.
static void check_in_place_in_turns(void)
{
    const size_t most = 4000;
    const test_array scratch(one_pairs_scratch_bytes(most));
    const char *why = "";
    bool ok = true;
    CHECK(one_pairs_scratch_init(scratch.get(), scratch.bytes, 0));
    for (size_t turn = 0; turn < 24 && ok; turn++) {
        const size_t sizes[] = {most, 700, 3072, 33, 3500, 1800, 2457, 3073};
        const unsigned int width = turn % 5 == 4 ? 8 : 32;
        const uint64_t mask = width == 8 ? 0xff : 0xffffffff;
        const sort_arrays<int, unsigned int> arrays(
            make<int>(turn % 2 ? FEW : RANDOM, sizes[turn % 8], turn), true, turn % 4, turn % 3,
            turn % 8 == 7 ? 0 : 3);
        arrays.fill();
        CHECK(one_pairs_launch_bits(arrays.from, arrays.to, arrays.from_values, arrays.to_values,
                                    arrays.n, 0, width, scratch.get(), scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        why =
            arrays.wrong([&](int a, int b) { return (order_of(a) & mask) < (order_of(b) & mask); });
        ok = !*why && scratch.intact();
    }
    tap_ok(ok, "one scratch serves any size in place, by all bits and by few: %s", why);
}

// Where few keys are counted: right around each wave of blocks, and where there are too many, for any number of passes. On
// simt with devices of 1 to 17 multiprocessors.
template <class K, class V> static void check_counted(const sorter<K, V> &s, size_t most)
{
#ifdef SIMT
    const unsigned int all = 8 * sizeof(K);
    const simt_config before = simt_get_config();
    simt_config config = before;
    bool ok = true;
    const char *why = "";
    for (unsigned int processors : {1, 5, 17}) {
        config.processors = processors;
        simt_set_config(&config);
        const size_t wave = 32 * processors;
        for (size_t n : {wave - 1, wave, wave + 1, 2 * wave + 1, 3 * wave, (size_t)438, (size_t)439,
                         (size_t)877})
            for (unsigned int width : {7u, 9u, all})
                ok = ok && right(s, make<K>(n % 2 ? FEW : RANDOM, n, n), all - width, width, n % 3,
                                 n % 5, (int)(n / 3 % 4), &why);
    }
    ok = ok && right(s, make<K>(FEW, most, most), 0, all, 1, 2, 0, &why); // on the largest of these
    simt_set_config(&before);
    tap_ok(ok, "%s: right around waves of blocks that count: %s", s.name, why);
#else
    (void)s, (void)most;
#endif
}

// A block may run long before the blocks whose counts it needs.
static void check_waits(COARSEN_UNUSED size_t n)
{
#ifdef SIMT
    const std::vector<float> x = make<float>(RANDOM, n, 1);
    const char *why = "";
    const bool ok = test_interleaved(10, [&] { return right(of_f32, x, 0, 32, 0, 0, 0, &why); });
    tap_ok(ok, "right in ten orders of blocks that interleave: %s", why);
#endif
}

// Keys of which all have the same digit here and there, in tiles too, and what is left to do then: any number of passes,
// in place and not.
static void check_digits(size_t n)
{
    bool ok = true;
    for (unsigned int digits = 0; digits < 16 && ok; digits++) {
        unsigned int mask = 0;
        for (unsigned int d = 0; d < 4; d++)
            mask |= digits >> d & 1 ? 0xffu << 8 * d : 0;
        std::vector<int> x(n);
        for (size_t i = 0; i < n; i++)
            x[i] = (int)(0x40404040 ^ (mask & (i < 1000 ? 1u : (unsigned int)test_random(3, i))));
        for (int in_place = 0; in_place < 4 && ok; in_place++) {
            const unsigned int width = digits % 3 == 0 ? 24 : 32;
            const char *why;
            ok = right(of_pairs, x, 0, width, 0, 1, in_place, &why);
            if (!ok)
                tap_ok(0, "n = %zu, keys that differ in bits 0x%x, by %u bits, in place %d: %s", n,
                       mask, width, in_place, why);
        }
    }
    if (ok)
        tap_ok(1, "right where all keys have the same digit");
}

// A scratch that was not made ready ends the launch.
static void check_unready(size_t n)
{
#ifdef SIMT
    for (unsigned int word : {0xffffffffu, 0x01010101u}) {
        const simt_kind kind = test_unready(one_f32_scratch_bytes(n), word, [&](void *scratch) {
            return one_f32_launch((const float *)test_zeros(n * 4), (float *)test_zeros(n * 4), n,
                                  scratch, one_f32_scratch_bytes(n), 0);
        });
        tap_ok(kind == SIMT_TRAP, "n = %zu, a scratch of words 0x%x: %s", n, word,
               simt_kind_name(kind));
    }
#else
    (void)n;
#endif
}
#endif

#if defined(SIMT) && !defined(TEST_ONLY)
// The figures of docs/counts.md: of a whole sort of n random keys, of which only the bits of a mask are not 0.
static void check_count(const char *name, size_t (*scratch_bytes)(size_t),
                        cudaError_t (*launch)(const unsigned int *, unsigned int *, size_t, void *,
                                              size_t, cudaStream_t),
                        double bytes_per_key, double sectors_per_key, size_t n = 14336,
                        unsigned int mask = 0xffffffff)
{
    const test_array in(n * 4), out(n * 4), scratch(scratch_bytes(n));
    std::vector<unsigned int> keys = make<unsigned int>(RANDOM, n, 3);
    for (unsigned int &key : keys)
        key &= mask;
    in.fill(keys.data());
    scratch.zero();
    simt_counts c;
    simt_reset_counts();
    CHECK(launch((const unsigned int *)in.get(), (unsigned int *)out.get(), n, scratch.get(),
                 scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    simt_total_counts(&c);
    const double stored = (double)(c.global_sectors - c.global_load_sectors) / (double)n;
    const double moved = (double)c.global_bytes / (double)n;
    tap_ok(fabs(stored - sectors_per_key) < 0.005 * sectors_per_key &&
               fabs(moved - bytes_per_key) < 0.005 * bytes_per_key,
           "%s: %.2f bytes per key, %.3f sectors written", name, moved, stored);
}
#endif

int main(void)
{
    test_begin();
#if defined(SIMT) && !defined(TEST_ONLY)
    check_count("single_bit", counted_single_bit_scratch_bytes, counted_single_bit_launch, 646,
                5.935);
    check_count("local", counted_local_scratch_bytes, counted_local_launch, 646, 5.227);
    check_count("multi_bit", counted_multi_bit_scratch_bytes, counted_multi_bit_launch, 172, 2.200);
    check_count("coarsened", counted_coarsened_scratch_bytes, counted_coarsened_launch, 161.7,
                1.342);
    check_count("onesweep", counted_onesweep_scratch_bytes, counted_onesweep_launch, 64.97, 1.282,
                96 * 2048);
    check_count("onesweep, one digit of four", counted_onesweep_scratch_bytes,
                counted_onesweep_launch, 20.10, 0.362, 96 * 2048, 0xff00);
#endif
#if TESTED(single_bit)
    check_errors(of_single_i16);
    check(of_single_i16, 40); // so many tiles that the table is scanned in parts
    check(of_single_f32, 4);
#ifndef TEST_FIRST
    check(of_single_u8);
#endif
#endif
#if TESTED(local)
    check_errors(of_local_i16);
    check(of_local_i16, 4);
    check(of_local_f32, 4);
#ifndef TEST_FIRST
    check(of_local_u8);
#endif
#endif
#if TESTED(multi_bit)
    check_errors(of_multi_i16);
    check(of_multi_i16, 4);
    check(of_multi_f32, 4);
#ifndef TEST_FIRST
    check(of_multi_u8);
#endif
#endif
#if TESTED(coarsened)
    check_errors(of_coarsened_i16);
    check(of_coarsened_i16, 4);
    check(of_coarsened_f32, 4);
#ifndef TEST_FIRST
    check(of_coarsened_u8);
#endif
#endif
#if TESTED(onesweep)
    check_unready(10 * 480); // first, as it resets the device
    check_errors(of_pairs);
    check(of_f32);
    check(of_pairs, 20);
    check_waits(10 * 480);
    check_one_scratch(30 * 480);
    check_in_place_in_turns();
    check_counted(of_pairs, 900);
    check_digits(20 * 192 + 11);
    check_block();
    check_keys_like_slots();
    tap_ok(one_pairs_most_ranked(24576, 8448, 0) == 0,
           "of a device that cannot be asked no keys are counted");
#ifndef TEST_FIRST
    check(of_u8);
    check(of_i16, 18);
    check(of_u32, 3);
    check(of_few, 2);
    check(of_u64);
    check_counted(of_u64, 4500); // more than one turn of a block's warps
    check(of_f64);
    check(of_wide, 3);
    check_bool();
    check_huge();
#ifndef SIMT
    check_graph(
        one_u32_scratch_bytes,
        [](void *scratch, size_t bytes) { return one_u32_scratch_init(scratch, bytes, 0); },
        one_u32_launch);
    check_big(
        one_u8_scratch_bytes,
        [](void *scratch, size_t bytes) { return one_u8_scratch_init(scratch, bytes, 0); },
        one_u8_launch);
#endif
#endif
#endif
    return tap_done();
}
