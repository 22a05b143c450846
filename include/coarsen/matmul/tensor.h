// SPDX-License-Identifier: MIT
//
// coarsen/matmul/tensor.h: sixth rung, pipelined.h + tensor cores, for doubles.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME matmul_f64
//     #define COARSEN_TYPE double
//     #include <coarsen/matmul/tensor.h>
//
// | parameter            | default   | meaning                                                   |
// |----------------------|-----------|-----------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                         |
// | COARSEN_TYPE         | required  | double                                                    |
// | BM                   | 128       | rows of P per block                                       |
// | BN                   | 128       | columns of P per block                                    |
// | BK                   | 16        | depth of the tiles of M and N: a multiple of 16           |
// | TM                   | 64        | rows of P per warp: a multiple of 16 that divides BM      |
// | TN                   | 32        | columns of P per warp: a multiple of 8 that divides BN    |
// | COARSEN_STAGES       | 4         | tiles of M and N per block, one in use, from 2 to 8       |
// | COARSEN_M_TRANSPOSED | undefined | if defined, M is stored column after column               |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column               |
// Defines the same names as pipelined.h, and what block/tensor.h defines. Arguments, errors and determinism are as
// there. It is for devices of compute capability 8.0 or more, whose tensor cores multiply doubles. Elsewhere it gives
// the same result, much slower.
//
// Price saved: the issue of instructions. One makes 16 x 8 x 8 multiplications, where another makes 32, and an H200's
// tensor cores make twice as many doubles per cycle as its other units.
// How: a warp makes TM x TN of P. It loads the operands of 8 of depth, a double per load, while it multiplies those of
// the 8 before. Tiles lie in shared memory in the order in which M and N are stored, so nothing is transposed on its
// way: copies are 16 bytes each where all rows of M and N begin at multiples of 16 bytes, and otherwise 8 bytes.
// Results go to P by way of shared memory, too, so that neighbouring lanes write neighbours.
// Price paid: 2 doubles of registers per element of P and lane, so one block of 8 warps per multiprocessor; and
// COARSEN_STAGES tiles of shared memory, 146 KiB by default.
// Source: PTX ISA, mma; A. Kerr et al., CUTLASS: Fast Linear Algebra in CUDA C++, 2017.

#if defined(COARSEN_ACC) && !defined(COARSEN_DEPTH)
#error "coarsen/matmul: COARSEN_ACC goes with matmul.h, which chooses a rung that takes it"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/overlap.h"
#include "../block/tensor.h"
#include "../block/vector.h"

// Constant, for each type that a matrix may have.
#define COARSEN_IS_DOUBLE (sizeof(COARSEN_TYPE) == 8 && (COARSEN_TYPE)0.5 != (COARSEN_TYPE)0)

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file once per shape, for whatever type
#define COARSEN_SHAPE
static_assert(COARSEN_IS_DOUBLE,
              "coarsen/matmul: tensor.h multiplies doubles: other types take pipelined.h");
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 16
#endif
#ifndef TM
#define TM 64
#endif
#ifndef TN
#define TN 32
#endif
#ifndef COARSEN_STAGES
#define COARSEN_STAGES 4
#elif COARSEN_STAGES < 2 || COARSEN_STAGES > 8
#error "coarsen/matmul: COARSEN_STAGES must be from 2 to 8"
#endif

