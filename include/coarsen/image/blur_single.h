// SPDX-License-Identifier: MIT
//
// coarsen/image/blur_single.h: box blur, first rung: one sample (in gray, one pixel) per thread.
//     out[y][x][c] = the mean of in[v][u][c] over |u - x| <= COARSEN_RADIUS and
//                    |v - y| <= COARSEN_RADIUS inside the image, rounded to nearest, halves up
//
//     #define COARSEN_NAME     blur_rgb
//     #define COARSEN_RADIUS   3
//     #define COARSEN_CHANNELS 3
//     #include <coarsen/image/blur_single.h>
//
//     size_t width = 640, height = 480, pitch = 3 * width;
//     const unsigned char *pixels = (const unsigned char *)in;
//     blur_rgb_launch(pixels, pitch, (unsigned char *)out, pitch, width, height, stream);
//
// | parameter        | default  | meaning                                                         |
// |------------------|----------|-----------------------------------------------------------------|
// | COARSEN_NAME     | required | prefix of every name defined here                               |
// | COARSEN_RADIUS   | required | pixels on each side of the middle one, from 1 to 31             |
// | COARSEN_CHANNELS | 1        | 8-bit samples per pixel, interleaved, from 1 (gray) to 4 (RGBA) |
// | BLOCK_DIM        | 256      | threads per block: a multiple of 32 from 32 to 1024             |
// Defines NAME_kernel(in, in_pitch, out, out_pitch, width, height) and
//     cudaError_t NAME_launch(const unsigned char *in, size_t in_pitch,
//                             unsigned char *out, size_t out_pitch,
//                             size_t width, size_t height, cudaStream_t stream)
// in, out: height rows of width pixels of COARSEN_CHANNELS samples, in device memory, at any
// alignment, not overlapping. in_pitch, out_pitch: bytes from one row to the next, at least a row's;
// what lies between rows is neither read nor written. Sizes may be 0. Errors: cudaErrorInvalidValue,
// with nothing written, for a pitch below a row's bytes or a null or overflowing array.
// Deterministic, exact.
//
// Price paid: (2 COARSEN_RADIUS + 1)^2 loads and additions per sample. Neighbouring threads repeat
// nearly all of them.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 3.3.

#ifndef COARSEN_RADIUS
#error "coarsen/image: define COARSEN_RADIUS, the pixels to each side, before the include"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_IMAGE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif

// A block makes BLOCK_DIM samples of a row, and of every gridDim.y-th row after it.
COARSEN_KERNEL void COARSEN_(kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out,
                                     size_t out_pitch, size_t width, size_t height)
{
    const size_t samples = width * COARSEN_CHANNELS; // per row
    const size_t s = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (s >= samples)
        return;
    const size_t x = s / COARSEN_CHANNELS;
    const size_t left = coarsen_min(x, COARSEN_RADIUS);
    const size_t right = coarsen_min(width - 1 - x, COARSEN_RADIUS);

    for (size_t y = blockIdx.y; y < height; y += gridDim.y) {
        const size_t above = coarsen_min(y, COARSEN_RADIUS);
        const size_t below = coarsen_min(height - 1 - y, COARSEN_RADIUS);
        unsigned int sum = 0;
        for (size_t v = y - above; v <= y + below; v++)
            for (size_t u = x - left; u <= x + right; u++)
                sum += in[v * in_pitch + u * COARSEN_CHANNELS + s % COARSEN_CHANNELS];
        const unsigned int count = (unsigned int)((above + 1 + below) * (left + 1 + right));
        out[y * out_pitch + s] = (unsigned char)((sum + count / 2) / count);
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const unsigned char *in, size_t in_pitch,
                                          unsigned char *out, size_t out_pitch, size_t width,
                                          size_t height, cudaStream_t stream)
{
    if (width == 0 || height == 0)
        return cudaSuccess;
    const size_t samples = width * COARSEN_CHANNELS;
    const size_t blocks = coarsen_ceil_div(samples, BLOCK_DIM);
    if (!COARSEN_(images_ok)(in, in_pitch, COARSEN_CHANNELS, out, out_pitch, COARSEN_CHANNELS,
                             width, height) ||
        blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    config.gridDim.y = (unsigned int)coarsen_min(height, 65535);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, in_pitch, out, out_pitch, width,
                              height);
}
#endif

#define COARSEN_END
#include "../base.h"
