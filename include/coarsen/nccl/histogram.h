// SPDX-License-Identifier: MIT
//
// coarsen/nccl/histogram.h: counts the elements of all ranks that fall into each bin; each rank gets the counts.
// counts[b] = the number of elements x of all ranks with BIN(x) == b, for each b in [0, NUM_BINS);
//             or the sum of WEIGHT(x) over those
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #include <coarsen/nccl/histogram.h>
//
//     unsigned char *pixels; // the rank's own, n of them
//     unsigned int *counts;
//     cudaMalloc(&pixels, n);
//     cudaMalloc(&counts, 256 * sizeof(unsigned int));
//     tones_launch_nccl(pixels, counts, n, NULL, 0, comm, stream); // no scratch for integers
//     // in place of cudaStreamSynchronize
//     coarsen_nccl_wait(&comm, stream, 10);
//
// coarsen/nccl/base.h says how ranks are made, what errors there are, and how a rank that failed keeps none waiting.
//
// It takes the parameters of coarsen/histogram.h, and defines what that defines, for one GPU; NAME_fold_kernel(all,
// ranks, counts); and
//     size_t      NAME_scratch_bytes_nccl(size_t n, ncclComm_t comm)    the same for any n; 0 for integer counts, and
//                             for a wrong communicator
//     cudaError_t NAME_scratch_init_nccl(void *scratch, size_t scratch_bytes, cudaStream_t stream)    does nothing
//     cudaError_t NAME_launch_nccl(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             void *scratch, size_t scratch_bytes, ncclComm_t comm, cudaStream_t stream)
// in, counts, n: the rank's own, as for NAME_launch. The n of the ranks may differ, and be 0. scratch: device memory,
// 16-byte aligned, which need not be made ready.
// Deterministic: an integer count wraps around, and is the same with any number of ranks. Sums of float or double that
// round are the same on all ranks, which fold the ranks' sums in one order; but each rank's own are not, as
// histogram/per_lane.h says.
//
// Cost: the rank's n elements read once. Integer counts are added up by ncclAllReduce: 2 (ranks - 1) / ranks times
// NUM_BINS of them sent by each rank. Of float or double each rank sends NUM_BINS sums to all others (ncclAllGather),
// and reads those of all.
// Source: NCCL's user guide, "Collective Operations".

#define COARSEN_WEIGHTED // takes a COARSEN_WEIGHT
#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_HISTOGRAM_BLOCK_DIM)
#define BLOCK_DIM COARSEN_HISTOGRAM_BLOCK_DIM
#endif
#if !defined(CFACTOR) && !defined(COARSEN_CFACTOR) && defined(COARSEN_HISTOGRAM_CFACTOR)
#define CFACTOR COARSEN_HISTOGRAM_CFACTOR
#endif
#include "base.h"
#define COARSEN_BEGIN COARSEN_PATTERN_HISTOGRAM
#include "../base.h"
#include "../histogram.h"

#define COARSEN_ROUNDS                                                                             \
    ((COARSEN_COUNT)0.5 != (COARSEN_COUNT)0) // whether counts are floating-point numbers

// Each bin's sums, added up in the order of the ranks.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(fold_kernel)(const COARSEN_COUNT *all, size_t ranks, COARSEN_COUNT *counts)
{
    const size_t bin = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    COARSEN_COUNT sum = 0;
    if (bin >= NUM_BINS)
        return;
    for (size_t r = 0; r < ranks; r++)
        sum += all[r * NUM_BINS + bin];
    counts[bin] = sum;
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes_nccl)(COARSEN_UNUSED size_t n, ncclComm_t comm)
{
    size_t rank, ranks;
    if (!COARSEN_ROUNDS || coarsen_nccl_place(comm, &rank, &ranks) != cudaSuccess)
        return 0;
    return ranks * NUM_BINS * sizeof(COARSEN_COUNT);
}

COARSEN_HOST cudaError_t COARSEN_(scratch_init_nccl)(COARSEN_UNUSED void *scratch,
                                                     COARSEN_UNUSED size_t scratch_bytes,
                                                     COARSEN_UNUSED cudaStream_t stream)
{
    return cudaSuccess;
}

COARSEN_HOST cudaError_t COARSEN_(launch_nccl)(const COARSEN_TYPE *in, COARSEN_COUNT *counts,
                                               size_t n, void *scratch, size_t scratch_bytes,
                                               ncclComm_t comm, cudaStream_t stream)
{
    size_t rank, ranks;
    cudaError_t status = coarsen_nccl_place(comm, &rank, &ranks);
    if (status != cudaSuccess)
        return status;
    if (!COARSEN_ROUNDS) {
        status = COARSEN_(launch)(in, counts, n, stream);
        if (status != cudaSuccess)
            return status;
        return coarsen_nccl_check(
            ncclAllReduce(counts, counts, NUM_BINS,
                          sizeof(COARSEN_COUNT) == 8 ? ncclUint64 : ncclUint32, ncclSum, comm,
                          stream),
            comm);
    }
    const size_t bytes = NUM_BINS * sizeof(COARSEN_COUNT);
    if (!COARSEN_(counts_ok)(in, counts, n) || !coarsen_bytes_ok(scratch, ranks, bytes, 16) ||
        scratch_bytes < ranks * bytes)
        return cudaErrorInvalidValue;
    COARSEN_COUNT *const all = (COARSEN_COUNT *)scratch;
    status = COARSEN_(launch)(in, all + rank * NUM_BINS, n, stream);
    if (status == cudaSuccess)
        status = coarsen_nccl_gather(all, bytes, comm, stream);
    if (status != cudaSuccess)
        return status;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(coarsen_ceil_div(NUM_BINS, BLOCK_DIM), BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(fold_kernel), all, ranks, counts);
}
#endif
#undef COARSEN_ROUNDS

#define COARSEN_END
#include "../base.h"
