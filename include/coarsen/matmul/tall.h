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
//     tall_f32_launch(n, 16, 640, 1, in, 640, in, 16, 0, out, 16, stream); // n rows times 640 x 16
//
// | parameter            | default   | meaning                                                             |
// |----------------------|-----------|---------------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                                   |
// | COARSEN_TYPE         | required  | number type of 4 bytes, also of alpha and beta                      |
// | BM                   | 32        | rows of P per block                                                 |
// | BN                   | 16        | columns of P per block                                              |
// | BK                   | 64        | depth of the tiles of M and N                                       |
// | TM                   | 4         | rows of P per thread                                                |
// | TN                   | 4         | columns of P per thread: a multiple of 4; BN is 2, 4 or 8 times that |
// | COARSEN_SLICES       | 4         | thread groups per block, to divide the depth, 1 to 4                |
// | COARSEN_STAGES       | 3         | tiles of M and N per block, one in use, from 2 to 8                 |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column: cols x inner           |
// Defines NAME_kernel (NAME_threads threads, NAME_shared_bytes of dynamic shared memory, one block per tile of P,
// NAME_tile_rows x NAME_tile_cols), what block/copy.h and block/vector.h define, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// The arguments, what is read and written, and the errors are those of matmul/pipelined.h. No scratch. Deterministic.
//
// Price saved: copies, which count where each element of M is multiplied by few columns. pipelined.h transposes M on its
// way, 4 bytes per copy. Here M is copied 16 bytes at a time, whatever its alignment, and a thread loads four neighbours in
// depth of each of its rows, with which it makes four steps. Small tiles make many blocks of few rows, and slices of a
// block divide the depth, so that few columns are enough to keep a multiprocessor busy. All blocks of the same rows run at
// the same time, so M comes from memory once.
// Price paid: the loads of N, of which a thread uses each vector for TM rows only; more shared memory per element of P;
// and sums of all slices that are added up, in order, by way of shared memory.
// How: a row of M is copied from the multiple of 16 bytes before it on, so in its tile it begins 0 to 3 elements late: its
// phase. The rows of a thread are a multiple of 4 apart, so all have the same phase, and it looks up N as many rows
// earlier: tiles of N have 3 more rows above. In shared memory the rows of M are an odd number of vectors apart, so that
// neighbouring rows come from different banks. If BM rows do not divide the rows of P, the last tile begins earlier, and
// what is made twice is written once.
// Source: W. W. Hwu, D. B. Kirk, I. El Hajj, Programming Massively Parallel Processors, 4th ed., 2022, chapters 5 and 6,
// on tiles and coarsening; A. Kerr et al., CUTLASS: Fast Linear Algebra in CUDA C++, 2017, on slices of the depth.

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

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file once per shape, for whatever type
#define COARSEN_SHAPE
static_assert(COARSEN_IS_4,
              "coarsen/matmul: tall.h takes numbers of 4 bytes: others take pipelined.h");
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 16
#endif
#ifndef BK
#define BK 64
#endif
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 4
#endif
#ifndef COARSEN_SLICES
#define COARSEN_SLICES 4
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
#define COARSEN_DEEP    (BK / COARSEN_SLICES)            // depth of a tile per slice
#define COARSEN_LANES_N (BN / TN)                        // a warp is LANES_M x LANES_N patches
#define COARSEN_LANES_M (32 / COARSEN_LANES_N)
#define COARSEN_HALO    3                    // rows above a tile of N
#define COARSEN_VECTORS (BK / COARSEN_ITEMS) // of a row of a tile of M
#define COARSEN_ABREAST                                                                            \
    (COARSEN_THREADS / COARSEN_VECTORS) // rows of M that a block copies at a time
// Blocks per multiprocessor that registers are to allow: 512 threads, or 384 that have large patches.
#define COARSEN_BLOCKS                                                                             \
    ((TM * TN <= 32 ? 512 : 384) > COARSEN_THREADS ? (TM * TN <= 32 ? 512 : 384) / COARSEN_THREADS \
                                                   : 1)
// Elements from row to row, of M, of N and of the sums. Lanes with different phases look up different rows of N: these
// are apart in the banks where a row has all 32 of them.
#define COARSEN_PITCH_M (BK + COARSEN_ITEMS)
#define COARSEN_PITCH_N (BN % 32 == 0 && COARSEN_LANES_N <= 4 ? BN + 4 * COARSEN_LANES_N : BN)
#define COARSEN_PITCH_P (BN % 8 == 0 ? BN + COARSEN_ITEMS : BN)
// Bytes of a stage, and of its tile of M, before that of N.
#define COARSEN_M_BYTES (BM * COARSEN_PITCH_M * (unsigned int)sizeof(COARSEN_TYPE))
#define COARSEN_STAGE_BYTES                                                                        \
    (COARSEN_M_BYTES + (BK + COARSEN_HALO) * COARSEN_PITCH_N * (unsigned int)sizeof(COARSEN_TYPE))
