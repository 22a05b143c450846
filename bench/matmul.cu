// SPDX-License-Identifier: MIT
//
// bench/matmul.cu: products of matrices of floats beside cublasSgemm, which must use 32-bit arithmetic. Each rung of
// the ladder and matmul.h for squares; matmul.h for other shapes, both storage orders and batches. Some of doubles,
// beside cublasDgemm, and of __half, beside cublasGemmEx, which adds up floats, too. With --sweep: COARSE_FACTOR and block
// size of the coarsened rung.
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
#include <cuda_fp16.h>

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

#define COARSEN_NAME matmul_tn
#define COARSEN_TYPE float
#define COARSEN_M_TRANSPOSED
#include <coarsen/matmul.h>

#define COARSEN_NAME matmul_nt
#define COARSEN_TYPE float
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul.h>

#define COARSEN_NAME matmul_tt
#define COARSEN_TYPE float
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul.h>

#define COARSEN_NAME pipelined_f64
#define COARSEN_TYPE double
#include <coarsen/matmul/pipelined.h>

#define COARSEN_NAME tensor
#define COARSEN_TYPE double
#include <coarsen/matmul/tensor.h>

#define COARSEN_NAME matmul_f64
#define COARSEN_TYPE double
#include <coarsen/matmul.h>

#define COARSEN_NAME tensor16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#include <coarsen/matmul/tensor16.h>

#define COARSEN_NAME   tensor16_64
#define COARSEN_TYPE   __half
#define COARSEN_ACC    float
#define BM             64
#define BN             64
#define TM             32
#define TN             32
#define COARSEN_STAGES 4
#include <coarsen/matmul/tensor16.h>

#define COARSEN_NAME warpgroup
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#include <coarsen/matmul/warpgroup.h>

#define COARSEN_NAME matmul_f16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#include <coarsen/matmul.h>

// A: the type of sums.
template <typename T, typename A = T> struct rung_of {
    const char *kernel, *knobs;
    int max_exponent; // beyond, it takes too long
    cudaError_t (*launch)(size_t, size_t, size_t, A, const T *, size_t, const T *, size_t, A, T *,
                          size_t, cudaStream_t);
    void (*describe)(bench_entry *);
};
typedef rung_of<float> rung;

// matmul.h, with the scratch that it asks for.
#define WITH_SCRATCH(name, T, A)                                                                   \
    static cudaError_t name##_with_scratch(size_t rows, size_t cols, size_t inner, A alpha,        \
                                           const T *m, size_t ldm, const T *n, size_t ldn, A beta, \
                                           T *p, size_t ldp, cudaStream_t stream)                  \
    {                                                                                              \
        static std::shared_ptr<void> scratch;                                                      \
        static size_t most = 0;                                                                    \
        const size_t bytes = name##_scratch_bytes(rows, cols, inner);                              \
        if (bytes > most) {                                                                        \
            scratch = bench_alloc(bytes);                                                          \
            most = bytes;                                                                          \
        }                                                                                          \
        return name##_launch(rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp,               \
                             scratch.get(), bytes, stream);                                        \
    }
WITH_SCRATCH(matmul, float, float)
WITH_SCRATCH(matmul_tn, float, float)
WITH_SCRATCH(matmul_nt, float, float)
WITH_SCRATCH(matmul_tt, float, float)
WITH_SCRATCH(matmul_f64, double, double)
WITH_SCRATCH(matmul_f16, __half, float)

