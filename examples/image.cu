// SPDX-License-Identifier: MIT
//
// image PICTURE GRAY.png BLUR.png: a picture in gray, and blurred by boxes of 7 x 7.
//
// stb_image reads PICTURE (PNG, JPEG, BMP, ...) and writes the PNGs. coarsen/image.h does the rest, and
// the host checks each of its pixels. Try examples/data/astronaut.jpg.
//
// Exit status: 0; 1 when a pixel is wrong, or a file or the device fails; 2 when called wrongly.

#include "device.h"
#include "picture.h"

#define RADIUS       3

#define COARSEN_NAME gray
#include <coarsen/image.h>

#define COARSEN_NAME     blur
#define COARSEN_RADIUS   RADIUS
#define COARSEN_CHANNELS 3
#include <coarsen/image.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static unsigned char wanted_gray(const picture *p, size_t i)
{
    const unsigned char *const rgb = p->rgb + 3 * i;
    return (unsigned char)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768) / 65536);
}

static unsigned char wanted_blur(const picture *p, size_t i)
{
    const size_t x = i / 3 % p->width, y = i / 3 / p->width;
    unsigned int sum = 0, count = 0;
    for (size_t v = y - least(y, RADIUS); v <= least(y + RADIUS, p->height - 1); v++)
        for (size_t u = x - least(x, RADIUS); u <= least(x + RADIUS, p->width - 1); u++, count++)
            sum += p->rgb[3 * (v * p->width + u) + i % 3];
    return (unsigned char)((sum + count / 2) / count);
}

// Copies the device's picture, checks every sample and writes the PNG. Returns how many are wrong.
static size_t finish(const char *path, const picture *p, const unsigned char *made, int channels,
                     unsigned char (*wanted)(const picture *, size_t))
{
    const size_t bytes = p->width * p->height * (size_t)channels;
    unsigned char *const host = (unsigned char *)malloc(bytes);
    if (!host) {
        fprintf(stderr, "image: no memory for %zu bytes; take a smaller picture\n", bytes);
        exit(1);
    }
    CHECK(cudaMemcpy(host, made, bytes, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += host[i] != wanted(p, i);
    picture_write(path, p->width, p->height, channels, host);
    printf("%s: %zu x %zu, %s\n", path, p->width, p->height,
           wrong == 0 ? "every sample checked" : "WRONG");
    free(host);
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s PICTURE GRAY.png BLUR.png\n", argc > 0 ? argv[0] : "image");
        return 2;
    }
    const picture p = picture_read(argv[1]);
    device_require("image");
    const size_t pixels = p.width * p.height;
    const unsigned char *const in = (unsigned char *)device_copy(p.rgb, 3 * pixels);
    unsigned char *const out = (unsigned char *)device_alloc(3 * pixels);

    CHECK(gray_launch(in, 3 * p.width, out, p.width, p.width, p.height, 0));
    size_t wrong = finish(argv[2], &p, out, 1, wanted_gray);
    CHECK(blur_launch(in, 3 * p.width, out, 3 * p.width, p.width, p.height, 0));
    wrong += finish(argv[3], &p, out, 3, wanted_blur);

    CHECK(cudaFree((void *)in));
    CHECK(cudaFree(out));
    picture_free(p);
    if (wrong > 0)
        fprintf(stderr, "image: %zu samples are wrong\n", wrong);
    return wrong > 0;
}
