// SPDX-License-Identifier: MIT
// Functions between a kernel and the place of its fault.

__device__ __noinline__ void put(int *p, int i, int value)
{
    p[i] = value;
}

__device__ __forceinline__ void put_inline(int *p, int i, int value)
{
    put(p, i, value);
}

template <int base> __device__ __noinline__ unsigned long divided(const int *p, int i)
{
    return (unsigned)(base / p[i]);
}

__device__ __noinline__ int descend(const int *p, int depth)
{
    return depth ? descend(p, depth - 1) + 1 : p[depth];
}

__device__ __forceinline__ void put_here(int *p, int i)
{
    p[i] = 1;
}
