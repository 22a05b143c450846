// SPDX-License-Identifier: MIT
//
// coarsen/map/consecutive.h: elementwise map, second rung. Over single.h:
// a thread makes COARSE_FACTOR neighbouring elements.
//
//     out[i] = MAP(a[i], b[i], c[i], scalar)      for each i < n
//
//     #define COARSEN_NAME   square_f32
//     #define COARSEN_TYPE   float
//     #define COARSEN_MAP(a) ((a) * (a))
//     #define COARSE_FACTOR  4
//     #include <coarsen/map/consecutive.h>
//
//     square_f32_launch(in, out, n, stream);
//
// | parameter                 | default      | meaning                                              |
// |---------------------------|--------------|------------------------------------------------------|
// | COARSEN_NAME              | required     | what every name this makes begins with               |
// | COARSEN_MAP(a, b, c, s)   | required     | an element of out: an expression of the elements read, as many as there are inputs, and of the scalar if there is one |
// | COARSEN_INPUTS            | 1            | arrays read, from 1 to 3                             |
// | COARSEN_TYPE              | required     | element type of the first input                      |
// | COARSEN_TYPE_B            | COARSEN_TYPE | of the second                                        |
// | COARSEN_TYPE_C            | COARSEN_TYPE | of the third                                         |
// | COARSEN_OUT               | COARSEN_TYPE | of out                                               |
// | COARSEN_SCALAR            | none         | type of a value given at launch, a number or a struct |
// | BLOCK_DIM                 | 256          | threads a block: a multiple of 32 from 32 to 1024    |
// | COARSE_FACTOR             | 4            | neighbouring elements a thread makes, from 1 to 64       |
//
// Defines NAME_kernel and, with the parts in brackets as there are inputs and a scalar,
//
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_TYPE_B *b,
//                             [const COARSEN_TYPE_C *c,]] COARSEN_OUT *out, size_t n,
//                             [COARSEN_SCALAR scalar,] cudaStream_t stream)
//
// a, b, c, out: n elements each, in device memory, at any element's alignment. out may be one of
// the inputs; it may not overlap one in another way. n may be 0. Errors: cudaErrorInvalidValue for a
// null, misaligned or overflowing array, with nothing written. Deterministic.
//
// Price saved: none that pays. The literature says that a map has nothing to coarsen away, and as for
// work it has not: no thread repeats what another does.
// Price paid: requests. The threads of a warp now read COARSE_FACTOR elements apart, so each of a
// thread's accesses touches COARSE_FACTOR times as many lines, until every lane has one of its own.
// The cache serves the repeats, while it holds them. interleaved.h doesn't pay this.
//
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 6.3.

#include "../base.h"

// ---- Template: each inclusion -------------------------------------------------------------------

#ifndef COARSEN_NAME
#error "coarsen/map: define COARSEN_NAME, the prefix of the names to make, before the include"
#endif
#ifndef COARSEN_MAP
#error "coarsen/map: define COARSEN_MAP, an element of out from those read, before the include"
#endif
#ifndef COARSEN_TYPE
#error "coarsen/map: define COARSEN_TYPE, the element type, before the include"
#endif
#ifndef COARSEN_INPUTS
#define COARSEN_INPUTS 1
#endif
#if COARSEN_INPUTS < 1 || COARSEN_INPUTS > 3
#error "coarsen/map: COARSEN_INPUTS must be from 1 to 3"
#endif
#ifndef COARSEN_TYPE_B
#define COARSEN_TYPE_B COARSEN_TYPE
#endif
#ifndef COARSEN_TYPE_C
#define COARSEN_TYPE_C COARSEN_TYPE
#endif
#ifndef COARSEN_OUT
#define COARSEN_OUT COARSEN_TYPE
#endif
#ifdef COARSEN_SCALAR
#define COARSEN_ALSO(item) , item
#else
#define COARSEN_ALSO(item)
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#if BLOCK_DIM < 32 || BLOCK_DIM > 1024 || BLOCK_DIM % 32 != 0
#error "coarsen/map: BLOCK_DIM must be a multiple of 32 from 32 to 1024"
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#endif
#if COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/map: COARSE_FACTOR must be from 1 to 64"
#endif

#define NAME_apply   COARSEN_JOIN(COARSEN_NAME, _apply)
#define NAME_kernel  COARSEN_JOIN(COARSEN_NAME, _kernel)
#define NAME_launch  COARSEN_JOIN(COARSEN_NAME, _launch)
#define COARSEN_EACH COARSEN_JOIN(COARSEN_FIRST_, COARSEN_INPUTS)

COARSEN_DEVICE COARSEN_OUT NAME_apply(COARSEN_EACH(COARSEN_TYPE a, COARSEN_TYPE_B b,
                                                   COARSEN_TYPE_C c)
                                          COARSEN_ALSO(COARSEN_SCALAR scalar))
{
    return COARSEN_CALL(COARSEN_MAP, COARSEN_EACH(a, b, c) COARSEN_ALSO(scalar));
}

COARSEN_KERNEL void NAME_kernel(COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b,
                                             const COARSEN_TYPE_C *c),
                                COARSEN_OUT *out, size_t n COARSEN_ALSO(COARSEN_SCALAR scalar))
{
    const size_t first = ((size_t)blockIdx.x * BLOCK_DIM + threadIdx.x) * COARSE_FACTOR;
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t i = first + k;
        // Each element has its guard: the first one's would let the others run off the end.
        if (i < n)
            out[i] = NAME_apply(COARSEN_EACH(a[i], b[i], c[i]) COARSEN_ALSO(scalar));
    }
}

#ifndef __CUDACC_RTC__

COARSEN_HOST cudaError_t NAME_launch(COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b,
                                                  const COARSEN_TYPE_C *c),
                                     COARSEN_OUT *out, size_t n COARSEN_ALSO(COARSEN_SCALAR scalar),
                                     cudaStream_t stream)
{
    if (!coarsen_array_ok(a, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||
#if COARSEN_INPUTS >= 2
        !coarsen_array_ok(b, n, sizeof(COARSEN_TYPE_B), __alignof__(COARSEN_TYPE_B)) ||
#endif
#if COARSEN_INPUTS >= 3
        !coarsen_array_ok(c, n, sizeof(COARSEN_TYPE_C), __alignof__(COARSEN_TYPE_C)) ||
#endif
        !coarsen_array_ok(out, n, sizeof(COARSEN_OUT), __alignof__(COARSEN_OUT)))
        return cudaErrorInvalidValue;
    const size_t blocks = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSE_FACTOR);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    if (n == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, NAME_kernel, COARSEN_EACH(a, b, c), out,
                              n COARSEN_ALSO(scalar));
}

#endif

#undef NAME_apply
#undef NAME_kernel
#undef NAME_launch
#undef COARSEN_EACH
#undef COARSEN_ALSO
#undef COARSEN_NAME
#undef COARSEN_MAP
#undef COARSEN_INPUTS
#undef COARSEN_TYPE
#undef COARSEN_TYPE_B
#undef COARSEN_TYPE_C
#undef COARSEN_OUT
#undef COARSEN_SCALAR
#undef BLOCK_DIM
#undef COARSE_FACTOR
