// SPDX-License-Identifier: MIT
//
// coarsen/nccl/sort.h: stable sort of keys, or of keys with values, that lie on several GPUs. sort.h on each, then the
// keys move to where they belong, once, and are merged.
// out of rank 0, then of rank 1, ... = in of rank 0, then of rank 1, ..., in ascending order
//
//     #define COARSEN_NAME sort_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/nccl/sort.h>
//
//     // on each rank, once: counts[r] keys are on rank r; coarsen_nccl_counts tells them
//     size_t bytes = sort_f32_scratch_bytes_nccl(counts, comm);
//     cudaMalloc(&scratch, bytes);
//     sort_f32_scratch_init_nccl(scratch, bytes, stream);
//     cudaMallocHost(&splits, sort_f32_splits_bytes_nccl(comm));
//     // as often as you like; out may be in
//     sort_f32_launch_nccl(in, out, counts, splits, scratch, bytes, comm, stream);
//     coarsen_nccl_wait(&comm, stream, 10); // then the host knows how many keys go where
//     sort_f32_finish_nccl(out, counts, splits, scratch, bytes, comm, stream);
//
// The parameters are those of sort.h. Defines what sort.h does, NAME_split_kernel, NAME_merge_kernel, and
//     size_t      NAME_scratch_bytes_nccl(const size_t *counts, ncclComm_t comm)
//     cudaError_t NAME_scratch_init_nccl(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     size_t      NAME_splits_bytes_nccl(ncclComm_t comm)
//     cudaError_t NAME_launch_nccl(const COARSEN_TYPE *in, COARSEN_TYPE *out,
//                                  [const COARSEN_VALUE *in_values, COARSEN_VALUE *out_values,] const size_t *counts,
//                                  unsigned long long *splits, void *scratch, size_t scratch_bytes,
//                                  ncclComm_t comm, cudaStream_t stream)
//     cudaError_t NAME_finish_nccl(COARSEN_TYPE *out, [COARSEN_VALUE *out_values,] const size_t *counts,
//                                  const unsigned long long *splits, void *scratch, size_t scratch_bytes,
//                                  ncclComm_t comm, cudaStream_t stream)
// Each rank calls both, and waits for the stream between them: NCCL takes the sizes of messages from the host, and how
// many keys go from one rank to another depends on the keys. So the launch leaves that in splits, and a launcher never
// waits. out, counts and scratch are the same in both.
// counts: how many keys each rank has, in host memory, the same on all ranks. Each gets as many as it had; it may be 0.
// in, in_values: counts[rank] elements each in device memory. out, out_values: likewise, apart from those, or the same
// arrays. splits: NAME_splits_bytes_nccl(comm) bytes of the host's memory, from cudaMallocHost: with other memory
// the runtime itself waits in the launch. scratch: NAME_scratch_bytes_nccl(counts, comm) bytes of device memory, 16-byte
// aligned, made ready once by NAME_scratch_init_nccl; each launch leaves it ready for the next. Between launch and
// finish nothing else may write it, or out.
// Errors: those of nccl/base.h and of sort.h; cudaErrorInvalidValue also for counts that overflow, and for splits that
// no launch with these counts left.
// Order, stability and bits are those of sort.h on all keys together, one rank's behind those of the rank before: of
// equal keys, those of a lower rank come first. So the result does not depend on how many ranks there are.
// Deterministic.
//
// How: what divides the ranks' parts of the result are keys, and such a key is found exactly, 8 bits at a time: for
// each digit, each rank counts by binary search how many of its sorted keys would come before, and one sum over all
// ranks tells the digit. Keys equal to it are divided by rank, then by place. Then each rank sends each other one what
// is its own, and merges what it gets: 2 ranks' runs in one pass, up to 4 in two, up to 8 in three.
// Price saved: each key moves once, or not at all, whatever the keys are. A network that merges and splits between two
// ranks at a time needs no sizes that depend on keys, and moves all of them in each of 2 ranks - 3 steps.
// Price paid: one all-reduce per byte of a key, of 2 KiB per rank, and the wait of the host.
// Cost: sort.h's; per rank what it sends and receives, of random keys (ranks - 1) / ranks of them; n keys and values
// read and written in each pass of the merge. Scratch for n keys and values more than that of sort.h, and 2 KiB per rank.
// Source: Axtmann, Bingmann, Sanders and Schulz, Practical Massively Parallel Sorting (2015), for exact splitting of
// sorted parts; O. Green, R. McColl, D. A. Bader, GPU Merge Path (2012), for the merge.

