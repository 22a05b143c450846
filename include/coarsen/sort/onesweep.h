// SPDX-License-Identifier: MIT
//
// coarsen/sort/onesweep.h: stable sort of keys, or of keys with values, by radix. coarsened.h + digits of 8 bits,
// counted all at once, and one kernel per digit: its blocks tell each other how many keys of each digit they have.
// out = in, in ascending order
//
//     #define COARSEN_NAME  sort_f32       // with values:
//     #define COARSEN_TYPE  float          //     #define COARSEN_VALUE int
//     #include <coarsen/sort/onesweep.h>
//
// | parameter          | default          | meaning                                                  |
// |--------------------|------------------|----------------------------------------------------------|
// | COARSEN_NAME       | required         | what every name this makes begins with                   |
// | COARSEN_TYPE       | required         | type of the keys: an integer or floating-point type of at most 8 bytes |
// | COARSEN_VALUE      | none             | type of the values, any; without it there are keys alone |
// | COARSEN_DESCENDING | 0                | 1: the greatest first                                    |
// | BLOCK_DIM          | 512 or tuned     | threads per block: a multiple of 32 from 32 to 1024      |
// | COARSE_FACTOR      | 28 or tuned; 18 if a key or value has 8 bytes, fewer if more | keys per thread and tile, from 1 to 32 |
// | COARSEN_PORTION    | 2^30             | keys that one launch of a pass takes, from 1 to 2^31     |
// | COARSEN_RANKED     | 65536            | keys that are sorted by counting, at the most, from 0 to 65536: as many as the device's multiprocessors count in less time than 16 blocks sort |
// | COARSEN_TOGETHER   | 2^20 / (6 + bytes of a key and its value) | keys that 16 blocks sort in one launch, at the most, from 0 to 2^24 |
// tuned: COARSEN_SORT_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune; of keys without values.
// Defines what block/meeting.h, block/overlap.h, block/rank.h, block/slots.h, block/sort.h, block/ticket.h and block/vector.h
// do; the kernels that NAME_launch launches: NAME_counts_kernel and, once per digit and portion, NAME_pass_kernel, or for few
// keys NAME_rank_kernel or NAME_together_kernel; and
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out,
//                             [const COARSEN_VALUE *in_values, COARSEN_VALUE *out_values,] size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch_bits(the same up to n, unsigned int first, unsigned int width,
//                                  void *scratch, size_t scratch_bytes, cudaStream_t stream)
// The second one sorts by `width` bits from bit `first` on, 0 being the lowest, of the key as an unsigned number in the
// order of the keys (NAME_bits). in, in_values: n elements each in device memory. out, out_values: likewise, apart from
// those, or the same arrays. scratch: device memory, 16-byte aligned, made ready once by NAME_scratch_init;
// each launch leaves it ready for the next, for any n. One scratch per launch that may run at the same time. A
// scratch that was not made ready ends the launch with an error (__trap), unless its first word happens to be
// small. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array, too small a scratch, bits that
// a key does not have, or values so large that shared memory cannot hold those of a quarter of a tile (take a lower
// BLOCK_DIM or COARSE_FACTOR), with nothing written; those of the runtime's device queries.
// Keys come in the order of block/sort.h: NaN behind all numbers, -0 before +0, their bits kept. Stable: keys that are
// equal keep their order, and so do their values. Deterministic.
//
// Price saved: passes over memory. A digit of 8 bits takes a read and a write of all keys, and no more: what a block must
// know of those before it comes by look-back, as in scan.h, while it sorts its tile. And the counts of all digits are
// taken in one read. A tile is sorted in shared memory, so that the keys of a digit are written side by side: the larger
// the tile, the longer these runs. So a tile is as large as registers, and the device's shared memory, let it be. Values
// follow when the keys are written, on the same way and in the same memory, so they do not make it shorter. Few keys have
// tiles of a quarter, a half or three quarters, so that more blocks have one. A digit that all keys have in common needs no
// pass, and a tile in which all keys have one digit is copied. With COARSEN_TOGETHER keys or fewer, launches would take
// longer than the sort: 16 blocks do all passes in one, and meet twice per pass. Fewer, 8448 of 32 bits with 132
// multiprocessors, need no passes and no one who waits: for each key, those that come before it are counted (block/rank.h).
// Price paid: 8 bytes of a slot per digit value and tile, twice written and read; registers for all keys of a thread.
// Cost: n keys read, and per digit in which they differ n read and n written; scratch for n keys and values, and 2 KiB per
// tile. For n keys that are counted, n^2 comparisons, and n / 32 times n keys read, from the L2 cache. Keys that one launch
// sorts need no more than 49 KiB of scratch, or 16 KiB and a copy of those that may be counted.
// Source: A. Adinets and D. Merrill, Onesweep: A Faster Least Significant Digit Radix Sort for GPUs (2022).

#ifndef COARSEN_VALUE
#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_SORT_BLOCK_DIM)
#define BLOCK_DIM COARSEN_SORT_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_SORT_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_SORT_COARSE_FACTOR
#endif
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_SORT
#include "../base.h"
#ifdef COARSEN_VALUE
#define COARSEN_PAIR_BYTES (sizeof(COARSEN_TYPE) + sizeof(COARSEN_VALUE))
#define COARSEN_ITEM_BYTES                                                                         \
    (sizeof(COARSEN_TYPE) > sizeof(COARSEN_VALUE) ? sizeof(COARSEN_TYPE) : sizeof(COARSEN_VALUE))
