// SPDX-License-Identifier: MIT
//
// coarsen/matmul/warpgroup.h: eighth rung, tensor16.h with the instruction of Hopper: four warps multiply together, and
// take both operands from shared memory.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #include <cuda_fp16.h>
//     #define COARSEN_NAME matmul_f16
//     #define COARSEN_TYPE __half
//     #define COARSEN_ACC  float
//     #include <coarsen/matmul/warpgroup.h>
//
// | parameter            | default   | meaning                                                       |
// |----------------------|-----------|---------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                             |
// | COARSEN_TYPE         | required  | __half or __nv_bfloat16                                       |
// | COARSEN_ACC          | required  | float: the type of sums, alpha and beta                       |
// | BM                   | 256       | rows of P per block: 64, 128 or 192; or 256, of a cluster of two |
// | BN                   | 256       | columns of P per block: 64, 128, 192 or, but for BM 192, 256  |
// | COARSEN_STAGES       | 16        | at most so many tiles of M and N per block, from 2 to 16      |
// | COARSEN_M_TRANSPOSED | undefined | if defined, M is stored column after column                   |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column                   |
// Defines the same names as pipelined.h. Arguments, errors and determinism are as of tensor16.h. It is for code that is
// compiled for compute capability 9.0 with its own features: -gencode arch=compute_90a,code=sm_90a, with CUDA 12.5 or later,
// where all rows of M and N, as they are stored, begin at multiples of 16 bytes. Elsewhere it gives the same result, much
// slower, with other roundings.
//
// Price saved: tensor16.h's warps bring each operand from shared memory to registers, once per warp, and its threads copy
// the tiles there, 16 bytes each. Here the multiplication reads shared memory itself, 64 x BN x 16 products at a time, and
// one thread per block asks the device's copy engine for whole boxes. So registers are left for sums of 128 x 256, or of
// 192 x 192, and the two blocks of a cluster, one below the other, each bring half of the columns of N for both.
// How: one warp copies, and the others multiply. Their loops take few instructions per step, as the compiler knows that all
// lanes of a warp do the same: with 64 x 64 x 64 products per step, they would bind. Each stage has two gates
// (block/box.h): one opens when its tiles have come, the other when all groups that read them are done. Blocks stay, and go
// from tile to tile of P, so that the first tiles of M and N of the next one come while results are written. To find out where
// a tile is takes divisions: each lane does it for another one. No 64 rows or columns are brought or multiplied that a tile has
// not. Results go to P as boxes, too, which the engine copies while the warp goes on; where rows of P begin anywhere, or have a
// number of columns that is no multiple of 8, lanes write them.
// A block has as many stages as there is room for. Of tiles of up to 128 x 128 a multiprocessor has two or three blocks, if
// there are as many tiles: while one writes results another one multiplies. With BM up to 128 and BN 64, the blocks of a
// cluster may share the depth of a tile: each leaves its sums in the shared memory of the block that adds them up, in order.
// Price paid: all of the shared memory; and of other tiles a multiprocessor has one block, in which nothing is multiplied while
// results are written. Where a block may not have two stages, the launch returns cudaErrorInvalidValue: take fewer rows or
// columns. To begin takes longer than by tensor16.h.
// Source: PTX ISA, wgmma; V. Thakkar et al., CUTLASS 3, 2023, on warps that copy for others.

#if defined(COARSEN_NAME) && !defined(COARSEN_ACC)
#error "coarsen/matmul: define COARSEN_ACC, the type of sums (float), before the include"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/box.h"
#include "../block/overlap.h"
#include "../block/vector.h"

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file once per shape
#define COARSEN_SHAPE
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef BM
#define BM 256
#endif
#ifndef BN
#define BN 256
#endif
#ifndef COARSEN_STAGES
#define COARSEN_STAGES 16
#elif COARSEN_STAGES < 2 || COARSEN_STAGES > 16
#error "coarsen/matmul: COARSEN_STAGES must be from 2 to 16"
#endif

#define BK             64
#define COARSEN_ROWS   (BM < 256 ? BM : 128) // of P per block
#define COARSEN_RANKS  (BM / COARSEN_ROWS)   // blocks of a cluster
#define COARSEN_GROUPS (COARSEN_ROWS / 64)   // warp groups that multiply, 64 rows each
#if BM <= 128 && BN == 64
#define COARSEN_SLICED 1 // the depth may be, among the blocks of a cluster
#else
#define COARSEN_SLICED 0
#endif
#define COARSEN_PUTS (BM == 256 && BN == 256 ? 2 : 1) // strips of P per warp that are on their way
// Blocks that a multiprocessor has registers for. One that has all of them gives each group its share.
#define COARSEN_RESIDENT                                                                           \
    (BM == 256 || COARSEN_ROWS * BN > 128 * 128 ? 1 : COARSEN_ROWS * BN > 64 * 64 ? 2 : 3)
#define COARSEN_THREADS (128 * COARSEN_GROUPS + (COARSEN_RESIDENT > 1 ? 32 : 128))
#ifdef COARSEN_M_TRANSPOSED
#define COARSEN_ACROSS_M 0
#else
#define COARSEN_ACROSS_M 1
#endif
#ifdef COARSEN_N_TRANSPOSED
#define COARSEN_ACROSS_N 1
#else
#define COARSEN_ACROSS_N 0
#endif

static_assert(sizeof(COARSEN_TYPE) == 2 && sizeof(COARSEN_ACC) == 4,
              "coarsen/matmul: warpgroup.h multiplies __half or __nv_bfloat16, and adds up floats");
static_assert(
    (BM == 64 || BM == 128 || BM == 192 || BM == 256) &&
        (BN == 64 || BN == 128 || BN == 192 || BN == 256) && (BM != 192 || BN < 256),
    "coarsen/matmul: of warpgroup.h, BM must be 64, 128, 192 or 256, and BN 64, 128, 192 or "
    "256; with BM 192 at most 192, as there are too few registers");

#define COARSEN_STAYS
#include "launch.h"
#undef COARSEN_STAYS

#ifndef COARSEN_MADE_WARPGROUP // once for all shapes
#define COARSEN_MADE_WARPGROUP
// A matrix, or an array of them, as it is stored.
typedef struct {
    const COARSEN_TYPE *first;
    size_t ld, length, lines, step;
} COARSEN_(stored);

#ifndef __CUDACC_RTC__
// Whether the engine can copy from it.
COARSEN_HOST bool COARSEN_(engine_takes)(COARSEN_(stored) of)
{
    const size_t most = 0x7fffffff;
    return ((size_t)of.first | of.ld * 2 | of.step * 2) % 16 == 0 && of.length <= most &&
           of.lines <= most && of.ld < (size_t)1 << 38 && of.step < (size_t)1 << 38;
}
#endif

