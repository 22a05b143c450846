// SPDX-License-Identifier: MIT
//
// coarsen/stencil/vectorized.h: fifth rung, register_tiled.h + 16-byte accesses, several rows per thread,
// and slices that are copied ahead. stencil.h is this rung.
//     out[z][y][x] = STENCIL(in[z][y][x - order .. x + order], and so along y and z)
//
//     #define COARSEN_NAME         heat
//     #define COARSEN_TYPE         float
//     #define COARSEN_COEFFICIENTS 0.4f, 0.1f
//     #include <coarsen/stencil/vectorized.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the cells: any number type, __half too       |
// | COARSEN_ORDER        | 1                | how far neighbours are, from 1 to 4                  |
// | COARSEN_COEFFICIENTS | this or _STENCIL | COARSEN_ORDER + 1 numbers: of the cell, of those at distance 1, ... |
// | COARSEN_STENCIL      | this or the above | (x, y, z): what a cell becomes, an expression of x[0], x[-1], y[2], ... |
// | COARSEN_BOUNDARY     | COARSEN_COPIED   | or COARSEN_CLAMPED, COARSEN_PERIODIC                 |
// | BLOCK_DIM            | 256              | threads per block, a multiple of 32 from 32 to 1024  |
// | COARSEN_THREAD_ROWS  | 2                | neighbouring rows per thread, from 1 to 8            |
// | COARSE_FACTOR        | by the device    | slices per block, from 1 to 65536                    |
// | COARSEN_STAGES       | 2                | slices copied ahead, from 1 to 7                     |
// Defines NAME_kernel, NAME_any_kernel (for any alignment) and
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx, size_t ny,
//                             size_t nz, size_t pitch, size_t slice_pitch, cudaStream_t stream)
// in, out: nx x ny x nz cells in device memory, cell x, y, z at [z * slice_pitch + y * pitch + x], in
// elements: pitch >= nx, slice_pitch >= (ny - 1) * pitch + nx. Any size, including 0, at element
// alignment; faster if in, out, and the pitches in bytes are multiples of 16. What lies between rows is
// neither read nor written. out must not overlap in.
// Boundary: where a neighbour would lie beyond an edge, the cell keeps its value (COARSEN_COPIED), or
// the neighbour is the cell at the edge (COARSEN_CLAMPED) or the one that far from the other edge
// (COARSEN_PERIODIC). An axis of one cell has no edge: the cell is its own neighbour there. So nz = 1
// is a plane, and ny = nz = 1 a line.
// Errors: cudaErrorInvalidValue, with nothing written, for a pitch below the width, a null, misaligned
// or overflowing array, or more than 2^31 - 1 blocks; what the device says of a block that needs more
// shared memory than there is. No scratch. Deterministic.
//
// Price saved: waiting. While a block works on a slice, the next ones are on their way to shared memory,
// not through registers, and one barrier per slice is enough. A lane has 16 bytes of cells, of
// COARSEN_THREAD_ROWS rows, which are their own neighbours along y, and a warp loads and stores whole lines.
// Price paid: COARSEN_ORDER + 1 + COARSEN_STAGES slices of shared memory, and a thread's cells of
// 2 COARSEN_ORDER + 1 slices in registers. Fewer blocks: small arrays do not fill the device.
// Source: Micikevicius, 3D Finite Difference Computation on GPUs using CUDA, GPGPU-2, 2009, for the
// walk along z.

#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSEN_THREAD_ROWS
#define COARSEN_THREAD_ROWS 2
#elif !COARSEN_NUMBER(COARSEN_THREAD_ROWS) || COARSEN_THREAD_ROWS < 1 || COARSEN_THREAD_ROWS > 8
#error "coarsen/stencil: COARSEN_THREAD_ROWS must be from 1 to 8"
#endif
#ifndef COARSEN_STAGES
#define COARSEN_STAGES 2
#elif !COARSEN_NUMBER(COARSEN_STAGES) || COARSEN_STAGES < 1 || COARSEN_STAGES > 7
#error "coarsen/stencil: COARSEN_STAGES must be from 1 to 7"
#endif
#if defined(COARSE_FACTOR) && (COARSE_FACTOR < 1 || COARSE_FACTOR > 65536)
#error "coarsen/stencil: COARSE_FACTOR must be from 1 to 65536"
#endif
#include "../block/copy.h"
#include "../block/vector.h"

