// SPDX-License-Identifier: MIT
//
// The devices, the model and the choice, on cases computed by hand. The model is included, and not
// linked: its constants may change, and these cases hold, as they test what it does with them.

#include "../../bench/tune/model.c"

#include <stdlib.h>
#include <unistd.h>

#include "../tap.h"

// Of space.c: the first knob is the factor.
double tune_coarseness(const tune_problem *problem, const tune_setting *setting)
{
    (void)problem;
    return (double)setting->value[0];
}

void tune_setting_print(const tune_problem *problem, const tune_setting *setting, char *to,
                        size_t size)
{
    (void)problem;
    snprintf(to, size, "FACTOR=%ld", setting->value[0]);
}

static int near(double a, double b)
{
    if (fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)))
        return 1;
    tap_diag("%.9g, not %.9g", a, b);
    return 0;
}

// ---- The model ----------------------------------------------------------------------------------

// Round numbers: 100 kB/us of memory, 1 MB/us of L2, 10000 clocks of its multiprocessors a us.
static const tune_device device = {.name = "round",
                                   .sm = 90,
                                   .processors = 10,
                                   .threads_per_processor = 1024,
                                   .clock_ghz = 1,
                                   .memory_gbps = 100,
                                   .l2_gbps = 1000,
                                   .latency_ns = 100,
                                   .fp32_per_clock = 64,
                                   .launch_us = 5};

// Ten blocks of 256 threads, one a multiprocessor: one full wave.
static tune_row one_wave(void)
{
    tune_row row = {.status = TUNE_OK, .kernels = 1, .launches = 1, .counted = true};
    strcpy(row.kernel[0].name, "kernel");
    strcpy(row.launch[0].kernel, "kernel");
    tune_launch *l = row.launch;
    l->grid[0] = 10, l->grid[1] = l->grid[2] = 1;
    l->block[0] = 256, l->block[1] = l->block[2] = 1;
    l->resident = 1;
    strcpy(l->limited_by, "threads");
    return row;
}

static double term(const tune_problem *problem, tune_row row, tune_term t)
{
    tune_predict(problem, &device, &row);
    return row.predicted.term[t];
}

static void test_launch_and_latency(void)
{
    tune_problem problem = {.flop = 0};
    tune_row row = one_wave();
    row.launches = 3;
    row.launch[1] = (tune_launch){.moved_bytes = 1000000};
    row.launch[2] = row.launch[0];
    tap_ok(near(term(&problem, row, TUNE_LAUNCH), 5 + 2 * k.next_launch_us), "three launches");
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 10), "a memset of 1 MB at 100 GB/s");

    row = one_wave();
    const double warps = 8 * k.warp_us; // of a block
    tap_ok(near(term(&problem, row, TUNE_LATENCY), warps), "eight warps a block");
    row.launch[0].counts.barriers = 40;
    tap_ok(near(term(&problem, row, TUNE_LATENCY), warps + 4 * k.barrier_us),
           "four barriers a block");
    row.launch[0].counts.global_loads = 1;
    row.launch[0].counts.atomics_global = 1;
    tap_ok(near(term(&problem, row, TUNE_LATENCY), warps + 0.2 + 4 * k.barrier_us),
           "and a load, and an atomic: 100 ns each");
    row.launch[0].counts.behind = 30;
    tap_ok(near(term(&problem, row, TUNE_LATENCY), warps + 0.2 + 4 * k.barrier_us + 3 * k.behind),
           "and a thread that makes 30 accesses more than the others: `behind` x 100 ns each");
    row.launch[0].counts.behind = -30;
    tap_ok(near(term(&problem, row, TUNE_LATENCY), warps + 0.2 + 4 * k.barrier_us),
           "and none less");
    row.launch[0].counts.behind = 0;
    row.launch[0].resident = 2;
    row.launch[0].grid[0] = 60;
    row.launch[0].counts.barriers = 240;
    tap_ok(near(term(&problem, row, TUNE_LATENCY), warps + 0.2 + 8 * k.barrier_us),
           "three waves, two resident: the later two show half of their barriers");
    row.launch[0].block[0] = 1000; // 31.25 warps
    tap_ok(near(term(&problem, row, TUNE_LATENCY), 32 * k.warp_us + 0.2 + 8 * k.barrier_us),
           "a part of a warp is one; of one block, however many there are");
}

