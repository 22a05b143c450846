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
// | COARSE_FACTOR      | 7                  | 16-byte loads a thread has in flight, from 1 to 32     |
// | COARSEN_PART       | 4096               | numbers of a row that a block takes, at the least; 1 or more |
// Defines what block/overlap.h and block/vector.h do; NAME_kernel, NAME_collect_kernel, NAME_warp_kernel and
// NAME_short_kernel; and
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
// where each was in the array, or in its row. scratch: device memory, 16-byte aligned, made ready once by
// NAME_scratch_init; each launch leaves it ready for the next, of any shape and k that it is large enough for. One scratch
// per launch that may run at the same time. A scratch that was not made ready ends the launch with an error (__trap).
// Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, a pitch less than width, too small a
// scratch, a k greater than n, width or 1024, or an index that COARSEN_INDEX cannot tell, with nothing written; those of
// the runtime's device queries. No rows or a k of 0: nothing.
// Results are the first k of what sort.h gives: of equal numbers the first come first, so that there is one result.
// Floating-point numbers are in the order of block/sort.h: NaN is greater than all numbers, negative NaN the greatest,
// and +0 is greater than -0; they keep their bits. Deterministic.
//
// How:
//     up to 32 numbers            some lanes of a warp: each counts how many numbers come before its own
//     longer rows, k up to 128    a warp: no barriers, and while it selects, other warps read. A lane keeps the first
//                                 number of each of its 16-byte vectors, of a tile of 32 vectors. The warp bisects the
//                                 bits until few more than k vectors are up to them, sets bits for these, and looks
//                                 at their numbers again. Up to 256 numbers the lanes keep all.
//     greater k; rows longer      parts: vectors at the same distance each. Blocks read the row, and leave the first
//     than COARSEN_PART that      number of each part, some thousands. The k parts whose first numbers come first have
//     are too few for all warps   all of the first k: they are looked through again, and what comes no later than the
//                                 k-th of those first numbers is a candidate. Neighbours are in different parts, so of
//                                 random numbers these are a tenth more than k, and of ones that ascend or are equal
//                                 as many times k as a vector has numbers. Of a row of few numbers all are candidates.
// An edge up to which k numbers are, or a quarter more, is found by a bisection of their bits, and of equal ones by that of
// their places. A row is several blocks', if there are few. The last block to end finds the edge and, if these are not too
// many vectors, the candidates; else a second launch does. Many rows are a block's each.
// Price saved: all passes over memory but one, whatever the numbers.
// Price paid: the k parts are read again; one block works while the others are done; vectors of a warp's tile in shared
// memory, 6 KiB a warp of floats, or up to 60 KiB of a block's candidates. Where numbers repeat at a multiple of the
// distance, candidates may be too many: a block sorts out the first k each time that it has no more room.
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
#define COARSE_FACTOR 7
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
    ((k) + (k) / 4 + 8)        // that may pass in place of k: fewer would take more steps
