// SPDX-License-Identifier: MIT
//
// coarsen/matmul/pipelined.h: fifth rung, register_tiled.h + asynchronous copies of the next tiles.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME matmul_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/pipelined.h>
//
// | parameter      | default           | meaning                                              |
// |----------------|-------------------|------------------------------------------------------|
// | COARSEN_NAME   | required          | prefix of every name defined here                    |
// | COARSEN_TYPE   | required          | number type of 4 or 8 bytes, also of alpha and beta  |
// | BM             | 128               | rows of P per block                                  |
// | BN             | 1024 bytes' worth | columns of P per block: 256 floats                   |
// | BK             | 16                | depth of the tiles of M and N: a multiple of 8       |
// | TM             | 8                 | rows of P per thread: whole 16-byte vectors          |
// | TN             | 64 bytes' worth   | columns of P per thread, likewise: 16 floats         |
// | COARSEN_SLICES | 1                 | thread groups per block, to divide the depth, 1 to 4 |
// | COARSEN_STAGES | 2                 | tiles of M and N per block, one in use, from 2 to 8  |
// If none of the last seven is given, the defaults are COARSEN_MATMUL_BM, _BN, _BK, _TM, _TN,
// _SLICES and _STAGES, if they are defined, as by a header from coarsen-tune.
// Defines NAME_kernel (NAME_threads threads, NAME_shared_bytes of dynamic shared memory, one block
// per tile of P, NAME_tile_rows x NAME_tile_cols), what block/copy.h and block/vector.h define, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// m: rows x inner, n: inner x cols, p: rows x cols, in device memory, row-major: element i, j of m
// is m[i * ldm + j]. ldm >= inner, ldn >= cols, ldp >= cols. Any size, including 0, at element
// alignment. p must not overlap m or n. As in BLAS, p is not read if beta is 0, and m and n are not
// read if alpha is 0: NaN there does not spread. Errors: cudaErrorInvalidValue, with nothing
// written, for a leading dimension below the width, a null, misaligned or overflowing matrix, or
// more than 2^31 - 1 blocks. No scratch. Deterministic.
//
// Price saved: waiting. Tiles are copied to shared memory asynchronously (compute capability 8.0 or
// more), not through registers, COARSEN_STAGES - 1 tiles ahead, with one barrier per tile. The
// operands of a step are loaded, four floats per load, while those of the step before are
// multiplied. Blocks that run at the same time share rows and columns in the L2 cache. If a matrix
// has too few tiles to fill the device with warps, slices of a block split the depth, then add up.
// Price paid: COARSEN_STAGES tiles of shared memory, twice the registers for operands, and a kernel
// that is harder to read. 6 of the 134 instructions of a step are loads, so arithmetic is the
// bottleneck. The fast path takes tiles that are wholly inside the matrices, with the rows of N and
// P at 16-byte alignment. All others are copied element by element.
// Source: S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance, 2022; A. Kerr
// et al., CUTLASS: Fast Linear Algebra in CUDA C++, 2017.

#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/vector.h"

// Tuned values are a set: if the user gives one, the rest may not fit it. They come after the
// opening, as a tuned BN or TN is a number of bytes, which #if cannot work out.
#if defined(COARSEN_MATMUL_BM) && !defined(COARSEN_SHAPE) && !defined(BM) && !defined(BN) &&       \
    !defined(BK) && !defined(TM) && !defined(TN) && !defined(COARSEN_SLICES) &&                    \
    !defined(COARSEN_STAGES)
