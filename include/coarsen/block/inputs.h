// SPDX-License-Identifier: MIT
//
// coarsen/block/inputs.h: one to three arrays read 16 bytes at a time, and an expression of their
// elements.
//
//     #define COARSEN_NAME      product
//     #define COARSEN_TYPE      float
//     #define COARSEN_INPUTS    2
//     #define COARSEN_MAP(a, b) ((a) * (b))
//     #include <coarsen/block/inputs.h>
//
//     // in a kernel, with product_inputs in = {a, b} and head = product_head(in, 0, n) from the host:
//     //     const product_loads load = product_load(in, head, v);
//     //     for (unsigned int j = 0; j < product_items; j++)
//     //         sum += product_map(&load, j, in);
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
// | COARSEN_OUT          | COARSEN_TYPE     | type of the expression                               |
// Defines
//     NAME_inputs   the arrays: a, and b and c as there are inputs; and scalar if there is one
//     NAME_items    elements of a load: as many as are 16 bytes of the widest type, or one if a size is
//                   no power of two
//     NAME_loads    as many elements of each array
//     NAME_raw      the words that these are in, if NAME_items is more than one
//     COARSEN_OUT NAME_map_at(NAME_inputs in, size_t i)                  of elements i; device
//     NAME_loads  NAME_load(NAME_inputs in, size_t head, size_t v)       vector v after the head; device
//     NAME_raw    NAME_load_raw(NAME_inputs in, size_t head, size_t v, bool aligned)        that, in words; device
//     NAME_loads  NAME_between(NAME_raw raw, NAME_inputs in, size_t head, bool aligned)     and from them; device
//     NAME_loads  NAME_load_items(NAME_inputs in, size_t head, size_t v)      that too, wherever it begins, item by item: nothing
//                                                beside it is read; device
//     COARSEN_OUT NAME_map(const NAME_loads *load, unsigned int j, NAME_inputs in)   of item j; device
//     size_t      NAME_head(NAME_inputs in, const COARSEN_OUT *out, size_t n)        host
//     bool        NAME_inputs_ok(NAME_inputs in, size_t n)    no null, misaligned or overflowing array; host
// The head is the elements before the first at which every array is at a vector's boundary; all n
// if none is. out, if not null, is one more: an array that is written the same way. The vectors are
// (n - head) / NAME_items; what is before and after them goes by NAME_map_at. aligned is a constant: unless it
// is set, vectors may begin anywhere in each array, and the words around them must be in it. Small elements take many
// fewer instructions in words than by NAME_load.

#define COARSEN_BEGIN COARSEN_PATTERN_MAP
#include "../base.h"
#include "shift.h"
#ifndef COARSEN_MADE_VECTOR
#define COARSEN_MADE_VECTOR

#if COARSEN_PATTERN == COARSEN_PATTERN_MAP
#define COARSEN_WRITTEN COARSEN_MAPPED
#else // a fusion, which writes no array
#define COARSEN_WRITTEN COARSEN_TYPE
#endif
#define COARSEN_FEWER(x, y) ((x) < (y) ? (x) : (y))
#define COARSEN_ITEMS                                                                              \
    COARSEN_FEWER(                                                                                 \
        COARSEN_FEWER(COARSEN_VECTOR_ITEMS(COARSEN_TYPE), COARSEN_VECTOR_ITEMS(COARSEN_TYPE_B)),   \
        COARSEN_FEWER(COARSEN_VECTOR_ITEMS(COARSEN_TYPE_C),                                        \
                      COARSEN_VECTOR_ITEMS(COARSEN_WRITTEN)))
#define COARSEN_ALIGN(type) (COARSEN_ITEMS > 1 ? COARSEN_ITEMS * sizeof(type) : alignof(type))
enum { COARSEN_(items) = COARSEN_ITEMS };

typedef struct COARSEN_ALIGNED(COARSEN_ALIGN(COARSEN_TYPE)) COARSEN_MAY_ALIAS {
    COARSEN_TYPE item[COARSEN_ITEMS];
} COARSEN_(vector_a);
typedef struct COARSEN_ALIGNED(COARSEN_ALIGN(COARSEN_TYPE_B)) COARSEN_MAY_ALIAS {
    COARSEN_TYPE_B item[COARSEN_ITEMS];
} COARSEN_(vector_b);
typedef struct COARSEN_ALIGNED(COARSEN_ALIGN(COARSEN_TYPE_C)) COARSEN_MAY_ALIAS {
    COARSEN_TYPE_C item[COARSEN_ITEMS];
} COARSEN_(vector_c);
typedef struct COARSEN_ALIGNED(COARSEN_ALIGN(COARSEN_WRITTEN)) COARSEN_MAY_ALIAS {
    COARSEN_WRITTEN item[COARSEN_ITEMS];
} COARSEN_(vector);

typedef struct {
    COARSEN_(vector_a) a;
#if COARSEN_INPUTS >= 2
    COARSEN_(vector_b) b;
#endif
#if COARSEN_INPUTS >= 3
    COARSEN_(vector_c) c;
#endif
} COARSEN_(loads);

COARSEN_DEVICE COARSEN_(loads) COARSEN_(load)(COARSEN_(inputs) in, size_t head, size_t v)
{
    COARSEN_(loads) load;
    load.a = ((const COARSEN_(vector_a) *)(in.a + head))[v];
#if COARSEN_INPUTS >= 2
    load.b = ((const COARSEN_(vector_b) *)(in.b + head))[v];
#endif
#if COARSEN_INPUTS >= 3
    load.c = ((const COARSEN_(vector_c) *)(in.c + head))[v];
#endif
    return load;
}

