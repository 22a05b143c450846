// SPDX-License-Identifier: MIT
//
// coarsen/fuse/block_coarsened.h: reduction, blocks coarsened. Over reduce/multiblock.h:
// a block does the work of COARSE_FACTOR of its blocks, side by side. reduce/coarsened.h is its other
// half: there a thread does the work of COARSE_FACTOR threads.
//
//     out[0] = LIFT(in[0], 0) OP LIFT(in[1], 1) OP ... OP LIFT(in[n-1], n-1)
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #define COARSE_FACTOR 4
//     #define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
//     #include <coarsen/fuse/block_coarsened.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator, the partial results and the result |
// | COARSEN_LIFT(x, i)| (COARSEN_ACC)(x)| element x at index i (a size_t) as a COARSEN_ACC           |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC  |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | COARSEN_ATOMIC(p, a) | none             | commits *p = OP(*p, a) in one atomic, where the type has it |
// | BLOCK_DIM            | 256              | threads a block: a multiple of 32 from 32 to 1024    |
// | COARSE_FACTOR        | 4                | blocks whose work a block does, from 1 to 16         |
//
// Defines NAME_kernel(in, out, n, lock), NAME_init_kernel(out, lock), and
//
//     size_t      NAME_scratch_bytes(size_t n)        the lock
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//
// in: n elements in device memory, left as they are. out: one COARSEN_ACC, apart from in; it gets the
// identity when n is 0. scratch: device memory, 4-byte aligned, any content; one for each launch
// that may run at the same time. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing
// array and for too small a scratch, with nothing written.
// **Not deterministic** for an operator that rounds: the blocks commit in any order.
//
// Price saved: barriers. One serves COARSE_FACTOR trees, which take their steps side by side; and a
// thread has 2 COARSE_FACTOR loads on their way.
// Price paid: shared memory, COARSE_FACTOR BLOCK_DIM accumulators, for no tree is saved: as many
// additions, as many idle threads and as many commits as without. reduce/coarsened.h adds in a
// register what this adds in COARSE_FACTOR trees: one tree, one commit, no more shared memory than
// before. So blocks are coarsened where threads can't be: where each block has a table or a tile of
// its own that its neighbours could use too.
//
// Source: GPU Architectures and Programming (IIT Kharagpur), lectures 38 and 39.

#include "../base.h"

// ---- Template: each inclusion -------------------------------------------------------------------

#ifndef COARSEN_NAME
#error "coarsen/fuse: define COARSEN_NAME, the prefix of the names to make, before the include"
#endif
#ifndef COARSEN_TYPE
#error "coarsen/fuse: define COARSEN_TYPE, the element type, before the include"
#endif
#if defined(COARSEN_OP) && !defined(COARSEN_IDENTITY)
#error "coarsen/fuse: COARSEN_OP needs COARSEN_IDENTITY, what no elements reduce to"
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
#error "coarsen/fuse: BLOCK_DIM must be a multiple of 32 from 32 to 1024"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#endif
#if COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/fuse: COARSE_FACTOR must be from 1 to 16"
#endif

#define NAME_kernel        COARSEN_JOIN(COARSEN_NAME, _kernel)
#define NAME_init_kernel   COARSEN_JOIN(COARSEN_NAME, _init_kernel)
#define NAME_commit        COARSEN_JOIN(COARSEN_NAME, _commit)
#define NAME_scratch_bytes COARSEN_JOIN(COARSEN_NAME, _scratch_bytes)
#define NAME_launch        COARSEN_JOIN(COARSEN_NAME, _launch)

// *out = OP(*out, sum), by one thread a block.
COARSEN_DEVICE void NAME_commit(COARSEN_ACC *out, COARSEN_ACC sum, unsigned int *lock)
{
#ifdef COARSEN_ATOMIC
    (void)lock;
    COARSEN_ATOMIC(out, sum);
#else
    coarsen_lock(lock);
    *out = COARSEN_OP(*out, sum);
    coarsen_unlock(lock);
#endif
}

COARSEN_KERNEL void NAME_init_kernel(COARSEN_ACC *out, unsigned int *lock)
{
    *out = COARSEN_IDENTITY;
    *lock = 0;
}

COARSEN_KERNEL void NAME_kernel(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                unsigned int *lock)
{
    __shared__ COARSEN_ACC partial[COARSE_FACTOR][BLOCK_DIM];
    const unsigned int t = threadIdx.x;

#pragma unroll
    for (unsigned int f = 0; f < COARSE_FACTOR; f++) {
        const size_t segment = ((size_t)blockIdx.x * COARSE_FACTOR + f) * 2 * BLOCK_DIM;
        COARSEN_ACC sum = COARSEN_IDENTITY;
#pragma unroll
        for (unsigned int k = 0; k < 2; k++) {
            const size_t i = segment + k * BLOCK_DIM + t;
            if (i < n) {
                const COARSEN_ACC x = COARSEN_LIFT(in[i], i);
                sum = COARSEN_OP(sum, x);
            }
        }
        partial[f][t] = sum;
    }
    for (unsigned int length = BLOCK_DIM, half; length > 1; length = half) {
        half = length - length / 2;
        __syncthreads();
        if (t + half < length)
#pragma unroll
            for (unsigned int f = 0; f < COARSE_FACTOR; f++)
                partial[f][t] = COARSEN_OP(partial[f][t], partial[f][t + half]);
    }
    if (t == 0)
        for (unsigned int f = 0; f < COARSE_FACTOR; f++)
            NAME_commit(out, partial[f][0], lock);
}

#ifndef __CUDACC_RTC__

COARSEN_HOST size_t NAME_scratch_bytes(size_t n)
{
    (void)n;
    return sizeof(unsigned int);
}

COARSEN_HOST cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                     void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    if (!coarsen_array_ok(in, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, 1, sizeof(COARSEN_ACC), __alignof__(COARSEN_ACC)) ||
        !coarsen_array_ok(scratch, 1, sizeof(unsigned int), __alignof__(unsigned int)) ||
        scratch_bytes < NAME_scratch_bytes(n))
        return cudaErrorInvalidValue;
    unsigned int *lock = (unsigned int *)scratch;
    const size_t blocks = coarsen_ceil_div(n, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;

    cudaLaunchConfig_t config = coarsen_launch_config(1, 1, 0, stream);
    const cudaError_t status = cudaLaunchKernelEx(&config, NAME_init_kernel, out, lock);
    if (status != cudaSuccess || n == 0)
        return status;
    config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, NAME_kernel, in, out, n, lock);
}

#endif

#undef NAME_kernel
#undef NAME_init_kernel
#undef NAME_commit
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
