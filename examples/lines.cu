// SPDX-License-Identifier: MIT
//
// lines FILE.npy [WIDTH]: the sum of each row of a matrix of floats, in either order of storage; with WIDTH, of each
// WIDTH elements of an array of one dimension. Try examples/data/sunspots.npy 12: a sum per year.

#include "device.h"
#include "npy.h"

#define COARSEN_NAME sums
#define COARSEN_TYPE float
#define COARSEN_ACC  double
#include <coarsen/segmented.h> // rows, as COARSEN_AXIS is 1 if not given; 0 gives the sums of columns

int main(int argc, char **argv)
{
    size_t width = 0;
    if (argc < 2 || argc > 3 || (argc == 3 && (!whole(argv[2], &width) || width < 1)))
        return usage("lines FILE.npy [WIDTH]");
    npy_array array = npy_matrix(argv[1], width);
    const size_t rows = array.shape[0], columns = array.shape[1];
    const size_t scratch_bytes = sums_scratch_bytes(rows, columns);
    float *const in = (float *)device_copy(array.data, array.count * sizeof(float));
    double *const out = (double *)device_alloc(rows * sizeof(double));
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(sums_scratch_init(scratch, scratch_bytes, 0));
    CHECK(sums_launch(in, columns, out, rows, columns, scratch, scratch_bytes, 0));

    double *const sums = (double *)host_copy(out, rows * sizeof(double));
    printf("%12s %20s\n", "row", "sum");
    for (size_t r = 0; r < rows; r++)
        printf("%12zu %20.12g\n", r, sums[r]);
    free(sums);
    device_free(in, out, scratch, NULL);
    npy_free(&array);
    return finish();
}
