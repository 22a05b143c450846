// SPDX-License-Identifier: MIT
//
// coarsen/scan/single_pass.h: scan, sixth rung. chained.h + look-back: a tile adds up the sums of the
// tiles before it, and waits for another one's result only once in 128 tiles.
// out[i] = LIFT(in[0], 0) OP ... OP LIFT(in[i], i), or without the last with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/scan/single_pass.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and of the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) as a COARSEN_ACC     |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative operator on COARSEN_ACC; need not be commutative |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | COARSEN_EXCLUSIVE    | 0                | 1: out[i] is of the elements before i, out[0] the identity |
// | BLOCK_DIM            | 512              | threads per block: a multiple of 32 from 64 to 1024  |
// | COARSE_FACTOR        | 8                | 16-byte vectors per thread and tile, from 1 to 16; fewer where four tiles need more shared memory than there is |
// Defines the functions of block/copy.h, block/look_back.h and block/vector.h; NAME_kernel and
// NAME_short_kernel, which NAME_launch launches; and
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, at any element's alignment (its size, if that divides 16). out: n
// COARSEN_ACC, apart from in, or in itself if they have one size. scratch: device memory, 16-byte
// aligned. NAME_scratch_init makes it ready once, by zeros; each launch leaves it ready for the next, for
// any n. One scratch per launch that may run at the same time. A scratch that was not made ready ends
// the launch with an error (__trap), unless its first word happens to be small. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array or too small a scratch, or elements so
// large that shared memory cannot hold four for each thread (take a lower BLOCK_DIM), with nothing written;
// those of the runtime's device queries.
// Deterministic: on one model of device, an n and an alignment give the same bits always, as the tree
// in which tiles are combined depends on their numbers alone.
//
// Price saved: the wait of each tile for the result of the one before. A tile needs the sums of
// those before it, which are there as soon as these have been read: in a slot per tile, and per group of
// 128 tiles one with all up to its end. And the wait for memory: a block has four tiles in a pipeline.
// While one is copied to shared memory, the one before is added up, the sum of the next is on its way to
// the other blocks, and the first is written. Meanwhile the first warp looks back, and does nothing else.
// Price paid: a ticket, a barrier and up to 128 slots read per tile; shared memory for four tiles, so that
// a multiprocessor has one block; and on short arrays, the steps of the pipeline, one after the other:
// a kernel without it takes those.
// Cost: n elements read and n results written once; 8 bytes of a slot per 4-byte word of a tile's sum.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016).

#define COARSEN_BEGIN COARSEN_PATTERN_SCAN
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#elif BLOCK_DIM < 64
#error "coarsen/scan: BLOCK_DIM must be 64 or more, as one warp looks back for the others"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/scan: COARSE_FACTOR must be from 1 to 16"
#endif

#include "../block/copy.h"
#include "../block/look_back.h"
#include "../block/vector.h"

#define COARSEN_WARPS      (BLOCK_DIM / 32 - 1) // that work
#define COARSEN_WORKERS    (32 * COARSEN_WARPS)
#define COARSEN_SHORT_ROWS 4 // of one block
#define COARSEN_TILES      4
#define COARSEN_ALIGN                                                                              \
    (16 % sizeof(COARSEN_ACC) != 0                   ? __alignof__(COARSEN_ACC)                    \
     : COARSEN_ITEMS * sizeof(COARSEN_ACC) % 16 == 0 ? 16                                          \
                                                     : COARSEN_ITEMS * sizeof(COARSEN_ACC))

typedef struct __attribute__((aligned(COARSEN_ALIGN), may_alias)) {
    COARSEN_ACC item[COARSEN_ITEMS];
} COARSEN_(results);

// Where the array lies among whole vectors: it begins at element `skip` of the first one and ends before
// element `end`.
typedef struct {
    const COARSEN_TYPE *in;
    COARSEN_ACC *out;
    size_t skip, end;
    bool wide; // out's vectors begin where in's do
} COARSEN_(arrays);

