// SPDX-License-Identifier: MIT
//
// text.h: reads a whole file, and puts a 0 behind it.
//
//     size_t size; // without that 0
//     unsigned char *text = text_read("README.md", &size); // freed by free; on an error a line, exit 1

#ifndef TEXT_H
#define TEXT_H

#include "device.h"

static inline unsigned char *text_read(const char *path, size_t *size)
{
    size_t room = 1 << 16, got;
    unsigned char *text = (unsigned char *)host_alloc(room);
    FILE *const file = fopen(path, "rb");
    *size = 0;
    while (file && (got = fread(text + *size, 1, room - *size, file)) > 0) {
        *size += got;
        if (*size < room)
            continue;
        unsigned char *const more = (unsigned char *)host_alloc(2 * room);
        memcpy(more, text, room);
        free(text);
        text = more;
        room *= 2;
    }
    if (!file || ferror(file)) { // a directory can be opened, but not read
        fprintf(stderr, "%s: cannot read: %s; give the path of a text\n", path, strerror(errno));
        exit(1);
    }
    fclose(file);
    text[*size] = 0;
    return text;
}

#endif // TEXT_H