static void test_memory(void)
{
    tune_problem problem = {.bytes = 0};
    tune_row row = one_wave();
    tune_counts *c = &row.launch[0].counts;
    c->global_sectors = c->global_load_sectors = 31250;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 10), "1 MB at 100 GB/s");
    problem.bytes = 400000;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 4.6), "0.6 MB of it a second time, from L2");
    problem.bytes = 0, row.bytes = 400000;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 4.6), "likewise by the row's own bytes");
    row.bytes = 0;

    // 10 blocks x 256 threads x 16 bytes every `loaded` x 100 ns.
    row.kernel[0].inflight = 16;
    double waits = 1e6 / 40960 * 0.1 * k.loaded;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), norm(10, waits)), "by Little's law");
    c->global_load_sectors /= 2;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), norm(10, waits / 2)), "nothing waits for stores");
    c->global_load_sectors *= 2;
    row.launch[0].grid[0] = 15;
    double full = norm(10 * 2 / 3., waits * 2 / 3), rest = norm(10 / 3., waits / 3 * 2);
    tap_ok(near(term(&problem, row, TUNE_MEMORY), full + rest),
           "half a wave at the end has half in flight");

    tune_predict(&problem, &device, &row);
    tap_ok(near(row.predicted.inflight, 4096) && near(row.predicted.needed, 1000 * k.loaded),
           "bytes in flight and needed: 10 GB/s a multiprocessor x latency");

    // 15 blocks x 256 threads x 4 bytes are all that there is to load.
    c->global_load_bytes = 15360;
    full = norm(10 * 2 / 3., 4 * waits * 2 / 3), rest = norm(10 / 3., 4 * waits / 3 * 2);
    tap_ok(near(term(&problem, row, TUNE_MEMORY), full + rest),
           "a thread that loads 4 bytes has no 16 in flight");
    tune_predict(&problem, &device, &row);
    tap_ok(near(row.predicted.inflight, 1024), "and the prediction says so");
    c->global_load_bytes = 15360 * 5;
    tap_ok(near(term(&problem, row, TUNE_MEMORY),
                norm(10 * 2 / 3., waits * 2 / 3) + norm(10 / 3., waits / 3 * 2)),
           "one that loads 20 has 16");
    row.kernel[0].inflight = 0;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 10), "and where it is not known, it is enough");
    c->global_bytes = 250000, c->active_lanes = 24, c->lane_slots = 32;
    tune_predict(&problem, &device, &row);
    tap_ok(near(row.predicted.coalesced, 0.25) && near(row.predicted.lanes, 0.75),
           "coalesced, lanes");
}

