// SPDX-License-Identifier: MIT
//
// scan/segmented.h: right for heads everywhere and anywhere, by flags and by offsets, for every operator and
// type, inclusive and exclusive, in place and at any alignment, in any order of blocks; and what it promises
// of errors and scratch.

#include "device.h"
#include "operators.h"
#include "heads.h"

#include <coarsen/base.h>

// ---- The inclusions ---------------------------------------------------------------------------------

#define COARSEN_NAME flags_default
#define COARSEN_TYPE float
#define COARSEN_FLAG unsigned char
#include <coarsen/scan.h>

#define COARSEN_NAME      flags_before
#define COARSEN_TYPE      int
#define COARSEN_FLAG      int
#define COARSEN_EXCLUSIVE 1
#define BLOCK_DIM         64
#define COARSE_FACTOR     1
#include <coarsen/scan.h>

#define COARSEN_NAME       flags_composed
#define COARSEN_TYPE       affine
#define COARSEN_FLAG       unsigned short
#define COARSEN_LIFT(x, i) affine_lift(x, i)
#define COARSEN_OP         affine_then
#define COARSEN_IDENTITY   (affine{1, 0})
#define BLOCK_DIM          64
#define COARSE_FACTOR      3
#include <coarsen/scan.h>

#define COARSEN_NAME   offsets_sum
#define COARSEN_TYPE   int
#define COARSEN_OFFSET unsigned int
#define BLOCK_DIM      64
#define COARSE_FACTOR  2
#include <coarsen/scan.h>

#define COARSEN_NAME      offsets_composed
#define COARSEN_TYPE      affine
#define COARSEN_OFFSET    long long
#define COARSEN_OP        affine_then
#define COARSEN_IDENTITY  (affine{1, 0})
#define COARSEN_EXCLUSIVE 1
#define BLOCK_DIM         96
#define COARSE_FACTOR     3
#include <coarsen/scan.h>

#ifndef TEST_FIRST
#define COARSEN_NAME       flags_indices
#define COARSEN_TYPE       signed char
#define COARSEN_FLAG       unsigned char
#define COARSEN_ACC        int
#define COARSEN_LIFT(x, i) indices_lift(x, i)
#define BLOCK_DIM          64
#define COARSE_FACTOR      5
#include <coarsen/scan.h>

#define COARSEN_NAME     flags_last
#define COARSEN_TYPE     int
#define COARSEN_FLAG     long long
#define COARSEN_OP       last_of
#define COARSEN_IDENTITY 7
#define BLOCK_DIM        64
#define COARSE_FACTOR    2
#include <coarsen/scan/segmented.h>

#define COARSEN_NAME      offsets_triples
#define COARSEN_TYPE      triple
#define COARSEN_OP        triple_add
#define COARSEN_IDENTITY  (triple{0, 0, 0})
#define COARSEN_EXCLUSIVE 1
#define BLOCK_DIM         64
#define COARSE_FACTOR     2
#include <coarsen/scan/segmented.h> // without an offset's type: of int

#define COARSEN_NAME       offsets_counters
#define COARSEN_TYPE       unsigned short
#define COARSEN_OFFSET     short
#define COARSEN_ACC        counter
#define COARSEN_LIFT(x, i) counter_lift(x, i)
#define COARSEN_OP         counter_add
#define COARSEN_IDENTITY   counter(0, 0)
#define BLOCK_DIM          64
#define COARSE_FACTOR      16
#include <coarsen/scan.h>

#define COARSEN_NAME      offsets_before
#define COARSEN_TYPE      double
#define COARSEN_OFFSET    int
#define COARSEN_OP        last_of_doubles
#define COARSEN_IDENTITY  7.0
#define COARSEN_EXCLUSIVE 1
#define BLOCK_DIM         1024
static inline __device__ double last_of_doubles(double, double b)
{
    return b;
}
#include <coarsen/scan.h>
#endif

#ifndef SIMT
#define COARSEN_NAME   offsets_bytes
#define COARSEN_TYPE   unsigned char
#define COARSEN_ACC    unsigned char
#define COARSEN_OFFSET unsigned long long
#include <coarsen/scan.h>
#endif

