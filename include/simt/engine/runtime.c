// SPDX-License-Identifier: MIT
// The CUDA runtime API, in the order of cuda_runtime_api.h.

static cudaError_t outcome(cudaError_t error)
{
    if (error)
        simt_error = error;
    return error;
}

// Refuses a call: says why, and returns the error.
#define REFUSE(call, pc, error, ...) outcome(tell(SIMT_INVALID_CALL, error, call, pc, __VA_ARGS__))
#define REFUSE_STREAM(call, pc)                                                                    \
    REFUSE(call, pc, cudaErrorInvalidResourceHandle, "pass what cudaStreamCreate gave, or 0",      \
           "%p is no stream", (void *)stream)
#define REFUSE_RACE(call, pc, what)                                                                \
    outcome(tell(SIMT_STREAM_RACE, cudaErrorLaunchFailure, call, pc, STREAM_HINT, "%s", what))

// ---- errors -------------------------------------------------------------------------------------

cudaError_t cudaPeekAtLastError(void)
{
    return simt_error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = simt_error;
    simt_error = cudaSuccess;
    return error;
}

// An error is returned once, by this or by cudaGetLastError. Then the device is usable again.
cudaError_t cudaDeviceSynchronize(void)
{
    ALONE;
    device_ended(ordinal());
    return cudaGetLastError();
}

#define ERRORS(X)                                                                                  \
    X(cudaSuccess, "no error")                                                                     \
    X(cudaErrorInvalidValue, "invalid argument")                                                   \
    X(cudaErrorMemoryAllocation, "out of memory")                                                  \
    X(cudaErrorInitializationError, "initialization error")                                        \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                             \
    X(cudaErrorInvalidPitchValue, "invalid pitch argument")                                        \
    X(cudaErrorInvalidSymbol, "invalid device symbol")                                             \
    X(cudaErrorInvalidHostPointer, "invalid host pointer")                                         \
    X(cudaErrorInvalidDevicePointer, "invalid device pointer")                                     \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                        \
    X(cudaErrorInsufficientDriver, "driver version is insufficient for runtime version")           \
    X(cudaErrorInvalidDeviceFunction, "invalid device function")                                   \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                     \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                            \
    X(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device") \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                   \
    X(cudaErrorSymbolNotFound, "named symbol not found")                                           \
    X(cudaErrorNotReady, "device not ready")                                                       \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                         \
    X(cudaErrorLaunchOutOfResources, "too many resources requested for launch")                    \
    X(cudaErrorLaunchTimeout, "the launch timed out and was terminated")                           \
    X(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")                         \
    X(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled")                           \
    X(cudaErrorAssert, "device-side assert triggered")                                             \
    X(cudaErrorIllegalInstruction, "an illegal instruction was encountered")                       \
    X(cudaErrorMisalignedAddress, "misaligned address")                                            \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                                        \
    X(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch")                 \
    X(cudaErrorNotPermitted, "operation not permitted")                                            \
    X(cudaErrorNotSupported, "operation not supported")                                            \
    X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")       \
    X(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define NAME(name, text)                                                                           \
    case name:                                                                                     \
        return #name;
        ERRORS(NAME)
#undef NAME
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define TEXT(name, text)                                                                           \
    case name:                                                                                     \
        return text;
        ERRORS(TEXT)
#undef TEXT
    }
    return "unrecognized error code";
}

// ---- the device: no GPU in particular, with the limits of a recent one --------------------------

enum { THREADS_PER_PROCESSOR = 2048, BLOCKS_PER_PROCESSOR = 32, REGISTERS = 65536 };
static const size_t memory_bytes = (size_t)16 << 30;

cudaError_t cudaGetDeviceCount(int *count)
{
    if (!count)
        return outcome(cudaErrorInvalidValue);
    *count = (int)device.config.devices;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *number)
{
    if (!number)
        return outcome(cudaErrorInvalidValue);
    *number = ordinal();
    return cudaSuccess;
}

static int no_device(int number)
{
    return (unsigned)number >= device.config.devices;
}

cudaError_t cudaSetDevice(int number)
{
    if (no_device(number))
        return outcome(cudaErrorInvalidDevice);
    simt_current = number;
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int number, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return no_device(number) ? outcome(cudaErrorInvalidDevice) : cudaSuccess;
}

