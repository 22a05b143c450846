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
//     size_t width = 640, height = 480, pitch = 3 * width;
//     const unsigned char *pixels = (const unsigned char *)in;
//     blur_rgb_launch(pixels, pitch, (unsigned char *)out, pitch, width, height, stream);
//
// | parameter        | default  | meaning                                                         |
// |------------------|----------|-----------------------------------------------------------------|
// | COARSEN_NAME     | required | prefix of every name defined here                               |
// | COARSEN_RADIUS   | required | pixels on each side of the middle one, from 1 to 7              |
// | COARSEN_CHANNELS | 1        | 8-bit samples per pixel, interleaved, from 1 (gray) to 4 (RGBA) |
// | BLOCK_DIM        | 128      | threads per block: a multiple of 32 from 32 to 128              |
// | COARSE_FACTOR    | 48       | about how many rows per thread, of 16 columns, from 1 to 1024   |
// Defines NAME_kernel(in, in_pitch, out, out_pitch, width, height, columns, rows), NAME_any_kernel
// (the same for any alignment) and
//     cudaError_t NAME_launch(const unsigned char *in, size_t in_pitch,
//                             unsigned char *out, size_t out_pitch,
//                             size_t width, size_t height, cudaStream_t stream)
// in, out: height rows of width pixels of COARSEN_CHANNELS samples, in device memory, at any
// alignment (fastest if in, out and the pitches are multiples of 16), not overlapping. in_pitch,
// out_pitch: bytes from one row to the next, at least a row's. What lies between rows is not
// written; the 16 bytes around a row's ends may be read, but do not matter. Sizes may be 0. Errors:
// cudaErrorInvalidValue, with nothing written, for a pitch below a row's bytes or a null or
// overflowing array. Deterministic, exact.
//
// Price saved: the tile and its barriers. A row that enters is added to the columns' sums, and the
// row that leaves is subtracted, whatever the radius. The last 2 COARSEN_RADIUS + 1 rows wait in
// shared memory, where each thread uses only its own 16 columns, and the next ones are copied there
// meanwhile. Shuffles bring the neighbours' column sums. Two sums share a register, which limits
// the radius. Rows that are not aligned are copied and written as the aligned words that hold them,
// and shifted in between.
// Price paid: 16 bytes of shared memory per thread and waiting row; the lanes at the ends of a
// warp, which only help, except at the ends of a row; and 2 COARSEN_RADIUS rows read before the
// first is made, so a small COARSE_FACTOR reads many rows twice. For rows that are not aligned,
// four accesses of 4 bytes in place of one of 16, and two more ways through shared memory.
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
#if BLOCK_DIM > 128
#error "coarsen/image: BLOCK_DIM must be a multiple of 32 from 32 to 128"
#endif
#if COARSEN_RADIUS > 7
#error "coarsen/image: COARSEN_RADIUS must be from 1 to 7"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 48
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 1024
#error "coarsen/image: COARSE_FACTOR must be from 1 to 1024"
#endif

#include "../block/copy.h"

#define COARSEN_SIDE   (2 * COARSEN_RADIUS + 1)
#define COARSEN_BOX    (COARSEN_SIDE * COARSEN_SIDE)
#define COARSEN_REACH  (COARSEN_RADIUS * COARSEN_CHANNELS) // samples on each side
#define COARSEN_WORDS  ((COARSEN_REACH + 3) / 4)           // the same, in words of 4 samples
#define COARSEN_HALO   ((COARSEN_REACH + 18) / 16)    // the same and 3, for a shift, in lanes of 16
#define COARSEN_SPAN   (16 * (32 - 2 * COARSEN_HALO)) // samples per warp and row
#define COARSEN_AHEAD  3                              // rows on their way
#define COARSEN_SLOTS  (COARSEN_SIDE + COARSEN_AHEAD)
#define COARSEN_PLACES 6

typedef struct COARSEN_ALIGNED(16) COARSEN_MAY_ALIAS {
    unsigned int word[4];
} COARSEN_(vector);

