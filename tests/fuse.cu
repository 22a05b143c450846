// SPDX-License-Identifier: MIT
//
// A map and a reduction in one kernel: right beside the two kernels they are without it, at every
// boundary; what fusion saves, counted; and blocks coarsened beside threads.

#include "device.h"
#include "operators.h"

#include <math.h>

// ---- The inclusions -----------------------------------------------------------------------------

#define COARSEN_NAME  sum
#define COARSEN_TYPE  float
#define BLOCK_DIM     64
#define COARSE_FACTOR 2
#include <coarsen/reduce.h>

#define COARSEN_NAME      dot
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) * (b))
#define BLOCK_DIM         64
#define COARSE_FACTOR     2
#include <coarsen/fuse.h>

#define COARSEN_NAME            distance // the sum of (s x - y)^2 z
#define COARSEN_TYPE            float
#define COARSEN_INPUTS          3
#define COARSEN_SCALAR          float
#define COARSEN_MAP(x, y, z, s) (((s) * (x) - (y)) * ((s) * (x) - (y)) * (z))
#define BLOCK_DIM               64
#include <coarsen/fuse.h>

#define COARSEN_NAME     max_abs
#define COARSEN_TYPE     float
#define COARSEN_MAP(a)   fabsf(a)
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY 0.0f
#define BLOCK_DIM        96
#define COARSE_FACTOR    1
#include <coarsen/fuse.h>

#define COARSEN_NAME      mixed // bytes and shorts to 64 bits
#define COARSEN_ACC       long long
#define COARSEN_TYPE      unsigned char
#define COARSEN_TYPE_B    short
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((long long)(a) * (b))
#include <coarsen/fuse.h>

#define COARSEN_NAME      count_pairs // 12 bytes a pair, to 16
#define COARSEN_TYPE      unsigned long long
#define COARSEN_TYPE_B    unsigned int
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) counter((a) * (b), 1)
#define COARSEN_ACC       counter
#define COARSEN_OP        counter_add
#define COARSEN_IDENTITY  counter(0, 0)
#define BLOCK_DIM         64
#define COARSE_FACTOR     1
#include <coarsen/fuse.h>

#define COARSEN_NAME       count_blocks
#define COARSEN_TYPE       unsigned int
#define COARSEN_LIFT(x, i) counter(x, (i) + 1)
#define COARSEN_ACC        counter
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#include <coarsen/reduce/block_coarsened.h>

#define COARSEN_NAME         sevens // a map that looks at neither array, an operator at one side
#define COARSEN_TYPE         int
#define COARSEN_INPUTS       2
#define COARSEN_SCALAR       int
#define COARSEN_MAP(a, b, s) (s)
#define COARSEN_OP(a, b)     (b)
#define COARSEN_IDENTITY     7
#define BLOCK_DIM            64
#include <coarsen/fuse.h>

#define COARSEN_NAME                                                                               \
    fixed // no product, which one compiler adds up without rounding it, and another with
#define COARSEN_TYPE       float
#define COARSEN_TYPE_B     short
#define COARSEN_INPUTS     2
#define COARSEN_MAP(a, b)  ((a) + (float)(b))
#define COARSEN_FIXED_TREE 1
#define BLOCK_DIM          64
#define COARSE_FACTOR      2
#include <coarsen/fuse.h>

// The same, of one array, by reduce.h alone; and in two kernels, by map.h and then reduce.h.
#define COARSEN_NAME       squares
#define COARSEN_TYPE       float
#define COARSEN_LIFT(x, i) ((x) * (x))
#define BLOCK_DIM          64
#define COARSE_FACTOR      2
#include <coarsen/reduce.h>

#define COARSEN_NAME   square
#define COARSEN_TYPE   float
#define COARSEN_MAP(a) ((a) * (a))
#include <coarsen/map.h>

#define COARSEN_NAME      multiply
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) * (b))
#include <coarsen/map.h>

