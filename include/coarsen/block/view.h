// SPDX-License-Identifier: MIT
//
// coarsen/block/view.h: rows of elements, whose starts are a pitch apart, as 16-byte vectors, all of which threads
// take in turn.
//
//     #define COARSEN_NAME view
//     #define COARSEN_TYPE float
//     #include <coarsen/block/view.h>
//
//     // in a kernel, with view_rows of = {in, pitch, rows, width}:
//     //     const size_t slots = view_slots(of);
//     //     view_place at = view_find(of, thread);
//     //     const view_place step = view_step(of, threads);
//     //     for (size_t s = thread; s < slots; s += threads, view_advance(of, &at, step))
//     //         if (view_whole(of, at))
//     //             ... view_load_slot(of, at), a vector whose first element is in column view_column(of, at)
//     //         else
//     //             ... columns view_column(of, at) to view_end(of, at) - 1, if there are any
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// Defines what block/vector.h defines, and
//     NAME_rows      in; pitch: elements from a row to the next; rows; width
//     NAME_place     row, slot in it
//     size_t         NAME_slots(NAME_rows of)          of all rows; host and device, as the next two
//     size_t         NAME_row_slots(NAME_rows of)      of each
//     NAME_place     NAME_step(NAME_rows of, size_t slots)     so many slots
//     NAME_place     NAME_find(NAME_rows of, size_t slot)      the same, counted from the first of the first row
//     void           NAME_advance(NAME_rows of, NAME_place *at, NAME_place step)
//     bool           NAME_whole(NAME_rows of, NAME_place at)   whether all of a slot's elements are in the row
//     NAME_vector    NAME_load_slot(NAME_rows of, NAME_place at)
//     size_t         NAME_column(NAME_rows of, NAME_place at)  the first of a slot's columns that is in the row
//     size_t         NAME_end(NAME_rows of, NAME_place at)     the one behind the last
// A slot is a vector at a 16-byte boundary, of which the row's first and last may be partly outside of it. Each row has
// as many slots, one of which may be empty. A step takes no division.
// Source: the accesses are those of the CUDA C++ Programming Guide, "Device Memory Accesses".

#define COARSEN_BEGIN COARSEN_PATTERN_VALUE
#include "../base.h"
#include "vector.h"
#ifndef COARSEN_MADE_VIEW
#define COARSEN_MADE_VIEW

#if defined(COARSEN_FIXED_TREE) &&                                                                 \
    COARSEN_FIXED_TREE // a row's first vector begins where it does, aligned or not
#define COARSEN_SLOTS_FROM_0 1
#else
#define COARSEN_SLOTS_FROM_0 0
#endif

typedef struct {
    const COARSEN_TYPE *in;
    size_t pitch, rows, width;
} COARSEN_(rows);

typedef struct {
    size_t row, slot;
} COARSEN_(place);

COARSEN_HOST_DEVICE size_t COARSEN_(row_slots)(COARSEN_(rows) of)
{
    // Rows that begin anywhere have up to a vector more.
    const bool aligned =
        ((size_t)of.in | of.pitch * sizeof(COARSEN_TYPE)) % sizeof(COARSEN_(vector)) == 0;
    return coarsen_ceil_div(of.width, COARSEN_ITEMS) +
           !(aligned || COARSEN_ITEMS == 1 || COARSEN_SLOTS_FROM_0);
}

COARSEN_HOST_DEVICE size_t COARSEN_(slots)(COARSEN_(rows) of)
{
    return of.rows * COARSEN_(row_slots)(of);
}

COARSEN_HOST_DEVICE COARSEN_(place) COARSEN_(step)(COARSEN_(rows) of, size_t slots)
{
    const size_t each = COARSEN_(row_slots)(of);
    COARSEN_(place) step;
    step.row = each > 0 ? slots / each : 0;
    step.slot = slots - step.row * each;
    return step;
}

COARSEN_DEVICE COARSEN_(place) COARSEN_(find)(COARSEN_(rows) of, size_t slot)
{
    return COARSEN_(step)(of, slot);
}

COARSEN_DEVICE void COARSEN_(advance)(COARSEN_(rows) of, COARSEN_(place) * at, COARSEN_(place) step)
{
    const size_t each = COARSEN_(row_slots)(of);
    at->row += step.row;
    at->slot += step.slot;
    if (at->slot >= each) {
        at->slot -= each;
        at->row++;
    }
}

// How many elements behind a boundary the row begins.
COARSEN_DEVICE size_t COARSEN_(behind)(COARSEN_(rows) of, COARSEN_(place) at)
{
    return COARSEN_ITEMS == 1 || COARSEN_SLOTS_FROM_0
               ? 0
               : (size_t)(of.in + at.row * of.pitch) % sizeof(COARSEN_(vector)) /
                     sizeof(COARSEN_TYPE);
}

COARSEN_DEVICE bool COARSEN_(whole)(COARSEN_(rows) of, COARSEN_(place) at)
{
    const size_t behind = COARSEN_(behind)(of, at), end = (at.slot + 1) * COARSEN_ITEMS;
    return at.slot * COARSEN_ITEMS >= behind && end <= of.width + behind;
}

COARSEN_DEVICE size_t COARSEN_(column)(COARSEN_(rows) of, COARSEN_(place) at)
{
    const size_t behind = COARSEN_(behind)(of, at), first = at.slot * COARSEN_ITEMS;
    return first > behind ? first - behind : 0;
}

COARSEN_DEVICE size_t COARSEN_(end)(COARSEN_(rows) of, COARSEN_(place) at)
{
    return coarsen_min((at.slot + 1) * COARSEN_ITEMS - COARSEN_(behind)(of, at), of.width);
}

COARSEN_DEVICE COARSEN_(vector) COARSEN_(load_slot)(COARSEN_(rows) of, COARSEN_(place) at)
{
    const COARSEN_TYPE *const row = of.in + at.row * of.pitch;
#if COARSEN_SLOTS_FROM_0
    const COARSEN_(parts) parts = COARSEN_(split_any)(row, of.width);
    if ((size_t)row % sizeof(COARSEN_(vector)) != 0 && COARSEN_ITEMS > 1)
        return COARSEN_(load_any)(parts, at.slot);
#endif
    return COARSEN_(load_vector)((const COARSEN_(vector) *)(row + COARSEN_(column)(of, at)));
}
#undef COARSEN_SLOTS_FROM_0
#endif

#define COARSEN_END
#include "../base.h"
