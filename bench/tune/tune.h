// SPDX-License-Identifier: MIT
//
// coarsen-tune: which factor, for this kernel, on this device, on this data. What its parts share.
//
//     main.c      the order of things
//     options.c   the command line
//     problem.c   what is tuned: the user's kernel, or a pattern, which is a file of patterns/
//     expression.c  expressions of the knobs and sizes
//     space.c     the settings, and the order they are tried in
//     unit.c      what a kernel's source is compiled with; its headers are in unit/
//     compile.c   NVRTC and its report
//     count.c     simt's counts, from programs that g++ makes
//     program.c   those programs: making them, and running them
//     data.c      what the buffers hold, and whether the outputs are right
//     device.c    what devices are like
//     model.c     predicted time, and why
//     gpu.c       the driver: plan, verify and time on the GPU
//     worker.c    the process around gpu.c, which may die
//     choose.c    the best row
//     cache.c     what was found before
//     report.c    the table and the progress
//     output.c    CSV, T4 and the header
//
// A *unit* is a kernel's source at one setting of the knobs, with a function tune_run() that
// launches it. For a pattern of coarsen, tune_run() calls the launcher of the shipped header. NVRTC
// compiles all of it for the device, tune_run() too, and one thread there runs that: it does not
// launch but writes down what it would (unit/launches.h), which the driver then does. So there is
// no second description of the launches, and none is needed of the user's kernel but the same call.
// g++ compiles the same unit for simt, which runs and counts it.

#ifndef COARSEN_TUNE_H
#define COARSEN_TUNE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// What went wrong, where, and what to do: into message. Returns false, for the caller to pass on.
__attribute__((format(printf, 3, 4), unused)) static inline bool
tune_fail(char *message, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, size, format, args);
    va_end(args);
    return false;
}

// ---- The problem --------------------------------------------------------------------------------

enum {
    TUNE_KNOBS = 8,
    TUNE_VALUES = 32,
    TUNE_BUFFERS = 8,
    TUNE_SIZES = 4,
    TUNE_RULES = 16,
    TUNE_LAUNCHES = 32,
    TUNE_AGAIN = 11,
    TUNE_KERNELS = 32
};

// A macro that the unit is compiled with, and what it may be, from the finest grain to the
// coarsest.
typedef struct {
    char name[64];
    int count;
    long value[TUNE_VALUES];
    long standard; // the default; where none is said, the first value
} tune_knob;

// A size, as the unit's code names it: n; or rows, cols, inner.
typedef struct {
    char name[32];
    uint64_t value;
    bool is_file; // its file's, in place of which another may be typed
} tune_size;

// What must hold of the knobs; or, where it has a name, an abbreviation for the rules after it.
typedef struct {
    char name[32];
    const char *text;
} tune_rule;

typedef enum { TUNE_IN, TUNE_OUT, TUNE_INOUT, TUNE_SCRATCH } tune_role; // scratch is zeroed once

typedef struct {
    tune_role role;
    char type[64], name[32]; // in C: "float", "in"
    char count[256];         // a C expression of the sizes: its elements
    char most[256];          // another, if they are numbers that rise from 0 to that; else ""
} tune_buffer;

typedef struct {
    long value[TUNE_KNOBS]; // of the problem's knobs, in their order
} tune_setting;

typedef enum { TUNE_UNIFORM, TUNE_SKEWED, TUNE_ONE, TUNE_RUNS, TUNE_FILE } tune_data;

typedef struct tune_problem {
    const char *pattern; // "reduce", ...; or the name of the user's kernel
    char type[16];       // "f32", ...; "" where its file does not say
    char label[64];      // the rest that tells problems apart: "256 bins, skewed"; may be empty
    char *source;        // the unit's, without tune_run(): text that may have #include
    char *reference;     // likewise, right by being simple; NULL: the setting of the first values
    char run[512]; // the call, in C: "tuned_launch(in, out, n, scratch, tuned_scratch_bytes(n), 0)"
    char work[128];      // what the counts grow with, in C: "n", "(double)rows * cols * inner"
    char tolerance[128]; // of a floating-point element of an output, in C, absolute; < 0, or "":
                         // 1e-5 of the greatest
    int knobs, sizes, buffers, rules;
    tune_knob knob[TUNE_KNOBS];
    tune_size size[TUNE_SIZES];
    tune_buffer buffer[TUNE_BUFFERS];
    tune_rule rule[TUNE_RULES]; // settings are legal where all hold
    tune_data data;
    char data_file[4096];
    double bytes; // of the inputs and outputs, for GB/s; 0: not known yet
    double flop;  // 0: none to speak of
    bool shipped; // one of coarsen's patterns: --header has defaults to set
} tune_problem;

