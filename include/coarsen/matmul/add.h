// SPDX-License-Identifier: MIT
//
// coarsen/matmul/add.h: adds up sums that blocks made of parts of the depth. Not for use by itself: the rungs of which
// matmul.h divides products along the depth include it.

#include "../base.h"
#include "../block/overlap.h"
#ifndef COARSEN_MADE_ADD
#define COARSEN_MADE_ADD

// Tiles of P from tile `first` on. Of element e, row after row, of tile t of them, part q of the depth left its sum at
// sums[(q * tiles + t) * tile_rows * tile_cols + e]. Element i, j of P is at p + i * step_row + j * step_col.
typedef struct {
    size_t rows, cols, tile_rows, tile_cols;
    size_t first, tiles, parts;
    const COARSEN_ACC *sums;
    COARSEN_ACC beta;
    COARSEN_TYPE *p;
    size_t step_row, step_col;
} COARSEN_(sums);

// Where a tile of P begins. Tiles go down and then across in bands of tiles, so those that are made at the same time need
// few different rows and columns.
COARSEN_INLINE void COARSEN_(place_tile)(unsigned int tile, unsigned int tile_rows,
                                         unsigned int tile_cols, size_t rows, size_t cols,
                                         size_t *row_start, size_t *col_start)
{
    const unsigned int most = 8, down = (unsigned int)coarsen_ceil_div(rows, tile_rows);
    const unsigned int across = (unsigned int)coarsen_ceil_div(cols, tile_cols);
    const unsigned int band = down < most ? down : most;
    const unsigned int above = tile / (band * across) * band;
    const unsigned int in_band = tile % (band * across);
    const unsigned int height = down - above < band ? down - above : band;
    *row_start = (size_t)tile_rows * (above + in_band % height);
    *col_start = (size_t)tile_cols * (in_band / height);
}

// P = mine + beta P, of one element.
COARSEN_INLINE void COARSEN_(write_one)(COARSEN_TYPE *to, COARSEN_ACC mine, COARSEN_ACC beta)
{
    *to = (COARSEN_TYPE)(beta == (COARSEN_ACC)0 ? mine : mine + beta * (COARSEN_ACC)*to);
}

// `groups` groups of threads share the parts of an element, and their sums are added up in order.
COARSEN_KERNEL void __launch_bounds__(256)
    COARSEN_(add_kernel)(COARSEN_(sums) of, unsigned int groups)
{
    COARSEN_SHARED(COARSEN_ACC, shared_sums, 256);
    const unsigned int width = 256 / groups, group = threadIdx.x / width;
    const size_t e = (size_t)blockIdx.x * width + threadIdx.x % width;
    size_t row, col;
    COARSEN_(place_tile)
    ((unsigned int)of.first + blockIdx.y, (unsigned int)of.tile_rows, (unsigned int)of.tile_cols,
     of.rows, of.cols, &row, &col);
    row += e / of.tile_cols, col += e % of.tile_cols;
    COARSEN_(follow)();
    const size_t area = of.tile_rows * of.tile_cols, step = of.tiles * area; // from part to part
    const bool there = e < area && row < of.rows && col < of.cols;
    const unsigned int parts = (unsigned int)of.parts;
    const COARSEN_ACC *const from = of.sums + blockIdx.y * area + e;
    COARSEN_TYPE *const to = of.p + row * of.step_row + col * of.step_col;
    COARSEN_ACC sum = 0;
    if (groups == 1) {
        if (!there)
            return;
#pragma unroll 16
        for (unsigned int part = 0; part < parts; part++)
            sum += from[part * step];
        COARSEN_(write_one)(to, sum, of.beta);
        return;
    }
    for (unsigned int part = group; there && part < parts; part += 8 * groups) {
        COARSEN_ACC some[8]; // loaded at a time
#pragma unroll
        for (unsigned int q = 0; q < 8; q++) {
            const unsigned int at = part + q * groups;
            some[q] = at < parts ? from[at * step] : (COARSEN_ACC)0;
        }
#pragma unroll
        for (unsigned int q = 0; q < 8; q++)
            sum += some[q];
    }
    shared_sums[threadIdx.x] = sum;
    __syncthreads();
    if (!there || group > 0)
        return;
    for (unsigned int g = 1; g < groups; g++)
        sum += shared_sums[g * width + threadIdx.x];
    COARSEN_(write_one)(to, sum, of.beta);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch_add)(COARSEN_(sums) of, cudaStream_t stream)
{
    unsigned int groups = 1; // as many as have 8 parts each
    while (groups < 32 && of.parts >= 16 * groups)
        groups *= 2;
    const size_t blocks = coarsen_ceil_div(of.tile_rows * of.tile_cols, 256 / groups);
    cudaLaunchConfig_t config = coarsen_launch_config(blocks, 256, 0, stream);
    cudaLaunchAttribute attribute;
    config.gridDim.y = (unsigned int)of.tiles;
    const cudaError_t status =
        COARSEN_(overlap)(&config, &attribute, (const void *)COARSEN_(add_kernel));
    return status == cudaSuccess ? cudaLaunchKernelEx(&config, COARSEN_(add_kernel), of, groups)
                                 : status;
}
#endif
#endif
