// SPDX-License-Identifier: MIT
//
// coarsen/thread.h: every index, for blocks and grids of one, two and three dimensions, full warps or not.

#include "device.h"

#include <coarsen/thread.h>

typedef struct {
    unsigned int thread, threads, warps, warp, lane;
    unsigned long long block, blocks, global, grid;
} where;

static __global__ void record(where *at, coarsen_clock *clocks)
{
    where here;
    here.thread = coarsen_thread_id();
    here.threads = coarsen_block_threads();
    here.warps = coarsen_block_warps();
    here.warp = coarsen_warp_id();
    here.lane = coarsen_lane_id();
    here.block = coarsen_block_id();
    here.blocks = coarsen_grid_blocks();
    here.global = coarsen_global_id();
    here.grid = coarsen_grid_threads();
    at[here.global] = here;
    coarsen_clock_record(clocks);
}

// Against the definition: the threads of a block, and the blocks of a grid, counted with x fastest.
static void check(dim3 grid, dim3 block)
{
    const unsigned int threads = block.x * block.y * block.z, blocks = grid.x * grid.y * grid.z;
    const size_t n = (size_t)threads * blocks;
    std::vector<where> at(n);
    std::vector<coarsen_clock> clocks(n);
    test_array on_device(n * sizeof(where)), clocks_on_device(n * sizeof(coarsen_clock));
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    CHECK(cudaLaunchKernelEx(&config, record, (where *)on_device.get(),
                             (coarsen_clock *)clocks_on_device.get()));
    CHECK(cudaDeviceSynchronize());
    on_device.read(at.data());
    clocks_on_device.read(clocks.data());

    bool ok = on_device.intact() && clocks_on_device.intact();
    size_t i = 0;
    for (unsigned int b = 0; b < blocks; b++)
        for (unsigned int t = 0; t < threads; t++, i++) {
            ok &=
                at[i].thread == t && at[i].threads == threads && at[i].warps == (threads + 31) / 32;
            ok &= at[i].warp == t / 32 && at[i].lane == t % 32;
            ok &=
                at[i].block == b && at[i].blocks == blocks && at[i].global == i && at[i].grid == n;
            ok &= clocks[i].block == b && clocks[i].warp == t / 32 && clocks[i].lane == t % 32;
        }
    tap_ok(ok, "grid %ux%ux%u of blocks %ux%ux%u", grid.x, grid.y, grid.z, block.x, block.y,
           block.z);
}

#ifdef SIMT
// A number of one's own by blockDim where gridDim is meant: with one row of blocks it is right, and else it leaves gaps
// or numbers two blocks alike.
static __global__ void planted_number(unsigned int *seen)
{
    const unsigned int block = blockIdx.x + blockDim.x * blockIdx.y;
    const unsigned int threads = blockDim.x * blockDim.y;
    seen[block * threads + threadIdx.x + blockDim.x * threadIdx.y] = 1;
}

static void check_planted(dim3 grid, dim3 block, simt_kind kind)
{
    unsigned int *seen;
    CHECK(cudaMalloc((void **)&seen, sizeof(int) * grid.x * grid.y * block.x * block.y));
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    simt_print_reports(0);
    cudaError_t status = cudaLaunchKernelEx(&config, planted_number, seen);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    simt_print_reports(1);
    const simt_report report = *simt_last_report();
    tap_ok(report.kind == kind && (status == cudaSuccess) == (kind == SIMT_OK),
           "blockDim for gridDim, %u x %u blocks of %u x %u: %s", grid.x, grid.y, block.x, block.y,
           kind == SIMT_OK ? "goes unseen" : simt_kind_name(report.kind));
    cudaDeviceReset();
}
#endif

int main(void)
{
    test_begin();
    check(dim3(1), dim3(1));
    check(dim3(5), dim3(33));
    check(dim3(3, 2), dim3(16, 8));
    check(dim3(2, 3), dim3(14, 8));
    check(dim3(2, 3, 4), dim3(7, 4, 3));
    check(dim3(1, 1, 7), dim3(1, 1, 64));
    check(dim3(4), dim3(1024));

    // The blocks of the literature, and how many lanes of their last warp they leave idle.
    const unsigned int blocks[][3] = {{16, 2, 0}, {32, 1, 0}, {8, 4, 0},   {14, 2, 4},
                                      {28, 1, 4}, {7, 4, 4},  {14, 8, 16}, {16, 8, 0}};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        tap_ok(coarsen_idle_lanes(blocks[i][0] * blocks[i][1]) == blocks[i][2],
               "a %u x %u block idles %u lanes", blocks[i][0], blocks[i][1], blocks[i][2]);
#ifdef SIMT
    simt_counts counts;
    check(dim3(3), dim3(14, 8));
    simt_last_counts(&counts);
    tap_ok(counts.idle_lanes == 3 * 16 && counts.warps == 3 * 4,
           "three 14 x 8 blocks: %llu idle lanes of %llu warps", counts.idle_lanes, counts.warps);
    check_planted(dim3(2, 1), dim3(16, 8), SIMT_OK);
    check_planted(dim3(2, 3), dim3(16, 8), SIMT_OUT_OF_BOUNDS);
#endif
    return tap_done();
}
