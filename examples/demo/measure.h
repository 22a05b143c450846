// SPDX-License-Identifier: MIT
//
// measure.h: the columns of a table that say what a rung took. On a GPU these are its time and
// bandwidth, on the CPU device its counts.
//
//     measure_begin(n)             once
//     measure_heading(left)        prints the heading; left is its left part
//     measure_start()              right before a launch
//     measure_finish(l, rung, n)   right after it and the reading of the result; returns a measure
//     measure_print(&m)            ends the rung's line
//     measure_end()                once: what the columns mean
//     MEASURE_LOG2_N               enough elements to measure well, and few enough not to wait long

#ifndef MEASURE_H
#define MEASURE_H

#include "ladder.h"
#include <string.h>

#ifdef SIMT

// ---- The CPU device: counts ---------------------------------------------------------------------

#include <simt.h>

#define MEASURE_LOG2_N 20

typedef struct {
    bool known; // the kernels were compiled to be counted
    simt_counts counts;
} measure;

static void measure_begin(size_t n)
{
    (void)n;
    printf("On simt, the CPU device: no GPU is used. It counts what a GPU would be asked to do.\n");
}

static void measure_heading(const char *left)
{
    printf("%*s %34s %13s\n", (int)strlen(left), "", "", "-- atomics --");
    printf("%s %8s %8s %6s %8s %6s %6s %4s\n", left, "requests", "accesses", "passes", "barriers",
           "global", "shared", "busy");
}

static void measure_start(void)
{
    simt_reset_counts();
}

static measure measure_finish(const ladder *l, const ladder_rung *rung, size_t n)
{
    measure m = {};
    (void)l, (void)rung, (void)n;
    m.known = simt_traced();
    simt_total_counts(&m.counts);
    return m;
}

// Exact up to six digits, then in millions: at most 7 characters below 10^11.
static void measure_print_count(int width, unsigned long long count)
{
    char text[32];
    if (count < 1000000)
        snprintf(text, sizeof(text), "%llu", count);
    else
        snprintf(text, sizeof(text), "%.*fM", count < 100000000 ? 2 : 0, (double)count / 1e6);
    printf(" %*s", width, text);
}

static void measure_print(const measure *m)
{
    const simt_counts *c = &m->counts;
    if (!m->known) {
        printf(" %8s %8s %6s %8s %6s %6s %4s\n", "-", "-", "-", "-", "-", "-", "-");
        return;
    }
    measure_print_count(8, c->global_requests);
    measure_print_count(8, c->global_accesses);
    measure_print_count(6, c->shared_wavefronts);
    measure_print_count(8, c->barriers);
    measure_print_count(6, c->atomics_global);
    measure_print_count(6, c->atomics_shared);
    printf(" %3.0f%%\n",
           c->lane_slots > 0 ? 100.0 * (double)c->active_lanes / (double)c->lane_slots : 0.0);
}

static void measure_end(void)
{
    printf("\nrequests    128-byte lines of global memory that a warp's loads and stores touch\n"
           "accesses    loads and stores of global memory by single threads\n"
           "passes      of a warp over the banks of shared memory; more than 1 if lanes conflict\n"
           "barriers    __syncthreads() of whole blocks\n"
           "atomics     by single threads, in global and in shared memory\n"
           "busy        threads of a warp that take part in a memory access, on average\n");
}

#else

// ---- A GPU: time and bandwidth ------------------------------------------------------------------

#define MEASURE_LOG2_N 28
#define MEASURE_RUNS   100 // at most, and
#define MEASURE_MS     300 // no more after so much time

typedef struct {
    double ms, gb_per_s; // of the median run
} measure;

static struct {
    cudaEvent_t start, stop;
    void *flush;
    size_t flush_bytes;
    double copy_gb_per_s;
} measure_gpu;

