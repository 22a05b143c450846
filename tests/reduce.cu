// SPDX-License-Identifier: MIT
//
// Every rung of the reduction: right at every boundary, for every operator and type, at any
// alignment, in any order of blocks; and what it promises of errors, scratch and counts.

#include "device.h"
#include "operators.h"

#include <algorithm>
#include <limits>

// ---- The inclusions -----------------------------------------------------------------------------

#define COARSEN_NAME f32_at
#define COARSEN_TYPE float
#include <coarsen/arg.h>

#if TESTED(simple)

#define COARSEN_NAME simple_i32
#define COARSEN_TYPE int
#define BLOCK_DIM    64
#include <coarsen/reduce/simple.h>

#define COARSEN_NAME simple_f32
#define COARSEN_TYPE float
#define BLOCK_DIM    128
#include <coarsen/reduce/simple.h>

#define COARSEN_NAME simple_1024
#define COARSEN_TYPE float
#include <coarsen/reduce/simple.h>

#define COARSEN_NAME     simple_affine
#define COARSEN_TYPE     affine
#define COARSEN_OP       affine_then
#define COARSEN_IDENTITY (affine{1, 0})
#define BLOCK_DIM        96
#include <coarsen/reduce/simple.h>

#define COARSEN_NAME     simple_counter
#define COARSEN_TYPE     counter
#define COARSEN_OP       counter_add
#define COARSEN_IDENTITY counter(0, 0)
#define BLOCK_DIM        64
#include <coarsen/reduce/simple.h>

#endif

#if TESTED(convergent)

#define COARSEN_NAME convergent_i32
#define COARSEN_TYPE int
#define BLOCK_DIM    64
#include <coarsen/reduce/convergent.h>

#define COARSEN_NAME convergent_f32
#define COARSEN_TYPE float
#define BLOCK_DIM    128
#include <coarsen/reduce/convergent.h>

#define COARSEN_NAME convergent_1024
#define COARSEN_TYPE float
#include <coarsen/reduce/convergent.h>

#define COARSEN_NAME     max_i32
#define COARSEN_TYPE     int
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(int)
#include <coarsen/reduce/convergent.h>

#define COARSEN_NAME     convergent_counter
#define COARSEN_TYPE     counter
#define COARSEN_OP       counter_add
#define COARSEN_IDENTITY counter(0, 0)
#define BLOCK_DIM        64
#include <coarsen/reduce/convergent.h>

#endif

#if TESTED(shared)

#define COARSEN_NAME shared_i32
#define COARSEN_TYPE int
#define BLOCK_DIM    96
#include <coarsen/reduce/shared.h>

#define COARSEN_NAME shared_f32
#define COARSEN_TYPE float
#define BLOCK_DIM    128
#include <coarsen/reduce/shared.h>

#define COARSEN_NAME shared_1024
#define COARSEN_TYPE float
#include <coarsen/reduce/shared.h>

#define COARSEN_NAME       shared_lift
#define COARSEN_TYPE       short
#define COARSEN_ACC        long long
#define COARSEN_LIFT(x, i) ((long long)(x) * (x) + (long long)(i))
#define BLOCK_DIM          64
#include <coarsen/reduce/shared.h>

#define COARSEN_NAME     min_i64
#define COARSEN_TYPE     long long
#define COARSEN_OP       COARSEN_MIN
#define COARSEN_IDENTITY COARSEN_GREATEST(long long)
#include <coarsen/reduce/shared.h>

#define COARSEN_NAME       shared_counter
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter(x, 1)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#include <coarsen/reduce/shared.h>

#endif

#if TESTED(multiblock)

#define COARSEN_NAME multiblock_i32
#define COARSEN_TYPE int
#define BLOCK_DIM    32
#include <coarsen/reduce/multiblock.h>

#define COARSEN_NAME         multiblock_f32
#define COARSEN_TYPE         float
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#define BLOCK_DIM            96
#include <coarsen/reduce/multiblock.h>

#define COARSEN_NAME       multiblock_counter
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter(x, 1)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#include <coarsen/reduce/multiblock.h>

#define COARSEN_NAME     multiblock_same // of an operator that looks at one side, all elements being 7
#define COARSEN_TYPE     int
#define COARSEN_OP(a, b) (b)
#define COARSEN_IDENTITY 7
#define BLOCK_DIM        64
#include <coarsen/reduce/multiblock.h>

#endif

#if TESTED(coarsened)

#define COARSEN_NAME  coarsened_i32
#define COARSEN_TYPE  int
#define BLOCK_DIM     64
#define COARSE_FACTOR 3
#include <coarsen/reduce/coarsened.h>

#define COARSEN_NAME         coarsened_f32
#define COARSEN_TYPE         float
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/coarsened.h>

#define COARSEN_NAME     max_f32
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#include <coarsen/reduce/coarsened.h>

#define COARSEN_NAME     xor_u32
#define COARSEN_TYPE     unsigned int
#define COARSEN_OP(a, b) ((a) ^ (b))
#define COARSEN_IDENTITY 0u
#define COARSEN_ATOMIC   atomicXor
#define BLOCK_DIM        64
#include <coarsen/reduce/coarsened.h>

#define COARSEN_NAME       coarsened_counter
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter(x, 1)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#include <coarsen/reduce/coarsened.h>

#endif

#if TESTED(single_pass)

#define COARSEN_NAME  single_i32
#define COARSEN_TYPE  int
#define BLOCK_DIM     32
#define COARSE_FACTOR 1
#include <coarsen/reduce/single_pass.h>

#define COARSEN_NAME  single_f32
#define COARSEN_TYPE  float
#define BLOCK_DIM     96
#define COARSE_FACTOR 6
#include <coarsen/reduce/single_pass.h>

#define COARSEN_NAME reduce_f32
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

#define COARSEN_NAME sum_u8
#define COARSEN_TYPE unsigned char
#define COARSEN_ACC  unsigned long long
#define BLOCK_DIM    64
#include <coarsen/reduce.h>

#define COARSEN_NAME    counted_f32
#define COARSEN_TYPE    float
#define COARSEN_COUNTED 1
#define BLOCK_DIM       64
#include <coarsen/reduce.h>

#define COARSEN_NAME                                                                               \
    counted_16 // fewer vectors a thread where all multiprocessors hold the array at once
#define COARSEN_TYPE    float
#define COARSEN_COUNTED 1
#define BLOCK_DIM       32
#define COARSE_FACTOR   16
#include <coarsen/reduce.h>

#define COARSEN_NAME       fixed_f32
#define COARSEN_TYPE       float
#define COARSEN_FIXED_TREE 1
#define COARSEN_COUNTED    1
#include <coarsen/reduce.h>

#define COARSEN_NAME       fixed_short // of less than a word, by index
#define COARSEN_TYPE       short
#define COARSEN_ACC        float
#define COARSEN_LIFT(x, i) ((float)((size_t)(unsigned short)(x) ^ (i) % 8191) / 3)
#define COARSEN_FIXED_TREE 1
#define BLOCK_DIM          64
#define COARSE_FACTOR      3
#include <coarsen/reduce.h>

#define COARSEN_NAME       fixed_f64 // of more tiles than blocks
#define COARSEN_TYPE       double
#define COARSEN_FIXED_TREE 1
#define BLOCK_DIM          1024
#define COARSE_FACTOR      1
#include <coarsen/reduce.h>

#define COARSEN_NAME     min_f32
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MIN
#define COARSEN_IDENTITY COARSEN_GREATEST(float)
#define BLOCK_DIM        64
#include <coarsen/reduce.h>

#define COARSEN_NAME       squares_i32
#define COARSEN_TYPE       short
#define COARSEN_ACC        long long
#define COARSEN_LIFT(x, i) ((long long)(x) * (x) + (long long)(i))
#define BLOCK_DIM          64
#include <coarsen/reduce.h>

#ifndef TEST_FIRST

#define COARSEN_NAME reduce_f64
#define COARSEN_TYPE double
#define BLOCK_DIM    64
#include <coarsen/reduce.h>

