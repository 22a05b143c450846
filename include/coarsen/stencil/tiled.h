// SPDX-License-Identifier: MIT
//
// coarsen/stencil/tiled.h: second rung, basic.h + the cells that a block needs in shared memory.
//     out[z][y][x] = STENCIL(in[z][y][x - order .. x + order], and so along y and z)
//
//     #define COARSEN_NAME         heat
//     #define COARSEN_TYPE         float
//     #define COARSEN_COEFFICIENTS 0.4f, 0.1f
//     #include <coarsen/stencil/tiled.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the cells: any number type, __half too       |
// | COARSEN_ORDER        | 1                | how far neighbours are, from 1 to 4                  |
// | COARSEN_COEFFICIENTS | this or _STENCIL | COARSEN_ORDER + 1 numbers: of the cell, of those at distance 1, ... |
// | COARSEN_STENCIL      | this or the above | (x, y, z): what a cell becomes, an expression of x[0], x[-1], y[2], ... |
// | COARSEN_BOUNDARY     | COARSEN_COPIED   | or COARSEN_CLAMPED, COARSEN_PERIODIC                 |
// | TILE_WIDTH           | 8                | width of a block's cube of threads, from 1 to 10     |
// Defines NAME_kernel (TILE_WIDTH^3 threads, one block per cube of cells, in a 3D grid) and
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx, size_t ny,
//                             size_t nz, size_t pitch, size_t slice_pitch, cudaStream_t stream)
// in, out: nx x ny x nz cells in device memory, cell x, y, z at [z * slice_pitch + y * pitch + x], in
// elements: pitch >= nx, slice_pitch >= (ny - 1) * pitch + nx. Any size, including 0, at element
// alignment. What lies between rows is neither read nor written. out must not overlap in.
// Boundary: where a neighbour would lie beyond an edge, the cell keeps its value (COARSEN_COPIED), or
// the neighbour is the cell at the edge (COARSEN_CLAMPED) or the one that far from the other edge
// (COARSEN_PERIODIC). An axis of one cell has no edge: the cell is its own neighbour there. So nz = 1
// is a plane, and ny = nz = 1 a line.
// Errors: cudaErrorInvalidValue, with nothing written, for a pitch below the width, a null, misaligned
// or overflowing array, or more than 2^31 - 1 blocks. No scratch. Deterministic.
//
// Price saved: loads of one cell by many threads. A block loads (TILE_WIDTH + 2 COARSEN_ORDER)^3 cells
// for TILE_WIDTH^3 results: 1.95 per cell of a 7-point stencil at 8, where the rung below has 7.
// Price paid: the halo, which neighbouring blocks load too. In 3D it is most of a small cube, and as a
// block has at most 1024 threads, a cube with a thread per cell is small. Corners are loaded for nothing.
// Two barriers: for a table of where the tile's rows are, and for the cells.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 8.3.

#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#ifndef TILE_WIDTH
#define TILE_WIDTH 8
#elif TILE_WIDTH < 1 || TILE_WIDTH > 10
#error "coarsen/stencil: TILE_WIDTH must be from 1 to 10"
#endif

#define COARSEN_SIDE (TILE_WIDTH + 2 * COARSEN_ORDER)
static_assert(
    COARSEN_SIDE * (COARSEN_SIDE * COARSEN_SIDE * sizeof(COARSEN_TYPE) +
                    (COARSEN_SIDE + 1) * sizeof(size_t)) <=
        48 << 10,
    "coarsen/stencil: shared memory has no place for such a tile: give a smaller TILE_WIDTH");

