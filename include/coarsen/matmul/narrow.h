// SPDX-License-Identifier: MIT
//
// coarsen/matmul/narrow.h: a product of few columns, which is as fast as M can be read. A block, or a part of one, makes
// some rows of P, and its threads divide the depth.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME times_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/narrow.h>
//
//     times_f32_launch(n, 1, 640, 1, in, 640, in, 1, 0, out, 1, stream); // n rows times a vector
//
// | parameter            | default   | meaning                                                     |
// |----------------------|-----------|-------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                           |
// | COARSEN_TYPE         | required  | number type of 4 or 8 bytes; or __half or __nv_bfloat16     |
// | COARSEN_ACC          | undefined | required for those two: float, the type of sums, alpha, beta |
// | COARSE_FACTOR        | 8         | vectors of M at a time, from 1 to 16                        |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column: cols x inner   |
// Defines NAME_kernel, NAME_one_kernel and NAME_short_kernel (256 threads), what block/overlap.h and block/vector.h define,
// what adds up parts of the depth that matmul.h has it make, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// The arguments, what is read and written, and the errors are those of matmul/pipelined.h. No scratch. Deterministic.
//
// Price saved: a tile of P would have columns that P has not. Here no column is made that is not there, except the last
// of four, and M is read once per four columns, 16 bytes per load, straight to registers: nothing of it is used twice.
// COARSE_FACTOR rows, or half as many of doubles, share what is loaded of N. Where rows begin anywhere, the rows of a thread
// are so far apart that they begin equally far from a multiple of 16 bytes: they have vectors at the same depths, and
// the few elements before and after these are added alone. Rows of few elements are then read by elements.
// One column is made a row at a time, of which a thread loads COARSE_FACTOR / 2 vectors; or as many rows, a vector of each.
// N is then loaded in vectors, too, if it can be.
// As many threads as the device needs to be full, or as the depth has work for, make the same rows: from 4 to a block.
// Price paid: every block reads all of N, from the caches; and the threads' sums must be added up. From 8 columns on tiles
// are faster, and of 16 bits from two on.
// Source: the gemv of BLAS, level 2 (J. Dongarra et al., 1988).

#if defined(COARSEN_M_TRANSPOSED) && !defined(COARSEN_SHAPE)
#error "coarsen/matmul: COARSEN_M_TRANSPOSED goes with matmul.h or pipelined.h"
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
#define COARSEN_SHAPE_(what)  COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))
#define COARSEN_THREADS       256
#define COARSEN_FEW           4 // columns
#define COARSEN_SUMS          (COARSE_FACTOR * COARSEN_FEW)
#define COARSEN_HALF          ((COARSE_FACTOR + 1) / 2)
#define COARSEN_ROWS          (sizeof(COARSEN_ACC) == 8 ? COARSEN_HALF : COARSE_FACTOR)
#define COARSEN_LEAST_THREADS 4 // threads for the same rows

static_assert(
    (sizeof(COARSEN_TYPE) == 2 && sizeof(COARSEN_ACC) == 4) ||
        (sizeof(COARSEN_TYPE) == sizeof(COARSEN_ACC) &&
         (sizeof(COARSEN_ACC) == 4 || sizeof(COARSEN_ACC) == 8)),
    "coarsen/matmul: narrow.h takes numbers of 4 or 8 bytes, or of 2 with COARSEN_ACC float");

enum { COARSEN_SHAPE_(tile_cols) = COARSEN_FEW };

// The operands: `rows` long rows, and `cols` few columns, whose element k, j is at few + k * step_k + j * step_j. That
// of P is at p + i * step_row + j * step_col. So the launcher of matmul.h can also have few rows and N transposed. There are
// `count` products, whose matrices are so many elements apart. One alone may be divided along the depth: into `most_parts`
// parts at the most, whose sums are left in `sums`, rows * cols elements per part, and then added up.
typedef struct {
    size_t rows, cols, inner;
    const COARSEN_TYPE *m, *few;
    size_t ldm, step_k, step_j;
    COARSEN_ACC alpha, beta;
    COARSEN_TYPE *p;
    size_t step_row, step_col;
    size_t count, m_step, few_step, p_step;
    COARSEN_ACC *sums;
    size_t most_parts;
    bool aligned; // whether rows of M begin at multiples of 16 bytes; NAME_launch_product sets it
    // What NAME_divide sets: how many parts there are, and the depth of one, in vectors.
    size_t parts, depth;
    unsigned int threads, take; // that make the same rows, and how many rows
    unsigned int apart;         // from one of these to the next
    size_t groups;              // of rows, of a product
} COARSEN_SHAPE_(product);

