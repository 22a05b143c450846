// SPDX-License-Identifier: MIT
//
// coarsen/segmented/columns.h: each column of a matrix reduced to one value.
// out[c] = LIFT(in[c], 0) OP LIFT(in[pitch + c], 1) OP ... OP LIFT(in[(rows-1) pitch + c], rows-1)
//
//     #define COARSEN_NAME column_sums
//     #define COARSEN_TYPE float
//     #include <coarsen/segmented/columns.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i of its column (a size_t) as a COARSEN_ACC |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC   |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 512 or tuned     | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 4 or tuned       | rows of which a thread has 16 bytes in flight, from 1 to 32 |
// tuned: COARSEN_COLUMNS_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune.
// Defines the functions of block/slots.h and block/vector.h; NAME_kernel; and
//     size_t      NAME_scratch_bytes(size_t rows, size_t width)   for the current device; never
//                                                                 falls as either grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, size_t pitch, COARSEN_ACC *out, size_t rows,
//                             size_t width, void *scratch, size_t scratch_bytes,
//                             cudaStream_t stream)
// in: rows of width elements in device memory, at any element's alignment (its size, if that divides 16), not
// changed; a row starts pitch elements after the one before, and what is between them is not read.
// out: width COARSEN_ACCs, apart from in; the identity if there are no rows. scratch: device memory,
// 16-byte aligned. NAME_scratch_init makes it ready once, by zeros; each launch leaves it ready for
// the next, for any matrix it is large enough for. One scratch per launch that may run at the same
// time. A scratch that was not made ready ends the launch with an error (__trap). Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array, a pitch less than width or too
// small a scratch, with nothing written; those of the runtime's device queries. No columns: nothing.
// Deterministic: on one model of device, a shape and an alignment give the same bits always.
//
// How the work is divided: a block takes a span of columns, up to 32 vectors wide, and some of the rows.
// A thread keeps a sum for each column of a vector. The lanes of a warp lie across the span; where it is
// narrow, they lie across several rows. The sums of the rows that a block's threads took are added up in
// the block. If several blocks share a span, each leaves its sums in slots; the block that entered
// last collects them, as if they were rows.
// Where rows are not all aligned to 16 bytes, a thread loads as many single elements, lanes apart.
// Price paid: registers, 4 COARSE_FACTOR per thread, for the loads.
// Cost: each element read once; 8 bytes per 4-byte word of a block's sums, written and read.
// Source: for the slots, see block/slots.h.

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_COLUMNS_BLOCK_DIM)
#define BLOCK_DIM COARSEN_COLUMNS_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_COLUMNS_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_COLUMNS_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_SEGMENTED
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/segmented: COARSE_FACTOR must be from 1 to 32"
#endif

#include "../block/slots.h"
#include "../block/vector.h"

// How the blocks lie over the matrix.
typedef struct {
    unsigned int spans; // of columns
    unsigned int width; // of a span, in columns: a multiple of the vector
    unsigned int lanes; // across a span: a power of two, up to 32
    unsigned int parts; // of the rows: blocks that share a span
} COARSEN_(layout);

// Adds up the sums of all threads that have the same columns: those of warp 0's first lanes are then
// complete. All threads of the block call it; a barrier goes between two calls.
COARSEN_DEVICE void COARSEN_(add_threads)(COARSEN_ACC sum[COARSEN_ITEMS], unsigned int lanes)
{
    COARSEN_SHARED(COARSEN_ACC, partial, BLOCK_DIM);
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    for (unsigned int delta = 16; delta >= lanes; delta /= 2)
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
            COARSEN_(words) words = COARSEN_(to_words)(sum[j]);
#pragma unroll
            for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++)
                words.word[w] = __shfl_down_sync(0xffffffff, words.word[w], delta);
            sum[j] = COARSEN_(op)(sum[j], COARSEN_(from_words)(words));
        }
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
        if (j > 0)
            __syncthreads();
        if (lane < lanes)
            partial[warp * lanes + lane] = sum[j];
        __syncthreads();
        if (threadIdx.x < lanes)
            for (unsigned int w = 1; w < BLOCK_DIM / 32; w++)
                sum[j] = COARSEN_(op)(sum[j], partial[w * lanes + lane]);
    }
}

