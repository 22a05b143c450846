// SPDX-License-Identifier: MIT
//
// cycles FILE.npy OUT.npy BEGIN...: an array of floats in parts, each from an element BEGIN up to the next one. OUT
// gets the running totals, which begin anew with each part. Prints how many elements a part has, their total, and the
// element at which the running total has reached half of that. Try
//     cycles examples/data/sunspots.npy totals.npy 2589 2726 2852 2968
// of the last four solar cycles, by months: half of the sunspots come before half of the time is over.

#include "device.h"
#include "npy.h"

#define COARSEN_NAME   running
#define COARSEN_TYPE   float
#define COARSEN_ACC    double
#define COARSEN_OFFSET size_t
#include <coarsen/scan.h>

int main(int argc, char **argv)
{
    if (argc < 4)
        return usage("cycles FILE.npy OUT.npy BEGIN...");
    npy_array array = npy_floats(argv[1]);
    const size_t n = array.count, parts = (size_t)argc - 3,
                 scratch_bytes = running_scratch_bytes(n);
    size_t *const begins = (size_t *)host_alloc((parts + 1) * sizeof(size_t));
    begins[parts] = n;
    for (size_t p = 0; p < parts; p++)
        if (!whole(argv[p + 3], &begins[p]) || begins[p] >= n ||
            (p && begins[p] <= begins[p - 1])) {
            fprintf(stderr, "cycles: BEGIN '%s': give numbers below %zu, the least first\n",
                    argv[p + 3], n);
            return 2;
        }
    float *const in = (float *)device_copy(array.data, n * sizeof(float));
    size_t *const offsets = (size_t *)device_copy(begins, (parts + 1) * sizeof(size_t));
    double *const out = (double *)device_alloc(n * sizeof(double));
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(running_scratch_init(scratch, scratch_bytes, 0));
    CHECK(running_launch(in, n, offsets, parts, out, scratch, scratch_bytes, 0));

    double *const totals = (double *)host_copy(out, n * sizeof(double));
    npy_save(argv[2], NPY_F8, 1, &n, totals);
    printf("%12s %12s %14s %12s\n", "from", "elements", "total", "half at");
    for (size_t p = 0; p < parts; p++) {
        size_t half = begins[p], last = begins[p + 1] - 1;
        while (half < last && !(totals[half] >= totals[last] / 2))
            half++;
        printf("%12zu %12zu %14.8g %12zu\n", begins[p], last + 1 - begins[p], totals[last], half);
    }
    free(begins);
    free(totals);
    device_free(in, offsets, out, scratch, NULL);
    npy_free(&array);
    return finish();
}
