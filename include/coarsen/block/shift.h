// SPDX-License-Identifier: MIT
//
// coarsen/block/shift.h: bytes at any address, from the aligned words around them.
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
//     void NAME_shift(unsigned int *words, unsigned int count, unsigned int after)
//                                        words 0 to count - 1 become those that begin `after` bytes
//                                        behind word 0: 0 to 15, best the same for the whole warp
// words holds count + 4. count is a constant, or words is not in registers.
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
#endif

#define COARSEN_END
#include "../base.h"
