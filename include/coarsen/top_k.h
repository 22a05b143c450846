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
// | BLOCK_DIM          | 1024               | threads per block at the most: a multiple of 32 from 32 to 1024 |
// | COARSE_FACTOR      | 8                  | 16-byte loads a thread has in flight, from 1 to 32     |
// | COARSEN_PART       | 4096               | numbers of a long row that a block takes, at the least; 1 or more |
// Defines what block/vector.h does; NAME_kernel, for rows of more than 32 numbers, and NAME_short_kernel; and
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
// How: a block reads its part of a row in tiles, and keeps candidates in shared memory. A thread takes the first of its
// numbers of a tile, and one vote tells whether any thread has a candidate: one whose bits are up to the edge. Where many
// have, as in the first tile, k threads whose firsts are up to some bits make these the edge; warps rank what their
// lanes have, and the block bisects if that lets too many pass. What passes is read again, from the cache, and
// appended. When there is no more room, the candidates are sorted, the first k stay, and the last of them is the edge. A
// later number that equals it comes after it, so equal numbers do not pass again.
//     a row of up to 32 numbers   some lanes of a warp: each counts how many numbers come before its own
//     a longer row                a block, of as few as 32 threads
//     long rows, and few          several blocks, which tell each other how far k of their numbers reach, and their
//                                 first one; the last to end takes the first k of their first k
// Price saved: all passes over memory but one.
// Price paid: candidates, 16 bytes of shared memory each, up to four times as many as k and 64 or more; barriers, which
// cost most where rows are short. Where each tile is greater than all before it, candidates are sorted once per tile.
// Cost: each number read once; for rows of several blocks k numbers and indices of each, written and read.
// Source: J. Johnson, M. Douze and H. Jegou, Billion-scale similarity search with GPUs (2017), for an edge that rises as
// numbers go by, there per warp; K. E. Batcher, Sorting networks and their applications (1968), for the sort.

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
#define BLOCK_DIM 1024
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

#include "block/vector.h"

#define COARSEN_MOST_K     1024                // the greatest k
#define COARSEN_SHORT      32                  // the longest row of which each lane has one number
#define COARSEN_BLOCKS     32                  // of a multiprocessor, at the most
#define COARSEN_ENOUGH(k)  ((k) + (k) / 4 + 8) // threads that may pass: fewer would take more steps
#define COARSEN_AT_ONCE    4                   // short rows that a lane has
#define COARSEN_FEW        64                  // candidates that are sorted by counting
// Vectors of a thread that a mask of 32 bits has.
#define COARSEN_GROUP      (COARSE_FACTOR * COARSEN_ITEMS <= 32 ? COARSE_FACTOR : 32 / COARSEN_ITEMS)
// Of scratch, for each block: a counter, and two words.
#define COARSEN_TOLD_BYTES (sizeof(unsigned int) + 2 * sizeof(unsigned long long))

// A number: as an unsigned one that is less if it comes first, and its index.
typedef struct __attribute__((aligned(16))) {
    unsigned long long bits, index;
} COARSEN_(ranked);

// Whether a number comes before another one: of equal ones the first does.
COARSEN_DEVICE bool COARSEN_(before)(COARSEN_(ranked) a, COARSEN_(ranked) b)
{
    return a.bits < b.bits || (a.bits == b.bits && a.index < b.index);
}

// What base.h's NAME_bits gives, of a float in fewer instructions: three.
COARSEN_DEVICE unsigned long long COARSEN_(key)(COARSEN_TYPE number)
{
    if (sizeof(COARSEN_TYPE) != 4 || (COARSEN_TYPE)0.5 == (COARSEN_TYPE)0)
        return COARSEN_(bits)(number);
    unsigned int bits = 0;
    memcpy(&bits, (const void *)&number, sizeof(number) == 4 ? 4 : 0);
    bits ^= (unsigned int)((int)bits >> 31) >> 1;
    return COARSEN_DESCENDING ? 0x807ffffeu - bits : bits + 0x7f800001u;
}

// The lesser of two numbers' bits, which the compiler does not know to be 32 where they are.
COARSEN_DEVICE unsigned long long COARSEN_(lesser)(unsigned long long a, unsigned long long b)
{
    if (sizeof(COARSEN_TYPE) <= 4)
        return (unsigned int)a < (unsigned int)b ? (unsigned int)a : (unsigned int)b;
    return a < b ? a : b;
}

