// SPDX-License-Identifier: MIT
//
// Every rung of the matrix product: right at every edge of a tile, for every type, leading dimension
// and alignment, in any order of blocks; and what it promises of errors, NaN, bits and counts.

#include "device.h"

#include <limits>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

// What launch(scratch) returns, done, with so much scratch: an error, too, if anything beside that was written.
template <class Launch> static cudaError_t with_scratch(size_t bytes, Launch launch)
{
    const test_array scratch(bytes);
    cudaError_t status = launch(scratch.get());
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    return status == cudaSuccess && !scratch.intact() ? cudaErrorUnknown : status;
}

// ---- The inclusions -----------------------------------------------------------------------------

#if TESTED(naive)

#define COARSEN_NAME naive_f32
#define COARSEN_TYPE float
#define TILE_WIDTH   8
#include <coarsen/matmul/naive.h>

#define COARSEN_NAME naive_32
#define COARSEN_TYPE float
#include <coarsen/matmul/naive.h>

#define COARSEN_NAME naive_i32
#define COARSEN_TYPE int
#include <coarsen/matmul/naive.h>

#define COARSEN_NAME naive_f64
#define COARSEN_TYPE double
#include <coarsen/matmul/naive.h>

#define COARSEN_NAME naive_f16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#define TILE_WIDTH   8
#include <coarsen/matmul/naive.h>

#endif

#if TESTED(tiled)

#define COARSEN_NAME tiled_f32
#define COARSEN_TYPE float
#define TILE_WIDTH   8
#include <coarsen/matmul/tiled.h>

#define COARSEN_NAME tiled_f64
#define COARSEN_TYPE double
#define TILE_WIDTH   5
#include <coarsen/matmul/tiled.h>

#define COARSEN_NAME tiled_32
#define COARSEN_TYPE float
#include <coarsen/matmul/tiled.h>

#define COARSEN_NAME tiled_bf16
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#define TILE_WIDTH   8
#include <coarsen/matmul/tiled.h>

#endif

#if TESTED(coarsened)

#define COARSEN_NAME  coarsened_f32
#define COARSEN_TYPE  float
#define TILE_WIDTH    8
#define COARSE_FACTOR 3
#include <coarsen/matmul/coarsened.h>

#define COARSEN_NAME  coarsened_i64
#define COARSEN_TYPE  long long
#define TILE_WIDTH    16
#define COARSE_FACTOR 1
#include <coarsen/matmul/coarsened.h>

#define COARSEN_NAME coarsened_32
#define COARSEN_TYPE float
#include <coarsen/matmul/coarsened.h>

#define COARSEN_NAME  coarsened_f16
#define COARSEN_TYPE  __half
#define COARSEN_ACC   float
#define TILE_WIDTH    8
#define COARSE_FACTOR 2
#include <coarsen/matmul/coarsened.h>

#endif

#if TESTED(register_tiled)

#define COARSEN_NAME register_f32
#define COARSEN_TYPE float
#define BM           16
#define BN           24
#define BK           4
#define TM           4
#define TN           3
#include <coarsen/matmul/register_tiled.h>

#define COARSEN_NAME register_f64
#define COARSEN_TYPE double
#define BM           8
#define BN           16
#define TM           2
#define TN           2
#include <coarsen/matmul/register_tiled.h>

#define COARSEN_NAME register_128
#define COARSEN_TYPE float
#include <coarsen/matmul/register_tiled.h>

#define COARSEN_NAME register_bf16
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#define BM           16
#define BN           8
#define TM           2
#define TN           2
#include <coarsen/matmul/register_tiled.h>

#endif

#if TESTED(narrow) || TESTED(flat)
static size_t ceil_div(size_t a, size_t b)
{
    return (a + b - 1) / b;
}
#endif

#if TESTED(narrow)

#define COARSEN_NAME narrow_f32
#define COARSEN_TYPE float
#include <coarsen/matmul/narrow.h>

#define COARSEN_NAME  narrow_i64
#define COARSEN_TYPE  long long
#define COARSE_FACTOR 3
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul/narrow.h>

// A batch, as matmul.h has it made.
static cudaError_t narrow_launch_batch(size_t count, size_t rows, size_t cols, size_t inner,
                                       float alpha, const float *m, size_t ldm, size_t m_step,
                                       const float *n, size_t ldn, size_t n_step, float beta,
                                       float *p, size_t ldp, size_t p_step, cudaStream_t stream)
{
    narrow_f32_product of = {};
    of.rows = rows, of.cols = cols, of.inner = inner, of.m = m, of.few = n, of.ldm = ldm;
    of.step_k = ldn, of.step_j = 1, of.alpha = alpha, of.beta = beta, of.p = p;
    of.step_row = ldp, of.step_col = 1, of.count = count;
    of.m_step = m_step, of.few_step = n_step, of.p_step = p_step, of.most_parts = 1;
    return narrow_f32_launch_product(of, stream);
}

// Divided as few rows of much depth are, into three parts, each by so many threads and rows; whatever there is to do.
template <unsigned int threads, unsigned int take, bool neighbours>
static cudaError_t narrow_parts_launch(size_t rows, size_t cols, size_t inner, float alpha,
                                       const float *m, size_t ldm, const float *n, size_t ldn,
                                       float beta, float *p, size_t ldp, cudaStream_t stream)
{
    narrow_f32_product of = {};
    of.rows = rows, of.cols = cols, of.inner = alpha == 0 ? 0 : inner, of.m = m, of.few = n;
    of.ldm = ldm, of.step_k = ldn, of.step_j = 1, of.alpha = alpha, of.beta = beta, of.p = p;
    of.step_row = ldp, of.step_col = 1, of.count = 1;
    if (rows == 0 || cols == 0)
        return cudaSuccess;
    const test_array sums(3 * rows * cols * sizeof(float));
    of.sums = (float *)sums.get();
    of.aligned = ((size_t)m | ldm * sizeof(float)) % 16 == 0;
    of.threads = threads, of.take = cols == 1 && take > 4 ? 4 : take;
    of.apart = neighbours ? 1 : 4;
    of.groups = of.apart * ceil_div(rows, of.apart * of.take);
    const size_t vectors = ceil_div(of.inner + 3, 4);
    of.depth = ceil_div(vectors, 3), of.parts = ceil_div(vectors, of.depth);
    const cudaError_t status = narrow_f32_launch_divided(of, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}
static const auto narrow_f32_parts_launch = narrow_parts_launch<8, 2, true>;
static const auto narrow_f32_apart_launch = narrow_parts_launch<64, 8, false>;
static const auto narrow_f32_single_launch = narrow_parts_launch<16, 1, true>;

#endif

#if TESTED(flat)

#define COARSEN_NAME flat_f32
#define COARSEN_TYPE float
#include <coarsen/matmul/flat.h>

#define COARSEN_NAME  flat_i64
#define COARSEN_TYPE  long long
#define COARSE_FACTOR 3
#define COARSEN_M_TRANSPOSED
#include <coarsen/matmul/flat.h>

// A batch, as matmul.h has it made.
static cudaError_t flat_launch_batch(size_t count, size_t rows, size_t cols, size_t inner,
                                     float alpha, const float *m, size_t ldm, size_t m_step,
                                     const float *n, size_t ldn, size_t n_step, float beta,
                                     float *p, size_t ldp, size_t p_step, cudaStream_t stream)
{
    flat_f32_product of = {};
    of.rows = rows, of.cols = cols, of.inner = inner, of.n = n, of.few = m, of.ldn = ldn;
    of.step_k = 1, of.step_i = ldm, of.alpha = alpha, of.beta = beta, of.p = p;
    of.step_row = ldp, of.step_col = 1, of.count = count;
    of.n_step = n_step, of.few_step = m_step, of.p_step = p_step, of.most_parts = 1;
    return flat_f32_launch_product(of, stream);
}

// Divided as few columns of much depth are, into three parts, by blocks that are so wide; whatever there is to do.
template <unsigned int across>
static cudaError_t flat_parts_launch(size_t rows, size_t cols, size_t inner, float alpha,
                                     const float *m, size_t ldm, const float *n, size_t ldn,
                                     float beta, float *p, size_t ldp, cudaStream_t stream)
{
    flat_f32_product of = {};
    of.rows = rows, of.cols = cols, of.inner = alpha == 0 ? 0 : inner, of.n = n, of.few = m;
    of.ldn = ldn, of.step_k = 1, of.step_i = ldm, of.alpha = alpha, of.beta = beta, of.p = p;
    of.step_row = ldp, of.step_col = 1, of.count = 1;
    if (rows == 0 || cols == 0)
        return cudaSuccess;
    const test_array sums(3 * rows * cols * sizeof(float));
    of.sums = (float *)sums.get();
    of.aligned = ((size_t)n | ldn * sizeof(float)) % 16 == 0;
    of.across = across, of.deep = 256 / across / 4 * 4, of.width = across * 4;
    if (!of.aligned)
        of.width -= 3;
    of.depth = ceil_div(of.inner, 3);
    of.parts = of.depth == 0 ? 1 : ceil_div(of.inner, of.depth);
    const cudaError_t status = flat_f32_launch_divided(of, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}
static const auto flat_f32_parts_launch = flat_parts_launch<12>;

#endif

#if TESTED(tall)

#define COARSEN_NAME tall_f32
#define COARSEN_TYPE float
#include <coarsen/matmul/tall.h>

#define COARSEN_NAME   tall_u32
#define COARSEN_TYPE   unsigned int
#define BM             32
#define BN             8
#define BK             32
#define TM             2
#define TN             4
#define COARSEN_SLICES 2
#define COARSEN_STAGES 2
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul/tall.h>

#define COARSEN_NAME   tall_i32
#define COARSEN_TYPE   int
#define BM             64
#define BN             64
#define BK             16
#define TM             4
#define TN             8
#define COARSEN_SLICES 1
#define COARSEN_STAGES 4
#include <coarsen/matmul/tall.h>

// Few rows, and N stored column after column: the product of N by M, as matmul.h has it.
#define MIRRORED(name, T)                                                                          \
    static cudaError_t name##_mirrored_launch(size_t rows, size_t cols, size_t inner, T alpha,     \
                                              const T *m, size_t ldm, const T *n, size_t ldn,      \
                                              T beta, T *p, size_t ldp, cudaStream_t stream)       \
    {                                                                                              \
        name##_work work = {};                                                                     \
        work.flipped = true;                                                                       \
        return rows == 0 || cols == 0                                                              \
                   ? cudaSuccess                                                                   \
                   : name##_launch_work(1, cols, rows, alpha == 0 ? 0 : inner, alpha, n, ldn, m,   \
                                        ldm, beta, p, ldp, (size_t)-1, 1, work, stream);           \
    }
MIRRORED(tall_f32, float) // M is stored column after column, too
MIRRORED(tall_u32, unsigned int)

#endif

#if TESTED(batched)

#define COARSEN_NAME batched_f32
#define COARSEN_TYPE float
#include <coarsen/matmul/batched.h>

#define COARSEN_NAME   batched_i32
#define COARSEN_TYPE   int
#define BM             32
#define TM             4
#define TN             8
#define BK             16
#define COARSEN_STAGES 3
#include <coarsen/matmul/batched.h>

// One product, of a batch of one.
#define OF_ONE(name, T)                                                                            \
    static cudaError_t name##_launch(size_t rows, size_t cols, size_t inner, T alpha, const T *m,  \
                                     size_t ldm, const T *n, size_t ldn, T beta, T *p, size_t ldp, \
                                     cudaStream_t stream)                                          \
    {                                                                                              \
        return name##_launch_batch(1, rows, cols, inner, alpha, m, ldm, 0, n, ldn, 0, beta, p,     \
                                   ldp, 0, stream);                                                \
    }
OF_ONE(batched_f32, float)
OF_ONE(batched_i32, int)

#endif

#if TESTED(whole)

#define COARSEN_NAME whole_f32
#define COARSEN_TYPE float
#include <coarsen/matmul/whole.h>

#define COARSEN_NAME whole_i32
#define COARSEN_TYPE int
#define TM           8
#define TN           4
#include <coarsen/matmul/whole.h>

#define COARSEN_NAME whole_turned
#define COARSEN_TYPE double
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#define TM 3
#define TN 5
#include <coarsen/matmul/whole.h>

#define COARSEN_NAME whole_f16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#include <coarsen/matmul/whole.h>

#define COARSEN_NAME whole_turned_bf16
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#define TM 8
#define TN 4
#include <coarsen/matmul/whole.h>

#endif

#if TESTED(narrow)

#define COARSEN_NAME narrow_f16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#include <coarsen/matmul/narrow.h>

#define COARSEN_NAME narrow_bf16
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul/narrow.h>

#endif

#if TESTED(tensor16) || TESTED(launch)

#define COARSEN_NAME   tensor_f16
#define COARSEN_TYPE   __half
#define COARSEN_ACC    float
#define BM             64
#define BN             64
#define TM             32
#define TN             16
#define COARSEN_STAGES 2
#include <coarsen/matmul/tensor16.h>

#define COARSEN_NAME tensor_bf16_turned
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#define BM           64
#define BN           128
#define TM           16
#define TN           64
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul/tensor16.h>

// Lines of two pieces and of four.
#define COARSEN_NAME slim_f16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#define BM           64
#define BN           16
#define TM           16
#define TN           16
#include <coarsen/matmul/tensor16.h>

#define COARSEN_NAME   low_f16_turned
#define COARSEN_TYPE   __half
#define COARSEN_ACC    float
#define BM             16
#define BN             64
#define TM             16
#define TN             16
#define COARSEN_STAGES 4
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul/tensor16.h>

#define COARSEN_NAME little_f16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#define BM           32
#define BN           32
#define BK           32
#define TM           16
#define TN           16
#include <coarsen/matmul/tensor16.h>

#ifndef TEST_FIRST
#define COARSEN_NAME tensor_bf16
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#include <coarsen/matmul/tensor16.h>
#endif

#endif

#if TESTED(warpgroup) || TESTED(box) || TESTED(launch)

#define COARSEN_NAME   group_f16
#define COARSEN_TYPE   __half
#define COARSEN_ACC    float
#define BM             128
#define BN             64
#define COARSEN_STAGES 2
#include <coarsen/matmul/warpgroup.h>

#define COARSEN_NAME group_f16_little
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#define BM           64
#define BN           64
#define COARSEN_M_TRANSPOSED
#include <coarsen/matmul/warpgroup.h>

#define COARSEN_NAME group_bf16_turned
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#define BN           128
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul/warpgroup.h>

#ifndef TEST_FIRST
#define COARSEN_NAME group_f16_flat
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#define BM           128
#include <coarsen/matmul/warpgroup.h>

