// SPDX-License-Identifier: MIT
//
// simt's counts: that those of a small instance, scaled, are those of the whole; and that a
// kernel with a fault is a row with its reason. count.c is included, for its limits.

#include "../../bench/tune/count.c"

#include <sys/wait.h>
#include <time.h>

#include "../tap.h"

static volatile int stop;
static size_t told;

static void done(size_t i, void *context)
{
    (void)i, (void)context;
    told++;
}

static tune_device device;

// A row of the setting, compiled, so to speak: of each kernel 32 registers.
static tune_row compiled(const tune_setting *setting, const char *const *kernels)
{
    tune_row row = {.setting = *setting};
    for (; *kernels; kernels++) {
        row.kernel[row.kernels].registers = 32;
        snprintf(row.kernel[row.kernels++].name, sizeof(row.kernel->name), "%s", *kernels);
    }
    return row;
}

static void count_one(const tune_problem *problem, tune_row *row)
{
    tune_row *const rows[] = {row};
    tune_count(problem, &device, rows, 1, &stop, done, NULL);
}

// ---- Scaled, beside exact ----------------------------------------------------------------------

static double apart_at_most; // as a share

// within: that share of what; besides, what a launch has once is scaled with the rest.
static int near(const char *what, double scaled, double exact, double within)
{
    if (fabs(scaled - exact) <= apart_at_most * within + 40)
        return 1;
    tap_diag("%s: scaled %.0f, exact %.0f", what, scaled, exact);
    return 0;
}

static int all_near(const tune_counts *a, const tune_counts *b)
{
#define NEAR(field) near(#field, a->field, b->field, b->field)
    // Collisions are what chance makes them, the more exactly the more there are.
    return NEAR(global_loads) & NEAR(global_stores) & NEAR(global_requests) & NEAR(global_sectors) &
           NEAR(global_bytes) & NEAR(shared_loads) & NEAR(shared_stores) & NEAR(shared_wavefronts) &
           NEAR(atomics_global) & NEAR(atomics_shared) & NEAR(barriers) & NEAR(shuffles) &
           NEAR(active_lanes) & NEAR(lane_slots) &
           near("atomic_collisions", a->atomic_collisions, b->atomic_collisions,
                b->atomics_global + b->atomics_shared);
}

// The last launch's counts: at a budget that has room for all of it, and at a small one.
static void test_scaled(char *const *command, const char *const *kernels,
                        const tune_setting *setting, double small, double most, const char *name)
{
    apart_at_most = most;
    static tune_options options;
    int words = 0;
    while (command[words])
        words++;
    tune_options_parse(words, (char **)command, &options);
    const tune_problem *const problem = &options.problem;
    tune_row exact = compiled(setting, kernels), scaled = exact;
    budget = 1e12;
    kept.hash = 0;
    count_one(problem, &exact);
    const int whole = kept.level;
    budget = small;
    kept.hash = 0;
    count_one(problem, &scaled);
    tap_ok(exact.counted && whole == 0 && !*exact.reason, "%s: exact: %s", name, exact.reason);
    tap_ok(scaled.counted && kept.level >= 2 && !*scaled.reason, "%s: scaled by 2^%d: %s", name,
           kept.level, scaled.reason);
    tap_ok(exact.launches == scaled.launches && all_near(&scaled.launch[scaled.launches - 1].counts,
                                                         &exact.launch[exact.launches - 1].counts),
           "%s: scaled is exact, within %g%%", name, 100 * most);
    const tune_launch *const last = &exact.launch[exact.launches - 1];
    tap_ok(last->resident > 0 && *last->limited_by, "%s: %d blocks resident, by %s", name,
           last->resident, last->limited_by);
}

// ---- Kernels with faults -----------------------------------------------------------------------

// What each value of FAULT does wrong.
enum { RIGHT, BOUNDS, RACE, RESULT, HANG, SYNTAX, LAUNCHER, GRID, SHARED, PATHS, GROWS, FAULTS };