// Adds vectors of COARSE_FACTOR rows, `steps` apart, all of them in flight before the first is used. row: the
// index of the first. left: rows from there on.
COARSEN_DEVICE void COARSEN_(add_vectors)(COARSEN_ACC sum[COARSEN_ITEMS], const COARSEN_TYPE *from,
                                          size_t pitch, size_t row, size_t left, unsigned int steps)
{
    COARSEN_(vector) load[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (k * steps < left)
            load[k] = *(const COARSEN_(vector) *)(from + k * steps * pitch);
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (k * steps < left)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                sum[j] =
                    COARSEN_(op)(sum[j], COARSEN_(lift)(load[k].item[j], row + (size_t)k * steps));
}

// The same for columns that are no vector: up to `count` of them, `lanes` apart.
COARSEN_DEVICE void COARSEN_(add_singles)(COARSEN_ACC sum[COARSEN_ITEMS], const COARSEN_TYPE *from,
                                          size_t pitch, size_t row, size_t left, unsigned int steps,
                                          unsigned int count, unsigned int lanes)
{
    COARSEN_TYPE load[COARSE_FACTOR][COARSEN_ITEMS];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (k * steps < left && j < count)
                load[k][j] = from[k * steps * pitch + j * lanes];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (k * steps < left && j < count)
                sum[j] = COARSEN_(op)(sum[j], COARSEN_(lift)(load[k][j], row + (size_t)k * steps));
}

// A slot's value, seen before. If it was not there yet, this waits for it. Empties the slot.
COARSEN_DEVICE COARSEN_ACC COARSEN_(take)(unsigned long long *slot, COARSEN_(slot) seen)
{
    COARSEN_ACC value;
    if (COARSEN_(value_of)(seen, &value) != 1)
        return COARSEN_(collect)(slot);
    for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++)
        ((volatile unsigned long long *)slot)[w] = 0;
    return value;
}

// What all parts of a span left, in the order of the parts: they are rows to these threads.
COARSEN_DEVICE void COARSEN_(collect_parts)(COARSEN_ACC sum[COARSEN_ITEMS],
                                            unsigned long long *slots, size_t words,
                                            unsigned int count, unsigned int apart,
                                            unsigned int parts, unsigned int step,
                                            unsigned int steps)
{
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        sum[j] = COARSEN_(identity)();
#pragma unroll 1
    for (unsigned int p = step; p < parts; p += steps) {
        unsigned long long *const part = slots + p * words;
        COARSEN_(slot) seen[COARSEN_ITEMS]; // in flight together
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (j < count)
                seen[j] = COARSEN_(peek)(part + j * apart * COARSEN_(words_of_slot));
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (j < count)
                sum[j] = COARSEN_(op)(
                    sum[j], COARSEN_(take)(part + j * apart * COARSEN_(words_of_slot), seen[j]));
    }
}

// scratch: a counter per span, then the slots of each span's parts.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, size_t pitch, COARSEN_ACC *out, size_t rows,
                     size_t width, bool aligned, COARSEN_(layout) layout,
                     unsigned long long *scratch)
{
    __shared__ unsigned long long ticket;
    const unsigned int span = blockIdx.x % layout.spans, part = blockIdx.x / layout.spans;
    const unsigned int lane = threadIdx.x & (layout.lanes - 1);
    const unsigned int step = threadIdx.x / layout.lanes, steps = BLOCK_DIM / layout.lanes;
    if (layout.parts > 1 && threadIdx.x == 0)
        ticket = atomicAdd(scratch + span, 1ULL);

    // A thread's columns: `count`, from `first` on, `apart`.
    const size_t column = (size_t)span * layout.width;
    const unsigned int columns = (unsigned int)coarsen_min(layout.width, width - column);
    const bool vectors = aligned && columns % COARSEN_ITEMS == 0;
    const unsigned int first = vectors ? lane * COARSEN_ITEMS : lane;
    const unsigned int apart = vectors ? 1 : layout.lanes;
    const unsigned int count = first < columns ? (columns - first + apart - 1) / apart : 0;

    COARSEN_ACC sum[COARSEN_ITEMS];
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        sum[j] = COARSEN_(identity)();
    const COARSEN_TYPE *const from = in + column + first;
    const size_t stride = (size_t)layout.parts * COARSE_FACTOR * steps;
    if (count > 0) {
        size_t row = (size_t)part * COARSE_FACTOR * steps + step;
        for (; row < rows; row += stride) {
            const COARSEN_TYPE *const tile = from + row * pitch;
            if (vectors)
                COARSEN_(add_vectors)(sum, tile, pitch, row, rows - row, steps);
            else
                COARSEN_(add_singles)(sum, tile, pitch, row, rows - row, steps, count, apart);
        }
    }
    COARSEN_(add_threads)(sum, layout.lanes);

    if (layout.parts > 1) {
        const unsigned long long number = ticket;
        if (number >= layout.parts)
            __trap(); // the scratch was not made ready: NAME_scratch_init was forgotten
        const size_t words = (size_t)layout.width * COARSEN_(words_of_slot); // of a part
        unsigned long long *const slots =
            scratch + layout.spans + span * layout.parts * words + first * COARSEN_(words_of_slot);
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
            unsigned long long *const slot =
                slots + part * words + j * apart * COARSEN_(words_of_slot);
            if (step == 0 && j < count)
                COARSEN_(leave)(slot, 1, sum[j]);
        }
        if (number != layout.parts - 1)
            return;
        __syncthreads(); // the block's own part is left, and shared memory read
        COARSEN_(collect_parts)(sum, slots, words, count, apart, layout.parts, step, steps);
        COARSEN_(add_threads)(sum, layout.lanes);
        if (threadIdx.x == 0)
            atomicExch(scratch + span, 0ULL);
    }
    if (step == 0)
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (j < count)
                out[column + first + j * apart] = sum[j];
}

