// SPDX-License-Identifier: MIT
//
// coarsen/matmul/coarsened.h: third rung, tiled.h + COARSE_FACTOR adjacent tiles of P per block.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME matmul_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/coarsened.h>
//
// | parameter     | default      | meaning                                                     |
// |---------------|--------------|-------------------------------------------------------------|
// | COARSEN_NAME  | required     | prefix of every name defined here                           |
// | COARSEN_TYPE  | required     | element type: any number type, __half and __nv_bfloat16 too |
// | COARSEN_ACC   | COARSEN_TYPE | type of products, sums, alpha and beta: float for __half    |
// | TILE_WIDTH    | 32           | width of the square tiles and of a block, from 1 to 32      |
// | COARSE_FACTOR | 4            | tiles of P per block, from 1 to 32                          |
// Defines NAME_kernel (TILE_WIDTH x TILE_WIDTH threads, one block per COARSE_FACTOR horizontally
// adjacent tiles of P, row by row) and
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
// Price saved: loads of the same tile of M by COARSE_FACTOR blocks. A phase loads 1 + COARSE_FACTOR
// tiles for COARSE_FACTOR tiles of P: 12.8 FLOP per byte of floats at TILE_WIDTH 32 and
// COARSE_FACTOR 4. Price paid: COARSE_FACTOR registers per thread for the sums, COARSE_FACTOR times
// fewer blocks, and still two barriers per tile of N.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 6.3.

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
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/matmul: COARSE_FACTOR must be from 1 to 32"
#endif

COARSEN_KERNEL void __launch_bounds__(TILE_WIDTH *TILE_WIDTH)
    COARSEN_(kernel)(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
                     const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                     COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp)
{
    __shared__ COARSEN_TYPE m_tile[TILE_WIDTH][TILE_WIDTH], n_tile[TILE_WIDTH][TILE_WIDTH];
    const unsigned int i = threadIdx.y, j = threadIdx.x;
    const size_t tile_cols = coarsen_ceil_div(cols, TILE_WIDTH * COARSE_FACTOR);
    const size_t row = blockIdx.x / tile_cols * TILE_WIDTH + i;
    const size_t col_start = blockIdx.x % tile_cols * TILE_WIDTH * COARSE_FACTOR + j;

    COARSEN_ACC sum[COARSE_FACTOR] = {};
    for (size_t phase = 0; phase < inner; phase += TILE_WIDTH) {
        m_tile[i][j] = row < rows && phase + j < inner ? m[row * ldm + phase + j] : (COARSEN_TYPE)0;
#pragma unroll
        for (unsigned int c = 0; c < COARSE_FACTOR; c++) {
            const size_t col = col_start + c * TILE_WIDTH;
            n_tile[i][j] =
                phase + i < inner && col < cols ? n[(phase + i) * ldn + col] : (COARSEN_TYPE)0;
            __syncthreads();
#pragma unroll
            for (unsigned int k = 0; k < TILE_WIDTH; k++)
                sum[c] += (COARSEN_ACC)m_tile[i][k] * (COARSEN_ACC)n_tile[k][j];
            __syncthreads();
        }
    }
#pragma unroll
    for (unsigned int c = 0; c < COARSE_FACTOR; c++) {
        const size_t col = col_start + c * TILE_WIDTH;
        if (row < rows && col < cols) {
            COARSEN_TYPE *const out = p + row * ldp + col;
            const COARSEN_ACC made = alpha * sum[c];
            *out = (COARSEN_TYPE)(beta == (COARSEN_ACC)0 ? made : made + beta * (COARSEN_ACC)*out);
        }
    }
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
    const cudaError_t status = COARSEN_(count_tiles)(
        &blocks, TILE_WIDTH, TILE_WIDTH * COARSE_FACTOR, rows, cols, inner, m, ldm, n, ldn, p, ldp);
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
