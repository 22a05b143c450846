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
// | COARSE_FACTOR      | 8                  | 16-byte loads a thread has in flight, from 1 to 32     |
// | COARSEN_PART       | 4096               | numbers of a long row that a block takes, at the least; 1 or more |
// Defines what block/vector.h does; NAME_kernel, NAME_warp_kernel and NAME_short_kernel; and
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
//     greater k; rows longer      parts. Blocks read the row and leave the first number of each of its parts, some
//     than COARSEN_PART that      thousands. The k parts whose first numbers come first have the first k of all: these
//     are too few for all warps   are read again, and what comes no later than the k-th of those first numbers is a
//                                 candidate, of random numbers little more than k. If there are too many, as of
//                                 numbers that ascend or are equal, the same is done with parts of these k parts, and
//                                 so on, until a part is one vector. Few numbers are their own parts.
// The k-th of parts or candidates is found by a histogram of their leading digits, which tells the digit of the k-th, then
// of the next digits of those that have it, and so on. A row is several blocks', if there are few; each level is a launch
// then, and nothing is left to do in those behind the last that was needed. Many rows are a block's each.
// Price saved: all passes over memory but one, whatever the numbers.
// Price paid: the k parts are read again, a sixteenth of a row or less; launches; lists in the scratch; vectors of a warp's
// tile in shared memory, 6 KiB a warp of floats; the barriers of a block that has a row.
// Cost: each number read once; of long rows some thousand keys per row and level, written and read by each of its blocks.
// Source: J. Johnson, M. Douze and H. Jegou, Billion-scale similarity search with GPUs (2017), for an edge that rises as
// numbers go by, there per warp; J. Zhang, A. Naruse, X. Li and Y. Wang, Parallel Top-K Algorithms on GPU: A Comprehensive
// Study and New Methods (2023), for digits of those that are left; K. E. Batcher, Sorting networks and their applications
// (1968), for the sort of few.

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
    ((k) + (k) / 4 + 8)     // that may pass in place of k: fewer would take more steps
#define COARSEN_FANOUT   16 // parts of a part, at the least
#define COARSEN_BIN_BITS 11 // of a digit
#define COARSEN_BINS     (1 << COARSEN_BIN_BITS)
#define COARSEN_LEVELS   16
#define COARSEN_STATE    (2 * COARSEN_LEVELS + 1) // words
#define COARSEN_KEYS     8                        // of a list that a thread loads at once
#define COARSEN_ROWS                                                                               \
    (COARSE_FACTOR >= 32   ? 32                                                                    \
     : COARSE_FACTOR >= 16 ? 16                                                                    \
     : COARSE_FACTOR >= 8  ? 8                                                                     \
     : COARSE_FACTOR >= 4  ? 4                                                                     \
     : COARSE_FACTOR >= 2  ? 2                                                                     \
                           : 1)
#ifndef COARSEN_EARLY
#define COARSEN_EARLY 1
#endif
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

// A number: as an unsigned one that is less if it comes first, and its index.
typedef struct __attribute__((aligned(16))) {
    unsigned long long bits, index;
} COARSEN_(ranked);

// Whether a number comes before another one: of equal ones the first does.
COARSEN_DEVICE bool COARSEN_(before)(COARSEN_(ranked) a, COARSEN_(ranked) b)
{
    const COARSEN_(word) of_a = (COARSEN_(word))a.bits, of_b = (COARSEN_(word))b.bits;
    return of_a < of_b || (of_a == of_b && a.index < b.index);
}

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

// Numbers to take the first k of, or parts of a row, each of which has the key of its first number. i has the number
// i or, where there are numbers, numbers[i >> log] and the last `log` bits of i.
typedef struct {
    const COARSEN_(word) * keys;
    const unsigned long long *numbers;
    unsigned int log, count;
} COARSEN_(keyed);

// What is up to an edge has a lesser key, or the same and a number that is not greater.
typedef struct {
    COARSEN_(word) key;
    unsigned long long number;
} COARSEN_(edge);

typedef struct {
    unsigned int bins[COARSEN_BINS], sums[32];
    unsigned long long low[32], high[32];
    unsigned int bin, before, inside; // see NAME_pick
    unsigned int count, base;
    bool is_last;
} COARSEN_(shared);

COARSEN_DEVICE unsigned long long COARSEN_(number_of)(COARSEN_(keyed) list, unsigned int i)
{
    return list.numbers ? list.numbers[i >> list.log] << list.log | (i & ((1u << list.log) - 1))
                        : i;
}

COARSEN_DEVICE bool COARSEN_(upto)(COARSEN_(edge) edge, COARSEN_(word) key,
                                   unsigned long long number)
{
    return key < edge.key || (key == edge.key && number <= edge.number);
}

