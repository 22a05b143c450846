// SPDX-License-Identifier: MIT
//
// coarsen/matmul/streamed.h: a product of many rows, few columns and little depth. All of N stays in shared memory, and a
// block streams tile after tile of M past it.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME streamed_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/streamed.h>
//
//     streamed_f32_launch(n, 20, 100, 1, in, 100, in, 20, 0, out, 20, stream); // n rows times 100 x 20
//
// | parameter            | default   | meaning                                                             |
// |----------------------|-----------|---------------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                                   |
// | COARSEN_TYPE         | required  | number type of 4 bytes, also of alpha and beta                      |
// | TM                   | 4         | rows of P per thread, which makes 4 columns of each                 |
// | COARSEN_STAGES       | 3         | tiles of M per block, one in use, from 2 to 8                       |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column: cols x inner           |
// Defines NAME_kernel, what block/copy.h and block/vector.h define, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// The arguments, what is read and written, and the errors are those of matmul/pipelined.h. One launch makes up to 128 columns,
// of as much depth as has room in shared memory: that of an H200's block has room for 16 columns of 3400, or 64 of 850. What
// is more takes several launches. cudaErrorNotSupported if not even 4 of depth have room, for too large TM or
// COARSEN_STAGES. No scratch. Deterministic.
//
// Price saved: the beginnings and ends of tiles, which count where the depth is little. A block of tall.h waits for its first
// copies, and while it ends nothing is copied. Here the copies of the next tiles are on their way all the time, from one tile
// to the next, and N is copied once per block, not once per tile.
// Price paid: shared memory for all of N; columns are made 16 at a time.
// How: a warp makes 8 TM rows and 16 columns of P, and warps of the same rows share what is copied of M. As in tall.h a row of
// M stays row after row, is copied from the multiple of 16 bytes before it on, and so begins 0 to 3 elements late: its
// phase. The rows of a thread have the same phase, and it looks up N as many rows earlier: N has 3 more rows above. If there
// are 4 warps down a tile, its rows are sorted by their phase as they are copied, so that a warp has rows of one phase.
// In shared memory rows of M are an odd number of vectors apart, so that neighbours come from different banks.
// Where P is not aligned, four lanes exchange their results first, so that neighbours write neighbours.
// Source: W. W. Hwu, D. B. Kirk, I. El Hajj, Programming Massively Parallel Processors, 4th ed., 2022, chapters 5 and 6,
// on tiles and coarsening; K. Gupta, J. A. Stuart, J. D. Owens, A Study of Persistent Threads Style GPU Programming for
// GPGPU Workloads, InPar 2012, on blocks that stay.

#if defined(COARSEN_M_TRANSPOSED) && !defined(COARSEN_SHAPE)
#error "coarsen/matmul: COARSEN_M_TRANSPOSED goes with matmul.h or pipelined.h"
#endif
#if defined(COARSEN_ACC) && !defined(COARSEN_DEPTH)
#error "coarsen/matmul: COARSEN_ACC goes with tensor16.h, register_tiled.h and the rungs before it"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/vector.h"

#define COARSEN_IS_4 (sizeof(COARSEN_TYPE) == 4) // bytes

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file for whatever type
#define COARSEN_SHAPE
static_assert(COARSEN_IS_4,
              "coarsen/matmul: streamed.h takes numbers of 4 bytes: others take pipelined.h");
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef TM
#define TM 4
#endif
#ifndef COARSEN_STAGES
#define COARSEN_STAGES 3
#elif COARSEN_STAGES < 2 || COARSEN_STAGES > 8
#error "coarsen/matmul: COARSEN_STAGES must be from 2 to 8"
#endif

#define COARSEN_HALO     3        // rows above N
#define COARSEN_WIDE     16       // columns of a warp, as 4 lanes have 4 each
#define COARSEN_HIGH     (8 * TM) // and its rows
#define COARSEN_MOST     16       // warps per block
#define COARSEN_RESIDENT 20       // warps that a multiprocessor has registers for, at 96 per thread

static_assert(TM >= 1 && TM <= 8, "coarsen/matmul: TM must be from 1 to 8");

enum { COARSEN_SHAPE_(takes_type) = COARSEN_IS_4, COARSEN_SHAPE_(most_cols) = 128 };

