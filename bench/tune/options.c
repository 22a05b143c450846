// SPDX-License-Identifier: MIT
//
// The command line.

#include "problem.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
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
    "PATTERN is %s, as coarsen ships it. Numbers may be written 268435456, 2^28, 256Mi "
    "or 1e6.\n"
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

// "reduce, map or matmul".
static const char *pattern_names(void)
{
    static char names[512];
    size_t length = 0;
    for (int i = 0; tune_patterns[i]; i++) {
        const char *const before = i == 0 ? "" : tune_patterns[i + 1] ? ", " : " or ";
        tune_put(names + length, sizeof(names) - length, "%s%s", before, tune_patterns[i]);
        length = strlen(names);
    }
    return names;
}

// Keys: of patterns, of a kernel of one's own, and of both.
enum {
    TYPE = 0x100,
    ROWS,
    COLS,
    INNER,
    NX,
    NY,
    NZ,
    OP,
    INPUTS,
    BINS,
    WIDTH,
    ORDER,
    MANY,
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
    FLOP,
    DEFAULT,
    LET,
    REQUIRE,
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
    OPTION(
        "type", TYPE, "TYPE",
        "Of the elements: f32, f64 (matmul, stencil); u8, u16, u32, f32 (histogram); u32, i32, "
        "f32, f64 (sort, sort_segments); f32, f64, i32, u32 (top_k); u32, i32 (merge); f32, f64, "
        "i32 (the others)",
        1),
    OPTION("n", N, "NUMBER",
           "How many elements (2^24); of matmul, rows, columns and depth (1024); of stencil, cells "
           "along each axis (512); of rows and columns, rows (2^16); of sort_segments, rows (2^14)",
           1),
    OPTION(
        "rows", ROWS, "NUMBER",
        "rows, columns, sort_segments: of the matrix; matmul: of the left matrix and the product",
        1),
    OPTION("cols", COLS, "NUMBER", "matmul: of the right matrix and the product", 1),
    OPTION("inner", INNER, "NUMBER", "matmul: columns of the left matrix, rows of the right one",
           1),
    OPTION("nx", NX, "NUMBER", "stencil: cells of a row", 1),
    OPTION("ny", NY, "NUMBER", "stencil: rows of a slice", 1),
    OPTION("nz", NZ, "NUMBER", "stencil: slices", 1),
    OPTION("op", OP, "OP", "reduce, scan: sum, min or max (sum)", 1),
    OPTION("inputs", INPUTS, "1..3", "map: how many arrays are added up (2)", 1),
    OPTION("bins", BINS, "NUMBER",
           "histogram: even ranges of all values (256); of floats, from -1 to 1", 1),
    OPTION("width", WIDTH, "NUMBER",
           "rows, columns: elements of a row (256); sort_segments: keys of one (4096); offsets: "
           "elements of a segment, on average (256)",
           1),
    OPTION("order", ORDER, "1..4", "stencil: how far neighbours are (1)", 1),
    OPTION("k", MANY, "NUMBER", "top_k: how many, up to 1024 (100)", 1),
    OPTION("data", DATA, "WHAT", "uniform, skewed, one, runs, or a file, .npy or raw (uniform)", 1),
    OPTION("knob", KNOB, "NAME=VALUES",
           "64,128,256 or 1:32:*2 or 1:8:+1. A knob of the pattern: only these values", 1),
    OPTION("define", 'D', "NAME[=VALUE]", "Compile with this macro", 1),
    OPTION("include", 'I', "FOLDER", "Look for headers there", 1),
    TITLE(
        "A kernel of your own; sizes and counts are C, expressions of the sizes. FILE may say them "
        "itself, in lines that begin with \"// tune: --knob ...\":",
        2),
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
    OPTION("in", IN, "BUFFER",
           "An array to read, as 'float x[n]'; or of numbers that rise from 0 to n, 'int x[m] up "
           "to n'",
           2),
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
    OPTION("flop", FLOP, "EXPRESSION", "Floating-point operations, for GFLOP/s", 2),
    OPTION("default", DEFAULT, "NAME=VALUE", "A knob's, where a search begins (its first value)",
           2),
    OPTION("require", REQUIRE, "CONDITION", "Only settings for which it holds, as 'BM % TM == 0'",
           2),
    OPTION("let", LET, "NAME=EXPRESSION", "An abbreviation for the conditions after it", 2),
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
    const char *pattern, *file;          // which may describe itself; NULL: none
    const char *name;                    // of the pattern, or the file
    char place[4200];                    // "reduce.cu:5: " while its lines are read, else ""
    const char *type, *op, *types, *ops; // of "f32,f64" one
    unsigned long long n, bins, width, many;
    int inputs, order;
    tune_own own;
    tune_knob knob[TUNE_KNOBS]; // those typed; the problem has the file's
    int knobs;
    struct {
        int key;
        const char *arg;
    } later[2 * TUNE_RULES]; // what is typed of knobs, when all of them are there
    int laters;
    bool begun, given[KEYS], takes[KEYS]; // typed; said by the file
} parse;