// Keys first, first + blockDim.x ... of a list, COARSEN_KEYS, so that as many loads are in flight.
COARSEN_DEVICE void COARSEN_(load_keys)(COARSEN_(keyed) list, unsigned int first,
                                        COARSEN_(word) * keys)
{
#pragma unroll
    for (unsigned int r = 0; r < COARSEN_KEYS; r++)
        if (first + r * blockDim.x < list.count)
            keys[r] = list.keys[first + r * blockDim.x];
}

// The least and the greatest of what all threads have.
COARSEN_DEVICE void COARSEN_(bounds)(COARSEN_(shared) * shared, unsigned long long *low,
                                     unsigned long long *high)
{
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2) {
        const unsigned long long least = __shfl_xor_sync(0xffffffff, *low, delta);
        const unsigned long long greatest = __shfl_xor_sync(0xffffffff, *high, delta);
        *low = least < *low ? least : *low;
        *high = greatest > *high ? greatest : *high;
    }
    if (threadIdx.x % 32 == 0) {
        shared->low[threadIdx.x / 32] = *low;
        shared->high[threadIdx.x / 32] = *high;
    }
    __syncthreads();
    for (unsigned int w = 0; w < blockDim.x / 32; w++) {
        *low = shared->low[w] < *low ? shared->low[w] : *low;
        *high = shared->high[w] > *high ? shared->high[w] : *high;
    }
}

// Finds the bin that has the k-th, how many the bins before it have, and how many it has.
COARSEN_DEVICE void COARSEN_(pick)(COARSEN_(shared) * shared, unsigned int k)
{
    const unsigned int each = (COARSEN_BINS + blockDim.x - 1) / blockDim.x;
    unsigned int bin = threadIdx.x * each, sum = 0;
    for (unsigned int b = bin; b < bin + each && b < COARSEN_BINS; b++)
        sum += shared->bins[b];
    unsigned int before = sum;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int other = __shfl_up_sync(0xffffffff, before, delta);
        before += threadIdx.x % 32 >= delta ? other : 0;
    }
    if (threadIdx.x % 32 == 31)
        shared->sums[threadIdx.x / 32] = before;
    __syncthreads();
    before -= sum;
    for (unsigned int w = 0; w < threadIdx.x / 32; w++)
        before += shared->sums[w];
    if (before < k && before + sum >= k) {
        while (before + shared->bins[bin] < k)
            before += shared->bins[bin++];
        shared->bin = bin;
        shared->before = before;
        shared->inside = shared->bins[bin];
    }
    __syncthreads();
}

// An edge up to which k of a list are, or a few more, but not more than `enough`: by the keys' leading digits, among what
// has the same digits by the next ones, and so on; and among equal keys by those of the numbers. Of the range that there is, so
// that the first digit tells most.
COARSEN_UNUSED static __device__ __noinline__ COARSEN_(edge)
    COARSEN_(find)(COARSEN_(shared) * shared, COARSEN_(keyed) list, unsigned int k,
                   unsigned int enough)
{
    COARSEN_(edge) edge = {COARSEN_ALL, ~0ULL};
    bool found = list.count <= enough;
    for (bool ties = false; !found; ties = true) {
        unsigned long long low = ~0ULL, high = 0;
        for (unsigned int i = threadIdx.x; i < list.count; i += COARSEN_KEYS * blockDim.x) {
            COARSEN_(word) keys[COARSEN_KEYS];
            COARSEN_(load_keys)(list, i, keys);
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_KEYS; r++) {
                const unsigned int at = i + r * blockDim.x;
                if (at < list.count && (!ties || keys[r] == edge.key)) {
                    const unsigned long long value = ties ? COARSEN_(number_of)(list, at) : keys[r];
                    low = value < low ? value : low;
                    high = value > high ? value : high;
                }
            }
        }
        COARSEN_(bounds)(shared, &low, &high);
        for (unsigned int shift = 1; shift > 0 && !found;) {
            const unsigned int bits = 64 - (unsigned int)__clzll((long long)(high - low));
            shift = bits > COARSEN_BIN_BITS ? bits - COARSEN_BIN_BITS : 0;
            for (unsigned int b = threadIdx.x; b < COARSEN_BINS; b += blockDim.x)
                shared->bins[b] = 0;
            __syncthreads();
            for (unsigned int i = threadIdx.x; i < list.count; i += COARSEN_KEYS * blockDim.x) {
                COARSEN_(word) keys[COARSEN_KEYS];
                COARSEN_(load_keys)(list, i, keys);
#pragma unroll
                for (unsigned int r = 0; r < COARSEN_KEYS; r++) {
                    const unsigned int at = i + r * blockDim.x;
                    if (at < list.count && (!ties || keys[r] == edge.key)) {
                        const unsigned long long value =
                            ties ? COARSEN_(number_of)(list, at) : keys[r];
                        if (value >= low && value <= high)
                            atomicAdd(&shared->bins[(value - low) >> shift], 1u);
                    }
                }
            }
            __syncthreads();
            COARSEN_(pick)(shared, k);
            low += (unsigned long long)shared->bin << shift;
            if (high - low > (1ULL << shift) - 1) // high may be the greatest that there is
                high = low + ((1ULL << shift) - 1);
            k -= shared->before;
            enough -= shared->before;
            found = shared->inside <= enough;
        }
        if (ties)
            edge.number = high;
        else
            edge.key = (COARSEN_(word))high;
    }
    return edge;
}

