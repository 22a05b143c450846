// SPDX-License-Identifier: MIT
//
// coarsen/scan.h: running sums of an array, inclusive or exclusive. This is the rung to use:
// scan/single_pass.h, whose top comment is the manual of parameters, arguments, errors and costs.
//
//     #define COARSEN_NAME running_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/scan.h>
//
//     // once
//     cudaMalloc(&scratch, running_f32_scratch_bytes(n));
//     running_f32_scratch_init(scratch, running_f32_scratch_bytes(n), stream);
//     // as often as you like
//     running_f32_launch(in, out, n, scratch, running_f32_scratch_bytes(n), stream);
//
// The ladder, one file per rung in scan/:
//     kogge_stone.h    one block: the fewest steps, and log2 N times the work
//     brent_kung.h     + no work twice: up a tree and down again, in twice the steps
//     coarsened.h      + a thread scans a run of COARSE_FACTOR elements alone
//     three_kernel.h   + many blocks: scan sections, scan their totals, add those
//     chained.h        + one kernel: each block hands the sum of all before it to the next
//     single_pass.h    + look-back: a block adds up what those before it leave as soon as they have read
//     segmented.h      + heads: of each of many segments, if COARSEN_FLAG or COARSEN_OFFSET says where they begin
//
// On several GPUs: nccl/scan.h.
//
// Why the last: each element is read once and each result written once, and tiles wait for one another only
// to be read, except for one hand-over per 128 tiles. It takes any associative operator on any type, and
// gives the same bits on every run.

#if defined(COARSEN_FLAG) || defined(COARSEN_OFFSET)
#include "scan/segmented.h"
#else
#include "scan/single_pass.h"
#endif
