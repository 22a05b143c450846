// SPDX-License-Identifier: MIT
//
// Every rung of the map: right at every boundary, for one to three inputs of any types, with and without
// a scalar, in place, at any alignment; what it promises of errors; and its counts.
//
// The file includes itself, once for each rung.

#ifdef MAP_RUNG // ---- one rung --------------------------------------------------------------------

#define COARSEN_NAME   MAP_NAME(square)
#define COARSEN_TYPE   float
#define COARSEN_MAP(a) ((a) * (a))
#define BLOCK_DIM      64
#include MAP_HEADER

#define COARSEN_NAME      MAP_NAME(add)
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) + (b))
#define BLOCK_DIM         32
#define COARSE_FACTOR     3
#include MAP_HEADER

#define COARSEN_NAME         MAP_NAME(saxpy)
#define COARSEN_TYPE         float
#define COARSEN_INPUTS       2
#define COARSEN_SCALAR       float
#define COARSEN_MAP(x, y, s) ((s) * (x) + (y))
#define BLOCK_DIM            96
#include MAP_HEADER

#define COARSEN_NAME         MAP_NAME(mixed) // 1, 4 and 2 bytes to 8
#define COARSEN_TYPE         unsigned char
#define COARSEN_INPUTS       3
#define COARSEN_TYPE_B       float
#define COARSEN_TYPE_C       short
#define COARSEN_OUT          double
#define COARSEN_MAP(a, b, c) ((double)(a) * (double)(b) + (double)(c))
#define COARSE_FACTOR        1
#include MAP_HEADER

#define COARSEN_NAME      MAP_NAME(narrow) // 8 bytes to 1
#define COARSEN_TYPE      long long
#define COARSEN_OUT       unsigned char
#define COARSEN_SCALAR    shifted
#define COARSEN_MAP(a, s) ((unsigned char)((unsigned long long)(a) >> (s).by))
#define BLOCK_DIM         128
#include MAP_HEADER

#define COARSEN_NAME      MAP_NAME(triples) // 12 bytes, of which 16 is no multiple
#define COARSEN_TYPE      triple
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) triple_add(a, b)
#define BLOCK_DIM         64
#include MAP_HEADER

#define COARSEN_NAME   MAP_NAME(halves) // a struct to another, with a constructor
#define COARSEN_TYPE   triple
#define COARSEN_OUT    half_of
#define COARSEN_MAP(t) half_of((t).x, (t).z)
#define BLOCK_DIM      32
#include MAP_HEADER

#define COARSEN_NAME   MAP_NAME(swaps) // 4 bytes at an alignment of 2
#define COARSEN_TYPE   half_of
#define COARSEN_MAP(h) half_of((h).high, (h).low)
#define BLOCK_DIM      32
#include MAP_HEADER

static void MAP_NAME(test)(void)
{
    const rung r = {MAP_TEXT,
                    MAP_NAME(square_launch),
                    MAP_NAME(add_launch),
                    MAP_NAME(saxpy_launch),
                    MAP_NAME(mixed_launch),
                    MAP_NAME(narrow_launch),
                    MAP_NAME(triples_launch),
                    MAP_NAME(halves_launch),
                    MAP_NAME(swaps_launch)};
    check(r);
}

#undef MAP_RUNG
#undef MAP_NAME
#undef MAP_TEXT
#undef MAP_HEADER

#else // ---- the tests ------------------------------------------------------------------------------

#include "device.h"
#include "operators.h"

typedef struct {
    unsigned int by;
} shifted;

struct half_of {
    unsigned short low, high;
    __host__ __device__ half_of() : low(7), high(7)
    {
    }
    __host__ __device__ half_of(unsigned int low, unsigned int high)
        : low((unsigned short)low), high((unsigned short)high)
    {
    }
};

struct rung {
    const char *name;
    cudaError_t (*square)(const float *, float *, size_t, cudaStream_t);
    cudaError_t (*add)(const float *, const float *, float *, size_t, cudaStream_t);
    cudaError_t (*saxpy)(const float *, const float *, float *, size_t, float, cudaStream_t);
    cudaError_t (*mixed)(const unsigned char *, const float *, const short *, double *, size_t,
                         cudaStream_t);
    cudaError_t (*narrow)(const long long *, unsigned char *, size_t, shifted, cudaStream_t);
    cudaError_t (*triples)(const triple *, const triple *, triple *, size_t, cudaStream_t);
    cudaError_t (*halves)(const triple *, half_of *, size_t, cudaStream_t);
    cudaError_t (*swaps)(const half_of *, half_of *, size_t, cudaStream_t);
};

