// SPDX-License-Identifier: MIT
//
// coarsen/matmul/tall.h: a product of many rows and few columns, but more than narrow.h is for. A thread makes TM x TN
// elements, as in register_tiled.h, and M stays row after row in shared memory.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME tall_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/tall.h>
//
//     tall_f32_launch(n, 24, 640, 1, in, 640, in, 24, 0, out, 24, stream); // n rows times 640 x 24
//
// | parameter            | default   | meaning                                                             |
// |----------------------|-----------|---------------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                                   |
// | COARSEN_TYPE         | required  | number type of 4 bytes, also of alpha and beta                      |
// | BM                   | 64        | rows of P per block                                                 |
// | BN                   | 24        | columns of P per block: a multiple of 8                             |
// | BK                   | 32        | depth of the tiles of M and N: 8, 16 or 32                          |
// | TM                   | 2         | rows of P per thread                                                |
// | TN                   | 12        | columns of P per thread: a multiple of 4; BN is 2, 4 or 8 times that |
// | COARSEN_SLICES       | 2         | thread groups per block, to divide the depth, 1 to 4                |
// | COARSEN_STAGES       | 3         | tiles of M and N per block, one in use, from 2 to 8                 |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column: cols x inner           |
// Defines NAME_kernel (NAME_threads threads, NAME_shared_bytes of dynamic shared memory, one block per tile of P,
// NAME_tile_rows x NAME_tile_cols), the kernels for parts of the depth that matmul.h uses, what block/copy.h,
// block/overlap.h and block/vector.h define, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// The arguments, what is read and written, and the errors are those of matmul/pipelined.h. No scratch. Deterministic.
//
// Price saved: copies, which count where each element of M is multiplied by few columns. pipelined.h transposes M on its
// way: a copy of a warp brings 8 elements of each of 4 rows, which lie in 4 to 8 lines of the cache, and so takes 3 to 5
// passes over the banks of shared memory. With 24 columns these are two thirds as many passes as all loads take. Here a
// copy brings 32 neighbours of one row, wherever it begins, from one line or two; or, where rows are aligned, 32 of each of
// four rows. Tiles have as many columns as P, so that few products are of air. Slices of a block divide the depth, so that
// few rows are enough to keep a multiprocessor busy.
// Price paid: a thread loads each of its rows of M by itself, four neighbours in depth at a time; more shared memory per
// element of P; and sums of all slices that are added up, in order, by way of shared memory.
// How: in shared memory rows of M are an odd number of vectors apart, so that neighbouring rows come from different banks.
// Behind the depth there are zeros, up to a multiple of four. Of the last tile only as much depth is multiplied as there
// is, and where all of the depth is less than a tile's, threads side by side share more rows, and a block takes less shared
// memory.
// Source: W. W. Hwu, D. B. Kirk, I. El Hajj, Programming Massively Parallel Processors, 4th ed., 2022, chapters 5 and 6,
// on tiles and coarsening; A. Kerr et al., CUTLASS: Fast Linear Algebra in CUDA C++, 2017, on slices of the depth.

#if defined(COARSEN_M_TRANSPOSED) && !defined(COARSEN_SHAPE)
#error "coarsen/matmul: COARSEN_M_TRANSPOSED goes with matmul.h or pipelined.h"
#endif
#if defined(COARSEN_ACC) && !defined(COARSEN_DEPTH)
#error "coarsen/matmul: COARSEN_ACC goes with matmul.h, which chooses a rung that takes it"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/overlap.h"
#include "../block/vector.h"

#define COARSEN_IS_4 (sizeof(COARSEN_TYPE) == 4) // bytes

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file once per shape, for whatever type
#define COARSEN_SHAPE
static_assert(COARSEN_IS_4,
              "coarsen/matmul: tall.h takes numbers of 4 bytes: others take pipelined.h");
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 24
#endif
#ifndef BK
#define BK 32
#endif
#ifndef TM
#define TM 2
#endif
#ifndef TN
#define TN 12
#endif
#ifndef COARSEN_SLICES
#define COARSEN_SLICES 2
#elif COARSEN_SLICES < 1 || COARSEN_SLICES > 4
#error "coarsen/matmul: COARSEN_SLICES must be from 1 to 4"
#endif
#ifndef COARSEN_STAGES
#define COARSEN_STAGES 3
#elif COARSEN_STAGES < 2 || COARSEN_STAGES > 8
#error "coarsen/matmul: COARSEN_STAGES must be from 2 to 8"
#endif

