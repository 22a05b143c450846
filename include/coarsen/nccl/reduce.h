// SPDX-License-Identifier: MIT
//
// coarsen/nccl/reduce.h: reduce the arrays of all ranks to one value, which each of them gets.
// out[0] = LIFT(the first element of rank 0) OP ... OP LIFT(the last element of the last rank)
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/nccl/reduce.h>
//
//     // in each rank's thread or process, once
//     cudaMalloc(&scratch, sum_f32_scratch_bytes_nccl(n, comm));
//     sum_f32_scratch_init_nccl(scratch, sum_f32_scratch_bytes_nccl(n, comm), stream);
//     // as often as you like
//     sum_f32_launch_nccl(in, out, n, scratch, sum_f32_scratch_bytes_nccl(n, comm), comm, stream);
//     // in place of cudaStreamSynchronize
//     coarsen_nccl_wait(&comm, stream, 10);
//
// coarsen/nccl/base.h says how ranks are made, what errors there are, and how a rank that failed keeps none waiting.
//
// It takes the parameters of coarsen/reduce.h, and
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_CHUNK        | 4194304          | with COARSEN_FIXED_TREE: elements of a chunk, from 1 to 2147483647 |
// Defines what coarsen/reduce.h does, for one GPU; NAME_fold_kernel(parts, count, out); and
//     size_t      NAME_scratch_bytes_nccl(size_t n, ncclComm_t comm)    for the current device; never falls as n grows;
//                             0 for a wrong communicator
//     cudaError_t NAME_scratch_init_nccl(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch_nccl(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, [size_t first,]
//                             void *scratch, size_t scratch_bytes, ncclComm_t comm, cudaStream_t stream)
// in, out, n, scratch: the rank's own, as for NAME_launch. The n of the ranks may differ, and be 0. first is there only
// with COARSEN_LIFT, COARSEN_ARGMIN or COARSEN_ARGMAX: the index that LIFT gets with in[0], as how many elements the
// ranks before have; coarsen_nccl_counts can tell. Where the type of COARSEN_ARGMIN or COARSEN_ARGMAX cannot represent
// the last index of the rank, or with COARSEN_FIXED_TREE of all, that is cudaErrorInvalidValue, with nothing written.
// Deterministic: all ranks get the same bits, and for the same devices, n and alignments always the same ones.
//
// With COARSEN_FIXED_TREE 1 the bits depend on the elements of all ranks in their order, and not on how many ranks have
// them, on who has which, on the devices or on alignment. They change with COARSEN_CHUNK and with what changes those of
// NAME_launch, whose bits they are for up to COARSEN_CHUNK elements. Each rank has to know the sizes of all, so there
// counts takes the place of n and first:
//     size_t      NAME_scratch_bytes_nccl(const size_t *counts, ncclComm_t comm)
//     cudaError_t NAME_launch_nccl(const COARSEN_TYPE *in, COARSEN_ACC *out, const size_t *counts,
//                             void *scratch, size_t scratch_bytes, ncclComm_t comm, cudaStream_t stream)
// counts: in host memory, one for each rank, the same on all of them, as coarsen_nccl_counts gives them. The elements
// of all ranks are divided into chunks. The rank with the first element of a chunk reduces it, as NAME_launch does, and
// first gets the elements that other ranks have of it. Operators that are exact, as sums of integers, give the same
// without this.
//
// Price saved: nothing is sent but partial results.
// Price paid: a kernel of one block, and a message of few bytes. With COARSEN_FIXED_TREE a kernel for each chunk, one
// after the other; so up to COARSEN_CHUNK elements are the work of one GPU. Scratch for a chunk.
// Cost: the rank's n elements read once. Each rank sends sizeof(COARSEN_ACC) bytes to all others (ncclAllGather). With
// COARSEN_FIXED_TREE as much for each chunk of its own (ncclBroadcast), and fewer elements than a chunk has to the rank
// that reduces these (ncclSend), which writes and reads them once more.
// Source: NCCL's user guide, "Collective Operations".

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_REDUCE_BLOCK_DIM)
#define BLOCK_DIM COARSEN_REDUCE_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_REDUCE_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_REDUCE_COARSE_FACTOR
#endif
#include "base.h"
#define COARSEN_BEGIN COARSEN_PATTERN_REDUCE
#include "../base.h"
#include "../reduce.h"

