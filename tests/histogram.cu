// SPDX-License-Identifier: MIT
//
// Every rung of the histogram: right at every boundary, for every kind of bin and data, at any
// alignment, in any order of blocks; and what it promises of errors and counts.

#include "device.h"

#include <math.h>

// ---- The inclusions -----------------------------------------------------------------------------

// All rungs on bytes and on ints whose bins leave some out on either side; few threads, so that there
// are many blocks.
#define BIN_INT(x)   ((x)-20)
#define BIN_SHORT(x) ((x) >> 3)
#define BIN_WORD(x)  ((x) % 300000)
// Even bins of floats, out of range and NaN left out; custom ranges; 8-byte and 12-byte elements.
#define BIN_EVEN(x)  ((x) >= -1 && (x) < 1 ? (int)(((x) + 1) * 128) : -1)
#define BIN_LUMA(c)  (((c).r * 77 + (c).g * 150 + (c).b * 29) >> 8)

static inline __host__ __device__ int range_of(float x)
{
    return x < -3 ? -1 : x < -0.5f ? 0 : x < 0 ? 1 : x < 0.125f ? 2 : x < 10 ? 3 : 4;
}

typedef struct {
    int r, g, b;
} colour;

#if TESTED(basic)

#define COARSEN_NAME basic_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    64
#include <coarsen/histogram/basic.h>

#define COARSEN_NAME   basic_pointer
#define COARSEN_TYPE   const float *
#define NUM_BINS       64
#define COARSEN_BIN(p) ((size_t)(p) / 4 % 64)
#define BLOCK_DIM      64
#include <coarsen/histogram/basic.h>

#define COARSEN_NAME  basic_i32
#define COARSEN_TYPE  int
#define NUM_BINS      100
#define COARSEN_BIN   BIN_INT
#define COARSEN_COUNT unsigned long long
#define BLOCK_DIM     32
#include <coarsen/histogram/basic.h>

#define COARSEN_NAME basic_65536
#define COARSEN_TYPE unsigned int
#define NUM_BINS     65536
#define COARSEN_BIN  BIN_WORD
#include <coarsen/histogram/basic.h>

#endif

#if TESTED(private_global)

#define COARSEN_NAME private_global_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    64
#include <coarsen/histogram/private_global.h>

#define COARSEN_NAME  private_global_i32
#define COARSEN_TYPE  int
#define NUM_BINS      100
#define COARSEN_BIN   BIN_INT
#define COARSEN_COUNT unsigned long long
#define BLOCK_DIM     96
#include <coarsen/histogram/private_global.h>

#endif

#if TESTED(private_shared)

#define COARSEN_NAME private_shared_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    64
#include <coarsen/histogram/private_shared.h>

#define COARSEN_NAME  private_shared_i32
#define COARSEN_TYPE  int
#define NUM_BINS      100
#define COARSEN_BIN   BIN_INT
#define COARSEN_COUNT unsigned long long
#define BLOCK_DIM     96
#include <coarsen/histogram/private_shared.h>

#endif

#if TESTED(contiguous)

#define COARSEN_NAME contiguous_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    64
#define CFACTOR      3
#include <coarsen/histogram/contiguous.h>

#define COARSEN_NAME  contiguous_i32
#define COARSEN_TYPE  int
#define NUM_BINS      100
#define COARSEN_BIN   BIN_INT
#define COARSEN_COUNT unsigned long long
#define BLOCK_DIM     96
#define CFACTOR       5
#include <coarsen/histogram/contiguous.h>

#endif

#if TESTED(interleaved)

#define COARSEN_NAME interleaved_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    64
#define CFACTOR      3
#include <coarsen/histogram/interleaved.h>

#define COARSEN_NAME  interleaved_i32
#define COARSEN_TYPE  int
#define NUM_BINS      100
#define COARSEN_BIN   BIN_INT
#define COARSEN_COUNT unsigned long long
#define BLOCK_DIM     96
#define CFACTOR       8
#include <coarsen/histogram/interleaved.h>

#endif

#if TESTED(vectorized)

#define COARSEN_NAME vectorized_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    64
#define CFACTOR      1
#include <coarsen/histogram/vectorized.h>

#define COARSEN_NAME  vectorized_i32
#define COARSEN_TYPE  int
#define NUM_BINS      100
#define COARSEN_BIN   BIN_INT
#define COARSEN_COUNT unsigned long long
#define BLOCK_DIM     96
#define CFACTOR       3
#include <coarsen/histogram/vectorized.h>

// The most registers.
#define COARSEN_NAME vectorized_most
#define COARSEN_TYPE int
#define NUM_BINS     100
#define COARSEN_BIN  BIN_INT
#define BLOCK_DIM    1024
#define CFACTOR      32
#include <coarsen/histogram/vectorized.h>

#define COARSEN_NAME vectorized_colour
#define COARSEN_TYPE colour
#define NUM_BINS     256
#define COARSEN_BIN  BIN_LUMA
#define BLOCK_DIM    64
#include <coarsen/histogram/vectorized.h>

#endif

#if TESTED(aggregated)

#define COARSEN_NAME aggregated_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    64
#define CFACTOR      1
#include <coarsen/histogram/aggregated.h>

#define COARSEN_NAME  aggregated_i32
#define COARSEN_TYPE  int
#define NUM_BINS      100
#define COARSEN_BIN   BIN_INT
#define COARSEN_COUNT unsigned long long
#define BLOCK_DIM     96
#define CFACTOR       3
#include <coarsen/histogram/aggregated.h>

// The most registers.
#define COARSEN_NAME aggregated_most
#define COARSEN_TYPE int
#define NUM_BINS     100
#define COARSEN_BIN  BIN_INT
#define BLOCK_DIM    1024
#define CFACTOR      32
#include <coarsen/histogram/aggregated.h>

#define COARSEN_NAME aggregated_f32
#define COARSEN_TYPE float
#define NUM_BINS     256
#define COARSEN_BIN  BIN_EVEN
#include <coarsen/histogram/aggregated.h>

#endif

#if TESTED(per_lane)

