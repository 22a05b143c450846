// SPDX-License-Identifier: MIT
//
// coarsen/nccl/base.h: what the headers of this folder share: patterns on several GPUs, over NCCL.
//
// Each GPU has a rank in a communicator, and each rank its own host thread or process, which calls the launcher with
// its part of the data. One process with a thread for each GPU:
//
//     ncclComm_t comm[8];
//     ncclCommInitAll(comm, 8, NULL);  // then thread r does the rest
//     cudaSetDevice(r);
//     size_t bytes = sum_f32_scratch_bytes_nccl(n, comm[r]);
//     cudaMalloc(&scratch, bytes);
//     sum_f32_scratch_init_nccl(scratch, bytes, stream);
//     sum_f32_launch_nccl(in, out, n, scratch, bytes, comm[r], stream);
//     coarsen_nccl_wait(&comm[r], stream, 10);
//
// With a process for each GPU, as mpirun and torchrun start them, ncclGetUniqueId and ncclCommInitRank take the place
// of ncclCommInitAll. docs/nccl.md has programs.
//
// A launcher starts kernels and NCCL's calls in the order of its stream. So no launcher is called between the user's
// ncclGroupStart and ncclGroupEnd, where NCCL's calls would start after the kernels that need them; and one thread
// that called launchers of two ranks in turn would wait for ever. All ranks call the same launchers of a communicator
// in the same order. The current device is the communicator's.
// Errors of a launcher: cudaErrorInvalidValue for wrong arguments, cudaErrorInvalidDevice for a communicator of another
// device: the rank then takes no part, and has written and sent nothing. cudaErrorUnknown where NCCL failed:
// coarsen_nccl_error says how. cudaErrorNotReady where a communicator that does not block (config.blocking = 0)
// was still in progress after COARSEN_NCCL_SECONDS: only the start of the messages is waited for, as the next kernel
// is to be behind them in the stream. And those of the CUDA runtime.
// After any of these, and where a rank does not come, the others must not wait for ever: coarsen_nccl_wait takes the
// place of cudaStreamSynchronize on all ranks, and the rank that failed calls ncclCommAbort, or ends. The first call on
// a communicator makes NCCL connect the ranks, on the host. There a communicator that blocks waits for all ranks; take
// config.blocking = 0 where a rank may be missing from the start.
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NCCL_SECONDS | 60               | the most that a launcher waits for a communicator that does not block |
// Includes <nccl.h>, of NCCL 2.18 or later, and defines, once, for the host,
//     cudaError_t coarsen_nccl_wait(ncclComm_t *comm, cudaStream_t stream, double seconds)
//                             waits for the stream, or aborts the communicator, whose *comm is NULL then
//     const char *coarsen_nccl_error(ncclComm_t comm)    what NCCL said of the last error in this thread
//     size_t      coarsen_nccl_counts_bytes(ncclComm_t comm)    of scratch for the next one
//     cudaError_t coarsen_nccl_counts(size_t n, size_t *counts, void *scratch, size_t scratch_bytes,
//                             ncclComm_t *comm, cudaStream_t stream, double seconds)
//                             all ranks' n in host memory, of which each gives its own; this one waits
//     coarsen_nccl_side   a second stream with its events, for patterns that compute while messages are on their way
//     cudaError_t coarsen_nccl_side_create(coarsen_nccl_side *side)
//     cudaError_t coarsen_nccl_side_destroy(coarsen_nccl_side *side)
// and what the launchers are made of,
//     cudaError_t coarsen_nccl_check(ncclResult_t result, ncclComm_t comm)    what NCCL returned, as such an error
//     cudaError_t coarsen_nccl_place(ncclComm_t comm, size_t *rank, size_t *ranks)
//     cudaError_t coarsen_nccl_gather(void *all, size_t bytes, ncclComm_t comm, cudaStream_t stream)
// Inside a namespace or extern "C", include this file first, outside of it.

#ifndef COARSEN_NCCL_BASE_H
#define COARSEN_NCCL_BASE_H

#include "../base.h"

#ifndef __CUDACC_RTC__
#include <nccl.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#if NCCL_VERSION_CODE < 21800
#error "coarsen/nccl: NCCL 2.18 or later is needed, and this is the header of an older one"
#endif

