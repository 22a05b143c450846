// SPDX-License-Identifier: MIT
//
// bench/segmented.cu: sums of segments that offsets give, of lengths near each other and far apart.
// segmented/offsets.h beside cub::DeviceSegmentedReduce::Sum, and reduce.h over the same array, which reads no
// offset. With --sweep: every pair of knobs.
//
// The file includes itself, once for each pair of knobs.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME  SWEEP_NAME(offsets)
#define COARSEN_TYPE  float
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/segmented/offsets.h>
static const bool COARSEN_JOIN(SWEEP_NAME(offsets), _added) = add(
    {"offsets.h", SWEEP_KNOBS, COARSEN_JOIN(SWEEP_NAME(offsets), _scratch_bytes),
     COARSEN_JOIN(SWEEP_NAME(offsets), _scratch_init), COARSEN_JOIN(SWEEP_NAME(offsets), _launch)});

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"
#include "segments.h"

#include <coarsen/base.h>
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

static std::vector<rung> &variants()
{
    static std::vector<rung> list;
    return list;
}

static bool add(rung entry)
{
    variants().push_back(entry);
    return true;
}

#define COARSEN_NAME offsets
#define COARSEN_TYPE float
#include <coarsen/segmented/offsets.h>

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

static void sums(bench &b, const shape &of, const std::vector<rung> &list, size_t n)
{
    const std::vector<int> offsets = shape_offsets(of, n);
    const size_t segments = offsets.size() - 1;
    n = (size_t)offsets.back();
    const std::shared_ptr<void> input = bench_alloc(n * 4), at = bench_alloc(offsets.size() * 4);
    const std::shared_ptr<void> output = bench_alloc(segments * 4),
                                wanted = bench_alloc(segments * 8);
    const std::shared_ptr<void> wrong = bench_alloc(8), one = bench_alloc(4);
    const float *const in = (const float *)input.get();
    const int *const where = (const int *)at.get();
    float *const out = (float *)output.get();
    bench_fill((float *)in, n, 1);
    BENCH_CHECK(cudaMemcpy(at.get(), offsets.data(), offsets.size() * 4, cudaMemcpyHostToDevice));
    wanted_sums<<<(unsigned int)((segments + 7) / 8), 256>>>(in, where, segments,
                                                             (double *)wanted.get());
    BENCH_CHECK(cudaGetLastError());

    bench_contest contest("segmented", "float", n);
    contest.data = of.name;
    contest.copy = "reduce.h";

    bench_entry segmented; // what all entries except reduce.h share
    segmented.bytes = 4.0 * ((double)n + 2 * (double)segments);
    segmented.poison = [=] { BENCH_CHECK(cudaMemset(out, 0x7f, segments * 4)); };
    segmented.check = [=](std::string *why) {
        unsigned long long first = ~0ull;
        BENCH_CHECK(cudaMemcpy(wrong.get(), &first, 8, cudaMemcpyHostToDevice));
        check_sums<<<(unsigned int)((segments + 255) / 256), 256>>>(
            out, where, (const double *)wanted.get(), segments, (unsigned long long *)wrong.get());
        BENCH_CHECK(cudaMemcpy(&first, wrong.get(), 8, cudaMemcpyDeviceToHost));
        *why = "segment " + std::to_string(first);
        return first == ~0ull;
    };

    const size_t sum_bytes = sum_scratch_bytes(n);
    const std::shared_ptr<void> sum_scratch = bench_zeroed(sum_bytes);
    bench_entry whole;
    whole.kernel = "reduce.h";
    whole.bytes = 4.0 * (double)n;
    whole.launch = [=](cudaStream_t stream) {
        return sum_launch(in, (float *)one.get(), n, sum_scratch.get(), sum_bytes, stream);
    };
    whole.poison = [] {};
    whole.check = [](std::string *) { return true; };
    contest.entries.push_back(whole);

    size_t cub_bytes = 0;
    BENCH_CHECK(cub::DeviceSegmentedReduce::Sum(nullptr, cub_bytes, in, out, (int)segments, where,
                                                where + 1));
    const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
    bench_entry cub = segmented;
    cub.kernel = "CUB";
    cub.launch = [=](cudaStream_t stream) {
        size_t bytes = cub_bytes;
        return cub::DeviceSegmentedReduce::Sum(cub_scratch.get(), bytes, in, out, (int)segments,
                                               where, where + 1, stream);
    };
    contest.entries.push_back(cub);

    for (const rung &r : list) {
        const size_t bytes = r.scratch_bytes(n, segments);
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
    b.run(contest);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Sums of segments: coarsen's beside CUB's and a sum of all elements.", "", 12, 28});
    const rung best = {"offsets.h", "", offsets_scratch_bytes, offsets_scratch_init,
                       offsets_launch};
    for (int e : b.exponents(4))
        for (const shape &of : shapes)
            if (shape_fits(of, e) && b.fits(6 * 4.0 * (double)(1ull << e),
                                            ("segmented, n = 2^" + std::to_string(e)).c_str()))
                sums(b, of, b.sweep ? variants() : std::vector<rung>{best}, (size_t)1 << e);
    return b.finish();
}

#endif
