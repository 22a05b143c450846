// SPDX-License-Identifier: MIT
//
// coarsen/reduce/shared.h: reduction, third rung. convergent.h + the tree is in shared memory.
// out[0] = LIFT(in[0], 0) OP LIFT(in[1], 1) OP ... OP LIFT(in[n-1], n-1)
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/reduce/shared.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator, the partial results and the result; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) as a COARSEN_ACC     |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC   |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 1024             | threads: a multiple of 32 from 32 to 1024            |
// Defines NAME_kernel(in, out, n), to launch as one block of BLOCK_DIM threads, and
//     size_t      NAME_scratch_bytes(size_t n)        always 0, so NAME_scratch_init does nothing
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, not changed. out: one COARSEN_ACC, apart from in; the identity
// if n is 0. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, with
// nothing written. Deterministic.
//
// Price saved: global memory traffic. Each element is read once, the first addition is done at the
// load, and the steps of the tree stay on the chip.
// Cost: n reads and one write; BLOCK_DIM accumulators of shared memory. For N = 256, 9 requests. If
// n > 2 BLOCK_DIM, a thread reads more than two elements: correct, but slow; see multiblock.h.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 10.6.

#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif

COARSEN_KERNEL void COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n)
{
    COARSEN_SHARED(COARSEN_ACC, partial, BLOCK_DIM);
    const unsigned int t = threadIdx.x;

    COARSEN_ACC sum = COARSEN_(identity)();
    for (size_t i = t; i < n; i += BLOCK_DIM)
        sum = COARSEN_(op)(sum, COARSEN_(lift)(in[i], i));
    partial[t] = sum;
    for (unsigned int length = BLOCK_DIM, half; length > 1; length = half) {
        half = length - length / 2;
        __syncthreads();
        if (t + half < length)
            partial[t] = COARSEN_(op)(partial[t], partial[t + half]);
    }
    if (t == 0)
        *out = partial[0];
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(COARSEN_UNUSED size_t n)
{
    return 0;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          COARSEN_UNUSED void *scratch,
                                          COARSEN_UNUSED size_t scratch_bytes, cudaStream_t stream)
{
    if (!coarsen_array_ok(in, n) || !coarsen_array_ok(out, 1))
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(1, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n);
}
#endif

#define COARSEN_END
#include "../base.h"
