// SPDX-License-Identifier: MIT
//
// coarsen/top_k.h: the k greatest of many numbers, or of each row of a matrix, in order, without sorting all; and where
// they were.
//
//     #define COARSEN_NAME best
//     #define COARSEN_TYPE float
//     #include <coarsen/top_k.h>
//
//     // once
//     size_t bytes = best_scratch_bytes(1, n, 100);
//     cudaMalloc(&scratch, bytes);
//     best_scratch_init(scratch, bytes, stream);
//     // as often as you like: the 100 greatest of n, and, if not NULL, an index of each
//     best_launch(in, n, 100, out, count, scratch, bytes, stream);
//     // the 10 greatest of each of n / 640 rows
//     best_launch_rows(in, 640, n / 640, 640, 10, out, NULL, scratch, bytes, stream);
//
// | parameter          | default            | meaning                                                |
// |--------------------|--------------------|--------------------------------------------------------|
// | COARSEN_NAME       | required           | what every name this makes begins with                 |
// | COARSEN_TYPE       | required           | type of the numbers: an integer or floating-point type of at most 8 bytes |
// | COARSEN_DESCENDING | 1                  | 1: the greatest, the greatest first; 0: the least, the least first |
// | COARSEN_INDEX      | unsigned long long | type of the indices: an integer type                   |
// | BLOCK_DIM          | 512                | threads per block at the most: a multiple of 32 from 32 to 1024 |
// | COARSE_FACTOR      | 8                  | 16-byte loads a warp's thread has in flight, from 1 to 32; a block's has half as many |
// | COARSEN_PART       | 4096               | numbers of a row that a block takes, at the least; 1 or more |
// Defines what block/overlap.h and block/vector.h do; NAME_kernel, NAME_find_kernel, NAME_place_kernel, NAME_warp_kernel
// and NAME_short_kernel; and
//     size_t      NAME_scratch_bytes(size_t rows, size_t width, size_t k)   for the current device; 1 row for one array;
//                                                                           never falls as any of them grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, size_t n, size_t k, COARSEN_TYPE *out,
//                             COARSEN_INDEX *out_indices, void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch_rows(const COARSEN_TYPE *in, size_t pitch, size_t rows, size_t width, size_t k,
//                                  COARSEN_TYPE *out, COARSEN_INDEX *out_indices, void *scratch,
//                                  size_t scratch_bytes, cudaStream_t stream)
// in: n numbers, or rows of width numbers, in device memory, at any element's alignment (its size, if that divides 16);
// a row starts pitch numbers after the one before, and what is between them is not read. k: from 0 to 1024, and at most n
// or width. out: k numbers, or k of each row, one row's after the other's, apart from in. out_indices: as many, or NULL:
// where each was in the array, or in its row. scratch: device memory, 16-byte aligned. It may hold anything,
// and needs no NAME_scratch_init; another pattern that uses the same memory needs its own one again. It serves any shape and k
// that it is large enough for. One scratch per launch that may run at the same time.
// Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, a pitch less than width, too small a
// scratch, a k greater than n, width or 1024, or an index that COARSEN_INDEX cannot represent, with nothing written; those of
// the runtime's device queries. No rows or a k of 0: nothing.
// Results are the first k of what sort.h gives: of equal numbers the first come first, so that there is one result.
// Floating-point numbers are in the order of block/sort.h: NaN is greater than all numbers, negative NaN the greatest,
// and +0 is greater than -0; they keep their bits. Deterministic.
//
// How:
//     up to 32 numbers            some lanes of a warp: each counts how many numbers come before its own
//     more rows than blocks,      a warp: no barriers, and while it selects, other warps read. A lane keeps the first
//     k up to 128                 number of each of its 16-byte vectors, of a tile of 32 vectors. The warp bisects the
//                                 bits until few more than k vectors are up to them, sets bits for these, and looks
//                                 at their numbers again. Up to 256 numbers the lanes keep all.
//     up to 32 KiB,               blocks: each has all numbers of a row in shared memory, as candidates.
//     28 of 8-byte numbers
//     longer rows                 parts: vectors at the same distance each. Blocks read the row, and leave the first
//                                 number of each part, some thousands. The k parts whose first numbers come first have
//                                 all of the first k: all blocks look through these again, and what comes no later than
//                                 the k-th of those first numbers is a candidate. Neighbours are in different parts, so
//                                 of random numbers these are less than twice k, and of ones that ascend or are equal
//                                 as many times k as a vector has numbers.
// An edge up to which k numbers are, or a quarter more, is found by counting: a block cuts what is between the least and
// the greatest key into 1024 bins, and counts how many keys each has; then it does so with those that are in the bin of the
// k-th; and if all of these are equal, with their places. Of what is up to the edge, a number's place is how many come before
// it, which a warp counts. Few rows are several blocks' each: of these each finds the edge, so that none waits for another
// one, and all have a share of the vectors to look at and of the numbers to place. Reading, looking and placing are three
// launches, the latter two early. Many rows are a block's each, which sorts what is up to the edge.
// Price saved: all passes over memory but one, whatever the numbers.
// Price paid: the k parts are read again; each block searches for the same edge; vectors of a warp's tile in shared memory, 6 KiB a
// warp of floats, or up to 60 KiB of a block's candidates. Where numbers repeat at a multiple of the distance, candidates
// may be too many: a block sorts out the first k each time that it has no more room.
// Cost: each number read once, and some again; keys and places of parts, written and read.
// Source: J. Johnson, M. Douze and H. Jegou, Billion-scale similarity search with GPUs (2017), for an edge that rises as
// numbers go by, there per warp; K. E. Batcher, Sorting networks and their applications (1968), for the sort of few.

#ifndef COARSEN_DESCENDING
#define COARSEN_DESCENDING 1
#endif
#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_TOP_K_BLOCK_DIM)
#define BLOCK_DIM COARSEN_TOP_K_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_TOP_K_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_TOP_K_COARSE_FACTOR
#endif
#if !defined(COARSEN_PART) && defined(COARSEN_TOP_K_PART)
#define COARSEN_PART COARSEN_TOP_K_PART
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_SORT
#include "base.h"
#ifdef COARSEN_VALUE
#error "coarsen/top_k: out_indices says where each number was: COARSEN_VALUE is not taken"
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/top_k: COARSE_FACTOR must be from 1 to 32"
#endif
#ifndef COARSEN_INDEX
#define COARSEN_INDEX unsigned long long
#endif
#ifndef COARSEN_PART
#define COARSEN_PART 4096
#endif
static_assert(COARSEN_PART >= 1, "coarsen/top_k: COARSEN_PART must be 1 or more");
typedef COARSEN_INDEX COARSEN_(index);
#undef COARSEN_INDEX
#define COARSEN_INDEX COARSEN_(index)
static_assert((COARSEN_(index))0.5 == (COARSEN_(index))0,
              "coarsen/top_k: COARSEN_INDEX must be an integer type");

#include "block/overlap.h"
#include "block/vector.h"

#define COARSEN_MOST_K 1024 // the greatest k
#define COARSEN_SHORT  32   // the longest row of which each lane has one number
#define COARSEN_BLOCKS 4    // of a multiprocessor, at the most
#define COARSEN_ENOUGH(k)                                                                          \
    ((k) + (k) / 4 + 8) // that may pass in place of k: fewer would take more steps
#define COARSEN_NOT_LONG(k)                                                                        \
    (16 * (size_t)COARSEN_ENOUGH(k)) // of which a block that is alone looks at all several times
#define COARSEN_ENTRY        (sizeof(COARSEN_(word)) + 8) // bytes of a key and a place
#define COARSEN_MOST_PARTS   (5 * COARSEN_PART)           // of a row
#define COARSEN_SHARED_BYTES (48 << 10)                   // of candidates
// The longest row of which a block's shared memory has all keys, besides what NAME_plan_rows has spare: 64 KiB in all, at the
// most, which is what a device of compute capability 7.5 has.
#define COARSEN_KEYS         ((sizeof(COARSEN_(word)) == 8 ? 28 << 10 : 32 << 10) / sizeof(COARSEN_(word)))
#define COARSEN_WHOLE        (2 * COARSEN_PART < COARSEN_KEYS ? 2 * COARSEN_PART : COARSEN_KEYS)
#define COARSEN_GROUP        (COARSEN_ITEMS <= 8 ? 4 : 2) // vectors that a thread looks through at once
// Rows of 32 vectors that a warp of a block reads at once, a power of two: half of COARSE_FACTOR, as it keeps what comes first
// of each, and where.
#define COARSEN_ROWS                                                                               \
    (COARSE_FACTOR >= 32   ? 16                                                                    \
     : COARSE_FACTOR >= 16 ? 8                                                                     \
     : COARSE_FACTOR >= 8  ? 4                                                                     \
     : COARSE_FACTOR >= 4  ? 2                                                                     \
                           : 1)
