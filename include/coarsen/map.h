// SPDX-License-Identifier: MIT
//
// coarsen/map.h: an element of out from the elements of up to three arrays. This is the rung to use:
// map/vectorized.h, whose top comment is the manual of parameters, arguments and errors.
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
// The ladder, each rung in a file of its own under map/, from the finest grain to the coarsest:
//
//     single.h         one element a thread
//     consecutive.h    + COARSE_FACTOR of them, neighbours: the way that costs requests
//     interleaved.h    + BLOCK_DIM apart: the way that doesn't
//     vectorized.h     + 16 bytes an access
//
// Why the last: nothing of a map can be shared between threads, so coarsening saves it no work; what it
// can buy is bytes in flight, and 16-byte accesses buy them with the fewest instructions and requests.
//
// A chain of maps is one map: COARSEN_MAP(x) G(F(x)) reads and writes once where two launches read and
// write twice. A map whose results are only added up needs no out at all: coarsen/fuse.h.

#include "map/vectorized.h"
