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
//     void NAME_copy_line_async(void *to, const void *from)   16 bytes, and the rest of their 128 begins to come to the
//                                                L2 cache, for others that read it soon
//     void NAME_copy_part_async(void *to, const void *from, unsigned int bytes, unsigned int there)
//     void NAME_copy_near_async(void *to, const void *from, unsigned int there)   the same, of 16 bytes, by way of the
//                                                L1 cache, for what many blocks read
//     void NAME_copies_end(void)                 closes a group of copies
//     void NAME_copies_wait(unsigned int few)    waits until at most so many of the calling thread's
//                                                groups, the last ones, are not done; 0 to 7, a constant
//     void NAME_prefetch(const void *from)       begins to bring what is there near, to the L2 cache
// to is in shared memory, from in global memory, both aligned to bytes: 4, 8 or 16. Of them
// NAME_copy_part_async reads the first `there`, a multiple of 2, and writes zeros for the others; if
// none is there, from may point anywhere. Until the wait, what is at to is unknown. Below compute
// capability 8.0 the copy is done at once.
// Source: PTX ISA, cp.async.

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"
#ifndef COARSEN_MADE_COPY
#define COARSEN_MADE_COPY

typedef struct COARSEN_ALIGNED(2) COARSEN_MAY_ALIAS {
    unsigned short word;
} COARSEN_(words_half);
typedef struct COARSEN_ALIGNED(4) COARSEN_MAY_ALIAS {
    unsigned int word[1];
} COARSEN_(words_1);
typedef struct COARSEN_ALIGNED(8) COARSEN_MAY_ALIAS {
    unsigned int word[2];
} COARSEN_(words_2);
typedef struct COARSEN_ALIGNED(16) COARSEN_MAY_ALIAS {
    unsigned int word[4];
} COARSEN_(words_4);

COARSEN_DEVICE void COARSEN_(prefetch)(COARSEN_UNUSED const void *from)
{
#if COARSEN_PTX
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

#if COARSEN_PTX >= 800

#define COARSEN_COPY(how, bytes, ...)                                                              \
    asm volatile("cp.async." how " [%0], [%1], " bytes                                             \
                 ";" ::"r"((unsigned int)__cvta_generic_to_shared(to)),                            \
                 __VA_ARGS__                                                                       \
                 : "memory")
COARSEN_DEVICE void COARSEN_(copy_async)(void *to, const void *from, unsigned int bytes)
{
    if (bytes == 16)
        COARSEN_COPY("cg.shared.global", "16", "l"(from));
    else if (bytes == 8)
        COARSEN_COPY("ca.shared.global", "8", "l"(from));
    else
        COARSEN_COPY("ca.shared.global", "4", "l"(from));
}

COARSEN_DEVICE void COARSEN_(copy_line_async)(void *to, const void *from)
{
    COARSEN_COPY("cg.shared.global.L2::128B", "16", "l"(from));
}

COARSEN_DEVICE void COARSEN_(copy_part_async)(void *to, const void *from, unsigned int bytes,
                                              unsigned int there)
{
    if (bytes == 16)
        COARSEN_COPY("cg.shared.global", "16, %2", "l"(from), "r"(there));
    else if (bytes == 8)
        COARSEN_COPY("ca.shared.global", "8, %2", "l"(from), "r"(there));
    else
        COARSEN_COPY("ca.shared.global", "4, %2", "l"(from), "r"(there));
}

COARSEN_DEVICE void COARSEN_(copy_near_async)(void *to, const void *from, unsigned int there)
{
    COARSEN_COPY("ca.shared.global", "16, %2", "l"(from), "r"(there));
}
#undef COARSEN_COPY

COARSEN_DEVICE void COARSEN_(copies_end)(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

#define COARSEN_WAIT(groups)                                                                       \
    case groups:                                                                                   \
        asm volatile("cp.async.wait_group " #groups ";" ::: "memory");                             \
        break;
COARSEN_INLINE void COARSEN_(copies_wait)(unsigned int few)
{
    switch (few < 7 ? few : 7) { // the instruction takes a constant
        COARSEN_WAIT(0)
        COARSEN_WAIT(1)
        COARSEN_WAIT(2)
        COARSEN_WAIT(3)
        COARSEN_WAIT(4)
        COARSEN_WAIT(5)
        COARSEN_WAIT(6)
        COARSEN_WAIT(7)
    }
}
#undef COARSEN_WAIT

#else
#if defined(__NVCC__) || defined(__CUDACC_RTC__) || defined(__clang__)
#define COARSEN_PIPELINE(call)
#else // a device that is not a GPU has these from the start
#define COARSEN_PIPELINE(call) return __pipeline_##call
#endif

COARSEN_DEVICE void COARSEN_(copy_async)(void *to, const void *from, unsigned int bytes)
{
    COARSEN_PIPELINE(memcpy_async(to, from, bytes));
    if (bytes == 16)
        *(COARSEN_(words_4) *)to = *(const COARSEN_(words_4) *)from;
    else if (bytes == 8)
        *(COARSEN_(words_2) *)to = *(const COARSEN_(words_2) *)from;
    else
        *(COARSEN_(words_1) *)to = *(const COARSEN_(words_1) *)from;
}

COARSEN_DEVICE void COARSEN_(copy_line_async)(void *to, const void *from)
{
    COARSEN_(copy_async)(to, from, 16);
}

COARSEN_DEVICE void COARSEN_(copy_part_async)(void *to, const void *from, unsigned int bytes,
                                              unsigned int there)
{
    COARSEN_PIPELINE(memcpy_async(to, from, bytes, bytes - there));
    for (unsigned int w = 0; w < bytes / 4; w++)
        ((COARSEN_(words_1) *)to)[w].word[0] =
            4 * w + 4 <= there   ? ((const COARSEN_(words_1) *)from)[w].word[0]
            : 4 * w + 2 == there ? ((const COARSEN_(words_half) *)from)[2 * w].word
                                 : 0;
}

COARSEN_DEVICE void COARSEN_(copy_near_async)(void *to, const void *from, unsigned int there)
{
    COARSEN_(copy_part_async)(to, from, 16, there);
}

COARSEN_DEVICE void COARSEN_(copies_end)(void)
{
    COARSEN_PIPELINE(commit());
}

COARSEN_DEVICE void COARSEN_(copies_wait)(COARSEN_UNUSED unsigned int few)
{
    COARSEN_PIPELINE(wait_prior(few));
}
#undef COARSEN_PIPELINE
#endif
#endif

#define COARSEN_END
#include "../base.h"
