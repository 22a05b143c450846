// SPDX-License-Identifier: MIT
//
// coarsen/histogram/per_lane.h: histogram, eighth rung. Over vectorized.h:
// a copy for each lane, no more blocks than the device holds, and any number of bins.
//
//     counts[b] = how many i in [0, n) have BIN(in[i]) == b, for each b in [0, NUM_BINS)
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #include <coarsen/histogram/per_lane.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | NUM_BINS             | required         | number of bins, from 1 to 2147483647                 |
// | COARSEN_BIN(x)       | (x)              | bin of element x, an integer; x is not counted if    |
// |                      |                  | that is negative or not below NUM_BINS               |
// | COARSEN_COUNT        | unsigned int     | type of a count: that or unsigned long long          |
// | BLOCK_DIM            | 1024 or tuned    | threads a block: a multiple of 32 from 32 to 1024    |
// | CFACTOR              | 4 or tuned       | 16-byte loads a thread has in flight, from 1 to 32   |
//
// tuned: COARSEN_HISTOGRAM_BLOCK_DIM and COARSEN_HISTOGRAM_CFACTOR, where they are defined, as they
// are by a header that coarsen-tune wrote.
//
// Defines NAME_slot(copies, bin, lane), NAME_add(copy, copies, first_bin, width, x), NAME_count(in,
// counts, n, width, block_dim, copies), NAME_kernel(in, counts, n, width) and NAME_small_kernel, which
// is the same with 256 threads a block at most, and
//
//     size_t      NAME_scratch_bytes(size_t n)        0
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//
// in: n elements in device memory, left as they are. counts: NUM_BINS of them, apart from in; what
// they held is lost. scratch: not looked at; NULL will do.
// Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, with nothing written.
// Deterministic. An unsigned int count that passes 2^32 goes on from 0.
//
// How: the bins are rows of counters, in 32 columns at most; lane l adds to column l mod their
// number. With 32 of them a warp's additions never meet, neither in a counter nor in a bank of
// shared memory, whatever the data: one value takes as long as noise. There are as many columns as
// 16 counters a thread make room for: 32 up to half as many bins as the block has threads, and half
// as many for each doubling. Where a row has fewer than 32 columns, the rows of a bank are stirred
// (NAME_slot), so that bins which are a power of two apart do not all fall in one bank. NAME_launch
// says how much dynamic shared memory that takes, and how many blocks make a wave.
//
// A small array, of which blocks of 256 threads take no more than one for two multiprocessors, is
// counted by such blocks, where BLOCK_DIM is more: they begin and end sooner.
//
// More bins than a block has shared memory for, 58112 on an H100 or H200, are counted in ranges,
// each by its share of the blocks. The blocks of every range read the whole array, all but the
// first from the L2 cache. So the time is in proportion to the ranges; past sixteen or so basic.h,
// which needs none, is faster on data that is spread out.
//
// Price saved: the turns that atomics take; and, with as many blocks as the device holds, which go
// on until the array is done, most of the copies to set to zero and to add.
// Price paid: shared memory, up to 64 bytes a thread.
//
// Source: J. Gomez-Luna and others, An Optimized Approach to Histogram Computation on GPU (2013),
// for copies that the lanes take turns at.

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_HISTOGRAM_BLOCK_DIM)
#define BLOCK_DIM COARSEN_HISTOGRAM_BLOCK_DIM
#endif
#if !defined(CFACTOR) && !defined(COARSEN_CFACTOR) && defined(COARSEN_HISTOGRAM_CFACTOR)
#define CFACTOR COARSEN_HISTOGRAM_CFACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_HISTOGRAM
#include "../base.h"

#ifndef BLOCK_DIM
#define BLOCK_DIM 1024
#endif
#ifndef CFACTOR
#define CFACTOR 4
#endif
#if CFACTOR < 1 || CFACTOR > 32
#error "coarsen/histogram: CFACTOR must be from 1 to 32"
#endif

#include "../block/vector.h"

// The columns of counters, for a block of so many threads; as many counters as a block has room for
// on any device; and the threads of a block that counts a small array.
#define COARSEN_COPIES(threads)                                                                    \
    (NUM_BINS <= threads / 2   ? 32                                                                \
     : NUM_BINS <= threads     ? 16                                                                \
     : NUM_BINS <= 2 * threads ? 8                                                                 \
     : NUM_BINS <= 4 * threads ? 4                                                                 \
     : NUM_BINS <= 8 * threads ? 2                                                                 \
                               : 1)
#define COARSEN_ROOM      16384
#define COARSEN_SMALL_DIM (BLOCK_DIM < 256 ? BLOCK_DIM : 256)

// Where the counter of a bin and a lane is. Rows are stirred within groups of 32 / copies, which fill
// the 32 banks once.
COARSEN_DEVICE unsigned int COARSEN_(slot)(unsigned int copies, unsigned int bin, unsigned int lane)
{
    const unsigned int group = 32 / copies;
    return (bin ^ (bin / group % group)) * copies + lane % copies;
}

// Counts x if its bin is one of the width from first_bin on.
COARSEN_DEVICE void COARSEN_(count_in_range)(unsigned int *copy, unsigned int copies,
                                             unsigned int first_bin, unsigned int width,
                                             COARSEN_TYPE x)
{
    const unsigned int row = COARSEN_(bin)(x) - first_bin;
    if (row < width)
        atomicAdd(copy + COARSEN_(slot)(copies, row, threadIdx.x), 1u);
}

