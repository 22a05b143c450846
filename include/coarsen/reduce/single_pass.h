// SPDX-License-Identifier: MIT
//
// coarsen/reduce/single_pass.h: reduction, sixth rung. Over coarsened.h:
// wide loads, warp shuffles, and no commits: the block that started last collects the partials.
//
//     out[0] = LIFT(in[0], 0) OP LIFT(in[1], 1) OP ... OP LIFT(in[n-1], n-1)
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/reduce/single_pass.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator, the partials and the result    |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) as a COARSEN_ACC     |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC  |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 512 or tuned     | threads a block: a multiple of 32 from 32 to 1024    |
// | COARSE_FACTOR        | 4 or tuned       | 16-byte loads a thread has in flight, from 1 to 32   |
//
// tuned: COARSEN_REDUCE_BLOCK_DIM and COARSEN_REDUCE_COARSE_FACTOR, where they are defined, as they
// are by a header that coarsen-tune wrote.
//
// Defines, for use in other kernels,
//
//     COARSEN_ACC NAME_warp(COARSEN_ACC a)    the 32 lanes' a reduced, in lane 0; all 32 lanes call it
//     COARSEN_ACC NAME_block(COARSEN_ACC a)   the block's a reduced, in thread 0; the block is
//                                             BLOCK_DIM x 1 x 1 and all of it calls; a barrier goes
//                                             between two calls
//     void        NAME_grid(...)              the grid's a reduced, in global memory; see there
//     NAME_acc, NAME_op(a, b), NAME_identity(), NAME_block_dim    what was given as parameters
//
// and NAME_kernel(in, out, n, tile, slots, ticket), for any number of blocks, which take turns at
// tiles of up to COARSE_FACTOR BLOCK_DIM vectors, and
//
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//
// in: n elements in device memory, at any element's alignment. out: one COARSEN_ACC, apart from in; it
// gets the identity when n is 0. scratch: device memory, 16-byte aligned, **zeroed once**, after it
// was allocated: each launch leaves it zero for the next, whatever its n. One scratch for each
// launch that may run at the same time. Errors: cudaErrorInvalidValue for a null, misaligned or
// overflowing array and for too small a scratch, with nothing written; those of the runtime's device
// queries. Deterministic: on one model of device, an n and an alignment give the same bits always.
//
// Price saved: the commits, with the initialisation, the second launch and the non-determinism that
// come with them; barriers, as a tree's last steps, within a warp, are shuffles; and requests, as a
// warp's load brings 512 bytes. Price paid: registers, 4 COARSE_FACTOR a thread, for those loads.
// Cost: n elements read once; 8 bytes a 4-byte word of a block's partial result, written and read.
//
// How the blocks meet: each leaves its partial result in a slot of its own, every word of it beside
// a flag in one 8-byte store, so that no fence is needed and a word that can be seen is whole. The
// block that started last collects them. As all others have started, it waits for none that can't
// run, whatever the order of blocks; and it adds them up by their place, so the order is not seen.
// A fence, an atomic and a second round trip for the last block to *finish* took 0.6 us longer.
//
// Source: M. Harris, Optimizing Parallel Reduction in CUDA (2007), for the steps within a block;
// the flagged words are those of decoupled look-back, D. Merrill and M. Garland, Single-pass
// Parallel Prefix Scan with Decoupled Look-back (2016).

#include "../base.h"

// ---- Template: each inclusion -------------------------------------------------------------------

#ifndef COARSEN_NAME
#error "coarsen/reduce: define COARSEN_NAME, the prefix of the names to make, before the include"
#endif
#ifndef COARSEN_TYPE
#error "coarsen/reduce: define COARSEN_TYPE, the element type, before the include"
#endif
#if defined(COARSEN_OP) && !defined(COARSEN_IDENTITY)
#error "coarsen/reduce: COARSEN_OP needs COARSEN_IDENTITY, what no elements reduce to"
#endif
#ifndef COARSEN_ACC
#define COARSEN_ACC COARSEN_TYPE
#endif
#ifndef COARSEN_LIFT
#define COARSEN_LIFT(x, i) ((COARSEN_ACC)(x))
#endif
#ifndef COARSEN_OP
#define COARSEN_OP COARSEN_SUM
#endif
#ifndef COARSEN_IDENTITY
#define COARSEN_IDENTITY ((COARSEN_ACC)0)
#endif
#if !defined(BLOCK_DIM) && defined(COARSEN_REDUCE_BLOCK_DIM)
#define BLOCK_DIM COARSEN_REDUCE_BLOCK_DIM
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#if BLOCK_DIM < 32 || BLOCK_DIM > 1024 || BLOCK_DIM % 32 != 0
#error "coarsen/reduce: BLOCK_DIM must be a multiple of 32 from 32 to 1024"
#endif
#if !defined(COARSE_FACTOR) && defined(COARSEN_REDUCE_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_REDUCE_COARSE_FACTOR
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#endif
#if COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/reduce: COARSE_FACTOR must be from 1 to 32"
#endif

