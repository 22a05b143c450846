// SPDX-License-Identifier: MIT
//
// coarsen/arg.h: a value with its index, to reduce to the least or greatest element and where it
// is. For that alone, COARSEN_ARGMIN or COARSEN_ARGMAX before reduce.h is enough, and fewer
// instructions. This is for the other patterns, and for operators of your own.
//
//     #define COARSEN_NAME f32_at
//     #define COARSEN_TYPE float
//     #include <coarsen/arg.h>
//
//     #define COARSEN_NAME     argmax_f32
//     #define COARSEN_TYPE     float
//     #define COARSEN_ACC      f32_at
//     #define COARSEN_LIFT     f32_at_lift
//     #define COARSEN_OP       f32_at_max
//     #define COARSEN_IDENTITY f32_at_none()
//     #include <coarsen/reduce.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | the pair's name, and what every name begins with     |
// | COARSEN_TYPE         | required         | type of the value: any with < and !=                 |
// | COARSEN_INDEX        | size_t           | type of the index: any integer                       |
// Defines struct NAME { COARSEN_TYPE value; COARSEN_INDEX index; } and, for host and device,
//     NAME NAME_lift(COARSEN_TYPE value, size_t index)
//     NAME NAME_none(void)              no element: index is -1 of its type, value is 0
//     NAME NAME_min(NAME a, NAME b)     the lesser value; NAME_none() is the identity
//     NAME NAME_max(NAME a, NAME b)     the greater value; likewise
// Of equal values the one with the lower index wins, and a NaN wins over every number, as in
// NumPy's argmin and argmax. Both operators are associative and commutative: any order gives the
// same pair.

#define COARSEN_BEGIN COARSEN_PATTERN_TYPE
#include "base.h"
#ifndef COARSEN_INDEX
#define COARSEN_INDEX size_t
#endif
typedef COARSEN_INDEX COARSEN_(index);
static_assert((COARSEN_(index))0.5 == 0, "coarsen: COARSEN_INDEX must be an integer type");

typedef struct {
    COARSEN_TYPE value;
    COARSEN_(index) index;
} COARSEN_NAME;

COARSEN_HOST_DEVICE COARSEN_NAME COARSEN_(lift)(COARSEN_TYPE value, size_t index)
{
    COARSEN_NAME a;
    a.value = value;
    a.index = (COARSEN_(index))index;
    return a;
}

COARSEN_HOST_DEVICE COARSEN_NAME COARSEN_(none)(void)
{
    return COARSEN_(lift)((COARSEN_TYPE)0, ~(size_t)0);
}

// a or b: the one that is an element, else the NaN, else the one said to win, else the first.
COARSEN_HOST_DEVICE COARSEN_NAME COARSEN_(pick)(COARSEN_NAME a, COARSEN_NAME b, bool a_wins,
                                                bool b_wins)
{
    const COARSEN_TYPE a_again = a.value, b_again = b.value; // NaN alone differs from itself
    const bool a_nan = a.value != a_again, b_nan = b.value != b_again;
    const COARSEN_(index) none = (COARSEN_(index)) ~(size_t)0;
    if (a.index == none)
        return b;
    if (b.index == none)
        return a;
    if (a_nan != b_nan)
        return a_nan ? a : b;
    if (a_wins != b_wins)
        return a_wins ? a : b;
    return a.index < b.index ? a : b;
}

COARSEN_HOST_DEVICE COARSEN_NAME COARSEN_(min)(COARSEN_NAME a, COARSEN_NAME b)
{
    return COARSEN_(pick)(a, b, a.value < b.value, b.value < a.value);
}

COARSEN_HOST_DEVICE COARSEN_NAME COARSEN_(max)(COARSEN_NAME a, COARSEN_NAME b)
{
    return COARSEN_(pick)(a, b, b.value < a.value, a.value < b.value);
}

#define COARSEN_END
#include "base.h"