#ifndef COARSEN_NCCL_SECONDS
#define COARSEN_NCCL_SECONDS 60
#endif

#ifdef __GNUC__ // as ../base.h says
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wshadow"
#endif

// ---- Errors -------------------------------------------------------------------------------------

// The last result of NCCL in this thread, as seen by this file of the program, that was no success.
COARSEN_HOST ncclResult_t *coarsen_nccl_last(void)
{
    static thread_local ncclResult_t last = ncclSuccess;
    return &last;
}

COARSEN_HOST double coarsen_nccl_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// What NCCL returned, as an error of the runtime. Waits until a communicator that does not block has done what it was
// told on the host; not for the device.
COARSEN_HOST cudaError_t coarsen_nccl_check(ncclResult_t result, ncclComm_t comm)
{
    const double start = coarsen_nccl_now();
    while (result == ncclInProgress && coarsen_nccl_now() - start < COARSEN_NCCL_SECONDS) {
        ncclResult_t state = ncclSuccess;
        sched_yield();
        result = ncclCommGetAsyncError(comm, &state);
        if (result == ncclSuccess)
            result = state;
    }
    if (result == ncclSuccess)
        return cudaSuccess;
    *coarsen_nccl_last() = result;
    return result == ncclInProgress ? cudaErrorNotReady : cudaErrorUnknown;
}

// What NCCL says of the last error, to be read before the thread's next call. comm may be NULL.
COARSEN_HOST const char *coarsen_nccl_error(ncclComm_t comm)
{
    static thread_local char text[1200];
    const ncclResult_t last = *coarsen_nccl_last();
    const char *const more = last == ncclSuccess ? NULL : ncclGetLastError(comm);
    snprintf(text, sizeof(text), "%s%s%s", ncclGetErrorString(last), more && *more ? ": " : "",
             more ? more : "");
    return text;
}

// ---- Ranks --------------------------------------------------------------------------------------

// Which rank of how many; and whether the communicator is there, and of the current device.
COARSEN_HOST cudaError_t coarsen_nccl_place(ncclComm_t comm, size_t *rank, size_t *ranks)
{
    int device = -1, current = -1, own = 0, count = 1;
    *rank = 0;
    *ranks = 1;
    if (!comm)
        return cudaErrorInvalidValue;
    cudaError_t status = cudaGetDevice(&current);
    if (status == cudaSuccess)
        status = coarsen_nccl_check(ncclCommCuDevice(comm, &device), comm);
    if (status == cudaSuccess)
        status = coarsen_nccl_check(ncclCommUserRank(comm, &own), comm);
    if (status == cudaSuccess)
        status = coarsen_nccl_check(ncclCommCount(comm, &count), comm);
    if (status != cudaSuccess)
        return status;
    *rank = (size_t)own;
    *ranks = (size_t)count;
    return device == current ? cudaSuccess : cudaErrorInvalidDevice;
}

// all: `bytes` for each rank, in their order, of which each has written its own: then all ranks have all of them.
COARSEN_HOST cudaError_t coarsen_nccl_gather(void *all, size_t bytes, ncclComm_t comm,
                                             cudaStream_t stream)
{
    size_t rank, ranks;
    const cudaError_t status = coarsen_nccl_place(comm, &rank, &ranks);
    if (status != cudaSuccess)
        return status;
    return coarsen_nccl_check(
        ncclAllGather((char *)all + rank * bytes, all, bytes, ncclUint8, comm, stream), comm);
}

// ---- Waiting ------------------------------------------------------------------------------------

