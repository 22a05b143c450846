// SPDX-License-Identifier: MIT
//
// What simt counts of small kernels, beside what Nsight Compute counted of the same launches on a GPU:
// memory within 1%, and executed instructions, made of the executions of each line and the compiler's
// own instructions, within 30%.

#include <cuda_runtime.h>
#include <math.h>
#include <simt.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

#include "../../bench/counts_foreign.h"

enum { FIGURES = 10 };
static const char *const figure[FIGURES] = {
    "global loads", "global stores", "requests",          "sectors",        "bytes",
    "shared loads", "shared stores", "shared wavefronts", "bank conflicts", "instructions"};

// "LINE:INSIDE,OUTSIDE ...": the compiler's instructions of each line
static double executed(const char *instructions)
{
    static simt_line lines[4096];
    const size_t n = simt_last_lines(lines, 4096);
    double sum = 0;
    for (const char *at = instructions; *at; at += *at == ' ') {
        char *end;
        const int line = (int)strtol(at, &end, 10);
        const double inside = (double)strtol(end + 1, &end, 10),
                     outside = (double)strtol(end + 1, &end, 10);
        at = end;
        for (size_t i = 0; i < n; ++i)
            if (lines[i].line == line && strstr(lines[i].file, "counts_foreign.h"))
                sum += inside * (double)lines[i].executions + outside * (double)lines[i].least;
    }
    return sum;
}

static void compare(const char *name, void (*kernel)(arrays), arrays a,
                    const double measured[FIGURES], const char *instructions)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = BLOCKS;
    config.blockDim = THREADS;
    if (!tap_ok(cudaLaunchKernelEx(&config, kernel, a) == cudaSuccess, "%s runs", name))
        return;
    simt_counts c;
    simt_last_counts(&c);
    const double counted[FIGURES] = {(double)c.global_loads,     (double)c.global_stores,
                                     (double)c.global_requests,  (double)c.global_sectors,
                                     (double)c.global_bytes,     (double)c.shared_loads,
                                     (double)c.shared_stores,    (double)c.shared_wavefronts,
                                     (double)c.shared_conflicts, executed(instructions)};
    // A structure that the user aligned is one access there, and here one for each field.
    const int by_fields = !strcmp(name, "aligned_structs");
    // The profiler counts the bytes of atomics too, and here their passes are among the wavefronts.
    const int atomics = c.atomics_shared || c.atomics_global;
    for (int i = 0; i < FIGURES; ++i) {
        if ((by_fields && i < 4) || (atomics && (i == 4 || i == 6 || i == 7)))
            continue;
        const double tolerance = i == FIGURES - 1 ? 0.3 : 0.01;
        tap_ok(fabs(counted[i] - measured[i]) <= tolerance * measured[i], "%s: %g %s (%g)", name,
               counted[i], figure[i], measured[i]);
    }
}

int main(void)
{
    arrays a;
    if (!tap_ok(make_arrays(&a) == cudaSuccess, "arrays"))
        return tap_done();
#define MEASURED(name, l, s, r, e, b, sl, ss, w, c, n, lines)                                      \
    {                                                                                              \
        const double measured[FIGURES] = {l, s, r, e, b, sl, ss, w, c, n};                         \
        compare(#name, name, a, measured, lines);                                                  \
    }
#include "../../bench/counts_measured.h"
    return tap_done();
}