#else
#define COARSEN_PAIR_BYTES sizeof(COARSEN_TYPE)
#define COARSEN_ITEM_BYTES sizeof(COARSEN_TYPE)
#endif
#define COARSEN_WORDS  ((COARSEN_ITEM_BYTES + 3) / 4) // registers
#define COARSEN_FACTOR (COARSEN_WORDS == 1 ? 28 : COARSEN_WORDS <= 36 ? 36 / COARSEN_WORDS : 1)
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR COARSEN_FACTOR
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 32
#error "coarsen/sort: COARSE_FACTOR must be from 1 to 32"
#endif
#ifndef COARSEN_PORTION
#define COARSEN_PORTION ((size_t)1 << 30)
#endif
#ifndef COARSEN_RANKED
#define COARSEN_RANKED 65536
#endif
#ifndef COARSEN_TOGETHER
#define COARSEN_TOGETHER ((1 << 20) / (6 + (int)COARSEN_PAIR_BYTES))
#endif
static_assert(COARSEN_RANKED >= 0 && COARSEN_RANKED <= 65536,
              "coarsen/sort: COARSEN_RANKED must be from 0 to 65536");
static_assert(COARSEN_TOGETHER >= 0 && COARSEN_TOGETHER <= (1 << 24),
              "coarsen/sort: COARSEN_TOGETHER must be from 0 to 2^24");
static_assert(COARSEN_PORTION >= 1 && COARSEN_PORTION <= (size_t)1 << 31,
              "coarsen/sort: COARSEN_PORTION must be from 1 to 2^31");

typedef unsigned int COARSEN_(acc); // what slots hold

#include "../block/meeting.h"
#include "../block/overlap.h"
#include "../block/rank.h"
#include "../block/slots.h"
#include "../block/sort.h"
#include "../block/ticket.h"
#include "../block/vector.h"

#define COARSEN_PASSES ((unsigned int)sizeof(COARSEN_TYPE)) // at the most
// Blocks per multiprocessor. With 1024 threads each has 64 registers. From sm_100 on the compiler needs more.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define COARSEN_MANY 1
#else
#define COARSEN_MANY (1024 / BLOCK_DIM)
#endif
#define COARSEN_RESIDENT        (COARSE_FACTOR <= COARSEN_FACTOR && BLOCK_DIM >= 128 ? COARSEN_MANY : 1)
#define COARSEN_BACK            4                     // tiles that a look-back reads at a time
#define COARSEN_COPIES          (32 / COARSEN_PASSES) // of all counts, for lanes: 32 KiB in all

// The scratch, in words of 8 bytes. Before the slots there is what all launches have.
#define COARSEN_COUNTS          2 // after the tickets, and the counters of blocks and meetings
#define COARSEN_STARTS          (COARSEN_COUNTS + COARSEN_PASSES * COARSEN_RADIX)
#define COARSEN_LIVE            (COARSEN_STARTS + 16 * COARSEN_RADIX) // or the totals of 16 blocks
#define COARSEN_SLOTS           (COARSEN_LIVE + 2)

// So many quarters of COARSE_FACTOR: a tile has 1 to 4 of them as rows.
#define COARSEN_QUARTERS(count) ((COARSE_FACTOR * (count) + 3) / 4)

#define COARSEN_OTHER_BYTES     (sizeof(COARSEN_(ranking)) + 4096) // of shared memory, or fewer

// ---- the counts of all digits ---------------------------------------------------------------------------

// Of the digits from bit `first` on, how many bits pass p has.
COARSEN_HOST_DEVICE unsigned int COARSEN_(width_of)(unsigned int p, unsigned int width)
{
    return width - 8 * p < 8 ? width - 8 * p : 8;
}

// The same number, but the compiler does not know that.
COARSEN_INLINE unsigned int COARSEN_(opaque)(unsigned int number)
{
#if COARSEN_PTX
    asm volatile("" : "+r"(number));
#endif
    return number;
}

// The address of counts, in shared memory where there is such a thing, in a register: the compiler would make it anew for each
// key, which takes longer than to count one.
COARSEN_INLINE size_t COARSEN_(address_of)(unsigned int *counts)
{
#if COARSEN_PTX
    return COARSEN_(opaque)((unsigned int)__cvta_generic_to_shared(counts));
#else
    return (size_t)counts;
#endif
}

COARSEN_INLINE void COARSEN_(add_one)(size_t address)
{
#if COARSEN_PTX
    asm volatile("red.shared.add.u32 [%0], 1;" : : "r"((unsigned int)address) : "memory");
#else
    atomicAdd((unsigned int *)address, 1u);
#endif
}

// counts: the address of the lane's copy.
COARSEN_DEVICE void COARSEN_(tally)(size_t counts, COARSEN_TYPE key, unsigned int first,
                                    unsigned int width)
{
    const unsigned long long all = ~0ull >> (64 - width), bits = COARSEN_(bits)(key) >> first & all;
#pragma unroll
    for (unsigned int p = 0; p < COARSEN_PASSES; p++)
        if (8 * p < width)
            COARSEN_(add_one)
    (counts +
     (p * COARSEN_RADIX + (bits >> 8 * p) % COARSEN_RADIX) * COARSEN_COPIES * sizeof(unsigned int));
}

