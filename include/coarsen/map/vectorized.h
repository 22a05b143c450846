// SPDX-License-Identifier: MIT
//
// coarsen/map/vectorized.h: fourth rung, interleaved.h + 16-byte accesses.
//     out[i] = MAP(a[i], b[i], c[i], scalar)      for each i < n
//
//     #define COARSEN_NAME   square_f32
//     #define COARSEN_TYPE   float
//     #define COARSEN_MAP(a) ((a) * (a))
//     #include <coarsen/map/vectorized.h>
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
// | COARSEN_COUNTED         | 0            | 1: there is NAME_launch_counted too                 |
// | BLOCK_DIM               | 256 or tuned | threads per block: a multiple of 32 from 32 to 1024 |
// | COARSE_FACTOR           | 1 or tuned   | 16-byte loads in flight per thread and input: 1-16  |
// tuned: COARSEN_MAP_BLOCK_DIM and _COARSE_FACTOR if defined, as by a header from coarsen-tune.
// Defines NAME_kernel(in, out, n, head), where in is a NAME_inputs: the arrays a, b, c and the
// scalar; NAME_any_kernel, the same for any alignment; what block/inputs.h defines; and, with the
// [parts] that apply,
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_TYPE_B *b,
//                             [const COARSEN_TYPE_C *c,]] COARSEN_OUT *out, size_t n,
//                             [COARSEN_SCALAR scalar,] cudaStream_t stream)
//     cudaError_t NAME_launch_counted(the same, but for n: const unsigned long long *n, size_t most)
// The second, with COARSEN_COUNTED, is for what another kernel counted, as select.h does: *n, in device
// memory, is read when the kernel runs, and is `most` or less, or the launch ends with an error
// (__trap). Each array has room for `most` elements; from *n on, out is not touched.
//     cudaError_t NAME_plan(const COARSEN_TYPE *a, [const COARSEN_TYPE_B *b, [const COARSEN_TYPE_C *c,]]
//                           COARSEN_OUT *out, size_t n, [COARSEN_SCALAR scalar,] NAME_planned *plan)
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid, plan->block,
// plan->shared_bytes, stream>>>(plan->in, out, n, plan->head). If n is 0, so is plan->grid.x: there is nothing to launch.
// a, b, c, out: n elements each, in device memory, at element alignment. out may be one of the
// inputs, but must not overlap one in another way. n may be 0. Errors: cudaErrorInvalidValue for a
// null, misaligned or overflowing array, with nothing written. Deterministic.
//
// Price saved: instructions and waiting. An access moves 16 bytes, so a thread has 16 COARSE_FACTOR
// COARSEN_INPUTS bytes in flight, and computes one index and one guard for all of them.
// Price paid: registers for those bytes. The elements before the first 16-byte boundary of out and
// after the last are processed one by one. An input at another distance from a boundary is read as
// the vectors around those of out, each twice, which the first-level cache answers, and shifted.
// Source: the accesses are those of the CUDA C++ Programming Guide, "Device Memory Accesses".

#if !defined(BLOCK_DIM) && !defined(COARSEN_BLOCK_DIM) && defined(COARSEN_MAP_BLOCK_DIM)
#define BLOCK_DIM COARSEN_MAP_BLOCK_DIM
#endif
#if !defined(COARSE_FACTOR) && !defined(COARSEN_COARSE_FACTOR) && defined(COARSEN_MAP_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_MAP_COARSE_FACTOR
#endif
#define COARSEN_BEGIN COARSEN_PATTERN_MAP
#include "../base.h"
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 1
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/map: COARSE_FACTOR must be from 1 to 16"
#endif

#include "../block/inputs.h"

// head: the elements before the first vector, which is at a boundary in out, and in every input if they are aligned.
COARSEN_INLINE void COARSEN_(vectors)(COARSEN_(inputs) in, COARSEN_MAPPED *out, size_t n,
                                      size_t head, const bool aligned)
{
    const size_t whole = (n - head) / COARSEN_ITEMS;
    // What is around the last vector may reach out of the arrays.
    const size_t vectors = whole - (!aligned && whole > 0);
    const size_t rest = n - vectors * COARSEN_ITEMS;
    const size_t first = (size_t)blockIdx.x * BLOCK_DIM * COARSE_FACTOR + threadIdx.x;

    COARSEN_(raw) raw[COARSE_FACTOR];
    COARSEN_(loads) load[COARSE_FACTOR];
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t v = first + k * BLOCK_DIM;
        if (v < vectors && COARSEN_ITEMS > 1)
            raw[k] = COARSEN_(load_raw)(in, head, v, aligned);
        else if (v < vectors)
            load[k] = COARSEN_(load)(in, head, v);
    }
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t v = first + k * BLOCK_DIM;
        if (v < vectors) {
            COARSEN_(vector) made;
            if (COARSEN_ITEMS > 1)
                load[k] = COARSEN_(between)(raw[k], in, head, aligned);
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                made.item[j] = COARSEN_(map)(&load[k], j, in);
            ((COARSEN_(vector) *)(out + head))[v] = made;
        }
    }
    // By the last threads, which seldom have a vector to wait for.
    const size_t threads = (size_t)gridDim.x * BLOCK_DIM;
    for (size_t r = threads - 1 - ((size_t)blockIdx.x * BLOCK_DIM + threadIdx.x); r < rest;
         r += threads) {
        const size_t i = r < head ? r : r + vectors * COARSEN_ITEMS;
        out[i] = COARSEN_(map_at)(in, i);
    }
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(COARSEN_(inputs) in, COARSEN_MAPPED *out, size_t n, size_t head)
{
    COARSEN_(vectors)(in, out, n, head, true);
}