#define BM             COARSEN_MATMUL_BM
#define BN             COARSEN_MATMUL_BN
#define BK             COARSEN_MATMUL_BK
#define TM             COARSEN_MATMUL_TM
#define TN             COARSEN_MATMUL_TN
#define COARSEN_SLICES COARSEN_MATMUL_SLICES
#define COARSEN_STAGES COARSEN_MATMUL_STAGES
#endif

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file once per shape
#define COARSEN_SHAPE
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN (1024 / sizeof(COARSEN_TYPE))
#endif
#ifndef BK
#define BK 16
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN (64 / sizeof(COARSEN_TYPE))
#endif
#ifndef COARSEN_SLICES
#define COARSEN_SLICES 1
#elif COARSEN_SLICES < 1 || COARSEN_SLICES > 4
#error "coarsen/matmul: COARSEN_SLICES must be from 1 to 4"
#endif
#ifndef COARSEN_STAGES
#define COARSEN_STAGES 2
#elif COARSEN_STAGES < 2 || COARSEN_STAGES > 8
#error "coarsen/matmul: COARSEN_STAGES must be from 2 to 8"
#endif

#define COARSEN_GROUP    ((BM / TM) * (BN / TN))                     // threads per slice
#define COARSEN_THREADS  (COARSEN_GROUP * COARSEN_SLICES)            // threads per block
#define COARSEN_DEEP     (BK / COARSEN_SLICES)                       // depth of a tile per slice
#define COARSEN_LANES_N  (BN / TN < 8 ? BN / TN : 8)                 // width of a warp, in patches
#define COARSEN_LANES_M  (32 / COARSEN_LANES_N)                      // height of a warp, in patches
#define COARSEN_RUN      8                                           // neighbours in M per copy
#define COARSEN_M_COPIES (BM * BK / COARSEN_THREADS)                 // elements per thread
#define COARSEN_N_COPIES (BK * BN / COARSEN_ITEMS / COARSEN_THREADS) // vectors per thread
#define COARSEN_BAND     8u                                          // tiles

static_assert(BM > 0 && BN > 0 && BK > 0 && TM > 0 && TN > 0,
              "coarsen/matmul: BM, BN, BK, TM and TN must be greater than 0");
static_assert(sizeof(COARSEN_TYPE) == 4 || sizeof(COARSEN_TYPE) == 8,
              "coarsen/matmul: pipelined.h copies 4 or 8 bytes: other sizes take register_tiled.h");
static_assert(TM % COARSEN_ITEMS == 0 && TN % COARSEN_ITEMS == 0,
              "coarsen/matmul: TM and TN must be multiples of 16 bytes of elements");
static_assert(
    TM % COARSEN_SLICES == 0 && COARSEN_DEEP % 2 == 0 && BK % COARSEN_SLICES == 0 &&
        BK % COARSEN_RUN == 0,
    "coarsen/matmul: BK must be a multiple of 8 and of 2 COARSEN_SLICES, TM of COARSEN_SLICES");
static_assert(32 % COARSEN_LANES_N == 0 && BM % (COARSEN_LANES_M * TM) == 0 &&
                  BN % (COARSEN_LANES_N * TN) == 0,
              "coarsen/matmul: BM must be a multiple of 4 TM, and BN of 8 TN");
static_assert(
    COARSEN_THREADS <= 1024 && BM * BK % COARSEN_THREADS == 0 &&
        BK * BN / COARSEN_ITEMS % COARSEN_THREADS == 0 &&
        COARSEN_THREADS % (BN / COARSEN_ITEMS) == 0 &&
        (COARSEN_RUN * BM % COARSEN_THREADS == 0 || COARSEN_THREADS % (COARSEN_RUN * BM) == 0),
    "coarsen/matmul: the BM / TM * BN / TN * COARSEN_SLICES threads of a block, up to 1024, "
    "must share the tiles evenly: take powers of two, or change BK");

// What a block multiplies at a time. M is transposed, so operands for rows of P are neighbours. Its
// rows are 4 longer: otherwise the copies of a column's elements would share a bank.
typedef struct __attribute__((aligned(16))) {
    COARSEN_TYPE m[BK][BM + 4], n[BK][BN];
} COARSEN_SHAPE_(tiles);