// Adds up a thread's share of n keys, of which so many threads, whole blocks, each have one.
COARSEN_DEVICE void COARSEN_(tally_all)(unsigned int *counts, const COARSEN_TYPE *in, size_t n,
                                        size_t thread, size_t threads, unsigned int first,
                                        unsigned int width)
{
    const COARSEN_(parts) parts = COARSEN_(split)(in, n);
    const size_t copy = COARSEN_(address_of)(counts + threadIdx.x % COARSEN_COPIES);
    for (size_t v = thread; v < parts.vectors; v += 4 * threads) {
        COARSEN_(vector) load[4];
#pragma unroll
        for (unsigned int k = 0; k < 4; k++)
            if (v + k * threads < parts.vectors)
                load[k] = parts.first[v + k * threads];
#pragma unroll
        for (unsigned int k = 0; k < 4; k++)
            if (v + k * threads < parts.vectors)
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    COARSEN_(tally)(copy, load[k].item[j], first, width);
    }
    if (thread - threadIdx.x + BLOCK_DIM == threads && threadIdx.x < parts.rest)
        COARSEN_(tally)(copy, in[COARSEN_(rest)(parts, threadIdx.x)], first, width);
}

// Adds a block's copies of the counts, 16-byte aligned, to those of all blocks.
COARSEN_DEVICE void COARSEN_(add_tally)(const unsigned int *counts, unsigned int bins,
                                        unsigned long long *sums)
{
    for (unsigned int bin = threadIdx.x; bin < bins; bin += BLOCK_DIM) {
        const uint4 *const four = (const uint4 *)(counts + bin * COARSEN_COPIES);
        unsigned int sum = 0;
#pragma unroll
        for (unsigned int c = 0; c < COARSEN_COPIES / 4; c++) { // 8 lanes read different banks
            const unsigned int turned = c + threadIdx.x * COARSEN_COPIES / 32;
            const uint4 its = four[turned % (COARSEN_COPIES / 4)];
            sum += its.x + its.y + its.z + its.w;
        }
        if (sum > 0)
            atomicAdd(sums + bin, (unsigned long long)sum);
    }
}

// A warp leaves where the first key of each digit goes, of n keys that begin at `begin`, and says whether all have one
// digit. The counts become 0, unless the starts take their place.
COARSEN_DEVICE bool COARSEN_(start)(volatile unsigned long long *counts, unsigned long long *starts,
                                    unsigned long long begin, unsigned long long n)
{
    const unsigned int lane = threadIdx.x % 32, each = COARSEN_RADIX / 32; // neighbours
    unsigned long long sum[COARSEN_RADIX / 32], total = 0;
    bool all = false;
#pragma unroll
    for (unsigned int j = 0; j < each; j++) {
        const unsigned long long its = counts[lane * each + j];
        sum[j] = total;
        total += its;
        all |= its == n;
        counts[lane * each + j] = 0; // for the next launch
    }
    unsigned long long upto = total;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned long long below = __shfl_up_sync(0xffffffff, upto, delta);
        upto += lane >= delta ? below : 0;
    }
#pragma unroll
    for (unsigned int j = 0; j < each; j++)
        starts[lane * each + j] = begin + upto - total + sum[j];
    return __any_sync(0xffffffff, all);
}

// Of passes, those in which not all keys have one digit, as bits. The others leave all keys in their places, and are not
// done, except one where the sum of all would end in the wrong array. in_place: whether the keys are where they are to
// end; an even number of passes leaves them there.
COARSEN_DEVICE unsigned int COARSEN_(live_of)(unsigned int live, unsigned int passes, bool in_place)
{
    while (live == 0 || (in_place && ((unsigned int)__popc(live) + passes) % 2 != 0)) {
        const unsigned int idle = ~live & ((1u << passes) - 1);
        live |= idle & -idle;
    }
    return live;
}

// Leaves, for each digit of each pass, where its first key goes, and empty slots.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(counts_kernel)(const COARSEN_TYPE *in, size_t n, unsigned int first,
                            unsigned int width, bool in_place, size_t slots_end,
                            unsigned long long *scratch)
{
    __shared__ unsigned int live;
    __shared__ uint4 fours[COARSEN_PASSES * COARSEN_RADIX * COARSEN_COPIES / 4];
    unsigned int *const counts = (unsigned int *)fours;
    const unsigned int bins = coarsen_ceil_div(width, 8) * COARSEN_RADIX;
    for (unsigned int i = threadIdx.x; i < bins * COARSEN_COPIES; i += BLOCK_DIM)
        counts[i] = 0;
    __syncthreads();

    const size_t threads = (size_t)gridDim.x * BLOCK_DIM;
    const size_t thread = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    // An earlier launch, of fewer keys, may have left keys there, and these may look like slots that have a value.
    for (size_t s = COARSEN_SLOTS + thread; s < slots_end; s += threads)
        scratch[s] = 0;
    COARSEN_(tally_all)(counts, in, n, thread, threads, first, width);
    __syncthreads();
    COARSEN_(add_tally)(counts, bins, scratch + COARSEN_COUNTS);
    if (!COARSEN_(last_block)((unsigned int *)(scratch + 1)))
        return;
    if (threadIdx.x == 0)
        live = 0;
    __syncthreads();
    for (unsigned int bin = threadIdx.x / 32 * COARSEN_RADIX; bin < bins; // a warp per pass
         bin += BLOCK_DIM / 32 * COARSEN_RADIX)
        if (!COARSEN_(start)(scratch + COARSEN_COUNTS + bin, scratch + COARSEN_STARTS + bin, 0,
                             n) &&
            threadIdx.x % 32 == 0)
            atomicOr(&live, 1u << bin / COARSEN_RADIX);
    __syncthreads();
    if (threadIdx.x == 0)
        scratch[COARSEN_LIVE] = COARSEN_(live_of)(live, bins / COARSEN_RADIX, in_place);
}