#define COARSEN_NAME group_f16_alone
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#define BM           192
#define BN           192
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul/warpgroup.h>

#define COARSEN_NAME group_bf16
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#include <coarsen/matmul/warpgroup.h>
#endif

#endif

#if TESTED(pack) || TESTED(pipelined)

#define COARSEN_NAME  packed_f32
#define COARSEN_TYPE  float
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include <coarsen/base.h>
#define COARSEN_SHAPE _tiles
#define COARSEN_PACKED
#define BM 64
#define BN 64
#define TN 8
#include <coarsen/matmul/pipelined.h>
#include <coarsen/matmul/pack.h>
#define COARSEN_END
#include <coarsen/base.h>

#endif

#if TESTED(pack)

#define COARSEN_NAME  packed_f64
#define COARSEN_TYPE  double
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include <coarsen/base.h>
#define COARSEN_SHAPE _tiles
#define COARSEN_PACKED
#define BM 64
#define BN 64
#define TM 4
#include <coarsen/matmul/pipelined.h>
#include <coarsen/matmul/pack.h>
#define COARSEN_END
#include <coarsen/base.h>

#endif

#if TESTED(align)

#define COARSEN_NAME  aligned_u16
#define COARSEN_TYPE  unsigned short
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include <coarsen/base.h>
#include <coarsen/block/vector.h>
#include <coarsen/matmul/align.h>
#define COARSEN_END
#include <coarsen/base.h>

#define COARSEN_NAME  aligned_f64
#define COARSEN_TYPE  double
#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include <coarsen/base.h>
#include <coarsen/block/vector.h>
#include <coarsen/matmul/align.h>
#define COARSEN_END
#include <coarsen/base.h>

#endif

#if TESTED(tensor) || TESTED(launch)

#define COARSEN_NAME   tensor_f64
#define COARSEN_TYPE   double
#define BM             32
#define BN             16
#define TM             16
#define TN             8
#define COARSEN_STAGES 3
#include <coarsen/matmul/tensor.h>

#define COARSEN_NAME tensor_128
#define COARSEN_TYPE double
#include <coarsen/matmul/tensor.h>

#define COARSEN_NAME tensor_turned
#define COARSEN_TYPE double
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#define BM             32
#define BN             32
#define BK             32
#define TM             32
#define TN             16
#define COARSEN_STAGES 2
#include <coarsen/matmul/tensor.h>

#endif

// matmul.h as a rung: with as much scratch as it asks for, with none, and as the last of a batch of three.
#define WHOLE(name, T, A)                                                                          \
    static cudaError_t name##_scratch_launch(size_t rows, size_t cols, size_t inner, A alpha,      \
                                             const T *m, size_t ldm, const T *n, size_t ldn,       \
                                             A beta, T *p, size_t ldp, cudaStream_t stream)        \
    {                                                                                              \
        const size_t bytes = name##_scratch_bytes(rows, cols, inner);                              \
        return with_scratch(bytes, [&](void *scratch) {                                            \
            return name##_launch(rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, scratch,  \
                                 bytes, stream);                                                   \
        });                                                                                        \
    }                                                                                              \
    static cudaError_t name##_bare_launch(size_t rows, size_t cols, size_t inner, A alpha,         \
                                          const T *m, size_t ldm, const T *n, size_t ldn, A beta,  \
                                          T *p, size_t ldp, cudaStream_t stream)                   \
    {                                                                                              \
        return name##_launch(rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, NULL, 0,      \
                             stream);                                                              \
    }

#if TESTED(matmul) || (TESTED(pipelined) && !defined(TEST_FIRST))
#define COARSEN_NAME matmul_f32
#define COARSEN_TYPE float
#include <coarsen/matmul.h>

// What matmul.h makes by narrow.h or flat.h, however many rows and columns there are.
#define STRIPS(name, as, T, number)                                                                \
    static cudaError_t name##_by_##as##_launch(size_t rows, size_t cols, size_t inner, T alpha,    \
                                               const T *m, size_t ldm, const T *n, size_t ldn,     \
                                               T beta, T *p, size_t ldp, cudaStream_t stream)      \
    {                                                                                              \
        name##_plan plan = {};                                                                     \
        plan.shape = name##_shapes + number;                                                       \
        return rows == 0 || cols == 0                                                              \
                   ? cudaSuccess                                                                   \
                   : name##_launch_plan(plan, rows, cols, alpha == 0 ? 0 : inner, alpha, m, ldm,   \
                                        n, ldn, beta, p, ldp, NULL, stream);                       \
    }
STRIPS(matmul_f32, narrow, float, 0)
STRIPS(matmul_f32, flat, float, 1)

// What it makes in tiles of one shape, in parts of the depth if there is a plan for that, as of two multiprocessors.
#define BY_SHAPE(name, as, T)                                                                      \
    static name##_plan name##_##as##_plan(size_t rows, size_t cols, size_t inner)                  \
    {                                                                                              \
        const name##_problem of = {1, rows,     cols,  inner, sizeof(T),                           \
                                   4, SIZE_MAX, false, false, false};                              \
        size_t s = 0;                                                                              \
        while (name##_shape_of(s).launch != name##_##as##_launch_work)                             \
            s++;                                                                                   \
        name##_plan plan = name##_plan_of(of, s, 2, 2);                                            \
        if (plan.cost == 0) {                                                                      \
            plan.shape = s;                                                                        \
            plan.whole = (size_t)-1, plan.parts = 1;                                               \
        }                                                                                          \
        return plan;                                                                               \
    }                                                                                              \
    static cudaError_t name##_by_##as##_launch(size_t rows, size_t cols, size_t inner, T alpha,    \
                                               const T *m, size_t ldm, const T *n, size_t ldn,     \
                                               T beta, T *p, size_t ldp, cudaStream_t stream)      \
    {                                                                                              \
        inner = alpha == 0 ? 0 : inner;                                                            \
        const name##_plan plan = name##_##as##_plan(rows, cols, inner);                            \
        return with_scratch(plan.scratch_bytes, [&](void *scratch) {                               \
            return rows == 0 || cols == 0                                                          \
                       ? cudaSuccess                                                               \
                       : name##_launch_plan(plan, rows, cols, inner, alpha, m, ldm, n, ldn, beta,  \
                                            p, ldp, scratch, stream);                              \
        });                                                                                        \
    }
#endif

#if TESTED(matmul)

BY_SHAPE(matmul_f32, tall_16, float)
BY_SHAPE(matmul_f32, tall_24, float)
BY_SHAPE(matmul_f32, tall_48, float)

#define COARSEN_NAME n_turned_f32
#define COARSEN_TYPE float
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul.h>

BY_SHAPE(n_turned_f32, tall_24, float)
BY_SHAPE(n_turned_f32, tall_32, float)

#define COARSEN_NAME matmul_f16
#define COARSEN_TYPE __half
#define COARSEN_ACC  float
#include <coarsen/matmul.h>

#define COARSEN_NAME turned_bf16
#define COARSEN_TYPE __nv_bfloat16
#define COARSEN_ACC  float
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul.h>

WHOLE(matmul_f16, __half, float)
WHOLE(turned_bf16, __nv_bfloat16, float)

// Elements of 16 bits, of which M, N or both are packed, and if there is enough depth, tiles are made in parts.
#define PACKED_16(name, as, T, m_too)                                                              \
    static cudaError_t name##_##as##_launch(size_t rows, size_t cols, size_t inner, float alpha,   \
                                            const T *m, size_t ldm, const T *n, size_t ldn,        \
                                            float beta, T *p, size_t ldp, cudaStream_t stream)     \
    {                                                                                              \
        inner = alpha == 0 ? 0 : inner;                                                            \
        const name##_problem of = {1, rows,     cols,  inner, m_too ? 2 : 16,                      \
                                   2, SIZE_MAX, false, false, false};                              \
        name##_plan plan = name##_plan_of(of, 0, name##_packing_ways + name##_ways_of_all + 1, 8); \
        if (plan.cost == 0)                                                                        \
            plan = name##_plan_of(of, 0, inner > 0 ? name##_packing_ways : 0, 8);                  \
        return with_scratch(plan.scratch_bytes, [&](void *scratch) {                               \
            return rows == 0 || cols == 0                                                          \
                       ? cudaSuccess                                                               \
                       : name##_launch_plan(plan, rows, cols, inner, alpha, m, ldm, n, ldn, beta,  \
                                            p, ldp, scratch, stream);                              \
        });                                                                                        \
    }
PACKED_16(matmul_f16, packed, __half, true)
PACKED_16(matmul_f16, packed_n, __half, false)
PACKED_16(turned_bf16, packed, __nv_bfloat16, true)

#endif

#if TESTED(pipelined)

#define COARSEN_NAME   pipelined_f32
#define COARSEN_TYPE   float
#define BM             16
#define BN             32
#define BK             8
#define TM             4
#define TN             4
#define COARSEN_STAGES 2
#include <coarsen/matmul/pipelined.h>

#define COARSEN_NAME   sliced_f32
#define COARSEN_TYPE   float
#define BM             16
#define BN             32
#define BK             16
#define TM             4
#define TN             4
#define COARSEN_SLICES 4
#include <coarsen/matmul/pipelined.h>

#define COARSEN_NAME column_f32 // one column of patches
#define COARSEN_TYPE float
#define BM           128
#define BN           8
#define TM           4
#define TN           8
#include <coarsen/matmul/pipelined.h>

#define COARSEN_NAME   pipelined_i32
#define COARSEN_TYPE   int
#define BM             32
#define BN             16
#define BK             8
#define TM             4
#define TN             4
#define COARSEN_SLICES 4
#define COARSEN_STAGES 4
#include <coarsen/matmul/pipelined.h>

#define COARSEN_NAME pipelined_f64
#define COARSEN_TYPE double
#define BM           16
#define BN           16
#define BK           8
#define TM           4
#define TN           2
#include <coarsen/matmul/pipelined.h>

#define COARSEN_NAME m_turned_u32
#define COARSEN_TYPE unsigned int
#define COARSEN_M_TRANSPOSED
#define BM 32
#define BN 16
#define BK 16
#define TM 4
#define TN 4
#include <coarsen/matmul/pipelined.h>

#ifndef TEST_FIRST
#define COARSEN_NAME n_turned_f64
#define COARSEN_TYPE double
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul.h>

#define COARSEN_NAME m_turned_i64
#define COARSEN_TYPE long long
#define COARSEN_M_TRANSPOSED
#include <coarsen/matmul.h>

#define COARSEN_NAME turned_i32
#define COARSEN_TYPE int
#define COARSEN_M_TRANSPOSED
#define COARSEN_N_TRANSPOSED
#include <coarsen/matmul.h>

WHOLE(matmul_f32, float, float)
WHOLE(n_turned_f64, double, double)
WHOLE(m_turned_i64, long long, long long)
WHOLE(turned_i32, int, int)

STRIPS(n_turned_f64, narrow, double, 0)
STRIPS(m_turned_i64, flat, long long, 1)
STRIPS(turned_i32, narrow, int, 0)
STRIPS(turned_i32, flat, int, 1)
BY_SHAPE(turned_i32, tall_16, int)

#endif
#endif

// A rung with its last two tiles in up to three parts of the depth, or in many where there is much of it. Parts begin at
// multiples of `unit`.
#define PARTS(name, T, A, unit)                                                                    \
    static cudaError_t name##_parts_launch(size_t rows, size_t cols, size_t inner, A alpha,        \
                                           const T *m, size_t ldm, const T *n, size_t ldn, A beta, \
                                           T *p, size_t ldp, cudaStream_t stream)                  \
    {                                                                                              \
        if (alpha == 0)                                                                            \
            inner = 0;                                                                             \
        const size_t height = name##_tile_rows, width = name##_tile_cols;                          \
        const size_t tiles = (rows + height - 1) / height * ((cols + width - 1) / width);          \
        const size_t rest = tiles < 2 ? tiles : 2;                                                 \
        const size_t depth = inner > 256 ? unit : (inner / 3 + unit) / unit * unit,                \
                     parts = inner == 0 ? 1 : (inner + depth - 1) / depth;                         \
        return with_scratch(rest * parts * height * width * sizeof(A), [&](void *sums) {           \
            name##_work work = {};                                                                 \
            work.depth = depth;                                                                    \
            work.sums = (A *)sums;                                                                 \
            return name##_launch_work(1, rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp,   \
                                      tiles - rest, parts, work, stream);                          \
        });                                                                                        \
    }
#if TESTED(tensor16) || TESTED(launch)
PARTS(tensor_f16, __half, float, 8)
PARTS(little_f16, __half, float, 8)
#endif
#if TESTED(warpgroup) || TESTED(box) || TESTED(launch)
PARTS(group_f16, __half, float, 64)
PARTS(group_bf16_turned, __nv_bfloat16, float, 64)

// With the depth in slices, where the device has clusters.
#define SLICES(name, T, count)                                                                     \
    static cudaError_t name##_slices_##count##_launch(                                             \
        size_t rows, size_t cols, size_t inner, float alpha, const T *m, size_t ldm, const T *n,   \
        size_t ldn, float beta, T *p, size_t ldp, cudaStream_t stream)                             \
    {                                                                                              \
        name##_work work = {};                                                                     \
        work.slices = count;                                                                       \
        return name##_launch_work(1, rows, cols, alpha == 0 ? 0 : inner, alpha, m, ldm, n, ldn,    \
                                  beta, p, ldp, (size_t)-1, 1, work, stream);                      \
    }
SLICES(group_f16, __half, 2)
SLICES(group_f16, __half, 4)
SLICES(group_f16, __half, 8)
SLICES(group_f16_little, __half, 4)
#endif
#if TESTED(tensor) || TESTED(launch)
PARTS(tensor_f64, double, double, 8)
#endif
#if TESTED(pipelined)
PARTS(pipelined_f32, float, float, 8)
#endif
#if TESTED(tall)
PARTS(tall_f32, float, float, 8)
PARTS(tall_u32, unsigned int, unsigned int, 8)
#endif