// ---- a part of a row, by a block ----------------------------------------------------------------------

// Elements [from, to) of a tile, whose first one would be in[first]. A thread has COARSE_FACTOR vectors of it.
typedef struct {
    const COARSEN_TYPE *in;
    size_t first;
    unsigned int from, to;
} COARSEN_(tile);

// The least bits among the thread's elements; or all ones, if it has none.
COARSEN_DEVICE unsigned long long COARSEN_(least)(COARSEN_(tile) tile)
{
    const unsigned int stride = blockDim.x * COARSEN_ITEMS, mine = threadIdx.x * COARSEN_ITEMS;
    unsigned long long least = ~0ULL >> (64 - 8 * sizeof(COARSEN_TYPE));
    if (tile.from == 0 && tile.to == COARSE_FACTOR * stride) {
        const COARSEN_(vector) *const vectors =
            (const COARSEN_(vector) *)(tile.in + (tile.first + mine));
        COARSEN_(vector) load[COARSE_FACTOR];
#pragma unroll
        for (unsigned int c = 0; c < COARSE_FACTOR; c++)
            load[c] = vectors[c * blockDim.x];
#pragma unroll
        for (unsigned int c = 0; c < COARSE_FACTOR; c++)
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                least = COARSEN_(lesser)(least, COARSEN_(key)(load[c].item[j]));
        return least;
    }
#pragma unroll
    for (unsigned int c = 0; c < COARSE_FACTOR; c++) {
        const unsigned int e = c * stride + mine;
        if (e >= tile.from && e + COARSEN_ITEMS <= tile.to) {
            const COARSEN_(vector) load = *(const COARSEN_(vector) *)(tile.in + (tile.first + e));
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                least = COARSEN_(lesser)(least, COARSEN_(key)(load.item[j]));
        } else if (e < tile.to) { // where the part begins or ends
#pragma unroll 1
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                if (e + j >= tile.from && e + j < tile.to)
                    least = COARSEN_(lesser)(least, COARSEN_(key)(tile.in[tile.first + (e + j)]));
        }
    }
    return least;
}

// Whether bits are not greater than an edge.
COARSEN_DEVICE bool COARSEN_(upto)(unsigned long long bits, unsigned long long edge)
{
    return sizeof(COARSEN_TYPE) <= 4 ? (unsigned int)bits <= (unsigned int)edge : bits <= edge;
}

// Of the thread's vectors from c on, as many as have 32 elements: a bit for each element up to the edge.
COARSEN_DEVICE unsigned int COARSEN_(mask)(COARSEN_(tile) tile, unsigned int c,
                                           unsigned long long edge)
{
    unsigned int mask = 0;
#pragma unroll
    for (unsigned int g = 0; g < COARSEN_GROUP; g++) {
        const unsigned int e = ((c + g) * blockDim.x + threadIdx.x) * COARSEN_ITEMS;
        if (e >= tile.from && e + COARSEN_ITEMS <= tile.to) {
            const COARSEN_(vector) load = *(const COARSEN_(vector) *)(tile.in + (tile.first + e));
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                if (COARSEN_(upto)(COARSEN_(key)(load.item[j]), edge))
                    mask |= 1u << (g * COARSEN_ITEMS + j);
        } else if (e < tile.to) {
#pragma unroll 1
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                if (e + j >= tile.from && e + j < tile.to &&
                    COARSEN_(upto)(COARSEN_(key)(tile.in[tile.first + (e + j)]), edge))
                    mask |= 1u << (g * COARSEN_ITEMS + j);
        }
    }
    return mask;
}