// ---- a pass ---------------------------------------------------------------------------------------------

// How many keys of a digit the tiles before this one have, which has `mine`. slots: of the digit.
COARSEN_DEVICE unsigned int COARSEN_(look_back)(unsigned long long *slots, unsigned int tile,
                                                unsigned int flag, unsigned int mine)
{
    unsigned int before = 0;
    for (unsigned int t = tile; t > 0;) {
        COARSEN_(slot) seen[COARSEN_BACK]; // several are under way at once
#pragma unroll
        for (unsigned int b = 0; b < COARSEN_BACK; b++)
            seen[b] = COARSEN_(peek)(slots + (size_t)(t > b ? t - 1 - b : 0) * COARSEN_RADIX);
#pragma unroll
        for (unsigned int b = 0; b < COARSEN_BACK; b++) {
            unsigned int value;
            const unsigned int kind = COARSEN_(value_of)(seen[b], &value);
            if (t == 0 || kind / 2 != flag / 2)
                break; // all is known, or it is not there yet
            before += value;
            t = kind == flag ? t - 1 : 0;
        }
    }
    if (tile > 0)
        COARSEN_(leave)(slots + (size_t)tile * COARSEN_RADIX, flag + 1, before + mine);
    return before;
}

typedef struct {
    COARSEN_(ranking) ranking;
    unsigned long long offsets[COARSEN_RADIX]; // from places in the tile to those in the array
    unsigned long long ticket;
    unsigned int tile;                // of those that look back at each other
    bool last;                        // of these
    bool live;                        // whether the pass is to be done
    COARSEN_(arrays) arrays;          // of this pass
    const unsigned long long *starts; // where the next key of each digit goes
    unsigned long long *next;         // where to leave that for the keys behind these, or NULL
    unsigned long long *slots;        // of tile 0
} COARSEN_(shared);

// Numbers of so many bits in one register. The compiler would give each its own.
COARSEN_INLINE void COARSEN_(pack)(unsigned int *packed, unsigned int k, unsigned int bits,
                                   unsigned int number)
{
    unsigned int *const word = &packed[k * bits / 32];
    *word = COARSEN_(opaque)(*word | number << k * bits % 32);
}

COARSEN_INLINE unsigned int COARSEN_(unpack)(const unsigned int *packed, unsigned int k,
                                             unsigned int bits)
{
    return packed[k * bits / 32] >> k * bits % 32 & ((1u << bits) - 1);
}

// A tile of `rows` rows, a number that the compiler knows, of which `count` keys are there; it begins with key `begin`.
COARSEN_INLINE void COARSEN_(pass)(COARSEN_(shared) * shared, size_t begin, unsigned int count,
                                   unsigned int rows, unsigned int first, unsigned int width)
{
    COARSEN_(ranking) *const ranking = &shared->ranking;
    COARSEN_TYPE *const keys = (COARSEN_TYPE *)coarsen_shared;
    const bool full = count == rows * BLOCK_DIM;
    const COARSEN_TYPE *const in = shared->arrays.in + begin;
    const COARSEN_TYPE last = COARSEN_(last_key)(); // what is not there comes behind all keys
    COARSEN_TYPE key[COARSE_FACTOR];
    if (full) {
#pragma unroll
        for (unsigned int k = 0; k < rows; k++)
            key[k] = in[COARSEN_(mine)(rows, k)];
    } else {
#pragma unroll
        for (unsigned int k = 0; k < rows; k++)
            key[k] = COARSEN_(mine)(rows, k) < count ? in[COARSEN_(mine)(rows, k)] : last;
    }
    COARSEN_(clear)(ranking);
#pragma unroll
    for (unsigned int k = 0; k < rows; k++)
        COARSEN_(count)(ranking, COARSEN_(digit)(key[k], first, width));
    COARSEN_(totals)(ranking);

    // A slot's flag is even if it has the keys of one tile, and odd if it has those of all tiles up to it.
    const unsigned int tile = shared->tile;
    const unsigned int flag = ((unsigned int)(shared->ticket >> 32) % 0x7fffffff + 1) * 2;
    for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM) {
        unsigned long long *const slot = shared->slots + (size_t)tile * COARSEN_RADIX + d;
        if (d == COARSEN_(digit)(last, first, width))
            ranking->totals[d] -= rows * BLOCK_DIM - count; // those that are not there
        COARSEN_(leave)(slot, tile == 0 ? flag + 1 : flag, ranking->totals[d]);
    }
    const bool one = COARSEN_(alike)(ranking, count); // then they stay in their order
    first = COARSEN_(opaque)(first); // so that digits are taken anew, and not all kept in registers
#ifdef COARSEN_VALUE
    unsigned int places[(COARSE_FACTOR + 1) / 2] = {}, digits[(COARSE_FACTOR + 3) / 4] = {};