#define NAME_vector        COARSEN_JOIN(COARSEN_NAME, _vector)
#define NAME_words         COARSEN_JOIN(COARSEN_NAME, _words)
#define NAME_warp          COARSEN_JOIN(COARSEN_NAME, _warp)
#define NAME_block         COARSEN_JOIN(COARSEN_NAME, _block)
#define NAME_leave         COARSEN_JOIN(COARSEN_NAME, _leave)
#define NAME_collect       COARSEN_JOIN(COARSEN_NAME, _collect)
#define NAME_grid          COARSEN_JOIN(COARSEN_NAME, _grid)
#define NAME_acc           COARSEN_JOIN(COARSEN_NAME, _acc)
#define NAME_op            COARSEN_JOIN(COARSEN_NAME, _op)
#define NAME_identity      COARSEN_JOIN(COARSEN_NAME, _identity)
#define NAME_block_dim     COARSEN_JOIN(COARSEN_NAME, _block_dim)
#define NAME_load          COARSEN_JOIN(COARSEN_NAME, _load)
#define NAME_add           COARSEN_JOIN(COARSEN_NAME, _add)
#define NAME_small_kernel  COARSEN_JOIN(COARSEN_NAME, _small_kernel)
#define NAME_kernel        COARSEN_JOIN(COARSEN_NAME, _kernel)
#define NAME_blocks        COARSEN_JOIN(COARSEN_NAME, _blocks)
#define NAME_scratch_bytes COARSEN_JOIN(COARSEN_NAME, _scratch_bytes)
#define NAME_launch        COARSEN_JOIN(COARSEN_NAME, _launch)

#define COARSEN_SMALL      8
#define COARSEN_ITEMS      COARSEN_VECTOR_ITEMS(COARSEN_TYPE)

typedef struct __attribute__((aligned(COARSEN_VECTOR_ALIGN(COARSEN_TYPE)), may_alias)) {
    COARSEN_TYPE item[COARSEN_ITEMS];
} NAME_vector;

// What a kernel of another kind needs to know to end in this reduction: coarsen/fuse.h does.
typedef COARSEN_ACC NAME_acc;
enum { NAME_block_dim = BLOCK_DIM };

COARSEN_DEVICE COARSEN_ACC NAME_op(COARSEN_ACC a, COARSEN_ACC b)
{
    return COARSEN_OP(a, b);
}

COARSEN_DEVICE COARSEN_ACC NAME_identity(void)
{
    return COARSEN_IDENTITY;
}

// An accumulator as the words that shuffles and slots carry.
#define COARSEN_WORDS ((sizeof(COARSEN_ACC) + 3) / 4)
typedef struct {
    unsigned int word[COARSEN_WORDS];
} NAME_words;

COARSEN_DEVICE COARSEN_ACC NAME_warp(COARSEN_ACC sum)
{
#pragma unroll
    for (unsigned int delta = 16; delta > 0; delta /= 2) {
        NAME_words words = {};
        COARSEN_ACC other;
        memcpy(&words, &sum, sizeof(sum));
#pragma unroll
        for (unsigned int w = 0; w < COARSEN_WORDS; w++)
            words.word[w] = __shfl_down_sync(0xffffffff, words.word[w], delta);
        memcpy(&other, &words, sizeof(other));
        sum = COARSEN_OP(sum, other);
    }
    return sum;
}

COARSEN_DEVICE COARSEN_ACC NAME_block(COARSEN_ACC sum)
{
    __shared__ COARSEN_ACC partial[BLOCK_DIM / 32];
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    sum = NAME_warp(sum);
    if (lane == 0)
        partial[warp] = sum;
    __syncthreads();
    // Every warp does the rest, as asking which one it is takes more instructions than it saves.
    sum = COARSEN_IDENTITY;
    if (lane < BLOCK_DIM / 32)
        sum = partial[lane];
    return NAME_warp(sum);
}

COARSEN_DEVICE void NAME_leave(volatile unsigned long long *slot, COARSEN_ACC sum)
{
    NAME_words words = {};
    memcpy(&words, &sum, sizeof(sum));
    for (unsigned int w = 0; w < COARSEN_WORDS; w++)
        slot[w] = 1ULL << 32 | words.word[w];
}

// Waits for what NAME_leave left, and clears the slot for the next launch.
COARSEN_DEVICE COARSEN_ACC NAME_collect(volatile unsigned long long *slot)
{
    NAME_words words;
    COARSEN_ACC sum;
    for (unsigned int w = 0; w < COARSEN_WORDS; w++) {
        unsigned long long flagged;
        do
            flagged = slot[w];
        while (flagged >> 32 == 0);
        words.word[w] = (unsigned int)flagged;
        slot[w] = 0;
    }
    memcpy(&sum, &words, sizeof(sum));
    return sum;
}