#define COARSEN_AT_ONCE    4 // short rows that a lane has; candidates that it looks at
// Of a warp that has a row: its candidates, the greatest k, and up to which k each lane's first is enough.
#define COARSEN_ROOM       256
#define COARSEN_WARP_K     (COARSEN_ROOM - 32 * COARSEN_AT_ONCE)
#define COARSEN_WARP_FEW   16
// Its lane has as many vectors of a tile as a mask has bits, in steps of COARSE_FACTOR; and so many firsts of some.
#define COARSEN_WARP_STEPS (32 / COARSE_FACTOR)
#define COARSEN_VECTORS    (COARSEN_WARP_STEPS * COARSE_FACTOR)
#define COARSEN_FIRSTS     16
// Warps of a block, and warps of a multiprocessor, at the least, for which there are registers.
#define COARSEN_WARPS      (BLOCK_DIM < 128 ? BLOCK_DIM / 32 : 4)
#define COARSEN_RESIDENT   (64 / (unsigned int)sizeof(COARSEN_(word)))
// An unsigned number for a number's bits: of 4 bytes, if they are enough. All of its bits that may be set.
enum { COARSEN_(ones) = sizeof(COARSEN_TYPE) <= 4 ? 0xffffffff : ~0ULL };
typedef decltype(+COARSEN_(ones)) COARSEN_(word);
#define COARSEN_ALL                                                                                \
    ((COARSEN_(word))COARSEN_(ones) >> (8 * (sizeof(COARSEN_(word)) - sizeof(COARSEN_TYPE))))

// What base.h's NAME_bits gives, of a float in fewer instructions: three.
COARSEN_DEVICE COARSEN_(word) COARSEN_(key)(COARSEN_TYPE number)
{
    if (sizeof(COARSEN_TYPE) != 4 || (COARSEN_TYPE)0.5 == (COARSEN_TYPE)0)
        return (COARSEN_(word))COARSEN_(bits)(number);
    unsigned int bits = 0;
    memcpy(&bits, (const void *)&number, sizeof(number) == 4 ? 4 : 0);
    bits ^= (unsigned int)((int)bits >> 31) & 0x7fffffff;
    return COARSEN_DESCENDING ? 0x807ffffeu - bits : bits + 0x7f800001u;
}

COARSEN_DEVICE COARSEN_(word) COARSEN_(lesser)(COARSEN_(word) a, COARSEN_(word) b)
{
    return a < b ? a : b;
}

// ---- an edge ------------------------------------------------------------------------------------------

// Keys of numbers, and where these are: where they are in the list, if places is NULL.
typedef struct {
    const COARSEN_(word) * keys;
    const unsigned long long *places;
    unsigned int count;
} COARSEN_(numbers);

COARSEN_DEVICE unsigned long long COARSEN_(place_of)(COARSEN_(numbers) list, unsigned int i)
{
    return list.places ? list.places[i] : i;
}

// What is up to an edge has a lesser key, or the same one and no later place.
typedef struct {
    COARSEN_(word) key;
    unsigned long long place;
} COARSEN_(edge);

// What a block counts with: bins, sums of rows of these, and each warp's least and greatest value.
typedef struct {
    unsigned long long least[2][32], greatest[2][32];
    unsigned int bins[2 * 32 * 32], sums[32], count, some;
} COARSEN_(shared);

COARSEN_DEVICE bool COARSEN_(upto)(COARSEN_(edge) edge, COARSEN_(word) key,
                                   unsigned long long place)
{
    return key < edge.key || (key == edge.key && place <= edge.place);
}

// The sum of what a warp's lanes have.
COARSEN_DEVICE unsigned int COARSEN_(warp_sum)(unsigned int value)
{
#if COARSEN_PTX >= 800
    unsigned int sum; // __reduce_add_sync(), which clang has from version 17 on
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(value));
    return sum;
#else
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2)
        value += __shfl_xor_sync(0xffffffff, value, delta);
    return value;
#endif
}

// The sum of what the lanes up to this one have.
COARSEN_DEVICE unsigned int COARSEN_(warp_scan)(unsigned int value)
{
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int other = __shfl_up_sync(0xffffffff, value, delta);
        value += threadIdx.x % 32 >= delta ? other : 0;
    }
    return value;
}

// The least of what a warp's lanes have.
COARSEN_DEVICE unsigned long long COARSEN_(warp_least)(unsigned long long value)
{
#if COARSEN_PTX >= 800
    const unsigned int high = (unsigned int)(value >> 32);
    unsigned int first, low; // __reduce_min_sync(), first of the upper halves
    asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(first) : "r"(high));
    low = high == first ? (unsigned int)value : ~0u;
    asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(low) : "r"(low));
    return (unsigned long long)first << 32 | low;
#else
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffff, value, delta);
        value = other < value ? other : value;
    }
    return value;
#endif
}

// Where the k-th of a list is sought: among the keys from low to high, or the places from low to high of one key.
typedef struct {
    unsigned long long low, high;
    COARSEN_(word) key;
    bool ties;
} COARSEN_(range);

COARSEN_DEVICE bool COARSEN_(has_key)(COARSEN_(range) range, COARSEN_(word) key)
{
    return (COARSEN_(word))(key - (COARSEN_(word))range.low) <=
           (COARSEN_(word))(range.high - range.low);
}

// Some places of a list, so that as many loads are in flight; which are in the range, of equal keys, is a mask.
COARSEN_DEVICE unsigned int COARSEN_(ties)(COARSEN_(numbers) list, COARSEN_(range) range,
                                           unsigned int i, unsigned long long *places)
{
    COARSEN_(word) keys[COARSEN_AT_ONCE];
    unsigned int mask = 0;
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
        if (i + r * blockDim.x < list.count) {
            keys[r] = list.keys[i + r * blockDim.x];
            places[r] = COARSEN_(place_of)(list, i + r * blockDim.x);
        }
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
        if (i + r * blockDim.x < list.count && keys[r] == range.key &&
            places[r] - range.low <= range.high - range.low)
            mask |= 1u << r;
    return mask;
}

// The least and the greatest of the thread's values that are in the range: new ends of it.
COARSEN_DEVICE COARSEN_(range) COARSEN_(ends)(COARSEN_(numbers) list, COARSEN_(range) range)
{
    if (!range.ties) {
        COARSEN_(word) least = COARSEN_ALL, greatest = 0;
#pragma unroll 4
        for (unsigned int i = threadIdx.x; i < list.count; i += blockDim.x) {
            const COARSEN_(word) key = list.keys[i];
            if (COARSEN_(has_key)(range, key)) {
                least = key < least ? key : least;
                greatest = key > greatest ? key : greatest;
            }
        }
        return {least, greatest, 0, false};
    }
    COARSEN_(range) ends = {~0ULL, 0, range.key, true};
    unsigned long long places[COARSEN_AT_ONCE];
#pragma unroll 1
    for (unsigned int i = threadIdx.x; i < list.count; i += COARSEN_AT_ONCE * blockDim.x) {
        const unsigned int mask = COARSEN_(ties)(list, range, i, places);
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
            if (mask >> r & 1) {
                ends.low = places[r] < ends.low ? places[r] : ends.low;
                ends.high = places[r] > ends.high ? places[r] : ends.high;
            }
    }
    return ends;
}

// Counts the thread's values in the range: a bin is so many bits wide.
COARSEN_DEVICE void COARSEN_(count)(COARSEN_(numbers) list, COARSEN_(range) range,
                                    unsigned int bits, unsigned int *bins)
{
    if (!range.ties) {
#pragma unroll 4
        for (unsigned int i = threadIdx.x; i < list.count; i += blockDim.x) {
            const COARSEN_(word) key = list.keys[i];
            if (COARSEN_(has_key)(range, key))
                atomicAdd(&bins[(COARSEN_(word))(key - (COARSEN_(word))range.low) >> bits], 1u);
        }
        return;
    }
    unsigned long long places[COARSEN_AT_ONCE];
#pragma unroll 1
    for (unsigned int i = threadIdx.x; i < list.count; i += COARSEN_AT_ONCE * blockDim.x) {
        const unsigned int mask = COARSEN_(ties)(list, range, i, places);
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
            if (mask >> r & 1)
                atomicAdd(&bins[(places[r] - range.low) >> bits], 1u);
    }
}

