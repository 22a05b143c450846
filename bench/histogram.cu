// SPDX-License-Identifier: MIT
//
// bench/histogram.cu: the rungs of the histogram ladder and histogram.h beside
// cub::DeviceHistogram::HistogramEven and a device copy. With --sweep: every pair of knobs of the rungs
// that have a CFACTOR.
// Then counted launches, views and weights beside a plain launch of as much.
//
// The file includes itself, once for each pair of knobs and once for each problem.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME SWEEP_NAME(contiguous)
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    SWEEP_BLOCK_DIM
#define CFACTOR      SWEEP_COARSE_FACTOR
#include <coarsen/histogram/contiguous.h>
VARIANT(contiguous, 0);

#define COARSEN_NAME SWEEP_NAME(interleaved)
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    SWEEP_BLOCK_DIM
#define CFACTOR      SWEEP_COARSE_FACTOR
#include <coarsen/histogram/interleaved.h>
VARIANT(interleaved, 0);

#define COARSEN_NAME SWEEP_NAME(vectorized)
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    SWEEP_BLOCK_DIM
#define CFACTOR      SWEEP_COARSE_FACTOR
#include <coarsen/histogram/vectorized.h>
VARIANT(vectorized, 0);

#define COARSEN_NAME SWEEP_NAME(aggregated)
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    SWEEP_BLOCK_DIM
#define CFACTOR      SWEEP_COARSE_FACTOR
#include <coarsen/histogram/aggregated.h>
VARIANT(aggregated, 0);

#define COARSEN_NAME SWEEP_NAME(per_lane)
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    SWEEP_BLOCK_DIM
#define CFACTOR      SWEEP_COARSE_FACTOR
#include <coarsen/histogram/per_lane.h>
VARIANT(per_lane, SWEEP_BLOCK_DIM >= 512 ? 32768 : SWEEP_BLOCK_DIM * 64);

#elif defined(                                                                                     \
    PROBLEM) // ---- one problem: PROBLEM_TYPE, PROBLEM_BINS, PROBLEM_BIN(x) --------------

#define PROBLEM_NAME(stem) COARSEN_JOIN(COARSEN_JOIN(PROBLEM, _), stem)

#define COARSEN_NAME       PROBLEM_NAME(basic)
#define COARSEN_TYPE       PROBLEM_TYPE
#define NUM_BINS           PROBLEM_BINS
#define COARSEN_BIN        PROBLEM_BIN
#include <coarsen/histogram/basic.h>
RUNG(basic, "basic", 24);

#define COARSEN_NAME PROBLEM_NAME(private_global)
#define COARSEN_TYPE PROBLEM_TYPE
#define NUM_BINS     PROBLEM_BINS
#define COARSEN_BIN  PROBLEM_BIN
#include <coarsen/histogram/private_global.h>
RUNG_SCRATCH(private_global, "private_global", 24);

#if PROBLEM_BINS <= 12288
#define COARSEN_NAME PROBLEM_NAME(private_shared)
#define COARSEN_TYPE PROBLEM_TYPE
#define NUM_BINS     PROBLEM_BINS
#define COARSEN_BIN  PROBLEM_BIN
#include <coarsen/histogram/private_shared.h>
RUNG(private_shared, "private_shared", 26);

#define COARSEN_NAME PROBLEM_NAME(contiguous)
#define COARSEN_TYPE PROBLEM_TYPE
#define NUM_BINS     PROBLEM_BINS
#define COARSEN_BIN  PROBLEM_BIN
#include <coarsen/histogram/contiguous.h>
RUNG(contiguous, "contiguous", 40);

#define COARSEN_NAME PROBLEM_NAME(interleaved)
#define COARSEN_TYPE PROBLEM_TYPE
#define NUM_BINS     PROBLEM_BINS
#define COARSEN_BIN  PROBLEM_BIN
#include <coarsen/histogram/interleaved.h>
RUNG(interleaved, "interleaved", 40);

