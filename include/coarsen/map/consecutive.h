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

#define COARSEN_BEGIN COARSEN_PATTERN_MAP
#include "../base.h"

#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#endif
#if COARSE_FACTOR < 1 || COARSE_FACTOR > 64
#error "coarsen/map: COARSE_FACTOR must be from 1 to 64"
#endif

COARSEN_KERNEL void COARSEN_(kernel)(COARSEN_(inputs) in, COARSEN_MAPPED *out, size_t n)
{
    const size_t first = ((size_t)blockIdx.x * BLOCK_DIM + threadIdx.x) * COARSE_FACTOR;
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t i = first + k;
        // Each element has its guard: the first one's would let the others run off the end.
        if (i < n)
            out[i] = COARSEN_(map_at)(in, i);
    }
}

#ifndef __CUDACC_RTC__

COARSEN_HOST cudaError_t COARSEN_(launch)(
    COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b, const COARSEN_TYPE_C *c),
    COARSEN_MAPPED *out, size_t n COARSEN_ALSO(COARSEN_SCALAR scalar), cudaStream_t stream)
{
    const COARSEN_(inputs) in = {COARSEN_EACH(a, b, c) COARSEN_ALSO(scalar)};
    const size_t blocks = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSE_FACTOR);
    if (!COARSEN_(inputs_ok)(in, n) || !coarsen_array_ok(out, n) || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    if (n == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, n);
}

#endif

#define COARSEN_END
#include "../base.h"
