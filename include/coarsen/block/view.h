// SPDX-License-Identifier: MIT
//
// coarsen/block/view.h: rows of elements, whose starts are a pitch apart, as aligned pieces of 16 bytes, of 4, and of
// one element, in tiles that blocks take in turn.
//
//     #define COARSEN_NAME view
//     #define COARSEN_TYPE float
//     #include <coarsen/block/view.h>
//
//     // in a kernel of 256 threads, with view_rows of = view_cut(in, pitch, rows, width, 4 * 256):
//     //     const view_place step = view_find(of, gridDim.x);
//     //     for (view_place at = view_find(of, blockIdx.x); view_slots(of, at) > 0; view_advance(of, &at, step)) {
//     //         for (unsigned int p = threadIdx.x; p < view_pieces(of, at, view_items); p += 256)
//     //             ... view_load_piece(view_piece_at(of, at, view_items, p).at, view_items, false)
//     //         ... the same with view_quad_items, and the same with 1 in place of view_items, if these differ
//     //     }
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// Defines what block/vector.h defines, and
//     NAME_rows      in; pitch: elements from a row to the next; rows; width; and how they are cut
//     NAME_rows      NAME_cut(const COARSEN_TYPE *in, size_t pitch, size_t rows, size_t width, unsigned int most)
//                        into tiles of as many elements as `most` vectors have, from 1 to 32768; host and device
//     NAME_place     where a tile begins
//     NAME_place     NAME_find(NAME_rows of, size_t tile)
//     void           NAME_advance(NAME_rows of, NAME_place *at, NAME_place step)    takes no division
//     unsigned int   NAME_slots(NAME_rows of, NAME_place at)                        that the tile has; 0 behind the last
//     unsigned int   NAME_pieces(NAME_rows of, NAME_place at, unsigned int items)   that the tile has, of so many elements:
//                        NAME_items in 16 bytes, NAME_quad_items in 4, or 1; a constant, as all items below
//     NAME_spot      at: where a piece begins; row: where its row begins; number: which row it is
//     NAME_spot      NAME_piece_at(NAME_rows of, NAME_place at, unsigned int items, unsigned int p)   piece p of these
//     NAME_vector    NAME_load_piece(const COARSEN_TYPE *at, unsigned int items, bool once)    whose first items it is
//     size_t         NAME_index_of(NAME_rows of, NAME_spot spot)                    of its first element in all rows
// All rows have the same number of vectors, of the quads around these, and of the elements around those, wherever they
// begin: as many vectors as fit into the row that begins at the worst place, and then as many quads. So no piece is partly
// outside of its row, no thread is idle, and one division says which row a piece is in. It is a multiplication by an
// inverse that NAME_cut made. A slot is a vector; or a row, where rows are too short to have one. A tile has the quads
// and elements of the rows that begin in it.
// With COARSEN_FIXED_TREE a row's first vector begins where the row does, aligned or not, and there are no quads.
// Source: the accesses are those of the CUDA C++ Programming Guide, "Device Memory Accesses".

#define COARSEN_BEGIN COARSEN_PATTERN_VALUE
#include "../base.h"
#include "vector.h"
#ifndef COARSEN_MADE_VIEW
#define COARSEN_MADE_VIEW

#if defined(COARSEN_FIXED_TREE) && COARSEN_FIXED_TREE
#define COARSEN_ANYWHERE 1 // vectors are
#else
#define COARSEN_ANYWHERE (COARSEN_ITEMS == 1)
#endif

enum {
    COARSEN_(quad_items) =
        COARSEN_ANYWHERE || sizeof(COARSEN_TYPE) >= 4 ? 1 : 4 / sizeof(COARSEN_TYPE)
};

typedef struct {
    const COARSEN_TYPE *in;
    size_t pitch, rows, width;
    size_t slots, each;                          // of all rows; of one
    unsigned int tile;                           // slots of a tile
    unsigned int quads, elements;                // of a row
    unsigned int by_each, by_quads, by_elements; // the inverses
    bool narrow;                                 // whether rows have no vectors
    bool once; // whether vectors should take no place in the cache
} COARSEN_(rows);

