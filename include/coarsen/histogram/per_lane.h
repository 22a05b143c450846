// SPDX-License-Identifier: MIT
//
// coarsen/histogram/per_lane.h: eighth rung, vectorized.h + a copy of the counts per lane, only as
// many blocks as the device holds at once, and any number of bins.
//     counts[b] = the number of i in [0, n) with BIN(in[i]) == b, for each b in [0, NUM_BINS);
//                 or the sum of WEIGHT(in[i]) over those i
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #include <coarsen/histogram/per_lane.h>
//
// | parameter      | default       | meaning                                                      |
// |----------------|---------------|--------------------------------------------------------------|
// | COARSEN_NAME   | required      | prefix of every name defined here                            |
// | COARSEN_TYPE   | required      | element type                                                 |
// | NUM_BINS       | required      | number of bins, from 1 to 2147483647                         |
// | COARSEN_BIN(x) | (x)           | bin of x, an integer; x is not counted if < 0 or >= NUM_BINS |
// | COARSEN_COUNT  | unsigned int  | type of a count: unsigned int or unsigned long long; with COARSEN_WEIGHT also int, float or double |
// | COARSEN_WEIGHT(x) | 1          | what x adds to its bin, as a COARSEN_COUNT; also evaluated for an x that has none |
// | COARSEN_COUNTED | 0            | 1: there is NAME_launch_counted too                          |
// | COARSEN_VIEW   | 0             | 1: there is NAME_launch_view too                             |
// | BLOCK_DIM      | 1024 or tuned | threads per block: a multiple of 32 from 32 to 1024          |
// | CFACTOR        | 4 or tuned    | 16-byte loads in flight per thread, from 1 to 32             |
// tuned: COARSEN_HISTOGRAM_BLOCK_DIM and _CFACTOR if defined, as by a header from coarsen-tune.
// Defines what block/overlap.h and block/vector.h define, NAME_slot(copies, row),
// NAME_row(first_bin, width, x), NAME_count_rounds, NAME_count_all, NAME_zero_kernel(counts),
// NAME_kernel(in, counts, n, full_width), NAME_small_kernel (at most 256 threads per block), and
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             cudaStream_t stream)
//     cudaError_t NAME_launch_counted(const COARSEN_TYPE *in, COARSEN_COUNT *counts,
//                             const unsigned long long *n, size_t most, cudaStream_t stream)
//     cudaError_t NAME_launch_view(const COARSEN_TYPE *in, size_t pitch, size_t rows, size_t width,
//                             COARSEN_COUNT *counts, cudaStream_t stream)
//     cudaError_t NAME_plan(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n, NAME_planned *plan)
// The second, with COARSEN_COUNTED, is for what another kernel counted, as select.h does: *n, in device memory, is read
// when the kernel runs, and is `most` or less, or the launch ends with an error (__trap). in has room for `most`. The
// third, with COARSEN_VIEW, is for a part of a matrix: rows of width elements, which begin pitch elements apart, width
// or more; what is between them is not read.
// NAME_plan says what NAME_launch launches, as data, for those who launch it, once they have set the counts to zero:
// plan->kernel<<<plan->grid, plan->block, plan->shared_bytes, stream>>>(in, counts, n, plan->full_width).
// in: n elements in device memory, unchanged. counts: NUM_BINS counts, apart from in; overwritten.
// Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, with nothing written.
// Deterministic; an integer count wraps around. Only sums of float or double that round are not: they are added up in any
// order, by atomics, so their last bits differ from run to run. Where each weight is a multiple of some step, and no sum
// of their magnitudes is 2^24 steps or more (double: 2^53), nothing rounds, and the bits are the same.
//
// How: each bin is a row of counters in shared memory, in at most 32 columns. Lane l adds to column
// l mod the number of columns. With 32 columns, the additions of a warp never share a counter or a
// bank of shared memory, whatever the data: constant data takes as long as noise. The number of
// columns is what 16 counters per thread and 64 KiB allow: 32 if there are at most half as many
// bins as threads in a block, and half as many columns each time the bins double. With fewer than
// 32 columns, the rows are swizzled (NAME_slot), so that bins a power of two apart do not all fall
// into one bank. What has no bin is counted too, in one more row that nobody reads: that takes less
// time than a branch. NAME_launch works out the dynamic shared memory and the number of blocks.
// The counts are set to zero by a kernel of their own. On an H100 or later the next one starts at
// once, and waits for it only before it adds its sums.
//
// Small arrays: blocks of 256 threads (if BLOCK_DIM is more) count an array for which they need at
// most one block per two multiprocessors. They start and end sooner.
// Many bins: a block of an H100 or H200 has shared memory for 58111 bins. More bins are counted in
// ranges, and the blocks are divided among the ranges. The blocks of each range read the whole
// array; neighbours read the same piece at the same time, so that the memory delivers it once. The
// time grows with the ranges. Above about 16 ranges, basic.h, which has none, is faster on
// spread-out data.
//
// Price saved: atomics that wait for each other. The blocks, as many as the device holds, loop
// until the array is done, so there are few copies to set to zero and add.
// Price paid: shared memory, about 64 bytes per thread, or 4 bytes per bin where that is more, 8 for a COARSEN_COUNT
// of 8 bytes with COARSEN_WEIGHT; there are half as many columns then. Shared memory adds integers of 4 bytes itself, and
// 8 bytes as two of them; a float or a double it only exchanges, and the addition is tried again if another warp was in
// between. So where elements are of 4 bytes or more, a thread first adds up the weights of those in a row that have one
// bin. Values that take turns in few bins still wait.
// Source: J. Gomez-Luna and others, An Optimized Approach to Histogram Computation on GPU (2013),
// for copies that the lanes use in turn.

