// SPDX-License-Identifier: MIT
//
// device.h: what the examples' host code needs on either device, a GPU or the CPU device, simt.
//
//     CHECK(cudaMalloc(&p, bytes));                       // on an error: a line on stderr, exit 1
//     float *p = (float *)device_alloc(bytes);            // device memory, freed by cudaFree
//     float *p = (float *)device_copy(from, bytes);       // the same, with the host's bytes in it

#ifndef DEVICE_H
#define DEVICE_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) device_check(call, #call, __FILE__, __LINE__)

static inline void device_check(cudaError_t status, const char *call, const char *file, int line)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(status),
            cudaGetErrorName(status));
    exit(1);
}

// If there is no device to run on, says what to do and exits.
static inline void device_require(const char *program)
{
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0)
        return;
    fprintf(stderr, "%s: no GPU to run on (%s); the build for the CPU device needs none\n", program,
            cudaGetErrorString(status));
    exit(1);
}

// At least one byte, so that the pointer is never null.
static inline void *device_alloc(size_t bytes)
{
    void *p = NULL;
    const cudaError_t status = cudaMalloc(&p, bytes > 0 ? bytes : 1);
    if (status == cudaErrorMemoryAllocation) {
        fprintf(stderr, "the device has no memory for an array of %zu bytes; take fewer elements\n",
                bytes);
        exit(1);
    }
    CHECK(status);
    return p;
}

static inline void *device_copy(const void *from, size_t bytes)
{
    void *p = device_alloc(bytes);
    if (bytes > 0)
        CHECK(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
    return p;
}

#endif // DEVICE_H
