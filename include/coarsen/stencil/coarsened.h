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
// Price saved: the halo. A block takes its column slice by slice, and keeps the 2 COARSEN_ORDER + 1
// slices that a result needs in shared memory. So its threads are a square, which may be 32 wide, and
// the halo along z is loaded once per column: 1.2 loads per cell of a 7-point stencil, 1.95 below. Where
// a thread's cells are in a slice is found once per column, too.
// Price paid: COARSE_FACTOR times fewer blocks, which small arrays do not have; a barrier per slice, at
// which loads are waited for; shared memory for these slices and one that comes in, of which a thread
// reads most cells for itself alone.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 8.4.

#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#define COARSEN_SLOTS (COARSEN_SPAN + 1) // slices in shared memory: those that are read, and one
#ifndef TILE_WIDTH
#define TILE_WIDTH                                                                                 \
    (COARSEN_SLOTS * (32 + 2 * COARSEN_ORDER) * (32 + 2 * COARSEN_ORDER) * sizeof(COARSEN_TYPE) <= \
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

#define COARSEN_SIDE    (TILE_WIDTH + 2 * COARSEN_ORDER)
#define COARSEN_THREADS (TILE_WIDTH * TILE_WIDTH)
// How many cells of a slice a thread copies.
#define COARSEN_COPIES  ((COARSEN_SIDE * COARSEN_SIDE + COARSEN_THREADS - 1) / COARSEN_THREADS)
// With 32 registers per thread, two blocks of 1024 threads are at a time on a multiprocessor that has 2048.
#if COARSEN_PTX == 800 || COARSEN_PTX == 900 || COARSEN_PTX == 1000
#define COARSEN_RESIDENT (TILE_WIDTH == 32 && sizeof(COARSEN_TYPE) <= 4 ? 2 : 1)
#else
#define COARSEN_RESIDENT 1
#endif
static_assert(
    COARSEN_SLOTS * COARSEN_SIDE * COARSEN_SIDE * sizeof(COARSEN_TYPE) <= 48 << 10,
    "coarsen/stencil: shared memory has no place for such slices: give a smaller TILE_WIDTH");

// Copies the thread's cells of a slice.
COARSEN_DEVICE void COARSEN_(copy_slice)(COARSEN_TYPE slice[COARSEN_SIDE * COARSEN_SIDE],
                                         const COARSEN_TYPE *const cells[COARSEN_COPIES],
                                         size_t newest, const bool needed[COARSEN_COPIES])
{
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_COPIES; k++)
        if (needed[k])
            slice[threadIdx.y * TILE_WIDTH + threadIdx.x + k * COARSEN_THREADS] = cells[k][newest];
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, COARSEN_RESIDENT)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                     COARSEN_(corner) first)
{
    // Slice z is in slot (z - first_z + COARSEN_ORDER) % COARSEN_SLOTS.
    __shared__ COARSEN_TYPE slices[COARSEN_SLOTS][COARSEN_SIDE * COARSEN_SIDE];
    const COARSEN_(corner) corner = COARSEN_(tile_corner)(first, TILE_WIDTH, COARSE_FACTOR);
    const size_t left = corner.left, top = corner.top, first_z = corner.first_z;
    const size_t x = left + threadIdx.x, y = top + threadIdx.y;
    const bool inside = x < extent.nx && y < extent.ny;
    const bool kept = COARSEN_(near_edge)(x, extent.nx) || COARSEN_(near_edge)(y, extent.ny);

    // Which cells of a slice the thread copies is the same in each: where they are, and whether a result needs them.
    const COARSEN_TYPE *cells[COARSEN_COPIES];
    bool needed[COARSEN_COPIES];
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_COPIES; k++) {
        const unsigned int i = threadIdx.y * TILE_WIDTH + threadIdx.x + k * COARSEN_THREADS;
        const size_t copied_x = left + i % COARSEN_SIDE, copied_y = top + i / COARSEN_SIDE;
        needed[k] = i < COARSEN_SIDE * COARSEN_SIDE && copied_x < extent.nx + 2 * COARSEN_ORDER &&
                    copied_y < extent.ny + 2 * COARSEN_ORDER;
        cells[k] = in +
                   COARSEN_(place)((long long)copied_y - COARSEN_ORDER, extent.ny) * extent.pitch +
                   COARSEN_(place)((long long)copied_x - COARSEN_ORDER, extent.nx);
    }

    const size_t highest = (extent.nz - 1) * extent.slice_pitch;
    size_t newest = 0; // where the last slice that was copied begins
#pragma unroll 1
    for (unsigned int s = 0; s < COARSEN_SPAN - 1; s++) {
        newest = COARSEN_(place)((long long)(first_z + s) - COARSEN_ORDER, extent.nz) *
                 extent.slice_pitch;
        COARSEN_(copy_slice)(slices[s], cells, newest, needed);
    }

    const COARSEN_(walk_z) walk = COARSEN_(find_walk)(first_z, extent.nz, COARSE_FACTOR);
    COARSEN_TYPE *to = out + first_z * extent.slice_pitch + y * extent.pitch + x;
    // In rounds of as many steps as there are slots, so that a slot's number is a constant.
    for (unsigned int round = 0; round < walk.made; round += COARSEN_SLOTS)
#pragma unroll
        for (unsigned int slot = 0; slot < COARSEN_SLOTS; slot++) {
            const unsigned int step = round + slot;
            if (step >= walk.made)
                return;
            if (newest != highest)
                newest += extent.slice_pitch;
            else if (COARSEN_BOUNDARY == COARSEN_PERIODIC)
                newest = 0;
            COARSEN_TYPE *const unread = slices[(slot + COARSEN_SPAN - 1) % COARSEN_SLOTS];
            COARSEN_(copy_slice)(unread, cells, newest, needed);
            __syncthreads(); // one is enough: who is a step ahead copies where nobody reads
            if (inside) {
                COARSEN_TYPE along_x[COARSEN_SPAN], along_y[COARSEN_SPAN], along_z[COARSEN_SPAN];
                const unsigned int cell =
                    (threadIdx.y + COARSEN_ORDER) * COARSEN_SIDE + threadIdx.x + COARSEN_ORDER;
                const COARSEN_TYPE *const own =
                    &slices[(slot + COARSEN_ORDER) % COARSEN_SLOTS][cell];
#pragma unroll
                for (int i = 0; i < COARSEN_SPAN; i++) {
                    const int d = i - COARSEN_ORDER;
                    along_x[i] = own[d];
                    along_y[i] = own[d * COARSEN_SIDE];
                    along_z[i] = slices[(slot + (unsigned int)i) % COARSEN_SLOTS][cell];
                }
                *to = kept || step < walk.inner || step >= walk.outer
                          ? along_x[COARSEN_ORDER]
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
#undef COARSEN_SLOTS
#undef COARSEN_THREADS
#undef COARSEN_RESIDENT
#undef COARSEN_COPIES
#define COARSEN_END
#include "../base.h"