#ifndef COARSEN_CHUNK
#define COARSEN_CHUNK 4194304
#elif !COARSEN_NUMBER(COARSEN_CHUNK)
#error "coarsen/nccl: COARSEN_CHUNK must be a number > 0 for #if: no constexpr, expressions in ()"
#elif COARSEN_CHUNK < 1 || COARSEN_CHUNK > 2147483647
#error "coarsen/nccl: COARSEN_CHUNK must be from 1 to 2147483647"
#endif

static_assert(alignof(COARSEN_ACC) <= 16 && (!COARSEN_FIXED_TREE || alignof(COARSEN_TYPE) <= 16),
              "coarsen/nccl: COARSEN_ACC must have an alignment of 16 or less, and so must "
              "COARSEN_TYPE with COARSEN_FIXED_TREE");

// Partial results, combined by one block in an order that depends on their number alone.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(fold_kernel)(const COARSEN_ACC *parts, size_t count, COARSEN_ACC *out)
{
    COARSEN_ACC sum = COARSEN_(identity)();
    for (size_t k = threadIdx.x; k < count; k += BLOCK_DIM)
        sum = COARSEN_(op)(sum, parts[k]);
    sum = COARSEN_(block)(sum);
    if (threadIdx.x == 0)
        *out = sum;
}

#if COARSEN_LIFTED
// The kernels of one GPU, for an array whose first element has the index `first`. tile: 0 for a small array.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(from_kernel)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, unsigned int tile,
                          unsigned long long *scratch, size_t first)
{
    if (tile == 0) {
        COARSEN_(add_small)(in, out, (unsigned int)n, first);
        return;
    }
#if COARSEN_FIXED_TREE
    if (COARSEN_ITEMS > 1 && (size_t)in % sizeof(COARSEN_(vector)) != 0) {
        COARSEN_(add_all)(in, out, n, tile, gridDim.x, scratch, false, first);
        return;
    }
#endif
    COARSEN_(add_all)(in, out, n, tile, gridDim.x, scratch, true, first);
}
#endif

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(fold)(const COARSEN_ACC *parts, size_t count, COARSEN_ACC *out,
                                        cudaStream_t stream)
{
    const cudaLaunchConfig_t config = coarsen_launch_config(1, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(fold_kernel), parts, count, out);
}

// NAME_launch, of arguments that are right, with the index of in[0].
COARSEN_HOST cudaError_t COARSEN_(launch_from)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                               COARSEN_UNUSED size_t first, void *scratch,
                                               size_t scratch_bytes, cudaStream_t stream)
{
#if COARSEN_LIFTED
    COARSEN_(planned) plan = {};
    const cudaError_t status = COARSEN_(plan)(in, n, &plan);
    if (status != cudaSuccess)
        return status;
    const bool is_small = plan.kernel == COARSEN_(small_kernel);
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    return scratch_bytes < plan.scratch_bytes
               ? cudaErrorInvalidValue
               : cudaLaunchKernelEx(&config, COARSEN_(from_kernel), in, out, n,
                                    is_small ? 0 : plan.tile, (unsigned long long *)scratch, first);
#else
    return COARSEN_(launch)(in, out, n, scratch, scratch_bytes, stream);
#endif
}

COARSEN_HOST cudaError_t COARSEN_(scratch_init_nccl)(void *scratch, size_t scratch_bytes,
                                                     cudaStream_t stream)
{
    return COARSEN_(scratch_init)(scratch, scratch_bytes, stream);
}

#if !COARSEN_FIXED_TREE

// Of the scratch: what the kernels of one GPU need; behind it each rank's result.
COARSEN_HOST size_t COARSEN_(local_bytes)(size_t n)
{
    return coarsen_ceil_div(COARSEN_(scratch_bytes)(n), 16) * 16;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes_nccl)(size_t n, ncclComm_t comm)
{
    size_t rank, ranks;
    if (coarsen_nccl_place(comm, &rank, &ranks) != cudaSuccess)
        return 0;
    return COARSEN_(local_bytes)(n) + ranks * sizeof(COARSEN_ACC);
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
    cudaError_t status = coarsen_nccl_place(comm, &rank, &ranks);
    if (status != cudaSuccess)
        return status;
    const size_t local = COARSEN_(local_bytes)(n);
    if (!COARSEN_(indices_ok)(n > 0 ? first + n : 0) ||
        !COARSEN_(arguments_ok)(in, out, n, scratch, scratch_bytes,
                                local + ranks * sizeof(COARSEN_ACC)))
        return cudaErrorInvalidValue;
    COARSEN_ACC *const parts = (COARSEN_ACC *)((char *)scratch + local);
    status = COARSEN_(launch_from)(in, parts + rank, n, first, scratch, local, stream);
    if (status == cudaSuccess)
        status = coarsen_nccl_gather(parts, sizeof(*parts), comm, stream);
    return status == cudaSuccess ? COARSEN_(fold)(parts, ranks, out, stream) : status;
}

