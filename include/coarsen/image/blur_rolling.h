// SPDX-License-Identifier: MIT
//
// coarsen/image/blur_rolling.h: fourth rung. Instead of blur_tiled.h's tile, a thread walks down
// the rows with the sums of 16 columns in its registers.
//     out[y][x][c] = the mean of in[v][u][c] over |u - x| <= COARSEN_RADIUS and
//                    |v - y| <= COARSEN_RADIUS inside the image, rounded to nearest, halves up
//
//     #define COARSEN_NAME     blur_rgb
//     #define COARSEN_RADIUS   3
//     #define COARSEN_CHANNELS 3
//     #include <coarsen/image/blur_rolling.h>
//
//     size_t width = 640, height = 480;
//     const unsigned char *pixels = (const unsigned char *)in;
//     blur_rgb_launch(pixels, (unsigned char *)out, width, height, stream);
//
// | parameter        | default  | meaning                                                         |
// |------------------|----------|-----------------------------------------------------------------|
// | COARSEN_NAME     | required | prefix of every name defined here                               |
// | COARSEN_RADIUS   | required | pixels on each side of the middle one, from 1 to 7              |
// | COARSEN_CHANNELS | 1        | 8-bit samples per pixel, interleaved, from 1 (gray) to 4 (RGBA) |
// | BLOCK_DIM        | 128      | threads per block: a multiple of 32 from 32 to 192              |
// | COARSE_FACTOR    | 48       | about how many rows per thread, of 16 columns, from 1 to 1024   |
// Defines NAME_kernel(in, out, width, height, columns, rows), NAME_any_kernel (any alignment) and
//     cudaError_t NAME_launch(const unsigned char *in, unsigned char *out, size_t width,
//                             size_t height, cudaStream_t stream)
// in, out: height rows of width pixels of COARSEN_CHANNELS samples, without gaps, in device memory,
// at any alignment (fast if in, out and the bytes of a row are multiples of 16), not overlapping.
// Sizes may be 0. Errors: cudaErrorInvalidValue for a null or overflowing array, with nothing
// written. Deterministic, exact.
//
// Price saved: the tile and its barriers. A row that enters is added to the columns' sums, and the
// row that leaves is subtracted, whatever the radius. The last 2 COARSEN_RADIUS + 1 rows wait in
// shared memory, where each thread uses only its own 16 columns. Shuffles bring the neighbours'
// column sums. Two sums share a register, which limits the radius.
// Price paid: 16 bytes of shared memory per thread and waiting row; the lanes at the ends of a
// warp, which only help; and 2 COARSEN_RADIUS rows read before the first is made, so a small
// COARSE_FACTOR reads many rows twice.
// Cost: every sample is read about 1 + 2 COARSEN_RADIUS / COARSE_FACTOR times and written once.
// Source: running sums are those of M. J. McDonnell, Box-filtering techniques (1981).

#ifndef COARSEN_RADIUS
#error "coarsen/image: define COARSEN_RADIUS, the pixels to each side, before the include"
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_IMAGE
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 128
#endif
#if BLOCK_DIM > 192
#error "coarsen/image: BLOCK_DIM must be a multiple of 32 from 32 to 192"
#endif
#if COARSEN_RADIUS > 7
#error "coarsen/image: COARSEN_RADIUS must be from 1 to 7"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 48
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 1024
#error "coarsen/image: COARSE_FACTOR must be from 1 to 1024"
#endif

#define COARSEN_SIDE  (2 * COARSEN_RADIUS + 1)
#define COARSEN_BOX   (COARSEN_SIDE * COARSEN_SIDE)
#define COARSEN_REACH (COARSEN_RADIUS * COARSEN_CHANNELS) // samples on each side
#define COARSEN_WORDS ((COARSEN_REACH + 3) / 4)           // the same, in words of 4 samples
#define COARSEN_HALO  ((COARSEN_REACH + 15) / 16)         // the same, in lanes of 16 samples
#define COARSEN_SPAN  (16 * (32 - 2 * COARSEN_HALO))      // samples per warp and row

typedef struct __attribute__((aligned(16), may_alias)) {
    unsigned int word[4];
} COARSEN_(vector);

// 16 samples: those that the row has, a to b - 1, and 0 for the others.
COARSEN_DEVICE COARSEN_(vector)
    COARSEN_(load)(const unsigned char *from, int a, int b, bool aligned)
{
    COARSEN_(vector) load = {};
    if (aligned)
        load = *(const COARSEN_(vector) *)from;
    else
#pragma unroll
        for (int j = 0; j < 16; j++)
            if (j >= a && j < b)
                load.word[j / 4] |= (unsigned int)from[j] << 8 * (j % 4);
    return load;
}

