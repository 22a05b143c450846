// SPDX-License-Identifier: MIT
//
// coarsen/block/rank.h: the place of a key in the order is how many keys come before it. Every block counts for 32 keys, and
// so all multiprocessors work. For few keys.
//
//     #define COARSEN_NAME by_time
//     #define COARSEN_TYPE unsigned long long
//     #include <coarsen/block/rank.h>
//
//     // in a kernel of coarsen_ceil_div(n, 32) blocks of by_time_rankers threads, where out is apart from in
//     //     __shared__ by_time_ranked held[by_time_held];
//     //     const unsigned int i = blockIdx.x * 32 + threadIdx.x, place = by_time_rank(held, in, n, 0, 64);
//     //     if (threadIdx.x < 32 && i < n)
//     //         out[place] = in[i];
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the keys                                     |
// | COARSEN_LESS(a, b)   | ((a) < (b))      | whether key a comes before key b: a strict weak order |
// Defines NAME_rankers, the threads of a block, 1024 or for keys of more than 32 bytes fewer; NAME_ranked, what is compared
// of a key, and NAME_held, how many of these a block has in shared memory; for the device
//     unsigned int NAME_rank(NAME_ranked *held, const COARSEN_TYPE *in, unsigned int n, unsigned int first, unsigned int width)
// which all threads of all blocks call once; and for the host
//     size_t NAME_most_ranked(size_t compared, size_t most, size_t processors)
// Returns in thread t < 32 of block b the place of key 32 b + t, if there is one. n: from 1 to 65536. Of keys of which
// neither comes before the other, that with the lower index goes first. In a radix sort the order is that of `width` bits
// from bit `first` on; else first and width are not used. If COARSEN_LESS is no strict weak order, keys may have the same
// place, and nothing else goes wrong: it is less than n. Deterministic.
//
// Each lane of a warp has one of the block's 32 keys, the same in all warps. A warp takes some groups of 32 keys of
// the array to shared memory, and all its lanes compare their own with one of these at a time, which is a broadcast. A
// group before the block's own has its equal keys counted, one behind has not. Then the warps' counts are added up.
// Price saved: steps that wait for each other. All blocks work at once, with one barrier.
// Price paid: n comparisons per key.
// Cost: n^2 comparisons; n / 32 times n keys read, nearly all from the L2 cache; 36 KiB of shared memory.
// Source: D. E. Knuth, The Art of Computer Programming, vol. 3, section 5.2, algorithm C (comparison counting).

#define COARSEN_BEGIN COARSEN_PATTERN_MERGESORT
#include "../base.h"
#ifndef COARSEN_MADE_RANK
#define COARSEN_MADE_RANK

// What is compared: of a radix sort bits, in one or two words.
#if COARSEN_PATTERN == COARSEN_PATTERN_SORT
typedef struct {
    unsigned int word[(sizeof(COARSEN_TYPE) + 3) / 4];
} COARSEN_(ranked);
COARSEN_DEVICE COARSEN_(ranked)
    COARSEN_(ranked_of)(COARSEN_TYPE key, unsigned int first, unsigned int width)
{
    const unsigned long long bits = COARSEN_(bits)(key) >> first & ~0ull >> (64 - width);
    COARSEN_(ranked) ranked;
    ranked.word[0] = (unsigned int)bits;
    if (sizeof(key) > 4)
        ranked.word[sizeof(ranked) / 4 - 1] = (unsigned int)(bits >> 32);
    return ranked;
}
COARSEN_DEVICE bool COARSEN_(earlier)(COARSEN_(ranked) a, COARSEN_(ranked) b)
{
    const unsigned int last = sizeof(a) / 4 - 1;
    return last == 0 ? a.word[0] < b.word[0]
                     : ((unsigned long long)a.word[last] << 32 | a.word[0]) <
                           ((unsigned long long)b.word[last] << 32 | b.word[0]);
}
#else
typedef COARSEN_TYPE COARSEN_(ranked);
COARSEN_DEVICE COARSEN_(ranked) COARSEN_(ranked_of)(COARSEN_TYPE key, COARSEN_UNUSED unsigned first,
                                                    COARSEN_UNUSED unsigned width)
{
    return key;
}
COARSEN_DEVICE bool COARSEN_(earlier)(COARSEN_(ranked) a, COARSEN_(ranked) b)
{
    return COARSEN_(less)(a, b);
}
#endif

