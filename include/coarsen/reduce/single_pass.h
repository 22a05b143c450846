// SPDX-License-Identifier: MIT
//
// coarsen/reduce/single_pass.h: reduction, seventh rung. last_block.h + wide loads and warp
// shuffles, and no fence: the block that started last collects the partial results, each beside a
// flag.
// out[0] = LIFT(in[0], 0) OP LIFT(in[1], 1) OP ... OP LIFT(in[n-1], n-1)
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/reduce/single_pass.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator, the partial results and the result; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) as a COARSEN_ACC     |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC   |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | COARSEN_ARGMIN       | none             | in place of these four: type of an index. out is a NAME_at, the least element and its index |
// | COARSEN_ARGMAX       | none             | the same for the greatest                            |
// | COARSEN_FIXED_TREE   | 0                | 1: the order of operations depends on n alone, so that any device gives the same bits |
// | COARSEN_COUNTED      | 0                | 1: there is NAME_launch_counted too                  |
// | COARSEN_VIEW         | 0                | 1: there is NAME_launch_view too                     |
// | BLOCK_DIM            | 512 or tuned     | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 4 or tuned       | 16-byte loads a thread has in flight, from 1 to 32   |
// tuned: COARSEN_REDUCE_BLOCK_DIM and COARSEN_REDUCE_COARSE_FACTOR, if they are defined, as they
// are by a header that coarsen-tune wrote.
// Defines the functions of block/reduce.h and block/vector.h; NAME_kernel(in, out, n, tile,
// scratch), for any number of blocks, which take turns at tiles of up to COARSE_FACTOR BLOCK_DIM
// vectors; and
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_plan(const COARSEN_TYPE *in, size_t n, NAME_planned *plan)
//     cudaError_t NAME_launch_counted(const COARSEN_TYPE *in, COARSEN_ACC *out,
//                             const unsigned long long *n, size_t most, void *scratch,
//                             size_t scratch_bytes, cudaStream_t stream)     with COARSEN_COUNTED
//     cudaError_t NAME_launch_view(const COARSEN_TYPE *in, size_t pitch, size_t rows, size_t width,
//                             COARSEN_ACC *out, void *scratch, size_t scratch_bytes,
//                             cudaStream_t stream)                           with COARSEN_VIEW
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid, plan->block,
// plan->shared_bytes, stream>>>(in, out, n, plan->tile, scratch), with plan->scratch_bytes of scratch. NAME_kernel takes
// any n, any number of blocks, which have 8 bytes of scratch per word of a COARSEN_ACC besides 16, and a tile of
// COARSE_FACTOR * BLOCK_DIM; with COARSEN_FIXED_TREE, only an in at a 16-byte boundary.
// NAME_launch_counted is for what another kernel counted, as select.h does: *n, in device memory, is read when the
// kernel runs, and is `most` or less, or the launch ends with an error (__trap). in has room for `most` elements, and
// the scratch is for as many. The bits are those of NAME_launch with that n. NAME_launch_view is for a part of a
// matrix: rows of width elements, which begin pitch elements apart, width or more; what is between them is not read.
// The index that LIFT gets is row width + column, and the scratch is for rows width elements. Else, of all launches:
// in: n elements in device memory, at any element's alignment (its size, if that divides 16), not changed. out: one COARSEN_ACC,
// apart from in; the identity if n is 0. scratch: device memory, 16-byte aligned. NAME_scratch_init
// makes it ready once, by zeros; each launch leaves it ready for the next, for any n. One scratch
// per launch that may run at the same time. A scratch that was not made ready ends the launch with
// an error (__trap). Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, too small a scratch, or
// an index, up to that of the last of n, `most` or rows width elements, that the type of COARSEN_ARGMIN or COARSEN_ARGMAX
// cannot represent, with nothing written; those of the runtime's device queries.
// COARSEN_ARGMIN and COARSEN_ARGMAX: struct NAME_at { COARSEN_TYPE value; and an index of the type given, any integer
// type }; COARSEN_TYPE is a number. Of equal elements the first counts, and a NaN before all others; of no elements the
// index is -1 of its type. coarsen/arg.h has such pairs for other types of value.
// Deterministic: on one model of device, an n and an alignment give the same bits always. With COARSEN_FIXED_TREE
// any device gives them, at any alignment, and so does the CPU device: the array is divided among as many blocks as n
// (of a view: rows and width) and the knobs say, and not as the device holds. They change with BLOCK_DIM, COARSE_FACTOR, the size of an element
// and perhaps the version. What is yours to see to: COARSEN_LIFT and COARSEN_OP must round alike on both, and nvcc
// makes of a product that is added up one operation, unless it has -fmad=false or the product is __fmul_rn(a, b).
//
// Price saved: the fence and the second trip to memory: see block/reduce.h for how the blocks meet;
// barriers, as the last steps of a tree, within a warp, are shuffles; and requests, as a warp's
// load brings 512 bytes. Price paid: registers, 4 COARSE_FACTOR per thread, for those loads.
// Cost: n elements read once; 8 bytes per 4-byte word of a block's partial result, written and
// read.
// Source: M. Harris, Optimizing Parallel Reduction in CUDA (2007), for the steps within a block;
// the flagged words are those of decoupled look-back, D. Merrill and M. Garland, Single-pass
// Parallel Prefix Scan with Decoupled Look-back (2016).

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_REDUCE_BLOCK_DIM)
#define BLOCK_DIM COARSEN_REDUCE_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_REDUCE_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_REDUCE_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/reduce: COARSE_FACTOR must be from 1 to 32"
#endif