// The operands: `rows` long rows, and `cols` few columns, whose element k, j is at few + k * step_k + j * step_j. That
// of P is at p + i * step_row + j * step_col. So the launcher of matmul.h can also have few rows and N transposed.
typedef struct {
    size_t rows, cols, inner;
    const COARSEN_TYPE *m, *few;
    size_t ldm, step_k, step_j;
    COARSEN_TYPE alpha, beta;
    COARSEN_TYPE *p;
    size_t step_row, step_col;
    bool shifted; // whether a row of M may have a phase
    bool wide;    // whether P is written 16 bytes at a time
    // How it is divided: warps across the columns, and down the rows of a tile; blocks, each of which makes every so manyth
    // tile; vectors of a row of M: all, and those of a stage, a power of two; and bytes of N and of a stage.
    unsigned int across, down, blocks, vectors, stage_vectors, n_bytes, stage_bytes;
    bool sorted; // whether each warp has rows of one phase, which are 4 apart
} COARSEN_SHAPE_(product);

// Starts to copy N to shared memory: per 16 columns all rows, and zeros where there are none. bytes: 4, or 16 where vectors
// of N are aligned.
COARSEN_INLINE void COARSEN_SHAPE_(copy_few)(const COARSEN_SHAPE_(product) * of, unsigned int bytes)
{
    const unsigned int items = bytes / (unsigned int)sizeof(COARSEN_TYPE);
    const unsigned int height = 4 * of->vectors + COARSEN_HALO;
    const unsigned int width = of->across * COARSEN_WIDE / items;
    // Threads copy neighbours in memory: along a row, or where columns are stored, along the depth.
    const bool deep = of->step_k < of->step_j;
    const unsigned int lanes = deep ? 32 : width, abreast = blockDim.x / lanes;
    const unsigned int step_k = deep ? 32 : abreast, step_c = deep ? abreast : width;
    for (unsigned int c = deep ? threadIdx.x / 32 : threadIdx.x % width; c < width; c += step_c) {
        unsigned int row = deep ? threadIdx.x % 32 : threadIdx.x / width;
        const size_t column = (size_t)c * items;
        COARSEN_TYPE *to = (COARSEN_TYPE *)coarsen_shared +
                           ((size_t)(column / COARSEN_WIDE) * height + row) * COARSEN_WIDE +
                           column % COARSEN_WIDE;
#pragma unroll 4
        for (; row < height; row += step_k, to += step_k * COARSEN_WIDE) {
            const size_t k = (size_t)row - COARSEN_HALO; // above N it is larger than any depth
            const bool there = k < of->inner && column < of->cols;
            const COARSEN_TYPE *const from =
                of->few + (there ? k * of->step_k + column * of->step_j : 0);
            COARSEN_(copy_part_async)(to, from, bytes, there ? bytes : 0);
        }
    }
}

// What a thread copies of M next: a vector of each `abreast`th row of the next stage, from row r of its tile on.
// k: the depth where the vector begins, and first_k where that of a tile's first stage does: by the rows' phase below 0.
// to: bytes in shared memory, where the first vector goes in a stage at 0. stage: where the next one is.
typedef struct {
    const COARSEN_TYPE *line; // row r
    size_t row;               // of M, where the tile begins
    size_t step;              // elements from a row to the next one
    int k, first_k;
    unsigned int vector; // which one that is of its row's
    unsigned int r, abreast;
    unsigned int to, to_step, stage;
} COARSEN_SHAPE_(source);

