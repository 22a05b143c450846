// SPDX-License-Identifier: MIT
//
// A driver with an H100 that is not there, so that what coarsen-tune does on a GPU can be tested
// without one (test_measured.py): memory is the host's, kernels are those below, and an event's time
// is made up. What the kernel of one setting does wrong is asked for:
//
//     FAKE_FAULT="WHAT FACTOR"    wrong: one element; leaves: it unwritten; oob: writes beyond the
//                                 output; illegal: as the driver reports it; dies: with its process;
//                                 hangs. Further numbers: only from that process on (1 finds the
//                                 GPU, 2 measures, 3 measures the leaders again), and only after so
//                                 many launches of the factor
//     FAKE_PADDED=1               the input is a whole number of blocks
//     FAKE_LOG=FILE               gets a line for each process, and for each launch its factor

#include "../../bench/tune/unit/plan.h"

#include <cuda.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 256, L2 = 1 << 20 };

struct CUmod_st {
    int factor;
};
struct CUfunc_st {
    struct CUmod_st *module;
    char name[64];
};

static CUresult lost; // the context is, once this is an error
static int ran;       // the factor of the last launch

static void note(const char *what, int factor)
{
    FILE *const log = fopen(getenv("FAKE_LOG"), "a");
    if (!log)
        abort();
    fprintf(log, "%s %d\n", what, factor);
    fclose(log);
}

// How often a line begins so.
static int noted(const char *what)
{
    char line[64];
    int count = 0;
    FILE *const log = fopen(getenv("FAKE_LOG"), "r");
    while (log && fgets(line, sizeof(line), log))
        count += !strncmp(line, what, strlen(what));
    if (log)
        fclose(log);
    return count;
}

static bool fails(const char *what, int factor)
{
    char asked[64] = "", launch[64];
    int of = 0, process = 0, launches = 0;
    const char *const fault = getenv("FAKE_FAULT");
    snprintf(launch, sizeof(launch), "launch %d\n", factor);
    return fault && sscanf(fault, "%63s %d %d %d", asked, &of, &process, &launches) >= 2 &&
           !strcmp(asked, what) && of == factor && (!process || noted("process") >= process) &&
           (!launches || noted(launch) > launches);
}

// ---- The device ---------------------------------------------------------------------------------

CUresult cuInit(unsigned int flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)size, "NVIDIA H100");
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)80 << 30;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    static const struct {
        CUdevice_attribute attribute;
        int value;
    } known[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, L2},
    };
    (void)device;
    *value = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].attribute == attribute)
            *value = known[i].value;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    *context = NULL;
    note("process", 0);
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    return lost;
}

// ---- Memory -------------------------------------------------------------------------------------

// One piece after the other, so that what is written beyond one is another's.
CUresult cuMemAlloc(CUdeviceptr *to, size_t bytes)
{
    static char *arena;
    static size_t used;
    enum { ALL = 1 << 30 };
    if (!arena)
        arena = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    if (arena == MAP_FAILED || bytes > ALL - used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *to = (CUdeviceptr)(arena + used);
    used += (bytes + 511) / 512 * 512;
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr at)
{
    (void)at;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *)to, from, bytes);
    return lost;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (const void *)from, bytes);
    return lost;
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    memcpy((void *)to, (const void *)from, bytes);
    return lost;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    return cuMemcpyDtoD(to, from, bytes);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    (void)stream;
    if (bytes < 4 * L2) // else it is the flush
        memset((void *)to, value, bytes);
    return lost;
}

// ---- Modules ------------------------------------------------------------------------------------

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    (void)image;
    *module = calloc(1, sizeof(**module));
    return *module ? lost : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuModuleUnload(CUmodule module)
{
    (void)module; // its functions are few, and leave with the process
    return CUDA_SUCCESS;
}

// A kernel factor_4 says that the unit's factor is 4.
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    *function = calloc(1, sizeof(**function));
    if (!*function)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*function)->module = module;
    snprintf((*function)->name, sizeof((*function)->name), "%s", name);
    sscanf(name, "factor_%d", &module->factor);
    return lost;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared_bytes)
{
    (void)function, (void)shared_bytes;
    *blocks = 2048 / threads;
    return CUDA_SUCCESS;
}

