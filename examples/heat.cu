// SPDX-License-Identifier: MIT
//
// heat PICTURE STEPS WARM.png: heat spreads through a picture (PNG, JPEG, ...), where each pixel is as warm as it is
// bright, and none leaves it. Try examples/data/astronaut.jpg 400 warm.png.

#include "device.h"
#include "picture.h"

// In a step of time a cell gives an eighth of its heat to each of 6 neighbours. Where there is an edge, the cell is its
// own neighbour, so what it gives comes back; a picture has two more edges, along z.
#define COARSEN_NAME         step
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#define COARSEN_BOUNDARY     COARSEN_CLAMPED
#include <coarsen/stencil.h>

#define COARSEN_NAME         two_steps // in one pass over memory
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#define COARSEN_BOUNDARY     COARSEN_CLAMPED
#define COARSEN_STEPS        2
#include <coarsen/stencil/time_tiled.h>

int main(int argc, char **argv)
{
    size_t steps;
    if (argc != 4 || !whole(argv[2], &steps))
        return usage("heat PICTURE STEPS WARM.png, STEPS being a number");
    const picture p = picture_read(argv[1]);
    const size_t nx = p.width, ny = p.height, n = nx * ny, bytes = n * sizeof(float);
    float *const cells = (float *)host_alloc(bytes);
    for (size_t i = 0; i < n; i++)
        cells[i] = 0.299f * p.rgb[3 * i] + 0.587f * p.rgb[3 * i + 1] + 0.114f * p.rgb[3 * i + 2];
    float *now = (float *)device_copy(cells, bytes), *next = (float *)device_alloc(bytes);

    for (size_t left = steps; left > 0; left -= left > 1 ? 2 : 1) {
        CHECK(left > 1 ? two_steps_launch(now, next, nx, ny, 1, nx, n, 0)
                       : step_launch(now, next, nx, ny, 1, nx, n, 0));
        float *const before = now;
        now = next, next = before;
    }

    float *const warm = (float *)host_copy(now, bytes);
    unsigned char *const gray = (unsigned char *)host_alloc(n);
    for (size_t i = 0; i < n; i++)
        gray[i] =
            (unsigned char)(warm[i] + 0.5f); // of 0 to 255 still: a cell becomes a mean of some
    picture_write(argv[3], nx, ny, 1, gray);
    printf("%s: %zu x %zu, after %zu steps\n", argv[3], nx, ny, steps);
    free(cells);
    free(warm);
    free(gray);
    device_free(now, next, NULL);
    picture_free(p);
    return finish();
}
