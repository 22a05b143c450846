// SPDX-License-Identifier: MIT
//
// coarsen/scan/segmented.h: a scan of each of many segments of an array. single_pass.h + heads: at the first
// element of a segment, the head, the scan begins anew.
// out[i] = LIFT(in[h], h) OP ... OP LIFT(in[i], i), where h is the last head up to i; or without the last
// with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32       // or, for offsets in place of flags
//     #define COARSEN_TYPE float             //     #define COARSEN_OFFSET int
//     #define COARSEN_FLAG unsigned char     // in place of COARSEN_FLAG
//     #include <coarsen/scan/segmented.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_FLAG         | none: offsets    | integer type of the flags, a byte is best: not 0 at the head of a segment |
// | COARSEN_OFFSET       | int              | type of the offsets, any integer, where there are no flags |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and of the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i of the array (a size_t) as a COARSEN_ACC |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative operator on COARSEN_ACC; need not be commutative |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | COARSEN_EXCLUSIVE    | 0                | 1: out[i] is of the segment's elements before i, at a head the identity |
// | BLOCK_DIM            | 512              | threads per block: a multiple of 32 from 64 to 1024  |
// | COARSE_FACTOR        | 8                | 16-byte vectors per thread and tile, from 1 to 16; fewer where four tiles need more shared memory than there is |
// Defines what block/pipeline.h does, of whose kernels NAME_launch launches one, and
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
// with COARSEN_FLAG
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, const COARSEN_FLAG *flags, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// and without, a kernel NAME_mark_kernel that runs before the other one, and
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, size_t n, const COARSEN_OFFSET *offsets,
//                             size_t segments, COARSEN_ACC *out,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// in: n elements in device memory, at any element's alignment (its size, if that divides 16). flags: n, at any
// alignment. offsets: segments + 1 of them, none less than the one before or more than n, where the segments
// begin and where the last one ends. What is before the first or behind the last one is a segment too. out: n
// COARSEN_ACC, apart from flags and offsets, and from in, or in itself if they have one size. scratch: device
// memory, 16-byte aligned, made ready once by NAME_scratch_init. One scratch per launch that may run at the
// same time. Wrong offsets end the launch with an error (__trap). Errors: as in single_pass.h.
// Deterministic: on one model of device, an n, in's address modulo 128 and heads give the same bits always.
//
// What is added up is a pair: a value, and whether a segment begins in what it is of. (a, p) OP (b, q) is
// (b, true) if q, or else (a OP b, p). This operator is associative, so all that is said of single_pass.h holds.
// Within a warp a pair costs no more than a value: the lanes vote on heads, so each lane knows how many lanes
// down its segment begins, and in the five steps of the scan adds only what is no further away.
// Price paid: that of single_pass.h; a bit per element to look at; and slots of pairs, 8 bytes more per tile.
// Offsets are marked first, each as a bit of the scratch, so that a million empty segments or one of a million
// elements are no special cases.
// Cost: n elements read and n results written once; with flags, these read once; with offsets, these read
// twice, once from the cache, and n / 8 bytes of the scratch set to 0, marked and read.
// Source: J. T. Schwartz (1980) and G. E. Blelloch, Prefix Sums and Their Applications (1990), for the pairs;
// S. Sengupta, M. Harris, M. Garland, Efficient Parallel Scan Algorithms for GPUs (2008), for segments in a warp.

#define COARSEN_BEGIN COARSEN_PATTERN_SEGSCAN
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/scan: COARSE_FACTOR must be from 1 to 16"
#endif

typedef COARSEN_ACC COARSEN_(value);

// What is added up: a value, by its words, so that nothing pads it; and whether a segment begins in it.
typedef struct {
    unsigned int word[(sizeof(COARSEN_(value)) + 3) / 4], head;
} COARSEN_(acc);
#undef COARSEN_ACC
#define COARSEN_ACC COARSEN_(acc)