typedef struct {
    size_t first, row, slot; // the tile's first slot: of all; its row; which of that row
    size_t start;            // of the row: row pitch
} COARSEN_(place);

typedef struct {
    const COARSEN_TYPE *at, *row;
    size_t number;
} COARSEN_(spot);

// a / b is COARSEN_(quotient)(a, COARSEN_(inverse)(b)), if a < b or (2a + 1) 2b < 2^32: (2a + 1) / 2b is no less than
// 1 / 2b away from a whole number, and the inverse makes it less by (2a + 1) / 2^32 at most.
COARSEN_HOST_DEVICE unsigned int COARSEN_(inverse)(size_t b)
{
    return b > 0 && b < 1u << 31 ? 0xffffffffu / (2 * (unsigned int)b) : 0;
}

COARSEN_DEVICE unsigned int COARSEN_(quotient)(unsigned int a, unsigned int inverse)
{
    return __umulhi(2 * a + 1, inverse);
}

// The first boundary of so many bytes in a row, where pieces of as many begin.
COARSEN_HOST_DEVICE const COARSEN_TYPE *COARSEN_(boundary)(const COARSEN_TYPE *row, size_t bytes)
{
    return COARSEN_ANYWHERE
               ? row
               : (const COARSEN_TYPE *)((const char *)row + (-(size_t)row & (bytes - 1)));
}

// How many pieces of so many items any row has, of so many elements besides larger pieces: it has none before a boundary.
COARSEN_HOST_DEVICE size_t COARSEN_(fit)(const COARSEN_TYPE *in, size_t pitch, size_t elements,
                                         size_t items)
{
    const size_t bytes = items * sizeof(COARSEN_TYPE);
    const size_t before = COARSEN_ANYWHERE     ? 0
                          : pitch % items != 0 ? items - 1
                                               : (size_t)(COARSEN_(boundary)(in, bytes) - in);
    return elements > before ? (elements - before) / items : 0;
}