// T: of an element; A: of a result; H: of a flag or an offset. n is in another place for each.
template <class T, class A, class H> struct kind {
    const char *name;
    size_t row; // elements that a block takes at once
    size_t (*scratch_bytes)(size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    cudaError_t (*by_flags)(const T *, const H *, A *, size_t, void *, size_t, cudaStream_t);
    cudaError_t (*by_offsets)(const T *, size_t, const H *, size_t, A *, void *, size_t,
                              cudaStream_t);
    bool exclusive;
    A identity;
    A (*op)(A, A);
    A (*lift)(T, size_t);
    T (*make)(uint64_t);

    cudaError_t launch(const T *in, const H *marks, size_t count, A *out, size_t n, void *scratch,
                       size_t bytes) const
    {
        return by_flags ? by_flags(in, marks, out, n, scratch, bytes, 0)
                        : by_offsets(in, n, marks, count - 1, out, scratch, bytes, 0);
    }
};
#define KIND(stem, T, A, H, dim, flags, offsets, ...)                                              \
    (kind<T, A, H>{#stem, (dim)*COARSEN_VECTOR_ITEMS(T), stem##_scratch_bytes,                     \
                   stem##_scratch_init, flags, offsets, __VA_ARGS__})
#define BY_FLAGS(stem, T, A, H, dim, ...) KIND(stem, T, A, H, dim, stem##_launch, NULL, __VA_ARGS__)
#define BY_OFFSETS(stem, T, A, H, dim, ...)                                                        \
    KIND(stem, T, A, H, dim, NULL, stem##_launch, __VA_ARGS__)

// ---- Running one ----------------------------------------------------------------------------------

// The flags; or the offsets, of which some are there twice or more, as of empty segments.
template <class T, class A, class H>
static std::vector<H> marks_of(const kind<T, A, H> &k, const std::vector<bool> &heads)
{
    std::vector<H> marks;
    for (size_t i = 0; i < heads.size(); i++)
        if (k.by_flags)
            marks.push_back((H)(heads[i] ? 1 + test_random(5, i) % 100 : 0));
        else
            for (uint64_t times = heads[i] ? 1 + test_random(6, i) % 2 : 0; times > 0; times--)
                marks.push_back((H)i);
    if (!k.by_flags)
        marks.insert(marks.end(), 1 + heads.size() % 3, (H)heads.size());
    return marks;
}

template <class T, class A, class H>
static std::vector<A> expected(const kind<T, A, H> &k, const std::vector<T> &x,
                               const std::vector<bool> &heads)
{
    std::vector<A> want;
    A sum = k.identity;
    for (size_t i = 0; i < x.size(); i++) {
        if (heads[i])
            sum = k.identity;
        const A next = k.op(sum, k.lift(x[i], i));
        want.push_back(k.exclusive ? sum : next);
        sum = next;
    }
    return want;
}

// The bits say how the arrays are aligned. One scratch, for n and, before that, for more.
template <class T, class A, class H>
static bool check_once(const kind<T, A, H> &k, const layout &of, size_t n, uint64_t bits)
{
    const size_t in_offset = bits % 131, out_offset = (bits >> 8) % 5, at = (bits >> 16) % 5;
    const bool in_place = sizeof(T) == sizeof(A) && (bits >> 24) % 2;
    std::vector<T> x(n);
    std::vector<bool> heads(n);
    for (size_t i = 0; i < n; i++) {
        x[i] = k.make(test_random(n, i));
        heads[i] = of.head(test_random(n + 1, i), i, k.row);
    }
    const std::vector<H> marks = marks_of(k, heads);
    const std::vector<A> want = expected(k, x, heads);
    const test_array in(n * sizeof(T), in_offset * sizeof(T));
    const test_array apart(in_place ? 0 : n * sizeof(A), out_offset * sizeof(A));
    const test_array where(marks.size() * sizeof(H), at * sizeof(H));
    const test_array scratch(k.scratch_bytes(n)), &out = in_place ? in : apart;
    std::vector<A> got(n);
    where.fill(marks.data());
    cudaError_t status = k.scratch_init(scratch.get(), scratch.bytes, 0);
    for (size_t m : {n - n / 3, n}) { // less first: what it leaves in the scratch is no harm
        in.fill(x.data());
        std::vector<bool> some(heads.begin(), heads.begin() + (long)m);
        const std::vector<H> fewer = marks_of(k, some);
        const test_array there(fewer.size() * sizeof(H));
        there.fill(fewer.data());
        if (status == cudaSuccess)
            status = k.launch((const T *)in.get(), (const H *)(m < n ? there : where).get(),
                              m < n ? fewer.size() : marks.size(), (A *)out.get(), m, scratch.get(),
                              scratch.bytes);
        if (status == cudaSuccess)
            status = cudaDeviceSynchronize();
    }
    if (status == cudaSuccess)
        out.read(got.data());
    size_t wrong = 0;
    while (wrong < n &&
           memcmp((const void *)&got[wrong], (const void *)&want[wrong], sizeof(A)) == 0)
        wrong++;
    const bool clean = in.intact() && apart.intact() && where.intact() && scratch.intact();
    if (status == cudaSuccess && clean && wrong == n)
        return true;
    tap_ok(0, "%s: n = %zu, segments: %s, offsets %zu, %zu and %zu%s: %s, first at %zu%s", k.name,
           n, of.name, in_offset, out_offset, at, in_place ? ", in place" : "",
           status != cudaSuccess ? cudaGetErrorString(status) : "wrong result", wrong,
           clean ? "" : ", wrote outside its arrays");
    return false;
}

template <class T, class A, class H> static void check(const kind<T, A, H> &k, size_t most)
{
    check_layouts(k.name, k.row, most, [&](const layout &of, size_t n, uint64_t bits) {
        return check_once(k, of, n, bits);
    });
}

// ---- What is promised beyond the result -----------------------------------------------------------

template <class T, class A, class H> static void check_errors(const kind<T, A, H> &k)
{
    const size_t n = 10000, count = k.by_flags ? n : 100, bytes = k.scratch_bytes(n);
    const test_array in(n * sizeof(T)), marks(count * sizeof(H)), out(n * sizeof(A));
    const test_array scratch(bytes);
    const T *const x = (const T *)in.get();
    const H *const where = (const H *)marks.get();
    A *const y = (A *)out.get();
    bool ok = true;
    const auto wrong = [&](const T *from, const H *at, size_t parts, A *to, size_t elements,
                           void *with, size_t with_bytes) {
        ok &= k.launch(from, at, parts, to, elements, with, with_bytes) == cudaErrorInvalidValue;
    };
    wrong(NULL, where, count, y, n, scratch.get(), bytes);
    wrong(x, NULL, count, y, n, scratch.get(), bytes);
    wrong(x, where, count, NULL, n, scratch.get(), bytes);
    wrong((const T *)((const char *)x + 1), where, count, y, n, scratch.get(), bytes);
    wrong(x, where, count, (A *)((char *)y + 1), n, scratch.get(), bytes);
    if (sizeof(H) > 1)
        wrong(x, (const H *)((const char *)where + 1), count, y, n, scratch.get(), bytes);
    if (k.by_offsets) {
        wrong(x, where, 0, y, n, scratch.get(), bytes); // -1 segments
        wrong(x, where, SIZE_MAX, y, n, scratch.get(), bytes);
    }
    wrong(x, where, count, y, SIZE_MAX / sizeof(T), scratch.get(), SIZE_MAX);
    wrong(x, where, count, y, SIZE_MAX, scratch.get(), bytes);
    wrong(x, where, count, y, n, NULL, bytes);
    wrong(x, where, count, y, n, scratch.get(), bytes - 1);
    wrong(x, where, count, y, n, (char *)scratch.get() + 1, bytes);
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", k.name);
    ok = k.launch(NULL, NULL, 1, NULL, 0, NULL, 0) == cudaSuccess;
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: no elements are no error", k.name);
    tap_ok(in.untouched() && marks.untouched() && out.untouched() && scratch.untouched(),
           "%s: wrong arguments and no elements write nothing", k.name);
    for (size_t m = 1; m <= n; m = m * 3 / 2 + 1)
        ok &= k.scratch_bytes(m) <= bytes;
    tap_ok(ok, "%s: scratch for n is enough for less", k.name);
}

#ifdef SIMT
// Wrong offsets, or flags on a scratch that was not made ready, end the launch.
static void check_traps(void)
{
    const std::vector<unsigned int> wrong[] = {
        {0, 10, 9, 100}, {0, 101, 102}, {0, 50, (unsigned int)-1}, {5, 4}};
    for (const std::vector<unsigned int> &offsets : wrong) {
        const size_t bytes = offsets_sum_scratch_bytes(100);
        const simt_kind kind = test_unready(bytes, 0, [&](void *scratch) {
            unsigned int *const at = (unsigned int *)test_zeros(offsets.size() * 4);
            CHECK(cudaMemcpy(at, offsets.data(), offsets.size() * 4, cudaMemcpyHostToDevice));
            return offsets_sum_launch((const int *)test_zeros(400), 100, at, offsets.size() - 1,
                                      (int *)test_zeros(400), scratch, bytes, 0);
        });
        tap_ok(kind == SIMT_TRAP, "offsets %u, %u, ... of 100 elements: %s", offsets[0], offsets[1],
               simt_kind_name(kind));
    }
    const size_t n = 5000, bytes = flags_before_scratch_bytes(n);
    const simt_kind kind = test_unready(bytes, 0xffffffff, [&](void *scratch) {
        return flags_before_launch((const int *)test_zeros(4 * n), (const int *)test_zeros(4 * n),
                                   (int *)test_zeros(4 * n), n, scratch, bytes, 0);
    });
    tap_ok(kind == SIMT_TRAP, "a scratch that was not made ready: %s", simt_kind_name(kind));
}
#endif

// Of sums that round, so that another tree would show.
static void check_same_bits(size_t n)
{
    std::vector<float> x(n), first(n), next(n);
    std::vector<unsigned char> flags(n);
    const test_array in(n * 4), out(n * 4), at(n), scratch(flags_default_scratch_bytes(n));
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)((double)(int64_t)test_random(7, i) * 1e-19);
        flags[i] = test_random(8, i) % 3000 == 0;
    }
    in.fill(x.data());
    at.fill(flags.data());
    CHECK(flags_default_scratch_init(scratch.get(), scratch.bytes, 0));
    bool same = true, near = true;
    for (int k = 0; k < 6; k++) {
        test_order(k % test_order_count());
        CHECK(flags_default_launch((const float *)in.get(), (const unsigned char *)at.get(),
                                   (float *)out.get(), n, scratch.get(), scratch.bytes, 0));
        CHECK(cudaDeviceSynchronize());
        out.read(k == 0 ? first.data() : next.data());
        same &= k == 0 || memcmp(first.data(), next.data(), n * 4) == 0;
    }
    test_order(0);
    tap_ok(same, "flags_default: the same bits on every run, in every order of blocks");
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < n; i++) {
        if (flags[i])
            sum = magnitude = 0;
        sum += (double)x[i], magnitude += x[i] < 0 ? -(double)x[i] : (double)x[i];
        const double error = first[i] - sum;
        near &= (error < 0 ? -error : error) <= 64 * 0x1p-24 * magnitude;
    }
    tap_ok(near, "flags_default: near the sums in double");
}

// ---- Only on a GPU --------------------------------------------------------------------------------

#ifndef SIMT

static void check_graph(void)
{
    const size_t n = 100003, length = 37, segments = n / length + 1;
    std::vector<int> sums(n), x(n, 1);
    std::vector<unsigned int> offsets;
    for (size_t s = 0; s <= segments; s++)
        offsets.push_back((unsigned int)(s < segments ? s * length : n));
    for (size_t i = 0; i < n; i++)
        sums[i] = (int)(i % length + 1);
    const test_array in(n * 4), out(n * 4), at(offsets.size() * 4);
    const test_array scratch(offsets_sum_scratch_bytes(n));
    in.fill(x.data());
    at.fill(offsets.data());
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(offsets_sum_launch((const int *)in.get(), n, (const unsigned int *)at.get(),
                                     segments, (int *)out.get(), scratch.get(), scratch.bytes,
                                     stream));
        },
        [&] { return out.holds(sums); });
    tap_ok(ok, "offsets_sum: is captured in a graph and replayed");
}

