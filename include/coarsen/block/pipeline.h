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
//     NAME_arrays   what a kernel gets. In whole lines of 128 bytes (vectors, if they are smaller than 16 bytes), the
//                   array begins at element `skip` of the first one and ends before element `end`. All elements here are
//                   counted so: in[0] is element skip.
//     NAME_kept     what a thread keeps of a tile from copying it to writing it
//     COARSEN_ITEMS only if a vector is to have fewer elements than 16 bytes of them: a power of two, 4 bytes or more
//     COARSEN_BESIDE only if a multiprocessor is to have more than one block where each has one tile: how many, for
//                   which there are registers
//     COARSEN_ROW   only if a warp's row is to have more room in shared memory than for its 32 vectors: how much, in
//                   vectors, a multiple of 16 bytes. The vectors of all rows come first, and then the room
// After it, COARSEN_INLINE functions
//     void NAME_fetch(NAME_kept *kept, NAME_arrays arrays, size_t element, unsigned int rows, unsigned int most)
//     COARSEN_ACC NAME_add_up(NAME_kept *kept, NAME_vector *stage, NAME_arrays arrays, size_t element,
//                             unsigned int rows, unsigned int most)
//     void NAME_write_tile(const NAME_kept *kept, NAME_vector *stage, NAME_arrays arrays,
//                          size_t element, unsigned int rows, unsigned int most, COARSEN_ACC start)
// and, if COARSEN_ROW is defined,
//     void NAME_copy_more(NAME_vector *stage, NAME_arrays arrays, size_t element, unsigned int rows,
//                         unsigned int most)
// Each is for a warp's part of a tile: `rows` rows of 32 vectors, one run of the array, and of stage. The
// calling lane's are stage[32 r], at element + 32 r COARSEN_ITEMS, which it has copied itself: who reads
// another lane's calls __syncwarp() first. most: what rows are at the most, a constant where the function is
// inlined. NAME_fetch begins to read what else there is for the part, and does not wait for it; NAME_copy_more begins
// to copy it to the room behind the vectors, and is waited for with them. NAME_add_up gives what the part holds, in
// all lanes, and what it leaves in the part is there when NAME_write_tile gets what is before the part.
// Defines the functions of block/copy.h, block/look_back.h and block/vector.h, and
//     bool NAME_there(NAME_arrays arrays, size_t element, size_t count)    whether that is in the array; device
//     NAME_kernel(arrays, rows, scratch), NAME_alone_kernel, NAME_row_kernel, NAME_rows_kernel, NAME_tile_kernel,
//                                           likewise
//     NAME_line                             a constant: elements of a line, or of a vector
//     size_t NAME_skip(const COARSEN_TYPE *in)    of NAME_arrays, less than NAME_line; host
//     size_t NAME_pass_bytes(size_t n)            of scratch, for the current device; never falls as n grows; host
//     cudaError_t NAME_plan_pass(NAME_arrays arrays, NAME_planned *plan)    which of them, and how, but for
//                                           scratch_bytes: kernel, grid, block, shared_bytes, arrays, rows; host
//     cudaError_t NAME_launch_plan(const NAME_planned *plan, void *scratch, cudaStream_t stream)    launches it; host
//     cudaError_t NAME_pass(NAME_arrays arrays, void *scratch, cudaStream_t stream)    does both; host
//
// How it hides the wait for memory: a block has four tiles in shared memory. While one is copied there, the
// one before is added up, the sum of the next is on its way to the other blocks, and the first is written.
// Meanwhile the first warp takes tickets and looks back, and does nothing else. What that costs: a barrier
// per tile, and shared memory for four of them, so that a multiprocessor has one block. Where a block would
// have but one tile, the steps come one after the other, and the fetching of instructions counts. So such
// arrays have kernels without the pipeline: of one block, of a row of vectors per block, of few rows, or of a tile.

#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"

#if BLOCK_DIM < 64
#error "coarsen: BLOCK_DIM must be 64 or more, as one warp looks back for the others"
#endif

#include "copy.h"
#include "look_back.h"
#include "vector.h"

#if COARSEN_PATTERN != COARSEN_PATTERN_REDUCE // which it is in an inclusion of its own