#define COARSEN_WEIGHTED // takes a COARSEN_WEIGHT
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
#elif CFACTOR < 1 || CFACTOR > 32
#error "coarsen/histogram: CFACTOR must be from 1 to 32"
#endif

#include "../block/overlap.h"
#include "../block/vector.h"
#if COARSEN_VIEW
#include "../block/view.h"
#endif

// The counters that a block has room for on every device; the columns of counters in a block of so
// many threads; and the threads of a block that counts a small array.
#define COARSEN_ROOM (65536 / (unsigned int)sizeof(COARSEN_(counter)))
#define COARSEN_FIT(copies, threads)                                                               \
    (NUM_BINS <= 64 / sizeof(COARSEN_(counter)) * threads / copies &&                              \
     NUM_BINS < COARSEN_ROOM / copies)
#define COARSEN_COPIES(threads)                                                                    \
    (COARSEN_FIT(32, threads)   ? 32                                                               \
     : COARSEN_FIT(16, threads) ? 16                                                               \
     : COARSEN_FIT(8, threads)  ? 8                                                                \
     : COARSEN_FIT(4, threads)  ? 4                                                                \
     : COARSEN_FIT(2, threads)  ? 2                                                                \
                                : 1)
#define COARSEN_SMALL_DIM (BLOCK_DIM < 256 ? BLOCK_DIM : 256)

// Whether a thread adds up the weights of a run of elements of one bin, before it adds them to the counter. An addition
// of a float or double that shared memory only exchanges is tried again and again, where many warps have the same bin.
#define COARSEN_REAL      ((COARSEN_COUNT)0.5 != 0)
#ifdef COARSEN_WEIGHT
#define COARSEN_RUNS (COARSEN_REAL && sizeof(COARSEN_TYPE) >= 4)
#else
#define COARSEN_RUNS false
#endif

