// SPDX-License-Identifier: MIT
//
// bench/nccl.cu: each pattern on one GPU and on all of this host's, over NCCL. Weak scaling: each GPU has the n
// elements that one has alone. Strong scaling: together they have n. And what 4 and 8 GPUs would take, by a model from
// what a message takes here: predicted, not measured.
//
//     nccl-bench [--min 20] [--max 30] [--devices N] [--filter TEXT] [--csv FILE] [--quick]
//     nccl-bench --timeline FILE.json [--max 30] [--devices N] [--filter TEXT] [--csv FILE]
//
// Each GPU has a host thread. A time is that of some launches one after the other on all of them, by the host's clock,
// between two barriers of the threads, through the number of launches; the median of several. What they make is
// checked before: the elements are random, and each rank's share is compared with what the GPU makes of it alone.
// The second form shows what each rank waits for: one launch of each pattern at its largest size, as CUPTI records
// its kernels and copies, in FILE.json for chrome://tracing or ui.perfetto.dev; and printed, and in the CSV, how long
// each rank computes, with messages beside or without, how long there are messages alone, and how long nothing.
// Built with g++ for the CPU device, it shows that it works, and its times mean nothing.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <getopt.h>
#include <pthread.h>

#ifdef HAVE_CUPTI
#include <cupti.h>
#endif

#define COARSEN_NAME sum
#define COARSEN_TYPE int
#include <coarsen/nccl/reduce.h>

#define COARSEN_NAME tones
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#include <coarsen/nccl/histogram.h>

#define COARSEN_NAME running
#define COARSEN_TYPE int
#include <coarsen/nccl/scan.h>

#define COARSEN_NAME sorted
#define COARSEN_TYPE unsigned int
#include <coarsen/nccl/sort.h>

#define COARSEN_NAME         heat
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#include <coarsen/nccl/stencil.h>

#define COARSEN_NAME product
#define COARSEN_TYPE float
#include <coarsen/nccl/matmul.h>

// ---- Errors, memory, data -----------------------------------------------------------------------

static void fail(const char *what, const char *why, int line)
{
    fprintf(stderr, "bench/nccl.cu:%d: %s\n    failed: %s\n", line, what, why);
    fflush(stdout);
    _Exit(1); // of all ranks, as none may wait for this one
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t status_ = (call);                                                        \
        if (status_ != cudaSuccess)                                                                \
            fail(#call, cudaGetErrorString(status_), __LINE__);                                    \
    } while (0)
#define CHECK_NCCL(call)                                                                           \
    do {                                                                                           \
        const ncclResult_t result_ = (call);                                                       \
        if (result_ != ncclSuccess)                                                                \
            fail(#call, ncclGetErrorString(result_), __LINE__);                                    \
    } while (0)

template <typename T> std::shared_ptr<T> device_array(size_t n)
{
    void *p = nullptr;
    CHECK(cudaMalloc(&p, std::max<size_t>(n * sizeof(T), 16)));
    return std::shared_ptr<T>((T *)p, [](T *p) { cudaFree(p); });
}

template <typename T> T to_host(const T *p)
{
    T value;
    CHECK(cudaMemcpy(&value, p, sizeof(T), cudaMemcpyDeviceToHost));
    return value;
}

// Bits mixed well (the finaliser of SplitMix64).
static __host__ __device__ inline unsigned long long mixed(unsigned long long z)
{
    z = (z + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Random bits: all of an integer, and 24 of a float, which it has.
template <typename T> __global__ void fill_kernel(T *data, size_t n, size_t first)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] = (T)(mixed(first + i) >> (std::is_integral<T>::value ? 32 : 40));
}

template <typename T> std::shared_ptr<T> random_array(size_t n, size_t first)
{
    const std::shared_ptr<T> data = device_array<T>(n);
    fill_kernel<<<256, 256>>>(data.get(), n, first);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(0)); // the ranks' streams don't wait for this one
    return data;
}

// From 24 random bits to [-1, 1).
static __global__ void scale_kernel(float *data, size_t n)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] = data[i] / (1 << 23) - 1;
}

// Counts the elements that are less than the one before.
static __global__ void descents_kernel(const unsigned int *data, size_t n,
                                       unsigned long long *wrong)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i + 1 < n; i += stride)
        if (data[i + 1] < data[i])
            atomicAdd(wrong, 1ull);
}

// The sum of all elements, and of their squares, without what is above 64 bits.
static __global__ void sums_kernel(const unsigned int *data, size_t n, unsigned long long *sums)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    unsigned long long sum = 0, squares = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        sum += data[i];
        squares += (unsigned long long)data[i] * data[i];
    }
    atomicAdd(sums, sum);
    atomicAdd(sums + 1, squares);
}

