// SPDX-License-Identifier: MIT
//
// CUDA C++ for a compiler that has none: with this directory first on the include path, g++
// compiles a .cu file (-x c++) and its kernels run on the CPU device. docs/simt.md says how.

#ifndef SIMT_CUDA_RUNTIME_H
#define SIMT_CUDA_RUNTIME_H

// As the toolkit's own: warnings are for the user's code.
#pragma GCC system_header

#ifndef __cplusplus
#include "cuda_runtime_api.h"
#else

#if !defined __x86_64__ || !defined __linux__ || !defined __GNUC__ || defined __clang__
#error "simt needs g++ on x86-64 Linux"
#endif

#if __cplusplus < 201402L
#error "simt needs -std=c++14 or later"
#endif

#define SIMT 1
#ifndef __CUDACC__
#define __CUDACC__
#endif
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0

// nvcc includes these by itself.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cstring> // now, as it undefines memcpy and memset, which are macros below
#include <new>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"
#include "simt_device.h"

// In a kernel these are of device memory. The engine calls the C library's for host code.
extern "C" {
void *malloc(size_t bytes) noexcept __asm__("simt_malloc");
void *calloc(size_t n, size_t bytes) noexcept __asm__("simt_calloc");
void free(void *p) noexcept __asm__("simt_free");

// The C library writes through their pointers, which the compiler doesn't see.
void sincos(double x, double *s, double *c) noexcept __asm__("simt_sincos");
void sincosf(float x, float *s, float *c) noexcept __asm__("simt_sincosf");
double modf(double x, double *whole) noexcept __asm__("simt_modf");
float modff(float x, float *whole) noexcept __asm__("simt_modff");
double frexp(double x, int *exponent) noexcept __asm__("simt_frexp");
float frexpf(float x, int *exponent) noexcept __asm__("simt_frexpf");
double remquo(double x, double y, int *quotient) noexcept __asm__("simt_remquo");
float remquof(float x, float y, int *quotient) noexcept __asm__("simt_remquof");
}

// ---- launching ----------------------------------------------------------------------------------

#ifdef __SANITIZE_THREAD__
#define SIMT_TRACED   1

// The compiler does not instrument calls of these, and may replace them by code. Short ones become
// plain loads and stores, which it does instrument.
#define SIMT_WHOLE(n) (!(__builtin_constant_p(n) && (n) <= 16))
SIMT_INLINE void *simt_memcpy(void *to, const void *from, size_t n)
{
    if (SIMT_WHOLE(n))
        simt_touch(from, n, 0, 0), simt_touch(to, n, 1, 0);
    return __builtin_memcpy(to, from, n);
}
SIMT_INLINE void *simt_memmove(void *to, const void *from, size_t n)
{
    if (SIMT_WHOLE(n))
        simt_touch(from, n, 0, 0), simt_touch(to, n, 1, 0);
    return __builtin_memmove(to, from, n);
}
SIMT_INLINE void *simt_memset(void *to, int value, size_t n)
{
    if (SIMT_WHOLE(n))
        simt_touch(to, n, 1, 0);
    return __builtin_memset(to, value, n);
}
#undef SIMT_WHOLE
namespace std
{
using ::simt_memcpy;
using ::simt_memmove;
using ::simt_memset;
} // namespace std
#define memcpy(to, from, n)  simt_memcpy(to, from, n)
#define memmove(to, from, n) simt_memmove(to, from, n)
#define memset(to, value, n) simt_memset(to, value, n)
#else
#define SIMT_TRACED 0
#endif

// Launches `body`, which each thread calls. It holds the kernel's arguments: reading them is no access
// of the kernel. All that leads to here is inlined, at -O0 too: the address that simt_launch returns to
// is then in the line of the caller.
template <class Body>
SIMT_INLINE cudaError_t simt_start(const void *kernel, const char *name, dim3 grid, dim3 block,
                                   size_t shared_bytes, cudaStream_t stream, int cooperative,
                                   const Body &body)
{
    simt_launch_request request = {};
    request.kernel = kernel;
    request.grid = grid;
    request.block = block;
    request.shared_bytes = shared_bytes;
    request.call = [](const void *b) { (*(const Body *)b)(); };
    request.arguments = &body;
    request.arguments_size = sizeof body;
    request.traced = SIMT_TRACED;
    request.cooperative = cooperative;
    request.stream = stream;
    request.name = kernel ? NULL : name;
    if (!kernel && name) { // it has an address, but C++ can't tell which
        request.kernel = (const void *)request.call;
        cudaFuncSetAttribute(request.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             227 * 1024);
    }
    return simt_launch(&request);
}