#define COARSEN_WARPS   (BLOCK_DIM / 32 - 1) // that work
#define COARSEN_WORKERS (32 * COARSEN_WARPS)
#define COARSEN_TILES   4
#define COARSEN_STEP_BYTES                                                                         \
    ((COARSEN_TILES * COARSEN_WARPS + 1) * COARSEN_ROW *                                           \
     sizeof(COARSEN_(vector))) // of shared memory, per row
// Rows of a short tile; and those of one block alone, or of one per multiprocessor: of up to 16 elements per thread.
#define COARSEN_FEW_ROWS (COARSE_FACTOR < 4 ? COARSE_FACTOR : 4)
#define COARSEN_ALONE                                                                              \
    (16 / COARSEN_ITEMS < COARSEN_FEW_ROWS ? 16 / COARSEN_ITEMS : COARSEN_FEW_ROWS)
#ifndef COARSEN_BESIDE
#define COARSEN_BESIDE 1
#endif

// Whole vectors of elements begin at a multiple of so many: where a line of the cache does, as a warp's row of 16-byte
// vectors then reads no more lines than it has. Smaller ones are of elements whose results are larger.
enum {
    COARSEN_(line) = sizeof(COARSEN_(vector)) == 16 ? 128 / sizeof(COARSEN_TYPE) : COARSEN_ITEMS
};

COARSEN_INLINE void COARSEN_(fetch)(COARSEN_(kept) * kept, COARSEN_(arrays) arrays, size_t element,
                                    unsigned int rows, unsigned int most);
COARSEN_INLINE COARSEN_ACC COARSEN_(add_up)(COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                            COARSEN_(arrays) arrays, size_t element,
                                            unsigned int rows, unsigned int most);
COARSEN_INLINE void COARSEN_(write_tile)(const COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                         COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                         unsigned int most, COARSEN_ACC start);
#ifdef COARSEN_ROW
COARSEN_INLINE void COARSEN_(copy_more)(COARSEN_(vector) * stage, COARSEN_(arrays) arrays,
                                        size_t element, unsigned int rows, unsigned int most);
#else
#define COARSEN_ROW 32
COARSEN_INLINE void COARSEN_(copy_more)(COARSEN_(vector) *, COARSEN_(arrays), size_t, unsigned int,
                                        unsigned int)
{
}
#endif

COARSEN_DEVICE bool COARSEN_(there)(COARSEN_(arrays) arrays, size_t element, size_t count)
{
    return element >= arrays.skip && element + count <= arrays.end;
}

// Copies the vector at an element, as far as it is there: whole, or by the least units that are copied asynchronously,
// and zeros behind and before these.
COARSEN_DEVICE void COARSEN_(fill)(COARSEN_(vector) * to, COARSEN_(arrays) arrays, size_t element)
{
    const COARSEN_TYPE *const from = arrays.in + (element - arrays.skip);
    const bool async = 16 % sizeof(COARSEN_TYPE) == 0;
    const unsigned int unit = async && sizeof(COARSEN_TYPE) < 4 ? 4 / sizeof(COARSEN_TYPE) : 1;
    if (COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
        if (async)
            COARSEN_(copy_async)(to, from, sizeof(COARSEN_(vector)));
        else
            *to = *(const COARSEN_(vector) *)from;
        return;
    }
    const COARSEN_TYPE zero = {};
#pragma unroll 1
    for (unsigned int u = 0; u < COARSEN_ITEMS && element < arrays.end; u += unit) {
        if (async && COARSEN_(there)(arrays, element + u, unit)) {
            COARSEN_(copy_async)(&to->item[u], from + u, unit * sizeof(COARSEN_TYPE));
            continue;
        }
#pragma unroll 1
        for (unsigned int j = u; j < u + unit; j++)
            to->item[j] = COARSEN_(there)(arrays, element + j, 1) ? from[j] : zero;
    }
}

// Begins to copy the calling lane's vectors of a part, and to fetch what else there is for it.
COARSEN_INLINE void COARSEN_(copy_tile)(COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                        COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                        unsigned int most)
{
#pragma unroll
    for (unsigned int r = 0; r < most; r++)
        if (r < rows)
            COARSEN_(fill)(stage + r * 32, arrays, element + r * 32 * COARSEN_ITEMS);
    COARSEN_(copy_more)(stage, arrays, element, rows, most);
    COARSEN_(copies_end)();
    COARSEN_(fetch)(kept, arrays, element, rows, most);
}