COARSEN_DEVICE COARSEN_(arrays) COARSEN_(place)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n)
{
    COARSEN_(arrays) arrays = {in, out, 0, n, false};
    if (COARSEN_ITEMS > 1)
        arrays.skip = (size_t)in % sizeof(COARSEN_(vector)) / sizeof(COARSEN_TYPE);
    arrays.end += arrays.skip;
    arrays.wide = ((size_t)out - arrays.skip * sizeof(COARSEN_ACC)) % COARSEN_ALIGN == 0;
    return arrays;
}

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

// What is there of a vector, combined.
COARSEN_DEVICE COARSEN_ACC COARSEN_(sum)(const COARSEN_(vector) * from, COARSEN_(arrays) arrays,
                                         size_t element)
{
    const size_t i = element - arrays.skip;
    COARSEN_ACC sum = COARSEN_(identity)();
    if (!COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
#pragma unroll 1
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (COARSEN_(there)(arrays, element + j, 1))
                sum = COARSEN_(op)(sum, COARSEN_(lift)(from->item[j], i + j));
        return sum;
    }
    const COARSEN_(vector) load = *from;
    sum = COARSEN_(lift)(load.item[0], i);
#pragma unroll
    for (unsigned int j = 1; j < COARSEN_ITEMS; j++)
        sum = COARSEN_(op)(sum, COARSEN_(lift)(load.item[j], i + j));
    return sum;
}

// Writes the results of what is there of a vector, given what is before it.
COARSEN_DEVICE void COARSEN_(write)(const COARSEN_(vector) * from, COARSEN_(arrays) arrays,
                                    size_t element, COARSEN_ACC before)
{
    const size_t i = element - arrays.skip;
    if (!COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
#pragma unroll 1
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (COARSEN_(there)(arrays, element + j, 1)) {
                const COARSEN_ACC sum = COARSEN_(op)(before, COARSEN_(lift)(from->item[j], i + j));
                arrays.out[i + j] = COARSEN_EXCLUSIVE ? before : sum;
                before = sum;
            }
        return;
    }
    const COARSEN_(vector) load = *from;
    COARSEN_(results) results;
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
        const COARSEN_ACC sum = COARSEN_(op)(before, COARSEN_(lift)(load.item[j], i + j));
        results.item[j] = COARSEN_EXCLUSIVE ? before : sum;
        before = sum;
    }
    if (arrays.wide) {
        *(COARSEN_(results) *)(arrays.out + i) = results;
        return;
    }
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        arrays.out[i + j] = results.item[j];
}

// ---- the kernel -----------------------------------------------------------------------------------

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

// Adds up a tile: before[r] is what the warp has before the calling thread's vector of row r. What the warp
// has in all. The rows go side by side, as what one of them waits for leaves time for the others.
COARSEN_DEVICE COARSEN_ACC COARSEN_(add_up)(COARSEN_ACC *before, const COARSEN_(vector) * stage,
                                            COARSEN_(arrays) arrays, size_t element,
                                            unsigned int rows)
{
    COARSEN_ACC sum[COARSE_FACTOR], total = COARSEN_(identity)();
#pragma unroll
    for (unsigned int r = 0; r < COARSE_FACTOR; r++)
        sum[r] = r < rows ? COARSEN_(sum)(stage + r * COARSEN_WORKERS, arrays,
                                          element + r * 32 * COARSEN_ITEMS)
                          : COARSEN_(identity)();
    COARSEN_(inclusive_rows)(sum, COARSE_FACTOR);
#pragma unroll
    for (unsigned int r = 0; r < COARSE_FACTOR; r++) {
        const COARSEN_ACC below = COARSEN_(from_below)(sum[r], 1);
        const COARSEN_ACC row = COARSEN_(of_lane)(sum[r], 31);
        before[r] = threadIdx.x % 32 == 0 ? total : COARSEN_(op)(total, below);
        if (r < rows)
            total = COARSEN_(op)(total, row);
    }
    return total;
}

