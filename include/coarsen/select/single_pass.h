// SPDX-License-Identifier: MIT
//
// coarsen/select/single_pass.h: the elements that an expression selects, one after the other and in their
// order; or a partition, those selected first and the rest behind; or each run of equal elements as one.
//
//     #define COARSEN_NAME     positive_f32
//     #define COARSEN_TYPE     float
//     #define COARSEN_IF(x, i) ((x) > 0)
//     #include <coarsen/select/single_pass.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_IF(x, i, s)  | this or SAME     | whether element x at index i (a size_t) is kept      |
// | COARSEN_SAME(a, b)   | this or IF       | whether b, which follows a, is left out; the first element is kept |
// | COARSEN_OUT          | COARSEN_TYPE     | element type of out                                  |
// | COARSEN_LIFT(x, i, s) | (COARSEN_OUT)(x) | what is written for element x at index i            |
// | COARSEN_SCALAR       | none             | type of s, a value given at launch: a number or a struct; without it IF and LIFT take x and i |
// | COARSEN_PARTITION    | 0                | 1: the rest is written too, from out's end backwards |
// | BLOCK_DIM            | 512 or tuned     | threads per block: a multiple of 32 from 64 to 1024  |
// | COARSE_FACTOR        | 8 or tuned       | 16-byte vectors per thread and tile, from 1 to 16; fewer where four tiles need more shared memory than there is |
// tuned: COARSEN_SELECT_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune.
// Defines what block/pipeline.h does, of whose kernels NAME_launch launches one, and
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_OUT *out, size_t n,
//                             unsigned long long *count, [COARSEN_SCALAR scalar,]
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, at any element's alignment (its size, if that divides 16). count: in
// device memory, set to how many are kept; 0 if n is 0. out: room for those, and for n with
// COARSEN_PARTITION: then out[n - 1] is the first element of the rest, out[n - 2] the second, and so on. What
// is behind the last one written stays as it was. out and count are apart from in and from each other: in
// place, a block could write where another has yet to read. IF, SAME and LIFT may be evaluated more
// than once for an element; in SAME(a, b) both are neighbours in `in`, whether a is kept or not.
// scratch: as in scan/single_pass.h. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing
// array (out as if n were written) or too small a scratch, or elements so large that shared memory cannot
// hold four for each thread (take a lower BLOCK_DIM), with nothing written; those of the runtime's device
// queries. Deterministic.
//
// Each element that is kept goes to the place whose number is how many are kept before it: an exclusive scan
// of ones and zeros. So this is block/pipeline.h, the kernel of that scan; what a tile holds is how many it
// keeps. A warp looks at 32 neighbours at a time. The vote of its lanes is a mask of those kept, from
// which each lane counts the bits below its own, and those kept are written as one run. But of bytes and pairs of
// bytes, compacted as they are, a lane looks at its own vectors, and the warp puts what it keeps together in shared memory.
// Price saved: memory. Each element is read once, and nothing but the elements kept is written.
// Price paid: that of scan/single_pass.h; and a warp's run begins anywhere, so the ends of runs share
// 32-byte sectors.
// Cost: n elements read and those kept written; with COARSEN_SAME, one element per warp and tile read twice.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016);
// M. Billeter, O. Olsson, U. Assarsson, Efficient Stream Compaction on Wide SIMD Many-Core Architectures
// (2009), for the votes.

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_SELECT_BLOCK_DIM)
#define BLOCK_DIM COARSEN_SELECT_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_SELECT_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_SELECT_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_SELECT
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/select: COARSE_FACTOR must be from 1 to 16"
#endif

typedef struct {
    const COARSEN_TYPE *in;
    size_t skip, end;
    COARSEN_OUT *out;
    unsigned long long *count;
#ifdef COARSEN_SCALAR
    COARSEN_SCALAR scalar;
#endif
} COARSEN_(arrays);

// Bytes and pairs of bytes that stay so: a lane looks at its own vectors and puts what it keeps together in shared memory.
#define COARSEN_OWN                                                                                \
    (sizeof(COARSEN_TYPE) <= 2 && sizeof(COARSEN_OUT) == sizeof(COARSEN_TYPE) &&                   \
     alignof(COARSEN_OUT) == sizeof(COARSEN_OUT) && !COARSEN_PARTITION)