#include "base.h"

#define COARSEN_BEGIN COARSEN_PATTERN_SORT
#include "../base.h"
#include "../sort.h"

// Of a thread's run in a merge, so that a tile fits: keys, results and, with values, where these came from.
#ifdef COARSEN_VALUE
#define COARSEN_PLACE sizeof(unsigned int)
#else
#define COARSEN_PLACE 0
#endif
enum {
    COARSEN_(merge_threads) = 256,
    COARSEN_(fitting) =
        (32 << 10) / (COARSEN_(merge_threads) * (2 * sizeof(COARSEN_TYPE) + COARSEN_PLACE)),
    COARSEN_(each) = (COARSEN_(fitting) > 11 ? 11 : COARSEN_(fitting) - 1) | 1, // odd, for banks
    COARSEN_(merge_tile) = COARSEN_(merge_threads) * COARSEN_(each),
    COARSEN_(most_splits) = 8 // of one launch
};

// ---- where to split -----------------------------------------------------------------------------------------

// How many of all ranks' keys come before each split of a launch.
typedef struct {
    unsigned long long before[COARSEN_(most_splits)];
} COARSEN_(targets);

// How many of n sorted keys come before one whose bits are these, or with `equal` not behind it.
COARSEN_DEVICE size_t COARSEN_(count_below)(const COARSEN_TYPE *keys, size_t n,
                                            unsigned long long bits, bool equal)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t i = low + (high - low) / 2;
        const unsigned long long key = COARSEN_(bits)(keys[i]);
        if (key < bits || (equal && key == bits))
            low = i + 1;
        else
            high = i;
    }
    return low;
}

// Finds the next digit of the key at each split, a block for each. sums: for each value of the digit before, how many of
// all ranks' keys come before a key that continues so: the digit is the last value with no more than there should be.
// Then it leaves there the same of this rank's keys for the next digit; or, after the last, how many of them come before
// the key, and not behind it, in ends.
COARSEN_KERNEL void __launch_bounds__(256)
    COARSEN_(split_kernel)(const COARSEN_TYPE *keys, size_t n, COARSEN_(targets) targets,
                           unsigned int digit, unsigned long long *found, unsigned long long *sums,
                           unsigned long long *ends)
{
    const unsigned int t = threadIdx.x, last = (unsigned int)sizeof(COARSEN_TYPE);
    const size_t split = blockIdx.x;
    unsigned long long bits = digit == 0 ? 0 : found[split];
    if (digit > 0) {
        const int values = __syncthreads_count(sums[split * 256 + t] <= targets.before[split]);
        bits |= (unsigned long long)(values - 1) << 8 * (last - digit);
        if (t == 0)
            found[split] = bits;
    } else if (t == 0) {
        found[split] = 0;
    }
    if (digit < last)
        sums[split * 256 + t] = COARSEN_(count_below)(
            keys, n, bits | (unsigned long long)t << 8 * (last - 1 - digit), false);
    else if (t < 2)
        ends[split * 2 + t] = COARSEN_(count_below)(keys, n, bits, t == 1);
}

// ---- a merge ------------------------------------------------------------------------------------------------

// Two sorted runs, one behind the other, and the place of what they become.
typedef struct {
    const COARSEN_TYPE *in;
    size_t m, n; // keys of the first and of the second
    COARSEN_TYPE *out;
#ifdef COARSEN_VALUE
    const COARSEN_VALUE *in_values;
    COARSEN_VALUE *out_values;
#endif
} COARSEN_(runs);

// How many of the first k results come from a.
COARSEN_DEVICE size_t COARSEN_(co_rank)(size_t k, const COARSEN_TYPE *a, size_t m,
                                        const COARSEN_TYPE *b, size_t n)
{
    size_t low = k > n ? k - n : 0, high = coarsen_min(k, m);
    while (low < high) {
        const size_t i = low + (high - low) / 2;
        if (COARSEN_(bits)(b[k - 1 - i]) < COARSEN_(bits)(a[i]))
            high = i;
        else
            low = i + 1;
    }
    return low;
}