// Where the rows of a thread are, and its columns; how many there are, and how far apart rows are. head: elements of each
// row before its vectors, which begin at multiples of 16 bytes.
typedef struct {
    const COARSEN_TYPE *m, *few;
    unsigned int rows, cols;
    size_t apart, head, vectors;
} COARSEN_SHAPE_(lines);

// Loads `most` vectors of each row and column, of->threads apart, from v on: those before `end`. by_vector: whether columns have
// vectors, too. The numbers and by_vector are constants, and no load has a branch of its own, so that all are on their
// way at the same time.
COARSEN_INLINE void COARSEN_SHAPE_(load)(COARSEN_(vector) * of_m, COARSEN_(vector) * of_few,
                                         const COARSEN_SHAPE_(product) * of,
                                         const COARSEN_SHAPE_(lines) * lines, size_t v, size_t end,
                                         unsigned int most_rows, unsigned int most_cols,
                                         unsigned int most, bool by_vector)
{
#pragma unroll
    for (unsigned int s = 0; s < most; s++) {
        const bool there = v + s * of->threads < end;
        const size_t k = lines->head + (v + s * of->threads) * COARSEN_ITEMS;
        const COARSEN_TYPE *const m = lines->m + k, *const few = lines->few + k * of->step_k;
#pragma unroll
        for (unsigned int i = 0; i < most_rows; i++)
            if (there && i < lines->rows)
                of_m[s * most_rows + i] =
                    COARSEN_(load_once)((const COARSEN_(vector) *)(m + i * lines->apart));
#pragma unroll
        for (unsigned int j = 0; j < most_cols; j++) {
            const COARSEN_TYPE *const from = few + j * of->step_j;
            if (by_vector && there && j < lines->cols)
                of_few[s * most_cols + j] = COARSEN_(load_vector)((const COARSEN_(vector) *)from);
#pragma unroll
            for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                if (!by_vector && there && j < lines->cols)
                    of_few[s * most_cols + j].item[q] = from[q * of->step_k];
        }
    }
}

