// SPDX-License-Identifier: MIT

#ifndef KERNELS_H
#define KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

size_t sum_scratch_bytes(size_t n);
cudaError_t sum(const float *in, float *out, size_t n, void *scratch, size_t bytes,
                cudaStream_t stream);

size_t matmul_scratch_bytes(size_t rows, size_t cols, size_t inner);
cudaError_t matmul(const float *m, size_t ldm, const float *n, size_t ldn, float *p, size_t rows,
                   size_t cols, size_t inner, void *scratch, size_t bytes, cudaStream_t stream);

#endif
