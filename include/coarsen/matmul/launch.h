// SPDX-License-Identifier: MIT
//
// coarsen/matmul/launch.h: the kernels and launchers of pipelined.h, tensor.h and tensor16.h, which differ in how a block
// makes a tile of P; and what warpgroup.h has in common with them. Not for use by itself: those rungs include it, for each
// shape of tiles. Its first part adds up sums of parts of the depth. flat.h and narrow.h include it, too, but for that
// part only, before they define COARSEN_SHAPE_.
//
// It takes BM and BN, the rows and columns of a tile, COARSEN_THREADS, the threads of a block, and NAME_shared_bytes,
// and declares NAME_make, which the rung then defines. With COARSEN_PATCHES it takes TM, TN and the type NAME_made, and
// defines what writes that to P. With COARSEN_STAYS it takes BM and BN alone, and declares NAME_launch_work in place of
// NAME_make: the rung has kernels of its own. Its manual is that of the rung.

#include "../base.h"

#if defined(COARSEN_DEPTH) && !defined(COARSEN_WITH_ADD) // within a rung, once
#define COARSEN_WITH_ADD

// Tiles of P from tile `first` on. Of element e, row after row, of tile t of them, part q of the depth left its sum at
// sums[(q * tiles + t) * tile_rows * tile_cols + e]. Element i, j of P is at p + i * step_row + j * step_col.
typedef struct {
    size_t rows, cols, tile_rows, tile_cols;
    size_t first, tiles, parts;
    const COARSEN_ACC *sums;
    COARSEN_ACC beta;
    COARSEN_TYPE *p;
    size_t step_row, step_col;
} COARSEN_(sums);

// Where a tile of P begins. Tiles go down and then across in bands of tiles, so those that are made at the same time need
// few different rows and columns.
COARSEN_INLINE void COARSEN_(place_tile)(unsigned int tile, unsigned int tile_rows,
                                         unsigned int tile_cols, size_t rows, size_t cols,
                                         size_t *row_start, size_t *col_start)
{
    const unsigned int most = 8, down = (unsigned int)coarsen_ceil_div(rows, tile_rows);
    const unsigned int across = (unsigned int)coarsen_ceil_div(cols, tile_cols);
    const unsigned int band = down < most ? down : most;
    const unsigned int above = tile / (band * across) * band;
    const unsigned int in_band = tile % (band * across);
    const unsigned int height = down - above < band ? down - above : band;
    *row_start = (size_t)tile_rows * (above + in_band % height);
    *col_start = (size_t)tile_cols * (in_band / height);
}

// P = mine + beta P, of one element.
COARSEN_INLINE void COARSEN_(write_one)(COARSEN_TYPE *to, COARSEN_ACC mine, COARSEN_ACC beta)
{
    *to = (COARSEN_TYPE)(beta == (COARSEN_ACC)0 ? mine : mine + beta * (COARSEN_ACC)*to);
}

