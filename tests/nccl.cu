// SPDX-License-Identifier: MIT
//
// Reduction, histogram and scan on several GPUs: right with any number of ranks and of elements on each, at any
// alignment, with the same bits on all ranks and on every run; and what is promised of errors, of a rank that fails,
// and of a fixed tree.

#include "device.h"
#include "operators.h"
#include "ranks.h"

#include <coarsen/nccl/base.h>

#include <atomic>

#if TESTED(reduce)
#define COARSEN_NAME numbers
#define COARSEN_TYPE unsigned int
#define BLOCK_DIM    64
#include <coarsen/nccl/reduce.h>

#define COARSEN_NAME floats
#define COARSEN_TYPE float
#include <coarsen/nccl/reduce.h>

#define COARSEN_NAME   greatest
#define COARSEN_TYPE   float
#define COARSEN_ARGMAX int
#define BLOCK_DIM      64
#define COARSE_FACTOR  1
#include <coarsen/nccl/reduce.h>

#define COARSEN_NAME       tree
#define COARSEN_TYPE       float
#define COARSEN_FIXED_TREE 1
#define COARSEN_CHUNK      1000
#define BLOCK_DIM          64
#include <coarsen/nccl/reduce.h>

#define COARSEN_NAME       places
#define COARSEN_TYPE       signed char
#define COARSEN_ACC        unsigned long long
#define COARSEN_LIFT(x, i) ((unsigned long long)(x) * (i))
#define COARSEN_FIXED_TREE 1
#define COARSEN_CHUNK      700
#define BLOCK_DIM          64
#include <coarsen/nccl/reduce.h>
#endif

#if TESTED(histogram)
#define COARSEN_NAME bins
#define COARSEN_TYPE unsigned char
#define NUM_BINS     100
#define BLOCK_DIM    128
#include <coarsen/nccl/histogram.h>

#define COARSEN_NAME      weights
#define COARSEN_TYPE      unsigned char
#define NUM_BINS          300
#define COARSEN_COUNT     double
#define COARSEN_BIN(x)    ((x) / 2)
#define COARSEN_WEIGHT(x) ((x)*0.25)
#define BLOCK_DIM         128
#include <coarsen/nccl/histogram.h>

#define COARSEN_NAME      debts
#define COARSEN_TYPE      unsigned char
#define NUM_BINS          7
#define COARSEN_COUNT     int
#define COARSEN_WEIGHT(x) (3 - (int)(x))
#define BLOCK_DIM         64
#include <coarsen/nccl/histogram.h>
#endif

#if TESTED(scan)
#define COARSEN_NAME  running
#define COARSEN_TYPE  unsigned int
#define BLOCK_DIM     64
#define COARSE_FACTOR 2
#include <coarsen/nccl/scan.h>

#define COARSEN_NAME running_floats
#define COARSEN_TYPE float
#include <coarsen/nccl/scan.h>

#define COARSEN_NAME       composed
#define COARSEN_TYPE       affine
#define COARSEN_LIFT(x, i) affine_lift(x, i)
#define COARSEN_OP         affine_then
#define COARSEN_IDENTITY   (affine{1, 0})
#define COARSEN_EXCLUSIVE  1
#define BLOCK_DIM          64
#define COARSE_FACTOR      1
#include <coarsen/nccl/scan.h>
#endif

// ---- what each rank does, and what came out -------------------------------------------------------

enum { SECONDS = 60 };

// A launcher with its scratch. T: of an element, O: of what comes out.
template <class T, class O> struct pattern {
    size_t (*bytes)(const std::vector<size_t> &counts, size_t rank, ncclComm_t comm);
    cudaError_t (*init)(void *scratch, size_t bytes, cudaStream_t stream);
    cudaError_t (*launch)(const T *in, O *out, const std::vector<size_t> &counts, size_t rank,
                          size_t first, void *scratch, size_t bytes, ncclComm_t comm,
                          cudaStream_t stream);
    int made; // how many O come out; 0: as many as there are elements
};

#define BYTES_OF(name)                                                                             \
    [](const std::vector<size_t> &counts, size_t rank, ncclComm_t comm) {                          \
        return name##_scratch_bytes_nccl(counts[rank], comm);                                      \
    },                                                                                             \
        name##_scratch_init_nccl
#define LAUNCH_OF(T, O, ...)                                                                       \
    [](const T *in, O *out, const std::vector<size_t> &counts, size_t rank, size_t first,          \
       void *scratch, size_t bytes, ncclComm_t comm, cudaStream_t stream) {                        \
        (void)first;                                                                               \
        (void)rank;                                                                                \
        return __VA_ARGS__;                                                                        \
    }