#define COARSEN_GROUP   ((BM / TM) * (BN / TN))          // threads per slice
#define COARSEN_THREADS (COARSEN_GROUP * COARSEN_SLICES) // threads per block
#define COARSEN_LANES_N (BN / TN)                        // a warp is LANES_M x LANES_N patches
#define COARSEN_LANES_M (32 / COARSEN_LANES_N)
#define COARSEN_RUN     8 // neighbours in depth that a few lanes copy, where columns of N are stored
// Of matmul.h's operands the one of few columns is N, or M, which are then stored alike.
#if defined(COARSEN_N_TRANSPOSED) && !defined(COARSEN_M_TRANSPOSED)
#define COARSEN_N_DEEP true // neighbours in memory are neighbours in depth
#else
#define COARSEN_N_DEEP false
#endif
// Elements from row to row, of M, of N and of the sums. A row of N that is transposed on its way is 4 longer: otherwise
// copies of neighbours in depth would share a bank.
#define COARSEN_PITCH_M (BK + COARSEN_ITEMS)
#define COARSEN_PITCH_N (COARSEN_N_DEEP ? BN + 4 : BN)
#define COARSEN_PITCH_P (BN + COARSEN_ITEMS)
// Elements of a stage, which is a tile of M and one of N, and of the sums.
#define COARSEN_STAGE   (BM * COARSEN_PITCH_M + BK * COARSEN_PITCH_N)
#define COARSEN_SUMS    (COARSEN_SLICES * BM * COARSEN_PITCH_P)

static_assert(BM > 0 && BN > 0 && BK > 0 && TM > 0 && TN > 0,
              "coarsen/matmul: BM, BN, BK, TM and TN must be greater than 0");
static_assert(TN % 4 == 0 && BN % 8 == 0 && BN % TN == 0 &&
                  (COARSEN_LANES_N == 2 || COARSEN_LANES_N == 4 || COARSEN_LANES_N == 8),
              "coarsen/matmul: TN must be a multiple of 4, and BN 2, 4 or 8 times that");
static_assert(BM % (COARSEN_LANES_M * TM) == 0,
              "coarsen/matmul: BM must be a multiple of TM times 32 / (BN / TN)");
static_assert((BK == 8 || BK == 16 || BK == 32) && BK % (4 * COARSEN_SLICES) == 0,
              "coarsen/matmul: BK must be 8, 16 or 32, and a multiple of 4 COARSEN_SLICES");
static_assert(COARSEN_THREADS <= 1024 && COARSEN_THREADS >= BM && COARSEN_THREADS >= BN,
              "coarsen/matmul: the BM / TM * BN / TN * COARSEN_SLICES threads of a block must be "
              "1024 at most, and no fewer than BM and BN");

enum {
    COARSEN_SHAPE_(takes_type) = COARSEN_IS_4,
    COARSEN_SHAPE_(tile_rows) = BM,
    COARSEN_SHAPE_(tile_cols) = BN,
    COARSEN_SHAPE_(threads) = COARSEN_THREADS,
    // At the end, the sums take the place of the tiles.
    COARSEN_SHAPE_(shared_bytes) =
        sizeof(COARSEN_TYPE) * (COARSEN_STAGES * COARSEN_STAGE > COARSEN_SUMS
                                    ? COARSEN_STAGES * COARSEN_STAGE
                                    : COARSEN_SUMS)
};