// ---- What is known of a variant -----------------------------------------------------------------

// From the compiler: its own report (ptxas -v), and the loop in which the kernel spends its time,
// read from the PTX.
typedef struct {
    char name[128];   // as in the code: "tuned_kernel", "mine::scale"
    char symbol[256]; // mangled
    int registers, static_shared, spill_stores, spill_loads, stack; // bytes but for the registers
    int most_threads;      // of a block, by __launch_bounds__; 0: what the device takes
    int loop_instructions; // of the loop: all, ...
    int loop_memory;       // ... loads, stores, atomics and copies of global and shared memory, ...
    int loop_fma;          // ... and fused multiply-adds
    int inflight;          // bytes of global memory that a thread asks for before it must wait
} tune_kernel;

// simt's counts of one launch, at its full size.
typedef struct {
    double global_loads, global_stores, global_requests, global_sectors, global_bytes;
    double global_load_sectors, global_load_bytes;
    double global_again[TUNE_AGAIN]; // load sectors that the block had, by how long ago: simt.h
    double shared_loads, shared_stores, shared_wavefronts, shared_conflicts;
    double atomics_global, atomics_shared;
    double atomic_collisions, atomic_collisions_global, atomic_sectors;
    double barriers, shuffles, active_lanes, lane_slots;
    double behind; // global accesses of the thread with most, beyond the average of a warp
} tune_counts;

typedef struct {
    char kernel[128]; // "" for a memset or a copy
    unsigned int grid[3], block[3];
    uint64_t shared_bytes; // dynamic
    uint64_t moved_bytes;  // by a memset, or read and written by a copy
    int resident;          // blocks a multiprocessor holds
    char limited_by[24]; // what holds that down: "registers", "shared memory", "threads", "blocks"
    tune_counts counts;
} tune_launch;

// A term of the model: a price, in us.
typedef enum {
    TUNE_LAUNCH,  // the launches themselves
    TUNE_LATENCY, // round trips that nothing overlaps: the first loads, the barriers, the last block
    TUNE_MEMORY,  // bytes from device memory, at the rate that the bytes in flight sustain
    TUNE_REQUESTS, // global requests of the warps, a 128-byte line at a time
    TUNE_SHARED,   // wavefronts of shared memory, atomics there too
    TUNE_ATOMICS,  // global atomics
    TUNE_ISSUE,    // instructions
    TUNE_TERMS
} tune_term;

typedef struct {
    double us;               // predicted
    double term[TUNE_TERMS]; // us, summed over launches
    tune_term bound;         // which is the greatest
    double waves, occupancy; // of the launch that takes longest; occupancy in [0, 1]
    double busy;             // share of the multiprocessors' time that has blocks, in (0, 1]
    double inflight,
        needed;       // bytes a multiprocessor has in flight, and must have for full bandwidth
    double lanes;     // active lanes of memory instructions, in [0, 1]
    double coalesced; // bytes asked for / bytes of the sectors touched
} tune_prediction;

typedef enum {
    TUNE_PENDING,
    TUNE_OK,
    TUNE_NOT_COMPILED,
    TUNE_NOT_LAUNCHED,
    TUNE_WRONG,   // its result is
    TUNE_TIMEOUT, // it did not end
    TUNE_CRASHED  // it took the worker with it
} tune_status;

enum { TUNE_STATUSES = TUNE_CRASHED + 1 };

