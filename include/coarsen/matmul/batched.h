// SPDX-License-Identifier: MIT
//
// coarsen/matmul/batched.h: many small products of one shape. A block of few warps makes tile after tile of P, of product
// after product, and the operands of its next ones are copied while it multiplies.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME batched_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/batched.h>
//
//     // 30 products of 5 x 6 by 6 x 4, one matrix after the other
//     batched_f32_launch_batch(30, 5, 4, 6, 1, in, 6, 30, in, 4, 24, 0, out, 4, 20, stream);
//
// | parameter            | default   | meaning                                                             |
// |----------------------|-----------|---------------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                                   |
// | COARSEN_TYPE         | required  | number type of 4 bytes, also of alpha and beta                      |
// | BM                   | 4 TM      | rows of a tile of P: 4 TM of each warp, of which there are 1 to 8   |
// | TM                   | 8         | rows of P per lane, from 1 to 16                                    |
// | TN                   | 4         | columns of P per lane, 4 or 8: a tile has 8 times as many           |
// | BK                   | 32        | depth of the tiles of M and N: 16 or 32                             |
// | COARSEN_STAGES       | 2         | tiles of M and N per block, one in use, from 2 to 8                 |
// Defines NAME_kernel, what block/copy.h and block/vector.h define, and
//     cudaError_t NAME_launch_batch(size_t count, size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                                   const COARSEN_TYPE *m, size_t ldm, size_t m_step,
//                                   const COARSEN_TYPE *n, size_t ldn, size_t n_step, COARSEN_TYPE beta,
//                                   COARSEN_TYPE *p, size_t ldp, size_t p_step, cudaStream_t stream)
// `count` products of one shape; the matrices of each begin so many elements after those of the one before. m_step and
// n_step may be 0. What is read and written, and the errors, are those of matmul.h's batches. No scratch. Deterministic.
//
// Price saved: a block per product begins with waiting for its operands, and ends with writing when nothing is copied.
// Here the copies run ahead of the products, and no block waits for another one.
// Price paid: small patches, so each vector from shared memory is used for few multiplications; tiles that small products do
// not fill.
// How: as in tall.h, M stays row after row in shared memory, where rows are an odd number of vectors apart, and a lane loads
// four neighbours in depth at once.
// Source: K. Gupta, J. A. Stuart, J. D. Owens, A Study of Persistent Threads Style GPU Programming for GPGPU Workloads,
// InPar 2012, on blocks that stay.

#if (defined(COARSEN_M_TRANSPOSED) || defined(COARSEN_N_TRANSPOSED)) && !defined(COARSEN_SHAPE)
#error "coarsen/matmul: COARSEN_M_TRANSPOSED and _N_TRANSPOSED go with matmul.h or pipelined.h"
#endif
#if defined(COARSEN_ACC) && !defined(COARSEN_DEPTH)
#error "coarsen/matmul: COARSEN_ACC goes with matmul.h, which chooses a rung that takes it"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/vector.h"

#define COARSEN_IS_4 (sizeof(COARSEN_TYPE) == 4) // bytes

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file for whatever type
#define COARSEN_SHAPE
static_assert(COARSEN_IS_4,
              "coarsen/matmul: batched.h takes numbers of 4 bytes: others take matmul.h");
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef COARSEN_STAGES
#define COARSEN_STAGES 2
#elif COARSEN_STAGES < 2 || COARSEN_STAGES > 8
#error "coarsen/matmul: COARSEN_STAGES must be from 2 to 8"
#endif

#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 4
#endif
#ifndef BK
#define BK 32
#endif

#ifndef BM
#define BM (4 * TM) // a warp is 4 x 8 patches
#endif

#define COARSEN_BN      (8 * TN)
#define COARSEN_THREADS (BM / (4 * TM) * 32) // per block
#define COARSEN_PITCH_M (BK + 4)
#define COARSEN_STAGE   (BM * COARSEN_PITCH_M + BK * COARSEN_BN) // elements: M, then N

