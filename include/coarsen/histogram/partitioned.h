// SPDX-License-Identifier: MIT
//
// coarsen/histogram/partitioned.h: ninth rung, for more bins than shared memory has room for: the elements are first
// grouped by ranges of bins, so that each is counted by a block that has its range.
//     counts[b] = the number of i in [0, n) with BIN(in[i]) == b, for each b in [0, NUM_BINS)
//
//     #define COARSEN_NAME words
//     #define COARSEN_TYPE int
//     #define NUM_BINS     1048576
//     #include <coarsen/histogram/partitioned.h>
//
// | parameter       | default      | meaning                                                      |
// |-----------------|--------------|--------------------------------------------------------------|
// | COARSEN_NAME    | required     | prefix of every name defined here                            |
// | COARSEN_TYPE    | required     | element type                                                 |
// | NUM_BINS        | required     | number of bins, from 1 to 2147483647                         |
// | COARSEN_BIN(x)  | (x)          | bin of x, an integer; x is not counted if < 0 or >= NUM_BINS |
// | COARSEN_COUNT   | unsigned int | type of a count: unsigned int or unsigned long long          |
// | BLOCK_DIM       | 512          | threads per block: a multiple of 32 from 32 to 1024          |
// | CFACTOR         | 16           | elements per thread and tile, from 1 to 32                   |
// | COARSEN_BUCKET  | 16384        | bins of a bucket: a power of two from 1024 to 32768          |
// | COARSEN_BUCKETS | 2048         | buckets that a pass over the array has, from 1 to 2048       |
// Defines NAME_partition_kernel(in, n, first_bin, bins, lists), NAME_count_kernel(counts, bins, lists), and
//     size_t      NAME_scratch_bytes(size_t n)    2 bytes per element, and less for tables
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, at most 2^42, unchanged. counts: NUM_BINS counts, apart from in; overwritten.
// scratch: device memory with any content, 16-byte aligned; one per launch in flight. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array, or a scratch that is too small, with nothing
// written; those of the runtime's device queries. Deterministic. An unsigned int count wraps to 0 at 2^32.
//
// How: a bucket is a range of bins whose counters fit the shared memory of a block. The first kernel groups each tile
// by bucket, in shared memory, and writes to the tile's own place in the scratch the bin of each element, less the
// first of its bucket: 2 bytes. A table says where in the tile each bucket begins. So a bucket has runs, one in
// each tile. The second kernel lays all runs end to end, bucket by bucket, and gives each block an equal part, so that
// no data is uneven. A block counts in shared memory, and adds that to counts where its part or a bucket ends.
// Within a bucket any order will do. So an atomic in shared memory gives an element its place: each bucket has
// a counter per lane, so that the atomics of a warp never meet, whatever the data (fewer counters from 129 buckets on).
//
// Price saved: reading the array once per range, as per_lane.h does, or an atomic in global memory per element, as
// basic.h. However many bins there are, an element is grouped once and counted once: up to COARSEN_BUCKET
// COARSEN_BUCKETS bins, or 2^25. There is a pass over the array for each so many.
// Price paid: two shared atomics per element, 2 bytes per element written and read, and scratch; where bins outnumber
// elements, counters set to zero and read for nothing. A block that counts takes 72 KiB of shared memory: where a
// device has less, take a COARSEN_BUCKET of 8192.

#define COARSEN_BEGIN COARSEN_PATTERN_HISTOGRAM
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef CFACTOR
#define CFACTOR 16
#elif CFACTOR < 1 || CFACTOR > 32
#error "coarsen/histogram: CFACTOR must be from 1 to 32"
#endif
#ifndef COARSEN_BUCKET
#define COARSEN_BUCKET 16384
#endif
#ifndef COARSEN_BUCKETS
#define COARSEN_BUCKETS 2048
#endif
static_assert(COARSEN_BUCKET >= 1024 && COARSEN_BUCKET <= 32768 &&
                  (COARSEN_BUCKET & (COARSEN_BUCKET - 1)) == 0,
              "coarsen/histogram: COARSEN_BUCKET must be a power of two from 1024 to 32768");
