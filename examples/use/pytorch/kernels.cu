// SPDX-License-Identifier: MIT
//
// What ops.cpp calls. No header of PyTorch is here, so nvcc is done in seconds.

#include "kernels.h"

#define COARSEN_NAME one_sum
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

#define COARSEN_NAME product
#define COARSEN_TYPE float
#include <coarsen/matmul.h>

size_t sum_scratch_bytes(size_t n)
{
    return one_sum_scratch_bytes(n);
}

cudaError_t sum(const float *in, float *out, size_t n, void *scratch, size_t bytes,
                cudaStream_t stream)
{
    // The allocator's memory has something else in it each time.
    const cudaError_t status = one_sum_scratch_init(scratch, bytes, stream);
    return status != cudaSuccess ? status : one_sum_launch(in, out, n, scratch, bytes, stream);
}

size_t matmul_scratch_bytes(size_t rows, size_t cols, size_t inner)
{
    return product_scratch_bytes(rows, cols, inner);
}

cudaError_t matmul(const float *m, size_t ldm, const float *n, size_t ldn, float *p, size_t rows,
                   size_t cols, size_t inner, void *scratch, size_t bytes, cudaStream_t stream)
{
    return product_launch(rows, cols, inner, 1, m, ldm, n, ldn, 0, p, cols, scratch, bytes, stream);
}
