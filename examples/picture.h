// SPDX-License-Identifier: MIT
//
// picture.h: reads and writes pictures, with stb_image of the system's package libstb-dev.
//
//     picture p = picture_read("in.jpg");             // PNG, JPEG, ...; on an error a line, exit 1
//     picture_write("out.png", w, h, channels, data); // on an error a line, exit 1
//     picture_free(p);

#ifndef PICTURE_H
#define PICTURE_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    size_t width, height;
    unsigned char *rgb; // width x height pixels, rows first, three bytes each
} picture;

#ifdef __has_include
#if __has_include(<stb/stb_image.h>) && __has_include(<stb/stb_image_write.h>)
#include <stb/stb_image.h> // stb.c has what they declare
#include <stb/stb_image_write.h>
#define PICTURE_STB
#endif
#endif

#ifdef PICTURE_STB

static inline picture picture_read(const char *path)
{
    int width, height, channels;
    picture p;
    p.rgb = stbi_load(path, &width, &height, &channels, 3);
    if (!p.rgb) {
        fprintf(stderr, "%s: cannot read: %s; give the path of a PNG or JPEG\n", path,
                stbi_failure_reason());
        exit(1);
    }
    p.width = (size_t)width;
    p.height = (size_t)height;
    return p;
}

static inline void picture_write(const char *path, size_t width, size_t height, int channels,
                                 const unsigned char *data)
{
    if (stbi_write_png(path, (int)width, (int)height, channels, data, (int)width * channels))
        return;
    fprintf(stderr, "%s: cannot write; give a path in a folder that exists, with room\n", path);
    exit(1);
}

static inline void picture_free(picture p)
{
    stbi_image_free(p.rgb);
}

#else

static inline void picture_missing(const char *path)
{
    fprintf(stderr,
            "%s: built without stb_image, which reads and writes pictures; install it "
            "(apt-get install libstb-dev, as root) and build in a new folder (rm -r build)\n",
            path);
    exit(1);
}

static inline picture picture_read(const char *path)
{
    picture_missing(path);
    return picture();
}

static inline void picture_write(const char *path, size_t, size_t, int, const unsigned char *)
{
    picture_missing(path);
}

static inline void picture_free(picture)
{
}

#endif

#endif // PICTURE_H