// As merge/tiled.h, whose comment says how.
COARSEN_KERNEL void __launch_bounds__(COARSEN_(merge_threads))
    COARSEN_(merge_kernel)(COARSEN_(runs) runs)
{
    COARSEN_SHARED(COARSEN_TYPE, keys,
                   COARSEN_(merge_tile)); // of the first run, and then of the second
    COARSEN_SHARED(COARSEN_TYPE, merged, COARSEN_(merge_tile));
#ifdef COARSEN_VALUE
    __shared__ unsigned int from[COARSEN_(merge_tile)]; // where in keys a result was
#endif
    __shared__ size_t ends[2];
    const unsigned int t = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * COARSEN_(merge_tile);
    const unsigned int count =
        (unsigned int)coarsen_min(COARSEN_(merge_tile), runs.m + runs.n - first);

    if (t < 2)
        ends[t] = COARSEN_(co_rank)(first + t * count, runs.in, runs.m, runs.in + runs.m, runs.n);
    __syncthreads();
    const size_t a_first = ends[0], b_first = runs.m + (first - a_first);
    // If the keys never came, the ends may be any.
    const unsigned int of_a =
        ends[1] > a_first ? (unsigned int)coarsen_min(ends[1] - a_first, count) : 0;
    const unsigned int of_b = count - of_a;
    for (unsigned int e = t; e < count; e += COARSEN_(merge_threads))
        keys[e] = runs.in[e < of_a ? a_first + e : b_first + (e - of_a)];
    __syncthreads();

    const COARSEN_TYPE *const a = keys, *const b = keys + of_a;
    const unsigned int begin = (unsigned int)coarsen_min(t * COARSEN_(each), count);
    unsigned int i = (unsigned int)COARSEN_(co_rank)(begin, a, of_a, b, of_b), j = begin - i;
#pragma unroll 1
    for (unsigned int k = begin; k < begin + COARSEN_(each) && k < count; k++) {
        const bool from_b = i == of_a || (j < of_b && COARSEN_(bits)(b[j]) < COARSEN_(bits)(a[i]));
        merged[k] = from_b ? b[j] : a[i];
#ifdef COARSEN_VALUE
        from[k] = from_b ? of_a + j : i;
#endif
        if (from_b)
            j++;
        else
            i++;
    }
    __syncthreads();
    for (unsigned int k = t; k < count; k += COARSEN_(merge_threads)) {
        runs.out[first + k] = merged[k];
#ifdef COARSEN_VALUE
        runs.out_values[first + k] =
            runs.in_values[from[k] < of_a ? a_first + from[k] : b_first + (from[k] - of_a)];
#endif
    }
}

// ---- the launch ---------------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
// Which rank of how many, and how the scratch is divided: for sort.h, for keys and values as they go to and fro, and for
// the splits.
typedef struct {
    size_t rank, ranks, n;
    COARSEN_(arrays) own, spare; // only what is written: out, and the other keys
    unsigned long long *found, *sums, *ends;
    size_t sort_bytes, bytes;
} COARSEN_(share);

COARSEN_HOST cudaError_t COARSEN_(divide)(COARSEN_(share) * share, const size_t *counts,
                                          char *scratch, ncclComm_t comm)
{
    cudaError_t status = coarsen_nccl_place(comm, &share->rank, &share->ranks);
    if (status != cudaSuccess)
        return status;
    size_t all = 0;
    for (size_t r = 0; r < share->ranks; r++) {
        if (!counts || counts[r] > (size_t)-1 - all)
            return cudaErrorInvalidValue;
        all += counts[r];
    }
    share->n = counts[share->rank];
    const size_t splits = share->ranks - 1;
    share->sort_bytes = coarsen_ceil_div(COARSEN_(scratch_bytes)(share->n), 16) * 16;
    const size_t spare = coarsen_ceil_div(COARSEN_(spare_bytes)(share->n, true), 16) * 16;
    if (share->sort_bytes >= (size_t)-1 / 4 || spare >= (size_t)-1 / 4)
        return cudaErrorInvalidValue; // there are no such arrays
    share->bytes = share->sort_bytes + (share->ranks > 1 ? spare : 0) +
                   splits * (1 + 256 + 2 * share->ranks) * sizeof(unsigned long long);
    char *const second = scratch + share->sort_bytes;
    share->spare.out = (COARSEN_TYPE *)second;
#ifdef COARSEN_VALUE
    share->spare.out_values = (COARSEN_VALUE *)(second + COARSEN_(spare_bytes)(share->n, false));
#endif
    share->found = (unsigned long long *)(second + spare);
    share->sums = share->found + splits;
    share->ends = share->sums + splits * 256;
    return cudaSuccess;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes_nccl)(const size_t *counts, ncclComm_t comm)
{
    COARSEN_(share) share = {};
    return COARSEN_(divide)(&share, counts, NULL, comm) == cudaSuccess ? share.bytes : 0;
}