#define PLAIN(name, T, O, made)                                                                    \
    {                                                                                              \
        BYTES_OF(name),                                                                            \
            LAUNCH_OF(T, O,                                                                        \
                      name##_launch_nccl(in, out, counts[rank], scratch, bytes, comm, stream)),    \
            made                                                                                   \
    }
#define INDEXED(name, T, O, made)                                                                  \
    {                                                                                              \
        BYTES_OF(name),                                                                            \
            LAUNCH_OF(                                                                             \
                T, O,                                                                              \
                name##_launch_nccl(in, out, counts[rank], first, scratch, bytes, comm, stream)),   \
            made                                                                                   \
    }
#define OF_ALL(name, T, O)                                                                         \
    {                                                                                              \
        [](const std::vector<size_t> &counts, size_t, ncclComm_t comm) {                           \
            return name##_scratch_bytes_nccl(counts.data(), comm);                                 \
        },                                                                                         \
            name##_scratch_init_nccl,                                                              \
            LAUNCH_OF(T, O,                                                                        \
                      name##_launch_nccl(in, out, counts.data(), scratch, bytes, comm, stream)),   \
            1                                                                                      \
    }

static size_t sum_of(const std::vector<size_t> &counts)
{
    size_t sum = 0;
    for (size_t n : counts)
        sum += n;
    return sum;
}

// What came out on each rank; or nothing, where anything failed, was written that must not be, or came out otherwise at
// the second launch. x: the elements of all ranks.
template <class T, class O>
static std::vector<std::vector<O>>
made_by(const pattern<T, O> &p, test_ranks &ranks, const std::vector<T> &x,
        const std::vector<size_t> &counts, size_t offset, bool in_place = false)
{
    const size_t count = counts.size();
    std::vector<std::vector<O>> made(count);
    std::vector<char> ok(count, 1);
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        size_t first = 0;
        for (size_t r = 0; r < rank; r++)
            first += counts[r];
        const size_t n = counts[rank], outs = p.made ? (size_t)p.made : n;
        const size_t bytes = p.bytes(counts, rank, *comm);
        const test_array in(n * sizeof(T), offset * sizeof(T)), scratch(bytes);
        const test_array apart(outs * sizeof(O), sizeof(O));
        const test_array &out = in_place ? in : apart;
        std::vector<O> before;
        made[rank].resize(outs);
        CHECK(p.init(scratch.get(), bytes, stream));
        for (int k = 0; k < 2; k++) {
            in.fill(x.data() + first);
            cudaError_t status = p.launch((const T *)in.get(), (O *)out.get(), counts, rank, first,
                                          scratch.get(), bytes, *comm, stream);
            if (status == cudaSuccess)
                status = coarsen_nccl_wait(comm, stream, SECONDS);
            if (status != cudaSuccess) {
                ok[rank] = 0;
                return;
            }
            out.read(made[rank].data());
            ok[rank] &= k == 0 || memcmp(before.data(), made[rank].data(), outs * sizeof(O)) == 0;
            before = made[rank];
        }
        ok[rank] &= in.intact() && out.intact() && scratch.intact();
    });
    for (char each : ok)
        if (!each)
            made.clear();
    return made;
}

template <class T> static bool same_bits(const T &a, const T &b)
{
    return memcmp(&a, &b, sizeof(T)) == 0;
}

// Whether all ranks have the same bits, and what they have.
template <class O> static bool agreed(const std::vector<std::vector<O>> &made, std::vector<O> *out)
{
    if (made.empty())
        return false;
    for (const std::vector<O> &each : made)
        if (each.size() != made[0].size() ||
            memcmp(each.data(), made[0].data(), each.size() * sizeof(O)) != 0)
            return false;
    *out = made[0];
    return true;
}

// Calls test(ranks, counts, offset) for many sizes with each number of ranks; whether it was true for all. most: of each
// rank.
template <class Test> static bool for_sizes(size_t most, Test test)
{
    bool ok = true;
    for (size_t count : test_rank_counts()) {
        test_ranks ranks(count);
        for (int k = 0; k < TEST_SPREADS && ok; k++) {
            test_order(k % test_order_count());
            const std::vector<size_t> counts = test_spread(k, count, most, 7 + k);
            ok = test(ranks, counts, (size_t)k % 4);
        }
        if (ok)
            ok = test(ranks, std::vector<size_t>(count, 0), (size_t)0);
        if (!ok)
            tap_diag("of %zu ranks", count);
    }
    return ok;
}

template <class T> static std::vector<T> random_of(size_t n, uint64_t seed)
{
    std::vector<T> x(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (T)(test_random(seed, i) % 251);
    return x;
}

static std::vector<float> random_floats(size_t n, uint64_t seed)
{
    std::vector<float> x(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(int)test_random(seed, i) / 7;
    return x;
}

// ---- reduction ----

#if TESTED(reduce)
static void test_reduce(void)
{
    const pattern<unsigned int, unsigned int> of_numbers =
        PLAIN(numbers, unsigned int, unsigned int, 1);
    const pattern<float, float> of_floats = PLAIN(floats, float, float, 1);
    const pattern<float, greatest_at> of_greatest = INDEXED(greatest, float, greatest_at, 1);
    const pattern<float, float> of_tree = OF_ALL(tree, float, float);
    const pattern<signed char, unsigned long long> of_places =
        OF_ALL(places, signed char, unsigned long long);

    tap_ok(for_sizes(5000,
                     [&](test_ranks &ranks, const std::vector<size_t> &counts, size_t offset) {
                         const std::vector<unsigned int> x =
                             random_of<unsigned int>(sum_of(counts), 1);
                         std::vector<unsigned int> out;
                         unsigned int want = 0;
                         for (unsigned int each : x)
                             want += each;
                         return agreed(made_by(of_numbers, ranks, x, counts, offset), &out) &&
                                out[0] == want;
                     }),
           "reduce.h: the sum of all ranks' ints");

    tap_ok(for_sizes(20000,
                     [&](test_ranks &ranks, const std::vector<size_t> &counts, size_t offset) {
                         const std::vector<float> x = random_floats(sum_of(counts), 2);
                         std::vector<float> out;
                         double want = 0, magnitude = 0;
                         for (float each : x) {
                             want += each;
                             magnitude += each < 0 ? -each : each;
                         }
                         if (!agreed(made_by(of_floats, ranks, x, counts, offset), &out))
                             return false;
                         const double apart = out[0] - want;
                         return (apart < 0 ? -apart : apart) <= 1e-5 * magnitude;
                     }),
           "reduce.h: a sum of floats, whose bits all ranks share, and the next launch");

    tap_ok(for_sizes(3000,
                     [&](test_ranks &ranks, const std::vector<size_t> &counts, size_t offset) {
                         const std::vector<float> x = random_of<float>(sum_of(counts), 3);
                         std::vector<greatest_at> out;
                         size_t want = 0;
                         for (size_t i = 0; i < x.size(); i++)
                             if (x[i] > x[want])
                                 want = i;
                         return agreed(made_by(of_greatest, ranks, x, counts, offset), &out) &&
                                out[0].index == (x.empty() ? -1 : (int)want) &&
                                (x.empty() || out[0].value == x[want]);
                     }),
           "reduce.h: where the greatest is, in the arrays of all ranks");

    // The array is the same, and the way in which it is divided is not.
    const std::vector<float> whole = random_floats(5300, 4);
    const std::vector<signed char> items = random_of<signed char>(5300, 5);
    std::vector<float> bits;
    bool ok = true;
    for (size_t n : {0, 1, 999, 1000, 1001, 5300}) {
        const std::vector<float> x(whole.begin(), whole.begin() + (ptrdiff_t)n);
        const std::vector<signed char> y(items.begin(), items.begin() + (ptrdiff_t)n);
        unsigned long long want = 0;
        for (size_t i = 0; i < n; i++)
            want += (unsigned long long)y[i] * i;
        bits.clear();
        for (size_t count : test_rank_counts()) {
            test_ranks ranks(count);
            for (int k = 0; k < TEST_SPREADS && ok; k++) {
                std::vector<size_t> counts = test_spread(k, count, n / count, 11 + k);
                counts[test_random(n, (uint64_t)k) % count] += n - sum_of(counts);
                std::vector<float> out;
                std::vector<unsigned long long> sum;
                ok = agreed(made_by(of_tree, ranks, x, counts, (size_t)k % 4), &out) &&
                     agreed(made_by(of_places, ranks, y, counts, (size_t)k), &sum) &&
                     sum[0] == want;
                if (ok && bits.empty())
                    bits = out;
                ok = ok && same_bits(out[0], bits[0]);
                if (!ok)
                    tap_diag("%zu elements, %zu ranks, spread %d", n, count, k);
            }
        }
    }
    tap_ok(ok, "reduce.h: a fixed tree gives the same bits with any number of ranks, however the "
               "elements are divided, and LIFT their indices");

    // One chunk is what one GPU makes of it.
    {
        const test_array in(1000 * sizeof(float)), out(sizeof(float)),
            scratch(tree_scratch_bytes(1000));
        const std::vector<float> x(whole.begin(), whole.begin() + 1000);
        float one;
        test_ranks ranks(1);
        std::vector<float> made;
        in.fill(x.data());
        CHECK(tree_scratch_init(scratch.get(), scratch.bytes, 0));
        CHECK(tree_launch((const float *)in.get(), (float *)out.get(), 1000, scratch.get(),
                          scratch.bytes, 0));
        out.read(&one);
        tap_ok(agreed(made_by(of_tree, ranks, x, {1000}, 0), &made) && same_bits(made[0], one),
               "reduce.h: the bits of a chunk are those of one GPU");
    }
}
#endif

// ---- histogram ----

#if TESTED(histogram)
template <class O>
static bool counted(const pattern<unsigned char, O> &p, O (*weight)(unsigned char),
                    unsigned int (*bin)(unsigned char))
{
    return for_sizes(
        5000, [&](test_ranks &ranks, const std::vector<size_t> &counts, size_t offset) {
            const std::vector<unsigned char> x = random_of<unsigned char>(sum_of(counts), 21);
            std::vector<O> out, want((size_t)p.made);
            for (unsigned char each : x)
                if (bin(each) < want.size())
                    want[bin(each)] += weight(each);
            return agreed(made_by(p, ranks, x, counts, offset), &out) && out == want;
        });
}

static void test_histogram(void)
{
    const pattern<unsigned char, unsigned int> of_bins =
        PLAIN(bins, unsigned char, unsigned int, 100);
    const pattern<unsigned char, double> of_weights = PLAIN(weights, unsigned char, double, 300);
    const pattern<unsigned char, int> of_debts = PLAIN(debts, unsigned char, int, 7);
    tap_ok(counted<unsigned int>(
               of_bins, [](unsigned char) { return 1u; },
               [](unsigned char x) { return (unsigned int)x; }),
           "histogram.h: counts of all ranks' bytes");
    tap_ok(counted<double>(
               of_weights, [](unsigned char x) { return x * 0.25; },
               [](unsigned char x) { return (unsigned int)x / 2; }),
           "histogram.h: sums of weights, in doubles");
    tap_ok(counted<int>(
               of_debts, [](unsigned char x) { return 3 - (int)x; },
               [](unsigned char x) { return (unsigned int)x; }),
           "histogram.h: sums of negative weights, in ints");
    test_ranks ranks(1);
    tap_ok(bins_scratch_bytes_nccl(100, ranks.comms[0]) == 0 &&
               weights_scratch_bytes_nccl(100, ranks.comms[0]) == 300 * sizeof(double),
           "histogram.h: a scratch for sums that round alone");
}
#endif

// ---- scan ----

#if TESTED(scan)
// Whether each result is combine(all before it), starting with `none`, as what is included says.
template <class T, class Combine>
static bool scanned(const pattern<T, T> &p, size_t most, bool exclusive, bool in_place, T none,
                    std::vector<T> (*make)(size_t, uint64_t), Combine combine)
{
    return for_sizes(
        most, [&](test_ranks &ranks, const std::vector<size_t> &counts, size_t offset) {
            const std::vector<T> x = make(sum_of(counts), 31);
            const std::vector<std::vector<T>> made = made_by(p, ranks, x, counts, offset, in_place);
            T sum = none;
            size_t i = 0;
            if (made.empty())
                return false;
            for (const std::vector<T> &each : made)
                for (const T &result : each) {
                    const T next = combine(sum, x[i], i);
                    if (!same_bits(result, exclusive ? sum : next))
                        return false;
                    sum = next;
                    i++;
                }
            return i == x.size();
        });
}

static std::vector<affine> random_affine(size_t n, uint64_t seed)
{
    std::vector<affine> x(n);
    for (size_t i = 0; i < n; i++)
        x[i] = affine{(unsigned int)test_random(seed, i) | 1, (unsigned int)i};
    return x;
}

static std::vector<float> small_floats(size_t n, uint64_t seed) // whose sums are exact
{
    std::vector<float> x = random_of<float>(n, seed);
    for (float &each : x)
        each = (float)((int)each % 64);
    return x;
}

static void test_scan(void)
{
    const pattern<unsigned int, unsigned int> of_running =
        PLAIN(running, unsigned int, unsigned int, 0);
    const pattern<float, float> of_floats = PLAIN(running_floats, float, float, 0);
    const pattern<affine, affine> of_composed = INDEXED(composed, affine, affine, 0);
    const auto add = [](unsigned int a, unsigned int b, size_t) { return a + b; };
    for (int in_place = 0; in_place < 2; in_place++)
        tap_ok(scanned<unsigned int>(of_running, 3000, false, in_place == 1, 0u,
                                     random_of<unsigned int>, add),
               "scan.h: ints, inclusive%s", in_place ? ", in place" : "");
    tap_ok(scanned<float>(of_floats, 6000, false, false, 0.0f, small_floats,
                          [](float a, float b, size_t) { return a + b; }),
           "scan.h: floats");
    tap_ok(scanned<affine>(
               of_composed, 1000, true, false, affine{1, 0}, random_affine,
               [](affine a, affine b, size_t i) { return affine_then(a, affine_lift(b, i)); }),
           "scan.h: an operator that does not commute, with indices, exclusive");

    // Sums that round: made_by() compares two launches.
    test_ranks ranks(test_rank_counts().back());
    const std::vector<size_t> counts = test_spread(5, ranks.comms.size(), 20000, 3);
    tap_ok(!made_by(of_floats, ranks, random_floats(sum_of(counts), 9), counts, 1).empty(),
           "scan.h: the same bits on every run");
}
#endif

// ---- errors ----

// A launch with what `wrong` makes of its arguments: 1 to 5.
template <class T, class O>
static cudaError_t wrong_launch(const pattern<T, O> &p, int wrong, const test_array &in,
                                const test_array &out, const test_array &scratch, size_t bytes,
                                const std::vector<size_t> &counts, size_t rank, ncclComm_t comm,
                                cudaStream_t stream)
{
    char *const work = (char *)scratch.get();
    return p.launch(wrong == 1 ? NULL : (const T *)in.get(), wrong == 2 ? NULL : (O *)out.get(),
                    counts, rank, 0, wrong == 3 ? work + 8 : work, wrong == 4 ? bytes - 1 : bytes,
                    wrong == 5 ? NULL : comm, stream);
}

// p: with a scratch.
template <class T, class O> static void test_errors(const char *name, const pattern<T, O> &p)
{
    const size_t count = test_rank_counts().back() < 3 ? test_rank_counts().back() : 3, n = 1000;
    const std::vector<size_t> counts(count, n);
    const std::vector<T> x(count * n);
    test_ranks ranks(count);
    const size_t outs = p.made ? (size_t)p.made : n;
    std::vector<char> ok(count, 1);
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        const size_t bytes = p.bytes(counts, rank, *comm);
        const test_array in(n * sizeof(T)), out(outs * sizeof(O)), scratch(bytes + 8);
        for (int wrong = 1; wrong <= 5; wrong++)
            ok[rank] &= wrong_launch(p, wrong, in, out, scratch, bytes, counts, rank, *comm,
                                     stream) == cudaErrorInvalidValue;
        CHECK(cudaStreamSynchronize(stream));
        ok[rank] &= out.untouched() && scratch.untouched() && p.bytes(counts, rank, NULL) == 0;
    });
    bool all = true;
    for (char each : ok)
        all &= each != 0;
    tap_ok(all && !made_by(p, ranks, x, counts, 0).empty(),
           "%s: wrong arguments are refused, nothing is written or sent, and the next launch works",
           name);

    if (count == 1)
        return;
    {
        const test_array in(n * sizeof(T)), out(outs * sizeof(O)),
            scratch(p.bytes(counts, 0, ranks.comms[0]));
        CHECK(cudaSetDevice(1));
        const cudaError_t status =
            wrong_launch(p, 0, in, out, scratch, scratch.bytes, counts, 0, ranks.comms[0], 0);
        CHECK(cudaSetDevice(0));
        tap_ok(status == cudaErrorInvalidDevice && out.untouched(),
               "%s: so is the communicator of another device", name);
    }

    // The last rank fails when the others have begun. They must not wait for it for ever.
    std::atomic<size_t> begun(0);
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        const size_t bytes = p.bytes(counts, rank, *comm);
        const test_array in(n * sizeof(T)), out(outs * sizeof(O)), scratch(bytes + 8);
        const bool fails = rank + 1 == count;
        in.zero();
        CHECK(p.init(scratch.get(), bytes, stream));
        CHECK(cudaStreamSynchronize(stream));
        begun++;
        if (fails) {
            const double start = coarsen_nccl_now();
            while (begun < count || coarsen_nccl_now() < start + 0.05)
                sched_yield();
        }
        // On simt the launch itself waits for the others' parts.
        const cudaError_t status =
            wrong_launch(p, fails, in, out, scratch, bytes, counts, rank, *comm, stream);
        if (fails) {
            ok[rank] = status == cudaErrorInvalidValue;
            ncclCommAbort(*comm);
            *comm = NULL;
            return;
        }
        ok[rank] = status == cudaSuccess || status == cudaErrorUnknown;
        ok[rank] &= coarsen_nccl_wait(comm, stream, 5) != cudaSuccess && !*comm;
        ok[rank] &= coarsen_nccl_wait(comm, stream, 5) == cudaErrorInvalidValue;
        cudaStreamSynchronize(stream); // which has nothing left to wait for
    });
    for (char each : ok)
        all &= each != 0;
    tap_ok(all, "%s: where one rank fails, the others end with an error", name);
}