// Sorts `count` numbers in shared memory, of which there is room for the next power of two. All threads can see them
// before and after. Of a few, each thread counts how many come before its own; of more, a bitonic network.
COARSEN_DEVICE void COARSEN_(order)(COARSEN_(ranked) * best, unsigned int count)
{
    if (count <= COARSEN_FEW && count <= blockDim.x) {
        COARSEN_(ranked) mine = {0, 0};
        unsigned int place = 0;
        if (threadIdx.x < count) {
            mine = best[threadIdx.x];
            for (unsigned int i = 0; i < count; i++)
                place += COARSEN_(before)(best[i], mine);
        }
        __syncthreads();
        if (threadIdx.x < count)
            best[place] = mine;
        __syncthreads();
        return;
    }
    unsigned int length = 2;
    while (length < count)
        length *= 2;
    for (unsigned int i = count + threadIdx.x; i < length; i += blockDim.x)
        best[i].bits = best[i].index = ~0ULL;
    __syncthreads();
    for (unsigned int run = 2; run <= length; run *= 2)
        for (unsigned int step = run / 2; step > 0; step /= 2) {
            for (unsigned int i = threadIdx.x; i < length / 2; i += blockDim.x) {
                const unsigned int low = 2 * i - (i & (step - 1)), high = low + step;
                const COARSEN_(ranked) a = best[low], b = best[high];
                if (COARSEN_(before)(b, a) == ((low & run) == 0)) {
                    best[low] = b;
                    best[high] = a;
                }
            }
            __syncthreads();
        }
}

typedef struct {
    unsigned long long low[BLOCK_DIM / 32], high[BLOCK_DIM / 32],
        other;          // see NAME_bracket, NAME_exchange
    unsigned int count; // of candidates
    bool is_last;
} COARSEN_(shared);

// Bounds of the bits up to which k of the threads that pass have some: the least bits of all; and the greatest of those
// that fewer than k / warps of their own warp are before, as then each warp has as many up to there, or all ones.
COARSEN_DEVICE void COARSEN_(bracket)(COARSEN_(shared) * shared, bool passes,
                                      unsigned long long least, unsigned int k,
                                      unsigned long long *low, unsigned long long *high)
{
    const unsigned int warps = blockDim.x / 32, warp = threadIdx.x / 32;
    const unsigned int mine = k <= 32 * warps ? (k + warps - 1) / warps : 32;
    least = passes ? least : ~0ULL >> (64 - 8 * sizeof(COARSEN_TYPE));
    const unsigned int equal = sizeof(COARSEN_TYPE) <= 4
                                   ? __match_any_sync(0xffffffff, (unsigned int)least)
                                   : __match_any_sync(0xffffffff, least);
    unsigned int place = (unsigned int)__popc(equal & ((1u << threadIdx.x % 32) - 1));
#pragma unroll 8
    for (int lane = 0; lane < 32; lane++)
        if (sizeof(COARSEN_TYPE) <= 4)
            place += __shfl_sync(0xffffffff, (unsigned int)least, lane) < (unsigned int)least;
        else
            place += __shfl_sync(0xffffffff, least, lane) < least;
    if (place == 0)
        shared->low[warp] = least;
    if (place == mine - 1)
        shared->high[warp] = least;
    __syncthreads();
    *low = shared->low[0];
    *high = shared->high[0];
    for (unsigned int w = 1; w < warps; w++) {
        *low = shared->low[w] < *low ? shared->low[w] : *low;
        *high = shared->high[w] > *high ? shared->high[w] : *high;
    }
    __syncthreads();
}

// Of the threads that pass, k or more with bits up to `edge`, the bits up to which k of them have some, and few others.
// passing: how many pass; then, how many have some up to there.
COARSEN_DEVICE unsigned long long COARSEN_(narrow)(COARSEN_(shared) * shared, bool passes,
                                                   unsigned long long least, unsigned int k,
                                                   unsigned long long edge, unsigned int *passing)
{
    unsigned long long low, high;
    COARSEN_(bracket)(shared, passes, least, k, &low, &high);
    for (unsigned long long middle = high < edge ? high : edge;; middle = low + (edge - low) / 2) {
        const unsigned int some =
            (unsigned int)__syncthreads_count(passes && COARSEN_(upto)(least, middle));
        if (some >= k) {
            edge = middle;
            *passing = some;
        } else {
            low = middle + 1;
        }
        if (*passing <= COARSEN_ENOUGH(k) || low >= edge)
            return edge;
    }
}

