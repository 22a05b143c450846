// SPDX-License-Identifier: MIT
//
// coarsen/matmul/pack.h: writes M, N or both once more, in the order in which pipelined.h copies tiles fastest: M column
// after column, N row after row, each line from a multiple of 16 bytes on and as long as whole tiles. Not for use by
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
    size_t length; // of its lines when packed; what lies beyond `width` are zeros
} COARSEN_(unpacked);

// A block packs a patch, of n after all those of m.
COARSEN_KERNEL void __launch_bounds__(256)
    COARSEN_(pack_kernel)(COARSEN_(unpacked) m, COARSEN_(unpacked) n, size_t depth)
{
    __shared__ COARSEN_TYPE patch[COARSEN_PATCH][COARSEN_PATCH + 1];
    const size_t deep = coarsen_ceil_div(depth, COARSEN_PATCH);
    const size_t of_m = m.length / COARSEN_PATCH * deep;
    const bool is_m = blockIdx.x < of_m;
    const COARSEN_(unpacked) of = is_m ? m : n;
    const size_t block = is_m ? blockIdx.x : blockIdx.x - of_m;
    const size_t start = block / deep * COARSEN_PATCH, k_start = block % deep * COARSEN_PATCH;
    const unsigned int along = threadIdx.x % COARSEN_PATCH, first = threadIdx.x / COARSEN_PATCH;
    const unsigned int step = 256 / COARSEN_PATCH;
    if (of.across) {
#pragma unroll
        for (unsigned int e = first; e < COARSEN_PATCH; e += step) {
            const bool there = start + e < of.width && k_start + along < depth;
            patch[e][along] =
                there ? of.from[(start + e) * of.ld + k_start + along] : (COARSEN_TYPE)0;
        }
        __syncthreads();
    }
#pragma unroll
    for (unsigned int e = first; e < COARSEN_PATCH; e += step) {
        if (k_start + e >= depth)
            break;
        COARSEN_TYPE item = 0;
        if (of.across)
            item = patch[along][e];
        else if (start + along < of.width)
            item = of.from[(k_start + e) * of.ld + start + along];
        of.to[(k_start + e) * of.length + start + along] = item;
    }
}

#ifndef __CUDACC_RTC__
// m or n may have a length of 0: nothing of it is packed.
COARSEN_HOST cudaError_t COARSEN_(pack)(COARSEN_(unpacked) m, COARSEN_(unpacked) n, size_t depth,
                                        cudaStream_t stream)
{
    const size_t blocks =
        (m.length + n.length) / COARSEN_PATCH * coarsen_ceil_div(depth, COARSEN_PATCH);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, 256, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(pack_kernel), m, n, depth);
}
#endif

#undef COARSEN_PATCH
#endif
