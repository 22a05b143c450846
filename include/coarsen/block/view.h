// SPDX-License-Identifier: MIT
//
// coarsen/block/view.h: rows of elements, whose starts are a pitch apart, as 16-byte vectors and the few elements
// around them, in tiles that blocks take in turn.
//
//     #define COARSEN_NAME view
//     #define COARSEN_TYPE float
//     #include <coarsen/block/view.h>
//
//     // in a kernel of 256 threads, with view_rows of = view_cut(in, pitch, rows, width, 4 * 256):
//     //     const view_place step = view_find(of, gridDim.x);
//     //     for (view_place at = view_find(of, blockIdx.x); view_slots(of, at) > 0; view_advance(of, &at, step)) {
//     //         for (unsigned int v = threadIdx.x; v < view_vectors(of, at); v += 256)
//     //             ... view_load_at(of, view_vector_at(of, at, v))
//     //         for (unsigned int e = threadIdx.x; e < view_rest(of, at); e += 256)
//     //             ... *view_rest_at(of, at, e).at
//     //     }
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// Defines what block/vector.h defines, and
//     NAME_rows      in; pitch: elements from a row to the next; rows; width; and how they are cut
//     NAME_rows      NAME_cut(const COARSEN_TYPE *in, size_t pitch, size_t rows, size_t width, unsigned int most)
//                        into tiles of `most` slots or fewer, from 1 to 32768; host and device
//     NAME_place     where a tile begins
//     NAME_place     NAME_find(NAME_rows of, size_t tile)
//     void           NAME_advance(NAME_rows of, NAME_place *at, NAME_place step)    takes no division
//     unsigned int   NAME_slots(NAME_rows of, NAME_place at)                        that the tile has; 0 behind the last
//     unsigned int   NAME_vectors(NAME_rows of, NAME_place at)                      vectors that it has: as many, or none
//     unsigned int   NAME_rest(NAME_rows of, NAME_place at)                         elements that it has besides
//     NAME_spot      at: where an element or vector is; row: where its row is; number: which
//     NAME_spot      NAME_vector_at(NAME_rows of, NAME_place at, unsigned int v)    vector v of the tile
//     NAME_spot      NAME_rest_at(NAME_rows of, NAME_place at, unsigned int e)      element e of its rest
//     NAME_vector    NAME_load_at(NAME_rows of, NAME_spot spot)
//     size_t         NAME_index_of(NAME_rows of, NAME_spot spot)                    among the elements of all rows
// All rows have the same number of vectors, and the same number of elements around these: as many vectors as has the row
// that begins at the worst place. So no vector is partly outside of its row, and one division says which row one is in.
// That is a multiplication, by an inverse that NAME_cut made. A slot is a vector; or a row, where rows are too short to
// have one. A tile's rest are the elements around the vectors of the rows that begin in it.
// With COARSEN_FIXED_TREE a row's first vector begins where the row does, aligned or not.
// Source: the accesses are those of the CUDA C++ Programming Guide, "Device Memory Accesses".

#define COARSEN_BEGIN COARSEN_PATTERN_VALUE
#include "../base.h"
#include "vector.h"
#ifndef COARSEN_MADE_VIEW
#define COARSEN_MADE_VIEW

#if defined(COARSEN_FIXED_TREE) &&                                                                 \
    COARSEN_FIXED_TREE // a row's first vector begins where it does, aligned or not
#define COARSEN_FROM_0 1
#else
#define COARSEN_FROM_0 (COARSEN_ITEMS == 1)
#endif

typedef struct {
    const COARSEN_TYPE *in;
    size_t pitch, rows, width;
    size_t slots, each;            // of all rows; of one
    unsigned int tile;             // slots of a tile
    unsigned int rest;             // elements of a row around its vectors
    unsigned int by_each, by_rest; // the inverses of two of these
    bool narrow;                   // whether rows have no vectors
} COARSEN_(rows);

typedef struct {
    size_t first, row, slot; // the tile's first slot: of all; its row; which of that row
    size_t start;            // of the row: row pitch
} COARSEN_(place);

typedef struct {
    const COARSEN_TYPE *at, *row;
    size_t number;
} COARSEN_(spot);

// a / b is COARSEN_(divide)(a, COARSEN_(inverse)(b)), if a < b or (2a + 1) 2b < 2^32: (2a + 1) / 2b is no less than
// 1 / 2b away from a whole number, and the inverse makes it less by (2a + 1) / 2^32 at most.
COARSEN_HOST_DEVICE unsigned int COARSEN_(inverse)(size_t b)
{
    return b > 0 && b < 1u << 31 ? 0xffffffffu / (2 * (unsigned int)b) : 0;
}

COARSEN_DEVICE unsigned int COARSEN_(divide)(unsigned int a, unsigned int inverse)
{
    return __umulhi(2 * a + 1, inverse);
}

// Where the first vector of a row is, if it has one.
COARSEN_HOST_DEVICE const COARSEN_TYPE *COARSEN_(first_of)(const COARSEN_TYPE *row)
{
    const size_t mask =
        sizeof(COARSEN_(vector)) - 1; // of an address, where 16 is a multiple of an element
    return COARSEN_FROM_0 ? row : (const COARSEN_TYPE *)(((size_t)row + mask) & ~mask);
}

