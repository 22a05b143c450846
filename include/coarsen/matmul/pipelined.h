// SPDX-License-Identifier: MIT
//
// coarsen/matmul/pipelined.h: fifth rung, register_tiled.h + asynchronous copies of the next tiles.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME matmul_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/pipelined.h>
//
// | parameter            | default           | meaning                                              |
// |----------------------|-------------------|------------------------------------------------------|
// | COARSEN_NAME         | required          | prefix of every name defined here                    |
// | COARSEN_TYPE         | required          | number type of 4 or 8 bytes, also of alpha and beta  |
// | BM                   | 128               | rows of P per block                                  |
// | BN                   | 1024 bytes' worth | columns of P per block: 256 floats                   |
// | BK                   | 16                | depth of the tiles of M and N: a multiple of 8       |
// | TM                   | 8                 | rows of P per thread: whole 16-byte vectors          |
// | TN                   | 64 bytes' worth   | columns of P per thread, likewise: 16 floats         |
// | COARSEN_SLICES       | 1                 | thread groups per block, to divide the depth, 1 to 4 |
// | COARSEN_STAGES       | 2                 | tiles of M and N per block, one in use, from 2 to 8  |
// | COARSEN_M_TRANSPOSED | undefined         | if defined, M is stored column after column          |
// | COARSEN_N_TRANSPOSED | undefined         | if defined, N is stored column after column          |
// If none of the seven from BM on is given, the defaults are COARSEN_MATMUL_BM, _BN, _BK, _TM, _TN,
// _SLICES and _STAGES, if they are defined, as by a header from coarsen-tune.
// Defines NAME_kernel (NAME_threads threads, NAME_shared_bytes of dynamic shared memory, one block
// per tile of P, NAME_tile_rows x NAME_tile_cols), the kernels for parts of the depth that matmul.h
// uses, what block/copy.h, block/overlap.h and block/vector.h define, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// m: rows x inner, n: inner x cols, p: rows x cols, in device memory, row-major: element i, j of m
// is m[i * ldm + j]. ldm >= inner, ldn >= cols, ldp >= cols. Where M is stored column after column,
// element i, k is m[k * ldm + i], and ldm >= rows; likewise N. Any size, including 0, at element
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
// bottleneck. What lies beyond an edge is copied as zeros. An operand whose neighbours in memory are
// neighbours in depth, as M's are, is transposed on its way, 4 or 8 bytes per copy. The other one is
// copied 16 bytes at a time, if its rows begin at multiples of 16 bytes; otherwise an element at a
// time, which at 4096 costs 10%.
// Little depth: a BK of 8 takes fewer registers than 16 (128 and not 168 for 64 x 64 floats), so that
// more blocks are at work; and then a last tile that is at most half full is multiplied only as far as
// it goes. 874 products of 57 x 57 x 57 take 0.73 of the time.
// Source: S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance, 2022; A. Kerr
// et al., CUTLASS: Fast Linear Algebra in CUDA C++, 2017.

#if defined(COARSEN_ACC) && !defined(COARSEN_DEPTH)
#error "coarsen/matmul: COARSEN_ACC goes with matmul.h, which chooses a rung that takes it"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/overlap.h"
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

#define COARSEN_GROUP   ((BM / TM) * (BN / TN))          // threads per slice
#define COARSEN_THREADS (COARSEN_GROUP * COARSEN_SLICES) // threads per block
#define COARSEN_DEEP    (BK / COARSEN_SLICES)            // depth of a tile per slice
#define COARSEN_LANES_M (BM / TM < 4 ? BM / TM : BN / TN < 8 ? 32 / (BN / TN) : 4)
#define COARSEN_LANES_N (32 / COARSEN_LANES_M) // a warp is LANES_M x LANES_N patches
// Whether lanes l and l ^ 1 share rows, and l and l ^ 2 columns. Then a load of a warp takes 2 passes over the banks, as of
// lanes whose loads go together two and two have one address. If they are counted down first, it takes 2 passes for columns
// and 4 for rows. Where tiles and patches are large, loads do not bind, and it takes up to 2% longer: more
// multiplications then wait to be dispatched (Nsight Compute).
#define COARSEN_INTERLEAVED                                                                        \
    (BM * BN * sizeof(COARSEN_TYPE) <= 16384 || TM * TN * sizeof(COARSEN_TYPE) < 256)
