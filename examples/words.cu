// SPDX-License-Identifier: MIT
//
// words TEXT: the words of a text, a line each, in the order of the alphabet. Their letters are a to z, small or
// capital alike, and what is not ASCII. Try README.md; `| uniq -c | sort -nr | head` shows the most frequent ones.
//
// A radix sort has no order of words, which are of any length: these are sorted by comparisons.

#include "device.h"
#include "text.h"
#include <ctype.h>

typedef const unsigned char *word; // where it begins, in device memory; behind it is a 0

static inline __device__ bool comes_before(word a, word b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a < *b;
}

#define COARSEN_NAME by_letters
#define COARSEN_TYPE word
#define COARSEN_LESS comes_before
#include <coarsen/merge_sort.h>

int main(int argc, char **argv)
{
    if (argc != 2)
        return usage("words TEXT");
    size_t size, n = 0;
    unsigned char *const text = text_read(argv[1], &size);
    for (size_t i = 0; i < size; i++)
        text[i] = text[i] >= 128 ? text[i] : isalpha(text[i]) ? (unsigned char)tolower(text[i]) : 0;
    unsigned char *const there = (unsigned char *)device_copy(text, size + 1);
    word *const words = (word *)host_alloc((size / 2 + 1) * sizeof(word)); // there are no more
    for (size_t i = 0; i < size; i++)
        if (text[i] && (i == 0 || !text[i - 1]))
            words[n++] = there + i;
    const size_t scratch_bytes = by_letters_scratch_bytes(n);
    word *const in = (word *)device_copy(words, n * sizeof(word));
    void *const scratch = device_alloc(scratch_bytes);

    CHECK(by_letters_launch(in, in, n, scratch, scratch_bytes, 0));

    word *const sorted = (word *)host_copy(in, n * sizeof(word));
    for (size_t i = 0; i < n; i++)
        puts((const char *)text + (sorted[i] - there));
    device_free(there, in, scratch, NULL);
    free(text);
    free(words);
    free(sorted);
    return finish();
}
