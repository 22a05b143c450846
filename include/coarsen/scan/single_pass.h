// SPDX-License-Identifier: MIT
//
// coarsen/scan/single_pass.h: scan, sixth rung. chained.h + look-back: a tile adds up the sums of the
// tiles before it, and waits for another one's result only once in 128 tiles.
// out[i] = LIFT(in[0], 0) OP ... OP LIFT(in[i], i), or without the last with COARSEN_EXCLUSIVE
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/scan/single_pass.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and of the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) as a COARSEN_ACC     |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative operator on COARSEN_ACC; need not be commutative |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | COARSEN_EXCLUSIVE    | 0                | 1: out[i] is of the elements before i, out[0] the identity |
// | BLOCK_DIM            | 512 or tuned     | threads per block: a multiple of 32 from 64 to 1024  |
// | COARSE_FACTOR        | 8 or tuned       | vectors per thread and tile, from 1 to 16; fewer where four tiles need more shared memory than there is |
// tuned: COARSEN_SCAN_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune.
// Defines what block/pipeline.h does, of whose kernels NAME_launch launches one, and
//     size_t      NAME_scratch_bytes(size_t n)        for the current device; never falls as n grows
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
//                             void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_plan(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n, NAME_planned *plan)
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid, plan->block,
// plan->shared_bytes, stream>>>(plan->arrays, plan->rows, scratch), with plan->scratch_bytes of scratch. If n is 0, so
// is plan->grid.x: there is nothing to launch.
// in: n elements in device memory, at any element's alignment (its size, if that divides 16). out: n
// COARSEN_ACC, apart from in, or in itself if they have one size. scratch: device memory, 16-byte
// aligned. NAME_scratch_init makes it ready once, by zeros; each launch leaves it ready for the next, for
// any n. One scratch per launch that may run at the same time. A scratch that was not made ready ends
// the launch with an error (__trap), unless its first word happens to be small. Errors:
// cudaErrorInvalidValue for a null, misaligned or overflowing array or too small a scratch, or elements so
// large that shared memory cannot hold four for each thread (take a lower BLOCK_DIM), with nothing written;
// those of the runtime's device queries.
// Deterministic: on one model of device, an n and in's address modulo 128 give the same bits always, as the tree
// in which tiles are combined depends on their numbers alone.
//
// Price saved: the wait of each tile for the result of the one before. A tile needs the sums of
// those before it, which are there as soon as these have been read: in a slot per tile, and per group of
// 128 tiles one with all up to its end. And the wait for memory: a block has four tiles in a pipeline.
// While one is copied to shared memory, the one before is added up, the sum of the next is on its way to
// the other blocks, and the first is written. Meanwhile the first warp looks back, and does nothing else.
// Price paid: a ticket, a barrier and up to 128 slots read per tile; shared memory for four tiles, so that
// a multiprocessor has one block. Where a block would have one tile, it has a kernel without the pipeline.
// A vector has up to 16 bytes of elements, and of results.
// Cost: n elements read and n results written once; 8 bytes of a slot per 4-byte word of a tile's sum.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016).

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_SCAN_BLOCK_DIM)
#define BLOCK_DIM COARSEN_SCAN_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) &&                                  \
    defined(COARSEN_SCAN_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_SCAN_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_SCAN
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/scan: COARSE_FACTOR must be from 1 to 16"
#endif

typedef struct {
    const COARSEN_TYPE *in;
    size_t skip, end;
    COARSEN_ACC *out;
    bool wide;                // whether out's vectors begin where in's do
    bool shifted;             // if not, whether lanes put out's vectors together
#ifdef COARSEN_CARRIED        // by nccl/scan.h: the array is what follows on others
    const COARSEN_ACC *carry; // what they come to, or NULL
    COARSEN_ACC *total;       // where out is NULL: what the array comes to, alone
    size_t first;             // the index that LIFT gets with in[0]
#define COARSEN_START arrays.first
#else
#define COARSEN_START 0
#endif
} COARSEN_(arrays);

typedef struct {
    COARSEN_ACC before[COARSE_FACTOR]; // what the warp has before the thread's vector of each row
} COARSEN_(kept);

// Elements of a vector: as many as have 16 bytes of results, so that the lanes of a warp write side by side; but not
// less than a word of them, the least that is copied asynchronously.
#define COARSEN_ITEMS                                                                              \
    (COARSEN_VECTOR_ITEMS(COARSEN_TYPE) <= COARSEN_VECTOR_ITEMS(COARSEN_ACC)                       \
         ? COARSEN_VECTOR_ITEMS(COARSEN_TYPE)                                                      \
     : COARSEN_VECTOR_ITEMS(COARSEN_ACC) * sizeof(COARSEN_TYPE) >= 4                               \
         ? COARSEN_VECTOR_ITEMS(COARSEN_ACC)                                                       \
         : 4 / sizeof(COARSEN_TYPE))
#define COARSEN_BESIDE                                                                             \
    (sizeof(COARSEN_ACC) <= 8 && BLOCK_DIM <= 512 ? 2 : 1) // larger ones need more registers
#include "../block/pipeline.h"

#define COARSEN_ALIGN                                                                              \
    (16 % sizeof(COARSEN_ACC) != 0                   ? alignof(COARSEN_ACC)                        \
     : COARSEN_ITEMS * sizeof(COARSEN_ACC) % 16 == 0 ? 16                                          \
                                                     : COARSEN_ITEMS * sizeof(COARSEN_ACC))

typedef struct COARSEN_ALIGNED(COARSEN_ALIGN) COARSEN_MAY_ALIAS {
    COARSEN_ACC item[COARSEN_ITEMS];
} COARSEN_(results);

// What is there of a vector, combined.
COARSEN_DEVICE COARSEN_ACC COARSEN_(sum)(const COARSEN_(vector) * from, COARSEN_(arrays) arrays,
                                         size_t element)
{
    const size_t i = COARSEN_START + element - arrays.skip;
    COARSEN_ACC sum = COARSEN_(identity)();
    if (!COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
#pragma unroll 1
        for (unsigned int j = 0; j < COARSEN_ITEMS && element + j < arrays.end; j++)
            if (element + j >= arrays.skip)
                sum = COARSEN_(op)(sum, COARSEN_(lift)(from->item[j], i + j));
        return sum;
    }
    const COARSEN_(vector) load = *from;
    sum = COARSEN_(lift)(load.item[0], i);
#pragma unroll
    for (unsigned int j = 1; j < COARSEN_ITEMS; j++)
        sum = COARSEN_(op)(sum, COARSEN_(lift)(load.item[j], i + j));
    return sum;
}

// Writes the results of what is there of a vector, given what is before it.
COARSEN_DEVICE void COARSEN_(write)(COARSEN_(vector) * from, COARSEN_(arrays) arrays,
                                    size_t element, COARSEN_ACC before)
{
    const size_t i = element - arrays.skip;
#ifdef COARSEN_CARRIED
    if (!arrays.out) {
        if (element < arrays.end && arrays.end - element <= COARSEN_ITEMS) // the last vector
            *arrays.total = COARSEN_(op)(before, COARSEN_(sum)(from, arrays, element));
        return;
    }
#endif
    if (!COARSEN_(there)(arrays, element, COARSEN_ITEMS)) {
#pragma unroll 1
        for (unsigned int j = 0; j < COARSEN_ITEMS && element + j < arrays.end; j++)
            if (element + j >= arrays.skip) {
                const COARSEN_ACC sum =
                    COARSEN_(op)(before, COARSEN_(lift)(from->item[j], COARSEN_START + i + j));
                arrays.out[i + j] = COARSEN_EXCLUSIVE ? before : sum;
                before = sum;
            }
        return;
    }
    const COARSEN_(vector) load = *from;
    COARSEN_(results) results;
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
        const COARSEN_ACC sum =
            COARSEN_(op)(before, COARSEN_(lift)(load.item[j], COARSEN_START + i + j));
        results.item[j] = COARSEN_EXCLUSIVE ? before : sum;
        before = sum;
    }
    if (arrays.wide) {
        *(COARSEN_(results) *)(arrays.out + i) = results;
        return;
    }
    const unsigned int lane = threadIdx.x % 32;
    const size_t row = element - lane * COARSEN_ITEMS;
    const bool is_there = COARSEN_(there)(arrays, row, 32 * COARSEN_ITEMS);
    if (COARSEN_ITEMS > 1 && sizeof(results) == sizeof(load) && is_there) {
        // By way of the row's place in shared memory, so that the lanes of a warp write neighbours.
        COARSEN_(results) *const stage = (COARSEN_(results) *)(void *)from;
        const COARSEN_ACC *const staged = (const COARSEN_ACC *)(stage - lane);
        *stage = results;
        __syncwarp();
#pragma unroll
        for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
            arrays.out[row - arrays.skip + j * 32 + lane] = staged[j * 32 + lane];
        __syncwarp(); // before another vector is copied there
        return;
    }
    if (sizeof(results) % 16 == 0 && arrays.shifted && is_there) {
        unsigned int words[4 + (sizeof(results) + 3) / 4];
        memcpy((void *)(words + 4), (const void *)&results, sizeof(results));
        COARSEN_(write_shifted)
        (words, sizeof(results) / 4, arrays.out + i,
         alignof(COARSEN_ACC) < 8 ? alignof(COARSEN_ACC) : 8);
        return;
    }
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        arrays.out[i + j] = results.item[j];
}