#include "../block/reduce.h"
#include "../block/vector.h"
#if COARSEN_VIEW
#include "../block/view.h"
#endif

#define COARSEN_SMALL_ITEMS 8 // of a small array, elements per thread
#define COARSEN_SMALL_ROWS  4 // of one that is no more for all multiprocessors, vectors per thread

// Adds to sum up to COARSE_FACTOR vectors, BLOCK_DIM apart, from v on, all of them in flight before the first is used.
// count: vectors left, this thread's first included, at least 1. once: whether to load them with the evict-first hint.
// aligned: whether they are. first, here and below: the index that LIFT gets with in[0].
COARSEN_INLINE COARSEN_ACC COARSEN_(add_vectors)(COARSEN_ACC sum, COARSEN_(parts) parts, size_t v,
                                                 unsigned int count, bool once, const bool aligned,
                                                 size_t first)
{
    const COARSEN_(vector) *const vectors = parts.first + v;
    const size_t i = first + parts.head + v * COARSEN_ITEMS; // the index of its first element
    COARSEN_(vector) load[COARSE_FACTOR];
    // What is not left is the first again. With loads under a condition, the compiler puts sums between them.
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const unsigned int further = k * BLOCK_DIM < count ? k * BLOCK_DIM : 0;
        load[k] = !aligned ? COARSEN_(load_any)(parts, v + further)
                  : once   ? COARSEN_(load_once)(vectors + further)
                           : COARSEN_(load_vector)(vectors + further);
    }
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (k * BLOCK_DIM < count)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                sum = COARSEN_(op)(
                    sum,
                    COARSEN_(lift)(load[k].item[j], i + (size_t)k * BLOCK_DIM * COARSEN_ITEMS + j));
    return sum;
}

#if COARSEN_FIXED_TREE
// The same of COARSE_FACTOR vectors that are not aligned, none of them the array's first or last.
COARSEN_DEVICE COARSEN_ACC COARSEN_(add_inner)(COARSEN_ACC sum, COARSEN_(parts) parts, size_t v,
                                               size_t first)
{
    COARSEN_(around) around[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        around[k] = COARSEN_(load_around)(parts, v + k * BLOCK_DIM);
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const COARSEN_(vector) load = COARSEN_(between)(&around[k], parts);
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            sum = COARSEN_(op)(
                sum, COARSEN_(lift)(load.item[j], first + (v + k * BLOCK_DIM) * COARSEN_ITEMS + j));
    }
    return sum;
}
#endif