// 28 KiB of first-level cache, and 8 warps: what each of them loads between two loads of a sector is 256 bytes a sector.
static void test_cache(void)
{
    tune_problem problem = {.bytes = 0};
    tune_row row = one_wave();
    tune_counts *c = &row.launch[0].counts;
    c->global_sectors = c->global_load_sectors = 31250;
    c->global_again[3] = 15625; // 48 sectors ago, or so
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 5), "half of 1 MB, from the first-level cache");
    c->global_sectors *= 2;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 15), "and 1 MB is stored all the same");
    c->global_sectors /= 2;
    problem.bytes = 400000;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 4.1), "of the other half, 0.1 MB from L2");
    problem.bytes = 0;
    row.kernel[0].inflight = 16;
    const double waits = 1e6 / 40960 * 0.1 * k.loaded;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), norm(5, waits)),
           "what it answers is not in flight");
    tune_predict(&problem, &device, &row);
    tap_ok(near(row.predicted.inflight, 2048), "and the prediction says so");
    row.kernel[0].inflight = 0;
    c->global_bytes = 1e6;
    tune_predict(&problem, &device, &row);
    tap_ok(near(row.predicted.coalesced, 1), "bytes touched for each asked for are the same");

    row.launch[0].shared_bytes = 24 << 10;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 10), "shared memory leaves too little of it");
    row.launch[0].shared_bytes = 0;
    row.launch[0].grid[0] = 30, row.launch[0].resident = 3;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 5), "for three blocks it is enough");
    c->global_again[4] = c->global_again[3], c->global_again[3] = 0;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 10), "and not for loads twice as far apart");

    row = one_wave();
    c->global_sectors = c->global_load_sectors = 31250;
    c->global_again[5] = 15625;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 5),
           "192 sectors ago, of which half were fetched: 24 KiB");
    c->global_again[5] = 31250 / 4.;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 10), "if three quarters were, 36 KiB");
    c->global_again[2] = 31250 / 4.;
    tap_ok(near(term(&problem, row, TUNE_MEMORY), 5), "half, as others are answered");
}

