// SPDX-License-Identifier: MIT
//
// bench/shapes/segments.h: n elements in random segments. mean: of their lengths. lengths: even (each between 0 and
// twice the mean), or skewed (most are short, few are long).

#ifndef BENCH_SHAPES_SEGMENTS_H
#define BENCH_SHAPES_SEGMENTS_H

#include "shapes.h"

struct shape_segments {
    size_t segments;
    std::shared_ptr<void> memory;
    const int *offsets; // segments + 1

    shape_segments(const shape &s, size_t n)
    {
        const double mean = (double)s.at("mean");
        const bool skewed = s.text("lengths") == "skewed";
        if (!skewed && s.text("lengths") != "even")
            shape_unknown(s, "lengths");
        std::vector<int> list;
        size_t place = 0;
        for (size_t i = 0; place < n; i++) {
            list.push_back((int)place);
            const double u = (double)(bench_random(11, i) >> 11) * 0x1p-53;
            place += (size_t)(skewed ? mean / 10 * std::pow(u + 1e-12, -0.9) : 2 * mean * u + 0.5);
        }
        list.push_back((int)n);
        segments = list.size() - 1;
        memory = bench_alloc(list.size() * sizeof(int));
        BENCH_CHECK(cudaMemcpy(memory.get(), list.data(), list.size() * sizeof(int),
                               cudaMemcpyHostToDevice));
        offsets = (const int *)memory.get();
    }
};

#endif // BENCH_SHAPES_SEGMENTS_H
