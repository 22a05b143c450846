// SPDX-License-Identifier: MIT
//
// coarsen/fuse.h: a map and the reduction of what it makes, in one kernel.
//
//     out[0] = MAP(a[0], b[0], c[0], scalar) OP MAP(a[1], b[1], c[1], scalar) OP ...
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/reduce.h>
//
//     #define COARSEN_NAME      dot_f32
//     #define COARSEN_REDUCE    sum_f32
//     #define COARSEN_TYPE      float
//     #define COARSEN_INPUTS    2
//     #define COARSEN_MAP(a, b) ((a) * (b))
//     #include <coarsen/fuse.h>
//
//     // once
//     cudaMalloc(&scratch, dot_f32_scratch_bytes(n));
//     cudaMemset(scratch, 0, dot_f32_scratch_bytes(n));
//     // as often as you like
//     dot_f32_launch(in, in, out, n, scratch, dot_f32_scratch_bytes(n), stream);
//
// | parameter               | default      | meaning                                                |
// |-------------------------|--------------|--------------------------------------------------------|
// | COARSEN_NAME            | required     | what every name this makes begins with                 |
// | COARSEN_REDUCE          | required     | COARSEN_NAME of a reduction made before by reduce.h: gives the operator, its identity, its type and BLOCK_DIM |
// | COARSEN_MAP(a, b, c, s) | required     | what to reduce: an expression of the elements read, as many as there are inputs, and of the scalar if there is one |
// | COARSEN_INPUTS          | 1            | arrays read, from 1 to 3                               |
// | COARSEN_TYPE            | required     | element type of the first input                        |
// | COARSEN_TYPE_B          | COARSEN_TYPE | of the second                                          |
// | COARSEN_TYPE_C          | COARSEN_TYPE | of the third                                           |
// | COARSEN_SCALAR          | none         | type of a value given at launch, a number or a struct  |
// | COARSE_FACTOR           | 4            | 16-byte loads a thread has in flight for each input, from 1 to 16 |
//
// Defines NAME_kernel and, with the parts in brackets as there are inputs and a scalar,
//
//     size_t      NAME_scratch_bytes(size_t n)        for the current device
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_TYPE_B *b,
//                             [const COARSEN_TYPE_C *c,]] REDUCE_acc *out, size_t n,
//                             [COARSEN_SCALAR scalar,] void *scratch, size_t scratch_bytes,
//                             cudaStream_t stream)
//
// a, b, c: n elements each, in device memory, at any element's alignment, and fastest when all are at the
// same distance from a 16-byte boundary. out: one of the reduction's values, apart from the inputs; it
// gets the identity when n is 0. scratch: as the reduction's: device memory, 16-byte aligned, zeroed
// once; each launch leaves it zero for the next. Errors: cudaErrorInvalidValue for a null, misaligned or
// overflowing array and for too small a scratch, with nothing written; those of the runtime's device
// queries. Deterministic: on one model of device, an n and its alignments give the same bits always.
//
// Price saved: memory. A map that writes what a reduction then reads moves 2 sizeof(REDUCE_acc) bytes an
// element more, and takes memory for them. A reduction of one array by itself needs no more than
// reduce.h's COARSEN_LIFT; a chain of maps no more than map.h's COARSEN_MAP. This is for two and three
// inputs, and for a scalar.
// Cost: every element read once; the slots, as in reduce/single_pass.h, which does all but the map.

#include "base.h"

// ---- Template: each inclusion -------------------------------------------------------------------

#ifndef COARSEN_NAME
#error "coarsen/fuse.h: define COARSEN_NAME, the prefix of the names to make, before the include"
#endif
#ifndef COARSEN_REDUCE
#error "coarsen/fuse.h: define COARSEN_REDUCE, the name of a reduction, before the include"
#endif
#ifndef COARSEN_MAP
#error "coarsen/fuse.h: define COARSEN_MAP, what to reduce of the elements read, before the include"
#endif
#ifndef COARSEN_TYPE
#error "coarsen/fuse.h: define COARSEN_TYPE, the element type, before the include"
#endif
#ifndef COARSEN_INPUTS
#define COARSEN_INPUTS 1
#endif
#if COARSEN_INPUTS < 1 || COARSEN_INPUTS > 3
#error "coarsen/fuse.h: COARSEN_INPUTS must be from 1 to 3"
#endif
#ifndef COARSEN_TYPE_B
#define COARSEN_TYPE_B COARSEN_TYPE
#endif
#ifndef COARSEN_TYPE_C
#define COARSEN_TYPE_C COARSEN_TYPE
#endif
#ifdef COARSEN_SCALAR
#define COARSEN_ALSO(item) , item
#else
#define COARSEN_ALSO(item)
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#endif
#if COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/fuse.h: COARSE_FACTOR must be from 1 to 16"
#endif