#else

// How the elements are divided: those of a rank are begin to end - 1 of all, and of so many chunks it has the first.
typedef struct {
    size_t begin, end, first_chunk, chunks;
} COARSEN_(share);

// false if no memory holds so many elements.
COARSEN_HOST bool COARSEN_(next_share)(COARSEN_(share) * share, size_t n)
{
    share->begin = share->end;
    if (n > (size_t)-1 / 2 - share->begin)
        return false;
    share->end = share->begin + n;
    share->first_chunk = coarsen_ceil_div(share->begin, COARSEN_CHUNK);
    share->chunks = coarsen_ceil_div(share->end, COARSEN_CHUNK) - share->first_chunk;
    return true;
}

// Of all ranks together; false where their elements are too many.
COARSEN_HOST bool COARSEN_(whole)(const size_t *counts, size_t ranks, COARSEN_(share) * whole)
{
    COARSEN_(share) share = {};
    for (size_t r = 0; r < ranks; r++)
        if (!COARSEN_(next_share)(&share, counts[r]))
            return false;
    whole->begin = whole->end = 0;
    return COARSEN_(next_share)(whole, share.end);
}

// Of the scratch: what the kernels of one GPU need for a chunk; each chunk's result; and elements of a chunk.
typedef struct {
    size_t parts, chunk, end;
} COARSEN_(layout);

COARSEN_HOST COARSEN_(layout) COARSEN_(lay_out)(COARSEN_(share) whole, size_t ranks)
{
    const size_t most = coarsen_min(whole.end, COARSEN_CHUNK);
    COARSEN_(layout) layout;
    layout.parts = coarsen_ceil_div(COARSEN_(scratch_bytes)(most), 16) * 16;
    layout.chunk =
        layout.parts + coarsen_ceil_div((whole.chunks + 1) * sizeof(COARSEN_ACC), 16) * 16;
    layout.end = layout.chunk + (ranks > 1 ? most * sizeof(COARSEN_TYPE) : 0);
    return layout;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes_nccl)(const size_t *counts, ncclComm_t comm)
{
    size_t rank, ranks;
    COARSEN_(share) whole;
    if (coarsen_nccl_place(comm, &rank, &ranks) != cudaSuccess || !counts ||
        !COARSEN_(whole)(counts, ranks, &whole))
        return 0;
    return COARSEN_(lay_out)(whole, ranks).end;
}

// Of the chunks that more ranks than one have a part of: sends the rank's part of the one that another has begun, and
// collects the parts of the one that it has begun itself in `chunk`.
COARSEN_HOST cudaError_t COARSEN_(meet_ranks)(const COARSEN_TYPE *in, const size_t *counts,
                                              size_t rank, size_t ranks, size_t total,
                                              COARSEN_TYPE *chunk, ncclComm_t comm,
                                              cudaStream_t stream)
{
    COARSEN_(share) share = {}, own = {};
    size_t beginner = 0; // of the chunk that the rank's elements begin within
    for (size_t r = 0; r <= rank; r++) {
        COARSEN_(next_share)(&own, counts[r]);
        if (r < rank && own.chunks > 0)
            beginner = r;
    }
    const size_t head = coarsen_min(own.first_chunk * COARSEN_CHUNK, own.end) - own.begin;
    const size_t after = (own.first_chunk + own.chunks) * COARSEN_CHUNK; // its last chunk
    const size_t begin = own.chunks > 0 ? after - COARSEN_CHUNK : total;
    const size_t end = coarsen_min(after, total);
    cudaError_t status = cudaSuccess;
    if (begin < own.end && own.end < end)
        status = cudaMemcpyAsync(chunk, in + (begin - own.begin), (own.end - begin) * sizeof(*in),
                                 cudaMemcpyDeviceToDevice, stream);
    if (status == cudaSuccess)
        status = coarsen_nccl_check(ncclGroupStart(), comm);
    if (status != cudaSuccess)
        return status;
    if (head > 0)
        status = coarsen_nccl_check(
            ncclSend(in, head * sizeof(*in), ncclUint8, (int)beginner, comm, stream), comm);
    for (size_t r = 0; r < ranks && status == cudaSuccess; r++) {
        COARSEN_(next_share)(&share, counts[r]);
        if (r > rank && counts[r] > 0 && begin < end && share.begin < end)
            status = coarsen_nccl_check(
                ncclRecv(chunk + (share.begin - begin),
                         (coarsen_min(share.end, end) - share.begin) * sizeof(*in), ncclUint8,
                         (int)r, comm, stream),
                comm);
    }
    const cudaError_t ended = coarsen_nccl_check(ncclGroupEnd(), comm);
    return status == cudaSuccess ? ended : status;
}

