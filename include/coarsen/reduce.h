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
//     sum_f32_scratch_init(scratch, sum_f32_scratch_bytes(n), stream);
//     // as often as you like
//     sum_f32_launch(in, out, n, scratch, sum_f32_scratch_bytes(n), stream);
//
// Where the greatest is, and how great (COARSEN_ARGMIN: the least), with any type for the index:
//
//     #define COARSEN_NAME   argmax_f32
//     #define COARSEN_TYPE   float
//     #define COARSEN_ARGMAX unsigned int // struct argmax_f32_at { float value; unsigned int index; }
//
// The same bits on any device, at any alignment: COARSEN_FIXED_TREE 1. n from device memory: COARSEN_COUNTED 1.
// On several GPUs: nccl/reduce.h.
//
// The ladder, one file per rung in reduce/, from the finest grain to the coarsest:
//     simple.h        one block, the tree as drawn: divergent, and all of it in global memory
//     convergent.h    + the active threads stay together
//     shared.h        + the tree is in shared memory
//     multiblock.h    + many blocks, each commits by an atomic
//     coarsened.h     + a thread adds COARSE_FACTOR pairs before the tree
//     last_block.h    + no commits: the last block to finish adds the partial results
//     single_pass.h   + wide loads, shuffles, and slots in place of the fence
// block_coarsened.h coarsens blocks in place of threads.
//
// Why the last: it is the fastest at every size, takes any operator on any type, and gives the same
// bits on every run. For an operator that does not commute, take simple.h.

#include "reduce/single_pass.h"