// An edge up to which k of a list are, or a few more, not more than `enough`. A step finds the least and the greatest value,
// and cuts what is between them into 1024 bins at the most. It counts how many values each has, and a scan of these
// counts, 32 rows of 32, tells in which bin k are reached. The next step is for this bin's values; or for the places of equal
// ones. All warps scan, so that none waits for another one.
COARSEN_UNUSED static __device__ __noinline__ COARSEN_(edge)
    COARSEN_(narrow)(COARSEN_(shared) * shared, COARSEN_(numbers) list, unsigned int k,
                     unsigned int enough)
{
    COARSEN_(edge) edge = {COARSEN_ALL, ~0ULL};
    if (list.count <= enough)
        return edge;
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    COARSEN_(range) range = {0, COARSEN_ALL, 0, false};
#pragma unroll 1
    for (unsigned int turn = 0;; turn ^= 1) {
        unsigned int *const bins =
            shared->bins + turn * 32 * 32; // the other ones may still be read
        for (unsigned int i = threadIdx.x; i < 32 * 32; i += blockDim.x)
            bins[i] = 0;
        const COARSEN_(range) ends = COARSEN_(ends)(list, range);
        const unsigned long long least = COARSEN_(warp_least)(ends.low);
        const unsigned long long greatest = ~COARSEN_(warp_least)(~ends.high);
        if (lane == 0) {
            shared->least[turn][warp] = least;
            shared->greatest[turn][warp] = greatest;
        }
        __syncthreads();
        range.low = COARSEN_(warp_least)(lane < warps ? shared->least[turn][lane] : ~0ULL);
        range.high = ~COARSEN_(warp_least)(lane < warps ? ~shared->greatest[turn][lane] : ~0ULL);
        if (range.low > range.high) { // none is left
            edge.place = ~1ULL;
            return edge;
        }
        if (range.low == range.high && !range.ties) {
            edge.key = (COARSEN_(word))range.low;
            range = {0, ~1ULL, edge.key, true}; // without the place of none
            continue;
        }
        const int bits = 64 - __clzll((long long)(range.high - range.low));
        const unsigned int left = bits > 10 ? (unsigned int)bits - 10 : 0; // of a value in its bin
        COARSEN_(count)(list, range, left, bins);
        __syncthreads();
        for (unsigned int row = warp; row < 32; row += warps) {
            const unsigned int sum = COARSEN_(warp_sum)(bins[row * 32 + lane]);
            if (lane == 0)
                shared->sums[row] = sum;
        }
        __syncthreads();
        const unsigned int rows = COARSEN_(warp_scan)(shared->sums[lane]);
        const unsigned int row = (unsigned int)__popc(__ballot_sync(0xffffffff, rows < k));
        if (row == 32) { // fewer than k are in the array: all that are
            edge.place = ~1ULL;
            return edge;
        }
        const unsigned int count = bins[row * 32 + lane];
        const unsigned int counts = COARSEN_(warp_scan)(count) +
                                    __shfl_sync(0xffffffff, rows - shared->sums[lane], (int)row);
        const unsigned int bin = (unsigned int)__popc(__ballot_sync(0xffffffff, counts < k));
        const unsigned int within = __shfl_sync(0xffffffff, count, (int)bin);
        const unsigned int before = __shfl_sync(0xffffffff, counts - count, (int)bin);
        range.low += (unsigned long long)(row * 32 + bin) << left;
        if (range.high - range.low >= 1ULL << left)
            range.high = range.low + ((1ULL << left) - 1);
        k -= before;
        enough -= before;
        if (range.ties)
            edge.place = range.high;
        else
            edge.key = (COARSEN_(word))range.high;
        if (within <= enough)
            return edge;
    }
}

// ---- candidates ---------------------------------------------------------------------------------------

// Where a matrix is, and where its results go.
typedef struct {
    const COARSEN_TYPE *in;
    size_t pitch, rows, width;
    COARSEN_TYPE *out;
    COARSEN_INDEX *out_indices;
} COARSEN_(matrix);

// What blocks do with it.
typedef struct {
    unsigned int k, enough, room; // see NAME_narrow; for candidates in shared memory
    unsigned int spare;           // room for as many as are enough
    unsigned int parts, finders,
        placers;         // blocks of a row that read, look for candidates, and place
    unsigned int firsts; // of the parts of a row
    unsigned int groups; // that a block makes of the rows of 32 vectors that it reads
    bool direct;         // whether all of a row are candidates
    bool alone;          // whether one block reads a row and ends it
    char *lists;
    size_t bytes; // of the lists of a row
} COARSEN_(plan);

// A block's candidates, in shared memory; as much room again as is enough; and indices of so many.
typedef struct {
    COARSEN_(word) * keys, *spare_keys;
    unsigned long long *places, *spare_places;
    unsigned int *chosen;
} COARSEN_(best);

COARSEN_DEVICE COARSEN_(best) COARSEN_(best_of)(COARSEN_(plan) plan)
{
    COARSEN_(best) best;
    best.spare_places = (unsigned long long *)coarsen_shared;
    best.spare_keys = (COARSEN_(word) *)(best.spare_places + plan.spare);
    best.chosen = (unsigned int *)(best.spare_keys + plan.spare);
    best.keys = (COARSEN_(word) *)(best.chosen + plan.spare);
    best.places = (unsigned long long *)(best.keys + plan.room);
    return best;
}

// Chooses what is up to an edge: where in the list each is, in any order. Says how many.
COARSEN_UNUSED static __device__ __noinline__ unsigned int
COARSEN_(choose)(COARSEN_(shared) * shared, COARSEN_(numbers) list, COARSEN_(edge) edge,
                 unsigned int *chosen)
{
    const unsigned int lane = threadIdx.x % 32, below = (1u << lane) - 1;
    __syncthreads(); // what the call before counted is read
    if (threadIdx.x == 0)
        shared->count = shared->some = 0;
    __syncthreads();
#pragma unroll 1
    for (unsigned int i = threadIdx.x; i - lane < list.count; i += COARSEN_AT_ONCE * blockDim.x) {
        COARSEN_(word) keys[COARSEN_AT_ONCE];
        bool passes[COARSEN_AT_ONCE];
        unsigned int masks[COARSEN_AT_ONCE], all = 0, to = 0;
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
            keys[r] = i + r * blockDim.x < list.count ? list.keys[i + r * blockDim.x] : COARSEN_ALL;
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
            passes[r] = i + r * blockDim.x < list.count && keys[r] <= edge.key;
        if (edge.place != ~0ULL) // some of equal keys
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
                if (passes[r] && keys[r] == edge.key)
                    passes[r] = COARSEN_(place_of)(list, i + r * blockDim.x) <= edge.place;
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++) {
            masks[r] = __ballot_sync(0xffffffff, passes[r]);
            all += (unsigned int)__popc(masks[r]);
        }
        if (all == 0)
            continue;
        if (lane == 0)
            to = atomicAdd(&shared->count, all);
        to = __shfl_sync(0xffffffff, to, 0);
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++) {
            if (passes[r])
                chosen[to + (unsigned int)__popc(masks[r] & below)] = i + r * blockDim.x;
            to += (unsigned int)__popc(masks[r]);
        }
    }
    __syncthreads();
    return shared->count;
}

// Sorts candidates: Batcher's network, whose comparators all have the lesser one first, so that what would be beyond the
// last stays there.
COARSEN_DEVICE void COARSEN_(sort)(COARSEN_(word) * keys, unsigned long long *places,
                                   unsigned int count)
{
    unsigned int pairs = 1;
    while (2 * pairs < count)
        pairs *= 2;
#pragma unroll 1
    for (unsigned int half = 1; half < count; half *= 2)
#pragma unroll 1
        for (unsigned int gap = half; gap > 0; gap /= 2) {
            for (unsigned int p = threadIdx.x; p < pairs; p += blockDim.x) {
                // The first step compares the t-th from a run's begin with the t-th from its end.
                const unsigned int t = p + (p & ~(gap - 1));
                const unsigned int other = gap == half ? t ^ (2 * half - 1) : t ^ gap;
                if (other >= count)
                    continue;
                const COARSEN_(edge) first = {keys[other], places[other]};
                if (!COARSEN_(upto)(first, keys[t], places[t])) {
                    keys[other] = keys[t];
                    places[other] = places[t];
                    keys[t] = first.key;
                    places[t] = first.place;
                }
            }
            // A warp's pairs are in 64 candidates side by side, unless they are farther apart.
            if (gap > 32 || (gap > 1 ? gap / 2 : 2 * half) > 32)
                __syncthreads();
            else
                __syncwarp();
        }
}

// Writes the first k of a list. A block that has a row alone sorts them. If blocks share it, each gives every placers-th
// number its place, which is how many come before it. A block alone may have another row next: it has a barrier before it
// writes what the last step here reads.
COARSEN_DEVICE void COARSEN_(place)(COARSEN_(shared) * shared, COARSEN_(best) best,
                                    COARSEN_(numbers) list, COARSEN_(plan) plan,
                                    COARSEN_(matrix) matrix, size_t row, unsigned int share)
{
    COARSEN_(word) *const keys = best.spare_keys;
    unsigned long long *const places = best.spare_places;
    unsigned int *const mine = shared->bins, *const ranks = best.chosen;
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const COARSEN_(edge) edge = COARSEN_(narrow)(shared, list, plan.k, plan.enough);
    const unsigned int count = COARSEN_(choose)(shared, list, edge, best.chosen);
    for (unsigned int c = threadIdx.x; c < count; c += blockDim.x) {
        const unsigned int i = best.chosen[c];
        keys[c] = list.keys[i];
        places[c] = COARSEN_(place_of)(list, i);
        if (!plan.alone && i % plan.placers == share)
            mine[atomicAdd(&shared->some, 1u)] = c;
    }
    __syncthreads();
    if (plan.alone)
        COARSEN_(sort)(keys, places, count);
    for (unsigned int m = warp; m < shared->some; m += warps) {
        const COARSEN_(word) key = keys[mine[m]];
        const unsigned long long place = places[mine[m]];
        unsigned int before = 0;
#pragma unroll 4
        for (unsigned int i = lane; i < count; i += 32) {
            const COARSEN_(word) other = keys[i];
            const unsigned long long its = places[i];
            before += (unsigned int)(other < key) | ((other == key) & (its < place));
        }
        before = COARSEN_(warp_sum)(before);
        if (lane == 0)
            ranks[m] = before;
    }
    __syncthreads();
    const unsigned int some = plan.alone ? plan.k : shared->some;
    for (unsigned int m = threadIdx.x; m < some; m += blockDim.x) {
        const unsigned int rank = plan.alone ? m : ranks[m];
        const size_t place = (size_t)places[plan.alone ? m : mine[m]];
        if (rank < plan.k) {
            matrix.out[row * plan.k + rank] = matrix.in[row * matrix.pitch + place];
            if (matrix.out_indices)
                matrix.out_indices[row * plan.k + rank] = (COARSEN_INDEX)place;
        }
    }
}

