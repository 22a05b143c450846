// SPDX-License-Identifier: MIT
//
// Small kernels that are not coarsen's, each launched once, to be counted. counts.py compares what simt
// counts with what Nsight Compute does, and tests/simt/foreign_test.cu demands the latter's figures.
// Loops keep their shape (#pragma unroll 1), so that a line is one place in the compiler's code.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SIMT
#include <simt.h>
#endif

#include "counts_foreign.h"

static void check(cudaError_t status, const char *name)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(status));
    exit(1);
}

static void count(const char *name, void (*kernel)(arrays), arrays a)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = BLOCKS;
    config.blockDim = THREADS;
    check(cudaLaunchKernelEx(&config, kernel, a), name);
    check(cudaDeviceSynchronize(), name);
#ifdef SIMT
    simt_counts c;
    simt_last_counts(&c);
    printf("%s,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu\n", name, c.global_loads,
           c.global_stores, c.global_requests, c.global_sectors, c.global_bytes, c.shared_loads,
           c.shared_stores, c.shared_wavefronts, c.shared_conflicts);
    if (getenv("COUNTS_LINES")) {
        static simt_line lines[4096];
        const size_t n = simt_last_lines(lines, 4096);
        for (size_t i = 0; i < n; ++i)
            fprintf(stderr, "%s,%s,%d,%llu,%llu\n", name, lines[i].file, lines[i].line,
                    lines[i].executions, lines[i].least);
    }
#endif
}

int main(void)
{
    arrays a;
    check(make_arrays(&a), "arrays");
#ifdef SIMT
    printf("kernel,global loads,global stores,requests,sectors,bytes,shared loads,shared stores,"
           "shared wavefronts,bank conflicts\n");
#endif
#define COUNT(name) count(#name, name, a);
    KERNELS(COUNT)
    return 0;
}
