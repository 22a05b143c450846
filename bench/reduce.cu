// SPDX-License-Identifier: MIT
//
// bench/reduce.cu: sums. Each rung of the reduction ladder and reduce.h beside cub::DeviceReduce::Sum
// and a device copy; reduce.h with a fixed tree, at a 16-byte boundary and past one; with n from the device; the greatest
// and where it is, beside cub::DeviceReduce::ArgMax; and sums of views, beside one of an array as long. With --sweep: every pair of knobs of the three rungs that have a COARSE_FACTOR.
//
// The file includes itself, once for each type (the rungs with their default knobs) and once for each
// pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME         SWEEP_NAME(coarsened)
#define COARSEN_TYPE         float
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#define BLOCK_DIM            SWEEP_BLOCK_DIM
#define COARSE_FACTOR        SWEEP_COARSE_FACTOR
#include <coarsen/reduce/coarsened.h>
VARIANT(coarsened);

#define COARSEN_NAME  SWEEP_NAME(last_block)
#define COARSEN_TYPE  float
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/reduce/last_block.h>
VARIANT(last_block);

#define COARSEN_NAME  SWEEP_NAME(single_pass)
#define COARSEN_TYPE  float
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/reduce/single_pass.h>
VARIANT(single_pass);

#elif defined(REDUCE_TYPE) // ---- the rungs of one type ------------------------------------------

#define COARSEN_NAME COARSEN_JOIN(simple_, REDUCE_TYPE)
#define COARSEN_TYPE REDUCE_TYPE
#include <coarsen/reduce/simple.h>
RUNG(simple, "simple", true, 20);

#define COARSEN_NAME COARSEN_JOIN(convergent_, REDUCE_TYPE)
#define COARSEN_TYPE REDUCE_TYPE
#include <coarsen/reduce/convergent.h>
RUNG(convergent, "convergent", true, 20);

#define COARSEN_NAME COARSEN_JOIN(shared_, REDUCE_TYPE)
#define COARSEN_TYPE REDUCE_TYPE
#include <coarsen/reduce/shared.h>
RUNG(shared, "shared", false, 20);

#define COARSEN_NAME         COARSEN_JOIN(multiblock_, REDUCE_TYPE)
#define COARSEN_TYPE         REDUCE_TYPE
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/multiblock.h>
RUNG(multiblock, "multiblock", false, 40);

#define COARSEN_NAME         COARSEN_JOIN(coarsened_, REDUCE_TYPE)
#define COARSEN_TYPE         REDUCE_TYPE
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/coarsened.h>
RUNG(coarsened, "coarsened", false, 40);

#define COARSEN_NAME COARSEN_JOIN(last_block_, REDUCE_TYPE)
#define COARSEN_TYPE REDUCE_TYPE
#include <coarsen/reduce/last_block.h>
RUNG(last_block, "last_block", false, 40);

#define COARSEN_NAME COARSEN_JOIN(single_pass_, REDUCE_TYPE)
#define COARSEN_TYPE REDUCE_TYPE
#include <coarsen/reduce/single_pass.h>
RUNG(single_pass, "single_pass", false, 40);

#define COARSEN_NAME COARSEN_JOIN(reduce_, REDUCE_TYPE)
#define COARSEN_TYPE REDUCE_TYPE
#include <coarsen/reduce.h>
RUNG(reduce, "reduce.h", false, 40);

#define COARSEN_NAME       COARSEN_JOIN(fixed_, REDUCE_TYPE)
#define COARSEN_TYPE       REDUCE_TYPE
#define COARSEN_FIXED_TREE 1
#include <coarsen/reduce.h>
RUNG(fixed, "fixed tree", false, 40);

#undef REDUCE_TYPE

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_reduce.cuh>

#include <algorithm>
#include <cmath>

