// SPDX-License-Identifier: MIT
//
// stats FILE.npy: count, sum and mean of an array; its least and greatest element, with indices.
//
// npy.h reads the array. coarsen/reduce.h reduces it to its sum. With the pairs of coarsen/arg.h it
// also finds the least and the greatest element with their indices. stats_of.h does this for one
// type.
//
// The sum of f4 and f8 is a double, that of i4 and i8 is exact. As in NumPy, a NaN is both the least
// and the greatest, and of equal elements the first is named. An index counts the elements in the
// order of the file, from 0. Exit status: 0; 1 when the file or the device fails; 2 when called
// wrongly.

#include "device.h"
#include "npy.h"
#include <coarsen/base.h>
#include <math.h>

// ---- Printing -----------------------------------------------------------------------------------

// In the fewest digits that read back as the same float or double; bytes says which it is.
static void print_real(const char *label, double x, size_t bytes)
{
    char text[32] = "nan";
    for (int digits = 1; digits <= 17 && !isnan(x); digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, x);
        if (bytes == sizeof(float) ? strtof(text, NULL) == (float)x : strtod(text, NULL) == x)
            break;
    }
    printf("%-7s %s\n", label, text);
}

__extension__ typedef __int128 wide_integer; // no sum of 64-bit integers in memory overflows it

static void print_integer(const char *label, wide_integer x)
{
    char text[41], *p = text + sizeof(text); // 39 digits, a sign and the end
    const bool negative = x < 0;
    *--p = '\0';
    do {
        const int digit = (int)(x % 10); // has the sign of x
        *--p = (char)('0' + (negative ? -digit : digit));
        x /= 10;
    } while (x != 0);
    if (negative)
        *--p = '-';
    printf("%-7s %s\n", label, p);
}

// ---- The types ----------------------------------------------------------------------------------

#define STATS_NAME            f4
#define STATS_TYPE            float
#define STATS_SUM             double
#define STATS_PRINT(label, x) print_real(label, x, sizeof(x))
#include "stats_of.h"

#define STATS_NAME            f8
#define STATS_TYPE            double
#define STATS_SUM             double
#define STATS_PRINT(label, x) print_real(label, x, sizeof(x))
#include "stats_of.h"

#define STATS_NAME            i4
#define STATS_TYPE            int32_t
#define STATS_SUM             wide_integer
#define STATS_PRINT(label, x) print_integer(label, x)
#include "stats_of.h"

#define STATS_NAME            i8
#define STATS_TYPE            int64_t
#define STATS_SUM             wide_integer
#define STATS_PRINT(label, x) print_integer(label, x)
#include "stats_of.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE.npy\n", argc > 0 ? argv[0] : "stats");
        return 2;
    }
    npy_array array;
    char error[NPY_ERROR];
    if (!npy_read(argv[1], &array, error)) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    device_require("stats");
    switch (array.type) {
    case NPY_F4:
        f4_stats(array.data, array.count);
        break;
    case NPY_F8:
        f8_stats(array.data, array.count);
        break;
    case NPY_I4:
        i4_stats(array.data, array.count);
        break;
    case NPY_I8:
        i8_stats(array.data, array.count);
        break;
    }
    npy_free(&array);
    if (fflush(stdout) != 0) {
        perror("stats: cannot write the results");
        return 1;
    }
    return 0;
}
