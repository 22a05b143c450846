// SPDX-License-Identifier: MIT
//
// coarsen/merge.h: two sorted arrays become one, stably; keys only, or keys with values. This is the rung to use:
// merge/partitioned.h, whose top comment is the manual of parameters, arguments, errors and costs.
//
//     #define COARSEN_NAME merge_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/merge.h>
//
//     // of an array whose two halves are sorted
//     merge_f32_launch(in, n / 2, in + n / 2, n - n / 2, out, stream);
//
// Others are
//     COARSEN_VALUE float                 a value beside each key:
//                                         merge_launch(a, a_values, m, b, b_values, n, out, out_values, stream)
//     COARSEN_LESS(a, b) ((a) > (b))      another order, here from the greatest down
//
// The ladder, one file per rung in merge/:
//     basic.h       a thread makes a run of results, once a search has told it where to begin
//     tiled.h       + a tile in shared memory: reads and writes in order, and searches there
//     circular.h    + circular buffers: a block walks over tiles, and searches in global memory once
//     pipelined.h   + asynchronous copies of the next tile's keys, while one is merged
//     partitioned.h, from tiled.h on: all ends of tiles are searched for first, and four times as many threads run
//
// Why the last: nearly each key is read once and each result written once, with no scratch, by as many threads as a
// multiprocessor has room for. It gives the same bits on every run.

#include "merge/partitioned.h"