// 32 columns, fewer, one, and more bins than a block has room for, in 2 ranges and in 4.
#define COARSEN_NAME per_lane_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define CFACTOR      1
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME  per_lane_i32
#define COARSEN_TYPE  int
#define NUM_BINS      100
#define COARSEN_BIN   BIN_INT
#define COARSEN_COUNT unsigned long long
#define BLOCK_DIM     96
#define CFACTOR       3
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME per_lane_20000
#define COARSEN_TYPE unsigned int
#define NUM_BINS     20000
#define COARSEN_BIN  BIN_WORD
#define BLOCK_DIM    256
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME    per_lane_65536
#define COARSEN_TYPE    unsigned int
#define NUM_BINS        65536
#define COARSEN_BIN     BIN_WORD
#define COARSEN_COUNTED 1
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME  per_lane_200003
#define COARSEN_TYPE  unsigned int
#define NUM_BINS      200003
#define COARSEN_BIN   BIN_WORD
#define COARSEN_COUNT unsigned long long
#include <coarsen/histogram/per_lane.h>

// What an element adds: numbers of which sums are exact, whatever their order; some of them negative.
#define WEIGHT_SHORT(x) ((x) % 5 - 2)
#define WEIGHT_RED(c)   ((c).r - (c).b)
#define WEIGHT_BYTE(x)  ((float)((x) % 256) - 50)
#define WEIGHT_HALF(x)  ((double)((x) >> 24) * 0.5)
#define WEIGHT_WIDE(x)  ((unsigned long long)(x) << 21)

#define COARSEN_NAME    weighted_i32
#define COARSEN_TYPE    short
#define NUM_BINS        201
#define COARSEN_BIN     BIN_SHORT
#define COARSEN_COUNT   int
#define COARSEN_WEIGHT  WEIGHT_SHORT
#define COARSEN_COUNTED 1
#define BLOCK_DIM       64
#include <coarsen/histogram.h>

#define COARSEN_NAME   weighted_u64
#define COARSEN_TYPE   unsigned int
#define NUM_BINS       10000
#define COARSEN_BIN    BIN_WORD
#define COARSEN_COUNT  unsigned long long
#define COARSEN_WEIGHT WEIGHT_WIDE
#define BLOCK_DIM      256
#include <coarsen/histogram.h>

#define COARSEN_NAME   weighted_f32
#define COARSEN_TYPE   colour
#define NUM_BINS       256
#define COARSEN_BIN    BIN_LUMA
#define COARSEN_COUNT  float
#define COARSEN_WEIGHT WEIGHT_RED
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME   weighted_f64
#define COARSEN_TYPE   unsigned int
#define NUM_BINS       65536
#define COARSEN_BIN    BIN_WORD
#define COARSEN_COUNT  double
#define COARSEN_WEIGHT WEIGHT_HALF
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME      weighted_u32
#define COARSEN_TYPE      unsigned char
#define NUM_BINS          37
#define COARSEN_COUNT     unsigned int
#define COARSEN_WEIGHT(x) ((x) / 3)
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME view_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     100
#define COARSEN_VIEW 1
#define BLOCK_DIM    64
#define CFACTOR      3
#include <coarsen/histogram.h>

#define COARSEN_NAME view_65535 // in ranges, of which the last is the shorter
#define COARSEN_TYPE unsigned int
#define NUM_BINS     65535
#define COARSEN_BIN  BIN_WORD
#define COARSEN_VIEW 1
#define BLOCK_DIM    256
#include <coarsen/histogram.h>

#define COARSEN_NAME   view_runs // of equal elements, whose weights a thread adds up first
#define COARSEN_TYPE   unsigned int
#define NUM_BINS       100
#define COARSEN_COUNT  float
#define COARSEN_WEIGHT WEIGHT_BYTE
#define COARSEN_VIEW   1
#define BLOCK_DIM      64
#include <coarsen/histogram.h>

#define COARSEN_NAME histogram_u64
#define COARSEN_TYPE unsigned long long
#define NUM_BINS     1000
#define BLOCK_DIM    64
#include <coarsen/histogram.h>

#ifndef TEST_FIRST

// The most registers.
#define COARSEN_NAME per_lane_most
#define COARSEN_TYPE int
#define NUM_BINS     100
#define COARSEN_BIN  BIN_INT
#define BLOCK_DIM    1024
#define CFACTOR      32
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME   per_lane_1
#define COARSEN_TYPE   int
#define NUM_BINS       1
#define COARSEN_BIN(x) ((x)&1)
#define BLOCK_DIM      32
#include <coarsen/histogram/per_lane.h>

// Bytes that have no bin; and as many counters as 64 KiB hold.
#define COARSEN_NAME per_lane_37
#define COARSEN_TYPE unsigned char
#define NUM_BINS     37
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME per_lane_512
#define COARSEN_TYPE short
#define NUM_BINS     512
#define COARSEN_BIN  BIN_SHORT
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME per_lane_16384
#define COARSEN_TYPE unsigned int
#define NUM_BINS     16384
#define COARSEN_BIN  BIN_WORD
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME per_lane_201
#define COARSEN_TYPE short
#define NUM_BINS     201
#define COARSEN_BIN  BIN_SHORT
#define BLOCK_DIM    64
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME per_lane_509
#define COARSEN_TYPE short
#define NUM_BINS     509
#define COARSEN_BIN  BIN_SHORT
#define BLOCK_DIM    64
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME per_lane_1000
#define COARSEN_TYPE short
#define NUM_BINS     1000
#define COARSEN_BIN  BIN_SHORT
#define BLOCK_DIM    64
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME histogram_f32
#define COARSEN_TYPE float
#define NUM_BINS     256
#define COARSEN_BIN  BIN_EVEN
#include <coarsen/histogram.h>

#define COARSEN_NAME histogram_ranges
#define COARSEN_TYPE float
#define NUM_BINS     4
#define COARSEN_BIN  range_of
#define BLOCK_DIM    64
#include <coarsen/histogram.h>

#define COARSEN_NAME   histogram_pointer
#define COARSEN_TYPE   const float *
#define NUM_BINS       64
#define COARSEN_BIN(p) ((size_t)(p) / 4 % 64)
#define BLOCK_DIM      64
#include <coarsen/histogram.h>

#define COARSEN_NAME histogram_colour
#define COARSEN_TYPE colour
#define NUM_BINS     256
#define COARSEN_BIN  BIN_LUMA
#define BLOCK_DIM    64
#include <coarsen/histogram.h>

#endif

#endif

#if TESTED(partitioned)

