// SPDX-License-Identifier: MIT
//
// Asynchronous copies from global to shared memory. The bytes arrive when the thread waits for
// them, and not before. A kernel that reads too early reads what was there before.

#ifndef SIMT_CUDA_PIPELINE_PRIMITIVES_H
#define SIMT_CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"

#endif