// ---- a row, by blocks ---------------------------------------------------------------------------------

// Lists of a row: what comes first in each part; candidates, and how many.
typedef struct {
    COARSEN_(word) * keys, *candidate_keys;
    unsigned long long *places, *candidate_places;
    unsigned int *count;
} COARSEN_(lists);

COARSEN_DEVICE COARSEN_(lists) COARSEN_(lists_of)(COARSEN_(plan) plan, size_t slot)
{
    COARSEN_(lists) lists;
    lists.count = (unsigned int *)(plan.lists + slot * plan.bytes);
    lists.places = (unsigned long long *)(lists.count + 4);
    lists.candidate_places = lists.places + plan.firsts;
    lists.keys =
        (COARSEN_(word) *)(lists.candidate_places + (plan.alone ? 0 : plan.finders * plan.room));
    lists.candidate_keys = lists.keys + plan.firsts;
    return lists;
}

// A row as vectors, of which all but the first and the last are full.
typedef struct {
    const COARSEN_TYPE *in;
    size_t width, vectors, first, last; // full ones: from first to before last
    unsigned int lead;                  // elements of vector 0 before the row
} COARSEN_(row);

COARSEN_DEVICE COARSEN_(row) COARSEN_(row_of)(COARSEN_(matrix) matrix, size_t r)
{
    COARSEN_(row) row;
    row.in = matrix.in + r * matrix.pitch;
    row.width = matrix.width;
    row.lead = (unsigned int)((size_t)row.in % sizeof(COARSEN_(vector)) / sizeof(COARSEN_TYPE));
    row.vectors = coarsen_ceil_div(row.lead + row.width, COARSEN_ITEMS);
    row.first = row.lead > 0;
    row.last = (row.lead + row.width) / COARSEN_ITEMS;
    return row;
}

// A vector where a row begins or ends. In the place of what is beyond, the row's first or last element again.
COARSEN_UNUSED static __device__ __noinline__ COARSEN_(vector)
    COARSEN_(load_end)(const COARSEN_TYPE *in, size_t width, unsigned int lead, size_t vector)
{
    COARSEN_(vector) load;
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
        const size_t i = vector * COARSEN_ITEMS + j;
        load.item[j] = in[i < lead ? 0 : coarsen_min(i - lead, width - 1)];
    }
    return load;
}

COARSEN_DEVICE COARSEN_(vector) COARSEN_(load_of)(COARSEN_(row) row, size_t vector)
{
    if (vector >= row.first && vector < row.last)
        return ((const COARSEN_(vector) *)(row.in - row.lead))[vector];
    return COARSEN_(load_end)(row.in, row.width, row.lead, vector);
}

// Keeps the first of two.
COARSEN_DEVICE void COARSEN_(keep_first)(COARSEN_(edge) * a, COARSEN_(edge) b)
{
    if (COARSEN_(upto)(*a, b.key, b.place))
        *a = b;
}

// Leaves what comes first in each of the block's parts of a row. Of rows of 32 vectors a block has every parts-th, and each of
// its warps every so many of these. A part has vectors at the same distance each: so neighbours, which may be alike, are in
// different ones.
COARSEN_DEVICE void COARSEN_(read)(COARSEN_(row) row, COARSEN_(plan) plan, unsigned int part,
                                   COARSEN_(lists) lists, COARSEN_(best) best)
{
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const size_t gap = (size_t)32 * plan.parts * warps; // between a lane's vectors
    const size_t begin = 32 * ((size_t)plan.parts * warp + part);
    const COARSEN_(vector) *const vectors = (const COARSEN_(vector) *)(row.in - row.lead);
    COARSEN_(word) least[COARSEN_ROWS];
    unsigned int at[COARSEN_ROWS], turn = 0;
#pragma unroll
    for (unsigned int c = 0; c < COARSEN_ROWS; c++) {
        least[c] = COARSEN_ALL;
        at[c] = ~0u; // none
    }
    for (size_t v = begin; v < row.vectors; v += COARSEN_ROWS * gap, turn++) {
        COARSEN_(vector) load[COARSEN_ROWS];
        const bool whole = v >= row.first && v + (COARSEN_ROWS - 1) * gap + 32 <= row.last;
        if (whole) {
#pragma unroll
            for (unsigned int c = 0; c < COARSEN_ROWS; c++)
                load[c] = vectors[v + c * gap + lane];
        } else {
#pragma unroll
            for (unsigned int c = 0; c < COARSEN_ROWS; c++)
                if (v + c * gap + lane < row.vectors)
                    load[c] = COARSEN_(load_of)(row, v + c * gap + lane);
        }
#pragma unroll
        for (unsigned int c = 0; c < COARSEN_ROWS; c++)
            if (whole || v + c * gap + lane < row.vectors) {
                COARSEN_(word) key = COARSEN_ALL;
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    key = COARSEN_(lesser)(key, COARSEN_(key)(load[c].item[j]));
                if (key < least[c] || at[c] == ~0u) {
                    least[c] = key;
                    at[c] = turn;
                }
            }
    }
    // The last element of each vector is its place.
    COARSEN_(edge) first[COARSEN_ROWS];
    const unsigned int each = plan.groups > warps ? plan.groups / warps : 1; // of a thread
#pragma unroll
    for (unsigned int c = 0; c < COARSEN_ROWS; c++) {
        const size_t v = begin + (at[c] * (size_t)COARSEN_ROWS + c) * gap + lane;
        first[c] = {least[c], at[c] == ~0u ? ~0ULL : (v + 1) * COARSEN_ITEMS - 1 - row.lead};
    }
#pragma unroll
    for (unsigned int half = COARSEN_ROWS / 2; half > 0; half /= 2)
        if (half >= each)
#pragma unroll
            for (unsigned int c = 0; c < half; c++)
                COARSEN_(keep_first)(&first[c], first[c + half]);
    if (plan.groups >= warps) {
#pragma unroll
        for (unsigned int c = 0; c < COARSEN_ROWS; c++)
            if (c < each) {
                const size_t i = begin + c * gap + lane;
                lists.keys[i] = first[c].key;
                lists.places[i] = first[c].place;
            }
        return;
    }
    __syncthreads();
    best.spare_keys[threadIdx.x] = first[0].key;
    best.spare_places[threadIdx.x] = first[0].place;
    __syncthreads();
    if (warp < plan.groups) {
        for (unsigned int w = warp + plan.groups; w < warps; w += plan.groups) {
            const COARSEN_(edge)
                other = {best.spare_keys[w * 32 + lane], best.spare_places[w * 32 + lane]};
            COARSEN_(keep_first)(&first[0], other);
        }
        lists.keys[begin + lane] = first[0].key;
        lists.places[begin + lane] = first[0].place;
    }
}

// Adds candidates, of each thread those of its vectors that are in the mask. When there is no more room, the first k
// stay, or few more, and the edge is the last of them.
COARSEN_DEVICE void COARSEN_(admit)(COARSEN_(shared) * shared, COARSEN_(best) best,
                                    COARSEN_(row) row, COARSEN_(plan) plan, const size_t *vectors,
                                    unsigned int mask, COARSEN_(edge) * edge)
{
    for (;;) {
        unsigned int to = plan.room;
        if (mask != 0)
            to = atomicAdd(&shared->count, (unsigned int)__popc(mask));
        for (; mask != 0 && to < plan.room; mask &= mask - 1, to++) {
            const unsigned int q = (unsigned int)__ffs((int)mask) - 1;
            size_t vector = vectors[0];
#pragma unroll
            for (unsigned int g = 1; g < COARSEN_GROUP; g++)
                vector = q / COARSEN_ITEMS == g ? vectors[g] : vector;
            best.places[to] = vector * COARSEN_ITEMS + q % COARSEN_ITEMS - row.lead;
            best.keys[to] = COARSEN_(key)(row.in[best.places[to]]);
        }
        if (!__syncthreads_or(mask != 0))
            return;
        const COARSEN_(numbers) all = {best.keys, best.places, plan.room};
        *edge = COARSEN_(narrow)(shared, all, plan.k, plan.enough);
        const unsigned int count = COARSEN_(choose)(shared, all, *edge, shared->bins);
        for (unsigned int c = threadIdx.x; c < count; c += blockDim.x) {
            best.spare_keys[c] = best.keys[shared->bins[c]];
            best.spare_places[c] = best.places[shared->bins[c]];
        }
        __syncthreads();
        for (unsigned int c = threadIdx.x; c < count; c += blockDim.x) {
            best.keys[c] = best.spare_keys[c];
            best.places[c] = best.spare_places[c];
        }
    }
}

