// SPDX-License-Identifier: MIT
//
// The greatest of many: right around every tile, part and row, for every k and type of number, at any alignment, whatever
// the numbers, in any order of blocks; and what it promises of errors, scratch and what it leaves as it was.

#include "device.h"
#include "sorts.h"

#include <coarsen/base.h>

#ifndef TEST_ONLY // whose programs are in namespaces, which the header is not made for
#include <cuda_fp16.h>
#endif

#if TESTED(top_k)
#define COARSEN_NAME  top_f32
#define COARSEN_TYPE  float
#define COARSEN_INDEX unsigned int
#define BLOCK_DIM     64
#define COARSE_FACTOR 2
#define COARSEN_PART  600
#include <coarsen/top_k.h>

#define COARSEN_NAME       least_i32
#define COARSEN_TYPE       int
#define COARSEN_DESCENDING 0
#define COARSEN_INDEX      int
#define BLOCK_DIM          32
#define COARSE_FACTOR      1
#define COARSEN_PART       700
#include <coarsen/top_k.h>

#define COARSEN_NAME  uneven
#define COARSEN_TYPE  float
#define COARSEN_INDEX unsigned int
#define COARSEN_PART  10000
#include <coarsen/top_k.h>

#define COARSEN_NAME  parts_u8
#define COARSEN_TYPE  unsigned char
#define BLOCK_DIM     64
#define COARSE_FACTOR 1
#define COARSEN_PART  100
#include <coarsen/top_k.h>

#ifndef TEST_FIRST
#define COARSEN_NAME  top_u8
#define COARSEN_TYPE  unsigned char
#define BLOCK_DIM     32
#define COARSE_FACTOR 1
#define COARSEN_PART  1000
#include <coarsen/top_k.h>

#define COARSEN_NAME  top_i16
#define COARSEN_TYPE  short
#define COARSEN_INDEX size_t
#define BLOCK_DIM     128
#define COARSE_FACTOR 3
#define COARSEN_PART  3000
#include <coarsen/top_k.h>

#define COARSEN_NAME       least_f64
#define COARSEN_TYPE       double
#define COARSEN_DESCENDING 0
#define BLOCK_DIM          96
#define COARSE_FACTOR      4
#define COARSEN_PART       1
#include <coarsen/top_k.h>

#define COARSEN_NAME top_u64
#define COARSEN_TYPE unsigned long long
#define COARSEN_PART 6000
#include <coarsen/top_k.h>

#ifndef TEST_ONLY
#define COARSEN_NAME top_half
#define COARSEN_TYPE __half
#define BLOCK_DIM    64
#define COARSEN_PART 1000
#include <coarsen/top_k.h>
#endif

// Indices of a byte count few numbers.
#define COARSEN_NAME  top_few
#define COARSEN_TYPE  float
#define COARSEN_INDEX signed char
#include <coarsen/top_k.h>

#ifndef SIMT
#define COARSEN_NAME top_big
#define COARSEN_TYPE unsigned char
#include <coarsen/top_k.h>
#endif
#endif

// ---- The numbers --------------------------------------------------------------------------------------

#ifndef TEST_ONLY
static uint64_t order_of(__half x)
{
    uint16_t bits;
    memcpy(&bits, &x, sizeof(x));
    return order_of_bits(bits, (uint16_t)0x7c00);
}
#endif

static const shape shapes[] = {RANDOM, FEW, SORTED, REVERSED, CONSTANT, SAWTOOTH, SKEWED, RARE};

