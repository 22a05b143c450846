// SPDX-License-Identifier: MIT
//
// demo [FILE.npy] [--n N]: climbs each ladder, on the array in the file and on a generated one of N
// elements. A table has a row for each rung: its result, which is checked, and what it took. On a GPU
// that is its time, and its bandwidth beside that of a device-to-device copy. On the CPU device it is
// its counts.
//
// This is a tour, not the example of a pattern, so it is longer than they are: it has all rungs of all ladders, and the
// checking is part of what it shows.
//
// Exit status: 0; 1 when a result is wrong, or the file or the device fails; 2 when called wrongly.

#include "demo/fuse.h"
#include "demo/histogram.h"
#include "demo/image.h"
#include "demo/ladder.h"
#include "demo/map.h"
#include "demo/matmul.h"
#include "demo/measure.h"
#include "demo/merge.h"
#include "demo/reduce.h"
#include "demo/scan.h"
#include "demo/segmented.h"
#include "demo/select.h"
#include "demo/sort.h"
#include "demo/stencil.h"
#include "demo/top_k.h"
#include "npy.h"

#include <float.h>
#include <getopt.h>
#include <math.h>
#include <unistd.h>

static const ladder *const ladders[] = {
    &reduce_ladder, &scan_ladder,      &select_ladder, &merge_ladder,     &sort_ladder,
    &top_k_ladder,  &segmented_ladder, &matmul_ladder, &histogram_ladder, &map_ladder,
    &image_ladder,  &stencil_ladder,   &fuse_ladder};

// ---- Progress: what is running, on a terminal ---------------------------------------------------

__attribute__((format(printf, 1, 2))) static void progress(const char *format, ...)
{
    if (!isatty(STDERR_FILENO))
        return;
    va_list args;
    va_start(args, format);
    fputs("\r\033[K", stderr); // to the line's start, and clear it
    vfprintf(stderr, format, args);
    fflush(stderr);
    va_end(args);
}

// ---- Input --------------------------------------------------------------------------------------

static float *host_array(size_t n, const char *what)
{
    float *values =
        n <= SIZE_MAX / sizeof(float) ? (float *)malloc(n > 0 ? n * sizeof(float) : 1) : NULL;
    if (values)
        return values;
    fprintf(stderr, "demo: no memory for the %zu floats of %s; ask for fewer\n", n, what);
    exit(1);
}

static float element_as_float(const npy_array *array, size_t i)
{
    switch (array->type) {
    case NPY_F4:
        return ((const float *)array->data)[i];
    case NPY_I4:
        return (float)((const int32_t *)array->data)[i];
    case NPY_I8:
        return (float)((const int64_t *)array->data)[i];
    default:
        break;
    }
    const double x = ((const double *)array->data)[i];
    return fabs(x) > FLT_MAX ? INFINITY : (float)x;
}

