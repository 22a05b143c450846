// SPDX-License-Identifier: MIT
//
// coarsen/histogram.h: how many elements of an array fall into each bin. This is the rung to use:
// histogram/per_lane.h, whose top comment is the manual of parameters, arguments, errors and costs.
//
//     #define COARSEN_NAME tones
//     #define COARSEN_TYPE unsigned char
//     #define NUM_BINS     256
//     #include <coarsen/histogram.h>
//
//     unsigned char *pixels; // n of them
//     unsigned int *counts;
//     cudaMalloc(&pixels, n);
//     cudaMalloc(&counts, 256 * sizeof(unsigned int));
//     tones_launch(pixels, counts, n, NULL, 0, stream);
//
// Bins are any function of the element, COARSEN_BIN(x). 2048 even bins from -1 to 1, for floats; a NaN
// fails both comparisons, so that it is not counted, as what is out of the range is not:
//
//     #define COARSEN_BIN(x) ((x) >= -1 && (x) < 1 ? (int)(((x) + 1) * 1024) : -1)
//
// The ladder, each rung in a file of its own under histogram/:
//
//     basic.h           an atomic in global memory for each element
//     private_global.h  + a copy of the counts for each block
//     private_shared.h  + the copies are in shared memory
//     contiguous.h      + a thread counts CFACTOR neighbours
//     interleaved.h     + the lanes of a warp read neighbours
//     vectorized.h      + 16 bytes a load, CFACTOR loads in flight
//     aggregated.h      + a run of equal bins is added up in a register
//     per_lane.h        a copy for each lane in place of that, and any number of bins
//
// Why the last: it reads memory as fast as it comes, whatever the data, where the others are several
// times slower on some data or other.

#include "histogram/per_lane.h"
