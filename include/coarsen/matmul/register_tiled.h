// SPDX-License-Identifier: MIT
//
// coarsen/matmul/register_tiled.h: fourth rung, coarsened.h + coarsening both ways: a thread makes
// a patch of TM x TN elements, with its operands in registers.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME matmul_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/register_tiled.h>
//
// | parameter    | default      | meaning                                                     |
// |--------------|--------------|-------------------------------------------------------------|
// | COARSEN_NAME | required     | prefix of every name defined here                           |
// | COARSEN_TYPE | required     | element type: any number type, __half and __nv_bfloat16 too |
// | COARSEN_ACC  | COARSEN_TYPE | type of products, sums, alpha and beta: float for __half    |
// | BM           | 128          | rows of P per block: a multiple of TM                       |
// | BN           | 128          | columns of P per block: a multiple of TN                    |
// | BK           | 8            | depth of the tiles of M and N, from 1 to 32                 |
// | TM           | 8            | rows of P per thread, from 2 to 16                          |
// | TN           | 8            | columns of P per thread, from 2 to 16                       |
// Defines NAME_kernel (BM / TM * BN / TN threads, one block per tile of P, row by row) and
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
// Price saved: shared memory traffic. An operand is loaded once for TN or TM multiplications: at 8
// and 8, 16 loads for 64 of them, where the rungs above need 2 for 1. The larger tile gives 0.5 /
// (1 / BM + 1 / BN) FLOP per byte of floats from global memory: 32 at 128 x 128.
// Price paid: TM TN + TM + TN registers per thread, so few threads fit. There are TM TN times fewer
// threads, so a small matrix no longer fills the device.
// A thread's rows are BM / TM apart and its columns BN / TN, so the lanes of a warp read
// neighbouring words of the shared tiles and write neighbouring elements of P.
// Source: V. Volkov, Better Performance at Lower Occupancy, 2010; S. Boehm, How to Optimize a CUDA
// Matmul Kernel for cuBLAS-like Performance, 2022, kernel 5, for the names BM, BN, BK, TM and TN.

#if defined(COARSEN_M_TRANSPOSED) || defined(COARSEN_N_TRANSPOSED)
#error "coarsen/matmul: COARSEN_M_TRANSPOSED and _N_TRANSPOSED go with matmul.h or pipelined.h"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#ifndef COARSEN_SHAPE // a part of the names: matmul.h has this rung beside others
#define COARSEN_SHAPE
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))
#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif
#if TM < 2 || TM > 16
#error "coarsen/matmul: TM must be from 2 to 16"
#elif TN < 2 || TN > 16
#error "coarsen/matmul: TN must be from 2 to 16"
#elif BK < 1 || BK > 32
#error "coarsen/matmul: BK must be from 1 to 32"
#elif BM < TM || BM % TM != 0 || BN < TN || BN % TN != 0
#error "coarsen/matmul: BM must be a multiple of TM, and BN of TN"
#elif (BM / TM) * (BN / TN) > 1024
#error "coarsen/matmul: a block has BM / TM * BN / TN threads, and takes up to 1024"
#endif

#define COARSEN_THREADS ((BM / TM) * (BN / TN))

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS)
    COARSEN_SHAPE_(kernel)(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
                           const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                           COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp)
{
    // m_tile is transposed. The + 1 avoids bank conflicts.
    __shared__ COARSEN_TYPE m_tile[BK][BM + 1], n_tile[BK][BN];
    static_assert(sizeof(m_tile) + sizeof(n_tile) <= 48 << 10,
                  "coarsen/matmul: the tiles need more than 48 KiB: lower BM, BN or BK");
    const unsigned int patch_col = threadIdx.x % (BN / TN), patch_row = threadIdx.x / (BN / TN);
    const size_t tile_cols = coarsen_ceil_div(cols, BN);
    const size_t row_start = blockIdx.x / tile_cols * BM, col_start = blockIdx.x % tile_cols * BN;

    COARSEN_ACC sum[TM][TN] = {};
    for (size_t phase = 0; phase < inner; phase += BK) {
        for (unsigned int e = threadIdx.x; e < BM * BK; e += COARSEN_THREADS) {
            const size_t row = row_start + e / BK, k = phase + e % BK;
            m_tile[e % BK][e / BK] = row < rows && k < inner ? m[row * ldm + k] : (COARSEN_TYPE)0;
        }
        for (unsigned int e = threadIdx.x; e < BK * BN; e += COARSEN_THREADS) {
            const size_t k = phase + e / BN, col = col_start + e % BN;
            n_tile[e / BN][e % BN] = k < inner && col < cols ? n[k * ldn + col] : (COARSEN_TYPE)0;
        }
        __syncthreads();
#pragma unroll
        for (unsigned int k = 0; k < BK; k++) {
            COARSEN_ACC from_m[TM], from_n[TN];
#pragma unroll
            for (unsigned int i = 0; i < TM; i++)
                from_m[i] = (COARSEN_ACC)m_tile[k][patch_row + i * (BM / TM)];
#pragma unroll
            for (unsigned int j = 0; j < TN; j++)
                from_n[j] = (COARSEN_ACC)n_tile[k][patch_col + j * (BN / TN)];
#pragma unroll
            for (unsigned int i = 0; i < TM; i++)
#pragma unroll
                for (unsigned int j = 0; j < TN; j++)
                    sum[i][j] += from_m[i] * from_n[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
        for (unsigned int j = 0; j < TN; j++) {
            const size_t row = row_start + patch_row + i * (BM / TM),
                         col = col_start + patch_col + j * (BN / TN);
            if (row < rows && col < cols) {
                COARSEN_TYPE *const out = p + row * ldp + col;
                const COARSEN_ACC made = alpha * sum[i][j];
                *out =
                    (COARSEN_TYPE)(beta == (COARSEN_ACC)0 ? made : made + beta * (COARSEN_ACC)*out);
            }
        }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch)(size_t rows, size_t cols, size_t inner,
                                                COARSEN_ACC alpha, const COARSEN_TYPE *m,
                                                size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                                                COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
                                                cudaStream_t stream)
{
    if (alpha == (COARSEN_ACC)0)
        inner = 0;
    size_t blocks = 0;
    const cudaError_t status =
        COARSEN_(count_tiles)(&blocks, BM, BN, rows, cols, inner, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess || blocks == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, COARSEN_THREADS, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), rows, cols, inner, alpha, m, ldm, n,
                              ldn, beta, p, ldp);
}
#endif

#undef COARSEN_THREADS
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE // and the knobs: the next shape sets its own
#undef BM
#undef BN
#undef BK
#undef TM
#undef TN
#define COARSEN_END
#include "../base.h"