cudaError_t cudaDeviceReset(void)
{
    ALONE;
    for (size_t i = 0; i < arena.count; ++i)
        if (!arena.list[i].freed && arena.list[i].device == ordinal())
            arena_give(&arena.list[i]);
    device_ended(ordinal());
    heap_reset();
    simt_error = cudaSuccess;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int number)
{
    if (!p)
        return outcome(cudaErrorInvalidValue);
    if (no_device(number))
        return outcome(cudaErrorInvalidDevice);
    *p = (cudaDeviceProp){
        .name = "simt CPU device",
        .totalGlobalMem = memory_bytes,
        .sharedMemPerBlock = DEFAULT_DYNAMIC,
        .regsPerBlock = REGISTERS,
        .warpSize = LANES,
        .memPitch = INT_MAX,
        .maxThreadsPerBlock = MAX_THREADS,
        .maxThreadsDim = {MAX_THREADS, MAX_THREADS, 64},
        .maxGridSize = {INT_MAX, 65535, 65535},
        .totalConstMem = 65536,
        .major = 9,
        .textureAlignment = 512,
        .multiProcessorCount = (int)device.config.processors,
        .canMapHostMemory = 1,
        .concurrentKernels = 1,
        .pciBusID = number,
        .asyncEngineCount = 1,
        .unifiedAddressing = 1,
        .memoryBusWidth = 64,
        .l2CacheSize = 1 << 20,
        .maxThreadsPerMultiProcessor = THREADS_PER_PROCESSOR,
        .sharedMemPerMultiprocessor = MAX_DYNAMIC + 1024,
        .regsPerMultiprocessor = REGISTERS,
        .managedMemory = 1,
        .concurrentManagedAccess = 1,
        .cooperativeLaunch = 1,
        .sharedMemPerBlockOptin = MAX_DYNAMIC,
        .maxBlocksPerMultiProcessor = BLOCKS_PER_PROCESSOR,
        .reservedSharedMemPerBlock = 1024,
        .memoryPoolsSupported = 1,
    };
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int number)
{
    cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, number);
    if (error)
        return error;
    if (!value)
        return outcome(cudaErrorInvalidValue);
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = p.maxThreadsPerBlock;
        break;
    case cudaDevAttrMaxBlockDimX:
        *value = p.maxThreadsDim[0];
        break;
    case cudaDevAttrMaxBlockDimY:
        *value = p.maxThreadsDim[1];
        break;
    case cudaDevAttrMaxBlockDimZ:
        *value = p.maxThreadsDim[2];
        break;
    case cudaDevAttrMaxGridDimX:
        *value = p.maxGridSize[0];
        break;
    case cudaDevAttrMaxGridDimY:
        *value = p.maxGridSize[1];
        break;
    case cudaDevAttrMaxGridDimZ:
        *value = p.maxGridSize[2];
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = (int)p.sharedMemPerBlock;
        break;
    case cudaDevAttrTotalConstantMemory:
        *value = (int)p.totalConstMem;
        break;
    case cudaDevAttrWarpSize:
        *value = p.warpSize;
        break;
    case cudaDevAttrMaxPitch:
        *value = (int)p.memPitch;
        break;
    case cudaDevAttrMaxRegistersPerBlock:
        *value = p.regsPerBlock;
        break;
    case cudaDevAttrClockRate:
        *value = 1000000;
        break;
    case cudaDevAttrTextureAlignment:
        *value = (int)p.textureAlignment;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = p.multiProcessorCount;
        break;
    case cudaDevAttrCanMapHostMemory:
        *value = p.canMapHostMemory;
        break;
    case cudaDevAttrConcurrentKernels:
        *value = p.concurrentKernels;
        break;
    case cudaDevAttrMemoryClockRate:
        *value = 1000000;
        break;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = p.memoryBusWidth;
        break;
    case cudaDevAttrL2CacheSize:
        *value = p.l2CacheSize;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = p.maxThreadsPerMultiProcessor;
        break;
    case cudaDevAttrAsyncEngineCount:
        *value = p.asyncEngineCount;
        break;
    case cudaDevAttrUnifiedAddressing:
        *value = p.unifiedAddressing;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = p.major;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = p.minor;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = (int)p.sharedMemPerMultiprocessor;
        break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
        *value = p.regsPerMultiprocessor;
        break;
    case cudaDevAttrManagedMemory:
        *value = p.managedMemory;
        break;
    case cudaDevAttrConcurrentManagedAccess:
        *value = p.concurrentManagedAccess;
        break;
    case cudaDevAttrCooperativeLaunch:
        *value = p.cooperativeLaunch;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = (int)p.sharedMemPerBlockOptin;
        break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
        *value = p.maxBlocksPerMultiProcessor;
        break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
        *value = (int)p.reservedSharedMemPerBlock;
        break;
    case cudaDevAttrMemoryPoolsSupported:
        *value = p.memoryPoolsSupported;
        break;
    case cudaDevAttrPciBusId:
        *value = p.pciBusID;
        break;
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrClusterLaunch:
        *value = 0;
        break;
    default:
        return outcome(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (!version)
        return outcome(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}

static size_t bytes_left(void)
{
    size_t used = arena.live_bytes[ordinal()];
    return used < memory_bytes ? memory_bytes - used : 0;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    ALONE;
    if (!available || !total)
        return outcome(cudaErrorInvalidValue);
    *total = memory_bytes;
    *available = bytes_left();
    return cudaSuccess;
}

// ---- peers --------------------------------------------------------------------------------------

cudaError_t cudaDeviceCanAccessPeer(int *can, int number, int peer)
{
    if (!can)
        return outcome(cudaErrorInvalidValue);
    if (no_device(number) || no_device(peer))
        return outcome(cudaErrorInvalidDevice);
    *can = number != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    ALONE;
    if (flags)
        return outcome(cudaErrorInvalidValue);
    if (no_device(peer) || peer == ordinal())
        return outcome(cudaErrorInvalidDevice);
    if (reaches[ordinal()][peer])
        return outcome(cudaErrorPeerAccessAlreadyEnabled);
    reaches[ordinal()][peer] = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    ALONE;
    if (no_device(peer))
        return outcome(cudaErrorInvalidDevice);
    if (!reaches[ordinal()][peer])
        return outcome(cudaErrorPeerAccessNotEnabled);
    reaches[ordinal()][peer] = 0;
    return cudaSuccess;
}

// ---- limits -------------------------------------------------------------------------------------

// The heap is of malloc in kernels. The other limits mean nothing here.
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value)
{
    ALONE;
    if ((unsigned)limit > cudaLimitMaxL2FetchGranularity)
        return outcome(cudaErrorInvalidValue);
    if (limit == cudaLimitMallocHeapSize)
        heap.limit = value > heap.used ? value : heap.used;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit)
{
    ALONE;
    if (!value || (unsigned)limit > cudaLimitMaxL2FetchGranularity)
        return outcome(cudaErrorInvalidValue);
    *value = limit == cudaLimitMallocHeapSize ? heap.limit
             : limit == cudaLimitStackSize    ? STACK_BYTES
                                              : 0;
    return cudaSuccess;
}

