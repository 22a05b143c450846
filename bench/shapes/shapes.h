// SPDX-License-Identifier: MIT
//
// bench/shapes/shapes.h: the programs that bench/shapes.py runs. Each is one pattern: the header that users take,
// and its peer. It reads shapes from the standard input, a line each, and times the two beside each other in one
// run, by the rules of bench/harness.h:
//     i32 n=1234567 apart=3 data=few
// The first word is a type that the program knows. The others are numbers, and how the data are distributed.
// apart: by how many elements the input begins after a 256-byte boundary.
//
// The check: the two are made by strangers, and must agree in all that they write; sums of floating-point numbers
// as far as the order of additions allows.

#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include "../harness.h"

#include <coarsen/base.h>

#include <cmath>
#include <iostream>
#include <map>
#include <sstream>

// ---- The shapes -----------------------------------------------------------------------------------

struct shape {
    std::string line, type;
    std::map<std::string, std::string> words;

    const std::string &text(const char *name) const
    {
        const auto found = words.find(name);
        if (found == words.end()) {
            fprintf(stderr, "'%s': %s=... is missing\n", line.c_str(), name);
            exit(2);
        }
        return found->second;
    }
    size_t at(const char *name) const
    {
        char *end;
        const unsigned long long value = strtoull(text(name).c_str(), &end, 10);
        if (*end) {
            fprintf(stderr, "'%s': %s must be a number\n", line.c_str(), name);
            exit(2);
        }
        return (size_t)value;
    }
};

static inline std::vector<shape> shapes_read()
{
    std::vector<shape> all;
    for (std::string line; std::getline(std::cin, line);) {
        shape s;
        s.line = line;
        std::istringstream words(line);
        words >> s.type;
        for (std::string word; words >> word;) {
            const size_t equals = word.find('=');
            if (equals == std::string::npos) {
                fprintf(stderr, "'%s': '%s' is not NAME=VALUE\n", line.c_str(), word.c_str());
                exit(2);
            }
            s.words[word.substr(0, equals)] = word.substr(equals + 1);
        }
        if (!s.type.empty())
            all.push_back(s);
    }
    return all;
}

[[noreturn]] static inline void shape_unknown(const shape &s, const char *what)
{
    fprintf(stderr, "'%s': this program does not know that %s\n", s.line.c_str(), what);
    exit(2);
}

// ---- The data -------------------------------------------------------------------------------------

enum shape_data { UNIFORM, FEW, SKEWED, SORTED, CONSTANT };

static inline shape_data shape_data_of(const shape &s)
{
    static const char *const names[] = {"uniform", "few", "skewed", "sorted", "constant"};
    for (int d = 0; d < 5; d++)
        if (s.text("data") == names[d])
            return (shape_data)d;
    shape_unknown(s, "data");
}

// 64 bits whose order is that of the values made of them.
__host__ __device__ inline uint64_t shape_bits(size_t i, size_t n, shape_data data, uint64_t seed)
{
    const uint64_t a = bench_random(seed, i), b = bench_random(seed + 1, i);
    return data == FEW        ? bench_random(seed, a % 5)
           : data == SKEWED   ? a & b & bench_random(seed + 2, i)
           : data == SORTED   ? (uint64_t)((double)i / (double)n * 0x1p63) * 2
           : data == CONSTANT ? bench_random(seed, 0)
                              : a;
}

// Unsigned integers take the highest bits, signed ones and floats are around 0.
template <typename T> struct shape_value {
    __host__ __device__ static T of(uint64_t bits)
    {
        const bool has_sign = (T)-1 < (T)0;
        return (T)((bits ^ (has_sign ? 1ull << 63 : 0)) >> (64 - 8 * sizeof(T)));
    }
};
template <> struct shape_value<float> {
    __host__ __device__ static float of(uint64_t bits)
    {
        return bench_value<float>::of(bits);
    }
};
template <> struct shape_value<double> {
    __host__ __device__ static double of(uint64_t bits)
    {
        return bench_value<double>::of(bits);
    }
};

template <typename T>
__global__ void shape_fill_kernel(T *to, size_t n, shape_data data, uint64_t seed)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        to[i] = shape_value<T>::of(shape_bits(i, n, data, seed));
}

// n elements, of which the first is `apart` after a boundary.
template <typename T> struct shape_array {
    std::shared_ptr<void> memory;
    T *data;
    size_t bytes;

    explicit shape_array(size_t n, size_t apart = 0)
        : memory(bench_alloc((n + apart) * sizeof(T))), data((T *)memory.get() + apart),
          bytes(n * sizeof(T))
    {
    }
    shape_array(size_t n, size_t apart, shape_data of, uint64_t seed = 1) : shape_array(n, apart)
    {
        shape_fill_kernel<<<1024, 256>>>(data, n, of, seed);
        BENCH_CHECK(cudaGetLastError());
        BENCH_CHECK(cudaDeviceSynchronize());
    }
};

// ---- The check ------------------------------------------------------------------------------------

template <typename T>
__global__ void shape_differ_kernel(const T *got, const T *wanted, size_t n, double slack,
                                    unsigned long long *first)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        if (!(got[i] == wanted[i] || fabs((double)got[i] - (double)wanted[i]) <= slack))
            atomicMin(first, (unsigned long long)i);
}

// What both write, and whether ours agrees with the peer's.
struct shape_output {
    void *data;
    size_t bytes;
    std::function<bool(const void *wanted, std::string *why)> agrees;
};

