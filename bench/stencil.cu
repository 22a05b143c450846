// SPDX-License-Identifier: MIT
//
// bench/stencil.cu: stars of order 1, 2 and 4 on grids of float and double cells. Each rung of the stencil's ladder and
// stencil.h beside a device copy, which no stencil can beat: it, too, reads and writes each cell once. With --sweep:
// stencil.h's threads and slices per block, and two rows per thread.
//
// n counts cells. The file includes itself, once for each type and order, and once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#if SWEEP_BLOCK_DIM <= 512
#define COARSEN_NAME         SWEEP_NAME(near)
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#define BLOCK_DIM            SWEEP_BLOCK_DIM
#define COARSE_FACTOR        (4 * SWEEP_COARSE_FACTOR)
#include <coarsen/stencil.h>
VARIANT(near, "stencil.h", 1, 1);

#define COARSEN_NAME         SWEEP_NAME(far)
#define COARSEN_TYPE         float
#define COARSEN_ORDER        4
#define COARSEN_COEFFICIENTS 0.3f, 0.07f, 0.03f, 0.01f, 0.005f
#define BLOCK_DIM            SWEEP_BLOCK_DIM
#define COARSE_FACTOR        (4 * SWEEP_COARSE_FACTOR)
#include <coarsen/stencil.h>
VARIANT(far, "stencil.h", 4, 1);
#endif

#if SWEEP_BLOCK_DIM == 128
#define COARSEN_NAME         SWEEP_NAME(two_rows)
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#define COARSEN_THREAD_ROWS  2
#define BLOCK_DIM            SWEEP_BLOCK_DIM
#define COARSE_FACTOR        (4 * SWEEP_COARSE_FACTOR)
#include <coarsen/stencil.h>
VARIANT(two_rows, "two rows per thread", 1, 1);
#endif

#if SWEEP_BLOCK_DIM >= 256
#define COARSEN_NAME         SWEEP_NAME(twice)
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#define BLOCK_DIM            SWEEP_BLOCK_DIM
#define COARSE_FACTOR        (4 * SWEEP_COARSE_FACTOR)
#include <coarsen/stencil/time_tiled.h>
VARIANT(twice, "time_tiled 2 steps", 1, 2);
#endif

#elif defined(                                                                                     \
    STENCIL_HEADER) // ---- one rung ------------------------------------------------------

#define COARSEN_NAME         STENCIL_NAME(1)
#define COARSEN_TYPE         STENCIL_TYPE
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#include STENCIL_HEADER
RUNG(1);

#define COARSEN_NAME         STENCIL_NAME(2)
#define COARSEN_TYPE         STENCIL_TYPE
#define COARSEN_ORDER        2
#define COARSEN_COEFFICIENTS 0.4f, 0.07f, 0.03f
#include STENCIL_HEADER
RUNG(2);

#define COARSEN_NAME         STENCIL_NAME(4)
#define COARSEN_TYPE         STENCIL_TYPE
#define COARSEN_ORDER        4
#define COARSEN_COEFFICIENTS 0.3f, 0.07f, 0.03f, 0.01f, 0.005f
#include STENCIL_HEADER
RUNG(4);

#undef STENCIL_HEADER
#undef STENCIL_STEM
#undef STENCIL_KERNEL

#elif defined(                                                                                     \
    STENCIL_TYPE) // ---- one type --------------------------------------------------------

#define STENCIL_HEADER <coarsen/stencil/basic.h>
#define STENCIL_STEM   basic
#define STENCIL_KERNEL "basic"
#include "stencil.cu"
#define STENCIL_HEADER <coarsen/stencil/tiled.h>
#define STENCIL_STEM   tiled
#define STENCIL_KERNEL "tiled"
#include "stencil.cu"
#define STENCIL_HEADER <coarsen/stencil/coarsened.h>
#define STENCIL_STEM   coarsened
#define STENCIL_KERNEL "coarsened"
#include "stencil.cu"
#define STENCIL_HEADER <coarsen/stencil/register_tiled.h>
#define STENCIL_STEM   register_tiled
#define STENCIL_KERNEL "register_tiled"
#include "stencil.cu"
#define STENCIL_HEADER <coarsen/stencil.h>
#define STENCIL_STEM   stencil
#define STENCIL_KERNEL "stencil.h"
#include "stencil.cu"

#define COARSEN_NAME         STENCIL_TIMES(1, 2)
#define COARSEN_TYPE         STENCIL_TYPE
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#include <coarsen/stencil/time_tiled.h>
TIMES(1, 2);

