// SPDX-License-Identifier: MIT
//
// bench/scan_segmented.cu: running sums of segments of lengths near each other and far apart. scan/segmented.h,
// by offsets and by flags, beside cub::DeviceSegmentedScan::InclusiveSegmentedSum, which takes offsets, and
// scan.h over the same array, which knows no segments. With --sweep: every pair of knobs.
//
// The file includes itself, once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME   SWEEP_NAME(offsets)
#define COARSEN_TYPE   float
#define COARSEN_OFFSET int
#define BLOCK_DIM      SWEEP_BLOCK_DIM
#define COARSE_FACTOR  SWEEP_COARSE_FACTOR
#include <coarsen/scan.h>
static const bool COARSEN_JOIN(SWEEP_NAME(offsets), _added) = bench_add(
    bench_variants<rung>(),
    {"by offsets", SWEEP_KNOBS, COARSEN_JOIN(SWEEP_NAME(offsets), _scratch_bytes),
     COARSEN_JOIN(SWEEP_NAME(offsets), _scratch_init), COARSEN_JOIN(SWEEP_NAME(offsets), _launch)});

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"
#include "segments.h"

#include <coarsen/base.h>
#include <cub/device/device_segmented_scan.cuh>

#include <cmath>

struct rung {
    const char *kernel, *knobs;
    std::function<size_t(size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init;
    std::function<cudaError_t(const float *, size_t, const int *, size_t, float *, void *, size_t,
                              cudaStream_t)>
        launch;
};

#define COARSEN_NAME   offsets
#define COARSEN_TYPE   float
#define COARSEN_OFFSET int
#include <coarsen/scan.h>

#define COARSEN_NAME flags
#define COARSEN_TYPE float
#define COARSEN_FLAG unsigned char
#include <coarsen/scan.h>

#define COARSEN_NAME scan
#define COARSEN_TYPE float
#include <coarsen/scan.h>

#define SWEEP_VARIANT "scan_segmented.cu"
#include "sweep.h"

// ---- the check: in double; nothing that is timed takes part ------------------------------------------------

enum { RUN = 1 << 12 }; // elements that one thread of the check walks

struct run_sum {
    double sum;
    bool head; // and so it is of the last segment of the run
};

__global__ void run_sums(const float *in, const unsigned char *heads, size_t n, run_sum *sums)
{
    const size_t run = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    run_sum of = {0, false};
    for (size_t i = run * RUN; i < n && i < (run + 1) * RUN; i++) {
        of.sum = heads[i] ? in[i] : of.sum + in[i];
        of.head |= heads[i] != 0;
    }
    if (run * RUN < n)
        sums[run] = of;
}

__global__ void check_runs(const float *in, const unsigned char *heads, const float *out, size_t n,
                           const run_sum *before, unsigned long long *first_wrong)
{
    const size_t run = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (run * RUN >= n)
        return;
    double sum = before[run].sum;
    for (size_t i = run * RUN; i < n && i < (run + 1) * RUN; i++) {
        sum = heads[i] ? in[i] : sum + in[i];
        if (!(fabs(out[i] - sum) <= (256 + 256 * sqrt((double)i)) * 0x1p-24)) {
            atomicMin(first_wrong, (unsigned long long)i);
            return;
        }
    }
}

// What the segment that is open where each run begins has before it.
static std::shared_ptr<void> reference(const float *in, const unsigned char *heads, size_t n)
{
    const size_t runs = (n + RUN - 1) / RUN;
    std::shared_ptr<void> sums = bench_alloc(runs * sizeof(run_sum));
    run_sums<<<(unsigned int)((runs + 127) / 128), 128>>>(in, heads, n, (run_sum *)sums.get());
    BENCH_CHECK(cudaGetLastError());
    std::vector<run_sum> host(runs);
    BENCH_CHECK(
        cudaMemcpy(host.data(), sums.get(), runs * sizeof(run_sum), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (run_sum &x : host) {
        const run_sum mine = x;
        x.sum = sum;
        sum = mine.head ? mine.sum : sum + mine.sum;
    }
    BENCH_CHECK(
        cudaMemcpy(sums.get(), host.data(), runs * sizeof(run_sum), cudaMemcpyHostToDevice));
    return sums;
}

// ---- contests -------------------------------------------------------------------------------------

static void scans(bench &b, const shape &of, const std::vector<rung> &list, size_t n)
{
    const std::vector<int> offsets = shape_offsets(of, n);
    const size_t segments = offsets.size() - 1;
    n = (size_t)offsets.back();
    std::vector<unsigned char> heads(n);
    for (size_t s = 0; s < segments; s++)
        if (offsets[s] < offsets[s + 1])
            heads[(size_t)offsets[s]] = 1;
    const std::shared_ptr<void> input = bench_alloc(n * 4), at = bench_alloc(offsets.size() * 4);
    const std::shared_ptr<void> output = bench_alloc(n * 4), flag = bench_alloc(n);
    const float *const in = (const float *)input.get();
    const int *const where = (const int *)at.get();
    const unsigned char *const flagged = (const unsigned char *)flag.get();
    float *const out = (float *)output.get();
    bench_fill((float *)in, n, 1);
    BENCH_CHECK(cudaMemcpy(at.get(), offsets.data(), offsets.size() * 4, cudaMemcpyHostToDevice));
    BENCH_CHECK(cudaMemcpy(flag.get(), heads.data(), n, cudaMemcpyHostToDevice));
    const std::shared_ptr<void> before = reference(in, flagged, n);

    bench_contest contest("scan of segments", "float", n);
    contest.data = of.name;
    contest.copy = "scan.h";

    bench_entry segmented; // what all entries except scan.h share
    segmented.bytes = 4.0 * (2 * (double)n + (double)segments);
    segmented.poison = [=] { BENCH_CHECK(cudaMemset(out, 0x7f, n * 4)); };
    segmented.check = [=](std::string *why) {
        return bench_all_right("element", why, [&](unsigned long long *wrong) {
            check_runs<<<(unsigned int)((n + 128 * RUN - 1) / (128 * RUN)), 128>>>(
                in, flagged, out, n, (const run_sum *)before.get(), wrong);
        });
    };

    const size_t scan_bytes = scan_scratch_bytes(n);
    const std::shared_ptr<void> scan_scratch = bench_zeroed(scan_bytes);
    bench_entry whole;
    whole.kernel = "scan.h";
    whole.bytes = 8.0 * (double)n;
    whole.launch = [=](cudaStream_t stream) {
        return scan_launch(in, out, n, scan_scratch.get(), scan_bytes, stream);
    };
    whole.poison = segmented.poison;
    whole.check = [](std::string *) { return true; };
    contest.entries.push_back(whole);

    size_t cub_bytes = 0;
    BENCH_CHECK(cub::DeviceSegmentedScan::InclusiveSegmentedSum(nullptr, cub_bytes, in, out, where,
                                                                where + 1, (int64_t)segments));
    const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
    bench_entry cub = segmented;
    cub.kernel = "CUB";
    cub.launch = [=](cudaStream_t stream) {
        size_t bytes = cub_bytes;
        return cub::DeviceSegmentedScan::InclusiveSegmentedSum(
            cub_scratch.get(), bytes, in, out, where, where + 1, (int64_t)segments, stream);
    };
    contest.entries.push_back(cub);

    for (const rung &r : list) {
        const size_t bytes = r.scratch_bytes(n);
        const std::shared_ptr<void> scratch = bench_alloc(bytes);
        BENCH_CHECK(r.scratch_init(scratch.get(), bytes, 0));
        bench_entry entry = segmented;
        entry.kernel = r.kernel;
        entry.knobs = r.knobs;
        entry.launch = [=](cudaStream_t stream) {
            return r.launch(in, n, where, segments, out, scratch.get(), bytes, stream);
        };
        contest.entries.push_back(entry);
    }

    if (!b.sweep) {
        const size_t bytes = flags_scratch_bytes(n);
        const std::shared_ptr<void> scratch = bench_zeroed(bytes);
        bench_entry entry = segmented;
        entry.kernel = "by flags";
        entry.bytes = 9.0 * (double)n;
        entry.launch = [=](cudaStream_t stream) {
            return flags_launch(in, flagged, out, n, scratch.get(), bytes, stream);
        };
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Running sums of segments: coarsen's beside CUB's and a scan of all elements.", "", 12,
             28});
    const rung best = {"by offsets", "", offsets_scratch_bytes, offsets_scratch_init,
                       offsets_launch};
    for (int e : b.exponents(4))
        for (const shape &of : shapes)
            if (shape_fits(of, e) &&
                b.fits(14.0 * (double)(1ull << e),
                       ("scan of segments, n = 2^" + std::to_string(e)).c_str()))
                scans(b, of, b.sweep ? bench_variants<rung>() : std::vector<rung>{best},
                      (size_t)1 << e);
    return b.finish();
}

#endif
