// SPDX-License-Identifier: MIT
//
// stats FILE.npy: how many elements an array of floats has, their sum and mean, the least and the greatest of them, and
// their indices, in the order of the file. As in NumPy, a NaN is both, and of equal elements the first is named.

#include "device.h"
#include "npy.h"

#define COARSEN_NAME sum
#define COARSEN_TYPE float
#define COARSEN_ACC  double
#include <coarsen/reduce.h>

#define COARSEN_NAME   least
#define COARSEN_TYPE   float
#define COARSEN_ARGMIN unsigned long long
#include <coarsen/reduce.h>

#define COARSEN_NAME   greatest
#define COARSEN_TYPE   float
#define COARSEN_ARGMAX unsigned long long
#include <coarsen/reduce.h>

typedef struct {
    double sum;
    least_at least;
    greatest_at greatest;
} results;

int main(int argc, char **argv)
{
    if (argc != 2)
        return usage("stats FILE.npy");
    npy_array array = npy_floats(argv[1]);
    const size_t n = array.count, bytes = least_scratch_bytes(n); // a pair's scratch is the largest
    float *const in = (float *)device_copy(array.data, n * sizeof(float));
    results *const out = (results *)device_alloc(sizeof(results));
    void *const scratch = device_alloc(bytes);

    CHECK(least_scratch_init(scratch, bytes, 0)); // once: each launch leaves it ready for the next
    CHECK(sum_launch(in, &out->sum, n, scratch, bytes, 0));
    CHECK(least_launch(in, &out->least, n, scratch, bytes, 0));
    CHECK(greatest_launch(in, &out->greatest, n, scratch, bytes, 0));

    results *const r = (results *)host_copy(out, sizeof(results));
    printf("count   %zu\nsum     %.15g\n", n, r->sum);
    if (n > 0)
        printf("mean    %.15g\nmin     %.7g\nargmin  %llu\nmax     %.7g\nargmax  %llu\n",
               r->sum / (double)n, (double)r->least.value, r->least.index,
               (double)r->greatest.value, r->greatest.index);
    free(r);
    device_free(in, out, scratch, NULL);
    npy_free(&array);
    return finish();
}
