// SPDX-License-Identifier: MIT
//
// tests/device.h: what tests share on either device, a GPU or the CPU device, simt.
//
//     test_begin();                       // first in main: skips the program where there is no device
//     CHECK(cudaMemcpy(...));             // or a failed test, and exit
//     test_array in(bytes, offset);       // device memory between two guards, `offset` bytes past 256-byte
//     ...                                 //     alignment, filled with POISON
//     tap_ok(in.intact(), "...");         // whether the guards still hold what was put there
//     test_unready(bytes, word, launch);  // simt: what a scratch that was not made ready leads to
//     for (int k = 0; k < test_order_count(); k++)
//         test_order(k);                  // sets the order of blocks, on simt; returns its name
//     test_interleaved(20, right);        // simt: whether all is right in twenty orders that interleave
//     test_graph(out, launch, right);     // GPU: whether launches can be captured and replayed
//     if (test_room("n > 2^32", bytes))   // GPU: or a skipped test says that there is not that much memory
//     test_count(kernel, x, n);           // GPU: what a kernel counts
//
// A test has all rungs of its pattern. With TEST_ONLY defined, it has those rungs whose TEST_rung is defined:
//
//     #if TESTED(simple) ... #endif       // what the test has for reduce/simple.h
//
// With TEST_FIRST defined too, it leaves out what tests/faults.py needs for few faults: for these it builds all.

#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#ifdef SIMT
#include <simt.h>
#define TAP_CIRCUMSTANCES simt_last_order()
#endif
#include "tap.h"

#define POISON 0xA5

// For tests/faults.py, which builds and runs only what a fault touches.
#ifdef TEST_ONLY
#define TESTED(rung) TEST_##rung
#else
#define TESTED(rung) 1
#endif

// Whether to leave out what takes long under a tool that slows the device a hundredfold.
static inline bool test_quick(void)
{
    return getenv("COARSEN_TEST_QUICK") != NULL;
}

#define CHECK(call) test_check(call, #call, __FILE__, __LINE__)

static inline void test_check(cudaError_t status, const char *call, const char *file, int line)
{
    if (status == cudaSuccess)
        return;
    tap_ok_at(file, line, 0, "%s: %s", call, cudaGetErrorString(status));
    exit(1);
}

static inline void test_begin(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0)
        return;
    printf("1..0 # SKIP no GPU\n");
    exit(0);
}