#if TESTED(pack) || TESTED(pipelined)
// Tiles of packed operands, as matmul.h has them, but smaller. M and N as they are given are packed if their neighbours
// in memory are neighbours in depth, or if all is to be; zeros make up whole vectors. The last two tiles are made in parts.
#define PACKED(name, as, T, m_across, n_across, all)                                               \
    static cudaError_t name##_##as##_launch(size_t rows, size_t cols, size_t inner, T alpha,       \
                                            const T *m, size_t ldm, const T *n, size_t ldn,        \
                                            T beta, T *p, size_t ldp, cudaStream_t stream)         \
    {                                                                                              \
        if (rows == 0 || cols == 0)                                                                \
            return cudaSuccess;                                                                    \
        if (alpha == 0)                                                                            \
            inner = 0;                                                                             \
        const auto whole = [](size_t n) { return (n * sizeof(T) + 15) / 16 * 16 / sizeof(T); };    \
        const size_t down = (rows + 63) / 64, wide = (cols + 63) / 64;                             \
        const size_t rest = down * wide < 2 ? 1 : 2, depth = (inner / 3 + 8) / 8 * 8,              \
                     parts = inner == 0 ? 1 : (inner + depth - 1) / depth;                         \
        name##_unpacked of_m = {m, ldm, rows, m_across, NULL, m_across || all ? whole(rows) : 0};  \
        name##_unpacked of_n = {n, ldn, cols, n_across, NULL, n_across || all ? whole(cols) : 0};  \
        const test_array to_m(of_m.length *inner * sizeof(T)),                                     \
            to_n(of_n.length *inner * sizeof(T)), sums(rest *parts * 64 * 64 * sizeof(T));         \
        of_m.to = (T *)to_m.get(), of_n.to = (T *)to_n.get();                                      \
        cudaError_t status = cudaSuccess;                                                          \
        if (inner > 0 && of_m.length + of_n.length > 0)                                            \
            status = name##_pack(of_m, of_n, inner, stream);                                       \
        name##_work work = {};                                                                     \
        work.m_rows = rows, work.n_cols = cols;                                                    \
        work.depth = depth, work.sums = (T *)sums.get();                                           \
        if (of_m.length > 0)                                                                       \
            m = of_m.to, ldm = work.m_rows = of_m.length;                                          \
        if (of_n.length > 0)                                                                       \
            n = of_n.to, ldn = work.n_cols = of_n.length;                                          \
        if (status == cudaSuccess)                                                                 \
            status = name##_tiles_launch_work(1, rows, cols, inner, alpha, m, ldm, n, ldn, beta,   \
                                              p, ldp, down * wide - rest, parts, work, stream);    \
        if (status == cudaSuccess)                                                                 \
            status = cudaDeviceSynchronize();                                                      \
        const bool intact = to_m.intact() && to_n.intact() && sums.intact();                       \
        T last = 0;                                                                                \
        if (inner > 0 && of_m.length > rows)                                                       \
            CHECK(cudaMemcpy(&last, of_m.to + of_m.length * inner - 1, sizeof(T),                  \
                             cudaMemcpyDeviceToHost));                                             \
        return status == cudaSuccess && !(intact && last == 0) ? cudaErrorUnknown : status;        \
    }
PACKED(packed_f32, m, float, true, false, false)
#endif
#if TESTED(pack)
PACKED(packed_f32, both, float, true, false, true)
PACKED(packed_f32, of_transposed, float, false, true, true)
PACKED(packed_f64, n, double, false, true, false)
#endif

#if TESTED(align)
// An operand for align.h: lines of so many elements, so far apart, from any place on.
template <class T, class U> struct lines_of {
    size_t to_ld;
    std::vector<T> x;
    test_array in, to;
    U operand;

    lines_of(size_t lines, size_t length, size_t ld, size_t offset)
        : to_ld(lines == 0 ? 0 : (length * sizeof(T) + 15) / 16 * 16 / sizeof(T)),
          x(lines == 0 ? 0 : (lines - 1) * ld + length),
          in(x.size() * sizeof(T), offset * sizeof(T)),
          to(lines * to_ld * sizeof(T)), operand{(const T *)in.get(), ld,   lines, length,
                                                 (T *)to.get(),       to_ld}
    {
        for (size_t e = 0; e < x.size(); e++)
            x[e] = (T)(test_random(7, e) % 65535 + 1);
        in.fill(x.data());
    }
    bool right() const
    {
        std::vector<T> got(operand.lines * to_ld);
        to.read(got.data());
        bool ok = in.intact() && to.intact();
        for (size_t e = 0; e < got.size(); e++) {
            const size_t line = e / to_ld, at = e % to_ld;
            ok &= got[e] == (at < operand.length ? x[line * operand.ld + at] : (T)0);
        }
        return ok;
    }
};

template <class T, class U>
static void check_align(const char *name, cudaError_t (*align)(U, U, cudaStream_t))
{
    bool ok = true;
    for (size_t length : {1, 2, 7, 8, 31, 32, 33, 250, 1003})
        for (size_t offset = 0; offset < 16 / sizeof(T); offset++) {
            const size_t few = 1 + (length + offset) % 7, many = 70;
            const lines_of<T, U> m(many, length, length + offset % 3, offset);
            const lines_of<T, U> n(offset % 2 * few, length + 5, length + 5, offset);
            CHECK(align(m.operand, n.operand, 0));
            CHECK(cudaDeviceSynchronize());
            if (!m.right() || !n.right()) {
                tap_diag("%zu elements, offset %zu: %s", length, offset, m.right() ? "n" : "m");
                ok = false;
            }
        }
    tap_ok(ok, "%s: lines of any length, from anywhere on", name);
}
#endif

// ---- Running one --------------------------------------------------------------------------------