COARSEN_INLINE void COARSEN_(fetch)(COARSEN_(kept) *, COARSEN_(arrays), size_t, unsigned int,
                                    unsigned int)
{
}

// The rows go side by side, as what one of them waits for leaves time for the others.
COARSEN_INLINE COARSEN_ACC COARSEN_(add_up)(COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                            COARSEN_(arrays) arrays, size_t element,
                                            unsigned int rows, unsigned int most)
{
    COARSEN_ACC sum[COARSE_FACTOR], total = COARSEN_(identity)();
#pragma unroll
    for (unsigned int r = 0; r < most; r++)
        sum[r] = r < rows ? COARSEN_(sum)(stage + r * 32, arrays, element + r * 32 * COARSEN_ITEMS)
                          : COARSEN_(identity)();
    COARSEN_(inclusive_rows)(sum, most);
#pragma unroll
    for (unsigned int r = 0; r < most; r++) {
        const COARSEN_ACC below = COARSEN_(from_below)(sum[r], 1);
        const COARSEN_ACC row = COARSEN_(of_lane)(sum[r], 31);
        kept->before[r] = threadIdx.x % 32 == 0 ? total : COARSEN_(op)(total, below);
        if (r < rows)
            total = COARSEN_(op)(total, row);
    }
    return total;
}

