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
// Defines NAME_kernel and NAME_one_kernel (256 threads), what block/overlap.h and block/vector.h define, what adds up parts of
// the depth that matmul.h has it make, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_TYPE alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_TYPE beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// The arguments, what is read and written, and the errors are those of matmul/pipelined.h. No scratch. Deterministic.
//
// Price saved: a tile of P would have rows that P has not. Here N is read once per four rows, 16 bytes per load, straight
// to registers: nothing of it is used twice. It is the mirror of narrow.h, for a long operand whose neighbours in memory
// are neighbouring columns of P. Therefore a thread has columns of its own, and no lane needs another one's sums.
// Where rows begin anywhere, all rows of one thread begin equally far from a multiple of 16 bytes: it loads whole
// vectors, and its columns are shifted by as much.
// A block is as wide as it takes to have two per multiprocessor, and the rest of its threads divide the depth.
// Price paid: these threads' sums must be added up, and each block reads all of M, from the caches. Two or
// three rows take the multiplications of four.
// Source: the gemv of BLAS, level 2 (J. Dongarra et al., 1988), of the transposed matrix.

#if defined(COARSEN_N_TRANSPOSED) && !defined(COARSEN_SHAPE)
#error "coarsen/matmul: COARSEN_N_TRANSPOSED goes with matmul.h, pipelined.h or narrow.h"
#endif
#if defined(COARSEN_ACC) && !defined(COARSEN_DEPTH)
#error "coarsen/matmul: COARSEN_ACC goes with matmul.h, which chooses a rung that takes it"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/overlap.h"
#include "../block/vector.h"
#include "launch.h"

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

enum { COARSEN_SHAPE_(tile_rows) = COARSEN_FEW };

// The operands: `rows` few rows, whose element i, k is at few + k * step_k + i * step_i, and `cols` columns, whose
// elements of one depth are neighbours. Element i, j of P is at p + i * step_row + j * step_col. So the launcher of
// matmul.h can also have few columns and M transposed. There are `count` products, whose matrices are so many elements
// apart. One alone may be divided along the depth: into `most_parts` parts at the most, whose sums are left in `sums`, rows *
// cols elements per part, and then added up.
typedef struct {
    size_t rows, cols, inner;
    const COARSEN_TYPE *n, *few;
    size_t ldn, step_k, step_i;
    COARSEN_TYPE alpha, beta;
    COARSEN_TYPE *p;
    size_t step_row, step_col;
    size_t count, n_step, few_step, p_step;
    COARSEN_TYPE *sums;
    size_t most_parts;
    bool aligned; // whether rows of N begin at multiples of 16 bytes; NAME_launch_product sets it
    // What NAME_divide sets: how many parts there are, and the depth of one.
    size_t parts, depth;
    // Of a block: threads for different columns, and for different depths; and its columns.
    unsigned int across, deep, width;
} COARSEN_SHAPE_(product);

// Where a thread begins: its columns of N, of which the first ones are before the matrix if this is above `cols`; and its
// depths, from the first to before the end.
typedef struct {
    size_t col, depth, end;
} COARSEN_SHAPE_(place);