static_assert(COARSEN_BUCKETS >= 1 && COARSEN_BUCKETS <= 2048,
              "coarsen/histogram: COARSEN_BUCKETS must be from 1 to 2048");

#define COARSEN_TILE      (BLOCK_DIM * CFACTOR) // elements
#define COARSEN_PARTS     2048 // runs of tiles, at the most: a block of the partition has one
#define COARSEN_COUNT_DIM (BLOCK_DIM < 512 ? 2 * BLOCK_DIM : 1024) // threads of a block that counts
// Blocks per multiprocessor. Those that count fill it, where it has 2048 threads.
#define COARSEN_RESIDENT  (1024 / BLOCK_DIM)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1200
#define COARSEN_COUNTING (2048 / COARSEN_COUNT_DIM)
#else
#define COARSEN_COUNTING (1024 / COARSEN_COUNT_DIM)
#endif
// The buckets of a pass, and its bins.
#define COARSEN_LISTS                                                                              \
    ((NUM_BINS - 1) / COARSEN_BUCKET < COARSEN_BUCKETS ? (NUM_BINS - 1) / COARSEN_BUCKET + 1       \
                                                       : COARSEN_BUCKETS)
#define COARSEN_PASS ((unsigned int)(COARSEN_LISTS * COARSEN_BUCKET))
// Counters of a bucket in the partition: so many lanes that are side by side do not meet.
#define COARSEN_COLUMNS                                                                            \
    (COARSEN_LISTS <= 128    ? 32                                                                  \
     : COARSEN_LISTS <= 256  ? 16                                                                  \
     : COARSEN_LISTS <= 512  ? 8                                                                   \
     : COARSEN_LISTS <= 1024 ? 4                                                                   \
                             : 2)
// Of all counters, those that a thread scans: an odd number, so that the threads of a warp meet in no bank.
#define COARSEN_EACH ((((COARSEN_LISTS + 1) * COARSEN_COLUMNS - 1) / BLOCK_DIM + 1) | 1)

// 8 elements as they are in the scratch: each one's bin, less the first of its bucket.
typedef struct COARSEN_ALIGNED(16) COARSEN_MAY_ALIAS {
    unsigned int word[4];
} COARSEN_(offsets);

// The scratch. What is summed up is vectors that have elements of a bucket, as these are what takes time.
typedef struct {
    unsigned long long *totals;  // of each bucket
    unsigned long long *sums;    // of each bucket and part
    unsigned short *begins;      // of each bucket, and of what is not counted, in each tile
    COARSEN_(offsets) * offsets; // of each tile
    size_t tiles, each;          // each: tiles of a part
    unsigned int parts;
} COARSEN_(lists);

// The sum of the values of the threads up to this one, and of all. A barrier goes between two calls.
COARSEN_INLINE unsigned int COARSEN_(scan)(const unsigned int block_dim, unsigned int value,
                                           unsigned int *total)
{
    __shared__ unsigned int totals[32];
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int below = __shfl_up_sync(0xffffffff, value, delta);
        value += lane >= delta ? below : 0;
    }
    if (lane == 31)
        totals[warp] = value;
    __syncthreads();
    unsigned int all = 0;
#pragma unroll
    for (unsigned int w = 0; w < block_dim / 32; w++) {
        value += w < warp ? totals[w] : 0;
        all += totals[w];
    }
    *total = all;
    return value;
}

// ---- the partition ------------------------------------------------------------------------------

// Where a tile's 16-byte vector of offsets lies in shared memory. If all elements are in one bucket, lanes write
// COARSEN_TILE / 256 vectors apart.
COARSEN_DEVICE unsigned int COARSEN_(swizzled)(unsigned int vector)
{
    const unsigned int apart = COARSEN_TILE / 2048 > 0 ? COARSEN_TILE / 2048 : 1;
    return vector ^ (vector / 8 / apart % 8);
}

// How many vectors have elements from `begin` to before `end`.
COARSEN_DEVICE unsigned int COARSEN_(vectors_of)(unsigned int begin, unsigned int end)
{
    return end > begin ? (end + 7) / 8 - begin / 8 : 0;
}

