// SPDX-License-Identifier: MIT
//
// coarsen/matmul.h: the product of two matrices. Use this one: matmul/pipelined.h, whose top
// comment is the manual of arguments, errors and costs, in four tile shapes. Each launch takes the
// best.
//     P = alpha M N + beta P
//
//     #define COARSEN_NAME matmul_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul.h>
//
//     // out = in in, the square of a matrix of 300 x 300, rows one after the other
//     matmul_f32_launch(300, 300, 300, 1, in, 300, in, 300, 0, out, 300, stream);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type: a number of 4 or 8 bytes               |
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
//
// Why the last: it is the fastest at every size. The largest tile of P that a block can make is the
// best for a large matrix. If there are few tiles, it leaves the device idle. A smaller tile, with
// the depth divided among slices of the block, then costs more per element but is done sooner. The
// choice counts waves: a device makes as many tiles at a time as it has multiprocessors. For a
// product of few elements and great depth, no shape fills the device.

#if defined(BM) || defined(BN) || defined(BK) || defined(TM) || defined(TN) ||                     \
    defined(COARSEN_BM) || defined(COARSEN_BN) || defined(COARSEN_BK) || defined(COARSEN_TM) ||    \
    defined(COARSEN_TN) || defined(COARSEN_SLICES) || defined(COARSEN_STAGES)
#error "coarsen: matmul.h chooses its tiles: BM, BN, BK, TM and TN go with pipelined.h"
#endif
#if defined(TILE_WIDTH) || defined(COARSEN_TILE_WIDTH) || defined(COARSE_FACTOR) ||                \
    defined(COARSEN_COARSE_FACTOR)
#error "coarsen: matmul.h chooses its tiles: TILE_WIDTH, COARSE_FACTOR go with coarsened.h"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "base.h"

#define COARSEN_SHAPE _large // the defaults of pipelined.h
#include "matmul/pipelined.h"

#define COARSEN_SHAPE  _medium
#define BM             64
#define BN             (512 / sizeof(COARSEN_TYPE))
#define BK             32
#define COARSEN_SLICES 4
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

#define COARSEN_SHAPE  _tall
#define BM             128
#define BN             (256 / sizeof(COARSEN_TYPE))
#define BK             32
#define TM             16
#define TN             (32 / sizeof(COARSEN_TYPE))
#define COARSEN_SLICES 4
#include "matmul/pipelined.h"

#ifndef __CUDACC_RTC__
// A shape of tiles. cost: of a multiplication, measured on an H200 at 4096 x 4096 x 4096, relative to the large shape.
typedef struct {
    size_t rows, cols, shared_bytes;
    double cost;
    cudaError_t (*launch)(size_t, size_t, size_t, size_t, COARSEN_TYPE, const COARSEN_TYPE *,
                          size_t, const COARSEN_TYPE *, size_t, COARSEN_TYPE, COARSEN_TYPE *,
                          size_t, size_t, size_t, COARSEN_(work), cudaStream_t);
} COARSEN_(shape);