// Blocks of 1024 threads of which a multiprocessor is to hold two, if it has room for 2048 threads:
// compilers that are not told may take a few registers too many.
#if COARSEN_PTX == 800 || COARSEN_PTX == 900 || COARSEN_PTX == 1000 || COARSEN_PTX == 1030
#define COARSEN_RESIDENT                                                                           \
    (BLOCK_DIM > 512 && CFACTOR <= 4 && sizeof(COARSEN_(vector)) == 16 ? 2048 / BLOCK_DIM : 1)
#else
#define COARSEN_RESIDENT 1
#endif

// The first counter of a row. Groups of 32 / copies rows, which fill the banks, are swizzled.
COARSEN_DEVICE unsigned int COARSEN_(slot)(unsigned int copies, unsigned int row)
{
    const unsigned int group = 32 / copies;
    return (row ^ (row / group % group)) * copies;
}

// The row of x's bin; or width, if that is not in [first_bin, first_bin + width).
COARSEN_DEVICE unsigned int COARSEN_(row)(unsigned int first_bin, unsigned int width,
                                          COARSEN_TYPE x)
{
    const unsigned long long bin = COARSEN_(bin)(x);
    unsigned int row = (unsigned int)bin;
    if (sizeof(x) < 4 && NUM_BINS < 1ull << 8 * sizeof(x) % 32)
        asm("" : "+r"(row)); // or compilers compare 16 bits, which takes more instructions
    row -= first_bin;
    return bin >> 32 != 0 || row > width ? width : row;
}

// Adds to a counter in shared memory, which adds integers of 4 bytes itself: one of 8 bytes is added as two of them.
COARSEN_INLINE void COARSEN_(add)(COARSEN_(counter) * to, COARSEN_(counter) w)
{
#if defined(COARSEN_WEIGHT)
    if (sizeof(w) == 8 && !COARSEN_REAL) {
        unsigned int *const half = (unsigned int *)to;
        const unsigned int low = (unsigned int)w,
                           high = (unsigned int)((unsigned long long)w >> 32),
                           carry = atomicAdd(half, low) + low < low;
        if (high + carry != 0)
            atomicAdd(half + 1, high + carry);
        return;
    }
#endif
    atomicAdd(to, w);
}

// The last row that a thread added to, and what it adds to it once an element is in another one.
typedef struct {
    unsigned int row;
    COARSEN_(counter) sum;
} COARSEN_(run);

COARSEN_INLINE void COARSEN_(end_run)(COARSEN_(counter) * column, const unsigned int copies,
                                      const COARSEN_(run) * run)
{
    if (COARSEN_RUNS)
        COARSEN_(add)(column + COARSEN_(slot)(copies, run->row), run->sum);
}

// What is in no row of this block is added to one more, which nobody reads.
COARSEN_INLINE void COARSEN_(count_one)(COARSEN_(counter) * column, const unsigned int copies,
                                        unsigned int first_bin, unsigned int width,
                                        COARSEN_(run) * run, COARSEN_TYPE x)
{
    const unsigned int row = COARSEN_(row)(first_bin, width, x);
    if (!COARSEN_RUNS) {
        COARSEN_(add)(column + COARSEN_(slot)(copies, row), COARSEN_(weight)(x));
        return;
    }
    if (row != run->row) {
        COARSEN_(end_run)(column, copies, run);
        run->row = row;
        run->sum = 0;
    }
    run->sum += COARSEN_(weight)(x);
}

// Counts vectors, one in every `threads` from v on, as long as there are `loads` of them at a time;
// and returns the first that is left.
COARSEN_INLINE size_t COARSEN_(count_rounds)(COARSEN_(parts) parts, size_t v, size_t threads,
                                             const unsigned int loads, COARSEN_(counter) * column,
                                             const unsigned int copies, unsigned int first_bin,
                                             unsigned int width, COARSEN_(run) * run)
{
#pragma unroll 1
    for (; v + (loads - 1) * threads < parts.vectors; v += loads * threads) {
        COARSEN_(vector) load[CFACTOR];
#pragma unroll
        for (unsigned int k = 0; k < loads; k++)
            load[k] = NUM_BINS < COARSEN_ROOM ? parts.first[v + k * threads]
                                              : COARSEN_(load_past)(parts.first + v + k * threads);
#pragma unroll
        for (unsigned int k = 0; k < loads; k++)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                COARSEN_(count_one)(column, copies, first_bin, width, run, load[k].item[j]);
    }
    return v;
}

