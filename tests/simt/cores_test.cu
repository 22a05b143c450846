// SPDX-License-Identifier: MIT
//
// Blocks on several cores: results, counts and reports are those of one core, whatever the blocks do.

#include <cuda_runtime.h>
#include <simt.h>

#include <string>
#include <vector>

#include "../tap.h"

enum { BLOCK = 256, N = 1 << 18, BLOCKS = N / BLOCK };

__device__ int of_device;

struct arrays {
    float *x, *y;
    unsigned char *bytes;
    int *count;
};

// Enough work that several cores are worth it, on a machine that is five times as fast too.
__device__ float work(const float *x, int i)
{
    float sum = 0;
    for (int k = 0; k < 64; ++k)
        sum += x[(i + k) % N];
    return sum;
}

__global__ void independent(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i] += work(a.x, i);
}
// Neighbouring blocks share words and pages.
__global__ void bytes(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.bytes[3 * i + 1] = (unsigned char)work(a.x, i);
}
__global__ void shared(arrays a)
{
    __shared__ float s[BLOCK];
    __shared__ int ups;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (!threadIdx.x)
        ups = 0;
    s[threadIdx.x] = work(a.x, i);
    __syncthreads();
    float other = s[BLOCK - 1 - threadIdx.x];
    if (other > s[threadIdx.x])
        atomicAdd(&ups, 1);
    __syncthreads();
    a.y[i] = other + __shfl_xor_sync(~0u, other, 1) + (float)ups;
}
__global__ void counts(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i] = work(a.x, i);
    if (i % 1000 == 999)
        atomicAdd(a.count, 1);
}
// Late blocks write what early ones wrote, or read what they wrote: races.
__global__ void overwrites(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i == N - 5 ? 7 : i] = work(a.x, i);
}
__global__ void rereads(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i] = work(a.x, i) + (i == N - 3 ? a.y[1000] : 0);
}
// An early block reads what a late one writes.
__global__ void reads_ahead(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i] = work(a.x, i) + (i == 3 ? a.y[N - 1000] : 0);
}
__global__ void overruns(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i == N - 1 ? N : i] = work(a.x, i);
}
__global__ void prints(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i] = work(a.x, i);
    if (i == N - 1)
        printf("# printed once\n");
}
__global__ void sets_variable(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i] = work(a.x, i);
    if (i == N - 1)
        of_device = 5;
}
__global__ void allocates(arrays a)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    a.y[i] = work(a.x, i);
    if (i == N - 1) {
        int *p = (int *)malloc(4);
        *p = 6;
        of_device = *p;
        free(p);
    }
}

struct outcome {
    std::vector<float> y;
    std::vector<unsigned char> bytes;
    int count, variable;
    cudaError_t error;
    simt_counts counts;
    std::string report;
    unsigned cores;
    bool operator==(const outcome &o) const
    {
        return y == o.y && bytes == o.bytes && count == o.count && variable == o.variable &&
               error == o.error && !memcmp(&counts, &o.counts, sizeof counts) && report == o.report;
    }
};

static outcome run(void (*kernel)(arrays), unsigned cores, simt_order order)
{
    simt_config config = simt_get_config();
    config.cores = cores, config.order = order;
    simt_set_config(&config);
    std::vector<float> x(N);
    for (int i = 0; i < N; ++i)
        x[i] = (float)(i * 2654435761u >> 24);
    arrays a;
    cudaMalloc(&a.x, N * sizeof(float));
    cudaMalloc(&a.y, N * sizeof(float));
    cudaMalloc(&a.bytes, 3 * N);
    cudaMalloc(&a.count, sizeof(int));
    cudaMemcpy(a.x, x.data(), N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(a.y, x.data(), N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(a.bytes, 0, 3 * N);
    cudaMemset(a.count, 0, sizeof(int));
    outcome o = {
        std::vector<float>(N), std::vector<unsigned char>(3 * N), 0, 0, cudaSuccess, {}, "", 0};
    simt_print_reports(0);
    cudaLaunchConfig_t launch = {};
    launch.gridDim = BLOCKS, launch.blockDim = BLOCK;
    o.error = cudaLaunchKernelEx(&launch, kernel, a);
    cudaGetLastError();
    simt_print_reports(1);
    o.cores = simt_last_cores();
    simt_last_counts(&o.counts);
    o.report = simt_last_report()->text;
    cudaMemcpy(o.y.data(), a.y, N * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(o.bytes.data(), a.bytes, 3 * N, cudaMemcpyDeviceToHost);
    cudaMemcpy(&o.count, a.count, sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&o.variable, of_device, sizeof(int));
    cudaFree(a.x);
    cudaFree(a.y);
    cudaFree(a.bytes);
    cudaFree(a.count);
    return o;
}

int main(void)
{
    static const struct {
        const char *name;
        void (*kernel)(arrays);
        unsigned cores; // that can share the blocks
        cudaError_t error;
    } cases[] = {
        {"independent blocks", independent, 3, cudaSuccess},
        {"bytes", bytes, 3, cudaSuccess},
        {"shared memory", shared, 3, cudaSuccess},
        {"an atomic in global memory", counts, 1, cudaSuccess},
        {"a write of what an earlier block wrote", overwrites, 2, cudaErrorLaunchFailure},
        {"a read of what an earlier block wrote", rereads, 2, cudaErrorLaunchFailure},
        {"a read of what a later block writes", reads_ahead, 2, cudaErrorLaunchFailure},
        {"an overrun", overruns, 2, cudaErrorIllegalAddress},
        {"output", prints, 2, cudaSuccess},
        {"a variable", sets_variable, 2, cudaSuccess},
        {"malloc", allocates, 2, cudaSuccess},
    };
    for (const auto &c : cases) {
        outcome one = run(c.kernel, 1, SIMT_FORWARD), three = run(c.kernel, 3, SIMT_FORWARD);
        if (!tap_ok(one == three && one.cores == 1 && one.error == c.error, "%s: as on one core",
                    c.name))
            tap_diag("%s%s%s", cudaGetErrorName(three.error), one.report.c_str(),
                     three.report.c_str());
        tap_ok(three.cores == c.cores, "%s: %u of 3 cores", c.name, three.cores);
    }
    outcome one = run(independent, 1, SIMT_SHUFFLE), two = run(independent, 2, SIMT_SHUFFLE);
    tap_ok(one == two && two.cores == 2, "in a shuffled order: as on one core");
    return tap_done();
}