template <class K> static std::vector<K> of_shape(shape of, size_t n, uint64_t seed)
{
    std::vector<K> x(n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = test_random(seed, i);
        x[i] = of == FEW        ? key_of<K>(bits % 3 * 0x1f81c10305010207 + bits % 2)
               : of == CONSTANT ? key_of<K>(seed % 3 == 0   ? 0
                                            : seed % 3 == 1 ? ~0ULL
                                                            : 0x4040404040404040)
               : of == RARE     ? key_of<K>(bits % 97  ? bits % 3
                                            : bits % 2 ? 0x7b7b7b7b7b7b7b7b
                                                       : 0x8484848484848484)
               : of == SKEWED   ? key_of<K>(bits % 8 ? 0x0101010101010101 : bits >> 8)
                                : key_of<K>(bits);
    }
    // Now and then what floating-point numbers have.
    for (size_t i = 0; of == RANDOM && i < n; i += 7) {
        const int size = (int)sizeof(K);
        const uint64_t infinite = size == 8   ? 0x7ff0000000000000
                                  : size == 4 ? 0x7f800000
                                              : 0x7c00,
                       sign = 1ULL << (8 * size - 1),
                       special[] = {
                           0, sign, infinite, infinite | sign, infinite + 1, (infinite + 1) | sign};
        x[i] = key_of<K>(special[test_random(seed, i) % 6]);
    }
    const auto less = [](K a, K b) { return order_of(a) < order_of(b); };
    if (of == SORTED || of == REVERSED)
        std::stable_sort(x.begin(), x.end(), less);
    if (of == REVERSED)
        std::reverse(x.begin(), x.end());
    for (size_t i = 0; of == SAWTOOTH && i < n; i += 157)
        std::stable_sort(x.begin() + (ptrdiff_t)i, x.begin() + (ptrdiff_t)std::min(n, i + 157),
                         less);
    return x;
}

// ---- Running one ----------------------------------------------------------------------------------------