#define NAME_vector_a        COARSEN_JOIN(COARSEN_NAME, _vector_a)
#define NAME_vector_b        COARSEN_JOIN(COARSEN_NAME, _vector_b)
#define NAME_vector_c        COARSEN_JOIN(COARSEN_NAME, _vector_c)
#define NAME_apply           COARSEN_JOIN(COARSEN_NAME, _apply)
#define NAME_kernel          COARSEN_JOIN(COARSEN_NAME, _kernel)
#define NAME_head            COARSEN_JOIN(COARSEN_NAME, _head)
#define NAME_scratch_bytes   COARSEN_JOIN(COARSEN_NAME, _scratch_bytes)
#define NAME_launch          COARSEN_JOIN(COARSEN_NAME, _launch)
#define REDUCE_acc           COARSEN_JOIN(COARSEN_REDUCE, _acc)
#define REDUCE_op            COARSEN_JOIN(COARSEN_REDUCE, _op)
#define REDUCE_identity      COARSEN_JOIN(COARSEN_REDUCE, _identity)
#define REDUCE_grid          COARSEN_JOIN(COARSEN_REDUCE, _grid)
#define REDUCE_block_dim     COARSEN_JOIN(COARSEN_REDUCE, _block_dim)
#define REDUCE_scratch_bytes COARSEN_JOIN(COARSEN_REDUCE, _scratch_bytes)
#define COARSEN_EACH         COARSEN_JOIN(COARSEN_FIRST_, COARSEN_INPUTS)

// As many elements at a time as are 16 bytes of the widest type; one, where a size is no power of two.
#define COARSEN_PICK(x, y)   ((x) < (y) ? (x) : (y))
#define COARSEN_ITEMS                                                                              \
    COARSEN_PICK(                                                                                  \
        COARSEN_VECTOR_ITEMS(COARSEN_TYPE),                                                        \
        COARSEN_PICK(COARSEN_VECTOR_ITEMS(COARSEN_TYPE_B), COARSEN_VECTOR_ITEMS(COARSEN_TYPE_C)))
#define COARSEN_ALIGN(type) (COARSEN_ITEMS > 1 ? COARSEN_ITEMS * sizeof(type) : __alignof__(type))

typedef struct __attribute__((aligned(COARSEN_ALIGN(COARSEN_TYPE)), may_alias)) {
    COARSEN_TYPE item[COARSEN_ITEMS];
} NAME_vector_a;
typedef struct __attribute__((aligned(COARSEN_ALIGN(COARSEN_TYPE_B)), may_alias)) {
    COARSEN_TYPE_B item[COARSEN_ITEMS];
} NAME_vector_b;
typedef struct __attribute__((aligned(COARSEN_ALIGN(COARSEN_TYPE_C)), may_alias)) {
    COARSEN_TYPE_C item[COARSEN_ITEMS];
} NAME_vector_c;

COARSEN_DEVICE REDUCE_acc NAME_apply(COARSEN_EACH(COARSEN_TYPE a, COARSEN_TYPE_B b,
                                                  COARSEN_TYPE_C c)
                                         COARSEN_ALSO(COARSEN_SCALAR scalar))
{
    return COARSEN_CALL(COARSEN_MAP, COARSEN_EACH(a, b, c) COARSEN_ALSO(scalar));
}

// head: the elements before the first at which every array is at a vector's boundary; n if none is.
COARSEN_KERNEL void __launch_bounds__(REDUCE_block_dim)
    NAME_kernel(COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b,
                             const COARSEN_TYPE_C *c),
                REDUCE_acc *out, size_t n, size_t head, unsigned long long *slots,
                unsigned int *ticket COARSEN_ALSO(COARSEN_SCALAR scalar))
{
    const size_t vectors = (n - head) / COARSEN_ITEMS;
    const size_t rest = n - vectors * COARSEN_ITEMS;
    const size_t step = (size_t)gridDim.x * REDUCE_block_dim;

    __shared__ bool started_last;
    if (threadIdx.x == 0)
        started_last = atomicAdd(ticket, 1) == gridDim.x - 1;

    REDUCE_acc sum = REDUCE_identity();
    for (size_t first = (size_t)blockIdx.x * REDUCE_block_dim * COARSE_FACTOR + threadIdx.x;
         first < vectors; first += step * COARSE_FACTOR) {
        NAME_vector_a load_a[COARSE_FACTOR];
#if COARSEN_INPUTS >= 2
        NAME_vector_b load_b[COARSE_FACTOR];
#endif
#if COARSEN_INPUTS >= 3
        NAME_vector_c load_c[COARSE_FACTOR];
#endif
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
            const size_t v = first + k * REDUCE_block_dim;
            if (v < vectors) {
                load_a[k] = ((const NAME_vector_a *)(a + head))[v];
#if COARSEN_INPUTS >= 2
                load_b[k] = ((const NAME_vector_b *)(b + head))[v];
#endif
#if COARSEN_INPUTS >= 3
                load_c[k] = ((const NAME_vector_c *)(c + head))[v];
#endif
            }
        }
#pragma unroll
        for (unsigned int k = 0; k < COARSE_FACTOR; k++)
            if (first + k * REDUCE_block_dim < vectors)
#pragma unroll
                for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                    sum = REDUCE_op(
                        sum, NAME_apply(COARSEN_EACH(load_a[k].item[j], load_b[k].item[j],
                                                     load_c[k].item[j]) COARSEN_ALSO(scalar)));
    }
    for (size_t r = (size_t)blockIdx.x * REDUCE_block_dim + threadIdx.x; r < rest; r += step) {
        const size_t i = r < head ? r : r + vectors * COARSEN_ITEMS;
        sum = REDUCE_op(sum, NAME_apply(COARSEN_EACH(a[i], b[i], c[i]) COARSEN_ALSO(scalar)));
    }
    REDUCE_grid(sum, out, slots, ticket, &started_last);
}

