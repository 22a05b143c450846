// SPDX-License-Identifier: MIT
//
// Every rung of the stencil: right at any extent, order, boundary, pitch and alignment, in any order of blocks; what it
// promises of errors; and how many cells it loads.
//
// The file includes itself, once for each rung.

// ---- one rung ----

#if defined(STENCIL_HEADER)

#if STENCIL_CUBE > 0 // the width of a tile, for rungs that have one
#define TILE_WIDTH STENCIL_CUBE
#elif STENCIL_STEPS // several steps per launch: a row of results per block
#define BLOCK_DIM 160
#else
#define BLOCK_DIM           64
#define COARSEN_THREAD_ROWS 3
#endif
#if STENCIL_STEPS // far enough for slices that are near nothing
#define COARSE_FACTOR 37
#elif STENCIL_WALK // rungs that walk along z
#define COARSE_FACTOR 3
#endif
#define COARSEN_NAME         STENCIL(plain)
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 2, 3
#include STENCIL_HEADER

#if STENCIL_CUBE > 0
#define TILE_WIDTH (STENCIL_CUBE - 1)
#elif STENCIL_STEPS
#define BLOCK_DIM     480
#define COARSEN_STEPS 3
#else
#define BLOCK_DIM           32
#define COARSEN_THREAD_ROWS 1
#endif
#if STENCIL_STEPS
#define COARSE_FACTOR 41
#elif STENCIL_WALK
#define COARSE_FACTOR 4
#endif
#define COARSEN_NAME             STENCIL(periodic)
#define COARSEN_TYPE             int
#define COARSEN_ORDER            2
#define COARSEN_STENCIL(x, y, z) (weighed<2>(x, y, z))
#define COARSEN_BOUNDARY         COARSEN_PERIODIC
#include STENCIL_HEADER

#if STENCIL_MANY
#define TILE_WIDTH           1
#define COARSEN_NAME         STENCIL(many)
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 2, 3
#define COARSEN_BOUNDARY     COARSEN_CLAMPED
#include STENCIL_HEADER
#endif

#if defined(SIMT) && !defined(TEST_ONLY) // to be counted, as they are, 32 slices per block
#if STENCIL_WALK
#define COARSE_FACTOR 32
#endif
#define COARSEN_NAME         STENCIL(counted_1)
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 2, 3
#include STENCIL_HEADER

#if STENCIL_WALK
#define COARSE_FACTOR 32
#endif
#define COARSEN_NAME         STENCIL(counted_4)
#define COARSEN_TYPE         float
#define COARSEN_ORDER        4
#define COARSEN_COEFFICIENTS 2, 3, 4, 5, 6
#include STENCIL_HEADER
#endif

#ifndef TEST_FIRST
#if STENCIL_CUBE > 0
#define TILE_WIDTH (STENCIL_CUBE + 1)
#elif STENCIL_STEPS
#define BLOCK_DIM     448
#define COARSEN_STEPS 2
#else
#define BLOCK_DIM           96
#define COARSEN_THREAD_ROWS 2
#endif
#if STENCIL_WALK
#define COARSE_FACTOR 5
#endif
#define COARSEN_NAME             STENCIL(clamped)
#define COARSEN_TYPE             double
#define COARSEN_ORDER            3
#define COARSEN_STENCIL(x, y, z) (weighed<3>(x, y, z))
#define COARSEN_BOUNDARY         COARSEN_CLAMPED
#include STENCIL_HEADER

#if STENCIL_WALK // so that a block may have slices near the far edge alone
#define COARSE_FACTOR 5
#endif
#define COARSEN_NAME             STENCIL(far)
#define COARSEN_TYPE             float
#define COARSEN_ORDER            4
#define COARSEN_STENCIL(x, y, z) (weighed<4>(x, y, z))
#include STENCIL_HEADER

#if STENCIL_STEPS
#define COARSEN_STEPS 4
#endif
#define COARSEN_NAME             STENCIL(pairs)
#define COARSEN_TYPE             two_floats
#define COARSEN_STENCIL(x, y, z) of_pairs(x, y, z)
#define COARSEN_BOUNDARY         COARSEN_PERIODIC
#include STENCIL_HEADER

