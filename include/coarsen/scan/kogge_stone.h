// SPDX-License-Identifier: MIT
//
// coarsen/scan/kogge_stone.h: scan, first rung. One block, and the fewest steps: in each, every
// element adds the sum at a distance that doubles.
// out[i] = LIFT(in[0], 0) OP ... OP LIFT(in[i], i), or without the last with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/scan/kogge_stone.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and of the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) as a COARSEN_ACC     |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative operator on COARSEN_ACC; need not be commutative |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | COARSEN_EXCLUSIVE    | 0                | 1: out[i] is of the elements before i, out[0] the identity |
// | BLOCK_DIM            | 1024             | threads: a multiple of 32 from 32 to 1024            |
// Defines NAME_kernel(in, out, n), to launch as one block of BLOCK_DIM threads, and
//     size_t      NAME_scratch_bytes(size_t n)        always 0, so NAME_scratch_init does nothing
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory. out: n COARSEN_ACC, apart from in, or in itself if they have one
// size. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, with nothing
// written. Deterministic.
//
// How: a section of BLOCK_DIM elements, one per thread. After the step of stride s an element has the
// sum of 2 s elements that end with it. The block walks from section to section, and the first
// element of each begins with the sum of all before.
// Price paid: work. Every thread adds in nearly every step, and n elements need some log2 BLOCK_DIM
// times as many additions as one thread alone would: 9217 for N = 1024, where 1023 are enough.
// Cost: for a section of N elements, N log2 N - (N - 1) operations in log2 N steps, and one more for
// what is before it. One barrier per step and one at the end; 2 BLOCK_DIM accumulators of shared
// memory. If n > BLOCK_DIM, the sections go one after the other: correct, but slow; see
// three_kernel.h.
// Source: P. M. Kogge and H. S. Stone, A Parallel Algorithm for the Efficient Solution of a General
// Class of Recurrence Equations (1973); Hwu, Kirk, El Hajj, Programming Massively Parallel
// Processors, 4th ed., section 11.2.

#define COARSEN_BEGIN COARSEN_PATTERN_SCAN
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif

COARSEN_KERNEL void COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n)
{
    COARSEN_SHARED(COARSEN_ACC, sums, 2 * BLOCK_DIM);
    const unsigned int t = threadIdx.x;
    unsigned int half = 0; // of sums, which take turns: so one barrier per step is enough

    COARSEN_ACC before = COARSEN_(identity)(); // the sum of all sections before
    for (size_t first = 0; first < n; first += BLOCK_DIM) {
        const size_t i = first + t;
        COARSEN_ACC sum = COARSEN_(identity)();
        if (i < n)
            sum = COARSEN_(lift)(in[i], i);
        if (t == 0)
            sum = COARSEN_(op)(before, sum);
        for (unsigned int stride = 1; stride < BLOCK_DIM; stride *= 2) {
            sums[half + t] = sum;
            __syncthreads();
            if (t >= stride)
                sum = COARSEN_(op)(sums[half + t - stride], sum);
            half = BLOCK_DIM - half;
        }
        sums[half + t] = sum;
        __syncthreads();
        if (i < n)
            out[i] = !COARSEN_EXCLUSIVE ? sum : t > 0 ? sums[half + t - 1] : before;
        before = sums[half + BLOCK_DIM - 1];
        half = BLOCK_DIM - half;
    }
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
    if (n == 0)
        return cudaSuccess;
    if (!coarsen_array_ok(in, n) || !coarsen_array_ok(out, n))
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(1, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n);
}
#endif

#define COARSEN_END
#include "../base.h"
