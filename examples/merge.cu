// SPDX-License-Identifier: MIT
//
// merge A.npy B.npy OUT.npy: merges two sorted arrays of floats into one, as numpy.sort would order all their elements:
// NaN comes last. It says of an array that is not sorted where. The example `quartiles` writes a sorted array.

#include "device.h"
#include "npy.h"

// Whether a comes before b. The second half is for NaN, which is not equal to itself.
#define BEFORE(a, b)       ((a) < (b) || ((a) == (a) && (b) != (b)))

#define COARSEN_NAME       merged
#define COARSEN_TYPE       float
#define COARSEN_LESS(a, b) BEFORE(a, b)
#include <coarsen/merge.h>

static npy_array read_sorted(const char *path)
{
    const npy_array array = npy_floats(path);
    const float *const x = (const float *)array.data;
    for (size_t i = 1; i < array.count; i++)
        if (BEFORE(x[i], x[i - 1])) {
            fprintf(stderr, "%s: is not sorted: element %zu is less than element %zu; %s\n", path,
                    i, i - 1, "save it sorted, as by numpy.sort");
            exit(1);
        }
    return array;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return usage("merge A.npy B.npy OUT.npy");
    npy_array a = read_sorted(argv[1]), b = read_sorted(argv[2]);
    const size_t n = a.count + b.count;
    float *const in_a = (float *)device_copy(a.data, a.count * sizeof(float));
    float *const in_b = (float *)device_copy(b.data, b.count * sizeof(float));
    float *const out = (float *)device_alloc(n * sizeof(float));

    CHECK(merged_launch(in_a, a.count, in_b, b.count, out, 0));

    float *const both = (float *)host_copy(out, n * sizeof(float));
    npy_save(argv[3], NPY_F4, 1, &n, both);
    printf("%s: %zu elements, %zu of %s and %zu of %s\n", argv[3], n, a.count, argv[1], b.count,
           argv[2]);
    free(both);
    device_free(in_a, in_b, out, NULL);
    npy_free(&a);
    npy_free(&b);
    return finish();
}