// A chain of three maps, as three kernels and as one.
#define CHAIN_1(x)     ((x) + 1)
#define CHAIN_2(x)     ((x)*3)
#define CHAIN_3(x)     ((x)-2)
#define COARSEN_NAME   chain_1
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) CHAIN_1(x)
#include <coarsen/map.h>
#define COARSEN_NAME   chain_2
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) CHAIN_2(x)
#include <coarsen/map.h>
#define COARSEN_NAME   chain_3
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) CHAIN_3(x)
#include <coarsen/map.h>
#define COARSEN_NAME   chain
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) CHAIN_3(CHAIN_2(CHAIN_1(x)))
#include <coarsen/map.h>

#if TESTED(moments)

#define COARSEN_NAME moments
#define COARSEN_TYPE double
#include <coarsen/moments.h>

#define COARSEN_NAME       spread
#define COARSEN_TYPE       float
#define COARSEN_ACC        moments
#define COARSEN_LIFT(x, i) moments_lift(x)
#define COARSEN_OP         moments_merge
#define COARSEN_IDENTITY   moments_none()
#include <coarsen/reduce.h>

#define COARSEN_NAME moments_f32
#define COARSEN_TYPE float
#include <coarsen/moments.h>

#define COARSEN_NAME       spread_f32
#define COARSEN_TYPE       float
#define COARSEN_ACC        moments_f32
#define COARSEN_LIFT(x, i) moments_f32_lift(x)
#define COARSEN_OP         moments_f32_merge
#define COARSEN_IDENTITY   moments_f32_none()
#include <coarsen/reduce.h>

#endif

// Four blocks' work by a block, by coarser threads, and as it was.
#define COARSEN_NAME         plain
#define COARSEN_TYPE         float
#define COARSEN_LIFT(x, i)   ((x) * (x))
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#define BLOCK_DIM            64
#include <coarsen/reduce/multiblock.h>

#define COARSEN_NAME         threads
#define COARSEN_TYPE         float
#define COARSEN_LIFT(x, i)   ((x) * (x))
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#define BLOCK_DIM            64
#include <coarsen/reduce/coarsened.h>

#define COARSEN_NAME         blocks
#define COARSEN_TYPE         float
#define COARSEN_LIFT(x, i)   ((x) * (x))
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#define BLOCK_DIM            64
#include <coarsen/reduce/block_coarsened.h>

#define COARSEN_NAME     blocks_max // by the lock
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#define BLOCK_DIM        32
#define COARSE_FACTOR    3
#include <coarsen/reduce/block_coarsened.h>

// ---- Running ------------------------------------------------------------------------------------

static const size_t sizes[] = {0,   1,   2,    3,    4,    5,    31,   32,   33,   63,  64,
                               65,  127, 128,  129,  255,  256,  257,  383,  511,  512, 513,
                               769, 997, 1023, 1024, 1025, 2047, 2049, 4099, 16411};

// n floats of which small sums and products are exact.
struct input {
    std::vector<float> host;
    bare_array device;

    input(size_t n, size_t offset, uint64_t seed) : host(n), device(n * 4, offset * 4)
    {
        for (size_t i = 0; i < n; i++)
            host[i] = (float)((int)(test_random(seed, i) % 17) - 8) / 4;
        if (n > 0)
            device.fill(host.data());
    }
    const float *get() const
    {
        return (const float *)device.get();
    }
};

// One value on the device, and scratch for whatever is to make it: as it came, without scratch_init.
template <class A> struct result {
    test_array out, scratch;

    result(size_t bytes, cudaError_t (*scratch_init)(void *, size_t, cudaStream_t))
        : out(sizeof(A), 16), scratch(bytes)
    {
        if (scratch_init)
            CHECK(scratch_init(scratch.get(), bytes, 0));
    }
    A *get() const
    {
        return (A *)out.get();
    }
    bool is(cudaError_t status, A wanted) const
    {
        A got;
        if (status != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)
            return false;
        out.read(&got);
        return got == wanted && out.intact() && scratch.intact();
    }
};