typedef struct {
    // Of each element that the thread looks at, whether it is kept: in step s of a part, element 32 s + lane; or, of its own
    // vectors, element s.
    unsigned int bits[(COARSE_FACTOR * COARSEN_VECTOR_ITEMS(COARSEN_TYPE) + 31) / 32];
    unsigned int count; // of the warp's part
#ifdef COARSEN_SAME
    COARSEN_TYPE before; // the element before the part, in lane 0
#endif
} COARSEN_(kept);

#define COARSEN_BESIDE                                                                             \
    (sizeof(COARSEN_TYPE) <= 8 && BLOCK_DIM <= 512 ? 2 : 1) // larger ones need more registers
#include "../block/pipeline.h"

#define COARSEN_FEW 4 // of 32 elements: with so few, stores that are apart cost less than the votes

// The place in out of element i, of which `before` are kept before it.
COARSEN_DEVICE size_t COARSEN_(place_of)(COARSEN_(arrays) arrays, size_t i, COARSEN_ACC before,
                                         bool kept)
{
    const size_t n = arrays.end - arrays.skip;
    return kept ? before : n - 1 - (i - before);
}

// Which of a part's elements, counted from `first`, are there: from *begin on, so many.
COARSEN_DEVICE unsigned int COARSEN_(there_of)(COARSEN_(arrays) arrays, size_t first,
                                               unsigned int rows, unsigned int *begin)
{
    const size_t most = rows * 32 * COARSEN_ITEMS;
    *begin = first < arrays.skip ? (unsigned int)(arrays.skip - first) : 0;
    return first < arrays.end ? (unsigned int)coarsen_min(arrays.end - first, most) - *begin : 0;
}

COARSEN_INLINE void COARSEN_(fetch)(COARSEN_UNUSED COARSEN_(kept) * kept,
                                    COARSEN_UNUSED COARSEN_(arrays) arrays,
                                    COARSEN_UNUSED size_t element, unsigned int, unsigned int)
{
#ifdef COARSEN_SAME
    if (threadIdx.x % 32 == 0 && element < arrays.end)
        kept->before = arrays.in[element > arrays.skip ? element - arrays.skip - 1 : 0];
#endif
}

// whole: all elements of the part are there.
COARSEN_INLINE void COARSEN_(look_at)(COARSEN_(kept) * kept, const COARSEN_TYPE *part,
                                      COARSEN_(arrays) arrays, size_t first, unsigned int rows,
                                      unsigned int most, bool whole, unsigned int begin,
                                      unsigned int there)
{
    const unsigned int lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        if (r >= rows)
            continue;
        COARSEN_(vector) own;
        const unsigned int v = (r * 32 + lane) * COARSEN_ITEMS;
        if (COARSEN_OWN && (whole || (v + COARSEN_ITEMS > begin && v < begin + there)))
            own = *(const COARSEN_(vector) *)(const void *)(part + v);
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
            const unsigned int s = r * COARSEN_ITEMS + j;
            const unsigned int e = COARSEN_OWN ? v + j : s * 32 + lane;
            if (!(whole || e - begin < there))
                continue;
            const COARSEN_TYPE x = COARSEN_OWN ? own.item[j] : part[e];
#ifdef COARSEN_IF
            const bool keep =
                COARSEN_(keeps)(x, first + e - arrays.skip COARSEN_ALSO(arrays.scalar));
#else
            const COARSEN_TYPE before = e <= begin             ? e == 0 ? kept->before : x
                                        : COARSEN_OWN && j > 0 ? own.item[j > 0 ? j - 1 : 0]
                                                               : part[e - 1];
            const bool keep = !COARSEN_(same)(before, x);
#endif
            kept->bits[s / 32] |= (unsigned int)keep << s % 32;
        }
    }
#ifdef COARSEN_SAME
    if (first <= arrays.skip && // the first of all
        lane == (COARSEN_OWN ? begin / COARSEN_ITEMS : begin % 32))
        kept->bits[0] |= 1u << (COARSEN_OWN ? begin % COARSEN_ITEMS : begin / 32);
#endif
}

