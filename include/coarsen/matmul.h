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

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(size_t rows, size_t cols, size_t inner,
                                          COARSEN_TYPE alpha, const COARSEN_TYPE *m, size_t ldm,
                                          const COARSEN_TYPE *n, size_t ldn, COARSEN_TYPE beta,
                                          COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
{
    // cost: per element, measured on an H200 at 4096 x 4096 x 4096, relative to the large shape.
    const struct {
        size_t rows, cols, shared_bytes;
        double cost;
        cudaError_t (*launch)(size_t, size_t, size_t, COARSEN_TYPE, const COARSEN_TYPE *, size_t,
                              const COARSEN_TYPE *, size_t, COARSEN_TYPE, COARSEN_TYPE *, size_t,
                              cudaStream_t);
    } shapes[] = {
#define COARSEN_ROW(shape, cost)                                                                   \
    {COARSEN_(shape##_tile_rows), COARSEN_(shape##_tile_cols), COARSEN_(shape##_shared_bytes),     \
     cost, COARSEN_(shape##_launch)}
        COARSEN_ROW(tiny, 2.4),
        COARSEN_ROW(small, 1.5),
        COARSEN_ROW(medium, 1.15),
        COARSEN_ROW(large, 1),
#undef COARSEN_ROW
    };
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status != cudaSuccess)
        return status;
    const size_t shared_limit = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &status);
    if (status != cudaSuccess)
        return status;

    size_t best = 0;
    double least = 0;
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        const size_t tiles =
            coarsen_ceil_div(rows, shapes[s].rows) * coarsen_ceil_div(cols, shapes[s].cols);
        const size_t waves = coarsen_ceil_div(tiles, processors);
        const double cost = (double)(waves * shapes[s].rows * shapes[s].cols) * shapes[s].cost;
        if (s == 0 || (cost <= least && shapes[s].shared_bytes <= shared_limit)) {
            best = s;
            least = cost;
        }
    }
    return (*shapes[best].launch)(rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, stream);
}
#endif

#define COARSEN_END
#include "base.h"