static bool right_at(size_t n, size_t at_a, size_t at_b, const char **which)
{
    const input a(n, at_a, 1), b(n, at_b, 2), c(n, at_a, 3);
    float wanted_dot = 0, wanted_distance = 0, wanted_max = 0, wanted_squares = 0, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        const float d = 2 * a.host[i] - b.host[i];
        wanted_dot += a.host[i] * b.host[i];
        wanted_distance += d * d * c.host[i];
        wanted_max = fmaxf(wanted_max, fabsf(a.host[i]));
        wanted_squares += a.host[i] * a.host[i];
        most = fmaxf(most, a.host[i]);
    }
    *which = "dot";
    const result<float> dot(dot_scratch_bytes(n), dot_scratch_init);
    for (int twice = 0; twice < 2; twice++)
        if (!dot.is(
                dot_launch(a.get(), b.get(), dot.get(), n, dot.scratch.get(), dot.scratch.bytes, 0),
                wanted_dot))
            return false;
    *which = "three arrays and a scalar";
    const result<float> distance(distance_scratch_bytes(n), distance_scratch_init);
    if (!distance.is(distance_launch(a.get(), b.get(), c.get(), distance.get(), n, 2.0f,
                                     distance.scratch.get(), distance.scratch.bytes, 0),
                     wanted_distance))
        return false;
    *which = "max |x|";
    const result<float> max_abs(max_abs_scratch_bytes(n), max_abs_scratch_init);
    if (!max_abs.is(max_abs_launch(a.get(), max_abs.get(), n, max_abs.scratch.get(),
                                   max_abs.scratch.bytes, 0),
                    wanted_max))
        return false;
    *which = "sum of squares, by COARSEN_LIFT";
    const result<float> squares(squares_scratch_bytes(n), squares_scratch_init);
    if (!squares.is(squares_launch(a.get(), squares.get(), n, squares.scratch.get(),
                                   squares.scratch.bytes, 0),
                    wanted_squares))
        return false;
    *which = "in two kernels";
    const test_array made(n * 4);
    const result<float> two(sum_scratch_bytes(n), sum_scratch_init);
    cudaError_t status = multiply_launch(a.get(), b.get(), (float *)made.get(), n, 0);
    if (status == cudaSuccess)
        status =
            sum_launch((float *)made.get(), two.get(), n, two.scratch.get(), two.scratch.bytes, 0);
    if (!two.is(status, wanted_dot))
        return false;
    *which = "blocks coarsened";
    const result<float> block(blocks_scratch_bytes(n), NULL);
    if (!block.is(
            blocks_launch(a.get(), block.get(), n, block.scratch.get(), block.scratch.bytes, 0),
            wanted_squares))
        return false;
    *which = "blocks coarsened, under a lock";
    const result<float> locked(blocks_max_scratch_bytes(n), NULL);
    return locked.is(
        blocks_max_launch(a.get(), locked.get(), n, locked.scratch.get(), locked.scratch.bytes, 0),
        most);
}

static void check_sizes(void)
{
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
        for (size_t o = 0; o < 3; o++) {
            const char *which, *const order = test_order((int)((s + o) % test_order_count()));
            if (right_at(sizes[s], o, o == 2 ? 1 : o, &which))
                continue;
            tap_ok(0, "%s: n = %zu, offsets no. %zu, %s: %s", which, sizes[s], o, order,
                   cudaGetErrorString(cudaGetLastError()));
            return;
        }
    test_order(0);
    tap_ok(1, "fused: right at every size and alignment");
}