#define COARSEN_NAME reduce_i64
#define COARSEN_TYPE long long
#define BLOCK_DIM    64
#include <coarsen/reduce.h>

#define COARSEN_NAME reduce_u64
#define COARSEN_TYPE unsigned long long
#define BLOCK_DIM    64
#include <coarsen/reduce.h>

__extension__ typedef __int128 wide_integer; // which no sum of 64-bit integers overflows

#define COARSEN_NAME wide_i64
#define COARSEN_TYPE long long
#define COARSEN_ACC  wide_integer
#define BLOCK_DIM    64
#include <coarsen/reduce.h>

#define COARSEN_NAME reduce_u32
#define COARSEN_TYPE unsigned int
#define BLOCK_DIM    64
#include <coarsen/reduce.h>

#define COARSEN_NAME     reduce_triple
#define COARSEN_TYPE     triple
#define COARSEN_OP       triple_add
#define COARSEN_IDENTITY (triple{0, 0, 0})
#define BLOCK_DIM        64
#include <coarsen/reduce.h>

#define COARSEN_NAME       single_counter
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter(x, 1)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#include <coarsen/reduce/single_pass.h>

#define COARSEN_NAME     single_same // of an operator that looks at one side, all elements being 7
#define COARSEN_TYPE     int
#define COARSEN_OP(a, b) (b)
#define COARSEN_IDENTITY 7
#define BLOCK_DIM        64
#include <coarsen/reduce/single_pass.h>

#define COARSEN_NAME    argmax_byte // whose index ends at 255
#define COARSEN_TYPE    short
#define COARSEN_ARGMAX  unsigned char
#define COARSEN_COUNTED 1
#define COARSEN_VIEW    1
#define BLOCK_DIM       64
#include <coarsen/reduce.h>

#define COARSEN_NAME   argmin_byte // and at 127
#define COARSEN_TYPE   short
#define COARSEN_ARGMIN signed char
#define BLOCK_DIM      64
#include <coarsen/reduce.h>

#define COARSEN_NAME     least_pointer
#define COARSEN_TYPE     float *
#define COARSEN_OP       COARSEN_MIN
#define COARSEN_IDENTITY ((float *)~(size_t)0)
#define BLOCK_DIM        64
#include <coarsen/reduce.h>

#endif

#ifndef SIMT
#include <cuda_fp16.h>
#define COARSEN_NAME sum_f16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#include <coarsen/reduce.h>
#endif

#endif

#if TESTED(single_pass) || TESTED(view)

#define COARSEN_NAME       view_short // small elements, and their index
#define COARSEN_TYPE       short
#define COARSEN_ACC        long long
#define COARSEN_LIFT(x, i) ((long long)(x) * (x) + 7 * (long long)(i))
#define COARSEN_VIEW       1
#define BLOCK_DIM          64
#define COARSE_FACTOR      3
#include <coarsen/reduce.h>

#define COARSEN_NAME       view_triple // no vectors, and many tiles
#define COARSEN_TYPE       triple
#define COARSEN_LIFT(x, i) triple_add(x, triple{(unsigned int)(i), 0, 0})
#define COARSEN_OP         triple_add
#define COARSEN_IDENTITY   (triple{0, 0, 0})
#define COARSEN_VIEW       1
#define BLOCK_DIM          32
#include <coarsen/reduce.h>

#define COARSEN_NAME       view_byte // with pieces of 4
#define COARSEN_TYPE       unsigned char
#define COARSEN_ACC        unsigned long long
#define COARSEN_LIFT(x, i) ((unsigned long long)(x) * (x) + 3 * (unsigned long long)(i))
#define COARSEN_VIEW       1
#define BLOCK_DIM          64
#define COARSE_FACTOR      2
#include <coarsen/reduce.h>

#define COARSEN_NAME       view_fixed
#define COARSEN_TYPE       float
#define COARSEN_FIXED_TREE 1
#define COARSEN_VIEW       1
#define BLOCK_DIM          128
#include <coarsen/reduce.h>

#endif

#if TESTED(last_block)

#define COARSEN_NAME  last_i32
#define COARSEN_TYPE  int
#define BLOCK_DIM     32
#define COARSE_FACTOR 1
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME  last_f32
#define COARSEN_TYPE  float
#define BLOCK_DIM     96
#define COARSE_FACTOR 3
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME last_256
#define COARSEN_TYPE float
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME last_u8
#define COARSEN_TYPE unsigned char
#define COARSEN_ACC  unsigned long long
#define BLOCK_DIM    64
#include <coarsen/reduce/last_block.h>

#ifndef TEST_FIRST

#define COARSEN_NAME     last_max
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#define BLOCK_DIM        32
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME       last_squares
#define COARSEN_TYPE       short
#define COARSEN_ACC        long long
#define COARSEN_LIFT(x, i) ((long long)(x) * (x) + (long long)(i))
#define BLOCK_DIM          64
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME     last_triple
#define COARSEN_TYPE     triple
#define COARSEN_OP       triple_add
#define COARSEN_IDENTITY (triple{0, 0, 0})
#define BLOCK_DIM        64
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME       last_counter
#define COARSEN_TYPE       unsigned short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter(x, 1)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME     last_same // of an operator that looks at one side, all elements being 7
#define COARSEN_TYPE     int
#define COARSEN_OP(a, b) (b)
#define COARSEN_IDENTITY 7
#define BLOCK_DIM        64
#include <coarsen/reduce/last_block.h>

#endif

#endif

#if TESTED(arg)

#define COARSEN_NAME     argmax_f32
#define COARSEN_TYPE     float
#define COARSEN_ACC      f32_at
#define COARSEN_LIFT     f32_at_lift
#define COARSEN_OP       f32_at_max
#define COARSEN_IDENTITY f32_at_none()
#define BLOCK_DIM        64
#include <coarsen/reduce.h>

#define COARSEN_NAME   argmax_short
#define COARSEN_TYPE   short
#define COARSEN_ARGMAX int
#define BLOCK_DIM      64
#include <coarsen/reduce.h>

#define COARSEN_NAME   argmin_f64
#define COARSEN_TYPE   double
#define COARSEN_ARGMIN unsigned short
#define BLOCK_DIM      32
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME     argmin_f32
#define COARSEN_TYPE     float
#define COARSEN_ACC      f32_at
#define COARSEN_LIFT     f32_at_lift
#define COARSEN_OP       f32_at_min
#define COARSEN_IDENTITY f32_at_none()
#define BLOCK_DIM        64
#include <coarsen/reduce/multiblock.h>

#endif

// ---- Running one --------------------------------------------------------------------------------

