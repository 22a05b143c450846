// SPDX-License-Identifier: MIT
//
// matmul M.npy N.npy P.npy: P = M N, a product of two matrices of floats, in either order of storage. An M of one
// dimension is taken as rows, each as long as the columns of N. Prints the first rows of P.
// Try examples/data/sunspots.npy examples/data/quarters.npy P.npy: the means of the quarters of each year.

#include "device.h"
#include "npy.h"

#define COARSEN_NAME product
#define COARSEN_TYPE float
#include <coarsen/matmul.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return usage("matmul M.npy N.npy P.npy");
    npy_array n = npy_matrix(argv[2], 0), m = npy_matrix(argv[1], n.shape[0]);
    if (m.shape[1] != n.shape[0]) // which 0 does not ask for
        npy_refuse(argv[1], "its rows must have no elements, as %s has no rows", argv[2]);
    const size_t rows = m.shape[0], inner = m.shape[1], columns = n.shape[1];
    const size_t shape[] = {rows, columns}, bytes = rows * columns * sizeof(float);
    const size_t scratch_bytes = product_scratch_bytes(rows, columns, inner);
    float *const in_m = (float *)device_copy(m.data, m.count * sizeof(float));
    float *const in_n = (float *)device_copy(n.data, n.count * sizeof(float));
    float *const out = (float *)device_alloc(bytes);
    void *const scratch = device_alloc(scratch_bytes);

    // P = 1 M N + 0 P; rows follow one another without a gap.
    CHECK(product_launch(rows, columns, inner, 1, in_m, inner, in_n, columns, 0, out, columns,
                         scratch, scratch_bytes, 0));

    float *const p = (float *)host_copy(out, bytes);
    npy_save(argv[3], NPY_F4, 2, shape, p);
    printf("%s: %zu x %zu\n", argv[3], rows, columns);
    for (size_t i = 0; i < rows && i < 4; i++) {
        for (size_t j = 0; j < columns && j < 4; j++)
            printf("%14.7g", (double)p[i * columns + j]);
        puts(columns > 4 ? " ..." : "");
    }
    free(p);
    device_free(in_m, in_n, out, scratch, NULL);
    npy_free(&m);
    npy_free(&n);
    return finish();
}
