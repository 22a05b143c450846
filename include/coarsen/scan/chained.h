// SPDX-License-Identifier: MIT
//
// coarsen/scan/chained.h: scan, fifth rung. three_kernel.h + one kernel: each block waits for the
// sum of all before it, which the block before it leaves.
// out[i] = LIFT(in[0], 0) OP ... OP LIFT(in[i], i), or without the last with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/scan/chained.h>
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
// Defines the functions of block/slots.h; NAME_kernel(in, out, n, scratch), to launch with a block per
// BLOCK_DIM COARSE_FACTOR elements; and
//     size_t      NAME_scratch_bytes(size_t n)
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory. out: n COARSEN_ACC, apart from in, or in itself if they have one
// size. scratch: device memory, 16-byte aligned. NAME_scratch_init makes it ready once, by zeros;
// each launch leaves it ready for the next, for any n. One scratch per launch that may run at the
// same time. A scratch that was not made ready ends the launch with an error (__trap). Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array or too small a scratch, with
// nothing written. Deterministic.
//
// How: a block takes a ticket, the number of its section. So all sections before are with blocks that
// run already, and it waits for none that cannot run, whatever the order of blocks.
// Price saved: memory traffic and launches. Each element is read once and each result written once.
// Price paid: a chain. The sum of all before goes from block to block, and each hand-over takes a
// trip to memory: n / (BLOCK_DIM COARSE_FACTOR) trips one after the other, which is more time than
// the elements take as soon as the sections are small. See single_pass.h.
// Cost: n elements read and n results written; per section a ticket, and 8 bytes per 4-byte word of
// a sum, written and read.
// Source: S. Yan, G. Long, Y. Zhang, StreamScan (2013); Hwu, Kirk, El Hajj, Programming Massively
// Parallel Processors, 4th ed., section 11.7.

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

#include "../block/slots.h"

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
                                     unsigned long long *scratch)
{
    COARSEN_SHARED(COARSEN_ACC, sums, COARSEN_(section));
    COARSEN_SHARED(COARSEN_ACC, start, 1); // what is before the section
    __shared__ unsigned int ticket;
    const unsigned int t = threadIdx.x;

    if (t == 0) {
        ticket = atomicInc((unsigned int *)scratch, gridDim.x - 1); // 0 again after the last block
        if (ticket >= gridDim.x)
            __trap(); // the scratch was not made ready: NAME_scratch_init was forgotten
    }
    __syncthreads();
    unsigned long long *const slot = scratch + 2 + (size_t)ticket * COARSEN_(words_of_slot);
    const size_t first = (size_t)ticket * COARSEN_(section);

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
    if (t == 0) {
        COARSEN_ACC before = COARSEN_(identity)();
        if (ticket > 0)
            before = COARSEN_(collect)(slot - COARSEN_(words_of_slot));
        if (ticket < gridDim.x - 1)
            COARSEN_(leave)(slot, 1, COARSEN_(op)(before, sums[COARSEN_(section) - 1]));
        start[0] = before;
    }
    __syncthreads();
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const unsigned int j = k * BLOCK_DIM + t;
        if (first + j < n)
            out[first + j] = !COARSEN_EXCLUSIVE ? COARSEN_(op)(start[0], sums[j])
                             : j > 0            ? COARSEN_(op)(start[0], sums[j - 1])
                                                : start[0];
    }
}

#ifndef __CUDACC_RTC__
// The ticket, in 16 bytes, and a slot per section.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    return 16 + coarsen_ceil_div(n, COARSEN_(section)) * COARSEN_(words_of_slot) *
                    sizeof(unsigned long long);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    const size_t blocks = coarsen_ceil_div(n, COARSEN_(section));
    if (n == 0)
        return cudaSuccess;
    if (!coarsen_array_ok(in, n) || !coarsen_array_ok(out, n) ||
        !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n) || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;

    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, (unsigned long long *)scratch);
}
#endif

#define COARSEN_END
#include "../base.h"
