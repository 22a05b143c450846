// SPDX-License-Identifier: MIT
//
// Running sums of random ints, in place, checked.
// Exit status: 0; 1 when a sum is wrong or the device fails; 77 without a GPU.

#include <stdio.h>
#include <stdlib.h>

#define COARSEN_NAME      running
#define COARSEN_TYPE      int
#define COARSEN_EXCLUSIVE 1
#include <coarsen/scan.h>

static void check(cudaError_t status)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "running: %s\n", cudaGetErrorString(status));
        exit(1);
    }
}

int main(void)
{
    static const size_t sizes[] = {0, 1, 1000, 100003, 5000000};
    const size_t most = 5000001;
    int devices = 0, wrong = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("running: no GPU");
        return 77;
    }

    int *const host = (int *)malloc(most * sizeof(int)), *got, *data;
    got = (int *)malloc(most * sizeof(int));
    if (!host || !got)
        return 1;
    for (size_t i = 0; i < most; i++)
        host[i] = rand() % 201 - 100;
    void *scratch;
    const size_t bytes = running_scratch_bytes(most); // never falls as n grows: enough for all
    check(cudaMalloc((void **)&data, most * sizeof(int)));
    check(cudaMalloc(&scratch, bytes));
    check(running_scratch_init(scratch, bytes, 0)); // once

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        for (size_t offset = 0; offset <= 1; offset++) { // elements: any alignment works
            const size_t n = sizes[k];
            check(cudaMemcpy(data, host, most * sizeof(int), cudaMemcpyHostToDevice));
            check(running_launch(data + offset, data + offset, n, scratch, bytes, 0));
            check(cudaMemcpy(got, data, most * sizeof(int), cudaMemcpyDeviceToHost));
            int sum = 0, bad = 0;
            for (size_t i = 0; i < n; i++) {
                bad += got[offset + i] != sum;
                sum += host[offset + i];
            }
            wrong += bad > 0;
            printf("%7zu ints at +%zu, in all %d: %s\n", n, offset, sum, bad ? "WRONG" : "right");
        }
    check(cudaFree(data));
    check(cudaFree(scratch));
    free(host);
    free(got);
    return wrong > 0;
}
