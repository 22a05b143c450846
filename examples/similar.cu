// SPDX-License-Identifier: MIT
//
// similar FILE.npy [WIDTH]: for each row of a matrix of floats which other row is most like it, and the cosine of the
// angle between them; with WIDTH, rows of WIDTH elements of an array of one dimension. A row of zeros is like no other.
// Try examples/data/sunspots.npy 12: years whose sunspots came and went alike.
//
// All cosines are one product, of the rows and of them transposed, of elements of 16 bits, on tensor cores.

#include "device.h"
#include "npy.h"
#include <cuda_fp16.h>
#include <math.h>

#define COARSEN_NAME         cosines
#define COARSEN_TYPE         __half
#define COARSEN_ACC          float
#define COARSEN_N_TRANSPOSED // so that the rows serve as columns
#include <coarsen/matmul.h>

int main(int argc, char **argv)
{
    size_t width = 0;
    if (argc < 2 || argc > 3 || (argc == 3 && (!whole(argv[2], &width) || width < 1)))
        return usage("similar FILE.npy [WIDTH]");
    npy_array array = npy_matrix(argv[1], width);
    const size_t rows = array.shape[0], columns = array.shape[1];
    const float *const x = (const float *)array.data;
    __half *const unit = (__half *)host_alloc(array.count * sizeof(__half));
    for (size_t r = 0; r < rows; r++) {
        double squares = 0;
        for (size_t c = 0; c < columns; c++)
            squares += (double)x[r * columns + c] * x[r * columns + c];
        for (size_t c = 0; c < columns; c++)
            unit[r * columns + c] = __float2half((float)(x[r * columns + c] / sqrt(squares)));
    }
    __half *const in = (__half *)device_copy(unit, array.count * sizeof(__half));
    __half *const out = (__half *)device_alloc(rows * rows * sizeof(__half));
    const size_t scratch_bytes = cosines_scratch_bytes(rows, rows, columns);
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(cosines_launch(rows, rows, columns, 1, in, columns, in, columns, 0, out, rows, scratch,
                         scratch_bytes, 0));

    __half *const cosine = (__half *)host_copy(out, rows * rows * sizeof(__half));
    for (size_t r = 0; r < rows; r++) {
        size_t best = r;
        float most = -2;
        for (size_t q = 0; q < rows; q++)
            if (q != r && __half2float(cosine[r * rows + q]) > most)
                most = __half2float(cosine[r * rows + q]), best = q;
        if (best != r)
            printf("%6zu is most like %6zu: %.3f\n", r, best, (double)most);
    }
    free(unit);
    free(cosine);
    device_free(in, out, scratch, NULL);
    npy_free(&array);
    return finish();
}