// ---- a row, by blocks ---------------------------------------------------------------------------------

// Where a matrix is, and where its results go.
typedef struct {
    const COARSEN_TYPE *in;
    size_t pitch, rows, width;
    COARSEN_TYPE *out;
    COARSEN_INDEX *out_indices;
} COARSEN_(matrix);

// What blocks do with it.
typedef struct {
    unsigned int k, enough; // see NAME_find
    unsigned int most;      // keys of a list of parts
    unsigned int room;      // of candidates
    unsigned int first,
        by; // logarithms of the vectors of a part at level 0, and of what they become less by
    unsigned int parts; // blocks of a row
    bool direct;        // whether the row itself is the list
    unsigned int *states;
    char *lists;
    size_t bytes; // of the lists of a row
} COARSEN_(plan);

// Lists of a row: of parts by level, two that take turns, and of candidates.
typedef struct {
    unsigned long long *numbers, *indices;
    COARSEN_(word) * keys, *candidates;
    unsigned int *arrived, *found, *chosen; // the latter two by level
} COARSEN_(lists);

COARSEN_DEVICE COARSEN_(lists) COARSEN_(lists_of)(COARSEN_(plan) plan, size_t slot)
{
    COARSEN_(lists) lists;
    lists.arrived = plan.states + slot * COARSEN_STATE;
    lists.found = lists.arrived + 1;
    lists.chosen = lists.found + COARSEN_LEVELS;
    lists.indices = (unsigned long long *)(plan.lists + slot * plan.bytes);
    lists.numbers = lists.indices + (plan.direct ? 0 : plan.room);
    lists.keys = (COARSEN_(word) *)(lists.numbers + (plan.direct ? 0 : 2 * plan.enough));
    lists.candidates = lists.keys + 2 * plan.most;
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

// What a block reads of a row at a level: parts of 2^log vectors, whose numbers are in shared memory; or, at level 0, with
// the row's other blocks, all of it.
typedef struct {
    const unsigned long long *numbers; // or NULL
    size_t vectors;                    // of all
    unsigned int log, child;           // logarithms of the vectors of a part, and of a part's parts
    COARSEN_(word) * keys;             // of these, or NULL
} COARSEN_(share);

// Which vector of the row is vector v of a share.
COARSEN_DEVICE size_t COARSEN_(vector_of)(COARSEN_(share) share, size_t v)
{
    return (size_t)share.numbers[v >> share.log] << share.log |
           (v & (((size_t)1 << share.log) - 1));
}

// Of vectors first, first + 32 ... before end, the least key of each, or all ones: of a warp's lane.
COARSEN_DEVICE void COARSEN_(least_of_share)(COARSEN_(row) row, COARSEN_(share) share, size_t first,
                                             size_t end, COARSEN_(word) * least,
                                             const unsigned int each, const bool listed)
{
    const COARSEN_(vector) *const vectors = (const COARSEN_(vector) *)(row.in - row.lead);
    const unsigned int lane = threadIdx.x % 32;
    COARSEN_(vector) load[COARSEN_ROWS];
    size_t at[COARSEN_ROWS];
    const bool whole =
        !listed && first >= row.first && first + each * 32 <= coarsen_min(row.last, end);
#pragma unroll
    for (unsigned int c = 0; c < each; c++) {
        const size_t v = first + c * 32 + lane;
        at[c] = v < end && v < share.vectors ? v : row.vectors;
        if (listed && at[c] < row.vectors)
            at[c] = COARSEN_(vector_of)(share, v);
        if (whole || (at[c] >= row.first && at[c] < row.last))
            load[c] = vectors[whole ? v : at[c]];
    }
#pragma unroll
    for (unsigned int c = 0; c < each; c++) {
        least[c] = COARSEN_ALL;
        if (whole || (at[c] >= row.first && at[c] < row.last)) {
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                least[c] = COARSEN_(lesser)(least[c], COARSEN_(key)(load[c].item[j]));
        } else if (at[c] < row.vectors) { // where the row begins or ends
#pragma unroll 1
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
                const size_t i = at[c] * COARSEN_ITEMS + j - row.lead;
                if (i < row.width)
                    least[c] = COARSEN_(lesser)(least[c], COARSEN_(key)(row.in[i]));
            }
        }
    }
}

