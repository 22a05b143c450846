// SPDX-License-Identifier: MIT
//
// coarsen/nccl/scan.h: running sums over the arrays of all ranks, one after the other; inclusive or exclusive.
// out[i] of a rank = all elements of the ranks before OP LIFT(in[0], first) OP ... OP LIFT(in[i], first + i), or
// without the last with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/nccl/scan.h>
//
//     // in each rank's thread or process, once
//     cudaMalloc(&scratch, running_f32_scratch_bytes_nccl(n, comm));
//     running_f32_scratch_init_nccl(scratch, running_f32_scratch_bytes_nccl(n, comm), stream);
//     // as often as you like
//     running_f32_launch_nccl(in, out, n, scratch, running_f32_scratch_bytes_nccl(n, comm), comm, stream);
//     // in place of cudaStreamSynchronize
//     coarsen_nccl_wait(&comm, stream, 10);
//
// coarsen/nccl/base.h says how ranks are made, what errors there are, and how a rank that failed keeps none waiting.
//
// It takes the parameters of coarsen/scan.h, but for COARSEN_FLAG and COARSEN_OFFSET; and COARSEN_IDENTITY is to be e
// with OP(e, a) == a and OP(a, e) == a. The operator need not be commutative. Defines what coarsen/scan.h does, for one
// GPU; NAME_carry_kernel(all, count, carry); and
//     size_t      NAME_scratch_bytes_nccl(size_t n, ncclComm_t comm)    for the current device; never falls as n grows;
//                             0 for a wrong communicator
//     cudaError_t NAME_scratch_init_nccl(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch_nccl(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, [size_t first,]
//                             void *scratch, size_t scratch_bytes, ncclComm_t comm, cudaStream_t stream)
// in, out, n, scratch: the rank's own, as for NAME_launch; so out may be in. The n of the ranks may differ, and be 0.
// first is there only with COARSEN_LIFT: the index that LIFT gets with in[0], as how many elements the ranks before
// have; coarsen_nccl_counts can tell.
// Deterministic: for the same devices, n and alignments always the same bits. Of a type that rounds they are others
// than those of one GPU.
//
// How: each rank makes its total, gets those of all, and adds up the ones before it: the carry. With that it scans its
// elements. So all but the last rank read them twice, as the carry must be there before the first result is written.
// Equal parts of an array, where a result has the size of an element, thus take 3 passes over memory in place of 2:
// each GPU scans at 2/3 of its speed at best. Price paid: that, and two kernels and a message of few bytes.
// Cost: the rank's n elements read twice, and n results written. Each rank sends sizeof(COARSEN_ACC) bytes to all
// others (ncclAllGather).
// Source: NCCL's user guide, "Collective Operations"; the passes are those of scan/three_kernel.h.

#if defined(COARSEN_FLAG) || defined(COARSEN_OFFSET)
#error "coarsen/nccl: segments are for coarsen/scan.h: leave COARSEN_FLAG and COARSEN_OFFSET out"
#endif
#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_SCAN_BLOCK_DIM)
#define BLOCK_DIM COARSEN_SCAN_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_SCAN_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_SCAN_COARSE_FACTOR
#endif
#include "base.h"
#define COARSEN_BEGIN COARSEN_PATTERN_SCAN
#include "../base.h"
#define COARSEN_CARRIED
#include "../scan/single_pass.h"
#undef COARSEN_CARRIED

static_assert(alignof(COARSEN_ACC) <= 16,
              "coarsen/nccl: COARSEN_ACC must have an alignment of 16 or less");

// The first totals, combined in the order of the ranks; of none, the identity.
COARSEN_KERNEL void __launch_bounds__(32)
    COARSEN_(carry_kernel)(const COARSEN_ACC *all, size_t count, COARSEN_ACC *carry)
{
    COARSEN_ACC sum = COARSEN_(identity)();
    for (size_t r = 0; r < count; r++)
        sum = COARSEN_(op)(sum, all[r]);
    *carry = sum;
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(carry_over)(const COARSEN_ACC *all, size_t count,
                                              COARSEN_ACC *carry, cudaStream_t stream)
{
    const cudaLaunchConfig_t config = coarsen_launch_config(1, 1, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(carry_kernel), all, count, carry);
}

// Of the scratch: what the kernels of one GPU need; each rank's total; and the carry.
COARSEN_HOST size_t COARSEN_(local_bytes)(size_t n)
{
    return coarsen_ceil_div(COARSEN_(scratch_bytes)(n), 16) * 16;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes_nccl)(size_t n, ncclComm_t comm)
{
    size_t rank, ranks;
    if (coarsen_nccl_place(comm, &rank, &ranks) != cudaSuccess)
        return 0;
    return COARSEN_(local_bytes)(n) + (ranks + 1) * sizeof(COARSEN_ACC);
}

COARSEN_HOST cudaError_t COARSEN_(scratch_init_nccl)(void *scratch, size_t scratch_bytes,
                                                     cudaStream_t stream)
{
    return COARSEN_(scratch_init)(scratch, scratch_bytes, stream);
}

COARSEN_HOST cudaError_t COARSEN_(launch_nccl)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
#if COARSEN_LIFTED
                                               size_t first,
#endif
                                               void *scratch, size_t scratch_bytes, ncclComm_t comm,
                                               cudaStream_t stream)
{
#if !COARSEN_LIFTED
    const size_t first = 0;
#endif
    size_t rank, ranks;
    COARSEN_(planned) plan = {};
    cudaError_t status = coarsen_nccl_place(comm, &rank, &ranks);
    if (status == cudaSuccess)
        status = COARSEN_(plan)(in, out, n, &plan);
    if (status != cudaSuccess)
        return status;
    const size_t local = COARSEN_(local_bytes)(n);
    const size_t needed = local + (ranks + 1) * sizeof(COARSEN_ACC);
    if (!coarsen_bytes_ok(scratch, 1, needed, 16) || scratch_bytes < needed)
        return cudaErrorInvalidValue;
    COARSEN_ACC *const all = (COARSEN_ACC *)((char *)scratch + local), *const carry = all + ranks;
    plan.arrays.first = first;
    if (n > 0 && rank + 1 < ranks) {
        plan.arrays.out = NULL;
        plan.arrays.total = all + rank;
        status = COARSEN_(launch_plan)(&plan, scratch, stream);
        plan.arrays.out = out;
    } else { // nobody asks for the last one
        status = COARSEN_(carry_over)(all, 0, all + rank, stream);
    }
    if (status == cudaSuccess)
        status = coarsen_nccl_gather(all, sizeof(*all), comm, stream);
    if (status == cudaSuccess && rank > 0)
        status = COARSEN_(carry_over)(all, rank, carry, stream);
    plan.arrays.carry = rank > 0 ? carry : NULL;
    return status == cudaSuccess && n > 0 ? COARSEN_(launch_plan)(&plan, scratch, stream) : status;
}
#endif

#define COARSEN_END
#include "../base.h"