// Of the warps' totals, what is before warp w in the tile, in lane w, and the tile's sum, which the other blocks
// can read then. By the first warp.
COARSEN_DEVICE void COARSEN_(leave_sum)(COARSEN_(slots) slots, unsigned int tile,
                                        const COARSEN_ACC *totals, COARSEN_ACC *below,
                                        COARSEN_ACC *sum)
{
    const unsigned int lane = threadIdx.x % 32;
    const COARSEN_ACC warps =
        COARSEN_(warp_inclusive)(lane < COARSEN_WARPS ? totals[lane] : COARSEN_(identity)());
    *below = COARSEN_(from_below)(warps, 1);
    *sum = COARSEN_(of_lane)(warps, COARSEN_WARPS - 1);
    COARSEN_(publish)(slots, tile, *sum);
}

// The 1: a multiprocessor has one block. Left out, the compiler may spill registers to let it have more, for which
// there is no shared memory. Measured: a scan of 2^28 ints then takes 1.6 times as long.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(kernel)(COARSEN_(arrays) arrays, unsigned int rows, unsigned long long *scratch)
{
    // In turns, as one is written while the other is read: of each warp its total and what is before it,
    // and the tile to copy.
    COARSEN_SHARED(COARSEN_ACC, totals, 2 * COARSEN_WARPS);
    COARSEN_SHARED(COARSEN_ACC, starts, 2 * COARSEN_WARPS);
    __shared__ unsigned long long first;
    __shared__ unsigned int next[2], ready; // ready: how many totals there have been

    // Whether a block that waits for others' sums leaves its own next one meanwhile. Measured: with sums of 8 bytes
    // this makes a scan 6% faster and a selection 8%, and with sums of 4 bytes a scan 7% slower.
    const bool early = COARSEN_(words_of_slot) > 1;

    // Computed again: a kernel's parameter it would be read each time, which takes 2% with 8-byte elements.
    arrays.end -= arrays.skip;
    arrays.skip = (size_t)arrays.in / sizeof(COARSEN_TYPE) % COARSEN_(line);
    arrays.end += arrays.skip;
    // The first warp, which the hardware prefers, looks back. The others work, numbered from 0.
    const bool works = threadIdx.x >= 32;
    const unsigned int warp = threadIdx.x / 32 - 1, lane = threadIdx.x % 32;
    const size_t items = (size_t)rows * COARSEN_WORKERS * COARSEN_ITEMS; // of a tile
    const unsigned int tiles = (unsigned int)coarsen_ceil_div(arrays.end, items);
    // A warp's vectors of a tile are one run, row by row. Each thread copies those that it reads.
    const unsigned int step = rows * (COARSEN_WARPS * COARSEN_ROW);
    const size_t mine = (size_t)(warp * rows * 32 + lane) * COARSEN_ITEMS;
    COARSEN_(vector) *at_added = // with a part for the first warp too, which it does not use
        (COARSEN_(vector) *)coarsen_shared + (threadIdx.x / 32 * rows * COARSEN_ROW + lane);
    COARSEN_(vector) *at_copied = at_added + step, *at_read = at_copied + step;
    COARSEN_(vector) *at_written = at_read + step;

    // Each block asks until there is no tile left.
    const unsigned int takes = tiles + gridDim.x;
    if (threadIdx.x == 0) {
        ready = 0;
        first = COARSEN_(take)(scratch);
        next[0] = COARSEN_(tile_of)(scratch, first, takes);
    }
    __syncthreads();
    const COARSEN_(slots) slots = COARSEN_(find_slots)(scratch, first, tiles);

    // Four tiles at a time: the last of them is copied, the one before it is added up, then there is one
    // whose sum the others read, and the first is written.
    unsigned int copied = tiles, added = next[0], read = tiles, written = tiles;
    COARSEN_(kept) kept_copied = {}, kept_added, kept_read, kept_written;
    // In the first warp, in lane w: what is before warp w in the tile; and the tile's sum.
    COARSEN_ACC below_read = COARSEN_(identity)(), below_written = below_read;
    COARSEN_ACC sum_read = below_read, sum_written = below_read;
    unsigned int parts = 0; // totals that there have been, at the end of the turn
    bool left = false;      // whether the other blocks can read the sum of the tile `read` already
    if (works && added < tiles)
        COARSEN_(copy_tile)
    (&kept_added, at_added, arrays, added * items + mine, rows, COARSE_FACTOR);
    if (threadIdx.x == 0)
        next[1] =
            added < tiles ? COARSEN_(tile_of)(scratch, COARSEN_(take)(scratch), takes) : tiles;
    __syncthreads();
    for (unsigned int turn = 1; written < tiles || read < tiles || added < tiles; turn = 1 - turn) {
        copied = next[turn];
        if (works) {
            if (copied < tiles) {
                COARSEN_(copy_tile)
                (&kept_copied, at_copied, arrays, copied * items + mine, rows, COARSE_FACTOR);
                COARSEN_(copies_wait)(1);
            } else {
                COARSEN_(copies_wait)(0);
            }
            if (added < tiles) {
                const COARSEN_ACC total = COARSEN_(add_up)(
                    &kept_added, at_added, arrays, added * items + mine, rows, COARSE_FACTOR);
                if (lane == 0)
                    totals[turn * COARSEN_WARPS + warp] = total;
                if (early && lane == 0) {
                    __threadfence_block();
                    atomicAdd(&ready, 1);
                }
            }
        } else {
            unsigned long long after = 0; // asked for now, needed last
            COARSEN_(sight) sight;
            if (written < tiles)
                COARSEN_(ask)(slots, written, &sight);
            if (lane == 0 && copied < tiles)
                after = COARSEN_(take)(scratch);
            if (read < tiles && !left)
                COARSEN_(leave_sum)
            (slots, read, totals + (1 - turn) * COARSEN_WARPS, &below_read, &sum_read);
            COARSEN_ACC below_added = below_read, sum_added = sum_read;
            left = false;
            parts += added < tiles ? COARSEN_WARPS : 0;
            if (written < tiles) {
                while (!COARSEN_(answered)(slots, written, &sight))
                    // Others wait for this block's next sum, and must not wait for those that it waits for.
                    if (early && added < tiles && !left &&
                        __all_sync(0xffffffff, *(volatile unsigned int *)&ready == parts)) {
                        __threadfence_block();
                        COARSEN_(leave_sum)
                        (slots, added, totals + turn * COARSEN_WARPS, &below_added, &sum_added);
                        left = true;
                    }
                COARSEN_ACC start = COARSEN_(look_back)(slots, written, &sight, sum_written);
                if (lane > 0)
                    start = COARSEN_(op)(start, below_written);
                if (lane < COARSEN_WARPS)
                    starts[turn * COARSEN_WARPS + lane] = start;
            }
            below_written = below_read, sum_written = sum_read;
            below_read = below_added, sum_read = sum_added;
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

// A tile, by a block that has no other one: `rows` rows of a vector per thread. alone: so has no other block.
COARSEN_INLINE void COARSEN_(take_one)(COARSEN_(arrays) arrays, unsigned int rows,
                                       unsigned int most, unsigned long long *scratch, bool alone)
{
    COARSEN_SHARED(COARSEN_ACC, start, 1);
    __shared__ unsigned long long ticket;
    __shared__ unsigned int tile;
    COARSEN_(kept) kept;
    const unsigned int vector = threadIdx.x / 32 * rows * 32 + threadIdx.x % 32;
    COARSEN_(vector) *const stage = (COARSEN_(vector) *)coarsen_shared +
                                    (threadIdx.x / 32 * rows * COARSEN_ROW + threadIdx.x % 32);
    const size_t items = (size_t)rows * BLOCK_DIM * COARSEN_ITEMS,
                 mine = (size_t)vector * COARSEN_ITEMS;
    size_t element = mine;
    if (!alone) {
        // Blocks mostly get tickets in their order, so this is mostly what the block will copy.
#pragma unroll
        for (unsigned int r = 0; r < most; r++) {
            const size_t e = blockIdx.x * items + mine + r * 32 * COARSEN_ITEMS;
            if (r < rows && COARSEN_(there)(arrays, e, 1))
                COARSEN_(prefetch)(arrays.in + (e - arrays.skip));
        }
        if (threadIdx.x == 0) {
            ticket = COARSEN_(take)(scratch);
            tile = COARSEN_(tile_of)(scratch, ticket, gridDim.x);
        }
        __syncthreads();
        element += tile * items;
    }
    COARSEN_(copy_tile)(&kept, stage, arrays, element, rows, most);
    COARSEN_(copies_wait)(0);

    COARSEN_ACC before = COARSEN_(identity)(), total;
    const COARSEN_ACC warps =
        COARSEN_(warps_before)(COARSEN_(add_up)(&kept, stage, arrays, element, rows, most), &total);
    if (!alone) {
        if (threadIdx.x < 32) {
            const COARSEN_(slots) slots = COARSEN_(find_slots)(scratch, ticket, gridDim.x);
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
    (&kept, stage, arrays, element, rows, most,
     threadIdx.x < 32 ? before : COARSEN_(op)(before, warps));
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(alone_kernel)(COARSEN_(arrays) arrays, unsigned int rows, unsigned long long *scratch)
{
    COARSEN_(take_one)(arrays, rows, COARSEN_ALONE, scratch, true);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_BESIDE)
    COARSEN_(row_kernel)(COARSEN_(arrays) arrays, unsigned int, unsigned long long *scratch)
{
    COARSEN_(take_one)(arrays, 1, 1, scratch, false);
}

// Rows that are not there take time too, so few have a kernel of their own.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_BESIDE)
    COARSEN_(rows_kernel)(COARSEN_(arrays) arrays, unsigned int rows, unsigned long long *scratch)
{
    COARSEN_(take_one)(arrays, rows, COARSEN_FEW_ROWS, scratch, false);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, sizeof(COARSEN_(kept)) <= 64 ? COARSEN_BESIDE : 1)
    COARSEN_(tile_kernel)(COARSEN_(arrays) arrays, unsigned int rows, unsigned long long *scratch)
{
    COARSEN_(take_one)(arrays, rows, COARSE_FACTOR, scratch, false);
}

#ifndef __CUDACC_RTC__
// The most rows of a tile for which there is shared memory: `rows_bytes` for each, and what else a block has.
COARSEN_HOST size_t COARSEN_(most_rows)(size_t row_bytes, cudaError_t *status)
{
    const size_t shared = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, status);
    const size_t other = 1024 + 4 * (COARSEN_WARPS + 1) * sizeof(COARSEN_ACC);
    const size_t fit = shared > other ? (shared - other) / row_bytes : 0;
    return coarsen_min(COARSE_FACTOR, fit > 0 ? fit : 1);
}

// So many rows of so many blocks' vectors, in tiles of which none has more than `most` and few have less.
COARSEN_HOST size_t COARSEN_(even_rows)(size_t rows, size_t blocks, size_t most)
{
    const size_t each = coarsen_ceil_div(rows, blocks > 0 ? blocks : 1);
    return coarsen_ceil_div(each, coarsen_ceil_div(each, most));
}

COARSEN_HOST size_t COARSEN_(pass_bytes)(size_t n)
{
    cudaError_t status = cudaSuccess;
    const size_t row = COARSEN_WORKERS * COARSEN_ITEMS;
    const size_t blocks = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    // Tiles have at least half of the most rows if there are more of them than blocks.
    const size_t most = COARSEN_(most_rows)(COARSEN_STEP_BYTES, &status);
    const size_t tiles = coarsen_min(n / (BLOCK_DIM * COARSEN_ITEMS), COARSEN_BESIDE * blocks) +
                         n / row / ((most + 1) / 2) + 2;
    return COARSEN_(look_back_bytes)(tiles);
}

COARSEN_HOST size_t COARSEN_(skip)(const COARSEN_TYPE *in)
{
    return (size_t)in / sizeof(COARSEN_TYPE) % COARSEN_(line);
}

typedef struct {
    void (*kernel)(COARSEN_(arrays) arrays, unsigned int rows, unsigned long long *scratch);
    dim3 grid, block;
    size_t shared_bytes, scratch_bytes;
    COARSEN_(arrays) arrays;
    unsigned int rows;
} COARSEN_(planned);

// What there is to launch, of at least one element.
COARSEN_HOST cudaError_t COARSEN_(plan_pass)(COARSEN_(arrays) arrays, COARSEN_(planned) * plan)
{
    const size_t row_bytes = BLOCK_DIM / 32 * COARSEN_ROW * sizeof(COARSEN_(vector));
    const size_t all = coarsen_ceil_div(arrays.end, BLOCK_DIM * COARSEN_ITEMS); // rows
    plan->block = dim3(BLOCK_DIM);
    plan->arrays = arrays;
    if (all <= COARSEN_ALONE && all * row_bytes <= 32 << 10) {
        plan->kernel = COARSEN_(alone_kernel);
        plan->grid = dim3(1);
        plan->shared_bytes = all * row_bytes;
        plan->rows = (unsigned int)all;
        return cudaSuccess;
    }

    cudaError_t status = cudaSuccess;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t most = COARSEN_(most_rows)(row_bytes, &status);
    int beside = 1; // blocks per multiprocessor
    // A tile per block. One block per multiprocessor, whose threads wait together, is enough for little.
    if (all > processors * COARSEN_ALONE)
        beside = COARSEN_BESIDE;
    if (beside > 1 && all > processors * COARSEN_FEW_ROWS * (size_t)beside &&
        status == cudaSuccess) {
        status = coarsen_let_share((const void *)COARSEN_(tile_kernel), most * row_bytes, 16 << 10);
        if (status == cudaSuccess)
            status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&beside, COARSEN_(tile_kernel),
                                                                   BLOCK_DIM, most * row_bytes);
        beside = beside < 1 ? 1 : beside < COARSEN_BESIDE ? beside : COARSEN_BESIDE;
    }
    if (status != cudaSuccess)
        return status;
    const size_t each = coarsen_ceil_div(all, processors * (size_t)beside);
    if (each <= most) {
        plan->kernel = each == 1                  ? COARSEN_(row_kernel)
                       : each <= COARSEN_FEW_ROWS ? COARSEN_(rows_kernel)
                                                  : COARSEN_(tile_kernel);
        plan->grid = dim3((unsigned int)coarsen_ceil_div(all, each));
        plan->shared_bytes = each * row_bytes;
        plan->rows = (unsigned int)each;
        return coarsen_let_share((const void *)plan->kernel, plan->shared_bytes, 16 << 10);
    }

    const size_t row = COARSEN_WORKERS * COARSEN_ITEMS;
    const size_t rows =
        COARSEN_(even_rows)(coarsen_ceil_div(arrays.end - arrays.skip, row), processors,
                            COARSEN_(most_rows)(COARSEN_STEP_BYTES, &status));
    const size_t tiles = coarsen_ceil_div(arrays.end, rows * row);
    const size_t shared_bytes = rows * COARSEN_STEP_BYTES;
    int resident = 0; // blocks per multiprocessor
    if (status == cudaSuccess)
        status = coarsen_let_share((const void *)COARSEN_(kernel), shared_bytes, 16 << 10);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               BLOCK_DIM, shared_bytes);
    if (status != cudaSuccess)
        return status;
    const size_t at_a_time = coarsen_min(tiles, processors * (size_t)(resident > 0 ? resident : 1));
    if (tiles > 0xffffffff - at_a_time)
        return cudaErrorInvalidValue;
    plan->kernel = COARSEN_(kernel);
    plan->grid = dim3((unsigned int)at_a_time);
    plan->shared_bytes = shared_bytes;
    plan->rows = (unsigned int)rows;
    return cudaSuccess;
}

// Launches that. Each kernel by its name, which the tuner reads.
COARSEN_HOST cudaError_t COARSEN_(launch_plan)(const COARSEN_(planned) * plan, void *scratch,
                                               cudaStream_t stream)
{
    unsigned long long *const words = (unsigned long long *)scratch;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(plan->grid.x, BLOCK_DIM, plan->shared_bytes, stream);
    const COARSEN_(arrays) arrays = plan->arrays;
    const unsigned int rows = plan->rows;
    if (plan->kernel == COARSEN_(alone_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(alone_kernel), arrays, rows, words);
    if (plan->kernel == COARSEN_(row_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(row_kernel), arrays, rows, words);
    if (plan->kernel == COARSEN_(rows_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(rows_kernel), arrays, rows, words);
    if (plan->kernel == COARSEN_(tile_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(tile_kernel), arrays, rows, words);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), arrays, rows, words);
}

COARSEN_HOST cudaError_t COARSEN_(pass)(COARSEN_(arrays) arrays, void *scratch, cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    const cudaError_t status = COARSEN_(plan_pass)(arrays, &plan);
    return status != cudaSuccess ? status : COARSEN_(launch_plan)(&plan, scratch, stream);
}
#endif // __CUDACC_RTC__

#undef COARSEN_TILES
#undef COARSEN_ROW
#undef COARSEN_STEP_BYTES
#undef COARSEN_FEW_ROWS
#undef COARSEN_ALONE
#undef COARSEN_BESIDE
#endif // COARSEN_PATTERN

#define COARSEN_END
#include "../base.h"
