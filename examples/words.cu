// SPDX-License-Identifier: MIT
//
// words FILE [COUNT]: the most frequent words of a text, 10 or COUNT of them, and how often each is there. Words that are
// as frequent come in the order of the alphabet. Try README.md.
//
// A radix sort has no order of words: they are of any length, and lie anywhere in the text. coarsen/merge_sort.h sorts
// them by comparisons. Then equal words are neighbours, and coarsen/segmented/runs.h counts them. Then the counts are
// sorted, each with its word. Exit status: 0; 1 when a file or the device fails; 2 when called wrongly.

#include "device.h"

#include <stdint.h>
#include <string.h>

typedef struct {
    const unsigned char *begin, *end; // in the text, in device memory
} word;

static inline __device__ bool word_before(word a, word b)
{
    while (a.begin < a.end && b.begin < b.end && *a.begin == *b.begin)
        a.begin++, b.begin++;
    return b.begin < b.end && (a.begin == a.end || *a.begin < *b.begin);
}

static inline __device__ bool word_same(word a, word b)
{
    while (a.begin < a.end && b.begin < b.end && *a.begin == *b.begin)
        a.begin++, b.begin++;
    return a.begin == a.end && b.begin == b.end;
}

#define COARSEN_NAME       by_letters
#define COARSEN_TYPE       word
#define COARSEN_LESS(a, b) word_before(a, b)
#include <coarsen/merge_sort.h>

#define COARSEN_NAME       counts // of each run of equal words: 1 for each of them
#define COARSEN_KEY        word
#define COARSEN_SAME(a, b) word_same(a, b)
#define COARSEN_TYPE       word
#define COARSEN_ACC        unsigned int
#define COARSEN_LIFT(x, i) 1u
#include <coarsen/segmented/runs.h>

#define COARSEN_NAME       by_count // stable: of words that are as frequent, the order stays
#define COARSEN_TYPE       unsigned int
#define COARSEN_VALUE      word
#define COARSEN_LESS(a, b) ((a) > (b))
#include <coarsen/merge_sort.h>

static void *host_alloc(size_t bytes)
{
    void *const p = malloc(bytes > 0 ? bytes : 1);
    if (p)
        return p;
    fprintf(stderr, "words: no memory for %zu bytes; take a smaller file\n", bytes);
    exit(1);
}

static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    size_t room = 1 << 16, got;
    unsigned char *text = (unsigned char *)host_alloc(room);
    *size = 0;
    while (file && (got = fread(text + *size, 1, room - *size, file)) > 0) {
        *size += got;
        if (*size == room) {
            unsigned char *const more = (unsigned char *)host_alloc(2 * room);
            memcpy(more, text, room);
            free(text);
            text = more;
            room *= 2;
        }
    }
    if (!file || ferror(file)) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

// Letters as small ones, any byte of what is not ASCII as it is, and 0 for all else.
static unsigned char letter(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (c >= 'a' && c <= 'z') || c >= 128 ? c : 0;
}

// Where the words of the text begin and end, if it is at `where` in device memory; how many there are. words may be NULL.
static size_t split(const unsigned char *text, size_t size, const unsigned char *where, word *words)
{
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        size_t end = i;
        while (end < size && text[end])
            end++;
        if (end > i) {
            if (words)
                words[n] = word{where + i, where + end};
            n++;
        }
        i = end + 1;
    }
    return n;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const long long most = argc == 3 ? strtoll(argv[2], &end, 10) : 10;
    if (argc < 2 || argc > 3 || most < 1 || (end && *end)) {
        fprintf(stderr, "usage: %s FILE [COUNT]\n", argc > 0 ? argv[0] : "words");
        return 2;
    }
    size_t size;
    unsigned char *const text = read_file(argv[1], &size);
    for (size_t i = 0; i < size; i++)
        text[i] = letter(text[i]);
    const size_t n = split(text, size, NULL, NULL);
    if (n > UINT32_MAX) {
        fprintf(stderr, "%s: has more than 2^32 words; take a smaller file\n", argv[1]);
        return 1;
    }
    device_require("words");
    const unsigned char *const where = (const unsigned char *)device_copy(text, size);
    word *const words = (word *)host_alloc(n * sizeof(word));
    split(text, size, where, words);

    // One scratch for the two sorts, one after the other.
    const size_t sort_bytes = by_letters_scratch_bytes(n) > by_count_scratch_bytes(n)
                                  ? by_letters_scratch_bytes(n)
                                  : by_count_scratch_bytes(n);
    const size_t counts_bytes = counts_scratch_bytes(n);
    word *const in = (word *)device_copy(words, n * sizeof(word));
    word *const different = (word *)device_alloc(n * sizeof(word));
    unsigned int *const times = (unsigned int *)device_alloc(n * sizeof(unsigned int));
    unsigned long long *const runs = (unsigned long long *)device_alloc(sizeof(unsigned long long));
    void *const sort_scratch = device_alloc(sort_bytes);
    void *const counts_scratch = device_alloc(counts_bytes);
    CHECK(counts_scratch_init(counts_scratch, counts_bytes, 0));
    CHECK(by_letters_launch(in, in, n, sort_scratch, sort_bytes, 0));
    CHECK(counts_launch(in, in, n, different, times, runs, counts_scratch, counts_bytes, 0));
    unsigned long long count = 0;
    CHECK(cudaMemcpy(&count, runs, sizeof(count), cudaMemcpyDeviceToHost));
    CHECK(by_count_launch(times, times, different, different, count, sort_scratch, sort_bytes, 0));

    const size_t shown = (unsigned long long)most < count ? (size_t)most : (size_t)count;
    unsigned int *const top = (unsigned int *)host_alloc(shown * sizeof(unsigned int));
    if (shown > 0) {
        CHECK(cudaMemcpy(top, times, shown * sizeof(*top), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(words, different, shown * sizeof(*words), cudaMemcpyDeviceToHost));
    }
    printf("%zu words, %llu different ones\n", n, count);
    for (size_t i = 0; i < shown; i++)
        printf("%10u %.*s\n", top[i], (int)(words[i].end - words[i].begin),
               text + (words[i].begin - where));

    CHECK(cudaFree((void *)where));
    CHECK(cudaFree(in));
    CHECK(cudaFree(different));
    CHECK(cudaFree(times));
    CHECK(cudaFree(runs));
    CHECK(cudaFree(sort_scratch));
    CHECK(cudaFree(counts_scratch));
    free(text);
    free(words);
    free(top);
    if (fflush(stdout) != 0) {
        perror("words: cannot write the results");
        return 1;
    }
    return 0;
}