// n elements that may be as far apart as slack. What neither of the two writes has the poison in both.
template <typename T> shape_output shape_result(T *data, size_t n, double slack = 0)
{
    return {data, n * sizeof(T), [=](const void *wanted, std::string *why) {
                return bench_all_right("unlike the peer's, at", why,
                                       [=](unsigned long long *first) {
                                           shape_differ_kernel<<<1024, 256>>>(
                                               (const T *)data, (const T *)wanted, n, slack, first);
                                           BENCH_CHECK(cudaGetLastError());
                                       });
            }};
}

// How far apart two sums of n terms of magnitude up to 1 may be, by the order of their additions; 0 for integers. If all
// terms are equal, so are the roundings, and they add up: wide bounds. What they miss shows with integers. Of 16 bits, both
// sums are rounded to 11 digits in the end, and one of them may be rounded up.
template <typename T> double shape_slack(size_t n)
{
    const double of_one = sizeof(T) == 8 ? 0x1p-40 : sizeof(T) == 4 ? 0x1p-12 : 0x1p-10;
    return (T)0.5 == (T)0 ? 0 : (double)n * of_one;
}

// ---- The contest ----------------------------------------------------------------------------------

typedef std::function<cudaError_t(cudaStream_t)> shape_launch;

// Another way of ours to do the same, and the knobs that tell it from others.
struct shape_way {
    std::string knobs;
    shape_launch launch;
};

// bytes: that must be moved. peer: its name. waits: whether the peer waits for the device in between.
static inline void shape_contest(bench &b, const char *pattern, const shape &s, size_t n,
                                 double bytes, const std::vector<shape_output> &outputs,
                                 const char *peer, shape_launch peer_launch, shape_launch launch,
                                 bool waits = false, const std::vector<shape_way> &ways = {})
{
    bench_contest contest(pattern, s.type, n);
    contest.data = s.line.substr(s.line.find(' ') + 1);
    contest.peer = peer;
    bench_entry entry;
    entry.bytes = bytes;
    entry.poison = [=] {
        for (const shape_output &o : outputs)
            BENCH_CHECK(cudaMemset(o.data, 0x7a, o.bytes)); // of any type no NaN: it equals itself
    };
    std::vector<std::shared_ptr<void>> wanted;
    for (const shape_output &o : outputs)
        wanted.push_back(bench_alloc(o.bytes));

    entry.kernel = peer;
    entry.launch = peer_launch;
    entry.waits = waits;
    entry.check = [=](std::string *) {
        for (size_t o = 0; o < outputs.size(); o++)
            BENCH_CHECK(cudaMemcpy(wanted[o].get(), outputs[o].data, outputs[o].bytes,
                                   cudaMemcpyDeviceToDevice));
        return true;
    };
    contest.entries.push_back(entry);

    entry.kernel = "coarsen";
    entry.launch = launch;
    entry.waits = false;
    entry.check = [=](std::string *why) {
        for (size_t o = 0; o < outputs.size(); o++)
            if (!outputs[o].agrees(wanted[o].get(), why))
                return false;
        return true;
    };
    contest.entries.push_back(entry);
    for (const shape_way &way : ways) {
        entry.knobs = way.knobs;
        entry.launch = way.launch;
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

// A call of CUB's with its temporary storage, which is made here, outside the timing.
template <typename Call> shape_launch shape_cub(Call call)
{
    size_t bytes = 0;
    BENCH_CHECK(call(nullptr, bytes, (cudaStream_t)0));
    const std::shared_ptr<void> scratch = bench_alloc(bytes);
    return [=](cudaStream_t stream) {
        size_t room = bytes;
        return call(scratch.get(), room, stream);
    };
}

// ---- The program ----------------------------------------------------------------------------------

// What a pattern does with a shape, by the name of its type. A program includes itself once per type, and each
// inclusion adds itself here, as SHAPE_CONTEST.
static inline std::map<std::string, void (*)(bench &, const shape &)> &shape_types()
{
    static std::map<std::string, void (*)(bench &, const shape &)> all;
    return all;
}
#define SHAPE(what) COARSEN_JOIN(SHAPE_NAME, what)
#define SHAPE_CONTEST                                                                              \
    static void SHAPE(_contest)(bench & b, const shape &s);                                        \
    static const bool SHAPE(_added) =                                                              \
        shape_types().emplace(SHAPE_TEXT(SHAPE_NAME), SHAPE(_contest)).second;                     \
    static void SHAPE(_contest)(bench & b, const shape &s)
#define SHAPE_TEXT(name)  SHAPE_TEXT_(name)
#define SHAPE_TEXT_(name) #name

static inline int shapes_main(int argc, char **argv, const char *about)
{
    bench b(argc, argv, {about, "", 0, 40});
    for (const shape &s : shapes_read()) {
        const auto type = shape_types().find(s.type);
        if (type == shape_types().end())
            shape_unknown(s, "type");
        type->second(b, s);
    }
    return b.finish();
}

// ---- Scratch of ours, made ready ------------------------------------------------------------------

struct shape_scratch {
    std::shared_ptr<void> memory;
    size_t bytes;

    template <typename Init = std::nullptr_t>
    explicit shape_scratch(size_t bytes, Init init = nullptr)
        : memory(bench_alloc(bytes)), bytes(bytes)
    {
        ready(init);
    }

  private:
    void ready(std::nullptr_t)
    {
    }
    template <typename Init> void ready(Init init)
    {
        BENCH_CHECK(init(memory.get(), bytes, 0));
        BENCH_CHECK(cudaDeviceSynchronize());
    }
};

#endif // BENCH_SHAPES_H
