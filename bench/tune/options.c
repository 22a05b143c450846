// SPDX-License-Identifier: MIT
//
// The command line.

#include "problem.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef TUNE_VERSION // Meson gives the project's
#define TUNE_VERSION "unknown"
#endif

const char *argp_program_version = "coarsen-tune " TUNE_VERSION;

static const char about[] =
    "Finds how much work a thread should do: which setting of the knobs is the fastest, for this "
    "kernel, on this device, on this data. Profiles each setting on the GPU, or predicts its time "
    "where there is none, and says why.\v"
    "PATTERN is reduce, map, matmul or histogram, as coarsen ships it. Numbers may be written "
    "268435456, 2^28, 256Mi or 1e6.\n"
    "\n"
    "Examples:\n"
    "  coarsen-tune reduce --n 2^28\n"
    "  coarsen-tune histogram --type u8 --n 1Gi --data skewed --arch sm_80 --static\n"
    "  coarsen-tune matmul --n 4096 --budget 40 --header tuned.h\n"
    "  coarsen-tune --source mine.cu --kernel scale --n 2^24 \\\n"
    "      --in 'float x[n]' --out 'float y[n]' \\\n"
    "      --knob COARSE_FACTOR=1:32:*2 --knob BLOCK_DIM=64,128,256 \\\n"
    "      --grid 'coarsen_ceil_div(n, BLOCK_DIM * COARSE_FACTOR)' --args 'x, y, n'\n"
    "\n"
    "Exit status: 0, a setting was found; 1, none was, or a file could not be written; 2, the "
    "command line is wrong; 130, interrupted.";

// Keys: of patterns, of a kernel of one's own, and of both.
enum {
    TYPE = 0x100,
    ROWS,
    COLS,
    INNER,
    OP,
    INPUTS,
    BINS,
    SOURCE,
    KERNEL,
    GRID,
    BLOCK,
    SHARED,
    ARGS,
    LAUNCH,
    SIZE,
    IN,
    OUT,
    INOUT,
    SCRATCH,
    REFERENCE,
    WORK,
    N,
    DATA,
    KNOB,
    TOLERANCE,
    ARCH,
    DEVICE,
    LIST_DEVICES,
    STATIC,
    BUDGET,
    LIMIT,
    SAMPLES,
    CACHE,
    NO_CACHE,
    CSV,
    JSON,
    HEADER,
    ALL,
    QUIET,
    KEYS
};

#define OPTION(name, key, arg, doc, group)                                                         \
    {                                                                                              \
        name, key, arg, 0, doc, group                                                              \
    }
#define TITLE(doc, group)                                                                          \
    {                                                                                              \
        NULL, 0, NULL, 0, doc, group                                                               \
    }

