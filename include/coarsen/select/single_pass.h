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
// | BLOCK_DIM            | 512              | threads per block: a multiple of 32 from 64 to 1024  |
// | COARSE_FACTOR        | 8                | 16-byte vectors per thread and tile, from 1 to 16; fewer where four tiles need more shared memory than there is |
// Defines what block/pipeline.h does, whose NAME_kernel or NAME_short_kernel NAME_launch launches, and
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
// which each lane counts the bits below its own, and those kept are written as one run.
// Price saved: memory. Each element is read once, and nothing but the elements kept is written.
// Price paid: that of scan/single_pass.h; and a warp's run begins anywhere, so the ends of runs share
// 32-byte sectors.
// Cost: n elements read and those kept written; with COARSEN_SAME, one element per warp and tile read twice.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016);
// M. Billeter, O. Olsson, U. Assarsson, Efficient Stream Compaction on Wide SIMD Many-Core Architectures
// (2009), for the votes.

#define COARSEN_BEGIN COARSEN_PATTERN_SELECT
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#elif BLOCK_DIM < 64
#error "coarsen/select: BLOCK_DIM must be 64 or more, as one warp looks back for the others"
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

// A lane of a warp looks at neighbours: so many vectors of the warp's part of a tile, one after the other.
#define COARSEN_WORDS ((COARSE_FACTOR * COARSEN_VECTOR_ITEMS(COARSEN_TYPE) + 31) / 32)
typedef struct {
    unsigned int bits[COARSEN_WORDS]; // of each of its elements, whether it is kept
    unsigned int before;              // how many of the part's are kept before them
} COARSEN_(kept);

#define COARSEN_LEAD 1
#include "../block/pipeline.h"

// Whether element i is kept. It is at *here and in the array, as is the one before it; *nearer is that too,
// unless it is null.
COARSEN_DEVICE bool COARSEN_(kept_at)(const COARSEN_TYPE *here,
                                      COARSEN_UNUSED const COARSEN_TYPE *nearer,
                                      COARSEN_UNUSED COARSEN_(arrays) arrays,
                                      COARSEN_UNUSED size_t i)
{
#ifdef COARSEN_IF
    return COARSEN_(keeps)(*here, i COARSEN_ALSO(arrays.scalar));
#else
    return i == 0 || !COARSEN_(same)(nearer ? *nearer : arrays.in[i - 1], *here);
#endif
}

// The place in out of element i, of which `before` are kept before it.
COARSEN_DEVICE size_t COARSEN_(place_of)(COARSEN_(arrays) arrays, size_t i, COARSEN_ACC before,
                                         bool kept)
{
    const size_t n = arrays.end - arrays.skip;
    return kept ? before : n - 1 - (i - before);
}

// ---- a vector, of a short array -------------------------------------------------------------------

COARSEN_DEVICE COARSEN_ACC COARSEN_(sum)(const COARSEN_(vector) * from, COARSEN_(arrays) arrays,
                                         size_t element)
{
    COARSEN_ACC sum = 0;
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        if (COARSEN_(there)(arrays, element + j, 1))
            sum += COARSEN_(kept_at)(from->item + j, j > 0 ? from->item + j - 1 : NULL, arrays,
                                     element + j - arrays.skip);
    return sum;
}

COARSEN_DEVICE void COARSEN_(write)(const COARSEN_(vector) * from, COARSEN_(arrays) arrays,
                                    size_t element, COARSEN_ACC before)
{
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
        if (!COARSEN_(there)(arrays, element + j, 1))
            continue;
        const size_t i = element + j - arrays.skip;
        const bool kept =
            COARSEN_(kept_at)(from->item + j, j > 0 ? from->item + j - 1 : NULL, arrays, i);
        if (kept || COARSEN_PARTITION)
            arrays.out[COARSEN_(place_of)(arrays, i, before, kept)] =
                COARSEN_(lift)(from->item[j], i COARSEN_ALSO(arrays.scalar));
        before += kept;
        if (element + j == arrays.end - 1)
            *arrays.count = before;
    }
}

// ---- a warp's part of a tile ----------------------------------------------------------------------

// Elements as they are in shared memory, in whole 16-byte vectors. A word of their bits is those of 32.
#define COARSEN_WHOLE (16 % sizeof(COARSEN_TYPE) == 0)

// What a lane looks at: the elements of a part from `first` on, of which those from `begin` to before `end`
// are in the array.
typedef struct {
    const COARSEN_(vector) * vectors;
    unsigned int first, begin, end;
} COARSEN_(share);

COARSEN_DEVICE unsigned int COARSEN_(within)(size_t x, size_t least, unsigned int count)
{
    return x > least ? (unsigned int)coarsen_min(x - least, count) : 0;
}

// Given what the pipeline gives.
COARSEN_DEVICE COARSEN_(share) COARSEN_(find)(const COARSEN_(vector) * stage, COARSEN_(arrays) arrays,
                                             size_t element, unsigned int rows)
{
    const unsigned int lane = threadIdx.x % 32, count = rows * COARSEN_ITEMS;
    const size_t part = element - lane * COARSEN_ITEMS;
    COARSEN_(share) share = {stage - lane + lane * rows, lane * count, 0, count};
    if (part < arrays.skip || part + 32 * count > arrays.end) {
        share.begin = COARSEN_(within)(arrays.skip, part + share.first, count);
        share.end = COARSEN_(within)(arrays.end, part + share.first, count);
    }
    return share;
}

