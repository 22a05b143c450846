// SPDX-License-Identifier: MIT
//
// The ladder of include/coarsen/map: the squares of an array of floats.

#include "ladder.h"
#include <math.h>

#define COARSEN_NAME   map_single
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) ((x) * (x))
#include <coarsen/map/single.h>

#define COARSEN_NAME   map_consecutive
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) ((x) * (x))
#include <coarsen/map/consecutive.h>

#define COARSEN_NAME   map_interleaved
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) ((x) * (x))
#include <coarsen/map/interleaved.h>

#define COARSEN_NAME   map_vectorized
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) ((x) * (x))
#include <coarsen/map/vectorized.h>

static struct {
    size_t n;
    const float *input;
    float *in, *out, *host; // out on the device and on the host
} map;

static void map_begin(const ladder_input *input)
{
    const size_t bytes = input->n * sizeof(float);
    map.n = input->n;
    map.input = input->values;
    map.in = (float *)device_copy(input->values, bytes);
    map.out = (float *)device_alloc(bytes);
    map.host = (float *)host_alloc(bytes);
}

static void map_reset(void)
{
    if (map.n > 0)
        CHECK(cudaMemsetAsync(map.out, 0xff, map.n * sizeof(float), 0)); // NaN
}

// The sum of the squares, in double. It is right if every square is.
static bool map_result(char text[LADDER_TEXT])
{
    bool right = true;
    double sum = 0;
    if (map.n > 0)
        CHECK(cudaMemcpy(map.host, map.out, map.n * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < map.n; i++) {
        const double square = (double)map.input[i] * map.input[i];
        right &= map.host[i] == (float)square;
        sum += map.host[i];
    }
    snprintf(text, LADDER_TEXT, "%.5g", sum);
    return right;
}

static void map_end(void)
{
    CHECK(cudaFree(map.in));
    CHECK(cudaFree(map.out));
    free(map.host);
}

static size_t map_bytes(size_t n)
{
    return 2 * n * sizeof(float);
}

static cudaError_t map_run_single(void)
{
    return map_single_launch(map.in, map.out, map.n, 0);
}

static cudaError_t map_run_consecutive(void)
{
    return map_consecutive_launch(map.in, map.out, map.n, 0);
}

static cudaError_t map_run_interleaved(void)
{
    return map_interleaved_launch(map.in, map.out, map.n, 0);
}

static cudaError_t map_run_vectorized(void)
{
    return map_vectorized_launch(map.in, map.out, map.n, 0);
}

static const ladder_rung map_rungs[] = {
    {"single", "1 element per thread",
     "Neighbours read neighbours, so there are as few requests as possible. But a thread\n"
     "has only 4 bytes on their way, and that does not keep the memory busy.",
     map_run_single},
    {"consecutive", "4 neighbours each",
     "A thread makes 4 elements in a row. The lanes of a warp are now 16 bytes apart, and\n"
     "each access touches 4 times as many lines: coarser, and slower.",
     map_run_consecutive},
    {"interleaved", "4, a block apart",
     "Still 4 elements per thread, but BLOCK_DIM apart: the lanes are neighbours again.\n"
     "All 4 loads are on their way before the thread waits for the first.",
     map_run_interleaved},
    {"vectorized", "16 bytes per access",
     "4 neighbours again, but in one access: a quarter of the instructions.", map_run_vectorized},
};

static const ladder map_ladder = {
    "Map: the squares of an array",
    map_rungs,
    sizeof(map_rungs) / sizeof(*map_rungs),
    map_bytes,
    map_begin,
    map_reset,
    map_result,
    map_end,
};