// `groups` groups of threads share the parts of an element, and their sums are added up in order.
COARSEN_KERNEL void __launch_bounds__(256)
    COARSEN_(add_kernel)(COARSEN_(sums) of, unsigned int groups)
{
    COARSEN_SHARED(COARSEN_ACC, shared_sums, 256);
    const unsigned int width = 256 / groups, group = threadIdx.x / width;
    const size_t e = (size_t)blockIdx.x * width + threadIdx.x % width;
    size_t row, col;
    COARSEN_(place_tile)
    ((unsigned int)of.first + blockIdx.y, (unsigned int)of.tile_rows, (unsigned int)of.tile_cols,
     of.rows, of.cols, &row, &col);
    row += e / of.tile_cols, col += e % of.tile_cols;
    COARSEN_(follow)();
    const size_t area = of.tile_rows * of.tile_cols, step = of.tiles * area; // from part to part
    const bool there = e < area && row < of.rows && col < of.cols;
    const unsigned int parts = (unsigned int)of.parts;
    const COARSEN_ACC *const from = of.sums + blockIdx.y * area + e;
    COARSEN_TYPE *const to = of.p + row * of.step_row + col * of.step_col;
    COARSEN_ACC sum = 0;
    if (groups == 1) {
        if (!there)
            return;
#pragma unroll 16
        for (unsigned int part = 0; part < parts; part++)
            sum += from[part * step];
        COARSEN_(write_one)(to, sum, of.beta);
        return;
    }
    for (unsigned int part = group; there && part < parts; part += 8 * groups) {
        COARSEN_ACC some[8]; // loaded at a time
#pragma unroll
        for (unsigned int q = 0; q < 8; q++) {
            const unsigned int at = part + q * groups;
            some[q] = at < parts ? from[at * step] : (COARSEN_ACC)0;
        }
#pragma unroll
        for (unsigned int q = 0; q < 8; q++)
            sum += some[q];
    }
    shared_sums[threadIdx.x] = sum;
    __syncthreads();
    if (!there || group > 0)
        return;
    for (unsigned int g = 1; g < groups; g++)
        sum += shared_sums[g * width + threadIdx.x];
    COARSEN_(write_one)(to, sum, of.beta);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch_add)(COARSEN_(sums) of, cudaStream_t stream)
{
    unsigned int groups = 1; // as many as have 8 parts each
    while (groups < 32 && of.parts >= 16 * groups)
        groups *= 2;
    const size_t blocks = coarsen_ceil_div(of.tile_rows * of.tile_cols, 256 / groups);
    cudaLaunchConfig_t config = coarsen_launch_config(blocks, 256, 0, stream);
    cudaLaunchAttribute attribute;
    config.gridDim.y = (unsigned int)of.tiles;
    const cudaError_t status =
        COARSEN_(overlap)(&config, &attribute, (const void *)COARSEN_(add_kernel));
    return status == cudaSuccess ? cudaLaunchKernelEx(&config, COARSEN_(add_kernel), of, groups)
                                 : status;
}
#endif
#endif // COARSEN_WITH_ADD

#ifdef COARSEN_SHAPE_

#ifndef COARSEN_WITH_WORK
#define COARSEN_WITH_WORK
// The largest power of two, up to 32, that divides where all lines begin, in bytes.
COARSEN_HOST_DEVICE unsigned int COARSEN_(unit_of)(const COARSEN_TYPE *first, size_t ld)
{
    const unsigned int all = (unsigned int)((size_t)first | ld * sizeof(COARSEN_TYPE)) | 32;
    return all & (0 - all);
}

// What the blocks of a launch make: tiles of P from tile `first` on. Either of product b of a batch, that begins b
// times so many elements further in M, N and P; or sums, of a part of the depth.
typedef struct {
    unsigned int first;
    size_t m_step, n_step, p_step;
    size_t depth;  // of a part
    size_t slices; // of the depth, a block of a cluster each (warpgroup.h): 2, 4 or 8; or 0
    COARSEN_ACC *sums;
    size_t m_rows, n_cols; // of packed operands (pack.h): with the zeros that make up whole vectors
    bool flipped;          // whether P is stored column after column (tall.h)
} COARSEN_(work);

// Of 16 bits, whether COARSEN_TYPE is __nv_bfloat16, and not __half: what 1 looks like says so. The compiler works it out.
COARSEN_HOST_DEVICE bool COARSEN_(is_bfloat)(void)
{
    const COARSEN_TYPE one = (COARSEN_TYPE)1.0f;
    unsigned short bits;
    memcpy(&bits, (const void *)&one, 2);
    return bits == 0x3f80;
}
#endif

