// SPDX-License-Identifier: MIT
//
// bench/map.cu: vector addition, squares and saxpy. Each rung of the map ladder and map.h beside
// cub::DeviceTransform and a device copy. With --sweep: every pair of knobs of the rungs that have a
// COARSE_FACTOR, for the addition.
//
// The file includes itself, once for each pair of knobs and once for each rung.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME      SWEEP_NAME(consecutive)
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) + (b))
#define BLOCK_DIM         SWEEP_BLOCK_DIM
#define COARSE_FACTOR     SWEEP_COARSE_FACTOR
#include <coarsen/map/consecutive.h>
VARIANT(consecutive);

#define COARSEN_NAME      SWEEP_NAME(interleaved)
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) + (b))
#define BLOCK_DIM         SWEEP_BLOCK_DIM
#define COARSE_FACTOR     SWEEP_COARSE_FACTOR
#include <coarsen/map/interleaved.h>
VARIANT(interleaved);

#define COARSEN_NAME      SWEEP_NAME(vectorized)
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) + (b))
#define BLOCK_DIM         SWEEP_BLOCK_DIM
#define COARSE_FACTOR     SWEEP_COARSE_FACTOR
#include <coarsen/map/vectorized.h>
VARIANT(vectorized);

#elif defined(MAP_RUNG) // ---- one rung: MAP_RUNG, MAP_TEXT, MAP_HEADER ---------------------------

#define COARSEN_NAME      COARSEN_JOIN(MAP_RUNG, _add)
#define COARSEN_TYPE      float
#define COARSEN_INPUTS    2
#define COARSEN_MAP(a, b) ((a) + (b))
#include MAP_HEADER

#define COARSEN_NAME   COARSEN_JOIN(MAP_RUNG, _square)
#define COARSEN_TYPE   float
#define COARSEN_MAP(a) ((a) * (a))
#include MAP_HEADER

#define COARSEN_NAME         COARSEN_JOIN(MAP_RUNG, _saxpy)
#define COARSEN_TYPE         float
#define COARSEN_INPUTS       2
#define COARSEN_SCALAR       float
#define COARSEN_MAP(a, b, s) ((s) * (a) + (b))
#include MAP_HEADER

static const bool COARSEN_JOIN(MAP_RUNG,
                               _added) = bench_add(bench_rungs<rung>(),
                                                   {MAP_TEXT, COARSEN_JOIN(MAP_RUNG, _add_launch),
                                                    COARSEN_JOIN(MAP_RUNG, _square_launch),
                                                    COARSEN_JOIN(MAP_RUNG, _saxpy_launch)});

#undef MAP_RUNG
#undef MAP_TEXT
#undef MAP_HEADER

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>

struct rung {
    const char *kernel;
    cudaError_t (*add)(const float *, const float *, float *, size_t, cudaStream_t);
    cudaError_t (*square)(const float *, float *, size_t, cudaStream_t);
    cudaError_t (*saxpy)(const float *, const float *, float *, size_t, float, cudaStream_t);
};

struct variant {
    const char *kernel, *knobs;
    cudaError_t (*add)(const float *, const float *, float *, size_t, cudaStream_t);
    std::function<void(bench_entry *)> describe;
};

#define VARIANT(stem)                                                                              \
    static const bool COARSEN_JOIN(SWEEP_NAME(stem), _added) = bench_add(                          \
        bench_variants<variant>(),                                                                 \
        {#stem, SWEEP_KNOBS, COARSEN_JOIN(SWEEP_NAME(stem), _launch), [](bench_entry *entry) {     \
             bench_occupancy(entry, COARSEN_JOIN(SWEEP_NAME(stem), _kernel), SWEEP_BLOCK_DIM);     \
         }})

#define MAP_RUNG   single
#define MAP_TEXT   "single"
#define MAP_HEADER <coarsen/map/single.h>
#include "map.cu"

#define MAP_RUNG   consecutive
#define MAP_TEXT   "consecutive"
#define MAP_HEADER <coarsen/map/consecutive.h>
#include "map.cu"

#define MAP_RUNG   interleaved
#define MAP_TEXT   "interleaved"
#define MAP_HEADER <coarsen/map/interleaved.h>
#include "map.cu"

#define MAP_RUNG   vectorized
#define MAP_TEXT   "vectorized"
#define MAP_HEADER <coarsen/map/vectorized.h>
#include "map.cu"

#define MAP_RUNG   map
#define MAP_TEXT   "map.h"
#define MAP_HEADER <coarsen/map.h>
#include "map.cu"

#define SWEEP_VARIANT "map.cu"
#include "sweep.h"

// ---- What is to be made -----------------------------------------------------------------------------

// In doubles, then rounded to float. That is exactly what one operation in floats gives. Only saxpy may
// differ, because its multiplication and addition may be one operation or two.
struct addition {
    static const char *name()
    {
        return "add";
    }
    __host__ __device__ float operator()(float a, float b) const
    {
        return a + b;
    }
    static __device__ bool right(float got, double a, double b)
    {
        return got == (float)(a + b);
    }
};
struct squaring {
    static const char *name()
    {
        return "square";
    }
    __host__ __device__ float operator()(float a) const
    {
        return a * a;
    }
    static __device__ bool right(float got, double a, double)
    {
        return got == (float)(a * a);
    }
};
struct saxpying {
    static const char *name()
    {
        return "saxpy";
    }
    __host__ __device__ float operator()(float a, float b) const
    {
        return 2.5f * a + b;
    }
    static __device__ bool right(float got, double a, double b)
    {
        return fabs(got - (2.5 * a + b)) <= 0x1p-22;
    }
};