#endif
    if (one) {
#pragma unroll
        for (unsigned int k = 0; k < rows; k++) {
            const unsigned int to = COARSEN_(mine)(rows, k);
            keys[to] = key[k];
#ifdef COARSEN_VALUE
            COARSEN_(pack)(places, k, 16, to);
#endif
        }
    } else {
        COARSEN_(scan_totals)(ranking);
#pragma unroll
        for (unsigned int k = 0; k < rows; k++) {
            const unsigned int to = COARSEN_(place)(ranking, COARSEN_(digit)(key[k], first, width));
            keys[to] = key[k];
#ifdef COARSEN_VALUE
            COARSEN_(pack)(places, k, 16, to);
#endif
        }
    }
    for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM) {
        const unsigned int mine = ranking->totals[d];
        const unsigned long long at =
            shared->starts[d] + COARSEN_(look_back)(shared->slots + d, tile, flag, mine);
        shared->offsets[d] = at - (one ? 0 : ranking->begin[d]);
        if (shared->last)
            shared->next[d] = at + mine;
    }
    __syncthreads();

    // Neighbours in the tile are neighbours in the array, except where a digit ends.
    COARSEN_TYPE *const out = shared->arrays.out;
#pragma unroll
    for (unsigned int k = 0; k < rows; k++) {
        const unsigned int i = k * BLOCK_DIM + threadIdx.x;
        const COARSEN_TYPE its = keys[i];
        const unsigned int digit = COARSEN_(digit)(its, first, width);
        if (full || i < count)
            out[shared->offsets[digit] + i] = its;
#ifdef COARSEN_VALUE
        COARSEN_(pack)(digits, k, 8, digit);
#endif
    }
#ifdef COARSEN_VALUE
    // The values take the way of their keys. They are read no earlier, for they would need registers.
    COARSEN_VALUE *const values = (COARSEN_VALUE *)coarsen_shared;
    const COARSEN_VALUE *const in_values = shared->arrays.in_values + begin;
    COARSEN_VALUE *const out_values = shared->arrays.out_values;
    COARSEN_VALUE value[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < rows; k++) {
        const unsigned int i = COARSEN_(mine)(rows, k);
        value[k] = in_values[full ? i : coarsen_min(i, count - 1)];
    }
    __syncthreads(); // all keys have been read
#pragma unroll
    for (unsigned int k = 0; k < rows; k++)
        values[COARSEN_(unpack)(places, k, 16)] = value[k];
    __syncthreads();
#pragma unroll
    for (unsigned int k = 0; k < rows; k++) {
        const unsigned int i = k * BLOCK_DIM + threadIdx.x;
        if (full || i < count)
            out_values[shared->offsets[COARSEN_(unpack)(digits, k, 8)] + i] = values[i];
    }
#endif
}

COARSEN_INLINE void COARSEN_(pass_of)(COARSEN_(shared) * shared, size_t begin, size_t left,
                                      unsigned int rows, unsigned int first, unsigned int width)
{
    const unsigned int count = (unsigned int)coarsen_min(left, rows * BLOCK_DIM);
    if (rows == COARSEN_QUARTERS(4))
        COARSEN_(pass)(shared, begin, count, COARSEN_QUARTERS(4), first, width);
    else if (rows == COARSEN_QUARTERS(3))
        COARSEN_(pass)(shared, begin, count, COARSEN_QUARTERS(3), first, width);
    else if (rows == COARSEN_QUARTERS(2))
        COARSEN_(pass)(shared, begin, count, COARSEN_QUARTERS(2), first, width);
    else
        COARSEN_(pass)(shared, begin, count, COARSEN_QUARTERS(1), first, width);
}

// p: which pass, of those that are counted in scratch. spare: the other array. done: keys of the array before these n.
// starts: where the next key of each digit goes. next: where to leave that for the keys behind these n.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(pass_kernel)(COARSEN_(arrays) arrays, COARSEN_(arrays) spare, size_t done, size_t n,
                          unsigned int rows, unsigned int p, unsigned int first, unsigned int width,
                          const unsigned long long *starts, unsigned long long *next,
                          unsigned long long *scratch)
{
    __shared__ COARSEN_(shared) shared;
    COARSEN_(follow)();
    COARSEN_(let_next)();
    if (threadIdx.x == BLOCK_DIM - 1) { // while the first one waits for the ticket
        const unsigned int live = (unsigned int)scratch[COARSEN_LIVE];
        const bool ends = __popc(live >> p) % 2 != 0; // at arrays.out
        if ((live & ((1u << p) - 1)) != 0) {
            arrays.in = ends ? spare.out : arrays.out;
#ifdef COARSEN_VALUE
            arrays.in_values = ends ? spare.out_values : arrays.out_values;
#endif
        }
        arrays.in += done;
        arrays.out = ends ? arrays.out : spare.out;
#ifdef COARSEN_VALUE
        arrays.in_values += done;
        arrays.out_values = ends ? arrays.out_values : spare.out_values;
#endif
        shared.live = live >> p & 1;
        shared.starts = starts;
        shared.next = next;
        shared.slots = scratch + COARSEN_SLOTS;
        shared.arrays = arrays;
    }
    if (threadIdx.x == 0) {
        shared.ticket = COARSEN_(take)(scratch);
        shared.tile = COARSEN_(tile_of)(scratch, shared.ticket, gridDim.x);
        shared.last = shared.tile == gridDim.x - 1;
    }
    __syncthreads();
    if (!shared.live)
        return;
    const size_t begin = (size_t)shared.tile * rows * BLOCK_DIM;
    COARSEN_(pass_of)(&shared, begin, n - begin, rows, first, width);
}

// ---- few keys: each counts those before it ------------------------------------------------------------------

