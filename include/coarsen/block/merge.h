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
//     NAME_run    a run of fewer than 2^31 keys in an array: base, first, count, size. Key e of it is at base +
//                 first + e, if it lies in no ring. In a ring of `size` places from base on, first is less than
//                 that, and what would be at base + size or behind it is `size` places before.
//     NAME_run NAME_run_of(unsigned int first, unsigned int count)    one in no ring: {0, first, count, 0}
//     unsigned int NAME_run_rank(unsigned int k, const COARSEN_TYPE *keys, NAME_run a, NAME_run b)
//         as NAME_co_rank, of two runs in keys
//     void NAME_merge_run(unsigned int *i, unsigned int *j, unsigned int count, const COARSEN_TYPE *keys,
//                         NAME_run a, NAME_run b, COARSEN_TYPE *out, unsigned int *from, bool whole)
//         one thread's work: the next count results to out, beginning with key *i of a and *j of b, which are
//         moved on. from: NULL, or where to tell for each result which it is: key i of a as i, key j of b as ~j.
//         In a ring it reads on behind the last place: there the first count keys of the ring are to be again.
//         whole: there are more than count keys left in each, or in one of them none, and for keys of 1 or 2 bytes
//         out is aligned to 4 and count * sizeof(COARSEN_TYPE) a multiple of it; count may be 0 if it is false. Best
//         a constant.
//     void NAME_block_merge(const COARSEN_TYPE *keys, NAME_run a, NAME_run b, COARSEN_TYPE *out, unsigned int *from)
//         the whole merge by the whole block, of BLOCK_DIM x 1 x 1 threads, all of which call. A barrier goes
//         before it and behind it. out and from are apart from the runs.
// All of them are stable: of equal keys, those of a come first. On keys that are not sorted they read nothing but
// these keys. keys, out and from may be anywhere; NAME_run_rank, NAME_merge_run and NAME_block_merge are meant for
// shared memory.
// Cost: a search takes log2(min(m, n)) steps, one after the other, of two keys each. That of a warp takes a step per
// factor of 33, in 32 probes; and of 257, in 256, when no more than 66048 results are left to choose from: then
// what is probed lies close together.
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
COARSEN_DEVICE size_t COARSEN_(warp_co_rank)(size_t k, const COARSEN_TYPE *a, size_t m,
                                             const COARSEN_TYPE *b, size_t n)
{
    const unsigned int lane = threadIdx.x % 32;
    size_t low = k > n ? k - n : 0, high = coarsen_min(k, m);
    while (low < high) {
        const bool close = high - low < 257 * 257;
        const size_t step = (close ? (high - low) / 257 : (high - low) / 33) + 1;
        bool among[8]; // read first, so that one wait is enough for all
        unsigned int count = 0;
#pragma unroll
        for (unsigned int p = 0; p < 8; p++) {
            const size_t i = low + step * (p * 32 + lane + 1) - 1;
            among[p] = (p == 0 || close) && i < high && !COARSEN_(less)(b[k - 1 - i], a[i]);
        }
#pragma unroll
        for (unsigned int p = 0; p < 8; p++)
            count += (unsigned int)__popc(__ballot_sync(0xffffffff, among[p]));
        low += step * count;
        high = coarsen_min(high, low + step - 1);
    }
    return low;
}

typedef struct {
    unsigned int base, first, count, size;
} COARSEN_(run);

COARSEN_DEVICE COARSEN_(run) COARSEN_(run_of)(unsigned int first, unsigned int count)
{
    const COARSEN_(run) run = {0, first, count, 0};
    return run;
}

// Where key e of a run is. In no ring both are the same; in one, the one that is too large or wraps around is not
// the lesser.
COARSEN_DEVICE unsigned int COARSEN_(place)(COARSEN_(run) run, unsigned int e)
{
    const unsigned int place = run.first + e, before = place - run.size;
    return run.base + (place < before ? place : before);
}

COARSEN_DEVICE unsigned int COARSEN_(run_rank)(unsigned int k, const COARSEN_TYPE *keys,
                                               COARSEN_(run) a, COARSEN_(run) b)
{
    unsigned int low = k > b.count ? k - b.count : 0, high = k < a.count ? k : a.count;
    while (low < high) {
        const unsigned int i = (low + high) / 2;
        if (COARSEN_(less)(keys[COARSEN_(place)(b, k - 1 - i)], keys[COARSEN_(place)(a, i)]))
            high = i;
        else
            low = i + 1;
    }
    return low;
}

// Results of less than four bytes are written four bytes at a time.
#define COARSEN_PIECE (sizeof(COARSEN_TYPE) < 4 ? 4 / sizeof(COARSEN_TYPE) : 1)
typedef struct __attribute__((aligned(COARSEN_PIECE > 1 ? 4 : __alignof__(COARSEN_TYPE)),
                              may_alias)) {
    COARSEN_TYPE item[COARSEN_PIECE];
} COARSEN_(piece);

// One of the two next keys is the next result, and the key behind it in its run is read then: one read per result.
COARSEN_DEVICE __attribute__((always_inline)) void
COARSEN_(merge_run)(unsigned int *i, unsigned int *j, unsigned int count, const COARSEN_TYPE *keys,
                    COARSEN_(run) a, COARSEN_(run) b, COARSEN_TYPE *out, unsigned int *from,
                    bool whole)
{
    const unsigned int pieces = whole ? COARSEN_PIECE : 1;
    // Where the keys behind the two next ones are: known before it is known which of them is read.
    unsigned int behind_a = COARSEN_(place)(a, *i) + 1, behind_b = COARSEN_(place)(b, *j) + 1;
    const unsigned int shift_a = behind_a - *i, shift_b = behind_b - *j;
    if (count == 0)
        return;
    // Of a run that is used up, the other's: it is not looked at.
    const bool no_a = *i >= a.count, no_b = *j >= b.count;
    COARSEN_TYPE key_a = keys[(no_a ? behind_b : behind_a) - 1];
    COARSEN_TYPE key_b = keys[(no_b ? behind_a : behind_b) - 1];
#pragma unroll 4
    for (unsigned int k = 0; k < count; k += pieces) {
        COARSEN_(piece) piece;
#pragma unroll
        for (unsigned int p = 0; p < pieces; p++) {
            const unsigned int in_a = behind_a - shift_a, in_b = behind_b - shift_b;
            // In a whole run no side ends: with no branch it is one instruction more than the comparison.
            const bool from_b =
                whole ? no_a | (!no_b & COARSEN_(less)(key_b, key_a))
                      : in_a >= a.count || (in_b < b.count && COARSEN_(less)(key_b, key_a));
            const unsigned int place = from_b ? behind_b : behind_a;
            piece.item[p] = from_b ? key_b : key_a;
            if (from)
                from[k + p] = from_b ? ~in_b : in_a;
            if (whole || (from_b ? in_b + 1 < b.count : in_a + 1 < a.count)) {
                const COARSEN_TYPE next = keys[place];
                key_a = from_b ? key_a : next;
                key_b = from_b ? next : key_b;
            }
            behind_a = from_b ? behind_a : place + 1;
            behind_b = from_b ? place + 1 : behind_b;
        }
        if (whole)
            *(COARSEN_(piece) *)(out + k) = piece;
        else
            out[k] = piece.item[0];
    }
    *i = behind_a - shift_a;
    *j = behind_b - shift_b;
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
