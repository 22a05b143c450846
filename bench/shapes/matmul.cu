// SPDX-License-Identifier: MIT
//
// bench/shapes/matmul.cu: products by matmul.h beside cuBLAS, floats in 32-bit arithmetic, halves with sums of floats. A
// line:
//     TYPE [count=] rows= cols= inner= apart= pad= data= [plans=]
// count: of a batch, whose matrices follow one another. pad: elements between the rows of M, N and P. plans: all ways that matmul.h has to choose from are timed, too, but for
// those whose cost is so many times the least.
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_product)
#define COARSEN_TYPE SHAPE_TYPE
#ifdef SHAPE_ACC
#define COARSEN_ACC SHAPE_ACC
#else
#define SHAPE_HAS_FLAT // and batched.h
#endif
#include <coarsen/matmul.h>

// A plan, and how bench/matmul_costs.py reads it.
struct SHAPE(_way) {
    SHAPE(_product_plan) plan;
    std::string text;
};

// All plans up to so many times the cost of the best one.
static std::vector<SHAPE(_way)> SHAPE(_plans_of)(const SHAPE(_product_problem) & of, double most)
{
    cudaError_t status = cudaSuccess;
    const double least = SHAPE(_product_make_plan)(of, &status).cost;
    BENCH_CHECK(status);
    const size_t shapes = SHAPE(_product_count_shapes)(&status);
    BENCH_CHECK(status);
    int device = 0, count = 0; // of multiprocessors
    BENCH_CHECK(cudaGetDevice(&device));
    BENCH_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    const size_t processors = (size_t)count;
    std::vector<SHAPE(_way)> plans;
    const auto add = [&](const SHAPE(_product_plan) & plan, const std::string &text) {
        if (plan.cost > 0 && plan.cost <= most * least)
            plans.push_back(
                {plan, text_of("shape=%zu %s cost=%.6g", plan.shape, text.c_str(), plan.cost)});
    };
    for (size_t s = SHAPE(_product_first_shape)(shapes); s < shapes; s++)
        for (size_t w = 0; w < SHAPE(_product_ways); w++) {
            const SHAPE(_product_plan) plan = SHAPE(_product_plan_of)(of, s, w, processors);
            const SHAPE(_product_shape) shape = SHAPE(_product_shape_of)(s);
            add(plan,
                text_of(
                    "rows=%zu cols=%zu way=%zu whole=%zu parts=%zu depth=%zu slices=%zu packed=%zu",
                    shape.rows, shape.cols, w, plan.whole, plan.parts, plan.depth, plan.slices,
                    plan.pack_m + plan.pack_n));
        }
    const auto per_processor = [&](size_t blocks) {
        return (blocks + processors - 1) / processors;
    };
    const auto ceil_div = [](size_t x, size_t y) { return (x + y - 1) / y; };
    SHAPE(_product_narrow_product) narrow = SHAPE(_product_narrow_of)(of);
    if (narrow.rows > 0) {
        SHAPE(_product_narrow_divide)(&narrow, processors);
        const size_t blocks = ceil_div(narrow.groups * narrow.count, 256 / narrow.threads) *
                              ceil_div(narrow.cols, 4) * narrow.parts;
        add(SHAPE(_product_plan_strips)(of, SHAPE(_product_shapes), processors),
            text_of("each=%zu steps=%zu few=%zu parts=%zu threads=%u take=%u",
                    per_processor(blocks),
                    ceil_div(narrow.depth,
                             narrow.threads * (narrow.cols == 1 && narrow.take == 1 ? 4 : 1)),
                    narrow.cols, narrow.parts, narrow.threads, narrow.take));
    }
#ifdef SHAPE_HAS_FLAT
    SHAPE(_product_flat_product) flat = SHAPE(_product_flat_of)(of);
    if (flat.rows > 0) {
        SHAPE(_product_flat_divide)(&flat, processors);
        const size_t blocks =
            ceil_div(flat.cols, flat.width) * ceil_div(flat.rows, 4) * flat.count * flat.parts;
        add(SHAPE(_product_plan_strips)(of, SHAPE(_product_shapes) + 1, processors),
            text_of("each=%zu steps=%zu few=%zu parts=%zu across=%u", per_processor(blocks),
                    ceil_div(flat.depth, flat.deep), flat.rows, flat.parts, flat.across));
    }
    if (of.count > 1)
        add(SHAPE(_product_plan_batched)(of, processors), "batched=1");
#endif
    int limit = 0; // of shared memory per block
    BENCH_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    for (size_t w = 0; of.count > 1 && w < SHAPE(_product_whole_shapes); w++) {
        SHAPE(_product_plan)
        plan = SHAPE(_product_plan_whole)(of, SHAPE(_product_whole) + w, processors, (size_t)limit);
        add(plan, text_of("together=%zu slices=%zu", plan.parts, plan.slices));
    }
    return plans;
}

