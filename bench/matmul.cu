// SPDX-License-Identifier: MIT
//
// bench/matmul.cu: products of square matrices of floats. Each rung of the ladder and matmul.h beside
// cublasSgemm, which must use 32-bit arithmetic. With --sweep: COARSE_FACTOR and block size of the
// coarsened rung.
//
// The file includes itself, once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#if SWEEP_BLOCK_DIM == 256 || SWEEP_BLOCK_DIM == 1024 // these are squares
#define COARSEN_NAME SWEEP_NAME(coarsened)
#define COARSEN_TYPE float
#if SWEEP_BLOCK_DIM == 256
#define TILE_WIDTH 16
#else
#define TILE_WIDTH 32
#endif
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/matmul/coarsened.h>
static const bool COARSEN_JOIN(SWEEP_NAME(coarsened), _added) = bench_add(
    bench_variants<rung>(),
    {"coarsened", SWEEP_KNOBS, 13, COARSEN_JOIN(SWEEP_NAME(coarsened), _launch),
     [](bench_entry *entry) {
         bench_occupancy(entry, COARSEN_JOIN(SWEEP_NAME(coarsened), _kernel), SWEEP_BLOCK_DIM);
     }});
#endif

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <cublas_v2.h>

#include <cmath>

#define COARSEN_NAME naive
#define COARSEN_TYPE float
#include <coarsen/matmul/naive.h>

#define COARSEN_NAME tiled
#define COARSEN_TYPE float
#include <coarsen/matmul/tiled.h>

#define COARSEN_NAME coarsened
#define COARSEN_TYPE float
#include <coarsen/matmul/coarsened.h>

#define COARSEN_NAME register_tiled
#define COARSEN_TYPE float
#include <coarsen/matmul/register_tiled.h>

#define COARSEN_NAME pipelined
#define COARSEN_TYPE float
#include <coarsen/matmul/pipelined.h>

#define COARSEN_NAME matmul
#define COARSEN_TYPE float
#include <coarsen/matmul.h>

struct rung {
    const char *kernel, *knobs;
    int max_exponent; // beyond, it takes too long
    cudaError_t (*launch)(size_t, size_t, size_t, float, const float *, size_t, const float *,
                          size_t, float, float *, size_t, cudaStream_t);
    void (*describe)(bench_entry *);
};

static const std::vector<rung> rungs = {
    {"naive", "", 12, naive_launch, nullptr},
    {"tiled", "", 12, tiled_launch, nullptr},
    {"coarsened", "", 12, coarsened_launch, nullptr},
    {"register_tiled", "", 13, register_tiled_launch, nullptr},
    {"pipelined", "", 14, pipelined_launch, nullptr},
    {"matmul.h", "", 14, matmul_launch, nullptr},
};

#define SWEEP_VARIANT "matmul.cu"
#include "sweep.h"

#define CUBLAS_CHECK(call) cublas_check((call), #call, __LINE__)

static void cublas_check(cublasStatus_t status, const char *call, int line)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "%s:%d: %s\n    failed: %s\n", __FILE__, line, call,
            cublasGetStatusString(status));
    exit(1);
}

// ---- the reference: P x = M (N x), in double; nothing that is timed takes part ----------------------

// y = A x; each block makes one element of y.
template <typename T> __global__ void times_kernel(const T *a, const double *x, double *y, size_t n)
{
    double sum = 0;
    for (size_t j = threadIdx.x; j < n; j += blockDim.x)
        sum += a[blockIdx.x * n + j] * x[j];
    atomicAdd(y + blockIdx.x, sum);
}

static std::shared_ptr<void> times(const float *a, const void *x, size_t n)
{
    std::shared_ptr<void> y = bench_zeroed(n * sizeof(double));
    times_kernel<<<(unsigned int)n, 256>>>(a, (const double *)x, (double *)y.get(), n);
    BENCH_CHECK(cudaGetLastError());
    BENCH_CHECK(cudaDeviceSynchronize());
    return y;
}

