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
// | BM                   | 128       | rows of P per block                                           |
// | BN                   | 256       | columns of P per block                                        |
// | BK                   | 64        | depth of the tiles of M and N: a multiple of 32               |
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
// Where rows of M or N begin anywhere, the aligned vectors around each are copied. When they have come, each thread makes
// pieces of them, a shift by as many bytes for all of its lines, as these are a multiple of 8 lines apart. Nothing outside of
// a matrix is read, nor anything between its rows: of a row's last vector its own bytes are copied, and elements of a vector
// that begins before a row, or ends after the matrix, come one by one, some per thread. (compute-sanitizer takes a copy of
// fewer bytes for one of 16: so its initcheck may name what lies between rows, if nothing was ever written there.)
// Price paid: COARSEN_STAGES tiles of shared memory, 144 KiB by default, and 152 for rows that begin anywhere; for them,
// pieces are written twice to shared memory and read once more, and blocks meet twice per step.
// Source: PTX ISA, mma and ldmatrix; A. Kerr et al., CUTLASS: Fast Linear Algebra in CUDA C++, 2017.

#if defined(COARSEN_NAME) && !defined(COARSEN_ACC)
#error "coarsen/matmul: define COARSEN_ACC, the type of sums (float), before the include"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/overlap.h"
#include "../block/shift.h"
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
// Blocks that a multiprocessor has registers for. (It has no room for more than 16, so of one warp it is not said.)
#define COARSEN_RESIDENT                                                                           \
    (COARSEN_THREADS < 64 || COARSEN_THREADS > 256 || TM * TN > 1024                               \
         ? 1                                                                                       \
         : (TM * TN > 512 ? 512 : 640) / COARSEN_THREADS)
#define COARSEN_EACH ((BM + BN) * BK / 8 / COARSEN_THREADS) // pieces of a thread
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
// Whether the threads share the lines evenly, and a thread's lines are so far apart that all of a matrix begin equally far
// from a multiple of 16 bytes.
#define COARSEN_EVEN(lines, length)                                                                \
    (COARSEN_THREADS % (length / COARSEN_ITEMS * 8) == 0 &&                                        \
     lines * (length / COARSEN_ITEMS) % COARSEN_THREADS == 0)

static_assert(sizeof(COARSEN_TYPE) == 2 && sizeof(COARSEN_ACC) == 4,
              "coarsen/matmul: tensor16.h multiplies __half or __nv_bfloat16, and adds up floats");
static_assert(BM > 0 && BN > 0 && BK > 0 && TM > 0 && TN > 0,
              "coarsen/matmul: BM, BN, BK, TM and TN must be greater than 0");
static_assert(BK % 32 == 0 && TM % 16 == 0 && TN % 16 == 0 && BM % TM == 0 && BN % TN == 0,
              "coarsen/matmul: of tensor16.h, BK must be a multiple of 32, TM and TN of 16, BM of "
              "TM, and BN of TN");
static_assert(
    COARSEN_THREADS <= 1024 && COARSEN_EVEN(COARSEN_M_LINES, COARSEN_M_LENGTH) &&
        COARSEN_EVEN(COARSEN_N_LINES, COARSEN_N_LENGTH) && COARSEN_EACH <= 32,
    "coarsen/matmul: the BM / TM * BN / TN warps of a block, up to 32, must share the "
    "tiles evenly, 8 lines at a time: take powers of two, smaller TM or TN, or change BK");

// What a block multiplies at a time.
typedef struct {
    COARSEN_(vector) m[COARSEN_M_LINES * (COARSEN_M_LENGTH / 8)];
    COARSEN_(vector) n[COARSEN_N_LINES * (COARSEN_N_LENGTH / 8)];
} COARSEN_SHAPE_(tiles);

// The same where lines begin anywhere: the aligned vectors around each, one more than it has pieces.
typedef struct {
    COARSEN_(vector) m[COARSEN_M_LINES * (COARSEN_M_LENGTH / 8 + 1)];
    COARSEN_(vector) n[COARSEN_N_LINES * (COARSEN_N_LENGTH / 8 + 1)];
} COARSEN_SHAPE_(surroundings);