template <class T> struct rung {
    const char *name;
    cudaError_t (*launch)(size_t, size_t, size_t, T, const T *, size_t, const T *, size_t, T, T *,
                          size_t, cudaStream_t);
    size_t tile_rows, tile_cols, depth;
    bool m_turned, n_turned; // stored as the other order has them
};
#define RUNG(name, T, tile_rows, tile_cols, depth)                                                 \
    (rung<T>{#name, name##_launch, tile_rows, tile_cols, depth, false, false})
#define TURNED(name, T, m_turned, n_turned)                                                        \
    (rung<T>{#name, name##_launch, 32, 16, 32, m_turned, n_turned})

struct shape {
    size_t rows, cols, inner, pad, offset; // pad: of each leading dimension, beyond the width
};

// What no result is: all bits set, NaN in a floating-point type.
template <class T> static T poison()
{
    T x;
    memset((void *)&x, 0xff, sizeof(x));
    return x;
}

template <class T> static bool same(T a, T b)
{
    return memcmp(&a, &b, sizeof(T)) == 0 || a == b;
}

// A host matrix with its rows ld apart, and poison between them, none after the last.
template <class T> struct matrix {
    size_t rows, cols, ld;
    std::vector<T> x;

    matrix(size_t rows, size_t cols, size_t pad)
        : rows(rows), cols(cols), ld(cols + pad),
          x(rows == 0 || cols == 0 ? 0 : (rows - 1) * ld + cols, poison<T>())
    {
    }
    T &at(size_t i, size_t j)
    {
        return x[i * ld + j];
    }
    template <class Make> void fill(uint64_t seed, Make make)
    {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                at(i, j) = make(test_random(seed, i * cols + j));
    }
};

// On the device, as many elements off a 256-byte boundary.
template <class T> struct device_matrix : test_array {
    device_matrix(const matrix<T> &host, size_t offset)
        : test_array(host.x.size() * sizeof(T), offset * sizeof(T))
    {
        if (bytes > 0)
            fill(host.x.data());
    }
    T *data() const
    {
        return (T *)get();
    }
};

// Small whole numbers, whose products and sums every type holds exactly.
template <class T> static T small(uint64_t bits)
{
    return (T)((int)(bits % 9) - 4);
}

// One launch against a reference of the same type, exact for small numbers. Every element between the
// rows of P must stay as it was.
template <class T> static bool right(const rung<T> &r, const shape &s, T alpha, T beta)
{
    matrix<T> m(s.rows, s.inner, s.pad), n(s.inner, s.cols, s.pad), p(s.rows, s.cols, s.pad);
    if (r.m_turned)
        m = matrix<T>(s.inner, s.rows, s.pad);
    if (r.n_turned)
        n = matrix<T>(s.cols, s.inner, s.pad);
    if (alpha != 0) {
        m.fill(1, small<T>);
        n.fill(2, small<T>);
    }
    if (beta != 0)
        p.fill(3, small<T>);
    device_matrix<T> on_m(m, s.offset), on_n(n, s.offset), on_p(p, s.offset);
    for (size_t i = 0; i < s.rows; i++)
        for (size_t j = 0; j < s.cols; j++) {
            T sum = 0;
            for (size_t k = 0; alpha != 0 && k < s.inner; k++)
                sum +=
                    (r.m_turned ? m.at(k, i) : m.at(i, k)) * (r.n_turned ? n.at(j, k) : n.at(k, j));
            p.at(i, j) = beta == 0 ? alpha * sum : alpha * sum + beta * p.at(i, j);
        }
    cudaError_t status = r.launch(s.rows, s.cols, s.inner, alpha, on_m.data(), m.ld, on_n.data(),
                                  n.ld, beta, on_p.data(), p.ld, 0);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    std::vector<T> got(p.x.size());
    if (!got.empty())
        on_p.read(got.data());
    bool ok = status == cudaSuccess && on_m.intact() && on_n.intact() && on_p.intact();
    for (size_t i = 0; i < got.size(); i++)
        ok &= same(got[i], p.x[i]);
    if (!ok)
        tap_diag("%s: %zu x %zu x %zu, pad %zu, offset %zu, alpha %g, beta %g: %s", r.name, s.rows,
                 s.cols, s.inner, s.pad, s.offset, (double)alpha, (double)beta,
                 status == cudaSuccess ? "wrong" : cudaGetErrorString(status));
    return ok;
}

template <class T> static void check(const rung<T> &r)
{
    const size_t m = r.tile_rows, n = r.tile_cols, k = r.depth;
    const shape shapes[] = {
        {0, 5, 3, 0, 0},
        {5, 0, 3, 1, 0},
        {5, 3, 0, 1, 0},
        {1, 1, 1, 0, 1},
        {1, 7, 1, 2, 0},
        {m - 1 + (m == 1), n, k, 0, 0},
        {m, n - 1 + (n == 1), k + 1, 3, 0},
        {m, n, k, 0, 0},             // a tile, aligned
        {2 * m, n, 3 * k, 4, 0},     // likewise, its rows still at 16 bytes
        {m, 2 * n, 4 * k + 1, 4, 4}, // depth ends within a tile
        {m, n, 2 * k, 1, 0},         // wholly inside, rows not at 16 bytes
        {m, n, 2 * k, 0, 1},         // likewise, by the pointers
        {m + 1, n + 1, 2 * k - 1, 4, 0},
        {m + 4, n + 4, 2 * k, 0, 0}, // beyond a tile, by whole vectors
        {m + 1, n + 1, 2 * k, 3, 0}, // by a part of one, in rows at 16 bytes
        {2 * m + 3, 2 * n + 5, k + 3, 5, 3},
        {37, 41, 43, 0, 0},
        {11 * m / 4, 3, 19, 0, 0}, // more rows of tiles than columns
    };
    const T scale[][2] = {{1, 0}, {2, (T)-1}, {(T)-3, 1}, {0, 2}, {0, 0}, {1, 1}};
    bool ok = true;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        for (int o = 0; o < test_order_count(); o++) {
            // Every order at one shape, one of them in turn at the others.
            if (i != 13 && o != (int)(i % test_order_count()))
                continue;
            const char *order = test_order(o);
            const T *const s = scale[(i + o) % 6];
            if (!right(r, shapes[i], s[0], s[1])) {
                tap_diag("blocks %s", order);
                ok = false;
            }
        }
    test_order(0);
    tap_ok(ok, "%s: right at every edge", r.name);

    // NaN where nothing may look: in P when beta is 0, in M and N when alpha is 0, between the rows.
    ok = right<T>(r, shape{m, n, k + 1, 4, 0}, 1, 0) &&
         right<T>(r, shape{m, n, k + 1, 4, 0}, 0, 1) &&
         right<T>(r, shape{m + 1, n + 1, k, 4, 0}, 0, 0);
    tap_ok(ok, "%s: what is not to be read is not", r.name);
}

// Shapes that nobody chose: few and many rows, columns and depth, and what comes of their waves and parts.
template <class T> static void check_random(const rung<T> &r)
{
    bool ok = true;
    const uint64_t seed = 20;
    for (uint64_t i = 0; i < (test_quick() ? 6 : 24) && ok; i++) {
        size_t size[3];
        for (uint64_t d = 0; d < 3; d++) {
            const uint64_t bits = test_random(seed, 8 * i + d);
            const uint64_t most = bits % 4 == 0 ? 4 : bits % 4 == 1 ? 40 : 150;
            size[d] = 1 + test_random(seed, 8 * i + 3 + d) % (d == 2 && bits % 4 > 1 ? 3000 : most);
        }
        if (size[0] * size[1] * size[2] > 4000000)
            size[2] = 4000000 / (size[0] * size[1]);
        const uint64_t bits = test_random(seed, 8 * i + 7);
        test_order((int)(i % (uint64_t)test_order_count()));
        ok = right<T>(r,
                      shape{size[0], size[1], size[2], bits % 3 == 0 ? 0 : bits % 5,
                            bits / 8 % 2 == 0 ? 0 : bits / 16 % 4},
                      (T)2, bits / 64 % 2 == 0 ? (T)0 : (T)-1);
    }
    test_order(0);
    tap_ok(ok, "%s: right for random shapes", r.name);
}

#if TESTED(batched) || TESTED(narrow) || TESTED(flat) || TESTED(matmul)
// Products of a batch, some elements apart.
template <class Launch> static void check_batches(const char *name, Launch launch)
{
    bool ok = true;
    const size_t sizes[][4] = {{70, 5, 7, 9},   {5, 33, 20, 40}, {70, 1, 150, 2}, {3, 64, 64, 64},
                               {5, 32, 32, 32}, {25, 8, 4, 72},  {9, 8, 10, 9},   {2, 150, 1, 60},
                               {3, 40, 3, 501}, {2, 1, 600, 20}}; // products, rows, columns, depth
    for (const size_t *size : sizes)
        for (int kind = 0; kind < 8; kind++) { // 0: N are apart; 1: one N, and it is one product
            const bool one_n = kind & 1, m_apart = kind & 2, p_apart = kind & 4;
            const size_t count = size[0], rows = size[1], cols = size[2], inner = size[3];
            const size_t apart = rows % 8 == 0 ? 4 : 1; // some are aligned
            const size_t ldm = (inner + apart - 1) / apart * apart,
                         ldn = (cols + apart - 1) / apart * apart;
            const size_t m_step = rows * ldm + (m_apart ? 3 * apart : 0),
                         n_all = inner * ldn + (kind == 0 ? apart : 0), n_step = one_n ? 0 : n_all,
                         p_step = rows * ldn + (p_apart ? apart : 0);
            // What is between matrices and rows makes every sum that takes it wrong.
            std::vector<float> m(count * m_step, NAN), n(count * n_all, NAN), p(count * p_step, -7),
                got(p);
            for (size_t b = 0; b < count; b++) {
                for (size_t e = 0; e < rows * inner; e++)
                    m[b * m_step + e / inner * ldm + e % inner] =
                        small<float>(test_random(1, b * rows * inner + e));
                for (size_t e = 0; e < inner * cols; e++)
                    n[b * n_step + e / cols * ldn + e % cols] =
                        small<float>(test_random(2, b * inner * cols + e));
            }
            const test_array on_m(m.size() * sizeof(float)), on_n(n.size() * sizeof(float)),
                on_p(p.size() * sizeof(float));
            on_m.fill(m.data());
            on_n.fill(n.data());
            on_p.fill(p.data());
            for (size_t b = 0; b < count; b++)
                for (size_t i = 0; i < rows; i++)
                    for (size_t j = 0; j < cols; j++) {
                        float *const to = &p[b * p_step + i * ldn + j];
                        *to = -*to;
                        for (size_t k = 0; k < inner; k++)
                            *to += 2 * m[b * m_step + i * ldm + k] * n[b * n_step + k * ldn + j];
                    }
            ok &= launch(count, rows, cols, inner, 2, (const float *)on_m.get(), ldm, m_step,
                         (const float *)on_n.get(), ldn, n_step, -1, (float *)on_p.get(), ldn,
                         p_step, 0) == cudaSuccess &&
                  cudaDeviceSynchronize() == cudaSuccess;
            on_p.read(got.data());
            ok &= got == p && on_p.intact();
        }
    tap_ok(ok, "%s: each product of a batch right, and nothing between them written", name);
}
#endif

#if TESTED(whole) || TESTED(matmul) || (TESTED(pipelined) && !defined(TEST_FIRST))
// Products whose matrices follow one another. launch(of, m, n, beta, p) makes them with an alpha of 2. m_turned, n_turned:
// stored column after column. All arrays begin `apart` elements after a boundary. A: the type of sums.
struct stacked {
    size_t count, rows, cols, inner, ldm, ldn, ldp;
};

template <class T, class A, class Launch>
static bool right_stacked(const stacked &of, bool m_turned, bool n_turned, size_t apart, A beta,
                          Launch launch)
{
    const size_t m_lines = of.count * (m_turned ? of.inner : of.rows),
                 n_lines = of.count * (n_turned ? of.cols : of.inner);
    // What is between rows makes every sum that takes it wrong.
    std::vector<T> m(m_lines * of.ldm, (T)(A)1e4), n(n_lines * of.ldn, (T)(A)1e4),
        p(of.count * of.rows * of.ldp, (T)(A)-7);
    if (beta == (A)0) // P is not read
        for (size_t e = 0; e < of.count * of.rows * of.cols; e++)
            p[e / of.cols * of.ldp + e % of.cols] = (T)std::numeric_limits<A>::quiet_NaN();
    const size_t m_width = m_turned ? of.rows : of.inner, n_width = n_turned ? of.inner : of.cols;
    for (size_t e = 0; e < m_lines * m_width; e++)
        m[e / m_width * of.ldm + e % m_width] = small<T>(test_random(1, e));
    for (size_t e = 0; e < n_lines * n_width; e++)
        n[e / n_width * of.ldn + e % n_width] = small<T>(test_random(2, e));
    const test_array on_m((m.size() + apart) * sizeof(T)), on_n((n.size() + apart) * sizeof(T)),
        on_p((p.size() + apart) * sizeof(T));
    std::vector<T> got(apart, (T)(A)5);
    const auto fill = [&](const test_array &on, const std::vector<T> &with) {
        got.resize(apart);
        got.insert(got.end(), with.begin(), with.end());
        on.fill(got.data());
    };
    fill(on_m, m);
    fill(on_n, n);
    fill(on_p, p);
    for (size_t b = 0; b < of.count; b++)
        for (size_t i = 0; i < of.rows; i++)
            for (size_t j = 0; j < of.cols; j++) {
                A sum = 0;
                for (size_t k = 0; k < of.inner; k++)
                    sum += (A)(m_turned ? m[(b * of.inner + k) * of.ldm + i]
                                        : m[(b * of.rows + i) * of.ldm + k]) *
                           (A)(n_turned ? n[(b * of.cols + j) * of.ldn + k]
                                        : n[(b * of.inner + k) * of.ldn + j]);
                T *const to = &p[(b * of.rows + i) * of.ldp + j];
                *to = (T)(beta == (A)0 ? 2 * sum : 2 * sum + beta * (A)*to);
            }
    const bool ok = launch(of, (const T *)on_m.get() + apart, (const T *)on_n.get() + apart, beta,
                           (T *)on_p.get() + apart) == cudaSuccess &&
                    cudaDeviceSynchronize() == cudaSuccess;
    got.resize(apart + p.size());
    on_p.read(got.data());
    p.insert(p.begin(), apart, (T)(A)5);
    const auto same = [](T a, T b) { return (A)a == (A)b; };
    return ok && std::equal(p.begin(), p.end(), got.begin(), same) && on_p.intact();
}

template <class T, class A, class Launch>
static void check_stacked(const char *name, bool m_turned, bool n_turned, Launch launch)
{
    bool ok = true;
    const size_t sizes[][4] = {{1, 1, 1, 1},   {70, 5, 7, 9},  {41, 33, 1, 3}, {9, 1, 37, 33},
                               {5, 17, 23, 0}, {6, 32, 6, 64}, {19, 8, 8, 8},  {3, 41, 34, 20},
                               {130, 2, 3, 2}, {2, 3, 5, 129}}; // products, rows, columns, depth
    for (const size_t *size : sizes)
        for (unsigned int kind = 0; kind < 8; kind++) {
            const size_t rows = size[1], cols = size[2], inner = size[3];
            const size_t gap = kind < 4 ? 0 : kind - 3, late = kind * 5 % 4;
            const stacked of = {size[0],
                                rows,
                                cols,
                                inner,
                                (m_turned ? rows : inner) + gap % 2,
                                (n_turned ? inner : cols) + gap / 2,
                                cols + gap / 3};
            ok &= right_stacked<T, A>(of, m_turned, n_turned, late, kind % 3 == 0 ? (A)0 : (A)-1,
                                      launch);
        }
    tap_ok(ok, "%s: products that follow one another, and nothing between them written", name);
}

// As a batch of matmul.h.
#define STACKED(name, T, m_turned, n_turned)                                                       \
    check_stacked<T, name##_acc>(                                                                  \
        #name "_launch_batch", m_turned, n_turned,                                                 \
        [](const stacked &of, const T *m, const T *n, name##_acc beta, T *p) {                     \
            return name##_launch_batch(of.count, of.rows, of.cols, of.inner, 2, m, of.ldm,         \
                                       (m_turned ? of.inner : of.rows) * of.ldm, n, of.ldn,        \
                                       (n_turned ? of.cols : of.inner) * of.ldn, beta, p, of.ldp,  \
                                       of.rows * of.ldp, 0);                                       \
        })
#endif

#if TESTED(whole)
// Divided as it is best, and in each other way that there is room for.
#define WHOLE_STACKED(name, T, m_turned, n_turned)                                                 \
    check_stacked<T, name##_acc>(                                                                  \
        #name, m_turned, n_turned,                                                                 \
        [](const stacked &of, const T *m, const T *n, name##_acc beta, T *p) {                     \
            return name##_launch_batch(of.count, of.rows, of.cols, of.inner, 2, m, of.ldm, n,      \
                                       of.ldn, beta, p, of.ldp, 0);                                \
        });                                                                                        \
    for (unsigned int ways = 0; ways < 4; ways++)                                                  \
    check_stacked<T, name##_acc>(                                                                  \
        text_of(#name ", %u at a time, in %u slices", 1 + 2 * ways, 1u << ways), m_turned,         \
        n_turned, [=](const stacked &of, const T *m, const T *n, name##_acc beta, T *p) {          \
            name##_products all = {};                                                              \
            all.count = of.count;                                                                  \
            all.m = m, all.ldm = of.ldm, all.n = n, all.ldn = of.ldn;                              \
            all.alpha = 2, all.beta = beta, all.p = p, all.ldp = of.ldp;                           \
            all.dense = of.ldm == (m_turned ? of.rows : of.inner) &&                               \
                        of.ldn == (n_turned ? of.inner : of.cols) && of.ldp == of.cols;            \
            if (!(name##_divide(&all, of.rows, of.cols, of.inner, 4, 48 << 10) > 0))               \
                return cudaErrorNotSupported;                                                      \
            size_t together = 1 + 2 * ways, slices = (size_t)1 << ways;                            \
            while (name##_put_together(&all, together, slices) > 48 << 10)                         \
                together > 1 ? together-- : slices--;                                              \
            return name##_launch_divided(all, 0);                                                  \
        })

static const char *text_of(const char *format, unsigned int a, unsigned int b)
{
    static char text[100];
    snprintf(text, sizeof text, format, a, b);
    return text;
}

// What has no room, wrong arrays, and what a batch costs.
static void check_whole(void)
{
    float *const some = (float *)256;
    const auto launch = [&](size_t count, size_t size, size_t inner, const float *m, size_t ldm) {
        return whole_f32_launch_batch(count, size, size, inner, 1, m, ldm, some, size, 0, some,
                                      size, 0);
    };
    bool ok = launch(0, 5, 5, NULL, 5) == cudaSuccess && launch(5, 0, 5, NULL, 5) == cudaSuccess;
    ok &= launch(2, 5, 5, NULL, 5) == cudaErrorInvalidValue;
    ok &= launch(2, 5, 5, some, 4) == cudaErrorInvalidValue;
    ok &= launch((size_t)-1 / 64, 5, 5, some, 5) == cudaErrorInvalidValue;
    ok &= launch((size_t)-1 / 3, 5, 5, some, 5) == cudaErrorInvalidValue;
    ok &= launch(2, 5, 5, (const float *)((size_t)some + 2), 5) == cudaErrorInvalidValue;
    ok &= launch(2, 1000, 5, some, 5) == cudaErrorNotSupported;
    ok &= launch(2, 5, 100000, some, 100000) == cudaErrorNotSupported;
    const auto tall = [&](size_t count, size_t rows) {
        return whole_f32_launch_batch(count, rows, 1, 0, 1, some, 1, some, 1, 0, some, 1, 0);
    };
    const size_t beyond = (size_t)1 << 32; // an unsigned int
    ok &= tall(2, beyond + 1) == cudaErrorNotSupported;
    ok &= tall(beyond, beyond) == cudaErrorInvalidValue;
    const test_array on_p(50 * sizeof(float)); // not read where alpha is 0: M and N
    ok &= whole_f32_launch_batch(2, 5, 5, 5, 0, NULL, 5, NULL, 5, 0, (float *)on_p.get(), 5, 0) ==
              cudaSuccess &&
          cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "whole_f32: none is nothing to do; no room, and wrong arrays, are an error");
    // Many small products share a block. Depth is sliced where there are threads left. Much waiting for banks, or elements
    // between rows, give an odd pitch; little waiting does not.
    const auto divided = [](size_t count, size_t rows, size_t cols, size_t inner, bool dense) {
        whole_f32_products of = {};
        of.count = count, of.dense = dense;
        (void)whole_f32_divide(&of, rows, cols, inner, 132, 232448);
        return of;
    };
    ok = divided(100000, 4, 4, 4, true).together > 8 && divided(100, 4, 4, 4, true).together < 4;
    ok &= divided(100, 4, 4, 200, true).slices > 1 && divided(100000, 30, 30, 30, true).slices == 1;
    ok &= divided(1000, 200, 4, 64, true).m_pitch == 65 &&
          divided(1000, 200, 4, 62, true).m_pitch == 62;
    ok &= divided(1000, 20, 64, 20, true).n_pitch == 64 &&
          divided(1000, 20, 64, 20, false).n_pitch == 65;
    tap_ok(ok, "whole_f32: how a batch is divided");
}
#endif

#if TESTED(pipelined) && !defined(TEST_FIRST)
static void check_batch(void)
{
    bool ok = true;
    // Of one: as NAME_launch would have it, by narrow.h.
    std::vector<float> row(5000, 1), sum(1);
    const test_array on_row(row.size() * sizeof(float)), on_sum(sizeof(float));
    on_row.fill(row.data());
    ok = matmul_f32_launch_batch(1, 1, 1, row.size(), 1, (const float *)on_row.get(), row.size(), 0,
                                 (const float *)on_row.get(), 1, 0, 0, (float *)on_sum.get(), 1, 0,
                                 0) == cudaSuccess &&
         cudaDeviceSynchronize() == cudaSuccess;
    on_sum.read(sum.data());
    tap_ok(ok && sum[0] == (float)row.size(), "a batch of one, by narrow.h");
    ok = matmul_f32_launch_batch(0, 5, 5, 5, 1, NULL, 5, 25, NULL, 5, 25, 0, NULL, 5, 25, 0) ==
         cudaSuccess;
    ok &= matmul_f32_launch_batch(2, 5, 5, 5, 1, NULL, 5, 25, NULL, 5, 25, 0, NULL, 5, 25, 0) ==
          cudaErrorInvalidValue;
    float *const some = (float *)256;
    ok &= matmul_f32_launch_batch((size_t)-1 / 64, 5, 5, 5, 1, some, 5, 25, some, 5, 25, 0, some, 5,
                                  25, 0) == cudaErrorInvalidValue;
    tap_ok(ok, "a batch: none is nothing to do, wrong arrays are an error");
}
#endif

// ---- Elements of 16 bits --------------------------------------------------------------------------

static float as_float(__half x)
{
    return __half2float(x);
}

static float as_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

// One launch on -1, 0 and 1, whose sums are exact as floats; the results are those of one rounding. What is not to be
// read is NaN.
template <class T, class Launch>
static bool right_16(const char *name, Launch launch, bool m_turned, bool n_turned, const shape &s,
                     float alpha, float beta)
{
    const auto sign = [](uint64_t bits) { return (T)(float)((int)(bits % 8 % 3) - 1); };
    matrix<T> m(m_turned ? s.inner : s.rows, m_turned ? s.rows : s.inner, s.pad);
    matrix<T> n(n_turned ? s.cols : s.inner, n_turned ? s.inner : s.cols, s.pad);
    matrix<T> p(s.rows, s.cols, s.pad);
    if (alpha != 0) {
        m.fill(1, sign);
        n.fill(2, sign);
    }
    if (beta != 0)
        p.fill(3, sign);
    device_matrix<T> on_m(m, s.offset), on_n(n, s.offset), on_p(p, s.offset);
    for (size_t i = 0; i < s.rows; i++)
        for (size_t j = 0; j < s.cols; j++) {
            float sum = 0;
            for (size_t k = 0; alpha != 0 && k < s.inner; k++)
                sum += as_float(m_turned ? m.at(k, i) : m.at(i, k)) *
                       as_float(n_turned ? n.at(j, k) : n.at(k, j));
            p.at(i, j) = (T)(beta == 0 ? alpha * sum : alpha * sum + beta * as_float(p.at(i, j)));
        }
    cudaError_t status = launch(s.rows, s.cols, s.inner, alpha, on_m.data(), m.ld, on_n.data(),
                                n.ld, beta, on_p.data(), p.ld, 0);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    std::vector<T> got(p.x.size());
    if (!got.empty())
        on_p.read(got.data());
    bool ok = status == cudaSuccess && on_m.intact() && on_n.intact() && on_p.intact();
    for (size_t i = 0; i < got.size(); i++)
        ok &= memcmp(&got[i], &p.x[i], 2) == 0 ||
              (as_float(got[i]) == 0 && as_float(p.x[i]) == 0); // of either sign
    if (!ok)
        tap_diag("%s: %zu x %zu x %zu, pad %zu, offset %zu, alpha %g, beta %g: %s", name, s.rows,
                 s.cols, s.inner, s.pad, s.offset, (double)alpha, (double)beta,
                 status == cudaSuccess ? "wrong" : cudaGetErrorString(status));
    return ok;
}

template <class T, class Launch>
static void check_16(const char *name, Launch launch, bool m_turned, bool n_turned, size_t m,
                     size_t n)
{
    const shape shapes[] = {
        {m, n, 64, 0, 0},     {m - 1, n + 1, 65, 7, 0}, {m + 3, n - 5, 130, 5, 1},
        {m, n - 8, 64, 8, 0}, {m + 8, n - 8, 72, 0, 0}, {m, n, 128, 1, 0},
        {5, 3, 0, 1, 0},      {1, 1, 1, 0, 1},          {7, 9, 515, 0, 0},
    };
    const float scale[][2] = {{1, 0}, {2, -1}, {-3, 1}, {0, 2}, {0.5f, 0}};
    bool ok = true;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        if (m * n > 8192 && i > 2) // large tiles take long without a GPU
            break;
        test_order((int)i % test_order_count());
        ok &= right_16<T>(name, launch, m_turned, n_turned, shapes[i], scale[i % 5][0],
                          scale[i % 5][1]);
    }
    test_order(0);
    tap_ok(ok, "%s: right at every edge", name);
    // As a sum of halves, or of bfloat16, it would stay at 4096.
    const size_t many = 300;
    std::vector<T> ones(many, (T)1.0f), sum(1);
    ones[0] = (T)64.0f;
    const test_array in(many * sizeof(T)), out(sizeof(T));
    in.fill(ones.data());
    CHECK(launch(1, 1, many, 1, (const T *)in.get(), m_turned ? 1 : many, (const T *)in.get(),
                 n_turned ? many : 1, 0, (T *)out.get(), 1, 0));
    CHECK(cudaDeviceSynchronize());
    out.read(sum.data());
    const T want = (T)(float)(64 * 64 + many - 1);
    tap_ok(memcmp(&sum[0], &want, 2) == 0, "%s: sums are floats (%g, %g)", name,
           (double)as_float(sum[0]), (double)as_float(want));
}

#if TESTED(tensor16) || TESTED(launch)
// Matrices that end where their memory does, and between whose rows, and before the first, nothing was ever written: a device
// that checks memory tells if any of that is read. And row 4 of M begins with NaN, which stays in row 4.
template <class T, class Launch>
static void check_bare_16(const char *name, Launch launch, bool m_turned, bool n_turned)
{
    const shape shapes[] = {{1, 1, 1, 0, 0},    {67, 9, 70, 0, 0},  {70, 12, 67, 3, 1},
                            {5, 77, 130, 0, 5}, {18, 140, 3, 2, 3}, {140, 3, 2, 0, 0},
                            {66, 66, 66, 1, 0}, {64, 64, 128, 5, 0}};
    bool ok = true;
    for (const shape &s : shapes) {
        struct bare {
            size_t lines, length, ld, offset;
            T *all;
            std::vector<float> x;
            bare(size_t line_count, size_t line_length, const shape &of, unsigned int seed,
                 size_t nan_line = SIZE_MAX, size_t nan_at = SIZE_MAX)
                : lines(line_count), length(line_length), ld(line_length + of.pad),
                  offset(of.offset), all(NULL), x(line_count * line_length)
            {
                CHECK(cudaMalloc((void **)&all, ((lines - 1) * ld + length + offset) * sizeof(T)));
                std::vector<T> line(length);
                for (size_t l = 0; l < lines; l++) {
                    for (size_t i = 0; i < length; i++) {
                        x[l * length + i] = (float)((l * 7 + i * 5 + seed) % 3) - 1;
                        if (l == nan_line && i == nan_at)
                            x[l * length + i] = NAN;
                        line[i] = (T)x[l * length + i];
                    }
                    CHECK(cudaMemcpy(data() + l * ld, line.data(), length * sizeof(T),
                                     cudaMemcpyHostToDevice));
                }
            }
            ~bare()
            {
                CHECK(cudaFree(all));
            }
            T *data() const
            {
                return all + offset;
            }
        };
        const bare m(m_turned ? s.inner : s.rows, m_turned ? s.rows : s.inner, s, 1,
                     m_turned ? 0 : 4, m_turned ? 4 : 0),
            n(n_turned ? s.cols : s.inner, n_turned ? s.inner : s.cols, s, 2),
            p(s.rows, s.cols, s, 0);
        CHECK(launch(s.rows, s.cols, s.inner, 1, m.data(), m.ld, n.data(), n.ld, 0, p.data(), p.ld,
                     0));
        CHECK(cudaDeviceSynchronize());
        std::vector<T> line(s.cols);
        for (size_t i = 0; i < s.rows; i++) {
            CHECK(cudaMemcpy(line.data(), p.data() + i * p.ld, s.cols * sizeof(T),
                             cudaMemcpyDeviceToHost));
            for (size_t j = 0; j < s.cols; j++) {
                float sum = 0;
                for (size_t k = 0; k < s.inner; k++)
                    sum += m.x[m_turned ? k * s.rows + i : i * s.inner + k] *
                           n.x[n_turned ? j * s.inner + k : k * s.cols + j];
                ok &= std::isnan(sum) ? std::isnan(as_float(line[j])) : as_float(line[j]) == sum;
            }
        }
    }
    tap_ok(ok, "%s: right in memory that holds nothing else", name);
}
#endif

#if TESTED(warpgroup) || TESTED(box) || TESTED(launch)
// Products of a batch by clusters of two blocks: one after the other, with one N, line by line between each other, some
// elements further each, and with lines that begin anywhere. What is no operand's is NaN.
static void check_group_batch(void)
{
    const size_t count = 3, rows = 152, cols = 72, inner = 136, p_step = rows * cols + 5;
    const struct {
        size_t ldm, m_step, ldn, n_step;
    } cases[] = {{rows, rows * inner + 8, inner, inner * cols + 8},
                 {rows, rows * inner, inner, 0},
                 {count * rows, rows, count * inner, inner},
                 {rows + 8, 8, inner + 16, 24},
                 {rows, rows * inner + 1, inner, inner * cols + 1}};
    bool ok = true;
    for (const auto &c : cases) {
        const auto value = [](size_t i) { return (float)(i * i % 11 % 3) - 1; };
        std::vector<__nv_bfloat16> m((count - 1) * c.m_step + (inner - 1) * c.ldm + rows,
                                     (__nv_bfloat16)NAN),
            n((count - 1) * c.n_step + (cols - 1) * c.ldn + inner, (__nv_bfloat16)NAN),
            p((count - 1) * p_step + rows * cols, (__nv_bfloat16)-7.0f), want(p);
        for (size_t b = 0; b < count; b++) {
            for (size_t k = 0; k < inner; k++)
                for (size_t i = 0; i < rows; i++) {
                    const size_t at = b * c.m_step + k * c.ldm + i;
                    m[at] = (__nv_bfloat16)value(at);
                }
            for (size_t j = 0; j < cols; j++)
                for (size_t k = 0; k < inner; k++) {
                    const size_t at = b * c.n_step + j * c.ldn + k;
                    n[at] = (__nv_bfloat16)value(at + 5);
                }
        }
        for (size_t b = 0; b < count; b++)
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++) {
                    float sum = 0;
                    for (size_t k = 0; k < inner; k++)
                        sum += as_float(m[b * c.m_step + k * c.ldm + i]) *
                               as_float(n[b * c.n_step + j * c.ldn + k]);
                    want[b * p_step + i * cols + j] = (__nv_bfloat16)sum;
                }
        const test_array on_m(m.size() * 2), on_n(n.size() * 2), on_p(p.size() * 2);
        on_m.fill(m.data()), on_n.fill(n.data()), on_p.fill(p.data());
        group_bf16_turned_work work = {};
        work.m_step = c.m_step, work.n_step = c.n_step, work.p_step = p_step;
        CHECK(group_bf16_turned_launch_work(
            count, rows, cols, inner, 1, (const __nv_bfloat16 *)on_m.get(), c.ldm,
            (const __nv_bfloat16 *)on_n.get(), c.ldn, 0, (__nv_bfloat16 *)on_p.get(), cols,
            (size_t)-1, 1, work, 0));
        CHECK(cudaDeviceSynchronize());
        on_p.read(p.data());
        for (size_t e = 0; e < p.size(); e++)
            ok &= as_float(p[e]) == as_float(want[e]);
        ok &= on_m.intact() && on_n.intact() && on_p.intact();
    }
    tap_ok(ok, "group_bf16_turned: each product of a batch right, and nothing between written");
}

