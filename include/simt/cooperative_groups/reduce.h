// SPDX-License-Identifier: MIT
//
// cooperative_groups::reduce of a tile, and its operators.

#ifndef SIMT_COOPERATIVE_GROUPS_REDUCE_H
#define SIMT_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

#pragma GCC system_header

namespace cooperative_groups
{

#define SIMT_OPERATOR(name, expression)                                                            \
    template <class T = void> struct name {                                                        \
        SIMT_INLINE_METHOD T operator()(T a, T b) const                                            \
        {                                                                                          \
            return expression;                                                                     \
        }                                                                                          \
    };
#define SIMT_INLINE_METHOD __inline__ __attribute__((always_inline))
SIMT_OPERATOR(plus, a + b)
SIMT_OPERATOR(less, b < a ? b : a)
SIMT_OPERATOR(greater, a < b ? b : a)
SIMT_OPERATOR(bit_and, a &b)
SIMT_OPERATOR(bit_or, a | b)
SIMT_OPERATOR(bit_xor, a ^ b)
#undef SIMT_INLINE_METHOD
#undef SIMT_OPERATOR

template <unsigned n, class P, class T, class F>
SIMT_INLINE T reduce(const thread_block_tile<n, P> &tile, T value, F op)
{
    for (unsigned d = n / 2; d; d /= 2)
        value = op(value, tile.shfl_xor(value, d));
    return value;
}

} // namespace cooperative_groups

#endif