template <class T, class A> struct rung {
    const char *name;
    size_t (*scratch_bytes)(size_t);
    cudaError_t (*launch)(const T *, A *, size_t, void *, size_t, cudaStream_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t); // null: scratch may hold anything
};
#define RUNG(name, T, A) (rung<T, A>{#name, name##_scratch_bytes, name##_launch, NULL})
#define READY(name, T, A)                                                                          \
    (rung<T, A>{#name, name##_scratch_bytes, name##_launch, name##_scratch_init})

// Rungs that work in place take T *; the harness gives every launch an array of its own.
#define IN_PLACE(name, T)                                                                          \
    (rung<T, T>{#name, name##_scratch_bytes,                                                       \
                [](const T *in, T *out, size_t n, void *scratch, size_t bytes, cudaStream_t s) {   \
                    return name##_launch((T *)in, out, n, scratch, bytes, s);                      \
                },                                                                                 \
                NULL})

template <class T, class A> struct launched {
    cudaError_t status;
    A result;
    bool clean; // guards intact, and scratch as promised
};

// `times` launches in a row on the same scratch; the result is the last one's.
template <class T, class A>
static launched<T, A> run(const rung<T, A> &r, const std::vector<T> &x, size_t offset,
                          int times = 1)
{
    const size_t n = x.size();
    test_array in(n * sizeof(T), offset * sizeof(T)), out(sizeof(A), 16);
    test_array scratch(r.scratch_bytes(n));
    launched<T, A> got;
    memset((void *)&got, 0, sizeof(got));
    got.status = r.scratch_init ? r.scratch_init(scratch.get(), scratch.bytes, 0) : cudaSuccess;
    for (int i = 0; i < times && got.status == cudaSuccess; i++) {
        if (n > 0)
            in.fill(x.data());
        got.status =
            r.launch((const T *)in.get(), (A *)out.get(), n, scratch.get(), scratch.bytes, 0);
    }
    if (got.status == cudaSuccess)
        got.status = cudaDeviceSynchronize();
    if (got.status == cudaSuccess)
        out.read(&got.result);
    got.clean = in.intact() && out.intact() && scratch.intact();
    return got;
}

static bool same(double a, double b)
{
    return a == b || (a != a && b != b);
}
static bool same(float a, float b)
{
    return same((double)a, (double)b);
}
static bool same(f32_at a, f32_at b)
{
    return a.index == b.index && (a.index == SIZE_MAX || same(a.value, b.value));
}
#if TESTED(arg)
static bool same(argmax_short_at a, argmax_short_at b)
{
    return a.index == b.index && (a.index == -1 || a.value == b.value);
}
static bool same(argmin_f64_at a, argmin_f64_at b)
{
    return a.index == b.index && (a.index == 0xffff || same(a.value, b.value));
}
#endif
template <class T> static bool same(T a, T b)
{
    return a == b;
}

static const size_t sizes[] = {
    0,    1,    2,    3,    31,   32,   33,   63,   64,   65,   95,   96,   97,    127,  128, 129,
    191,  192,  193,  255,  256,  257,  383,  384,  385,  511,  512,  513,  767,   768,  769, 997,
    1023, 1024, 1025, 2047, 2048, 2049, 3071, 3073, 4096, 4099, 8191, 8193, 16411, 40009};

// One test: the rung against `expected`, at every size up to `most`, alignment and order of blocks.
template <class T, class A, class Make, class Expected>
static void check(const rung<T, A> &r, size_t most, Make make, Expected expected)
{
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes) && sizes[s] <= most; s++) {
        const size_t n = sizes[s];
        std::vector<T> x(n);
        for (size_t i = 0; i < n; i++)
            x[i] = make(test_random(n, i));
        const A want = expected(x);
        // Every order at a few sizes, one of them in turn at the others.
        for (int k = 0; k < test_order_count(); k++) {
            if (n % 64 != 1 && k != (int)(s % test_order_count()))
                continue;
            const char *order = test_order(k);
            const size_t offset = (n + k) % 5;
            const launched<T, A> got = run(r, x, offset, 2);
            if (got.status != cudaSuccess || !got.clean || !same(got.result, want)) {
                tap_ok(0, "%s: n = %zu, offset %zu, %s: %s%s", r.name, n, offset, order,
                       got.status != cudaSuccess ? cudaGetErrorString(got.status) : "wrong result",
                       got.clean ? "" : ", wrote outside its arrays");
                return;
            }
        }
    }
    test_order(0);
    tap_ok(1, "%s: right at every size up to %zu", r.name, most);
}

// Sums of these are exact in float, so that one element lost or doubled shows.

template <class A> struct sum_of {
    template <class T> A operator()(const std::vector<T> &x) const
    {
        A sum = 0;
        for (size_t i = 0; i < x.size(); i++)
            sum = (A)(sum + (A)x[i]);
        return sum;
    }
};

// Integer sums wrap, and the reference with them.
struct wrapped_sum {
    int operator()(const std::vector<int> &x) const
    {
        unsigned int sum = 0;
        for (size_t i = 0; i < x.size(); i++)
            sum += (unsigned int)x[i];
        return (int)sum;
    }
};

// As NumPy's argmax and argmin: the first of equals, the first NaN before all.
template <int SIGN> struct first_best {
    f32_at operator()(const std::vector<float> &x) const
    {
        f32_at best = f32_at_none();
        for (size_t i = 0; i < x.size(); i++)
            if (i == 0 ||
                (best.value == best.value && (x[i] != x[i] || SIGN * x[i] > SIGN * best.value)))
                best = f32_at{x[i], i};
        return best;
    }
};

template <int SIGN> struct best_value {
    template <class T> T operator()(const std::vector<T> &x) const
    {
        typedef std::numeric_limits<T> limits;
        const T least = limits::has_infinity ? -limits::infinity() : limits::lowest();
        const T most = limits::has_infinity ? limits::infinity() : limits::max();
        T best = SIGN > 0 ? least : most;
        for (size_t i = 0; i < x.size(); i++)
            if (x[i] != x[i] || (best == best && (SIGN > 0 ? x[i] > best : x[i] < best)))
                best = x[i];
        return best;
    }
};

static float coarse_float(uint64_t bits) // many ties, some infinities
{
    const int v = (int)(bits % 41) - 20;
    return v == 20 && bits % 1021 < 3 ? INFINITY : (float)v;
}
static float nan_float(uint64_t bits)
{
    return bits % 211 == 0 ? NAN : coarse_float(bits >> 8);
}

// ---- What is promised of errors -----------------------------------------------------------------

template <class T, class A> static void check_errors(const rung<T, A> &r)
{
    const size_t n = 100000, bytes = r.scratch_bytes(n);
    test_array in(n * sizeof(T)), out(sizeof(A)), scratch(bytes);
    const T *const x = (const T *)in.get();
    A *const y = (A *)out.get();
    const T *const odd = (const T *)((const char *)x + 1);
    bool ok = true;
    ok &= r.launch(NULL, y, n, scratch.get(), bytes, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, NULL, n, scratch.get(), bytes, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, (A *)((char *)y + 1), n, scratch.get(), bytes, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, y, SIZE_MAX / sizeof(T), scratch.get(), SIZE_MAX, 0) == cudaErrorInvalidValue;
    ok &= r.launch(x, y, SIZE_MAX, scratch.get(), bytes, 0) == cudaErrorInvalidValue;
    if (sizeof(T) > 1)
        ok &= r.launch(odd, y, n, scratch.get(), bytes, 0) == cudaErrorInvalidValue;
    if (bytes > 0) {
        ok &= r.launch(x, y, n, NULL, bytes, 0) == cudaErrorInvalidValue;
        ok &= r.launch(x, y, n, scratch.get(), bytes - 1, 0) == cudaErrorInvalidValue;
        ok &= r.launch(x, y, n, scratch.get(), 0, 0) == cudaErrorInvalidValue;
        ok &= r.launch(x, y, n, (char *)scratch.get() + 1, bytes, 0) == cudaErrorInvalidValue;
    }
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", r.name);
    tap_ok(in.untouched() && out.untouched() && scratch.untouched(),
           "%s: wrong arguments write nothing", r.name);
    for (size_t m = 1; m <= n; m = m * 3 / 2 + 1)
        ok &= r.scratch_bytes(m) <= bytes;
    ok &= r.scratch_bytes(SIZE_MAX) >= bytes;
    tap_ok(ok, "%s: scratch for n is enough for less", r.name);
}

// ---- What is promised beyond the result ---------------------------------------------------------

static void check_same_bits(const rung<float, float> &r)
{
    std::vector<float> x(40009);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (float)((double)(int64_t)test_random(7, i) * 1e-19);
    double exact = 0, magnitude = 0;
    for (size_t i = 0; i < x.size(); i++)
        exact += x[i], magnitude += fabs((double)x[i]);
    bool ok = true;
    float first = 0;
    for (int k = 0; k < 6; k++) {
        test_order(k % test_order_count());
        const launched<float, float> got = run(r, x, 0, 1);
        ok &= got.status == cudaSuccess && (k == 0 || memcmp(&got.result, &first, 4) == 0);
        first = got.result;
    }
    test_order(0);
    tap_ok(ok, "%s: the same bits on every run, in every order of blocks", r.name);
    // Each thread adds a run of its own and the tree adds the threads: the error grows with the
    // depth, some 32 additions here, not with n.
    tap_ok(fabs(first - exact) <= 32 * 0x1p-24 * magnitude, "%s: rounding error %.3g of %.3g",
           r.name, fabs(first - exact), 32 * 0x1p-24 * magnitude);
}

