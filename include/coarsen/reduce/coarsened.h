// SPDX-License-Identifier: MIT
//
// coarsen/reduce/coarsened.h: reduction, fifth rung. multiblock.h + a thread first adds
// COARSE_FACTOR pairs.
// out[0] = LIFT(in[0], 0) OP LIFT(in[1], 1) OP ... OP LIFT(in[n-1], n-1)
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #define COARSE_FACTOR 8
//     #define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
//     #include <coarsen/reduce/coarsened.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator, the partial results and the result; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) as a COARSEN_ACC     |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC   |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | COARSEN_ATOMIC(p, a) | none             | commits *p = OP(*p, a) in one atomic, if the type has one |
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 4                | pairs of elements that a thread adds first, from 1 to 64 |
// Defines NAME_kernel(in, out, n, lock), NAME_init_kernel(out, lock), and
//     size_t      NAME_scratch_bytes(size_t n)        the lock; NAME_scratch_init is not needed
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, not changed. out: one COARSEN_ACC, apart from in; the identity
// if n is 0. scratch: device memory, 4-byte aligned, any content; one per launch that may run at
// the same time. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array or too
// small a scratch, with nothing written. **Not deterministic** if the operator rounds: the blocks
// commit in any order.
//
// Price saved: the trees of blocks that the device would run one after the other. A thread adds
// COARSE_FACTOR pairs in a register, with no barrier and no idle thread, before the one tree: there
// are COARSE_FACTOR times fewer trees, barriers and commits.
// Price paid: COARSE_FACTOR times fewer blocks. If they no longer fill the device, it starves.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 10.8.

#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#if COARSEN_FIXED_TREE
#error "coarsen/reduce: this rung adds up in any order; for COARSEN_FIXED_TREE take reduce.h"
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/reduce: COARSE_FACTOR must be from 1 to 64"
#endif

// What the blocks commit to, before any of them does.
COARSEN_KERNEL void COARSEN_(init_kernel)(COARSEN_ACC *out, unsigned int *lock)
{
    *out = COARSEN_(identity)();
    *lock = 0;
}

COARSEN_KERNEL void COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                     unsigned int *lock)
{
    COARSEN_SHARED(COARSEN_ACC, partial, BLOCK_DIM);
    const unsigned int t = threadIdx.x;
    const size_t segment = (size_t)blockIdx.x * 2 * BLOCK_DIM * COARSE_FACTOR;

    COARSEN_ACC sum = COARSEN_(identity)();
#pragma unroll
    for (unsigned int k = 0; k < 2 * COARSE_FACTOR; k++) {
        const size_t i = segment + k * BLOCK_DIM + t;
        if (i < n)
            sum = COARSEN_(op)(sum, COARSEN_(lift)(in[i], i));
    }
    partial[t] = sum;
    for (unsigned int length = BLOCK_DIM, half; length > 1; length = half) {
        half = length - length / 2;
        __syncthreads();
        if (t + half < length)
            partial[t] = COARSEN_(op)(partial[t], partial[t + half]);
    }
    if (t == 0)
        COARSEN_(commit)(out, partial[0], lock);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(COARSEN_UNUSED size_t n)
{
    return sizeof(unsigned int);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    unsigned int *const lock = (unsigned int *)scratch;
    const size_t blocks = coarsen_ceil_div(n, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);
    if (!coarsen_array_ok(in, n) || !coarsen_array_ok(out, 1) || !coarsen_array_ok(lock, 1) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n) || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;

    cudaLaunchConfig_t config = coarsen_launch_config(1, 1, 0, stream);
    const cudaError_t status = cudaLaunchKernelEx(&config, COARSEN_(init_kernel), out, lock);
    if (status != cudaSuccess || n == 0)
        return status;
    config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, lock);
}
#endif

#define COARSEN_END
#include "../base.h"
