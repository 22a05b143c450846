// SPDX-License-Identifier: MIT
//
// coarsen/stencil/vectorized.h: fifth rung, register_tiled.h + 16-byte accesses, and the cache in place of
// shared memory. stencil.h is this rung.
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
// | BLOCK_DIM            | 128              | threads per block, a multiple of 32 from 32 to 1024  |
// | COARSEN_THREAD_ROWS  | 1                | neighbouring rows per thread, from 1 to 8            |
// | COARSE_FACTOR        | by the device    | slices per block, from 1 to 65536                    |
// Defines NAME_kernel, NAME_any_kernel (for any alignment and width) and
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx, size_t ny,
//                             size_t nz, size_t pitch, size_t slice_pitch, cudaStream_t stream)
//     cudaError_t NAME_plan(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx, size_t ny, size_t nz,
//                           size_t pitch, size_t slice_pitch, NAME_planned *plan)
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid,
// plan->block, plan->shared_bytes, stream>>>(in, out, plan->extent, plan->depth). Without cells plan->grid.x is 0:
// there is nothing to launch.
// in, out: nx x ny x nz cells in device memory, cell x, y, z at [z * slice_pitch + y * pitch + x], in
// elements: pitch >= nx, slice_pitch >= (ny - 1) * pitch + nx. Any size, including 0, at element
// alignment; faster if in, out, and nx and the pitches in bytes are multiples of 16. What lies between
// rows is neither read nor written. out must not overlap in.
// Boundary: where a neighbour would lie beyond an edge, the cell keeps its value (COARSEN_COPIED), or
// the neighbour is the cell at the edge (COARSEN_CLAMPED) or the one that far from the other edge
// (COARSEN_PERIODIC). An axis of one cell has no edge: the cell is its own neighbour there. So nz = 1
// is a plane, and ny = nz = 1 a line. COARSEN_STENCIL may also be computed where a cell keeps its value.
// Errors: cudaErrorInvalidValue, with nothing written, for a pitch below the width, a null, misaligned
// or overflowing array, or more than 2^31 - 1 blocks. No scratch. Deterministic.
//
// Price saved: the barrier per slice, and the way of each cell through shared memory. A lane has 16
// bytes of cells. Its neighbours along x and y were loaded by other warps a moment ago, so the first-level
// cache has them: no thread waits for another one. The next slice is asked for a step ahead.
// Price paid: 2 COARSEN_ORDER + 2 slices of 16 bytes per row in registers, so few threads per
// multiprocessor at order 4. A block's first slices give no results; the cache has them, too, if a block
// takes so few slices that the block below it left them there.
// Source: Micikevicius, 3D Finite Difference Computation on GPUs using CUDA, GPGPU-2, 2009, for the
// walk along z.

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_STENCIL_BLOCK_DIM)
#define BLOCK_DIM COARSEN_STENCIL_BLOCK_DIM
#endif
#if !defined(COARSEN_THREAD_ROWS) && defined(COARSEN_STENCIL_THREAD_ROWS)
#define COARSEN_THREAD_ROWS COARSEN_STENCIL_THREAD_ROWS
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_STENCIL_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_STENCIL_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 128
#endif
#ifndef COARSEN_THREAD_ROWS
#define COARSEN_THREAD_ROWS 1
#elif !COARSEN_NUMBER(COARSEN_THREAD_ROWS) || COARSEN_THREAD_ROWS < 1 || COARSEN_THREAD_ROWS > 8
#error "coarsen/stencil: COARSEN_THREAD_ROWS must be from 1 to 8"
#endif
#if defined(COARSE_FACTOR) && (COARSE_FACTOR < 1 || COARSE_FACTOR > 65536)
#error "coarsen/stencil: COARSE_FACTOR must be from 1 to 65536"
#endif
#include "../block/vector.h"

