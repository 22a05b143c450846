// SPDX-License-Identifier: MIT
//
// coarsen/image/grayscale_coarsened.h: second rung, grayscale_single.h + COARSE_FACTOR pixels per
// thread, BLOCK_DIM apart.
//     gray[i] = (COARSEN_RED r[i] + COARSEN_GREEN g[i] + COARSEN_BLUE b[i] + 32768) / 65536
//
//     #define COARSEN_NAME gray
//     #define COARSE_FACTOR 4
//     #include <coarsen/image/grayscale_coarsened.h>
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
// | COARSE_FACTOR | 4        | pixels per thread, BLOCK_DIM apart, from 1 to 64      |
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
// Price saved: waiting. A thread has 3 COARSE_FACTOR loads in flight. There is no work to save, and
// there are as many requests as before. Price paid: registers, COARSE_FACTOR times fewer blocks.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 6.3.

#ifdef COARSEN_RADIUS
#error "coarsen/image: COARSEN_RADIUS is a blur's: take one of the blurs, or image.h"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_IMAGE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/image: COARSE_FACTOR must be from 1 to 64"
#endif

// A block makes BLOCK_DIM COARSE_FACTOR pixels of a row, and of every gridDim.y-th row after it.
COARSEN_KERNEL void COARSEN_(kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out,
                                     size_t out_pitch, size_t width, size_t height)
{
    const size_t first = (size_t)blockIdx.x * BLOCK_DIM * COARSE_FACTOR + threadIdx.x;
    for (size_t y = blockIdx.y; y < height; y += gridDim.y) {
        const unsigned char *const row = in + y * in_pitch;
        unsigned int gray[COARSE_FACTOR];
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            const size_t x = first + k * BLOCK_DIM;
            if (x < width)
                gray[k] = COARSEN_(pixel)(row[3 * x], row[3 * x + 1], row[3 * x + 2]);
        }
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            const size_t x = first + k * BLOCK_DIM;
            if (x < width)
                out[y * out_pitch + x] = (unsigned char)(gray[k] >> 16);
        }
    }
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const unsigned char *in, size_t in_pitch,
                                          unsigned char *out, size_t out_pitch, size_t width,
                                          size_t height, cudaStream_t stream)
{
    if (width == 0 || height == 0)
        return cudaSuccess;
    const size_t blocks = coarsen_ceil_div(width, (size_t)BLOCK_DIM * COARSE_FACTOR);
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