static tune_problem faulty(uint64_t n)
{
    tune_problem problem = {
        .pattern = "mine",
        .source =
            "enum { RIGHT, BOUNDS, RACE, RESULT, HANG, SYNTAX, LAUNCHER, GRID, SHARED, PATHS, "
            "GROWS };\n"
            "__global__ void mine(const int *in, int *out, size_t n)\n"
            "{\n"
            "    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
            "#if FAULT == 5\n"
            "    return in;\n"
            "#endif\n"
            "    if (FAULT == HANG)\n"
            "        for (volatile int turn = 1; turn;)\n"
            "            turn = 1;\n"
            "    if (i < n || FAULT == BOUNDS)\n"
            "        out[FAULT == RACE ? 0 : i] = in[i] + (FAULT == RESULT && i == 3);\n"
            "}\n"
            "__global__ void small(const int *in, int *out, size_t n)\n"
            "{\n"
            "    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n)\n"
            "        out[i] = in[i];\n"
            "}\n"
            "static inline cudaError_t run(const int *in, int *out, size_t n)\n"
            "{\n"
            "    if (FAULT == LAUNCHER)\n"
            "        return cudaErrorInvalidValue;\n"
            "    if (n < (FAULT == PATHS ? 1 << 30 : FAULT == GROWS ? 20000 : 0))\n"
            "        return tune_launch_kernel((unsigned)((n + 255) / 256), 256, 0, small, in, "
            "out, n);\n"
            "    return tune_launch_kernel(dim3((unsigned)((n + 255) / 256), FAULT == GRID ? 70000 "
            ": 1),\n"
            "                              256, FAULT == SHARED ? 300000 : 0, mine, in, out, n);\n"
            "}\n",
        .run = "run(in, out, n)",
        .work = "n",
        .knobs = 1,
        .sizes = 1,
        .buffers = 2,
        .knob = {{.name = "FAULT", .count = 1}},
        .size = {{.name = "n", .value = n}},
        .buffer = {{TUNE_IN, "int", "in", "n", ""}, {TUNE_OUT, "int", "out", "n", ""}},
    };
    return problem;
}

static void test_faults(void)
{
    static const struct {
        const char *name;
        tune_status status;
        bool counted;
        const char *reason[2]; // parts of it
    } wanted[FAULTS] = {
        [RIGHT] = {"right", TUNE_PENDING, true, {"", ""}},
        [BOUNDS] = {"out of bounds",
                    TUNE_WRONG,
                    false,
                    {"out of bounds in mine: read", "./mine:12"}},
        [RACE] = {"race", TUNE_WRONG, false, {"race in mine: ", "./mine:12"}},
        [RESULT] = {"wrong result", TUNE_WRONG, false, {"out[3] is ", "(n = "}},
        [HANG] = {"hang", TUNE_PENDING, false, {"took more than 2 s at n = ", ""}},
        [SYNTAX] = {"compile error", TUNE_PENDING, false, {"g++: mine:6:", "error: "}},
        [LAUNCHER] = {"launcher's error",
                      TUNE_NOT_LAUNCHED,
                      false,
                      {"returned 1", "cudaErrorInvalidValue"}},
        [GRID] = {"too large a grid", TUNE_NOT_LAUNCHED, false, {"70000", "InvalidConfiguration"}},
        [SHARED] = {"too much shared memory",
                    TUNE_NOT_LAUNCHED,
                    false,
                    {"300000 bytes of shared", "more than"}},
        [PATHS] = {"another path",
                   TUNE_PENDING,
                   false,
                   {"it launches small", "at the full size mine"}},
        [GROWS] = {"a path that needs more", TUNE_PENDING, true, {"", ""}},
    };
    static const char *const kernels[] = {"mine", "small", NULL};
    const tune_problem problem = faulty(((uint64_t)1 << 30) + 100);
    tune_row row[FAULTS + 1], *rows[FAULTS + 1];
    limit_s = 2;
    budget = 1 << 16;
    apart_at_most = 0.02;
    for (int f = 0; f <= FAULTS; f++) {
        row[f] = compiled(&(tune_setting){{f % FAULTS}}, kernels);
        rows[f] = &row[f];
    }
    row[FAULTS].status = TUNE_NOT_COMPILED; // passed over
    told = 0;
    tune_count(&problem, &device, rows, FAULTS + 1, &stop, done, NULL);
    tap_ok(told == FAULTS + 1, "each row is told of");
    for (int f = 0; f < FAULTS; f++)
        if (!tap_ok(row[f].status == wanted[f].status && row[f].counted == wanted[f].counted &&
                        strstr(row[f].reason, wanted[f].reason[0]) &&
                        strstr(row[f].reason, wanted[f].reason[1]) &&
                        !strchr(row[f].reason, '\n') && (!row[f].counted || !*row[f].reason),
                    "%s: %s", wanted[f].name, row[f].reason))
            tap_diag("status %d, counted %d", row[f].status, row[f].counted);
    tap_ok(!row[FAULTS].counted && row[FAULTS].status == TUNE_NOT_COMPILED,
           "not compiled, not counted");

    // Of a map all can be reckoned.
    const tune_counts *const c = &row[RIGHT].launch[0].counts;
    const double n = (double)problem.size[0].value;
    tap_ok(near("loads", c->global_loads, n / 32, n / 32) &&
               near("requests", c->global_requests, n / 16, n / 16) &&
               near("bytes", c->global_bytes, 8 * n, 8 * n) && row[RIGHT].bytes == 8 * n,
           "a map of 2^30 ints counts %.0f loads", c->global_loads);
    limit_s = 10;
}