// One bucket, the last one not full, several, and more than one pass.
#define COARSEN_NAME partitioned_u8
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#define BLOCK_DIM    64
#define CFACTOR      1
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME   partitioned_i32
#define COARSEN_TYPE   int
#define NUM_BINS       100
#define COARSEN_BIN    BIN_INT
#define COARSEN_COUNT  unsigned long long
#define COARSEN_BUCKET 1024
#define BLOCK_DIM      96
#define CFACTOR        3
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME   partitioned_20000
#define COARSEN_TYPE   unsigned int
#define NUM_BINS       20000
#define COARSEN_BIN    BIN_WORD
#define COARSEN_BUCKET 1024
#define BLOCK_DIM      32
#define CFACTOR        32
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME    partitioned_65536
#define COARSEN_TYPE    unsigned int
#define NUM_BINS        65536
#define COARSEN_BIN     BIN_WORD
#define COARSEN_BUCKET  1024
#define COARSEN_BUCKETS 19
#define BLOCK_DIM       64
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME  partitioned_200003
#define COARSEN_TYPE  unsigned int
#define NUM_BINS      200003
#define COARSEN_BIN   BIN_WORD
#define COARSEN_COUNT unsigned long long
#include <coarsen/histogram/partitioned.h>

#ifndef TEST_FIRST

// Each number of columns of counters but the most.
#define COARSEN_NAME   partitioned_16
#define COARSEN_TYPE   unsigned int
#define NUM_BINS       150000
#define COARSEN_BIN    BIN_WORD
#define COARSEN_BUCKET 1024
#define BLOCK_DIM      1024
#define CFACTOR        2
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME   partitioned_8
#define COARSEN_TYPE   unsigned int
#define NUM_BINS       300000
#define COARSEN_BIN    BIN_WORD
#define COARSEN_BUCKET 1024
#define BLOCK_DIM      256
#define CFACTOR        3
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME   partitioned_2
#define COARSEN_TYPE   unsigned int
#define NUM_BINS       1100000
#define COARSEN_BIN(x) ((x) % 1300000)
#define COARSEN_BUCKET 1024
#define BLOCK_DIM      256
#define CFACTOR        7
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME   partitioned_1
#define COARSEN_TYPE   int
#define NUM_BINS       1
#define COARSEN_BIN(x) ((x)&1)
#define BLOCK_DIM      32
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME partitioned_f32
#define COARSEN_TYPE float
#define NUM_BINS     256
#define COARSEN_BIN  BIN_EVEN
#include <coarsen/histogram/partitioned.h>

#define COARSEN_NAME partitioned_colour
#define COARSEN_TYPE colour
#define NUM_BINS     256
#define COARSEN_BIN  BIN_LUMA
#define BLOCK_DIM    64
#include <coarsen/histogram/partitioned.h>

#endif

#endif

// ---- Running one --------------------------------------------------------------------------------

template <class T, class C> struct rung {
    const char *name;
    size_t bins;
    size_t (*scratch_bytes)(size_t);
    cudaError_t (*launch)(const T *, C *, size_t, void *, size_t, cudaStream_t);
    bool blocks_grow = true; // with n, without end
};
// Of those that need no scratch, and of those that do: private_global and partitioned.
#define RUNG(name, T, C, bins)                                                                     \
    (rung<T, C>{#name, bins, [](size_t) { return (size_t)0; },                                     \
                [](T const *in, C *counts, size_t n, void *, size_t, cudaStream_t stream) {        \
                    return name##_launch(in, counts, n, stream);                                   \
                }})
#define WITH_SCRATCH(name, T, C, bins)                                                             \
    (rung<T, C>{#name, bins, name##_scratch_bytes, name##_launch})

#if TESTED(per_lane)
template <class T, class C> static rung<T, C> fixed_blocks(rung<T, C> r)
{
    r.blocks_grow = false;
    return r;
}
#endif

static const size_t sizes[] = {0,    1,    2,    3,    15,   16,   17,   31,   32,   33,   47,
                               63,   64,   65,   95,   96,   97,   255,  256,  257,  383,  384,
                               385,  511,  512,  513,  767,  768,  769,  997,  1023, 1024, 1025,
                               1151, 1153, 2047, 2049, 3071, 3073, 4099, 8193, 16411};

// How the elements follow each other.
enum { ANY, ONE, RUNS, KINDS };
static const char *const kinds[KINDS] = {"any data", "one value", "long runs"};

static uint64_t bits_of(int kind, size_t n, size_t i)
{
    return test_random(n, kind == ONE ? 1 : kind == RUNS ? i / 37 : i);
}

struct one_each {
    template <class T> int operator()(T) const
    {
        return 1;
    }
};

// One test: the rung against `bin`, at every size up to `most`, each kind of data, alignment and
// order of blocks. bin says where an element belongs, or that it does not, and weight what it adds there: they are
// written apart from the rung's COARSEN_BIN and COARSEN_WEIGHT.
template <class T, class C, class Make, class Bin, class Weight = one_each>
static void check(const rung<T, C> &r, size_t most, Make make, Bin bin, Weight weight = Weight())
{
    size_t counted = 0, all = 0;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes) && sizes[s] <= most; s++)
        for (int k = 0; k < test_order_count(); k++) {
            // Every order at a few sizes, one of them in turn at the others.
            const size_t n = sizes[s], offset = (n + k) % 5;
            const int kind = (int)((s + k) % KINDS);
            if (n % 64 != 1 && k != (int)(s % test_order_count()))
                continue;
            if (test_order_count() > 1 && r.bins >= 20000 && (s % 5 != 0 || k % 3 != 2))
                continue;
            std::vector<T> x(n);
            std::vector<C> want(r.bins, 0), got(r.bins);
            for (size_t i = 0; i < n; i++) {
                x[i] = make(bits_of(kind, n, i));
                const long long b = bin(x[i]);
                if (b >= 0 && b < (long long)r.bins)
                    want[b] = (C)(want[b] + (C)weight(x[i])), counted++;
                all++;
            }
            const char *order = test_order(k);
            test_array in(n * sizeof(T), offset * sizeof(T)), counts(r.bins * sizeof(C), sizeof(C));
            test_array scratch(r.scratch_bytes(n));
            if (n > 0)
                in.fill(x.data());
            cudaError_t status = r.launch((const T *)in.get(), (C *)counts.get(), n, scratch.get(),
                                          scratch.bytes, 0);
            if (status == cudaSuccess)
                status = cudaDeviceSynchronize();
            counts.read(got.data());
            size_t wrong = 0;
            while (wrong < r.bins && got[wrong] == want[wrong])
                wrong++;
            const bool clean = in.intact() && counts.intact() && scratch.intact();
            if (status != cudaSuccess || wrong < r.bins || !clean) {
                tap_ok(0, "%s: n = %zu, offset %zu, %s, %s: %s%s", r.name, n, offset, kinds[kind],
                       order,
                       status != cudaSuccess ? cudaGetErrorString(status)
                       : wrong < r.bins      ? "wrong counts"
                                             : "right counts",
                       clean ? "" : ", wrote outside its arrays");
                if (status == cudaSuccess && wrong < r.bins)
                    tap_diag("bin %zu is %llu, not %llu", wrong, (unsigned long long)got[wrong],
                             (unsigned long long)want[wrong]);
                test_order(0);
                return;
            }
        }
    test_order(0);
    tap_ok(counted > 0, "%s: right at every size up to %zu, %zu of %zu elements counted", r.name,
           most, counted, all);
}

