// SPDX-License-Identifier: MIT
//
// coarsen/scan/three_kernel.h: scan, fourth rung. coarsened.h + many blocks: one kernel scans the
// sections, one the totals of the sections, and one adds those.
// out[i] = LIFT(in[0], 0) OP ... OP LIFT(in[i], i), or without the last with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/scan/three_kernel.h>
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
// Defines NAME_kernel(in, out, n, totals), NAME_totals_kernel(totals, count), to launch as one block,
// NAME_add_kernel(out, n, totals), to launch with a block less than NAME_kernel; and
//     size_t      NAME_scratch_bytes(size_t n)        NAME_scratch_init is not needed
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory. out: n COARSEN_ACC, apart from in, or in itself if they have one
// size. scratch: device memory, aligned as COARSEN_ACC, any content; one per launch that may run at
// the same time. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array or too
// small a scratch, with nothing written. Deterministic.
//
// Price saved: the wait of each section for the one before. The sections are scanned side by side,
// and only a total per BLOCK_DIM COARSE_FACTOR elements goes through one block.
// Price paid: memory traffic. The results are written, read and written again: 4 n elements moved
// where 2 n are enough. And two more launches, the first of which is of one block.
// Cost: n elements read and n results written, n read and n written; an accumulator per section.
// Source: M. Harris, S. Sengupta, J. D. Owens, Parallel Prefix Sum (Scan) with CUDA (2007); Hwu,
// Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 11.6.

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

COARSEN_KERNEL void COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                     COARSEN_ACC *totals)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_(section));
    const unsigned int t = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * COARSEN_(section);

#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const unsigned int j = k * BLOCK_DIM + t;
        const size_t i = first + j;
        COARSEN_ACC sum = COARSEN_(identity)();
        if (i < n)
            sum = COARSEN_(lift)(in[i], i);
        sums[j] = sum;
    }
    COARSEN_(scan_section)(sums);
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const unsigned int j = k * BLOCK_DIM + t;
        if (first + j < n)
            out[first + j] = !COARSEN_EXCLUSIVE ? sums[j]
                             : j > 0            ? sums[j - 1]
                                                : COARSEN_(identity)();
    }
    if (t == 0)
        totals[blockIdx.x] = sums[COARSEN_(section) - 1];
}

// The scan of coarsened.h, of the sections' totals.
COARSEN_KERNEL void COARSEN_(totals_kernel)(COARSEN_ACC *totals, size_t count)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_(section));
    const unsigned int t = threadIdx.x;

    COARSEN_ACC before = COARSEN_(identity)();
    for (size_t first = 0; first < count; first += COARSEN_(section)) {
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            const unsigned int j = k * BLOCK_DIM + t;
            COARSEN_ACC sum = COARSEN_(identity)();
            if (first + j < count)
                sum = totals[first + j];
            if (j == 0)
                sum = COARSEN_(op)(before, sum);
            sums[j] = sum;
        }
        COARSEN_(scan_section)(sums);
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            const unsigned int j = k * BLOCK_DIM + t;
            if (first + j < count)
                totals[first + j] = sums[j];
        }
        before = sums[COARSEN_(section) - 1];
        __syncthreads();
    }
}

// Adds what is before a section, from the second one on.
COARSEN_KERNEL void COARSEN_(add_kernel)(COARSEN_ACC *out, size_t n, const COARSEN_ACC *totals)
{
    const size_t first = ((size_t)blockIdx.x + 1) * COARSEN_(section);
    const COARSEN_ACC before = totals[blockIdx.x];

#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const unsigned int j = k * BLOCK_DIM + threadIdx.x;
        if (first + j < n)
            out[first + j] =
                COARSEN_EXCLUSIVE && j == 0 ? before : COARSEN_(op)(before, out[first + j]);
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    return coarsen_ceil_div(n, COARSEN_(section)) * sizeof(COARSEN_ACC);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    COARSEN_ACC *const totals = (COARSEN_ACC *)scratch;
    const size_t blocks = coarsen_ceil_div(n, COARSEN_(section));
    if (n == 0)
        return cudaSuccess;
    if (!coarsen_array_ok(in, n) || !coarsen_array_ok(out, n) ||
        !coarsen_array_ok(totals, blocks) || scratch_bytes < COARSEN_(scratch_bytes)(n) ||
        blocks > 0x7fffffff)
        return cudaErrorInvalidValue;

    cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    cudaError_t status = cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, totals);
    if (status != cudaSuccess || blocks == 1)
        return status;
    config = coarsen_launch_config(1, BLOCK_DIM, 0, stream);
    status = cudaLaunchKernelEx(&config, COARSEN_(totals_kernel), totals, blocks - 1);
    if (status != cudaSuccess)
        return status;
    config = coarsen_launch_config(blocks - 1, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(add_kernel), out, n, (const COARSEN_ACC *)totals);
}
#endif

#define COARSEN_END
#include "../base.h"