template <typename T> struct rung {
    const char *kernel, *knobs;
    bool in_place;    // overwrites its input
    int max_exponent; // beyond, one block takes too long
    std::function<size_t(size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init;
    std::function<cudaError_t(T *, T *, size_t, void *, size_t, cudaStream_t)> launch;
    std::function<void(bench_entry *)> describe;
};

#define RUNG(stem, kernel, in_place, max_exponent)                                                 \
    static const bool COARSEN_JOIN(COARSEN_JOIN(stem##_, REDUCE_TYPE), _added) =                   \
        bench_add(bench_rungs<rung<REDUCE_TYPE>>(),                                                \
                  {kernel, "", in_place, max_exponent,                                             \
                   COARSEN_JOIN(COARSEN_JOIN(stem##_, REDUCE_TYPE), _scratch_bytes),               \
                   COARSEN_JOIN(COARSEN_JOIN(stem##_, REDUCE_TYPE), _scratch_init),                \
                   COARSEN_JOIN(COARSEN_JOIN(stem##_, REDUCE_TYPE), _launch), nullptr})

#define VARIANT(stem)                                                                              \
    static const bool COARSEN_JOIN(SWEEP_NAME(stem), _added) = bench_add(                          \
        bench_variants<rung<float>>(),                                                             \
        {#stem, SWEEP_KNOBS, false, 40, COARSEN_JOIN(SWEEP_NAME(stem), _scratch_bytes),            \
         COARSEN_JOIN(SWEEP_NAME(stem), _scratch_init), COARSEN_JOIN(SWEEP_NAME(stem), _launch),   \
         [](bench_entry *entry) {                                                                  \
             bench_occupancy(entry, COARSEN_JOIN(SWEEP_NAME(stem), _kernel), SWEEP_BLOCK_DIM);     \
         }})

#define REDUCE_TYPE float
#include "reduce.cu"
#define REDUCE_TYPE int
#include "reduce.cu"

#define COARSEN_NAME   argmax_32
#define COARSEN_TYPE   float
#define COARSEN_ARGMAX unsigned int
#include <coarsen/reduce.h>

#define COARSEN_NAME   argmax_64
#define COARSEN_TYPE   float
#define COARSEN_ARGMAX size_t
#include <coarsen/reduce.h>

#define COARSEN_NAME    counted
#define COARSEN_TYPE    float
#define COARSEN_COUNTED 1
#include <coarsen/reduce.h>

#define COARSEN_NAME view_u8
#define COARSEN_TYPE unsigned char
#define COARSEN_ACC  unsigned int
#define COARSEN_VIEW 1
#include <coarsen/reduce.h>

#define COARSEN_NAME view_f32
#define COARSEN_TYPE float
#define COARSEN_VIEW 1
#include <coarsen/reduce.h>

#define COARSEN_NAME view_f64
#define COARSEN_TYPE double
#define COARSEN_VIEW 1
#include <coarsen/reduce.h>

#define COARSEN_NAME       view_fixed
#define COARSEN_TYPE       float
#define COARSEN_VIEW       1
#define COARSEN_FIXED_TREE 1
#include <coarsen/reduce.h>

#define SWEEP_VARIANT "reduce.cu"
#include "sweep.h"

// ---- the reference: in double or 64 bits, on the device; nothing that is timed takes part -----------

__global__ void reference_kernel(const float *in, size_t n, double *sum)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    double mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        mine += in[i];
    atomicAdd(sum, mine);
}

__global__ void reference_kernel(const int *in, size_t n, unsigned long long *sum)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    long long mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        mine += in[i];
    atomicAdd(sum, (unsigned long long)mine);
}

template <typename T, typename Wide> static Wide reference(const T *in, size_t n)
{
    std::shared_ptr<void> sum = bench_zeroed(sizeof(Wide));
    reference_kernel<<<256, 256>>>(in, n, (Wide *)sum.get());
    BENCH_CHECK(cudaGetLastError());
    Wide host;
    BENCH_CHECK(cudaMemcpy(&host, sum.get(), sizeof host, cudaMemcpyDeviceToHost));
    return host;
}

static double exact(const float *in, size_t n)
{
    return reference<float, double>(in, n);
}

static long long exact(const int *in, size_t n)
{
    return (long long)reference<int, unsigned long long>(in, n);
}

// Rounding errors add up at random. Values are in [-1, 1), so the running sum stays near sqrt(n), and no
// more than n / 32 additions go to a sum of all. So a lost element shows up to about n = 2^24. With int,
// which is exact, it shows at any n.
static bool right(float sum, double wanted, size_t n)
{
    return std::fabs(sum - wanted) <= (n / 8.0 + 64 * std::sqrt((double)n)) * 0x1p-24;
}

static bool right(int sum, long long wanted, size_t)
{
    return sum == wanted;
}

// ---- contests -------------------------------------------------------------------------------------

template <typename T>
static void sums(bench &b, const char *type, const std::vector<rung<T>> &list,
                 const std::vector<int> &exponents)
{
    const auto bytes_at = [](int e) { return (1ull << e) * sizeof(T); };
    std::vector<int> sizes;
    for (int e : exponents)
        if (b.fits(2.0 * bytes_at(e),
                   ("reduce, " + std::string(type) + ", n = 2^" + std::to_string(e)).c_str()))
            sizes.push_back(e);
    if (sizes.empty())
        return;
    const size_t most = bytes_at(sizes.back());
    const std::shared_ptr<void> input = bench_alloc(most), other = bench_alloc(most);
    const std::shared_ptr<void> result = bench_alloc(sizeof(T));
    T *const in = (T *)input.get(), *const copy = (T *)other.get(), *const out = (T *)result.get();
    bench_fill(in, most / sizeof(T), 1);

    for (int e : sizes) {
        const size_t n = (size_t)1 << e;
        const auto wanted = exact(in, n);
        bench_contest contest("reduce", type, n);

        bench_entry sum; // what all entries except the copy share
        sum.bytes = n * sizeof(T);
        sum.poison = [=] { BENCH_CHECK(cudaMemset(out, 0xff, sizeof(T))); };
        sum.check = [=](std::string *why) {
            T got;
            BENCH_CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
            *why = std::to_string(got) + ", not " + std::to_string(wanted);
            return right(got, wanted, n);
        };

        bench_entry copied = bench_copy({{copy, in, n * sizeof(T)}}, [=] {
            BENCH_CHECK(cudaMemset(copy, 0xff, n * sizeof(T)));
        });
        copied.check = [=](std::string *why) {
            const auto got = exact(copy, n);
            *why = "a sum of " + std::to_string(got) + ", not " + std::to_string(wanted);
            return right((T)got, wanted, n);
        };
        contest.entries.push_back(copied);

        // 32-bit sizes, with which CUB is faster. Its scratch is made outside the timing.
        size_t cub_bytes = 0;
        BENCH_CHECK(cub::DeviceReduce::Sum(nullptr, cub_bytes, (const T *)in, out, (int)n));
        const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
        bench_entry cub = sum;
        cub.kernel = "CUB";
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return cub::DeviceReduce::Sum(cub_scratch.get(), bytes, (const T *)in, out, (int)n,
                                          stream);
        };
        contest.entries.push_back(cub);

        for (const rung<T> &r : list) {
            if (e > r.max_exponent)
                continue;
            const size_t scratch_bytes = r.scratch_bytes(n);
            const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
            BENCH_CHECK(r.scratch_init(scratch.get(), scratch_bytes, 0));
            bench_entry entry = sum;
            entry.kernel = r.kernel;
            entry.knobs = r.knobs;
            if (r.describe)
                r.describe(&entry);
            T *const data = r.in_place ? copy : in;
            if (r.in_place)
                entry.prepare = copied.launch;
            entry.launch = [=](cudaStream_t stream) {
                return r.launch(data, out, n, scratch.get(), scratch_bytes, stream);
            };
            contest.entries.push_back(entry);
        }
        b.run(contest);
    }
}

// The greatest of floats, of which many are equal, and where the first of them is.
template <typename At, typename Index>
static bench_entry greatest(const char *kernel, size_t n, At *out, Index At::*index, Index wanted,
                            std::function<cudaError_t(cudaStream_t)> launch)
{
    bench_entry entry;
    entry.kernel = kernel;
    entry.bytes = n * sizeof(float);
    entry.launch = launch;
    entry.poison = [=] { BENCH_CHECK(cudaMemset(out, 0xff, sizeof(At))); };
    entry.check = [=](std::string *why) {
        At got;
        BENCH_CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
        *why = std::to_string(got.*index) + ", not " + std::to_string(wanted);
        return got.*index == wanted;
    };
    return entry;
}

#pragma GCC diagnostic push // CUB has another form too, which gives value and index apart
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void args(bench &b, const std::vector<int> &exponents)
{
    typedef cub::KeyValuePair<int, float> pair;
    for (int e : exponents) {
        const size_t n = (size_t)1 << e;
        if (e > 30 || !b.fits(n * 4.0, "argmax"))
            continue;
        const std::shared_ptr<void> input = bench_alloc(n * sizeof(float)),
                                    result = bench_alloc(16);
        float *const in = (float *)input.get();
        bench_fill(in, n, 1);
        std::vector<float> host(n);
        BENCH_CHECK(cudaMemcpy(host.data(), in, n * sizeof(float), cudaMemcpyDeviceToHost));
        const size_t at = (size_t)(std::max_element(host.begin(), host.end()) - host.begin());
        bench_contest contest("argmax", "float", n);
        contest.copy = "CUB";
        size_t cub_bytes = 0;
        pair *const to = (pair *)result.get();
        BENCH_CHECK(cub::DeviceReduce::ArgMax(nullptr, cub_bytes, (const float *)in, to, (int)n));
        const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
        contest.entries.push_back(
            greatest("CUB", n, to, &pair::key, (int)at, [=](cudaStream_t stream) {
                size_t bytes = cub_bytes;
                return cub::DeviceReduce::ArgMax(cub_scratch.get(), bytes, (const float *)in, to,
                                                 (int)n, stream);
            }));
        const size_t bytes_32 = argmax_32_scratch_bytes(n), bytes_64 = argmax_64_scratch_bytes(n);
        const std::shared_ptr<void> scratch_32 = bench_zeroed(bytes_32),
                                    scratch_64 = bench_zeroed(bytes_64);
        argmax_32_at *const to_32 = (argmax_32_at *)result.get();
        argmax_64_at *const to_64 = (argmax_64_at *)result.get();
        contest.entries.push_back(
            greatest("reduce.h, unsigned int", n, to_32, &argmax_32_at::index, (unsigned int)at,
                     [=](cudaStream_t stream) {
                         return argmax_32_launch(in, to_32, n, scratch_32.get(), bytes_32, stream);
                     }));
        contest.entries.push_back(greatest(
            "reduce.h, size_t", n, to_64, &argmax_64_at::index, at, [=](cudaStream_t stream) {
                return argmax_64_launch(in, to_64, n, scratch_64.get(), bytes_64, stream);
            }));
        b.run(contest);
    }
}

#pragma GCC diagnostic pop

// ---- a fixed tree, n from the device, and views ---------------------------------------------------

// A sum of floats, beside what is the peer.
static bench_entry sum_of(const char *kernel, const float *in, size_t n, float *out,
                          std::function<cudaError_t(cudaStream_t)> launch)
{
    const double wanted = exact(in, n);
    bench_entry entry;
    entry.kernel = kernel;
    entry.bytes = n * sizeof(float);
    entry.launch = launch;
    entry.poison = [=] { BENCH_CHECK(cudaMemset(out, 0xff, 4)); };
    entry.check = [=](std::string *why) {
        float got;
        BENCH_CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
        *why = std::to_string(got) + ", not " + std::to_string(wanted);
        return right(got, wanted, n);
    };
    return entry;
}

static void trees(bench &b, const std::vector<int> &exponents)
{
    for (int e : exponents)
        for (size_t past : {0, 1}) {
            const size_t n = (size_t)1 << e;
            if (e < 16 || !b.fits(n * 4.0, "fixed tree"))
                continue;
            const std::shared_ptr<void> input = bench_alloc((n + 1) * sizeof(float)),
                                        result = bench_alloc(4), number = bench_alloc(8);
            bench_fill((float *)input.get(), n + 1, 1);
            const float *const in = (const float *)input.get() + past;
            float *const out = (float *)result.get();
            const unsigned long long *const on_device = (unsigned long long *)number.get(),
                                            count = n;
            BENCH_CHECK(cudaMemcpy(number.get(), &count, 8, cudaMemcpyHostToDevice));
            const size_t bytes = reduce_float_scratch_bytes(n),
                         fixed_bytes = fixed_float_scratch_bytes(n);
            const std::shared_ptr<void> scratch = bench_zeroed(bytes),
                                        fixed_scratch = bench_zeroed(fixed_bytes);
            size_t cub_bytes = 0;
            BENCH_CHECK(cub::DeviceReduce::Sum(nullptr, cub_bytes, in, out, (int)n));
            const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
            bench_contest contest("fixed tree", "float", n);
            contest.data = past ? "one float past a boundary" : "at a 16-byte boundary";
            contest.peer = contest.copy = "reduce.h";
            const auto add = [&](const char *kernel,
                                 std::function<cudaError_t(cudaStream_t)> launch) {
                contest.entries.push_back(sum_of(kernel, in, n, out, launch));
            };
            add("reduce.h", [=](cudaStream_t stream) {
                return reduce_float_launch(in, out, n, scratch.get(), bytes, stream);
            });
            add("n from the device", [=](cudaStream_t stream) {
                return counted_launch_counted(in, out, on_device, n, scratch.get(), bytes, stream);
            });
            add("fixed tree", [=](cudaStream_t stream) {
                return fixed_float_launch(in, out, n, fixed_scratch.get(), fixed_bytes, stream);
            });
            add("CUB", [=](cudaStream_t stream) {
                size_t bytes = cub_bytes;
                return cub::DeviceReduce::Sum(cub_scratch.get(), bytes, in, out, (int)n, stream);
            });
            b.run(contest);
        }
}

template <typename T>
__global__ void view_reference_kernel(const T *in, size_t pitch, size_t rows, size_t width,
                                      double *sum)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    double mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows * width; i += stride)
        mine += in[i / width * pitch + i % width];
    atomicAdd(sum, mine);
}

template <typename T, typename Sum>
using launcher = cudaError_t (*)(const T *, size_t, size_t, size_t, Sum *, void *, size_t,
                                 cudaStream_t);

// Rows of 2^26 elements in all, with what is between them: of a pitch of whole 16-byte vectors, and of one with which they
// begin anywhere. Whole numbers are right to the last one.
template <typename T, typename Sum>
static void views(bench &b, const char *type, size_t (*scratch_bytes)(size_t),
                  launcher<T, Sum> view, size_t (*fixed_bytes)(size_t), launcher<T, Sum> fixed)
{
    const size_t total = (size_t)1 << 26, items = 16 / sizeof(T);
    if (!b.fits((double)total * sizeof(T), "views"))
        return;
    const std::shared_ptr<void> input = bench_alloc((total + 1) * sizeof(T)),
                                result = bench_alloc(sizeof(Sum));
    Sum *const out = (Sum *)result.get();
    bench_fill((T *)input.get(), total + 1, 1);
    for (size_t width : {7, 33, 64, 100, 256, 1000, 4096}) {
        const size_t whole = (width / items + 1) * items, any = width + 1 + width % 2;
        const size_t rows = total / std::max(whole, any), n = rows * width,
                     bytes = std::max(scratch_bytes(n), fixed_bytes ? fixed_bytes(n) : 0);
        const std::shared_ptr<void> scratch = bench_zeroed(bytes);
        bench_contest contest("view", type, n);
        contest.data = "rows of " + std::to_string(width);
        contest.peer = contest.copy = "one array";
        const auto add = [&](const char *kernel, launcher<T, Sum> launch, const T *in, size_t rows,
                             size_t width, size_t pitch) {
            const std::shared_ptr<void> sum = bench_zeroed(sizeof(double));
            view_reference_kernel<<<1024, 256>>>(in, pitch, rows, width, (double *)sum.get());
            BENCH_CHECK(cudaGetLastError());
            double wanted;
            BENCH_CHECK(cudaMemcpy(&wanted, sum.get(), 8, cudaMemcpyDeviceToHost));
            bench_entry entry;
            entry.kernel = kernel;
            entry.bytes = n * sizeof(T);
            entry.poison = [=] { BENCH_CHECK(cudaMemset(out, 0xff, sizeof(Sum))); };
            entry.check = [=](std::string *why) {
                Sum got;
                BENCH_CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
                *why = std::to_string(got) + ", not " + std::to_string(wanted);
                return (Sum)0.5 == 0 ? got == (Sum)(unsigned long long)wanted
                                     : right((float)got, wanted, n);
            };
            entry.launch = [=](cudaStream_t stream) {
                return launch(in, pitch, rows, width, out, scratch.get(), bytes, stream);
            };
            contest.entries.push_back(entry);
        };
        const T *const in = (const T *)input.get();
        add("one array", view, in, 1, n, n);
        add("rows at boundaries", view, in, rows, width, whole);
        add("rows anywhere", view, in + 1, rows, width, any);
        if (fixed) {
            add("fixed tree, rows at boundaries", fixed, in, rows, width, whole);
            add("fixed tree, rows anywhere", fixed, in + 1, rows, width, any);
        }
        b.run(contest);
    }
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Sums: the rungs of coarsen's reduction beside CUB's and a device copy.", "", 10, 30});
    if (b.sweep) {
        sums(b, "float", bench_variants<rung<float>>(), b.exponents(4));
    } else {
        sums(b, "float", bench_rungs<rung<float>>(), b.exponents(2));
        sums(b, "int", bench_rungs<rung<int>>(), b.exponents(2));
        args(b, b.exponents(4));
        trees(b, b.exponents(4));
        views<unsigned char, unsigned int>(b, "bytes", view_u8_scratch_bytes, view_u8_launch_view,
                                           nullptr, nullptr);
        views<float, float>(b, "float", view_f32_scratch_bytes, view_f32_launch_view,
                            view_fixed_scratch_bytes, view_fixed_launch_view);
        views<double, double>(b, "double", view_f64_scratch_bytes, view_f64_launch_view, nullptr,
                              nullptr);
    }
    return b.finish();
}

#endif