// Finds the edge of the parts, and looks for candidates in those up to it: a block in every finders-th vector of each. Leaves
// them as the block's, as many as shared->count says.
COARSEN_DEVICE void COARSEN_(find)(COARSEN_(shared) * shared, COARSEN_(best) best,
                                   COARSEN_(row) row, COARSEN_(plan) plan, COARSEN_(lists) lists,
                                   unsigned int finder)
{
    const COARSEN_(numbers) firsts = {lists.keys, lists.places, plan.firsts};
    COARSEN_(edge) edge = COARSEN_(narrow)(shared, firsts, plan.k, plan.enough);
    const unsigned int chosen = COARSEN_(choose)(shared, firsts, edge, best.chosen);
    __syncthreads();
    if (threadIdx.x == 0)
        shared->count = 0;

    // The block's first vectors of all of these, then its second ones ... Of neighbours, whose numbers may be equal, other
    // blocks have the first ones.
    const size_t gap = (size_t)plan.finders * plan.firsts;
    const unsigned int more_x = blockDim.x % chosen;
    const size_t more_v = blockDim.x / chosen * gap;
    unsigned int x = threadIdx.x % chosen;
    size_t v = threadIdx.x / chosen * gap;
    while (__syncthreads_or(v < row.vectors)) {
        unsigned int mask = 0;
        size_t at[COARSEN_GROUP];
        COARSEN_(vector) load[COARSEN_GROUP];
#pragma unroll
        for (unsigned int g = 0; g < COARSEN_GROUP; g++) {
            const unsigned int part = best.chosen[x];
            at[g] = v + (finder + part) % plan.finders * (size_t)plan.firsts + part;
            if (at[g] < row.vectors)
                load[g] = COARSEN_(load_of)(row, at[g]);
            x += more_x;
            v += more_v + (x >= chosen ? gap : 0);
            x -= x >= chosen ? chosen : 0;
        }
#pragma unroll
        for (unsigned int g = 0; g < COARSEN_GROUP; g++)
            if (at[g] < row.vectors)
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
                    const size_t place = at[g] * COARSEN_ITEMS + j - row.lead;
                    if (place < row.width &&
                        COARSEN_(upto)(edge, COARSEN_(key)(load[g].item[j]), place))
                        mask |= 1u << (g * COARSEN_ITEMS + j);
                }
        if (__syncthreads_or(mask != 0))
            COARSEN_(admit)(shared, best, row, plan, at, mask, &edge);
    }
}

// Reads rows; and ends them, if there are so many that a block has each.
// One block of a multiprocessor may be all: with registers for two, nvcc 13 spills.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(kernel)(COARSEN_(matrix) matrix, COARSEN_(plan) plan)
{
    __shared__ COARSEN_(shared) shared;
    COARSEN_(let_next)();
    const COARSEN_(best) best = COARSEN_(best_of)(plan);
    for (size_t r = blockIdx.x / plan.parts; r < matrix.rows; r += gridDim.x / plan.parts) {
        const COARSEN_(lists) lists = COARSEN_(lists_of)(plan, plan.alone ? (size_t)blockIdx.x : r);
        const COARSEN_(row) row = COARSEN_(row_of)(matrix, r);
        if (blockIdx.x % plan.parts == 0 && threadIdx.x == 0)
            *lists.count = 0;
        COARSEN_(read)(row, plan, blockIdx.x % plan.parts, lists, best);
        if (!plan.alone)
            return;
        COARSEN_(find)(&shared, best, row, plan, lists, 0);
        const COARSEN_(numbers) list = {best.keys, best.places, shared.count};
        COARSEN_(place)(&shared, best, list, plan, matrix, r, 0);
    }
}

// Looks for candidates in rows that have been read.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(find_kernel)(COARSEN_(matrix) matrix, COARSEN_(plan) plan)
{
    __shared__ COARSEN_(shared) shared;
    __shared__ unsigned int base;
    COARSEN_(let_next)();
    COARSEN_(follow)();
    const size_t r = blockIdx.x / plan.finders;
    const COARSEN_(best) best = COARSEN_(best_of)(plan);
    const COARSEN_(lists) lists = COARSEN_(lists_of)(plan, r);
    COARSEN_(find)
    (&shared, best, COARSEN_(row_of)(matrix, r), plan, lists, blockIdx.x % plan.finders);
    if (threadIdx.x == 0)
        base = atomicAdd(lists.count, shared.count);
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < shared.count; i += blockDim.x) {
        lists.candidate_keys[base + i] = best.keys[i];
        lists.candidate_places[base + i] = best.places[i];
    }
}

// Puts candidates in order: those that were found, or all of a row.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(place_kernel)(COARSEN_(matrix) matrix, COARSEN_(plan) plan)
{
    __shared__ COARSEN_(shared) shared;
    COARSEN_(follow)();
    const COARSEN_(best) best = COARSEN_(best_of)(plan);
    for (size_t r = blockIdx.x / plan.placers; r < matrix.rows; r += gridDim.x / plan.placers) {
        COARSEN_(numbers) list = {best.keys, NULL, (unsigned int)matrix.width};
        if (plan.direct) {
            const COARSEN_(row) row = COARSEN_(row_of)(matrix, r);
#pragma unroll 4
            for (unsigned int v = threadIdx.x; v < row.vectors; v += blockDim.x) {
                const COARSEN_(vector) load = COARSEN_(load_of)(row, v);
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
                    const unsigned int place = v * COARSEN_ITEMS + j - row.lead;
                    if (place < list.count)
                        best.keys[place] = COARSEN_(key)(load.item[j]);
                }
            }
            __syncthreads();
        } else {
            const COARSEN_(lists) lists = COARSEN_(lists_of)(plan, r);
            list.keys = lists.candidate_keys;
            list.places = lists.candidate_places;
            list.count = *lists.count;
        }
        COARSEN_(place)(&shared, best, list, plan, matrix, r, blockIdx.x % plan.placers);
    }
}

// ---- a row, by a warp ---------------------------------------------------------------------------------

// Elements [from, to) of a warp's tile, whose first one would be in[first]. A lane has COARSE_FACTOR vectors of it.
typedef struct {
    const COARSEN_TYPE *in;
    size_t first;
    unsigned int from, to;
} COARSEN_(tile);

// The least bits of the elements of each of the lane's vectors, or all ones.
COARSEN_DEVICE void COARSEN_(least)(COARSEN_(tile) tile, COARSEN_(word) * least)
{
    const unsigned int stride = 32 * COARSEN_ITEMS, mine = threadIdx.x % 32 * COARSEN_ITEMS;
    const COARSEN_(vector) *const vectors =
        (const COARSEN_(vector) *)(tile.in + (tile.first + mine));
    COARSEN_(vector) load[COARSE_FACTOR];
#pragma unroll
    for (unsigned int c = 0; c < COARSE_FACTOR; c++)
        least[c] = COARSEN_ALL;
    if (tile.from == 0 && tile.to == COARSE_FACTOR * stride) {
#pragma unroll
        for (unsigned int c = 0; c < COARSE_FACTOR; c++)
            load[c] = vectors[c * 32];
#pragma unroll
        for (unsigned int c = 0; c < COARSE_FACTOR; c++)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                least[c] = COARSEN_(lesser)(least[c], COARSEN_(key)(load[c].item[j]));
        return;
    }
#pragma unroll
    for (unsigned int c = 0; c < COARSE_FACTOR; c++) {
        const unsigned int e = c * stride + mine;
        if (e >= tile.from && e + COARSEN_ITEMS <= tile.to)
            load[c] = vectors[c * 32];
    }
#pragma unroll
    for (unsigned int c = 0; c < COARSE_FACTOR; c++) {
        const unsigned int e = c * stride + mine;
        if (e >= tile.from && e + COARSEN_ITEMS <= tile.to) {
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                least[c] = COARSEN_(lesser)(least[c], COARSEN_(key)(load[c].item[j]));
        } else if (e < tile.to) { // where the row begins or ends
#pragma unroll 1
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                if (e + j >= tile.from && e + j < tile.to)
                    least[c] =
                        COARSEN_(lesser)(least[c], COARSEN_(key)(tile.in[tile.first + (e + j)]));
        }
    }
}

// Candidates of a row; and of a tile the least bits of each vector, and then which vectors may have candidates.
typedef struct {
    COARSEN_(word) bits[COARSEN_ROOM];
    unsigned int index[COARSEN_ROOM];
    union {
        COARSEN_(word) least[32 * COARSEN_VECTORS];
        unsigned short vectors[32 * COARSEN_VECTORS];
    };
} COARSEN_(candidates);

// Appends what the lanes in the mask have.
COARSEN_DEVICE void COARSEN_(append)(COARSEN_(candidates) * to, unsigned int *count,
                                     unsigned int mask, COARSEN_(word) bits, unsigned int index)
{
    const unsigned int lane = threadIdx.x % 32;
    if (mask >> lane & 1) {
        const unsigned int place = *count + (unsigned int)__popc(mask & ((1u << lane) - 1));
        to->bits[place] = bits;
        to->index[place] = index;
    }
    *count += (unsigned int)__popc(mask);
}

