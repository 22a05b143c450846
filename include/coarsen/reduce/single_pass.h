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
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid, plan->block,
// plan->shared_bytes, stream>>>(in, out, n, plan->tile, scratch), with plan->scratch_bytes of scratch. NAME_kernel takes
// any n, any number of blocks, which have 8 bytes of scratch per word of a COARSEN_ACC besides 16, and a tile of
// COARSE_FACTOR * BLOCK_DIM.
// in: n elements in device memory, at any element's alignment (its size, if that divides 16), not changed. out: one COARSEN_ACC,
// apart from in; the identity if n is 0. scratch: device memory, 16-byte aligned. NAME_scratch_init
// makes it ready once, by zeros; each launch leaves it ready for the next, for any n. One scratch
// per launch that may run at the same time. A scratch that was not made ready ends the launch with
// an error (__trap). Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array or
// too small a scratch, with nothing written; those of the runtime's device queries.
// Deterministic: on one model of device, an n and an alignment give the same bits always.
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

#define COARSEN_SMALL_ITEMS 8 // of a small array, elements per thread
#define COARSEN_SMALL_ROWS  4 // of one that is no more for all multiprocessors, vectors per thread

// Adds to sum up to COARSE_FACTOR vectors, BLOCK_DIM apart, all of them in flight before the first is used. i: the
// index in the array of vectors[0]'s first element. count: vectors left, this thread's first included, at least 1.
// once: whether to load them with the evict-first hint.
COARSEN_DEVICE COARSEN_ACC COARSEN_(add_vectors)(COARSEN_ACC sum, const COARSEN_(vector) * vectors,
                                                 size_t i, unsigned int count, bool once)
{
    COARSEN_(vector) load[COARSE_FACTOR];
    // What is not left is the first again. With loads under a condition, the compiler puts sums between them.
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const COARSEN_(vector) *const from = vectors + (k * BLOCK_DIM < count ? k * BLOCK_DIM : 0);
        load[k] = once ? COARSEN_(load_once)(from) : COARSEN_(load_vector)(from);
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

// A small array, by one block: a thread takes up to COARSEN_SMALL_ITEMS single elements, BLOCK_DIM apart.
// It is over so soon that each instruction counts, hence a kernel of its own, with the other's arguments.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(small_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t elements,
                           COARSEN_UNUSED unsigned int tile,
                           COARSEN_UNUSED unsigned long long *scratch)
{
    const unsigned int n = (unsigned int)elements;
    COARSEN_TYPE load[COARSEN_SMALL_ITEMS];
    COARSEN_ACC sum = COARSEN_(identity)();
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_SMALL_ITEMS; k++)
        if (k * BLOCK_DIM + threadIdx.x < n)
            load[k] = in[k * BLOCK_DIM + threadIdx.x];
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_SMALL_ITEMS; k++)
        if (k * BLOCK_DIM + threadIdx.x < n)
            sum = COARSEN_(op)(sum, COARSEN_(lift)(load[k], (size_t)k * BLOCK_DIM + threadIdx.x));
    sum = COARSEN_(block)(sum);
    if (threadIdx.x == 0)
        *out = sum;
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, unsigned int tile,
                     unsigned long long *scratch)
{
    unsigned long long ticket = 0;
    COARSEN_(enter)(scratch, &ticket);
    if (threadIdx.x == BLOCK_DIM - 1)
        COARSEN_(expect)(scratch + 2 + blockIdx.x * COARSEN_(words_of_slot));
    const COARSEN_(parts) parts = COARSEN_(split)(in, n);
    const bool has_rest = blockIdx.x == gridDim.x - 1 && threadIdx.x < parts.rest;
    const size_t i = COARSEN_(rest)(parts, threadIdx.x);
    COARSEN_TYPE rest;
    if (has_rest)
        rest = in[i];

    // An array read once is not worth a place in the cache: with the evict-first hint it leaves alone
    // what others wrote there, and does not wait for that to be written back. Past a quarter of a
    // gigabyte nothing of theirs would be left, and the hint costs 4% (H200).
    const bool once = n * sizeof(COARSEN_TYPE) <= (size_t)1 << 28;
    const unsigned int full = COARSE_FACTOR * BLOCK_DIM, t = threadIdx.x;
    const size_t step = (size_t)gridDim.x * full;
    if (COARSE_FACTOR <= COARSEN_SMALL_ROWS)
        tile = full; // the compiler should know
    size_t v = (size_t)blockIdx.x * tile;
    COARSEN_ACC sum = COARSEN_(identity)();
    if (tile == full) {
        if (once)
#pragma unroll 1
            for (; v + full <= parts.vectors; v += step)
                sum = COARSEN_(add_vectors)(sum, parts.first + v + t,
                                            parts.head + (v + t) * COARSEN_ITEMS, full, true);
        else
#pragma unroll 1
            for (; v + full <= parts.vectors; v += step)
                sum = COARSEN_(add_vectors)(sum, parts.first + v + t,
                                            parts.head + (v + t) * COARSEN_ITEMS, full, false);
    }
    if (v + t < parts.vectors)
        sum = COARSEN_(add_vectors)(sum, parts.first + v + t, parts.head + (v + t) * COARSEN_ITEMS,
                                    (unsigned int)coarsen_min(parts.vectors - v, tile) - t, true);
    if (has_rest)
        sum = COARSEN_(op)(sum, COARSEN_(lift)(rest, i));
    COARSEN_(grid)(sum, out, scratch, &ticket);
}

