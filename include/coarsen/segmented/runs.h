// SPDX-License-Identifier: MIT
//
// coarsen/segmented/runs.h: reduces each run of equal keys in one pass over keys and elements. Run r is the
// elements b, b + 1, ... e - 1 whose keys are all the same, and neither the key before nor the one behind is.
// out_keys[r] = keys[b], out[r] = LIFT(in[b], b) OP LIFT(in[b + 1], b + 1) OP ... OP LIFT(in[e - 1], e - 1)
//
//     #define COARSEN_NAME totals
//     #define COARSEN_KEY  int
//     #define COARSEN_TYPE float
//     #include <coarsen/segmented/runs.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_KEY          | required         | type of the keys: any that a copy of its bytes makes |
// | COARSEN_SAME(a, b)   | ((a) == (b))     | whether key b, which follows a, goes on with a's run |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and of the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i of the array (a size_t) as a COARSEN_ACC |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative operator on COARSEN_ACC; need not be commutative |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 256              | threads per block: a multiple of 32 from 64 to 1024  |
// | COARSE_FACTOR        | 7                | 16-byte vectors per thread and tile, from 1 to 16, best odd; fewer where four tiles need more shared memory than there is |
// Defines what block/pipeline.h does, of whose kernels NAME_launch launches one, and
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_KEY *keys, const COARSEN_TYPE *in, size_t n,
//                             COARSEN_KEY *out_keys, COARSEN_ACC *out, unsigned long long *count,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
// keys, in: n of each in device memory; in at any element's alignment (its size, if that divides 16). They may be
// one array. Fast is where 16 divides the size of a key, and both arrays begin equally many elements behind a
// 16-byte boundary, as where both begin at one. count: in device memory, set to how many runs there are; 0 if n is
// 0. out_keys, out: room for as many as there are runs, of which n is the most; what is behind the last one stays
// as it was. out_keys may be null: then no keys are written. These three are apart from keys and in, and from each
// other. SAME(a, b) is asked of neighbours only; it and LIFT may be evaluated more than once. scratch: as in
// scan/single_pass.h. Errors: cudaErrorInvalidValue for a null, misaligned or overflowing array (out_keys and out
// as if n were written) or too small a scratch, or keys, elements or results so large that shared memory cannot
// hold four of each for each vector of a thread (take a lower BLOCK_DIM), with nothing written; those of the
// runtime's device queries.
// Deterministic: on one model of device, the same keys, with in at the same address modulo 128, give the same bits always.
//
// An element is a head if its key is another one than that before it. What is added up is a pair: how many
// heads there are, and the elements since the last one, combined. (p, a) OP (q, b) is (p + q, b) if q > 0, or
// else (p, a OP b). This operator is associative, so this is block/pipeline.h, the kernel of a scan, and what a
// part has before it says both where its first result goes and what that lacks.
// A lane takes neighbours, one vector after the other, so that a warp goes through the five steps of a scan once
// for all rows. The lanes vote on heads, and each adds what is before it back to the last head: a pair costs no
// more than a value there. At each head a run is over. Its result goes to shared memory, where the elements were
// that all lanes have read, and so does the key of the run that begins: one behind the other. When it is known
// how many heads there are before the part, 32 lanes write 32 neighbours. Only the part's first result lacks
// what is before the part.
// Price saved: memory. Each key and each element is read once, and nothing but results is written.
// Price paid: that of scan/single_pass.h; and with two arrays in shared memory, tiles of half as many elements.
// Cost: n keys and n elements read, one key per warp and tile twice; a key and a result per run written.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016);
// G. E. Blelloch, Prefix Sums and Their Applications (1990), for the pairs.

#define COARSEN_BEGIN COARSEN_PATTERN_RUNS
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 7
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/segmented: COARSE_FACTOR must be from 1 to 16"
#endif

typedef COARSEN_ACC COARSEN_(value);