SHAPE_CONTEST
{
    const size_t count = s.words.count("count") ? s.at("count") : 1;
    const size_t rows = s.at("rows"), cols = s.at("cols"), inner = s.at("inner"), pad = s.at("pad");
    const size_t apart = s.at("apart"), ldm = inner + pad, ldn = cols + pad;
    const size_t m_step = rows * ldm, n_step = inner * ldn, p_step = rows * ldn;
    const shape_array<SHAPE_TYPE> m(count * m_step, apart, shape_data_of(s), 1);
    const shape_array<SHAPE_TYPE> nn(count * n_step, apart, shape_data_of(s), 9);
    const shape_array<SHAPE_TYPE> p(count * p_step, apart);
    size_t bytes = SHAPE(_product_scratch_bytes)(rows, cols, inner);
    std::vector<SHAPE(_way)> plans;
    if (s.words.count("plans")) {
        const SHAPE(_product_problem) of = {count,
                                            rows,
                                            cols,
                                            inner,
                                            SHAPE(_product_unit_of)(m.data, ldm | m_step),
                                            SHAPE(_product_unit_of)(nn.data, ldn | n_step),
                                            (size_t)-1,
                                            true,
                                            pad == 0,
                                            SHAPE(_product_is_scattered)(rows, cols, ldm, ldn)};
        plans = SHAPE(_plans_of)(of, (double)s.at("plans"));
        for (const SHAPE(_way) & w : plans)
            bytes = std::max(bytes, w.plan.scratch_bytes);
    }
    const shape_scratch scratch(bytes);
    const auto launch_plan = [=](const SHAPE(_product_plan) & plan, cudaStream_t stream) {
        return count > 1
                   ? SHAPE(_product_launch_batch_plan)(plan, count, rows, cols, inner, 1, m.data,
                                                       ldm, m_step, nn.data, ldn, n_step, 0, p.data,
                                                       ldn, p_step, stream)
                   : SHAPE(_product_launch_plan)(plan, rows, cols, inner, 1, m.data, ldm, nn.data,
                                                 ldn, 0, p.data, ldn, scratch.memory.get(), stream);
    };
    std::vector<shape_way> ways;
    for (const SHAPE(_way) & w : plans)
        ways.push_back({w.text, [=](cudaStream_t stream) { return launch_plan(w.plan, stream); }});
    shape_contest(
        b, "matmul", s, count * rows * cols * inner,
        (double)sizeof(SHAPE_TYPE) * (double)(count * (rows * inner + inner * cols + rows * cols)),
        {shape_result(p.data, count * p_step, shape_slack<SHAPE_TYPE>(inner))}, "cuBLAS",
        [=](cudaStream_t stream) {
            const cublas_batch of = {
                (int)count, (int)cols, (int)rows,         (int)inner,        (int)ldn,
                (int)ldm,   (int)ldn,  (long long)n_step, (long long)m_step, (long long)p_step};
            CUBLAS_CHECK(cublasSetStream(cublas, stream));
            CUBLAS_CHECK(cublas_product(of, nn.data, m.data, p.data));
            return cudaSuccess;
        },
        [=](cudaStream_t stream) {
            return count > 1 ? SHAPE(_product_launch_batch)(count, rows, cols, inner, 1, m.data,
                                                            ldm, m_step, nn.data, ldn, n_step, 0,
                                                            p.data, ldn, p_step, stream)
                             : SHAPE(_product_launch)(rows, cols, inner, 1, m.data, ldm, nn.data,
                                                      ldn, 0, p.data, ldn, scratch.memory.get(),
                                                      scratch.bytes, stream);
        },
        false, ways);
}
#undef SHAPE_TYPE
#undef SHAPE_ACC
#undef SHAPE_NAME
#undef SHAPE_HAS_FLAT

