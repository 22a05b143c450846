// SPDX-License-Identifier: MIT
//
// bench/select.cu: selection, unique and partition. select.h beside cub::DeviceSelect::If, ::Unique and
// cub::DevicePartition::If, and a device copy of the input. With --sweep: every pair of knobs.
//
// The file includes itself, once for each type and once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME        SWEEP_NAME(select)
#define COARSEN_TYPE        int
#define COARSEN_SCALAR      int
#define COARSEN_IF(x, i, s) ((x) < (s))
#define BLOCK_DIM           SWEEP_BLOCK_DIM
#define COARSE_FACTOR       SWEEP_COARSE_FACTOR
#include <coarsen/select.h>
VARIANT(select);

// ---- one type ----

#elif defined(SELECT_TYPE)

#define COARSEN_NAME        COARSEN_JOIN(select_, SELECT_NAME)
#define COARSEN_TYPE        SELECT_TYPE
#define COARSEN_SCALAR      SELECT_TYPE
#define COARSEN_IF(x, i, s) ((x) < (s))
#include SELECT_HEADER
RUNG(select, below);

#define COARSEN_NAME        COARSEN_JOIN(partition_, SELECT_NAME)
#define COARSEN_TYPE        SELECT_TYPE
#define COARSEN_SCALAR      SELECT_TYPE
#define COARSEN_IF(x, i, s) ((x) < (s))
#define COARSEN_PARTITION   1
#include SELECT_HEADER
RUNG(partition, parted);

// The scalar is for the sake of one signature.
#define COARSEN_NAME       COARSEN_JOIN(unique_, SELECT_NAME)
#define COARSEN_TYPE       SELECT_TYPE
#define COARSEN_SCALAR     SELECT_TYPE
#define COARSEN_SAME(a, b) ((a) == (b))
#include SELECT_HEADER
RUNG(unique, unlike);

#undef SELECT_TYPE
#undef SELECT_NAME

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

#ifndef SELECT_HEADER
#define SELECT_HEADER <coarsen/select.h>
#endif

// All values of a type, so that a share of them is below a limit.
struct any_int {
    int value;
};
template <> struct bench_value<any_int> {
    __host__ __device__ static any_int of(uint64_t bits)
    {
        return {(int)(bits >> 32)};
    }
};

