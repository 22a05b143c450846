// SPDX-License-Identifier: MIT
//
// coarsen/reduce/shared.h: reduction, third rung. Over convergent.h:
// the tree is in shared memory.
//
//     out[0] = LIFT(in[0], 0) OP LIFT(in[1], 1) OP ... OP LIFT(in[n-1], n-1)
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/reduce/shared.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator, the partial results and the result |
// | COARSEN_LIFT(x, i)| (COARSEN_ACC)(x)| element x at index i (a size_t) as a COARSEN_ACC           |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC  |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 1024             | threads: a multiple of 32 from 32 to 1024            |
//
// Defines NAME_kernel(in, out, n), to launch as one block of BLOCK_DIM threads, and
//
//     size_t      NAME_scratch_bytes(size_t n)        always 0
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//
// in: n elements in device memory, left as they are. out: one COARSEN_ACC, apart from in; it gets the
// identity when n is 0. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array,
// with nothing written. Deterministic.
//
// Price saved: global memory traffic. Each element is read once, the first addition is done on the
// way in, and the steps of the tree stay on the chip.
// Cost: n reads and one write; BLOCK_DIM accumulators of shared memory. On N = 256, 9 requests.
// For n > 2 BLOCK_DIM a thread reads more than two elements: correct, and slow; see multiblock.h.
//
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 10.5.

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
#define BLOCK_DIM 1024
#endif
#if BLOCK_DIM < 32 || BLOCK_DIM > 1024 || BLOCK_DIM % 32 != 0
#error "coarsen/reduce: BLOCK_DIM must be a multiple of 32 from 32 to 1024"
#endif

#define NAME_kernel        COARSEN_JOIN(COARSEN_NAME, _kernel)
#define NAME_scratch_bytes COARSEN_JOIN(COARSEN_NAME, _scratch_bytes)
#define NAME_launch        COARSEN_JOIN(COARSEN_NAME, _launch)

COARSEN_KERNEL void NAME_kernel(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n)
{
    __shared__ COARSEN_ACC partial[BLOCK_DIM];
    const unsigned int t = threadIdx.x;

    COARSEN_ACC sum = COARSEN_IDENTITY;
    for (size_t i = t; i < n; i += BLOCK_DIM) {
        const COARSEN_ACC x = COARSEN_LIFT(in[i], i);
        sum = COARSEN_OP(sum, x);
    }
    partial[t] = sum;
    for (unsigned int length = BLOCK_DIM, half; length > 1; length = half) {
        half = length - length / 2;
        __syncthreads();
        if (t + half < length)
            partial[t] = COARSEN_OP(partial[t], partial[t + half]);
    }
    if (t == 0)
        *out = partial[0];
}

#ifndef __CUDACC_RTC__

COARSEN_HOST size_t NAME_scratch_bytes(size_t n)
{
    (void)n;
    return 0;
}

COARSEN_HOST cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                     void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    (void)scratch, (void)scratch_bytes;
    if (!coarsen_array_ok(in, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, 1, sizeof(COARSEN_ACC), __alignof__(COARSEN_ACC)))
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(1, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, NAME_kernel, in, out, n);
}

#endif

#undef NAME_kernel
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