// ---- memory -------------------------------------------------------------------------------------

static cudaError_t take(void **pointer, size_t bytes, cudaMemoryType type, const char *call,
                        uintptr_t pc)
{
    ALONE;
    size_t left = bytes_left();
    if (type == cudaMemoryTypeHost)
        left = SIZE_MAX;
    if (!pointer)
        return REFUSE(call, pc, cudaErrorInvalidValue, "pass the address of a pointer",
                      "the place for the pointer is null");
    *pointer = NULL;
    if (bytes > left || arena_take(pointer, bytes, type))
        return REFUSE(call, pc, cudaErrorMemoryAllocation, "free what isn't used, or use less",
                      "%zu bytes are asked for, and %zu of the device's %zu are left", bytes,
                      left < memory_bytes ? left : memory_bytes, memory_bytes);
    if (*pointer)
        allocation_at((uintptr_t)*pointer)->made_at = pc;
    return cudaSuccess;
}

static cudaError_t give(void *pointer, int host, const char *call, uintptr_t pc)
{
    ALONE;
    uintptr_t a = (uintptr_t)pointer;
    if (!pointer)
        return cudaSuccess;
    allocation *m = in_arena(a) ? allocation_at(a) : NULL;
    if (!m || a - m->base >= m->size)
        return REFUSE(call, pc, cudaErrorInvalidValue, "pass what the allocation returned",
                      "%p is in no allocation of the device", pointer);
    if (m->heap)
        return REFUSE(call, pc, cudaErrorInvalidValue, "free it in a kernel",
                      "%p was allocated by a kernel", pointer);
    if (m->freed)
        return REFUSE(call, pc, cudaErrorInvalidValue, "free it once, and set the pointer to null",
                      "%p is %zu bytes into an allocation of %zu bytes that was freed before%s",
                      pointer, a - m->base, m->size, origin(m));
    if (m->base != a)
        return REFUSE(call, pc, cudaErrorInvalidValue, "pass what the allocation returned",
                      "%p is %zu bytes into an allocation of %zu bytes%s", pointer, a - m->base,
                      m->size, origin(m));
    if (host != (m->type == cudaMemoryTypeHost))
        return REFUSE(call, pc, cudaErrorInvalidValue,
                      host ? "free it with cudaFree" : "free it with cudaFreeHost",
                      "%p is %s memory", pointer, host ? "device" : "pinned host");
    m->freed_at = pc;
    arena_give(m);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    return take(pointer, bytes, cudaMemoryTypeDevice, "cudaMalloc", RETURN_PC);
}
cudaError_t cudaFree(void *pointer)
{
    return give(pointer, 0, "cudaFree", RETURN_PC);
}
cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    return take(pointer, bytes, cudaMemoryTypeDevice, "cudaMallocAsync", RETURN_PC);
}
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    (void)stream;
    return give(pointer, 0, "cudaFreeAsync", RETURN_PC);
}
cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return outcome(cudaErrorInvalidValue);
    return take(pointer, bytes, cudaMemoryTypeManaged, "cudaMallocManaged", RETURN_PC);
}
cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return take(pointer, bytes, cudaMemoryTypeHost, "cudaMallocHost", RETURN_PC);
}
cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    (void)flags;
    return take(pointer, bytes, cudaMemoryTypeHost, "cudaHostAlloc", RETURN_PC);
}
cudaError_t cudaFreeHost(void *pointer)
{
    return give(pointer, 1, "cudaFreeHost", RETURN_PC);
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    if (!pointer || !pitch || width > SIZE_MAX - 511)
        return outcome(cudaErrorInvalidValue);
    *pitch = (width + 511) / 512 * 512;
    size_t bytes;
    if (__builtin_mul_overflow(*pitch, height, &bytes))
        return outcome(cudaErrorMemoryAllocation);
    return take(pointer, bytes, cudaMemoryTypeDevice, "cudaMallocPitch", RETURN_PC);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer)
{
    ALONE;
    if (!attributes)
        return outcome(cudaErrorInvalidValue);
    uintptr_t a = (uintptr_t)pointer;
    const allocation *m = in_arena(a) ? allocation_at(a) : NULL;
    *attributes = (cudaPointerAttributes){cudaMemoryTypeUnregistered, -1, NULL, (void *)pointer};
    if (m && !m->freed && a - m->base < m->size) {
        *attributes = (cudaPointerAttributes){m->type, m->device, (void *)pointer, NULL};
        if (m->type != cudaMemoryTypeDevice)
            attributes->hostPointer = (void *)pointer;
    }
    return cudaSuccess;
}

