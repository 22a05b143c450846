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

// Runs blocks of width x height threads. Returns one record per thread; the caller frees them. ms: of the launch.
static coarsen_clock *run_blocks(unsigned int blocks, unsigned int width, unsigned int height,
                                 float *ms)
{
    const size_t bytes = (size_t)blocks * width * height * sizeof(coarsen_clock);
    coarsen_clock *const on_device = (coarsen_clock *)device_alloc(bytes);
    coarsen_clock *const records = (coarsen_clock *)malloc(bytes);
    if (!records) {
        fprintf(stderr, "threads: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(width, height);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaLaunchKernelEx(&config, record, on_device)); // also loads the kernel's code
    CHECK(cudaEventRecord(begin, 0));
    CHECK(cudaLaunchKernelEx(&config, record, on_device));
    CHECK(cudaEventRecord(end, 0));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(ms, begin, end));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaMemcpy(records, on_device, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(on_device));
    return records;
}

// Draws each thread at its place in the block, as the letter of its warp. Then each warp, lane by lane.
static void print_warps(unsigned int width, unsigned int height)
{
    float ms;
    coarsen_clock *const records = run_blocks(1, width, height, &ms);
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

// The clock of each thread of two blocks, at its place in the block, in cycles since the block's first; behind each
// row its threads' ids, and the warps that they are in.
static void print_clocks(unsigned int width, unsigned int height)
{
    float ms;
    const unsigned int threads = width * height, blocks = 2;
    coarsen_clock *const records = run_blocks(blocks, width, height, &ms);
    printf("\n%u blocks of %u x %u: %.4f ms for %u threads, %.3f us each\n", blocks, width, height,
           (double)ms, blocks * threads, 1000.0 * (double)ms / (blocks * threads));
    for (unsigned int b = 0; b < blocks; b++) {
        const coarsen_clock *const block = records + b * threads;
        long long first = block[0].clock, last = block[0].clock;
        for (unsigned int i = 0; i < threads; i++) {
            first = block[i].clock < first ? block[i].clock : first;
            last = block[i].clock > last ? block[i].clock : last;
        }
        const int cell = last - first < 10000 ? 5 : 9;
        printf("block %u, in cycles since its first thread; the last: %lld\n", b, last - first);
        for (unsigned int y = 0; y < height; y++) {
            const unsigned int id = y * width, end = id + width - 1;
            for (unsigned int x = 0; x < width; x++)
                printf("%*lld", cell, block[id + x].clock - first);
            printf("   ids %u to %u, warp", id, end);
            for (unsigned int warp = id / 32; warp <= end / 32; warp++)
                printf(" %c", 'A' + (int)warp);
            putchar('\n');
        }
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
        "\nThe lanes of a warp read the clock together; the warps of a block in an order that the\n"
        "hardware chooses. A row of a 14 x 8 block is no half of a warp, so warps end in the "
        "middle\n"
        "of its rows. Each multiprocessor has a clock of its own: two blocks can't be compared.\n");
#ifdef SIMT
    printf("(On the CPU device the clock is the CPU's, and lanes take turns.)\n");
#endif
    print_clocks(16, 8);
    print_clocks(14, 8);
    return 0;
}