// A small array, by one block: a thread takes up to COARSEN_SMALL_ITEMS single elements, BLOCK_DIM apart.
// It is over so soon that each instruction counts, hence a kernel of its own, with the other's arguments.
COARSEN_INLINE void COARSEN_(add_small)(const COARSEN_TYPE *in, COARSEN_ACC *out, unsigned int n,
                                        size_t first)
{
    COARSEN_TYPE load[COARSEN_SMALL_ITEMS];
    COARSEN_ACC sum = COARSEN_(identity)();
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_SMALL_ITEMS; k++)
        if (k * BLOCK_DIM + threadIdx.x < n)
            load[k] = in[k * BLOCK_DIM + threadIdx.x];
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_SMALL_ITEMS; k++)
        if (k * BLOCK_DIM + threadIdx.x < n)
            sum = COARSEN_(op)(sum, COARSEN_(lift)(load[k], first + k * BLOCK_DIM + threadIdx.x));
    sum = COARSEN_(block)(sum);
    if (threadIdx.x == 0)
        *out = sum;
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(small_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                           COARSEN_UNUSED unsigned int tile,
                           COARSEN_UNUSED unsigned long long *scratch)
{
    COARSEN_(add_small)(in, out, (unsigned int)n, 0);
}

// The whole kernel, of so many blocks.
COARSEN_INLINE void COARSEN_(add_all)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                      unsigned int tile, unsigned int blocks,
                                      unsigned long long *scratch, const bool aligned, size_t first)
{
    unsigned long long ticket = 0;
    COARSEN_(enter)(scratch, &ticket);
    if (threadIdx.x == BLOCK_DIM - 1)
        COARSEN_(expect)(scratch + 2 + blockIdx.x * COARSEN_(words_of_slot));
    const COARSEN_(parts) parts =
        COARSEN_FIXED_TREE ? COARSEN_(split_any)(in, n) : COARSEN_(split)(in, n);
    const bool has_rest = blockIdx.x == blocks - 1 && threadIdx.x < parts.rest;
    const size_t i = COARSEN_(rest)(parts, threadIdx.x);
    COARSEN_TYPE rest;
    if (has_rest)
        rest = in[i];

    // An array read once is not worth a place in the cache: with the evict-first hint it leaves alone
    // what others wrote there, and does not wait for that to be written back. Past a quarter of a
    // gigabyte nothing of theirs would be left, and the hint costs 4% (H200).
    const bool once = n * sizeof(COARSEN_TYPE) <= (size_t)1 << 28;
    const unsigned int full = COARSE_FACTOR * BLOCK_DIM, t = threadIdx.x;
    const size_t step = (size_t)blocks * full;
    if (COARSE_FACTOR <= COARSEN_SMALL_ROWS)
        tile = full; // the compiler should know
    size_t v = (size_t)blockIdx.x * tile;
    COARSEN_ACC sum = COARSEN_(identity)();
#if COARSEN_FIXED_TREE
    if (!aligned) {
        if (v == 0 && full < parts.vectors) {
            sum = COARSEN_(add_vectors)(sum, parts, t, full, true, false, first);
            v = step;
        }
#pragma unroll 1
        for (; v + full < parts.vectors; v += step)
            sum = COARSEN_(add_inner)(sum, parts, v + t, first);
    }
#endif
    if (aligned && tile == full) {
        if (once)
#pragma unroll 1
            for (; v + full <= parts.vectors; v += step)
                sum = COARSEN_(add_vectors)(sum, parts, v + t, full, true, true, first);
        else
#pragma unroll 1
            for (; v + full <= parts.vectors; v += step)
                sum = COARSEN_(add_vectors)(sum, parts, v + t, full, false, true, first);
    }
    if (v + t < parts.vectors)
        sum = COARSEN_(add_vectors)(sum, parts, v + t,
                                    (unsigned int)coarsen_min(parts.vectors - v, tile) - t, true,
                                    aligned, first);
    if (has_rest)
        sum = COARSEN_(op)(sum, COARSEN_(lift)(rest, first + i));
    COARSEN_(meet)(sum, out, scratch, scratch + 2, blockIdx.x, blocks, &ticket);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, unsigned int tile,
                     unsigned long long *scratch)
{
    COARSEN_(add_all)(in, out, n, tile, gridDim.x, scratch, true, 0);
}