// What a block of block_dim threads begins with, and ends with. block_dim and copies are constants.
COARSEN_INLINE void COARSEN_(zero_counters)(COARSEN_(counter) * copy, unsigned int width,
                                            const unsigned int block_dim, const unsigned int copies)
{
    const unsigned int slots = (width * copies + copies + 31) / 32 * 32;
    for (unsigned int slot = threadIdx.x; slot < slots; slot += block_dim)
        copy[slot] = 0;
    __syncthreads();
}

COARSEN_INLINE void COARSEN_(add_counters)(const COARSEN_(counter) * copy, COARSEN_COUNT *counts,
                                           unsigned int width, const unsigned int block_dim,
                                           const unsigned int copies)
{
    __syncthreads();
    COARSEN_(follow)(); // the zeros in counts
    for (unsigned int row = threadIdx.x; row < width; row += block_dim) {
        // The threads of a warp start at different columns, in 32 different banks.
        COARSEN_(counter) count = 0;
#pragma unroll 8
        for (unsigned int k = 0; k < copies; k++)
            count += copy[COARSEN_(slot)(copies, row) + (k + row / (32 / copies)) % copies];
        if (count != 0)
            atomicAdd(counts + row, (COARSEN_COUNT)count);
    }
}

// The first bin of this block's range, and how many bins, which block of that range it is, and of how many.
COARSEN_INLINE unsigned int COARSEN_(range)(unsigned int full_width, unsigned int *width,
                                            unsigned int *block, unsigned int *blocks)
{
    unsigned int first_bin = 0;
    *width = NUM_BINS, *block = blockIdx.x, *blocks = gridDim.x;
    if (NUM_BINS >= COARSEN_ROOM) {
        const unsigned int ranges = (NUM_BINS - 1) / full_width + 1;
        first_bin = blockIdx.x % ranges * full_width;
        *width = NUM_BINS - first_bin < full_width ? NUM_BINS - first_bin : full_width;
        *block = blockIdx.x / ranges;
        *blocks = gridDim.x / ranges;
    }
    return first_bin;
}

// The whole kernel, for blocks of block_dim threads.
COARSEN_INLINE void COARSEN_(count_all)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                        unsigned int full_width, const unsigned int block_dim,
                                        const unsigned int copies)
{
    COARSEN_(counter) *const copy = (COARSEN_(counter) *)coarsen_shared;
    COARSEN_(counter) *const column = copy + threadIdx.x % copies;
    unsigned int width, block, blocks;
    const unsigned int first_bin = COARSEN_(range)(full_width, &width, &block, &blocks);
    const COARSEN_(parts) parts = COARSEN_(split)(in, n);
    const size_t threads = (size_t)blocks * block_dim;
    size_t v = (size_t)block * block_dim + threadIdx.x;
#if COARSEN_PTX // the first are on their way while the counters are set to zero
    if (v < parts.vectors)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(parts.first + v));
#endif
    COARSEN_(zero_counters)(copy, width, block_dim, copies);
    COARSEN_(run) run = {width, 0};

    v = COARSEN_(count_rounds)(parts, v, threads, CFACTOR, column, copies, first_bin, width, &run);
    v = COARSEN_(count_rounds)(parts, v, threads, CFACTOR < 2 ? 1 : 2, column, copies, first_bin,
                               width, &run);
    COARSEN_(count_rounds)(parts, v, threads, 1, column, copies, first_bin, width, &run);
    if (block == blocks - 1 && threadIdx.x < parts.rest)
        COARSEN_(count_one)
    (column, copies, first_bin, width, &run, in[COARSEN_(rest)(parts, threadIdx.x)]);

    COARSEN_(end_run)(column, copies, &run);
    COARSEN_(add_counters)(copy, counts + first_bin, width, block_dim, copies);
}