static const size_t sizes[] = {0,   1,   2,   15,  16,  17,   31,   32,   33,   63,   64,  65,
                               95,  96,  97,  127, 128, 129,  255,  256,  257,  383,  384, 385,
                               511, 512, 513, 767, 997, 1023, 1024, 1025, 2048, 2049, 4099};

// n random elements on the device, and on the host.
template <class T> struct input {
    std::vector<T> host;
    test_array device;

    input(size_t n, size_t offset, uint64_t seed, size_t bytes = 0)
        : host(n), device(n * sizeof(T), offset * sizeof(T) + bytes)
    {
        for (size_t i = 0; i < n; i++)
            set(&host[i], test_random(seed, i));
        if (n > 0)
            device.fill(host.data());
    }
    static void set(float *x, uint64_t bits) // of which sums and products are exact
    {
        *x = (float)((int)(bits % 2001) - 1000) / 8;
    }
    static void set(half_of *x, uint64_t bits)
    {
        *x = half_of((unsigned int)bits, (unsigned int)(bits >> 32));
    }
    static void set(triple *x, uint64_t bits)
    {
        *x = triple{(unsigned int)bits, (unsigned int)(bits >> 16), (unsigned int)(bits >> 32)};
    }
    template <class U> static void set(U *x, uint64_t bits)
    {
        *x = (U)bits;
    }
    const T *get() const
    {
        return (const T *)device.get();
    }
};

static bool same(half_of a, half_of b)
{
    return a.low == b.low && a.high == b.high;
}
template <class T> static bool same(T a, T b)
{
    return a == b;
}

// Whether the launch went well, and out holds what `expect` gives of each index and nothing beyond.
template <class T, class Expect>
static bool made(cudaError_t status, const test_array &out, size_t n, Expect expect)
{
    std::vector<T> got(n);
    if (status != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess || !out.intact())
        return false;
    if (n > 0)
        out.read(got.data());
    for (size_t i = 0; i < n; i++)
        if (!same(got[i], expect(i)))
            return false;
    return true;
}

// Offsets of the arrays, in elements: as one, and each another.
static const size_t offsets[][4] = {{0, 0, 0, 0}, {3, 3, 3, 3}, {1, 2, 0, 3},   {0, 0, 0, 1},
                                    {1, 0, 0, 0}, {0, 3, 1, 2}, {15, 7, 3, 10}, {6, 5, 9, 13}};

static bool right_at(const rung &r, size_t n, const size_t *at, const char **which)
{
    {
        *which = "square";
        input<float> a(n, at[0], 1);
        test_array out(n * 4, at[3] * 4);
        if (!made<float>(r.square(a.get(), (float *)out.get(), n, 0), out, n,
                         [&](size_t i) { return a.host[i] * a.host[i]; }))
            return false;
    }
    {
        *which = "add";
        input<float> a(n, at[0], 1), b(n, at[1], 2);
        test_array out(n * 4, at[3] * 4);
        if (!made<float>(r.add(a.get(), b.get(), (float *)out.get(), n, 0), out, n,
                         [&](size_t i) { return a.host[i] + b.host[i]; }))
            return false;
    }
    {
        *which = "saxpy in place";
        input<float> x(n, at[0], 1), y(n, at[1], 2);
        if (!made<float>(r.saxpy(x.get(), y.get(), (float *)y.device.get(), n, 4.0f, 0), y.device,
                         n, [&](size_t i) { return 4 * x.host[i] + y.host[i]; }))
            return false;
    }
    {
        *which = "mixed types";
        input<unsigned char> a(n, at[0], 1);
        input<float> b(n, at[1], 2);
        input<short> c(n, at[2], 3);
        test_array out(n * 8, at[3] * 8);
        if (!made<double>(
                r.mixed(a.get(), b.get(), c.get(), (double *)out.get(), n, 0), out, n,
                [&](size_t i) { return (double)a.host[i] * b.host[i] + (double)c.host[i]; }))
            return false;
    }
    {
        *which = "8 bytes to 1, with a struct";
        input<long long> a(n, at[0], 1);
        test_array out(n, at[3]);
        if (!made<unsigned char>(
                r.narrow(a.get(), (unsigned char *)out.get(), n, shifted{9}, 0), out, n,
                [&](size_t i) { return (unsigned char)((unsigned long long)a.host[i] >> 9); }))
            return false;
    }
    {
        *which = "12 bytes";
        input<triple> a(n, at[0], 1), b(n, at[1], 2);
        test_array out(n * 12, at[3] * 12);
        if (!made<triple>(r.triples(a.get(), b.get(), (triple *)out.get(), n, 0), out, n,
                          [&](size_t i) { return triple_add(a.host[i], b.host[i]); }))
            return false;
    }
    {
        *which = "12 bytes to 4 with a constructor";
        input<triple> a(n, at[0], 1);
        test_array out(n * 4, at[3] * 4);
        if (!made<half_of>(r.halves(a.get(), (half_of *)out.get(), n, 0), out, n,
                           [&](size_t i) { return half_of(a.host[i].x, a.host[i].z); }))
            return false;
    }
    for (size_t odd = 0; odd < 4; odd++) {
        *which = "4 bytes at an alignment of 2";
        input<half_of> a(n, at[0], 1, odd / 2 * 2);
        test_array out(n * 4, at[3] * 4 + odd % 2 * 2);
        if (!made<half_of>(r.swaps(a.get(), (half_of *)out.get(), n, 0), out, n,
                           [&](size_t i) { return half_of(a.host[i].high, a.host[i].low); }))
            return false;
    }
    return true;
}

