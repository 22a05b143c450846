// SPDX-License-Identifier: MIT
//
// Predicted time, and why: a model simple enough to print.
//
//     us = sum over launches of  LAUNCH + LATENCY + norm(MEMORY, REQUESTS, SHARED, ATOMICS, ISSUE)
//
// A launch starts and makes its round trips; in between it streams, and what it streams through
// works all at once. So the slowest part decides, and a little more where two are as slow: a
// p-norm.
//
// Blocks come in waves. A multiprocessor works at its full rate when it has `hide_warps` warps or
// more: k blocks of w warps take it as long as, at that rate, max(k, hide_warps / w) blocks would.
// `busy` is the share of the multiprocessors' time that this leaves for work, and divides the rates
// of what is theirs: requests, shared memory, instructions. Memory has a law of its own, Little's:
// a rate is bytes in flight over latency.

#include "tune.h"

#include <math.h>
#include <string.h>

// All of it that is not the device's, the docs' figures being of an H200.
static const struct {
    double norm, next_launch_us, barrier_us, loaded, hide_warps, issue, sector, cache;
    double shared_atomic, shared_collision, atomic, atomic_collision, behind, warp_us;
} k = {
    // Two equal terms take 19% more than one. So docs/map.md's single, a + b and a^2 at 2^28, ...
    .norm = 4,
    // ... make `loaded` x latency_ns of 844 and 772 ns; gpu-benches' gpu-stream, read, 752.
    .loaded = 2.2,
    // docs/reduce.md, 2^10: multiblock, of two launches, less shared, of one: 1.5 and 1.3 us.
    .next_launch_us = 1.4,
    .barrier_us = 0.025, // estimate: 50 clocks
    .hide_warps = 8,     // docs/matmul.md: two a scheduler issue in 77 to 84% of the slots
    .issue = 4,          // warp instructions a clock: CUDA C++ Programming Guide, four schedulers
    .sector = 32,        // bytes
    // Bytes of the memory that is shared memory and first-level cache, beyond the most that shared memory may
    // have of it. CUDA C++ Programming Guide: 256 and 228 KB, 192 and 164, 128 and 100; 96 and 64 of sm_75.
    .cache = 28 << 10,
    // Wavefronts of an atomic for one of a load: it reads and writes. docs/histogram.md,
    // vectorized, 2^30 in 256 bins. Uniform: 6 clocks a warp, of whose lanes 3 to 4 meet in some
    // bank. 16 values: 4.2 clocks; 18 lanes of 32 have another's address, and no others meet.
    .shared_atomic = 2,
    .shared_collision = 0.1,
    // Clocks of the whole device for a sector, and for a lane whose address its warp has already.
    // docs/tune.md, 2048 bins of 2^22 uniform words by 128 threads, and by 1024: 29.1 us for 473000
    // sectors, 256 of each block. docs/histogram.md, basic, 16 values: 5.4 G/s.
    .atomic = 0.12,
    .atomic_collision = 0.35,
    // Of latency_ns, an access that only waits for the one before it, as the last block's to the
    // others' results, in L2. docs/tune.md, reduction of 2^20 by 64 threads, 2048 and 4096 blocks.
    .behind = 0.36,
    // A block's start and its meetings, for each warp. docs/tune.md, reduction of 2^16 by 256, 512
    // and 1024 threads.
    .warp_us = 0.012,
};

const char *const tune_term_name[TUNE_TERMS] = {"launch", "latency", "memory", "requests",
                                                "shared", "atomics", "issue"};

static double norm(double a, double b)
{
    double most = fmax(a, b);
    return most > 0 ? most * pow(pow(a / most, k.norm) + pow(b / most, k.norm), 1 / k.norm) : 0;
}

static double ratio(double a, double b, double otherwise)
{
    return b > 0 ? a / b : otherwise;
}

// ---- A launch -----------------------------------------------------------------------------------

typedef struct {
    double blocks, threads, warps; // of the grid; of a block
    double resident;               // blocks that a multiprocessor holds
    double waves, full, rest;      // all; the full ones; blocks in the last, partial one
    double occupancy, busy;
} shape;

