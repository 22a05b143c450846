// SPDX-License-Identifier: MIT
//
// coarsen/histogram.h: counts the elements of an array that fall into each bin. Use this one: it is
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
//     tones_launch(pixels, counts, n, stream);
//
// A bin is any function of the element: COARSEN_BIN(x). Here are 2048 even bins from -1 to 1, for
// floats. Elements out of range are not counted, nor is NaN, which fails both comparisons.
//
//     #define COARSEN_BIN(x) ((x) >= -1 && (x) < 1 ? (int)(((x) + 1) * 1024) : -1)
//
// Weighted: COARSEN_WEIGHT(x) is what an element adds to its bin, a number of type COARSEN_COUNT. Here elements are
// pairs of a bin and a weight.
//
//     typedef struct { int bin; float weight; } sample;
//     #define COARSEN_NAME      spectrum
//     #define COARSEN_TYPE      sample
//     #define NUM_BINS          1024
//     #define COARSEN_BIN(s)    ((s).bin)
//     #define COARSEN_COUNT     float
//     #define COARSEN_WEIGHT(s) ((s).weight)
//
// The ladder, one file per rung in histogram/:
//     basic.h           one global atomic per element
//     private_global.h  + a copy of the counts per block
//     private_shared.h  + the copies are in shared memory
//     contiguous.h      + a thread counts CFACTOR neighbours
//     interleaved.h     + the lanes of a warp read neighbours
//     vectorized.h      + 16 bytes per load, CFACTOR loads in flight
//     aggregated.h      + a register adds up a run of equal bins
//     per_lane.h        instead of that: a copy per lane, and any number of bins
//     partitioned.h     + the elements are grouped by ranges of bins first; it takes a scratch
//
// For many bins take histogram/partitioned.h. On an H200 it was faster from 262144 bins on for 2^28 ints
// (1.1 times; 0.8 to 0.9 times with 200000), from 2^20 on for 2^24 (2.6; 0.9 with 262144), and from 2^22 on for 2^20.
//
// On several GPUs: nccl/histogram.h.
//
// Why the last: it runs at the speed of memory, whatever the data. Each of the others is several
// times slower on some data.

#include "histogram/per_lane.h"