// Leaves the least key of each part's parts that end among these vectors. running: of the one that does not.
COARSEN_DEVICE void COARSEN_(leave_least)(COARSEN_(share) share, size_t first, size_t end,
                                          const COARSEN_(word) * least, COARSEN_(word) * running,
                                          const unsigned int each)
{
    const size_t rows = share.child > 5 ? (size_t)1 << (share.child - 5) : 1;
    const unsigned int lanes = share.child > 5 ? 32 : 1u << share.child, lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned int c = 0; c < each; c++) {
        *running = rows > 1 ? COARSEN_(lesser)(*running, least[c]) : least[c];
        if (first + c * 32 < end && ((first / 32 + c + 1) & (rows - 1)) == 0) {
            for (unsigned int delta = lanes / 2; delta > 0; delta /= 2)
                *running =
                    COARSEN_(lesser)(*running, __shfl_xor_sync(0xffffffff, *running, (int)delta));
            const size_t child = (first + c * 32 + lane) >> share.child;
            if (lane % lanes == 0 && child << share.child < share.vectors)
                share.keys[child] = *running;
            *running = COARSEN_ALL;
        }
    }
}

// Of a vector, a bit for each element up to the edge.
COARSEN_DEVICE unsigned int COARSEN_(mask)(COARSEN_(row) row, size_t vector, unsigned int log,
                                           COARSEN_(edge) edge)
{
    unsigned int mask = 0;
#pragma unroll 1
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
        const size_t i = vector * COARSEN_ITEMS + j - row.lead;
        if (i < row.width && COARSEN_(upto)(edge, COARSEN_(key)(row.in[i]), vector >> log))
            mask |= 1u << j;
    }
    return mask;
}

// Appends the elements up to the edge of these vectors to the candidates, and says if there is no more room.
COARSEN_DEVICE bool COARSEN_(append_upto)(COARSEN_(row) row, COARSEN_(share) share, size_t first,
                                          const COARSEN_(word) * least, COARSEN_(edge) edge,
                                          COARSEN_(lists) lists, unsigned int *found,
                                          unsigned int room, const unsigned int each)
{
    const unsigned int lane = threadIdx.x % 32;
    unsigned int count = 0, masks[COARSEN_ROWS], place = 0;
#pragma unroll
    for (unsigned int c = 0; c < each; c++) {
        masks[c] = 0;
        if (least[c] <= edge.key && first + c * 32 + lane < share.vectors)
            masks[c] = COARSEN_(mask)(row, COARSEN_(vector_of)(share, first + c * 32 + lane),
                                      share.log, edge);
        count += (unsigned int)__popc(masks[c]);
    }
    if (!__any_sync(0xffffffff, count > 0))
        return false;
    unsigned int sum = count;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int other = __shfl_up_sync(0xffffffff, sum, delta);
        sum += lane >= delta ? other : 0;
    }
    if (lane == 31)
        place = atomicAdd(found, sum);
    place = __shfl_sync(0xffffffff, place, 31);
    if (place + __shfl_sync(0xffffffff, sum, 31) > room)
        return true;
    place += sum - count;
#pragma unroll
    for (unsigned int c = 0; c < each; c++)
        for (; masks[c] != 0; masks[c] &= masks[c] - 1) {
            const size_t vector = COARSEN_(vector_of)(share, first + c * 32 + lane);
            const size_t i =
                vector * COARSEN_ITEMS + ((unsigned int)__ffs((int)masks[c]) - 1) - row.lead;
            lists.candidates[place] = COARSEN_(key)(row.in[i]);
            lists.indices[place++] = i;
        }
    return false;
}

// Reads a share, 32 vectors a warp and `each` times that at a step: leaves the least key of each part's parts, and appends what
// is up to the edge, of parts with numbers. found: counts these.
COARSEN_DEVICE void COARSEN_(read)(COARSEN_(row) row, COARSEN_(share) share, unsigned int part,
                                   unsigned int parts, COARSEN_(edge) edge, COARSEN_(lists) lists,
                                   unsigned int *found, unsigned int room, const unsigned int each,
                                   const bool listed)
{
    const unsigned int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const size_t all = listed ? warps : (size_t)warps * parts;
    const size_t me = listed ? warp : (size_t)warp * parts + part;
    size_t task = each * 32; // of a warp: few if there are few, but whole parts of parts
    while (task > 32 && share.vectors < task * all)
        task /= 2;
    task = share.child > 5 && task >> share.child == 0 ? (size_t)1 << share.child : task;
    bool full = false;
    for (size_t begin = me * task; begin < share.vectors; begin += all * task) {
        COARSEN_(word) running = COARSEN_ALL;
        for (size_t first = begin; first < begin + task; first += each * 32) {
            COARSEN_(word) least[COARSEN_ROWS];
            COARSEN_(least_of_share)(row, share, first, begin + task, least, each, listed);
            if (share.keys)
                COARSEN_(leave_least)(share, first, begin + task, least, &running, each);
            if (listed && !full)
                full =
                    COARSEN_(append_upto)(row, share, first, least, edge, lists, found, room, each);
        }
    }
}