COARSEN_DEVICE COARSEN_ACC COARSEN_(pair_of)(COARSEN_(value) value, bool head)
{
    COARSEN_ACC pair = {};
    memcpy((void *)pair.word, (const void *)&value, sizeof(value));
    pair.head = head;
    return pair;
}

COARSEN_DEVICE COARSEN_(value) COARSEN_(value_in)(COARSEN_ACC pair)
{
    COARSEN_(value) value;
    memcpy((void *)&value, (const void *)pair.word, sizeof(value));
    return value;
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(op)(COARSEN_ACC a, COARSEN_ACC b)
{
    if (b.head)
        return b;
    return COARSEN_(pair_of)(COARSEN_(value_op)(COARSEN_(value_in)(a), COARSEN_(value_in)(b)),
                             a.head);
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(identity)(void)
{
    return COARSEN_(pair_of)(COARSEN_(value_identity)(), false);
}

// The heads of a vector's elements, as they are read: its flags, by words, which take the fewest registers; or a
// word that has its bits.
#ifdef COARSEN_FLAG
#define COARSEN_FLAGS_BYTES (COARSEN_VECTOR_ITEMS(COARSEN_TYPE) * sizeof(COARSEN_FLAG))
#define COARSEN_FLAGS_ALIGN (COARSEN_FLAGS_BYTES < 16 ? COARSEN_FLAGS_BYTES : 16)
typedef struct {
    unsigned int word[(COARSEN_FLAGS_BYTES + 3) / 4];
} COARSEN_(heads);
#else
typedef unsigned int COARSEN_(heads);
#endif

typedef struct {
    const COARSEN_TYPE *in;
    size_t skip, end;
    COARSEN_(value) * out;
    bool wide; // out's vectors begin where in's do
#ifdef COARSEN_FLAG
    const COARSEN_FLAG *flags;
    bool wide_flags;
#else
    const unsigned int *heads; // of element e, bit e % 32 of word e / 32
#endif
} COARSEN_(arrays);

typedef struct {
    COARSEN_(heads) fetched[COARSE_FACTOR];
    // Of the thread's vector of each row: the heads, a bit each; what its segment has before it in the warp's
    // part; and, a bit per row, whether that may go on before the part.
    unsigned int bits[(COARSE_FACTOR * COARSEN_VECTOR_ITEMS(COARSEN_TYPE) + 31) / 32];
    COARSEN_(value) before[COARSE_FACTOR];
    unsigned int open;
} COARSEN_(kept);

#include "../block/pipeline.h"

#define COARSEN_ALIGN                                                                              \
    (16 % sizeof(COARSEN_(value)) != 0 ? alignof(COARSEN_(value))                                  \
     : COARSEN_ITEMS * sizeof(COARSEN_(value)) % 16 == 0                                           \
         ? 16                                                                                      \
         : COARSEN_ITEMS * sizeof(COARSEN_(value)))

typedef struct COARSEN_ALIGNED(COARSEN_ALIGN) COARSEN_MAY_ALIAS {
    COARSEN_(value) item[COARSEN_ITEMS];
} COARSEN_(results);

// ---- heads ----------------------------------------------------------------------------------------

COARSEN_INLINE void COARSEN_(fetch)(COARSEN_(kept) * kept, COARSEN_(arrays) arrays, size_t element,
                                    unsigned int rows, unsigned int most)
{
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        const size_t e = element + r * 32 * COARSEN_ITEMS;
        COARSEN_(heads) heads = {};
#ifdef COARSEN_FLAG
        const COARSEN_FLAG *const flags = arrays.flags + (e - arrays.skip);
        if (r < rows && arrays.wide_flags && COARSEN_(there)(arrays, e, COARSEN_ITEMS)) {
            memcpy(&heads, __builtin_assume_aligned(flags, COARSEN_FLAGS_ALIGN),
                   COARSEN_FLAGS_BYTES);
        } else if (r < rows) {
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                if (COARSEN_(there)(arrays, e + j, 1))
                    memcpy((char *)&heads + j * sizeof(*flags), flags + j, sizeof(*flags));
        }
#else
        if (r < rows && e < arrays.end)
            heads = arrays.heads[e / 32];
#endif
        kept->fetched[r] = heads;
    }
}

// Bit j: whether element j of the vector at an element is a head.
COARSEN_DEVICE unsigned int COARSEN_(bits_of)(COARSEN_(heads) heads, COARSEN_UNUSED size_t element)
{
#ifdef COARSEN_FLAG
    unsigned int bits = 0;
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
        COARSEN_FLAG flag;
        memcpy(&flag, (const char *)&heads + j * sizeof(flag), sizeof(flag));
        bits |= (flag != 0 ? 1u : 0u) << j;
    }
    return bits;
#else
    return heads >> element % 32 & ((2u << (COARSEN_ITEMS - 1)) - 1);
#endif
}