static_assert(BM % (4 * TM) == 0 && BM / (4 * TM) >= 1 && BM / (4 * TM) <= 8,
              "coarsen/matmul: BM must be 1 to 8 times 4 TM");
static_assert(TM >= 1 && TM <= 16, "coarsen/matmul: TM must be from 1 to 16");
static_assert(TN == 4 || TN == 8, "coarsen/matmul: TN must be 4 or 8");
static_assert(BK == 16 || BK == 32, "coarsen/matmul: BK must be 16 or 32");
static_assert(
    BM * BK % (4 * COARSEN_THREADS) == 0 && BK * COARSEN_BN % (4 * COARSEN_THREADS) == 0,
    "coarsen/matmul: tiles of M and N must be 4 elements per thread, or a multiple of it: "
    "make BK larger");

enum {
    COARSEN_SHAPE_(takes_type) = COARSEN_IS_4,
    COARSEN_SHAPE_(tile_rows) = BM,
    COARSEN_SHAPE_(tile_cols) = COARSEN_BN,
    COARSEN_SHAPE_(shared_bytes) = COARSEN_STAGES * COARSEN_STAGE * 4
};

typedef struct {
    size_t count, rows, cols, inner;
    const COARSEN_TYPE *m, *n;
    size_t ldm, m_step, ldn, n_step;
    COARSEN_TYPE alpha, beta;
    COARSEN_TYPE *p;
    size_t ldp, p_step;
    bool vectors; // whether rows of M and N begin at multiples of 16 bytes
    bool wide;    // whether those of P do
    // Tiles of a product: across, and all; steps through its depth; and how far the next tile of a block is.
    unsigned int across, tiles, next_tile;
    size_t steps, next_product;
} COARSEN_SHAPE_(batch);

// A tile of a product, and a step through its depth.
typedef struct {
    unsigned int tile;
    size_t product, step;
    size_t row, col;
    const COARSEN_TYPE *m, *n;
} COARSEN_SHAPE_(place);

COARSEN_INLINE void COARSEN_SHAPE_(find)(const COARSEN_SHAPE_(batch) * of,
                                         COARSEN_SHAPE_(place) * at)
{
    at->row = (size_t)(at->tile / of->across) * BM;
    at->col = (size_t)(at->tile % of->across) * COARSEN_BN;
    at->m = of->m + at->product * of->m_step + at->row * of->ldm;
    at->n = of->n + at->product * of->n_step + at->col;
}

// Goes to the block's next tile.
COARSEN_INLINE void COARSEN_SHAPE_(next)(const COARSEN_SHAPE_(batch) * of,
                                         COARSEN_SHAPE_(place) * at)
{
    at->product += of->next_product;
    at->tile += of->next_tile;
    if (at->tile >= of->tiles)
        at->tile -= of->tiles, at->product++;
    COARSEN_SHAPE_(find)(of, at);
}