#define COARSEN_CELLS  (32 * COARSEN_ITEMS) // of a block along x, and along y:
#define COARSEN_TALL   (BLOCK_DIM / 32 * COARSEN_THREAD_ROWS)
#define COARSEN_AROUND (COARSEN_THREAD_ROWS + 2 * COARSEN_ORDER) // rows that a thread needs
#define COARSEN_BESIDE ((COARSEN_ORDER + COARSEN_ITEMS - 1) / COARSEN_ITEMS) // vectors on each side

// How many threads a multiprocessor should have, and so how many registers each may: more threads hide more latency.
#if COARSEN_PTX >= 800
#define COARSEN_RESIDENT (COARSEN_ORDER == 1 ? 1280 : COARSEN_ORDER == 2 ? 896 : 512)
#else
#define COARSEN_RESIDENT (COARSEN_ORDER == 1 ? 1024 : COARSEN_ORDER == 2 ? 896 : 512)
#endif
#define COARSEN_RESIDENT_ANY    (COARSEN_ORDER == 1 ? 1024 : COARSEN_ORDER == 2 ? 768 : 384)
#define COARSEN_BLOCKS(threads) ((threads) / COARSEN_THREAD_ROWS / BLOCK_DIM)
#define COARSEN_BOUNDS(threads)                                                                    \
    __launch_bounds__(BLOCK_DIM, sizeof(COARSEN_(vector)) == 16 && COARSEN_BLOCKS(threads) > 0     \
                                     ? COARSEN_BLOCKS(threads)                                     \
                                     : 1)

// A thread's cells of a row: a vector of them, or, unless aligned, so many that are 32 apart.
COARSEN_INLINE COARSEN_(vector)
    COARSEN_(take)(const COARSEN_TYPE *row, unsigned int cells, const bool aligned)
{
    COARSEN_(vector) taken = {};
    if (aligned)
        return *(const COARSEN_(vector) *)row;
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
        if (v < cells)
            taken.item[v] = row[32 * v];
    return taken;
}

// A vector beside a thread's own. beyond: it would lie beyond an edge, and the one there stands for it, in which item
// edge is the cell at the edge.
COARSEN_INLINE COARSEN_(vector)
    COARSEN_(beside)(const COARSEN_TYPE *from, COARSEN_UNUSED bool beyond,
                     COARSEN_UNUSED unsigned int edge)
{
    COARSEN_(vector) cells = *(const COARSEN_(vector) *)from;
#if COARSEN_BOUNDARY == COARSEN_CLAMPED
    const COARSEN_TYPE last = cells.item[edge];
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
        if (beyond)
            cells.item[v] = last;
#endif
    return cells;
}

// The neighbours along x of each of a thread's own cells, where rows are whole vectors. row: its first cell; beside:
// the distances to the vectors around; before, behind: how many cells there are in the row.
COARSEN_INLINE void COARSEN_(line_of_vectors)(COARSEN_TYPE along_x[COARSEN_ITEMS][COARSEN_SPAN],
                                              const COARSEN_TYPE *row, COARSEN_(vector) own,
                                              const long long *beside, unsigned int before,
                                              unsigned int behind)
{
    COARSEN_(vector) line[2 * COARSEN_BESIDE + 1];
#pragma unroll
    for (unsigned int h = 0; h < COARSEN_BESIDE; h++) {
        const unsigned int reach = (COARSEN_BESIDE - h) * COARSEN_ITEMS;
        line[h] = COARSEN_(beside)(row + beside[h], before < reach, 0);
        line[2 * COARSEN_BESIDE - h] = COARSEN_(beside)(row + beside[2 * COARSEN_BESIDE - h],
                                                        behind < reach, COARSEN_ITEMS - 1);
    }
    line[COARSEN_BESIDE] = own;
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
#pragma unroll
        for (unsigned int s = 0; s < COARSEN_SPAN; s++) {
            const unsigned int at = COARSEN_BESIDE * COARSEN_ITEMS + v + s - COARSEN_ORDER;
            along_x[v][s] = line[at / COARSEN_ITEMS].item[at % COARSEN_ITEMS];
        }
}