// ---- the sort of the first k -------------------------------------------------------------------------

// Sorts `count` numbers in shared memory, which all threads can see before and after, and gives where they are then: there, or
// `room` numbers further on, where there is room for as many. Warps sort runs of 32, a bitonic network of shuffles; then
// two runs become one: a number's place is that in its own, and how many of the other one come before it.
COARSEN_DEVICE COARSEN_(ranked) *
    COARSEN_(order)(COARSEN_(ranked) * best, unsigned int count, unsigned int room)
{
    COARSEN_(ranked) *other = best + room;
    for (unsigned int i = threadIdx.x; i - threadIdx.x % 32 < count; i += blockDim.x) {
        COARSEN_(ranked) mine = {COARSEN_ALL, ~0ULL};
        if (i < count)
            mine = best[i];
        for (unsigned int run = 2; run <= 32; run *= 2)
            for (unsigned int gap = run / 2; gap > 0; gap /= 2) {
                COARSEN_(ranked) its;
                its.bits = __shfl_xor_sync(0xffffffff, (COARSEN_(word))mine.bits, (int)gap);
                its.index = __shfl_xor_sync(0xffffffff, mine.index, (int)gap);
                if (COARSEN_(before)(its, mine) == (((i & gap) == 0) == ((i & run % 32) == 0)))
                    mine = its;
            }
        if (i < count)
            best[i] = mine;
    }
    for (unsigned int run = 32; run < count; run *= 2) {
        __syncthreads();
        for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) {
            const COARSEN_(ranked) mine = best[i];
            const unsigned int pair = i / (2 * run) * (2 * run);
            unsigned int low = i & run ? pair : (unsigned int)coarsen_min(pair + run, count);
            unsigned int place = i % run + pair - low; // with low, where the search ends
            unsigned int high = (unsigned int)coarsen_min(low + run, count);
            while (low < high) {
                const unsigned int middle = (low + high) / 2;
                if (COARSEN_(before)(best[middle], mine))
                    low = middle + 1;
                else
                    high = middle;
            }
            other[place + low] = mine;
        }
        COARSEN_(ranked) *const sorted = other;
        other = best;
        best = sorted;
    }
    __syncthreads();
    return best;
}