#define COARSEN_THREADS       ((BM / TM) * (BN / TN) * 32)
#define COARSEN_DEEP          8 // depth of a multiplication
// A tile in shared memory is lines of neighbours in memory. A line is 4 elements longer than what is copied: then the
// operands that half a warp loads, 4 from each of 4 lines, are in different banks.
#define COARSEN_PITCH(length) (length + 4)
#ifdef COARSEN_M_TRANSPOSED
#define COARSEN_M_LINES      BK
#define COARSEN_M_LENGTH     BM
#define COARSEN_M_AT(row, k) ((k)*COARSEN_PITCH(BM) + (row))
#define COARSEN_ACROSS_M     false
#else
#define COARSEN_M_LINES      BM
#define COARSEN_M_LENGTH     BK
#define COARSEN_M_AT(row, k) ((row)*COARSEN_PITCH(BK) + (k))
#define COARSEN_ACROSS_M     true
#endif
#ifdef COARSEN_N_TRANSPOSED
#define COARSEN_N_LINES      BN
#define COARSEN_N_LENGTH     BK
#define COARSEN_N_AT(k, col) ((col)*COARSEN_PITCH(BK) + (k))
#define COARSEN_ACROSS_N     true
#else
#define COARSEN_N_LINES      BK
#define COARSEN_N_LENGTH     BN
#define COARSEN_N_AT(k, col) ((k)*COARSEN_PITCH(BN) + (col))
#define COARSEN_ACROSS_N     false
#endif
// Whether the threads share the lines evenly.
#define COARSEN_EVEN(lines, length)                                                                \
    (COARSEN_THREADS % (length / COARSEN_ITEMS) == 0 &&                                            \
     lines * (length / COARSEN_ITEMS) % COARSEN_THREADS == 0)

static_assert(BM > 0 && BN > 0 && BK > 0 && TM > 0 && TN > 0,
              "coarsen/matmul: BM, BN, BK, TM and TN must be greater than 0");
static_assert(BK % (2 * COARSEN_DEEP) == 0 && TM % 16 == 0 && TN % 8 == 0 && BM % TM == 0 &&
                  BN % TN == 0,
              "coarsen/matmul: of tensor.h, BK and TM must be multiples of 16, TN of 8, BM of TM, "
              "and BN of TN");
static_assert(
    COARSEN_THREADS <= 1024 &&
        (!COARSEN_IS_DOUBLE || (COARSEN_EVEN(COARSEN_M_LINES, COARSEN_M_LENGTH) &&
                                COARSEN_EVEN(COARSEN_N_LINES, COARSEN_N_LENGTH))),
    "coarsen/matmul: the BM / TM * BN / TN warps of a block, up to 32, must share the tiles "
    "evenly: take powers of two, or change BK");

// What a block multiplies at a time.
typedef struct COARSEN_ALIGNED(16) {
    COARSEN_TYPE m[COARSEN_M_LINES * COARSEN_PITCH(COARSEN_M_LENGTH)];
    COARSEN_TYPE n[COARSEN_N_LINES * COARSEN_PITCH(COARSEN_N_LENGTH)];
} COARSEN_SHAPE_(tiles);

// What a warp made, on its way to P, in patches of 8 x 8: between them is room, so that they begin in different banks.
typedef struct COARSEN_ALIGNED(16) {
    COARSEN_TYPE patch[TM / 8][TN / 8][8 * 8 + 8];
} COARSEN_SHAPE_(made);

// What a block has in shared memory: first stages, and in the end what its warps made.
typedef union {
    COARSEN_SHAPE_(tiles) stages[COARSEN_STAGES];
    COARSEN_SHAPE_(made) made[COARSEN_THREADS / 32];
} COARSEN_SHAPE_(shared);

enum {
    COARSEN_SHAPE_(takes_type) = COARSEN_IS_DOUBLE,
    COARSEN_SHAPE_(tile_rows) = BM,
    COARSEN_SHAPE_(tile_cols) = BN,
    COARSEN_SHAPE_(threads) = COARSEN_THREADS,
    COARSEN_SHAPE_(shared_bytes) = sizeof(COARSEN_SHAPE_(shared))
};

#define COARSEN_PATCHES
#include "launch.h"
#undef COARSEN_PATCHES

// Where the tiles of M, or of N, come from.
typedef struct {
    const COARSEN_TYPE *next; // what this thread copies first of the next tile
    size_t ld;
} COARSEN_SHAPE_(operand);

// From where this thread copies an operand's tiles, from row or column `start` on.
COARSEN_INLINE COARSEN_SHAPE_(operand)
    COARSEN_SHAPE_(open)(const COARSEN_TYPE *first, size_t ld, size_t start, bool across,
                         unsigned int length)
{
    const unsigned int vectors = length / COARSEN_ITEMS;
    COARSEN_SHAPE_(operand) from;
    from.ld = ld;
    from.next = first + (across ? start * ld : start) + threadIdx.x / vectors * ld +
                threadIdx.x % vectors * COARSEN_ITEMS;
    return from;
}