// The same for inputs at any distance from a boundary.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(any_kernel)(COARSEN_(inputs) in, COARSEN_MAPPED *out, size_t n, size_t head)
{
    COARSEN_(vectors)(in, out, n, head, false);
}

#if COARSEN_COUNTED
// The two of them with n in device memory. It may be less than the head, which was found for the most.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(counted_kernel)(COARSEN_(inputs) in, COARSEN_MAPPED *out,
                             const unsigned long long *count, size_t most, size_t head,
                             bool aligned)
{
    const size_t n = *count;
    if (n > most)
        __trap(); // more than there is room for
    if (aligned)
        COARSEN_(vectors)(in, out, n, coarsen_min(head, n), true);
    else
        COARSEN_(vectors)(in, out, n, coarsen_min(head, n), false);
}
#endif

#ifndef __CUDACC_RTC__
typedef struct {
    void (*kernel)(COARSEN_(inputs) in, COARSEN_MAPPED *out, size_t n, size_t head);
    dim3 grid, block;
    size_t shared_bytes, scratch_bytes;
    COARSEN_(inputs) in;
    size_t head;
} COARSEN_(planned);

COARSEN_HOST cudaError_t COARSEN_(plan)(COARSEN_ARRAYS, COARSEN_MAPPED *out,
                                        size_t n COARSEN_ALSO(COARSEN_SCALAR scalar),
                                        COARSEN_(planned) * plan)
{
    const COARSEN_(inputs) in = {COARSEN_EACH(a, b, c) COARSEN_ALSO(scalar)};
    const size_t blocks = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSE_FACTOR * COARSEN_ITEMS);
    if (!COARSEN_(inputs_ok)(in, n) || !coarsen_array_ok(out, n) || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    plan->kernel = COARSEN_(kernel);
    plan->grid = dim3((unsigned int)blocks);
    plan->block = dim3(BLOCK_DIM);
    plan->shared_bytes = plan->scratch_bytes = 0;
    plan->in = in;
    plan->head = COARSEN_(head)(in, out, n);
    if (plan->head < n || n == 0)
        return cudaSuccess;
    // One vector more is left to the head: what is around it may reach out of the arrays.
    plan->kernel = COARSEN_(any_kernel);
    const size_t behind = (size_t)out % COARSEN_ALIGN(COARSEN_MAPPED) / sizeof(*out);
    plan->head = coarsen_min(2 * COARSEN_ITEMS - behind, n);
    if ((size_t)(out + plan->head) % COARSEN_ALIGN(COARSEN_MAPPED) != 0)
        plan->head = n; // elements that straddle vectors
    return cudaSuccess;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(COARSEN_ARRAYS, COARSEN_MAPPED *out,
                                          size_t n COARSEN_ALSO(COARSEN_SCALAR scalar),
                                          cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    const cudaError_t status =
        COARSEN_(plan)(COARSEN_EACH(a, b, c), out, n COARSEN_ALSO(scalar), &plan);
    if (status != cudaSuccess || n == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    if (plan.kernel == COARSEN_(any_kernel))
        return cudaLaunchKernelEx(&config, COARSEN_(any_kernel), plan.in, out, n, plan.head);
    return cudaLaunchKernelEx(&config, COARSEN_(kernel), plan.in, out, n, plan.head);
}

#if COARSEN_COUNTED
COARSEN_HOST cudaError_t COARSEN_(launch_counted)(COARSEN_ARRAYS, COARSEN_MAPPED *out,
                                                  const unsigned long long *n,
                                                  size_t most COARSEN_ALSO(COARSEN_SCALAR scalar),
                                                  cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    const cudaError_t status =
        coarsen_array_ok(n, 1)
            ? COARSEN_(plan)(COARSEN_EACH(a, b, c), out, most COARSEN_ALSO(scalar), &plan)
            : cudaErrorInvalidValue;
    if (status != cudaSuccess || most == 0)
        return status;
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, COARSEN_(counted_kernel), plan.in, out, n, most, plan.head,
                              plan.kernel == COARSEN_(kernel));
}
#endif
#endif

#define COARSEN_END
#include "../base.h"
