// SPDX-License-Identifier: MIT
//
// __half and __half2: 1 sign, 5 exponent and 10 fraction bits.

#ifndef SIMT_CUDA_FP16_H
#define SIMT_CUDA_FP16_H

#include "cuda_runtime.h"

struct __half;
struct __nv_bfloat16;

#define SIMT_T        __half
#define SIMT_T2       __half2
#define SIMT_N        half
#define SIMT_N2       half2
#define SIMT_ONE2     __half2
#define SIMT_OTHER    __nv_bfloat16
#define SIMT_FRACTION 10
#include "simt_float16.h"
#undef SIMT_T
#undef SIMT_T2
#undef SIMT_N
#undef SIMT_N2
#undef SIMT_ONE2
#undef SIMT_OTHER
#undef SIMT_FRACTION

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

#define CUDART_INF_FP16        __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16        __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16   __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16       __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16        __ushort_as_half((unsigned short)0x3C00U)

#endif
