// SPDX-License-Identifier: MIT
//
// heat FILE STEPS EVERY NAME: heat spreads through a picture (PNG, JPEG, ...: how bright each pixel is), or through a
// .npy array of floats of one to three dimensions, and none leaves it. Each EVERY steps, and after the last one, there
// is a line: the step, and the largest change that it made; and NAME-STEP.png, the middle slice, from black, the least
// value in FILE, to white, the greatest one. EVERY = 0: one line at the end, and no picture. Try
//     heat examples/data/astronaut.jpg 400 100 warm
//
// coarsen/stencil.h makes the steps, and coarsen/fuse.h finds the largest change. The host makes the same steps in
// double, and each line is printed when each cell agrees.
// Exit status: 0; 1 when a cell is wrong, or a file or the device fails; 2 when called wrongly.

#include "device.h"
#include "npy.h"
#include "picture.h"
#include <float.h>
#include <math.h>

// In a step of time a cell gives an eighth of its heat to each of 6 neighbours. Where there is an edge, the cell is its
// own neighbour, so what it gives comes back.
#define COARSEN_NAME         heat
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#define COARSEN_BOUNDARY     COARSEN_CLAMPED
#include <coarsen/stencil.h>

#define COARSEN_NAME      change
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) fabsf((a) - (b))
#define COARSEN_OP        COARSEN_MAX
#define COARSEN_IDENTITY  0
#include <coarsen/fuse.h>

typedef struct {
    size_t nx, ny, nz, count;
    float *cells, least, most;
} grid;

static void *allocate(size_t bytes)
{
    void *const memory = malloc(bytes);
    if (memory)
        return memory;
    fprintf(stderr, "heat: no memory for %zu bytes; take a smaller file\n", bytes);
    exit(1);
}

static void refuse(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(1);
}

static grid grid_read(const char *path)
{
    grid g = {1, 1, 1, 0, NULL, 0, 0};
    const size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".npy") == 0) {
        npy_array array;
        char error[NPY_ERROR];
        if (!npy_read(path, &array, error)) {
            fprintf(stderr, "%s\n", error);
            exit(1);
        }
        if (array.type != NPY_F4 || array.count == 0 || array.dimensions < 1 ||
            array.dimensions > 3)
            refuse(path, "is no array of f4 with cells and 1 to 3 dimensions; save it as float32");
        size_t *const extents[] = {&g.nx, &g.ny, &g.nz};
        for (size_t d = 0; d < array.dimensions; d++)
            *extents[array.fortran ? d : array.dimensions - 1 - d] = array.shape[d];
        g.cells = (float *)array.data;
    } else {
        const picture p = picture_read(path);
        g.nx = p.width;
        g.ny = p.height;
        g.cells = (float *)allocate(g.nx * g.ny * sizeof(float));
        for (size_t i = 0; i < g.nx * g.ny; i++)
            g.cells[i] =
                0.299f * p.rgb[3 * i] + 0.587f * p.rgb[3 * i + 1] + 0.114f * p.rgb[3 * i + 2];
        picture_free(p);
    }
    g.count = g.nx * g.ny * g.nz;
    g.least = g.most = g.cells[0];
    for (size_t i = 0; i < g.count; i++) {
        if (!(fabsf(g.cells[i]) <= 1e37f))
            refuse(path, "holds a NaN, or more than 1e37: sums of neighbours would be none");
        g.least = fminf(g.least, g.cells[i]);
        g.most = fmaxf(g.most, g.cells[i]);
    }
    return g;
}

// The host's step, in double.
static void step(const grid *g, const double *in, double *out)
{
    const size_t row = g->nx, slice = g->nx * g->ny;
    for (size_t i = 0; i < g->count; i++) {
        const size_t x = i % row, y = i / row % g->ny, z = i / slice;
        out[i] = 0.25 * in[i] +
                 0.125 * (in[i - (x > 0)] + in[i + (x + 1 < g->nx)] + in[i - (y > 0 ? row : 0)] +
                          in[i + (y + 1 < g->ny ? row : 0)] + in[i - (z > 0 ? slice : 0)] +
                          in[i + (z + 1 < g->nz ? slice : 0)]);
    }
}

