// SPDX-License-Identifier: MIT
//
// bench/scan.cu: running sums. scan.h and the rungs below it beside cub::DeviceScan::InclusiveSum and a
// device copy; and scan.h with a look-back whose tree is not always the same (first_come.h). With --sweep: every pair of knobs of scan.h.
//
// The file includes itself, once for each type and once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME  SWEEP_NAME(scan)
#define COARSEN_TYPE  float
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/scan.h>
VARIANT(scan);

// ---- the rungs of one type ----

#elif defined(SCAN_TYPE)

#ifdef SCAN_LADDER
#define COARSEN_NAME COARSEN_JOIN(kogge_stone_, SCAN_NAME)
#define COARSEN_TYPE SCAN_TYPE
#include <coarsen/scan/kogge_stone.h>
RUNG(kogge_stone, "kogge_stone", 20);

#define COARSEN_NAME COARSEN_JOIN(brent_kung_, SCAN_NAME)
#define COARSEN_TYPE SCAN_TYPE
#include <coarsen/scan/brent_kung.h>
RUNG(brent_kung, "brent_kung", 20);

#define COARSEN_NAME COARSEN_JOIN(coarsened_, SCAN_NAME)
#define COARSEN_TYPE SCAN_TYPE
#include <coarsen/scan/coarsened.h>
RUNG(coarsened, "coarsened", 20);

#define COARSEN_NAME COARSEN_JOIN(three_kernel_, SCAN_NAME)
#define COARSEN_TYPE SCAN_TYPE
#include <coarsen/scan/three_kernel.h>
RUNG(three_kernel, "three_kernel", 40);

#define COARSEN_NAME COARSEN_JOIN(chained_, SCAN_NAME)
#define COARSEN_TYPE SCAN_TYPE
#include <coarsen/scan/chained.h>
RUNG(chained, "chained",
     28); // one after the other: beyond, rounding alone is more than the check allows

#define COARSEN_NAME COARSEN_JOIN(first_come_, SCAN_NAME)
#define COARSEN_TYPE SCAN_TYPE
#include "first_come.h"
RUNG(first_come, "first come", 40);
#undef SCAN_LADDER
#endif

#define COARSEN_NAME COARSEN_JOIN(scan_, SCAN_NAME)
#define COARSEN_TYPE SCAN_TYPE
#define COARSEN_ACC  SCAN_TYPE
#include <coarsen/scan.h>
RUNG(scan, "scan.h", 40);

#undef SCAN_TYPE
#undef SCAN_NAME

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_scan.cuh>
#include <cuda_fp16.h>

#include <cmath>

// A sum of many would not fit a half: mostly zeros.
template <> struct bench_value<__half> {
    __host__ __device__ static __half of(uint64_t bits)
    {
        return __float2half(bits >> 44 ? 0.0f : bits & 1 ? 1.0f : -1.0f);
    }
};