typedef struct {
    tune_setting setting;
    tune_status status;
    char reason[512]; // why not TUNE_OK: one line
    bool unfounded;   // TUNE_WRONG by a setting that left unwritten what this one writes
    int kernels, launches;
    tune_kernel kernel[TUNE_KERNELS];
    tune_launch launch[TUNE_LAUNCHES];
    bool counted; // launch[].counts and the prediction are there
    tune_prediction predicted;
    bool timed;
    double us, least, spread; // median, least, width of the middle half as a share of the median
    double first_us;          // before the leaders' second time: what the search goes by
    int samples, rounds;      // of measuring; the leaders have more than one
    bool cached;
    double compile_ms;
    double bytes; // of the inputs and outputs, once each; 0: not planned yet
} tune_row;

// ---- The device (device.c) ----------------------------------------------------------------------

typedef struct {
    char name[128]; // "NVIDIA H200"
    int sm;         // 90 for sm_90
    int processors; // multiprocessors
    int threads_per_processor, blocks_per_processor, registers_per_processor;
    int shared_per_processor,
        shared_per_block; // bytes; a block's, when it asks for all it may have
    int shared_reserved;  // bytes that each block takes besides
    double clock_ghz;     // when busy
    double memory_gbps;   // what a copy or a read of a large array reaches, not what the bus could
    double memory_gib;
    double l2_mib, l2_gbps;
    double latency_ns;                  // of a load from device memory
    int fp32_per_clock, fp64_per_clock; // lanes of a multiprocessor
    double launch_us;                   // what an empty kernel takes between two events
    const char *source;                 // of the figures
} tune_device;

// The device of the table for "sm_90", or for part of a name ("h200"); false when there is none:
// then *message says what there is.
bool tune_device_find(const char *what, tune_device *device, char *message, size_t size);

// Reads a device from a file of "name = value" lines; what it leaves out is the table's for its sm.
bool tune_device_read(const char *path, tune_device *device, char *message, size_t size);

// The table, to a stream, as --list-devices prints it.
void tune_device_list(FILE *out);

// Blocks of so many threads that a multiprocessor holds, by cuda_occupancy.h; *limit: see
// tune_launch.
int tune_occupancy(const tune_device *device, const tune_kernel *kernel, int threads,
                   uint64_t shared_bytes, const char **limit);

// ---- The model (model.c) ------------------------------------------------------------------------

extern const char *const tune_term_name[TUNE_TERMS]; // "launch", "latency", ...

// Fills row->predicted from its kernels, launches and counts.
void tune_predict(const tune_problem *problem, const tune_device *device, tune_row *row);

// Why the row is what it is beside the finer and the coarser of its neighbours (NULL: none): a line
// or several, each naming a pitfall and its figures.
void tune_why(const tune_problem *problem, const tune_device *device, const tune_row *row,
              const tune_row *finer, const tune_row *coarser, FILE *out);

// ---- The compiler (compile.c) -------------------------------------------------------------------

typedef struct {
    void *cubin; // malloc'd; NULL when only the report was wanted
    size_t cubin_bytes;
} tune_code;

// Loads NVRTC. false: *message says what was looked for and what to install.
bool tune_compiler_open(char *message, size_t size);
int tune_compiler_version(void);                                 // 13000 for 13.0; 0: not open
bool tune_compiler_supports(int sm, char *message, size_t size); // message: what it does support

// Compiles the units of rows[0..count) that are TUNE_PENDING, in as many threads as there are
// processors; fills kernel[], kernels, compile_ms, and on failure status and reason. code[i] is row
// i's. done(i, context) is called by one thread at a time after each. Stops early when *stop.
void tune_compile(const tune_problem *problem, const tune_device *device, tune_row *const *rows,
                  tune_code *code, size_t count, const volatile int *stop,
                  void (*done)(size_t i, void *context), void *context);

// One of them, for the reference. false: *message is the compiler's.
bool tune_compile_reference(const tune_problem *problem, const tune_device *device, tune_row *row,
                            tune_code *code, char *message, size_t size);

// By the name that a launcher has for it, which need not say its namespace. NULL: there is none.
const tune_kernel *tune_kernel_named(const tune_row *row, const char *name);

// The compiler's log and PTX, taken apart: public for the tests.
int tune_read_report(const char *log, tune_kernel *kernels, int max); // returns how many it names
void tune_read_ptx(const char *ptx, tune_kernel *kernel);             // by its symbol

// ---- The unit (unit.c) --------------------------------------------------------------------------

// The text of the unit, for NVRTC and g++ alike: malloc'd. The knobs are given as
// -DTUNE_KNOB_0=value, ...
char *tune_unit(const tune_problem *problem, bool reference);

