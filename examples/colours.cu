// SPDX-License-Identifier: MIT
//
// colours PICTURE [COUNT]: the most frequent colours of a picture (PNG, JPEG, ...), 10 or COUNT of them, how many pixels
// each has, and its share. Colours that are as frequent come in the order of their numbers. Try
// examples/data/astronaut.jpg.
//
// A colour is a number of 24 bits. coarsen/sort.h sorts by these bits alone, in three passes in place of four. Then equal
// colours are neighbours, and coarsen/segmented/runs.h counts them. Then the counts are sorted, each with its colour.
// Exit status: 0; 1 when a file or the device fails; 2 when called wrongly.

#include "device.h"
#include "picture.h"

#define COARSEN_NAME by_colour
#define COARSEN_TYPE unsigned int
#include <coarsen/sort.h>

#define COARSEN_NAME       counts // of each run of equal colours: 1 for each pixel
#define COARSEN_KEY        unsigned int
#define COARSEN_TYPE       unsigned int
#define COARSEN_LIFT(x, i) 1u
#include <coarsen/segmented/runs.h>

#define COARSEN_NAME       by_count // stable: of colours that are as frequent, the order stays
#define COARSEN_TYPE       unsigned int
#define COARSEN_VALUE      unsigned int
#define COARSEN_DESCENDING 1
#include <coarsen/sort.h>

static unsigned int *host_alloc(size_t n)
{
    unsigned int *const p = (unsigned int *)malloc(n * sizeof(*p));
    if (p)
        return p;
    fprintf(stderr, "colours: no memory for %zu pixels; take a smaller picture\n", n);
    exit(1);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const long long most = argc == 3 ? strtoll(argv[2], &end, 10) : 10;
    if (argc < 2 || argc > 3 || most < 1 || (end && *end)) {
        fprintf(stderr, "usage: %s PICTURE [COUNT]\n", argc > 0 ? argv[0] : "colours");
        return 2;
    }
    const picture p = picture_read(argv[1]);
    const size_t n = p.width * p.height; // fewer than 2^31, or stb_image does not read it
    unsigned int *const pixels = host_alloc(n), *const times = host_alloc(n);
    for (size_t i = 0; i < n; i++)
        pixels[i] = (unsigned int)p.rgb[3 * i] << 16 | (unsigned int)p.rgb[3 * i + 1] << 8 |
                    p.rgb[3 * i + 2];

    device_require("colours");
    const size_t colour_bytes = by_colour_scratch_bytes(n), run_bytes = counts_scratch_bytes(n),
                 count_bytes = by_count_scratch_bytes(n);
    void *const colour_scratch = device_alloc(colour_bytes);
    void *const run_scratch = device_alloc(run_bytes);
    void *const count_scratch = device_alloc(count_bytes);
    unsigned int *const in = (unsigned int *)device_copy(pixels, n * sizeof(*in));
    unsigned int *const sorted = (unsigned int *)device_alloc(n * sizeof(*sorted));
    unsigned int *const counts = (unsigned int *)device_alloc(n * sizeof(*counts));
    unsigned long long *const runs = (unsigned long long *)device_alloc(sizeof(*runs));
    CHECK(by_colour_scratch_init(colour_scratch, colour_bytes, 0));
    CHECK(counts_scratch_init(run_scratch, run_bytes, 0));
    CHECK(by_count_scratch_init(count_scratch, count_bytes, 0));

    CHECK(by_colour_launch_bits(in, sorted, n, 0, 24, colour_scratch, colour_bytes, 0));
    unsigned int *const colours = in; // of which there are no more than pixels
    CHECK(counts_launch(sorted, sorted, n, colours, counts, runs, run_scratch, run_bytes, 0));
    unsigned long long count;
    CHECK(cudaMemcpy(&count, runs, sizeof(count), cudaMemcpyDeviceToHost));
    CHECK(by_count_launch(counts, counts, colours, colours, count, count_scratch, count_bytes, 0));

    const size_t shown = (unsigned long long)most < count ? (size_t)most : (size_t)count;
    CHECK(cudaMemcpy(times, counts, shown * sizeof(*times), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(pixels, colours, shown * sizeof(*pixels), cudaMemcpyDeviceToHost));
    printf("%zu pixels, %llu colours\n", n, count);
    for (size_t i = 0; i < shown; i++)
        printf("#%06x %10u %6.2f%%\n", pixels[i], times[i], 100.0 * times[i] / (double)n);

    CHECK(cudaFree(in));
    CHECK(cudaFree(sorted));
    CHECK(cudaFree(counts));
    CHECK(cudaFree(runs));
    CHECK(cudaFree(colour_scratch));
    CHECK(cudaFree(run_scratch));
    CHECK(cudaFree(count_scratch));
    free(pixels);
    free(times);
    picture_free(p);
    if (fflush(stdout) != 0) {
        perror("colours: cannot write the results");
        return 1;
    }
    return 0;
}
