// SPDX-License-Identifier: MIT
//
// Counts, without a GPU: g++ makes a program of a unit for simt, which runs it on a smaller
// problem; the counts are scaled to the full one. How:
//
// - The program first *plans* the full problem for the device: which launches, of which grids.
// - The *instance* is the problem with its largest size halved again and again (those from the
//   third on, such as the depth of a product, to a quarter of the others), until simt does it in a
//   second or so. The reference decides that, by what it counts and not by the clock: any machine
//   chooses alike, and all settings have the same. A setting that there launches other kernels than
//   for the full problem gets up to 16 times more, and if that won't do isn't counted.
// - It is run as on a device that is smaller in proportion: fewer multiprocessors, but at least 2,
//   and then fewer blocks on each. Its outputs are compared with the reference's.
// - What a launch counts is taken for a G + b W, of its G blocks and the problem's work W. A second
//   instance, with a size halved on the same device and so another G / W, gives a and b; where
//   there is none, all grows with W. An instance that is the full problem is not scaled.
//
// What that can't see: counts that grow otherwise, such as what a last block does once for them
// all; paths within a kernel that only a large problem takes; and blocks larger than the
// instance. A size that is no extent, as a radius, is shrunk only when it becomes the largest.

#include "program.h"

#include "../../include/simt/simt.h"
#include "unit/job.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)TUNE_SIZES == PLAN_SIZES && (int)TUNE_BUFFERS == PLAN_BUFFERS &&
                   (int)TUNE_LAUNCHES == PLAN_LAUNCHES && (int)TUNE_AGAIN == SIMT_AGAIN,
               "tune.h, plan.h and simt.h hold as much");

enum { LEVELS = 64 * TUNE_SIZES, SMALL = 1 << 12 };

static double limit_s = 10; // of a run on simt
static bool limit_given;    // so past it a row has failed; else the GPU may yet run it
static double budget = 1e7; // of an instance: see cost()

void tune_count_limit(double seconds)
{
    limit_s = seconds;
    limit_given = true;
}

// ---- Asking a program ---------------------------------------------------------------------------

typedef struct {
    uint64_t size[TUNE_SIZES];
    double share;    // of the full problem's work
    double elements; // of its largest array
} instance;

// What all rows of a problem have in common, from one call to the next.
typedef struct {
    uint64_t hash;     // of the problem and device; 0: nothing is here yet
    int level;         // the instance's: 0 is the full problem
    int small;         // that of an instance that is so small that any kernel can be tried on it
    char program[64];  // the reference's; "": there is none, so that outputs aren't compared
    char why[400];     // why there is none
    char setting[192]; // the reference's, in words
} common;

static common kept;

static const char uncounted[] = "not counted: ";
static const char too_long[] = "not counted: the CPU device took more than ";

typedef struct {
    const tune_problem *problem;
    const tune_device *device;
    tune_row *const *rows;
    size_t count;
    const volatile int *stop;
    void (*done)(size_t i, void *context);
    void *context;
    size_t next;
    common *of_all;
} counting;

static pthread_mutex_t files = PTHREAD_MUTEX_INITIALIZER; // of data and of the reference's outputs
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER; // done()

// "n = 4096", "rows = 256, cols = 256, inner = 64".
static void print_sizes(const tune_problem *problem, const uint64_t *size, char *to, size_t bytes)
{
    size_t length = 0;
    *to = 0;
    for (int s = 0; s < problem->sizes && length < bytes; s++)
        length += (size_t)snprintf(to + length, bytes - length, "%s%s = %llu", s ? ", " : "",
                                   problem->size[s].name, (unsigned long long)size[s]);
}

// Has the program answer a job. false: *why says why not; empty when it was stopped.
static bool ask(const counting *c, const char *program, tune_job *job, char *why, size_t size)
{
    char path[PROGRAM_PATH], file[PROGRAM_PATH], log[PROGRAM_PATH], sizes[200], said[200];
    int code = 0;
    program_path(path, "%s", program);
    program_path(file, "%s.job", program);
    program_path(log, "%s.log", program);
    print_sizes(c->problem, (const uint64_t *)job->plan.size, sizes, sizeof(sizes));
    *why = 0;
    job->done = 0;
    char *const words[] = {path, file, NULL};
    if (!program_write(file, job, sizeof(*job))) {
        snprintf(why, size, "not counted: cannot write %.200s: %s", file, strerror(errno));
        return false;
    }
    const program_ending how = program_run(words, true, log, limit_s, c->stop, &code);
    size_t bytes = 0;
    char *const answer = program_read(file, &bytes);
    const bool answered = how == PROGRAM_ENDED && code == 0 && answer && bytes == sizeof(*job);
    if (answered)
        memcpy(job, answer, sizeof(*job));
    free(answer);
    unlink(file);
    if (how == PROGRAM_STOPPED)
        return false;
    if (how == PROGRAM_TOO_LONG)
        snprintf(why, size, "%s%g s at %s (--limit)", too_long, limit_s, sizes);
    else if (how == PROGRAM_NOT_STARTED)
        snprintf(why, size, "not counted: its program could not be started: %s", strerror(code));
    else if (how == PROGRAM_DIED)
        snprintf(why, size, "not counted: its program was ended by signal %d (%s) at %s", code,
                 strsignal(code), sizes);
    else if (!answered || !job->done) {
        program_error(log, said, sizeof(said));
        snprintf(why, size, "not counted: its program gave up (%d) at %s: %s", code, sizes, said);
    } else if (*job->trouble)
        snprintf(why, size, "not counted: its program %s", job->trouble);
    return !*why;
}

