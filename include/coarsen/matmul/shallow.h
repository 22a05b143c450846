// SPDX-License-Identifier: MIT
//
// coarsen/matmul/shallow.h: a product of little depth, which is as fast as P can be written. A thread makes COARSE_FACTOR
// rows of four columns.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME outer_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/shallow.h>
//
//     outer_f32_launch(640, n / 640, 1, 1, in, 1, in, n / 640, 0, out, n / 640, stream); // a column times a row
//
// | parameter            | default   | meaning                                                   |
// |----------------------|-----------|-----------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                         |
// | COARSEN_TYPE         | required  | number type, also of alpha and beta                       |
// | COARSE_FACTOR        | 8         | rows of P per thread, from 1 to 16                        |
// | COARSEN_M_TRANSPOSED | undefined | if defined, M is stored column after column: inner x rows |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column: cols x inner |
// Defines NAME_kernel (256 threads) and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// The arguments, what is read and written, and the errors are those of matmul/pipelined.h. No scratch. Deterministic.
//
// Price saved: tiles in shared memory, which have more depth than there is: to fill them, wait for them and multiply zeros
// takes longer than to write P. Here a thread has its part of N in registers, for all its rows, and all lanes of a warp
// load the same of M. So blocks are short, and many of them write at a time.
// Price paid: with more depth than 8 all of this is done once per 8.
// Source: the ger of BLAS, level 2 (J. Dongarra et al., 1988).

#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"

#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/matmul: COARSE_FACTOR must be from 1 to 16"
#endif
#ifndef COARSEN_SHAPE // a part of the names, as in pipelined.h
#define COARSEN_SHAPE
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))
#define COARSEN_THREADS      256
#define COARSEN_ACROSS       4 // columns per thread, a warp's width apart
#define COARSEN_DEEP         8 // depth at a time

enum {
    COARSEN_SHAPE_(tile_rows) = COARSEN_THREADS / 32 * COARSE_FACTOR,
    COARSEN_SHAPE_(tile_cols) = 32 * COARSEN_ACROSS,
    COARSEN_SHAPE_(depth) = COARSEN_DEEP
};

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS)
    COARSEN_SHAPE_(kernel)(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
                           const COARSEN_TYPE *__restrict__ m, size_t ldm,
                           const COARSEN_TYPE *__restrict__ n, size_t ldn, COARSEN_TYPE beta,
                           COARSEN_TYPE *__restrict__ p, size_t ldp)
{
#ifdef COARSEN_M_TRANSPOSED
    const size_t m_down = 1, m_deep = ldm;
#else
    const size_t m_down = ldm, m_deep = 1;
#endif
#ifdef COARSEN_N_TRANSPOSED
    const size_t n_deep = 1, n_across = ldn;
#else
    const size_t n_deep = ldn, n_across = 1;
#endif
    const unsigned int tiles = (unsigned int)coarsen_ceil_div(cols, COARSEN_SHAPE_(tile_cols));
    const size_t row =
        blockIdx.x / tiles * (size_t)COARSEN_SHAPE_(tile_rows) + threadIdx.x / 32 * COARSE_FACTOR;
    const size_t col = blockIdx.x % tiles * (size_t)COARSEN_SHAPE_(tile_cols) + threadIdx.x % 32;
    COARSEN_TYPE sum[COARSE_FACTOR][COARSEN_ACROSS] = {};
    for (size_t k = 0; k < inner; k += COARSEN_DEEP) {
        COARSEN_TYPE of_n[COARSEN_DEEP][COARSEN_ACROSS];
#pragma unroll
        for (unsigned int d = 0; d < COARSEN_DEEP; d++)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ACROSS; j++)
                of_n[d][j] = k + d < inner && col + 32 * j < cols
                                 ? n[(k + d) * n_deep + (col + 32 * j) * n_across]
                                 : (COARSEN_TYPE)0;
#pragma unroll
        for (unsigned int i = 0; i < COARSE_FACTOR; i++)
#pragma unroll
            for (unsigned int d = 0; d < COARSEN_DEEP; d++)
                if (row + i < rows && k + d < inner) {
                    const COARSEN_TYPE of_m = m[(row + i) * m_down + (k + d) * m_deep];
#pragma unroll
                    for (unsigned int j = 0; j < COARSEN_ACROSS; j++)
                        sum[i][j] += of_m * of_n[d][j];
                }
    }
#pragma unroll
    for (unsigned int i = 0; i < COARSE_FACTOR; i++)
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ACROSS; j++) {
            COARSEN_TYPE *const to = p + (row + i) * ldp + (col + 32 * j);
            if (row + i < rows && col + 32 * j < cols)
                *to = beta == (COARSEN_TYPE)0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * *to;
        }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch)(size_t rows, size_t cols, size_t inner,
                                                COARSEN_TYPE alpha, const COARSEN_TYPE *m,
                                                size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                                                COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp,
                                                cudaStream_t stream)
{
    if (alpha == (COARSEN_TYPE)0)
        inner = 0;
    size_t blocks = 0;
    const cudaError_t status =
        COARSEN_(count_tiles)(&blocks, COARSEN_SHAPE_(tile_rows), COARSEN_SHAPE_(tile_cols), rows,
                              cols, inner, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess || blocks == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, COARSEN_THREADS, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), rows, cols, inner, alpha, m, ldm, n,
                              ldn, beta, p, ldp);
}
#endif

#undef COARSEN_THREADS
#undef COARSEN_ACROSS
#undef COARSEN_DEEP
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE
#undef COARSE_FACTOR
#define COARSEN_END
#include "../base.h"