#define COARSEN_NAME PROBLEM_NAME(vectorized)
#define COARSEN_TYPE PROBLEM_TYPE
#define NUM_BINS     PROBLEM_BINS
#define COARSEN_BIN  PROBLEM_BIN
#include <coarsen/histogram/vectorized.h>
RUNG(vectorized, "vectorized", 40);

#define COARSEN_NAME PROBLEM_NAME(aggregated)
#define COARSEN_TYPE PROBLEM_TYPE
#define NUM_BINS     PROBLEM_BINS
#define COARSEN_BIN  PROBLEM_BIN
#include <coarsen/histogram/aggregated.h>
RUNG(aggregated, "aggregated", 40);
#endif

#define COARSEN_NAME PROBLEM_NAME(histogram)
#define COARSEN_TYPE PROBLEM_TYPE
#define NUM_BINS     PROBLEM_BINS
#define COARSEN_BIN  PROBLEM_BIN
#include <coarsen/histogram.h>
RUNG(histogram, "histogram.h", 40);

#if PROBLEM_BINS > 16384
#define COARSEN_NAME PROBLEM_NAME(partitioned)
#define COARSEN_TYPE PROBLEM_TYPE
#define NUM_BINS     PROBLEM_BINS
#define COARSEN_BIN  PROBLEM_BIN
#include <coarsen/histogram/partitioned.h>
RUNG_SCRATCH(partitioned, "partitioned", 40);
#endif

struct PROBLEM {
    typedef PROBLEM_TYPE type;
    enum { bins = PROBLEM_BINS };
    static __device__ long long bin(PROBLEM_TYPE x)
    {
        return PROBLEM_BIN(x);
    }
    static const std::vector<rung<PROBLEM_TYPE>> &rungs()
    {
        return PROBLEM_NAME(rungs);
    }
};

#undef PROBLEM_NAME
#undef PROBLEM
#undef PROBLEM_TYPE
#undef PROBLEM_BINS
#undef PROBLEM_BIN

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_histogram.cuh>

#include <climits>
#include <cmath>

template <typename T> struct rung {
    const char *kernel, *knobs;
    int max_exponent;                            // beyond, it takes too long or too much memory
    std::function<size_t(size_t)> scratch_bytes; // if it takes a scratch
    std::function<cudaError_t(const T *, unsigned int *, size_t, void *, size_t, cudaStream_t)>
        launch;
    std::function<void(bench_entry *)> describe;
};

// A launcher that takes no scratch, as one that does.
template <typename T>
static std::function<cudaError_t(const T *, unsigned int *, size_t, void *, size_t, cudaStream_t)>
no_scratch(cudaError_t (*launch)(const T *, unsigned int *, size_t, cudaStream_t))
{
    return [=](const T *in, unsigned int *counts, size_t n, void *, size_t, cudaStream_t stream) {
        return launch(in, counts, n, stream);
    };
}

static std::vector<rung<unsigned char>> variants;

#define RUNG(stem, kernel, max_exponent)                                                           \
    static const bool PROBLEM_NAME(COARSEN_JOIN(stem, _added)) =                                   \
        bench_add(PROBLEM_NAME(rungs),                                                             \
                  {kernel, "", max_exponent, nullptr,                                              \
                   no_scratch<PROBLEM_TYPE>(PROBLEM_NAME(COARSEN_JOIN(stem, _launch))), nullptr})

#define RUNG_SCRATCH(stem, kernel, max_exponent)                                                   \
    static const bool PROBLEM_NAME(COARSEN_JOIN(stem, _added)) =                                   \
        bench_add(PROBLEM_NAME(rungs),                                                             \
                  {kernel, "", max_exponent, PROBLEM_NAME(COARSEN_JOIN(stem, _scratch_bytes)),     \
                   PROBLEM_NAME(COARSEN_JOIN(stem, _launch)), nullptr})