template <typename T> struct rung {
    const char *kernel, *knobs;
    int max_exponent; // beyond, one block takes too long
    std::function<size_t(size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init;
    std::function<cudaError_t(const T *, T *, size_t, void *, size_t, cudaStream_t)> launch;
};

#define RUNG(stem, kernel, max_exponent)                                                           \
    static const bool COARSEN_JOIN(COARSEN_JOIN(stem##_, SCAN_NAME), _added) = bench_add(          \
        bench_rungs<rung<SCAN_TYPE>>(),                                                            \
        {kernel, "", max_exponent, COARSEN_JOIN(COARSEN_JOIN(stem##_, SCAN_NAME), _scratch_bytes), \
         COARSEN_JOIN(COARSEN_JOIN(stem##_, SCAN_NAME), _scratch_init),                            \
         COARSEN_JOIN(COARSEN_JOIN(stem##_, SCAN_NAME), _launch)})

#define VARIANT(stem)                                                                              \
    static const bool COARSEN_JOIN(SWEEP_NAME(stem), _added) = bench_add(                          \
        bench_variants<rung<float>>(),                                                             \
        {#stem, SWEEP_KNOBS, 40, COARSEN_JOIN(SWEEP_NAME(stem), _scratch_bytes),                   \
         COARSEN_JOIN(SWEEP_NAME(stem), _scratch_init), COARSEN_JOIN(SWEEP_NAME(stem), _launch)})

#define SCAN_TYPE float
#define SCAN_NAME f32
#define SCAN_LADDER
#include "scan.cu"
#define SCAN_TYPE int
#define SCAN_NAME i32
#define SCAN_LADDER
#include "scan.cu"
#define SCAN_TYPE signed char
#define SCAN_NAME i8
#include "scan.cu"
#define SCAN_TYPE short
#define SCAN_NAME i16
#include "scan.cu"
#define SCAN_TYPE __half
#define SCAN_NAME f16
#include "scan.cu"
#define SCAN_TYPE long long
#define SCAN_NAME i64
#include "scan.cu"
#define SCAN_TYPE double
#define SCAN_NAME f64
#include "scan.cu"

#define SWEEP_VARIANT "scan.cu"
#include "sweep.h"

// ---- the check: in double or 64 bits; nothing that is timed takes part ----------------------------------

enum { RUN = 1 << 12 }; // elements that one thread of the check walks

template <typename T> struct wide {
    typedef long long type;
};
template <> struct wide<float> {
    typedef double type;
};
template <> struct wide<double> {
    typedef double type;
};
template <> struct wide<__half> {
    typedef double type;
};

template <typename T> __global__ void run_sums(const T *in, size_t n, typename wide<T>::type *sums)
{
    const size_t run = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    typename wide<T>::type sum = 0;
    for (size_t i = run * RUN; i < n && i < (run + 1) * RUN; i++)
        sum += (typename wide<T>::type)in[i];
    if (run * RUN < n)
        sums[run] = sum;
}

// An integer must be equal, a floating-point number near: rounding errors add up at random.
template <typename T> __device__ static bool right(T got, long long wanted, double)
{
    return got == (T)wanted;
}
__device__ static bool right(float got, double wanted, double bound)
{
    return fabs(got - wanted) <= bound * 0x1p-24;
}
__device__ static bool right(double got, double wanted, double bound)
{
    return fabs(got - wanted) <= bound * 0x1p-45;
}
__device__ static bool right(__half got, double wanted, double)
{
    return (double)__half2float(got) == wanted;
}

template <typename T>
__global__ void check_runs(const T *in, const T *out, size_t n,
                           const typename wide<T>::type *before, unsigned long long *first_wrong)
{
    const size_t run = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (run * RUN >= n)
        return;
    typename wide<T>::type sum = before[run];
    for (size_t i = run * RUN; i < n && i < (run + 1) * RUN; i++) {
        sum += (typename wide<T>::type)in[i];
        if (!right(out[i], sum, 256 + 64 * sqrt((double)i))) {
            atomicMin(first_wrong, (unsigned long long)i);
            return;
        }
    }
}

// What is before each run.
template <typename T> static std::shared_ptr<void> reference(const T *in, size_t n)
{
    typedef typename wide<T>::type W;
    const size_t runs = (n + RUN - 1) / RUN;
    std::shared_ptr<void> sums = bench_alloc(runs * sizeof(W));
    run_sums<<<(unsigned int)((runs + 127) / 128), 128>>>(in, n, (W *)sums.get());
    BENCH_CHECK(cudaGetLastError());
    std::vector<W> host(runs);
    BENCH_CHECK(cudaMemcpy(host.data(), sums.get(), runs * sizeof(W), cudaMemcpyDeviceToHost));
    W sum = 0;
    for (W &x : host) {
        const W mine = x;
        x = sum;
        sum = (W)(sum + mine);
    }
    BENCH_CHECK(cudaMemcpy(sums.get(), host.data(), runs * sizeof(W), cudaMemcpyHostToDevice));
    return sums;
}

// ---- contests -------------------------------------------------------------------------------------

template <typename T>
static void scans(bench &b, const char *type, const std::vector<rung<T>> &list,
                  const std::vector<int> &exponents)
{
    std::vector<int> sizes;
    for (int e : exponents)
        if (b.fits(2.1 * sizeof(T) * (double)(1ull << e),
                   ("scan, " + std::string(type) + ", n = 2^" + std::to_string(e)).c_str()))
            sizes.push_back(e);
    if (sizes.empty())
        return;
    const size_t most = (size_t)sizeof(T) << sizes.back();
    const std::shared_ptr<void> input = bench_alloc(most), output = bench_alloc(most);
    T *const in = (T *)input.get(), *const out = (T *)output.get();
    bench_fill(in, most / sizeof(T), 1);

    for (int e : sizes) {
        const size_t n = (size_t)1 << e;
        const std::shared_ptr<void> before = reference(in, n);
        bench_contest contest("scan", type, n);

        bench_entry scan; // what all entries except the copy share
        scan.bytes = 2.0 * n * sizeof(T);
        scan.poison = [=] { BENCH_CHECK(cudaMemset(out, 0x7f, n * sizeof(T))); };
        scan.check = [=](std::string *why) {
            return bench_all_right("element", why, [&](unsigned long long *wrong) {
                check_runs<<<(unsigned int)((n + 128 * RUN - 1) / (128 * RUN)), 128>>>(
                    in, out, n, (const typename wide<T>::type *)before.get(), wrong);
            });
        };

        contest.entries.push_back(bench_copy({{out, in, n * sizeof(T)}}, scan.poison));

        // 32-bit sizes, with which CUB is faster. Its scratch is made outside the timing.
        size_t cub_bytes = 0;
        BENCH_CHECK(cub::DeviceScan::InclusiveSum(nullptr, cub_bytes, (const T *)in, out, (int)n));
        const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
        bench_entry cub = scan;
        cub.kernel = "CUB";
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return cub::DeviceScan::InclusiveSum(cub_scratch.get(), bytes, (const T *)in, out,
                                                 (int)n, stream);
        };
        contest.entries.push_back(cub);

        for (const rung<T> &r : list) {
            if (e > r.max_exponent)
                continue;
            const size_t scratch_bytes = r.scratch_bytes(n);
            const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
            BENCH_CHECK(r.scratch_init(scratch.get(), scratch_bytes, 0));
            bench_entry entry = scan;
            entry.kernel = r.kernel;
            entry.knobs = r.knobs;
            entry.launch = [=](cudaStream_t stream) {
                return r.launch(in, out, n, scratch.get(), scratch_bytes, stream);
            };
            contest.entries.push_back(entry);
        }
        b.run(contest);
    }
}

int main(int argc, char **argv)
{
    bench b(
        argc, argv,
        {"Running sums: the rungs of coarsen's scan beside CUB's and a device copy.", "", 10, 30});
    if (b.sweep) {
        scans(b, "float", bench_variants<rung<float>>(), b.exponents(4));
    } else {
        scans(b, "float", bench_rungs<rung<float>>(), b.exponents(2));
        scans(b, "int", bench_rungs<rung<int>>(), b.exponents(2));
        scans(b, "char", bench_rungs<rung<signed char>>(), b.exponents(4));
        scans(b, "short", bench_rungs<rung<short>>(), b.exponents(4));
        scans(b, "half", bench_rungs<rung<__half>>(), b.exponents(4));
        scans(b, "int64", bench_rungs<rung<long long>>(), b.exponents(4));
        scans(b, "double", bench_rungs<rung<double>>(), b.exponents(4));
    }
    return b.finish();
}

#endif