// A lane's vector r, as it is now.
COARSEN_DEVICE COARSEN_(words_4) COARSEN_(load)(const COARSEN_(vector) * from)
{
    return *(const COARSEN_(words_4) *)from;
}

COARSEN_DEVICE const COARSEN_TYPE *COARSEN_(item)(const COARSEN_(words_4) * vector, unsigned int j)
{
    return (const COARSEN_TYPE *)vector + j;
}

// The bits of a lane's elements; all: they are all in the array.
COARSEN_DEVICE void COARSEN_(look)(COARSEN_(kept) * kept, COARSEN_(share) share,
                                   COARSEN_(arrays) arrays, size_t i, unsigned int rows, bool all)
{
    const COARSEN_TYPE *nearer = (const COARSEN_TYPE *)share.vectors - 1;
    COARSEN_(words_4) vector[COARSE_FACTOR];
#pragma unroll
    for (unsigned int r = 0; r < COARSE_FACTOR; r++) {
        if (r >= rows)
            break;
        vector[r] = COARSEN_(load)(share.vectors + r);
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
            const unsigned int e = r * COARSEN_ITEMS + j;
            const COARSEN_TYPE *const here = COARSEN_(item)(&vector[r], j);
            if ((all || (e >= share.begin && e < share.end)) &&
                COARSEN_(kept_at)(here, nearer, arrays, i + e))
                kept->bits[e / 32] |= 1u << e % 32;
            nearer = here;
        }
    }
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(add_up)(COARSEN_(kept) * kept, const COARSEN_(vector) * stage,
                                            COARSEN_(arrays) arrays, size_t element,
                                            unsigned int rows)
{
    const unsigned int lane = threadIdx.x % 32;
    const COARSEN_(share) share = COARSEN_(find)(stage, arrays, element, rows);
    const size_t i = element - lane * COARSEN_ITEMS + share.first - arrays.skip;
    unsigned int count = 0;

    __syncwarp(); // the copies of the other lanes
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_WORDS; w++)
        kept->bits[w] = 0;
    if (COARSEN_WHOLE) {
        if (share.begin == 0 && share.end == rows * COARSEN_ITEMS)
            COARSEN_(look)(kept, share, arrays, i, rows, true);
        else
            COARSEN_(look)(kept, share, arrays, i, rows, false);
    } else {
#pragma unroll
        for (unsigned int w = 0; w < COARSEN_WORDS; w++)
#pragma unroll 1
            for (unsigned int b = 0; b < 32 && w * 32 + b < share.end; b++) {
                const unsigned int e = w * 32 + b;
                const COARSEN_TYPE *const here = (const COARSEN_TYPE *)share.vectors + e;
                if (e >= share.begin &&
                    COARSEN_(kept_at)(here, here - 1, arrays, i + e))
                    kept->bits[w] |= 1u << b;
            }
    }
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_WORDS; w++)
        count += __popc(kept->bits[w]);
    unsigned int all = count;
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const unsigned int below = __shfl_up_sync(0xffffffff, all, delta);
        all += lane >= delta ? below : 0;
    }
    kept->before = all - count;
    return __shfl_sync(0xffffffff, all, 31);
}

// Where results can be gathered in shared memory: in whole vectors.
#define COARSEN_GATHERED (COARSEN_WHOLE && 16 % sizeof(COARSEN_OUT) == 0)

// Writes those of the lanes' elements whose bits are set, a run of `count` from `out` on. The lane's first one
// is number `at` of the run, and the next is `step` behind, 1 or -1.
// They are gathered where the part was, from the vector before it on, so that vectors there begin where
// vectors of out do; as many at a time as have room.
COARSEN_DEVICE void COARSEN_(write_run)(const COARSEN_(words_4) * vector, const unsigned int *bits,
                                        COARSEN_(vector) * room, COARSEN_UNUSED COARSEN_(arrays) arrays,
                                        size_t i,
                                        unsigned int rows, unsigned int at, unsigned int step,
                                        unsigned int count, COARSEN_OUT *out)
{
    const unsigned int items = COARSEN_VECTOR_ITEMS(COARSEN_OUT), lane = threadIdx.x % 32;
    const unsigned int most = (1 + rows * 32) * items;
    const bool at_once = sizeof(COARSEN_OUT) <= sizeof(COARSEN_TYPE);
    const unsigned int skip = (unsigned int)((size_t)out / sizeof(*out) % items);
    const unsigned int ends = skip + count;
    COARSEN_OUT *const gathered = (COARSEN_OUT *)room;

    for (unsigned int base = 0; base < ends; base += most) {
        unsigned int to = skip + at - base;
        __syncwarp(); // all have read what was there
#pragma unroll
        for (unsigned int r = 0; r < COARSE_FACTOR; r++) {
            if (r >= rows)
                break;
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
                const unsigned int e = r * COARSEN_ITEMS + j;
                if (bits[e / 32] >> e % 32 & 1) {
                    if (at_once || to < most)
                        gathered[to] = COARSEN_(lift)(*COARSEN_(item)(&vector[r], j),
                                                      i + e COARSEN_ALSO(arrays.scalar));
                    to += step;
                }
            }
        }
        __syncwarp();
        const unsigned int begin = base == 0 ? skip : 0;
        const unsigned int end = at_once || ends - base < most ? ends - base : most;
        COARSEN_OUT *const target = out - skip + base;
        for (unsigned int v = (begin + items - 1) / items + lane; v < end / items; v += 32)
            ((COARSEN_(words_4) *)target)[v] = ((const COARSEN_(words_4) *)gathered)[v];
        // The elements of the first vector, by the first 16 lanes, and of the last one, if not whole.
        const unsigned int e = lane < 16 ? lane : end / items * items + lane - 16;
        if (e >= begin && e < end &&
            (lane < 16 ? lane < items && (begin > 0 || end < items) : end >= items))
            target[e] = gathered[e];
        if (at_once)
            break;
    }
}