// A kernel whose every thread takes the whole array: the work says so, and the instance stays
// small.
static void test_quadratic(void)
{
    static const char *const kernels[] = {"mine", NULL};
    tune_problem problem = faulty(1 << 16);
    problem.source = "__global__ void mine(const int *in, int *out, size_t n)\n"
                     "{\n"
                     "    const size_t i = (size_t)blockIdx.x * 128 + threadIdx.x;\n"
                     "    int sum = FAULT;\n"
                     "    for (size_t j = 0; j < n; j++)\n"
                     "        sum += in[j] > in[i];\n"
                     "    out[i] = sum;\n"
                     "}\n";
    snprintf(problem.run, sizeof(problem.run),
             "tune_launch_kernel((unsigned)(n / 128), 128, 0, mine, in, out, n)");
    snprintf(problem.work, sizeof(problem.work), "(double)n * n");
    tune_row row = compiled(&(tune_setting){{0}}, kernels);
    budget = 1 << 21;
    count_one(&problem, &row);
    const double n = 1 << 16, loads = row.launch[0].counts.global_loads;
    tap_ok(row.counted && loads > n * n / 32 && loads < 2.1 * n * n / 32,
           "quadratic: %.0f loads from an instance of 2^-%d: %s", loads, kept.level, row.reason);
}

// Blocks that deal out tiles by tickets, of which the first one gets all on simt; and a block that
// gathers in the end what the others have left.
static void test_behind(void)
{
    static const char *const kernels[] = {"mine", NULL};
    tune_problem problem = faulty(1 << 12);
    problem.source = "__global__ void mine(const int *in, int *out, unsigned *ticket, size_t n)\n"
                     "{\n"
                     "    __shared__ unsigned tile;\n"
                     "    for (bool more = true; more; __syncthreads()) {\n"
                     "        if (threadIdx.x == 0)\n"
                     "            tile = atomicAdd(ticket, 1);\n"
                     "        __syncthreads();\n"
                     "        const size_t i = (size_t)tile * 32 + threadIdx.x;\n"
                     "        if (more = i < n)\n"
                     "            out[i] = in[i];\n"
                     "    }\n"
                     "    if (FAULT && tile == n / 32 + gridDim.x - 1)\n"
                     "        for (int b = 0; b < 100; b++)\n"
                     "            out[0] += ((volatile int *)in)[b] & 0;\n"
                     "}\n";
    problem.buffer[problem.buffers++] = (tune_buffer){TUNE_SCRATCH, "unsigned", "ticket", "1", ""};
    snprintf(problem.run, sizeof(problem.run),
             "tune_launch_kernel(8, 32, 0, mine, in, out, ticket, n)");
    budget = 1e9;
    double behind[2];
    for (int gathers = 0; gathers < 2; gathers++) {
        tune_row row = compiled(&(tune_setting){{gathers}}, kernels);
        kept.hash = 0;
        count_one(&problem, &row);
        behind[gathers] = row.launch[0].counts.behind;
        tap_ok(row.counted && row.launch[0].counts.atomics_global == 128 + 8, "tickets: %s",
               row.reason);
    }
    tap_ok(behind[0] < 2 && behind[1] > 50, "a thread is %g accesses behind the others, and %g",
           behind[0], behind[1]);
}