template <typename Op>
__global__ void wrong_kernel(const float *a, const float *b, const float *out, size_t n,
                             unsigned long long *wrong)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        if (!Op::right(out[i], a[i], b[i]))
            atomicAdd(wrong, 1);
}

typedef std::function<cudaError_t(float *, size_t, cudaStream_t)> launcher;

struct contender {
    const char *kernel, *knobs;
    launcher launch;
    std::function<void(bench_entry *)> describe;
};

template <typename Op>
static void contest(bench &b, const float *x, const float *y, float *out, size_t n, int arrays,
                    const std::vector<contender> &list, const char *where = "")
{
    bench_contest contest("map", "float", n);
    contest.data = std::string(Op::name()) + where;

    const bench_entry copied = bench_copy({{out, x, n * sizeof(float)}}, [=] {
        BENCH_CHECK(cudaMemset(out, 0xff, n * sizeof(float)));
    });
    contest.entries.push_back(copied);

    for (const contender &c : list) {
        bench_entry entry = copied;
        entry.kernel = c.kernel;
        entry.knobs = c.knobs;
        entry.bytes = 4.0 * arrays * n;
        const launcher launch = c.launch;
        entry.launch = [=](cudaStream_t stream) { return launch(out, n, stream); };
        entry.check = [=](std::string *why) {
            std::shared_ptr<void> wrong = bench_zeroed(8);
            unsigned long long count;
            wrong_kernel<Op><<<1024, 256>>>(x, y, out, n, (unsigned long long *)wrong.get());
            BENCH_CHECK(cudaGetLastError());
            BENCH_CHECK(cudaMemcpy(&count, wrong.get(), 8, cudaMemcpyDeviceToHost));
            *why = std::to_string(count) + " elements";
            return count == 0;
        };
        if (c.describe)
            c.describe(&entry);
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Maps: the rungs of coarsen's beside CUB's DeviceTransform and a device copy.", "", 12,
             28});
    for (int e : b.exponents(4)) {
        const size_t n = (size_t)1 << e, bytes = n * sizeof(float);
        if (!b.fits(3.0 * bytes, ("map, n = 2^" + std::to_string(e)).c_str()))
            continue;
        const std::shared_ptr<void> a = bench_alloc(bytes + 16), c = bench_alloc(bytes + 16);
        const std::shared_ptr<void> made = bench_alloc(bytes + 16);
        const float *const x = (float *)a.get(), *const y = (float *)c.get();
        float *const out = (float *)made.get();
        bench_fill((float *)a.get(), n + 4, 1);
        bench_fill((float *)c.get(), n + 4, 2);

        std::vector<contender> add, square, saxpy, apart;
        if (b.sweep) {
            for (const variant &v : bench_variants<variant>())
                add.push_back({v.kernel, v.knobs,
                               [=](float *to, size_t n, cudaStream_t stream) {
                                   return v.add(x, y, to, n, stream);
                               },
                               v.describe});
            contest<addition>(b, x, y, out, n, 3, add);
            continue;
        }
        add.push_back({"CUB", "",
                       [=](float *to, size_t n, cudaStream_t stream) {
                           return cub::DeviceTransform::Transform(cuda::std::make_tuple(x, y), to,
                                                                  n, addition(), stream);
                       },
                       nullptr});
        square.push_back({"CUB", "",
                          [=](float *to, size_t n, cudaStream_t stream) {
                              return cub::DeviceTransform::Transform(x, to, n, squaring(), stream);
                          },
                          nullptr});
        saxpy.push_back({"CUB", "",
                         [=](float *to, size_t n, cudaStream_t stream) {
                             return cub::DeviceTransform::Transform(cuda::std::make_tuple(x, y), to,
                                                                    n, saxpying(), stream);
                         },
                         nullptr});
        apart.push_back({"CUB", "",
                         [=](float *to, size_t n, cudaStream_t stream) {
                             return cub::DeviceTransform::Transform(
                                 cuda::std::make_tuple(x + 1, y + 2), to, n, saxpying(), stream);
                         },
                         nullptr});
        for (const rung &r : bench_rungs<rung>()) {
            add.push_back({r.kernel, "",
                           [=](float *to, size_t n, cudaStream_t stream) {
                               return r.add(x, y, to, n, stream);
                           },
                           nullptr});
            square.push_back({r.kernel, "",
                              [=](float *to, size_t n, cudaStream_t stream) {
                                  return r.square(x, to, n, stream);
                              },
                              nullptr});
            saxpy.push_back({r.kernel, "",
                             [=](float *to, size_t n, cudaStream_t stream) {
                                 return r.saxpy(x, y, to, n, 2.5f, stream);
                             },
                             nullptr});
            apart.push_back({r.kernel, "",
                             [=](float *to, size_t n, cudaStream_t stream) {
                                 return r.saxpy(x + 1, y + 2, to, n, 2.5f, stream);
                             },
                             nullptr});
        }
        contest<addition>(b, x, y, out, n, 3, add);
        contest<squaring>(b, x, y, out, n, 2, square);
        contest<saxpying>(b, x, y, out, n, 3, saxpy);
        contest<saxpying>(b, x + 1, y + 2, out + 3, n, 3, apart, ", not at one boundary");
    }
    return b.finish();
}

#endif
