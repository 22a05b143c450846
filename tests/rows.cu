// SPDX-License-Identifier: MIT
//
// segmented/rows.h and segmented/columns.h: right for every shape around every boundary, at any pitch and
// alignment, for every operator and type, in any order of blocks; and what they promise of errors and scratch.

#include "device.h"
#include "operators.h"

#include <coarsen/base.h>

#define COARSEN_NAME f32_at
#define COARSEN_TYPE float
#include <coarsen/arg.h>

// ---- The inclusions: of each header, the same -------------------------------------------------------

#if TESTED(rows)

#define COARSEN_NAME  rows_i32
#define COARSEN_TYPE  int
#define BLOCK_DIM     32
#define COARSE_FACTOR 1
#include <coarsen/segmented/rows.h>

#define COARSEN_NAME rows_f32
#define COARSEN_TYPE float
#include <coarsen/segmented/rows.h>

#define COARSEN_NAME  rows_i64
#define COARSEN_TYPE  long long
#define BLOCK_DIM     64
#define COARSE_FACTOR 8
#include <coarsen/segmented/rows.h>

#define COARSEN_NAME       rows_u8
#define COARSEN_TYPE       unsigned char
#define COARSEN_ACC        int
#define COARSEN_LIFT(x, i) ((int)(x) * ((int)(i) % 7 + 1))
#define BLOCK_DIM          96
#define COARSE_FACTOR      2
#include <coarsen/segmented/rows.h>

#ifndef TEST_FIRST
#define COARSEN_NAME     rows_argmax
#define COARSEN_TYPE     float
#define COARSEN_ACC      f32_at
#define COARSEN_LIFT     f32_at_lift
#define COARSEN_OP       f32_at_max
#define COARSEN_IDENTITY f32_at_none()
#define BLOCK_DIM        64
#include <coarsen/segmented/rows.h>

#define COARSEN_NAME     rows_triple
#define COARSEN_TYPE     triple
#define COARSEN_OP       triple_add
#define COARSEN_IDENTITY (triple{0, 0, 0})
#define BLOCK_DIM        64
#define COARSE_FACTOR    2
#include <coarsen/segmented/rows.h>

#define COARSEN_NAME       rows_counter
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter(x, i)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#include <coarsen/segmented/rows.h>
#endif

#endif

#if TESTED(columns)

#define COARSEN_NAME  columns_i32
#define COARSEN_TYPE  int
#define BLOCK_DIM     32
#define COARSE_FACTOR 1
#include <coarsen/segmented/columns.h>

#define COARSEN_NAME columns_f32
#define COARSEN_TYPE float
#include <coarsen/segmented/columns.h>

#define COARSEN_NAME  columns_i64
#define COARSEN_TYPE  long long
#define BLOCK_DIM     64
#define COARSE_FACTOR 8
#include <coarsen/segmented/columns.h>

#define COARSEN_NAME       columns_u8
#define COARSEN_TYPE       unsigned char
#define COARSEN_ACC        int
#define COARSEN_LIFT(x, i) ((int)(x) * ((int)(i) % 7 + 1))
#define BLOCK_DIM          96
#define COARSE_FACTOR      3
#include <coarsen/segmented/columns.h>

#ifndef TEST_FIRST
#define COARSEN_NAME     columns_argmax
#define COARSEN_TYPE     float
#define COARSEN_ACC      f32_at
#define COARSEN_LIFT     f32_at_lift
#define COARSEN_OP       f32_at_max
#define COARSEN_IDENTITY f32_at_none()
#define BLOCK_DIM        64
#include <coarsen/segmented/columns.h>

#define COARSEN_NAME     columns_triple
#define COARSEN_TYPE     triple
#define COARSEN_OP       triple_add
#define COARSEN_IDENTITY (triple{0, 0, 0})
#define BLOCK_DIM        64
#define COARSE_FACTOR    2
#include <coarsen/segmented/columns.h>

#define COARSEN_NAME       columns_counter
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter(x, i)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#include <coarsen/segmented/columns.h>
#endif

#endif

// ---- Running one ------------------------------------------------------------------------------------

