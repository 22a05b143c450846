// SPDX-License-Identifier: MIT
//
// bench/shapes/matmul.cu: products of floats by matmul.h beside cublasSgemm, in 32-bit arithmetic. A line:
//     f32 rows= cols= inner= apart= pad= data= [plans=]
// pad: floats between the rows of M, N and P. plans: all ways that matmul.h has to choose from are timed, too, but for
// those whose cost is so many times the least.

#include "shapes.h"

#include <cublas_v2.h>

#define COARSEN_NAME product
#define COARSEN_TYPE float
#include <coarsen/matmul.h>

static void cublas_check(cublasStatus_t status, const char *call)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "%s failed: %s\n", call, cublasGetStatusString(status));
    exit(1);
}
#define CUBLAS_CHECK(call) cublas_check((call), #call)

static cublasHandle_t cublas;

struct way {
    product_plan plan;
    size_t number; // of the ways of its shape
    product_strips strips;
};

// All plans up to so many times the cost of the best one.
static std::vector<way> plans_of(const product_problem &of, double most)
{
    cudaError_t status = cudaSuccess;
    const double least = product_make_plan(of, &status).cost;
    int device = 0, count = 0; // of multiprocessors
    BENCH_CHECK(status);
    BENCH_CHECK(cudaGetDevice(&device));
    BENCH_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    const size_t processors = (size_t)count;
    std::vector<way> plans;
    for (size_t s = 0; s < product_shapes_without_tensor; s++)
        for (size_t w = 0; w < product_ways; w++) {
            const product_plan plan = product_plan_of(of, s, w, processors);
            if (plan.cost > 0 && plan.cost <= most * least)
                plans.push_back({plan, w, {}});
        }
    for (size_t s = product_shapes; s < product_shapes + 2; s++) {
        const product_plan plan = product_plan_strips(of, s, processors);
        if (plan.cost > 0 && plan.cost <= most * least)
            plans.push_back({plan, 0, product_strips_of(of, s, processors)});
    }
    for (size_t s = product_shapes + 2; s < product_shapes + 2 + product_tall_shapes; s++) {
        const product_plan plan = product_plan_tall(of, s, processors);
        if (plan.cost > 0 && plan.cost <= most * least)
            plans.push_back({plan, 0, {}});
    }
    int limit = 0; // of shared memory per block
    BENCH_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const product_plan plan = product_plan_streamed(of, processors, (size_t)limit);
    if (plan.cost > 0 && plan.cost <= most * least)
        plans.push_back({plan, 0, {}});
    return plans;
}

// A plan as bench/matmul_costs.py reads it.
static std::string text_of(const way &w)
{
    char text[256];
    const product_plan &plan = w.plan;
    if (plan.shape < product_shapes) {
        const product_shape shape = product_shape_of(plan.shape);
        snprintf(text, sizeof(text),
                 "shape=%zu rows=%zu cols=%zu way=%zu whole=%zu parts=%zu depth=%zu packed=%zu "
                 "cost=%.6g",
                 plan.shape, shape.rows, shape.cols, w.number, plan.whole, plan.parts, plan.depth,
                 plan.pack_m + plan.pack_n, plan.cost);
    } else if (plan.shape == product_streamed) {
        snprintf(text, sizeof(text), "shape=%zu cost=%.6g", plan.shape, plan.cost);
    } else if (plan.shape > product_shapes + 1) {
        const product_shape shape = product_tall_of(plan.shape - product_shapes - 2).shape;
        snprintf(text, sizeof(text), "shape=%zu rows=%zu cols=%zu whole=%zu cost=%.6g", plan.shape,
                 shape.rows, shape.cols, plan.whole, plan.cost);
    } else {
        snprintf(text, sizeof(text), "shape=%zu warps=%zu steps=%zu few=%zu cost=%.6g", plan.shape,
                 w.strips.warps, w.strips.steps, w.strips.few, plan.cost);
    }
    return text;
}

#define SHAPE_NAME f32
SHAPE_CONTEST
{
    const size_t rows = s.at("rows"), cols = s.at("cols"), inner = s.at("inner"), pad = s.at("pad");
    const size_t apart = s.at("apart"), ldm = inner + pad, ldn = cols + pad;
    const shape_array<float> m(rows * ldm, apart, shape_data_of(s), 1);
    const shape_array<float> nn(inner * ldn, apart, shape_data_of(s), 9);
    const shape_array<float> p(rows * ldn, apart);
    size_t bytes = product_scratch_bytes(rows, cols, inner);
    std::vector<way> plans;
    if (s.words.count("plans")) {
        const product_problem of = {1,
                                    rows,
                                    cols,
                                    inner,
                                    product_lines_aligned(m.data, ldm),
                                    product_lines_aligned(nn.data, ldn),
                                    (size_t)-1};
        plans = plans_of(of, (double)s.at("plans"));
        for (const way &w : plans)
            bytes = std::max(bytes, w.plan.scratch_bytes);
    }
    const shape_scratch scratch(bytes);
    std::vector<shape_way> ways;
    for (const way &w : plans)
        ways.push_back({text_of(w), [=](cudaStream_t stream) {
                            return product_launch_plan(w.plan, rows, cols, inner, 1, m.data, ldm,
                                                       nn.data, ldn, 0, p.data, ldn,
                                                       scratch.memory.get(), stream);
                        }});
    shape_contest(
        b, "matmul", s, rows * cols * inner,
        4.0 * (double)(rows * inner + inner * cols + rows * cols),
        {shape_result(p.data, rows * ldn, shape_slack<float>(inner))}, "cuBLAS",
        [=](cudaStream_t stream) {
            const float one = 1, zero = 0;
            CUBLAS_CHECK(cublasSetStream(cublas, stream));
            CUBLAS_CHECK(cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, (int)cols, (int)rows,
                                     (int)inner, &one, nn.data, (int)ldn, m.data, (int)ldm, &zero,
                                     p.data, (int)ldn));
            return cudaSuccess;
        },
        [=](cudaStream_t stream) {
            return product_launch(rows, cols, inner, 1, m.data, ldm, nn.data, ldn, 0, p.data, ldn,
                                  scratch.memory.get(), scratch.bytes, stream);
        },
        false, ways);
}

int main(int argc, char **argv)
{
    CUBLAS_CHECK(cublasCreate(&cublas));
    CUBLAS_CHECK(cublasSetMathMode(cublas, CUBLAS_PEDANTIC_MATH)); // no TF32, no split of a float
    const int status =
        shapes_main(argc, argv, "Products of random shapes: matmul.h beside cublasSgemm.");
    CUBLAS_CHECK(cublasDestroy(cublas));
    return status;
}
