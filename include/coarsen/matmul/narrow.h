// SPDX-License-Identifier: MIT
//
// coarsen/matmul/narrow.h: a product of few columns, which is as fast as M can be read. A block, or a part of one, makes
// COARSE_FACTOR rows of P, and its threads divide the depth.
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
// | COARSE_FACTOR        | 8         | rows of P at a time, at the most, from 1 to 16              |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column: cols x inner   |
// Defines NAME_kernel and NAME_one_kernel (256 threads), what block/vector.h defines, and
//     cudaError_t NAME_launch(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
//                             const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                             COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// The arguments, what is read and written, and the errors are those of matmul/pipelined.h. No scratch. Deterministic.
//
// Price saved: a tile of P would have columns that P has not. Here no column is made that is not there, except the last
// of four, and M is read once per four columns, 16 bytes per load (if its rows begin at multiples of 16 bytes),
// straight to registers: nothing of it is used twice. COARSE_FACTOR rows share what is loaded of N.
// One column is made by half as many rows at a time, which leaves room for more threads.
// As many threads as the device needs to be full, or as the depth has work for, make the same rows: from 4 to a block.
// Price paid: every block reads all of N, from the caches; and the threads' sums must be added up. From 8 columns on tiles
// are faster, and of 16 bits from two on.
// Source: the gemv of BLAS, level 2 (J. Dongarra et al., 1988).

#if defined(COARSEN_M_TRANSPOSED) && !defined(COARSEN_SHAPE)
#error "coarsen/matmul: COARSEN_M_TRANSPOSED goes with matmul.h or pipelined.h"
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
#define COARSEN_SHAPE_(what)  COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))
#define COARSEN_THREADS       256
#define COARSEN_FEW           4 // columns
#define COARSEN_SUMS          (COARSE_FACTOR * COARSEN_FEW)
#define COARSEN_HALF          ((COARSE_FACTOR + 1) / 2)
#define COARSEN_LEAST_THREADS 4 // threads for the same rows

static_assert(
    (sizeof(COARSEN_TYPE) == 2 && sizeof(COARSEN_ACC) == 4) ||
        (sizeof(COARSEN_TYPE) == sizeof(COARSEN_ACC) &&
         (sizeof(COARSEN_ACC) == 4 || sizeof(COARSEN_ACC) == 8)),
    "coarsen/matmul: narrow.h takes numbers of 4 or 8 bytes, or of 2 with COARSEN_ACC float");

enum { COARSEN_SHAPE_(tile_cols) = COARSEN_FEW };

// The operands: `rows` long rows, and `cols` few columns, whose element k, j is at few + k * step_k + j * step_j. That
// of P is at p + i * step_row + j * step_col. So the launcher of matmul.h can also have few rows and N transposed. There are
// `count` products, whose matrices are so many elements apart.
typedef struct {
    size_t rows, cols, inner;
    const COARSEN_TYPE *m, *few;
    size_t ldm, step_k, step_j;
    COARSEN_ACC alpha, beta;
    COARSEN_TYPE *p;
    size_t step_row, step_col;
    size_t count, m_step, few_step, p_step;
    unsigned int threads, take; // that make the same rows, and how many rows; NAME_divide sets them
    size_t groups;              // of rows, of a product; likewise
} COARSEN_SHAPE_(product);

// What a block does, for so many rows and columns at the most, which are constants.
COARSEN_INLINE void COARSEN_SHAPE_(make)(const COARSEN_SHAPE_(product) * of, COARSEN_ACC *sums,
                                         unsigned int most_rows, unsigned int most_cols)
{
    const unsigned int count = most_rows * most_cols;
    const unsigned int group = threadIdx.x / of->threads, thread = threadIdx.x % of->threads;
    const size_t all_groups = of->groups * of->count; // the last block has threads for more
    const size_t at = blockIdx.x * (size_t)(COARSEN_THREADS / of->threads) + group;
    const size_t mine = coarsen_min(at, all_groups - 1);
    const size_t product = of->count > 1 ? mine / of->groups : 0;
    const size_t first = (mine - product * of->groups) * of->take, col = blockIdx.y * most_cols;
    const unsigned int rows = (unsigned int)coarsen_min(of->rows - first, of->take);
    const unsigned int cols = (unsigned int)coarsen_min(of->cols - col, most_cols);
    const COARSEN_TYPE *const m = of->m + product * of->m_step + first * of->ldm;
    const COARSEN_TYPE *const few = of->few + product * of->few_step + col * of->step_j;
    const bool vectors = ((size_t)of->m | (of->ldm | of->m_step) * sizeof(COARSEN_TYPE)) % 16 == 0;

    COARSEN_ACC sum[COARSEN_SUMS] = {};
    // A thread takes 16 bytes; or, where rows begin anywhere, as many elements, but threads take neighbours.
    const size_t apart = vectors ? 1 : of->threads, step = (size_t)of->threads * COARSEN_ITEMS;
    for (size_t k = vectors ? thread * COARSEN_ITEMS : thread; k < of->inner; k += step) {
        const bool whole = vectors && k + COARSEN_ITEMS <= of->inner;
        COARSEN_(vector) of_m[COARSE_FACTOR], of_few[COARSEN_FEW] = {};
#pragma unroll
        for (unsigned int i = 0; i < most_rows; i++) {
            of_m[i] = {};
            if (i >= rows)
                continue; // nobody writes what comes of it
            const COARSEN_TYPE *const from = m + i * of->ldm + k;
            if (whole)
                of_m[i] = COARSEN_(load_once)((const COARSEN_(vector) *)from);
            else
#pragma unroll
                for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                    of_m[i].item[q] =
                        k + q * apart < of->inner ? from[q * apart] : (COARSEN_TYPE)0.0f;
        }
#pragma unroll
        for (unsigned int j = 0; j < most_cols; j++)
#pragma unroll
            for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                if (j < cols && k + q * apart < of->inner)
                    of_few[j].item[q] = few[(k + q * apart) * of->step_k + j * of->step_j];
#pragma unroll
        for (unsigned int i = 0; i < most_rows; i++)
#pragma unroll
            for (unsigned int j = 0; j < most_cols; j++)
#pragma unroll
                for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
                    sum[i * most_cols + j] +=
                        (COARSEN_ACC)of_m[i].item[q] * (COARSEN_ACC)of_few[j].item[q];
    }

    // The lanes' sums are added up. In each step a lane gives half of what it has away, and adds what another lane has of
    // the other half. So a warp takes 31 shuffles, for 32 sums, and not 32 times 5. (Loops of constant length: else the
    // compiler keeps the sums in memory.)
    // A lane's sums, where they begin, and lanes that have the same ones. left: as have, but constant in each step.
    unsigned int have = count, place = 0, copies = 0, left = count;
#pragma unroll
    for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
        const bool upper = threadIdx.x & lanes, halves = left % 2 == 0;
        left = halves ? left / 2 : left;
        if (lanes >= of->threads) // the same for all
            continue;
        have = left;
        place += halves && upper ? left : 0;
        copies |= halves ? 0 : lanes;
#pragma unroll
        for (unsigned int e = 0; e < count; e++)
            if (e < left) {
                const COARSEN_ACC other = halves ? sum[(left + e) % count] : sum[e];
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
        for (unsigned int part = 0; part < parts; part++)
            all += of_parts[part * count + e];
        COARSEN_TYPE *const to =
            of->p + product * of->p_step + (first + i) * of->step_row + (col + j) * of->step_col;
        if (i < rows && j < cols)
            *to = (COARSEN_TYPE)(of->beta == (COARSEN_ACC)0
                                     ? of->alpha * all
                                     : of->alpha * all + of->beta * (COARSEN_ACC)*to);
    }
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS)
    COARSEN_SHAPE_(kernel)(COARSEN_SHAPE_(product) of)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_THREADS / COARSEN_LEAST_THREADS * COARSEN_SUMS);
    COARSEN_SHAPE_(make)(&of, sums, COARSE_FACTOR, COARSEN_FEW);
}

