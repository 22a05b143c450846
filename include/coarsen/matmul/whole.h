// SPDX-License-Identifier: MIT
//
// coarsen/matmul/whole.h: many small products of one shape. A block copies the operands of a few whole products as they lie
// in memory, makes these, and writes them likewise.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME whole_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/matmul/whole.h>
//
//     // 30 products of 5 x 6 by 6 x 4
//     whole_f32_launch_batch(30, 5, 4, 6, 1, in, 6, in, 4, 0, out, 4, stream);
//
// | parameter            | default   | meaning                                                             |
// |----------------------|-----------|---------------------------------------------------------------------|
// | COARSEN_NAME         | required  | prefix of every name defined here                                   |
// | COARSEN_TYPE         | required  | number type of 4 or 8 bytes; or __half or __nv_bfloat16             |
// | COARSEN_ACC          | undefined | required for those two: float, the type of sums, alpha and beta     |
// | TM                   | 4         | rows of P per thread, from 1 to 16; a block has 32 TM threads       |
// | TN                   | 2         | columns of P per thread, from 1 to 16                               |
// | COARSEN_M_TRANSPOSED | undefined | if defined, M is stored column after column: inner x rows           |
// | COARSEN_N_TRANSPOSED | undefined | if defined, N is stored column after column: cols x inner           |
// Defines NAME_kernel, what block/copy.h and block/vector.h define, and
//     cudaError_t NAME_launch_batch(size_t count, size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
//                                   const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                                   COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp, cudaStream_t stream)
// COARSEN_ACC is COARSEN_TYPE where you do not define it.
// `count` products of one shape, whose matrices follow one another: the rows of product b of M begin at m + b rows ldm, and
// so on; at element alignment. It is the fastest where no element lies between two rows (ldm = inner, ldn = cols,
// ldp = cols). One product, all of its three matrices, must have room in the shared memory of a block, or the error is
// cudaErrorNotSupported. Other errors are those of matmul.h's batches. No scratch. Deterministic.
//
// Price saved: rows that are short, or begin anywhere, are copied by so many threads of which many find no element, and
// tiles reach beyond small matrices. Several matrices as one piece of memory are vectors of 16 bytes, but for the ends.
// Price paid: P goes through shared memory, too; and rows are there as far apart as their length says, so lanes that read
// several rows may wait for the same bank.
// How: a thread's rows, and its columns, are as far apart as there are patches, so that neighbouring threads read and write
// neighbours. If there are fewer patches than threads, these take slices of the depth, whose sums are added up in order.
// Two bytes are too few for a copy behind the threads' back: where rows of 16 bits have gaps, each thread has eight elements on
// its way, and waits.
// Source: I. Masliah, A. Abdelfattah, A. Haidar, S. Tomov, M. Baboulin, J. Falcou, J. Dongarra, High-Performance
// Matrix-Matrix Multiplications of Very Small Matrices, Euro-Par 2016, on several products per block.

#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../block/copy.h"
#include "../block/vector.h"

#ifndef COARSEN_SHAPE // a part of the names: matmul.h includes this file for more than one shape
#define COARSEN_SHAPE
#endif
#define COARSEN_SHAPE_(what) COARSEN_JOIN(COARSEN_NAME, COARSEN_JOIN(COARSEN_SHAPE, _##what))

#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 2
#endif
#define COARSEN_THREADS (32 * TM) // per block

static_assert(
    (sizeof(COARSEN_TYPE) == 2 && sizeof(COARSEN_ACC) == 4) ||
        (sizeof(COARSEN_TYPE) == sizeof(COARSEN_ACC) &&
         (sizeof(COARSEN_ACC) == 4 || sizeof(COARSEN_ACC) == 8)),
    "coarsen/matmul: whole.h takes numbers of 4 or 8 bytes, or of 2 with COARSEN_ACC float");
static_assert(TM >= 1 && TM <= 16 && TN >= 1 && TN <= 16,
              "coarsen/matmul: TM and TN must be from 1 to 16");

#ifdef COARSEN_M_TRANSPOSED
#define COARSEN_M_BY_COLUMNS true
#else
#define COARSEN_M_BY_COLUMNS false
#endif
#ifdef COARSEN_N_TRANSPOSED
#define COARSEN_N_BY_COLUMNS true
#else
#define COARSEN_N_BY_COLUMNS false
#endif