static void test_waves(void)
{
    tune_problem problem = {.flop = 0};
    tune_row row = one_wave();
    tune_launch *l = row.launch;
    l->counts.global_requests = 1e6;
    tap_ok(near(term(&problem, row, TUNE_REQUESTS), 100), "1 M requests, one a clock each of ten");

    // blocks, threads, resident: waves, occupancy, busy.
    double few = k.hide_warps / 2; // blocks of two warps that a full rate takes
    struct {
        unsigned int blocks, threads;
        int resident;
        double waves, occupancy, busy;
    } cases[] = {
        {10, 256, 1, 1, 0.25, 1},
        {11, 256, 1, 1.1, 0.25, 0.55},
        {5, 256, 1, 0.5, 0.25, 0.5},
        {25, 256, 4, 0.625, 1, 2.5 / 3},
        {95, 256, 4, 2.375, 1, 9.5 / 10},
        {1000, 64, 4, 25, 0.25, 4 / fmax(4, few)},
        {1000, 64, 2, 50, 0.125, 2 / fmax(2, few)},
        {10, 64, 4, 0.25, 0.25, 1 / fmax(1, few)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        l->grid[0] = cases[i].blocks, l->block[0] = cases[i].threads;
        l->resident = cases[i].resident;
        tune_predict(&problem, &device, &row);
        tap_ok(near(row.predicted.waves, cases[i].waves) &&
                   near(row.predicted.occupancy, cases[i].occupancy) &&
                   near(row.predicted.busy, cases[i].busy) &&
                   near(row.predicted.term[TUNE_REQUESTS], 100 / cases[i].busy),
               "%u blocks of %u, %d resident", cases[i].blocks, cases[i].threads,
               cases[i].resident);
    }
}

static void test_instructions(void)
{
    tune_problem problem = {.flop = 0};
    tune_row row = one_wave();
    tune_counts *c = &row.launch[0].counts;
    c->global_loads = 4e4;
    row.kernel[0].loop_instructions = 10, row.kernel[0].loop_memory = 2;
    tap_ok(near(term(&problem, row, TUNE_ISSUE), 4e4 * 5 / k.issue / 1e4),
           "ten for every two loads");
    problem.flop = 1.28e7;
    tap_ok(near(term(&problem, row, TUNE_ISSUE), 10), "12.8 Mflop: 640 lanes of two a clock");
    problem.flop = 0;

    // 80 warps, 400 loads each, two of them a time round the loop: 200 rounds (of 500 each: 250).
    c->global_loads = 80 * 400;
    row.kernel[0].loop_instructions = 2;
    row.kernel[0].spill_stores = row.kernel[0].spill_loads = 4;
    tap_ok(near(term(&problem, row, TUNE_REQUESTS), 80 * 200 * 2 / 1e4) &&
               near(term(&problem, row, TUNE_ISSUE), (32000 + 32000) / k.issue / 1e4),
           "spills: two lines a warp and round, asked for and issued");
    double before = 0;
    int more = 1;
    for (int spills = 0; spills <= 64; spills += 4) {
        row.kernel[0].spill_stores = spills;
        tune_predict(&problem, &device, &row);
        more = more && row.predicted.us > before;
        before = row.predicted.us;
    }
    tap_ok(more, "more spills take longer");
}

static void test_shared_and_atomics(void)
{
    tune_problem problem = {.flop = 0};
    tune_row row = one_wave();
    tune_counts *c = &row.launch[0].counts;
    c->shared_wavefronts = 1e5, c->shared_loads = 1e4;
    tap_ok(near(term(&problem, row, TUNE_SHARED), 10), "100 k wavefronts");
    c->atomics_shared = 32e4; // half of the warp instructions, and so of the wavefronts
    tap_ok(near(term(&problem, row, TUNE_SHARED), 5 + 5 * k.shared_atomic),
           "half of them atomics'");
    c->atomic_collisions = 1000;
    tap_ok(
        near(term(&problem, row, TUNE_SHARED), 5 + 5 * k.shared_atomic + 0.1 * k.shared_collision),
        "and collisions");
    tap_ok(near(term(&problem, row, TUNE_ATOMICS), 0), "none of them global");
    c->atomics_shared = 0, c->atomics_global = 7e4;
    c->atomic_sectors = 1e4, c->atomic_collisions = c->atomic_collisions_global = 2000;
    tap_ok(near(term(&problem, row, TUNE_ATOMICS), 10 * k.atomic + 2 * k.atomic_collision) &&
               near(term(&problem, row, TUNE_SHARED), 10),
           "global atomics: 10 k sectors, 2 k that collide, 1000 clocks a us");
    c->atomic_collisions = 5000;
    tap_ok(near(term(&problem, row, TUNE_ATOMICS), 10 * k.atomic + 2 * k.atomic_collision) &&
               near(term(&problem, row, TUNE_SHARED), 10 + 0.3 * k.shared_collision),
           "3 k more collide in shared memory");
}

static void test_together(void)
{
    tune_problem problem = {.flop = 0};
    tune_row row = one_wave();
    tune_counts *c = &row.launch[0].counts;
    c->global_requests = 1e5, c->shared_wavefronts = 1e5;
    tune_predict(&problem, &device, &row);
    tap_ok(near(row.predicted.us, 5 + 8 * k.warp_us + 10 * pow(2, 1 / k.norm)), "two equal terms");
    tap_ok(row.predicted.bound == TUNE_REQUESTS, "the first of the greatest binds");
    c->shared_wavefronts = 1e7;
    tune_predict(&problem, &device, &row);
    tap_ok(row.predicted.bound == TUNE_SHARED && row.predicted.us > 1005 &&
               row.predicted.us < 1005.1,
           "a greatest term, by far");
    double sum = 0;
    row.launches = 2;
    row.kernels = 2;
    row.launch[1] = row.launch[0];
    strcpy(row.launch[1].kernel, "other");
    strcpy(row.kernel[1].name, "other");
    row.kernel[1].spill_loads = 4;
    tune_predict(&problem, &device, &row);
    tap_ok(near(row.predicted.term[TUNE_REQUESTS], 20 + 80 / 1e4), "each launch its own kernel");
    strcpy(row.launch[1].kernel, "absent");
    row.kernel[0].spill_loads = 8;
    tune_predict(&problem, &device, &row);
    tap_ok(near(row.predicted.term[TUNE_REQUESTS], 20 + 160 / 1e4), "and none, not another's");
    for (int t = 0; t < TUNE_TERMS; ++t) {
        sum += row.predicted.term[t];
        tap_ok(tune_term_name[t] && *tune_term_name[t], "term %d has a name", t);
    }
    tap_ok(row.predicted.us < sum, "the whole is less than the sum of its terms");
    row.counted = false;
    tune_predict(&problem, &device, &row);
    tap_ok(row.predicted.us == 0 && near(row.predicted.waves, 1),
           "not counted: waves, and no time");
}

// ---- Why ----------------------------------------------------------------------------------------

// What tune_why says of the row beside a coarser one.
static int says(const tune_row *row, const tune_row *coarser, const char *what)
{
    tune_problem problem = {.flop = 0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return 0;
    tune_why(&problem, &device, row, NULL, coarser, out);
    fclose(out);
    int found = strstr(text, what) != NULL;
    if (!found)
        tap_diag("'%s' is not in: %s", what, text);
    free(text);
    return found;
}

static void test_why(void)
{
    tune_row row = one_wave(), other = row;
    row.launch[0].grid[0] = other.launch[0].grid[0] = 1000;
    row.launch[0].resident = other.launch[0].resident = 3;
    row.launch[0].counts.global_requests = other.launch[0].counts.global_requests = 1e6;
    tap_ok(says(&row, &other, "no price to save"), "two alike");
    other.launch[0].counts.global_requests = 2e6;
    tap_ok(says(&row, &other, "more requests: 2"), "twice the requests");
    other.launch[0].counts.global_requests = 1.02e6;
    other.launch[0].counts.behind = 60;
    tap_ok(says(&row, &other, "a little more of several: latency "), "of requests, and of waiting");
    other.launch[0].counts.global_requests = 1e6;
    other.launch[0].counts.behind = 0;
    row.launch[0].counts.shared_wavefronts = 3e5;
    tap_ok(says(&row, &other, "it takes as long: what it saves is not what binds"),
           "fewer wavefronts, where requests bind");
    row.launch[0].counts.shared_wavefronts = other.launch[0].counts.shared_wavefronts;

    other.launch[0].grid[0] = 12;
    tap_ok(says(&row, &other, "too few blocks to fill the device (0.4 waves)"), "few blocks");
    other.launch[0].grid[0] = 1000;

    row.launch[0].block[0] = other.launch[0].block[0] = 128;
    row.launch[0].resident = 6, other.launch[0].resident = 3;
    strcpy(other.launch[0].limited_by, "registers");
    tap_ok(says(&row, &other, "occupancy lost to registers (from 75% to 38%)"), "registers");
    strcpy(other.launch[0].limited_by, "shared memory");
    row.counted = other.counted = false;
    tap_ok(says(&row, &other, "occupancy lost to shared memory (from 75% to 38%)"),
           "shared memory, not counted");
    other.kernel[0].spill_stores = 80, other.kernel[0].spill_loads = 40;
    tap_ok(says(&row, &other, "spills: 120 bytes a thread"), "spills, not counted");
    row.counted = other.counted = true;

    tune_counts *c = &other.launch[0].counts;
    c->global_sectors = 4000, c->global_bytes = 32000;
    tap_ok(says(&row, &other, "uncoalesced: 4.0 bytes moved for each asked for"), "uncoalesced");
    row.kernel[0].inflight = 1 << 20;
    other.kernel[0].inflight = 1;
    char flight[128];
    snprintf(flight, sizeof flight, "bytes in flight: 0 KiB a multiprocessor of %.0f KiB needed",
             1000 * k.loaded / 1024);
    tap_ok(says(&row, &other, flight), "bytes in flight");

    other.status = TUNE_NOT_COMPILED;
    strcpy(other.reason, "ptxas: too much shared data");
    tap_ok(says(&row, &other, "too much shared data"), "a neighbour that failed");
}

// ---- Devices ------------------------------------------------------------------------------------

static int whole(const tune_device *d)
{
    return *d->name && d->sm >= 75 && d->processors > 0 && d->threads_per_processor >= 1024 &&
           d->blocks_per_processor >= 16 && d->registers_per_processor == 65536 &&
           d->shared_per_block > 0 && d->shared_reserved == (d->sm < 80 ? 0 : 1024) &&
           d->shared_per_block + d->shared_reserved == d->shared_per_processor &&
           d->clock_ghz > 0.5 && d->clock_ghz < 5 && d->memory_gbps > 100 && d->memory_gib > 4 &&
           d->l2_mib >= 4 && d->l2_gbps > d->memory_gbps && d->latency_ns > 100 &&
           d->latency_ns < 2000 && d->fp32_per_clock >= 64 && d->fp64_per_clock >= 2 &&
           d->fp64_per_clock <= 64 && d->launch_us > 0 && d->source && *d->source;
}

static void test_devices(void)
{
    char *text = NULL, message[4096] = "";
    size_t size = 0;
    int devices = 0;
    tune_device d, e;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return (void)tap_ok(0, "open_memstream");
    tune_device_list(out);
    fclose(out);
    char *line = strchr(text, '\n');
    while (line && line[1]) { // "sm_90  NVIDIA H200 ..." and on, the name in 28 columns
        char name[29];
        int sm = atoi(line + 4);
        snprintf(name, sizeof name, "%s", line + 8);
        for (size_t i = strlen(name); i && name[i - 1] == ' '; --i)
            name[i - 1] = '\0';
        int good = tune_device_find(name, &d, message, sizeof message);
        tap_ok(good && !strcmp(d.name, name) && d.sm == sm && whole(&d), "%s", name);
        ++devices;
        line = strchr(line + 1, '\n');
    }
    free(text);
    tap_ok(devices >= 14, "%d devices", devices);

    static const int all[] = {75, 80, 86, 87, 89, 90, 100, 120};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        char with[16];
        snprintf(with, sizeof with, "sm_%d", all[i]);
        tap_ok(tune_device_find(with, &d, message, sizeof message) && d.sm == all[i] &&
                   tune_device_find(with + 3, &e, message, sizeof message) &&
                   !strcmp(d.name, e.name),
               "%s", with);
    }
    tap_ok(tune_device_find("a10", &d, message, sizeof message) && d.sm == 86, "A10, not A100");
    tap_ok(tune_device_find("h200", &d, message, sizeof message) && d.memory_gbps == 4400, "H200");
    tap_ok(tune_device_find("geforce rtx 40", &d, message, sizeof message) && d.sm == 89, "part");
    static const char *const unknown[] = {"sm_61", "61", "", "sm_", "sm_90x", "voodoo"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; ++i)
        tap_ok(!tune_device_find(unknown[i], &d, message, sizeof message) &&
                   strstr(message, unknown[i]) && strstr(message, "sm_90 ") &&
                   strstr(message, "RTX 5090") && strstr(message, "--device FILE"),
               "'%s' is unknown, and the table is named", unknown[i]);
    char little[8];
    tap_ok(!tune_device_find("voodoo", &d, little, sizeof little) && strlen(little) == 7,
           "a small message stays in its place");
}

static char path[] = "/tmp/model_test.XXXXXX";

static bool reads(const char *text, tune_device *d, char *message, size_t size)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) {
        snprintf(message, size, "the test could not write %s", path);
        return false;
    }
    return tune_device_read(path, d, message, size);
}

