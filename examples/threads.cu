// SPDX-License-Identifier: MIT
//
// threads: how the threads of a block are split into warps, which lanes are idle then, and when each
// thread read the clock.
//
// The blocks and the clock table are those of N. Wilt, The CUDA Handbook, section 7.3.

#include "device.h"
#include <coarsen/thread.h>

static __global__ void record(coarsen_clock *records)
{
    coarsen_clock_record(records);
}

// Runs one block of width x height threads. Returns one record per thread; the caller frees them.
static coarsen_clock *run_block(unsigned int width, unsigned int height)
{
    const size_t bytes = (size_t)width * height * sizeof(coarsen_clock);
    coarsen_clock *const on_device = (coarsen_clock *)device_alloc(bytes);
    coarsen_clock *const records = (coarsen_clock *)malloc(bytes);
    if (!records) {
        fprintf(stderr, "threads: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(width, height);
    for (int i = 0; i < 2; i++) // the first launch also loads the kernel's code
        CHECK(cudaLaunchKernelEx(&config, record, on_device));
    CHECK(cudaMemcpy(records, on_device, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(on_device));
    return records;
}

// Draws each thread at its place in the block, as the letter of its warp. Then each warp, lane by lane.
static void print_warps(unsigned int width, unsigned int height)
{
    coarsen_clock *const records = run_block(width, height);
    const unsigned int threads = width * height, warps = (threads + 31) / 32;

    printf("\n%u x %u: %u threads, %u warp%s, %u of %u lanes idle (%.1f%%)\n", width, height,
           threads, warps, warps == 1 ? "" : "s", coarsen_idle_lanes(threads), 32 * warps,
           100.0 * coarsen_idle_lanes(threads) / (32 * warps));
    for (unsigned int row = 0; row < (height > warps ? height : warps); row++) {
        printf("    ");
        for (unsigned int x = 0; x < 32; x++)
            putchar(row < height && x < width ? 'A' + (int)records[row * width + x].warp : ' ');
        if (row < warps) {
            printf("    warp %c  ", 'A' + (int)row);
            for (unsigned int lane = 0; lane < 32; lane++)
                putchar(row * 32 + lane < threads ? '#' : '.');
        }
        putchar('\n');
    }
    free(records);
}

// The clock of each thread, at its place in the block, in cycles since the first.
static void print_clocks(unsigned int width, unsigned int height)
{
    coarsen_clock *const records = run_block(width, height);
    long long first = records[0].clock, last = records[0].clock;
    for (unsigned int i = 0; i < width * height; i++) {
        first = records[i].clock < first ? records[i].clock : first;
        last = records[i].clock > last ? records[i].clock : last;
    }
    printf("\n%u x %u: the clock at each thread, in cycles since the first (the last: %lld)\n",
           width, height, last - first);
    const int cell = last - first < 100000 ? 6 : 10;
    for (unsigned int y = 0; y < height; y++) {
        for (unsigned int x = 0; x < width; x++)
            printf("%*lld", cell, records[y * width + x].clock - first);
        putchar('\n');
    }
    free(records);
}

int main(void)
{
    device_require("threads");
    printf("Threads fill warps in the order of their id, x + width y. On the left the block, each\n"
           "thread as the letter of its warp; on the right the warps, a lane in use as #.\n");
    const unsigned int blocks[][2] = {{32, 1}, {16, 2}, {8, 4},  {28, 1},
                                      {14, 2}, {7, 4},  {16, 8}, {14, 8}};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        print_warps(blocks[i][0], blocks[i][1]);

    printf(
        "\nThe lanes of a warp read the clock together; the warps of a block one after the other.\n"
        "A row of a 14 x 8 block is no half of a warp, so warps end in the middle of its rows.\n");
#ifdef SIMT
    printf("(On the CPU device the clock is the CPU's, and lanes take turns.)\n");
#endif
    print_clocks(16, 8);
    print_clocks(14, 8);
    return 0;
}
