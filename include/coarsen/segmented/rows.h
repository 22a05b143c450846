// SPDX-License-Identifier: MIT
//
// coarsen/segmented/rows.h: each row of a matrix reduced to one value.
// out[r] = LIFT(in[r pitch], 0) OP LIFT(in[r pitch + 1], 1) OP ... OP LIFT(in[r pitch + width-1], width-1)
//
//     #define COARSEN_NAME row_sums
//     #define COARSEN_TYPE float
//     #include <coarsen/segmented/rows.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i of its row (a size_t) as a COARSEN_ACC |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC   |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 256 or tuned     | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 4 or tuned       | 16-byte loads a thread has in flight: a power of two from 1 to 32 |
// tuned: COARSEN_ROWS_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune.
// Defines the functions of block/reduce.h and block/vector.h; NAME_kernel, one or several blocks per
// row; NAME_short_kernel and NAME_whole_kernel, a warp or some of its lanes per row; NAME_staged_kernel and
// NAME_turned_kernel, the same through shared memory; and
//     size_t      NAME_scratch_bytes(size_t rows, size_t width)   for the current device; never
//                                                                 falls as either grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, size_t pitch, COARSEN_ACC *out, size_t rows,
//                             size_t width, void *scratch, size_t scratch_bytes,
//                             cudaStream_t stream)
// in: rows of width elements in device memory, at any element's alignment (its size, if that divides 16), not
// changed; a row starts pitch elements after the one before, and what is between them is not read.
// out: rows COARSEN_ACCs, apart from in; the identity if width is 0. scratch: device memory, 16-byte
// aligned. NAME_scratch_init makes it ready once, by zeros; each launch leaves it ready for the
// next, for any matrix it is large enough for. One scratch per launch that may run at the same time.
// A scratch that was not made ready ends the launch with an error (__trap). Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array, a pitch less than width or too
// small a scratch, with nothing written; those of the runtime's device queries. No rows: nothing.
// Deterministic: on one model of device, a shape and an alignment give the same bits always.
//
// How the work is divided: so that COARSE_FACTOR loads per thread are in flight, whatever the width.
//     a short row, right behind the one before, that is no whole vectors (or vectors of two elements, or of four where rows
//                     are few or leave lanes of a team without one)   a warp copies some rows to shared memory, as one piece:
//                     as many as leave half of the device's threads at work and it has loads for, and of narrow ones 32. Then
//                     a few lanes add up each row; of narrow rows, one lane. Where the rows of 8 teams of lanes or more begin
//                     in one bank, they go round.
//     another short row   a team of lanes of a warp, a lane per vector, or two (four where a sum has two words). It takes up
//                     to COARSE_FACTOR rows at once, a vector of each. Its lanes then exchange half of their sums for the half
//                     that another has of the other rows, so a warp ends with a row per lane.
//     longer          a warp; or a block, whose threads have a shorter way; or if there are too few rows for all
//                     multiprocessors, several blocks, whose sums meet in slots. It is what costs least, counted in tiles
//                     that blocks add up in turns: a few blocks more than the device can hold cost another turn
// Where a wave has room for all rows at once, a short row of more than a vector per lane gets a warp. Elements before
// and after the 16-byte vectors of a row are loaded one by one.
// Price paid: registers, 4 COARSE_FACTOR per thread, for the loads.
// Cost: each element read once; for rows of several blocks 8 bytes per 4-byte word of a block's
// partial result, written and read.
// Source: M. Harris, Optimizing Parallel Reduction in CUDA (2007), for the steps within a block; the
// exchange of halves is recursive halving, R. Thakur, R. Rabenseifner and W. Gropp, Optimization of
// Collective Communication Operations in MPICH (2005).

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_ROWS_BLOCK_DIM)
#define BLOCK_DIM COARSEN_ROWS_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_ROWS_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_ROWS_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_SEGMENTED
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32 || (COARSE_FACTOR & (COARSE_FACTOR - 1)) != 0
#error "coarsen/segmented: COARSE_FACTOR must be a power of two from 1 to 32"
#endif

#include "../block/reduce.h"
#include "../block/vector.h"

