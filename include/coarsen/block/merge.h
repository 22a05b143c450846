// SPDX-License-Identifier: MIT
//
// coarsen/block/merge.h: where a merge of two sorted runs can begin, and the merge itself by a thread or a block.
//
//     #define COARSEN_NAME by_time
//     #define COARSEN_TYPE unsigned long long
//     #define BLOCK_DIM    256
//     #include <coarsen/block/merge.h>
//
//     // in a kernel of 256 threads per block: of two sorted runs in `keys`, in shared memory, the second right
//     // behind the first, the merged run to `merged`
//     //     __syncthreads();
//     //     by_time_block_merge(keys, by_time_run_of(0, m), by_time_run_of(m, n), merged, NULL);
//     //     __syncthreads();
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the keys                                     |
// | COARSEN_LESS(a, b)   | ((a) < (b))      | whether key a comes before key b: a strict weak order |
// | BLOCK_DIM            | required         | threads per block: a multiple of 32 from 32 to 1024  |
// Defines NAME_less(a, b), and for the device
//     size_t NAME_co_rank(size_t k, const COARSEN_TYPE *a, size_t m, const COARSEN_TYPE *b, size_t n)
//         how many of the first k results come from a, whose m keys are sorted, as are b's n; k <= m + n
//     size_t NAME_warp_co_rank(the same)       by a warp, all 32 lanes of which call, with the same arguments
//     size_t NAME_group_co_rank(the same, unsigned int bits)    by 2^bits lanes of a warp, from a multiple of so many on:
//         bits is from 1 to 5. Both are for blocks of one dimension.
//     NAME_run    a run of fewer than 2^31 keys in the first 2^32 bytes of an array: base, first, count, size. Key e of
//                 it is at base + first + e, if it lies in no ring. In a ring of `size` places from base on, first
//                 is less than that, and what would be at base + size or behind it is `size` places before.
//     NAME_run NAME_run_of(unsigned int first, unsigned int count)    one in no ring: {0, first, count, 0}
//     unsigned int NAME_run_rank(unsigned int k, const COARSEN_TYPE *keys, NAME_run a, NAME_run b)
//         as NAME_co_rank, of two runs in keys
//     void NAME_merge_run(unsigned int *i, unsigned int *j, unsigned int count, const COARSEN_TYPE *keys,
//                         NAME_run a, NAME_run b, COARSEN_TYPE *out, unsigned int *from, bool whole)
//         one thread's work: the next count results to out, beginning with key *i of a and *j of b, which are
//         moved on. from: NULL, or where to tell for each result which it is: key i of a as i, key j of b as ~j.
//         In a ring it reads on behind the last place: there the first count keys of the ring are to be again.
//         whole: for keys of 1 or 2 bytes, out is aligned to 4 and count * sizeof(COARSEN_TYPE) a multiple of it. Best
//         a constant, as count then: most runs ask nothing of a key except which is less.
//     void NAME_merge_held(unsigned int i, unsigned int j, unsigned int count, const COARSEN_TYPE *keys,
//                          NAME_run a, NAME_run b, COARSEN_TYPE *item, unsigned int *from, bool ends)
//         the next count results, a constant, to registers, beginning with key i of a and j of b, which lie in no ring;
//         from: NULL, or where to tell the place of each in keys. ends: one of the runs may end on the way, or both.
//         Then what follows is what is behind b. It reads a key behind each run, and where both end up to count behind b.
//     void NAME_block_merge(const COARSEN_TYPE *keys, NAME_run a, NAME_run b, COARSEN_TYPE *out, unsigned int *from)
//         the whole merge by the whole block, of BLOCK_DIM x 1 x 1 threads, all of which call. A barrier goes
//         before it and behind it. out and from are apart from the runs.
// All of them are stable: of equal keys, those of a come first. On keys that are not sorted they read nothing but
// these keys. keys, out and from may be anywhere; NAME_run_rank, NAME_merge_run and NAME_block_merge are meant for
// shared memory.
// Cost: a search takes log2(min(m, n)) steps, one after the other, of two keys each; in rings up to two more. That of
// lanes takes a step per factor of as many, and each lane reads two keys per step: five times fewer steps by a warp, of
// which each reads 32 times as much.
// Source: O. Green, R. McColl, D. A. Bader, GPU Merge Path (2012); Hwu, Kirk, El Hajj, Programming Massively
// Parallel Processors, 4th ed., section 12.4.

