// SPDX-License-Identifier: MIT
//
// The order that sort_segments.h and top_k.h give numbers, for the references of their patterns: -0 before +0,
// NaNs behind infinity, those with a sign last.

#ifndef TUNE_ORDER_H
#define TUNE_ORDER_H

// Less, if the number comes first.
static __device__ unsigned long long tune_order(TUNE_TYPE number)
{
    const unsigned long long sign = 1ull << (8 * sizeof(number) - 1);
    unsigned long long bits = 0;
    memcpy(&bits, &number, sizeof(number));
#if defined TUNE_TYPE_f32 || defined TUNE_TYPE_f64
    bits = bits & sign ? ~bits : bits | sign;
    bits -= sizeof(number) == 4 ? 0x7fffff : 0xfffffffffffff; // from -infinity on
#elif defined TUNE_TYPE_i32
    bits ^= sign;
#endif
    return bits & (2 * sign - 1);
}

#endif
