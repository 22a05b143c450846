// SPDX-License-Identifier: MIT
//
// coarsen/stencil.h for coarsen-tune: a star, with rows and slices one behind the other. docs/tune.md says what the
// lines "tune:" are.
//
// A size from the third on is made smaller than the others to be run on simt: ny, as a block walks along z.
//
// tune: --type f32,f64 --size nx=512 --size nz=512 --size ny=512 --order 1
// tune: --knob BLOCK_DIM=64:512:*2 --default BLOCK_DIM=128
// tune: --knob COARSEN_THREAD_ROWS=1,2
//
// Without a factor, the header takes one by the device. On a large device, of a grid of 512 x 512 x 512 it is this one.
//
// tune: --knob COARSE_FACTOR=4:256:*2 --default COARSE_FACTOR=8
// tune: --in 'TUNE_TYPE in[nx * ny * nz]' --out 'TUNE_TYPE out[nx * ny * nz]'
// tune: --launch 'tuned_launch(in, out, nx, ny, nz, nx, nx * ny, 0)'
// tune: --reference stencil.cu --tolerance 'tolerance()' --work '(double)nx * ny * nz'

// The weights' magnitudes come to 1 at most, and so do those of the cells. What a file holds is not known.
static inline double tolerance(void)
{
#ifdef TUNE_DATA_file
    return -1;
#else
    return (6 * TUNE_ORDER + 2) * (sizeof(TUNE_TYPE) == 8 ? 0x1p-53 : 0x1p-24);
#endif
}

#if TUNE_ORDER == 1
#define WEIGHTS 0.4, 0.1
#elif TUNE_ORDER == 2
#define WEIGHTS 0.4, 0.07, 0.03
#elif TUNE_ORDER == 3
#define WEIGHTS 0.4, 0.06, 0.03, 0.01
#else
#define WEIGHTS 0.3, 0.07, 0.03, 0.01, 0.005
#endif

#ifndef TUNE_REFERENCE

#define COARSEN_NAME         tuned
#define COARSEN_TYPE         TUNE_TYPE
#define COARSEN_ORDER        TUNE_ORDER
#define COARSEN_COEFFICIENTS WEIGHTS
#include <coarsen/stencil.h>

#else

static __device__ bool tuned_kept(size_t at, size_t n)
{
    return n > 1 && (at < TUNE_ORDER || at + TUNE_ORDER >= n);
}

// Of the two cells that far along an axis, whose cells are `step` apart.
static __device__ double tuned_pair(const TUNE_TYPE *cell, size_t step, size_t n)
{
    return n > 1 ? (double)*(cell - step) + *(cell + step) : 2.0 * *cell;
}

static __global__ void tuned_kernel(const TUNE_TYPE *in, TUNE_TYPE *out, size_t nx, size_t ny,
                                    size_t nz)
{
    const TUNE_TYPE weight[] = {WEIGHTS};
    const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= nx * ny * nz)
        return;
    const size_t x = i % nx, y = i / nx % ny, z = i / nx / ny;
    double sum = (double)weight[0] * in[i];
    if (tuned_kept(x, nx) || tuned_kept(y, ny) || tuned_kept(z, nz))
        sum = in[i];
    else
        for (size_t d = 1; d <= TUNE_ORDER; d++)
            sum += weight[d] * (tuned_pair(in + i, d, nx) + tuned_pair(in + i, d * nx, ny) +
                                tuned_pair(in + i, d * nx * ny, nz));
    out[i] = (TUNE_TYPE)sum;
}

static inline cudaError_t tuned_launch(const TUNE_TYPE *in, TUNE_TYPE *out, size_t nx, size_t ny,
                                       size_t nz, size_t, size_t, cudaStream_t)
{
    return tune_launch_kernel(tune_dim(coarsen_ceil_div(nx * ny * nz, 256)), 256, 0, tuned_kernel,
                              in, out, nx, ny, nz);
}

#endif