#if COARSEN_FIXED_TREE
// The same for an array at any distance from a boundary.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(any_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, unsigned int tile,
                         unsigned long long *scratch)
{
    COARSEN_(add_all)(in, out, n, tile, gridDim.x, scratch, false, 0);
}
#endif

// A row is a vector for each thread of a block, a tile the rows it takes at a time: COARSE_FACTOR, or fewer, where all
// multiprocessors hold the array at once. A tile per block, and a block at the least.
COARSEN_HOST_DEVICE size_t COARSEN_(blocks)(size_t n, size_t processors, unsigned int *tile)
{
    const size_t rows = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSEN_ITEMS);
    const unsigned int tile_rows = COARSE_FACTOR > COARSEN_SMALL_ROWS &&
                                           rows <= COARSEN_SMALL_ROWS * processors &&
                                           !COARSEN_FIXED_TREE
                                       ? COARSEN_SMALL_ROWS
                                       : COARSE_FACTOR;
    const size_t blocks = coarsen_ceil_div(rows, tile_rows);
    *tile = tile_rows * BLOCK_DIM;
    return blocks + !blocks;
}

#if COARSEN_COUNTED
// The same with n in device memory, and no more than `most` blocks at work, on so many multiprocessors.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(counted_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out,
                             const unsigned long long *count, size_t room, size_t processors,
                             size_t most, unsigned long long *scratch)
{
    const size_t n = *count;
    if (n > room)
        __trap(); // more than there is room for
    if (n <= COARSEN_SMALL_ITEMS * BLOCK_DIM) {
        if (blockIdx.x == 0)
            COARSEN_(add_small)(in, out, (unsigned int)n, 0);
        return;
    }
    unsigned int tile;
    const unsigned int blocks =
        (unsigned int)coarsen_min(COARSEN_(blocks)(n, processors, &tile), most);
    if (blockIdx.x >= blocks)
        return;
#if COARSEN_FIXED_TREE
    if (COARSEN_ITEMS > 1 && (size_t)in % sizeof(COARSEN_(vector)) != 0) {
        COARSEN_(add_all)(in, out, n, tile, blocks, scratch, false, 0);
        return;
    }
#endif
    COARSEN_(add_all)(in, out, n, tile, blocks, scratch, true, 0);
}
#endif

#if COARSEN_VIEW
// What a view's kernel is bound to. With three blocks of 512 threads, where a multiprocessor has room for 2048 threads,
// compilers have 40 registers for each, and wait for loads later than with the 32 that they would take.
#if (COARSEN_PTX == 800 || COARSEN_PTX == 900 || COARSEN_PTX == 1000 || COARSEN_PTX == 1030) &&    \
    !COARSEN_FIXED_TREE
#define COARSEN_BOUNDS                                                                             \
    BLOCK_DIM,                                                                                     \
        (BLOCK_DIM < 64                                                       ? 32                 \
         : BLOCK_DIM <= 512 && COARSE_FACTOR <= 4 && sizeof(COARSEN_ACC) <= 8 ? 1536 / BLOCK_DIM   \
                                                                              : 1)
#else
#define COARSEN_BOUNDS BLOCK_DIM
#endif

// Pieces of a view's tile, of so many items each: `loads` of them, BLOCK_DIM apart, from p on, which is there.
COARSEN_INLINE void COARSEN_(load_pieces)(COARSEN_(vector) * load, COARSEN_(rows) of,
                                          COARSEN_(place) at, const unsigned int items,
                                          unsigned int p, unsigned int pieces,
                                          const unsigned int loads, const bool once)
{
#pragma unroll
    for (unsigned int k = 0; k < loads; k++) { // what is not there is the first again
        const unsigned int q = p + (p + k * BLOCK_DIM < pieces ? k * BLOCK_DIM : 0);
        const COARSEN_(spot) spot = COARSEN_(piece_at)(of, at, items, q);
#if COARSEN_FIXED_TREE
        if (items > 1 && (size_t)spot.at % sizeof(COARSEN_(vector)) != 0) {
            load[k] = COARSEN_(load_any)(COARSEN_(split_any)(spot.row, of.width),
                                         (size_t)(spot.at - spot.row) / COARSEN_ITEMS);
            continue;
        }
#endif
        load[k] = COARSEN_(load_piece)(spot.at, items, once);
    }
}