// Starts to copy a tile of M or N, which has room for all_rows x all_width elements, two constants; `rows` x `width` of them
// are there. Along the depth, what makes these up to a multiple of four becomes zeros.
COARSEN_INLINE void COARSEN_SHAPE_(copy_tile)(COARSEN_TYPE *to, unsigned int pitch,
                                              const COARSEN_TYPE *from, size_t ld,
                                              unsigned int all_rows, unsigned int all_width,
                                              unsigned int rows, unsigned int width, bool vectors)
{
    const unsigned int thread = threadIdx.x, stop = (rows + 3) / 4 * 4;
    if (vectors) {
        const unsigned int abreast = 4 * COARSEN_THREADS / all_width,
                           at = thread % (all_width / 4) * 4;
        const unsigned int bytes = width > at ? coarsen_min(width - at, 4) * 4 : 0;
        const unsigned int first = thread / (all_width / 4);
        to += first * pitch + at;
        from += first * ld + at;
        if (rows == all_rows && width == all_width) {
#pragma unroll
            for (unsigned int r = 0; r < all_rows; r += abreast)
                COARSEN_(copy_async)(to + r * pitch, from + r * ld, 16);
        } else if (bytes > 0) {
#pragma unroll 1
            for (unsigned int r = first; r < stop; r += abreast) {
                COARSEN_(copy_part_async)(to, from, 16, r < rows ? bytes : 0);
                to += abreast * pitch, from += abreast * ld;
            }
        }
    } else {
        const unsigned int across = coarsen_min(all_width, 32), abreast = COARSEN_THREADS / across;
        const unsigned int col = thread % across, first = thread / across;
        to += first * pitch + col;
        from += first * ld + col;
#pragma unroll 4
        for (unsigned int r = first; r < stop; r += abreast) {
#pragma unroll
            for (unsigned int c = 0; c < all_width; c += 32)
                if (col + c < (width + 3) / 4 * 4)
                    COARSEN_(copy_part_async)
            (to + c, from + c, 4, r < rows && col + c < width ? 4 : 0);
            to += abreast * pitch, from += abreast * ld;
        }
    }
}

// Starts to copy what the place needs, if there is such a product, and goes to the next place.
COARSEN_INLINE void COARSEN_SHAPE_(copy)(const COARSEN_SHAPE_(batch) * of,
                                         COARSEN_SHAPE_(place) * at, COARSEN_TYPE *stage)
{
    if (at->product < of->count) {
        const size_t k = at->step * BK;
        const unsigned int depth = (unsigned int)coarsen_min(of->inner - k, BK);
        COARSEN_SHAPE_(copy_tile)
        (stage, COARSEN_PITCH_M, at->m + k, of->ldm, BM, BK,
         (unsigned int)coarsen_min(of->rows - at->row, BM), depth, of->vectors);
        COARSEN_SHAPE_(copy_tile)
        (stage + BM * COARSEN_PITCH_M, COARSEN_BN, at->n + k * of->ldn, of->ldn, BK, COARSEN_BN,
         depth, (unsigned int)coarsen_min(of->cols - at->col, COARSEN_BN), of->vectors);
        if (++at->step >= of->steps)
            at->step = 0, COARSEN_SHAPE_(next)(of, at);
    }
    COARSEN_(copies_end)();
}