#define VARIANT(stem, shared_bytes)                                                                \
    static const bool COARSEN_JOIN(SWEEP_NAME(stem), _added) =                                     \
        bench_add(bench_variants<rung<unsigned char>>(),                                           \
                  {#stem, SWEEP_KNOBS, 40, nullptr,                                                \
                   no_scratch<unsigned char>(COARSEN_JOIN(SWEEP_NAME(stem), _launch)),             \
                   [](bench_entry *entry) {                                                        \
                       bench_occupancy(entry, COARSEN_JOIN(SWEEP_NAME(stem), _kernel),             \
                                       SWEEP_BLOCK_DIM, shared_bytes);                             \
                   }})

static std::vector<rung<unsigned char>> bytes_256_rungs;
#define PROBLEM        bytes_256
#define PROBLEM_TYPE   unsigned char
#define PROBLEM_BINS   256
#define PROBLEM_BIN(x) (x)
#include "histogram.cu"

static std::vector<rung<int>> small_256_rungs, small_2048_rungs, small_16384_rungs,
    small_65536_rungs, small_1048576_rungs;
#define PROBLEM        small_256
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   256
#define PROBLEM_BIN(x) (x)
#include "histogram.cu"
#define PROBLEM        small_2048
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   2048
#define PROBLEM_BIN(x) (x)
#include "histogram.cu"
#define PROBLEM        small_16384
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   16384
#define PROBLEM_BIN(x) (x)
#include "histogram.cu"
#define PROBLEM        small_65536
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   65536
#define PROBLEM_BIN(x) (x)
#include "histogram.cu"

#define PROBLEM        small_1048576
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   1048576
#define PROBLEM_BIN(x) (x)
#include "histogram.cu"

static std::vector<rung<int>> full_256_rungs, full_2048_rungs, full_16384_rungs, full_65536_rungs;
#define PROBLEM        full_256
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   256
#define PROBLEM_BIN(x) (((x) >> 24) + 128)
#include "histogram.cu"
#define PROBLEM        full_2048
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   2048
#define PROBLEM_BIN(x) (((x) >> 21) + 1024)
#include "histogram.cu"
#define PROBLEM        full_16384
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   16384
#define PROBLEM_BIN(x) (((x) >> 18) + 8192)
#include "histogram.cu"
#define PROBLEM        full_65536
#define PROBLEM_TYPE   int
#define PROBLEM_BINS   65536
#define PROBLEM_BIN(x) (((x) >> 16) + 32768)
#include "histogram.cu"

static std::vector<rung<float>> floats_256_rungs, floats_2048_rungs;
#define PROBLEM        floats_256
#define PROBLEM_TYPE   float
#define PROBLEM_BINS   256
#define PROBLEM_BIN(x) ((x) >= 0 && (x) < 1 ? (int)((x)*256) : -1)
#include "histogram.cu"
#define PROBLEM        floats_2048
#define PROBLEM_TYPE   float
#define PROBLEM_BINS   2048
#define PROBLEM_BIN(x) ((x) >= 0 && (x) < 1 ? (int)((x)*2048) : -1)
#include "histogram.cu"

// n in device memory, views, and weights.
#define COARSEN_NAME    bytes
#define COARSEN_TYPE    unsigned char
#define NUM_BINS        256
#define COARSEN_COUNTED 1
#define COARSEN_VIEW    1
#include <coarsen/histogram.h>

#define BIN_OF_FLOAT(x)    ((x) >= 0 && (x) < 1 ? (int)((x)*256) : -1)
#define WEIGHT_OF_FLOAT(x) ((int)((x)*1024) + 1)

#define COARSEN_NAME       floats
#define COARSEN_TYPE       float
#define NUM_BINS           256
#define COARSEN_BIN        BIN_OF_FLOAT
#define COARSEN_VIEW       1
#include <coarsen/histogram.h>

#define COARSEN_NAME doubles
#define COARSEN_TYPE double
#define NUM_BINS     256
#define COARSEN_BIN  BIN_OF_FLOAT
#define COARSEN_VIEW 1
#include <coarsen/histogram.h>

