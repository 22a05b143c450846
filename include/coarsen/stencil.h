// SPDX-License-Identifier: MIT
//
// coarsen/stencil.h: a star stencil in 3D, 2D or 1D. This is the rung to use: stencil/vectorized.h, whose
// top comment is the manual of parameters, arguments, errors and costs.
//
//     #define COARSEN_NAME         heat
//     #define COARSEN_TYPE         float
//     #define COARSEN_COEFFICIENTS 0.4f, 0.1f
//     #include <coarsen/stencil.h>
//
//     // one step: what 100 x 100 x 50 cells become, rows and slices one after the other
//     heat_launch(in, out, 100, 100, 50, 100, 100 * 100, stream);
//
// The ladder, one file per rung in stencil/, from the finest grain to the coarsest:
//     basic.h             one thread per cell, straight from global memory
//     tiled.h             + what a block needs is in shared memory
//     coarsened.h         + a thread makes COARSE_FACTOR cells, one above the other
//     register_tiled.h    + neighbours above and below are in registers
//     vectorized.h        + 16-byte accesses, and the cache in place of shared memory
//     time_tiled.h        several steps per pass over memory

#include "stencil/vectorized.h"