// Before the others, which may start at once, and wait for it before they add to counts.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM) COARSEN_(zero_kernel)(COARSEN_COUNT *counts)
{
    COARSEN_(let_next)();
    const size_t bin = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (bin < NUM_BINS)
        counts[bin] = 0;
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                     unsigned int full_width)
{
    COARSEN_(count_all)(in, counts, n, full_width, BLOCK_DIM, COARSEN_COPIES(BLOCK_DIM));
}

// For small arrays, which are done before a block of many warps has started.
COARSEN_KERNEL void __launch_bounds__(COARSEN_SMALL_DIM)
    COARSEN_(small_kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                           unsigned int full_width)
{
    COARSEN_(count_all)
    (in, counts, n, full_width, COARSEN_SMALL_DIM, COARSEN_COPIES(COARSEN_SMALL_DIM));
}

#if COARSEN_COUNTED
// The two of them with n in device memory.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(counted_kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts,
                             const unsigned long long *n, size_t most, unsigned int full_width)
{
    const size_t count = *n;
    if (count > most)
        __trap(); // more than there is room for
    if (blockDim.x == COARSEN_SMALL_DIM) {
        COARSEN_(count_all)
        (in, counts, count, full_width, COARSEN_SMALL_DIM, COARSEN_COPIES(COARSEN_SMALL_DIM));
    } else {
        COARSEN_(count_all)
        (in, counts, count, full_width, BLOCK_DIM, COARSEN_COPIES(BLOCK_DIM));
    }
}
#endif

#if COARSEN_VIEW
// Pieces of a view's tile, of so many items each: `loads` of them, BLOCK_DIM apart, from p on, which is there.
COARSEN_INLINE void COARSEN_(load_pieces)(COARSEN_(vector) * load, COARSEN_(rows) of,
                                          COARSEN_(place) at, const unsigned int items,
                                          unsigned int p, unsigned int pieces,
                                          const unsigned int loads, const bool once)
{
    // What is not there is the first again: compilers take a load under a condition apart at once.
#pragma unroll
    for (unsigned int k = 0; k < loads; k++) {
        const unsigned int q = p + (p + k * BLOCK_DIM < pieces ? k * BLOCK_DIM : 0);
        const COARSEN_TYPE *const from = COARSEN_(piece_at)(of, at, items, q).at;
        load[k] = items == COARSEN_ITEMS && NUM_BINS >= COARSEN_ROOM
                      ? COARSEN_(load_past)((const COARSEN_(vector) *)from)
                      : COARSEN_(load_piece)(from, items, once);
    }
}

COARSEN_INLINE void COARSEN_(count_pieces)(const COARSEN_(vector) * load, const unsigned int items,
                                           unsigned int p, unsigned int pieces,
                                           const unsigned int loads, COARSEN_(counter) * column,
                                           const unsigned int copies, unsigned int first_bin,
                                           unsigned int width, COARSEN_(run) * run)
{
#pragma unroll
    for (unsigned int k = 0; k < loads; k++)
        if (p + k * BLOCK_DIM < pieces)
#pragma unroll
            for (unsigned int j = 0; j < items; j++)
                COARSEN_(count_one)(column, copies, first_bin, width, run, load[k].item[j]);
}

// All of those that are no vectors, from p on.
COARSEN_INLINE void COARSEN_(count_left)(COARSEN_(rows) of, COARSEN_(place) at,
                                         const unsigned int items, unsigned int p,
                                         unsigned int pieces, COARSEN_(counter) * column,
                                         const unsigned int copies, unsigned int first_bin,
                                         unsigned int width, COARSEN_(run) * run)
{
#pragma unroll 1
    for (; p < pieces; p += CFACTOR * BLOCK_DIM) {
        COARSEN_(vector) load[CFACTOR];
        COARSEN_(load_pieces)(load, of, at, items, p, pieces, CFACTOR, false);
        COARSEN_(count_pieces)
        (load, items, p, pieces, CFACTOR, column, copies, first_bin, width, run);
    }
}