#define COARSEN_NAME   weighed_int
#define COARSEN_TYPE   float
#define NUM_BINS       256
#define COARSEN_BIN    BIN_OF_FLOAT
#define COARSEN_COUNT  int
#define COARSEN_WEIGHT WEIGHT_OF_FLOAT
#include <coarsen/histogram.h>

#define COARSEN_NAME   weighed_float
#define COARSEN_TYPE   float
#define NUM_BINS       256
#define COARSEN_BIN    BIN_OF_FLOAT
#define COARSEN_COUNT  float
#define COARSEN_WEIGHT WEIGHT_OF_FLOAT
#include <coarsen/histogram.h>

#define COARSEN_NAME   weighed_double
#define COARSEN_TYPE   float
#define NUM_BINS       256
#define COARSEN_BIN    BIN_OF_FLOAT
#define COARSEN_COUNT  double
#define COARSEN_WEIGHT WEIGHT_OF_FLOAT
#include <coarsen/histogram.h>

#define COARSEN_NAME   weighed_u64
#define COARSEN_TYPE   float
#define NUM_BINS       256
#define COARSEN_BIN    BIN_OF_FLOAT
#define COARSEN_COUNT  unsigned long long
#define COARSEN_WEIGHT WEIGHT_OF_FLOAT
#include <coarsen/histogram.h>

#define SWEEP_VARIANT "histogram.cu"
#include "sweep.h"
#define SWEEP_BLOCK_DIM                                                                            \
    1024 // at a factor of 4 vectorized and aggregated spill registers, at 2 they don't
#define SWEEP_COARSE_FACTOR 3
#include "histogram.cu"
#undef SWEEP_COARSE_FACTOR
#undef SWEEP_BLOCK_DIM

// ---- data -----------------------------------------------------------------------------------------

enum data { UNIFORM, FULL, VALUES_16, ONE_VALUE, RUNS, TEXT, MULTIPLES, POWER_LAW };
static const char *const data_names[] = {"uniform",   "full range", "16 values",       "one value",
                                         "long runs", "text",       "multiples of 32", "power law"};

// The letters of English, about as often as they occur, from random bits.
__device__ static unsigned char letter(unsigned int random)
{
    const char *const letters =
        "                      eeeeeeeeeeeeeetttttttttaaaaaaaa"
        "ooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrrddddlllluuucccmmmwwffggyypp"
        "bvk,.\n";
    return letters[random % 128];
}

template <typename T>
__global__ void fill_kernel(T *out, size_t n, enum data data, unsigned int range, bool real)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const uint64_t bits = bench_random(5, data == RUNS ? i / 4001 : i);
        const uint32_t high = (uint32_t)(bits >> 32);
        const double even = (double)(bits >> 11) / ((uint64_t)1 << 53); // in [0, 1)
        if (real)
            out[i] = (T)((double)(high >> 8) / (1 << 24));
        else if (data == TEXT)
            out[i] = (T)letter(high);
        else
            out[i] = (T)(data == FULL        ? high
                         : data == VALUES_16 ? high % 16
                         : data == ONE_VALUE ? 77
                         : data == MULTIPLES ? high % range / 32 * 32
                         : data == POWER_LAW ? (uint32_t)(even * even * even * even * range)
                                             : high % range);
    }
}

// ---- the reference: one atomic per bin that a warp meets; nothing that is timed takes part ----------

template <typename Problem>
__global__ void reference_kernel(const typename Problem::type *in, size_t n, unsigned int *counts)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const long long bin = Problem::bin(in[i]);
        const unsigned int same = __match_any_sync(__activemask(), bin);
        if (bin >= 0 && bin < Problem::bins && threadIdx.x % 32 == (unsigned)__ffs(same) - 1)
            atomicAdd(counts + bin, __popc(same));
    }
}

// ---- contests -------------------------------------------------------------------------------------