// Vectors of a row, up to which a warp takes several rows at once: lanes then exchange fewer words per row.
#define COARSEN_SHORT  (2 * 32 * COARSEN_(words_of_slot))
// Of elements so small nvcc takes a vector apart where it was loaded, and waits for it there, if that is in a branch.
#define COARSEN_SMALL  (sizeof(COARSEN_TYPE) < 4)
// Vectors of a lane by which rows are staged: 32 KiB for a block. 0: there is no room.
#define COARSEN_FIT    (32768 / (BLOCK_DIM * sizeof(COARSEN_(vector))))
#define COARSEN_STAGED (COARSE_FACTOR < COARSEN_FIT ? COARSE_FACTOR : COARSEN_FIT)

// A row as NAME_split divides it, in 32 bits.
typedef struct {
    const COARSEN_TYPE *in;
    unsigned int head, vectors;
} COARSEN_(short_row);

COARSEN_DEVICE COARSEN_(short_row) COARSEN_(split_short)(const COARSEN_TYPE *in, unsigned int width)
{
    const unsigned int misaligned =
        (unsigned int)((size_t)in % sizeof(COARSEN_(vector))) / sizeof(COARSEN_TYPE);
    const unsigned int head = (COARSEN_ITEMS - misaligned) % COARSEN_ITEMS;
    COARSEN_(short_row) row;
    row.in = in;
    row.head = head < width ? head : width;
    row.vectors = (width - row.head) / COARSEN_ITEMS;
    return row;
}

// The value of the lane whose number differs by the bit `delta`.
COARSEN_DEVICE COARSEN_ACC COARSEN_(exchange)(COARSEN_ACC value, unsigned int delta)
{
    COARSEN_(words) words = COARSEN_(to_words)(value);
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++)
        words.word[w] = __shfl_xor_sync(0xffffffff, words.word[w], (int)delta);
    return COARSEN_(from_words)(words);
}

// ---- Rows one right behind the other: through shared memory -----------------------------------------

// Of a warp's rows, `mine`, a team of 2^lanes_log lanes adds up one at a time. turned: each team begins at another place of
// its row, and goes round, so that teams whose rows begin in one bank of shared memory read from different ones.
COARSEN_INLINE void COARSEN_(add_staged)(const COARSEN_TYPE *elements, unsigned int width,
                                         unsigned int mine, unsigned int lanes_log, bool turned,
                                         COARSEN_ACC *out)
{
    const unsigned int lanes = 1u << lanes_log, teams = 32u >> lanes_log;
    const unsigned int lane = threadIdx.x & (lanes - 1), team = threadIdx.x % 32 >> lanes_log;
    const unsigned int word = sizeof(COARSEN_TYPE) < 4 ? 4 / sizeof(COARSEN_TYPE) : 1;
    const unsigned int turn = turned ? team * lanes * word % width : 0;
#pragma unroll 1
    for (unsigned int begin = 0; begin < mine; begin += teams) { // all lanes, as they exchange
        const unsigned int r = begin + team, end = r < mine ? width : 0;
        COARSEN_ACC sum = COARSEN_(identity)();
#pragma unroll 4
        for (unsigned int i = lane; i < end; i += lanes) {
            const unsigned int behind = i + turn;
            const unsigned int e = !turned || behind < width ? behind : behind - width;
            sum = COARSEN_(op)(sum, COARSEN_(lift)(elements[r * width + e], e));
        }
        for (unsigned int delta = lanes / 2; delta > 0; delta /= 2)
            sum = COARSEN_(op)(sum, COARSEN_(exchange)(sum, delta));
        if (lane == 0 && r < mine)
            out[r] = sum;
    }
}