#ifndef COARSEN_WITH_PRODUCTS
#define COARSEN_WITH_PRODUCTS
// A batch: what it is; and how it is divided.
typedef struct {
    size_t count;
    unsigned int rows, cols, inner;
    const COARSEN_TYPE *m, *n;
    size_t ldm, ldn;
    COARSEN_ACC alpha, beta;
    COARSEN_TYPE *p;
    size_t ldp;
    bool dense; // whether no element lies between two rows
    // Products of a block; slices of the depth, which different threads take; patches of a product, down and across; how far
    // lines of M and N, and the sums of slices, are apart in shared memory, in elements; and where N and P begin there, in
    // bytes.
    unsigned int together, slices, down, across, m_pitch, n_pitch, sums_step, n_at, p_at;
} COARSEN_(products);

// The sums for a vector of P.
typedef struct COARSEN_ALIGNED(16) COARSEN_MAY_ALIAS {
    COARSEN_ACC item[COARSEN_ITEMS];
} COARSEN_(vector_sums);
#endif

// An element of lines that follow each other. A thread goes from its first one, number threadIdx.x, to the one that is
// COARSEN_THREADS further on, and so on: without a division for each.
typedef struct {
    unsigned int line, at, lines_on, on;
} COARSEN_SHAPE_(element);

COARSEN_INLINE COARSEN_SHAPE_(element) COARSEN_SHAPE_(first_element)(unsigned int width)
{
    const COARSEN_SHAPE_(element) first = {threadIdx.x / width, threadIdx.x % width,
                                           COARSEN_THREADS / width, COARSEN_THREADS % width};
    return first;
}

COARSEN_INLINE void COARSEN_SHAPE_(next_element)(COARSEN_SHAPE_(element) * e, unsigned int width)
{
    const bool carry = e->at + e->on >= width;
    e->line += e->lines_on + (carry ? 1 : 0);
    e->at += e->on - (carry ? width : 0);
}

// Starts to copy an element. Two bytes are not copied that way, but there when this returns.
COARSEN_INLINE void COARSEN_SHAPE_(copy_one)(COARSEN_TYPE *to, const COARSEN_TYPE *from)
{
    if (sizeof(COARSEN_TYPE) < 4)
        *to = *from;
    else
        COARSEN_(copy_async)(to, from, sizeof(COARSEN_TYPE));
}

// The same of lines, element by element. Those of two bytes are on their way eight at a time.
COARSEN_INLINE void COARSEN_SHAPE_(copy_elements)(COARSEN_TYPE *to, unsigned int pitch,
                                                  const COARSEN_TYPE *from, size_t ld,
                                                  unsigned int lines, unsigned int width)
{
    COARSEN_SHAPE_(element) e = COARSEN_SHAPE_(first_element)(width);
    if (sizeof(COARSEN_TYPE) >= 4)
#pragma unroll 4
        for (; e.line < lines; COARSEN_SHAPE_(next_element)(&e, width))
            COARSEN_SHAPE_(copy_one)(to + e.line * pitch + e.at, from + e.line * ld + e.at);
    while (sizeof(COARSEN_TYPE) < 4 && e.line < lines) {
        COARSEN_SHAPE_(element) there = e;
        COARSEN_TYPE item[8];
#pragma unroll
        for (unsigned int q = 0; q < 8; q++, COARSEN_SHAPE_(next_element)(&e, width))
            if (e.line < lines)
                item[q] = from[e.line * ld + e.at];
#pragma unroll
        for (unsigned int q = 0; q < 8; q++, COARSEN_SHAPE_(next_element)(&there, width))
            if (there.line < lines)
                to[there.line * pitch + there.at] = item[q];
    }
}

