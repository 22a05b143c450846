// SPDX-License-Identifier: MIT
//
// The ladder of include/coarsen/sort, and include/coarsen/merge_sort.h beside it: an array of floats in
// ascending order.

#include "ladder.h"

#define COARSEN_NAME sort_single_bit
#define COARSEN_TYPE float
#include <coarsen/sort/single_bit.h>

#define COARSEN_NAME sort_local
#define COARSEN_TYPE float
#include <coarsen/sort/local.h>

#define COARSEN_NAME sort_multi_bit
#define COARSEN_TYPE float
#include <coarsen/sort/multi_bit.h>

#define COARSEN_NAME sort_coarsened
#define COARSEN_TYPE float
#include <coarsen/sort/coarsened.h>

#define COARSEN_NAME sort_onesweep
#define COARSEN_TYPE float
#include <coarsen/sort/onesweep.h>

#define COARSEN_NAME sort_merge_sort
#define COARSEN_TYPE float
#include <coarsen/merge_sort.h>

#ifdef SIMT
#define SORT_MOST  ((size_t)1 << 15) // elements: the CPU device takes 80 passes over them
#define SORT_TITLE "Sort: the first 32768 elements in ascending order; the result is their median"
#else
#define SORT_MOST  ((size_t)-1)
#define SORT_TITLE "Sort: an array in ascending order; the result is the median"
#endif

static size_t sort_some(size_t n)
{
    return n < SORT_MOST ? n : SORT_MOST;
}

static struct {
    size_t n, scratch_bytes;
    float *in, *out, *host, *wanted; // out on the device and on the host
    void *scratch;
} sorted;

static void sort_begin(const ladder_input *input)
{
    const size_t n = sort_some(input->n), bytes = n * sizeof(float);
    const size_t single_bytes = sort_single_bit_scratch_bytes(n); // as local's
    const size_t multi_bytes = sort_multi_bit_scratch_bytes(n);   // more than coarsened's
    const size_t merge_bytes = sort_merge_sort_scratch_bytes(n);
    sorted.n = n;
    sorted.scratch_bytes = sort_onesweep_scratch_bytes(n);
    if (sorted.scratch_bytes < single_bytes)
        sorted.scratch_bytes = single_bytes;
    if (sorted.scratch_bytes < multi_bytes)
        sorted.scratch_bytes = multi_bytes;
    if (sorted.scratch_bytes < merge_bytes)
        sorted.scratch_bytes = merge_bytes;
    sorted.in = (float *)device_copy(input->values, bytes);
    sorted.out = (float *)device_alloc(bytes);
    sorted.scratch = device_alloc(sorted.scratch_bytes);
    sorted.host = (float *)host_alloc(bytes);
    sorted.wanted = (float *)host_alloc(bytes);
    memcpy(sorted.wanted, input->values, bytes);
    qsort(sorted.wanted, sorted.n, sizeof(float), ladder_compare);
}

static void sort_reset(void)
{
    if (sorted.n > 0)
        CHECK(cudaMemsetAsync(sorted.out, 0xff, sorted.n * sizeof(float), 0)); // NaN
    CHECK(sort_onesweep_scratch_init(sorted.scratch, sorted.scratch_bytes, 0));
}

// The median. It is right if all are where they belong.
static bool sort_result(char text[LADDER_TEXT])
{
    bool right = true;
    if (sorted.n > 0)
        CHECK(
            cudaMemcpy(sorted.host, sorted.out, sorted.n * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < sorted.n; i++)
        right &= sorted.host[i] == sorted.wanted[i];
    snprintf(text, LADDER_TEXT, "%.8g", sorted.n > 0 ? sorted.host[sorted.n / 2] : 0.0);
    return right;
}

static void sort_end(void)
{
    CHECK(cudaFree(sorted.in));
    CHECK(cudaFree(sorted.out));
    CHECK(cudaFree(sorted.scratch));
    free(sorted.host);
    free(sorted.wanted);
}

static size_t sort_bytes(size_t n)
{
    return 2 * sort_some(n) * sizeof(float);
}

#define LAUNCH(rung)                                                                               \
    sort_##rung##_launch(sorted.in, sorted.out, sorted.n, sorted.scratch, sorted.scratch_bytes, 0)

static cudaError_t sort_run_single_bit(void)
{
    return LAUNCH(single_bit);
}

static cudaError_t sort_run_local(void)
{
    return LAUNCH(local);
}

static cudaError_t sort_run_multi_bit(void)
{
    return LAUNCH(multi_bit);
}

static cudaError_t sort_run_coarsened(void)
{
    return LAUNCH(coarsened);
}

static cudaError_t sort_run_onesweep(void)
{
    return LAUNCH(onesweep);
}

static cudaError_t sort_run_merge_sort(void)
{
    return LAUNCH(merge_sort);
}

#undef LAUNCH

static const ladder_rung sort_rungs[] = {
    {"single_bit", "a bit at a time",
     "A thread per key, and 32 passes. All keys with a 0 go before all with a 1: a\n"
     "scan of counts says where. The price: each pass moves all keys.",
     sort_run_single_bit},
    {"local", "first in the block",
     "The block sorts its keys by the bit in shared memory, so neighbours write to\n"
     "neighbours. The price: a trip through shared memory and a barrier.",
     sort_run_local},
    {"multi_bit", "4 bits at a time",
     "8 passes in place of 32, as a block sorts by 4 bits before it writes. The price:\n"
     "its 256 keys go to 16 places, so the pieces written are short.",
     sort_run_multi_bit},
    {"coarsened", "7 keys per thread",
     "A block has 7 times as many keys, so the pieces are 7 times as long, and there are\n"
     "7 times fewer counts to scan. The price: registers and shared memory.",
     sort_run_coarsened},
    {"onesweep", "look-back",
     "4 passes of 8 bits, counted all at once. Each is one kernel, whose blocks tell each\n"
     "other what they have, and which ranks keys by votes. (sort.h)",
     sort_run_onesweep},
    {"merge_sort", "any order",
     "Tiles are sorted, and then merged, four runs at a time. It only compares: any type\n"
     "and any order will do. The price: the more keys, the more passes. (merge_sort.h)",
     sort_run_merge_sort},
};

static const ladder sort_ladder = {
    SORT_TITLE,  sort_rungs, sizeof(sort_rungs) / sizeof(*sort_rungs),
    sort_bytes,  sort_begin, sort_reset,
    sort_result, sort_end,
};
