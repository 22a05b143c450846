// SPDX-License-Identifier: MIT
//
// The ladder of include/coarsen/matmul: the first elements of the array as a square matrix, times
// itself. Its size is limited, so that it does not take long.

#include "ladder.h"
#include <float.h>
#include <math.h>

#define COARSEN_NAME matmul_naive
#define COARSEN_TYPE float
#include <coarsen/matmul/naive.h>

#define COARSEN_NAME matmul_tiled
#define COARSEN_TYPE float
#include <coarsen/matmul/tiled.h>

#define COARSEN_NAME matmul_coarsened
#define COARSEN_TYPE float
#include <coarsen/matmul/coarsened.h>

#define COARSEN_NAME matmul_register_tiled
#define COARSEN_TYPE float
#include <coarsen/matmul/register_tiled.h>

#define COARSEN_NAME matmul_chosen
#define COARSEN_TYPE float
#include <coarsen/matmul.h>

#ifdef SIMT
#define MATMUL_MOST 128
#else
#define MATMUL_MOST 2048
#endif

static struct {
    size_t side, scratch_bytes;
    const float *input;
    float *m, *p, *host; // p on the device and on the host
    void *scratch;
} matmul;

static size_t matmul_side(size_t n)
{
    size_t side = 0;
    while (side < MATMUL_MOST && (side + 1) * (side + 1) <= n)
        side++;
    return side;
}

static void matmul_begin(const ladder_input *input)
{
    matmul.side = matmul_side(input->n);
    matmul.input = input->values;
    const size_t bytes = matmul.side * matmul.side * sizeof(float);
    matmul.m = (float *)device_copy(input->values, bytes);
    matmul.p = (float *)device_alloc(bytes);
    matmul.scratch_bytes = matmul_chosen_scratch_bytes(matmul.side, matmul.side, matmul.side);
    matmul.scratch = device_alloc(matmul.scratch_bytes);
    matmul.host = (float *)host_alloc(bytes);
}

static void matmul_reset(void)
{
    CHECK(cudaMemsetAsync(matmul.p, 0xff, matmul.side * matmul.side * sizeof(float), 0)); // NaN
}

// The sum of the diagonal. It is right if that and some other entries agree with sums in double.
static bool matmul_result(char text[LADDER_TEXT])
{
    const size_t side = matmul.side, entries = side * side;
    const float *const m = matmul.input;
    bool right = true;
    double trace = 0;
    if (entries > 0)
        CHECK(cudaMemcpy(matmul.host, matmul.p, entries * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < side; i++) {
        // In each row the diagonal, and an entry that moves through the columns.
        for (size_t j = i, turn = 0; turn < 2; turn++, j = (i * 37 + 11) % side) {
            double sum = 0, magnitude = 0;
            for (size_t k = 0; k < side; k++) {
                const double product = (double)m[i * side + k] * m[k * side + j];
                sum += product;
                magnitude += fabs(product);
            }
            right &= fabs(matmul.host[i * side + j] - sum) <=
                     (double)side * (FLT_EPSILON / 2) * magnitude; // never of a NaN
        }
        trace += matmul.host[i * side + i];
    }
    snprintf(text, LADDER_TEXT, "%.5g", trace);
    return right;
}

static void matmul_end(void)
{
    CHECK(cudaFree(matmul.m));
    CHECK(cudaFree(matmul.p));
    CHECK(cudaFree(matmul.scratch));
    free(matmul.host);
}

static size_t matmul_bytes(size_t n)
{
    const size_t side = matmul_side(n);
    return 2 * side * side * sizeof(float) + matmul_chosen_scratch_bytes(side, side, side);
}

#define LAUNCH(rung)                                                                               \
    matmul_##rung##_launch(matmul.side, matmul.side, matmul.side, 1, matmul.m, matmul.side,        \
                           matmul.m, matmul.side, 0, matmul.p, matmul.side, 0)

static cudaError_t matmul_run_naive(void)
{
    return LAUNCH(naive);
}

static cudaError_t matmul_run_tiled(void)
{
    return LAUNCH(tiled);
}

static cudaError_t matmul_run_coarsened(void)
{
    return LAUNCH(coarsened);
}

static cudaError_t matmul_run_register_tiled(void)
{
    return LAUNCH(register_tiled);
}

static cudaError_t matmul_run_chosen(void)
{
    const size_t side = matmul.side;
    return matmul_chosen_launch(side, side, side, 1, matmul.m, side, matmul.m, side, 0, matmul.p,
                                side, matmul.scratch, matmul.scratch_bytes, 0);
}

#undef LAUNCH

static const ladder_rung matmul_rungs[] = {
    {"naive", "1 element per thread",
     "A thread makes one element of the product, straight from global memory: it loads\n"
     "two operands for each multiplication.",
     matmul_run_naive},
    {"tiled", "shared tiles",
     "A block copies tiles of 32 x 32 to shared memory, where each element serves 32\n"
     "threads.",
     matmul_run_tiled},
    {"coarsened", "4 tiles per block",
     "A block makes 4 tiles of the product, side by side. One copy of M's tile serves all\n"
     "of them.",
     matmul_run_coarsened},
    {"registers", "8 x 8 per thread",
     "A thread makes 8 x 8 elements: it uses an operand in a register 8 times.\n"
     "(register_tiled.h)",
     matmul_run_register_tiled},
    {"pipelined", "copies under way",
     "The next tiles are on their way while these are multiplied, 4 floats per load. The\n"
     "tile is as large as possible while blocks still fill the device. (matmul.h)",
     matmul_run_chosen},
};

static const ladder matmul_ladder = {
    "Matrix product: the array as a square matrix, times itself; the result is its trace",
    matmul_rungs,
    sizeof(matmul_rungs) / sizeof(*matmul_rungs),
    matmul_bytes,
    matmul_begin,
    matmul_reset,
    matmul_result,
    matmul_end,
};