template <class K, class I> struct finder {
    const char *name;
    bool descending;
    size_t tile, part, most; // most: numbers to test it with
    size_t (*scratch_bytes)(size_t, size_t, size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    cudaError_t (*launch)(const K *, size_t, size_t, K *, I *, void *, size_t, cudaStream_t);
    cudaError_t (*launch_rows)(const K *, size_t, size_t, size_t, size_t, K *, I *, void *, size_t,
                               cudaStream_t);
};
#define FINDER(name, descending, tile, part, most)                                                 \
    {                                                                                              \
#name, descending, tile, part, most, name##_scratch_bytes, name##_scratch_init,            \
            name##_launch, name##_launch_rows                                                      \
    }

// Whether a launch gives the first k of each row, and where they were, and writes nothing else.
template <class K, class I>
static bool right(const finder<K, I> &f, shape of, size_t rows, size_t width, size_t gap, size_t k,
                  size_t in_offset, size_t out_offset, bool indexed, const char **why,
                  int times = 2)
{
    const size_t pitch = width + gap, n = rows == 0 ? 0 : (rows - 1) * pitch + width;
    const std::vector<K> x = of_shape<K>(of, n, n + k);
    const test_array in(n * sizeof(K), in_offset * sizeof(K));
    const test_array out(rows * k * sizeof(K), out_offset * sizeof(K));
    const test_array indices(indexed ? rows * k * sizeof(I) : 0, out_offset * sizeof(I));
    const test_array scratch(f.scratch_bytes(rows, width, k));
    std::vector<K> got(rows * k), again(n);
    std::vector<I> got_indices(rows * k);
    in.fill(x.data());
    cudaError_t status = f.scratch_init(scratch.get(), scratch.bytes, 0);
    for (int t = 0; t < times && status == cudaSuccess; t++) {
        if (rows == 1 && gap == 0)
            status = f.launch((const K *)in.get(), n, k, (K *)out.get(),
                              indexed ? (I *)indices.get() : NULL, scratch.get(), scratch.bytes, 0);
        else
            status =
                f.launch_rows((const K *)in.get(), pitch, rows, width, k, (K *)out.get(),
                              indexed ? (I *)indices.get() : NULL, scratch.get(), scratch.bytes, 0);
    }
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    *why = status == cudaSuccess ? "" : cudaGetErrorString(status);
    if (status != cudaSuccess)
        return false;
    out.read(got.data());
    in.read(again.data());
    if (indexed)
        indices.read(got_indices.data());
    std::vector<size_t> at(width);
    for (size_t r = 0; r < rows && !**why; r++) {
        const K *const row = x.data() + r * pitch;
        for (size_t i = 0; i < width; i++)
            at[i] = i;
        std::partial_sort(at.begin(), at.begin() + (ptrdiff_t)k, at.end(), [&](size_t a, size_t b) {
            const uint64_t left = order_of(row[a]), right = order_of(row[b]);
            return left != right ? (left < right) != f.descending : a < b;
        });
        for (size_t j = 0; j < k && !**why; j++)
            if (memcmp((const void *)&got[r * k + j], (const void *)&row[at[j]], sizeof(K)) != 0)
                *why = "wrong numbers";
            else if (indexed && (size_t)got_indices[r * k + j] != at[j])
                *why = "wrong indices";
    }
    if (!**why && n > 0 &&
        memcmp((const void *)again.data(), (const void *)x.data(), n * sizeof(K)) != 0)
        *why = "changed its input";
    if (!**why && (!in.intact() || !out.intact() || !indices.intact() || !scratch.intact()))
        *why = "wrote outside its arrays";
    return !**why;
}

template <class K, class I>
static bool passes(const finder<K, I> &f, size_t z, size_t rows, size_t width, size_t k)
{
    const uint64_t bits = test_random(rows * 31 + width, k + f.tile + z);
    const shape of = shapes[bits % 8];
    const size_t in_offset = (bits >> 8) % 131, out_offset = (bits >> 16) % 5;
    const size_t gap = bits >> 24 & 1 ? (bits >> 32) % 5 : 0;
    const bool indexed = (bits >> 40) % 4 != 0;
    const char *order = test_order((int)z % test_order_count()), *why;
    const bool ok = right(f, of, rows, width, gap, k, in_offset, out_offset, indexed, &why);
    test_order(0);
    if (!ok)
        tap_ok(0, "%s: %zu x %zu, gap %zu, k = %zu, %s, offsets %zu and %zu%s, %s: %s", f.name,
               rows, width, gap, k, shape_names[of], in_offset, out_offset,
               indexed ? "" : ", no indices", order, why);
    return ok;
}

// Around lanes, vectors, tiles and parts, at random shapes and alignments, in every order of blocks.
template <class K, class I> static void check(const finder<K, I> &f)
{
    std::vector<size_t> sizes = {1, 2, 3, 5, 16, 31, 32, 33, 63, 64, 65, 100};
    for (size_t k = 1; k <= 2; k++)
        for (size_t i = 0; i < 3; i++) {
            sizes.push_back(k * f.tile - 1 + i);
            sizes.push_back(k * f.part - 1 + i);
            sizes.push_back(4 * k * f.part - 1 + i);
        }
    for (uint64_t i = 0; i < 5; i++)
        sizes.push_back(1 + test_random(f.tile, i) % f.most);
    sizes.push_back(f.most);
    const size_t ks[] = {1, 2, 7, 16, 33, 64, 100, 129, 500, 1023, 1024};
    size_t z = 0;
    for (size_t n : sizes) {
        if (n > f.most)
            continue;
        const size_t most = std::min<size_t>(n, 1024);
        const size_t some[] = {z % 2 ? most : 1, 1 + test_random(n, 5) % most, ks[z % 11]};
        for (size_t k : some)
            if (k <= n && !passes(f, z++, 1, n, k))
                return;
        // As many numbers, in rows.
        const size_t width =
            z % 2 ? n : 1 + test_random(n, 6) % std::min<size_t>(n, z % 4 ? 70 : n);
        const size_t rows = width == n ? 2 : std::min<size_t>(n / width + 1, 60);
        const size_t k = 1 + test_random(n + width, 8) % std::min<size_t>(width, z % 3 ? 40 : 1024);
        if (!passes(f, z++, rows, width, k))
            return;
    }
    tap_ok(1, "%s: right at every size up to %zu", f.name, f.most);
    // Each kind of numbers, with many parts and with few.
    for (shape of : shapes)
        for (size_t k : {3, 60}) {
            const size_t n = std::min(f.most, 2 * f.part + 3 * f.tile + 5);
            const char *why;
            if (!right(f, of, 1, n, 0, k, 1, 0, true, &why, 1) ||
                !right(f, of, 5, n / 5, 1, std::min(k, n / 5), 2, 1, true, &why, 1)) {
                tap_ok(0, "%s: n = %zu, k = %zu, %s: %s", f.name, n, k, shape_names[of], why);
                return;
            }
        }
    tap_ok(1, "%s: right whatever the numbers", f.name);
}

static const finder<float, unsigned int> of_f32 = FINDER(top_f32, true, 512, 600, 2500);
static const finder<int, int> of_i32 = FINDER(least_i32, false, 128, 700, 2500);
#ifndef TEST_FIRST
static const finder<unsigned char, unsigned long long> of_u8 =
    FINDER(top_u8, true, 512, 1000, 4000);
static const finder<short, size_t> of_i16 = FINDER(top_i16, true, 3072, 3000, 8000);
static const finder<double, unsigned long long> of_f64 = FINDER(least_f64, false, 768, 100, 30000);
static const finder<unsigned long long, unsigned long long> of_u64 =
    FINDER(top_u64, true, 256, 6000, 9000);
#ifndef TEST_ONLY
static const finder<__half, unsigned long long> of_half = FINDER(top_half, true, 2048, 1000, 4000);
#endif
#endif

// ---- What is promised beyond the result -----------------------------------------------------------------

static void check_errors(void)
{
    const size_t rows = 3, width = 2000, pitch = 2001, k = 20,
                 bytes = top_f32_scratch_bytes(rows, width, k);
    const test_array in(rows * pitch * 4), out(rows * k * 4), indices(rows * k * 4), scratch(bytes);
    float *const x = (float *)in.get(), *const y = (float *)out.get();
    unsigned int *const v = (unsigned int *)indices.get();
    char *const s = (char *)scratch.get();
    bool ok = true;
    const auto wrong = [&](const float *from, size_t p, size_t r, size_t w, size_t many, float *to,
                           unsigned int *to_indices, void *with, size_t with_bytes) {
        ok &= top_f32_launch_rows(from, p, r, w, many, to, to_indices, with, with_bytes, 0) ==
              cudaErrorInvalidValue;
    };
    tap_ok(bytes > 0, "three rows of 2000 have parts");
    wrong(NULL, pitch, rows, width, k, y, v, s, bytes);
    wrong((float *)((char *)x + 1), pitch, rows, width, k, y, v, s, bytes);
    wrong(x, width - 1, rows, width, k, y, v, s, bytes);
    wrong(x, (size_t)-1 / 4, rows, width, k, y, v, s, bytes);
    wrong(x, pitch, (size_t)-1 / 8, width, k, y, v, s, (size_t)-1);
    wrong(x, 40, (size_t)-1 / 100, 40, k, y, v, s, bytes);
    wrong(x, pitch, rows, (size_t)-1 / 4, k, y, v, s, (size_t)-1);
    wrong(x, pitch, rows, width, k, NULL, v, s, bytes);
    wrong(x, pitch, rows, width, k, (float *)((char *)y + 1), v, s, bytes);
    wrong(x, pitch, rows, width, k, y, (unsigned int *)((char *)v + 1), s, bytes);
    wrong(x, pitch, rows, width, 1025, y, v, s, (size_t)-1);
    wrong(x, pitch, rows, 19, k, y, v, s, bytes);
    wrong(x, pitch, rows, 1000, 1001, y, v, s, bytes);
    wrong(x, pitch, rows, width, (size_t)-1, y, v, s, bytes);
    wrong(x, pitch, rows, 0, 1, y, v, s, bytes);
    wrong(x, pitch, rows, width, k, y, v, NULL, bytes);
    wrong(x, pitch, rows, width, k, y, v, s + 8, bytes);
    wrong(x, pitch, rows, width, k, y, v, s, bytes - 1);
    ok &= top_f32_launch(x, 19, 20, y, v, s, bytes, 0) == cudaErrorInvalidValue;
    ok &= top_f32_launch(x, 0, 1, y, v, s, bytes, 0) == cudaErrorInvalidValue;
    ok &= top_f32_launch(NULL, 20, 20, y, v, s, bytes, 0) == cudaErrorInvalidValue;
    tap_ok(ok, "wrong arguments return cudaErrorInvalidValue");
    ok = top_f32_launch_rows(NULL, 0, 0, 5, 1, NULL, NULL, NULL, 0, 0) == cudaSuccess &&
         top_f32_launch_rows(NULL, 5, 5, 5, 0, NULL, NULL, NULL, 0, 0) == cudaSuccess &&
         top_f32_launch(NULL, 0, 0, NULL, NULL, NULL, 0, 0) == cudaSuccess;
    tap_ok(ok, "no rows, and none of each, are nothing to do");
    tap_ok(in.untouched() && out.untouched() && indices.untouched() && scratch.untouched(),
           "wrong arguments, and nothing to do, write nothing");
    ok = true;
    for (size_t r = 1; r <= 3000; r = r * 3 / 2 + 1)
        for (size_t w = 1; w <= 10000; w = w * 2 + 1)
            for (size_t many = 1; many <= 1024; many *= 4) {
                const size_t needed = top_f32_scratch_bytes(r, w, many);
                ok &= needed <= top_f32_scratch_bytes(r + 1, w, many) &&
                      needed <= top_f32_scratch_bytes(r, w + 1, many) &&
                      needed <= top_f32_scratch_bytes(r, w, many + 1);
            }
    tap_ok(ok, "scratch is enough for less");
}

// Rows of a warp, so many that a warp has each, of fewer vectors than k and of two tiles, where some lanes have all of the
// first k, so that many more than k numbers are up to the edge, and candidates are sorted several times: where numbers rise,
// most often.
static void check_uneven(void)
{
    enum { RISES, FALLS, TIES };
    int processors = 0;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    const size_t rows = std::max<size_t>(12, (size_t)processors / 2 + 1);
    const size_t odd[] = {1, 5, 7, 9, 15, 31}, even[] = {4, 16};
    bool ok = true;
    for (size_t k : {2, 16, 17, 100, 128})
        for (size_t width : {300, 5001}) {
            const size_t pitch = (width + 3) / 4 * 4;
            std::vector<float> x(rows * pitch), got(rows * k);
            std::vector<unsigned int> indices(rows * k), order(width);
            for (size_t r = 0; r < rows; r++) {
                const size_t lanes = width == 300 ? even[r / 3 % 2] : odd[r / 3 % 6];
                const int kind = (int)(r % 3);
                for (size_t i = 0; i < width; i++) { // neighbours in the order of floats
                    const size_t place = kind == RISES   ? i
                                         : kind == FALLS ? width - i
                                                         : test_random(k, i) % (k + lanes / 4);
                    const uint32_t bits =
                        0x3f800000 + (uint32_t)place + (i / 4 % 32 < lanes ? 9000 : 0);
                    memcpy(&x[r * pitch + i], &bits, 4);
                }
            }
            const test_array in(rows * pitch * 4), out(rows * k * 4), at(rows * k * 4);
            in.fill(x.data());
            CHECK(uneven_launch_rows((const float *)in.get(), pitch, rows, width, k,
                                     (float *)out.get(), (unsigned int *)at.get(), NULL, 0, 0));
            CHECK(cudaDeviceSynchronize());
            out.read(got.data());
            at.read(indices.data());
            for (size_t r = 0; r < rows; r++) {
                const float *const row = x.data() + r * pitch;
                for (size_t i = 0; i < width; i++)
                    order[i] = (unsigned int)i;
                std::stable_sort(order.begin(), order.end(),
                                 [&](unsigned int a, unsigned int b) { return row[a] > row[b]; });
                for (size_t j = 0; j < k; j++)
                    ok = ok && indices[r * k + j] == order[j] && got[r * k + j] == row[order[j]];
            }
        }
    tap_ok(ok, "some lanes have all of the first");
}

#ifndef TEST_FIRST
// Parts of parts of parts, of few rows and of many: as many levels as there are, where all numbers of the first parts are
// candidates; and few, where the first ones have enough.
static void check_levels(void)
{
    for (shape of : shapes)
        for (size_t k : {1, 7})
            for (size_t rows : {1, 2, 40}) {
                const char *why;
                const size_t width = rows == 40 ? 5003 : 120007 / rows;
                if (!right(of_f64, of, rows, width, 1, k, 1, 1, true, &why)) {
                    tap_ok(0, "%zu rows of %zu, k = %zu, %s: %s", rows, width, k, shape_names[of],
                           why);
                    return;
                }
            }
    tap_ok(1, "parts of parts, at each level");
}

static void check_few_indices(void)
{
    const test_array in(129 * 4), out(4), index(1);
    float *const x = (float *)in.get(), *const y = (float *)out.get();
    std::vector<float> numbers(129);
    signed char got = 0;
    for (size_t i = 0; i < 129; i++)
        numbers[i] = (float)i;
    in.fill(numbers.data());
    tap_ok(top_few_launch(x, 129, 1, y, (signed char *)index.get(), NULL, 0, 0) ==
                   cudaErrorInvalidValue &&
               out.untouched() && index.untouched(),
           "more numbers than indices return cudaErrorInvalidValue");
    tap_ok(top_few_launch(x, 129, 1, y, NULL, NULL, 0, 0) == cudaSuccess &&
               top_few_launch(x, 128, 1, y, (signed char *)index.get(), NULL, 0, 0) ==
                   cudaSuccess &&
               cudaDeviceSynchronize() == cudaSuccess,
           "but not if none are wanted");
    index.read(&got);
    tap_ok(got == 127, "nor if the last of them can be told");
}

// A scratch for more serves for less, as it is, and then for more again.
static void check_one_scratch(void)
{
    const size_t n = 9000;
    const std::vector<float> x = make<float>(RANDOM, n, 3);
    const test_array in(n * 4), out(1024 * 4), scratch(top_f32_scratch_bytes(4, n, 1024));
    std::vector<float> got(1024), one;
    bool ok = true;
    in.fill(x.data());
    CHECK(top_f32_scratch_init(scratch.get(), scratch.bytes, 0));
    test_order(test_order_count() - 1);
    for (size_t turn = 0; turn < 40; turn++) {
        const size_t rows = 1 + turn % 4, width = n / rows - 7 * turn;
        const size_t k = 1 + test_random(turn, 1) % 200;
        CHECK(top_f32_launch_rows((const float *)in.get(), width, rows, width, k,
                                  (float *)out.get(), NULL, scratch.get(), scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(got.data());
        for (size_t r = 0; r < rows && ok; r++) {
            one.assign(x.begin() + (ptrdiff_t)(r * width),
                       x.begin() + (ptrdiff_t)((r + 1) * width));
            std::stable_sort(one.begin(), one.end(),
                             [](float a, float b) { return order_of(b) < order_of(a); });
            ok = memcmp(got.data() + r * k, one.data(), k * 4) == 0;
        }
    }
    test_order(0);
    tap_ok(ok && scratch.intact(), "one scratch serves any smaller shape, and the largest again");
}
#endif

// Rows of equal numbers, of which a block's candidates come in any order.
static void check_equal(void)
{
    const size_t rows = 70, width = 3300, k = 150; // more than a warp takes
    std::vector<unsigned int> indices(rows * k);
    const std::vector<float> x(rows * width, 7.0f);
    const test_array in(rows * width * 4), out(rows * k * 4), out_indices(rows * k * 4);
    const test_array scratch(top_f32_scratch_bytes(rows, width, k));
    in.fill(x.data());
    bool ok = true;
    for (int order = 0; order < test_order_count(); order++) {
        test_order(order);
        CHECK(top_f32_launch_rows((const float *)in.get(), width, rows, width, k,
                                  (float *)out.get(), (unsigned int *)out_indices.get(),
                                  scratch.get(), scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out_indices.read(indices.data());
        for (size_t j = 0; j < rows * k; j++)
            ok = ok && indices[j] == j % k;
    }
    test_order(0);
    tap_ok(ok, "of equal numbers the first, in whatever order they are found");
}

// A row with fewer vectors than it has parts, and fewer than k: many parts have nothing.
static void check_empty_parts(void)
{
#ifdef SIMT
    const simt_config before = simt_get_config();
    simt_config config = before;
    config.processors = 32;
    simt_set_config(&config);
#endif
    const size_t n = 2100, k = 150;
    std::vector<unsigned char> x(n), got(k);
    for (size_t i = 0; i < n; i++)
        x[i] = (unsigned char)test_random(3, i);
    const test_array in(n), out(k), scratch(parts_u8_scratch_bytes(1, n, k));
    in.fill(x.data());
    CHECK(parts_u8_launch((const unsigned char *)in.get(), n, k, (unsigned char *)out.get(), NULL,
                          scratch.get(), scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    out.read(got.data());
    std::sort(x.begin(), x.end(), std::greater<unsigned char>());
    tap_ok(memcmp(got.data(), x.data(), k) == 0, "more parts than vectors");
#ifdef SIMT
    simt_set_config(&before);
#endif
}

// A part whose first tile has none of the k, after another part has told that it has k equal ones: those of this part come
// first.
static void check_told(void)
{
    const size_t n = 1300, k = 10, low = 512;
    std::vector<float> x(n, 1.0f), got(k);
    std::vector<unsigned int> indices(k);
    for (size_t i = 0; i < low; i++)
        x[i] = 0.0f;
    const test_array in(n * 4), out(k * 4), out_indices(k * 4);
    const test_array scratch(top_f32_scratch_bytes(1, n, k));
    in.fill(x.data());
    CHECK(top_f32_scratch_init(scratch.get(), scratch.bytes, 0));
    bool ok = true;
    for (int order = 0; order < test_order_count(); order++) {
        test_order(order);
        CHECK(top_f32_launch((const float *)in.get(), n, k, (float *)out.get(),
                             (unsigned int *)out_indices.get(), scratch.get(), scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(got.data());
        out_indices.read(indices.data());
        for (size_t j = 0; j < k; j++)
            ok = ok && got[j] == 1.0f && indices[j] == low + j;
    }
    test_order(0);
    tap_ok(ok, "of equal numbers the first, whatever another part has told");
}

// More rows than blocks, or warps, which have one after another: of few numbers each, and of parts.
static void check_many_rows(void)
{
    for (size_t width : {300, 1300})
        for (size_t k : {100, 150})
            for (shape of : {RANDOM, CONSTANT}) {
                const char *why;
                if (!right(of_f32, of, 100, width, 1, k, 1, 1, true, &why)) {
                    tap_ok(0, "100 rows of %zu, k = %zu, %s: %s", width, k, shape_names[of], why);
                    return;
                }
            }
    // A block each, which would have all of a row in shared memory if k were greater.
    int processors = 0;
    const char *why;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    const bool ok =
        right(of_f32, RANDOM, (size_t)processors / 2 + 1, 1000, 1, 20, 1, 1, true, &why);
    tap_ok(ok, "more rows than blocks%s%s", ok ? "" : ": ", why);
}

// Whatever a scratch has, it serves.
static void check_unready(void)
{
    const size_t n = 5000, k = 5;
    std::vector<float> x(n, 1.0f), got(k);
    for (size_t j = 0; j < k; j++)
        x[n - 1 - 900 * j] = (float)(j + 2);
    bool ok = true;
    for (unsigned int word : {0xffffffffu, 0x01010101u}) {
        const test_array in(n * 4), out(k * 4), scratch(top_f32_scratch_bytes(1, n, k));
        const std::vector<unsigned int> words(scratch.bytes / 4, word);
        in.fill(x.data());
        scratch.fill(words.data());
        CHECK(top_f32_launch((const float *)in.get(), n, k, (float *)out.get(), NULL, scratch.get(),
                             scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(got.data());
        for (size_t j = 0; j < k; j++)
            ok = ok && got[j] == (float)(k + 1 - j);
    }
    tap_ok(ok, "a scratch that was not made ready serves too");
}

#if !defined(SIMT) && !defined(TEST_FIRST)
static void check_graph(void)
{
    const size_t n = 1000003, k = 100;
    const std::vector<unsigned long long> x = of_shape<unsigned long long>(RANDOM, n, 9);
    std::vector<unsigned long long> sorted = x;
    const test_array in(n * 8), out(k * 8), scratch(top_u64_scratch_bytes(1, n, k));
    in.fill(x.data());
    std::sort(sorted.begin(), sorted.end(), [](uint64_t a, uint64_t b) { return b < a; });
    sorted.resize(k);
    CHECK(top_u64_scratch_init(scratch.get(), scratch.bytes, 0));
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(top_u64_launch((const unsigned long long *)in.get(), n, k,
                                 (unsigned long long *)out.get(), NULL, scratch.get(),
                                 scratch.bytes, stream));
        },
        [&] { return out.holds(sorted); });
    tap_ok(ok, "is captured in a graph and replayed");
}

// Beyond 2^32 numbers, of one array and of rows; and more short rows than a grid has blocks of threads for.
static void check_big(void)
{
    const size_t n = ((size_t)1 << 32) + 4099, k = 5;
    if (!test_room("n > 2^32", n + n / 3 + top_big_scratch_bytes(1, n, k)))
        return;
    const test_array x(n);
    unsigned char *const in = (unsigned char *)x.get();
    const size_t at[] = {7, 99, ((size_t)1 << 32) - 1, (size_t)1 << 32, n - 1};
    const unsigned char number[] = {250, 252, 255, 252, 251};
    const size_t wanted[] = {at[2], at[1], at[3], at[4], at[0]};
    const test_array out(k), indices(k * 8), scratch(top_big_scratch_bytes(1, n, k));
    std::vector<unsigned long long> got(k);
    CHECK(cudaMemset(in, 3, n));
    for (size_t i = 0; i < 5; i++)
        CHECK(cudaMemcpy(in + at[i], number + i, 1, cudaMemcpyHostToDevice));
    CHECK(top_big_scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(top_big_launch(in, n, k, (unsigned char *)out.get(), (unsigned long long *)indices.get(),
                         scratch.get(), scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    indices.read(got.data());
    tap_ok(std::equal(got.begin(), got.end(), wanted), "n = 2^32 + 4099");
    // In rows of 3: the first of each.
    const size_t rows = n / 3;
    const test_array of_rows(rows);
    unsigned char *const firsts = (unsigned char *)of_rows.get();
    CHECK(top_big_launch_rows(in, 3, rows, 3, 1, firsts, NULL, NULL, 0, 0));
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (size_t i = 0; i < 3; i++) {
        unsigned char first = 0;
        CHECK(cudaMemcpy(&first, firsts + at[i] / 3, 1, cudaMemcpyDeviceToHost));
        ok &= first == number[i];
    }
    tap_ok(ok, "n / 3 rows of 3");
}
#endif
#endif

int main(void)
{
    test_begin();
#if TESTED(top_k)
    check_unready();
    check_errors();
    check_told();
    check_equal();
    check_empty_parts();
    check_uneven();
    check_many_rows();
    check(of_f32);
    check(of_i32);
#ifndef TEST_FIRST
    check(of_u8);
    check(of_i16);
    check(of_f64);
    check(of_u64);
#ifndef TEST_ONLY
    check(of_half);
#endif
    check_levels();
    check_few_indices();
    check_one_scratch();
#ifndef SIMT
    check_graph();
    check_big();
#endif
#endif
#endif
    return tap_done();
}
