// SPDX-License-Identifier: MIT
//
// coarsen/matmul/flat.h: a product of few rows, which is as fast as N can be read. A block makes some columns of up to
// four rows of P, and its threads divide the columns and the depth.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME times_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/flat.h>
//
//     times_f32_launch(1, n, 640, 1, in, 640, in, n, 0, out, n, stream); // a vector times n columns
//
// | parameter            | default   | meaning                                                     |
// |----------------------|-----------|-------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                           |
// | COARSEN_TYPE         | required  | number type of 4 or 8 bytes, also of alpha and beta         |
// | COARSE_FACTOR        | 8         | rows of N that a thread loads at a time, from 1 to 16       |
// | COARSEN_M_TRANSPOSED | undefined | if defined, M is stored column after column: inner x rows   |
// Defines NAME_kernel (256 threads), what block/vector.h defines, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// The arguments, what is read and written, and the errors are those of matmul/pipelined.h. No scratch. Deterministic.
//
// Price saved: a tile of P would have rows that P has not. Here N is read once per four rows, 16 bytes per load (if its
// rows begin at multiples of 16 bytes), straight to registers: nothing of it is used twice. It is the mirror of narrow.h,
// for a long operand whose neighbours in memory are neighbouring columns of P. Therefore a thread has columns of its own,
// and no lane needs another one's sums.
// As many threads of a block divide the depth as it takes to fill the device with blocks.
// Price paid: these threads' sums must be added up, and each block reads all of M, from the caches. Two or
// three rows take the multiplications of four.
// Source: the gemv of BLAS, level 2 (J. Dongarra et al., 1988), of the transposed matrix.

#if defined(COARSEN_N_TRANSPOSED) && !defined(COARSEN_SHAPE)
#error "coarsen/matmul: COARSEN_N_TRANSPOSED goes with matmul.h, pipelined.h or narrow.h"
#endif
#if defined(COARSEN_ACC) && !defined(COARSEN_DEPTH)
#error "coarsen/matmul: COARSEN_ACC goes with tensor16.h, register_tiled.h and the rungs before it"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/vector.h"

#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/matmul: COARSE_FACTOR must be from 1 to 16"
#endif
#ifndef COARSEN_SHAPE // a part of the names, as in pipelined.h
#define COARSEN_SHAPE
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))
#define COARSEN_THREADS      256
#define COARSEN_FEW          4 // rows
#define COARSEN_LEAST_ACROSS 4 // threads, which read 64 bytes of a row of N

static_assert(sizeof(COARSEN_TYPE) == 4 || sizeof(COARSEN_TYPE) == 8,
              "coarsen/matmul: flat.h takes numbers of 4 or 8 bytes");

enum {
    COARSEN_SHAPE_(tile_rows) = COARSEN_FEW,
    COARSEN_SHAPE_(threads) = COARSEN_THREADS,
    COARSEN_SHAPE_(take) = COARSE_FACTOR // depths at once, per thread
};

// The operands: `rows` few rows, whose element i, k is at few + k * step_k + i * step_i, and `cols` columns, whose
// elements of one depth are neighbours. Element i, j of P is at p + i * step_row + j * step_col. So the launcher of
// matmul.h can also have few columns and M transposed. There are `count` products, whose matrices are so many elements
// apart.
typedef struct {
    size_t rows, cols, inner;
    const COARSEN_TYPE *n, *few;
    size_t ldn, step_k, step_i;
    COARSEN_TYPE alpha, beta;
    COARSEN_TYPE *p;
    size_t step_row, step_col;
    size_t count, n_step, few_step, p_step;
    unsigned int across; // threads of a block for other columns; NAME_divide sets it
} COARSEN_SHAPE_(product);

// Where a thread begins: its columns of N, which are so far apart, and its first depth, of so many threads'.
typedef struct {
    size_t col, apart;
    unsigned int depth, deep;
} COARSEN_SHAPE_(place);

// Adds to a thread's sums the products of its part of the depth, of `rows` of `most` rows. `most` is a constant: with one
// row there is little else to do than to load.
COARSEN_INLINE void COARSEN_SHAPE_(add)(COARSEN_(vector) * sum, const COARSEN_SHAPE_(product) * of,
                                        COARSEN_SHAPE_(place) place, unsigned int most,
                                        unsigned int rows)
{
    const bool whole = place.apart == 1 && place.col + COARSEN_ITEMS <= of->cols;
    size_t k = place.depth, few = k * of->step_k;
    while (k < of->inner) {
        // What is not there is 0, and not what is at another place: that may be NaN.
        COARSEN_(vector) of_n[COARSE_FACTOR];
        size_t at = k * of->ldn + place.col;
#pragma unroll
        for (unsigned int s = 0; s < COARSE_FACTOR; s++) {
            const bool there = k + s * place.deep < of->inner;
            if (whole && there)
                of_n[s] = COARSEN_(load_once)((const COARSEN_(vector) *)(of->n + at));
            else
#pragma unroll
                for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                    of_n[s].item[q] = there && place.col + q * place.apart < of->cols
                                          ? of->n[at + q * place.apart]
                                          : (COARSEN_TYPE)0;
            at += place.deep * of->ldn;
        }
#pragma unroll
        for (unsigned int s = 0; s < COARSE_FACTOR; s++) {
#pragma unroll
            for (unsigned int i = 0; i < most; i++) {
                const COARSEN_TYPE x =
                    i < rows && k < of->inner ? of->few[few + i * of->step_i] : (COARSEN_TYPE)0;
#pragma unroll
                for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                    sum[i].item[q] += x * of_n[s].item[q];
            }
            k += place.deep, few += place.deep * of->step_k;
        }
    }
}

