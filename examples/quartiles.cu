// SPDX-License-Identifier: MIT
//
// quartiles FILE.npy SORTED.npy: sorts an array of floats, and prints the least, the greatest, and what is after a
// quarter, a half and three quarters of them. Try examples/data/sunspots.npy. NaN comes behind all numbers, as in NumPy.

#include "device.h"
#include "npy.h"

#define COARSEN_NAME ascending
#define COARSEN_TYPE float
#include <coarsen/sort.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return usage("quartiles FILE.npy SORTED.npy");
    npy_array array = npy_floats(argv[1]);
    const size_t n = array.count, scratch_bytes = ascending_scratch_bytes(n);
    float *const in = (float *)device_copy(array.data, n * sizeof(float));
    float *const out = (float *)device_alloc(n * sizeof(float));
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(ascending_scratch_init(scratch, scratch_bytes, 0));
    CHECK(ascending_launch(in, out, n, scratch, scratch_bytes, 0));

    float *const sorted = (float *)host_copy(out, n * sizeof(float));
    npy_save(argv[2], NPY_F4, 1, &n, sorted);
    static const char *const names[] = {"least", "quarter", "half", "three quarters", "greatest"};
    for (size_t q = 0; q < 5 && n > 0; q++)
        printf("%-14s %g\n", names[q], (double)sorted[(n - 1) / 4 * q + (n - 1) % 4 * q / 4]);
    free(sorted);
    device_free(in, out, scratch, NULL);
    npy_free(&array);
    return finish();
}
