// SPDX-License-Identifier: MIT
//
// saxpy A X.npy Y.npy OUT.npy: a x + y, element by element, of two arrays of floats. Prints the first elements.

#include "device.h"
#include "npy.h"

#define COARSEN_NAME         saxpy
#define COARSEN_TYPE         float
#define COARSEN_INPUTS       2
#define COARSEN_SCALAR       float
#define COARSEN_MAP(x, y, a) ((a) * (x) + (y))
#include <coarsen/map.h>

int main(int argc, char **argv)
{
    char *end = NULL;
    const float a = argc == 5 ? strtof(argv[1], &end) : 0;
    if (argc != 5 || end == argv[1] || *end)
        return usage("saxpy A X.npy Y.npy OUT.npy, A being a number");
    npy_array x = npy_floats(argv[2]), y = npy_floats(argv[3]);
    if (x.count != y.count) {
        fprintf(stderr, "saxpy: %s has %zu elements and %s has %zu; give two of a size\n", argv[2],
                x.count, argv[3], y.count);
        return 1;
    }
    const size_t n = x.count, bytes = n * sizeof(float);
    float *const in_x = (float *)device_copy(x.data, bytes);
    float *const in_y = (float *)device_copy(y.data, bytes);
    float *const out = (float *)device_alloc(bytes);

    CHECK(saxpy_launch(in_x, in_y, out, n, a, 0));

    float *const made = (float *)host_copy(out, bytes);
    npy_save(argv[4], NPY_F4, 1, &n, made);
    printf("%s: %zu elements:", argv[4], n);
    for (size_t i = 0; i < n && i < 6; i++)
        printf(" %g", (double)made[i]);
    puts(n > 6 ? " ..." : "");
    free(made);
    device_free(in_x, in_y, out, NULL);
    npy_free(&x);
    npy_free(&y);
    return finish();
}