// The thread's elements of a tile. Behind the end of the array there is the last one again.
COARSEN_INLINE void COARSEN_(load)(COARSEN_TYPE *x, const COARSEN_TYPE *in, size_t n, size_t tile)
{
    const size_t begin = tile * COARSEN_TILE + threadIdx.x;
    if (n - tile * COARSEN_TILE >= COARSEN_TILE) {
#pragma unroll
        for (unsigned int k = 0; k < CFACTOR; k++)
            x[k] = in[begin + k * BLOCK_DIM];
    } else {
#pragma unroll
        for (unsigned int k = 0; k < CFACTOR; k++)
            x[k] = in[coarsen_min(begin + k * BLOCK_DIM, n - 1)];
    }
}

// The bin of an element, less the first of the pass; COARSEN_PASS if it is not counted there.
COARSEN_DEVICE unsigned int COARSEN_(bin_in_pass)(COARSEN_TYPE x, size_t first_bin,
                                                  unsigned int bins)
{
    const unsigned long long bin = COARSEN_(bin)(x) - first_bin;
    return bin < bins ? (unsigned int)bin : COARSEN_PASS;
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(partition_kernel)(const COARSEN_TYPE *in, size_t n, size_t first_bin,
                               unsigned int bins, COARSEN_(lists) lists)
{
    __shared__ unsigned int counters[COARSEN_EACH * BLOCK_DIM];
    __shared__ unsigned int sums[COARSEN_LISTS];
    unsigned short *const offsets = (unsigned short *)coarsen_shared;
    const COARSEN_(offsets) *const vectors = (const COARSEN_(offsets) *)coarsen_shared;
    unsigned int *const mine = counters + threadIdx.x % COARSEN_COLUMNS;

    for (unsigned int b = threadIdx.x; b < COARSEN_LISTS; b += BLOCK_DIM)
        sums[b] = 0;
    const size_t first = blockIdx.x * lists.each;
    const size_t past = coarsen_min(first + lists.each, lists.tiles);
    COARSEN_TYPE x[CFACTOR];
    COARSEN_(load)(x, in, n, first);
#pragma unroll 1
    for (size_t tile = first; tile < past; tile++) {
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_EACH; j++)
            counters[j * BLOCK_DIM + threadIdx.x] = 0;
        unsigned int bin[CFACTOR], rank[CFACTOR];
        const size_t left = n - tile * COARSEN_TILE;
#pragma unroll
        for (unsigned int k = 0; k < CFACTOR; k++)
            bin[k] = COARSEN_(bin_in_pass)(x[k], first_bin, bins);
        if (left < COARSEN_TILE)
#pragma unroll
            for (unsigned int k = 0; k < CFACTOR; k++)
                if (k * BLOCK_DIM + threadIdx.x >= left)
                    bin[k] = COARSEN_PASS;
        __syncthreads();
#pragma unroll
        for (unsigned int k = 0; k < CFACTOR; k++)
            rank[k] = atomicAdd(mine + bin[k] / COARSEN_BUCKET * COARSEN_COLUMNS, 1u);
        __syncthreads();

        unsigned int sum = 0, total;
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_EACH; j++)
            sum += counters[threadIdx.x * COARSEN_EACH + j];
        unsigned int place = COARSEN_(scan)(BLOCK_DIM, sum, &total) - sum;
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_EACH; j++) {
            const unsigned int count = counters[threadIdx.x * COARSEN_EACH + j];
            counters[threadIdx.x * COARSEN_EACH + j] = place;
            place += count;
        }
        __syncthreads();

#pragma unroll
        for (unsigned int k = 0; k < CFACTOR; k++) {
            const unsigned int to = mine[bin[k] / COARSEN_BUCKET * COARSEN_COLUMNS] + rank[k];
            offsets[COARSEN_(swizzled)(to / 8) * 8 + to % 8] =
                (unsigned short)(bin[k] % COARSEN_BUCKET);
        }
        // On its way while this tile is written.
        COARSEN_(load)(x, in, n, tile + 1 < past ? tile + 1 : tile);
        const unsigned int end = counters[COARSEN_LISTS * COARSEN_COLUMNS];
        for (unsigned int b = threadIdx.x; b <= COARSEN_LISTS; b += BLOCK_DIM) {
            const unsigned int from = counters[b * COARSEN_COLUMNS];
            lists.begins[b * lists.tiles + tile] = (unsigned short)from;
            if (b < COARSEN_LISTS)
                sums[b] += COARSEN_(vectors_of)(from, counters[(b + 1) * COARSEN_COLUMNS]);
        }
        __syncthreads();

        for (unsigned int v = threadIdx.x; v < (end + 7) / 8; v += BLOCK_DIM)
            lists.offsets[tile * (COARSEN_TILE / 8) + v] = vectors[COARSEN_(swizzled)(v)];
    }
    for (unsigned int b = threadIdx.x; b < COARSEN_LISTS; b += BLOCK_DIM) {
        lists.sums[b * lists.parts + blockIdx.x] = sums[b];
        if (sums[b] > 0)
            atomicAdd(lists.totals + b, (unsigned long long)sums[b]);
    }
}

