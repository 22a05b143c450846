// SPDX-License-Identifier: MIT
//
// coarsen/block/overlap.h: a kernel that is launched while the one before it in the stream still runs, so that its
// blocks are in place when that ends.
//
//     #define COARSEN_NAME turn
//     #include <coarsen/block/overlap.h>
//
//     // on the host
//     //     cudaLaunchConfig_t config = ...;
//     //     cudaLaunchAttribute attribute;
//     //     status = turn_overlap(&config, &attribute, (const void *)kernel);
//     // in the kernel
//     //     turn_follow();      before it touches what other kernels read or write
//     //     turn_let_next();    optional
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// Defines
//     cudaError_t NAME_overlap(cudaLaunchConfig_t *config, cudaLaunchAttribute *attribute, const void *kernel)
//     void NAME_follow(void)
//     void NAME_let_next(void)
// NAME_overlap gives a configuration the attribute by which the kernel may be launched early, where the device and the
// kernel's code know that (sm_90 and later); elsewhere it changes nothing. The attribute must live until the launch.
// NAME_follow waits until all that was launched before has ended. All threads of the kernel call it.
// By NAME_let_next each block says that the next kernel's blocks may come, as soon as all say so and there is room; without
// it they come when all blocks of this one have ended. They may fill some multiprocessors and leave others empty, so
// it pays only in kernels of many more blocks than run at a time.
// Price saved: the time from the end of a kernel until the next one's first instruction.
// Source: the CUDA C++ Programming Guide, "Programmatic Dependent Launch".

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"
#ifndef COARSEN_MADE_OVERLAP
#define COARSEN_MADE_OVERLAP

COARSEN_DEVICE void COARSEN_(follow)(void)
{
#if COARSEN_PTX >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

COARSEN_DEVICE void COARSEN_(let_next)(void)
{
#if COARSEN_PTX >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(overlap)(cudaLaunchConfig_t *config,
                                           cudaLaunchAttribute *attribute, const void *kernel)
{
    cudaFuncAttributes code = {};
    const cudaError_t status = cudaFuncGetAttributes(&code, kernel);
    if (status != cudaSuccess || code.ptxVersion < 90)
        return status;
    attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute->val.programmaticStreamSerializationAllowed = 1;
    config->attrs = attribute;
    config->numAttrs = 1;
    return status;
}
#endif
#endif

#define COARSEN_END
#include "../base.h"