// What is added up: the value since the last head, by its words, so that nothing pads it; and how many heads
// there are, the lower half first.
typedef struct {
    unsigned int word[(sizeof(COARSEN_(value)) + 3) / 4], heads[2];
} COARSEN_(acc);
#undef COARSEN_ACC
#define COARSEN_ACC COARSEN_(acc)

COARSEN_DEVICE COARSEN_ACC COARSEN_(pair_of)(COARSEN_(value) value, unsigned long long heads)
{
    COARSEN_ACC pair = {};
    memcpy((void *)pair.word, (const void *)&value, sizeof(value));
    pair.heads[0] = (unsigned int)heads;
    pair.heads[1] = (unsigned int)(heads >> 32);
    return pair;
}

COARSEN_DEVICE COARSEN_(value) COARSEN_(value_in)(COARSEN_ACC pair)
{
    COARSEN_(value) value;
    memcpy((void *)&value, (const void *)pair.word, sizeof(value));
    return value;
}

COARSEN_DEVICE unsigned long long COARSEN_(heads_in)(COARSEN_ACC pair)
{
    return (unsigned long long)pair.heads[1] << 32 | pair.heads[0];
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(op)(COARSEN_ACC a, COARSEN_ACC b)
{
    const unsigned long long heads = COARSEN_(heads_in)(b);
    const COARSEN_(value) value =
        heads > 0 ? COARSEN_(value_in)(b)
                  : COARSEN_(value_op)(COARSEN_(value_in)(a), COARSEN_(value_in)(b));
    return COARSEN_(pair_of)(value, COARSEN_(heads_in)(a) + heads);
}

COARSEN_DEVICE COARSEN_ACC COARSEN_(identity)(void)
{
    return COARSEN_(pair_of)(COARSEN_(value_identity)(), 0);
}

typedef struct {
    const COARSEN_TYPE *in;
    size_t skip, end;
    const COARSEN_KEY *keys;
    bool wide; // whether 16 bytes of keys, from a row's first one on, are aligned
    COARSEN_KEY *out_keys;
    COARSEN_(value) * out;
    unsigned long long *count;
} COARSEN_(arrays);

typedef struct {
    COARSEN_(value) since;             // what the part has since its last head, or all of it
    unsigned int heads : 31, head : 1; // how many it has, and whether its first element is one
} COARSEN_(kept);

// A part in shared memory: its elements, and later the results in their place; the key before it; and its keys, later
// those of the results. Bytes per row.
#define COARSEN_TOTALS_BYTES                                                                       \
    (sizeof(COARSEN_TYPE) > sizeof(COARSEN_(value))                                                \
         ? 32 * COARSEN_ITEMS * sizeof(COARSEN_TYPE)                                               \
         : 32 * COARSEN_ITEMS * sizeof(COARSEN_(value)))
#define COARSEN_AHEAD_BYTES ((sizeof(COARSEN_KEY) + 15) / 16 * 16)
#define COARSEN_ROW_BYTES                                                                          \
    (COARSEN_TOTALS_BYTES + COARSEN_AHEAD_BYTES + 32 * COARSEN_ITEMS * sizeof(COARSEN_KEY))
// In vectors; of those that are no multiple of 16 bytes, 16 at a time.
#define COARSEN_ROUND (sizeof(COARSEN_(vector)) % 16 == 0 ? 1 : 16)
#define COARSEN_ROW                                                                                \
    (unsigned int)((COARSEN_ROW_BYTES + COARSEN_ROUND * sizeof(COARSEN_(vector)) - 1) /            \
                   (COARSEN_ROUND * sizeof(COARSEN_(vector))) * COARSEN_ROUND)

#include "../block/pipeline.h"

#define COARSEN_KEYS_AT_ONCE COARSEN_VECTOR_ITEMS(COARSEN_KEY) // that 16 bytes hold
#define COARSEN_KEYS_BYTES   (COARSEN_ITEMS * sizeof(COARSEN_KEY))
#define COARSEN_KEYS_ALIGN                                                                         \
    (16 % sizeof(COARSEN_KEY) != 0  ? alignof(COARSEN_KEY)                                         \
     : COARSEN_KEYS_BYTES % 16 == 0 ? 16                                                           \
                                    : COARSEN_KEYS_BYTES)

// The keys of a vector's elements; and, each in an array of its kind, a key and a result.
typedef struct COARSEN_ALIGNED(COARSEN_KEYS_ALIGN) COARSEN_MAY_ALIAS {
    COARSEN_KEY item[COARSEN_ITEMS];
} COARSEN_(keys);
typedef struct COARSEN_MAY_ALIAS {
    COARSEN_KEY key;
} COARSEN_(run);
typedef struct COARSEN_MAY_ALIAS {
    COARSEN_(value) value;
} COARSEN_(total);

// Where these are in a part whose elements are at `part`.
COARSEN_DEVICE COARSEN_(run) * COARSEN_(runs_of)(COARSEN_(vector) * part, unsigned int rows)
{
    return (COARSEN_(run) *)((char *)part + rows * COARSEN_TOTALS_BYTES + COARSEN_AHEAD_BYTES);
}

// ---- keys -------------------------------------------------------------------------------------------

// Begins to copy the key of an element.
COARSEN_DEVICE void COARSEN_(copy_key)(COARSEN_(run) * to, const COARSEN_KEY *from)
{
    if (alignof(COARSEN_KEY) == sizeof(COARSEN_KEY) &&
        (sizeof(COARSEN_KEY) == 4 || sizeof(COARSEN_KEY) == 8 || sizeof(COARSEN_KEY) == 16))
        COARSEN_(copy_async)(to, from, sizeof(COARSEN_KEY));
    else
        to->key = *from;
}

// 16 bytes of keys per lane and step, whatever a vector of elements has.
COARSEN_INLINE void COARSEN_(copy_more)(COARSEN_(vector) * stage, COARSEN_(arrays) arrays,
                                        size_t element, unsigned int rows, unsigned int most)
{
    const unsigned int lane = threadIdx.x % 32, items = (unsigned int)(rows * 32 * COARSEN_ITEMS);
    const unsigned int mine = (unsigned int)(lane * COARSEN_KEYS_AT_ONCE);
    const size_t first = element - lane * COARSEN_ITEMS;
    const COARSEN_KEY *const keys = arrays.keys + (first - arrays.skip); // of the part
    COARSEN_(run) *const to = COARSEN_(runs_of)(stage - lane, rows);

    if (arrays.wide && COARSEN_(there)(arrays, first, items)) {
#pragma unroll
        for (unsigned int k = 0; k < most * 32 * COARSEN_ITEMS; k += 32 * COARSEN_KEYS_AT_ONCE)
            if (k + mine < items)
                COARSEN_(copy_async)(to + k + mine, keys + k + mine, 16);
    } else {
#pragma unroll 4 // some keys go through registers
        for (unsigned int k = lane; k < items; k += 32)
            if (COARSEN_(there)(arrays, first + k, 1))
                COARSEN_(copy_key)(to + k, keys + k);
    }
    if (lane == 0 && first > arrays.skip && first < arrays.end)
        COARSEN_(copy_key)(to - 1, keys - 1);
}

COARSEN_INLINE void COARSEN_(fetch)(COARSEN_(kept) *, COARSEN_(arrays), size_t, unsigned int,
                                    unsigned int)
{
}

// ---- a warp's part of a tile --------------------------------------------------------------------------

// Another lane's value; every lane calls these.
COARSEN_DEVICE COARSEN_(value) COARSEN_(value_below)(COARSEN_(value) value, unsigned int delta)
{
    COARSEN_ACC pair = COARSEN_(pair_of)(value, 0);
#pragma unroll
    for (unsigned int w = 0; w < sizeof(pair.word) / 4; w++)
        pair.word[w] = __shfl_up_sync(0xffffffff, pair.word[w], delta);
    return COARSEN_(value_in)(pair);
}

COARSEN_DEVICE COARSEN_(value) COARSEN_(value_of_lane)(COARSEN_(value) value, unsigned int lane)
{
    COARSEN_ACC pair = COARSEN_(pair_of)(value, 0);
#pragma unroll
    for (unsigned int w = 0; w < sizeof(pair.word) / 4; w++)
        pair.word[w] = __shfl_sync(0xffffffff, pair.word[w], (int)lane);
    return COARSEN_(value_in)(pair);
}

// Below, a lane has a piece of the part: `rows` vectors side by side, which begin with an element. whole: all elements
// of the part are there. heads: a bit for each element of the piece.

COARSEN_DEVICE COARSEN_(vector)
    COARSEN_(elements_at)(const COARSEN_(vector) * from, COARSEN_(arrays) arrays, size_t element,
                          bool whole)
{
    if (whole)
        return *from;
    COARSEN_(vector) load = {};
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        if (COARSEN_(there)(arrays, element + j, 1))
            load.item[j] = from->item[j];
    return load;
}

COARSEN_DEVICE COARSEN_(keys) COARSEN_(keys_at)(const COARSEN_(keys) * from,
                                                COARSEN_(arrays) arrays, size_t element, bool whole)
{
    if (whole)
        return *from;
    COARSEN_(keys) keys = {};
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        if (COARSEN_(there)(arrays, element + j, 1))
            keys.item[j] = from->item[j];
    return keys;
}

COARSEN_DEVICE bool COARSEN_(head_at)(const unsigned int *heads, unsigned int k)
{
    return heads[k / 32] >> k % 32 & 1;
}

// Finds the piece's heads, and gives what it has since the last one.
COARSEN_INLINE COARSEN_(value)
    COARSEN_(find_heads)(const COARSEN_(vector) * from, const COARSEN_(keys) * beside,
                         COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                         unsigned int most, bool whole, unsigned int *heads)
{
    COARSEN_(value) sum = COARSEN_(value_identity)();
    COARSEN_KEY before = COARSEN_(keys_at)(beside, arrays, element, whole).item[0];
    if (element > arrays.skip && (whole || element < arrays.end))
        before = ((const COARSEN_(run) *)beside)[-1].key;
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        if (r >= rows)
            break;
        const size_t e = element + r * COARSEN_ITEMS;
        const COARSEN_(vector) load = COARSEN_(elements_at)(from + r, arrays, e, whole);
        const COARSEN_(keys) keys = COARSEN_(keys_at)(beside + r, arrays, e, whole);
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
            const unsigned int k = (unsigned int)(r * COARSEN_ITEMS + j);
            if (!whole && !COARSEN_(there)(arrays, e + j, 1))
                continue;
            const COARSEN_(value) x = COARSEN_(lift)(load.item[j], e + j - arrays.skip);
            const bool head = ((!whole || k == 0) && e + j == arrays.skip) ||
                              !COARSEN_(same)(before, keys.item[j]);
            heads[k / 32] |= (head ? 1u : 0u) << k % 32;
            sum = head ? x : COARSEN_(value_op)(sum, x);
            before = keys.item[j];
        }
    }
    return sum;
}

