// SPDX-License-Identifier: MIT
//
// Every rung of grayscale and of the blur: right to the bit at every width and height near a boundary, at
// any alignment, for every count of channels; what they promise of errors; and their counts.

#include "device.h"

#include <algorithm>
#include <functional>

// ---- The inclusions -----------------------------------------------------------------------------

#if TESTED(grayscale_single)

#define COARSEN_NAME gray_single
#define BLOCK_DIM    64
#include <coarsen/image/grayscale_single.h>

#endif

#if TESTED(grayscale_coarsened)

#define COARSEN_NAME  gray_coarsened
#define BLOCK_DIM     32
#define COARSE_FACTOR 3
#include <coarsen/image/grayscale_coarsened.h>

#endif

#if TESTED(grayscale_vectorized)

#define COARSEN_NAME  gray_vectorized
#define BLOCK_DIM     32
#define COARSE_FACTOR 2
#include <coarsen/image/grayscale_vectorized.h>

#define COARSEN_NAME  gray_green // the weights at their ends
#define COARSEN_RED   0
#define COARSEN_GREEN 65536
#define COARSEN_BLUE  0
#include <coarsen/image.h>

#define COARSEN_NAME gray
#include <coarsen/image.h>

#endif

#if TESTED(blur_single)

#define COARSEN_NAME   single_1_1
#define COARSEN_RADIUS 1
#define BLOCK_DIM      32
#include <coarsen/image/blur_single.h>

#define COARSEN_NAME     single_3_3
#define COARSEN_RADIUS   3
#define COARSEN_CHANNELS 3
#include <coarsen/image/blur_single.h>

#endif

#if TESTED(blur_coarsened)

#define COARSEN_NAME   coarsened_1_1
#define COARSEN_RADIUS 1
#define BLOCK_DIM      32
#define COARSE_FACTOR  1
#include <coarsen/image/blur_coarsened.h>

#define COARSEN_NAME     coarsened_3_3
#define COARSEN_RADIUS   3
#define COARSEN_CHANNELS 3
#include <coarsen/image/blur_coarsened.h>

#endif

#if TESTED(blur_tiled)

#define COARSEN_NAME   tiled_1_1
#define COARSEN_RADIUS 1
#define BLOCK_DIM      32
#define COARSE_FACTOR  1
#include <coarsen/image/blur_tiled.h>

#define COARSEN_NAME     tiled_3_3
#define COARSEN_RADIUS   3
#define COARSEN_CHANNELS 3
#include <coarsen/image/blur_tiled.h>

#define COARSEN_NAME   tiled_31_1
#define COARSEN_RADIUS 31
#include <coarsen/image.h>

#endif

#if TESTED(blur_rolling)

#define COARSEN_NAME   rolling_1_1
#define COARSEN_RADIUS 1
#define BLOCK_DIM      32
#define COARSE_FACTOR  1
#include <coarsen/image/blur_rolling.h>

#define COARSEN_NAME     rolling_2_2
#define COARSEN_RADIUS   2
#define COARSEN_CHANNELS 2
#define COARSE_FACTOR    5
#include <coarsen/image/blur_rolling.h>

#define COARSEN_NAME     rolling_3_3
#define COARSEN_RADIUS   3
#define COARSEN_CHANNELS 3
#include <coarsen/image.h>

#define COARSEN_NAME     rolling_4_4
#define COARSEN_RADIUS   4
#define COARSEN_CHANNELS 4
#define BLOCK_DIM        64
#define COARSE_FACTOR    3
#include <coarsen/image/blur_rolling.h>

#define COARSEN_NAME   rolling_5_1
#define COARSEN_RADIUS 5
#define BLOCK_DIM      64
#include <coarsen/image/blur_rolling.h>

#define COARSEN_NAME     rolling_7_3
#define COARSEN_RADIUS   7
#define COARSEN_CHANNELS 3
#define COARSE_FACTOR    2
#include <coarsen/image/blur_rolling.h>

#endif

// ---- Running one --------------------------------------------------------------------------------

typedef std::vector<unsigned char> bytes;

struct rung {
    const char *name;
    cudaError_t (*launch)(const unsigned char *, size_t, unsigned char *, size_t, size_t, size_t,
                          cudaStream_t);
    size_t radius, channels; // radius 0: to gray
    unsigned int red, green, blue;
};

