// SPDX-License-Identifier: MIT
//
// matmul M.npy N.npy [P.npy]: the product of two matrices, both f4 or both f8, in either order of
// storage. Prints its corner, and whether a sample of its entries agrees with sums in double. Writes
// it to P.npy if that is given.
//
// Exit status: 0; 1 when an entry is wrong, or a file or the device fails; 2 when called wrongly.

#include "device.h"
#include "npy.h"
#include <coarsen/base.h>
#include <float.h>
#include <math.h>

#define SAMPLE 1000 // entries to check

static void *host_alloc(size_t bytes)
{
    void *const p = malloc(bytes > 0 ? bytes : 1);
    if (p)
        return p;
    fprintf(stderr, "matmul: no memory for a matrix of %zu bytes; take smaller ones\n", bytes);
    exit(1);
}

// A file of format version 1: magic, version, the header's length, and the header, which is padded
// with spaces so that the data begin at a multiple of 64.
static void write_npy(const char *path, const char *descr, size_t rows, size_t cols,
                      const void *data, size_t bytes)
{
    char header[128] = "\x93NUMPY\x01";
    const int used = snprintf(header + 10, sizeof(header) - 10,
                              "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }",
                              descr, rows, cols);
    memset(header + 10 + used, ' ', sizeof(header) - 10 - (size_t)used);
    header[8] = sizeof(header) - 10;
    header[sizeof(header) - 1] = '\n';
    FILE *const file = fopen(path, "wb");
    if (!file || fwrite(header, sizeof(header), 1, file) != 1 ||
        fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
        fprintf(stderr, "%s: cannot write: %s\n", path, strerror(errno));
        exit(1);
    }
}

#define MATMUL_NAME  f4
#define MATMUL_TYPE  float
#define MATMUL_DESCR "<f4"
#include "matmul_of.h"

#define MATMUL_NAME  f8
#define MATMUL_TYPE  double
#define MATMUL_DESCR "<f8"
#include "matmul_of.h"

static npy_array read_matrix(const char *path)
{
    npy_array array;
    char error[NPY_ERROR];
    if (!npy_read(path, &array, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    if (array.dimensions != 2) {
        fprintf(stderr, "%s: has %zu dimensions, and a matrix has 2: reshape it\n", path,
                array.dimensions);
        exit(1);
    }
    if (array.type != NPY_F4 && array.type != NPY_F8) {
        fprintf(stderr, "%s: holds integers; save it as floats: a.astype('f4')\n", path);
        exit(1);
    }
    return array;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s M.npy N.npy [P.npy]\n", argc > 0 ? argv[0] : "matmul");
        return 2;
    }
    npy_array m = read_matrix(argv[1]), n = read_matrix(argv[2]);
    if (m.type != n.type) {
        fprintf(stderr,
                "%s and %s: one is f4 and the other f8; save both as the same: a.astype('f4')\n",
                argv[1], argv[2]);
        return 1;
    }
    if (m.shape[1] != n.shape[0]) {
        fprintf(stderr,
                "%s is %zu x %zu and %s %zu x %zu: the columns of one must be the rows of the "
                "other\n",
                argv[1], m.shape[0], m.shape[1], argv[2], n.shape[0], n.shape[1]);
        return 1;
    }
    device_require("matmul");
    const char *const path = argc == 4 ? argv[3] : NULL;
    const bool right = m.type == NPY_F4 ? f4_product(&m, &n, path) : f8_product(&m, &n, path);
    npy_free(&m);
    npy_free(&n);
    if (fflush(stdout) != 0) {
        perror("matmul: cannot write the results");
        return 1;
    }
    return !right;
}