COARSEN_DEVICE void COARSEN_(store)(unsigned char *to, int b, bool aligned, COARSEN_(vector) means)
{
    if (aligned)
        *(COARSEN_(vector) *)to = means;
    else
#pragma unroll
        for (int j = 0; j < 16; j++)
            if (j < b)
                to[j] = (unsigned char)(means.word[j / 4] >> 8 * (j % 4));
}

// The column sums at samples p and p + 2, packed. even[k] holds the sums at samples 4k and 4k + 2,
// odd[k] those at 4k + 1 and 4k + 3.
COARSEN_DEVICE unsigned int COARSEN_(pair)(const unsigned int *even, const unsigned int *odd, int p)
{
    const unsigned int *const half = p % 2 == 0 ? even : odd;
    return p % 4 < 2 ? half[p / 4] : __funnelshift_r(half[p / 4], half[p / 4 + 1], 16);
}

// The box sums at the thread's 16 samples of a row, from its own and its neighbours' column sums.
// Of word w, samples 0 and 2 are in sums[2 w], samples 1 and 3 in sums[2 w + 1].
COARSEN_DEVICE void COARSEN_(sums)(unsigned int *sums, const unsigned int *mine_even,
                                   const unsigned int *mine_odd)
{
    unsigned int even[4 + 2 * COARSEN_WORDS], odd[4 + 2 * COARSEN_WORDS];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        even[COARSEN_WORDS + w] = mine_even[w];
        odd[COARSEN_WORDS + w] = mine_odd[w];
    }
#pragma unroll
    for (int w = 0; w < COARSEN_WORDS; w++) {
        const int left = COARSEN_WORDS - 1 - w, right = COARSEN_WORDS + 4 + w;
        const unsigned int lanes = (unsigned int)w / 4 + 1;
        even[left] = __shfl_up_sync(0xffffffff, mine_even[3 - w % 4], lanes);
        odd[left] = __shfl_up_sync(0xffffffff, mine_odd[3 - w % 4], lanes);
        even[right] = __shfl_down_sync(0xffffffff, mine_even[w % 4], lanes);
        odd[right] = __shfl_down_sync(0xffffffff, mine_odd[w % 4], lanes);
    }
#pragma unroll
    for (int h = 0; h < 8; h++) {
        const int x = h / 2 * 4 + h % 2, p = x + 4 * COARSEN_WORDS;
        const int before = x - COARSEN_CHANNELS; // the pixel before: if its sum is there, update it
        if (before >= 0 && before % 4 < 2) {
            sums[h] = sums[before / 4 * 2 + before % 4] +
                      COARSEN_(pair)(even, odd, p + COARSEN_REACH) -
                      COARSEN_(pair)(even, odd, p - COARSEN_REACH - COARSEN_CHANNELS);
            continue;
        }
        sums[h] = 0;
#pragma unroll
        for (int d = -COARSEN_REACH; d <= COARSEN_REACH; d += COARSEN_CHANNELS)
            sums[h] += COARSEN_(pair)(even, odd, p + d);
    }
}

// A mean, in the top byte: (sum + count / 2) r. r exceeds 2^24 / count by at most 1, so r count is
// 2^24 + e with e <= count. The mean is exact because (sum + count / 2) e < 2^24: the left side is
// at most (255 * 225 + 112) * 225.
COARSEN_DEVICE unsigned int COARSEN_(mean)(unsigned int sum, unsigned int count,
                                           unsigned int reciprocal)
{
    return sum * reciprocal + count / 2 * reciprocal;
}

// The four means of word w, of whole boxes.
COARSEN_DEVICE unsigned int COARSEN_(word)(const unsigned int *sums, int w)
{
    const unsigned int reciprocal = (1u << 24) / COARSEN_BOX + 1;
    const unsigned int m0 = COARSEN_(mean)(sums[2 * w] & 0xffff, COARSEN_BOX, reciprocal);
    const unsigned int m1 = COARSEN_(mean)(sums[2 * w + 1] & 0xffff, COARSEN_BOX, reciprocal);
    const unsigned int m2 = COARSEN_(mean)(sums[2 * w] >> 16, COARSEN_BOX, reciprocal);
    const unsigned int m3 = COARSEN_(mean)(sums[2 * w + 1] >> 16, COARSEN_BOX, reciprocal);
    return __byte_perm(__byte_perm(m0, m1, 0x0073), __byte_perm(m2, m3, 0x0073), 0x5410);
}