// Adds up how far a and b are apart, and how large b is.
static __global__ void apart_kernel(const float *a, const float *b, size_t n, double *apart)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    double difference = 0, size = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        difference += fabs((double)a[i] - (double)b[i]);
        size += fabs((double)b[i]);
    }
    atomicAdd(apart, difference);
    atomicAdd(apart + 1, size);
}

// Counts the elements with a[i] - b[i] != d.
static __global__ void differ_kernel(const int *a, const int *b, size_t n, int d,
                                     unsigned long long *wrong)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        if ((int)((unsigned int)a[i] - (unsigned int)b[i]) != d)
            atomicAdd(wrong, 1ull);
}

// ---- Ranks --------------------------------------------------------------------------------------

// What the threads of all ranks share.
struct team {
    size_t ranks;
    std::vector<ncclComm_t> comm;
    std::vector<unsigned long long> said; // one word of each rank, for checks
    pthread_barrier_t barrier;

    void meet()
    {
        pthread_barrier_wait(&barrier);
    }
};

struct rank {
    team *of;
    size_t number;
    cudaStream_t stream;

    ncclComm_t *comm() const
    {
        return &of->comm[number];
    }

    // What the ranks say, in their order.
    std::vector<unsigned long long> all_say(unsigned long long word) const
    {
        of->said[number] = word;
        of->meet();
        const std::vector<unsigned long long> all = of->said;
        of->meet();
        return all;
    }
};

// A rank's share of a problem: the call for one GPU and the one for all. They launch on the rank's stream.
struct share {
    std::function<cudaError_t()> alone, together;
    std::function<bool()> right; // whether `together` made what it should; called by all ranks
};

struct pattern {
    const char *name, *type;
    std::vector<size_t> sizes;                           // n, for one GPU
    share (*make)(const rank &, size_t n, size_t parts); // of n / parts elements
    double messages;                                     // of few bytes, one after the other
    double (*moved)(size_t ranks, size_t n);             // bytes that a rank sends besides
};

static std::shared_ptr<coarsen_nccl_side> second_stream()
{
    const std::shared_ptr<coarsen_nccl_side> beside(new coarsen_nccl_side,
                                                    [](coarsen_nccl_side *side) {
                                                        coarsen_nccl_side_destroy(side);
                                                        delete side;
                                                    });
    CHECK(coarsen_nccl_side_create(beside.get()));
    return beside;
}

static share make_reduce(const rank &at, size_t whole, size_t parts)
{
    const size_t n = whole / parts;
    const auto in = random_array<int>(n, at.number * n), out = device_array<int>(1);
    const size_t bytes = sum_scratch_bytes_nccl(n, *at.comm());
    const auto scratch = device_array<char>(bytes);
    CHECK(sum_scratch_init_nccl(scratch.get(), bytes, at.stream));
    share made;
    made.alone = [=] {
        return sum_launch(in.get(), out.get(), n, scratch.get(), bytes, at.stream);
    };
    made.together = [=] {
        return sum_launch_nccl(in.get(), out.get(), n, scratch.get(), bytes, *at.comm(), at.stream);
    };
    made.right = [=] {
        const int all = to_host(out.get());
        CHECK(sum_launch(in.get(), out.get(), n, scratch.get(), bytes, at.stream));
        CHECK(cudaStreamSynchronize(at.stream));
        unsigned int total = 0;
        for (unsigned long long one : at.all_say((unsigned int)to_host(out.get())))
            total += (unsigned int)one;
        return all == (int)total;
    };
    return made;
}

static share make_histogram(const rank &at, size_t whole, size_t parts)
{
    const size_t n = whole / parts;
    const auto in = random_array<unsigned char>(n, at.number * n);
    const auto counts = device_array<tones_count>(256);
    const size_t bytes = tones_scratch_bytes_nccl(n, *at.comm());
    const auto scratch = device_array<char>(bytes);
    share made;
    made.alone = [=] { return tones_launch(in.get(), counts.get(), n, at.stream); };
    made.together = [=] {
        return tones_launch_nccl(in.get(), counts.get(), n, scratch.get(), bytes, *at.comm(),
                                 at.stream);
    };
    made.right = [=] {
        std::vector<tones_count> all(256), own(256);
        CHECK(cudaMemcpy(all.data(), counts.get(), 256 * sizeof(all[0]), cudaMemcpyDeviceToHost));
        CHECK(tones_launch(in.get(), counts.get(), n, at.stream));
        CHECK(cudaStreamSynchronize(at.stream));
        CHECK(cudaMemcpy(own.data(), counts.get(), 256 * sizeof(all[0]), cudaMemcpyDeviceToHost));
        bool right = true;
        for (int bin = 0; bin < 256; bin++) {
            unsigned long long total = 0;
            for (unsigned long long one : at.all_say(own[bin]))
                total += one;
            right = right && all[bin] == (tones_count)total;
        }
        return right;
    };
    return made;
}