// A view, whose tiles the blocks of a range take in turn. The first of a thread's quads and of its single elements are on
// their way while it waits for vectors: a tile of long rows has no more.
COARSEN_INLINE void COARSEN_(count_view)(COARSEN_(rows) of, COARSEN_COUNT *counts,
                                         unsigned int full_width, const bool once)
{
    const unsigned int copies = COARSEN_COPIES(BLOCK_DIM);
    COARSEN_(counter) *const copy = (COARSEN_(counter) *)coarsen_shared;
    COARSEN_(counter) *const column = copy + threadIdx.x % copies;
    unsigned int width, block, blocks;
    const unsigned int first_bin = COARSEN_(range)(full_width, &width, &block, &blocks);
    const unsigned int t = threadIdx.x, few = COARSEN_(quad_items);
    COARSEN_(place) at = COARSEN_(find)(of, block);
    const COARSEN_(place) step = COARSEN_(find)(of, blocks);
    COARSEN_(zero_counters)(copy, width, BLOCK_DIM, copies);
    COARSEN_(run) run = {width, 0};

#pragma unroll 1
    for (; COARSEN_(slots)(of, at) > 0; COARSEN_(advance)(of, &at, step)) {
        const unsigned int vectors = COARSEN_(pieces)(of, at, COARSEN_ITEMS),
                           quads = COARSEN_(pieces)(of, at, few),
                           elements = COARSEN_(pieces)(of, at, 1);
        COARSEN_(vector) load[CFACTOR], quad, element;
        if (few > 1 && t < quads)
            COARSEN_(load_pieces)(&quad, of, at, few, t, quads, 1, false);
        if (COARSEN_ITEMS > 1 && t < elements)
            COARSEN_(load_pieces)(&element, of, at, 1, t, elements, 1, false);
        if (t < vectors) {
            COARSEN_(load_pieces)(load, of, at, COARSEN_ITEMS, t, vectors, CFACTOR, once);
            COARSEN_(count_pieces)
            (load, COARSEN_ITEMS, t, vectors, CFACTOR, column, copies, first_bin, width, &run);
        }
        if (few > 1) {
            COARSEN_(count_pieces)
            (&quad, few, t, quads, 1, column, copies, first_bin, width, &run);
            COARSEN_(count_left)
            (of, at, few, t + BLOCK_DIM, quads, column, copies, first_bin, width, &run);
        }
        if (COARSEN_ITEMS > 1) {
            COARSEN_(count_pieces)
            (&element, 1, t, elements, 1, column, copies, first_bin, width, &run);
            COARSEN_(count_left)
            (of, at, 1, t + BLOCK_DIM, elements, column, copies, first_bin, width, &run);
        }
    }
    COARSEN_(end_run)(column, copies, &run);
    COARSEN_(add_counters)(copy, counts + first_bin, width, BLOCK_DIM, copies);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(view_kernel)(COARSEN_(rows) of, COARSEN_COUNT *counts, unsigned int full_width)
{
    COARSEN_(count_view)(of, counts, full_width, false);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(view_once_kernel)(COARSEN_(rows) of, COARSEN_COUNT *counts, unsigned int full_width)
{
    COARSEN_(count_view)(of, counts, full_width, true);
}
#endif

#ifndef __CUDACC_RTC__
typedef struct {
    void (*kernel)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                   unsigned int full_width);
    dim3 grid, block;
    size_t shared_bytes, scratch_bytes;
    unsigned int full_width;
} COARSEN_(planned);

// may_be_few: whether COARSEN_(small_kernel) may do it.
COARSEN_HOST cudaError_t COARSEN_(divide)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                          bool may_be_few, COARSEN_(planned) * plan)
{
    // As few ranges as possible, of equal width except the last; and as many blocks as the device
    // holds. A block's counters have 32 bits, so a block gets fewer than 2^32 elements.
    cudaError_t status = cudaSuccess;
    size_t ranges = 1, width = NUM_BINS;
    if (NUM_BINS >= COARSEN_ROOM) {
        const size_t room = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &status) /
                            sizeof(COARSEN_(counter)) / 32 * 32;
        if (status != cudaSuccess)
            return status;
        ranges = coarsen_ceil_div(NUM_BINS, room - 1);
        width = coarsen_ceil_div(NUM_BINS, ranges);
        ranges = coarsen_ceil_div(NUM_BINS, width);
    }
    // Small: blocks of COARSEN_SMALL_DIM threads are at most one per two multiprocessors.
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const bool is_small =
        may_be_few &&
        coarsen_ceil_div(n, COARSEN_SMALL_DIM * COARSEN_ITEMS) * ranges <= processors / 2;
    const unsigned int threads = is_small ? COARSEN_SMALL_DIM : BLOCK_DIM;
    const size_t copies = is_small ? COARSEN_COPIES(COARSEN_SMALL_DIM) : COARSEN_COPIES(BLOCK_DIM);
    const size_t bytes =
        coarsen_ceil_div((width + 1) * copies, 32) * 32 * sizeof(COARSEN_(counter));
    int resident = 0;                              // per multiprocessor
    if (status == cudaSuccess && bytes > 48 << 10) // more has to be asked for
        status = cudaFuncSetAttribute(is_small ? (const void *)COARSEN_(small_kernel)
                                               : (const void *)COARSEN_(kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (status == cudaSuccess && is_small)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(small_kernel),
                                                               (int)threads, bytes);
    else if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               (int)threads, bytes);
    if (status != cudaSuccess)
        return status;
    // A second block per multiprocessor pays if all threads have some rounds of loads.
    const size_t rows = coarsen_ceil_div(n, (size_t)threads * COARSEN_ITEMS);
    const size_t wave = processors * (size_t)resident;
    const size_t few = coarsen_min(wave, processors * coarsen_ceil_div(1024, threads));
    size_t blocks = coarsen_min(rows, rows / (2 * CFACTOR) > few ? wave : few) / ranges;
    blocks += blocks == 0;
    if (blocks < n >> 31)
        blocks = n >> 31;
    if (!COARSEN_(counts_ok)(in, counts, n) || blocks > 0x7fffffff / ranges)
        return cudaErrorInvalidValue;

    plan->kernel = is_small ? COARSEN_(small_kernel) : COARSEN_(kernel);
    plan->grid = dim3((unsigned int)(blocks * ranges));
    plan->block = dim3(threads);
    plan->shared_bytes = bytes;
    plan->scratch_bytes = 0;
    plan->full_width = (unsigned int)width;
    return cudaSuccess;
}