// Starts to copy the next stage, if there is any, and moves on. What lies beyond the depth, or before it, is copied as zeros.
COARSEN_INLINE void COARSEN_SHAPE_(copy)(const COARSEN_SHAPE_(product) * of,
                                         COARSEN_SHAPE_(source) * from)
{
    const unsigned int rows = of->down * COARSEN_HIGH;
    const int inner = (int)of->inner;
    if (from->row < of->rows && from->vector < of->vectors) {
        const unsigned int left = (unsigned int)coarsen_min(of->rows - from->row, rows);
        char *to = (char *)coarsen_shared + from->to + from->stage;
        const COARSEN_TYPE *line = from->line;
        if (from->k >= 0 && from->k + 4 <= inner) {
            line += from->k;
#pragma unroll 4
            for (unsigned int r = from->r; r < left; r += from->abreast) {
                COARSEN_(copy_line_async)(to, line);
                line += from->step, to += from->to_step;
            }
        } else {
#pragma unroll 1
            for (unsigned int r = from->r; r < left; r += from->abreast) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int k = from->k + e;
                    const bool there = k >= 0 && k < inner;
                    COARSEN_(copy_part_async)
                    (to + 4 * e, line + (there ? k : 0), 4, there ? 4 : 0);
                }
                line += from->step, to += from->to_step;
            }
        }
    }
    COARSEN_(copies_end)();
    from->stage = from->stage + of->stage_bytes < COARSEN_STAGES * of->stage_bytes
                      ? from->stage + of->stage_bytes
                      : 0;
    from->k += (int)(4 * of->stage_vectors);
    from->vector += of->stage_vectors;
    if (from->vector - threadIdx.x % of->stage_vectors >= of->vectors) {
        from->vector = threadIdx.x % of->stage_vectors;
        from->k = from->first_k;
        from->row += (size_t)of->blocks * rows;
        from->line += (size_t)of->blocks * rows * of->ldm;
    }
}

// P = alpha sum + beta P, of one element.
COARSEN_INLINE void COARSEN_SHAPE_(write)(COARSEN_TYPE *to, COARSEN_TYPE sum,
                                          const COARSEN_SHAPE_(product) * of)
{
    *to = of->beta == (COARSEN_TYPE)0 ? of->alpha * sum : of->alpha * sum + of->beta * *to;
}

// Of four lanes that are 8 apart, the q-th gets element q of each, in their order.
COARSEN_INLINE void COARSEN_SHAPE_(turn)(COARSEN_TYPE x[4], unsigned int lane)
{
#pragma unroll
    for (unsigned int far = 1; far < 4; far *= 2) {
        const bool upper = lane & far * 8;
#pragma unroll
        for (unsigned int e = 0; e < 4; e++)
            if (!(e & far)) {
                const COARSEN_TYPE low = x[e], high = x[(e + far) % 4];
                const COARSEN_TYPE got =
                    __shfl_xor_sync(0xffffffff, upper ? low : high, (int)(far * 8));
                x[e] = upper ? got : low;
                x[(e + far) % 4] = upper ? high : got;
            }
    }
}

