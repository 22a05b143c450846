// SPDX-License-Identifier: MIT
//
// cycles FILE.npy BEGIN...: an array of floats in parts, each from an element BEGIN up to the next one: how many
// elements a part has, their total, and the element at which the running total has reached half of that. Try
// examples/data/sunspots.npy 2589 2726 2852 2968: the last four solar cycles, by months. Half of the sunspots
// come before half of the time is over, as a cycle rises faster than it falls.
//
// coarsen/scan.h by offsets makes the running totals, which begin anew with each part. The host checks each.
// Exit status: 0; 1 when a total is wrong, or the file or the device fails; 2 when called wrongly.

#include "device.h"
#include "npy.h"
#include <float.h>
#include <math.h>

#define COARSEN_NAME   running
#define COARSEN_TYPE   float
#define COARSEN_ACC    double
#define COARSEN_OFFSET long long
#include <coarsen/scan.h>

// Checks the running totals from `first` up to `end`, of which the last is the part's, and prints a line.
static void print_part(const float *values, const double *totals, size_t first, size_t end)
{
    double total = 0, magnitude = 0;
    size_t half = end - 1;
    for (size_t i = first; i < end; i++) {
        total += values[i];
        magnitude += fabs((double)values[i]);
        const double rounding = (double)(i - first) * DBL_EPSILON * magnitude;
        if (totals[i] != total && !(fabs(totals[i] - total) <= rounding) &&
            !(isnan(totals[i]) && isnan(total))) {
            fprintf(stderr, "cycles: the running total at element %zu is %.17g and not %.17g\n", i,
                    totals[i], total);
            exit(1);
        }
        if (half == end - 1 && totals[i] >= totals[end - 1] / 2)
            half = i;
    }
    printf("%12zu %12zu %14.8g %12zu %5.0f%%\n", first, end - first, total, half,
           100 * (double)(half + 1 - first) / (double)(end - first));
}

int main(int argc, char **argv)
{
    npy_array array;
    char error[NPY_ERROR], *end;
    if (argc < 3) {
        fprintf(stderr, "usage: %s FILE.npy BEGIN...\n", argc > 0 ? argv[0] : "cycles");
        return 2;
    }
    if (!npy_read(argv[1], &array, error)) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    if (array.type != NPY_F4) {
        fprintf(stderr, "%s: holds no f4; save it as float32\n", argv[1]);
        return 1;
    }
    const size_t n = array.count, parts = (size_t)argc - 2;
    const size_t bytes = n * sizeof(double), offset_bytes = (parts + 1) * sizeof(long long);
    double *const totals = (double *)malloc(bytes > 0 ? bytes : 1);
    long long *const offsets = (long long *)malloc(offset_bytes);
    if (!totals || !offsets) {
        fprintf(stderr, "cycles: no memory for %zu totals; take a smaller file\n", n);
        return 1;
    }
    for (size_t p = 0; p < parts; p++) {
        const char *const text = argv[p + 2];
        offsets[p] = strtoll(text, &end, 10);
        if (end == text || *end || (unsigned long long)offsets[p] >= n ||
            (p > 0 && offsets[p] <= offsets[p - 1])) {
            fprintf(stderr, "cycles: BEGIN '%s': give numbers below %zu, the least first\n", text,
                    n);
            return 2;
        }
    }
    offsets[parts] = (long long)n;

    device_require("cycles");
    const size_t scratch_bytes = running_scratch_bytes(n);
    float *const in = (float *)device_copy(array.data, n * sizeof(float));
    long long *const begins = (long long *)device_copy(offsets, offset_bytes);
    double *const out = (double *)device_alloc(bytes);
    void *const scratch = device_alloc(scratch_bytes);
    CHECK(running_scratch_init(scratch, scratch_bytes, 0));
    CHECK(running_launch(in, n, begins, parts, out, scratch, scratch_bytes, 0));
    CHECK(cudaMemcpy(totals, out, bytes, cudaMemcpyDeviceToHost));
    printf("%12s %12s %14s %12s %6s\n", "from", "elements", "total", "half at", "after");
    for (size_t p = 0; p < parts; p++)
        print_part((const float *)array.data, totals, (size_t)offsets[p], (size_t)offsets[p + 1]);

    CHECK(cudaFree(in));
    CHECK(cudaFree(begins));
    CHECK(cudaFree(out));
    CHECK(cudaFree(scratch));
    free(totals);
    free(offsets);
    npy_free(&array);
    if (fflush(stdout) != 0) {
        perror("cycles: cannot write the results");
        return 1;
    }
    return 0;
}
