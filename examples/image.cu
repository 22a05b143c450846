// SPDX-License-Identifier: MIT
//
// image PICTURE GRAY.png BLUR.png: a picture (PNG, JPEG, ...) in gray, and blurred by boxes of 7 x 7. Try
// examples/data/astronaut.jpg. -DRUNG='<coarsen/image/grayscale_single.h>' compiles another rung of the ladder.

#include "device.h"
#include "picture.h"

#ifndef RUNG
#define RUNG <coarsen/image.h>
#endif

#define COARSEN_NAME gray
#include RUNG

#define COARSEN_NAME     blur
#define COARSEN_RADIUS   3
#define COARSEN_CHANNELS 3
#include <coarsen/image.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return usage("image PICTURE GRAY.png BLUR.png");
    const picture p = picture_read(argv[1]);
    const size_t pixels = p.width * p.height;
    unsigned char *const in = (unsigned char *)device_copy(p.rgb, 3 * pixels);
    unsigned char *const gray = (unsigned char *)device_alloc(pixels);
    unsigned char *const blur = (unsigned char *)device_alloc(3 * pixels);

    // Rows follow one another without a gap: 3 samples a pixel, and 1 in gray.
    CHECK(gray_launch(in, 3 * p.width, gray, p.width, p.width, p.height, 0));
    CHECK(blur_launch(in, 3 * p.width, blur, 3 * p.width, p.width, p.height, 0));

    unsigned char *const in_gray = (unsigned char *)host_copy(gray, pixels);
    unsigned char *const blurred = (unsigned char *)host_copy(blur, 3 * pixels);
    picture_write(argv[2], p.width, p.height, 1, in_gray);
    picture_write(argv[3], p.width, p.height, 3, blurred);
    printf("%s, %s: %zu x %zu\n", argv[2], argv[3], p.width, p.height);
    free(in_gray);
    free(blurred);
    device_free(in, gray, blur, NULL);
    picture_free(p);
    return finish();
}