// Puts what there is at each head, given what there is before the piece, to totals, one behind the other.
COARSEN_INLINE void COARSEN_(put_totals)(const COARSEN_(vector) * from, COARSEN_(total) * totals,
                                         COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                         unsigned int most, bool whole, const unsigned int *heads,
                                         COARSEN_(value) sum)
{
    COARSEN_(vector) load[COARSE_FACTOR];
#pragma unroll
    for (unsigned int r = 0; r < most; r++)
        if (r < rows)
            load[r] = COARSEN_(elements_at)(from + r, arrays, element + r * COARSEN_ITEMS, whole);
    __syncwarp(); // all lanes have read what is overwritten
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        if (r >= rows)
            break;
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
            const unsigned int k = (unsigned int)(r * COARSEN_ITEMS + j);
            if (!whole && !COARSEN_(there)(arrays, element + k, 1))
                continue;
            const COARSEN_(value) x = COARSEN_(lift)(load[r].item[j], element + k - arrays.skip);
            const bool head = COARSEN_(head_at)(heads, k);
            if (head)
                totals++->value = sum;
            sum = head ? x : COARSEN_(value_op)(sum, x);
        }
    }
}

// And the keys of the heads to runs.
COARSEN_INLINE void COARSEN_(put_keys)(const COARSEN_(keys) * from, COARSEN_(run) * runs,
                                       COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                       unsigned int most, bool whole, const unsigned int *heads)
{
    COARSEN_(keys) keys[COARSE_FACTOR];
#pragma unroll
    for (unsigned int r = 0; r < most; r++)
        if (r < rows)
            keys[r] = COARSEN_(keys_at)(from + r, arrays, element + r * COARSEN_ITEMS, whole);
    __syncwarp(); // as above
#pragma unroll
    for (unsigned int k = 0; k < most * COARSEN_ITEMS; k++)
        if (COARSEN_(head_at)(heads, k))
            runs++->key = keys[k / COARSEN_ITEMS].item[k % COARSEN_ITEMS];
}

