// SPDX-License-Identifier: MIT
//
// bench/nccl.cu: each pattern on one GPU and on all of this host's, over NCCL. Weak scaling: each GPU has the n
// elements that one has alone. Strong scaling: together they have n. And what 4 and 8 GPUs would take, by a model from
// what a message takes here: predicted, not measured.
//
//     nccl-bench [--min 20] [--max 30] [--devices N] [--filter TEXT] [--csv FILE] [--quick]
//
// Each GPU has a host thread. A time is that of some launches one after the other on all of them, by the host's clock,
// between two barriers of the threads, through the number of launches; the median of several. What they make is
// checked before: the elements are random, and each rank's share is compared with what the GPU makes of it alone.
// Built with g++ for the CPU device, it shows that it works, and its times mean nothing.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <getopt.h>
#include <pthread.h>

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
    exit(1); // of all ranks, as none may wait for this one
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

template <typename T> __global__ void fill_kernel(T *data, size_t n, size_t first)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] = (T)(mixed(first + i) >> 40);
}

template <typename T> std::shared_ptr<T> random_array(size_t n, size_t first)
{
    const std::shared_ptr<T> data = device_array<T>(n);
    fill_kernel<<<256, 256>>>(data.get(), n, first);
    CHECK(cudaGetLastError());
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
    share (*make)(const rank &, size_t n, size_t parts); // of n / parts elements
    double messages;                                     // of few bytes, one after the other
    double (*moved)(size_t ranks, size_t n);             // bytes that a rank sends besides
};

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
    share made;
    made.alone = [=] {
        return sorted_launch(in.get(), out.get(), n, scratch.get(), bytes, at.stream);
    };
    made.together = [=] {
        cudaError_t status = sorted_launch_nccl(in.get(), out.get(), counts.data(), host.get(),
                                                scratch.get(), bytes, *at.comm(), at.stream);
        if (status == cudaSuccess)
            status = coarsen_nccl_wait(at.comm(), at.stream, 60);
        return status == cudaSuccess
                   ? sorted_finish_nccl(out.get(), counts.data(), host.get(), scratch.get(), bytes,
                                        *at.comm(), at.stream)
                   : status;
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

// Slices of 512 x 512 cells, and at least one; of fewer where n is less.
static share make_stencil(const rank &at, size_t n, size_t parts)
{
    const size_t side = n < 1 << 20 ? 16 : 512, cells = side * side;
    const size_t slices = std::max<size_t>(n / cells / parts, 1);
    const auto in = random_array<float>(slices * cells, at.number * slices * cells);
    const auto out = device_array<float>(slices * cells);
    const std::vector<size_t> counts(at.of->ranks, slices);
    const size_t bytes = heat_scratch_bytes_nccl(side, side, counts.data(), *at.comm());
    const auto scratch = device_array<char>(bytes);
    const std::shared_ptr<coarsen_nccl_side> beside(new coarsen_nccl_side,
                                                    [](coarsen_nccl_side *p) {
                                                        coarsen_nccl_side_destroy(p);
                                                        delete p;
                                                    });
    CHECK(coarsen_nccl_side_create(beside.get()));
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
    size_t side = 1;
    while ((side + 1) * (side + 1) <= n)
        side++;
    std::vector<size_t> counts(at.of->ranks);
    size_t before = 0;
    for (size_t r = 0; r < counts.size(); r++) {
        counts[r] = side * (r + 1) / counts.size() - side * r / counts.size();
        before += r < at.number ? counts[r] : 0;
    }
    const auto small = [&](size_t first, size_t n) { // in [-1, 1)
        const auto data = random_array<float>(n, first);
        scale_kernel<<<256, 256>>>(data.get(), n);
        CHECK(cudaGetLastError());
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
    const std::shared_ptr<coarsen_nccl_side> beside(new coarsen_nccl_side,
                                                    [](coarsen_nccl_side *side) {
                                                        coarsen_nccl_side_destroy(side);
                                                        delete side;
                                                    });
    CHECK(coarsen_nccl_side_create(beside.get()));
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

static const pattern PATTERNS[] = {
    {"reduce", "i32", make_reduce, 1, few_bytes},
    {"histogram", "u8, 256 bins", make_histogram, 1, few_bytes},
    {"scan", "i32", make_scan, 1, few_bytes},
    {"sort", "u32", make_sort, 4, random_keys},
    {"stencil", "f32, 7 points", make_stencil, 1, few_bytes},
    {"matmul", "f32, square", make_matmul, 0, all_of_n},
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
    FILE *csv = nullptr;
};

// What a rank does; rank 0 prints.
static void work(rank at, const options &asked)
{
    const size_t ranks = at.of->ranks;
    const bool speaks = at.number == 0;
    CHECK(cudaSetDevice((int)at.number));
    CHECK(cudaStreamCreateWithFlags(&at.stream, cudaStreamNonBlocking));
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
        for (int e = asked.min; e <= asked.max; e += 2) {
            const size_t n = (size_t)1 << e;
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
            strong = time_of(at, p.make(at, n, ranks).together);
            if (!speaks)
                continue;
            const auto predicted = [&](size_t r) -> std::string { // weak scaling of r GPUs
                const double us = weak + p.messages * told.hop * ((double)r - (double)ranks) +
                                  (p.moved(r, n) - p.moved(ranks, n)) / told.bandwidth;
                char text[32];
                snprintf(text, sizeof(text), "%.3f", alone / us);
                return r > ranks ? text : "";
            };
            printf("%12zu%14.1f%14.1f%8.3f%16.1f%10.2f%14s%14s\n", n, 1e6 * alone, 1e6 * weak,
                   alone / weak, 1e6 * strong, alone / strong, predicted(4).c_str(),
                   predicted(8).c_str());
            if (asked.csv)
                fprintf(asked.csv, "%s,\"%s\",%zu,%zu,%.3f,%.3f,%.3f\n", p.name, p.type, n, ranks,
                        1e6 * alone, 1e6 * weak, 1e6 * strong);
        }
    }
    CHECK(cudaStreamDestroy(at.stream));
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
        {"min", required_argument, 0, 'm'},     {"max", required_argument, 0, 'M'},
        {"devices", required_argument, 0, 'd'}, {"filter", required_argument, 0, 'f'},
        {"csv", required_argument, 0, 'c'},     {0, 0, 0, 0}};
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
        else if (o == 's')
            return 0; // there are no knobs
        else if (o == 'c' && !(asked.csv = fopen(optarg, "w"))) {
            fprintf(stderr, "nccl-bench: can't write %s: %m\n", optarg);
            return 1;
        } else if (o == '?') {
            fprintf(stderr, "usage: nccl-bench [--min E] [--max E] [--devices N] [--filter TEXT] "
                            "[--csv FILE] [--quick]\n"
                            "sizes are powers of two, of the elements on each GPU\n");
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
    if (asked.csv)
        fprintf(asked.csv,
                "# %zu x %s, NCCL %d\npattern,type,n_per_gpu,gpus,alone_us,weak_us,strong_us\n",
                all.ranks, device.name, nccl);
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
    return 0;
}