static int measure_compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// The median time of a launch, in milliseconds. Before each run the L2 cache is filled with other
// data. That also keeps the device busy until the run is queued, so no run waits for the host.
static double measure_median(void (*reset)(void), cudaError_t (*launch)(void))
{
    static float runs[MEASURE_RUNS];
    double total = 0;
    int count = 0;
    while (count < MEASURE_RUNS && (count < 3 || total < MEASURE_MS)) {
        reset();
        CHECK(cudaMemsetAsync(measure_gpu.flush, count & 0xff, measure_gpu.flush_bytes, 0));
        CHECK(cudaEventRecord(measure_gpu.start, 0));
        CHECK(launch());
        CHECK(cudaEventRecord(measure_gpu.stop, 0));
        CHECK(cudaEventSynchronize(measure_gpu.stop));
        CHECK(cudaEventElapsedTime(&runs[count], measure_gpu.start, measure_gpu.stop));
        total += runs[count++];
    }
    qsort(runs, (size_t)count, sizeof(*runs), measure_compare);
    return runs[count / 2];
}

// To compare with: a copy of as many floats as the generated array has, when the device is warm.
static struct {
    void *from, *to;
    size_t bytes;
} measure_copy;

static void measure_copy_reset(void)
{
    CHECK(cudaMemsetAsync(measure_copy.from, 1, measure_copy.bytes, 0));
}

static cudaError_t measure_copy_launch(void)
{
    return cudaMemcpyAsync(measure_copy.to, measure_copy.from, measure_copy.bytes,
                           cudaMemcpyDeviceToDevice, 0);
}

static void measure_begin(size_t n)
{
    int device, driver, l2_bytes;
    cudaDeviceProp properties;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
    CHECK(cudaDriverGetVersion(&driver));

    CHECK(cudaEventCreate(&measure_gpu.start));
    CHECK(cudaEventCreate(&measure_gpu.stop));
    measure_gpu.flush_bytes = 2 * (size_t)l2_bytes + 1;
    measure_gpu.flush = device_alloc(measure_gpu.flush_bytes);

    measure_copy.bytes = n > 0 ? n * sizeof(float) : 1;
    measure_copy.from = device_alloc(measure_copy.bytes);
    measure_copy.to = device_alloc(measure_copy.bytes);
    measure_median(measure_copy_reset, measure_copy_launch);
    const double ms = measure_median(measure_copy_reset, measure_copy_launch);
    measure_gpu.copy_gb_per_s = 2 * (double)measure_copy.bytes / ms / 1e6;
    CHECK(cudaFree(measure_copy.from));
    CHECK(cudaFree(measure_copy.to));

    printf("On %s, %d multiprocessors, driver for CUDA %d.%d, toolkit %d.%d.\n"
           "A device-to-device copy of %zu floats, read and written: %.0f GB/s.\n",
           properties.name, properties.multiProcessorCount, driver / 1000, driver % 1000 / 10,
           CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, n, measure_gpu.copy_gb_per_s);
}

static void measure_heading(const char *left)
{
    printf("%s %12s %9s %7s\n", left, "time", "GB/s", "of copy");
}

static void measure_start(void)
{
}

static measure measure_finish(const ladder *l, const ladder_rung *rung, size_t n)
{
    measure m;
    m.ms = measure_median(l->reset, rung->launch);
    m.gb_per_s = (double)l->bytes(n) / m.ms / 1e6;
    return m;
}

static void measure_print(const measure *m)
{
    if (m->ms < 1)
        printf(" %9.2f us", m->ms * 1e3);
    else
        printf(" %9.2f ms", m->ms);
    printf(" %9.*f %6.1f%%\n", m->gb_per_s < 10 ? 3 : 0, m->gb_per_s,
           100 * m->gb_per_s / measure_gpu.copy_gb_per_s);
}

static void measure_end(void)
{
    printf("\ntime     of one launch, the median of up to %d, the L2 cache flushed before each\n"
           "GB/s     the bytes that every rung must move, divided by the time\n"
           "of copy  the same, divided by the bandwidth of the copy above\n",
           MEASURE_RUNS);
    CHECK(cudaEventDestroy(measure_gpu.start));
    CHECK(cudaEventDestroy(measure_gpu.stop));
    CHECK(cudaFree(measure_gpu.flush));
}

#endif // SIMT

#endif // MEASURE_H
