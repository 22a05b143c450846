// SPDX-License-Identifier: MIT
//
// bench/fuse.cu: what fusion saves. Sum of squares, dot product, greatest |x|, mean and variance, and a
// chain of three maps: as separate kernels, as one, and with CUB, beside a device copy. And the work of
// four blocks, done by four blocks, by one block of coarser threads, and by one coarser block.
//
// GB/s counts the bytes that the fused kernel moves, so that the columns compare times.

#include "harness.h"

#include <cub/device/device_transform.cuh>
#include <cub/device/device_reduce.cuh>

#include <cmath>

// ---- The kernels ----------------------------------------------------------------------------------

#define COARSEN_NAME sum
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

#define COARSEN_NAME     greatest
#define COARSEN_TYPE     float
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY 0.0f
#include <coarsen/reduce.h>

#define COARSEN_NAME   square
#define COARSEN_TYPE   float
#define COARSEN_MAP(a) ((a) * (a))
#include <coarsen/map.h>

#define COARSEN_NAME      multiply
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) * (b))
#include <coarsen/map.h>

#define COARSEN_NAME   absolute
#define COARSEN_TYPE   float
#define COARSEN_MAP(a) fabsf(a)
#include <coarsen/map.h>

#define COARSEN_NAME         deviation // from a known mean
#define COARSEN_TYPE         float
#define COARSEN_SCALAR       float
#define COARSEN_MAP(a, mean) (((a) - (mean)) * ((a) - (mean)))
#include <coarsen/map.h>

#define COARSEN_NAME       squares
#define COARSEN_TYPE       float
#define COARSEN_LIFT(x, i) ((x) * (x))
#include <coarsen/reduce.h>

#define COARSEN_NAME      dot
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) * (b))
#include <coarsen/fuse.h>

#define COARSEN_NAME       max_abs
#define COARSEN_TYPE       float
#define COARSEN_LIFT(x, i) fabsf(x)
#define COARSEN_OP         COARSEN_MAX
#define COARSEN_IDENTITY   0.0f
#include <coarsen/reduce.h>

#define COARSEN_NAME moments
#define COARSEN_TYPE float
#include <coarsen/moments.h>

#define COARSEN_NAME       spread
#define COARSEN_TYPE       float
#define COARSEN_ACC        moments
#define COARSEN_LIFT(x, i) moments_lift(x)
#define COARSEN_OP         moments_merge
#define COARSEN_IDENTITY   moments_none()
#include <coarsen/reduce.h>

#define COARSEN_NAME   plus
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) ((x) + 1)
#include <coarsen/map.h>
#define COARSEN_NAME   times
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) ((x)*3)
#include <coarsen/map.h>
#define COARSEN_NAME   minus
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) ((x)-2)
#include <coarsen/map.h>
#define COARSEN_NAME   chain
#define COARSEN_TYPE   float
#define COARSEN_MAP(x) (((x) + 1) * 3 - 2)
#include <coarsen/map.h>

#define COARSEN_NAME         four_blocks
#define COARSEN_TYPE         float
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/multiblock.h>

#define COARSEN_NAME         coarse_threads
#define COARSEN_TYPE         float
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/coarsened.h>

#define COARSEN_NAME         coarse_blocks
#define COARSEN_TYPE         float
#define COARSEN_ATOMIC(p, a) atomicAdd(p, a)
#include <coarsen/reduce/block_coarsened.h>

// ---- The reference, in double -------------------------------------------------------------------------

// The sums of a, a^2 and a b, and the greatest |a|.
struct totals {
    double sum, squares, dot;
    unsigned int max_abs; // the bits of a float: those of non-negative floats have the same order
};

__global__ void totals_kernel(const float *a, const float *b, size_t n, totals *t)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    totals mine = {};
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        mine.sum += a[i];
        mine.squares += (double)a[i] * a[i];
        mine.dot += (double)a[i] * b[i];
        mine.max_abs = max(mine.max_abs, __float_as_uint(fabsf(a[i])));
    }
    atomicAdd(&t->sum, mine.sum);
    atomicAdd(&t->squares, mine.squares);
    atomicAdd(&t->dot, mine.dot);
    atomicMax(&t->max_abs, mine.max_abs);
}

__global__ void wrong_chain_kernel(const float *a, const float *out, size_t n,
                                   unsigned long long *wrong)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        if (fabs(out[i] - (((double)a[i] + 1) * 3 - 2)) > 0x1p-20)
            atomicAdd(wrong, 1);
}

struct squared {
    __host__ __device__ float operator()(float a) const
    {
        return a * a;
    }
};
struct magnitude {
    __host__ __device__ float operator()(float a) const
    {
        return fabsf(a);
    }
};
struct greater {
    __host__ __device__ float operator()(float a, float b) const
    {
        return a > b ? a : b;
    }
};
struct chained {
    __host__ __device__ float operator()(float a) const
    {
        return (a + 1) * 3 - 2;
    }
};