// lower and upper: the range of CUB's even bins, which must be the same as the problem's bins.
template <typename Problem, typename Level>
static void histogram(bench &b, const char *type, enum data data, Level lower, Level upper,
                      const std::vector<int> &exponents,
                      const std::vector<rung<typename Problem::type>> &list = Problem::rungs())
{
    typedef typename Problem::type T;
    const size_t bins = Problem::bins;
    for (int e : exponents) {
        const size_t n = (size_t)1 << e;
        bench_contest contest("histogram", type, n);
        contest.data = std::string(data_names[data]) + " in " + std::to_string(bins) + " bins";
        if (!b.fits(2.0 * n * sizeof(T), contest.data.c_str()))
            continue;
        const std::shared_ptr<void> input = bench_alloc(n * sizeof(T));
        const std::shared_ptr<void> other = bench_alloc(n * sizeof(T));
        const std::shared_ptr<void> result = bench_alloc(bins * sizeof(unsigned int));
        T *const in = (T *)input.get(), *const copy = (T *)other.get();
        unsigned int *const counts = (unsigned int *)result.get();
        fill_kernel<<<1024, 256>>>(in, n, data, (unsigned int)bins, (T)0.5 != 0);
        BENCH_CHECK(cudaGetLastError());

        std::vector<unsigned int> wanted(bins);
        const auto exact = [=](const T *from, std::vector<unsigned int> *into) {
            const std::shared_ptr<void> reference = bench_zeroed(bins * sizeof(unsigned int));
            reference_kernel<Problem><<<1024, 256>>>(from, n, (unsigned int *)reference.get());
            BENCH_CHECK(cudaGetLastError());
            BENCH_CHECK(cudaMemcpy(into->data(), reference.get(), bins * sizeof(unsigned int),
                                   cudaMemcpyDeviceToHost));
        };
        exact(in, &wanted);
        const auto compare = [=](const std::vector<unsigned int> &got, std::string *why) {
            for (size_t bin = 0; bin < bins; bin++)
                if (got[bin] != wanted[bin]) {
                    *why = "bin " + std::to_string(bin) + " is " + std::to_string(got[bin]) +
                           ", not " + std::to_string(wanted[bin]);
                    return false;
                }
            return true;
        };

        bench_entry counted; // what all entries except the copy share
        counted.bytes = n * sizeof(T);
        counted.work = n;
        counted.poison = [=] {
            BENCH_CHECK(cudaMemset(counts, 0xa5, bins * sizeof(unsigned int)));
        };
        counted.check = [=](std::string *why) {
            std::vector<unsigned int> got(bins);
            BENCH_CHECK(cudaMemcpy(got.data(), counts, bins * sizeof(unsigned int),
                                   cudaMemcpyDeviceToHost));
            return compare(got, why);
        };

        bench_entry copied = bench_copy({{copy, in, n * sizeof(T)}}, [=] {
            BENCH_CHECK(cudaMemset(copy, 0xa5, n * sizeof(T)));
        });
        copied.check = [=](std::string *why) {
            std::vector<unsigned int> got(bins);
            exact(copy, &got);
            return compare(got, why);
        };
        contest.entries.push_back(copied);

        size_t cub_bytes = 0;
        BENCH_CHECK(cub::DeviceHistogram::HistogramEven(nullptr, cub_bytes, (const T *)in, counts,
                                                        (int)bins + 1, lower, upper, (int)n));
        const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
        bench_entry cub = counted;
        cub.kernel = "CUB";
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return cub::DeviceHistogram::HistogramEven(cub_scratch.get(), bytes, (const T *)in,
                                                       counts, (int)bins + 1, lower, upper, (int)n,
                                                       stream);
        };
        if (cub.launch(0) == cudaSuccess) // it may refuse so many bins
            contest.entries.push_back(cub);
        else
            contest.peer = "histogram.h";
        (void)cudaGetLastError();

        for (const rung<T> &r : list) {
            const size_t scratch_bytes = r.scratch_bytes ? r.scratch_bytes(n) : 0;
            if (e > r.max_exponent || scratch_bytes > (size_t)16 << 30)
                continue;
            const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
            bench_entry entry = counted;
            entry.kernel = r.kernel;
            entry.knobs = r.knobs;
            if (r.describe)
                r.describe(&entry);
            entry.launch = [=](cudaStream_t stream) {
                return r.launch(in, counts, n, scratch.get(), scratch_bytes, stream);
            };
            contest.entries.push_back(entry);
        }
        b.run(contest);
    }
}

