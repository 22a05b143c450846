// SPDX-License-Identifier: MIT
//
// coarsen/matmul/naive.h: matrix product, first rung: one thread per element, from global memory.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME matmul_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/naive.h>
//
// | parameter    | default      | meaning                                                     |
// |--------------|--------------|-------------------------------------------------------------|
// | COARSEN_NAME | required     | prefix of every name defined here                           |
// | COARSEN_TYPE | required     | element type: any number type, __half and __nv_bfloat16 too |
// | COARSEN_ACC  | COARSEN_TYPE | type of products, sums, alpha and beta: float for __half    |
// | TILE_WIDTH   | 32           | width of a block's square of threads, from 1 to 32          |
// Defines NAME_kernel (TILE_WIDTH x TILE_WIDTH threads, one block per tile of P, row by row) and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// m: rows x inner, n: inner x cols, p: rows x cols, in device memory, row-major: element i, j of m
// is m[i * ldm + j]. ldm >= inner, ldn >= cols, ldp >= cols. Any size, including 0, at element
// alignment. p must not overlap m or n. As in BLAS, p is not read if beta is 0, and m and n are not
// read if alpha is 0: NaN there does not spread. Errors: cudaErrorInvalidValue, with nothing
// written, for a leading dimension below the width, a null, misaligned or overflowing matrix, or
// more than 2^31 - 1 blocks. No scratch. Deterministic.
//
// Price paid: memory traffic. Each multiplication and addition fetches two operands: 2 FLOP for 8
// bytes of floats, 0.25 per byte, although cols threads use each element of M and rows threads use
// each element of N. A warp shares a row of P, so its requests are few: a word of M, a line of N.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 3.4.

#if defined(COARSEN_M_TRANSPOSED) || defined(COARSEN_N_TRANSPOSED)
#error "coarsen/matmul: COARSEN_M_TRANSPOSED and _N_TRANSPOSED go with matmul.h or pipelined.h"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#elif TILE_WIDTH < 1 || TILE_WIDTH > 32
#error "coarsen/matmul: TILE_WIDTH must be from 1 to 32"
#endif

COARSEN_KERNEL void __launch_bounds__(TILE_WIDTH *TILE_WIDTH)
    COARSEN_(kernel)(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
                     const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                     COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp)
{
    const size_t tile_cols = coarsen_ceil_div(cols, TILE_WIDTH);
    const size_t row = blockIdx.x / tile_cols * TILE_WIDTH + threadIdx.y;
    const size_t col = blockIdx.x % tile_cols * TILE_WIDTH + threadIdx.x;

    if (row >= rows || col >= cols)
        return;
    COARSEN_ACC sum = (COARSEN_ACC)0;
    for (size_t k = 0; k < inner; k++)
        sum += (COARSEN_ACC)m[row * ldm + k] * (COARSEN_ACC)n[k * ldn + col];
    COARSEN_TYPE *const out = p + row * ldp + col;
    const COARSEN_ACC made = alpha * sum;
    *out = (COARSEN_TYPE)(beta == (COARSEN_ACC)0 ? made : made + beta * (COARSEN_ACC)*out);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
                                          const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n,
                                          size_t ldn, COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
                                          cudaStream_t stream)
{
    if (alpha == (COARSEN_ACC)0)
        inner = 0;
    size_t blocks = 0;
    const cudaError_t status = COARSEN_(count_tiles)(&blocks, TILE_WIDTH, TILE_WIDTH, rows, cols,
                                                     inner, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess || blocks == 0)
        return status;
    cudaLaunchConfig_t config = coarsen_launch_config(blocks, 1, 0, stream);
    config.blockDim = dim3(TILE_WIDTH, TILE_WIDTH);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), rows, cols, inner, alpha, m, ldm, n, ldn,
                              beta, p, ldp);
}
#endif

#define COARSEN_END
#include "../base.h"