#define COARSEN_SUMS (COARSEN_SLICES * BM * COARSEN_PITCH_P)

static_assert(BM > 0 && BN > 0 && BK > 0 && TM > 0 && TN > 0,
              "coarsen/matmul: BM, BN, BK, TM and TN must be greater than 0");
static_assert(TN % 4 == 0 && BN % TN == 0 &&
                  (COARSEN_LANES_N == 2 || COARSEN_LANES_N == 4 || COARSEN_LANES_N == 8),
              "coarsen/matmul: TN must be a multiple of 4, and BN 2, 4 or 8 times that");
static_assert(BM % (COARSEN_LANES_M * TM) == 0,
              "coarsen/matmul: BM must be a multiple of TM times 32 / (BN / TN)");
static_assert(BK % (4 * COARSEN_SLICES) == 0,
              "coarsen/matmul: BK must be a multiple of 4 COARSEN_SLICES");
static_assert(
    COARSEN_THREADS <= 1024 && COARSEN_THREADS >= BN &&
        COARSEN_THREADS % (4 * COARSEN_VECTORS) == 0 && BM % COARSEN_ABREAST == 0,
    "coarsen/matmul: the BM / TM * BN / TN * COARSEN_SLICES threads of a block, up to 1024, "
    "must be a multiple of BK, and copy whole tiles of M: take powers of two, or change BK");

enum {
    COARSEN_SHAPE_(takes_type) = COARSEN_IS_4,
    COARSEN_SHAPE_(tile_rows) = BM,
    COARSEN_SHAPE_(tile_cols) = BN,
    COARSEN_SHAPE_(threads) = COARSEN_THREADS,
    // At the end, the sums take the place of the tiles.
    COARSEN_SHAPE_(shared_bytes) =
        COARSEN_STAGES * COARSEN_STAGE_BYTES > COARSEN_SUMS * sizeof(COARSEN_TYPE)
            ? COARSEN_STAGES *COARSEN_STAGE_BYTES
            : COARSEN_SUMS * sizeof(COARSEN_TYPE)
};

// The operands: `rows` long rows, and `cols` few columns, whose element k, j is at few + k * step_k + j * step_j. That
// of P is at p + i * step_row + j * step_col. So the launcher of matmul.h can also have few rows and N transposed.
typedef struct {
    size_t rows, cols, inner; // inner is less than 2^31 - BK
    const COARSEN_TYPE *m, *few;
    size_t ldm, step_k, step_j;
    COARSEN_TYPE alpha, beta;
    COARSEN_TYPE *p;
    size_t step_row, step_col;
} COARSEN_SHAPE_(product);

// What this thread copies.
typedef struct {
    const char *m, *few;       // first, of the next tiles
    const char *any;           // what a copy of nothing points to
    size_t m_step, few_step;   // bytes from row to row that it copies
    size_t few_tile, halo;     // bytes from tile to tile of N, and back to the rows above it
    int m_k, few_k;            // the depth of the first, from that of the tile on
    unsigned int m_left;       // rows of M from its first one on
    unsigned int to_m, to_few; // bytes from the beginning of a stage on
    bool m_whole, few_any;     // whether all rows of M are there, and whether it copies any of N
    bool shifted;              // whether a row may have a phase
    bool vectors;              // whether N is copied 16 bytes at a time
} COARSEN_SHAPE_(source);

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

// Keeps a value in a register: the compiler would rather work it out once more in each step.
COARSEN_INLINE unsigned int COARSEN_SHAPE_(keep)(unsigned int value)
{
#if COARSEN_PTX
    asm volatile("" : "+r"(value));
#endif
    return value;
}

// What is at an address in shared memory, of which a pointer would take two registers; and the first one.
COARSEN_INLINE char *COARSEN_SHAPE_(shared_at)(unsigned int address)
{
#if COARSEN_PTX
    return (char *)__cvta_shared_to_generic(address);
#else
    return (char *)coarsen_shared + address;
#endif
}