#define COARSEN_BEGIN COARSEN_PATTERN_MERGE
#include "../base.h"
#ifndef COARSEN_MADE_MERGE
#define COARSEN_MADE_MERGE

#ifndef BLOCK_DIM
#error "coarsen/block: define BLOCK_DIM, the threads per block, before the include"
#endif

COARSEN_DEVICE size_t COARSEN_(co_rank)(size_t k, const COARSEN_TYPE *a, size_t m,
                                        const COARSEN_TYPE *b, size_t n)
{
    size_t low = k > n ? k - n : 0, high = coarsen_min(k, m);
    while (low < high) {
        const size_t i = low + (high - low) / 2;
        if (COARSEN_(less)(b[k - 1 - i], a[i]))
            high = i;
        else
            low = i + 1;
    }
    return low;
}

// Each probe that is among the first k results has all that are lower among them. So it is enough to count them.
COARSEN_INLINE size_t COARSEN_(group_co_rank)(size_t k, const COARSEN_TYPE *a, size_t m,
                                              const COARSEN_TYPE *b, size_t n, unsigned int bits)
{
    const unsigned int lanes = 1u << bits, lane = threadIdx.x % lanes;
    const unsigned int group = 0xffffffff >> (32 - lanes) << (threadIdx.x % 32 - lane);
    size_t low = k > n ? k - n : 0, high = coarsen_min(k, m);
    while (low < high) {
        const size_t step = ((high - low) >> bits) + 1, i = low + step * (lane + 1) - 1;
        const bool among = i < high && !COARSEN_(less)(b[k - 1 - i], a[i]);
        low += step * (unsigned int)__popc(__ballot_sync(group, among));
        high = coarsen_min(high, low + step - 1);
    }
    return low;
}

COARSEN_DEVICE size_t COARSEN_(warp_co_rank)(size_t k, const COARSEN_TYPE *a, size_t m,
                                             const COARSEN_TYPE *b, size_t n)
{
    return COARSEN_(group_co_rank)(k, a, m, b, n, 5);
}

typedef struct {
    unsigned int base, first, count, size;
} COARSEN_(run);

COARSEN_DEVICE COARSEN_(run) COARSEN_(run_of)(unsigned int first, unsigned int count)
{
    const COARSEN_(run) run = {0, first, count, 0};
    return run;
}

// Where key e of a run is: the smaller of the two. In no ring they are the same; in one, the other is behind its end, or
// wraps around.
COARSEN_DEVICE unsigned int COARSEN_(place)(COARSEN_(run) run, unsigned int e)
{
    const unsigned int place = run.first + e, before = place - run.size;
    return run.base + (place < before ? place : before);
}

// A key at so many bytes: where they are counted and not the keys, one in shared memory takes an instruction less.
COARSEN_DEVICE const COARSEN_TYPE *COARSEN_(at_byte)(const COARSEN_TYPE *keys, unsigned int bytes)
{
    return (const COARSEN_TYPE *)((const char *)keys + bytes);
}