COARSEN_INLINE COARSEN_ACC COARSEN_(add_up)(COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                            COARSEN_(arrays) arrays, size_t element,
                                            unsigned int rows, unsigned int most)
{
    const unsigned int lane = threadIdx.x % 32;
    const COARSEN_TYPE *const part = (const COARSEN_TYPE *)(stage - lane);
    const size_t first = element - lane * COARSEN_ITEMS;
    unsigned int begin;
    const unsigned int there = COARSEN_(there_of)(arrays, first, rows, &begin);

    __syncwarp(); // the copies of the other lanes
    kept->count = 0;
#pragma unroll
    for (unsigned int w = 0; w < sizeof(kept->bits) / sizeof(kept->bits[0]); w++)
        kept->bits[w] = 0;
    if (there == rows * 32 * COARSEN_ITEMS)
        COARSEN_(look_at)(kept, part, arrays, first, rows, most, true, begin, there);
    else
        COARSEN_(look_at)(kept, part, arrays, first, rows, most, false, begin, there);
#pragma unroll
    for (unsigned int w = 0; w < sizeof(kept->bits) / sizeof(kept->bits[0]); w++)
        kept->count += (unsigned int)__popc(kept->bits[w]);
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2)
        kept->count += __shfl_xor_sync(0xffffffff, kept->count, delta);
    return kept->count;
}

// Of a 32 x 32 matrix of bits, of which each lane has a row, each lane's column.
COARSEN_DEVICE unsigned int COARSEN_(transposed)(unsigned int bits)
{
    unsigned int mask = 0x0000ffff;
#pragma unroll
    for (unsigned int delta = 16; delta > 0; delta /= 2, mask ^= mask << delta) {
        const unsigned int other = __shfl_xor_sync(0xffffffff, bits, (int)delta);
        bits = threadIdx.x & delta ? (bits & ~mask) | (other >> delta & mask)
                                   : (bits & mask) | (other & mask) << delta;
    }
    return bits;
}

// Where a part keeps few: each lane writes what one step of 32 neighbours keeps.
COARSEN_DEVICE void COARSEN_(write_few)(const COARSEN_(kept) * kept, const COARSEN_TYPE *part,
                                        COARSEN_(arrays) arrays, size_t first, COARSEN_OUT *out)
{
    const unsigned int lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned int w = 0; w < sizeof(kept->bits) / sizeof(kept->bits[0]); w++) {
        unsigned int votes = COARSEN_(transposed)(kept->bits[w]); // of step 32 w + lane
        const unsigned int count = (unsigned int)__popc(votes);
        unsigned int upto = count;
#pragma unroll
        for (unsigned int delta = 1; delta < 32; delta *= 2) {
            const unsigned int below = __shfl_up_sync(0xffffffff, upto, delta);
            upto += lane >= delta ? below : 0;
        }
        COARSEN_OUT *to = out + (upto - count);
        out += __shfl_sync(0xffffffff, upto, 31);
        for (; votes != 0; votes &= votes - 1, to++) {
            const unsigned int e = (32 * w + lane) * 32 + (unsigned int)__ffs((int)votes) - 1;
            *to = COARSEN_(lift)(part[e], first + e - arrays.skip COARSEN_ALSO(arrays.scalar));
        }
    }
}

// Puts what the lanes keep of their own vectors together, in place, as what is kept of a row goes no further than the row;
// and writes that, from word to word of out.
COARSEN_INLINE void COARSEN_(write_own)(const COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                        COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                        unsigned int most, COARSEN_OUT *out)
{
    const unsigned int lane = threadIdx.x % 32, unit = sizeof(COARSEN_OUT);
    COARSEN_OUT *const staged = (COARSEN_OUT *)(void *)(stage - lane);
    unsigned int mine[COARSE_FACTOR],
        upto[(COARSE_FACTOR + 1) / 2]; // of two rows each, 16 bits for one
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        const unsigned int s = r * COARSEN_ITEMS;
        mine[r] = kept->bits[s / 32] >> s % 32 & ((1u << COARSEN_ITEMS) - 1);
        const unsigned int count = (unsigned int)__popc(mine[r]);
        upto[r / 2] = r % 2 == 0 ? count : upto[r / 2] | count << 16;
    }
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2)
#pragma unroll
        for (unsigned int p = 0; p < (most + 1) / 2; p++) {
            const unsigned int below = __shfl_up_sync(0xffffffff, upto[p], delta);
            upto[p] += lane >= delta ? below : 0;
        }
    unsigned int count = 0;
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        if (r >= rows)
            break;
        COARSEN_(vector) own;
        if (mine[r] != 0)
            own = stage[r * 32];
        const unsigned int upto_here = upto[r / 2] >> r % 2 * 16 & 0xffff;
        COARSEN_OUT *to = staged + (count + upto_here - (unsigned int)__popc(mine[r]));
        count += __shfl_sync(0xffffffff, upto_here, 31);
        __syncwarp(); // all lanes have read the row
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            if (mine[r] >> j & 1) {
                const size_t i = element - arrays.skip + r * 32 * COARSEN_ITEMS + j;
                *to++ = COARSEN_(lift)(own.item[j], i COARSEN_ALSO(arrays.scalar));
            }
    }
    __syncwarp();
    const COARSEN_(one_word) *const words = (const COARSEN_(one_word) *)(const void *)staged;
    const unsigned int head =
        (unsigned int)coarsen_min(-(size_t)out % 4 / unit, count); // before a word of out
    const unsigned int whole = (count - head) * unit / 4, behind = head + whole * 4 / unit;
    if (lane < head)
        out[lane] = staged[lane];
    if (lane < count - behind)
        out[behind + lane] = staged[behind + lane];
    COARSEN_(one_word) *const to = (COARSEN_(one_word) *)(void *)(out + head);