// Of word w of a lane's bits, those from number e on.
COARSEN_DEVICE unsigned int COARSEN_(bits_from)(unsigned int e, unsigned int w)
{
    return e <= w * 32 ? 0xffffffff : e < w * 32 + 32 ? 0xffffffff << (e - w * 32) : 0;
}

COARSEN_DEVICE void COARSEN_(write_tile)(const COARSEN_(kept) * kept,
                                         const COARSEN_(vector) * stage, COARSEN_(arrays) arrays,
                                         size_t element, unsigned int rows, COARSEN_ACC start)
{
    const unsigned int lane = threadIdx.x % 32;
    const COARSEN_(share) share = COARSEN_(find)(stage, arrays, element, rows);
    const size_t part = element - lane * COARSEN_ITEMS - arrays.skip, i = part + share.first;
    unsigned int mine = 0;
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_WORDS; w++)
        mine += __popc(kept->bits[w]);
    const unsigned int count = __shfl_sync(0xffffffff, kept->before + mine, 31);
    // Those of the part that are in the array, and those of them before the lane's.
    const unsigned int all = rows * 32 * COARSEN_ITEMS;
    const unsigned int begin = COARSEN_(within)(arrays.skip, element - lane * COARSEN_ITEMS, all);
    const unsigned int end = COARSEN_(within)(arrays.end, element - lane * COARSEN_ITEMS, all);
    const unsigned int below = (unsigned int)coarsen_min(share.first + share.begin, end) - begin;
    // The rest goes from out's end backwards.
    const size_t rest_before = part + begin - start;
    const unsigned int rest = end - begin - count;
    COARSEN_OUT *const rest_out = arrays.out + (arrays.end - arrays.skip - rest_before - rest);
    const unsigned int rest_at = rest - 1 - (below - kept->before);

    if (COARSEN_GATHERED) {
        COARSEN_(vector) *const room = (COARSEN_(vector) *)stage - lane - 1;
        COARSEN_(words_4) vector[COARSE_FACTOR];
#pragma unroll
        for (unsigned int r = 0; r < COARSE_FACTOR; r++)
            if (r < rows)
                vector[r] = COARSEN_(load)(share.vectors + r);
        COARSEN_(write_run)
        (vector, kept->bits, room, arrays, i, rows, kept->before, 1, count, arrays.out + start);
        if (COARSEN_PARTITION) {
            unsigned int bits[COARSEN_WORDS];
#pragma unroll
            for (unsigned int w = 0; w < COARSEN_WORDS; w++)
                bits[w] = ~kept->bits[w] & COARSEN_(bits_from)(share.begin, w) &
                          ~COARSEN_(bits_from)(share.end, w);
            COARSEN_(write_run)
            (vector, bits, room, arrays, i, rows, rest_at, 0xffffffff, rest, rest_out);
        }
    } else {
        unsigned int at = kept->before, at_rest = rest_at;
#pragma unroll
        for (unsigned int w = 0; w < COARSEN_WORDS; w++)
#pragma unroll 1
            for (unsigned int b = 0; b < 32 && w * 32 + b < share.end; b++) {
                const unsigned int e = w * 32 + b;
                const COARSEN_TYPE *const here = (const COARSEN_TYPE *)share.vectors + e;
                if (kept->bits[w] >> b & 1)
                    arrays.out[start + at++] =
                        COARSEN_(lift)(*here, i + e COARSEN_ALSO(arrays.scalar));
                else if (COARSEN_PARTITION && e >= share.begin)
                    rest_out[at_rest--] = COARSEN_(lift)(*here, i + e COARSEN_ALSO(arrays.scalar));
            }
    }
    if (lane == 0 && end > begin && part + arrays.skip + end == arrays.end)
        *arrays.count = start + count;
    __syncwarp(); // before another tile is copied there
}

#ifndef __CUDACC_RTC__
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

#undef COARSEN_WORDS
#undef COARSEN_WHOLE
#undef COARSEN_GATHERED

#define COARSEN_END
#include "../base.h"