#define COARSEN_NAME         STENCIL_TIMES(1, 3)
#define COARSEN_TYPE         STENCIL_TYPE
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#define COARSEN_STEPS        3
#include <coarsen/stencil/time_tiled.h>
TIMES(1, 3);

#define COARSEN_NAME         STENCIL_TIMES(1, 4)
#define COARSEN_TYPE         STENCIL_TYPE
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#define COARSEN_STEPS        4
#include <coarsen/stencil/time_tiled.h>
TIMES(1, 4);

#define COARSEN_NAME         STENCIL_TIMES(2, 2)
#define COARSEN_TYPE         STENCIL_TYPE
#define COARSEN_ORDER        2
#define COARSEN_COEFFICIENTS 0.4f, 0.07f, 0.03f
#include <coarsen/stencil/time_tiled.h>
TIMES(2, 2);
#undef STENCIL_TYPE

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>

#include <algorithm>

template <typename T> struct rung {
    std::string kernel, knobs;
    int order;
    cudaError_t (*launch)(const T *, T *, size_t, size_t, size_t, size_t, size_t, cudaStream_t);
    const void *function = nullptr; // the kernel, in a sweep
    int threads = 0;
    int steps = 1; // per launch
};

#define STENCIL_NAME(order)                                                                        \
    COARSEN_JOIN(STENCIL_STEM, COARSEN_JOIN(_, COARSEN_JOIN(STENCIL_TYPE, _##order)))
#define RUNG(order)                                                                                \
    static const bool COARSEN_JOIN(STENCIL_NAME(order), _added) =                                  \
        bench_add(bench_rungs<rung<STENCIL_TYPE>>(),                                               \
                  {STENCIL_KERNEL, "", order, COARSEN_JOIN(STENCIL_NAME(order), _launch)})
#define STENCIL_TIMES(order, steps)                                                                \
    COARSEN_JOIN(time_tiled_, COARSEN_JOIN(STENCIL_TYPE, _##order##_##steps))
#define TIMES(order, steps)                                                                        \
    static const bool COARSEN_JOIN(STENCIL_TIMES(order, steps), _added) =                          \
        bench_add(bench_rungs<rung<STENCIL_TYPE>>(),                                               \
                  {"time_tiled " #steps " steps", "", order,                                       \
                   COARSEN_JOIN(STENCIL_TIMES(order, steps), _launch), nullptr, 0, steps})
#define VARIANT(stem, kernel, order, steps)                                                        \
    static const bool COARSEN_JOIN(SWEEP_NAME(stem), _added) =                                     \
        bench_add(bench_variants<rung<float>>(),                                                   \
                  {kernel,                                                                         \
                   "BLOCK_DIM=" SWEEP_TEXT(SWEEP_BLOCK_DIM) " COARSE_FACTOR=" +                    \
                       std::to_string(4 * SWEEP_COARSE_FACTOR),                                    \
                   order, COARSEN_JOIN(SWEEP_NAME(stem), _launch),                                 \
                   (const void *)COARSEN_JOIN(SWEEP_NAME(stem), _kernel), SWEEP_BLOCK_DIM, steps})

#define STENCIL_TYPE float
#include "stencil.cu"
#define STENCIL_TYPE double
#include "stencil.cu"

#define SWEEP_VARIANT "stencil.cu"
#include "sweep.h"

// ---- The reference ----------------------------------------------------------------------------------

// Cells near an edge keep their values; an axis of one cell has no edge. The others may be off by what the sums of a
// star in T round.
template <typename T>
__global__ void wrong_kernel(const T *in, const T *out, size_t nx, size_t ny, size_t nz, int order,
                             unsigned long long *first)
{
    const float coefficients[3][5] = {
        {0.4f, 0.1f}, {0.4f, 0.07f, 0.03f}, {0.3f, 0.07f, 0.03f, 0.01f, 0.005f}};
    const float *const c = coefficients[order / 2];
    const size_t r = (size_t)order, cells = nx * ny * nz, steps[] = {1, nx, nx * ny};
    const double epsilon = 30 * (sizeof(T) == 4 ? 6e-8 : 1.2e-16);
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < cells;
         i += (size_t)gridDim.x * blockDim.x) {
        const size_t x = i % nx, y = i / nx % ny, z = i / nx / ny;
        const size_t places[] = {x, y, z}, extents[] = {nx, ny, nz};
        double wanted = in[i], magnitude = 0;
        bool kept = false;
        for (int axis = 0; axis < 3; axis++)
            kept |= extents[axis] > 1 && (places[axis] < r || places[axis] + r >= extents[axis]);
        if (!kept) {
            wanted *= c[0];
            magnitude = fabs(wanted);
            for (int d = 1; d <= order; d++)
                for (int axis = 0; axis < 3; axis++) {
                    const size_t step = extents[axis] > 1 ? steps[axis] * d : 0;
                    for (const T other : {in[i - step], in[i + step]}) {
                        wanted += (double)c[d] * other;
                        magnitude += fabs((double)c[d] * other);
                    }
                }
        }
        if (!(fabs((double)out[i] - wanted) <= epsilon * magnitude))
            atomicMin(first, (unsigned long long)i);
    }
}

// What `steps` steps leave, by single ones.
template <typename T>
static std::shared_ptr<void> after_steps(const T *in, size_t nx, size_t ny, size_t nz,
                                         const rung<T> &single, int steps)
{
    std::shared_ptr<void> now;
    for (int step = 0; step < steps; step++) {
        const std::shared_ptr<void> next = bench_alloc(nx * ny * nz * sizeof(T));
        BENCH_CHECK(single.launch(step == 0 ? in : (const T *)now.get(), (T *)next.get(), nx, ny,
                                  nz, nx, nx * ny, 0));
        BENCH_CHECK(cudaDeviceSynchronize());
        now = next;
    }
    return now;
}

// ---- Contests -------------------------------------------------------------------------------------

template <typename T>
static void contest(bench &b, const char *type, size_t nx, size_t ny, size_t nz, int order,
                    const std::vector<rung<T>> &list)
{
    const size_t cells = nx * ny * nz, bytes = cells * sizeof(T);
    bench_contest contest("stencil", type, cells);
    contest.data = std::to_string(nx) + " x " + std::to_string(ny) + " x " + std::to_string(nz) +
                   " of order " + std::to_string(order);
    if (!b.fits(2.0 * (double)bytes, contest.data.c_str()))
        return;
    const std::shared_ptr<void> from = bench_alloc(bytes), to = bench_alloc(bytes);
    T *const in = (T *)from.get(), *const out = (T *)to.get();
    bench_fill(in, cells, 1);
    const bench_entry copied =
        bench_copy({{out, in, bytes}}, [=] { BENCH_CHECK(cudaMemset(out, 0xff, bytes)); });
    contest.entries.push_back(copied);
    const rung<T> single =
        *std::find_if(bench_rungs<rung<T>>().begin(), bench_rungs<rung<T>>().end(),
                      [=](const rung<T> &r) { return r.order == order; });
    for (const rung<T> &r : list) {
        if (r.order != order)
            continue;
        bench_entry entry = copied;
        entry.kernel = r.kernel;
        entry.knobs = r.knobs;
        entry.work = (double)cells * r.steps;
        if (r.function)
            bench_occupancy(&entry, r.function, r.threads);
        const auto launch = r.launch;
        entry.launch = [=](cudaStream_t stream) {
            return launch(in, out, nx, ny, nz, nx, nx * ny, stream);
        };
        entry.check = [=](std::string *why) {
            const std::shared_ptr<void> before = after_steps(in, nx, ny, nz, single, r.steps - 1);
            const T *const last = r.steps > 1 ? (const T *)before.get() : in;
            return bench_all_right("cell", why, [=](unsigned long long *first) {
                wrong_kernel<<<2048, 256>>>(last, out, nx, ny, nz, order, first);
                BENCH_CHECK(cudaGetLastError());
            });
        };
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Stencils: the rungs of coarsen's ladder beside a device copy.", "Gcells/s", 28, 28});
    if (b.sweep) {
        contest(b, "float", 512, 512, 512, 1, bench_variants<rung<float>>());
        contest(b, "float", 640, 640, 640, 4, bench_variants<rung<float>>());
        return b.finish();
    }
    const std::vector<rung<float>> &floats = bench_rungs<rung<float>>();
    contest(b, "float", 512, 512, 512, 1, floats);
    contest(b, "float", 640, 640, 640, 1, floats);
    contest(b, "float", 511, 509, 513, 1, floats);
    contest(b, "float", 8192, 8192, 16, 1, floats);
    contest(b, "float", 640, 640, 640, 2, floats);
    contest(b, "float", 640, 640, 640, 4, floats);
    contest(b, "double", 512, 512, 512, 1, bench_rungs<rung<double>>());
    if (!b.quick) {
        contest(b, "float", 128, 128, 128, 1, floats);
        contest(b, "float", 257, 255, 300, 1, floats);
        contest(b, "float", 16384, 16384, 1, 1, floats);
        contest(b, "float", 100, 1000, 3000, 4, floats);
        contest(b, "double", 640, 640, 640, 4, bench_rungs<rung<double>>());
    }
    return b.finish();
}

#endif