#ifndef __CUDACC_RTC__
// What so much depth needs of it: as many stages as it has tiles.
COARSEN_HOST size_t COARSEN_SHAPE_(bytes_of)(size_t inner)
{
    const size_t stages = coarsen_min(coarsen_ceil_div(inner, BK), COARSEN_STAGES);
    const size_t tiles = stages * COARSEN_STAGE, sums = COARSEN_SUMS;
    return (tiles > sums ? tiles : sums) * sizeof(COARSEN_TYPE);
}
#endif
#define COARSEN_BYTES_OF COARSEN_SHAPE_(bytes_of)

#include "launch.h"

// What this thread copies. rows, cols: of the tile, those that are there. Of M it copies so many neighbours in depth of every
// step-th row, of N of every step-th row or, if columns are stored, column.
typedef struct {
    const COARSEN_TYPE *m, *n; // first, of the next tiles
    size_t m_step, n_step;     // elements from one that it copies to the next
    size_t n_tile;             // elements from tile to tile of N
    unsigned int rows, cols;
    unsigned int shift;        // of threads that copy a row of M: their logarithm
    bool m_vectors, n_vectors; // whether they are copied 16 bytes at a time
    size_t inner;              // the depth that is left
} COARSEN_SHAPE_(source);

// Starts to copy a tile of M, whose depth is `rest`, so many neighbours at a time, which is a constant. Where there is no row,
// it copies zeros, and so it does behind the depth, up to a multiple of four: four steps are made at a time.
COARSEN_INLINE void COARSEN_SHAPE_(copy_m)(COARSEN_TYPE *to, const COARSEN_SHAPE_(source) * from,
                                           unsigned int items, unsigned int rest)
{
    const unsigned int bytes = items * (unsigned int)sizeof(*to);
    const unsigned int k = (threadIdx.x & ((1u << from->shift) - 1)) * items;
    const unsigned int first = threadIdx.x >> from->shift;
    const unsigned int there = k < rest ? coarsen_min(rest - k, items) * sizeof(*to) : 0;
    const COARSEN_TYPE *m = from->m;
    if (k >= (rest + 3) / 4 * 4)
        return;
    to += first * COARSEN_PITCH_M + k;
    if (from->rows == BM && items << from->shift == BK) { // the same, unrolled
        const unsigned int step = COARSEN_THREADS / (BK / items);
        // With more at a time, small patches spill registers (NVRTC 13.0, sm_90a).
        COARSEN_UNUSED const int turns = TM * TN <= 16 ? 8 : 16;
#pragma unroll turns
        for (unsigned int r = 0; r < BM; r += step) {
            if (r + step <= BM || r + first < BM)
                COARSEN_(copy_part_async)(to + r * COARSEN_PITCH_M, m, bytes, there);
            m += from->m_step;
        }
        return;
    }
    const unsigned int step = COARSEN_THREADS >> from->shift;
#pragma unroll 4
    for (unsigned int r = first; r < BM; r += step) {
        COARSEN_(copy_part_async)(to, m, bytes, r < from->rows ? there : 0);
        m += from->m_step, to += step * COARSEN_PITCH_M;
    }
}

// The same of N, of which `width` threads share a row, so many elements each; these two are constants.
COARSEN_INLINE void COARSEN_SHAPE_(copy_n)(COARSEN_TYPE *to, const COARSEN_SHAPE_(source) * from,
                                           unsigned int width, unsigned int items,
                                           unsigned int rest)
{
    const unsigned int bytes = items * (unsigned int)sizeof(*to), step = COARSEN_THREADS / width;
    const unsigned int row = threadIdx.x / width, col = threadIdx.x % width * items;
    const unsigned int there = col < from->cols ? bytes : 0;
    const COARSEN_TYPE *n = from->n;
    if (row >= step)
        return;
    to += row * COARSEN_PITCH_N + col;
    if (rest == BK) {
#pragma unroll
        for (unsigned int k = 0; k < BK; k += step) {
            if (k + step <= BK || k + row < BK)
                COARSEN_(copy_part_async)(to + k * COARSEN_PITCH_N, n, bytes, there);
            n += from->n_step;
        }
        return;
    }
#pragma unroll 1
    for (unsigned int k = row; k < (rest + 3) / 4 * 4; k += step) {
        COARSEN_(copy_part_async)(to, n, bytes, k < rest ? there : 0);
        n += from->n_step, to += step * COARSEN_PITCH_N;
    }
}