// Starts to copy a tile of so many lines of so many elements. whole: it lies inside the matrix. Otherwise only the
// first `lines_there`, and the first `length_there` of each, do, and zeros take the place of the others. vectors: all
// lines begin at multiples of 16 bytes.
COARSEN_INLINE void COARSEN_SHAPE_(copy_tile)(COARSEN_TYPE *to,
                                              const COARSEN_SHAPE_(operand) * from, bool whole,
                                              bool vectors, unsigned int lines, unsigned int length,
                                              unsigned int lines_there, unsigned int length_there)
{
    const unsigned int across = length / COARSEN_ITEMS, bytes = sizeof(COARSEN_TYPE);
    const unsigned int line = threadIdx.x / across, at = threadIdx.x % across * COARSEN_ITEMS;
    const unsigned int left = at + COARSEN_ITEMS <= length_there ? COARSEN_ITEMS
                              : at < length_there                ? length_there - at
                                                                 : 0;
    const COARSEN_TYPE *next = from->next;
    to += line * COARSEN_PITCH(length) + at;
#pragma unroll
    for (unsigned int l = 0; l < lines; l += COARSEN_THREADS / across) {
        const unsigned int there = line + l < lines_there ? left : 0;
        if (whole)
            COARSEN_(copy_async)(to, next, 16);
        else if (vectors)
            COARSEN_(copy_part_async)(to, next, 16, there * bytes);
        else
#pragma unroll
            for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                COARSEN_(copy_part_async)(to + q, next + q, bytes, q < there ? bytes : 0);
        next += COARSEN_THREADS / across * from->ld;
        to += COARSEN_THREADS / across * COARSEN_PITCH(length);
    }
}

typedef struct {
    COARSEN_SHAPE_(operand) m, n;
    unsigned int rows, cols; // what is left of the matrices, up to a tile
    size_t inner;            // the depth that is left
    bool vectors;            // all rows of M and N begin at multiples of 16 bytes
} COARSEN_SHAPE_(source);

// Starts to copy the next tiles of M and N, as the calls below have it.
COARSEN_INLINE void COARSEN_SHAPE_(copy_tiles)(COARSEN_SHAPE_(tiles) * to,
                                               const COARSEN_SHAPE_(source) * from, bool whole,
                                               bool vectors)
{
    const unsigned int depth = (unsigned int)coarsen_min(from->inner, BK);
    COARSEN_SHAPE_(copy_tile)
    (to->m, &from->m, whole, vectors, COARSEN_M_LINES, COARSEN_M_LENGTH,
     COARSEN_ACROSS_M ? from->rows : depth, COARSEN_ACROSS_M ? depth : from->rows);
    COARSEN_SHAPE_(copy_tile)
    (to->n, &from->n, whole, vectors, COARSEN_N_LINES, COARSEN_N_LENGTH,
     COARSEN_ACROSS_N ? from->cols : depth, COARSEN_ACROSS_N ? depth : from->cols);
}

// The same, and moves on to the next ones. After the last ones it copies nothing, or zeros if those are needed.
COARSEN_INLINE void COARSEN_SHAPE_(copy)(COARSEN_SHAPE_(tiles) * to, COARSEN_SHAPE_(source) * from,
                                         bool needed)
{
    if (needed || from->inner > 0) {
        if (!from->vectors)
            COARSEN_SHAPE_(copy_tiles)(to, from, false, false);
        else if (from->rows < BM || from->cols < BN || from->inner < BK)
            COARSEN_SHAPE_(copy_tiles)(to, from, false, true);
        else
            COARSEN_SHAPE_(copy_tiles)(to, from, true, true);
        from->m.next += COARSEN_ACROSS_M ? BK : BK * from->m.ld;
        from->n.next += COARSEN_ACROSS_N ? BK : BK * from->n.ld;
        from->inner -= coarsen_min(from->inner, BK);
    }
    COARSEN_(copies_end)();
}

// A lane's operands of one step, as block/tensor.h has them.
typedef struct {
    double m[TM / 16][4], n[TN / 8][2];
} COARSEN_SHAPE_(step);

