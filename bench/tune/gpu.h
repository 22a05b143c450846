// SPDX-License-Identifier: MIT
//
// gpu.c as worker.c uses it: in a process of its own, for a context does not outlive an illegal
// access.

#ifndef TUNE_GPU_H
#define TUNE_GPU_H

#include "tune.h"

typedef struct gpu gpu;

// Starts the driver, and says what the device is; NULL: *message says why not.
gpu *gpu_open(tune_device *device, int *driver_version, char *message, size_t size);

// Makes the data and the reference's outputs. false: *message says why not.
bool gpu_prepare(gpu *g, const tune_problem *problem, const tune_row *reference,
                 const tune_code *code, char *message, size_t size);

// Plans, verifies and times: adds count samples, in us, or up to GPU_MORE times as many where that
// is soon done, to the *taken at samples. Sets the row's status and reason. false: this
// process is of no more use: the context is lost, or the kernel, as it was wrong, may have written
// over what others are judged by.
enum { GPU_MORE = 5 };
bool gpu_measure(gpu *g, const tune_problem *problem, tune_row *row, const tune_code *code,
                 double *samples, int count, int *taken);

#endif
