// SPDX-License-Identifier: MIT
//
// ladder.h: what the demo knows of a pattern. Each pattern has a file beside this one that defines
// its ladder, and an entry in demo.cu's list.

#ifndef LADDER_H
#define LADDER_H

#include "../device.h"
#include <stdbool.h>
#include <stddef.h>

// An array of floats on the host.
typedef struct {
    const char *name;
    const float *values;
    size_t n;
    bool exact; // the sum of any part is a whole number below 2^24, so floats add it up exactly
} ladder_input;

typedef struct {
    const char *name;            // of its header
    const char *change;          // since the rung above, in 20 characters
    const char *lesson;          // what that buys and what it costs, in one or two lines of 83
    cudaError_t (*launch)(void); // on the input of the ladder's begin(), on stream 0
} ladder_rung;

#define LADDER_TEXT 16

typedef struct {
    const char *title;
    const ladder_rung *rungs;
    size_t rung_count;
    size_t (*bytes)(size_t n);           // of global memory that every rung must move
    void (*begin)(const ladder_input *); // sets up the device, and the reference to check against
    void (*reset)(void);                 // before each launch: the input as it was, no result
    bool (*result)(char text[LADDER_TEXT]); // after a launch: the result, and whether it is right
    void (*end)(void);
} ladder;

// For qsort: floats in ascending order.
static inline int ladder_compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

#endif // LADDER_H