COARSEN_KERNEL void __launch_bounds__(TILE_WIDTH *TILE_WIDTH *TILE_WIDTH)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                     COARSEN_(corner) first)
{
    __shared__ COARSEN_TYPE tile[COARSEN_SIDE * COARSEN_SIDE * COARSEN_SIDE]; // row by row
    // Where the tile's rows are in the grid, or null where no result needs one, and its columns. At the edges cells
    // stand for others, so to find each cell of the tile anew would take more than all the rest.
    __shared__ const COARSEN_TYPE *rows[COARSEN_SIDE * COARSEN_SIDE];
    __shared__ size_t columns[COARSEN_SIDE];
    const COARSEN_(corner) corner = COARSEN_(tile_corner)(first, TILE_WIDTH, TILE_WIDTH);
    const unsigned int thread = (threadIdx.z * TILE_WIDTH + threadIdx.y) * TILE_WIDTH + threadIdx.x;
    const unsigned int threads = TILE_WIDTH * TILE_WIDTH * TILE_WIDTH;

    for (unsigned int i = thread; i < COARSEN_SIDE * COARSEN_SIDE; i += threads) {
        const size_t y = corner.top + i % COARSEN_SIDE, z = corner.first_z + i / COARSEN_SIDE;
        rows[i] = NULL;
        if (y < extent.ny + 2 * COARSEN_ORDER && z < extent.nz + 2 * COARSEN_ORDER)
            rows[i] =
                in + COARSEN_(place)((long long)z - COARSEN_ORDER, extent.nz) * extent.slice_pitch +
                COARSEN_(place)((long long)y - COARSEN_ORDER, extent.ny) * extent.pitch;
        if (i < COARSEN_SIDE)
            columns[i] = COARSEN_(place)((long long)(corner.left + i) - COARSEN_ORDER, extent.nx);
    }
    __syncthreads();
    for (unsigned int i = thread; i < COARSEN_SIDE * COARSEN_SIDE * COARSEN_SIDE; i += threads) {
        const COARSEN_TYPE *const row = rows[i / COARSEN_SIDE];
        if (row != NULL)
            tile[i] = row[columns[i % COARSEN_SIDE]];
    }
    __syncthreads();

    const size_t x = corner.left + threadIdx.x, y = corner.top + threadIdx.y;
    const size_t z = corner.first_z + threadIdx.z;
    if (x >= extent.nx || y >= extent.ny || z >= extent.nz)
        return;
    const COARSEN_TYPE *const cell =
        tile +
        ((threadIdx.z + COARSEN_ORDER) * COARSEN_SIDE + threadIdx.y + COARSEN_ORDER) *
            COARSEN_SIDE +
        threadIdx.x + COARSEN_ORDER;
    COARSEN_TYPE along_x[COARSEN_SPAN], along_y[COARSEN_SPAN], along_z[COARSEN_SPAN];
#pragma unroll
    for (int i = 0; i < COARSEN_SPAN; i++) {
        const int d = i - COARSEN_ORDER;
        along_x[i] = cell[d];
        along_y[i] = cell[d * COARSEN_SIDE];
        along_z[i] = cell[d * COARSEN_SIDE * COARSEN_SIDE];
    }
    const bool kept = COARSEN_(near_edge)(x, extent.nx) || COARSEN_(near_edge)(y, extent.ny) ||
                      COARSEN_(near_edge)(z, extent.nz);
    out[z * extent.slice_pitch + y * extent.pitch + x] =
        kept ? along_x[COARSEN_ORDER]
             : COARSEN_(cell)(along_x + COARSEN_ORDER, along_y + COARSEN_ORDER,
                              along_z + COARSEN_ORDER);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx,
                                          size_t ny, size_t nz, size_t pitch, size_t slice_pitch,
                                          cudaStream_t stream)
{
    const COARSEN_(extent) extent = {nx, ny, nz, pitch, slice_pitch};
    return COARSEN_(launch_tiles)(COARSEN_(kernel), in, out, extent, TILE_WIDTH, TILE_WIDTH,
                                  dim3(TILE_WIDTH, TILE_WIDTH, TILE_WIDTH), stream);
}
#endif

#undef COARSEN_SIDE
#define COARSEN_END
#include "../base.h"
