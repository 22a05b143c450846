// SPDX-License-Identifier: MIT
// What the parts of the engine share. Host threads take turns: each call of the runtime has `turn`, and
// a launch has it to its end. Of a launch, only one OS thread at a time runs device code (it has the
// baton). So none of this needs a lock of its own.

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "../cuda_runtime_api.h"
#include "../nccl.h"
#include "../simt.h"
#include "../simt_device.h"

enum {
    LANES = 32,
    MAX_THREADS = 1024,
    MAX_WARPS = MAX_THREADS / LANES,
    MAX_SLOTS = 16,
    MAX_CORES = 64,
    MAX_PROCESSORS = 1024,
    MAX_DEVICES = 16,
    MEETINGS = 16,
    SIGHTS = 16,
    MAX_DYNAMIC = 227 * 1024,
    DEFAULT_DYNAMIC = 48 * 1024,
    STACK_BYTES = 256 << 10, // host functions called from a kernel, such as printf, need room
    STALE_WRITES = 16,    // of a thread that does not look again: it takes the old value for good
    IDLE_READS = 1 << 24, // then look whether the thread waits for ever
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

// A function in which an instruction is because it was inlined, one level further out than the last.
typedef struct frame {
    char file[256], function[128];
    int line;
    struct frame *outer;
} frame;

// One instruction of the program, known by the return address of the hook that it called.
typedef struct {
    uintptr_t pc;
    int part;          // of an access wider than 16 bytes, which counts as several
    simt_line counts;  // of this launch
    uint32_t crew;     // the last that was here; see memory.c
    uintptr_t element; // the first that a block read here, and whether it read others
    uint32_t element_block;
    int elements;
    int compared; // a CAS of the same word came after a plain read here
    int resolved;
    char file[256], function[128];
    int line;
    frame *outer;
} place;

// The calls that led to a place: its address, and then the addresses that the callers continue at.
enum { MOST_CALLS = 16 };
typedef struct {
    unsigned count;
    uintptr_t pc[MOST_CALLS];
} trail;

// ---- threads and blocks -------------------------------------------------------------------------

typedef struct fiber {
    jmp_buf here;
    unsigned number;
    int fresh; // never ran, or was abandoned: start it by its context
    ucontext_t context;
    uintptr_t stack; // lowest address
    struct fiber *next_free;
} fiber;

// An access. ATOMIC: atomic or volatile. UPDATE: an atomic that reads and writes. COPY: a piece of a
// structure.
enum { WRITE = 1, ATOMIC = 2, UPDATE = 4, UNALIGNED = 8, VOLATILE = 16, CAS = 32, COPY = 64 };

enum { UNSTARTED, READY, AT_BARRIER, AT_WARP, AT_ACTIVEMASK, DONE };

typedef struct thread {
    uint3 index;
    unsigned id, warp, lane;
    int state;
    fiber *fiber;
    struct block *block;
    uintptr_t last_pc;   // of its last hook, which says where it was
    uintptr_t pc_before; // of the access before that

    // waiting
    uintptr_t wait_pc;
    int wait_op;
    unsigned wait_which; // barrier of the source
    unsigned wait_mask;
    int completes; // it was the last of them to be ready, as another returned
    int source, width;
    uint64_t value, result;

    // spinning: the same access with the same result, again and again
    uintptr_t spin_pc, spin_address;
    uintptr_t look_address;          // of its last volatile read, or 0 if it has written since
    unsigned looks;                  // volatile reads since its last write
    uintptr_t read_pc, read_address; // its last plain read

    // ordering
    fenced near, far;         // by its last fence of any scope; by its last device-wide fence
    struct acquired *pending; // read, not yet fenced
    tick_t seen[LANES];       // last __syncwarp with each lane
    int fenced;               // since its last __syncwarp: 1 for the block, 2 for the device

    // A plain read of what others update by atomics: right, if a CAS of the same word is next
    struct {
        uintptr_t pc, address, other_pc;
        unsigned size, other;
        uint32_t block;
    } doubt;

    // A volatile read that got the old value, as on a GPU it may: wrong, unless the thread looks again
    struct {
        uintptr_t pc, address, other_pc;
        unsigned size, other, to_restore;
        uint32_t block;
        uint64_t value;
        int reader_lacks; // a fence; otherwise it is the writer
        unsigned writes;  // since then
    } stale;

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
    int begins;      // the first of the launch
    unsigned threads, warps, live;
    thread *thread;
    uint32_t ready[MAX_WARPS];   // lanes that could run
    uint32_t lanes[MAX_WARPS];   // lanes that exist
    uint32_t gone[MAX_WARPS];    // lanes that returned
    uint32_t asking[MAX_WARPS];  // lanes that wait in __activemask
    uint32_t meeting[MAX_WARPS]; // lanes that wait for others of the warp

    // order of warps and lanes in this block
    int reversed;
    unsigned lane_turn, warp_turn;

    // the block's barrier
    unsigned arrived;
    thread *first; // to arrive
    int count;
    int fenced; // some thread fenced since the last barrier

    // The last places at which its threads met, by warp; MAX_WARPS: the block
    struct {
        uintptr_t pc;
        unsigned warp;
    } met[MEETINGS];
    unsigned meetings;

    // A read of what nothing had written. If a thread writes it before the next barrier, it is a race,
    // which is the better report.
    struct {
        thread *by;
        uintptr_t pc, address;
        unsigned size;
        int shared, update;
        trail trail;
    } unwritten;

    // ordering
    tick_t start, since, fence_cover;
    struct acquired *acquired;
    struct clock *clock;

    // Threads whose volatile or atomic writes this block's threads have seen, up to which turn
    struct sight {
        uint32_t block;
        unsigned thread, by;
        uint64_t turn;
        tick_t at;
        tick_t since, warp_since; // the writer's last barrier, and __syncwarp
        int released;             // the writer had fenced
    } sights[SIGHTS];
    int writes_volatile;
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
    struct nesting *calls;   // of each warp, when it was last together
    struct loaded *loaded;   // what the block has loaded
} slot;

// ---- the device ---------------------------------------------------------------------------------

static struct {
    simt_config config;
    int quiet;
    int instrumented; // some file of the program is
    uint64_t calls;   // of the runtime, by all host threads