// Plans an instance on a device that is smaller in proportion; share 1 is the full one. The row
// knows the kernels' registers (NULL: no question of occupancy is answered, and 1 is taken).
static bool plan(const counting *c, const char *program, const tune_row *row, const instance *at,
                 tune_job *job, char *why, size_t size)
{
    const int all = c->device->processors;
    const double slots = all * fmin(at->share, 1);
    int processors = (int)lround(slots);
    if (processors < 2)
        processors = all < 2 ? all : 2;
    const double density = fmin(1, slots / processors);

    memset(job, 0, sizeof(*job));
    job->buffers = c->problem->buffers;
    job->plan.processors = processors;
    job->plan.shared_limit = c->device->shared_per_block;
    job->plan.cache_bytes = (int)(c->device->l2_mib * 1048576 * fmin(at->share, 1));
    memcpy(job->plan.size, at->size, sizeof(at->size));
    for (int turn = 0; turn < 4; turn++) {
        job->plan.run = 1;
        if (!ask(c, program, job, why, size))
            return false;
        bool open = false;
        for (int q = 0; q < job->plan.occupancies; q++) {
            plan_occupancy *const asked = &job->plan.occupancy[q];
            const tune_kernel *const kernel = row ? tune_kernel_named(row, asked->kernel) : NULL;
            const char *limited_by;
            if (asked->blocks > 0 || !kernel)
                continue;
            const int blocks = tune_occupancy(c->device, kernel, (int)asked->threads,
                                              asked->shared_bytes, &limited_by);
            if (blocks < 1)
                continue; // 1 is taken; the launch then says that it doesn't fit
            asked->blocks = (int)lround(fmax(1, blocks * density));
            open = true;
        }
        if (!open)
            break;
    }
    return true;
}

// ---- Instances ----------------------------------------------------------------------------------

// About `less`, but with the last bits of `full`: a size that leaves a remainder still leaves
// one, and one that doesn't still doesn't.
static uint64_t like(uint64_t full, uint64_t less)
{
    int bits = 0;
    while (bits < 64 && less >> bits)
        bits++;
    const uint64_t last = ((uint64_t)1 << bits / 2) - 1;
    return (less & ~last) | (full & last);
}

// The problem's sizes, halved so many times. false: they are all 1 before.
static bool shrink(const tune_problem *problem, int level, uint64_t *size)
{
    for (int s = 0; s < TUNE_SIZES; s++)
        size[s] = s < problem->sizes ? problem->size[s].value : 0;
    while (level-- > 0) {
        int largest = 0;
        double most = 0;
        for (int s = 0; s < problem->sizes; s++) {
            const double weighed = (double)size[s] * (s < 2 ? 1 : 4);
            if (size[s] > 1 && weighed >= most)
                most = weighed, largest = s;
        }
        if (most == 0)
            return false;
        size[largest] /= 2;
    }
    for (int s = 0; s < problem->sizes; s++)
        if (size[s] < problem->size[s].value)
            size[s] = like(problem->size[s].value, size[s]);
    return true;
}

// The work of those sizes, as the program reckons it, beside the full problem's makes them an
// instance.
static bool make_instance(const counting *c, const char *program, const uint64_t *size, double work,
                          instance *to, char *why, size_t bytes)
{
    tune_job job = {.buffers = c->problem->buffers};
    memcpy(job.plan.size, size, sizeof(to->size));
    memcpy(to->size, size, sizeof(to->size));
    job.plan.processors = c->device->processors;
    job.plan.shared_limit = c->device->shared_per_block;
    job.plan.cache_bytes = (int)(c->device->l2_mib * 1048576);
    if (!ask(c, program, &job, why, bytes))
        return false;
    to->share = work > 0 ? job.plan.work / work : 1;
    to->elements = 0;
    for (int b = 0; b < c->problem->buffers; b++)
        if (c->problem->buffer[b].role != TUNE_SCRATCH)
            to->elements = fmax(to->elements, (double)job.plan.count[b]);
    return true;
}

