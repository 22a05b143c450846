// SPDX-License-Identifier: MIT
//
// Faults for test_message.py, which reads what is said of them: message CASE [broken].

#include <cuda_runtime.h>
#include <simt.h>

#include <stdio.h>
#include <string.h>

#include "helper.cuh"

namespace kernels
{

__device__ int table[64];

// Threads 0 and 1 of one block, and then of two.
__global__ void global(int *p, bool broken)
{
    put_inline(p, broken ? 17 : (int)threadIdx.x, 1); // global
}

__global__ void variable(bool broken)
{
    put(table, broken ? 5 : (int)threadIdx.x, 1);
}

__global__ void shared(bool broken)
{
    __shared__ int tile[40];
    put_inline(tile, broken ? 3 : (int)threadIdx.x, 1);
}

__global__ void dynamic(bool broken)
{
    extern __shared__ int staged[];
    put_inline(staged, broken ? 4 : (int)threadIdx.x, 1);
}

template <typename T> __global__ void at(T *p, int i) // a template, launched without its argument
{
    put_inline(p, i, 1); // at
}

__global__ void read(const int *p, int *to, int depth)
{
    put(to, 0, descend(p, depth)); // read
}

__global__ void inlined(int *p, bool broken)
{
    put_here(p, broken ? 0 : (int)threadIdx.x);
}

__global__ void divide(const int *p, int *to)
{
    put(to, 0, (int)divided<7>(p, 0)); // divide
}

// Two races, of blocks 0 and 1; a read beyond the end by block 2; and block 3, where all is well.
__global__ void several(int *p, const int *q, int *done, bool broken)
{
    int block = (int)blockIdx.x, one = broken ? block / 2 : block;
    p[one] = 1;      // first race
    p[4 + one] += 1; // second race
    int i = broken && block == 2 ? 1024 : block;
    done[block] = 1 + q[i]; // beyond
}

// Block 1 waits for block 0.
__global__ void follow(volatile int *flag, const int *q, bool broken)
{
    if (blockIdx.x == 0)
        flag[0] = 1 + q[broken ? 1024 : 0];
    else
        while (!flag[0]) {
        }
}

__global__ void barrier(int *p, bool broken)
{
    if (broken && threadIdx.x == 1)
        return;
    __syncthreads();
    p[threadIdx.x] = 1;
}

__global__ void spin(bool broken)
{
    while (broken)
        __asm__ volatile(""); // spin
}

} // namespace kernels

using namespace kernels;

int main(int count, char **arguments)
{
    const char *which = arguments[1];
    bool broken = count > 2;
#define CASE(name) if (!strcmp(which, #name))
    int *p, *q, *done, host[8] = {};
    cudaMalloc(&p, 4096); // p
    cudaMalloc(&q, 4096);
    cudaMalloc(&done, 64);
    cudaMemset(q, 0, 4096);
    cudaMemset(done, 0, 64);
    if (!broken || !strstr(which, "unwritten"))
        cudaMemset(p, 1, 4096);
    CASE(global) global<<<1, 2>>>(p, broken);
    CASE(quiet)
    {
        simt_print_reports(0);
        global<<<1, 2>>>(p, broken);
        cudaMemcpy(host, p, 4097, cudaMemcpyDeviceToHost);
        simt_print_reports(1);
    }
    CASE(blocks) global<<<2, 1>>>(p, broken);
    CASE(variable) variable<<<1, 2>>>(broken);
    CASE(shared) shared<<<1, 2>>>(broken);
    CASE(dynamic) dynamic<<<1, 2, 16>>>(broken);
    CASE(after) at<<<1, 1>>>(p, broken ? 1024 : 1023);
    CASE(before) at<<<1, 1>>>(p, broken ? -2 : 0);
    CASE(null) at<<<1, 1>>>(broken ? (int *)NULL : p, 0);
    CASE(misaligned) at<<<1, 1>>>((int *)((char *)p + (broken ? 6 : 8)), 0);
    CASE(freed)
    {
        if (broken)
            cudaFree(p); // freed
        at<<<1, 1>>>(p, 9);
    }
    CASE(twice)
    {
        cudaFree(p); // freed first
        if (broken)
            cudaFree(p);
    }
    CASE(unwritten) read<<<1, 1>>>(p, q, 2);
    CASE(unwritten_deep) read<<<1, 1>>>(p, q, 50);
    CASE(unwritten_copy) cudaMemcpy(host, p, 16, cudaMemcpyDeviceToHost);
    CASE(divide) divide<<<1, 1>>>(broken ? q : p, q);
    CASE(barrier) barrier<<<1, 2>>>(p, broken);
    CASE(spin) spin<<<1, 1>>>(broken);
    CASE(inlined) inlined<<<1, 2>>>(p, broken);
    CASE(follow)
    {
        cudaMemset(p, 0, 4);
        follow<<<2, 1>>>(p, q, broken);
    }
    CASE(several)
    {
        for (int i = 0; i < 3; ++i)
            several<<<4, 1>>>(p, q, done, broken);
        cudaMemcpy(host, done, 16, cudaMemcpyDeviceToHost);
        printf("done %d %d %d %d\n", host[0], host[1], host[2], host[3]);
        simt_report reports[8];
        size_t n = simt_reports(reports, 8);
        for (size_t i = 0; i < n; ++i)
            printf("%s %d %llu\n", simt_kind_name(reports[i].kind), reports[i].here.line,
                   reports[i].count);
        printf("first: %s, %llu\n", simt_kind_name(simt_last_report()->kind),
               simt_last_report()->count);
    }
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    return 0;
}