// The file's array as floats.
static ladder_input input_from_file(const char *path)
{
    npy_array array;
    char error[NPY_ERROR];
    if (!npy_read(path, &array, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    float *values = host_array(array.count, path);
    double magnitude = 0;
    bool whole = true;
    for (size_t i = 0; i < array.count; i++) {
        values[i] = element_as_float(&array, i);
        magnitude += fabs((double)values[i]);
        whole &= truncf(values[i]) == values[i];
    }
    if (!(magnitude <= FLT_MAX)) {
        fprintf(stderr,
                "%s: holds a NaN, an infinity or values too large to add up as floats; "
                "give the demo another, and this one to stats\n",
                path);
        exit(1);
    }
    const ladder_input input = {path, values, array.count, whole && magnitude < (1 << 24)};
    npy_free(&array);
    return input;
}

// Whole numbers from 1 to 8, of either sign, that depend only on their index (SplitMix64).
// The sum of any part of 2^28 of them has a standard deviation below 2^17, so it stays below 2^24.
static ladder_input input_generated(size_t n)
{
    float *values = host_array(n, "the generated array");
    progress("making %zu elements", n);
    for (size_t i = 0; i < n; i++) {
        uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        z ^= z >> 31;
        const float magnitude = (float)(z % 8 + 1);
        values[i] = z >> 63 ? magnitude : -magnitude;
    }
    progress("%s", "");
    const ladder_input input = {"generated, whole numbers from -8 to 8", values, n, true};
    return input;
}

// ---- The tables ---------------------------------------------------------------------------------

static void print_lessons(const ladder *l)
{
    printf("\n%s\n\n", l->title);
    for (size_t r = 0; r < l->rung_count; r++) {
        const char *text = l->rungs[r].lesson;
        const int first = (int)strcspn(text, "\n");
        printf("  %-14s %.*s\n", l->rungs[r].name, first, text);
        if (text[first])
            printf("  %-14s %s\n", "", text + first + 1);
    }
}

// Prints a row for each rung. Returns how many results were wrong.
static int climb(const ladder *l, const ladder_input *input)
{
    int wrong = 0;
    char left[64];
    snprintf(left, sizeof(left), "%-11s %-20s %10s %-3s", "rung", "what changed", "result", "ok");
    printf("\n%s: %zu elements\n\n", input->name, input->n);
    measure_heading(left);

    progress("setting up %zu elements", input->n);
    l->begin(input);
    for (size_t r = 0; r < l->rung_count; r++) {
        const ladder_rung *rung = &l->rungs[r];
        char text[LADDER_TEXT];
        progress("%s (%zu of %zu) on %zu elements", rung->name, r + 1, l->rung_count, input->n);
        measure_start();
        l->reset();
        CHECK(rung->launch());
        CHECK(cudaDeviceSynchronize());
        const bool right = l->result(text);
        const measure m = measure_finish(l, rung, input->n);
        progress("%s", "");
        const int longer = (int)strlen(rung->name) > 11 ? (int)strlen(rung->name) - 11 : 0;
        printf("%-11s %-*s %10s %-3s", rung->name, 20 - longer, rung->change, text,
               right ? "yes" : "NO");
        measure_print(&m);
        fflush(stdout);
        wrong += !right;
    }
    l->end();
    return wrong;
}

// ---- Command line -------------------------------------------------------------------------------

static const char help[] =
    "usage: demo [FILE.npy] [--n N]\n"
    "  FILE.npy  the array to begin with; examples/data/sunspots.npy if none is given\n"
    "  --n N     how many elements the generated array has, as 1000000 or 2^20; 2^%d if not "
    "given\n";

// N or 2^K.
static bool parse_count(const char *text, size_t *n)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return false;
    const unsigned long long value = strtoull(text, &end, 10);
    *n = value;
    if (value == 2 && *end == '^' && isdigit((unsigned char)end[1])) {
        const unsigned long long power = strtoull(end + 1, &end, 10);
        if (power >= 64)
            return false;
        *n = (size_t)1 << power;
    }
    return *end == '\0' && errno == 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"n", required_argument, NULL, 'n'}, {"help", no_argument, NULL, 'h'}, {}};
    const char *path = "examples/data/sunspots.npy";
    size_t n = (size_t)1 << MEASURE_LOG2_N;
    int option, wrong = 0;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (option == 'h') {
            printf(help, MEASURE_LOG2_N);
            return 0;
        } else if (option != 'n' || !parse_count(optarg, &n)) {
            if (option == 'n')
                fprintf(stderr, "demo: --n %s: give a count, as 1000000 or 2^20\n", optarg);
            fprintf(stderr, help, MEASURE_LOG2_N);
            return 2;
        }
    if (argc - optind > 1) {
        fprintf(stderr, "demo: one file at a time\n");
        fprintf(stderr, help, MEASURE_LOG2_N);
        return 2;
    }
    if (argc > optind)
        path = argv[optind];

    const ladder_input from_file = input_from_file(path);
    int devices;
    CHECK(cudaGetDeviceCount(&devices)); // before what takes long

    const ladder_input inputs[] = {from_file, input_generated(n)};
    measure_begin(n);
    for (const ladder *l : ladders) {
        print_lessons(l);
        for (const ladder_input &input : inputs)
            wrong += climb(l, &input);
    }
    measure_end();
    for (const ladder_input &input : inputs)
        free((void *)input.values);
    if (wrong > 0)
        fprintf(stderr, "demo: %d results are wrong\n", wrong);
    if (fflush(stdout) != 0) {
        perror("demo: cannot write the tables");
        return 1;
    }
    return wrong > 0;
}