static const struct argp_option options[] = {
    TITLE("What is tuned:", 1),
    OPTION("type", TYPE, "TYPE",
           "Of the elements: f32, f64, i32 (reduce, map); f32, f64 (matmul); u8, u16, u32, f32 "
           "(histogram)",
           1),
    OPTION("n", N, "NUMBER", "How many elements (2^24); of matmul, rows, columns and depth (1024)",
           1),
    OPTION("rows", ROWS, "NUMBER", "matmul: of the left matrix and the product", 1),
    OPTION("cols", COLS, "NUMBER", "matmul: of the right matrix and the product", 1),
    OPTION("inner", INNER, "NUMBER", "matmul: columns of the left matrix, rows of the right one",
           1),
    OPTION("op", OP, "OP", "reduce: sum, min or max (sum)", 1),
    OPTION("inputs", INPUTS, "1..3", "map: how many arrays are added up (2)", 1),
    OPTION("bins", BINS, "NUMBER",
           "histogram: even ranges of all values (256); of floats, from -1 to 1", 1),
    OPTION("data", DATA, "WHAT", "uniform, skewed, one, runs, or a file, .npy or raw (uniform)", 1),
    OPTION("knob", KNOB, "NAME=VALUES",
           "64,128,256 or 1:32:*2 or 1:8:+1. A knob of the pattern: only these values", 1),
    OPTION("define", 'D', "NAME[=VALUE]", "Compile with this macro", 1),
    OPTION("include", 'I', "FOLDER", "Look for headers there", 1),
    TITLE("A kernel of your own; sizes and counts are C, expressions of the sizes:", 2),
    OPTION("source", SOURCE, "FILE",
           "A file that has it, and is compiled with each setting of the knobs as macros", 2),
    OPTION("kernel", KERNEL, "NAME", "The kernel to launch", 2),
    OPTION("grid", GRID, "X[,Y[,Z]]", "Blocks, as 'coarsen_ceil_div(n, BLOCK_DIM * COARSE_FACTOR)'",
           2),
    OPTION("block", BLOCK, "X[,Y[,Z]]", "Threads a block (BLOCK_DIM, where that is a knob)", 2),
    OPTION("shared", SHARED, "BYTES", "Dynamic shared memory (0)", 2),
    OPTION("args", ARGS, "LIST",
           "The kernel's arguments, as 'x, y, 2.0f, n' (the buffers in order, then the sizes)", 2),
    OPTION("launch", LAUNCH, "CALL",
           "In place of these: a launcher that FILE has, as 'mine_launch(x, y, n, 0)'", 2),
    OPTION("size", SIZE, "NAME=NUMBER", "A size; --n NUMBER is --size n=NUMBER", 2),
    OPTION("in", IN, "BUFFER", "An array to read, as 'float x[n]'", 2),
    OPTION("out", OUT, "BUFFER", "An array to write, which is verified", 2),
    OPTION("inout", INOUT, "BUFFER", "An array to change, which is verified", 2),
    OPTION("scratch", SCRATCH, "BUFFER", "An array that is zeroed once", 2),
    OPTION(
        "reference", REFERENCE, "FILE",
        "A source with the same names, right by being simple (FILE with each knob's first value)",
        2),
    OPTION("tolerance", TOLERANCE, "X",
           "How far off a floating-point result may be (1e-5 of the greatest)", 2),
    OPTION("work", WORK, "EXPRESSION", "What its work grows with (the product of the sizes)", 2),
    TITLE("The device:", 3),
    OPTION("arch", ARCH, "NAME", "sm_80, or part of a device's name (the GPU found, else sm_90)",
           3),
    OPTION("device", DEVICE, "FILE",
           "A device of lines 'name = value', where it is not in the table", 3),
    OPTION("list-devices", LIST_DEVICES, NULL, "Print the table, with its sources", 3),
    OPTION("static", STATIC, NULL, "Predict, even where there is a GPU", 3),
    TITLE("How:", 4),
    OPTION("budget", BUDGET, "NUMBER",
           "Try so many settings: a search along one knob at a time from the default on, then from "
           "others (all)",
           4),
    OPTION("limit", LIMIT, "SECONDS", "That one setting may take (10)", 4),
    OPTION("samples", SAMPLES, "NUMBER",
           "Times taken of each setting, of which the median counts (20)", 4),
    OPTION("cache", CACHE, "FILE", "Where results are kept, so that an interrupted run goes on", 4),
    OPTION("no-cache", NO_CACHE, NULL, "Keep and take none", 4),
    TITLE("What it says:", 5),
    OPTION("csv", CSV, "FILE", "Write a row for each setting", 5),
    OPTION("json", JSON, "FILE", "Write results in the T4 format, which Kernel Tuner reads", 5),
    OPTION("header", HEADER, "FILE",
           "Write or amend a header that makes the choice the default of coarsen's", 5),
    OPTION("all", ALL, NULL, "Print every row (the best 20)", 5),
    OPTION("quiet", QUIET, NULL, "No progress, no reasons: the table alone", 5),
    {0},
};

typedef struct {
    tune_options *to;
    const char *pattern;
    tune_shipped shipped;
    tune_own own;
    tune_knob knob[TUNE_KNOBS];
    int knobs;
    bool given[KEYS];
    double tolerance;
} parse;

static const char *name_of(int key)
{
    const struct argp_option *o = options;
    while (o->key != key)
        o++;
    return o->name;
}

// "; did you mean this?", where a word of the list is near.
static const char *suggestion(const char *arg, const char *const *words)
{
    static char text[128];
    const char *const closest = tune_closest(arg, words);
    if (!closest)
        return "";
    snprintf(text, sizeof(text), "; did you mean %s?", closest);
    return text;
}

