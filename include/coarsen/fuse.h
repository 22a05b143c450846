// SPDX-License-Identifier: MIT
//
// coarsen/fuse.h: a map and the reduction of what it makes, in one kernel.
//     out[0] = MAP(a[0], b[0], c[0], scalar) OP MAP(a[1], b[1], c[1], scalar) OP ...
//
//     #define COARSEN_NAME      dot_f32
//     #define COARSEN_TYPE      float
//     #define COARSEN_INPUTS    2
//     #define COARSEN_MAP(a, b) ((a) * (b))
//     #include <coarsen/fuse.h>
//
//     // once
//     cudaMalloc(&scratch, dot_f32_scratch_bytes(n));
//     dot_f32_scratch_init(scratch, dot_f32_scratch_bytes(n), stream);
//     // as often as you like
//     dot_f32_launch(in, in, out, n, scratch, dot_f32_scratch_bytes(n), stream);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_MAP(a, b, c, s) | required      | an expression of the elements read, as many as there are inputs, and of the scalar if there is one |
// | COARSEN_INPUTS       | 1                | arrays read, from 1 to 3                             |
// | COARSEN_TYPE         | required         | element type of the first input                      |
// | COARSEN_TYPE_B       | COARSEN_TYPE     | element type of the second                           |
// | COARSEN_TYPE_C       | COARSEN_TYPE     | element type of the third                            |
// | COARSEN_SCALAR       | none             | type of a value given at launch, a number or a struct |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the map, the operator and the result         |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative and commutative operator on COARSEN_ACC  |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | 512              | threads per block: a multiple of 32 from 32 to 1024  |
// | COARSEN_FIXED_TREE   | 0                | 1: the order of operations depends on n alone, so that any device gives the same bits |
// | COARSE_FACTOR        | 4, of elements below 4 bytes fewer | 16-byte loads that a thread has in flight per input, from 1 to 16 |
// Defines NAME_kernel and, with the parts in brackets as there are inputs and a scalar,
//     size_t      NAME_scratch_bytes(size_t n)        for the current device
//     cudaError_t NAME_scratch_init(void *scratch, size_t scratch_bytes, cudaStream_t stream)
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_TYPE_B *b,
//                             [const COARSEN_TYPE_C *c,]] COARSEN_ACC *out, size_t n,
//                             [COARSEN_SCALAR scalar,] void *scratch, size_t scratch_bytes,
//                             cudaStream_t stream)
//     cudaError_t NAME_plan(const COARSEN_TYPE *a, [const COARSEN_TYPE_B *b, [const COARSEN_TYPE_C *c,]]
//                           size_t n, [COARSEN_SCALAR scalar,] NAME_planned *plan)
// NAME_plan says what NAME_launch launches, as data, for those who launch it: plan->kernel<<<plan->grid, plan->block,
// plan->shared_bytes, stream>>>(plan->in, out, n, plan->head, scratch), with plan->scratch_bytes of scratch.
// a, b, c: n elements each, in device memory, at any element's alignment. Where they are at different
// distances from a 16-byte boundary, they are read as the vectors around what is asked for, each twice,
// which the first-level cache answers, and shifted. out: one COARSEN_ACC, apart from the inputs; the identity
// if n is 0. scratch: as in reduce/single_pass.h. Errors: cudaErrorInvalidValue for a null,
// misaligned or overflowing array or too small a scratch, with nothing written; those of the
// runtime's device queries.
// Deterministic: on one model of device, an n and its alignments give the same bits always. COARSEN_FIXED_TREE is as in
// reduce/single_pass.h: any device, any alignments.
//
// Price saved: memory. A map that writes what a reduction then reads moves 2 sizeof(COARSEN_ACC)
// more bytes per element, and takes memory for them. A reduction of one array needs no more than
// reduce.h's COARSEN_LIFT; a chain of maps no more than map.h's COARSEN_MAP. This is for two and
// three inputs, and for a scalar.
// Cost: every element read once; block/reduce.h does all except the map.

#define COARSEN_BEGIN COARSEN_PATTERN_FUSE
#include "base.h"
#ifdef COARSEN_REDUCE
#error "coarsen/fuse: takes COARSEN_OP, COARSEN_IDENTITY and COARSEN_ACC in place of COARSEN_REDUCE"
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM 512
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR (COARSEN_ITEMS > 4 ? 16 / COARSEN_ITEMS : 4) // each element takes a register
#elif COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/fuse: COARSE_FACTOR must be from 1 to 16"
#endif

#define COARSEN_EACH COARSEN_JOIN(COARSEN_FIRST_, COARSEN_INPUTS)

#include "block/inputs.h"
#include "block/reduce.h"

// Whether what is around a vector is in the arrays too.
COARSEN_DEVICE bool COARSEN_(inner)(size_t v, size_t vectors)
{
    return COARSEN_ITEMS > 1 && v > 0 && v + 1 < vectors;
}

