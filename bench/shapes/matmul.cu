// SPDX-License-Identifier: MIT
//
// bench/shapes/matmul.cu: products of floats by matmul.h beside cublasSgemm, in 32-bit arithmetic. A line:
//     f32 rows= cols= inner= apart= pad= data=
// pad: floats between the rows of M, N and P.

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

#define SHAPE_NAME f32
SHAPE_CONTEST
{
    const size_t rows = s.at("rows"), cols = s.at("cols"), inner = s.at("inner"), pad = s.at("pad");
    const size_t apart = s.at("apart"), ldm = inner + pad, ldn = cols + pad;
    const shape_array<float> m(rows * ldm, apart, shape_data_of(s), 1);
    const shape_array<float> nn(inner * ldn, apart, shape_data_of(s), 9);
    const shape_array<float> p(rows * ldn, apart);
    const shape_scratch scratch(product_scratch_bytes(rows, cols, inner));
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
        });
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