// Rows of `width` elements, of which a warp takes `each`.
COARSEN_INLINE void COARSEN_(add_rows)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t rows,
                                       unsigned int width, unsigned int each,
                                       unsigned int lanes_log, bool turned)
{
    enum { staged = COARSEN_STAGED > 0 ? COARSEN_STAGED : 1 };
    COARSEN_SHARED(COARSEN_(vector), stages, COARSEN_STAGED > 0 ? BLOCK_DIM * staged : 1);
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t first = ((size_t)blockIdx.x * (BLOCK_DIM / 32) + warp) * each;
    if (first >= rows)
        return;

    // The rows are one piece of memory, as far from a vector's boundary there as here.
    const unsigned int mine = (unsigned int)coarsen_min(rows - first, each);
    const COARSEN_(short_row) piece = COARSEN_(split_short)(in + first * width, mine * width);
    const unsigned int lead = (COARSEN_ITEMS - piece.head % COARSEN_ITEMS) % COARSEN_ITEMS;
    COARSEN_(vector) *const stage = stages + warp * 32 * staged;
    COARSEN_TYPE *const elements = (COARSEN_TYPE *)stage + lead;
    const unsigned int rest = mine * width - piece.vectors * COARSEN_ITEMS; // fewer than 32
    const unsigned int e = lane < piece.head ? lane : lane + piece.vectors * COARSEN_ITEMS;
    COARSEN_TYPE one;
    if (lane < rest)
        one = piece.in[e];
    if (piece.vectors > 0) {
        const COARSEN_(vector) *const from = (const COARSEN_(vector) *)(piece.in + piece.head);
        COARSEN_(vector) *const to = stage + (lead + piece.head) / COARSEN_ITEMS;
        COARSEN_(vector) load[staged];
#pragma unroll
        for (unsigned int k = 0; k < staged; k++)
            load[k] = from[k * 32 + lane < piece.vectors ? k * 32 + lane : 0];
        if (!COARSEN_SMALL) // or the compiler waits for some of the loads before it begins the others
            __syncwarp();
#pragma unroll
        for (unsigned int k = 0; k < staged; k++)
            if (k * 32 + lane < piece.vectors)
                to[k * 32 + lane] = load[k];
    }
    if (lane < rest)
        elements[e] = one;
    __syncwarp();

    if (lanes_log == 0 && !turned) // narrow rows, which are so many that no instruction may be idle
        COARSEN_(add_staged)(elements, width, mine, 0, false, out + first);
    else
        COARSEN_(add_staged)(elements, width, mine, lanes_log, turned, out + first);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(staged_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t rows,
                            unsigned int width, unsigned int each, unsigned int lanes_log)
{
    COARSEN_(add_rows)(in, out, rows, width, each, lanes_log, false);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(turned_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t rows,
                            unsigned int width, unsigned int each, unsigned int lanes_log)
{
    COARSEN_(add_rows)(in, out, rows, width, each, lanes_log, true);
}

// ---- Short rows: a team of lanes --------------------------------------------------------------------

// Adds vector v of each row to the row's sum. All loads are in flight before the first is used. Those of small elements
// depend on no condition.
COARSEN_DEVICE void COARSEN_(add_of_rows)(COARSEN_ACC sum[COARSE_FACTOR],
                                          const COARSEN_(short_row) row[COARSE_FACTOR],
                                          unsigned int v)
{
    COARSEN_(vector) load[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (COARSEN_SMALL || v < row[k].vectors)
            load[k] =
                ((const COARSEN_(vector) *)(row[k].in + row[k].head))[v < row[k].vectors ? v : 0];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (v < row[k].vectors)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                sum[k] = COARSEN_(op)(
                    sum[k], COARSEN_(lift)(load[k].item[j], row[k].head + v * COARSEN_ITEMS + j));
}

// Adds element e of the rest of each row.
COARSEN_DEVICE void COARSEN_(add_rest_of_rows)(COARSEN_ACC sum[COARSE_FACTOR],
                                               const COARSEN_(short_row) row[COARSE_FACTOR],
                                               unsigned int width, unsigned int e)
{
    COARSEN_TYPE load[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const unsigned int i = e < row[k].head ? e : e + row[k].vectors * COARSEN_ITEMS;
        if (i < width)
            load[k] = row[k].in[i];
    }
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const unsigned int i = e < row[k].head ? e : e + row[k].vectors * COARSEN_ITEMS;
        if (i < width)
            sum[k] = COARSEN_(op)(sum[k], COARSEN_(lift)(load[k], i));
    }
}

// Adds up what the lanes of a team have of each row. While a lane has sums of several rows, it keeps half
// of them and hands the others over to another lane for that one's sums of the rows it keeps. Returns the
// row whose sum sum[0] is then; sum[1] ... are those of the rows after it, if there are more rows than
// lanes.
COARSEN_DEVICE unsigned int COARSEN_(fold)(COARSEN_ACC sum[COARSE_FACTOR], unsigned int lanes)
{
    unsigned int delta = lanes / 2, row = 0;
#pragma unroll
    for (unsigned int half = COARSE_FACTOR / 2; half > 0; half /= 2)
        if (delta > 0) {
            const bool upper = (threadIdx.x & delta) != 0;
#pragma unroll
            for (unsigned int k = 0; k < half; k++) {
                const COARSEN_ACC keep = upper ? sum[k + half] : sum[k];
                const COARSEN_ACC give = upper ? sum[k] : sum[k + half];
                sum[k] = COARSEN_(op)(keep, COARSEN_(exchange)(give, delta));
            }
            row += upper ? half : 0;
            delta /= 2;
        }
    for (; delta > 0; delta /= 2)
        sum[0] = COARSEN_(op)(sum[0], COARSEN_(exchange)(sum[0], delta));
    return row;
}

// Writes what the warp's lanes have of `left` rows, or as many as it takes, from out on. Teams take neighbours.
COARSEN_DEVICE void COARSEN_(write_sums)(COARSEN_ACC sum[COARSE_FACTOR], COARSEN_ACC *out,
                                         unsigned int lanes_log, unsigned int left)
{
    const unsigned int lanes = 1u << lanes_log, teams = 32u >> lanes_log;
    const unsigned int lane = threadIdx.x & (lanes - 1), team = threadIdx.x % 32 >> lanes_log;
    const unsigned int mine = COARSEN_(fold)(sum, lanes);
    // Of lanes that have the same row, the first writes.
    if (lanes <= COARSE_FACTOR || lane % (lanes / COARSE_FACTOR) == 0)
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            const unsigned int r = (mine + k) * teams + team;
            if (r < left && (k == 0 || k * lanes < COARSE_FACTOR))
                out[r] = sum[k];
        }
}

// Rows of whole vectors. A team is 2^lanes_log lanes, for rows of as many vectors or more.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(whole_kernel)(const COARSEN_TYPE *in, size_t pitch, COARSEN_ACC *out, size_t rows,
                           unsigned int vectors, unsigned int lanes_log)
{
    const unsigned int lanes = 1u << lanes_log, teams = 32u >> lanes_log; // of a warp
    const unsigned int lane = threadIdx.x & (lanes - 1), team = threadIdx.x % 32 >> lanes_log;
    const size_t warp = (size_t)blockIdx.x * (BLOCK_DIM / 32) + threadIdx.x / 32;
    const size_t first = warp * teams * COARSE_FACTOR;
    if (first >= rows)
        return;
    const unsigned int left = (unsigned int)coarsen_min(rows - first, teams * COARSE_FACTOR);
    const COARSEN_(vector) *const row =
        (const COARSEN_(vector) *)(in + (first + coarsen_min(team, left - 1)) * pitch);
    const size_t apart = teams * pitch / COARSEN_ITEMS;
    COARSEN_ACC sum[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        sum[k] = COARSEN_(identity)();
#pragma unroll 1
    for (unsigned int v = lane; v < vectors; v += lanes) {
        COARSEN_(vector) load[COARSE_FACTOR];
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
            if (COARSEN_SMALL || k * teams + team < left)
                load[k] = row[(COARSEN_SMALL && k * teams + team >= left ? 0 : k * apart) + v];
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
            if (k * teams + team < left)
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    sum[k] = COARSEN_(op)(sum[k],
                                          COARSEN_(lift)(load[k].item[j], v * COARSEN_ITEMS + j));
    }
    COARSEN_(write_sums)(sum, out + first, lanes_log, left);
}

// A team is 2^lanes_log lanes. rest: the most elements that a row has before and after its vectors; all, if it may
// have none.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(short_kernel)(const COARSEN_TYPE *in, size_t pitch, COARSEN_ACC *out, size_t rows,
                           unsigned int width, unsigned int rest, unsigned int lanes_log)
{
    const unsigned int lanes = 1u << lanes_log, teams = 32u >> lanes_log; // of a warp
    const unsigned int lane = threadIdx.x % 32 & (lanes - 1), team = threadIdx.x % 32 >> lanes_log;
    const size_t warp = (size_t)blockIdx.x * (BLOCK_DIM / 32) + threadIdx.x / 32;

    // The warp's rows. Its teams take neighbours, so that a load of the warp is one piece of memory.
    const size_t first = warp * teams * COARSE_FACTOR;
    if (first >= rows)
        return;
    const COARSEN_TYPE *const from = in + first * pitch;
    const unsigned int left = (unsigned int)coarsen_min(rows - first, teams * COARSE_FACTOR);
    COARSEN_ACC sum[COARSE_FACTOR];
    COARSEN_(short_row) row[COARSE_FACTOR]; // past the last, that one again
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const unsigned int r = k * teams + team;
        row[k] = COARSEN_(split_short)(from + (r < left ? r : left - 1) * pitch, width);
        if (COARSEN_SMALL && rest == width) {
            row[k].head = width;
            row[k].vectors = 0;
        }
        sum[k] = COARSEN_(identity)();
    }
    if (!COARSEN_SMALL || rest < width) {
        COARSEN_(add_of_rows)(sum, row, lane);
#pragma unroll 1
        for (unsigned int v = lane + lanes; v < width / COARSEN_ITEMS; v += lanes)
            COARSEN_(add_of_rows)(sum, row, v);
    }
