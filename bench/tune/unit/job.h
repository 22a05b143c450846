// SPDX-License-Identifier: MIT
//
// What the tuner asks of the program that g++ makes of a unit, in a file that the program writes
// its answer over. The program runs in the tuner's folder of its own, where the inputs are files
// too. simt.h comes first.

#ifndef TUNE_JOB_H
#define TUNE_JOB_H

#include "plan.h"

typedef struct {
    // Asked. plan.run is 0 for sizes, 1 for a plan, 2 for a run on simt.
    plan_record plan;
    int buffers;
    int read[PLAN_BUFFERS]; // filled with the file data-<buffer>-<bytes>
    int zeroed[PLAN_BUFFERS];
    int written[PLAN_BUFFERS]; // appended to the file `output`
    char output[64];

    // Answered.
    int done;
    char error[64];    // the name of plan.status
    char fault[2048];  // simt's report
    char trouble[256]; // of the program itself
    simt_counts counts[PLAN_LAUNCHES];
} tune_job;

#endif
