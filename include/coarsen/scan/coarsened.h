// SPDX-License-Identifier: MIT
//
// coarsen/scan/coarsened.h: scan, third rung. brent_kung.h + each thread scans a run alone, and
// only the runs' totals take the steps of kogge_stone.h.
// out[i] = LIFT(in[0], 0) OP ... OP LIFT(in[i], i), or without the last with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/scan/coarsened.h>
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
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSE_FACTOR        | 7                | elements of a thread's run, from 1 to 32; best an odd number |
// Defines NAME_kernel(in, out, n), to launch as one block of BLOCK_DIM threads, and
//     size_t      NAME_scratch_bytes(size_t n)        always 0, so NAME_scratch_init does nothing
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory. out: n COARSEN_ACC, apart from in, or in itself if they have one
// size. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, with nothing
// written. Deterministic.
//
// How: a section of BLOCK_DIM COARSE_FACTOR elements. It is read in order, by way of shared memory, so
// that neighbours read neighbours. A thread scans its run of COARSE_FACTOR elements; the totals are
// scanned, by the steps of kogge_stone.h; a thread adds to its run what the runs before have.
// Price saved: steps and their barriers, idle threads, and nearly all additions of kogge_stone.h.
// Price paid: COARSE_FACTOR times as many elements in shared memory, for as many threads. The lanes
// of a warp are COARSE_FACTOR elements apart there: with 4-byte elements an odd number puts them all
// in different banks, and 8 puts eight lanes in each.
// Cost: for T threads and N = T COARSE_FACTOR elements, (N - T) + (T log2 T - (T - 1)) +
// (T - 1) (COARSE_FACTOR - 1) operations, and one more for what is before; log2 T + 4 barriers; N + 2 T
// accumulators of shared memory. If n > N, the sections go one after the other: correct, but slow;
// see three_kernel.h.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 11.5.

#define COARSEN_BEGIN COARSEN_PATTERN_SCAN
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 7
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/scan: COARSE_FACTOR must be from 1 to 32"
#endif

enum { COARSEN_(section) = BLOCK_DIM * COARSE_FACTOR }; // elements
static_assert((COARSEN_(section) + 2 * BLOCK_DIM) * sizeof(COARSEN_ACC) <= 48 << 10,
              "coarsen/scan: a section takes more than 48 KiB of shared memory: define a smaller "
              "BLOCK_DIM or COARSE_FACTOR");

// Scans a section in place: each thread its run, and then the totals of the runs.
COARSEN_DEVICE void COARSEN_(scan_section)(COARSEN_ACC *sums)
{
    COARSEN_SHARED(COARSEN_ACC, totals, 2 * BLOCK_DIM);
    const unsigned int t = threadIdx.x;
    COARSEN_ACC *const run = sums + t * COARSE_FACTOR;
    unsigned int half = 0; // of totals

    __syncthreads();
    COARSEN_ACC sum = run[0];
#pragma unroll
    for (unsigned int k = 1; k < COARSE_FACTOR; k++)
        run[k] = sum = COARSEN_(op)(sum, run[k]);
    for (unsigned int stride = 1; stride < BLOCK_DIM; stride *= 2) {
        totals[half + t] = sum;
        __syncthreads();
        if (t >= stride)
            sum = COARSEN_(op)(totals[half + t - stride], sum);
        half = BLOCK_DIM - half;
    }
    totals[half + t] = sum;
    __syncthreads();
    if (t > 0) {
#pragma unroll
        for (unsigned int k = 0; k + 1 < COARSE_FACTOR; k++)
            run[k] = COARSEN_(op)(totals[half + t - 1], run[k]);
        run[COARSE_FACTOR - 1] = sum;
    }
    __syncthreads();
}

COARSEN_KERNEL void COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_(section));
    const unsigned int t = threadIdx.x;

    COARSEN_ACC before = COARSEN_(identity)(); // the sum of all sections before
    for (size_t first = 0; first < n; first += COARSEN_(section)) {
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            const unsigned int j = k * BLOCK_DIM + t;
            const size_t i = first + j;
            COARSEN_ACC sum = COARSEN_(identity)();
            if (i < n)
                sum = COARSEN_(lift)(in[i], i);
            if (j == 0)
                sum = COARSEN_(op)(before, sum);
            sums[j] = sum;
        }
        COARSEN_(scan_section)(sums);
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
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