static void check_types(void)
{
    const size_t n = 5003;
    std::vector<unsigned char> x(n);
    std::vector<short> y(n);
    long long wanted = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = (unsigned char)test_random(1, i);
        y[i] = (short)test_random(2, i);
        wanted += (long long)x[i] * y[i];
    }
    const bare_array a(n, 3), b(n * 2, 6);
    a.fill(x.data());
    b.fill(y.data());
    const result<long long> out(mixed_scratch_bytes(n), mixed_scratch_init);
    tap_ok(out.is(mixed_launch((unsigned char *)a.get(), (short *)b.get(), out.get(), n,
                               out.scratch.get(), out.scratch.bytes, 0),
                  wanted),
           "fused: bytes times shorts, to 64 bits");

    std::vector<unsigned long long> wide(n);
    std::vector<unsigned int> narrow(n);
    counter pairs(0, 0), singles(0, 0);
    for (size_t i = 0; i < n; i++) {
        wide[i] = test_random(3, i);
        narrow[i] = (unsigned int)test_random(4, i);
        pairs = counter(pairs.sum + wide[i] * narrow[i], pairs.count + 1);
        singles = counter(singles.sum + narrow[i], singles.count + i + 1);
    }
    const test_array c(n * 8, 8), d(n * 4, 4);
    c.fill(wide.data());
    d.fill(narrow.data());
    const result<counter> of_two(count_pairs_scratch_bytes(n), count_pairs_scratch_init);
    tap_ok(of_two.is(count_pairs_launch((unsigned long long *)c.get(), (unsigned int *)d.get(),
                                        of_two.get(), n, of_two.scratch.get(), of_two.scratch.bytes,
                                        0),
                     pairs),
           "fused: a type with a constructor");
    const result<counter> of_one(count_blocks_scratch_bytes(n), NULL);
    tap_ok(of_one.is(count_blocks_launch((unsigned int *)d.get(), of_one.get(), n,
                                         of_one.scratch.get(), of_one.scratch.bytes, 0),
                     singles),
           "blocks coarsened: a type with a constructor");
    const result<int> seven(sevens_scratch_bytes(n), sevens_scratch_init);
    tap_ok(seven.is(sevens_launch((int *)d.get(), (int *)d.get(), seven.get(), n, 7,
                                  seven.scratch.get(), seven.scratch.bytes, 0),
                    7),
           "fused: a map that looks at no array, and an operator that looks at one side");
}

// Any number of multiprocessors and any alignment give the same bits, and simt and every GPU those that are written here.
static void check_fixed_tree(void)
{
    const size_t n = 40009;
    std::vector<float> x(n);
    std::vector<short> y(n);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)((double)(int64_t)test_random(1, i) * 1e-14);
        y[i] = (short)test_random(2, i);
    }
    bool ok = true;
    const float golden = 0x1.6bae74p+23f;
    for (size_t at_a = 0; at_a < 5; at_a++)
        for (size_t at_b = 0; at_b < 9; at_b += 4 - at_a % 2) {
#ifdef SIMT
            simt_config config = simt_get_config();
            const simt_config before = config;
            const unsigned int processors[] = {132, 1, 4};
            config.processors = processors[at_b % 3];
            simt_set_config(&config);
#endif
            const bare_array a(n * 4, at_a * 4), b(n * 2, at_b * 2);
            a.fill(x.data());
            b.fill(y.data());
            const result<float> out(fixed_scratch_bytes(n), fixed_scratch_init);
            const cudaError_t status = fixed_launch((float *)a.get(), (short *)b.get(), out.get(),
                                                    n, out.scratch.get(), out.scratch.bytes, 0);
            ok &= out.is(status, golden);
            if (!ok) {
                float got = 0;
                out.out.read(&got);
                tap_ok(0, "fused: a fixed tree gives %a, not %a", got, golden);
                return;
            }
#ifdef SIMT
            simt_set_config(&before);
#endif
        }
    tap_ok(ok, "fused: the same bits on any device and at any alignment");
}