// What a warp made, on its way to P, in patches of 8 x 8: between them is room, so that they begin in different banks.
typedef struct COARSEN_ALIGNED(16) {
    COARSEN_ACC patch[TM / 8][TN / 8][8 * 8 + 8];
} COARSEN_SHAPE_(made);

// What a block has in shared memory: first stages, and in the end what its warps made.
typedef union {
    COARSEN_SHAPE_(tiles) stages[COARSEN_STAGES];
    struct {
        COARSEN_SHAPE_(tiles) tiles;
        COARSEN_SHAPE_(surroundings) stages[COARSEN_STAGES - 1];
    } shifted;
    COARSEN_SHAPE_(made) made[COARSEN_THREADS / 32];
} COARSEN_SHAPE_(shared);

enum {
    COARSEN_SHAPE_(tile_rows) = BM,
    COARSEN_SHAPE_(tile_cols) = BN,
    COARSEN_SHAPE_(threads) = COARSEN_THREADS,
    COARSEN_SHAPE_(shared_bytes) = sizeof(COARSEN_SHAPE_(shared))
};

#ifndef __CUDACC_RTC__
// As many stages as there are tiles: so that little depth leaves room for more blocks.
COARSEN_HOST size_t COARSEN_SHAPE_(bytes_of)(size_t inner)
{
    const size_t tiles = coarsen_ceil_div(inner, BK), most = COARSEN_STAGES - 1;
    const size_t aligned = coarsen_min(tiles, most + 1) * sizeof(COARSEN_SHAPE_(tiles));
    const size_t shifted = sizeof(COARSEN_SHAPE_(tiles)) +
                           coarsen_min(tiles, most) * sizeof(COARSEN_SHAPE_(surroundings));
    const size_t made = sizeof(COARSEN_SHAPE_(made)) * (COARSEN_THREADS / 32);
    const size_t bytes = shifted > aligned ? shifted : aligned;
    return made > bytes ? made : bytes;
}
#define COARSEN_BYTES_OF(inner) COARSEN_SHAPE_(bytes_of)(inner)
#endif

#define COARSEN_PATCHES
#include "launch.h"
#undef COARSEN_PATCHES
#undef COARSEN_BYTES_OF

#ifndef COARSEN_MADE_TENSOR16 // once for all shapes
#define COARSEN_MADE_TENSOR16
// The place of a piece of 8 elements in a tile whose lines have so many pieces: 2, 4 or a multiple of 8.
COARSEN_INLINE unsigned int COARSEN_(piece)(unsigned int line, unsigned int piece,
                                            unsigned int pieces)
{
    const unsigned int across = coarsen_min(pieces, 8); // of 128 bytes, which are all banks
    return line * pieces + (piece ^ line * across / 8 % across);
}

// The bits of an element, or 0 if it is not there. No branch, and no conversion that would wait for them.
COARSEN_INLINE unsigned int COARSEN_(load_bits)(const COARSEN_TYPE *from, bool there)
{
#if COARSEN_PTX
    unsigned int bits;
    asm volatile("{.reg .pred there; setp.ne.u32 there, %2, 0; mov.u32 %0, 0; "
                 "@there ld.global.u16 %0, [%1];}"
                 : "=r"(bits)
                 : "l"(from), "r"((unsigned int)there));
    return bits;
#else
    unsigned short bits = 0;
    if (there)
        memcpy(&bits, (const void *)from, 2);
    return bits;
#endif
}

// The same number. What is worked out from it in a loop is worked out anew each time, and keeps no registers meanwhile.
COARSEN_INLINE size_t COARSEN_(anew)(size_t x)
{
#if COARSEN_PTX
    asm volatile("" : "+l"(x));
#endif
    return x;
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
    // What this thread copies first of the next tile, or the vector where that begins.
    const COARSEN_TYPE *next;
    size_t ld;
    // Where lines begin anywhere: how many bytes behind a vector this thread's pieces begin.
    unsigned int after;
    // Whether no element lies between lines.
    bool joined;
    // So many elements of its first line's first vector are not to be read: before the matrix, or if lines are not joined,
    // before the line.
    unsigned int missing;
    const COARSEN_TYPE *end; // of the matrix
} COARSEN_SHAPE_(operand);

