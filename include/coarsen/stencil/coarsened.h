// SPDX-License-Identifier: MIT
//
// coarsen/stencil/coarsened.h: third rung, tiled.h + COARSE_FACTOR cells per thread, along z.
//     out[z][y][x] = STENCIL(in[z][y][x - order .. x + order], and so along y and z)
//
//     #define COARSEN_NAME         heat
//     #define COARSEN_TYPE         float
//     #define COARSEN_COEFFICIENTS 0.4f, 0.1f
//     #include <coarsen/stencil/coarsened.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the cells: any number type, __half too       |
// | COARSEN_ORDER        | 1                | how far neighbours are, from 1 to 4                  |
// | COARSEN_COEFFICIENTS | this or _STENCIL | COARSEN_ORDER + 1 numbers: of the cell, of those at distance 1, ... |
// | COARSEN_STENCIL      | this or the above | (x, y, z): what a cell becomes, an expression of x[0], x[-1], y[2], ... |
// | COARSEN_BOUNDARY     | COARSEN_COPIED   | or COARSEN_CLAMPED, COARSEN_PERIODIC                 |
// | TILE_WIDTH           | 32, or 16 for large slices | width of a block's square of threads, from 1 to 32 |
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
// Price saved: the halo. A block takes its column slice by slice, and keeps the 2 COARSEN_ORDER + 1
// slices that a result needs in shared memory. So its threads are a square, which may be 32 wide, and
// the halo along z is loaded once per column: 1.2 loads per cell of a 7-point stencil, 1.95 below.
// Price paid: COARSE_FACTOR times fewer blocks, which small arrays do not have; two barriers per slice;
// shared memory for 2 COARSEN_ORDER + 1 slices, of which a thread reads most cells for itself alone.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 8.4.

#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#ifndef TILE_WIDTH
#define TILE_WIDTH                                                                                 \
    (COARSEN_SPAN * (32 + 2 * COARSEN_ORDER) * (32 + 2 * COARSEN_ORDER) * sizeof(COARSEN_TYPE) <=  \
             48 << 10                                                                              \
         ? 32                                                                                      \
         : 16)
#elif TILE_WIDTH < 1 || TILE_WIDTH > 32
#error "coarsen/stencil: TILE_WIDTH must be from 1 to 32"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 32
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 1024
#error "coarsen/stencil: COARSE_FACTOR must be from 1 to 1024"
#endif

#define COARSEN_SIDE (TILE_WIDTH + 2 * COARSEN_ORDER)
static_assert(
    COARSEN_SPAN * COARSEN_SIDE * COARSEN_SIDE * sizeof(COARSEN_TYPE) <= 48 << 10,
    "coarsen/stencil: shared memory has no place for such slices: give a smaller TILE_WIDTH");

// Copies slice z of what a block needs, whose first cell, behind the halo, is left, top.
COARSEN_DEVICE void COARSEN_(load_slice)(COARSEN_TYPE slice[COARSEN_SIDE][COARSEN_SIDE],
                                         const COARSEN_TYPE *in, COARSEN_(extent) extent,
                                         size_t left, size_t top, long long z)
{
    for (unsigned int i = threadIdx.y * TILE_WIDTH + threadIdx.x; i < COARSEN_SIDE * COARSEN_SIDE;
         i += TILE_WIDTH * TILE_WIDTH) {
        const unsigned int x = i % COARSEN_SIDE, y = i / COARSEN_SIDE;
        if (left + x < extent.nx + 2 * COARSEN_ORDER && top + y < extent.ny + 2 * COARSEN_ORDER)
            slice[y][x] = *COARSEN_(cell_at)(in, extent, (long long)(left + x) - COARSEN_ORDER,
                                             (long long)(top + y) - COARSEN_ORDER, z);
    }
}

COARSEN_KERNEL void __launch_bounds__(TILE_WIDTH *TILE_WIDTH)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent)
{
    // Slice z is at slices[(z - first_z + COARSEN_ORDER) % COARSEN_SPAN].
    __shared__ COARSEN_TYPE slices[COARSEN_SPAN][COARSEN_SIDE][COARSEN_SIDE];
    const COARSEN_(corner) corner =
        COARSEN_(find_corner)(extent, TILE_WIDTH, TILE_WIDTH, COARSE_FACTOR);
    const size_t left = corner.left, top = corner.top, first_z = corner.first_z;
    const unsigned int made = (unsigned int)coarsen_min(COARSE_FACTOR, extent.nz - first_z);
    const size_t x = left + threadIdx.x, y = top + threadIdx.y;
    const bool inside = x < extent.nx && y < extent.ny;

    const long long z_before = (long long)first_z - COARSEN_ORDER;
    for (unsigned int s = 0; s < COARSEN_SPAN - 1; s++)
        COARSEN_(load_slice)(slices[s], in, extent, left, top, z_before + s);
    for (unsigned int step = 0; step < made; step++) {
        const size_t z = first_z + step;
        const unsigned int last = step + COARSEN_SPAN - 1;
        COARSEN_(load_slice)(slices[last % COARSEN_SPAN], in, extent, left, top, z_before + last);
        __syncthreads();
        if (inside) {
            COARSEN_TYPE along_x[COARSEN_SPAN], along_y[COARSEN_SPAN], along_z[COARSEN_SPAN];
            const unsigned int slot = (step + COARSEN_ORDER) % COARSEN_SPAN;
#pragma unroll
            for (unsigned int i = 0; i < COARSEN_SPAN; i++) {
                along_x[i] = slices[slot][threadIdx.y + COARSEN_ORDER][threadIdx.x + i];
                along_y[i] = slices[slot][threadIdx.y + i][threadIdx.x + COARSEN_ORDER];
                along_z[i] = slices[(step + i) % COARSEN_SPAN][threadIdx.y + COARSEN_ORDER]
                                   [threadIdx.x + COARSEN_ORDER];
            }
            out[z * extent.slice_pitch + y * extent.pitch + x] =
                COARSEN_(at_edge)(extent, x, y, z)
                    ? along_x[COARSEN_ORDER]
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