// The same among those whose least bits are the edge: the index up to which the first of these is, of k with those
// whose bits are less.
COARSEN_DEVICE unsigned long long COARSEN_(narrow_ties)(COARSEN_(tile) tile, bool passes,
                                                        unsigned long long least, unsigned int k,
                                                        unsigned long long edge)
{
    unsigned int first = 0, low = 0, high = tile.to - 1;
    if (passes && least == edge)
        for (unsigned int q = 0;; q++) {
            first =
                (q / COARSEN_ITEMS * blockDim.x + threadIdx.x) * COARSEN_ITEMS + q % COARSEN_ITEMS;
            if (first >= tile.from && COARSEN_(key)(tile.in[tile.first + first]) == edge)
                break;
        }
    while (low < high) {
        const unsigned int middle = low + (high - low) / 2;
        const bool counts = passes && (least < edge || (least == edge && first <= middle));
        if ((unsigned int)__syncthreads_count(counts) >= k)
            high = middle;
        else
            low = middle + 1;
    }
    return tile.first + high;
}

// What blocks that share a row tell each other: inverted, so that 0 is nothing yet, how far k numbers of one block reach,
// and then the first number of each block. Either bounds the first k of the row.
COARSEN_DEVICE unsigned long long COARSEN_(exchange)(COARSEN_(shared) * shared,
                                                     unsigned long long *told, unsigned int part,
                                                     unsigned int parts, unsigned int k,
                                                     unsigned long long first,
                                                     unsigned long long upto)
{
    const unsigned long long all = ~0ULL >> (64 - 8 * sizeof(COARSEN_TYPE));
    unsigned long long low, high, least = 0;
    COARSEN_(bracket)(shared, true, first, 1, &low, &high);
    if (threadIdx.x == 0) {
        if (upto < all) // k of the block's are less, or equal to the next
            atomicMax(told, ~(upto + 1));
        atomicMax(told + 1 + part, ~low);
    }
    for (unsigned int p = threadIdx.x; p < parts; p += blockDim.x) {
        const unsigned long long word = *(volatile unsigned long long *)(told + 1 + p);
        least = word > least ? word : least;
    }
    const bool has = least != 0;
    least = ~least;
    unsigned int count = (unsigned int)__syncthreads_count(has);
    if (count >= k) {
        const unsigned long long edge = COARSEN_(narrow)(shared, has, least, k, all, &count);
        upto = edge < upto ? edge : upto;
    }
    if (threadIdx.x == 0)
        shared->other = *(volatile unsigned long long *)told;
    __syncthreads();
    const unsigned long long other = ~shared->other;
    __syncthreads();
    return other < upto ? other : upto;
}