// ---- the counts ---------------------------------------------------------------------------------

// Which of `count` values, laid end to end, holds place `place`, and where that begins. All lanes of a warp call it
// and get the same.
typedef struct {
    unsigned long long begin;
    unsigned int index;
} COARSEN_(spot);

COARSEN_DEVICE COARSEN_(spot)
    COARSEN_(find)(const unsigned long long *values, unsigned int count, unsigned long long place)
{
    const unsigned int lane = threadIdx.x % 32;
    COARSEN_(spot) spot = {0, 0};
    // It is one of `width`, of which a lane takes `each`.
#pragma unroll 1
    for (unsigned int width = count, each; width > 1; width = each) {
        each = (width + 31) / 32;
        const unsigned int end = spot.index + width < count ? spot.index + width : count;
        const unsigned int first = spot.index + lane * each;
        unsigned long long mine = 0;
#pragma unroll 1
        for (unsigned int i = first; i < first + each && i < end; i++)
            mine += values[i];
        unsigned long long upto = mine;
#pragma unroll
        for (unsigned int delta = 1; delta < 32; delta *= 2) {
            const unsigned long long below = __shfl_up_sync(0xffffffff, upto, delta);
            upto += lane >= delta ? below : 0;
        }
        const int which = __ffs((int)__ballot_sync(0xffffffff, spot.begin + upto > place)) - 1;
        spot.index += (unsigned int)which * each;
        spot.begin += __shfl_sync(0xffffffff, upto - mine, which);
    }
    return spot;
}

// The counter of a bin. Bins a power of two apart do not all fall into one bank.
COARSEN_DEVICE unsigned int COARSEN_(slot)(unsigned int bin)
{
    return bin ^ (bin / 32 % 32);
}

// A vector, of which element j belongs to the run if first + j, which wraps, is less than length.
typedef struct {
    COARSEN_(offsets) offsets;
    unsigned int first, length;
} COARSEN_(piece);

// Vector v of some runs, one per tile, laid end to end. offsets: of the first of these tiles.
COARSEN_INLINE COARSEN_(piece)
    COARSEN_(fetch)(const COARSEN_(offsets) * offsets, const unsigned int *ends,
                    const unsigned int *runs, unsigned int v)
{
    unsigned int run = 0; // how many end at v or before
#pragma unroll
    for (unsigned int step = 512; step > 0; step /= 2)
        if (step < COARSEN_COUNT_DIM && run + step < COARSEN_COUNT_DIM && ends[run + step - 1] <= v)
            run += step;
    const unsigned int begin = runs[run] & 0xffff, end = runs[run] >> 16;
    const unsigned int vector = begin / 8 + v - (run > 0 ? ends[run - 1] : 0);
    COARSEN_(piece) piece;
    piece.offsets = offsets[(size_t)run * (COARSEN_TILE / 8) + vector];
    piece.first = vector * 8 - begin;
    piece.length = end - begin;
    return piece;
}

COARSEN_INLINE void COARSEN_(count_piece)(unsigned int *copy, COARSEN_(piece) piece)
{
#pragma unroll
    for (unsigned int j = 0; j < 8; j++) {
        const unsigned int offset = piece.offsets.word[j / 2] >> (j % 2 * 16) & 0xffff;
        if (piece.first + j < piece.length)
            atomicAdd(copy + COARSEN_(slot)(offset), 1u);
    }
}