static void test_device_file(void)
{
    int made = mkstemp(path);
    if (made < 0)
        return (void)tap_ok(0, "mkstemp");
    close(made);
    char message[4096] = "";
    tune_device d, h100;
    tap_ok(tune_device_find("90", &h100, message, sizeof message), "sm_90");
    tap_ok(reads("# mine\n\n  name =  My H100  # fast\nsm = sm_90\nprocessors=114\r\n"
                 "clock_ghz = 1.5\nshared_reserved = 0\nsource = its manual",
                 &d, message, sizeof message) &&
               !strcmp(d.name, "My H100") && d.processors == 114 && d.clock_ghz == 1.5 &&
               d.shared_reserved == 0 && !strcmp(d.source, "its manual") &&
               d.memory_gbps == h100.memory_gbps && d.launch_us == h100.launch_us &&
               d.shared_per_block == h100.shared_per_block,
           "a file, the rest from the table");

    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"sm = 90\nprocesors = 3\n", ":2: 'procesors' is not known; the names are name, sm, proc"},
        {"sm = 90\nfast\n", ":2: 'fast' is no 'name = value'"},
        {"sm = 90\n\nprocessors = many\n", ":3: processors = 'many': write a whole number"},
        {"sm = 90\nprocessors = 1.5\n", ":2: processors = '1.5': write a whole number"},
        {"sm = 90\nprocessors = 0\n", "greater than 0"},
        {"sm = 90\nprocessors = 99999999999\n", "write a whole number"},
        {"sm = 90\nclock_ghz = nan\n", ":2: clock_ghz = 'nan': write a number greater than 0"},
        {"sm = 90\nclock_ghz = -1\n", ":2: clock_ghz = '-1'"},
        {"sm = 90\nclock_ghz = 1,5\n", ":2: clock_ghz = '1,5'"},
        {"sm = 90\nclock_ghz =\n", ":2: 'clock_ghz' has no value"},
        {"sm = 90\nsm = 90\n", ":2: 'sm' a second time"},
        {"sm = 61\n", ":1: sm = '61'"},
        {"processors = 3\n", "no sm; add a line such as 'sm = 90'"},
        {"", "no sm"},
        {"sm = 90\nshared_per_block = 500000\n", "is more than shared_per_processor"},
        {"sm = 777\nprocessors = 3\n", "sm_777 is not in the table"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        d.sm = -1;
        int good = !reads(wrong[i].text, &d, message, sizeof message) && d.sm == -1 &&
                   strstr(message, wrong[i].says) && strstr(message, path);
        tap_ok(good, "refused: %s", wrong[i].says);
        if (!good)
            tap_diag("it said: %s", message);
    }
    char flood[2000];
    memset(flood, 'x', sizeof flood - 1);
    flood[sizeof flood - 1] = '\0';
    tap_ok(!reads(flood, &d, message, sizeof message) && strstr(message, "longer than"),
           "too long");
    unlink(path);
    tap_ok(!tune_device_read(path, &d, message, sizeof message) && strstr(message, "No such file"),
           "no file");
}