// From where this thread copies tiles of a matrix of so many lines of `length` elements. The first tile begins `at` elements
// into line `line`, and has so many pieces across.
COARSEN_INLINE COARSEN_SHAPE_(operand)
    COARSEN_SHAPE_(open)(const COARSEN_TYPE *matrix, size_t ld, size_t lines, size_t length,
                         size_t line, size_t at, unsigned int pieces)
{
    const unsigned int piece = threadIdx.x % pieces;
    line += threadIdx.x / pieces;
    const size_t place = line * ld + at + piece * COARSEN_ITEMS;
    COARSEN_SHAPE_(operand) from;
    from.ld = ld;
    from.after = (unsigned int)((size_t)(matrix + place) % sizeof(COARSEN_(vector)));
    const unsigned int before = from.after / (unsigned int)sizeof(COARSEN_TYPE);
    from.next = matrix + place - before;
    from.joined = ld == length;
    const size_t start = from.joined ? line * ld + at : at;
    from.missing = before > start ? before - (unsigned int)start : 0;
    from.end = matrix + (lines > 0 ? (lines - 1) * ld + length : 0);
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

// What is around a tile that is not whole, or not inside of what may be read. Bit e of a mask is this thread's line e, which is
// `abreast` lines after the one before it.
typedef struct {
    unsigned int line, abreast, each; // the first line, and how many
    unsigned int piece, pieces;
    unsigned int there;  // lines that are there: a mask
    unsigned int length; // of a line, with what its first vector has before it
    // Some of a line's first vector, or of its last one, is not to be read: masks.
    unsigned int starts, ends;
} COARSEN_SHAPE_(edge);

COARSEN_INLINE COARSEN_SHAPE_(edge)
    COARSEN_SHAPE_(edge_of)(const COARSEN_SHAPE_(operand) * from, unsigned int lines,
                            unsigned int pieces, unsigned int lines_there,
                            unsigned int length_there)
{
    COARSEN_SHAPE_(edge) of;
    of.abreast = COARSEN_THREADS / pieces;
    of.line = threadIdx.x / pieces, of.each = lines / of.abreast;
    of.piece = threadIdx.x % pieces, of.pieces = pieces;
    of.length = length_there + from->after / (unsigned int)sizeof(COARSEN_TYPE);
    const unsigned int all = 0xffffffff >> (32 - of.each);
    const unsigned int there = (lines_there + of.abreast - 1 - of.line) / of.abreast;
    of.there = there > 0 ? 0xffffffff >> (32 - there) : 0;
    of.starts = from->missing == 0 ? 0 : from->joined ? 1 : all;
    // Of this thread's lines the last one, as the one before is at least 8 elements away.
    const unsigned int last = there > 0 ? there - 1 : 0;
    const COARSEN_TYPE *const behind = from->next + last * of.abreast * from->ld +
                                       COARSEN_ITEMS * coarsen_ceil_div(of.length, COARSEN_ITEMS) -
                                       of.piece * COARSEN_ITEMS;
    of.ends = behind > from->end ? of.there & 1u << last : 0;
    return of;
}

// The lines whose vector v is cut.
COARSEN_INLINE unsigned int COARSEN_SHAPE_(cut)(const COARSEN_SHAPE_(edge) * of, unsigned int v)
{
    return (v == 0 ? of->starts : 0) | (v == of->length / COARSEN_ITEMS ? of->ends : 0);
}

// The elements of such vectors, a few per thread.
typedef struct {
    unsigned int item[4 * COARSEN_EACH]; // or fewer
} COARSEN_SHAPE_(cuts);

// Loads them: all are on their way at the same time.
COARSEN_INLINE void COARSEN_SHAPE_(load_cuts)(COARSEN_SHAPE_(cuts) * cuts,
                                              const COARSEN_SHAPE_(operand) * from,
                                              const COARSEN_SHAPE_(edge) * of, unsigned int v)
{
    const unsigned int along = of->pieces < COARSEN_ITEMS ? COARSEN_ITEMS / of->pieces : 1;
#pragma unroll
    for (unsigned int a = 0; a < along; a++) {
        const unsigned int q = of->piece + a * of->pieces;
        const bool there = q < COARSEN_ITEMS && v * COARSEN_ITEMS + q < of->length;
        const unsigned int missing = v == 0 && q < from->missing ? of->starts : 0;
        const unsigned int cut = there ? COARSEN_SHAPE_(cut)(of, v) & of->there & ~missing : 0;
        const COARSEN_TYPE *next =
            from->next + (v * COARSEN_ITEMS + a * of->pieces) - of->piece * (COARSEN_ITEMS - 1);
#pragma unroll
        for (unsigned int e = 0; e < of->each; e++, next += of->abreast * from->ld)
            cuts->item[e * along + a] = COARSEN_(load_bits)(next, cut >> e & 1);
    }
}

// Stores them, and zeros in the place of others in their vectors.
COARSEN_INLINE void COARSEN_SHAPE_(store_cuts)(COARSEN_(vector) * to,
                                               const COARSEN_SHAPE_(cuts) * cuts,
                                               const COARSEN_SHAPE_(edge) * of, unsigned int v)
{
    const unsigned int along = of->pieces < COARSEN_ITEMS ? COARSEN_ITEMS / of->pieces : 1;
#pragma unroll
    for (unsigned int a = 0; a < along; a++) {
        const unsigned int q = of->piece + a * of->pieces;
        const unsigned int cut = q < COARSEN_ITEMS ? COARSEN_SHAPE_(cut)(of, v) : 0;
#pragma unroll
        for (unsigned int e = 0; e < of->each; e++) {
            const unsigned short bits = (unsigned short)cuts->item[e * along + a];
            if (cut >> e & 1)
                memcpy((void *)&to[(of->line + e * of->abreast) * (of->pieces + 1) + v].item[q],
                       &bits, 2);
        }
    }
}

COARSEN_INLINE void COARSEN_SHAPE_(copy_vector)(COARSEN_(vector) * to, const COARSEN_TYPE *from,
                                                unsigned int bytes, bool reused)
{
    if (reused)
        COARSEN_(copy_near_async)(to, from, bytes);
    else
        COARSEN_(copy_part_async)(to, from, 16, bytes);
}

// Starts to copy the vectors around such a tile that are not cut, and zeros in the place of those that are not there. reused:
// whether other blocks copy the same. It is a constant.
COARSEN_INLINE void COARSEN_SHAPE_(copy_around)(COARSEN_(vector) * to,
                                                const COARSEN_SHAPE_(operand) * from,
                                                const COARSEN_SHAPE_(edge) * of, bool reused)
{
    const unsigned int place = of->piece * COARSEN_ITEMS, end = of->pieces * COARSEN_ITEMS;
    const unsigned int item = (unsigned int)sizeof(COARSEN_TYPE);
    const unsigned int bytes =
        of->length > place ? item * (unsigned int)coarsen_min(of->length - place, COARSEN_ITEMS)
                           : 0;
    const unsigned int behind = of->length > end ? item * (of->length - end) : 0;
    const unsigned int cut = COARSEN_SHAPE_(cut)(of, of->piece);
    const unsigned int cut_behind = COARSEN_SHAPE_(cut)(of, of->pieces);
    const COARSEN_TYPE *next = from->next;
    to += of->line * (of->pieces + 1);
#pragma unroll
    for (unsigned int e = 0; e < of->each; e++, next += of->abreast * from->ld)
        if (!(cut >> e & 1))
            COARSEN_SHAPE_(copy_vector)
    (to + e * of->abreast * (of->pieces + 1) + of->piece, next, of->there >> e & 1 ? bytes : 0,
     reused);
    // The vectors after the last pieces: each thread takes some lines'.
#pragma unroll
    for (unsigned int f = 0; f < of->each; f += of->pieces) {
        const unsigned int e = f + of->piece, l = e * of->abreast;
        if (e < of->each && !(cut_behind >> e & 1))
            COARSEN_SHAPE_(copy_vector)
        (to + l * (of->pieces + 1) + of->pieces, from->next + l * from->ld + (end - place),
         of->there >> e & 1 ? behind : 0, reused);
    }
}

// All of them.
COARSEN_INLINE void COARSEN_SHAPE_(copy_edge)(COARSEN_(vector) * to,
                                              const COARSEN_SHAPE_(operand) * from,
                                              const COARSEN_SHAPE_(edge) * of, bool reused)
{
    const unsigned int last = of->length / COARSEN_ITEMS;
    const bool starts = COARSEN_SHAPE_(cut)(of, 0) > 0, ends = last > 0 && of->ends > 0;
    const bool few = TM * TN > 1024; // registers: cut vectors don't wait for copies to begin
    COARSEN_SHAPE_(cuts) first_cuts, last_cuts;
    if (starts)
        COARSEN_SHAPE_(load_cuts)(&first_cuts, from, of, 0);
    if (few && starts)
        COARSEN_SHAPE_(store_cuts)(to, &first_cuts, of, 0);
    if (ends)
        COARSEN_SHAPE_(load_cuts)(&last_cuts, from, of, last);
    if (few && ends)
        COARSEN_SHAPE_(store_cuts)(to, &last_cuts, of, last);
    if (reused)
        COARSEN_SHAPE_(copy_around)(to, from, of, true);
    else
        COARSEN_SHAPE_(copy_around)(to, from, of, false);
    if (!few && starts)
        COARSEN_SHAPE_(store_cuts)(to, &first_cuts, of, 0);
    if (!few && ends)
        COARSEN_SHAPE_(store_cuts)(to, &last_cuts, of, last);
}

// The same of a whole tile that lies inside of what may be read.
COARSEN_INLINE void COARSEN_SHAPE_(copy_inside)(COARSEN_(vector) * to,
                                                const COARSEN_SHAPE_(operand) * from,
                                                unsigned int lines, unsigned int pieces,
                                                bool reused)
{
    const unsigned int piece = threadIdx.x % pieces, abreast = COARSEN_THREADS / pieces;
    const COARSEN_TYPE *next = from->next;
    to += threadIdx.x / pieces * (pieces + 1) + piece;
#pragma unroll
    for (unsigned int l = 0; l < lines; l += abreast, next += abreast * from->ld)
        COARSEN_SHAPE_(copy_vector)(to + l * (pieces + 1), next, 16, reused);
#pragma unroll
    for (unsigned int e = 0; e < lines / abreast; e += pieces)
        if (e + piece < lines / abreast)
            COARSEN_SHAPE_(copy_vector)
    (to + (e + piece) * abreast * (pieces + 1) + (pieces - piece),
     from->next + (e + piece) * abreast * from->ld + (pieces - piece) * COARSEN_ITEMS, from->after,
     reused);
}

// Starts to copy the vectors around a tile of so many lines of so many pieces, of which the first lines, and the first
// elements of each, are there. reused: whether other blocks copy the same.
COARSEN_INLINE void COARSEN_SHAPE_(copy_tile)(COARSEN_(vector) * to,
                                              const COARSEN_SHAPE_(operand) * operand,
                                              unsigned int lines, unsigned int pieces,
                                              unsigned int lines_there, unsigned int length_there,
                                              bool reused)
{
    COARSEN_SHAPE_(operand) here = *operand;
    const COARSEN_SHAPE_(operand) *const from = &here;
    here.ld = COARSEN_(anew)(here.ld);
    const unsigned int abreast = COARSEN_THREADS / pieces;
    const size_t down = (lines - abreast) * from->ld;
    const unsigned int along = (pieces + 1 - threadIdx.x % pieces) * COARSEN_ITEMS;
    if (lines_there < lines || length_there < pieces * COARSEN_ITEMS || from->missing > 0 ||
        from->next + down + along > from->end) {
        const COARSEN_SHAPE_(edge) of =
            COARSEN_SHAPE_(edge_of)(from, lines, pieces, lines_there, length_there);
        COARSEN_SHAPE_(copy_edge)(to, from, &of, reused);
    } else if (reused)
        COARSEN_SHAPE_(copy_inside)(to, from, lines, pieces, true);
    else
        COARSEN_SHAPE_(copy_inside)(to, from, lines, pieces, false);
}

// Makes that tile of them.
COARSEN_INLINE void COARSEN_SHAPE_(shift_tile)(COARSEN_(vector) * to, const COARSEN_(vector) * from,
                                               unsigned int after, unsigned int lines,
                                               unsigned int pieces)
{
    const unsigned int piece = threadIdx.x % pieces, abreast = COARSEN_THREADS / pieces;
    const unsigned int line = threadIdx.x / pieces;
#pragma unroll
    for (unsigned int l = line; l < lines + line; l += abreast) {
        unsigned int words[8];
        memcpy(words, (const void *)(from + l * (pieces + 1) + piece), sizeof(words));
        COARSEN_(shift_apart)(words, 4, after);
        memcpy((void *)(to + COARSEN_(piece)(l, piece, pieces)), words, 16);
    }
}

typedef struct {
    COARSEN_SHAPE_(operand) m, n;
    unsigned int rows, cols; // what is left of the matrices, up to a tile
    size_t inner;            // the depth that is left to copy
    bool reused_m, reused_n; // whether all blocks, or very many, copy the same of M, or of N
} COARSEN_SHAPE_(source);

// How many lines of a tile of so much depth are there, and how many elements of each.
typedef struct {
    unsigned int lines_m, length_m, lines_n, length_n;
    bool whole;
} COARSEN_SHAPE_(there);

COARSEN_INLINE COARSEN_SHAPE_(there)
    COARSEN_SHAPE_(there_of)(const COARSEN_SHAPE_(source) * from, size_t inner)
{
    const unsigned int depth = (unsigned int)coarsen_min(inner, BK);
    COARSEN_SHAPE_(there) there;
    there.lines_m = COARSEN_ACROSS_M ? from->rows : depth;
    there.length_m = COARSEN_ACROSS_M ? depth : from->rows;
    there.lines_n = COARSEN_ACROSS_N ? from->cols : depth;
    there.length_n = COARSEN_ACROSS_N ? depth : from->cols;
    there.whole = from->rows == BM && from->cols == BN && depth == BK;
    return there;
}

// Moves on to an operand's next tile. across: along its lines.
COARSEN_INLINE void COARSEN_SHAPE_(next_tile)(COARSEN_SHAPE_(operand) * from, bool across)
{
    const size_t step = across ? BK : BK * from->ld;
    from->next += step;
    from->missing = across || from->joined ? 0 : from->missing;
}

// The same of both.
COARSEN_INLINE void COARSEN_SHAPE_(next_tiles)(COARSEN_SHAPE_(source) * from)
{
    COARSEN_SHAPE_(next_tile)(&from->m, COARSEN_ACROSS_M);
    COARSEN_SHAPE_(next_tile)(&from->n, COARSEN_ACROSS_N);
    from->inner -= coarsen_min(from->inner, BK);
}

// Starts to copy the next tiles of M and N, where lines begin at multiples of 16 bytes. After the last ones it copies
// nothing, or zeros if those are needed.
COARSEN_INLINE void COARSEN_SHAPE_(copy)(COARSEN_SHAPE_(tiles) * to, COARSEN_SHAPE_(source) * from,
                                         bool needed)
{
    if (needed || from->inner > 0) {
        const COARSEN_SHAPE_(there) there = COARSEN_SHAPE_(there_of)(from, from->inner);
        if (there.whole) {
            COARSEN_SHAPE_(copy_vectors)
            (to->m, &from->m, true, COARSEN_M_LINES, COARSEN_M_LENGTH, 0, 0);
            COARSEN_SHAPE_(copy_vectors)
            (to->n, &from->n, true, COARSEN_N_LINES, COARSEN_N_LENGTH, 0, 0);
        } else {
            COARSEN_SHAPE_(copy_vectors)
            (to->m, &from->m, false, COARSEN_M_LINES, COARSEN_M_LENGTH, there.lines_m,
             there.length_m);
            COARSEN_SHAPE_(copy_vectors)
            (to->n, &from->n, false, COARSEN_N_LINES, COARSEN_N_LENGTH, there.lines_n,
             there.length_n);
        }
        COARSEN_SHAPE_(next_tiles)(from);
    }
    COARSEN_(copies_end)();
}

// The same where lines begin anywhere: the vectors around them.
COARSEN_INLINE void COARSEN_SHAPE_(copy_all_around)(COARSEN_SHAPE_(surroundings) * to,
                                                    COARSEN_SHAPE_(source) * from)
{
    if (from->inner > 0) {
        const COARSEN_SHAPE_(there) there = COARSEN_SHAPE_(there_of)(from, from->inner);
        const unsigned int of_m = COARSEN_M_LENGTH / COARSEN_ITEMS; // pieces
        const unsigned int of_n = COARSEN_N_LENGTH / COARSEN_ITEMS;
        // What very many blocks copy comes by way of the L1 cache: else they queue for the same few lines of the L2 cache.
        COARSEN_SHAPE_(copy_tile)
        (to->m, &from->m, COARSEN_M_LINES, of_m, there.lines_m, there.length_m, from->reused_m);
        COARSEN_SHAPE_(copy_tile)
        (to->n, &from->n, COARSEN_N_LINES, of_n, there.lines_n, there.length_n, from->reused_n);
        COARSEN_SHAPE_(next_tiles)(from);
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

// Loads the operands of a step, from depth k of the tiles on.
COARSEN_INLINE void COARSEN_SHAPE_(load_step)(COARSEN_SHAPE_(step) * step,
                                              const COARSEN_SHAPE_(tiles) * tiles, unsigned int row,
                                              unsigned int col, unsigned int k)
{
#pragma unroll
    for (unsigned int j = 0; j < TN / 16; j++)
        COARSEN_SHAPE_(load_n)(step->n[2 * j], tiles, col + 16 * j, k);
#pragma unroll
    for (unsigned int i = 0; i < TM / 16; i++)
        COARSEN_SHAPE_(load_m)(step->m[i], tiles, row + 16 * i, k);
}

// Adds up its products of 16 rows, which are those from 16 i on.
COARSEN_INLINE void COARSEN_SHAPE_(multiply_rows)(bool bfloat, float (*sum)[TN / 8][4],
                                                  const COARSEN_SHAPE_(step) * step, unsigned int i)
{
#pragma unroll
    for (unsigned int along = 0; along < TN / 8; along++) {
        // Back and forth: the last operand of a row is the first of the next row.
        const unsigned int j = i % 2 == 0 ? along : TN / 8 - 1 - along;
        COARSEN_(multiply_pairs)(bfloat, sum[i][j], step->m[i], step->n[j]);
    }
}

// Adds up all products of a warp, from its row and column of the block's tile on. bfloat is a constant.
COARSEN_INLINE void COARSEN_SHAPE_(add_up)(bool bfloat, float (*sum)[TN / 8][4],
                                           COARSEN_SHAPE_(tiles) * stages,
                                           COARSEN_SHAPE_(source) source, unsigned int row,
                                           unsigned int col)
{
    const size_t inner = source.inner;
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
    COARSEN_SHAPE_(load_step)(&step[0], stages, row, col, 0);
#pragma unroll 1
    for (size_t left = coarsen_ceil_div(inner, BK); left > 0; left--) {
#pragma unroll
        for (unsigned int s = 0; s < BK / COARSEN_DEEP; s++) {
            const unsigned int next = (s + 1) % (BK / COARSEN_DEEP);
            if (next == 0) { // wait for the next tiles
                COARSEN_(copies_wait)(COARSEN_STAGES - 2);
                __syncthreads();
                stage = stage < last_stage ? stage + 1 : 0;
            }
            if (s == 0) { // all threads are done with the tiles before these
                COARSEN_SHAPE_(copy)(stages + next_stage, &source, false);
                next_stage = next_stage + 1 < COARSEN_STAGES ? next_stage + 1 : 0;
            }
            COARSEN_SHAPE_(step) *const now = &step[s % 2], *const then = &step[(s + 1) % 2];
#pragma unroll
            for (unsigned int j = 0; j < TN / 16; j++)
                COARSEN_SHAPE_(load_n)
            (then->n[2 * j], stages + stage, col + 16 * j, next * COARSEN_DEEP);
#pragma unroll
            for (unsigned int i = 0; i < TM / 16; i++) {
                COARSEN_SHAPE_(load_m)
                (then->m[i], stages + stage, row + 16 * i, next * COARSEN_DEEP);
                COARSEN_SHAPE_(multiply_rows)(bfloat, sum, now, i);
            }
        }
    }
}

// The same where lines begin anywhere. The operands of one step are loaded at a time: registers are few, and blocks more.
COARSEN_INLINE void COARSEN_SHAPE_(add_up_shifted)(bool bfloat, float (*sum)[TN / 8][4],
                                                   COARSEN_SHAPE_(shared) * shared,
                                                   COARSEN_SHAPE_(source) source, unsigned int row,
                                                   unsigned int col)
{
    COARSEN_SHAPE_(tiles) *const tiles = &shared->shifted.tiles;
    COARSEN_SHAPE_(surroundings) *const stages = shared->shifted.stages;
    size_t left = source.inner;
#pragma unroll 1
    for (unsigned int s = 0; s < COARSEN_STAGES - 1; s++)
        COARSEN_SHAPE_(copy_all_around)(stages + s, &source);
    unsigned int stage = 0;
#pragma unroll 1
    while (left > 0) {
        COARSEN_(copies_wait)(COARSEN_STAGES - 2);
        __syncthreads(); // and all threads are done with the tiles before these
        COARSEN_SHAPE_(shift_tile)
        (tiles->m, stages[stage].m, source.m.after, COARSEN_M_LINES,
         COARSEN_M_LENGTH / COARSEN_ITEMS);
        COARSEN_SHAPE_(shift_tile)
        (tiles->n, stages[stage].n, source.n.after, COARSEN_N_LINES,
         COARSEN_N_LENGTH / COARSEN_ITEMS);
        __syncthreads();
        COARSEN_SHAPE_(copy_all_around)(stages + stage, &source);
        stage = stage + 1 < COARSEN_STAGES - 1 ? stage + 1 : 0;
#pragma unroll
        for (unsigned int s = 0; s < BK / COARSEN_DEEP; s++)
            if (s * COARSEN_DEEP < left) {
                COARSEN_SHAPE_(step) step;
                COARSEN_SHAPE_(load_step)(&step, tiles, row, col, s * COARSEN_DEEP);
#pragma unroll
                for (unsigned int i = 0; i < TM / 16; i++)
                    COARSEN_SHAPE_(multiply_rows)(bfloat, sum, &step, i);
            }
        left -= coarsen_min(left, BK);
    }
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
    const size_t k = is_part ? blockIdx.y * work.depth : 0;
    if (!is_part) {
        m += blockIdx.y * work.m_step;
        n += blockIdx.y * work.n_step;
        p += blockIdx.y * work.p_step;
    }
    size_t row_start, col_start;
    COARSEN_(place_tile)(work.first + blockIdx.x, BM, BN, rows, cols, &row_start, &col_start);
    COARSEN_SHAPE_(source) source;
    const unsigned int of_m = COARSEN_M_LENGTH / COARSEN_ITEMS; // pieces
    const unsigned int of_n = COARSEN_N_LENGTH / COARSEN_ITEMS;
    source.m = COARSEN_ACROSS_M ? COARSEN_SHAPE_(open)(m, ldm, rows, inner, row_start, k, of_m)
                                : COARSEN_SHAPE_(open)(m, ldm, inner, rows, k, row_start, of_m);
    source.n = COARSEN_ACROSS_N ? COARSEN_SHAPE_(open)(n, ldn, cols, inner, col_start, k, of_n)
                                : COARSEN_SHAPE_(open)(n, ldn, inner, cols, k, col_start, of_n);
    source.rows = (unsigned int)coarsen_min(rows - row_start, BM);
    source.cols = (unsigned int)coarsen_min(cols - col_start, BN);
    source.inner = is_part ? coarsen_min(inner - k, work.depth) : inner;
    const size_t little = 8192, many = 64; // elements that the L1 cache has room for, and blocks
    source.reused_m = rows <= BM || (rows * inner <= little && cols >= many * BN);
    source.reused_n = cols <= BN || (cols * inner <= little && rows >= many * BM);

    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned int row = warp / (BN / TN) * TM, col = warp % (BN / TN) * TN;
    float sum[TM / 16][TN / 8][4] = {};
    if (COARSEN_(unit_of)(m, ldm) >= 16 && COARSEN_(unit_of)(n, ldn) >= 16)
        COARSEN_SHAPE_(add_up)(bfloat, sum, shared->stages, source, row, col);
    else
        COARSEN_SHAPE_(add_up_shifted)(bfloat, sum, shared, source, row, col);

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
#undef COARSEN_EACH
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