COARSEN_KERNEL void __launch_bounds__(COARSEN_(rankers))
    COARSEN_(rank_kernel)(COARSEN_(arrays) arrays, unsigned int n, unsigned int first,
                          unsigned int width)
{
    COARSEN_SHARED(COARSEN_(ranked), held, COARSEN_(held));
    const unsigned int i = blockIdx.x * 32 + threadIdx.x;
    const bool mine = threadIdx.x < 32 && i < n;
    COARSEN_TYPE key;
    if (mine)
        key = arrays.in[i];
#ifdef COARSEN_VALUE
    COARSEN_VALUE value;
    if (mine)
        value = arrays.in_values[i];
#endif
    const unsigned int place = COARSEN_(rank)(held, arrays.in, n, first, width);
    if (mine) {
        arrays.out[place] = key;
#ifdef COARSEN_VALUE
        arrays.out_values[place] = value;
#endif
    }
}

// ---- more keys, by some blocks together -------------------------------------------------------------------

// A block tells the others its totals of a digit, and sorts its tile while they arrive. By then all blocks have read
// their keys, so each pass may write where it has read.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(together_kernel)(COARSEN_(arrays) arrays, unsigned int n, unsigned int rows,
                              unsigned int first, unsigned int width, unsigned long long *scratch)
{
    __shared__ COARSEN_(ranking) ranking;
    __shared__ unsigned int offsets[COARSEN_RADIX]; // from places in the tile to those in the array
    unsigned int *const meeting = (unsigned int *)(scratch + 1) + 1;
    volatile unsigned int *const table = (volatile unsigned int *)(scratch + COARSEN_STARTS);
    COARSEN_TYPE *const keys = (COARSEN_TYPE *)coarsen_shared;
    const unsigned int begin = blockIdx.x * rows * BLOCK_DIM;
    const unsigned int count = (unsigned int)coarsen_min(n - begin, rows * BLOCK_DIM);
    COARSEN_TYPE key[COARSE_FACTOR];
#ifdef COARSEN_VALUE
    COARSEN_VALUE *const values = (COARSEN_VALUE *)(keys + BLOCK_DIM * rows);
    COARSEN_VALUE value[COARSE_FACTOR];
#endif
    for (unsigned int done = 0; done < width; done += 8) {
        const unsigned int bits = width - done < 8 ? width - done : 8;
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            if (k >= rows)
                break;
            if (COARSEN_(mine)(rows, k) < count) {
                key[k] = arrays.in[begin + COARSEN_(mine)(rows, k)];
#ifdef COARSEN_VALUE
                value[k] = arrays.in_values[begin + COARSEN_(mine)(rows, k)];
#endif
            }
        }
        COARSEN_(clear)(&ranking);
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            if (k >= rows)
                break;
            if (COARSEN_(mine)(rows, k) < count)
                COARSEN_(count)(&ranking, COARSEN_(digit)(key[k], first + done, bits));
        }
        COARSEN_(totals)(&ranking);
        for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM)
            table[blockIdx.x * COARSEN_RADIX + d] = ranking.totals[d];
        const unsigned int turn = COARSEN_(arrive)(meeting);
        COARSEN_(begins)(&ranking);
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            if (k >= rows)
                break;
            const bool there = COARSEN_(mine)(rows, k) < count;
            const unsigned int to = COARSEN_(place)(
                &ranking, there ? COARSEN_(digit)(key[k], first + done, bits) : (1u << bits) - 1);
            if (there) {
                keys[to] = key[k];
#ifdef COARSEN_VALUE
                values[to] = value[k];
#endif
            }
        }
        COARSEN_(wait)(meeting, turn);
        for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM) {
            unsigned int before = 0, all = 0;
#pragma unroll
            for (unsigned int b = 0; b < COARSEN_MEETING; b++) {
                const unsigned int its = b < gridDim.x ? table[b * COARSEN_RADIX + d] : 0;
                before += b < blockIdx.x ? its : 0;
                all += its;
            }
            offsets[d] = before - ranking.begin[d];
            ranking.totals[d] = all;
        }
        COARSEN_(begins)(&ranking); // of all blocks' keys
        for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM)
            offsets[d] += ranking.begin[d];
        __syncthreads();
        for (unsigned int i = threadIdx.x; i < count; i += BLOCK_DIM) {
            const unsigned int to = offsets[COARSEN_(digit)(keys[i], first + done, bits)] + i;
            arrays.out[to] = keys[i];
#ifdef COARSEN_VALUE
            arrays.out_values[to] = values[i];
#endif
        }
        if (done + 8 < width)
            COARSEN_(wait)(meeting, COARSEN_(arrive)(meeting));
        arrays.in = arrays.out;
#ifdef COARSEN_VALUE
        arrays.in_values = arrays.out_values;
#endif
    }
}

// ---- the launch ---------------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
// Rows that shared memory holds with so many bytes per key, at the most COARSE_FACTOR.
COARSEN_HOST size_t COARSEN_(rows_held)(size_t key_bytes, cudaError_t *status)
{
    const size_t bytes = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, status);
    const size_t other = COARSEN_OTHER_BYTES, row = BLOCK_DIM * key_bytes;
    return bytes < other ? 0 : coarsen_min((bytes - other) / row, COARSE_FACTOR);
}