#ifndef __CUDACC_RTC__
// Spans of equal width, and as many blocks as fill the device once, if there are few spans; else, as some
// blocks are still at work when others have none left, as fill it eight times.
COARSEN_HOST COARSEN_(layout) COARSEN_(lay_out)(size_t rows, size_t width, size_t resident)
{
    const size_t vectors = coarsen_ceil_div(width, COARSEN_ITEMS);
    const size_t across = coarsen_ceil_div(vectors, coarsen_ceil_div(vectors, 32)); // a span
    const size_t spans = coarsen_ceil_div(vectors, across);
    COARSEN_(layout) layout;
    layout.spans = (unsigned int)spans;
    layout.width = (unsigned int)(across * COARSEN_ITEMS);
    layout.lanes = 1;
    while (layout.lanes < across)
        layout.lanes *= 2;
    const size_t tiles = coarsen_ceil_div(rows, COARSE_FACTOR * (BLOCK_DIM / layout.lanes));
    layout.parts = (unsigned int)coarsen_min(
        tiles > 0 ? tiles : 1,
        spans <= resident / 2 ? resident / spans : coarsen_ceil_div(8 * resident, spans));
    return layout;
}

// For as many blocks as there may be: fewer than 16 for each that the device can hold.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t rows, size_t width)
{
    cudaError_t status;
    const size_t most =
        16 * (2048 / BLOCK_DIM) * coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t tiles = coarsen_ceil_div(rows, COARSE_FACTOR * (BLOCK_DIM / 32));
    const size_t spans = coarsen_ceil_div(width, 32 * COARSEN_ITEMS);
    if (tiles <= 1 || width == 0)
        return 0;
    const size_t blocks = tiles < most && spans < most ? coarsen_min(tiles * spans, most) : most;
    const size_t columns =
        coarsen_min(width, 31 * COARSEN_ITEMS + 1) + COARSEN_ITEMS - 1; // of a span
    return blocks * (1 + columns * COARSEN_(words_of_slot)) * sizeof(unsigned long long);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, size_t pitch, COARSEN_ACC *out,
                                          size_t rows, size_t width, void *scratch,
                                          size_t scratch_bytes, cudaStream_t stream)
{
    const size_t needed = COARSEN_(scratch_bytes)(rows, width);
    if (!coarsen_rows_ok(in, pitch, rows, width, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, width) ||
        (needed > 0 && !coarsen_bytes_ok(scratch, 1, needed, 16)) || scratch_bytes < needed)
        return cudaErrorInvalidValue;
    if (width == 0)
        return cudaSuccess;

    cudaError_t status;
    int resident = 0; // blocks per multiprocessor
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               BLOCK_DIM, 0);
    if (status != cudaSuccess)
        return status;
    const bool aligned = ((size_t)in | pitch * sizeof(*in)) % sizeof(COARSEN_(vector)) == 0;
    const COARSEN_(layout) layout = COARSEN_(lay_out)(rows, width, processors * (size_t)resident);
    const size_t blocks = coarsen_ceil_div(width, layout.width) * layout.parts;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, pitch, out, rows, width, aligned,
                              layout, (unsigned long long *)scratch);
}
#endif

#define COARSEN_END
#include "../base.h"
