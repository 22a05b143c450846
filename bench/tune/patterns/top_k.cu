// SPDX-License-Identifier: MIT
//
// coarsen/top_k.h for coarsen-tune: the k greatest of one array, and where they were. docs/tune.md says what the lines
// "tune:" are.
//
// tune: --type f32,f64,i32,u32 --size n=2^24 --k 100
// tune: --knob BLOCK_DIM=128:1024:*2 --default BLOCK_DIM=512
// tune: --knob COARSE_FACTOR=2:16:*2 --default COARSE_FACTOR=8
// tune: --knob COARSEN_PART=1024:65536:*4 --default COARSEN_PART=4096
// tune: --in 'TUNE_TYPE in[n]' --out 'TUNE_TYPE out[TUNE_K]' --out 'unsigned long long at[TUNE_K]'
// tune: --scratch 'unsigned char scratch[tuned_scratch_bytes(1, n, TUNE_K)]'
// tune: --launch 'tuned_launch(in, n, TUNE_K, out, at, scratch, tuned_scratch_bytes(1, n, TUNE_K), 0)'
// tune: --reference top_k.cu --tolerance 0

#ifndef TUNE_REFERENCE

#define COARSEN_NAME tuned
#define COARSEN_TYPE TUNE_TYPE
#include <coarsen/top_k.h>

#else

#include "order.h"

// Less, if the number comes first: the greatest one.
static __device__ unsigned long long tuned_bits(TUNE_TYPE number)
{
    return ~tune_order(number) & ~0ull >> (64 - 8 * sizeof(number));
}

// One block. Digit by digit, from the first on, it finds the bits of the k-th number: it counts the digits of those
// that agree so far. Each thread looks through a run of neighbours, so that of numbers which equal the k-th one the
// first are known. Of the k, each thread counts how many come before its own.
static __global__ void tuned_kernel(const TUNE_TYPE *in, size_t n, TUNE_TYPE *out,
                                    unsigned long long *at)
{
    __shared__ unsigned long long edge, bits_of[1024], index_of[1024];
    __shared__ unsigned int count[256], equal[1024], left, found;
    const size_t each = coarsen_ceil_div(n, 1024), begin = threadIdx.x * each;
    const size_t end = begin + each < n ? begin + each : n;
    const unsigned int width = 8 * sizeof(TUNE_TYPE);
    if (threadIdx.x == 0)
        edge = 0, left = TUNE_K, found = 0;
    for (unsigned int known = 0; known < width; known += 8) {
        for (unsigned int d = threadIdx.x; d < 256; d += blockDim.x)
            count[d] = 0;
        __syncthreads();
        for (size_t i = begin; i < end; i++) {
            const unsigned long long bits = tuned_bits(in[i]);
            if (known == 0 || (bits ^ edge) >> (width - known) == 0)
                atomicAdd(&count[(bits >> (width - known - 8)) % 256], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned int d = 0;
            for (; count[d] < left; d++)
                left -= count[d];
            edge |= (unsigned long long)d << (width - known - 8);
        }
        __syncthreads();
    }

    unsigned int before = 0;
    equal[threadIdx.x] = 0;
    for (size_t i = begin; i < end; i++)
        equal[threadIdx.x] += tuned_bits(in[i]) == edge;
    __syncthreads();
    for (unsigned int t = 0; t < threadIdx.x; t++)
        before += equal[t];
    for (size_t i = begin; i < end; i++) {
        const unsigned long long bits = tuned_bits(in[i]);
        if (bits < edge || (bits == edge && before++ < left)) {
            const unsigned int place = atomicAdd(&found, 1u);
            bits_of[place] = bits;
            index_of[place] = i;
        }
    }
    __syncthreads();
    if (threadIdx.x < TUNE_K) {
        const unsigned long long bits = bits_of[threadIdx.x], index = index_of[threadIdx.x];
        unsigned int place = 0;
        for (unsigned int j = 0; j < TUNE_K; j++)
            place += bits_of[j] < bits || (bits_of[j] == bits && index_of[j] < index);
        out[place] = in[index];
        at[place] = index;
    }
}

static inline size_t tuned_scratch_bytes(size_t, size_t, size_t)
{
    return 16;
}

static inline cudaError_t tuned_launch(const TUNE_TYPE *in, size_t n, size_t, TUNE_TYPE *out,
                                       unsigned long long *at, void *, size_t, cudaStream_t)
{
    if (n < TUNE_K)
        return cudaErrorInvalidValue;
    return tune_launch_kernel(1, 1024, 0, tuned_kernel, in, n, out, at);
}

#endif