// What it is to make of a picture. Sums of boxes come from those of all to the left and above.
static bytes wanted(const rung &r, const bytes &in, size_t width, size_t height)
{
    bytes out(width * height * (r.radius == 0 ? 1 : r.channels));
    if (r.radius == 0) {
        for (size_t i = 0; i < out.size(); i++)
            out[i] = (unsigned char)((r.red * in[3 * i] + r.green * in[3 * i + 1] +
                                      r.blue * in[3 * i + 2] + 32768) /
                                     65536);
        return out;
    }
    const size_t pitch = width + 1;
    std::vector<unsigned int> sums(pitch * (height + 1));
    for (size_t c = 0; c < r.channels; c++) {
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++)
                sums[(y + 1) * pitch + x + 1] = in[(y * width + x) * r.channels + c] +
                                                sums[y * pitch + x + 1] +
                                                sums[(y + 1) * pitch + x] - sums[y * pitch + x];
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++) {
                const size_t top = y < r.radius ? 0 : y - r.radius;
                const size_t left = x < r.radius ? 0 : x - r.radius;
                const size_t bottom = std::min(y + r.radius + 1, height);
                const size_t right = std::min(x + r.radius + 1, width);
                const size_t count = (bottom - top) * (right - left);
                const unsigned int sum = sums[bottom * pitch + right] - sums[top * pitch + right] -
                                         sums[bottom * pitch + left] + sums[top * pitch + left];
                out[(y * width + x) * r.channels + c] =
                    (unsigned char)((2 * sum + count) / (2 * count));
            }
    }
    return out;
}

enum picture { RANDOM, WHITE, BLACK_OR_WHITE };

// Where an image is: so many bytes behind a 256-byte boundary, with so many bytes between its rows.
struct place {
    size_t at, gap;
};

static bool right_at(const rung &r, size_t width, size_t height, place from, place to, picture kind)
{
    const size_t in_row = width * (r.radius == 0 ? 3 : r.channels);
    const size_t out_row = width * (r.radius == 0 ? 1 : r.channels);
    const size_t in_pitch = in_row + from.gap, out_pitch = out_row + to.gap;
    const size_t some = width > 0 && height > 0;
    bytes x(in_row * height), spread(some * (in_pitch * height - from.gap));
    for (size_t i = 0; i < x.size(); i++) {
        const uint64_t bits = test_random(width * 1000 + height, i);
        x[i] = (unsigned char)(kind == RANDOM ? bits : kind == WHITE ? 255 : bits % 2 * 255);
    }
    for (size_t i = 0; i < spread.size(); i++)
        spread[i] = i % in_pitch < in_row ? x[i / in_pitch * in_row + i % in_pitch]
                                          : (unsigned char)test_random(width, i);
    test_array in(spread.size(), from.at), out(some * (out_pitch * height - to.gap), to.at);
    if (some)
        in.fill(spread.data());
    cudaError_t status = r.launch((const unsigned char *)in.get(), in_pitch,
                                  (unsigned char *)out.get(), out_pitch, width, height, 0);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    if (status != cudaSuccess || !in.intact() || !out.intact())
        return false;
    if (!some)
        return true;
    const bytes want = wanted(r, x, width, height);
    bytes got(out.bytes);
    out.read(got.data());
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] !=
            (i % out_pitch < out_row ? want[i / out_pitch * out_row + i % out_pitch] : POISON))
            return false;
    return true;
}

static void check(const rung &r)
{
    static const size_t shapes[][2] = {{0, 0},    {0, 5},   {5, 0},  {1, 1},    {2, 1},    {1, 2},
                                       {3, 3},    {7, 2},   {1, 70}, {15, 9},   {16, 16},  {17, 5},
                                       {32, 33},  {33, 3},  {97, 6}, {128, 21}, {160, 11}, {163, 4},
                                       {480, 12}, {496, 5}, {961, 3}};
    // Both at boundaries; neither, and never both at once; at boundaries with gaps; at any place.
    static const place places[][2] = {{{0, 0}, {0, 0}},   {{3, 0}, {1, 0}},  {{0, 0}, {16, 0}},
                                      {{5, 0}, {2, 0}},   {{0, 3}, {0, 0}},  {{0, 0}, {0, 5}},
                                      {{16, 16}, {0, 1}}, {{7, 29}, {13, 1}}};
    int turn = 0;
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
        for (size_t at = 0; at < sizeof(places) / sizeof(*places); at++, turn++) {
            const size_t width = shapes[s][0], height = shapes[s][1];
            const char *const order = test_order(turn % test_order_count());
            if (right_at(r, width, height, places[at][0], places[at][1], (picture)(turn % 3)) ||
                (test_order(0), false))
                continue;
            tap_ok(0, "%s: %zu x %zu, places no. %zu, %s: %s", r.name, width, height, at, order,
                   cudaGetErrorString(cudaGetLastError()));
            return;
        }
    test_order(0);
    tap_ok(1, "%s: right to the bit at every size and alignment", r.name);
}