#pragma unroll 4
    for (unsigned int w = lane; w < whole; w += 32) {
        const unsigned int first = head * unit + w * 4; // byte
        to[w].word =
            __funnelshift_r(words[first / 4].word, words[(first + 3) / 4].word, first % 4 * 8);
    }
}

COARSEN_INLINE void COARSEN_(write_tile)(const COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                         COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                         unsigned int most, COARSEN_ACC start)
{
    const unsigned int lane = threadIdx.x % 32;
    const COARSEN_TYPE *const part = (const COARSEN_TYPE *)(stage - lane);
    const size_t first = element - lane * COARSEN_ITEMS;
    unsigned int begin, count = 0;
    const unsigned int there = COARSEN_(there_of)(arrays, first, rows, &begin);
    COARSEN_OUT *const out = arrays.out + start;

    if (lane == 0 && there > 0 && first + begin + there == arrays.end)
        *arrays.count = start + kept->count;
    if (COARSEN_OWN) {
        COARSEN_(write_own)(kept, stage, arrays, element, rows, most, out);
    } else if (!COARSEN_PARTITION && kept->count <= rows * COARSEN_ITEMS * COARSEN_FEW) {
        COARSEN_(write_few)(kept, part, arrays, first, out);
    } else {
#pragma unroll
        for (unsigned int r = 0; r < most; r++) {
            if (r >= rows)
                break;
            // Row by row, so that what one step waits for leaves time for the others.
            unsigned int before[COARSEN_ITEMS];
            bool mine[COARSEN_ITEMS];
#pragma unroll
            for (unsigned int s = 0; s < COARSEN_ITEMS; s++) {
                const unsigned int step = r * COARSEN_ITEMS + s;
                mine[s] = kept->bits[step / 32] >> step % 32 & 1;
                const unsigned int votes = __ballot_sync(0xffffffff, mine[s]);
                before[s] = count + (unsigned int)__popc(votes & ((1u << lane) - 1));
                count += (unsigned int)__popc(votes);
            }
#pragma unroll
            for (unsigned int s = 0; s < COARSEN_ITEMS; s++) {
                const unsigned int e = (r * COARSEN_ITEMS + s) * 32 + lane;
                const size_t i = first + e - arrays.skip;
                if (mine[s])
                    out[before[s]] = COARSEN_(lift)(part[e], i COARSEN_ALSO(arrays.scalar));
                else if (COARSEN_PARTITION && e - begin < there)
                    arrays.out[COARSEN_(place_of)(arrays, i, start + before[s], false)] =
                        COARSEN_(lift)(part[e], i COARSEN_ALSO(arrays.scalar));
            }
        }
    }
    __syncwarp(); // before another tile is copied there
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    return COARSEN_(pass_bytes)(n);
}

COARSEN_HOST cudaError_t
COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_OUT *out, size_t n,
                 unsigned long long *count COARSEN_ALSO(COARSEN_SCALAR scalar), void *scratch,
                 size_t scratch_bytes, cudaStream_t stream)
{
    if (!coarsen_array_ok(count, 1) ||
        !coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, n))
        return cudaErrorInvalidValue;
    if (n == 0)
        return cudaMemsetAsync(count, 0, sizeof(*count), stream);
    if (!coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n))
        return cudaErrorInvalidValue;
    const size_t skip = COARSEN_(skip)(in);
    const COARSEN_(arrays) arrays = {in, skip, n + skip, out, count COARSEN_ALSO(scalar)};
    return COARSEN_(pass)(arrays, scratch, stream);
}
#endif

#undef COARSEN_FEW
#undef COARSEN_OWN

#define COARSEN_END
#include "../base.h"
