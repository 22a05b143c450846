// SPDX-License-Identifier: MIT
//
// coarsen/image/grayscale_vectorized.h: third rung, grayscale_coarsened.h + 16-byte accesses, and a
// thread makes COARSE_FACTOR times 16 neighbouring pixels.
//     gray[i] = (COARSEN_RED r[i] + COARSEN_GREEN g[i] + COARSEN_BLUE b[i] + 32768) / 65536
//
//     #define COARSEN_NAME gray
//     #include <coarsen/image/grayscale_vectorized.h>
//
//     size_t width = 640, height = 480;
//     gray_launch((const unsigned char *)in, (unsigned char *)out, width, height, stream);
//
// | parameter     | default  | meaning                                               |
// |---------------|----------|-------------------------------------------------------|
// | COARSEN_NAME  | required | prefix of every name defined here                     |
// | COARSEN_RED   | 19595    | weight of red in 65536ths: 0.299, as in ITU-R BT.601  |
// | COARSEN_GREEN | 38470    | weight of green: 0.587                                |
// | COARSEN_BLUE  | 7471     | weight of blue: 0.114; the three must add up to 65536 |
// | BLOCK_DIM     | 128      | threads per block: a multiple of 32 from 32 to 1024   |
// | COARSE_FACTOR | 2        | groups of 16 pixels per thread, from 1 to 8           |
// Defines NAME_kernel(in, out, n, head), NAME_head(in, out, n) and
//     cudaError_t NAME_launch(const unsigned char *in, unsigned char *out, size_t width,
//                             size_t height, cudaStream_t stream)
// in: height rows of width pixels of 8-bit red, green and blue, without gaps. out: the same with
// one 8-bit sample per pixel. Both in device memory, at any alignment (fast if in + 3 k and out + k
// are multiples of 16 for some k, such as 0), not overlapping. Sizes may be 0. Errors:
// cudaErrorInvalidValue for a null or overflowing array, with nothing written. Deterministic,
// exact: the division above drops the remainder.
//
// Price saved: requests and instructions. Three loads and one store serve 16 pixels. Price paid: 12
// COARSE_FACTOR registers for the loads in flight. Each of a warp's three loads touches all of its
// 1536 bytes and takes a third of them, so the cache must hold them from the first to the last.
// Source: the accesses are those of the CUDA C++ Programming Guide, "Device Memory Accesses".

#ifdef COARSEN_RADIUS
#error "coarsen/image: COARSEN_RADIUS is a blur's: take one of the blurs, or image.h"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_IMAGE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 128
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 2
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 8
#error "coarsen/image: COARSE_FACTOR must be from 1 to 8"
#endif

typedef struct __attribute__((aligned(16), may_alias)) {
    unsigned int word[4];
} COARSEN_(vector);

// Makes 16 pixels from 48 bytes.
COARSEN_DEVICE COARSEN_(vector) COARSEN_(pixels)(const COARSEN_(vector) * rgb)
{
    COARSEN_(vector) gray;
#pragma unroll
    for (unsigned int w = 0; w < 4; w++) {
        unsigned int pixel[4];
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            unsigned int sample[3];
#pragma unroll
            for (unsigned int c = 0; c < 3; c++) {
                const unsigned int byte = 12 * w + 3 * j + c;
                sample[c] = rgb[byte / 16].word[byte / 4 % 4] >> 8 * (byte % 4) & 255;
            }
            pixel[j] = COARSEN_(pixel)(sample[0], sample[1], sample[2]);
        }
        gray.word[w] = __byte_perm(__byte_perm(pixel[0], pixel[1], 0x0062),
                                   __byte_perm(pixel[2], pixel[3], 0x0062), 0x5410);
    }
    return gray;
}

// head: the pixels before the first one that is at a multiple of 16 in both arrays; n if none is.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const unsigned char *in, unsigned char *out, size_t n, size_t head)
{
    const COARSEN_(vector) *const from = (const COARSEN_(vector) *)(in + 3 * head);
    COARSEN_(vector) *const to = (COARSEN_(vector) *)(out + head);
    const size_t vectors = (n - head) / 16;
    const size_t rest = n - vectors * 16;
    const size_t first = (size_t)blockIdx.x * BLOCK_DIM * COARSE_FACTOR + threadIdx.x;
    COARSEN_(vector) load[COARSE_FACTOR][3];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t v = first + k * BLOCK_DIM;
        if (v < vectors)
#pragma unroll
            for (unsigned int part = 0; part < 3; part++)
                load[k][part] = from[3 * v + part];
    }
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t v = first + k * BLOCK_DIM;
        if (v < vectors)
            to[v] = COARSEN_(pixels)(load[k]);
    }
    for (size_t r = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x; r < rest;
         r += (size_t)gridDim.x * BLOCK_DIM) {
        const size_t i = r < head ? r : r + vectors * 16;
        out[i] = (unsigned char)(COARSEN_(pixel)(in[3 * i], in[3 * i + 1], in[3 * i + 2]) >> 16);
    }
}

#ifndef __CUDACC_RTC__
// The kernel's argument.
COARSEN_HOST size_t COARSEN_(head)(const unsigned char *in, const unsigned char *out, size_t n)
{
    for (size_t head = 0; head < 16 && head < n; head++)
        if ((size_t)(in + 3 * head) % 16 == 0 && (size_t)(out + head) % 16 == 0)
            return head;
    return n;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const unsigned char *in, unsigned char *out, size_t width,
                                          size_t height, cudaStream_t stream)
{
    if (width == 0 || height == 0)
        return cudaSuccess;
    const size_t n = width * height;
    const size_t blocks = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSE_FACTOR * 16);
    if (!COARSEN_(images_ok)(in, 3, out, 1, width, height) || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    const size_t head = COARSEN_(head)(in, out, n);
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n, head);
}
#endif

#define COARSEN_END
#include "../base.h"