static unsigned char any_byte(uint64_t bits)
{
    return (unsigned char)bits;
}
static long long bin_byte(unsigned char x)
{
    return x;
}
static int any_int(uint64_t bits) // most of them in the 100 bins from 20 on, some extreme
{
    return bits % 97 == 0 ? INT32_MIN : bits % 97 == 1 ? INT32_MAX - 30 : (int)(bits >> 8) % 150;
}
static long long bin_int(int x)
{
    return (long long)x - 20;
}
static short any_short(uint64_t bits)
{
    return (short)bits;
}
static long long bin_short(short x)
{
    return x < 0 ? -1 : x / 8;
}
static unsigned int any_word(uint64_t bits)
{
    return (unsigned int)bits;
}
static long long bin_word(unsigned int x)
{
    return (long long)x - x / 300000 * 300000LL;
}
static float any_float(uint64_t bits)
{
    const float special[] = {NAN, INFINITY, -INFINITY, -0.0f, 1.0f, -1.0f, 3e38f, nextafterf(1, 0)};
    return bits % 17 == 0 ? special[bits / 17 % 8] : (float)(int)(bits >> 32) * 0x1.2p-31f;
}
static long long bin_even(float x)
{
    return x >= -1 && x < 1 ? (long long)floorf((x + 1) * 128) : -1;
}
static const float *any_pointer(uint64_t bits)
{
    return (const float *)(size_t)(bits >> 8);
}
static long long bin_pointer(const float *p)
{
    return (long long)((size_t)p >> 2 & 63);
}
static long long bin_ranges(float x)
{
    const float edges[] = {-3, -0.5f, 0, 0.125f, 10};
    long long bin = -1;
    for (int e = 0; e < 5; e++)
        bin += x >= edges[e];
    return x != x ? 4 : bin; // range_of takes a NaN for what is past the end
}

// ---- What is promised of errors -----------------------------------------------------------------

template <class T, class C> static void check_errors(const rung<T, C> &r)
{
    const size_t n = 100000, bytes = r.scratch_bytes(n);
    test_array in(n * sizeof(T)), counts(r.bins * sizeof(C)), scratch(bytes);
    const T *const x = (const T *)in.get();
    const T *const odd = (const T *)((const char *)x + 1);
    C *const y = (C *)counts.get();
    void *const s = scratch.get();
    bool ok = true;
    ok &= r.launch(NULL, y, n, s, bytes, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, NULL, n, s, bytes, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, NULL, 0, s, bytes, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, (C *)((char *)y + 1), n, s, bytes, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, y, SIZE_MAX / sizeof(T), s, SIZE_MAX, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, y, SIZE_MAX, s, bytes, 0) == cudaErrorInvalidValue;
    if (r.blocks_grow) // more blocks than a grid has
        ok &= r.launch(x, y, (size_t)1 << 50, s, SIZE_MAX, 0) == cudaErrorInvalidValue;
    if (sizeof(T) > 1)
        ok &= r.launch(odd, y, n, s, bytes, 0) == cudaErrorInvalidValue;
    if (bytes > 0) {
        ok &= r.launch(x, y, n, NULL, bytes, 0) == cudaErrorInvalidValue;
        ok &= r.launch(x, y, n, s, bytes - 1, 0) == cudaErrorInvalidValue;
        ok &= r.launch(x, y, n, s, 0, 0) == cudaErrorInvalidValue;
        ok &= r.launch(x, y, n, (char *)s + 1, bytes, 0) == cudaErrorInvalidValue;
    }
    ok &= cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess;
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", r.name);
    tap_ok(in.untouched() && counts.untouched() && scratch.untouched(),
           "%s: wrong arguments write nothing", r.name);
    bool enough = true;
    for (size_t m = 0; m <= n; m = m * 3 / 2 + 1)
        enough &= r.scratch_bytes(m) <= bytes;
    enough &= r.scratch_bytes(SIZE_MAX) >= bytes;
    tap_ok(enough, "%s: scratch for n is enough for less", r.name);
}

#if TESTED(per_lane)

// n in device memory.
static unsigned long long *device_count(const test_array &count, size_t n)
{
    const unsigned long long number = n;
    count.fill(&number);
    return (unsigned long long *)count.get();
}

// A rung with n in device memory, and room for as much or for more than there is.
#define COUNTED(name, T, C, bins)                                                                  \
    (rung<T, C>{#name ", counted on the device", bins, [](size_t) { return (size_t)0; },           \
                [](T const *in, C *counts, size_t n, void *, size_t, cudaStream_t stream) {        \
                    const test_array count(8);                                                     \
                    const cudaError_t status =                                                     \
                        name##_launch_counted(in, counts, device_count(count, n),                  \
                                              n % 2 == 0 ? n : n * 2 + 1000, stream);              \
                    return status != cudaSuccess ? status : cudaDeviceSynchronize();               \
                }})

static void check_counted_errors(void)
{
    const test_array in(40), counts(65536 * 4), count(8);
    const unsigned int *const x = (unsigned int *)in.get();
    unsigned int *const y = (unsigned int *)counts.get();
    const unsigned long long *const n = device_count(count, 10);
    const cudaError_t wrong = cudaErrorInvalidValue;
    tap_ok(per_lane_65536_launch_counted(x, y, NULL, 10, 0) == wrong &&
               per_lane_65536_launch_counted(NULL, y, n, 10, 0) == wrong &&
               per_lane_65536_launch_counted(x, NULL, n, 10, 0) == wrong &&
               per_lane_65536_launch_counted(x, y, n, SIZE_MAX, 0) == wrong && counts.untouched(),
           "counted on the device: wrong arguments");
}

