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
    template <class Type = void> struct name {                                                     \
        SIMT_INLINE_METHOD Type operator()(Type a, Type b) const                                   \
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

template <unsigned n, class Parent, class Type, class Op>
SIMT_INLINE Type reduce(const thread_block_tile<n, Parent> &tile, Type value, Op op)
{
    for (unsigned d = n / 2; d; d /= 2)
        value = op(value, tile.shfl_xor(value, d));
    return value;
}

} // namespace cooperative_groups

#endif