// A hash of all that the result depends on: that text, every file it includes, and the flags. 0: an
// #include names its file by a macro, so that it is not known.
uint64_t tune_unit_hash(const tune_problem *problem, const char *unit);

extern char
    tune_include_dir[4096];      // where coarsen/ and simt/ are: found from the program's own place
extern char tune_unit_dir[4096]; // where unit/ is
extern char *tune_flags;         // the user's -D, -I and other flags, space-separated; "" when none

// ---- simt (count.c, program.c) ------------------------------------------------------------------

// Finds g++ (or $CXX). false: *message says what to install.
bool tune_counter_open(char *message, size_t size);

// Seconds that a run on simt may take: 10, unless this says otherwise; then a row that takes longer
// is TUNE_TIMEOUT.
void tune_count_limit(double seconds);

// Builds and runs the program that plans and counts, for each row that has compiled; fills
// launch[], launches and counts (counted = true). A row that can't be counted keeps counted = false
// and gets its reason, and, when the kernel is at fault (simt's report), its status. done and stop:
// as above.
void tune_count(const tune_problem *problem, const tune_device *device, tune_row *const *rows,
                size_t count, const volatile int *stop, void (*done)(size_t i, void *context),
                void *context);

// ---- The GPU (gpu.c, worker.c) ------------------------------------------------------------------

// What is there: asked in a process of its own, so that this one may fork. false: *message says why
// not.
bool tune_gpu_find(tune_device *device, int *driver_version, char *message, size_t size);

// Plans, verifies and times the rows in a process of its own; rows[i]->timed, or its status and
// reason. A process that dies or takes longer than limit seconds for a row is replaced, and the row
// says so. Each row gets so many samples in each of so many rounds, which go forth and back. false:
// the data or the reference can't be had, as each row that has no result says.
bool tune_measure(const tune_problem *problem, tune_row *const *rows, const tune_code *code,
                  size_t count, const tune_row *reference, const tune_code *reference_code,
                  double limit, int samples, int rounds, const volatile int *stop,
                  void (*done)(size_t i, void *context), void *context);

// What that process does: main() calls this first, and it returns -1 unless it is that process.
int tune_worker_main(int argc, char **argv);

// ---- The settings (space.c) ---------------------------------------------------------------------

uint64_t tune_settings(const tune_problem *problem); // how many there are
tune_setting tune_setting_at(const tune_problem *problem, uint64_t i);
bool tune_is_standard(const tune_problem *problem, const tune_setting *setting);
tune_setting tune_standard(const tune_problem *problem); // the headers' defaults
int tune_factor_knob(const tune_problem *problem);       // which says how much a thread does
bool tune_neighbour(const tune_problem *problem, const tune_setting *of, int knob, int step,
                    tune_setting *to);
double tune_coarseness(const tune_problem *problem,
                       const tune_setting *setting); // of the factors: their product
void tune_setting_print(const tune_problem *problem, const tune_setting *setting, char *to,
                        size_t size);

// The search under a budget: the next settings to try, given all rows so far; 0: nothing is left to
// try.
size_t tune_search_next(const tune_problem *problem, const tune_row *rows, size_t count,
                        uint64_t budget, tune_setting *next, size_t max);

// "COARSE_FACTOR=1:32:*2", "BLOCK_DIM=64,128,256", "UNROLL=1:8:+1", "TILE=32".
bool tune_knob_parse(const char *text, tune_knob *knob, char *message, size_t size);

// ---- Expressions (expression.c) -----------------------------------------------------------------

// The value of C of whole numbers, at a setting (NULL: the default): knobs, sizes and what the first
// so many rules name. NAN where something is divided by zero. false: *message says what is wrong.
bool tune_evaluate(const tune_problem *problem, const tune_setting *setting, int rules,
                   const char *text, double *value, char *message, size_t size);

// ---- The choice (choose.c) ----------------------------------------------------------------------

// Index of the best row, by measured time where there is one, else by predicted: among those within
// the noise of the fastest, the one of least coarseness. -1: none. tie[i]: within the noise.
int tune_choose(const tune_problem *problem, const tune_row *rows, size_t count, bool *tie);

