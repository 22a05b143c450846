// SPDX-License-Identifier: MIT
// Compiled for the host and for the device, as nvcc does: what code in the open makes of __CUDA_ARCH__.

#ifdef __CUDA_ARCH__
#include <climits>
#else
#include <vector>
#endif
#include <stdexcept>
#include <string>

// A macro that a function's head has.
#ifdef __CUDA_ARCH__
#define HD_INLINE __host__ __device__ __forceinline__
#else
#define HD_INLINE __host__ __device__ inline
#endif

// What the device lacks, or has of itself.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double *p, double v)
{
    return *p += v;
}
#endif

// Functions of one side.
#ifndef __CUDA_ARCH__
static int of_host(int x)
{
    return (int)std::vector<int>((size_t)x).size() + 1;
}
#else
static __device__ int of_device(int x)
{
    return x < INT_MAX ? x + 1000 : 0;
}
#endif

HD_INLINE int side(int x)
{
#ifdef __CUDA_ARCH__
    return of_device(x);
#else
    return of_host(x);
#endif
}

// Each side its own declaration and definition.
#ifdef __CUDA_ARCH__
__device__ int twice(int x)
{
    return 2 * x;
}
#else
inline int twice(int x)
{
    return -2 * x;
}
#endif

__device__ int count; // one, whoever asks

template <class T> struct checked {
    T *p;
    int size;
    HD_INLINE checked(T *q, int n) : p(q), size{n}
    {
#ifdef __CUDA_ARCH__
        assert(q);
#else
        if (!q)
            throw std::invalid_argument("null");
#endif
    }
    __host__ __device__ T at(int x) const
    {
#if defined(__CUDA_ARCH__)
        return p[x];
#else
        return x < size ? p[x] : throw std::out_of_range("at");
#endif
    }
    __host__ __device__ static constexpr int arch()
    {
#if defined __CUDA_ARCH__
        return __CUDA_ARCH__;
#else
        return 0;
#endif
    }
};
#ifndef __CUDA_ARCH__
static_assert(checked<int>::arch() == 0, "the compiler is the host");
#endif

// The newest way, or the one that all have.
__device__ unsigned least(unsigned key)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(~0u, key);
#else
    for (int offset = 16; offset; offset >>= 1)
        key = min(key, __shfl_xor_sync(~0u, key, offset)) + 100; // wrong: not taken
    return key;
#endif
}

template <class F> __global__ void apply(F f, int *out)
{
    out[0] = f(7);
}

#ifdef __CUDA_ARCH__
#define MOST 64
#else
#define MOST 1024
#endif
__global__ void __launch_bounds__(MOST) sides(int *out, checked<int> in)
{
    const int i = (int)threadIdx.x;
#if __CUDA_ARCH__ >= 700
    __shared__ int turned[32];
    turned[31 - i] = side(i);
    __syncwarp();
    out[i] = turned[i];
    const unsigned low = least((unsigned)i + 5);
    if (i == 0) {
        out[32] = checked<int>::arch();
        out[33] = (int)low;
        out[34] = in.at(1);
        out[35] = twice(4);
        atomicAdd(&count, 1);
    }
#else
    out[i] = -1;
#endif
}

__global__ void overrun(int *out, checked<int> in)
{
    out[threadIdx.x] = in.at((int)threadIdx.x);
}

static int wrong;
#define CHECK(what)                                                                                \
    do                                                                                             \
        if (!(what)) {                                                                             \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                      \
            ++wrong;                                                                               \
        }                                                                                          \
    while (0)

int main(int argc, char **)
{
    int *p, *in, h[64], calls = 0;
    cudaMalloc(&p, sizeof h), cudaMemset(p, 0, sizeof h);
    cudaMalloc(&in, 16), cudaMemset(in, 1, 16);
    if (argc > 1) {
        overrun<<<1, 8>>>(p, checked<int>(in, 4));
        return cudaDeviceSynchronize() != cudaSuccess;
    }
    sides<<<1, 32>>>(p, checked<int>(in, 4));
    cudaMemcpy(h, p, sizeof h, cudaMemcpyDefault);
    CHECK(h[0] == 1031 && h[31] == 1000 && h[32] == 900 && h[33] == 5);
    CHECK(h[34] == 0x01010101 && h[35] == 8);
    CHECK(side(1) == 2 && checked<int>::arch() == 0 && twice(4) == -8);
    try {
        checked<int>(h, 2).at(2);
    } catch (std::out_of_range &) {
        ++calls;
    }
    try {
        checked<int> null(nullptr, 1);
    } catch (std::invalid_argument &) {
        ++calls;
    }
    CHECK(calls == 2);

    // A lambda of the device in a function of the host.
    apply<<<1, 1>>>(
        [=] __device__(int x) {
#ifdef __CUDA_ARCH__
            return x + __CUDA_ARCH__;
#else
            return x;
#endif
        },
        p);
    auto both = [=] __host__ __device__(int x) {
#ifdef __CUDA_ARCH__
        return x + __CUDA_ARCH__;
#else
        return x;
#endif
    };
    apply<<<1, 1>>>(both, p + 1);
    cudaMemcpy(h, p, 8, cudaMemcpyDefault);
    CHECK(h[0] == 907 && h[1] == 907 && both(1) == 1);

    int counted = 0;
    cudaMemcpyFromSymbol(&counted, count, sizeof counted);
    CHECK(counted == 1);
#ifdef __CUDA_ARCH__
    CHECK(!"the host's side of a host function");
#endif
    printf("%d failures\n", wrong);
    return wrong != 0;
}
