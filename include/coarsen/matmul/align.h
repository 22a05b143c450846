// SPDX-License-Identifier: MIT
//
// coarsen/matmul/align.h: writes M, N or both once more as they are stored, but each line (a row, or where columns are
// stored, a column) from a multiple of 16 bytes on (of 128, as matmul.h has it), which is how tensor16.h copies tiles
// fastest. Not for use by itself: matmul.h includes it.
//
// Price saved: lines that begin anywhere are copied in small pieces, and some of them through registers, by each block that
// takes them.
// Price paid: scratch; and each element is read and written once more, which pays where it is used often.
// How: a thread takes COARSEN_TAKE vectors of what it writes. Each comes from the two aligned vectors around it.
// Source: K. Goto, R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008, on packing.

#include "../base.h"
#ifdef COARSEN_TYPE

#define COARSEN_TAKE 4

// An operand as it is stored: `lines` lines of `length` elements; and where its copy goes, whose lines are `to_ld` elements
// apart: whole vectors, with zeros after the line. to_ld is at most 2^33, or 0 if nothing is copied.
typedef struct {
    const COARSEN_TYPE *from;
    size_t ld, lines, length;
    COARSEN_TYPE *to;
    size_t to_ld;
} COARSEN_(unaligned);

// Elements from `at` on of a line, and zeros after its end. What is between the lines is not read: that may be written by
// others meanwhile.
COARSEN_INLINE COARSEN_(vector)
    COARSEN_(load_line)(const COARSEN_(unaligned) * of, size_t line, size_t at)
{
    const bool joined = of->ld == of->length; // nothing is between the lines
    const size_t place = joined ? line * of->ld + at : at;
    const size_t end = joined ? of->lines * of->ld : of->length;
    const COARSEN_TYPE *const from = of->from + line * of->ld + at;
    const unsigned int left = (unsigned int)coarsen_min(of->length - at, COARSEN_ITEMS);
    const COARSEN_(parts) parts = COARSEN_(split_any)(from, left);
    const size_t before = COARSEN_(after)(parts) / sizeof(COARSEN_TYPE);
    COARSEN_(vector) load = {};
    if (place >= before && place - before + 2 * COARSEN_ITEMS <= end) {
        const COARSEN_(around) around = COARSEN_(load_around)(parts, 0);
        const COARSEN_(vector) all = COARSEN_(between)(&around, parts);
        if (left == COARSEN_ITEMS)
            return all;
#pragma unroll
        for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
            if (q < left)
                load.item[q] = all.item[q];
    } else {
#pragma unroll
        for (unsigned int q = 0; q < COARSEN_ITEMS; q++)
            if (q < left)
                load.item[q] = from[q];
    }
    return load;
}

// Blocks take the vectors of m's copy, and then those of n's. A thread loads all its vectors before it stores any.
COARSEN_KERNEL void __launch_bounds__(256)
    COARSEN_(align_kernel)(COARSEN_(unaligned) m, COARSEN_(unaligned) n)
{
    const size_t of_m = coarsen_ceil_div(m.lines * (m.to_ld / COARSEN_ITEMS), 256 * COARSEN_TAKE);
    const bool is_m = blockIdx.x < of_m;
    const COARSEN_(unaligned) of = is_m ? m : n;
    const unsigned int vectors = (unsigned int)(of.to_ld / COARSEN_ITEMS); // of a line
    const size_t first = (is_m ? blockIdx.x : blockIdx.x - of_m) * (256 * COARSEN_TAKE);
    const size_t first_line = first / vectors;
    const unsigned int in_line = (unsigned int)(first % vectors) + threadIdx.x;
    COARSEN_(vector) load[COARSEN_TAKE];
#pragma unroll
    for (unsigned int e = 0; e < COARSEN_TAKE; e++) {
        const unsigned int v = in_line + e * 256;
        const size_t line = first_line + v / vectors;
        const size_t at = (size_t)(v % vectors) * (size_t)COARSEN_ITEMS;
        load[e] = {};
        if (line < of.lines && at < of.length)
            load[e] = COARSEN_(load_line)(&of, line, at);
    }
#pragma unroll
    for (unsigned int e = 0; e < COARSEN_TAKE; e++)
        if (first_line + (in_line + e * 256) / vectors < of.lines)
            ((COARSEN_(vector) *)of.to)[first + threadIdx.x + e * 256] = load[e];
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(align)(COARSEN_(unaligned) m, COARSEN_(unaligned) n,
                                         cudaStream_t stream)
{
    const size_t per_block = 256 * COARSEN_TAKE * (size_t)COARSEN_ITEMS;
    const size_t blocks = coarsen_ceil_div(m.lines * m.to_ld, per_block) +
                          coarsen_ceil_div(n.lines * n.to_ld, per_block);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, 256, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(align_kernel), m, n);
}
#endif

#undef COARSEN_TAKE
#endif
