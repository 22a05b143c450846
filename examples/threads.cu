// SPDX-License-Identifier: MIT
//
// threads WIDTH HEIGHT: two blocks of WIDTH x HEIGHT threads: the warp of each thread, as a letter, and when it read
// the clock, in cycles since the first of its block (on the CPU device, of the CPU). Try 16 8, and 14 8.
//
// The tables are those of N. Wilt, The CUDA Handbook, section 7.3.

#include "device.h"
#include <coarsen/thread.h>

static __global__ void record(coarsen_clock *records)
{
    coarsen_clock_record(records);
}

int main(int argc, char **argv)
{
    size_t width, height;
    if (argc != 3 || !whole(argv[1], &width) || !whole(argv[2], &height) || width < 1 ||
        width > 1024 || height < 1 || height > 1024 / width)
        return usage("threads WIDTH HEIGHT, of up to 1024 threads");
    const unsigned int threads = (unsigned int)(width * height), idle = coarsen_idle_lanes(threads);
    const size_t bytes = 2 * threads * sizeof(coarsen_clock);
    coarsen_clock *const out = (coarsen_clock *)device_alloc(bytes);
    cudaEvent_t begin, end;
    float ms;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2);
    config.blockDim = dim3((unsigned int)width, (unsigned int)height);

    CHECK(cudaLaunchKernelEx(&config, record, out)); // once before, which loads the kernel's code
    CHECK(cudaEventRecord(begin, 0));
    CHECK(cudaLaunchKernelEx(&config, record, out));
    CHECK(cudaEventRecord(end, 0));

    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    printf("2 blocks of %zu x %zu: %u threads each, %u of %u lanes idle, %.4f ms\n", width, height,
           threads, idle, threads + idle, (double)ms);
    coarsen_clock *const all = (coarsen_clock *)host_copy(out, bytes), *block = all;
    for (int b = 0; b < 2; b++, block += threads) {
        long long first = block[0].clock;
        for (unsigned int i = 1; i < threads; i++)
            first = block[i].clock < first ? block[i].clock : first;
        printf("block %d\n", b);
        for (unsigned int i = 0; i < threads; i++) {
            printf(" %c%-5lld", "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"[block[i].warp],
                   block[i].clock - first);
            if ((i + 1) % width == 0)
                printf("  ids %u to %u\n", i + 1 - (unsigned int)width, i);
        }
    }
    free(all);
    device_free(out, NULL);
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return finish();
}
