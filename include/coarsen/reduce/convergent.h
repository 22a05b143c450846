// SPDX-License-Identifier: MIT
//
// coarsen/reduce/convergent.h: reduction, second rung. simple.h + the active threads stay together.
// out[0] = data[0] OP data[1] OP ... OP data[n-1]
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/reduce/convergent.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator                  |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 1024             | threads: a multiple of 32 from 32 to 1024            |
// Defines NAME_kernel(data, out, n), to launch as one block of BLOCK_DIM threads, and
//     size_t      NAME_scratch_bytes(size_t n)        always 0, so NAME_scratch_init does nothing
//     cudaError_t NAME_launch(COARSEN_TYPE *data, COARSEN_TYPE *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// data: n elements in device memory, **overwritten**. out: one element, apart from data; the
// identity if n is 0. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array,
// with nothing written. Deterministic.
//
// Price saved: divergence. Thread t keeps element t and the stride halves, so the active threads
// are the first ones, whole warps of idle threads issue nothing, and neighbours read neighbours: a
// warp touches one 128-byte line where simple.h touches two.
// Cost: n - 1 operations in ceil(log2 n) steps, one barrier per step. For N = 256, 38 memory
// requests. If n > 2 BLOCK_DIM, a thread keeps more than one element: correct, but slow; see
// multiblock.h.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 10.4.

#if defined(COARSEN_ACC) || defined(COARSEN_LIFT) || defined(COARSEN_ARGMIN) ||                    \
    defined(COARSEN_ARGMAX)
#error "coarsen/reduce: this rung works in place; for COARSEN_ACC or COARSEN_LIFT take shared.h"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif

COARSEN_KERNEL void COARSEN_(kernel)(COARSEN_TYPE *data, COARSEN_TYPE *out, size_t n)
{
    for (size_t length = n, half; length > 1; length = half) {
        half = length - length / 2;
        for (size_t i = threadIdx.x; i + half < length; i += BLOCK_DIM)
            data[i] = COARSEN_(op)(data[i], data[i + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *out = n > 0 ? data[0] : COARSEN_(identity)();
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(COARSEN_UNUSED size_t n)
{
    return 0;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(COARSEN_TYPE *data, COARSEN_TYPE *out, size_t n,
                                          COARSEN_UNUSED void *scratch,
                                          COARSEN_UNUSED size_t scratch_bytes, cudaStream_t stream)
{
    if (!coarsen_array_ok(data, n) || !coarsen_array_ok(out, 1))
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(1, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), data, out, n);
}
#endif

#define COARSEN_END
#include "../base.h"