#if TESTED(base)
static void test_counts(void)
{
    bool ok = true;
    for (size_t count : test_rank_counts()) {
        test_ranks ranks(count);
        std::vector<char> right(count);
        ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
            std::vector<size_t> counts(count + 1, 99);
            const size_t bytes = coarsen_nccl_counts_bytes(*comm);
            const test_array scratch(bytes);
            right[rank] = coarsen_nccl_counts(1, counts.data(), scratch.get(), bytes - 1, comm,
                                              stream, SECONDS) == cudaErrorInvalidValue;
            right[rank] &= coarsen_nccl_counts(rank * 1000, counts.data(), scratch.get(), bytes,
                                               comm, stream, SECONDS) == cudaSuccess;
            for (size_t r = 0; r < count; r++)
                right[rank] &= counts[r] == r * 1000;
            right[rank] &= counts[count] == 99 && scratch.intact();
        });
        for (char each : right)
            ok &= each != 0;
    }
    tap_ok(ok && coarsen_nccl_counts_bytes(NULL) == 0, "base.h: each rank's size, on all of them");
    tap_ok(coarsen_nccl_check(ncclSuccess, NULL) == cudaSuccess &&
               coarsen_nccl_check(ncclRemoteError, NULL) == cudaErrorUnknown &&
               strstr(coarsen_nccl_error(NULL), ncclGetErrorString(ncclRemoteError)) != NULL,
           "base.h: coarsen_nccl_error says what NCCL's error was");

    const size_t count = test_rank_counts().back() < 3 ? test_rank_counts().back() : 3;
    test_ranks ranks(count);
    std::vector<char> right(count);
    if (count == 1)
        return;
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        std::vector<size_t> counts(count);
        const test_array scratch(coarsen_nccl_counts_bytes(*comm));
        if (rank == 0) {
            ncclCommAbort(*comm);
            *comm = NULL;
        } else if (coarsen_nccl_counts(1, counts.data(), scratch.get(), scratch.bytes, comm, stream,
                                       5) != cudaSuccess) {
            right[rank] = !*comm || coarsen_nccl_wait(comm, stream, 5) != cudaSuccess;
        }
        right[rank] = rank == 0 || (right[rank] && !*comm);
        right[rank] &= coarsen_nccl_wait(comm, stream, 5) == cudaErrorInvalidValue;
    });
    for (char each : right)
        ok &= each != 0;
    tap_ok(ok, "base.h: a communicator that a rank left is aborted by the others");
}
#endif

int main(void)
{
    test_ranks_begin();
#if TESTED(reduce)
    test_reduce();
    test_errors<float, float>("reduce.h", PLAIN(floats, float, float, 1));
    test_errors<float, float>("reduce.h, a fixed tree", OF_ALL(tree, float, float));
#endif
#if TESTED(histogram)
    test_histogram();
    test_errors<unsigned char, double>("histogram.h", PLAIN(weights, unsigned char, double, 300));
#endif
#if TESTED(scan)
    test_scan();
    test_errors<unsigned int, unsigned int>("scan.h",
                                            PLAIN(running, unsigned int, unsigned int, 0));
#endif
#if TESTED(base)
    test_counts();
#endif
    return tap_done();
}
