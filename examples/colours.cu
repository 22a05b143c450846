// SPDX-License-Identifier: MIT
//
// colours PICTURE: each colour of a picture (PNG, JPEG, ...), in the order of their numbers, and how many pixels have
// it. Try examples/data/astronaut.jpg; `| sort -k2nr | head` shows the most frequent ones.
//
// A colour is a number of 24 bits. Sorted by these bits alone, in three passes in place of four, equal colours are
// neighbours: a run. Then the runs are counted.

#include "device.h"
#include "picture.h"

#define COARSEN_NAME by_colour
#define COARSEN_TYPE unsigned int
#include <coarsen/sort.h>

#define COARSEN_NAME       pixels_of // of each run of equal colours: 1 for each pixel
#define COARSEN_KEY        unsigned int
#define COARSEN_TYPE       unsigned int
#define COARSEN_LIFT(x, i) 1u
#include <coarsen/segmented/runs.h>

int main(int argc, char **argv)
{
    if (argc != 2)
        return usage("colours PICTURE");
    const picture p = picture_read(argv[1]);
    const size_t n = p.width * p.height, bytes = n * sizeof(unsigned int);
    unsigned int *const pixels = (unsigned int *)host_alloc(bytes);
    for (size_t i = 0; i < n; i++)
        pixels[i] = p.rgb[3 * i] << 16 | p.rgb[3 * i + 1] << 8 | p.rgb[3 * i + 2];
    const size_t sort_bytes = by_colour_scratch_bytes(n), run_bytes = pixels_of_scratch_bytes(n);
    unsigned int *const in = (unsigned int *)device_copy(pixels, bytes), *const colours = in;
    unsigned int *const sorted = (unsigned int *)device_alloc(bytes);
    unsigned int *const counts = (unsigned int *)device_alloc(bytes);
    unsigned long long *const runs = (unsigned long long *)device_alloc(sizeof(*runs)), count;
    void *const sort_scratch = device_alloc(sort_bytes), *const run_scratch =
                                                             device_alloc(run_bytes);

    CHECK(by_colour_scratch_init(sort_scratch, sort_bytes, 0));
    CHECK(by_colour_launch_bits(in, sorted, n, 0, 24, sort_scratch, sort_bytes, 0));
    CHECK(pixels_of_scratch_init(run_scratch, run_bytes, 0));
    CHECK(pixels_of_launch(sorted, sorted, n, colours, counts, runs, run_scratch, run_bytes, 0));

    CHECK(cudaMemcpy(&count, runs, sizeof(count), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(pixels, colours, count * sizeof(*pixels), cudaMemcpyDeviceToHost));
    unsigned int *const times = (unsigned int *)host_copy(counts, count * sizeof(*times));
    for (size_t c = 0; c < count; c++)
        printf("#%06x %10u\n", pixels[c], times[c]);
    device_free(in, sorted, counts, runs, sort_scratch, run_scratch, NULL);
    free(pixels);
    free(times);
    picture_free(p);
    return finish();
}