// Rows of a tile, at the most: 0 if there is no room for a quarter of them.
COARSEN_HOST size_t COARSEN_(most_rows)(cudaError_t *status)
{
    const size_t held = COARSEN_(rows_held)(COARSEN_ITEM_BYTES, status);
    unsigned int q = 4;
    while (q > 0 && COARSEN_QUARTERS(q) > held)
        q--;
    return COARSEN_QUARTERS(q);
}

// Keys that 16 blocks sort together, at the most.
COARSEN_HOST size_t COARSEN_(most_together)(cudaError_t *status)
{
    const size_t rows = COARSEN_(rows_held)(COARSEN_PAIR_BYTES, status);
    return coarsen_min(COARSEN_MEETING * rows * BLOCK_DIM, COARSEN_TOGETHER);
}

COARSEN_HOST size_t COARSEN_(resident)(void)
{
    cudaError_t status;
    return coarsen_attribute(cudaDevAttrMultiProcessorCount, &status) * COARSEN_RESIDENT;
}

// Few keys have shorter tiles, if all of these run at a time. Of the shortest no more than half as many, for each looks back
// at all that began with it.
COARSEN_HOST size_t COARSEN_(rows_of)(size_t n, size_t most)
{
    const size_t resident = COARSEN_(resident)();
    for (unsigned int q = 1; q < 4; q++) {
        const size_t rows = COARSEN_QUARTERS(q), tiles = q == 1 ? resident / 2 : resident;
        if (rows < most && n <= tiles * rows * BLOCK_DIM)
            return rows;
    }
    return most;
}

COARSEN_HOST size_t COARSEN_(slots_bytes)(size_t n, size_t most)
{
    const size_t few =
        coarsen_min(coarsen_ceil_div(n, COARSEN_QUARTERS(1) * BLOCK_DIM), COARSEN_(resident)());
    const size_t many = coarsen_ceil_div(coarsen_min(n, COARSEN_PORTION), most * BLOCK_DIM);
    return (COARSEN_SLOTS + (few > many ? few : many) * COARSEN_RADIX) * sizeof(unsigned long long);
}

// Up to how many keys counting takes less time than so many passes of 16 blocks together. Such a pass takes as long for few
// keys as for many, and about as long as a block counts 6144; but counting begins later, by what 4096 take.
COARSEN_HOST size_t COARSEN_(most_counted)(unsigned int passes, size_t processors)
{
    return COARSEN_(most_ranked)((size_t)passes * 6144 - 4096, COARSEN_RANKED, processors);
}

// Keys that are counted are copied there, if they are sorted in place.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    cudaError_t status;
    const size_t most = COARSEN_(most_rows)(&status);
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t copied = coarsen_min(n, COARSEN_(most_counted)(COARSEN_PASSES, processors));
    const size_t spare =
        COARSEN_STARTS * sizeof(unsigned long long) + COARSEN_(spare_bytes)(copied, true);
    const size_t others = most == 0 || n <= COARSEN_(most_counted)(1, processors) ? 0
                          : n <= COARSEN_(most_together)(&status)
                              ? COARSEN_SLOTS * sizeof(unsigned long long)
                              : COARSEN_(slots_bytes)(n, most) + COARSEN_(spare_bytes)(n, true);
    return spare > others ? spare : others;
}

// Of many keys; words: the scratch; most: rows of a tile.
COARSEN_HOST cudaError_t COARSEN_(launch_counts)(COARSEN_(arrays) arrays, size_t n,
                                                 unsigned int first, unsigned int width,
                                                 unsigned long long *words, size_t most,
                                                 cudaStream_t stream)
{
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t vectors = n / (BLOCK_DIM * COARSEN_ITEMS) + 1;
    const cudaLaunchConfig_t counts = coarsen_launch_config(
        coarsen_min(coarsen_ceil_div(vectors, 4), processors * (1024 / BLOCK_DIM)), BLOCK_DIM, 0,
        stream);
    return status != cudaSuccess
               ? status
               : cudaLaunchKernelEx(&counts, COARSEN_(counts_kernel), arrays.in, n, first, width,
                                    COARSEN_(in_place)(arrays),
                                    COARSEN_(slots_bytes)(n, most) / sizeof(*words), words);
}

// After launch_counts with the same arguments.
COARSEN_HOST cudaError_t COARSEN_(launch_passes)(COARSEN_(arrays) arrays, size_t n,
                                                 unsigned int first, unsigned int width,
                                                 unsigned long long *words, size_t most,
                                                 cudaStream_t stream)
{
    void *const spare = (char *)words + COARSEN_(slots_bytes)(n, most);
    const unsigned int passes = (unsigned int)coarsen_ceil_div(width, 8);
    const size_t rows = COARSEN_(rows_of)(n, most), bytes = rows * BLOCK_DIM * COARSEN_ITEM_BYTES;
    cudaError_t status =
        coarsen_let_share((const void *)COARSEN_(pass_kernel), bytes, COARSEN_OTHER_BYTES);
    if (status == cudaSuccess)
        status = COARSEN_(begin)(arrays, spare, n, passes, stream);
    COARSEN_(arrays) from = arrays, others = arrays;
    others.out = (COARSEN_TYPE *)spare;
#ifdef COARSEN_VALUE
    others.out_values = (COARSEN_VALUE *)((char *)spare + COARSEN_(spare_bytes)(n, false));
#endif
    if (COARSEN_(in_place)(arrays) && passes % 2 == 1) {
        from.in = others.out;
#ifdef COARSEN_VALUE
        from.in_values = others.out_values;
#endif
    }
    for (unsigned int p = 0; p < passes; p++) {
        unsigned long long *starts = words + COARSEN_STARTS + (size_t)p * COARSEN_RADIX;
        unsigned long long *next = starts + (size_t)COARSEN_PASSES * COARSEN_RADIX;
        for (size_t done = 0; done < n && status == cudaSuccess; done += COARSEN_PORTION) {
            const size_t here = coarsen_min(n - done, COARSEN_PORTION);
            cudaLaunchConfig_t config = coarsen_launch_config(
                coarsen_ceil_div(here, rows * BLOCK_DIM), BLOCK_DIM, bytes, stream);
            cudaLaunchAttribute attribute;
            status = COARSEN_(overlap)(&config, &attribute, (const void *)COARSEN_(pass_kernel));
            if (status == cudaSuccess)
                status = cudaLaunchKernelEx(&config, COARSEN_(pass_kernel), from, others, done,
                                            here, (unsigned int)rows, p, first + 8 * p,
                                            COARSEN_(width_of)(p, width),
                                            (const unsigned long long *)starts, next, words);
            unsigned long long *const used = starts;
            starts = next, next = used;
        }
    }
    return status;
}

