// SPDX-License-Identifier: MIT
//
// device.h: what the examples' host code needs on either device, a GPU or the CPU device, simt.
//
//     CHECK(cudaMalloc(&p, bytes));                    // on an error: a line on stderr, exit 1
//     float *p = (float *)device_alloc(bytes);         // device memory
//     float *p = (float *)device_copy(from, bytes);    // the same, with the host's bytes in it
//     device_free(p, q, NULL);                         // any number of these, and NULL
//     float *p = (float *)host_alloc(bytes);           // the host's memory, freed by free
//     float *p = (float *)host_copy(from, bytes);      // the same, with the device's bytes in it
//     size_t n; if (!whole(argv[1], &n)) ...           // a whole number: digits, and nothing else
//     return usage("stats FILE.npy");                  // called wrongly: a line on stderr, exit 2
//     return finish();                                 // exit 0; 1 if what was printed is not written

#ifndef DEVICE_H
#define DEVICE_H

#include <cuda_runtime.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) device_check(call, #call, __FILE__, __LINE__)

static inline void device_check(cudaError_t status, const char *call, const char *file, int line)
{
    if (status == cudaSuccess)
        return;
    if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver)
        fprintf(stderr, "no GPU to run on (%s); the build for the CPU device needs none\n",
                cudaGetErrorString(status));
    else
        fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(status),
                cudaGetErrorName(status));
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

__attribute__((sentinel)) static inline void device_free(void *p, ...)
{
    va_list rest;
    va_start(rest, p);
    for (; p; p = va_arg(rest, void *))
        CHECK(cudaFree(p));
    va_end(rest);
}

// At least one byte, so that the pointer is never null.
static inline void *host_alloc(size_t bytes)
{
    void *const p = malloc(bytes > 0 ? bytes : 1);
    if (p)
        return p;
    fprintf(stderr, "no memory for an array of %zu bytes; take fewer elements\n", bytes);
    exit(1);
}

static inline void *host_copy(const void *from, size_t bytes)
{
    void *p = host_alloc(bytes);
    if (bytes > 0)
        CHECK(cudaMemcpy(p, from, bytes, cudaMemcpyDeviceToHost));
    return p;
}

static inline bool whole(const char *text, size_t *value)
{
    errno = 0;
    *value = strtoull(text, NULL, 10);
    return *text && !text[strspn(text, "0123456789")] && errno == 0;
}

static inline int usage(const char *text)
{
    fprintf(stderr, "usage: %s\n", text);
    return 2;
}

static inline int finish(void)
{
    if (fflush(stdout) == 0)
        return 0;
    fprintf(stderr, "cannot write the results: %s\n", strerror(errno));
    return 1;
}

#endif // DEVICE_H
