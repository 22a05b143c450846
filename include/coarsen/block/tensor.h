// SPDX-License-Identifier: MIT
//
// coarsen/block/tensor.h: a warp multiplies small matrices of doubles, with the tensor cores where the device has them.
//
//     #define COARSEN_NAME warp
//     #include <coarsen/block/tensor.h>
//
//     // in a kernel, for whole warps:
//     //     double sum[4] = {}, m[4] = {...}, n[2] = {...};
//     //     warp_multiply_add(sum, m, n);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// Defines, for the device,
//     void NAME_multiply_add(double *sum, const double *m, const double *n)
// sum += m n, where sum is 16 x 8, m is 16 x 8 and n is 8 x 8. Each lane of the warp has a few elements of each:
//     sum[q], of 4     row lane / 4 + q / 2 * 8    column lane % 4 * 2 + q % 2
//     m[q], of 4       row lane / 4 + q % 2 * 8    column lane % 4 + q / 2 * 4
//     n[q], of 2       row lane % 4 + q * 4        column lane / 4
// All 32 lanes call it. Each product is added in the order of depth, with one rounding, as by fma(). Below compute
// capability 8.0 the lanes hand each other their elements, which is slower than to multiply with no such function.
// Source: PTX ISA, mma; mma.m16n8k8 from compute capability 9.0 on, and below it mma.m8n8k4.

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"
#ifndef COARSEN_MADE_TENSOR
#define COARSEN_MADE_TENSOR

// The instructions are volatile so that the compiler leaves them where they stand, between loads and copies.
COARSEN_INLINE void COARSEN_(multiply_add)(double *sum, const double *m, const double *n)
{
#if COARSEN_PTX >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
                 : "d"(m[0]), "d"(m[1]), "d"(m[2]), "d"(m[3]), "d"(n[0]), "d"(n[1]));
#elif COARSEN_PTX >= 800
#pragma unroll
    for (unsigned int q = 0; q < 4; q++) // half of the depth, of half of the rows
        asm volatile(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[q % 2 * 2]), "+d"(sum[q % 2 * 2 + 1])
            : "d"(m[q]), "d"(n[q / 2]));
#else
    const unsigned int lane = threadIdx.x % 32;
    for (unsigned int k = 0; k < 8; k++) {
        const unsigned int in_row = lane / 4 * 4 + k % 4, in_col = lane % 4 * 8 + k % 4;
        const double top = __shfl_sync(0xffffffff, m[k / 4 * 2], (int)in_row);
        const double bottom = __shfl_sync(0xffffffff, m[k / 4 * 2 + 1], (int)in_row);
        const double left = __shfl_sync(0xffffffff, n[k / 4], (int)in_col);
        const double right = __shfl_sync(0xffffffff, n[k / 4], (int)in_col + 4);
        sum[0] = fma(top, left, sum[0]);
        sum[1] = fma(top, right, sum[1]);
        sum[2] = fma(bottom, left, sum[2]);
        sum[3] = fma(bottom, right, sum[3]);
    }
#endif
}
#endif

#define COARSEN_END
#include "../base.h"
