// SPDX-License-Identifier: MIT
//
// bench/rows.cu: rows and columns of a matrix, each reduced to one value. segmented/rows.h beside
// cub::DeviceSegmentedReduce with segments of one size; segmented/columns.h, for which CUB has nothing; and
// reduce.h, which reads as many elements. With --sweep: every pair of knobs of both.
//
// The file includes itself once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME  SWEEP_NAME(rows)
#define COARSEN_TYPE  float
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/segmented/rows.h>
VARIANT(rows);

#define COARSEN_NAME  SWEEP_NAME(columns)
#define COARSEN_TYPE  float
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/segmented/columns.h>
VARIANT(columns);

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_segmented_reduce.cuh>

#include <cmath>

#define COARSEN_NAME f32_at
#define COARSEN_TYPE float
#include <coarsen/arg.h>

#define COARSEN_NAME reduce_sum
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

#define COARSEN_NAME rows_sum
#define COARSEN_TYPE float
#include <coarsen/segmented/rows.h>

#define COARSEN_NAME columns_sum
#define COARSEN_TYPE float
#include <coarsen/segmented/columns.h>

#define COARSEN_NAME     reduce_argmax
#define COARSEN_TYPE     float
#define COARSEN_ACC      f32_at
#define COARSEN_LIFT     f32_at_lift
#define COARSEN_OP       f32_at_max
#define COARSEN_IDENTITY f32_at_none()
#include <coarsen/reduce.h>

#define COARSEN_NAME     rows_argmax
#define COARSEN_TYPE     float
#define COARSEN_ACC      f32_at
#define COARSEN_LIFT     f32_at_lift
#define COARSEN_OP       f32_at_max
#define COARSEN_IDENTITY f32_at_none()
#include <coarsen/segmented/rows.h>

#define COARSEN_NAME     columns_argmax
#define COARSEN_TYPE     float
#define COARSEN_ACC      f32_at
#define COARSEN_LIFT     f32_at_lift
#define COARSEN_OP       f32_at_max
#define COARSEN_IDENTITY f32_at_none()
#include <coarsen/segmented/columns.h>

template <typename A> struct variant {
    std::string kernel, knobs;
    std::function<size_t(size_t, size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init;
    std::function<cudaError_t(const float *, size_t, A *, size_t, size_t, void *, size_t,
                              cudaStream_t)>
        launch;
};
#define HEADER(stem, name)                                                                         \
    {                                                                                              \
        name, "", stem##_scratch_bytes, stem##_scratch_init, stem##_launch                         \
    }

#define VARIANT(stem)                                                                              \
    static const bool COARSEN_JOIN(SWEEP_NAME(stem), _added) = bench_add(                          \
        bench_variants<variant<float>>(),                                                          \
        {#stem, SWEEP_KNOBS, COARSEN_JOIN(SWEEP_NAME(stem), _scratch_bytes),                       \
         COARSEN_JOIN(SWEEP_NAME(stem), _scratch_init), COARSEN_JOIN(SWEEP_NAME(stem), _launch)})

#define SWEEP_VARIANT "rows.cu"
#include "sweep.h"

// ---- the check: by one block per result, in double; nothing that is timed takes part ----------------------

struct wanted {
    double sum, magnitude;
    float greatest;
    unsigned long long index;
};

__global__ void reference(const float *in, size_t results, size_t count, size_t from_step,
                          size_t step, wanted *all)
{
    for (size_t k = blockIdx.x; k < results; k += gridDim.x) {
        __shared__ wanted part[32];
        wanted mine = {0, 0, -2, ~0ull};
        for (size_t i = threadIdx.x; i < count; i += 32) {
            const float x = in[k * from_step + i * step];
            mine.sum += x;
            mine.magnitude += fabs(x);
            if (x > mine.greatest)
                mine.greatest = x, mine.index = i;
        }
        part[threadIdx.x] = mine;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int t = 1; t < 32; t++) {
                mine.sum += part[t].sum;
                mine.magnitude += part[t].magnitude;
                if (part[t].greatest > mine.greatest ||
                    (part[t].greatest == mine.greatest && part[t].index < mine.index))
                    mine.greatest = part[t].greatest, mine.index = part[t].index;
            }
            all[k] = mine;
        }
        __syncthreads();
    }
}

