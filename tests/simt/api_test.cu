// SPDX-License-Identifier: MIT
//
// The CPU device's memory and runtime API: what they report, beside the correct twin of each that they
// don't, and what they cost.

#include <cuda_runtime.h>
#include <simt.h>

#include <string.h>

#include "../tap.h"

template <class... P, class... A>
static cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, A... arguments)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = grid, c.blockDim = block;
    return cudaLaunchKernelEx(&c, kernel, arguments...);
}

// ---- allocations --------------------------------------------------------------------------------

__global__ void nothing(void)
{
}

__global__ void fill(int *p, int value)
{
    p[threadIdx.x] = value;
}

__global__ void add_one(int *p)
{
    p[threadIdx.x] += 1;
}

static void test_reuse(void)
{
    const size_t size = (size_t)1 << 30;
    bool good = true;
    int *p = NULL, *kept = NULL, *last = NULL, host = 0;
    cudaMalloc(&kept, 128);
    launch(fill, 1, 32, kept, 7);
    for (int i = 0; i < 1500; ++i) {
        last = p;
        good =
            good && cudaMalloc(&p, size) == cudaSuccess && p != last && cudaFree(p) == cudaSuccess;
    }
    tap_ok(good, "1 GiB is allocated and freed 1500 times");
    cudaMalloc(&p, size);
    if (simt_traced()) {
        simt_print_reports(0);
        launch(add_one, 1, 32, p);
        tap_ok(simt_last_report()->kind == SIMT_UNWRITTEN,
               "memory that is used again is unwritten");
        launch(fill, 1, 32, last, 1);
        tap_ok(simt_last_report()->kind == SIMT_USE_AFTER_FREE,
               "and what was freed last is not used yet");
        simt_print_reports(1);
        cudaGetLastError();
    }
    launch(fill, 1, 32, p, 1);
    launch(add_one, 1, 32, p);
    launch(add_one, 1, 32, kept);
    cudaMemcpy(&host, kept, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(!cudaGetLastError() && host == 8, "what was not freed keeps its values");

    // Pieces of several sizes, most of them from what is left of larger ones.
    struct piece {
        char *at;
        size_t size;
    } pieces[64] = {};
    unsigned random = 1;
    for (int i = 0; i < 3000; ++i) {
        random = random * 1103515245 + 12345;
        piece *q = &pieces[random >> 16 & 63];
        good = good && cudaFree(q->at) == cudaSuccess;
        random = random * 1103515245 + 12345;
        *q = {NULL, (size_t)(random >> 16 & 1023) * 6 * 16384 + 1};
        good = good && cudaMalloc(&q->at, q->size) == cudaSuccess;
        for (const piece &other : pieces)
            good = good && (&other == q || !other.at || q->at + q->size <= other.at ||
                            other.at + other.size <= q->at);
        simt_print_reports(0);
        good = good && cudaMemset(q->at + q->size - 1, 1, 1) == cudaSuccess &&
               cudaMemset(q->at + q->size, 1, 1) == cudaErrorInvalidValue;
        simt_print_reports(1);
        cudaGetLastError();
    }
    for (const piece &q : pieces)
        good = good && cudaFree(q.at) == cudaSuccess;
    tap_ok(good, "pieces of freed memory are handed out, and never two at one place");
    cudaFree(p);
    cudaFree(kept);
}

// ---- bytes --------------------------------------------------------------------------------------

// Threads of four warps, or of four blocks, share each word.
template <bool fixed> __global__ void strided_bytes(unsigned char *p, bool blocks)
{
    unsigned n = blockDim.x * gridDim.x, i = blocks ? threadIdx.x * gridDim.x + blockIdx.x
                                                    : blockIdx.x * blockDim.x +
                                                          threadIdx.x % 32 * (blockDim.x / 32) +
                                                          threadIdx.x / 32;
    p[i] = (unsigned char)(p[i] + 1);
    if (!fixed && i == n - 1)
        p[i - 2] = 0;
}

__global__ void each_byte(unsigned char *p)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i] = (unsigned char)(p[i] + 1);
}

static size_t resident_bytes(void)
{
    size_t whole = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%zu %zu", &whole, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * 4096;
}