static void check_sizes(const rung &r)
{
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
        for (size_t o = 0; o < sizeof(offsets) / sizeof(*offsets); o++) {
            const char *which, *const order = test_order((int)((s + o) % test_order_count()));
            if (right_at(r, sizes[s], offsets[o], &which))
                continue;
            tap_ok(0, "%s: %s, n = %zu, offsets no. %zu, %s: %s", r.name, which, sizes[s], o, order,
                   cudaGetErrorString(cudaGetLastError()));
            return;
        }
    test_order(0);
    tap_ok(1, "%s: right at every size, type and alignment", r.name);
}

static void check_errors(const rung &r)
{
    const size_t n = 1000;
    test_array a(n * 4), b(n * 4), out(n * 4), c(n * 8), wide(n * 8);
    const float *const x = (const float *)a.get(), *const y = (const float *)b.get();
    float *const z = (float *)out.get();
    const float *const odd = (const float *)((const char *)x + 2);
    const cudaError_t wrong = cudaErrorInvalidValue;
    bool ok = r.square(NULL, z, n, 0) == wrong;
    ok &= r.square(x, NULL, n, 0) == wrong;
    ok &= r.square(odd, z, n, 0) == wrong;
    ok &= r.square(x, (float *)((char *)z + 1), n, 0) == wrong;
    ok &= r.square(x, z, SIZE_MAX, 0) == wrong && r.square(x, z, SIZE_MAX / 4, 0) == wrong;
    ok &= r.add(x, NULL, z, n, 0) == wrong && r.add(x, odd, z, n, 0) == wrong;
    ok &= r.saxpy(x, NULL, z, n, 1, 0) == wrong;
    ok &= r.mixed((unsigned char *)a.get(), y, NULL, (double *)wide.get(), n, 0) == wrong;
    ok &= r.mixed((unsigned char *)a.get(), y, (short *)((char *)c.get() + 1), (double *)wide.get(),
                  n, 0) == wrong;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", r.name);
    tap_ok(a.untouched() && b.untouched() && out.untouched() && c.untouched() && wide.untouched(),
           "%s: wrong arguments write nothing", r.name);
    tap_ok(r.square(NULL, NULL, 0, 0) == cudaSuccess, "%s: no elements, no arrays", r.name);
}

#ifdef SIMT

// Counts of the squares of 4096 floats, in blocks of 64: 128-byte lines touched, and warp instructions.
static void check_counts(const rung &r)
{
    static const struct {
        const char *name;
        unsigned long long requests, instructions;
    } table[] = {{"single", 128 + 128, 128 + 128},
                 {"consecutive", 4 * 128 + 4 * 128, 128 + 128},
                 {"interleaved", 128 + 128, 128 + 128},
                 {"vectorized", 128 + 128, 32 + 32}};
    const size_t n = 4096;
    input<float> a(n, 0, 1);
    test_array out(n * 4);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (strcmp(table[i].name, r.name))
            continue;
        simt_counts c;
        CHECK(r.square(a.get(), (float *)out.get(), n, 0));
        CHECK(cudaDeviceSynchronize());
        simt_last_counts(&c);
        tap_ok(c.global_requests == table[i].requests &&
                   c.global_loads + c.global_stores == table[i].instructions,
               "%s: %zu squares take %llu requests (%llu) by %llu instructions (%llu)", r.name, n,
               c.global_requests, table[i].requests, c.global_loads + c.global_stores,
               table[i].instructions);
        tap_ok(c.global_bytes == 2 * n * 4, "%s: %zu squares move %llu bytes (%zu)", r.name, n,
               c.global_bytes, 2 * n * 4);
    }
}