#ifndef COARSEN_FLAG
// A bit for each of `boundaries` offsets, except for those where there is no element.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(mark_kernel)(const COARSEN_OFFSET *offsets, size_t boundaries, size_t skip, size_t n,
                          unsigned int *heads)
{
    const size_t step = (size_t)gridDim.x * BLOCK_DIM;
    for (size_t b = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x; b < boundaries; b += step) {
        const size_t here = (size_t)offsets[b], before = b > 0 ? (size_t)offsets[b - 1] : 0;
        if (here < before || here > n)
            __trap();
        if (here < n && (b == 0 || here > before))
            atomicOr(heads + (here + skip) / 32, 1u << (here + skip) % 32);
    }
}
#endif

// ---- a vector ---------------------------------------------------------------------------------------

// What is there of a vector, combined since its last head.
COARSEN_DEVICE COARSEN_(value) COARSEN_(sum)(const COARSEN_(vector) * from, COARSEN_(arrays) arrays,
                                             size_t element, unsigned int heads)
{
    const size_t i = element - arrays.skip;
    COARSEN_(value) sum = COARSEN_(value_identity)();
    if (!COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
#pragma unroll 1
        for (unsigned int j = 0; j < COARSEN_ITEMS && element + j < arrays.end; j++)
            if (element + j >= arrays.skip) {
                const COARSEN_(value) x = COARSEN_(lift)(from->item[j], i + j);
                sum = heads >> j & 1 ? x : COARSEN_(value_op)(sum, x);
            }
        return sum;
    }
    const COARSEN_(vector) load = *from;
    sum = COARSEN_(lift)(load.item[0], i);
#pragma unroll
    for (unsigned int j = 1; j < COARSEN_ITEMS; j++) {
        const COARSEN_(value) x = COARSEN_(lift)(load.item[j], i + j);
        sum = heads >> j & 1 ? x : COARSEN_(value_op)(sum, x);
    }
    return sum;
}

// Element j's result, given what its segment has before it; which is then what it has before the next one.
COARSEN_DEVICE COARSEN_(value)
    COARSEN_(result)(COARSEN_(value) * before, COARSEN_(value) x, bool head)
{
    const COARSEN_(value) sum = head ? x : COARSEN_(value_op)(*before, x);
    const COARSEN_(value) result = !COARSEN_EXCLUSIVE ? sum
                                   : head             ? COARSEN_(value_identity)()
                                                      : *before;
    *before = sum;
    return result;
}

// Writes the results of what is there of a vector.
COARSEN_DEVICE void COARSEN_(write)(const COARSEN_(vector) * from, COARSEN_(arrays) arrays,
                                    size_t element, unsigned int heads, COARSEN_(value) before)
{
    const size_t i = element - arrays.skip;
    if (!COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
#pragma unroll 1
        for (unsigned int j = 0; j < COARSEN_ITEMS && element + j < arrays.end; j++)
            if (element + j >= arrays.skip)
                arrays.out[i + j] =
                    COARSEN_(result)(&before, COARSEN_(lift)(from->item[j], i + j), heads >> j & 1);
        return;
    }
    const COARSEN_(vector) load = *from;
    COARSEN_(results) results;
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        results.item[j] =
            COARSEN_(result)(&before, COARSEN_(lift)(load.item[j], i + j), heads >> j & 1);
    if (arrays.wide) {
        *(COARSEN_(results) *)(arrays.out + i) = results;
        return;
    }
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        arrays.out[i + j] = results.item[j];
}