COARSEN_KERNEL void __launch_bounds__(32 * COARSEN_MOST, 1)
    COARSEN_SHAPE_(kernel)(const COARSEN_SHAPE_(product) of)
{
    if (!COARSEN_IS_4) // never launched: leave nothing to compile
        return;
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned int tile_rows = of.down * COARSEN_HIGH;
    const size_t first_row = (size_t)blockIdx.x * tile_rows;
    const size_t step = (size_t)of.blocks * tile_rows;      // of rows, from tile to tile
    const unsigned int pitch = (of.stage_vectors + 1) * 16; // bytes from row to row of M
    const size_t at_4 = (size_t)of.m / sizeof(COARSEN_TYPE);
    // In shared memory the rows of a tile are sorted by their places modulo 4, or else in their order.
    const unsigned int apart = of.sorted ? 4 : 1, sort = tile_rows / apart;

    if ((of.rows - first_row) % step < tile_rows) {
        // What the last tile has no rows for. Nobody writes what comes of it.
        COARSEN_(vector) *const all = (COARSEN_(vector) *)((char *)coarsen_shared + of.n_bytes);
        for (unsigned int e = threadIdx.x; e < COARSEN_STAGES * of.stage_bytes / 16;
             e += blockDim.x)
            all[e] = {};
        __syncthreads();
    }
    // Where columns are stored, step_k is 1 and there are no vectors of a row.
    if (of.step_j == 1 && ((size_t)of.few | of.step_k * 4 | of.cols * 4) % 16 == 0)
        COARSEN_SHAPE_(copy_few)(&of, 16);
    else
        COARSEN_SHAPE_(copy_few)(&of, 4);

    // The copies run ahead of the products, from tile to tile.
    COARSEN_SHAPE_(source) from;
    from.row = first_row;
    from.vector = threadIdx.x % of.stage_vectors;
    from.r = threadIdx.x / of.stage_vectors;
    from.abreast = blockDim.x / of.stage_vectors; // a multiple of 4, so these rows have one phase
    from.first_k = (int)(4 * from.vector) - (int)((at_4 + from.r * of.ldm) % 4);
    from.k = from.first_k;
    from.line = of.m + (first_row + from.r) * of.ldm;
    from.step = from.abreast * of.ldm;
    from.to = of.n_bytes + (from.r % apart * sort + from.r / apart) * pitch + from.vector * 16;
    from.to_step = from.abreast / apart * pitch;
    from.stage = 0;
#pragma unroll 1
    for (unsigned int s = 0; s < COARSEN_STAGES - 1; s++)
        COARSEN_SHAPE_(copy)(&of, &from);

    // Lanes l and l ^ 1 share rows, l and l ^ 2 share columns: so the quarters of a warp, whose loads of 16 bytes go
    // together, have few different addresses. Its rows are 8 apart, as they are sorted.
    const unsigned int lane_row = (lane >> 1 & 1) | (lane >> 2 & 6);
    const unsigned int lane_col = (lane & 1) | (lane >> 1 & 2);
    const unsigned int warp_row = warp / of.across * COARSEN_HIGH, group = warp % of.across;
    const unsigned int in_tile = warp_row / sort + (warp_row % sort + lane_row) * apart;
    const unsigned int phase = (unsigned int)((at_4 + in_tile * of.ldm) % 4);
    const unsigned int n_pitch = COARSEN_WIDE * (unsigned int)sizeof(COARSEN_TYPE);
    const char *const lane_n =
        (const char *)coarsen_shared + lane_col * 16 +
        (group * (4 * of.vectors + COARSEN_HALO) + COARSEN_HALO - phase) * n_pitch;
    const char *const lane_m =
        (const char *)coarsen_shared + of.n_bytes + (warp_row + lane_row) * pitch;
    const size_t col = group * COARSEN_WIDE + lane_col * 4;
    unsigned int stage = 0;
#pragma unroll 1
    for (size_t tile = first_row; tile < of.rows; tile += step) {
        COARSEN_TYPE sum[TM][4];
#pragma unroll
        for (unsigned int i = 0; i < TM; i++)
#pragma unroll
            for (unsigned int j = 0; j < 4; j++)
                sum[i][j] = 0;
        unsigned int k = 0;
#pragma unroll 1
        do { // also where there is no depth, as the copies do
            COARSEN_(copies_wait)(COARSEN_STAGES - 2);
            __syncthreads(); // this stage is there, and all are done with the one before, where the next copies go
            COARSEN_SHAPE_(copy)(&of, &from);
            const char *of_m = lane_m + stage, *of_n = lane_n + k * 4 * n_pitch;
            const unsigned int stop = coarsen_min(k + of.stage_vectors, of.vectors);
            stage = stage + of.stage_bytes < COARSEN_STAGES * of.stage_bytes
                        ? stage + of.stage_bytes
                        : 0;
#pragma unroll 2
            for (; k < stop; k++) {
                COARSEN_(vector) a[TM];
#pragma unroll
                for (unsigned int i = 0; i < TM; i++)
                    a[i] = *(const COARSEN_(vector) *)(of_m + i * 8 * pitch);
#pragma unroll
                for (unsigned int q = 0; q < 4; q++) {
                    const COARSEN_(vector) b = *(const COARSEN_(vector) *)(of_n + q * n_pitch);
#pragma unroll
                    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
                        for (unsigned int along = 0; along < 4; along++) {
                            // Back and forth, so that a register that was just read is read again.
                            const unsigned int j = i % 2 == 0 ? along : 3 - along;
                            sum[i][j] += a[i].item[q % COARSEN_ITEMS] * b.item[j % COARSEN_ITEMS];
                        }
                }
                of_m += 16, of_n += 4 * n_pitch;
            }
        } while (k < of.vectors);

#pragma unroll
        for (unsigned int i = 0; i < TM; i++) {
            const size_t row = tile + in_tile + i * 8 * apart;
            if (of.wide) {
                if (row >= of.rows || col >= of.cols)
                    continue;
                COARSEN_(vector) *const to = (COARSEN_(vector) *)(of.p + row * of.step_row + col);
                COARSEN_(vector) result = {};
                if (of.beta != (COARSEN_TYPE)0)
                    result = *to;
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    COARSEN_SHAPE_(write)(&result.item[j], sum[i][j % 4], &of);
                *to = result;
            } else if (of.step_row < of.step_col) { // lanes of a column are neighbours as they are
#pragma unroll
                for (unsigned int j = 0; j < 4; j++)
                    if (row < of.rows && col + j < of.cols)
                        COARSEN_SHAPE_(write)
                (of.p + row * of.step_row + (col + j) * of.step_col, sum[i][j], &of);
            } else { // of lanes of 2 rows, 16 are neighbours
                COARSEN_SHAPE_(turn)(sum[i], lane);
                const size_t own = col + lane / 8;
                const size_t first = row - (lane_row & 6) * apart;
                COARSEN_TYPE *to = of.p + first * of.step_row + own * of.step_col;
                if (own >= of.cols)
                    continue;
#pragma unroll
                for (unsigned int j = 0; j < 4; j++) {
                    if (first + j * 2 * apart < of.rows)
                        COARSEN_SHAPE_(write)
                    (to, sum[i][j], &of);
                    to += 2 * apart * of.step_row;
                }
            }
        }
    }
}