// Each chunk's result, from the rank that has it to all.
COARSEN_HOST cudaError_t COARSEN_(share_parts)(COARSEN_ACC *parts, const size_t *counts,
                                               size_t ranks, ncclComm_t comm, cudaStream_t stream)
{
    COARSEN_(share) share = {};
    cudaError_t status = coarsen_nccl_check(ncclGroupStart(), comm);
    if (status != cudaSuccess)
        return status;
    for (size_t r = 0; r < ranks && status == cudaSuccess; r++) {
        COARSEN_(next_share)(&share, counts[r]);
        COARSEN_ACC *const part = parts + share.first_chunk;
        if (share.chunks > 0)
            status = coarsen_nccl_check(ncclBroadcast(part, part, share.chunks * sizeof(*part),
                                                      ncclUint8, (int)r, comm, stream),
                                        comm);
    }
    const cudaError_t ended = coarsen_nccl_check(ncclGroupEnd(), comm);
    return status == cudaSuccess ? ended : status;
}

COARSEN_HOST cudaError_t COARSEN_(launch_nccl)(const COARSEN_TYPE *in, COARSEN_ACC *out,
                                               const size_t *counts, void *scratch,
                                               size_t scratch_bytes, ncclComm_t comm,
                                               cudaStream_t stream)
{
    size_t rank, ranks;
    COARSEN_(share) whole, own = {};
    cudaError_t status = coarsen_nccl_place(comm, &rank, &ranks);
    if (status != cudaSuccess)
        return status;
    if (!counts || !COARSEN_(whole)(counts, ranks, &whole))
        return cudaErrorInvalidValue;
    const COARSEN_(layout) layout = COARSEN_(lay_out)(whole, ranks);
    if (!COARSEN_(indices_ok)(whole.end) ||
        !COARSEN_(arguments_ok)(in, out, counts[rank], scratch, scratch_bytes, layout.end))
        return cudaErrorInvalidValue;
    COARSEN_ACC *const parts = (COARSEN_ACC *)((char *)scratch + layout.parts);
    COARSEN_TYPE *const chunk = (COARSEN_TYPE *)((char *)scratch + layout.chunk);
    for (size_t r = 0; r <= rank; r++)
        COARSEN_(next_share)(&own, counts[r]);
    if (ranks > 1)
        status = COARSEN_(meet_ranks)(in, counts, rank, ranks, whole.end, chunk, comm, stream);
    for (size_t c = own.first_chunk; c < own.first_chunk + own.chunks && status == cudaSuccess;
         c++) {
        const size_t begin = c * COARSEN_CHUNK;
        const size_t n = coarsen_min(whole.end - begin, COARSEN_CHUNK);
        status = COARSEN_(launch_from)(n <= own.end - begin ? in + (begin - own.begin) : chunk,
                                       parts + c, n, begin, scratch, layout.parts, stream);
    }
    if (ranks > 1 && status == cudaSuccess)
        status = COARSEN_(share_parts)(parts, counts, ranks, comm, stream);
    return status == cudaSuccess ? COARSEN_(fold)(parts, whole.chunks, out, stream) : status;
}

#endif
#endif // __CUDACC_RTC__
#undef COARSEN_CHUNK

#define COARSEN_END
#include "../base.h"
