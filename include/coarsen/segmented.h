// SPDX-License-Identifier: MIT
//
// coarsen/segmented.h: many reductions at once: of each row of a matrix, of each column, of each of many
// segments of an array, or of each run of equal keys. Use this one. The manuals of arguments, errors and costs
// are the top comments of the headers that it takes.
//
//     #define COARSEN_NAME row_sums // a result per row
//     #define COARSEN_TYPE float
//     #include <coarsen/segmented.h>
//
//     #define COARSEN_NAME column_sums // a result per column
//     #define COARSEN_TYPE float
//     #define COARSEN_AXIS 0
//     #include <coarsen/segmented.h>
//
//     #define COARSEN_NAME   list_sums // a result per segment
//     #define COARSEN_TYPE   float
//     #define COARSEN_OFFSET int
//     #include <coarsen/segmented.h>
//
//     #define COARSEN_NAME totals // a result per run of equal keys
//     #define COARSEN_TYPE float
//     #define COARSEN_KEY  int
//     #include <coarsen/segmented.h>
//
//     size_t rows = 480, width = 640, segments = 3, bytes = 1 << 20; // bytes: of scratch, made ready
//     const int *offsets = (const int *)in + n; // segments + 1 of them
//     const int *keys = offsets;                // n of them
//     int *out_keys = (int *)out + n;           // of each run
//     row_sums_launch(in, width, out, rows, width, scratch, bytes, stream);
//     column_sums_launch(in, width, out, rows, width, scratch, bytes, stream);
//     list_sums_launch(in, n, offsets, segments, out, scratch, bytes, stream);
//     totals_launch(keys, in, n, out_keys, out, count, scratch, bytes, stream);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | element type                                         |
// | COARSEN_AXIS         | 1                | of a matrix: 1, a result per row; 0, a result per column |
// | COARSEN_OFFSET       | none: a matrix   | type of the offsets, any integer; not with COARSEN_AXIS |
// | COARSEN_KEY          | none: a matrix   | type of the keys; not with COARSEN_AXIS or COARSEN_OFFSET |
// | COARSEN_SAME(a, b)   | ((a) == (b))     | with COARSEN_KEY: whether key b, which follows a, goes on with a's run |
// | COARSEN_ACC          | COARSEN_TYPE     | type of the operator and the results; required for a sum of 8- or 16-bit integers |
// | COARSEN_LIFT(x, i)   | (COARSEN_ACC)(x) | element x at index i (a size_t) of its row, column or segment, or, of a run, of the array, as a COARSEN_ACC |
// | COARSEN_OP(a, b)     | COARSEN_SUM      | associative operator on COARSEN_ACC; commutative for a matrix |
// | COARSEN_COMMUTES     | 1 for a sum of numbers, else 0 | with COARSEN_OFFSET: 1: OP(a, b) == OP(b, a), and long segments take less time |
// | COARSEN_IDENTITY     | 0 if no OP       | e with OP(e, a) == a; required with COARSEN_OP       |
// | BLOCK_DIM            | see there        | threads per block                                    |
// | COARSE_FACTOR        | see there        | what a thread has in flight                          |
//
// Which one, a header each in segmented/:
//     rows.h      segments of one length, one after the other: the rows of a matrix
//     columns.h   the elements of a segment are a row apart: the columns of a matrix. As in NumPy, axis 0
//                 is the one that the result no longer has
//     offsets.h   segments of any lengths, one after the other; offsets[s] says where segment s begins
//     runs.h      the same, but nobody knows where: a segment is a run of equal keys, one per element
//
// Why so many: rows.h knows every length before it begins, so it gives each row as many threads as it needs.
// columns.h keeps neighbours side by side: its threads walk down the rows. offsets.h must find out where each
// segment ends. It reads an offset per segment, and pays for that most where segments are short: take rows.h
// if all of them have one length. runs.h reads a key per element, and says how many runs it found.

#if defined(COARSEN_AXIS) && defined(COARSEN_OFFSET)
#error "coarsen/segmented: COARSEN_AXIS is a matrix's, COARSEN_OFFSET a list's: define one of them"
#elif defined(COARSEN_AXIS) && COARSEN_AXIS != 0 && COARSEN_AXIS != 1
#error "coarsen/segmented: COARSEN_AXIS must be 0 (a result per column) or 1 (per row)"
#elif defined(COARSEN_KEY) && (defined(COARSEN_AXIS) || defined(COARSEN_OFFSET))
#error "coarsen/segmented: COARSEN_KEY goes without COARSEN_AXIS and COARSEN_OFFSET"
#elif defined(COARSEN_OFFSET)
#include "segmented/offsets.h"
#elif defined(COARSEN_KEY)
#include "segmented/runs.h"
#elif defined(COARSEN_AXIS) && COARSEN_AXIS == 0
static_assert((COARSEN_AXIS) == 0, "coarsen/segmented: COARSEN_AXIS must be a number for #if");
#include "segmented/columns.h"
#else
#include "segmented/rows.h"
#endif