#ifndef __CUDACC_RTC__
// Divides a product so that it costs least, counted as in matmul.h. The cost; or 0 if N has no room beside the stages in so
// much shared memory.
// Fitted to the times of 169 products, each divided in several ways, on an H100.
COARSEN_HOST double COARSEN_SHAPE_(divide)(COARSEN_SHAPE_(product) * of, size_t processors,
                                           size_t shared_limit)
{
    // Per element of P and step of depth; per element of M, of P and of N that is copied or written; per warp that does
    // not wait while others do; and to begin.
    const double multiply = 1.32, copy = 8.84, write = of->wide ? 11.6 : 28, copy_few = 34.6,
                 alone = 3.84, begin = 1.92e5;
    const size_t most_inner = 1 << 16, reserved = 1024; // bytes of shared memory, per block
    const size_t most_stage = 8; // vectors, so that at least 4 threads copy vectors of one depth
    double best = 0;
    if (of->cols > COARSEN_SHAPE_(most_cols) || of->inner > most_inner)
        return best;
    const size_t late = of->inner > 0 && of->shifted ? COARSEN_HALO : 0;
    of->vectors = (unsigned int)coarsen_ceil_div(of->inner + late, 4);
    of->across = (unsigned int)coarsen_ceil_div(of->cols, COARSEN_WIDE);
    of->stage_vectors = 2;
    while (of->stage_vectors < coarsen_min(of->vectors, most_stage))
        of->stage_vectors *= 2;
    const size_t height = 4 * (size_t)of->vectors + COARSEN_HALO;
    const size_t width = of->across * COARSEN_WIDE;
    of->n_bytes = (unsigned int)(width * height * sizeof(COARSEN_TYPE));
    for (unsigned int down = 1; down <= 4 && down * of->across <= COARSEN_MOST; down *= 2) {
        const size_t rows = down * COARSEN_HIGH, stage = rows * (of->stage_vectors + 1) * 16;
        const size_t bytes = of->n_bytes + COARSEN_STAGES * stage;
        if (bytes > shared_limit)
            break;
        const size_t tiles = coarsen_ceil_div(of->rows, rows), warps = down * of->across;
        const size_t room = (shared_limit + reserved) / (bytes + reserved);
        const size_t resident = coarsen_min(room, COARSEN_RESIDENT / warps);
        const size_t blocks = coarsen_min(tiles, processors * resident);
        const double each = (double)coarsen_ceil_div(blocks, processors);
        const double tile =
            (double)rows * ((double)(width * 4 * of->vectors) * multiply +
                            (double)(4 * of->vectors) * copy + (double)width * write);
        const double all =
            (double)coarsen_ceil_div(tiles, blocks) * tile + (double)(width * height) * copy_few;
        const double cost = each * all * (1 + alone / (each * (double)warps)) + begin;
        if (best > 0 && cost >= best)
            continue;
        best = cost;
        of->down = down, of->stage_bytes = (unsigned int)stage, of->blocks = (unsigned int)blocks;
        of->sorted = of->shifted && down == 4 && of->step_row >= of->step_col;
    }
    return best;
}