// A thread's part of its warp's strip, which is 32 vectors wide. Rows are numbered from the first that the strip needs.
typedef struct {
    size_t in_pitch, out_pitch;
    long long x, samples; // of the thread's first word; of a row
    int b;                // the samples that the row has of its vector: the first b
    bool made;            // whether the thread's vector is written, not only of use to the others
    unsigned int reads;   // unless aligned, bits for words lane, lane + 32, lane + 64, lane + 96:
    unsigned int writes, ends;  // those it copies, it writes, and it writes a part of
    int begin, end;             // the rows that exist
    int inner_begin, inner_end; // the rows around which as much as a vector may be read
    int full_begin;             // from here on, boxes have all their rows
    unsigned int place;         // of the thread's vector in its row, as in find_place
} COARSEN_(strip);

// What changes from row to row.
typedef struct {
    const unsigned char *from; // the row to be copied next
    unsigned char *to;
    unsigned int bits;              // 8 times the distance of the row that enters from a word
    unsigned int entering, leaving; // slots
    unsigned int whole[4], odd[4];  // the column sums
} COARSEN_(state);

// Begins to copy a row to a slot: as the aligned vectors, or the aligned words, that hold its
// samples. rows, columns: as in step.
COARSEN_INLINE void COARSEN_(fetch)(COARSEN_(vector) * own, const unsigned char *from,
                                    const COARSEN_(strip) * strip, int row, const bool rows,
                                    const bool columns, const bool aligned)
{
    const unsigned int lane = threadIdx.x % 32;
    const COARSEN_(vector) nothing = {};
    const bool inner = rows || (row >= strip->inner_begin && row < strip->inner_end);
    if (!rows && (row < strip->begin || row >= strip->end)) {
        *own = nothing;
    } else if (aligned && (inner || strip->b == 16)) {
        if (columns || strip->b > 0)
            COARSEN_(copy_async)(own, from, 16);
    } else if (!aligned && inner) {
        COARSEN_(vector) *const first = own - lane + lane / 4;
        const unsigned char *const words = (const unsigned char *)((size_t)from / 4 * 4);
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            unsigned int *const to = &first[8 * j].word[lane % 4];
            if (columns)
                COARSEN_(copy_async)(to, words + 128 * j, 4);
            else
                COARSEN_(copy_part_async)(to, words + 128 * j, 4, 4 * (strip->reads >> j & 1));
        }
    } else {
        const unsigned char *const first = from + (aligned ? 0 : 12 * lane);
        unsigned char *const to = (unsigned char *)own;
        *own = nothing;
#pragma unroll 1
        for (int j = 0; j < strip->b; j++)
            to[j] = first[j];
    }
    COARSEN_(copies_end)();
}

// A vector that begins so many bits behind a word, of which the thread has 4 words and its neighbour the next.
COARSEN_DEVICE COARSEN_(vector) COARSEN_(shift_down)(COARSEN_(vector) words, unsigned int bits)
{
    const unsigned int next = __shfl_down_sync(0xffffffff, words.word[0], 1);
#pragma unroll
    for (int w = 0; w < 4; w++)
        words.word[w] = __funnelshift_r(words.word[w], w < 3 ? words.word[w + 1] : next, bits);
    return words;
}

// Zeros for the samples that the row has not.
COARSEN_DEVICE COARSEN_(vector) COARSEN_(keep)(COARSEN_(vector) samples, int b)
{
#pragma unroll
    for (int w = 0; w < 4; w++) {
        if (b < 4 * w + 4)
            samples.word[w] &= b > 4 * w ? ~(~0u << 8 * (b - 4 * w)) : 0;
    }
    return samples;
}

// Writes a thread's vector, of which the row has b samples.
COARSEN_DEVICE void COARSEN_(store)(unsigned char *to, int b, COARSEN_(vector) means)
{
    if (b == 16)
        *(COARSEN_(vector) *)to = means;
    else
#pragma unroll
        for (int w = 0; w < 4; w++)
#pragma unroll 1
            for (int j = 0; j < 4 && 4 * w + j < b; j++)
                to[4 * w + j] = (unsigned char)(means.word[w] >> 8 * j);
}