#if STENCIL_STEPS
#define COARSEN_STEPS 1
#endif
#define COARSEN_NAME             STENCIL(bytes)
#define COARSEN_TYPE             unsigned char
#define COARSEN_STENCIL(x, y, z) ((unsigned char)(weighed<1>(x, y, z)))
#define COARSEN_BOUNDARY         COARSEN_CLAMPED
#include STENCIL_HEADER
#endif

#if STENCIL_STEPS
#define STENCIL_SO_MANY(steps) steps
#else
#define STENCIL_SO_MANY(steps) 1
#endif
static void STENCIL(check)(void)
{
    const rung<float> plain = {STENCIL_TEXT(plain),   1,
                               COARSEN_COPIED,        of_coefficients,
                               STENCIL(plain_launch), STENCIL_SO_MANY(2)};
    check_errors(plain);
    check(plain, STENCIL_TILE);
    check(rung<int>{STENCIL_TEXT(periodic), 2, COARSEN_PERIODIC, weighed<2, int>,
                    STENCIL(periodic_launch), STENCIL_SO_MANY(3)},
          STENCIL_TILE - 1);
#if STENCIL_MANY
    check_many(rung<float>{STENCIL_TEXT(many), 1, COARSEN_CLAMPED, of_coefficients,
                           STENCIL(many_launch), STENCIL_SO_MANY(1)});
#endif
#ifndef TEST_FIRST
    check(rung<double>{STENCIL_TEXT(clamped), 3, COARSEN_CLAMPED, weighed<3, double>,
                       STENCIL(clamped_launch), STENCIL_SO_MANY(2)},
          STENCIL_TILE + 1);
    check(rung<float>{STENCIL_TEXT(far), 4, COARSEN_COPIED, weighed<4, float>, STENCIL(far_launch),
                      STENCIL_SO_MANY(2)},
          32);
    check(rung<two_floats>{STENCIL_TEXT(pairs), 1, COARSEN_PERIODIC, of_pairs,
                           STENCIL(pairs_launch), STENCIL_SO_MANY(4)},
          32);
    const rung<unsigned char> bytes = {STENCIL_TEXT(bytes),   1,
                                       COARSEN_CLAMPED,       weighed<1, unsigned char>,
                                       STENCIL(bytes_launch), STENCIL_SO_MANY(1)};
    check(bytes, 32);
#ifndef SIMT
    check_graph(plain);
    check_big(bytes);
#endif
#endif
}

#undef STENCIL
#undef STENCIL_HEADER
#undef STENCIL_CUBE
#undef STENCIL_TILE
#undef STENCIL_WALK
#undef STENCIL_STEPS
#undef STENCIL_SO_MANY
#undef STENCIL_MANY

#else // ---- the test ------------------------------------------------------------------------------

#include "device.h"

#include <math.h>

#include <coarsen/base.h>

// Each neighbour counts otherwise, so none may stand for another.
template <int order, class T>
static inline __host__ __device__ T weighed(const T *x, const T *y, const T *z)
{
    T sum = 40 * x[0];
    for (int d = 1; d <= order; d++)
        sum = (T)(sum + (T)d * x[-d] + (T)(5 + d) * x[d] + (T)(10 + d) * y[-d] +
                  (T)(15 + d) * y[d] + (T)(20 + d) * z[-d] + (T)(25 + d) * z[d]);
    return sum;
}

// 8 bytes that are aligned to 4.
typedef struct {
    float re, im;
} two_floats;
static inline __host__ __device__ two_floats of_pairs(const two_floats *x, const two_floats *y,
                                                      const two_floats *z)
{
    return two_floats{x[-1].re + 2 * y[1].im + 3 * z[0].re, x[1].im + 2 * y[-1].re + 3 * z[-1].im};
}
static bool operator!=(two_floats a, two_floats b)
{
    return a.re != b.re || a.im != b.im;
}

template <class T> static void set(T *x, uint64_t bits)
{
    *x = (T)(bits % 17);
}
static void set(two_floats *x, uint64_t bits)
{
    *x = two_floats{(float)(bits % 17), (float)(bits % 19)};
}

static float of_coefficients(const float *x, const float *y, const float *z)
{
    return 2 * x[0] + 3 * (x[-1] + x[1] + y[-1] + y[1] + z[-1] + z[1]);
}

