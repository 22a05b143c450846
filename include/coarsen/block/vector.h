// SPDX-License-Identifier: MIT
//
// coarsen/block/vector.h: an array at any alignment as 16-byte vectors and the few elements around
// them.
//
//     #define COARSEN_NAME row
//     #define COARSEN_TYPE float
//     #include <coarsen/block/vector.h>
//
//     // in a kernel:
//     //     const row_parts parts = row_split(in, n);
//     //     for (size_t v = thread; v < parts.vectors; v += threads) {
//     //         const row_vector load = parts.first[v]; // load.item[0] ...
//     //     }
//     //     if (thread < parts.rest)
//     //         ... in[row_rest(parts, thread)] ...
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// Defines, for the device,
//     NAME_vector       item[NAME_items] elements, aligned to 16 bytes; one element, if 16 is no
//                       multiple of its size
//     NAME_parts        first: the vectors; vectors: how many; head: elements before them; rest:
//                       elements before and after them, fewer than 32
//     NAME_parts  NAME_split(const COARSEN_TYPE *in, size_t n)
//     size_t      NAME_rest(NAME_parts parts, size_t r)    the index in the array of element r of the rest
//     NAME_parts  NAME_split_any(const COARSEN_TYPE *in, size_t n)   the same with no head: vector v begins at in[v
//                                                          NAME_items], aligned or not, for what follows
//     NAME_around NAME_load_around(NAME_parts parts, size_t v)  the two aligned vectors that it is part of, if it is
//                                                          neither the first nor the last
//     NAME_vector NAME_between(const NAME_around *around, NAME_parts parts)     that vector, from these
//     NAME_vector NAME_load_any(NAME_parts parts, size_t v)    the same at once; and the first and the last by elements,
//                                                          so that nothing outside of the array is read
//     NAME_vector NAME_load_vector(const NAME_vector *from) *from, by one load: the compiler takes a struct of
//                                                          many small items apart, at four instructions each
//     NAME_vector NAME_load_once(const NAME_vector *from)  a load that leaves the cache to others
//                                                          (evict-first), for data that is read once
//     NAME_vector NAME_load_past(const NAME_vector *from)  a load that takes no room in the L1 cache, which has
//                                                          little where a block has much shared memory
// in is aligned to the size of an element, if that divides 16, or else as its type.
// Source: the accesses are those of the CUDA C++ Programming Guide, "Device Memory Accesses".

#define COARSEN_BEGIN COARSEN_PATTERN_VALUE
#include "../base.h"
#include "shift.h"
#ifndef COARSEN_MADE_VECTOR
#define COARSEN_MADE_VECTOR

#ifndef COARSEN_ITEMS
#define COARSEN_ITEMS COARSEN_VECTOR_ITEMS(COARSEN_TYPE)
#endif
enum { COARSEN_(items) = COARSEN_ITEMS };

typedef struct COARSEN_ALIGNED(COARSEN_VECTOR_ALIGN(COARSEN_TYPE) /
                               (COARSEN_VECTOR_ITEMS(COARSEN_TYPE) / COARSEN_ITEMS))
    COARSEN_MAY_ALIAS {
    COARSEN_TYPE item[COARSEN_ITEMS];
} COARSEN_(vector);

typedef struct {
    const COARSEN_(vector) * first;
    size_t vectors, head, rest;
} COARSEN_(parts);

COARSEN_DEVICE COARSEN_(parts) COARSEN_(split)(const COARSEN_TYPE *in, size_t n)
{
    COARSEN_(parts) parts;
    parts.head = coarsen_min(n, -(size_t)in % sizeof(COARSEN_(vector)) / sizeof(COARSEN_TYPE));
    parts.vectors = (n - parts.head) / COARSEN_ITEMS;
    parts.rest = n - parts.vectors * COARSEN_ITEMS;
    parts.first = (const COARSEN_(vector) *)(in + parts.head);
    return parts;
}

