// SPDX-License-Identifier: MIT
//
// coarsen/select.h for coarsen-tune: the numbers above 0, which the data says how many are. docs/tune.md
// says what the lines "tune:" are.
//
// tune: --type f32,f64,i32 --size n=2^24
// tune: --knob BLOCK_DIM=128:1024:*2 --default BLOCK_DIM=512
// tune: --knob COARSE_FACTOR=1:16:*2 --default COARSE_FACTOR=8
// tune: --in 'TUNE_TYPE in[n]' --out 'TUNE_TYPE out[n]' --out 'unsigned long long count[1]'
// tune: --scratch 'unsigned char scratch[tuned_scratch_bytes(n)]'
// tune: --launch 'tuned_launch(in, out, n, count, scratch, tuned_scratch_bytes(n), 0)'
// tune: --reference select.cu --tolerance 0

#ifndef TUNE_REFERENCE

#define COARSEN_NAME     tuned
#define COARSEN_TYPE     TUNE_TYPE
#define COARSEN_IF(x, i) ((x) > 0)
#include <coarsen/select.h>

#else

// One block. Each thread moves a run of neighbours, when it knows how many all runs before it keep.
static __global__ void tuned_kernel(const TUNE_TYPE *in, TUNE_TYPE *out, size_t n,
                                    unsigned long long *count)
{
    __shared__ unsigned long long run[1024];
    const size_t each = coarsen_ceil_div(n, 1024), begin = threadIdx.x * each;
    unsigned long long kept = 0;
    for (size_t i = begin; i < begin + each && i < n; i++)
        kept += in[i] > 0;
    run[threadIdx.x] = kept;
    __syncthreads();
    kept = 0;
    for (unsigned int t = 0; t < 1024 && threadIdx.x == 0; t++) {
        const unsigned long long mine = run[t];
        run[t] = kept;
        kept += mine;
    }
    __syncthreads();
    kept = run[threadIdx.x];
    for (size_t i = begin; i < begin + each && i < n; i++)
        if (in[i] > 0)
            out[kept++] = in[i];
    if (threadIdx.x == 1023)
        *count = kept;
}

static inline size_t tuned_scratch_bytes(size_t)
{
    return 16;
}

static inline cudaError_t tuned_launch(const TUNE_TYPE *in, TUNE_TYPE *out, size_t n,
                                       unsigned long long *count, void *, size_t, cudaStream_t)
{
    return tune_launch_kernel(1, 1024, 0, tuned_kernel, in, out, n, count);
}

#endif