// Each of 16 distances from a boundary, in and out, and of rows from those above.
static void check_distances(const rung &r)
{
    static const size_t widths[] = {1, 5, 37, 161, 479};
    for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++)
        for (size_t at = 0; at < 16; at++)
            for (size_t apart = 0; apart < 16; apart += 5) {
                const place from = {at, (at * 3 + apart) % 17}, to = {(at + apart) % 16, apart};
                if (right_at(r, widths[w], 5, from, to, RANDOM))
                    continue;
                tap_ok(0, "%s: %zu x 5, in at %zu, gap %zu, out at %zu, gap %zu: %s", r.name,
                       widths[w], from.at, from.gap, to.at, to.gap,
                       cudaGetErrorString(cudaGetLastError()));
                return;
            }
    // Rows with warps that are far from both ends.
    const size_t wide = 1536 / r.channels;
    const place aligned = {0, 0}, odd = {3, 1}, other = {20, 6};
    if (!right_at(r, wide, 40, aligned, aligned, RANDOM) ||
        !right_at(r, wide, 40, odd, odd, RANDOM) || !right_at(r, wide, 40, odd, other, RANDOM)) {
        tap_ok(0, "%s: %zu x 40: %s", r.name, wide, cudaGetErrorString(cudaGetLastError()));
        return;
    }
    // Rows that are whole vectors, but for their ends, or not; around the samples of a warp, or some times that.
    for (size_t width = 470; width < 530; width++) {
        const size_t out_gap = width < 500;
        const size_t in_row = width * (r.radius == 0 ? 3 : r.channels);
        const size_t out_row = width * (r.radius == 0 ? 1 : r.channels);
        const place from = {16, (0 - in_row) % 16}, to = {0, out_gap + (0 - out_row) % 16};
        if (right_at(r, width, 4, from, to, RANDOM))
            continue;
        tap_ok(0, "%s: %zu x 4, pitches of %zu and %zu: %s", r.name, width, in_row + from.gap,
               out_row + to.gap, cudaGetErrorString(cudaGetLastError()));
        return;
    }
    tap_ok(1, "%s: right to the bit at every distance from a boundary", r.name);
}

#if TESTED(blur_rolling)

// How a picture is cut into strips: as many as fill the device, and no more waves than that takes.
static void check_cuts(void)
{
    static const size_t columns[] = {1, 2, 3, 17, 528, 5000},
                        heights[] = {1, 7, 9, 100, 8192, 99999};
    static const size_t waves[] = {1, 40, 528, 3168};
    for (size_t t = 0; t < 6 * 6 * 4 * 2; t++) {
        const size_t c = columns[t % 6], h = heights[t / 6 % 6], wave = waves[t / 36 % 4];
        const bool aligned = t / 144;
        const rolling_5_1_cut cut =
            rolling_5_1_cut_image(c, h, wave, aligned); // COARSE_FACTOR is 12
        const size_t ends = aligned ? 0 : std::min(c, (size_t)2), halves = 2 * c + ends;
        const size_t rows = cut.rows, end_rows = cut.end_rows, most = (h + 3) / 4;
        const size_t least = (halves + 2 * wave - 1) / (2 * wave),
                     full = c * ((h + 11) / 12) / wave;
        const size_t room = (aligned ? std::max(least, full) : least) * wave;
        const size_t warps =
            ends * ((h + end_rows - 1) / end_rows) + (c - ends) * ((h + rows - 1) / rows);
        bool ok = cut.columns == c && cut.ends == ends && rows >= 1 && rows <= h && end_rows >= 1 &&
                  end_rows <= rows;
        ok = ok && cut.end_warps == ends * ((h + end_rows - 1) / end_rows) &&
             (h + rows - 1) / rows <= most;
        // No more than there is room for, but that there are whole strips; and with one row fewer there would be.
        ok = ok && warps <= room + ends;
        ok = ok && (rows == 1 || (h + rows - 2) / (rows - 1) > std::min(most, 2 * room / halves));
        ok = ok && (end_rows == 1 || 3 * (end_rows - 1) < 2 * rows);
        if (!ok) {
            tap_ok(0,
                   "rolling: %zu columns, %zu rows, %zu at once, aligned %d: strips of %zu and %zu",
                   c, h, wave, aligned, rows, end_rows);
            return;
        }
    }
    tap_ok(1, "rolling: strips fill the device, and are no shorter");
}