// So many products of 8 x 8 that a block makes more than a warp has lanes to find the places of.
static void check_many(void)
{
#ifdef SIMT
    const simt_config before = simt_get_config();
    simt_config config = before;
    config.processors = 1;
    simt_set_config(&config);
#endif
    int device, processors;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    const size_t count = (size_t)processors * group_f16_little_resident * 33 + 1, area = 8 * 8;
    const auto value = [](size_t i) { return (float)(i * i % 13 % 5) - 2; };
    std::vector<__half> m(count * area), n(count * area), p(count * area);
    for (size_t i = 0; i < m.size(); i++)
        m[i] = (__half)value(i), n[i] = (__half)value(i + 7);
    const test_array on_m(m.size() * 2), on_n(n.size() * 2), on_p(p.size() * 2);
    on_m.fill(m.data()), on_n.fill(n.data());
    group_f16_little_work work = {};
    work.m_step = work.n_step = work.p_step = area;
    CHECK(group_f16_little_launch_work(count, 8, 8, 8, 1, (const __half *)on_m.get(), 8,
                                       (const __half *)on_n.get(), 8, 0, (__half *)on_p.get(), 8,
                                       (size_t)-1, 1, work, 0));
    CHECK(cudaDeviceSynchronize());
    on_p.read(p.data());
    bool ok = on_m.intact() && on_n.intact() && on_p.intact();
    for (size_t e = 0; e < p.size(); e++) {
        const size_t product = e / area * area, i = e % area / 8, j = e % 8;
        float sum = 0;
        for (size_t k = 0; k < 8; k++)
            sum += as_float(m[product + k * 8 + i]) * as_float(n[product + k * 8 + j]);
        ok &= as_float(p[e]) == sum;
    }
    tap_ok(ok, "group_f16_little: %zu products by blocks that stay", count);
#ifdef SIMT
    simt_set_config(&before);
#endif
}
#endif

#if TESTED(matmul)
// How a device of 132 multiprocessors that has the instruction of warp groups makes a product of 16 bits.
static matmul_f16_plan group_plan(size_t rows, size_t cols, size_t inner, unsigned int unit,
                                  size_t bytes, size_t count = 1)
{
    const matmul_f16_problem of = {count, rows,  cols,  inner, unit,
                                   unit,  bytes, false, false, false};
    matmul_f16_plan best = {};
    for (size_t way = 0; way < matmul_f16_ways; way++)
        for (size_t s = matmul_f16_first_shape(matmul_f16_shapes); s < matmul_f16_shapes; s++)
            matmul_f16_consider(matmul_f16_plan_of(of, s, way, 132), &best);
    return best;
}

static void check_group_plans(void)
{
    const size_t groups = 2 * matmul_f16_shapes_of_warps, wide = groups + 1, small = groups + 5;
    const matmul_f16_plan much = group_plan(4096, 4096, 4096, 16, 0),
                          few = group_plan(128, 200, 2000, 16, 0),
                          batch = group_plan(16, 16, 2000, 16, SIZE_MAX, 5),
                          little = group_plan(256, 200, 64, 16, 0);
    tap_ok(much.shape == groups && much.slices == 0 && few.shape >= small && few.slices > 1 &&
               few.scratch_bytes == 0 && batch.slices > 1 && little.shape < groups,
           "a plan for groups: large tiles for much work, slices for few tiles and much depth");
    bool ok = true;
    for (size_t s = groups; s < matmul_f16_shapes; s++)
        for (size_t way = 0; way < matmul_f16_ways; way++) {
            const bool packs = way >= matmul_f16_packing_ways;
            const matmul_f16_problem odd = {1, 3001,     3001,  3001,  2,
                                            2, SIZE_MAX, false, false, false},
                                     even = {1,  3000,     3000,  3000,  16,
                                             16, SIZE_MAX, false, false, false},
                                     thin = {1,  128,      64,    128,   16,
                                             16, SIZE_MAX, false, false, false};
            const matmul_f16_plan of_odd = matmul_f16_plan_of(odd, s, way, 132),
                                  of_even = matmul_f16_plan_of(even, s, way, 132),
                                  of_thin = matmul_f16_plan_of(thin, s, way, 132);
            ok &= packs || of_odd.cost == 0;   // rows that begin anywhere
            ok &= !packs || of_even.cost == 0; // nothing to pack
            ok &= of_even.slices == 0;         // many tiles
            ok &= of_thin.slices <= 2;         // as many as there are steps
            ok &= of_even.parts < 2 || of_even.depth % 64 == 0;
        }
    // Tiles of two multiprocessors: of 200 tiles of 256 x 256, 66 are made at a time.
    const matmul_f16_problem tiles = {1, 2560, 5120, 4096, 16, 16, SIZE_MAX, false, false, false};
    ok &= matmul_f16_plan_of(tiles, groups, 1, 132).whole == 198;
    // Columns that no tile has cost nothing.
    const matmul_f16_problem half = {1, 128, 64, 4096, 16, 16, 0, false, false, false},
                             full = {1, 128, 128, 4096, 16, 16, 0, false, false, false};
    ok &= matmul_f16_plan_of(half, small - 1, 0, 132).cost <
          matmul_f16_plan_of(full, small - 1, 0, 132).cost;
    // One column is made without tiles, two are not.
    const matmul_f16_problem one = {1, 3000, 1, 2000, 16, 16, 0, false, false, false},
                             two = {1, 3000, 2, 2000, 16, 16, 0, false, false, false};
    ok &= matmul_f16_plan_strips(one, matmul_f16_shapes, 132).cost > 0 &&
          matmul_f16_plan_strips(two, matmul_f16_shapes, 132).cost == 0;
    ok &= group_plan(3000, 3000, 3000, 16, 0).shape == wide; // 192 tiles, where others have 144
    tap_ok(ok, "a plan for groups: only of aligned rows, and of tiles that are there");
}

