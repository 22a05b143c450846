// SPDX-License-Identifier: MIT
//
// coarsen/sort.h for coarsen-tune: keys alone. docs/tune.md says what the lines "tune:" are.
//
// tune: --type u32,i32,f32,f64 --size n=2^24
// tune: --knob BLOCK_DIM=256,384,512,768,1024 --default BLOCK_DIM=512
// tune: --knob COARSE_FACTOR=12,16,18,20,24,28,32
// tune u32: --default COARSE_FACTOR=28
// tune i32: --default COARSE_FACTOR=28
// tune f32: --default COARSE_FACTOR=28
// tune f64: --default COARSE_FACTOR=18
// tune: --in 'TUNE_TYPE in[n]' --out 'TUNE_TYPE out[n]'
// tune: --scratch 'unsigned char scratch[tuned_scratch_bytes(n)]'
// tune: --launch 'tuned_launch(in, out, n, scratch, tuned_scratch_bytes(n), 0)'
// tune: --reference sort.cu --tolerance 0

#ifndef TUNE_REFERENCE

#define COARSEN_NAME tuned
#define COARSEN_TYPE TUNE_TYPE
#include <coarsen/sort.h>

#else

// Per digit of 8 bits: each thread counts those of a run of neighbours; one block makes of all counts the places where
// each run's keys of each digit begin; and each thread moves its run.
typedef struct {
    size_t threads, each;      // keys of a run
    unsigned long long *count; // [digit][thread]
    TUNE_TYPE *spare;
} tuned_scratch;

static inline tuned_scratch tuned_parts(size_t n, void *scratch)
{
    const size_t runs = coarsen_ceil_div(n, 256), threads = runs < 32768 ? runs : 32768;
    unsigned long long *const count = (unsigned long long *)scratch;
    return {threads, coarsen_ceil_div(n, threads), count, (TUNE_TYPE *)(count + 256 * threads)};
}

// In the order of the keys.
static __device__ unsigned int tuned_digit(TUNE_TYPE key, unsigned int first)
{
    const unsigned long long sign = 1ull << (8 * sizeof(key) - 1);
    unsigned long long bits = 0;
    memcpy(&bits, &key, sizeof(key));
#if defined TUNE_TYPE_f32 || defined TUNE_TYPE_f64
    bits = key != key ? ~0ull : bits & sign ? ~bits : bits | sign;
#elif defined TUNE_TYPE_i32
    bits ^= sign;
#else
    (void)sign;
#endif
    return (unsigned int)(bits >> first) % 256;
}

static __global__ void tuned_counts(const TUNE_TYPE *in, size_t n, tuned_scratch of,
                                    unsigned int first)
{
    const size_t t = blockIdx.x * (size_t)256 + threadIdx.x;
    if (t >= of.threads)
        return;
    for (size_t d = 0; d < 256; d++)
        of.count[d * of.threads + t] = 0;
    for (size_t i = t * of.each; i < (t + 1) * of.each && i < n; i++)
        of.count[tuned_digit(in[i], first) * of.threads + t]++;
}

static __global__ void tuned_places(tuned_scratch of)
{
    __shared__ unsigned long long run[1024];
    const size_t n = 256 * of.threads, each = coarsen_ceil_div(n, 1024);
    const size_t begin = threadIdx.x * each;
    unsigned long long total = 0;
    for (size_t i = begin; i < begin + each && i < n; i++)
        total += of.count[i];
    run[threadIdx.x] = total;
    __syncthreads();
    total = 0;
    for (unsigned int t = 0; t < threadIdx.x; t++)
        total += run[t];
    for (size_t i = begin; i < begin + each && i < n; i++) {
        const unsigned long long mine = of.count[i];
        of.count[i] = total;
        total += mine;
    }
}

static __global__ void tuned_moves(const TUNE_TYPE *in, TUNE_TYPE *out, size_t n, tuned_scratch of,
                                   unsigned int first)
{
    const size_t t = blockIdx.x * (size_t)256 + threadIdx.x;
    if (t >= of.threads)
        return;
    for (size_t i = t * of.each; i < (t + 1) * of.each && i < n; i++)
        out[of.count[tuned_digit(in[i], first) * of.threads + t]++] = in[i];
}

static inline size_t tuned_scratch_bytes(size_t n)
{
    return 256 * tuned_parts(n, 0).threads * sizeof(unsigned long long) + n * sizeof(TUNE_TYPE);
}

static inline cudaError_t tuned_launch(const TUNE_TYPE *in, TUNE_TYPE *out, size_t n, void *scratch,
                                       size_t, cudaStream_t)
{
    const tuned_scratch of = tuned_parts(n, scratch);
    const size_t blocks = coarsen_ceil_div(of.threads, 256);
    cudaError_t status = cudaSuccess;
    for (unsigned int p = 0; p < sizeof(TUNE_TYPE) && status == cudaSuccess; p++) {
        const TUNE_TYPE *const from = p == 0 ? in : p % 2 ? of.spare : out;
        TUNE_TYPE *const to = p % 2 ? out : of.spare;
        status = tune_launch_kernel(tune_dim(blocks), 256, 0, tuned_counts, from, n, of, 8 * p);
        if (status == cudaSuccess)
            status = tune_launch_kernel(1, 1024, 0, tuned_places, of);
        if (status == cudaSuccess)
            status =
                tune_launch_kernel(tune_dim(blocks), 256, 0, tuned_moves, from, to, n, of, 8 * p);
    }
    return status;
}

#endif
