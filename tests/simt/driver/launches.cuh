// SPDX-License-Identifier: MIT
// Kernels, a launch and dynamic shared memory in a header.
#pragma once

template <class T> __device__ T *shared_memory()
{
    extern __shared__ int memory[];
    return (T *)memory;
}

static __global__ void header_kernel(float *p)
{
    *p = 21;
}
inline void from_header(float *p)
{
    header_kernel<<<1, 1>>>(p);
}

void from_file(float *p);