// ---- The end -----------------------------------------------------------------------------------

static void *stop_soon(void *nothing)
{
    const struct timespec pause = {1, 500000000};
    nanosleep(&pause, NULL);
    stop = 1;
    return nothing;
}

// Stopped in a kernel that never ends: nothing is left running, and no row is blamed.
static void test_stop(void)
{
    static const char *const kernels[] = {"mine", NULL};
    const tune_problem problem = faulty(1 << 12);
    tune_row row[3], *rows[3];
    for (int r = 0; r < 3; r++) {
        row[r] = compiled(&(tune_setting){{HANG}}, kernels);
        rows[r] = &row[r];
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, stop_soon, NULL) != 0)
        abort();
    const time_t start = time(NULL);
    told = 0;
    tune_count(&problem, &device, rows, 3, &stop, done, NULL);
    const time_t took = time(NULL) - start;
    pthread_join(thread, NULL);
    tap_ok(took < 5 && told == 0 && !*row[0].reason && !row[0].counted,
           "stopped after %d s, with no row told of", (int)took);
    tap_ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no process is left");
}

int main(void)
{
    char parent[] = "/tmp/coarsen-count-test-XXXXXX", message[1024] = "";
    if (!mkdtemp(parent) || setenv("TMPDIR", parent, 1) != 0)
        abort();
    snprintf(tune_include_dir, sizeof(tune_include_dir), "%s", TUNE_INCLUDE);
    snprintf(tune_unit_dir, sizeof(tune_unit_dir), "%s", TUNE_UNIT);
    tap_ok(tune_device_find("sm_90", &device, message, sizeof(message)), "a device: %s", message);

    char *const given = getenv("CXX") ? strdup(getenv("CXX")) : NULL;
    setenv("CXX", "no-such-compiler", 1);
    tap_ok(!tune_counter_open(message, sizeof(message)) && strstr(message, "no-such-compiler") &&
               strstr(message, "apt install g++"),
           "no compiler: %s", message);
    if (given)
        setenv("CXX", given, 1);
    else
        unsetenv("CXX");
    free(given);
    *message = 0;
    tap_ok(tune_counter_open(message, sizeof(message)), "a compiler: %s", message);

    static const char *const kernels[] = {"tuned_kernel", "tuned_small_kernel", "tuned_zero_kernel",
                                          NULL};
    static const char *const matmul[] = {"tuned_kernel", NULL};
#define COMMAND(...) ((char *[]){"coarsen-tune", __VA_ARGS__, NULL})
    test_scaled(COMMAND("reduce", "--n", "2^22"), kernels, &(tune_setting){{256, 4}}, 1 << 19, 0.02,
                "reduce");
    test_scaled(COMMAND("map", "--n", "2^22"), kernels, &(tune_setting){{128, 2}}, 1 << 19, 0.02,
                "map");
    test_scaled(COMMAND("histogram", "--n", "2^22"), kernels, &(tune_setting){{256, 2}}, 1 << 19,
                0.02, "histogram");
    test_scaled(COMMAND("histogram", "--n", "2^22", "--data", "skewed"), kernels,
                &(tune_setting){{256, 2}}, 1 << 19, 0.02, "histogram of skewed data");
    test_scaled(COMMAND("matmul", "--n", "256"), matmul, &(tune_setting){{32, 64, 32, 4, 8, 4, 4}},
                1e7, 0.02, "matmul");
    // Blocks that take tickets, and wait for one another; and small blocks, each of a segment.
    static const char *const scan[] = {"tuned_kernel", "tuned_short_kernel", NULL};
    static const char *const sums[] = {"sums_kernel", "sums_small_kernel", NULL};
    // The first tiles have fewer to look back at; and a search takes the more steps the more there is.
    test_scaled(COMMAND("scan", "--n", "2^20"), scan, &(tune_setting){{64, 1}}, 1 << 19, 0.06,
                "scan");
    test_scaled(COMMAND("offsets", "--n", "2^20"), sums, &(tune_setting){{256, 3}}, 1 << 19, 0.2,
                "sums by offsets");
    test_faults();
    test_quadratic();
    test_behind();
    test_stop();

    program_end();
    tap_ok(rmdir(parent) == 0, "no file is left");
    return tap_done();
}
