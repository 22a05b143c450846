// SPDX-License-Identifier: MIT
//
// coarsen/scan/single_pass.h: scan, sixth rung. chained.h + look-back: a tile adds up the sums of the
// tiles before it, level by level, and waits for no tile's result.
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
// | BLOCK_DIM            | 512              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 4                | 16-byte vectors per thread and tile, from 1 to 16    |
// Defines the functions of block/copy.h, block/scan.h and block/vector.h; NAME_kernel(in, out, n, rows,
// scratch), for any number of blocks, which take turns at tiles of rows BLOCK_DIM vectors, with three
// tiles of dynamic shared memory; and
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, at any element's alignment (its size, if that divides 16). out: n
// COARSEN_ACC, apart from in, or in itself if they have one size. scratch: device memory, 16-byte
// aligned. NAME_scratch_init makes it ready once, by zeros; each launch leaves it ready for the next, for
// any n. One scratch per launch that may run at the same time. Errors: cudaErrorInvalidValue for a
// null, misaligned or overflowing array or too small a scratch, with nothing written; those of the
// runtime's device queries.
// Deterministic: on one model of device, an n and an alignment give the same bits always, as the tree
// in which tiles are combined depends on their numbers alone.
//
// Price saved: the wait of each tile for the result of the one before. What a tile waits for is
// there as soon as the tiles before it have been read: their sums, one per tile, per 32 tiles
// and, with all before, per 1024 tiles, each read by one warp at a time. And the wait for memory: a block
// copies a tile while it adds up the one before and writes the one before that.
// Price paid: a ticket, two barriers and 3 to 67 slots read per tile, and shared memory for three tiles.
// Cost: n elements read and n results written once; 8 bytes of a slot per 4-byte word of a tile's sum.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016).

#define COARSEN_BEGIN COARSEN_PATTERN_SCAN
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 544
#elif BLOCK_DIM < 64
#error "coarsen/scan: BLOCK_DIM must be 64 or more, as one warp looks back for the others"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 7
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/scan: COARSE_FACTOR must be from 1 to 16"
#endif

#include "../block/copy.h"
#include "../block/scan.h"
#include "../block/vector.h"

#define COARSEN_WARPS      (BLOCK_DIM / 32 - 1) // that work
#define COARSEN_WORKERS    (32 * COARSEN_WARPS)
#define COARSEN_SMALL_ROWS 2
#define COARSEN_STAGES     4
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