// Sorts `count` candidates, of which a lane has up to `each`, neighbours, in registers: a bitonic network.
COARSEN_DEVICE void COARSEN_(sort_by_lanes)(COARSEN_(candidates) * of, unsigned int count,
                                            const unsigned int each)
{
    const unsigned int first = threadIdx.x % 32 * each;
    COARSEN_(word) bits[COARSEN_ROOM / 32];
    unsigned int index[COARSEN_ROOM / 32];
    __syncwarp();
#pragma unroll
    for (unsigned int r = 0; r < each; r++) {
        bits[r] = first + r < count ? of->bits[first + r] : COARSEN_ALL;
        index[r] = first + r < count ? of->index[first + r] : ~0u;
    }
#pragma unroll
    for (unsigned int run = 2; run <= 32 * each; run *= 2)
#pragma unroll
        for (unsigned int gap = run / 2; gap > 0; gap /= 2)
#pragma unroll
            for (unsigned int r = 0; r < each; r++) {
                const bool rises = ((first + r) & run) == 0;
                COARSEN_(word) other = bits[r];
                unsigned int its = index[r];
                if (gap >= each) { // another lane's
                    other = __shfl_xor_sync(0xffffffff, bits[r], (int)(gap / each));
                    its = __shfl_xor_sync(0xffffffff, index[r], (int)(gap / each));
                    const bool comes = other < bits[r] || (other == bits[r] && its < index[r]);
                    if (comes == (((first & gap) == 0) == rises)) {
                        bits[r] = other;
                        index[r] = its;
                    }
                } else if ((r & gap) == 0) {
                    other = bits[r + gap];
                    its = index[r + gap];
                    const bool comes = other < bits[r] || (other == bits[r] && its < index[r]);
                    if (comes == rises) {
                        bits[r + gap] = bits[r];
                        index[r + gap] = index[r];
                        bits[r] = other;
                        index[r] = its;
                    }
                }
            }
    __syncwarp();
#pragma unroll
    for (unsigned int r = 0; r < each; r++)
        if (first + r < count) {
            of->bits[first + r] = bits[r];
            of->index[first + r] = index[r];
        }
    __syncwarp();
}

// A function of its own, as it is long and called twice.
COARSEN_UNUSED static __device__ __noinline__ void
COARSEN_(sort_candidates)(COARSEN_(candidates) * of, unsigned int count)
{
    if (count <= 32)
        COARSEN_(sort_by_lanes)(of, count, 1);
    else if (count <= 64)
        COARSEN_(sort_by_lanes)(of, count, 2);
    else if (count <= 128)
        COARSEN_(sort_by_lanes)(of, count, 4);
    else
        COARSEN_(sort_by_lanes)(of, count, COARSEN_ROOM / 32);
}

// How many of the warp's bits are up to an edge; a lane has `each`.
COARSEN_DEVICE unsigned int COARSEN_(count_upto)(const COARSEN_(word) * bits, unsigned int each,
                                                 COARSEN_(word) edge)
{
    if (each == 1)
        return (unsigned int)__popc(__ballot_sync(0xffffffff, bits[0] <= edge));
    unsigned int count = 0;
#pragma unroll
    for (unsigned int i = 0; i < each; i++)
        count += bits[i] <= edge;
    return COARSEN_(warp_sum)(count);
}

// Bits up to which k of the warp's are, and few more, if k are up to `edge`; or else the edge. A lane has `each`, the
// least of which is `first`. It bisects from the warp's least on to the greatest first, and looks farther from there:
// that is where the k are, and the bits of floating-point numbers reach far where these are near 0.
COARSEN_DEVICE COARSEN_(word)
    COARSEN_(narrow_by_warp)(const COARSEN_(word) * bits, unsigned int each, COARSEN_(word) first,
                             unsigned int k, COARSEN_(word) edge)
{
    if (COARSEN_(count_upto)(bits, each, COARSEN_(lesser)(edge, COARSEN_ALL - 1)) < k)
        return edge;
    COARSEN_(word) low = first, high = first == COARSEN_ALL ? 0 : first;
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2) {
        const COARSEN_(word) other = __shfl_xor_sync(0xffffffff, high, delta);
        low = COARSEN_(lesser)(low, __shfl_xor_sync(0xffffffff, low, delta));
        high = other > high ? other : high;
    }
    COARSEN_(word) far = high > low ? high - low : 1;
    for (bool known = false; low < edge;) {
        const COARSEN_(word) middle =
            low + COARSEN_(lesser)(known ? (edge - low) / 2 : far, edge - low);
        const unsigned int count = COARSEN_(count_upto)(bits, each, middle);
        if (count >= k) {
            edge = middle;
            known = true;
            if (count <= k + k / 8)
                break;
        } else {
            low = middle + 1;
            far |= far << 1;
        }
    }
    return edge;
}

// Of few, it is enough to look at each lane's first.
COARSEN_DEVICE COARSEN_(word)
    COARSEN_(edge_of_warp)(const COARSEN_(word) * bits, unsigned int each, COARSEN_(word) first,
                           unsigned int k, COARSEN_(word) edge)
{
    return k <= COARSEN_WARP_FEW ? COARSEN_(narrow_by_warp)(&first, 1, first, k, edge)
                                 : COARSEN_(narrow_by_warp)(bits, each, first, k, edge);
}

// Leaves the first k of a row of up to COARSEN_ROOM numbers as the first k candidates: the lanes keep all.
COARSEN_DEVICE void COARSEN_(first_of_few)(COARSEN_(candidates) * best, const COARSEN_TYPE *in,
                                           unsigned int width, unsigned int k)
{
    const unsigned int lane = threadIdx.x % 32;
    COARSEN_TYPE number[COARSEN_ROOM / 32];
    COARSEN_(word) bits[COARSEN_ROOM / 32], first = COARSEN_ALL;
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROOM / 32; r++)
        if (r * 32 + lane < width)
            number[r] = in[r * 32 + lane];
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROOM / 32; r++) {
        bits[r] = r * 32 + lane < width ? COARSEN_(key)(number[r]) : COARSEN_ALL;
        first = COARSEN_(lesser)(first, bits[r]);
    }
    const COARSEN_(word) edge =
        COARSEN_(edge_of_warp)(bits, COARSEN_ROOM / 32, first, k, COARSEN_ALL);
    const COARSEN_(word) less = edge - (edge > 0);
    unsigned int count = 0;
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_ROOM / 32; r++)
        if (r * 32 < width) {
            // Behind k that are up to the edge, what equals it is not among the first k; nor is what is behind the row.
            const bool passes = bits[r] <= (count < k ? edge : less);
            const unsigned int mask = __ballot_sync(0xffffffff, passes);
            COARSEN_(append)(best, &count, mask, bits[r], r * 32 + lane);
        }
    COARSEN_(sort_candidates)(best, count);
}

// Bit l of lane v's is bit v of lane l's.
COARSEN_DEVICE unsigned int COARSEN_(transpose)(unsigned int bits)
{
    unsigned int low = 0xffff;
#pragma unroll
    for (unsigned int gap = 16; gap > 0; gap /= 2, low ^= low << gap) {
        const unsigned int other = __shfl_xor_sync(0xffffffff, bits, (int)gap);
        bits = threadIdx.x & gap ? (bits & ~low) | (other >> gap & low)
                                 : (bits & low) | (other << gap & ~low);
    }
    return bits;
}

// Lane v's mask: which lanes' vector v has numbers up to the edge, or, from vectors `few` on, less than it. earlier: how
// many vectors less than v have; all: how many vectors have.
COARSEN_DEVICE unsigned int COARSEN_(vectors_upto)(const COARSEN_(word) * least,
                                                   unsigned int vectors, COARSEN_(word) edge,
                                                   unsigned int few, unsigned int *earlier,
                                                   unsigned int *all)
{
    unsigned int mask = 0;
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_VECTORS; v++)
        if (v < vectors && least[v * 32 + threadIdx.x % 32] <= edge - (v >= few))
            mask |= 1u << v;
    mask = COARSEN_(transpose)(mask);
    unsigned int sum = (unsigned int)__popc(mask);
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int other = __shfl_up_sync(0xffffffff, sum, delta);
        sum += threadIdx.x % 32 >= delta ? other : 0;
    }
    *earlier = sum - (unsigned int)__popc(mask);
    *all = __shfl_sync(0xffffffff, sum, 31);
    return mask;
}

// Lists the vectors, of so many of a lane, that have numbers up to the edge, in order, and gives how many. Behind k of
// them, what equals the edge is not among the first k.
COARSEN_DEVICE unsigned int COARSEN_(list)(COARSEN_(candidates) * of, unsigned int vectors,
                                           unsigned int k, COARSEN_(word) edge)
{
    unsigned int place, all;
    unsigned int mask = COARSEN_(vectors_upto)(of->least, vectors, edge, 32, &place, &all);
    if (all > 2 * k && edge > 0) {
        const unsigned int few = (unsigned int)__popc(__ballot_sync(0xffffffff, place < k));
        mask = COARSEN_(vectors_upto)(of->least, vectors, edge, few, &place, &all);
    }
    __syncwarp();
    for (; mask != 0; mask &= mask - 1)
        of->vectors[place++] =
            (unsigned short)(threadIdx.x % 32 * 32 + (unsigned int)__ffs((int)mask) - 1);
    __syncwarp();
    return all;
}

