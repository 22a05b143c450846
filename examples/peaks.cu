// SPDX-License-Identifier: MIT
//
// peaks FILE.npy WINDOW: the greatest element of each WINDOW elements of an array of floats, and its
// index. Try examples/data/sunspots.npy 12: the month of each year with the most sunspots.
//
// A kernel of this file's own, with a reduction of coarsen/block/reduce.h in it. As in NumPy's argmax, a
// NaN is the greatest, and of equal elements the first is named. Exit status: 0; 1 when the file or the
// device fails; 2 when called wrongly.

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

static npy_array read_floats(const char *path)
{
    npy_array array;
    char error[NPY_ERROR];
    if (!npy_read(path, &array, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    if (array.type != NPY_F4) {
        fprintf(stderr, "%s: holds no f4; save it as float32\n", path);
        exit(1);
    }
    return array;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const long long window = argc == 3 ? strtoll(argv[2], &end, 10) : 0;
    if (window < 1 || *end) {
        fprintf(stderr, "usage: %s FILE.npy WINDOW, WINDOW being how many elements\n",
                argc > 0 ? argv[0] : "peaks");
        return 2;
    }
    npy_array array = read_floats(argv[1]);
    const size_t n = array.count, width = (size_t)window, windows = n / width + (n % width != 0);
    const size_t bytes = windows * sizeof(peak);
    peak *const peaks = (peak *)malloc(bytes > 0 ? bytes : 1);
    if (!peaks || windows > 0x7fffffff) { // the most blocks of a grid
        fprintf(stderr, "peaks: %zu windows are too many; take a larger WINDOW\n", windows);
        return 1;
    }
    device_require("peaks");
    if (windows > 0) {
        float *const in = (float *)device_copy(array.data, n * sizeof(float));
        peak *const out = (peak *)device_alloc(bytes);
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3((unsigned int)windows);
        config.blockDim = dim3(THREADS);
        CHECK(cudaLaunchKernelEx(&config, peaks_kernel, (const float *)in, n, width, out));
        CHECK(cudaMemcpy(peaks, out, bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(in));
        CHECK(cudaFree(out));
    }
    printf("%12s %12s %12s\n", "window from", "peak at", "value");
    for (size_t w = 0; w < windows; w++)
        printf("%12zu %12zu %12.7g\n", w * width, peaks[w].index, (double)peaks[w].value);
    free(peaks);
    npy_free(&array);
    if (fflush(stdout) != 0) {
        perror("peaks: cannot write the results");
        return 1;
    }
    return 0;
}