// Adds to a thread's sums the products of its part of the depth, of `rows` of `most` rows. `most` is a constant, as is
// `take`, how many rows of N are on their way.
COARSEN_INLINE void COARSEN_SHAPE_(add)(COARSEN_(vector) * sum, const COARSEN_SHAPE_(product) * of,
                                        COARSEN_SHAPE_(place) place, unsigned int most,
                                        unsigned int rows, unsigned int take)
{
    const bool whole = place.col < of->cols && of->cols - place.col >= COARSEN_ITEMS;
    size_t k = place.depth, few = k * of->step_k;
    while (k < place.end) {
        // What is not there is 0, and not what is at another place: that may be NaN. One branch for all loads, so that they
        // are on their way at the same time.
        COARSEN_(vector) of_n[COARSE_FACTOR] = {};
        size_t at = k * of->ldn + place.col;
        if (whole) {
#pragma unroll
            for (unsigned int s = 0; s < take; s++, at += of->deep * of->ldn)
                if (k + s * of->deep < place.end)
                    of_n[s] = COARSEN_(load_once)((const COARSEN_(vector) *)(of->n + at));
        } else {
#pragma unroll
            for (unsigned int s = 0; s < take; s++, at += of->deep * of->ldn)
#pragma unroll
                for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                    if (k + s * of->deep < place.end && place.col + q < of->cols)
                        of_n[s].item[q] = of->n[at + q];
        }
#pragma unroll
        for (unsigned int s = 0; s < take; s++) {
#pragma unroll
            for (unsigned int i = 0; i < most; i++) {
                const COARSEN_TYPE x =
                    i < rows && k < place.end ? of->few[few + i * of->step_i] : (COARSEN_TYPE)0;
#pragma unroll
                for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                    sum[i].item[q] += x * of_n[s].item[q];
            }
            k += of->deep, few += of->deep * of->step_k;
        }
    }
}

// What a block does, for so many rows at the most, which is a constant.
COARSEN_INLINE void COARSEN_SHAPE_(make)(COARSEN_SHAPE_(product) of, COARSEN_TYPE *sums,
                                         unsigned int most)
{
    // Several rows of doubles leave registers for fewer loads.
    const unsigned int take =
        most > 1 && sizeof(COARSEN_TYPE) == 8 ? (3 * COARSE_FACTOR + 3) / 4 : COARSE_FACTOR;
    // Blocks that make other rows of the same columns are neighbours, so that they find N in the L2 cache.
    const unsigned int strips = (unsigned int)coarsen_ceil_div(of.rows, most);
    const size_t first = blockIdx.x / strips * (size_t)of.width, row = blockIdx.x % strips * most;
    const unsigned int rows = (unsigned int)coarsen_min(of.rows - row, most);
    const unsigned int across = threadIdx.x % of.across, down = threadIdx.x / of.across;
    size_t part = 0;
    if (of.parts > 1) {
        part = blockIdx.y;
    } else {
        of.n += blockIdx.y * of.n_step;
        of.few += blockIdx.y * of.few_step;
        of.p += blockIdx.y * of.p_step;
    }
    of.few += row * of.step_i;
    COARSEN_SHAPE_(place) place;
    place.depth = part * of.depth + down;
    place.end = coarsen_min(of.inner, part * of.depth + of.depth);
    // How far after a multiple of 16 bytes the block's first column is, in all rows of this thread.
    const size_t before = (size_t)of.n / sizeof(COARSEN_TYPE) + place.depth * of.ldn + first;
    const unsigned int shift = (unsigned int)(before % COARSEN_ITEMS);
    place.col = first + across * COARSEN_ITEMS - shift;
    COARSEN_(vector) sum[COARSEN_FEW] = {};
    if (down < of.deep) {
        COARSEN_SHAPE_(add)(sum, &of, place, most, rows, take);
        // The sums of threads with the same columns are added up, in order.
#pragma unroll
        for (unsigned int i = 0; i < most; i++)
#pragma unroll
            for (unsigned int q = 0; q < COARSEN_ITEMS; q++) {
                const unsigned int j =
                    across * COARSEN_ITEMS + q - shift; // or, before the first one, great
                if (i < rows && j < of.width)
                    sums[(i * of.deep + down) * of.width + j] = sum[i].item[q];
            }
    }
    __syncthreads();
    for (unsigned int e = threadIdx.x; e < rows * of.width; e += COARSEN_THREADS) {
        const unsigned int i = e / of.width, j = e % of.width;
        const COARSEN_TYPE *const from = sums + i * of.deep * of.width + j;
        COARSEN_TYPE all = 0;
#pragma unroll 8
        for (unsigned int d = 0; d < of.deep; d++)
            all += from[d * of.width];
        if (first + j >= of.cols)
            continue;
        COARSEN_TYPE *const to = of.p + (row + i) * of.step_row + (first + j) * of.step_col;
        if (of.parts > 1)
            of.sums[(part * of.rows + row + i) * of.cols + first + j] = of.alpha * all;
        else
            COARSEN_(write_one)(to, of.alpha * all, of.beta);
    }
}