// Waits for the stream, in place of cudaStreamSynchronize. Where the communicator or the stream failed, or so many
// seconds pass (then cudaErrorNotReady), aborts the communicator, so that what it has in the stream ends, and sets
// *comm to NULL.
COARSEN_HOST cudaError_t coarsen_nccl_wait(ncclComm_t *comm, cudaStream_t stream, double seconds)
{
    if (!*comm)
        return cudaErrorInvalidValue;
    const double start = coarsen_nccl_now();
    for (;;) {
        // The stream first: a communicator that failed ends what it has there.
        cudaError_t status = cudaStreamQuery(stream);
        ncclResult_t state = ncclSuccess, result = ncclCommGetAsyncError(*comm, &state);
        if (result == ncclSuccess)
            result = state;
        if (status == cudaErrorNotReady)
            cudaGetLastError(); // which is not to say so: it is no error
        if (status == cudaSuccess && result == ncclSuccess)
            return cudaSuccess;
        const bool broken = result != ncclSuccess && result != ncclInProgress;
        if (!broken && (status == cudaSuccess || status == cudaErrorNotReady)) {
            if (coarsen_nccl_now() - start < seconds) {
                sched_yield();
                continue;
            }
            status = cudaErrorNotReady;
        }
        if (broken)
            status = coarsen_nccl_check(result, *comm);
        ncclCommAbort(*comm);
        *comm = NULL;
        return status;
    }
}

// ---- The sizes of all ranks ---------------------------------------------------------------------

COARSEN_HOST size_t coarsen_nccl_counts_bytes(ncclComm_t comm)
{
    size_t rank, ranks;
    return coarsen_nccl_place(comm, &rank, &ranks) == cudaSuccess ? ranks * sizeof(size_t) : 0;
}

// counts: of all ranks the n that they give, in host memory. For patterns whose messages depend on others' sizes; once,
// for launches of the same sizes, as this waits for the stream, as coarsen_nccl_wait does. scratch: 8-byte aligned, of
// coarsen_nccl_counts_bytes(comm) bytes of device memory.
COARSEN_HOST cudaError_t coarsen_nccl_counts(size_t n, size_t *counts, void *scratch,
                                             size_t scratch_bytes, ncclComm_t *comm,
                                             cudaStream_t stream, double seconds)
{
    size_t rank, ranks;
    cudaError_t status = coarsen_nccl_place(*comm, &rank, &ranks);
    if (status != cudaSuccess)
        return status;
    const size_t bytes = ranks * sizeof(size_t);
    if (!counts || !scratch || (size_t)scratch % sizeof(size_t) != 0 || scratch_bytes < bytes)
        return cudaErrorInvalidValue;
    status =
        cudaMemcpyAsync((size_t *)scratch + rank, &n, sizeof(n), cudaMemcpyHostToDevice, stream);
    if (status == cudaSuccess)
        status = coarsen_nccl_gather(scratch, sizeof(n), *comm, stream);
    if (status == cudaSuccess) // before the copy, which would wait for ever
        status = coarsen_nccl_wait(comm, stream, seconds);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(counts, scratch, bytes, cudaMemcpyDeviceToHost, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}

// ---- A second stream ----------------------------------------------------------------------------

// For messages that a launcher sends beside its kernels: the stream, and events that tell it what may be sent, and the
// launcher's own stream what has arrived.
typedef struct {
    cudaStream_t stream;
    cudaEvent_t ready, done;
} coarsen_nccl_side;

// On the current device; once for each launch that may run at the same time.
COARSEN_HOST cudaError_t coarsen_nccl_side_create(coarsen_nccl_side *side)
{
    // Messages first: what computes has blocks enough for all multiprocessors, and would keep them waiting.
    int least = 0, greatest = 0;
    cudaError_t status = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithPriority(&side->stream, cudaStreamNonBlocking, greatest);
    if (status != cudaSuccess)
        return status;
    status = cudaEventCreateWithFlags(&side->ready, cudaEventDisableTiming);
    if (status == cudaSuccess) {
        status = cudaEventCreateWithFlags(&side->done, cudaEventDisableTiming);
        if (status == cudaSuccess)
            return status;
        cudaEventDestroy(side->ready);
    }
    cudaStreamDestroy(side->stream);
    return status;
}

// When what was launched with it is done.
COARSEN_HOST cudaError_t coarsen_nccl_side_destroy(coarsen_nccl_side *side)
{
    const cudaError_t ready = cudaEventDestroy(side->ready), done = cudaEventDestroy(side->done);
    const cudaError_t stream = cudaStreamDestroy(side->stream);
    return ready != cudaSuccess ? ready : done != cudaSuccess ? done : stream;
}

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif // __CUDACC_RTC__

#endif // COARSEN_NCCL_BASE_H
