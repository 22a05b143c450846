// SPDX-License-Identifier: MIT
//
// coarsen/block/pipeline.h: one pass over an array by tiles, each of which needs what all tiles before it
// hold: the kernels of a scan, and of what stands on one. The header that includes it says what a tile holds
// and what is written for it: before the include by
//     typedef struct { const COARSEN_TYPE *in; size_t skip, end; ... } COARSEN_(arrays);
//     typedef struct { ... } COARSEN_(kept);
// and after it by the three functions below.
//
// It is a part of the inclusion that such a header has opened. In one of its own, as here,
//     #define COARSEN_NAME place
//     #define COARSEN_TYPE unsigned long long
//     #define BLOCK_DIM    256
//     #include <coarsen/block/pipeline.h>
// nobody says what a tile holds, so there are the functions that it stands on, and no kernel.
//
// Before the include: COARSEN_NAME, COARSEN_TYPE and the operator on COARSEN_ACC as for block/scan.h;
// BLOCK_DIM, a multiple of 32 from 64 to 1024; COARSE_FACTOR, the most vectors per thread and tile; and
//     NAME_arrays   what a kernel gets. In whole vectors, the array begins at element `skip` of the first one
//                   and ends before element `end`. All elements here are counted so: in[0] is element skip.
//     NAME_kept     what a thread keeps of a tile from adding it up to writing it
// After it, COARSEN_INLINE functions
//     void NAME_fetch(NAME_kept *kept, NAME_arrays arrays, size_t element, unsigned int rows, unsigned int most)
//     COARSEN_ACC NAME_add_up(NAME_kept *kept, const NAME_vector *stage, NAME_arrays arrays, size_t element,
//                             unsigned int rows, unsigned int most)
//     void NAME_write_tile(const NAME_kept *kept, const NAME_vector *stage, NAME_arrays arrays,
//                          size_t element, unsigned int rows, unsigned int most, COARSEN_ACC start)
// Each is for a warp's part of a tile: `rows` rows of 32 vectors, one run of the array. The calling lane's are
// stage[r * COARSEN_WORKERS], at element + 32 r COARSEN_ITEMS, which it has copied itself: who reads another
// lane's calls __syncwarp() first. most: what rows are at the most, a constant where the function is inlined.
// NAME_fetch begins to read what else there is for the part, and does not wait for it. NAME_add_up gives what
// the part holds, in all lanes. NAME_write_tile gets what is before the part.
// Defines the functions of block/copy.h, block/look_back.h and block/vector.h, and
//     bool NAME_there(NAME_arrays arrays, size_t element, size_t count)    whether that is in the array; device
//     NAME_kernel(arrays, rows, scratch), NAME_short_kernel(arrays, scratch)
//     size_t NAME_skip(const COARSEN_TYPE *in)    of NAME_arrays; host
//     size_t NAME_pass_bytes(size_t n)            of scratch, for the current device; never falls as n grows; host
//     cudaError_t NAME_pass(NAME_arrays arrays, void *scratch, cudaStream_t stream)   launches one; host
//
// How it hides the wait for memory: a block has four tiles in shared memory. While one is copied there, the
// one before is added up, the sum of the next is on its way to the other blocks, and the first is written.
// Meanwhile the first warp takes tickets and looks back, and does nothing else. What that costs: a barrier
// per tile, and shared memory for four of them, so that a multiprocessor has one block. On short arrays the
// steps come one after the other, so a kernel without the pipeline takes those.

#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"

#if BLOCK_DIM < 64
#error "coarsen: BLOCK_DIM must be 64 or more, as one warp looks back for the others"
#endif

#include "copy.h"
#include "look_back.h"
#include "vector.h"

#if COARSEN_PATTERN != COARSEN_PATTERN_REDUCE // which it is in an inclusion of its own

#define COARSEN_WARPS      (BLOCK_DIM / 32 - 1) // that work
#define COARSEN_WORKERS    (32 * COARSEN_WARPS)
#define COARSEN_SHORT_ROWS 4 // of one block
#define COARSEN_TILES      4

#define COARSEN_INLINE     COARSEN_DEVICE __attribute__((always_inline))

COARSEN_INLINE void COARSEN_(fetch)(COARSEN_(kept) * kept, COARSEN_(arrays) arrays, size_t element,
                                    unsigned int rows, unsigned int most);
COARSEN_INLINE COARSEN_ACC COARSEN_(add_up)(COARSEN_(kept) * kept, const COARSEN_(vector) * stage,
                                            COARSEN_(arrays) arrays, size_t element,
                                            unsigned int rows, unsigned int most);
COARSEN_INLINE void COARSEN_(write_tile)(const COARSEN_(kept) * kept,
                                         const COARSEN_(vector) * stage, COARSEN_(arrays) arrays,
                                         size_t element, unsigned int rows, unsigned int most,
                                         COARSEN_ACC start);