// What a block does, for so many rows and columns at the most, and so many vectors of each row at a time, which are
// constants.
COARSEN_INLINE void COARSEN_SHAPE_(make)(const COARSEN_SHAPE_(product) * of, COARSEN_ACC *sums,
                                         unsigned int most_rows, unsigned int most_cols,
                                         unsigned int most)
{
    const unsigned int count = most_rows * most_cols;
    const unsigned int group = threadIdx.x / of->threads, thread = threadIdx.x % of->threads;
    const size_t all_groups = of->groups * of->count; // the last block has threads for more
    // Blocks that make other columns of the same rows are neighbours, so that they find M in the L2 cache.
    const unsigned int strips = (unsigned int)coarsen_ceil_div(of->cols, most_cols);
    const size_t at = blockIdx.x / strips * (size_t)(COARSEN_THREADS / of->threads) + group;
    const size_t mine = coarsen_min(at, all_groups - 1);
    const size_t product = of->count > 1 ? mine / of->groups : 0;
    // Its rows are neighbours, or COARSEN_ITEMS apart.
    const size_t in_product = mine - product * of->groups;
    const size_t first = of->apart == 1 ? in_product * of->take
                                        : in_product / COARSEN_ITEMS * COARSEN_ITEMS * of->take +
                                              in_product % COARSEN_ITEMS;
    const size_t col = blockIdx.x % strips * most_cols, part = blockIdx.y;
    COARSEN_SHAPE_(lines) lines;
    lines.m = of->m + product * of->m_step + first * of->ldm;
    lines.few = of->few + product * of->few_step + col * of->step_j;
    const size_t left = first < of->rows ? of->rows - first : 0;
    lines.rows = (unsigned int)coarsen_min(
        of->apart == 1 ? left : coarsen_ceil_div(left, COARSEN_ITEMS), of->take);
    lines.cols = (unsigned int)coarsen_min(of->cols - col, most_cols);
    lines.apart = of->apart * of->ldm;
    // Rows that begin equally far from a multiple of 16 bytes have vectors; others only elements.
    const bool alike = of->aligned || of->apart > 1 || of->take == 1;
    const COARSEN_(parts) split = COARSEN_(split)(lines.m, of->inner);
    lines.head = alike ? split.head : 0;
    lines.vectors = alike ? split.vectors : 0;
    const bool by_vector = of->step_k == 1 && (most_cols == 1 || of->step_j % COARSEN_ITEMS == 0) &&
                           (size_t)(lines.few + lines.head) % 16 == 0;
    const size_t end = coarsen_min(lines.vectors, (part + 1) * of->depth);

    COARSEN_ACC sum[COARSEN_SUMS] = {};
    for (size_t v = part * of->depth + thread; v < end; v += most * of->threads) {
        // What is not there is 0.
        COARSEN_(vector) of_m[COARSE_FACTOR] = {}, of_few[COARSEN_SUMS] = {};
        if (by_vector) {
            COARSEN_SHAPE_(load)
            (of_m, of_few, of, &lines, v, end, most_rows, most_cols, most, true);
        } else {
            COARSEN_SHAPE_(load)
            (of_m, of_few, of, &lines, v, end, most_rows, most_cols, most, false);
        }
#pragma unroll
        for (unsigned int s = 0; s < most; s++)
#pragma unroll
            for (unsigned int i = 0; i < most_rows; i++)
#pragma unroll
                for (unsigned int j = 0; j < most_cols; j++)
#pragma unroll
                    for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                        sum[i * most_cols + j] += (COARSEN_ACC)of_m[s * most_rows + i].item[q] *
                                                  (COARSEN_ACC)of_few[s * most_cols + j].item[q];
    }

    // The elements before and after the vectors.
    const size_t in_vectors = lines.vectors * COARSEN_ITEMS,
                 rest = part == 0 ? of->inner - in_vectors : 0;
#pragma unroll 2
    for (size_t r = thread; r < rest; r += of->threads) {
        const size_t k = r < lines.head ? r : r + in_vectors;
        COARSEN_ACC of_few[COARSEN_FEW];
#pragma unroll
        for (unsigned int j = 0; j < most_cols; j++)
            of_few[j] = j < lines.cols ? (COARSEN_ACC)lines.few[k * of->step_k + j * of->step_j]
                                       : (COARSEN_ACC)0;
#pragma unroll
        for (unsigned int i = 0; i < most_rows; i++) {
            const COARSEN_ACC of_m =
                i < lines.rows ? (COARSEN_ACC)lines.m[i * lines.apart + k] : (COARSEN_ACC)0;
#pragma unroll
            for (unsigned int j = 0; j < most_cols; j++)
                sum[i * most_cols + j] += of_m * of_few[j];
        }
    }

    // The lanes' sums are added up. In each step a lane gives half of what it has away, and adds what another lane has of
    // the other half. So a warp takes 31 shuffles, for 32 sums, and not 32 times 5. (Loops of constant length: else the
    // compiler keeps the sums in memory.)
    // A lane's sums, where they begin, and lanes that have the same ones. now: as have, but constant in each step.
    unsigned int have = count, place = 0, copies = 0, now = count;
#pragma unroll
    for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
        const bool upper = threadIdx.x & lanes, halves = now % 2 == 0;
        now = halves ? now / 2 : now;
        if (lanes >= of->threads) // the same for all
            continue;
        have = now;
        place += halves && upper ? now : 0;
        copies |= halves ? 0 : lanes;
#pragma unroll
        for (unsigned int e = 0; e < count; e++)
            if (e < now) {
                const COARSEN_ACC other = halves ? sum[(now + e) % count] : sum[e];
                const COARSEN_ACC give = upper ? sum[e] : other, keep = upper ? other : sum[e];
                sum[e] = keep + __shfl_xor_sync(0xffffffff, give, (int)lanes);
            }
    }
    const unsigned int together = coarsen_min(of->threads, 32); // whose sums are one now
    if ((threadIdx.x & copies) == 0)
#pragma unroll
        for (unsigned int e = 0; e < count; e++)
            if (e < have)
                sums[threadIdx.x / together * count + place + e] = sum[e];
    __syncthreads();
    if (at >= all_groups)
        return;
    const unsigned int parts = of->threads / together;
    const COARSEN_ACC *const of_parts = sums + group * parts * count;
    for (unsigned int e = thread; e < count; e += of->threads) {
        const unsigned int i = e / most_cols, j = e % most_cols;
        COARSEN_ACC all = 0;
        for (unsigned int w = 0; w < parts; w++)
            all += of_parts[w * count + e];
        const size_t row = first + i * of->apart;
        if (i >= lines.rows || j >= lines.cols)
            continue;
        COARSEN_TYPE *const to =
            of->p + product * of->p_step + row * of->step_row + (col + j) * of->step_col;
        if (of->parts > 1)
            of->sums[(part * of->rows + row) * of->cols + col + j] = of->alpha * all;
        else
            COARSEN_(write_one)(to, of->alpha * all, of->beta);
    }
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, 2)
    COARSEN_SHAPE_(kernel)(COARSEN_SHAPE_(product) of)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_THREADS / COARSEN_LEAST_THREADS * COARSEN_SUMS);
    COARSEN_SHAPE_(make)(&of, sums, COARSEN_ROWS, COARSEN_FEW, 1);
}