// It begins with the keys with which a ring starts again, a's and b's: whatever these say, what is left to choose from
// lies on one side of each. So a step needs no more than the middle of it.
COARSEN_DEVICE unsigned int COARSEN_(run_rank)(unsigned int k, const COARSEN_TYPE *keys,
                                               COARSEN_(run) a, COARSEN_(run) b)
{
    unsigned int low = k > b.count ? k - b.count : 0, high = k < a.count ? k : a.count;
#pragma unroll
    for (unsigned int of_b = 0; of_b < 2; of_b++) {
        const unsigned int i = of_b ? k - 1 - (b.size - b.first) : a.size - a.first;
        if (i - low < high - low) {
            const COARSEN_TYPE key_b = keys[COARSEN_(place)(b, k - 1 - i)];
            if (COARSEN_(less)(key_b, keys[COARSEN_(place)(a, i)]))
                high = i;
            else
                low = i + 1;
        }
    }
    // From here on key i of a is at at_a + i, and the one it is compared with at at_b - i, in bytes.
    const unsigned int size = (unsigned int)sizeof(COARSEN_TYPE);
    const unsigned int at_a = (COARSEN_(place)(a, low) - low) * size;
    const unsigned int at_b = (COARSEN_(place)(b, k - 1 - low) + low) * size;
#pragma unroll 1
    while (low < high) {
        const unsigned int i = (low + high) / 2;
        if (COARSEN_(less)(*COARSEN_(at_byte)(keys, at_b - i * size),
                           *COARSEN_(at_byte)(keys, at_a + i * size)))
            high = i;
        else
            low = i + 1;
    }
    return low;
}

// Results of less than four bytes are written four bytes at a time.
#define COARSEN_PIECE (sizeof(COARSEN_TYPE) < 4 ? 4 / sizeof(COARSEN_TYPE) : 1)
typedef struct COARSEN_ALIGNED(COARSEN_PIECE > 1 ? 4 : alignof(COARSEN_TYPE)) COARSEN_MAY_ALIAS {
    COARSEN_TYPE item[COARSEN_PIECE];
} COARSEN_(piece);

// The next count results, of a run alone, from key e on: with flip, they are told as those of b.
COARSEN_INLINE void COARSEN_(copy_run)(unsigned int e, unsigned int count, const COARSEN_TYPE *keys,
                                       COARSEN_(run) run, COARSEN_TYPE *out, unsigned int *from,
                                       unsigned int flip)
{
    const COARSEN_TYPE *const next = keys + COARSEN_(place)(run, e);
#pragma unroll 4
    for (unsigned int k = 0; k < count; k += COARSEN_PIECE) {
        COARSEN_(piece) piece;
#pragma unroll
        for (unsigned int p = 0; p < COARSEN_PIECE; p++) {
            piece.item[p] = next[k + p];
            if (from)
                from[k + p] = (e + k + p) ^ flip;
        }
        *(COARSEN_(piece) *)(out + k) = piece;
    }
}

// The next count results, of two runs that both have keys left. One of the two next keys is the next result, and the key
// behind it in its run is read then: one read per result. ends: one of the runs may end on the way.
COARSEN_INLINE void COARSEN_(merge_whole)(unsigned int *i, unsigned int *j, unsigned int count,
                                          const COARSEN_TYPE *keys, COARSEN_(run) a,
                                          COARSEN_(run) b, COARSEN_TYPE *out, unsigned int *from,
                                          bool ends)
{
    const unsigned int size = (unsigned int)sizeof(COARSEN_TYPE);
    unsigned int next_a = COARSEN_(place)(a, *i) * size, next_b = COARSEN_(place)(b, *j) * size;
    const unsigned int end_a = next_a + (a.count - *i) * size;
    const unsigned int end_b = next_b + (b.count - *j) * size;
    const unsigned int first_a = next_a, first_b = next_b;
    unsigned int in_a = *i, in_b = *j;
    COARSEN_TYPE key_a = *COARSEN_(at_byte)(keys, next_a);
    COARSEN_TYPE key_b = *COARSEN_(at_byte)(keys, next_b);
#pragma unroll 8
    for (unsigned int k = 0; k < count; k += COARSEN_PIECE) {
        COARSEN_(piece) piece;
#pragma unroll
        for (unsigned int p = 0; p < COARSEN_PIECE; p++) {
            const bool from_b = (ends && next_a == end_a) ||
                                ((!ends || next_b != end_b) && COARSEN_(less)(key_b, key_a));
            const unsigned int taken = from_b ? next_b : next_a;
            piece.item[p] = from_b ? key_b : key_a;
            if (from)
                from[k + p] = from_b ? ~in_b : in_a;
            if (!ends || taken + size != (from_b ? end_b : end_a)) {
                const COARSEN_TYPE next = COARSEN_(at_byte)(keys, taken)[1];
                key_a = from_b ? key_a : next;
                key_b = from_b ? next : key_b;
            }
            if (from_b)
                next_b += size, in_b++;
            else
                next_a += size, in_a++;
        }
        *(COARSEN_(piece) *)(out + k) = piece;
    }
    *i += (next_a - first_a) / size;
    *j += (next_b - first_b) / size;
}