#pragma unroll 1
    for (unsigned int e = lane; e < rest; e += lanes)
        COARSEN_(add_rest_of_rows)(sum, row, width, e);

    COARSEN_(write_sums)(sum, out + first, lanes_log, left);
}

// ---- Longer rows: a warp, a block or several blocks -------------------------------------------------

// Adds to sum up to COARSE_FACTOR vectors, `threads` apart, all of them in flight before the first is
// used. i: the index in the row of vectors[0]'s first element. count: vectors left in the row, this
// thread's first included.
COARSEN_DEVICE COARSEN_ACC COARSEN_(add_of_row)(COARSEN_ACC sum, const COARSEN_(vector) * vectors,
                                                size_t i, size_t count, unsigned int threads)
{
    COARSEN_(vector) load[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (COARSEN_SMALL || k * threads < count)
            load[k] = vectors[k * threads < count ? k * threads : 0];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (k * threads < count)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                sum =
                    COARSEN_(op)(sum, COARSEN_(lift)(load[k].item[j],
                                                     i + (size_t)k * threads * COARSEN_ITEMS + j));
    return sum;
}

// warps: whether each warp takes a row, or a block does. pieces: how many blocks take a row, in turns, a tile of
// COARSE_FACTOR vectors per thread each; 1 for warps. scratch: a counter per row, then a slot per piece.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, size_t pitch, COARSEN_ACC *out, size_t rows,
                     size_t width, bool warps, unsigned int pieces, unsigned long long *scratch)
{
    __shared__ unsigned long long ticket;
    const unsigned int threads = warps ? 32 : BLOCK_DIM; // of a row, here
    const unsigned int thread = warps ? threadIdx.x % 32 : threadIdx.x;
    const size_t row =
        warps ? (size_t)blockIdx.x * (BLOCK_DIM / 32) + threadIdx.x / 32 : blockIdx.x / pieces;
    const unsigned int piece = warps ? 0 : blockIdx.x % pieces;
    if (row >= rows)
        return;
    if (pieces > 1)
        COARSEN_(enter)(scratch + row, &ticket);

    const COARSEN_TYPE *const from = in + row * pitch;
    const COARSEN_(parts) parts = COARSEN_(split)(from, width);
    const bool has_rest = piece == 0 && thread < parts.rest;
    const size_t i = COARSEN_(rest)(parts, thread);
    COARSEN_TYPE load;
    if (has_rest)
        load = from[i];
    COARSEN_ACC sum = COARSEN_(identity)();
    for (size_t v = (size_t)piece * COARSE_FACTOR * threads + thread; v < parts.vectors;
         v += (size_t)pieces * COARSE_FACTOR * threads)
        sum = COARSEN_(add_of_row)(sum, parts.first + v, parts.head + v * COARSEN_ITEMS,
                                   parts.vectors - v, threads);
    if (has_rest)
        sum = COARSEN_(op)(sum, COARSEN_(lift)(load, i));

    if (pieces > 1) {
        unsigned long long *const slots = scratch + rows + row * pieces * COARSEN_(words_of_slot);
        COARSEN_(meet)(sum, out + row, scratch + row, slots, piece, pieces, &ticket);
        return;
    }
    sum = warps ? COARSEN_(warp)(sum) : COARSEN_(block)(sum);
    if (thread == 0)
        out[row] = sum;
}