// The same near a border. widths: the columns of each sample's box, 4 bits each. rows: their rows.
COARSEN_DEVICE unsigned int COARSEN_(border_word)(const unsigned int *sums, int w,
                                                  const unsigned int *reciprocals,
                                                  unsigned long long widths, unsigned int rows)
{
    unsigned int word = 0;
    for (int j = 0; j < 4; j++) {
        const unsigned int count = ((unsigned int)(widths >> 4 * (4 * w + j)) & 15) * rows;
        const unsigned int sum = sums[2 * w + j % 2] >> 16 * (j / 2) & 0xffff;
        word |= COARSEN_(mean)(sum, count, reciprocals[count]) >> 24 << 8 * j;
    }
    return word;
}

// The widths, for samples a to b - 1 of the 16 samples from x on.
COARSEN_DEVICE unsigned long long COARSEN_(widths)(long long x, int a, int b, size_t width)
{
    unsigned long long widths = 0;
    for (int j = a; j < b; j++) {
        const size_t before = (size_t)(x + j) / COARSEN_CHANNELS;
        widths |= (1 + coarsen_min(before, COARSEN_RADIUS) +
                   coarsen_min(width - 1 - before, COARSEN_RADIUS))
                  << 4 * j;
    }
    return widths;
}

// Adds the row that enters to the column sums, subtracts the row that leaves, and replaces it
// in its slot. The even samples' sums come from sums of whole words, modulo 2^32, in fewer steps.
COARSEN_DEVICE void COARSEN_(roll)(unsigned int *whole, unsigned int *odd, COARSEN_(vector) * slot,
                                   COARSEN_(vector) enters)
{
    const COARSEN_(vector) leaves = *slot;
    *slot = enters;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        whole[w] += enters.word[w] - leaves.word[w];
        odd[w] += __byte_perm(enters.word[w], 0, 0x4341) - __byte_perm(leaves.word[w], 0, 0x4341);
    }
}

// The work of a thread: 16 samples of each row of its warp's strip.
COARSEN_DEVICE void COARSEN_(strip)(const unsigned char *in, unsigned char *out, size_t width,
                                    size_t height, unsigned int columns, unsigned int strip_rows,
                                    bool aligned)
{
    __shared__ COARSEN_(vector) ring[COARSEN_SIDE][BLOCK_DIM]; // the summed rows, per thread
    __shared__ unsigned int reciprocals[COARSEN_BOX + 1];
    __shared__ unsigned long long widths_of[BLOCK_DIM]; // for the border; saves registers
    for (unsigned int c = threadIdx.x; c <= COARSEN_BOX; c += BLOCK_DIM)
        reciprocals[c] = c > 0 ? (1u << 24) / c + 1 : 0;
    __syncthreads();

    // The shuffle tells the compiler that all lanes have the same value.
    const unsigned int warp =
        blockIdx.x * (BLOCK_DIM / 32) + __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    const size_t first = (size_t)(warp / columns) * strip_rows;
    if (first >= height) // the same for the whole warp
        return;
    const long long row_samples = (long long)(width * COARSEN_CHANNELS);
    const int lane = threadIdx.x % 32;
    const long long x = (long long)(warp % columns) * COARSEN_SPAN + 16 * (lane - COARSEN_HALO);

    // Samples a to b - 1 of the thread are in the row.
    const int a = x < 0 ? 16 : 0;
    const int b = x >= row_samples ? 0 : row_samples - x < 16 ? (int)(row_samples - x) : 16;
    const bool inside = x >= COARSEN_REACH && x + 16 + COARSEN_REACH <= row_samples;
    const bool made_here = lane >= COARSEN_HALO && lane < 32 - COARSEN_HALO && a < b;
    unsigned long long widths = COARSEN_SIDE * 0x1111111111111111ull;
    if (!inside)
        widths = COARSEN_(widths)(x, a, b, width);
    widths_of[threadIdx.x] = widths;

    // Step i adds row first - COARSEN_RADIUS + i, which exists if begin <= i < end. The boxes have
    // all their rows if full_begin <= i < end.
    const int made = (int)coarsen_min(height - first, strip_rows);
    const int steps = made + 2 * COARSEN_RADIUS;
    const int begin = COARSEN_RADIUS - (int)coarsen_min(first, COARSEN_RADIUS);
    const int end =
        steps - COARSEN_RADIUS + (int)coarsen_min(height - first - (size_t)made, COARSEN_RADIUS);
    const unsigned int loads = a < b ? (unsigned int)(end - begin) : 0;
    const int full_begin = begin + 2 * COARSEN_RADIUS;
    const bool warp_inside = __all_sync(0xffffffff, inside);
    const unsigned int fulls =
        warp_inside && end > full_begin ? (unsigned int)(end - full_begin) : 0;
    const unsigned char *from = in + (long long)(first - COARSEN_RADIUS) * row_samples + x;
    unsigned char *to = out + (long long)first * row_samples + x;

    unsigned int whole[4] = {}, odd[4] = {}; // the column sums
    const COARSEN_(vector) nothing = {};
    for (int i = 0; i < COARSEN_SIDE; i++)
        ring[i][threadIdx.x] = nothing;
    COARSEN_(vector) *const slots = &ring[0][threadIdx.x];
    unsigned int slot = 0;

    COARSEN_(vector) next = nothing; // loads while the row before it is processed
    if ((unsigned int)(0 - begin) < loads)
        next = COARSEN_(load)(from, a, b, aligned);
    for (int i = 0; i < steps; i++) {
        COARSEN_(roll)(whole, odd, slots + slot, next);
        slot = slot < 2 * COARSEN_RADIUS * BLOCK_DIM ? slot + BLOCK_DIM : 0;
        from += row_samples;
        next = nothing;
        if ((unsigned int)(i + 1 - begin) < loads)
            next = COARSEN_(load)(from, a, b, aligned);
        if (i < 2 * COARSEN_RADIUS)
            continue;

        unsigned int even[4], sums[8];
#pragma unroll
        for (int w = 0; w < 4; w++)
            even[w] = whole[w] - (odd[w] << 8);
        COARSEN_(sums)(sums, even, odd);
        COARSEN_(vector) means;
        if ((unsigned int)(i - full_begin) < fulls) {
#pragma unroll
            for (int w = 0; w < 4; w++)
                means.word[w] = COARSEN_(word)(sums, w);
        } else {
            const int oldest = i - 2 * COARSEN_RADIUS;
            const int rows = (i < end ? i + 1 : end) - (oldest > begin ? oldest : begin);
            __syncwarp(); // otherwise the compiler computes what follows early, in registers
            const unsigned long long widths_here = widths_of[threadIdx.x];
#pragma unroll
            for (int w = 0; w < 4; w++)
                means.word[w] =
                    COARSEN_(border_word)(sums, w, reciprocals, widths_here, (unsigned int)rows);
        }
        if (made_here)
            COARSEN_(store)(to, b, aligned, means);
        to += row_samples;
    }
}