#define COARSEN_RUN 8 // neighbours in depth that a few lanes copy
// Whether the threads share a tile of so many rows or columns evenly, each in the same rows or columns of it.
#define COARSEN_EVEN_ACROSS(width)                                                                 \
    (width * BK % COARSEN_THREADS == 0 &&                                                          \
     (COARSEN_RUN * width % COARSEN_THREADS == 0 || COARSEN_THREADS % (COARSEN_RUN * width) == 0))
#define COARSEN_EVEN_ALONG(width)                                                                  \
    (width * BK % COARSEN_THREADS == 0 && COARSEN_THREADS % (width / COARSEN_ITEMS) == 0 &&        \
     (COARSEN_THREADS % width == 0 || width % COARSEN_THREADS == 0))
#if defined(COARSEN_M_TRANSPOSED) || defined(COARSEN_PACKED)
#define COARSEN_COPY_M   COARSEN_SHAPE_(copy_along)
#define COARSEN_EVEN_M   COARSEN_EVEN_ALONG(BM)
#define COARSEN_PITCH_M  BM
#define COARSEN_ACROSS_M false
#else
#define COARSEN_COPY_M   COARSEN_SHAPE_(copy_across)
#define COARSEN_EVEN_M   COARSEN_EVEN_ACROSS(BM)
#define COARSEN_PITCH_M  (BM + 4)
#define COARSEN_ACROSS_M true
#endif
#if defined(COARSEN_N_TRANSPOSED) && !defined(COARSEN_PACKED)
#define COARSEN_COPY_N   COARSEN_SHAPE_(copy_across)
#define COARSEN_EVEN_N   COARSEN_EVEN_ACROSS(BN)
#define COARSEN_PITCH_N  (BN + 4)
#define COARSEN_ACROSS_N true
#else
#define COARSEN_COPY_N   COARSEN_SHAPE_(copy_along)
#define COARSEN_EVEN_N   COARSEN_EVEN_ALONG(BN)
#define COARSEN_PITCH_N  BN
#define COARSEN_ACROSS_N false
#endif

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
    COARSEN_THREADS <= 1024 && COARSEN_EVEN_M && COARSEN_EVEN_N,
    "coarsen/matmul: the BM / TM * BN / TN * COARSEN_SLICES threads of a block, up to 1024, "
    "must share the tiles evenly: take powers of two, or change BK");

// What a block multiplies at a time: operands for rows of P are neighbours, as are those for its columns.
// Rows of a tile that is transposed on its way are 4 longer: otherwise the copies of neighbours in depth would
// share a bank.
typedef struct COARSEN_ALIGNED(16) {
    COARSEN_TYPE m[BK][COARSEN_PITCH_M], n[BK][COARSEN_PITCH_N];
} COARSEN_SHAPE_(tiles);

static_assert(COARSEN_THREADS / 32 * COARSEN_LANES_M * (COARSEN_LANES_N * TN + COARSEN_ITEMS) *
                      sizeof(COARSEN_TYPE) <=
                  COARSEN_STAGES * sizeof(COARSEN_SHAPE_(tiles)),
              "coarsen/matmul: a row of each thread's patch must fit into the tiles: take a "
              "greater BK or COARSEN_STAGES");

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

#include "launch.h"

// Where the tiles of M, or of N, come from.
typedef struct {
    const COARSEN_TYPE *next; // what this thread copies first of the next tile
    size_t ld;
    unsigned int left; // rows or columns of the matrix, from this thread's first one on
    bool vectors;      // whether they are copied 16 bytes at a time
} COARSEN_SHAPE_(operand);

