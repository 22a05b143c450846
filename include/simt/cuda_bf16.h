// SPDX-License-Identifier: MIT
//
// __nv_bfloat16 and __nv_bfloat162: 1 sign, 8 exponent and 7 fraction bits.

#ifndef SIMT_CUDA_BF16_H
#define SIMT_CUDA_BF16_H

#include "cuda_fp16.h"

#define SIMT_T        __nv_bfloat16
#define SIMT_T2       __nv_bfloat162
#define SIMT_N        bfloat16
#define SIMT_N2       bfloat162
#define SIMT_ONE2     __bfloat162
#define SIMT_OTHER    __half
#define SIMT_FRACTION 7
#include "simt_float16.h"
#undef SIMT_T
#undef SIMT_T2
#undef SIMT_N
#undef SIMT_N2
#undef SIMT_ONE2
#undef SIMT_OTHER
#undef SIMT_FRACTION

inline __half::__half(__nv_bfloat16 other) : __half((float)other)
{
}
inline __nv_bfloat16::__nv_bfloat16(__half other) : __nv_bfloat16((float)other)
{
}

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16        __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16        __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16   __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16       __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16        __ushort_as_bfloat16((unsigned short)0x3F80U)

#endif