// Writes the first k of a list of numbers.
COARSEN_DEVICE void COARSEN_(finish)(COARSEN_(shared) * shared, COARSEN_(ranked) * best,
                                     COARSEN_(keyed) list, COARSEN_(plan) plan,
                                     COARSEN_(matrix) matrix, size_t row)
{
    COARSEN_(edge) edge = {COARSEN_ALL, ~0ULL};
    if (list.count > plan.enough)
        edge = COARSEN_(find)(shared, list, plan.k, plan.enough);
    __syncthreads();
    if (threadIdx.x == 0)
        shared->count = 0;
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < list.count; i += COARSEN_KEYS * blockDim.x) {
        COARSEN_(word) keys[COARSEN_KEYS];
        COARSEN_(load_keys)(list, i, keys);
#pragma unroll
        for (unsigned int r = 0; r < COARSEN_KEYS; r++) {
            const unsigned int at = i + r * blockDim.x;
            if (at < list.count && keys[r] <= edge.key) {
                const unsigned long long number = COARSEN_(number_of)(list, at);
                if (COARSEN_(upto)(edge, keys[r], number))
                    best[atomicAdd(&shared->count, 1u)] = {keys[r], number};
            }
        }
    }
    __syncthreads();
    best = COARSEN_(order)(best, shared->count, plan.enough);
    for (unsigned int j = threadIdx.x; j < plan.k; j += blockDim.x) {
        const size_t index = best[j].index;
        matrix.out[row * plan.k + j] = matrix.in[row * matrix.pitch + index];
        if (matrix.out_indices)
            matrix.out_indices[row * plan.k + j] = (COARSEN_INDEX)index;
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

// The logarithm of the vectors of a part of a row at a level.
COARSEN_DEVICE unsigned int COARSEN_(log_of)(COARSEN_(plan) plan, unsigned int level)
{
    const unsigned int less = level * plan.by;
    return plan.first > less ? plan.first - less : 0;
}

// A level of a row.
COARSEN_DEVICE void COARSEN_(level)(COARSEN_(shared) * shared, COARSEN_(matrix) matrix, size_t r,
                                    COARSEN_(plan) plan, COARSEN_(lists) lists, unsigned int part,
                                    unsigned int level)
{
    const COARSEN_(row) row = COARSEN_(row_of)(matrix, r);
    const unsigned int child = COARSEN_(log_of)(plan, level);
    if (part == 0 && threadIdx.x == 0 && level + 1 < COARSEN_LEVELS)
        lists.found[level + 1] = lists.chosen[level + 1] = 0;
    if (level == 0) {
        const COARSEN_(share) share = {NULL, row.vectors, 0, child, lists.keys};
        const COARSEN_(edge) none = {0, 0};
        COARSEN_(read)(row, share, part, plan.parts, none, lists, NULL, 0, COARSEN_ROWS, false);
        return;
    }
    const unsigned int parent = COARSEN_(log_of)(plan, level - 1);
    COARSEN_(keyed) list = {lists.keys + (1 - level % 2) * plan.most, NULL, 0, 0};
    if (level == 1) {
        list.count = (unsigned int)coarsen_ceil_div(row.vectors, (size_t)1 << parent);
    } else {
        list.numbers = lists.numbers + (1 - level % 2) * plan.enough;
        list.log = COARSEN_(log_of)(plan, level - 2) - parent;
        list.count = *(volatile unsigned int *)(lists.chosen + level - 1) << list.log;
    }
    const COARSEN_(edge) edge = COARSEN_(find)(shared, list, plan.k, plan.enough);

    // The block's share of the parts up to the edge.
    unsigned long long *const numbers = (unsigned long long *)coarsen_shared;
    __syncthreads();
    if (threadIdx.x == 0)
        shared->count = 0;
    __syncthreads();
    for (unsigned int i = part + plan.parts * threadIdx.x; i < list.count;
         i += plan.parts * blockDim.x) {
        const COARSEN_(word) key = list.keys[i];
        if (key <= edge.key) {
            const unsigned long long number = COARSEN_(number_of)(list, i);
            if (COARSEN_(upto)(edge, key, number))
                numbers[atomicAdd(&shared->count, 1u)] = number;
        }
    }
    __syncthreads();
    const unsigned int count = shared->count;
    COARSEN_(share) share = {numbers, (size_t)count << parent, parent, child, NULL};
    if (parent > 0) {
        if (threadIdx.x == 0)
            shared->base = atomicAdd(lists.chosen + level, count);
        __syncthreads();
        const unsigned int base = shared->base;
        for (unsigned int i = threadIdx.x; i < count; i += blockDim.x)
            lists.numbers[level % 2 * plan.enough + base + i] = numbers[i];
        share.keys = lists.keys + level % 2 * plan.most + ((size_t)base << (parent - child));
    }
    COARSEN_(read)
    (row, share, part, plan.parts, edge, lists, lists.found + level, plan.room,
     COARSEN_ROWS < 4 ? COARSEN_ROWS : 4, true);

    if (plan.parts > 1 && !COARSEN_(last_part)(shared, lists.arrived, plan.parts))
        return;
    __syncthreads();
    const unsigned int found = *(volatile unsigned int *)(lists.found + level);
    if (found <= plan.room) {
        const COARSEN_(keyed) candidates = {lists.candidates, lists.indices, 0, found};
        COARSEN_(finish)
        (shared, (COARSEN_(ranked) *)coarsen_shared, candidates, plan, matrix, r);
    }
}

// Levels from one to another of each row. One block of a multiprocessor may be all: with registers for two, nvcc 13 spills.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(kernel)(COARSEN_(matrix) matrix, COARSEN_(plan) plan, unsigned int from,
                     unsigned int to)
{
    __shared__ COARSEN_(shared) shared;
    COARSEN_(follow)();
    if (COARSEN_EARLY)
        COARSEN_(let_next)();
    for (size_t r = blockIdx.x / plan.parts; r < matrix.rows; r += gridDim.x / plan.parts) {
        const COARSEN_(lists) lists =
            COARSEN_(lists_of)(plan, plan.parts > 1 ? r : (size_t)blockIdx.x);
        __syncthreads(); // the row before is done
        if (plan.direct) {
            const COARSEN_TYPE *const in = matrix.in + r * matrix.pitch;
            const unsigned int width = (unsigned int)matrix.width;
            for (unsigned int i = threadIdx.x; i < width; i += COARSEN_KEYS * blockDim.x) {
                COARSEN_TYPE number[COARSEN_KEYS];
#pragma unroll
                for (unsigned int a = 0; a < COARSEN_KEYS; a++)
                    if (i + a * blockDim.x < width)
                        number[a] = in[i + a * blockDim.x];
#pragma unroll
                for (unsigned int a = 0; a < COARSEN_KEYS; a++)
                    if (i + a * blockDim.x < width)
                        lists.keys[i + a * blockDim.x] = COARSEN_(key)(number[a]);
            }
            __syncthreads();
            const COARSEN_(keyed) list = {lists.keys, NULL, 0, width};
            COARSEN_(finish)(&shared, (COARSEN_(ranked) *)coarsen_shared, list, plan, matrix, r);
            continue;
        }
        for (unsigned int level = from; level <= to; level++) {
            bool ended = false;
            for (unsigned int l = 1; l < level && !ended; l++)
                ended = *(volatile unsigned int *)(lists.found + l) <= plan.room;
            if (ended)
                break;
            COARSEN_(level)(&shared, matrix, r, plan, lists, blockIdx.x % plan.parts, level);
            __syncthreads();
        }
    }
}