#ifndef __CUDACC_RTC__

// What the kernel takes.
COARSEN_HOST size_t NAME_head(COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b,
                                           const COARSEN_TYPE_C *c),
                              size_t n)
{
    for (size_t head = 0; head < COARSEN_ITEMS && head < n; head++)
        if ((uintptr_t)(a + head) % COARSEN_ALIGN(COARSEN_TYPE) == 0
#if COARSEN_INPUTS >= 2
            && (uintptr_t)(b + head) % COARSEN_ALIGN(COARSEN_TYPE_B) == 0
#endif
#if COARSEN_INPUTS >= 3
            && (uintptr_t)(c + head) % COARSEN_ALIGN(COARSEN_TYPE_C) == 0
#endif
        )
            return head;
    return n;
}

COARSEN_HOST size_t NAME_scratch_bytes(size_t n)
{
    (void)n;
    return REDUCE_scratch_bytes(SIZE_MAX); // for as many blocks as the device holds
}

COARSEN_HOST cudaError_t NAME_launch(COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b,
                                                  const COARSEN_TYPE_C *c),
                                     REDUCE_acc *out, size_t n COARSEN_ALSO(COARSEN_SCALAR scalar),
                                     void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
    cudaError_t status;
    const size_t resident =
        coarsen_resident_blocks((const void *)NAME_kernel, REDUCE_block_dim, 0, &status);
    if (status != cudaSuccess)
        return status;
    if (!coarsen_array_ok(a, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||
#if COARSEN_INPUTS >= 2
        !coarsen_array_ok(b, n, sizeof(COARSEN_TYPE_B), __alignof__(COARSEN_TYPE_B)) ||
#endif
#if COARSEN_INPUTS >= 3
        !coarsen_array_ok(c, n, sizeof(COARSEN_TYPE_C), __alignof__(COARSEN_TYPE_C)) ||
#endif
        !coarsen_array_ok(out, 1, sizeof(REDUCE_acc), __alignof__(REDUCE_acc)) ||
        !coarsen_array_ok(scratch, 1, NAME_scratch_bytes(n), 16) ||
        scratch_bytes < NAME_scratch_bytes(n))
        return cudaErrorInvalidValue;
    const size_t head = NAME_head(COARSEN_EACH(a, b, c), n);
    const size_t tile = (size_t)REDUCE_block_dim * COARSE_FACTOR * COARSEN_ITEMS;
    const size_t blocks = coarsen_min(coarsen_ceil_div(n > 0 ? n : 1, tile), resident);
    unsigned int *const ticket = (unsigned int *)scratch;
    unsigned long long *const slots = (unsigned long long *)scratch + 2;
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, REDUCE_block_dim, 0, stream);
    return cudaLaunchKernelEx(&config, NAME_kernel, COARSEN_EACH(a, b, c), out, n, head, slots,
                              ticket COARSEN_ALSO(scalar));
}

#endif

#undef NAME_vector_a
#undef NAME_vector_b
#undef NAME_vector_c
#undef NAME_apply
#undef NAME_kernel
#undef NAME_head
#undef NAME_scratch_bytes
#undef NAME_launch
#undef REDUCE_acc
#undef REDUCE_op
#undef REDUCE_identity
#undef REDUCE_grid
#undef REDUCE_block_dim
#undef REDUCE_scratch_bytes
#undef COARSEN_EACH
#undef COARSEN_PICK
#undef COARSEN_ITEMS
#undef COARSEN_ALIGN
#undef COARSEN_ALSO
#undef COARSEN_NAME
#undef COARSEN_REDUCE
#undef COARSEN_MAP
#undef COARSEN_INPUTS
#undef COARSEN_TYPE
#undef COARSEN_TYPE_B
#undef COARSEN_TYPE_C
#undef COARSEN_SCALAR
#undef COARSE_FACTOR