// Two blocks per multiprocessor: they leave registers enough to have all loads of a step under way, those of M too. (Where
// the compiler is not told so, it takes fewer, and the loads of M wait for each other.)
COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, 2)
    COARSEN_SHAPE_(kernel)(COARSEN_SHAPE_(product) of)
{
    COARSEN_SHARED(COARSEN_(vector), sums, COARSEN_THREADS * COARSEN_FEW);
    const unsigned int deep = COARSEN_THREADS / of.across, width = of.across * COARSEN_ITEMS;
    // A thread takes 16 bytes of a row; or, where rows begin anywhere, as many elements, but threads take neighbours.
    const bool vectors = ((size_t)of.n | (of.ldn | of.n_step) * sizeof(COARSEN_TYPE)) % 16 == 0;
    const size_t step = vectors ? COARSEN_ITEMS : 1, apart = vectors ? 1 : of.across;
    const size_t first = (size_t)blockIdx.x * width, row = blockIdx.y * COARSEN_FEW;
    const unsigned int rows = (unsigned int)coarsen_min(of.rows - row, COARSEN_FEW);
    const COARSEN_SHAPE_(place)
        place = {first + threadIdx.x % of.across * step, apart, threadIdx.x / of.across, deep};
    of.n += blockIdx.z * of.n_step;
    of.few += blockIdx.z * of.few_step + row * of.step_i;
    of.p += blockIdx.z * of.p_step;
    COARSEN_(vector) sum[COARSEN_FEW] = {};
    if (rows == 1) {
        COARSEN_SHAPE_(add)(sum, &of, place, 1, 1);
    } else {
        COARSEN_SHAPE_(add)(sum, &of, place, COARSEN_FEW, rows);
    }

    // The sums of threads with the same columns are added up, in order.
#pragma unroll
    for (unsigned int i = 0; i < COARSEN_FEW; i++)
        if (i < rows)
            sums[i * COARSEN_THREADS + threadIdx.x] = sum[i];
    __syncthreads();
    for (unsigned int e = threadIdx.x; e < rows * width; e += COARSEN_THREADS) {
        const unsigned int i = e / width, thread = e % width / COARSEN_ITEMS, q = e % COARSEN_ITEMS;
        const size_t j = first + thread * step + q * apart;
        COARSEN_TYPE all = 0;
        for (unsigned int part = 0; part < deep; part++)
            all += sums[i * COARSEN_THREADS + part * of.across + thread].item[q];
        COARSEN_TYPE *const to = of.p + (row + i) * of.step_row + j * of.step_col;
        if (j < of.cols)
            *to = of.beta == (COARSEN_TYPE)0 ? of.alpha * all : of.alpha * all + of.beta * *to;
    }
}

#ifndef __CUDACC_RTC__
// How many threads lie across: half as many, as long as columns are too few for them; or as there are less than two blocks
// per multiprocessor, and the depth has COARSE_FACTOR rows of N for each of twice as many threads.
COARSEN_HOST void COARSEN_SHAPE_(divide)(COARSEN_SHAPE_(product) * of, size_t processors)
{
    const size_t rows = coarsen_ceil_div(of->rows, COARSEN_FEW) * of->count;
    of->across = COARSEN_THREADS;
    while (of->across > COARSEN_LEAST_ACROSS &&
           (of->cols <= of->across / 2 * COARSEN_ITEMS ||
            (coarsen_ceil_div(of->cols, of->across * COARSEN_ITEMS) * rows < 2 * processors &&
             of->inner >= COARSEN_THREADS / of->across * 2 * COARSE_FACTOR)))
        of->across /= 2;
}

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_product)(COARSEN_SHAPE_(product) of,
                                                        cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    COARSEN_SHAPE_(divide)(&of, processors);
    const size_t most_products = 65535, most = 65535 * COARSEN_FEW; // of a launch
    const size_t blocks = coarsen_ceil_div(of.cols, of.across * COARSEN_ITEMS);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    cudaLaunchConfig_t config = coarsen_launch_config(blocks, COARSEN_THREADS, 0, stream);
    for (size_t left = of.count; left > 0 && status == cudaSuccess; left -= of.count) {
        of.count = coarsen_min(left, most_products);
        config.gridDim.z = (unsigned int)of.count;
        COARSEN_SHAPE_(product) some = of;
        for (size_t rows = of.rows; rows > 0 && status == cudaSuccess; rows -= some.rows) {
            some.rows = coarsen_min(rows, most);
            config.gridDim.y = (unsigned int)coarsen_ceil_div(some.rows, COARSEN_FEW);
            status = cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), some);
            some.few += some.rows * of.step_i;
            some.p += some.rows * of.step_row;
        }
        of.n += of.count * of.n_step;
        of.few += of.count * of.few_step;
        of.p += of.count * of.p_step;
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
        COARSEN_(count_tiles)(&blocks, COARSEN_FEW, COARSEN_LEAST_ACROSS * COARSEN_ITEMS, rows,
                              cols, inner, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess || blocks == 0)
        return status;
#ifdef COARSEN_M_TRANSPOSED
    const size_t step_k = ldm, step_i = 1;
#else
    const size_t step_k = 1, step_i = ldm;
#endif
    const COARSEN_SHAPE_(product)
        of = {rows, cols, inner, n, m, ldn, step_k, step_i, alpha, beta, p, ldp, 1, 1, 0, 0, 0, 0};
    return COARSEN_SHAPE_(launch_product)(of, stream);
}
#endif

#undef COARSEN_THREADS
#undef COARSEN_FEW
#undef COARSEN_LEAST_ACROSS
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE
#undef COARSE_FACTOR
#define COARSEN_END
#include "../base.h"
