// SPDX-License-Identifier: MIT
//
// records FILE.npy COUNT: the COUNT greatest elements of an array of floats, the greatest first, and their indices. Try
// examples/data/sunspots.npy 10: the months with the most sunspots; element 0 is January 1749.

#include "device.h"
#include "npy.h"

#define COARSEN_NAME greatest
#define COARSEN_TYPE float
#include <coarsen/top_k.h>

int main(int argc, char **argv)
{
    size_t k;
    if (argc != 3 || !whole(argv[2], &k) || k > 1024)
        return usage("records FILE.npy COUNT, COUNT being up to 1024");
    npy_array array = npy_floats(argv[1]);
    const size_t n = array.count;
    k = k < n ? k : n;
    const size_t scratch_bytes = greatest_scratch_bytes(1, n, k);
    float *const in = (float *)device_copy(array.data, n * sizeof(float));
    float *const out = (float *)device_alloc(k * sizeof(float));
    unsigned long long *const at = (unsigned long long *)device_alloc(k * sizeof(*at));
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(greatest_scratch_init(scratch, scratch_bytes, 0));
    CHECK(greatest_launch(in, n, k, out, at, scratch, scratch_bytes, 0));

    float *const values = (float *)host_copy(out, k * sizeof(float));
    unsigned long long *const indices = (unsigned long long *)host_copy(at, k * sizeof(*at));
    for (size_t i = 0; i < k; i++)
        printf("%12.7g at %llu\n", (double)values[i], indices[i]);
    free(values);
    free(indices);
    device_free(in, out, at, scratch, NULL);
    npy_free(&array);
    return finish();
}
