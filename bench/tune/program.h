// SPDX-License-Identifier: MIT
//
// Programs that g++ makes of units, for simt: count.c's. They are made and run in a folder of their
// own, with all that they read and write, which is removed at the end.

#ifndef TUNE_PROGRAM_H
#define TUNE_PROGRAM_H

#include "tune.h"

enum { PROGRAM_PATH = 4096 + 64 };

// A new folder, in place of an older one, with what all programs have in common: simt, and what
// every unit begins with, compiled. false: *why says why not; empty when it was stopped.
bool program_begin(const volatile int *stop, char *why, size_t size);
void program_end(void); // removes it

// Of a file in the folder.
__attribute__((format(printf, 2, 3))) void program_path(char to[PROGRAM_PATH], const char *format,
                                                        ...);

// The whole file, with a 0 after it: malloc'd.
char *program_read(const char *path, size_t *bytes);
bool program_write(const char *path, const void *data, size_t bytes);

// Makes `name` of a unit, which is a file of the folder, at the setting (NULL: without knobs).
// false: *why is the compiler's first error; empty when it was stopped.
bool program_build(const tune_problem *problem, const char *unit, const tune_setting *setting,
                   const char *name, const volatile int *stop, char *why, size_t size);

// Runs words[0] in the folder (in_folder) or here. What it says on stderr goes to the file `log`.
// *code: its exit status, the signal that ended it, or errno.
typedef enum {
    PROGRAM_ENDED,
    PROGRAM_DIED,
    PROGRAM_TOO_LONG, // than so many seconds
    PROGRAM_STOPPED,
    PROGRAM_NOT_STARTED
} program_ending;
program_ending program_run(char *const *words, bool in_folder, const char *log, double limit,
                           const volatile int *stop, int *code);

// The line of a log that names an error, else the first.
void program_error(const char *log, char *to, size_t size);

#endif