// ---- counted on the device, views, weights ---------------------------------------------------------

__device__ static int bin_of(unsigned char x)
{
    return x;
}

__device__ static int bin_of(double x)
{
    return BIN_OF_FLOAT(x);
}

template <typename T>
__global__ void weighed_reference_kernel(const T *in, size_t pitch, size_t rows, size_t width,
                                         bool weighed, unsigned long long *counts)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows * width; i += stride) {
        const T x = in[i / width * pitch + i % width];
        const int bin = bin_of(x);
        const unsigned int same = __match_any_sync(__activemask(), bin);
        unsigned long long sum = 0;
        for (int lane = 0; lane < 32; lane++)
            if (same >> lane & 1)
                sum += __shfl_sync(same, weighed ? WEIGHT_OF_FLOAT(x) : 1, lane);
        if (bin >= 0 && threadIdx.x % 32 == (unsigned)__ffs(same) - 1)
            atomicAdd(counts + bin, sum);
    }
}

// Adds an entry whose counts are of type C. Integers are right to the last one, modulo what their type holds; floats to
// a ten thousandth, as many of them round.
template <typename C, typename T, typename Launch>
static void add_counts(bench_contest *contest, const char *kernel, const T *in, size_t pitch,
                       size_t rows, size_t width, bool weighed, void *counts, Launch launch)
{
    const std::shared_ptr<void> sums = bench_zeroed(256 * sizeof(unsigned long long));
    std::vector<unsigned long long> wanted(256);
    weighed_reference_kernel<<<1024, 256>>>(in, pitch, rows, width, weighed,
                                            (unsigned long long *)sums.get());
    BENCH_CHECK(cudaGetLastError());
    BENCH_CHECK(cudaMemcpy(wanted.data(), sums.get(), 256 * 8, cudaMemcpyDeviceToHost));
    bench_entry entry;
    entry.kernel = kernel;
    entry.bytes = rows * width * sizeof(T);
    entry.work = rows * width;
    entry.poison = [=] { BENCH_CHECK(cudaMemset(counts, 0xa5, 256 * sizeof(C))); };
    entry.check = [=](std::string *why) {
        std::vector<C> got(256);
        BENCH_CHECK(cudaMemcpy(got.data(), counts, 256 * sizeof(C), cudaMemcpyDeviceToHost));
        for (size_t bin = 0; bin < 256; bin++) {
            const bool right = (C)0.5 == 0 ? got[bin] == (C)wanted[bin]
                                           : std::fabs((double)got[bin] - (double)wanted[bin]) <=
                                                 1e-4 * (double)wanted[bin];
            if (!right) {
                *why = "bin " + std::to_string(bin) + " is " + std::to_string(got[bin]) + ", not " +
                       std::to_string(wanted[bin]);
                return false;
            }
        }
        return true;
    };
    entry.launch = launch;
    contest->entries.push_back(entry);
}

static void counted(bench &b, const std::vector<int> &exponents)
{
    for (int e : exponents) {
        const size_t n = (size_t)1 << e;
        if (e < 16 || !b.fits((double)n, "counted"))
            continue;
        const std::shared_ptr<void> input = bench_alloc(n), result = bench_alloc(256 * 4),
                                    number = bench_alloc(8);
        const unsigned char *const in = (unsigned char *)input.get();
        unsigned int *const to = (unsigned int *)result.get();
        const unsigned long long count = n, *const on_device = (unsigned long long *)number.get();
        BENCH_CHECK(cudaMemcpy(number.get(), &count, 8, cudaMemcpyHostToDevice));
        fill_kernel<<<1024, 256>>>((unsigned char *)input.get(), n, UNIFORM, 256, false);
        BENCH_CHECK(cudaGetLastError());
        bench_contest contest("counted", "bytes", n);
        contest.peer = contest.copy = "histogram.h";
        add_counts<unsigned int>(
            &contest, "histogram.h", in, n, 1, n, false, to,
            [=](cudaStream_t stream) { return bytes_launch(in, to, n, stream); });
        add_counts<unsigned int>(&contest, "n from the device", in, n, 1, n, false, to,
                                 [=](cudaStream_t stream) {
                                     return bytes_launch_counted(in, to, on_device, n, stream);
                                 });
        b.run(contest);
    }
}