static void check_errors(void)
{
    const size_t n = 1000, bytes = dot_scratch_bytes(n);
    const test_array a(n * 4), b(n * 4), out(4), scratch(bytes);
    const float *const x = (const float *)a.get(), *const y = (const float *)b.get();
    const float *const odd = (const float *)((const char *)x + 1);
    float *const z = (float *)out.get();
    void *const s = scratch.get();
    const cudaError_t wrong = cudaErrorInvalidValue;
    bool ok = dot_launch(NULL, y, z, n, s, bytes, 0) == wrong;
    ok &= dot_launch(x, NULL, z, n, s, bytes, 0) == wrong;
    ok &= dot_launch(odd, y, z, n, s, bytes, 0) == wrong;
    ok &= dot_launch(x, odd, z, n, s, bytes, 0) == wrong;
    ok &= dot_launch(x, y, NULL, n, s, bytes, 0) == wrong;
    ok &= dot_launch(x, y, z, SIZE_MAX, s, bytes, 0) == wrong;
    ok &= dot_launch(x, y, z, n, NULL, bytes, 0) == wrong;
    ok &= dot_launch(x, y, z, n, s, bytes - 1, 0) == wrong;
    ok &= dot_launch(x, y, z, n, (char *)s + 4, bytes, 0) == wrong;
    ok &= distance_launch(x, y, NULL, z, n, 1, s, bytes, 0) == wrong;
    ok &= blocks_launch(NULL, z, n, s, bytes, 0) == wrong;
    ok &= blocks_launch(x, z, n, s, 0, 0) == wrong;
    ok &= blocks_launch(x, z, n, s, 3, 0) == wrong;
    ok &= blocks_launch(x, z, n, (char *)s + 2, bytes, 0) == wrong;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "fused: wrong arguments return cudaErrorInvalidValue");
    tap_ok(a.untouched() && b.untouched() && out.untouched() && scratch.untouched(),
           "fused: wrong arguments write nothing");
}

static void check_chain(void)
{
    const size_t n = 5003;
    const input a(n, 1, 1);
    const test_array one(n * 4), three(n * 4);
    std::vector<float> got_one(n), got_three(n);
    float *const work = (float *)three.get();
    CHECK(chain_launch(a.get(), (float *)one.get(), n, 0));
    CHECK(chain_1_launch(a.get(), work, n, 0));
    CHECK(chain_2_launch(work, work, n, 0));
    CHECK(chain_3_launch(work, work, n, 0));
    CHECK(cudaDeviceSynchronize());
    one.read(got_one.data());
    three.read(got_three.data());
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok &= got_one[i] == (a.host[i] + 1) * 3 - 2 && got_three[i] == got_one[i];
    tap_ok(ok, "a chain of maps: as three kernels and as one, the same");
}

// ---- Mean and variance --------------------------------------------------------------------------

#if TESTED(moments)

static moments merged(moments a, moments b)
{
    return moments_merge(a, b);
}

static void check_moments(void)
{
    const moments none = moments_none(), x = moments_lift(3), y = moments_lift(-5);
    const moments both = merged(x, y);
    tap_ok(both.count == 2 && both.mean == -1 && both.squares == 32 && moments_variance(both) == 16,
           "moments: of 3 and -5, mean %g and variance %g", both.mean, moments_variance(both));
    const moments same[] = {merged(none, both), merged(both, none)};
    const moments nothing = merged(none, none);
    tap_ok(!memcmp(&same[0], &both, sizeof both) && !memcmp(&same[1], &both, sizeof both) &&
               nothing.count == 0 && nothing.mean == 0 && nothing.squares == 0,
           "moments: no values are the identity");
    const moments huge = merged(none, moments_lift(1e300));
    tap_ok(huge.mean == 1e300 && huge.squares == 0, "moments: one huge value has no variance");

    // Around a mean that the sum of squares drowns in: in floats 10000^2 and the next number are 8 apart.
    const size_t n = 40009;
    std::vector<float> v(n);
    double mean = 0, squares = 0;
    float sum_of_squares = 0, plain_sum = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = 10000 + (float)(test_random(9, i) % 1024) / 1024;
        mean += v[i];
        plain_sum += v[i];
        sum_of_squares += v[i] * v[i];
    }
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    const double variance = squares / (double)n;
    const test_array in(n * 4), out(sizeof(moments)), scratch(spread_scratch_bytes(n));
    const test_array out_f32(sizeof(moments_f32)), scratch_f32(spread_f32_scratch_bytes(n));
    in.fill(v.data());
    CHECK(spread_scratch_init(scratch.get(), scratch.bytes, 0));
    CHECK(spread_f32_scratch_init(scratch_f32.get(), scratch_f32.bytes, 0));
    CHECK(
        spread_launch((float *)in.get(), (moments *)out.get(), n, scratch.get(), scratch.bytes, 0));
    CHECK(spread_f32_launch((float *)in.get(), (moments_f32 *)out_f32.get(), n, scratch_f32.get(),
                            scratch_f32.bytes, 0));
    CHECK(cudaDeviceSynchronize());
    moments got;
    moments_f32 got_f32;
    out.read(&got);
    out_f32.read(&got_f32);
    tap_ok(got.count == (double)n && fabs(got.mean - mean) < 1e-10 &&
               fabs(moments_variance(got) / variance - 1) < 1e-10,
           "moments in double: mean %.9f (%.9f), variance %.9f (%.9f)", got.mean, mean,
           moments_variance(got), variance);
    tap_ok(got_f32.count == (float)n && fabs(got_f32.mean - mean) < 0.01 &&
               fabs(moments_f32_variance(got_f32) / variance - 1) < 0.01,
           "moments in float: mean %.4f (%.4f), variance %.5f (%.5f)", got_f32.mean, mean,
           moments_f32_variance(got_f32), variance);
    const float naive = sum_of_squares / (float)n - plain_sum / (float)n * (plain_sum / (float)n);
    tap_ok(fabs(naive / variance - 1) > 1, "where the textbook's formula in float gives %g", naive);
}

