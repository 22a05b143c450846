// SPDX-License-Identifier: MIT
//
// coarsen/map.h for coarsen-tune: a sum of arrays. docs/tune.md says what the lines "tune:" are.
//
// tune: --type f32,f64,i32 --inputs 2 --size n=2^24
// tune: --knob BLOCK_DIM=64:1024:*2 --default BLOCK_DIM=256
// tune: --knob COARSE_FACTOR=1:16:*2
// tune: --in 'TUNE_TYPE in_a[n]'
// tune: --in 'TUNE_TYPE in_b[TUNE_INPUTS > 1 ? n : 0]'
// tune: --in 'TUNE_TYPE in_c[TUNE_INPUTS > 2 ? n : 0]'
// tune: --out 'TUNE_TYPE out[n]'
// tune: --launch 'tuned_launch(TUNED_INPUTS(in_), out, n, 0)'
// tune: --reference map.cu --tolerance 0

// The same operations in the same order. ints are added up as unsigned, as they may overflow.
#ifdef TUNE_TYPE_i32
typedef unsigned int term;
#else
typedef TUNE_TYPE term;
#endif

// TUNED_INPUTS(const float *in_) is const float *in_a, const float *in_b.
#if TUNE_INPUTS == 1
#define TUNED_INPUTS(of) of##a
#define COARSEN_MAP(a)   ((TUNE_TYPE)((term)(a) + 1))
#elif TUNE_INPUTS == 2
#define TUNED_INPUTS(of)  of##a, of##b
#define COARSEN_MAP(a, b) ((TUNE_TYPE)((term)(a) + (term)(b)))
#else
#define TUNED_INPUTS(of)     of##a, of##b, of##c
#define COARSEN_MAP(a, b, c) ((TUNE_TYPE)((term)(a) + (term)(b) + (term)(c)))
#endif

#ifndef TUNE_REFERENCE

#define COARSEN_NAME   tuned
#define COARSEN_TYPE   TUNE_TYPE
#define COARSEN_INPUTS TUNE_INPUTS
#include <coarsen/map.h>

#else

static __global__ void tuned_kernel(TUNED_INPUTS(const TUNE_TYPE *in_), TUNE_TYPE *out, size_t n)
{
    const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n)
#if TUNE_INPUTS == 1
        out[i] = COARSEN_MAP(in_a[i]);
#elif TUNE_INPUTS == 2
        out[i] = COARSEN_MAP(in_a[i], in_b[i]);
#else
        out[i] = COARSEN_MAP(in_a[i], in_b[i], in_c[i]);
#endif
}

static inline cudaError_t tuned_launch(TUNED_INPUTS(const TUNE_TYPE *in_), TUNE_TYPE *out, size_t n,
                                       cudaStream_t)
{
    return tune_launch_kernel(tune_dim(coarsen_ceil_div(n, 256)), 256, 0, tuned_kernel,
                              TUNED_INPUTS(in_), out, n);
}

#endif