#ifdef COARSEN_PATCHES // tensor.h and tensor16.h, whose warps leave what they made in patches of 8 x 8
// P = mine + beta P, of so many neighbours in a row, of which the first `there` are there: of a vector, or of one.
COARSEN_INLINE void COARSEN_SHAPE_(write)(COARSEN_TYPE *to, const COARSEN_ACC *mine,
                                          unsigned int items, unsigned int there, COARSEN_ACC beta)
{
    if (items > 1 && there >= items) {
        COARSEN_(vector) result = {};
        if (beta != (COARSEN_ACC)0)
            result = *(const COARSEN_(vector) *)to;
#pragma unroll
        for (unsigned int q = 0; q < items; q++)
            COARSEN_(write_one)(&result.item[q], mine[q], beta);
        *(COARSEN_(vector) *)to = result;
        return;
    }
#pragma unroll
    for (unsigned int q = 0; q < items; q++)
        if (q < there)
            COARSEN_(write_one)(to + q, mine[q], beta);
}

// The same of all that a warp made, or as many rows and columns of it as are there.
COARSEN_INLINE void COARSEN_SHAPE_(write_rows)(COARSEN_TYPE *p, size_t ldp,
                                               const COARSEN_SHAPE_(made) * made,
                                               unsigned int items, unsigned int rows,
                                               unsigned int cols, COARSEN_ACC beta)
{
    // Lanes side by side: the largest power of two, up to 32, that divides the pieces of a row.
    const unsigned int pieces = TN / items | 32, across = pieces & -pieces;
    const unsigned int row = threadIdx.x % 32 / across, col = threadIdx.x % across * items;
    p += row * ldp + col;
#pragma unroll 8
    for (unsigned int down = 0; down < TM; down += 32 / across, p += 32 / across * ldp)
#pragma unroll
        for (unsigned int right = 0; right < TN; right += across * items) {
            const unsigned int i = row + down, j = col + right;
            if (i < rows && j < cols)
                COARSEN_SHAPE_(write)
            (p + right, &made->patch[i / 8][j / 8][i % 8 * 8 + j % 8], items, cols - j, beta);
        }
}
#endif

#ifndef COARSEN_STAYS // warpgroup.h, whose blocks stay, has a kernel and a launch of its own
// The work of a block: tile work.first + blockIdx.x of product blockIdx.y of a batch; or its part of the depth
// blockIdx.y, whose sums are left as a matrix of their own. is_part is a constant.
COARSEN_INLINE void COARSEN_SHAPE_(make)(bool is_part, size_t rows, size_t cols, size_t inner,
                                         COARSEN_ACC alpha, const COARSEN_TYPE *__restrict__ m,
                                         size_t ldm, const COARSEN_TYPE *__restrict__ n, size_t ldn,
                                         COARSEN_ACC beta, COARSEN_TYPE *__restrict__ p, size_t ldp,
                                         COARSEN_(work) work);

#ifndef COARSEN_RESIDENT // blocks that a multiprocessor is to have registers for
#define COARSEN_RESIDENT 1
#endif
COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, COARSEN_RESIDENT)
    COARSEN_SHAPE_(kernel)(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
                           const COARSEN_TYPE *__restrict__ m, size_t ldm,
                           const COARSEN_TYPE *__restrict__ n, size_t ldn, COARSEN_ACC beta,
                           COARSEN_TYPE *__restrict__ p, size_t ldp, COARSEN_(work) work)
{
    COARSEN_SHAPE_(make)(false, rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, work);
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_THREADS, COARSEN_RESIDENT)
    COARSEN_SHAPE_(part_kernel)(size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha,
                                const COARSEN_TYPE *__restrict__ m, size_t ldm,
                                const COARSEN_TYPE *__restrict__ n, size_t ldn, COARSEN_(work) work)
{
    COARSEN_SHAPE_(make)
    (true, rows, cols, inner, alpha, m, ldm, n, ldn, (COARSEN_ACC)0, NULL, BN, work);
}
#undef COARSEN_RESIDENT
#endif