// For one column. Half as many rows leave room for more threads, which wait for memory at the same time.
COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS)
    COARSEN_SHAPE_(one_kernel)(COARSEN_SHAPE_(product) of)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_THREADS / COARSEN_LEAST_THREADS * COARSEN_HALF);
    COARSEN_SHAPE_(make)(&of, sums, COARSEN_HALF, 1);
}

#ifndef __CUDACC_RTC__
// How many threads make the same rows: half as many, as long as not all have work in the depth; or down to 8, as they take
// few steps through it and there would be two blocks per multiprocessor. And how many rows: half as many, as long as there
// are less than two blocks per multiprocessor.
COARSEN_HOST void COARSEN_SHAPE_(divide)(COARSEN_SHAPE_(product) * of, size_t processors)
{
    const size_t cols = coarsen_ceil_div(of->cols, COARSEN_FEW),
                 wanted = 2 * processors * COARSEN_THREADS;
    of->take = of->cols > 1 ? COARSE_FACTOR : COARSEN_HALF;
    of->threads = COARSEN_THREADS;
    const size_t groups = coarsen_ceil_div(of->rows, of->take) * of->count * cols;
    while (of->threads > COARSEN_LEAST_THREADS &&
           (of->inner <= of->threads / 2 * COARSEN_ITEMS ||
            (of->threads > 8 && of->inner < of->threads * 2 * COARSEN_ITEMS &&
             groups * (of->threads / 2) >= wanted)))
        of->threads /= 2;
    while (of->take > 1 &&
           coarsen_ceil_div(of->rows, of->take) * of->count * cols * of->threads < wanted)
        of->take /= 2;
    of->groups = coarsen_ceil_div(of->rows, of->take);
}

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_product)(COARSEN_SHAPE_(product) of,
                                                        cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    COARSEN_SHAPE_(divide)(&of, processors);
    const size_t most = 65535 * COARSEN_FEW;
    const size_t blocks = coarsen_ceil_div(of.groups * of.count, COARSEN_THREADS / of.threads);
    if (of.count > (size_t)-1 / of.groups || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    cudaLaunchConfig_t config = coarsen_launch_config(blocks, COARSEN_THREADS, 0, stream);
    const bool one = of.cols == 1; // of all columns: how many rows are taken depends on it
    for (size_t cols = of.cols; cols > 0 && status == cudaSuccess; cols -= of.cols) {
        of.cols = coarsen_min(cols, most);
        config.gridDim.y = (unsigned int)coarsen_ceil_div(of.cols, COARSEN_FEW);
        status = one ? cudaLaunchKernelEx(&config, COARSEN_SHAPE_(one_kernel), of)
                     : cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), of);
        of.few += of.cols * of.step_j;
        of.p += of.cols * of.step_col;
    }
    return status;
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
    const COARSEN_SHAPE_(product) of = {rows, cols, inner, m, n, ldm, step_k, step_j, alpha, beta,
                                        p,    ldp,  1,     1, 0, 0,   0,      0,      0,     0};
    return COARSEN_SHAPE_(launch_product)(of, stream);
}
#endif

#undef COARSEN_THREADS
#undef COARSEN_FEW
#undef COARSEN_SUMS
#undef COARSEN_HALF
#undef COARSEN_LEAST_THREADS
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE
#undef COARSE_FACTOR
#define COARSEN_END
#include "../base.h"