// Starts to copy a tile of an operand whose neighbours in memory are neighbours in depth. edge, end: whether a part of
// its rows or columns, of which there are `width`, or of its depth lies beyond the matrix. There, zeros take its place.
COARSEN_INLINE void COARSEN_SHAPE_(copy_across)(COARSEN_TYPE *to, unsigned int pitch,
                                                unsigned int width, COARSEN_SHAPE_(operand) * from,
                                                bool edge, bool end, unsigned int depth)
{
    const unsigned int runs = COARSEN_RUN * width; // elements in a run of each row or column
    const unsigned int row = threadIdx.x / COARSEN_RUN % width;
    const unsigned int k = threadIdx.x % COARSEN_RUN + threadIdx.x / runs * COARSEN_RUN;
    const COARSEN_TYPE *next = from->next;
#pragma unroll
    for (unsigned int e = 0; e < width * BK; e += COARSEN_THREADS) {
        const unsigned int below = e / COARSEN_RUN % width, deeper = e / runs * COARSEN_RUN;
        COARSEN_TYPE *const at = to + (k + deeper) * pitch + row + below;
        if (e % runs == 0)
            next = from->next + deeper;
        if (edge || end)
            COARSEN_(copy_part_async)
        (at, next, sizeof(*at),
         (!edge || below < from->left) && (!end || k + deeper < depth) ? sizeof(*at) : 0);
        else COARSEN_(copy_async)(at, next, sizeof(*at));
        next += COARSEN_THREADS / COARSEN_RUN * from->ld;
    }
    from->next += BK;
}

// The same, of an operand whose neighbours in memory are neighbouring rows or columns.
COARSEN_INLINE void COARSEN_SHAPE_(copy_along)(COARSEN_TYPE *to, unsigned int pitch,
                                               unsigned int width, COARSEN_SHAPE_(operand) * from,
                                               bool edge, bool end, unsigned int depth)
{
    const COARSEN_TYPE *next = from->next;
    if (!edge || from->vectors) {
        const unsigned int vectors = width / COARSEN_ITEMS, k = threadIdx.x / vectors;
        const unsigned int there =
            from->left < COARSEN_ITEMS ? from->left * sizeof(COARSEN_TYPE) : 16;
#pragma unroll
        for (unsigned int e = 0; e < BK * vectors; e += COARSEN_THREADS) {
            COARSEN_TYPE *const at =
                to + (k + e / vectors) * pitch + threadIdx.x % vectors * COARSEN_ITEMS;
            if (e + COARSEN_THREADS > BK * vectors && k >= BK)
                break; // a tile of fewer vectors than threads
            if (edge || end)
                COARSEN_(copy_part_async)
            (at, next, 16, end && k + e / vectors >= depth ? 0 : edge ? there : 16);
            else COARSEN_(copy_async)(at, next, 16);
            next += COARSEN_THREADS / vectors * from->ld;
        }
    } else {
        const unsigned int k = threadIdx.x / width, col = threadIdx.x % width;
#pragma unroll
        for (unsigned int e = 0; e < BK * width; e += COARSEN_THREADS) {
            if (e > 0 && e % width == 0)
                next += (COARSEN_THREADS > width ? COARSEN_THREADS / width : 1) * from->ld;
            COARSEN_(copy_part_async)
            (to + (k + e / width) * pitch + col + e % width, next + e % width, sizeof(*to),
             e % width < from->left && (!end || k + e / width < depth) ? sizeof(*to) : 0);
        }
    }
    from->next += BK * from->ld;
}

// From where this thread copies an operand's tiles, of `width` from `start` of `all` rows or columns on. Returns
// whether they lie wholly inside the matrix, and are fast to copy.
COARSEN_INLINE bool COARSEN_SHAPE_(open)(COARSEN_SHAPE_(operand) * from, const COARSEN_TYPE *first,
                                         size_t ld, size_t start, size_t all, unsigned int width,
                                         bool across)
{
    const unsigned int vectors = width / COARSEN_ITEMS, runs = COARSEN_RUN * width;
    unsigned int row = threadIdx.x % width;
    from->ld = ld;
    from->vectors = !across && ((size_t)first | ld * sizeof(COARSEN_TYPE)) % 16 == 0;
#ifdef COARSEN_PACKED // beyond the edge the last vector is copied again: nobody looks at what comes of it
    const bool again = from->vectors && all % COARSEN_ITEMS == 0;
#else
    const bool again = false;
#endif
    if (across) {
        row = threadIdx.x / COARSEN_RUN % width;
        from->next = first + (start + row) * ld + threadIdx.x % COARSEN_RUN +
                     threadIdx.x / runs * COARSEN_RUN;
    } else if (from->vectors) {
        row = threadIdx.x % vectors * COARSEN_ITEMS;
        if (again && start + row >= all)
            row = (unsigned int)(all - start) - COARSEN_ITEMS;
        from->next = first + threadIdx.x / vectors * ld + start + row;
    } else {
        from->next = first + threadIdx.x / width * ld + start + row;
    }
    from->left = start + row < all ? (unsigned int)coarsen_min(all - start - row, width) : 0;
    return again || (start + width <= all && (across || from->vectors));
}

