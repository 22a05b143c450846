// SPDX-License-Identifier: MIT
//
// coarsen/map/single.h: elementwise map, first rung: one element per thread.
//     out[i] = MAP(a[i], b[i], c[i], scalar)      for each i < n
//
//     #define COARSEN_NAME   square_f32
//     #define COARSEN_TYPE   float
//     #define COARSEN_MAP(a) ((a) * (a))
//     #include <coarsen/map/single.h>
//
//     square_f32_launch(in, out, n, stream);
//
// | parameter               | default      | meaning                                             |
// |-------------------------|--------------|-----------------------------------------------------|
// | COARSEN_NAME            | required     | prefix of every name defined here                   |
// | COARSEN_MAP(a, b, c, s) | required     | expression of an element per input and the scalar   |
// | COARSEN_INPUTS          | 1            | input arrays, from 1 to 3                           |
// | COARSEN_TYPE            | required     | element type of the first input                     |
// | COARSEN_TYPE_B          | COARSEN_TYPE | element type of the second input                    |
// | COARSEN_TYPE_C          | COARSEN_TYPE | element type of the third input                     |
// | COARSEN_OUT             | COARSEN_TYPE | element type of out                                 |
// | COARSEN_SCALAR          | none         | type of a launch argument: a number or a struct     |
// | BLOCK_DIM               | 256          | threads per block: a multiple of 32 from 32 to 1024 |
// Defines NAME_kernel(in, out, n), where in is a NAME_inputs: the arrays a, b, c and the scalar;
// and, with the [parts] that apply,
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_TYPE_B *b,
//                             [const COARSEN_TYPE_C *c,]] COARSEN_OUT *out, size_t n,
//                             [COARSEN_SCALAR scalar,] cudaStream_t stream)
// a, b, c, out: n elements each, in device memory, at element alignment. out may be one of the
// inputs, but must not overlap one in another way. n may be 0. Errors: cudaErrorInvalidValue for a
// null, misaligned or overflowing array, with nothing written. Deterministic.
//
// Price paid: a thread has only COARSEN_INPUTS loads in flight, then waits for them. It computes
// its index and its guard for a single element. There are as few requests as possible: neighbours
// in a warp read neighbours. Cost: every element is read and written once.
// Source: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th ed., section 2.3.

#define COARSEN_BEGIN COARSEN_PATTERN_MAP
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif

COARSEN_KERNEL void COARSEN_(kernel)(COARSEN_(inputs) in, COARSEN_MAPPED *out, size_t n)
{
    const size_t i = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (i < n)
        out[i] = COARSEN_(map_at)(in, i);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(COARSEN_ARRAYS, COARSEN_MAPPED *out,
                                          size_t n COARSEN_ALSO(COARSEN_SCALAR scalar),
                                          cudaStream_t stream)
{
    const COARSEN_(inputs) in = {COARSEN_EACH(a, b, c) COARSEN_ALSO(scalar)};
    const size_t blocks = coarsen_ceil_div(n, BLOCK_DIM);
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