COARSEN_INLINE unsigned int COARSEN_SHAPE_(shared_base)(void)
{
#if COARSEN_PTX
    return (unsigned int)__cvta_generic_to_shared(coarsen_shared);
#else
    return 0;
#endif
}

// Starts to copy a tile of N, of which `width` threads share a row, `bytes` each; these two are constants. fast: all of
// its depth is there, and all that is above it was copied before.
COARSEN_INLINE void COARSEN_SHAPE_(copy_few)(unsigned int to, const COARSEN_SHAPE_(source) * from,
                                             unsigned int width, unsigned int bytes, bool fast,
                                             int k0, int inner)
{
    const unsigned int row = COARSEN_PITCH_N * sizeof(COARSEN_TYPE);
    const int step = COARSEN_THREADS / (int)width;
    const char *few = from->few;
    if (!from->few_any)
        return;
    if (fast) {
#pragma unroll
        for (int i = 0; i < (BK + step - 1) / step; i++) {
            if ((i + 1) * step <= BK || from->few_k + i * step < BK)
                COARSEN_(copy_async)
            (COARSEN_SHAPE_(shared_at)(to + (unsigned int)(i * step + COARSEN_HALO) * row), few,
             bytes);
            few += from->few_step;
        }
    } else {
#pragma unroll 1
        for (int i = 0; i < (BK + step - 1) / step; i++) {
            const bool there = k0 + from->few_k + i * step < inner;
            if (from->few_k + i * step < BK)
                COARSEN_(copy_part_async)
            (COARSEN_SHAPE_(shared_at)(to + (unsigned int)(i * step + COARSEN_HALO) * row),
             there ? few : from->any, bytes, there ? bytes : 0);
            few += from->few_step;
        }
    }
    if (!from->shifted)
        return;
    few = from->few - from->halo;
#pragma unroll
    for (int i = 0; i < (COARSEN_HALO + step - 1) / step; i++) {
        const int above = from->few_k + i * step, k = k0 - COARSEN_HALO + above;
        const bool there = k >= 0 && k < inner;
        if (above < COARSEN_HALO)
            COARSEN_(copy_part_async)
        (COARSEN_SHAPE_(shared_at)(to + (unsigned int)(i * step) * row), there ? few : from->any,
         bytes, there ? bytes : 0);
        few += from->few_step;
    }
}

// Starts to copy the tiles of M and N from depth k0 on to a stage, and moves on to the next ones. What lies beyond the
// depth, or before it, is copied as zeros.
COARSEN_INLINE void COARSEN_SHAPE_(copy)(unsigned int stage, COARSEN_SHAPE_(source) * from, int k0,
                                         int inner)
{
    const unsigned int step = COARSEN_ABREAST * COARSEN_PITCH_M * sizeof(COARSEN_TYPE);
    const bool fast = k0 + BK <= inner && (k0 > 0 || !from->shifted);
    const char *m = from->m;
    if (fast && from->m_whole) {
#pragma unroll
        for (unsigned int i = 0; i < BM / COARSEN_ABREAST; i++) {
            COARSEN_(copy_line_async)
            (COARSEN_SHAPE_(shared_at)(stage + from->to_m + i * step), m);
            m += from->m_step;
        }
    } else {
        const int k = k0 + from->m_k;
#pragma unroll 1
        for (unsigned int i = 0; i < BM / COARSEN_ABREAST; i++, m += from->m_step) {
            char *const to = COARSEN_SHAPE_(shared_at)(stage + from->to_m + i * step);
            if (i * COARSEN_ABREAST >= from->m_left)
                break;
            if (k >= 0 && k + 4 <= inner)
                COARSEN_(copy_line_async)(to, m);
            else
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const bool there = k + e >= 0 && k + e < inner;
                    COARSEN_(copy_part_async)
                    (to + 4 * e, there ? m + 4 * e : from->any, 4, there ? 4 : 0);
                }
        }
    }
    from->m += BK * sizeof(COARSEN_TYPE);
    if (from->vectors)
        COARSEN_SHAPE_(copy_few)(stage + from->to_few, from, BN / 4, 16, fast, k0, inner);
    else
        COARSEN_SHAPE_(copy_few)(stage + from->to_few, from, BN, 4, fast, k0, inner);
    from->few += from->few_tile;
}