typedef struct {
    COARSEN_SHAPE_(operand) m, n;
    size_t inner; // the depth that is left
    bool whole;   // all rows and columns are there, and fast to copy
    bool after;   // the tiles after the last were copied: zeros
} COARSEN_SHAPE_(source);

// Starts to copy the next tiles of M and N, and moves on to the next ones.
COARSEN_INLINE void COARSEN_SHAPE_(copy)(COARSEN_SHAPE_(tiles) * to, COARSEN_SHAPE_(source) * from)
{
    COARSEN_TYPE *const m = to->m[0], *const n = to->n[0];
    const unsigned int m_pitch = COARSEN_PITCH_M, n_pitch = COARSEN_PITCH_N;
    const unsigned int rest = (unsigned int)coarsen_min(from->inner, BK);
    if (from->whole && rest == BK) {
        COARSEN_COPY_M(m, m_pitch, BM, &from->m, false, false, BK);
        COARSEN_COPY_N(n, n_pitch, BN, &from->n, false, false, BK);
    } else if (rest == BK) {
        COARSEN_COPY_M(m, m_pitch, BM, &from->m, true, false, BK);
        COARSEN_COPY_N(n, n_pitch, BN, &from->n, true, false, BK);
    } else if (!from->after) {
        COARSEN_COPY_M(m, m_pitch, BM, &from->m, true, true, rest);
        COARSEN_COPY_N(n, n_pitch, BN, &from->n, true, true, rest);
        from->after = rest == 0;
    }
    from->inner -= rest;
    COARSEN_(copies_end)();
}

// Loads the operands of one step for a thread's patch, at row and col of its tile.
COARSEN_INLINE void COARSEN_SHAPE_(load)(COARSEN_(vector) * of_m, COARSEN_(vector) * of_n,
                                         const COARSEN_SHAPE_(tiles) * tiles, unsigned int k,
                                         unsigned int row, unsigned int col)
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

// A thread's patch of P: vectors of rows, LANES_M apart, by vectors of columns, LANES_N apart.
typedef struct {
    COARSEN_(vector) of[TM][TN / COARSEN_ITEMS];
} COARSEN_SHAPE_(patch);