template <class T, class A> struct rung {
    const char *name;
    bool columns;
    size_t (*scratch_bytes)(size_t, size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    cudaError_t (*launch)(const T *, size_t, A *, size_t, size_t, void *, size_t, cudaStream_t);
};
#define ROWS(stem, T, A)                                                                           \
    (rung<T, A>{"rows_" #stem, false, rows_##stem##_scratch_bytes, rows_##stem##_scratch_init,     \
                rows_##stem##_launch})
#define COLUMNS(stem, T, A)                                                                        \
    (rung<T, A>{"columns_" #stem, true, columns_##stem##_scratch_bytes,                            \
                columns_##stem##_scratch_init, columns_##stem##_launch})

static bool same(float a, float b)
{
    return a == b || (a != a && b != b);
}
static bool same(f32_at a, f32_at b)
{
    return a.index == b.index && (a.index == SIZE_MAX || same(a.value, b.value));
}
template <class T> static bool same(T a, T b)
{
    return a == b;
}

struct shape {
    size_t rows, width, gap, offset; // pitch = width + gap; offset of in, in elements
};

// One launch after another on one scratch, with arrays that are just as large as they must be. In the gaps
// between rows is what nothing wrote, which simt would find read.
template <class T, class A, class Make, class Expected>
static bool right(const rung<T, A> &r, shape s, Make make, Expected expected, const char *order,
                  int times)
{
    const size_t pitch = s.width + s.gap, results = r.columns ? s.width : s.rows;
    const size_t extent = s.rows > 0 && s.width > 0 ? (s.rows - 1) * pitch + s.width : 0;
    std::vector<T> x(extent);
    for (size_t i = 0; i < extent; i++)
        x[i] = make(test_random(s.rows * 1000003 + s.width, i));
    const test_array in(extent * sizeof(T), s.offset * sizeof(T)), out(results * sizeof(A), 16);
    const test_array scratch(r.scratch_bytes(s.rows, s.width));
    std::vector<A> got(results);
    if (extent > 0)
        in.fill(x.data());
    cudaError_t status = r.scratch_init(scratch.get(), scratch.bytes, 0);
    for (int i = 0; i < times && status == cudaSuccess; i++) {
        CHECK(cudaMemset(out.get(), POISON, out.bytes));
        status = r.launch((const T *)in.get(), pitch, (A *)out.get(), s.rows, s.width,
                          scratch.get(), scratch.bytes, 0);
    }
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    if (status == cudaSuccess && results > 0)
        out.read((void *)got.data());
    const bool clean = in.intact() && out.intact() && scratch.intact();
    size_t wrong = results;
    const size_t count = r.columns ? s.rows : s.width, step = r.columns ? pitch : 1;
    for (size_t k = 0; k < results && wrong == results; k++)
        if (!same(got[k], expected(x.data() + k * (r.columns ? 1 : pitch), count, step)))
            wrong = k;
    if (status == cudaSuccess && clean && wrong == results)
        return true;
    tap_ok(0, "%s: %zu rows of %zu, %zu apart, offset %zu, %s: result %zu is wrong: %s%s", r.name,
           s.rows, s.width, pitch, s.offset, order, wrong, cudaGetErrorString(status),
           clean ? "" : ", wrote outside its arrays");
    return false;
}

// Shapes around the boundaries: of a vector, a team of lanes, a warp, several rounds of a warp, a block and
// several blocks; and of the rows of a warp and a block.
static const size_t few[] = {0, 1, 2, 5, 33};
static const size_t many[] = {1,   3,   4,   7,   8,   15,   16,   17,   31,
                              33,  63,  64,  65,  127, 128,  129,  255,  257,
                              511, 512, 513, 515, 997, 1025, 2049, 4099, 8209};

template <class T, class A, class Make, class Expected>
static void check(const rung<T, A> &r, Make make, Expected expected)
{
    int turn = 0;
    const auto check_shape = [&](size_t rows, size_t width) {
        const uint64_t bits = test_random(rows, width);
        const shape s = {rows, width,
                         bits % 4 == 0   ? bits / 4 % 9
                         : bits % 4 == 1 ? -width % 16
                                         : 0,
                         bits / 64 % 2 == 0 ? 0 : bits / 128 % 17};
        const int k = turn++ % test_order_count();
        return right(r, s, make, expected, test_order(k), rows * width < 6000 ? 2 : 1);
    };
    bool ok = true;
    for (size_t m : many)
        for (size_t f : few)
            if (ok && m * (f + 1) < 17000)
                ok = r.columns ? check_shape(m, f) : check_shape(f, m);
    for (size_t m : many)
        for (size_t f : few)
            if (ok && m * (f + 1) < 6000)
                ok = r.columns ? check_shape(f, m) : check_shape(m, f);
    if (ok)
        ok = check_shape(0, 0) && check_shape(7, 0) && check_shape(0, 7);
    if (ok && !r.columns) // more rows than simt's device holds threads, and warps
        ok = check_shape(40009, 1) && check_shape(20011, 3) && check_shape(20011, 7) &&
             check_shape(520, 100 * 16 / sizeof(T)) && check_shape(520, 100 * 16 / sizeof(T) + 1);
    for (size_t rows = 1999; ok && !r.columns && rows < 2003; rows++) // a bank or two between rows
        ok = check_shape(rows, 8) && check_shape(rows, 16) && check_shape(rows, 32) &&
             check_shape(rows, 128);
    for (uint64_t i = 0; ok && i < 30; i++) { // any shape
        const uint64_t bits = test_random(99, i);
        const size_t size = (size_t)1 << (4 + bits % 10), a = 1 + bits / 16 % size;
        ok = check_shape(a, 1 + size / a);
    }
    test_order(0);
    if (ok)
        tap_ok(1, "%s: right for %d shapes", r.name, turn);
}

// Sums of these are exact in float, so that one element lost or doubled shows.
static float coarse_float(uint64_t bits) // many ties, some infinities and NaNs
{
    const int v = (int)(bits % 41) - 20;
    return bits / 41 % 211 == 0 ? NAN : v == 20 && bits % 1021 < 3 ? INFINITY : (float)v;
}

static f32_at first_greatest(const float *x, size_t n, size_t step)
{
    f32_at best = f32_at_none();
    for (size_t i = 0; i < n; i++) {
        const float v = x[i * step];
        if (i == 0 || (best.value == best.value && (v != v || v > best.value)))
            best = f32_at{v, i};
    }
    return best;
}

// ---- What is promised of errors ---------------------------------------------------------------------

static void check_errors(const rung<float, float> &r)
{
    const size_t rows = 300, width = 5000, pitch = 5001, bytes = r.scratch_bytes(rows, width);
    test_array in(rows * pitch * sizeof(float)), out(width * sizeof(float)), scratch(bytes);
    const float *const x = (const float *)in.get(), *const odd = (const float *)((char *)x + 1);
    float *const y = (float *)out.get();
    void *const z = scratch.get();
    const size_t huge = SIZE_MAX / 8;
    bool ok = bytes > 0;
    const auto wrong = [&](const float *x, size_t pitch, float *y, size_t rows, size_t width,
                           void *z, size_t bytes) {
        ok &= r.launch(x, pitch, y, rows, width, z, bytes, 0) == cudaErrorInvalidValue;
    };
    wrong(NULL, pitch, y, rows, width, z, bytes);
    wrong(x, pitch, NULL, rows, width, z, bytes);
    wrong(x, pitch, y, rows, width, NULL, bytes);
    wrong(odd, pitch, y, rows, width, z, bytes);
    wrong(x, pitch, (float *)((char *)y + 1), rows, width, z, bytes);
    wrong(x, pitch, y, rows, width, (char *)z + 1, bytes);
    wrong(x, pitch, y, rows, width, z, bytes - 1);
    wrong(x, width - 1, y, rows, width, z, bytes);
    wrong(x, width - 1, y, 1, width, z, bytes);
    wrong(x, huge, y, rows, width, z, SIZE_MAX);
    wrong(x, pitch, y, huge, width, z, SIZE_MAX);
    wrong(x, huge, y, rows, huge, z, SIZE_MAX);
    wrong(x, SIZE_MAX, y, 2, width, z, SIZE_MAX);
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", r.name);
    tap_ok(in.untouched() && out.untouched() && scratch.untouched(),
           "%s: wrong arguments write nothing", r.name);
    ok = r.launch(NULL, 0, NULL, 0, 0, NULL, 0, 0) == cudaSuccess;
    tap_ok(ok, "%s: nothing to reduce is no error", r.name);
    ok = true;
    for (size_t m = 1; m <= rows; m = m * 3 / 2 + 1)
        for (size_t w = 1; w <= width; w = w * 3 / 2 + 1)
            ok &= r.scratch_bytes(m, w) <= r.scratch_bytes(m + 1, w) &&
                  r.scratch_bytes(m, w) <= r.scratch_bytes(m, w + 1) &&
                  r.scratch_bytes(m, w) <= r.scratch_bytes(SIZE_MAX, w);
    tap_ok(ok, "%s: scratch for a shape is enough for less", r.name);
}

// ---- What is promised beyond the result -------------------------------------------------------------

static void check_same_bits(const rung<float, float> &r)
{
    const shape one = {700, 29, 0, 1}, other = {40, 997, 3, 0};
    const shape longest = r.columns ? shape{40009, 3, 1, 2} : shape{3, 40009, 0, 0};
    for (const shape s : {one, other, longest}) {
        const size_t pitch = s.width + s.gap, results = r.columns ? s.width : s.rows;
        std::vector<float> x(s.rows * pitch);
        for (size_t i = 0; i < x.size(); i++)
            x[i] = (float)((double)(int64_t)test_random(7, i) * 1e-19);
        const test_array in(x.size() * 4, s.offset * 4), out(results * 4);
        const test_array scratch(r.scratch_bytes(s.rows, s.width));
        std::vector<float> got(results), first;
        bool ok = true;
        in.fill(x.data());
        CHECK(r.scratch_init(scratch.get(), scratch.bytes, 0));
        for (int k = 0; k < 6; k++) {
            test_order(k % test_order_count());
            CHECK(r.launch((float *)in.get(), pitch, (float *)out.get(), s.rows, s.width,
                           scratch.get(), scratch.bytes, 0));
            CHECK(cudaDeviceSynchronize());
            out.read(got.data());
            if (k == 0)
                first = got;
            ok &= memcmp(first.data(), got.data(), results * 4) == 0;
        }
        test_order(0);
        tap_ok(ok, "%s: %zu x %zu: the same bits on every run, in every order of blocks", r.name,
               s.rows, s.width);
    }
}

// A scratch for more serves for less, as it is.
static void check_one_scratch(const rung<float, float> &r)
{
    const size_t n = 30000, bytes = r.scratch_bytes(n, n);
    const test_array in(n * 4), out(n * 4), scratch(bytes);
    const std::vector<float> x(n, 1.0f);
    std::vector<float> got(n);
    bool ok = true;
    in.fill(x.data());
    CHECK(r.scratch_init(scratch.get(), bytes, 0));
    for (size_t rows = 1; rows <= n; rows = rows * 5 / 2 + 1) {
        const size_t width = n / rows, results = r.columns ? width : rows;
        CHECK(r.launch((float *)in.get(), width, (float *)out.get(), rows, width, scratch.get(),
                       bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(got.data());
        for (size_t k = 0; k < results; k++)
            ok &= got[k] == (float)(r.columns ? rows : width);
    }
    std::vector<char> left(bytes);
    scratch.read(left.data());
    for (char byte : left)
        ok &= byte == 0;
    tap_ok(ok && scratch.intact(), "%s: one scratch serves any smaller shape, and is left zero",
           r.name);
}

// A scratch that was not made ready ends the launch, and what it wrote is of no use.
static void check_unready(const rung<float, float> &r)
{
#ifdef SIMT
    const size_t rows = r.columns ? 20000 : 2, width = r.columns ? 2 : 20000;
    for (unsigned int word : {0xffffffffu, 0x01010101u, 3u}) {
        const size_t bytes = r.scratch_bytes(rows, width);
        const simt_kind kind = test_unready(bytes, word, [&](void *scratch) {
            return r.launch((const float *)test_zeros(rows * width * 4), width,
                            (float *)test_zeros((rows + width) * 4), rows, width, scratch, bytes,
                            0);
        });
        tap_ok(kind == SIMT_TRAP, "%s: a scratch of words 0x%x: %s", r.name, word,
               simt_kind_name(kind));
    }
#else
    (void)r;
#endif
}

// The block that entered last may well be done before another has left its sum.
static void check_waits(const rung<int, int> &r)
{
#ifdef SIMT
    const shape s = r.columns ? shape{40, 200, 0, 0} : shape{2, 4099, 0, 0};
    const bool ok = test_interleaved(40, [&] {
        return right(
            r, s, [](uint64_t) { return 1; }, [](const int *, size_t n, size_t) { return (int)n; },
            "shuffled x8", 1);
    });
    tap_ok(ok, "%s: waits for every block, in forty orders", r.name);
#else
    (void)r;
#endif
}

// ---- Only on a GPU ----------------------------------------------------------------------------------

#ifndef SIMT

static void check_graph(const rung<float, float> &r)
{
    for (const shape s : {shape{1000, 37, 0, 0}, shape{3, 400009, 0, 0}, shape{400009, 3, 0, 0}}) {
        const size_t results = r.columns ? s.width : s.rows, n = s.rows * s.width;
        const std::vector<float> x(n, 1.0f), sums(results, (float)(r.columns ? s.rows : s.width));
        const test_array in(n * 4), out(results * 4), scratch(r.scratch_bytes(s.rows, s.width));
        in.fill(x.data());
        CHECK(r.scratch_init(scratch.get(), scratch.bytes, 0));
        const bool ok = test_graph(
            out,
            [&](cudaStream_t stream) {
                CHECK(r.launch((float *)in.get(), s.width, (float *)out.get(), s.rows, s.width,
                               scratch.get(), scratch.bytes, stream));
            },
            [&] { return out.holds(sums); });
        tap_ok(ok, "%s: %zu x %zu is captured in a graph and replayed", r.name, s.rows, s.width);
    }
}

#if TESTED(rows)
#define COARSEN_NAME rows_big
#define COARSEN_TYPE unsigned char
#define COARSEN_ACC  unsigned long long
#include <coarsen/segmented/rows.h>
#endif

#if TESTED(columns)
#define COARSEN_NAME columns_big
#define COARSEN_TYPE unsigned char
#define COARSEN_ACC  unsigned long long
#include <coarsen/segmented/columns.h>
#endif

// More than 2^32 elements of ones, with a two at the end: every sum but the last is the number of its
// elements.
static void check_big(const rung<unsigned char, unsigned long long> &r, size_t rows, size_t width)
{
    const size_t n = rows * width, results = r.columns ? width : rows;
    if (!test_room("more than 2^32 elements", n + results * 8 + r.scratch_bytes(rows, width)))
        return;
    const test_array ones(n);
    const test_array out(results * 8), scratch(r.scratch_bytes(rows, width));
    std::vector<unsigned long long> got(results);
    unsigned char *const in = (unsigned char *)ones.get();
    CHECK(cudaMemset(in, 1, n));
    CHECK(cudaMemset(in + n - 1, 2, 1));
    CHECK(r.scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(r.launch(in, width, (unsigned long long *)out.get(), rows, width, scratch.get(),
                   scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    out.read(got.data());
    size_t wrong = 0;
    for (size_t k = 0; k < results; k++)
        wrong += got[k] != (r.columns ? rows : width) + (k == results - 1);
    tap_ok(wrong == 0, "%s: %zu rows of %zu: %zu are wrong", r.name, rows, width, wrong);
}

#endif

// ---- All of it --------------------------------------------------------------------------------------

// What shows most faults in least time is first.
#define CHECK_FIRST(RUNG)                                                                          \
    check_errors(RUNG(f32, float, float));                                                         \
    check(                                                                                         \
        RUNG(i32, int, int), [](uint64_t bits) { return (int)bits; }, sum_of<int, unsigned>);      \
    check_unready(RUNG(f32, float, float));                                                        \
    check_one_scratch(RUNG(f32, float, float));                                                    \
    check_same_bits(RUNG(f32, float, float));                                                      \
    check(                                                                                         \
        RUNG(u8, unsigned char, int), [](uint64_t bits) { return (unsigned char)bits; },           \
        sum_of_u8);                                                                                \
    check(RUNG(f32, float, float), small_float, sum_of<float, float>);                             \
    check(                                                                                         \
        RUNG(i64, long long, long long), [](uint64_t bits) { return (long long)bits; },            \
        sum_of<long long, unsigned long long>);                                                    \
    check_waits(RUNG(i32, int, int))

#define CHECK_REST(RUNG)                                                                           \
    check(RUNG(argmax, float, f32_at), coarse_float, first_greatest);                              \
    check(                                                                                         \
        RUNG(triple, triple, triple),                                                              \
        [](uint64_t bits) {                                                                        \
            return triple{(unsigned int)bits, (unsigned int)(bits >> 32),                          \
                          (unsigned int)(bits >> 20)};                                             \
        },                                                                                         \
        sum_of_triples);                                                                           \
    check(                                                                                         \
        RUNG(counter, unsigned short, counter),                                                    \
        [](uint64_t bits) { return (unsigned short)bits; }, counted)

template <class T, class W> static T sum_of(const T *x, size_t n, size_t step)
{
    W sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (W)x[i * step];
    return (T)sum;
}
static int sum_of_u8(const unsigned char *x, size_t n, size_t step)
{
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i * step] * ((int)i % 7 + 1);
    return sum;
}
static triple sum_of_triples(const triple *x, size_t n, size_t step)
{
    triple sum = {0, 0, 0};
    for (size_t i = 0; i < n; i++)
        sum = triple_add(sum, x[i * step]);
    return sum;
}
static counter counted(const unsigned short *x, size_t n, size_t step)
{
    counter sum(0, 0);
    for (size_t i = 0; i < n; i++)
        sum = counter_add(sum, counter(x[i * step], i));
    return sum;
}

#if TESTED(rows)
// How long rows are divided on a device of 132 multiprocessors, which hold 5 blocks each; and that there is scratch.
static void check_pieces(void)
{
    const size_t tile = 4096, held = 660; // elements of a block's turn; blocks
    const auto pieces = [](size_t rows, size_t width) {
        return rows_f32_pieces(rows, width, 132, 5);
    };
    bool ok = pieces(held, 13 * tile) == 1 && pieces(held + 1, 13 * tile) > 1; // or a turn of one
    ok &= pieces(1, 1000 * tile) > held / 2 && pieces(100000, tile / 8) == 0;  // a warp takes it
    tap_ok(ok, "rows_f32: no turn of few blocks, and none where warps do");
    cudaError_t status = cudaSuccess;
    const size_t processors = rows_f32_coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    ok = status == cudaSuccess;
    for (uint64_t i = 0; ok && i < 2000; i++) {
        const size_t rows = 1 + test_random(5, i) % ((size_t)1 << i % 20);
        const size_t width = 1 + test_random(6, i) % ((size_t)1 << (10 + i / 7 % 16));
        const size_t each = rows_f32_pieces(rows, width, processors, 2048 / 256);
        ok = each <= 1 || (rows + rows * each) * 8 <= rows_f32_scratch_bytes(rows, width);
    }
    tap_ok(ok, "rows_f32: scratch for as many pieces as a launch makes");
}
#endif

int main(void)
{
    test_begin();
#if TESTED(rows)
    CHECK_FIRST(ROWS);
    check_pieces();
#ifndef TEST_FIRST
    CHECK_REST(ROWS);
#endif
#ifndef SIMT
    check_graph(ROWS(f32, float, float));
    check_big(ROWS(big, unsigned char, unsigned long long), 3, ((size_t)1 << 32) / 3 + 5);
    check_big(ROWS(big, unsigned char, unsigned long long), ((size_t)1 << 30) + 1, 5);
    check_big(ROWS(big, unsigned char, unsigned long long), ((size_t)1 << 20) + 1, 4097);
#endif
#endif
#if TESTED(columns)
    CHECK_FIRST(COLUMNS);
#ifndef TEST_FIRST
    CHECK_REST(COLUMNS);
#endif
#ifndef SIMT
    check_graph(COLUMNS(f32, float, float));
    check_big(COLUMNS(big, unsigned char, unsigned long long), 5, ((size_t)1 << 30) + 1);
    check_big(COLUMNS(big, unsigned char, unsigned long long), ((size_t)1 << 30) + 1, 5);
    check_big(COLUMNS(big, unsigned char, unsigned long long), 4097, ((size_t)1 << 20) + 1);
#endif
#endif
    return tap_done();
}