COARSEN_INLINE void COARSEN_(write_tile)(const COARSEN_(kept) * kept, COARSEN_(vector) * stage,
                                         COARSEN_(arrays) arrays, size_t element, unsigned int rows,
                                         unsigned int most, COARSEN_ACC start)
{
#ifdef COARSEN_CARRIED
    if (arrays.carry)
        start = COARSEN_(op)(*arrays.carry, start);
#endif
#pragma unroll
    for (unsigned int r = 0; r < most; r++)
        if (r < rows)
            COARSEN_(write)
    (stage + r * 32, arrays, element + r * 32 * COARSEN_ITEMS,
     r == 0 && threadIdx.x % 32 == 0 ? start : COARSEN_(op)(start, kept->before[r]));
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(scratch_bytes)(size_t n)
{
    return COARSEN_(pass_bytes)(n);
}

COARSEN_HOST cudaError_t COARSEN_(plan)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                        COARSEN_(planned) * plan)
{
    plan->grid = dim3(0); // nothing to launch
    if (n == 0)
        return cudaSuccess;
    if (!coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||
        !coarsen_array_ok(out, n))
        return cudaErrorInvalidValue;
    const size_t skip = COARSEN_(skip)(in);
    COARSEN_(arrays) arrays = {};
    arrays.in = in;
    arrays.skip = skip;
    arrays.end = n + skip;
    arrays.out = out;
    arrays.wide = ((size_t)out - skip * sizeof(*out)) % COARSEN_ALIGN == 0;
    plan->scratch_bytes = COARSEN_(scratch_bytes)(n);
    const cudaError_t status = COARSEN_(plan_pass)(arrays, plan);
    // Elsewhere that takes longer than to write single results: u8 to u32, 10^8 elements, 219 us and 183; 6819, by one block,
    // 7.4 and 6.8; but 2 10^6, a tile per block, 11.8 and 13.2.
    plan->arrays.shifted =
        plan->kernel != COARSEN_(kernel) && plan->kernel != COARSEN_(alone_kernel);
    return status;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_ACC *out, size_t n,
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    const cudaError_t status = COARSEN_(plan)(in, out, n, &plan);
    if (status != cudaSuccess || plan.grid.x == 0)
        return status;
    if (!coarsen_bytes_ok(scratch, 1, plan.scratch_bytes, 16) || scratch_bytes < plan.scratch_bytes)
        return cudaErrorInvalidValue;
    return COARSEN_(launch_plan)(&plan, scratch, stream);
}
#endif

#undef COARSEN_START

#define COARSEN_END
#include "../base.h"