#ifndef __CUDACC_RTC__
// How many stages of a block fit in shared memory beside other bytes, up to `most`, if a multiprocessor has `*resident` blocks.
// Where not even two fit, it shall have fewer blocks.
COARSEN_HOST unsigned int COARSEN_(count_stages)(size_t *resident, size_t other_bytes,
                                                 size_t stage_bytes, size_t most,
                                                 cudaError_t *status)
{
    const size_t limit = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, status);
    const size_t all = *status != cudaSuccess
                           ? 0
                           : coarsen_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, status);
    for (; *status == cudaSuccess && *resident > 0; --*resident) {
        const size_t each = all / *resident - 1024; // which the system has of each block's
        const size_t room = coarsen_min(each, limit);
        const size_t stages = room > other_bytes ? (room - other_bytes) / stage_bytes : 0;
        if (stages >= 2)
            return (unsigned int)coarsen_min(stages, most);
    }
    *status = *status == cudaSuccess ? cudaErrorInvalidValue : *status;
    return 0;
}
#endif

// What there is to do. The first `whole` tiles of P of each product, and of the others `parts` parts of the depth.
typedef struct {
    COARSEN_(map) map_of_m, map_of_n, map_of_p;
    COARSEN_(stored) m, n;
    COARSEN_TYPE *p;
    size_t rows, cols, inner, ldp;
    unsigned int count, tiles, whole, parts;
    unsigned int stages; // of a block
    COARSEN_ACC alpha, beta;
    COARSEN_(work) work;
    bool by_engine; // copies boxes; or else threads do
    bool put_boxes; // so does it those of P
} COARSEN_(task);

// A warp copies a box as the engine does, from line y, element x on.
COARSEN_DEVICE void COARSEN_(copy_by_threads)(COARSEN_(vector) * to, const COARSEN_TYPE *first,
                                              const COARSEN_(stored) * of, size_t x, size_t y)
{
    const unsigned int lane = threadIdx.x % 32;
#pragma unroll 1
    for (unsigned int place = lane; place < 64 * 8; place += 32) {
        const unsigned int line = place / 8, piece = place % 8 ^ line % 8;
        const COARSEN_TYPE *const from = first + (y + line) * of->ld + x + piece * 8;
        COARSEN_(vector) some = {};
#pragma unroll
        for (unsigned int q = 0; q < 8; q++)
            if (y + line < of->lines && x + piece * 8 + q < of->length)
                some.item[q] = from[q];
        to[place] = some;
    }
}

// Boxes of 64 rows, or columns, from `at` on, of which there are at most so many.
COARSEN_INLINE unsigned int COARSEN_(boxes)(size_t at, size_t end, unsigned int most)
{
    return at < end ? ((unsigned int)coarsen_min(end - at, most) + 63) / 64 : 0;
}

// An element of an operand: in depth k, of row or column at.
COARSEN_INLINE float COARSEN_(element)(const COARSEN_(vector) * boxes, bool across, unsigned int at,
                                       unsigned int k)
{
    const unsigned int line = across ? at % 64 : k, item = across ? k : at % 64;
    return (float)boxes[at / 64 * (64 * 8) + line * 8 + (item / 8 ^ line % 8)].item[item % 8];
}

// Where an operand is in shared memory. For the instruction: the half of its description that differs, in units of 16 bytes.
#if COARSEN_HAS_ENGINE
typedef unsigned int COARSEN_(operand);
#else
typedef const COARSEN_(vector) * COARSEN_(operand);
#endif

COARSEN_INLINE COARSEN_(operand) COARSEN_(operand_at)(const COARSEN_(vector) * at)
{
#if COARSEN_HAS_ENGINE
    return 8192 / 16 << 16 | ((unsigned int)__cvta_generic_to_shared(at) & 0x3ffff) >> 4;
#else
    return at;
#endif
}

#if COARSEN_HAS_ENGINE
// The other half: from 8 lines to the next 8 it is 1024 bytes, and how they are swizzled. (The first one has the 8192 from a
// box to the next.)
#define COARSEN_OPERANDS "0x40000040" // 1024 / 16, and 1 << 30

