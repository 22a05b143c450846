// SPDX-License-Identifier: MIT
//
// coarsen/scan/brent_kung.h: scan, second rung. kogge_stone.h + no work twice: a tree adds up, and
// the same tree hands the sums down.
// out[i] = LIFT(in[0], 0) OP ... OP LIFT(in[i], i), or without the last with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/scan/brent_kung.h>
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
// How: a section of 2 BLOCK_DIM elements, two per thread. Going up, the stride doubles, and every
// last element of 2 stride adds the one in their middle. Going down, it halves, and every such last
// element is added to the middle one of the next.
// Price saved: work. A section of N elements takes less than 2 N additions.
// Price paid: nearly twice the steps, in most of which few threads have anything to do. A GPU has
// the threads of kogge_stone.h anyway, so the saved additions may gain little; a block has twice the
// elements, though. The indices are powers of two, so several lanes of a warp use one bank.
// Cost: for a section of N elements, a power of two, 2 N - 2 - log2 N operations in 2 log2 N - 1
// steps, and one more operation for what is before it. One barrier per step and two at the end;
// 2 BLOCK_DIM accumulators of shared memory. If n > 2 BLOCK_DIM, the sections go one after the
// other: correct, but slow; see three_kernel.h.
// Source: R. P. Brent and H. T. Kung, A Regular Layout for Parallel Adders (1982); Hwu, Kirk, El
// Hajj, Programming Massively Parallel Processors, 4th ed., section 11.4.

#define COARSEN_BEGIN COARSEN_PATTERN_SCAN
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif

enum { COARSEN_(section) = 2 * BLOCK_DIM }; // elements

COARSEN_KERNEL void COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_(section));
    const unsigned int t = threadIdx.x;

    COARSEN_ACC before = COARSEN_(identity)(); // the sum of all sections before
    for (size_t first = 0; first < n; first += COARSEN_(section)) {
#pragma unroll
        for (unsigned int k = 0; k < 2; k++) {
            const unsigned int j = k * BLOCK_DIM + t;
            const size_t i = first + j;
            COARSEN_ACC sum = COARSEN_(identity)();
            if (i < n)
                sum = COARSEN_(lift)(in[i], i);
            if (j == 0)
                sum = COARSEN_(op)(before, sum);
            sums[j] = sum;
        }
        unsigned int stride = 1;
        for (; stride < COARSEN_(section); stride *= 2) {
            const unsigned int last = (t + 1) * 2 * stride - 1;
            __syncthreads();
            if (last < COARSEN_(section))
                sums[last] = COARSEN_(op)(sums[last - stride], sums[last]);
        }
        for (stride /= 4; stride > 0; stride /= 2) {
            const unsigned int last = (t + 1) * 2 * stride - 1;
            __syncthreads();
            if (last + stride < COARSEN_(section))
                sums[last + stride] = COARSEN_(op)(sums[last], sums[last + stride]);
        }
        __syncthreads();
#pragma unroll
        for (unsigned int k = 0; k < 2; k++) {
            const unsigned int j = k * BLOCK_DIM + t;
            if (first + j < n)
                out[first + j] = !COARSEN_EXCLUSIVE ? sums[j] : j > 0 ? sums[j - 1] : before;
        }
        before = sums[COARSEN_(section) - 1];
        __syncthreads();
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
