// SPDX-License-Identifier: MIT
//
// coarsen/base.h: what every coarsen header needs. It is the only other file a rung asks for.
//
//   version        COARSEN_VERSION, as major * 10000 + minor * 100 + patch
//   definitions    COARSEN_KERNEL, COARSEN_DEVICE, COARSEN_HOST_DEVICE, COARSEN_HOST
//   lists          COARSEN_JOIN, COARSEN_FIRST_1 to _3, COARSEN_CALL
//   arithmetic     coarsen_ceil_div, coarsen_min
//   operators      COARSEN_SUM, COARSEN_MIN, COARSEN_MAX and their identities
//   vectors        COARSEN_VECTOR_ITEMS, COARSEN_VECTOR_ALIGN
//   blocks         coarsen_last_block, coarsen_lock, coarsen_unlock; coarsen_shared, a block's dynamic
//                  shared memory
//   host           coarsen_launch_config, coarsen_multiprocessors, coarsen_shared_limit,
//                  coarsen_resident_blocks, coarsen_array_ok, coarsen_matrix_ok
//
// At each inclusion it looks at the knobs that the next header may take: an expression needs its
// parentheses.
//
// The headers are C as CUDA has it. They go through nvcc, and through NVRTC with the host part left
// out. Nothing here allocates, prints or exits.

#ifndef COARSEN_BASE_H
#define COARSEN_BASE_H

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

// ---- Version ------------------------------------------------------------------------------------

#define COARSEN_VERSION_MAJOR 0
#define COARSEN_VERSION_MINOR 1
#define COARSEN_VERSION_PATCH 0
#define COARSEN_VERSION                                                                            \
    (COARSEN_VERSION_MAJOR * 10000 + COARSEN_VERSION_MINOR * 100 + COARSEN_VERSION_PATCH)

// ---- Definitions --------------------------------------------------------------------------------

// Everything is static, so that two files of one program may include the same thing, and may go
// unused without a warning.
#define COARSEN_UNUSED           __attribute__((unused))
#define COARSEN_KERNEL           COARSEN_UNUSED static __global__
#define COARSEN_DEVICE           COARSEN_UNUSED static inline __device__
#define COARSEN_HOST_DEVICE      COARSEN_UNUSED static inline __host__ __device__
#define COARSEN_HOST             COARSEN_UNUSED static inline

// COARSEN_JOIN(sum, _kernel) is sum_kernel, its arguments expanded first.
#define COARSEN_JOIN(a, b)       COARSEN_JOIN_(a, b)
#define COARSEN_JOIN_(a, b)      a##b

// For what takes one to three inputs: the first so many of three items, as a list, and a macro called
// with a list that another macro makes.
#define COARSEN_FIRST_1(a, b, c) a
#define COARSEN_FIRST_2(a, b, c) a, b
#define COARSEN_FIRST_3(a, b, c) a, b, c
#define COARSEN_CALL(macro, ...) macro(__VA_ARGS__)

// ---- Arithmetic ---------------------------------------------------------------------------------

// a / b rounded up, for any a and b > 0: a + b - 1 would overflow near the top.
COARSEN_HOST_DEVICE size_t coarsen_ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

COARSEN_HOST_DEVICE size_t coarsen_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

// ---- Operators ----------------------------------------------------------------------------------

// Associative and commutative operators on numbers, to give as COARSEN_OP, and their identities.
// COARSEN_MIN and COARSEN_MAX return NaN when either side is one, in whichever order they meet.
// Their arguments are evaluated more than once; coarsen passes variables.
#define COARSEN_SUM(a, b) ((a) + (b))
#define COARSEN_MIN(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define COARSEN_MAX(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))

// The greatest and least value of an integer or floating-point type (infinity where it has one):
// the identities of COARSEN_MIN and COARSEN_MAX. Constant expressions.
#define COARSEN_INFINITY  __builtin_bit_cast(double, 0x7ff0000000000000ULL) // NVRTC has no huge_val
#define COARSEN_GREATEST(type)                                                                     \
    ((type)0.5 != (type)0 ? (type)COARSEN_INFINITY                                                 \
     : (type)-1 > (type)0 ? (type)-1                                                               \
                          : (type)((1ULL << (8 * sizeof(type) - 1)) - 1))
#define COARSEN_LEAST(type)                                                                        \
    ((type)0.5 != (type)0 ? (type)-COARSEN_INFINITY                                                \
     : (type)-1 > (type)0 ? (type)0                                                                \
                          : (type)(-(long long)((1ULL << (8 * sizeof(type) - 1)) - 1) - 1))

// ---- Vectors ------------------------------------------------------------------------------------

// What a thread moves at once: 16 bytes of elements, or one element where 16 is no multiple of it.
#define COARSEN_VECTOR_ITEMS(type) (16 % sizeof(type) == 0 ? 16 / sizeof(type) : 1)
#define COARSEN_VECTOR_ALIGN(type) (16 % sizeof(type) == 0 ? 16 : __alignof__(type))

// ---- Shared memory ------------------------------------------------------------------------------

// The dynamic shared memory of a block, in every kernel here that has some. It has one name, so that a
// device that must be told where it is can be told once.
extern __shared__ uint4 coarsen_shared[];

// ---- Blocks that work together ------------------------------------------------------------------

// An ordinary launch promises no order of blocks and no barrier across them. Two things are safe:
// a lock, and letting the last block to finish do the rest.

