// SPDX-License-Identifier: MIT
//
// meter PICTURE X Y WIDTH HEIGHT: how bright a part of a picture (PNG, JPEG, ...) is, from 0 to 255: the mean of its
// pixels in gray and their standard deviation, in one pass. X and Y are its left column and upper row, from 0. Try
// examples/data/astronaut.jpg 150 60 80 80, the face.

#include "device.h"
#include "picture.h"
#include <math.h>

#define COARSEN_NAME gray
#include <coarsen/image.h>

#define COARSEN_NAME tones // how many, their mean, and how far they are from it
#define COARSEN_TYPE double
#include <coarsen/moments.h>

#define COARSEN_NAME       light
#define COARSEN_TYPE       unsigned char
#define COARSEN_ACC        tones
#define COARSEN_LIFT(x, i) tones_lift(x)
#define COARSEN_OP         tones_merge
#define COARSEN_IDENTITY   tones_none()
#define COARSEN_VIEW       1 // of rows that are a pitch apart
#include <coarsen/reduce.h>

int main(int argc, char **argv)
{
    size_t x, y, width, height;
    if (argc != 6 || !whole(argv[2], &x) || !whole(argv[3], &y) || !whole(argv[4], &width) ||
        !whole(argv[5], &height))
        return usage("meter PICTURE X Y WIDTH HEIGHT");
    const picture p = picture_read(argv[1]);
    if (x >= p.width || y >= p.height || width - 1 >= p.width - x || height - 1 >= p.height - y) {
        fprintf(stderr, "%s: is %zu x %zu: give a part that is in it, of 1 pixel or more\n",
                argv[1], p.width, p.height);
        return 2;
    }
    const size_t n = p.width * p.height, scratch_bytes = light_scratch_bytes(n);
    unsigned char *const rgb = (unsigned char *)device_copy(p.rgb, 3 * n);
    unsigned char *const in = (unsigned char *)device_alloc(n), *const part = in + y * p.width + x;
    tones *const out = (tones *)device_alloc(sizeof(tones)), found;
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(gray_launch(rgb, 3 * p.width, in, p.width, p.width, p.height, 0));
    CHECK(light_scratch_init(scratch, scratch_bytes, 0));
    CHECK(light_launch_view(part, p.width, height, width, out, scratch, scratch_bytes, 0));

    CHECK(cudaMemcpy(&found, out, sizeof(found), cudaMemcpyDeviceToHost));
    printf("%.0f pixels, mean %.2f, deviation %.2f\n", found.count, found.mean,
           sqrt(tones_variance(found)));
    device_free(rgb, in, out, scratch, NULL);
    picture_free(p);
    return finish();
}
