// SPDX-License-Identifier: MIT
//
// coarsen/matmul/tensor16.h: seventh rung, tensor.h for elements of 16 bits, whose sums are floats.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #include <cuda_fp16.h>
//     #define COARSEN_NAME matmul_f16
//     #define COARSEN_TYPE __half
//     #define COARSEN_ACC  float
//     #include <coarsen/matmul/tensor16.h>
//
// | parameter            | default   | meaning                                                       |
// |----------------------|-----------|---------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                             |
// | COARSEN_TYPE         | required  | __half or __nv_bfloat16                                       |
// | COARSEN_ACC          | required  | float: the type of sums, alpha and beta                       |
// | BM                   | 128       | rows of P per block: a multiple of 64                         |
// | BN                   | 256       | columns of P per block: a multiple of 64                      |
// | BK                   | 64        | depth of the tiles of M and N: a multiple of 64               |
// | TM                   | 64        | rows of P per warp: a multiple of 16 that divides BM          |
// | TN                   | 64        | columns of P per warp: a multiple of 16 that divides BN       |
// | COARSEN_STAGES       | 3         | tiles of M and N per block, one in use, from 2 to 8           |
// | COARSEN_M_TRANSPOSED | undefined | if defined, M is stored column after column                   |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column                   |
// Defines the same names as pipelined.h. Arguments and errors are as there, with alpha and beta as COARSEN_ACC. It is for
// devices of compute capability 8.0 or more. Elsewhere it gives the same result, much slower, with other roundings:
// tensor cores round sums of several products at a time, in a way that is not documented. On one model of device the
// bits are the same on every run.
//
// Price saved: as tensor.h's. One instruction makes 16 x 8 x 16 products, and another one brings the operands of 16 x 16
// elements from shared memory.
// How: lines of a tile lie in shared memory as in M and N, in pieces of 16 bytes. In line l, piece c takes the place of
// piece c ^ l % 8: then 8 neighbouring lines have the same piece in different banks, whether a line is a row or a
// column. Results go to P by way of shared memory, too, so that neighbouring lanes write neighbours.
// Price paid: COARSEN_STAGES tiles of shared memory, 144 KiB by default. Copies are 16 bytes each where all rows of M and
// N begin at multiples of 16 bytes. Where they begin at multiples of 4, a copy is 4 bytes, and so slower; otherwise an
// element, through registers, which is slower still.
// Source: PTX ISA, mma and ldmatrix; A. Kerr et al., CUTLASS: Fast Linear Algebra in CUDA C++, 2017.

#if defined(COARSEN_NAME) && !defined(COARSEN_ACC)
#error "coarsen/matmul: define COARSEN_ACC, the type of sums (float), before the include"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/overlap.h"
#include "../block/vector.h"

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file once per shape
#define COARSEN_SHAPE
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 256
#endif
#ifndef BK
#define BK 64
#endif
#ifndef TM
#define TM 64
#endif
#ifndef TN
#define TN 64
#endif
#ifndef COARSEN_STAGES
#define COARSEN_STAGES 3
#elif COARSEN_STAGES < 2 || COARSEN_STAGES > 8
#error "coarsen/matmul: COARSEN_STAGES must be from 2 to 8"
#endif

#define COARSEN_THREADS ((BM / TM) * (BN / TN) * 32)
#define COARSEN_DEEP    16 // depth of a multiplication
// Lines of which a thread loads elements at the same time: as registers are left.
#define COARSEN_TOGETHER                                                                           \
    (TM * TN <= 1024 && BK * BN / 8 % (4 * COARSEN_THREADS) == 0 &&                                \
             BK * BM / 8 % (4 * COARSEN_THREADS) == 0                                              \
         ? 4                                                                                       \
         : 1)
#ifdef COARSEN_M_TRANSPOSED
#define COARSEN_M_LINES  BK
#define COARSEN_M_LENGTH BM
#define COARSEN_ACROSS_M false
#else
#define COARSEN_M_LINES  BM
#define COARSEN_M_LENGTH BK
#define COARSEN_ACROSS_M true
#endif
#ifdef COARSEN_N_TRANSPOSED
#define COARSEN_N_LINES  BN
#define COARSEN_N_LENGTH BK
#define COARSEN_ACROSS_N true
#else
#define COARSEN_N_LINES  BK
#define COARSEN_N_LENGTH BN
#define COARSEN_ACROSS_N false
#endif
// Whether the threads share the lines evenly.
#define COARSEN_EVEN(lines, length)                                                                \
    (COARSEN_THREADS % (length / COARSEN_ITEMS) == 0 &&                                            \
     lines * (length / COARSEN_ITEMS) % COARSEN_THREADS == 0)

