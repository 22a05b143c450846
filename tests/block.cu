// SPDX-License-Identifier: MIT
//
// coarsen/block/, in kernels of a user's own: reductions, scans, slots, copies, vectors and inputs, for
// every size of a block, type and alignment; the lock and the last block; and blocks that meet.
//
// The file includes itself, once for each size of a block.

#ifdef BLOCK_DIMS // ---- reductions and scans by blocks of so many threads -------------------------

#if TESTED(reduce)

#define COARSEN_NAME BLOCK_NAME(sum)
#define COARSEN_TYPE int
#define BLOCK_DIM    BLOCK_DIMS
#include <coarsen/block/reduce.h>
REDUCE_KERNEL(sum, int)

#define COARSEN_NAME     BLOCK_NAME(most)
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#define BLOCK_DIM        BLOCK_DIMS
#include <coarsen/block/reduce.h>
REDUCE_KERNEL(most, float)

#define COARSEN_NAME     BLOCK_NAME(argmax)
#define COARSEN_TYPE     f32_at
#define COARSEN_OP       f32_at_max
#define COARSEN_IDENTITY f32_at_none()
#define BLOCK_DIM        BLOCK_DIMS
#include <coarsen/block/reduce.h>
REDUCE_KERNEL(argmax, f32_at)

#define COARSEN_NAME     BLOCK_NAME(triples)
#define COARSEN_TYPE     triple
#define COARSEN_OP       triple_add
#define COARSEN_IDENTITY (triple{0, 0, 0})
#define BLOCK_DIM        BLOCK_DIMS
#include <coarsen/block/reduce.h>
REDUCE_KERNEL(triples, triple)

static void BLOCK_NAME(check_reduce)(void)
{
    check_reduce(REDUCTION(sum, int), any_int);
    check_reduce(REDUCTION(most, float), nan_float);
    check_reduce(REDUCTION(argmax, f32_at), any_at);
    check_reduce(REDUCTION(triples, triple), any_triple);
#ifdef SIMT
    check_unready(REDUCTION(sum, int));
#endif
}

#endif

#if TESTED(scan)

#define COARSEN_NAME BLOCK_NAME(running)
#define COARSEN_TYPE unsigned long long
#define BLOCK_DIM    BLOCK_DIMS
#include <coarsen/block/scan.h>
SCAN_KERNEL(running, unsigned long long)

#define COARSEN_NAME     BLOCK_NAME(composed)
#define COARSEN_TYPE     affine
#define COARSEN_OP       affine_then
#define COARSEN_IDENTITY (affine{1, 0})
#define BLOCK_DIM        BLOCK_DIMS
#include <coarsen/block/scan.h>
SCAN_KERNEL(composed, affine)

#define COARSEN_NAME     BLOCK_NAME(products)
#define COARSEN_TYPE     matrix
#define COARSEN_OP       matrix_times
#define COARSEN_IDENTITY (matrix{1, 0, 0, 1})
#define BLOCK_DIM        BLOCK_DIMS
#include <coarsen/block/scan.h>
SCAN_KERNEL(products, matrix)

static void BLOCK_NAME(check_scan)(void)
{
    typedef unsigned long long u64;
    check_scan<u64>(
        BLOCK_TEXT(running), BLOCK_DIMS, BLOCK_NAME(running_kernel), 0,
        [](u64 a, u64 b) { return a + b; }, [](uint64_t bits) { return (u64)bits; });
    check_scan<affine>(BLOCK_TEXT(composed), BLOCK_DIMS, BLOCK_NAME(composed_kernel), affine{1, 0},
                       affine_then, [](uint64_t bits) {
                           return affine{(unsigned int)bits | 1, (unsigned int)(bits >> 32)};
                       });
    check_scan<matrix>(
        BLOCK_TEXT(products), BLOCK_DIMS, BLOCK_NAME(products_kernel), matrix{1, 0, 0, 1},
        matrix_times, [](uint64_t bits) { // an odd determinant, or all ends in zeros
            return matrix{(unsigned int)bits | 1, (unsigned int)(bits >> 16) & ~1u,
                          (unsigned int)(bits >> 32), (unsigned int)(bits >> 24) | 1};
        });
}

#endif

#undef BLOCK_DIMS
#undef BLOCK_NAME

#else // ---- the tests ------------------------------------------------------------------------------

#include "device.h"
#include "operators.h"

#include <math.h>

#include <algorithm>

// ---- Types and operators --------------------------------------------------------------------------

// 2 x 2 matrices: associative, not commutative.
typedef struct {
    unsigned int a, b, c, d;
} matrix;
static inline __host__ __device__ matrix matrix_times(matrix m, matrix n)
{
    return matrix{m.a * n.a + m.b * n.c, m.a * n.b + m.b * n.d, m.c * n.a + m.d * n.c,
                  m.c * n.b + m.d * n.d};
}

#define COARSEN_NAME f32_at
#define COARSEN_TYPE float
#include <coarsen/arg.h>

static inline bool same(float a, float b)
{
    return a == b || (a != a && b != b);
}
static inline bool same(f32_at a, f32_at b)
{
    return a.index == b.index && same(a.value, b.value);
}
static inline bool same(matrix a, matrix b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}
template <class T> static inline bool same(T a, T b)
{
    return a == b;
}

static inline cudaLaunchConfig_t config_of(dim3 grid, dim3 block)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    return config;
}

static inline bool went_well(cudaError_t status)
{
    return status == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess;
}

// ---- Reductions ---------------------------------------------------------------------------------

#if TESTED(reduce)