// Two blocks per multiprocessor: they leave registers enough to have all loads of a step under way, those of M too. (Where
// the compiler is not told so, it takes fewer, and the loads of M wait for each other.)
COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, 2)
    COARSEN_SHAPE_(kernel)(COARSEN_SHAPE_(product) of)
{
    COARSEN_SHARED(COARSEN_TYPE, sums, COARSEN_THREADS * COARSEN_ITEMS * COARSEN_FEW);
    COARSEN_SHAPE_(make)(of, sums, COARSEN_FEW);
}

// For one row: there is little else to do than to load.
COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, 3)
    COARSEN_SHAPE_(one_kernel)(COARSEN_SHAPE_(product) of)
{
    COARSEN_SHARED(COARSEN_TYPE, sums, COARSEN_THREADS * COARSEN_ITEMS);
    COARSEN_SHAPE_(make)(of, sums, 1);
}

#ifndef __CUDACC_RTC__
// Tries one width of blocks, and so many parts. Keeps what costs least.
COARSEN_HOST void COARSEN_SHAPE_(consider)(COARSEN_SHAPE_(product) * best, double *least,
                                           size_t across, size_t parts, size_t processors)
{
    // Multiplications per row of N that threads of a block load, for one row of P and for more; what of these costs as much
    // where not all threads do; so many vectors more a piece of a row costs. To begin and end a block, in such rows; what
    // blocks wait that no other one hides; and to add up parts, and per element of these.
    const bool one = best->rows == 1, wide = sizeof(COARSEN_TYPE) == 8;
    const double step = one    ? (wide ? 1.6e4 : 1.05e4)
                        : wide ? 2.4e4
                               : 1.1e4,
                 idle = 0.6, piece = 0.6, begin = (one ? 6.4 : 9) * (best->count > 1 ? 2 : 1),
                 lone = one ? 0.92 : 1.5, add = 4.3e5, add_element = 160;
    COARSEN_SHAPE_(product) of = *best;
    of.across = (unsigned int)across, of.deep = COARSEN_THREADS / of.across;
    of.width = of.across * COARSEN_ITEMS;
    if (!of.aligned) // rows that are equally far from a multiple of 16 bytes; and a vector has one column at the least
        of.deep -= of.deep % COARSEN_ITEMS, of.width -= COARSEN_ITEMS - 1;
    of.depth = coarsen_ceil_div(of.inner, parts);
    of.parts = of.depth == 0 ? 1 : coarsen_ceil_div(of.inner, of.depth);
    if (of.parts > 1 && of.parts > of.most_parts)
        return;
    const size_t blocks = coarsen_ceil_div(of.cols, of.width) *
                          coarsen_ceil_div(of.rows, COARSEN_FEW) * of.count * of.parts;
    const size_t each = coarsen_ceil_div(blocks, processors);
    const double used = (double)(of.across * of.deep) / COARSEN_THREADS;
    const double steps = (double)coarsen_ceil_div(of.depth, of.deep) *
                         (1 + piece / (double)across) * (idle + (1 - idle) * used);
    double cost =
        ((double)each + lone * (double)coarsen_ceil_div(each, 2)) * (steps + begin) * step;
    if (of.parts > 1)
        cost += add + (double)(of.parts * of.rows * of.cols) * add_element / (double)processors;
    if (*least == 0 || cost < *least)
        *least = cost, *best = of;
}