static uint64_t number(struct argp_state *state, int key, const char *arg, uint64_t most)
{
    uint64_t value;
    const bool is_one = tune_number(arg, &value);
    if ((!is_one || value < 1) && most == UINT64_MAX)
        argp_error(state,
                   "--%s: \"%s\" is not a positive whole number: 1000000, 1e6, 2^20 and 1Mi are",
                   name_of(key), arg);
    if (!is_one || value < 1 || value > most)
        argp_error(state, "--%s: \"%s\" is not a whole number from 1 to %llu", name_of(key), arg,
                   (unsigned long long)most);
    return value;
}

static double real(struct argp_state *state, int key, const char *arg, bool zero_too)
{
    char *end;
    const double value = strtod(arg, &end);
    if (end == arg || *end != '\0' || !isfinite(value) || value < 0 || (value == 0 && !zero_too))
        argp_error(state, "--%s: \"%s\" is not a number %s", name_of(key), arg,
                   zero_too ? "from 0 on" : "above 0");
    return value;
}

static void set_data(struct argp_state *state, tune_problem *problem, const char *arg)
{
    static const char *const words[] = {"uniform", "skewed", "one", "runs", NULL};
    problem->data = TUNE_UNIFORM;
    for (int w = 0; words[w]; w++, problem->data++)
        if (strcmp(arg, words[w]) == 0)
            return;
    struct stat file;
    if (stat(arg, &file) != 0)
        argp_error(state, "--data: \"%s\" is not uniform, skewed, one or runs, nor a file: %s%s",
                   arg, strerror(errno), suggestion(arg, words));
    if (!S_ISREG(file.st_mode) || access(arg, R_OK) != 0)
        argp_error(state, "--data: %s is not a file that can be read", arg);
    if (strlen(arg) >= sizeof(problem->data_file))
        argp_error(state, "--data: the path has more than %zu characters",
                   sizeof(problem->data_file) - 1);
    strcpy(problem->data_file, arg);
}

static void add_flag(struct argp_state *state, const char *flag, const char *arg)
{
    if (*arg == '\0' || arg[strcspn(arg, " \t\n\"'\\$`")])
        argp_error(state, "%s: \"%s\" is empty or has a space, a quote, a backslash or a $", flag,
                   arg);
    enum { MOST = 32 }; // compile.c, count.c and unit.c have room for these
    static int flags;
    if (++flags > MOST)
        argp_error(state, "%s %s: there may be %d of -D and -I at most", flag, arg, MOST);
    char *longer;
    if (asprintf(&longer, "%s%s%s%s", tune_flags, *tune_flags ? " " : "", flag, arg) < 0)
        argp_failure(state, 1, 0, "out of memory");
    tune_flags = longer;
}

static void add_knob(struct argp_state *state, parse *p, const char *arg)
{
    char message[1024];
    tune_knob knob;
    if (!tune_knob_parse(arg, &knob, message, sizeof(message)))
        argp_error(state, "--knob: %s", message);
    for (int k = 0; k < p->knobs; k++)
        if (strcmp(p->knob[k].name, knob.name) == 0)
            argp_error(state, "--knob: %s is given twice: list its values in one", knob.name);
    if (p->knobs == TUNE_KNOBS)
        argp_error(state, "--knob: there may be %d knobs at most", TUNE_KNOBS);
    p->knob[p->knobs++] = knob;
}

// The values that the user wants of a pattern's knobs, in place of all.
static void restrict_knobs(struct argp_state *state, const parse *p)
{
    tune_problem *const problem = &p->to->problem;
    const char *names[TUNE_KNOBS + 1] = {NULL};
    char list[512] = "";
    for (int k = 0; k < problem->knobs; k++) {
        names[k] = problem->knob[k].name;
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", k ? ", " : "", names[k]);
    }
    for (int i = 0; i < p->knobs; i++) {
        int k = 0;
        while (k < problem->knobs && strcmp(names[k], p->knob[i].name) != 0)
            k++;
        if (k == problem->knobs)
            argp_error(state, "--knob: %s has no knob %s: it has %s%s", problem->pattern,
                       p->knob[i].name, list, suggestion(p->knob[i].name, names));
        const long standard = problem->knob[k].standard;
        problem->knob[k] = p->knob[i];
        problem->knob[k].standard = standard;
    }
    if (tune_settings(problem) == 0)
        argp_error(state, "--knob: no setting is left that pipelined.h takes: its threads, BM / TM "
                          "* BN / TN * COARSEN_SLICES, here 128 or 256, must share the tiles");
}