// Starts to copy lines to shared memory, where they are `pitch` elements apart. Where the first one goes: as far behind a
// multiple of 16 bytes as it is in global memory, so that lines without a gap, here and there, are copied by vectors.
COARSEN_INLINE COARSEN_TYPE *COARSEN_SHAPE_(copy)(unsigned char *area, unsigned int pitch,
                                                  const COARSEN_TYPE *from, size_t ld,
                                                  unsigned int lines, unsigned int width)
{
    COARSEN_TYPE *const to = (COARSEN_TYPE *)(area + (size_t)from % 16);
    if (ld == width && pitch == width) {
        const COARSEN_(parts) parts = COARSEN_(split)(from, lines * width);
        for (unsigned int v = threadIdx.x; v < parts.vectors; v += COARSEN_THREADS)
            COARSEN_(copy_async)(to + parts.head + v * COARSEN_ITEMS, parts.first + v, 16);
        if (threadIdx.x < parts.rest) {
            const size_t i = COARSEN_(rest)(parts, threadIdx.x);
            COARSEN_SHAPE_(copy_one)(to + i, from + i);
        }
    } else if (width > 0) {
        COARSEN_SHAPE_(copy_elements)(to, pitch, from, ld, lines, width);
    }
    return to;
}

// P = alpha sum + beta P, of one element.
COARSEN_INLINE void COARSEN_SHAPE_(write)(COARSEN_TYPE *to, COARSEN_ACC sum,
                                          const COARSEN_(products) * of)
{
    *to =
        (COARSEN_TYPE)(of->beta == (COARSEN_ACC)0 ? of->alpha * sum
                                                  : of->alpha * sum + of->beta * (COARSEN_ACC)*to);
}

// The same of a vector: adds up the sums of the slices, in their order.
COARSEN_INLINE void COARSEN_SHAPE_(write_vector)(COARSEN_(vector) * to, const COARSEN_ACC *sums,
                                                 const COARSEN_(products) * of)
{
    COARSEN_(vector) result = {};
    COARSEN_(vector_sums) sum = *(const COARSEN_(vector_sums) *)sums;
    for (unsigned int slice = 1; slice < of->slices; slice++) {
        sums += of->sums_step;
        const COARSEN_(vector_sums) more = *(const COARSEN_(vector_sums) *)sums;
#pragma unroll
        for (unsigned int e = 0; e < COARSEN_ITEMS; e++)
            sum.item[e] += more.item[e];
    }
    if (of->beta != (COARSEN_ACC)0)
        result = *to;
#pragma unroll
    for (unsigned int e = 0; e < COARSEN_ITEMS; e++)
        COARSEN_SHAPE_(write)(&result.item[e], sum.item[e], of);
    *to = result;
}

// The same of an element.
COARSEN_INLINE void COARSEN_SHAPE_(write_element)(COARSEN_TYPE *to, const COARSEN_ACC *sums,
                                                  const COARSEN_(products) * of)
{
    COARSEN_ACC sum = *sums;
    for (unsigned int slice = 1; slice < of->slices; slice++)
        sum += sums[slice * of->sums_step];
    COARSEN_SHAPE_(write)(to, sum, of);
}

// The same of lines, whose sums follow each other.
COARSEN_INLINE void COARSEN_SHAPE_(write_lines)(COARSEN_TYPE *to, const COARSEN_ACC *sums,
                                                unsigned int lines, const COARSEN_(products) * of)
{
    if (of->ldp == of->cols) {
        const COARSEN_(parts) parts = COARSEN_(split)(to, lines * of->cols);
        for (unsigned int v = threadIdx.x; v < parts.vectors; v += COARSEN_THREADS) {
            const size_t i = parts.head + v * COARSEN_ITEMS;
            COARSEN_SHAPE_(write_vector)((COARSEN_(vector) *)(to + i), sums + i, of);
        }
        if (threadIdx.x < parts.rest) {
            const size_t i = COARSEN_(rest)(parts, threadIdx.x);
            COARSEN_SHAPE_(write_element)(to + i, sums + i, of);
        }
    } else {
        COARSEN_SHAPE_(element) e = COARSEN_SHAPE_(first_element)(of->cols);
#pragma unroll 4
        for (; e.line < lines; COARSEN_SHAPE_(next_element)(&e, of->cols))
            COARSEN_SHAPE_(write_element)
        (to + e.line * of->ldp + e.at, sums + e.line * of->cols + e.at, of);
    }
}

