// SPDX-License-Identifier: MIT
//
// coarsen/map.h: makes each element of out from the elements of up to three arrays. Use this one:
// it is map/vectorized.h, whose top comment is the manual of parameters, arguments and errors.
//
//     #define COARSEN_NAME           saxpy
//     #define COARSEN_TYPE           float
//     #define COARSEN_INPUTS         2
//     #define COARSEN_SCALAR         float
//     #define COARSEN_MAP(x, y, alpha) ((alpha) * (x) + (y))
//     #include <coarsen/map.h>
//
//     saxpy_launch(in, out, out, n, 2.0f, stream); // out = 2 in + out
//
// The ladder, one file per rung in map/, from the finest grain to the coarsest:
//     single.h         one element per thread
//     consecutive.h    + COARSE_FACTOR neighbours per thread, which costs memory requests
//     interleaved.h    + BLOCK_DIM apart, which does not
//     vectorized.h     + 16 bytes per access
//
// Why the last: threads of a map have nothing to share, so coarsening saves no work. It can only
// put more bytes in flight, and 16-byte accesses do that with the fewest instructions and requests.
// A chain of maps is one map: COARSEN_MAP(x) G(F(x)) reads and writes once, where two launches read
// and write twice. A map whose results are only added up needs no out: see coarsen/fuse.h.

#include "map/vectorized.h"
