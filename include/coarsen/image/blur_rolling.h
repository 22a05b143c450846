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
// | COARSE_FACTOR    | 12       | rows per thread, of 16 columns, or some more, from 1 to 1024    |
// Defines NAME_kernel(in, in_pitch, out, out_pitch, width, height, cut), where cut is a
// NAME_cut, NAME_any_kernel (the same for any alignment) and
//     cudaError_t NAME_launch(const unsigned char *in, size_t in_pitch,
//                             unsigned char *out, size_t out_pitch,
//                             size_t width, size_t height, cudaStream_t stream)
//     cudaError_t NAME_plan(const unsigned char *in, size_t in_pitch, unsigned char *out,
//                           size_t out_pitch, size_t width, size_t height, NAME_planned *plan)
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid,
// plan->block, plan->shared_bytes, stream>>>(in, in_pitch, out, out_pitch, width, height, plan->cut). If
// there are no pixels, plan->grid.x is 0: there is nothing to launch.
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
// the radius. Rows that are not aligned are copied and written as the aligned vectors that hold
// them, and shifted in between.
// Price paid: 16 bytes of shared memory per thread and waiting row; the lanes at the ends of a
// warp, which only help, except at the ends of a row; and 2 COARSEN_RADIUS rows read before the
// first is made. Neighbouring strips are walked towards each other, or apart, so that they read
// their common rows at the same time, and memory once. For rows that are not aligned, one lane more
// that only helps, two shifts and two more ways through shared memory; their strips are as long as
// fill the device once.
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
#define COARSE_FACTOR 12
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 1024
#error "coarsen/image: COARSE_FACTOR must be from 1 to 1024"
#endif

#include "../block/copy.h"
#include "../block/shift.h"

#define COARSEN_SIDE     (2 * COARSEN_RADIUS + 1)
#define COARSEN_BOX      (COARSEN_SIDE * COARSEN_SIDE)
#define COARSEN_REACH    (COARSEN_RADIUS * COARSEN_CHANNELS) // samples on each side
#define COARSEN_WORDS    ((COARSEN_REACH + 3) / 4)           // the same, in words of 4 samples
#define COARSEN_HALO     ((COARSEN_REACH + 15) / 16)         // the same, in lanes of 16
// The same on the right unless aligned, where the vectors that are written hold means of the next lane.
#define COARSEN_HALO_ANY ((COARSEN_REACH + 30) / 16)
#define COARSEN_AHEAD    3 // rows on their way
#define COARSEN_SHORT    4 // rows of a strip where there are few
#define COARSEN_SLOTS    (COARSEN_SIDE + COARSEN_AHEAD)
// Vectors of a warp and row: 32 and the next. An even number, as a copy to 16 bytes behind a multiple of 32 is two requests.
#define COARSEN_RING     34
#define COARSEN_PLACES   6

typedef struct COARSEN_ALIGNED(16) COARSEN_MAY_ALIAS {
    unsigned int word[4];
} COARSEN_(vector);

// A thread's part of its warp's strip, which is 32 vectors wide. Rows are numbered from the first that the strip needs.
typedef struct {
    long long in_pitch, out_pitch; // from one row to the next that is walked
    long long samples;             // of a row
    int b;                         // the samples that the row has of its vector: the first b
    bool made;           // whether the thread's vector is written, not only of use to the others
    int left, warp_left; // samples up to the row's end, from the thread's and the warp's first
    int made_begin, made_end;   // the lanes whose vectors are written
    bool starts;                // whether the row begins with the warp's
    int begin, end;             // the rows that exist
    int inner_begin, inner_end; // the rows around which as much as a vector may be read
    int steps;                  // the rows that the strip needs
    int full_begin;             // from here on, boxes have all their rows
    unsigned int place;         // of the thread's vector in its row, as in find_place
} COARSEN_(strip);

// What changes from row to row.
typedef struct {
    const unsigned char *from; // the row to be copied next
    unsigned char *to;
    unsigned int after;             // bytes, of the row that enters, after a vector's boundary
    unsigned int entering, leaving; // slots
    unsigned int whole[4], odd[4];  // the column sums
} COARSEN_(state);