// Any number of multiprocessors, which simt has as it is told, and any alignment give the same bits; and simt and every
// GPU those that are written here.
template <class T, class A, class Make>
static void check_fixed_tree(const rung<T, A> &r, size_t n, size_t offsets, Make make, A golden)
{
    std::vector<T> x(n);
    for (size_t i = 0; i < n; i++)
        x[i] = make(test_random(7, i));
    bool ok = true;
    A first = 0;
    for (size_t offset = 0; offset < offsets; offset++) {
#ifdef SIMT
        simt_config config = simt_get_config();
        const simt_config before = config;
        const unsigned int processors[] = {132, 1, 4};
        config.processors = processors[offset % 3];
        simt_set_config(&config);
#endif
        const launched<T, A> got = run(r, x, offset, 1);
#ifdef SIMT
        simt_set_config(&before);
#endif
        if (offset == 0)
            first = got.result;
        ok &=
            got.status == cudaSuccess && got.clean && memcmp(&got.result, &golden, sizeof(A)) == 0;
    }
    tap_ok(ok, "%s: n = %zu: %a, on any device and at any alignment %a", r.name, n, (double)first,
           (double)golden);
}

// With n in device memory, and room for as much or more: the bits that it gives from the host.
typedef cudaError_t counted_launch(const float *, float *, const unsigned long long *, size_t,
                                   void *, size_t, cudaStream_t);

static void check_counted(const rung<float, float> &r, counted_launch *launch_counted)
{
    bool ok = true;
    const size_t room = 40009 * 3, bytes = r.scratch_bytes(room);
    std::vector<float> x(40009);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (float)((double)(int64_t)test_random(7, i) * 1e-19);
    const test_array scratch(bytes), count(8);
    CHECK(r.scratch_init(scratch.get(), bytes, 0));
    for (size_t s = 0; ok && s < sizeof(sizes) / sizeof(*sizes); s++) {
        const unsigned long long n = sizes[s];
        const size_t most = s % 3 == 0 ? n : s % 3 == 1 ? n + 1000 : room;
        const test_array in(room * 4, s % 5 * 4), out(4), other(4);
        float want = 0, got = 0;
        CHECK(cudaMemcpy(in.get(), x.data(), n * 4, cudaMemcpyHostToDevice));
        count.fill(&n);
        const char *const order = test_order((int)(s % test_order_count()));
        CHECK(r.launch((float *)in.get(), (float *)out.get(), n, scratch.get(), bytes, 0));
        const cudaError_t status =
            launch_counted((float *)in.get(), (float *)other.get(),
                           (const unsigned long long *)count.get(), most, scratch.get(), bytes, 0);
        CHECK(cudaDeviceSynchronize());
        out.read(&want);
        other.read(&got);
        ok = status == cudaSuccess && memcmp(&got, &want, 4) == 0 && other.intact() &&
             scratch.intact();
        if (!ok)
            tap_ok(0, "%s: %llu of %zu, counted on the device, %s: %a, not %a", r.name, n, most,
                   order, got, want);
    }
    test_order(0);
    if (ok)
        tap_ok(1, "%s: counted on the device: the same bits as counted by the host", r.name);
    const test_array in(4), out(4);
    const unsigned long long *const n = (unsigned long long *)count.get();
    const float *const from = (float *)in.get();
    float *const to = (float *)out.get();
    const cudaError_t wrong = cudaErrorInvalidValue;
    tap_ok(launch_counted(from, to, NULL, 1, scratch.get(), bytes, 0) == wrong &&
               launch_counted(NULL, to, n, 1, scratch.get(), bytes, 0) == wrong &&
               launch_counted(from, NULL, n, 1, scratch.get(), bytes, 0) == wrong &&
               launch_counted(from, to, n, SIZE_MAX, scratch.get(), SIZE_MAX, 0) == wrong &&
               launch_counted(from, to, n, room * 100, scratch.get(), 0, 0) == wrong &&
               out.untouched(),
           "%s: counted on the device: wrong arguments", r.name);
}

#if TESTED(single_pass) || TESTED(view)

// One sum of a view; between its rows, before and behind it nothing is written, so that simt reports who reads there.
template <class T, class A, class Launch>
static A sum_of_view(const std::vector<T> &x, size_t at, size_t pitch, size_t rows, size_t width,
                     size_t bytes, cudaError_t (*init)(void *, size_t, cudaStream_t), Launch launch,
                     bool *ok)
{
    const test_array out(sizeof(A), 16), scratch(bytes);
    T *room = NULL;
    A got;
    memset((void *)&got, 0, sizeof(got));
    CHECK(cudaMalloc((void **)&room,
                     (at + (rows > 0 ? (rows - 1) * pitch + width : 0) + 1) * sizeof(T)));
    CHECK(init(scratch.get(), bytes, 0));
    for (size_t r = 0; r < rows && width > 0; r++)
        CHECK(cudaMemcpy(room + at + r * pitch, x.data() + r * width, width * sizeof(T),
                         cudaMemcpyHostToDevice));
    *ok = *ok &&
          launch(room + at, pitch, rows, width, (A *)out.get(), scratch.get(), bytes, 0) ==
              cudaSuccess &&
          cudaDeviceSynchronize() == cudaSuccess;
    out.read(&got);
    *ok = *ok && out.intact() && scratch.intact();
    CHECK(cudaFree(room));
    return got;
}

// The divisions that views need: of any slot of a tile by any number, and of many more pieces by a small one.
static __global__ void divide(const unsigned long long *by, unsigned int count, unsigned int *wrong)
{
    for (unsigned int k = 0; k < count; k++) {
        const unsigned int inverse = view_byte_inverse(by[k]);
        const unsigned long long end = by[k] < 32 ? 1 << 20 : 1 << 15;
        for (unsigned long long a = threadIdx.x * by[k]; a < end;
             a += 256 * by[k]) // a multiple, and what is before it
            if (view_byte_quotient((unsigned int)a, inverse) != a / by[k] ||
                (a > 0 && view_byte_quotient((unsigned int)a - 1, inverse) != (a - 1) / by[k]))
                atomicAdd(wrong, 1u);
        if (threadIdx.x == 0 &&
            view_byte_quotient((unsigned int)end - 1, inverse) != (end - 1) / by[k])
            atomicAdd(wrong, 1u);
    }
}

static void check_divide(void)
{
    std::vector<unsigned long long> by;
    for (unsigned long long b = 1; b < 33; b++)
        by.push_back(b);
    for (unsigned long long b = 64; b < 1ull << 40; b *= 2)
        for (unsigned long long d = 0; d < 3; d++)
            by.push_back(b - 1 + d);
    const test_array numbers(by.size() * 8), wrong(4);
    unsigned int found = 0;
    numbers.fill(by.data());
    wrong.fill(&found);
    const cudaLaunchConfig_t config = {dim3(1), dim3(256), 0, 0, NULL, 0};
    CHECK(cudaLaunchKernelEx(&config, divide, (const unsigned long long *)numbers.get(),
                             (unsigned int)by.size(), (unsigned int *)wrong.get()));
    CHECK(cudaDeviceSynchronize());
    wrong.read(&found);
    tap_ok(found == 0, "view: divides by a multiplication: %u wrong", found);
}

