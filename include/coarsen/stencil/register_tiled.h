// SPDX-License-Identifier: MIT
//
// coarsen/stencil/register_tiled.h: fourth rung, coarsened.h + neighbours along z in registers.
//     out[z][y][x] = STENCIL(in[z][y][x - order .. x + order], and so along y and z)
//
//     #define COARSEN_NAME         heat
//     #define COARSEN_TYPE         float
//     #define COARSEN_COEFFICIENTS 0.4f, 0.1f
//     #include <coarsen/stencil/register_tiled.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the cells: any number type, __half too       |
// | COARSEN_ORDER        | 1                | how far neighbours are, from 1 to 4                  |
// | COARSEN_COEFFICIENTS | this or _STENCIL | COARSEN_ORDER + 1 numbers: of the cell, of those at distance 1, ... |
// | COARSEN_STENCIL      | this or the above | (x, y, z): what a cell becomes, an expression of x[0], x[-1], y[2], ... |
// | COARSEN_BOUNDARY     | COARSEN_COPIED   | or COARSEN_CLAMPED, COARSEN_PERIODIC                 |
// | TILE_WIDTH           | 32               | width of a block's square of threads, from 1 to 32   |
// | COARSE_FACTOR        | 32               | cells per thread, one above the other, from 1 to 1024 |
// Defines NAME_kernel (TILE_WIDTH^2 threads, one block per column of COARSE_FACTOR squares of cells,
// row by row) and
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
// Price saved: shared memory. A cell's neighbours along z belong to the same thread, so they stay in
// its registers. Only the slice in the middle is shared: a (2 COARSEN_ORDER + 1)th of the shared memory,
// and 2 COARSEN_ORDER fewer reads of it per cell. The halo of the other slices is not loaded.
// Price paid: 2 COARSEN_ORDER + 1 registers per thread, which move on by one for each slice, and still
// two barriers per slice. The halo is loaded when it is needed, so its latency is waited for.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 8.5.

#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#elif TILE_WIDTH < 1 || TILE_WIDTH > 32
#error "coarsen/stencil: TILE_WIDTH must be from 1 to 32"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 32
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 1024
#error "coarsen/stencil: COARSE_FACTOR must be from 1 to 1024"
#endif

#define COARSEN_SIDE (TILE_WIDTH + 2 * COARSEN_ORDER)

COARSEN_KERNEL void __launch_bounds__(TILE_WIDTH *TILE_WIDTH)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent)
{
    // The slice of the results, with its halo.
    __shared__ COARSEN_TYPE slice[COARSEN_SIDE][COARSEN_SIDE];
    const COARSEN_(corner) corner =
        COARSEN_(find_corner)(extent, TILE_WIDTH, TILE_WIDTH, COARSE_FACTOR);
    const size_t left = corner.left, top = corner.top, first_z = corner.first_z;
    const unsigned int made = (unsigned int)coarsen_min(COARSE_FACTOR, extent.nz - first_z);
    const size_t x = left + threadIdx.x, y = top + threadIdx.y;
    const bool inside = x < extent.nx && y < extent.ny;

    // Beyond the last cells there may be threads whose cells are the halo of these.
    const bool needed = x < extent.nx + COARSEN_ORDER && y < extent.ny + COARSEN_ORDER;
    const long long here_x = (long long)x, here_y = (long long)y;

    COARSEN_TYPE along_z[COARSEN_SPAN];
#pragma unroll
    for (int i = 1; i < COARSEN_SPAN; i++)
        if (needed)
            along_z[i] = *COARSEN_(cell_at)(in, extent, here_x, here_y,
                                            (long long)first_z + i - 1 - COARSEN_ORDER);
    for (unsigned int step = 0; step < made; step++) {
        const size_t z = first_z + step;
#pragma unroll
        for (int i = 0; i < COARSEN_SPAN - 1; i++)
            along_z[i] = along_z[i + 1];
        if (needed) {
            along_z[COARSEN_SPAN - 1] =
                *COARSEN_(cell_at)(in, extent, here_x, here_y, (long long)z + COARSEN_ORDER);
            slice[threadIdx.y + COARSEN_ORDER][threadIdx.x + COARSEN_ORDER] =
                along_z[COARSEN_ORDER];
        }
        // The halo on all four sides, without corners.
        const unsigned int thread = threadIdx.y * TILE_WIDTH + threadIdx.x;
        for (unsigned int i = thread; i < 4 * COARSEN_ORDER * TILE_WIDTH;
             i += TILE_WIDTH * TILE_WIDTH) {
            const unsigned int along = i % TILE_WIDTH + COARSEN_ORDER; // the edge
            const unsigned int depth = i / TILE_WIDTH % (2 * COARSEN_ORDER);
            const unsigned int across = depth < COARSEN_ORDER ? depth : depth + TILE_WIDTH;
            const bool row = i / TILE_WIDTH >= 2 * COARSEN_ORDER;
            const unsigned int halo_x = row ? along : across, halo_y = row ? across : along;
            if (left + halo_x < extent.nx + 2 * COARSEN_ORDER &&
                top + halo_y < extent.ny + 2 * COARSEN_ORDER)
                slice[halo_y][halo_x] =
                    *COARSEN_(cell_at)(in, extent, (long long)(left + halo_x) - COARSEN_ORDER,
                                       (long long)(top + halo_y) - COARSEN_ORDER, (long long)z);
        }
        __syncthreads();
        if (inside) {
            COARSEN_TYPE along_x[COARSEN_SPAN], along_y[COARSEN_SPAN];
#pragma unroll
            for (unsigned int i = 0; i < COARSEN_SPAN; i++) {
                along_x[i] = slice[threadIdx.y + COARSEN_ORDER][threadIdx.x + i];
                along_y[i] = slice[threadIdx.y + i][threadIdx.x + COARSEN_ORDER];
            }
            out[z * extent.slice_pitch + y * extent.pitch + x] =
                COARSEN_(at_edge)(extent, x, y, z)
                    ? along_z[COARSEN_ORDER]
                    : COARSEN_(cell)(along_x + COARSEN_ORDER, along_y + COARSEN_ORDER,
                                     along_z + COARSEN_ORDER);
        }
        __syncthreads();
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx,
                                          size_t ny, size_t nz, size_t pitch, size_t slice_pitch,
                                          cudaStream_t stream)
{
    const COARSEN_(extent) extent = {nx, ny, nz, pitch, slice_pitch};
    return COARSEN_(launch_tiles)(COARSEN_(kernel), in, out, extent, TILE_WIDTH, COARSE_FACTOR,
                                  dim3(TILE_WIDTH, TILE_WIDTH), stream);
}
#endif

#undef COARSEN_SIDE
#define COARSEN_END
#include "../base.h"