// The sums of all threads of the grid reduced to *out. All of them call it, once a launch, blocks being
// BLOCK_DIM x 1 x 1 and the grid one-dimensional, with a slot of NAME_scratch_bytes() for each block.
// *started_last is in shared memory; thread 0 wrote it: atomicAdd(ticket, 1) == gridDim.x - 1.
COARSEN_DEVICE void NAME_grid(COARSEN_ACC sum, COARSEN_ACC *out, unsigned long long *slots,
                              unsigned int *ticket, const bool *started_last)
{
    sum = NAME_block(sum);
    if (threadIdx.x == 0)
        NAME_leave(slots + blockIdx.x * COARSEN_WORDS, sum);
    if (!*started_last)
        return;

    sum = COARSEN_IDENTITY;
    for (unsigned int b = threadIdx.x; b < gridDim.x; b += BLOCK_DIM) {
        const COARSEN_ACC x = NAME_collect(slots + b * COARSEN_WORDS);
        sum = COARSEN_OP(sum, x);
    }
    __syncthreads();
    sum = NAME_block(sum);
    if (threadIdx.x == 0) {
        *out = sum;
        atomicExch(ticket, 0);
    }
}

// A vector, read with the evict-first hint if asked.
COARSEN_DEVICE NAME_vector NAME_load(const NAME_vector *from, bool evict_first)
{
    if (sizeof(NAME_vector) != sizeof(uint4) || !evict_first)
        return *from;
    const uint4 bits = __ldcs((const uint4 *)from);
    NAME_vector load;
    memcpy(&load, &bits, sizeof(load));
    return load;
}

// Adds to sum up to COARSE_FACTOR vectors, BLOCK_DIM apart, all of them in flight before the first is
// used. i: the index in the array of vectors[0]'s first element. count: vectors left in the tile, this
// thread's first included.
COARSEN_DEVICE COARSEN_ACC NAME_add(COARSEN_ACC sum, const NAME_vector *vectors,
                                    COARSEN_UNUSED size_t i, size_t count, bool evict_first)
{
    NAME_vector load[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (k * BLOCK_DIM < count)
            load[k] = NAME_load(vectors + k * BLOCK_DIM, evict_first);
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++)
        if (k * BLOCK_DIM < count)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
                const COARSEN_ACC x =
                    COARSEN_LIFT(load[k].item[j], i + (size_t)k * BLOCK_DIM * COARSEN_ITEMS + j);
                sum = COARSEN_OP(sum, x);
            }
    return sum;
}

// A small array, by one block: a thread takes up to COARSEN_SMALL single elements, BLOCK_DIM apart.
// It is over so soon that the fetching of its instructions counts, hence a kernel of its own.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    NAME_small_kernel(const COARSEN_TYPE *in, COARSEN_ACC *out, unsigned int n)
{
    COARSEN_TYPE load[COARSEN_SMALL];
    COARSEN_ACC sum = COARSEN_IDENTITY;
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_SMALL; k++)
        if (k * BLOCK_DIM + threadIdx.x < n)
            load[k] = in[k * BLOCK_DIM + threadIdx.x];
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_SMALL; k++)
        if (k * BLOCK_DIM + threadIdx.x < n) {
            const COARSEN_ACC x = COARSEN_LIFT(load[k], (size_t)k * BLOCK_DIM + threadIdx.x);
            sum = COARSEN_OP(sum, x);
        }
    sum = NAME_block(sum);
    if (threadIdx.x == 0)
        *out = sum;
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    NAME_kernel(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, unsigned int tile,
                unsigned long long *slots, unsigned int *ticket)
{
    // From the first 16-byte boundary on, the array is vectors; the rest are fewer than 32 elements.
    const size_t misaligned = (size_t)in % sizeof(NAME_vector) / sizeof(COARSEN_TYPE);
    const size_t head = coarsen_min(n, misaligned == 0 ? 0 : COARSEN_ITEMS - misaligned);
    const size_t vectors = (n - head) / COARSEN_ITEMS;
    const size_t rest = n - vectors * COARSEN_ITEMS;
    const NAME_vector *const in_vectors = (const NAME_vector *)(in + head);

    __shared__ bool started_last;
    if (threadIdx.x == 0)
        started_last = atomicAdd(ticket, 1) == gridDim.x - 1;

    // An array read once is not worth a place in the cache: with the evict-first hint it leaves alone
    // what others wrote there, and does not wait for that to be written back. Past a quarter of a
    // gigabyte nothing of theirs would be left, and the hint costs 4% (H200).
    const bool evict_first = n * sizeof(COARSEN_TYPE) <= (size_t)1 << 28;
    const size_t full = (COARSE_FACTOR - 1) * BLOCK_DIM;
    const size_t step = (size_t)gridDim.x * tile;
    size_t v = (size_t)blockIdx.x * tile + threadIdx.x;
    COARSEN_ACC sum = COARSEN_IDENTITY;
    if (tile > full) {
        if (evict_first)
#pragma unroll 1
            for (; v + full < vectors; v += step)
                sum = NAME_add(sum, in_vectors + v, head + v * COARSEN_ITEMS, full + 1, true);
        else
#pragma unroll 1
            for (; v + full < vectors; v += step)
                sum = NAME_add(sum, in_vectors + v, head + v * COARSEN_ITEMS, full + 1, false);
    }
    if (v < vectors)
        sum = NAME_add(sum, in_vectors + v, head + v * COARSEN_ITEMS,
                       coarsen_min(vectors - v, tile - threadIdx.x), true);
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < rest) {
        const size_t i = threadIdx.x < head ? threadIdx.x : threadIdx.x + vectors * COARSEN_ITEMS;
        const COARSEN_ACC x = COARSEN_LIFT(in[i], i);
        sum = COARSEN_OP(sum, x);
    }

    NAME_grid(sum, out, slots, ticket, &started_last);
}