COARSEN_INLINE COARSEN_ACC COARSEN_(add_pieces)(COARSEN_ACC sum, const COARSEN_(vector) * load,
                                                COARSEN_(rows) of, COARSEN_(place) at,
                                                const unsigned int items, unsigned int p,
                                                unsigned int pieces, const unsigned int loads)
{
#pragma unroll
    for (unsigned int k = 0; k < loads; k++)
        if (p + k * BLOCK_DIM < pieces) {
            const COARSEN_(spot) spot = COARSEN_(piece_at)(of, at, items, p + k * BLOCK_DIM);
            const size_t i = COARSEN_(index_of)(of, spot);
#pragma unroll
            for (unsigned int j = 0; j < items; j++)
                sum = COARSEN_(op)(sum, COARSEN_(lift)(load[k].item[j], i + j));
        }
    return sum;
}

// All of those that are no vectors, from p on.
COARSEN_INLINE COARSEN_ACC COARSEN_(add_left)(COARSEN_ACC sum, COARSEN_(rows) of,
                                              COARSEN_(place) at, const unsigned int items,
                                              unsigned int p, unsigned int pieces)
{
#pragma unroll 1
    for (; p < pieces; p += COARSE_FACTOR * BLOCK_DIM) {
        COARSEN_(vector) load[COARSE_FACTOR];
        COARSEN_(load_pieces)(load, of, at, items, p, pieces, COARSE_FACTOR, false);
        sum = COARSEN_(add_pieces)(sum, load, of, at, items, p, pieces, COARSE_FACTOR);
    }
    return sum;
}

// A view, whose tiles the blocks take in turn. The first of a thread's quads and of its single elements are on their way
// while it waits for vectors: a tile of long rows has no more.
COARSEN_INLINE void COARSEN_(add_view)(COARSEN_(rows) of, COARSEN_ACC *out,
                                       unsigned long long *scratch, const bool once)
{
    unsigned long long ticket = 0;
    COARSEN_(enter)(scratch, &ticket);
    const unsigned int t = threadIdx.x, few = COARSEN_(quad_items);
    COARSEN_ACC sum = COARSEN_(identity)();
    COARSEN_(place) at = COARSEN_(find)(of, blockIdx.x);
    const COARSEN_(place) step = COARSEN_(find)(of, gridDim.x);
#pragma unroll 1
    for (; COARSEN_(slots)(of, at) > 0; COARSEN_(advance)(of, &at, step)) {
        const unsigned int vectors = COARSEN_(pieces)(of, at, COARSEN_ITEMS),
                           quads = COARSEN_(pieces)(of, at, few),
                           elements = COARSEN_(pieces)(of, at, 1);
        COARSEN_(vector) load[COARSE_FACTOR], quad, element;
        if (few > 1 && t < quads)
            COARSEN_(load_pieces)(&quad, of, at, few, t, quads, 1, false);
        if (COARSEN_ITEMS > 1 && t < elements)
            COARSEN_(load_pieces)(&element, of, at, 1, t, elements, 1, false);
        if (t < vectors) {
            COARSEN_(load_pieces)(load, of, at, COARSEN_ITEMS, t, vectors, COARSE_FACTOR, once);
            sum = COARSEN_(add_pieces)(sum, load, of, at, COARSEN_ITEMS, t, vectors, COARSE_FACTOR);
        }
        if (few > 1) {
            sum = COARSEN_(add_pieces)(sum, &quad, of, at, few, t, quads, 1);
            sum = COARSEN_(add_left)(sum, of, at, few, t + BLOCK_DIM, quads);
        }
        if (COARSEN_ITEMS > 1) {
            sum = COARSEN_(add_pieces)(sum, &element, of, at, 1, t, elements, 1);
            sum = COARSEN_(add_left)(sum, of, at, 1, t + BLOCK_DIM, elements);
        }
    }
    COARSEN_(grid)(sum, out, scratch, &ticket);
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_BOUNDS)
    COARSEN_(view_kernel)(COARSEN_(rows) of, COARSEN_ACC *out, unsigned long long *scratch)
{
    COARSEN_(add_view)(of, out, scratch, false);
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_BOUNDS)
    COARSEN_(view_once_kernel)(COARSEN_(rows) of, COARSEN_ACC *out, unsigned long long *scratch)
{
    COARSEN_(add_view)(of, out, scratch, true);
}
#endif