// Makes a patch, of so much of the depth: rows `down` apart, and columns `across` apart, so that neighbouring threads read
// and write neighbours. Beyond the last row or column that one is read, and nobody writes what comes of it.
COARSEN_INLINE void COARSEN_SHAPE_(make)(const COARSEN_(products) * of, const COARSEN_TYPE *m,
                                         const COARSEN_TYPE *n, COARSEN_ACC *p, unsigned int row,
                                         unsigned int col, unsigned int first, unsigned int depth)
{
    // How far the next row of M is, its next depth, and those of N.
    const unsigned int m_row = COARSEN_M_BY_COLUMNS ? 1 : of->m_pitch;
    const unsigned int m_deep = COARSEN_M_BY_COLUMNS ? of->m_pitch : 1;
    const unsigned int n_col = COARSEN_N_BY_COLUMNS ? of->n_pitch : 1;
    const unsigned int n_deep = COARSEN_N_BY_COLUMNS ? 1 : of->n_pitch;
    COARSEN_ACC sum[TM][TN];
    const COARSEN_TYPE *of_m[TM], *of_n[TN];
#pragma unroll
    for (unsigned int i = 0; i < TM; i++) {
        of_m[i] = m + first * m_deep + coarsen_min(row + i * of->down, of->rows - 1) * m_row;
#pragma unroll
        for (unsigned int j = 0; j < TN; j++)
            sum[i][j] = 0;
    }
#pragma unroll
    for (unsigned int j = 0; j < TN; j++)
        of_n[j] = n + first * n_deep + coarsen_min(col + j * of->across, of->cols - 1) * n_col;
#pragma unroll 4
    for (unsigned int k = 0; k < depth; k++) {
        COARSEN_ACC a[TM], b[TN];
#pragma unroll
        for (unsigned int i = 0; i < TM; i++)
            a[i] = (COARSEN_ACC)of_m[i][k * m_deep];
#pragma unroll
        for (unsigned int j = 0; j < TN; j++)
            b[j] = (COARSEN_ACC)of_n[j][k * n_deep];
#pragma unroll
        for (unsigned int i = 0; i < TM; i++)
#pragma unroll
            for (unsigned int j = 0; j < TN; j++)
                sum[i][j] += a[i] * b[j];
    }
#pragma unroll
    for (unsigned int i = 0; i < TM; i++) {
        const unsigned int r = row + i * of->down;
#pragma unroll
        for (unsigned int j = 0; j < TN; j++) {
            const unsigned int c = col + j * of->across;
            if (r < of->rows && c < of->cols)
                p[r * of->cols + c] = sum[i][j];
        }
    }
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS)
    COARSEN_SHAPE_(kernel)(const COARSEN_(products) of)
{
    unsigned char *const shared = (unsigned char *)coarsen_shared;
    const size_t first = (size_t)blockIdx.x * of.together;
    const unsigned int here = (unsigned int)coarsen_min(of.count - first, of.together);
    const unsigned int m_lines = COARSEN_M_BY_COLUMNS ? of.inner : of.rows; // as stored
    const unsigned int m_width = COARSEN_M_BY_COLUMNS ? of.rows : of.inner;
    const unsigned int n_lines = COARSEN_N_BY_COLUMNS ? of.cols : of.inner;
    const unsigned int n_width = COARSEN_N_BY_COLUMNS ? of.inner : of.cols;
    const COARSEN_TYPE *const m = COARSEN_SHAPE_(copy)(
        shared, of.m_pitch, of.m + first * m_lines * of.ldm, of.ldm, here * m_lines, m_width);
    const COARSEN_TYPE *const n =
        COARSEN_SHAPE_(copy)(shared + of.n_at, of.n_pitch, of.n + first * n_lines * of.ldn, of.ldn,
                             here * n_lines, n_width);
    COARSEN_TYPE *const to = of.p + first * of.rows * of.ldp;
    // As many sums behind a multiple of 16 bytes as P has elements: so its vectors are vectors here.
    COARSEN_ACC *const sums =
        (COARSEN_ACC *)(shared + of.p_at) + (size_t)to % 16 / sizeof(COARSEN_TYPE);
    COARSEN_(copies_end)();
    COARSEN_(copies_wait)(0);
    __syncthreads();
    const unsigned int patches = of.down * of.across, all = here * patches * of.slices;
    const unsigned int depth = (of.inner + of.slices - 1) / of.slices;
    for (unsigned int i = threadIdx.x; i < all; i += COARSEN_THREADS) {
        const unsigned int slice = i / (here * patches), product = i / patches - slice * here;
        const unsigned int patch = i % patches;
        const unsigned int k = (unsigned int)coarsen_min(slice * depth, of.inner);
        COARSEN_SHAPE_(make)
        (&of, m + product * m_lines * of.m_pitch, n + product * n_lines * of.n_pitch,
         sums + slice * of.sums_step + product * of.rows * of.cols, patch / of.across,
         patch % of.across, k, (unsigned int)coarsen_min(depth, of.inner - k));
    }
    __syncthreads();
    COARSEN_SHAPE_(write_lines)(to, sums, here * of.rows, &of);
}

