// SPDX-License-Identifier: MIT
//
// histogram [--each] TEXT: how often the letters a to z occur in a text file, in bins of four letters
// or, with --each, of one. Upper and lower case count as the same letter. Draws bars.
// histogram --tones PICTURE: how often the tones of gray occur in a picture (PNG, JPEG, ...), in 16
// bins from black to white. Try examples/data/astronaut.jpg.
//
// coarsen/histogram.h counts; it is included once for each kind of bin. Exit status: 0; 1 when the
// file or the device fails; 2 when called wrongly.

#include "device.h"
#include "picture.h"
#include <errno.h>
#include <getopt.h>
#include <string.h>

// The place of c in the alphabet, from 0; or -1, which has no bin.
static inline __host__ __device__ int letter(unsigned char c)
{
    const int l = (c | 0x20) - 'a'; // 0x20 turns a capital into a small letter
    return l >= 0 && l < 26 ? l : -1;
}

static inline __host__ __device__ int letter_of_four(unsigned char c)
{
    return letter(c) < 0 ? -1 : letter(c) / 4;
}

#define COARSEN_NAME  letters
#define COARSEN_TYPE  unsigned char
#define NUM_BINS      26
#define COARSEN_BIN   letter
#define COARSEN_COUNT unsigned long long
#include <coarsen/histogram.h>

#define COARSEN_NAME  fours
#define COARSEN_TYPE  unsigned char
#define NUM_BINS      7
#define COARSEN_BIN   letter_of_four
#define COARSEN_COUNT unsigned long long
#include <coarsen/histogram.h>

#define COARSEN_NAME   tones
#define COARSEN_TYPE   unsigned char
#define NUM_BINS       16
#define COARSEN_BIN(x) ((x) / 16)
#define COARSEN_COUNT  unsigned long long
#include <coarsen/histogram.h>

#define COARSEN_NAME gray
#include <coarsen/image.h>

// The bytes of a file; *size is their number. On an error, says what is wrong and exits.
static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    size_t room = 0;
    *size = 0;
    while (file) {
        if (*size == room) {
            room = room == 0 ? 1 << 16 : 2 * room;
            unsigned char *more = (unsigned char *)realloc(bytes, room);
            if (!more) {
                fprintf(stderr, "%s: no memory for more than %zu bytes of it\n", path, *size);
                exit(1);
            }
            bytes = more;
        }
        const size_t got = fread(bytes + *size, 1, room - *size, file);
        if (got == 0)
            break;
        *size += got;
    }
    if (!file || ferror(file)) { // a directory can be opened, but not read
        fprintf(stderr, "%s: can't read it: %s\n", path, strerror(errno));
        exit(1);
    }
    fclose(file);
    return bytes;
}

// A bar in proportion to count, precise to an eighth of a character; most takes 50 characters.
static void print_bar(unsigned long long count, unsigned long long most)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int length = most > 0 ? (int)((double)count / (double)most * 50 * 8 + 0.5) : 0;
    for (int i = 0; i < length / 8; i++)
        fputs("█", stdout);
    printf("%s%*s", eighths[length % 8], 51 - (length + 7) / 8, "");
}

// label(bin, text) writes the name of a bin.
static void print_histogram(const unsigned long long *counts, int bins,
                            void (*label)(int bin, char text[16]))
{
    unsigned long long most = 0, all = 0;
    for (int bin = 0; bin < bins; bin++) {
        most = counts[bin] > most ? counts[bin] : most;
        all += counts[bin];
    }
    for (int bin = 0; bin < bins; bin++) {
        char text[16];
        label(bin, text);
        printf("%-7s  ", text);
        print_bar(counts[bin], most);
        printf("%12llu %5.1f%%\n", counts[bin],
               all > 0 ? 100 * (double)counts[bin] / (double)all : 0.0);
    }
}

static void label_letter(int bin, char text[16])
{
    snprintf(text, 16, "%c", 'a' + bin);
}

static void label_four(int bin, char text[16])
{
    snprintf(text, 16, "%c-%c", 'a' + bin * 4, bin == 6 ? 'z' : 'a' + bin * 4 + 3);
}

static void label_tone(int bin, char text[16])
{
    snprintf(text, 16, "%d-%d", bin * 16, bin * 16 + 15);
}

// The kinds of bins: what is counted, and the names of the bins.
typedef struct {
    int bins;
    cudaError_t (*launch)(const unsigned char *, unsigned long long *, size_t, cudaStream_t);
    void (*label)(int bin, char text[16]);
} kind;

static const kind by_four = {7, fours_launch, label_four};
static const kind by_letter = {26, letters_launch, label_letter};
static const kind by_tone = {16, tones_launch, label_tone};

// A text's bytes, or a picture's tones, in device memory.
static unsigned char *read_input(const char *path, bool is_picture, size_t *n)
{
    if (!is_picture) {
        unsigned char *const text = read_file(path, n);
        unsigned char *const in = (unsigned char *)device_copy(text, *n);
        free(text);
        return in;
    }
    const picture p = picture_read(path);
    *n = p.width * p.height;
    unsigned char *const rgb = (unsigned char *)device_copy(p.rgb, 3 * *n);
    unsigned char *const in = (unsigned char *)device_alloc(*n);
    CHECK(gray_launch(rgb, 3 * p.width, in, p.width, p.width, p.height, 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(rgb));
    picture_free(p);
    return in;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"each", no_argument, NULL, 'e'},
                                            {"tones", no_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {}};
    static const char usage[] = "usage: histogram [--each] TEXT\n"
                                "       histogram --tones PICTURE\n"
                                "  --each   a bin for each letter, not for four of them\n"
                                "  --tones  the tones of a picture, not letters\n";
    kind k = by_four;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (option == 'e' || option == 't') {
            k = option == 'e' ? by_letter : by_tone;
        } else {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return 2;
    }

    device_require("histogram");
    size_t n;
    unsigned char *const in = read_input(argv[optind], k.launch == tones_launch, &n);
    unsigned long long counts[26];
    const size_t bytes = (size_t)k.bins * sizeof(*counts);
    unsigned long long *const out = (unsigned long long *)device_alloc(bytes);
    CHECK(k.launch(in, out, n, 0));
    CHECK(cudaMemcpy(counts, out, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    CHECK(cudaFree(in));

    print_histogram(counts, k.bins, k.label);
    if (fflush(stdout) != 0) {
        perror("histogram: cannot write the results");
        return 1;
    }
    return 0;
}