// Between a view's rows, before and behind it nothing is written, so that simt reports who reads there.
template <class T, class C, class Bin, class Weight = one_each>
static bool view_is_right(const std::vector<T> &x, size_t at, size_t pitch, size_t rows,
                          size_t width, size_t bins,
                          cudaError_t (*launch)(const T *, size_t, size_t, size_t, C *,
                                                cudaStream_t),
                          Bin bin, Weight weight = Weight())
{
    const test_array counts(bins * sizeof(C), sizeof(C));
    std::vector<C> want(bins);
    T *room = NULL;
    CHECK(cudaMalloc((void **)&room,
                     (at + (rows > 0 ? (rows - 1) * pitch + width : 0) + 1) * sizeof(T)));
    for (size_t r = 0; r < rows && width > 0; r++)
        CHECK(cudaMemcpy(room + at + r * pitch, x.data() + r * width, width * sizeof(T),
                         cudaMemcpyHostToDevice));
    for (size_t i = 0; i < rows * width; i++)
        if (bin(x[i]) < (long long)bins)
            want[bin(x[i])] += (C)weight(x[i]);
    const bool ok = launch(room + at, pitch, rows, width, (C *)counts.get(), 0) == cudaSuccess &&
                    cudaDeviceSynchronize() == cudaSuccess && counts.holds(want) && counts.intact();
    CHECK(cudaFree(room));
    return ok;
}

static void check_view(void)
{
    static const size_t widths[] = {0,  1,  2,  3,  4,   7,   8,    15,  16,
                                    17, 31, 33, 64, 100, 257, 1021, 4099};
    bool ok = true;
    for (size_t w = 0; ok && w < sizeof(widths) / sizeof(*widths); w++)
        for (size_t k = 0; ok && k < 10; k++) {
            const size_t width = widths[w];
            const size_t rows = k == 0                   ? 0
                                : k == 8 && width == 257 ? 200 // several tiles for each block
                                                         : k * k * k * 20 / (width + 1) + 1;
            const size_t pitch = width + (k * 5 + w) % 19;
            std::vector<unsigned char> x(rows * width);
            std::vector<unsigned int> y(rows * width), z(rows * width);
            for (size_t i = 0; i < rows * width; i++) {
                x[i] = (unsigned char)test_random(w, i);
                y[i] = i % 8 == 3 ? 65535 : (unsigned int)test_random(w, i); // in no bin
                z[i] = (unsigned int)test_random(w, i / 19) % 128;
            }
            const char *const order = test_order((int)((w + k) % test_order_count()));
            ok = view_is_right(x, k, pitch, rows, width, 100, view_u8_launch_view, bin_byte) &&
                 view_is_right(
                     z, k, pitch, rows, width, 100, view_runs_launch_view,
                     [](unsigned int x) { return (long long)x; },
                     [](unsigned int x) { return (int)x - 50; }) &&
                 (k % 5 != 3 ||
                  view_is_right(y, k, pitch, rows, width, 65535, view_65535_launch_view, bin_word));
            if (!ok)
                tap_ok(0, "view: %zu rows of %zu, pitch %zu, offset %zu, %s", rows, width, pitch, k,
                       order);
        }
    test_order(0);
    if (ok)
        tap_ok(1, "view: right for rows of any width and pitch, at any alignment");
    const test_array in(400), counts(400);
    const unsigned char *const x = (unsigned char *)in.get();
    unsigned int *const y = (unsigned int *)counts.get();
    const cudaError_t wrong = cudaErrorInvalidValue;
    tap_ok(view_u8_launch_view(NULL, 20, 10, 20, y, 0) == wrong &&
               view_u8_launch_view(x, 19, 10, 20, y, 0) == wrong &&
               view_u8_launch_view(x, SIZE_MAX / 4, 10, 20, y, 0) == wrong &&
               view_u8_launch_view(x, 20, 10, 20, NULL, 0) == wrong &&
               view_u8_launch_view(x, 20, 10, 20, (unsigned int *)((char *)y + 1), 0) == wrong &&
               counts.untouched(),
           "view: wrong arguments");
}

#ifdef SIMT
static void check_too_many(void)
{
    const simt_kind kind = test_unready(8, 11, [](void *made) {
        CHECK(cudaMemset((char *)made + 4, 0, 4));
        return per_lane_65536_launch_counted((unsigned int *)test_zeros(40),
                                             (unsigned int *)test_zeros(65536 * 4),
                                             (unsigned long long *)made, 10, 0);
    });
    tap_ok(kind == SIMT_TRAP, "counted on the device: more than there is room for: %s",
           simt_kind_name(kind));
}
#endif

#endif

#ifdef SIMT

// ---- Counts -------------------------------------------------------------------------------------

// The case of the literature: N = 524288, 1024 threads a block, 128 bins.
#if TESTED(basic)
#define COARSEN_NAME basic_1024
#define COARSEN_TYPE int
#define NUM_BINS     128
#define BLOCK_DIM    1024
#include <coarsen/histogram/basic.h>
#endif
#if TESTED(private_global)
#define COARSEN_NAME private_global_1024
#define COARSEN_TYPE int
#define NUM_BINS     128
#define BLOCK_DIM    1024
#include <coarsen/histogram/private_global.h>
#endif
#if TESTED(private_shared)
#define COARSEN_NAME private_shared_1024
#define COARSEN_TYPE int
#define NUM_BINS     128
#define BLOCK_DIM    1024
#include <coarsen/histogram/private_shared.h>
#endif
#if TESTED(contiguous)
#define COARSEN_NAME contiguous_1024
#define COARSEN_TYPE int
#define NUM_BINS     128
#define BLOCK_DIM    1024
#define CFACTOR      4
#include <coarsen/histogram/contiguous.h>
#endif
#if TESTED(interleaved)
#define COARSEN_NAME interleaved_1024
#define COARSEN_TYPE int
#define NUM_BINS     128
#define BLOCK_DIM    1024
#define CFACTOR      4
#include <coarsen/histogram/interleaved.h>
#endif
#if TESTED(vectorized)
#define COARSEN_NAME vectorized_1024
#define COARSEN_TYPE int
#define NUM_BINS     128
#define BLOCK_DIM    1024
#define CFACTOR      1
#include <coarsen/histogram/vectorized.h>
#endif
#if TESTED(aggregated)
#define COARSEN_NAME aggregated_1024
#define COARSEN_TYPE int
#define NUM_BINS     128
#define BLOCK_DIM    1024
#define CFACTOR      1
#include <coarsen/histogram/aggregated.h>
#endif
#if TESTED(per_lane)
#define COARSEN_NAME per_lane_1024
#define COARSEN_TYPE int
#define NUM_BINS     128
#define BLOCK_DIM    1024
#define CFACTOR      1
#include <coarsen/histogram/per_lane.h>
#endif

static const size_t N = 524288;