COARSEN_INLINE COARSEN_ACC COARSEN_(add_part)(COARSEN_(kept) * kept, COARSEN_(vector) * part,
                                              COARSEN_(arrays) arrays, size_t first,
                                              unsigned int rows, unsigned int most, bool whole)
{
    const unsigned int lane = threadIdx.x % 32, below_lane = (1u << lane) - 1;
    const size_t element = first + lane * rows * COARSEN_ITEMS;
    COARSEN_(run) *const runs = COARSEN_(runs_of)(part, rows);
    const COARSEN_(keys) *const keys = (const COARSEN_(keys) *)runs + lane * rows;
    unsigned int heads[(COARSE_FACTOR * COARSEN_VECTOR_ITEMS(COARSEN_TYPE) + 31) / 32] = {};
    COARSEN_(value)
    sum = COARSEN_(find_heads)(part + lane * rows, keys, arrays, element, rows, most, whole, heads);
    unsigned int count = 0;
#pragma unroll
    for (unsigned int w = 0; w < sizeof(heads) / sizeof(heads[0]); w++)
        count += (unsigned int)__popc(heads[w]);

    const unsigned int votes = __ballot_sync(0xffffffff, count > 0);
    const unsigned int upto = votes & (below_lane << 1 | 1);
    const unsigned int reach = upto != 0 ? lane + (unsigned int)__clz((int)upto) - 31 : lane;
    unsigned int place = count; // up to and with this lane
#pragma unroll
    for (unsigned int delta = 1; delta < 32; delta *= 2) {
        const COARSEN_(value) below = COARSEN_(value_below)(sum, delta);
        const unsigned int more = __shfl_up_sync(0xffffffff, place, delta);
        if (delta <= reach)
            sum = COARSEN_(value_op)(below, sum);
        if (delta <= lane)
            place += more;
    }
    unsigned int last = 31; // lane that has elements
    if (!whole)
        last = (unsigned int)__popc(__ballot_sync(0xffffffff, element < arrays.end)) - 1;
    COARSEN_(value) before = COARSEN_(value_below)(sum, 1);
    if (lane == 0)
        before = COARSEN_(value_identity)();
    kept->since = COARSEN_(value_of_lane)(sum, last);
    kept->heads = __shfl_sync(0xffffffff, place, 31);
    kept->head = __ballot_sync(0xffffffff, heads[0] & 1) & 1;
    place -= count;
    if (votes != 0) {
        COARSEN_(put_totals)
        (part + lane * rows, (COARSEN_(total) *)part + place, arrays, element, rows, most, whole,
         heads, before);
        COARSEN_(put_keys)(keys, runs + place, arrays, element, rows, most, whole, heads);
    }
    return COARSEN_(pair_of)(kept->since, kept->heads);
}