// Ends the program.
static void mistake(struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

static void mistake(struct argp_state *state, const char *format, ...)
{
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    argp_error(state, "%s%s", ((const parse *)state->input)->place, message);
    exit(argp_err_exit_status);
}

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
        mistake(state,
                "--%s: \"%s\" is not a positive whole number: 1000000, 1e6, 2^20 and 1Mi are",
                name_of(key), arg);
    if (!is_one || value < 1 || value > most)
        mistake(state, "--%s: \"%s\" is not a whole number from 1 to %llu", name_of(key), arg,
                (unsigned long long)most);
    return value;
}

static double real(struct argp_state *state, int key, const char *arg)
{
    char *end;
    const double value = strtod(arg, &end);
    if (end == arg || *end != '\0' || !isfinite(value) || value <= 0)
        mistake(state, "--%s: \"%s\" is not a number above 0", name_of(key), arg);
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
        mistake(state, "--data: \"%s\" is not uniform, skewed, one or runs, nor a file: %s%s", arg,
                strerror(errno), suggestion(arg, words));
    if (!S_ISREG(file.st_mode) || access(arg, R_OK) != 0)
        mistake(state, "--data: %s is not a file that can be read", arg);
    if (strlen(arg) >= sizeof(problem->data_file))
        mistake(state, "--data: the path has more than %zu characters",
                sizeof(problem->data_file) - 1);
    strcpy(problem->data_file, arg);
}

static void add_flag(struct argp_state *state, const char *flag, const char *arg)
{
    if (*arg == '\0' || arg[strcspn(arg, " \t\n\"'\\$`")])
        mistake(state, "%s: \"%s\" is empty or has a space, a quote, a backslash or a $", flag,
                arg);
    enum { MOST = 32 }; // compile.c, count.c and unit.c have room for these
    static int flags;
    if (++flags > MOST)
        mistake(state, "%s %s: there may be %d of -D and -I at most", flag, arg, MOST);
    char *longer;
    if (asprintf(&longer, "%s%s%s%s", tune_flags, *tune_flags ? " " : "", flag, arg) < 0)
        argp_failure(state, 1, 0, "out of memory");
    tune_flags = longer;
}

static void add_knob(struct argp_state *state, tune_knob *knobs, int *count, const char *arg)
{
    char message[1024];
    tune_knob knob;
    if (!tune_knob_parse(arg, &knob, message, sizeof(message)))
        mistake(state, "--knob: %s", message);
    for (int k = 0; k < *count; k++)
        if (strcmp(knobs[k].name, knob.name) == 0)
            mistake(state, "--knob: %s is given twice: list its values in one", knob.name);
    if (*count == TUNE_KNOBS)
        mistake(state, "--knob: there may be %d knobs at most", TUNE_KNOBS);
    knobs[(*count)++] = knob;
}