#define COARSEN_STATE        8 // words of what blocks tell each other
#define COARSEN_MOST_PARTS   (5 * COARSEN_PART) // of a row
#define COARSEN_SHARED_BYTES (60 << 10)         // of candidates
// Rows of 32 vectors that a warp reads at once, a power of two.
#define COARSEN_GROUP        (COARSEN_ITEMS <= 8 ? 4 : 2) // vectors that a thread looks through at once
#define COARSEN_ROWS                                                                               \
    (COARSE_FACTOR >= 32   ? 32                                                                    \
     : COARSE_FACTOR >= 16 ? 16                                                                    \
     : COARSE_FACTOR >= 8  ? 8                                                                     \
     : COARSE_FACTOR >= 4  ? 4                                                                     \
     : COARSE_FACTOR >= 2  ? 2                                                                     \
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

// Keys of numbers, and where these are.
typedef struct {
    const COARSEN_(word) * keys;
    const unsigned long long *places;
    unsigned int count;
} COARSEN_(numbers);

// What is up to an edge has a lesser key, or the same one and no later place.
typedef struct {
    COARSEN_(word) key;
    unsigned long long place;
} COARSEN_(edge);

typedef struct {
    unsigned long long low[32], high[32];
    unsigned int sums[2][32], count;
    bool is_last;
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

// The sum of what all threads have. turn: another parity than at the call before, so that one barrier is enough.
COARSEN_DEVICE unsigned int COARSEN_(block_sum)(COARSEN_(shared) * shared, unsigned int value,
                                                unsigned int turn)
{
    const unsigned int lane = threadIdx.x % 32;
    value = COARSEN_(warp_sum)(value);
    if (lane == 0)
        shared->sums[turn % 2][threadIdx.x / 32] = value;
    __syncthreads();
    return COARSEN_(warp_sum)(lane < blockDim.x / 32 ? shared->sums[turn % 2][lane] : 0);
}

// The least and the greatest of what all threads have.
COARSEN_DEVICE void COARSEN_(bounds)(COARSEN_(shared) * shared, unsigned long long *low,
                                     unsigned long long *high)
{
#pragma unroll 1
    for (int delta = 16; delta > 0; delta /= 2) {
        const unsigned long long least = __shfl_xor_sync(0xffffffff, *low, delta);
        const unsigned long long greatest = __shfl_xor_sync(0xffffffff, *high, delta);
        *low = least < *low ? least : *low;
        *high = greatest > *high ? greatest : *high;
    }
    __syncthreads(); // those of the call before have been read
    if (threadIdx.x % 32 == 0) {
        shared->low[threadIdx.x / 32] = *low;
        shared->high[threadIdx.x / 32] = *high;
    }
    __syncthreads();
#pragma unroll 2
    for (unsigned int w = 0; w < blockDim.x / 32; w++) {
        *low = shared->low[w] < *low ? shared->low[w] : *low;
        *high = shared->high[w] > *high ? shared->high[w] : *high;
    }
}

// An edge up to which k of a list are, or a few more, not more than `enough`: bisects the keys, and if too many are equal,
// their places. Short loops: here one block works, and what it waits for are instructions that are not in the cache.
COARSEN_UNUSED static __device__ __noinline__ COARSEN_(edge)
    COARSEN_(narrow)(COARSEN_(shared) * shared, COARSEN_(numbers) list, unsigned int k,
                     unsigned int enough)
{
    COARSEN_(edge) edge = {COARSEN_ALL, ~0ULL};
    unsigned int upto = list.count;
    for (unsigned int turn = 0, ties = 0; upto > enough; ties++) {
        unsigned long long low = ~0ULL, high = 0;
#pragma unroll 4
        for (unsigned int i = threadIdx.x; i < list.count; i += blockDim.x) {
            const COARSEN_(word) key = list.keys[i];
            if (!ties || key == edge.key) {
                const unsigned long long value = ties ? list.places[i] : key;
                low = value < low ? value : low;
                high = value > high ? value : high;
            }
        }
        COARSEN_(bounds)(shared, &low, &high);
        unsigned int below = 0;
        while (upto > enough && low < high) {
            const unsigned long long middle = low + (high - low) / 2;
            unsigned int some = 0;
            if (ties) {
#pragma unroll 4
                for (unsigned int i = threadIdx.x; i < list.count; i += blockDim.x)
                    some += list.keys[i] == edge.key && list.places[i] <= middle;
            } else {
#pragma unroll 4
                for (unsigned int i = threadIdx.x; i < list.count; i += blockDim.x)
                    some += list.keys[i] <= (COARSEN_(word))middle;
            }
            some = COARSEN_(block_sum)(shared, some, turn++);
            if (some >= k) {
                high = middle;
                upto = some;
            } else {
                low = middle + 1;
                below = some;
            }
        }
        if (ties) {
            edge.place = high;
            return edge;
        }
        edge.key = (COARSEN_(word))high;
        if (upto > enough) { // of equal ones
            k -= below;
            enough -= below;
            upto -= below;
        }
    }
    return edge;
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
    unsigned int parts;           // blocks of a row
    unsigned int firsts;          // of the parts of a row; or all of its numbers
    unsigned int groups;          // that a block makes of the rows of 32 vectors that it reads
    bool direct;                  // whether a block takes all of a row for candidates
    bool alone;                   // whether the last block looks for candidates without the others
    unsigned int *states;
    char *lists;
    size_t bytes; // of the lists of a row
} COARSEN_(plan);

// A block's candidates, in shared memory, and as much room again as is enough.
typedef struct {
    COARSEN_(word) * keys, *spare_keys;
    unsigned long long *places, *spare_places;
} COARSEN_(best);

COARSEN_DEVICE COARSEN_(best) COARSEN_(best_of)(COARSEN_(plan) plan)
{
    COARSEN_(best) best;
    best.places = (unsigned long long *)coarsen_shared;
    best.spare_places = best.places + plan.room;
    best.keys = (COARSEN_(word) *)(best.spare_places + plan.spare);
    best.spare_keys = best.keys + plan.room;
    return best;
}

COARSEN_DEVICE void COARSEN_(swap)(COARSEN_(best) * best)
{
    COARSEN_(word) *const keys = best->keys;
    unsigned long long *const places = best->places;
    best->keys = best->spare_keys;
    best->places = best->spare_places;
    best->spare_keys = keys;
    best->spare_places = places;
}

// Sorts `count` candidates, which all threads can see before and after. Warps sort runs of 32, a bitonic network of shuffles;
// then two runs become one: a number's place is that in its own, and how many of the other one come before it.
COARSEN_DEVICE void COARSEN_(order)(COARSEN_(best) * best, unsigned int count)
{
#pragma unroll 1
    for (unsigned int i = threadIdx.x; i - threadIdx.x % 32 < count; i += blockDim.x) {
        COARSEN_(edge) mine = {COARSEN_ALL, ~0ULL};
        if (i < count)
            mine = {best->keys[i], best->places[i]};
#pragma unroll 1
        for (unsigned int run = 2; run <= 32; run *= 2)
#pragma unroll 1
            for (unsigned int gap = run / 2; gap > 0; gap /= 2) {
                COARSEN_(edge) its;
                its.key = __shfl_xor_sync(0xffffffff, mine.key, (int)gap);
                its.place = __shfl_xor_sync(0xffffffff, mine.place, (int)gap);
                if (COARSEN_(upto)(mine, its.key, its.place) ==
                    (((i & gap) == 0) == ((i & run % 32) == 0)))
                    mine = its;
            }
        if (i < count) {
            best->keys[i] = mine.key;
            best->places[i] = mine.place;
        }
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned int run = 32; run < count; run *= 2) {
#pragma unroll 1
        for (unsigned int first = threadIdx.x; first < count;
             first += COARSEN_AT_ONCE * blockDim.x) {
            COARSEN_(word) key[COARSEN_AT_ONCE];
            unsigned int low[COARSEN_AT_ONCE], high[COARSEN_AT_ONCE], own[COARSEN_AT_ONCE];
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++) {
                const unsigned int i = first + r * blockDim.x, pair = i & ~(2 * run - 1);
                key[r] = i < count ? best->keys[i] : 0;
                low[r] = i & run ? pair : pair + run;
                low[r] = low[r] < count && i < count ? low[r] : count;
                high[r] = low[r] + run < count ? low[r] + run : count;
                own[r] = (i & (run - 1)) + pair - low[r]; // with low, where the search ends
            }
#pragma unroll 1
            for (unsigned int step = run; step > 0; step /= 2)
#pragma unroll
                for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
                    if (low[r] + step <= high[r]) {
                        const unsigned int middle = low[r] + step - 1;
                        const COARSEN_(word) other = best->keys[middle];
                        if (other < key[r] ||
                            (other == key[r] &&
                             best->places[middle] < best->places[first + r * blockDim.x]))
                            low[r] += step;
                    }
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
                if (first + r * blockDim.x < count) {
                    best->spare_keys[own[r] + low[r]] = key[r];
                    best->spare_places[own[r] + low[r]] = best->places[first + r * blockDim.x];
                }
        }
        __syncthreads();
        COARSEN_(swap)(best);
    }
}

// Takes what is up to an edge from a list, and says how many these are.
COARSEN_UNUSED static __device__ __noinline__ unsigned int
COARSEN_(take)(COARSEN_(shared) * shared, COARSEN_(numbers) list, COARSEN_(word) * keys,
               unsigned long long *places, COARSEN_(edge) edge)
{
    if (threadIdx.x == 0)
        shared->count = 0;
    __syncthreads();
#pragma unroll 4
    for (unsigned int i = threadIdx.x; i < list.count; i += blockDim.x) {
        const COARSEN_(word) key = list.keys[i];
        if (key <= edge.key) {
            const unsigned long long place = list.places[i];
            if (COARSEN_(upto)(edge, key, place)) {
                const unsigned int to = atomicAdd(&shared->count, 1u);
                keys[to] = key;
                places[to] = place;
            }
        }
    }
    __syncthreads();
    const unsigned int count = shared->count;
    __syncthreads(); // before any thread adds to it
    return count;
}

// Writes the first k of a list, which may be the block's candidates.
COARSEN_DEVICE void COARSEN_(emit)(COARSEN_(shared) * shared, COARSEN_(best) best,
                                   COARSEN_(numbers) list, COARSEN_(plan) plan,
                                   COARSEN_(matrix) matrix, size_t row)
{
    const COARSEN_(edge) edge = COARSEN_(narrow)(shared, list, plan.k, plan.enough);
    const unsigned int count =
        COARSEN_(take)(shared, list, best.spare_keys, best.spare_places, edge);
    COARSEN_(swap)(&best);
    COARSEN_(order)(&best, count);
    for (unsigned int j = threadIdx.x; j < plan.k; j += blockDim.x) {
        const size_t index = best.places[j];
        matrix.out[row * plan.k + j] = matrix.in[row * matrix.pitch + index];
        if (matrix.out_indices)
            matrix.out_indices[row * plan.k + j] = (COARSEN_INDEX)index;
    }
}

// Adds a candidate of each thread that has one up to the edge. When there is no more room, the first k stay, or few more, and the
// edge is the last of them.
COARSEN_DEVICE void COARSEN_(admit)(COARSEN_(shared) * shared, COARSEN_(best) best,
                                    COARSEN_(plan) plan, bool has, COARSEN_(edge) one,
                                    COARSEN_(edge) * edge)
{
    for (;;) {
        bool waits = false;
        if (has && COARSEN_(upto)(*edge, one.key, one.place)) {
            const unsigned int to = atomicAdd(&shared->count, 1u);
            waits = to >= plan.room;
            if (!waits) {
                best.keys[to] = one.key;
                best.places[to] = one.place;
            }
        }
        if (!__syncthreads_or(waits))
            return;
        const COARSEN_(numbers) all = {best.keys, best.places, plan.room};
        *edge = COARSEN_(narrow)(shared, all, plan.k, plan.enough);
        const COARSEN_(numbers)
            few = {best.spare_keys, best.spare_places,
                   COARSEN_(take)(shared, all, best.spare_keys, best.spare_places, *edge)};
        COARSEN_(take)(shared, few, best.keys, best.places, *edge);
        has = waits;
    }
}

// ---- a row, by blocks ---------------------------------------------------------------------------------

// Lists of a row: what comes first in each part; candidates. And what blocks that share it tell each other.
typedef struct {
    COARSEN_(word) * keys, *candidate_keys;
    unsigned long long *places, *candidate_places, *edge;
    unsigned int *arrived, *count, *chosen; // the latter: how many parts, and which
} COARSEN_(lists);

COARSEN_DEVICE COARSEN_(lists) COARSEN_(lists_of)(COARSEN_(plan) plan, size_t slot)
{
    COARSEN_(lists) lists;
    lists.arrived = plan.states + slot * COARSEN_STATE;
    lists.count = lists.arrived + 1;
    lists.edge = (unsigned long long *)(lists.arrived + 2);
    lists.places = (unsigned long long *)(plan.lists + slot * plan.bytes);
    lists.candidate_places = lists.places + plan.firsts;
    lists.keys =
        (COARSEN_(word) *)(lists.candidate_places + (plan.alone ? 0 : plan.parts * plan.room));
    lists.candidate_keys = lists.keys + plan.firsts;
    lists.chosen = (unsigned int *)(plan.lists + (slot + 1) * plan.bytes) - (plan.enough + 1);
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
                                   COARSEN_(lists) lists, COARSEN_(best) spare)
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
    spare.keys[threadIdx.x] = first[0].key;
    spare.places[threadIdx.x] = first[0].place;
    __syncthreads();
    if (warp < plan.groups) {
        for (unsigned int w = warp + plan.groups; w < warps; w += plan.groups) {
            const COARSEN_(edge) other = {spare.keys[w * 32 + lane], spare.places[w * 32 + lane]};
            COARSEN_(keep_first)(&first[0], other);
        }
        lists.keys[begin + lane] = first[0].key;
        lists.places[begin + lane] = first[0].place;
    }
}