// Products of 16 bits: in the shape, and in parts of the depth, that the plan says.
static void check_plans_16(void)
{
    const struct {
        size_t rows, cols, inner, bytes, shape;
        bool parts;
    } cases[] = {{40, 30, 20, 0, 0, false},
                 {60, 50, 1000, SIZE_MAX, 1, true},
                 {60, 50, 1000, 20000, 1, false}, // too little for the parts
                 {4096, 4096, 4096, SIZE_MAX, 5, false},
                 {16384, 64, 4096, 0, 3, false}};
    bool ok = true;
    for (const auto &c : cases) {
        cudaError_t status = cudaSuccess;
        const matmul_f16_problem of = {1,  c.rows,  c.cols, c.inner, 16,
                                       16, c.bytes, false,  false,   false};
        const matmul_f16_plan plan = matmul_f16_make_plan(of, &status);
        CHECK(status);
        ok &= plan.pack_bytes == 0 && plan.scratch_bytes <= c.bytes;
#ifdef SIMT // a device of few multiprocessors
        ok &= plan.shape == c.shape && (plan.parts > 1) == c.parts;
#endif
    }
    tap_ok(ok, "a plan of 16 bits: small tiles for little work, parts for much depth");
    // What is packed: operands whose rows begin anywhere, if they are used often.
    ok = true;
    for (size_t size : {(size_t)40, (size_t)4095})
        for (int both = 0; both < 16; both++) {
            const unsigned int of_m = 2u << both % 4, of_n = 2u << both / 4; // units
            double before = 0;
            for (size_t bytes : {(size_t)0, size * size * 3, (size_t)SIZE_MAX}) {
                cudaError_t status = cudaSuccess;
                const matmul_f16_problem of = {1,    size,  size,  size,  of_m,
                                               of_n, bytes, false, false, false};
                const matmul_f16_plan plan = matmul_f16_make_plan(of, &status);
                CHECK(status);
                const bool packs = size > 40 && bytes == SIZE_MAX;
                ok &= plan.scratch_bytes <= bytes && (before == 0 || plan.cost <= before);
                ok &= size > 40 || plan.pack_bytes == 0;
                ok &= !packs || (plan.pack_m == (of_m == 16 ? 0 : 4096) && //
                                 plan.pack_n == (of_n == 16 ? 0 : 4096));
                ok &= matmul_f16_scratch_bytes(size, size, size) >= plan.scratch_bytes;
                before = plan.cost;
            }
        }
    tap_ok(ok, "a plan of 16 bits: packs what is used often and begins anywhere");
    const shape deep = {60, 50, 1000, 0, 0}, odd = {60, 51, 1001, 0, 0};
    ok = right_16<__half>("matmul_f16", matmul_f16_scratch_launch, false, false, deep, 1, -1);
    ok &= right_16<__half>("matmul_f16_packed", matmul_f16_packed_launch, false, false, odd, 1, 0);
    ok &=
        right_16<__nv_bfloat16>("turned_bf16", turned_bf16_scratch_launch, true, true, deep, 2, 1);
    tap_ok(ok, "16 bits: right in parts of the depth");
    // A batch, whose last product is another one.
    const size_t rows = 9, cols = 7, inner = 12, count = 3;
    std::vector<__half> m(count * rows * inner, (__half)1.0f),
        n(count * inner * cols, (__half)2.0f);
    std::vector<__half> p(count * rows * cols);
    for (size_t e = (count - 1) * rows * inner; e < m.size(); e++)
        m[e] = (__half)3.0f;
    const test_array on_m(m.size() * 2), on_n(n.size() * 2), on_p(p.size() * 2);
    on_m.fill(m.data()), on_n.fill(n.data());
    CHECK(matmul_f16_launch_batch(count, rows, cols, inner, 0.5f, (const __half *)on_m.get(), inner,
                                  rows * inner, (const __half *)on_n.get(), cols, inner * cols, 0,
                                  (__half *)on_p.get(), cols, rows * cols, 0));
    CHECK(cudaDeviceSynchronize());
    on_p.read(p.data());
    for (size_t e = 0; e < p.size(); e++)
        ok &= as_float(p[e]) == (e < (count - 1) * rows * cols ? 12 : 36);
    tap_ok(ok && on_p.intact(), "16 bits: a batch");
}
#endif

#if TESTED(matmul)
// Which products are made by narrow.h, by flat.h, by tall.h and by batched.h.
static void check_strips(void)
{
    cudaError_t status = cudaSuccess;
    const auto plan = [&](size_t rows, size_t cols, size_t inner = 8) {
        const matmul_f32_problem of = {1, rows, cols, inner, 16, 16, 0, false, false, false};
        return matmul_f32_make_plan(of, &status).shape;
    };
    const auto mirrored = [&](size_t rows, size_t cols, size_t inner) {
        const n_turned_f32_problem of = {1, rows, cols, inner, 16, 16, 0, false, false, false};
        return n_turned_f32_make_plan(of, &status).shape;
    };
    const size_t narrow = matmul_f32_shapes, flat = narrow + 1, many = 100000;
    const matmul_f32_problem twelve = {1, many, 12, 8, 16, 16, 0, false, false, false};
    bool ok = plan(12, many) < narrow && matmul_f32_narrow_of(twelve).rows == 0;
#ifdef SIMT // a device of few multiprocessors
    ok &= plan(many, 1) == narrow && plan(1, many) == flat;
#else
    ok &= plan(many, 1) != flat && plan(1, many) != narrow;
#endif
    tap_ok(ok && status == cudaSuccess, "one column, or one row, is made without tiles");
    // Where there are few for many multiprocessors, in parts of the depth, if there is scratch for as many.
    const auto parts = [&](size_t s, size_t rows, size_t cols, size_t bytes) {
        const matmul_f32_problem of = {1, rows, cols, many, 16, 16, bytes, false, false, false};
        const matmul_f32_plan made = matmul_f32_plan_strips(of, s, 132);
        return made.scratch_bytes <= bytes && made.parts > 0 ? made.parts : 0;
    };
    ok = parts(narrow, 10, 1, 0) == 1 && parts(flat, 1, 40, 0) == 1;
    ok &= parts(narrow, 10, 1, 200) == 1 && parts(flat, 3, 40, 2000) == 1;
    ok &= parts(narrow, 10, 1, many) > 5 && parts(flat, 3, 40, many) > 5;
    ok &= parts(narrow, many, 1, many) == 1 && parts(flat, 1, many, many) == 1;
    tap_ok(ok, "few of them are divided along the depth, if there is scratch");
    // Where neighbours of the column lie apart, all rows read sectors for one element each: that costs more, and is divided
    // more.
    const auto column = [](bool scattered) {
        const matmul_f32_problem of = {1, 80, 1, 40960, 4, 4, SIZE_MAX, false, false, scattered};
        return matmul_f32_plan_strips(of, matmul_f32_shapes, 132);
    };
    ok = column(true).cost > column(false).cost && column(true).parts > 4 * column(false).parts;
    ok &= matmul_f32_is_scattered(80, 1, 9, 2) && !matmul_f32_is_scattered(80, 1, 9, 1);
    tap_ok(ok, "so is a column whose neighbours lie apart");
    // 80 tiles in parts fill no single wave of 132, but most of two, and nearly all of twelve.
    size_t medium = 0; // among the shapes
    while (matmul_f32_shape_of(medium).launch != matmul_f32_medium_launch_work)
        medium++;
    const auto fills = [&](size_t way) {
        const size_t inner = many, wide = 10 * matmul_f32_medium_tile_cols;
        const matmul_f32_problem of = {
            1, 8 * matmul_f32_medium_tile_rows, wide, inner, 16, 16, SIZE_MAX, false, false, false};
        const matmul_f32_plan made = matmul_f32_plan_of(of, medium, way, 132);
        return made.whole == 0 ? 80 * made.parts / 132.0 : 0;
    };
    ok = fills(1) == 0 && fills(2) > 1.8 && fills(matmul_f32_choices_of_waves) > 11.4;
    for (size_t way = 1; way <= matmul_f32_choices_of_waves; way++)
        ok &= fills(way) <= (double)matmul_f32_waves_of(way - 1);
    tap_ok(ok, "tiles are divided into parts that fill as many waves as are asked for");
    // In tiles as wide as P. Few rows need N to be stored column after column.
    const auto tall = [](size_t s) { return s < matmul_f32_shapes && matmul_f32_shape_of(s).tall; };
    const auto flipped = [](size_t s) {
        return s < n_turned_f32_shapes && n_turned_f32_shape_of(s).tall;
    };
    ok = tall(plan(many, 16, 200)) && tall(plan(many, 24, 200)) && tall(plan(many, 48, 2000));
    ok &= !tall(plan(16, many, 200)) && !tall(plan(many, 97, 200));
    ok &= flipped(mirrored(16, many, 200)) && flipped(mirrored(many, 16, 200));
    tap_ok(ok && status == cudaSuccess,
           "few columns are made by tall.h, and few rows if N is transposed");
    // Batches: by batched.h, or tiles where these are full.
    const auto batch = [&](size_t count, size_t size, bool aligned = true) {
        const matmul_f32_problem of = {
            count, size,  size,  size, aligned ? 16u : 4u, aligned ? 16u : 4u,
            0,     false, false, false};
        return matmul_f32_make_plan(of, &status).shape;
    };
    const size_t batched = matmul_f32_batched;
    ok = batch(many, 16) == batched && batch(many, 32) == batched;
    ok &= batch(many, 128) < narrow && batch(many, 64, false) < narrow && batch(1, 32) < batched;
    tap_ok(ok && status == cudaSuccess, "a batch of small products is made by batched.h");
    // Those whose matrices follow one another, by whole.h: of other sizes and places than those.
    const auto stacked = [&](size_t count, size_t size, bool aligned, bool follow, bool dense) {
        const matmul_f32_problem of = {
            count, size,   size,  size, aligned ? 16u : 4u, aligned ? 16u : 4u,
            0,     follow, dense, false};
        return matmul_f32_make_plan(of, &status);
    };
    const size_t whole = matmul_f32_whole;
    const matmul_f32_plan little = stacked(many, 5, false, true, true);
    ok = little.shape == whole && little.parts > 1 && little.slices == 1;
    ok &= stacked(many, 33, false, true, true).shape >= whole &&
          stacked(many, 21, false, true, false).shape >= whole;
    ok &= stacked(many, 5, false, false, false).shape < whole &&
          stacked(many, 200, false, true, true).shape < whole &&
          stacked(many, 64, true, true, true).shape < whole;
    tap_ok(ok && status == cudaSuccess, "or by whole.h, where their rows begin anywhere");
    const auto thin = [&](size_t rows, size_t cols, size_t inner) {
        const matmul_f32_problem of = {500, rows, cols, inner, 16, 16, 0, false, false, false};
        return matmul_f32_make_plan(of, &status).shape;
    };
    ok = thin(300, 1, 60) == narrow && thin(1, 4000, 40) == flat;
    tap_ok(ok && status == cudaSuccess, "one of few columns, or few rows, is made without tiles");
}
#endif

#if TESTED(pipelined) && !defined(TEST_FIRST)
// A product for which the launcher packs N.
static void check_packed(void)
{
    const size_t rows = 2048, cols = 96, inner = 512;
    cudaError_t status = cudaSuccess;
    const turned_i32_problem of = {1, rows, cols, inner, 32, 32, SIZE_MAX, false, false, false};
    const turned_i32_plan plan = turned_i32_make_plan(of, &status);
    bool ok = right<int>(TURNED(turned_i32_scratch, int, true, true),
                         shape{rows, cols, inner, 0, 0}, 2, -1);
#ifdef SIMT // a device of few multiprocessors
    ok &= status == cudaSuccess && plan.pack_n == cols && plan.pack_m == 0;
#endif
    tap_ok(ok, "turned_i32: right where N is packed (%zu bytes)", plan.pack_bytes);
}

// What the launcher chooses, without launching it: for any shape, alignment and scratch.
static void check_plans(void)
{
    bool fits = true, asks = true, bare = true, cheaper = true, packs = true;
    const size_t sizes[] = {1, 3, 8, 40, 200, 1023, 2048, 4095, 9000, 70000};
    for (size_t rows : sizes)
        for (size_t cols : sizes)
            for (size_t inner : sizes)
                for (int aligned = 0; aligned < 4; aligned++) {
                    const size_t most = matmul_f32_scratch_bytes(rows, cols, inner);
                    double before = 0;
                    for (size_t bytes : {(size_t)0, most / 2, most, SIZE_MAX}) {
                        cudaError_t status = cudaSuccess;
                        const unsigned int of_m = aligned % 2 ? 32 : 4, of_n = aligned / 2 ? 32 : 4;
                        const matmul_f32_problem of = {1,    rows,  cols,  inner, of_m,
                                                       of_n, bytes, false, false, false};
                        const matmul_f32_plan plan = matmul_f32_make_plan(of, &status);
                        CHECK(status);
                        fits &= plan.scratch_bytes <= bytes;
                        asks &= plan.scratch_bytes <= most;
                        bare &= bytes > 0 || (plan.pack_bytes == 0 && plan.parts <= 1);
                        cheaper &= before == 0 || plan.cost <= before;
                        before = plan.cost;
                        // M is packed for its order, N for its alignment; and if that is used often. N may be alone.
                        if (plan.pack_bytes > 0) {
                            if (matmul_f32_shape_of(plan.shape).packed)
                                packs &= cols > 40 && plan.pack_m >= rows;
                            else
                                packs &= plan.pack_m == 0 && plan.pack_n > 0;
                            packs &= aligned / 2 != 0 ? plan.pack_n == 0
                                                      : rows > 40 && plan.pack_n >= cols;
                        } else
                            packs &= bytes < most || rows < 4000 || cols < 4000 || inner < 4000;
                    }
                }
    tap_ok(fits, "a plan: takes no more scratch than it is given");
    tap_ok(asks, "a plan: takes no more scratch than NAME_scratch_bytes says");
    tap_ok(bare, "a plan: no scratch, nothing packed, no parts");
    tap_ok(cheaper, "a plan: costs no more with more scratch");
    tap_ok(packs, "a plan: packs what is used often, and is not as tiles are copied fastest");
}
#endif

// ---- What is promised of errors -----------------------------------------------------------------