// Divides a product, and returns the cost, in multiplications of a multiprocessor. Blocks are so wide that there are two
// per multiprocessor, or four; or of other widths, and there are as many parts of the depth.
COARSEN_HOST double COARSEN_SHAPE_(divide)(COARSEN_SHAPE_(product) * of, size_t processors)
{
    double least = 0;
    const size_t strips = coarsen_ceil_div(of->rows, COARSEN_FEW) * of->count;
    const size_t vectors = coarsen_ceil_div(of->cols, COARSEN_ITEMS);
    // Rows that begin anywhere need several threads for different depths.
    const size_t most_across = of->aligned ? COARSEN_THREADS : COARSEN_THREADS / COARSEN_ITEMS;
    for (size_t waves = 1; waves <= 2; waves++) {
        const size_t blocks = coarsen_ceil_div(2 * waves * processors, strips);
        size_t across = 4 * coarsen_ceil_div(coarsen_ceil_div(vectors, blocks), 4);
        across = coarsen_min(across, most_across);
        COARSEN_SHAPE_(consider)(of, &least, across, 1, processors);
    }
    const size_t widths[] = {COARSEN_LEAST_ACROSS, 8, 16, 24, 32, 64};
    for (unsigned int w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
        const size_t across = widths[w];
        if (across > COARSEN_LEAST_ACROSS && across >= 2 * vectors)
            break; // a narrower block has all columns
        const size_t blocks = coarsen_ceil_div(vectors, across) * strips;
        // Each thread has COARSE_FACTOR depths at the least.
        const size_t a_step = COARSEN_THREADS / across * COARSE_FACTOR;
        const size_t parts = of->count > 1 ? 1
                                           : coarsen_min(2 * processors / blocks,
                                                         coarsen_ceil_div(of->inner, a_step));
        COARSEN_SHAPE_(consider)(of, &least, across, 1, processors);
        if (parts > 1)
            COARSEN_SHAPE_(consider)(of, &least, across, parts, processors);
    }
    // No faster than memory gives N: so many per 4 bytes.
    const double bytes = (double)(of->cols * of->inner * of->count) * sizeof(COARSEN_TYPE);
    const double memory = 22.5 / 4 * bytes / (double)processors;
    return least > memory ? least : memory;
}

// A product that is divided.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_divided)(COARSEN_SHAPE_(product) of,
                                                        cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    const size_t strips = coarsen_ceil_div(of.rows, COARSEN_FEW),
                 most = 65535; // products of a launch
    const size_t blocks = coarsen_ceil_div(of.cols, of.width);
    if (blocks > 0x7fffffff / strips)
        return cudaErrorInvalidValue;
    const COARSEN_(sums) sums = {of.rows,  of.cols, of.rows, of.cols, 0,           1,
                                 of.parts, of.sums, of.beta, of.p,    of.step_row, of.step_col};
    cudaLaunchConfig_t config = coarsen_launch_config(blocks * strips, COARSEN_THREADS, 0, stream);
    for (size_t left = of.count; left > 0 && status == cudaSuccess; left -= of.count) {
        of.count = coarsen_min(left, most);
        config.gridDim.y = (unsigned int)(of.parts > 1 ? of.parts : of.count);
        status = cudaLaunchKernelEx(
            &config, of.rows > 1 ? COARSEN_SHAPE_(kernel) : COARSEN_SHAPE_(one_kernel), of);
        of.n += of.count * of.n_step;
        of.few += of.count * of.few_step;
        of.p += of.count * of.p_step;
    }
    return status != cudaSuccess || of.parts == 1 ? status : COARSEN_(launch_add)(sums, stream);
}

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_product)(COARSEN_SHAPE_(product) of,
                                                        cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status != cudaSuccess)
        return status;
    of.aligned = ((size_t)of.n | (of.ldn | of.n_step) * sizeof(COARSEN_TYPE)) % 16 == 0;
    COARSEN_SHAPE_(divide)(&of, processors);
    return COARSEN_SHAPE_(launch_divided)(of, stream);
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
    COARSEN_SHAPE_(product)
    of = {rows, cols, inner, n, m,    ldn, step_k, step_i, alpha, beta, p, ldp, 1,
          1,    0,    0,     0, NULL, 1,   false,  0,      0,     0,    0, 0};
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
