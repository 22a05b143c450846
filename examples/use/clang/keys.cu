// SPDX-License-Identifier: MIT
//
// Sorts random keys with their places, checked. For clang as for nvcc.
// Exit status: 0; 1 when the order is wrong or the device fails; 77 without a GPU.

#include <stdio.h>
#include <stdlib.h>

#define COARSEN_NAME  by_key
#define COARSEN_TYPE  unsigned int
#define COARSEN_VALUE unsigned int
#include <coarsen/sort.h>

static void check(cudaError_t status)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "keys: %s\n", cudaGetErrorString(status));
        exit(1);
    }
}

int main(void)
{
    static const size_t sizes[] = {0, 1, 1000, 20003, 300000};
    const size_t most = 300001, all = most * sizeof(unsigned int);
    int devices = 0, wrong = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("keys: no GPU");
        return 77;
    }

    unsigned int *const host = (unsigned int *)malloc(all), *const got =
                                                                (unsigned int *)malloc(all);
    unsigned int *const from = (unsigned int *)malloc(all), *const place =
                                                                (unsigned int *)malloc(all);
    if (!host || !got || !from || !place)
        return 1;
    for (size_t i = 0; i < most; i++) {
        host[i] = (unsigned int)rand() % 100000 * 40000; // some more than once: the sort is stable
        place[i] = (unsigned int)i;
    }
    unsigned int *keys, *places;
    void *scratch;
    const size_t bytes = by_key_scratch_bytes(most); // never falls as n grows: enough for all
    check(cudaMalloc((void **)&keys, all));
    check(cudaMalloc((void **)&places, all));
    check(cudaMalloc(&scratch, bytes));
    check(by_key_scratch_init(scratch, bytes, 0)); // once

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        for (size_t offset = 0; offset <= 1; offset++) { // elements: any alignment works
            const size_t n = sizes[k];
            check(cudaMemcpy(keys, host, all, cudaMemcpyHostToDevice));
            check(cudaMemcpy(places, place, all, cudaMemcpyHostToDevice));
            check(by_key_launch(keys + offset, keys + offset, places + offset, places + offset, n,
                                scratch, bytes, 0));
            check(cudaMemcpy(got, keys, all, cudaMemcpyDeviceToHost));
            check(cudaMemcpy(from, places, all, cudaMemcpyDeviceToHost));
            size_t bad = 0;
            for (size_t i = offset; i < offset + n; i++) {
                const bool here = from[i] >= offset && from[i] < offset + n;
                bad += !here || got[i] != host[from[i]];
                if (i > offset)
                    bad += got[i - 1] > got[i] || (got[i - 1] == got[i] && from[i - 1] >= from[i]);
            }
            wrong += bad > 0;
            printf("%7zu keys at +%zu: %s\n", n, offset, bad ? "WRONG" : "right");
        }
    check(cudaFree(keys));
    check(cudaFree(places));
    check(cudaFree(scratch));
    free(host);
    free(got);
    free(from);
    free(place);
    return wrong > 0;
}
