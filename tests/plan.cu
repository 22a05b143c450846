// SPDX-License-Identifier: MIT
//
// NAME_plan: what it says, launched by hand, gives the bits that NAME_launch gives.

#include "device.h"

#define COARSEN_NAME sum
#define COARSEN_TYPE float
#define BLOCK_DIM    64
#include <coarsen/reduce.h>

#define COARSEN_NAME  coarse // tiles of two heights
#define COARSEN_TYPE  float
#define BLOCK_DIM     32
#define COARSE_FACTOR 8
#include <coarsen/reduce.h>

#define COARSEN_NAME       fixed // one more kernel, for what is not aligned
#define COARSEN_TYPE       float
#define BLOCK_DIM          64
#define COARSEN_FIXED_TREE 1
#include <coarsen/reduce.h>

#define COARSEN_NAME         dot
#define COARSEN_TYPE         float
#define COARSEN_INPUTS       2
#define COARSEN_SCALAR       float
#define COARSEN_MAP(x, y, s) ((s) * (x) * (y))
#define BLOCK_DIM            64
#include <coarsen/fuse.h>

#define COARSEN_NAME       fixed_dot
#define COARSEN_TYPE       float
#define COARSEN_INPUTS     2
#define COARSEN_MAP(x, y)  ((x) * (y))
#define BLOCK_DIM          64
#define COARSEN_FIXED_TREE 1
#include <coarsen/fuse.h>

#define COARSEN_NAME  running
#define COARSEN_TYPE  unsigned int
#define BLOCK_DIM     64
#define COARSE_FACTOR 6
#include <coarsen/scan.h>

#define COARSEN_NAME         saxpy
#define COARSEN_TYPE         float
#define COARSEN_INPUTS       2
#define COARSEN_SCALAR       float
#define COARSEN_MAP(x, y, a) ((a) * (x) + (y))
#define BLOCK_DIM            64
#include <coarsen/map.h>

#define COARSEN_NAME tones
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    512
#include <coarsen/histogram.h>

#define COARSEN_NAME words // in ranges, with more shared memory than a block has unasked
#define COARSEN_TYPE unsigned short
#define NUM_BINS     65536
#include <coarsen/histogram.h>

#define COARSEN_NAME         heat
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#include <coarsen/stencil.h>

#define COARSEN_NAME gray
#include <coarsen/image.h>

#define COARSEN_NAME   rolling
#define COARSEN_RADIUS 2
#include <coarsen/image.h>

#define COARSEN_NAME   blur // by tiles
#define COARSEN_RADIUS 9
#include <coarsen/image.h>

static size_t kernels_seen;
static const void *kernels[32];

// Launches what a plan says. Counts the kernels, so that a test can tell whether it reached them.
template <class Plan, class... A> static cudaError_t by_hand(const Plan &plan, A... arguments)
{
    size_t k = 0;
    while (k < kernels_seen && kernels[k] != (const void *)plan.kernel)
        k++;
    if (k == kernels_seen)
        kernels[kernels_seen++] = (const void *)plan.kernel;
    cudaLaunchConfig_t config = {};
    config.gridDim = plan.grid;
    config.blockDim = plan.block;
    config.dynamicSmemBytes = plan.shared_bytes;
    return cudaLaunchKernelEx(&config, plan.kernel, arguments...);
}