static_assert(sizeof(COARSEN_TYPE) == 2 && sizeof(COARSEN_ACC) == 4,
              "coarsen/matmul: tensor16.h multiplies __half or __nv_bfloat16, and adds up floats");
static_assert(BM > 0 && BN > 0 && BK > 0 && TM > 0 && TN > 0,
              "coarsen/matmul: BM, BN, BK, TM and TN must be greater than 0");
static_assert(BM % 64 == 0 && BN % 64 == 0 && BK % 64 == 0 && TM % 16 == 0 && TN % 16 == 0 &&
                  BM % TM == 0 && BN % TN == 0,
              "coarsen/matmul: of tensor16.h, BM, BN and BK must be multiples of 64, TM and TN of "
              "16, BM of TM, and BN of TN");
static_assert(COARSEN_THREADS <= 1024 && COARSEN_EVEN(COARSEN_M_LINES, COARSEN_M_LENGTH) &&
                  COARSEN_EVEN(COARSEN_N_LINES, COARSEN_N_LENGTH),
              "coarsen/matmul: the BM / TM * BN / TN warps of a block, up to 32, must share the "
              "tiles evenly: take powers of two, or change BK");

// What a block multiplies at a time.
typedef struct {
    COARSEN_(vector) m[COARSEN_M_LINES * (COARSEN_M_LENGTH / 8)];
    COARSEN_(vector) n[COARSEN_N_LINES * (COARSEN_N_LENGTH / 8)];
} COARSEN_SHAPE_(tiles);

// What a warp made, on its way to P, in patches of 8 x 8: between them is room, so that they begin in different banks.
typedef struct COARSEN_ALIGNED(16) {
    COARSEN_ACC patch[TM / 8][TN / 8][8 * 8 + 8];
} COARSEN_SHAPE_(made);

// What a block has in shared memory: first stages, and in the end what its warps made.
typedef union {
    COARSEN_SHAPE_(tiles) stages[COARSEN_STAGES];
    COARSEN_SHAPE_(made) made[COARSEN_THREADS / 32];
} COARSEN_SHAPE_(shared);

enum {
    COARSEN_SHAPE_(tile_rows) = BM,
    COARSEN_SHAPE_(tile_cols) = BN,
    COARSEN_SHAPE_(threads) = COARSEN_THREADS,
    COARSEN_SHAPE_(shared_bytes) = sizeof(COARSEN_SHAPE_(shared))
};

#define COARSEN_PATCHES
#include "launch.h"
#undef COARSEN_PATCHES

#ifndef COARSEN_MADE_TENSOR16 // once for all shapes
#define COARSEN_MADE_TENSOR16
// The place of a piece of 8 elements in a tile whose lines have so many pieces.
COARSEN_INLINE unsigned int COARSEN_(piece)(unsigned int line, unsigned int piece,
                                            unsigned int pieces)
{
    return line * pieces + (piece ^ line % 8);
}

// Loads four matrices of 8 x 8 elements for a warp, two neighbours of each per lane. A row of matrix lane / 8 lies where
// the lane says. Of a matrix that is turned, each lane gets two of a column. Source: PTX ISA, ldmatrix.
COARSEN_INLINE void COARSEN_(load_matrices)(unsigned int *pairs, const COARSEN_(vector) * tile,
                                            unsigned int at, bool turned)
{
#if COARSEN_PTX >= 800
    const unsigned int from = (unsigned int)__cvta_generic_to_shared(tile + at);
    if (turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
                     : "r"(from));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
                     : "r"(from));
#else
    const unsigned int lane = threadIdx.x % 32;
    for (unsigned int q = 0; q < 4; q++) {
        unsigned short pair[2];
        for (unsigned int e = 0; e < 2; e++) {
            const unsigned int row = turned ? lane % 4 * 2 + e : lane / 4;
            const unsigned int item = turned ? lane / 4 : lane % 4 * 2 + e;
            const unsigned int there = __shfl_sync(0xffffffff, at, (int)(q * 8 + row));
            const COARSEN_TYPE x = tile[there].item[item];
            memcpy(&pair[e], (const void *)&x, 2);
        }
        pairs[q] = pair[0] | (unsigned int)pair[1] << 16;
    }
#endif
}