template <class T> static void check_errors(const rung<T> &r)
{
    matrix<T> host(20, 20, 0);
    device_matrix<T> m(host, 0), n(host, 0), p(host, 0);
    T *const a = m.data(), *const b = n.data(), *const c = p.data();
    const auto fails = [&](size_t rows, size_t cols, size_t inner, T alpha, const T *a, size_t lda,
                           const T *b, size_t ldb, T *c, size_t ldc) {
        return r.launch(rows, cols, inner, alpha, a, lda, b, ldb, 1, c, ldc, 0) ==
               cudaErrorInvalidValue;
    };
    const T *const odd_a = (const T *)((const char *)a + 1), *const odd_b =
                                                                 (const T *)((const char *)b + 1);
    T *const odd_c = (T *)((char *)c + 1);
    const size_t huge = SIZE_MAX / 2;
    bool ok = fails(5, 6, 7, 1, a, 6, b, 6, c, 6);
    ok &= fails(5, 6, 7, 1, a, 7, b, 5, c, 6);
    ok &= fails(5, 6, 7, 1, a, 7, b, 6, c, 5);
    ok &= fails(5, 6, 7, 1, NULL, 7, b, 6, c, 6);
    ok &= fails(5, 6, 7, 1, a, 7, NULL, 6, c, 6);
    ok &= fails(5, 6, 7, 1, a, 7, b, 6, NULL, 6);
    ok &= fails(5, 6, 7, 1, odd_a, 7, b, 6, c, 6);
    ok &= fails(5, 6, 7, 1, a, 7, odd_b, 6, c, 6);
    ok &= fails(5, 6, 7, 1, a, 7, b, 6, odd_c, 6);
    ok &= fails(huge, 6, 7, 1, a, 7, b, 6, c, 6);
    ok &= fails(5, huge, 7, 1, a, 7, b, huge, c, huge);
    ok &= fails(5, 6, huge, 1, a, huge, b, 6, c, 6);
    ok &= fails(5, 6, 7, 1, a, SIZE_MAX, b, 6, c, 6);
    ok &= fails(r.tile_rows << 44, 1, 0, 0, a, 1, b, 1, c, 1); // more tiles than a grid has blocks
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", r.name);
    std::vector<T> got(host.x.size());
    p.read(got.data());
    tap_ok(memcmp(got.data(), host.x.data(), p.bytes) == 0 && p.intact(),
           "%s: wrong arguments write nothing", r.name);
    tap_ok(r.launch(0, 6, 7, 1, NULL, 7, NULL, 6, 0, NULL, 6, 0) == cudaSuccess &&
               r.launch(5, 0, 7, 1, NULL, 7, NULL, 6, 0, NULL, 6, 0) == cudaSuccess &&
               r.launch(5, 6, 7, 0, NULL, 7, NULL, 6, 1, c, 6, 0) == cudaSuccess &&
               cudaDeviceSynchronize() == cudaSuccess,
           "%s: a matrix with nothing to read may be null", r.name);
}

// ---- What is promised of rounding ---------------------------------------------------------------

template <class T> static void check_rounding(const rung<T> &r)
{
    const size_t rows = 33, cols = 20, inner = 515;
    matrix<T> m(rows, inner, 0), n(inner, cols, 0), p(rows, cols, 0), first = p;
    const auto any = [](uint64_t bits) { return (T)((double)(int64_t)bits * 0x1p-63); };
    m.fill(5, any);
    n.fill(6, any);
    bool ok = true;
    for (int k = 0; k < 6; k++) {
        test_order(k % test_order_count());
        device_matrix<T> on_m(m, 0), on_n(n, 0), on_p(p, 0);
        CHECK(r.launch(rows, cols, inner, 1, on_m.data(), m.ld, on_n.data(), n.ld, 0, on_p.data(),
                       p.ld, 0));
        CHECK(cudaDeviceSynchronize());
        on_p.read(p.x.data());
        ok &= k == 0 || memcmp(p.x.data(), first.x.data(), on_p.bytes) == 0;
        first = p;
    }
    test_order(0);
    tap_ok(ok, "%s: the same bits on every run, in every order of blocks", r.name);
    const double half = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53; // of the last bit of 1
    double worst = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            long double exact = 0, magnitude = 0;
            for (size_t k = 0; k < inner; k++) {
                const long double product = (long double)m.at(i, k) * n.at(k, j);
                exact += product, magnitude += fabsl(product);
            }
            const double error =
                (double)(fabsl(p.at(i, j) - exact) / ((double)inner * half * magnitude));
            worst = error > worst || error != error ? error : worst;
        }
    tap_ok(worst <= 1, "%s: rounding error at most %.3g of what %zu roundings may make", r.name,
           worst, inner);
}

#ifdef SIMT

// ---- Counts -------------------------------------------------------------------------------------

// Of 128 x 128 x 128: FLOP for each byte read from global memory, and what else the ladder promises.
static simt_counts counted(const rung<float> &r)
{
    const size_t size = 128;
    matrix<float> m(size, size, 0), n(size, size, 0), p(size, size, 0);
    m.fill(1, small<float>);
    n.fill(2, small<float>);
    device_matrix<float> on_m(m, 0), on_n(n, 0), on_p(p, 0);
    CHECK(r.launch(size, size, size, 1, on_m.data(), size, on_n.data(), size, 0, on_p.data(), size,
                   0));
    simt_counts c;
    simt_last_counts(&c);
    return c;
}

static void check_counts(void)
{
    const double flop = 2.0 * 128 * 128 * 128;
    const struct {
        rung<float> r;
        double flop_per_byte, shared_loads_per_product; // of warp instructions
        unsigned long long barriers;
    } table[] = {
#if TESTED(naive)
        {RUNG(naive_32, float, 32, 32, 1), 0.25, 0, 0},
#endif
#if TESTED(tiled)
        {RUNG(tiled_32, float, 32, 32, 32), 8, 2, 16 * 4 * 2},
#endif
#if TESTED(coarsened)
        {RUNG(coarsened_32, float, 32, 128, 32), 12.8, 2, 4 * 4 * 4 * 2},
#endif
#if TESTED(register_tiled)
        {RUNG(register_128, float, 128, 128, 8), 32, 16 / 64.0, 16 * 2},
#endif
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        const simt_counts c = counted(table[i].r);
        const double per_byte = flop / (double)c.global_load_bytes;
        const double loads = (double)c.shared_loads / (flop / 2 / 32);
        tap_ok(per_byte == table[i].flop_per_byte, "%s: %g FLOP a byte (%g)", table[i].r.name,
               per_byte, table[i].flop_per_byte);
        tap_ok(loads == table[i].shared_loads_per_product, "%s: %g shared loads a product (%g)",
               table[i].r.name, loads, table[i].shared_loads_per_product);
        tap_ok(c.barriers == table[i].barriers, "%s: %llu barriers (%llu)", table[i].r.name,
               c.barriers, table[i].barriers);
    }

#if TESTED(tiled) && TESTED(coarsened)
    // COARSE_FACTOR tiles of P with one load of M's: what is read is M once for each row of blocks, and
    // N once for each.
    const simt_counts tiled = counted(RUNG(tiled_32, float, 32, 32, 32));
    const simt_counts coarsened = counted(RUNG(coarsened_32, float, 32, 128, 32));
    const unsigned long long matrix_bytes = 128 * 128 * 4;
    tap_ok(tiled.global_load_bytes == 4 * matrix_bytes + 4 * matrix_bytes &&
               coarsened.global_load_bytes == 1 * matrix_bytes + 4 * matrix_bytes,
           "tiled loads M 4 times and N 4 times, coarsened M once and N 4 times");
#endif
}

#else

// ---- Only on a GPU ------------------------------------------------------------------------------

// Each rung against the first one of the list, which has no tiles to get wrong, in whole numbers: all bits must agree.
template <class T>
static void check_large(const std::vector<rung<T>> &all, size_t rows = 1543, size_t cols = 1031,
                        size_t inner = 769)
{
    matrix<T> m(rows, inner, 3), n(inner, cols, 1), p(rows, cols, 0), q = p;
    m.fill(1, small<T>);
    n.fill(2, small<T>);
    device_matrix<T> on_m(m, 0), on_n(n, 0), on_p(p, 0);
    for (const rung<T> &r : all) {
        CHECK(cudaMemset(on_p.get(), 0xff, on_p.bytes));
        CHECK(r.launch(rows, cols, inner, 1, on_m.data(), m.ld, on_n.data(), n.ld, 0, on_p.data(),
                       p.ld, 0));
        CHECK(cudaDeviceSynchronize());
        on_p.read(p.x.data());
        if (r.launch == all[0].launch)
            q = p;
        tap_ok(memcmp(p.x.data(), q.x.data(), on_p.bytes) == 0, "%s: %zu x %zu x %zu", r.name, rows,
               cols, inner);
    }
}

static void check_large_float(void)
{
    check_large<float>({
        RUNG(naive_32, float, 1, 1, 1),
        RUNG(tiled_32, float, 1, 1, 1),
        RUNG(coarsened_32, float, 1, 1, 1),
        RUNG(register_128, float, 1, 1, 1),
        RUNG(matmul_f32_scratch, float, 1, 1, 1),
        RUNG(matmul_f32_bare, float, 1, 1, 1),
        RUNG(matmul_f32_thin, float, 1, 1, 1),
        RUNG(matmul_f32_square, float, 1, 1, 1),
        RUNG(matmul_f32_fine, float, 1, 1, 1),
        RUNG(matmul_f32_little, float, 1, 1, 1),
        RUNG(matmul_f32_deep, float, 1, 1, 1),
        RUNG(matmul_f32_paired, float, 1, 1, 1),
        RUNG(matmul_f32_fourfold, float, 1, 1, 1),
        RUNG(matmul_f32_short, float, 1, 1, 1),
        RUNG(narrow_f32, float, 1, 1, 1),
        RUNG(flat_f32, float, 1, 1, 1),
        RUNG(tall_f32, float, 1, 1, 1),
        RUNG(matmul_f32_tall_16, float, 1, 1, 1),
        RUNG(matmul_f32_tall_24, float, 1, 1, 1),
        RUNG(matmul_f32_tall_48, float, 1, 1, 1),
        RUNG(matmul_f32_tiny, float, 1, 1, 1),
        RUNG(matmul_f32_small, float, 1, 1, 1),
        RUNG(matmul_f32_medium, float, 1, 1, 1),
        RUNG(matmul_f32_shallow, float, 1, 1, 1),
        RUNG(matmul_f32_low, float, 1, 1, 1),
        RUNG(matmul_f32_large, float, 1, 1, 1),
    });
    // More few columns, or rows, than a launch takes, and one in the last launch.
    const size_t many = 65535 * 4 + 1;
    check_large<float>({RUNG(flat_f32, float, 1, 1, 1), RUNG(narrow_f32, float, 1, 1, 1)}, 7, many,
                       3);
    check_large<float>({RUNG(narrow_f32, float, 1, 1, 1), RUNG(flat_f32, float, 1, 1, 1)}, many, 7,
                       3);
}

static void check_large_double(void)
{
    check_large<double>({
        RUNG(naive_f64, double, 1, 1, 1),
        RUNG(tensor_128, double, 1, 1, 1),
        RUNG(tensor_f64, double, 1, 1, 1),
        RUNG(tensor_f64_parts, double, 1, 1, 1),
        RUNG(register_f64, double, 1, 1, 1),
    });
}

// The launcher in a CUDA graph: it allocates nothing and waits for nothing.
static void check_graph(void)
{
    const size_t size = 257;
    const test_array scratch(matmul_f32_scratch_bytes(size, size, size));
    matrix<float> m(size, size, 0), p = m;
    m.fill(1, small<float>);
    device_matrix<float> on_m(m, 0), on_p(p, 0);
    float want = 0;
    for (size_t k = 0; k < size; k++)
        want += m.at(3, k) * m.at(k, 5);
    const bool ok = test_graph(
        on_p,
        [&](cudaStream_t stream) {
            CHECK(matmul_f32_launch(size, size, size, 1, on_m.data(), size, on_m.data(), size, 0,
                                    on_p.data(), size, scratch.get(), scratch.bytes, stream));
        },
        [&] {
            on_p.read(p.x.data());
            return p.at(3, 5) == want;
        });
    tap_ok(ok, "matmul: runs from a graph");
}

#endif

