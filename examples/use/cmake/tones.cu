// SPDX-License-Identifier: MIT
//
// Histograms of random bytes, checked.
// Exit status: 0; 1 when a count is wrong or the device fails; 77 without a GPU.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COARSEN_NAME tones
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#include <coarsen/histogram.h>

static void check(cudaError_t status)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "tones: %s\n", cudaGetErrorString(status));
        exit(1);
    }
}

int main(void)
{
    static const size_t sizes[] = {0, 1, 1000, 100003, 5000000};
    const size_t most = 5000001;
    int devices = 0, wrong = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("tones: no GPU");
        return 77;
    }

    unsigned char *const host = (unsigned char *)malloc(most), *in;
    for (size_t i = 0; host && i < most; i++)
        host[i] = (unsigned char)(rand() % 16 * (rand() % 16)); // some far more often than others
    unsigned int *counts, got[256], exact[256];
    check(cudaMalloc((void **)&in, most));
    check(cudaMalloc((void **)&counts, sizeof(got)));
    check(cudaMemcpy(in, host, most, cudaMemcpyHostToDevice));

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        for (size_t offset = 0; offset <= 1; offset++) { // any alignment works
            const size_t n = sizes[k];
            check(tones_launch(in + offset, counts, n, 0));
            check(cudaMemcpy(got, counts, sizeof(got), cudaMemcpyDeviceToHost));
            memset(exact, 0, sizeof(exact));
            for (size_t i = 0; i < n; i++)
                exact[host[offset + i]]++;
            const bool right = memcmp(got, exact, sizeof(got)) == 0;
            wrong += !right;
            printf("%7zu bytes at +%zu, %u of them 0: %s\n", n, offset, got[0],
                   right ? "right" : "WRONG");
        }
    check(cudaFree(in));
    check(cudaFree(counts));
    free(host);
    return wrong > 0;
}