COARSEN_KERNEL void __launch_bounds__(COARSEN_COUNT_DIM, COARSEN_COUNTING)
    COARSEN_(count_kernel)(COARSEN_COUNT *counts, unsigned int bins, COARSEN_(lists) lists)
{
    __shared__ unsigned int ends[COARSEN_COUNT_DIM], runs[COARSEN_COUNT_DIM];
    unsigned int *const copy = (unsigned int *)coarsen_shared;
    __shared__ COARSEN_(spot) bucket, part; // where the block goes on
    unsigned long long all = 0;
#pragma unroll 1
    for (unsigned int b = threadIdx.x % 32; b < COARSEN_LISTS; b += 32)
        all += lists.totals[b];
#pragma unroll
    for (unsigned int other = 1; other < 32; other *= 2)
        all += __shfl_xor_sync(0xffffffff, all, (int)other);
    const unsigned long long share = coarsen_ceil_div(all, gridDim.x);
    unsigned long long at = coarsen_min(blockIdx.x * share, all);
    const unsigned long long last = coarsen_min(at + share, all);
#pragma unroll 1
    while (at < last) {
        if (threadIdx.x < 32) {
            const COARSEN_(spot) b = COARSEN_(find)(lists.totals, COARSEN_LISTS, at);
            const COARSEN_(spot) p =
                COARSEN_(find)(lists.sums + b.index * lists.parts, lists.parts, at - b.begin);
            if (threadIdx.x == 0) {
                bucket = b;
                part = p;
            }
        }
#pragma unroll 4
        for (unsigned int i = threadIdx.x; i < COARSEN_BUCKET; i += COARSEN_COUNT_DIM)
            copy[i] = 0;
        __syncthreads();

        // Of the runs from the part's first one on: the vectors of other blocks, then those of this one.
        const unsigned long long end_of_bucket = bucket.begin + lists.totals[bucket.index];
        unsigned int others = (unsigned int)(at - bucket.begin - part.begin);
        unsigned int left = (unsigned int)(coarsen_min(last, end_of_bucket) - at);
        at += left;
#pragma unroll 1
        for (size_t tile = part.index * lists.each; left > 0; tile += COARSEN_COUNT_DIM) {
            unsigned int begin = 0, end = 0, total;
            if (tile + threadIdx.x < lists.tiles) {
                const unsigned short *const begins =
                    lists.begins + bucket.index * lists.tiles + tile + threadIdx.x;
                begin = begins[0];
                end = begins[lists.tiles];
            }
            ends[threadIdx.x] =
                COARSEN_(scan)(COARSEN_COUNT_DIM, COARSEN_(vectors_of)(begin, end), &total);
            runs[threadIdx.x] = begin | end << 16;
            __syncthreads();

            const unsigned int first = others < total ? others : total;
            const unsigned int past = left < total - first ? first + left : total;
            others -= first;
            left -= past - first;
#pragma unroll 1
            for (unsigned int v = first + threadIdx.x; v < past; v += COARSEN_COUNT_DIM) {
                const COARSEN_(piece) piece =
                    COARSEN_(fetch)(lists.offsets + tile * (COARSEN_TILE / 8), ends, runs, v);
                COARSEN_(count_piece)(copy, piece);
            }
            __syncthreads();
        }
        const unsigned int first = (unsigned int)bucket.index * COARSEN_BUCKET;
        for (unsigned int i = threadIdx.x; i < COARSEN_BUCKET && first + i < bins;
             i += COARSEN_COUNT_DIM) {
            const unsigned int count = copy[COARSEN_(slot)(i)];
            if (count > 0)
                atomicAdd(counts + first + i, (COARSEN_COUNT)count);
        }
        __syncthreads();
    }
}