COARSEN_HOST_DEVICE COARSEN_(rows) COARSEN_(cut)(const COARSEN_TYPE *in, size_t pitch, size_t rows,
                                                 size_t width, unsigned int most)
{
    const bool alike = pitch * sizeof(COARSEN_TYPE) % sizeof(COARSEN_(vector)) == 0;
    const size_t head = COARSEN_FROM_0 ? 0
                        : alike        ? (size_t)(COARSEN_(first_of)(in) - in)
                                       : COARSEN_ITEMS - 1;
    const size_t vectors = width > head ? (width - head) / COARSEN_ITEMS : 0;
    COARSEN_(rows) of = {in, pitch, rows, width};
    of.narrow = vectors == 0;
    of.each = vectors + of.narrow;
    of.slots = width > 0 ? rows * of.each : 0;
    of.rest = (unsigned int)(width - vectors * COARSEN_ITEMS);
    of.by_each = COARSEN_(inverse)(of.each);
    of.by_rest = COARSEN_(inverse)(of.rest);
    // With the elements around them, as many elements as `most` vectors have.
    const size_t tile = of.narrow ? coarsen_ceil_div(most * COARSEN_ITEMS, width + !width)
                                  : most - most * (size_t)of.rest / width;
    of.tile = (unsigned int)coarsen_min(tile, 32768);
    return of;
}

COARSEN_DEVICE COARSEN_(place) COARSEN_(find)(COARSEN_(rows) of, size_t tile)
{
    COARSEN_(place) at;
    at.first = tile * of.tile;
    at.row = at.first / of.each;
    at.slot = at.first - at.row * of.each;
    at.start = at.row * of.pitch;
    return at;
}

COARSEN_DEVICE void COARSEN_(advance)(COARSEN_(rows) of, COARSEN_(place) * at, COARSEN_(place) step)
{
    const bool further = at->slot + step.slot >= of.each;
    at->first += step.first;
    at->row += step.row + further;
    at->slot += step.slot - (further ? of.each : 0);
    at->start += step.start + (further ? of.pitch : 0);
}

COARSEN_DEVICE unsigned int COARSEN_(slots)(COARSEN_(rows) of, COARSEN_(place) at)
{
    return at.first < of.slots ? (unsigned int)coarsen_min(of.slots - at.first, of.tile) : 0;
}

COARSEN_DEVICE unsigned int COARSEN_(vectors)(COARSEN_(rows) of, COARSEN_(place) at)
{
    return of.narrow ? 0 : COARSEN_(slots)(of, at);
}

COARSEN_DEVICE COARSEN_(spot)
    COARSEN_(vector_at)(COARSEN_(rows) of, COARSEN_(place) at, unsigned int v)
{
    const size_t left = of.each - at.slot; // of the row that the tile begins in
    const bool behind = v >= left;
    const unsigned int u = v - (unsigned int)left, row = COARSEN_(divide)(u, of.by_each),
                       further = behind ? 1 + row : 0;
    const size_t vector = behind ? u - row * (unsigned int)of.each : at.slot + v;
    COARSEN_(spot) spot;
    spot.number = at.row + further;
    spot.row = of.in + at.start + further * of.pitch;
    spot.at = COARSEN_(first_of)(spot.row) + vector * COARSEN_ITEMS;
    return spot;
}

COARSEN_DEVICE unsigned int COARSEN_(rest)(COARSEN_(rows) of, COARSEN_(place) at)
{
    const size_t begun =
        at.slot > 0 ? of.each - at.slot : 0; // slots of the row that begins in the tile before
    const unsigned int slots = COARSEN_(slots)(of, at);
    return slots > begun
               ? of.rest * (1 + COARSEN_(divide)(slots - (unsigned int)begun - 1, of.by_each))
               : 0;
}

COARSEN_DEVICE COARSEN_(spot)
    COARSEN_(rest_at)(COARSEN_(rows) of, COARSEN_(place) at, unsigned int e)
{
    const bool begun = at.slot > 0;
    const unsigned int row = COARSEN_(divide)(e, of.by_rest), element = e - row * of.rest;
    COARSEN_(spot) spot;
    spot.number = at.row + begun + row;
    spot.row = of.in + (at.start + (begun ? of.pitch : 0)) + row * of.pitch;
    spot.at = spot.row + element;
    if (spot.at >= COARSEN_(first_of)(spot.row))
        spot.at += of.width - of.rest;
    return spot;
}

// The index that its element, or the first one of its vector, has among those of all rows.
COARSEN_DEVICE size_t COARSEN_(index_of)(COARSEN_(rows) of, COARSEN_(spot) spot)
{
    return spot.number * of.width + (size_t)(spot.at - spot.row);
}

COARSEN_DEVICE COARSEN_(vector) COARSEN_(load_at)(COARSEN_(rows) of, COARSEN_(spot) spot)
{
    const COARSEN_(vector) *const from = (const COARSEN_(vector) *)spot.at;
#if defined(COARSEN_FIXED_TREE) && COARSEN_FIXED_TREE
    if (COARSEN_ITEMS > 1 && (size_t)from % sizeof(COARSEN_(vector)) != 0)
        return COARSEN_(load_any)(COARSEN_(split_any)(spot.row, of.width),
                                  (size_t)(spot.at - spot.row) / COARSEN_ITEMS);
#endif
    return COARSEN_(load_once)(from);
}
#undef COARSEN_FROM_0
#endif

#define COARSEN_END
#include "../base.h"
