// SPDX-License-Identifier: MIT
//
// coarsen/nccl/sort.h: stable sort of keys, or of keys with values, that lie on several GPUs. Few are sorted on each, then
// moved to where they belong, and merged. Many are moved first, and sorted while more come. Each key moves once.
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
//     coarsen_nccl_side side;
//     coarsen_nccl_side_create(&side);
//     // as often as you like; out may be in
//     sort_f32_launch_nccl(in, out, counts, splits, scratch, bytes, comm, stream);
//     cudaError_t status;
//     do { // until the host knows how many keys go where: once or twice
//         coarsen_nccl_wait(&comm, stream, 10);
//         status = sort_f32_finish_nccl(in, out, counts, splits, scratch, bytes, &side, comm, stream);
//     } while (status == cudaErrorNotReady);
//
// The parameters are those of sort.h, and
//
// | parameter            | default   | meaning                                                   |
// |----------------------|-----------|-----------------------------------------------------------|
// | COARSEN_PART         | 8388608   | keys of a part of a result, on average, at the least: from 1 to 2147483647 |
// | COARSEN_DIVIDED      | 134217728 | keys of each rank from which on they are divided first: from 256 to 4294967295 |
// Defines what sort.h and sort/buckets.h do, NAME_split_kernel, NAME_begins_kernel, NAME_merge_kernel, and
//     size_t      NAME_scratch_bytes_nccl(const size_t *counts, ncclComm_t comm)
//     cudaError_t NAME_scratch_init_nccl(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     size_t      NAME_splits_bytes_nccl(ncclComm_t comm)
//     cudaError_t NAME_launch_nccl(const COARSEN_TYPE *in, COARSEN_TYPE *out,
//                                  [const COARSEN_VALUE *in_values, COARSEN_VALUE *out_values,] const size_t *counts,
//                                  unsigned long long *splits, void *scratch, size_t scratch_bytes,
//                                  ncclComm_t comm, cudaStream_t stream)
//     cudaError_t NAME_finish_nccl(the same up to scratch_bytes,
//                                  const coarsen_nccl_side *side, ncclComm_t comm, cudaStream_t stream)
// Each rank calls both, and waits for the stream between them: NCCL takes the sizes of messages from the host, and how
// many keys go from one rank to another depends on the keys. So the launch leaves that in splits, and a launcher never
// waits. If finish returns cudaErrorNotReady, it has begun to find out something else: wait again, and call it again. All
// ranks are told the same. The arguments are the same in all calls. When finish has returned cudaSuccess, it may be called
// again, and gives the same.
// counts: how many keys each rank has, in host memory, the same on all ranks. Each gets as many as it had; it may be 0.
// in, in_values: counts[rank] elements each in device memory. out, out_values: likewise, apart from those, or the same
// arrays. splits: NAME_splits_bytes_nccl(comm) bytes of the host's memory, from cudaMallocHost: with other memory
// the runtime itself waits in the launch. scratch: NAME_scratch_bytes_nccl(counts, comm) bytes of device memory, 16-byte
// aligned, made ready once by NAME_scratch_init_nccl; each launch leaves it ready for the next one with these counts. From
// the launch on until the last finish is done, nothing else may write in, in_values or scratch. side: a second stream, and
// events, of coarsen_nccl_side_create; one for each sort that may run at the same time. It is done when stream is: that
// waits for the other one.
// Errors: those of nccl/base.h and of sort.h; cudaErrorInvalidValue also for counts that overflow, no side, and
// splits that no launch with these counts left.
// Order, stability and bits are those of sort.h on all keys together, one rank's behind those of the rank before: of
// equal keys, those of a lower rank come first. So the result does not depend on how many ranks there are.
// Deterministic.
//
// How, if all ranks have COARSEN_DIVIDED keys or more: each rank counts its keys of each highest digit, of 8 bits, and all
// gather the counts. One pass of the sort divides a rank's keys by that digit, and so into 256 buckets. A rank's result
// begins and ends in some bucket; it gets all keys of those between, and of these two as well, some of which it sorts for
// nothing. They come in groups: while one is sorted by the digits that are left (sort/buckets.h), the next one comes. So all
// keys are written as often as by one GPU alone, and read once more, to count the other digits; and only the first group,
// a small one, is waited for.
// If one bucket has more than a 16th of a rank's keys (few different ones, or small numbers), or there are more than 32 ranks,
// or fewer keys, it goes as follows.
// Each rank sorts its keys. What divides the ranks' parts of the result are keys, and such a key is found exactly, 8 bits at a
// time: for each digit, each rank counts by binary search how many of its sorted keys would come before, and one sum over all
// ranks tells the digit. Keys equal to it are divided by rank, then by place. Then each rank sends each other one what
// is its own, and merges what it gets: 2 ranks' runs in one pass, up to 4 in two, up to 8 in three. A rank's result is
// made in up to 4 parts, each between two splits of its own: one is merged while the next one comes.
// A part, or a group, begins at any key, but messages at multiples of 16 bytes: a few keys more are sent than needed.
// Price saved: each key moves once, or not at all, whatever the keys are. A network that merges and splits between two
// ranks at a time needs no sizes that depend on keys, and moves all of them in each of 2 ranks - 3 steps.
// Price paid: the wait of the host; for a merge one all-reduce per byte of a key, of 2 KiB per part of all ranks.
// Cost: sort.h's; per rank what it sends and receives, of random keys (ranks - 1) / ranks of them; n keys and values
// read and written in each pass of a merge; if keys were divided, another read. Scratch for twice n keys and values more than
// that of sort.h, for those of a part with more than 2 ranks, and 4 KiB per part of all ranks; from COARSEN_DIVIDED on for an
// 8th more, for slots, and for 256 messages' room.
// Source: Axtmann, Bingmann, Sanders and Schulz, Practical Massively Parallel Sorting (2015), for exact splitting of
// sorted parts; A. Sohn and Y. Kodama, Load Balanced Parallel Radix Sort (1998), for buckets that ranks share; O. Green, R.
// McColl, D. A. Bader, GPU Merge Path (2012), for the merge.

#include "base.h"

#define COARSEN_BEGIN COARSEN_PATTERN_SORT
#include "../base.h"
#define COARSEN_WITH_BUCKETS // follow
#include "../sort.h"
#include "../sort/buckets.h"