// sum += m n, by a warp, where sum is 16 x 8, m is 16 x 16 and n is 16 x 8, in pairs of neighbours in depth:
//     sum[q], of 4     row lane / 4 + q / 2 * 8    column lane % 4 * 2 + q % 2
//     m[q], of 4       row lane / 4 + q % 2 * 8    columns lane % 4 * 2 + q / 2 * 8 and the next
//     n[q], of 2       column lane / 4             rows lane % 4 * 2 + q * 8 and the next
// The instructions are volatile so that the compiler leaves them where they stand, between loads and copies. Source:
// PTX ISA, mma.m16n8k16.
COARSEN_INLINE void COARSEN_(multiply_pairs)(COARSEN_UNUSED bool bfloat, float *sum,
                                             const unsigned int *m, const unsigned int *n)
{
#if COARSEN_PTX >= 800
#define COARSEN_MULTIPLY(type)                                                                     \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                            \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"            \
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])                          \
                 : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]))
    if (bfloat)
        COARSEN_MULTIPLY("bf16");
    else
        COARSEN_MULTIPLY("f16");
#undef COARSEN_MULTIPLY
#else
    const unsigned int lane = threadIdx.x % 32;
#pragma unroll 1 // there would be too much code
    for (unsigned int k = 0; k < 8; k++) { // two of depth
        const int in_row = (int)(lane / 4 * 4 + k % 4), in_col = (int)(lane % 4 * 8 + k % 4);
        const unsigned int pair[4] = {__shfl_sync(0xffffffff, m[k / 4 * 2], in_row),
                                      __shfl_sync(0xffffffff, m[k / 4 * 2 + 1], in_row),
                                      __shfl_sync(0xffffffff, n[k / 4], in_col),
                                      __shfl_sync(0xffffffff, n[k / 4], in_col + 4)};
        for (unsigned int e = 0; e < 2; e++) {
            float of[4]; // two of m, two of n
            for (unsigned int q = 0; q < 4; q++) {
                const unsigned short bits = (unsigned short)(pair[q] >> e * 16);
                COARSEN_TYPE x;
                memcpy((void *)&x, &bits, 2);
                of[q] = (float)x;
            }
            for (unsigned int q = 0; q < 4; q++)
                sum[q] = fmaf(of[q / 2], of[2 + q % 2], sum[q]);
        }
    }
#endif
}
#endif

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
    const unsigned int pieces = length / COARSEN_ITEMS;
    COARSEN_SHAPE_(operand) from;
    from.ld = ld;
    from.next = first + (across ? start * ld : start) + threadIdx.x / pieces * ld +
                threadIdx.x % pieces * COARSEN_ITEMS;
    return from;
}

// Starts to copy a tile of so many lines of so many elements, where lines begin at multiples of 16 bytes. whole: it lies
// inside the matrix. Otherwise only the first `lines_there`, and the first `length_there` of each, do, and zeros take the
// place of the others.
COARSEN_INLINE void COARSEN_SHAPE_(copy_vectors)(COARSEN_(vector) * to,
                                                 const COARSEN_SHAPE_(operand) * from, bool whole,
                                                 unsigned int lines, unsigned int length,
                                                 unsigned int lines_there,
                                                 unsigned int length_there)
{
    const unsigned int pieces = length / COARSEN_ITEMS, abreast = COARSEN_THREADS / pieces;
    const unsigned int line = threadIdx.x / pieces, piece = threadIdx.x % pieces;
    const unsigned int at = piece * COARSEN_ITEMS;
    const unsigned int left =
        at < length_there ? (unsigned int)coarsen_min(length_there - at, COARSEN_ITEMS) : 0;
    const COARSEN_TYPE *next = from->next;
    if (whole) {
#pragma unroll
        for (unsigned int l = 0; l < lines; l += abreast, next += abreast * from->ld)
            COARSEN_(copy_async)(to + COARSEN_(piece)(line + l, piece, pieces), next, 16);
        return;
    }
#pragma unroll 1 // registers are few
    for (unsigned int l = line; l < lines; l += abreast, next += abreast * from->ld)
        COARSEN_(copy_part_async)
    (to + COARSEN_(piece)(l, piece, pieces), next, 16,
     (l < lines_there ? left : 0) * (unsigned int)sizeof(COARSEN_TYPE));
}