// Random bits that depend on the seed and the index alone (the finaliser of SplitMix64).
static inline uint64_t test_random(uint64_t seed, uint64_t i)
{
    uint64_t x = (seed * 0x9E3779B97F4A7C15 + i + 1) * 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

struct test_array {
#ifdef SIMT
    enum { GUARD = 256, GUARD_AFTER = 0 }; // simt itself stops what goes past the end, reads too
#else
    enum { GUARD = 256, GUARD_AFTER = 256 };
#endif
    char *base;
    size_t bytes, offset;

    explicit test_array(size_t bytes, size_t offset = 0) : base(NULL), bytes(bytes), offset(offset)
    {
        CHECK(cudaMalloc((void **)&base, total()));
        CHECK(cudaMemset(base, POISON, total()));
    }
    ~test_array()
    {
        cudaFree(base);
    }
    test_array(const test_array &) = delete;
    test_array &operator=(const test_array &) = delete;

    size_t total() const
    {
        return GUARD + offset + bytes + GUARD_AFTER;
    }
    void *get() const
    {
        return base + GUARD + offset;
    }
    void fill(const void *from) const
    {
        CHECK(cudaMemcpy(get(), from, bytes, cudaMemcpyHostToDevice));
    }
    void zero() const
    {
        CHECK(cudaMemset(get(), 0, bytes));
    }
    void read(void *to) const
    {
        CHECK(cudaMemcpy(to, get(), bytes, cudaMemcpyDeviceToHost));
    }
    // Whether bytes [from, to) of the whole allocation are as they were at the start.
    bool poisoned(size_t from, size_t to) const
    {
        std::vector<unsigned char> host(total());
        CHECK(cudaMemcpy(host.data(), base, total(), cudaMemcpyDeviceToHost));
        for (size_t i = from; i < to; i++)
            if (host[i] != POISON)
                return false;
        return true;
    }
    bool intact() const
    {
        return poisoned(0, GUARD + offset) && poisoned(GUARD + offset + bytes, total());
    }
    bool untouched() const
    {
        return poisoned(0, total());
    }
    template <class T> bool holds(const std::vector<T> &want) const
    {
        std::vector<T> got(bytes / sizeof(T));
        read(got.data());
        return got == want;
    }
};

// An input, before which nothing is written, so that simt reports who reads there; it does so behind of any.
struct bare_array {
    char *base;
    size_t bytes, offset;

    bare_array(size_t bytes, size_t offset) : base(NULL), bytes(bytes), offset(offset)
    {
        CHECK(cudaMalloc((void **)&base, offset + bytes + (offset + bytes == 0)));
    }
    ~bare_array()
    {
        cudaFree(base);
    }
    bare_array(const bare_array &) = delete;
    bare_array &operator=(const bare_array &) = delete;

    void *get() const
    {
        return base + offset;
    }
    void fill(const void *from) const
    {
        CHECK(cudaMemcpy(get(), from, bytes, cudaMemcpyHostToDevice));
    }
};

// The orders of blocks to try: one on a GPU, which has its own; on simt the three with one block on
// the device and with four that interleave.
static inline int test_order_count(void)
{
#ifdef SIMT
    return 6;
#else
    return 1;
#endif
}

static inline const char *test_order(int k)
{
#ifdef SIMT
    static const char *const names[] = {"forward",    "reversed",    "shuffled",
                                        "forward x4", "reversed x4", "shuffled x4"};
    simt_config config = simt_get_config();
    config.order = (simt_order)(k % 3);
    config.resident = k < 3 ? 1 : 4;
    config.seed = 1 + (unsigned long long)k;
    simt_set_config(&config);
    return names[k];
#else
    (void)k;
    return "GPU";
#endif
}

#ifdef SIMT

// What ended a launch on `bytes` of scratch that was not made ready: each of its words is `word`. The
// launch allocates its arrays itself, and no test_array may be there, as the device is reset. SIMT_OK if
// nothing ended it. On a GPU a trap ends the program's use of it.
template <class Launch>
static inline simt_kind test_unready(size_t bytes, unsigned int word, Launch launch)
{
    void *scratch = NULL;
    const std::vector<unsigned int> words(bytes / 4, word);
    CHECK(cudaMalloc(&scratch, bytes));
    CHECK(cudaMemcpy(scratch, words.data(), bytes / 4 * 4, cudaMemcpyHostToDevice));
    simt_print_reports(0);
    cudaError_t status = launch(scratch);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    simt_print_reports(1);
    const simt_kind kind = simt_last_report()->kind;
    cudaDeviceReset();
    return status == cudaSuccess ? SIMT_OK : kind;
}

// n bytes of zeros on the device, until it is reset.
static inline void *test_zeros(size_t bytes)
{
    void *zeros = NULL;
    CHECK(cudaMalloc(&zeros, bytes));
    CHECK(cudaMemset(zeros, 0, bytes));
    return zeros;
}

// Whether right() is true in each of so many orders of blocks, eight of which interleave at a time.
template <class Right> static bool test_interleaved(unsigned int orders, Right right)
{
    simt_config config = simt_get_config();
    const simt_config before = config;
    bool ok = true;
    config.resident = 8;
    config.order = SIMT_SHUFFLE;
    for (config.seed = 1; ok && config.seed <= orders; config.seed++) {
        simt_set_config(&config);
        ok = right();
    }
    simt_set_config(&before);
    return ok;
}

#else

// Captures what launch(stream) launches in a graph. Whether right() is true after each of three replays, before which
// `out` is POISON.
template <class Launch, class Right>
static bool test_graph(const test_array &out, Launch launch, Right right)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    bool ok = true;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int k = 0; k < 3; k++) {
        CHECK(cudaMemset(out.get(), POISON, out.bytes));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        ok &= right();
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return ok;
}

// Whether the device has so many bytes for arrays, and room for their guards; if not, a skipped test says so.
static inline bool test_room(const char *what, size_t bytes)
{
    void *room = NULL;
    char reason[80];
    if (!test_quick() && cudaMalloc(&room, bytes + (16 << 20)) == cudaSuccess) {
        CHECK(cudaFree(room));
        return true;
    }
    cudaGetLastError();
    snprintf(reason, sizeof(reason), "%s: %s", what,
             test_quick() ? "quick" : "not that much memory");
    tap_skip(reason);
    return false;
}

// Tells places in a large array apart: the period is no power of two.
template <class T> static __global__ void test_fill(T *data, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        data[i] = (T)(i % 100003 % 251);
}

// Launches kernel(args..., count), where *count is 0, and returns what it becomes.
template <class... Params, class... Args>
static unsigned long long test_count(void (*kernel)(Params...), Args... args)
{
    const cudaLaunchConfig_t config = {dim3(4096), dim3(256), 0, 0, NULL, 0};
    const test_array place(8);
    unsigned long long count;
    place.zero();
    CHECK(cudaLaunchKernelEx(&config, kernel, args..., (unsigned long long *)place.get()));
    CHECK(cudaDeviceSynchronize());
    place.read(&count);
    return count;
}

#endif

#endif // TEST_DEVICE_H
