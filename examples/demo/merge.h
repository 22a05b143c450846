// SPDX-License-Identifier: MIT
//
// The ladder of include/coarsen/merge: the two halves of an array of floats, each sorted, as one.

#include "ladder.h"
#include <string.h>

#define COARSEN_NAME merge_basic
#define COARSEN_TYPE float
#include <coarsen/merge/basic.h>

#define COARSEN_NAME merge_tiled
#define COARSEN_TYPE float
#include <coarsen/merge/tiled.h>

#define COARSEN_NAME merge_circular
#define COARSEN_TYPE float
#include <coarsen/merge/circular.h>

#define COARSEN_NAME merge_pipelined
#define COARSEN_TYPE float
#include <coarsen/merge/pipelined.h>

#define COARSEN_NAME merge_partitioned
#define COARSEN_TYPE float
#include <coarsen/merge/partitioned.h>

static struct {
    size_t m, n;
    float *a, *b, *out;   // a of m, b of n
    float *wanted, *host; // both on the host
} halves;

static void merge_begin(const ladder_input *input)
{
    const size_t bytes = input->n * sizeof(float);
    halves.m = input->n / 2;
    halves.n = input->n - halves.m;
    halves.wanted = (float *)host_alloc(bytes);
    halves.host = (float *)host_alloc(bytes);
    if (bytes > 0)
        memcpy(halves.wanted, input->values, bytes);
    qsort(halves.wanted, halves.m, sizeof(float), ladder_compare);
    qsort(halves.wanted + halves.m, halves.n, sizeof(float), ladder_compare);
    halves.a = (float *)device_copy(halves.wanted, halves.m * sizeof(float));
    halves.b = (float *)device_copy(halves.wanted + halves.m, halves.n * sizeof(float));
    halves.out = (float *)device_alloc(bytes);
    qsort(halves.wanted, input->n, sizeof(float), ladder_compare);
}

static void merge_reset(void)
{
    if (halves.m + halves.n > 0)
        CHECK(cudaMemsetAsync(halves.out, 0xff, (halves.m + halves.n) * sizeof(float), 0)); // NaN
}

// The one in the middle. It is right if all are.
static bool merge_result(char text[LADDER_TEXT])
{
    const size_t all = halves.m + halves.n;
    bool right = true;
    if (all > 0)
        CHECK(cudaMemcpy(halves.host, halves.out, all * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < all; i++)
        right &= halves.host[i] == halves.wanted[i]; // 0 and -0 are equal
    snprintf(text, LADDER_TEXT, "%.8g", all > 0 ? halves.host[all / 2] : 0.0);
    return right;
}

static void merge_end(void)
{
    CHECK(cudaFree(halves.a));
    CHECK(cudaFree(halves.b));
    CHECK(cudaFree(halves.out));
    free(halves.wanted);
    free(halves.host);
}

static size_t merge_bytes(size_t n)
{
    return 2 * n * sizeof(float);
}

#define LAUNCH(rung) merge_##rung##_launch(halves.a, halves.m, halves.b, halves.n, halves.out, 0)

static cudaError_t merge_run_basic(void)
{
    return LAUNCH(basic);
}

static cudaError_t merge_run_tiled(void)
{
    return LAUNCH(tiled);
}

static cudaError_t merge_run_circular(void)
{
    return LAUNCH(circular);
}

static cudaError_t merge_run_pipelined(void)
{
    return LAUNCH(pipelined);
}

static cudaError_t merge_run_partitioned(void)
{
    return LAUNCH(partitioned);
}

#undef LAUNCH

static const ladder_rung merge_rungs[] = {
    {"basic", "a search per run",
     "A thread makes 8 neighbours of the result. A binary search in global memory tells\n"
     "where they begin in each half. The price: a warp's accesses are far apart.",
     merge_run_basic},
    {"tiled", "in shared memory",
     "Two searches in global memory tell what a block's tile needs. Its threads bring\n"
     "that to shared memory, and search and merge there. The price: they all wait.",
     merge_run_tiled},
    {"circular", "8 tiles per search",
     "A block walks over 8 tiles. What one of them leaves stays in a circular buffer. The\n"
     "price: shared memory for three tiles, and they come one after the other.",
     merge_run_circular},
    {"pipelined", "copies meanwhile",
     "While a tile is merged, the keys for the next are copied to the places that the\n"
     "last has left; a warp searches with 32 probes at a time. The price: few threads.",
     merge_run_pipelined},
    {"partitioned", "ends searched first",
     "A kernel finds where all tiles end, so a tile takes less shared memory, and four\n"
     "times as many threads run: while some wait for keys, others merge. (merge.h)",
     merge_run_partitioned},
};

static const ladder merge_ladder = {
    "Merge: the two halves of the array, each sorted, as one; the result is the one in the middle",
    merge_rungs,
    sizeof(merge_rungs) / sizeof(*merge_rungs),
    merge_bytes,
    merge_begin,
    merge_reset,
    merge_result,
    merge_end,
};