#ifndef __CUDACC_RTC__
// A row is a vector for each thread of a block, a tile the rows it takes at a time: COARSE_FACTOR, with no more blocks
// than the device can hold, so that there is one wave; or fewer, where all multiprocessors hold the array at once.
COARSEN_HOST size_t COARSEN_(blocks)(size_t n, unsigned int *tile, cudaError_t *status)
{
    const size_t rows = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSEN_ITEMS);
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, status);
    const unsigned int tile_rows =
        COARSE_FACTOR > COARSEN_SMALL_ROWS && rows <= COARSEN_SMALL_ROWS * processors
            ? COARSEN_SMALL_ROWS
            : COARSE_FACTOR;
    const size_t blocks = coarsen_ceil_div(rows, tile_rows);
    *tile = tile_rows * BLOCK_DIM;
    int resident = 0; // per multiprocessor
    if (blocks > processors && *status == cudaSuccess)
        *status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                                BLOCK_DIM, 0);
    if (resident > 0)
        return coarsen_min(blocks, processors * (size_t)resident);
    return blocks > 0 ? blocks : 1;
}

// For as many blocks as there may be.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    cudaError_t status;
    const size_t rows = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSEN_ITEMS);
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
    const size_t blocks = COARSEN_(blocks)(n, &plan->tile, &status);
    const bool small = n <= COARSEN_SMALL_ITEMS * BLOCK_DIM;
    plan->kernel = small ? COARSEN_(small_kernel) : COARSEN_(kernel);
    plan->grid = dim3(small ? 1 : (unsigned int)blocks);
    plan->block = dim3(BLOCK_DIM);
    plan->shared_bytes = 0;
    plan->scratch_bytes = COARSEN_(scratch_bytes)(n);
    return status;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    COARSEN_(planned) plan;
    const cudaError_t status = COARSEN_(plan)(in, n, &plan);
    if (status != cudaSuccess)
        return status;
    if (!coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, 1) || !coarsen_bytes_ok(scratch, 1, plan.scratch_bytes, 16) ||
        scratch_bytes < plan.scratch_bytes)
        return cudaErrorInvalidValue;
    unsigned long long *const words = (unsigned long long *)scratch;
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    if (plan.kernel == COARSEN_(small_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(small_kernel), in, out, n, plan.tile, words);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, plan.tile, words);
}
#endif
#undef COARSEN_SMALL_ITEMS
#undef COARSEN_SMALL_ROWS

#define COARSEN_END
#include "../base.h"