static simt_counts count(const rung<int, unsigned int> &r, const std::vector<int> &x)
{
    simt_counts c;
    test_array in(N * 4), counts(r.bins * 4), scratch(r.scratch_bytes(N));
    in.fill(x.data());
    CHECK(r.launch((const int *)in.get(), (unsigned int *)counts.get(), N, scratch.get(),
                   scratch.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    simt_last_counts(&c);
    return c;
}

// The atomics of the copies' commit: the bins that each block met, `block(i)` being i's.
template <class Block>
static unsigned long long commits(const std::vector<int> &x, size_t blocks, Block block)
{
    std::vector<bool> met(blocks * 128);
    unsigned long long sum = 0;
    for (size_t i = 0; i < N; i++)
        if (!met[block(i) * 128 + x[i]])
            met[block(i) * 128 + x[i]] = true, sum++;
    return sum;
}

#if TESTED(aggregated)
// Aggregation as it is often drawn: a thread's elements are a grid apart, and so are the equal ones that it could add
// up in a register.
static __global__ void far_streaks(const int *in, unsigned int *counts, size_t n)
{
    __shared__ unsigned int copy[128];
    unsigned int streak = 0;
    int bin = 0;
    if (threadIdx.x < 128)
        copy[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * 1024 + threadIdx.x; i < n; i += (size_t)gridDim.x * 1024) {
        if (in[i] != bin && streak > 0)
            atomicAdd(&copy[bin], streak);
        streak = in[i] == bin ? streak + 1 : 1;
        bin = in[i];
    }
    if (streak > 0)
        atomicAdd(&copy[bin], streak);
    __syncthreads();
    if (threadIdx.x < 128 && copy[threadIdx.x] > 0)
        atomicAdd(&counts[threadIdx.x], copy[threadIdx.x]);
}

static cudaError_t far_streaks_launch(const int *in, unsigned int *counts, size_t n, void *, size_t,
                                      cudaStream_t)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(128);
    config.blockDim = dim3(1024);
    const cudaError_t status = cudaMemset(counts, 0, 128 * sizeof(*counts));
    return status != cudaSuccess ? status : cudaLaunchKernelEx(&config, far_streaks, in, counts, n);
}
#endif

// The figures of docs/counts.md and docs/errata.md.
static void check_counts(void)
{
    typedef unsigned long long u64;
    const char *const data[] = {"uniform", "runs of 64", "one value"};
    for (int d = 0; d < 3; d++) {
        std::vector<int> x(N);
        for (size_t i = 0; i < N; i++)
            x[i] = (int)(test_random(9, d == 0 ? i : d == 1 ? i / 64 : 0) % 128);
        const u64 by_1024 = commits(x, 512, [](size_t i) { return i / 1024; });
        const u64 by_4096 = commits(x, 128, [](size_t i) { return i / 4096; });
        const u64 by_rows = commits(x, 128, [](size_t i) { return i / 1024 % 128; });
        u64 runs = 0; // of the 4 neighbours that a thread counts
        for (size_t i = 0; i < N; i++)
            runs += i % 4 == 0 || x[i] != x[i - 1];

        const struct {
            const char *name;
            rung<int, unsigned int> r;
            u64 global, shared, requests;
        } table[] = {
#if TESTED(basic)
            {"basic", RUNG(basic_1024, int, unsigned int, 128), N, 0, N / 32},
#endif
#if TESTED(private_shared)
            {"private_shared", RUNG(private_shared_1024, int, unsigned int, 128), by_1024, N,
             N / 32},
#endif
#if TESTED(contiguous)
            {"contiguous", RUNG(contiguous_1024, int, unsigned int, 128), by_4096, N, N / 32 * 4},
#endif
#if TESTED(interleaved)
            {"interleaved", RUNG(interleaved_1024, int, unsigned int, 128), by_rows, N, N / 32},
#endif
#if TESTED(vectorized)
            {"vectorized", RUNG(vectorized_1024, int, unsigned int, 128), by_4096, N, N / 32},
#endif
#if TESTED(aggregated)
            {"aggregated", RUNG(aggregated_1024, int, unsigned int, 128), by_4096, runs, N / 32},
#endif
        };
        for (size_t t = 0; t < sizeof(table) / sizeof(*table); t++) {
            const simt_counts c = count(table[t].r, x);
            tap_ok(c.atomics_global == table[t].global && c.atomics_shared == table[t].shared &&
                       c.global_load_requests == table[t].requests,
                   "%s, %s: %llu global atomics (%llu), %llu shared (%llu), %llu load requests "
                   "(%llu)",
                   table[t].name, data[d], c.atomics_global, table[t].global, c.atomics_shared,
                   table[t].shared, c.global_load_requests, table[t].requests);
        }
        tap_ok(by_1024 <= 512 * 128 && by_4096 <= 128 * 128 && by_rows <= 128 * 128,
               "%s: no more than the literature's 65536 and 16384 atomics", data[d]);
#if TESTED(private_global)
        // Its first block's copy is the result, so it adds none.
        u64 met = 0;
        for (int b = 0; b < 128; b++)
            for (size_t i = 0; i < 1024; i++)
                if (x[i] == b) {
                    met++;
                    break;
                }
        const simt_counts global =
            count(WITH_SCRATCH(private_global_1024, int, unsigned int, 128), x);
        tap_ok(global.atomics_global == N + by_1024 - met && global.atomics_shared == 0,
               "private_global, %s: %llu global atomics (%llu)", data[d], global.atomics_global,
               N + by_1024 - met);
#endif
#if TESTED(aggregated)
        u64 far = 0; // streaks of elements that are a grid apart
        for (size_t i = 0; i < N; i++)
            far += i < 128 * 1024 || x[i] != x[i - 128 * 1024];
        rung<int, unsigned int> apart = RUNG(aggregated_1024, int, unsigned int, 128);
        apart.launch = far_streaks_launch;
        const simt_counts streaks = count(apart, x);
        tap_ok(streaks.atomics_shared == far && (d == 2 ? far == N / 4 : far > N / 100 * 99),
               "aggregated over elements a grid apart, %s: %llu shared atomics (%llu)", data[d],
               streaks.atomics_shared, far);
#endif
#if TESTED(vectorized)
        const simt_counts shared = count(RUNG(vectorized_1024, int, unsigned int, 128), x);
        tap_ok(d == 0 ? shared.shared_conflicts > N / 32 : shared.atomic_collisions > N / 2,
               "vectorized, %s: %llu of %llu shared atomics collide, %llu bank conflicts", data[d],
               shared.atomic_collisions, shared.atomics_shared, shared.shared_conflicts);
#endif
#if TESTED(per_lane)
        const simt_counts lanes = count(RUNG(per_lane_1024, int, unsigned int, 128), x);
        tap_ok(lanes.atomics_shared == N && lanes.atomic_collisions == 0 &&
                   lanes.shared_conflicts == 0,
               "per_lane, %s: %llu shared atomics, %llu collide, %llu bank conflicts", data[d],
               lanes.atomics_shared, lanes.atomic_collisions, lanes.shared_conflicts);
#endif
    }
}

#else

// ---- Only on a GPU ------------------------------------------------------------------------------

#define COARSEN_NAME  long_count
#define COARSEN_TYPE  unsigned char
#define NUM_BINS      256
#define COARSEN_COUNT unsigned long long
#include <coarsen/histogram.h>

// More than 2^32 elements, all but two of one value: 32-bit counts go on from 0, 64-bit ones hold it.
static void check_big(void)
{
    const size_t n = ((size_t)1 << 32) + 4099;
    if (!test_room("n > 2^32", n))
        return;
    const test_array in(n, 1);
    unsigned char *const x = (unsigned char *)in.get();
    CHECK(cudaMemset(x, 77, n));
    CHECK(cudaMemset(x, 3, 1));
    CHECK(cudaMemset(x + n - 1, 5, 1));
    const rung<unsigned char, unsigned int> rungs[] = {
        RUNG(contiguous_u8, unsigned char, unsigned int, 256),
        RUNG(interleaved_u8, unsigned char, unsigned int, 256),
        RUNG(vectorized_u8, unsigned char, unsigned int, 256),
        RUNG(aggregated_u8, unsigned char, unsigned int, 256),
        RUNG(per_lane_u8, unsigned char, unsigned int, 256)};
    for (size_t i = 0; i < sizeof(rungs) / sizeof(*rungs); i++) {
        test_array counts(256 * 4);
        std::vector<unsigned int> got(256);
        CHECK(rungs[i].launch(x, (unsigned int *)counts.get(), n, NULL, 0, 0));
        CHECK(cudaDeviceSynchronize());
        counts.read(got.data());
        tap_ok(got[77] == 4097 && got[3] == 1 && got[5] == 1 && got[0] == 0,
               "%s: n = 2^32 + 4099: %u, want 4097", rungs[i].name, got[77]);
    }
    test_array counts(256 * 8);
    std::vector<unsigned long long> got(256);
    CHECK(long_count_launch(x, (unsigned long long *)counts.get(), n, 0));
    CHECK(cudaDeviceSynchronize());
    counts.read(got.data());
    tap_ok(got[77] == n - 2 && got[3] == 1 && got[5] == 1 && got[0] == 0,
           "long_count: n = 2^32 + 4099: %llu, want %zu", got[77], n - 2);
}

static void check_graph(void)
{
    const size_t n = 1000003;
    std::vector<unsigned int> x(n), want(65536);
    for (size_t i = 0; i < n; i++) {
        x[i] = any_word(test_random(11, i));
        if (bin_word(x[i]) < 65536)
            want[bin_word(x[i])]++;
    }
    test_array in(n * 4), counts(65536 * 4);
    in.fill(x.data());
    const bool ok = test_graph(
        counts,
        [&](cudaStream_t stream) {
            CHECK(per_lane_65536_launch((unsigned int *)in.get(), (unsigned int *)counts.get(), n,
                                        stream));
        },
        [&] { return counts.holds(want); });
    tap_ok(ok, "a launch is captured in a graph and replayed");
}

// One graph, and another count in device memory at each replay.
static void check_counted_graph(void)
{
    const unsigned long long n[] = {1000003, 40000, 0};
    std::vector<unsigned int> x(n[0]);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = any_word(test_random(12, i));
    test_array in(x.size() * 4), counts(65536 * 4), count(8);
    in.fill(x.data());
    count.fill(&n[0]);
    int replay = 0;
    const bool ok = test_graph(
        counts,
        [&](cudaStream_t stream) {
            CHECK(per_lane_65536_launch_counted(
                (unsigned int *)in.get(), (unsigned int *)counts.get(),
                (unsigned long long *)count.get(), x.size(), stream));
        },
        [&] {
            std::vector<unsigned int> want(65536);
            for (size_t i = 0; i < n[replay]; i++)
                if (bin_word(x[i]) < 65536)
                    want[bin_word(x[i])]++;
            const bool right = counts.holds(want);
            if (++replay < 3)
                count.fill(&n[replay]);
            return right;
        });
    tap_ok(ok, "counted on the device: a graph takes the count that there is when it runs");
}

#endif

// ---- All of it ----------------------------------------------------------------------------------

int main(void)
{
    typedef unsigned char u8;
    typedef unsigned int u32;
    typedef unsigned long long u64;
    test_begin();

    const size_t most = 8193, all = 16411;
    auto any_colour = [](uint64_t bits) {
        return colour{(int)(bits & 255), (int)(bits >> 8 & 255), (int)(bits >> 16 & 255)};
    };
    auto bin_luma = [](colour c) { return (c.r * 77 + c.g * 150 + c.b * 29) / 256LL; };

#if TESTED(basic)
    check_errors(RUNG(basic_i32, int, u64, 100));
    check(RUNG(basic_u8, u8, u32, 256), most, any_byte, bin_byte);
    check(RUNG(basic_i32, int, u64, 100), most, any_int, bin_int);
    check(RUNG(basic_pointer, const float *, u32, 64), most, any_pointer, bin_pointer);
    check(RUNG(basic_65536, u32, u32, 65536), most, any_word, bin_word);
#endif
#if TESTED(private_global)
    check_errors(WITH_SCRATCH(private_global_i32, int, u64, 100));
    check(WITH_SCRATCH(private_global_u8, u8, u32, 256), most, any_byte, bin_byte);
    check(WITH_SCRATCH(private_global_i32, int, u64, 100), most, any_int, bin_int);
#endif
#if TESTED(private_shared)
    check_errors(RUNG(private_shared_i32, int, u64, 100));
    check(RUNG(private_shared_u8, u8, u32, 256), most, any_byte, bin_byte);
    check(RUNG(private_shared_i32, int, u64, 100), most, any_int, bin_int);
#endif
#if TESTED(contiguous)
    check_errors(RUNG(contiguous_i32, int, u64, 100));
    check(RUNG(contiguous_u8, u8, u32, 256), most, any_byte, bin_byte);
    check(RUNG(contiguous_i32, int, u64, 100), most, any_int, bin_int);
#endif
#if TESTED(interleaved)
    check_errors(RUNG(interleaved_i32, int, u64, 100));
    check(RUNG(interleaved_u8, u8, u32, 256), most, any_byte, bin_byte);
    check(RUNG(interleaved_i32, int, u64, 100), most, any_int, bin_int);
#endif
#if TESTED(vectorized)
    check_errors(RUNG(vectorized_i32, int, u64, 100));
    check(RUNG(vectorized_u8, u8, u32, 256), all, any_byte, bin_byte);
    check(RUNG(vectorized_i32, int, u64, 100), all, any_int, bin_int);
    check(RUNG(vectorized_most, int, u32, 100), most, any_int, bin_int);
    check(RUNG(vectorized_colour, colour, u32, 256), most, any_colour, bin_luma);
#endif
#if TESTED(aggregated)
    check_errors(RUNG(aggregated_i32, int, u64, 100));
    check(RUNG(aggregated_u8, u8, u32, 256), all, any_byte, bin_byte);
    check(RUNG(aggregated_i32, int, u64, 100), all, any_int, bin_int);
    check(RUNG(aggregated_f32, float, u32, 256), all, any_float, bin_even);
    check(RUNG(aggregated_most, int, u32, 100), most, any_int, bin_int);
#endif
#if TESTED(per_lane)
    check_errors(fixed_blocks(RUNG(per_lane_i32, int, u64, 100)));
    check_errors(fixed_blocks(RUNG(per_lane_200003, u32, u64, 200003)));
    check(RUNG(per_lane_u8, u8, u32, 256), all, any_byte, bin_byte);
    check(RUNG(per_lane_i32, int, u64, 100), all, any_int, bin_int);
    check(RUNG(per_lane_20000, u32, u32, 20000), most, any_word, bin_word);
    check(RUNG(per_lane_65536, u32, u32, 65536), most, any_word, bin_word);
    check(
        RUNG(per_lane_200003, u32, u64, 200003), most,
        [](uint64_t bits) { return (u32)(bits % 5 == 0 ? 200002 + bits / 5 % 3 : bits); },
        bin_word); // many in the last bin, and past it
    check_errors(fixed_blocks(RUNG(weighted_f64, u32, double, 65536)));
    check(RUNG(weighted_i32, short, int, 201), most, any_short, bin_short,
          [](short x) { return x - x / 5 * 5 - 2; });
    check(COUNTED(weighted_i32, short, int, 201), most, any_short, bin_short,
          [](short x) { return x - x / 5 * 5 - 2; });
    check(COUNTED(per_lane_65536, u32, u32, 65536), most, any_word, bin_word);
    check_counted_errors();
    check_view();
    check(RUNG(weighted_u64, u32, u64, 10000), most, any_word, bin_word,
          [](u32 x) { return (u64)x * 0x200000; });
    check(RUNG(weighted_f32, colour, float, 256), all, any_colour, bin_luma,
          [](colour c) { return c.r - c.b; });
    check(RUNG(weighted_f64, u32, double, 65536), most, any_word, bin_word,
          [](u32 x) { return (x >> 24) / 2.0; });
    check(RUNG(weighted_u32, u8, u32, 37), all, any_byte, bin_byte, [](u8 x) { return x / 3; });
    check(
        RUNG(histogram_u64, u64, u32, 1000), most,
        [](uint64_t bits) {
            return (u64)(bits % 5 == 0 ? bits % 1200 << 32 | bits % 999 : bits % 1200);
        },
        [](u64 x) { return x < 1000 ? (long long)x : -1; });
#ifndef TEST_FIRST
    check_errors(fixed_blocks(RUNG(histogram_f32, float, u32, 256)));
    check(RUNG(per_lane_most, int, u32, 100), most, any_int, bin_int);
    check(
        RUNG(per_lane_1, int, u32, 1), all, [](uint64_t bits) { return (int)bits; },
        [](int x) { return x % 2 == 0 ? 0LL : -1LL; });
    check(RUNG(per_lane_37, u8, u32, 37), all, any_byte, bin_byte);
    check(RUNG(per_lane_512, short, u32, 512), most, any_short, bin_short);
    check(RUNG(per_lane_16384, u32, u32, 16384), most, any_word, bin_word);
    check(RUNG(per_lane_201, short, u32, 201), most, any_short, bin_short);
    check(RUNG(per_lane_509, short, u32, 509), most, any_short, bin_short);
    check(RUNG(per_lane_1000, short, u32, 1000), most, any_short, bin_short);
    check(RUNG(histogram_f32, float, u32, 256), all, any_float, bin_even);
    check(RUNG(histogram_ranges, float, u32, 4), all, any_float, bin_ranges);
    check(RUNG(histogram_pointer, const float *, u32, 64), most, any_pointer, bin_pointer);
    check(RUNG(histogram_colour, colour, u32, 256), most, any_colour, bin_luma);
#endif
#endif

#if TESTED(partitioned)
    check_errors(WITH_SCRATCH(partitioned_i32, int, u64, 100));
    check_errors(WITH_SCRATCH(partitioned_200003, u32, u64, 200003));
    check(WITH_SCRATCH(partitioned_u8, u8, u32, 256), all, any_byte, bin_byte);
    check(WITH_SCRATCH(partitioned_i32, int, u64, 100), all, any_int, bin_int);
    check(WITH_SCRATCH(partitioned_20000, u32, u32, 20000), all, any_word, bin_word);
    check(WITH_SCRATCH(partitioned_65536, u32, u32, 65536), most, any_word, bin_word);
    check(WITH_SCRATCH(partitioned_200003, u32, u64, 200003), most, any_word, bin_word);
#ifndef TEST_FIRST
    check(WITH_SCRATCH(partitioned_16, u32, u32, 150000), 1025, any_word, bin_word);
    check(WITH_SCRATCH(partitioned_8, u32, u32, 300000), 1025, any_word, bin_word);
    check(WITH_SCRATCH(partitioned_2, u32, u32, 1100000), 1025, any_word,
          [](u32 x) { return (long long)x - x / 1300000 * 1300000LL; });
    check(
        WITH_SCRATCH(partitioned_1, int, u32, 1), all, [](uint64_t bits) { return (int)bits; },
        [](int x) { return x % 2 == 0 ? 0LL : -1LL; });
    check(WITH_SCRATCH(partitioned_f32, float, u32, 256), all, any_float, bin_even);
    check(WITH_SCRATCH(partitioned_colour, colour, u32, 256), most, any_colour, bin_luma);
#endif
#endif

#ifdef SIMT
#if TESTED(per_lane)
    check_too_many();
#endif
    check_counts();
#else
    check_graph();
    check_counted_graph();
    check_big();
#endif
    return tap_done();
}
