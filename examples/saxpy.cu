// SPDX-License-Identifier: MIT
//
// saxpy A X.npy Y.npy: a x + y and x^2, element by element, of two arrays of floats. Prints the first
// elements of each and checks all of them in double.
//
// Exit status: 0; 1 when an element is wrong, or a file or the device fails; 2 when called wrongly.

#include "device.h"
#include "npy.h"
#include <coarsen/base.h>
#include <float.h>
#include <math.h>

#define COARSEN_NAME         saxpy
#define COARSEN_TYPE         float
#define COARSEN_INPUTS       2
#define COARSEN_SCALAR       float
#define COARSEN_MAP(x, y, a) ((a) * (x) + (y))
#include <coarsen/map.h>

#define COARSEN_NAME   square
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) ((x) * (x))
#include <coarsen/map.h>

static npy_array read_floats(const char *path)
{
    npy_array array;
    char error[NPY_ERROR];
    if (!npy_read(path, &array, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    if (array.type != NPY_F4) {
        fprintf(stderr, "%s: holds no f4; save it as float32\n", path);
        exit(1);
    }
    return array;
}

// Whether got is exact, except for the rounding of terms of such a size.
static bool near(float got, double exact, double magnitude)
{
    return got == (float)exact || fabs(got - exact) <= FLT_EPSILON * magnitude ||
           (isnan(got) && isnan(exact)) || (isinf(got) && magnitude > FLT_MAX);
}

// Prints the first elements of the result. Returns how many of all are wrong. y: NULL for the square.
static size_t finish(const char *label, const float *made, size_t n, float a, const float *x,
                     const float *y)
{
    float *const host = (float *)malloc(n > 0 ? n * sizeof(float) : 1);
    if (!host) {
        fprintf(stderr, "saxpy: no memory for %zu floats; take smaller arrays\n", n);
        exit(1);
    }
    if (n > 0)
        CHECK(cudaMemcpy(host, made, n * sizeof(float), cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const double product = y ? (double)a * x[i] : (double)x[i] * x[i], term = y ? y[i] : 0;
        wrong += !near(host[i], product + term, fabs(product) + fabs(term));
    }
    printf("%-8s", label);
    for (size_t i = 0; i < n && i < 6; i++)
        printf(" %g", host[i]);
    printf("%s  (%zu elements, %s)\n", n > 6 ? " ..." : "", n, wrong == 0 ? "checked" : "WRONG");
    free(host);
    return wrong;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const float a = argc == 4 ? strtof(argv[1], &end) : 0;
    if (argc != 4 || end == argv[1] || *end) {
        fprintf(stderr, "usage: %s A X.npy Y.npy, A being a number\n",
                argc > 0 ? argv[0] : "saxpy");
        return 2;
    }
    npy_array x = read_floats(argv[2]), y = read_floats(argv[3]);
    if (x.count != y.count) {
        fprintf(stderr, "saxpy: %s has %zu elements and %s has %zu; give two of a size\n", argv[2],
                x.count, argv[3], y.count);
        return 1;
    }
    device_require("saxpy");
    const size_t n = x.count, bytes = n * sizeof(float);
    const float *const in_x = (float *)device_copy(x.data, bytes);
    const float *const in_y = (float *)device_copy(y.data, bytes);
    float *const out = (float *)device_alloc(bytes);

    CHECK(saxpy_launch(in_x, in_y, out, n, a, 0));
    size_t wrong = finish("a x + y", out, n, a, (const float *)x.data, (const float *)y.data);
    CHECK(square_launch(in_x, out, n, 0));
    wrong += finish("x^2", out, n, 0, (const float *)x.data, NULL);

    CHECK(cudaFree((void *)in_x));
    CHECK(cudaFree((void *)in_y));
    CHECK(cudaFree(out));
    npy_free(&x);
    npy_free(&y);
    if (wrong > 0)
        fprintf(stderr, "saxpy: %zu elements are wrong\n", wrong);
    return wrong > 0;
}