// Begins to copy a row to a slot. Unless aligned, as the vectors that hold its samples, of which there is one more. rows,
// columns: as in step.
COARSEN_INLINE void COARSEN_(fetch)(COARSEN_(vector) * own, const unsigned char *from,
                                    const COARSEN_(strip) * strip, int row, const bool rows,
                                    const bool columns, const bool aligned)
{
    const unsigned int lane = threadIdx.x % 32;
    const COARSEN_(vector) nothing = {};
    const bool inner = rows || (row >= strip->inner_begin && row < strip->inner_end);
    if (row >= strip->steps) {
        // no box has it
    } else if (!rows && (row < strip->begin || row >= strip->end)) {
        *own = nothing;
    } else if (aligned && (inner || strip->b == 16)) {
        if (columns || strip->b > 0)
            COARSEN_(copy_line_async)(own, from);
    } else if (!aligned && inner) {
        const unsigned int after = (unsigned int)((size_t)from % 16);
        if (columns || -strip->left < (int)after)
            COARSEN_(copy_line_async)(own, from - after);
        if (lane == 0 && (columns || 512 - strip->left < (int)after))
            COARSEN_(copy_line_async)(own + 32, from - after + 512);
    } else {
        unsigned char *const to = (unsigned char *)own;
        *own = nothing;
#pragma unroll 1
        for (int j = 0; j < strip->b; j++)
            to[j] = from[j];
    }
    COARSEN_(copies_end)();
}

// The vector that begins so many bytes after the thread's, of which it has the first and its neighbour the next.
COARSEN_INLINE COARSEN_(vector) COARSEN_(between)(const COARSEN_(vector) * own, unsigned int after)
{
    const COARSEN_(vector) low = own[0], high = own[1];
    COARSEN_(vector) made;
    unsigned int words[8];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        words[w] = low.word[w];
        words[4 + w] = high.word[w];
    }
    COARSEN_(shift)(words, 4, after);
#pragma unroll
    for (int w = 0; w < 4; w++)
        made.word[w] = words[w];
    return made;
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