// The same where its columns are stored.
COARSEN_INLINE void COARSEN_SHAPE_(copy_deep)(COARSEN_TYPE *to, const COARSEN_SHAPE_(source) * from,
                                              unsigned int rest)
{
    const unsigned int first = threadIdx.x % COARSEN_RUN, step = COARSEN_THREADS / COARSEN_RUN;
    const COARSEN_TYPE *n = from->n;
#pragma unroll 1
    for (unsigned int c = threadIdx.x / COARSEN_RUN; c < BN; c += step, n += from->n_step)
#pragma unroll
        for (unsigned int k = first; k < BK; k += COARSEN_RUN) {
            const bool there = k < rest && c < from->cols;
            if (k < (rest + 3) / 4 * 4)
                COARSEN_(copy_part_async)
            (to + k * COARSEN_PITCH_N + c, n + (k - first), sizeof(*to), there ? sizeof(*to) : 0);
        }
}

// Starts to copy the next tiles, if there are any, and moves on.
COARSEN_INLINE void COARSEN_SHAPE_(copy)(COARSEN_TYPE *to, COARSEN_SHAPE_(source) * from)
{
    const unsigned int rest = (unsigned int)coarsen_min(from->inner, BK);
    COARSEN_TYPE *const to_n = to + BM * COARSEN_PITCH_M;
    if (rest > 0) {
        if (from->m_vectors)
            COARSEN_SHAPE_(copy_m)(to, from, COARSEN_ITEMS, rest);
        else
            COARSEN_SHAPE_(copy_m)(to, from, 1, rest);
        if (COARSEN_N_DEEP)
            COARSEN_SHAPE_(copy_deep)(to_n, from, rest);
        else if (from->n_vectors)
            COARSEN_SHAPE_(copy_n)(to_n, from, BN / COARSEN_ITEMS, COARSEN_ITEMS, rest);
        else
            COARSEN_SHAPE_(copy_n)(to_n, from, BN, 1, rest);
        from->m += rest, from->n += from->n_tile;
        from->inner -= rest;
    }
    COARSEN_(copies_end)();
}

// Where a lane is in its warp. Lanes l and l ^ 1 share rows, l and l ^ 2 share columns: so the quarters of a warp, whose
// loads of 16 bytes go together, have few different addresses.
COARSEN_INLINE void COARSEN_SHAPE_(place)(unsigned int lane, unsigned int *row, unsigned int *col)
{
    if (COARSEN_LANES_N == 2)
        *row = lane >> 1, *col = lane & 1;
    else if (COARSEN_LANES_N == 4)
        *row = (lane >> 1 & 1) | (lane >> 2 & 6), *col = (lane & 1) | (lane >> 1 & 2);
    else
        *row = (lane >> 1 & 1) | (lane >> 3 & 2), *col = (lane & 1) | (lane >> 1 & 6);
}

// Adds the products of four steps of the depth to a thread's patch, whose operands begin there.
COARSEN_INLINE void COARSEN_SHAPE_(multiply)(COARSEN_TYPE sum[TM][TN], const COARSEN_TYPE *of_m,
                                             const COARSEN_TYPE *of_n)
{
    COARSEN_(vector) a[TM];
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
        a[i] = *(const COARSEN_(vector) *)(of_m + i * COARSEN_LANES_M * COARSEN_PITCH_M);
#pragma unroll
    for (unsigned int q = 0; q < 4; q++) {
        COARSEN_(vector) b[TN / 4];
#pragma unroll
        for (unsigned int j = 0; j < TN / 4; j++)
            b[j] =
                *(const COARSEN_(vector) *)(of_n + q * COARSEN_PITCH_N + j * 4 * COARSEN_LANES_N);
            // Back and forth, so that a register that was just read is read again.
#pragma unroll
        for (unsigned int i = 0; i < TM; i++)
#pragma unroll
            for (unsigned int along = 0; along < TN; along++) {
                const unsigned int j = i % 2 == 0 ? along : TN - 1 - along;
                sum[i][j] += a[i].item[q % COARSEN_ITEMS] * b[j / 4].item[j % COARSEN_ITEMS];
            }
    }
}