static share make_scan(const rank &at, size_t whole, size_t parts)
{
    const size_t n = whole / parts;
    const auto in = random_array<int>(n, at.number * n), out = device_array<int>(n);
    const size_t bytes = running_scratch_bytes_nccl(n, *at.comm());
    const auto scratch = device_array<char>(bytes);
    CHECK(running_scratch_init_nccl(scratch.get(), bytes, at.stream));
    share made;
    made.alone = [=] {
        return running_launch(in.get(), out.get(), n, scratch.get(), bytes, at.stream);
    };
    made.together = [=] {
        return running_launch_nccl(in.get(), out.get(), n, scratch.get(), bytes, *at.comm(),
                                   at.stream);
    };
    made.right = [=] {
        const auto own = device_array<int>(n);
        const auto wrong = device_array<unsigned long long>(1);
        CHECK(running_launch(in.get(), own.get(), n, scratch.get(), bytes, at.stream));
        CHECK(cudaMemsetAsync(wrong.get(), 0, 8, at.stream));
        CHECK(cudaStreamSynchronize(at.stream));
        unsigned int before = 0;
        const unsigned int total = n > 0 ? (unsigned int)to_host(own.get() + n - 1) : 0;
        const std::vector<unsigned long long> totals = at.all_say(total);
        for (size_t r = 0; r < at.number; r++)
            before += (unsigned int)totals[r];
        differ_kernel<<<256, 256, 0, at.stream>>>(out.get(), own.get(), n, (int)before,
                                                  wrong.get());
        CHECK(cudaStreamSynchronize(at.stream));
        return to_host(wrong.get()) == 0;
    };
    return made;
}

static share make_sort(const rank &at, size_t whole, size_t parts)
{
    const size_t n = whole / parts;
    const auto in = random_array<unsigned int>(n, at.number * n);
    const auto out = device_array<unsigned int>(n);
    const std::vector<size_t> counts(at.of->ranks, n);
    const size_t bytes = sorted_scratch_bytes_nccl(counts.data(), *at.comm());
    const auto scratch = device_array<char>(bytes);
    void *splits;
    CHECK(cudaMallocHost(&splits, sorted_splits_bytes_nccl(*at.comm())));
    const std::shared_ptr<unsigned long long> host((unsigned long long *)splits,
                                                   [](unsigned long long *p) { cudaFreeHost(p); });
    CHECK(sorted_scratch_init_nccl(scratch.get(), bytes, at.stream));
    const auto beside = second_stream();
    share made;
    made.alone = [=] {
        return sorted_launch(in.get(), out.get(), n, scratch.get(), bytes, at.stream);
    };
    made.together = [=] {
        cudaError_t status = sorted_launch_nccl(in.get(), out.get(), counts.data(), host.get(),
                                                scratch.get(), bytes, *at.comm(), at.stream);
        while (status == cudaSuccess) {
            status = coarsen_nccl_wait(at.comm(), at.stream, 60);
            if (status != cudaSuccess)
                break;
            status = sorted_finish_nccl(in.get(), out.get(), counts.data(), host.get(),
                                        scratch.get(), bytes, beside.get(), *at.comm(), at.stream);
            if (status != cudaErrorNotReady)
                break;
            status = cudaSuccess;
        }
        return status;
    };
    made.right = [=] {
        const auto wrong = device_array<unsigned long long>(5);
        CHECK(cudaMemsetAsync(wrong.get(), 0, 40, at.stream));
        descents_kernel<<<256, 256, 0, at.stream>>>(out.get(), n, wrong.get());
        sums_kernel<<<256, 256, 0, at.stream>>>(in.get(), n, wrong.get() + 1);
        sums_kernel<<<256, 256, 0, at.stream>>>(out.get(), n, wrong.get() + 3);
        CHECK(cudaStreamSynchronize(at.stream));
        bool right = to_host(wrong.get()) == 0;
        for (int sum = 1; sum < 3; sum++) {
            unsigned long long before = 0, after = 0;
            for (unsigned long long one : at.all_say(to_host(wrong.get() + sum)))
                before += one;
            for (unsigned long long one : at.all_say(to_host(wrong.get() + sum + 2)))
                after += one;
            right = right && before == after;
        }
        const auto firsts = at.all_say(n > 0 ? to_host(out.get()) : 0);
        const auto lasts = at.all_say(n > 0 ? to_host(out.get() + n - 1) : 0);
        for (size_t r = 1; r < firsts.size(); r++)
            right = right && lasts[r - 1] <= firsts[r];
        return right;
    };
    return made;
}

// How many of n each of so many has, the first ones no more than the others.
static std::vector<size_t> divided(size_t n, size_t parts)
{
    std::vector<size_t> counts(parts);
    for (size_t r = 0; r < parts; r++)
        counts[r] = n * (r + 1) / parts - n * r / parts;
    return counts;
}

