// SPDX-License-Identifier: MIT
//
// coarsen/scan.h for coarsen-tune. docs/tune.md says what the lines "tune:" are.
//
// tune: --type f32,f64,i32 --op sum,min,max --size n=2^24
// tune: --knob BLOCK_DIM=128:1024:*2 --default BLOCK_DIM=512
// tune: --knob COARSE_FACTOR=1:16:*2 --default COARSE_FACTOR=8
// tune: --in 'TUNE_TYPE in[n]' --out 'TUNE_TYPE out[n]'
// tune: --scratch 'unsigned char scratch[tuned_scratch_bytes(n)]'
// tune: --launch 'tuned_launch(in, (result *)out, n, scratch, tuned_scratch_bytes(n), 0)'
// tune: --reference scan.cu --tolerance 'tolerance(n)'

#include <math.h>

// Sums of ints may overflow, which only an unsigned type defines. The reference adds floats up in
// double. TUNED_ROUNDING: half a unit in the last place of 1.
#define TUNED_ROUNDING (sizeof(TUNE_TYPE) == 8 ? 0x1p-53 : 0x1p-24)
#if defined TUNE_OP_sum && defined TUNE_TYPE_i32
typedef unsigned int result, exact;
#elif defined TUNE_OP_sum
typedef TUNE_TYPE result;
typedef double exact;
#else
typedef TUNE_TYPE result, exact;
#endif

static inline double tolerance(double n)
{
#if !defined TUNE_OP_sum || defined TUNE_TYPE_i32
    return 0;
#elif defined TUNE_DATA_uniform
    // Where signs change, a sum is a random walk and so are its roundings, which stay well below
    // this up to 2^32 elements.
    return (sizeof(TUNE_TYPE) == 8 ? 1024 : 64) * TUNED_ROUNDING * sqrt(n);
#elif defined TUNE_DATA_file
    return -1; // what it holds is not known
#else
    // Where they don't, each step of the longest chain may lose a rounding of the whole: in the
    // reference in double, the elements of a thread and all threads; in a kernel a few steps, and
    // one for each group of 128 tiles, of 384 elements or more.
    return TUNED_ROUNDING * n * (sizeof(TUNE_TYPE) == 8 ? n / 1024 + 1024 : n / 49152 + 64);
#endif
}

#if defined TUNE_OP_sum
#define COARSEN_ACC result
#elif defined TUNE_OP_min
#define COARSEN_OP       COARSEN_MIN
#define COARSEN_IDENTITY COARSEN_GREATEST(TUNE_TYPE)
#else
#define COARSEN_OP       COARSEN_MAX
#define COARSEN_IDENTITY COARSEN_LEAST(TUNE_TYPE)
#endif

#ifndef TUNE_REFERENCE

#define COARSEN_NAME tuned
#define COARSEN_TYPE TUNE_TYPE
#include <coarsen/scan.h>

#else

#if defined TUNE_OP_sum
#define COARSEN_OP       COARSEN_SUM
#define COARSEN_IDENTITY 0
#endif

// One block. Each thread scans a run of neighbours, when it knows what all runs before it have.
static __global__ void tuned_kernel(const TUNE_TYPE *in, result *out, size_t n)
{
    __shared__ exact run[1024];
    const size_t each = coarsen_ceil_div(n, 1024), begin = threadIdx.x * each;
    exact total = COARSEN_IDENTITY;
    for (size_t i = begin; i < begin + each && i < n; i++) {
        const exact x = in[i];
        total = COARSEN_OP(total, x);
    }
    run[threadIdx.x] = total;
    __syncthreads();
    total = COARSEN_IDENTITY;
    for (unsigned int t = 0; t < 1024 && threadIdx.x == 0; t++) {
        const exact mine = run[t];
        run[t] = total;
        total = COARSEN_OP(total, mine);
    }
    __syncthreads();
    total = run[threadIdx.x];
    for (size_t i = begin; i < begin + each && i < n; i++) {
        const exact x = in[i];
        total = COARSEN_OP(total, x);
        out[i] = (result)total;
    }
}

static inline size_t tuned_scratch_bytes(size_t)
{
    return 16;
}

static inline cudaError_t tuned_launch(const TUNE_TYPE *in, result *out, size_t n, void *, size_t,
                                       cudaStream_t)
{
    return tune_launch_kernel(1, 1024, 0, tuned_kernel, in, out, n);
}

#endif