// P = alpha sum + beta P, of one element.
COARSEN_INLINE void COARSEN_SHAPE_(write)(COARSEN_TYPE *to, COARSEN_TYPE sum, COARSEN_TYPE alpha,
                                          COARSEN_TYPE beta)
{
    *to = beta == (COARSEN_TYPE)0 ? alpha * sum : alpha * sum + beta * *to;
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, COARSEN_BLOCKS)
    COARSEN_SHAPE_(kernel)(const COARSEN_SHAPE_(product) of)
{
    if (!COARSEN_IS_4) // never launched: leave nothing to compile
        return;
    const unsigned int thread = threadIdx.x, slice = thread / COARSEN_GROUP;
    const unsigned int warp = thread % COARSEN_GROUP / 32;
    unsigned int lane_row, lane_col;
    COARSEN_SHAPE_(place)(thread % 32, &lane_row, &lane_col);
    // Of the patch in its tile. Its rows are LANES_M apart, and its vectors LANES_N of them.
    const unsigned int row = warp * (COARSEN_LANES_M * TM) + lane_row, col = lane_col * 4;
    // Blocks of the same rows are neighbours, so that they read M at the same time.
    const unsigned int across = (unsigned int)coarsen_ceil_div(of.cols, BN);
    const size_t first = (size_t)(blockIdx.x / across) * BM,
                 col_start = (size_t)(blockIdx.x % across) * BN;
    const size_t row_start = first + BM <= of.rows ? first : of.rows >= BM ? of.rows - BM : 0;
    const unsigned int skip = (unsigned int)(first - row_start); // rows that are not written
    const unsigned int rows =
        COARSEN_SHAPE_(keep)((unsigned int)coarsen_min(of.rows - row_start, BM));
    const unsigned int cols =
        COARSEN_SHAPE_(keep)((unsigned int)coarsen_min(of.cols - col_start, BN));
    const int inner = (int)of.inner;
    const COARSEN_TYPE *const m = of.m + row_start * of.ldm, *const few =
                                                                 of.few + col_start * of.step_j;
    const size_t at_4 = (size_t)m / 4; // in elements

    COARSEN_SHAPE_(source) from;
    from.shifted = ((size_t)of.m | of.ldm * 4) % 16 != 0;
    // Where columns are stored, step_k is 1 and there are none, likewise of P. To ask for step_j saves registers.
    from.vectors = of.step_j == 1 && ((size_t)of.few | of.step_k * 4 | of.cols * 4) % 16 == 0;
    from.m_whole = rows == BM;
    from.any = (const char *)of.few; // as aligned as copies of N are
    {
        const unsigned int r = thread / COARSEN_VECTORS, k = thread % COARSEN_VECTORS * 4;
        const int phase = (int)((at_4 + r * of.ldm) % 4);
        from.m = (const char *)(m + r * of.ldm + k - phase);
        from.m_k = (int)k - phase;
        from.m_left = rows > r ? rows - r : 0;
        from.m_step = COARSEN_ABREAST * of.ldm * sizeof(COARSEN_TYPE);
        from.to_m =
            COARSEN_SHAPE_(keep)((r * COARSEN_PITCH_M + k) * (unsigned int)sizeof(COARSEN_TYPE));
    }
    {
        // Threads copy neighbours in memory: along a row, or where columns are stored, along the depth.
        const unsigned int width = from.vectors ? BN / 4 : BN, step = COARSEN_THREADS / width;
        const bool deep = of.step_k < of.step_j;
        const unsigned int k = deep ? thread % step : thread / width;
        const unsigned int c = (deep ? thread / step : thread % width) * (from.vectors ? 4 : 1);
        from.few = (const char *)(few + k * of.step_k + c * of.step_j);
        from.few_k = (int)COARSEN_SHAPE_(keep)(k);
        from.few_step = step * of.step_k * sizeof(COARSEN_TYPE);
        from.few_tile = BK * of.step_k * sizeof(COARSEN_TYPE);
        from.halo = COARSEN_HALO * of.step_k * sizeof(COARSEN_TYPE);
        from.to_few = COARSEN_SHAPE_(keep)(
            COARSEN_M_BYTES + (k * COARSEN_PITCH_N + c) * (unsigned int)sizeof(COARSEN_TYPE));
        from.few_any = c < cols && k < step;
    }
    const unsigned int phase = (unsigned int)((at_4 + lane_row * of.ldm) % 4); // of this patch

    if (rows < BM || cols < BN) { // what is never copied; nobody writes what comes of it
        COARSEN_(vector) *const all = (COARSEN_(vector) *)coarsen_shared;
        for (unsigned int e = thread; e < COARSEN_STAGES * COARSEN_STAGE_BYTES / 16;
             e += COARSEN_THREADS)
            all[e] = {};
        __syncthreads();
    }

    COARSEN_TYPE sum[TM][TN];
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
        for (unsigned int j = 0; j < TN; j++)
            sum[i][j] = 0;

    const int count = inner == 0 ? 0 : (inner + (from.shifted ? 3 : 0) + BK - 1) / BK;
    const unsigned int base = COARSEN_SHAPE_(keep)(COARSEN_SHAPE_(shared_base)());
    int k0 = 0; // of the next tiles to copy
#pragma unroll 1
    for (int t = 0; t < COARSEN_STAGES - 1; t++) {
        if (t < count)
            COARSEN_SHAPE_(copy)(base + (unsigned int)t * COARSEN_STAGE_BYTES, &from, k0, inner);
        COARSEN_(copies_end)();
        k0 += BK;
    }
    const unsigned int at_m = COARSEN_SHAPE_(keep)((row * COARSEN_PITCH_M + slice * COARSEN_DEEP) *
                                                   (unsigned int)sizeof(COARSEN_TYPE));
    const unsigned int at_n = COARSEN_SHAPE_(keep)(
        COARSEN_M_BYTES + ((slice * COARSEN_DEEP + COARSEN_HALO - phase) * COARSEN_PITCH_N + col) *
                              (unsigned int)sizeof(COARSEN_TYPE));
    // Steps of the loop over a stage that are unrolled: those of a large patch are long.
    COARSEN_UNUSED const int turns = TM * TN > 32 ? 2 : 4;
    unsigned int stage = 0, next = (COARSEN_STAGES - 1) * COARSEN_STAGE_BYTES; // in use; to copy to
    const unsigned int end = COARSEN_STAGES * COARSEN_STAGE_BYTES;
    const int depth = count * BK;
#pragma unroll 1
    for (int t = 0; t < count; t++) {
        COARSEN_(copies_wait)(COARSEN_STAGES - 2);
        __syncthreads(); // this stage is there, and all are done with the one before, where the next copies go
        if (k0 < depth)
            COARSEN_SHAPE_(copy)(base + next, &from, k0, inner);
        COARSEN_(copies_end)();
        k0 += BK;
        next = next + COARSEN_STAGE_BYTES < end ? next + COARSEN_STAGE_BYTES : 0;
        const COARSEN_TYPE *const of_m =
            (const COARSEN_TYPE *)((const char *)coarsen_shared + at_m + stage);
        const COARSEN_TYPE *const of_n =
            (const COARSEN_TYPE *)((const char *)coarsen_shared + at_n + stage);
        stage = stage + COARSEN_STAGE_BYTES < end ? stage + COARSEN_STAGE_BYTES : 0;
#pragma unroll turns
        for (unsigned int k = 0; k < COARSEN_DEEP; k += 4) {
            COARSEN_(vector) a[TM];
#pragma unroll
            for (unsigned int i = 0; i < TM; i++)
                a[i] =
                    *(const COARSEN_(vector) *)(of_m + i * COARSEN_LANES_M * COARSEN_PITCH_M + k);
#pragma unroll
            for (unsigned int q = 0; q < 4; q++) {
                COARSEN_(vector) b[TN / 4];
#pragma unroll
                for (unsigned int j = 0; j < TN / 4; j++)
                    b[j] = *(const COARSEN_(vector) *)(of_n + (k + q) * COARSEN_PITCH_N +
                                                       j * 4 * COARSEN_LANES_N);
                    // Back and forth, so that a register that was just read is read again.
#pragma unroll
                for (unsigned int i = 0; i < TM; i++)
#pragma unroll
                    for (unsigned int along = 0; along < TN; along++) {
                        const unsigned int j = i % 2 == 0 ? along : TN - 1 - along;
                        sum[i][j] +=
                            a[i].item[q % COARSEN_ITEMS] * b[j / 4].item[j % COARSEN_ITEMS];
                    }
            }
        }
    }

    // By way of shared memory: sums of the slices are added up in order, and neighbouring threads write neighbours.
    COARSEN_TYPE *const sums = (COARSEN_TYPE *)coarsen_shared;
    __syncthreads();
#pragma unroll
    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
        for (unsigned int j = 0; j < TN; j += 4) {
            COARSEN_(vector) four;
#pragma unroll
            for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                four.item[q] = sum[i][j + q];
            *(COARSEN_(vector) *)(sums +
                                  (slice * BM + row + i * COARSEN_LANES_M) * COARSEN_PITCH_P + col +
                                  j * COARSEN_LANES_N) = four;
        }
    __syncthreads();
    COARSEN_TYPE *const p = of.p + row_start * of.step_row + col_start * of.step_col;
    if (((size_t)of.p | of.step_row * 4 | of.cols * 4) % 16 == 0) {
#pragma unroll 2
        for (unsigned int e = thread; e < BM * (BN / 4); e += COARSEN_THREADS) {
            const unsigned int r = e / (BN / 4), c = e % (BN / 4) * 4;
            if (r < skip || r >= rows || c >= cols)
                continue;
            COARSEN_(vector) all = *(const COARSEN_(vector) *)(sums + r * COARSEN_PITCH_P + c);
#pragma unroll
            for (unsigned int s = 1; s < COARSEN_SLICES; s++) {
                const COARSEN_(vector) more =
                    *(const COARSEN_(vector) *)(sums + (s * BM + r) * COARSEN_PITCH_P + c);
#pragma unroll
                for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                    all.item[q] += more.item[q];
            }
            COARSEN_(vector) *const to = (COARSEN_(vector) *)(p + r * of.step_row + c);
            COARSEN_(vector) result = {};
            if (of.beta != (COARSEN_TYPE)0)
                result = *to;
#pragma unroll
            for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                COARSEN_SHAPE_(write)(&result.item[q], all.item[q], of.alpha, of.beta);
            *to = result;
        }
    } else {
        const bool down = of.step_row < of.step_col;
#pragma unroll 2
        for (unsigned int e = thread; e < BM * BN; e += COARSEN_THREADS) {
            const unsigned int r = down ? e % BM : e / BN, c = down ? e / BM : e % BN;
            if (r < skip || r >= rows || c >= cols)
                continue;
            COARSEN_TYPE all = sums[r * COARSEN_PITCH_P + c];
#pragma unroll
            for (unsigned int s = 1; s < COARSEN_SLICES; s++)
                all += sums[(s * BM + r) * COARSEN_PITCH_P + c];
            COARSEN_SHAPE_(write)
            (p + r * of.step_row + c * of.step_col, all, of.alpha, of.beta);
        }
    }
}

