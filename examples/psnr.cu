// SPDX-License-Identifier: MIT
//
// psnr A.png B.png: how far apart two pictures of one size are (PNG, JPEG, ...): the mean of the squared differences of
// their samples, and the ratio of the greatest possible one to it, in decibel. Try examples/data/astronaut.jpg and
// what the example `image` makes of it.
//
// The differences are never written to memory: the map and the sum are one kernel.

#include "device.h"
#include "picture.h"
#include <math.h>

#define COARSEN_NAME      distance
#define COARSEN_TYPE      unsigned char
#define COARSEN_ACC       unsigned long long
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) (((int)(a) - (int)(b)) * ((int)(a) - (int)(b)))
#include <coarsen/fuse.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return usage("psnr A.png B.png");
    const picture a = picture_read(argv[1]), b = picture_read(argv[2]);
    if (a.width != b.width || a.height != b.height) {
        fprintf(stderr, "psnr: %s is %zu x %zu and %s is %zu x %zu; give two of a size\n", argv[1],
                a.width, a.height, argv[2], b.width, b.height);
        return 1;
    }
    const size_t n = 3 * a.width * a.height, scratch_bytes = distance_scratch_bytes(n);
    unsigned char *const in_a = (unsigned char *)device_copy(a.rgb, n);
    unsigned char *const in_b = (unsigned char *)device_copy(b.rgb, n);
    unsigned long long *const out = (unsigned long long *)device_alloc(sizeof(*out)), squares;
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(distance_scratch_init(scratch, scratch_bytes, 0));
    CHECK(distance_launch(in_a, in_b, out, n, scratch, scratch_bytes, 0));

    CHECK(cudaMemcpy(&squares, out, sizeof(squares), cudaMemcpyDeviceToHost));
    const double mean = (double)squares / (double)n;
    printf("mean squared difference %.6g, PSNR %.2f dB\n", mean, 10 * log10(255 * 255 / mean));
    device_free(in_a, in_b, out, scratch, NULL);
    picture_free(a);
    picture_free(b);
    return finish();
}
