// SPDX-License-Identifier: MIT
//
// merge A.npy B.npy OUT.npy: merges two sorted arrays into one, as numpy.sort would order all their elements: NaN
// comes last. All three are f4, f8, i4 or i8, of one dimension. It says of an array that is not sorted where.
//
// Exit status: 0; 1 when a file or the device fails, or an array is not sorted; 2 when called wrongly.

#include "device.h"
#include "npy.h"

// Whether a comes before b. The second half is for NaN, which is not equal to itself.
#define IN_ORDER(a, b)     ((a) < (b) || ((a) == (a) && (b) != (b)))

#define COARSEN_NAME       merge_f4
#define COARSEN_TYPE       float
#define COARSEN_LESS(a, b) IN_ORDER(a, b)
#include <coarsen/merge.h>

#define COARSEN_NAME       merge_f8
#define COARSEN_TYPE       double
#define COARSEN_LESS(a, b) IN_ORDER(a, b)
#include <coarsen/merge.h>

#define COARSEN_NAME merge_i4
#define COARSEN_TYPE int
#include <coarsen/merge.h>

#define COARSEN_NAME merge_i8
#define COARSEN_TYPE long long
#include <coarsen/merge.h>

static npy_array read_array(const char *path)
{
    npy_array array;
    char error[NPY_ERROR];
    if (!npy_read(path, &array, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    if (array.dimensions != 1) {
        fprintf(stderr, "%s: has %zu dimensions; save it flat, as by numpy.ravel\n", path,
                array.dimensions);
        exit(1);
    }
    return array;
}

static bool comes_before(const npy_array *array, size_t i, size_t j)
{
    switch (array->type) {
    case NPY_F4:
        return IN_ORDER(((const float *)array->data)[i], ((const float *)array->data)[j]);
    case NPY_F8:
        return IN_ORDER(((const double *)array->data)[i], ((const double *)array->data)[j]);
    case NPY_I4:
        return ((const int *)array->data)[i] < ((const int *)array->data)[j];
    default:
        return ((const long long *)array->data)[i] < ((const long long *)array->data)[j];
    }
}

static void require_sorted(const char *path, const npy_array *array)
{
    for (size_t i = 1; i < array->count; i++)
        if (comes_before(array, i, i - 1)) {
            fprintf(stderr,
                    "%s: is not sorted: element %zu is less than element %zu; save it sorted, as "
                    "by numpy.sort\n",
                    path, i, i - 1);
            exit(1);
        }
}

static cudaError_t merge(npy_type type, const void *a, size_t m, const void *b, size_t n, void *out)
{
    switch (type) {
    case NPY_F4:
        return merge_f4_launch((const float *)a, m, (const float *)b, n, (float *)out, 0);
    case NPY_F8:
        return merge_f8_launch((const double *)a, m, (const double *)b, n, (double *)out, 0);
    case NPY_I4:
        return merge_i4_launch((const int *)a, m, (const int *)b, n, (int *)out, 0);
    default:
        return merge_i8_launch((const long long *)a, m, (const long long *)b, n, (long long *)out,
                               0);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s A.npy B.npy OUT.npy\n", argc > 0 ? argv[0] : "merge");
        return 2;
    }
    npy_array a = read_array(argv[1]), b = read_array(argv[2]);
    if (a.type != b.type) {
        fprintf(stderr, "%s: is of another type than %s; save both as one type\n", argv[2],
                argv[1]);
        return 1;
    }
    require_sorted(argv[1], &a);
    require_sorted(argv[2], &b);

    device_require("merge");
    const size_t item = npy_item_bytes(a.type), all = a.count + b.count;
    void *const host = malloc(all > 0 ? all * item : 1);
    if (!host) {
        fprintf(stderr, "merge: no memory for %zu bytes; take smaller files\n", all * item);
        return 1;
    }
    void *const from_a = device_copy(a.data, a.count * item);
    void *const from_b = device_copy(b.data, b.count * item);
    void *const out = device_alloc(all * item);
    CHECK(merge(a.type, from_a, a.count, from_b, b.count, out));
    if (all > 0)
        CHECK(cudaMemcpy(host, out, all * item, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(from_a));
    CHECK(cudaFree(from_b));
    CHECK(cudaFree(out));

    char error[NPY_ERROR];
    if (!npy_write(argv[3], a.type, all, host, error)) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    printf("%s: %zu elements, %zu of %s and %zu of %s\n", argv[3], all, a.count, argv[1], b.count,
           argv[2]);
    free(host);
    npy_free(&a);
    npy_free(&b);
    return 0;
}