// The same, cell by cell. inner: a bit for each cell with all neighbours in its row. A cell that has not, and keeps its
// value or is alone in its row, is its own neighbour.
COARSEN_INLINE void COARSEN_(line_of_cells)(COARSEN_TYPE along_x[COARSEN_ITEMS][COARSEN_SPAN],
                                            const COARSEN_TYPE *row, COARSEN_(vector) own,
                                            unsigned int inner, size_t x, unsigned int cells,
                                            size_t nx)
{
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
#pragma unroll
        for (unsigned int s = 0; s < COARSEN_SPAN; s++) {
            const int at = (int)(32 * v + s) - COARSEN_ORDER; // from x
            along_x[v][s] = own.item[v];
            if (s == COARSEN_ORDER)
                continue;
            if (inner >> v & 1)
                along_x[v][s] = row[at];
            else if (COARSEN_BOUNDARY != COARSEN_COPIED && v < cells)
                along_x[v][s] =
                    row[(long long)COARSEN_(place)((long long)x + at, nx) - (long long)x];
        }
}

// Walks depth slices along z. aligned: rows begin at multiples of 16 bytes, and are whole vectors.
COARSEN_INLINE void COARSEN_(walk)(const COARSEN_TYPE *__restrict__ in,
                                   COARSEN_TYPE *__restrict__ out, COARSEN_(extent) extent,
                                   size_t depth, const bool aligned)
{
    const COARSEN_(corner) corner =
        COARSEN_(find_corner)(extent, COARSEN_CELLS, COARSEN_TALL, depth);
    const size_t first_z = corner.first_z;
    const unsigned int apart = aligned ? 1 : 32;
    const size_t x = corner.left + threadIdx.x % 32 * (aligned ? COARSEN_ITEMS : 1);
    const size_t y = corner.top + threadIdx.x / 32 * COARSEN_THREAD_ROWS;
    if (x >= extent.nx || y >= extent.ny)
        return;

    // How many cells of its row are before the thread's first one and behind it, or very many.
    const unsigned int before = (unsigned int)coarsen_min(x, 1u << 30);
    const unsigned int behind = (unsigned int)coarsen_min(extent.nx - 1 - x, 1u << 30);
    const unsigned int cells = (unsigned int)coarsen_min(behind / apart + 1, COARSEN_ITEMS);
    const COARSEN_(walk_z) walk =
        COARSEN_(find_walk)(first_z, extent.nz, (unsigned int)coarsen_min(depth, 1u << 30));

    // How far from the thread's first cell the rows around are, and the vectors beside.
    long long around[COARSEN_AROUND], beside[2 * COARSEN_BESIDE + 1];
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_AROUND; r++)
        around[r] = ((long long)COARSEN_(place)((long long)(y + r) - COARSEN_ORDER, extent.ny) -
                     (long long)y) *
                    (long long)extent.pitch;
#pragma unroll
    for (unsigned int h = 0; h < 2 * COARSEN_BESIDE + 1; h++)
        if (aligned)
            beside[h] = (long long)(COARSEN_(place)((long long)(x / COARSEN_ITEMS + h) -
                                                        (long long)COARSEN_BESIDE,
                                                    extent.nx / COARSEN_ITEMS) *
                                    COARSEN_ITEMS) -
                        (long long)x;

    // A bit for each cell with all neighbours in its row, and for each cell and each row that keep their values.
    unsigned int inner_x = 0, kept_y = 0;
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
        inner_x |= (unsigned int)(before + apart * v >= COARSEN_ORDER &&
                                  behind >= apart * v + COARSEN_ORDER)
                   << v;
    const unsigned int kept_x = COARSEN_BOUNDARY == COARSEN_COPIED && extent.nx > 1 ? ~inner_x : 0;
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_THREAD_ROWS; r++)
        kept_y |= (unsigned int)COARSEN_(near_edge)(y + r, extent.ny) << r;

    // The thread's cells of slices z - COARSEN_ORDER to z + COARSEN_ORDER + 1: the last one is for the next step.
    COARSEN_(vector) along_z[COARSEN_THREAD_ROWS][COARSEN_SPAN + 1];
    const size_t first = y * extent.pitch + x;
    const COARSEN_TYPE *newest = in;
    size_t newest_z = 0;
