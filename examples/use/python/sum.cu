// SPDX-License-Identifier: MIT
//
// A library for ctypes: its functions have C's names and types, and its caller needs no CUDA. reduce.h beside this file
// is a bundle: coarsen's header with all that it includes.

#define COARSEN_NAME one_sum
#define COARSEN_TYPE float
#include "reduce.h"

extern "C" {

// Each returns 0, or an error of CUDA, for error_text.
int allocate(void **memory, size_t bytes)
{
    return cudaMalloc(memory, bytes);
}

int release(void *memory)
{
    return cudaFree(memory);
}

int to_device(void *to, const void *from, size_t bytes)
{
    return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
}

int to_host(void *to, const void *from, size_t bytes)
{
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
}

size_t sum_f32_scratch_bytes(size_t n)
{
    return one_sum_scratch_bytes(n);
}

int sum_f32_scratch_init(void *scratch, size_t bytes)
{
    return one_sum_scratch_init(scratch, bytes, 0);
}

int sum_f32(const float *in, float *out, size_t n, void *scratch, size_t bytes)
{
    return one_sum_launch(in, out, n, scratch, bytes, 0);
}

const char *error_text(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}
}