template <class T> struct rung {
    const char *name;
    int order, boundary;
    T (*cell)(const T *, const T *, const T *);
    cudaError_t (*launch)(const T *, T *, size_t, size_t, size_t, size_t, size_t, cudaStream_t);
    int steps; // per launch
};

struct extent {
    size_t n[3], pitch, slice_pitch;
    size_t at(size_t x, size_t y, size_t z) const
    {
        return z * slice_pitch + y * pitch + x;
    }
    size_t cells() const // with what lies between rows
    {
        return n[0] && n[1] && n[2] ? at(n[0] - 1, n[1] - 1, n[2] - 1) + 1 : 0;
    }
};

// The neighbour at distance d of cell i of n.
static size_t neighbour(size_t i, int d, size_t n, int boundary)
{
    const long long place = (long long)i + d, size = (long long)n;
    if (boundary == COARSEN_PERIODIC)
        return (size_t)((place % size + size) % size);
    return (size_t)(place < 0 ? 0 : place >= size ? size - 1 : place);
}

template <class T>
static T after_step(const rung<T> &r, const std::vector<T> &in, const extent &e,
                    const size_t (&at)[3])
{
    T along[3][9];
    bool kept = false;
    for (int axis = 0; axis < 3; axis++)
        for (int d = -r.order; d <= r.order; d++) {
            size_t other[] = {at[0], at[1], at[2]};
            other[axis] = neighbour(at[axis], d, e.n[axis], r.boundary);
            along[axis][d + r.order] = in[e.at(other[0], other[1], other[2])];
            kept |= r.boundary == COARSEN_COPIED && e.n[axis] > 1 &&
                    (at[axis] + (size_t)(d + r.order) < (size_t)r.order ||
                     other[axis] != at[axis] + (size_t)(long long)d);
        }
    return kept ? in[e.at(at[0], at[1], at[2])]
                : r.cell(along[0] + r.order, along[1] + r.order, along[2] + r.order);
}

template <class T>
static std::vector<T> after_steps(const rung<T> &r, std::vector<T> cells, const extent &e)
{
    for (int step = 0; step < r.steps; step++) {
        const std::vector<T> before = cells;
        for (size_t z = 0; !cells.empty() && z < e.n[2]; z++)
            for (size_t y = 0; y < e.n[1]; y++)
                for (size_t x = 0; x < e.n[0]; x++)
                    cells[e.at(x, y, z)] = after_step(r, before, e, {x, y, z});
    }
    return cells;
}

// "" if a launch does what it is to: each cell, and nothing between rows.
template <class T>
static const char *wrong(const rung<T> &r, const extent &e, size_t in_offset, size_t out_offset)
{
    const size_t cells = e.cells();
    const test_array in(cells * sizeof(T), in_offset * __alignof__(T));
    const test_array out(cells * sizeof(T), out_offset * __alignof__(T));
    std::vector<T> x(cells), got(cells), poison(cells);
    for (size_t i = 0; i < cells; i++)
        set(&x[i], test_random(cells, i));
    in.fill(x.data());
    cudaError_t status = r.launch((const T *)in.get(), (T *)out.get(), e.n[0], e.n[1], e.n[2],
                                  e.pitch, e.slice_pitch, 0);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    if (status != cudaSuccess)
        return cudaGetErrorString(status);
    out.read(got.data());
    if (cells > 0)
        memset((void *)poison.data(), POISON, cells * sizeof(T));
    const std::vector<T> wanted = after_steps(r, x, e);
    for (size_t z = 0; cells > 0 && z < e.n[2]; z++)
        for (size_t y = 0; y < e.n[1]; y++)
            for (size_t x0 = 0; x0 < e.n[0]; x0++) {
                const size_t i = e.at(x0, y, z);
                if (got[i] != wanted[i])
                    return "wrong cells";
                got[i] = poison[i];
            }
    if (cells > 0 && memcmp((void *)got.data(), (void *)poison.data(), cells * sizeof(T)) != 0)
        return "wrote between rows";
    return in.intact() && out.intact() ? "" : "wrote outside its arrays";
}

