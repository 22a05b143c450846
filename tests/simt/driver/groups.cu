// SPDX-License-Identifier: MIT
// Cooperative groups. With an argument, threads of a block wait at two barriers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <stdio.h>

namespace cg = cooperative_groups;

__global__ void groups(unsigned *out)
{
    __shared__ unsigned sums[16];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    const unsigned rank = block.thread_rank();
    unsigned sum = rank;
    for (unsigned d = tile.size() / 2; d; d /= 2)
        sum += tile.shfl_down(sum, d);
    if (tile.thread_rank() == 0)
        sums[tile.meta_group_rank()] = sum;
    block.sync();
    const unsigned most = cg::reduce(warp, rank, cg::greater<unsigned>());
    const unsigned whole = cg::reduce(tile, rank < 8 ? sums[rank] : 0u, cg::plus<unsigned>());
    warp.sync();
    const unsigned even = tile.ballot(rank % 2 == 0), low = tile.shfl(rank, 0);
    if (rank == 3)
        out[0] = most, out[1] = whole, out[2] = even, out[3] = low, out[4] = warp.meta_group_size(),
        out[5] = (unsigned)cg::this_grid().size(), out[6] = (unsigned)tile.any(rank == 3);
    else
        tile.any(0);
}

__global__ void apart()
{
    cg::thread_block block = cg::this_thread_block();
    if (threadIdx.x < 32)
        block.sync();
    else
        cg::sync(block);
}

int main(int argc, char **)
{
    unsigned *p, h[7];
    cudaMalloc(&p, sizeof h);
    groups<<<1, dim3(32, 2)>>>(p);
    cudaMemcpy(h, p, sizeof h, cudaMemcpyDefault);
    for (unsigned x : h)
        printf("%u ", x);
    if (argc > 1)
        apart<<<1, 64>>>();
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
