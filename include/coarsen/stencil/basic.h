// SPDX-License-Identifier: MIT
//
// coarsen/stencil/basic.h: a star stencil in 3D, first rung: one thread per cell, from global memory.
//     out[z][y][x] = STENCIL(in[z][y][x - order .. x + order], and so along y and z)
//
//     #define COARSEN_NAME         heat
//     #define COARSEN_TYPE         float
//     #define COARSEN_COEFFICIENTS 0.4f, 0.1f
//     #include <coarsen/stencil/basic.h>
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
// Price paid: memory traffic. A cell is loaded 6 COARSEN_ORDER + 1 times, by as many threads: with 7
// coefficients 13 operations for 28 bytes of floats, 0.46 per byte. Caches answer most of these loads,
// so the kernel is as good as they are.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 8.2.

#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#ifndef TILE_WIDTH
#define TILE_WIDTH 8
#elif TILE_WIDTH < 1 || TILE_WIDTH > 10
#error "coarsen/stencil: TILE_WIDTH must be from 1 to 10"
#endif

COARSEN_KERNEL void __launch_bounds__(TILE_WIDTH *TILE_WIDTH *TILE_WIDTH)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                     COARSEN_(corner) first)
{
    const COARSEN_(corner) corner = COARSEN_(tile_corner)(first, TILE_WIDTH, TILE_WIDTH);
    const size_t x = corner.left + threadIdx.x, y = corner.top + threadIdx.y;
    const size_t z = corner.first_z + threadIdx.z;
    if (x >= extent.nx || y >= extent.ny || z >= extent.nz)
        return;

    const size_t here = z * extent.slice_pitch + y * extent.pitch + x;
    const COARSEN_TYPE *const cell = in + here;
    if (COARSEN_(near_edge)(x, extent.nx) || COARSEN_(near_edge)(y, extent.ny) ||
        COARSEN_(near_edge)(z, extent.nz)) {
        out[here] = *cell;
        return;
    }
    const long long pitch = (long long)extent.pitch, slice_pitch = (long long)extent.slice_pitch;
    const COARSEN_TYPE centre = *cell;
    COARSEN_TYPE along_x[COARSEN_SPAN], along_y[COARSEN_SPAN], along_z[COARSEN_SPAN];
#pragma unroll
    for (int i = 0; i < COARSEN_SPAN; i++) {
        const int d = i - COARSEN_ORDER;
        along_x[i] = d == 0 ? centre : cell[COARSEN_(reach)(x, d, extent.nx)];
        along_y[i] = d == 0 ? centre : cell[COARSEN_(reach)(y, d, extent.ny) * pitch];
        along_z[i] = d == 0 ? centre : cell[COARSEN_(reach)(z, d, extent.nz) * slice_pitch];
    }
    out[here] =
        COARSEN_(cell)(along_x + COARSEN_ORDER, along_y + COARSEN_ORDER, along_z + COARSEN_ORDER);
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

#define COARSEN_END
#include "../base.h"