#ifndef __CUDACC_RTC__
// The most blocks of a device with so many multiprocessors: as it can hold, so that there is one wave; or as a fixed tree has.
COARSEN_HOST size_t COARSEN_(most_blocks)(size_t processors, cudaError_t *status)
{
    int resident = 0; // per multiprocessor
    if (COARSEN_FIXED_TREE)
        return COARSEN_TREE_THREADS / BLOCK_DIM;
    if (*status == cudaSuccess)
        *status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                                BLOCK_DIM, 0);
    return processors * (size_t)resident;
}

// For as many blocks as there may be.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    cudaError_t status;
    const size_t rows = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSEN_ITEMS);
    if (COARSEN_FIXED_TREE)
        return COARSEN_(grid_bytes)(coarsen_min(rows, COARSEN_TREE_THREADS / BLOCK_DIM));
    return COARSEN_(grid_bytes)(coarsen_min(
        rows, coarsen_attribute(cudaDevAttrMultiProcessorCount, &status) * (2048 / BLOCK_DIM)));
}

typedef struct {
    void (*kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, unsigned int tile,
                   unsigned long long *scratch);
    dim3 grid, block;
    size_t shared_bytes, scratch_bytes;
    unsigned int tile;
} COARSEN_(planned);

COARSEN_HOST cudaError_t COARSEN_(plan)(COARSEN_UNUSED const COARSEN_TYPE *in, size_t n,
                                        COARSEN_(planned) * plan)
{
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    size_t blocks = COARSEN_(blocks)(n, processors, &plan->tile);
    if (COARSEN_FIXED_TREE || blocks > processors)
        blocks = coarsen_min(blocks, COARSEN_(most_blocks)(processors, &status));
    plan->kernel = COARSEN_(kernel);
#if COARSEN_FIXED_TREE
    if (COARSEN_ITEMS > 1 && (size_t)in % sizeof(COARSEN_(vector)) != 0)
        plan->kernel = COARSEN_(any_kernel);
#endif
    if (n <= COARSEN_SMALL_ITEMS * BLOCK_DIM) {
        plan->kernel = COARSEN_(small_kernel);
        blocks = 1;
    }
    plan->grid = dim3((unsigned int)blocks);
    plan->block = dim3(BLOCK_DIM);
    plan->shared_bytes = 0;
    plan->scratch_bytes = COARSEN_(scratch_bytes)(n);
    return status;
}

// Whether the type of an index can represent those of n elements.
COARSEN_HOST bool COARSEN_(indices_ok)(COARSEN_UNUSED size_t n)
{
#if defined(COARSEN_ARGMIN) || defined(COARSEN_ARGMAX)
    return n == 0 || (size_t)(COARSEN_(at_index))(n - 1) == n - 1;
#else
    return true;
#endif
}