COARSEN_DEVICE COARSEN_(parts) COARSEN_(split_any)(const COARSEN_TYPE *in, size_t n)
{
    COARSEN_(parts) parts;
    parts.head = 0;
    parts.vectors = n / COARSEN_ITEMS;
    parts.rest = n % COARSEN_ITEMS;
    parts.first = (const COARSEN_(vector) *)in;
    return parts;
}

COARSEN_DEVICE size_t COARSEN_(rest)(COARSEN_(parts) parts, size_t r)
{
    return r < parts.head ? r : r + parts.vectors * COARSEN_ITEMS;
}

COARSEN_DEVICE COARSEN_(vector) COARSEN_(load_once)(const COARSEN_(vector) * from)
{
#if COARSEN_PTX // as __ldcs, which clang has not
    if (sizeof(COARSEN_(vector)) == sizeof(uint4)) {
        uint4 bits;
        COARSEN_(vector) load;
        asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                     : "l"(from));
        memcpy((void *)&load, &bits, sizeof(load));
        return load;
    }
#endif
    return *from;
}

COARSEN_DEVICE COARSEN_(vector) COARSEN_(load_vector)(const COARSEN_(vector) * from)
{
#if COARSEN_PTX
    if (sizeof(COARSEN_(vector)) == sizeof(uint4)) {
        const uint4 bits = *(const uint4 *)from;
        COARSEN_(vector) load;
        memcpy((void *)&load, &bits, sizeof(load));
        return load;
    }
#endif
    return *from;
}

COARSEN_DEVICE COARSEN_(vector) COARSEN_(load_past)(const COARSEN_(vector) * from)
{
#if COARSEN_PTX
    if (sizeof(COARSEN_(vector)) == sizeof(uint4)) {
        uint4 bits;
        COARSEN_(vector) load;
        asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                     : "l"(from));
        memcpy((void *)&load, &bits, sizeof(load));
        return load;
    }
#endif
    return *from;
}

typedef struct {
    COARSEN_(vector) low, high;
} COARSEN_(around);

// How far behind a vector's boundary the first vector is.
COARSEN_DEVICE unsigned int COARSEN_(after)(COARSEN_(parts) parts)
{
    return (unsigned int)((size_t)parts.first % sizeof(COARSEN_(vector)));
}

COARSEN_DEVICE COARSEN_(around) COARSEN_(load_around)(COARSEN_(parts) parts, size_t v)
{
    const COARSEN_(vector) *const from =
        (const COARSEN_(vector) *)((const char *)parts.first - COARSEN_(after)(parts)) + v;
    COARSEN_(around) around;
    around.low = COARSEN_(load_vector)(from);
    around.high = COARSEN_(load_vector)(from + 1);
    return around;
}

COARSEN_INLINE COARSEN_(vector)
    COARSEN_(between)(const COARSEN_(around) * around, COARSEN_(parts) parts)
{
    unsigned int words[sizeof(*around) / 4 + 4] = {}; // more than are looked at
    COARSEN_(vector) load;
    memcpy(words, (const void *)&around->low, sizeof(load));
    memcpy((char *)words + sizeof(load), (const void *)&around->high, sizeof(load));
    COARSEN_(shift)(words, (sizeof(load) + 3) / 4, COARSEN_(after)(parts));
    memcpy((void *)&load, words, sizeof(load));
    return load;
}

COARSEN_DEVICE COARSEN_(vector) COARSEN_(load_any)(COARSEN_(parts) parts, size_t v)
{
    if (COARSEN_ITEMS > 1 && v > 0 && v + 1 < parts.vectors) {
        const COARSEN_(around) around = COARSEN_(load_around)(parts, v);
        return COARSEN_(between)(&around, parts);
    }
    COARSEN_(vector) load;
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++)
        load.item[j] = ((const COARSEN_TYPE *)parts.first)[v * COARSEN_ITEMS + j];
    return load;
}
#endif

#define COARSEN_END
#include "../base.h"