// Every warp's, every block's and the grid's result.
#define REDUCE_KERNEL(stem, T)                                                                     \
    static __global__ void BLOCK_NAME(stem##_kernel)(const T *in, T *warps, T *blocks, T *out,     \
                                                     unsigned long long *scratch)                  \
    {                                                                                              \
        __shared__ unsigned long long ticket;                                                      \
        BLOCK_NAME(stem##_enter)(scratch, &ticket);                                                \
        const unsigned int i = blockIdx.x * BLOCK_DIMS + threadIdx.x;                              \
        const T warp = BLOCK_NAME(stem##_warp)(in[i]);                                             \
        if (i % 32 == 0)                                                                           \
            warps[i / 32] = warp;                                                                  \
        const T block = BLOCK_NAME(stem##_block)(in[i]);                                           \
        if (threadIdx.x == 0)                                                                      \
            blocks[blockIdx.x] = block;                                                            \
        __syncthreads();                                                                           \
        BLOCK_NAME(stem##_grid)(in[i], out, scratch, &ticket);                                     \
    }

template <class T> struct reduction {
    const char *name;
    unsigned int dim;
    void (*kernel)(const T *, T *, T *, T *, unsigned long long *);
    T (*op)(T, T);
    size_t (*grid_bytes)(size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
};
#define REDUCTION(stem, T)                                                                         \
    (reduction<T>{BLOCK_TEXT(stem), BLOCK_DIMS, BLOCK_NAME(stem##_kernel), stem##_of,              \
                  BLOCK_NAME(stem##_grid_bytes), BLOCK_NAME(stem##_scratch_init)})

static int sum_of(int a, int b)
{
    return (int)((unsigned int)a + (unsigned int)b);
}
static float most_of(float a, float b)
{
    return a != a || b != b ? NAN : a > b ? a : b;
}
static f32_at argmax_of(f32_at a, f32_at b) // the first NaN, or the first of the greatest
{
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool tie = a_nan ? b_nan : a.value == b.value;
    return tie ? (a.index < b.index ? a : b) : a_nan || (!b_nan && a.value > b.value) ? a : b;
}
static triple triples_of(triple a, triple b)
{
    return triple_add(a, b);
}

static int any_int(size_t, uint64_t bits)
{
    return (int)(uint32_t)bits;
}
static float nan_float(size_t, uint64_t bits)
{
    return bits % 1021 == 0 ? NAN : -1 - (float)(bits % 100);
}
static f32_at any_at(size_t i, uint64_t bits) // many ties
{
    return f32_at{bits % 1021 == 0 ? NAN : -1 - (float)(bits % 3), i};
}
static triple any_triple(size_t, uint64_t bits)
{
    return triple{(unsigned int)bits, (unsigned int)(bits >> 16), (unsigned int)(bits >> 32)};
}

// Whether runs of `each` values reduce to what is there.
template <class T>
static bool reduced(const reduction<T> &r, const std::vector<T> &x, size_t each,
                    const test_array &there)
{
    std::vector<T> got(x.size() / each);
    there.read(got.data());
    for (size_t g = 0; g < got.size(); g++) {
        T want = x[g * each];
        for (size_t i = 1; i < each; i++)
            want = r.op(want, x[g * each + i]);
        if (!same(got[g], want))
            return false;
    }
    return there.intact();
}

template <class T, class Make> static void check_reduce(const reduction<T> &r, Make make)
{
    const unsigned int grids[] = {133, 1, 2};
    bool ok = true;
    for (int k = 0; k < test_order_count(); k++) {
        test_order(k);
        // One scratch for all launches.
        const test_array scratch(r.grid_bytes(133));
        CHECK(r.scratch_init(scratch.get(), scratch.bytes, 0));
        for (unsigned int grid : grids) {
            // simt takes its time for many threads: of larger blocks, a few orders and types.
            if (test_order_count() > 1 && grid > 2 &&
                ((r.dim > 32 && k % 3 != 2) || (r.dim > 96 && (k != 5 || sizeof(T) > 4))))
                continue;
            const size_t n = (size_t)grid * r.dim;
            std::vector<T> x(n);
            for (size_t i = 0; i < n; i++)
                x[i] = make(i, test_random(grid + r.dim, i));
            const test_array in(n * sizeof(T)), warps(n / 32 * sizeof(T));
            const test_array blocks(grid * sizeof(T)), out(sizeof(T));
            in.fill(x.data());
            const cudaLaunchConfig_t config = config_of(dim3(grid), dim3(r.dim));
            for (int launch = 0; launch < 2; launch++)
                ok = ok && went_well(cudaLaunchKernelEx(&config, r.kernel, (const T *)in.get(),
                                                        (T *)warps.get(), (T *)blocks.get(),
                                                        (T *)out.get(),
                                                        (unsigned long long *)scratch.get()));
            ok = ok && reduced(r, x, 32, warps) && reduced(r, x, r.dim, blocks) &&
                 reduced(r, x, n, out) && scratch.intact();
        }
    }
    test_order(0);
    tap_ok(ok, "%s: warps, blocks and grids of 1, 2 and 133 blocks of %u, again and again", r.name,
           r.dim);
}

#ifdef SIMT
// A scratch that was not made ready.
template <class T> static void check_unready(const reduction<T> &r)
{
    const unsigned int grid = 7;
    const auto launch = [&](void *scratch) {
        const cudaLaunchConfig_t config = config_of(dim3(grid), dim3(r.dim));
        const size_t bytes = grid * r.dim * sizeof(T);
        return cudaLaunchKernelEx(&config, r.kernel, (const T *)test_zeros(bytes),
                                  (T *)test_zeros(bytes), (T *)test_zeros(bytes),
                                  (T *)test_zeros(bytes), (unsigned long long *)scratch);
    };
    for (unsigned int word : {0xffffffffu, 0x01010101u, 3u}) {
        const simt_kind kind = test_unready(r.grid_bytes(grid), word, launch);
        tap_ok(kind == SIMT_TRAP, "%s: blocks of %u, a scratch of words 0x%x: %s", r.name, r.dim,
               word, simt_kind_name(kind));
    }
}
#endif

#endif

// ---- Scans --------------------------------------------------------------------------------------

#if TESTED(scan)

// For each thread: its warp's scans, the block's, and the totals that came with those.
#define SCAN_KERNEL(stem, T)                                                                       \
    static __global__ void BLOCK_NAME(stem##_kernel)(const T *in, T *out)                          \
    {                                                                                              \
        const unsigned int i = blockIdx.x * BLOCK_DIMS + threadIdx.x;                              \
        const T x = in[i];                                                                         \
        T *const mine = out + 6 * i;                                                               \
        mine[0] = BLOCK_NAME(stem##_warp_inclusive)(x);                                            \
        mine[1] = BLOCK_NAME(stem##_warp_exclusive)(x);                                            \
        T total;                                                                                   \
        mine[2] = BLOCK_NAME(stem##_inclusive)(x, &total);                                         \
        mine[3] = total;                                                                           \
        __syncthreads();                                                                           \
        mine[4] = BLOCK_NAME(stem##_exclusive)(x, &total);                                         \
        mine[5] = total;                                                                           \
    }

template <class T, class Op, class Make>
static void check_scan(const char *name, unsigned int dim, void (*kernel)(const T *, T *),
                       T identity, Op op, Make make)
{
    const unsigned int grid = 3;
    const size_t n = (size_t)grid * dim;
    std::vector<T> x(n), got(6 * n);
    for (size_t i = 0; i < n; i++)
        x[i] = make(test_random(dim, i));
    const test_array in(n * sizeof(T)), out(6 * n * sizeof(T));
    in.fill(x.data());
    bool ok = true;
    for (int k = 0; k < test_order_count(); k++) {
        test_order(k);
        const cudaLaunchConfig_t config = config_of(dim3(grid), dim3(dim));
        ok = ok &&
             went_well(cudaLaunchKernelEx(&config, kernel, (const T *)in.get(), (T *)out.get()));
        out.read(got.data());
        T in_warp = identity, in_block = identity, total = identity;
        for (size_t i = 0; i < n; i++) {
            if (i % 32 == 0)
                in_warp = identity;
            if (i % dim == 0) {
                in_block = total = identity;
                for (size_t j = i; j < i + dim; j++)
                    total = op(total, x[j]);
            }
            const T *const mine = &got[6 * i];
            ok = ok && same(mine[1], in_warp) && same(mine[4], in_block);
            in_warp = op(in_warp, x[i]);
            in_block = op(in_block, x[i]);
            ok = ok && same(mine[0], in_warp) && same(mine[2], in_block);
            ok = ok && same(mine[3], total) && same(mine[5], total);
        }
    }
    test_order(0);
    tap_ok(ok && in.intact() && out.intact(),
           "%s: scans of a warp and a block of %u, and its total", name, dim);
}

#endif

// ---- The sizes of a block -----------------------------------------------------------------------

#define BLOCK_TEXT(stem) #stem

#define BLOCK_DIMS       32
#define BLOCK_NAME(stem) dim_32_##stem
#include "block.cu"

#define BLOCK_DIMS       96
#define BLOCK_NAME(stem) dim_96_##stem
#include "block.cu"

#define BLOCK_DIMS       1024
#define BLOCK_NAME(stem) dim_1024_##stem
#include "block.cu"

// ---- Slots --------------------------------------------------------------------------------------

#if TESTED(slots)

typedef struct {
    unsigned int word[4];
} quad;

#define COARSEN_NAME slots_1
#define COARSEN_TYPE unsigned char
#include <coarsen/block/slots.h>
#define COARSEN_NAME slots_4
#define COARSEN_TYPE float
#include <coarsen/block/slots.h>
#define COARSEN_NAME slots_8
#define COARSEN_TYPE double
#include <coarsen/block/slots.h>
#define COARSEN_NAME slots_12
#define COARSEN_TYPE triple
#include <coarsen/block/slots.h>
#define COARSEN_NAME slots_16
#define COARSEN_TYPE quad
#include <coarsen/block/slots.h>

// Blocks in the order in which they start: each hands on what it got from the one before, and keeps it
// too: by a slot that is emptied, and by one that stays. And what there is to see in slots as they are.
#define SLOTS_KERNELS(name, T)                                                                     \
    static __global__ void name##_pass(T first, T *got, unsigned int *order,                       \
                                       unsigned long long *emptied, unsigned long long *kept)      \
    {                                                                                              \
        __shared__ unsigned int place_of_block;                                                    \
        if (threadIdx.x == 0)                                                                      \
            place_of_block = atomicAdd(order, 1u);                                                 \
        __syncthreads(); /* where other blocks may go on, which then have to wait */               \
        if (threadIdx.x != 0)                                                                      \
            return;                                                                                \
        const unsigned int words = name##_words_of_slot, place = place_of_block;                   \
        T value = first, again = first;                                                            \
        if (place > 0) {                                                                           \
            value = name##_collect(emptied + (place - 1) * words);                                 \
            while (name##_look(kept + (place - 1) * words, &again) != 2) {                         \
            }                                                                                      \
        }                                                                                          \
        name##_next(&value);                                                                       \
        name##_next(&again);                                                                       \
        if (place + 1 < gridDim.x)                                                                 \
            name##_leave(emptied + place * words, 1, value);                                       \
        name##_leave(kept + place * words, place + 1 < gridDim.x ? 2 : 0x80000002, again);         \
        got[2 * place] = value;                                                                    \
        got[2 * place + 1] = again;                                                                \
    }                                                                                              \
    static __global__ void name##_sight(const unsigned long long *slots, unsigned int *flags,      \
                                        T *values)                                                 \
    {                                                                                              \
        const unsigned int t = threadIdx.x;                                                        \
        T value = values[t];                                                                       \
        flags[t] = name##_look(slots + t * name##_words_of_slot, &value);                          \
        values[t] = value;                                                                         \
    }                                                                                              \
    static __global__ void name##_take(T *to, unsigned long long *slot)                            \
    {                                                                                              \
        *to = name##_collect(slot);                                                                \
    }

// Another value, in every byte but those that would make a NaN.
static __host__ __device__ void slots_1_next(unsigned char *x)
{
    *x = (unsigned char)(*x * 5 + 17);
}
static __host__ __device__ void slots_4_next(float *x)
{
    *x = *x * 1.5f > 1e30f ? 1 : *x * 1.5f + 0.25f;
}
static __host__ __device__ void slots_8_next(double *x)
{
    *x = *x * 1.7 > 1e200 ? 1 : *x * 1.7 + 0.1;
}
static __host__ __device__ void slots_12_next(triple *x)
{
    *x = triple{x->x * 5 + 1, x->y * 9 + 7, x->z * 13 + 5};
}
static __host__ __device__ void slots_16_next(quad *x)
{
    for (unsigned int w = 0; w < 4; w++)
        x->word[w] = x->word[w] * (4 * w + 5) + 2 * w + 1;
}
static inline bool same(quad a, quad b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

SLOTS_KERNELS(slots_1, unsigned char)
SLOTS_KERNELS(slots_4, float)
SLOTS_KERNELS(slots_8, double)
SLOTS_KERNELS(slots_12, triple)
SLOTS_KERNELS(slots_16, quad)

template <class T> struct slots {
    const char *name;
    size_t words;
    void (*next)(T *);
    void (*pass)(T, T *, unsigned int *, unsigned long long *, unsigned long long *);
    void (*sight)(const unsigned long long *, unsigned int *, T *);
    void (*take)(T *, unsigned long long *);
};
#define SLOTS(name, T)                                                                             \
    (slots<T>{#name, name##_words_of_slot, name##_next, name##_pass, name##_sight, name##_take})

template <class T> static void check_slots(const slots<T> &s)
{
    typedef unsigned long long u64;
    const unsigned int grid = 37;
    tap_ok(s.words == (sizeof(T) + 3) / 4, "%s: %zu words in a slot", s.name, s.words);

    T first;
    memset(&first, 0, sizeof(first));
    std::vector<T> got(2 * grid);
    std::vector<u64> left(grid * s.words);
    bool ok = true, empty = true;
#ifdef SIMT
    const simt_config before = simt_get_config();
#endif
    for (int k = 0; k < test_order_count() + 20; k++) {
        test_order(k % test_order_count());
#ifdef SIMT
        if (k >= test_order_count()) { // many blocks at once, one of which may well have to wait
            simt_config config = before;
            config.resident = 8;
            config.order = SIMT_SHUFFLE;
            config.seed = 100 + (unsigned long long)k;
            simt_set_config(&config);
        }
#endif
        const test_array emptied(grid * s.words * 8), kept(grid * s.words * 8), order(4);
        const test_array out(2 * grid * sizeof(T));
        emptied.zero();
        kept.zero();
        order.zero();
        const cudaLaunchConfig_t config = config_of(dim3(grid), dim3(32));
        ok = ok && went_well(cudaLaunchKernelEx(&config, s.pass, first, (T *)out.get(),
                                                (unsigned int *)order.get(), (u64 *)emptied.get(),
                                                (u64 *)kept.get()));
        out.read(got.data());
        T want = first;
        for (unsigned int b = 0; b < grid; b++) {
            s.next(&want);
            ok = ok && same(got[2 * b], want) && same(got[2 * b + 1], want);
        }
        kept.read(left.data());
        for (size_t w = 0; w < left.size(); w++)
            ok = ok && left[w] >> 32 == (w / s.words + 1 < grid ? 2 : 0x80000002);
        emptied.read(left.data());
        for (u64 word : left)
            empty = empty && word == 0;
        ok = ok && emptied.intact() && kept.intact() && out.intact();
    }
    test_order(0);
    tap_ok(ok, "%s: a value goes through %u blocks", s.name, grid);
    tap_ok(empty, "%s: collected slots are empty", s.name);

    // Empty; full; without the last word; with another flag there; and with a flag of 32 bits.
    T poison;
    memset(&poison, POISON, sizeof(poison));
    std::vector<u64> slot(5 * s.words, 0);
    for (size_t w = 0; w < s.words; w++) {
        slot[s.words + w] = 7ull << 32 | (s.words == 1 ? 0 : (w + 1) << 8);
        slot[2 * s.words + w] = w + 1 < s.words || s.words == 1 ? 7ull << 32 : 0;
        slot[3 * s.words + w] = (w + 1 < s.words || s.words == 1 ? 7ull : 8ull) << 32;
        slot[4 * s.words + w] = 0xfffffffeull << 32;
    }
    const test_array in(slot.size() * 8), flags(5 * 4), values(5 * sizeof(T));
    std::vector<T> value(5, poison);
    unsigned int flag[5];
    in.fill(slot.data());
    values.fill(value.data());
    const cudaLaunchConfig_t config = config_of(dim3(1), dim3(5));
    ok = went_well(cudaLaunchKernelEx(&config, s.sight, (const u64 *)in.get(),
                                      (unsigned int *)flags.get(), (T *)values.get()));
    flags.read(flag);
    values.read(value.data());
    const unsigned int partly = s.words == 1 ? 7 : 0;
    ok = ok && flag[0] == 0 && flag[1] == 7 && flag[2] == partly && flag[3] == partly &&
         flag[4] == 0xfffffffe;
    if (s.words > 1) // and a value that is not whole is left alone
        ok = ok && memcmp(&value[2], &poison, sizeof(T)) == 0 &&
             memcmp(&value[3], &poison, sizeof(T)) == 0;
    tap_ok(ok, "%s: a look sees whole values alone: flags %u, %u, %u, %u, %u", s.name, flag[0],
           flag[1], flag[2], flag[3], flag[4]);
}

#ifdef SIMT

// A slot that holds something else.
template <class T> static void check_full_slot(const slots<T> &s)
{
    typedef unsigned long long u64;
    const simt_kind kind = test_unready(s.words * 8, 3, [&](void *scratch) {
        const cudaLaunchConfig_t one = config_of(dim3(1), dim3(1));
        return cudaLaunchKernelEx(&one, s.take, (T *)test_zeros(sizeof(T)), (u64 *)scratch);
    });
    tap_ok(kind == SIMT_TRAP, "%s: a slot with flag 3 is not collected: %s", s.name,
           simt_kind_name(kind));
}

#endif

#endif

// ---- Copies -------------------------------------------------------------------------------------

#if TESTED(copy)

#define COARSEN_NAME tile
#include <coarsen/block/copy.h>
#ifdef SIMT // and as below compute capability 8.0
#define __NVCC__
#define COARSEN_NAME early
#include <coarsen/block/copy.h>
#undef __NVCC__
#define TILE(f, ...) (EARLY ? early_##f(__VA_ARGS__) : tile_##f(__VA_ARGS__))
#else
#define TILE(f, ...) tile_##f(__VA_ARGS__)
#endif

// Three tiles of 64 elements of so many bytes, turned over: one is used while the next is on its way.
// The elements after the first n are not there, and of element n half is, and half a word. Of 16 bytes, every other one is
// copied by way of the L1 cache.
template <unsigned int BYTES, bool EARLY>
static __global__ void turn_over(const unsigned char *in, unsigned char *out, unsigned int n)
{
    __shared__ uint4 stages[3][64 * BYTES / 16];
    const unsigned int t = threadIdx.x;
    for (unsigned int stage = 0; stage < 3; stage++) {
        unsigned char *const to = (unsigned char *)stages[stage] + t * BYTES;
        const unsigned int i = stage * 64 + t;
        const unsigned int there = i < n ? BYTES : i == n ? BYTES / 8 * 4 + 2 : 0;
        if (BYTES == 16 && t % 2 == 0)
            TILE(copy_near_async, to, in + (size_t)i * BYTES, there);
        else
            TILE(copy_part_async, to, in + (size_t)i * BYTES, BYTES, there);
        TILE(copies_end);
    }
    for (unsigned int stage = 0; stage < 3; stage++) {
        if (stage == 0)
            TILE(copies_wait, 2);
        else if (stage == 1)
            TILE(copies_wait, 1);
        else
            TILE(copies_wait, 0);
        __syncthreads();
        for (unsigned int b = 0; b < BYTES; b++)
            out[(stage * 64 + t) * BYTES + b] =
                ((const unsigned char *)stages[stage])[(63 - t) * BYTES + b];
    }
}

// The same by copy_async, or a half by copy_line_async, as whole elements.
template <unsigned int BYTES, bool EARLY>
static __global__ void turn_over_whole(const unsigned char *in, unsigned char *out)
{
    __shared__ uint4 stage[64 * BYTES / 16];
    const unsigned int t = threadIdx.x;
    if (BYTES == 16 && t % 2 == 0)
        TILE(copy_line_async, (unsigned char *)stage + t * BYTES, in + (size_t)t * BYTES);
    else
        TILE(copy_async, (unsigned char *)stage + t * BYTES, in + (size_t)t * BYTES, BYTES);
    TILE(copies_end);
    TILE(copies_wait, 0);
    __syncthreads();
    for (unsigned int b = 0; b < BYTES; b++)
        out[t * BYTES + b] = ((const unsigned char *)stage)[(63 - t) * BYTES + b];
}

template <unsigned int BYTES, bool EARLY = false> static void check_copy(void)
{
    bool ok = true;
    for (unsigned int n = 1; n <= 192; n = n < 64 ? 64 : n < 128 ? 128 : n + 13) {
        const size_t all = 192 * BYTES;
        std::vector<unsigned char> x(all), got(all);
        for (size_t i = 0; i < all; i++)
            x[i] = (unsigned char)(test_random(BYTES, i) | 1);
        // At its end, where there is nothing to read; and as near to the alignment as it may be.
        const size_t there = n < 192 ? n * BYTES + BYTES / 8 * 4 + 2 : n * BYTES; // bytes
        const test_array in(there, BYTES), out(all);
        in.fill(x.data());
        const cudaLaunchConfig_t config = config_of(dim3(1), dim3(64));
        ok = ok && went_well(cudaLaunchKernelEx(&config, turn_over<BYTES, EARLY>,
                                                (const unsigned char *)in.get(),
                                                (unsigned char *)out.get(), n));
        out.read(got.data());
        for (size_t i = 0; i < all; i++) {
            const size_t element = i / BYTES / 64 * 64 + 63 - i / BYTES % 64;
            const size_t byte = element * BYTES + i % BYTES;
            ok = ok && got[i] == (byte < there ? x[byte] : 0);
        }
        ok = ok && in.intact() && out.intact();
        if (n >= 64) {
            ok = ok && went_well(cudaLaunchKernelEx(&config, turn_over_whole<BYTES, EARLY>,
                                                    (const unsigned char *)in.get(),
                                                    (unsigned char *)out.get()));
            out.read(got.data());
            for (size_t i = 0; i < 64 * BYTES; i++)
                ok = ok && got[i] == x[(63 - i / BYTES) * BYTES + i % BYTES];
        }
    }
    tap_ok(ok, "copies of %u bytes, and of zeros where there are none%s", BYTES,
           EARLY ? ", done at once" : "");
}

#endif

// ---- Vectors ------------------------------------------------------------------------------------

#if TESTED(shift)

#define COARSEN_NAME bytes
#include <coarsen/block/shift.h>

// Thread t: the words that begin t bytes behind the first.
template <unsigned int COUNT, bool APART>
static __global__ void shift_kernel(const unsigned int *in, unsigned int *out)
{
    unsigned int words[COUNT + 4];
    for (unsigned int i = 0; i < COUNT + 4; i++)
        words[i] = in[i];
    if (APART)
        bytes_shift_apart(words, COUNT, threadIdx.x);
    else
        bytes_shift(words, COUNT, threadIdx.x);
    for (unsigned int i = 0; i < COUNT; i++)
        out[threadIdx.x * COUNT + i] = words[i];
}

template <unsigned int COUNT, bool APART> static void check_shift(void)
{
    unsigned int words[COUNT + 4];
    std::vector<unsigned int> want(16 * COUNT);
    for (unsigned int i = 0; i < COUNT + 4; i++)
        words[i] = (unsigned int)test_random(COUNT, i);
    for (unsigned int after = 0; after < 16; after++)
        memcpy(&want[after * COUNT], (const char *)words + after, COUNT * 4);
    test_array in(sizeof(words)), out(want.size() * 4);
    in.fill(words);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(16);
    CHECK(cudaLaunchKernelEx(&config, (shift_kernel<COUNT, APART>), (const unsigned int *)in.get(),
                             (unsigned int *)out.get()));
    CHECK(cudaDeviceSynchronize());
    tap_ok(out.holds(want) && out.intact(), "shift%s: %u words, 0 to 15 bytes behind another",
           APART ? "_apart" : "", COUNT);
}

// Lane l: words l COUNT and on, to there.
template <unsigned int COUNT, unsigned int UNIT>
static __global__ void write_shifted_kernel(const unsigned int *in, char *out)
{
    unsigned int words[COUNT + 4];
    for (unsigned int i = 0; i < COUNT; i++)
        words[4 + i] = in[threadIdx.x * COUNT + i];
    bytes_write_shifted(words, COUNT, out + threadIdx.x * COUNT * 4, UNIT);
}

template <unsigned int COUNT, unsigned int UNIT> static void check_write_shifted(void)
{
    bool ok = true;
    std::vector<unsigned int> words(32 * COUNT);
    for (size_t i = 0; i < words.size(); i++)
        words[i] = (unsigned int)test_random(COUNT, i);
    test_array in(words.size() * 4);
    in.fill(words.data());
    for (unsigned int from = UNIT; from < 16; from += UNIT) {
        const test_array out(words.size() * 4, from);
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(1);
        config.blockDim = dim3(32);
        CHECK(cudaLaunchKernelEx(&config, write_shifted_kernel<COUNT, UNIT>,
                                 (const unsigned int *)in.get(), (char *)out.get()));
        CHECK(cudaDeviceSynchronize());
        ok = ok && out.holds(words) && out.intact();
    }
    tap_ok(ok, "write_shifted: %u words, in units of %u bytes", COUNT, UNIT);
}

#endif

#if TESTED(vector)

typedef struct {
    unsigned int word[8];
} octet;

#define COARSEN_NAME vector_1
#define COARSEN_TYPE unsigned char
#include <coarsen/block/vector.h>
#define COARSEN_NAME vector_2
#define COARSEN_TYPE short
#include <coarsen/block/vector.h>
#define COARSEN_NAME vector_4
#define COARSEN_TYPE float
#include <coarsen/block/vector.h>
#define COARSEN_NAME vector_8
#define COARSEN_TYPE double
#include <coarsen/block/vector.h>
#define COARSEN_NAME vector_12
#define COARSEN_TYPE triple
#include <coarsen/block/vector.h>
#define COARSEN_NAME vector_16
#define COARSEN_TYPE uint4
#include <coarsen/block/vector.h>
#define COARSEN_NAME vector_32
#define COARSEN_TYPE octet
#include <coarsen/block/vector.h>

// Every element, copied as often as it is met, which met counts; once more, by vectors from element 0 on; and how the
// array was split.
#define VECTOR_KERNEL(name, T)                                                                     \
    static __global__ void name##_kernel(const T *in, T *out, T *any, unsigned int *met, size_t n, \
                                         size_t *split)                                            \
    {                                                                                              \
        const name##_parts parts = name##_split(in, n);                                            \
        for (size_t v = threadIdx.x; v < parts.vectors; v += 32) {                                 \
            const name##_vector load = v % 2 ? parts.first[v] : name##_load_once(parts.first + v); \
            for (unsigned int j = 0; j < name##_items; j++) {                                      \
                out[parts.head + v * name##_items + j] = load.item[j];                             \
                atomicAdd(met + parts.head + v * name##_items + j, 1u);                            \
            }                                                                                      \
        }                                                                                          \
        if (threadIdx.x < parts.rest) {                                                            \
            const size_t i = name##_rest(parts, threadIdx.x);                                      \
            out[i] = in[i];                                                                        \
            atomicAdd(met + i, 1u);                                                                \
        }                                                                                          \
        const name##_parts from_0 = name##_split_any(in, n);                                       \
        for (size_t v = threadIdx.x; v < from_0.vectors; v += 32) {                                \
            const name##_vector load = name##_load_any(from_0, v);                                 \
            for (unsigned int j = 0; j < name##_items; j++)                                        \
                any[v * name##_items + j] = load.item[j];                                          \
        }                                                                                          \
        if (threadIdx.x < from_0.rest)                                                             \
            any[name##_rest(from_0, threadIdx.x)] = in[name##_rest(from_0, threadIdx.x)];          \
        if (threadIdx.x == 0) {                                                                    \
            split[0] = parts.rest;                                                                 \
            split[1] = (size_t)parts.first % sizeof(name##_vector);                                \
            split[2] = parts.vectors;                                                              \
        }                                                                                          \
    }

VECTOR_KERNEL(vector_1, unsigned char)
VECTOR_KERNEL(vector_2, short)
VECTOR_KERNEL(vector_4, float)
VECTOR_KERNEL(vector_8, double)
VECTOR_KERNEL(vector_12, triple)
VECTOR_KERNEL(vector_16, uint4)
VECTOR_KERNEL(vector_32, octet)

template <class T>
static void check_vector(const char *name, size_t items,
                         void (*kernel)(const T *, T *, T *, unsigned int *, size_t, size_t *))
{
    const size_t wanted_items = 16 % sizeof(T) == 0 ? 16 / sizeof(T) : 1;
    bool ok = items == wanted_items;
    for (size_t offset = 0; offset < 16 / __alignof__(T); offset++) // of the type's own alignment
        for (size_t n = 0; n <= 70; n++) {
            if (sizeof(T) % 16 != 0 && 16 % sizeof(T) == 0 && offset * __alignof__(T) % sizeof(T))
                continue;
            const bare_array in(n * sizeof(T), offset * __alignof__(T));
            const test_array out(n * sizeof(T));
            const test_array any(n * sizeof(T)), met(n * 4), split(24);
            std::vector<unsigned char> x(n * sizeof(T)), got(n * sizeof(T));
            std::vector<unsigned int> times(n);
            size_t parts[3];
            for (size_t i = 0; i < x.size(); i++)
                x[i] = (unsigned char)(test_random(n, i) % 100); // no NaN, which a copy may change
            if (n > 0) {
                in.fill(x.data());
                met.zero();
            }
            const cudaLaunchConfig_t config = config_of(dim3(1), dim3(32));
            ok = ok && went_well(cudaLaunchKernelEx(
                           &config, kernel, (const T *)in.get(), (T *)out.get(), (T *)any.get(),
                           (unsigned int *)met.get(), n, (size_t *)split.get()));
            split.read(parts);
            ok = ok && parts[0] < 32 && (parts[1] == 0 || items == 1 || parts[2] == 0);
            // As many vectors as there can be.
            const size_t head = items == 1 ? 0 : (16 - (size_t)in.get() % 16) % 16 / sizeof(T);
            ok = ok && parts[2] == (n < head ? 0 : (n - head) / items);
            if (n > 0) {
                out.read(got.data());
                met.read(times.data());
            }
            for (size_t i = 0; i < n; i++)
                ok = ok && times[i] == 1;
            ok = ok && got == x && out.intact() && met.intact();
            if (n > 0)
                any.read(got.data());
            ok = ok && got == x && any.intact();
        }
    tap_ok(ok, "%s: each element once, in vectors of %zu, at every alignment", name, items);
}

#endif

// ---- Inputs -------------------------------------------------------------------------------------

#if TESTED(inputs)

#define COARSEN_NAME            blend
#define COARSEN_TYPE            unsigned char
#define COARSEN_TYPE_B          float
#define COARSEN_TYPE_C          short
#define COARSEN_OUT             double
#define COARSEN_INPUTS          3
#define COARSEN_SCALAR          double
#define COARSEN_MAP(a, b, c, s) ((s) * (double)(a) * (double)(b) + (double)(c))
#include <coarsen/block/inputs.h>

#define COARSEN_NAME      pairs // one element at a time
#define COARSEN_TYPE      triple
#define COARSEN_TYPE_B    unsigned int
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) triple_add(a, (triple{b, b, b}))
#include <coarsen/block/inputs.h>

#define COARSEN_NAME   negated // 16 bytes of a lone array
#define COARSEN_TYPE   short
#define COARSEN_MAP(a) ((short)-(a))
#include <coarsen/block/inputs.h>

// The arrays are read from a head on, at which all are aligned; from any head on, where what is around a vector must be in the
// arrays, so that the first and the last go by items; or from any head on, all by items.
enum { ALIGNED, AROUND, ITEMS };
#define INPUTS_KERNEL(name, T)                                                                     \
    static __global__ void name##_kernel(name##_inputs in, T *out, size_t n, size_t head, int how) \
    {                                                                                              \
        const size_t all = (n - head) / name##_items, step = gridDim.x * blockDim.x;               \
        const size_t first = blockIdx.x * blockDim.x + threadIdx.x;                                \
        const size_t begin = how == AROUND ? 1 : 0,                                                \
                     end = how == AROUND && all > 0 ? all - 1 : all;                               \
        const size_t from = head + begin * name##_items, to = head + end * name##_items;           \
        for (size_t v = begin + first; v < end; v += step) {                                       \
            name##_loads load;                                                                     \
            if (how == AROUND)                                                                     \
                load = name##_between(name##_load_raw(in, head, v, false), in, head, false);       \
            else if (how == ITEMS)                                                                 \
                load = name##_load_items(in, head, v);                                             \
            else if (name##_items > 1 && v % 2)                                                    \
                load = name##_between(name##_load_raw(in, head, v, true), in, head, true);         \
            else                                                                                   \
                load = name##_load(in, head, v);                                                   \
            for (unsigned int j = 0; j < name##_items; j++)                                        \
                out[head + v * name##_items + j] = name##_map(&load, j, in);                       \
        }                                                                                          \
        for (size_t i = first; i < n; i += step)                                                   \
            if (i < from || i >= to)                                                               \
                out[i] = name##_map_at(in, i);                                                     \
    }

INPUTS_KERNEL(blend, double)
INPUTS_KERNEL(pairs, triple)
INPUTS_KERNEL(negated, short)

static void check_inputs(void)
{
    tap_ok(blend_items == 2 && pairs_items == 1 && negated_items == 8,
           "as many elements at once as are 16 bytes of the widest type: %d, %d, %d",
           (int)blend_items, (int)pairs_items, (int)negated_items);
    const size_t most = 300;
    std::vector<unsigned char> a(most);
    std::vector<float> b(most);
    std::vector<short> c(most);
    std::vector<triple> t(most);
    std::vector<unsigned int> u(most);
    for (size_t i = 0; i < most; i++) {
        const uint64_t bits = test_random(1, i);
        a[i] = (unsigned char)bits;
        b[i] = (float)(bits >> 8 & 1023);
        c[i] = (short)(bits >> 24);
        u[i] = (unsigned int)(bits >> 16);
        t[i] = triple{(unsigned int)bits, (unsigned int)(bits >> 20), (unsigned int)(bits >> 32)};
    }
    bool right = true, boundary = true;
    for (size_t n = 0; n <= most; n = n < 10 ? n + 1 : n * 3 / 2)
        for (size_t at = 0; at < 3 * 3 * 3 * 3 * 3; at++) {
            const bare_array in_a(n, at / 3 % 3), in_b(n * 4, at / 9 % 3 * 4);
            const bare_array in_c(n * 2, at / 27 % 3 * 2);
            const bare_array in_t(n * 12, at / 3 % 3 * 4), in_u(n * 4, at / 9 % 3 * 4);
            const test_array out(n * 8, at / 81 * 8), out_t(n * 12), out_c(n * 2, at / 81 * 2);
            if (n > 0) {
                in_a.fill(a.data());
                in_b.fill(b.data());
                in_c.fill(c.data());
                in_t.fill(t.data());
                in_u.fill(u.data());
            }
            const blend_inputs in = {(const unsigned char *)in_a.get(), (const float *)in_b.get(),
                                     (const short *)in_c.get(), 3};
            const pairs_inputs two = {(const triple *)in_t.get(), (const unsigned int *)in_u.get()};
            const negated_inputs one = {(const short *)in_c.get()};
            const size_t head = blend_head(in, (double *)out.get(), n);
            // Bytes 2, 8, 4 and 16 at once: the first place that is right for all.
            size_t want = n;
            for (size_t h = 0; h < 2 && h < n && want == n; h++)
                if ((at / 3 % 3 + h) % 2 == 0 && (at / 9 % 3 + h) % 2 == 0 &&
                    (at / 27 % 3 + h) % 2 == 0 && (at / 81 + h) % 2 == 0)
                    want = h;
            boundary = boundary && head == want && pairs_head(two, NULL, n) == 0;
            // Without an array that is written, that one is no matter.
            boundary = boundary &&
                       negated_head(one, NULL, n) == std::min(n, (size_t)(8 - at / 27 % 3) % 8);
            const cudaLaunchConfig_t config = config_of(dim3(2), dim3(32));
            const int how = (int)(at % 3);
            const size_t some = how == ALIGNED ? 0 : std::min(n, at % 5);
            right = right &&
                    went_well(cudaLaunchKernelEx(&config, blend_kernel, in, (double *)out.get(), n,
                                                 how == ALIGNED ? head : some, how));
            right = right &&
                    went_well(cudaLaunchKernelEx(&config, pairs_kernel, two, (triple *)out_t.get(),
                                                 n, (size_t)0, how == ITEMS ? ITEMS : ALIGNED));
            right = right &&
                    went_well(cudaLaunchKernelEx(
                        &config, negated_kernel, one, (short *)out_c.get(), n,
                        how == ALIGNED ? negated_head(one, (short *)out_c.get(), n) : some, how));
            std::vector<double> got(n);
            std::vector<triple> got_t(n);
            std::vector<short> got_c(n);
            if (n > 0) {
                out.read(got.data());
                out_t.read(got_t.data());
                out_c.read(got_c.data());
            }
            for (size_t i = 0; i < n; i++)
                right = right && got[i] == 3.0 * a[i] * b[i] + c[i] &&
                        same(got_t[i], triple_add(t[i], triple{u[i], u[i], u[i]})) &&
                        got_c[i] == (short)-c[i];
            right = right && out.intact() && out_t.intact() && out_c.intact();
        }
    tap_ok(right, "inputs: three arrays and a scalar, two, and one, in a user's own kernel");
    tap_ok(boundary, "inputs: the head is the elements before the first boundary of all arrays");

    const test_array x(800), y(800), z(800);
    const blend_inputs good = {(const unsigned char *)x.get(), (const float *)y.get(),
                               (const short *)z.get(), 1};
    blend_inputs bad[6] = {good, good, good, good, good, good};
    bad[0].a = NULL;
    bad[1].b = NULL;
    bad[2].c = NULL;
    bad[3].b = (const float *)((const char *)y.get() + 2);
    bad[4].c = (const short *)((const char *)z.get() + 1);
    bool ok = blend_inputs_ok(good, 100) && blend_inputs_ok(bad[0], 0);
    for (int i = 0; i < 5; i++)
        ok = ok && !blend_inputs_ok(bad[i], 100);
    ok = ok && !blend_inputs_ok(good, SIZE_MAX) && !blend_inputs_ok(good, SIZE_MAX / 2);
    tap_ok(ok, "inputs: null, misaligned and overflowing arrays are not ok");
}

#endif

// ---- Blocks of a grid ---------------------------------------------------------------------------

#if TESTED(grid)

#define COARSEN_NAME meet
#include <coarsen/block/grid.h>

// The lock and the last block, for blocks and grids of any shape.
static __global__ void meet_kernel(const int *in, int *partials, unsigned int *words, int *out,
                                   unsigned int *last_threads)
{
    const bool first = threadIdx.x + threadIdx.y + threadIdx.z == 0;
    // What another thread writes than the one that arrives, too, is seen.
    const bool writer = threadIdx.x == blockDim.x - 1 && threadIdx.y == blockDim.y - 1 &&
                        threadIdx.z == blockDim.z - 1;
    const unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;
    if (writer)
        partials[block] = in[block];
    if (first) {
        meet_lock(words + 1);
        out[1] += in[block];
        meet_unlock(words + 1);
    }
    if (!meet_last_block(words))
        return;
    atomicAdd(last_threads, 1u);
    if (!first)
        return;
    out[0] = 0;
    for (unsigned int b = 0; b < blocks; b++)
        out[0] += partials[b];
}

static void check_grid(void)
{
    static const dim3 shapes[][2] = {{dim3(37), dim3(64)},
                                     {dim3(1), dim3(1)},
                                     {dim3(5, 3), dim3(8, 8)},
                                     {dim3(2, 3, 4), dim3(4, 3, 5)},
                                     {dim3(1, 1, 19), dim3(1, 1, 33)}};
    for (const dim3 *shape : shapes) {
        const dim3 grid = shape[0], block = shape[1];
        const unsigned int blocks = grid.x * grid.y * grid.z;
        std::vector<int> x(blocks);
        int want = 0;
        for (unsigned int i = 0; i < blocks; i++)
            want += x[i] = (int)(test_random(5, i) % 1000);
        bool ok = true;
        for (int k = 0; k < test_order_count(); k++) {
            test_order(k);
            const test_array in(blocks * 4), partials(blocks * 4), words(8), out(8), last(4);
            in.fill(x.data());
            words.zero();
            for (int launch = 0; launch < 3; launch++) {
                unsigned int threads, left[2];
                int got[2];
                out.zero();
                last.zero();
                const cudaLaunchConfig_t config = config_of(grid, block);
                ok =
                    ok &&
                    went_well(cudaLaunchKernelEx(&config, meet_kernel, (const int *)in.get(),
                                                 (int *)partials.get(), (unsigned int *)words.get(),
                                                 (int *)out.get(), (unsigned int *)last.get()));
                out.read(got);
                last.read(&threads);
                words.read(left);
                ok = ok && got[0] == want && got[1] == want && left[0] == 0 && left[1] == 0 &&
                     threads == block.x * block.y * block.z;
            }
        }
        test_order(0);
        tap_ok(ok, "grid of %u x %u x %u: the last block sees all, the lock loses no update",
               grid.x, grid.y, grid.z);
    }
}

#endif

// ---- Blocks that meet, kernels that follow one another --------------------------------------------------

#if TESTED(meeting)

#define COARSEN_NAME rounds
#include <coarsen/block/meeting.h>
#define COARSEN_NAME chain
#include <coarsen/block/overlap.h>

// In each round a thread passes its number on to another thread of the next block.
static __global__ void rounds_kernel(unsigned int *numbers, unsigned int *meeting,
                                     unsigned int rounds)
{
    const unsigned int dim = blockDim.x, mine = blockIdx.x * dim + threadIdx.x;
    const unsigned int next = (blockIdx.x + 1) % gridDim.x * dim + (threadIdx.x + 1) % dim;
    for (unsigned int r = 0; r < rounds; r++) {
        const unsigned int number = numbers[mine];
        const unsigned int turn = rounds_arrive(meeting);
        rounds_wait(meeting, turn);
        numbers[next] = number + 1;
        rounds_wait(meeting, rounds_arrive(meeting));
    }
}

static void check_meeting(void)
{
    const unsigned int dim = 96, rounds = 5;
    bool ok = true;
    for (unsigned int blocks : {1u, 2u, 7u, 8u, 9u, 16u})
        for (int cluster = 0; cluster < 2; cluster++) { // 0: a cooperative launch in any case
            const unsigned int n = blocks * dim;
            const test_array numbers(n * 4), meeting(4);
            std::vector<unsigned int> first(n), got(n);
            for (unsigned int i = 0; i < n; i++)
                first[i] = test_random(blocks, i) % 1000;
            numbers.fill(first.data());
            meeting.zero();
            for (unsigned int launch = 0; launch < 3; launch++) {
                test_order((int)(launch % (unsigned int)test_order_count()));
                cudaLaunchConfig_t config = config_of(dim3(blocks), dim3(dim));
                cudaLaunchAttribute attribute = {};
                ok = ok &&
                     went_well(rounds_together(&config, &attribute, (const void *)rounds_kernel));
                if (!cluster) {
                    attribute.id = cudaLaunchAttributeCooperative;
                    attribute.val.cooperative = 1;
                }
                ok = ok && went_well(cudaLaunchKernelEx(&config, rounds_kernel,
                                                        (unsigned int *)numbers.get(),
                                                        (unsigned int *)meeting.get(), rounds));
            }
            test_order(0);
            numbers.read(got.data());
            const unsigned int all = 3 * rounds;
            for (unsigned int b = 0; b < blocks; b++)
                for (unsigned int t = 0; t < dim; t++)
                    ok = ok && got[(b + all) % blocks * dim + (t + all) % dim] ==
                                   first[b * dim + t] + all;
        }
    tap_ok(ok, "meeting: numbers go around 1 to 16 blocks");
}

// Many threads, so that the next kernel could begin before they are done.
static __global__ void chain_kernel(const unsigned int *in, unsigned int *out, unsigned int n)
{
    chain_follow();
    chain_let_next();
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[n - 1 - i] = in[i] + 1;
}

static void check_overlap(void)
{
    const unsigned int n = 50001, kernels = 8;
    const test_array a(n * 4), b(n * 4);
    std::vector<unsigned int> first(n), got(n);
    for (unsigned int i = 0; i < n; i++)
        first[i] = test_random(9, i) % 1000;
    a.fill(first.data());
    bool ok = true;
    for (unsigned int k = 0; k < kernels; k++) {
        cudaLaunchConfig_t config = config_of(dim3(40), dim3(128));
        cudaLaunchAttribute attribute = {};
        ok = ok && went_well(chain_overlap(&config, &attribute, (const void *)chain_kernel)) &&
             cudaLaunchKernelEx(&config, chain_kernel, (const unsigned int *)(k % 2 ? b : a).get(),
                                (unsigned int *)(k % 2 ? a : b).get(), n) == cudaSuccess;
    }
    ok = ok && went_well(cudaGetLastError());
    a.read(got.data());
    for (unsigned int i = 0; i < n; i++)
        ok = ok && got[i] == first[i] + kernels;
    tap_ok(ok, "overlap: each of %u kernels sees what the one before it wrote", kernels);
}

#endif

// ---- All of it ----------------------------------------------------------------------------------

int main(void)
{
    test_begin(); // 96 threads first, as they show most of faults.py's faults
#if TESTED(reduce)
    dim_96_check_reduce();
#ifndef TEST_FIRST
    dim_32_check_reduce();
    dim_1024_check_reduce();
#endif
#endif
#if TESTED(scan)
    dim_32_check_scan();
    dim_96_check_scan();
    dim_1024_check_scan();
#endif
#if TESTED(slots)
    check_slots(SLOTS(slots_1, unsigned char));
    check_slots(SLOTS(slots_4, float));
    check_slots(SLOTS(slots_8, double));
    check_slots(SLOTS(slots_12, triple));
    check_slots(SLOTS(slots_16, quad));
#ifdef SIMT
    check_full_slot(SLOTS(slots_1, unsigned char));
    check_full_slot(SLOTS(slots_16, quad));
#endif
#endif
#if TESTED(copy)
    check_copy<4>();
    check_copy<8>();
    check_copy<16>();
#ifdef SIMT
    check_copy<4, true>();
    check_copy<8, true>();
    check_copy<16, true>();
#endif
#endif
#if TESTED(shift)
    check_shift<1, false>();
    check_shift<1, true>();
    check_shift<4, false>();
    check_shift<4, true>();
    check_shift<12, false>();
    check_shift<12, true>();
    check_write_shifted<4, 1>();
    check_write_shifted<4, 2>();
    check_write_shifted<4, 4>();
    check_write_shifted<4, 8>();
    check_write_shifted<8, 1>();
    check_write_shifted<8, 4>();
    check_write_shifted<8, 8>();
    check_write_shifted<16, 4>();
#endif
#if TESTED(vector)
    check_vector("vector_1", vector_1_items, vector_1_kernel);
    check_vector("vector_2", vector_2_items, vector_2_kernel);
    check_vector("vector_4", vector_4_items, vector_4_kernel);
    check_vector("vector_8", vector_8_items, vector_8_kernel);
    check_vector("vector_12", vector_12_items, vector_12_kernel);
    check_vector("vector_16", vector_16_items, vector_16_kernel);
    check_vector("vector_32", vector_32_items, vector_32_kernel);
#endif
#if TESTED(inputs)
    check_inputs();
#endif
#if TESTED(grid)
    check_grid();
#endif
#if TESTED(meeting)
    check_meeting();
    check_overlap();
#endif
    return tap_done();
}

#endif