COARSEN_INLINE COARSEN_ACC COARSEN_(add_up)(COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                            COARSEN_(arrays) arrays, size_t element,
                                            unsigned int rows, unsigned int most)
{
    const unsigned int lane = threadIdx.x % 32;
    const size_t first = element - lane * COARSEN_ITEMS;
    __syncwarp(); // the copies of the other lanes
    if (COARSEN_(there)(arrays, first, rows * 32 * COARSEN_ITEMS))
        return COARSEN_(add_part)(kept, stage - lane, arrays, first, rows, most, true);
    return COARSEN_(add_part)(kept, stage - lane, arrays, first, rows, most, false);
}

COARSEN_INLINE void COARSEN_(write_tile)(const COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                         COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                         unsigned int, COARSEN_ACC start)
{
    const unsigned int lane = threadIdx.x % 32;
    const size_t first = element - lane * COARSEN_ITEMS;
    const COARSEN_(total) *const totals = (const COARSEN_(total) *)(stage - lane);
    const COARSEN_(run) *const runs = COARSEN_(runs_of)((COARSEN_(vector) *)stage - lane, rows);
    const COARSEN_(value) open = COARSEN_(value_in)(start);
    const unsigned long long before = COARSEN_(heads_in)(start);

    // What is over at the part's first head may have begun before the part. Nothing is over at the array's first.
    if (lane == 0 && kept->heads > 0 && before > 0)
        arrays.out[before - 1] = kept->head ? open : COARSEN_(value_op)(open, totals[0].value);
    for (unsigned int k = lane; k < kept->heads; k += 32) {
        if (k > 0)
            arrays.out[before + k - 1] = totals[k].value;
        if (arrays.out_keys)
            arrays.out_keys[before + k] = runs[k].key;
    }
    if (lane == 0 && first < arrays.end && arrays.end - first <= rows * 32 * COARSEN_ITEMS) {
        const unsigned long long count = before + kept->heads;
        arrays.out[count - 1] =
            kept->heads > 0 ? kept->since : COARSEN_(value_op)(open, kept->since);
        *arrays.count = count;
    }
    __syncwarp(); // before another tile is copied there
}