#ifndef __CUDACC_RTC__
// How long blocks take, of which a multiprocessor holds so many at a time, in the time in which all of these add up a tile
// each. Where there are fewer, it is so much less, as blocks that wait for their loads leave others more room, but no less
// than 0.4 of that.
COARSEN_HOST double COARSEN_(turns)(size_t blocks, size_t processors, size_t resident)
{
    const size_t wave = processors * resident;
    const size_t last = coarsen_ceil_div(blocks % wave, processors);
    const double fewest = 0.4;
    return (double)(blocks / wave) +
           (last > 0 ? fewest + (1 - fewest) * (double)last / (double)resident : 0);
}

// How many blocks take a row; or 0: a warp does. To begin costs as much as 0.35 tiles, that blocks meet as much as one, and
// warps take 1.2 times as long. Fitted to the times of 76 matrices on an H200.
COARSEN_HOST size_t COARSEN_(pieces)(size_t rows, size_t width, size_t processors, size_t resident)
{
    const size_t tile = (size_t)COARSE_FACTOR * BLOCK_DIM * COARSEN_ITEMS, warps = BLOCK_DIM / 32;
    const size_t tiles = coarsen_ceil_div(width, tile);
    const double begin = 0.35, meet = 1, by_warps = 1.2;
    double least = COARSEN_(turns)(coarsen_ceil_div(rows, warps), processors, resident) *
                   ((double)coarsen_ceil_div(width, tile / warps) + begin) * by_warps;
    size_t best = 0;
    for (size_t each = 1; each <= 8 * resident; each++) { // blocks of a multiprocessor
        const size_t most = each * processors / rows;
        const size_t pieces = most == 0 ? 1 : coarsen_min(most, tiles);
        const double cost = COARSEN_(turns)(rows * pieces, processors, resident) *
                                ((double)coarsen_ceil_div(tiles, pieces) + begin) +
                            (pieces > 1 ? meet : 0);
        if (cost < least)
            least = cost, best = pieces;
    }
    return best;
}