COARSEN_INLINE void COARSEN_(merge_run)(unsigned int *i, unsigned int *j, unsigned int count,
                                        const COARSEN_TYPE *keys, COARSEN_(run) a, COARSEN_(run) b,
                                        COARSEN_TYPE *out, unsigned int *from, bool whole)
{
    if (whole && *j >= b.count) {
        COARSEN_(copy_run)(*i, count, keys, a, out, from, 0);
        *i += count;
    } else if (whole && *i >= a.count) {
        COARSEN_(copy_run)(*j, count, keys, b, out, from, ~0u);
        *j += count;
    } else if (whole && *i + count < a.count && *j + count < b.count) {
        COARSEN_(merge_whole)(i, j, count, keys, a, b, out, from, false);
    } else if (whole) {
        COARSEN_(merge_whole)(i, j, count, keys, a, b, out, from, true);
    } else {
        unsigned int in_a = *i, in_b = *j;
#pragma unroll 1
        for (unsigned int k = 0; k < count; k++) {
            const COARSEN_TYPE *const next_a = keys + COARSEN_(place)(a, in_a);
            const COARSEN_TYPE *const next_b = keys + COARSEN_(place)(b, in_b);
            const bool from_b =
                in_a >= a.count || (in_b < b.count && COARSEN_(less)(*next_b, *next_a));
            out[k] = *(from_b ? next_b : next_a);
            if (from)
                from[k] = from_b ? ~in_b : in_a;
            in_a += !from_b;
            in_b += from_b;
        }
        *i = in_a;
        *j = in_b;
    }
}

COARSEN_INLINE void COARSEN_(merge_held)(unsigned int i, unsigned int j, unsigned int count,
                                         const COARSEN_TYPE *keys, COARSEN_(run) a, COARSEN_(run) b,
                                         COARSEN_TYPE *item, unsigned int *from, bool ends)
{
    const unsigned int a_end = a.first + a.count, b_end = b.first + b.count;
    unsigned int next_a = a.first + i, next_b = b.first + j;
    COARSEN_TYPE key_a = keys[next_a], key_b = keys[next_b];
#pragma unroll
    for (unsigned int k = 0; k < count; k++) {
        const bool from_b = (ends && next_a >= a_end) ||
                            ((!ends || next_b < b_end) && COARSEN_(less)(key_b, key_a));
        const unsigned int place = from_b ? next_b : next_a;
        item[k] = from_b ? key_b : key_a;
        if (from)
            from[k] = place;
        if (k + 1 < count) {
            const COARSEN_TYPE next = keys[place + 1];
            key_a = from_b ? key_a : next;
            key_b = from_b ? next : key_b;
            next_a = from_b ? next_a : place + 1;
            next_b = from_b ? place + 1 : next_b;
        }
    }
}

COARSEN_DEVICE void COARSEN_(block_merge)(const COARSEN_TYPE *keys, COARSEN_(run) a,
                                          COARSEN_(run) b, COARSEN_TYPE *out, unsigned int *from)
{
    const unsigned int all = a.count + b.count;
    const unsigned int each = (all + BLOCK_DIM - 1) / BLOCK_DIM | 1; // odd, against bank conflicts
    const unsigned int first = threadIdx.x * each < all ? threadIdx.x * each : all;
    const unsigned int count = all - first < each ? all - first : each;
    unsigned int i = COARSEN_(run_rank)(first, keys, a, b), j = first - i;
    COARSEN_(merge_run)(&i, &j, count, keys, a, b, out + first, from ? from + first : from, false);
}
#endif

#define COARSEN_END
#include "../base.h"
