// SPDX-License-Identifier: MIT
//
// bench/segmented.cu: sums of segments that offsets give, of lengths near each other and far apart.
// segmented/offsets.h beside cub::DeviceSegmentedReduce::Sum, and reduce.h over the same array, which reads no
// offset. And of runs of equal keys: segmented/runs.h, and in two passes, select.h to find where they begin and
// offsets.h, beside cub::DeviceReduce::ReduceByKey. With --sweep: every pair of knobs of offsets.h and runs.h.
//
// The file includes itself, once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME  SWEEP_NAME(offsets)
#define COARSEN_TYPE  float
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/segmented/offsets.h>
static const bool COARSEN_JOIN(SWEEP_NAME(offsets), _added) = bench_add(
    bench_variants<rung>(),
    {"offsets.h", SWEEP_KNOBS, COARSEN_JOIN(SWEEP_NAME(offsets), _scratch_bytes),
     COARSEN_JOIN(SWEEP_NAME(offsets), _scratch_init), COARSEN_JOIN(SWEEP_NAME(offsets), _launch)});

#define COARSEN_NAME  SWEEP_NAME(totals)
#define COARSEN_TYPE  float
#define COARSEN_KEY   int
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/segmented/runs.h>
static const bool COARSEN_JOIN(SWEEP_NAME(totals), _added) = bench_add(
    bench_variants<rung_by_key>(),
    {"runs.h", SWEEP_KNOBS, COARSEN_JOIN(SWEEP_NAME(totals), _scratch_bytes),
     COARSEN_JOIN(SWEEP_NAME(totals), _scratch_init), COARSEN_JOIN(SWEEP_NAME(totals), _launch)});

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"
#include "segments.h"

#include <coarsen/base.h>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include <cmath>

struct rung {
    const char *kernel, *knobs;
    std::function<size_t(size_t, size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init;
    std::function<cudaError_t(const float *, size_t, const int *, size_t, float *, void *, size_t,
                              cudaStream_t)>
        launch;
};

struct rung_by_key {
    const char *kernel, *knobs;
    std::function<size_t(size_t)> scratch_bytes;
    std::function<cudaError_t(void *, size_t, cudaStream_t)> scratch_init;
    std::function<cudaError_t(const int *, const float *, size_t, int *, float *,
                              unsigned long long *, void *, size_t, cudaStream_t)>
        launch;
};

#define COARSEN_NAME offsets
#define COARSEN_TYPE float
#include <coarsen/segmented/offsets.h>

#define COARSEN_NAME totals
#define COARSEN_TYPE float
#define COARSEN_KEY  int
#include <coarsen/segmented/runs.h>

#define COARSEN_NAME       begins
#define COARSEN_TYPE       int
#define COARSEN_SAME(a, b) ((a) == (b))
#define COARSEN_LIFT(x, i) ((int)(i))
#include <coarsen/select.h>

#define COARSEN_NAME sum
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

#define SWEEP_VARIANT "segmented.cu"
#define SWEEP_ODD
#include "sweep.h"

// ---- the check: a warp per segment, in double; nothing that is timed takes part ---------------------------

__global__ void wanted_sums(const float *in, const int *offsets, size_t segments, double *sums)
{
    const size_t s = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (s >= segments)
        return;
    double sum = 0;
    for (int i = offsets[s] + (int)threadIdx.x % 32; i < offsets[s + 1]; i += 32)
        sum += in[i];
    for (int delta = 16; delta > 0; delta /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, delta);
    if (threadIdx.x % 32 == 0)
        sums[s] = sum;
}

__global__ void check_sums(const float *out, const int *offsets, const double *wanted,
                           size_t segments, unsigned long long *first_wrong)
{
    const size_t s = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const double length = s < segments ? offsets[s + 1] - offsets[s] : 0;
    if (s < segments && !(fabs(out[s] - wanted[s]) <= (256 + 256 * sqrt(length)) * 0x1p-24))
        atomicMin(first_wrong, (unsigned long long)s);
}

// ---- contests -------------------------------------------------------------------------------------

// What the contests share: a float each for the elements, their segments, and the sums.
struct problem {
    size_t n, segments;
    std::shared_ptr<void> input, at, output, wanted, one;
    const float *in;
    const int *where;
    float *out;

    problem(const std::vector<int> &offsets)
        : n((size_t)offsets.back()), segments(offsets.size() - 1), input(bench_alloc(n * 4)),
          at(bench_alloc(offsets.size() * 4)), output(bench_alloc(segments * 4)),
          wanted(bench_alloc(segments * 8)), one(bench_alloc(4)), in((const float *)input.get()),
          where((const int *)at.get()), out((float *)output.get())
    {
        bench_fill((float *)input.get(), n, 1);
        BENCH_CHECK(
            cudaMemcpy(at.get(), offsets.data(), offsets.size() * 4, cudaMemcpyHostToDevice));
        wanted_sums<<<(unsigned int)((segments + 7) / 8), 256>>>(in, where, segments,
                                                                 (double *)wanted.get());
        BENCH_CHECK(cudaGetLastError());
    }