#pragma unroll
    for (unsigned int s = 1; s < COARSEN_SPAN + 1; s++) {
        newest_z = COARSEN_(place)((long long)(first_z + s) - 1 - COARSEN_ORDER, extent.nz);
        newest = in + newest_z * extent.slice_pitch + first;
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_THREAD_ROWS; r++)
            along_z[r][s] = COARSEN_(take)(newest + around[r + COARSEN_ORDER], cells, aligned);
    }
    // The newest slice goes up until this step. Then the grid ends, or begins anew.
    unsigned int rises = (unsigned int)coarsen_min(extent.nz - 1 - newest_z, walk.made);
    const COARSEN_TYPE *here = in + first_z * extent.slice_pitch + first;
    COARSEN_TYPE *to = out + first_z * extent.slice_pitch + first;
#pragma unroll 1 // more would need registers, and so cost threads
    for (unsigned int step = 0; step < walk.made; step++) {
        if (step < rises) {
            newest += extent.slice_pitch;
        } else if (COARSEN_BOUNDARY == COARSEN_PERIODIC) {
            newest -= (extent.nz - 1) * extent.slice_pitch;
            rises = (unsigned int)coarsen_min(step + extent.nz, walk.made);
        }
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_THREAD_ROWS; r++) {
#pragma unroll
            for (unsigned int s = 0; s < COARSEN_SPAN; s++)
                along_z[r][s] = along_z[r][s + 1];
        }
        COARSEN_(vector) rows[COARSEN_AROUND];
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AROUND; r++)
            rows[r] = r >= COARSEN_ORDER && r < COARSEN_THREAD_ROWS + COARSEN_ORDER
                          ? along_z[r - COARSEN_ORDER][COARSEN_ORDER]
                          : COARSEN_(take)(here + around[r], cells, aligned);
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_THREAD_ROWS; r++)
            if (!aligned || step + 1 < walk.made) // cell by cell, to ask costs more than the loads
                along_z[r][COARSEN_SPAN] =
                    COARSEN_(take)(newest + around[r + COARSEN_ORDER], cells, aligned);
        const bool kept_z = step < walk.inner || step >= walk.outer;
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_THREAD_ROWS; r++) {
            if (y + r >= extent.ny)
                break;
            const COARSEN_TYPE *const row = here + r * extent.pitch;
            const COARSEN_(vector) own = along_z[r][COARSEN_ORDER];
            const unsigned int kept = kept_z || kept_y >> r & 1 ? ~0u : kept_x;
            COARSEN_TYPE along_x[COARSEN_ITEMS][COARSEN_SPAN];
            if (aligned)
                COARSEN_(line_of_vectors)(along_x, row, own, beside, before, behind);
            else
                COARSEN_(line_of_cells)(along_x, row, own, inner_x, x, cells, extent.nx);
            COARSEN_(vector) results;
#pragma unroll
            for (unsigned int v = 0; v < COARSEN_ITEMS; v++) {
                COARSEN_TYPE along_y[COARSEN_SPAN], above[COARSEN_SPAN];
#pragma unroll
                for (unsigned int s = 0; s < COARSEN_SPAN; s++) {
                    along_y[s] = rows[r + s].item[v];
                    above[s] = along_z[r][s].item[v];
                }
                if (aligned || v < cells)
                    results.item[v] = COARSEN_(cell)(
                        along_x[v] + COARSEN_ORDER, along_y + COARSEN_ORDER, above + COARSEN_ORDER);
            }
            if (kept != 0)
#pragma unroll
                for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
                    if (kept >> v & 1)
                        results.item[v] = own.item[v];
            COARSEN_TYPE *const to_row = to + r * extent.pitch;
            if (aligned)
                *(COARSEN_(vector) *)to_row = results;
            else
#pragma unroll
                for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
                    if (v < cells)
                        to_row[32 * v] = results.item[v];
        }
        here += extent.slice_pitch;
        to += extent.slice_pitch;
    }
}

