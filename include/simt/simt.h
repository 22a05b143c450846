// SPDX-License-Identifier: MIT
//
// simt, the CPU device: what a test or a tool can ask it. A kernel needs none of this; it includes
// <cuda_runtime.h>.
//
// Settings hold from one launch to the next. They start from the environment (SIMT_ORDER,
// SIMT_SEED, SIMT_RESIDENT, SIMT_CHECK, SIMT_COUNT, SIMT_KEEP_GOING, SIMT_DEVICES ...; see docs/simt.md).

#ifndef SIMT_H
#define SIMT_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- settings -----------------------------------------------------------------------------------

// SIMT_ROTATE: the launches of a program take the other three in turn.
typedef enum { SIMT_FORWARD, SIMT_REVERSE, SIMT_SHUFFLE, SIMT_ROTATE } simt_order;

typedef struct {
    simt_order order;        // of blocks, and of the warps and lanes within a block
    unsigned long long seed; // of the shuffled order, and of how resident blocks interleave
    unsigned resident;       // blocks on the device at once, 1 to 16
    int check;               // 1: report faults, if the code is instrumented
    int count;               // 1: print a table after each launch; 2: also a row per source line
    unsigned watchdog;       // seconds that a thread may compute without memory; 0: for ever
    int keep_going;          // 1: a launch goes on after a fault, as far as it can
    unsigned cores;          // 1 to 64; 0: all. They change the time, and no result
    unsigned processors;     // multiprocessors that the device says it has, 1 to 1024
    unsigned devices;        // 1 to 16
} simt_config;

simt_config simt_get_config(void);

// 0, or -1 (and a message on stderr) when a value is out of range; then nothing changed.
int simt_set_config(const simt_config *config);

// The order of the last launch, as settings that repeat it: "SIMT_ORDER=shuffle SIMT_SEED=1".
const char *simt_last_order(void);

// How many cores ran blocks of the last launch.
unsigned simt_last_cores(void);

// 1 when the last launch ran instrumented code. Otherwise its checks and counts mean nothing.
int simt_traced(void);

// ---- reports ------------------------------------------------------------------------------------

typedef enum {
    SIMT_OK,
    SIMT_OUT_OF_BOUNDS,     // outside every allocation, shared variable and the thread's own stack
    SIMT_USE_AFTER_FREE,    // inside an allocation that was freed
    SIMT_HOST_POINTER,      // host memory, which a device can't reach
    SIMT_MISALIGNED,        // the address is no multiple of the access
    SIMT_UNWRITTEN,         // a read of bytes that nothing wrote
    SIMT_RACE,              // two threads, one byte, at least one write, and no order
    SIMT_DIVERGENT_BARRIER, // a barrier that some thread of the block never reaches
    SIMT_ABSENT_LANE,       // a warp function whose mask doesn't fit the lanes that call it
    SIMT_DEADLOCK,          // every resident block waits, and nothing will happen
    SIMT_ASSERT,            // assert() failed in a kernel
    SIMT_TRAP,              // __trap()
    SIMT_INVALID_FREE,      // free or delete in a kernel, of what no kernel allocated, or twice
    SIMT_CONSTANT_WRITE,    // a write to a __constant__ variable
    SIMT_SHARED_SIZE,       // more shared variables than a block may have
    SIMT_NESTED_LAUNCH,     // a launch in a kernel
    SIMT_PEER_ACCESS,       // the memory of another device, without cudaDeviceEnablePeerAccess
    SIMT_STREAM_RACE, // two streams, one byte, at least one write, and no order; of calls, too
    // Of a call of the runtime API, and never of a launch that ran:
    SIMT_INVALID_CALL,  // it returned an error
    SIMT_UNWRITTEN_COPY // it copied bytes to the host that nothing wrote
} simt_kind;

typedef struct {
    char file[256]; // empty when the program has no line information
    int line;
    unsigned block[3], thread[3];
} simt_place;