static bool instance_at(const counting *c, const char *program, int level, double work,
                        instance *to, char *why, size_t bytes)
{
    uint64_t size[TUNE_SIZES];
    shrink(c->problem, level, size);
    return make_instance(c, program, size, work, to, why, bytes);
}

// Of an instance of few elements, by its sizes.
static int small_level(const tune_problem *problem)
{
    uint64_t size[TUNE_SIZES];
    for (int level = 0;; level++) {
        double elements = 1;
        if (!shrink(problem, level, size))
            return level - 1;
        for (int s = 0; s < problem->sizes; s++)
            elements *= (double)size[s];
        if (elements <= SMALL)
            return level;
    }
}

// What simt's time is in proportion to, roughly: accesses of single threads; an atomic counts
// twice, and so does a thread.
static double cost(const tune_job *job)
{
    double sum = 0;
    for (int l = 0; l < job->plan.launches; l++) {
        const simt_counts *const n = &job->counts[l];
        sum += (double)n->active_lanes + (double)n->atomics_global + (double)n->atomics_shared +
               32.0 * (double)n->shuffles + 2.0 * (double)n->threads;
    }
    return sum;
}

// ---- Running ------------------------------------------------------------------------------------

// Files of the inputs that the planned job needs.
static bool make_data(const counting *c, const tune_job *job, char *why, size_t size)
{
    char path[PROGRAM_PATH], message[400] = "";
    bool ok = true;
    pthread_mutex_lock(&files);
    for (int b = 0; b < c->problem->buffers && ok; b++) {
        const tune_role role = c->problem->buffer[b].role;
        const size_t count = job->plan.count[b], item = job->plan.item[b], bytes = count * item;
        program_path(path, "data-%d-%zu", b, bytes);
        if ((role != TUNE_IN && role != TUNE_INOUT) || bytes == 0 || access(path, R_OK) == 0)
            continue;
        void *const data = malloc(bytes);
        ok = data && tune_data_fill(c->problem, b, data, 0, count, item, count, job->plan.most[b],
                                    message, sizeof(message));
        if (!data)
            snprintf(message, sizeof(message), "no memory for %zu bytes of %s", bytes,
                     c->problem->buffer[b].name);
        if (ok && !(ok = program_write(path, data, bytes))) {
            snprintf(message, sizeof(message), "cannot write %.200s: %s", path, strerror(errno));
            unlink(path);
        }
        free(data);
    }
    pthread_mutex_unlock(&files);
    if (!ok)
        snprintf(why, size, "not counted: %s", message);
    return ok;
}

// Runs on simt what has been planned. The outputs go to a file of that name.
static bool execute(const counting *c, const char *program, const char *output, tune_job *job,
                    char *why, size_t size)
{
    if (!make_data(c, job, why, size))
        return false;
    for (int b = 0; b < c->problem->buffers; b++) {
        const tune_role role = c->problem->buffer[b].role;
        job->read[b] = role == TUNE_IN || role == TUNE_INOUT;
        job->zeroed[b] = role == TUNE_SCRATCH;
        job->written[b] = role == TUNE_OUT || role == TUNE_INOUT;
    }
    job->plan.run = 2;
    snprintf(job->output, sizeof(job->output), "%s", output);
    return ask(c, program, job, why, size);
}

// simt's report in a line: what, where, and the other party.
static void one_line(const char *report, char *to, size_t size)
{
    static const char *const parts[] = {"simt: ", "\n  what:", "\n  where:", "\n  other:"};
    static const char *const before[] = {"", ": ", "; ", "; "};
    size_t length = 0;
    *to = 0;
    for (int p = 0; p < 4 && length < size; p++) {
        const char *at = strstr(report, parts[p]);
        if (!at)
            continue;
        at += strlen(parts[p]);
        at += strspn(at, " ");
        length += (size_t)snprintf(to + length, size - length, "%s%.*s", before[p],
                                   (int)strcspn(at, "\n"), at);
    }
}

// Whether the run was one; if not, the row is told. Its status stays when it is we who couldn't.
static bool went_well(const counting *c, tune_row *row, const tune_job *job)
{
    char sizes[200], report[380];
    print_sizes(c->problem, (const uint64_t *)job->plan.size, sizes, sizeof(sizes));
    if (*job->fault) {
        one_line(job->fault, report, sizeof(report));
        row->status = TUNE_WRONG;
        snprintf(row->reason, sizeof(row->reason), "%s (%.100s)", report, sizes);
        return false;
    }
    if (job->plan.status) {
        snprintf(row->reason, sizeof(row->reason),
                 "not counted: on the CPU device, at %s, its launcher returned %d (%s)", sizes,
                 job->plan.status, job->error);
        return false;
    }
    return true;
}

