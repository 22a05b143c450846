// SPDX-License-Identifier: MIT
//
// coarsen/matmul/pack.h: writes M, N or both once more, in the order in which pipelined.h copies tiles fastest: M column
// after column, N row after row, each line from a multiple of 16 bytes on (of 128, as matmul.h has it). Not for use by
// itself: matmul.h includes it.
//
// Price saved: tiles that are transposed on their way, 4 or 8 bytes per copy, once per block that takes them.
// Price paid: scratch; and each element is read and written once more, which pays where it is used often.
// Source: K. Goto, R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008.

#include "../base.h"
#ifdef COARSEN_TYPE

#define COARSEN_PATCH 64 // rows or columns, and depth, that a block packs

// An operand: `width` rows of M, or columns of N. across: its neighbours in memory are neighbours in depth.
typedef struct {
    const COARSEN_TYPE *from;
    size_t ld, width;
    bool across;
    COARSEN_TYPE *to;
    size_t length; // of its lines when packed: whole vectors, with zeros beyond `width`
} COARSEN_(unpacked);

// A block packs a patch, of n after all those of m. A thread loads all that it has of it before it stores any.
COARSEN_KERNEL void __launch_bounds__(256)
    COARSEN_(pack_kernel)(COARSEN_(unpacked) m, COARSEN_(unpacked) n, size_t depth)
{
    COARSEN_SHARED(COARSEN_TYPE, patch, COARSEN_PATCH * (COARSEN_PATCH + 1));
    const size_t deep = coarsen_ceil_div(depth, COARSEN_PATCH);
    const size_t of_m = coarsen_ceil_div(m.length, COARSEN_PATCH) * deep;
    const bool is_m = blockIdx.x < of_m;
    const COARSEN_(unpacked) of = is_m ? m : n;
    const size_t block = is_m ? blockIdx.x : blockIdx.x - of_m;
    const size_t row = block / deep * COARSEN_PATCH, k = block % deep * COARSEN_PATCH;
    const unsigned int along = threadIdx.x % COARSEN_PATCH, first = threadIdx.x / COARSEN_PATCH;
    const unsigned int step = 256 / COARSEN_PATCH;
    COARSEN_TYPE item[COARSEN_PATCH / step];
#pragma unroll
    for (unsigned int e = 0; e < COARSEN_PATCH / step; e++) {
        const unsigned int line = first + e * step;
        const size_t at_row = row + (of.across ? line : along);
        const size_t at_k = k + (of.across ? along : line);
        item[e] = 0;
        if (at_row < of.width && at_k < depth)
            item[e] = of.from[of.across ? at_row * of.ld + at_k : at_k * of.ld + at_row];
    }
    if (of.across) {
#pragma unroll
        for (unsigned int e = 0; e < COARSEN_PATCH / step; e++)
            patch[(first + e * step) * (COARSEN_PATCH + 1) + along] = item[e];
        __syncthreads();
#pragma unroll
        for (unsigned int e = 0; e < COARSEN_PATCH / step; e++)
            item[e] = patch[along * (COARSEN_PATCH + 1) + first + e * step];
    }
#pragma unroll
    for (unsigned int e = 0; e < COARSEN_PATCH / step; e++) {
        const size_t at_k = k + first + e * step;
        if (row + along < of.length && at_k < depth)
            of.to[at_k * of.length + row + along] = item[e];
    }
}

#ifndef __CUDACC_RTC__
// m or n may have a length of 0: nothing of it is packed.
COARSEN_HOST cudaError_t COARSEN_(pack)(COARSEN_(unpacked) m, COARSEN_(unpacked) n, size_t depth,
                                        cudaStream_t stream)
{
    const size_t blocks =
        (coarsen_ceil_div(m.length, COARSEN_PATCH) + coarsen_ceil_div(n.length, COARSEN_PATCH)) *
        coarsen_ceil_div(depth, COARSEN_PATCH);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, 256, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(pack_kernel), m, n, depth);
}
#endif

#undef COARSEN_PATCH
#endif