COARSEN_HOST cudaError_t COARSEN_(scratch_init_nccl)(void *scratch, size_t scratch_bytes,
                                                     cudaStream_t stream)
{
    return COARSEN_(scratch_init)(scratch, scratch_bytes, stream);
}

COARSEN_HOST size_t COARSEN_(splits_bytes_nccl)(ncclComm_t comm)
{
    size_t rank, ranks;
    return coarsen_nccl_place(comm, &rank, &ranks) == cudaSuccess
               ? ranks * (ranks - 1) * 2 * sizeof(unsigned long long)
               : 0;
}

// How many passes merge so many runs.
COARSEN_HOST unsigned int COARSEN_(merges)(size_t ranks)
{
    unsigned int passes = 0;
    while (ranks > (size_t)1 << passes)
        passes++;
    return passes;
}

// What pass p of the merge reads, p being how many were before it, and what the last one writes: out, or the spare
// arrays, in turn, so that the last one writes out.
COARSEN_HOST COARSEN_(arrays) COARSEN_(side)(COARSEN_(share) share, unsigned int p)
{
    return (COARSEN_(merges)(share.ranks) - p) % 2 == 0 ? share.own : share.spare;
}

// What both calls begin with.
COARSEN_HOST cudaError_t COARSEN_(begin_nccl)(
    COARSEN_(share) * share, COARSEN_TYPE *out COARSEN_ALSO(COARSEN_VALUE *out_values),
    const size_t *counts, const unsigned long long *splits, void *scratch, size_t scratch_bytes,
    ncclComm_t comm)
{
    const COARSEN_(arrays) own = {out, out COARSEN_ALSO(out_values) COARSEN_ALSO(out_values)};
    const cudaError_t status = COARSEN_(divide)(share, counts, (char *)scratch, comm);
    if (status != cudaSuccess)
        return status;
    share->own = own;
    if (!COARSEN_(arrays_ok)(own, share->n) || scratch_bytes < share->bytes ||
        !coarsen_bytes_ok(scratch, 1, share->bytes, 16) ||
        (share->ranks > 1 && (!splits || (size_t)splits % alignof(unsigned long long) != 0)))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

COARSEN_HOST cudaError_t
COARSEN_(launch_nccl)(const COARSEN_TYPE *in,
                      COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
                          COARSEN_ALSO(COARSEN_VALUE *out_values),
                      const size_t *counts, unsigned long long *splits, void *scratch,
                      size_t scratch_bytes, ncclComm_t comm, cudaStream_t stream)
{
    COARSEN_(share) share = {};
    cudaError_t status = COARSEN_(begin_nccl)(&share, out COARSEN_ALSO(out_values), counts, splits,
                                              scratch, scratch_bytes, comm);
    if (status != cudaSuccess)
        return status;
    // Sorted where the keys do not come from other ranks later.
    const COARSEN_(arrays) sorted = share.ranks == 1 ? share.own : COARSEN_(side)(share, 1);
    status =
        COARSEN_(launch)(in, sorted.out COARSEN_ALSO(in_values) COARSEN_ALSO(sorted.out_values),
                         share.n, scratch, share.sort_bytes, stream);
    const size_t count = share.ranks - 1;
    unsigned long long *const ends = share.ends + share.rank * count * 2;
    for (unsigned int digit = 0; digit <= sizeof(COARSEN_TYPE) && count > 0; digit++) {
        unsigned long long before = 0;
        for (size_t first = 0; first < count && status == cudaSuccess;
             first += COARSEN_(most_splits)) {
            COARSEN_(targets) targets = {};
            const size_t here = coarsen_min(count - first, COARSEN_(most_splits));
            for (size_t split = 0; split < here; split++)
                targets.before[split] = before += counts[first + split];
            const cudaLaunchConfig_t config = coarsen_launch_config(here, 256, 0, stream);
            status = cudaLaunchKernelEx(
                &config, COARSEN_(split_kernel), (const COARSEN_TYPE *)sorted.out, share.n, targets,
                digit, share.found + first, share.sums + first * 256, ends + first * 2);
        }
        if (status == cudaSuccess && digit < sizeof(COARSEN_TYPE))
            status = coarsen_nccl_check(ncclAllReduce(share.sums, share.sums, count * 256,
                                                      ncclUint64, ncclSum, comm, stream),
                                        comm);
    }
    if (status == cudaSuccess && count > 0)
        status = coarsen_nccl_gather(share.ends, count * 2 * sizeof(*ends), comm, stream);
    if (status == cudaSuccess && count > 0)
        status = cudaMemcpyAsync(splits, share.ends, share.ranks * count * 2 * sizeof(*ends),
                                 cudaMemcpyDeviceToHost, stream);
    return status;
}

// How many of a rank's sorted keys come before rank `to`, by what the launch left of them: those that are less than the
// key at the split, and of those equal to it what ranks before this one leave over.
COARSEN_HOST size_t COARSEN_(cut)(const unsigned long long *splits, const size_t *counts,
                                  size_t ranks, size_t rank, size_t to)
{
    if (to == 0 || to == ranks)
        return to == 0 ? 0 : counts[rank];
    unsigned long long over = 0; // equal keys that are to come before the split
    for (size_t r = 0; r < to; r++)
        over += counts[r];
    for (size_t r = 0; r < ranks; r++)
        over -= splits[(r * (ranks - 1) + to - 1) * 2];
    for (size_t r = 0;; r++) {
        const unsigned long long *const ends = splits + (r * (ranks - 1) + to - 1) * 2;
        const unsigned long long equal = coarsen_min(ends[1] - ends[0], over);
        if (r == rank)
            return ends[0] + equal;
        over -= equal;
    }
}

// How many keys come to this rank from all before rank r.
COARSEN_HOST size_t COARSEN_(arrived)(const unsigned long long *splits, const size_t *counts,
                                      COARSEN_(share) share, size_t r)
{
    size_t sum = 0;
    for (size_t from = 0; from < coarsen_min(r, share.ranks); from++)
        sum += COARSEN_(cut)(splits, counts, share.ranks, from, share.rank + 1) -
               COARSEN_(cut)(splits, counts, share.ranks, from, share.rank);
    return sum;
}

// Whether the splits are of these counts: no rank sends more than it has, and each gets what it had.
COARSEN_HOST bool COARSEN_(splits_ok)(const unsigned long long *splits, const size_t *counts,
                                      size_t ranks)
{
    for (size_t to = 0; to < ranks; to++) {
        size_t rest = counts[to];
        for (size_t r = 0; r < ranks; r++) {
            const size_t begin = COARSEN_(cut)(splits, counts, ranks, r, to);
            const size_t end = COARSEN_(cut)(splits, counts, ranks, r, to + 1);
            if (begin > end || end > counts[r] || end - begin > rest)
                return false;
            rest -= end - begin;
        }
        if (rest != 0)
            return false;
    }
    return true;
}

// Sends each rank what is its own, and receives the same, one rank's behind the other's.
COARSEN_HOST cudaError_t COARSEN_(exchange)(COARSEN_(share) share, COARSEN_(arrays) from,
                                            COARSEN_(arrays) to, const size_t *counts,
                                            const unsigned long long *splits, ncclComm_t comm,
                                            cudaStream_t stream)
{
    const size_t ranks = share.ranks, own = share.rank, bytes = sizeof(COARSEN_TYPE);
    ncclResult_t result = ncclGroupStart();
    cudaError_t status = cudaSuccess;
    for (size_t r = 0; r < ranks && result == ncclSuccess && status == cudaSuccess; r++) {
        const size_t begin = COARSEN_(cut)(splits, counts, ranks, own, r);
        const size_t sent = COARSEN_(cut)(splits, counts, ranks, own, r + 1) - begin;
        const size_t arrived = COARSEN_(arrived)(splits, counts, share, r);
        const size_t comes = COARSEN_(arrived)(splits, counts, share, r + 1) - arrived;
        COARSEN_TYPE *const keys = to.out + arrived;
#ifdef COARSEN_VALUE
        COARSEN_VALUE *const values = to.out_values + arrived;
#endif
        if (r == own && comes > 0) {
            status = COARSEN_(copy)(from.out + begin,
                                    keys COARSEN_ALSO(from.out_values + begin) COARSEN_ALSO(values),
                                    comes, stream);
            continue;
        }
        const int peer = (int)r;
        if (r != own && sent > 0)
            result = ncclSend(from.out + begin, sent * bytes, ncclUint8, peer, comm, stream);
        if (r != own && comes > 0 && result == ncclSuccess)
            result = ncclRecv(keys, comes * bytes, ncclUint8, peer, comm, stream);
#ifdef COARSEN_VALUE
        const size_t value_bytes = sizeof(COARSEN_VALUE);
        if (r != own && sent > 0 && result == ncclSuccess)
            result = ncclSend(from.out_values + begin, sent * value_bytes, ncclUint8, peer, comm,
                              stream);
        if (r != own && comes > 0 && result == ncclSuccess)
            result = ncclRecv(values, comes * value_bytes, ncclUint8, peer, comm, stream);
#endif
    }
    const ncclResult_t end = ncclGroupEnd();
    if (status != cudaSuccess)
        return status;
    return coarsen_nccl_check(result != ncclSuccess ? result : end, comm);
}

COARSEN_HOST cudaError_t
COARSEN_(finish_nccl)(COARSEN_TYPE *out COARSEN_ALSO(COARSEN_VALUE *out_values),
                      const size_t *counts, const unsigned long long *splits, void *scratch,
                      size_t scratch_bytes, ncclComm_t comm, cudaStream_t stream)
{
    COARSEN_(share) share = {};
    cudaError_t status = COARSEN_(begin_nccl)(&share, out COARSEN_ALSO(out_values), counts, splits,
                                              scratch, scratch_bytes, comm);
    if (status != cudaSuccess || share.ranks == 1)
        return status;
    const size_t ranks = share.ranks;
    const unsigned int passes = COARSEN_(merges)(ranks);
    if (!COARSEN_(splits_ok)(splits, counts, ranks) || share.n / COARSEN_(merge_tile) > 0x7ffffffe)
        return cudaErrorInvalidValue;
    status = COARSEN_(exchange)(share, COARSEN_(side)(share, 1), COARSEN_(side)(share, 0), counts,
                                splits, comm, stream);
    for (unsigned int p = 0; p < passes; p++) {
        const COARSEN_(arrays) from = COARSEN_(side)(share, p), to = COARSEN_(side)(share, p + 1);
        const size_t step = (size_t)1 << p; // ranks, whose keys are one run by now
        for (size_t r = 0; r < ranks && status == cudaSuccess; r += 2 * step) {
            const size_t begin = COARSEN_(arrived)(splits, counts, share, r);
            const size_t middle = COARSEN_(arrived)(splits, counts, share, r + step);
            const size_t end = COARSEN_(arrived)(splits, counts, share, r + 2 * step);
            const COARSEN_(runs) runs = {from.out + begin, middle - begin, end - middle,
                                         to.out + begin COARSEN_ALSO(from.out_values + begin)
                                                      COARSEN_ALSO(to.out_values + begin)};
            const cudaLaunchConfig_t config =
                coarsen_launch_config(coarsen_ceil_div(end - begin, COARSEN_(merge_tile)),
                                      COARSEN_(merge_threads), 0, stream);
            if (end > begin)
                status = cudaLaunchKernelEx(&config, COARSEN_(merge_kernel), runs);
        }
    }
    return status;
}
#endif

#undef COARSEN_PLACE
#define COARSEN_END
#include "../base.h"