static shape shape_of(const tune_device *device, const tune_launch *l)
{
    shape s = {.blocks = (double)l->grid[0] * l->grid[1] * l->grid[2],
               .threads = (double)l->block[0] * l->block[1] * l->block[2],
               .resident = l->resident > 0 ? l->resident : 1};
    double capacity = s.resident * device->processors;
    s.warps = ceil(s.threads / 32);
    s.waves = s.blocks / capacity;
    s.full = floor(s.waves);
    s.rest = s.blocks - s.full * capacity;
    s.occupancy = fmin(1, s.resident * s.threads / device->threads_per_processor);
    double enough = ratio(k.hide_warps, s.warps, 1);
    double time = s.full * fmax(s.resident, enough); // of the busiest multiprocessor, in blocks
    if (s.rest > 0)
        time += fmax(ceil(s.rest / device->processors), enough);
    s.busy = ratio(s.blocks / device->processors, time, 1);
    return s;
}

static const tune_kernel *kernel_of(const tune_row *row, const tune_launch *l)
{
    static const tune_kernel none;
    for (int i = 0; i < row->kernels; ++i)
        if (!strcmp(row->kernel[i].name, l->kernel))
            return row->kernel + i;
    return row->kernels == 1 ? row->kernel : &none;
}

// The share of the load sectors that the first-level cache does not answer. It has what shared memory leaves, for all
// blocks that are there at once. It answers what was loaded a short time ago: if since then less was fetched than
// it holds. What is fetched depends on what it answers, so this starts from the least.
static double missed(const tune_device *d, const tune_kernel *kernel, const tune_launch *l)
{
    const tune_counts *c = &l->counts;
    shape s = shape_of(d, l);
    double blocks = fmin(s.resident, ceil(s.blocks / d->processors));
    double taken = kernel->static_shared + (double)l->shared_bytes + d->shared_reserved;
    double room = d->shared_per_processor + k.cache - blocks * taken;
    double share = 0, least = 1;
    for (int a = 0; a < TUNE_AGAIN; ++a)
        least -= ratio(c->global_again[a], c->global_load_sectors, 0);
    for (least = fmax(0, least); share < least;) {
        share = least, least = 1;
        for (int a = 0; a < TUNE_AGAIN; ++a) {
            double sectors = 0.75 * (8 << a); // the middle of what is counted there
            if (blocks * s.warps * sectors * k.sector * share <= room)
                least -= ratio(c->global_again[a], c->global_load_sectors, 0);
        }
        least = fmax(share, least);
    }
    return c->global_load_sectors > 0 ? share : 1;
}

// Bytes that leave the multiprocessors.
static double traffic(const tune_counts *c, double share)
{
    return (c->global_sectors - (1 - share) * c->global_load_sectors) * k.sector;
}

// Warp instructions that simt counts; an atomic is taken to have all its lanes.
static double instructions(const tune_counts *c)
{
    return c->global_loads + c->global_stores + c->shared_loads + c->shared_stores +
           (c->atomics_global + c->atomics_shared) / 32;
}

// Bytes that a thread waits for at a time: what the loop asks for, but no more than there is of it, and of
// that the share which the first-level cache has not.
static double in_flight(const tune_kernel *kernel, const tune_counts *c, double threads,
                        double share)
{
    return share * (c->global_load_bytes > 0
                        ? fmin(kernel->inflight, c->global_load_bytes / threads)
                        : kernel->inflight);
}

// us to move `bytes`, of which `loads` are waited for, by n blocks at once with so many bytes in
// flight each (0: not known, and taken to be enough).
static double memory_us(const tune_device *d, double bytes, double loads, double n, double inflight)
{
    double latency_us = d->latency_ns * k.loaded / 1e3;
    return norm(bytes / d->memory_gbps / 1e3, ratio(loads * latency_us, n * inflight, 0));
}