#ifndef __CUDACC_RTC__
// A product whose element k, j of the few is at few + k * step_k + j * step_j, and likewise that of P.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_steps)(
    size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha, const COARSEN_TYPE *m, size_t ldm,
    const COARSEN_TYPE *few, size_t step_k, size_t step_j, COARSEN_TYPE beta, COARSEN_TYPE *p,
    size_t step_row, size_t step_col, cudaStream_t stream)
{
    const size_t tile_rows = coarsen_ceil_div(rows, BM), tile_cols = coarsen_ceil_div(cols, BN);
    const size_t shared_bytes = COARSEN_SHAPE_(shared_bytes);
    if (tile_rows > 0x7fffffff / tile_cols)
        return cudaErrorInvalidValue;
    cudaError_t status = coarsen_let_share((const void *)COARSEN_SHAPE_(kernel), shared_bytes, 0);
    const cudaLaunchConfig_t config =
        coarsen_launch_config(tile_rows * tile_cols, COARSEN_SHAPE_(threads), shared_bytes, stream);
    // The kernel counts the depth in an int: what is deeper takes several launches.
    const size_t most = (size_t)1 << 30;
    for (size_t k = 0; (k == 0 || k < inner) && status == cudaSuccess; k += most) {
        const COARSEN_SHAPE_(product) of = {rows,
                                            cols,
                                            coarsen_min(inner - k, most),
                                            m + k,
                                            few + k * step_k,
                                            ldm,
                                            step_k,
                                            step_j,
                                            alpha,
                                            k == 0 ? beta : (COARSEN_TYPE)1,
                                            p,
                                            step_row,
                                            step_col};
        status = cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), of);
    }
    return status;
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
    const cudaError_t status =
        COARSEN_(count_tiles)(&blocks, BM, BN, rows, cols, inner, m, ldm, n, ldn, p, ldp);
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
#undef COARSEN_GROUP
#undef COARSEN_THREADS
#undef COARSEN_DEEP
#undef COARSEN_LANES_N
#undef COARSEN_LANES_M
#undef COARSEN_HALO
#undef COARSEN_VECTORS
#undef COARSEN_ABREAST
#undef COARSEN_BLOCKS
#undef COARSEN_PITCH_M
#undef COARSEN_PITCH_N
#undef COARSEN_PITCH_P
#undef COARSEN_M_BYTES
#undef COARSEN_STAGE_BYTES
#undef COARSEN_SUMS
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