#ifndef __CUDACC_RTC__
// In how many turns a warp reads an element per lane: as many as lanes want different elements of one bank, or words, if a
// word has two. Elements are so far apart: of the next product, and of the next patch down and across. One of these two is
// 0: such patches share an element, which counts for the first one.
COARSEN_HOST size_t COARSEN_SHAPE_(turns)(const COARSEN_(products) * of, size_t product_step,
                                          size_t down_step, size_t across_step)
{
    const size_t items = sizeof(COARSEN_TYPE) < 4 ? 4 / sizeof(COARSEN_TYPE) : 1; // of a word
    const size_t banks = 128 / items / sizeof(COARSEN_TYPE); // and lanes at a time
    const size_t patches = (size_t)of->down * of->across;
    size_t wanted[32] = {}, last[32] = {}, most = 1;
    for (size_t lane = 0; lane < banks; lane++) {
        const size_t down = lane % patches / of->across, across = lane % patches % of->across;
        if ((down > 0 && down_step == 0) || (across > 0 && across_step == 0))
            continue;
        const size_t at = lane / patches * product_step + down * down_step + across * across_step;
        const size_t word = at / items, bank = word % banks;
        if (items > 1 && wanted[bank] > 0 && last[bank] == word)
            continue; // another lane's other half
        last[bank] = word;
        if (++wanted[bank] > most)
            most = wanted[bank];
    }
    return most;
}

// How a batch lies in shared memory; and the turns that a warp takes to read what a step of the depth needs of M, and of N.
// Lines have the pitch that is copied fastest; or an odd one, if much waiting makes up for that, or if they are copied an
// element at a time anyway.
COARSEN_HOST void COARSEN_SHAPE_(lay_out)(COARSEN_(products) * of, size_t *m_turns, size_t *n_turns)
{
    // What a copy without vectors costs, per row of M or column of N: as much as so many turns of a patch.
    const size_t singly = 10;
    const size_t rows = of->rows, cols = of->cols, inner = of->inner;
    const size_t m_lines = COARSEN_M_BY_COLUMNS ? inner : rows;
    const size_t n_lines = COARSEN_N_BY_COLUMNS ? cols : inner;
    of->down = (unsigned int)coarsen_ceil_div(rows, TM);
    of->across = (unsigned int)coarsen_ceil_div(cols, TN);
    const size_t patches = (size_t)of->down * of->across;
    for (unsigned int odd = 0; odd < 2; odd++) {
        const unsigned int m_pitch = (COARSEN_M_BY_COLUMNS ? of->rows : of->inner) | odd;
        const unsigned int n_pitch = (COARSEN_N_BY_COLUMNS ? of->inner : of->cols) | odd;
        const size_t of_m = TM * COARSEN_SHAPE_(turns)(of, m_lines * m_pitch,
                                                       COARSEN_M_BY_COLUMNS ? 1 : m_pitch, 0);
        const size_t of_n = TN * COARSEN_SHAPE_(turns)(of, n_lines * n_pitch, 0,
                                                       COARSEN_N_BY_COLUMNS ? n_pitch : 1);
        if (odd == 0 || !of->dense || patches * *m_turns > patches * of_m + singly * rows)
            of->m_pitch = m_pitch, *m_turns = of_m;
        if (odd == 0 || !of->dense || patches * *n_turns > patches * of_n + singly * cols)
            of->n_pitch = n_pitch, *n_turns = of_n;
    }
}

// Bytes of shared memory for so many elements, or sums, of so many bytes, wherever the first one lies in a vector.
COARSEN_HOST size_t COARSEN_SHAPE_(area)(size_t n, size_t bytes)
{
    return coarsen_ceil_div(n * bytes, 16) * 16 + 16 / sizeof(COARSEN_TYPE) * bytes;
}