// Whether the launches of an instance are those of the full problem, but for their grids.
static bool same_path(const tune_job *a, const tune_job *b)
{
    bool same = a->plan.status == 0 && a->plan.launches == b->plan.launches;
    for (int l = 0; l < a->plan.launches && same; l++) {
        const plan_launch *const p = &a->plan.launch[l], *const q = &b->plan.launch[l];
        same = !strcmp(p->kernel, q->kernel) &&
               (!*p->kernel || !memcmp(p->block, q->block, sizeof(p->block)));
    }
    return same;
}

static const char *first_kernel(const tune_job *job)
{
    for (int l = 0; l < job->plan.launches; l++)
        if (*job->plan.launch[l].kernel)
            return job->plan.launch[l].kernel;
    return "nothing";
}

// ---- The reference ------------------------------------------------------------------------------

// The file of the reference's outputs at those sizes.
static void right_path(const tune_problem *problem, const uint64_t *size, char to[PROGRAM_PATH])
{
    program_path(to, "right");
    for (int s = 0; s < problem->sizes; s++)
        snprintf(to + strlen(to), PROGRAM_PATH - strlen(to), "-%llx", (unsigned long long)size[s]);
}

// The reference's outputs: malloc'd; NULL when they can't be had. Run once for each instance: an
// empty file says that it couldn't be.
static char *right_outputs(const counting *c, const instance *at, size_t *bytes)
{
    static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;
    char path[PROGRAM_PATH], made[PROGRAM_PATH], why[512];
    tune_job job;
    if (!*c->of_all->program)
        return NULL;
    right_path(c->problem, at->size, path);
    program_path(made, "right.new");
    pthread_mutex_lock(&running);
    if (access(path, R_OK) != 0) {
        const bool ran = plan(c, c->of_all->program, NULL, at, &job, why, sizeof(why)) &&
                         execute(c, c->of_all->program, "right.new", &job, why, sizeof(why)) &&
                         !*job.fault && !job.plan.status && rename(made, path) == 0;
        if (!ran && !*c->stop)
            program_write(path, "", 0);
    }
    pthread_mutex_unlock(&running);
    char *const outputs = program_read(path, bytes);
    if (outputs && *bytes == 0) {
        free(outputs);
        return NULL;
    }
    return outputs;
}

// Builds a program for the reference, and grows the instance while it stays within the budget.
static bool try_reference(counting *c, const char *unit, const tune_setting *setting, char *why,
                          size_t size)
{
    static const char *const name = "reference";
    common *const all = c->of_all;
    char path[PROGRAM_PATH], made[PROGRAM_PATH];
    instance at, full;
    tune_job job;
    uint64_t sizes[TUNE_SIZES];
    shrink(c->problem, 0, sizes);
    program_path(made, "right.new");
    // share, with a full work of 1, is the full work.
    if (!program_build(c->problem, unit, setting, name, c->stop, why, size) ||
        !make_instance(c, name, sizes, 1, &full, why, size))
        return false;
    // By its arrays too, as the sizes may not say it all: rows of a given width.
    for (double elements = INFINITY; shrink(c->problem, all->small + 1, sizes); all->small++) {
        if (!instance_at(c, name, all->small, full.share, &at, why, size))
            return false;
        if (at.elements <= SMALL || at.elements >= elements)
            break;
        elements = at.elements;
    }
    all->level = all->small;
    double last = 0, growth = 2, share = 0;
    for (int level = all->level; level >= 0; level--) {
        if (!instance_at(c, name, level, full.share, &at, why, size))
            return false;
        if (last > 0 && last * fmax(growth, at.share / share) > budget)
            break;
        if (!plan(c, name, NULL, &at, &job, why, size) ||
            !execute(c, name, "right.new", &job, why, size))
            return false;
        tune_row told = {0};
        if (!went_well(c, &told, &job)) {
            snprintf(why, size, "%.350s", told.reason);
            return false;
        }
        right_path(c->problem, at.size, path);
        if (rename(made, path) != 0) {
            snprintf(why, size, "cannot write %.200s: %s", path, strerror(errno));
            return false;
        }
        const double is = cost(&job);
        growth = last > 0 ? is / last : 2;
        last = is;
        share = at.share;
        all->level = level;
    }
    snprintf(all->program, sizeof(all->program), "%s", name);
    tune_setting_print(c->problem, setting, all->setting, sizeof(all->setting));
    return true;
}