// Writes the warp's vectors to a row at any distance from a word: as the aligned words that hold them, by way of shared
// memory, so that neighbours write neighbours.
COARSEN_INLINE void COARSEN_(store_words)(unsigned char *to, COARSEN_(vector) means,
                                          const COARSEN_(strip) * strip, const bool columns)
{
    __shared__ COARSEN_(vector) row[BLOCK_DIM];
    const unsigned int lane = threadIdx.x % 32, before = (unsigned int)((size_t)to % 4);
    const unsigned int last = __shfl_up_sync(0xffffffff, means.word[3], 1);
    COARSEN_(vector) words;
#pragma unroll
    for (int w = 0; w < 4; w++)
        words.word[w] =
            __funnelshift_l(w > 0 ? means.word[w - 1] : last, means.word[w], 8 * before);
    row[threadIdx.x] = words;
    __syncwarp();
    const COARSEN_(vector) *const first = &row[threadIdx.x - lane + lane / 4];
    unsigned char *const word_to = to - before;
#pragma unroll
    for (unsigned int j = 0; j < 4; j++)
        words.word[j] = first[8 * j].word[lane % 4];
#pragma unroll
    for (unsigned int j = 0; j < 4; j++)
        if ((columns && (j == 1 || j == 2)) || strip->writes >> j & 1)
            *(COARSEN_(words_1) *)(word_to + 128 * j) = COARSEN_(words_1){words.word[j]};
    if (columns)
        return;
#pragma unroll 1
    for (unsigned int ends = strip->ends; ends != 0;
         ends &= ends - 1) { // one at most, nearly always
        const int j = __ffs((int)ends) - 1;
        const unsigned int word = first[8 * j].word[lane % 4];
        const long long x = strip->x + 128 * j - before;
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (x + k >= 0 && x + k < strip->samples)
                word_to[128 * j + k] = (unsigned char)(word >> 8 * k);
    }
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
// Beside the warp there is nothing. That matters only at the ends of a row: columns says that the warp is at none.
COARSEN_INLINE void COARSEN_(sums)(unsigned int *sums, const unsigned int *mine_even,
                                   const unsigned int *mine_odd, const bool columns)
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
        if (!columns && threadIdx.x % 32 < lanes)
            even[left] = odd[left] = 0;
        if (!columns && threadIdx.x % 32 >= 32 - lanes)
            even[right] = odd[right] = 0;
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

// The same with a factor and a rounding term for each sample.
COARSEN_DEVICE unsigned int COARSEN_(factored_word)(const unsigned int *sums, int w,
                                                    const COARSEN_(vector) * factors)
{
    const COARSEN_(vector) factor = factors[w], half = factors[4 + w];
    unsigned int m[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        m[j] = (sums[2 * w + j % 2] >> 16 * (j / 2) & 0xffff) * factor.word[j] + half.word[j];
    return __byte_perm(__byte_perm(m[0], m[1], 0x0073), __byte_perm(m[2], m[3], 0x0073), 0x5410);
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

// The widths, for the first b of the 16 samples from x on.
COARSEN_DEVICE unsigned long long COARSEN_(widths)(long long x, int b, size_t width)
{
    unsigned long long widths = 0;
    for (int j = 0; j < b; j++) {
        const size_t before = (size_t)(x + j) / COARSEN_CHANNELS;
        widths |= (1 + coarsen_min(before, COARSEN_RADIUS) +
                   coarsen_min(width - 1 - before, COARSEN_RADIUS))
                  << 4 * j;
    }
    return widths;
}

// Adds the row that enters to the column sums and subtracts the row that leaves. The even samples'
// sums come from sums of whole words, modulo 2^32, in fewer steps.
COARSEN_DEVICE void COARSEN_(roll)(unsigned int *whole, unsigned int *odd, COARSEN_(vector) enters,
                                   COARSEN_(vector) leaves)
{
#pragma unroll
    for (int w = 0; w < 4; w++) {
        whole[w] += enters.word[w] - leaves.word[w];
        odd[w] += __byte_perm(enters.word[w], 0, 0x4341) - __byte_perm(leaves.word[w], 0, 0x4341);
    }
}

typedef struct {
    COARSEN_(vector) ring[COARSEN_SLOTS][BLOCK_DIM]; // the summed rows, and the next
    unsigned int reciprocals[COARSEN_BOX + 1];
    COARSEN_(vector) factors[COARSEN_PLACES][8]; // see find_factors
    unsigned long long widths[BLOCK_DIM];        // for the border; saves registers
} COARSEN_(shared);

// Where a vector is in a row: 0 if its boxes are whole; 1 and 2 at the row's begin, 3 to 5 at its end.
COARSEN_DEVICE unsigned int COARSEN_(find_place)(long long x, long long samples)
{
    if (x >= samples || (x >= COARSEN_REACH && x + 16 + COARSEN_REACH <= samples))
        return 0;
    return (unsigned int)(x < COARSEN_REACH ? 1 + x / 16 : 3 + (samples - 1 - x) / 16);
}

// For the vectors at each place, what the sums of boxes with all their rows are multiplied by, and what is added.
COARSEN_DEVICE void COARSEN_(find_factors)(COARSEN_(shared) * shared, size_t width)
{
    const long long samples = (long long)(width * COARSEN_CHANNELS);
    for (unsigned int c = threadIdx.x; c < 16 * COARSEN_PLACES; c += BLOCK_DIM) {
        const unsigned int place = c / 16;
        const long long first =
            place < 3 ? (long long)place * 16 - 16 : ((samples - 1) / 16 - place + 3) * 16;
        const long long s = first + c % 16;
        size_t count = COARSEN_BOX;
        if (place > 0 && s >= 0 && s < samples) {
            const size_t x = (size_t)s / COARSEN_CHANNELS;
            count =
                (1 + coarsen_min(x, COARSEN_RADIUS) + coarsen_min(width - 1 - x, COARSEN_RADIUS)) *
                COARSEN_SIDE;
        }
        const unsigned int factor = (1u << 24) / (unsigned int)count + 1;
        shared->factors[place][c % 16 / 4].word[c % 4] = factor;
        shared->factors[place][4 + c % 16 / 4].word[c % 4] = (unsigned int)count / 2 * factor;
    }
}

// Row i enters, and the row in the middle of the boxes is made. rows: row i + COARSEN_AHEAD is an
// inner one, as row i is, and the boxes have all their rows. columns, only with rows: they have all
// their columns too, for each sample of the warp.
COARSEN_INLINE void COARSEN_(step)(COARSEN_(state) * state, COARSEN_(shared) * shared,
                                   const COARSEN_(strip) * strip, int i, const bool rows,
                                   const bool columns, const bool aligned)
{
    COARSEN_(vector) *const slots = &shared->ring[0][threadIdx.x];
    COARSEN_(copies_wait)(COARSEN_AHEAD - 1);
    if (!aligned)
        __syncwarp();
    const COARSEN_(vector) leaves = slots[state->leaving];
    COARSEN_(vector) enters = slots[state->entering];
    if (!aligned)
        enters = COARSEN_(shift_down)(
            enters, rows || (i >= strip->inner_begin && i < strip->inner_end) ? state->bits : 0);
    if (!columns && strip->b < 16)
        enters = COARSEN_(keep)(enters, strip->b);
    if (!aligned || (!columns && strip->b < 16))
        slots[state->entering] = enters;
    COARSEN_(roll)(state->whole, state->odd, enters, leaves);
    if (!aligned)
        __syncwarp(); // before other lanes write where this one has read
    COARSEN_(fetch)
    (slots + state->leaving, state->from, strip, i + COARSEN_AHEAD, rows, columns, aligned);
    state->from += strip->in_pitch;
    state->bits += (unsigned int)strip->in_pitch * 8;
    const unsigned int last = (COARSEN_SLOTS - 1) * BLOCK_DIM;
    state->entering = state->entering < last ? state->entering + BLOCK_DIM : 0;
    state->leaving = state->leaving < last ? state->leaving + BLOCK_DIM : 0;
    if (!rows && i < 2 * COARSEN_RADIUS)
        return;

    unsigned int even[4], sums[8];
#pragma unroll
    for (int w = 0; w < 4; w++)
        even[w] = state->whole[w] - (state->odd[w] << 8);
    COARSEN_(sums)(sums, even, state->odd, columns);
    COARSEN_(vector) means;
    if (columns) {
#pragma unroll
        for (int w = 0; w < 4; w++)
            means.word[w] = COARSEN_(word)(sums, w);
    } else if (rows || (i >= strip->full_begin && i < strip->end &&
                        strip->samples >= 16 * COARSEN_PLACES)) {
        const COARSEN_(vector) *const factors = shared->factors[strip->place];
#pragma unroll
        for (int w = 0; w < 4; w++)
            means.word[w] = COARSEN_(factored_word)(sums, w, factors);
    } else {
        const int oldest = i - 2 * COARSEN_RADIUS;
        const int high =
            (i < strip->end ? i + 1 : strip->end) - (oldest > strip->begin ? oldest : strip->begin);
        __syncwarp(); // otherwise the compiler computes what follows early, in registers
        const unsigned long long widths = shared->widths[threadIdx.x];
#pragma unroll
        for (int w = 0; w < 4; w++)
            means.word[w] =
                COARSEN_(border_word)(sums, w, shared->reciprocals, widths, (unsigned int)high);
    }
    if (!aligned)
        COARSEN_(store_words)(state->to, means, strip, columns);
    else if (strip->made)
        COARSEN_(store)(state->to, columns ? 16 : strip->b, means);
    state->to += strip->out_pitch;
}

// The work of a thread: 16 samples of each row of its warp's strip. aligned: rows begin at multiples of 16 bytes.
COARSEN_INLINE void COARSEN_(walk)(const unsigned char *in, size_t in_pitch, unsigned char *out,
                                   size_t out_pitch, size_t width, size_t height,
                                   unsigned int columns, unsigned int strip_rows,
                                   const bool aligned)
{
    __shared__ COARSEN_(shared) shared;
    for (unsigned int c = threadIdx.x; c <= COARSEN_BOX; c += BLOCK_DIM)
        shared.reciprocals[c] = c > 0 ? (1u << 24) / c + 1 : 0;
    COARSEN_(find_factors)(&shared, width);
    __syncthreads();

    // The shuffle tells the compiler that all lanes have the same value.
    const unsigned int warp =
        blockIdx.x * (BLOCK_DIM / 32) + __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    const size_t first = (size_t)(warp / columns) * strip_rows;
    if (first >= height) // the same for the whole warp
        return;
    const int lane = threadIdx.x % 32;
    const long long samples = (long long)(width * COARSEN_CHANNELS);
    const long long warp_x = (long long)(warp % columns) * COARSEN_SPAN;
    // At an end of the row, the lanes there have nothing to help.
    const int made_begin = warp % columns == 0 ? 0 : COARSEN_HALO;
    const int made_end = warp % columns == columns - 1 ? 32 : 32 - COARSEN_HALO;
    const long long x = warp_x + 16 * lane;

    COARSEN_(strip) strip = {};
    strip.in_pitch = in_pitch;
    strip.out_pitch = out_pitch;
    strip.x = warp_x + (aligned ? 16 : 4) * lane;
    strip.samples = samples;
    const int b = x >= samples ? 0 : samples - x < 16 ? (int)(samples - x) : 16;
    const unsigned int place = COARSEN_(find_place)(x, samples);
    const bool inside = place == 0 && x < samples;
    unsigned long long widths = COARSEN_SIDE * 0x1111111111111111ull;
    if (!inside)
        widths = COARSEN_(widths)(x, b, width);
    shared.widths[threadIdx.x] = widths;
    unsigned int reads = 0, writes = 0, ends = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int word = lane + 32 * j;
        const bool made = word >= 4 * made_begin && word < 4 * made_end;
        // Rows begin up to 3 bytes behind a word's boundary, and so words up to 3 samples before this one.
        const long long s = warp_x + 4 * lane + 128 * j;
        const bool inner = s >= 3 && s + 4 <= samples;
        reads |= (unsigned int)(s < samples + 3) << j;
        writes |= (unsigned int)(made && inner) << j;
        ends |= (unsigned int)(made && !inner && s < samples + 3) << j;
    }
    // The shuffles are for the compiler, which would otherwise find these anew in each row.
    strip.b = __shfl_sync(0xffffffff, b, lane);
    strip.made = __shfl_sync(0xffffffff, lane >= made_begin && lane < made_end && b > 0, lane);
    strip.reads = __shfl_sync(0xffffffff, reads, lane);
    strip.writes = __shfl_sync(0xffffffff, writes, lane);
    strip.ends = __shfl_sync(0xffffffff, ends, lane);

    // Step i adds row first - COARSEN_RADIUS + i of the image.
    const int made = (int)coarsen_min(height - first, strip_rows);
    // Around so many rows at each end of the image there may be no 15 bytes of it.
    const int outer = in_pitch < 15 ? 15 : 1;
    const int steps = made + 2 * COARSEN_RADIUS;
    strip.begin = COARSEN_RADIUS - (int)coarsen_min(first, COARSEN_RADIUS);
    strip.end =
        steps - COARSEN_RADIUS + (int)coarsen_min(height - first - (size_t)made, COARSEN_RADIUS);
    strip.inner_begin =
        COARSEN_RADIUS + outer - (int)coarsen_min(first, (size_t)(COARSEN_RADIUS + outer));
    strip.inner_end =
        (int)coarsen_min(height - first + COARSEN_RADIUS, (size_t)(steps + outer)) - outer;
    strip.full_begin = strip.begin + 2 * COARSEN_RADIUS;
    strip.place = __shfl_sync(0xffffffff, place, lane);

    COARSEN_(state) state = {};
    state.from = in + (long long)(first - COARSEN_RADIUS) * (long long)in_pitch + strip.x;
    state.to = out + (long long)(first * out_pitch) + strip.x;
    state.bits = (unsigned int)(size_t)state.from * 8;
    state.leaving = COARSEN_AHEAD * BLOCK_DIM;
    const COARSEN_(vector) nothing = {};
    for (int i = 0; i < COARSEN_SLOTS; i++)
        shared.ring[i][threadIdx.x] = nothing;
    if (!aligned)
        __syncwarp();
    for (int i = 0; i < COARSEN_AHEAD; i++) {
        COARSEN_(fetch)(&shared.ring[i][threadIdx.x], state.from, &strip, i, false, false, aligned);
        state.from += in_pitch;
    }
    // Most rows go by a loop that need not ask where it is. A row of few samples is at both ends at once.
    const bool columns_inside = __all_sync(0xffffffff, inside);
    const int rows_begin =
        strip.full_begin > strip.inner_begin ? strip.full_begin : strip.inner_begin;
    const int rows_end = samples < 16 * COARSEN_PLACES ? 0 : strip.inner_end - COARSEN_AHEAD;
    for (int i = 0; i < steps; i++) {
        if (columns_inside)
#pragma unroll 1
            for (; i >= rows_begin && i < rows_end; i++)
                COARSEN_(step)(&state, &shared, &strip, i, true, true, aligned);
        else
#pragma unroll 1
            for (; i >= rows_begin && i < rows_end; i++)
                COARSEN_(step)(&state, &shared, &strip, i, true, false, aligned);
        COARSEN_(step)(&state, &shared, &strip, i, false, false, aligned);
    }
}

// One block per multiprocessor is enough, so the compiler may take registers: few strips, which are long, are faster than
// many.
// rows: per thread. in, out and the pitches are multiples of 16.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out, size_t out_pitch,
                     size_t width, size_t height, unsigned int columns, unsigned int rows)
{
    COARSEN_(walk)(in, in_pitch, out, out_pitch, width, height, columns, rows, true);
}

// The same for any alignment.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(any_kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out,
                         size_t out_pitch, size_t width, size_t height, unsigned int columns,
                         unsigned int rows)
{
    COARSEN_(walk)(in, in_pitch, out, out_pitch, width, height, columns, rows, false);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const unsigned char *in, size_t in_pitch,
                                          unsigned char *out, size_t out_pitch, size_t width,
                                          size_t height, cudaStream_t stream)
{
    if (width == 0 || height == 0)
        return cudaSuccess;
    const size_t samples = width * COARSEN_CHANNELS;
    if (!COARSEN_(images_ok)(in, in_pitch, COARSEN_CHANNELS, out, out_pitch, COARSEN_CHANNELS,
                             width, height))
        return cudaErrorInvalidValue;

    cudaError_t status;
    const bool aligned = ((size_t)in | in_pitch | (size_t)out | out_pitch) % 16 == 0;
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
    // Unless aligned, the last word of a row may begin up to 3 samples before its end. At both ends of a row, a column
    // makes more than its span.
    const size_t most_x = aligned ? samples : samples + 3, both = 32 * COARSEN_HALO;
    const size_t columns = most_x > both ? coarsen_ceil_div(most_x - both, COARSEN_SPAN) : 1;
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
    return cudaLaunchKernelEx(&config, aligned ? COARSEN_(kernel) : COARSEN_(any_kernel), in,
                              in_pitch, out, out_pitch, width, height, (unsigned int)columns,
                              (unsigned int)rows);
}
#endif

#undef COARSEN_SIDE
#undef COARSEN_BOX
#undef COARSEN_REACH
#undef COARSEN_WORDS
#undef COARSEN_HALO
#undef COARSEN_SPAN
#undef COARSEN_AHEAD
#undef COARSEN_SLOTS
#undef COARSEN_PLACES
#define COARSEN_END
#include "../base.h"