// ---- Contests -------------------------------------------------------------------------------------

struct contender {
    const char *kernel;
    std::function<cudaError_t(cudaStream_t)> launch;
};

struct data {
    size_t n, scratch_bytes, cub_bytes;
    const float *a, *b;
    float *work, *out;
    void *scratch, *cub_scratch;
};

static void contest(bench &b, const data &d, const char *name, double bytes,
                    const std::vector<contender> &list, std::function<bool(std::string *)> check)
{
    bench_contest contest("fuse", "float", d.n);
    contest.data = name;
    const bench_entry copied = bench_copy({{d.work, d.a, d.n * 4}}, [=] {
        BENCH_CHECK(cudaMemset(d.work, 0xff, d.n * 4));
        BENCH_CHECK(cudaMemset(d.out, 0xff, 16));
    });
    contest.entries.push_back(copied);
    for (const contender &c : list) {
        bench_entry entry = copied;
        entry.kernel = c.kernel;
        entry.bytes = bytes;
        entry.launch = c.launch;
        entry.check = check;
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

// Whether out[0] is near enough, given the rounding of a sum of n, added up in runs and a tree.
static std::function<bool(std::string *)> near(const data &d, double wanted, double magnitude)
{
    return [=](std::string *why) {
        float got;
        BENCH_CHECK(cudaMemcpy(&got, d.out, 4, cudaMemcpyDeviceToHost));
        *why = std::to_string(got) + ", not " + std::to_string(wanted);
        return std::fabs(got - wanted) <= (16 + d.n / 1e5) * 0x1p-24 * magnitude;
    };
}

static totals totals_of(const float *a, const float *b, size_t n)
{
    const std::shared_ptr<void> sums = bench_zeroed(sizeof(totals));
    totals t;
    totals_kernel<<<512, 256>>>(a, b, n, (totals *)sums.get());
    BENCH_CHECK(cudaGetLastError());
    BENCH_CHECK(cudaMemcpy(&t, sums.get(), sizeof t, cudaMemcpyDeviceToHost));
    return t;
}

// Of arrays that begin so many elements later.
static void dot_contest(bench &b, const data &d, const char *name, size_t at_a, size_t at_b)
{
    const float *const x = d.a + at_a, *const y = d.b + at_b;
    const size_t n = d.n - std::max(at_a, at_b);
    const totals t = totals_of(x, y, n);
    contest(b, d, name, 8.0 * n,
            {{"two kernels",
              [=](cudaStream_t stream) {
                  const cudaError_t status = multiply_launch(x, y, d.work, n, stream);
                  return status != cudaSuccess
                             ? status
                             : sum_launch(d.work, d.out, n, d.scratch, d.scratch_bytes, stream);
              }},
             {"fused",
              [=](cudaStream_t stream) {
                  return dot_launch(x, y, d.out, n, d.scratch, d.scratch_bytes, stream);
              }}},
            near(d, t.dot, t.squares));
}

static void contests(bench &b, const data &d)
{
    const double n = (double)d.n;
    const totals t = totals_of(d.a, d.b, d.n);
    float max_abs;
    memcpy(&max_abs, &t.max_abs, 4);
    const int count = (int)d.n;

    const auto summed = [=](cudaStream_t stream) {
        return sum_launch(d.work, d.out, d.n, d.scratch, d.scratch_bytes, stream);
    };
    const auto then = [](cudaError_t first, std::function<cudaError_t()> second) {
        return first != cudaSuccess ? first : second();
    };

    contest(b, d, "sum of squares", 4 * n,
            {{"CUB",
              [=](cudaStream_t stream) {
                  size_t bytes = d.cub_bytes;
                  return cub::DeviceReduce::TransformReduce(d.cub_scratch, bytes, d.a, d.out, count,
                                                            cuda::std::plus<>(), squared(), 0.0f,
                                                            stream);
              }},
             {"two kernels",
              [=](cudaStream_t stream) {
                  return then(square_launch(d.a, d.work, d.n, stream),
                              [&] { return summed(stream); });
              }},
             {"fused",
              [=](cudaStream_t stream) {
                  return squares_launch(d.a, d.out, d.n, d.scratch, d.scratch_bytes, stream);
              }}},
            near(d, t.squares, t.squares));

    dot_contest(b, d, "dot product", 0, 0);
    dot_contest(b, d, "dot product, not at one boundary", 0, 1);

    contest(b, d, "max abs", 4 * n,
            {{"CUB",
              [=](cudaStream_t stream) {
                  size_t bytes = d.cub_bytes;
                  return cub::DeviceReduce::TransformReduce(d.cub_scratch, bytes, d.a, d.out, count,
                                                            greater(), magnitude(), 0.0f, stream);
              }},
             {"two kernels",
              [=](cudaStream_t stream) {
                  return then(absolute_launch(d.a, d.work, d.n, stream), [&] {
                      return greatest_launch(d.work, d.out, d.n, d.scratch, d.scratch_bytes,
                                             stream);
                  });
              }},
             {"fused",
              [=](cudaStream_t stream) {
                  return max_abs_launch(d.a, d.out, d.n, d.scratch, d.scratch_bytes, stream);
              }}},
            near(d, max_abs, 0));

    // Two passes: the mean; then the squares around it. The host gives the second pass its mean.
    const float mean = (float)(t.sum / n);
    const double variance = t.squares / n - t.sum / n * (t.sum / n);
    contest(
        b, d, "mean and variance", 4 * n,
        {{"three kernels",
          [=](cudaStream_t stream) {
              return then(sum_launch(d.a, d.out, d.n, d.scratch, d.scratch_bytes, stream), [&] {
                  return then(deviation_launch(d.a, d.work, d.n, mean, stream), [&] {
                      return sum_launch(d.work, d.out + 2, d.n, d.scratch, d.scratch_bytes, stream);
                  });
              });
          }},
         {"fused",
          [=](cudaStream_t stream) {
              return spread_launch(d.a, (moments *)d.out, d.n, d.scratch, d.scratch_bytes, stream);
          }}},
        [=](std::string *why) {
            float got[3];
            BENCH_CHECK(cudaMemcpy(got, d.out, sizeof got, cudaMemcpyDeviceToHost));
            *why = "variance " + std::to_string(got[2] / n) + ", not " + std::to_string(variance);
            return std::fabs(got[2] / n - variance) <= 1e-4 * variance;
        });

    contest(
        b, d, "three maps", 8 * n,
        {{"CUB",
          [=](cudaStream_t stream) {
              return cub::DeviceTransform::Transform(d.a, d.work, count, chained(), stream);
          }},
         {"three kernels",
          [=](cudaStream_t stream) {
              return then(plus_launch(d.a, d.work, d.n, stream), [&] {
                  return then(times_launch(d.work, d.work, d.n, stream),
                              [&] { return minus_launch(d.work, d.work, d.n, stream); });
              });
          }},
         {"fused", [=](cudaStream_t stream) { return chain_launch(d.a, d.work, d.n, stream); }}},
        [=](std::string *why) {
            std::shared_ptr<void> wrong = bench_zeroed(8);
            unsigned long long found;
            wrong_chain_kernel<<<1024, 256>>>(d.a, d.work, d.n, (unsigned long long *)wrong.get());
            BENCH_CHECK(cudaGetLastError());
            BENCH_CHECK(cudaMemcpy(&found, wrong.get(), 8, cudaMemcpyDeviceToHost));
            *why = std::to_string(found) + " elements";
            return found == 0;
        });

    contest(b, d, "coarsening", 4 * n,
            {{"four blocks",
              [=](cudaStream_t stream) {
                  return four_blocks_launch(d.a, d.out, d.n, d.work, 16, stream);
              }},
             {"a block of coarse threads",
              [=](cudaStream_t stream) {
                  return coarse_threads_launch(d.a, d.out, d.n, d.work, 16, stream);
              }},
             {"a coarse block",
              [=](cudaStream_t stream) {
                  return coarse_blocks_launch(d.a, d.out, d.n, d.work, 16, stream);
              }}},
            near(d, t.sum, std::sqrt(n) * 64));
}

int main(int argc, char **argv)
{
    bench b(argc, argv, {"Fusion: maps and reductions as several kernels and as one.", "", 16, 28});
    for (int e : b.exponents(4)) {
        const size_t n = (size_t)1 << e;
        if (!b.fits(12.0 * n, ("fuse, n = 2^" + std::to_string(e)).c_str()))
            continue;
        const std::shared_ptr<void> a = bench_alloc(n * 4), c = bench_alloc(n * 4);
        const std::shared_ptr<void> work = bench_alloc(n * 4), out = bench_alloc(16);
        bench_fill((float *)a.get(), n, 1);
        bench_fill((float *)c.get(), n, 2);
        data d = {};
        d.n = n;
        d.a = (float *)a.get();
        d.b = (float *)c.get();
        d.work = (float *)work.get();
        d.out = (float *)out.get();
        d.scratch_bytes = std::max(dot_scratch_bytes(n), spread_scratch_bytes(n));
        d.cub_bytes = 16 << 20;
        const std::shared_ptr<void> scratch = bench_alloc(d.scratch_bytes);
        BENCH_CHECK(dot_scratch_init(scratch.get(), d.scratch_bytes, 0));
        const std::shared_ptr<void> cub_scratch = bench_alloc(d.cub_bytes);
        d.scratch = scratch.get();
        d.cub_scratch = cub_scratch.get();
        contests(b, d);
    }
    return b.finish();
}