// A coarsened square as it is often written: a thread makes 4 neighbours under one guard, of the
// uncoarsened index.
static __global__ void planted_square(const float *in, float *out, unsigned int n)
{
    const unsigned int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i < n)
        for (unsigned int k = 0; k < 4; k++)
            out[i + k] = in[i + k] * in[i + k];
}

static void check_planted(void)
{
    for (unsigned int n = 1000; n < 1004; n++) {
        float *in, *out;
        CHECK(cudaMalloc((void **)&in, n * sizeof(float)));
        CHECK(cudaMalloc((void **)&out, n * sizeof(float)));
        CHECK(cudaMemset(in, 0, n * sizeof(float)));
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(4);
        config.blockDim = dim3(64);
        simt_print_reports(0);
        cudaError_t status = cudaLaunchKernelEx(&config, planted_square, (const float *)in, out, n);
        if (status == cudaSuccess)
            status = cudaDeviceSynchronize();
        simt_print_reports(1);
        const simt_report report = *simt_last_report();
        if (n % 4 == 0)
            tap_ok(status == cudaSuccess && report.kind == SIMT_OK,
                   "a planted guard of the uncoarsened index goes unseen at n = %u", n);
        else
            tap_ok(status != cudaSuccess && report.kind == SIMT_OUT_OF_BOUNDS,
                   "and is caught at n = %u: %s", n, simt_kind_name(report.kind));
        cudaDeviceReset();
    }
}

#else

// More than 2^32 elements.
static void check_big(const rung &r)
{
    const size_t n = ((size_t)1 << 32) + 4099;
    if (!test_room("n > 2^32", 9 * n))
        return;
    const test_array x(n * 8), y(n);
    long long *const in = (long long *)x.get();
    unsigned char *const out = (unsigned char *)y.get();
    CHECK(cudaMemset(in, 7, n * 8));
    CHECK(cudaMemset(in + n - 1, 9, 8));
    CHECK(r.narrow(in, out, n, shifted{8}, 0));
    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned char> last(5000);
    CHECK(cudaMemcpy(last.data(), out + n - last.size(), last.size(), cudaMemcpyDeviceToHost));
    bool ok = last.back() == 9;
    for (size_t i = 0; i + 1 < last.size(); i++)
        ok &= last[i] == 7;
    tap_ok(ok, "%s: n = 2^32 + 4099", r.name);
}

#endif

static void check(const rung &r)
{
    check_errors(r);
    check_sizes(r);
#ifdef SIMT
    check_counts(r);
#else
    check_big(r);
#endif
}

#include <coarsen/base.h>

#if TESTED(single)
#define MAP_RUNG
#define MAP_NAME(stem) single_##stem
#define MAP_TEXT       "single"
#define MAP_HEADER     <coarsen/map/single.h>
#include "map.cu"
#endif

#if TESTED(consecutive)
#define MAP_RUNG
#define MAP_NAME(stem) consecutive_##stem
#define MAP_TEXT       "consecutive"
#define MAP_HEADER     <coarsen/map/consecutive.h>
#include "map.cu"
#endif

#if TESTED(interleaved)
#define MAP_RUNG
#define MAP_NAME(stem) interleaved_##stem
#define MAP_TEXT       "interleaved"
#define MAP_HEADER     <coarsen/map/interleaved.h>
#include "map.cu"
#endif

#if TESTED(vectorized)
#define MAP_RUNG
#define MAP_NAME(stem) vectorized_##stem
#define MAP_TEXT       "vectorized"
#define MAP_HEADER     <coarsen/map/vectorized.h>
#include "map.cu"

#define MAP_RUNG
#define MAP_NAME(stem) map_##stem
#define MAP_TEXT       "map.h"
#define MAP_HEADER     <coarsen/map.h>
#include "map.cu"
#endif

#if TESTED(vectorized)

#define COARSEN_NAME             counted_sum
#define COARSEN_TYPE             short
#define COARSEN_INPUTS           2
#define COARSEN_OUT              int
#define COARSEN_SCALAR           int
#define COARSEN_MAP(a, b, scale) ((a) + (b) * (scale))
#define COARSEN_COUNTED          1
#define BLOCK_DIM                32
#define COARSE_FACTOR            2
#include <coarsen/map.h>

