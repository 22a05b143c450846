// SPDX-License-Identifier: MIT
//
// coarsen/reduce/single_pass.h: reduction, sixth rung. Over coarsened.h:
// wide loads, warp shuffles, and no atomic commit: the last block to finish adds up the partials.
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
// | BLOCK_DIM            | 256              | threads a block: a multiple of 32 from 32 to 1024    |
// | COARSE_FACTOR        | 4                | 16-byte loads a thread has in flight, from 1 to 32   |
//
// Defines, for use in other kernels,
//
//     COARSEN_ACC NAME_warp(COARSEN_ACC a)    the 32 lanes' a reduced, in lane 0; all 32 lanes call it
//     COARSEN_ACC NAME_block(COARSEN_ACC a)   the block's a reduced, in thread 0; the block is
//                                             BLOCK_DIM x 1 x 1 and all of it calls; no barrier after
//
// and NAME_kernel(in, out, n, partials, arrived), for a grid of any number of blocks, and
//
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//
// in: n elements in device memory, at any element's alignment. out: one COARSEN_ACC, apart from in; it
// gets the identity when n is 0. scratch: device memory, 16-byte aligned, **zeroed once**, after it
// was allocated: each launch leaves it ready for the next, whatever its n. One scratch for each
// launch that may run at the same time. Errors: cudaErrorInvalidValue for a null, misaligned or
// overflowing array and for too small a scratch, with nothing written; those of the runtime's device
// queries. Deterministic: on one model of device, an n and an alignment give the same bits always.
//
// Price saved: the atomic commits, and the initialisation and the non-determinism that come with
// them; barriers, as the tree's last steps, within a warp, are shuffles; and requests, a warp's load
// bringing 512 bytes. Price paid: registers, 4 COARSE_FACTOR a thread, for the loads in flight.
// Cost: n elements read once; a partial a block, written and read once.
//
// Source: M. Harris, Optimizing Parallel Reduction in CUDA (2007); the threadFenceReduction sample.

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
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#if BLOCK_DIM < 32 || BLOCK_DIM > 1024 || BLOCK_DIM % 32 != 0
#error "coarsen/reduce: BLOCK_DIM must be a multiple of 32 from 32 to 1024"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#endif
#if COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/reduce: COARSE_FACTOR must be from 1 to 32"
#endif

#define NAME_vector        COARSEN_JOIN(COARSEN_NAME, _vector)
#define NAME_warp          COARSEN_JOIN(COARSEN_NAME, _warp)
#define NAME_block         COARSEN_JOIN(COARSEN_NAME, _block)
#define NAME_kernel        COARSEN_JOIN(COARSEN_NAME, _kernel)
#define NAME_blocks        COARSEN_JOIN(COARSEN_NAME, _blocks)
#define NAME_scratch_bytes COARSEN_JOIN(COARSEN_NAME, _scratch_bytes)
#define NAME_launch        COARSEN_JOIN(COARSEN_NAME, _launch)

#define COARSEN_ITEMS      COARSEN_VECTOR_ITEMS(COARSEN_TYPE)

typedef struct __attribute__((aligned(COARSEN_VECTOR_ALIGN(COARSEN_TYPE)))) {
    COARSEN_TYPE item[COARSEN_ITEMS];
} NAME_vector;

COARSEN_DEVICE COARSEN_ACC NAME_warp(COARSEN_ACC sum)
{
    // Shuffles move words; an accumulator of any size is a few of them.
    union {
        unsigned int word[(sizeof(COARSEN_ACC) + 3) / 4];
        char bytes[sizeof(COARSEN_ACC)];
    } other;
#pragma unroll
    for (unsigned int delta = 16; delta > 0; delta /= 2) {
        memcpy(&other, &sum, sizeof(sum));
#pragma unroll
        for (unsigned int w = 0; w < sizeof(other) / 4; w++)
            other.word[w] = __shfl_down_sync(0xffffffff, other.word[w], delta);
        COARSEN_ACC partner;
        memcpy(&partner, &other, sizeof(partner));
        sum = COARSEN_OP(sum, partner);
    }
    return sum;
}