// Each step rounds 8 times, by at most half an epsilon of the greatest value, and spreads the errors before it.
static void check(const grid *g, const float *made, const double *wanted, size_t steps)
{
    const double greatest = fmax(fabs((double)g->least), fabs((double)g->most));
    const double allowed = 4.0 * (double)steps * FLT_EPSILON * greatest;
    for (size_t i = 0; i < g->count; i++)
        if (!(fabs(made[i] - wanted[i]) <= allowed)) {
            fprintf(stderr, "heat: after step %zu cell %zu is %.9g and not %.9g\n", steps, i,
                    (double)made[i], wanted[i]);
            exit(1);
        }
}

static void draw(const grid *g, const float *made, const char *name, size_t steps)
{
    const size_t pixels = g->nx * g->ny, bytes = strlen(name) + 32;
    char *const path = (char *)allocate(bytes);
    unsigned char *const gray = (unsigned char *)allocate(pixels);
    const double range = (double)g->most - g->least;
    for (size_t i = 0; i < pixels; i++) {
        const double share = range > 0 ? (made[g->nz / 2 * pixels + i] - g->least) / range : 0;
        gray[i] = (unsigned char)(255 * fmin(fmax(share, 0), 1) + 0.5);
    }
    snprintf(path, bytes, "%s-%zu.png", name, steps);
    picture_write(path, g->nx, g->ny, 1, gray);
    free(gray);
    free(path);
}

static bool number(const char *text, size_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

int main(int argc, char **argv)
{
    size_t steps, every;
    if (argc != 5 || !number(argv[2], &steps) || !number(argv[3], &every)) {
        fprintf(stderr, "usage: %s FILE STEPS EVERY NAME, with numbers for STEPS and EVERY\n",
                argc > 0 ? argv[0] : "heat");
        return 2;
    }
    const grid g = grid_read(argv[1]);
    double *wanted = (double *)allocate(g.count * sizeof(double));
    double *spare = (double *)allocate(g.count * sizeof(double));
    float *const made = (float *)allocate(g.count * sizeof(float));
    for (size_t i = 0; i < g.count; i++)
        wanted[i] = g.cells[i];

    device_require("heat");
    const size_t bytes = g.count * sizeof(float), scratch_bytes = change_scratch_bytes(g.count);
    float *now = (float *)device_copy(g.cells, bytes), *next = (float *)device_alloc(bytes);
    float *const largest = (float *)device_alloc(sizeof(float)), change = 0;
    void *const scratch = device_alloc(scratch_bytes);
    CHECK(change_scratch_init(scratch, scratch_bytes, 0));
    printf("%zu x %zu x %zu cells from %g to %g\n", g.nx, g.ny, g.nz, (double)g.least,
           (double)g.most);
    for (size_t s = 1; s <= steps; s++) {
        CHECK(heat_launch(now, next, g.nx, g.ny, g.nz, g.nx, g.nx * g.ny, 0));
        step(&g, wanted, spare);
        float *const older = now;
        double *const old = wanted;
        now = next, next = older;
        wanted = spare, spare = old;
        if (s < steps && (every == 0 || s % every > 0))
            continue;
        CHECK(change_launch(now, next, largest, g.count, scratch, scratch_bytes, 0));
        CHECK(cudaMemcpy(&change, largest, sizeof(float), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(made, now, bytes, cudaMemcpyDeviceToHost));
        check(&g, made, wanted, s);
        printf("step %zu: the largest change is %g\n", s, (double)change);
        if (every > 0)
            draw(&g, made, argv[4], s);
    }

    CHECK(cudaFree(now));
    CHECK(cudaFree(next));
    CHECK(cudaFree(largest));
    CHECK(cudaFree(scratch));
    free(wanted);
    free(spare);
    free(made);
    free(g.cells);
    if (fflush(stdout) != 0) {
        perror("heat: cannot write the results");
        return 1;
    }
    return 0;
}