// `first`: bytes that memory has to move, as nothing has touched them before. `flop`: the launch's. `share`: see
// missed().
static void predict_launch(const tune_device *d, const tune_kernel *kernel, const tune_launch *l,
                           double first, double flop, double share, double term[TUNE_TERMS])
{
    const tune_counts *c = &l->counts;
    shape s = shape_of(d, l);
    double clocks_us = d->clock_ghz * 1e3, all_us = clocks_us * d->processors * s.busy;
    double collisions = c->atomic_collisions_global;
    double latency_us = d->latency_ns / 1e3;

    // A later wave's loads are in MEMORY, by Little's law; its barriers the other residents hide.
    double barriers = ratio(c->barriers, s.blocks, 0) * k.barrier_us;
    term[TUNE_LATENCY] = latency_us * ((c->global_loads > 0) + (c->atomics_global > 0)) +
                         latency_us * k.behind * fmax(0, c->behind) + s.warps * k.warp_us +
                         barriers * (1 + fmax(0, ceil(s.waves) - 1) / s.resident);

    // The partial wave apart, as it may have too few blocks to keep the memory busy. What is
    // touched again, but not by the block a short time ago, comes from L2.
    double all = traffic(c, share);
    double loads = ratio(c->global_load_sectors * share * k.sector, all, 0);
    double part = ratio(s.rest, s.blocks, 0);
    double inflight = s.threads * in_flight(kernel, c, s.blocks * s.threads, share);
    term[TUNE_MEMORY] = memory_us(d, first * (1 - part), first * (1 - part) * loads,
                                  s.resident * d->processors, inflight) +
                        memory_us(d, first * part, first * part * loads, s.rest, inflight) +
                        (all - first) / d->l2_gbps / 1e3;

    // Spills are taken to be in the loop, where the pressure is: once each time round, a line for
    // four bytes of each lane.
    double warps = s.blocks * s.warps;
    double rounds = fmax(1, ratio(instructions(c), warps * kernel->loop_memory, 1));
    double spills = (kernel->spill_stores + kernel->spill_loads) / 4.0 * warps * rounds;
    term[TUNE_REQUESTS] = (c->global_requests + spills) / all_us;

    double warp_atomics = c->atomics_shared / 32;
    double atomics = ratio(warp_atomics, c->shared_loads + c->shared_stores + warp_atomics, 0);
    term[TUNE_SHARED] = (c->shared_wavefronts * (1 + atomics * (k.shared_atomic - 1)) +
                         (c->atomic_collisions - collisions) * k.shared_collision) /
                        all_us;

    term[TUNE_ATOMICS] =
        (c->atomic_sectors * k.atomic + collisions * k.atomic_collision) / clocks_us;

    double others = fmax(1, ratio(kernel->loop_instructions, kernel->loop_memory, 1));
    term[TUNE_ISSUE] = fmax((instructions(c) * others + spills) / k.issue,
                            flop / (2.0 * d->fp32_per_clock)) / // a fused multiply-add is two
                       all_us;
}

// Returns the kernel's launch that takes longest; of a row not counted, that has most threads.
static const tune_launch *predict(const tune_problem *problem, const tune_device *device,
                                  const tune_row *row, tune_prediction *p)
{
    static const tune_launch none;
    const tune_launch *main_launch = &none;
    memset(p, 0, sizeof *p);
    double bytes = 0, touched = 0, work = 0, lanes = 0, slots = 0, asked = 0, longest = -1;
    double share[TUNE_LAUNCHES];
    for (int i = 0; i < row->launches && row->counted; ++i) {
        const tune_counts *c = &row->launch[i].counts;
        share[i] = missed(device, kernel_of(row, row->launch + i), row->launch + i);
        bytes += traffic(c, share[i]), touched += traffic(c, 1);
        work += instructions(c), asked += c->global_bytes;
        lanes += c->active_lanes, slots += c->lane_slots;
    }
    // In lanes of 32 bits, which the arithmetic of doubles has fewer of.
    double flop = problem->flop;
    if (!strcmp(problem->type, "f64"))
        flop *= ratio(device->fp32_per_clock, device->fp64_per_clock, 1);
    double known = problem->bytes > 0 ? problem->bytes : row->bytes > 0 ? row->bytes : bytes;
    for (int i = 0; i < row->launches; ++i) {
        const tune_launch *l = row->launch + i;
        double term[TUNE_TERMS] = {0}, us = 0;
        term[TUNE_LAUNCH] = i ? k.next_launch_us : device->launch_us;
        if (!*l->kernel) {
            term[TUNE_MEMORY] = us = (double)l->moved_bytes / device->memory_gbps / 1e3;
        } else if (row->counted) {
            double mine = traffic(&l->counts, share[i]), part = ratio(mine, bytes, 0);
            predict_launch(device, kernel_of(row, l), l, fmin(mine, known * part),
                           flop * ratio(instructions(&l->counts), work, 0), share[i], term);
            for (int t = TUNE_MEMORY; t < TUNE_TERMS; ++t)
                us = norm(us, term[t]);
        }
        us += term[TUNE_LAUNCH] + term[TUNE_LATENCY];
        for (int t = 0; t < TUNE_TERMS && row->counted; ++t)
            p->term[t] += term[t];
        p->us += row->counted ? us : 0;
        shape s = shape_of(device, l);
        double weight = row->counted ? us : s.blocks * s.threads;
        if (*l->kernel && weight > longest) {
            longest = weight, main_launch = l;
            p->waves = s.waves, p->occupancy = s.occupancy, p->busy = s.busy;
            double on_one = fmin(s.resident, ceil(s.blocks / device->processors));
            p->inflight = on_one * s.threads *
                          in_flight(kernel_of(row, l), &l->counts, s.blocks * s.threads,
                                    row->counted ? share[i] : 1);
        }
    }
    for (int t = 1; t < TUNE_TERMS; ++t)
        if (p->term[t] > p->term[p->bound])
            p->bound = (tune_term)t;
    p->needed = device->memory_gbps * device->latency_ns * k.loaded / device->processors;
    p->lanes = ratio(lanes, slots, 1);
    p->coalesced = ratio(asked, touched, 1);
    return main_launch;
}