int main(void)
{
    test_begin();

#if TESTED(naive)
    check_errors(RUNG(naive_f32, float, 8, 8, 1));
    check(RUNG(naive_f32, float, 8, 8, 1));
    check(RUNG(naive_i32, int, 32, 32, 1));
    check_rounding(RUNG(naive_f32, float, 8, 8, 1));
    check_16<__half>("naive_f16", naive_f16_launch, false, false, 8, 8);
#endif
#if TESTED(tiled)
    check_errors(RUNG(tiled_f64, double, 5, 5, 5));
    check(RUNG(tiled_f32, float, 8, 8, 8));
    check(RUNG(tiled_f64, double, 5, 5, 5));
    check(RUNG(tiled_32, float, 32, 32, 32));
    check_16<__nv_bfloat16>("tiled_bf16", tiled_bf16_launch, false, false, 8, 8);
#endif
#if TESTED(coarsened)
    check_errors(RUNG(coarsened_f32, float, 8, 24, 8));
    check(RUNG(coarsened_f32, float, 8, 24, 8));
    check(RUNG(coarsened_i64, long long, 16, 16, 16));
    check_rounding(RUNG(coarsened_f32, float, 8, 24, 8));
    check_16<__half>("coarsened_f16", coarsened_f16_launch, false, false, 8, 16);
#endif
#if TESTED(register_tiled)
    check_errors(RUNG(register_f32, float, 16, 24, 4));
    check(RUNG(register_f32, float, 16, 24, 4));
    check(RUNG(register_f64, double, 8, 16, 8));
    check(RUNG(register_128, float, 128, 128, 8));
    check_rounding(RUNG(register_f32, float, 16, 24, 4));
    check_16<__nv_bfloat16>("register_bf16", register_bf16_launch, false, false, 16, 8);
#endif
#if TESTED(narrow)
    check_errors(RUNG(narrow_f32, float, 8, 4, 1));
    check(RUNG(narrow_f32, float, 8, 4, 1024));
    check(TURNED(narrow_i64, long long, false, true));
    check_batches("narrow_f32", narrow_launch_batch);
    check_16<__half>("narrow_f16", narrow_f16_launch, false, false, 8, 12);
    check_16<__nv_bfloat16>("narrow_bf16", narrow_bf16_launch, false, true, 40, 12);
    check_rounding(RUNG(narrow_f32, float, 8, 4, 1024));
    check(RUNG(narrow_f32_parts, float, 2, 4, 96));
    check(RUNG(narrow_f32_apart, float, 32, 4, 768));
    check(RUNG(narrow_f32_single, float, 1, 1, 192));
    check_random(RUNG(narrow_f32, float, 0, 0, 0));
#endif
#if TESTED(tall)
    check_errors(RUNG(tall_f32, float, 64, 24, 32));
    check(RUNG(tall_f32, float, 64, 24, 32));
    check(RUNG(tall_f32_parts, float, 64, 24, 32));
    tap_ok(right<float>(RUNG(tall_f32_parts, float, 64, 24, 32), shape{70, 25, 301, 1, 0}, 2, -1),
           "tall_f32_parts: right in many parts");
    check(RUNG(tall_i32, int, 64, 64, 16));
    check(TURNED(tall_u32, unsigned int, false, true));
    check(TURNED(tall_u32_parts, unsigned int, false, true));
    check(TURNED(tall_f32_mirrored, float, true, true));
    check(TURNED(tall_u32_mirrored, unsigned int, false, true));
    check_random(RUNG(tall_f32, float, 0, 0, 0));
    check_random(TURNED(tall_u32, unsigned int, false, true));
    check_rounding(RUNG(tall_f32, float, 64, 24, 32));
#endif
#if TESTED(batched)
    check_errors(RUNG(batched_f32, float, 32, 32, 32));
    check(RUNG(batched_f32, float, 32, 32, 32));
    check(RUNG(batched_i32, int, 32, 64, 16));
    check_random(RUNG(batched_f32, float, 0, 0, 0));
    check_batches("batched_f32", batched_f32_launch_batch);
    check_rounding(RUNG(batched_f32, float, 32, 32, 32));
#endif
#if TESTED(whole)
    check_whole();
    WHOLE_STACKED(whole_f32, float, false, false);
    WHOLE_STACKED(whole_i32, int, false, false);
    WHOLE_STACKED(whole_turned, double, true, true);
    WHOLE_STACKED(whole_f16, __half, false, false);
    WHOLE_STACKED(whole_turned_bf16, __nv_bfloat16, true, true);
#endif
#if TESTED(flat)
    check_errors(RUNG(flat_f32, float, 4, 32, 1));
    check(RUNG(flat_f32, float, 4, 128, 256));
    check(RUNG(flat_f32, float, 2, 1024, 10)); // more threads across, and fewer deep
    check(RUNG(flat_f32_parts, float, 4, 48, 60));
    check_random(RUNG(flat_f32, float, 0, 0, 0));
    check(TURNED(flat_i64, long long, true, false));
    check_rounding(RUNG(flat_f32, float, 4, 32, 256));
    check_batches("flat_f32", flat_launch_batch);
#endif
#if TESTED(tensor16) || TESTED(launch)
    check_16<__half>("tensor_f16", tensor_f16_launch, false, false, 64, 64);
    check_16<__nv_bfloat16>("tensor_bf16_turned", tensor_bf16_turned_launch, true, true, 64, 128);
    check_16<__half>("tensor_f16_parts", tensor_f16_parts_launch, false, false, 64, 64);
    check_bare_16<__half>("tensor_f16", tensor_f16_launch, false, false);
    check_bare_16<__half>("slim_f16", slim_f16_launch, false, false);
    check_bare_16<__half>("low_f16_turned", low_f16_turned_launch, true, true);
    check_bare_16<__half>("little_f16", little_f16_launch, false, false);
    check_16<__half>("slim_f16", slim_f16_launch, false, false, 64, 16);
    check_16<__half>("low_f16_turned", low_f16_turned_launch, true, true, 16, 64);
    check_16<__half>("little_f16_parts", little_f16_parts_launch, false, false, 32, 32);
#ifndef TEST_FIRST
    check_16<__nv_bfloat16>("tensor_bf16", tensor_bf16_launch, false, false, 128, 256);
#endif
#endif
#if TESTED(warpgroup) || TESTED(box) || TESTED(launch)
    check_16<__half>("group_f16", group_f16_launch, false, false, 128, 64);
    check_16<__half>("group_f16_slices_2", group_f16_slices_2_launch, false, false, 128, 64);
    check_16<__half>("group_f16_slices_4", group_f16_slices_4_launch, false, false, 128, 64);
    check_16<__half>("group_f16_slices_8", group_f16_slices_8_launch, false, false, 128, 64);
    check_16<__half>("group_f16_little", group_f16_little_launch, true, false, 64, 64);
    check_16<__half>("group_f16_little_slices_4", group_f16_little_slices_4_launch, true, false, 64,
                     64);
    check_group_batch();
    check_many();
    check_16<__half>("group_f16_parts", group_f16_parts_launch, false, false, 128, 64);
    check_16<__nv_bfloat16>("group_bf16_turned", group_bf16_turned_launch, true, true, 256, 128);
    check_16<__nv_bfloat16>("group_bf16_turned_parts", group_bf16_turned_parts_launch, true, true,
                            256, 128);
    tap_ok(right_16<__half>("group_f16_slices_8", group_f16_slices_8_launch, false, false,
                            shape{300, 136, 1000, 0, 0}, 1, 2),
           "group_f16_slices_8: right in deep slices");
#ifndef TEST_FIRST
    tap_ok(right_16<__half>("group_f16_flat", group_f16_flat_launch, false, false,
                            shape{140, 300, 100, 0, 0}, 1, 2),
           "group_f16_flat: right in tiles of 128 x 256");
    check_16<__half>("group_f16_alone", group_f16_alone_launch, false, true, 192, 192);
    check_16<__nv_bfloat16>("group_bf16", group_bf16_launch, false, false, 256, 256);
#endif
#endif
#if TESTED(matmul)
    check_strips(); // what takes the least time first: faults.py ends with the first failure
    check_group_plans();
    check_plans_16();
    check(RUNG(matmul_f32_by_narrow, float, 32, 16, 32));
    check(RUNG(matmul_f32_by_flat, float, 32, 16, 32));
    check(RUNG(matmul_f32_by_tall_16, float, 64, 16, 32));
    check(RUNG(matmul_f32_by_tall_24, float, 64, 24, 32));
    check(RUNG(matmul_f32_by_tall_48, float, 64, 48, 32));
    check(TURNED(n_turned_f32_by_tall_24, float, false, true));
    check(TURNED(n_turned_f32_by_tall_32, float, false, true));
    check_batches("matmul_f32_by_tall_48", [](size_t count, size_t rows, size_t cols, size_t inner,
                                              float alpha, const float *m, size_t ldm,
                                              size_t m_step, const float *n, size_t ldn,
                                              size_t n_step, float beta, float *p, size_t ldp,
                                              size_t p_step, cudaStream_t stream) {
        matmul_f32_plan plan = matmul_f32_tall_48_plan(rows, cols, inner);
        return matmul_f32_launch_batch_plan(plan, count, rows, cols, inner, alpha, m, ldm, m_step,
                                            n, ldn, n_step, beta, p, ldp, p_step, stream);
    });
    check_stacked<float, float>(
        "n_turned_f32_by_tall_32", false, true,
        [](const stacked &of, const float *m, const float *n, float beta, float *p) {
            return n_turned_f32_launch_batch_plan(
                n_turned_f32_tall_32_plan(of.rows, of.cols, of.inner), of.count, of.rows, of.cols,
                of.inner, 2, m, of.ldm, of.rows * of.ldm, n, of.ldn, of.cols * of.ldn, beta, p,
                of.ldp, of.rows * of.ldp, 0);
        });
    check_batches("matmul_f32", matmul_f32_launch_batch);
    STACKED(matmul_f32, float, false, false);
    STACKED(n_turned_f32, float, false, true);
    check_16<__half>("matmul_f16", matmul_f16_scratch_launch, false, false, 64, 64);
    check_16<__half>("matmul_f16, no scratch", matmul_f16_bare_launch, false, false, 64, 64);
    STACKED(matmul_f16, __half, false, false);
    STACKED(turned_bf16, __nv_bfloat16, true, true);
    check_16<__nv_bfloat16>("turned_bf16", turned_bf16_bare_launch, true, true, 64, 64);
    tap_ok(right_16<__half>("matmul_f16", matmul_f16_bare_launch, false, false,
                            shape{300, 1, 777, 0, 0}, 1, 2),
           "matmul_f16: one column");
    check_16<__half>("matmul_f16_packed", matmul_f16_packed_launch, false, false, 64, 64);
    check_16<__half>("matmul_f16_packed_n", matmul_f16_packed_n_launch, false, false, 64, 64);
    check_16<__nv_bfloat16>("turned_bf16_packed", turned_bf16_packed_launch, true, true, 64, 64);
#ifndef TEST_FIRST
    check_16<__half>("matmul_f16_large", matmul_f16_large_launch, false, false, 128, 256);
    check_16<__nv_bfloat16>("turned_bf16_large", turned_bf16_large_launch, true, true, 128, 256);
    check_16<__half>("matmul_f16_plain", matmul_f16_plain_launch, false, false, 128, 128);
#endif
#endif
#if TESTED(pack) || TESTED(pipelined)
    check(RUNG(packed_f32_m, float, 64, 64, 64));
#endif
#if TESTED(pack)
    check(RUNG(packed_f32_both, float, 64, 64, 64));
    check(TURNED(packed_f32_of_transposed, float, true, true));
    check(TURNED(packed_f64_n, double, true, true));
#endif
#if TESTED(align)
    check_align<unsigned short>("aligned_u16", aligned_u16_align);
    check_align<double>("aligned_f64", aligned_f64_align);
#endif
#if TESTED(tensor) || TESTED(launch)
    check_errors(RUNG(tensor_f64, double, 32, 16, 16));
    check(RUNG(tensor_f64, double, 32, 16, 16));
    check(RUNG(tensor_f64_parts, double, 32, 16, 16));
    tap_ok(
        right<double>(RUNG(tensor_f64_parts, double, 32, 16, 16), shape{40, 20, 301, 1, 0}, 2, -1),
        "tensor_f64_parts: right in many parts");
    check(TURNED(tensor_turned, double, true, true));
    check_rounding(RUNG(tensor_f64, double, 32, 16, 16));
#endif
#if TESTED(pipelined)
    check_errors(RUNG(pipelined_i32, int, 32, 16, 8));
    check(RUNG(pipelined_f32, float, 16, 32, 8));
    check(RUNG(pipelined_f32_parts, float, 16, 32, 8));
    tap_ok(
        right<float>(RUNG(pipelined_f32_parts, float, 16, 32, 8), shape{20, 40, 301, 1, 0}, 2, -1),
        "pipelined_f32_parts: right in many parts");
    check(RUNG(sliced_f32, float, 16, 32, 16));
    check(RUNG(column_f32, float, 128, 8, 16));
    check(TURNED(m_turned_u32, unsigned int, true, false));
#ifndef TEST_FIRST
    check_errors(RUNG(matmul_f32_scratch, float, 128, 256, 16));
    check(RUNG(pipelined_i32, int, 32, 16, 8));
    check(RUNG(pipelined_f64, double, 16, 16, 8));
    check(RUNG(matmul_f32_scratch, float, 32, 16, 32));
    check(RUNG(matmul_f32_bare, float, 32, 16, 32));
    check(TURNED(n_turned_f64_scratch, double, false, true));
    check(TURNED(m_turned_i64_scratch, long long, true, false));
    check(TURNED(m_turned_i64_bare, long long, true, false));
    STACKED(n_turned_f64, double, false, true);
    STACKED(m_turned_i64, long long, true, false);
    STACKED(turned_i32, int, true, true);
    check(TURNED(turned_i32_scratch, int, true, true));
    check(TURNED(n_turned_f64_medium, double, false, true));
    check(TURNED(n_turned_f64_small, double, false, true));
    check(TURNED(n_turned_f64_large, double, false, true));
    check(TURNED(n_turned_f64_tensor_narrow, double, false, true));
    check(TURNED(n_turned_f64_tensor_flat, double, false, true));
    check(TURNED(n_turned_f64_tensor_little, double, false, true));
    check(TURNED(n_turned_f64_tensor_small, double, false, true));
    check(TURNED(n_turned_f64_tensor_slim, double, false, true));
    check(TURNED(n_turned_f64_tensor_low, double, false, true));
    check(TURNED(n_turned_f64_tensor_square, double, false, true));
    check(TURNED(n_turned_f64_tensor_wide, double, false, true));
    check(TURNED(n_turned_f64_tensor_large, double, false, true));
    check(TURNED(turned_i32_bare, int, true, true));
    check(TURNED(n_turned_f64_bare, double, false, true));
    check(TURNED(turned_i32_thin, int, true, true));
    check(TURNED(turned_i32_square, int, true, true));
    check_random(RUNG(matmul_f32_scratch, float, 0, 0, 0));
    check_random(TURNED(turned_i32_scratch, int, true, true));
    check_random(TURNED(n_turned_f64_scratch, double, false, true));
    check(TURNED(n_turned_f64_by_narrow, double, false, true));
    check(TURNED(m_turned_i64_by_flat, long long, true, false));
    check(TURNED(turned_i32_by_narrow, int, true, true));
    check(TURNED(turned_i32_by_flat, int, true, true));
    check(TURNED(turned_i32_by_tall_16, int, true, true));
    check_batch();
    check_packed();
    check_plans();
    check(RUNG(matmul_f32_tiny, float, 32, 16, 32));
    check(RUNG(matmul_f32_small, float, 32, 64, 32));
    check(RUNG(matmul_f32_medium, float, 64, 128, 16));
    check(RUNG(matmul_f32_large, float, 128, 256, 16));
    check(RUNG(matmul_f32_thin, float, 8, 256, 32));
    check(RUNG(matmul_f32_little, float, 32, 32, 16));
    check(RUNG(matmul_f32_deep, float, 64, 128, 32));
    check(RUNG(matmul_f32_paired, float, 32, 64, 32));
    check(RUNG(matmul_f32_fourfold, float, 32, 64, 32));
    check(RUNG(matmul_f32_short, float, 32, 64, 32));
    check(RUNG(matmul_f32_square, float, 64, 64, 8));
    check(RUNG(matmul_f32_fine, float, 64, 64, 8));
    check(RUNG(matmul_f32_shallow, float, 64, 128, 8));
    check(TURNED(turned_i32_low, int, true, true));
    check(TURNED(n_turned_f64_shallow, double, false, true));
    check_rounding(RUNG(sliced_f32, float, 16, 32, 16));
    check_rounding(RUNG(matmul_f32_scratch, float, 128, 256, 16));
#endif
#endif

#ifdef SIMT
    check_counts();
#else
    check_large_float();
    check_large_double();
    check_graph();
#endif
#if TESTED(coarsened)
    check(RUNG(coarsened_32, float, 32, 128, 32)); // last, as it takes long
#endif
    return tap_done();
}
