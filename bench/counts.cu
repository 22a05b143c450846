// SPDX-License-Identifier: MIT
//
// Launches each rung of the reduction once, to be counted. On the CPU device it prints what simt
// counted; on a GPU Nsight Compute counts. counts.py runs both and compares.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SIMT
#include <simt.h>
#endif

#define COARSEN_NAME simple_256
#define COARSEN_TYPE float
#define BLOCK_DIM    128
#include <coarsen/reduce/simple.h>
#define COARSEN_NAME simple_2048
#define COARSEN_TYPE float
#include <coarsen/reduce/simple.h>
#define COARSEN_NAME convergent_256
#define COARSEN_TYPE float
#define BLOCK_DIM    128
#include <coarsen/reduce/convergent.h>
#define COARSEN_NAME convergent_2048
#define COARSEN_TYPE float
#include <coarsen/reduce/convergent.h>
#define COARSEN_NAME shared_256
#define COARSEN_TYPE float
#define BLOCK_DIM    128
#include <coarsen/reduce/shared.h>
#define COARSEN_NAME shared_2048
#define COARSEN_TYPE float
#include <coarsen/reduce/shared.h>
#define COARSEN_NAME         multiblock_65536
#define COARSEN_TYPE         float
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/multiblock.h>
#define COARSEN_NAME         coarsened_65536
#define COARSEN_TYPE         float
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/coarsened.h>
#define COARSEN_NAME single_pass_65536
#define COARSEN_TYPE float
#include <coarsen/reduce/single_pass.h>

static void check(cudaError_t status, const char *name)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(status));
    exit(1);
}

typedef cudaError_t (*initialiser)(void *, size_t, cudaStream_t);
typedef cudaError_t (*launcher)(const float *, float *, size_t, void *, size_t, cudaStream_t);

static void count(const char *name, initialiser init, launcher launch, size_t n)
{
    float *in, *out;
    void *scratch;
    const size_t scratch_bytes = 1 << 20;
    check(cudaMalloc((void **)&in, n * sizeof(float)), name);
    check(cudaMalloc((void **)&out, sizeof(float)), name);
    check(cudaMalloc(&scratch, scratch_bytes), name);
    check(cudaMemset(in, 0, n * sizeof(float)), name);
    check(init(scratch, scratch_bytes, 0), name);
    check(launch(in, out, n, scratch, scratch_bytes, 0), name);
    check(cudaDeviceSynchronize(), name);
#ifdef SIMT
    simt_counts c;
    simt_last_counts(&c);
    printf("%s,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu\n", name, c.global_loads, c.global_stores,
           c.global_requests, c.global_sectors, c.global_bytes, c.shared_wavefronts,
           c.shared_conflicts, c.atomics_global);
#endif
    check(cudaFree(in), name);
    check(cudaFree(out), name);
    check(cudaFree(scratch), name);
}

#define COUNT(name, n) count(#name, name##_scratch_init, (launcher)name##_launch, n)

int main(void)
{
#ifdef SIMT
    printf("kernel,global loads,global stores,requests,sectors,bytes,shared wavefronts,"
           "bank conflicts,atomics\n");
#endif
    COUNT(simple_256, 256);
    COUNT(simple_2048, 2048);
    COUNT(convergent_256, 256);
    COUNT(convergent_2048, 2048);
    COUNT(shared_256, 256);
    COUNT(shared_2048, 2048);
    COUNT(multiblock_65536, 65536);
    COUNT(coarsened_65536, 65536);
    COUNT(single_pass_65536, 65536);
    return 0;
}