// Leaves the first k of a longer row as the first k candidates.
COARSEN_DEVICE void COARSEN_(first_of_row)(COARSEN_(candidates) * best, const COARSEN_TYPE *in,
                                           unsigned int width, unsigned int k)
{
    const unsigned int lane = threadIdx.x % 32, step = COARSE_FACTOR * 32 * COARSEN_ITEMS;
    const unsigned int lead =
        (unsigned int)((size_t)in % sizeof(COARSEN_(vector)) / sizeof(COARSEN_TYPE));
    const unsigned int end = lead + width;
    COARSEN_(word) edge = COARSEN_ALL; // up to which numbers still matter
    unsigned int count = 0;            // of candidates
    for (unsigned int done = 0; done < end; done += COARSEN_WARP_STEPS * step) {
        const unsigned int left = end - done;
        const unsigned int steps =
            left < COARSEN_WARP_STEPS * step ? (left + step - 1) / step : COARSEN_WARP_STEPS;
        const unsigned int vectors = steps * COARSE_FACTOR; // of a lane
        COARSEN_(tile) tile;
        tile.in = in;
        __syncwarp(); // the vectors before are read
#pragma unroll 1
        for (unsigned int s = 0; s < steps; s++) {
            tile.first = (size_t)done + s * step - lead;
            tile.from = done + s == 0 ? lead : 0;
            tile.to = left - s * step < step ? left - s * step : step;
            COARSEN_(word) of_step[COARSE_FACTOR];
            COARSEN_(least)(tile, of_step);
#pragma unroll
            for (unsigned int c = 0; c < COARSE_FACTOR; c++)
                best->least[(s * COARSE_FACTOR + c) * 32 + lane] = of_step[c];
        }
        COARSEN_(word) firsts[COARSEN_FIRSTS], first = COARSEN_ALL;
#pragma unroll
        for (unsigned int i = 0; i < COARSEN_FIRSTS; i++)
            firsts[i] = COARSEN_ALL;
#pragma unroll
        for (unsigned int v = 0; v < COARSEN_VECTORS; v++)
            if (v < vectors)
                firsts[v % COARSEN_FIRSTS] =
                    COARSEN_(lesser)(firsts[v % COARSEN_FIRSTS], best->least[v * 32 + lane]);
#pragma unroll
        for (unsigned int i = 0; i < COARSEN_FIRSTS; i++)
            first = COARSEN_(lesser)(first, firsts[i]);
        edge = COARSEN_(edge_of_warp)(firsts, COARSEN_FIRSTS, first, k, edge);

        // If all are listed, so are some behind the row.
        const unsigned int listed = COARSEN_(list)(best, vectors, k, edge) * COARSEN_ITEMS;
        const unsigned int numbers = listed < left ? listed : left;
        COARSEN_(word) less = edge - (edge > 0);
        unsigned int known = count + k; // when there are so many, k of them are up to the edge
        for (unsigned int i = lane; i - lane < numbers; i += 32 * COARSEN_AT_ONCE) {
            unsigned int at[COARSEN_AT_ONCE]; // lead more than an index
            COARSEN_(word) bits[COARSEN_AT_ONCE];
            unsigned int masks[COARSEN_AT_ONCE], all;
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++) {
                const unsigned int q = i + r * 32;
                at[r] = end;
                if (q < numbers)
                    at[r] =
                        done + best->vectors[q / COARSEN_ITEMS] * COARSEN_ITEMS + q % COARSEN_ITEMS;
            }
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
                if (at[r] >= lead && at[r] < end)
                    bits[r] = COARSEN_(key)(in[at[r] - lead]);
            for (;;) {
                all = count;
#pragma unroll
                for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++) {
                    const bool passes =
                        at[r] >= lead && at[r] < end && bits[r] <= (all < known ? edge : less);
                    masks[r] = __ballot_sync(0xffffffff, passes);
                    all += (unsigned int)__popc(masks[r]);
                }
                if (all <= COARSEN_ROOM)
                    break;
                COARSEN_(sort_candidates)(best, count);
                if (best->bits[k - 1] == 0)
                    return; // none comes before any of the k
                edge = best->bits[k - 1] - 1;
                less = edge - (edge > 0);
                count = k;
                known = 2 * k;
                __syncwarp();
            }
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
                COARSEN_(append)(best, &count, masks[r], bits[r], at[r] - lead);
        }
        if (count >= known)
            edge = less;
    }
    COARSEN_(sort_candidates)(best, count);
}

COARSEN_KERNEL void __launch_bounds__(32 * COARSEN_WARPS, COARSEN_RESIDENT / COARSEN_WARPS)
    COARSEN_(warp_kernel)(COARSEN_(matrix) matrix, unsigned int k)
{
    __shared__ COARSEN_(candidates) candidates[COARSEN_WARPS];
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    COARSEN_(candidates) *const best = candidates + warp;
    for (size_t row = (size_t)blockIdx.x * warps + warp; row < matrix.rows;
         row += (size_t)gridDim.x * warps) {
        const COARSEN_TYPE *const in = matrix.in + row * matrix.pitch;
        if (matrix.width <= COARSEN_ROOM)
            COARSEN_(first_of_few)(best, in, (unsigned int)matrix.width, k);
        else
            COARSEN_(first_of_row)(best, in, (unsigned int)matrix.width, k);
        for (unsigned int j = lane; j < k; j += 32) {
            const unsigned int index = best->index[j];
            matrix.out[row * k + j] = in[index];
            if (matrix.out_indices)
                matrix.out_indices[row * k + j] = (COARSEN_INDEX)index;
        }
        __syncwarp();
    }
}

// ---- short rows ---------------------------------------------------------------------------------------

// A row is `lanes` lanes', a power of two up to 32, one number each. A number's place is how many come before it. A lane
// has COARSEN_AT_ONCE rows at once, so that as many loads are in flight.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(short_kernel)(COARSEN_(matrix) matrix, unsigned int k, unsigned int lanes)
{
    const unsigned int lane = threadIdx.x % lanes, teams = blockDim.x / lanes;
    const unsigned int below = ((1u << lane) - 1) << (threadIdx.x % 32 - lane); // lanes of the row
    const size_t step = (size_t)COARSEN_AT_ONCE * teams;
    for (size_t first = blockIdx.x * step; first < matrix.rows; first += gridDim.x * step) {
        COARSEN_TYPE number[COARSEN_AT_ONCE];
        COARSEN_(word) bits[COARSEN_AT_ONCE];
        unsigned int place[COARSEN_AT_ONCE];
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++) {
            const size_t row = first + r * teams + threadIdx.x / lanes;
            if (row < matrix.rows && lane < matrix.width)
                number[r] = matrix.in[row * matrix.pitch + lane];
        }
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++) {
            const size_t row = first + r * teams + threadIdx.x / lanes;
            bits[r] = row < matrix.rows && lane < matrix.width ? COARSEN_(key)(number[r]) : 0;
            const unsigned int equal = __match_any_sync(0xffffffff, bits[r]);
            place[r] = (unsigned int)__popc(equal & below);
        }
#pragma unroll 4
        for (unsigned int j = 0; j < (unsigned int)matrix.width; j++)
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
                place[r] += __shfl_sync(0xffffffff, bits[r], (int)j, (int)lanes) < bits[r];
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++) {
            const size_t row = first + r * teams + threadIdx.x / lanes;
            if (row < matrix.rows && lane < matrix.width && place[r] < k) {
                matrix.out[row * k + place[r]] = number[r];
                if (matrix.out_indices)
                    matrix.out_indices[row * k + place[r]] = (COARSEN_INDEX)lane;
            }
        }
    }
}

// ---- the launch ---------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
// Threads of a block that has rows: few, so that a multiprocessor has several blocks; but so many that a row has some times as many
// parts as k.
COARSEN_HOST unsigned int COARSEN_(threads)(size_t k)
{
    size_t threads = 128;
    while (threads < k / 2)
        threads *= 2;
    return (unsigned int)coarsen_min(threads, BLOCK_DIM);
}