COARSEN_HOST bool COARSEN_(arguments_ok)(const COARSEN_TYPE *in, const COARSEN_ACC *out, size_t n,
                                         const void *scratch, size_t scratch_bytes, size_t needed)
{
    return coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) &&
           coarsen_array_ok(out, 1) && coarsen_bytes_ok(scratch, 1, needed, 16) &&
           scratch_bytes >= needed && COARSEN_(indices_ok)(n);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    const cudaError_t status = COARSEN_(plan)(in, n, &plan);
    if (status != cudaSuccess)
        return status;
    if (!COARSEN_(arguments_ok)(in, out, n, scratch, scratch_bytes, plan.scratch_bytes))
        return cudaErrorInvalidValue;
    unsigned long long *const words = (unsigned long long *)scratch;
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    if (plan.kernel == COARSEN_(small_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(small_kernel), in, out, n, plan.tile, words);
#if COARSEN_FIXED_TREE
    if (plan.kernel == COARSEN_(any_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(any_kernel), in, out, n, plan.tile, words);
#endif
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, plan.tile, words);
}

#if COARSEN_COUNTED
COARSEN_HOST cudaError_t COARSEN_(launch_counted)(const COARSEN_TYPE *in, COARSEN_ACC *out,
                                                  const unsigned long long *n, size_t most,
                                                  void *scratch, size_t scratch_bytes,
                                                  cudaStream_t stream)
{
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t most_blocks = COARSEN_(most_blocks)(processors, &status);
    if (status != cudaSuccess)
        return status;
    if (!COARSEN_(arguments_ok)(in, out, most, scratch, scratch_bytes,
                                COARSEN_(scratch_bytes)(most)) ||
        !coarsen_array_ok(n, 1))
        return cudaErrorInvalidValue;
    const size_t rows = coarsen_ceil_div(most + !most, (size_t)BLOCK_DIM * COARSEN_ITEMS);
    const size_t blocks = coarsen_ceil_div(rows, coarsen_min(COARSE_FACTOR, COARSEN_SMALL_ROWS));
    const cudaLaunchConfig_t config =
        coarsen_launch_config(coarsen_min(blocks, most_blocks), BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(counted_kernel), in, out, n, most, processors,
                              most_blocks, (unsigned long long *)scratch);
}
#endif

#if COARSEN_VIEW
COARSEN_HOST cudaError_t COARSEN_(launch_view)(const COARSEN_TYPE *in, size_t pitch, size_t rows,
                                               size_t width, COARSEN_ACC *out, void *scratch,
                                               size_t scratch_bytes, cudaStream_t stream)
{
    const COARSEN_(rows) of = COARSEN_(cut)(in, pitch, rows, width, COARSE_FACTOR * BLOCK_DIM);
    const size_t n = width > 0 ? rows * width : 0;
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    void (*const kernel)(COARSEN_(rows) of, COARSEN_ACC * out, unsigned long long *scratch) =
        of.once ? COARSEN_(view_once_kernel) : COARSEN_(view_kernel);
    int resident = 0; // per multiprocessor
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, BLOCK_DIM, 0);
    const size_t most =
        COARSEN_FIXED_TREE ? COARSEN_TREE_THREADS / BLOCK_DIM : processors * (size_t)resident;
    if (status != cudaSuccess)
        return status;
    if (!coarsen_rows_ok(in, pitch, rows, width, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !COARSEN_(arguments_ok)(width > 0 ? in : NULL, out, n, scratch, scratch_bytes,
                                COARSEN_(scratch_bytes)(n)))
        return cudaErrorInvalidValue;
    if ((pitch == width || rows == 1) && !COARSEN_FIXED_TREE)
        return COARSEN_(launch)(in, out, n, scratch, scratch_bytes, stream);
    // The scratch has slots for as many, as a tile has no fewer elements than BLOCK_DIM vectors.
    const size_t blocks = coarsen_min(coarsen_ceil_div(of.slots, of.tile), most);
    unsigned long long *const words = (unsigned long long *)scratch;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks + !blocks, BLOCK_DIM, 0, stream);
    if (blocks == 0)
        return cudaLaunchKernelEx(&config, COARSEN_(small_kernel), in, out, n, 0u, words);
    return cudaLaunchKernelEx(&config, kernel, of, out, words);
}
#endif
#endif
#undef COARSEN_SMALL_ITEMS
#undef COARSEN_SMALL_ROWS
#undef COARSEN_BOUNDS

#define COARSEN_END
#include "../base.h"