template <class... Parameters> struct simt_kernel {
    SIMT_INLINE cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                   size_t shared_bytes, cudaStream_t stream, int cooperative,
                                   Parameters... arguments)
    {
        return simt_start(
            (const void *)kernel, NULL, grid, block, shared_bytes, stream,
            cooperative, [=]() __attribute__((no_sanitize("thread"))) { kernel(arguments...); });
    }

    template <size_t... Places>
    SIMT_INLINE cudaError_t launch_array(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                         void **arguments, size_t shared_bytes, cudaStream_t stream,
                                         int cooperative, std::index_sequence<Places...>)
    {
        (void)arguments; // for a kernel that takes none
        return launch(kernel, grid, block, shared_bytes, stream, cooperative,
                      *(Parameters *)arguments[Places]...);
    }
};

template <class... Parameters, class... Arguments>
SIMT_INLINE cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                           void (*kernel)(Parameters...), Arguments &&...arguments)
{
    int cooperative = 0;
    for (unsigned i = 0; i < config->numAttrs; ++i)
        if (config->attrs[i].id == cudaLaunchAttributeCooperative)
            cooperative = config->attrs[i].val.cooperative;
    return simt_kernel<Parameters...>::launch(kernel, config->gridDim, config->blockDim,
                                              config->dynamicSmemBytes, config->stream, cooperative,
                                              std::forward<Arguments>(arguments)...);
}

template <class... Parameters>
SIMT_INLINE cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                         void **arguments, size_t shared_bytes = 0,
                                         cudaStream_t stream = 0)
{
    return simt_kernel<Parameters...>::launch_array(kernel, grid, block, arguments, shared_bytes,
                                                    stream, 0,
                                                    std::index_sequence_for<Parameters...>());
}

template <class... Parameters>
SIMT_INLINE cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid,
                                                    dim3 block, void **arguments,
                                                    size_t shared_bytes = 0,
                                                    cudaStream_t stream = 0)
{
    return simt_kernel<Parameters...>::launch_array(kernel, grid, block, arguments, shared_bytes,
                                                    stream, 1,
                                                    std::index_sequence_for<Parameters...>());
}

// A kernel whose type was cast away can't be called from here.
SIMT_INLINE cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t = 0,
                                         cudaStream_t = 0)
{
    fprintf(stderr, "simt: cudaLaunchKernel was given a const void *: pass the kernel itself, "
                    "whose type says how to call it\n");
    return cudaErrorInvalidDeviceFunction;
}

// include/simt/chevrons.py turns kernel<<<grid, block, shared_bytes, stream>>>(arguments) into
// simt_callee(find, call, "kernel")(grid, block, shared_bytes, stream)(arguments). `find` returns the
// kernel's address, if C++ can tell which function its name means. `call` is a call of the kernel as
// it is written. So the compiler chooses an overload, deduces template arguments and adds default
// arguments as in any call.

// What `find` asks: the one function of this name; the one with exactly these parameters.
struct simt_only {
};
template <class... Arguments> struct simt_exact {
};
template <class... Parameters> auto simt_pick(simt_only, void (*kernel)(Parameters...))
{
    return kernel;
}
template <class... Arguments> auto simt_pick(simt_exact<Arguments...>, void (*kernel)(Arguments...))
{
    return kernel;
}
template <class Type, class Find>
auto simt_find(const Find &find, Type what, int) -> decltype(find(what))
{
    return find(what);
}
template <class Type, class Find> void *simt_find(const Find &, Type, long)
{
    return NULL;
}

template <class Find, class Call> struct simt_launcher {
    Find find;
    Call call;
    const char *name;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    simt_launcher(const Find &f, const Call &c, const char *n, dim3 g, dim3 b, size_t s,
                  cudaStream_t on)
        : find(f), call(c), name(n), grid(g), block(b), shared_bytes(s), stream(on)
    {
    }

    // Each thread has its own copy of the arguments, which are evaluated once.
    template <class Kernel, class... Arguments>
    __forceinline__ void start(Kernel kernel, Arguments... arguments) const
    {
        simt_start((const void *)kernel, name, grid, block, shared_bytes, stream, 0,
                   [ =, call = call ]()
                       __attribute__((no_sanitize("thread"))) { call(arguments...); });
    }
};

// Of a name with several functions.
template <class Find, class Call, class Kernel> struct simt_ready : simt_launcher<Find, Call> {
    using simt_launcher<Find, Call>::simt_launcher;
    template <class... Arguments> __forceinline__ void operator()(Arguments... arguments) const
    {
        this->start(simt_find(this->find, simt_exact<Arguments...>(), 0), arguments...);
    }
};