// The whole of a kernel, for blocks of so many threads: a constant, as copies is.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_(count_all)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                    unsigned int full_width, const unsigned int block_dim,
                    const unsigned int copies)
{
    unsigned int *const copy = (unsigned int *)coarsen_shared;
    unsigned int first_bin = 0, width = NUM_BINS, block = blockIdx.x, blocks = gridDim.x;
    if (NUM_BINS > COARSEN_ROOM) { // ranges, and this block's among those of its range
        const unsigned int ranges = (NUM_BINS - 1) / full_width + 1;
        first_bin = blockIdx.x % ranges * full_width;
        width = NUM_BINS - first_bin < full_width ? NUM_BINS - first_bin : full_width;
        block = blockIdx.x / ranges;
        blocks = gridDim.x / ranges;
    }
    const unsigned int slots = (width + 31) / 32 * 32 * copies;
    for (unsigned int slot = threadIdx.x; slot < slots; slot += block_dim)
        copy[slot] = 0;
    __syncthreads();

    const COARSEN_(parts) parts = COARSEN_(split)(in, n);
    const size_t threads = (size_t)blocks * block_dim;
    size_t v = (size_t)block * block_dim + threadIdx.x;
#pragma unroll 1
    for (; v + (CFACTOR - 1) * threads < parts.vectors; v += CFACTOR * threads) {
        COARSEN_(vector) load[CFACTOR];
#pragma unroll
        for (unsigned int k = 0; k < CFACTOR; k++)
            load[k] = parts.first[v + k * threads];
#pragma unroll
        for (unsigned int k = 0; k < CFACTOR; k++)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                COARSEN_(count_in_range)(copy, copies, first_bin, width, load[k].item[j]);
    }
#pragma unroll 1
    for (; v < parts.vectors; v += threads) {
        const COARSEN_(vector) load = parts.first[v];
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            COARSEN_(count_in_range)(copy, copies, first_bin, width, load.item[j]);
    }
    if (block == blocks - 1 && threadIdx.x < parts.rest)
        COARSEN_(count_in_range)
    (copy, copies, first_bin, width, in[COARSEN_(rest)(parts, threadIdx.x)]);

    __syncthreads();
    for (unsigned int row = threadIdx.x; row < width; row += block_dim) {
        unsigned int count =
            0; // the columns begin apart, so that a warp's threads keep to 32 banks
#pragma unroll 4
        for (unsigned int k = 0; k < copies; k++)
            count += copy[COARSEN_(slot)(copies, row, k + row / (32 / copies))];
        if (count > 0)
            atomicAdd(counts + first_bin + row, (COARSEN_COUNT)count);
    }
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                     unsigned int full_width)
{
    COARSEN_(count_all)(in, counts, n, full_width, BLOCK_DIM, COARSEN_COPIES(BLOCK_DIM));
}

// A small array is over before a block of many warps has well begun.
COARSEN_KERNEL void __launch_bounds__(COARSEN_SMALL_DIM)
    COARSEN_(small_kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                           unsigned int full_width)
{
    COARSEN_(count_all)
    (in, counts, n, full_width, COARSEN_SMALL_DIM, COARSEN_COPIES(COARSEN_SMALL_DIM));
}

#ifndef __CUDACC_RTC__

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                          cudaStream_t stream)
{

    // As few ranges as there can be, of as many bins each, but for the last; and as many blocks for
    // each as the device holds. A block's own counters hold 2^32: it gets fewer elements than that.
    cudaError_t status = cudaSuccess;
    size_t ranges = 1, width = NUM_BINS;
    if (NUM_BINS > COARSEN_ROOM) {
        const size_t room = coarsen_shared_limit(&status) / sizeof(unsigned int) / 32 * 32;
        if (status != cudaSuccess)
            return status;
        ranges = coarsen_ceil_div(NUM_BINS, room);
        width = coarsen_ceil_div(coarsen_ceil_div(NUM_BINS, ranges), 32) * 32;
        ranges = coarsen_ceil_div(NUM_BINS, width);
    }
    // Small: in blocks of fewer threads, no more than a block for two multiprocessors.
    const size_t processors = coarsen_multiprocessors(&status);
    const bool small =
        coarsen_ceil_div(n, COARSEN_SMALL_DIM * COARSEN_ITEMS) * ranges <= processors / 2;
    const unsigned int threads = small ? COARSEN_SMALL_DIM : BLOCK_DIM;
    const size_t copies = small ? COARSEN_COPIES(COARSEN_SMALL_DIM) : COARSEN_COPIES(BLOCK_DIM);
    const size_t bytes = coarsen_ceil_div(width, 32) * 32 * copies * sizeof(unsigned int);
    size_t resident = 0;
    if (status == cudaSuccess && small)
        resident =
            coarsen_resident_blocks((const void *)COARSEN_(small_kernel), threads, bytes, &status);
    else if (status == cudaSuccess)
        resident = coarsen_resident_blocks((const void *)COARSEN_(kernel), threads, bytes, &status);
    if (status != cudaSuccess)
        return status;
    const size_t rows = coarsen_ceil_div(n, (size_t)threads * COARSEN_ITEMS);
    size_t blocks = coarsen_min(rows, resident > ranges ? resident / ranges : 1);
    if (blocks < n >> 31)
        blocks = n >> 31;
    if (blocks > 0x7fffffff / ranges)
        return cudaErrorInvalidValue;

    status = COARSEN_(start)(in, counts, n, blocks * ranges, stream);
    if (status != cudaSuccess || n == 0)
        return status;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(blocks * ranges, threads, bytes, stream);
    if (small)
        return cudaLaunchKernelEx(&config, COARSEN_(small_kernel), in, counts, n,
                                  (unsigned int)width);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, counts, n, (unsigned int)width);
}

#endif

#undef COARSEN_COPIES
#undef COARSEN_ROOM
#undef COARSEN_SMALL_DIM
#define COARSEN_END
#include "../base.h"