// Writes the warp's vectors to a row at any distance from a boundary: as the aligned vectors that hold them, by way of
// shared memory. Only where the row begins and ends is it bytes. Before the next row is written there, the next step's
// barriers let all lanes read this one.
COARSEN_INLINE void COARSEN_(store_any)(COARSEN_(vector) (*rows)[33], unsigned char *to,
                                        COARSEN_(vector) means, const COARSEN_(strip) * strip,
                                        const bool columns)
{
    const unsigned int lane = threadIdx.x % 32, after = (0u - (unsigned int)(size_t)to) % 16;
    COARSEN_(vector) *const row = rows[threadIdx.x / 32];
    row[lane] = means;
    __syncwarp();
    const COARSEN_(vector) made = COARSEN_(between)(row + lane, after);
    if (strip->made && (columns || strip->left - (int)after >= 16))
        *(COARSEN_(vector) *)(to + after) = made;
    if (!columns) {
        const unsigned char *const bytes = (const unsigned char *)row;
        unsigned char *const first = to - 16 * lane;
        if (strip->starts && lane < after && (int)lane < strip->warp_left)
            first[lane] = bytes[lane];
        const int left = strip->warp_left - (int)after, tail = left / 16;
        if (left >= 0 && tail >= strip->made_begin && tail < strip->made_end &&
            (int)lane < left % 16)
            first[(int)(after + lane) + 16 * tail] = bytes[(int)(after + lane) + 16 * tail];
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
    unsigned int even[5 + 2 * COARSEN_WORDS], odd[5 + 2 * COARSEN_WORDS];
    even[4 + 2 * COARSEN_WORDS] = odd[4 + 2 * COARSEN_WORDS] = 0; // in no box
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
    // Of two neighbours: a box is one column and COARSEN_RADIUS of these.
    unsigned int two_even[4 + 2 * COARSEN_WORDS], two_odd[4 + 2 * COARSEN_WORDS];
#pragma unroll
    for (int w = 0; w < 4 + 2 * COARSEN_WORDS; w++) {
        two_even[w] = even[w] + COARSEN_(pair)(even, odd, 4 * w + COARSEN_CHANNELS);
        two_odd[w] = odd[w] + COARSEN_(pair)(even, odd, 4 * w + 1 + COARSEN_CHANNELS);
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
        sums[h] = COARSEN_(pair)(even, odd, p - COARSEN_REACH);
#pragma unroll
        for (int d = COARSEN_CHANNELS - COARSEN_REACH; d < COARSEN_REACH; d += 2 * COARSEN_CHANNELS)
            sums[h] += COARSEN_(pair)(two_even, two_odd, p + d);
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
    unsigned int low[2], high[2]; // the means in the halves
#pragma unroll
    for (int j = 0; j < 2; j++) {
        const unsigned int both = sums[2 * w + j], upper = both >> 16;
        high[j] = COARSEN_(mean)(upper, COARSEN_BOX, reciprocal);
        // The upper sum is taken away by a multiplication: of other instructions there are more than of these.
        low[j] = COARSEN_(mean)(both, COARSEN_BOX, reciprocal) - upper * (reciprocal << 16);
    }
    return __byte_perm(__byte_perm(low[0], low[1], 0x0073), __byte_perm(high[0], high[1], 0x0073),
                       0x5410);
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
    COARSEN_(vector)
    ring[COARSEN_SLOTS][BLOCK_DIM / 32][COARSEN_RING]; // the summed rows, and the next
    COARSEN_(vector) made[BLOCK_DIM / 32][33];         // unless aligned: see store_any
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

// The samples of row i, which has come. They stay in the slot, as they are to be subtracted. columns, rows: as in step.
COARSEN_INLINE COARSEN_(vector)
    COARSEN_(take)(const COARSEN_(state) * state, COARSEN_(vector) * own,
                   const COARSEN_(strip) * strip, int i, const bool rows, const bool columns,
                   const bool aligned)
{
    COARSEN_(vector) enters = *own;
    if (!aligned) {
        const bool inner = rows || (i >= strip->inner_begin && i < strip->inner_end);
        enters = COARSEN_(between)(own, inner ? state->after : 0);
        __syncwarp(); // before its place is taken
    }
    if (!columns && strip->b < 16)
        enters = COARSEN_(keep)(enters, strip->b);
    if (!aligned || (!columns && strip->b < 16))
        *own = enters;
    return enters;
}

// The slot after that, of a thread.
COARSEN_DEVICE unsigned int COARSEN_(next_slot)(unsigned int at)
{
    const unsigned int slot = BLOCK_DIM / 32 * COARSEN_RING;
    return at < (COARSEN_SLOTS - 1) * slot ? at + slot : 0;
}

// Row i enters, and the row in the middle of the boxes is made. rows: row i + COARSEN_AHEAD is an
// inner one, if the strip needs it, as row i is, and the boxes have all their rows. columns, only with rows: they have
// all their columns too, for each sample of the warp.
COARSEN_INLINE void COARSEN_(step)(COARSEN_(state) * state, COARSEN_(shared) * shared,
                                   const COARSEN_(strip) * strip, int i, const bool rows,
                                   const bool columns, const bool aligned)
{
    COARSEN_(vector) *const slots = &shared->ring[0][threadIdx.x / 32][threadIdx.x % 32];
    COARSEN_(copies_wait)(COARSEN_AHEAD - 1);
    if (!aligned)
        __syncwarp();
    const COARSEN_(vector) leaves = slots[state->leaving];
    COARSEN_(roll)
    (state->whole, state->odd,
     COARSEN_(take)(state, slots + state->entering, strip, i, rows, columns, aligned), leaves);
    COARSEN_(fetch)
    (slots + state->leaving, state->from, strip, i + COARSEN_AHEAD, rows, columns, aligned);
    state->from += strip->in_pitch;
    state->after = (state->after + (unsigned int)strip->in_pitch) % 16;
    state->entering = COARSEN_(next_slot)(state->entering);
    state->leaving = COARSEN_(next_slot)(state->leaving);

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
        COARSEN_(store_any)(shared->made, state->to, means, strip, columns);
    else if (strip->made)
        COARSEN_(store)(state->to, columns ? 16 : strip->b, means);
    state->to += strip->out_pitch;
}

// How an image is cut into strips.
typedef struct {
    unsigned int columns, rows; // rows: of a strip
    unsigned int ends;          // the columns that are at an end of the rows, if they are set apart
    unsigned int end_rows, end_warps;
} COARSEN_(cut);

// The work of a thread: 16 samples of each row of its warp's strip. aligned: rows begin at multiples of 16 bytes.
COARSEN_INLINE void COARSEN_(walk)(const unsigned char *in, size_t in_pitch, unsigned char *out,
                                   size_t out_pitch, size_t width, size_t height, COARSEN_(cut) cut,
                                   const bool aligned)
{
    __shared__ COARSEN_(shared) shared;
    // The shuffle tells the compiler that all lanes have the same value.
    const unsigned int warp =
        blockIdx.x * (BLOCK_DIM / 32) + __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    const bool at_end = warp < cut.end_warps;
    const unsigned int others = cut.columns - cut.ends, other = warp - cut.end_warps;
    const bool some = at_end || others > 0;
    const unsigned int column = at_end ? warp % cut.ends * (cut.columns - 1)
                                : some ? (cut.ends > 0) + other % others
                                       : 0;
    const unsigned int strip_index = at_end ? warp / cut.ends : some ? other / others : 0;
    const unsigned int strip_rows = at_end ? cut.end_rows : cut.rows;
    // Whether the warp has a strip. If not, it makes the tables with the others.
    const bool there = some && (size_t)strip_index * strip_rows < height;
    const size_t first = there ? (size_t)strip_index * strip_rows : 0;
    const int lane = threadIdx.x % 32;
    const long long samples = (long long)(width * COARSEN_CHANNELS);
    const int right = aligned ? COARSEN_HALO : COARSEN_HALO_ANY;
    const long long warp_x = (long long)column * (16 * (32 - COARSEN_HALO - right));
    // At an end of the row, the lanes there have nothing to help.
    const int made_begin = column == 0 ? 0 : COARSEN_HALO;
    const int made_end = column == cut.columns - 1 ? 32 : 32 - right;
    const long long x = warp_x + 16 * lane;

    COARSEN_(strip) strip = {};
    const bool up = strip_index % 2 == 1;
    strip.in_pitch = up ? -(long long)in_pitch : (long long)in_pitch;
    strip.out_pitch = up ? -(long long)out_pitch : (long long)out_pitch;
    strip.samples = samples;
    const int b = x >= samples ? 0 : samples - x < 16 ? (int)(samples - x) : 16;
    const unsigned int place = COARSEN_(find_place)(x, samples);
    const bool inside = place == 0 && x < samples;
    // The shuffles are for the compiler, which would otherwise find these anew in each row.
    strip.b = __shfl_sync(0xffffffff, b, lane);
    strip.made = __shfl_sync(0xffffffff, lane >= made_begin && lane < made_end && b > 0, lane);
    const long long most = samples - x < 1024 ? samples - x : 1024;
    strip.left = __shfl_sync(0xffffffff, (int)(most > -1024 ? most : -1024), lane);
    strip.warp_left = __shfl_sync(0xffffffff, strip.left, 0);
    strip.made_begin = made_begin;
    strip.made_end = made_end;
    strip.starts = column == 0;

    // Step i adds row i - COARSEN_RADIUS, counted from the strip's first that is walked.
    const int made = (int)coarsen_min(height - first, strip_rows);
    const size_t start = up ? first + (size_t)made - 1 : first; // the first that is walked
    const size_t under = height - first - (size_t)made;
    const size_t before = up ? under : first, behind = up ? first : under;
    // Around so many rows at each end of the image there may be no 15 bytes of it.
    const int outer = in_pitch < 15 ? 15 : 1;
    const int steps = made + 2 * COARSEN_RADIUS;
    strip.steps = steps;
    strip.begin = COARSEN_RADIUS - (int)coarsen_min(before, COARSEN_RADIUS);
    strip.end = steps - COARSEN_RADIUS + (int)coarsen_min(behind, COARSEN_RADIUS);
    strip.inner_begin =
        COARSEN_RADIUS + outer - (int)coarsen_min(before, (size_t)(COARSEN_RADIUS + outer));
    strip.inner_end =
        steps - COARSEN_RADIUS - outer + (int)coarsen_min(behind, (size_t)(COARSEN_RADIUS + outer));
    strip.full_begin = strip.begin + 2 * COARSEN_RADIUS;
    strip.place = __shfl_sync(0xffffffff, place, lane);

    COARSEN_(state) state = {};
    state.from = in + (long long)(start * in_pitch) - COARSEN_RADIUS * strip.in_pitch + x;
    state.to = out + (long long)(start * out_pitch) + x;
    state.after = (unsigned int)((size_t)state.from % 16);
    // All slots but the last are free for the first rows. The last has the row before them, of zeros, which leaves first.
    // Where a lane has nothing to copy, all have zeros.
    const bool columns_inside = __all_sync(0xffffffff, inside);
    const unsigned int slot = BLOCK_DIM / 32 * COARSEN_RING;
    COARSEN_(vector) *const slots = &shared.ring[0][threadIdx.x / 32][lane];
    const COARSEN_(vector) nothing = {};
    for (int i = aligned && columns_inside ? COARSEN_SLOTS - 1 : 0; i < COARSEN_SLOTS; i++)
        for (int j = lane; j < COARSEN_RING; j += 32)
            shared.ring[i][threadIdx.x / 32][j] = nothing;
    state.leaving = (COARSEN_SLOTS - 1) * slot;
#pragma unroll 1
    for (int i = 0; there && i < COARSEN_SLOTS - 1; i++) {
        COARSEN_(fetch)
        (slots + (unsigned int)i * slot, state.from, &strip, i, false, false, aligned);
        state.from += strip.in_pitch;
    }
    // What borders need is found while these rows come.
    for (unsigned int c = threadIdx.x; c <= COARSEN_BOX; c += BLOCK_DIM)
        shared.reciprocals[c] = c > 0 ? (1u << 24) / c + 1 : 0;
    COARSEN_(find_factors)(&shared, width);
    shared.widths[threadIdx.x] =
        inside ? COARSEN_SIDE * 0x1111111111111111ull : COARSEN_(widths)(x, b, width);
    if (!aligned && lane == 0)
        shared.made[threadIdx.x / 32][32] = nothing;
    __syncthreads();
    if (!there)
        return;
    COARSEN_(copies_wait)(COARSEN_AHEAD);
    if (!aligned)
        __syncwarp();
#pragma unroll 1
    for (int i = 0; i < 2 * COARSEN_RADIUS; i++) {
        COARSEN_(roll)
        (state.whole, state.odd,
         COARSEN_(take)(&state, slots + state.entering, &strip, i, false, false, aligned), nothing);
        state.after = (state.after + (unsigned int)strip.in_pitch) % 16;
        state.entering = COARSEN_(next_slot)(state.entering);
    }
    // Most rows go by a loop that need not ask where it is. A row of few samples is at both ends at once.
    const int rows_begin =
        strip.full_begin > strip.inner_begin ? strip.full_begin : strip.inner_begin;
    const int rows_end = samples < 16 * COARSEN_PLACES ? 0
                         : strip.inner_end == steps    ? steps
                                                       : strip.inner_end - COARSEN_AHEAD;
    for (int i = 2 * COARSEN_RADIUS; i < steps;) {
        if (i < rows_begin || i >= rows_end)
            COARSEN_(step)(&state, &shared, &strip, i++, false, false, aligned);
        else if (columns_inside)
#pragma unroll 1
            for (; i < rows_end; i++)
                COARSEN_(step)(&state, &shared, &strip, i, true, true, aligned);
        else
#pragma unroll 1
            for (; i < rows_end; i++)
                COARSEN_(step)(&state, &shared, &strip, i, true, false, aligned);
    }
}

// One block per multiprocessor is enough, so the compiler may take registers. in, out and the pitches are multiples of 16.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out, size_t out_pitch,
                     size_t width, size_t height, COARSEN_(cut) cut)
{
    COARSEN_(walk)(in, in_pitch, out, out_pitch, width, height, cut, true);
}

// The same for any alignment.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, 1)
    COARSEN_(any_kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out,
                         size_t out_pitch, size_t width, size_t height, COARSEN_(cut) cut)
{
    COARSEN_(walk)(in, in_pitch, out, out_pitch, width, height, cut, false);
}

#ifndef __CUDACC_RTC__
// How an image is cut, if so many warps run at once. Where rows are aligned, memory binds, and multiprocessors seem not
// to get equal shares of it: several waves of strips of COARSE_FACTOR rows, or of more to make the last wave a full one.
// What is read and written at one time is also less far apart then.
// Elsewhere instructions bind, of which they do: one wave, whose strips are long, as the rows that start a strip cost too.
// A row takes longer at its ends, so there a strip has two thirds of the rows, and those come first, so that all
// multiprocessors have as many. Strips are not very short either if there are too few to fill the device.
COARSEN_HOST COARSEN_(cut)
    COARSEN_(cut_image)(size_t columns, size_t height, size_t wave, bool aligned)
{
    const size_t ends = aligned ? 0 : coarsen_min(columns, 2);
    const size_t halves =
        2 * columns + ends; // a strip of each column, and half of one more at an end
    const size_t least = coarsen_ceil_div(halves, 2 * wave);
    const size_t full = aligned ? columns * coarsen_ceil_div(height, COARSE_FACTOR) / wave : 0;
    const size_t strips = (full > least ? full : least) * wave * 2 / halves;
    const size_t most = coarsen_ceil_div(height, coarsen_min(COARSE_FACTOR, COARSEN_SHORT));
    const size_t rows = coarsen_ceil_div(height, coarsen_min(strips, most));
    const size_t end_rows = coarsen_ceil_div(2 * rows, 3);
    const COARSEN_(cut)
        cut = {(unsigned int)columns, (unsigned int)rows, (unsigned int)ends,
               (unsigned int)end_rows, (unsigned int)(ends * coarsen_ceil_div(height, end_rows))};
    return cut;
}

typedef struct {
    void (*kernel)(const unsigned char *in, size_t in_pitch, unsigned char *out, size_t out_pitch,
                   size_t width, size_t height, COARSEN_(cut) cut);
    COARSEN_(cut) cut;
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
    // At both ends of a row, a column makes more than its span.
    const size_t both = 16 * (COARSEN_HALO + (aligned ? COARSEN_HALO : COARSEN_HALO_ANY));
    const size_t columns = samples > both ? coarsen_ceil_div(samples - both, 512 - both) : 1;
    if (columns + 1 >
        0x7fffffff / coarsen_ceil_div(height, coarsen_min(COARSE_FACTOR, COARSEN_SHORT)))
        return cudaErrorInvalidValue;
    const size_t wave = processors * (size_t)resident * (BLOCK_DIM / 32);
    plan->cut = COARSEN_(cut_image)(columns, height, wave, aligned);
    const size_t warps = plan->cut.end_warps + (columns - plan->cut.ends) *
                                                   coarsen_ceil_div(height, (size_t)plan->cut.rows);
    plan->kernel = aligned ? COARSEN_(kernel) : COARSEN_(any_kernel);
    plan->grid = dim3((unsigned int)coarsen_ceil_div(warps, BLOCK_DIM / 32));
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
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, plan.kernel, in, in_pitch, out, out_pitch, width, height,
                              plan.cut);
}
#endif

#undef COARSEN_SIDE
#undef COARSEN_BOX
#undef COARSEN_REACH
#undef COARSEN_WORDS
#undef COARSEN_HALO
#undef COARSEN_HALO_ANY
#undef COARSEN_AHEAD
#undef COARSEN_SHORT
#undef COARSEN_SLOTS
#undef COARSEN_RING
#undef COARSEN_PLACES
#define COARSEN_END
#include "../base.h"
