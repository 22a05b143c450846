// SPDX-License-Identifier: MIT
//
// stb.c: stb_image and stb_image_write, of the system's package libstb-dev, for the examples that read and
// write pictures. In a file of their own, as they are no kernels: simt needn't see them.
// Empty where the package is missing.

#if defined(__has_include)
#if __has_include(<stb/stb_image.h>) && __has_include(<stb/stb_image_write.h>)
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
#endif
#endif