COARSEN_HOST_DEVICE COARSEN_(rows) COARSEN_(cut)(const COARSEN_TYPE *in, size_t pitch, size_t rows,
                                                 size_t width, unsigned int most)
{
    const size_t vectors = COARSEN_(fit)(in, pitch, width, COARSEN_ITEMS),
                 rest = width - vectors * COARSEN_ITEMS;
    COARSEN_(rows) of = {};
    of.in = in, of.pitch = pitch, of.rows = rows, of.width = width;
    of.narrow = vectors == 0;
    of.each = vectors + of.narrow;
    of.slots = width > 0 ? rows * of.each : 0;
    of.quads = COARSEN_(quad_items) > 1
                   ? (unsigned int)COARSEN_(fit)(in, pitch, rest, COARSEN_(quad_items))
                   : 0;
    of.elements = (unsigned int)rest - of.quads * COARSEN_(quad_items);
    of.by_each = COARSEN_(inverse)(of.each);
    of.by_quads = COARSEN_(inverse)(of.quads);
    of.by_elements = COARSEN_(inverse)(of.elements);
    // Above an eighth of a gigabyte nothing of others would be left in the cache, and vectors that leave it at once take
    // with them what is read of a row besides (H100).
    of.once = rows * width * sizeof(COARSEN_TYPE) <= (size_t)1 << 27 && rest <= width / 8;
    const size_t tile = of.narrow ? coarsen_ceil_div(most * COARSEN_ITEMS, width + !width)
                                  : most - most * rest / width;
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

// How many rows begin in the tile.
COARSEN_DEVICE unsigned int COARSEN_(begun)(COARSEN_(rows) of, COARSEN_(place) at)
{
    const size_t before =
        at.slot > 0 ? of.each - at.slot : 0; // slots of the row that began in another tile
    const unsigned int slots = COARSEN_(slots)(of, at);
    return slots > before ? 1 + COARSEN_(quotient)(slots - 1 - (unsigned int)before, of.by_each)
                          : 0;
}

COARSEN_INLINE unsigned int COARSEN_(pieces)(COARSEN_(rows) of, COARSEN_(place) at,
                                             const unsigned int items)
{
    if (items == COARSEN_ITEMS)
        return of.narrow ? 0 : COARSEN_(slots)(of, at);
    return (items > 1 ? of.quads : of.elements) * COARSEN_(begun)(of, at);
}

COARSEN_DEVICE COARSEN_(spot)
    COARSEN_(vector_at)(COARSEN_(rows) of, COARSEN_(place) at, unsigned int v)
{
    const size_t left = of.each - at.slot; // of the row that the tile begins in
    const bool behind = v >= left;
    const unsigned int u = v - (unsigned int)left, row = COARSEN_(quotient)(u, of.by_each),
                       further = behind ? 1 + row : 0;
    const size_t vector = behind ? u - row * (unsigned int)of.each : at.slot + v;
    COARSEN_(spot) spot;
    spot.number = at.row + further;
    spot.row = of.in + at.start + further * of.pitch;
    spot.at = COARSEN_(boundary)(spot.row, sizeof(COARSEN_(vector))) + vector * COARSEN_ITEMS;
    return spot;
}

COARSEN_INLINE COARSEN_(spot) COARSEN_(piece_at)(COARSEN_(rows) of, COARSEN_(place) at,
                                                 const unsigned int items, unsigned int p)
{
    if (items == COARSEN_ITEMS)
        return COARSEN_(vector_at)(of, at, p);
    const unsigned int each = items > 1 ? of.quads : of.elements;
    const unsigned int row = COARSEN_(quotient)(p, items > 1 ? of.by_quads : of.by_elements);
    const bool begun = at.slot > 0;
    COARSEN_(spot) spot;
    spot.number = at.row + begun + row;
    spot.row = of.in + (at.start + (begun ? of.pitch : 0)) + row * of.pitch;
    spot.at = COARSEN_(boundary)(spot.row, items * sizeof(COARSEN_TYPE)) + (p - row * each) * items;
    // Where larger pieces begin, all of them are skipped.
    const bool quads = items == 1 && COARSEN_(quad_items) > 1;
    if (spot.at >= COARSEN_(boundary)(spot.row, quads ? 4 : sizeof(COARSEN_(vector))))
        spot.at += of.width - of.elements - (items > 1 ? of.quads * COARSEN_(quad_items) : 0);
    return spot;
}

COARSEN_DEVICE size_t COARSEN_(index_of)(COARSEN_(rows) of, COARSEN_(spot) spot)
{
    return spot.number * of.width + (size_t)(spot.at - spot.row);
}

typedef struct COARSEN_ALIGNED(COARSEN_(quad_items) > 1 ? 4 : alignof(COARSEN_TYPE))
    COARSEN_MAY_ALIAS {
    COARSEN_TYPE item[COARSEN_(quad_items)];
} COARSEN_(quad);

// A piece of so many items, as the first ones of a vector.
COARSEN_INLINE COARSEN_(vector)
    COARSEN_(load_piece)(const COARSEN_TYPE *at, const unsigned int items, const bool once)
{
    COARSEN_(vector) load;
    if (items == COARSEN_ITEMS)
        return once ? COARSEN_(load_once)((const COARSEN_(vector) *)at)
                    : COARSEN_(load_vector)((const COARSEN_(vector) *)at);
    if (items == 1) {
        load.item[0] = *at;
        return load;
    }
    const COARSEN_(quad) quad = *(const COARSEN_(quad) *)at;
    memcpy((void *)&load, (const void *)&quad, sizeof(quad));
    return load;
}
#undef COARSEN_ANYWHERE
#endif

#define COARSEN_END
#include "../base.h"