__device__ static bool right(float got, wanted w)
{
    return fabs(got - w.sum) <= 64 * 0x1p-24 * (w.magnitude + 1);
}
__device__ static bool right(f32_at got, wanted w)
{
    return got.value == w.greatest && got.index == w.index;
}
__device__ static bool right(cuda::std::pair<int, float> got, wanted w)
{
    return got.second == w.greatest && (unsigned long long)got.first == w.index;
}

template <typename A>
__global__ void compare(const A *out, size_t results, const wanted *all, unsigned long long *wrong)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x; k < results; k += stride)
        if (!right(out[k], all[k]))
            atomicMin(wrong, (unsigned long long)k);
}

// ---- contests -------------------------------------------------------------------------------------

struct matrix {
    size_t rows, width;
};

static std::string count_of(size_t n)
{
    for (int e = 30; e >= 10; e -= 10)
        if (n % ((size_t)1 << e) == 0)
            return std::to_string(n >> e) + " KMG"[e / 10];
    return std::to_string(n);
}

template <typename A>
static bench_entry entry_of(const std::string &kernel, A *out, size_t results, double bytes,
                            std::shared_ptr<void> all)
{
    bench_entry entry;
    entry.kernel = kernel;
    entry.bytes = bytes;
    entry.poison = [=] { BENCH_CHECK(cudaMemset(out, 0x7f, results * sizeof(A))); };
    entry.check = [=](std::string *why) {
        return bench_all_right("result", why, [&](unsigned long long *wrong) {
            compare<<<1024, 256>>>((const A *)out, results, (const wanted *)all.get(), wrong);
        });
    };
    return entry;
}

// CUB's, of rows that follow each other: a sum, or the greatest with its index as an int.
static cudaError_t cub_rows(void *scratch, size_t &bytes, const float *in, float *out, size_t rows,
                            size_t width, cudaStream_t stream)
{
    return cub::DeviceSegmentedReduce::Sum(scratch, bytes, in, out, (cuda::std::int64_t)rows,
                                           (int)width, stream);
}
static cudaError_t cub_rows(void *scratch, size_t &bytes, const float *in,
                            cuda::std::pair<int, float> *out, size_t rows, size_t width,
                            cudaStream_t stream)
{
    return cub::DeviceSegmentedReduce::ArgMax(scratch, bytes, in, out, (cuda::std::int64_t)rows,
                                              (int)width, stream);
}

