// SPDX-License-Identifier: MIT
//
// coarsen/reduce/last_block.h: reduction, sixth rung. coarsened.h + no commits: each block leaves
// its partial result, and the last block to finish adds them.
// out[0] = LIFT(in[0], 0) OP LIFT(in[1], 1) OP ... OP LIFT(in[n-1], n-1)
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #define COARSE_FACTOR 8
//     #include <coarsen/reduce/last_block.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator, the partial results and the result; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) as a COARSEN_ACC     |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC   |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 4                | pairs of elements that a thread adds first, from 1 to 64 |
// Defines NAME_kernel(in, out, n, partials, arrived) and
//     size_t      NAME_scratch_bytes(size_t n)
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, at an element's alignment, not changed. out: one COARSEN_ACC,
// apart from in; the identity if n is 0. scratch: device memory, aligned to 16 bytes or as COARSEN_ACC. NAME_scratch_init
// makes it ready once, by zeros; each launch leaves it ready for the next, for any n. One scratch
// per launch that may run at the same time. A scratch that was not made ready ends the launch with
// an error (__trap). Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array or
// too small a scratch, with nothing written.
// Deterministic: for one n the same bits always, as the partial results are added by their place.
//
// Price saved: the commits, which wait for each other in one place; the initialisation and its
// launch; and the non-determinism. Any operator on any type, with no lock.
// Price paid: a fence and an atomic per block, and a second pass over the partial results, by one
// block, after the others have finished: two trips to memory that nothing hides.
// Source: the CUDA samples' threadFenceReduction; N. Wilt, The CUDA Handbook, chapter 12.

#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/reduce: COARSE_FACTOR must be from 1 to 64"
#endif

COARSEN_KERNEL void COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                     COARSEN_ACC *partials, unsigned int *arrived)
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
        partials[blockIdx.x] = partial[0];
    if (!COARSEN_(last_block)(arrived))
        return;
    if (t == 0 && arrived[1] != 0) // the counter may have begun below the number of blocks
        __trap(); // the scratch was not made ready: NAME_scratch_init was forgotten

    sum = COARSEN_(identity)();
    for (unsigned int b = t; b < gridDim.x; b += BLOCK_DIM)
        sum = COARSEN_(op)(sum, partials[b]);
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
// The bytes of the counter and zeros, after which the partial results lie, one per block.
enum { COARSEN_(first) = alignof(COARSEN_ACC) > 16 ? alignof(COARSEN_ACC) : 16 };

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    const size_t blocks = coarsen_ceil_div(n > 0 ? n : 1, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);
    return COARSEN_(first) + blocks * sizeof(COARSEN_ACC);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    const size_t blocks = coarsen_ceil_div(n > 0 ? n : 1, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);
    if (!coarsen_array_ok(in, n) || !coarsen_array_ok(out, 1) || blocks > 0x7fffffff ||
        !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), COARSEN_(first)) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n))
        return cudaErrorInvalidValue;

    unsigned int *const arrived = (unsigned int *)scratch;
    COARSEN_ACC *const partials = (COARSEN_ACC *)((char *)scratch + COARSEN_(first));
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, partials, arrived);
}
#endif

#define COARSEN_END
#include "../base.h"