static void check_view(void)
{
    static const size_t widths[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,   15,   16,
                                    17, 20, 30, 31, 33, 47, 64, 100, 257, 1021, 4099};
    bool ok = true, bits_ok = true;
    for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++)
        for (size_t k = 0; ok && bits_ok && k < 8; k++) {
            const size_t width = widths[w];
            const size_t rows = k == 0                   ? 0
                                : k == 5 && width == 100 ? 600 // several tiles for each block
                                                         : k * k * k * 40 / (width + 1) + 1;
            const size_t pitch = width + (k * 5 + w) % 11, n = rows * width;
            std::vector<short> x(n);
            std::vector<triple> y(n);
            std::vector<float> z(n);
            std::vector<unsigned char> b(n);
            long long want = 0;
            unsigned long long want_b = 0;
            triple want_y = {0, 0, 0};
            for (size_t i = 0; i < n; i++) {
                const uint64_t bits = test_random(w, i);
                x[i] = (short)bits;
                y[i] = triple{(unsigned int)bits, (unsigned int)(bits >> 16),
                              (unsigned int)(bits >> 32)};
                z[i] = (float)((double)(int64_t)bits * 1e-19);
                b[i] = (unsigned char)bits;
                want += (long long)x[i] * x[i] + 7 * (long long)i;
                want_b += (unsigned long long)b[i] * b[i] + 3 * i;
                want_y = triple_add(want_y, triple_add(y[i], triple{(unsigned int)i, 0, 0}));
            }
            const char *const order = test_order((int)((w + k) % test_order_count()));
            const long long got =
                sum_of_view<short, long long>(x, k, pitch, rows, width, view_short_scratch_bytes(n),
                                              view_short_scratch_init, view_short_launch_view, &ok);
            const triple got_y =
                sum_of_view<triple, triple>(y, k, pitch, rows, width, view_triple_scratch_bytes(n),
                                            view_triple_scratch_init, view_triple_launch_view, &ok);
            const unsigned long long got_b = sum_of_view<unsigned char, unsigned long long>(
                b, k, pitch, rows, width, view_byte_scratch_bytes(n), view_byte_scratch_init,
                view_byte_launch_view, &ok);
            ok = ok && got == want && got_y == want_y && got_b == want_b;
            // With a fixed tree, wherever the rows begin.
            const float one = sum_of_view<float, float>(
                z, 0, (width + 3) / 4 * 4, rows, width, view_fixed_scratch_bytes(n),
                view_fixed_scratch_init, view_fixed_launch_view, &ok);
            const float other =
                sum_of_view<float, float>(z, k, pitch, rows, width, view_fixed_scratch_bytes(n),
                                          view_fixed_scratch_init, view_fixed_launch_view, &ok);
            bits_ok = memcmp(&one, &other, 4) == 0;
            if (!ok || !bits_ok)
                tap_ok(
                    0,
                    "view: %zu rows of %zu, pitch %zu, offset %zu, %s: %lld, not %lld; %llu, not "
                    "%llu; %a and %a",
                    rows, width, pitch, k, order, got, want, got_b, want_b, one, other);
        }
    test_order(0);
    if (ok && bits_ok)
        tap_ok(1, "view: right for rows of any width and pitch, at any alignment");
    const test_array in(4000), out(8), scratch(view_short_scratch_bytes(2000));
    const short *const from = (short *)in.get();
    long long *const to = (long long *)out.get();
    void *const room = scratch.get();
    const size_t bytes = scratch.bytes;
    const cudaError_t wrong = cudaErrorInvalidValue;
    tap_ok(view_short_launch_view(NULL, 20, 10, 20, to, room, bytes, 0) == wrong &&
               view_short_launch_view((short *)((char *)from + 1), 20, 10, 20, to, room, bytes,
                                      0) == wrong &&
               view_short_launch_view(from, 19, 10, 20, to, room, bytes, 0) == wrong &&
               view_short_launch_view(from, SIZE_MAX / 8, 10, 20, to, room, bytes, 0) == wrong &&
               view_short_launch_view(from, 20, SIZE_MAX / 20, 20, to, room, bytes, 0) == wrong &&
               view_short_launch_view(from, 20, 10, 20, NULL, room, bytes, 0) == wrong &&
               view_short_launch_view(from, 20, 10, 20, to, room, 8, 0) == wrong &&
               out.untouched() && scratch.untouched(),
           "view: wrong arguments");
}

#endif

#if defined(SIMT) && TESTED(single_pass)
static void check_too_many(void)
{
    const simt_kind kind = test_unready(counted_f32_scratch_bytes(9000), 0, [](void *scratch) {
        const unsigned long long n = 9001;
        void *const count = test_zeros(8);
        CHECK(cudaMemcpy(count, &n, 8, cudaMemcpyHostToDevice));
        return counted_f32_launch_counted((float *)test_zeros(40000), (float *)test_zeros(4),
                                          (unsigned long long *)count, 9000, scratch,
                                          counted_f32_scratch_bytes(9000), 0);
    });
    tap_ok(kind == SIMT_TRAP, "counted on the device: more than there is room for: %s",
           simt_kind_name(kind));
}
#endif