static __global__ void make_offsets(unsigned long long *offsets, size_t segments, size_t length,
                                    size_t n)
{
    for (size_t s = blockIdx.x * (size_t)256 + threadIdx.x; s <= segments;
         s += (size_t)gridDim.x * 256)
        offsets[s] = s < segments ? s * length : n;
}

static __global__ void count_wrong(const unsigned char *sums, size_t n, size_t length,
                                   unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        if (sums[i] != (unsigned char)(i % length + 1))
            atomicAdd(wrong, 1ULL);
}

// More than 2^32 ones, in place; the sums are modulo 256.
static void check_big(void)
{
    const size_t n = ((size_t)1 << 32) + 4099, length = 1013, segments = n / length + 1;
    if (!test_room("n > 2^32", n + (segments + 1) * 8 + offsets_bytes_scratch_bytes(n)))
        return;
    const test_array data(n, 1), scratch(offsets_bytes_scratch_bytes(n)), at((segments + 1) * 8);
    unsigned char *const x = (unsigned char *)data.get();
    CHECK(cudaMemset(x, 1, n));
    make_offsets<<<1024, 256>>>((unsigned long long *)at.get(), segments, length, n);
    CHECK(offsets_bytes_launch(x, n, (const unsigned long long *)at.get(), segments, x,
                               scratch.get(), scratch.bytes, 0));
    const unsigned long long found = test_count(count_wrong, x, n, length);
    tap_ok(found == 0, "offsets_bytes: n = 2^32 + 4099: %llu are wrong", found);
}

