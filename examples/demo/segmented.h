// SPDX-License-Identifier: MIT
//
// What include/coarsen does with many segments at once: the headers of segmented, which give a result
// per segment, and scan/segmented.h and sort_segments.h, which give one per element. All look for the
// greatest of each 12 elements: in a series by months, of each year. What is left at the end of the
// array, fewer than 12, is in no segment.

#include "ladder.h"
#include <string.h>

#define SEGMENTED_WIDTH  12

#define COARSEN_NAME     segmented_rows
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#include <coarsen/segmented/rows.h>

#define COARSEN_NAME     segmented_columns
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#include <coarsen/segmented/columns.h>

#define COARSEN_NAME     segmented_offsets
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME     segmented_runs
#define COARSEN_KEY      int
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#include <coarsen/segmented/runs.h>

#define COARSEN_NAME     segmented_scan
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(float)
#include <coarsen/scan/segmented.h>

#define COARSEN_NAME segmented_sort
#define COARSEN_TYPE float
#include <coarsen/sort_segments.h>

#ifdef SIMT
#define SEGMENTED_MOST ((size_t)1 << 16) // elements
#define SEGMENTED_TITLE                                                                            \
    "Segments: the greatest of each 12 of the first 65536 elements; the result is their mean"
#else
#define SEGMENTED_MOST  ((size_t)1 << 31) // offsets and keys are ints
#define SEGMENTED_TITLE "Segments: the greatest of each 12 elements; the result is their mean"
#endif

// What a rung leaves: of each segment its greatest, or, of runs, that and how many there are; or of each
// element the greatest up to it, or its segment in order.
typedef enum { GREATEST, GREATEST_OF_RUNS, RUNNING, IN_ORDER } segmented_results;

static struct {
    size_t segments, n, scratch_bytes; // n: elements of all segments
    const float *values;
    float *in, *turned, *out, *host; // out on the device and on the host
    int *offsets, *keys;
    unsigned long long *count;
    void *scratch;
    segmented_results made;
} segmented;

static size_t segmented_count(size_t n)
{
    return (n < SEGMENTED_MOST ? n : SEGMENTED_MOST) / SEGMENTED_WIDTH;
}

static void segmented_need(size_t bytes)
{
    segmented.scratch_bytes = bytes > segmented.scratch_bytes ? bytes : segmented.scratch_bytes;
}

// On the device: the array turned, so that a segment is a column; where segments begin; whose an element is.
static void segmented_arrays(const float *values, size_t n, size_t segments)
{
    float *const turned = (float *)host_alloc(n * sizeof(float));
    int *const numbers = (int *)host_alloc((n + 1) * sizeof(int));
    for (size_t i = 0; i < n; i++)
        turned[i % SEGMENTED_WIDTH * segments + i / SEGMENTED_WIDTH] = values[i];
    segmented.turned = (float *)device_copy(turned, n * sizeof(float));
    for (size_t s = 0; s <= segments; s++)
        numbers[s] = (int)(s * SEGMENTED_WIDTH);
    segmented.offsets = (int *)device_copy(numbers, (segments + 1) * sizeof(int));
    for (size_t i = 0; i < n; i++)
        numbers[i] = (int)(i / SEGMENTED_WIDTH);
    segmented.keys = (int *)device_copy(numbers, n * sizeof(int));
    free(turned);
    free(numbers);
}

static void segmented_begin(const ladder_input *input)
{
    const size_t segments = segmented_count(input->n), n = segments * SEGMENTED_WIDTH;
    segmented.segments = segments;
    segmented.n = n;
    segmented.values = input->values;
    segmented.scratch_bytes = 0;
    segmented_need(segmented_rows_scratch_bytes(segments, SEGMENTED_WIDTH));
    segmented_need(segmented_columns_scratch_bytes(SEGMENTED_WIDTH, segments));
    segmented_need(segmented_offsets_scratch_bytes(n, segments));
    segmented_need(segmented_runs_scratch_bytes(n));
    segmented_need(segmented_scan_scratch_bytes(n));
    segmented_need(segmented_sort_scratch_bytes_rows(segments, SEGMENTED_WIDTH));
    segmented_arrays(input->values, n, segments);
    segmented.in = (float *)device_copy(input->values, n * sizeof(float));
    segmented.out = (float *)device_alloc(n * sizeof(float));
    segmented.count = (unsigned long long *)device_alloc(sizeof(*segmented.count));
    segmented.scratch = device_alloc(segmented.scratch_bytes);
    segmented.host = (float *)host_alloc(n * sizeof(float));
}

static void segmented_reset(void)
{
    if (segmented.n > 0)
        CHECK(cudaMemsetAsync(segmented.out, 0xff, segmented.n * sizeof(float), 0)); // NaN
    CHECK(cudaMemsetAsync(segmented.count, 0xff, sizeof(*segmented.count), 0));
    // All make it ready by zeros.
    CHECK(segmented_rows_scratch_init(segmented.scratch, segmented.scratch_bytes, 0));
}