// depth: slices per block.
COARSEN_KERNEL void COARSEN_BOUNDS(COARSEN_RESIDENT)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                     size_t depth)
{
    COARSEN_(walk)(in, out, extent, depth, true);
}

// The same for any alignment, cell by cell.
COARSEN_KERNEL void COARSEN_BOUNDS(COARSEN_RESIDENT_ANY)
    COARSEN_(any_kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                         size_t depth)
{
    COARSEN_(walk)(in, out, extent, depth, false);
}

#ifndef __CUDACC_RTC__
typedef struct {
    void (*kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                   size_t depth);
    dim3 grid, block;
    size_t shared_bytes, scratch_bytes;
    COARSEN_(extent) extent;
    size_t depth;
} COARSEN_(planned);

COARSEN_HOST cudaError_t COARSEN_(plan)(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx,
                                        size_t ny, size_t nz, size_t pitch, size_t slice_pitch,
                                        COARSEN_(planned) * plan)
{
    const COARSEN_(extent) extent = {nx, ny, nz, pitch, slice_pitch};
    size_t columns = 0, blocks = 0;
    plan->grid = dim3(0); // nothing to launch
    cudaError_t status =
        COARSEN_(count_tiles)(&columns, in, out, extent, COARSEN_CELLS, COARSEN_TALL, nz);
    if (status != cudaSuccess || columns == 0)
        return status;
    const bool aligned = COARSEN_(aligned)(in, out, extent) && sizeof(COARSEN_(vector)) == 16;
#ifdef COARSE_FACTOR
    const size_t depth = COARSE_FACTOR;
#else
    int resident = 0; // blocks per multiprocessor
    size_t depth = 0;
    status = aligned ? cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                                     BLOCK_DIM, 0)
                     : cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                           &resident, COARSEN_(any_kernel), BLOCK_DIM, 0);
    if (status == cudaSuccess)
        status = COARSEN_(choose_depth)(&depth, resident, extent, columns, 8 * COARSEN_ORDER,
                                        64 * COARSEN_ORDER);
    if (status != cudaSuccess)
        return status;
#endif
    status = COARSEN_(count_tiles)(&blocks, in, out, extent, COARSEN_CELLS, COARSEN_TALL, depth);
    plan->kernel = aligned ? COARSEN_(kernel) : COARSEN_(any_kernel);
    plan->grid = dim3((unsigned int)blocks);
    plan->block = dim3(BLOCK_DIM);
    plan->shared_bytes = plan->scratch_bytes = 0;
    plan->extent = extent;
    plan->depth = depth;
    return status;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx,
                                          size_t ny, size_t nz, size_t pitch, size_t slice_pitch,
                                          cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    const cudaError_t status = COARSEN_(plan)(in, out, nx, ny, nz, pitch, slice_pitch, &plan);
    if (status != cudaSuccess || plan.grid.x == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    if (plan.kernel == COARSEN_(kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, plan.extent, plan.depth);
    return cudaLaunchKernelEx(&config, COARSEN_(any_kernel), in, out, plan.extent, plan.depth);
}
#endif

#undef COARSEN_CELLS
#undef COARSEN_TALL
#undef COARSEN_AROUND
#undef COARSEN_BESIDE
#undef COARSEN_RESIDENT
#undef COARSEN_RESIDENT_ANY
#undef COARSEN_BLOCKS
#undef COARSEN_BOUNDS
#define COARSEN_END
#include "../base.h"