#if TESTED(single_pass) && !defined(TEST_FIRST)
// The last index that its type can represent is right, and the next one an error.
static void check_last_index(void)
{
    const test_array in(600), out(sizeof(argmax_byte_at)), out_min(sizeof(argmin_byte_at)),
        count(8), scratch(argmax_byte_scratch_bytes(300)),
        scratch_min(argmin_byte_scratch_bytes(300));
    const short *const from = (short *)in.get();
    argmax_byte_at *const to = (argmax_byte_at *)out.get(), most;
    argmin_byte_at *const to_min = (argmin_byte_at *)out_min.get(), least;
    void *const room = scratch.get(), *const room_min = scratch_min.get();
    const unsigned long long *const n = (unsigned long long *)count.get(), counted = 256;
    const size_t bytes = scratch.bytes, bytes_min = scratch_min.bytes;
    const cudaError_t wrong = cudaErrorInvalidValue;
    count.fill(&counted);
    tap_ok(argmax_byte_launch(from, to, 257, room, bytes, 0) == wrong &&
               argmax_byte_launch_counted(from, to, n, 257, room, bytes, 0) == wrong &&
               argmax_byte_launch_view(from, 257, 1, 257, to, room, bytes, 0) == wrong &&
               argmax_byte_launch_view(from, 140, 2, 129, to, room, bytes, 0) == wrong &&
               argmin_byte_launch(from, to_min, 129, room_min, bytes_min, 0) == wrong &&
               argmin_byte_launch(from, to_min, 257, room_min, bytes_min, 0) == wrong &&
               cudaDeviceSynchronize() == cudaSuccess && out.untouched() && out_min.untouched() &&
               scratch.untouched() && scratch_min.untouched(),
           "an index that its type cannot represent is an error, with nothing written");

    std::vector<short> x(300, 0);
    x[127] = -1;
    x[255] = 1;
    x[267] = 2; // the last of two rows of 128, 140 apart
    in.fill(x.data());
    CHECK(argmax_byte_scratch_init(room, bytes, 0));
    CHECK(argmin_byte_scratch_init(room_min, bytes_min, 0));
    bool ok = true;
    for (int k = 0; k < 3; k++) {
        out.zero();
        CHECK(k == 0   ? argmax_byte_launch(from, to, 256, room, bytes, 0)
              : k == 1 ? argmax_byte_launch_counted(from, to, n, 256, room, bytes, 0)
                       : argmax_byte_launch_view(from, 140, 2, 128, to, room, bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(&most);
        ok &= most.value == (k == 2 ? 2 : 1) && most.index == 255;
    }
    CHECK(argmin_byte_launch(from, to_min, 128, room_min, bytes_min, 0));
    CHECK(cudaDeviceSynchronize());
    out_min.read(&least);
    tap_ok(ok && least.value == -1 && least.index == 127,
           "the last index that its type can represent is right");
}
#endif

// A scratch for more serves for less, as it is.
static void check_one_scratch(const rung<float, float> &r)
{
    const size_t n = 40009, bytes = r.scratch_bytes(n);
    const test_array in(n * sizeof(float)), out(sizeof(float)), scratch(bytes);
    const std::vector<float> x(n, 1.0f);
    bool ok = true;
    in.fill(x.data());
    CHECK(r.scratch_init(scratch.get(), bytes, 0));
    for (size_t m = n; m > 0; m = m * 2 / 3) {
        float sum = 0;
        CHECK(r.launch((float *)in.get(), (float *)out.get(), m, scratch.get(), bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(&sum);
        ok &= sum == (float)m;
    }
    tap_ok(ok && scratch.intact(), "%s: one scratch serves any smaller n", r.name);
}

#ifdef SIMT
// A scratch that was not made ready ends the launch, and what it wrote is of no use.
template <class T, class A> static void check_unready(const rung<T, A> &r, size_t n)
{
    for (unsigned int word : {0xffffffffu, 0x01010101u, 3u}) {
        const simt_kind kind = test_unready(r.scratch_bytes(n), word, [&](void *scratch) {
            return r.launch((const T *)test_zeros(n * sizeof(T)), (A *)test_zeros(sizeof(A)), n,
                            scratch, r.scratch_bytes(n), 0);
        });
        tap_ok(kind == SIMT_TRAP, "%s: n = %zu, a scratch of words 0x%x: %s", r.name, n, word,
               simt_kind_name(kind));
    }
}
#endif

#if TESTED(single_pass)

#ifdef SIMT
// The block that started last may well be done before another has left its sum.
static void check_waits(void)
{
    const std::vector<int> x(4099, 1);
    const bool ok = test_interleaved(40, [&] {
        const launched<int, int> got = run(READY(single_i32, int, int), x, 0);
        return got.status == cudaSuccess && got.result == 4099;
    });
    tap_ok(ok, "single_pass waits for every block, in forty orders");
}
#endif

static void check_scratch_left_zero(void)
{
    const size_t n = 40009, bytes = reduce_f32_scratch_bytes(n);
    test_array in(n * sizeof(float)), out(sizeof(float)), scratch(bytes);
    std::vector<float> x(n, 1.0f);
    std::vector<char> left(bytes);
    in.fill(x.data());
    CHECK(reduce_f32_scratch_init(scratch.get(), bytes, 0));
    CHECK(reduce_f32_launch((float *)in.get(), (float *)out.get(), n, scratch.get(), bytes, 0));
    CHECK(cudaDeviceSynchronize());
    scratch.read(left.data());
    bool zero = true;
    for (size_t i = 0; i < bytes; i++)
        zero &= left[i] == 0;
    tap_ok(zero, "reduce: scratch is left zero");
}

// The levels below the launcher, in a kernel of the user's own.
static __global__ void device_functions(const float *in, float *warps, float *blocks)
{
    const float x = in[blockIdx.x * 96 + threadIdx.x];
    const float w = single_f32_warp(x);
    if (threadIdx.x % 32 == 0)
        warps[blockIdx.x * 3 + threadIdx.x / 32] = w;
    const float b = single_f32_block(x);
    __syncthreads();
    const float twice = single_f32_block(2 * x);
    if (threadIdx.x == 0) {
        blocks[2 * blockIdx.x] = b;
        blocks[2 * blockIdx.x + 1] = twice;
    }
}

static void check_device_functions(void)
{
    const int grid = 5;
    std::vector<float> x(grid * 96), warps(grid * 3), blocks(grid * 2);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = small_float(test_random(3, i));
    test_array in(x.size() * 4), w(warps.size() * 4), b(blocks.size() * 4);
    in.fill(x.data());
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(96);
    CHECK(cudaLaunchKernelEx(&config, device_functions, (const float *)in.get(), (float *)w.get(),
                             (float *)b.get()));
    CHECK(cudaDeviceSynchronize());
    w.read(warps.data());
    b.read(blocks.data());
    bool ok = true;
    for (int g = 0; g < grid; g++) {
        float block = 0;
        for (int k = 0; k < 3; k++) {
            float warp = 0;
            for (int i = 0; i < 32; i++)
                warp += x[g * 96 + k * 32 + i];
            ok &= warps[g * 3 + k] == warp;
            block += warp;
        }
        ok &= blocks[2 * g] == block && blocks[2 * g + 1] == 2 * block;
    }
    tap_ok(ok, "NAME_warp and NAME_block serve another kernel");
}

#endif

#ifdef SIMT

// ---- Counts -------------------------------------------------------------------------------------

struct counted {
    const char *name;
    rung<float, float> r;
    size_t n;
    unsigned long long requests, accesses, active, slots, barriers;
    int diverge; // steps
};

// The figures of docs/counts.md and docs/errata.md.
static void check_counts(void)
{
    const counted table[] = {
#if TESTED(simple)
        {"simple", IN_PLACE(simple_f32, float), 256, 141 + 2, 255 * 3 + 2, 255 * 3 + 2,
         (27 * 3 + 2) * 32, 8, 7},
        {"simple", IN_PLACE(simple_1024, float), 2048, 1149 + 2, 2047 * 3 + 2, 2047 * 3 + 2,
         (223 * 3 + 2) * 32, 11, 10},
#endif
#if TESTED(convergent)
        {"convergent", IN_PLACE(convergent_f32, float), 256, 36 + 2, 255 * 3 + 2, 255 * 3 + 2,
         (12 * 3 + 2) * 32, 8, 5},
        {"convergent", IN_PLACE(convergent_1024, float), 2048, 204 + 2, 2047 * 3 + 2, 2047 * 3 + 2,
         (68 * 3 + 2) * 32, 11, 5},
#endif
#if TESTED(shared)
        {"shared", RUNG(shared_f32, float, float), 256, 8 + 1, 256 + 1, 0, 0, 7, 0},
        {"shared", RUNG(shared_1024, float, float), 2048, 64 + 1, 2048 + 1, 0, 0, 10, 0},
#endif
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        const counted &t = table[i];
        simt_counts c;
        run(t.r, std::vector<float>(t.n, 1.0f), 0);
        simt_last_counts(&c);
        tap_ok(c.global_requests == t.requests && c.global_accesses == t.accesses,
               "%s: N = %zu takes %llu requests (%llu) for %llu accesses (%llu)", t.name, t.n,
               c.global_requests, t.requests, c.global_accesses, t.accesses);
        if (t.slots > 0) {
            // Step by step, from the conditions of the rungs: warps of which some threads work, and those of which
            // others don't.
            const size_t threads = t.n / 2;
            unsigned long long at_work = 0;
            int diverge = 0;
            for (size_t stride = 1; stride <= threads; stride *= 2) {
                bool some = false;
                for (size_t warp = 0; warp < threads; warp += 32) {
                    unsigned int lanes = 0;
                    for (size_t thread = warp; thread < warp + 32; thread++)
                        lanes += t.name[0] == 's' ? thread % stride == 0 : thread < stride;
                    at_work += lanes > 0;
                    some |= lanes > 0 && lanes < 32;
                }
                diverge += some;
            }
            tap_ok(c.lane_slots == (at_work * 3 + 2) * 32 && diverge == t.diverge,
                   "%s: N = %zu has %llu warps at work, and %d of %llu steps diverge", t.name, t.n,
                   at_work, diverge, t.barriers);
            tap_ok(c.active_lanes == t.active && c.lane_slots == t.slots,
                   "%s: N = %zu keeps %llu of %llu lanes active (%llu of %llu)", t.name, t.n,
                   c.active_lanes, c.lane_slots, t.active, t.slots);
        }
        tap_ok(c.barriers == t.barriers, "%s: N = %zu meets at %llu barriers (%llu)", t.name, t.n,
               c.barriers, t.barriers);
    }
}

#else

// ---- Only on a GPU ------------------------------------------------------------------------------

static void check_graph(void)
{
    const size_t n = 1000003, bytes = reduce_f32_scratch_bytes(n);
    std::vector<float> x(n);
    float want = 0, got[3] = {};
    for (size_t i = 0; i < n; i++)
        want += x[i] = small_float(test_random(11, i));
    test_array in(n * 4), out(4), atomic_out(4), scratch(bytes), lock(16);
    test_array last_out(4), last_scratch(last_256_scratch_bytes(n));
    in.fill(x.data());
    CHECK(last_256_scratch_init(last_scratch.get(), last_scratch.bytes, 0));
    CHECK(reduce_f32_scratch_init(scratch.get(), bytes, 0));
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(reduce_f32_launch((float *)in.get(), (float *)out.get(), n, scratch.get(), bytes,
                                    stream));
            CHECK(multiblock_f32_launch((float *)in.get(), (float *)atomic_out.get(), n, lock.get(),
                                        16, stream));
            CHECK(last_256_launch((float *)in.get(), (float *)last_out.get(), n, last_scratch.get(),
                                  last_scratch.bytes, stream));
        },
        [&] {
            out.read(&got[0]);
            atomic_out.read(&got[1]);
            last_out.read(&got[2]);
            return got[0] == want && got[1] == want && got[2] == want;
        });
    tap_ok(ok, "launches are captured in a graph and replayed: %g %g %g, want %g", got[0], got[1],
           got[2], want);
}

// One graph, and another count in device memory at each replay.
static void check_counted_graph(void)
{
    const unsigned long long n[] = {1000003, 4001, 0};
    const size_t bytes = counted_f32_scratch_bytes(n[0]);
    std::vector<float> x(n[0]);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = small_float(test_random(12, i));
    test_array in(x.size() * 4), out(4), scratch(bytes), count(8);
    in.fill(x.data());
    count.fill(&n[0]);
    CHECK(counted_f32_scratch_init(scratch.get(), bytes, 0));
    int replay = 0;
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(counted_f32_launch_counted((float *)in.get(), (float *)out.get(),
                                             (unsigned long long *)count.get(), x.size(),
                                             scratch.get(), bytes, stream));
        },
        [&] {
            float want = 0, got;
            for (size_t i = 0; i < n[replay]; i++)
                want += x[i];
            out.read(&got);
            if (++replay < 3)
                count.fill(&n[replay]);
            return got == want;
        });
    tap_ok(ok, "counted on the device: a graph takes the count that there is when it runs");
}