// True in every thread of exactly one block of the grid: the last to arrive. It then sees all that
// every thread of every block wrote before arriving. All threads of all blocks call it, once a
// launch for each counter. *arrived is 0 before the launch and 0 again after it.
// Cost: two barriers, and a fence and an atomic a block. Source: the CUDA C++ Programming Guide,
// "Memory Fence Functions".
COARSEN_DEVICE bool coarsen_last_block(unsigned int *arrived)
{
    __shared__ bool last;
    const unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;

    __syncthreads(); // the block's writes, before the fence that publishes them
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        __threadfence();
        last = atomicInc(arrived, blocks - 1) == blocks - 1; // wraps to 0 for the next launch
        __threadfence();
    }
    __syncthreads();
    return last;
}

// A lock in global memory: *lock is 0 when free. What its holder wrote is visible to the next one.
// One thread a block takes it, as lanes of one warp that contend may wait for each other forever.
COARSEN_DEVICE void coarsen_lock(unsigned int *lock)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
}

COARSEN_DEVICE void coarsen_unlock(unsigned int *lock)
{
    __threadfence();
    atomicExch(lock, 0);
}

// ---- Host ---------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__

// What cudaLaunchKernelEx takes, for a one-dimensional grid.
COARSEN_HOST cudaLaunchConfig_t coarsen_launch_config(size_t blocks, unsigned int threads,
                                                      size_t shared_bytes, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned int)blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    return config;
}

// The number of multiprocessors of the current device, or 0 with the error in *status.
COARSEN_HOST size_t coarsen_multiprocessors(cudaError_t *status)
{
    int device = 0, count = 0;
    *status = cudaGetDevice(&device);
    if (*status == cudaSuccess)
        *status = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return *status == cudaSuccess ? (size_t)count : 0;
}

// The most bytes of dynamic shared memory that a block of the current device may have, or 0 with the
// error in *status.
COARSEN_HOST size_t coarsen_shared_limit(cudaError_t *status)
{
    int device = 0, bytes = 0;
    *status = cudaGetDevice(&device);
    if (*status == cudaSuccess)
        *status = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return *status == cudaSuccess ? (size_t)bytes : 0;
}

// Lets the kernel have so many bytes of dynamic shared memory, up to coarsen_shared_limit(), and
// says how many blocks of it the current device holds at once, or 0 with the error in *status.
COARSEN_HOST size_t coarsen_resident_blocks(const void *kernel, unsigned int threads,
                                            size_t shared_bytes, cudaError_t *status)
{
    int blocks = 0;
    const size_t processors = coarsen_multiprocessors(status);
    if (*status == cudaSuccess && shared_bytes > 48 << 10) // more has to be asked for
        *status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       (int)shared_bytes);
    if (*status == cudaSuccess)
        *status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)threads,
                                                                shared_bytes);
    return *status == cudaSuccess ? processors * (size_t)blocks : 0;
}

// Whether pointer may hold n elements of so many bytes, more than 0, at that alignment: not null
// unless n is 0, aligned, and neither the size nor the end address overflows.
COARSEN_HOST bool coarsen_array_ok(const void *pointer, size_t n, size_t bytes, size_t alignment)
{
    if (n == 0)
        return true;
    return pointer && (uintptr_t)pointer % alignment == 0 &&
           n <= (SIZE_MAX - (uintptr_t)pointer) / bytes;
}

// Likewise for a row-major matrix whose rows begin ld elements apart, and no two of them overlap.
COARSEN_HOST bool coarsen_matrix_ok(const void *pointer, size_t rows, size_t cols, size_t ld,
                                    size_t bytes, size_t alignment)
{
    if (rows == 0 || cols == 0)
        return true;
    return cols <= ld && (rows - 1) <= (SIZE_MAX - cols) / ld &&
           coarsen_array_ok(pointer, (rows - 1) * ld + cols, bytes, alignment);
}

#endif // __CUDACC_RTC__

#endif // COARSEN_BASE_H

// ---- Template: each inclusion -------------------------------------------------------------------

// A knob is divided and multiplied by, so 255 + 1 would be one number here and another there.
#if defined(BLOCK_DIM) && BLOCK_DIM + 0 != 0 && 1048576 / BLOCK_DIM != 1048576 / (BLOCK_DIM)
#error "coarsen/base.h: put the value of BLOCK_DIM in parentheses"
#endif
#if defined(COARSE_FACTOR) && COARSE_FACTOR + 0 != 0 &&                                            \
    1048576 / COARSE_FACTOR != 1048576 / (COARSE_FACTOR)
#error "coarsen/base.h: put the value of COARSE_FACTOR in parentheses"
#endif
#if defined(CFACTOR) && CFACTOR + 0 != 0 && 1048576 / CFACTOR != 1048576 / (CFACTOR)
#error "coarsen/base.h: put the value of CFACTOR in parentheses"
#endif
#if defined(NUM_BINS) && NUM_BINS + 0 != 0 && 1048576 / NUM_BINS != 1048576 / (NUM_BINS)
#error "coarsen/base.h: put the value of NUM_BINS in parentheses"
#endif
#if defined(TILE_WIDTH) && TILE_WIDTH + 0 != 0 && 1048576 / TILE_WIDTH != 1048576 / (TILE_WIDTH)
#error "coarsen/base.h: put the value of TILE_WIDTH in parentheses"
#endif