void tune_predict(const tune_problem *problem, const tune_device *device, tune_row *row)
{
    predict(problem, device, row, &row->predicted);
}

// ---- Why ----------------------------------------------------------------------------------------

static const double same = 0.03; // terms and figures that differ by less are not told apart

typedef struct {
    tune_prediction p;
    const tune_launch *launch; // the longest
    const tune_kernel *kernel; // its
    int spills;                // bytes, of the kernel that spills most
    bool counted;
} view;

static view view_of(const tune_problem *problem, const tune_device *device, const tune_row *row)
{
    view v = {.counted = row->counted};
    v.launch = predict(problem, device, row, &v.p);
    v.kernel = kernel_of(row, v.launch);
    for (int i = 0; i < row->kernels; ++i)
        if (row->kernel[i].spill_stores + row->kernel[i].spill_loads > v.spills)
            v.spills = row->kernel[i].spill_stores + row->kernel[i].spill_loads;
    return v;
}

// Names what ails a; beside b, only what ails it more than b. Returns how many lines.
static int pitfalls(const view *a, const view *b, FILE *out)
{
    int lines = 0;
    if (a->p.waves > 0 && a->p.waves < 0.95) {
        if (!b || a->p.waves < b->p.waves * (1 - same))
            ++lines,
                fprintf(out, "    too few blocks to fill the device (%.1f waves)\n", a->p.waves);
    } else if (a->p.busy > 0 && a->p.busy < 0.8 && (!b || a->p.busy < b->p.busy * (1 - same)))
        ++lines, fprintf(out, "    uneven waves: %.1f of them, multiprocessors busy %.0f%%\n",
                         a->p.waves, 100 * a->p.busy);
    const char *by = a->launch->limited_by;
    bool ours = !strcmp(by, "registers") || !strcmp(by, "shared memory");
    if (ours && b && a->p.occupancy < b->p.occupancy * (1 - same))
        ++lines, fprintf(out, "    occupancy lost to %s (from %.0f%% to %.0f%%)\n", by,
                         100 * b->p.occupancy, 100 * a->p.occupancy);
    else if (ours && !b && a->p.occupancy < 0.5)
        ++lines, fprintf(out, "    occupancy held down by %s (%.0f%%)\n", by, 100 * a->p.occupancy);
    if (a->spills > (b ? b->spills : 0))
        ++lines, fprintf(out, "    spills: %d bytes a thread\n", a->spills);
    if (!a->counted || (b && !b->counted))
        return lines;
    if (a->p.coalesced > 0 && a->p.coalesced < 0.8 &&
        (!b || a->p.coalesced < b->p.coalesced * (1 - same)))
        ++lines, fprintf(out, "    uncoalesced: %.1f bytes moved for each asked for\n",
                         1 / a->p.coalesced);
    if (a->p.inflight > 0 && a->p.inflight < a->p.needed &&
        (!b || a->p.inflight < b->p.inflight * (1 - same)))
        ++lines, fprintf(out, "    bytes in flight: %.0f KiB a multiprocessor of %.0f KiB needed\n",
                         a->p.inflight / 1024, a->p.needed / 1024);
    if (a->p.lanes > 0 && a->p.lanes < 0.8 && (!b || a->p.lanes < b->p.lanes * (1 - same)))
        ++lines, fprintf(out, "    idle lanes: %.0f%% of a warp's at work\n", 100 * a->p.lanes);
    return lines;
}