// ---- Streams and events -------------------------------------------------------------------------

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    (void)flags;
    *stream = NULL;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    usleep(100); // or a second of it is a long log
    return lost;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    (void)flags;
    *event = NULL;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    return lost;
}

CUresult cuEventQuery(CUevent event)
{
    (void)event;
    return CUDA_ERROR_NOT_READY; // the launch was queued in time
}

// 4 is the best factor: 10 us, and 2 us more for each step from there.
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent stop)
{
    (void)start, (void)stop;
    *ms = (float)(10 + 2 * fabs(log2(ran) - 2)) / 1000;
    return lost;
}

CUresult cuGetErrorString(CUresult status, const char **text)
{
    *text = status == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access" : "another error";
    return CUDA_SUCCESS;
}

// ---- Kernels ------------------------------------------------------------------------------------

// Those of unit/entry.h, for one input and one output of n floats.
static void entry(plan_record *p, int factor)
{
    const unsigned long long n = p->size[0], tile = (unsigned long long)BLOCK * factor;
    const unsigned long long blocks = (n + tile - 1) / tile;
    p->count[0] = getenv("FAKE_PADDED") ? blocks * tile : n;
    p->count[1] = n;
    p->item[0] = p->item[1] = sizeof(float);
    p->tolerance = -1;
    p->work = (double)n;
    p->launches = 0;
    p->status = 0;
    if (!p->run)
        return;
    plan_launch *const l = &p->launch[p->launches++];
    *l = (plan_launch){.kernel = "scale", .block = {BLOCK, 1, 1}, .arguments = 3};
    l->grid[0] = (unsigned int)blocks, l->grid[1] = l->grid[2] = 1;
    for (int b = 0; b < 2; b++)
        memcpy(l->argument + 8 * b, &p->buffer[b], 8);
    memcpy(l->argument + 16, &n, 8);
    l->offset[1] = 8, l->offset[2] = 16;
}

static void compare(const float *got, const float *want, unsigned long long n, double tolerance,
                    unsigned long long *first, double *greatest)
{
    for (unsigned long long i = 0; i < n; i++) {
        *greatest = fmax(*greatest, fabs(want[i]));
        if (!(fabs((double)got[i] - want[i]) <= tolerance) && i < *first)
            *first = i;
    }
}

static void scale(const float *x, float *y, size_t n, size_t threads, int factor)
{
    if (fails("dies", factor))
        raise(SIGKILL);
    while (fails("hangs", factor))
        pause();
    if (fails("illegal", factor))
        lost = CUDA_ERROR_ILLEGAL_ADDRESS;
    const size_t end = fails("oob", factor) ? threads * factor : n;
    for (size_t i = 0; i < end; i++)
        if (i != 3 || !fails("leaves", factor))
            y[i] = i < n ? 2 * x[i] : 7;
    if (fails("wrong", factor))
        y[3] += 1;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void **arguments, void **extra)
{
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z;
    (void)shared_bytes, (void)stream, (void)extra;
    const int factor = function->module->factor;
    const CUresult before = lost; // what this launch does is known later
    if (!strcmp(function->name, "tune_entry")) {
        entry(*(plan_record **)arguments[0], factor);
    } else if (!strcmp(function->name, "tune_compare")) {
        compare(*(float **)arguments[0], *(float **)arguments[1],
                *(unsigned long long *)arguments[2], *(double *)arguments[5],
                *(unsigned long long **)arguments[6], *(double **)arguments[7]);
    } else {
        ran = factor;
        note("launch", factor);
        scale(*(float **)arguments[0], *(float **)arguments[1], *(size_t *)arguments[2],
              (size_t)grid_x * block_x, factor);
    }
    return before;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                          void **extra)
{
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                          config->blockDimX, config->blockDimY, config->blockDimZ,
                          config->sharedMemBytes, config->hStream, arguments, extra);
}
