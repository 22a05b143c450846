// SPDX-License-Identifier: MIT
//
// The ladder of include/coarsen/reduce: the sum of an array of floats.

#include "ladder.h"
#include <float.h>
#include <math.h>

#define COARSEN_NAME simple
#define COARSEN_TYPE float
#include <coarsen/reduce/simple.h>

#define COARSEN_NAME convergent
#define COARSEN_TYPE float
#include <coarsen/reduce/convergent.h>

#define COARSEN_NAME shared
#define COARSEN_TYPE float
#include <coarsen/reduce/shared.h>

#define COARSEN_NAME         multiblock
#define COARSEN_TYPE         float
#define BLOCK_DIM            256
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/multiblock.h>

#define COARSEN_NAME         block_coarsened
#define COARSEN_TYPE         float
#define BLOCK_DIM            256
#define COARSE_FACTOR        4
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/block_coarsened.h>

#define COARSEN_NAME         coarsened
#define COARSEN_TYPE         float
#define BLOCK_DIM            256
#define COARSE_FACTOR        4
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/coarsened.h>

#define COARSEN_NAME  last_block
#define COARSEN_TYPE  float
#define BLOCK_DIM     256
#define COARSE_FACTOR 4
#include <coarsen/reduce/last_block.h>

#define COARSEN_NAME single_pass
#define COARSEN_TYPE float
#include <coarsen/reduce/single_pass.h>

static struct {
    size_t n, scratch_bytes;
    float *input, *data, *out; // data: the copy of input that a rung may overwrite
    void *scratch;
    double sum, tolerance;
} reduce;

static void reduce_begin(const ladder_input *input)
{
    double magnitude = 0;
    reduce.sum = 0;
    for (size_t i = 0; i < input->n; i++) {
        reduce.sum += input->values[i];
        magnitude += fabs((double)input->values[i]);
    }
    // In no rung an element takes part in more than n / 512 + 64 additions (the commits of
    // multiblock.h), and each rounds by at most half an epsilon.
    reduce.tolerance =
        input->exact ? 0 : ((double)input->n / 512 + 64) * (FLT_EPSILON / 2) * magnitude;

    reduce.n = input->n;
    const size_t last_bytes = last_block_scratch_bytes(input->n);
    const size_t single_bytes = single_pass_scratch_bytes(input->n); // the others need less
    reduce.scratch_bytes = last_bytes > single_bytes ? last_bytes : single_bytes;
    reduce.input = (float *)device_copy(input->values, input->n * sizeof(float));
    reduce.data = (float *)device_alloc(input->n * sizeof(float));
    reduce.out = (float *)device_alloc(sizeof(float));
    reduce.scratch = device_alloc(reduce.scratch_bytes);
}

static void reduce_reset(void)
{
    if (reduce.n > 0)
        CHECK(cudaMemcpyAsync(reduce.data, reduce.input, reduce.n * sizeof(float),
                              cudaMemcpyDeviceToDevice, 0));
    CHECK(cudaMemsetAsync(reduce.out, 0xff, sizeof(float), 0)); // a NaN
    // Every rung's does the same.
    CHECK(single_pass_scratch_init(reduce.scratch, reduce.scratch_bytes, 0));
}

static bool reduce_result(char text[LADDER_TEXT])
{
    float sum;
    CHECK(cudaMemcpy(&sum, reduce.out, sizeof(sum), cudaMemcpyDeviceToHost));
    snprintf(text, LADDER_TEXT, "%.8g", sum);
    return fabs(sum - reduce.sum) <= reduce.tolerance; // never of a NaN
}

static void reduce_end(void)
{
    CHECK(cudaFree(reduce.input));
    CHECK(cudaFree(reduce.data));
    CHECK(cudaFree(reduce.out));
    CHECK(cudaFree(reduce.scratch));
}

static size_t reduce_bytes(size_t n)
{
    return n * sizeof(float);
}

#define LAUNCH(rung)                                                                               \
    rung##_launch(reduce.data, reduce.out, reduce.n, reduce.scratch, reduce.scratch_bytes, 0)

static cudaError_t reduce_simple(void)
{
    return LAUNCH(simple);
}

static cudaError_t reduce_convergent(void)
{
    return LAUNCH(convergent);
}

static cudaError_t reduce_shared(void)
{
    return LAUNCH(shared);
}

static cudaError_t reduce_multiblock(void)
{
    return LAUNCH(multiblock);
}

static cudaError_t reduce_block_coarsened(void)
{
    return LAUNCH(block_coarsened);
}

static cudaError_t reduce_coarsened(void)
{
    return LAUNCH(coarsened);
}

static cudaError_t reduce_last_block(void)
{
    return LAUNCH(last_block);
}

static cudaError_t reduce_single_pass(void)
{
    return LAUNCH(single_pass);
}

#undef LAUNCH

static const ladder_rung reduce_rungs[] = {
    {"simple", "the tree, as drawn",
     "One block; thread t keeps element 2t. The threads that still work move apart, so\n"
     "warps run almost empty. Every step of the tree goes to global memory.",
     reduce_simple},
    {"convergent", "neighbours at work",
     "Thread t keeps element t. The threads at work stay neighbours: idle warps leave,\n"
     "and the accesses of a warp fall into few 128-byte lines.",
     reduce_convergent},
    {"shared", "the tree on the chip",
     "Global memory is read once, and each thread adds its elements as it reads them.\n"
     "The steps of the tree stay in shared memory, on the chip.",
     reduce_shared},
    {"multiblock", "many blocks",
     "One block per 512 elements, which adds its sum to the result by an atomic. This\n"
     "fills the device. The price: every block has a tree, its barriers and an atomic.",
     reduce_multiblock},
    {"block_coarsened", "4 trees each",
     "A block has the trees of 4 blocks of multiblock side by side, with one barrier for\n"
     "each step of all. Idle threads as before, and more shared memory.",
     reduce_block_coarsened},
    {"coarsened", "pairs, then the tree",
     "A thread first adds 4 pairs in a register, with no barrier and no idle thread: 4\n"
     "times fewer trees, barriers and atomics than in multiblock.",
     reduce_coarsened},
    {"last_block", "no commits",
     "Each block leaves its sum in memory, and the last block to finish adds them up: one\n"
     "launch, and the same bits on every run. The price: a fence per block.",
     reduce_last_block},
    {"single_pass", "wide loads, shuffles",
     "16 bytes per load, and shuffles for the tree's last steps. The last block to start\n"
     "collects the others' sums, each of which carries its own flag: no fence.",
     reduce_single_pass},
};

static const ladder reduce_ladder = {
    "Reduction: the sum of an array",
    reduce_rungs,
    sizeof(reduce_rungs) / sizeof(*reduce_rungs),
    reduce_bytes,
    reduce_begin,
    reduce_reset,
    reduce_result,
    reduce_end,
};
