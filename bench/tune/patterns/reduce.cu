// SPDX-License-Identifier: MIT
//
// coarsen/reduce.h for coarsen-tune. docs/tune.md says what the lines "tune:" are.
//
// tune: --type f32,f64,i32 --op sum,min,max --size n=2^24
// tune: --knob BLOCK_DIM=64:1024:*2 --default BLOCK_DIM=512
// tune: --knob COARSE_FACTOR=1:32:*2 --default COARSE_FACTOR=4
// tune: --in 'TUNE_TYPE in[n]' --out 'TUNE_TYPE out[1]'
// tune: --scratch 'unsigned char scratch[tuned_scratch_bytes(n)]'
// tune: --launch 'tuned_launch(in, (result *)out, n, scratch, tuned_scratch_bytes(n), 0)'
// tune: --reference reduce.cu --tolerance 'tolerance(n)'

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
    // Where signs change, the sum is a random walk and so are its roundings, which stay well below
    // this up to 2^32 elements.
    return (sizeof(TUNE_TYPE) == 8 ? 1024 : 64) * TUNED_ROUNDING * sqrt(n);
#elif defined TUNE_DATA_file
    return -1; // what it holds is not known
#else
    // Where they don't, a thread may lose a rounding of its sum at each element that it adds up: of
    // the reference's in double, n / 1024; of a kernel's on a device of 32768 threads, n / 32768.
    return TUNED_ROUNDING * n * fmax(32, n / (sizeof(TUNE_TYPE) == 8 ? 1024 : 32768));
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
#include <coarsen/reduce.h>

#else

#if defined TUNE_OP_sum
#define COARSEN_OP       COARSEN_SUM
#define COARSEN_IDENTITY 0
#endif

static __global__ void tuned_kernel(const TUNE_TYPE *in, result *out, size_t n) // one block
{
    __shared__ exact partial[1024];
    exact total = COARSEN_IDENTITY;
    for (size_t i = threadIdx.x; i < n; i += 1024) {
        const exact x = in[i];
        total = COARSEN_OP(total, x);
    }
    partial[threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned int t = 1; t < 1024; t++)
            total = COARSEN_OP(total, partial[t]);
        *out = (result)total;
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