// What is wrong with one side of a copy or fill; null when it lies inside one live allocation, or in
// host memory, as its direction says. `hint` gets what to do.
static const char *wrong_side(const char *side, const void *pointer, size_t bytes, int on_device,
                              int on_host, const char **hint)
{
    static __thread char what[900];
    uintptr_t a = (uintptr_t)pointer;
    *hint = "pass a pointer from cudaMalloc";
    if (!pointer) {
        snprintf(what, sizeof what, "the %s is a null pointer", side);
        return what;
    }
    if (in_arena(a)) {
        const allocation *m = allocation_at(a);
        if (!m || a - m->base > m->size) {
            snprintf(what, sizeof what, "the %s, %p, is in no allocation", side, pointer);
            return what;
        }
        if (m->heap) {
            *hint = "let a kernel copy it to memory of cudaMalloc";
            snprintf(what, sizeof what, "the %s, %p, was allocated by a kernel", side, pointer);
            return what;
        }
        if (m->freed || bytes > m->size - (a - m->base)) {
            *hint = m->freed ? "free the memory after its last use"
                             : "compare the offset and the size with the allocation's";
            snprintf(what, sizeof what,
                     "the %s is %zu bytes at offset %zu of an allocation of %zu bytes%s%s", side,
                     bytes, a - m->base, m->size, m->freed ? " that was freed" : "", origin(m));
            return what;
        }
        if (m->type != cudaMemoryTypeDevice || on_device)
            return NULL;
        *hint = "name the direction from source to destination, or cudaMemcpyDefault";
        snprintf(what, sizeof what, "the %s, %p, is device memory, and must be the host's", side,
                 pointer);
        return what;
    }
    if (on_host || (program.known && a >= program.data && a < program.data_end))
        return NULL; // in the program's data it is a symbol's, or the host's
    snprintf(what, sizeof what, "the %s, %p, is host memory, and must be the device's", side,
             pointer);
    return what;
}

