// SPDX-License-Identifier: MIT
//
// coarsen/merge.h for coarsen-tune: two sorted arrays of n keys each. docs/tune.md says what the lines "tune:"
// are.
//
// tune: --type u32,i32 --size n=2^24
// tune: --knob BLOCK_DIM=128:512:*2 --default BLOCK_DIM=512
// tune: --knob COARSE_FACTOR=9,15,19,21,29 --default COARSE_FACTOR=15
// tune: --in 'TUNE_TYPE a[n] up to 4 * n' --in 'TUNE_TYPE b[n] up to 4 * n' --out 'TUNE_TYPE out[2 * n]'
// tune: --launch 'tuned_launch(a, n, b, n, out, 0)'
// tune: --reference merge.cu

#ifndef TUNE_REFERENCE

#define COARSEN_NAME tuned
#define COARSEN_TYPE TUNE_TYPE
#include <coarsen/merge.h>

#else

// How many of n sorted keys are less than key; with `equal`, or equal to it.
static __device__ size_t tuned_before(const TUNE_TYPE *keys, size_t n, TUNE_TYPE key, bool equal)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (keys[middle] < key || (equal && keys[middle] == key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Each key goes behind those that are before it in both arrays.
static __global__ void tuned_kernel(const TUNE_TYPE *a, size_t m, const TUNE_TYPE *b, size_t n,
                                    TUNE_TYPE *out)
{
    const size_t threads = gridDim.x * (size_t)blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < m; i += threads)
        out[i + tuned_before(b, n, a[i], false)] = a[i];
    for (size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x; j < n; j += threads)
        out[j + tuned_before(a, m, b[j], true)] = b[j];
}

static inline cudaError_t tuned_launch(const TUNE_TYPE *a, size_t m, const TUNE_TYPE *b, size_t n,
                                       TUNE_TYPE *out, cudaStream_t)
{
    return tune_launch_kernel(tune_dim(coarsen_ceil_div(m, 1024)), 256, 0, tuned_kernel, a, m, b, n,
                              out);
}

#endif