// The mean of the greatest. It is right if all that the rung leaves is. Of several results of a segment
// the greatest is the last.
static bool segmented_result(char text[LADDER_TEXT])
{
    const size_t each =
        segmented.made == GREATEST || segmented.made == GREATEST_OF_RUNS ? 1 : SEGMENTED_WIDTH;
    const size_t results = segmented.segments * each;
    unsigned long long count;
    bool right = true;
    double sum = 0;
    CHECK(cudaMemcpy(&count, segmented.count, sizeof(count), cudaMemcpyDeviceToHost));
    right &= segmented.made != GREATEST_OF_RUNS || count == segmented.segments;
    if (results > 0)
        CHECK(cudaMemcpy(segmented.host, segmented.out, results * sizeof(float),
                         cudaMemcpyDeviceToHost));
    for (size_t s = 0; s < segmented.segments; s++) {
        const float *const made = segmented.host + s * each;
        float wanted[SEGMENTED_WIDTH];
        memcpy(wanted, segmented.values + s * SEGMENTED_WIDTH, sizeof(wanted));
        if (segmented.made == IN_ORDER)
            qsort(wanted, SEGMENTED_WIDTH, sizeof(float), ladder_compare);
        for (size_t i = 1; i < SEGMENTED_WIDTH; i++)
            wanted[i] = wanted[i] > wanted[i - 1] ? wanted[i] : wanted[i - 1];
        for (size_t i = 0; i < each; i++)
            right &= made[i] == wanted[SEGMENTED_WIDTH - each + i]; // 0 and -0 are equal
        sum += made[each - 1];
    }
    snprintf(text, LADDER_TEXT, "%.6g", results > 0 ? sum / (double)segmented.segments : 0);
    return right;
}

static void segmented_end(void)
{
    CHECK(cudaFree(segmented.in));
    CHECK(cudaFree(segmented.turned));
    CHECK(cudaFree(segmented.out));
    CHECK(cudaFree(segmented.offsets));
    CHECK(cudaFree(segmented.keys));
    CHECK(cudaFree(segmented.count));
    CHECK(cudaFree(segmented.scratch));
    free(segmented.host);
}

static size_t segmented_bytes(size_t n)
{
    return segmented_count(n) * (SEGMENTED_WIDTH + 1) * sizeof(float);
}

static cudaError_t segmented_run_rows(void)
{
    segmented.made = GREATEST;
    return segmented_rows_launch(segmented.in, SEGMENTED_WIDTH, segmented.out, segmented.segments,
                                 SEGMENTED_WIDTH, segmented.scratch, segmented.scratch_bytes, 0);
}

static cudaError_t segmented_run_columns(void)
{
    segmented.made = GREATEST;
    return segmented_columns_launch(segmented.turned, segmented.segments, segmented.out,
                                    SEGMENTED_WIDTH, segmented.segments, segmented.scratch,
                                    segmented.scratch_bytes, 0);
}

static cudaError_t segmented_run_offsets(void)
{
    segmented.made = GREATEST;
    return segmented_offsets_launch(segmented.in, segmented.n, segmented.offsets,
                                    segmented.segments, segmented.out, segmented.scratch,
                                    segmented.scratch_bytes, 0);
}

static cudaError_t segmented_run_runs(void)
{
    segmented.made = GREATEST_OF_RUNS;
    return segmented_runs_launch(segmented.keys, segmented.in, segmented.n, NULL, segmented.out,
                                 segmented.count, segmented.scratch, segmented.scratch_bytes, 0);
}

static cudaError_t segmented_run_scan(void)
{
    segmented.made = RUNNING;
    return segmented_scan_launch(segmented.in, segmented.n, segmented.offsets, segmented.segments,
                                 segmented.out, segmented.scratch, segmented.scratch_bytes, 0);
}

static cudaError_t segmented_run_sort(void)
{
    segmented.made = IN_ORDER;
    return segmented_sort_launch_rows(segmented.in, segmented.out, segmented.segments,
                                      SEGMENTED_WIDTH, segmented.scratch, segmented.scratch_bytes,
                                      0);
}

static const ladder_rung segmented_rungs[] = {
    {"rows", "one length",
     "The length is known before the launch, so each row gets just enough lanes of a\n"
     "warp, and none waits for a longer row. (segmented.h)",
     segmented_run_rows},
    {"columns", "a row apart",
     "The same array, turned: a segment is a column, and its neighbours are of others. A\n"
     "thread walks down 4 columns, a result for each. (segmented.h, COARSEN_AXIS 0)",
     segmented_run_columns},
    {"offsets", "any lengths",
     "An array says where each segment begins. Warps get equal shares of the elements,\n"
     "whatever the lengths. The price: offsets to read. (segmented.h, COARSEN_OFFSET)",
     segmented_run_offsets},
    {"runs", "equal keys",
     "Nobody knows where segments begin, but a key beside each element says whose it is.\n"
     "The price: as many keys to read as elements. (segmented.h, COARSEN_KEY)",
     segmented_run_runs},
    {"segmented", "the greatest so far",
     "A scan that begins anew with each segment, so each element has a result: the\n"
     "greatest up to it. The price: these are written too. (scan/segmented.h)",
     segmented_run_scan},
    {"sort_segments", "each in order",
     "Many sorts at once. A few lanes of a warp sort a short row in their registers, so\n"
     "each element is read once and written once. (sort_segments.h)",
     segmented_run_sort},
};

static const ladder segmented_ladder = {
    SEGMENTED_TITLE,  segmented_rungs, sizeof(segmented_rungs) / sizeof(*segmented_rungs),
    segmented_bytes,  segmented_begin, segmented_reset,
    segmented_result, segmented_end,
};