// ---- The cache (cache.c) ------------------------------------------------------------------------

typedef struct tune_cache tune_cache;

// Opens, or makes, the file; reads what it has for the key. Lines that are torn or not its own are
// left as they are and not used; *skipped counts them. NULL: *message says why.
tune_cache *tune_cache_open(const char *path, const char *key, size_t *skipped, char *message,
                            size_t size);
bool tune_cache_find(tune_cache *cache, const tune_problem *problem,
                     tune_row *row); // by row->setting
bool tune_cache_add(tune_cache *cache, const tune_problem *problem, const tune_row *row);
void tune_cache_close(tune_cache *cache);

// ---- What it says (report.c, output.c) ----------------------------------------------------------

typedef struct {
    const tune_problem *problem;
    const tune_device *device;
    const tune_row *rows;
    size_t count;
    int best; // index, or -1
    const bool *tie;
    bool predicted; // static: nothing was timed
    bool interrupted;
    int toolkit, driver; // 13000; 0: not known
    const char *command; // as it was typed
    const char *flags;
    const char *search; // "every setting", "20 settings of 48: ..."
} tune_result;

extern const char *const tune_status_name[TUNE_STATUSES]; // "ok", "not compiled", ...

// The launch of the most threads, and its kernel; where nothing was planned, the kernel of the most
// registers, those of unit/ apart. NULL: none.
const tune_launch *tune_main_launch(const tune_row *row);
const tune_kernel *tune_main_kernel(const tune_row *row);

void tune_progress(const char *what, size_t done, size_t of,
                   const char *best); // a bar, where stderr is a terminal
void tune_progress_end(void);
void tune_table(const tune_result *result, size_t most, FILE *out);
bool tune_write_csv(const tune_result *result, const char *path, char *message, size_t size);
bool tune_write_json(const tune_result *result, const char *path, char *message, size_t size);
bool tune_write_header(const tune_result *result, const char *path, char *message, size_t size);

// ---- The command line (options.c, problem.c) ----------------------------------------------------

typedef struct {
    tune_problem problem;
    const char *arch, *device_file, *csv, *json, *header, *cache;
    bool is_static, quiet, no_cache, all;
    uint64_t budget; // settings; 0: all of them
    double limit;    // seconds a variant may take
    int samples;
    char *command;
} tune_options;

// Parses; on a mistake prints what was wrong and what to write, and exits with 2.
void tune_options_parse(int argc, char **argv, tune_options *options);

// ---- The data (data.c) --------------------------------------------------------------------------

// A file (TUNE_FILE) is the data of the first buffer that is read; any other gets uniform data. It
// is a .npy file of the buffer's type, or the elements' bytes and nothing else; where it is too
// short, it starts again. false: the file is missing, empty or of another type. *elements: those of
// the file, so that a size can default to that; 0: not known, or no file.
bool tune_data_check(const tune_problem *problem, uint64_t *elements, char *message, size_t size);

// Of a buffer's type, of item bytes: those of a part, as a float4 has four, and whether that is a
// floating-point number, which is compared as one; of a type that isn't known, the item.
size_t tune_data_part(const char *type, size_t item, bool *floating);

// Elements [first, first + elements) of the count of a buffer, of item bytes each: the same whoever
// asks, and in whatever parts. most: the last one of a buffer whose numbers rise.
bool tune_data_fill(const tune_problem *problem, int buffer, void *to, size_t first,
                    size_t elements, size_t item, size_t count, uint64_t most, char *message,
                    size_t size);

// Whether an output is what it should be; tolerance: see tune_problem. If not, *first is the first
// part that isn't.
bool tune_data_compare(const char *type, const void *got, const void *want, size_t elements,
                       size_t item, double tolerance, size_t *first);

// Makes the row wrong by that part of an output: "out[3] is 5, not 7", sizes, or that one of both
// was left unwritten. got and want are their bytes from there on; of a long part 16 are enough, but
// a short one is not known to be unwritten but by what follows it. by: the setting that is the
// reference where the problem has none, in words.
void tune_data_wrong(const tune_problem *problem, int buffer, size_t item, uint64_t first,
                     const void *got, const void *want, size_t bytes, const char *by,
                     const char *sizes, tune_row *row);

#endif