COARSEN_DEVICE COARSEN_ACC NAME_block(COARSEN_ACC sum)
{
    __shared__ COARSEN_ACC partial[BLOCK_DIM / 32];
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    sum = NAME_warp(sum);
    if (BLOCK_DIM == 32)
        return sum;
    __syncthreads(); // an earlier call may still be reading partial
    if (lane == 0)
        partial[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < BLOCK_DIM / 32 ? partial[lane] : COARSEN_IDENTITY;
        sum = NAME_warp(sum);
    }
    return sum;
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    NAME_kernel(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, COARSEN_ACC *partials,
                unsigned int *arrived)
{
    // The array is a head of single elements up to a 16-byte boundary, vectors, and a tail.
    const size_t misaligned = (size_t)in % sizeof(NAME_vector) / sizeof(COARSEN_TYPE);
    const size_t head = coarsen_min(n, misaligned == 0 ? 0 : COARSEN_ITEMS - misaligned);
    const size_t vectors = (n - head) / COARSEN_ITEMS;
    const size_t tail = head + vectors * COARSEN_ITEMS;
    const NAME_vector *const in_vectors = (const NAME_vector *)(in + head);
    const size_t tile = (size_t)BLOCK_DIM * COARSE_FACTOR;

    COARSEN_ACC sum = COARSEN_IDENTITY;
    size_t v = blockIdx.x * tile + threadIdx.x;
    for (; v + (COARSE_FACTOR - 1) * BLOCK_DIM < vectors; v += gridDim.x * tile) {
        NAME_vector load[COARSE_FACTOR]; // all in flight before the first is used
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
            load[k] = in_vectors[v + k * BLOCK_DIM];
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
                const COARSEN_ACC x =
                    COARSEN_LIFT(load[k].item[j], head + (v + k * BLOCK_DIM) * COARSEN_ITEMS + j);
                sum = COARSEN_OP(sum, x);
            }
    }
    for (unsigned int k = 0; k < COARSE_FACTOR && v < vectors; k++, v += BLOCK_DIM) {
        const NAME_vector load = in_vectors[v];
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
            const COARSEN_ACC x = COARSEN_LIFT(load.item[j], head + v * COARSEN_ITEMS + j);
            sum = COARSEN_OP(sum, x);
        }
    }
    if (blockIdx.x == gridDim.x - 1) {
        for (size_t i = threadIdx.x; i < head; i += BLOCK_DIM) {
            const COARSEN_ACC x = COARSEN_LIFT(in[i], i);
            sum = COARSEN_OP(sum, x);
        }
        for (size_t i = tail + threadIdx.x; i < n; i += BLOCK_DIM) {
            const COARSEN_ACC x = COARSEN_LIFT(in[i], i);
            sum = COARSEN_OP(sum, x);
        }
    }

    sum = NAME_block(sum);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0)
            partials[blockIdx.x] = sum;
        if (!coarsen_last_block(arrived))
            return;
        sum = COARSEN_IDENTITY;
        for (unsigned int b = threadIdx.x; b < gridDim.x; b += BLOCK_DIM) {
            const COARSEN_ACC x = partials[b];
            sum = COARSEN_OP(sum, x);
        }
        sum = NAME_block(sum);
    }
    if (threadIdx.x == 0)
        *out = sum;
}

#ifndef __CUDACC_RTC__

// As many blocks as there are tiles, or as the device can hold at once if that is fewer.
COARSEN_HOST size_t NAME_blocks(size_t n, cudaError_t *status)
{
    const size_t tile = (size_t)BLOCK_DIM * COARSE_FACTOR * COARSEN_ITEMS;
    const size_t resident = coarsen_multiprocessors(status) * (2048 / BLOCK_DIM);
    const size_t blocks = coarsen_min(coarsen_ceil_div(n, tile), resident);
    return blocks > 0 ? blocks : 1;
}

// The counter of the blocks that have arrived, in 16 bytes, and a partial for each block.
COARSEN_HOST size_t NAME_scratch_bytes(size_t n)
{
    cudaError_t status;
    return 16 + NAME_blocks(n, &status) * sizeof(COARSEN_ACC);
}

COARSEN_HOST cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                     void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    cudaError_t status;
    const size_t blocks = NAME_blocks(n, &status);
    if (status != cudaSuccess)
        return status;
    if (!coarsen_array_ok(in, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, 1, sizeof(COARSEN_ACC), __alignof__(COARSEN_ACC)) ||
        !coarsen_array_ok(scratch, 1, scratch_bytes, 16) ||
        scratch_bytes < 16 + blocks * sizeof(COARSEN_ACC))
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, NAME_kernel, in, out, n,
                              (COARSEN_ACC *)((char *)scratch + 16), (unsigned int *)scratch);
}

#endif

#undef COARSEN_ITEMS
#undef NAME_vector
#undef NAME_warp
#undef NAME_block
#undef NAME_kernel
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