static void test_occupancy(void)
{
    static const struct {
        const char *device;
        int registers, static_shared, threads;
        uint64_t shared;
        int blocks;
        const char *limit;
    } cases[] = {
        {"h100 pcie", 32, 0, 256, 0, 8, "threads"},               // 2048 / 256, and 65536 / 8192
        {"h100 pcie", 64, 0, 256, 0, 4, "registers"},             // 65536 / 16384
        {"h100 pcie", 33, 0, 256, 0, 6, "registers"},             // rounded up to 40: 65536 / 10240
        {"h100 pcie", 255, 0, 1024, 0, 0, "registers"},           // 261120 of 65536
        {"h100 pcie", 32, 0, 256, 100 << 10, 2, "shared memory"}, // 101 KiB of 228, thrice too much
        {"h100 pcie", 32, 1 << 10, 256, 112 << 10, 2, "shared memory"}, // 114 KiB of 228, twice
        {"h100 pcie", 32, 2 << 10, 256, 112 << 10, 1, "shared memory"}, // 115 KiB
        {"h100 pcie", 32, 0, 256, 227 << 10, 1, "shared memory"},
        {"h100 pcie", 32, 0, 256, 228 << 10, 0, "shared memory"},
        {"h100 pcie", 32, 0, 256, 1ull << 40, 0, "shared memory"},
        {"h100 pcie", 16, 0, 32, 0, 32, "blocks"}, // 64 warps would fit
        {"4090", 32, 0, 256, 0, 6, "threads"},     // 1536 / 256
        {"t4", 16, 0, 32, 0, 16, "blocks"},
        {"t4", 32, 0, 256, 32 << 10, 2, "shared memory"}, // 64 KiB, none reserved
        {"t4", 32, 0, 1024, 0, 1, "threads"},
    };
    char message[4096];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        tune_device d;
        tune_kernel kernel = {.registers = cases[i].registers,
                              .static_shared = cases[i].static_shared};
        const char *limit = "";
        int found = tune_device_find(cases[i].device, &d, message, sizeof message);
        int blocks = tune_occupancy(&d, &kernel, cases[i].threads, cases[i].shared, &limit);
        int good = found && blocks == cases[i].blocks && !strcmp(limit, cases[i].limit);
        tap_ok(good, "%s: %d threads, %d registers, %d + %llu bytes", cases[i].device,
               cases[i].threads, cases[i].registers, cases[i].static_shared,
               (unsigned long long)cases[i].shared);
        if (!good)
            tap_diag("%d blocks by %s, not %d by %s", blocks, limit, cases[i].blocks,
                     cases[i].limit);
    }
}

