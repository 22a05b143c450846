// SPDX-License-Identifier: MIT
//
// bright PICTURE BRIGHT.png [TONE]: the bright pixels of a picture (PNG, JPEG, ...), whose gray is TONE or
// more, from 0 to 255 (default 192): how many there are, between which columns and rows, and a picture of
// them on black. Try examples/data/astronaut.jpg.
//
// coarsen/select.h makes the list of their places, and the host checks each. It draws from the list alone.
// Exit status: 0; 1 when a place is wrong, or a file or the device fails; 2 when called wrongly.

#include "device.h"
#include "picture.h"

#define COARSEN_NAME gray
#include <coarsen/image.h>

// The index i is written, not the tone x; the least tone s is given at launch.
#define COARSEN_NAME          bright
#define COARSEN_TYPE          unsigned char
#define COARSEN_SCALAR        unsigned char
#define COARSEN_IF(x, i, s)   ((x) >= (s))
#define COARSEN_OUT           unsigned int
#define COARSEN_LIFT(x, i, s) ((unsigned int)(i))
#include <coarsen/select.h>

static void *host_bytes(size_t n, size_t bytes)
{
    void *const p = calloc(n, bytes);
    if (p)
        return p;
    fprintf(stderr, "bright: no memory for %zu pixels; take a smaller picture\n", n);
    exit(1);
}

static bool is_bright(const picture *p, size_t i, unsigned char tone)
{
    const unsigned char *const rgb = p->rgb + 3 * i;
    return (19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768) / 65536 >= tone;
}

// Whether the list has the place of each bright pixel, in order, and no other.
static bool is_right(const picture *p, unsigned char tone, const unsigned int *places, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < p->width * p->height; i++)
        if (is_bright(p, i, tone) && (found == count || places[found++] != i))
            return false;
    return found == count;
}

static void print_places(const picture *p, const unsigned int *places, size_t count)
{
    const size_t pixels = p->width * p->height;
    printf("%zu of %zu pixels are bright (%.1f%%)", count, pixels,
           100 * (double)count / (double)pixels);
    if (count > 0) {
        size_t left = p->width, right = 0;
        for (size_t k = 0; k < count; k++) {
            const size_t x = places[k] % p->width;
            left = x < left ? x : left;
            right = x > right ? x : right;
        }
        printf(", in columns %zu to %zu and rows %zu to %zu", left, right, places[0] / p->width,
               places[count - 1] / p->width);
    }
    printf(", every place checked\n");
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const long tone = argc == 4 ? strtol(argv[3], &end, 10) : 192;
    if (argc < 3 || argc > 4 || (end && (end == argv[3] || *end)) || tone < 0 || tone > 255) {
        fprintf(stderr, "usage: %s PICTURE BRIGHT.png [TONE from 0 to 255]\n",
                argc > 0 ? argv[0] : "bright");
        return 2;
    }
    const picture p = picture_read(argv[1]);
    device_require("bright");
    const size_t pixels = p.width * p.height, scratch_bytes = bright_scratch_bytes(pixels);
    unsigned char *const rgb = (unsigned char *)device_copy(p.rgb, 3 * pixels);
    unsigned char *const tones = (unsigned char *)device_alloc(pixels);
    unsigned int *const out = (unsigned int *)device_alloc(pixels * sizeof(*out));
    unsigned long long *const count = (unsigned long long *)device_alloc(sizeof(*count));
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(gray_launch(rgb, 3 * p.width, tones, p.width, p.width, p.height, 0));
    CHECK(bright_scratch_init(scratch, scratch_bytes, 0));
    CHECK(bright_launch(tones, out, pixels, count, (unsigned char)tone, scratch, scratch_bytes, 0));

    unsigned long long kept;
    CHECK(cudaMemcpy(&kept, count, sizeof(kept), cudaMemcpyDeviceToHost));
    unsigned int *const places = (unsigned int *)host_bytes(pixels, sizeof(*places));
    if (kept > 0)
        CHECK(cudaMemcpy(places, out, kept * sizeof(*out), cudaMemcpyDeviceToHost));
    const bool right = is_right(&p, (unsigned char)tone, places, kept);
    if (right) {
        unsigned char *const drawn = (unsigned char *)host_bytes(pixels, 3);
        for (size_t k = 0; k < kept; k++)
            for (size_t c = 0; c < 3; c++)
                drawn[3 * (size_t)places[k] + c] = p.rgb[3 * (size_t)places[k] + c];
        picture_write(argv[2], p.width, p.height, 3, drawn);
        print_places(&p, places, kept);
        free(drawn);
    } else {
        fprintf(stderr, "bright: the list of places is wrong\n");
    }

    free(places);
    CHECK(cudaFree(rgb));
    CHECK(cudaFree(tones));
    CHECK(cudaFree(out));
    CHECK(cudaFree(count));
    CHECK(cudaFree(scratch));
    picture_free(p);
    return !right;
}