// How blocks of so many threads, `blocks` at a time, share the rows.
COARSEN_HOST COARSEN_(plan)
    COARSEN_(plan_rows)(size_t rows, size_t width, size_t k, size_t blocks, size_t threads)
{
    COARSEN_(plan) plan = {};
    const size_t warps = threads / 32, vectors = width / COARSEN_ITEMS + 2;
    const size_t share = blocks / rows; // blocks of a row, of few
    plan.k = (unsigned int)k;
    plan.enough = COARSEN_ENOUGH(plan.k);
    plan.spare = plan.enough > threads ? plan.enough : (unsigned int)threads;
    plan.spare += plan.spare % 2;
    plan.alone = rows > blocks / 2;
    // What a block has, it goes through several times: of a row much longer than k it is less to look through parts.
    plan.direct = width <= plan.enough ||
                  (width <= COARSEN_WHOLE && (!plan.alone || width <= COARSEN_NOT_LONG(k)));
    // Blocks that place some numbers each: less than a warp does, as all are at it at once.
    plan.placers = plan.alone ? 1 : (unsigned int)coarsen_min(share, coarsen_ceil_div(k, 8));
    plan.parts = plan.finders = plan.groups = 1;
    if (plan.direct) {
        plan.room = (unsigned int)width;
        return plan;
    }
    // A block's candidates are as many as k vectors have, if it has room for these.
    plan.room = (unsigned int)coarsen_min(
        COARSEN_ITEMS * plan.k > plan.spare ? COARSEN_ITEMS * plan.k : plan.spare,
        COARSEN_SHARED_BYTES / COARSEN_ENTRY - plan.spare);
    plan.room += plan.room % 2;
    // An odd number of parts has no factor in common with the periods that numbers often have.
    if (!plan.alone)
        plan.parts = (unsigned int)coarsen_min(share, coarsen_ceil_div(width, COARSEN_PART));
    plan.parts -= plan.parts % 2 == 0;
    // So many parts that to look through k of them takes about as long as to find these, and that they are few of all.
    for (size_t g = 1; g <= COARSEN_ROWS * warps; g++) {
        const size_t now = 32 * (size_t)plan.parts * plan.groups;
        if (now >= 2 * plan.enough && now * now >= k * (vectors / 16))
            break;
        if ((warps % g == 0 || (g % warps == 0 && COARSEN_ROWS % (g / warps) == 0)) &&
            32 * plan.parts * g <= COARSEN_MOST_PARTS)
            plan.groups = (unsigned int)g;
    }
    plan.firsts = 32 * plan.parts * plan.groups;
    if (!plan.alone)
        plan.finders = (unsigned int)coarsen_min(share, coarsen_ceil_div(vectors, plan.firsts));
    const size_t numbers = plan.firsts + (plan.alone ? 0 : plan.finders * plan.room);
    plan.bytes = 16 + (numbers * COARSEN_ENTRY + 15) / 16 * 16;
    return plan;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t rows, size_t width, size_t k)
{
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (rows == 0 || k == 0 || width <= COARSEN_SHORT)
        return 0;
    // What is in shared memory, of few rows and of many.
    if (width <= COARSEN_WHOLE &&
        (rows <= processors / 2 ||
         (width <= COARSEN_PART &&
          (k <= COARSEN_WARP_K || width <= COARSEN_NOT_LONG(COARSEN_WARP_K)))))
        return 0;
    // What NAME_plan_rows asks for at the most: of few rows, and of many.
    const size_t room =
        coarsen_min(16 * COARSEN_ENOUGH(coarsen_min(k, COARSEN_MOST_K)) + BLOCK_DIM + 128,
                    COARSEN_SHARED_BYTES / COARSEN_ENTRY + 1);
    const size_t few =
        coarsen_min(rows, processors / 2) * (COARSEN_MOST_PARTS + 2) + processors * (room + 32);
    const size_t many =
        coarsen_min(rows, processors * COARSEN_BLOCKS) * (COARSEN_ROWS * BLOCK_DIM + 2);
    return (few + many) * COARSEN_ENTRY;
}

// Of a launch of so many blocks; or, where each has rows alone, of as many as the device holds.
COARSEN_HOST cudaError_t COARSEN_(configure)(cudaLaunchConfig_t *config, const void *kernel,
                                             size_t blocks, unsigned int threads, size_t bytes,
                                             bool alone, size_t processors, cudaStream_t stream)
{
    cudaError_t status = coarsen_let_share(kernel, bytes, sizeof(COARSEN_(shared)) + 16);
    int resident = 0;
    if (alone && status == cudaSuccess) {
        status =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, (int)threads, bytes);
        blocks = coarsen_min(blocks, processors * coarsen_min((size_t)resident, COARSEN_BLOCKS));
    }
    *config = coarsen_launch_config(blocks, threads, bytes, stream);
    return status;
}

COARSEN_HOST cudaError_t COARSEN_(launch_rows)(const COARSEN_TYPE *in, size_t pitch, size_t rows,
                                               size_t width, size_t k, COARSEN_TYPE *out,
                                               COARSEN_INDEX *out_indices, void *scratch,
                                               size_t scratch_bytes, cudaStream_t stream)
{
    const size_t needed = COARSEN_(scratch_bytes)(rows, width, k);
    if (rows == 0 || k == 0)
        return cudaSuccess;
    if (k > width || k > COARSEN_MOST_K ||
        !coarsen_rows_ok(in, pitch, rows, width, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_bytes_ok(out, rows * k, sizeof(*out), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        (out_indices && (!coarsen_array_ok(out_indices, rows * k) ||
                         (size_t)(COARSEN_INDEX)(width - 1) != width - 1)) ||
        (needed > 0 && !coarsen_bytes_ok(scratch, 1, needed, 16)) || scratch_bytes < needed)
        return cudaErrorInvalidValue;

    COARSEN_(matrix) matrix = {in, pitch, rows, width, out, out_indices};
    if (width <= COARSEN_SHORT) {
        unsigned int lanes = 1;
        while (lanes < width)
            lanes *= 2;
        const unsigned int threads = BLOCK_DIM < 256 ? BLOCK_DIM : 256;
        const size_t blocks =
            coarsen_min(coarsen_ceil_div(rows, COARSEN_AT_ONCE * threads / lanes), 0x7fffffff);
        const cudaLaunchConfig_t config = coarsen_launch_config(blocks, threads, 0, stream);
        return cudaLaunchKernelEx(&config, COARSEN_(short_kernel), matrix, (unsigned int)k, lanes);
    }

    cudaError_t status;
    int resident = 0; // blocks per multiprocessor
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    // Of few rows blocks have one sooner, unless it is so short that a warp's lanes have all of it.
    // A warp counts a row's tiles in 32 bits, and may begin one behind the last.
    const size_t most = rows >= 4 * processors  ? 0xffff0000
                        : rows > processors / 2 ? COARSEN_PART
                                                : COARSEN_ROOM;
    if (k <= COARSEN_WARP_K && width <= most) {
        size_t warps = COARSEN_WARPS;
        while (warps > 1 && rows < warps * processors)
            warps /= 2;
        if (status == cudaSuccess)
            status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(warp_kernel),
                                                                   (int)warps * 32, 0);
        if (status != cudaSuccess)
            return status;
        const size_t blocks =
            coarsen_min(coarsen_ceil_div(rows, warps), processors * (size_t)resident);
        const cudaLaunchConfig_t config =
            coarsen_launch_config(blocks, (unsigned int)warps * 32, 0, stream);
        return cudaLaunchKernelEx(&config, COARSEN_(warp_kernel), matrix, (unsigned int)k);
    }
    const unsigned int threads = rows <= processors ? BLOCK_DIM : COARSEN_(threads)(k);
    COARSEN_(plan) plan = COARSEN_(plan_rows)(rows, width, k, processors, threads);
    plan.lists = (char *)scratch;
    const size_t spare = plan.spare * (COARSEN_ENTRY + sizeof(unsigned int));
    const size_t own = plan.room * (plan.direct ? sizeof(COARSEN_(word)) : COARSEN_ENTRY);
    cudaLaunchConfig_t config;
    cudaLaunchAttribute early;
    if (!plan.direct) {
        if (status == cudaSuccess)
            status = COARSEN_(configure)(&config, (const void *)COARSEN_(kernel), rows * plan.parts,
                                         threads, spare + (plan.alone ? own : 0), plan.alone,
                                         processors, stream);
        if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&config, COARSEN_(kernel), matrix, plan);
        if (plan.alone)
            return status;
        if (status == cudaSuccess)
            status = COARSEN_(configure)(&config, (const void *)COARSEN_(find_kernel),
                                         rows * plan.finders, threads, spare + own, false,
                                         processors, stream);
        if (status == cudaSuccess)
            status = COARSEN_(overlap)(&config, &early, (const void *)COARSEN_(find_kernel));
        if (status == cudaSuccess)
            status = cudaLaunchKernelEx(&config, COARSEN_(find_kernel), matrix, plan);
    }
    if (status == cudaSuccess)
        status = COARSEN_(configure)(&config, (const void *)COARSEN_(place_kernel),
                                     rows * plan.placers, threads, spare + (plan.direct ? own : 0),
                                     plan.alone, processors, stream);
    if (status == cudaSuccess && !plan.direct)
        status = COARSEN_(overlap)(&config, &early, (const void *)COARSEN_(place_kernel));
    if (status == cudaSuccess)
        status = cudaLaunchKernelEx(&config, COARSEN_(place_kernel), matrix, plan);
    return status;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, size_t n, size_t k,
                                          COARSEN_TYPE *out, COARSEN_INDEX *out_indices,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    return COARSEN_(launch_rows)(in, n, 1, n, k, out, out_indices, scratch, scratch_bytes, stream);
}
#endif

#undef COARSEN_MOST_K
#undef COARSEN_SHORT
#undef COARSEN_BLOCKS
#undef COARSEN_ALL
#undef COARSEN_WARP_STEPS
#undef COARSEN_VECTORS
#undef COARSEN_ROOM
#undef COARSEN_FIRSTS
#undef COARSEN_RESIDENT
#undef COARSEN_WARP_FEW
#undef COARSEN_WARPS
#undef COARSEN_WARP_K
#undef COARSEN_ENOUGH
#undef COARSEN_NOT_LONG
#undef COARSEN_AT_ONCE
#undef COARSEN_GROUP
#undef COARSEN_ENTRY
#undef COARSEN_KEYS
#undef COARSEN_WHOLE
#undef COARSEN_MOST_PARTS
#undef COARSEN_SHARED_BYTES
#undef COARSEN_ROWS

#define COARSEN_END
#include "base.h"