COARSEN_HOST cudaError_t COARSEN_(plan)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                        COARSEN_(planned) * plan)
{
    return COARSEN_(divide)(in, counts, n, true, plan);
}

// count: where n is in device memory, or NULL; then n is the most that it may be. view: a NAME_rows of n elements in
// all, not cut yet, or NULL.
COARSEN_HOST cudaError_t COARSEN_(begin)(const COARSEN_TYPE *in, COARSEN_COUNT *counts,
                                         COARSEN_UNUSED const unsigned long long *count,
                                         COARSEN_UNUSED const void *view, size_t n,
                                         cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    cudaError_t status = COARSEN_(divide)(in, counts, n, !view, &plan);
    if (status != cudaSuccess)
        return status;
    const cudaLaunchConfig_t zero =
        coarsen_launch_config(coarsen_ceil_div(NUM_BINS, BLOCK_DIM), BLOCK_DIM, 0, stream);
    cudaLaunchConfig_t config =
        coarsen_launch_config(plan.grid.x, plan.block.x, plan.shared_bytes, stream);
    cudaLaunchAttribute attribute;
    status = COARSEN_(overlap)(&config, &attribute, (const void *)COARSEN_(kernel));
#if COARSEN_COUNTED
    if (status == cudaSuccess && count)
        status = coarsen_let_share((const void *)COARSEN_(counted_kernel), plan.shared_bytes, 0);
#endif
#if COARSEN_VIEW
    COARSEN_(rows) of = {};
    void (*view_kernel)(COARSEN_(rows) of, COARSEN_COUNT * counts, unsigned int full_width) = NULL;
    if (status == cudaSuccess && view && n > 0) {
        // All blocks of a range have as many tiles, of CFACTOR BLOCK_DIM vectors or fewer.
        const COARSEN_(rows) *const rows = (const COARSEN_(rows) *)view;
        const size_t blocks = plan.grid.x / coarsen_ceil_div(NUM_BINS, plan.full_width);
        const size_t each = coarsen_ceil_div(coarsen_ceil_div(n, COARSEN_ITEMS), blocks);
        const size_t most = coarsen_ceil_div(each, coarsen_ceil_div(each, CFACTOR * BLOCK_DIM));
        of = COARSEN_(cut)(rows->in, rows->pitch, rows->rows, rows->width, (unsigned int)most);
        view_kernel = of.once ? COARSEN_(view_once_kernel) : COARSEN_(view_kernel);
        status = coarsen_let_share((const void *)view_kernel, plan.shared_bytes, 0);
    }
#endif
    if (status == cudaSuccess)
        status = cudaLaunchKernelEx(&zero, COARSEN_(zero_kernel), counts);
    if (status != cudaSuccess || n == 0)
        return status;
#if COARSEN_COUNTED
    if (count)
        return cudaLaunchKernelEx(&config, COARSEN_(counted_kernel), in, counts, count, n,
                                  plan.full_width);
#endif
#if COARSEN_VIEW
    if (view)
        return cudaLaunchKernelEx(&config, view_kernel, of, counts, plan.full_width);
#endif
    if (plan.kernel == COARSEN_(small_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(small_kernel), in, counts, n, plan.full_width);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, counts, n, plan.full_width);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                          cudaStream_t stream)
{
    return COARSEN_(begin)(in, counts, NULL, NULL, n, stream);
}