#endif

#ifdef SIMT

// A scratch that was not made ready ends the launch.
static void check_unready(void)
{
    const size_t n = 4099, bytes = dot_scratch_bytes(n);
    for (unsigned int word : {0xffffffffu, 0x01010101u, 3u}) {
        const simt_kind kind = test_unready(bytes, word, [&](void *scratch) {
            const float *const x = (const float *)test_zeros(n * 4);
            return dot_launch(x, x, (float *)test_zeros(4), n, scratch, bytes, 0);
        });
        tap_ok(kind == SIMT_TRAP, "fused: a scratch of words 0x%x: %s", word, simt_kind_name(kind));
    }
}

// ---- Counts -------------------------------------------------------------------------------------

static unsigned long long bytes_since_reset(void)
{
    simt_counts c;
    CHECK(cudaDeviceSynchronize());
    simt_total_counts(&c);
    simt_reset_counts();
    return c.global_bytes;
}

// The bytes that fusion saves: every element that is not written and read again.
static void check_saved(void)
{
    const size_t n = 16384;
    const input a(n, 0, 1), b(n, 0, 2);
    const test_array made(n * 4);
    const result<float> out(dot_scratch_bytes(n), dot_scratch_init);
    float *const work = (float *)made.get();
    void *const scratch = out.scratch.get();
    const size_t bytes = out.scratch.bytes;
    simt_reset_counts();

    CHECK(multiply_launch(a.get(), b.get(), work, n, 0));
    const unsigned long long map_bytes = bytes_since_reset();
    CHECK(sum_launch(work, out.get(), n, scratch, bytes, 0));
    const unsigned long long sum_bytes = bytes_since_reset();
    CHECK(dot_launch(a.get(), b.get(), out.get(), n, scratch, bytes, 0));
    const unsigned long long dot_bytes = bytes_since_reset();
    // Besides the arrays: what the blocks leave each other, up to 28 bytes a block.
    const unsigned long long meeting = 28 * 32 + 1;
    tap_ok(map_bytes == 12 * n && sum_bytes - 4 * n < meeting && dot_bytes - 8 * n < meeting,
           "dot product: %llu and %llu bytes in two kernels, %llu in one: 16 an element and 8",
           map_bytes, sum_bytes, dot_bytes);

    CHECK(square_launch(a.get(), work, n, 0));
    CHECK(sum_launch(work, out.get(), n, scratch, bytes, 0));
    const unsigned long long two_bytes = bytes_since_reset();
    CHECK(squares_launch(a.get(), out.get(), n, scratch, bytes, 0));
    const unsigned long long one_bytes = bytes_since_reset();
    tap_ok(two_bytes - 12 * n < meeting && one_bytes - 4 * n < meeting,
           "sum of squares: %llu bytes in two kernels, %llu in one: 12 an element and 4", two_bytes,
           one_bytes);

    CHECK(chain_1_launch(a.get(), work, n, 0));
    CHECK(chain_2_launch(work, work, n, 0));
    CHECK(chain_3_launch(work, work, n, 0));
    const unsigned long long three_bytes = bytes_since_reset();
    CHECK(chain_launch(a.get(), work, n, 0));
    const unsigned long long chain_bytes = bytes_since_reset();
    tap_ok(three_bytes == 24 * n && chain_bytes == 8 * n,
           "three maps: %llu bytes in three kernels, %llu in one: 24 an element and 8", three_bytes,
           chain_bytes);
}

