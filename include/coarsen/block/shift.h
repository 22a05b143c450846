// SPDX-License-Identifier: MIT
//
// coarsen/block/shift.h: bytes at any address, from the aligned words around them, or written so.
//
//     #define COARSEN_NAME bytes
//     #include <coarsen/block/shift.h>
//
//     // in a kernel, for 16 bytes that begin `after` bytes behind an aligned vector:
//     //     unsigned int words[8];   // that vector and the next
//     //     bytes_shift(words, 4, after);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// Defines, for the device,
//     NAME_four_words, NAME_two_words, NAME_one_word, NAME_half_word   that many bytes, 16 to 2, in
//                                        memory of any type, as .word: integers of up to 4 bytes
//     void NAME_shift(unsigned int *words, unsigned int count, unsigned int after)
//                                        words 0 to count - 1 become those that begin `after` bytes
//                                        behind word 0: 0 to 15, best the same for the whole warp
//     void NAME_shift_apart(unsigned int *words, unsigned int count, unsigned int after)
//                                        the same without a branch, for lanes whose `after` differ
//     void NAME_write_shifted(unsigned int *words, unsigned int count, void *to, unsigned int unit)
//                                        writes what the lanes of a warp have from word 4 on, one
//                                        lane's behind the other's, the calling one's to `to`. That
//                                        is a multiple of `unit`, a constant, 1, 2, 4 or 8, and no
//                                        multiple of 16
// words holds count + 4. count is a constant, or words is not in registers; to write, it is a multiple of 4. Words
// that were written are not as they were.
// Cost of a write: four shuffles, and a store per 16 bytes, all of them aligned, but for the 16 bytes where the warp's end.
// Source: the funnel shift is that of the CUDA C++ Programming Guide.

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"
#ifndef COARSEN_MADE_SHIFT
#define COARSEN_MADE_SHIFT

// Words `apart` words on, and in them `after` bytes.
COARSEN_INLINE void COARSEN_(shift_by)(unsigned int *words, unsigned int count, unsigned int apart,
                                       unsigned int after)
{
#pragma unroll
    for (unsigned int i = 0; i < count; i++)
        words[i] = __funnelshift_r(words[i + apart], words[i + apart + 1], 8 * after);
}

// A branch, as choosing each word costs more: words are in registers, which have no index.
COARSEN_INLINE void COARSEN_(shift)(unsigned int *words, unsigned int count, unsigned int after)
{
    switch (after / 4) {
    case 0:
        COARSEN_(shift_by)(words, count, 0, after);
        break;
    case 1:
        COARSEN_(shift_by)(words, count, 1, after);
        break;
    case 2:
        COARSEN_(shift_by)(words, count, 2, after);
        break;
    default:
        COARSEN_(shift_by)(words, count, 3, after);
    }
}

// The whole words of `after` bytes, of words 0 to count, without a branch.
COARSEN_INLINE void COARSEN_(shift_words)(unsigned int *words, unsigned int count,
                                          unsigned int after)
{
#pragma unroll
    for (unsigned int w = 0; w < count + 2; w++)
        words[w] = after & 8 ? words[w + 2] : words[w];
#pragma unroll
    for (unsigned int w = 0; w < count + 1; w++)
        words[w] = after & 4 ? words[w + 1] : words[w];
}

COARSEN_INLINE void COARSEN_(shift_apart)(unsigned int *words, unsigned int count,
                                          unsigned int after)
{
    COARSEN_(shift_words)(words, count, after);
    COARSEN_(shift_by)(words, count, 0, after % 4);
}

typedef struct COARSEN_ALIGNED(16) COARSEN_MAY_ALIAS {
    unsigned int word[4];
} COARSEN_(four_words);
typedef struct COARSEN_ALIGNED(8) COARSEN_MAY_ALIAS {
    unsigned int word[2];
} COARSEN_(two_words);
typedef struct COARSEN_ALIGNED(4) COARSEN_MAY_ALIAS {
    unsigned int word;
} COARSEN_(one_word);
typedef struct COARSEN_ALIGNED(2) COARSEN_MAY_ALIAS {
    unsigned short word;
} COARSEN_(half_word);

COARSEN_INLINE void COARSEN_(write_shifted)(unsigned int *words, unsigned int count, void *to,
                                            unsigned int unit)
{
    const unsigned int lane = threadIdx.x % 32;
    // So many bytes on is a boundary. What lane 0 has before its first one, and lane 31 behind its last, is written by units.
    const unsigned int after = unit == 8 ? 8 : (unsigned int)(-(size_t)to % 16);
    char *const end = (char *)to + (lane == 0 ? 0 : 4 * count - 16);
#pragma unroll
    for (unsigned int b = 0; b < 16; b += unit) {
        const unsigned int w = b / 4, last = count + w;
        if (b < after ? lane > 0 : lane < 31)
            continue;
        const unsigned int word = lane == 0 ? words[4 + w] : words[last];
        if (unit == 8) {
            const COARSEN_(two_words) two = {{word, lane == 0 ? words[5 + w] : words[last + 1]}};
            *(COARSEN_(two_words) *)(end + b) = two;
        } else if (unit == 4)
            ((COARSEN_(one_word) *)(end + b))->word = word;
        else if (unit == 2)
            ((COARSEN_(half_word) *)(end + b))->word = (unsigned short)(word >> 8 * (b % 4));
        else
            end[b] = (char)(word >> 8 * (b % 4));
    }
    // What the lane below has last. Of whole words, to choose costs less code than a branch.
#pragma unroll
    for (unsigned int w = unit == 8 ? 2 : 0; w < 4; w++)
        words[w] = __shfl_up_sync(0xffffffff, words[count + w], 1);
    if (unit < 4)
        COARSEN_(shift)(words, count, after);
    else
        COARSEN_(shift_words)(words, count, after);
#pragma unroll
    for (unsigned int v = 0; v < count; v += 4) {
        const COARSEN_(four_words) four = {{words[v], words[v + 1], words[v + 2], words[v + 3]}};
        if (v > 0 || lane > 0)
            *(COARSEN_(four_words) *)((char *)to + after + 4 * v - 16) = four;
    }
}
#endif

#define COARSEN_END
#include "../base.h"
