// SPDX-License-Identifier: MIT
//
// bench/segments.h: segments of lengths near each other and far apart.

#ifndef BENCH_SEGMENTS_H
#define BENCH_SEGMENTS_H

#include "harness.h"

struct shape {
    const char *name;
    std::function<size_t(uint64_t bits, size_t s)> length;
};

static const shape shapes[] = {
    {"mean 16", [](uint64_t bits, size_t) { return bits % 33; }},
    {"mean 256", [](uint64_t bits, size_t) { return bits % 513; }},
    {"mean 4096", [](uint64_t bits, size_t) { return bits % 8193; }},
    // As many of length l or more as 1 / l says, up to 2^20.
    {"power law, mean 16",
     [](uint64_t bits, size_t) {
         return (size_t)std::min(1.155 * 0x1p64 / ((double)bits + 1), 0x1p20);
     }},
    {"power law, mean 256",
     [](uint64_t bits, size_t) {
         return (size_t)std::min(27.6 * 0x1p64 / ((double)bits + 1), 0x1p20);
     }},
    {"4 huge among 1000000 tiny",
     [](uint64_t bits, size_t s) { return s % 250000 == 125000 ? (size_t)0 : bits % 8; }},
};

// The last of the shapes needs room for its tiny ones.
static inline bool shape_fits(const shape &of, int exponent)
{
    return exponent >= 24 || &of != &shapes[sizeof(shapes) / sizeof(shapes[0]) - 1];
}

// Where the segments of an array of about n elements begin, and, last, where it ends.
static inline std::vector<int> shape_offsets(const shape &of, size_t n)
{
    std::vector<int> offsets(1, 0);
    const bool huge = std::string(of.name).find("huge") != std::string::npos;
    while (huge ? offsets.size() <= 1000000 : (size_t)offsets.back() < n) {
        const size_t s = offsets.size() - 1;
        size_t length = of.length(bench_random(3, s), s);
        if (huge && s % 250000 == 125000)
            length = n / 4 - 1000000;
        offsets.push_back((int)std::min(n, (size_t)offsets.back() + length));
    }
    return offsets;
}

#endif // BENCH_SEGMENTS_H