// Where arrays are at different distances from a boundary, those that are at none are read as the vectors around what is
// asked for, each twice: 16 bytes of loads in place of 8 with one of two arrays, and not element by element.
static void check_apart(void)
{
    const size_t n = 16384;
    const result<float> out(dot_scratch_bytes(n), dot_scratch_init);
    unsigned long long bytes[3];
    for (size_t at = 0; at < 3; at++) { // both at a boundary, one, and none
        const input a(n, at == 2, 1), b(n, at, 2);
        simt_reset_counts();
        CHECK(dot_launch(a.get(), b.get(), out.get(), n, out.scratch.get(), out.scratch.bytes, 0));
        bytes[at] = bytes_since_reset();
    }
    const unsigned long long more = 28 * 32 + 1,
                             ends =
                                 4 *
                                 16; // of the blocks' meeting; the array's two vectors at the ends
    tap_ok(bytes[0] - 8 * n < more && bytes[1] + ends - 12 * n < more + ends &&
               bytes[2] + 2 * ends - 16 * n < more + 2 * ends,
           "dot product: %llu bytes, with one array from a boundary %llu, with both %llu: 8 an "
           "element, 12 and 16",
           bytes[0], bytes[1], bytes[2]);
}

// 8192 elements: 64 blocks of 64 threads, or 16 that are coarser by 4, this way or that.
static void check_block_coarsening(void)
{
    const size_t n = 8192;
    const input a(n, 0, 1);
    const result<float> out(16, NULL);
    static const struct {
        const char *name;
        cudaError_t (*launch)(const float *, float *, size_t, void *, size_t, cudaStream_t);
        unsigned long long blocks, barriers, atomics, shared;
    } table[] = {
        // A tree of 64: 64 stores, 63 additions of two loads and a store, one load of its result.
        {"as it was", plain_launch, 64, 64 * 6, 64, 64 * (64 + 63 * 3 + 1)},
        {"threads coarsened by 4", threads_launch, 16, 16 * 6, 16, 16 * (64 + 63 * 3 + 1)},
        {"blocks coarsened by 4", blocks_launch, 16, 16 * 6, 64, 64 * (64 + 63 * 3 + 1)},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        simt_counts c;
        CHECK(table[i].launch(a.get(), out.get(), n, out.scratch.get(), 16, 0));
        CHECK(cudaDeviceSynchronize());
        simt_last_counts(&c);
        tap_ok(c.blocks == table[i].blocks && c.barriers == table[i].barriers &&
                   c.atomics_global == table[i].atomics && c.shared_accesses == table[i].shared,
               "%s: %llu blocks, %llu barriers, %llu atomics, %llu accesses of shared memory",
               table[i].name, c.blocks, c.barriers, c.atomics_global, c.shared_accesses);
    }
}

#endif

int main(void)
{
    test_begin();
#if TESTED(moments)
    check_moments();
#endif
    check_errors();
    check_sizes();
    check_types();
    check_fixed_tree();
#ifndef TEST_FIRST
    check_chain();
#ifdef SIMT
    check_unready();
    check_saved();
    check_apart();
    check_block_coarsening();
#endif
#endif
    return tap_done();
}