static void figures(const tune_problem *problem, const char *which, const tune_row *row,
                    const view *v, FILE *out)
{
    char setting[512];
    tune_setting_print(problem, &row->setting, setting, sizeof setting);
    fprintf(out, "  %s, %s: ", which, setting);
    if (row->timed)
        fprintf(out, "%.1f us, ", row->us);
    if (v->counted)
        fprintf(out, "predicted %.1f us, bound by %s (%.1f us), ", v->p.us,
                tune_term_name[v->p.bound], v->p.term[v->p.bound]);
    fprintf(out, "%d registers, occupancy %.0f%%, %.1f waves\n", v->kernel->registers,
            100 * v->p.occupancy, v->p.waves);
}

static void beside(const tune_problem *problem, const tune_device *device, const tune_row *row,
                   const view *v, const char *which, const tune_row *other, FILE *out)
{
    if (other->status != TUNE_OK && other->status != TUNE_PENDING) {
        char setting[512];
        tune_setting_print(problem, &other->setting, setting, sizeof setting);
        fprintf(out, "  %s, %s: failed: %s\n", which, setting, other->reason);
        return;
    }
    view o = view_of(problem, device, other);
    figures(problem, which, other, &o, out);
    int lines = pitfalls(&o, v, out);
    bool timed = row->timed && other->timed, counted = v->counted && o.counted;
    double mine = timed ? row->us : v->p.us, its = timed ? other->us : o.p.us;
    const bool as_long = (timed || counted) && fabs(its - mine) <= same * mine;
    bool equal = as_long;
    tune_term most = TUNE_LAUNCH;
    double grown = 0;
    for (int t = 0; t < TUNE_TERMS && counted; ++t) {
        grown += fmax(0, o.p.term[t] - v->p.term[t]);
        equal = equal && fabs(o.p.term[t] - v->p.term[t]) <= same * mine;
        if (o.p.term[t] - v->p.term[t] > o.p.term[most] - v->p.term[most])
            most = (tune_term)t;
    }
    if (equal)
        fprintf(out, "    no price to save: %s within %.0f%% of the time\n",
                counted ? "every term is" : "it is", 100 * same);
    else if (counted && o.p.term[most] - v->p.term[most] > same * mine)
        fprintf(out, "    more %s: %.1f us for %.1f\n", tune_term_name[most], o.p.term[most],
                v->p.term[most]);
    else if (as_long)
        fprintf(out, "    it takes as long: what it saves is not what binds\n");
    else if (counted && its > mine && grown > (its - mine) / 2) {
        const char *before = "    a little more of several:";
        for (int t = 0; t < TUNE_TERMS; ++t)
            if (o.p.term[t] - v->p.term[t] > 0.1 * grown) {
                fprintf(out, "%s %s %.2f us", before, tune_term_name[t],
                        o.p.term[t] - v->p.term[t]);
                before = ",";
            }
        fputs("\n", out);
    } else if (!lines && (timed || counted))
        fprintf(out, "    %.1f us for %.1f, and nothing that is counted says why\n", its, mine);
}

void tune_why(const tune_problem *problem, const tune_device *device, const tune_row *row,
              const tune_row *finer, const tune_row *coarser, FILE *out)
{
    view v = view_of(problem, device, row);
    figures(problem, "chosen", row, &v, out);
    pitfalls(&v, NULL, out);
    if (finer)
        beside(problem, device, row, &v, "finer", finer, out);
    if (coarser)
        beside(problem, device, row, &v, "coarser", coarser, out);
}
