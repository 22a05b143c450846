// SPDX-License-Identifier: MIT
//
// The CPU device's memory and runtime API: what they report, beside the correct twin of each that they
// don't, and what they cost.

#include <cuda_runtime.h>
#include <simt.h>

#include <string.h>

#include "../tap.h"

template <class... P, class... A>
static cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, A... arguments)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = grid, c.blockDim = block;
    return cudaLaunchKernelEx(&c, kernel, arguments...);
}

// ---- allocations --------------------------------------------------------------------------------

__global__ void nothing(void)
{
}

__global__ void fill(int *p, int value)
{
    p[threadIdx.x] = value;
}

__global__ void add_one(int *p)
{
    p[threadIdx.x] += 1;
}

static void test_reuse(void)
{
    const size_t size = (size_t)1 << 30;
    bool good = true;
    int *p = NULL, *kept = NULL, *last = NULL, host = 0;
    cudaMalloc(&kept, 128);
    launch(fill, 1, 32, kept, 7);
    for (int i = 0; i < 1500; ++i) {
        last = p;
        good =
            good && cudaMalloc(&p, size) == cudaSuccess && p != last && cudaFree(p) == cudaSuccess;
    }
    tap_ok(good, "1 GiB is allocated and freed 1500 times");
    cudaMalloc(&p, size);
    if (simt_traced()) {
        simt_print_reports(0);
        launch(add_one, 1, 32, p);
        tap_ok(simt_last_report()->kind == SIMT_UNWRITTEN,
               "memory that is used again is unwritten");
        launch(fill, 1, 32, last, 1);
        tap_ok(simt_last_report()->kind == SIMT_USE_AFTER_FREE,
               "and what was freed last is not used yet");
        simt_print_reports(1);
        cudaGetLastError();
    }
    launch(fill, 1, 32, p, 1);
    launch(add_one, 1, 32, p);
    launch(add_one, 1, 32, kept);
    cudaMemcpy(&host, kept, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(!cudaGetLastError() && host == 8, "what was not freed keeps its values");

    // Pieces of several sizes, most of them from what is left of larger ones.
    struct piece {
        char *at;
        size_t size;
    } pieces[64] = {};
    unsigned random = 1;
    for (int i = 0; i < 3000; ++i) {
        random = random * 1103515245 + 12345;
        piece *q = &pieces[random >> 16 & 63];
        good = good && cudaFree(q->at) == cudaSuccess;
        random = random * 1103515245 + 12345;
        *q = {NULL, (size_t)(random >> 16 & 1023) * 6 * 16384 + 1};
        good = good && cudaMalloc(&q->at, q->size) == cudaSuccess;
        for (const piece &other : pieces)
            good = good && (&other == q || !other.at || q->at + q->size <= other.at ||
                            other.at + other.size <= q->at);
        good = good && cudaMemset(q->at + q->size - 1, 1, 1) == cudaSuccess &&
               cudaMemset(q->at + q->size, 1, 1) == cudaErrorInvalidValue;
        cudaGetLastError();
    }
    for (const piece &q : pieces)
        good = good && cudaFree(q.at) == cudaSuccess;
    tap_ok(good, "pieces of freed memory are handed out, and never two at one place");
    cudaFree(p);
    cudaFree(kept);
}

// ---- bytes --------------------------------------------------------------------------------------

// Threads of four warps, or of four blocks, share each word.
template <bool fixed> __global__ void strided_bytes(unsigned char *p, bool blocks)
{
    unsigned n = blockDim.x * gridDim.x, i = blocks ? threadIdx.x * gridDim.x + blockIdx.x
                                                    : blockIdx.x * blockDim.x +
                                                          threadIdx.x % 32 * (blockDim.x / 32) +
                                                          threadIdx.x / 32;
    p[i] = (unsigned char)(p[i] + 1);
    if (!fixed && i == n - 1)
        p[i - 2] = 0;
}

__global__ void each_byte(unsigned char *p)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i] = (unsigned char)(p[i] + 1);
}

static size_t resident_bytes(void)
{
    size_t whole = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%zu %zu", &whole, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * 4096;
}

static void test_bytes(void)
{
    const size_t size = 8 << 20;
    unsigned char *p, last = 0;
    cudaMalloc(&p, size);
    cudaMemset(p, 0, size);
    size_t before = resident_bytes();
    cudaError_t error = launch(each_byte, (unsigned)(size / 256), 256, p);
    size_t cost = resident_bytes() - before;
    cudaMemcpy(&last, p + size - 1, 1, cudaMemcpyDeviceToHost);
    tap_ok(!error && last == 1 && cost <= 12 * size,
           "8 MiB of bytes cost at most 12 times as much");
    tap_diag("%.1f times", (double)cost / (double)size);
    for (int blocks = 0; blocks < 2; ++blocks) {
        const char *by = blocks ? "blocks" : "warps";
        tap_ok(!launch(strided_bytes<true>, 4, 128, p, (bool)blocks),
               "bytes of a word by four %s: clean", by);
        simt_print_reports(0);
        launch(strided_bytes<false>, 4, 128, p, (bool)blocks);
        simt_print_reports(1);
        tap_ok(simt_last_report()->kind == SIMT_RACE && simt_last_report()->size == 1,
               "one byte of them by two %s: reported", by);
        cudaGetLastError();
    }
    cudaFree(p);
}

int main()
{
    launch(nothing, 1, 32);
    test_reuse();
    if (simt_traced())
        test_bytes();
    return tap_done();
}