// At extents around tiles, and at random ones.
template <class T> static void check(const rung<T> &r, size_t tile)
{
    const size_t order = (size_t)r.order;
    const size_t sizes[] = {1, 2, order, 2 * order, 2 * order + 1, tile, tile + 1, 2 * tile + 3};
    for (uint64_t k = 0; k < 40; k++) {
        const uint64_t bits = test_random(tile + order, k);
        extent e = {{sizes[bits % 8], sizes[(bits >> 8) % 8], sizes[(bits >> 16) % 8]}, 0, 0};
        if (k % 4 == 3) // any
            for (int axis = 0; axis < 3; axis++)
                e.n[axis] = 1 + (bits >> (24 + 8 * axis)) % (axis == 0 ? 300 : 15);
        if (k % 8 == 5) // a plane, or a line
            e.n[2] = 1, e.n[1] = k % 16 == 5 ? 1 : e.n[1];
        if (k % 16 == 9) // tall
            e = {{e.n[0] % 20 + 1, e.n[1] % 7 + 1, 30 + (bits >> 40) % 28}, 0, 0};
        for (int axis = 2; axis >= 0 && e.n[0] * e.n[1] * e.n[2] > 8192; axis--)
            e.n[axis] = 1 + e.n[axis] % 7; // so that simt takes a second or two
        const bool aligned = k % 3 == 0;   // by 16 bytes
        const size_t unit = aligned ? 16 / sizeof(T) : 1;
        e.pitch = (e.n[0] + (bits >> 48) % 3 + unit - 1) / unit * unit;
        e.slice_pitch = e.n[1] * e.pitch + (bits >> 52) % 3 * unit;
        const size_t in_offset = aligned ? 0 : (bits >> 54) % 5;
        const size_t out_offset = aligned ? k % 9 == 6 : (bits >> 58) % 5;
        const char *order_of_blocks = test_order((int)k % test_order_count());
        const char *why = wrong(r, e, in_offset, out_offset);
        if (*why) {
            tap_ok(0, "%s: %zu x %zu x %zu, pitches %zu and %zu, offsets %zu and %zu, %s: %s",
                   r.name, e.n[0], e.n[1], e.n[2], e.pitch, e.slice_pitch, in_offset, out_offset,
                   order_of_blocks, why);
            test_order(0);
            return;
        }
    }
    test_order(0);
    tap_ok(1, "%s: right at any extent", r.name);
}

// More tiles along y, and along z, than a grid has blocks there, where a tile is a cell.
template <class T> static void check_many(const rung<T> &r)
{
    const extent extents[] = {{{2, 65538, 1}, 2, 2 * 65538}, {{1, 2, 65538}, 1, 2}};
    for (const extent &e : extents) {
        const char *why = wrong(r, e, 0, 0);
        tap_ok(!*why, "%s: %zu x %zu x %zu: %s", r.name, e.n[0], e.n[1], e.n[2],
               *why ? why : "right");
    }
}

template <class T> static void check_errors(const rung<T> &r)
{
    const extent e = {{20, 10, 5}, 24, 250};
    const test_array in(e.cells() * sizeof(T)), out(e.cells() * sizeof(T));
    T *const x = (T *)in.get(), *const y = (T *)out.get();
    const size_t huge = (size_t)-1 / 2;
    bool ok = true;
    const auto fails = [&](T *from, T *to, size_t nx, size_t ny, size_t nz, size_t pitch,
                           size_t slice_pitch) {
        ok &= r.launch(from, to, nx, ny, nz, pitch, slice_pitch, 0) == cudaErrorInvalidValue;
    };
    fails(NULL, y, 20, 10, 5, 24, 250);
    fails(x, NULL, 20, 10, 5, 24, 250);
    fails((T *)((char *)x + 1), y, 20, 10, 5, 24, 250);
    fails(x, (T *)((char *)y + 1), 20, 10, 5, 24, 250);
    fails(x, y, 20, 10, 5, 19, 250);
    fails(x, y, 20, 10, 5, 24, 9 * 24 + 19);
    fails(x, y, 20, 10, 5, 0, 250);
    fails(x, y, huge, 10, 5, huge, huge);
    fails(x, y, 20, huge, 5, 24, huge);
    fails(x, y, 20, 10, huge, 24, 250);
    fails(x, y, 1, (size_t)1 << 50, 1, 1, (size_t)1 << 50); // more blocks than a grid has
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", r.name);
    ok = true;
    for (int axis = 0; axis < 3; axis++)
        ok &= r.launch(NULL, NULL, axis != 0, axis != 1, axis != 2, 0, 0, 0) == cudaSuccess;
    tap_ok(ok && in.untouched() && out.untouched(),
           "%s: wrong arguments, and no cells, write nothing", r.name);
}