// The work of a block, which launch.h declares. Of M and N the former is the one of many rows; if P is flipped, element
// i, j of it is p[i + j * ldp].
COARSEN_INLINE void COARSEN_SHAPE_(make)(bool is_part, size_t rows, size_t cols, size_t inner,
                                         COARSEN_TYPE alpha, const COARSEN_TYPE *__restrict__ m,
                                         size_t ldm, const COARSEN_TYPE *__restrict__ n, size_t ldn,
                                         COARSEN_TYPE beta, COARSEN_TYPE *__restrict__ p,
                                         size_t ldp, COARSEN_(work) work)
{
    if (!COARSEN_IS_4) // never launched: leave nothing to compile
        return;
    if (is_part) {
        const size_t k = blockIdx.y * work.depth;
        m += k, n += COARSEN_N_DEEP ? k : k * ldn;
        inner = coarsen_min(inner - k, work.depth);
    } else {
        m += blockIdx.y * work.m_step;
        n += blockIdx.y * work.n_step;
        p += blockIdx.y * work.p_step;
    }
    COARSEN_TYPE *const stages = (COARSEN_TYPE *)coarsen_shared;
    size_t row_start = (size_t)(work.first + blockIdx.x) * BM, col_start = 0;
    if (cols > BN)
        COARSEN_(place_tile)(work.first + blockIdx.x, BM, BN, rows, cols, &row_start, &col_start);

    COARSEN_SHAPE_(source) from;
    from.rows = (unsigned int)coarsen_min(rows - row_start, BM);
    from.cols = (unsigned int)coarsen_min(cols - col_start, BN);
    from.inner = inner;
    from.m_vectors = ((size_t)m | ldm * sizeof(COARSEN_TYPE)) % 16 == 0;
    const unsigned int items = from.m_vectors ? 4 : 1;
    from.shift = 0;
    while (items << from.shift < coarsen_min((inner + 3) / 4 * 4, BK))
        from.shift++;
    from.m = m + (row_start + (threadIdx.x >> from.shift)) * ldm +
             (threadIdx.x & ((1u << from.shift) - 1)) * items;
    from.m_step = (COARSEN_THREADS >> from.shift) * ldm;
    from.n_vectors = false;
    if (COARSEN_N_DEEP) {
        from.n = n + (col_start + threadIdx.x / COARSEN_RUN) * ldn + threadIdx.x % COARSEN_RUN;
        from.n_step = COARSEN_THREADS / COARSEN_RUN * ldn;
        from.n_tile = BK;
    } else {
        from.n_vectors =
            ((size_t)n | ldn * sizeof(COARSEN_TYPE)) % 16 == 0 && from.cols % COARSEN_ITEMS == 0;
        const unsigned int each = from.n_vectors ? COARSEN_ITEMS : 1, width = BN / each;
        from.n = n + threadIdx.x / width * ldn + col_start + threadIdx.x % width * each;
        from.n_step = COARSEN_THREADS / width * ldn;
        from.n_tile = BK * ldn;
    }
    COARSEN_TYPE sum[TM][TN];
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
        for (unsigned int j = 0; j < TN; j++)
            sum[i][j] = 0;
    const unsigned int slice = threadIdx.x / COARSEN_GROUP;
    const unsigned int warp = threadIdx.x % COARSEN_GROUP / 32;
    unsigned int row, col;
    COARSEN_SHAPE_(place)(threadIdx.x % 32, &row, &col);
    // Of the patch in its tile. Its rows are LANES_M apart, and its vectors LANES_N of them.
    row += warp * (COARSEN_LANES_M * TM), col *= 4;
#pragma unroll 1
    for (unsigned int s = 0; s < COARSEN_STAGES - 1; s++)
        COARSEN_SHAPE_(copy)(stages + s * COARSEN_STAGE, &from);
    const COARSEN_TYPE *const of_m = stages + row * COARSEN_PITCH_M;
    const COARSEN_TYPE *const of_n = stages + BM * COARSEN_PITCH_M + col;
    unsigned int stage = 0, next = (COARSEN_STAGES - 1) * COARSEN_STAGE; // in use; to copy to
#pragma unroll 1
    while (inner > 0) {
        COARSEN_(copies_wait)(COARSEN_STAGES - 2);
        __syncthreads(); // this stage is there, and all are done with the one before, where the next copies go
        COARSEN_SHAPE_(copy)(stages + next, &from);
        next = next + COARSEN_STAGE < COARSEN_STAGES * COARSEN_STAGE ? next + COARSEN_STAGE : 0;
        const unsigned int rest = (unsigned int)coarsen_min(inner, BK);
        if (rest == BK) {
            const unsigned int deep = BK / COARSEN_SLICES, first = slice * deep;
#pragma unroll
            for (unsigned int k = 0; k < deep; k += 4)
                COARSEN_SHAPE_(multiply)
            (sum, of_m + stage + first + k, of_n + stage + (first + k) * COARSEN_PITCH_N);
        } else {
            const unsigned int share = 4 * (unsigned int)coarsen_ceil_div(rest, 4 * COARSEN_SLICES);
            const unsigned int end = coarsen_min(slice * share + share, rest);
#pragma unroll 1
            for (unsigned int k = slice * share; k < end; k += 4)
                COARSEN_SHAPE_(multiply)
            (sum, of_m + stage + k, of_n + stage + k * COARSEN_PITCH_N);
        }
        stage = stage + COARSEN_STAGE < COARSEN_STAGES * COARSEN_STAGE ? stage + COARSEN_STAGE : 0;
        inner -= rest;
    }

    // By way of shared memory: sums of the slices are added up in order, and neighbouring threads write neighbours.
    COARSEN_(copies_wait)(0);
    __syncthreads();
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
        for (unsigned int j = 0; j < TN; j += 4) {
            COARSEN_(vector) four;
#pragma unroll
            for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                four.item[q] = sum[i][j + q];
            *(COARSEN_(vector) *)(stages +
                                  (slice * BM + row + i * COARSEN_LANES_M) * COARSEN_PITCH_P + col +
                                  j * COARSEN_LANES_N) = four;
        }
    __syncthreads();
    const bool down = !is_part && work.flipped;
    if (is_part) {
        p = work.sums + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * BM * BN;
        ldp = BN, beta = (COARSEN_TYPE)0;
    } else {
        p += down ? row_start + col_start * ldp : row_start * ldp + col_start;
    }
    // Lines of P: rows, or columns if it is flipped; of each, so many elements.
    const unsigned int lines = down ? from.cols : from.rows, length = down ? from.rows : from.cols;
    const unsigned int width = down ? BM : BN, step = COARSEN_THREADS / width;
    const unsigned int first = threadIdx.x / width, at = threadIdx.x % width;
    const unsigned int pitch = down ? 1 : COARSEN_PITCH_P;
    if (at >= length || first >= step)
        return;
    p += first * ldp + at;
    const COARSEN_TYPE *mine = stages + first * pitch + at * (down ? COARSEN_PITCH_P : 1);
#pragma unroll 4
    for (unsigned int line = first; line < lines; line += step) {
        COARSEN_TYPE all = mine[0];
#pragma unroll
        for (unsigned int s = 1; s < COARSEN_SLICES; s++)
            all += mine[s * BM * COARSEN_PITCH_P];
        COARSEN_(write_one)(p, alpha * all, beta);
        p += step * ldp, mine += step * pitch;
    }
}

#undef COARSEN_IS_4
#undef COARSEN_GROUP
#undef COARSEN_THREADS
#undef COARSEN_LANES_N
#undef COARSEN_LANES_M
#undef COARSEN_RUN
#undef COARSEN_N_DEEP
#undef COARSEN_PITCH_M
#undef COARSEN_PITCH_N
#undef COARSEN_PITCH_P
#undef COARSEN_STAGE
#undef COARSEN_SUMS
#undef COARSEN_BYTES_OF
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