// For one column: a row; or some rows, a vector of each.
COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, 3)
    COARSEN_SHAPE_(one_kernel)(COARSEN_SHAPE_(product) of)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_THREADS / COARSEN_LEAST_THREADS);
    COARSEN_SHAPE_(make)(&of, sums, 1, 1, COARSEN_HALF);
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, 3)
    COARSEN_SHAPE_(short_kernel)(COARSEN_SHAPE_(product) of)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_THREADS / COARSEN_LEAST_THREADS * COARSEN_HALF);
    COARSEN_SHAPE_(make)(&of, sums, COARSEN_HALF, 1, 1);
}

#ifndef __CUDACC_RTC__
// Tries so many threads, rows and parts. Keeps what costs least.
COARSEN_HOST void COARSEN_SHAPE_(consider)(COARSEN_SHAPE_(product) * best, double *least,
                                           unsigned int threads, unsigned int take, size_t parts,
                                           size_t processors)
{
    // Multiplications per step of a block through the depth, for one column or for more; of these also per row, and per
    // column, where lanes load different ones of N; and so much more if few threads read long rows. To begin and end a block,
    // in such steps; what blocks wait that no others hide, and how many run at a time; and to add up parts, and per element
    // of these.
    const bool one = best->cols == 1, wide = sizeof(COARSEN_ACC) == 8;
    const double step = one    ? 5.7e4
                        : wide ? 4.2e4
                               : 8.4e4,
                 step_row = one ? 0 : 3e3, step_col = one ? 0 : 4e3, scattered = one ? 3.6 : 0.6,
                 begin = (wide ? 1.8 : 1) * (best->count > 1 ? 2.5 : 1), lone = one ? 1.1 : 1.3,
                 add = 4.3e5, add_element = 250;
    const size_t resident = one ? 3 : 2;
    COARSEN_SHAPE_(product) of = *best;
    const size_t late =
        of.aligned ? 0 : COARSEN_ITEMS - 1; // elements, at the most, before a row begins
    const size_t vectors = coarsen_ceil_div(of.inner + late, COARSEN_ITEMS);
    of.threads = threads, of.take = take;
    of.apart = of.aligned || of.inner < 16 * COARSEN_ITEMS ? 1 : COARSEN_ITEMS;
    of.groups = of.apart * coarsen_ceil_div(of.rows, of.apart * (size_t)take);
    of.depth = coarsen_ceil_div(vectors, parts);
    of.parts = vectors == 0 ? 1 : coarsen_ceil_div(vectors, of.depth);
    if (of.parts > 1 && of.parts > of.most_parts)
        return;
    const size_t blocks = coarsen_ceil_div(of.groups * of.count, COARSEN_THREADS / threads) *
                          coarsen_ceil_div(of.cols, COARSEN_FEW) * of.parts;
    const size_t each = coarsen_ceil_div(blocks, processors);
    const size_t steps =
        coarsen_ceil_div(of.depth, one && take == 1 ? threads * COARSEN_HALF : threads);
    const double columns =
        (double)coarsen_min(of.cols, COARSEN_FEW) * (double)coarsen_min(threads, 32) / 32;
    double cost = ((double)each + lone * (double)coarsen_ceil_div(each, resident)) *
                  ((double)steps + begin) * (step + step_row * (double)take + step_col * columns);
    if (of.cols > COARSEN_FEW) // M comes from the L2 cache again
        cost *= 1.25;
    // Each element of N is in a sector of its own, which rows share, and lanes of other rows.
    if (one && of.step_k > 1)
        cost *= 1 + (take == 1 ? COARSEN_HALF : 1) * 0.5 * (double)coarsen_min(threads, 32) / 32;
    if (steps > 1)
        cost *= 1 + scattered * (double)take / (double)(threads * threads);
    // As fast as memory gives M, so many per 4 bytes: where more threads do as well, they read longer pieces.
    const double bytes = (double)(of.rows * of.inner * of.count) * sizeof(COARSEN_TYPE);
    const double memory = 23.0 / 4 * bytes / (double)processors;
    cost = cost > memory ? cost : memory;
    if (of.parts > 1)
        cost += add + (double)(of.parts * of.rows * of.cols) * add_element / (double)processors;
    if (*least == 0 || cost < *least)
        *least = cost, *best = of;
}