#else

#include "shapes.h"

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <stdarg.h>

template <> struct shape_value<__half> {
    __host__ __device__ static __half of(uint64_t bits)
    {
        return __float2half(bench_value<float>::of(bits));
    }
};

static void cublas_check(cublasStatus_t status, const char *call)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "%s failed: %s\n", call, cublasGetStatusString(status));
    exit(1);
}
#define CUBLAS_CHECK(call) cublas_check((call), #call)

static std::string text_of(const char *form, ...)
{
    char text[256];
    va_list list;
    va_start(list, form);
    vsnprintf(text, sizeof(text), form, list);
    va_end(list);
    return text;
}

static cublasHandle_t cublas;

// A batch of P = M N, column-major: the transposed of ours, whose operands are the other way round.
typedef struct {
    int count, rows, cols, inner, ldm, ldn, ldp;
    long long m_step, n_step, p_step;
} cublas_batch;

static cublasStatus_t cublas_product(cublas_batch of, const float *m, const float *n, float *p)
{
    const float one = 1, zero = 0;
    CUBLAS_CHECK(cublasSetMathMode(cublas, CUBLAS_PEDANTIC_MATH)); // no TF32, no split of a float
    return of.count == 1
               ? cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, of.rows, of.cols, of.inner, &one, m,
                             of.ldm, n, of.ldn, &zero, p, of.ldp)
               : cublasSgemmStridedBatched(cublas, CUBLAS_OP_N, CUBLAS_OP_N, of.rows, of.cols,
                                           of.inner, &one, m, of.ldm, of.m_step, n, of.ldn,
                                           of.n_step, &zero, p, of.ldp, of.p_step, of.count);
}
static cublasStatus_t cublas_product(cublas_batch of, const double *m, const double *n, double *p)
{
    const double one = 1, zero = 0;
    CUBLAS_CHECK(cublasSetMathMode(cublas, CUBLAS_DEFAULT_MATH));
    return of.count == 1
               ? cublasDgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, of.rows, of.cols, of.inner, &one, m,
                             of.ldm, n, of.ldn, &zero, p, of.ldp)
               : cublasDgemmStridedBatched(cublas, CUBLAS_OP_N, CUBLAS_OP_N, of.rows, of.cols,
                                           of.inner, &one, m, of.ldm, of.m_step, n, of.ldn,
                                           of.n_step, &zero, p, of.ldp, of.p_step, of.count);
}
static cublasStatus_t cublas_product(cublas_batch of, const __half *m, const __half *n, __half *p)
{
    const float one = 1, zero = 0;
    const cudaDataType_t type = CUDA_R_16F;
    CUBLAS_CHECK(cublasSetMathMode(cublas, CUBLAS_DEFAULT_MATH));
    return of.count == 1
               ? cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, of.rows, of.cols, of.inner, &one, m,
                              type, of.ldm, n, type, of.ldn, &zero, p, type, of.ldp,
                              CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT)
               : cublasGemmStridedBatchedEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, of.rows, of.cols,
                                            of.inner, &one, m, type, of.ldm, of.m_step, n, type,
                                            of.ldn, of.n_step, &zero, p, type, of.ldp, of.p_step,
                                            of.count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

#define SHAPE_TYPE         float
#define SHAPE_NAME         f32
#include "matmul.cu"
#define SHAPE_TYPE double
#define SHAPE_NAME f64
#include "matmul.cu"
#define SHAPE_TYPE __half
#define SHAPE_ACC  float
#define SHAPE_NAME f16
#include "matmul.cu"

int main(int argc, char **argv)
{
    CUBLAS_CHECK(cublasCreate(&cublas));
    const int status =
        shapes_main(argc, argv, "Products of random shapes: matmul.h beside cuBLAS.");
    CUBLAS_CHECK(cublasDestroy(cublas));
    return status;
}

#endif