enum {
    COARSEN_SHAPE_(tile_rows) = BM,
    COARSEN_SHAPE_(tile_cols) = BN,
    COARSEN_SHAPE_(threads) = COARSEN_THREADS,
    // At the end, the sums of all slices except one take the place of the tiles.
    COARSEN_SHAPE_(shared_bytes) = COARSEN_STAGES * sizeof(COARSEN_SHAPE_(tiles)) >
                                           (COARSEN_SLICES - 1) * BM *BN * sizeof(COARSEN_TYPE)
                                       ? COARSEN_STAGES * sizeof(COARSEN_SHAPE_(tiles))
                                       : (COARSEN_SLICES - 1) * BM *BN * sizeof(COARSEN_TYPE)
};

// Where the tiles come from. The next ones are at row, col and k. If they are wholly inside the
// matrices, this thread copies from m_next and n_next on.
typedef struct {
    const COARSEN_TYPE *m, *n, *m_next, *n_next;
    size_t ldm, ldn, rows, cols, inner, row, col, k;
    bool inside; // in rows and columns, and the rows of N are 16-byte aligned
} COARSEN_SHAPE_(source);

// Starts to copy the next tiles of M and N, zeros beyond the edges, and moves on to the next ones.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_SHAPE_(copy)(COARSEN_SHAPE_(tiles) * to, COARSEN_SHAPE_(source) * from)
{
    const unsigned int t = threadIdx.x, runs = COARSEN_RUN * BM; // elements in a run of each row
    if (from->inside && from->k + BK <= from->inner) {
        const unsigned int row = t / COARSEN_RUN % BM, k = t % COARSEN_RUN + t / runs * COARSEN_RUN;
        const COARSEN_TYPE *next = from->m_next;
#pragma unroll
        for (unsigned int i = 0; i < COARSEN_M_COPIES; i++) {
            const unsigned int e = i * COARSEN_THREADS;
            if (e % runs == 0)
                next = from->m_next + e / runs * COARSEN_RUN;
            COARSEN_(copy_async)
            (&to->m[k + e / runs * COARSEN_RUN][row + e / COARSEN_RUN % BM], next,
             sizeof(COARSEN_TYPE));
            next += COARSEN_THREADS / COARSEN_RUN * from->ldm;
        }
        next = from->n_next;
#pragma unroll
        for (unsigned int i = 0; i < COARSEN_N_COPIES; i++) {
            COARSEN_(copy_async)
            (&to->n[0][0] + (t + i * COARSEN_THREADS) * COARSEN_ITEMS, next, 16);
            next += COARSEN_THREADS / (BN / COARSEN_ITEMS) * from->ldn;
        }
        from->m_next += BK;
        from->n_next += BK * from->ldn;
    } else if (from->k < from->inner + BK) { // also the tiles after the last: all zeros
#pragma unroll
        for (unsigned int i = 0; i < COARSEN_M_COPIES; i++) {
            const unsigned int e = t + i * COARSEN_THREADS;
            const size_t row = from->row + e / BK, k = from->k + e % BK;
            const bool there = row < from->rows && k < from->inner;
            COARSEN_(copy_or_zero_async)
            (&to->m[e % BK][e / BK], there ? from->m + row * from->ldm + k : from->m,
             sizeof(COARSEN_TYPE), there);
        }
#pragma unroll
        for (unsigned int i = 0; i < COARSEN_N_COPIES * COARSEN_ITEMS; i++) {
            const unsigned int e = t + i * COARSEN_THREADS;
            const size_t k = from->k + e / BN, col = from->col + e % BN;
            const bool there = k < from->inner && col < from->cols;
            COARSEN_(copy_or_zero_async)
            (&to->n[e / BN][e % BN], there ? from->n + k * from->ldn + col : from->n,
             sizeof(COARSEN_TYPE), there);
        }
    }
    from->k += BK;
    COARSEN_(copies_end)();
}