#endif

// ---- All of it --------------------------------------------------------------------------------------

int main(void)
{
    test_begin();
    const kind<float, float, unsigned char> flags_default =
        BY_FLAGS(flags_default, float, float, unsigned char, 512, false, 0, plus<float>,
                 itself<float>, small_float);
    const kind<int, int, unsigned int> offsets_sum = BY_OFFSETS(
        offsets_sum, int, int, unsigned int, 64, false, 0, plus<int>, itself<int>, of_bits<int>);
    const kind<int, int, int> flags_before =
        BY_FLAGS(flags_before, int, int, int, 64, true, 0, plus<int>, itself<int>, of_bits<int>);
    check_errors(flags_before);
    check_errors(offsets_sum);
    check(flags_before, 40);
    check(offsets_sum, 40);
    check(BY_FLAGS(flags_composed, affine, affine, unsigned short, 64, false, affine{1, 0},
                   affine_then, affine_lift, affine_of),
          30);
    check(BY_OFFSETS(offsets_composed, affine, affine, long long, 96, true, affine{1, 0},
                     affine_then, itself<affine>, affine_of),
          30);
    check(flags_default, 12);
#ifdef SIMT
    check_traps();
#endif
    check_same_bits(9 * 2048 + 77);
#ifndef TEST_FIRST
    check(BY_FLAGS(flags_indices, signed char, int, unsigned char, 64, false, 0, plus<int>,
                   indices_lift, of_bits<signed char>),
          20);
    check(BY_FLAGS(flags_last, int, int, long long, 64, false, 7, second<int>, itself<int>,
                   of_bits<int>),
          20);
    check(BY_OFFSETS(offsets_triples, triple, triple, int, 64, true, triple{0, 0, 0}, triple_add,
                     itself<triple>, triple_of),
          30);
    check(BY_OFFSETS(offsets_counters, unsigned short, counter, short, 64, false, counter(0, 0),
                     counter_add, counter_lift, of_bits<unsigned short>),
          20);
    check(BY_OFFSETS(offsets_before, double, double, int, 1024, true, 7, second<double>,
                     itself<double>, of_bits<double>),
          9);
#endif
#ifndef SIMT
    check_graph();
    check_big();
#endif
    return tap_done();
}