#ifndef __CUDACC_RTC__

// A row is a vector for each thread of a block, a tile the rows it takes at a time. A small array goes
// in tiles of two rows, while that makes no more than a block a multiprocessor; a larger one in tiles
// of COARSE_FACTOR rows, with no more blocks than the device can hold, so that there is one wave.
COARSEN_HOST size_t NAME_blocks(size_t n, unsigned int *tile, cudaError_t *status)
{
    const size_t rows = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSEN_ITEMS);
    const size_t processors = coarsen_multiprocessors(status);
    const unsigned int tile_rows = rows <= 2 * processors && COARSE_FACTOR > 2 ? 2 : COARSE_FACTOR;
    size_t blocks = coarsen_ceil_div(rows, tile_rows);
    if (blocks > processors && *status == cudaSuccess)
        blocks = coarsen_min(
            blocks, coarsen_resident_blocks((const void *)NAME_kernel, BLOCK_DIM, 0, status));
    *tile = tile_rows * BLOCK_DIM;
    return blocks > 0 ? blocks : 1;
}

// The ticket, in 16 bytes, and a slot for each block there may be.
COARSEN_HOST size_t NAME_scratch_bytes(size_t n)
{
    cudaError_t status;
    const size_t rows = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSEN_ITEMS);
    const size_t slots = coarsen_min(rows, coarsen_multiprocessors(&status) * (2048 / BLOCK_DIM));
    return 16 + slots * COARSEN_WORDS * sizeof(unsigned long long);
}

COARSEN_HOST cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                     void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    cudaError_t status;
    unsigned int tile;
    const size_t blocks = NAME_blocks(n, &tile, &status);
    if (status != cudaSuccess)
        return status;
    if (!coarsen_array_ok(in, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, 1, sizeof(COARSEN_ACC), __alignof__(COARSEN_ACC)) ||
        !coarsen_array_ok(scratch, 1, NAME_scratch_bytes(n), 16) ||
        scratch_bytes < NAME_scratch_bytes(n))
        return cudaErrorInvalidValue;
    unsigned int *const ticket = (unsigned int *)scratch;
    unsigned long long *const slots = (unsigned long long *)scratch + 2;
    if (n <= COARSEN_SMALL * BLOCK_DIM) {
        const cudaLaunchConfig_t config = coarsen_launch_config(1, BLOCK_DIM, 0, stream);
        return cudaLaunchKernelEx(&config, NAME_small_kernel, in, out, (unsigned int)n);
    }
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, NAME_kernel, in, out, n, tile, slots, ticket);
}

#endif

#undef COARSEN_ITEMS
#undef COARSEN_WORDS
#undef NAME_vector
#undef NAME_words
#undef NAME_leave
#undef NAME_collect
#undef NAME_grid
#undef NAME_acc
#undef NAME_op
#undef NAME_identity
#undef NAME_block_dim
#undef NAME_load
#undef NAME_add
#undef NAME_warp
#undef NAME_block
#undef NAME_small_kernel
#undef NAME_kernel
#undef COARSEN_SMALL
#undef NAME_blocks
#undef NAME_scratch_bytes
#undef NAME_launch
#undef COARSEN_NAME
#undef COARSEN_TYPE
#undef COARSEN_ACC
#undef COARSEN_LIFT
#undef COARSEN_OP
#undef COARSEN_IDENTITY
#undef COARSEN_ATOMIC
#undef BLOCK_DIM
#undef COARSE_FACTOR