// Lists the parts up to an edge.
COARSEN_DEVICE void COARSEN_(choose)(COARSEN_(shared) * shared, COARSEN_(row) row,
                                     COARSEN_(plan) plan, COARSEN_(lists) lists,
                                     COARSEN_(edge) edge)
{
    __syncthreads();
    if (threadIdx.x == 0)
        shared->count = 0;
    __syncthreads();
#pragma unroll 2
    for (unsigned int i = threadIdx.x; i < plan.firsts; i += blockDim.x) {
        const COARSEN_(word) key = lists.keys[i];
        if (key <= edge.key) {
            const unsigned long long place = lists.places[i];
            if (COARSEN_(upto)(edge, key, place) && place < row.width + COARSEN_ITEMS)
                lists.chosen[1 + atomicAdd(&shared->count, 1u)] = i;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        lists.chosen[0] = shared->count;
    __syncthreads();
}

// Looks for candidates in the chosen parts, of which each of the blocks takes as many vectors.
COARSEN_DEVICE void COARSEN_(collect)(COARSEN_(shared) * shared, COARSEN_(best) best,
                                      COARSEN_(row) row, COARSEN_(plan) plan, COARSEN_(lists) lists,
                                      COARSEN_(edge) edge, unsigned int block, unsigned int blocks)
{
    const unsigned int all = plan.firsts, chosen = lists.chosen[0];
    __syncthreads();
    if (threadIdx.x == 0)
        shared->count = 0;
    __syncthreads();

    // Vectors of all of these: the first of each, then the second of each ...
    const unsigned int from = block * blockDim.x + threadIdx.x, step = blocks * blockDim.x;
    const unsigned int more_x = step % chosen;
    const size_t more_v = step / chosen * (size_t)all;
    unsigned int x = from % chosen;
    size_t v = from / chosen * (size_t)all;
    while (__syncthreads_or(v < row.vectors)) {
        unsigned int mask = 0;
        size_t at[COARSEN_GROUP];
        COARSEN_(vector) load[COARSEN_GROUP];
#pragma unroll
        for (unsigned int g = 0; g < COARSEN_GROUP; g++) {
            at[g] = v + lists.chosen[1 + x];
            if (at[g] < row.vectors)
                load[g] = COARSEN_(load_of)(row, at[g]);
            x += more_x;
            v += more_v + (x >= chosen ? all : 0);
            x -= x >= chosen ? chosen : 0;
        }
#pragma unroll
        for (unsigned int g = 0; g < COARSEN_GROUP; g++)
            if (at[g] < row.vectors) {
                // Equal keys too, if the vector begins before the edge's place.
                const bool ties =
                    at[g] * COARSEN_ITEMS <= coarsen_min(edge.place, ~(size_t)0 - 16) + row.lead;
                const COARSEN_(word) last = edge.key - !ties;
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    if ((ties || edge.key > 0) && COARSEN_(key)(load[g].item[j]) <= last)
                        mask |= 1u << (g * COARSEN_ITEMS + j);
            }
        while (__syncthreads_or(mask != 0)) {
            COARSEN_(edge) one = {0, ~0ULL};
            if (mask != 0) {
                const unsigned int q = (unsigned int)__ffs((int)mask) - 1;
                size_t vector = at[0];
#pragma unroll
                for (unsigned int g = 1; g < COARSEN_GROUP; g++)
                    vector = q / COARSEN_ITEMS == g ? at[g] : vector;
                one.place = vector * COARSEN_ITEMS + q % COARSEN_ITEMS - row.lead;
                if (one.place < row.width)
                    one.key = COARSEN_(key)(row.in[one.place]);
            }
            COARSEN_(admit)(shared, best, plan, one.place < row.width, one, &edge);
            mask &= mask - 1;
        }
    }
}

// True in the block that is the last to arrive, of so many that share a row.
COARSEN_DEVICE bool COARSEN_(last_part)(COARSEN_(shared) * shared, unsigned int *arrived,
                                        unsigned int parts)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned int earlier = atomicInc(arrived, parts - 1); // 0 again for the next launch
        if (earlier >= parts)
            __trap(); // the scratch was not made ready: NAME_scratch_init was forgotten
        shared->is_last = earlier == parts - 1;
        __threadfence();
    }
    __syncthreads();
    return shared->is_last;
}

