// SPDX-License-Identifier: MIT
//
// coarsen/block/meeting.h: a barrier of all blocks of a launch, of few blocks, which run at the same time.
//
//     #define COARSEN_NAME rounds
//     #include <coarsen/block/meeting.h>
//
//     // on the host: blocks that wait for each other must all be running
//     //     cudaLaunchConfig_t config = ...;
//     //     cudaLaunchAttribute attribute;
//     //     status = rounds_together(&config, &attribute, (const void *)kernel);
//     // in the kernel, as often as needed
//     //     const unsigned int turn = rounds_arrive(meeting);
//     //     ... what need not wait ...
//     //     rounds_wait(meeting, turn);
//     //     ... what all blocks wrote before they arrived can be read ...
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// Defines
//     cudaError_t NAME_together(cudaLaunchConfig_t *config, cudaLaunchAttribute *attribute, const void *kernel)
//     unsigned int NAME_arrive(unsigned int *meeting)                 for all threads of all blocks, and after it
//     void NAME_wait(unsigned int *meeting, unsigned int turn)        for the same, with what the thread got
// NAME_together gives a configuration of at most COARSEN_MEETING = 16 blocks, in one dimension, its one attribute: a cluster
// if the device has room for one of so many blocks, else a cooperative launch. The attribute must live until the launch.
// Shared memory of more than 48 KiB must have been asked for before. meeting: a word in device memory, 0 before the first
// launch; each launch leaves it ready for the next. If it was not 0, the launch ends with an error (__trap), unless the
// number is small, or the blocks are a cluster, which does not use it.
// Cost: in a cluster a barrier of the hardware, else two block barriers, two fences and an atomic per block.
// Source: the PTX ISA, "barrier.cluster"; the CUDA C++ Programming Guide, "Memory Fence Functions".

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"
#ifndef COARSEN_MADE_MEETING
#define COARSEN_MADE_MEETING

#define COARSEN_MEETING 16

// Whether all blocks of the launch are one cluster.
COARSEN_DEVICE bool COARSEN_(in_cluster)(void)
{
    unsigned int blocks = 0;
#if COARSEN_PTX >= 900
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
#endif
    return blocks == gridDim.x;
}

// A word has how many blocks have arrived, and in its upper half how many times all of them have.
// Arriving at the barrier of a cluster releases and waiting acquires without saying so, which CUDA 11.8 does not take.
COARSEN_DEVICE unsigned int COARSEN_(arrive)(unsigned int *meeting)
{
    unsigned int before = 0;
#if COARSEN_PTX >= 900
    if (COARSEN_(in_cluster)()) {
        asm volatile("barrier.cluster.arrive;" ::: "memory");
        return 0;
    }
#endif
    __syncthreads(); // the block's writes, before the fence that publishes them
    if (threadIdx.x == 0) {
        __threadfence();
        before = atomicAdd(meeting, 1);
        if (before % 0x10000 >= gridDim.x)
            __trap(); // the word was not made ready
        if (before % 0x10000 == gridDim.x - 1)
            atomicAdd(meeting, 0x10000 - gridDim.x);
    }
    return before / 0x10000;
}

COARSEN_DEVICE void COARSEN_(wait)(unsigned int *meeting, unsigned int turn)
{
#if COARSEN_PTX >= 900
    if (COARSEN_(in_cluster)()) {
        asm volatile("barrier.cluster.wait;" ::: "memory");
        __syncthreads(); // for tools that do not know the barrier of a cluster
        return;
    }
#endif
    if (threadIdx.x == 0) {
        while (*(volatile unsigned int *)meeting / 0x10000 == turn) {
        }
        __threadfence();
    }
    __syncthreads();
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(together)(cudaLaunchConfig_t *config,
                                            cudaLaunchAttribute *attribute, const void *kernel)
{
    cudaError_t status;
    cudaFuncAttributes code = {};
    int clusters = 0;
    config->attrs = attribute;
    config->numAttrs = 1;
    if (coarsen_attribute(cudaDevAttrClusterLaunch, &status) != 0)
        status = cudaFuncGetAttributes(&code, kernel);
    if (code.ptxVersion >= 90) {
        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim.x = config->gridDim.x;
        attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
        if (config->gridDim.x > 8) // more than each device with clusters has
            status =
                cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
        if (status == cudaSuccess)
            status = cudaOccupancyMaxActiveClusters(&clusters, kernel, config);
    }
    if (clusters == 0) {
        attribute->id = cudaLaunchAttributeCooperative;
        attribute->val.cooperative = 1;
    }
    return status;
}
#endif
#endif

#define COARSEN_END
#include "../base.h"