// Rows of 2^26 elements in all, with what is between them: of a pitch of whole 16-byte vectors, and of one with which they
// begin anywhere.
template <typename T>
static void views(bench &b, const char *type,
                  cudaError_t (*view)(const T *, size_t, size_t, size_t, unsigned int *,
                                      cudaStream_t))
{
    const size_t total = (size_t)1 << 26, items = 16 / sizeof(T);
    if (!b.fits((double)total * sizeof(T), "views"))
        return;
    const std::shared_ptr<void> input = bench_alloc((total + 1) * sizeof(T)),
                                result = bench_alloc(256 * 4);
    unsigned int *const to = (unsigned int *)result.get();
    fill_kernel<<<1024, 256>>>((T *)input.get(), total + 1, UNIFORM, 256, (T)0.5 != 0);
    BENCH_CHECK(cudaGetLastError());
    for (size_t width : {7, 33, 64, 100, 256, 1000, 4096}) {
        const size_t whole = (width / items + 1) * items, any = width + 1 + width % 2;
        const size_t rows = total / (whole > any ? whole : any), n = rows * width;
        bench_contest contest("view", type, n);
        contest.data = "rows of " + std::to_string(width);
        contest.peer = contest.copy = "one array";
        const auto add = [&](const char *kernel, const T *in, size_t rows, size_t width,
                             size_t pitch) {
            add_counts<unsigned int>(
                &contest, kernel, in, pitch, rows, width, false, to,
                [=](cudaStream_t stream) { return view(in, pitch, rows, width, to, stream); });
        };
        const T *const in = (const T *)input.get();
        add("one array", in, 1, n, n);
        add("rows at boundaries", in, rows, width, whole);
        add("rows anywhere", in + 1, rows, width, any);
        b.run(contest);
    }
}

// One copy of the sums per block, as it is usually written.
__global__ void usual_kernel(const float *in, float *counts, size_t n)
{
    __shared__ float copy[256];
    if (threadIdx.x < 256)
        copy[threadIdx.x] = 0;
    __syncthreads();
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const int bin = BIN_OF_FLOAT(in[i]);
        if (bin >= 0)
            atomicAdd(copy + bin, (float)WEIGHT_OF_FLOAT(in[i]));
    }
    __syncthreads();
    if (threadIdx.x < 256)
        atomicAdd(counts + threadIdx.x, copy[threadIdx.x]);
}

static cudaError_t usual_launch(const float *in, float *counts, size_t n, cudaStream_t stream)
{
    const cudaError_t status = cudaMemsetAsync(counts, 0, 256 * sizeof(float), stream);
    if (status != cudaSuccess)
        return status;
    usual_kernel<<<264, 1024, 0, stream>>>(in, counts, n);
    return cudaGetLastError();
}