COARSEN_INLINE void COARSEN_(multiply_begins)(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

COARSEN_INLINE void COARSEN_(multiply_ends)(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

#define COARSEN_SUMS_4(at) "+f"(sum[at][0]), "+f"(sum[at][1]), "+f"(sum[at][2]), "+f"(sum[at][3])
#define COARSEN_SUMS_16(at)                                                                        \
    COARSEN_SUMS_4(at), COARSEN_SUMS_4(at + 1), COARSEN_SUMS_4(at + 2), COARSEN_SUMS_4(at + 3)
#define COARSEN_SUMS_32(at) COARSEN_SUMS_16(at), COARSEN_SUMS_16(at + 4)
#define COARSEN_SUMS_64(at) COARSEN_SUMS_32(at), COARSEN_SUMS_32(at + 8)
#define COARSEN_NAMES_32                                                                           \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "   \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define COARSEN_NAMES_64                                                                           \
    COARSEN_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "    \
                     "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, " \
                     "%61, %62, %63"
#define COARSEN_NAMES_96                                                                           \
    COARSEN_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "    \
                     "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, " \
                     "%93, %94, %95"
#define COARSEN_NAMES_128                                                                          \
    COARSEN_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, "      \
                     "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, "    \
                     "%120, %121, %122, %123, %124, %125, %126, %127"
#define COARSEN_MULTIPLY(cols, type, names, m_at, n_at, m_turned, n_turned, add_at, ...)           \
    asm volatile("{\n\t.reg .pred add;\n\t.reg .b64 m, n;\n\tsetp.ne.b32 add, " add_at ", 0;\n\t"  \
                 "mov.b64 m, {" m_at ", " COARSEN_OPERANDS "};\n\t"                                \
                 "mov.b64 n, {" n_at ", " COARSEN_OPERANDS "};\n\t"                                \
                 "wgmma.mma_async.sync.aligned.m64n" cols "k16.f32." type "." type " {" names      \
                 "}, m, n, add, 1, 1, " m_turned ", " n_turned ";\n\t}"                            \
                 : __VA_ARGS__                                                                     \
                 : "r"(m), "r"(n), "n"(COARSEN_ACROSS_M ? 0 : 1), "n"(COARSEN_ACROSS_N ? 0 : 1),   \
                   "r"((int)add))

// sum = m n, or if `add` sum += m n, of 64 rows, 16 of depth and as many columns as there are sums. Lane l of warp w of the
// group has
//     sum[j][q]   row 16 (w % 4) + l / 4 + q / 2 * 8, column 8 j + l % 4 * 2 + q % 2
COARSEN_INLINE void COARSEN_(multiply_64)(bool bfloat, float (*sum)[4], unsigned int m,
                                          unsigned int n, bool add)
{
    if (bfloat)
        COARSEN_MULTIPLY("64", "bf16", COARSEN_NAMES_32, "%32", "%33", "%34", "%35", "%36",
                         COARSEN_SUMS_32(0));
    else
        COARSEN_MULTIPLY("64", "f16", COARSEN_NAMES_32, "%32", "%33", "%34", "%35", "%36",
                         COARSEN_SUMS_32(0));
}

COARSEN_INLINE void COARSEN_(multiply_128)(bool bfloat, float (*sum)[4], unsigned int m,
                                           unsigned int n, bool add)
{
    if (bfloat)
        COARSEN_MULTIPLY("128", "bf16", COARSEN_NAMES_64, "%64", "%65", "%66", "%67", "%68",
                         COARSEN_SUMS_64(0));
    else
        COARSEN_MULTIPLY("128", "f16", COARSEN_NAMES_64, "%64", "%65", "%66", "%67", "%68",
                         COARSEN_SUMS_64(0));
}

COARSEN_INLINE void COARSEN_(multiply_192)(bool bfloat, float (*sum)[4], unsigned int m,
                                           unsigned int n, bool add)
{
    if (bfloat)
        COARSEN_MULTIPLY("192", "bf16", COARSEN_NAMES_96, "%96", "%97", "%98", "%99", "%100",
                         COARSEN_SUMS_64(0), COARSEN_SUMS_32(16));
    else
        COARSEN_MULTIPLY("192", "f16", COARSEN_NAMES_96, "%96", "%97", "%98", "%99", "%100",
                         COARSEN_SUMS_64(0), COARSEN_SUMS_32(16));
}

COARSEN_INLINE void COARSEN_(multiply_256)(bool bfloat, float (*sum)[4], unsigned int m,
                                           unsigned int n, bool add)
{
    if (bfloat)
        COARSEN_MULTIPLY("256", "bf16", COARSEN_NAMES_128, "%128", "%129", "%130", "%131", "%132",
                         COARSEN_SUMS_64(0), COARSEN_SUMS_64(16));
    else
        COARSEN_MULTIPLY("256", "f16", COARSEN_NAMES_128, "%128", "%129", "%130", "%131", "%132",
                         COARSEN_SUMS_64(0), COARSEN_SUMS_64(16));
}
#undef COARSEN_MULTIPLY
#undef COARSEN_OPERANDS
#undef COARSEN_NAMES_32
#undef COARSEN_NAMES_64
#undef COARSEN_NAMES_96
#undef COARSEN_NAMES_128
#undef COARSEN_SUMS_4
#undef COARSEN_SUMS_16
#undef COARSEN_SUMS_32
#undef COARSEN_SUMS_64

#endif

// 8 neighbours in a row of P, two per word.
typedef struct COARSEN_ALIGNED(16) COARSEN_MAY_ALIAS {
    unsigned int pair[4];
} COARSEN_(row_piece);

typedef struct COARSEN_MAY_ALIAS {
    unsigned int both;
} COARSEN_(word);

COARSEN_INLINE COARSEN_TYPE COARSEN_(of_pair)(unsigned int pair, unsigned int item)
{
    const unsigned short bits = (unsigned short)(pair >> 16 * item);
    COARSEN_TYPE x;
    memcpy((void *)&x, &bits, 2);
    return x;
}

COARSEN_INLINE unsigned int COARSEN_(to_pair)(COARSEN_TYPE low, COARSEN_TYPE high)
{
    unsigned short bits[2];
    memcpy(&bits[0], (const void *)&low, 2);
    memcpy(&bits[1], (const void *)&high, 2);
    return bits[0] | (unsigned int)bits[1] << 16;
}

// What a warp writes to P at a time: of 16 rows and 64 columns, so many that are there. vectors: all rows begin at multiples of
// 16 bytes.
typedef struct {
    COARSEN_TYPE *p;
    size_t ldp;
    unsigned int rows, cols;
    bool vectors;
} COARSEN_(strip);

// A strip in shared memory, as a box.
typedef struct {
    COARSEN_(row_piece) piece[16][8];
} COARSEN_(patch);

COARSEN_INLINE COARSEN_(row_piece) *
    COARSEN_(in_patch)(COARSEN_(patch) * patch, unsigned int row, unsigned int piece)
{
    return &patch->piece[row][piece ^ row % 8];
}

COARSEN_INLINE unsigned short *COARSEN_(item_in_patch)(COARSEN_(patch) * patch, unsigned int row,
                                                       unsigned int col)
{
    return (unsigned short *)COARSEN_(in_patch)(patch, row, col / 8) + col % 8;
}

// A warp's lanes bring a strip of P to a patch, and zeros in the place of what is not there.
COARSEN_INLINE void COARSEN_(read_strip)(COARSEN_(patch) * patch, const COARSEN_(strip) * strip)
{
    const unsigned int lane = threadIdx.x % 32;
    if (strip->vectors && strip->rows == 16 && strip->cols == 64) {
        COARSEN_(row_piece) some[4]; // on their way at the same time
#pragma unroll
        for (unsigned int e = 0; e < 4; e++)
            some[e] = *(const COARSEN_(row_piece) *)(strip->p + (lane / 8 + 4 * e) * strip->ldp +
                                                     lane % 8 * 8);
#pragma unroll
        for (unsigned int e = 0; e < 4; e++)
            *COARSEN_(in_patch)(patch, lane / 8 + 4 * e, lane % 8) = some[e];
        return;
    }
#pragma unroll 4
    for (unsigned int at = lane; at < 16 * 64; at += 32) {
        const unsigned int row = at / 64, col = at % 64;
        const bool there = row < strip->rows && col < strip->cols;
        *COARSEN_(item_in_patch)(patch, row, col) =
            there ? ((const unsigned short *)strip->p)[row * strip->ldp + col] : (unsigned short)0;
    }
}

// Or write it back. Vectors are aligned; or else each lane takes two neighbours, from a multiple of 4 bytes on: from column -1
// on, where a row begins between two.
COARSEN_INLINE void COARSEN_(write_vectors)(COARSEN_(patch) * patch, const COARSEN_(strip) * strip)
{
    const unsigned int piece = threadIdx.x % 8, col = 8 * piece;
#pragma unroll
    for (unsigned int row = threadIdx.x % 32 / 8; row < 16; row += 4) {
        COARSEN_TYPE *const to = strip->p + row * strip->ldp + col;
        if (row < strip->rows && col + 8 <= strip->cols)
            *(COARSEN_(row_piece) *)to = *COARSEN_(in_patch)(patch, row, piece);
        else if (row < strip->rows)
#pragma unroll 1
            for (unsigned int q = 0; col + q < strip->cols; q++)
                ((unsigned short *)to)[q] = *COARSEN_(item_in_patch)(patch, row, col + q);
    }
}

COARSEN_INLINE void COARSEN_(write_words)(COARSEN_(patch) * patch, const COARSEN_(strip) * strip)
{
    const unsigned int lane = threadIdx.x % 32;
    unsigned short *to = (unsigned short *)strip->p;
#pragma unroll 8
    for (unsigned int row = 0; row < 16; row++, to += strip->ldp) {
        const unsigned int odd = (size_t)to / 2 % 2, col = 2 * lane - odd;
        const unsigned int low = *COARSEN_(item_in_patch)(patch, row, col % 64);
        const unsigned int high = *COARSEN_(item_in_patch)(patch, row, (col + 1) % 64);
        if (row >= strip->rows)
            continue;
        if (col < strip->cols && col + 1 < strip->cols)
            ((COARSEN_(word) *)(to + col))->both = low | high << 16;
        else if (col < strip->cols)
            to[col] = (unsigned short)low;
        if (odd && lane == 0) { // columns 0 and 63
            to[0] = (unsigned short)high;
            if (strip->cols == 64)
                to[63] = (unsigned short)low;
        }
    }
}

// Stores four matrices of 8 x 8 elements, side by side, in a patch: of each a lane has two neighbours.
COARSEN_INLINE void COARSEN_(store_matrices)(COARSEN_(patch) * patch, const unsigned int *pairs,
                                             unsigned int row, unsigned int piece)
{
    const unsigned int lane = threadIdx.x % 32;
#if COARSEN_HAS_ENGINE
    const COARSEN_(row_piece) *const to =
        COARSEN_(in_patch)(patch, row + lane % 8, piece + lane / 8);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     (unsigned int)__cvta_generic_to_shared(to)),
                 "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                 : "memory");
#else
    for (unsigned int q = 0; q < 4; q++)
        COARSEN_(in_patch)(patch, row + lane / 4, piece + q)->pair[lane % 4] = pairs[q];
#endif
}

// Waits until all warps of a group have come here. What it multiplies, they do together anyway.
COARSEN_INLINE void COARSEN_(group_meets)(COARSEN_UNUSED unsigned int group)
{
#if COARSEN_HAS_ENGINE
    if (group == 0)
        asm volatile("bar.sync 1, 128;" ::: "memory"); // 0 is the block's
    else if (group == 1)
        asm volatile("bar.sync 2, 128;" ::: "memory");
    else
        asm volatile("bar.sync 3, 128;" ::: "memory");
#endif
}

// So many warps of a group say for it that a stage is free.
enum { COARSEN_(tellers) = COARSEN_HAS_ENGINE ? 1 : 4 };

// Waits until at most so many multiplications of the group, the last ones, are not done.
COARSEN_INLINE void COARSEN_(multiply_wait)(COARSEN_UNUSED bool one)
{
#if COARSEN_HAS_ENGINE
    if (one)
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    else
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#else
    __syncwarp(); // nothing is on its way, but other lanes may still read
#endif
}
#endif

// What a block multiplies at a time, in boxes of 64 lines of 64 elements.
typedef struct {
    COARSEN_(vector) m[COARSEN_ROWS / 64][64 * 8];
    COARSEN_(vector) n[BN / 64][64 * 8];
} COARSEN_SHAPE_(tiles);

// What a block has in shared memory, from a multiple of 1024 bytes on: patches, the stages, their gates, and if the depth is
// sliced, sums of strips, of each slice.
typedef struct {
    COARSEN_(patch) of_warp[COARSEN_GROUPS * 4][COARSEN_PUTS];
} COARSEN_SHAPE_(patches);

typedef struct {
    float4 of_strip[COARSEN_GROUPS * 4][BN / 8][32];
} COARSEN_SHAPE_(slices);

// full: the tiles of a stage have come. empty: they are not needed any more.
typedef struct {
    COARSEN_SHAPE_(tiles) * stages;
    COARSEN_(gate) * full, *empty;
    unsigned int count;
} COARSEN_SHAPE_(ring);

enum {
    COARSEN_SHAPE_(tile_rows) = BM,
    COARSEN_SHAPE_(tile_cols) = BN,
    COARSEN_SHAPE_(threads) = COARSEN_THREADS,
    COARSEN_SHAPE_(resident) = COARSEN_RESIDENT,
    COARSEN_SHAPE_(stage_bytes) = sizeof(COARSEN_SHAPE_(tiles)) + 2 * sizeof(COARSEN_(gate)),
    // Without stages; and to begin at a multiple of 1024. What a block has begins at one of 128 at least.
    COARSEN_SHAPE_(other_bytes) = sizeof(COARSEN_SHAPE_(patches)) + 1024 - 128,
    COARSEN_SHAPE_(shared_bytes) = COARSEN_SHAPE_(other_bytes) + 2 * COARSEN_SHAPE_(stage_bytes)
};

// A group gives registers back, or takes more.
COARSEN_INLINE void COARSEN_SHAPE_(keep_registers)(COARSEN_UNUSED bool more)
{
#if COARSEN_HAS_ENGINE
    if (COARSEN_RESIDENT > 1)
        return;
#if BM == 192 // three groups share them, not two
    if (more)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 152;");
#else
    if (more)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
#endif
    else
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
#endif
}

// What a cluster does next: a tile of P of product `batch`, from `k` up to `end` in depth.
typedef struct {
    size_t row, col, k, end;
    unsigned int batch;
    COARSEN_ACC *sums; // of a part; or NULL
} COARSEN_SHAPE_(item);

// Where that is, in tiles. To find out takes long: so each lane does it for another one of the next 32 items.
typedef struct {
    unsigned int batch, row, col;
    unsigned int part, slice; // which of all parts, and which of its tile's; or `none`
} COARSEN_SHAPE_(spot);

COARSEN_INLINE COARSEN_SHAPE_(spot)
    COARSEN_SHAPE_(spot_of)(const COARSEN_(task) * task, unsigned int i, unsigned int items,
                            unsigned int turns)
{
    i = (i < items ? i : items - 1) / turns; // there may be fewer than lanes
    const unsigned int none = 0xffffffff;
    COARSEN_SHAPE_(spot) spot = {0, 0, 0, none, none};
    const unsigned int rest = task->tiles - task->whole, each = task->whole + rest * task->parts;
    spot.batch = task->count == 1 ? 0 : i / each;
    i -= spot.batch * each;
    unsigned int tile = i;
    if (i >= task->whole) {
        spot.part = i - task->whole, spot.slice = spot.part / rest;
        tile = task->whole + spot.part % rest;
    }
    size_t row, col;
    COARSEN_(place_tile)(tile, BM, BN, task->rows, task->cols, &row, &col);
    spot.row = (unsigned int)(row / BM), spot.col = (unsigned int)(col / BN);
    return spot;
}

// The item that is at the place which a lane has found.
COARSEN_INLINE COARSEN_SHAPE_(item)
    COARSEN_SHAPE_(item_of)(const COARSEN_(task) * task, const COARSEN_SHAPE_(spot) * spots,
                            unsigned int lane, unsigned int slice, unsigned int log)
{
    COARSEN_SHAPE_(item) item;
    item.batch = __shfl_sync(0xffffffff, spots->batch, (int)lane);
    item.row = (size_t)BM * __shfl_sync(0xffffffff, spots->row, (int)lane);
    item.col = (size_t)BN * __shfl_sync(0xffffffff, spots->col, (int)lane);
    item.k = 0, item.end = task->inner, item.sums = NULL;
    const unsigned int part = __shfl_sync(0xffffffff, spots->part, (int)lane);
    if (part != 0xffffffff) {
        item.k = __shfl_sync(0xffffffff, spots->slice, (int)lane) * task->work.depth;
        item.end = coarsen_min(task->inner, item.k + task->work.depth);
        item.sums = task->work.sums + (size_t)part * (BM * BN);
    }
    if (log > 0) { // this block's part of the depth
        const unsigned int steps = (unsigned int)coarsen_ceil_div(item.end, BK);
        item.k = (size_t)(steps * slice >> log) * BK;
        item.end = coarsen_min(item.end, (size_t)(steps * (slice + 1) >> log) * BK);
    }
    return item;
}

// Stages take turns.
typedef struct {
    unsigned int stage, turn;
} COARSEN_SHAPE_(place_in_ring);

COARSEN_INLINE void COARSEN_SHAPE_(go_on)(COARSEN_SHAPE_(place_in_ring) * place,
                                          unsigned int stages)
{
    if (++place->stage == stages)
        place->stage = 0, place->turn ^= 1;
}

// A warp brings the tiles of M and N of all steps of an item, for rows of so manyth block of a cluster. If the engine copies,
// one lane tells it what.
COARSEN_INLINE void COARSEN_SHAPE_(bring)(const COARSEN_SHAPE_(ring) * ring,
                                          const COARSEN_(task) * task,
                                          const COARSEN_SHAPE_(item) * item,
                                          COARSEN_SHAPE_(place_in_ring) * place, unsigned int rank)
{
    const size_t row = item->row + rank * COARSEN_ROWS, col = item->col;
    const unsigned int boxes_of_m = COARSEN_(boxes)(row, task->rows, COARSEN_ROWS);
    const unsigned int boxes_of_n = COARSEN_(boxes)(col, task->cols, BN);
    if (task->by_engine) {
        // One thread, for which there is time for few instructions per step: what does not change is known before.
        const unsigned int bytes = (boxes_of_m + boxes_of_n) * COARSEN_(box_bytes);
        const unsigned int batch_of_m = task->m.step > 0 ? item->batch : 0;
        const unsigned int batch_of_n = task->n.step > 0 ? item->batch : 0;
        const unsigned int first_row = (unsigned int)row, first_col = (unsigned int)col;
        const unsigned int end = (unsigned int)item->end;
        const bool leads = COARSEN_(elected)();
#pragma unroll 1
        for (unsigned int k = (unsigned int)item->k; k < end;
             k += BK, COARSEN_SHAPE_(go_on)(place, ring->count)) {
            COARSEN_SHAPE_(tiles) *const to = &ring->stages[place->stage];
            COARSEN_(gate) *const full = &ring->full[place->stage];
            COARSEN_(wait)(&ring->empty[place->stage], place->turn ^ 1);
            if (leads) {
                COARSEN_(expect)(full, bytes);
#pragma unroll
                for (unsigned int b = 0; b < COARSEN_ROWS / 64; b++)
                    if (b < boxes_of_m)
                        COARSEN_(copy_box)
                (to->m[b], &task->map_of_m, COARSEN_ACROSS_M ? k : first_row + 64 * b,
                 COARSEN_ACROSS_M ? first_row + 64 * b : k, batch_of_m, full, 0);
#pragma unroll
                for (unsigned int b = 0; b < BN / 64; b++)
                    if (b < boxes_of_n && b % COARSEN_RANKS == rank)
                        COARSEN_(copy_box)
                (to->n[b], &task->map_of_n, COARSEN_ACROSS_N ? k : first_col + 64 * b,
                 COARSEN_ACROSS_N ? first_col + 64 * b : k, batch_of_n, full,
                 COARSEN_RANKS == 1 ? 0 : 3);
            }
        }
        return;
    }
#pragma unroll 1
    for (size_t k = item->k; k < item->end; k += BK, COARSEN_SHAPE_(go_on)(place, ring->count)) {
        COARSEN_SHAPE_(tiles) *const to = &ring->stages[place->stage];
        COARSEN_(wait)(&ring->empty[place->stage], place->turn ^ 1);
#pragma unroll 1
        for (unsigned int b = 0; b < boxes_of_m; b++)
            COARSEN_(copy_by_threads)
        (to->m[b], task->m.first + item->batch * task->m.step, &task->m,
         COARSEN_ACROSS_M ? k : row + 64 * b, COARSEN_ACROSS_M ? row + 64 * b : k);
#pragma unroll 1
        for (unsigned int b = 0; b < boxes_of_n; b++)
            COARSEN_(copy_by_threads)
        (to->n[b], task->n.first + item->batch * task->n.step, &task->n,
         COARSEN_ACROSS_N ? k : col + 64 * b, COARSEN_ACROSS_N ? col + 64 * b : k);
        COARSEN_(publish)();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            COARSEN_(arrive)(&ring->full[place->stage], COARSEN_(rank)());
    }
}

// A warp group multiplies tiles, of so many columns; these and bfloat are constants. m, n: where they are.
COARSEN_INLINE void COARSEN_SHAPE_(multiply)(bool bfloat, unsigned int cols, float (*sum)[4],
                                             COARSEN_(operand) m, COARSEN_(operand) n, bool add)
{
#if COARSEN_HAS_ENGINE
    COARSEN_(multiply_begins)();
#pragma unroll
    for (unsigned int k = 0; k < BK; k += 16) { // 16 of depth: 32 bytes of each line, or 16 lines
        const unsigned int m_k = m + (COARSEN_ACROSS_M ? k * 2 : k * 128) / 16;
        const unsigned int n_k = n + (COARSEN_ACROSS_N ? k * 2 : k * 128) / 16;
        if (cols == 256)
            COARSEN_(multiply_256)(bfloat, sum, m_k, n_k, add || k > 0);
        else if (cols == 192)
            COARSEN_(multiply_192)(bfloat, sum, m_k, n_k, add || k > 0);
        else if (cols == 128)
            COARSEN_(multiply_128)(bfloat, sum, m_k, n_k, add || k > 0);
        else
            COARSEN_(multiply_64)(bfloat, sum, m_k, n_k, add || k > 0);
    }
    COARSEN_(multiply_ends)();
#else
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    (void)bfloat;
    if (!add)
#pragma unroll
        for (unsigned int j = 0; j < cols / 2; j++)
            sum[j / 4][j % 4] = 0;
#pragma unroll 1 // there would be too much code
    for (unsigned int k = 0; k < BK; k++) {
        float of_m[2];
        for (unsigned int q = 0; q < 2; q++)
            of_m[q] = COARSEN_(element)(m, COARSEN_ACROSS_M, warp * 16 + lane / 4 + q * 8, k);
#pragma unroll
        for (unsigned int j = 0; j < cols / 8; j++)
            for (unsigned int q = 0; q < 4; q++)
                sum[j][q] =
                    fmaf(of_m[q / 2],
                         COARSEN_(element)(n, COARSEN_ACROSS_N, j * 8 + lane % 4 * 2 + q % 2, k),
                         sum[j][q]);
    }
#endif
}

// Adds up the products of so many steps of 64 of depth. Of no columns, it lets the stages pass. The arguments up to `cols`
// are constants. tells: whether this lane tells the block of its number that a stage is free.
COARSEN_INLINE void COARSEN_SHAPE_(add_up)(bool bfloat, unsigned int cols, float (*sum)[4],
                                           const COARSEN_SHAPE_(ring) * ring,
                                           COARSEN_SHAPE_(place_in_ring) * place,
                                           unsigned int steps, unsigned int group, bool tells)
{
    const COARSEN_(operand) m = COARSEN_(operand_at)(ring->stages->m[group]);
    const COARSEN_(operand) n = COARSEN_(operand_at)(ring->stages->n[0]);
    const unsigned int lane = threadIdx.x % 32, stage = sizeof(COARSEN_SHAPE_(tiles)) / 16;
    unsigned int before = 0;
#pragma unroll 1
    for (unsigned int step = 0; step < steps; step++, COARSEN_SHAPE_(go_on)(place, ring->count)) {
        COARSEN_(wait)(&ring->full[place->stage], place->turn);
        if (cols > 0)
            COARSEN_SHAPE_(multiply)
        (bfloat, cols, sum, m + place->stage * stage, n + place->stage * stage, step > 0);
        else COARSEN_(group_meets)(group);
        COARSEN_(multiply_wait)(true); // for those before
        if (step > 0 && tells)
            COARSEN_(arrive)(&ring->empty[before], lane);
        before = place->stage;
    }
    COARSEN_(multiply_wait)(false);
    if (steps > 0 && tells)
        COARSEN_(arrive)(&ring->empty[before], lane);
}

// A warp writes a strip of what was made, from so many rows and columns of the tile on.
COARSEN_INLINE void COARSEN_SHAPE_(finish)(const float (*sum)[4], COARSEN_(patch) * patches,
                                           unsigned int *turn, const COARSEN_(task) * task,
                                           const COARSEN_SHAPE_(item) * item, unsigned int down,
                                           unsigned int right)
{
    const COARSEN_ACC alpha = task->alpha, beta = task->beta;
    const size_t row = item->row + down, col = item->col + right;
    const unsigned int lane = threadIdx.x % 32;
    if (row >= task->rows || col >= task->cols)
        return;
    COARSEN_(strip) strip;
    strip.ldp = task->ldp;
    strip.p = task->p + item->batch * task->work.p_step + row * strip.ldp + col;
    strip.rows = (unsigned int)coarsen_min(task->rows - row, 16);
    strip.cols = (unsigned int)coarsen_min(task->cols - col, 64);
    strip.vectors = ((size_t)strip.p | strip.ldp * 2) % 16 == 0;
    COARSEN_(patch) *const patch = patches + *turn;
    *turn = (*turn + 1) % COARSEN_PUTS;
    if (task->put_boxes && COARSEN_(elected)())
        COARSEN_(puts_wait)(COARSEN_PUTS > 1);
    __syncwarp(); // the patch is free
    if (beta != (COARSEN_ACC)0)
        COARSEN_(read_strip)(patch, &strip);
    __syncwarp();
#pragma unroll
    for (unsigned int e = 0; e < 4; e++) {
        const unsigned int i = e / 2, j = e % 2 * 4;
        unsigned int pairs[4];
        if (beta == (COARSEN_ACC)0)
#pragma unroll
            for (unsigned int q = 0; q < 4; q++) {
                const float *const of = &sum[j + q][2 * i];
                pairs[q] =
                    COARSEN_(to_pair)((COARSEN_TYPE)(alpha * of[0]), (COARSEN_TYPE)(alpha * of[1]));
            }
        else
#pragma unroll
            for (unsigned int q = 0; q < 4; q++) {
                const float *const of = &sum[j + q][2 * i];
                const unsigned int before =
                    COARSEN_(in_patch)(patch, 8 * i + lane / 4, j + q)->pair[lane % 4];
                const COARSEN_ACC low = (COARSEN_ACC)COARSEN_(of_pair)(before, 0);
                const COARSEN_ACC high = (COARSEN_ACC)COARSEN_(of_pair)(before, 1);
                pairs[q] = COARSEN_(to_pair)((COARSEN_TYPE)(alpha * of[0] + beta * low),
                                             (COARSEN_TYPE)(alpha * of[1] + beta * high));
            }
        COARSEN_(store_matrices)(patch, pairs, 8 * i, j);
    }
    if (task->put_boxes) {
        COARSEN_(publish)();
        __syncwarp();
        if (COARSEN_(elected)())
            COARSEN_(put_box)
        (&task->map_of_p, (unsigned int)col, (unsigned int)row,
         task->work.p_step > 0 ? item->batch : 0, patch);
        return;
    }
    __syncwarp();
    if (strip.vectors)
        COARSEN_(write_vectors)(patch, &strip);
    else
        COARSEN_(write_words)(patch, &strip);
}

#if COARSEN_SLICED
// The blocks of a cluster have made the same tile, each in its part of the depth. Each adds up, in order, some of the
// strips, whose sums the others leave in its shared memory. Returns the strip that this warp has then, or more than there
// are.
COARSEN_INLINE unsigned int COARSEN_SHAPE_(join)(float (*sum)[4], COARSEN_SHAPE_(slices) * slices,
                                                 unsigned int warp, unsigned int rank,
                                                 unsigned int ranks)
{
    const unsigned int lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned int j = 0; j < BN / 8; j++)
        COARSEN_(store_to)
    (&slices->of_strip[warp / ranks * ranks + rank][j][lane],
     make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]), warp % ranks);
    COARSEN_(meet)();
    if (warp >= COARSEN_GROUPS * 4 / ranks)
        return COARSEN_GROUPS * 4;