// Of a name with one function: the arguments become what its parameters Declared, Rest... are. If there are
// fewer arguments, the others have defaults.
template <class Launcher, class Declared, class... Rest> struct simt_typed;
template <class Launcher, class... Declared>
struct simt_typed<Launcher, simt_exact<Declared...>> : Launcher {
    using Launcher::Launcher;
    __forceinline__ void operator()(Declared... arguments) const
    {
        simt_kernel<Declared...>::launch(this->find(simt_only()), this->grid, this->block,
                                         this->shared_bytes, this->stream, 0,
                                         std::forward<Declared>(arguments)...);
    }
};
template <class Launcher, class... Declared, class Next, class... Rest>
struct simt_typed<Launcher, simt_exact<Declared...>, Next, Rest...>
    : simt_typed<Launcher, simt_exact<Declared..., Next>, Rest...> {
    using base = simt_typed<Launcher, simt_exact<Declared..., Next>, Rest...>;
    using base::base;
    using base::operator();
    __forceinline__ void operator()(Declared... arguments) const
    {
        this->start(this->find(simt_only()), std::forward<Declared>(arguments)...);
    }
};
template <class Find, class Call, class... Parameters>
struct simt_ready<Find, Call, void (*)(Parameters...)>
    : simt_typed<simt_launcher<Find, Call>, simt_exact<>, Parameters...> {
    using base = simt_typed<simt_launcher<Find, Call>, simt_exact<>, Parameters...>;
    using base::base;
};

template <class Find, class Call> struct simt_named {
    Find find;
    Call call;
    const char *name;
    auto operator()(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = 0) const
    {
        using ready = simt_ready<Find, Call, decltype(simt_find(find, simt_only(), 0))>;
        return ready(find, call, name, grid, block, shared_bytes, stream);
    }
};
template <class Find, class Call>
static inline simt_named<Find, Call> simt_callee(const Find &find, const Call &call,
                                                 const char *name)
{
    return {find, call, name};
}
// Of an expression that isn't a name: a pointer to a kernel.
template <class... Parameters> static inline auto simt_callee(void (*kernel)(Parameters...))
{
    return simt_callee([=](simt_only) { return kernel; },
                       [=](const auto &...arguments) { kernel(arguments...); }, NULL);
}

// ---- the runtime API's typed forms --------------------------------------------------------------

template <class Type> SIMT_INLINE cudaError_t cudaMalloc(Type **pointer, size_t bytes)
{
    return cudaMalloc((void **)pointer, bytes);
}
template <class Type>
SIMT_INLINE cudaError_t cudaMallocAsync(Type **pointer, size_t bytes, cudaStream_t stream)
{
    return cudaMallocAsync((void **)pointer, bytes, stream);
}
template <class Type>
SIMT_INLINE cudaError_t cudaMallocManaged(Type **pointer, size_t bytes,
                                          unsigned flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged((void **)pointer, bytes, flags);
}
template <class Type>
SIMT_INLINE cudaError_t cudaMallocHost(Type **pointer, size_t bytes, unsigned = 0)
{
    return cudaMallocHost((void **)pointer, bytes);
}
template <class Type>
SIMT_INLINE cudaError_t cudaHostAlloc(Type **pointer, size_t bytes, unsigned flags)
{
    return cudaHostAlloc((void **)pointer, bytes, flags);
}
template <class Type>
SIMT_INLINE cudaError_t cudaMallocPitch(Type **pointer, size_t *pitch, size_t width, size_t height)
{
    return cudaMallocPitch((void **)pointer, pitch, width, height);
}
template <class Type>
SIMT_INLINE cudaError_t cudaMemcpyToSymbol(const Type &symbol, const void *from, size_t bytes,
                                           size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return cudaMemcpyToSymbol((const void *)&symbol, from, bytes, offset, kind);
}
template <class Type>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbol(void *to, const Type &symbol, size_t bytes,
                                             size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return cudaMemcpyFromSymbol(to, (const void *)&symbol, bytes, offset, kind);
}
template <class Type>
SIMT_INLINE cudaError_t cudaGetSymbolAddress(void **pointer, const Type &symbol)
{
    return cudaGetSymbolAddress(pointer, (const void *)&symbol);
}
template <class Result, class... Parameters>
SIMT_INLINE cudaError_t cudaFuncSetAttribute(Result (*function)(Parameters...),
                                             cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute((const void *)function, attribute, value);
}
template <class Result, class... Parameters>
SIMT_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                              Result (*function)(Parameters...))
{
    return cudaFuncGetAttributes(attributes, (const void *)function);
}
template <class Result, class... Parameters>
SIMT_INLINE cudaError_t cudaFuncSetCacheConfig(Result (*function)(Parameters...),
                                               cudaFuncCache config)
{
    return cudaFuncSetCacheConfig((const void *)function, config);
}
template <class Result, class... Parameters>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, Result (*function)(Parameters...), int block_size, size_t dynamic_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)function, block_size,
                                                         dynamic_bytes);
}
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *,
                                                       const cudaLaunchConfig_t *)
{
    *clusters = 0; // the device has none
    return cudaSuccess;
}
template <class Result, class... Parameters>
SIMT_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block,
                                                           Result (*)(Parameters...), size_t = 0,
                                                           int limit = 0)
{
    int device, processors;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    *grid = processors * (2048 / *block);
    return cudaSuccess;
}

#endif
#endif