COARSEN_HOST COARSEN_(shape) COARSEN_(shape_of)(size_t s)
{
    const COARSEN_(shape) shapes[] = {
#define COARSEN_ROW(shape, cost)                                                                   \
    {COARSEN_(shape##_tile_rows), COARSEN_(shape##_tile_cols), COARSEN_(shape##_shared_bytes),     \
     cost, COARSEN_(shape##_launch_work)}
        COARSEN_ROW(tiny, 2.4),  COARSEN_ROW(thin, 2.9),    COARSEN_ROW(small, 1.5),
        COARSEN_ROW(tall, 1.15), COARSEN_ROW(medium, 1.15), COARSEN_ROW(large, 1),
#undef COARSEN_ROW
    };
    return shapes[s];
}
#define COARSEN_SHAPES 6

// How a product is made: in tiles of which shape, and of them how many in parts.
typedef struct {
    size_t shape;
    size_t whole, parts, depth; // tiles that are whole; parts of each other one, and their depth
    size_t scratch_bytes;
} COARSEN_(plan);

// The plan of the least cost, for a scratch of at most so many bytes. The unit of cost is a multiplication of the large
// shape.
COARSEN_HOST COARSEN_(plan)
    COARSEN_(make_plan)(size_t count, size_t rows, size_t cols, size_t inner, size_t most_bytes,
                        cudaError_t *status)
{
    // Measured on an H200: to begin and end a tile takes as long as so much more depth; to add up parts, as so many
    // multiplications of a multiprocessor, and so many more per element that is left and read.
    const double tile_start = 16, add_start = 5e5, add_element = 64;
    COARSEN_(plan) best = {};
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, status);
    size_t shared_limit = 0;
    if (*status == cudaSuccess)
        shared_limit = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, status);
    if (*status != cudaSuccess)
        return best;
    double least = 0;
    for (size_t s = 0; s < COARSEN_SHAPES; s++) {
        const COARSEN_(shape) shape = COARSEN_(shape_of)(s);
        if (s > 0 && shape.shared_bytes > shared_limit)
            continue;
        const size_t area = shape.rows * shape.cols;
        const size_t tiles =
            coarsen_ceil_div(rows, shape.rows) * coarsen_ceil_div(cols, shape.cols) * count;
        const size_t rest = tiles % processors; // of the last wave
        // The last wave's tiles, in parts that are as many waves.
        for (size_t waves = 0; waves <= 4; waves++) {
            size_t parts = 1, depth = inner;
            double cost = (double)coarsen_ceil_div(tiles, processors) * (double)area * shape.cost *
                          ((double)inner + tile_start);
            if (waves > 0) {
                if (count > 1 || rest == 0 || waves * processors / rest < 2)
                    continue;
                depth =
                    coarsen_ceil_div(coarsen_ceil_div(inner, waves * processors / rest), 32) * 32;
                parts = coarsen_ceil_div(inner, depth > 0 ? depth : 1);
                if (parts < 2 || rest * parts * area > most_bytes / sizeof(COARSEN_TYPE))
                    continue;
                cost = (double)area * shape.cost *
                           ((double)(tiles / processors) * ((double)inner + tile_start) +
                            (double)waves * ((double)depth + tile_start)) +
                       add_start + (double)(rest * parts * area) * add_element / (double)processors;
            }
            if (least == 0 || cost <= least) {
                best.shape = s;
                best.scratch_bytes = parts > 1 ? rest * parts * area * sizeof(COARSEN_TYPE) : 0;
                best.whole = parts > 1 ? tiles - rest : tiles;
                best.parts = parts;
                best.depth = depth;
                least = cost;
            }
        }
    }
    return best;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t rows, size_t cols, size_t inner)
{
    cudaError_t status;
    return COARSEN_(make_plan)(1, rows, cols, inner, (size_t)-1, &status).scratch_bytes;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(size_t rows, size_t cols, size_t inner,
                                          COARSEN_TYPE alpha, const COARSEN_TYPE *m, size_t ldm,
                                          const COARSEN_TYPE *n, size_t ldn, COARSEN_TYPE beta,
                                          COARSEN_TYPE *p, size_t ldp, void *scratch,
                                          size_t scratch_bytes, cudaStream_t stream)
{
    if (alpha == (COARSEN_TYPE)0)
        inner = 0;
    cudaError_t status;
    const COARSEN_(plan) plan =
        COARSEN_(make_plan)(1, rows, cols, inner, scratch == NULL ? 0 : scratch_bytes, &status);
    if (status != cudaSuccess)
        return status;
    if ((size_t)scratch % 16 != 0)
        return cudaErrorInvalidValue;
    COARSEN_(work) work = {};
    work.depth = plan.depth;
    work.sums = (COARSEN_TYPE *)scratch;
    return COARSEN_(shape_of)(plan.shape)
        .launch(1, rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, plan.whole, plan.parts,
                work, stream);
}

// Whether pointer may hold as many matrices, each so many elements further than the one before.
COARSEN_HOST bool COARSEN_(matrices_ok)(const COARSEN_TYPE *pointer, size_t count, size_t step,
                                        size_t rows, size_t cols, size_t ld)
{
    if (rows == 0 || cols == 0)
        return true;
    if (!COARSEN_(matrix_ok)(pointer, rows, cols, ld))
        return false;
    const size_t one = (rows - 1) * ld + cols;
    return (step == 0 || count - 1 <= ((size_t)-1 - one) / step) &&
           coarsen_array_ok(pointer, (count - 1) * step + one);
}

COARSEN_HOST cudaError_t COARSEN_(launch_batch)(size_t count, size_t rows, size_t cols,
                                                size_t inner, COARSEN_TYPE alpha,
                                                const COARSEN_TYPE *m, size_t ldm, size_t m_step,
                                                const COARSEN_TYPE *n, size_t ldn, size_t n_step,
                                                COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp,
                                                size_t p_step, cudaStream_t stream)
{
    if (alpha == (COARSEN_TYPE)0)
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
    cudaError_t status;
    const COARSEN_(plan) plan = COARSEN_(make_plan)(count, rows, cols, inner, 0, &status);
    COARSEN_(work) work = {};
    work.m_step = m_step, work.n_step = n_step, work.p_step = p_step;
    const size_t most = 65535; // of a launch
    for (size_t done = 0; done < count && status == cudaSuccess; done += most)
        status = COARSEN_(shape_of)(plan.shape)
                     .launch(coarsen_min(count - done, most), rows, cols, inner, alpha,
                             m + done * m_step, ldm, n + done * n_step, ldn, beta,
                             p + done * p_step, ldp, (size_t)-1, 1, work, stream);
    return status;
}
#endif

#undef COARSEN_SHAPES
#define COARSEN_END
#include "base.h"