#endif

// More rows than a grid has, so that blocks go round.
static void check_tall(const rung &r)
{
    tap_ok(right_at(r, 2, 65540, place{0, 0}, place{0, 0}, RANDOM), "%s: 2 x 65540", r.name);
}

static void check_errors(const rung &r)
{
    test_array in(3000), out(3000);
    const unsigned char *const x = (const unsigned char *)in.get();
    unsigned char *const y = (unsigned char *)out.get();
    const cudaError_t wrong = cudaErrorInvalidValue;
    const size_t most = SIZE_MAX, half = (size_t)1 << 33;
    const size_t in_row = 10 * (r.radius == 0 ? 3 : r.channels);
    const size_t out_row = 10 * (r.radius == 0 ? 1 : r.channels);
    bool ok = r.launch(NULL, in_row, y, out_row, 10, 10, 0) == wrong;
    ok &= r.launch(x, in_row, NULL, out_row, 10, 10, 0) == wrong;
    ok &= r.launch(x, in_row - 1, y, out_row, 10, 10, 0) == wrong;
    ok &= r.launch(x, in_row, y, out_row - 1, 10, 10, 0) == wrong;
    ok &= r.launch(x, most, y, most, most, 1, 0) == wrong;
    ok &= r.launch(x, most, y, out_row, 1, 2, 0) == wrong;
    ok &= r.launch(x, in_row, y, most / 2, 1, 4, 0) == wrong;
    ok &= r.launch(x, 3, y, 3, 1, most, 0) == wrong;
    ok &= r.launch(x, 4 * half, y, 4 * half, half, half, 0) == wrong;
    ok &= r.launch(x, most, y, most, most / 2, 2, 0) == wrong;
    if (r.channels > 1) // a row of fewer samples, modulo 2^64, than pixels
        ok &= r.launch(x, most, y, most, most / r.channels + 1, 1, 0) == wrong;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", r.name);
    tap_ok(in.untouched() && out.untouched(), "%s: wrong arguments write nothing", r.name);
    tap_ok(r.launch(NULL, 0, NULL, 0, 0, 7, 0) == cudaSuccess, "%s: no pixels, no arrays", r.name);
}

#ifdef SIMT

#if TESTED(blur_single)
#define COARSEN_NAME   count_single
#define COARSEN_RADIUS 3
#include <coarsen/image/blur_single.h>
#endif

#if TESTED(blur_coarsened)
#define COARSEN_NAME   count_coarsened
#define COARSEN_RADIUS 3
#include <coarsen/image/blur_coarsened.h>
#endif

#if TESTED(blur_tiled)
#define COARSEN_NAME   count_tiled
#define COARSEN_RADIUS 3
#include <coarsen/image/blur_tiled.h>
#endif

#if TESTED(blur_rolling)
#define COARSEN_NAME   count_rolling
#define COARSEN_RADIUS 3
#include <coarsen/image/blur_rolling.h>

// The launcher picks the rows a thread makes by the device; here they are 32.
static cudaError_t count_rolling_32_launch(const unsigned char *in, size_t in_pitch,
                                           unsigned char *out, size_t out_pitch, size_t width,
                                           size_t height, cudaStream_t stream)
{
    const count_rolling_cut cut = {2, 32, 0, 32, 0}; // two columns, strips of 32 rows
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(128);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, count_rolling_kernel, in, in_pitch, out, out_pitch, width,
                              height, cut);
}
#endif