COARSEN_DEVICE bool COARSEN_(there)(COARSEN_(arrays) arrays, size_t element, size_t count)
{
    return element >= arrays.skip && element + count <= arrays.end;
}

// Copies the vector at an element, as far as it is there.
COARSEN_DEVICE void COARSEN_(fill)(COARSEN_(vector) * to, COARSEN_(arrays) arrays, size_t element)
{
    const COARSEN_TYPE *const from = arrays.in + (element - arrays.skip);
    if (!COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
#pragma unroll 1
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (COARSEN_(there)(arrays, element + j, 1))
                to->item[j] = from[j];
    } else if (sizeof(COARSEN_(vector)) == 16 && COARSEN_VECTOR_ALIGN(COARSEN_TYPE) == 16) {
        COARSEN_(copy_async)(to, from, 16);
    } else {
        *to = *(const COARSEN_(vector) *)from;
    }
}

// Begins to copy the calling thread's vectors of a tile.
COARSEN_DEVICE void COARSEN_(copy_tile)(COARSEN_(vector) * stage, COARSEN_(arrays) arrays,
                                        size_t element, unsigned int rows)
{
#pragma unroll
    for (unsigned int r = 0; r < COARSE_FACTOR; r++)
        if (r < rows)
            COARSEN_(fill)(stage + r * COARSEN_WORKERS, arrays, element + r * 32 * COARSEN_ITEMS);
    COARSEN_(copies_end)();
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(COARSEN_(arrays) arrays, unsigned int rows, unsigned long long *scratch)
{
    // In turns, as one is written while the other is read: of each warp its total and what is before it,
    // and the tile to copy.
    COARSEN_SHARED(COARSEN_ACC, totals, 2 * COARSEN_WARPS);
    COARSEN_SHARED(COARSEN_ACC, starts, 2 * COARSEN_WARPS);
    __shared__ unsigned long long first;
    __shared__ unsigned int next[2];

    // Computed again: a kernel's parameter it would be read each time, which takes 2% with 8-byte elements.
    arrays.end -= arrays.skip;
    arrays.skip = (size_t)arrays.in / sizeof(COARSEN_TYPE) % COARSEN_ITEMS;
    arrays.end += arrays.skip;
    // The first warp, which the hardware prefers, looks back. The others work, numbered from 0.
    const bool works = threadIdx.x >= 32;
    const unsigned int warp = threadIdx.x / 32 - 1, lane = threadIdx.x % 32;
    const size_t items = (size_t)rows * COARSEN_WORKERS * COARSEN_ITEMS; // of a tile
    const unsigned int tiles = (unsigned int)coarsen_ceil_div(arrays.end, items);
    // A warp's vectors of a tile are one run, row by row. Each thread copies those that it reads.
    const size_t mine = (size_t)(warp * rows * 32 + lane) * COARSEN_ITEMS;
    const unsigned int step = rows * COARSEN_WORKERS;
    COARSEN_(vector) *at_added =
        (COARSEN_(vector) *)coarsen_shared + threadIdx.x; // 32 are not used
    COARSEN_(vector) *at_copied = at_added + step, *at_read = at_copied + step;
    COARSEN_(vector) *at_written = at_read + step;

    // Each block asks until there is no tile left.
    const unsigned int takes = tiles + gridDim.x;
    if (threadIdx.x == 0) {
        first = COARSEN_(take)(scratch);
        next[0] = COARSEN_(tile_of)(scratch, first, takes);
    }
    __syncthreads();
    const COARSEN_(slots) slots = COARSEN_(find_slots)(scratch, first, tiles);

    // Four tiles at a time: the last of them is copied, the one before it is added up, then there is one
    // whose sum the others read, and the first is written.
    unsigned int copied = tiles, added = next[0], read = tiles, written = tiles;
    COARSEN_(kept) kept_copied, kept_added, kept_read, kept_written;
    // In the first warp, in lane w: what is before warp w in the tile; and the tile's sum.
    COARSEN_ACC below_read = COARSEN_(identity)(), below_written = below_read;
    COARSEN_ACC sum_read = below_read, sum_written = below_read;
    if (works && added < tiles) {
        COARSEN_(copy_tile)(at_added, arrays, added * items + mine, rows);
        COARSEN_(fetch)(&kept_added, arrays, added * items + mine, rows, COARSE_FACTOR);
    }
    if (threadIdx.x == 0)
        next[1] =
            added < tiles ? COARSEN_(tile_of)(scratch, COARSEN_(take)(scratch), takes) : tiles;
    __syncthreads();
    for (unsigned int turn = 1; written < tiles || read < tiles || added < tiles; turn = 1 - turn) {
        copied = next[turn];
        if (works) {
            if (copied < tiles) {
                COARSEN_(copy_tile)(at_copied, arrays, copied * items + mine, rows);
                COARSEN_(fetch)(&kept_copied, arrays, copied * items + mine, rows, COARSE_FACTOR);
                COARSEN_(copies_wait)(1);
            } else {
                COARSEN_(copies_wait)(0);
            }
            if (added < tiles) {
                const COARSEN_ACC total = COARSEN_(add_up)(
                    &kept_added, at_added, arrays, added * items + mine, rows, COARSE_FACTOR);
                if (lane == 0)
                    totals[turn * COARSEN_WARPS + warp] = total;
            }
        } else {
            unsigned long long after = 0; // asked for now, needed last
            COARSEN_(sight) sight;
            if (written < tiles)
                COARSEN_(ask)(slots, written, &sight);
            if (lane == 0 && copied < tiles)
                after = COARSEN_(take)(scratch);
            if (read < tiles) {
                const COARSEN_ACC warps = COARSEN_(warp_inclusive)(
                    lane < COARSEN_WARPS ? totals[(1 - turn) * COARSEN_WARPS + lane]
                                         : COARSEN_(identity)());
                below_read = COARSEN_(from_below)(warps, 1);
                sum_read = COARSEN_(of_lane)(warps, COARSEN_WARPS - 1);
                COARSEN_(publish)(slots, read, sum_read);
            }
            if (written < tiles) {
                const COARSEN_ACC start = COARSEN_(look_back)(slots, written, &sight, sum_written);
                if (lane < COARSEN_WARPS)
                    starts[turn * COARSEN_WARPS + lane] =
                        lane == 0 ? start : COARSEN_(op)(start, below_written);
            }
            below_written = below_read, sum_written = sum_read;
            if (lane == 0)
                next[1 - turn] = copied < tiles ? COARSEN_(tile_of)(scratch, after, takes) : tiles;
        }
        __syncthreads();
        if (works && written < tiles)
            COARSEN_(write_tile)
        (&kept_written, at_written, arrays, written * items + mine, rows, COARSE_FACTOR,
         starts[turn * COARSEN_WARPS + warp]);

        COARSEN_(vector) *const free = at_written;
        at_written = at_read, at_read = at_added, at_added = at_copied, at_copied = free;
        written = read, read = added, added = copied;
        kept_written = kept_read, kept_read = kept_added, kept_added = kept_copied;
    }
}

// A short array: a row of vectors per block, or a few rows and one block. It is over so soon that the
// fetching of its instructions counts, hence a kernel of its own.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(short_kernel)(COARSEN_(arrays) arrays, unsigned long long *scratch)
{
    COARSEN_SHARED(COARSEN_ACC, start, 1);
    __shared__ unsigned long long ticket;
    __shared__ unsigned int tile;
    const unsigned int tiles = gridDim.x;
    if (threadIdx.x == 0) {
        ticket = tiles > 1 ? COARSEN_(take)(scratch) : 0;
        tile = tiles > 1 ? COARSEN_(tile_of)(scratch, ticket, tiles) : 0;
    }
    __syncthreads();
    COARSEN_(vector) *const vectors = (COARSEN_(vector) *)coarsen_shared + threadIdx.x;
    const size_t row = BLOCK_DIM * COARSEN_ITEMS, first = tile * row + threadIdx.x * COARSEN_ITEMS;
    const unsigned int rows = tiles > 1 ? 1 : (unsigned int)coarsen_ceil_div(arrays.end, row);
    for (unsigned int r = 0; r < rows; r++)
        COARSEN_(fill)(vectors + r * BLOCK_DIM, arrays, first + r * row);
    COARSEN_(copies_end)();
    COARSEN_(copies_wait)(0);

    COARSEN_ACC before = COARSEN_(identity)(), total;
    for (unsigned int r = 0; r < rows; r++) {
        COARSEN_(kept) kept;
        const size_t element = first + r * row;
        COARSEN_(fetch)(&kept, arrays, element, 1, 1);
        const COARSEN_ACC warps = COARSEN_(warps_before)(
            COARSEN_(add_up)(&kept, vectors + r * BLOCK_DIM, arrays, element, 1, 1), &total);
        if (tiles > 1) {
            if (threadIdx.x < 32) {
                const COARSEN_(slots) slots = COARSEN_(find_slots)(scratch, ticket, tiles);
                COARSEN_(sight) sight;
                COARSEN_(publish)(slots, tile, total);
                COARSEN_(ask)(slots, tile, &sight);
                before = COARSEN_(look_back)(slots, tile, &sight, total);
                if (threadIdx.x == 0)
                    start[0] = before;
            }
            __syncthreads();
            before = start[0];
        }
        COARSEN_(write_tile)
        (&kept, vectors + r * BLOCK_DIM, arrays, element, 1, 1,
         threadIdx.x < 32 ? before : COARSEN_(op)(before, warps));
        before = r == 0 ? total : COARSEN_(op)(before, total);
        __syncthreads();
    }
}

#ifndef __CUDACC_RTC__
// Blocks that the kernel for short arrays may have.
COARSEN_HOST size_t COARSEN_(short_blocks)(cudaError_t *status)
{
    return coarsen_attribute(cudaDevAttrMultiProcessorCount, status);
}

// The rows of a tile: as many as let four tiles fit in shared memory, or fewer, where the last turn would
// otherwise be for few.
COARSEN_HOST size_t COARSEN_(rows)(size_t n, cudaError_t *status)
{
    const size_t row_bytes = COARSEN_WORKERS * sizeof(COARSEN_(vector));
    const size_t shared = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, status);
    const size_t blocks = coarsen_attribute(cudaDevAttrMultiProcessorCount, status);
    const size_t other = 1024 + 4 * COARSEN_WARPS * sizeof(COARSEN_ACC) +
                         32 * sizeof(COARSEN_(vector)); // that a block has there
    const size_t fit = shared > other ? (shared - other) / (COARSEN_TILES * row_bytes) : 0;
    const size_t most = coarsen_min(COARSE_FACTOR, fit > 0 ? fit : 1);
    const size_t rows = coarsen_ceil_div(coarsen_ceil_div(n, COARSEN_WORKERS * COARSEN_ITEMS),
                                         blocks > 0 ? blocks : 1);
    return coarsen_ceil_div(rows, coarsen_ceil_div(rows, most));
}

