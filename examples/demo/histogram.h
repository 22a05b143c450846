// SPDX-License-Identifier: MIT
//
// The ladder of include/coarsen/histogram: how many floats fall into each of 64 even bins, from the
// least to the greatest.

#include "ladder.h"
#include <string.h>

#define HISTOGRAM_BINS 64

// The least value, and how many bins there are per 1.0. histogram_begin sets it for the device.
typedef struct {
    float least, bins_per_one;
} histogram_scale;
static __constant__ histogram_scale histogram_on_device;

static __host__ __device__ int histogram_bin_of(float x, histogram_scale scale)
{
    const int bin = (int)((x - scale.least) * scale.bins_per_one);
    return bin < HISTOGRAM_BINS ? bin : HISTOGRAM_BINS - 1; // the greatest value is in the last
}

static __device__ int histogram_bin(float x)
{
    return histogram_bin_of(x, histogram_on_device);
}

#define COARSEN_NAME basic
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#include <coarsen/histogram/basic.h>

#define COARSEN_NAME private_global
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#include <coarsen/histogram/private_global.h>

#define COARSEN_NAME private_shared
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#include <coarsen/histogram/private_shared.h>

#define COARSEN_NAME histogram_contiguous
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#define CFACTOR      4
#include <coarsen/histogram/contiguous.h>

#define COARSEN_NAME histogram_interleaved
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#define CFACTOR      4
#include <coarsen/histogram/interleaved.h>

#define COARSEN_NAME histogram_vectorized
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#define CFACTOR      4
#include <coarsen/histogram/vectorized.h>

#define COARSEN_NAME aggregated
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#define CFACTOR      4
#include <coarsen/histogram/aggregated.h>

#define COARSEN_NAME per_lane
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#include <coarsen/histogram/per_lane.h>

#define COARSEN_NAME partitioned
#define COARSEN_TYPE float
#define NUM_BINS     HISTOGRAM_BINS
#define COARSEN_BIN  histogram_bin
#include <coarsen/histogram/partitioned.h>

static struct {
    size_t n, scratch_bytes;
    float *input;
    void *scratch;
    unsigned int *counts, wanted[HISTOGRAM_BINS];
} histogram;

static void histogram_begin(const ladder_input *input)
{
    float least = input->n > 0 ? input->values[0] : 0, greatest = least;
    for (size_t i = 0; i < input->n; i++) {
        least = input->values[i] < least ? input->values[i] : least;
        greatest = input->values[i] > greatest ? input->values[i] : greatest;
    }
    const float range = greatest - least;
    const histogram_scale scale = {least, range > 0 ? HISTOGRAM_BINS / range : 0};
    CHECK(cudaMemcpyToSymbol(histogram_on_device, &scale, sizeof(scale)));
    memset(histogram.wanted, 0, sizeof(histogram.wanted));
    for (size_t i = 0; i < input->n; i++)
        histogram.wanted[histogram_bin_of(input->values[i], scale)]++;

    histogram.n = input->n;
    const size_t copies = private_global_scratch_bytes(input->n);
    const size_t lists = partitioned_scratch_bytes(input->n); // the others take none
    histogram.scratch_bytes = copies > lists ? copies : lists;
    histogram.input = (float *)device_copy(input->values, input->n * sizeof(float));
    histogram.scratch = device_alloc(histogram.scratch_bytes);
    histogram.counts = (unsigned int *)device_alloc(sizeof(histogram.wanted));
}

static void histogram_reset(void)
{
    CHECK(cudaMemsetAsync(histogram.counts, 0xa5, sizeof(histogram.wanted), 0));
}

// The count of the fullest bin.
static bool histogram_result(char text[LADDER_TEXT])
{
    unsigned int counts[HISTOGRAM_BINS], most = 0;
    CHECK(cudaMemcpy(counts, histogram.counts, sizeof(counts), cudaMemcpyDeviceToHost));
    for (int bin = 0; bin < HISTOGRAM_BINS; bin++)
        most = counts[bin] > most ? counts[bin] : most;
    snprintf(text, LADDER_TEXT, "%u", most);
    return memcmp(counts, histogram.wanted, sizeof(counts)) == 0;
}