// What a gray picture of 960 x 64 takes to be blurred with radius 3, and an RGB one to become gray.
static void check_counts(void)
{
    const size_t width = 960, height = 64, n = width * height;
    static const struct {
        rung r;
        unsigned long long loaded; // bytes of global memory asked for
    } table[] = {
#if TESTED(blur_single)
        // Sum over x of box widths times sum over y of box heights: 7 each, less 12 at the two ends.
        {{"blur_single", count_single_launch, 3, 1, 0, 0, 0}, (7 * 960 - 12) * (7 * 64 - 12)},
#endif
#if TESTED(blur_coarsened)
        // 8 strips of 8 rows: 6 rows begun with, and 8 added and 8 taken off, but where there are none.
        {{"blur_coarsened", count_coarsened_launch, 3, 1, 0, 0, 0},
         (7 * 960 - 12) * (64 - 3 + 64 - 4 + (3 + 7 * 7))},
#endif
#if TESTED(blur_tiled)
        // Tiles of 128 x 8, each with 3 around it: of what is in the picture, 8 * 8 + 14 * 3 rows.
        {{"blur_tiled", count_tiled_launch, 3, 1, 0, 0, 0}, (960 + 7 * 6) * (64 + 7 * 6)},
#endif
#if TESTED(blur_rolling)
        // Two columns of warps, in strips of 32 rows: 480 samples and a lane to each side.
        {{"blur_rolling", count_rolling_32_launch, 3, 1, 0, 0, 0}, (960 + 2 * 16) * (64 + 2 * 3)},
#endif
#if TESTED(grayscale_single)
        {{"grayscale_single", gray_single_launch, 0, 3, 0, 0, 0}, 3 * 960 * 64},
#endif
#if TESTED(grayscale_vectorized)
        {{"grayscale_vectorized", gray_vectorized_launch, 0, 3, 0, 0, 0}, 3 * 960 * 64},
#endif
    };
    test_array in(3 * n), out(n);
    in.zero();
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        simt_counts c;
        const size_t in_pitch = width * (table[i].r.radius == 0 ? 3 : 1);
        CHECK(table[i].r.launch((unsigned char *)in.get(), in_pitch, (unsigned char *)out.get(),
                                width, width, height, 0));
        CHECK(cudaDeviceSynchronize());
        simt_last_counts(&c);
        tap_ok(c.global_load_bytes == table[i].loaded,
               "%s: loads %llu bytes for %zu pixels (%llu), in %llu requests", table[i].r.name,
               c.global_load_bytes, n, table[i].loaded, c.global_load_requests);
        tap_ok(c.global_bytes - c.global_load_bytes == n, "%s: stores each pixel once",
               table[i].r.name);
    }
}

#endif

int main(void)
{
    test_begin();
#define GRAY(name)                   (rung{#name, name##_launch, 0, 3, 19595, 38470, 7471})
#define BLUR(name, radius, channels) (rung{#name, name##_launch, radius, channels, 0, 0, 0})
    const rung rungs[] = {
#if TESTED(grayscale_single)
        GRAY(gray_single),
#endif
#if TESTED(grayscale_coarsened)
        GRAY(gray_coarsened),
#endif
#if TESTED(grayscale_vectorized)
        GRAY(gray_vectorized),
        {"gray_green", gray_green_launch, 0, 3, 0, 65536, 0},
        GRAY(gray),
#endif
#if TESTED(blur_single)
        BLUR(single_1_1, 1, 1),
        BLUR(single_3_3, 3, 3),
#endif
#if TESTED(blur_coarsened)
        BLUR(coarsened_1_1, 1, 1),
        BLUR(coarsened_3_3, 3, 3),
#endif
#if TESTED(blur_tiled)
        BLUR(tiled_1_1, 1, 1),
        BLUR(tiled_3_3, 3, 3),
#endif
#if TESTED(blur_rolling)
        BLUR(rolling_1_1, 1, 1),
        BLUR(rolling_2_2, 2, 2),
        BLUR(rolling_3_3, 3, 3),
        BLUR(rolling_4_4, 4, 4),
        BLUR(rolling_5_1, 5, 1),
        BLUR(rolling_7_3, 7, 3),
#endif
    };
    for (const rung &r : rungs) {
        check_errors(r);
        check(r);
        check_distances(r);
    }
#if TESTED(grayscale_single)
    check_tall(GRAY(gray_single));
#endif
#if TESTED(grayscale_coarsened)
    check_tall(GRAY(gray_coarsened));
#endif
#if TESTED(blur_single)
    check_tall(BLUR(single_1_1, 1, 1));
#endif
#if TESTED(blur_coarsened)
    check_tall(BLUR(coarsened_1_1, 1, 1));
#endif
#if TESTED(blur_tiled)
    check_tall(BLUR(tiled_1_1, 1, 1));
#endif
#if TESTED(blur_rolling)
    check_cuts();
#endif
#ifdef SIMT
    check_counts();
#endif
#if TESTED(blur_tiled)
    check_errors(BLUR(tiled_31_1, 31, 1));
    check(BLUR(tiled_31_1, 31, 1)); // last, as it takes long
#endif
    return tap_done();
}