// The values that the user wants of a file's knobs, in place of all.
static void restrict_knobs(struct argp_state *state, const parse *p)
{
    tune_problem *const problem = &p->to->problem;
    const char *names[TUNE_KNOBS + 1] = {NULL};
    char list[TUNE_KNOBS * (sizeof(problem->knob->name) + 2)] = "";
    for (int k = 0; k < problem->knobs; k++) {
        names[k] = problem->knob[k].name;
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", k ? ", " : "", names[k]);
    }
    for (int i = 0; i < p->knobs; i++) {
        int k = 0;
        while (k < problem->knobs && strcmp(names[k], p->knob[i].name) != 0)
            k++;
        if (k == problem->knobs)
            mistake(state, "--knob: %s has no knob %s: it has %s%s", p->name, p->knob[i].name, list,
                    suggestion(p->knob[i].name, names));
        const long standard = problem->knob[k].standard;
        problem->knob[k] = p->knob[i];
        problem->knob[k].standard = standard;
    }
}

// A --default, --let or --require.
static void take_later(struct argp_state *state, tune_problem *problem, int key, const char *arg)
{
    char message[1024];
    tune_knob given;
    int k = 0;
    if (key != DEFAULT) {
        if (!tune_problem_rule(problem, key == LET, arg, message, sizeof(message)))
            mistake(state, "--%s: \"%s\": %s", name_of(key), arg, message);
        return;
    }
    if (!tune_knob_parse(arg, &given, message, sizeof(message)))
        mistake(state, "--default: %s", message);
    if (given.count != 1)
        mistake(state, "--default: \"%s\" has more than one value", arg);
    while (k < problem->knobs && strcmp(problem->knob[k].name, given.name) != 0)
        k++;
    if (k == problem->knobs)
        mistake(state, "--default: there is no knob %s: give --knob %s=VALUES first", given.name,
                given.name);
    problem->knob[k].standard = given.value[0];
}

// That a setting is left which all that is required allows; if not, what allows none.
static void check_rules(struct argp_state *state, const parse *p)
{
    enum { MOST = 1 << 20 }; // each is looked at
    tune_problem *const problem = &p->to->problem;
    const int rules = problem->rules;
    double all = 1;
    for (int k = 0; k < problem->knobs; k++)
        all *= problem->knob[k].count;
    if (rules > 0 && all > MOST)
        mistake(state, "--require: of the knobs' values %.0f settings can be made, and %d may be",
                all, MOST);
    for (int i = 0; i < rules; i++) {
        problem->rules = i + 1;
        if (tune_settings(problem) == 0)
            mistake(state, "--knob: no setting is left that %s takes: it requires %s", p->name,
                    problem->rule[i].text);
    }
}

// ---- What the file's code is told ---------------------------------------------------------------