// 32 KiB of shared memory hold so many groups of keys: some for each of 32 warps, or of large keys one for fewer warps.
#define COARSEN_HELD    (256 / ((sizeof(COARSEN_(ranked)) + 3) / 4))
#define COARSEN_RANKERS (COARSEN_HELD > 32 ? 1024 : COARSEN_HELD > 0 ? COARSEN_HELD * 32 : 32)
enum {
    COARSEN_(rankers) = COARSEN_RANKERS,
    COARSEN_(rank_warps) = COARSEN_RANKERS / 32,
    COARSEN_(rank_groups) = // of a warp at a time
    COARSEN_HELD > COARSEN_(rank_warps) ? COARSEN_HELD / COARSEN_(rank_warps) : 1,
    COARSEN_(held) = COARSEN_RANKERS * COARSEN_(rank_groups)
};

// Counts are floats, exact up to 2^24: the pipe for integers compares, and that for floats has nothing else to do.
COARSEN_INLINE void COARSEN_(count_if)(float *count, bool it)
{
#if COARSEN_PTX
    asm("{\n\t"
        ".reg .pred it;\n\t"
        "setp.ne.u32 it, %1, 0;\n\t"
        "@it add.f32 %0, %0, 0f3F800000;\n\t" // 1
        "}"
        : "+f"(*count)
        : "r"((unsigned int)it));
#else
    *count += it ? 1.0f : 0.0f;
#endif
}

// How many keys of a group come before the lane's own. All lanes read the same key at a time.
COARSEN_INLINE float COARSEN_(count_of_group)(const COARSEN_(ranked) * group, COARSEN_(ranked) own,
                                              bool lower)
{
    float count = 0;
#pragma unroll 8
    for (unsigned int j = 0; j < 32; j++)
        COARSEN_(count_if)
    (&count, lower ? !COARSEN_(earlier)(own, group[j]) : COARSEN_(earlier)(group[j], own));
    return count;
}

COARSEN_INLINE unsigned int COARSEN_(rank)(COARSEN_(ranked) * held, const COARSEN_TYPE *in,
                                           unsigned int n, unsigned int first, unsigned int width)
{
    enum { warps = COARSEN_(rank_warps), groups = COARSEN_(rank_groups) };
    __shared__ float counts[warps][32];
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    COARSEN_(ranked) *const stage = held + warp * 32 * groups;
    const unsigned int here = blockIdx.x * 32, i = here + lane, at = i < n ? i : n - 1;
    const COARSEN_(ranked) own = COARSEN_(ranked_of)(in[at], first, width);
    float count = 0;
    for (unsigned int base = warp * 32; base < n; base += warps * 32 * groups) {
        COARSEN_TYPE load[groups];
#pragma unroll
        for (unsigned int g = 0; g < groups; g++) {
            const unsigned int k = base + g * warps * 32 + lane;
            load[g] = in[k < n ? k : n - 1];
        }
        __syncwarp();
#pragma unroll
        for (unsigned int g = 0; g < groups; g++)
            stage[g * 32 + lane] = COARSEN_(ranked_of)(load[g], first, width);
        __syncwarp();
#pragma unroll 1
        for (unsigned int g = 0; g < groups; g++) {
            const unsigned int begin = base + g * warps * 32;
            const COARSEN_(ranked) *const group = stage + g * 32;
            if (begin >= n)
                break;
            if (begin < here)
                count += COARSEN_(count_of_group)(group, own, true);
            else if (begin > here && n - begin >= 32)
                count += COARSEN_(count_of_group)(group, own, false);
            else // the block's own, or the last one
#pragma unroll 8
                for (unsigned int j = 0; j < 32; j++) {
                    const unsigned int k = begin + j;
                    const bool before = COARSEN_(earlier)(group[j], own);
                    const bool behind = COARSEN_(earlier)(own, group[j]);
                    COARSEN_(count_if)
                    (&count, (bool)(((k < i) & !behind) | ((k > i) & (k < n) & before)));
                }
        }
    }
    counts[warp][lane] = count;
    __syncthreads();
    float place = 0;
    if (warp == 0)
#pragma unroll
        for (unsigned int w = 0; w < warps; w++)
            place += counts[w][lane];
    return (unsigned int)place;
}

#ifndef __CUDACC_RTC__
// Up to how many keys, and no more than `most`, all blocks are done in less time than one compares its keys with so many
// others. They run in turns: as many at a time as there are multiprocessors. Of a device that cannot be asked: none.
COARSEN_HOST size_t COARSEN_(most_ranked)(size_t compared, size_t most, size_t processors)
{
    size_t n = 0;
    for (size_t bit = processors > 0 ? 65536 : 0; bit > 0; bit /= 2)
        if (n + bit <= most && coarsen_ceil_div(n + bit, 32 * processors) * (n + bit) <= compared)
            n += bit;
    return n;
}
#endif
#endif

#define COARSEN_END
#include "../base.h"
