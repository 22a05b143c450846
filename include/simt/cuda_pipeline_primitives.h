// SPDX-License-Identifier: MIT
//
// Asynchronous copies from global to shared memory. The bytes arrive when the thread waits for
// them, and not before: a kernel that reads too early reads what was there.

#ifndef SIMT_CUDA_PIPELINE_PRIMITIVES_H
#define SIMT_CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"

extern "C" {
void simt_copy_async(void *shared, const void *global, size_t bytes, size_t zeros);
void simt_copy_commit(void);
void simt_copy_wait(unsigned pending);
}

// 4, 8 or 16 bytes, of which the last `zeros` are zero instead.
SIMT_INLINE void __pipeline_memcpy_async(void *shared, const void *global, size_t bytes,
                                         size_t zeros = 0)
{
    simt_copy_async(shared, global, bytes, zeros);
}
SIMT_INLINE void __pipeline_commit()
{
    simt_copy_commit();
}
// Waits until all but the last `pending` groups have arrived.
SIMT_INLINE void __pipeline_wait_prior(unsigned pending)
{
    simt_copy_wait(pending);
}

#endif