// A block's cells of a slice, and those that it loads: whole vectors before and after a row.
#define COARSEN_CELLS  (32 * COARSEN_ITEMS)
#define COARSEN_HALO   ((COARSEN_ORDER + COARSEN_ITEMS - 1) / COARSEN_ITEMS * COARSEN_ITEMS)
#define COARSEN_WIDTH  (COARSEN_CELLS + 2 * COARSEN_HALO)
#define COARSEN_TALL   (BLOCK_DIM / 32 * COARSEN_THREAD_ROWS)
#define COARSEN_HEIGHT (COARSEN_TALL + 2 * COARSEN_ORDER)
#define COARSEN_SLOTS  (COARSEN_ORDER + 1 + COARSEN_STAGES) // slices in shared memory

// Begins to copy the cell at place x of a row, or the one that stands for it; zero if no result needs it.
COARSEN_DEVICE void COARSEN_(load_cell)(COARSEN_TYPE *to, const COARSEN_TYPE *row, long long x,
                                        size_t nx)
{
    const bool needed = x >= -(long long)COARSEN_ORDER && x < (long long)nx + COARSEN_ORDER;
    const COARSEN_TYPE *const from = row + (needed ? COARSEN_(place)(x, nx) : 0);
    const COARSEN_TYPE nothing = {};
    // Two floats in a struct are 8 bytes, and need not be aligned to 8.
    if (needed && __alignof__(COARSEN_TYPE) == sizeof(COARSEN_TYPE) &&
        (sizeof(COARSEN_TYPE) == 4 || sizeof(COARSEN_TYPE) == 8))
        COARSEN_(copy_async)(to, from, sizeof(COARSEN_TYPE));
    else
        *to = needed ? *from : nothing;
}

// Begins to copy COARSEN_WIDTH cells of a row, by a warp. x: the place of the first one.
COARSEN_DEVICE void COARSEN_(load_row)(COARSEN_TYPE *to, const COARSEN_TYPE *row, long long x,
                                       size_t nx, const bool aligned)
{
    const unsigned int lane = threadIdx.x % 32;
    if (aligned) {
        const long long last = (long long)nx - (long long)COARSEN_ITEMS; // place of a vector
        for (unsigned int i = lane * COARSEN_ITEMS; i < COARSEN_WIDTH; i += COARSEN_CELLS)
            if (x + i >= 0 && x + i <= last)
                COARSEN_(copy_async)(to + i, row + x + i, 16);
            else
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    COARSEN_(load_cell)(to + i + j, row, x + i + j, nx);
    } else {
        for (unsigned int i = lane; i < COARSEN_WIDTH; i += 32)
            COARSEN_(load_cell)(to + i, row, x + i, nx);
    }
}

// Begins to copy what a block needs of a slice; z: its place. left, top: the first cell of the block.
COARSEN_DEVICE void COARSEN_(load_slice)(COARSEN_TYPE to[COARSEN_HEIGHT][COARSEN_WIDTH],
                                         const COARSEN_TYPE *in, COARSEN_(extent) extent,
                                         size_t left, size_t top, long long z, const bool aligned)
{
    const COARSEN_TYPE *const slice = in + COARSEN_(place)(z, extent.nz) * extent.slice_pitch;
#pragma unroll
    for (unsigned int row = threadIdx.x / 32; row < COARSEN_HEIGHT; row += BLOCK_DIM / 32) {
        const long long y = (long long)(top + row) - COARSEN_ORDER;
        const COARSEN_TYPE *const from = slice + COARSEN_(place)(y, extent.ny) * extent.pitch;
        const long long x = (long long)left - (long long)COARSEN_HALO;
        if (y < (long long)extent.ny + COARSEN_ORDER)
            COARSEN_(load_row)(to[row], from, x, extent.nx, aligned);
    }
}

