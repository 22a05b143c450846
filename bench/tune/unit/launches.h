// SPDX-License-Identifier: MIT
//
// What every unit includes first: the part of the CUDA runtime that a launcher calls, writing down
// what it is asked to launch. NVRTC compiles launchers for the device, where there is no runtime;
// g++ compiles them for simt, whose runtime then launches too.

#ifndef TUNE_LAUNCHES_H
#define TUNE_LAUNCHES_H

#ifdef __CUDACC_RTC__
// So that the headers leave their host part in, as for nvcc; --device-as-default-execution-space does
// the rest.
#undef __CUDACC_RTC__
#define __builtin_huge_val() (1.0 / 0) // which NVRTC lacks
#define __NVCC__
#define TUNE_ON_DEVICE
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned long uintptr_t;
#define SIZE_MAX ((size_t)-1)
#endif

#include <cuda_runtime.h>
#include <string.h>

#include "plan.h"

#ifdef TUNE_ON_DEVICE
static __device__ plan_record *tune_plan;
#define TUNE_SM (__CUDA_ARCH__ / 10)
#else
#define TUNE_SM 0 // of simt, which has no PTX
static plan_record *tune_plan;
static cudaError_t tune_count_launch(cudaError_t status); // count.h: after a launch by simt
#endif

// ---- Names --------------------------------------------------------------------------------------

#define TUNE_TEXT(...)  TUNE_TEXT_(__VA_ARGS__)
#define TUNE_TEXT_(...) #__VA_ARGS__

// "(const void *)sum_kernel" is sum_kernel, and so are "(sum_kernel)", "::sum_kernel" and
// "sum_kernel<float>".
static inline void tune_kernel_name(char *to, const char *text)
{
    size_t start = 0, length = 0;
    for (size_t i = 0; text[i] && text[i] != '<'; i++) {
        const bool letter = (text[i] >= 'a' && text[i] <= 'z') ||
                            (text[i] >= 'A' && text[i] <= 'Z') ||
                            (text[i] >= '0' && text[i] <= '9') || text[i] == '_' || text[i] == ':';
        if (letter && length == i - start)
            length++;
        else if (letter)
            start = i, length = 1;
    }
    for (; length > 0 && text[start] == ':'; start++)
        length--;
    if (length >= PLAN_NAME)
        length = PLAN_NAME - 1;
    for (size_t i = 0; i < length; i++)
        to[i] = text[start + i];
    to[length] = 0;
}

static inline bool tune_same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

// ---- The runtime, as a launcher sees it ---------------------------------------------------------

static inline cudaError_t tune_get_device(int *device)
{
    *device = 0;
    return cudaSuccess;
}

static inline cudaError_t tune_attribute(int *value, cudaDeviceAttr attribute, int)
{
    if (attribute == cudaDevAttrMultiProcessorCount)
        *value = tune_plan->processors;
    else if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin)
        *value = tune_plan->shared_limit;
    else if (attribute == cudaDevAttrL2CacheSize)
        *value = tune_plan->cache_bytes;
    else if (attribute == cudaDevAttrClusterLaunch)
        *value = TUNE_SM >= 90;
    else if (attribute == cudaDevAttrCooperativeLaunch)
        *value = 1;
    else
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

// Which code a kernel has: the only one that the unit is compiled to.
static inline cudaError_t tune_function(cudaFuncAttributes *attributes, const void *)
{
    memset(attributes, 0, sizeof(*attributes));
    attributes->ptxVersion = attributes->binaryVersion = TUNE_SM;
    return cudaSuccess;
}

// A device that has clusters has room for one of any size that is asked for.
static inline cudaError_t tune_clusters(int *clusters, const void *, const cudaLaunchConfig_t *)
{
    *clusters = 1;
    return cudaSuccess;
}

// What is not known is taken for 1, and asked of the tuner, which then has the plan made again.
static inline cudaError_t tune_occupancy(int *blocks, const char *text, unsigned int threads,
                                         unsigned long long shared_bytes)
{
    char kernel[PLAN_NAME];
    tune_kernel_name(kernel, text);
    *blocks = 1;
    for (int i = 0; i < tune_plan->occupancies; i++) {
        const plan_occupancy *const known = &tune_plan->occupancy[i];
        if (known->threads == threads && known->shared_bytes == shared_bytes &&
            tune_same(known->kernel, kernel)) {
            if (known->blocks > 0)
                *blocks = known->blocks;
            return cudaSuccess;
        }
    }
    if (tune_plan->occupancies < PLAN_LAUNCHES) {
        plan_occupancy *const asked = &tune_plan->occupancy[tune_plan->occupancies++];
        tune_kernel_name(asked->kernel, kernel);
        asked->threads = threads;
        asked->shared_bytes = shared_bytes;
        asked->blocks = 0;
    }
    return cudaSuccess;
}

static inline plan_launch *tune_next_launch(void)
{
    if (tune_plan->launches < 0 || tune_plan->launches == PLAN_LAUNCHES) {
        tune_plan->launches = -1;
        return 0;
    }
    plan_launch *const launch = &tune_plan->launch[tune_plan->launches++];
    launch->kernel[0] = 0;
    launch->from = 0;
    launch->arguments = 0;
    return launch;
}

