// SPDX-License-Identifier: MIT
//
// The ladder of the blur in include/coarsen/image: the first elements of the array as a square gray
// picture, blurred by boxes of 7 x 7. Its size is limited, so that it does not take long.

#include "ladder.h"
#include <math.h>
#include <string.h>

#define IMAGE_RADIUS   3

#define COARSEN_NAME   image_single
#define COARSEN_RADIUS IMAGE_RADIUS
#include <coarsen/image/blur_single.h>

#define COARSEN_NAME   image_coarsened
#define COARSEN_RADIUS IMAGE_RADIUS
#include <coarsen/image/blur_coarsened.h>

#define COARSEN_NAME   image_tiled
#define COARSEN_RADIUS IMAGE_RADIUS
#include <coarsen/image/blur_tiled.h>

#define COARSEN_NAME   image_rolling
#define COARSEN_RADIUS IMAGE_RADIUS
#include <coarsen/image/blur_rolling.h>

#ifdef SIMT
#define IMAGE_MOST 256
#else
#define IMAGE_MOST 8192
#endif

static struct {
    size_t side;
    unsigned char *in, *out;      // on the device
    unsigned char *wanted, *made; // on the host
} image;

static size_t image_side(size_t n)
{
    size_t side = 0;
    while (side < IMAGE_MOST && (side + 1) * (side + 1) <= n)
        side++;
    return side;
}

// The sum of those of values[0], values[step], ... within the radius of the i-th, and their number.
static unsigned int image_sum(const unsigned int *values, size_t step, size_t i, size_t count,
                              unsigned int *summed)
{
    unsigned int sum = 0;
    const size_t first = i < IMAGE_RADIUS ? 0 : i - IMAGE_RADIUS;
    *summed = 0;
    for (size_t k = first; k < count && k <= i + IMAGE_RADIUS; k++, ++*summed)
        sum += values[k * step];
    return sum;
}

static void image_begin(const ladder_input *input)
{
    const size_t side = image_side(input->n), pixels = side * side;
    unsigned char *const picture = (unsigned char *)host_alloc(pixels);
    unsigned int *const values = (unsigned int *)host_alloc(pixels * sizeof(*values));
    unsigned int *const rows = (unsigned int *)host_alloc(pixels * sizeof(*rows));
    image.side = side;
    image.wanted = (unsigned char *)host_alloc(pixels);
    image.made = (unsigned char *)host_alloc(pixels);
    for (size_t i = 0; i < pixels; i++)
        values[i] = picture[i] = (unsigned char)fmod(31 * fabs((double)input->values[i]), 256);
    unsigned int across, down;
    for (size_t i = 0; i < pixels; i++)
        rows[i] = image_sum(values + i / side * side, 1, i % side, side, &across);
    for (size_t i = 0; i < pixels; i++) {
        image_sum(values + i / side * side, 1, i % side, side, &across);
        const unsigned int sum = image_sum(rows + i % side, side, i / side, side, &down);
        image.wanted[i] = (unsigned char)((sum + across * down / 2) / (across * down));
    }
    image.in = (unsigned char *)device_copy(picture, pixels);
    image.out = (unsigned char *)device_alloc(pixels);
    free(picture);
    free(values);
    free(rows);
}

static void image_reset(void)
{
    if (image.side > 0)
        CHECK(cudaMemsetAsync(image.out, 0, image.side * image.side, 0));
}

// The mean of all pixels.
static bool image_result(char text[LADDER_TEXT])
{
    const size_t pixels = image.side * image.side;
    double sum = 0;
    if (pixels > 0)
        CHECK(cudaMemcpy(image.made, image.out, pixels, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < pixels; i++)
        sum += image.made[i];
    snprintf(text, LADDER_TEXT, "%.6g", pixels > 0 ? sum / (double)pixels : 0);
    return memcmp(image.made, image.wanted, pixels) == 0;
}

static void image_end(void)
{
    CHECK(cudaFree(image.in));
    CHECK(cudaFree(image.out));
    free(image.wanted);
    free(image.made);
}

static size_t image_bytes(size_t n)
{
    return 2 * image_side(n) * image_side(n);
}

static cudaError_t image_run_single(void)
{
    return image_single_launch(image.in, image.side, image.out, image.side, image.side, image.side,
                               0);
}

static cudaError_t image_run_coarsened(void)
{
    return image_coarsened_launch(image.in, image.side, image.out, image.side, image.side,
                                  image.side, 0);
}

static cudaError_t image_run_tiled(void)
{
    return image_tiled_launch(image.in, image.side, image.out, image.side, image.side, image.side,
                              0);
}

static cudaError_t image_run_rolling(void)
{
    return image_rolling_launch(image.in, image.side, image.out, image.side, image.side, image.side,
                                0);
}

static const ladder_rung image_rungs[] = {
    {"single", "1 pixel per thread",
     "Each thread adds up its whole box: 49 loads, nearly all of which its neighbours\n"
     "make too.",
     image_run_single},
    {"coarsened", "8 pixels, downwards",
     "The next box is this one without its top row, and with a new row: after the first\n"
     "box, 14 loads and not 49.",
     image_run_coarsened},
    {"tiled", "a tile on the chip",
     "A block loads its pixels, and a halo of 3 around them, from global memory once. Its\n"
     "threads then read them many times from shared memory.",
     image_run_tiled},
    {"rolling", "16 columns each",
     "The sums of the columns roll down the rows in registers, two sums in each. A thread\n"
     "loads 16 bytes of a row at a time, and gets its neighbours' columns by shuffles.",
     image_run_rolling},
};

static const ladder image_ladder = {
    "Image: a gray picture blurred by boxes of 7 x 7",
    image_rungs,
    sizeof(image_rungs) / sizeof(*image_rungs),
    image_bytes,
    image_begin,
    image_reset,
    image_result,
    image_end,
};