// Reads rows, and ends them, if that takes one block or none waits for it: else leaves the edge, and which parts were chosen.
// One block of a multiprocessor may be all: with registers for two, nvcc 13 spills.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(kernel)(COARSEN_(matrix) matrix, COARSEN_(plan) plan)
{
    __shared__ COARSEN_(shared) shared;
    COARSEN_(let_next)();
    for (size_t r = blockIdx.x / plan.parts; r < matrix.rows; r += gridDim.x / plan.parts) {
        const COARSEN_(best) best = COARSEN_(best_of)(plan);
        const COARSEN_(lists) lists =
            COARSEN_(lists_of)(plan, plan.parts > 1 ? r : (size_t)blockIdx.x);
        const COARSEN_(row) row = COARSEN_(row_of)(matrix, r);
        const COARSEN_(numbers) firsts = {lists.keys, lists.places, plan.firsts};
        if (plan.direct) {
#pragma unroll 2
            for (unsigned int i = threadIdx.x; i < plan.firsts; i += blockDim.x) {
                lists.keys[i] = COARSEN_(key)(row.in[i]);
                lists.places[i] = i;
            }
            __syncthreads();
            COARSEN_(emit)(&shared, best, firsts, plan, matrix, r);
            continue;
        }
        COARSEN_(read)(row, plan, blockIdx.x % plan.parts, lists, best);
        if (plan.parts > 1 && !COARSEN_(last_part)(&shared, lists.arrived, plan.parts))
            return;
        __syncthreads();
        const COARSEN_(edge) edge = COARSEN_(narrow)(&shared, firsts, plan.k, plan.enough);
        COARSEN_(choose)(&shared, row, plan, lists, edge);
        if (plan.alone) {
            COARSEN_(collect)(&shared, best, row, plan, lists, edge, 0, 1);
            const COARSEN_(numbers) list = {best.keys, best.places, shared.count};
            __syncthreads();
            COARSEN_(emit)(&shared, best, list, plan, matrix, r);
        } else if (threadIdx.x == 0) {
            lists.edge[0] = edge.key;
            lists.edge[1] = edge.place;
            *lists.count = 0;
        }
    }
}

