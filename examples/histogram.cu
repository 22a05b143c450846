// SPDX-License-Identifier: MIT
//
// histogram TEXT: how often the letters a to z occur in a text, in bins of four letters, as bars. Upper and lower case
// count as the same letter. For a bin per letter compile it with -DLETTERS=1.

#include "device.h"
#include "text.h"

#ifndef LETTERS
#define LETTERS 4 // of a bin
#endif

// The bin of a byte; -1 is none, so that it is not counted.
static inline __device__ int bin_of(unsigned char c)
{
    const int letter = (c | 0x20) - 'a'; // 0x20 turns a capital into a small letter
    return letter >= 0 && letter < 26 ? letter / LETTERS : -1;
}

#define BINS          ((26 + LETTERS - 1) / LETTERS)

#define COARSEN_NAME  letters
#define COARSEN_TYPE  unsigned char
#define NUM_BINS      BINS
#define COARSEN_BIN   bin_of
#define COARSEN_COUNT unsigned long long
#include <coarsen/histogram.h>

int main(int argc, char **argv)
{
    if (argc != 2)
        return usage("histogram TEXT");
    size_t n;
    unsigned char *const text = text_read(argv[1], &n);
    unsigned char *const in = (unsigned char *)device_copy(text, n);
    const size_t bytes = BINS * sizeof(unsigned long long);
    unsigned long long *const out = (unsigned long long *)device_alloc(bytes);

    CHECK(letters_launch(in, out, n, 0));

    unsigned long long *const counts = (unsigned long long *)host_copy(out, bytes), most = 1;
    for (int bin = 0; bin < BINS; bin++)
        most = counts[bin] > most ? counts[bin] : most;
    for (int bin = 0; bin < BINS; bin++) {
        const int first = 'a' + bin * LETTERS, last = first + LETTERS - 1;
        printf("%c-%c %12llu ", first, last < 'z' ? last : 'z', counts[bin]);
        for (unsigned long long mark = 0; mark < counts[bin] * 50 / most; mark++)
            putchar('#');
        putchar('\n');
    }
    free(counts);
    free(text);
    device_free(in, out, NULL);
    return finish();
}
