// SPDX-License-Identifier: MIT
//
// coarsen/histogram.h for coarsen-tune. docs/tune.md says what the lines "tune:" are.
//
// tune: --type u8,u16,u32,f32 --bins 256 --size n=2^24
// tune: --knob BLOCK_DIM=128:1024:*2 --default BLOCK_DIM=1024
// tune: --knob CFACTOR=1:32:*2 --default CFACTOR=4
// tune: --in 'TUNE_TYPE in[n]' --out 'unsigned int counts[TUNE_BINS]'
// tune: --launch 'tuned_launch(in, counts, n, 0)'
// tune: --reference histogram.cu

// Even ranges of all values; each value its own where there are bins enough.
#define TUNED_BITS (8 * sizeof(TUNE_TYPE))
#if defined TUNE_TYPE_f32
#define COARSEN_BIN(x) ((x) >= -1 && (x) < 1 ? (int)(((x) + 1) * (float)(TUNE_BINS / 2.0)) : -1)
#elif (defined TUNE_TYPE_u8 && TUNE_BINS >= 1 << 8) ||                                             \
    (defined TUNE_TYPE_u16 && TUNE_BINS >= 1 << 16)
#define COARSEN_BIN(x) (x)
#elif TUNE_BINS > 1 && (TUNE_BINS & (TUNE_BINS - 1)) == 0 // which is a shift
#define COARSEN_BIN(x) ((int)((x) / (unsigned int)((1ull << TUNED_BITS) / TUNE_BINS)))
#else
#define COARSEN_BIN(x) ((int)((unsigned long long)(x)*TUNE_BINS >> TUNED_BITS))
#endif

#ifndef TUNE_REFERENCE

#define COARSEN_NAME tuned
#define COARSEN_TYPE TUNE_TYPE
#define NUM_BINS     TUNE_BINS
#include <coarsen/histogram.h>

#else

static __global__ void tuned_kernel(const TUNE_TYPE *in, unsigned int *counts, size_t n)
{
    const size_t threads = (size_t)gridDim.x * 256;
    for (size_t i = (size_t)blockIdx.x * 256 + threadIdx.x; i < n; i += threads) {
        const TUNE_TYPE x = in[i];
        const long long bin = COARSEN_BIN(x);
        if (bin >= 0 && bin < TUNE_BINS)
            atomicAdd(counts + bin, 1);
    }
}

static inline cudaError_t tuned_launch(const TUNE_TYPE *in, unsigned int *counts, size_t n,
                                       cudaStream_t stream)
{
    const cudaError_t status = cudaMemsetAsync(counts, 0, TUNE_BINS * sizeof(unsigned int), stream);
    if (status != cudaSuccess)
        return status;
    const size_t blocks = coarsen_min(coarsen_ceil_div(n, 256), 4096);
    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, 256, 0, stream);
    return cudaLaunchKernelEx(&config, tuned_kernel, in, counts, n);
}

#endif