// Walks depth slices along z. aligned: in, out and the pitches are multiples of 16 bytes.
COARSEN_DEVICE __attribute__((always_inline)) void COARSEN_(walk)(const COARSEN_TYPE *in,
                                                                  COARSEN_TYPE *out,
                                                                  COARSEN_(extent) extent,
                                                                  size_t depth, const bool aligned)
{
    typedef COARSEN_TYPE slice_type[COARSEN_HEIGHT][COARSEN_WIDTH];
    slice_type *const slices = (slice_type *)coarsen_shared;
    const unsigned int column = threadIdx.x % 32 * COARSEN_ITEMS + COARSEN_HALO; // in a slice
    const unsigned int row = threadIdx.x / 32 * COARSEN_THREAD_ROWS + COARSEN_ORDER;
    const size_t columns_x = coarsen_ceil_div(extent.nx, COARSEN_CELLS);
    const size_t columns_y = coarsen_ceil_div(extent.ny, COARSEN_TALL);
    const size_t left = blockIdx.x % columns_x * COARSEN_CELLS;
    const size_t top = blockIdx.x / columns_x % columns_y * COARSEN_TALL;
    const size_t first_z = blockIdx.x / columns_x / columns_y * depth;
    const size_t x = left + column - COARSEN_HALO, y = top + row - COARSEN_ORDER;
    const bool inside = x < extent.nx && y < extent.ny;

    // Step i takes slice first_z - COARSEN_ORDER + i, and makes the results of the slice COARSEN_ORDER below.
    const long long z = (long long)first_z - COARSEN_ORDER;
    const unsigned int steps =
        (unsigned int)coarsen_min(depth, extent.nz - first_z) + 2 * COARSEN_ORDER;
    COARSEN_(vector) along_z[COARSEN_THREAD_ROWS][COARSEN_SPAN];
    for (unsigned int i = 0; i < COARSEN_STAGES; i++) {
        if (i < steps)
            COARSEN_(load_slice)(slices[i], in, extent, left, top, z + i, aligned);
        COARSEN_(copies_end)();
    }
    for (unsigned int i = 0; i < steps; i++) {
        COARSEN_(copies_wait)(COARSEN_STAGES - 1);
        __syncthreads(); // until slice i is there, and nobody reads the one that the next copy overwrites
        slice_type *const next = slices + (i + COARSEN_STAGES) % COARSEN_SLOTS;
        if (i + COARSEN_STAGES < steps)
            COARSEN_(load_slice)(*next, in, extent, left, top, z + i + COARSEN_STAGES, aligned);
        COARSEN_(copies_end)();
        if (!inside)
            continue;
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_THREAD_ROWS; r++) {
#pragma unroll
            for (unsigned int s = 0; s + 1 < COARSEN_SPAN; s++)
                along_z[r][s] = along_z[r][s + 1];
            if (y + r < extent.ny + COARSEN_ORDER) // beyond ny it is a neighbour
                along_z[r][COARSEN_SPAN - 1] =
                    *(const COARSEN_(vector) *)&slices[i % COARSEN_SLOTS][row + r][column];
        }
        if (i < 2 * COARSEN_ORDER)
            continue;

        // The rows around the results, of which some are the thread's own.
        slice_type *const slice = slices + (i - COARSEN_ORDER) % COARSEN_SLOTS;
        COARSEN_(vector) rows[COARSEN_THREAD_ROWS + 2 * COARSEN_ORDER];
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_THREAD_ROWS + 2 * COARSEN_ORDER; r++)
            if (r >= COARSEN_ORDER && r < COARSEN_THREAD_ROWS + COARSEN_ORDER)
                rows[r] = along_z[r - COARSEN_ORDER][COARSEN_ORDER];
            else if (y + r < extent.ny + 2 * COARSEN_ORDER)
                rows[r] = *(const COARSEN_(vector) *)&(*slice)[row + r - COARSEN_ORDER][column];
        const size_t out_z = first_z + i - 2 * COARSEN_ORDER;
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_THREAD_ROWS; r++) {
            if (y + r >= extent.ny)
                break;
            __attribute__((aligned(16))) COARSEN_TYPE along_x[COARSEN_ITEMS + 2 * COARSEN_HALO];
#pragma unroll
            for (unsigned int v = 0; v < COARSEN_ITEMS + 2 * COARSEN_HALO; v += COARSEN_ITEMS)
                *(COARSEN_(vector) *)(along_x + v) =
                    v == COARSEN_HALO
                        ? along_z[r][COARSEN_ORDER]
                        : *(COARSEN_(vector) *)&(*slice)[row + r][column - COARSEN_HALO + v];
            COARSEN_(vector) results;
#pragma unroll
            for (unsigned int v = 0; v < COARSEN_ITEMS; v++) {
                COARSEN_TYPE along_y[COARSEN_SPAN], above[COARSEN_SPAN];
#pragma unroll
                for (unsigned int s = 0; s < COARSEN_SPAN; s++) {
                    along_y[s] = rows[r + s].item[v];
                    above[s] = along_z[r][s].item[v];
                }
                results.item[v] =
                    COARSEN_(at_edge)(extent, x + v, y + r, out_z)
                        ? along_x[COARSEN_HALO + v]
                        : COARSEN_(cell)(along_x + COARSEN_HALO + v, along_y + COARSEN_ORDER,
                                         above + COARSEN_ORDER);
            }
            COARSEN_TYPE *const to = out + out_z * extent.slice_pitch + (y + r) * extent.pitch + x;
            if (aligned && x + COARSEN_ITEMS <= extent.nx)
                *(COARSEN_(vector) *)to = results;
            else
                for (unsigned int v = 0; v < COARSEN_ITEMS && x + v < extent.nx; v++)
                    to[v] = results.item[v];
        }
    }
}

