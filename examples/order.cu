// SPDX-License-Identifier: MIT
//
// order BLOCKS: in which order the blocks of a launch came to a lock, and which of them was the last to finish. Nothing
// is promised about that: no block may wait for one that may not have begun.

#include "device.h"

#define COARSEN_NAME blocks
#include <coarsen/block/grid.h>

typedef struct {
    unsigned int lock, arrived, taken, last; // all 0 before the launch
} shared_by_all;

static __global__ void come(shared_by_all *all, unsigned int *order)
{
    if (threadIdx.x == 0) { // one thread of a block takes the lock
        blocks_lock(&all->lock);
        order[all->taken++] = blockIdx.x;
        blocks_unlock(&all->lock);
    }
    if (blocks_last_block(&all->arrived) && threadIdx.x == 0)
        all->last = blockIdx.x;
}

int main(int argc, char **argv)
{
    size_t blocks;
    if (argc != 2 || !whole(argv[1], &blocks) || blocks < 1 || blocks > 1 << 20)
        return usage("order BLOCKS, from 1 to 1048576");
    const shared_by_all none = {};
    shared_by_all *const all = (shared_by_all *)device_copy(&none, sizeof(none));
    unsigned int *const out = (unsigned int *)device_alloc(blocks * sizeof(*out));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned int)blocks);
    config.blockDim = dim3(128);

    CHECK(cudaLaunchKernelEx(&config, come, all, out));

    unsigned int *const order = (unsigned int *)host_copy(out, blocks * sizeof(*order));
    shared_by_all *const end = (shared_by_all *)host_copy(all, sizeof(*end));
    for (size_t b = 0; b < blocks; b++)
        printf("%u%c", order[b], b % 16 == 15 || b + 1 == blocks ? '\n' : ' ');
    printf("the last to finish: %u\n", end->last);
    device_free(all, out, NULL);
    free(order);
    free(end);
    return finish();
}