// Loads the operands of one step for a thread's patch, at row and col of its tile.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_SHAPE_(load)(COARSEN_(vector) * of_m, COARSEN_(vector) * of_n,
                     const COARSEN_SHAPE_(tiles) * tiles, unsigned int k, unsigned int row,
                     unsigned int col)
{
#pragma unroll
    for (unsigned int i = 0; i < TM; i += COARSEN_ITEMS)
        of_m[i / COARSEN_ITEMS] =
            *(const COARSEN_(vector) *)&tiles->m[k][row + i * COARSEN_LANES_M];
#pragma unroll
    for (unsigned int j = 0; j < TN; j += COARSEN_ITEMS)
        of_n[j / COARSEN_ITEMS] =
            *(const COARSEN_(vector) *)&tiles->n[k][col + j * COARSEN_LANES_N];
}

// Where a block's tile of P begins. Blocks go down and then across in bands of tiles, so blocks
// that run at the same time need few different rows and columns.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_SHAPE_(place)(size_t rows, size_t cols, size_t *row_start, size_t *col_start)
{
    const unsigned int tile_rows = (unsigned int)coarsen_ceil_div(rows, BM);
    const unsigned int tile_cols = (unsigned int)coarsen_ceil_div(cols, BN);
    const unsigned int band = tile_rows < COARSEN_BAND ? tile_rows : COARSEN_BAND;
    const unsigned int above = blockIdx.x / (band * tile_cols) * band;
    const unsigned int in_band = blockIdx.x % (band * tile_cols);
    const unsigned int height = tile_rows - above < band ? tile_rows - above : band;
    *row_start = (size_t)BM * (above + in_band % height);
    *col_start = (size_t)BN * (in_band / height);
}

// A thread's patch of P: vectors of rows, LANES_M apart, by vectors of columns, LANES_N apart.
typedef struct {
    COARSEN_(vector) of[TM][TN / COARSEN_ITEMS];
} COARSEN_SHAPE_(patch);

// Adds the products of one step's operands.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_SHAPE_(multiply)(COARSEN_SHAPE_(patch) * sum, const COARSEN_(vector) * of_m,
                         const COARSEN_(vector) * of_n)
{
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
        for (unsigned int along = 0; along < TN; along++) {
            // Back and forth: the last operand of a row is the first of the next row.
            const unsigned int j = i % 2 == 0 ? along : TN - 1 - along;
            sum->of[i][j / COARSEN_ITEMS].item[j % COARSEN_ITEMS] +=
                of_m[i / COARSEN_ITEMS].item[i % COARSEN_ITEMS] *
                of_n[j / COARSEN_ITEMS].item[j % COARSEN_ITEMS];
        }
}

#if COARSEN_SLICES > 1
// Each slice owns TM / COARSEN_SLICES rows of its patches, and adds them up: row i belongs to slice
// i / (TM / COARSEN_SLICES). This function hands a thread's sums of the other rows to their owners.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_SHAPE_(leave_slices)(const COARSEN_SHAPE_(patch) * sum, unsigned int slice, unsigned int t)
{
    COARSEN_(vector) *const sums = (COARSEN_(vector) *)coarsen_shared; // where the tiles were
    __syncthreads();
#pragma unroll
    for (unsigned int i = 0; i < TM; i++) {
        const unsigned int owner = i / (TM / COARSEN_SLICES);
        const unsigned int place = slice < owner ? slice : slice - 1;
        if (slice != owner)
#pragma unroll
            for (unsigned int j = 0; j < TN / COARSEN_ITEMS; j++)
                sums[((place * TM + i) * (TN / COARSEN_ITEMS) + j) * COARSEN_GROUP + t] =
                    sum->of[i][j];
    }
    __syncthreads();
}

// Adds the other slices' sums, in order, to this slice's vector j of row i.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_SHAPE_(add_slices)(COARSEN_(vector) * mine, unsigned int i, unsigned int j, unsigned int t)
{
    const COARSEN_(vector) *const sums = (const COARSEN_(vector) *)coarsen_shared;
#pragma unroll
    for (unsigned int s = 0; s < COARSEN_SLICES - 1; s++) {
        const COARSEN_(vector) other =
            sums[((s * TM + i) * (TN / COARSEN_ITEMS) + j) * COARSEN_GROUP + t];
#pragma unroll
        for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
            mine->item[q] += other.item[q];
    }
}
#endif