// Adds the products of one step's operands.
COARSEN_INLINE void COARSEN_SHAPE_(multiply)(COARSEN_SHAPE_(patch) * sum,
                                             const COARSEN_(vector) * of_m,
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
COARSEN_INLINE void COARSEN_SHAPE_(leave_slices)(const COARSEN_SHAPE_(patch) * sum,
                                                 unsigned int slice, unsigned int t)
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
COARSEN_INLINE void COARSEN_SHAPE_(add_slices)(COARSEN_(vector) * mine, unsigned int i,
                                               unsigned int j, unsigned int t)
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

// Which patch of its warp is a lane's.
COARSEN_INLINE void COARSEN_SHAPE_(place_lane)(unsigned int lane, unsigned int *row,
                                               unsigned int *col)
{
    if (COARSEN_INTERLEAVED && COARSEN_LANES_M > 1 && COARSEN_LANES_N > 1) {
        *row = (lane >> 1 & 1) | lane / (2 * COARSEN_LANES_N) * 2;
        *col = (lane & 1) | (lane >> 1 & (COARSEN_LANES_N - 2u));
    } else {
        *row = lane % COARSEN_LANES_M, *col = lane / COARSEN_LANES_M;
    }
}

// Where the patch of thread t of a group begins in its tile.
COARSEN_INLINE void COARSEN_SHAPE_(find_patch)(unsigned int t, unsigned int *row, unsigned int *col)
{
    const unsigned int warp = t / 32, warps_n = BN / TN / COARSEN_LANES_N;
    unsigned int lane_row, lane_col;
    COARSEN_SHAPE_(place_lane)(t % 32, &lane_row, &lane_col);
    *row = warp / warps_n * COARSEN_LANES_M * TM + lane_row * COARSEN_ITEMS;
    *col = warp % warps_n * COARSEN_LANES_N * TN + lane_col * COARSEN_ITEMS;
}

// How far row i, or vector j, is from the first of its patch.
#define COARSEN_ROW_AT(i)                                                                          \
    ((i) / COARSEN_ITEMS * COARSEN_ITEMS * COARSEN_LANES_M + (i) % COARSEN_ITEMS)
#define COARSEN_COL_AT(j) ((j)*COARSEN_ITEMS * COARSEN_LANES_N)

// P = mine + beta P, of a vector of elements from row and col on. Rows begin at multiples of 16 bytes.
COARSEN_INLINE void COARSEN_SHAPE_(write)(const COARSEN_(vector) * mine, size_t row, size_t col,
                                          size_t rows, size_t cols, COARSEN_TYPE beta,
                                          COARSEN_TYPE *p, size_t ldp)
{
    COARSEN_TYPE *const to = p + row * ldp + col;
    if (row >= rows)
        return;
    if (col + COARSEN_ITEMS <= cols) {
        COARSEN_(vector) result = {};
        if (beta != (COARSEN_TYPE)0)
            result = *(const COARSEN_(vector) *)to;
#pragma unroll
        for (unsigned int q = 0; q < COARSEN_ITEMS; q++) {
            COARSEN_(write_one)(&result.item[q], mine->item[q], beta);
        }
        *(COARSEN_(vector) *)to = result;
    } else {
#pragma unroll
        for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
            if (col + q < cols)
                COARSEN_(write_one)(to + q, mine->item[q], beta);
    }
}

// The same, of the vectors of one row of each patch of a warp, where rows begin anywhere. From row to row of patches it
// is COARSEN_ITEMS rows of P. By way of shared memory neighbouring lanes get neighbouring elements: otherwise each
// store of a warp would touch four times as many sectors.
COARSEN_INLINE void COARSEN_SHAPE_(write_rows)(const COARSEN_(vector) * mine, size_t row,
                                               size_t col, size_t rows, size_t cols,
                                               COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp)
{
    const unsigned int lane = threadIdx.x % 32, width = COARSEN_LANES_N * TN;
    unsigned int lane_row, lane_col;
    COARSEN_SHAPE_(place_lane)(lane, &lane_row, &lane_col);
    row -= lane_row * COARSEN_ITEMS, col -= lane_col * COARSEN_ITEMS; // of the warp
    COARSEN_(vector) *const stage =
        (COARSEN_(vector) *)coarsen_shared +
        threadIdx.x / 32 * COARSEN_LANES_M * (width / COARSEN_ITEMS + 1);
    __syncwarp();
#pragma unroll
    for (unsigned int j = 0; j < TN / COARSEN_ITEMS; j++)
        stage[lane_row * (width / COARSEN_ITEMS + 1) + j * COARSEN_LANES_N + lane_col] = mine[j];
    __syncwarp();
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_LANES_M; r++)
#pragma unroll
        for (unsigned int c = lane; c < width; c += 32)
            if (row + r * COARSEN_ITEMS < rows && col + c < cols)
                COARSEN_(write_one)
    (p + (row + r * COARSEN_ITEMS) * ldp + (col + c),
     ((const COARSEN_TYPE *)(stage + r * (width / COARSEN_ITEMS + 1)))[c], beta);
}