static void test_bytes(void)
{
    const size_t size = 8 << 20;
    unsigned char *p, last = 0;
    cudaMalloc(&p, size);
    cudaMemset(p, 0, size);
    size_t before = resident_bytes();
    cudaError_t error = launch(each_byte, (unsigned)(size / 256), 256, p);
    size_t cost = resident_bytes() - before;
    cudaMemcpy(&last, p + size - 1, 1, cudaMemcpyDeviceToHost);
    tap_ok(!error && last == 1 && cost <= 12 * size,
           "8 MiB of bytes cost at most 12 times as much");
    tap_diag("%.1f times", (double)cost / (double)size);
    for (int blocks = 0; blocks < 2; ++blocks) {
        const char *by = blocks ? "blocks" : "warps";
        tap_ok(!launch(strided_bytes<true>, 4, 128, p, (bool)blocks),
               "bytes of a word by four %s: clean", by);
        simt_print_reports(0);
        launch(strided_bytes<false>, 4, 128, p, (bool)blocks);
        simt_print_reports(1);
        tap_ok(simt_last_report()->kind == SIMT_RACE && simt_last_report()->size == 1,
               "one byte of them by two %s: reported", by);
        cudaGetLastError();
    }
    cudaFree(p);
}

// ---- calls of the runtime API -------------------------------------------------------------------

static unsigned long long reports_before;

static void quietly(void)
{
    reports_before = simt_warnings();
    simt_print_reports(0);
}

// Whether one report came since quietly(), of the kind, from this file's line, with the text.
static bool told(simt_kind kind, int line, const char *says)
{
    simt_print_reports(1);
    cudaGetLastError();
    const simt_report *r = simt_last_warning();
    bool good = simt_warnings() == reports_before + 1 && r->kind == kind && strstr(r->text, says) &&
                ((r->here.line == line && strstr(r->here.file, "api_test.cu")) || !simt_traced());
    if (!good)
        tap_diag("%llu reports, line %d, not %d; the last:\n%s", simt_warnings() - reports_before,
                 r->here.line, line, r->text);
    return good;
}

static bool nothing_told(void)
{
    simt_print_reports(1);
    if (simt_warnings() != reports_before)
        tap_diag("%s", simt_last_warning()->text);
    return simt_warnings() == reports_before && !cudaGetLastError();
}

// The call returns the error, and one report says why.
#define REFUSED(call, error, says, name)                                                           \
    do {                                                                                           \
        quietly();                                                                                 \
        bool same = (call) == (error) && cudaPeekAtLastError() == (error);                         \
        tap_ok(told(SIMT_INVALID_CALL, __LINE__, says) && same, "told: %s", name);                 \
    } while (0)
#define ACCEPTED(call, name)                                                                       \
    do {                                                                                           \
        quietly();                                                                                 \
        bool same = (call) == cudaSuccess;                                                         \
        tap_ok(nothing_told() && same, "accepted: %s", name);                                      \
    } while (0)

__global__ void wants_shared(void)
{
}

__constant__ int constant[4];