// Bytes that a call copied to the host, and that nothing had written.
typedef struct {
    allocation *from;
    uintptr_t first;
    size_t bytes;
} lacking;

static void note_lacking(lacking *l, const void *to, const void *from, size_t bytes)
{
    uintptr_t a = (uintptr_t)from, first;
    // After a fault it is no wonder.
    if (!device.instrumented || !device.config.check || device.failed || !in_arena(a))
        return;
    const allocation *target = in_arena((uintptr_t)to) ? allocation_at((uintptr_t)to) : NULL;
    allocation *m = allocation_at(a);
    if (m->type != cudaMemoryTypeDevice || m->blind || m->told ||
        (target && target->type == cudaMemoryTypeDevice))
        return;
    size_t n = count_unwritten(a, bytes, &first);
    if (n && !l->bytes)
        l->from = m, l->first = first;
    l->bytes += n;
}

static void tell_lacking(const lacking *l, int to_host, const char *call, uintptr_t pc)
{
    if (!l->bytes)
        return;
    l->from->told = 1; // once is enough
    tell(SIMT_UNWRITTEN_COPY, cudaSuccess, call, pc,
         "write all of it, cudaMemset it first, or copy less; bytes that pad "
         "structures do no harm",
         "it %s %zu byte%s%s that nothing has written, the first at offset %zu of an allocation of "
         "%zu bytes%s",
         to_host ? "copies" : "combines", l->bytes, l->bytes == 1 ? "" : "s",
         to_host ? " to the host" : "", l->first - l->from->base, l->from->size, origin(l->from));
}

static int is_device_memory(uintptr_t a)
{
    return in_arena(a) && allocation_at(a) && allocation_at(a)->type == cudaMemoryTypeDevice;
}

// A call without a stream comes after what is in the default stream of the device whose memory it touches, and
// before what comes there later, whichever device is current.
static void meet_default(struct CUstream_st *s, const void *pointer)
{
    if (!is_device_memory((uintptr_t)pointer))
        return;
    struct CUstream_st *of = stream_of(0, allocation_at((uintptr_t)pointer)->device);
    catch_up(of);
    learn(&s->past, &of->past);
    learn(&of->past, &s->past);
}

// Rows of a copy. One row has any pitch. `waits`: a call without a stream.
static cudaError_t copy(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream,
                        int waits, const char *call, uintptr_t pc)
{
    ALONE;
    struct CUstream_st *s = stream_of(stream, ordinal());
    if (!s)
        return REFUSE_STREAM(call, pc);
    if ((unsigned)kind > cudaMemcpyDefault)
        return REFUSE(call, pc, cudaErrorInvalidMemcpyDirection, "pass a cudaMemcpyKind",
                      "the direction is %d", (int)kind);
    if (width > to_pitch || width > from_pitch)
        return REFUSE(call, pc, cudaErrorInvalidPitchValue, "count the width and pitches in bytes",
                      "rows of %zu bytes, and pitches of %zu (destination) and %zu (source)", width,
                      to_pitch, from_pitch);
    int any = kind == cudaMemcpyDefault;
    int to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    program_make();
    if (waits)
        meet_default(s, to), meet_default(s, from);
    begin_work(s);
    lacking l = {0};
    for (size_t row = 0; width && row < height; ++row) {
        char *a = (char *)to + row * to_pitch;
        const char *b = (const char *)from + row * from_pitch, *hint,
                   *what = wrong_side("destination", a, width, any || to_device, any || !to_device,
                                      &hint);
        if (!what)
            what = wrong_side("source", b, width, any || from_device, any || !from_device, &hint);
        if (what)
            return REFUSE(call, pc, cudaErrorInvalidValue, hint, "%s", what);
        if ((what = stream_race(&s->past, a, width, 1)) ||
            (what = stream_race(&s->past, b, width, 0)))
            return REFUSE_RACE(call, pc, what);
        note_lacking(&l, a, b, width);
        memmove(a, b, width);
        note_write(a, b, width);
    }
    tell_lacking(&l, 1, call, pc);
    note_action(s, (uintptr_t)to, width, to_pitch, height, 1, call, pc);
    note_action(s, (uintptr_t)from, width, from_pitch, height, 0, call, pc);
    if (waits)
        meet_default(s, to), meet_default(s, from);
    // The host waits for what goes to its own memory, unless that is pinned; and in the calls without a
    // stream for all but copies from device to device.
    if (!in_arena((uintptr_t)to) ||
        (waits && !(is_device_memory((uintptr_t)to) && is_device_memory((uintptr_t)from))))
        learn(&ended, &s->past);
    return cudaSuccess;
}