// ---- a warp's part of a tile --------------------------------------------------------------------------

// Another lane's value; every lane calls these.
COARSEN_DEVICE COARSEN_(value) COARSEN_(value_below)(COARSEN_(value) value, unsigned int delta)
{
    COARSEN_ACC pair = COARSEN_(pair_of)(value, false);
#pragma unroll
    for (unsigned int w = 0; w < sizeof(pair.word) / 4; w++)
        pair.word[w] = __shfl_up_sync(0xffffffff, pair.word[w], delta);
    return COARSEN_(value_in)(pair);
}

COARSEN_DEVICE COARSEN_(value) COARSEN_(value_of_lane)(COARSEN_(value) value, unsigned int lane)
{
    COARSEN_ACC pair = COARSEN_(pair_of)(value, false);
#pragma unroll
    for (unsigned int w = 0; w < sizeof(pair.word) / 4; w++)
        pair.word[w] = __shfl_sync(0xffffffff, pair.word[w], (int)lane);
    return COARSEN_(value_in)(pair);
}

// The bits of kept->bits that are of row r.
COARSEN_DEVICE unsigned int COARSEN_(bits_of_row)(const COARSEN_(kept) * kept, unsigned int r)
{
    const unsigned int at = (unsigned int)(r * COARSEN_ITEMS);
    return kept->bits[at / 32] >> at % 32 & ((2u << (COARSEN_ITEMS - 1)) - 1);
}

// The rows go side by side, as what one of them waits for leaves time for the others.
COARSEN_INLINE COARSEN_ACC COARSEN_(add_up)(COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                            COARSEN_(arrays) arrays, size_t element,
                                            unsigned int rows, unsigned int most)
{
    const unsigned int lane = threadIdx.x % 32, below_lane = (1u << lane) - 1;
    COARSEN_(value) sum[COARSE_FACTOR];
    unsigned int votes[COARSE_FACTOR], reach[COARSE_FACTOR]; // lanes down to the segment's first
    COARSEN_(value) total = COARSEN_(value_identity)(); // of the rows so far, since their last head
    bool begun = false;                                 // whether they have one

#pragma unroll
    for (unsigned int w = 0; w < sizeof(kept->bits) / sizeof(kept->bits[0]); w++)
        kept->bits[w] = 0;
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        const unsigned int at = (unsigned int)(r * COARSEN_ITEMS);
        const size_t e = element + r * 32 * COARSEN_ITEMS;
        const unsigned int bits = COARSEN_(bits_of)(kept->fetched[r], e);
        kept->bits[at / 32] |= bits << at % 32;
        sum[r] =
            r < rows ? COARSEN_(sum)(stage + r * 32, arrays, e, bits) : COARSEN_(value_identity)();
        votes[r] = __ballot_sync(0xffffffff, bits != 0);
        const unsigned int upto = votes[r] & (below_lane << 1 | 1);
        reach[r] = upto != 0 ? lane + (unsigned int)__clz((int)upto) - 31 : lane;
    }
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2)
#pragma unroll
        for (unsigned int r = 0; r < most; r++) {
            const COARSEN_(value) below = COARSEN_(value_below)(sum[r], delta);
            if (delta <= reach[r])
                sum[r] = COARSEN_(value_op)(below, sum[r]);
        }
    kept->open = 0;
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        const COARSEN_(value) below = COARSEN_(value_below)(sum[r], 1);
        const COARSEN_(value) row = COARSEN_(value_of_lane)(sum[r], 31);
        const bool begins = votes[r] & below_lane; // in this row, before the lane
        kept->before[r] = lane == 0 ? total : begins ? below : COARSEN_(value_op)(total, below);
        kept->open |= (begins || begun ? 0u : 1u) << r;
        if (r < rows) {
            total = votes[r] != 0 ? row : COARSEN_(value_op)(total, row);
            begun |= votes[r] != 0;
        }
    }
    return COARSEN_(pair_of)(total, begun);
}