// C: the type of CUB's result. A rate is of the elements read and the results written.
template <typename A, typename C>
static void reductions(bench &b, const char *type, bool columns, matrix m,
                       const std::vector<variant<A>> &list, const variant<A> &whole)
{
    const size_t n = m.rows * m.width, results = columns ? m.width : m.rows;
    const std::string shape = count_of(m.rows) + " x " + count_of(m.width);
    const std::string pattern = columns ? "columns" : "rows";
    if (!b.fits(4.1 * (double)n + (double)results * (sizeof(A) + sizeof(wanted)), shape.c_str()))
        return;
    const std::shared_ptr<void> input = bench_alloc(n * 4),
                                all = bench_alloc(results * sizeof(wanted));
    const std::shared_ptr<void> output = bench_alloc(results * sizeof(A));
    const float *const in = (const float *)input.get();
    A *const out = (A *)output.get();
    bench_fill((float *)input.get(), n, 1);
    reference<<<65536, 32>>>(in, results, columns ? m.rows : m.width, columns ? 1 : m.width,
                             columns ? m.width : 1, (wanted *)all.get());
    BENCH_CHECK(cudaGetLastError());
    BENCH_CHECK(cudaDeviceSynchronize());

    bench_contest contest(pattern, type, n);
    contest.data = shape;
    contest.copy = "reduce.h";
    contest.peer = columns ? "reduce.h" : "CUB";
    const double bytes = 4.0 * (double)n + (double)results * sizeof(A);

    // reduce.h, of all elements: what is read at most.
    const std::shared_ptr<void> one = bench_alloc(sizeof(A));
    const size_t whole_bytes = whole.scratch_bytes(1, n);
    const std::shared_ptr<void> whole_scratch = bench_zeroed(whole_bytes);
    bench_entry reduced;
    reduced.kernel = "reduce.h";
    reduced.bytes = 4.0 * (double)n;
    reduced.poison = [] {};
    reduced.check = [](std::string *) { return true; };
    reduced.launch = [=](cudaStream_t stream) {
        return whole.launch(in, n, (A *)one.get(), 1, n, whole_scratch.get(), whole_bytes, stream);
    };
    contest.entries.push_back(reduced);

    std::shared_ptr<void> cub_scratch, cub_output;
    if (!columns && m.width <= 0x7fffffff) {
        cub_output = bench_alloc(results * sizeof(C));
        C *const cub_out = (C *)cub_output.get();
        size_t cub_bytes = 0;
        BENCH_CHECK(cub_rows(nullptr, cub_bytes, in, cub_out, m.rows, m.width, 0));
        cub_scratch = bench_alloc(cub_bytes);
        bench_entry cub = entry_of<C>("CUB", cub_out, results,
                                      4.0 * (double)n + (double)results * sizeof(C), all);
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return cub_rows(cub_scratch.get(), bytes, in, cub_out, m.rows, m.width, stream);
        };
        contest.entries.push_back(cub);
    }

    for (const variant<A> &v : list) {
        if (v.kernel.compare(0, pattern.size(), pattern) != 0)
            continue;
        const size_t scratch_bytes = v.scratch_bytes(m.rows, m.width);
        const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
        BENCH_CHECK(v.scratch_init(scratch.get(), scratch_bytes, 0));
        bench_entry entry = entry_of<A>(v.kernel, out, results, bytes, all);
        entry.knobs = v.knobs;
        entry.launch = [=](cudaStream_t stream) {
            return v.launch(in, m.width, out, m.rows, m.width, scratch.get(), scratch_bytes,
                            stream);
        };
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Rows and columns of a matrix, each reduced: beside CUB's segments of one size and "
             "coarsen's reduce.h.",
             "", 10, 30});
    const size_t K = 1 << 10, M = 1 << 20;
    const std::vector<matrix> wide = {
        {16 * M, 16},   {M, 256},         {64 * K, 4 * K}, {4, 64 * M},    {80 * M, 3},
        {15 * M, 17},   {M, 255},         {256 * K, 1000}, {64 * K, 4097}, {2 * M, 128},
        {512 * K, 512}, {128 * K, 2 * K}, {1100, 240000},  {256 * M, 1},   {36 * M, 7}};
    const std::vector<matrix> tall = {{64 * K, 4 * K}, {4 * K, 64 * K}, {16 * M, 16},
                                      {80 * M, 3},     {15 * M, 17},    {M, 255},
                                      {256 * K, 1000}, {64 * K, 4097},  {4 * M, 64}};
    const std::vector<variant<float>> sums = {HEADER(rows_sum, "rows.h"),
                                              HEADER(columns_sum, "columns.h")};
    const std::vector<variant<f32_at>> argmaxes = {HEADER(rows_argmax, "rows.h"),
                                                   HEADER(columns_argmax, "columns.h")};
    const auto whole = [](size_t, size_t n) { return reduce_sum_scratch_bytes(n); };
    const variant<float> sum = {
        "", "", whole, reduce_sum_scratch_init,
        [](const float *in, size_t, float *out, size_t, size_t n, void *scratch, size_t bytes,
           cudaStream_t stream) { return reduce_sum_launch(in, out, n, scratch, bytes, stream); }};
    const auto whole_argmax = [](size_t, size_t n) { return reduce_argmax_scratch_bytes(n); };
    const variant<f32_at> argmax = {"", "", whole_argmax, reduce_argmax_scratch_init,
                                    [](const float *in, size_t, f32_at *out, size_t, size_t n,
                                       void *scratch, size_t bytes, cudaStream_t stream) {
                                        return reduce_argmax_launch(in, out, n, scratch, bytes,
                                                                    stream);
                                    }};

    for (matrix m : wide)
        reductions<float, float>(b, "float", false, m,
                                 b.sweep ? bench_variants<variant<float>>() : sums, sum);
    for (matrix m : tall)
        reductions<float, float>(b, "float", true, m,
                                 b.sweep ? bench_variants<variant<float>>() : sums, sum);
    if (!b.sweep) {
        for (matrix m : wide)
            reductions<f32_at, cuda::std::pair<int, float>>(b, "argmax", false, m, argmaxes,
                                                            argmax);
        for (matrix m : tall)
            reductions<f32_at, cuda::std::pair<int, float>>(b, "argmax", true, m, argmaxes, argmax);
    }
    return b.finish();
}

#endif
