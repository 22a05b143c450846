// SPDX-License-Identifier: MIT
//
// coarsen/map/vectorized.h: elementwise map, fourth rung. Over interleaved.h:
// an access is 16 bytes.
//
//     out[i] = MAP(a[i], b[i], c[i], scalar)      for each i < n
//
//     #define COARSEN_NAME   square_f32
//     #define COARSEN_TYPE   float
//     #define COARSEN_MAP(a) ((a) * (a))
//     #include <coarsen/map/vectorized.h>
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
// | BLOCK_DIM                 | 256 or tuned | threads a block: a multiple of 32 from 32 to 1024    |
// | COARSE_FACTOR             | 1 or tuned   | accesses of 16 bytes a thread has in flight for each input, from 1 to 16 |
//
// tuned: COARSEN_MAP_BLOCK_DIM and COARSEN_MAP_COARSE_FACTOR, where they are defined, as they
// are by a header that coarsen-tune wrote.
//
// Defines NAME_kernel and, with the parts in brackets as there are inputs and a scalar,
//
//     cudaError_t NAME_launch(const COARSEN_TYPE *a, [const COARSEN_TYPE_B *b,
//                             [const COARSEN_TYPE_C *c,]] COARSEN_OUT *out, size_t n,
//                             [COARSEN_SCALAR scalar,] cudaStream_t stream)
//
// a, b, c, out: n elements each, in device memory, at any element's alignment, and fastest when
// all are at the same distance from a 16-byte boundary. out may be one of
// the inputs; it may not overlap one in another way. n may be 0. Errors: cudaErrorInvalidValue for a
// null, misaligned or overflowing array, with nothing written. Deterministic.
//
// Price saved: instructions, and waiting. One access moves 16 bytes, so a thread has 16 COARSE_FACTOR
// COARSEN_INPUTS bytes in flight, and works out an index and a guard once for all of them.
// Price paid: registers for those bytes; and what is before the first 16-byte boundary and after the
// last goes one by one, as does all of it when the arrays aren't at the same distance from one.
//
// Source: the accesses are those of the CUDA C++ Programming Guide, "Device Memory Accesses".

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
#if !defined(BLOCK_DIM) && defined(COARSEN_MAP_BLOCK_DIM)
#define BLOCK_DIM COARSEN_MAP_BLOCK_DIM
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM 256
#endif
#if BLOCK_DIM < 32 || BLOCK_DIM > 1024 || BLOCK_DIM % 32 != 0
#error "coarsen/map: BLOCK_DIM must be a multiple of 32 from 32 to 1024"
#endif
#if !defined(COARSE_FACTOR) && defined(COARSEN_MAP_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_MAP_COARSE_FACTOR
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 1
#endif
#if COARSE_FACTOR < 1 || COARSE_FACTOR > 16
#error "coarsen/map: COARSE_FACTOR must be from 1 to 16"
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

#define NAME_vector_a      COARSEN_JOIN(COARSEN_NAME, _vector_a)
#define NAME_vector_b      COARSEN_JOIN(COARSEN_NAME, _vector_b)
#define NAME_vector_c      COARSEN_JOIN(COARSEN_NAME, _vector_c)
#define NAME_vector        COARSEN_JOIN(COARSEN_NAME, _vector)
#define NAME_head          COARSEN_JOIN(COARSEN_NAME, _head)

// As many elements at a time as are 16 bytes of the widest type; one, where a size is no power of two.
#define COARSEN_PICK(x, y) ((x) < (y) ? (x) : (y))
#define COARSEN_ITEMS                                                                              \
    COARSEN_PICK(                                                                                  \
        COARSEN_PICK(COARSEN_VECTOR_ITEMS(COARSEN_TYPE), COARSEN_VECTOR_ITEMS(COARSEN_TYPE_B)),    \
        COARSEN_PICK(COARSEN_VECTOR_ITEMS(COARSEN_TYPE_C), COARSEN_VECTOR_ITEMS(COARSEN_OUT)))
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
typedef struct __attribute__((aligned(COARSEN_ALIGN(COARSEN_OUT)), may_alias)) {
    COARSEN_OUT item[COARSEN_ITEMS];
} NAME_vector;

// head: the elements before the first at which every array is at a vector's boundary; n if none is.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    NAME_kernel(COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b,
                             const COARSEN_TYPE_C *c),
                COARSEN_OUT *out, size_t n, size_t head COARSEN_ALSO(COARSEN_SCALAR scalar))
{
    const size_t vectors = (n - head) / COARSEN_ITEMS;
    const size_t rest = n - vectors * COARSEN_ITEMS;
    const size_t first = (size_t)blockIdx.x * BLOCK_DIM * COARSE_FACTOR + threadIdx.x;

    NAME_vector_a load_a[COARSE_FACTOR];
#if COARSEN_INPUTS >= 2
    NAME_vector_b load_b[COARSE_FACTOR];
#endif
#if COARSEN_INPUTS >= 3
    NAME_vector_c load_c[COARSE_FACTOR];
#endif
#pragma unroll
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t v = first + k * BLOCK_DIM;
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
    for (unsigned int k = 0; k < COARSE_FACTOR; k++) {
        const size_t v = first + k * BLOCK_DIM;
        if (v < vectors) {
            NAME_vector made;
#pragma unroll
            for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
                made.item[j] = NAME_apply(COARSEN_EACH(load_a[k].item[j], load_b[k].item[j],
                                                       load_c[k].item[j]) COARSEN_ALSO(scalar));
            ((NAME_vector *)(out + head))[v] = made;
        }
    }
    for (size_t r = (size_t)blockIdx.x * BLOCK_DIM + threadIdx.x; r < rest;
         r += (size_t)gridDim.x * BLOCK_DIM) {
        const size_t i = r < head ? r : r + vectors * COARSEN_ITEMS;
        out[i] = NAME_apply(COARSEN_EACH(a[i], b[i], c[i]) COARSEN_ALSO(scalar));
    }
}

#ifndef __CUDACC_RTC__

// What the kernel takes.
COARSEN_HOST size_t NAME_head(COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b,
                                           const COARSEN_TYPE_C *c),
                              const COARSEN_OUT *out, size_t n)
{
    for (size_t head = 0; head < COARSEN_ITEMS && head < n; head++)
        if ((uintptr_t)(a + head) % COARSEN_ALIGN(COARSEN_TYPE) == 0 &&
#if COARSEN_INPUTS >= 2
            (uintptr_t)(b + head) % COARSEN_ALIGN(COARSEN_TYPE_B) == 0 &&
#endif
#if COARSEN_INPUTS >= 3
            (uintptr_t)(c + head) % COARSEN_ALIGN(COARSEN_TYPE_C) == 0 &&
#endif
            (uintptr_t)(out + head) % COARSEN_ALIGN(COARSEN_OUT) == 0)
            return head;
    return n;
}

#endif

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
    const size_t blocks = coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSE_FACTOR * COARSEN_ITEMS);
    if (blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    if (n == 0)
        return cudaSuccess;
    const size_t head = NAME_head(COARSEN_EACH(a, b, c), out, n);
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, BLOCK_DIM, 0, stream);
    return cudaLaunchKernelEx(&config, NAME_kernel, COARSEN_EACH(a, b, c), out, n,
                              head COARSEN_ALSO(scalar));
}

#endif

#undef NAME_vector_a
#undef NAME_vector_b
#undef NAME_vector_c
#undef NAME_vector
#undef NAME_head
#undef COARSEN_PICK
#undef COARSEN_ITEMS
#undef COARSEN_ALIGN
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