// Has a block make so many products, in so many slices of the depth. The bytes of shared memory that it takes.
COARSEN_HOST size_t COARSEN_SHAPE_(put_together)(COARSEN_(products) * of, size_t together,
                                                 size_t slices)
{
    const size_t m_lines = COARSEN_M_BY_COLUMNS ? of->inner : of->rows;
    const size_t n_lines = COARSEN_N_BY_COLUMNS ? of->cols : of->inner;
    const size_t n_at =
        COARSEN_SHAPE_(area)(together * m_lines * of->m_pitch, sizeof(COARSEN_TYPE));
    const size_t p_at =
        n_at + COARSEN_SHAPE_(area)(together * n_lines * of->n_pitch, sizeof(COARSEN_TYPE));
    const size_t sums = COARSEN_SHAPE_(area)(together * of->rows * of->cols, sizeof(COARSEN_ACC));
    of->together = (unsigned int)together, of->slices = (unsigned int)slices;
    of->sums_step = (unsigned int)(sums / sizeof(COARSEN_ACC));
    of->n_at = (unsigned int)n_at, of->p_at = (unsigned int)p_at;
    return p_at + slices * sums;
}

// What a batch costs, counted as in matmul.h, if it is divided so, and a multiprocessor has room for so many blocks.
// Fitted to the times of 480 random batches of floats on an H200, each divided in up to 80 ways.
COARSEN_HOST double COARSEN_SHAPE_(cost)(const COARSEN_(products) * of, size_t turns,
                                         size_t processors, size_t room)
{
    // Of a warp: per turn, or per multiplication of all its lanes, if those take longer; and per patch of each lane. Per
    // element that is copied by vectors, or singly; that is written so; and of another slice's sum. Per block.
    const double turn = 50.7, multiply = 56, patch = 840, copy = 18.4, copy_one = 28.5,
                 write = 10.9, write_one = 40.8, add = 38.2, block = 1900;
    // What a block waits for, while others on its multiprocessor do so too: to begin; for an element to come or go; for a step
    // of the depth; and for all its threads to make a patch.
    const double wait = 1.44e5, wait_element = 10, wait_step = 2490, wait_patch = 19900;
    const double together = of->together, rows = of->rows, cols = of->cols, inner = of->inner;
    const double wide = sizeof(COARSEN_ACC) / 4.0; // so much more work than with floats
    const double turned =
        sizeof(COARSEN_TYPE) == sizeof(COARSEN_ACC) ? 1 : 1.3; // into floats, of all
    const size_t patches = (size_t)of->together * of->slices * of->down * of->across;
    const double depth = (double)coarsen_ceil_div(of->inner, of->slices);
    const double reads = turn * (double)turns, multiplies = multiply * TM * TN;
    const bool m_by_vectors =
        of->dense && of->m_pitch == (COARSEN_M_BY_COLUMNS ? of->rows : of->inner);
    const bool n_by_vectors =
        of->dense && of->n_pitch == (COARSEN_N_BY_COLUMNS ? of->inner : of->cols);
    const double copies =
        inner * (rows * (m_by_vectors ? copy : copy_one) + cols * (n_by_vectors ? copy : copy_one));
    const double writes =
        rows * cols * ((of->dense ? write : write_one) + add * (of->slices - 1.0));
    const double work = (double)coarsen_ceil_div(patches, 32) *
                            (depth * (reads > multiplies ? reads : multiplies) + patch) +
                        together * (copies + writes) + block;
    const double waits =
        wait + together * (inner * (rows + cols) + rows * cols) * wait_element * wide +
        (double)coarsen_ceil_div(patches, COARSEN_THREADS) * (depth * wait_step + wait_patch);
    const size_t blocks = coarsen_ceil_div(coarsen_ceil_div(of->count, of->together), processors);
    return turned * ((double)blocks * work * wide + (double)coarsen_ceil_div(blocks, room) * waits);
}