COARSEN_INLINE void COARSEN_(add_all)(COARSEN_(inputs) in, COARSEN_ACC *out, size_t n, size_t head,
                                      unsigned long long *scratch, const bool aligned)
{
    const size_t vectors = (n - head) / COARSEN_ITEMS;
    const size_t rest = n - vectors * COARSEN_ITEMS;
    const size_t step = (size_t)gridDim.x * BLOCK_DIM;
    __shared__ unsigned long long ticket;
    COARSEN_(enter)(scratch, &ticket);

    // Unless aligned, a vector takes two loads. Whatever the batches, a thread takes the same vectors in the same order.
    const unsigned int batch = aligned ? COARSE_FACTOR : (COARSE_FACTOR + 1) / 2;
    COARSEN_ACC sum = COARSEN_(identity)();
    for (size_t first = (size_t)blockIdx.x * BLOCK_DIM * COARSE_FACTOR + threadIdx.x;
         first < vectors; first += step * COARSE_FACTOR) {
#pragma unroll 1
        for (unsigned int begin = 0; begin < COARSE_FACTOR; begin += batch) {
            COARSEN_(raw) raw[COARSE_FACTOR];
            COARSEN_(loads) load[COARSE_FACTOR];
#pragma unroll
            for (unsigned int k = 0; k < batch; k++) {
                const size_t v = first + (begin + k) * BLOCK_DIM;
                if (v < vectors && aligned)
                    load[k] = COARSEN_(load)(in, head, v);
                else if (COARSEN_(inner)(v, vectors))
                    raw[k] = COARSEN_(load_raw)(in, head, v, false);
            }
#pragma unroll
            for (unsigned int k = 0; k < batch; k++) {
                const size_t v = first + (begin + k) * BLOCK_DIM;
                if (begin + k >= COARSE_FACTOR || v >= vectors)
                    continue;
                if (!aligned)
                    load[k] = COARSEN_(inner)(v, vectors)
                                  ? COARSEN_(between)(raw[k], in, head, false)
                                  : COARSEN_(load_items)(in, head, v);
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    sum = COARSEN_(op)(sum, COARSEN_(map)(&load[k], j, in));
            }
        }
    }
    for (size_t r = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x; r < rest; r += step)
        sum = COARSEN_(op)(sum, COARSEN_(map_at)(in, r < head ? r : r + vectors * COARSEN_ITEMS));
    COARSEN_(grid)(sum, out, scratch, &ticket);
}

COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(kernel)(COARSEN_(inputs) in, COARSEN_ACC *out, size_t n, size_t head,
                     unsigned long long *scratch)
{
    COARSEN_(add_all)(in, out, n, head, scratch, true);
}

// The same for arrays at any distance from a boundary. head is 0.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(any_kernel)(COARSEN_(inputs) in, COARSEN_ACC *out, size_t n, size_t head,
                         unsigned long long *scratch)
{
    COARSEN_(add_all)(in, out, n, head, scratch, false);
}

#ifndef __CUDACC_RTC__
// For as many blocks as the device holds, or a fixed tree has.
COARSEN_HOST size_t COARSEN_(scratch_bytes)(COARSEN_UNUSED size_t n)
{
    cudaError_t status;
    if (COARSEN_FIXED_TREE)
        return COARSEN_(grid_bytes)(COARSEN_TREE_THREADS / BLOCK_DIM);
    return COARSEN_(grid_bytes)(coarsen_attribute(cudaDevAttrMultiProcessorCount, &status) *
                                (2048 / BLOCK_DIM));
}

typedef struct {
    void (*kernel)(COARSEN_(inputs) in, COARSEN_ACC *out, size_t n, size_t head,
                   unsigned long long *scratch);
    dim3 grid, block;
    size_t shared_bytes, scratch_bytes;
    COARSEN_(inputs) in;
    size_t head;
} COARSEN_(planned);

COARSEN_HOST size_t COARSEN_(most_blocks)(const COARSEN_(planned) * plan, cudaError_t *status)
{
    *status = cudaSuccess;
    if (COARSEN_FIXED_TREE)
        return COARSEN_TREE_THREADS / BLOCK_DIM;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, status);
    int resident = 0; // per multiprocessor
    if (*status == cudaSuccess)
        *status =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, plan->kernel, BLOCK_DIM, 0);
    return processors * (size_t)resident;
}

COARSEN_HOST cudaError_t COARSEN_(plan)(COARSEN_ARRAYS,
                                        size_t n COARSEN_ALSO(COARSEN_SCALAR scalar),
                                        COARSEN_(planned) * plan)
{
    const COARSEN_(inputs) in = {COARSEN_EACH(a, b, c) COARSEN_ALSO(scalar)};
    if (!COARSEN_(inputs_ok)(in, n))
        return cudaErrorInvalidValue;
    plan->kernel = COARSEN_(kernel);
    plan->head = COARSEN_(head)(in, 0, n);
    if (COARSEN_FIXED_TREE ? plan->head > 0 : plan->head == n) {
        plan->kernel = COARSEN_(any_kernel);
        plan->head = 0;
    }
    cudaError_t status;
    const size_t most = COARSEN_(most_blocks)(plan, &status);
    if (status != cudaSuccess)
        return status;
    const size_t tile = (size_t)BLOCK_DIM * COARSE_FACTOR * COARSEN_ITEMS;
    plan->grid = dim3((unsigned int)coarsen_min(coarsen_ceil_div(n > 0 ? n : 1, tile), most));
    plan->block = dim3(BLOCK_DIM);
    plan->shared_bytes = 0;
    plan->scratch_bytes = COARSEN_(scratch_bytes)(n);
    plan->in = in;
    return cudaSuccess;
}

COARSEN_HOST cudaError_t COARSEN_(launch)(COARSEN_ARRAYS, COARSEN_ACC *out,
                                          size_t n COARSEN_ALSO(COARSEN_SCALAR scalar),
                                          void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    COARSEN_(planned) plan = {};
    const cudaError_t status = COARSEN_(plan)(COARSEN_EACH(a, b, c), n COARSEN_ALSO(scalar), &plan);
    if (status != cudaSuccess)
        return status;
    if (!coarsen_array_ok(out, 1) || !coarsen_bytes_ok(scratch, 1, plan.scratch_bytes, 16) ||
        scratch_bytes < plan.scratch_bytes)
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t config = coarsen_launch_config(plan.grid.x, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, plan.kernel, plan.in, out, n, plan.head,
                              (unsigned long long *)scratch);
}
#endif

#define COARSEN_END
#include "base.h"