COARSEN_INLINE void COARSEN_(write_tile)(const COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                         COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                         unsigned int most, COARSEN_ACC start)
{
    const COARSEN_(value) first = COARSEN_(value_in)(start);
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        COARSEN_(value) before = kept->before[r];
        if (r == 0 && threadIdx.x % 32 == 0)
            before = first;
        else if (kept->open >> r & 1)
            before = COARSEN_(value_op)(first, before);
        if (r < rows)
            COARSEN_(write)
        (stage + r * 32, arrays, element + r * 32 * COARSEN_ITEMS, COARSEN_(bits_of_row)(kept, r),
         before);
    }
}

// ---- the launch ---------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
#ifdef COARSEN_FLAG
    return COARSEN_(pass_bytes)(n);
#else
    return COARSEN_(pass_bytes)(n) + (n + COARSEN_(line) + 31) / 32 * sizeof(unsigned int);
#endif
}

// More than 0 elements.
COARSEN_HOST bool COARSEN_(scan_ok)(const COARSEN_TYPE *in, const COARSEN_(value) * out, size_t n,
                                    const void *scratch, size_t scratch_bytes)
{
    return coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) &&
           coarsen_array_ok(out, n) &&
           coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) &&
           scratch_bytes >= COARSEN_(scratch_bytes)(n);
}

#ifdef COARSEN_FLAG
COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, const COARSEN_FLAG *flags,
                                          COARSEN_(value) * out, size_t n, void *scratch,
                                          size_t scratch_bytes, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    if (!COARSEN_(scan_ok)(in, out, n, scratch, scratch_bytes) || !coarsen_array_ok(flags, n))
        return cudaErrorInvalidValue;
    const size_t skip = COARSEN_(skip)(in);
    const bool wide = ((size_t)out - skip * sizeof(*out)) % COARSEN_ALIGN == 0;
    const bool wide_flags = ((size_t)flags - skip * sizeof(*flags)) % COARSEN_FLAGS_ALIGN == 0;
    const COARSEN_(arrays) arrays = {in, skip, n + skip, out, wide, flags, wide_flags};
    return COARSEN_(pass)(arrays, scratch, stream);
}
#else
COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, size_t n,
                                          const COARSEN_OFFSET *offsets, size_t segments,
                                          COARSEN_(value) * out, void *scratch,
                                          size_t scratch_bytes, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    if (!COARSEN_(scan_ok)(in, out, n, scratch, scratch_bytes) || segments == (size_t)-1 ||
        !coarsen_array_ok(offsets, segments + 1))
        return cudaErrorInvalidValue;
    const size_t skip = COARSEN_(skip)(in), slots_bytes = COARSEN_(pass_bytes)(n);
    const bool wide = ((size_t)out - skip * sizeof(*out)) % COARSEN_ALIGN == 0;
    unsigned int *const heads = (unsigned int *)((char *)scratch + slots_bytes);
    const COARSEN_(arrays) arrays = {in, skip, n + skip, out, wide, heads};
    cudaError_t status = cudaSuccess;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    // All of it: where the bits are depends on n, and an earlier launch may have had slots there.
    if (status == cudaSuccess)
        status = cudaMemsetAsync(scratch, 0, COARSEN_(scratch_bytes)(n), stream);
    if (status != cudaSuccess)
        return status;
    const size_t blocks =
        coarsen_min(coarsen_ceil_div(segments + 1, BLOCK_DIM), processors * (2048 / BLOCK_DIM));
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    status =
        cudaLaunchKernelEx(&config, COARSEN_(mark_kernel), offsets, segments + 1, skip, n, heads);
    return status != cudaSuccess ? status : COARSEN_(pass)(arrays, scratch, stream);
}
#endif
#endif // __CUDACC_RTC__

#undef COARSEN_FLAGS_BYTES
#undef COARSEN_FLAGS_ALIGN

#define COARSEN_END
#include "../base.h"