// The same where lines begin anywhere, `pieces` pieces of 8 elements each: by words, or if some begin between two, by elements,
// which pass through registers.
COARSEN_INLINE void COARSEN_SHAPE_(copy_cut)(COARSEN_(vector) * to, COARSEN_SHAPE_(operand) from,
                                             unsigned int lines, unsigned int pieces,
                                             unsigned int line, unsigned int lines_there,
                                             unsigned int length_there)
{
    const unsigned int piece = threadIdx.x - line * pieces, at = piece * COARSEN_ITEMS;
    const unsigned int left =
        at < length_there ? (unsigned int)coarsen_min(length_there - at, COARSEN_ITEMS) : 0;
    const unsigned int abreast = COARSEN_THREADS / pieces; // lines
    const size_t step = abreast * from.ld;
    // At a multiple of which all lines begin: pieces do not change that.
    const unsigned int unit = COARSEN_(unit_of)(from.next, from.ld);
    // Below compute capability 8.0 words are copied whole.
    if (unit >= 4 && (COARSEN_PTX >= 800 || left % 2 == 0)) {
#pragma unroll 1 // registers are few
        for (unsigned int l = line; l < lines; l += abreast, from.next += step) {
            COARSEN_(vector) *const place = to + COARSEN_(piece)(l, piece, pieces);
            const unsigned int there = l < lines_there ? left : 0;
            const unsigned int bytes = there * (unsigned int)sizeof(COARSEN_TYPE);
            if (unit == 16)
                COARSEN_(copy_part_async)(place, from.next, 16, bytes);
            else
#pragma unroll
                for (unsigned int b = 0; b < 16; b += 4)
                    COARSEN_(copy_part_async)
            ((char *)place + b, (const char *)from.next + b, 4,
             bytes < b       ? 0
             : bytes - b < 4 ? bytes - b
                             : 4);
        }
        return;
    }
#pragma unroll 1
    for (unsigned int l = line; l < lines; l += COARSEN_TOGETHER * abreast) {
        COARSEN_(vector) some[COARSEN_TOGETHER] = {}; // all are on their way at the same time
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_TOGETHER; k++, from.next += step) {
            const unsigned int there = l + k * abreast < lines_there ? left : 0;
#pragma unroll
            for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                if (q < there)
                    some[k].item[q] = from.next[q];
        }
#pragma unroll
        for (unsigned int k = 0; k < COARSEN_TOGETHER; k++)
            to[COARSEN_(piece)(l + k * abreast, piece, pieces)] = some[k];
    }
}

typedef struct {
    COARSEN_SHAPE_(operand) m, n;
    unsigned int rows, cols; // what is left of the matrices, up to a tile
    size_t inner;            // the depth that is left
    bool vectors;            // all lines begin at multiples of 16 bytes
} COARSEN_SHAPE_(source);

// Tiles of both, as copy_vectors does.
COARSEN_INLINE void COARSEN_SHAPE_(copy_tiles)(COARSEN_SHAPE_(tiles) * to,
                                               const COARSEN_SHAPE_(source) * from, bool whole,
                                               unsigned int lines_m, unsigned int length_m,
                                               unsigned int lines_n, unsigned int length_n)
{
    if (whole) {
        COARSEN_SHAPE_(copy_vectors)
        (to->m, &from->m, true, COARSEN_M_LINES, COARSEN_M_LENGTH, lines_m, length_m);
        COARSEN_SHAPE_(copy_vectors)
        (to->n, &from->n, true, COARSEN_N_LINES, COARSEN_N_LENGTH, lines_n, length_n);
    } else {
        COARSEN_SHAPE_(copy_vectors)
        (to->m, &from->m, false, COARSEN_M_LINES, COARSEN_M_LENGTH, lines_m, length_m);
        COARSEN_SHAPE_(copy_vectors)
        (to->n, &from->n, false, COARSEN_N_LINES, COARSEN_N_LENGTH, lines_n, length_n);
    }
}

