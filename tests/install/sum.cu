// SPDX-License-Identifier: MIT
#define COARSEN_NAME sum_f32
#define COARSEN_TYPE float
#include <coarsen/reduce.h>
#include <stdio.h>

#if COARSEN_VERSION < 100
#error "coarsen is older than 0.1"
#endif

int main(void) // 0 where it is the CPU device that runs it, or a GPU
{
    float in[1000], out = 0, *device;
    void *scratch;
    size_t bytes = sum_f32_scratch_bytes(1000);
    for (int i = 0; i < 1000; i++)
        in[i] = 1;
    cudaMalloc((void **)&device, sizeof in + sizeof out);
    cudaMalloc(&scratch, bytes);
    cudaMemcpy(device, in, sizeof in, cudaMemcpyHostToDevice);
    sum_f32_scratch_init(scratch, bytes, NULL);
    sum_f32_launch(device, device + 1000, 1000, scratch, bytes, NULL);
    cudaMemcpy(&out, device + 1000, sizeof out, cudaMemcpyDeviceToHost);
    printf("%g\n", out);
    return out != 1000;
}