// A copy between devices, which are named.
static cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device,
                             size_t bytes, cudaStream_t stream, int waits, const char *call,
                             uintptr_t pc)
{
    ALONE;
    if (no_device(to_device) || no_device(from_device))
        return REFUSE(call, pc, cudaErrorInvalidDevice, "count devices from 0",
                      "from device %d to device %d, and there are %u", from_device, to_device,
                      device.config.devices);
    const struct {
        const char *side;
        uintptr_t a;
        int device;
    } sides[] = {{"destination", (uintptr_t)to, to_device},
                 {"source", (uintptr_t)from, from_device}};
    for (int i = 0; bytes && i < 2; ++i) {
        const allocation *m = in_arena(sides[i].a) ? allocation_at(sides[i].a) : NULL;
        if (m && m->type == cudaMemoryTypeDevice && m->device != sides[i].device)
            return REFUSE(call, pc, cudaErrorInvalidValue, "name the device that allocated it",
                          "the %s is memory of device %d, and the call says %d", sides[i].side,
                          m->device, sides[i].device);
    }
    return copy(to, bytes, from, bytes, bytes, 1, cudaMemcpyDeviceToDevice, stream, waits, call,
                pc);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return copy(to, bytes, from, bytes, bytes, 1, kind, 0, 1, "cudaMemcpy", RETURN_PC);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return copy(to, bytes, from, bytes, bytes, 1, kind, stream, 0, "cudaMemcpyAsync", RETURN_PC);
}
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return copy_peer(to, to_device, from, from_device, bytes, 0, 1, "cudaMemcpyPeer", RETURN_PC);
}
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    return copy_peer(to, to_device, from, from_device, bytes, stream, 0, "cudaMemcpyPeerAsync",
                     RETURN_PC);
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind)
{
    return copy(to, to_pitch, from, from_pitch, width, height, kind, 0, 1, "cudaMemcpy2D",
                RETURN_PC);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy(to, to_pitch, from, from_pitch, width, height, kind, stream, 0, "cudaMemcpy2DAsync",
                RETURN_PC);
}

static cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t height,
                        cudaStream_t stream, int waits, const char *call, uintptr_t pc)
{
    ALONE;
    struct CUstream_st *s = stream_of(stream, ordinal());
    if (!s)
        return REFUSE_STREAM(call, pc);
    if (width > pitch)
        return REFUSE(call, pc, cudaErrorInvalidPitchValue, "count the width and pitch in bytes",
                      "rows of %zu bytes, and a pitch of %zu", width, pitch);
    program_make();
    if (waits)
        meet_default(s, to);
    begin_work(s);
    for (size_t row = 0; width && row < height; ++row) {
        char *a = (char *)to + row * pitch;
        const char *hint, *what = wrong_side("destination", a, width, 1, 0, &hint);
        if (what)
            return REFUSE(call, pc, cudaErrorInvalidValue, hint, "%s", what);
        if ((what = stream_race(&s->past, a, width, 1)))
            return REFUSE_RACE(call, pc, what);
        memset(a, value, width);
        note_write(a, NULL, width);
    }
    note_action(s, (uintptr_t)to, width, pitch, height, 1, call, pc);
    if (waits)
        meet_default(s, to);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return fill(to, bytes, value, bytes, 1, 0, 1, "cudaMemset", RETURN_PC);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return fill(to, bytes, value, bytes, 1, stream, 0, "cudaMemsetAsync", RETURN_PC);
}
cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return fill(to, pitch, value, width, height, 0, 1, "cudaMemset2D", RETURN_PC);
}

static int is_symbol(const void *symbol)
{
    program_make();
    uintptr_t a = (uintptr_t)symbol;
    return a >= program.fixed && a < program.fixed_end;
}

// Whether [offset, offset + bytes) is inside the symbol, as far as its size is known.
static int in_symbol(const void *symbol, size_t bytes, size_t offset)
{
    const range *r = find_range(&program.variables, (uintptr_t)symbol, 0);
    size_t size = r ? r->to - (uintptr_t)symbol : SIZE_MAX;
    return offset <= size && bytes <= size - offset;
}

