// SPDX-License-Identifier: MIT
//
// include/coarsen/fuse.h, one kernel, beside the two kernels that it replaces: the sum of the squares
// of an array, as a dot product of the array and itself.

#include "ladder.h"
#include <float.h>
#include <math.h>

#define COARSEN_NAME fuse_sum
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

#define COARSEN_NAME      fuse_multiply
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) * (b))
#include <coarsen/map.h>

#define COARSEN_NAME      fuse_dot
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) * (b))
#include <coarsen/fuse.h>

#define COARSEN_NAME       fuse_squares
#define COARSEN_TYPE       float
#define COARSEN_LIFT(x, i) ((x) * (x))
#include <coarsen/reduce.h>

static struct {
    size_t n, scratch_bytes;
    float *in, *products, *out;
    void *scratch;
    double sum;
} fuse;

static void fuse_begin(const ladder_input *input)
{
    const size_t bytes = input->n * sizeof(float);
    fuse.n = input->n;
    fuse.sum = 0;
    for (size_t i = 0; i < input->n; i++)
        fuse.sum += (double)input->values[i] * input->values[i];
    fuse.scratch_bytes = fuse_dot_scratch_bytes(input->n); // the others need no more
    fuse.in = (float *)device_copy(input->values, bytes);
    fuse.products = (float *)device_alloc(bytes);
    fuse.out = (float *)device_alloc(sizeof(float));
    fuse.scratch = device_alloc(fuse.scratch_bytes);
}

static void fuse_reset(void)
{
    if (fuse.n > 0)
        CHECK(cudaMemsetAsync(fuse.products, 0xff, fuse.n * sizeof(float), 0)); // NaN
    CHECK(cudaMemsetAsync(fuse.out, 0xff, sizeof(float), 0));
    CHECK(fuse_dot_scratch_init(fuse.scratch, fuse.scratch_bytes, 0));
}

static bool fuse_result(char text[LADDER_TEXT])
{
    float sum;
    CHECK(cudaMemcpy(&sum, fuse.out, sizeof(sum), cudaMemcpyDeviceToHost));
    snprintf(text, LADDER_TEXT, "%.5g", sum);
    // No product takes part in more than n / 2048 + 64 additions, and no term is negative.
    return fabs(sum - fuse.sum) <=
           ((double)fuse.n / 2048 + 64) * (FLT_EPSILON / 2) * fuse.sum; // never of a NaN
}

static void fuse_end(void)
{
    CHECK(cudaFree(fuse.in));
    CHECK(cudaFree(fuse.products));
    CHECK(cudaFree(fuse.out));
    CHECK(cudaFree(fuse.scratch));
}

static size_t fuse_bytes(size_t n)
{
    return n * sizeof(float);
}

static cudaError_t fuse_two(void)
{
    const cudaError_t status = fuse_multiply_launch(fuse.in, fuse.in, fuse.products, fuse.n, 0);
    return status != cudaSuccess ? status
                                 : fuse_sum_launch(fuse.products, fuse.out, fuse.n, fuse.scratch,
                                                   fuse.scratch_bytes, 0);
}

static cudaError_t fuse_one(void)
{
    return fuse_dot_launch(fuse.in, fuse.in, fuse.out, fuse.n, fuse.scratch, fuse.scratch_bytes, 0);
}

static cudaError_t fuse_lifted(void)
{
    return fuse_squares_launch(fuse.in, fuse.out, fuse.n, fuse.scratch, fuse.scratch_bytes, 0);
}

static const ladder_rung fuse_rungs[] = {
    {"separate", "two kernels",
     "map.h writes every product to memory, and reduce.h reads them back: 8 bytes per\n"
     "element that nobody needs.",
     fuse_two},
    {"fuse", "one kernel",
     "The products stay in registers. fuse.h takes up to three arrays: here, one twice.", fuse_one},
    {"reduce", "a lift in reduce.h",
     "For a single array, reduce.h with COARSEN_LIFT(x, i) ((x) * (x)) is enough.", fuse_lifted},
};

static const ladder fuse_ladder = {
    "Fusion: the sum of an array's squares",
    fuse_rungs,
    sizeof(fuse_rungs) / sizeof(*fuse_rungs),
    fuse_bytes,
    fuse_begin,
    fuse_reset,
    fuse_result,
    fuse_end,
};