// rows: per thread. in, out and the samples per row are multiples of 16.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(const unsigned char *in, unsigned char *out, size_t width, size_t height,
                     unsigned int columns, unsigned int rows)
{
    COARSEN_(strip)(in, out, width, height, columns, rows, true);
}

// The same for any alignment, sample by sample.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(any_kernel)(const unsigned char *in, unsigned char *out, size_t width, size_t height,
                         unsigned int columns, unsigned int rows)
{
    COARSEN_(strip)(in, out, width, height, columns, rows, false);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const unsigned char *in, unsigned char *out, size_t width,
                                          size_t height, cudaStream_t stream)
{
    if (width == 0 || height == 0)
        return cudaSuccess;
    const size_t samples = width * COARSEN_CHANNELS;
    if (!COARSEN_(images_ok)(in, COARSEN_CHANNELS, out, COARSEN_CHANNELS, width, height))
        return cudaErrorInvalidValue;

    cudaError_t status;
    const bool aligned = ((size_t)in | (size_t)out | samples) % 16 == 0;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    int resident = 0; // per multiprocessor
    if (status == cudaSuccess && aligned)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(kernel),
                                                               BLOCK_DIM, 0);
    else if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, COARSEN_(any_kernel),
                                                               BLOCK_DIM, 0);
    if (status != cudaSuccess)
        return status;
    // A strip has COARSE_FACTOR rows, or more to make the last wave of blocks a full one. It has
    // fewer if the device would not be full once, but not too few: the rows that start it cost too.
    const size_t columns = coarsen_ceil_div(samples, COARSEN_SPAN);
    const size_t wave = processors * (size_t)resident * (BLOCK_DIM / 32);
    const size_t most = coarsen_ceil_div(height, COARSE_FACTOR < 8 ? COARSE_FACTOR : 8);
    if (columns > 0x7fffffff / most)
        return cudaErrorInvalidValue;
    size_t waves = columns * coarsen_ceil_div(height, COARSE_FACTOR) / wave;
    waves = waves > 0 ? waves : 1;
    const size_t strips = coarsen_min(most, waves * wave / columns);
    const size_t rows = coarsen_ceil_div(height, strips > 0 ? strips : 1);
    const size_t warps = columns * coarsen_ceil_div(height, rows);
    const cudaLaunchConfig_t config =
        coarsen_launch_config(coarsen_ceil_div(warps, BLOCK_DIM / 32), BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, aligned ? COARSEN_(kernel) : COARSEN_(any_kernel), in, out,
                              width, height, (unsigned int)columns, (unsigned int)rows);
}
#endif

#undef COARSEN_SIDE
#undef COARSEN_BOX
#undef COARSEN_REACH
#undef COARSEN_WORDS
#undef COARSEN_HALO
#undef COARSEN_SPAN
#define COARSEN_END
#include "../base.h"