// Starts to copy the next tiles of M and N, and moves on to those after them. After the last ones it copies nothing, or zeros
// if those are needed.
COARSEN_INLINE void COARSEN_SHAPE_(copy)(COARSEN_SHAPE_(tiles) * to, COARSEN_SHAPE_(source) * from,
                                         bool needed)
{
    if (needed || from->inner > 0) {
        const unsigned int depth = (unsigned int)coarsen_min(from->inner, BK);
        const unsigned int lines_m = COARSEN_ACROSS_M ? from->rows : depth;
        const unsigned int length_m = COARSEN_ACROSS_M ? depth : from->rows;
        const unsigned int lines_n = COARSEN_ACROSS_N ? from->cols : depth;
        const unsigned int length_n = COARSEN_ACROSS_N ? depth : from->cols;
        if (from->vectors && (COARSEN_PTX >= 800 || (length_m | length_n) % 2 == 0)) {
            const bool whole = from->rows == BM && from->cols == BN && depth == BK;
            COARSEN_SHAPE_(copy_tiles)(to, from, whole, lines_m, length_m, lines_n, length_n);
        } else {
            const unsigned int of_m = COARSEN_M_LENGTH / COARSEN_ITEMS; // pieces
            const unsigned int of_n = COARSEN_N_LENGTH / COARSEN_ITEMS;
#pragma unroll 1 // the same code for both: a product that is so small waits for its code, too
            for (unsigned int n = 0; n < 2; n++)
                COARSEN_SHAPE_(copy_cut)
            (n ? to->n : to->m, n ? from->n : from->m, n ? COARSEN_N_LINES : COARSEN_M_LINES,
             n ? of_n : of_m, n ? threadIdx.x / of_n : threadIdx.x / of_m, n ? lines_n : lines_m,
             n ? length_n : length_m);
        }
        from->m.next += COARSEN_ACROSS_M ? BK : BK * from->m.ld;
        from->n.next += COARSEN_ACROSS_N ? BK : BK * from->n.ld;
        from->inner -= coarsen_min(from->inner, BK);
    }
    COARSEN_(copies_end)();
}

// A lane's operands of one step, as multiply_pairs has them.
typedef struct {
    unsigned int m[TM / 16][4], n[TN / 8][2];
} COARSEN_SHAPE_(step);

// Loads 16 rows of M, from row on, and 16 of depth, from k on.
COARSEN_INLINE void COARSEN_SHAPE_(load_m)(unsigned int *pairs, const COARSEN_SHAPE_(tiles) * tiles,
                                           unsigned int row, unsigned int k)
{
    const unsigned int lane = threadIdx.x % 32, low = lane % 16, high = lane / 16;
    COARSEN_(load_matrices)
    (pairs, tiles->m,
     COARSEN_ACROSS_M ? COARSEN_(piece)(row + low, k / 8 + high, BK / 8)
                      : COARSEN_(piece)(k + high * 8 + lane % 8, row / 8 + low / 8, BM / 8),
     !COARSEN_ACROSS_M);
}

// Loads 16 columns of N, the operands of two multiplications.
COARSEN_INLINE void COARSEN_SHAPE_(load_n)(unsigned int *pairs, const COARSEN_SHAPE_(tiles) * tiles,
                                           unsigned int col, unsigned int k)
{
    const unsigned int lane = threadIdx.x % 32, low = lane % 16, high = lane / 16;
    COARSEN_(load_matrices)
    (pairs, tiles->n,
     COARSEN_ACROSS_N ? COARSEN_(piece)(col + high * 8 + lane % 8, k / 8 + low / 8, BK / 8)
                      : COARSEN_(piece)(k + low, col / 8 + high, BN / 8),
     !COARSEN_ACROSS_N);
}