static void weights(bench &b, const std::vector<int> &exponents)
{
    for (int e : exponents)
        for (enum data data : {UNIFORM, ONE_VALUE, RUNS}) {
            const size_t n = (size_t)1 << e;
            if (e < 20 || !b.fits(n * 4.0, "weights"))
                continue;
            const std::shared_ptr<void> input = bench_alloc(n * sizeof(float)),
                                        result = bench_alloc(256 * 8);
            const float *const in = (float *)input.get();
            void *const to = result.get();
            if (data == ONE_VALUE) {
                const std::vector<float> same(n, 0.7f);
                BENCH_CHECK(cudaMemcpy(input.get(), same.data(), n * 4, cudaMemcpyHostToDevice));
            } else
                fill_kernel<<<1024, 256>>>((float *)input.get(), n, data, 256, true);
            BENCH_CHECK(cudaGetLastError());
            bench_contest contest("weights", "float", n);
            contest.data = data_names[data];
            contest.peer = contest.copy = "counts";
            add_counts<unsigned int>(&contest, "counts", in, n, 1, n, false, to,
                                     [=](cudaStream_t stream) {
                                         return floats_launch(in, (unsigned int *)to, n, stream);
                                     });
            add_counts<int>(&contest, "int", in, n, 1, n, true, to, [=](cudaStream_t stream) {
                return weighed_int_launch(in, (int *)to, n, stream);
            });
            add_counts<float>(&contest, "float", in, n, 1, n, true, to, [=](cudaStream_t stream) {
                return weighed_float_launch(in, (float *)to, n, stream);
            });
            add_counts<double>(&contest, "double", in, n, 1, n, true, to, [=](cudaStream_t stream) {
                return weighed_double_launch(in, (double *)to, n, stream);
            });
            add_counts<unsigned long long>(
                &contest, "unsigned long long", in, n, 1, n, true, to, [=](cudaStream_t stream) {
                    return weighed_u64_launch(in, (unsigned long long *)to, n, stream);
                });
            if (e < 24 || data == UNIFORM) // or it takes too long
                add_counts<float>(
                    &contest, "one copy per block, float", in, n, 1, n, true, to,
                    [=](cudaStream_t stream) { return usual_launch(in, (float *)to, n, stream); });
            b.run(contest);
        }
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Histograms: the rungs of coarsen's ladder beside CUB's HistogramEven and a copy.",
             "G/s", 20, 30});
    const std::vector<int> sizes = b.exponents(2);
    std::vector<int> words; // sizes of problems of 4-byte elements
    for (int e : sizes)
        if (e >= 24 && e <= 28)
            words.push_back(e);
    if (b.sweep) {
        histogram<bytes_256>(b, "bytes", UNIFORM, 0, 256, b.exponents(4),
                             bench_variants<rung<unsigned char>>());
        return b.finish();
    }
    for (enum data data : {UNIFORM, VALUES_16, ONE_VALUE, RUNS, TEXT})
        histogram<bytes_256>(b, "bytes", data, 0, 256, sizes);

    histogram<small_256>(b, "int", UNIFORM, 0, 256, words);
    histogram<small_2048>(b, "int", UNIFORM, 0, 2048, words);
    histogram<small_16384>(b, "int", UNIFORM, 0, 16384, words);
    histogram<small_65536>(b, "int", UNIFORM, 0, 65536, words);
    histogram<small_16384>(b, "int", MULTIPLES, 0, 16384, words);
    for (enum data data : {ONE_VALUE, RUNS}) {
        histogram<small_2048>(b, "int", data, 0, 2048, words);
        histogram<small_65536>(b, "int", data, 0, 65536, words);
    }
    for (enum data data : {UNIFORM, POWER_LAW, ONE_VALUE})
        histogram<small_1048576>(b, "int", data, 0, 1048576, words);
    const long long least = INT_MIN, past = INT_MAX + 1ll;
    histogram<full_256>(b, "int", FULL, least, past, words);
    histogram<full_2048>(b, "int", FULL, least, past, words);
    histogram<full_16384>(b, "int", FULL, least, past, words);
    histogram<full_65536>(b, "int", FULL, least, past, words);

    histogram<floats_256>(b, "float", UNIFORM, 0.0f, 1.0f, words);
    histogram<floats_2048>(b, "float", UNIFORM, 0.0f, 1.0f, words);
    counted(b, b.exponents(4));
    views<unsigned char>(b, "bytes", bytes_launch_view);
    views<float>(b, "float", floats_launch_view);
    views<double>(b, "double", doubles_launch_view);
    weights(b, b.exponents(4));
    return b.finish();
}

#endif