// ---- the launch ---------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    return COARSEN_(pass_bytes)(n);
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_KEY *keys, const COARSEN_TYPE *in, size_t n,
                                          COARSEN_KEY *out_keys, COARSEN_(value) * out,
                                          unsigned long long *count, void *scratch,
                                          size_t scratch_bytes, cudaStream_t stream)
{
    if (!coarsen_array_ok(count, 1) || !coarsen_array_ok(keys, n) ||
        !coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        (out_keys && !coarsen_array_ok(out_keys, n)) || !coarsen_array_ok(out, n))
        return cudaErrorInvalidValue;
    if (n == 0)
        return cudaMemsetAsync(count, 0, sizeof(*count), stream);
    if (!coarsen_bytes_ok(scratch, 1, COARSEN_(scratch_bytes)(n), 16) ||
        scratch_bytes < COARSEN_(scratch_bytes)(n))
        return cudaErrorInvalidValue;
    const size_t skip = COARSEN_(skip)(in);
    const bool wide = 16 % sizeof(*keys) == 0 && ((size_t)keys - skip * sizeof(*keys)) % 16 == 0;
    const COARSEN_(arrays) arrays = {in, skip, n + skip, keys, wide, out_keys, out, count};
    return COARSEN_(pass)(arrays, scratch, stream);
}
#endif

#undef COARSEN_TOTALS_BYTES
#undef COARSEN_AHEAD_BYTES
#undef COARSEN_ROW_BYTES
#undef COARSEN_ROUND
#undef COARSEN_KEYS_AT_ONCE
#undef COARSEN_KEYS_BYTES
#undef COARSEN_KEYS_ALIGN

#define COARSEN_END
#include "../base.h"