typedef struct {
    simt_kind kind; // SIMT_OK: nothing to report, and the rest is empty
    int warning;    // 1: it failed no launch
    char kernel[128];
    simt_place here;
    simt_place there; // the other side of a race or barrier; line 0 when there is none
    unsigned long long address;
    unsigned size;
    unsigned long long count; // how often it was found
    char text[4096];          // what was printed
} simt_report;

// The first fault of the last launch that ran.
const simt_report *simt_last_report(void);

// All of the last launch that ran, warnings too, each once. Returns how many there are; fills at most
// `max` of them. With keep_going 0 the first fault is the only one.
size_t simt_reports(simt_report *reports, size_t max);

// The last report that failed no launch, and how many there were: warnings, each of which a launch has
// once for a place in the source; and why calls of the runtime API failed, `kernel` being the call.
const simt_report *simt_last_warning(void);
unsigned long long simt_warnings(void);

// "race", "out of bounds", ...
const char *simt_kind_name(simt_kind kind);

// 0: reports are not printed on stderr (simt_last_report and simt_last_warning still have them). 1 at
// the start.
void simt_print_reports(int on);

// ---- counts -------------------------------------------------------------------------------------
//
// A *warp instruction* is one memory access of the source, which the lanes of a warp issue
// together.

enum { SIMT_AGAIN = 11 };

typedef struct {
    unsigned long long launches, blocks, warps, threads;
    unsigned long long idle_lanes; // of the last warp of blocks that are no multiple of 32

    unsigned long long global_loads, global_stores; // warp instructions
    unsigned long long global_accesses;             // of single lanes
    unsigned long long global_requests;             // 128-byte lines, summed over warp instructions
    unsigned long long global_sectors;              // 32-byte sectors, summed in the same way
    unsigned long long global_bytes;                // that the lanes asked for
    unsigned long long global_load_requests, global_load_sectors,
        global_load_bytes; // those of the loads
    // Of global_load_sectors, those that the block had loaded already, but not by a volatile access: between the two a
    // warp loads up to 7, 15, 31, ... sectors, if all go on alike. A first-level cache may still have them.
    unsigned long long global_again[SIMT_AGAIN];

    unsigned long long shared_loads, shared_stores; // warp instructions
    unsigned long long shared_accesses;             // of single lanes
    unsigned long long shared_wavefronts;           // passes over the 32 banks
    unsigned long long shared_conflicts; // wavefronts beyond the fewest that could serve the bytes

    unsigned long long atomics_global, atomics_shared; // of single lanes
    unsigned long long
        atomic_collisions; // lanes whose address an earlier lane of the warp instruction has
    unsigned long long atomic_collisions_global; // those of atomic_collisions in global memory
    unsigned long long atomic_sectors; // 32-byte sectors of global memory, summed as for accesses

    unsigned long long barriers; // of whole blocks
    unsigned long long shuffles; // warp instructions: shuffles, votes, matches, reductions

    unsigned long long active_lanes,
        lane_slots; // of memory instructions; their quotient is the efficiency

    unsigned long long longest_thread, // global accesses and atomics of the thread that made most
        longest_later;                 // likewise, without the block that begins first
} simt_counts;

typedef struct {
    char file[256];
    int line;
    // By warps, of that of its blocks of code which ran most often; by that block's threads; of the
    // block that ran least often, as the start of a loop does.
    unsigned long long executions, threads, least;
    unsigned long long loads, stores, atomics; // warp instructions, of either space
    unsigned long long requests, sectors;      // global
    unsigned long long wavefronts, conflicts;  // shared
    unsigned long long lanes, slots;           // active lanes; 32 per warp instruction
} simt_line;

// Of the last launch that ran. If it was not instrumented, all are 0 except launches, blocks, warps,
// threads, idle_lanes, barriers and shuffles.
void simt_last_counts(simt_counts *counts);

// Summed over launches since the program began or simt_reset_counts().
void simt_total_counts(simt_counts *counts);
void simt_reset_counts(void);

void simt_counts_print(FILE *stream, const simt_counts *counts);

// Rows of the last launch, by file and line. Returns how many there are; fills at most `max` of
// them.
size_t simt_last_lines(simt_line *lines, size_t max);
void simt_lines_print(FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
