// SPDX-License-Identifier: MIT
//
// What options.c asks of problem.c: to fill a tune_problem from what the user said.

#ifndef COARSEN_TUNE_PROBLEM_H
#define COARSEN_TUNE_PROBLEM_H

#include "tune.h"

// One of coarsen's patterns. What the user left out is NULL or 0.
typedef struct {
    const char *type, *op;
    uint64_t n, rows, cols, inner, bins;
    int inputs;
} tune_shipped;

// A kernel of the user's own, as it was typed; NULL: not given.
typedef struct {
    const char *source, *reference, *kernel, *launch;
    const char *grid, *block, *shared, *args, *work;
} tune_own;

// The names of the patterns, ending in NULL.
extern const char *const tune_patterns[];

// false: *message says what is wrong with the request. problem->data and data_file are set before;
// a shipped pattern sets the rest, a kernel of the user's needs sizes, buffers and knobs there too.
bool tune_problem_shipped(tune_problem *problem, const char *pattern, const tune_shipped *shipped,
                          char *message, size_t size);
bool tune_problem_own(tune_problem *problem, const tune_own *own, char *message, size_t size);

// "float x[n]" and "n=1048576", added to the problem.
bool tune_problem_buffer(tune_problem *problem, tune_role role, const char *text, char *message,
                         size_t size);
bool tune_problem_size(tune_problem *problem, const char *text, char *message, size_t size);

// 268435456, 2^28, 256Mi, 1e6.
bool tune_number(const char *text, uint64_t *value);

// The word of the list, which ends in NULL, that text looks like; NULL: none does.
const char *tune_closest(const char *text, const char *const *words);

#endif