static void finish(struct argp_state *state, parse *p)
{
    static const struct {
        int key;
        const char *pattern;
    } only[] = {{ROWS, "matmul"}, {COLS, "matmul"}, {INNER, "matmul"},
                {OP, "reduce"},   {INPUTS, "map"},  {BINS, "histogram"}};
    tune_options *const to = p->to;
    tune_problem *const problem = &to->problem;
    char message[1024];
    tune_device device;

    if (!p->pattern && !p->own.source)
        argp_error(state, "nothing to tune: give a pattern, reduce, map, matmul or histogram, or "
                          "--source FILE for a kernel of your own");
    if (p->pattern && p->own.source)
        argp_error(state, "\"%s\" and --source: give a pattern or a kernel of your own, not both",
                   p->pattern);
    for (int key = TYPE; key < SOURCE; key++)
        if (p->own.source && p->given[key])
            argp_error(state, "--%s is for coarsen's patterns, not for a kernel of your own",
                       name_of(key));
    for (int key = SOURCE; key <= WORK; key++)
        if (!p->own.source && p->given[key])
            argp_error(state, "--%s is for a kernel of your own: give --source FILE too",
                       name_of(key));
    if (to->arch && to->device_file)
        argp_error(state, "--arch and --device both say which device: give one of them");
    if (to->cache && to->no_cache)
        argp_error(state, "--cache and --no-cache: give one of them");
    if (to->header && p->own.source)
        argp_error(state, "--header makes defaults for coarsen's headers, which a kernel of your "
                          "own has none of: --csv FILE has its values");

    if (p->pattern) {
        tune_shipped *const shipped = &p->shipped;
        const bool matmul = strcmp(p->pattern, "matmul") == 0;
        shipped->n = problem->sizes ? problem->size[0].value : matmul ? 1024 : 1 << 24;
        shipped->rows = shipped->rows ? shipped->rows : shipped->n;
        shipped->cols = shipped->cols ? shipped->cols : shipped->n;
        shipped->inner = shipped->inner ? shipped->inner : shipped->n;
        problem->sizes = 0;
        if (!tune_problem_shipped(problem, p->pattern, shipped, message, sizeof(message)))
            argp_error(state, "%s", message);
        for (size_t i = 0; i < sizeof(only) / sizeof(*only); i++)
            if (p->given[only[i].key] && strcmp(p->pattern, only[i].pattern) != 0)
                argp_error(state, "--%s is of %s, not of %s", name_of(only[i].key), only[i].pattern,
                           p->pattern);
        restrict_knobs(state, p);
    } else {
        memcpy(problem->knob, p->knob, sizeof(problem->knob));
        problem->knobs = p->knobs;
        problem->tolerance = -1;
        if (!tune_problem_own(problem, &p->own, message, sizeof(message)))
            argp_error(state, "%s", message);
    }
    if (p->given[TOLERANCE])
        problem->tolerance = p->tolerance;
    if (to->arch && !tune_device_find(to->arch, &device, message, sizeof(message)))
        argp_error(state, "--arch: %s", message);
    if (to->device_file && !tune_device_read(to->device_file, &device, message, sizeof(message)))
        argp_error(state, "--device: %s", message);
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    static const tune_role roles[] = {TUNE_IN, TUNE_OUT, TUNE_INOUT, TUNE_SCRATCH};
    parse *const p = state->input;
    tune_options *const to = p->to;
    tune_problem *const problem = &to->problem;
    char message[1024], size[64];

    if (key >= TYPE && key < KEYS)
        p->given[key] = true;
    switch (key) {
    case TYPE:
        p->shipped.type = arg;
        break;
    case ROWS:
        p->shipped.rows = number(state, key, arg, UINT64_MAX);
        break;
    case COLS:
        p->shipped.cols = number(state, key, arg, UINT64_MAX);
        break;
    case INNER:
        p->shipped.inner = number(state, key, arg, UINT64_MAX);
        break;
    case OP:
        p->shipped.op = arg;
        break;
    case INPUTS:
        p->shipped.inputs = (int)number(state, key, arg, 3);
        break;
    case BINS:
        p->shipped.bins = number(state, key, arg, 2147483647);
        break;
    case SOURCE:
        p->own.source = arg;
        break;
    case KERNEL:
        p->own.kernel = arg;
        break;
    case GRID:
        p->own.grid = arg;
        break;
    case BLOCK:
        p->own.block = arg;
        break;
    case SHARED:
        p->own.shared = arg;
        break;
    case ARGS:
        p->own.args = arg;
        break;
    case LAUNCH:
        p->own.launch = arg;
        break;
    case REFERENCE:
        p->own.reference = arg;
        break;
    case WORK:
        p->own.work = arg;
        break;
    case N:
        snprintf(size, sizeof(size), "n=%llu",
                 (unsigned long long)number(state, key, arg, UINT64_MAX));
        arg = size; // fall through
    case SIZE:
        if (!tune_problem_size(problem, arg, message, sizeof(message)))
            argp_error(state, "--%s: %s", name_of(key), message);
        break;
    case IN:
    case OUT:
    case INOUT:
    case SCRATCH:
        if (!tune_problem_buffer(problem, roles[key - IN], arg, message, sizeof(message)))
            argp_error(state, "--%s: %s", name_of(key), message);
        break;
    case DATA:
        set_data(state, problem, arg);
        break;
    case KNOB:
        add_knob(state, p, arg);
        break;
    case TOLERANCE:
        p->tolerance = real(state, key, arg, true);
        break;
    case 'D':
    case 'I':
        add_flag(state, key == 'D' ? "-D" : "-I", arg);
        break;
    case ARCH:
        to->arch = arg;
        break;
    case DEVICE:
        to->device_file = arg;
        break;
    case LIST_DEVICES:
        tune_device_list(stdout);
        exit(fflush(stdout) == 0 ? 0 : 1);
    case STATIC:
        to->is_static = true;
        break;
    case BUDGET:
        to->budget = number(state, key, arg, UINT64_MAX);
        break;
    case LIMIT:
        to->limit = real(state, key, arg, false);
        break;
    case SAMPLES:
        to->samples = (int)number(state, key, arg, 1000000);
        break;
    case CACHE:
        to->cache = arg;
        break;
    case NO_CACHE:
        to->no_cache = true;
        break;
    case CSV:
        to->csv = arg;
        break;
    case JSON:
        to->json = arg;
        break;
    case HEADER:
        to->header = arg;
        break;
    case ALL:
        to->all = true;
        break;
    case QUIET:
        to->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (p->pattern)
            argp_error(state, "\"%s\" and \"%s\": one pattern at a time", p->pattern, arg);
        p->pattern = arg;
        break;
    case ARGP_KEY_END:
        finish(state, p);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

// The command as a shell would take it.
static char *command_line(int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&line, &size);
    for (int i = 0; out && i < argc; i++) {
        const char *arg = i == 0 ? "coarsen-tune" : argv[i];
        const bool plain = *arg && !arg[strspn(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                                    "UVWXYZ0123456789_-+=./:,^@%")];
        fprintf(out, "%s%s", i ? " " : "", plain ? "" : "'");
        for (; *arg; arg++)
            if (*arg == '\'')
                fputs("'\\''", out);
            else
                fputc(*arg, out);
        fputs(plain ? "" : "'", out);
    }
    if (!out || fclose(out) != 0) {
        fputs("coarsen-tune: out of memory\n", stderr);
        exit(1);
    }
    return line;
}

void tune_options_parse(int argc, char **argv, tune_options *to)
{
    static const struct argp argp = {.options = options,
                                     .parser = take,
                                     .args_doc = "PATTERN\n--source FILE --kernel NAME",
                                     .doc = about};
    parse p = {.to = to};
    *to = (tune_options){.limit = 10, .samples = 20};
    to->command = command_line(argc, argv);
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &p);
}