// For as many pieces as there may be: fewer than 16 for each block that the device can hold.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t rows, size_t width)
{
    cudaError_t status;
    const size_t tiles = coarsen_ceil_div(width, (size_t)COARSE_FACTOR * BLOCK_DIM * COARSEN_ITEMS);
    const size_t most =
        16 * (2048 / BLOCK_DIM) * coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (tiles <= 1 || rows == 0)
        return 0;
    const size_t pieces = rows < most && tiles < most ? coarsen_min(rows * tiles, most) : most;
    return (coarsen_min(rows, most) + pieces * COARSEN_(words_of_slot)) *
           sizeof(unsigned long long);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, size_t pitch, COARSEN_ACC *out,
                                          size_t rows, size_t width, void *scratch,
                                          size_t scratch_bytes, cudaStream_t stream)
{
    const size_t vectors = width / COARSEN_ITEMS, needed = COARSEN_(scratch_bytes)(rows, width);
    if (!coarsen_rows_ok(in, pitch, rows, width, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, rows) || (needed > 0 && !coarsen_bytes_ok(scratch, 1, needed, 16)) ||
        scratch_bytes < needed)
        return cudaErrorInvalidValue;
    if (rows == 0)
        return cudaSuccess;
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status != cudaSuccess)
        return status;
    const size_t threads = processors * 2048; // that the device can hold
    const bool aligned = ((size_t)in | pitch * sizeof(*in)) % sizeof(COARSEN_(vector)) == 0;
    const size_t rest = aligned ? width % COARSEN_ITEMS : coarsen_min(width, 2 * COARSEN_ITEMS - 2);
    const size_t room = // of a warp for staged elements, wherever they begin
        COARSEN_STAGED > 0 ? (COARSEN_STAGED * 32 - 1) * COARSEN_ITEMS : 0;
    // Whole vectors are read where they are. But of two elements each, or of four of few rows or of rows that leave some of a
    // team's lanes idle, they take longer so.
    const bool full = vectors < 32 ? (vectors & (vectors - 1)) == 0 : vectors % 32 == 0;
    const bool direct =
        rest == 0 && (COARSEN_ITEMS > 4 || (COARSEN_ITEMS > 2 && rows > threads / 8 && full));
    if (!direct && pitch == width && width > 0 && room >= 2 * width) {
        // As many rows per warp as leave half of the device's threads at work; of narrow rows at least one per lane, as
        // fewer blocks start sooner.
        size_t each = coarsen_ceil_div(rows, threads / 64);
        if (width < 16 && width * sizeof(*in) < 64 && each < 32)
            each = 32;
        each = coarsen_min(room / width, each);
        unsigned int lanes_log = 0;
        if (each >= 32) // a lane per row
            each = coarsen_min(coarsen_ceil_div(each, 32), room / width / 32) * 32;
        else
            while (lanes_log < 5 && 16u >> lanes_log >= each)
                lanes_log++;
        // A warp's teams meet in one bank if so many banks lie between their rows. To turn costs as much as eight of them.
        const size_t bytes = width * sizeof(*in);
        size_t apart = 128;
        while (apart > 4 && bytes % apart != 0)
            apart /= 2;
        const bool turned =
            bytes % 4 == 0 && apart >> lanes_log >= 8 * (sizeof(*in) > 4 ? sizeof(*in) : 4);
        const size_t blocks = coarsen_ceil_div(rows, BLOCK_DIM / 32 * each);
        const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
        if (blocks > 0x7fffffff)
            return cudaErrorInvalidValue;
        return turned ? cudaLaunchKernelEx(&config, COARSEN_(turned_kernel), in, out, rows,
                                           (unsigned int)width, (unsigned int)each, lanes_log)
                      : cudaLaunchKernelEx(&config, COARSEN_(staged_kernel), in, out, rows,
                                           (unsigned int)width, (unsigned int)each, lanes_log);
    }
    if (vectors <= (rows <= threads / 32 ? 32 : COARSEN_SHORT)) {
        // A lane per vector; while the device has lanes, one per element of the rest.
        unsigned int lanes_log = 0;
        while (lanes_log < 5 && (1u << lanes_log < vectors ||
                                 (1u << lanes_log < rest && rows <= threads / 2 >> lanes_log)))
            lanes_log++;
        const size_t blocks =
            coarsen_ceil_div(rows, ((size_t)BLOCK_DIM >> lanes_log) * COARSE_FACTOR);
        const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
        if (blocks > 0x7fffffff)
            return cudaErrorInvalidValue;
        if (rest == 0)
            return cudaLaunchKernelEx(&config, COARSEN_(whole_kernel), in, pitch, out, rows,
                                      (unsigned int)vectors, lanes_log);
        return cudaLaunchKernelEx(&config, COARSEN_(short_kernel), in, pitch, out, rows,
                                  (unsigned int)width, (unsigned int)rest, lanes_log);
    }

    int resident = 0; // blocks per multiprocessor
    status =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel), BLOCK_DIM, 0);
    if (status != cudaSuccess)
        return status;
    size_t pieces = COARSEN_(pieces)(rows, width, processors, resident > 0 ? (size_t)resident : 1);
    const bool warps = pieces == 0;
    pieces = warps ? 1 : pieces;
    const size_t blocks = warps ? coarsen_ceil_div(rows, BLOCK_DIM / 32) : rows * pieces;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, pitch, out, rows, width, warps,
                              (unsigned int)pieces, (unsigned long long *)scratch);
}
#endif
#undef COARSEN_SHORT
#undef COARSEN_SMALL
#undef COARSEN_FIT
#undef COARSEN_STAGED

#define COARSEN_END
#include "../base.h"