    // What all entries except reduce.h share.
    bench_entry entry(double bytes) const
    {
        const problem p = *this;
        bench_entry sums;
        sums.bytes = bytes;
        sums.poison = [=] { BENCH_CHECK(cudaMemset(p.out, 0x7f, p.segments * 4)); };
        sums.check = [=](std::string *why) {
            return bench_all_right("segment", why, [&](unsigned long long *wrong) {
                check_sums<<<(unsigned int)((p.segments + 255) / 256), 256>>>(
                    p.out, p.where, (const double *)p.wanted.get(), p.segments, wrong);
            });
        };
        return sums;
    }

    bench_entry whole() const
    {
        const problem p = *this;
        const size_t bytes = sum_scratch_bytes(n);
        const std::shared_ptr<void> scratch = bench_zeroed(bytes);
        bench_entry whole;
        whole.kernel = "reduce.h";
        whole.bytes = 4.0 * (double)n;
        whole.launch = [=](cudaStream_t stream) {
            return sum_launch(p.in, (float *)p.one.get(), p.n, scratch.get(), bytes, stream);
        };
        whole.poison = [] {};
        whole.check = [](std::string *) { return true; };
        return whole;
    }
};

static void sums(bench &b, const shape &of, const std::vector<rung> &list, size_t n)
{
    const problem p(shape_offsets(of, n));
    bench_contest contest("segmented", "float", p.n);
    contest.data = of.name;
    contest.copy = "reduce.h";
    contest.entries.push_back(p.whole());
    const bench_entry segmented = p.entry(4.0 * ((double)p.n + 2 * (double)p.segments));

    size_t cub_bytes = 0;
    BENCH_CHECK(cub::DeviceSegmentedReduce::Sum(nullptr, cub_bytes, p.in, p.out, (int)p.segments,
                                                p.where, p.where + 1));
    const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
    bench_entry cub = segmented;
    cub.kernel = "CUB";
    cub.launch = [=](cudaStream_t stream) {
        size_t bytes = cub_bytes;
        return cub::DeviceSegmentedReduce::Sum(cub_scratch.get(), bytes, p.in, p.out,
                                               (int)p.segments, p.where, p.where + 1, stream);
    };
    contest.entries.push_back(cub);

    for (const rung &r : list) {
        const size_t bytes = r.scratch_bytes(p.n, p.segments);
        const std::shared_ptr<void> scratch = bench_alloc(bytes);
        BENCH_CHECK(r.scratch_init(scratch.get(), bytes, 0));
        bench_entry entry = segmented;
        entry.kernel = r.kernel;
        entry.knobs = r.knobs;
        entry.launch = [=](cudaStream_t stream) {
            return r.launch(p.in, p.n, p.where, p.segments, p.out, scratch.get(), bytes, stream);
        };
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

__global__ void check_keys(const int *found, const int *keys, const int *offsets, size_t segments,
                           unsigned long long *first_wrong)
{
    const size_t s = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s < segments && found[s] != keys[offsets[s]])
        atomicMin(first_wrong, (unsigned long long)s);
}

// Equal keys stand side by side. All entries count the runs on the device. CUB and runs.h write the key of each, and
// the way in two passes where each begins.
static void runs(bench &b, const shape &of, const std::vector<rung_by_key> &list, size_t n)
{
    std::vector<int> offsets = shape_offsets(of, n);
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end()); // no run is empty
    const problem p(offsets);
    std::vector<int> key(p.n);
    for (size_t s = 0; s < p.segments; s++)
        std::fill(key.begin() + offsets[s], key.begin() + offsets[s + 1], (int)(s * 7919));
    const std::shared_ptr<void> keys = bench_alloc(p.n * 4);
    BENCH_CHECK(cudaMemcpy(keys.get(), key.data(), p.n * 4, cudaMemcpyHostToDevice));
    // As a user, who does not know how many runs there are, must have it.
    const std::shared_ptr<void> starts = bench_alloc((p.n + 1) * 4), found = bench_alloc(8);
    const std::shared_ptr<void> output = bench_alloc(p.n * 4);
    const int *const in_keys = (const int *)keys.get();
    int *const where = (int *)starts.get();
    float *const out = (float *)output.get();

    bench_contest contest("runs of equal keys", "float", p.n);
    contest.data = of.name;
    contest.copy = "reduce.h";
    contest.entries.push_back(p.whole());
    bench_entry by_key = p.entry(4.0 * (2 * (double)p.n + 2 * (double)p.segments));
    by_key.poison = [=] {
        BENCH_CHECK(cudaMemset(out, 0x7f, p.n * 4));
        BENCH_CHECK(cudaMemset(where, 0x7f, p.n * 4));
        BENCH_CHECK(cudaMemset(found.get(), 0x7f, 8));
    };
    const std::function<bool(std::string *)> right = by_key.check;
    by_key.check = [=](std::string *why) {
        unsigned long long count = 0;
        BENCH_CHECK(cudaMemcpy(&count, found.get(), 8, cudaMemcpyDeviceToHost));
        BENCH_CHECK(cudaMemcpy(p.out, out, p.segments * 4, cudaMemcpyDeviceToDevice));
        *why = std::to_string(count) + " runs";
        return count == p.segments && right(why);
    };
    bench_entry with_keys = by_key;
    const std::function<bool(std::string *)> counted = by_key.check;
    with_keys.check = [=](std::string *why) {
        return bench_all_right("key of run", why,
                               [&](unsigned long long *wrong) {
                                   check_keys<<<(unsigned int)((p.segments + 255) / 256), 256>>>(
                                       where, in_keys, p.where, p.segments, wrong);
                               }) &&
               counted(why);
    };

    size_t cub_bytes = 0;
    BENCH_CHECK(cub::DeviceReduce::ReduceByKey(nullptr, cub_bytes, in_keys, where, p.in, out,
                                               (unsigned long long *)found.get(),
                                               cuda::std::plus<>(), (int)p.n));
    const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
    bench_entry cub = with_keys;
    cub.kernel = "CUB";
    cub.launch = [=](cudaStream_t stream) {
        size_t bytes = cub_bytes;
        return cub::DeviceReduce::ReduceByKey(cub_scratch.get(), bytes, in_keys, where, p.in, out,
                                              (unsigned long long *)found.get(),
                                              cuda::std::plus<>(), (int)p.n, stream);
    };
    contest.entries.push_back(cub);

    for (const rung_by_key &r : list) {
        const size_t bytes = r.scratch_bytes(p.n);
        const std::shared_ptr<void> scratch = bench_alloc(bytes);
        BENCH_CHECK(r.scratch_init(scratch.get(), bytes, 0));
        bench_entry entry = with_keys;
        entry.kernel = r.kernel;
        entry.knobs = r.knobs;
        entry.launch = [=](cudaStream_t stream) {
            return r.launch(in_keys, p.in, p.n, where, out, (unsigned long long *)found.get(),
                            scratch.get(), bytes, stream);
        };
        contest.entries.push_back(entry);
    }
    if (b.sweep) {
        b.run(contest);
        return;
    }

    const size_t begins_bytes = begins_scratch_bytes(p.n),
                 sums_bytes = offsets_scratch_bytes(p.n, p.n);
    const std::shared_ptr<void> begins_scratch = bench_alloc(begins_bytes),
                                sums_scratch = bench_alloc(sums_bytes);
    BENCH_CHECK(begins_scratch_init(begins_scratch.get(), begins_bytes, 0));
    BENCH_CHECK(offsets_scratch_init(sums_scratch.get(), sums_bytes, 0));
    bench_entry ours = by_key;
    ours.kernel = "select.h, offsets.h";
    ours.launch = [=](cudaStream_t stream) {
        unsigned long long *const count = (unsigned long long *)found.get();
        const cudaError_t status =
            begins_launch(in_keys, where, p.n, count, begins_scratch.get(), begins_bytes, stream);
        return status != cudaSuccess
                   ? status
                   : offsets_launch_counted(p.in, p.n, where, count, p.n, out, sums_scratch.get(),
                                            sums_bytes, stream);
    };
    contest.entries.push_back(ours);
    b.run(contest);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Sums of segments: coarsen's beside CUB's and a sum of all elements.", "", 12, 28});
    const rung best = {"offsets.h", "", offsets_scratch_bytes, offsets_scratch_init,
                       offsets_launch};
    const rung_by_key best_by_key = {"runs.h", "", totals_scratch_bytes, totals_scratch_init,
                                     totals_launch};
    for (int e : b.exponents(4))
        for (const shape &of : shapes) {
            if (!shape_fits(of, e) || !b.fits(10 * 4.0 * (double)(1ull << e),
                                              ("segmented, n = 2^" + std::to_string(e)).c_str()))
                continue;
            sums(b, of, b.sweep ? bench_variants<rung>() : std::vector<rung>{best}, (size_t)1 << e);
            runs(b, of,
                 b.sweep ? bench_variants<rung_by_key>() : std::vector<rung_by_key>{best_by_key},
                 (size_t)1 << e);
        }
    return b.finish();
}

#endif
