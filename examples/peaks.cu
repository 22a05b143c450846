// SPDX-License-Identifier: MIT
//
// peaks FILE.npy WINDOW: the greatest element of each WINDOW elements of an array of floats, and its index. Try
// examples/data/sunspots.npy 12: the month of each year with the most sunspots. As in NumPy's argmax, a NaN is the
// greatest, and of equal elements the first is named. A kernel of this file's own, with a reduction of coarsen/block.

#include "device.h"
#include "npy.h"

#define COARSEN_NAME peak // an element with its index
#define COARSEN_TYPE float
#include <coarsen/arg.h>

#define THREADS          128

#define COARSEN_NAME     greatest
#define COARSEN_TYPE     peak
#define COARSEN_OP       peak_max
#define COARSEN_IDENTITY peak_none()
#define BLOCK_DIM        THREADS
#include <coarsen/block/reduce.h>

// Block b finds the peak of window b.
static __global__ void peaks_kernel(const float *in, size_t n, size_t window, peak *peaks)
{
    const size_t first = blockIdx.x * window, end = n - first < window ? n : first + window;
    peak mine = peak_none();
    for (size_t i = first + threadIdx.x; i < end; i += THREADS)
        mine = peak_max(mine, peak_lift(in[i], i));
    mine = greatest_block(mine);
    if (threadIdx.x == 0)
        peaks[blockIdx.x] = mine;
}

int main(int argc, char **argv)
{
    size_t window;
    if (argc != 3 || !whole(argv[2], &window) || window < 1)
        return usage("peaks FILE.npy WINDOW, WINDOW being how many elements");
    npy_array array = npy_floats(argv[1]);
    const size_t n = array.count, windows = n / window + (n % window != 0);
    if (windows > 0x7fffffff) // the most blocks of a grid
        npy_refuse(argv[1], "%zu windows are too many; take a larger WINDOW", windows);
    float *const in = (float *)device_copy(array.data, n * sizeof(float));
    peak *const out = (peak *)device_alloc(windows * sizeof(peak));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned int)windows);
    config.blockDim = dim3(THREADS);

    if (windows > 0)
        CHECK(cudaLaunchKernelEx(&config, peaks_kernel, (const float *)in, n, window, out));

    peak *const peaks = (peak *)host_copy(out, windows * sizeof(peak));
    for (size_t w = 0; w < windows; w++)
        printf("%12zu %12zu %12.9g\n", w * window, peaks[w].index, (double)peaks[w].value);
    device_free(in, out, NULL);
    free(peaks);
    npy_free(&array);
    return finish();
}