// Looks for candidates in parts that are too many vectors for the last block. The last of this launch ends it.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(collect_kernel)(COARSEN_(matrix) matrix, COARSEN_(plan) plan)
{
    __shared__ COARSEN_(shared) shared;
    __shared__ unsigned int base;
    COARSEN_(follow)();
    const size_t r = blockIdx.x / plan.parts;
    const COARSEN_(best) best = COARSEN_(best_of)(plan);
    const COARSEN_(lists) lists = COARSEN_(lists_of)(plan, r);
    const COARSEN_(edge) edge = {(COARSEN_(word))lists.edge[0], lists.edge[1]};
    COARSEN_(collect)
    (&shared, best, COARSEN_(row_of)(matrix, r), plan, lists, edge, blockIdx.x % plan.parts,
     plan.parts);
    if (threadIdx.x == 0)
        base = atomicAdd(lists.count, shared.count);
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < shared.count; i += blockDim.x) {
        lists.candidate_keys[base + i] = best.keys[i];
        lists.candidate_places[base + i] = best.places[i];
    }
    if (!COARSEN_(last_part)(&shared, lists.arrived, plan.parts))
        return;
    const COARSEN_(numbers) list = {lists.candidate_keys, lists.candidate_places,
                                    *(volatile unsigned int *)lists.count};
    COARSEN_(emit)(&shared, best, list, plan, matrix, r);
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
// Whether a warp or less has a row.
COARSEN_HOST bool COARSEN_(is_short)(size_t width, size_t k)
{
    return width <= COARSEN_SHORT || (k <= COARSEN_WARP_K && width <= COARSEN_PART);
}

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
    plan.k = (unsigned int)k;
    plan.enough = COARSEN_ENOUGH(plan.k);
    // A block's candidates are as many as k vectors have, if it has room for these.
    const size_t entry = sizeof(COARSEN_(word)) + 8;
    plan.spare = plan.enough;
    if (plan.spare < threads)
        plan.spare = (unsigned int)threads;
    plan.room = (unsigned int)coarsen_min(
        COARSEN_ITEMS * plan.k > plan.spare ? COARSEN_ITEMS * plan.k : plan.spare,
        COARSEN_SHARED_BYTES / entry - plan.spare);
    plan.direct = width <= COARSEN_PART || width <= plan.enough;
    plan.parts = plan.groups = 1;
    if (plan.direct) {
        plan.firsts = (unsigned int)width;
        plan.alone = true;
        plan.bytes = (width * (sizeof(COARSEN_(word)) + 8) + 15) / 16 * 16;
        return plan;
    }
    // An odd number of parts has no factor in common with the periods that numbers often have.
    if (rows <= blocks / 2)
        plan.parts =
            (unsigned int)coarsen_min(blocks / rows, coarsen_ceil_div(width, COARSEN_PART));
    plan.parts -= plan.parts % 2 == 0;
    // So many parts that to look through k of them takes about as long as to find these, and that they are few of all.
    for (size_t g = 1; g <= COARSEN_ROWS * warps; g++) {
        const size_t now = 32 * (size_t)plan.parts * plan.groups;
        if (now >= 4 * plan.enough && now * now >= k * (vectors / 16))
            break;
        if ((warps % g == 0 || (g % warps == 0 && COARSEN_ROWS % (g / warps) == 0)) &&
            32 * plan.parts * g <= COARSEN_MOST_PARTS)
            plan.groups = (unsigned int)g;
    }
    plan.firsts = 32 * plan.parts * plan.groups;
    plan.alone = plan.parts == 1 || coarsen_ceil_div(vectors, plan.firsts) * plan.k <= COARSEN_PART;
    const size_t numbers = plan.firsts + (plan.alone ? 0 : plan.parts * plan.room);
    plan.bytes = (numbers * (sizeof(COARSEN_(word)) + 8) + (plan.enough + 1) * 4 + 15) / 16 * 16;
    return plan;
}