// The work of a block, which launch.h declares. is_part is a constant: if it were a variable of the loop, the compiler
// would load operands in bursts, which takes 6% of the time.
COARSEN_INLINE void COARSEN_SHAPE_(make)(bool is_part, size_t rows, size_t cols, size_t inner,
                                         COARSEN_TYPE alpha, const COARSEN_TYPE *__restrict__ m,
                                         size_t ldm, const COARSEN_TYPE *__restrict__ n, size_t ldn,
                                         COARSEN_TYPE beta, COARSEN_TYPE *__restrict__ p,
                                         size_t ldp, COARSEN_(work) work)
{
    COARSEN_SHAPE_(tiles) *const stages = (COARSEN_SHAPE_(tiles) *)coarsen_shared;
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

    const unsigned int slice = COARSEN_SLICES > 1 ? threadIdx.x / COARSEN_GROUP : 0;
    const unsigned int t = threadIdx.x % COARSEN_GROUP;
    unsigned int row, col;
    COARSEN_SHAPE_(find_patch)(t, &row, &col);

#ifdef COARSEN_PACKED
    const size_t m_rows = work.m_rows,
                 n_cols = work.n_cols; // with those that make up whole vectors
    COARSEN_(follow)();
#else
    const size_t m_rows = rows, n_cols = cols;
#endif
    COARSEN_SHAPE_(source) source;
    const bool m_whole =
        COARSEN_SHAPE_(open)(&source.m, m, ldm, row_start, m_rows, BM, COARSEN_ACROSS_M);
    const bool n_whole =
        COARSEN_SHAPE_(open)(&source.n, n, ldn, col_start, n_cols, BN, COARSEN_ACROSS_N);
    source.whole = m_whole && n_whole;
    source.inner = inner;
    source.after = false;

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
    // So much of the depth is multiplied step by step, after the tiles: what no whole tile has, if it is little.
    const unsigned int rest = BK == 8 && inner % BK <= BK / 2 ? (unsigned int)(inner % BK) : 0;
#pragma unroll 1
    for (size_t k = rest; k < inner; k += BK) {
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
#pragma unroll 1
    for (unsigned int step = first; step < coarsen_min(rest, first + COARSEN_DEEP); step++) {
        COARSEN_SHAPE_(load)(of_m[0], of_n[0], stages + stage, step, row, col);
        COARSEN_SHAPE_(multiply)(&sum, of_m[0], of_n[0]);
    }
    COARSEN_(copies_wait)(0); // of zeros

    // Not in the stores: to store sums as vectors, the compiler would keep them in neighbouring registers, where the
    // operands of a multiplication and its sum more often share a bank. Measured: 3% of the time.
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
        for (unsigned int j = 0; j < TN; j++)
            sum.of[i][j / COARSEN_ITEMS].item[j % COARSEN_ITEMS] *= alpha;
#if COARSEN_SLICES > 1
    COARSEN_SHAPE_(leave_slices)(&sum, slice, t);
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
        if (i / (TM / COARSEN_SLICES) == slice)
#pragma unroll
            for (unsigned int j = 0; j < TN / COARSEN_ITEMS; j++)
                COARSEN_SHAPE_(add_slices)(&sum.of[i][j], i, j, t);
#endif

    if (is_part) {
        p = work.sums + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * BM * BN;
        ldp = BN, rows = BM, cols = BN, row_start = col_start = 0, beta = (COARSEN_TYPE)0;
    }
    row_start += row, col_start += col;
    const bool wide = ((size_t)p | ldp * sizeof(COARSEN_TYPE)) % 16 == 0;
    if (!wide)
        __syncthreads(); // all threads are done with shared memory
#pragma unroll
    for (unsigned int i = 0; i < TM; i++) {
        if (i / (TM / COARSEN_SLICES) != slice)
            continue;
        if (!wide) {
            COARSEN_SHAPE_(write_rows)
            (sum.of[i], row_start + COARSEN_ROW_AT(i), col_start, rows, cols, beta, p, ldp);
            continue;
        }
#pragma unroll
        for (unsigned int j = 0; j < TN / COARSEN_ITEMS; j++)
            COARSEN_SHAPE_(write)
        (&sum.of[i][j], row_start + COARSEN_ROW_AT(i), col_start + COARSEN_COL_AT(j), rows, cols,
         beta, p, ldp);
    }
}

#undef COARSEN_EVEN_ACROSS
#undef COARSEN_EVEN_ALONG
#undef COARSEN_COPY_M
#undef COARSEN_EVEN_M
#undef COARSEN_PITCH_M
#undef COARSEN_ACROSS_M
#undef COARSEN_COPY_N
#undef COARSEN_EVEN_N
#undef COARSEN_PITCH_N
#undef COARSEN_ACROSS_N
#undef COARSEN_ROW_AT
#undef COARSEN_COL_AT
#undef COARSEN_GROUP
#undef COARSEN_THREADS
#undef COARSEN_DEEP
#undef COARSEN_LANES_N
#undef COARSEN_INTERLEAVED
#undef COARSEN_LANES_M
#undef COARSEN_RUN
#undef COARSEN_PACKED
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