// Copies of symbols wait for what was before them in the default stream.
static void default_stream_ended(void)
{
    struct CUstream_st *s = stream_of(0, ordinal());
    begin_work(s);
    learn(&ended, &s->past);
}

#define REFUSE_BEYOND(call)                                                                        \
    REFUSE(call, RETURN_PC, cudaErrorInvalidValue,                                                 \
           "compare the offset and the size with the variable's",                                  \
           "%zu bytes at offset %zu are not inside the variable", bytes, offset)

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind)
{
    ALONE;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return outcome(cudaErrorInvalidMemcpyDirection);
    if (!is_symbol(symbol))
        return outcome(cudaErrorInvalidSymbol);
    if (!from)
        return outcome(cudaErrorInvalidValue);
    if (!in_symbol(symbol, bytes, offset))
        return REFUSE_BEYOND("cudaMemcpyToSymbol");
    default_stream_ended();
    memmove((char *)symbol + offset, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind)
{
    ALONE;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return outcome(cudaErrorInvalidMemcpyDirection);
    if (!is_symbol(symbol))
        return outcome(cudaErrorInvalidSymbol);
    if (!to)
        return outcome(cudaErrorInvalidValue);
    if (!in_symbol(symbol, bytes, offset))
        return REFUSE_BEYOND("cudaMemcpyFromSymbol");
    default_stream_ended();
    memmove(to, (const char *)symbol + offset, bytes);
    note_write(to, NULL, bytes);
    return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol)
{
    ALONE;
    if (!pointer)
        return outcome(cudaErrorInvalidValue);
    if (!is_symbol(symbol))
        return outcome(cudaErrorInvalidSymbol);
    *pointer = (void *)symbol;
    return cudaSuccess;
}

// ---- streams and events -------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    ALONE;
    if (!stream || flags > cudaStreamNonBlocking)
        return outcome(cudaErrorInvalidValue);
    struct CUstream_st *s = &streams[2 * MAX_DEVICES];
    while (s < streams + STREAMS && s->live)
        ++s;
    if (s == streams + STREAMS)
        return REFUSE("cudaStreamCreate", RETURN_PC, cudaErrorMemoryAllocation,
                      "cudaStreamDestroy those that are not used",
                      "simt has %d streams, and all are taken", STREAMS - 2 * MAX_DEVICES);
    // What an earlier stream of this number did counts as done.
    const int number = number_of(s);
    ended.of[number] = s->past.of[number];
    s->device = ordinal(), s->live = 1;
    s->waits_for_default = flags != cudaStreamNonBlocking;
    *stream = s;
    return cudaSuccess;
}
// A priority changes nothing here: what a GPU does first, when it has a choice, is any order.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    (void)priority; // one beyond the range is taken as its end
    return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5; // a GPU's
    return outcome(cudaSuccess);
}
cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    ALONE;
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread ||
        !stream_of(stream, 0))
        return outcome(cudaErrorInvalidResourceHandle);
    if (stream->waits_for_default) // and the other way round
        learn(&streams[stream->device].past, &stream->past);
    stream->live = stream->waits_for_default = 0;
    return cudaSuccess;
}