// The work of a block, which launch.h declares; bfloat is a constant.
COARSEN_INLINE void COARSEN_SHAPE_(make_of)(bool bfloat, bool is_part, size_t rows, size_t cols,
                                            size_t inner, COARSEN_ACC alpha,
                                            const COARSEN_TYPE *__restrict__ m, size_t ldm,
                                            const COARSEN_TYPE *__restrict__ n, size_t ldn,
                                            COARSEN_ACC beta, COARSEN_TYPE *__restrict__ p,
                                            size_t ldp, COARSEN_(work) work)
{
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
    source.vectors = COARSEN_(unit_of)(m, ldm) >= 16 && COARSEN_(unit_of)(n, ldn) >= 16;

    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned int row = warp / (BN / TN) * TM, col = warp % (BN / TN) * TN;
    float sum[TM / 16][TN / 8][4] = {};
    COARSEN_SHAPE_(step) step[2]; // this one and the next
#pragma unroll 1 // else registers are too few to load all elements of a piece at a time: 6% of the time
    for (unsigned int s = 0; s < COARSEN_STAGES - 1; s++)
        COARSEN_SHAPE_(copy)(stages + s, &source, s == 0);
    COARSEN_(copies_wait)(COARSEN_STAGES - 2);
    __syncthreads();
    // No more stages take turns than there are tiles: so what is loaded after the last ones, and not used, was written.
    const unsigned int last_stage =
        (unsigned int)coarsen_min(coarsen_ceil_div(inner, BK), COARSEN_STAGES) - 1;
    unsigned int stage = 0, next_stage = COARSEN_STAGES - 1; // the one in use, the one to copy to
#pragma unroll
    for (unsigned int j = 0; j < TN / 16; j++)
        COARSEN_SHAPE_(load_n)(step[0].n[2 * j], stages, col + 16 * j, 0);
#pragma unroll
    for (unsigned int i = 0; i < TM / 16; i++)
        COARSEN_SHAPE_(load_m)(step[0].m[i], stages, row + 16 * i, 0);
#pragma unroll 1
    for (size_t left = coarsen_ceil_div(inner, BK); left > 0; left--) {
#pragma unroll
        for (unsigned int s = 0; s < BK / COARSEN_DEEP; s++) {
            const unsigned int next = (s + 1) % (BK / COARSEN_DEEP);
            COARSEN_SHAPE_(step) *const now = &step[s % 2], *const then = &step[(s + 1) % 2];
            if (next == 0) { // wait for the next tiles
                COARSEN_(copies_wait)(COARSEN_STAGES - 2);
                __syncthreads();
                stage = stage < last_stage ? stage + 1 : 0;
            }
            if (s == 0) { // all threads are done with the tiles before these
                COARSEN_SHAPE_(copy)(stages + next_stage, &source, false);
                next_stage = next_stage + 1 < COARSEN_STAGES ? next_stage + 1 : 0;
            }
#pragma unroll
            for (unsigned int j = 0; j < TN / 16; j++)
                COARSEN_SHAPE_(load_n)
            (then->n[2 * j], stages + stage, col + 16 * j, next * COARSEN_DEEP);
#pragma unroll
            for (unsigned int i = 0; i < TM / 16; i++) {
                COARSEN_SHAPE_(load_m)
                (then->m[i], stages + stage, row + 16 * i, next * COARSEN_DEEP);
#pragma unroll
                for (unsigned int along = 0; along < TN / 8; along++) {
                    // Back and forth: the last operand of a row is the first of the next row.
                    const unsigned int j = i % 2 == 0 ? along : TN / 8 - 1 - along;
                    COARSEN_(multiply_pairs)(bfloat, sum[i][j], now->m[i], now->n[j]);
                }
            }
        }
    }

    // By way of shared memory, so that neighbouring lanes write neighbours: as the sums are, a store of a warp would touch
    // 8 rows, and only half a sector of each.
    float *const sums = work.sums + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * BM * BN;
    COARSEN_SHAPE_(made) *const made = shared->made + warp;
    __syncthreads(); // all threads are done with the stages, and nothing is on its way there
#pragma unroll
    for (unsigned int i = 0; i < TM / 8; i++)
#pragma unroll
        for (unsigned int j = 0; j < TN / 8; j++) {
            const float *const of = &sum[i / 2][j][i % 2 * 2];
            const unsigned int in_row = row + lane / 4 + i * 8, in_col = col + lane % 4 * 2 + j * 8;
            *(float2 *)(is_part ? sums + in_row * BN + in_col : &made->patch[i][j][lane * 2]) =
                make_float2(alpha * of[0], alpha * of[1]);
        }
    row_start += row, col_start += col;
    if (is_part || row_start >= rows || col_start >= cols)
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

COARSEN_INLINE void COARSEN_SHAPE_(make)(bool is_part, size_t rows, size_t cols, size_t inner,
                                         COARSEN_ACC alpha, const COARSEN_TYPE *__restrict__ m,
                                         size_t ldm, const COARSEN_TYPE *__restrict__ n, size_t ldn,
                                         COARSEN_ACC beta, COARSEN_TYPE *__restrict__ p, size_t ldp,
                                         COARSEN_(work) work)
{
    if (COARSEN_(is_bfloat)())
        COARSEN_SHAPE_(make_of)
    (true, is_part, rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, work);
    else COARSEN_SHAPE_(make_of)(false, is_part, rows, cols, inner, alpha, m, ldm, n, ldn, beta, p,
                                 ldp, work);
}

#undef COARSEN_EVEN
#undef COARSEN_M_LINES
#undef COARSEN_M_LENGTH
#undef COARSEN_ACROSS_M
#undef COARSEN_N_LINES
#undef COARSEN_N_LENGTH
#undef COARSEN_ACROSS_N
#undef COARSEN_THREADS
#undef COARSEN_DEEP
#undef COARSEN_TOGETHER
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