// Divides a batch of products of so many rows, columns and depth so that it costs least. The cost; or 0 if a product has no
// room in so much shared memory.
COARSEN_HOST double COARSEN_SHAPE_(divide)(COARSEN_(products) * of, size_t rows, size_t cols,
                                           size_t inner, size_t processors, size_t shared_limit)
{
    const size_t elements = shared_limit / sizeof(COARSEN_TYPE);
    if (rows > elements / cols ||
        (inner > 0 && (rows > elements / inner || cols > elements / inner)))
        return 0;
    const size_t most_together = 128, most_slices = 8;
    // Bytes of shared memory: that each block takes beside its own; and of more than one product.
    const size_t reserved = 1024, most_bytes = 1 << 16;
    const size_t most_blocks = TM * TN > 8 ? 2 : 10; // for which there are registers
    size_t m_turns = 0, n_turns = 0;
    double best = 0;
    of->rows = (unsigned int)rows, of->cols = (unsigned int)cols, of->inner = (unsigned int)inner;
    COARSEN_SHAPE_(lay_out)(of, &m_turns, &n_turns);
    COARSEN_(products) now = *of;
    const size_t patches = (size_t)of->down * of->across;
    for (size_t together = 1; together <= coarsen_min(of->count, most_together);
         together += coarsen_ceil_div(together, 2))
        for (size_t slices = 1; slices <= most_slices; slices *= 2) {
            const size_t bytes = COARSEN_SHAPE_(put_together)(&now, together, slices);
            const size_t room = (shared_limit + reserved) / (bytes + reserved);
            if (bytes > shared_limit || (together > 1 && bytes > most_bytes) ||
                (slices > 1 && (slices > inner || slices * together * patches > COARSEN_THREADS)))
                break;
            const double cost = COARSEN_SHAPE_(cost)(&now, m_turns + n_turns, processors,
                                                     coarsen_min(room, most_blocks));
            if (best == 0 || cost < best)
                best = cost, *of = now;
        }
    return best;
}

// A batch that is divided.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_divided)(COARSEN_(products) of, cudaStream_t stream)
{
    size_t m_turns = 0, n_turns = 0;
    COARSEN_SHAPE_(lay_out)(&of, &m_turns, &n_turns);
    const size_t bytes = COARSEN_SHAPE_(put_together)(&of, of.together, of.slices);
    const size_t blocks = coarsen_ceil_div(of.count, of.together);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, COARSEN_THREADS, bytes, stream);
    const cudaError_t status = coarsen_let_share((const void *)COARSEN_SHAPE_(kernel), bytes, 0);
    return status == cudaSuccess ? cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), of) : status;
}

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_batch)(size_t count, size_t rows, size_t cols,
                                                      size_t inner, COARSEN_ACC alpha,
                                                      const COARSEN_TYPE *m, size_t ldm,
                                                      const COARSEN_TYPE *n, size_t ldn,
                                                      COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
                                                      cudaStream_t stream)
{
    if (alpha == (COARSEN_ACC)0)
        inner = 0;
    if (count == 0 || rows == 0 || cols == 0)
        return cudaSuccess;
    const size_t m_lines = COARSEN_M_BY_COLUMNS ? inner : rows; // of a product
    const size_t m_width = COARSEN_M_BY_COLUMNS ? rows : inner;
    const size_t n_lines = COARSEN_N_BY_COLUMNS ? cols : inner;
    const size_t n_width = COARSEN_N_BY_COLUMNS ? inner : cols;
    const size_t most = (size_t)-1 / count;
    if (m_lines > most || n_lines > most || rows > most ||
        !COARSEN_(matrix_ok)(m, count * m_lines, m_width, ldm) ||
        !COARSEN_(matrix_ok)(n, count * n_lines, n_width, ldn) ||
        !COARSEN_(matrix_ok)(p, count * rows, cols, ldp))
        return cudaErrorInvalidValue;
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    size_t limit = 0;
    if (status == cudaSuccess)
        limit = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &status);
    if (status != cudaSuccess)
        return status;
    COARSEN_(products) of = {};
    of.count = count;
    of.m = m, of.ldm = ldm, of.n = n, of.ldn = ldn;
    of.alpha = alpha, of.beta = beta;
    of.p = p, of.ldp = ldp;
    of.dense = ldm == m_width && ldn == n_width && ldp == cols;
    return COARSEN_SHAPE_(divide)(&of, rows, cols, inner, processors, limit) > 0
               ? COARSEN_SHAPE_(launch_divided)(of, stream)
               : cudaErrorNotSupported;
}
#endif

#undef COARSEN_THREADS
#undef COARSEN_M_BY_COLUMNS
#undef COARSEN_N_BY_COLUMNS
#undef COARSEN_SHAPE_
#undef COARSEN_SHAPE // and the knobs: the next shape sets its own
#undef TM
#undef TN
#define COARSEN_END
#include "../base.h"
