// SPDX-License-Identifier: MIT
//
// histogram [--each] FILE: how often the letters a to z come in a text file, upper and lower case
// alike, in bins of four letters or, with --each, of one; drawn as bars.
//
// coarsen/histogram.h counts them, once for each kind of bin. Exit status: 0; 1 when the file or the
// device fails; 2 when called wrongly.

#include "device.h"
#include <errno.h>
#include <getopt.h>
#include <string.h>

// Which letter of the alphabet c is, from 0; or -1, which no bin has.
static __host__ __device__ int letter(unsigned char c)
{
    const int l = (c | 0x20) - 'a'; // 0x20 makes a capital small
    return l >= 0 && l < 26 ? l : -1;
}

static __host__ __device__ int letter_of_four(unsigned char c)
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

// The bytes of a file, *size of them. Exits with a line that says what is wrong.
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
    if (!file || ferror(file)) { // a directory opens, and does not read
        fprintf(stderr, "%s: can't read it: %s\n", path, strerror(errno));
        exit(1);
    }
    fclose(file);
    return bytes;
}

// A bar as long as count, most being 50 characters, to an eighth of one.
static void print_bar(unsigned long long count, unsigned long long most)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int length = most > 0 ? (int)((double)count / (double)most * 50 * 8 + 0.5) : 0;
    for (int i = 0; i < length / 8; i++)
        fputs("█", stdout);
    printf("%s%*s", eighths[length % 8], 51 - (length + 7) / 8, "");
}

static void print_histogram(const unsigned long long *counts, int bins, int letters_a_bin)
{
    unsigned long long most = 0, all = 0;
    for (int bin = 0; bin < bins; bin++) {
        most = counts[bin] > most ? counts[bin] : most;
        all += counts[bin];
    }
    for (int bin = 0; bin < bins; bin++) {
        const int first = 'a' + bin * letters_a_bin, last = first + letters_a_bin - 1;
        if (letters_a_bin == 1)
            printf("%c    ", first);
        else
            printf("%c-%c  ", first, last < 'z' ? last : 'z');
        print_bar(counts[bin], most);
        printf("%12llu %5.1f%%\n", counts[bin],
               all > 0 ? 100 * (double)counts[bin] / (double)all : 0.0);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"each", no_argument, NULL, 'e'}, {"help", no_argument, NULL, 'h'}, {}};
    static const char usage[] = "usage: histogram [--each] FILE\n"
                                "  FILE    a text\n"
                                "  --each  a bin for each letter, not for four of them\n";
    bool each = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (option == 'e') {
            each = true;
        } else {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return 2;
    }

    size_t n;
    unsigned char *const text = read_file(argv[optind], &n);
    device_require("histogram");
    const unsigned char *const in = (const unsigned char *)device_copy(text, n);
    unsigned long long counts[26];
    const size_t bytes = (each ? 26 : 7) * sizeof(*counts);
    unsigned long long *const out = (unsigned long long *)device_alloc(bytes);
    CHECK(each ? letters_launch(in, out, n, NULL, 0, 0) : fours_launch(in, out, n, NULL, 0, 0));
    CHECK(cudaMemcpy(counts, out, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    CHECK(cudaFree((void *)in));
    free(text);

    print_histogram(counts, each ? 26 : 7, each ? 1 : 4);
    if (fflush(stdout) != 0) {
        perror("histogram: cannot write the results");
        return 1;
    }
    return 0;
}
