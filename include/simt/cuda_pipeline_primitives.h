// SPDX-License-Identifier: MIT
//
// Asynchronous copies from global to shared memory. The bytes arrive when the thread waits for
// them, and not before. A kernel that reads too early reads what was there before.

#ifndef SIMT_CUDA_PIPELINE_PRIMITIVES_H
#define SIMT_CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"

extern "C" {
void simt_copy_async(void *shared, const void *global, size_t bytes, size_t zeros);
void simt_copy_commit(void);
void simt_copy_wait(unsigned pending);
}

// Copies 4, 8 or 16 bytes; the last `zeros` of them become zero.
SIMT_INLINE void __pipeline_memcpy_async(void *shared, const void *global, size_t bytes,
                                         size_t zeros = 0)
{
    simt_copy_async(shared, global, bytes, zeros), SIMT_STAY;
}
SIMT_INLINE void __pipeline_commit()
{
    simt_copy_commit(), SIMT_STAY;
}
// Waits until all groups except the last `pending` ones have arrived.
SIMT_INLINE void __pipeline_wait_prior(unsigned pending)
{
    simt_copy_wait(pending), SIMT_STAY;
}

#endif