// Leaves the first k of elements [begin, end) of in, of which there are as many or more, in best[0 ... k - 1], and
// lets all threads see them. room: of best, a power of two, more than k. told: what other parts of the row tell, or NULL;
// then those of them that are not among the first k of the row may be others.
COARSEN_DEVICE void COARSEN_(first_of)(COARSEN_(shared) * shared, COARSEN_(ranked) * best,
                                       unsigned int room, const COARSEN_TYPE *in, size_t begin,
                                       size_t end, unsigned int k, unsigned long long *told,
                                       unsigned int part, unsigned int parts)
{
    const unsigned int stride = blockDim.x * COARSEN_ITEMS;
    const unsigned int lead = (unsigned int)((size_t)(in + begin) % sizeof(COARSEN_(vector)) /
                                             sizeof(COARSEN_TYPE)); // to a vector's boundary
    const unsigned long long all = ~0ULL >> (64 - 8 * sizeof(COARSEN_TYPE));
    unsigned long long upto = all, first = all; // bits that still matter; the thread's least
    __syncthreads();
    if (threadIdx.x == 0)
        shared->count = 0;

    unsigned int turn = 0;
    for (size_t done = 0; done < end - begin + lead; done += COARSE_FACTOR * stride, turn++) {
        COARSEN_(tile) tile;
        tile.in = in;
        tile.first = begin - lead + done;
        tile.from = done == 0 ? lead : 0;
        tile.to = (unsigned int)coarsen_min(end - begin + lead - done, COARSE_FACTOR * stride);
        const unsigned long long least = COARSEN_(least)(tile);
        first = COARSEN_(lesser)(first, least);
        const bool passes = threadIdx.x * COARSEN_ITEMS < tile.to && COARSEN_(upto)(least, upto);
        unsigned int passing = (unsigned int)__syncthreads_count(passes);
        if (passing > 0) {
            // What comes after edge and last is not among the first k.
            unsigned long long edge = upto, last = ~0ULL;
            bool known = passing >= k; // that there are k up to there
            if (known) {
                edge = COARSEN_(narrow)(shared, passes, least, k, edge, &passing);
                if (passing > COARSEN_ENOUGH(k))
                    last = COARSEN_(narrow_ties)(tile, passes, least, k, edge);
            }

            const bool looks = passes && COARSEN_(upto)(least, edge);
            const unsigned int vectors = (tile.to + stride - 1) / stride; // of a thread
            unsigned int next = __any_sync(0xffffffff, looks) ? 0 : vectors, mask = 0;
            bool waits, full; // for a place; of the block
            do {
                waits = false;
                while (!__any_sync(0xffffffff, waits)) {
                    if (__any_sync(0xffffffff, mask != 0)) {
                        if (mask != 0) {
                            const unsigned int q = (unsigned int)__ffs((int)mask) - 1;
                            const unsigned int v = next - COARSEN_GROUP + q / COARSEN_ITEMS;
                            COARSEN_(ranked) one;
                            one.index = tile.first +
                                        (v * blockDim.x + threadIdx.x) * COARSEN_ITEMS +
                                        q % COARSEN_ITEMS;
                            one.bits = COARSEN_(key)(in[one.index]);
                            if (one.bits < edge || (one.bits == edge && one.index <= last)) {
                                const unsigned int place = atomicAdd(&shared->count, 1u);
                                waits = place >= room;
                                if (!waits)
                                    best[place] = one;
                            }
                            if (!waits)
                                mask &= mask - 1;
                        }
                    } else if (next < vectors) {
                        mask = looks ? COARSEN_(mask)(tile, next, edge) : 0;
                        next += COARSEN_GROUP;
                    } else {
                        break;
                    }
                }
                full = __syncthreads_or(waits);
                if (full) {
                    COARSEN_(order)(best, room);
                    edge = best[k - 1].bits;
                    last = best[k - 1].index;
                    known = true;
                    if (threadIdx.x == 0)
                        shared->count = k;
                    __syncthreads();
                }
            } while (full);
            // Of equal ones, those behind the tile come after the k.
            if (known && edge == 0)
                break;
            upto = known ? edge - 1 : upto;
        }
        // After the first and the second tile, once there are k.
        if (told && turn < 2 && shared->count >= k)
            upto = COARSEN_(exchange)(shared, told, part, parts, k, first, upto);
    }
    __syncthreads();
    COARSEN_(order)(best, shared->count);
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

// Where a matrix is, and where its results go.
typedef struct {
    const COARSEN_TYPE *in;
    size_t pitch, rows, width;
    COARSEN_TYPE *out;
    COARSEN_INDEX *out_indices;
} COARSEN_(matrix);

// parts: how many blocks share a row. Then there are as many rows as the grid has, and the first k of each part go to
// lists: their indices, and as an array like in the numbers, of which the last block takes the first k.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(COARSEN_(matrix) matrix, unsigned int k, unsigned int room, unsigned int parts,
                     unsigned int *arrived, unsigned long long *told, unsigned long long *indices,
                     COARSEN_TYPE *numbers)
{
    __shared__ COARSEN_(shared) shared;
    COARSEN_(ranked) *const best = (COARSEN_(ranked) *)coarsen_shared;
    const unsigned int part = blockIdx.x % parts;
    const size_t vectors = matrix.width / COARSEN_ITEMS, each = vectors / parts,
                 more = vectors % parts; // whole vectors: parts of a row that is aligned are, too
    for (size_t row = blockIdx.x / parts; row < matrix.rows; row += gridDim.x / parts) {
        const COARSEN_TYPE *in = matrix.in + row * matrix.pitch;
        size_t begin = (part * each + coarsen_min(part, more)) * COARSEN_ITEMS;
        size_t end =
            part == parts - 1 ? matrix.width : begin + (each + (part < more)) * COARSEN_ITEMS;
        unsigned long long *const words = told + row * (parts + 1);
        const unsigned long long *from = NULL; // indices of what in has, if it is the lists
        for (;;) {
            COARSEN_(first_of)
            (&shared, best, room, in, begin, end, k, parts > 1 && !from ? words : NULL, part,
             parts);
            if (parts == 1 || from)
                break;
            const size_t lists = row * parts * k;
            for (unsigned int j = threadIdx.x; j < k; j += blockDim.x) {
                indices[lists + part * k + j] = best[j].index;
                numbers[lists + part * k + j] = in[best[j].index];
            }
            if (!COARSEN_(last_part)(&shared, arrived + row, parts))
                return;
            for (unsigned int p = threadIdx.x; p < parts + 1; p += blockDim.x)
                words[p] = 0; // for the next launch
            in = numbers + lists;
            from = indices + lists;
            begin = 0;
            end = (size_t)parts * k;
        }
        for (unsigned int j = threadIdx.x; j < k; j += blockDim.x) {
            const size_t index = best[j].index;
            matrix.out[row * k + j] = in[index];
            if (matrix.out_indices)
                matrix.out_indices[row * k + j] = (COARSEN_INDEX)(from ? from[index] : index);
        }
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
        unsigned long long bits[COARSEN_AT_ONCE];
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
            const unsigned int equal = sizeof(COARSEN_TYPE) <= 4
                                           ? __match_any_sync(0xffffffff, (unsigned int)bits[r])
                                           : __match_any_sync(0xffffffff, bits[r]);
            place[r] = (unsigned int)__popc(equal & below);
        }
#pragma unroll 4
        for (unsigned int j = 0; j < (unsigned int)matrix.width; j++)
#pragma unroll
            for (unsigned int r = 0; r < COARSEN_AT_ONCE; r++)
                if (sizeof(COARSEN_TYPE) <= 4)
                    place[r] += __shfl_sync(0xffffffff, (unsigned int)bits[r], (int)j, (int)lanes) <
                                (unsigned int)bits[r];
                else
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
// Bytes of the counters, and with them of so many lists of k.
COARSEN_HOST size_t COARSEN_(lists_bytes)(size_t processors, size_t lists, size_t k)
{
    return processors * COARSEN_BLOCKS * COARSEN_TOLD_BYTES +
           lists * k * (sizeof(unsigned long long) + sizeof(COARSEN_TYPE));
}

COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t rows, size_t width, size_t k)
{
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t most = processors * COARSEN_BLOCKS, parts = width / COARSEN_PART;
    if (parts <= 1 || rows == 0)
        return 0;
    return COARSEN_(lists_bytes)(
        processors, parts < most && rows < most ? coarsen_min(rows * parts, most) : most,
        coarsen_min(k, COARSEN_MOST_K));
}