// With n in device memory, and room for as much or more; behind n nothing is written.
static void check_counted(void)
{
    bool ok = true;
    const size_t room = 3000;
    const test_array count(8);
    std::vector<short> x(room), y(room);
    std::vector<int> got(room);
    for (size_t i = 0; i < room; i++) {
        x[i] = (short)test_random(1, i);
        y[i] = (short)test_random(2, i);
    }
    for (unsigned long long n = 0; n <= room; n = n < 20 ? n + 1 : n * 3 / 2)
        for (size_t at = 0; at < 3 * 3 * 3; at++) {
            const size_t most = at % 2 == 0 ? room : n;
            const test_array a(room * 2, at % 3 * 2), b(room * 2, at / 3 % 3 * 2);
            const test_array whole(room * 4, at / 9 * 4);
            a.fill(x.data());
            b.fill(y.data());
            count.fill(&n);
            test_order((int)(at % test_order_count()));
            ok = ok && counted_sum_launch_counted(
                           (short *)a.get(), (short *)b.get(), (int *)whole.get(),
                           (const unsigned long long *)count.get(), most, 3, 0) == cudaSuccess;
            ok = ok && cudaDeviceSynchronize() == cudaSuccess;
            whole.read(got.data());
            for (size_t i = 0; i < n; i++)
                ok = ok && got[i] == x[i] + y[i] * 3;
            ok = ok && whole.poisoned(test_array::GUARD + whole.offset + n * 4, whole.total()) &&
                 whole.intact();
        }
    test_order(0);
    tap_ok(ok, "counted on the device: right, and nothing behind it is written");
    const test_array in(4), out(4);
    const unsigned long long *const n = (unsigned long long *)count.get();
    short *const from = (short *)in.get();
    int *const to = (int *)out.get();
    const cudaError_t wrong = cudaErrorInvalidValue;
    tap_ok(counted_sum_launch_counted(from, from, to, NULL, 1, 3, 0) == wrong &&
               counted_sum_launch_counted(NULL, from, to, n, 1, 3, 0) == wrong &&
               counted_sum_launch_counted(from, from, NULL, n, 1, 3, 0) == wrong &&
               counted_sum_launch_counted(from, from, to, n, SIZE_MAX, 3, 0) == wrong &&
               out.untouched(),
           "counted on the device: wrong arguments");
}

#ifdef SIMT
static void check_too_many(void)
{
    const simt_kind kind = test_unready(8, 1001, [](void *made) {
        CHECK(cudaMemset((char *)made + 4, 0, 4));
        return counted_sum_launch_counted((short *)test_zeros(2000), (short *)test_zeros(2000),
                                          (int *)test_zeros(4000), (unsigned long long *)made, 1000,
                                          3, 0);
    });
    tap_ok(kind == SIMT_TRAP, "counted on the device: more than there is room for: %s",
           simt_kind_name(kind));
}
#else
// One graph, and another count in device memory at each replay; behind it nothing is written.
static void check_counted_graph(void)
{
    const unsigned long long n[] = {100003, 401, 0};
    std::vector<short> x(n[0]);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (short)test_random(12, i);
    test_array in(x.size() * 2), out(x.size() * 4), count(8);
    in.fill(x.data());
    count.fill(&n[0]);
    int replay = 0;
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(counted_sum_launch_counted((short *)in.get(), (short *)in.get(), (int *)out.get(),
                                             (unsigned long long *)count.get(), x.size(), 3,
                                             stream));
        },
        [&] {
            std::vector<int> got(x.size());
            out.read(got.data());
            bool right = out.poisoned(test_array::GUARD + out.offset + n[replay] * 4, out.total());
            for (size_t i = 0; i < n[replay]; i++)
                right &= got[i] == x[i] * 4;
            if (++replay < 3)
                count.fill(&n[replay]);
            return right;
        });
    tap_ok(ok, "counted on the device: a graph takes the count that there is when it runs");
}
#endif

#endif

int main(void)
{
    test_begin();
#if TESTED(single)
    single_test();
#endif
#if TESTED(consecutive)
    consecutive_test();
#endif
#if TESTED(interleaved)
    interleaved_test();
#endif
#if TESTED(vectorized)
    vectorized_test();
    map_test();
    check_counted();
#endif
#ifdef SIMT
#if TESTED(vectorized)
    check_too_many();
#endif
    check_planted();
#elif TESTED(vectorized)
    check_counted_graph();
#endif
    return tap_done();
}

#endif
