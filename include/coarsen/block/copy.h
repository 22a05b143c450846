// SPDX-License-Identifier: MIT
//
// coarsen/block/copy.h: asynchronous copies from global to shared memory, not through registers.
//
//     #define COARSEN_NAME tile
//     #include <coarsen/block/copy.h>
//
//     // in a kernel, for a tile that is used while the next one is copied:
//     //     tile_copy_async(&shared[next][t], &in[i], 4);
//     //     tile_copies_end();
//     //     tile_copies_wait(1);    // for all groups except the last one
//     //     __syncthreads();        // and those of the other threads
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// Defines, for the device,
//     void NAME_copy_async(void *to, const void *from, unsigned int bytes)
//     void NAME_copy_or_zero_async(void *to, const void *from, unsigned int bytes, bool there)
//     void NAME_copies_end(void)                 closes a group of copies
//     void NAME_copies_wait(unsigned int few)    waits until at most so many of the calling thread's
//                                                groups, the last ones, are not done; 0 to 7, a constant
// to is in shared memory, from in global memory, both aligned to bytes: 4, 8 or 16 for
// NAME_copy_async, 4 or 8 for NAME_copy_or_zero_async, which writes zeros and reads nothing if the
// element is not there. Until the wait, what is at to is unknown. Below compute capability 8.0 the
// copy is done at once.
// Source: PTX ISA, cp.async.

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"
#ifndef COARSEN_MADE_COPY
#define COARSEN_MADE_COPY

typedef struct __attribute__((aligned(4), may_alias)) {
    unsigned int word[1];
} COARSEN_(words_1);
typedef struct __attribute__((aligned(8), may_alias)) {
    unsigned int word[2];
} COARSEN_(words_2);
typedef struct __attribute__((aligned(16), may_alias)) {
    unsigned int word[4];
} COARSEN_(words_4);

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

COARSEN_DEVICE void COARSEN_(copy_async)(void *to, const void *from, unsigned int bytes)
{
    const unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from)
                     : "memory");
    else if (bytes == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared), "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from)
                     : "memory");
}

COARSEN_DEVICE void COARSEN_(copy_or_zero_async)(void *to, const void *from, unsigned int bytes,
                                                 bool there)
{
    const unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);
    const unsigned int read = there ? bytes : 0;
    if (bytes == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared), "l"(from),
                     "r"(read)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(from),
                     "r"(read)
                     : "memory");
}

COARSEN_DEVICE void COARSEN_(copies_end)(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

COARSEN_DEVICE __attribute__((always_inline)) void COARSEN_(copies_wait)(unsigned int few)
{
    switch (few) { // the instruction takes a constant
    case 0:
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        break;
    case 1:
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        break;
    case 2:
        asm volatile("cp.async.wait_group 2;" ::: "memory");
        break;
    case 3:
        asm volatile("cp.async.wait_group 3;" ::: "memory");
        break;
    case 4:
        asm volatile("cp.async.wait_group 4;" ::: "memory");
        break;
    case 5:
        asm volatile("cp.async.wait_group 5;" ::: "memory");
        break;
    case 6:
        asm volatile("cp.async.wait_group 6;" ::: "memory");
        break;
    default:
        asm volatile("cp.async.wait_group 7;" ::: "memory");
        break;
    }
}

#else

COARSEN_DEVICE void COARSEN_(copy_async)(void *to, const void *from, unsigned int bytes)
{
    if (bytes == 16)
        *(COARSEN_(words_4) *)to = *(const COARSEN_(words_4) *)from;
    else if (bytes == 8)
        *(COARSEN_(words_2) *)to = *(const COARSEN_(words_2) *)from;
    else
        *(COARSEN_(words_1) *)to = *(const COARSEN_(words_1) *)from;
}

COARSEN_DEVICE void COARSEN_(copy_or_zero_async)(void *to, const void *from, unsigned int bytes,
                                                 bool there)
{
    const COARSEN_(words_2) zeros = {};
    COARSEN_(copy_async)(to, there ? from : &zeros, bytes);
}

COARSEN_DEVICE void COARSEN_(copies_end)(void)
{
}

COARSEN_DEVICE void COARSEN_(copies_wait)(COARSEN_UNUSED unsigned int few)
{
}
#endif
#endif

#define COARSEN_END
#include "../base.h"
