// SPDX-License-Identifier: MIT
//
// coarsen/image/blur_tiled.h: third rung, blur_coarsened.h + the block's tile, with a halo of
// COARSEN_RADIUS pixels, in shared memory.
//     out[y][x][c] = the mean of in[v][u][c] over |u - x| <= COARSEN_RADIUS and
//                    |v - y| <= COARSEN_RADIUS inside the image, rounded to nearest, halves up
//
//     #define COARSEN_NAME     blur_rgb
//     #define COARSEN_RADIUS   3
//     #define COARSEN_CHANNELS 3
//     #include <coarsen/image/blur_tiled.h>
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
// | BLOCK_DIM        | 128      | threads per block: a multiple of 32 from 32 to 1024             |
// | COARSE_FACTOR    | 8        | rows that a thread makes of its column, from 1 to 64            |
// Defines NAME_kernel(in, in_pitch, out, out_pitch, width, height) and
//     cudaError_t NAME_launch(const unsigned char *in, size_t in_pitch,
//                             unsigned char *out, size_t out_pitch,
//                             size_t width, size_t height, cudaStream_t stream)
//     cudaError_t NAME_plan(const unsigned char *in, size_t in_pitch, unsigned char *out,
//                           size_t out_pitch, size_t width, size_t height, NAME_planned *plan)
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid,
// plan->block, plan->shared_bytes, stream>>>(in, in_pitch, out, out_pitch, width, height). If there
// are no pixels, plan->grid.x is 0: there is nothing to launch.
// in, out: height rows of width pixels of COARSEN_CHANNELS samples, in device memory, at any
// alignment, not overlapping. in_pitch, out_pitch: bytes from one row to the next, at least a row's;
// what lies between rows is neither read nor written. Sizes may be 0. Errors: cudaErrorInvalidValue,
// with nothing written, for a pitch below a row's bytes or a null or overflowing array.
// Deterministic, exact.
//
// Price saved: global memory traffic. The threads of a block read the same samples many times; now
// global memory is read once for them, and about twice for the halo.
// Price paid: two barriers per tile, and (COARSE_FACTOR + 2 COARSEN_RADIUS) (BLOCK_DIM + 2
// COARSEN_RADIUS COARSEN_CHANNELS) bytes of shared memory, at most 48 KiB. The halo's share grows
// with the radius and with a smaller tile.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 7.4.

#ifndef COARSEN_RADIUS
#error "coarsen/image: define COARSEN_RADIUS, the pixels to each side, before the include"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_IMAGE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 128
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 8
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/image: COARSE_FACTOR must be from 1 to 64"
#endif

#define COARSEN_REACH (COARSEN_RADIUS * COARSEN_CHANNELS) // samples on each side
#define COARSEN_ROWS  (COARSE_FACTOR + 2 * COARSEN_RADIUS)
#define COARSEN_WIDE  (BLOCK_DIM + 2 * COARSEN_REACH)
static_assert(COARSEN_ROWS * COARSEN_WIDE <= 48 * 1024,
              "coarsen/image: the tile is over 48 KiB: take a smaller BLOCK_DIM, COARSE_FACTOR or "
              "COARSEN_RADIUS");

// The sum of one row of a box. Outside the image, the tile holds 0.
COARSEN_DEVICE unsigned int COARSEN_(row)(const unsigned char *there)
{
    unsigned int sum = 0;
    for (unsigned int u = 0; u <= 2 * COARSEN_RADIUS; u++)
        sum += (there - COARSEN_REACH)[u * COARSEN_CHANNELS];
    return sum;
}

// A block makes BLOCK_DIM samples of COARSE_FACTOR rows, and every gridDim.y-th strip after it.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out, size_t out_pitch,
                     size_t width, size_t height)
{
    __shared__ unsigned char tile[COARSEN_ROWS][COARSEN_WIDE];
    const size_t samples = width * COARSEN_CHANNELS; // per row
    const size_t block_s = (size_t)blockIdx.x * BLOCK_DIM, s = block_s + threadIdx.x;
    const size_t x = s / COARSEN_CHANNELS;
    const size_t left = coarsen_min(x, COARSEN_RADIUS);
    const size_t right = s < samples ? coarsen_min(width - 1 - x, COARSEN_RADIUS) : 0;

    for (size_t first = (size_t)blockIdx.y * COARSE_FACTOR; first < height;
         first += (size_t)gridDim.y * COARSE_FACTOR) {
        for (unsigned int i = threadIdx.x; i < COARSEN_ROWS * COARSEN_WIDE; i += BLOCK_DIM) {
            const unsigned int row = i / COARSEN_WIDE, column = i % COARSEN_WIDE;
            const size_t v = first + row - COARSEN_RADIUS; // wraps above the image: too large
            const size_t u = block_s + column - COARSEN_REACH;
            tile[row][column] = v < height && u < samples ? in[v * in_pitch + u] : 0;
        }
        __syncthreads();

        const unsigned char *const mine = &tile[0][COARSEN_REACH + threadIdx.x];
        unsigned int sum = 0; // of the rows of the first box, except the last
        for (unsigned int row = 0; row < 2 * COARSEN_RADIUS; row++)
            sum += COARSEN_(row)(mine + row * COARSEN_WIDE);
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            const size_t y = first + k;
            sum += COARSEN_(row)(mine + (k + 2 * COARSEN_RADIUS) * COARSEN_WIDE);
            if (y < height && s < samples) {
                const size_t above = coarsen_min(y, COARSEN_RADIUS);
                const size_t below = coarsen_min(height - 1 - y, COARSEN_RADIUS);
                const unsigned int count = (unsigned int)((above + 1 + below) * (left + 1 + right));
                out[y * out_pitch + s] = (unsigned char)((sum + count / 2) / count);
            }
            sum -= COARSEN_(row)(mine + k * COARSEN_WIDE);
        }
        __syncthreads(); // the tile is used up: the next strip may overwrite it
    }
}

#ifndef __CUDACC_RTC__
typedef struct {
    void (*kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out, size_t out_pitch,
                   size_t width, size_t height);
    dim3 grid, block;
    size_t shared_bytes, scratch_bytes;
} COARSEN_(planned);

COARSEN_HOST cudaError_t COARSEN_(plan)(const unsigned char *in, size_t in_pitch,
                                        unsigned char *out, size_t out_pitch, size_t width,
                                        size_t height, COARSEN_(planned) * plan)
{
    plan->grid = dim3(0); // nothing to launch
    if (width == 0 || height == 0)
        return cudaSuccess;
    const size_t samples = width * COARSEN_CHANNELS;
    const size_t blocks = coarsen_ceil_div(samples, BLOCK_DIM);
    if (!COARSEN_(images_ok)(in, in_pitch, COARSEN_CHANNELS, out, out_pitch, COARSEN_CHANNELS,
                             width, height) ||
        blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    const size_t strips = coarsen_min(coarsen_ceil_div(height, COARSE_FACTOR), 65535);
    plan->kernel = COARSEN_(kernel);
    plan->grid = dim3((unsigned int)blocks, (unsigned int)strips);
    plan->block = dim3(BLOCK_DIM);
    plan->shared_bytes = plan->scratch_bytes = 0;
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
    cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    config.gridDim = plan.grid;
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, in_pitch, out, out_pitch, width,
                              height);
}
#endif

#undef COARSEN_REACH
#undef COARSEN_ROWS
#undef COARSEN_WIDE
#define COARSEN_END
#include "../base.h"
