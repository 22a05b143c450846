// SPDX-License-Identifier: MIT
//
// What options.c asks of problem.c: to fill a tune_problem from what the user said.

#ifndef COARSEN_TUNE_PROBLEM_H
#define COARSEN_TUNE_PROBLEM_H

#include "tune.h"

// What is to be compiled and launched, as it was typed; NULL: not given.
typedef struct {
    const char *source, *reference, *kernel, *launch;
    const char *grid, *block, *shared, *args, *work, *tolerance, *flop;
    char macros[1024]; // lines that the source and the reference begin with
} tune_own;

// The names of the patterns, ending in NULL; each is a file of patterns/.
extern const char *const tune_patterns[];

// Whether each of them is well-formed, for itself. false: *message says what to write.
bool tune_own_check(const tune_own *own, char *message, size_t size);

// Makes a problem that has its data, sizes, buffers and knobs whole. false: *message says what is
// wrong or lacking.
bool tune_problem_own(tune_problem *problem, const tune_own *own, char *message, size_t size);

// Sets the type of the elements, "f32", and says what C calls it; NULL: there is no such type, and
// *message says which there are.
const char *tune_problem_type(tune_problem *problem, const char *type, char *message, size_t size);

// "float x[n]", "n=1048576" and "threads=BM / TM", or "BM % TM == 0", added to the problem. TUNE_TYPE
// is the type of the elements. A size that a file gives may be given once more.
bool tune_problem_buffer(tune_problem *problem, tune_role role, const char *text, char *message,
                         size_t size);
bool tune_problem_size(tune_problem *problem, const char *text, bool is_file, char *message,
                       size_t size);
bool tune_problem_rule(tune_problem *problem, bool is_let, const char *text, char *message,
                       size_t size);

// Prints into an array that is part of a struct. false: it does not fit.
__attribute__((format(printf, 3, 4))) bool tune_put(char *to, size_t size, const char *format, ...);
void tune_add_label(tune_problem *problem, const char *part);

// 268435456, 2^28, 256Mi, 1e6.
bool tune_number(const char *text, uint64_t *value);

// The word of the list, which ends in NULL, that text looks like; NULL: none does.
const char *tune_closest(const char *text, const char *const *words);

#endif