#ifndef COARSEN_PART
#define COARSEN_PART 8388608
#elif !COARSEN_NUMBER(COARSEN_PART)
#error "coarsen/nccl: COARSEN_PART must be a number > 0 for #if: no constexpr, expressions in ()"
#elif COARSEN_PART < 1 || COARSEN_PART > 2147483647
#error "coarsen/nccl: COARSEN_PART must be from 1 to 2147483647"
#endif
#ifndef COARSEN_DIVIDED
#define COARSEN_DIVIDED 134217728
#elif !COARSEN_NUMBER(COARSEN_DIVIDED)
#error "coarsen/nccl: COARSEN_DIVIDED must be a number > 0 for #if: no constexpr, expressions in ()"
#elif COARSEN_DIVIDED < 256 || COARSEN_DIVIDED > 4294967295
#error "coarsen/nccl: COARSEN_DIVIDED must be from 256 to 4294967295"
#endif

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
    COARSEN_(each) = (COARSEN_(fitting) > 15 ? 15 : COARSEN_(fitting) - 1) | 1, // odd, for banks
    COARSEN_(merge_tile) = COARSEN_(merge_threads) * COARSEN_(each),
    COARSEN_(most_parts) = 4,   // of a rank
    COARSEN_(digits) = 256,     // buckets
    COARSEN_(most_splits) = 32, // of one launch
    COARSEN_(line) = 16         // bytes: NCCL moves what begins at a multiple of it much faster
};

// ---- where to split -----------------------------------------------------------------------------------------

// How many of all ranks' keys come before each split of a launch.
typedef struct {
    unsigned long long before[COARSEN_(most_splits)];
} COARSEN_(targets);

