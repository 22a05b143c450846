// SPDX-License-Identifier: MIT
//
// Sums of random floats, launched by coarsen and by hand, checked.
// Exit status: 0; 1 when a sum is wrong or the device fails; 77 without a GPU.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COARSEN_NAME sum_f32
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

static void check(cudaError_t status)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "sum: %s\n", cudaGetErrorString(status));
        exit(1);
    }
}

int main(void)
{
    static const size_t sizes[] = {0, 1, 1000, 100003, 5000000};
    const size_t most = 5000001;
    int devices = 0, wrong = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("sum: no GPU");
        return 77;
    }

    float *const host = (float *)malloc(most * sizeof(float)), *in, *out;
    for (size_t i = 0; host && i < most; i++)
        host[i] = (float)rand() / (float)RAND_MAX - 0.25f;
    void *scratch;
    const size_t bytes = sum_f32_scratch_bytes(most); // never falls as n grows: enough for all
    check(cudaMalloc((void **)&in, most * sizeof(float)));
    check(cudaMalloc((void **)&out, 2 * sizeof(float)));
    check(cudaMalloc(&scratch, bytes));
    check(sum_f32_scratch_init(scratch, bytes, 0)); // once
    check(cudaMemcpy(in, host, most * sizeof(float), cudaMemcpyHostToDevice));

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        for (size_t offset = 0; offset <= 1; offset++) { // elements: any alignment works
            const size_t n = sizes[k];
            check(sum_f32_launch(in + offset, out, n, scratch, bytes, 0));

            // The same by hand: in a graph of one's own, with other attributes ...
            sum_f32_planned plan;
            check(sum_f32_plan(in + offset, n, &plan));
            plan.kernel<<<plan.grid, plan.block, plan.shared_bytes>>>(
                in + offset, out + 1, n, plan.tile, (unsigned long long *)scratch);
            check(cudaGetLastError());

            float got[2];
            double exact = 0, all = 0;
            check(cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost));
            for (size_t i = 0; i < n; i++) {
                exact += host[offset + i];
                all += fabs(host[offset + i]);
            }
            const bool right = fabs(got[0] - exact) <= 1e-6 * all && got[1] == got[0];
            wrong += !right;
            printf("%7zu floats at +%zu: %.9g, by hand %.9g, exactly %.9g: %s\n", n, offset, got[0],
                   got[1], exact, right ? "right" : "WRONG");
        }
    check(cudaFree(in));
    check(cudaFree(out));
    check(cudaFree(scratch));
    free(host);
    return wrong > 0;
}