// A product that is divided.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_product)(COARSEN_SHAPE_(product) of,
                                                        cudaStream_t stream)
{
    const size_t bytes = (size_t)of.n_bytes + COARSEN_STAGES * (size_t)of.stage_bytes;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(of.blocks, 32 * of.across * of.down, bytes, stream);
    const cudaError_t status = coarsen_let_share((const void *)COARSEN_SHAPE_(kernel), bytes, 0);
    return status == cudaSuccess ? cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), of) : status;
}

// A product as so many multiprocessors with so much shared memory per block make it. One launch makes up to 128 columns, of
// as much depth as has room.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_on)(size_t processors, size_t shared_limit,
                                                   COARSEN_SHAPE_(product) all, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    for (size_t j = 0; j < all.cols && status == cudaSuccess; j += COARSEN_SHAPE_(most_cols)) {
        COARSEN_SHAPE_(product) of = all;
        of.cols = coarsen_min(all.cols - j, COARSEN_SHAPE_(most_cols));
        of.few += j * of.step_j, of.p += j * of.step_col;
        of.shifted = ((size_t)of.m | of.ldm * sizeof(COARSEN_TYPE)) % 16 != 0;
        of.wide = ((size_t)of.p | (of.step_row | of.cols) * sizeof(COARSEN_TYPE)) % 16 == 0;
        size_t left = all.inner;
        do {
            of.inner = left;
            double cost;
            while ((cost = COARSEN_SHAPE_(divide)(&of, processors, shared_limit)) == 0 &&
                   of.inner > 4)
                of.inner = coarsen_ceil_div(of.inner, 8) * 4; // so that what follows is as aligned
            status = cost > 0 ? COARSEN_SHAPE_(launch_product)(of, stream) : cudaErrorNotSupported;
            left -= of.inner;
            of.m += of.inner, of.few += of.inner * of.step_k;
            of.beta = 1;
        } while (left > 0 && status == cudaSuccess);
    }
    return status;
}

// A product whose element k, j of the few is at few + k * step_k + j * step_j, and likewise that of P.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_steps)(
    size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha, const COARSEN_TYPE *m, size_t ldm,
    const COARSEN_TYPE *few, size_t step_k, size_t step_j, COARSEN_TYPE beta, COARSEN_TYPE *p,
    size_t step_row, size_t step_col, cudaStream_t stream)
{
    COARSEN_SHAPE_(product) of = {};
    of.rows = rows, of.cols = cols, of.inner = inner;
    of.m = m, of.few = few, of.ldm = ldm, of.step_k = step_k, of.step_j = step_j;
    of.alpha = alpha, of.beta = beta;
    of.p = p, of.step_row = step_row, of.step_col = step_col;
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    size_t limit = 0;
    if (status == cudaSuccess)
        limit = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &status);
    return status == cudaSuccess ? COARSEN_SHAPE_(launch_on)(processors, limit, of, stream)
                                 : status;
}

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch)(size_t rows, size_t cols, size_t inner,
                                                COARSEN_TYPE alpha, const COARSEN_TYPE *m,
                                                size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                                                COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp,
                                                cudaStream_t stream)
{
    if (alpha == (COARSEN_TYPE)0)
        inner = 0;
    size_t blocks = 0;
    const cudaError_t status = COARSEN_(count_tiles)(&blocks, COARSEN_HIGH, COARSEN_WIDE, rows,
                                                     cols, inner, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess || blocks == 0)
        return status;
#ifdef COARSEN_N_TRANSPOSED
    const size_t step_k = 1, step_j = ldn;
#else
    const size_t step_k = ldn, step_j = 1;
#endif
    return COARSEN_SHAPE_(launch_steps)(rows, cols, inner, alpha, m, ldm, n, step_k, step_j, beta,
                                        p, ldp, 1, stream);
}
#endif

#undef COARSEN_IS_4
#undef COARSEN_HALO
#undef COARSEN_WIDE
#undef COARSEN_HIGH
#undef COARSEN_MOST
#undef COARSEN_RESIDENT
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE // and the knobs: the next shape sets its own
#undef TM
#undef COARSEN_STAGES
#define COARSEN_END
#include "../base.h"