#ifndef __CUDACC_RTC__
// The arrays of the scratch, one behind the other, and in *bytes how many it takes.
COARSEN_HOST COARSEN_(lists) COARSEN_(lists_of)(void *scratch, size_t n, size_t *bytes)
{
    COARSEN_(lists) lists = {};
    char *const at = (char *)scratch;
    lists.tiles = coarsen_ceil_div(n, COARSEN_TILE);
    const size_t parts = coarsen_min(lists.tiles, COARSEN_PARTS);
    const size_t sums = coarsen_ceil_div((parts + 1) * COARSEN_LISTS, 2) * 16;
    const size_t begins =
        coarsen_ceil_div((COARSEN_LISTS + 1) * lists.tiles * sizeof(*lists.begins), 16) * 16;
    if (n == 0)
        *bytes = 0;
    else if (n > (size_t)1 << 42) // and a bucket and a part may have more than fit 32 bits
        *bytes = (size_t)-1;
    else
        *bytes = sums + begins + lists.tiles * COARSEN_TILE * sizeof(*lists.begins);
    if (scratch && *bytes < (size_t)-1) {
        lists.totals = (unsigned long long *)at;
        lists.sums = lists.totals + COARSEN_LISTS;
        lists.begins = (unsigned short *)(at + sums);
        lists.offsets = (COARSEN_(offsets) *)(at + sums + begins);
    }
    return lists;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    size_t bytes;
    COARSEN_(lists_of)(NULL, n, &bytes);
    return bytes;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    size_t bytes;
    COARSEN_(lists) lists = COARSEN_(lists_of)(scratch, n, &bytes);
    if (bytes == (size_t)-1 || scratch_bytes < bytes || !coarsen_bytes_ok(scratch, bytes, 1, 16))
        return cudaErrorInvalidValue;
    const size_t tile_bytes = coarsen_ceil_div(COARSEN_TILE, 64) * 128; // swizzled in groups of 128
    const size_t copy_bytes = COARSEN_BUCKET * sizeof(unsigned int);
    cudaError_t status;
    int partition = 0, count = 0; // blocks per multiprocessor
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (status == cudaSuccess)
        status = cudaFuncSetAttribute((const void *)COARSEN_(partition_kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, (int)tile_bytes);
    if (status == cudaSuccess)
        status = cudaFuncSetAttribute((const void *)COARSEN_(count_kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, (int)copy_bytes);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &partition, COARSEN_(partition_kernel), BLOCK_DIM, tile_bytes);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, COARSEN_(count_kernel),
                                                               COARSEN_COUNT_DIM, copy_bytes);
    if (status == cudaSuccess)
        status = COARSEN_(start)(in, counts, n, 0, stream);
    if (status != cudaSuccess || n == 0)
        return status;

    // A part has fewer than 2^32 elements, and so has a block that counts: 32 bits hold their counts.
    const size_t wave = processors * (size_t)partition, few = (n >> 31) + 1;
    const size_t parts = coarsen_min(wave > few ? wave : few, COARSEN_PARTS);
    lists.each = coarsen_ceil_div(lists.tiles, parts);
    lists.parts = (unsigned int)coarsen_ceil_div(lists.tiles, lists.each);
    const size_t places = processors * (size_t)count, fewest = (n >> 29) + 1;
    const cudaLaunchConfig_t to_lists =
        coarsen_launch_config(lists.parts, BLOCK_DIM, tile_bytes, stream);
    const cudaLaunchConfig_t to_counts = coarsen_launch_config(
        places > fewest ? places : fewest, COARSEN_COUNT_DIM, copy_bytes, stream);
    for (size_t first = 0; first < NUM_BINS && status == cudaSuccess; first += COARSEN_PASS) {
        const unsigned int bins = (unsigned int)coarsen_min(NUM_BINS - first, COARSEN_PASS);
        status = cudaMemsetAsync(lists.totals, 0, COARSEN_LISTS * sizeof(*lists.totals), stream);
        if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&to_lists, COARSEN_(partition_kernel), in, n, first, bins,
                                        lists);
        if (status == cudaSuccess)
            status =
                cudaLaunchKernelEx(&to_counts, COARSEN_(count_kernel), counts + first, bins, lists);
    }
    return status;
}
#endif

#undef COARSEN_BUCKET
#undef COARSEN_BUCKETS
#undef COARSEN_TILE
#undef COARSEN_LISTS
#undef COARSEN_PASS
#undef COARSEN_COLUMNS
#undef COARSEN_EACH
#undef COARSEN_PARTS
#undef COARSEN_RESIDENT
#undef COARSEN_COUNTING
#undef COARSEN_COUNT_DIM
#define COARSEN_END
#include "../base.h"