// Bytes of what blocks tell each other, of all rows that are in the works.
COARSEN_HOST size_t COARSEN_(states_bytes)(size_t processors)
{
    return processors * COARSEN_BLOCKS * COARSEN_STATE * sizeof(unsigned int);
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t rows, size_t width, size_t k)
{
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (rows == 0 || k == 0 || COARSEN_(is_short)(width, k))
        return 0;
    // What NAME_plan_rows asks for at the most: of few rows, and of many.
    const size_t entry = sizeof(COARSEN_(word)) + 8,
                 enough = COARSEN_ENOUGH(coarsen_min(k, COARSEN_MOST_K));
    const size_t room = coarsen_min(16 * enough, COARSEN_SHARED_BYTES / entry) + BLOCK_DIM;
    const size_t parts = COARSEN_ROWS * BLOCK_DIM,
                 whole = COARSEN_PART > enough ? COARSEN_PART : enough;
    const size_t few =
        coarsen_min(rows, processors / 2) * COARSEN_MOST_PARTS + processors * (room + 32);
    const size_t many =
        coarsen_min(rows, processors * COARSEN_BLOCKS) * ((parts > whole ? parts : whole) + enough);
    return COARSEN_(states_bytes)(processors) + (few + many) * entry;
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
    if (k <= COARSEN_WARP_K && width <= 0xfffffff0 &&
        (width <= COARSEN_PART || rows >= 4 * processors)) {
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
    const bool few = rows <= processors;
    const unsigned int threads = few ? BLOCK_DIM : COARSEN_(threads)(k);
    size_t blocks = processors * COARSEN_BLOCKS;
    COARSEN_(plan) plan = COARSEN_(plan_rows)(rows, width, k, processors, threads);
    const size_t bytes = (plan.room + plan.spare) * (sizeof(COARSEN_(word)) + 8);
    const void *const kernels[] = {(const void *)COARSEN_(kernel),
                                   (const void *)COARSEN_(collect_kernel)};
    for (unsigned int i = 0; i < 2 && status == cudaSuccess; i++)
        status = coarsen_let_share(kernels[i], bytes, sizeof(COARSEN_(shared)) + 16);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               (int)threads, bytes);
    if (status != cudaSuccess)
        return status;
    blocks = processors * coarsen_min((size_t)resident, COARSEN_BLOCKS);
    plan.states = (unsigned int *)scratch;
    plan.lists = (char *)scratch + COARSEN_(states_bytes)(processors);
    cudaLaunchConfig_t config = coarsen_launch_config(
        plan.parts > 1 ? rows * plan.parts : coarsen_min(rows, blocks), threads, bytes, stream);
    status = cudaLaunchKernelEx(&config, COARSEN_(kernel), matrix, plan);
    if (plan.direct || plan.alone || status != cudaSuccess)
        return status;
    cudaLaunchAttribute early;
    status = COARSEN_(overlap)(&config, &early, (const void *)COARSEN_(collect_kernel));
    if (status != cudaSuccess)
        return status;
    return cudaLaunchKernelEx(&config, COARSEN_(collect_kernel), matrix, plan);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, size_t n, size_t k,
                                          COARSEN_TYPE *out, COARSEN_INDEX *out_indices,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    return COARSEN_(launch_rows)(in, n, 1, n, k, out, out_indices, scratch, scratch_bytes, stream);
}
#endif

#undef COARSEN_INDEX
#undef COARSEN_MOST_K
#undef COARSEN_SHORT
#undef COARSEN_PART
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
#undef COARSEN_AT_ONCE
#undef COARSEN_GROUP
#undef COARSEN_STATE
#undef COARSEN_MOST_PARTS
#undef COARSEN_SHARED_BYTES
#undef COARSEN_ROWS

#define COARSEN_END
#include "base.h"