static void test_refused(void)
{
    cudaLaunchConfig_t c = {};
#define SHAPE(...) (c.gridDim = 1, c.blockDim = 1, c.dynamicSmemBytes = 0, __VA_ARGS__)
#define LAUNCH()   cudaLaunchKernelEx(&c, wants_shared)
    SHAPE(c.blockDim = 1025);
    REFUSED(LAUNCH(), cudaErrorInvalidConfiguration, "block.x is 1025, and must be 1 to 1024",
            "block.x");
    SHAPE(c.blockDim = dim3(1, 1, 65));
    REFUSED(LAUNCH(), cudaErrorInvalidConfiguration, "block.z is 65, and must be 1 to 64",
            "block.z");
    SHAPE(c.blockDim = dim3(32, 33));
    REFUSED(LAUNCH(), cudaErrorInvalidConfiguration, "1056 threads", "threads of a block");
    SHAPE(c.gridDim = 0);
    REFUSED(LAUNCH(), cudaErrorInvalidConfiguration, "grid.x is 0", "an empty grid");
    SHAPE(c.gridDim = dim3(1, 65536));
    REFUSED(LAUNCH(), cudaErrorInvalidConfiguration, "grid.y is 65536", "grid.y");
    SHAPE(c.gridDim = dim3(1 << 20), c.blockDim = dim3(0, 1));
    REFUSED(LAUNCH(), cudaErrorInvalidConfiguration, simt_traced() ? "wants_shared" : "kernel at",
            "the kernel's name");
    SHAPE(c.gridDim = dim3(3, 2, 1), c.blockDim = dim3(4, 4, 64));
    ACCEPTED(LAUNCH(), "a launch at the limit");
    SHAPE(c.dynamicSmemBytes = 49153);
    REFUSED(LAUNCH(), cudaErrorInvalidValue, "cudaFuncSetAttribute",
            "49153 bytes of shared memory");
    REFUSED(cudaFuncSetAttribute(wants_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449),
            cudaErrorInvalidValue, "232448", "an attribute that is too much");
    cudaFuncSetAttribute(wants_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 49153);
    ACCEPTED(LAUNCH(), "49153 bytes, asked for");

    char *p, *q, *pinned, host[128] = {};
    cudaMalloc(&p, 64), cudaMalloc(&q, 64), cudaMallocHost(&pinned, 64);
    REFUSED(cudaMemcpy(p + 8, host, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue,
            "64 bytes at offset 8 of an allocation of 64", "a copy that ends outside");
    ACCEPTED(cudaMemcpy(p + 8, host, 56, cudaMemcpyHostToDevice), "a copy that ends at the end");
    REFUSED(cudaMemcpy(p, host, 64, cudaMemcpyDeviceToHost), cudaErrorInvalidValue, "destination",
            "a copy in the wrong direction");
    REFUSED(cudaMemcpyAsync(p, host, 64, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue,
            "source, 0x", "host memory as the device's");
    ACCEPTED(cudaMemcpyAsync(p, host, 64, cudaMemcpyDefault), "either direction");
    ACCEPTED(cudaMemcpy(pinned, p, 64, cudaMemcpyDeviceToDevice), "pinned memory in any direction");
    REFUSED(cudaMemcpy(host, NULL, 64, cudaMemcpyDeviceToHost), cudaErrorInvalidValue,
            "null pointer", "a copy from null");
    REFUSED(cudaMemcpy2D(p, 16, host, 16, 12, 5, cudaMemcpyHostToDevice), cudaErrorInvalidValue,
            "offset 64", "a row that lies outside");
    REFUSED(cudaMemcpy2D(p, 8, host, 16, 12, 4, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue,
            "pitches of 8", "rows longer than their pitch");
    ACCEPTED(cudaMemcpy2D(p, 16, host, 16, 12, 4, cudaMemcpyHostToDevice), "rows that fit");
    REFUSED(cudaMemset(host, 0, 4), cudaErrorInvalidValue, "host memory", "a fill of host memory");
    REFUSED(cudaMemcpyToSymbol(constant, host, 17), cudaErrorInvalidValue, "17 bytes",
            "a copy beyond a variable");
    ACCEPTED(cudaMemcpyToSymbol(constant, host, 12, 4), "a copy of a variable's end");
    REFUSED(cudaMalloc(&q, (size_t)1 << 40), cudaErrorMemoryAllocation, "are left",
            "too much memory");
    REFUSED(cudaFree(p + 16), cudaErrorInvalidValue, "16 bytes into an allocation of 64",
            "cudaFree inside");
    REFUSED(cudaFree(host), cudaErrorInvalidValue, "no allocation", "cudaFree of host memory");
    REFUSED(cudaFree(pinned), cudaErrorInvalidValue, "cudaFreeHost", "cudaFree of pinned memory");
    ACCEPTED(cudaFreeHost(pinned), "cudaFreeHost of it");
    ACCEPTED(cudaFree(p), "cudaFree");
    REFUSED(cudaFree(p), cudaErrorInvalidValue, "freed before", "a second cudaFree");
    REFUSED(cudaMemset(p, 0, 4), cudaErrorInvalidValue, "that was freed", "a fill of freed memory");
    simt_config config = simt_get_config();
    config.check = 0;
    simt_set_config(&config);
    quietly();
    tap_ok(cudaFree(p) == cudaErrorInvalidValue && simt_warnings() == reports_before,
           "nothing is told when nothing is checked");
    config.check = 1;
    simt_set_config(&config);
    simt_print_reports(1);
    cudaGetLastError();
}

// ---- copies of what nothing wrote ---------------------------------------------------------------

__global__ void write_some(int *p, int n)
{
    if ((int)threadIdx.x < n)
        p[threadIdx.x] = 1;
}

static void test_unwritten_copy(void)
{
    int *p, *q, host[64] = {};
    cudaMalloc(&p, sizeof host), cudaMalloc(&q, sizeof host);
    launch(write_some, 1, 64, p, 60);
    cudaMemcpy(q, p, sizeof host, cudaMemcpyDeviceToDevice);
    ACCEPTED(cudaMemcpy(host, p, 60 * sizeof(int), cudaMemcpyDeviceToHost),
             "a copy of what was written");
    quietly();
    cudaError_t error = cudaMemcpy(host, p + 4, 60 * sizeof(int), cudaMemcpyDeviceToHost);
    tap_ok(told(SIMT_UNWRITTEN_COPY, __LINE__ - 1,
                "16 bytes to the host that nothing has written, the first at offset 240 of an "
                "allocation of 256") &&
               !error && host[0] == 1,
           "told: a copy of unwritten bytes, which happens");
    ACCEPTED(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost), "once for an allocation");
    quietly();
    cudaMemcpyAsync(host, q, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(told(SIMT_UNWRITTEN_COPY, __LINE__ - 1, "16 bytes"),
           "told: of what was copied on the device");
    cudaFree(q), cudaMalloc(&q, sizeof host);
    launch(write_some, 1, 64, q, 30);
    quietly();
    cudaMemcpy2D(host, 16, q, 64, 16, 4, cudaMemcpyDeviceToHost);
    tap_ok(told(SIMT_UNWRITTEN_COPY, __LINE__ - 1, "32 bytes"), "told: rows of a copy, together");
    cudaFree(q), cudaMalloc(&q, sizeof host);
    launch(write_some, 1, 64, q, 32);
    ACCEPTED(cudaMemcpy2D(host, 16, q, 64, 16, 2, cudaMemcpyDeviceToHost),
             "rows that were written");
    cudaFree(q), cudaMalloc(&q, sizeof host);
    simt_config c = simt_get_config();
    c.check = 0;
    simt_set_config(&c);
    ACCEPTED(cudaMemcpy(host, q, sizeof host, cudaMemcpyDeviceToHost),
             "any copy, when nothing is checked");
    launch(write_some, 1, 64, q, 64);
    c.check = 1;
    simt_set_config(&c);
    ACCEPTED(cudaMemcpy(host, q, sizeof host, cudaMemcpyDeviceToHost),
             "a copy of what an unchecked launch wrote");
    cudaFree(q), cudaMalloc(&q, sizeof host);
    simt_print_reports(0);
    launch(write_some, 1, 64, (int *)NULL, 64);
    simt_print_reports(1);
    cudaGetLastError();
    ACCEPTED(cudaMemcpy(host, q, sizeof host, cudaMemcpyDeviceToHost), "a copy after a fault");
    launch(nothing, 1, 1);
    cudaFree(p), cudaFree(q);
}

// ---- malloc, free, new and delete in kernels ----------------------------------------------------

struct node {
    int value;
    node *next;
    __device__ node(int v, node *n) : value(v), next(n)
    {
    }
};

__global__ void lists(int *out, int length)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    node *list = NULL;
    for (int i = 0; i < length; ++i)
        list = new node(t + i, list);
    while (list) {
        node *next = list->next;
        sum += list->value;
        delete list;
        list = next;
    }
    int *many = (int *)malloc(100 * sizeof(int)), *large = new int[5000];
    for (int i = 0; i < 100; ++i)
        many[i] = large[50 * i] = i;
    for (int i = 0; i < 100; ++i)
        sum += many[i] - large[50 * i];
    free(many);
    delete[] large;
    out[t] = sum;
}

// One launch leaves memory for another.
__global__ void leave(int **p)
{
    p[threadIdx.x] = (int *)malloc(4);
    if (p[threadIdx.x])
        *p[threadIdx.x] = threadIdx.x;
}
__global__ void collect(int **p, int *out)
{
    out[threadIdx.x] = p[threadIdx.x] ? *p[threadIdx.x] : -1;
    free(p[threadIdx.x]);
}

enum heap_fault { NONE, UNWRITTEN, BEYOND, FREED, TWICE, INSIDE, NOT_MINE, HEAP_RACE };

// The compiler need not know, and warn.
static __device__ int *hide(int *p)
{
    __asm__("" : "+r"(p));
    return p;
}

__global__ void heap_use(heap_fault f, int *cuda)
{
    __shared__ int *all;
    int *p = hide((int *)malloc(6 * sizeof(int)));
    for (int i = 0; i < 6 && f != UNWRITTEN; ++i)
        p[i] = i;
    if (f == BEYOND)
        p[6] = 1;
    cuda[threadIdx.x] = p[5];
    if (!threadIdx.x)
        all = p;
    __syncthreads();
    all[f == HEAP_RACE ? 0 : threadIdx.x] = 1;
    __syncthreads();
    if (f == NOT_MINE)
        free(cuda);
    free(hide(f == INSIDE ? p + 1 : p));
    if (f == FREED)
        p[2] = 1;
    if (f == TWICE)
        free(p);
}

__global__ void leak(int *failed)
{
    if (!malloc(1 << 20))
        atomicAdd(failed, 1);
}

static void test_heap(void)
{
    int *out, host[256] = {};
    cudaMalloc(&out, sizeof host);
    bool good = true;
    for (int order = 0; order < 3; ++order)
        for (unsigned resident = 1; resident <= 4; resident += 3) {
            simt_config c = simt_get_config();
            c.order = (simt_order)order, c.resident = resident;
            simt_set_config(&c);
            good = good && !launch(lists, 8, 32, out, 20);
            cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
            for (int t = 0; t < 256; ++t)
                good = good && host[t] == 20 * t + 190;
            c.order = SIMT_FORWARD, c.resident = 1;
            simt_set_config(&c);
        }
    tap_ok(good, "lists by new and delete, arrays by malloc and free");
    size_t before = resident_bytes();
    for (int i = 0; i < 8; ++i)
        good = good && !launch(lists, 8, 32, out, 500);
    tap_ok(good && resident_bytes() - before < 32 << 20, "a million of them take little room");

    int **kept;
    cudaMalloc(&kept, 32 * sizeof *kept);
    cudaError_t left = launch(leave, 1, 32, kept), found = launch(collect, 1, 32, kept, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(!left && !found && host[31] == 31, "memory of one launch is another's");
    launch(leave, 1, 32, kept);
    int *first;
    cudaMemcpy(&first, kept, sizeof first, cudaMemcpyDeviceToHost);
    REFUSED(cudaFree(first), cudaErrorInvalidValue, "allocated by a kernel",
            "cudaFree of a kernel's memory");
    REFUSED(cudaMemcpy(host, first, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue,
            "allocated by a kernel", "a copy of a kernel's memory");
    launch(collect, 1, 32, kept, out);

    cudaMemset(out, 0, 4);
    launch(leak, 1, 32, out);
    cudaMemcpy(host, out, 4, cudaMemcpyDeviceToHost);
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)64 << 20);
    cudaMemset(out, 0, 4);
    launch(leak, 1, 32, out);
    cudaMemcpy(host + 1, out, 4, cudaMemcpyDeviceToHost);
    tap_ok(host[0] == 24 && host[1] == 0 && !cudaGetLastError(),
           "the heap has 8 MiB, or what is asked for");

    void *mine = malloc(100);
    int *own = new int[100];
    tap_ok(mine && own, "the host has its own");
    delete[] own;
    free(mine);

    tap_ok(!launch(heap_use, 1, 6, NONE, out), "clean: a kernel's use of its heap");
    if (!simt_traced())
        return;
    static const struct {
        heap_fault f;
        simt_kind kind;
        const char *says;
    } faults[] = {
        {UNWRITTEN, SIMT_UNWRITTEN, "global memory"},
        {BEYOND, SIMT_OUT_OF_BOUNDS, "4 bytes past an allocation of 24"},
        {FREED, SIMT_USE_AFTER_FREE, "8 bytes into an allocation of 24"},
        {TWICE, SIMT_INVALID_FREE, "freed before"},
        {INSIDE, SIMT_INVALID_FREE, "4 bytes into an allocation of 24"},
        {NOT_MINE, SIMT_INVALID_FREE, "not from malloc"},
        {HEAP_RACE, SIMT_RACE, "another thread"},
    };
    for (const auto &x : faults) {
        simt_print_reports(0);
        launch(heap_use, 1, 6, x.f, out);
        simt_print_reports(1);
        const simt_report *r = simt_last_report();
        if (!tap_ok(r->kind == x.kind && strstr(r->text, x.says) && r->here.line,
                    "reported: %s in the heap", simt_kind_name(x.kind)))
            tap_diag("%s", r->text);
        cudaGetLastError();
    }
    cudaFree(out), cudaFree(kept);
}

// ---- what nvcc or the hardware refuses ----------------------------------------------------------

template <int n> __device__ void use_shared(char *out)
{
    __shared__ char s[n];
    s[threadIdx.x] = (char)n;
    out[threadIdx.x] = s[threadIdx.x];
}

template <int own, int called> __global__ void static_shared(char *out)
{
    __shared__ char s[own];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x];
    __syncthreads();
    use_shared<called>(out);
}

static void shared_case(void (*kernel)(char *), size_t dynamic, bool fits, const char *name)
{
    char *p;
    cudaMalloc(&p, 32);
    cudaLaunchConfig_t c = {};
    c.gridDim = 1, c.blockDim = 32, c.dynamicSmemBytes = dynamic;
    simt_print_reports(0);
    cudaError_t error = cudaLaunchKernelEx(&c, kernel, p);
    simt_print_reports(1);
    cudaGetLastError();
    const simt_report *r = simt_last_report();
    if (!tap_ok(fits ? !error
                     : error == cudaErrorLaunchOutOfResources && r->kind == SIMT_SHARED_SIZE &&
                           r->here.line,
                "%s: %s", fits ? "clean" : "reported", name))
        tap_diag("%s: %s", cudaGetErrorName(error), r->text);
    cudaFree(p);
}

static void test_static_shared(void)
{
    shared_case(static_shared<32768, 16384>, 0, true, "48 KiB of shared variables");
    shared_case(static_shared<32768, 16385>, 0, false, "one byte more");
    shared_case(static_shared<1024, 1024>, 46 << 10, true, "48 KiB with dynamic ones");
    shared_case(static_shared<1024, 1025>, 46 << 10, false, "one byte more with dynamic ones");
    cudaFuncSetAttribute(static_shared<1024, 1026>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         100 << 10);
    shared_case(static_shared<1024, 1026>, 100 << 10, true, "100 KiB of dynamic ones, asked for");
}

enum { SMALL_BLOCK = 64 };
constexpr int bound_of_constexpr = 96;
template <int n> struct traits {
    static constexpr int threads = 2 * n;
};
__global__ void __launch_bounds__(SMALL_BLOCK) bound_enum(int *)
{
}
__launch_bounds__(bound_of_constexpr, 2) __global__ void bound_constexpr(int *)
{
}
template <int n> __global__ void __launch_bounds__(n) bound_template(int *)
{
}
template <class T> static __global__ void __launch_bounds__(T::threads) bound_traits(int *);
template <class T> static __global__ void __launch_bounds__(T::threads) bound_traits(int *p)
{
    if (p)
        *p = 1;
}
__global__ void __launch_bounds__(1024) bound_most(int *)
{
}
__global__ void bound_none(int *)
{
}

static void test_launch_bounds(void)
{
    static const struct {
        void (*kernel)(int *);
        int bound;
    } cases[] = {
        {bound_enum, 64},         {bound_constexpr, 96},           {bound_template<32>, 32},
        {bound_template<33>, 33}, {bound_traits<traits<50>>, 100}, {bound_most, 1024},
        {bound_none, 1024}};
    bool refused = true, ran = true, known = true;
    for (const auto &c : cases) {
        cudaFuncAttributes a;
        cudaFuncGetAttributes(&a, c.kernel);
        known = known && a.maxThreadsPerBlock == c.bound;
        ran = ran && !launch(c.kernel, 1, c.bound, (int *)NULL);
        quietly();
        if (c.bound < 1024) {
            cudaError_t error = launch(c.kernel, 1, c.bound + 1, (int *)NULL);
            refused = refused && error == cudaErrorInvalidValue &&
                      strstr(simt_last_warning()->text, "__launch_bounds__");
        }
        simt_print_reports(1);
        cudaGetLastError();
    }
    tap_ok(refused, "launches beyond __launch_bounds__ are refused");
    tap_ok(ran, "launches at the bound run");
    tap_ok(known, "cudaFuncGetAttributes knows the bound");
}

__constant__ int constant_array[8];
__device__ int device_variable = 3, device_array[8];
static __device__ int static_device_variable = 4;
__managed__ int managed_variable;
int host_variable;
static float host_array[8];
static const int table[4] = {1, 2, 3, 4};
static const char *const words[2] = {"one", "two"};
template <class T> __device__ T of_template = T(5);
struct limits {
    static constexpr int most[2] = {6, 7};
};
constexpr int limits::most[2];

enum variable_use { WELL, CONSTANT_WRITE, HOST_READ, HOST_WRITE, HOST_ARRAY };

__global__ void use_variables(variable_use u, int *out)
{
    int i = threadIdx.x & 3;
    out[0] = device_variable + static_device_variable + constant_array[i] + table[i] +
             of_template<int> + limits::most[i & 1] + words[i & 1][0] + managed_variable +
             device_array[i];
    if (u == CONSTANT_WRITE)
        const_cast<volatile int *>(constant_array)[1] = 2;
    if (u == HOST_READ)
        out[1] = host_variable;
    if (u == HOST_WRITE)
        host_variable = 3;
    if (u == HOST_ARRAY)
        out[2] = (int)host_array[7];
}

static void test_variables(void)
{
    int *out, host = 0, eight[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    cudaMalloc(&out, 64);
    host_variable = 5;
    for (int i = 0; i < 8; ++i)
        host_array[i] = (float)i;
    managed_variable = 10;
    cudaMemcpyToSymbol(constant_array, eight, sizeof eight);
    cudaMemcpyToSymbol(device_array, eight, sizeof eight);
    cudaError_t error = launch(use_variables, 1, 1, WELL, out);
    cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(!error && host == 3 + 4 + 1 + 1 + 5 + 6 + 'o' + 10 + 1,
           "variables of every kind: clean (%d)", host);
    static const struct {
        variable_use use;
        simt_kind kind;
        const char *says;
    } faults[] = {
        {CONSTANT_WRITE, SIMT_CONSTANT_WRITE, "write of 4 bytes of constant_array"},
        {HOST_READ, SIMT_HOST_POINTER, "read of 4 bytes of host_variable"},
        {HOST_WRITE, SIMT_HOST_POINTER, "write of 4 bytes of host_variable"},
        {HOST_ARRAY, SIMT_HOST_POINTER, "read of 4 bytes of host_array"},
    };
    for (const auto &f : faults) {
        simt_print_reports(0);
        launch(use_variables, 1, 1, f.use, out);
        simt_print_reports(1);
        cudaGetLastError();
        const simt_report *r = simt_last_report();
        if (!tap_ok(r->kind == f.kind && strstr(r->text, f.says), "reported: %s", f.says))
            tap_diag("%s", r->text);
    }
    cudaFree(out);
}

__global__ void launches(bool really, int *out)
{
    if (really) {
        cudaLaunchConfig_t c = {};
        c.gridDim = 1, c.blockDim = 1;
        cudaLaunchKernelEx(&c, fill, out, 1);
    }
    *out = 2;
}

static void test_nested_launch(void)
{
    int *out, host = 0;
    cudaMalloc(&out, 4);
    cudaError_t error = launch(launches, 1, 1, false, out);
    cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost);
    tap_ok(!error && host == 2, "clean: a kernel that launches nothing");
    simt_print_reports(0);
    error = launch(launches, 1, 1, true, out);
    simt_print_reports(1);
    cudaGetLastError();
    const simt_report *r = simt_last_report();
    if (!tap_ok(error == cudaErrorNotSupported && r->kind == SIMT_NESTED_LAUNCH &&
                    (r->here.line || !simt_traced()),
                "reported: a launch in a kernel"))
        tap_diag("%s", r->text);
    cudaFree(out);
}

int main()
{
    launch(nothing, 1, 32);
    test_reuse();
    if (simt_traced())
        test_bytes();
    test_refused();
    if (simt_traced())
        test_unwritten_copy();
    test_heap();
    if (simt_traced()) {
        test_static_shared();
        test_variables();
    }
    test_launch_bounds();
    test_nested_launch();
    return tap_done();
}