// Divides a product, and returns the cost, in multiplications of a multiprocessor. From a block to few threads make the same
// rows. These are fewer where else there would be less than two blocks per multiprocessor; or there are as many parts of the
// depth.
COARSEN_HOST double COARSEN_SHAPE_(divide)(COARSEN_SHAPE_(product) * of, size_t processors)
{
    double least = 0;
    const bool one = of->cols == 1;
    const size_t wanted = 2 * processors;
    const size_t cols = coarsen_ceil_div(of->cols, COARSEN_FEW);
    for (unsigned int threads = COARSEN_THREADS; threads >= COARSEN_LEAST_THREADS; threads /= 2) {
        const size_t together = COARSEN_THREADS / threads; // groups of rows, in a block
        unsigned int take = one ? COARSEN_HALF : COARSEN_ROWS;
        COARSEN_SHAPE_(consider)(of, &least, threads, take, 1, processors);
        if (one)
            take = 1;
        const size_t blocks = coarsen_ceil_div(coarsen_ceil_div(of->rows, take), together) * cols;
        // Each thread has a step at the least.
        const size_t a_step = (size_t)threads * COARSEN_ITEMS * (one ? COARSEN_HALF : 1);
        const size_t parts =
            of->count > 1 ? 1 : coarsen_min(wanted / blocks, coarsen_ceil_div(of->inner, a_step));
        if (parts > 1)
            COARSEN_SHAPE_(consider)(of, &least, threads, take, parts, processors);
        while (take > 1 &&
               coarsen_ceil_div(coarsen_ceil_div(of->rows, take) * of->count, together) * cols <
                   wanted)
            take /= 2;
        if (one || take < COARSEN_ROWS)
            COARSEN_SHAPE_(consider)(of, &least, threads, take, 1, processors);
    }
    return least;
}

// A product that is divided.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_divided)(COARSEN_SHAPE_(product) of,
                                                        cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    const size_t strips = coarsen_ceil_div(of.cols, COARSEN_FEW);
    const size_t blocks = coarsen_ceil_div(of.groups * of.count, COARSEN_THREADS / of.threads);
    if (of.count > (size_t)-1 / of.groups || blocks > 0x7fffffff / strips)
        return cudaErrorInvalidValue;
    cudaLaunchConfig_t config = coarsen_launch_config(blocks * strips, COARSEN_THREADS, 0, stream);
    config.gridDim.y = (unsigned int)of.parts;
    status = cudaLaunchKernelEx(&config,
                                of.cols > 1   ? COARSEN_SHAPE_(kernel)
                                : of.take > 1 ? COARSEN_SHAPE_(short_kernel)
                                              : COARSEN_SHAPE_(one_kernel),
                                of);
    const COARSEN_(sums) sums = {of.rows,  of.cols, of.rows, of.cols, 0,           1,
                                 of.parts, of.sums, of.beta, of.p,    of.step_row, of.step_col};
    return status != cudaSuccess || of.parts == 1 ? status : COARSEN_(launch_add)(sums, stream);
}

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_product)(COARSEN_SHAPE_(product) of,
                                                        cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status != cudaSuccess)
        return status;
    of.aligned = ((size_t)of.m | (of.ldm | of.m_step) * sizeof(COARSEN_TYPE)) % 16 == 0;
    COARSEN_SHAPE_(divide)(&of, processors);
    return COARSEN_SHAPE_(launch_divided)(of, stream);
}

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch)(size_t rows, size_t cols, size_t inner,
                                                COARSEN_ACC alpha, const COARSEN_TYPE *m,
                                                size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                                                COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
                                                cudaStream_t stream)
{
    if (alpha == (COARSEN_ACC)0)
        inner = 0;
    size_t blocks = 0;
    const cudaError_t status = COARSEN_(count_tiles)(&blocks, COARSE_FACTOR, cols > 0 ? cols : 1,
                                                     rows, cols, inner, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess || blocks == 0)
        return status;
#ifdef COARSEN_N_TRANSPOSED
    const size_t step_k = 1, step_j = ldn;
#else
    const size_t step_k = ldn, step_j = 1;
#endif
    const COARSEN_SHAPE_(product)
        of = {rows, cols, inner, m, n,    ldm, step_k, step_j, alpha, beta, p, ldp, 1,
              1,    0,    0,     0, NULL, 1,   false,  0,      0,     0,    0, 0,   0};
    return COARSEN_SHAPE_(launch_product)(of, stream);
}
#endif

#undef COARSEN_THREADS
#undef COARSEN_FEW
#undef COARSEN_SUMS
#undef COARSEN_HALF
#undef COARSEN_ROWS
#undef COARSEN_LEAST_THREADS
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE
#undef COARSE_FACTOR
#define COARSEN_END
#include "../base.h"