// Writes a tile. start: what is before the warp's part.
COARSEN_DEVICE void COARSEN_(write_tile)(const COARSEN_ACC *before, const COARSEN_(vector) * stage,
                                         COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                         COARSEN_ACC start)
{
#pragma unroll
    for (unsigned int r = 0; r < COARSE_FACTOR; r++)
        if (r < rows)
            COARSEN_(write)
    (stage + r * COARSEN_WORKERS, arrays, element + r * 32 * COARSEN_ITEMS,
     r == 0 && threadIdx.x % 32 == 0 ? start : COARSEN_(op)(start, before[r]));
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, unsigned int rows,
                     unsigned long long *scratch)
{
    // In turns, as one is written while the other is read: of each warp its total and what is before it,
    // and the tile to copy.
    COARSEN_SHARED(COARSEN_ACC, totals, 2 * COARSEN_WARPS);
    COARSEN_SHARED(COARSEN_ACC, starts, 2 * COARSEN_WARPS);
    __shared__ unsigned long long first;
    __shared__ unsigned int next[2];

    // The first warp, which the hardware prefers, looks back. The others work, numbered from 0.
    const bool works = threadIdx.x >= 32;
    const unsigned int warp = threadIdx.x / 32 - 1, lane = threadIdx.x % 32;
    const COARSEN_(arrays) arrays = COARSEN_(place)(in, out, n);
    const size_t items = (size_t)rows * COARSEN_WORKERS * COARSEN_ITEMS; // of a tile
    const unsigned int tiles = (unsigned int)coarsen_ceil_div(arrays.end, items);
    // A warp's vectors of a tile are one run, row by row. Each thread copies those that it reads.
    const size_t mine = (size_t)(warp * rows * 32 + lane) * COARSEN_ITEMS;
    const unsigned int step = rows * COARSEN_WORKERS;
    COARSEN_(vector) *at_added =
        (COARSEN_(vector) *)coarsen_shared + (works ? threadIdx.x - 32 : 0);
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
    COARSEN_ACC before_added[COARSE_FACTOR], before_read[COARSE_FACTOR],
        before_written[COARSE_FACTOR];
    // In the first warp, in lane w: what is before warp w in the tile; and the tile's sum.
    COARSEN_ACC below_read = COARSEN_(identity)(), below_written = below_read;
    COARSEN_ACC sum_read = below_read, sum_written = below_read;
    if (works && added < tiles)
        COARSEN_(copy_tile)(at_added, arrays, added * items + mine, rows);
    if (threadIdx.x == 0)
        next[1] =
            added < tiles ? COARSEN_(tile_of)(scratch, COARSEN_(take)(scratch), takes) : tiles;
    __syncthreads();
    for (unsigned int turn = 1; written < tiles || read < tiles || added < tiles; turn = 1 - turn) {
        copied = next[turn];
        if (works) {
            if (copied < tiles)
                COARSEN_(copy_tile)(at_copied, arrays, copied * items + mine, rows);
            if (copied < tiles)
                COARSEN_(copies_wait)(1);
            else
                COARSEN_(copies_wait)(0);
            if (added < tiles) {
                const COARSEN_ACC total =
                    COARSEN_(add_up)(before_added, at_added, arrays, added * items + mine, rows);
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
        (before_written, at_written, arrays, written * items + mine, rows,
         starts[turn * COARSEN_WARPS + warp]);

        COARSEN_(vector) *const free = at_written;
        at_written = at_read, at_read = at_added, at_added = at_copied, at_copied = free;
        written = read, read = added, added = copied;
#pragma unroll
        for (unsigned int r = 0; r < COARSE_FACTOR; r++) {
            before_written[r] = before_read[r];
            before_read[r] = before_added[r];
        }
    }
}

// A short array: a row of vectors per block, or a few rows and one block. It is over so soon that the
// fetching of its instructions counts, hence a kernel of its own.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(short_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                           unsigned long long *scratch)
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
    const COARSEN_(arrays) arrays = COARSEN_(place)(in, out, n);
    COARSEN_(vector) *const vectors = (COARSEN_(vector) *)coarsen_shared + threadIdx.x;
    const size_t row = BLOCK_DIM * COARSEN_ITEMS, first = tile * row + threadIdx.x * COARSEN_ITEMS;
    const unsigned int rows = tiles > 1 ? 1 : (unsigned int)coarsen_ceil_div(arrays.end, row);
    for (unsigned int r = 0; r < rows; r++)
        COARSEN_(fill)(vectors + r * BLOCK_DIM, arrays, first + r * row);
    COARSEN_(copies_end)();
    COARSEN_(copies_wait)(0);

    COARSEN_ACC before = COARSEN_(identity)(), total;
    for (unsigned int r = 0; r < rows; r++) {
        const COARSEN_ACC mine = COARSEN_(exclusive)(
            COARSEN_(sum)(vectors + r * BLOCK_DIM, arrays, first + r * row), &total);
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
        COARSEN_(write)
        (vectors + r * BLOCK_DIM, arrays, first + r * row,
         threadIdx.x == 0 ? before : COARSEN_(op)(before, mine));
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
    const size_t other =
        1024 + 4 * COARSEN_WARPS * sizeof(COARSEN_ACC); // what else a block has there
    const size_t fit = shared > other ? (shared - other) / (COARSEN_TILES * row_bytes) : 0;
    const size_t most = coarsen_min(COARSE_FACTOR, fit > 0 ? fit : 1);
    const size_t rows = coarsen_ceil_div(coarsen_ceil_div(n, COARSEN_WORKERS * COARSEN_ITEMS),
                                         blocks > 0 ? blocks : 1);
    return coarsen_ceil_div(rows, coarsen_ceil_div(rows, most));
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
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

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    if (!coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, n) ||
        !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n))
        return cudaErrorInvalidValue;
    const size_t skip =
        COARSEN_ITEMS > 1 ? (size_t)in % sizeof(COARSEN_(vector)) / sizeof(COARSEN_TYPE) : 0;
    cudaError_t status = cudaSuccess;
    const size_t short_rows = coarsen_ceil_div(n + skip, BLOCK_DIM * COARSEN_ITEMS);
    if (short_rows <= COARSEN_(short_blocks)(&status)) {
        const size_t row_bytes = BLOCK_DIM * sizeof(COARSEN_(vector));
        const bool alone = short_rows <= COARSEN_SHORT_ROWS && short_rows * row_bytes <= 32 << 10;
        const size_t shared_bytes = (alone ? short_rows : 1) * row_bytes;
        if (shared_bytes >
            32 << 10) // more than there is without asking, with what else a block has
            status = cudaFuncSetAttribute((const void *)COARSEN_(short_kernel),
                                          cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)shared_bytes);
        if (status != cudaSuccess)
            return status;
        const cudaLaunchConfig_t config =
            coarsen_launch_config(alone ? 1 : short_rows, BLOCK_DIM, shared_bytes, stream);
        return cudaLaunchKernelEx(&config, COARSEN_(short_kernel), in, out, n,
                                  (unsigned long long *)scratch);
    }
    const size_t rows = COARSEN_(rows)(n, &status);
    const size_t tiles = coarsen_ceil_div(n + skip, rows * COARSEN_WORKERS * COARSEN_ITEMS);
    const size_t shared_bytes = COARSEN_TILES * rows * COARSEN_WORKERS * sizeof(COARSEN_(vector));
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
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, (unsigned int)rows,
                              (unsigned long long *)scratch);
}
#endif
#undef COARSEN_WARPS
#undef COARSEN_WORKERS
#undef COARSEN_SHORT_ROWS
#undef COARSEN_TILES

#define COARSEN_END
#include "../base.h"