static uint64_t hash_of(const tune_problem *problem, const tune_device *device, const char *unit)
{
    uint64_t h = tune_unit_hash(problem, unit);
    const int parts[] = {device->processors, device->shared_per_block};
    for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++)
        h = (h ^ (uint64_t)parts[p]) * 0x100000001b3u;
    return h | 1;
}

// Writes the units, and finds the reference: the problem's own; else the setting of the first
// values or, where that can't be run, one of the first rows.
static bool prepare(counting *c, char *why, size_t size)
{
    const tune_problem *const problem = c->problem;
    char path[PROGRAM_PATH];
    char *const unit = tune_unit(problem, false);
    char *const right = problem->reference ? tune_unit(problem, true) : NULL;
    c->of_all = &kept;
    bool ok = unit && (right || !problem->reference);
    const uint64_t hash = ok ? hash_of(problem, c->device, unit) : 0;
    if (!ok)
        snprintf(why, size, "not counted: out of memory");
    if (!ok || kept.hash == hash)
        goto end;

    memset(&kept, 0, sizeof(kept));
    kept.level = kept.small = small_level(problem);
    ok = program_begin(c->stop, why, size);
    program_path(path, "unit.cpp");
    if (ok && !(ok = program_write(path, unit, strlen(unit))))
        snprintf(why, size, "not counted: cannot write %.200s: %s", path, strerror(errno));
    if (!ok)
        goto end;

    if (right) {
        const tune_setting standard = tune_standard(problem); // its launch may name a knob
        program_path(path, "reference.cpp");
        if (!program_write(path, right, strlen(right)))
            snprintf(kept.why, sizeof(kept.why), "cannot write %.200s: %s", path, strerror(errno));
        else
            try_reference(c, "reference.cpp", &standard, kept.why, sizeof(kept.why));
        if (!*kept.program && !problem->shipped) { // it was asked to be verified
            ok = false;
            snprintf(why, size, "not counted: the reference: %.400s",
                     kept.why +
                         strlen(uncounted) * !strncmp(kept.why, uncounted, strlen(uncounted)));
            goto end;
        }
    } else {
        tune_setting first = {{0}};
        for (int k = 0; k < problem->knobs; k++)
            first.value[k] = problem->knob[k].value[0];
        for (size_t i = 0; i < 4 && i <= c->count && !*kept.program && !*c->stop; i++)
            if (i == 0 || memcmp(&first, &c->rows[i - 1]->setting, sizeof(first)) != 0)
                try_reference(c, "unit.cpp", i == 0 ? &first : &c->rows[i - 1]->setting, kept.why,
                              sizeof(kept.why));
    }
    if (!*c->stop)
        kept.hash = hash;
end:
    free(unit);
    free(right);
    return ok;
}

// ---- Scaling ------------------------------------------------------------------------------------

enum { FIELDS = sizeof(tune_counts) / sizeof(double) };
_Static_assert(sizeof(tune_counts) % sizeof(double) == 0, "tune_counts is doubles");

static void take_counts(const simt_counts *from, double to[FIELDS])
{
    tune_counts made = {
        .global_loads = (double)from->global_loads,
        .global_stores = (double)from->global_stores,
        .global_requests = (double)from->global_requests,
        .global_sectors = (double)from->global_sectors,
        .global_bytes = (double)from->global_bytes,
        .global_load_sectors = (double)from->global_load_sectors,
        .global_load_bytes = (double)from->global_load_bytes,
        .shared_loads = (double)from->shared_loads,
        .shared_stores = (double)from->shared_stores,
        .shared_wavefronts = (double)from->shared_wavefronts,
        .shared_conflicts = (double)from->shared_conflicts,
        .atomics_global = (double)from->atomics_global,
        .atomics_shared = (double)from->atomics_shared,
        .atomic_collisions = (double)from->atomic_collisions,
        .atomic_collisions_global = (double)from->atomic_collisions_global,
        .atomic_sectors = (double)from->atomic_sectors,
        .barriers = (double)from->barriers,
        .shuffles = (double)from->shuffles,
        .active_lanes = (double)from->active_lanes,
        .lane_slots = (double)from->lane_slots,
        // Beside the average of a warp, as lanes that have nothing to do wait for the others. The first
        // block takes all that blocks deal out by tickets, as none of the others runs yet.
        .behind = (double)(from->blocks > 1 ? from->longest_later : from->longest_thread) -
                  (double)(from->global_loads + from->global_stores) / (double)from->warps -
                  (double)from->atomics_global / (double)from->threads,
    };
    for (int k = 0; k < TUNE_AGAIN; k++)
        made.global_again[k] = (double)from->global_again[k];
    memcpy(to, &made, sizeof(made));
}

