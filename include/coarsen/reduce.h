// SPDX-License-Identifier: MIT
//
// coarsen/reduce.h: reduce an array to one value. This is the rung to use: reduce/single_pass.h,
// whose top comment is the manual of parameters, arguments, errors and costs.
//
//     #define COARSEN_NAME sum_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/reduce.h>
//
//     // once
//     cudaMalloc(&scratch, sum_f32_scratch_bytes(n));
//     cudaMemset(scratch, 0, sum_f32_scratch_bytes(n));
//     // as often as you like
//     sum_f32_launch(in, out, n, scratch, sum_f32_scratch_bytes(n), stream);
//
// The ladder, each rung in a file of its own under reduce/, from the finest grain to the coarsest:
//
//     simple.h        one block, the tree as drawn: divergent, and all of it in global memory
//     convergent.h    + the threads at work stay together
//     shared.h        + the tree is in shared memory
//     multiblock.h    + many blocks, each commits by an atomic
//     coarsened.h     + a thread adds up COARSE_FACTOR pairs before the tree
//     last_block.h    + no commits: the last block to finish adds up
//     single_pass.h   + wide loads, shuffles, and slots in place of the fence
//
// Why the last: it is the fastest at every size, it takes any operator on any type, and it gives the
// same bits on every run. simple.h is the one to take for an operator that does not commute.

#include "reduce/single_pass.h"
