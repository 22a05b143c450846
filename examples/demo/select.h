// SPDX-License-Identifier: MIT
//
// The selection of include/coarsen/select: the elements of an array of floats that are greater than 0.

#include "ladder.h"
#include <string.h>

#define COARSEN_NAME     select_single_pass
#define COARSEN_TYPE     float
#define COARSEN_IF(x, i) ((x) > 0)
#include <coarsen/select/single_pass.h>

static struct {
    size_t n, kept, scratch_bytes;
    float *in, *out, *wanted, *host; // `wanted` and `host` on the host
    unsigned long long *count;
    void *scratch;
} selection;

static void select_begin(const ladder_input *input)
{
    const size_t bytes = input->n * sizeof(float);
    selection.n = input->n;
    selection.kept = 0;
    selection.scratch_bytes = select_single_pass_scratch_bytes(input->n);
    selection.in = (float *)device_copy(input->values, bytes);
    selection.out = (float *)device_alloc(bytes);
    selection.count = (unsigned long long *)device_alloc(sizeof(*selection.count));
    selection.scratch = device_alloc(selection.scratch_bytes);
    selection.wanted = (float *)host_alloc(bytes);
    selection.host = (float *)host_alloc(bytes);
    for (size_t i = 0; i < selection.n; i++)
        if (input->values[i] > 0)
            selection.wanted[selection.kept++] = input->values[i];
}

static void select_reset(void)
{
    if (selection.n > 0)
        CHECK(cudaMemsetAsync(selection.out, 0xff, selection.n * sizeof(float), 0)); // NaN
    CHECK(cudaMemsetAsync(selection.count, 0xff, sizeof(*selection.count), 0));
    CHECK(select_single_pass_scratch_init(selection.scratch, selection.scratch_bytes, 0));
}

// How many there are.
static bool select_result(char text[LADDER_TEXT])
{
    const size_t bytes = selection.kept * sizeof(float);
    unsigned long long count;
    CHECK(cudaMemcpy(&count, selection.count, sizeof(count), cudaMemcpyDeviceToHost));
    if (bytes > 0)
        CHECK(cudaMemcpy(selection.host, selection.out, bytes, cudaMemcpyDeviceToHost));
    snprintf(text, LADDER_TEXT, "%llu", count);
    return count == selection.kept && memcmp(selection.host, selection.wanted, bytes) == 0;
}

static void select_end(void)
{
    CHECK(cudaFree(selection.in));
    CHECK(cudaFree(selection.out));
    CHECK(cudaFree(selection.count));
    CHECK(cudaFree(selection.scratch));
    free(selection.wanted);
    free(selection.host);
}

static size_t select_bytes(size_t n)
{
    return (n + selection.kept) * sizeof(float);
}

static cudaError_t select_run_single_pass(void)
{
    return select_single_pass_launch(selection.in, selection.out, selection.n, selection.count,
                                     selection.scratch, selection.scratch_bytes, 0);
}

static const ladder_rung select_rungs[] = {
    {"single_pass", "a scan gives places",
     "An element's place is how many are kept before it: a scan of ones and zeros, by the\n"
     "pipeline of scan.h. Elements are read once, and only those kept written. (select.h)",
     select_run_single_pass},
};

static const ladder select_ladder = {
    "Selection: the elements greater than 0; the result is how many there are",
    select_rungs,
    sizeof(select_rungs) / sizeof(*select_rungs),
    select_bytes,
    select_begin,
    select_reset,
    select_result,
    select_end,
};