COARSEN_HOST cudaError_t
COARSEN_(launch_bits)(const COARSEN_TYPE *in,
                      COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
                          COARSEN_ALSO(COARSEN_VALUE *out_values),
                      size_t n, unsigned int first, unsigned int width, void *scratch,
                      size_t scratch_bytes, cudaStream_t stream)
{
    const unsigned int all = 8 * sizeof(COARSEN_TYPE);
    const COARSEN_(arrays) arrays = {in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values)};
    if (first > all || width > all - first)
        return cudaErrorInvalidValue;
    if (n == 0)
        return cudaSuccess;
    cudaError_t status;
    const size_t most = COARSEN_(most_rows)(&status);
    if (status != cudaSuccess)
        return status;
    if (most == 0 || !COARSEN_(arrays_ok)(arrays, n) ||
        !coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n))
        return cudaErrorInvalidValue;
    if (width == 0)
        return COARSEN_(copy)(in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values), n, stream);

    unsigned long long *const words = (unsigned long long *)scratch;
    const unsigned int passes = (unsigned int)coarsen_ceil_div(width, 8);
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    if (n <= COARSEN_(most_counted)(passes, processors)) {
        const cudaLaunchConfig_t config =
            coarsen_launch_config(coarsen_ceil_div(n, 32), COARSEN_(rankers), 0, stream);
        void *const spare = words + COARSEN_STARTS; // behind what is ready for other launches
        if (status == cudaSuccess)
            status = COARSEN_(begin)(arrays, spare, n, 1, stream);
        return status != cudaSuccess
                   ? status
                   : cudaLaunchKernelEx(&config, COARSEN_(rank_kernel),
                                        COARSEN_(arrays_of)(arrays, spare, n, 0, 1),
                                        (unsigned int)n, first, width);
    }

    if (n <= COARSEN_(most_together)(&status)) {
        const size_t rows = coarsen_ceil_div(n, COARSEN_MEETING * BLOCK_DIM);
        const size_t bytes = rows * BLOCK_DIM * COARSEN_PAIR_BYTES;
        cudaLaunchConfig_t config =
            coarsen_launch_config(coarsen_ceil_div(n, rows * BLOCK_DIM), BLOCK_DIM, bytes, stream);
        cudaLaunchAttribute attribute;
        status =
            coarsen_let_share((const void *)COARSEN_(together_kernel), bytes, COARSEN_OTHER_BYTES);
        if (status == cudaSuccess)
            status =
                COARSEN_(together)(&config, &attribute, (const void *)COARSEN_(together_kernel));
        return status != cudaSuccess
                   ? status
                   : cudaLaunchKernelEx(&config, COARSEN_(together_kernel), arrays, (unsigned int)n,
                                        (unsigned int)rows, first, width, words);
    }
    status = COARSEN_(launch_counts)(arrays, n, first, width, words, most, stream);
    return status != cudaSuccess
               ? status
               : COARSEN_(launch_passes)(arrays, n, first, width, words, most, stream);
}

COARSEN_HOST cudaError_t
COARSEN_(launch)(const COARSEN_TYPE *in,
                 COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
                     COARSEN_ALSO(COARSEN_VALUE *out_values),
                 size_t n, void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    return COARSEN_(launch_bits)(in, out COARSEN_ALSO(in_values) COARSEN_ALSO(out_values), n, 0,
                                 8 * sizeof(COARSEN_TYPE), scratch, scratch_bytes, stream);
}
#endif

#ifndef COARSEN_WITH_BUCKETS // buckets.h needs them, and ends them
#undef COARSEN_WORDS
#undef COARSEN_MANY
#undef COARSEN_FACTOR
#undef COARSEN_RESIDENT
#undef COARSEN_PORTION
#undef COARSEN_PASSES
#undef COARSEN_COPIES
#undef COARSEN_COUNTS
#undef COARSEN_STARTS
#undef COARSEN_SLOTS
#undef COARSEN_LIVE
#undef COARSEN_OTHER_BYTES
#undef COARSEN_QUARTERS
#undef COARSEN_PAIR_BYTES
#undef COARSEN_ITEM_BYTES
#undef COARSEN_BACK
#undef COARSEN_TOGETHER
#undef COARSEN_RANKED
#endif

#define COARSEN_END
#include "../base.h"
