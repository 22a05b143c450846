// SPDX-License-Identifier: MIT
//
// lines FILE.npy [WIDTH]: the sum of each row of a matrix of floats; with WIDTH, of each WIDTH elements of
// any array. Try examples/data/sunspots.npy 12: a sum per year.
// lines --mean PICTURE LINE.png: the average line of a picture, the mean of each of its columns, as a
// picture 32 pixels high. Try examples/data/astronaut.jpg.
//
// coarsen/segmented.h does both: an axis is what it adds up along, as in NumPy. Exit status: 0; 1 when a
// file or the device fails; 2 when called wrongly.

#include "device.h"
#include "npy.h"
#include "picture.h"

#define LINE_HEIGHT  32

#define COARSEN_NAME row_sums // of a matrix in C order
#define COARSEN_TYPE float
#define COARSEN_ACC  double
#include <coarsen/segmented.h>

#define COARSEN_NAME fortran_sums // in Fortran order its rows lie as columns
#define COARSEN_TYPE float
#define COARSEN_ACC  double
#define COARSEN_AXIS 0
#include <coarsen/segmented.h>

#define COARSEN_NAME column_sums // of a picture: a column for each red, green and blue
#define COARSEN_TYPE unsigned char
#define COARSEN_ACC  unsigned long long
#define COARSEN_AXIS 0
#include <coarsen/segmented.h>

static void *host_alloc(size_t bytes)
{
    void *const p = malloc(bytes > 0 ? bytes : 1);
    if (p)
        return p;
    fprintf(stderr, "lines: no memory for %zu bytes; take a smaller file\n", bytes);
    exit(1);
}

// ---- The sum of each row ----------------------------------------------------------------------------

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

// given: the width of a row, or 0 if the array is to say it.
static void print_sums(const char *path, size_t given)
{
    npy_array array = read_floats(path);
    if (given == 0 && array.dimensions != 2) {
        fprintf(stderr, "%s: has %zu dimensions and no rows; give WIDTH\n", path, array.dimensions);
        exit(1);
    }
    if (given > 0 && array.count % given != 0) {
        fprintf(stderr, "%s: its %zu elements are no rows of %zu; give another WIDTH\n", path,
                array.count, given);
        exit(1);
    }
    const size_t width = given > 0 ? given : array.shape[1];
    const size_t rows = given > 0 ? array.count / given : array.shape[0];
    const bool fortran = given == 0 && array.fortran;

    device_require("lines");
    const size_t scratch_bytes =
        fortran ? fortran_sums_scratch_bytes(width, rows) : row_sums_scratch_bytes(rows, width);
    double *const sums = (double *)host_alloc(rows * sizeof(double));
    float *const in = (float *)device_copy(array.data, array.count * sizeof(float));
    double *const out = (double *)device_alloc(rows * sizeof(double));
    void *const scratch = device_alloc(scratch_bytes);
    if (fortran) {
        CHECK(fortran_sums_scratch_init(scratch, scratch_bytes, 0));
        CHECK(fortran_sums_launch(in, rows, out, width, rows, scratch, scratch_bytes, 0));
    } else {
        CHECK(row_sums_scratch_init(scratch, scratch_bytes, 0));
        CHECK(row_sums_launch(in, width, out, rows, width, scratch, scratch_bytes, 0));
    }
    if (rows > 0)
        CHECK(cudaMemcpy(sums, out, rows * sizeof(double), cudaMemcpyDeviceToHost));
    printf("%12s %20s\n", "row", "sum");
    for (size_t r = 0; r < rows; r++)
        printf("%12zu %20.12g\n", r, sums[r]);

    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaFree(scratch));
    free(sums);
    npy_free(&array);
}

// ---- The average line of a picture --------------------------------------------------------------------

static void write_mean(const char *path, const char *line_path)
{
    const picture p = picture_read(path);
    device_require("lines");
    const size_t samples = 3 * p.width; // of a line
    const size_t scratch_bytes = column_sums_scratch_bytes(p.height, samples);
    unsigned long long *const sums =
        (unsigned long long *)host_alloc(samples * sizeof(unsigned long long));
    unsigned char *const line = (unsigned char *)host_alloc(LINE_HEIGHT * samples);
    unsigned char *const in = (unsigned char *)device_copy(p.rgb, samples * p.height);
    unsigned long long *const out =
        (unsigned long long *)device_alloc(samples * sizeof(unsigned long long));
    void *const scratch = device_alloc(scratch_bytes);
    CHECK(column_sums_scratch_init(scratch, scratch_bytes, 0));
    CHECK(column_sums_launch(in, samples, out, p.height, samples, scratch, scratch_bytes, 0));
    CHECK(cudaMemcpy(sums, out, samples * sizeof(unsigned long long), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < LINE_HEIGHT * samples; i++)
        line[i] = (unsigned char)((sums[i % samples] + p.height / 2) / p.height);
    picture_write(line_path, p.width, LINE_HEIGHT, 3, line);
    printf("%s: the mean of %zu lines of %zu pixels\n", line_path, p.height, p.width);

    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaFree(scratch));
    free(sums);
    free(line);
    picture_free(p);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const bool mean = argc > 1 && strcmp(argv[1], "--mean") == 0;
    const long long width = !mean && argc == 3 ? strtoll(argv[2], &end, 10) : 0;
    if (mean ? argc != 4 : argc != 2 && (argc != 3 || width < 1 || *end)) {
        fprintf(stderr, "usage: %s FILE.npy [WIDTH], or --mean PICTURE LINE.png\n",
                argc > 0 ? argv[0] : "lines");
        return 2;
    }
    if (mean)
        write_mean(argv[2], argv[3]);
    else
        print_sums(argv[1], (size_t)width);
    if (fflush(stdout) != 0) {
        perror("lines: cannot write the results");
        return 1;
    }
    return 0;
}
