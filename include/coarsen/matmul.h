// SPDX-License-Identifier: MIT
//
// coarsen/matmul.h: the product of two matrices of any shape, and of many pairs of them. Use this one.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME matmul_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul.h>
//
//     // out = in in, the square of a matrix of 300 x 300, rows one after the other
//     cudaMalloc(&scratch, matmul_f32_scratch_bytes(300, 300, 300));
//     matmul_f32_launch(300, 300, 300, 1, in, 300, in, 300, 0, out, 300, scratch,
//                       matmul_f32_scratch_bytes(300, 300, 300), stream);
//     // 40 products of matrices of 3 x 4 by 4 x 5, one matrix after the other
//     matmul_f32_launch_batch(40, 3, 5, 4, 1, in, 4, 12, in, 5, 20, 0, out, 5, 15, stream);
//
// | parameter            | default   | meaning                                                   |
// |----------------------|-----------|-----------------------------------------------------------|
// | COARSEN_NAME         | required  | what every name this makes begins with                    |
// | COARSEN_TYPE         | required  | a number of 4 or 8 bytes; or __half or __nv_bfloat16      |
// | COARSEN_ACC          | undefined | required for those two: float, the type of sums, alpha and beta |
// | COARSEN_M_TRANSPOSED | undefined | if defined, M is stored column after column: inner x rows |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column: cols x inner |
// Defines what its rungs do, under names that begin with NAME_large_ and the like, and
//     size_t      NAME_scratch_bytes(size_t rows, size_t cols, size_t inner)
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch_batch(size_t count, size_t rows, size_t cols, size_t inner,
//                                   COARSEN_ACC alpha, const COARSEN_TYPE *m, size_t ldm, size_t m_step,
//                                   const COARSEN_TYPE *n, size_t ldn, size_t n_step, COARSEN_ACC beta,
//                                   COARSEN_TYPE *p, size_t ldp, size_t p_step, cudaStream_t stream)
// COARSEN_ACC is COARSEN_TYPE where you do not define it.
// m: rows x inner, n: inner x cols, p: rows x cols, in device memory, row-major: element i, j of m is m[i * ldm + j].
// ldm >= inner, ldn >= cols, ldp >= cols; of a matrix that is stored column after column, ldm >= rows, ldn >= inner.
// Any size, including 0, at element alignment. p must not overlap m or n. As in BLAS, p is not read if beta is 0, and
// m and n are not read if alpha is 0: NaN there does not spread.
// scratch: NAME_scratch_bytes(...) bytes in device memory, at 16 bytes, with anything in them, for one launch at a
// time. For little work these are none or few; for much at most what M and N take, in lines of 128 bytes, and up to
// twelve tiles per multiprocessor. As much as M takes is enough where the rows of N begin at multiples of 32 bytes and
// neither is transposed: N is then read where it is. It may be any fewer, or NULL and 0: then less is packed, up to 13%
// slower (4096 x 4096, N transposed), and fewer tiles are divided along the depth, which can be much slower where P is
// small. Of 16 bits, M and N are packed where their rows begin anywhere: without scratch that is three times slower (4095 x
// 4095).
// A batch is `count` products of one shape; the matrices of each begin so many elements after those of the one before.
// m_step and n_step may be 0. It needs no scratch. Small products are the fastest where the matrices of each operand follow one
// another (m_step = rows ldm, and so on), and still more so where no element lies between two rows.
// Errors: cudaErrorInvalidValue, with nothing written, for a leading dimension below the width, a null, misaligned or
// overflowing matrix, or more than 2^31 - 1 tiles; those of the runtime's device queries. Deterministic: the same bits
// on every run, with the same scratch_bytes, rows at the same alignment, on devices of as many multiprocessors.
//
// The other parameters of the ladder are errors here: TILE_WIDTH and COARSE_FACTOR belong to
// matmul/coarsened.h; BM, BN, BK, TM, TN, COARSEN_SLICES and COARSEN_STAGES to matmul/pipelined.h.
//
// The ladder, one file per rung in matmul/, from the finest grain to the coarsest:
//     naive.h            one thread per element, straight from global memory
//     tiled.h            + tiles in shared memory
//     coarsened.h        + a block makes COARSE_FACTOR tiles of P per load of a tile of M
//     register_tiled.h   + a thread makes TM x TN elements, with its operands in registers
//     pipelined.h        + the next tiles are copied while this one is multiplied
//     tensor.h           + tensor cores multiply, if COARSEN_TYPE is double
//     tensor16.h         the same, if it is __half or __nv_bfloat16
//     warpgroup.h        + four warps multiply together, and one warp has the copy engine bring the tiles
//     narrow.h           beside it, for few columns: no tiles, M read once
//     flat.h             the same for few rows: N read once
//     tall.h             between them and tiles: tiles of few columns, whose M is copied as it is stored
//     batched.h          beside it, for batches of small products: blocks stay, and go from product to product
//     whole.h            the same for smaller ones that follow one another: a block copies and makes whole products
//     pack.h             before it, for much work: M and N written once more, in the order that is copied fastest
//     align.h            the same before tensor16.h and warpgroup.h: as they are stored, but aligned
//
// What this adds to its rungs is the choice of the grain. The largest tile of P that a block can make is
// the best for a large matrix. If there are few tiles, it leaves the device idle: a device makes as many at a time as
// it has multiprocessors, and the last wave is seldom full. So each launch takes the cheapest of fifteen shapes of tiles,
// or of twenty-four where doubles have tensor cores, and of four more, tall.h's, for up to 96 columns of 4 bytes; and the
// tiles of the last wave may be made in parts of the depth, which fill one to twelve waves, and whose sums are added up in
// order. That also fills the device where P is small and the depth is great. One of the shapes takes packed operands: a kernel
// writes M column after column and N row after row first, if they are not so, which costs the less the more each element
// is used. For the other shapes it may pack N alone, if the rows of that begin anywhere. Up to eight rows or columns are
// made without tiles, whole or in parts of the depth, if that costs less. A batch is made in whole tiles; or, of 4 bytes
// and not transposed, by batched.h; or, if its matrices follow one another, by one of two shapes of whole.h, also of 16 bits.
//
// Elements of 16 bits have six shapes of tensor16.h to choose from, and are packed first where rows begin anywhere and are
// used often.
// Code for compute capability 9.0 with its own features (-gencode arch=compute_90a,code=sm_90a, with CUDA 12.5 or
// later) has eight of warpgroup.h, too: about half the time for much work. There few tiles are made by clusters of 2, 4
// or 8 blocks, each in its slice of the depth, which needs no scratch. One row or column, whose matrix's neighbours in
// memory are neighbours in depth, is made by narrow.h. Below compute capability 8.0 they are multiplied by
// register_tiled.h, a launch per product of a batch that whole.h does not make; or, if M or N is transposed, by tensor16.h,
// which is slow there.

#if defined(BM) || defined(BN) || defined(BK) || defined(TM) || defined(TN) ||                     \
    defined(COARSEN_BM) || defined(COARSEN_BN) || defined(COARSEN_BK) || defined(COARSEN_TM) ||    \
    defined(COARSEN_TN) || defined(COARSEN_SLICES) || defined(COARSEN_STAGES)
#error "coarsen: matmul.h chooses its tiles: BM, BN, BK, TM and TN go with pipelined.h"
#endif
#if defined(TILE_WIDTH) || defined(COARSEN_TILE_WIDTH) || defined(COARSE_FACTOR) ||                \
    defined(COARSEN_COARSE_FACTOR)
#error "coarsen: matmul.h chooses its tiles: TILE_WIDTH, COARSE_FACTOR go with coarsened.h"
#endif
#if defined(COARSEN_ACC) && !defined(COARSEN_DEPTH) // in another header's, base.h has defined it
#define COARSEN_IS_16                               // bits
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "base.h"

#ifndef COARSEN_IS_16
static_assert(sizeof(COARSEN_TYPE) >= 4, "coarsen/matmul: COARSEN_TYPE must have 4 or 8 bytes; "
                                         "__half and __nv_bfloat16 need COARSEN_ACC float");
#endif
#ifdef COARSEN_IS_16
// For little work, and for few rows or columns.
#define COARSEN_SHAPE  _little
#define BM             32
#define BN             32
#define TM             16
#define TN             16
#define BK             32
#define COARSEN_STAGES 8
#include "matmul/tensor16.h"

#define COARSEN_SHAPE _low
#define BM            16
#define BN            64
#define TM            16
#define TN            16
#include "matmul/tensor16.h"

#define COARSEN_SHAPE _slim
#define BM            64
#define BN            16
#define TM            16
#define TN            16
#include "matmul/tensor16.h"

#define COARSEN_SHAPE  _square
#define BM             64
#define BN             64
#define TM             32
#define TN             32
#define COARSEN_STAGES 3
#include "matmul/tensor16.h"

#define COARSEN_SHAPE  _shallow
#define BM             64
#define BN             64
#define BK             32
#define TM             32
#define TN             32
#define COARSEN_STAGES 4
#include "matmul/tensor16.h"

#define COARSEN_SHAPE _large
#include "matmul/tensor16.h"
#include "matmul/align.h"

// The same by warp groups: for much work, in two blocks' tiles, and in one block's; and for fewer tiles.
#define COARSEN_SHAPE _group_large
#include "matmul/warpgroup.h"

#define COARSEN_SHAPE _group_wide
#define BN            192
#include "matmul/warpgroup.h"

#define COARSEN_SHAPE _group_medium
#define BN            128
#include "matmul/warpgroup.h"

#define COARSEN_SHAPE _group_alone
#define BM            192
#define BN            192
#include "matmul/warpgroup.h"

#define COARSEN_SHAPE _group_square
#define BM            128
#define BN            128
#include "matmul/warpgroup.h"

#define COARSEN_SHAPE _group_small
#define BM            128
#define BN            64
#include "matmul/warpgroup.h"

#define COARSEN_SHAPE _group_low
#define BM            64
#define BN            128
#include "matmul/warpgroup.h"

#define COARSEN_SHAPE _group_little
#define BM            64
#define BN            64
#include "matmul/warpgroup.h"

#define COARSEN_SHAPE _narrow
#include "matmul/narrow.h"

#if !defined(COARSEN_M_TRANSPOSED) && !defined(COARSEN_N_TRANSPOSED)
#define COARSEN_PLAIN // what is beside them, for devices without these tensor cores
#define COARSEN_SHAPE _plain
#include "matmul/register_tiled.h"
#endif

#else
#define COARSEN_SHAPE _narrow
#include "matmul/narrow.h"

#define COARSEN_SHAPE _flat
#include "matmul/flat.h"

// In tiles of most elements first: the defaults of pipelined.h; tiles of which a multiprocessor has several at a time,
// so that some multiply while others wait; and tiles for products that have few, whose depth slices of the block
// divide.
#define COARSEN_SHAPE _large
#include "matmul/pipelined.h"

#define COARSEN_SHAPE _medium
#define BM            64
#define BN            (512 / sizeof(COARSEN_TYPE))
#define TN            (32 / sizeof(COARSEN_TYPE))
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _little
#define BM             32
#define BN             (128 / sizeof(COARSEN_TYPE))
#define TM             4
#define TN             (16 / sizeof(COARSEN_TYPE))
#define COARSEN_STAGES 3
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _deep
#define BM             64
#define BN             (512 / sizeof(COARSEN_TYPE))
#define BK             32
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_SLICES 2
#define COARSEN_STAGES 3
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _paired
#define BM             32
#define BN             (256 / sizeof(COARSEN_TYPE))
#define BK             32
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_SLICES 2
#define COARSEN_STAGES 3
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _fourfold
#define BM             32
#define BN             (256 / sizeof(COARSEN_TYPE))
#define BK             32
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_SLICES 4
#define COARSEN_STAGES 3
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _short
#define BM             32
#define BN             (256 / sizeof(COARSEN_TYPE))
#define BK             32
#define TM             4
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_SLICES 2
#define COARSEN_STAGES 3
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _small
#define BM             32
#define BN             (256 / sizeof(COARSEN_TYPE))
#define BK             32
#define TM             4
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_SLICES 4
#define COARSEN_STAGES 4
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _tiny
#define BM             32
#define BN             (64 / sizeof(COARSEN_TYPE))
#define BK             32
#define TM             4
#define TN             (16 / sizeof(COARSEN_TYPE))
#define COARSEN_SLICES 4
#define COARSEN_STAGES 4
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _thin
#define BM             8
#define BN             (1024 / sizeof(COARSEN_TYPE))
#define BK             32
#define TM             8
#define TN             (16 / sizeof(COARSEN_TYPE))
#define COARSEN_SLICES 4
#define COARSEN_STAGES 4
#include "matmul/pipelined.h"

// The same, for doubles on tensor cores.
#define COARSEN_SHAPE _tensor_large
#include "matmul/tensor.h"

#define COARSEN_SHAPE  _tensor_wide
#define BM             64
#define COARSEN_STAGES 3
#include "matmul/tensor.h"

#define COARSEN_SHAPE  _tensor_square
#define BM             64
#define BN             64
#define TM             32
#define COARSEN_STAGES 3
#include "matmul/tensor.h"

#define COARSEN_SHAPE _tensor_low
#define BM            32
#define BN            64
#define TM            16
#include "matmul/tensor.h"

#define COARSEN_SHAPE _tensor_slim
#define BM            64
#define BN            32
#define TM            32
#define TN            16
#include "matmul/tensor.h"

#define COARSEN_SHAPE _tensor_small
#define BM            32
#define BN            32
#define TM            16
#define TN            16
#include "matmul/tensor.h"

#define COARSEN_SHAPE _tensor_little
#define BM            32
#define BN            32
#define BK            32
#define TM            16
#define TN            8
#include "matmul/tensor.h"

// And for few rows or columns.
#define COARSEN_SHAPE  _tensor_flat
#define BM             16
#define TM             16
#define COARSEN_STAGES 3
#include "matmul/tensor.h"

#define COARSEN_SHAPE _tensor_narrow
#define BM            64
#define BN            8
#define BK            32
#define TM            16
#define TN            8
#include "matmul/tensor.h"

// The same in tiles of less depth. They take fewer registers, so that more blocks are at work; and what is left of the
// depth is little. Two or three tiles are on their way.
#define COARSEN_SHAPE  _square
#define BM             64
#define BN             (256 / sizeof(COARSEN_TYPE))
#define BK             8
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_STAGES 3
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _fine
#define BM             64
#define BN             (256 / sizeof(COARSEN_TYPE))
#define BK             8
#define TM             4
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_STAGES 4
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _shallow
#define BM             64
#define BN             (512 / sizeof(COARSEN_TYPE))
#define BK             8
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_STAGES 4
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _low
#define BM             32
#define BN             (512 / sizeof(COARSEN_TYPE))
#define BK             8
#define TM             4
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_STAGES 4
#include "matmul/pipelined.h"

// For operands that pack.h wrote once more.
#define COARSEN_SHAPE _packed
#define COARSEN_PACKED
#define BM 64
#define BN (512 / sizeof(COARSEN_TYPE))
#define TN (32 / sizeof(COARSEN_TYPE))
#include "matmul/pipelined.h"
#include "matmul/pack.h"

// Few columns; or, if N is stored column after column, few rows. Where neither M's neighbours in memory are neighbours in
// depth nor N's, there are no such tiles.
#if !defined(COARSEN_M_TRANSPOSED) || defined(COARSEN_N_TRANSPOSED)
#define COARSEN_HAS_TALL
#define COARSEN_SHAPE _tall_16
#define BN            16
#define TM            4
#define TN            4
#include "matmul/tall.h"

#define COARSEN_SHAPE _tall_24
#include "matmul/tall.h"

#define COARSEN_SHAPE _tall_32
#define BN            32
#define TM            4
#define TN            8
#include "matmul/tall.h"

#define COARSEN_SHAPE _tall_48
#define BN            48
#define TM            4
#define TN            12
#include "matmul/tall.h"
#endif

// Batches.
#if !defined(COARSEN_M_TRANSPOSED) && !defined(COARSEN_N_TRANSPOSED)
#define COARSEN_BATCHED
#define COARSEN_SHAPE _batched
#define TM            8
#define TN            4
#include "matmul/batched.h"
#endif
#endif

#define COARSEN_SHAPE _whole_small
#include "matmul/whole.h"

#define COARSEN_SHAPE _whole_large
#define TM            8
#define TN            4
#include "matmul/whole.h"

// Which operand narrow.h and tall.h, or flat.h, read once: M, or else N. The former take one whose neighbours in
// memory are neighbours in depth, and flat.h one whose neighbours are not. If both are so, it takes the one with more rows
// or columns. Where neither is, there is no such macro.
#if !defined(COARSEN_M_TRANSPOSED) && !defined(COARSEN_N_TRANSPOSED)
#define COARSEN_NARROW_OF_M(rows, cols) true
#define COARSEN_FLAT_OF_M(rows, cols)   false
#elif defined(COARSEN_M_TRANSPOSED) && defined(COARSEN_N_TRANSPOSED)
#define COARSEN_NARROW_OF_M(rows, cols) false
#define COARSEN_FLAT_OF_M(rows, cols)   true
#elif defined(COARSEN_M_TRANSPOSED)
#define COARSEN_FLAT_OF_M(rows, cols) (rows >= cols)
#else
#define COARSEN_NARROW_OF_M(rows, cols) (rows >= cols)
#endif
#ifdef COARSEN_IS_16
#undef COARSEN_FLAT_OF_M // which takes longer than tiles
#endif
// Whether neighbours in memory are neighbours in depth.
#ifdef COARSEN_M_TRANSPOSED
#define COARSEN_M_STEPS(ld) ld, 1 // from one depth to the next, and from one row to the next
#define COARSEN_M_ACROSS    false
#else
#define COARSEN_M_STEPS(ld) 1, ld
#define COARSEN_M_ACROSS    true
#endif
#ifdef COARSEN_N_TRANSPOSED
#define COARSEN_N_STEPS(ld) 1, ld
#define COARSEN_N_ACROSS    true
#else
#define COARSEN_N_STEPS(ld) ld, 1
#define COARSEN_N_ACROSS    false
#endif

#ifndef __CUDACC_RTC__
// A shape of tiles. cost: of a multiplication, by one measure for all. begin: to begin and end a tile costs as much
// as so much more depth. resident: so many tiles a multiprocessor makes at a time, which hide each other's waiting, but for
// that of `lone` tiles.
// Fitted to the times of 1520 products and batches of floats on an H200, of which 1439 were random, each by all plans that
// may be good (bench/matmul_costs.py), and those of tall.h, tensor.h, warpgroup.h and tensor16.h likewise, to 448 of few
// columns, 738 products and batches of doubles, and 575 and 970 of halves. But those of the large and the paired shape are
// set so that these make 2048 x 2048 and 16384 x 64 x 4096: they are seldom the best for random products.
// packed: whether it takes M only column after column and N only row after row. group: if not 0, so many multiprocessors
// make a tile together, and only of operands whose lines begin at multiples of 16 bytes; cost: of a row or column of a
// step, then; start: what else a launch costs. slices: into so many the depth may be cut. tall: whether it is tall.h's, whose
// tiles have many rows of M and few columns, or many columns of N and few rows.
typedef struct {
    size_t rows, cols, shared_bytes;
    double cost, begin, lone;
    size_t resident;
    bool packed;
    double start;
    size_t group, slices;
    bool tall; // by tall.h
    cudaError_t (*launch)(size_t, size_t, size_t, size_t, COARSEN_ACC, const COARSEN_TYPE *, size_t,
                          const COARSEN_TYPE *, size_t, COARSEN_ACC, COARSEN_TYPE *, size_t, size_t,
                          size_t, COARSEN_(work), cudaStream_t);
} COARSEN_(shape);

COARSEN_HOST COARSEN_(shape) COARSEN_(shape_of)(size_t s)
{
    static const COARSEN_(shape) shapes[] = {
// (A name is pasted before it is passed on: some system headers have a macro `small`.)
#define COARSEN_ROW_OF(shape_, cost, begin, lone, resident, packed, start, group, slices, tall)    \
    {COARSEN_(shape_##tile_rows),                                                                  \
     COARSEN_(shape_##tile_cols),                                                                  \
     COARSEN_(shape_##shared_bytes),                                                               \
     cost,                                                                                         \
     begin,                                                                                        \
     lone,                                                                                         \
     resident,                                                                                     \
     packed,                                                                                       \
     start,                                                                                        \
     group,                                                                                        \
     slices,                                                                                       \
     tall,                                                                                         \
     COARSEN_(shape_##launch_work)}
#define COARSEN_ROW(shape, cost, begin, lone, resident, packed)                                    \
    COARSEN_ROW_OF(shape##_, cost, begin, lone, resident, packed, 0, 0, 0, false)
#define COARSEN_TALL(shape, cost, begin, lone, resident)                                           \
    COARSEN_ROW_OF(shape##_, cost, begin, lone, resident, false, 0, 0, 0, true)
#define COARSEN_GROUP(shape, cost, begin, lone, start, group, slices)                              \
    COARSEN_ROW_OF(shape##_, cost, begin, lone, COARSEN_(shape##_resident), false, start, group,   \
                   slices, false)
#ifdef COARSEN_IS_16
        COARSEN_ROW(little, 0.45, 92, 2.9, 6, false),
        COARSEN_ROW(low, 0.289, 192, 2.85, 5, false),
        COARSEN_ROW(slim, 0.398, 183, 1.89, 5, false),
        COARSEN_ROW(square, 0.0967, 219, 3.26, 3, false),
        COARSEN_ROW(shallow, 0.214, 85.7, 2.86, 4, false),
        COARSEN_ROW(large, 0.131, 166, 0.0897, 1, false),
        // The same beside warp groups, for what they make slowly.
        COARSEN_ROW(little, 0.498, 120, 2.46, 6, false),
        COARSEN_ROW(low, 0.333, 147, 3.29, 5, false),
        COARSEN_ROW(slim, 0.354, 128, 3.8, 5, false),
        COARSEN_ROW(square, 0.0916, 179, 4.12, 3, false),
        COARSEN_ROW(shallow, 0.19, 78.6, 3.17, 4, false),
        COARSEN_ROW(large, 0.0971, 182, 0.254, 1, false),
        COARSEN_GROUP(group_large, 4.7, 657, 0, 2.48e5, 2, 0),
        COARSEN_GROUP(group_wide, 4.79, 320, 0, 4.21e5, 2, 0),
        COARSEN_GROUP(group_medium, 4.1, 392, 0.0694, 3.9e5, 2, 0),
        COARSEN_GROUP(group_alone, 6.95, 181, 0, 1.63e5, 1, 0),
        COARSEN_GROUP(group_square, 5.21, 181, 0.0361, 4.32e5, 1, 0),
        COARSEN_GROUP(group_small, 7.13, 85, 0.0272, 6.74e5, 1, 8),
        COARSEN_GROUP(group_low, 3.88, 150, 0.18, 5.24e5, 1, 0),
        COARSEN_GROUP(group_little, 5.57, 98.8, 0.0167, 4.67e5, 1, 4),
#else
        COARSEN_ROW(tiny, 2.18, 59.4, 1.09, 7, false),
        COARSEN_ROW(thin, 1.68, 78.8, 0.572, 1, false),
        COARSEN_ROW(little, 1.41, 42.3, 2.28, 14, false),
        COARSEN_ROW(small, 1.4, 63.1, 0.258, 2, false),
        COARSEN_ROW(square, 1.08, 18.8, 1.36, 8, false),
        COARSEN_ROW(fine, 1.2, 18.2, 0.672, 6, false),
        COARSEN_ROW(paired, 0.988, 97.4, 1.27, 5, false),
        COARSEN_ROW(fourfold, 0.882, 128, 1.05, 3, false),
        COARSEN_ROW(short, 1.17, 46.9, 0.864, 5, false),
        COARSEN_ROW(deep, 1.06, 65.8, 0.147, 1, false),
        COARSEN_ROW(medium, 0.745, 58.9, 0.948, 3, false),
#ifdef COARSEN_M_TRANSPOSED // which the other shapes copy faster
        COARSEN_ROW(large, 1.12, 30.9, 0.0204, 1, false),
        COARSEN_ROW(shallow, 1.01, 18.6, 0.892, 4, false),
#else
        COARSEN_ROW(large, 1.04, 30.9, 0.0204, 1, false),
        COARSEN_ROW(shallow, 0.919, 18.6, 0.892, 4, false),
#endif
        COARSEN_ROW(low, 1.12, 15.4, 0.707, 5, false),
        COARSEN_ROW(packed, 0.787, 46.8, 0.561, 3, true),
#ifdef COARSEN_HAS_TALL
        COARSEN_TALL(tall_16, 2.02, 24.9, 0.901, 6),
        COARSEN_TALL(tall_24, 1.36, 30.2, 0.938, 5),
        COARSEN_TALL(tall_32, 1.12, 38, 1.24, 5),
        COARSEN_TALL(tall_48, 1.1, 60.4, 0.543, 4),
#endif
        COARSEN_ROW(tensor_narrow, 4.04, 44.1, 0.277, 2, false),
        COARSEN_ROW(tensor_flat, 1.55, 25.3, 1.16, 3, false),
        COARSEN_ROW(tensor_little, 2.42, 39.3, 0.288, 3, false),
        COARSEN_ROW(tensor_small, 1.63, 25.8, 1.25, 5, false),
        COARSEN_ROW(tensor_slim, 1.33, 27.8, 0.996, 3, false),
        COARSEN_ROW(tensor_low, 1.46, 58.9, 0.796, 4, false),
        COARSEN_ROW(tensor_square, 0.661, 47, 1.56, 3, false),
        COARSEN_ROW(tensor_wide, 0.586, 46, 1.2, 2, false),
        COARSEN_ROW(tensor_large, 0.778, 94.5, 0.0301, 1, false),
#endif
#undef COARSEN_ROW
#undef COARSEN_TALL
#undef COARSEN_GROUP
#undef COARSEN_ROW_OF
    };
    return shapes[s];
}
#ifndef COARSEN_IS_16
enum {
#ifdef COARSEN_HAS_TALL
    COARSEN_(shapes_without_tensor) = 19,
#else
    COARSEN_(shapes_without_tensor) = 15,
#endif
    COARSEN_(shapes) = COARSEN_(shapes_without_tensor) + 9
};
#elif defined(COARSEN_PLAIN)
enum { COARSEN_(shapes_without_tensor) = 0, COARSEN_(shapes_of_warps) = 6, COARSEN_(shapes) = 20 };
#else
enum { COARSEN_(shapes_without_tensor) = 6, COARSEN_(shapes_of_warps) = 6, COARSEN_(shapes) = 20 };
#endif
enum {
    COARSEN_(batched) = COARSEN_(shapes) + 2,
    COARSEN_(whole) = COARSEN_(batched) + 1,
    COARSEN_(whole_shapes) = 2
};

// How many of them there are to choose from: whether tensor cores multiply this type says the kernels' code.
COARSEN_HOST size_t COARSEN_(count_shapes)(cudaError_t *status)
{
    cudaFuncAttributes code = {};
#ifdef COARSEN_IS_16
    if (COARSEN_(has_engine)(status))
        return COARSEN_(shapes);
    const size_t most = COARSEN_(shapes_of_warps);
    if (*status == cudaSuccess)
        *status = cudaFuncGetAttributes(&code, (const void *)COARSEN_(large_kernel));
#else
    const size_t most = COARSEN_(shapes);
    if (COARSEN_(tensor_large_takes_type))
        *status = cudaFuncGetAttributes(&code, (const void *)COARSEN_(tensor_large_kernel));
#endif
    return code.ptxVersion >= 80 ? most : (size_t)COARSEN_(shapes_without_tensor);
}

// The first of so many shapes.
COARSEN_HOST size_t COARSEN_(first_shape)(COARSEN_UNUSED size_t shapes)
{
#ifdef COARSEN_IS_16
    if (shapes > COARSEN_(shapes_of_warps))
        return COARSEN_(shapes_of_warps);
#endif
    return 0;
}

// A product, and what the choice of a plan depends on beside its size. Units: bytes, a power of two up to 32, at multiples of
// which all rows of M and of N begin, as they are stored.
typedef struct {
    size_t count, rows, cols, inner;
    unsigned int m_unit, n_unit;
    size_t most_bytes; // of scratch
    bool stacked;      // of a batch: whether its matrices follow one another
    bool dense;        // of such a batch: whether no element lies between two rows
    bool scattered;    // of what narrow.h does not read once: whether neighbours in depth lie apart
} COARSEN_(problem);

// How a product is made: in tiles of which shape, and of them how many in parts.
typedef struct {
    double cost; // in multiplications of a multiprocessor
    // Or COARSEN_(shapes): by narrow.h; or one more: by flat.h; or COARSEN_(batched): by batched.h; or from COARSEN_(whole) on:
    // by whole.h, `parts` products per block.
    // Of 16 bits, two more: by register_tiled.h.
    size_t shape;
    size_t pack_m, pack_n;      // how long the lines of what is packed first are, or 0
    size_t whole, parts, depth; // tiles that are whole; parts of each other one, and their depth
    size_t slices;              // of the depth of all tiles, a block each; or 0
    size_t pack_bytes, scratch_bytes;
} COARSEN_(plan);

// The cost of so many tiles per multiprocessor, of so much depth.
COARSEN_HOST double COARSEN_(cost)(COARSEN_(shape) shape, size_t waves, size_t depth)
{
    const double waits = shape.lone * (double)coarsen_ceil_div(waves, shape.resident);
    return ((double)waves + waits) * ((double)depth + shape.begin) *
           (double)(shape.rows * shape.cols) * shape.cost;
}

// To launch a kernel that packs costs as many multiplications, or more.
enum { COARSEN_(pack_launch) = 1680000 };

// Packs M, N or both first: by pack.h, or elements of 16 bits by align.h. The cost; or 0 if there is nothing to pack, or no
// room.
COARSEN_HOST double COARSEN_(plan_packing)(COARSEN_(problem) of, bool pack_m, bool pack_n,
                                           COARSEN_UNUSED size_t s, size_t processors,
                                           COARSEN_(plan) * plan)
{
    // So many multiplications per element, over all multiprocessors. That of 16 bits is counted from the bytes.
#ifdef COARSEN_IS_16
    const bool groups = s >= COARSEN_(shapes_of_warps);
    const double launch = groups ? 1.42e6 : (double)COARSEN_(pack_launch),
                 pack_element = groups ? 34.2 : 15;
    const bool m_as_it_is = COARSEN_M_ACROSS, n_as_it_is = COARSEN_N_ACROSS;
#else
    const double launch = (double)COARSEN_(pack_launch), pack_element = 95;
    const bool m_as_it_is = false, n_as_it_is = false; // but M by columns, N by rows
#endif
    // Lines begin where those of the cache do: otherwise tiles share some, blocks take longer, and not all as long. Measured:
    // 2050 x 2050, lines at multiples of 16 bytes: 491 us; of 128: 402.
    const size_t items = 128 / sizeof(COARSEN_TYPE), most = of.most_bytes / sizeof(COARSEN_TYPE);
    const size_t m_lines = m_as_it_is ? of.rows : of.inner,
                 n_lines = n_as_it_is ? of.cols : of.inner;
    if (pack_m)
        plan->pack_m = items * coarsen_ceil_div(m_as_it_is ? of.inner : of.rows, items);
    if (pack_n)
        plan->pack_n = items * coarsen_ceil_div(n_as_it_is ? of.inner : of.cols, items);
    const size_t longest = (size_t)1 << 33; // line, in elements
    if (plan->pack_m > longest || plan->pack_n > longest ||
        (m_lines > 0 && plan->pack_m > most / m_lines) ||
        (n_lines > 0 && plan->pack_n > most / n_lines))
        return 0;
    const size_t of_m = plan->pack_m * m_lines, of_n = plan->pack_n * n_lines;
    if (of_m + of_n == 0 || of_m > most - of_n)
        return 0;
    plan->pack_bytes = (of_m + of_n) * sizeof(COARSEN_TYPE);
    return launch + (double)(of_m + of_n) * pack_element / (double)processors;
}

// Turns a product so that its rows are the many ones, as tall.h makes it. Whether that takes it.
COARSEN_HOST bool COARSEN_(turn_for_tall)(COARSEN_UNUSED COARSEN_(problem) * of)
{
#ifdef COARSEN_HAS_TALL
    const size_t most = 96; // few rows or columns: of more, other tiles are better
    if (!COARSEN_NARROW_OF_M(of->rows, of->cols)) {
        const size_t rows = of->rows;
        of->rows = of->cols, of->cols = rows;
        of->m_unit = of->n_unit;
    }
    return COARSEN_(tall_16_takes_type) && of->cols <= most && of->cols <= of->rows;
#else
    return false;
#endif
}

// How many waves the parts of tiles may fill: the more, the fuller is the last one, and the more sums are to be added up.
// Of 16 bits, the first four of these.
COARSEN_HOST size_t COARSEN_(waves_of)(size_t choice)
{
    static const size_t waves[] = {1, 2, 3, 4, 6, 9, 12};
    return waves[choice];
}

// The ways to make a product of tiles of one shape. Way 0: all tiles whole. From 1 on: what is left for the last wave, in
// parts that fill so many. From ways_of_all on: all tiles, likewise. From ways_of_clusters on: all tiles, if they
// are so few, by clusters of 2, 4 or 8 blocks, which share the depth. From packing_ways on the same, after
// operands that are not as tiles are copied fastest were packed. A plan of no cost: there is none.
enum {
    COARSEN_(choices_of_waves) = sizeof(COARSEN_TYPE) == 2 ? 4 : 7,
    COARSEN_(ways_of_all) = 1 + COARSEN_(choices_of_waves),
    COARSEN_(ways_of_clusters) = COARSEN_(ways_of_all) + COARSEN_(choices_of_waves),
    COARSEN_(packing_ways) = COARSEN_(ways_of_clusters) + 3,
    COARSEN_(ways) = 2 * COARSEN_(packing_ways)
};
COARSEN_HOST COARSEN_(plan)
    COARSEN_(plan_of)(COARSEN_(problem) of, size_t s, size_t way, size_t processors)
{
    // To add up parts costs as many multiplications, and so many more per element of a part, over all multiprocessors; and
    // then that they wait until the whole tiles are made.
    // To copy the tiles of N an element at a time, or tall.h's of the long operand, or those of both for tensor cores (of 16
    // bits, to shift them), makes multiplications so much dearer. If N is turned on its way, that is the more the fewer
    // rows a tile has.
    // apart: the same where rows of N do not begin at sectors of the cache, of 32 bytes.
    const COARSEN_(plan) none = {};
    COARSEN_(shape) shape = COARSEN_(shape_of)(s);
    if (shape.tall && !COARSEN_(turn_for_tall)(&of))
        return none;
#ifdef COARSEN_IS_16
    const bool groups = s >= COARSEN_(shapes_of_warps); // there are some
    const double add = groups ? 7.99e5 : 4.1e5, add_element = groups ? 102 : 120,
                 element = groups ? 3.1 : 2.05, then = groups ? 6.03e5 : 1e6;
    const double slower = element, apart = 1;
    const size_t depth_unit = 64; // of a part
    const bool by_element = of.m_unit < 16 || of.n_unit < 16;
    const bool pack_m = of.m_unit < 16, pack_n = of.n_unit < 16;
#else
    const size_t depth_unit = 32;
    const bool wide = sizeof(COARSEN_TYPE) == 8;
    const double add = wide ? 6.2e5 : 4.14e5, add_element = wide ? 123 : 86.7,
                 element = wide ? 1.78 : 1.08, tall_element = 1.47, tensor_element = 1.04,
                 double_element = 5.13, turned = COARSEN_N_ACROSS && !wide ? 6 : 0,
                 apart = wide ? 1 : 1.05, then = wide ? 7.79e5 : 2e6;
    const bool tensor = s >= COARSEN_(shapes_without_tensor);
    // double_element: of doubles in other tiles than tensor cores', beside those.
    const double slower = tensor ? tensor_element
                          : shape.tall ? tall_element
                          : COARSEN_(tensor_large_takes_type)
                              ? double_element
                              : element + turned / (double)shape.rows;
    const bool by_element = tensor ? of.m_unit < 16 || of.n_unit < 16
                            : shape.tall ? of.m_unit < 16
                                         : COARSEN_N_ACROSS || of.n_unit < 16;
    // Shapes that take M as it is stored, take N so too, but copy vectors of it where rows are aligned. Of doubles these
    // have two.
    const bool pack_m = shape.packed && (COARSEN_M_ACROSS || of.m_unit < 32);
    const bool pack_n = shape.packed ? COARSEN_N_ACROSS || of.n_unit < 32
                                     : by_element && !shape.tall && !wide && !COARSEN_N_ACROSS;
    if (tensor) // multiply a whole step, whatever there is
        of.inner = 16 * coarsen_ceil_div(of.inner, 16);
    else if (wide)
        shape.cost *= 2.3; // half as many multiplications at a time, of twice as many bytes
#endif
    COARSEN_(plan) plan = {};
    plan.shape = s;
    if (of.count > 1 && way > 0 &&
        (way < COARSEN_(ways_of_clusters) || way >= COARSEN_(packing_ways)))
        return none;
    if (way >= COARSEN_(packing_ways)) {
        plan.cost = COARSEN_(plan_packing)(of, pack_m, pack_n, s, processors, &plan);
        if (plan.cost == 0)
            return none;
        way -= COARSEN_(packing_ways);
    } else if (shape.packed || (shape.group > 0 && by_element)) {
        return none;
    } else if (by_element) {
        shape.cost *= slower, shape.begin /= slower;
    } else if (of.n_unit < 32 && !shape.packed && !shape.tall) {
        shape.cost *= apart;
    }

    const size_t at_a_time =
        shape.group > 1 && processors > shape.group ? processors / shape.group : processors;
    const size_t area = shape.rows * shape.cols;
    const size_t tiles =
        coarsen_ceil_div(of.rows, shape.rows) * coarsen_ceil_div(of.cols, shape.cols) * of.count;
    if (shape.group > 0) {
        // A step takes as long as a block brings its rows of M and columns of N, but for 64 of them that no tile has.
        const size_t lines = shape.rows / shape.group + shape.cols;
        const size_t rows =
            coarsen_min(shape.rows / shape.group, 64 * coarsen_ceil_div(of.rows, 64));
        shape.rows = rows + coarsen_min(shape.cols, 64 * coarsen_ceil_div(of.cols, 64));
        shape.cols = 1;
        // To begin and end has no fewer. Where rows of P begin anywhere, as those of N do, more is to do in the end.
        const double end = COARSEN_N_ACROSS || of.n_unit >= 16 ? 0 : 42.5;
        shape.begin = (shape.begin + end) * (double)lines / (double)shape.rows;
        plan.cost += shape.start;
    }
    if (way == 0) {
        plan.cost += COARSEN_(cost)(shape, coarsen_ceil_div(tiles, at_a_time), of.inner);
        plan.whole = tiles, plan.parts = 1, plan.depth = of.inner;
        plan.scratch_bytes = plan.pack_bytes;
        return plan;
    }
    if (way >= COARSEN_(ways_of_clusters)) {
        const double join = 4.62e5; // multiplications that it costs to add up slices
        const size_t slices = (size_t)2 << (way - COARSEN_(ways_of_clusters));
        const size_t steps = coarsen_ceil_div(of.inner, 64);
        // Clusters of more than two blocks leave some multiprocessors out.
        const size_t room = (slices > 2 ? at_a_time - at_a_time / 4 : at_a_time) * shape.resident;
        if (slices > shape.slices || slices > steps || tiles > room / slices)
            return none;
        const size_t waves = coarsen_ceil_div(tiles * slices, at_a_time);
        plan.cost += COARSEN_(cost)(shape, waves, 64 * coarsen_ceil_div(steps, slices)) + join;
        plan.whole = tiles, plan.parts = 1, plan.depth = of.inner, plan.slices = slices;
        plan.scratch_bytes = plan.pack_bytes;
        return plan;
    }
    const bool all = way >= COARSEN_(ways_of_all);
    if (all && tiles < at_a_time)
        return none; // all are what is left
    const size_t waves = COARSEN_(waves_of)((way - 1) % COARSEN_(choices_of_waves));
    const size_t rest = all ? tiles : tiles % at_a_time;
    const size_t most = rest > 0 ? waves * at_a_time / rest : 0;
    if (most < 2)
        return none;
    plan.whole = tiles - rest;
    plan.depth = depth_unit * coarsen_ceil_div(coarsen_ceil_div(of.inner, most), depth_unit);
    plan.parts = plan.depth == 0 ? 1 : coarsen_ceil_div(of.inner, plan.depth);
    const size_t sums = rest * plan.parts * area;
    if (plan.parts < 2 || sums > (of.most_bytes - plan.pack_bytes) / sizeof(COARSEN_ACC))
        return none;
    plan.scratch_bytes = plan.pack_bytes + sums * sizeof(COARSEN_ACC);
    plan.cost += COARSEN_(cost)(shape, plan.whole / at_a_time, of.inner) +
                 COARSEN_(cost)(shape, waves, plan.depth) + (plan.whole > 0 ? then : 0) + add +
                 (double)sums * add_element / (double)processors;
    return plan;
}

// Whether neighbours in depth lie apart, of what narrow.h reads more than once.
COARSEN_HOST bool COARSEN_(is_scattered)(COARSEN_UNUSED size_t rows, COARSEN_UNUSED size_t cols,
                                         COARSEN_UNUSED size_t ldm, COARSEN_UNUSED size_t ldn)
{
#ifdef COARSEN_NARROW_OF_M
    return COARSEN_NARROW_OF_M(rows, cols) ? !COARSEN_N_ACROSS && ldn > 1
                                           : !COARSEN_M_ACROSS && ldm > 1;
#else
    return false;
#endif
}

// As many parts of the depth as there is scratch for their sums.
COARSEN_HOST size_t COARSEN_(most_parts)(COARSEN_(problem) of)
{
    return of.most_bytes / sizeof(COARSEN_ACC) / of.rows / of.cols;
}

// What narrow.h or flat.h is to make, without operands. Of more than eight rows or columns, or than there are of the
// others, nothing. Of 16 bits, of more than one neither.
#ifdef COARSEN_NARROW_OF_M
COARSEN_HOST COARSEN_(narrow_product) COARSEN_(narrow_of)(COARSEN_(problem) of)
{
    const bool of_m = COARSEN_NARROW_OF_M(of.rows, of.cols);
    const size_t most = sizeof(COARSEN_TYPE) == 2 ? 1 : 2 * COARSEN_(narrow_tile_cols);
    COARSEN_(narrow_product) narrow = {};
    narrow.rows = of_m ? of.rows : of.cols, narrow.cols = of_m ? of.cols : of.rows;
    if (narrow.cols > most || narrow.cols > narrow.rows)
        narrow.rows = 0;
    narrow.aligned = (of_m ? of.m_unit : of.n_unit) >= 16;
    narrow.inner = of.inner, narrow.count = of.count, narrow.most_parts = COARSEN_(most_parts)(of);
    narrow.step_k = of.scattered ? 2 : 1; // or more
    return narrow;
}
#endif
#ifdef COARSEN_FLAT_OF_M
COARSEN_HOST COARSEN_(flat_product) COARSEN_(flat_of)(COARSEN_(problem) of)
{
    const bool of_m = COARSEN_FLAT_OF_M(of.rows, of.cols);
    COARSEN_(flat_product) flat = {};
    flat.rows = of_m ? of.cols : of.rows, flat.cols = of_m ? of.rows : of.cols;
    if (flat.rows > 2 * COARSEN_(flat_tile_rows) || flat.rows > flat.cols)
        flat.rows = 0;
    flat.aligned = (of_m ? of.m_unit : of.n_unit) >= 16;
    flat.inner = of.inner, flat.count = of.count, flat.most_parts = COARSEN_(most_parts)(of);
    return flat;
}
#endif

// The plan by narrow.h, if s is COARSEN_(shapes), or else by flat.h, if any.
COARSEN_HOST COARSEN_(plan) COARSEN_(plan_strips)(COARSEN_(problem) of, size_t s, size_t processors)
{
    COARSEN_(plan) plan = {};
    plan.shape = s;
#ifdef COARSEN_NARROW_OF_M
    COARSEN_(narrow_product) narrow = COARSEN_(narrow_of)(of);
    if (s == COARSEN_(shapes) && narrow.rows > 0)
        plan.cost = COARSEN_(narrow_divide)(&narrow, processors), plan.parts = narrow.parts;
#endif
#ifdef COARSEN_FLAT_OF_M
    COARSEN_(flat_product) flat = COARSEN_(flat_of)(of);
    if (s > COARSEN_(shapes) && flat.rows > 0)
        plan.cost = COARSEN_(flat_divide)(&flat, processors), plan.parts = flat.parts;
#endif
    if (plan.parts > 1)
        plan.scratch_bytes = plan.parts * of.rows * of.cols * sizeof(COARSEN_ACC);
    return plan;
}

#ifdef COARSEN_BATCHED
// The plan for batched.h, if any.
COARSEN_HOST COARSEN_(plan) COARSEN_(plan_batched)(COARSEN_(problem) of, size_t processors)
{
    // To copy operands an element at a time makes a tile so much dearer; and if N begins anywhere, P does, which is then
    // written so, too.
    const double singly = 1.72, written = 1.3;
    COARSEN_(shape)
    shape = {COARSEN_(batched_tile_rows),
             COARSEN_(batched_tile_cols),
             COARSEN_(batched_shared_bytes),
             0.858,
             18.6,
             10.5,
             12,
             false,
             0,
             0,
             0,
             false,
             NULL};
    COARSEN_(plan) plan = {};
    if (!COARSEN_(batched_takes_type))
        return plan;
    if (of.m_unit < 16 || of.n_unit < 16)
        shape.cost *= of.n_unit < 16 ? singly * written : singly;
    plan.shape = COARSEN_(batched);
    plan.whole =
        coarsen_ceil_div(of.rows, shape.rows) * coarsen_ceil_div(of.cols, shape.cols) * of.count;
    plan.cost = COARSEN_(cost)(shape, coarsen_ceil_div(plan.whole, processors), of.inner);
    return plan;
}
#endif

// A shape of whole.h.
typedef struct {
    double (*divide)(COARSEN_(products) *, size_t, size_t, size_t, size_t, size_t);
    cudaError_t (*launch)(COARSEN_(products), cudaStream_t);
} COARSEN_(whole_shape);

COARSEN_HOST COARSEN_(whole_shape) COARSEN_(whole_of)(size_t w)
{
    static const COARSEN_(whole_shape)
        shapes[] = {{COARSEN_(whole_small_divide), COARSEN_(whole_small_launch_divided)},
                    {COARSEN_(whole_large_divide), COARSEN_(whole_large_launch_divided)}};
    return shapes[w];
}

// The plan for shape s - COARSEN_(whole) of whole.h, if any.
COARSEN_HOST COARSEN_(plan)
    COARSEN_(plan_whole)(COARSEN_(problem) of, size_t s, size_t processors, size_t shared_limit)
{
    COARSEN_(plan) plan = {};
    COARSEN_(products) products = {};
    products.count = of.count, products.dense = of.dense;
    plan.shape = s;
    if (of.stacked)
        plan.cost = (*COARSEN_(whole_of)(s - COARSEN_(whole)).divide)(
            &products, of.rows, of.cols, of.inner, processors, shared_limit);
    plan.parts = products.together, plan.slices = products.slices;
    return plan;
}

// What all tiles cost at the least, with all multiprocessors at work: so that few shapes need a closer look.
COARSEN_HOST double COARSEN_(least_cost)(COARSEN_(problem) of, COARSEN_(shape) shape,
                                         size_t processors)
{
    if (shape.group > 0) // not counted by tiles
        return 0;
    if (shape.tall)
        (void)COARSEN_(turn_for_tall)(&of);
    const double tiles = (double)(coarsen_ceil_div(of.rows, shape.rows) *
                                  coarsen_ceil_div(of.cols, shape.cols) * of.count);
    return (tiles * (double)of.inner / (double)processors + shape.begin) *
           (double)(shape.rows * shape.cols) * shape.cost;
}

// Keeps the better of two plans: the first one, if it costs less.
COARSEN_HOST void COARSEN_(consider)(COARSEN_(plan) plan, COARSEN_(plan) * best)
{
    if (plan.cost > 0 && (best->cost == 0 || plan.cost < best->cost))
        *best = plan;
}

// The plan of the least cost.
COARSEN_HOST COARSEN_(plan) COARSEN_(make_plan)(COARSEN_(problem) of, cudaError_t *status)
{
    COARSEN_(plan) best = {};
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, status);
    size_t shared_limit = 0;
    if (*status == cudaSuccess)
        shared_limit = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, status);
    size_t shapes = 0;
    if (*status == cudaSuccess)
        shapes = COARSEN_(count_shapes)(status);
    const size_t first = COARSEN_(first_shape)(shapes);
    best.shape = COARSEN_(shapes) + 2; // if there is none: by register_tiled.h
    if (*status != cudaSuccess || of.rows == 0 || of.cols == 0)
        return best;
    for (size_t from = 0; from < COARSEN_(ways); from += COARSEN_(packing_ways)) {
        if (from > 0 && best.cost < (double)COARSEN_(pack_launch))
            break; // little work: nothing that packs could cost less
        for (size_t s = shapes; s-- > first;) {
            const COARSEN_(shape) shape = COARSEN_(shape_of)(s);
            if ((s > first && shape.shared_bytes > shared_limit) ||
                (best.cost > 0 && COARSEN_(least_cost)(of, shape, processors) >= best.cost))
                continue;
            for (size_t way = from; way < from + COARSEN_(packing_ways); way++)
                COARSEN_(consider)(COARSEN_(plan_of)(of, s, way, processors), &best);
        }
    }
    for (size_t s = COARSEN_(shapes); s < COARSEN_(shapes) + 2; s++)
        COARSEN_(consider)(COARSEN_(plan_strips)(of, s, processors), &best);
#ifdef COARSEN_BATCHED
    if (of.count > 1 && (size_t)COARSEN_(batched_shared_bytes) <= shared_limit)
        COARSEN_(consider)(COARSEN_(plan_batched)(of, processors), &best);
#endif
    for (size_t s = COARSEN_(whole); of.count > 1 && s < COARSEN_(whole) + COARSEN_(whole_shapes);
         s++)
        COARSEN_(consider)(COARSEN_(plan_whole)(of, s, processors, shared_limit), &best);
    return best;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t rows, size_t cols, size_t inner)
{
    size_t most = 0;
    const unsigned int units[] = {32, 16, sizeof(COARSEN_TYPE)}; // by which plans differ
    const size_t kinds = 3;
    const bool narrow = rows == 1 || cols == 1; // whose plans differ by how neighbours lie, too
    for (size_t u = 0; u < kinds * kinds * (narrow ? 2 : 1); u++) {
        const COARSEN_(problem) of = {1,
                                      rows,
                                      cols,
                                      inner,
                                      units[u % kinds],
                                      units[u / kinds % kinds],
                                      (size_t)-1,
                                      false,
                                      false,
                                      u < kinds * kinds};
        cudaError_t status = cudaSuccess;
        const size_t bytes = COARSEN_(make_plan)(of, &status).scratch_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

// Makes products by narrow.h or flat.h, as planned. Their arguments are sound.
COARSEN_HOST cudaError_t COARSEN_(launch_strips)(COARSEN_(plan) plan, size_t count, size_t rows,
                                                 size_t cols, size_t inner, COARSEN_ACC alpha,
                                                 const COARSEN_TYPE *m, size_t ldm, size_t m_step,
                                                 const COARSEN_TYPE *n, size_t ldn, size_t n_step,
                                                 COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
                                                 size_t p_step, void *scratch, cudaStream_t stream)
{
    COARSEN_ACC *const sums = (COARSEN_ACC *)scratch;
#ifdef COARSEN_NARROW_OF_M
    if (plan.shape == COARSEN_(shapes)) {
        const COARSEN_(narrow_product) of_m = {
            rows, cols,  inner,  m,      n,      ldm,  COARSEN_N_STEPS(ldn), alpha, beta, p, ldp,
            1,    count, m_step, n_step, p_step, sums, plan.parts,           false, 0,    0, 0,
            0,    0,     0};
        const COARSEN_(narrow_product) of_n = {
            cols, rows,  inner,  n,      m,      ldn,  COARSEN_M_STEPS(ldm), alpha, beta, p, 1,
            ldp,  count, n_step, m_step, p_step, sums, plan.parts,           false, 0,    0, 0,
            0,    0,     0};
        return COARSEN_(narrow_launch_product)(COARSEN_NARROW_OF_M(rows, cols) ? of_m : of_n,
                                               stream);
    }
#endif
#ifdef COARSEN_FLAT_OF_M
    if (plan.shape == COARSEN_(shapes) + 1) {
        const COARSEN_(flat_product) of_m = {
            cols, rows,  inner,  m,      n,      ldm,  COARSEN_N_STEPS(ldn), alpha, beta, p, 1,
            ldp,  count, m_step, n_step, p_step, sums, plan.parts,           false, 0,    0, 0,
            0,    0};
        const COARSEN_(flat_product) of_n = {
            rows, cols,  inner,  n,      m,      ldn,  COARSEN_M_STEPS(ldm), alpha, beta, p, ldp,
            1,    count, n_step, m_step, p_step, sums, plan.parts,           false, 0,    0, 0,
            0,    0};
        return COARSEN_(flat_launch_product)(COARSEN_FLAT_OF_M(rows, cols) ? of_m : of_n, stream);
    }
#endif
    return cudaErrorNotSupported; // no such plan
}

// Makes a batch in tiles of one shape. Those of tall.h have many rows: if it is N's columns that are many, the product of N
// by M is made, and P flipped.
COARSEN_HOST cudaError_t COARSEN_(launch_shape)(COARSEN_(shape) shape, size_t count, size_t rows,
                                                size_t cols, size_t inner, COARSEN_ACC alpha,
                                                const COARSEN_TYPE *m, size_t ldm,
                                                const COARSEN_TYPE *n, size_t ldn, COARSEN_ACC beta,
                                                COARSEN_TYPE *p, size_t ldp, size_t whole,
                                                size_t parts, COARSEN_(work) work,
                                                cudaStream_t stream)
{
#ifdef COARSEN_HAS_TALL
    if (shape.tall && !COARSEN_NARROW_OF_M(rows, cols)) {
        const size_t m_step = work.m_step;
        work.m_step = work.n_step, work.n_step = m_step;
        work.flipped = true;
        return (*shape.launch)(count, cols, rows, inner, alpha, n, ldn, m, ldm, beta, p, ldp, whole,
                               parts, work, stream);
    }
#endif
    return (*shape.launch)(count, rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, whole,
                           parts, work, stream);
}

// Makes a product as planned. Its arguments are sound.
COARSEN_HOST cudaError_t COARSEN_(launch_plan)(COARSEN_(plan) plan, size_t rows, size_t cols,
                                               size_t inner, COARSEN_ACC alpha,
                                               const COARSEN_TYPE *m, size_t ldm,
                                               const COARSEN_TYPE *n, size_t ldn, COARSEN_ACC beta,
                                               COARSEN_TYPE *p, size_t ldp, void *scratch,
                                               cudaStream_t stream)
{
    if (plan.shape == COARSEN_(shapes) || plan.shape == COARSEN_(shapes) + 1)
        return COARSEN_(launch_strips)(plan, 1, rows, cols, inner, alpha, m, ldm, 0, n, ldn, 0,
                                       beta, p, ldp, 0, scratch, stream);
#ifdef COARSEN_PLAIN
    if (plan.shape == COARSEN_(shapes) + 2)
        return COARSEN_(plain_launch)(rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp,
                                      stream);
#endif
    COARSEN_(work) work = {};
    work.m_rows = rows, work.n_cols = cols;
    COARSEN_TYPE *const packed = (COARSEN_TYPE *)scratch;
#ifdef COARSEN_IS_16
    COARSEN_(unaligned) of_m = {m, ldm, rows, inner, packed, plan.pack_m};
    COARSEN_(unaligned) of_n = {n, ldn, cols, inner, packed, plan.pack_n};
    if (!COARSEN_M_ACROSS)
        of_m.lines = inner, of_m.length = rows;
    if (!COARSEN_N_ACROSS)
        of_n.lines = inner, of_n.length = cols;
    of_n.to += of_m.lines * plan.pack_m;
#else
    const COARSEN_(unpacked) of_m = {m, ldm, rows, COARSEN_M_ACROSS, packed, plan.pack_m};
    const COARSEN_(unpacked)
        of_n = {n, ldn, cols, COARSEN_N_ACROSS, packed + plan.pack_m * inner, plan.pack_n};
#endif
    cudaError_t status = cudaSuccess;
    if (plan.pack_bytes > 0)
#ifdef COARSEN_IS_16
        status = COARSEN_(align)(of_m, of_n, stream);
#else
        status = COARSEN_(pack)(of_m, of_n, inner, stream);
#endif
    if (status != cudaSuccess)
        return status;
    if (plan.pack_m > 0)
        m = of_m.to, ldm = work.m_rows = plan.pack_m;
    if (plan.pack_n > 0)
        n = of_n.to, ldn = work.n_cols = plan.pack_n;
    work.depth = plan.depth, work.slices = plan.slices;
    work.sums = (COARSEN_ACC *)((char *)scratch + plan.pack_bytes);
    const COARSEN_(shape) shape = COARSEN_(shape_of)(plan.shape);
    return COARSEN_(launch_shape)(shape, 1, rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp,
                                  plan.whole, plan.parts, work, stream);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
                                          const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n,
                                          size_t ldn, COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    if (alpha == (COARSEN_ACC)0)
        inner = 0;
    if (rows == 0 || cols == 0)
        return cudaSuccess;
    size_t tiles; // of the least that a block makes
    cudaError_t status =
        COARSEN_(count_tiles)(&tiles, 32, 8, rows, cols, inner, m, ldm, n, ldn, p, ldp);
    if (status == cudaSuccess && (size_t)scratch % 16 != 0)
        status = cudaErrorInvalidValue;
    if (status != cudaSuccess)
        return status;
    const COARSEN_(problem) problem = {1,
                                       rows,
                                       cols,
                                       inner,
                                       COARSEN_(unit_of)(m, ldm),
                                       COARSEN_(unit_of)(n, ldn),
                                       scratch == NULL ? 0 : scratch_bytes,
                                       false,
                                       false,
                                       COARSEN_(is_scattered)(rows, cols, ldm, ldn)};
    const COARSEN_(plan) plan = COARSEN_(make_plan)(problem, &status);
    return status != cudaSuccess ? status
                                 : COARSEN_(launch_plan)(plan, rows, cols, inner, alpha, m, ldm, n,
                                                         ldn, beta, p, ldp, scratch, stream);
}

// Makes a batch as planned. Its arguments are sound.
COARSEN_HOST cudaError_t COARSEN_(launch_batch_plan)(COARSEN_(plan) plan, size_t count, size_t rows,
                                                     size_t cols, size_t inner, COARSEN_ACC alpha,
                                                     const COARSEN_TYPE *m, size_t ldm,
                                                     size_t m_step, const COARSEN_TYPE *n,
                                                     size_t ldn, size_t n_step, COARSEN_ACC beta,
                                                     COARSEN_TYPE *p, size_t ldp, size_t p_step,
                                                     cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    if (plan.shape == COARSEN_(shapes) || plan.shape == COARSEN_(shapes) + 1)
        return COARSEN_(launch_strips)(plan, count, rows, cols, inner, alpha, m, ldm, m_step, n,
                                       ldn, n_step, beta, p, ldp, p_step, NULL, stream);
    if (plan.shape >= COARSEN_(whole)) {
        COARSEN_(products) of = {};
        of.count = count;
        of.rows = (unsigned int)rows, of.cols = (unsigned int)cols, of.inner = (unsigned int)inner;
        of.m = m, of.ldm = ldm, of.n = n, of.ldn = ldn;
        of.alpha = alpha, of.beta = beta;
        of.p = p, of.ldp = ldp;
        of.dense = m_step == rows * inner && n_step == inner * cols && p_step == rows * cols;
        of.together = (unsigned int)plan.parts, of.slices = (unsigned int)plan.slices;
        return (*COARSEN_(whole_of)(plan.shape - COARSEN_(whole)).launch)(of, stream);
    }
#ifdef COARSEN_BATCHED
    if (plan.shape == COARSEN_(batched))
        return COARSEN_(batched_launch_batch)(count, rows, cols, inner, alpha, m, ldm, m_step, n,
                                              ldn, n_step, beta, p, ldp, p_step, stream);
#endif
#ifdef COARSEN_PLAIN
    if (plan.shape == COARSEN_(shapes) + 2) {
        for (size_t b = 0; b < count && status == cudaSuccess; b++)
            status = COARSEN_(plain_launch)(rows, cols, inner, alpha, m + b * m_step, ldm,
                                            n + b * n_step, ldn, beta, p + b * p_step, ldp, stream);
        return status;
    }
#endif
    COARSEN_(work) work = {};
    work.m_step = m_step, work.n_step = n_step, work.p_step = p_step, work.slices = plan.slices;
    const COARSEN_(shape) shape = COARSEN_(shape_of)(plan.shape);
    const size_t most = 65535; // of a launch
    for (size_t done = 0; done < count && status == cudaSuccess; done += most)
        status = COARSEN_(launch_shape)(shape, coarsen_min(count - done, most), rows, cols, inner,
                                        alpha, m + done * m_step, ldm, n + done * n_step, ldn, beta,
                                        p + done * p_step, ldp, (size_t)-1, 1, work, stream);
    return status;
}

COARSEN_HOST cudaError_t COARSEN_(launch_batch)(size_t count, size_t rows, size_t cols,
                                                size_t inner, COARSEN_ACC alpha,
                                                const COARSEN_TYPE *m, size_t ldm, size_t m_step,
                                                const COARSEN_TYPE *n, size_t ldn, size_t n_step,
                                                COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
                                                size_t p_step, cudaStream_t stream)
{
    if (alpha == (COARSEN_ACC)0)
        inner = 0;
#ifdef COARSEN_M_TRANSPOSED
    const size_t m_rows = inner, m_cols = rows;
#else
    const size_t m_rows = rows, m_cols = inner;
#endif
#ifdef COARSEN_N_TRANSPOSED
    const size_t n_rows = cols, n_cols = inner;
#else
    const size_t n_rows = inner, n_cols = cols;
#endif
    if (count == 0 || rows == 0 || cols == 0)
        return cudaSuccess;
    if (!COARSEN_(matrices_ok)(m, count, m_step, m_rows, m_cols, ldm) ||
        !COARSEN_(matrices_ok)(n, count, n_step, n_rows, n_cols, ldn) ||
        !COARSEN_(matrices_ok)(p, count, p_step, rows, cols, ldp))
        return cudaErrorInvalidValue;
#ifndef COARSEN_M_TRANSPOSED
    // One N, and rows of M and P that follow each other from product to product: it is one product of all rows.
    if (n_step == 0 && m_step == rows * ldm && p_step == rows * ldp)
        rows *= count, count = 1;
#endif
    if (count == 1) // for which there are more plans
        return COARSEN_(launch)(rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, NULL, 0,
                                stream);
    cudaError_t status;
    const COARSEN_(problem)
        problem = {count,
                   rows,
                   cols,
                   inner,
                   COARSEN_(unit_of)(m, ldm | m_step),
                   COARSEN_(unit_of)(n, ldn | n_step),
                   0,
                   m_step == m_rows * ldm && n_step == n_rows * ldn && p_step == rows * ldp,
                   m_cols == ldm && n_cols == ldn && cols == ldp,
                   COARSEN_(is_scattered)(rows, cols, ldm, ldn)};
    const COARSEN_(plan) plan = COARSEN_(make_plan)(problem, &status);
    return status != cudaSuccess
               ? status
               : COARSEN_(launch_batch_plan)(plan, count, rows, cols, inner, alpha, m, ldm, m_step,
                                             n, ldn, n_step, beta, p, ldp, p_step, stream);
}
#endif

#undef COARSEN_IS_16
#undef COARSEN_PLAIN
#undef COARSEN_HAS_TALL
#undef COARSEN_NARROW_OF_M
#undef COARSEN_BATCHED
#undef COARSEN_FLAT_OF_M
#undef COARSEN_M_STEPS
#undef COARSEN_N_STEPS
#undef COARSEN_M_ACROSS
#undef COARSEN_N_ACROSS
#define COARSEN_END
#include "base.h"
