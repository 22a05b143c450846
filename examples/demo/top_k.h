// SPDX-License-Identifier: MIT
//
// include/coarsen/top_k.h beside the sort that it replaces: the greatest elements of an array of floats.

#include "ladder.h"
#include <string.h>

#define TOP_K_COUNT        100

#define COARSEN_NAME       top_k_sort
#define COARSEN_TYPE       float
#define COARSEN_DESCENDING 1
#include <coarsen/sort.h>

#define COARSEN_NAME top_k_one_read
#define COARSEN_TYPE float
#include <coarsen/top_k.h>

#ifdef SIMT
#define TOP_K_MOST ((size_t)1 << 15) // elements, as of the sort
#define TOP_K_TITLE                                                                                \
    "The k greatest: 100 of the first 32768 elements; the result is the last of them"
#else
#define TOP_K_MOST ((size_t)-1)
#define TOP_K_TITLE                                                                                \
    "The k greatest: 100 elements, the greatest first; the result is the last of them"
#endif

static size_t top_k_some(size_t n)
{
    return n < TOP_K_MOST ? n : TOP_K_MOST;
}

static struct {
    size_t n, k, scratch_bytes;
    float *in, *out, *host, *wanted; // out on the device and on the host
    void *scratch;
} greatest;

static void top_k_begin(const ladder_input *input)
{
    const size_t n = top_k_some(input->n), bytes = n * sizeof(float);
    greatest.n = n;
    greatest.k = n < TOP_K_COUNT ? n : TOP_K_COUNT;
    const size_t sort_bytes = top_k_sort_scratch_bytes(n);
    const size_t one_read_bytes = top_k_one_read_scratch_bytes(1, n, greatest.k);
    greatest.scratch_bytes = sort_bytes > one_read_bytes ? sort_bytes : one_read_bytes;
    greatest.in = (float *)device_copy(input->values, bytes);
    greatest.out = (float *)device_alloc(bytes); // of which top_k.h needs the first k alone
    greatest.scratch = device_alloc(greatest.scratch_bytes);
    greatest.host = (float *)host_alloc(greatest.k * sizeof(float));
    greatest.wanted = (float *)host_alloc(bytes);
    memcpy(greatest.wanted, input->values, bytes);
    qsort(greatest.wanted, n, sizeof(float), ladder_compare);
}

static void top_k_reset(void)
{
    if (greatest.n > 0)
        CHECK(cudaMemsetAsync(greatest.out, 0xff, greatest.n * sizeof(float), 0)); // NaN
    // Both make it ready by zeros.
    CHECK(top_k_one_read_scratch_init(greatest.scratch, greatest.scratch_bytes, 0));
}

// The last of them. It is right if all are where they belong.
static bool top_k_result(char text[LADDER_TEXT])
{
    const size_t n = greatest.n, k = greatest.k;
    bool right = true;
    if (k > 0)
        CHECK(cudaMemcpy(greatest.host, greatest.out, k * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < k; i++)
        right &= greatest.host[i] == greatest.wanted[n - 1 - i]; // 0 and -0 are equal
    snprintf(text, LADDER_TEXT, "%.8g", k > 0 ? greatest.host[k - 1] : 0.0);
    return right;
}

static void top_k_end(void)
{
    CHECK(cudaFree(greatest.in));
    CHECK(cudaFree(greatest.out));
    CHECK(cudaFree(greatest.scratch));
    free(greatest.host);
    free(greatest.wanted);
}

static size_t top_k_bytes(size_t n)
{
    return (top_k_some(n) + greatest.k) * sizeof(float);
}

static cudaError_t top_k_run_sort(void)
{
    return top_k_sort_launch(greatest.in, greatest.out, greatest.n, greatest.scratch,
                             greatest.scratch_bytes, 0);
}

static cudaError_t top_k_run_one_read(void)
{
    return top_k_one_read_launch(greatest.in, greatest.n, greatest.k, greatest.out, NULL,
                                 greatest.scratch, greatest.scratch_bytes, 0);
}

static const ladder_rung top_k_rungs[] = {
    {"sort", "all in order",
     "Sort all, the greatest first, and take the first 100. The price: four passes read\n"
     "and write all elements, nearly all of them for nothing. (sort.h)",
     top_k_run_sort},
    {"top_k", "one read",
     "A block keeps the greatest that it has met. What is not above the 100th of them is\n"
     "compared once and forgotten, and no pass follows. (top_k.h)",
     top_k_run_one_read},
};

static const ladder top_k_ladder = {
    TOP_K_TITLE,  top_k_rungs, sizeof(top_k_rungs) / sizeof(*top_k_rungs),
    top_k_bytes,  top_k_begin, top_k_reset,
    top_k_result, top_k_end,
};