    // this launch
    const simt_launch_request *request;
    int ordinal;      // of the device that it runs on
    simt_order order; // of its blocks, warps and lanes
    int traced;
    int failed;                                         // there was a fault
    int abandoned;                                      // a block ended before its time
    int ended;                                          // no block goes on
    uint64_t grid_x, grid_y, blocks, next_block, until; // the blocks before it are for this process
    void *child;                                        // what a child hands over; see parallel.c
    unsigned threads, slots;
    uint64_t random;
    tick_t start;
    uint64_t idle;             // spins since anything happened
    unsigned reads;            // plain ones since a write, an atomic or a meeting
    volatile uint64_t beat;    // counts what the engine sees happen
    volatile uint64_t alarm;   // the beat at which the watchdog barked
    volatile int telling;      // a report is made: addr2line may take as long as the watchdog waits
    volatile pthread_t runner; // the OS thread that has the baton
    size_t static_shared;      // bytes of shared variables that it touched

    tick_t tick;
    slot *slot[MAX_SLOTS];
    simt_report report;
    simt_counts counts, total;
} device = {.config = {SIMT_FORWARD, 1, 1, 1, 0, 10, 0, 0, 8, 1}, .tick = 1};

// The CUDA thread that this OS thread is running; null in host code.
static __thread thread *self;

// Of this host thread: the current device, and the last error.
static __thread int simt_current;
static __thread cudaError_t simt_error;

// Which device a call is about.
static int ordinal(void)
{
    return self ? device.ordinal : simt_current;
}

static pthread_mutex_t turn = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static int take_turn(void)
{
    if (self) // the launch has it
        return 0;
    pthread_mutex_lock(&turn);
    ++device.calls;
    return 1;
}
static void end_turn(const int *taken)
{
    if (*taken)
        pthread_mutex_unlock(&turn);
}

// To the end of the block in which it stands, no other host thread is in the engine.
#define ALONE const int alone __attribute__((cleanup(end_turn), unused)) = take_turn()

// What cuda_runtime.h declares as threadIdx and so on.
__thread uint3 simt_thread_index, simt_block_index;
uint3 simt_block_size, simt_grid_size;

// Every `extern __shared__` array is this one.
__thread unsigned char simt_dynamic_shared[MAX_DYNAMIC] __attribute__((aligned(1024)));
void simt_no_init(void)
{
}

#define RETURN_PC ((uintptr_t)__builtin_return_address(0))
// Where the caller's frame begins. Unlike __builtin_frame_address, it costs nothing.
#define FRAME     ((uintptr_t)__builtin_dwarf_cfa())

static void give_up(void); // in a child

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