// ---- The choice ---------------------------------------------------------------------------------

static tune_row timed(long factor, double us, double spread)
{
    return (tune_row){
        .status = TUNE_OK, .setting = {{factor}}, .timed = true, .us = us, .spread = spread};
}

static tune_row predicted(long factor, double us)
{
    return (tune_row){
        .status = TUNE_OK, .setting = {{factor}}, .counted = true, .predicted = {.us = us}};
}

static void test_choice(void)
{
    tune_problem problem = {.flop = 0};
    bool tie[4];
    tune_row rows[4] = {timed(1, 20, 0), timed(2, 10.09, 0), timed(4, 10, 0), timed(8, 10.11, 0)};
    tap_ok(tune_choose(&problem, rows, 4, tie) == 1 && !tie[0] && tie[1] && tie[2] && !tie[3],
           "within 1%% is a tie, and its smaller factor");
    rows[0].us = 10.2, rows[0].spread = 0.02, rows[2].spread = 0.02;
    tap_ok(tune_choose(&problem, rows, 4, tie) == 0 && tie[0], "within the two half spreads, 2%%");
    rows[0].us = 10.21;
    tap_ok(tune_choose(&problem, rows, 4, tie) == 1 && !tie[0], "and no more");
    rows[0].us = 18, rows[0].spread = 1.7;
    tap_ok(tune_choose(&problem, rows, 4, tie) == 1 && !tie[0],
           "what was disturbed once is no equal of the fastest");
    rows[1].setting.value[0] = 4;
    tap_ok(tune_choose(&problem, rows, 4, tie) == 2 && tie[1], "of one factor, the faster");
    rows[2].status = TUNE_WRONG;
    tap_ok(tune_choose(&problem, rows, 4, NULL) == 1, "a wrong result is no choice");

    tune_row mixed[3] = {predicted(1, 1), timed(2, 10, 0), predicted(4, 0.5)};
    tap_ok(tune_choose(&problem, mixed, 3, tie) == 1 && !tie[0] && !tie[2],
           "where one is measured, no prediction counts");
    tune_row guesses[3] = {predicted(1, 10.2), predicted(2, 10.05), predicted(4, 10)};
    tap_ok(tune_choose(&problem, guesses, 3, tie) == 1 && !tie[0] && tie[2],
           "predicted, within 1%%");
    guesses[1].counted = false;
    tap_ok(tune_choose(&problem, guesses, 3, tie) == 2, "not counted is not predicted");
    for (int i = 0; i < 3; ++i)
        guesses[i].status = TUNE_CRASHED;
    tap_ok(tune_choose(&problem, guesses, 3, tie) == -1 && !tie[2], "none");
    tap_ok(tune_choose(&problem, guesses, 0, tie) == -1, "no rows");
}

int main(void)
{
    test_launch_and_latency();
    test_memory();
    test_cache();
    test_waves();
    test_instructions();
    test_shared_and_atomics();
    test_together();
    test_why();
    test_devices();
    test_device_file();
    test_occupancy();
    test_choice();
    return tap_done();
}