static std::vector<float> some_floats(size_t n)
{
    std::vector<float> x(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(int32_t)test_random(3, i) / 65536;
    return x;
}

// Whether both launches succeed and leave the same in out, and nothing beside it.
template <class Launch, class Hand>
static bool same(const test_array &out, Launch launch, Hand hand)
{
    std::vector<unsigned char> want(out.bytes), got(out.bytes);
    CHECK(cudaMemset(out.get(), POISON, out.bytes));
    bool ok = launch() == cudaSuccess;
    out.read(want.data());
    CHECK(cudaMemset(out.get(), POISON, out.bytes));
    ok &= hand() == cudaSuccess;
    out.read(got.data());
    return ok && got == want && out.intact();
}

// Any number of blocks makes a sum, which is to be in.size().
template <class Plan>
static bool any_blocks(Plan plan, const float *in, size_t n, unsigned int tile)
{
    bool ok = true;
    for (unsigned int blocks = 1; blocks < 9; blocks += 3) {
        const size_t bytes = 16 + 8 * blocks; // as the manual says
        test_array out(sizeof(float)), scratch(bytes);
        scratch.zero();
        plan.grid = dim3(blocks);
        float got;
        ok &= by_hand(plan, in, (float *)out.get(), n, tile, (unsigned long long *)scratch.get()) ==
              cudaSuccess;
        out.read(&got);
        ok &= got == (float)n && scratch.intact();
    }
    return ok;
}

static void check_reduce(void)
{
    const size_t most = 300001, bytes = sum_scratch_bytes(most);
    const std::vector<float> x = some_floats(most);
    test_array in(most * sizeof(float)), out(sizeof(float)),
        scratch(bytes + coarse_scratch_bytes(most) + fixed_scratch_bytes(most));
    in.fill(x.data());
    scratch.zero();
    unsigned long long *const words = (unsigned long long *)scratch.get();
    bool ok = true, enough = true;
    const size_t before = kernels_seen;
    for (size_t n : {(size_t)0, (size_t)1, (size_t)512, (size_t)513, (size_t)10000, most - 1})
        for (size_t offset = 0; offset < 2; offset++) {
            const float *const from = (const float *)in.get() + offset;
            float *const to = (float *)out.get();
            sum_planned plan;
            coarse_planned other;
            fixed_planned tree;
            CHECK(sum_plan(from, n, &plan));
            CHECK(coarse_plan(from, n, &other));
            CHECK(fixed_plan(from, n, &tree));
            enough &= plan.scratch_bytes == sum_scratch_bytes(n) &&
                      tree.scratch_bytes == fixed_scratch_bytes(n);
            ok &= same(
                out, [&] { return sum_launch(from, to, n, words, bytes, 0); },
                [&] { return by_hand(plan, from, to, n, plan.tile, words); });
            ok &= same(
                out, [&] { return coarse_launch(from, to, n, words, scratch.bytes, 0); },
                [&] { return by_hand(other, from, to, n, other.tile, words); });
            ok &= same(
                out, [&] { return fixed_launch(from, to, n, words, scratch.bytes, 0); },
                [&] { return by_hand(tree, from, to, n, tree.tile, words); });
        }
    ok &= kernels_seen - before == 7;
    tap_ok(ok, "reduce: by hand, the same bits");
    tap_ok(enough, "reduce: a plan's scratch is NAME_scratch_bytes");

    const std::vector<float> ones(most, 1.0f);
    in.fill(ones.data());
    sum_planned plan;
    CHECK(sum_plan((const float *)in.get(), most, &plan));
    plan.kernel = sum_kernel;
    ok = true;
    for (size_t n : {(size_t)0, (size_t)7, (size_t)5000, most - 1})
        ok &= any_blocks(plan, (const float *)in.get() + 1, n, 4 * 64);
    tap_ok(ok,
           "reduce: NAME_kernel takes any n and number of blocks, with the scratch of the manual");
}

static void check_fuse(void)
{
    const size_t most = 100001, bytes = dot_scratch_bytes(most) + fixed_dot_scratch_bytes(most);
    const std::vector<float> x = some_floats(most);
    test_array in(most * sizeof(float)), out(sizeof(float)), scratch(bytes);
    in.fill(x.data());
    scratch.zero();
    unsigned long long *const words = (unsigned long long *)scratch.get();
    bool ok = true;
    const size_t before = kernels_seen;
    for (size_t n : {(size_t)0, (size_t)1, (size_t)5000, most - 3})
        for (size_t offset = 0; offset < 3; offset++) {
            const float *const a = (const float *)in.get() + offset, *const b =
                                                                         (const float *)in.get();
            float *const to = (float *)out.get();
            dot_planned plan;
            CHECK(dot_plan(a, b, n, 0.5f, &plan));
            ok &= plan.scratch_bytes == dot_scratch_bytes(n);
            ok &= same(
                out, [&] { return dot_launch(a, b, to, n, 0.5f, words, bytes, 0); },
                [&] { return by_hand(plan, plan.in, to, n, plan.head, words); });
            fixed_dot_planned tree;
            CHECK(fixed_dot_plan(a, b, n, &tree));
            ok &= tree.scratch_bytes == fixed_dot_scratch_bytes(n);
            ok &= same(
                out, [&] { return fixed_dot_launch(a, b, to, n, words, bytes, 0); },
                [&] { return by_hand(tree, tree.in, to, n, tree.head, words); });
        }
    ok &= kernels_seen - before == 4;
    dot_planned plan;
    ok &= dot_plan((const float *)in.get(), (const float *)NULL, 1, 0.5f, &plan) ==
          cudaErrorInvalidValue;
    tap_ok(ok, "fuse: by hand, the same bits");
}

static void check_scan(void)
{
    const size_t most = 300001, bytes = running_scratch_bytes(most);
    std::vector<unsigned int> x(most);
    for (size_t i = 0; i < most; i++)
        x[i] = (unsigned int)test_random(5, i);
    test_array in(most * sizeof(unsigned int)), scratch(bytes);
    in.fill(x.data());
    scratch.zero();
    unsigned long long *const words = (unsigned long long *)scratch.get();
    bool ok = true;
    running_planned plan;
    const size_t before = kernels_seen;
    int processors = 0;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    const size_t row = 256 * (size_t)processors; // elements of a row per block
    for (size_t n : {(size_t)1, (size_t)700, row - 1, 2 * row - 1, 5 * row - 1, most - 1})
        for (size_t offset = 0; offset < 2; offset++) {
            const unsigned int *const from = (const unsigned int *)in.get() + offset;
            test_array out(n * sizeof(unsigned int), 4 * offset);
            unsigned int *const to = (unsigned int *)out.get();
            CHECK(running_plan(from, to, n, &plan));
            ok &= plan.scratch_bytes == running_scratch_bytes(n);
            ok &= same(
                out, [&] { return running_launch(from, to, n, words, bytes, 0); },
                [&] { return by_hand(plan, plan.arrays, plan.rows, words); });
        }
    ok &= processors > 200 || kernels_seen - before >= 4; // of five
    unsigned int *const there = (unsigned int *)in.get();
    ok &= running_plan(there, there, 0, &plan) == cudaSuccess && plan.grid.x == 0;
    ok &= running_plan(there, NULL, 1, &plan) == cudaErrorInvalidValue;
    tap_ok(ok, "scan: by hand, the same bits");
}

static void check_map(void)
{
    const size_t most = 20001;
    const std::vector<float> x = some_floats(most);
    test_array in(most * sizeof(float));
    in.fill(x.data());
    bool ok = true;
    saxpy_planned plan;
    for (size_t n : {(size_t)1, (size_t)6, (size_t)5000, most - 3})
        for (size_t offset = 0; offset < 3; offset++) {
            const float *const a = (const float *)in.get() + offset, *const b =
                                                                         (const float *)in.get();
            test_array out(n * sizeof(float), 4);
            float *const to = (float *)out.get();
            CHECK(saxpy_plan(a, b, to, n, 0.5f, &plan));
            ok &= same(
                out, [&] { return saxpy_launch(a, b, to, n, 0.5f, 0); },
                [&] { return by_hand(plan, plan.in, to, n, plan.head); });
        }
    float *const there = (float *)in.get();
    ok &= saxpy_plan(there, there, there, 0, 0.5f, &plan) == cudaSuccess && plan.grid.x == 0;
    ok &= saxpy_plan(there, there, NULL, 1, 0.5f, &plan) == cudaErrorInvalidValue;
    tap_ok(ok, "map: by hand, the same bits");
}

#define CHECK_HISTOGRAM(name, type, bins, most)                                                    \
    static void check_##name(void)                                                                 \
    {                                                                                              \
        std::vector<type> x(most);                                                                 \
        for (size_t i = 0; i < (most); i++)                                                        \
            x[i] = (type)test_random(6, i);                                                        \
        test_array in((most) * sizeof(type)), out((bins) * sizeof(unsigned int));                  \
        in.fill(x.data());                                                                         \
        unsigned int *const to = (unsigned int *)out.get();                                        \
        bool ok = true;                                                                            \
        name##_planned plan;                                                                       \
        for (size_t n : {(size_t)1, (size_t)1000, (size_t)(most)-1})                               \
            for (size_t offset = 0; offset < 2; offset++) {                                        \
                const type *const from = (const type *)in.get() + offset;                          \
                CHECK(name##_plan(from, to, n, &plan));                                            \
                ok &= same(                                                                        \
                    out, [&] { return name##_launch(from, to, n, 0); },                            \
                    [&] {                                                                          \
                        out.zero();                                                                \
                        return by_hand(plan, from, to, n, plan.full_width);                        \
                    });                                                                            \
            }                                                                                      \
        ok &= name##_plan((const type *)in.get(), NULL, 1, &plan) == cudaErrorInvalidValue;        \
        tap_ok(ok, "histogram of %d bins: by hand, the same counts", bins);                        \
    }
CHECK_HISTOGRAM(tones, unsigned char, 256, 400001)
CHECK_HISTOGRAM(words, unsigned short, 65536, 100001)

static void check_stencil(void)
{
    const size_t nx = 36, ny = 9, nz = 20, pitch = 40, slice = pitch * ny;
    const std::vector<float> x = some_floats(slice * nz + 1);
    test_array in(x.size() * sizeof(float));
    in.fill(x.data());
    bool ok = true;
    heat_planned plan;
    for (size_t offset = 0; offset < 2; offset++) {
        const float *const from = (const float *)in.get() + offset;
        test_array out((slice * (nz - 1) + pitch * (ny - 1) + nx) * sizeof(float), 4 * offset);
        float *const to = (float *)out.get();
        CHECK(heat_plan(from, to, nx, ny, nz, pitch, slice, &plan));
        ok &= same(
            out, [&] { return heat_launch(from, to, nx, ny, nz, pitch, slice, 0); },
            [&] { return by_hand(plan, from, to, plan.extent, plan.depth); });
    }
    float *const there = (float *)in.get();
    ok &=
        heat_plan(there, there, 0, ny, nz, pitch, slice, &plan) == cudaSuccess && plan.grid.x == 0;
    ok &= heat_plan(there, NULL, nx, ny, nz, pitch, slice, &plan) == cudaErrorInvalidValue;
    tap_ok(ok, "stencil: by hand, the same bits");
}

static void check_image(void)
{
    const size_t width = 101, height = 37;
    std::vector<unsigned char> x(3 * width * height + 8);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (unsigned char)test_random(8, i);
    test_array in(x.size());
    in.fill(x.data());
    bool ok = true;
    gray_planned made_gray;
    blur_planned made_blur;
    rolling_planned made_rolling;
    for (size_t gap = 0; gap < 2; gap++) { // of bytes between rows
        const unsigned char *const from = (const unsigned char *)in.get() + gap;
        const size_t rows = height - gap, pitch = width + gap;
        test_array out(pitch * (rows - 1) + width, gap);
        unsigned char *const to = (unsigned char *)out.get();
        CHECK(gray_plan(from, 3 * width, to, pitch, width, rows, &made_gray));
        ok &= same(
            out, [&] { return gray_launch(from, 3 * width, to, pitch, width, rows, 0); },
            [&] {
                return by_hand(made_gray, from, 3 * width, to, pitch, made_gray.width,
                               made_gray.height, made_gray.pieces);
            });
        CHECK(blur_plan(from, pitch, to, pitch, width, rows, &made_blur));
        ok &= same(
            out, [&] { return blur_launch(from, pitch, to, pitch, width, rows, 0); },
            [&] { return by_hand(made_blur, from, pitch, to, pitch, width, rows); });
        // Rows of 96 are aligned where the first is.
        const size_t narrow = 96;
        CHECK(rolling_plan(from, narrow, to, narrow, narrow, rows, &made_rolling));
        ok &= same(
            out, [&] { return rolling_launch(from, narrow, to, narrow, narrow, rows, 0); },
            [&] {
                return by_hand(made_rolling, from, narrow, to, narrow, narrow, rows,
                               made_rolling.cut);
            });
        ok &= (made_rolling.kernel == rolling_kernel) == (gap == 0);
    }
    unsigned char *const there = (unsigned char *)in.get();
    ok &= gray_plan(there, 3, there, 1, 0, 1, &made_gray) == cudaSuccess && made_gray.grid.x == 0;
    ok &= gray_plan(there, 3, NULL, 1, 1, 1, &made_gray) == cudaErrorInvalidValue;
    ok &= blur_plan(there, 1, there, 1, 1, 0, &made_blur) == cudaSuccess && made_blur.grid.x == 0;
    ok &= blur_plan(there, 1, NULL, 1, 1, 1, &made_blur) == cudaErrorInvalidValue;
    ok &= rolling_plan(there, 1, there, 1, 1, 0, &made_rolling) == cudaSuccess &&
          made_rolling.grid.x == 0;
    ok &= rolling_plan(there, 1, NULL, 1, 1, 1, &made_rolling) == cudaErrorInvalidValue;
    tap_ok(ok, "image: by hand, the same samples");
}

int main(void)
{
    test_begin();
    check_reduce();
    check_fuse();
    check_scan();
    check_map();
    check_tones();
    check_words();
    check_stencil();
    check_image();
    return tap_done();
}
