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
// in a 3D grid) and
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
// its registers. Only the slice in the middle is shared: two slices of shared memory, in turn, in place
// of 2 COARSEN_ORDER + 2, and 2 COARSEN_ORDER fewer reads of it per cell. The halo of the other slices
// is not loaded.
// Price paid: 2 COARSEN_ORDER + 1 registers per thread, which move on by one for each slice, and still
// a barrier per slice. The halo is loaded when it is needed, so its latency is waited for.
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

#define COARSEN_SIDE    (TILE_WIDTH + 2 * COARSEN_ORDER)
#define COARSEN_THREADS (TILE_WIDTH * TILE_WIDTH)
// Cells of a slice's halo, on all four sides without corners, and how many of them a thread copies.
#define COARSEN_HALO    (4 * COARSEN_ORDER * TILE_WIDTH)
#define COARSEN_COPIES  ((COARSEN_HALO + COARSEN_THREADS - 1) / COARSEN_THREADS)
// With 32 registers per thread, two blocks of 1024 threads are at a time on a multiprocessor that has 2048.
#if COARSEN_PTX == 800 || COARSEN_PTX == 900 || COARSEN_PTX == 1000
#define COARSEN_RESIDENT (TILE_WIDTH == 32 && sizeof(COARSEN_TYPE) * COARSEN_ORDER <= 8 ? 2 : 1)
#else
#define COARSEN_RESIDENT 1
#endif

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, COARSEN_RESIDENT)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                     COARSEN_(corner) first)
{
    // The slice of the results, with its halo, and the one before, which other threads may still read.
    __shared__ COARSEN_TYPE slices[2][COARSEN_SIDE * COARSEN_SIDE];
    const COARSEN_(corner) corner = COARSEN_(tile_corner)(first, TILE_WIDTH, COARSE_FACTOR);
    const size_t left = corner.left, top = corner.top, first_z = corner.first_z;
    const size_t x = left + threadIdx.x, y = top + threadIdx.y;
    const bool inside = x < extent.nx && y < extent.ny;
    const bool kept = COARSEN_(near_edge)(x, extent.nx) || COARSEN_(near_edge)(y, extent.ny);
    const unsigned int cell =
        (threadIdx.y + COARSEN_ORDER) * COARSEN_SIDE + threadIdx.x + COARSEN_ORDER;

    // The thread's own cell of the grid's first slice. Beyond the last cells there may be threads whose cells are the
    // halo of these.
    const bool needed = x < extent.nx + COARSEN_ORDER && y < extent.ny + COARSEN_ORDER;
    const COARSEN_TYPE *const own = in + COARSEN_(place)((long long)y, extent.ny) * extent.pitch +
                                    COARSEN_(place)((long long)x, extent.nx);

    // Which cells of the halo the thread copies is the same in each slice: where they are in the first one, where they
    // go, and whether a result needs them.
    const COARSEN_TYPE *halo[COARSEN_COPIES];
    unsigned int halo_cells[COARSEN_COPIES];
    bool halo_needed[COARSEN_COPIES];
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_COPIES; k++) {
        const unsigned int i = threadIdx.y * TILE_WIDTH + threadIdx.x + k * COARSEN_THREADS;
        const unsigned int along = i % TILE_WIDTH + COARSEN_ORDER; // the edge
        const unsigned int depth = i / TILE_WIDTH % (2 * COARSEN_ORDER);
        const unsigned int across = depth < COARSEN_ORDER ? depth : depth + TILE_WIDTH;
        const bool row = i / TILE_WIDTH >= 2 * COARSEN_ORDER;
        const unsigned int halo_x = row ? along : across, halo_y = row ? across : along;
        halo_cells[k] = halo_y * COARSEN_SIDE + halo_x;
        halo_needed[k] = i < COARSEN_HALO && left + halo_x < extent.nx + 2 * COARSEN_ORDER &&
                         top + halo_y < extent.ny + 2 * COARSEN_ORDER;
        halo[k] =
            in + first_z * extent.slice_pitch +
            COARSEN_(place)((long long)(top + halo_y) - COARSEN_ORDER, extent.ny) * extent.pitch +
            COARSEN_(place)((long long)(left + halo_x) - COARSEN_ORDER, extent.nx);
    }

    const size_t highest = (extent.nz - 1) * extent.slice_pitch;
    size_t newest = 0; // where the last slice that was loaded begins
    COARSEN_TYPE along_z[COARSEN_SPAN];
#pragma unroll
    for (int i = 1; i < COARSEN_SPAN; i++) {
        newest = COARSEN_(place)((long long)first_z + i - 1 - COARSEN_ORDER, extent.nz) *
                 extent.slice_pitch;
        if (needed)
            along_z[i] = own[newest];
    }

    const COARSEN_(walk_z) walk = COARSEN_(find_walk)(first_z, extent.nz, COARSE_FACTOR);
    COARSEN_TYPE *to = out + first_z * extent.slice_pitch + y * extent.pitch + x;
#pragma unroll 1
    for (unsigned int step = 0; step < walk.made; step++) {
        COARSEN_TYPE *const slice = slices[step % 2];
        if (newest != highest)
            newest += extent.slice_pitch;
        else if (COARSEN_BOUNDARY == COARSEN_PERIODIC)
            newest = 0;
#pragma unroll
        for (int i = 0; i < COARSEN_SPAN - 1; i++)
            along_z[i] = along_z[i + 1];
        if (needed) {
            along_z[COARSEN_SPAN - 1] = own[newest];
            slice[cell] = along_z[COARSEN_ORDER];
        }
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_COPIES; k++) {
            if (halo_needed[k])
                slice[halo_cells[k]] = *halo[k];
            halo[k] += extent.slice_pitch;
        }
        __syncthreads(); // one is enough: who is a step ahead copies to the other slice
        if (inside) {
            COARSEN_TYPE along_x[COARSEN_SPAN], along_y[COARSEN_SPAN];
#pragma unroll
            for (int i = 0; i < COARSEN_SPAN; i++) {
                const int d = i - COARSEN_ORDER;
                along_x[i] = slice[(int)cell + d];
                along_y[i] = slice[(int)cell + d * COARSEN_SIDE];
            }
            *to = kept || step < walk.inner || step >= walk.outer
                      ? along_z[COARSEN_ORDER]
                      : COARSEN_(cell)(along_x + COARSEN_ORDER, along_y + COARSEN_ORDER,
                                       along_z + COARSEN_ORDER);
        }
        to += extent.slice_pitch;
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
#undef COARSEN_THREADS
#undef COARSEN_RESIDENT
#undef COARSEN_HALO
#undef COARSEN_COPIES
#define COARSEN_END
#include "../base.h"