static void histogram_end(void)
{
    CHECK(cudaFree(histogram.input));
    CHECK(cudaFree(histogram.scratch));
    CHECK(cudaFree(histogram.counts));
}

static size_t histogram_bytes(size_t n)
{
    return n * sizeof(float);
}

#define LAUNCH(rung) rung##_launch(histogram.input, histogram.counts, histogram.n, 0)

static cudaError_t histogram_basic(void)
{
    return LAUNCH(basic);
}

static cudaError_t histogram_private_global(void)
{
    return private_global_launch(histogram.input, histogram.counts, histogram.n, histogram.scratch,
                                 histogram.scratch_bytes, 0);
}

static cudaError_t histogram_private_shared(void)
{
    return LAUNCH(private_shared);
}

static cudaError_t histogram_contiguous(void)
{
    return LAUNCH(histogram_contiguous);
}

static cudaError_t histogram_interleaved(void)
{
    return LAUNCH(histogram_interleaved);
}

static cudaError_t histogram_vectorized(void)
{
    return LAUNCH(histogram_vectorized);
}

static cudaError_t histogram_aggregated(void)
{
    return LAUNCH(aggregated);
}

static cudaError_t histogram_per_lane(void)
{
    return LAUNCH(per_lane);
}

static cudaError_t histogram_partitioned(void)
{
    return partitioned_launch(histogram.input, histogram.counts, histogram.n, histogram.scratch,
                              histogram.scratch_bytes, 0);
}

#undef LAUNCH

static const ladder_rung histogram_rungs[] = {
    {"basic", "one atomic each",
     "One thread per element, and one atomic in global memory each. Threads that meet in\n"
     "a bin take turns. The fewer bins are in use, the more threads meet.",
     histogram_basic},
    {"private_global", "a copy per block",
     "Each block has its own copy of the counts, so only threads of one block meet. The\n"
     "copies are added at the end: more global atomics in all, and much more memory.",
     histogram_private_global},
    {"private_shared", "in shared memory",
     "The copies are in shared memory, where an atomic is cheap. Global memory gets one\n"
     "atomic per bin and block. The price: a copy to zero and to add per 1024 elements.",
     histogram_private_shared},
    {"contiguous", "4 neighbours each",
     "A thread counts 4 neighbours: 4 times fewer blocks, copies and global atomics. The\n"
     "lanes of a warp are 4 elements apart, and each load touches 4 times as many lines.",
     histogram_contiguous},
    {"interleaved", "a grid's width apart",
     "The 4 elements of a thread are a grid's width apart, so the lanes of a warp read\n"
     "neighbours again.",
     histogram_interleaved},
    {"vectorized", "16 bytes per load",
     "16 bytes per load, and 4 loads on their way before the first is used: 4 times fewer\n"
     "blocks again.",
     histogram_vectorized},
    {"aggregated", "runs in a register",
     "A run of equal bins is added up in a register, and takes one atomic. Fewer atomics,\n"
     "but no gain on an H200: its shared memory adds a warp's equal bins at once anyway.",
     histogram_aggregated},
    {"per_lane", "a copy per lane",
     "Each lane has its own column of counters, so the atomics of a warp never meet. No\n"
     "more blocks run than the device holds at once; they go on until all is counted.",
     histogram_per_lane},
    {"partitioned", "grouped by range",
     "For more bins than shared memory has room for: elements are grouped by ranges of\n"
     "bins first, then each range is counted on the chip. Of 64 bins there is one range.",
     histogram_partitioned},
};

static const ladder histogram_ladder = {
    "Histogram: how many elements fall into each of 64 bins (result: into the fullest)",
    histogram_rungs,
    sizeof(histogram_rungs) / sizeof(*histogram_rungs),
    histogram_bytes,
    histogram_begin,
    histogram_reset,
    histogram_result,
    histogram_end,
};