static const std::vector<rung> rungs = {
    {"naive", "", 12, naive_launch, nullptr},
    {"tiled", "", 12, tiled_launch, nullptr},
    {"coarsened", "", 12, coarsened_launch, nullptr},
    {"register_tiled", "", 13, register_tiled_launch, nullptr},
    {"pipelined", "", 14, pipelined_launch, nullptr},
    {"matmul.h", "", 14, matmul_with_scratch, nullptr},
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

template <> struct bench_value<__half> {
    static __host__ __device__ __half of(uint64_t bits)
    {
        return __float2half(bench_value<float>::of(bits));
    }
};

static __device__ double as_double(double x)
{
    return x;
}

static __device__ double as_double(__half x)
{
    return __half2float(x);
}

// y = A x, of a matrix of so many columns; each block makes one element of y.
template <typename T>
__global__ void times_kernel(const T *a, const double *x, double *y, size_t cols, size_t row_step,
                             size_t col_step)
{
    double sum = 0;
    for (size_t j = threadIdx.x; j < cols; j += blockDim.x)
        sum += as_double(a[blockIdx.x * row_step + j * col_step]) * x[j];
    atomicAdd(y + blockIdx.x, sum);
}

template <typename T>
static std::shared_ptr<void> times(const T *a, const void *x, size_t rows, size_t cols,
                                   bool turned = false)
{
    std::shared_ptr<void> y = bench_zeroed(rows * sizeof(double));
    times_kernel<<<(unsigned int)rows, 256>>>(a, (const double *)x, (double *)y.get(), cols,
                                              turned ? 1 : cols, turned ? rows : 1);
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

struct shape {
    size_t rows, cols, inner;
    bool m_turned, n_turned; // stored column after column
};

// p = m n in column-major order, as cuBLAS has it.
static cublasStatus_t multiply(cublasHandle_t cublas, cublasOperation_t of_m,
                               cublasOperation_t of_n, int rows, int cols, int inner,
                               const float *m, int ldm, const float *n, int ldn, float *p)
{
    const float one = 1, zero = 0;
    return cublasSgemm(cublas, of_m, of_n, rows, cols, inner, &one, m, ldm, n, ldn, &zero, p, rows);
}

static cublasStatus_t multiply(cublasHandle_t cublas, cublasOperation_t of_m,
                               cublasOperation_t of_n, int rows, int cols, int inner,
                               const double *m, int ldm, const double *n, int ldn, double *p)
{
    const double one = 1, zero = 0;
    return cublasDgemm(cublas, of_m, of_n, rows, cols, inner, &one, m, ldm, n, ldn, &zero, p, rows);
}

// p = m n, of numbers of 16 bits, whose sums are floats.
static cublasStatus_t multiply(cublasHandle_t cublas, cublasOperation_t of_m,
                               cublasOperation_t of_n, int rows, int cols, int inner,
                               const __half *m, int ldm, const __half *n, int ldn, __half *p)
{
    const float one = 1, zero = 0;
    return cublasGemmEx(cublas, of_m, of_n, rows, cols, inner, &one, m, CUDA_R_16F, ldm, n,
                        CUDA_R_16F, ldn, &zero, p, CUDA_R_16F, rows, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
}

template <typename T, typename A>
static void product(bench &b, cublasHandle_t cublas, const std::vector<rung_of<T, A>> &list,
                    shape s, const std::string &data)
{
    const size_t rows = s.rows, cols = s.cols, inner = s.inner;
    const size_t ldm = s.m_turned ? rows : inner, ldn = s.n_turned ? inner : cols;
    const size_t bytes = rows * cols * sizeof(T);
    const double all = (double)(rows * inner + inner * cols + rows * cols) * sizeof(T);
    if (!b.fits(all, ("matmul, " + data).c_str()))
        return;
    const std::shared_ptr<void> on_m = bench_alloc(rows * inner * sizeof(T)),
                                on_n = bench_alloc(inner * cols * sizeof(T)),
                                on_p = bench_alloc(bytes), x = bench_alloc(cols * sizeof(double));
    T *const m = (T *)on_m.get(), *const nn = (T *)on_n.get(), *const p = (T *)on_p.get();
    bench_fill(m, rows * inner, 1);
    bench_fill(nn, inner * cols, 2);
    bench_fill((double *)x.get(), cols, 3);
    const std::vector<double> wanted = on_host(
        times(m, times(nn, x.get(), inner, cols, s.n_turned).get(), rows, inner, s.m_turned).get(),
        rows);

    // Roundings of a sum, in the last place of 1; those of a half at its end are many times as large.
    const double rounding = sizeof(T) == 8 ? 0x1p-51 : sizeof(T) == 4 ? 0x1p-24 : 0x1p-13;
    bench_contest contest("matmul",
                          sizeof(T) == 8   ? "double"
                          : sizeof(T) == 4 ? "float"
                                           : "__half",
                          rows);
    contest.data = data;
    contest.peer = "cuBLAS";
    bench_entry product; // what all entries share
    product.bytes = all;
    product.work = 2.0 * (double)rows * (double)cols * (double)inner;
    product.poison = [=] { BENCH_CHECK(cudaMemset(p, 0xff, bytes)); };
    product.check = [=](std::string *why) {
        // A sum of `inner` random terms is about sqrt(inner), and its roundings, 2^-25 of it each, add up to
        // about inner 2^-26. For a row times x that is inner sqrt(cols) 2^-27. So a lost product shows up to
        // 2^12 columns, and a lost tile always. Doubles have 29 bits more, and so has the reference, no more.
        const std::vector<double> got = on_host(times(p, x.get(), rows, cols).get(), rows);
        for (size_t i = 0; i < rows; i++)
            if (!(std::fabs(got[i] - wanted[i]) <=
                  (double)inner * std::sqrt((double)cols) * rounding)) {
                *why = "row " + std::to_string(i) + " times x is " + std::to_string(got[i]) +
                       ", not " + std::to_string(wanted[i]);
                return false;
            }
        return true;
    };

    bench_entry peer = product;
    peer.kernel = "cuBLAS";
    peer.launch = [=](cudaStream_t stream) {
        CUBLAS_CHECK(cublasSetStream(cublas, stream)); // its P^T is N^T M^T
        CUBLAS_CHECK(multiply(cublas, s.n_turned ? CUBLAS_OP_T : CUBLAS_OP_N,
                              s.m_turned ? CUBLAS_OP_T : CUBLAS_OP_N, (int)cols, (int)rows,
                              (int)inner, nn, (int)ldn, m, (int)ldm, p));
        return cudaSuccess;
    };
    contest.entries.push_back(peer);

    for (const rung_of<T, A> &r : list) {
        bench_entry entry = product;
        entry.kernel = r.kernel;
        entry.knobs = r.knobs;
        if (r.describe)
            r.describe(&entry);
        const auto launch = r.launch;
        entry.launch = [=](cudaStream_t stream) {
            return launch(rows, cols, inner, 1, m, ldm, nn, ldn, 0, p, cols, stream);
        };
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

static void squares(bench &b, cublasHandle_t cublas, const std::vector<rung> &list,
                    const std::vector<int> &exponents)
{
    for (int e : exponents) {
        const size_t n = (size_t)1 << e;
        std::vector<rung> some;
        for (const rung &r : list)
            if (e <= r.max_exponent)
                some.push_back(r);
        product<float, float>(b, cublas, some, {n, n, n, false, false}, "");
    }
}

static std::string name_of(const shape &s)
{
    return std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " +
           std::to_string(s.inner) + (s.m_turned ? " M transposed" : "") +
           (s.n_turned ? " N transposed" : "");
}

// Sizes that are no powers of two, few rows, few columns, and few of both; and both orders of storage.
static void shapes(bench &b, cublasHandle_t cublas)
{
    const shape list[] = {
        {1000, 1000, 1000, false, false}, {2047, 2047, 2047, false, false},
        {3000, 3000, 3000, false, false}, {4095, 4095, 4095, false, false},
        {16384, 64, 4096, false, false},  {100000, 100, 100, false, false},
        {64, 64, 1 << 20, false, false},  {256, 256, 65536, false, false},
        {1, 16384, 16384, false, false},  {8, 8192, 8192, false, false},
        {16384, 1, 16384, false, false},  {8192, 8, 8192, false, false},
        {4096, 4096, 4096, true, false},  {4096, 4096, 4096, false, true},
        {4096, 4096, 4096, true, true},   {2048, 2048, 2048, false, true},
        {4095, 4095, 4095, true, true},   {16, 4096, 4096, false, true},
        {32, 11008, 4096, false, true},   {24, 100000, 200, false, true},
    };
    for (const shape &s : list) {
        const rung turned = {"matmul.h", "", 14,
                             s.m_turned
                                 ? s.n_turned ? matmul_tt_with_scratch : matmul_tn_with_scratch
                                 : matmul_nt_with_scratch,
                             nullptr};
        if (s.m_turned || s.n_turned)
            product<float, float>(b, cublas, {turned}, s, name_of(s));
        else
            product<float, float>(b, cublas, {rungs[4], rungs[5]}, s, name_of(s));
    }
}

// Of doubles, where tensor cores multiply.
static void doubles(bench &b, cublasHandle_t cublas)
{
    const std::vector<rung_of<double>> list = {
        {"pipelined", "", 14, pipelined_f64_launch, nullptr},
        {"tensor", "", 14, tensor_launch, nullptr},
        {"matmul.h", "", 14, matmul_f64_with_scratch, nullptr},
    };
    const shape shapes[] = {
        {256, 256, 256, false, false},    {512, 512, 512, false, false},
        {1024, 1024, 1024, false, false}, {2048, 2048, 2048, false, false},
        {4096, 4096, 4096, false, false}, {8192, 8192, 8192, false, false},
        {1000, 1000, 1000, false, false}, {4095, 4097, 4093, false, false},
        {64, 64, 1 << 20, false, false},  {8192, 8, 8192, false, false},
    };
    for (const shape &s : shapes)
        product<double, double>(b, cublas, list, s, name_of(s));
}

// Of numbers of 16 bits.
static void halves(bench &b, cublasHandle_t cublas)
{
    const std::vector<rung_of<__half, float>> list = {
        {"tensor16", "", 14, tensor16_launch, nullptr},
        {"tensor16", "BM=64 BN=64 TM=32 TN=32", 14, tensor16_64_launch, nullptr},
        {"warpgroup", "", 14, warpgroup_launch, nullptr},
        {"matmul.h", "", 14, matmul_f16_with_scratch, nullptr},
    };
    for (size_t n : {512, 1024, 2048, 4096, 8192, 3000, 4095})
        product<__half, float>(b, cublas, list, {n, n, n, false, false}, "");
}

// Many small products in one launch.
static void batches(bench &b, cublasHandle_t cublas)
{
    const size_t count = 4096;
    for (size_t n : {32, 64, 128}) {
        const size_t one = n * n, bytes = count * one * sizeof(float);
        if (!b.fits(3.0 * (double)bytes, "matmul, a batch"))
            continue;
        const std::shared_ptr<void> on_m = bench_alloc(bytes), on_n = bench_alloc(bytes),
                                    on_p = bench_alloc(bytes), x = bench_alloc(n * sizeof(double));
        float *const m = (float *)on_m.get(), *const nn = (float *)on_n.get(),
                     *const p = (float *)on_p.get();
        bench_fill(m, count * one, 1);
        bench_fill(nn, count * one, 2);
        bench_fill((double *)x.get(), n, 3);
        bench_contest contest("matmul", "float", n);
        contest.data = "4096 products";
        contest.peer = "cuBLAS";
        bench_entry product;
        product.bytes = 3.0 * (double)bytes;
        product.work = 2.0 * (double)(count * one * n);
        product.poison = [=] { BENCH_CHECK(cudaMemset(p, 0xff, bytes)); };
        product.check = [=](std::string *why) { // some of them
            for (size_t k = 0; k < count; k += 455) {
                const std::vector<double> want = on_host(
                    times(m + k * one, times(nn + k * one, x.get(), n, n).get(), n, n).get(), n);
                const std::vector<double> got = on_host(times(p + k * one, x.get(), n, n).get(), n);
                for (size_t i = 0; i < n; i++)
                    if (!(std::fabs(got[i] - want[i]) <=
                          (double)n * std::sqrt((double)n) * 0x1p-24)) {
                        *why = "product " + std::to_string(k) + ", row " + std::to_string(i);
                        return false;
                    }
            }
            return true;
        };
        bench_entry peer = product, ours = product;
        peer.kernel = "cuBLAS";
        peer.launch = [=](cudaStream_t stream) {
            const float alpha = 1, beta = 0;
            const int size = (int)n;
            CUBLAS_CHECK(cublasSetStream(cublas, stream));
            CUBLAS_CHECK(cublasSgemmStridedBatched(cublas, CUBLAS_OP_N, CUBLAS_OP_N, size, size,
                                                   size, &alpha, nn, size, (long long)one, m, size,
                                                   (long long)one, &beta, p, size, (long long)one,
                                                   (int)count));
            return cudaSuccess;
        };
        contest.entries.push_back(peer);
        ours.kernel = "matmul.h";
        ours.launch = [=](cudaStream_t stream) {
            return matmul_launch_batch(count, n, n, n, 1, m, n, one, nn, n, one, 0, p, n, one,
                                       stream);
        };
        contest.entries.push_back(ours);
        b.run(contest);
    }
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Products of matrices of floats: the rungs of coarsen's ladder beside cublasSgemm.",
             "GFLOP/s", 7, 14});
    cublasHandle_t cublas;
    CUBLAS_CHECK(cublasCreate(&cublas));
    CUBLAS_CHECK(cublasSetMathMode(cublas, CUBLAS_PEDANTIC_MATH)); // no TF32, no split of a float
    squares(b, cublas, b.sweep ? bench_variants<rung>() : rungs, b.exponents(b.sweep ? 4 : 1));
    if (!b.sweep) {
        shapes(b, cublas);
        doubles(b, cublas);
        batches(b, cublas);
        CUBLAS_CHECK(cublasSetMathMode(cublas, CUBLAS_DEFAULT_MATH)); // else without tensor cores
        halves(b, cublas);
    }
    CUBLAS_CHECK(cublasDestroy(cublas));
    return b.finish();
}

#endif