// P = alpha sum + beta P, of one element.
COARSEN_INLINE void COARSEN_SHAPE_(write)(COARSEN_TYPE *to, COARSEN_TYPE sum,
                                          const COARSEN_SHAPE_(batch) * of)
{
    *to = of->beta == (COARSEN_TYPE)0 ? of->alpha * sum : of->alpha * sum + of->beta * *to;
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS)
    COARSEN_SHAPE_(kernel)(const COARSEN_SHAPE_(batch) of)
{
    if (!COARSEN_IS_4) // never launched: leave nothing to compile
        return;
    COARSEN_TYPE *const stages = (COARSEN_TYPE *)coarsen_shared;
    // As in tall.h, the quarters of a warp have few different addresses. Its rows are 4 apart.
    const unsigned int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 4 * TM;
    const unsigned int lane_row = warp_row + ((lane >> 1 & 1) | (lane >> 3 & 2));
    const unsigned int lane_col = ((lane & 1) | (lane >> 1 & 6)) * 4;
    COARSEN_SHAPE_(place) here = {}, ahead; // what is multiplied; what is copied
    here.product = blockIdx.x / of.tiles;
    here.tile = blockIdx.x % of.tiles;
    COARSEN_SHAPE_(find)(&of, &here);
    ahead = here;
    if (of.rows % BM != 0 ||
        of.cols % COARSEN_BN != 0) { // what is never copied; nobody writes what comes of it
        COARSEN_(vector) *const all = (COARSEN_(vector) *)coarsen_shared;
        for (unsigned int e = threadIdx.x; e < COARSEN_STAGES * COARSEN_STAGE / 4;
             e += COARSEN_THREADS)
            all[e] = {};
        __syncthreads();
    }
#pragma unroll 1
    for (unsigned int s = 0; s < COARSEN_STAGES - 1; s++)
        COARSEN_SHAPE_(copy)(&of, &ahead, stages + s * COARSEN_STAGE);
    unsigned int stage = 0, free = COARSEN_STAGES - 1; // the one in use, the one to copy to
#pragma unroll 1
    for (; here.product < of.count; COARSEN_SHAPE_(next)(&of, &here)) {
        COARSEN_TYPE sum[TM][TN];
#pragma unroll
        for (unsigned int i = 0; i < TM; i++)
#pragma unroll
            for (unsigned int j = 0; j < TN; j++)
                sum[i][j] = 0;
#pragma unroll 1
        for (size_t step = 0; step < of.steps; step++) {
            COARSEN_(copies_wait)(COARSEN_STAGES - 2);
            __syncthreads(); // this stage is there, and all are done with the one before, where the next copies go
            COARSEN_SHAPE_(copy)(&of, &ahead, stages + free * COARSEN_STAGE);
            free = free + 1 < COARSEN_STAGES ? free + 1 : 0;
            const COARSEN_TYPE *of_m = stages + stage * COARSEN_STAGE + lane_row * COARSEN_PITCH_M;
            const COARSEN_TYPE *of_n =
                stages + stage * COARSEN_STAGE + BM * COARSEN_PITCH_M + lane_col;
            stage = stage + 1 < COARSEN_STAGES ? stage + 1 : 0;
            const unsigned int depth = (unsigned int)coarsen_min(of.inner - step * BK, BK);
#pragma unroll 2
            for (unsigned int k = 0; k < depth; k += 4) {
                COARSEN_(vector) a[TM];
#pragma unroll
                for (unsigned int i = 0; i < TM; i++)
                    a[i] = *(const COARSEN_(vector) *)(of_m + i * 4 * COARSEN_PITCH_M + k);
#pragma unroll
                for (unsigned int q = 0; q < 4; q++) {
                    COARSEN_(vector) b[TN / 4];
#pragma unroll
                    for (unsigned int j = 0; j < TN / 4; j++)
                        b[j] = *(const COARSEN_(vector) *)(of_n + (k + q) * COARSEN_BN + j * 32);
#pragma unroll
                    for (unsigned int i = 0; i < TM; i++)
#pragma unroll
                        for (unsigned int along = 0; along < TN; along++) {
                            // Back and forth, so that a register that was just read is read again.
                            const unsigned int j = i % 2 == 0 ? along : TN - 1 - along;
                            sum[i][j] +=
                                a[i].item[q % COARSEN_ITEMS] * b[j / 4].item[j % COARSEN_ITEMS];
                        }
                }
            }
        }

#pragma unroll
        for (unsigned int i = 0; i < TM; i++) {
            const size_t row = here.row + lane_row + i * 4;
            COARSEN_TYPE *const p = of.p + here.product * of.p_step + row * of.ldp;
            if (row >= of.rows)
                break;
#pragma unroll
            for (unsigned int v = 0; v < TN; v += 4) {
                const size_t col = here.col + lane_col + v * 8;
                if (of.wide && col + 4 <= of.cols) {
                    COARSEN_(vector) *const to = (COARSEN_(vector) *)(p + col);
                    COARSEN_(vector) result = {};
                    if (of.beta != (COARSEN_TYPE)0)
                        result = *to;
#pragma unroll
                    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                        COARSEN_SHAPE_(write)(&result.item[j], sum[i][v + j % 4], &of);
                    *to = result;
                } else {
#pragma unroll
                    for (unsigned int j = 0; j < 4; j++)
                        if (col + j < of.cols)
                            COARSEN_SHAPE_(write)(p + col + j, sum[i][v + j], &of);
                }
            }
        }
    }
}