#if defined(SIMT) && !defined(TEST_ONLY)
// The figures of docs/stencil.md: cells loaded from global memory per cell of 128 x 64 x 64.
static void check_count(const char *name, decltype(rung<float>::launch) launch, double loads)
{
    const size_t cells = (size_t)128 * 64 * 64;
    const test_array in(cells * 4), out(cells * 4);
    in.zero();
    simt_counts c;
    simt_reset_counts();
    CHECK(launch((const float *)in.get(), (float *)out.get(), 128, 64, 64, 128, 128 * 64, 0));
    CHECK(cudaDeviceSynchronize());
    simt_total_counts(&c);
    const double loaded = (double)c.global_bytes / 4 / (double)cells - 1;
    tap_ok(fabs(loaded - loads) < 1e-6, "%s: %.4f cells loaded per cell", name, loaded);
}
#endif

#ifndef SIMT
static void check_graph(const rung<float> &r)
{
    const extent e = {{50, 40, 30}, 51, 51 * 40};
    const size_t cells = e.cells();
    std::vector<float> x(cells), want(cells);
    memset(want.data(), POISON, cells * 4);
    for (size_t i = 0; i < cells; i++)
        x[i] = (float)(test_random(5, i) % 17);
    const std::vector<float> wanted = after_steps(r, x, e);
    for (size_t i = 0; i < 50 * 40 * 30; i++) {
        const size_t at = e.at(i % 50, i / 50 % 40, i / 2000);
        want[at] = wanted[at];
    }
    const test_array in(cells * 4), out(cells * 4);
    in.fill(x.data());
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(r.launch((float *)in.get(), (float *)out.get(), 50, 40, 30, e.pitch,
                           e.slice_pitch, stream));
        },
        [&] {
            std::vector<float> got(cells);
            out.read(got.data());
            return memcmp(got.data(), want.data(), cells * 4) == 0;
        });
    tap_ok(ok, "%s: is captured in a graph and replayed", r.name);
}

// Of what test_fill made: a plane whose edges are clamped.
static __global__ void count_wrong(const unsigned char *out, size_t nx, size_t ny,
                                   unsigned long long *count)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < nx * ny;
         i += (size_t)gridDim.x * 256) {
        const size_t x = i % nx, y = i / nx;
        unsigned char along_x[3], along_y[3], along_z[3];
        for (size_t k = 0; k < 3; k++) {
            const size_t other_x = x + k == 0 ? 0 : x + k > nx ? nx - 1 : x + k - 1;
            const size_t other_y = y + k == 0 ? 0 : y + k > ny ? ny - 1 : y + k - 1;
            along_x[k] = (unsigned char)((y * nx + other_x) % 100003 % 251);
            along_y[k] = (unsigned char)((other_y * nx + x) % 100003 % 251);
            along_z[k] = (unsigned char)(i % 100003 % 251);
        }
        if (out[i] != weighed<1>(along_x + 1, along_y + 1, along_z + 1))
            atomicAdd(count, 1ULL);
    }
}

static void check_big(const rung<unsigned char> &r)
{
    const size_t nx = 70001, ny = 62003, n = nx * ny;
    if (!test_room("cells > 2^32", 2 * n))
        return;
    const test_array in(n, 1), out(n, 3);
    const cudaLaunchConfig_t config = {dim3(4096), dim3(256), 0, 0, NULL, 0};
    CHECK(cudaLaunchKernelEx(&config, test_fill<unsigned char>, (unsigned char *)in.get(), n));
    CHECK(r.launch((unsigned char *)in.get(), (unsigned char *)out.get(), nx, ny, 1, nx, n, 0));
    const unsigned long long found =
        test_count(count_wrong, (const unsigned char *)out.get(), nx, ny);
    tap_ok(found == 0, "%s: %zu x %zu cells: %llu are wrong", r.name, nx, ny, found);
}
#endif

