// SPDX-License-Identifier: MIT
//
// coarsen/select.h: the elements that an expression selects, in their order, and how many; or a
// partition; or each run of equal elements as one. It is select/single_pass.h, whose top comment is the
// manual of parameters, arguments, errors and costs.
//
//     #define COARSEN_NAME     positive_f32
//     #define COARSEN_TYPE     float
//     #define COARSEN_IF(x, i) ((x) > 0)
//     #include <coarsen/select.h>
//
//     // once
//     cudaMalloc(&scratch, positive_f32_scratch_bytes(n));
//     positive_f32_scratch_init(scratch, positive_f32_scratch_bytes(n), stream);
//     // as often as you like; count is an unsigned long long in device memory
//     positive_f32_launch(in, out, n, count, scratch, positive_f32_scratch_bytes(n), stream);
//
// Others are
//     COARSEN_LIFT(x, i) (i)            the indices of the elements, with COARSEN_OUT size_t
//     COARSEN_SCALAR float              a threshold that is given at launch: COARSEN_IF(x, i, s) ((x) > (s))
//     COARSEN_SAME(a, b) ((a) == (b))   in place of COARSEN_IF: the first of each run of equal elements
//     COARSEN_PARTITION 1               those selected, and the rest behind

#include "select/single_pass.h"