#ifndef __CUDACC_RTC__
// Batches whose arguments are sound, by so many multiprocessors with so much shared memory per block.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_on)(size_t processors, size_t shared_limit,
                                                   COARSEN_SHAPE_(batch) of, cudaStream_t stream)
{
    const size_t shared_bytes = COARSEN_SHAPE_(shared_bytes);
    const size_t reserved = 1024,
                 most = 512 / COARSEN_THREADS; // bytes of shared memory per block; blocks
    const size_t room = (shared_limit + reserved) / (shared_bytes + reserved);
    if (room == 0)
        return cudaErrorNotSupported;
    const size_t across = coarsen_ceil_div(of.cols, COARSEN_BN);
    const size_t down = coarsen_ceil_div(of.rows, BM);
    if (down > 0x7fffffff / across)
        return cudaErrorInvalidValue;
    of.across = (unsigned int)across, of.tiles = (unsigned int)(down * across);
    of.steps = coarsen_ceil_div(of.inner, BK);
    of.vectors = (((size_t)of.m | (size_t)of.n) % 16 |
                  (of.ldm | of.m_step | of.ldn | of.n_step) * sizeof(COARSEN_TYPE) % 16) == 0;
    of.wide = (size_t)of.p % 16 == 0 && (of.ldp | of.p_step) * sizeof(COARSEN_TYPE) % 16 == 0;
    size_t blocks = processors * coarsen_min(room, most);
    if (of.count < blocks) // whose product with the tiles may overflow
        blocks = coarsen_min(of.count * of.tiles, blocks);
    of.next_product = blocks / of.tiles;
    of.next_tile = (unsigned int)(blocks % of.tiles);
    const cudaLaunchConfig_t config =
        coarsen_launch_config(blocks, COARSEN_THREADS, shared_bytes, stream);
    const cudaError_t status =
        coarsen_let_share((const void *)COARSEN_SHAPE_(kernel), shared_bytes, 0);
    return status == cudaSuccess ? cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), of) : status;
}

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_batch)(
    size_t count, size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha, const COARSEN_TYPE *m,
    size_t ldm, size_t m_step, const COARSEN_TYPE *n, size_t ldn, size_t n_step, COARSEN_TYPE beta,
    COARSEN_TYPE *p, size_t ldp, size_t p_step, cudaStream_t stream)
{
    if (alpha == (COARSEN_TYPE)0)
        inner = 0;
    if (count == 0 || rows == 0 || cols == 0)
        return cudaSuccess;
    if (!COARSEN_(matrices_ok)(m, count, m_step, rows, inner, ldm) ||
        !COARSEN_(matrices_ok)(n, count, n_step, inner, cols, ldn) ||
        !COARSEN_(matrices_ok)(p, count, p_step, rows, cols, ldp))
        return cudaErrorInvalidValue;
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    size_t limit = 0;
    if (status == cudaSuccess)
        limit = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &status);
    if (status != cudaSuccess)
        return status;
    COARSEN_SHAPE_(batch) of = {};
    of.count = count, of.rows = rows, of.cols = cols, of.inner = inner;
    of.m = m, of.ldm = ldm, of.m_step = m_step;
    of.n = n, of.ldn = ldn, of.n_step = n_step;
    of.alpha = alpha, of.beta = beta;
    of.p = p, of.ldp = ldp, of.p_step = p_step;
    return COARSEN_SHAPE_(launch_on)(processors, limit, of, stream);
}
#endif

#undef COARSEN_IS_4
#undef COARSEN_BN
#undef COARSEN_THREADS
#undef COARSEN_PITCH_M
#undef COARSEN_STAGE
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE // and the knobs: the next shape sets its own
#undef BM
#undef TM
#undef TN
#undef BK
#undef COARSEN_STAGES
#define COARSEN_END
#include "../base.h"