#if COARSEN_COUNTED
COARSEN_HOST cudaError_t COARSEN_(launch_counted)(const COARSEN_TYPE *in, COARSEN_COUNT *counts,
                                                  const unsigned long long *n, size_t most,
                                                  cudaStream_t stream)
{
    return coarsen_array_ok(n, 1) ? COARSEN_(begin)(in, counts, n, NULL, most, stream)
                                  : cudaErrorInvalidValue;
}
#endif

#if COARSEN_VIEW
COARSEN_HOST cudaError_t COARSEN_(launch_view)(const COARSEN_TYPE *in, size_t pitch, size_t rows,
                                               size_t width, COARSEN_COUNT *counts,
                                               cudaStream_t stream)
{
    COARSEN_(rows) of = {}; // not cut yet
    of.in = in, of.pitch = pitch, of.rows = rows, of.width = width;
    if (!coarsen_rows_ok(in, pitch, rows, width, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)))
        return cudaErrorInvalidValue;
    return COARSEN_(begin)(in, counts, NULL, pitch == width || rows == 1 ? NULL : &of,
                           width > 0 ? rows * width : 0, stream);
}
#endif
#endif

#undef COARSEN_ROOM
#undef COARSEN_FIT
#undef COARSEN_COPIES
#undef COARSEN_SMALL_DIM
#undef COARSEN_RESIDENT
#undef COARSEN_REAL
#undef COARSEN_RUNS
#define COARSEN_END
#include "../base.h"