// depth: slices per block.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                     size_t depth)
{
    COARSEN_(walk)(in, out, extent, depth, true);
}

// The same for any alignment, cell by cell.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(any_kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                         size_t depth)
{
    COARSEN_(walk)(in, out, extent, depth, false);
}

#ifndef __CUDACC_RTC__
// How many slices a block takes. A block begins with 2 COARSEN_ORDER slices that give no results, so the fewest blocks
// would be best, but that the last wave of them should fill the device like the others.
COARSEN_HOST size_t COARSEN_(depth)(size_t columns, size_t nz, size_t wave)
{
    size_t best = nz, least = (size_t)-1;
    for (size_t waves = 1; waves <= 8; waves++) {
        const size_t parts = waves * wave / columns; // of each column
        const size_t depth = coarsen_ceil_div(nz, coarsen_min(parts > 0 ? parts : 1, nz));
        const size_t taken = coarsen_ceil_div(columns * coarsen_ceil_div(nz, depth), wave);
        const size_t cost = taken * (depth + 2 * COARSEN_ORDER + COARSEN_STAGES);
        if (cost < least) {
            least = cost;
            best = depth;
        }
    }
    return best;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx,
                                          size_t ny, size_t nz, size_t pitch, size_t slice_pitch,
                                          cudaStream_t stream)
{
    const COARSEN_(extent) extent = {nx, ny, nz, pitch, slice_pitch};
    const size_t shared_bytes =
        COARSEN_SLOTS * COARSEN_HEIGHT * COARSEN_WIDTH * sizeof(COARSEN_TYPE);
    size_t columns = 0, blocks = 0;
    cudaError_t status =
        COARSEN_(count_tiles)(&columns, in, out, extent, COARSEN_CELLS, COARSEN_TALL, nz);
    if (status != cudaSuccess || columns == 0)
        return status;
    const size_t bytes = sizeof(COARSEN_TYPE);
    const bool aligned =
        ((size_t)in | (size_t)out | pitch * bytes | slice_pitch * bytes) % 16 == 0 &&
        sizeof(COARSEN_(vector)) == 16;
    void (*const kernel)(const COARSEN_TYPE *, COARSEN_TYPE *, COARSEN_(extent), size_t) =
        aligned ? COARSEN_(kernel) : COARSEN_(any_kernel);
    status = coarsen_let_share((const void *)kernel, shared_bytes, 0);
    if (status != cudaSuccess)
        return status;
#ifdef COARSE_FACTOR
    const size_t depth = COARSE_FACTOR;
#else
    int resident = 0; // per multiprocessor
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, BLOCK_DIM,
                                                               shared_bytes);
    if (status != cudaSuccess)
        return status;
    const size_t depth = COARSEN_(depth)(columns, nz, processors * (size_t)(resident + !resident));
#endif
    status = COARSEN_(count_tiles)(&blocks, in, out, extent, COARSEN_CELLS, COARSEN_TALL, depth);
    if (status != cudaSuccess)
        return status;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(blocks, BLOCK_DIM, shared_bytes, stream);
    return cudaLaunchKernelEx(&config, kernel, in, out, extent, depth);
}
#endif

#undef COARSEN_CELLS
#undef COARSEN_HALO
#undef COARSEN_WIDTH
#undef COARSEN_TALL
#undef COARSEN_HEIGHT
#undef COARSEN_SLOTS
#define COARSEN_END
#include "../base.h"
