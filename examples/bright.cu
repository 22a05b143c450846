// SPDX-License-Identifier: MIT
//
// bright PICTURE BRIGHT.png [TONE]: the bright pixels of a picture (PNG, JPEG, ...), whose gray is TONE or more, from 0
// to 255 (192): how many there are, and a picture of them on black, drawn from the list of their places alone. Try
// examples/data/astronaut.jpg.

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

int main(int argc, char **argv)
{
    size_t tone = 192;
    if (argc < 3 || argc > 4 || (argc == 4 && !whole(argv[3], &tone)) || tone > 255)
        return usage("bright PICTURE BRIGHT.png [TONE], TONE being from 0 to 255");
    const picture p = picture_read(argv[1]);
    const size_t n = p.width * p.height, scratch_bytes = bright_scratch_bytes(n);
    unsigned char *const rgb = (unsigned char *)device_copy(p.rgb, 3 * n);
    unsigned char *const tones = (unsigned char *)device_alloc(n);
    unsigned int *const out = (unsigned int *)device_alloc(n * sizeof(*out));
    unsigned long long *const count = (unsigned long long *)device_alloc(sizeof(*count)), kept;
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(gray_launch(rgb, 3 * p.width, tones, p.width, p.width, p.height, 0));
    CHECK(bright_scratch_init(scratch, scratch_bytes, 0));
    CHECK(bright_launch(tones, out, n, count, (unsigned char)tone, scratch, scratch_bytes, 0));

    CHECK(cudaMemcpy(&kept, count, sizeof(kept), cudaMemcpyDeviceToHost));
    unsigned int *const places = (unsigned int *)host_copy(out, kept * sizeof(*out));
    unsigned char *const drawn = (unsigned char *)host_alloc(3 * n);
    memset(drawn, 0, 3 * n);
    for (size_t k = 0; k < kept; k++)
        memcpy(drawn + 3 * (size_t)places[k], p.rgb + 3 * (size_t)places[k], 3);
    picture_write(argv[2], p.width, p.height, 3, drawn);
    printf("%llu of %zu pixels are bright (%.1f%%)\n", kept, n, 100 * (double)kept / (double)n);
    free(places);
    free(drawn);
    device_free(rgb, tones, out, count, scratch, NULL);
    picture_free(p);
    return finish();
}