static std::vector<double> on_host(const void *y, size_t n)
{
    std::vector<double> host(n);
    BENCH_CHECK(cudaMemcpy(host.data(), y, n * sizeof(double), cudaMemcpyDeviceToHost));
    return host;
}

// ---- contests -------------------------------------------------------------------------------------

static void products(bench &b, const std::vector<rung> &list, const std::vector<int> &exponents)
{
    cublasHandle_t cublas;
    CUBLAS_CHECK(cublasCreate(&cublas));
    CUBLAS_CHECK(cublasSetMathMode(cublas, CUBLAS_PEDANTIC_MATH)); // no TF32, no split of a float

    for (int e : exponents) {
        const size_t n = (size_t)1 << e, bytes = n * n * sizeof(float);
        if (!b.fits(3.0 * (double)bytes, ("matmul, n = 2^" + std::to_string(e)).c_str()))
            continue;
        const std::shared_ptr<void> on_m = bench_alloc(bytes), on_n = bench_alloc(bytes),
                                    on_p = bench_alloc(bytes), x = bench_alloc(n * sizeof(double));
        float *const m = (float *)on_m.get(), *const nn = (float *)on_n.get(),
                     *const p = (float *)on_p.get();
        bench_fill(m, n * n, 1);
        bench_fill(nn, n * n, 2);
        bench_fill((double *)x.get(), n, 3);
        const std::vector<double> wanted =
            on_host(times(m, times(nn, x.get(), n).get(), n).get(), n);

        bench_contest contest("matmul", "float", n);
        contest.peer = "cuBLAS";
        bench_entry product; // what all entries share
        product.bytes = 3.0 * (double)bytes;
        product.work = 2.0 * (double)n * (double)n * (double)n;
        product.poison = [=] { BENCH_CHECK(cudaMemset(p, 0xff, bytes)); };
        product.check = [=](std::string *why) {
            // A sum of n random terms is about sqrt(n), and its roundings, 2^-25 of it each, add up to
            // about n 2^-26. For a row times x that is n sqrt(n) 2^-27. So a lost product shows up to
            // n = 2^12, and a lost tile always.
            const std::vector<double> got = on_host(times(p, x.get(), n).get(), n);
            for (size_t i = 0; i < n; i++)
                if (!(std::fabs(got[i] - wanted[i]) <=
                      (double)n * std::sqrt((double)n) * 0x1p-24)) {
                    *why = "row " + std::to_string(i) + " times x is " + std::to_string(got[i]) +
                           ", not " + std::to_string(wanted[i]);
                    return false;
                }
            return true;
        };

        bench_entry peer = product;
        peer.kernel = "cuBLAS";
        peer.launch = [=](cudaStream_t stream) {
            const float one = 1, zero = 0; // its matrices are column-major: P^T = N^T M^T
            const int size = (int)n;
            CUBLAS_CHECK(cublasSetStream(cublas, stream));
            CUBLAS_CHECK(cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, nn,
                                     size, m, size, &zero, p, size));
            return cudaSuccess;
        };
        contest.entries.push_back(peer);

        for (const rung &r : list) {
            if (e > r.max_exponent)
                continue;
            bench_entry entry = product;
            entry.kernel = r.kernel;
            entry.knobs = r.knobs;
            if (r.describe)
                r.describe(&entry);
            const auto launch = r.launch;
            entry.launch = [=](cudaStream_t stream) {
                return launch(n, n, n, 1, m, n, nn, n, 0, p, n, stream);
            };
            contest.entries.push_back(entry);
        }
        b.run(contest);
    }
    CUBLAS_CHECK(cublasDestroy(cublas));
}

int main(int argc, char **argv)
{
    bench b(
        argc, argv,
        {"Products of n x n matrices of floats: the rungs of coarsen's ladder beside cublasSgemm.",
         "GFLOP/s", 7, 14});
    if (b.sweep)
        products(b, bench_variants<rung>(), b.exponents(4));
    else
        products(b, rungs, b.exponents(1));
    return b.finish();
}

#endif
