// SPDX-License-Identifier: MIT
//
// coarsen/sort.h: stable sort of keys, or of keys with values: integers, or floating-point numbers. Use this one. It is
// sort/onesweep.h, whose top comment is the manual of parameters, arguments, errors and costs.
//
//     #define COARSEN_NAME sort_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/sort.h>
//
//     // once
//     cudaMalloc(&scratch, sort_f32_scratch_bytes(n));
//     sort_f32_scratch_init(scratch, sort_f32_scratch_bytes(n), stream);
//     // as often as you like; out may be in
//     sort_f32_launch(in, out, n, scratch, sort_f32_scratch_bytes(n), stream);
//
// Others are
//     COARSEN_VALUE unsigned int        what goes with each key: NAME_launch(in, out, in_values, out_values, n, ...)
//     COARSEN_DESCENDING 1              the greatest first
// and NAME_launch_bits sorts by some of the bits.
//
// Why not another rung: multi_bit.h and coarsened.h take two launches more for each digit, and read all keys twice; and
// they need twice as many passes, as a block sorts by each bit of a digit in turn.

#include "sort/onesweep.h"