static double blocks_of(const plan_launch *launch)
{
    return (double)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

// How much more, or less, work a block of launch l has in b than in a: the logarithm of the ratio.
static double apart(const tune_job *a, const tune_job *b, int l)
{
    return fabs(log(blocks_of(&a->plan.launch[l]) * b->plan.work /
                    (blocks_of(&b->plan.launch[l]) * a->plan.work)));
}

static const double too_close = 0.1; // two instances that are nearer say nothing of a and b apart

// Of launch l, from one instance or two (b may be NULL), to the full problem.
static void scale(const tune_job *full, const tune_job *a, const tune_job *b, int l,
                  tune_counts *to)
{
    double n[FIELDS], m[FIELDS], scaled[FIELDS];
    const double g = blocks_of(&a->plan.launch[l]), w = a->plan.work;
    const double blocks = blocks_of(&full->plan.launch[l]), work = full->plan.work;
    take_counts(&a->counts[l], n);
    if (b)
        take_counts(&b->counts[l], m);
    const bool two = b && apart(a, b, l) > too_close;
    for (int f = 0; f < FIELDS; f++) {
        double per_block = 0, per_work = w > 0 ? n[f] / w : 0;
        if (two) {
            const double h = blocks_of(&b->plan.launch[l]), v = b->plan.work;
            per_work = (g * m[f] - h * n[f]) / (g * v - h * w);
            per_block = (n[f] - per_work * w) / g;
            if (per_block < 0)
                per_block = 0, per_work = n[f] / w;
            else if (per_work < 0)
                per_work = 0, per_block = n[f] / g;
        }
        scaled[f] = per_block * blocks + per_work * work;
    }
    memcpy(to, scaled, sizeof(scaled));
    // Of one thread: as it is, and the least that it can be in the full problem.
    to->behind = n[offsetof(tune_counts, behind) / sizeof(double)];
}

// ---- A row --------------------------------------------------------------------------------------

// The launches of the full problem; false when the device could not make them.
static bool take_launches(const counting *c, tune_row *row, const tune_job *full)
{
    const plan_record *const p = &full->plan;
    if (p->launches < 0) {
        snprintf(row->reason, sizeof(row->reason),
                 "not counted: it makes more than %d launches, or one with too many arguments",
                 PLAN_LAUNCHES);
        return false;
    }
    const double gib = 0x1p30, memory = c->device->memory_gib;
    double arrays = 0;
    row->bytes = 0;
    for (int b = 0; b < c->problem->buffers; b++) {
        const tune_role role = c->problem->buffer[b].role;
        const double bytes = (double)p->count[b] * (double)p->item[b];
        arrays += bytes;
        row->bytes += bytes * (role == TUNE_SCRATCH ? 0 : role == TUNE_INOUT ? 2 : 1);
    }
    row->status = TUNE_NOT_LAUNCHED;
    if (memory > 0 && arrays > memory * gib) {
        snprintf(row->reason, sizeof(row->reason),
                 "its arrays take %.1f GiB, and the device has %.1f", arrays / gib, memory);
        return false;
    }
    if (p->status) {
        snprintf(row->reason, sizeof(row->reason), "its launcher returned %d (%s)", p->status,
                 full->error);
        return false;
    }
    if (p->launches == 0 || !(p->work > 0) || isinf(p->work)) {
        if (p->launches == 0)
            snprintf(row->reason, sizeof(row->reason), "it launches nothing");
        else
            snprintf(row->reason, sizeof(row->reason),
                     "its work is %g: --work should be greater than 0", p->work);
        return false;
    }
    row->launches = 0;
    for (int l = 0; l < p->launches; l++) {
        const plan_launch *const from = &p->launch[l];
        tune_launch *const to = &row->launch[row->launches++];
        memset(to, 0, sizeof(*to));
        if (!*from->kernel) {
            to->moved_bytes = from->from ? 2 * from->bytes : from->bytes;
            continue;
        }
        snprintf(to->kernel, sizeof(to->kernel), "%s", from->kernel);
        memcpy(to->grid, from->grid, sizeof(to->grid));
        memcpy(to->block, from->block, sizeof(to->block));
        to->shared_bytes = from->shared_bytes;
        const unsigned int *const g = from->grid, *const t = from->block;
        const double threads = (double)t[0] * t[1] * t[2];
        if (blocks_of(from) == 0 || g[0] > INT_MAX || g[1] > 65535 || g[2] > 65535 ||
            threads == 0 || threads > 1024 || t[2] > 64) {
            snprintf(row->reason, sizeof(row->reason),
                     "%s: no device launches (%u, %u, %u) blocks of (%u, %u, %u) threads "
                     "(cudaErrorInvalidConfiguration)",
                     from->kernel, g[0], g[1], g[2], t[0], t[1], t[2]);
            return false;
        }
        const tune_kernel *const kernel = tune_kernel_named(row, from->kernel);
        const char *limited_by = "";
        if (!kernel) {
            row->status = TUNE_PENDING;
            snprintf(
                row->reason, sizeof(row->reason),
                "not counted: it launches %s, which is no kernel that was compiled; a launcher "
                "names its kernel in the launch, not a pointer to it",
                from->kernel);
            return false;
        }
        snprintf(to->kernel, sizeof(to->kernel), "%s", kernel->name);
        if (kernel->most_threads > 0 && threads > kernel->most_threads) {
            snprintf(row->reason, sizeof(row->reason),
                     "%s: a block has %g threads, and its __launch_bounds__ allow %d", from->kernel,
                     threads, kernel->most_threads);
            return false;
        }
        to->resident =
            tune_occupancy(c->device, kernel, (int)threads, from->shared_bytes, &limited_by);
        snprintf(to->limited_by, sizeof(to->limited_by), "%s", limited_by);
        if (to->resident < 1) {
            snprintf(
                row->reason, sizeof(row->reason),
                "%s: a block of %g threads, %d registers each and %llu bytes of shared memory, is "
                "more than a multiprocessor holds (%s)",
                from->kernel, threads, kernel->registers,
                (unsigned long long)from->shared_bytes + (unsigned long long)kernel->static_shared,
                to->limited_by);
            return false;
        }
    }
    row->status = TUNE_PENDING;
    return true;
}

// Compares the outputs of a run with the reference's. false: they differ, and the row is told.
static bool compare(const counting *c, tune_row *row, const tune_job *job, const char *output,
                    const instance *at)
{
    char path[PROGRAM_PATH], sizes[200], at_sizes[204];
    size_t bytes = 0, wanted = 0, from = 0, first;
    char *const want = right_outputs(c, at, &wanted);
    program_path(path, "%s", output);
    char *const got = want ? program_read(path, &bytes) : NULL;
    bool same = true;
    size_t total = 0;
    print_sizes(c->problem, at->size, sizes, sizeof(sizes));
    snprintf(at_sizes, sizeof(at_sizes), " (%s)", sizes);
    for (int b = 0; b < c->problem->buffers; b++)
        total += job->written[b] ? job->plan.count[b] * job->plan.item[b] : 0;
    if (got && total != wanted) {
        row->status = TUNE_NOT_LAUNCHED;
        snprintf(row->reason, sizeof(row->reason),
                 "its outputs have %zu bytes, and the reference's %zu (%s)", total, wanted, sizes);
        same = false;
    }
    for (int b = 0; b < c->problem->buffers && got && same; b++) {
        const tune_buffer *const buffer = &c->problem->buffer[b];
        const size_t count = job->plan.count[b], item = job->plan.item[b];
        if (!job->written[b] || count * item > bytes - from)
            continue;
        same = tune_data_compare(buffer->type, got + from, want + from, count, item,
                                 job->plan.tolerance, &first);
        if (!same) {
            bool real;
            const size_t at = first * tune_data_part(buffer->type, item, &real);
            tune_data_wrong(c->problem, b, item, first, got + from + at, want + from + at,
                            count * item - at, c->of_all->setting, at_sizes, row);
        }
        from += count * item;
    }
    free(want);
    free(got);
    return same;
}

// The second instance: with that size halved which changes most what a block has to do.
static bool second(const counting *c, const char *program, const tune_row *row,
                   const tune_job *full, const tune_job *a, const instance *at, tune_job *best,
                   char *why, size_t size)
{
    double most = too_close;
    bool found = false;
    for (int s = 0; s < c->problem->sizes; s++) {
        instance half = *at; // on a device as large, so that a grid that fills it stays
        tune_job job;
        if (half.size[s] < 2)
            continue;
        half.size[s] = like(full->plan.size[s], half.size[s] / 2);
        if (!plan(c, program, row, &half, &job, why, size))
            return false;
        if (!same_path(&job, full) || !(job.plan.work > 0))
            continue;
        double differs = 0;
        for (int l = 0; l < job.plan.launches; l++)
            if (*job.plan.launch[l].kernel)
                differs = fmax(differs, apart(a, &job, l));
        if (differs >= most) { // among equals the last: a depth, whose half is no part of a block
            most = differs;
            *best = job;
            found = true;
        }
    }
    return found;
}

static void count_row(const counting *c, tune_row *row, const char *program)
{
    const tune_status was = row->status;
    const size_t size = sizeof(row->reason);
    char output[80], sizes[200];
    tune_job full, job, other;
    instance at = {.share = 1};
    snprintf(output, sizeof(output), "%s.out", program);
    row->counted = false;
    if (!program_build(c->problem, "unit.cpp", &row->setting, program, c->stop, row->reason, size))
        return;
    shrink(c->problem, 0, at.size);
    if (!plan(c, program, row, &at, &full, row->reason, size) || !take_launches(c, row, &full))
        goto end;
    row->status = was;

    // The instance; or a larger one, if only that takes the full problem's path.
    int level = c->of_all->level;
    for (;; level--) {
        if (!instance_at(c, program, level, full.plan.work, &at, row->reason, size) ||
            !plan(c, program, row, &at, &job, row->reason, size))
            goto end;
        if (level == 0 || same_path(&job, &full))
            break;
        if (c->of_all->level - level == 4) {
            print_sizes(c->problem, at.size, sizes, sizeof(sizes));
            snprintf(
                row->reason, size,
                "not counted: at %s, as much as is run here, it launches %s, and at the full size "
                "%s%s",
                sizes, first_kernel(&job), first_kernel(&full),
                strcmp(first_kernel(&job), first_kernel(&full)) ? "" : " otherwise");
            goto end;
        }
    }
    bool ran = execute(c, program, output, &job, row->reason, size);
    enum { LESS = 3 }; // an eighth
    if (!ran && !strncmp(row->reason, too_long, strlen(too_long)) &&
        level + LESS <= c->of_all->small) {
        // Its tiles may have much to do that the reference has not, as beside a single column.
        char why[sizeof(row->reason)];
        tune_job less;
        level += LESS;
        if (instance_at(c, program, level, full.plan.work, &at, why, sizeof(why)) &&
            plan(c, program, row, &at, &less, why, sizeof(why)) && same_path(&less, &full)) {
            job = less;
            ran = execute(c, program, output, &job, row->reason, size);
        }
    }
    if (!ran || !went_well(c, row, &job) || !compare(c, row, &job, output, &at))
        goto end;
    bool two = false;
    if (level > 0) {
        two = second(c, program, row, &full, &job, &at, &other, row->reason, size);
        if (two &&
            (!execute(c, program, output, &other, row->reason, size) || !went_well(c, row, &other)))
            goto end;
        if (*c->stop || (!two && *row->reason))
            goto end;
    }
    for (int l = 0; l < row->launches; l++)
        if (*row->launch[l].kernel)
            scale(&full, &job, two ? &other : NULL, l, &row->launch[l].counts);
    row->counted = true;
    if (!*c->of_all->program)
        snprintf(row->reason, size, "not verified: %s",
                 c->of_all->why +
                     strlen(uncounted) * !strncmp(c->of_all->why, uncounted, strlen(uncounted)));
end:
    if (limit_given && !row->counted && !strncmp(row->reason, too_long, strlen(too_long))) {
        row->status = TUNE_TIMEOUT;
        memmove(row->reason, row->reason + strlen(uncounted),
                strlen(row->reason + strlen(uncounted)) + 1);
    }
    if (!row->counted && row->status == TUNE_PENDING)
        row->status = was;
}

static void *count_rows(void *argument)
{
    counting *const c = argument;
    for (size_t i;
         !*c->stop && (i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->count;) {
        tune_row *const row = c->rows[i];
        char name[64], path[PROGRAM_PATH];
        if (row->status == TUNE_PENDING || row->status == TUNE_OK) {
            static const char *const made[] = {"", ".out", ".log"};
            snprintf(name, sizeof(name), "row%zu", i);
            count_row(c, row, name);
            for (size_t m = 0; m < sizeof(made) / sizeof(*made); m++) {
                program_path(path, "%s%s", name, made[m]);
                unlink(path);
            }
        }
        if (*c->stop)
            break;
        pthread_mutex_lock(&telling);
        if (c->done)
            c->done(i, c->context);
        pthread_mutex_unlock(&telling);
    }
    return NULL;
}

void tune_count(const tune_problem *problem, const tune_device *device, tune_row *const *rows,
                size_t count, const volatile int *stop, void (*done)(size_t i, void *context),
                void *context)
{
    counting c = {problem, device, rows, count, stop, done, context, 0, NULL};
    char why[512] = "";
    if (!prepare(&c, why, sizeof(why))) {
        for (size_t i = 0; i < count && !*stop; i++) {
            rows[i]->counted = false;
            if (rows[i]->status == TUNE_PENDING || rows[i]->status == TUNE_OK)
                snprintf(rows[i]->reason, sizeof(rows[i]->reason), "%s", why);
            if (done)
                done(i, context);
        }
        return;
    }
    enum { MOST = 64 };
    pthread_t thread[MOST];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = 0;
    while (threads < MOST && threads + 1 < processors && (size_t)threads + 1 < count &&
           pthread_create(&thread[threads], NULL, count_rows, &c) == 0)
        threads++;
    count_rows(&c);
    while (threads > 0)
        pthread_join(thread[--threads], NULL);
}