// How many sorted keys come before one whose bits are these, or with `equal` not behind it: from low to high.
COARSEN_DEVICE size_t COARSEN_(count_below)(const COARSEN_TYPE *keys, size_t low, size_t high,
                                            unsigned long long bits, bool equal)
{
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

// Finds the next digit of the key at each split, a block for each. counted: for each value of the digit before, how many
// of this rank's n keys come before a key that continues so; sums: of all ranks'. The digit is the last value with no
// more than there should be. Then it leaves in counted the same for the next digit; or, after the last, how many of this
// rank's keys come before the key, and not behind it, in ends.
COARSEN_KERNEL void __launch_bounds__(256)
    COARSEN_(split_kernel)(const COARSEN_TYPE *keys, size_t n, COARSEN_(targets) targets,
                           unsigned int digit, unsigned long long *found,
                           unsigned long long *counted, const unsigned long long *sums,
                           unsigned long long *ends)
{
    const unsigned int t = threadIdx.x, last = (unsigned int)sizeof(COARSEN_TYPE);
    const size_t split = blockIdx.x;
    unsigned long long *const own = counted + split * 256;
    unsigned long long bits = digit == 0 ? 0 : found[split];
    size_t low = 0, high = n; // the key is not before low, and what is from high on is behind it
    if (digit > 0) {
        const int values = __syncthreads_count(sums[split * 256 + t] <= targets.before[split]);
        const int value = values > 0 ? values - 1 : 0; // if sums never came, they may be any
        bits |= (unsigned long long)value << 8 * (last - digit);
        low = own[value];
        high = value < 255 ? own[value + 1] : n;
        __syncthreads();
    }
    if (t == 0)
        found[split] = bits;
    if (digit < last)
        own[t] = COARSEN_(count_below)(
            keys, low, high, bits | (unsigned long long)t << 8 * (last - 1 - digit), false);
    else if (t < 2)
        ends[split * 2 + t] = COARSEN_(count_below)(keys, low, high, bits, t == 1);
}

// ---- a merge ------------------------------------------------------------------------------------------------

// Two sorted runs, and the place of what they become.
typedef struct {
    const COARSEN_TYPE *a, *b;
    size_t m, n; // keys of a and of b
    COARSEN_TYPE *out;
#ifdef COARSEN_VALUE
    const COARSEN_VALUE *a_values, *b_values;
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

// Where in a each of so many tiles begins, and where the last one ends: all searches at once, for which a tile would
// wait longer than for its keys.
COARSEN_KERNEL void __launch_bounds__(COARSEN_(merge_threads))
    COARSEN_(begins_kernel)(COARSEN_(runs) runs, size_t tiles, size_t *begins)
{
    const size_t tile = (size_t)blockIdx.x * COARSEN_(merge_threads) + threadIdx.x;
    if (tile <= tiles)
        begins[tile] = COARSEN_(co_rank)(coarsen_min(tile * COARSEN_(merge_tile), runs.m + runs.n),
                                         runs.a, runs.m, runs.b, runs.n);
}

// As merge/tiled.h, whose comment says how.
COARSEN_KERNEL void __launch_bounds__(COARSEN_(merge_threads))
    COARSEN_(merge_kernel)(COARSEN_(runs) runs, const size_t *begins)
{
    COARSEN_SHARED(COARSEN_TYPE, keys, COARSEN_(merge_tile)); // of a, and then of b
    COARSEN_SHARED(COARSEN_TYPE, merged, COARSEN_(merge_tile));
#ifdef COARSEN_VALUE
    __shared__ unsigned int from[COARSEN_(merge_tile)]; // where in keys a result was
#endif
    const unsigned int t = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * COARSEN_(merge_tile);
    const unsigned int count =
        (unsigned int)coarsen_min(COARSEN_(merge_tile), runs.m + runs.n - first);
    const size_t a_first = begins[blockIdx.x], a_end = begins[blockIdx.x + 1];
    const size_t b_first = first - a_first;
    // If the keys never came, the ends may be any.
    const unsigned int of_a =
        a_end > a_first ? (unsigned int)coarsen_min(a_end - a_first, count) : 0;
    const unsigned int of_b = count - of_a;

    COARSEN_TYPE own[COARSEN_(each)]; // several are under way at once
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_(each); k++) {
        const unsigned int e = k * COARSEN_(merge_threads) + t;
        if (e < count)
            own[k] = e < of_a ? runs.a[a_first + e] : runs.b[b_first + (e - of_a)];
    }
#pragma unroll
    for (unsigned int k = 0; k < COARSEN_(each); k++) {
        const unsigned int e = k * COARSEN_(merge_threads) + t;
        if (e < count)
            keys[e] = own[k];
    }
    __syncthreads();

    const unsigned int begin = (unsigned int)coarsen_min(t * COARSEN_(each), count);
    const unsigned int end = (unsigned int)coarsen_min(begin + COARSEN_(each), count);
    unsigned int i = (unsigned int)COARSEN_(co_rank)(begin, keys, of_a, keys + of_a, of_b);
    unsigned int j = of_a + begin - i;
    if (begin < end) { // the next key of each run, if it has one
        COARSEN_TYPE key_a = keys[i < of_a ? i : 0], key_b = keys[j < count ? j : 0];
#pragma unroll 1
        for (unsigned int k = begin; k < end; k++) {
            const bool from_b =
                i == of_a || (j < count && COARSEN_(bits)(key_b) < COARSEN_(bits)(key_a));
            merged[k] = from_b ? key_b : key_a;
#ifdef COARSEN_VALUE
            from[k] = from_b ? j : i;
#endif
            if (from_b)
                j++;
            else
                i++;
            const unsigned int next = from_b ? j : i;
            const COARSEN_TYPE key = keys[next < count ? next : 0];
            key_a = from_b ? key_a : key;
            key_b = from_b ? key : key_b;
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned int q = 0; q < COARSEN_(each); q++) {
        const unsigned int k = q * COARSEN_(merge_threads) + t;
        if (k < count) {
            runs.out[first + k] = merged[k];
#ifdef COARSEN_VALUE
            runs.out_values[first + k] = from[k] < of_a ? runs.a_values[a_first + from[k]]
                                                        : runs.b_values[b_first + (from[k] - of_a)];
#endif
        }
    }
}

// ---- the launch ---------------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(merge)(COARSEN_(runs) runs, size_t *begins, cudaStream_t stream)
{
    const size_t tiles = coarsen_ceil_div(runs.m + runs.n, COARSEN_(merge_tile));
    const unsigned int threads = COARSEN_(merge_threads);
    if (tiles == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t searches =
        coarsen_launch_config(coarsen_ceil_div(tiles + 1, threads), threads, 0, stream);
    const cudaLaunchConfig_t merge = coarsen_launch_config(tiles, threads, 0, stream);
    const cudaError_t status =
        cudaLaunchKernelEx(&searches, COARSEN_(begins_kernel), runs, tiles, begins);
    return status == cudaSuccess
               ? cudaLaunchKernelEx(&merge, COARSEN_(merge_kernel), runs, (const size_t *)begins)
               : status;
}

COARSEN_HOST COARSEN_(runs) COARSEN_(runs_of)(COARSEN_(elements) a, size_t m, COARSEN_(elements) b,
                                              size_t n, COARSEN_(elements) out)
{
    const COARSEN_(runs)
        runs = {a.keys, b.keys, m, n,
                out.keys COARSEN_ALSO(a.values) COARSEN_ALSO(b.values) COARSEN_ALSO(out.values)};
    return runs;
}

// Which rank of how many, and in how many parts each makes its result; how many keys each has; whether they may be divided
// first, and then how many keys a bucket may have; and how the scratch is divided: for sort.h, for sorted keys and values,
// for those that come, for what merges in several passes leave between them, for tiles, for the splits and for buckets.
typedef struct {
    size_t rank, ranks, parts, n;
    const size_t *counts;
    bool divided;
    size_t most_of_bucket, most_rows;
    COARSEN_(elements) in, out, sorted, come, between, spare;
    size_t *begins;
    unsigned long long *words, *found, *counted, *sums, *ends, *tops, *starts, *slots;
    size_t sort_bytes, slots_bytes, bytes;
} COARSEN_(share);

// How many of all keys come before a part of the result; the parts of all ranks are counted through. Of a rank's parts
// each is smaller than the one before, by as much: long messages first, and at the end, when none comes, little to merge.
COARSEN_HOST size_t COARSEN_(before)(const COARSEN_(share) * share, size_t part)
{
    const size_t parts = share->parts, own = part % parts; // of its rank
    size_t before = 0;
    for (size_t r = 0; r < part / parts; r++)
        before += share->counts[r];
    if (own > 0) {
        const size_t count = share->counts[part / parts];
        const size_t all = parts * (parts + 1) / 2, some = own * (2 * parts + 1 - own) / 2;
        before += count / all * some + count % all * some / all;
    }
    return before;
}

// Of a part, the bytes besides its keys for messages that begin and end at lines.
COARSEN_HOST size_t COARSEN_(room)(const COARSEN_(share) * share)
{
    return 2 * COARSEN_(line) * share->ranks;
}

// How many keys the buckets of a group that a rank sorts have, at the most: some buckets, or a large one.
COARSEN_HOST size_t COARSEN_(most_of_group)(const COARSEN_(share) * share, size_t rank)
{
    return share->counts[rank] / 7 + share->most_of_bucket;
}

COARSEN_HOST cudaError_t COARSEN_(divide)(COARSEN_(share) * share, const size_t *counts,
                                          char *scratch, ncclComm_t comm)
{
    cudaError_t status = coarsen_nccl_place(comm, &share->rank, &share->ranks);
    if (status != cudaSuccess)
        return status;
    size_t all = 0, most = 0, least = (size_t)-1;
    for (size_t r = 0; r < share->ranks; r++) {
        if (!counts || counts[r] > (size_t)-1 - all)
            return cudaErrorInvalidValue;
        all += counts[r];
        most = counts[r] > most ? counts[r] : most;
        least = counts[r] < least ? counts[r] : least;
    }
    // What is merged last is merged while nothing comes, so the parts are many, but not too small for a message.
    share->parts = coarsen_min(most / COARSEN_PART, COARSEN_(most_parts));
    share->parts = share->parts > 0 ? share->parts : 1;
    share->n = counts[share->rank];
    share->counts = counts;
    const size_t n = share->n, splits = share->ranks * share->parts - 1;
    share->divided = share->ranks > 1 && 2 * share->ranks <= COARSEN_(most_pieces) &&
                     sizeof(COARSEN_TYPE) > 1 && least >= COARSEN_DIVIDED;
    share->most_of_bucket = share->divided ? least / 16 : 0;
    share->most_rows = COARSEN_(most_rows)(&status);
    if (status != cudaSuccess)
        return status;
    share->sort_bytes = coarsen_ceil_div(COARSEN_(scratch_bytes)(n), 16) * 16;
    const size_t spare = coarsen_ceil_div(COARSEN_(spare_bytes)(n, true), 16) * 16;
    if (share->sort_bytes >= (size_t)-1 / 8 || spare >= (size_t)-1 / 8 || share->most_rows == 0)
        return cudaErrorInvalidValue; // there are no such arrays
    if (share->divided) {             // as count_buckets and launch_buckets need, for any n
        const size_t slots = COARSEN_(slots_bytes)(n, share->most_rows);
        share->sort_bytes = slots + spare > share->sort_bytes ? slots + spare : share->sort_bytes;
        share->slots_bytes = COARSEN_(bucket_slots_bytes)(
            COARSEN_(most_of_group)(share, share->rank), share->most_rows);
        share->spare.keys = (COARSEN_TYPE *)(scratch + slots);
#ifdef COARSEN_VALUE
        share->spare.values = (COARSEN_VALUE *)(scratch + slots + COARSEN_(spare_bytes)(n, false));
#endif
    }
    share->bytes = share->sort_bytes;
    share->words = (unsigned long long *)scratch;
    if (share->ranks == 1)
        return cudaSuccess;
    // What comes: all of the result, or all keys of its buckets, of which the first and the last may be other ranks' too.
    const size_t comes = n + 2 * share->most_of_bucket;
    const size_t come_bytes = coarsen_ceil_div(COARSEN_(spare_bytes)(comes, true), 16) * 16;
    const size_t messages = share->divided ? (size_t)COARSEN_(digits) : share->parts;
    const size_t room = messages * COARSEN_(room)(share); // of keys, and of values
    const size_t tiles = n / COARSEN_(merge_tile) + 2;    // of a part, and the end
    const size_t first = share->rank * share->parts;
    const size_t most_of_part =
        share->ranks == 2
            ? 0 // one pass, and nothing between
            : COARSEN_(before)(share, first + 1) - COARSEN_(before)(share, first) + 1; // rounded
    const size_t between_bytes =
        coarsen_ceil_div(COARSEN_(spare_bytes)(most_of_part, true), 16) * 16;
    const size_t of_buckets =
        share->divided ? share->ranks * COARSEN_(digits) +
                             (COARSEN_(starts_bytes)() + share->slots_bytes) / sizeof(*share->tops)
                       : 0;
    share->bytes += spare + come_bytes + 2 * room + between_bytes +
                    (tiles + splits * (1 + 256 + 256 + 2 * share->ranks) + of_buckets) *
                        sizeof(unsigned long long);
    char *const sorted = scratch + share->sort_bytes, *const come = sorted + spare;
    char *const between = come + come_bytes + 2 * room;
    share->sorted.keys = (COARSEN_TYPE *)sorted;
    share->come.keys = (COARSEN_TYPE *)come;
    share->between.keys = (COARSEN_TYPE *)between;
#ifdef COARSEN_VALUE
    share->sorted.values = (COARSEN_VALUE *)(sorted + COARSEN_(spare_bytes)(n, false));
    share->come.values = (COARSEN_VALUE *)(come + COARSEN_(spare_bytes)(comes, false) + room);
    share->between.values = (COARSEN_VALUE *)(between + COARSEN_(spare_bytes)(most_of_part, false));
#endif
    share->begins = (size_t *)(between + between_bytes);
    share->found = (unsigned long long *)(share->begins + tiles);
    share->counted = share->found + splits;
    share->sums = share->counted + splits * 256;
    share->ends = share->sums + splits * 256;
    share->tops = share->ends + splits * 2 * share->ranks;
    share->starts = share->tops + share->ranks * COARSEN_(digits);
    share->slots = share->starts + COARSEN_(starts_bytes)() / sizeof(*share->starts);
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

// What splits have: what the launch did, and then for each rank what came of it.
enum {
    COARSEN_(counts_are_there) = 1, // where each rank's keys of each highest digit are to begin
    COARSEN_(buckets_are_there),    // the same, and they are there
    COARSEN_(ends_are_there)        // how many of its keys are below each split, and not above it
};

COARSEN_HOST size_t COARSEN_(splits_bytes_nccl)(ncclComm_t comm)
{
    size_t rank, ranks;
    if (coarsen_nccl_place(comm, &rank, &ranks) != cudaSuccess || ranks == 1)
        return 0;
    const size_t ends = (ranks * COARSEN_(most_parts) - 1) * 2, digits = COARSEN_(digits);
    return (1 + ranks * (ends > digits ? ends : digits)) * sizeof(unsigned long long);
}

// What both calls begin with.
COARSEN_HOST cudaError_t COARSEN_(begin_nccl)(COARSEN_(share) * share, COARSEN_(arrays) own,
                                              const size_t *counts,
                                              const unsigned long long *splits, void *scratch,
                                              size_t scratch_bytes, ncclComm_t comm)
{
    const COARSEN_(elements)
        in = {(COARSEN_TYPE *)own.in COARSEN_ALSO((COARSEN_VALUE *)own.in_values)},
        out = {own.out COARSEN_ALSO(own.out_values)};
    const cudaError_t status = COARSEN_(divide)(share, counts, (char *)scratch, comm);
    if (status != cudaSuccess)
        return status;
    share->in = in;
    share->out = out;
    if (!COARSEN_(arrays_ok)(own, share->n) || scratch_bytes < share->bytes ||
        !coarsen_bytes_ok(scratch, 1, share->bytes, 16) ||
        (share->ranks > 1 && (!splits || (size_t)splits % alignof(unsigned long long) != 0)))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

// Of this rank's sorted keys, finds what divides the parts of all ranks.
COARSEN_HOST cudaError_t COARSEN_(find_splits)(const COARSEN_(share) * share,
                                               unsigned long long *splits, ncclComm_t comm,
                                               cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    const size_t count = share->ranks * share->parts - 1;
    unsigned long long *const ends = share->ends + share->rank * count * 2;
    for (unsigned int digit = 0; digit <= sizeof(COARSEN_TYPE); digit++) {
        for (size_t first = 0; first < count && status == cudaSuccess;
             first += COARSEN_(most_splits)) {
            COARSEN_(targets) targets = {};
            const size_t here = coarsen_min(count - first, COARSEN_(most_splits));
            for (size_t split = 0; split < here; split++)
                targets.before[split] = COARSEN_(before)(share, first + split + 1);
            const cudaLaunchConfig_t config = coarsen_launch_config(here, 256, 0, stream);
            status = cudaLaunchKernelEx(
                &config, COARSEN_(split_kernel), (const COARSEN_TYPE *)share->sorted.keys, share->n,
                targets, digit, share->found + first, share->counted + first * 256,
                (const unsigned long long *)share->sums + first * 256, ends + first * 2);
        }
        if (status == cudaSuccess && digit < sizeof(COARSEN_TYPE))
            status = coarsen_nccl_check(ncclAllReduce(share->counted, share->sums, count * 256,
                                                      ncclUint64, ncclSum, comm, stream),
                                        comm);
    }
    if (status == cudaSuccess)
        status = coarsen_nccl_gather(share->ends, count * 2 * sizeof(*ends), comm, stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(splits + 1, share->ends, share->ranks * count * 2 * sizeof(*ends),
                                 cudaMemcpyDeviceToHost, stream);
    splits[0] = COARSEN_(ends_are_there);
    return status;
}

// Sorts this rank's keys.
COARSEN_HOST cudaError_t COARSEN_(sort_own)(const COARSEN_(share) * share, COARSEN_(elements) out,
                                            cudaStream_t stream)
{
    return COARSEN_(launch)(share->in.keys,
                            out.keys COARSEN_ALSO(share->in.values) COARSEN_ALSO(out.values),
                            share->n, share->words, share->sort_bytes, stream);
}

COARSEN_HOST cudaError_t
COARSEN_(launch_nccl)(const COARSEN_TYPE *in,
                      COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
                          COARSEN_ALSO(COARSEN_VALUE *out_values),
                      const size_t *counts, unsigned long long *splits, void *scratch,
                      size_t scratch_bytes, ncclComm_t comm, cudaStream_t stream)
{
    const COARSEN_(arrays) own = {in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values)};
    COARSEN_(share) share = {};
    cudaError_t status =
        COARSEN_(begin_nccl)(&share, own, counts, splits, scratch, scratch_bytes, comm);
    if (status != cudaSuccess)
        return status;
    if (!share.divided) {
        const bool alone = share.ranks == 1;
        status = COARSEN_(sort_own)(&share, alone ? share.out : share.sorted, stream);
        return status != cudaSuccess || alone ? status
                                              : COARSEN_(find_splits)(&share, splits, comm, stream);
    }
    const size_t bytes = COARSEN_(digits) * sizeof(*share.tops);
    status = COARSEN_(count_buckets)(share.in, share.sorted, share.n, share.words, share.most_rows,
                                     stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(share.tops + share.rank * COARSEN_(digits),
                                 COARSEN_(bucket_starts)(share.words), bytes,
                                 cudaMemcpyDeviceToDevice, stream);
    if (status == cudaSuccess)
        status = coarsen_nccl_gather(share.tops, bytes, comm, stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(splits + 1, share.tops, share.ranks * bytes,
                                 cudaMemcpyDeviceToHost, stream);
    splits[0] = COARSEN_(counts_are_there);
    return status;
}

// ---- the finish: keys move, and are merged --------------------------------------------------------------------

// How many of a rank's sorted keys come before a part, by what the launch left of them: those that are less than the key
// at the split, and of those equal to it what ranks before this one leave over.
COARSEN_HOST size_t COARSEN_(cut)(const COARSEN_(share) * share, const unsigned long long *splits,
                                  size_t rank, size_t part)
{
    const size_t count = share->ranks * share->parts - 1;
    if (part == 0 || part > count)
        return part == 0 ? 0 : share->counts[rank];
    unsigned long long over = COARSEN_(before)(share, part); // equal keys that are to come before
    for (size_t r = 0; r < share->ranks; r++)
        over -= splits[(r * count + part - 1) * 2];
    for (size_t r = 0;; r++) {
        const unsigned long long *const ends = splits + (r * count + part - 1) * 2;
        const unsigned long long equal = coarsen_min(ends[1] - ends[0], over);
        if (r == rank)
            return ends[0] + equal;
        over -= equal;
    }
}

// How many keys of a part come from all ranks before rank r.
COARSEN_HOST size_t COARSEN_(arrived)(const COARSEN_(share) * share,
                                      const unsigned long long *splits, size_t part, size_t r)
{
    size_t sum = 0;
    for (size_t from = 0; from < coarsen_min(r, share->ranks); from++)
        sum +=
            COARSEN_(cut)(share, splits, from, part + 1) - COARSEN_(cut)(share, splits, from, part);
    return sum;
}

// Whether the splits are of these counts: no rank sends more than it has, and each part gets what it should.
COARSEN_HOST bool COARSEN_(splits_ok)(const COARSEN_(share) * share,
                                      const unsigned long long *splits)
{
    for (size_t part = 0; part < share->ranks * share->parts; part++) {
        size_t rest = COARSEN_(before)(share, part + 1) - COARSEN_(before)(share, part);
        for (size_t r = 0; r < share->ranks; r++) {
            const size_t begin = COARSEN_(cut)(share, splits, r, part);
            const size_t end = COARSEN_(cut)(share, splits, r, part + 1);
            if (begin > end || end > share->counts[r] || end - begin > rest)
                return false;
            rest -= end - begin;
        }
        if (rest != 0)
            return false;
    }
    return true;
}

// Elements from begin to end of an array lie within so many bytes, from one multiple of a line to another.
COARSEN_HOST size_t COARSEN_(lines)(size_t begin, size_t end, size_t size)
{
    return begin == end
               ? 0
               : (coarsen_ceil_div(end * size, COARSEN_(line)) - begin * size / COARSEN_(line)) *
                     COARSEN_(line);
}

// Where what rank r sends of a part of this rank's result comes to, in bytes from the first part's place, for elements
// of such a size. Lines of the other ranks lie one behind the other, and rank 0's begin where the part does.
COARSEN_HOST size_t COARSEN_(room_of)(const COARSEN_(share) * share,
                                      const unsigned long long *splits, size_t part, size_t r,
                                      size_t size)
{
    const size_t first = share->rank * share->parts, mine = first + part;
    const size_t begin = COARSEN_(before)(share, mine) - COARSEN_(before)(share, first);
    size_t place = begin * size / COARSEN_(line) * COARSEN_(line) + part * COARSEN_(room)(share);
    for (size_t from = 0; from < r; from++)
        if (from != share->rank)
            place += COARSEN_(lines)(COARSEN_(cut)(share, splits, from, mine),
                                     COARSEN_(cut)(share, splits, from, mine + 1), size);
    return place;
}

// Where the keys of a rank for a part begin: the rank's own ones stay where they are, and the others lie in their lines
// as where they came from.
COARSEN_HOST COARSEN_(elements)
    COARSEN_(run)(const COARSEN_(share) * share, const unsigned long long *splits, size_t part,
                  size_t r)
{
    const size_t begin = COARSEN_(cut)(share, splits, r, share->rank * share->parts + part);
    if (r == share->rank)
        return COARSEN_(behind)(share->sorted, begin);
    COARSEN_(elements) run = share->come;
    const size_t size = sizeof(COARSEN_TYPE);
    run.keys = (COARSEN_TYPE *)((char *)run.keys + COARSEN_(room_of)(share, splits, part, r, size) +
                                begin * size % COARSEN_(line));
#ifdef COARSEN_VALUE
    const size_t value = sizeof(COARSEN_VALUE);
    run.values =
        (COARSEN_VALUE *)((char *)run.values + COARSEN_(room_of)(share, splits, part, r, value) +
                          begin * value % COARSEN_(line));
#endif
    return run;
}

// Sends rank r the elements from begin to end of an array, with the lines that they lie in, and receives to a place those
// from its_begin to its_end of its array.
COARSEN_HOST ncclResult_t COARSEN_(swap)(const void *sorted, size_t begin, size_t end, void *place,
                                         size_t its_begin, size_t its_end, size_t size, size_t r,
                                         ncclComm_t comm, cudaStream_t stream)
{
    const size_t sent = COARSEN_(lines)(begin, end, size);
    const size_t comes = COARSEN_(lines)(its_begin, its_end, size);
    ncclResult_t result = ncclSuccess;
    if (sent > 0)
        result = ncclSend((const char *)sorted + begin * size / COARSEN_(line) * COARSEN_(line),
                          sent, ncclUint8, (int)r, comm, stream);
    if (comes > 0 && result == ncclSuccess)
        result = ncclRecv(place, comes, ncclUint8, (int)r, comm, stream);
    return result;
}

// Sends each rank its keys of a part of its result, and receives those of the same part of the rank's own.
COARSEN_HOST cudaError_t COARSEN_(exchange)(const COARSEN_(share) * share,
                                            const unsigned long long *splits, size_t part,
                                            ncclComm_t comm, cudaStream_t stream)
{
    ncclResult_t result = ncclGroupStart();
    for (size_t r = 0; r < share->ranks && result == ncclSuccess; r++) {
        if (r == share->rank)
            continue;
        const size_t its = r * share->parts + part, mine = share->rank * share->parts + part;
        const size_t begin = COARSEN_(cut)(share, splits, share->rank, its);
        const size_t end = COARSEN_(cut)(share, splits, share->rank, its + 1);
        const size_t its_begin = COARSEN_(cut)(share, splits, r, mine);
        const size_t its_end = COARSEN_(cut)(share, splits, r, mine + 1);
        const size_t key = sizeof(COARSEN_TYPE);
        result = COARSEN_(swap)(share->sorted.keys, begin, end,
                                (char *)share->come.keys +
                                    COARSEN_(room_of)(share, splits, part, r, key),
                                its_begin, its_end, key, r, comm, stream);
#ifdef COARSEN_VALUE
        const size_t value = sizeof(COARSEN_VALUE);
        if (result == ncclSuccess)
            result = COARSEN_(swap)(share->sorted.values, begin, end,
                                    (char *)share->come.values +
                                        COARSEN_(room_of)(share, splits, part, r, value),
                                    its_begin, its_end, value, r, comm, stream);
#endif
    }
    const ncclResult_t end = ncclGroupEnd();
    return coarsen_nccl_check(result != ncclSuccess ? result : end, comm);
}

// Merges the ranks' runs of a part, two at a time, from place to place, and the last two to where the result is.
COARSEN_HOST cudaError_t COARSEN_(merge_part)(const COARSEN_(share) * share,
                                              const unsigned long long *splits, size_t part,
                                              cudaStream_t stream)
{
    const size_t ranks = share->ranks, first = share->rank * share->parts, mine = first + part;
    const COARSEN_(elements) out = COARSEN_(behind)(share->out, COARSEN_(before)(share, mine) -
                                                                    COARSEN_(before)(share, first));
    COARSEN_(elements) from = share->come, to = share->between;
    from.keys = (COARSEN_TYPE *)((char *)from.keys +
                                 COARSEN_(room_of)(share, splits, part, 0, sizeof(COARSEN_TYPE)));
#ifdef COARSEN_VALUE
    from.values = (COARSEN_VALUE *)((char *)from.values + COARSEN_(room_of)(share, splits, part, 0,
                                                                            sizeof(COARSEN_VALUE)));
#endif
    cudaError_t status = cudaSuccess;
    for (size_t step = 1; step < ranks; step *= 2) { // so many ranks' keys are one run by now
        const COARSEN_(elements) merged = 2 * step < ranks ? to : out;
        for (size_t r = 0; r < ranks && status == cudaSuccess; r += 2 * step) {
            const size_t begin = COARSEN_(arrived)(share, splits, mine, r);
            const size_t middle = COARSEN_(arrived)(share, splits, mine, r + step);
            const size_t end = COARSEN_(arrived)(share, splits, mine, r + 2 * step);
            COARSEN_(elements) a = COARSEN_(behind)(from, begin);
            COARSEN_(elements) b = COARSEN_(behind)(from, middle);
            if (step == 1) {
                a = COARSEN_(run)(share, splits, part, r);
                b = r + 1 < ranks ? COARSEN_(run)(share, splits, part, r + 1) : a; // or none
            }
            status = COARSEN_(merge)(COARSEN_(runs_of)(a, middle - begin, b, end - middle,
                                                       COARSEN_(behind)(merged, begin)),
                                     share->begins, stream);
        }
        to = from, from = merged;
    }
    return status;
}

// ---- the finish: keys that were divided move, and are sorted --------------------------------------------------

// How many of all ranks' keys have a smaller highest digit.
COARSEN_HOST size_t COARSEN_(below)(const COARSEN_(share) * share, const unsigned long long *tops,
                                    unsigned int digit)
{
    size_t sum = 0;
    for (size_t r = 0; r < share->ranks; r++)
        sum += digit < COARSEN_(digits) ? tops[r * COARSEN_(digits) + digit] : share->counts[r];
    return sum;
}

// Where in a rank's divided keys those of a digit begin.
COARSEN_HOST size_t COARSEN_(begin_of)(const COARSEN_(share) * share,
                                       const unsigned long long *tops, size_t r, unsigned int digit)
{
    return digit < COARSEN_(digits) ? tops[r * COARSEN_(digits) + digit] : share->counts[r];
}

// Whether these are the counts of a launch.
COARSEN_HOST bool COARSEN_(tops_ok)(const COARSEN_(share) * share, const unsigned long long *tops)
{
    for (size_t r = 0; r < share->ranks; r++)
        for (unsigned int digit = 0; digit < COARSEN_(digits); digit++)
            if (COARSEN_(begin_of)(share, tops, r, digit) >
                    COARSEN_(begin_of)(share, tops, r, digit + 1) ||
                tops[r * COARSEN_(digits)] != 0)
                return false;
    return true;
}

// Whether the buckets are so small that each rank can be given whole ones, but for those at its ends.
COARSEN_HOST bool COARSEN_(even)(const COARSEN_(share) * share, const unsigned long long *tops)
{
    for (unsigned int digit = 0; digit < COARSEN_(digits); digit++)
        if (COARSEN_(below)(share, tops, digit + 1) - COARSEN_(below)(share, tops, digit) >
            share->most_of_bucket)
            return false;
    return true;
}

// Buckets that a rank sorts at a time, from digit to digit: those that are its own alone, or one that other ranks sort as
// well, each to take what is its own of the result.
typedef struct {
    unsigned int digit, end;
    bool shared;
} COARSEN_(group);

// The groups of a rank, in the order in which they come; no buckets, if there are no more. Nothing hides the time that
// the first one comes in, so it is a small one. While one is sorted the next one comes, so that may be larger, but not by much.
COARSEN_HOST COARSEN_(group)
    COARSEN_(group_of)(const COARSEN_(share) * share, const unsigned long long *tops, size_t r,
                       unsigned int step)
{
    const size_t begin = COARSEN_(before)(share, r * share->parts);
    const size_t end = begin + share->counts[r], large = share->counts[r] / 7;
    unsigned int first = 0, last = COARSEN_(digits) - 1; // buckets with keys of the rank
    while (COARSEN_(below)(share, tops, first + 1) <= begin)
        first++;
    while (COARSEN_(below)(share, tops, last) >= end)
        last--;
    const unsigned int whole = COARSEN_(below)(share, tops, first) < begin ? first + 1 : first;
    const unsigned int whole_end = COARSEN_(below)(share, tops, last + 1) > end ? last : last + 1;
    size_t most = share->counts[r] / 16;
    for (unsigned int digit = whole; digit < whole_end;) {
        COARSEN_(group) group = {digit, digit + 1, false};
        while (group.end < whole_end &&
               (group.end + 1 - digit) * share->ranks <= COARSEN_(most_pieces) &&
               COARSEN_(below)(share, tops, group.end + 1) - COARSEN_(below)(share, tops, digit) <=
                   most)
            group.end++;
        if (step-- == 0)
            return group;
        digit = group.end;
        most = coarsen_min(most / 2 * 3, large);
    }
    const COARSEN_(group) at_begin = {first, first + 1, true}, at_end = {last, last + 1, true};
    const COARSEN_(group) none = {0, 0, false};
    if (whole > first && step-- == 0)
        return at_begin;
    return whole_end == last && last >= whole && step == 0 ? at_end : none;
}

// Sends each rank its next group's keys, receives those of this rank's, and moves on the place for what comes. Which
// pieces there are now, bucket for bucket.
COARSEN_HOST cudaError_t COARSEN_(exchange_groups)(const COARSEN_(share) * share,
                                                   const unsigned long long *tops,
                                                   const COARSEN_(group) * groups, char **place,
                                                   COARSEN_(pieces) * pieces, ncclComm_t comm,
                                                   cudaStream_t stream)
{
    const size_t own = share->rank,
                 sizes[] = {sizeof(COARSEN_TYPE) COARSEN_ALSO(sizeof(COARSEN_VALUE))};
    const COARSEN_(group) mine = groups[own];
    COARSEN_(elements) runs[COARSEN_(most_pieces) / 2] = {}; // what each rank has of the group
    ncclResult_t result = ncclGroupStart();
    for (size_t r = 0; r < share->ranks && result == ncclSuccess; r++) {
        const size_t its_begin = COARSEN_(begin_of)(share, tops, r, mine.digit);
        const size_t its_end = COARSEN_(begin_of)(share, tops, r, mine.end);
        runs[r] = COARSEN_(behind)(share->sorted, its_begin);
        if (r == own)
            continue;
        const size_t begin = COARSEN_(begin_of)(share, tops, own, groups[r].digit);
        const size_t end = COARSEN_(begin_of)(share, tops, own, groups[r].end);
        runs[r].keys = (COARSEN_TYPE *)(place[0] + its_begin * sizes[0] % COARSEN_(line));
        result = COARSEN_(swap)(share->sorted.keys, begin, end, place[0], its_begin, its_end,
                                sizes[0], r, comm, stream);
#ifdef COARSEN_VALUE
        runs[r].values = (COARSEN_VALUE *)(place[1] + its_begin * sizes[1] % COARSEN_(line));
        if (result == ncclSuccess)
            result = COARSEN_(swap)(share->sorted.values, begin, end, place[1], its_begin, its_end,
                                    sizes[1], r, comm, stream);
#endif
        for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
            place[k] += COARSEN_(lines)(its_begin, its_end, sizes[k]);
    }
    const ncclResult_t end = ncclGroupEnd();
    for (unsigned int digit = mine.digit; digit < mine.end; digit++)
        for (size_t r = 0; r < share->ranks; r++) {
            const size_t count = COARSEN_(begin_of)(share, tops, r, digit + 1) -
                                 COARSEN_(begin_of)(share, tops, r, digit);
            COARSEN_(add_piece)(pieces, runs[r], count, digit - mine.digit);
            runs[r] = COARSEN_(behind)(runs[r], count);
        }
    return coarsen_nccl_check(result != ncclSuccess ? result : end, comm);
}

// Sorts a group. Of one that is shared, only what is this rank's goes to the result.
COARSEN_HOST cudaError_t COARSEN_(sort_group)(const COARSEN_(share) * share,
                                              const unsigned long long *tops, COARSEN_(group) group,
                                              const COARSEN_(pieces) * pieces, cudaStream_t stream)
{
    const size_t begin = COARSEN_(before)(share, share->rank * share->parts);
    const size_t end = begin + share->n, first = COARSEN_(below)(share, tops, group.digit);
    const COARSEN_(elements) half = COARSEN_(behind)(share->spare, share->n / 2);
    const COARSEN_(elements) sorted =
        group.shared ? share->spare : COARSEN_(behind)(share->out, first - begin);
    const cudaError_t status =
        COARSEN_(sort_buckets)(*pieces, 8 * (sizeof(COARSEN_TYPE) - 1), share->spare, half, sorted,
                               share->starts, share->slots, share->words, share->most_rows, stream);
    if (status != cudaSuccess || !group.shared)
        return status;
    const size_t from = first > begin ? first : begin;
    const size_t to = coarsen_min(COARSEN_(below)(share, tops, group.end), end);
    const COARSEN_(elements) mine = COARSEN_(behind)(sorted, from - first);
    const COARSEN_(elements) out = COARSEN_(behind)(share->out, from - begin);
    return COARSEN_(copy)(mine.keys, out.keys COARSEN_ALSO(mine.values) COARSEN_ALSO(out.values),
                          to - from, stream);
}

COARSEN_HOST cudaError_t COARSEN_(finish_divided)(const COARSEN_(share) * share,
                                                  const unsigned long long *tops,
                                                  const coarsen_nccl_side *side, ncclComm_t comm,
                                                  cudaStream_t stream)
{
    cudaError_t status = cudaMemsetAsync(share->slots, 0, share->slots_bytes, stream);
    if (status == cudaSuccess)
        status = cudaEventRecord(side->ready, stream);
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(side->stream, side->ready, 0);
    COARSEN_(group) groups[COARSEN_(most_pieces) / 2] = {};
    char *place[] = {(char *)share->come.keys COARSEN_ALSO((char *)share->come.values)};
    bool more = true;
    for (unsigned int step = 0; more && status == cudaSuccess; step++) {
        more = false;
        for (size_t r = 0; r < share->ranks; r++) {
            groups[r] = COARSEN_(group_of)(share, tops, r, step);
            more |= groups[r].digit < groups[r].end;
        }
        COARSEN_(pieces) pieces = {};
        if (more)
            status =
                COARSEN_(exchange_groups)(share, tops, groups, place, &pieces, comm, side->stream);
        if (more && status == cudaSuccess)
            status = cudaEventRecord(side->done, side->stream);
        if (more && status == cudaSuccess)
            status = cudaStreamWaitEvent(stream, side->done, 0);
        if (pieces.count > 0 && status == cudaSuccess)
            status = COARSEN_(sort_group)(share, tops, groups[share->rank], &pieces, stream);
    }
    return status;
}

COARSEN_HOST cudaError_t COARSEN_(finish_nccl)(
    const COARSEN_TYPE *in,
    COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
        COARSEN_ALSO(COARSEN_VALUE *out_values),
    const size_t *counts, unsigned long long *splits, void *scratch, size_t scratch_bytes,
    const coarsen_nccl_side *side, ncclComm_t comm, cudaStream_t stream)
{
    const COARSEN_(arrays) own = {in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values)};
    COARSEN_(share) share = {};
    cudaError_t status =
        COARSEN_(begin_nccl)(&share, own, counts, splits, scratch, scratch_bytes, comm);
    if (status != cudaSuccess || share.ranks == 1)
        return status;
    const unsigned long long *const found = splits + 1;
    const unsigned long long state = splits[0];
    const bool ends = state == COARSEN_(ends_are_there),
               counted = state == COARSEN_(counts_are_there);
    if (!side || share.n / COARSEN_(merge_tile) > 0x7ffffffe ||
        (ends ? !COARSEN_(splits_ok)(&share, found)
              : !share.divided || (!counted && state != COARSEN_(buckets_are_there)) ||
                    !COARSEN_(tops_ok)(&share, found)))
        return cudaErrorInvalidValue;
    if (counted && !COARSEN_(even)(&share, found)) {
        status = COARSEN_(sort_own)(&share, share.sorted, stream);
        if (status == cudaSuccess)
            status = COARSEN_(find_splits)(&share, splits, comm, stream);
        return status == cudaSuccess ? cudaErrorNotReady : status;
    }
    if (counted) {
        status = COARSEN_(launch_buckets)(share.in, share.sorted, share.n,
                                          share.tops + share.rank * COARSEN_(digits), share.words,
                                          share.most_rows, stream);
        if (status == cudaSuccess)
            splits[0] = COARSEN_(buckets_are_there);
    }
    if (!ends)
        return status == cudaSuccess ? COARSEN_(finish_divided)(&share, found, side, comm, stream)
                                     : status;
    // The host has waited for what is sent. But a finish before this one may still merge what it received.
    status = cudaEventRecord(side->ready, stream);
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(side->stream, side->ready, 0);
    for (size_t part = 0; part < share.parts && status == cudaSuccess; part++) {
        status = COARSEN_(exchange)(&share, found, part, comm, side->stream);
        if (status == cudaSuccess)
            status = cudaEventRecord(side->done, side->stream);
        if (status == cudaSuccess)
            status = cudaStreamWaitEvent(stream, side->done, 0);
        if (status == cudaSuccess)
            status = COARSEN_(merge_part)(&share, found, part, stream);
    }
    return status;
}
#endif

#undef COARSEN_PLACE
#undef COARSEN_PART
#undef COARSEN_DIVIDED
#define COARSEN_END
#include "../base.h"
