// SPDX-License-Identifier: MIT
//
// The ladder of include/coarsen/scan: the running sums of an array of floats.

#include "ladder.h"
#include <float.h>
#include <math.h>

#define COARSEN_NAME scan_kogge_stone
#define COARSEN_TYPE float
#include <coarsen/scan/kogge_stone.h>

#define COARSEN_NAME scan_brent_kung
#define COARSEN_TYPE float
#include <coarsen/scan/brent_kung.h>

#define COARSEN_NAME scan_coarsened
#define COARSEN_TYPE float
#include <coarsen/scan/coarsened.h>

#define COARSEN_NAME scan_three_kernel
#define COARSEN_TYPE float
#include <coarsen/scan/three_kernel.h>

#define COARSEN_NAME scan_chained
#define COARSEN_TYPE float
#include <coarsen/scan/chained.h>

#define COARSEN_NAME scan_single_pass
#define COARSEN_TYPE float
#include <coarsen/scan/single_pass.h>

static struct {
    size_t n, scratch_bytes;
    const ladder_input *input;
    float *in, *out, *host; // out on the device and on the host
    void *scratch;
} scan;

static void scan_begin(const ladder_input *input)
{
    const size_t bytes = input->n * sizeof(float);
    const size_t chained_bytes = scan_chained_scratch_bytes(input->n);
    const size_t single_bytes = scan_single_pass_scratch_bytes(input->n);
    scan.n = input->n;
    scan.input = input;
    // three_kernel.h needs less than chained.h, and the first three need none.
    scan.scratch_bytes = chained_bytes > single_bytes ? chained_bytes : single_bytes;
    scan.in = (float *)device_copy(input->values, bytes);
    scan.out = (float *)device_alloc(bytes);
    scan.scratch = device_alloc(scan.scratch_bytes);
    scan.host = (float *)host_alloc(bytes);
}

static void scan_reset(void)
{
    if (scan.n > 0)
        CHECK(cudaMemsetAsync(scan.out, 0xff, scan.n * sizeof(float), 0)); // NaN
    // chained.h's does the same.
    CHECK(scan_single_pass_scratch_init(scan.scratch, scan.scratch_bytes, 0));
}

// The last running sum. It is right if every one is.
static bool scan_result(char text[LADDER_TEXT])
{
    // In no rung an element takes part in more than n / 1024 + 64 additions (the sections of
    // kogge_stone.h), and each rounds by at most half an epsilon.
    const double epsilon = scan.input->exact ? 0 : ((double)scan.n / 1024 + 64) * (FLT_EPSILON / 2);
    bool right = true;
    double sum = 0, magnitude = 0;
    if (scan.n > 0)
        CHECK(cudaMemcpy(scan.host, scan.out, scan.n * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < scan.n; i++) {
        sum += scan.input->values[i];
        magnitude += fabs((double)scan.input->values[i]);
        right &= fabs(scan.host[i] - sum) <= epsilon * magnitude; // never of a NaN
    }
    snprintf(text, LADDER_TEXT, "%.8g", scan.n > 0 ? scan.host[scan.n - 1] : 0.0);
    return right;
}

static void scan_end(void)
{
    CHECK(cudaFree(scan.in));
    CHECK(cudaFree(scan.out));
    CHECK(cudaFree(scan.scratch));
    free(scan.host);
}

static size_t scan_bytes(size_t n)
{
    return 2 * n * sizeof(float);
}

#define LAUNCH(rung)                                                                               \
    scan_##rung##_launch(scan.in, scan.out, scan.n, scan.scratch, scan.scratch_bytes, 0)

static cudaError_t scan_run_kogge_stone(void)
{
    return LAUNCH(kogge_stone);
}

static cudaError_t scan_run_brent_kung(void)
{
    return LAUNCH(brent_kung);
}

static cudaError_t scan_run_coarsened(void)
{
    return LAUNCH(coarsened);
}

static cudaError_t scan_run_three_kernel(void)
{
    return LAUNCH(three_kernel);
}

static cudaError_t scan_run_chained(void)
{
    return LAUNCH(chained);
}

static cudaError_t scan_run_single_pass(void)
{
    return LAUNCH(single_pass);
}

#undef LAUNCH

static const ladder_rung scan_rungs[] = {
    {"kogge_stone", "the fewest steps",
     "One block, an element per thread. Each adds the one at distance 1, 2, 4, ... before\n"
     "it: log2 N steps. The price: nearly log2 N times as many additions as are needed.",
     scan_run_kogge_stone},
    {"brent_kung", "no work twice",
     "A tree adds up, and the same tree hands the sums down: less than 2 N additions. The\n"
     "price: nearly twice the steps, in most of which few threads work.",
     scan_run_brent_kung},
    {"coarsened", "7 elements in a run",
     "A thread scans a run of 7 elements alone, and only the runs' totals take steps:\n"
     "fewer barriers. As 7 is odd, the lanes of a warp meet in no bank of shared memory.",
     scan_run_coarsened},
    {"three_kernel", "many blocks",
     "Scan sections, scan their totals, add those. This fills the device. The price: the\n"
     "results are written, read again and written again.",
     scan_run_three_kernel},
    {"chained", "one kernel",
     "Each block waits for the sum of all before it, which the block before leaves: read\n"
     "once, written once. The price: the hand-overs come one after the other.",
     scan_run_chained},
    {"single_pass", "look-back",
     "Each tile leaves its own sum at once, and adds up those of the tiles before. It\n"
     "waits for no results, and its block copies the next tiles meanwhile. (scan.h)",
     scan_run_single_pass},
};

static const ladder scan_ladder = {
    "Scan: the running sums of an array; the result is the last",
    scan_rungs,
    sizeof(scan_rungs) / sizeof(*scan_rungs),
    scan_bytes,
    scan_begin,
    scan_reset,
    scan_result,
    scan_end,
};