// ---- The rungs ------------------------------------------------------------------------------------

#define STENCIL_TEXT(stem)   STENCIL_TEXT_(STENCIL(stem))
#define STENCIL_TEXT_(name)  STENCIL_TEXT__(name)
#define STENCIL_TEXT__(name) #name

#if TESTED(basic)
#define STENCIL(stem)  basic_##stem
#define STENCIL_HEADER <coarsen/stencil/basic.h>
#define STENCIL_CUBE   4
#define STENCIL_TILE   4
#define STENCIL_MANY   1 // base.h launches the rungs with tiles
#include "stencil.cu"
#endif

#if TESTED(tiled)
#define STENCIL(stem)  tiled_##stem
#define STENCIL_HEADER <coarsen/stencil/tiled.h>
#define STENCIL_CUBE   4
#define STENCIL_TILE   4
#include "stencil.cu"
#endif

#if TESTED(coarsened)
#define STENCIL(stem)  coarsened_##stem
#define STENCIL_HEADER <coarsen/stencil/coarsened.h>
#define STENCIL_CUBE   6
#define STENCIL_TILE   6
#define STENCIL_WALK   1
#include "stencil.cu"
#endif

#if TESTED(register_tiled)
#define STENCIL(stem)  register_tiled_##stem
#define STENCIL_HEADER <coarsen/stencil/register_tiled.h>
#define STENCIL_CUBE   6
#define STENCIL_TILE   6
#define STENCIL_WALK   1
#include "stencil.cu"
#endif

#if TESTED(vectorized)
#define STENCIL(stem)  vectorized_##stem
#define STENCIL_HEADER <coarsen/stencil.h>
#define STENCIL_CUBE   0
#define STENCIL_TILE   6
#define STENCIL_WALK   1
#include "stencil.cu"
#endif

#if TESTED(time_tiled)
#define STENCIL(stem)  time_tiled_##stem
#define STENCIL_HEADER <coarsen/stencil/time_tiled.h>
#define STENCIL_CUBE   0
#define STENCIL_TILE   6
#define STENCIL_WALK   1
#define STENCIL_STEPS  1
#include "stencil.cu"
#endif

int main(void)
{
    test_begin();
#if defined(SIMT) && !defined(TEST_ONLY)
    const double cells = 128. * 64 * 64, inner[] = {126. * 62 * 62, 0, 0, 120. * 56 * 56};
    for (int order = 1; order <= 4; order += 3) {
        const bool one = order == 1;
        const double side8 = 8 + 2 * order, side32 = 32 + 2 * order, side16 = 16 + 2 * order;
        check_count("basic", one ? basic_counted_1_launch : basic_counted_4_launch,
                    1 + 6 * order * inner[order - 1] / cells);
        check_count("tiled", one ? tiled_counted_1_launch : tiled_counted_4_launch,
                    side8 * side8 * side8 / 512);
        check_count("coarsened", one ? coarsened_counted_1_launch : coarsened_counted_4_launch,
                    (one ? side32 * side32 / 1024 : side16 * side16 / 256) * side32 / 32);
        check_count("register_tiled",
                    one ? register_tiled_counted_1_launch : register_tiled_counted_4_launch,
                    side32 / 32 + 4 * order / 32.);
        check_count("vectorized", one ? vectorized_counted_1_launch : vectorized_counted_4_launch,
                    side32 / 32 + 2 * order + 2);
        // Two tiles along x, and 6 or 16 along y, all of them whole.
        check_count("time_tiled", one ? time_tiled_counted_1_launch : time_tiled_counted_4_launch,
                    one ? 256 / 128. * (6 * 16 / 64.) * (36 / 32.)
                        : 256 / 128. * (16 * 20 / 64.) * (48 / 32.));
    }
#endif
#if TESTED(basic)
    basic_check();
#endif
#if TESTED(tiled)
    tiled_check();
#endif
#if TESTED(coarsened)
    coarsened_check();
#endif
#if TESTED(register_tiled)
    register_tiled_check();
#endif
#if TESTED(vectorized)
    vectorized_check();
#endif
#if TESTED(time_tiled)
    time_tiled_check();
#endif
    return tap_done();
}

#endif