static void define(parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void define(parse *p, const char *format, ...)
{
    char *const macros = p->own.macros;
    const size_t used = strlen(macros), room = sizeof(p->own.macros) - used;
    char line[128];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    snprintf(macros + used, room, "#define TUNE_%s\n", line);
}

// The words of "f32,f64,i32", ending in NULL; at the next call they are gone.
static const char *const *split(const char *list)
{
    enum { MOST = 32 };
    static char text[256];
    static const char *word[MOST];
    char *rest = NULL;
    int count = 0;
    snprintf(text, sizeof(text), "%s", list ? list : "");
    for (char *w = strtok_r(text, ",", &rest); w && count < MOST - 1;
         w = strtok_r(NULL, ",", &rest))
        word[count++] = w;
    word[count] = NULL;
    return word;
}

// Of a list that the file gives, the word that was typed or the first.
static const char *choose(struct argp_state *state, parse *p, const char *list, const char *typed)
{
    const char *const *const words = split(list);
    const char *const closest = typed ? suggestion(typed, words) : "";
    char all[256] = "";
    for (int w = 0; words[w]; w++) {
        if (!typed || strcmp(words[w], typed) == 0)
            return words[w];
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", w ? ", " : "", words[w]);
    }
    if (!typed)
        mistake(state, "\"%s\" names none to choose from", list);
    *p->place = '\0'; // the mistake is not the file's
    if (list == p->types)
        mistake(state, "--type: %s takes %s, not \"%s\"%s", p->name, all, typed, closest);
    mistake(state, "--op: \"%s\" is not one of %s%s", typed, all, closest);
}

static void take_type(struct argp_state *state, parse *p)
{
    char message[256];
    const char *const type = choose(state, p, p->types, p->type);
    const char *const c = tune_problem_type(&p->to->problem, type, message, sizeof(message));
    if (!c)
        mistake(state, "--type: %s", message);
    *p->own.macros = '\0';
    define(p, "TYPE %s", c);
    define(p, "TYPE_%s", type);
}

// What is known when all is typed.
static void take_rest(struct argp_state *state, parse *p)
{
    static const char *const data[][2] = {{"uniform", ""},
                                          {"skewed", "skewed"},
                                          {"one", "one value"},
                                          {"runs", "long runs"},
                                          {"file", "from a file"}};
    tune_problem *const problem = &p->to->problem;
    char label[64];
    if (p->takes[OP]) {
        const char *const op = choose(state, p, p->ops, p->op);
        define(p, "OP_%s", op);
        if (strncmp(p->ops, op, strlen(op)) != 0)
            tune_add_label(problem, op);
    }
    if (p->takes[INPUTS]) {
        define(p, "INPUTS %d", p->inputs);
        snprintf(label, sizeof(label), "%d input%s", p->inputs, p->inputs == 1 ? "" : "s");
        tune_add_label(problem, label);
    }
    if (p->takes[BINS]) {
        define(p, "BINS %llu", p->bins);
        snprintf(label, sizeof(label), "%llu bins", p->bins);
        tune_add_label(problem, label);
    }
    if (p->takes[WIDTH]) {
        define(p, "WIDTH %llu", p->width);
        snprintf(label, sizeof(label), "width %llu", p->width);
        tune_add_label(problem, label);
    }
    if (p->takes[ORDER]) {
        define(p, "ORDER %d", p->order);
        snprintf(label, sizeof(label), "order %d", p->order);
        tune_add_label(problem, label);
    }
    if (p->takes[MANY]) {
        define(p, "K %llu", p->many);
        snprintf(label, sizeof(label), "k = %llu", p->many);
        tune_add_label(problem, label);
    }
    define(p, "DATA_%s", data[problem->data][0]);
    if (problem->data != TUNE_UNIFORM)
        tune_add_label(problem, data[problem->data][1]);
}

// ---- What a file says of itself -----------------------------------------------------------------

static error_t take(int key, char *arg, struct argp_state *state);

// The next word, as a shell takes it, quotes and all. NULL: there is none.
static char *next_word(struct argp_state *state, char **from)
{
    static const char blanks[] = " \t\r\n";
    char *const word = *from + strspn(*from, blanks), *at = word, *to = word, quote = '\0';
    if (*word == '\0')
        return NULL;
    for (; *at && (quote || !strchr(blanks, *at)); at++)
        if (quote ? *at == quote : *at == '\'' || *at == '"')
            quote = quote ? '\0' : *at;
        else
            *to++ = *at;
    *from = at + (*at != '\0');
    *to = '\0';
    if (quote)
        mistake(state, "a %c is missing after %.*s", quote, (int)strcspn(word, "\n"), word);
    return word;
}

// The options of a line.
static void take_line(struct argp_state *state, char *line)
{
    static const char like[] = "--knob COARSE_FACTOR=1:32:*2";
    const char *words[KEYS] = {NULL};
    int count = 0;
    for (const struct argp_option *o = options; o->name || o->doc; o++)
        if (o->key == TYPE || (o->key >= OP && o->key <= N && o->key != SOURCE) || o->key == KNOB ||
            o->key == TOLERANCE)
            words[count++] = o->name;
    for (char *name; (name = next_word(state, &line));) {
        int w = 0;
        if (strncmp(name, "--", 2) != 0)
            mistake(state, "\"%s\" should be an option and its value, like %s", name, like);
        while (words[w] && strcmp(words[w], name + 2) != 0)
            w++;
        if (!words[w])
            mistake(state, "%s is no option that a file may have%s", name,
                    suggestion(name + 2, words));
        char *const value = next_word(state, &line);
        if (!value)
            mistake(state, "%s has no value: it should be like %s", name, like);
        const struct argp_option *o = options;
        while (!o->name || strcmp(o->name, words[w]) != 0)
            o++;
        take(o->key, value, state);
    }
}

// The options of a line "// tune: ..." or, where the elements are of that type, "// tune f32: ...".
// NULL: it is another line.
static char *options_in(struct argp_state *state, const parse *p, char *line)
{
    char *type = line + strspn(line, " \t");
    if (strncmp(type, "// tune", 7) != 0 || (type[7] != ':' && type[7] != ' '))
        return NULL;
    type += 7 + (type[7] == ' ');
    char *const colon = type + strcspn(type, ": \n");
    if (*colon != ':')
        return NULL;
    *colon = '\0';
    if (*type == '\0' || strcmp(type, p->to->problem.type) == 0)
        return colon + 1;
    for (const char *const *types = split(p->types);; types++)
        if (!*types)
            mistake(state,
                    "\"%s\" is none of the types that the lines above have: give --type f32,%s",
                    type, type);
        else if (strcmp(*types, type) == 0)
            return NULL;
}

// Takes what the file says of itself, as if it were typed before the rest.
static void describe(struct argp_state *state, parse *p)
{
    FILE *const file = p->file ? fopen(p->file, "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    if (p->file && !file && strcmp(p->name, p->file) != 0)
        mistake(state, "%s: %s: build coarsen-tune again, where coarsen is now", p->file,
                strerror(errno));
    for (int number = 1; file && getline(&line, &room, file) > 0; number++) {
        snprintf(p->place, sizeof(p->place), "%s:%d: ", p->file, number);
        char *const said = options_in(state, p, line);
        if (said) {
            take_line(state, said);
            line = NULL; // its words are kept
            room = 0;
        }
    }
    *p->place = '\0';
    free(line);
    if (file)
        fclose(file);
}

static void finish(struct argp_state *state, parse *p)
{
    static const struct {
        int key;
        const char *pattern;
    } only[] = {{ROWS, "matmul, rows, columns and sort_segments"},
                {COLS, "matmul"},
                {INNER, "matmul"},
                {NX, "stencil"},
                {NY, "stencil"},
                {NZ, "stencil"},
                {OP, "reduce and scan"},
                {INPUTS, "map"},
                {BINS, "histogram"},
                {WIDTH, "rows, columns, offsets and sort_segments"},
                {ORDER, "stencil"},
                {MANY, "top_k"}};
    tune_options *const to = p->to;
    tune_problem *const problem = &to->problem;
    char message[1024];
    tune_device device;

    if (!p->pattern && !p->own.source)
        mistake(state,
                "nothing to tune: give a pattern, %s, or --source FILE for a kernel of your own",
                pattern_names());
    if (p->pattern && p->own.source)
        mistake(state, "\"%s\" and --source: give a pattern or a kernel of your own, not both",
                p->pattern);
    if (p->pattern && !p->file)
        mistake(state,
                "\"%s\" is not a pattern: take %s, or --source FILE for a kernel of your own%s",
                p->pattern, pattern_names(), suggestion(p->pattern, tune_patterns));
    for (int key = TYPE; key < SOURCE; key++)
        if (p->own.source && p->given[key] && !p->takes[key])
            mistake(state, "--%s is for coarsen's patterns, not for a kernel of your own",
                    name_of(key));
    for (int key = SOURCE; key <= WORK; key++)
        if (!p->own.source && p->given[key])
            mistake(state, "--%s is for a kernel of your own: give --source FILE too",
                    name_of(key));
    for (size_t i = 0; i < sizeof(only) / sizeof(*only); i++)
        if (p->given[only[i].key] && !p->takes[only[i].key])
            mistake(state, "--%s is of %s, not of %s", name_of(only[i].key), only[i].pattern,
                    p->pattern);
    if (to->arch && to->device_file)
        mistake(state, "--arch and --device both say which device: give one of them");
    if (to->cache && to->no_cache)
        mistake(state, "--cache and --no-cache: give one of them");
    if (to->header && p->own.source)
        mistake(state, "--header makes defaults for coarsen's headers, which a kernel of your "
                       "own has none of: --csv FILE has its values");

    for (int s = 0; s < problem->sizes && p->n; s++)
        if (problem->size[s].is_file)
            problem->size[s].value = p->n;
    if (problem->knobs > 0) {
        restrict_knobs(state, p);
    } else {
        memcpy(problem->knob, p->knob, sizeof(problem->knob));
        problem->knobs = p->knobs;
    }
    for (int i = 0; i < p->laters; i++)
        take_later(state, problem, p->later[i].key, p->later[i].arg);
    take_rest(state, p);
    p->own.source = p->file;
    if (!tune_problem_own(problem, &p->own, message, sizeof(message)))
        mistake(state, "%s", message);
    problem->shipped = p->pattern != NULL;
    if (problem->shipped)
        problem->pattern = p->pattern;
    check_rules(state, p);
    if (to->arch && !tune_device_find(to->arch, &device, message, sizeof(message)))
        mistake(state, "--arch: %s", message);
    if (to->device_file && !tune_device_read(to->device_file, &device, message, sizeof(message)))
        mistake(state, "--device: %s", message);
}

// A size that the file gives may be typed by its name alone: --rows 4.
static void take_size(struct argp_state *state, parse *p, int key, const char *arg)
{
    tune_problem *const problem = &p->to->problem;
    const bool is_file = *p->place != '\0';
    char message[1024], text[96];
    if (key != SIZE) {
        const unsigned long long value = number(state, key, arg, UINT64_MAX);
        bool has = is_file;
        for (int s = 0; s < problem->sizes; s++)
            has = has || strcmp(problem->size[s].name, name_of(key)) == 0;
        p->takes[key] = has;
        if (!has && key == N && p->takes[SIZE])
            p->n = value; // of all that it gives
        if (!has && (key != N || p->takes[SIZE]))
            return;
        snprintf(text, sizeof(text), "%s=%llu", name_of(key), value);
        arg = text;
    }
    if (!tune_problem_size(problem, arg, is_file, message, sizeof(message)))
        mistake(state, "--%s: %s", name_of(key), message);
    p->takes[SIZE] = p->takes[SIZE] || is_file;
}

// A path that the file gives is from its own folder.
static const char *beside(const char *file, const char *path)
{
    const char *const slash = strrchr(file, '/');
    char *made = NULL;
    if (!slash || *path == '/')
        return path;
    if (asprintf(&made, "%.*s/%s", (int)(slash - file), file, path) < 0)
        exit(1);
    return made;
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    static const tune_role roles[] = {TUNE_IN, TUNE_OUT, TUNE_INOUT, TUNE_SCRATCH};
    parse *const p = state->input;
    tune_options *const to = p->to;
    tune_problem *const problem = &to->problem;
    const bool is_file = *p->place != '\0';
    char message[1024];

    if (!p->begun && key != ARGP_KEY_INIT) { // when errors can be told
        p->begun = true;
        describe(state, p);
    }
    if (key >= TYPE && key < KEYS)
        (is_file ? p->takes : p->given)[key] = true;
    switch (key) {
    case TYPE:
        *(is_file ? &p->types : &p->type) = arg;
        if (is_file)
            take_type(state, p);
        break;
    case OP:
        *(is_file ? &p->ops : &p->op) = arg;
        break;
    case INPUTS:
        p->inputs = (int)number(state, key, arg, 3);
        break;
    case BINS:
        p->bins = number(state, key, arg, 2147483647);
        break;
    case WIDTH:
        p->width = number(state, key, arg, 2147483647);
        break;
    case ORDER:
        p->order = (int)number(state, key, arg, 4);
        break;
    case MANY:
        p->many = number(state, key, arg, 1024);
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
        p->own.reference = is_file ? beside(p->file, arg) : arg;
        break;
    case WORK:
        p->own.work = arg;
        break;
    case FLOP:
        p->own.flop = arg;
        break;
    case TOLERANCE:
        p->own.tolerance = arg;
        break;
    case LET:
    case REQUIRE:
    case DEFAULT: // of knobs, which may be typed after it
        if (!is_file && p->laters == sizeof(p->later) / sizeof(*p->later))
            mistake(state, "--%s: there are too many", name_of(key));
        if (!is_file) {
            p->later[p->laters].key = key;
            p->later[p->laters++].arg = arg;
        } else
            take_later(state, problem, key, arg);
        break;
    case ROWS:
    case COLS:
    case INNER:
    case NX:
    case NY:
    case NZ:
    case N:
    case SIZE:
        take_size(state, p, key, arg);
        break;
    case IN:
    case OUT:
    case INOUT:
    case SCRATCH:
        if (!tune_problem_buffer(problem, roles[key - IN], arg, message, sizeof(message)))
            mistake(state, "--%s: %s", name_of(key), message);
        break;
    case DATA:
        set_data(state, problem, arg);
        break;
    case KNOB:
        if (is_file)
            add_knob(state, problem->knob, &problem->knobs, arg);
        else
            add_knob(state, p->knob, &p->knobs, arg);
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
        to->limit = real(state, key, arg);
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
            mistake(state, "\"%s\" and \"%s\": one pattern at a time", p->pattern, arg);
        p->pattern = arg;
        break;
    case ARGP_KEY_END:
        finish(state, p);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (!tune_own_check(&p->own, message, sizeof(message)))
        mistake(state, "%s", message);
    return 0;
}

// What the file depends on, and its description: they come before what else is typed.
static error_t look(int key, char *arg, struct argp_state *state)
{
    parse *const p = state->input;
    if (key == TYPE)
        p->type = arg;
    else if (key == SOURCE)
        p->own.source = arg;
    else if (key == ARGP_KEY_ARG)
        p->pattern = arg;
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
    struct argp argp = {
        .options = options, .parser = take, .args_doc = "PATTERN\n--source FILE --kernel NAME"};
    static const struct argp first = {.options = options, .parser = look};
    parse p = {.to = to};
    *to = (tune_options){.limit = 10, .samples = 20};
    to->command = command_line(argc, argv);
    argp_err_exit_status = 2;
    char *doc;
    if (asprintf(&doc, about, pattern_names()) < 0)
        exit(1);
    argp.doc = doc;
    argp_parse(&first, argc, argv, ARGP_SILENT, NULL, &p);
    char *file = NULL;
    for (int i = 0; p.pattern && !p.own.source && tune_patterns[i]; i++)
        if (strcmp(tune_patterns[i], p.pattern) == 0 &&
            asprintf(&file, "%s/%s.cu", TUNE_PATTERNS, p.pattern) < 0)
            exit(1);
    p = (parse){.to = to,
                .type = p.type,
                .file = p.own.source && !p.pattern ? p.own.source : file,
                .name = p.pattern ? p.pattern : p.own.source};
    argp_parse(&argp, argc, argv, 0, NULL, &p);
}