// Two neighbours, of which the second is not always there. As items, the compiler would take many small ones apart and put
// them together again.
typedef struct {
    unsigned int a[8];
#if COARSEN_INPUTS >= 2
    unsigned int b[8];
#endif
#if COARSEN_INPUTS >= 3
    unsigned int c[8];
#endif
} COARSEN_(raw);

// How far behind the boundary of a vector of so many bytes that is.
COARSEN_DEVICE unsigned int COARSEN_(after)(const void *from, unsigned int bytes)
{
    return (unsigned int)((size_t)from % bytes);
}

COARSEN_INLINE void COARSEN_(load_part)(unsigned int *words, const char *from, unsigned int bytes)
{
    if (bytes == 16) {
        const COARSEN_(four_words) part = *(const COARSEN_(four_words) *)from;
        memcpy(words, &part, sizeof(part));
    } else if (bytes == 8) {
        const COARSEN_(two_words) part = *(const COARSEN_(two_words) *)from;
        memcpy(words, &part, sizeof(part));
    } else if (bytes == 4) {
        words[0] = ((const COARSEN_(one_word) *)from)->word;
    } else if (bytes == 2) {
        const COARSEN_(half_word) part = *(const COARSEN_(half_word) *)from;
        memcpy(words, &part, sizeof(part));
    }
}

// The vector that this is in, and the next unless it begins there: that may be another thread's to write.
COARSEN_INLINE void COARSEN_(load_parts)(unsigned int *words, const void *from, unsigned int bytes,
                                         const bool aligned)
{
    const unsigned int after = aligned ? 0 : COARSEN_(after)(from, bytes);
    const char *const low = (const char *)from - after;
    COARSEN_(load_part)(words, low, bytes);
    if (after > 0)
        COARSEN_(load_part)((unsigned int *)((char *)words + bytes), low + bytes, bytes);
}

COARSEN_INLINE COARSEN_(raw)
    COARSEN_(load_raw)(COARSEN_(inputs) in, size_t head, size_t v, const bool aligned)
{
    const size_t i = head + v * COARSEN_ITEMS;
    COARSEN_(raw) raw = {};
    COARSEN_(load_parts)(raw.a, in.a + i, sizeof(COARSEN_(vector_a)), aligned);
#if COARSEN_INPUTS >= 2
    COARSEN_(load_parts)(raw.b, in.b + i, sizeof(COARSEN_(vector_b)), aligned);
#endif
#if COARSEN_INPUTS >= 3
    COARSEN_(load_parts)(raw.c, in.c + i, sizeof(COARSEN_(vector_c)), aligned);
#endif
    return raw;
}

COARSEN_INLINE void COARSEN_(join)(void *to, unsigned int *words, unsigned int bytes,
                                   unsigned int after)
{
    bytes = coarsen_min(bytes, 16); // always, but for one item of another size, which has no words
    COARSEN_(shift)(words, (bytes + 3) / 4, after);
    memcpy(to, words, bytes);
}

COARSEN_INLINE COARSEN_(loads)
    COARSEN_(between)(COARSEN_(raw) raw, COARSEN_(inputs) in, size_t head, const bool aligned)
{
    COARSEN_(loads) load;
    const unsigned int after_a = aligned ? 0 : COARSEN_(after)(in.a + head, sizeof(load.a));
    COARSEN_(join)((void *)&load.a, raw.a, sizeof(load.a), after_a);
#if COARSEN_INPUTS >= 2
    const unsigned int after_b = aligned ? 0 : COARSEN_(after)(in.b + head, sizeof(load.b));
    COARSEN_(join)((void *)&load.b, raw.b, sizeof(load.b), after_b);
#endif
#if COARSEN_INPUTS >= 3
    const unsigned int after_c = aligned ? 0 : COARSEN_(after)(in.c + head, sizeof(load.c));
    COARSEN_(join)((void *)&load.c, raw.c, sizeof(load.c), after_c);
#endif
    return load;
}

COARSEN_INLINE COARSEN_(loads) COARSEN_(load_items)(COARSEN_(inputs) in, size_t head, size_t v)
{
    const size_t first = head + v * COARSEN_ITEMS;
    COARSEN_(loads) load;
#pragma unroll
    for (unsigned int j = 0; j < COARSEN_ITEMS; j++) {
        load.a.item[j] = in.a[first + j];
#if COARSEN_INPUTS >= 2
        load.b.item[j] = in.b[first + j];
#endif
#if COARSEN_INPUTS >= 3
        load.c.item[j] = in.c[first + j];
#endif
    }
    return load;
}

COARSEN_DEVICE COARSEN_MAPPED COARSEN_(map)(const COARSEN_(loads) * load, unsigned int j,
                                            COARSEN_UNUSED COARSEN_(inputs) in)
{
    return COARSEN_(apply)(COARSEN_EACH(load->a.item[j], load->b.item[j], load->c.item[j])
                               COARSEN_ALSO(in.scalar));
}

#ifndef __CUDACC_RTC__
COARSEN_HOST size_t COARSEN_(head)(COARSEN_(inputs) in, const COARSEN_WRITTEN *out, size_t n)
{
    for (size_t head = 0; head < COARSEN_ITEMS && head < n; head++)
        if ((!out || (size_t)(out + head) % COARSEN_ALIGN(COARSEN_WRITTEN) == 0) &&
            (size_t)(in.a + head) % COARSEN_ALIGN(COARSEN_TYPE) == 0
#if COARSEN_INPUTS >= 2
            && (size_t)(in.b + head) % COARSEN_ALIGN(COARSEN_TYPE_B) == 0
#endif
#if COARSEN_INPUTS >= 3
            && (size_t)(in.c + head) % COARSEN_ALIGN(COARSEN_TYPE_C) == 0
#endif
        )
            return head;
    return n;
}
#endif
#endif

#define COARSEN_END
#include "../base.h"
