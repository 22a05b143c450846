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
//     const unsigned char *pixels = (const unsigned char *)in;
//     gray_launch(pixels, 3 * width, (unsigned char *)out, width, width, height, stream);
//
// | parameter     | default  | meaning                                               |
// |---------------|----------|-------------------------------------------------------|
// | COARSEN_NAME  | required | prefix of every name defined here                     |
// | COARSEN_RED   | 19595    | weight of red in 65536ths: 0.299, as in ITU-R BT.601  |
// | COARSEN_GREEN | 38470    | weight of green: 0.587                                |
// | COARSEN_BLUE  | 7471     | weight of blue: 0.114; the three must add up to 65536 |
// | BLOCK_DIM     | 128      | threads per block: a multiple of 32 from 32 to 1024   |
// | COARSE_FACTOR | 2        | groups of 16 pixels per thread, from 1 to 8           |
// Defines NAME_kernel(in, in_pitch, out, out_pitch, width, height, pieces) and
//     cudaError_t NAME_launch(const unsigned char *in, size_t in_pitch,
//                             unsigned char *out, size_t out_pitch,
//                             size_t width, size_t height, cudaStream_t stream)
//     cudaError_t NAME_plan(const unsigned char *in, size_t in_pitch, unsigned char *out,
//                           size_t out_pitch, size_t width, size_t height, NAME_planned *plan)
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid,
// plan->block, plan->shared_bytes, stream>>>(in, in_pitch, out, out_pitch, plan->width, plan->height, plan->pieces). If there
// are no pixels, plan->grid.x is 0: there is nothing to launch.
// in: height rows of width pixels of 8-bit red, green and blue. out: the same with one 8-bit sample
// per pixel. Both in device memory, at any alignment, not overlapping. in_pitch, out_pitch: bytes
// from one row to the next, at least a row's; what lies between rows is neither written
// nor used. Sizes may be 0. Errors: cudaErrorInvalidValue, with nothing written, for a pitch below a
// row's bytes, a null or overflowing array, or 2^31 pieces of rows (512 COARSE_FACTOR pixels) or more.
// Deterministic, exact: the division above drops the remainder.
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

#include "../block/shift.h"

typedef struct COARSEN_ALIGNED(16) COARSEN_MAY_ALIAS {
    unsigned int word[4];
} COARSEN_(vector);

// Makes 16 pixels from 48 bytes, which begin at most 15 bytes behind the first of 4 vectors.
COARSEN_DEVICE COARSEN_(vector) COARSEN_(pixels)(const COARSEN_(vector) * rgb, unsigned int after)
{
    unsigned int words[16];
#pragma unroll
    for (unsigned int i = 0; i < 16; i++)
        words[i] = rgb[i / 4].word[i % 4];
    if (after > 0)
        COARSEN_(shift)(words, 12, after);
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
                sample[c] = words[byte / 4] >> 8 * (byte % 4) & 255;
            }
            pixel[j] = COARSEN_(pixel)(sample[0], sample[1], sample[2]);
        }
        gray.word[w] = __byte_perm(__byte_perm(pixel[0], pixel[1], 0x0062),
                                   __byte_perm(pixel[2], pixel[3], 0x0062), 0x5410);
    }
    return gray;
}

// A warp makes 32 COARSE_FACTOR vectors of a row, of which there are so many pieces. The vectors are
// where out has them. In in, they may begin between two, and then the ones around them are read.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out, size_t out_pitch,
                     size_t width, size_t height, unsigned int pieces)
{
    const unsigned int warp = blockIdx.x * (BLOCK_DIM / 32) + threadIdx.x / 32;
    const unsigned int lane = threadIdx.x % 32, piece = warp % pieces;
    const size_t y = warp / pieces;
    if (y >= height)
        return;
    const unsigned char *const row = in + y * in_pitch;
    unsigned char *const to = out + y * out_pitch;
    size_t head = coarsen_min((0 - (size_t)to) % 16, width), vectors = (width - head) / 16;
    const unsigned int after = (unsigned int)((size_t)(row + 3 * head) % 16);

    // Pixels whose vectors would reach out of the image are left to the rest.
    if (vectors > 0 && y * in_pitch + 3 * head < after) {
        head += 16;
        vectors--;
    }
    const size_t behind = (height - 1 - y) * in_pitch + 3 * (width - head - 16 * vectors);
    if (vectors > 0 && after > 0 && behind < 16 - after)
        vectors--;
    const size_t rest = width - 16 * vectors;

    const COARSEN_(vector) *const from = (const COARSEN_(vector) *)(row + 3 * head - after);
    const size_t first = (size_t)piece * 32 * COARSE_FACTOR + lane;
    COARSEN_(vector) load[COARSE_FACTOR][4] = {};
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t v = first + k * 32;
#pragma unroll
        for (unsigned int part = 0; part < 4; part++)
            if (v < vectors && (part < 3 || after > 0))
                load[k][part] = from[3 * v + part];
    }
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t v = first + k * 32;
        if (v < vectors)
            ((COARSEN_(vector) *)(to + head))[v] = COARSEN_(pixels)(load[k], after);
    }
    if (piece > 0)
        return;
    for (size_t r = lane; r < rest; r += 32) {
        const size_t x = r < head ? r : r + vectors * 16;
        const unsigned char *const rgb = row + 3 * x;
        to[x] = (unsigned char)(COARSEN_(pixel)(rgb[0], rgb[1], rgb[2]) >> 16);
    }
}

#ifndef __CUDACC_RTC__
typedef struct {
    void (*kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out, size_t out_pitch,
                   size_t width, size_t height, unsigned int pieces);
    dim3 grid, block;
    size_t shared_bytes, scratch_bytes, width, height;
    unsigned int pieces;
} COARSEN_(planned);

COARSEN_HOST cudaError_t COARSEN_(plan)(const unsigned char *in, size_t in_pitch,
                                        unsigned char *out, size_t out_pitch, size_t width,
                                        size_t height, COARSEN_(planned) * plan)
{
    plan->grid = dim3(0); // nothing to launch
    if (width == 0 || height == 0)
        return cudaSuccess;
    if (!COARSEN_(images_ok)(in, in_pitch, 3, out, out_pitch, 1, width, height))
        return cudaErrorInvalidValue;
    if (in_pitch == 3 * width && out_pitch == width) { // without gaps, they are one row
        width *= height;
        height = 1;
    }
    const size_t pieces = coarsen_ceil_div(width, 16 * 32 * COARSE_FACTOR);
    if (pieces > 0x7fffffff / height)
        return cudaErrorInvalidValue;
    plan->kernel = COARSEN_(kernel);
    plan->grid = dim3((unsigned int)coarsen_ceil_div(pieces * height, BLOCK_DIM / 32));
    plan->block = dim3(BLOCK_DIM);
    plan->shared_bytes = plan->scratch_bytes = 0;
    plan->width = width;
    plan->height = height;
    plan->pieces = (unsigned int)pieces;
    return cudaSuccess;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(const unsigned char *in, size_t in_pitch,
                                          unsigned char *out, size_t out_pitch, size_t width,
                                          size_t height, cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    const cudaError_t status = COARSEN_(plan)(in, in_pitch, out, out_pitch, width, height, &plan);
    if (status != cudaSuccess || plan.grid.x == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, in_pitch, out, out_pitch, plan.width,
                              plan.height, plan.pieces);
}
#endif

#define COARSEN_END
#include "../base.h"