#define COARSEN_NAME big_shared
#define COARSEN_TYPE unsigned char
#define COARSEN_ACC  unsigned long long
#include <coarsen/reduce/shared.h>

#define COARSEN_NAME         big_multiblock
#define COARSEN_TYPE         unsigned char
#define COARSEN_ACC          unsigned long long
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/multiblock.h>

#define COARSEN_NAME         big_coarsened
#define COARSEN_TYPE         unsigned char
#define COARSEN_ACC          unsigned long long
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/coarsened.h>

#define COARSEN_NAME     big_convergent
#define COARSEN_TYPE     unsigned char
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY 0
#include <coarsen/reduce/convergent.h>

#define COARSEN_NAME     big_simple
#define COARSEN_TYPE     unsigned char
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY 0
#include <coarsen/reduce/simple.h>

// More than 2^31 elements, with something to find past the end of what 32 bits reach.
static void check_big(void)
{
    typedef unsigned long long u64;
    const size_t n = ((size_t)1 << 31) + 4099;
    if (!test_room("n > 2^31", n))
        return;
    const test_array in(n, 1);
    unsigned char *const x = (unsigned char *)in.get();
    CHECK(cudaMemset(x, 1, n));
    CHECK(cudaMemset(x + n - 7, 200, 1));
    const u64 want = n + 199;
    const rung<unsigned char, u64> rungs[] = {
        RUNG(big_shared, unsigned char, u64), RUNG(big_multiblock, unsigned char, u64),
        RUNG(big_coarsened, unsigned char, u64), READY(sum_u8, unsigned char, u64),
        READY(last_u8, unsigned char, u64)};
    for (size_t i = 0; i < sizeof(rungs) / sizeof(*rungs); i++) {
        test_array out(8), scratch(rungs[i].scratch_bytes(n));
        u64 got = 0;
        if (rungs[i].scratch_init)
            CHECK(rungs[i].scratch_init(scratch.get(), scratch.bytes, 0));
        CHECK(rungs[i].launch(x, (u64 *)out.get(), n, scratch.get(), scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(&got);
        tap_ok(got == want, "%s: n = 2^31 + 4099: %llu, want %llu", rungs[i].name, got, want);
    }
    test_array out(1);
    unsigned char got = 0;
    CHECK(big_convergent_launch(x, (unsigned char *)out.get(), n, NULL, 0, 0));
    CHECK(cudaDeviceSynchronize());
    out.read(&got);
    tap_ok(got == 200, "big_convergent: n = 2^31 + 4099: %d, want 200", got);
    CHECK(cudaMemset(x + n - 7, 201, 1));
    CHECK(big_simple_launch(x, (unsigned char *)out.get(), n, NULL, 0, 0));
    CHECK(cudaDeviceSynchronize());
    out.read(&got);
    tap_ok(got == 201, "big_simple: n = 2^31 + 4099: %d, want 201", got);
}

#endif

// ---- All of it ----------------------------------------------------------------------------------

int main(void)
{
    test_begin();

    const size_t one_block = 4099, all = 40009;
    auto any_int = [](uint64_t bits) { return (int)(uint32_t)bits; };
    auto any_short = [](uint64_t bits) { return (short)bits; };
    auto unlike_float = [](uint64_t bits) { return (float)((double)(int64_t)bits * 1e-19); };
    auto unlike_double = [](uint64_t bits) { return (double)(int64_t)bits * 1e-19; };
    auto squares_and_indices = [](const std::vector<short> &x) {
        long long sum = 0;
        for (size_t i = 0; i < x.size(); i++)
            sum += (long long)x[i] * x[i] + (long long)i;
        return sum;
    };
    auto any_triple = [](uint64_t bits) {
        return triple{(unsigned int)bits, (unsigned int)(bits >> 16), (unsigned int)(bits >> 32)};
    };
    auto all_triples = [](const std::vector<triple> &x) {
        triple sum = {0, 0, 0};
        for (size_t i = 0; i < x.size(); i++)
            sum = triple_add(sum, x[i]);
        return sum;
    };
    auto any_unsigned_short = [](uint64_t bits) { return (unsigned short)bits; };
    auto all_counted = [](const std::vector<unsigned short> &x) {
        counter sum(0, 0);
        for (size_t i = 0; i < x.size(); i++)
            sum = counter(sum.sum + x[i], sum.count + 1);
        return sum;
    };
    auto any_counter = [](uint64_t bits) { return counter(bits, bits >> 7); };
    auto all_counters = [](const std::vector<counter> &x) {
        counter sum(0, 0);
        for (size_t i = 0; i < x.size(); i++)
            sum = counter_add(sum, x[i]);
        return sum;
    };
    auto seven = [](uint64_t) { return 7; };
    auto last_of = [](const std::vector<int> &x) { return x.empty() ? 7 : x.back(); };
    // Of one rung alone, tests/faults.py uses some of these.
    (void)unlike_float, (void)unlike_double, (void)any_int, (void)any_short,
        (void)squares_and_indices, (void)any_triple, (void)all_triples;
    (void)any_unsigned_short, (void)all_counted, (void)any_counter, (void)all_counters;
    (void)seven, (void)last_of, (void)all, (void)one_block;

#if TESTED(simple)
    check_errors(IN_PLACE(simple_f32, float));
    check(IN_PLACE(simple_i32, int), one_block, any_int, wrapped_sum());
    check(IN_PLACE(simple_f32, float), one_block, small_float, sum_of<float>());
    check(IN_PLACE(simple_counter, counter), one_block, any_counter, all_counters);
    check(
        IN_PLACE(simple_affine, affine), one_block,
        [](uint64_t bits) {
            return affine{(unsigned int)bits, (unsigned int)(bits >> 32)};
        },
        [](const std::vector<affine> &x) {
            affine f = {1, 0};
            for (size_t i = 0; i < x.size(); i++)
                f = affine_then(f, x[i]);
            return f;
        });
#endif
#if TESTED(convergent)
    check_errors(IN_PLACE(convergent_f32, float));
    check(IN_PLACE(convergent_i32, int), one_block, any_int, wrapped_sum());
    check(IN_PLACE(convergent_f32, float), one_block, small_float, sum_of<float>());
    check(IN_PLACE(convergent_counter, counter), one_block, any_counter, all_counters);
    check(IN_PLACE(max_i32, int), one_block, any_int, best_value<1>());
#endif
#if TESTED(shared)
    check_errors(RUNG(shared_f32, float, float));
    check(RUNG(shared_i32, int, int), one_block, any_int, wrapped_sum());
    check(RUNG(shared_f32, float, float), one_block, small_float, sum_of<float>());
    check(RUNG(shared_counter, unsigned short, counter), one_block, any_unsigned_short,
          all_counted);
    check(RUNG(shared_lift, short, long long), one_block, any_short, squares_and_indices);
    check(
        RUNG(min_i64, long long, long long), one_block,
        [](uint64_t bits) { return (long long)bits; }, best_value<-1>());
#endif
#if TESTED(multiblock)
    check_errors(RUNG(multiblock_f32, float, float));
    check(RUNG(multiblock_i32, int, int), all, any_int, wrapped_sum());
    check(RUNG(multiblock_f32, float, float), all, small_float, sum_of<float>());
    check(RUNG(multiblock_counter, unsigned short, counter), all, any_unsigned_short, all_counted);
    check(RUNG(multiblock_same, int, int), all, seven, last_of);
#endif
#if TESTED(coarsened)
    check_errors(RUNG(coarsened_f32, float, float));
    check(RUNG(coarsened_i32, int, int), all, any_int, wrapped_sum());
    check(RUNG(coarsened_f32, float, float), all, small_float, sum_of<float>());
    check(RUNG(coarsened_counter, unsigned short, counter), all, any_unsigned_short, all_counted);
    check(RUNG(max_f32, float, float), all, nan_float, best_value<1>());
    check(
        RUNG(xor_u32, unsigned int, unsigned int), all,
        [](uint64_t bits) { return (unsigned int)bits; },
        [](const std::vector<unsigned int> &x) {
            unsigned int all = 0;
            for (size_t i = 0; i < x.size(); i++)
                all ^= x[i];
            return all;
        });
#endif
#if TESTED(single_pass) || TESTED(view)
    check_divide();
    check_view();
#endif
#if TESTED(single_pass)
    check_errors(READY(reduce_f32, float, float));
    check_errors(READY(sum_u8, unsigned char, unsigned long long));
    check_same_bits(READY(reduce_f32, float, float));
    check_one_scratch(READY(reduce_f32, float, float));
    check_errors(READY(fixed_f32, float, float));
    check_same_bits(READY(fixed_f32, float, float));
    check_fixed_tree(READY(fixed_f32, float, float), 40009, 6, unlike_float, -0x1.6d82c8p+6f);
    check_fixed_tree(READY(fixed_f32, float, float), 4095, 6, unlike_float, -0x1.980988p+4f);
    check_fixed_tree(READY(fixed_short, short, float), 40009, 9, any_short, 0x1.a2e338p+28f);
    check_counted(READY(counted_f32, float, float), counted_f32_launch_counted);
    check_counted(READY(counted_16, float, float), counted_16_launch_counted);
    check_counted(READY(fixed_f32, float, float), fixed_f32_launch_counted);
    check_scratch_left_zero();
    check_device_functions();
#ifdef SIMT
    check_waits();
    check_too_many();
    check_unready(READY(reduce_f32, float, float), 40009);
    check_unready(READY(single_i32, int, int), 257);
#endif
    check(READY(single_i32, int, int), all, any_int, wrapped_sum());
    check(READY(min_f32, float, float), all, nan_float, best_value<-1>());
    check(READY(squares_i32, short, long long), all, any_short, squares_and_indices);
#ifndef TEST_FIRST
    check_last_index();
    check_fixed_tree(READY(fixed_f64, double, double), ((size_t)1 << 21) + 4099, 2, unlike_double,
                     -0x1.b4fd9cab5ee7dp+8);
    check(READY(single_f32, float, float), all, small_float, sum_of<float>());
    check(READY(fixed_f32, float, float), all, small_float, sum_of<float>());
    check(READY(reduce_f32, float, float), all, small_float, sum_of<float>());
    check(
        READY(reduce_f64, double, double), all,
        [](uint64_t bits) { return (double)(int64_t)(bits >> 30) / 16; }, sum_of<double>());
    check(
        READY(reduce_i64, long long, long long), all,
        [](uint64_t bits) { return (long long)bits >> 20; }, sum_of<long long>());
    check(
        READY(wide_i64, long long, wide_integer), all,
        [](uint64_t bits) { return (long long)(bits | (uint64_t)3 << 61); },
        sum_of<wide_integer>());
    check(
        READY(reduce_u64, unsigned long long, unsigned long long), all,
        [](uint64_t bits) { return (unsigned long long)bits; }, sum_of<unsigned long long>());
    check(
        READY(reduce_u32, unsigned int, unsigned int), all,
        [](uint64_t bits) { return (unsigned int)bits; }, sum_of<unsigned int>());
    check(
        READY(sum_u8, unsigned char, unsigned long long), all,
        [](uint64_t bits) { return (unsigned char)bits; }, sum_of<unsigned long long>());
    check(
        READY(least_pointer, float *, float *), all,
        [](uint64_t bits) { return (float *)(size_t)(bits >> 1); },
        [](const std::vector<float *> &x) {
            float *least = (float *)~(size_t)0;
            for (float *p : x)
                least = (size_t)p < (size_t)least ? p : least;
            return least;
        });
    check(READY(single_counter, unsigned short, counter), all, any_unsigned_short, all_counted);
    check(READY(single_same, int, int), all, seven, last_of);
    check(READY(reduce_triple, triple, triple), all, any_triple, all_triples);
#endif
#ifndef SIMT
    check(
        READY(sum_f16, __half, float), all,
        [](uint64_t bits) { return __float2half(small_float(bits)); },
        [](const std::vector<__half> &x) {
            float sum = 0;
            for (size_t i = 0; i < x.size(); i++)
                sum += __half2float(x[i]);
            return sum;
        });
#endif
#endif
#if TESTED(last_block)
    check_errors(READY(last_f32, float, float));
    check_errors(READY(last_u8, unsigned char, unsigned long long));
    check_same_bits(READY(last_256, float, float));
    check_one_scratch(READY(last_f32, float, float));
#ifdef SIMT
    check_unready(READY(last_f32, float, float), 1153);
    check_unready(READY(last_i32, int, int), 4099);
#endif
    check(READY(last_i32, int, int), all, any_int, wrapped_sum());
    check(READY(last_f32, float, float), all, small_float, sum_of<float>());
    check(READY(last_256, float, float), all, small_float, sum_of<float>());
#ifndef TEST_FIRST
    check(
        READY(last_u8, unsigned char, unsigned long long), all,
        [](uint64_t bits) { return (unsigned char)bits; }, sum_of<unsigned long long>());
    check(READY(last_max, float, float), all, nan_float, best_value<1>());
    check(READY(last_squares, short, long long), all, any_short, squares_and_indices);
    check(READY(last_triple, triple, triple), all, any_triple, all_triples);
    check(READY(last_counter, unsigned short, counter), all, any_unsigned_short, all_counted);
    check(READY(last_same, int, int), all, seven, last_of);
#endif
#endif
#if TESTED(arg)
    check(RUNG(argmin_f32, float, f32_at), 8193, coarse_float, first_best<-1>());
    check(READY(argmax_f32, float, f32_at), all, nan_float, first_best<1>());
    check(READY(argmax_short, short, argmax_short_at), all, any_short,
          [](const std::vector<short> &x) {
              const size_t at = (size_t)(std::max_element(x.begin(), x.end()) - x.begin());
              return x.empty() ? argmax_short_at{0, -1} : argmax_short_at{x[at], (int)at};
          });
    check(
        READY(argmin_f64, double, argmin_f64_at), all,
        [](uint64_t bits) { return (double)nan_float(bits); },
        [](const std::vector<double> &x) {
            const std::vector<float> floats(x.begin(), x.end());
            const f32_at best = first_best<-1>()(floats);
            return argmin_f64_at{best.value, (unsigned short)best.index};
        });
#endif

#ifdef SIMT
#ifndef TEST_FIRST
    check_counts();
#endif
#else
    check_graph();
    check_counted_graph();
    check_big();
#endif
    return tap_done();
}