// Copies the vector at an element, as far as it is there. sure: it is known to be.
COARSEN_DEVICE void COARSEN_(fill)(COARSEN_(vector) * to, COARSEN_(arrays) arrays, size_t element,
                                   bool sure)
{
    const COARSEN_TYPE *const from = arrays.in + (element - arrays.skip);
    if (!sure && !COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
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
                                         size_t element, bool sure)
{
    const size_t i = element - arrays.skip;
    COARSEN_ACC sum = COARSEN_(identity)();
    if (!sure && !COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
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
                                    size_t element, bool sure, COARSEN_ACC before)
{
    const size_t i = element - arrays.skip;
    if (!sure && !COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
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

// ---- what is before a tile ------------------------------------------------------------------------

// The slots: of each tile its sum; of 32 tiles their sum; of 1024 tiles the sum of all up to their end.
typedef struct {
    unsigned long long *of_1, *of_32, *of_1024;
    unsigned int flag; // of this launch
} COARSEN_(slots);

// The values of lanes 0 to count - 1, combined: in every lane.
COARSEN_DEVICE COARSEN_ACC COARSEN_(combine)(COARSEN_ACC value, unsigned int count)
{
    return COARSEN_(of_lane)(COARSEN_(warp_inclusive)(value), count - 1);
}

// What is before a tile, by a warp, as soon as it is there: all up to its 1024 tiles, the 32s before its
// own, and the tiles before it in that. The three levels are read at once.
COARSEN_DEVICE COARSEN_ACC COARSEN_(look_back)(COARSEN_(slots) slots, unsigned int tile)
{
    const unsigned int words = COARSEN_(words_of_slot), lane = threadIdx.x % 32;
    const unsigned int ones = tile % 32, windows = tile / 32 % 32, all = tile / 1024;
    COARSEN_ACC before = COARSEN_(identity)(), window = before, one = before;
    bool found;
    do {
        found = true;
        if (lane < ones)
            found &= COARSEN_(look)(slots.of_1 + (size_t)(tile - ones + lane) * words, &one) ==
                     slots.flag;
        if (lane < windows)
            found &= COARSEN_(look)(slots.of_32 + (size_t)(all * 32 + lane) * words, &window) ==
                     slots.flag;
        if (all > 0)
            found &=
                COARSEN_(look)(slots.of_1024 + (size_t)(all - 1) * words, &before) == slots.flag;
    } while (!found);
    __syncwarp();
    window = COARSEN_(combine)(window, windows > 0 ? windows : 1);
    one = COARSEN_(combine)(one, ones > 0 ? ones : 1);
    if (windows > 0)
        before = all > 0 ? COARSEN_(op)(before, window) : window;
    if (ones > 0)
        before = tile >= 32 ? COARSEN_(op)(before, one) : one;
    return before;
}

// Leaves the sum of a tile, by a warp; and that of its 32 or 1024, if it is the last of them.
COARSEN_DEVICE void COARSEN_(publish)(COARSEN_(slots) slots, unsigned int tile, COARSEN_ACC sum)
{
    const unsigned int words = COARSEN_(words_of_slot), lane = threadIdx.x % 32;
    if (lane == 0)
        COARSEN_(leave)(slots.of_1 + (size_t)tile * words, slots.flag, sum);
    if (tile % 32 != 31)
        return;
    COARSEN_ACC before = COARSEN_(identity)();
    if (lane < 31)
        while (COARSEN_(look)(slots.of_1 + (size_t)(tile - 31 + lane) * words, &before) !=
               slots.flag) {
        }
    __syncwarp();
    sum = COARSEN_(op)(COARSEN_(combine)(before, 31), sum);
    if (lane == 0)
        COARSEN_(leave)(slots.of_32 + (size_t)(tile / 32) * words, slots.flag, sum);
    if (tile % 1024 != 1023)
        return;
    sum = COARSEN_(op)(COARSEN_(look_back)(slots, tile - 31), sum);
    if (lane == 0)
        COARSEN_(leave)(slots.of_1024 + (size_t)(tile / 1024) * words, slots.flag, sum);
}

// ---- the kernel -----------------------------------------------------------------------------------

// The tile of a ticket: its lower half; the upper half counts the launches before. Each block takes tickets
// until one has no tile, and the last of those leaves the scratch ready for the next launch.
COARSEN_DEVICE unsigned int COARSEN_(tile_of)(unsigned long long *scratch,
                                              unsigned long long ticket, unsigned int tiles)
{
    const unsigned int number = (unsigned int)ticket, launches = (unsigned int)(ticket >> 32);
    if (number >= tiles + gridDim.x)
        __trap(); // the scratch was not made ready
    if (number == tiles + gridDim.x - 1)
        atomicExch(scratch, (unsigned long long)(launches < 0xfffffffe ? launches + 1 : 0) << 32);
    return number;
}

// The functions of a tile take `sure`, a constant where they are inlined: in all tiles but two nothing needs
// to be compared, and the code for it is apart.

// Begins to copy the calling thread's vectors of a tile.
COARSEN_DEVICE __attribute__((always_inline)) void COARSEN_(copy_tile)(COARSEN_(vector) * stage,
                                                                       COARSEN_(arrays) arrays,
                                                                       size_t element,
                                                                       unsigned int rows, bool sure)
{
#pragma unroll
    for (unsigned int r = 0; r < COARSE_FACTOR; r++) {
        if (r >= rows)
            break;
        COARSEN_(fill)
        (stage + r * COARSEN_WORKERS, arrays, element + r * 32 * COARSEN_ITEMS, sure);
    }
}

// Adds up a tile, row by row: before[r] is what the warp has before the calling thread's vector of row r.
// What the warp has in all.
COARSEN_DEVICE __attribute__((always_inline)) COARSEN_ACC
COARSEN_(add_up)(COARSEN_ACC *before, const COARSEN_(vector) * stage, COARSEN_(arrays) arrays,
                 size_t element, unsigned int rows, bool sure)
{
    COARSEN_ACC total = COARSEN_(identity)();
#pragma unroll
    for (unsigned int r = 0; r < COARSE_FACTOR; r++) {
        if (r >= rows)
            break;
        const COARSEN_ACC sum = COARSEN_(warp_inclusive)(COARSEN_(sum)(
            stage + r * COARSEN_WORKERS, arrays, element + r * 32 * COARSEN_ITEMS, sure));
        const COARSEN_ACC below = COARSEN_(from_below)(sum, 1);
        before[r] = threadIdx.x % 32 == 0 ? total : COARSEN_(op)(total, below);
        total = COARSEN_(op)(total, COARSEN_(of_lane)(sum, 31));
    }
    return total;
}

// Writes a tile. start: what is before the warp's part.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_(write_tile)(const COARSEN_ACC *before, const COARSEN_(vector) * stage,
                     COARSEN_(arrays) arrays, size_t element, unsigned int rows, bool sure,
                     COARSEN_ACC start)
{
#pragma unroll
    for (unsigned int r = 0; r < COARSE_FACTOR; r++) {
        if (r >= rows)
            break;
        COARSEN_(write)
        (stage + r * COARSEN_WORKERS, arrays, element + r * 32 * COARSEN_ITEMS, sure,
         r == 0 && threadIdx.x % 32 == 0 ? start : COARSEN_(op)(start, before[r]));
    }
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, unsigned int rows,
                     unsigned long long *scratch)
{
    // In turns, as one is written while the other is read: of each warp its total and what is before it,
    // and the tile to copy.
    COARSEN_SHARED(COARSEN_ACC, totals, 2 * COARSEN_WARPS);
    COARSEN_SHARED(COARSEN_ACC, starts, 2 * COARSEN_WARPS);
    __shared__ unsigned int taken[2];
    __shared__ unsigned long long first_ticket;

    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool works = warp < COARSEN_WARPS; // the last warp looks back
    const COARSEN_(arrays) arrays = COARSEN_(place)(in, out, n);
    const size_t items = (size_t)rows * COARSEN_WORKERS * COARSEN_ITEMS; // of a tile
    const unsigned int tiles = (unsigned int)coarsen_ceil_div(arrays.end, items);
    // A warp's vectors of a tile are one run, row by row. Each thread copies those that it reads.
    const size_t mine = (size_t)(warp * rows * 32 + lane) * COARSEN_ITEMS;
    const unsigned int step = rows * COARSEN_WORKERS;
    COARSEN_(vector) *at_added = (COARSEN_(vector) *)coarsen_shared + threadIdx.x;
    COARSEN_(vector) *at_copied = at_added + step, *at_read = at_copied + step;
    COARSEN_(vector) *at_written = at_read + step;

    if (threadIdx.x == COARSEN_WORKERS)
        first_ticket = tiles > 1 ? atomicAdd(scratch, 1ull) : 0;
    __syncthreads();
    COARSEN_(slots) slots;
    slots.flag = (unsigned int)(first_ticket >> 32) + 1;
    slots.of_1024 = scratch + 2;
    slots.of_32 = slots.of_1024 + (size_t)(tiles / 1024) * COARSEN_(words_of_slot);
    slots.of_1 = slots.of_32 + (size_t)(tiles / 32) * COARSEN_(words_of_slot);

    // Four tiles at a time: the last of them is copied, the one before it is added up, then there is one
    // whose sum the others read, and the first is written.
    unsigned int copied = tiles, added = (unsigned int)first_ticket, read = tiles, written = tiles;
    COARSEN_ACC before_added[COARSE_FACTOR], before_read[COARSE_FACTOR],
        before_written[COARSE_FACTOR];
    COARSEN_ACC below_read = COARSEN_(identity)(), below_written = below_read; // in the last warp
    if (works && added < tiles)
        COARSEN_(copy_tile)(at_added, arrays, added * items + mine, rows, false);
    COARSEN_(copies_end)();
    if (threadIdx.x == COARSEN_WORKERS) {
        taken[0] = tiles;
        if (tiles > 1 && COARSEN_(tile_of)(scratch, first_ticket, tiles) < tiles)
            taken[0] = COARSEN_(tile_of)(scratch, atomicAdd(scratch, 1ull), tiles);
    }
    __syncthreads();
    for (unsigned int turn = 0; written < tiles || read < tiles || added < tiles; turn = 1 - turn) {
        copied = taken[turn];
        if (works) {
            if (copied < tiles && COARSEN_(there)(arrays, copied * items, items))
                COARSEN_(copy_tile)(at_copied, arrays, copied * items + mine, rows, true);
            else if (copied < tiles)
                COARSEN_(copy_tile)(at_copied, arrays, copied * items + mine, rows, false);
            COARSEN_(copies_end)();
            COARSEN_(copies_wait)(1);
            COARSEN_ACC total = COARSEN_(identity)();
            if (added < tiles && COARSEN_(there)(arrays, added * items, items))
                total = COARSEN_(add_up)(before_added, at_added, arrays, added * items + mine, rows,
                                         true);
            else if (added < tiles)
                total = COARSEN_(add_up)(before_added, at_added, arrays, added * items + mine, rows,
                                         false);
            if (lane == 0)
                totals[turn * COARSEN_WARPS + warp] = total;
        } else {
            unsigned long long ticket = 0;
            if (lane == 0 && copied < tiles)
                ticket = atomicAdd(scratch, 1ull + warp - COARSEN_WARPS);
            if (read < tiles) {
                const COARSEN_ACC warps = COARSEN_(warp_inclusive)(
                    lane < COARSEN_WARPS ? totals[(1 - turn) * COARSEN_WARPS + lane]
                                         : COARSEN_(identity)());
                below_read = COARSEN_(from_below)(warps, 1);
                const COARSEN_ACC sum = COARSEN_(of_lane)(warps, COARSEN_WARPS - 1);
                if (tiles > 1)
                    COARSEN_(publish)(slots, read, sum);
            }
            if (written < tiles) {
                const COARSEN_ACC start = COARSEN_(look_back)(slots, written);
                if (lane < COARSEN_WARPS)
                    starts[turn * COARSEN_WARPS + lane] =
                        lane == 0 ? start : COARSEN_(op)(start, below_written);
            }
            below_written = below_read;
            if (lane == 0)
                taken[1 - turn] =
                    copied < tiles ? COARSEN_(tile_of)(scratch, ticket, tiles) : tiles;
        }
        __syncthreads();
        if (works && written < tiles) {
            const COARSEN_ACC start = starts[turn * COARSEN_WARPS + warp];
            if (COARSEN_(there)(arrays, written * items, items))
                COARSEN_(write_tile)
                (before_written, at_written, arrays, written * items + mine, rows, true, start);
            else
                COARSEN_(write_tile)
                (before_written, at_written, arrays, written * items + mine, rows, false, start);
        }

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

// A small array, by one block, a vector per thread and row. It is over so soon that the fetching of its
// instructions counts, hence a kernel of its own.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(small_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, unsigned int n)
{
    const COARSEN_(arrays) arrays = COARSEN_(place)(in, out, n);
    COARSEN_(vector) *const vectors = (COARSEN_(vector) *)coarsen_shared + threadIdx.x;
    COARSEN_ACC before = COARSEN_(identity)(), total;
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_SMALL_ROWS; r++)
        COARSEN_(fill)
    (vectors + r * BLOCK_DIM, arrays, (r * BLOCK_DIM + threadIdx.x) * COARSEN_ITEMS, false);
    COARSEN_(copies_end)();
    COARSEN_(copies_wait)(0);
#pragma unroll 1
    for (unsigned int r = 0; r < COARSEN_SMALL_ROWS; r++) {
        const size_t element = (r * BLOCK_DIM + threadIdx.x) * COARSEN_ITEMS;
        const COARSEN_ACC mine = COARSEN_(exclusive)(
            COARSEN_(sum)(vectors + r * BLOCK_DIM, arrays, element, false), &total);
        COARSEN_(write)
        (vectors + r * BLOCK_DIM, arrays, element, false,
         r == 0             ? mine
         : threadIdx.x == 0 ? before
                            : COARSEN_(op)(before, mine));
        before = r == 0 ? total : COARSEN_(op)(before, total);
        __syncthreads();
    }
}

#ifndef __CUDACC_RTC__
// The rows of a tile for n elements: few enough for the tiles to be as many as the device runs at a time
// while there are not more, and for three tiles to fit in shared memory.
COARSEN_HOST unsigned int COARSEN_(rows)(size_t n, cudaError_t *status)
{
    const size_t row_bytes = COARSEN_WORKERS * sizeof(COARSEN_(vector));
    const size_t shared = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, status);
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, status);
    const size_t fit = shared / (COARSEN_STAGES * row_bytes + 1024);
    const size_t most = coarsen_min(COARSE_FACTOR, fit > 0 ? fit : 1);
    const size_t all = coarsen_ceil_div(n, COARSEN_WORKERS * COARSEN_ITEMS);
    if (all <= most)
        return (unsigned int)all;
    const size_t at_a_time = processors * (BLOCK_DIM < 1024 ? 1024 / BLOCK_DIM : 1);
    return (unsigned int)coarsen_min(most, coarsen_ceil_div(all, at_a_time > 0 ? at_a_time : 1));
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    cudaError_t status = cudaSuccess;
    const size_t row = COARSEN_WORKERS * COARSEN_ITEMS;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t at_a_time = processors * (BLOCK_DIM < 1024 ? 1024 / BLOCK_DIM : 1);
    const size_t tiles =
        coarsen_min(n / row, at_a_time) + n / row / COARSEN_(rows)((size_t)-1, &status) + 2;
    return (2 + (tiles + tiles / 32 + tiles / 1024) * COARSEN_(words_of_slot)) *
           sizeof(unsigned long long);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    cudaError_t status = cudaSuccess;
    if (n <= (COARSEN_SMALL_ROWS * BLOCK_DIM - 1) * COARSEN_ITEMS) {
        if (!coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
            !coarsen_array_ok(out, n))
            return cudaErrorInvalidValue;
        const cudaLaunchConfig_t config = coarsen_launch_config(
            1, BLOCK_DIM, COARSEN_SMALL_ROWS * BLOCK_DIM * sizeof(COARSEN_(vector)), stream);
        return cudaLaunchKernelEx(&config, COARSEN_(small_kernel), in, out, (unsigned int)n);
    }
    int resident = 0; // blocks per multiprocessor
    const unsigned int rows = COARSEN_(rows)(n, &status);
    const size_t shared_bytes =
        COARSEN_STAGES * (size_t)rows * COARSEN_WORKERS * sizeof(COARSEN_(vector));
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status == cudaSuccess && shared_bytes > 32 << 10)
        status =
            cudaFuncSetAttribute((const void *)COARSEN_(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               BLOCK_DIM, shared_bytes);
    if (status != cudaSuccess)
        return status;
    if (!coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, n) ||
        !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n))
        return cudaErrorInvalidValue;
    const size_t skip =
        COARSEN_ITEMS > 1 ? (size_t)in % sizeof(COARSEN_(vector)) / sizeof(COARSEN_TYPE) : 0;
    const size_t tiles = coarsen_ceil_div(n + skip, (size_t)rows * COARSEN_WORKERS * COARSEN_ITEMS);
    const size_t blocks = coarsen_min(tiles, processors * (size_t)(resident > 0 ? resident : 1));
    if (tiles > 0xffffffff - blocks)
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(blocks, BLOCK_DIM, shared_bytes, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, rows,
                              (unsigned long long *)scratch);
}
#endif
#undef COARSEN_WARPS
#undef COARSEN_WORKERS
#undef COARSEN_SMALL_ROWS
#undef COARSEN_STAGES

#define COARSEN_END
#include "../base.h"