template <typename T> struct rung {
    const char *kernel, *knobs;
    std::function<size_t(size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init;
    std::function<cudaError_t(const T *, T *, size_t, unsigned long long *, T, void *, size_t,
                              cudaStream_t)>
        launch;
};

// What is selected.
template <typename T> struct below { // a limit
    static const bool partition = false, run = false;
    T limit;
    __host__ __device__ bool operator()(T x) const
    {
        return x < limit;
    }
    __device__ bool at(const T *in, size_t i) const
    {
        return in[i] < limit;
    }
    cudaError_t cub(void *scratch, size_t &bytes, const T *in, T *out, unsigned long long *count,
                    size_t n, cudaStream_t stream) const
    {
        return cub::DeviceSelect::If(scratch, bytes, in, out, count, (int)n, *this, stream);
    }
};

template <typename T> struct parted : below<T> {
    static const bool partition = true;
    cudaError_t cub(void *scratch, size_t &bytes, const T *in, T *out, unsigned long long *count,
                    size_t n, cudaStream_t stream) const
    {
        return cub::DevicePartition::If(scratch, bytes, in, out, count, (int)n, below<T>(*this),
                                        stream);
    }
};

template <typename T> struct unlike { // the element before it
    static const bool partition = false, run = true;
    T limit; // unused
    __device__ bool at(const T *in, size_t i) const
    {
        return i == 0 || in[i] != in[i - 1];
    }
    cudaError_t cub(void *scratch, size_t &bytes, const T *in, T *out, unsigned long long *count,
                    size_t n, cudaStream_t stream) const
    {
        return cub::DeviceSelect::Unique(scratch, bytes, in, out, count, (int)n, stream);
    }
};

#define RUNG(stem, what)                                                                           \
    static const bool COARSEN_JOIN(COARSEN_JOIN(stem##_, SELECT_NAME), _added) = bench_add(        \
        bench_rungs<rung<SELECT_TYPE>, what<SELECT_TYPE>>(),                                       \
        {"select.h", "", COARSEN_JOIN(COARSEN_JOIN(stem##_, SELECT_NAME), _scratch_bytes),         \
         COARSEN_JOIN(COARSEN_JOIN(stem##_, SELECT_NAME), _scratch_init),                          \
         COARSEN_JOIN(COARSEN_JOIN(stem##_, SELECT_NAME), _launch)})

#define VARIANT(stem)                                                                              \
    static const bool COARSEN_JOIN(SWEEP_NAME(stem), _added) = bench_add(                          \
        bench_variants<rung<int>>(),                                                               \
        {"select.h", SWEEP_KNOBS, COARSEN_JOIN(SWEEP_NAME(stem), _scratch_bytes),                  \
         COARSEN_JOIN(SWEEP_NAME(stem), _scratch_init), COARSEN_JOIN(SWEEP_NAME(stem), _launch)})

#define SELECT_TYPE int
#define SELECT_NAME i32
#include "select.cu"
#define SELECT_TYPE float
#define SELECT_NAME f32
#include "select.cu"
#define SELECT_TYPE signed char
#define SELECT_NAME i8
#include "select.cu"
#define SELECT_TYPE double
#define SELECT_NAME f64
#include "select.cu"

#define SWEEP_VARIANT "select.cu"
#include "sweep.h"

// ---- the data ---------------------------------------------------------------------------------------

enum { RUN = 1 << 12 }; // elements that one thread of the check walks, and that runs are made in

// Runs of equal elements, of this length on average.
template <typename T> __global__ void fill_runs(T *data, size_t n, double mean, uint64_t seed)
{
    const size_t walk = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t value = walk;
    for (size_t i = walk * RUN; i < n && i < (walk + 1) * RUN; i++) {
        if ((double)(bench_random(seed, i) >> 11) * mean < 0x1p53)
            value++;
        data[i] = (T)(value & 127);
    }
}

static unsigned int blocks_of_walks(size_t n)
{
    return (unsigned int)((n + 128 * RUN - 1) / (128 * RUN));
}

// ---- the check; nothing that is timed takes part ------------------------------------------------------

template <typename T, typename W>
__global__ void count_kept(const T *in, size_t n, W what, unsigned long long *counts)
{
    const size_t walk = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long count = 0;
    for (size_t i = walk * RUN; i < n && i < (walk + 1) * RUN; i++)
        count += what.at(in, i);
    if (walk * RUN < n)
        counts[walk] = count;
}

template <typename T, typename W>
__global__ void check_kept(const T *in, const T *out, size_t n, W what,
                           const unsigned long long *before, unsigned long long *first_wrong)
{
    const size_t walk = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (walk * RUN >= n)
        return;
    size_t kept = before[walk];
    for (size_t i = walk * RUN; i < n && i < (walk + 1) * RUN; i++) {
        const bool mine = what.at(in, i);
        if (mine ? out[kept] != in[i] : W::partition && out[n - 1 - (i - kept)] != in[i]) {
            atomicMin(first_wrong, (unsigned long long)i);
            return;
        }
        kept += mine;
    }
}

// What is kept before each walk, and in *total of all.
template <typename T, typename W>
static std::shared_ptr<void> reference(const T *in, size_t n, W what, unsigned long long *total)
{
    std::vector<unsigned long long> host((n + RUN - 1) / RUN);
    std::shared_ptr<void> counts = bench_alloc(host.size() * 8);
    count_kept<<<blocks_of_walks(n), 128>>>(in, n, what, (unsigned long long *)counts.get());
    BENCH_CHECK(cudaGetLastError());
    BENCH_CHECK(cudaMemcpy(host.data(), counts.get(), host.size() * 8, cudaMemcpyDeviceToHost));
    *total = 0;
    for (unsigned long long &x : host) {
        const unsigned long long mine = x;
        x = *total;
        *total += mine;
    }
    BENCH_CHECK(cudaMemcpy(counts.get(), host.data(), host.size() * 8, cudaMemcpyHostToDevice));
    return counts;
}

// ---- contests -------------------------------------------------------------------------------------

// V: what the data is made as. mean: of the runs that it is in, or 0.
template <typename V, typename T, typename W>
static void selections(bench &b, const char *pattern, const char *type, const char *data, W what,
                       double mean, const std::vector<rung<T>> &list,
                       const std::vector<int> &exponents)
{
    std::vector<int> sizes;
    for (int e : exponents)
        if (b.fits(2.1 * sizeof(T) * (double)(1ull << e),
                   (std::string(pattern) + ", " + type + ", n = 2^" + std::to_string(e)).c_str()))
            sizes.push_back(e);
    if (sizes.empty())
        return;
    const size_t most = (size_t)sizeof(T) << sizes.back();
    const std::shared_ptr<void> input = bench_alloc(most), output = bench_alloc(most);
    const std::shared_ptr<void> counted = bench_alloc(8);
    T *const in = (T *)input.get(), *const out = (T *)output.get();
    unsigned long long *const count = (unsigned long long *)counted.get();
    if (mean > 0)
        fill_runs<<<blocks_of_walks(most / sizeof(T)), 128>>>(in, most / sizeof(T), mean, 1);
    else
        bench_fill((V *)in, most / sizeof(T), 1);
    BENCH_CHECK(cudaDeviceSynchronize());

    for (int e : sizes) {
        const size_t n = (size_t)1 << e;
        unsigned long long total = 0;
        const std::shared_ptr<void> before = reference(in, n, what, &total);
        bench_contest contest(pattern, type, n);
        contest.data = data;

        bench_entry selection; // what all entries except the copy share
        selection.bytes = (double)(n + (W::partition ? n : total)) * sizeof(T);
        selection.poison = [=] {
            BENCH_CHECK(cudaMemset(out, 0x7f, n * sizeof(T)));
            BENCH_CHECK(cudaMemset(count, 0x7f, 8));
        };
        selection.check = [=](std::string *why) {
            unsigned long long got = 0;
            const bool right = bench_all_right("element", why, [&](unsigned long long *wrong) {
                check_kept<<<blocks_of_walks(n), 128>>>((const T *)in, (const T *)out, n, what,
                                                        (const unsigned long long *)before.get(),
                                                        wrong);
            });
            BENCH_CHECK(cudaMemcpy(&got, count, 8, cudaMemcpyDeviceToHost));
            *why += ", count " + std::to_string(got) + " of " + std::to_string(total);
            return right && got == total;
        };

        contest.entries.push_back(bench_copy({{out, in, n * sizeof(T)}}, selection.poison));

        // Its scratch is made outside the timing.
        size_t cub_bytes = 0;
        BENCH_CHECK(what.cub(nullptr, cub_bytes, in, out, count, n, 0));
        const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
        bench_entry cub = selection;
        cub.kernel = "CUB";
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return what.cub(cub_scratch.get(), bytes, in, out, count, n, stream);
        };
        contest.entries.push_back(cub);

        for (const rung<T> &r : list) {
            const size_t scratch_bytes = r.scratch_bytes(n);
            const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
            BENCH_CHECK(r.scratch_init(scratch.get(), scratch_bytes, 0));
            bench_entry entry = selection;
            entry.kernel = r.kernel;
            entry.knobs = r.knobs;
            entry.launch = [=](cudaStream_t stream) {
                return r.launch(in, out, n, count, what.limit, scratch.get(), scratch_bytes,
                                stream);
            };
            contest.entries.push_back(entry);
        }
        b.run(contest);
    }
}

// V: what the data of this type is made as.
template <typename V, typename T, template <typename> class W>
static void share(bench &b, const char *pattern, const char *type, const char *data, T limit,
                  int step)
{
    W<T> what;
    what.limit = limit;
    selections<V>(b, pattern, type, data, what, 0, bench_rungs<rung<T>, W<T>>(), b.exponents(step));
}

template <typename T>
static void runs(bench &b, const char *type, const char *data, double mean, int step)
{
    const unlike<T> what = {0};
    selections<T>(b, "unique", type, data, what, mean, bench_rungs<rung<T>, unlike<T>>(),
                  b.exponents(step));
}

int main(int argc, char **argv)
{
    bench b(
        argc, argv,
        {"Selection, unique and partition: coarsen's beside CUB's and a device copy.", "", 10, 30});
    const int least = -2147483647 - 1;
    if (b.sweep) {
        for (int limit : {0, least + (1 << 25) + (1 << 24)})
            selections<any_int>(b, "select", "int", limit == 0 ? "half" : "1 in 85",
                                below<int>{limit}, 0, bench_variants<rung<int>>(), b.exponents(4));
    } else {
        share<any_int, int, below>(b, "select", "int", "half", 0, 2);
        share<any_int, int, below>(b, "select", "int", "1 in 100", least + 42949673, 2);
        share<any_int, int, below>(b, "select", "int", "all but few", 2147483647, 4);
        share<float, float, below>(b, "select", "float", "half", 0, 2);
        share<float, float, below>(b, "select", "float", "1 in 100", -0.98f, 4);
        share<signed char, signed char, below>(b, "select", "char", "half", 0, 4);
        share<signed char, signed char, below>(b, "select", "char", "3 in 256", -125, 4);
        share<double, double, below>(b, "select", "double", "half", 0, 4);
        share<double, double, below>(b, "select", "double", "1 in 100", -0.98, 4);
        runs<int>(b, "int", "runs of 1.01", 1.01, 2);
        runs<int>(b, "int", "runs of 4", 4, 4);
        runs<int>(b, "int", "runs of 100", 100, 4);
        runs<signed char>(b, "char", "runs of 4", 4, 4);
        runs<double>(b, "double", "runs of 4", 4, 4);
        share<any_int, int, parted>(b, "partition", "int", "half", 0, 2);
        share<any_int, int, parted>(b, "partition", "int", "1 in 100", least + 42949673, 4);
        share<signed char, signed char, parted>(b, "partition", "char", "half", 0, 4);
        share<double, double, parted>(b, "partition", "double", "half", 0, 4);
    }
    return b.finish();
}

#endif