// The largest number whose power is no more than n.
static size_t root(size_t n, int power)
{
    size_t side = 0;
    while ((side + 1) * (side + 1) * (power == 3 ? side + 1 : 1) <= n)
        side++;
    return side;
}

// A cube of n cells, or as many parts of it, by slices.
static share make_stencil(const rank &at, size_t n, size_t parts)
{
    const size_t side = root(n, 3), cells = side * side;
    const std::vector<size_t> counts =
        parts == 1 ? std::vector<size_t>(at.of->ranks, side) : divided(side, at.of->ranks);
    const size_t slices = counts[at.number];
    const auto in = random_array<float>(slices * cells, at.number * slices * cells);
    const auto out = device_array<float>(slices * cells);
    const size_t bytes = heat_scratch_bytes_nccl(side, side, counts.data(), *at.comm());
    const auto scratch = device_array<char>(bytes);
    const auto beside = second_stream();
    share made;
    made.alone = [=] {
        return heat_launch(in.get(), out.get(), side, side, slices, side, cells, at.stream);
    };
    made.together = [=] {
        return heat_launch_nccl(in.get(), out.get(), side, side, counts.data(), side, cells,
                                scratch.get(), bytes, beside.get(), *at.comm(), at.stream);
    };
    made.right = [=] { // of the slices inside, the bits
        const size_t inside = slices > 2 ? (slices - 2) * cells : 0;
        const auto own = device_array<float>(slices * cells);
        const auto wrong = device_array<unsigned long long>(1);
        CHECK(cudaMemsetAsync(wrong.get(), 0, 8, at.stream));
        CHECK(heat_launch(in.get(), own.get(), side, side, slices, side, cells, at.stream));
        if (inside > 0)
            differ_kernel<<<256, 256, 0, at.stream>>>((const int *)out.get() + cells,
                                                      (const int *)own.get() + cells, inside, 0,
                                                      wrong.get());
        CHECK(cudaStreamSynchronize(at.stream));
        return to_host(wrong.get()) == 0;
    };
    return made;
}

// Of square matrices with n elements all rows of P on each rank, and of N as many rows as it has of them.
static share make_matmul(const rank &at, size_t n, size_t parts)
{
    const size_t side = root(n, 2);
    const std::vector<size_t> counts = divided(side, at.of->ranks);
    size_t before = 0;
    for (size_t r = 0; r < at.number; r++)
        before += counts[r];
    const auto small = [&](size_t first, size_t n) { // in [-1, 1)
        const auto data = random_array<float>(n, first);
        scale_kernel<<<256, 256>>>(data.get(), n);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(0));
        return data;
    };
    const size_t rows = side / parts; // of P
    const auto m = small((at.number + 1) * side * side, rows * side), whole = small(0, side * side);
    const auto p = device_array<float>(rows * side);
    const float *const part = whole.get() + before * side;
    const size_t own_bytes = product_scratch_bytes(rows, side, side);
    const auto own_scratch = device_array<char>(own_bytes);
    const size_t bytes = product_scratch_bytes_nccl(rows, side, counts.data(), *at.comm());
    const auto scratch = device_array<char>(bytes);
    const auto beside = second_stream();
    const auto alone = [=](float *to) {
        return product_launch(rows, side, side, 1, m.get(), side, whole.get(), side, 0, to, side,
                              own_scratch.get(), own_bytes, at.stream);
    };
    share made;
    made.alone = [=] { return alone(p.get()); };
    made.together = [=] {
        return product_launch_nccl(rows, side, counts.data(), 1, m.get(), side, part, side, 0,
                                   p.get(), side, scratch.get(), bytes, beside.get(), *at.comm(),
                                   at.stream);
    };
    made.right = [=] {
        const auto own = device_array<float>(rows * side);
        const auto apart = device_array<double>(2);
        CHECK(cudaMemsetAsync(apart.get(), 0, 16, at.stream));
        CHECK(alone(own.get()));
        apart_kernel<<<256, 256, 0, at.stream>>>(p.get(), own.get(), rows * side, apart.get());
        CHECK(cudaStreamSynchronize(at.stream));
        const double size = to_host(apart.get() + 1);
        return to_host(apart.get()) <= 1e-5 * size && size > 0;
    };
    return made;
}

static double few_bytes(size_t, size_t)
{
    return 0;
}

static double random_keys(size_t ranks, size_t n)
{
    return 4.0 * (double)n * (double)(ranks - 1) / (double)ranks;
}

static double all_of_n(size_t, size_t n) // beside the products
{
    return 4.0 * (double)n;
}

// n of powers of two; of cubes and squares of such a side.
static std::vector<size_t> powers(int first, int last, int step)
{
    std::vector<size_t> sizes;
    for (int e = first; e <= last; e += step)
        sizes.push_back((size_t)1 << e);
    return sizes;
}