// Loads them. row, col and k are those of the first of each.
COARSEN_INLINE void COARSEN_SHAPE_(load_m)(COARSEN_SHAPE_(step) * step,
                                           const COARSEN_SHAPE_(tiles) * tiles, unsigned int i,
                                           unsigned int row, unsigned int k)
{
#pragma unroll
    for (unsigned int q = 0; q < 4; q++)
        step->m[i][q] = (double)tiles->m[COARSEN_M_AT(row + 16 * i + q % 2 * 8, k + q / 2 * 4)];
}

COARSEN_INLINE void COARSEN_SHAPE_(load_n)(COARSEN_SHAPE_(step) * step,
                                           const COARSEN_SHAPE_(tiles) * tiles, unsigned int col,
                                           unsigned int k)
{
#pragma unroll
    for (unsigned int j = 0; j < TN / 8; j++)
#pragma unroll
        for (unsigned int q = 0; q < 2; q++)
            step->n[j][q] = (double)tiles->n[COARSEN_N_AT(k + q * 4, col + 8 * j)];
}

// The work of a block, which launch.h declares.
COARSEN_INLINE void COARSEN_SHAPE_(make)(bool is_part, size_t rows, size_t cols, size_t inner,
                                         COARSEN_TYPE alpha, const COARSEN_TYPE *__restrict__ m,
                                         size_t ldm, const COARSEN_TYPE *__restrict__ n, size_t ldn,
                                         COARSEN_TYPE beta, COARSEN_TYPE *__restrict__ p,
                                         size_t ldp, COARSEN_(work) work)
{
    if (!COARSEN_IS_DOUBLE) // never launched: leave nothing to compile
        return;
    COARSEN_SHAPE_(shared) *const shared = (COARSEN_SHAPE_(shared) *)coarsen_shared;
    COARSEN_SHAPE_(tiles) *const stages = shared->stages;
    if (is_part) {
        const size_t k = blockIdx.y * work.depth;
        m += COARSEN_ACROSS_M ? k : k * ldm;
        n += COARSEN_ACROSS_N ? k : k * ldn;
        inner = coarsen_min(inner - k, work.depth);
    } else {
        m += blockIdx.y * work.m_step;
        n += blockIdx.y * work.n_step;
        p += blockIdx.y * work.p_step;
    }
    size_t row_start, col_start;
    COARSEN_(place_tile)(work.first + blockIdx.x, BM, BN, rows, cols, &row_start, &col_start);
    COARSEN_SHAPE_(source) source;
    source.m = COARSEN_SHAPE_(open)(m, ldm, row_start, COARSEN_ACROSS_M, COARSEN_M_LENGTH);
    source.n = COARSEN_SHAPE_(open)(n, ldn, col_start, COARSEN_ACROSS_N, COARSEN_N_LENGTH);
    source.rows = (unsigned int)coarsen_min(rows - row_start, BM);
    source.cols = (unsigned int)coarsen_min(cols - col_start, BN);
    source.inner = inner;
    source.vectors =
        ((size_t)m | (size_t)n | (ldm | ldn) * sizeof(COARSEN_TYPE)) % sizeof(COARSEN_(vector)) ==
        0;

    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned int warp_row = warp / (BN / TN) * TM, warp_col = warp % (BN / TN) * TN;
    const unsigned int row = warp_row + lane / 4, col = warp_col + lane / 4;
    double sum[TM / 16][TN / 8][4] = {};
    COARSEN_SHAPE_(step) step[2]; // this one and the next
#pragma unroll
    for (unsigned int s = 0; s < COARSEN_STAGES - 1; s++)
        COARSEN_SHAPE_(copy)(stages + s, &source, s == 0);
    COARSEN_(copies_wait)(COARSEN_STAGES - 2);
    __syncthreads();
    // No more stages take turns than there are tiles: so what is loaded after the last ones, and not used, was written.
    const unsigned int last_stage =
        (unsigned int)coarsen_min(coarsen_ceil_div(inner, BK), COARSEN_STAGES) - 1;
    unsigned int stage = 0, next_stage = COARSEN_STAGES - 1; // the one in use, the one to copy to
    COARSEN_SHAPE_(load_n)(&step[0], stages, col, lane % 4);
#pragma unroll
    for (unsigned int i = 0; i < TM / 16; i++)
        COARSEN_SHAPE_(load_m)(&step[0], stages, i, row, lane % 4);
#pragma unroll 1
    for (size_t k = 0; k < inner; k += BK) {
#pragma unroll
        for (unsigned int s = 0; s < BK / COARSEN_DEEP; s++) {
            const unsigned int next = (s + 1) % (BK / COARSEN_DEEP);
            COARSEN_SHAPE_(step) *const now = &step[s % 2], *const then = &step[(s + 1) % 2];
#pragma unroll
            for (unsigned int i = 0; i < TM / 16; i++) {
                if (s == 0 && i == TM / 32) { // all threads are done with the tiles before these
                    COARSEN_SHAPE_(copy)(stages + next_stage, &source, false);
                    next_stage = next_stage + 1 < COARSEN_STAGES ? next_stage + 1 : 0;
                }
#pragma unroll
                for (unsigned int along = 0; along < TN / 8; along++) {
                    // Back and forth: the last operand of a row is the first of the next row.
                    const unsigned int j = i % 2 == 0 ? along : TN / 8 - 1 - along;
                    COARSEN_(multiply_add)(sum[i][j], now->m[i], now->n[j]);
                }
                if (i == 0) {
                    if (next == 0) { // wait for the next tiles
                        COARSEN_(copies_wait)(COARSEN_STAGES - 2);
                        __syncthreads();
                        stage = stage < last_stage ? stage + 1 : 0;
                    }
                    COARSEN_SHAPE_(load_n)
                    (then, stages + stage, col, next * COARSEN_DEEP + lane % 4);
                }
                COARSEN_SHAPE_(load_m)
                (then, stages + stage, i, row, next * COARSEN_DEEP + lane % 4);
            }
        }
    }

    if (is_part) {
        p = work.sums + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * BM * BN;
        ldp = BN, rows = BM, cols = BN, row_start = col_start = 0, beta = (COARSEN_TYPE)0;
    }
    // By way of shared memory, so that neighbouring lanes write neighbours: as the sums are, a store of a warp would touch
    // 8 rows, and only two sectors of each.
    COARSEN_SHAPE_(made) *const made = shared->made + warp;
    __syncthreads(); // all threads are done with the stages, and nothing is on its way there
#pragma unroll
    for (unsigned int i = 0; i < TM / 8; i++)
#pragma unroll
        for (unsigned int j = 0; j < TN / 8; j++)
#pragma unroll
            for (unsigned int q = 0; q < 2; q++)
                made->patch[i][j][lane * 2 + q] =
                    alpha * (COARSEN_TYPE)sum[i / 2][j][i % 2 * 2 + q];
    row_start += warp_row, col_start += warp_col;
    if (row_start >= rows || col_start >= cols)
        return;
    __syncwarp();
    p += row_start * ldp + col_start;
    const unsigned int height = (unsigned int)coarsen_min(rows - row_start, TM);
    const unsigned int width = (unsigned int)coarsen_min(cols - col_start, TN);
    if (((size_t)p | ldp * sizeof(*p)) % sizeof(COARSEN_(vector)) == 0)
        COARSEN_SHAPE_(write_rows)(p, ldp, made, COARSEN_ITEMS, height, width, beta);
    else
        COARSEN_SHAPE_(write_rows)(p, ldp, made, 1, height, width, beta);
}

#undef COARSEN_IS_DOUBLE
#undef COARSEN_EVEN
#undef COARSEN_M_LINES
#undef COARSEN_M_LENGTH
#undef COARSEN_M_AT
#undef COARSEN_ACROSS_M
#undef COARSEN_N_LINES
#undef COARSEN_N_LENGTH
#undef COARSEN_N_AT
#undef COARSEN_ACROSS_N
#undef COARSEN_PITCH
#undef COARSEN_THREADS
#undef COARSEN_DEEP
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE // and the knobs: the next shape sets its own
#undef BM
#undef BN
#undef BK
#undef TM
#undef TN
#undef COARSEN_STAGES
#define COARSEN_END
#include "../base.h"
