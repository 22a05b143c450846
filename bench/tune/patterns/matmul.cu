// SPDX-License-Identifier: MIT
//
// coarsen/matmul/pipelined.h for coarsen-tune. docs/tune.md says what the lines "tune:" are.
//
// tune: --type f32,f64 --size rows=1024 --size cols=1024 --size inner=1024
// tune: --in 'TUNE_TYPE m[rows * inner]' --in 'TUNE_TYPE n[inner * cols]'
// tune: --out 'TUNE_TYPE p[rows * cols]'
// tune: --launch 'tuned_launch(rows, cols, inner, 1, m, inner, n, cols, 0, p, cols, 0)'
// tune: --reference matmul.cu --tolerance 'tolerance(inner)'
// tune: --work '(double)rows * cols * inner' --flop '2 * rows * cols * inner'
//
// BN and TN are so many bytes, as in the header.
//
// tune: --knob BM=32,64,128 --default BM=128
// tune f32: --knob BN=16,64,128,256 --default BN=256
// tune f64: --knob BN=8,32,64,128 --default BN=128
// tune: --knob BK=16,32
// tune: --knob TM=4,8 --default TM=8
// tune f32: --knob TN=4,8,16 --default TN=16
// tune f64: --knob TN=2,4,8 --default TN=8
// tune: --knob COARSEN_SLICES=1,4
// tune: --knob COARSEN_STAGES=2,4
//
// What the header takes (its static_asserts), in blocks of 128 or 256 threads: most shapes of matmul.h, and
// those around them. Items are of 16 bytes; a warp is lanes_m x lanes_n.
//
// tune f32: --let items=4
// tune f64: --let items=2
// tune: --let 'threads=(BM / TM) * (BN / TN) * COARSEN_SLICES'
// tune: --let 'lanes_m=BM / TM < 4 ? BM / TM : BN / TN < 8 ? 32 / (BN / TN) : 4' --let 'lanes_n=32 / lanes_m'
// tune: --require 'threads == 128 || threads == 256'
// tune: --require 'TM % items == 0 && TN % items == 0 && BN % items == 0'
// tune: --require 'TM % COARSEN_SLICES == 0 && BK % (2 * COARSEN_SLICES) == 0 && BK % 8 == 0'
// tune: --require '32 % lanes_m == 0 && BM % (lanes_m * TM) == 0 && BN % (lanes_n * TN) == 0'
// tune: --require 'BM * BK % threads == 0 && BK * BN / items % threads == 0'
// tune: --require 'threads % BN == 0 || BN % threads == 0'
// tune: --require 'threads % (BN / items) == 0'
// tune: --require '8 * BM % threads == 0 || threads % (8 * BM) == 0'
// tune: --require 'BK > 0 && COARSEN_STAGES > 0'

// Where signs change, a random walk of inner steps, each rounded: about 0.1 unit * inner, and the
// greatest of all elements six times that. Where they don't, a step may lose a rounding of the
// whole. The reference has the same loss in double. What a file holds is not known.
static inline double tolerance(double inner)
{
    const double unit = sizeof(TUNE_TYPE) == 8 ? 0x1p-53 : 0x1p-24;
#if defined TUNE_DATA_uniform
    return unit * 2 * (inner + 32);
#elif defined TUNE_DATA_file
    return -1;
#else
    return unit * 2 * (inner + 1) * inner;
#endif
}

#ifndef TUNE_REFERENCE

#define COARSEN_NAME tuned
#define COARSEN_TYPE TUNE_TYPE
#include <coarsen/matmul/pipelined.h>

#else

static __global__ void tuned_kernel(size_t rows, size_t cols, size_t inner, TUNE_TYPE alpha,
                                    const TUNE_TYPE *m, size_t ldm, const TUNE_TYPE *n, size_t ldn,
                                    TUNE_TYPE beta, TUNE_TYPE *p, size_t ldp)
{
    const size_t e = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (e >= rows * cols)
        return;
    const size_t i = e / cols, j = e % cols;
    double sum = 0;
    for (size_t k = 0; k < inner; k++)
        sum += (double)m[i * ldm + k] * n[k * ldn + j];
    p[i * ldp + j] = (TUNE_TYPE)(alpha * sum + (beta == 0 ? 0 : beta * p[i * ldp + j]));
}

static inline cudaError_t tuned_launch(size_t rows, size_t cols, size_t inner, TUNE_TYPE alpha,
                                       const TUNE_TYPE *m, size_t ldm, const TUNE_TYPE *n,
                                       size_t ldn, TUNE_TYPE beta, TUNE_TYPE *p, size_t ldp,
                                       cudaStream_t)
{
    return tune_launch_kernel(tune_dim(coarsen_ceil_div(rows * cols, 256)), 256, 0, tuned_kernel,
                              rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp);
}

#endif