#pragma unroll
    for (unsigned int e = 0; e < BN / 2; e++)
        sum[e / 4][e % 4] = 0;
#pragma unroll 1
    for (unsigned int r = 0; r < ranks; r++)
#pragma unroll
        for (unsigned int j = 0; j < BN / 8; j++) {
            const float4 part = slices->of_strip[warp * ranks + r][j][lane];
            sum[j][0] += part.x, sum[j][1] += part.y;
            sum[j][2] += part.z, sum[j][3] += part.w;
        }
    return warp * ranks + rank;
}
#endif

// The same of a part: a matrix of its own.
COARSEN_INLINE void COARSEN_SHAPE_(leave)(float (*sum)[4], COARSEN_ACC alpha, COARSEN_ACC *sums,
                                          unsigned int rank)
{
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int row = rank * COARSEN_ROWS + threadIdx.x / 32 * 16 + lane / 4;
    sums += row * BN + lane % 4 * 2;
#pragma unroll
    for (unsigned int j = 0; j < BN / 8; j++)
#pragma unroll
        for (unsigned int i = 0; i < 2; i++)
            *(float2 *)(sums + 8 * i * BN + 8 * j) =
                make_float2(alpha * sum[j][2 * i], alpha * sum[j][2 * i + 1]);
}

COARSEN_INLINE void COARSEN_SHAPE_(make)(bool bfloat, const COARSEN_(task) * task)
{
    COARSEN_SHAPE_(patches) *const patches =
        (COARSEN_SHAPE_(patches) *)((char *)coarsen_shared + (-(size_t)coarsen_shared & 1023));
    COARSEN_SHAPE_(ring) all;
    const COARSEN_SHAPE_(ring) *const ring = &all;
    all.count = task->stages, all.stages = (COARSEN_SHAPE_(tiles) *)(patches + 1);
    all.full = (COARSEN_(gate) *)(all.stages + all.count), all.empty = all.full + all.count;
#if COARSEN_SLICED
    COARSEN_SHAPE_(slices) *const slices = (COARSEN_SHAPE_(slices) *)(all.empty + all.count);
#endif
    // A cluster's blocks make a tile of P together. Where there are no clusters, a block does the work of each in turn.
    // From lane 0, so that the compiler knows that all lanes have the same: loops take half as many instructions then.
    const unsigned int rank = __shfl_sync(0xffffffff, COARSEN_(rank)(), 0);
    const unsigned int ranks = __shfl_sync(0xffffffff, COARSEN_(ranks)(), 0);
    const unsigned int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    const bool sliced = COARSEN_SLICED && ranks > 1;
    const unsigned int sharing = sliced ? 1 : ranks, turns = ranks < COARSEN_RANKS ? 2 : 1;
    // A launch of little work takes as long as what comes before the first copies: no divisions.
    const unsigned int log = ranks == 1 ? 0 : ranks == 2 ? 1 : ranks == 4 ? 2 : 3;
    const unsigned int first = blockIdx.x >> log, clusters = gridDim.x >> log;
    if (threadIdx.x == 0)
        for (unsigned int s = 0; s < all.count; s++) {
            COARSEN_(open)(&ring->full[s], 1);
            COARSEN_(open)(&ring->empty[s], COARSEN_GROUPS * COARSEN_(tellers) * sharing);
        }
    if (task->by_engine && threadIdx.x == 128 * COARSEN_GROUPS)
        COARSEN_(prefetch_map)(&task->map_of_m), COARSEN_(prefetch_map)(&task->map_of_n);
    if (task->put_boxes && threadIdx.x == 0)
        COARSEN_(prefetch_map)(&task->map_of_p);
    COARSEN_(opened)();
    COARSEN_(follow)();

    const unsigned int rest = task->tiles - task->whole;
    const unsigned int items = (task->whole + rest * task->parts) * task->count * turns;
    const unsigned int lane = threadIdx.x % 32;
    unsigned int turn = 0; // of the lanes
    COARSEN_SHAPE_(spot) spots = {};
    COARSEN_SHAPE_(place_in_ring) place = {0, 0};
    if (warp >= COARSEN_GROUPS * 4) {
        COARSEN_SHAPE_(keep_registers)(false);
#pragma unroll 1
        for (unsigned int i = first; i < items; i += clusters, turn = (turn + 1) % 32) {
            if (turn == 0)
                spots = COARSEN_SHAPE_(spot_of)(task, i + lane * clusters, items, turns);
            const COARSEN_SHAPE_(item) item =
                COARSEN_SHAPE_(item_of)(task, &spots, turn, rank, sliced ? log : 0);
            if (warp == COARSEN_GROUPS * 4)
                COARSEN_SHAPE_(bring)
            (ring, task, &item, &place, turns > 1 ? i % 2 : sliced ? 0 : rank);
#if COARSEN_SLICED
            if (sliced)
                COARSEN_(meet)(); // as in join
#endif
        }
    } else {
        unsigned int patch = 0; // the next one
        COARSEN_SHAPE_(keep_registers)(true);
        const bool tells =
            (sharing > 1 ? lane < sharing : lane == rank) && warp % 4 < COARSEN_(tellers);
#pragma unroll 1
        for (unsigned int i = first; i < items; i += clusters, turn = (turn + 1) % 32) {
            if (turn == 0)
                spots = COARSEN_SHAPE_(spot_of)(task, i + lane * clusters, items, turns);
            const COARSEN_SHAPE_(item) item =
                COARSEN_SHAPE_(item_of)(task, &spots, turn, rank, sliced ? log : 0);
            const unsigned int mine = turns > 1 ? i % 2 : sliced ? 0 : rank;
            const unsigned int steps =
                item.k < item.end ? (unsigned int)coarsen_ceil_div(item.end - item.k, BK) : 0;
            const size_t row = item.row + mine * COARSEN_ROWS + warp / 4 * 64;
            const unsigned int boxes =
                row < task->rows ? COARSEN_(boxes)(item.col, task->cols, BN) : 0;
            float sum[BN / 8][4];
            if (steps == 0)
#pragma unroll
                for (unsigned int j = 0; j < BN / 2; j++)
                    sum[j / 4][j % 4] = 0;
            if (boxes == BN / 64)
                COARSEN_SHAPE_(add_up)(bfloat, BN, sum, ring, &place, steps, warp / 4, tells);
            else if (boxes == 0)
                COARSEN_SHAPE_(add_up)(bfloat, 0, sum, ring, &place, steps, warp / 4, tells);
#if BN > 64
            else if (boxes == 1)
                COARSEN_SHAPE_(add_up)(bfloat, 64, sum, ring, &place, steps, warp / 4, tells);
#endif
#if BN > 128
            else if (boxes == 2)
                COARSEN_SHAPE_(add_up)(bfloat, 128, sum, ring, &place, steps, warp / 4, tells);
#endif
#if BN > 192
            else
                COARSEN_SHAPE_(add_up)(bfloat, 192, sum, ring, &place, steps, warp / 4, tells);
#endif
            unsigned int strip = warp;
#if COARSEN_SLICED
            if (sliced)
                strip = COARSEN_SHAPE_(join)(sum, slices, warp, rank, ranks);
#endif
            if (item.sums != NULL)
                COARSEN_SHAPE_(leave)(sum, task->alpha, item.sums, mine);
            else if (strip < COARSEN_GROUPS * 4)
#pragma unroll
                for (unsigned int col = 0; col < BN; col += 64)
                    COARSEN_SHAPE_(finish)
            (sum + col / 8, patches->of_warp[warp], &patch, task, &item,
             mine * COARSEN_ROWS + strip * 16, col);
        }
        if (task->put_boxes && COARSEN_(elected)())
            COARSEN_(puts_wait)(false);
    }
    if (sharing > 1)
        COARSEN_(meet)(); // nobody leaves while others may write to its shared memory
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, COARSEN_RESIDENT)
    COARSEN_SHAPE_(kernel)(const COARSEN_GRID_CONSTANT COARSEN_(task) task)
{
    if (COARSEN_(is_bfloat)())
        COARSEN_SHAPE_(make)(true, &task);
    else
        COARSEN_SHAPE_(make)(false, &task);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_work)(
    size_t count, size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha, const COARSEN_TYPE *m,
    size_t ldm, const COARSEN_TYPE *n, size_t ldn, COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
    size_t whole, size_t parts, COARSEN_(work) work, cudaStream_t stream)
{
    COARSEN_(task) task = {};
    size_t tiles = 0;
    cudaError_t status =
        COARSEN_(count_tiles)(&tiles, BM, BN, rows, cols, 0, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess || tiles == 0 || count == 0)
        return status;
    task.m = {m, ldm, COARSEN_ACROSS_M ? inner : rows, COARSEN_ACROSS_M ? rows : inner,
              work.m_step};
    task.n = {n, ldn, COARSEN_ACROSS_N ? inner : cols, COARSEN_ACROSS_N ? cols : inner,
              work.n_step};
    task.p = p, task.ldp = ldp, task.rows = rows, task.cols = cols, task.inner = inner;
    task.alpha = alpha, task.beta = beta, task.work = work;
    const size_t rest = tiles - coarsen_min(tiles, whole), most = 0x7fffffff;
    if (parts > most || tiles + rest * parts > most ||
        count > most / COARSEN_RANKS / (tiles + rest * parts))
        return cudaErrorInvalidValue; // there is no such matrix
    task.count = (unsigned int)count, task.tiles = (unsigned int)tiles;
    task.parts = (unsigned int)parts, task.whole = (unsigned int)(tiles - rest);
    const bool has_engine = COARSEN_(has_engine)(&status);
    task.by_engine =
        has_engine && inner > 0 && COARSEN_(engine_takes)(task.m) && COARSEN_(engine_takes)(task.n);
    if (status == cudaSuccess && task.by_engine)
        status = COARSEN_(describe)(&task.map_of_m, COARSEN_(is_bfloat)(), 64, m, task.m.length,
                                    task.m.lines, ldm, count, work.m_step);
    if (status == cudaSuccess && task.by_engine)
        status = COARSEN_(describe)(&task.map_of_n, COARSEN_(is_bfloat)(), 64, n, task.n.length,
                                    task.n.lines, ldn, count, work.n_step);
    const COARSEN_(stored) stored_p = {p, ldp, cols, rows, work.p_step};
    // It writes whole pieces of 16 bytes: also what lies between two rows.
    task.put_boxes = task.by_engine && cols % 8 == 0 && COARSEN_(engine_takes)(stored_p);
    if (status == cudaSuccess && task.put_boxes)
        status = COARSEN_(describe)(&task.map_of_p, COARSEN_(is_bfloat)(), 16, p, cols, rows, ldp,
                                    count, work.p_step);
    const size_t processors =
        status != cudaSuccess ? 0 : coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    // Blocks that stay, as many as there is room for; or if the depth is sliced, a cluster per tile.
    const bool sliced = task.by_engine && COARSEN_SLICED && work.slices > 1;
    const size_t ranks = sliced ? work.slices : COARSEN_RANKS;
    const size_t items = (task.whole + rest * parts) * count;
    const size_t other_bytes =
        COARSEN_SHAPE_(other_bytes) + (sliced ? sizeof(COARSEN_SHAPE_(slices)) : 0);
    // Clusters of more than two blocks leave some multiprocessors out.
    const size_t used = ranks > 2 ? processors - processors / 4 : processors;
    size_t resident = used == 0 ? 1 : coarsen_ceil_div(items * ranks, used);
    resident = coarsen_min(resident, COARSEN_RESIDENT);
    if (status == cudaSuccess)
        task.stages = COARSEN_(count_stages)(&resident, other_bytes, COARSEN_SHAPE_(stage_bytes),
                                             COARSEN_STAGES, &status);
    const size_t shared_bytes = other_bytes + task.stages * COARSEN_SHAPE_(stage_bytes);
    if (status == cudaSuccess)
        status = coarsen_let_share((const void *)COARSEN_SHAPE_(kernel), shared_bytes, 0);
    if (status != cudaSuccess)
        return status;
    const size_t room = processors > ranks ? processors * resident / ranks : 1;
    cudaLaunchConfig_t config = coarsen_launch_config(
        (sliced ? items : coarsen_min(items, room)) * ranks, COARSEN_THREADS, shared_bytes, stream);
    cudaLaunchAttribute attributes[2];
    status = COARSEN_(overlap)(&config, attributes, (const void *)COARSEN_SHAPE_(kernel));
    if (status != cudaSuccess)
        return status;
    if (task.by_engine && ranks > 1) {
        cudaLaunchAttribute *const cluster = &attributes[config.numAttrs++];
        cluster->id = cudaLaunchAttributeClusterDimension;
        cluster->val.clusterDim.x = (unsigned int)ranks;
        cluster->val.clusterDim.y = cluster->val.clusterDim.z = 1;
        config.attrs = attributes;
    }
    status = cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), task);
    if (status != cudaSuccess || rest == 0)
        return status;
    work.first = task.whole;
    const COARSEN_(sums)
        sums = {rows, cols, BM, BN, work.first, rest, parts, work.sums, beta, p, ldp, 1};
    return COARSEN_(launch_add)(sums, stream);
}
#endif

#undef COARSEN_ACROSS_M
#undef COARSEN_ACROSS_N
#undef COARSEN_RANKS
#undef COARSEN_ROWS
#undef COARSEN_GROUPS
#undef COARSEN_SLICED
#undef COARSEN_PUTS
#undef COARSEN_RESIDENT
#undef COARSEN_THREADS
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE // and the knobs: the next shape sets its own
#undef BM
#undef BN
#undef BK
#undef COARSEN_STAGES
#define COARSEN_END
#include "../base.h"