// P = alpha mine + beta P at to, which is row and col of P. wide: in one 16-byte access.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_SHAPE_(write)(COARSEN_TYPE *to, const COARSEN_(vector) * mine, COARSEN_TYPE alpha,
                      COARSEN_TYPE beta, bool wide, size_t row, size_t rows, size_t col,
                      size_t cols)
{
    if (wide) {
        COARSEN_(vector) result = {};
        if (beta != (COARSEN_TYPE)0)
            result = *(const COARSEN_(vector) *)to;
#pragma unroll
        for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
            result.item[q] = beta == (COARSEN_TYPE)0
                                 ? alpha * mine->item[q]
                                 : alpha * mine->item[q] + beta * result.item[q];
        *(COARSEN_(vector) *)to = result;
    } else {
#pragma unroll
        for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
            if (row < rows && col + q < cols)
                to[q] = beta == (COARSEN_TYPE)0 ? alpha * mine->item[q]
                                                : alpha * mine->item[q] + beta * to[q];
    }
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS)
    COARSEN_SHAPE_(kernel)(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
                           const COARSEN_TYPE *__restrict__ m, size_t ldm,
                           const COARSEN_TYPE *__restrict__ n, size_t ldn, COARSEN_TYPE beta,
                           COARSEN_TYPE *__restrict__ p, size_t ldp)
{
    COARSEN_SHAPE_(tiles) *const stages = (COARSEN_SHAPE_(tiles) *)coarsen_shared;
    size_t row_start, col_start;
    COARSEN_SHAPE_(place)(rows, cols, &row_start, &col_start);
    const bool inside = row_start + BM <= rows && col_start + BN <= cols;

    const unsigned int slice = COARSEN_SLICES > 1 ? threadIdx.x / COARSEN_GROUP : 0;
    const unsigned int t = threadIdx.x % COARSEN_GROUP, lane = t % 32, warp = t / 32;
    const unsigned int warps_n = BN / TN / COARSEN_LANES_N;
    const unsigned int row =
        warp / warps_n * COARSEN_LANES_M * TM + lane % COARSEN_LANES_M * COARSEN_ITEMS;
    const unsigned int col =
        warp % warps_n * COARSEN_LANES_N * TN + lane / COARSEN_LANES_M * COARSEN_ITEMS;

    COARSEN_SHAPE_(source)
    source = {m, n, m, n, ldm, ldn, rows, cols, inner, row_start, col_start, 0, false};
    if (inside && ((size_t)n | ldn * sizeof(COARSEN_TYPE)) % 16 == 0) {
        source.inside = true;
        source.m_next = m + (row_start + threadIdx.x / COARSEN_RUN % BM) * ldm +
                        threadIdx.x % COARSEN_RUN + threadIdx.x / (COARSEN_RUN * BM) * COARSEN_RUN;
        source.n_next = n + threadIdx.x / (BN / COARSEN_ITEMS) * ldn + col_start +
                        threadIdx.x % (BN / COARSEN_ITEMS) * COARSEN_ITEMS;
    }

    COARSEN_SHAPE_(patch) sum = {};
    COARSEN_(vector)
    of_m[2][TM / COARSEN_ITEMS], of_n[2][TN / COARSEN_ITEMS]; // this step's and the next
#pragma unroll
    for (unsigned int s = 0; s < COARSEN_STAGES - 1; s++)
        COARSEN_SHAPE_(copy)(stages + s, &source);
    COARSEN_(copies_wait)(COARSEN_STAGES - 2);
    __syncthreads();
    unsigned int stage = 0, next_stage = COARSEN_STAGES - 1; // the one in use, the one to copy to
    const unsigned int first = slice * COARSEN_DEEP;
    COARSEN_SHAPE_(load)(of_m[0], of_n[0], stages, first, row, col);
#pragma unroll 1
    for (size_t k = 0; k < inner; k += BK) {
#pragma unroll
        for (unsigned int step = 0; step < COARSEN_DEEP; step++) {
            const unsigned int next = (step + 1) % COARSEN_DEEP;
            if (next == 0) { // wait for the next tiles
                COARSEN_(copies_wait)(COARSEN_STAGES - 2);
                __syncthreads();
                stage = stage + 1 < COARSEN_STAGES ? stage + 1 : 0;
            }
            COARSEN_SHAPE_(load)
            (of_m[next % 2], of_n[next % 2], stages + stage, first + next, row, col);
            if (step == 0) { // all threads are done with the tiles before these
                COARSEN_SHAPE_(copy)(stages + next_stage, &source);
                next_stage = next_stage + 1 < COARSEN_STAGES ? next_stage + 1 : 0;
            }
            COARSEN_SHAPE_(multiply)(&sum, of_m[step % 2], of_n[step % 2]);
        }
    }

#if COARSEN_SLICES > 1
    COARSEN_SHAPE_(leave_slices)(&sum, slice, t);
#endif
    const bool wide = inside && ((size_t)p | ldp * sizeof(COARSEN_TYPE)) % 16 == 0;
#pragma unroll
    for (unsigned int i = 0; i < TM; i++) {
        if (i / (TM / COARSEN_SLICES) != slice)
            continue;
#pragma unroll
        for (unsigned int j = 0; j < TN / COARSEN_ITEMS; j++) {
#if COARSEN_SLICES > 1
            COARSEN_SHAPE_(add_slices)(&sum.of[i][j], i, j, t);
#endif
            const size_t to_row = row_start + row +
                                  i / COARSEN_ITEMS * COARSEN_ITEMS * COARSEN_LANES_M +
                                  i % COARSEN_ITEMS;
            const size_t to_col = col_start + col + j * COARSEN_ITEMS * COARSEN_LANES_N;
            COARSEN_SHAPE_(write)
            (p + to_row * ldp + to_col, &sum.of[i][j], alpha, beta, wide, to_row, rows, to_col,
             cols);
        }
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch)(size_t rows, size_t cols, size_t inner,
                                                COARSEN_TYPE alpha, const COARSEN_TYPE *m,
                                                size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                                                COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp,
                                                cudaStream_t stream)
{
    if (alpha == (COARSEN_TYPE)0)
        inner = 0;
    size_t blocks = 0;
    const cudaError_t status =
        COARSEN_(count_tiles)(&blocks, BM, BN, rows, cols, inner, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess || blocks == 0)
        return status;
    if (COARSEN_SHAPE_(shared_bytes) > 48 << 10) { // more than the default limit
        const cudaError_t more = cudaFuncSetAttribute((const void *)COARSEN_SHAPE_(kernel),
                                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                      COARSEN_SHAPE_(shared_bytes));
        if (more != cudaSuccess)
            return more;
    }
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, COARSEN_SHAPE_(threads),
                                                            COARSEN_SHAPE_(shared_bytes), stream);
    return cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), rows, cols, inner, alpha, m, ldm, n,
                              ldn, beta, p, ldp);
}
#endif

#undef COARSEN_GROUP
#undef COARSEN_THREADS
#undef COARSEN_DEEP
#undef COARSEN_LANES_N
#undef COARSEN_LANES_M
#undef COARSEN_RUN
#undef COARSEN_M_COPIES
#undef COARSEN_N_COPIES
#undef COARSEN_BAND
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE // and the knobs: the next shape sets its own
#undef BM
#undef BN
#undef BK
#undef TM
#undef TN
#undef COARSEN_SLICES
#undef COARSEN_STAGES
#define COARSEN_END
#include "../base.h"