// ---- a row, by a warp ---------------------------------------------------------------------------------

// Elements [from, to) of a tile, whose first one would be in[first]. A thread has COARSE_FACTOR vectors of it.
typedef struct {
    const COARSEN_TYPE *in;
    size_t first;
    unsigned int from, to;
} COARSEN_(tile);

// Of a tile that `threads` have: the least bits of the elements of the thread's vectors c with the same c % each, or all
// ones.
COARSEN_DEVICE void COARSEN_(least)(COARSEN_(tile) tile, unsigned int thread, unsigned int threads,
                                    COARSEN_(word) * least, const unsigned int each)
{
    const unsigned int stride = threads * COARSEN_ITEMS, mine = thread * COARSEN_ITEMS;
#pragma unroll
    for (unsigned int i = 0; i < each; i++)
        least[i] = COARSEN_ALL;
    const COARSEN_(vector) *const vectors =
        (const COARSEN_(vector) *)(tile.in + (tile.first + mine));
    COARSEN_(vector) load[COARSE_FACTOR];
    if (tile.from == 0 && tile.to == COARSE_FACTOR * stride) {
#pragma unroll
        for (unsigned int c = 0; c < COARSE_FACTOR; c++)
            load[c] = vectors[c * threads];
#pragma unroll
        for (unsigned int c = 0; c < COARSE_FACTOR; c++)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                least[c % each] = COARSEN_(lesser)(least[c % each], COARSEN_(key)(load[c].item[j]));
        return;
    }
    // A warp waits for all at once. A block has few tiles that are not full, and few registers.
#pragma unroll
    for (unsigned int c = 0; c < COARSE_FACTOR; c++) {
        const unsigned int e = c * stride + mine;
        if (each > 1 && e >= tile.from && e + COARSEN_ITEMS <= tile.to)
            load[c] = vectors[c * threads];
    }
#pragma unroll
    for (unsigned int c = 0; c < COARSE_FACTOR; c++) {
        const unsigned int e = c * stride + mine;
        if (e >= tile.from && e + COARSEN_ITEMS <= tile.to) {
            if (each == 1)
                load[c] = *(const COARSEN_(vector) *)(tile.in + (tile.first + e));
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                least[c % each] = COARSEN_(lesser)(least[c % each], COARSEN_(key)(load[c].item[j]));
        } else if (e < tile.to) { // where the part begins or ends
#pragma unroll 1
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                if (e + j >= tile.from && e + j < tile.to)
                    least[c % each] = COARSEN_(lesser)(
                        least[c % each], COARSEN_(key)(tile.in[tile.first + (e + j)]));
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
#if COARSEN_PTX >= 800
    return __reduce_add_sync(0xffffffff, count);
#else
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2)
        count += __shfl_xor_sync(0xffffffff, count, delta);
    return count;
#endif
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
            COARSEN_(least)(tile, lane, 32, of_step, COARSE_FACTOR);
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
// Bytes of the states of all rows that are in the works.
COARSEN_HOST size_t COARSEN_(states_bytes)(size_t processors)
{
    return (processors * COARSEN_BLOCKS * COARSEN_STATE * sizeof(unsigned int) + 15) / 16 * 16;
}

// The lists of a row, of which as many blocks as there are take a part, if `wide`; or one. Sets their lengths.
COARSEN_HOST void COARSEN_(plan_lists)(COARSEN_(plan) * plan, size_t width, size_t k, bool wide)
{
    plan->k = (unsigned int)k;
    plan->enough = COARSEN_ENOUGH(plan->k);
    plan->most = COARSEN_FANOUT * plan->enough;
    if (wide && plan->most < 4 * COARSEN_PART)
        plan->most = 4 * COARSEN_PART;
    plan->room =
        COARSEN_ITEMS * plan->enough > COARSEN_PART ? COARSEN_ITEMS * plan->enough : COARSEN_PART;
    plan->direct = width <= plan->most;
    const size_t keys = plan->direct ? width : 2 * (size_t)plan->most + plan->room;
    const size_t numbers = plan->direct ? 0 : 2 * (size_t)plan->enough + plan->room;
    plan->bytes = (keys * sizeof(COARSEN_(word)) + numbers * 8 + 15) / 16 * 16;
}

// Whether a warp or less has a row.
COARSEN_HOST bool COARSEN_(is_short)(size_t width, size_t k)
{
    return width <= COARSEN_SHORT || (k <= COARSEN_WARP_K && width <= COARSEN_PART);
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t rows, size_t width, size_t k)
{
    cudaError_t status;
    const size_t most = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status) * COARSEN_BLOCKS;
    COARSEN_(plan) few = {}, many = {};
    if (rows == 0 || k == 0 || COARSEN_(is_short)(width, k))
        return 0;
    k = coarsen_min(k, COARSEN_MOST_K);
    COARSEN_(plan_lists)(&few, width, k, true);
    COARSEN_(plan_lists)(&many, width, k, false);
    const size_t of_few = coarsen_min(rows, most / 2) * few.bytes;
    const size_t of_many = coarsen_min(rows, most) * many.bytes;
    return COARSEN_(states_bytes)(most / COARSEN_BLOCKS) + (of_few > of_many ? of_few : of_many);
}

// Threads of a block that has rows: so many that they have a row, and one for each of the k.
COARSEN_HOST unsigned int COARSEN_(threads)(size_t width, size_t k)
{
    size_t threads = 32;
    while (threads < BLOCK_DIM &&
           (threads < k || (threads < 512 && threads * COARSE_FACTOR * COARSEN_ITEMS < width)))
        threads *= 2;
    return (unsigned int)coarsen_min(threads, BLOCK_DIM);
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
        (width <= COARSEN_PART || rows >= COARSEN_RESIDENT * processors)) {
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

    COARSEN_(plan) plan = {};
    const bool wide = rows <= processors * COARSEN_BLOCKS / 2;
    COARSEN_(plan_lists)(&plan, width, k, wide);
    plan.states = (unsigned int *)scratch;
    plan.lists = (char *)scratch + COARSEN_(states_bytes)(processors);
    while (plan.enough << (plan.by + 1) <= plan.most)
        plan.by++;
    // With the vectors that a row has at the most, wherever it begins.
    while ((((width + 2 * COARSEN_ITEMS - 2) / COARSEN_ITEMS - 1) >> plan.first) >= plan.most)
        plan.first++;
    const unsigned int threads = wide ? BLOCK_DIM : COARSEN_(threads)(width, k);
    const size_t bytes = 2 * plan.enough * sizeof(COARSEN_(ranked));
    if (status == cudaSuccess)
        status = coarsen_let_share((const void *)COARSEN_(kernel), bytes, sizeof(COARSEN_(shared)));
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               (int)threads, bytes);
    if (status != cudaSuccess)
        return status;
    const size_t blocks = processors * coarsen_min((size_t)resident, COARSEN_BLOCKS);
    plan.parts = 1;
    if (wide && !plan.direct)
        plan.parts = (unsigned int)coarsen_min(blocks / rows + (blocks < rows),
                                               coarsen_ceil_div(width, COARSEN_PART));
    cudaLaunchConfig_t config = coarsen_launch_config(
        plan.parts > 1 ? rows * plan.parts : coarsen_min(rows, blocks), threads, bytes, stream);
    cudaLaunchAttribute early;
    const unsigned int last = plan.first == 0 ? 1 : (plan.first + plan.by - 1) / plan.by + 1;
    if (plan.parts == 1)
        return cudaLaunchKernelEx(&config, COARSEN_(kernel), matrix, plan, 0u, last);
    for (unsigned int level = 0; level <= last && status == cudaSuccess; level++) {
        status = cudaLaunchKernelEx(&config, COARSEN_(kernel), matrix, plan, level, level);
        if (level == 0 && status == cudaSuccess)
            status = COARSEN_(overlap)(&config, &early, (const void *)COARSEN_(kernel));
    }
    return status;
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
#undef COARSEN_FANOUT
#undef COARSEN_BIN_BITS
#undef COARSEN_BINS
#undef COARSEN_LEVELS
#undef COARSEN_STATE
#undef COARSEN_KEYS
#undef COARSEN_ROWS

#define COARSEN_END
#include "base.h"