// All that is in a stream has ended, as the host knows now.
static cudaError_t stream_ended(cudaStream_t stream, const char *call, uintptr_t pc)
{
    struct CUstream_st *s = stream_of(stream, ordinal());
    if (!s)
        return REFUSE_STREAM(call, pc);
    catch_up(s);
    learn(&ended, &s->past);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ALONE;
    cudaError_t error = stream_ended(stream, "cudaStreamSynchronize", RETURN_PC);
    return error ? error : cudaGetLastError();
}
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    ALONE;
    cudaError_t error = stream_ended(stream, "cudaStreamQuery", RETURN_PC);
    return error ? error : cudaPeekAtLastError();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    ALONE;
    (void)flags;
    struct CUstream_st *s = stream_of(stream, ordinal());
    if (!s)
        return REFUSE_STREAM("cudaStreamWaitEvent", RETURN_PC);
    if (!event)
        return outcome(cudaErrorInvalidResourceHandle);
    learn(&s->past, &event->past);
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    (void)stream;
    if (!function)
        return outcome(cudaErrorInvalidValue);
    function(data);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    if (!event)
        return outcome(cudaErrorInvalidValue);
    *event = calloc(1, sizeof **event);
    if (!*event)
        return outcome(cudaErrorMemoryAllocation);
    (*event)->device = ordinal();
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event)
        return outcome(cudaErrorInvalidResourceHandle);
    free(event);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ALONE;
    struct CUstream_st *s = stream_of(stream, ordinal());
    if (!s)
        return REFUSE_STREAM("cudaEventRecord", RETURN_PC);
    if (!event)
        return outcome(cudaErrorInvalidResourceHandle);
    if (event->device != s->device)
        return REFUSE("cudaEventRecord", RETURN_PC, cudaErrorInvalidResourceHandle,
                      "create the event on the stream's device",
                      "the event is of device %d, and the stream of device %d", event->device,
                      s->device);
    catch_up(s);
    event->past = s->past;
    clock_gettime(CLOCK_MONOTONIC, &event->when);
    event->recorded = 1;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    ALONE;
    if (!event)
        return outcome(cudaErrorInvalidResourceHandle);
    learn(&ended, &event->past);
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return cudaEventSynchronize(event);
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop)
{
    if (!milliseconds)
        return outcome(cudaErrorInvalidValue);
    if (!start || !stop || !start->recorded || !stop->recorded)
        return outcome(cudaErrorInvalidResourceHandle);
    *milliseconds = (float)(1e3 * (double)(stop->when.tv_sec - start->when.tv_sec) +
                            1e-6 * (double)(stop->when.tv_nsec - start->when.tv_nsec));
    return cudaSuccess;
}

// ---- graphs -------------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    (void)stream, (void)mode;
    return outcome(cudaErrorNotSupported);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    (void)stream;
    if (graph)
        *graph = NULL;
    return outcome(cudaErrorNotSupported);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    (void)stream;
    if (!status)
        return outcome(cudaErrorInvalidValue);
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    (void)graph, (void)flags;
    if (exec)
        *exec = NULL;
    return outcome(cudaErrorNotSupported);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    (void)exec, (void)stream;
    return outcome(cudaErrorNotSupported);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    (void)exec;
    return outcome(cudaErrorNotSupported);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)graph;
    return outcome(cudaErrorNotSupported);
}

// ---- functions ----------------------------------------------------------------------------------

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value)
{
    ALONE;
    if (!function)
        return outcome(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        return cudaSuccess;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        value > MAX_DYNAMIC)
        return REFUSE("cudaFuncSetAttribute", RETURN_PC, cudaErrorInvalidValue,
                      "cudaFuncAttributeMaxDynamicSharedMemorySize may be up to 232448",
                      "attribute %d can't be %d", (int)attribute, value);
    int *bytes = opted_bytes(function);
    if (bytes) {
        *bytes = value;
        return cudaSuccess;
    }
    opted.list = must(realloc(opted.list, (opted.count + 1) * sizeof *opted.list));
    opted.list[opted.count++] = (struct opt){function, ordinal(), value};
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *function)
{
    ALONE;
    if (!attributes)
        return outcome(cudaErrorInvalidValue);
    if (!function)
        return outcome(cudaErrorInvalidDeviceFunction);
    // Only a compiler for GPUs knows registers and static shared memory.
    *attributes = (cudaFuncAttributes){.maxThreadsPerBlock = launch_bound(function),
                                       .ptxVersion = 90,
                                       .binaryVersion = 90,
                                       .maxDynamicSharedSizeBytes = dynamic_limit(function),
                                       .preferredShmemCarveout = -1};
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *function, cudaFuncCache config)
{
    (void)config;
    return function ? cudaSuccess : outcome(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int block_size, size_t dynamic_bytes)
{
    ALONE;
    if (!blocks || block_size < 1)
        return outcome(cudaErrorInvalidValue);
    if (!function)
        return outcome(cudaErrorInvalidDeviceFunction);
    int warps = (block_size + LANES - 1) / LANES;
    int fit = block_size > MAX_THREADS ? 0 : THREADS_PER_PROCESSOR / LANES / warps;
    size_t by_shared = (MAX_DYNAMIC + 1024) / (dynamic_bytes + 1024);
    if (dynamic_bytes > (size_t)dynamic_limit(function))
        by_shared = 0;
    if ((size_t)fit > by_shared)
        fit = (int)by_shared;
    *blocks = fit < BLOCKS_PER_PROCESSOR ? fit : BLOCKS_PER_PROCESSOR;
    return cudaSuccess;
}