static std::vector<size_t> to_the(int power, const std::vector<size_t> &sides)
{
    std::vector<size_t> sizes;
    for (size_t side : sides)
        sizes.push_back(power == 2 ? side * side : side * side * side);
    return sizes;
}

static const std::vector<pattern> PATTERNS = {
    {"reduce", "i32", powers(10, 34, 2), make_reduce, 1, few_bytes},
    {"histogram", "u8, 256 bins", powers(10, 34, 2), make_histogram, 1, few_bytes},
    {"scan", "i32", powers(10, 34, 2), make_scan, 1, few_bytes},
    {"sort", "u32", powers(10, 34, 2), make_sort, 5, random_keys},
    {"stencil", "f32, 7 points, cubes", to_the(3, {16, 64, 128, 256, 512, 640}), make_stencil, 1,
     few_bytes},
    {"matmul", "f32, squares", to_the(2, {64, 256, 1024, 2048, 4096, 8192, 16384}), make_matmul, 0,
     all_of_n},
};

// ---- Times ----------------------------------------------------------------------------------------

enum { SAMPLES = 9 };

// Seconds of a call of all ranks, as rank 0's clock has it; all of them call this, and get its answer.
static double time_of(const rank &at, const std::function<cudaError_t()> &call)
{
    const auto finish = [&] { CHECK(coarsen_nccl_wait(at.comm(), at.stream, 60)); };
    const auto now = [] { return std::chrono::steady_clock::now(); };
    std::vector<double> samples;
    size_t calls = 1;
    CHECK(call()); // the first one connects ranks, and loads kernels
    finish();
    for (int s = -1; s < SAMPLES; s++) {
        at.of->meet();
        const auto start = now();
        for (size_t i = 0; i < calls; i++)
            CHECK(call());
        finish();
        at.of->meet();
        const double seconds = std::chrono::duration<double>(now() - start).count() / (double)calls;
        unsigned long long nanoseconds = (unsigned long long)(seconds * 1e9);
        nanoseconds = at.all_say(nanoseconds)[0];
        if (s < 0) // as many as take 20 ms
            calls = std::min<size_t>(1 + 20000000 / (nanoseconds + 1), 200);
        else
            samples.push_back(1e-9 * (double)nanoseconds);
    }
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

// What messages take on this host: of few bytes between all ranks, one more rank in a ring, and bytes per second.
struct messages {
    double least, hop, bandwidth;
};

static messages time_messages(const rank &at)
{
    const size_t ranks = at.of->ranks, many = (size_t)1 << 28;
    const auto few = device_array<char>(16 * ranks), data = device_array<char>(many);
    const double all =
        time_of(at, [&] { return coarsen_nccl_gather(few.get(), 16, *at.comm(), at.stream); });
    const double sent = time_of(at, [&] {
        return coarsen_nccl_check(
            ncclBroadcast(data.get(), data.get(), many, ncclUint8, 0, *at.comm(), at.stream),
            *at.comm());
    });
    return {all, ranks > 1 ? all / (double)ranks : 0, (double)many / sent};
}

// ---- The program ----------------------------------------------------------------------------------

struct options {
    int min = 20, max = 30, devices = 0;
    std::string filter;
    FILE *csv = nullptr, *timeline = nullptr;

    bool takes(size_t n) const
    {
        return n >= (size_t)1 << min && n <= (size_t)1 << max;
    }
};

// ---- What a rank waits for --------------------------------------------------------------------------

// A kernel or a copy, in nanoseconds of one clock for all devices.
struct activity {
    std::string name;
    size_t device;
    unsigned int stream;
    unsigned long long start, end;

    bool message() const
    {
        return name.compare(0, 4, "nccl") == 0;
    }
};

static std::vector<activity> recorded;
static std::mutex recording;

#ifdef HAVE_CUPTI
#define CHECK_CUPTI(call)                                                                          \
    do {                                                                                           \
        const CUptiResult result_ = (call);                                                        \
        if (result_ != CUPTI_SUCCESS) {                                                            \
            const char *why_ = "";                                                                 \
            cuptiGetResultString(result_, &why_);                                                  \
            fail(#call, why_, __LINE__);                                                           \
        }                                                                                          \
    } while (0)

static const CUpti_ActivityKind KINDS[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                           CUPTI_ACTIVITY_KIND_MEMSET};

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *size = 8 << 20;
    *buffer = (uint8_t *)aligned_alloc(8, *size);
    *most_records = 0;
}

template <class Record> static void record(const CUpti_Activity *one, const char *name)
{
    const Record &r = *(const Record *)one;
    recorded.push_back({name, r.deviceId, r.streamId, r.start, r.end});
}

static void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
    const std::lock_guard<std::mutex> lock(recording);
    for (CUpti_Activity *one = nullptr;
         cuptiActivityGetNextRecord(buffer, valid, &one) == CUPTI_SUCCESS;) {
        if (one->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            record<CUpti_ActivityKernel8>(one, ((const CUpti_ActivityKernel8 *)one)->name);
        else if (one->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
            record<CUpti_ActivityMemcpy5>(one, "copy");
        else if (one->kind == CUPTI_ACTIVITY_KIND_MEMCPY2)
            record<CUpti_ActivityMemcpyPtoP4>(one, "copy to another device");
        else if (one->kind == CUPTI_ACTIVITY_KIND_MEMSET)
            record<CUpti_ActivityMemset4>(one, "fill");
    }
    free(buffer);
}
#endif

// By one thread, while no other calls the runtime.
static void begin_recording()
{
    recorded.clear();
#ifdef HAVE_CUPTI
    CHECK_CUPTI(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    for (CUpti_ActivityKind kind : KINDS)
        CHECK_CUPTI(cuptiActivityEnable(kind));
#endif
}

static uint64_t recording_time()
{
    uint64_t now = 0;
#ifdef HAVE_CUPTI
    CHECK_CUPTI(cuptiGetTimestamp(&now));
#endif
    return now;
}

// Keeps what began after `since`.
static void end_recording(uint64_t since)
{
#ifdef HAVE_CUPTI
    CHECK_CUPTI(cuptiActivityFlushAll(1));
    for (CUpti_ActivityKind kind : KINDS)
        CHECK_CUPTI(cuptiActivityDisable(kind));
#endif
    recorded.erase(std::remove_if(recorded.begin(), recorded.end(),
                                  [=](const activity &one) { return one.start < since; }),
                   recorded.end());
}

// A row as harness.h writes them, for tables.py and plot scripts. vs_peer: how many times as fast as one GPU.
static void write_row(FILE *csv, const pattern &p, const char *kernel, const std::string &data,
                      size_t n, double us, double vs_peer = 0)
{
    if (!csv)
        return;
    fprintf(csv, "%s,\"%s\",\"%s\",%s,%zu,,%.3f,,,,,,,,", p.name, kernel, p.type, data.c_str(), n,
            us);
    if (vs_peer > 0)
        fprintf(csv, "%.4f", vs_peer);
    fprintf(csv, ",,\n");
}

// How a rank spends the time between the first start and the last end on all of them, in nanoseconds.
struct spent {
    double computing, both, messages, nothing;
};

static spent spent_by(size_t device, const std::vector<activity> &all)
{
    std::map<unsigned long long, int> kernels, messages; // how many more there are from then on
    unsigned long long last = 0;
    for (const activity &one : all) {
        std::map<unsigned long long, int> &of = one.message() ? messages : kernels;
        kernels[one.start] += 0, kernels[one.end] += 0; // so that it has all times
        if (one.device == device)
            of[one.start]++, of[one.end]--;
    }
    spent spent = {};
    int computing = 0, sending = 0;
    for (const auto &change : kernels) {
        if (last > 0)
            (computing && sending ? spent.both
             : computing          ? spent.computing
             : sending            ? spent.messages
                                  : spent.nothing) += (double)(change.first - last);
        last = change.first;
        computing += change.second;
        sending += messages.count(last) ? messages[last] : 0;
    }
    return spent;
}

// The name of a kernel as C has it, without what is told to a linker.
static std::string readable(const std::string &name)
{
    size_t at = name.compare(0, 2, "_Z") == 0 ? name.find_first_of("123456789") : 0;
    if (at == 0 || at == std::string::npos)
        return name;
    size_t length = 0;
    for (; at < name.size() && isdigit((unsigned char)name[at]); at++)
        length = 10 * length + (size_t)(name[at] - '0');
    return name.substr(at, length);
}

// One launch on all ranks, as rank 0 then writes it. offset: where it begins in the file, in microseconds.
static void time_line(const rank &at, const pattern &p, size_t n, const options &asked,
                      double *offset)
{
    const bool speaks = at.number == 0;
    const share whole = p.make(at, n, 1);
    uint64_t since = 0;
    for (int times = 0; times < 4; times++) { // the last one is recorded
        CHECK(coarsen_nccl_wait(at.comm(), at.stream, 60));
        at.of->meet();
        if (speaks && times == 3)
            begin_recording();
        at.of->meet();
        if (times ==
            3) { // CUPTI prepares at the next launch: now, as a message would wait for it, or it for a message
            CHECK(whole.alone());
            CHECK(cudaStreamSynchronize(at.stream));
            at.of->meet();
            if (speaks)
                since = recording_time();
            at.of->meet();
        }
        CHECK(whole.together());
    }
    CHECK(coarsen_nccl_wait(at.comm(), at.stream, 60));
    at.of->meet();
    if (speaks)
        end_recording(since);
    at.of->meet();
    if (!whole.right())
        fail(p.name, "wrong", __LINE__);
    if (!speaks)
        return;

    unsigned long long first = ~0ull, last = 0;
    for (activity &one : recorded) {
        one.name = readable(one.name);
        first = std::min(first, one.start);
        last = std::max(last, one.end);
    }
    if (recorded.empty())
        fail("--timeline", "CUPTI recorded nothing", __LINE__);
    const auto us = [&](unsigned long long t) { return 1e-3 * (double)(t - first); };
    printf("%s, n = %zu: %.1f us\n", p.name, n, us(last));
    for (size_t r = 0; r < at.of->ranks; r++) {
        const spent s = spent_by(r, recorded);
        printf("%10zu%20.1f%20.1f%20.1f%20.1f\n", r, 1e-3 * s.computing, 1e-3 * s.both,
               1e-3 * s.messages, 1e-3 * s.nothing);
        const std::string who = "rank " + std::to_string(r);
        write_row(asked.csv, p, "computing", who, n, 1e-3 * s.computing);
        write_row(asked.csv, p, "messages beside", who, n, 1e-3 * s.both);
        write_row(asked.csv, p, "messages alone", who, n, 1e-3 * s.messages);
        write_row(asked.csv, p, "nothing", who, n, 1e-3 * s.nothing);
        fprintf(asked.timeline,
                "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%zu,\"tid\":\"pattern\",\"ts\":%.3f,"
                "\"dur\":%.3f,\"args\":{\"n\":%zu}},\n",
                p.name, r, *offset, us(last), n);
    }
    for (const activity &one : recorded)
        fprintf(asked.timeline,
                "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%zu,"
                "\"tid\":\"stream %u\",\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"pattern\":\"%s\"}},\n",
                one.name.c_str(), one.message() ? "message" : "computing", one.device, one.stream,
                *offset + us(one.start), us(one.end) - us(one.start), p.name);
    *offset += us(last) + 1000;
    fflush(stdout);
}

// What a rank does; rank 0 prints.
static void work(rank at, const options &asked)
{
    const size_t ranks = at.of->ranks;
    const bool speaks = at.number == 0;
    CHECK(cudaSetDevice((int)at.number));
    CHECK(cudaStreamCreateWithFlags(&at.stream, cudaStreamNonBlocking));
    if (asked.timeline) {
        double offset = 0;
        if (speaks)
            printf("microseconds, by rank:%8s%20s%20s%20s\n", "computing", "messages beside",
                   "messages alone", "nothing");
        for (const pattern &p : PATTERNS) {
            size_t n = 0;
            for (size_t size : p.sizes)
                n = asked.takes(size) ? size : n;
            if (n > 0 && strstr(p.name, asked.filter.c_str()))
                time_line(at, p, n, asked, &offset);
        }
        CHECK(cudaStreamDestroy(at.stream));
        return;
    }
    const messages told = time_messages(at);
    if (speaks)
        printf("a message of few bytes to all: %.1f us; %.0f GB/s\n", 1e6 * told.least,
               1e-9 * told.bandwidth);
    for (const pattern &p : PATTERNS) {
        if (!strstr(p.name, asked.filter.c_str()))
            continue;
        if (speaks)
            printf("\n%s, %s\n%12s%14s%14s%8s%16s%10s%14s%14s\n", p.name, p.type, "n per GPU",
                   "one GPU us", ("all " + std::to_string(ranks) + " us").c_str(), "weak",
                   "n in all, us", "strong", "4, predicted", "8, predicted");
        for (size_t n : p.sizes) {
            if (!asked.takes(n))
                continue;
            double alone, weak, strong;
            {
                const share whole = p.make(at, n, 1);
                CHECK(whole.together());
                CHECK(coarsen_nccl_wait(at.comm(), at.stream, 60));
                if (!whole.right())
                    fail(p.name, "wrong", __LINE__);
                alone = time_of(at, whole.alone);
                weak = time_of(at, whole.together);
            }
            {
                const share part = p.make(at, n, ranks);
                strong = time_of(at, part.together);
                if (!part.right())
                    fail(p.name, "wrong", __LINE__);
            }
            if (!speaks)
                continue;
            const auto predicted = [&](size_t r) { // seconds of r GPUs, n on each
                return weak + p.messages * told.hop * ((double)r - (double)ranks) +
                       (p.moved(r, n) - p.moved(ranks, n)) / told.bandwidth;
            };
            const auto printed = [&](size_t r) {
                char text[32];
                snprintf(text, sizeof(text), "%.3f", alone / predicted(r));
                return std::string(r > ranks ? text : "");
            };
            printf("%12zu%14.1f%14.1f%8.3f%16.1f%10.2f%14s%14s\n", n, 1e6 * alone, 1e6 * weak,
                   alone / weak, 1e6 * strong, alone / strong, printed(4).c_str(),
                   printed(8).c_str());
            const std::string gpus = std::to_string(ranks) + " GPUs";
            write_row(asked.csv, p, "one GPU", gpus, n, 1e6 * alone);
            write_row(asked.csv, p, "n on each", gpus, n, 1e6 * weak, alone / weak);
            write_row(asked.csv, p, "n in all", gpus, n, 1e6 * strong, alone / strong);
            for (size_t r : {4, 8})
                if (r > ranks)
                    write_row(asked.csv, p, "predicted", std::to_string(r) + " GPUs", n,
                              1e6 * predicted(r), alone / predicted(r));
        }
    }
    CHECK(cudaStreamDestroy(at.stream));
}

static bool have_cupti()
{
#ifdef HAVE_CUPTI
    return true;
#else
    return false;
#endif
}

static int number(const char *text, const char *option, int most)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (end != text && !*end && value >= 0 && value <= most)
        return (int)value;
    fprintf(stderr, "nccl-bench: --%s takes a number from 0 to %d, not '%s'\n", option, most, text);
    exit(2);
}

int main(int argc, char **argv)
{
    options asked;
    const struct option longs[] = {
        {"min", required_argument, 0, 'm'},      {"max", required_argument, 0, 'M'},
        {"devices", required_argument, 0, 'd'},  {"filter", required_argument, 0, 'f'},
        {"csv", required_argument, 0, 'c'},      {"quick", no_argument, 0, 'q'},
        {"timeline", required_argument, 0, 't'}, {0, 0, 0, 0}};
    for (int o; (o = getopt_long(argc, argv, "", longs, nullptr)) != -1;) {
        if (o == 'm')
            asked.min = number(optarg, "min", 34);
        else if (o == 'M')
            asked.max = number(optarg, "max", 34);
        else if (o == 'd')
            asked.devices = number(optarg, "devices", 64);
        else if (o == 'f')
            asked.filter = optarg;
        else if (o == 'q')
            asked.max = std::min(asked.max, 24);
        else if (o == 't' && !have_cupti()) {
            fprintf(stderr, "nccl-bench: no CUPTI: install the CUDA Toolkit's, and build anew\n");
            return 1;
        } else if (o == 't' && !(asked.timeline = fopen(optarg, "w"))) {
            fprintf(stderr, "nccl-bench: can't write %s: %m\n", optarg);
            return 1;
        } else if (o == 'c' && !(asked.csv = fopen(optarg, "w"))) {
            fprintf(stderr, "nccl-bench: can't write %s: %m\n", optarg);
            return 1;
        } else if (o == '?') {
            fprintf(stderr, "usage: nccl-bench [--min E] [--max E] [--devices N] [--filter TEXT] "
                            "[--csv FILE] [--quick] [--timeline FILE.json]\n"
                            "E: from and up to 2^E elements on each GPU\n");
            return 2;
        }
    }
    int there = 0, nccl = 0;
    if (cudaGetDeviceCount(&there) != cudaSuccess || there == 0) {
        fprintf(stderr, "nccl-bench: no GPU to time on\n");
        return 1;
    }
    if (asked.devices > there) {
        fprintf(stderr, "nccl-bench: --devices %d, and there are %d\n", asked.devices, there);
        return 2;
    }
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK_NCCL(ncclGetVersion(&nccl));
    team all;
    all.ranks = (size_t)(asked.devices > 0 ? asked.devices : there);
    all.comm.resize(all.ranks);
    all.said.resize(all.ranks);
    pthread_barrier_init(&all.barrier, nullptr, (unsigned int)all.ranks);
    CHECK_NCCL(ncclCommInitAll(all.comm.data(), (int)all.ranks, nullptr));
    printf("%zu x %s, NCCL %d.%d.%d\n", all.ranks, device.name, nccl / 10000, nccl / 100 % 100,
           nccl % 100);
    if (asked.csv) {
        char date[16];
        const time_t now = time(nullptr);
        strftime(date, sizeof(date), "%Y-%m-%d", localtime(&now));
        fprintf(asked.csv,
                "# device: %zu x %s, NCCL %d.%d.%d\n# %s\n"
                "pattern,kernel,type,data,n,knobs,median_us,min_us,spread_percent,samples,GBps,"
                "work_rate,work_unit,percent_copy,vs_peer,occupancy_percent,registers\n",
                all.ranks, device.name, nccl / 10000, nccl / 100 % 100, nccl % 100, date);
    }
    if (asked.timeline)
        fprintf(asked.timeline, "{\"traceEvents\":[\n");
    std::vector<std::thread> threads;
    for (size_t r = 0; r < all.ranks; r++)
        threads.emplace_back(work, rank{&all, r, nullptr}, std::cref(asked));
    for (std::thread &t : threads)
        t.join();
    for (ncclComm_t comm : all.comm)
        ncclCommDestroy(comm);
    pthread_barrier_destroy(&all.barrier);
    if (asked.csv)
        fclose(asked.csv);
    if (asked.timeline) {
        fprintf(asked.timeline, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}\n");
        fclose(asked.timeline);
    }
    return 0;
}
