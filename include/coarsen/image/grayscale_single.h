// SPDX-License-Identifier: MIT
//
// coarsen/image/grayscale_single.h: RGB to gray, first rung: one pixel per thread.
//     gray[i] = (COARSEN_RED r[i] + COARSEN_GREEN g[i] + COARSEN_BLUE b[i] + 32768) / 65536
//
//     #define COARSEN_NAME gray
//     #include <coarsen/image/grayscale_single.h>
//
//     size_t width = 640, height = 480;
//     const unsigned char *pixels = (const unsigned char *)in;
//     gray_launch(pixels, 3 * width, (unsigned char *)out, width, width, height, stream);
//
// | parameter     | default  | meaning                                               |
// |---------------|----------|-------------------------------------------------------|
// | COARSEN_NAME  | required | prefix of every name defined here                     |
// | COARSEN_RED   | 19595    | weight of red in 65536ths: 0.299, as in ITU-R BT.601  |
// | COARSEN_GREEN | 38470    | weight of green: 0.587                                |
// | COARSEN_BLUE  | 7471     | weight of blue: 0.114; the three must add up to 65536 |
// | BLOCK_DIM     | 256      | threads per block: a multiple of 32 from 32 to 1024   |
// Defines NAME_kernel(in, in_pitch, out, out_pitch, width, height) and
//     cudaError_t NAME_launch(const unsigned char *in, size_t in_pitch,
//                             unsigned char *out, size_t out_pitch,
//                             size_t width, size_t height, cudaStream_t stream)
// in: height rows of width pixels of 8-bit red, green and blue. out: the same with one 8-bit sample
// per pixel. Both in device memory, at any alignment, not overlapping. in_pitch, out_pitch: bytes
// from one row to the next, at least a row's; what lies between rows is neither read nor written.
// Sizes may be 0. Errors: cudaErrorInvalidValue, with nothing written, for a pitch below a row's
// bytes or a null or overflowing array. Deterministic, exact: the division above drops the remainder.
//
// Price paid: memory requests. The 32 pixels of a warp are 96 bytes, and each of the three loads
// touches all of them. A thread has 3 bytes in flight. Cost: 3 bytes read and 1 written per pixel.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 3.2.

#ifdef COARSEN_RADIUS
#error "coarsen/image: COARSEN_RADIUS is a blur's: take one of the blurs, or image.h"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_IMAGE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif

// A block makes BLOCK_DIM pixels of a row, and of every gridDim.y-th row after it.
COARSEN_KERNEL void COARSEN_(kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out,
                                     size_t out_pitch, size_t width, size_t height)
{
    const size_t x = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (x >= width)
        return;
    for (size_t y = blockIdx.y; y < height; y += gridDim.y) {
        const unsigned char *const rgb = in + y * in_pitch + 3 * x;
        out[y * out_pitch + x] = (unsigned char)(COARSEN_(pixel)(rgb[0], rgb[1], rgb[2]) >> 16);
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const unsigned char *in, size_t in_pitch,
                                          unsigned char *out, size_t out_pitch, size_t width,
                                          size_t height, cudaStream_t stream)
{
    if (width == 0 || height == 0)
        return cudaSuccess;
    const size_t blocks = coarsen_ceil_div(width, BLOCK_DIM);
    if (!COARSEN_(images_ok)(in, in_pitch, 3, out, out_pitch, 1, width, height) ||
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