COARSEN_HOST size_t COARSEN_(pass_bytes)(size_t n)
{
    cudaError_t status = cudaSuccess;
    const size_t row = COARSEN_WORKERS * COARSEN_ITEMS;
    // Tiles have at least half of the most rows if there are more of them than blocks.
    const size_t half = (COARSEN_(rows)((size_t)-1, &status) + 1) / 2;
    const size_t tiles =
        coarsen_min(n / (BLOCK_DIM * COARSEN_ITEMS), COARSEN_(short_blocks)(&status)) +
        n / row / half + 2;
    return COARSEN_(look_back_bytes)(tiles);
}

COARSEN_HOST size_t COARSEN_(skip)(const COARSEN_TYPE *in)
{
    return COARSEN_ITEMS > 1 ? (size_t)in % sizeof(COARSEN_(vector)) / sizeof(COARSEN_TYPE) : 0;
}

// At least one element.
COARSEN_HOST cudaError_t COARSEN_(pass)(COARSEN_(arrays) arrays, void *scratch, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    const size_t short_rows = coarsen_ceil_div(arrays.end, BLOCK_DIM * COARSEN_ITEMS);
    if (short_rows <= COARSEN_(short_blocks)(&status)) {
        const size_t row_bytes = BLOCK_DIM * sizeof(COARSEN_(vector));
        const bool alone = short_rows <= COARSEN_SHORT_ROWS && short_rows * row_bytes <= 32 << 10;
        const size_t shared_bytes = (alone ? short_rows : 1) * row_bytes;
        // More than there is without asking for it, with what else a block has there?
        if (shared_bytes > 32 << 10)
            status = cudaFuncSetAttribute((const void *)COARSEN_(short_kernel),
                                          cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)shared_bytes);
        if (status != cudaSuccess)
            return status;
        const cudaLaunchConfig_t config =
            coarsen_launch_config(alone ? 1 : short_rows, BLOCK_DIM, shared_bytes, stream);
        return cudaLaunchKernelEx(&config, COARSEN_(short_kernel), arrays,
                                  (unsigned long long *)scratch);
    }
    const size_t rows = COARSEN_(rows)(arrays.end - arrays.skip, &status);
    const size_t tiles = coarsen_ceil_div(arrays.end, rows * COARSEN_WORKERS * COARSEN_ITEMS);
    const size_t shared_bytes =
        (32 + COARSEN_TILES * rows * COARSEN_WORKERS) * sizeof(COARSEN_(vector));
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    int resident = 0; // blocks per multiprocessor
    if (status == cudaSuccess)
        status =
            cudaFuncSetAttribute((const void *)COARSEN_(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               BLOCK_DIM, shared_bytes);
    if (status != cudaSuccess)
        return status;
    const size_t at_a_time = coarsen_min(tiles, processors * (size_t)(resident > 0 ? resident : 1));
    if (tiles > 0xffffffff - at_a_time)
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(at_a_time, BLOCK_DIM, shared_bytes, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), arrays, (unsigned int)rows,
                              (unsigned long long *)scratch);
}
#endif // __CUDACC_RTC__

#undef COARSEN_SHORT_ROWS
#undef COARSEN_TILES
#endif // COARSEN_PATTERN

#define COARSEN_END
#include "../base.h"