// Threads of a block: so many that a tile of theirs has a row, and that, of so many, k say where the first k may be.
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
    const unsigned int threads = COARSEN_(threads)(width, k);
    unsigned int room = 64;
    while (room < 2048 && room < 2 * k + 64)
        room *= 2;
    const size_t bytes = room * sizeof(COARSEN_(ranked));
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               (int)threads, bytes);
    if (status != cudaSuccess)
        return status;
    const size_t blocks = processors * coarsen_min((size_t)resident, COARSEN_BLOCKS);
    const size_t most = coarsen_min(width / COARSEN_PART, width / (4 * k + COARSEN_ITEMS));
    const size_t parts =
        rows <= blocks / 2 && most > 1 ? coarsen_min(blocks / rows, most) : (size_t)1;
    unsigned int *const arrived = (unsigned int *)scratch;
    unsigned long long *const told = (unsigned long long *)(arrived + processors * COARSEN_BLOCKS);
    unsigned long long *const indices =
        (unsigned long long *)((char *)scratch + COARSEN_(lists_bytes)(processors, 0, 0));
    COARSEN_TYPE *const numbers = (COARSEN_TYPE *)(indices + (parts > 1 ? rows * parts * k : 0));
    const cudaLaunchConfig_t config = coarsen_launch_config(
        parts > 1 ? rows * parts : coarsen_min(rows, blocks), threads, bytes, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), matrix, (unsigned int)k, room,
                              (unsigned int)parts, arrived, told, indices, numbers);
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
#undef COARSEN_FEW
#undef COARSEN_ENOUGH
#undef COARSEN_AT_ONCE
#undef COARSEN_GROUP
#undef COARSEN_TOLD_BYTES

#define COARSEN_END
#include "base.h"