#ifndef __CUDACC_RTC__
#ifndef COARSEN_STAYS
// So many products. Blocks make the first `whole` tiles of P, and then the other ones in `parts` parts of the depth,
// which are added up.
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_work)(
    size_t count, size_t rows, size_t cols, size_t inner, COARSEN_ACC alpha, const COARSEN_TYPE *m,
    size_t ldm, const COARSEN_TYPE *n, size_t ldn, COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
    size_t whole, size_t parts, COARSEN_(work) work, cudaStream_t stream)
{
#ifdef COARSEN_BYTES_OF
    const size_t shared_bytes = COARSEN_BYTES_OF(inner);
#else
    const size_t shared_bytes = COARSEN_SHAPE_(shared_bytes);
#endif
    size_t tiles = 0;
    cudaError_t status =
        work.flipped ? COARSEN_(count_tiles)(&tiles, BN, BM, cols, rows, 0, n, ldn, m, ldm, p, ldp)
                     : COARSEN_(count_tiles)(&tiles, BM, BN, rows, cols, 0, m, ldm, n, ldn, p, ldp);
    const size_t rest = tiles - coarsen_min(tiles, whole);
    cudaLaunchConfig_t config =
        coarsen_launch_config(tiles - rest, COARSEN_SHAPE_(threads), shared_bytes, stream);
    config.gridDim.y = (unsigned int)count;
#ifdef COARSEN_PACKED // what is read was written by the kernel before
    cudaLaunchAttribute attribute;
    if (status == cudaSuccess)
        status = COARSEN_(overlap)(&config, &attribute, (const void *)COARSEN_SHAPE_(kernel));
#endif
    if (status == cudaSuccess && tiles > rest) {
        status = coarsen_let_share((const void *)COARSEN_SHAPE_(kernel), shared_bytes, 0);
        if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&config, COARSEN_SHAPE_(kernel), rows, cols, inner, alpha,
                                        m, ldm, n, ldn, beta, p, ldp, work);
    }
    if (status != cudaSuccess || rest == 0)
        return status;
    work.first = (unsigned int)(tiles - rest);
    config.gridDim.x = (unsigned int)rest;
    config.gridDim.y = (unsigned int)parts;
    status = coarsen_let_share((const void *)COARSEN_SHAPE_(part_kernel), shared_bytes, 0);
    if (status == cudaSuccess)
        status = cudaLaunchKernelEx(&config, COARSEN_SHAPE_(part_kernel), rows, cols, inner, alpha,
                                    m, ldm, n, ldn, work);
    if (status != cudaSuccess)
        return status;
    const COARSEN_(sums) sums = {rows,
                                 cols,
                                 BM,
                                 BN,
                                 work.first,
                                 rest,
                                 parts,
                                 work.sums,
                                 beta,
                                 p,
                                 work.flipped ? 1 : ldp,
                                 work.flipped ? ldp : 1};
    return COARSEN_(launch_add)(sums, stream);
}
#else
COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch_work)(size_t, size_t, size_t, size_t, COARSEN_ACC,
                                                     const COARSEN_TYPE *, size_t,
                                                     const COARSEN_TYPE *, size_t, COARSEN_ACC,
                                                     COARSEN_TYPE *, size_t, size_t, size_t,
                                                     COARSEN_(work), cudaStream_t);
#endif

COARSEN_HOST cudaError_t COARSEN_SHAPE_(launch)(size_t rows, size_t cols, size_t inner,
                                                COARSEN_ACC alpha, const COARSEN_TYPE *m,
                                                size_t ldm, const COARSEN_TYPE *n, size_t ldn,
                                                COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp,
                                                cudaStream_t stream)
{
    COARSEN_(work) work = {};
    work.m_rows = rows, work.n_cols = cols;
    size_t one;
    if (alpha == (COARSEN_ACC)0)
        inner = 0;
    const cudaError_t status = COARSEN_(count_tiles)(&one, rows > 0 ? rows : 1, cols > 0 ? cols : 1,
                                                     rows, cols, inner, m, ldm, n, ldn, p, ldp);
    if (status != cudaSuccess)
        return status;
    return COARSEN_SHAPE_(launch_work)(1, rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp,
                                       (size_t)-1, 1, work, stream);
}
#endif

#endif
