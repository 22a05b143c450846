// SPDX-License-Identifier: MIT
// What the parts of the engine share. Only one OS thread at a time runs device code (it has the
// baton), so none of this needs a lock of its own.

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../cuda_runtime_api.h"
#include "../simt.h"
#include "../simt_device.h"

enum {
    LANES = 32,
    MAX_THREADS = 1024,
    MAX_WARPS = MAX_THREADS / LANES,
    MAX_SLOTS = 16,
    MAX_DYNAMIC = 227 * 1024,
    DEFAULT_DYNAMIC = 48 * 1024,
    STACK_BYTES = 256 << 10, // host functions called from a kernel, such as printf, need room
    CALLS = 16,
    PAGE = 4096
};

typedef uint64_t tick_t; // counts synchronisations; see order.c

// What a fence makes visible: accesses of its thread up to `own`, of its block before `since`, and of
// its warp before `warp`.
typedef struct {
    tick_t own, since, warp;
} fenced;

// ---- places -------------------------------------------------------------------------------------

// One instruction of the program, known by the return address of the hook that it called.
typedef struct {
    uintptr_t pc;
    int part;         // of an access wider than 16 bytes, which counts as several
    simt_line counts; // of this launch
    uint32_t crew;    // the last that was here; see memory.c
    int resolved;
    char file[256], function[128];
    int line;
} place;

// ---- threads and blocks -------------------------------------------------------------------------

typedef struct fiber {
    jmp_buf here;
    unsigned number;
    int fresh; // never ran, or was abandoned: start it by its context
    ucontext_t context;
    uintptr_t stack; // lowest address
    struct fiber *next_free;
} fiber;

enum { UNSTARTED, READY, AT_BARRIER, AT_WARP, DONE };

typedef struct thread {
    uint3 index;
    unsigned id, warp, lane;
    int state;
    fiber *fiber;
    struct block *block;
    uintptr_t last_pc; // of its last hook, which says where it was

    // waiting
    uintptr_t wait_pc;
    int wait_op;
    unsigned wait_mask;
    int source, width;
    uint64_t value, result;

    // spinning: the same access with the same result, again and again
    uintptr_t spin_pc, spin_address;

    // ordering
    fenced near, far;         // by its last fence of any scope; by its last device-wide fence
    struct acquired *pending; // read, not yet fenced
    tick_t seen[LANES];       // last __syncwarp with each lane

    struct copy *copies, *last_copy; // asynchronous, not yet waited for
    unsigned copy_group;

    unsigned accesses; // and other steps, since it let the other lanes catch up
    uint64_t global;   // accesses since it started

    uintptr_t frame, first_frame; // on its stack: of its last hook; of its first
    struct path *path;            // its warp's steps; see count.c
    struct step *next_step;
} thread;

typedef struct block {
    struct slot *slot;
    uint3 index;
    uint64_t serial; // linear index in the grid
    unsigned threads, warps, live, exited;
    thread *thread;
    uint32_t ready[MAX_WARPS]; // lanes that could run
    uint32_t lanes[MAX_WARPS]; // lanes that exist
    uint32_t gone[MAX_WARPS];  // lanes that returned

    // order of warps and lanes in this block
    int reversed;
    unsigned lane_turn, warp_turn;

    // the block's barrier
    unsigned arrived;
    thread *first; // to arrive
    int count;
    int fenced; // some thread fenced since the last barrier

    // A read of what nothing had written. If a thread writes it before the next barrier, it is a race,
    // which is the better report.
    struct {
        thread *by;
        uintptr_t pc, address;
        unsigned size;
        int shared, update;
    } unwritten;

    // ordering
    tick_t start, since, fence_cover;
    struct acquired *acquired;
    struct clock *clock;
} block;

// Room for one resident block, and the OS thread whose thread-local storage is its shared memory.
typedef struct slot {
    int number, active, started;
    pthread_t os_thread;
    sem_t baton;
    jmp_buf root;
    block block;
    thread threads[MAX_THREADS];
    fiber *fibers[MAX_THREADS];
    unsigned fibers_made;
    fiber *free_fibers;
    uintptr_t shared; // lowest address of its thread-local storage
    struct page **shared_pages;
    struct path *free_paths; // see count.c
    struct calls *calls;     // of each warp, when it was last together
} slot;

// ---- the device ---------------------------------------------------------------------------------

static struct {
    simt_config config;
    int quiet;
    int instrumented; // some file of the program is
    cudaError_t error;

    // this launch
    const simt_launch_request *request;
    int running, traced, failed;
    uint64_t grid_x, grid_y, blocks, next_block;
    unsigned threads, slots;
    uint64_t random;
    tick_t start;
    uint64_t idle;        // spins since anything happened
    size_t static_shared; // bytes of shared variables that it touched

    tick_t tick;
    slot *slot[MAX_SLOTS];
    simt_report report;
    simt_counts counts, total;
} device = {.config = {SIMT_FORWARD, 1, 1, 1, 0}, .tick = 1};

// The CUDA thread that this OS thread is running; null in host code.
static __thread thread *self;

// What cuda_runtime.h declares as threadIdx and so on.
__thread uint3 simt_thread_index, simt_block_index;
uint3 simt_block_size, simt_grid_size;

// Every `extern __shared__` array is this one.
__thread unsigned char simt_dynamic_shared[MAX_DYNAMIC] __attribute__((aligned(1024)));
void simt_no_init(void)
{
}

#define RETURN_PC ((uintptr_t)__builtin_return_address(0))
#define FRAME     ((uintptr_t)__builtin_dwarf_cfa()) // where the caller's begins; unlike
                                                     // __builtin_frame_address, it costs nothing

static void *must(void *p)
{
    if (p && p != MAP_FAILED)
        return p;
    fprintf(stderr, "simt: out of host memory; use a smaller problem or fewer resident blocks\n");
    abort();
}

// splitmix64
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static unsigned below(unsigned n)
{
    return (unsigned)(draw(&device.random) % n);
}
