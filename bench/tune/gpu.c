// SPDX-License-Identifier: MIT
//
// The GPU, by the driver, loaded when the tuner starts. How a time is taken:
//
// - A kernel is verified before it is timed, twice, so that what a launch leaves behind for the
//   next is right too, and once after.
// - Before each launch the L2 cache is flushed, by writing. That also keeps the device busy while
//   the host queues the launch; a sample that was not queued in time is known by its start event,
//   and not taken.
// - The time is between two events around all that tune_run() launches. The first sample, which
//   pays for the fetching of instructions, is not taken.

#include "gpu.h"

#include "unit/plan.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- The driver ---------------------------------------------------------------------------------

#define FUNCTIONS(_)                                                                               \
    _(cuInit)                                                                                      \
    _(cuDriverGetVersion)                                                                          \
    _(cuDeviceGetCount)                                                                            \
    _(cuDeviceGet)                                                                                 \
    _(cuDeviceGetName)                                                                             \
    _(cuDeviceGetAttribute)                                                                        \
    _(cuDeviceTotalMem)                                                                            \
    _(cuDevicePrimaryCtxRetain)                                                                    \
    _(cuCtxSetCurrent)                                                                             \
    _(cuCtxSynchronize)                                                                            \
    _(cuMemAlloc)                                                                                  \
    _(cuMemFree)                                                                                   \
    _(cuMemcpyHtoD)                                                                                \
    _(cuMemcpyDtoH)                                                                                \
    _(cuMemcpyDtoD)                                                                                \
    _(cuMemcpyDtoDAsync)                                                                           \
    _(cuMemsetD8Async)                                                                             \
    _(cuModuleLoadData)                                                                            \
    _(cuModuleUnload)                                                                              \
    _(cuModuleGetFunction)                                                                         \
    _(cuFuncSetAttribute)                                                                          \
    _(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
    _(cuLaunchKernel)                                                                              \
    _(cuLaunchKernelEx)                                                                            \
    _(cuStreamCreate)                                                                              \
    _(cuStreamSynchronize)                                                                         \
    _(cuEventCreate)                                                                               \
    _(cuEventRecord)                                                                               \
    _(cuEventQuery)                                                                                \
    _(cuEventElapsedTime)                                                                          \
    _(cuGetErrorString)

typedef struct {
    CUdeviceptr at;
    size_t bytes;
} memory;

struct gpu {
#define DECLARE(name) __typeof__(&name) p_##name;
    FUNCTIONS(DECLARE)
#undef DECLARE
    CUdevice device;
    CUstream stream;
    CUevent start, stop;
    int processors, shared_limit, cache_bytes;
    memory plan, flushed, verdict;
    memory buffer[TUNE_BUFFERS], pristine[TUNE_BUFFERS], expected[TUNE_BUFFERS];
    unsigned long long elements[TUNE_BUFFERS];
    double tolerance[TUNE_BUFFERS];
    CUfunction compare; // of the reference's module, which stays loaded
    char setting[192];  // the reference's, in words
};

static const char *text_of(gpu *g, CUresult status)
{
    const char *text = NULL;
    return g->p_cuGetErrorString(status, &text) == CUDA_SUCCESS && text ? text : "unknown error";
}

static int attribute(gpu *g, CUdevice_attribute what)
{
    int value = 0;
    g->p_cuDeviceGetAttribute(&value, what, g->device);
    return value;
}

// What the driver knows of it; the rest is the table's, for the same name or at least the same sm.
static void describe(gpu *g, tune_device *device)
{
    char name[128] = "", message[4096], sm[32];
    size_t bytes = 0;
    g->p_cuDeviceGetName(name, sizeof(name), g->device);
    g->p_cuDeviceTotalMem(&bytes, g->device);
    const int number = attribute(g, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                       attribute(g, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    snprintf(sm, sizeof(sm), "sm_%d", number);
    memset(device, 0, sizeof(*device));
    const bool named = tune_device_find(name, device, message, sizeof(message));
    if (!named && !tune_device_find(sm, device, message, sizeof(message)))
        tune_device_find("sm_90", device, message, sizeof(message));
    snprintf(device->name, sizeof(device->name), "%s", name);
    device->sm = number;
    device->processors = attribute(g, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    device->threads_per_processor =
        attribute(g, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    device->blocks_per_processor = attribute(g, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    device->registers_per_processor =
        attribute(g, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    device->shared_per_processor =
        attribute(g, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    device->shared_per_block = attribute(g, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    device->shared_reserved = attribute(g, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    device->clock_ghz = attribute(g, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e6;
    device->memory_gib = (double)bytes / (1 << 30);
    device->l2_mib = attribute(g, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) / 1048576.0;
    const double peak = 2.0 * attribute(g, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1e3 *
                        attribute(g, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 / 1e9;
    if (!named && peak > 0)
        device->memory_gbps = 0.9 * peak;
    if (!named)
        device->source = "the driver; latency, launch and L2 those of another device of the table";
}

gpu *gpu_open(tune_device *device, int *driver_version, char *message, size_t size)
{
    const char *const asked = getenv("COARSEN_DRIVER");
    void *const library = dlopen(asked && *asked ? asked : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(message, size, "no NVIDIA driver here (%s)", dlerror());
        return NULL;
    }
    gpu *const g = calloc(1, sizeof(*g));
    if (!g) {
        snprintf(message, size, "out of memory");
        return NULL;
    }
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x) // with the version that cuda.h gives it
#define LOAD(name)                                                                                 \
    g->p_##name = (__typeof__(g->p_##name))dlsym(library, TEXT(name));                             \
    if (!g->p_##name) {                                                                            \
        snprintf(message, size, "the NVIDIA driver has no %s: it is too old", TEXT(name));         \
        return NULL;                                                                               \
    }
    FUNCTIONS(LOAD)
#undef LOAD
    int count = 0;
    CUcontext context;
    CUresult status = g->p_cuInit(0);
    if (status == CUDA_SUCCESS)
        status = g->p_cuDeviceGetCount(&count);
    if (status == CUDA_SUCCESS && count == 0)
        status = CUDA_ERROR_NO_DEVICE;
    if (status == CUDA_SUCCESS)
        status = g->p_cuDeviceGet(&g->device, 0);
    if (status == CUDA_SUCCESS)
        status = g->p_cuDevicePrimaryCtxRetain(&context, g->device);
    if (status == CUDA_SUCCESS)
        status = g->p_cuCtxSetCurrent(context);
    // One that waits for the copies, which are not of a stream: some are not over when they return.
    if (status == CUDA_SUCCESS)
        status = g->p_cuStreamCreate(&g->stream, CU_STREAM_DEFAULT);
    if (status == CUDA_SUCCESS)
        status = g->p_cuEventCreate(&g->start, CU_EVENT_DEFAULT);
    if (status == CUDA_SUCCESS)
        status = g->p_cuEventCreate(&g->stop, CU_EVENT_DEFAULT);
    if (status != CUDA_SUCCESS) {
        snprintf(message, size, "no usable GPU here (%s)", text_of(g, status));
        free(g);
        return NULL;
    }
    g->p_cuDriverGetVersion(driver_version);
    describe(g, device);
    g->processors = device->processors;
    g->shared_limit = device->shared_per_block;
    g->cache_bytes = (int)(device->l2_mib * 1048576);
    return g;
}

// At least so many bytes; what it held is lost when it has to grow.
static CUresult reserve(gpu *g, memory *m, size_t bytes)
{
    if (bytes < 16)
        bytes = 16;
    if (m->bytes >= bytes)
        return CUDA_SUCCESS;
    if (m->at)
        g->p_cuMemFree(m->at);
    *m = (memory){0, 0};
    const CUresult status = g->p_cuMemAlloc(&m->at, bytes);
    if (status == CUDA_SUCCESS)
        m->bytes = bytes;
    return status;
}

// ---- The plan -----------------------------------------------------------------------------------

typedef struct {
    CUmodule module;
    CUfunction function[TUNE_KERNELS];
    plan_record plan;
    int launch_kernel[PLAN_LAUNCHES]; // index in function; -1: a memset or a copy
} loaded;

static int kernel_named(const tune_row *row, const char *name)
{
    const tune_kernel *const kernel = tune_kernel_named(row, name);
    return kernel ? (int)(kernel - row->kernel) : -1;
}

// Runs the launcher on the device. *why, on failure.
static CUresult run_entry(gpu *g, loaded *l, char *why, size_t size)
{
    CUfunction entry;
    CUresult status = reserve(g, &g->plan, sizeof(plan_record));
    if (status == CUDA_SUCCESS)
        status = g->p_cuModuleGetFunction(&entry, l->module, "tune_entry");
    if (status == CUDA_SUCCESS)
        status = g->p_cuMemcpyHtoD(g->plan.at, &l->plan, sizeof(l->plan));
    void *arguments[] = {&g->plan.at};
    if (status == CUDA_SUCCESS)
        status = g->p_cuLaunchKernel(entry, 1, 1, 1, 1, 1, 1, 0, g->stream, arguments, NULL);
    if (status == CUDA_SUCCESS)
        status = g->p_cuStreamSynchronize(g->stream);
    if (status == CUDA_SUCCESS)
        status = g->p_cuMemcpyDtoH(&l->plan, g->plan.at, sizeof(l->plan));
    if (status != CUDA_SUCCESS)
        snprintf(why, size, "the launcher could not be run: %s", text_of(g, status));
    return status;
}

static void unload(gpu *g, loaded *l)
{
    if (l->module)
        g->p_cuModuleUnload(l->module);
    l->module = NULL;
}

// Loads a unit and finds its functions and the sizes of its buffers.
static CUresult load(gpu *g, const tune_problem *problem, const tune_row *row,
                     const tune_code *code, loaded *l, char *why, size_t size)
{
    memset(l, 0, sizeof(*l));
    CUresult status = g->p_cuModuleLoadData(&l->module, code->cubin);
    for (int k = 0; k < row->kernels && status == CUDA_SUCCESS; k++)
        status = g->p_cuModuleGetFunction(&l->function[k], l->module, row->kernel[k].symbol);
    if (status != CUDA_SUCCESS) {
        snprintf(why, size, "the code could not be loaded: %s", text_of(g, status));
        return status;
    }
    for (int s = 0; s < problem->sizes; s++)
        l->plan.size[s] = problem->size[s].value;
    l->plan.processors = g->processors;
    l->plan.shared_limit = g->shared_limit;
    l->plan.cache_bytes = g->cache_bytes;
    return run_entry(g, l, why, size);
}

// With the buffers in place: what is launched, and how many blocks of it are resident.
static CUresult make_plan(gpu *g, const tune_problem *problem, const tune_row *row, loaded *l,
                          char *why, size_t size)
{
    plan_record *const p = &l->plan;
    for (int b = 0; b < problem->buffers; b++)
        p->buffer[b] = g->buffer[b].at;
    p->run = 1;
    for (int turn = 0, asked = 1; asked && turn < 4; turn++) {
        const CUresult status = run_entry(g, l, why, size);
        if (status != CUDA_SUCCESS)
            return status;
        asked = 0;
        for (int i = 0; i < p->occupancies; i++) {
            plan_occupancy *const o = &p->occupancy[i];
            const int k = kernel_named(row, o->kernel);
            int blocks = 0;
            if (o->blocks > 0)
                continue;
            if (k < 0) {
                snprintf(
                    why, size,
                    "the launcher asks for the occupancy of '%s', which is no kernel of the unit",
                    o->kernel);
                return CUDA_ERROR_NOT_FOUND;
            }
            if (o->shared_bytes > 0) // the launcher's own call is left out (unit/launches.h)
                g->p_cuFuncSetAttribute(l->function[k],
                                        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        (int)o->shared_bytes);
            g->p_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, l->function[k],
                                                             (int)o->threads, o->shared_bytes);
            if (blocks == 0) {
                snprintf(
                    why, size,
                    "no block of %u threads with %llu bytes of shared memory fits a multiprocessor",
                    o->threads, o->shared_bytes);
                return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
            }
            o->blocks = blocks;
            asked = 1;
        }
    }
    if (p->status != 0) {
        snprintf(why, size, "the launcher returned cudaError_t %d", p->status);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (p->launches < 0) {
        snprintf(why, size, "more than %d launches, or than %d bytes of arguments", PLAN_LAUNCHES,
                 PLAN_BYTES);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (p->launches == 0) {
        snprintf(why, size, "it launches nothing");
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (int i = 0; i < p->launches; i++) {
        l->launch_kernel[i] = p->launch[i].kernel[0] ? kernel_named(row, p->launch[i].kernel) : -1;
        if (p->launch[i].kernel[0] && l->launch_kernel[i] < 0) {
            snprintf(why, size, "'%s' is no kernel of the unit%s", p->launch[i].kernel,
                     row->kernels == TUNE_KERNELS ? ", of whose kernels only the first are known"
                                                  : "");
            return CUDA_ERROR_NOT_FOUND;
        }
        if (l->launch_kernel[i] >= 0 && p->launch[i].shared_bytes > 0)
            g->p_cuFuncSetAttribute(l->function[l->launch_kernel[i]],
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (int)p->launch[i].shared_bytes);
        if (l->launch_kernel[i] >= 0 && p->launch[i].cluster[0] > 0)
            g->p_cuFuncSetAttribute(l->function[l->launch_kernel[i]],
                                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    }
    return CUDA_SUCCESS;
}

// What the planned launches look like in the row.
static void tell_plan(gpu *g, const tune_problem *problem, const tune_device *device, loaded *l,
                      tune_row *row)
{
    row->bytes = 0;
    for (int b = 0; b < problem->buffers; b++)
        if (problem->buffer[b].role != TUNE_SCRATCH)
            row->bytes += (double)l->plan.count[b] * (double)l->plan.item[b] *
                          (problem->buffer[b].role == TUNE_INOUT ? 2 : 1);
    if (row->launches > 0) // with simt's counts, which are not to be lost
        return;
    row->launches = l->plan.launches;
    for (int i = 0; i < l->plan.launches; i++) {
        const plan_launch *const from = &l->plan.launch[i];
        tune_launch *const to = &row->launch[i];
        memset(to, 0, sizeof(*to));
        if (l->launch_kernel[i] >= 0)
            snprintf(to->kernel, sizeof(to->kernel), "%s", row->kernel[l->launch_kernel[i]].name);
        memcpy(to->grid, from->grid, sizeof(to->grid));
        memcpy(to->block, from->block, sizeof(to->block));
        to->shared_bytes = from->shared_bytes;
        if (l->launch_kernel[i] < 0) {
            to->moved_bytes = from->from ? 2 * from->bytes : from->bytes;
            continue;
        }
        const int threads = (int)(from->block[0] * from->block[1] * from->block[2]);
        const char *limit = "";
        tune_occupancy(device, &row->kernel[l->launch_kernel[i]], threads, from->shared_bytes,
                       &limit);
        snprintf(to->limited_by, sizeof(to->limited_by), "%s", limit);
        g->p_cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &to->resident, l->function[l->launch_kernel[i]], threads, from->shared_bytes);
    }
}

// With the attributes that the launcher gave it.
static CUresult launch_kernel(gpu *g, CUfunction function, const plan_launch *p, void **arguments)
{
    CUlaunchAttribute given[3];
    CUlaunchConfig config = {.gridDimX = p->grid[0],
                             .gridDimY = p->grid[1],
                             .gridDimZ = p->grid[2],
                             .blockDimX = p->block[0],
                             .blockDimY = p->block[1],
                             .blockDimZ = p->block[2],
                             .sharedMemBytes = (unsigned int)p->shared_bytes,
                             .hStream = g->stream,
                             .attrs = given};
    memset(given, 0, sizeof(given));
    if (p->cluster[0] > 0) {
        CUlaunchAttribute *const a = &given[config.numAttrs++];
        a->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        a->value.clusterDim.x = p->cluster[0];
        a->value.clusterDim.y = p->cluster[1];
        a->value.clusterDim.z = p->cluster[2];
    }
    if (p->cooperative) {
        CUlaunchAttribute *const a = &given[config.numAttrs++];
        a->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        a->value.cooperative = 1;
    }
    if (p->overlaps) {
        CUlaunchAttribute *const a = &given[config.numAttrs++];
        a->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        a->value.programmaticStreamSerializationAllowed = 1;
    }
    return g->p_cuLaunchKernelEx(&config, function, arguments, NULL);
}

static CUresult launch(gpu *g, loaded *l)
{
    CUresult status = CUDA_SUCCESS;
    for (int i = 0; i < l->plan.launches && status == CUDA_SUCCESS; i++) {
        plan_launch *const p = &l->plan.launch[i];
        void *arguments[PLAN_ARGUMENTS];
        for (int a = 0; a < p->arguments; a++)
            arguments[a] = p->argument + p->offset[a];
        if (l->launch_kernel[i] < 0 && p->bytes == 0)
            continue; // the runtime takes it, the driver need not
        if (l->launch_kernel[i] < 0 && p->from)
            status = g->p_cuMemcpyDtoDAsync(p->to, p->from, p->bytes, g->stream);
        else if (l->launch_kernel[i] < 0)
            status = g->p_cuMemsetD8Async(p->to, (unsigned char)p->value, p->bytes, g->stream);
        else
            status = launch_kernel(g, l->function[l->launch_kernel[i]], p, arguments);
    }
    return status;
}

// ---- Data ---------------------------------------------------------------------------------------

static bool is_output(const tune_buffer *b)
{
    return b->role == TUNE_OUT || b->role == TUNE_INOUT;
}

// The input, and what an output that is updated in place is at first.
static bool fill(gpu *g, const tune_problem *problem, int b, size_t count, size_t item,
                 uint64_t most, char *why, size_t size)
{
    const size_t bytes = count * item;
    void *const host = malloc(bytes);
    bool ok = host && tune_data_fill(problem, b, host, 0, count, item, count, most, why, size);
    if (!host)
        snprintf(why, size, "%s: no memory for %zu bytes", problem->buffer[b].name, bytes);
    CUresult status = ok ? g->p_cuMemcpyHtoD(g->buffer[b].at, host, bytes) : CUDA_SUCCESS;
    if (ok && status == CUDA_SUCCESS && problem->buffer[b].role == TUNE_INOUT) {
        status = reserve(g, &g->pristine[b], bytes);
        if (status == CUDA_SUCCESS)
            status = g->p_cuMemcpyHtoD(g->pristine[b].at, host, bytes);
    }
    if (status != CUDA_SUCCESS)
        snprintf(why, size, "%s: %s", problem->buffer[b].name, text_of(g, status));
    free(host);
    return ok && status == CUDA_SUCCESS;
}

// The unit's buffers: scratch at zero, and inputs with as much data as they have room for, which a
// coarser setting may need more of. Outputs are as large as the reference's.
static CUresult make_buffers(gpu *g, const tune_problem *problem, const loaded *l, char *why,
                             size_t size)
{
    for (int b = 0; b < problem->buffers; b++) {
        const tune_role role = problem->buffer[b].role;
        const unsigned long long count = l->plan.count[b], item = l->plan.item[b];
        size_t bytes;
        if (__builtin_mul_overflow(count, item, &bytes)) {
            snprintf(why, size, "%s has %llu elements, which are more bytes than there can be",
                     problem->buffer[b].name, count);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (g->expected[b].bytes && is_output(&problem->buffer[b]) && count != g->elements[b]) {
            snprintf(why, size, "%s has %llu elements, and the reference's %llu",
                     problem->buffer[b].name, count, g->elements[b]);
            return CUDA_ERROR_INVALID_VALUE;
        }
        const bool more = count > g->elements[b];
        if (more && role == TUNE_IN)
            g->elements[b] = 0; // what it has is lost
        CUresult status = reserve(g, &g->buffer[b], bytes);
        if (status == CUDA_SUCCESS && role == TUNE_SCRATCH && bytes > 0)
            status = g->p_cuMemsetD8Async(g->buffer[b].at, 0, bytes, g->stream);
        if (status != CUDA_SUCCESS) {
            snprintf(why, size, "%s, of %zu bytes: %s", problem->buffer[b].name, bytes,
                     text_of(g, status));
            return status;
        }
        if (more && (role == TUNE_IN || role == TUNE_INOUT) &&
            !fill(g, problem, b, count, item, l->plan.most[b], why, size))
            return CUDA_ERROR_OUT_OF_MEMORY;
        if (more)
            g->elements[b] = count;
    }
    return CUDA_SUCCESS;
}

// Outputs to what no kernel writes by chance; what a kernel updates in place to what it was.
static CUresult poison(gpu *g, const tune_problem *problem)
{
    CUresult status = CUDA_SUCCESS;
    for (int b = 0; b < problem->buffers && status == CUDA_SUCCESS; b++)
        if (problem->buffer[b].role == TUNE_OUT)
            status = g->p_cuMemsetD8Async(g->buffer[b].at, 0xa5, g->buffer[b].bytes, g->stream);
        else if (problem->buffer[b].role == TUNE_INOUT && g->pristine[b].bytes > 0)
            status = g->p_cuMemcpyDtoD(g->buffer[b].at, g->pristine[b].at, g->pristine[b].bytes);
    if (status == CUDA_SUCCESS)
        status = g->p_cuStreamSynchronize(g->stream);
    return status;
}

// first: the index of the first part (tune_data_part) that is wrong, or all ones.
static CUresult compare(gpu *g, const tune_problem *problem, int b, size_t item, CUdeviceptr got,
                        double tolerance, unsigned long long *first, double *greatest)
{
    unsigned long long verdict[2] = {~0ull, 0};
    CUdeviceptr want = g->expected[b].at;
    bool real;
    const size_t part = tune_data_part(problem->buffer[b].type, item, &real);
    unsigned long long n = g->elements[b] * (item / part);
    unsigned int bytes = (unsigned int)part;
    int floating = real;
    CUresult status = reserve(g, &g->verdict, sizeof(verdict));
    if (status == CUDA_SUCCESS)
        status = g->p_cuMemcpyHtoD(g->verdict.at, verdict, sizeof(verdict));
    CUdeviceptr to_first = g->verdict.at, to_greatest = g->verdict.at + 8;
    void *arguments[] = {&got, &want, &n, &bytes, &floating, &tolerance, &to_first, &to_greatest};
    if (status == CUDA_SUCCESS)
        status =
            g->p_cuLaunchKernel(g->compare, 1024, 1, 1, 256, 1, 1, 0, g->stream, arguments, NULL);
    if (status == CUDA_SUCCESS)
        status = g->p_cuStreamSynchronize(g->stream);
    if (status == CUDA_SUCCESS)
        status = g->p_cuMemcpyDtoH(verdict, g->verdict.at, sizeof(verdict));
    *first = verdict[0];
    memcpy(greatest, &verdict[1], sizeof(*greatest));
    return status;
}

bool gpu_prepare(gpu *g, const tune_problem *problem, const tune_row *reference,
                 const tune_code *code, char *message, size_t size)
{
    loaded l;
    const size_t l2 = (size_t)attribute(g, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) * 4;
    CUresult status = reserve(g, &g->flushed, l2 > 64 << 20 ? l2 : 64 << 20);
    if (status != CUDA_SUCCESS) {
        snprintf(message, size, "no memory to flush the cache with: %s", text_of(g, status));
        return false;
    }
    if (load(g, problem, reference, code, &l, message, size) != CUDA_SUCCESS ||
        make_buffers(g, problem, &l, message, size) != CUDA_SUCCESS)
        return false;
    if (make_plan(g, problem, reference, &l, message, size) != CUDA_SUCCESS)
        return false;
    status = poison(g, problem);
    if (status == CUDA_SUCCESS)
        status = launch(g, &l);
    if (status == CUDA_SUCCESS)
        status = g->p_cuStreamSynchronize(g->stream);
    if (status == CUDA_SUCCESS)
        status = g->p_cuModuleGetFunction(&g->compare, l.module, "tune_compare");
    for (int b = 0; b < problem->buffers && status == CUDA_SUCCESS; b++) {
        if (!is_output(&problem->buffer[b]))
            continue;
        const size_t bytes = l.plan.count[b] * l.plan.item[b];
        unsigned long long first;
        double greatest = 0;
        status = reserve(g, &g->expected[b], bytes);
        if (status == CUDA_SUCCESS)
            status = g->p_cuMemcpyDtoD(g->expected[b].at, g->buffer[b].at, bytes);
        if (status == CUDA_SUCCESS)
            status =
                compare(g, problem, b, l.plan.item[b], g->expected[b].at, 0, &first, &greatest);
        g->tolerance[b] = l.plan.tolerance < 0 ? 1e-5 * greatest : l.plan.tolerance;
    }
    tune_setting_print(problem, &reference->setting, g->setting, sizeof(g->setting));
    if (status != CUDA_SUCCESS) {
        snprintf(message, size, "the reference: %s", text_of(g, status));
        return false;
    }
    const time_t end = time(NULL) + 1; // clocks rise when there is work
    while (time(NULL) < end) {
        for (int i = 0; i < 20; i++)
            g->p_cuMemsetD8Async(g->flushed.at, 0x5a, g->flushed.bytes, g->stream);
        g->p_cuStreamSynchronize(g->stream);
    }
    return true;
}

// ---- Measuring ----------------------------------------------------------------------------------

// That part of an output is wrong: the row is told.
static CUresult tell(gpu *g, const tune_problem *problem, int b, size_t item,
                     unsigned long long first, tune_row *row)
{
    unsigned char got[16], want[16];
    bool real;
    const size_t at = first * tune_data_part(problem->buffer[b].type, item, &real);
    const size_t rest = g->elements[b] * item - at, bytes = rest < sizeof(got) ? rest : sizeof(got);
    CUresult status = g->p_cuMemcpyDtoH(got, g->buffer[b].at + at, bytes);
    if (status == CUDA_SUCCESS)
        status = g->p_cuMemcpyDtoH(want, g->expected[b].at + at, bytes);
    if (status == CUDA_SUCCESS)
        tune_data_wrong(problem, b, item, first, got, want, bytes, g->setting, "", row);
    return status;
}

// Launches once on poisoned outputs and compares. Sets the row's status and reason.
static CUresult verify(gpu *g, const tune_problem *problem, loaded *l, tune_row *row, bool fresh)
{
    CUresult status = fresh ? poison(g, problem) : CUDA_SUCCESS;
    if (status == CUDA_SUCCESS && fresh) {
        status = launch(g, l);
        if (status != CUDA_SUCCESS) {
            row->status = TUNE_NOT_LAUNCHED;
            snprintf(row->reason, sizeof(row->reason), "%s", text_of(g, status));
            return status == CUDA_ERROR_INVALID_VALUE ||
                           status == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ||
                           status == CUDA_ERROR_OUT_OF_MEMORY
                       ? CUDA_SUCCESS
                       : status;
        }
        status = g->p_cuStreamSynchronize(g->stream);
    }
    for (int b = 0; b < problem->buffers && status == CUDA_SUCCESS && row->status == TUNE_OK; b++) {
        if (!is_output(&problem->buffer[b]))
            continue;
        const size_t item = l->plan.item[b];
        unsigned long long first = ~0ull;
        double greatest;
        status = compare(g, problem, b, item, g->buffer[b].at, g->tolerance[b], &first, &greatest);
        if (status == CUDA_SUCCESS && first != ~0ull)
            status = tell(g, problem, b, item, first, row);
    }
    return status;
}

static CUresult take_samples(gpu *g, loaded *l, double *samples, int count, int *taken)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    CUresult status = CUDA_SUCCESS;
    for (int i = -1, late = 0; i < GPU_MORE * count && status == CUDA_SUCCESS;) {
        float ms = 0;
        status = g->p_cuMemsetD8Async(g->flushed.at, 0x5a, g->flushed.bytes, g->stream);
        if (status == CUDA_SUCCESS)
            status = g->p_cuEventRecord(g->start, g->stream);
        if (status == CUDA_SUCCESS)
            status = launch(g, l);
        if (status == CUDA_SUCCESS)
            status = g->p_cuEventRecord(g->stop, g->stream);
        const bool in_time = g->p_cuEventQuery(g->start) == CUDA_ERROR_NOT_READY;
        if (status == CUDA_SUCCESS)
            status = g->p_cuStreamSynchronize(g->stream);
        if (status == CUDA_SUCCESS)
            status = g->p_cuEventElapsedTime(&ms, g->start, g->stop);
        if (status != CUDA_SUCCESS)
            return status;
        if (!in_time && late++ < 10 * count)
            continue; // a busy host
        if (i >= 0)
            samples[(*taken)++] = ms * 1e3;
        i++;
        clock_gettime(CLOCK_MONOTONIC, &now);
        const double spent =
            (double)(now.tv_sec - begun.tv_sec) + (now.tv_nsec - begun.tv_nsec) / 1e9;
        if ((i >= 5 && spent > 1) || (i >= count && spent > 0.02))
            break; // a slow kernel needs fewer samples, and a fast one may have more
    }
    return status;
}

bool gpu_measure(gpu *g, const tune_problem *problem, tune_row *row, const tune_code *code,
                 double *samples, int count, int *taken)
{
    loaded l;
    const bool first = *taken == 0;
    row->status = TUNE_OK;
    CUresult status = load(g, problem, row, code, &l, row->reason, sizeof(row->reason));
    if (status == CUDA_SUCCESS)
        status = make_buffers(g, problem, &l, row->reason, sizeof(row->reason));
    if (status == CUDA_SUCCESS)
        status = make_plan(g, problem, row, &l, row->reason, sizeof(row->reason));
    if (status != CUDA_SUCCESS) {
        row->status = TUNE_NOT_LAUNCHED;
        unload(g, &l);
        return g->p_cuCtxSynchronize() == CUDA_SUCCESS;
    }
    tune_device device;
    describe(g, &device);
    tell_plan(g, problem, &device, &l, row);
    for (int i = 0; i < (first ? 2 : 0) && status == CUDA_SUCCESS && row->status == TUNE_OK; i++)
        status = verify(g, problem, &l, row, true);
    if (status == CUDA_SUCCESS && row->status == TUNE_OK)
        status = take_samples(g, &l, samples, count, taken);
    bool in_place = false;
    for (int b = 0; b < problem->buffers; b++)
        in_place |= problem->buffer[b].role == TUNE_INOUT;
    if (status == CUDA_SUCCESS && row->status == TUNE_OK) // what the last of those launches left
        status = verify(g, problem, &l, row, in_place);
    if (status != CUDA_SUCCESS && row->status == TUNE_OK) {
        row->status = TUNE_CRASHED;
        snprintf(row->reason, sizeof(row->reason), "%s", text_of(g, status));
    }
    row->timed = row->timed && row->status == TUNE_OK; // as in an earlier round
    unload(g, &l);
    return status == CUDA_SUCCESS && row->status != TUNE_WRONG;
}