static inline cudaError_t tune_memset(void *to, int value, size_t bytes, cudaStream_t stream = 0)
{
    plan_launch *const launch = tune_next_launch();
    if (!launch)
        return cudaErrorInvalidValue;
    launch->to = (unsigned long long)to;
    launch->value = value;
    launch->bytes = bytes;
#ifndef TUNE_ON_DEVICE
    return tune_plan->run > 1 ? cudaMemsetAsync(to, value, bytes, stream) : cudaSuccess;
#else
    return cudaSuccess;
#endif
}

static inline cudaError_t tune_copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                    cudaStream_t stream = 0)
{
    plan_launch *const launch = tune_next_launch();
    if (!launch || kind != cudaMemcpyDeviceToDevice)
        return cudaErrorInvalidValue;
    launch->to = (unsigned long long)to;
    launch->from = (unsigned long long)from;
    launch->bytes = bytes;
#ifndef TUNE_ON_DEVICE
    return tune_plan->run > 1 ? cudaMemcpyAsync(to, from, bytes, kind, stream) : cudaSuccess;
#else
    return cudaSuccess;
#endif
}

template <typename T> static inline void tune_argument(plan_launch *launch, size_t *end, T argument)
{
    const size_t at = (*end + alignof(T) - 1) / alignof(T) * alignof(T);
    *end = at + sizeof(T);
    if (*end > PLAN_BYTES || launch->arguments == PLAN_ARGUMENTS) {
        tune_plan->launches = -1;
        return;
    }
    launch->offset[launch->arguments++] = (unsigned short)at;
    memcpy(launch->argument + at, &argument, sizeof(T));
}

template <typename... P, typename... A>
static inline cudaError_t tune_launch(const char *text, const cudaLaunchConfig_t *config,
                                      void (*kernel)(P...), A... arguments)
{
    static_assert(sizeof...(P) == sizeof...(A), "the kernel takes another number of arguments");
    plan_launch *const launch = tune_next_launch();
    if (!launch)
        return cudaErrorInvalidValue;
    tune_kernel_name(launch->kernel, text);
    launch->grid[0] = config->gridDim.x, launch->block[0] = config->blockDim.x;
    launch->grid[1] = config->gridDim.y, launch->block[1] = config->blockDim.y;
    launch->grid[2] = config->gridDim.z, launch->block[2] = config->blockDim.z;
    launch->shared_bytes = config->dynamicSmemBytes;
    launch->cluster[0] = 0;
    launch->cooperative = launch->overlaps = 0;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttributeValue *const value = &config->attrs[i].val;
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
            launch->cluster[0] = value->clusterDim.x;
            launch->cluster[1] = value->clusterDim.y;
            launch->cluster[2] = value->clusterDim.z;
        } else if (config->attrs[i].id == cudaLaunchAttributeCooperative) {
            launch->cooperative = value->cooperative;
        } else if (config->attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization) {
            launch->overlaps = value->programmaticStreamSerializationAllowed;
        }
    }
    size_t end = 0;
    (tune_argument<P>(launch, &end, arguments), ...);
#ifndef TUNE_ON_DEVICE
    if (tune_plan->run > 1) {
        if (config->dynamicSmemBytes > 0) // the launcher's own call is left out below
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)config->dynamicSmemBytes);
        return tune_count_launch(cudaLaunchKernelEx(config, kernel, arguments...));
    }
#endif
    return cudaSuccess;
}

template <typename... P, typename... A>
static inline cudaError_t tune_launch(const char *text, dim3 grid, dim3 block, size_t shared_bytes,
                                      void (*kernel)(P...), A... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    return tune_launch(text, &config, kernel, arguments...);
}

// As dim3, but that a number which is too large stays so.
static inline unsigned int tune_extent(size_t of)
{
    return of < 0xffffffffu ? (unsigned int)of : 0xffffffffu;
}

static inline dim3 tune_dim(size_t x, size_t y = 1, size_t z = 1)
{
    return dim3(tune_extent(x), tune_extent(y), tune_extent(z));
}

#define TUNE_FIRST(first, ...)                         first
#define cudaGetDevice                                  tune_get_device
#define cudaDeviceGetAttribute                         tune_attribute
#define cudaFuncSetAttribute(kernel, attribute, value) ((void)(kernel), (void)(value), cudaSuccess)
#define cudaFuncGetAttributes(attributes, kernel)      tune_function(attributes, (const void *)(kernel))
#define cudaMemsetAsync                                tune_memset
#define cudaMemcpyAsync                                tune_copy
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes)       \
    tune_occupancy(blocks, TUNE_TEXT(kernel), threads, shared_bytes)
#define cudaOccupancyMaxActiveClusters tune_clusters
#define cudaLaunchKernelEx(config, ...)                                                            \
    tune_launch(TUNE_TEXT(TUNE_FIRST(__VA_ARGS__, )), config, __VA_ARGS__)

// For --grid: a / b rounded up.
static inline size_t coarsen_ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

// What the tuner launches a user's kernel with: grid and block are lists of one to three numbers.
#define tune_launch_kernel(grid, block, shared_bytes, ...)                                         \
    tune_launch(TUNE_TEXT(TUNE_FIRST(__VA_ARGS__, )), grid, block, shared_bytes, __VA_ARGS__)

#include <coarsen/base.h>

#endif
