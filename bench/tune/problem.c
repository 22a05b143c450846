// SPDX-License-Identifier: MIT
//
// What is tuned: the patterns of coarsen, each a call of its shipped header and a reference that is
// right by being simple; or a kernel of the user's own.

#include "problem.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// ---- Words and numbers --------------------------------------------------------------------------

// A copy that this program never frees: a tuner has one problem.
static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *text(const char *format, ...)
{
    char *made;
    va_list args;
    va_start(args, format);
    if (vasprintf(&made, format, args) < 0) {
        fputs("coarsen-tune: out of memory\n", stderr);
        exit(1);
    }
    va_end(args);
    return made;
}

// Prints into an array that is part of a struct. false: it does not fit.
static bool put(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool put(char *to, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(to, size, format, args);
    va_end(args);
    return length >= 0 && (size_t)length < size;
}

bool tune_number(const char *from, uint64_t *value)
{
    static const struct {
        const char *name;
        double times;
    } units[] = {{"", 1},     {"k", 1e3},     {"K", 1e3},        {"M", 1e6},     {"G", 1e9},
                 {"T", 1e12}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 0x1p30}, {"Ti", 0x1p40}};
    char *end;
    if (!isdigit((unsigned char)*from) || from[strspn(from, "0123456789.eE+^kKMGTi")])
        return false;
    errno = 0;
    const unsigned long long whole = strtoull(from, &end, 10);
    if (*end == '\0') {
        *value = whole;
        return errno == 0;
    }
    if (*end == '^') {
        if (whole != 2 || !isdigit((unsigned char)end[1]))
            return false;
        const unsigned long exponent = strtoul(end + 1, &end, 10);
        *value = exponent < 64 ? (uint64_t)1 << exponent : 0;
        return *end == '\0' && exponent < 64;
    }
    // 64 bits of mantissa hold each integer of the range.
    const long double number = strtold(from, &end);
    for (size_t u = 0; u < sizeof(units) / sizeof(*units); u++)
        if (strcmp(end, units[u].name) == 0) {
            const long double product = number * units[u].times;
            if (!(product < 0x1p64L) || product != floorl(product))
                return false;
            *value = (uint64_t)product;
            return true;
        }
    return false;
}

// Insertions, deletions, replacements and swaps of neighbours that make b of a.
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t d[MOST + 1][MOST + 1];
    const size_t rows = strlen(a), cols = strlen(b);
    if (rows > MOST || cols > MOST)
        return SIZE_MAX;
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= cols; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            const size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            const size_t inserted = 1 + (d[i - 1][j] < d[i][j - 1] ? d[i - 1][j] : d[i][j - 1]);
            d[i][j] = replaced < inserted ? replaced : inserted;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    return d[rows][cols];
}

const char *tune_closest(const char *from, const char *const *words)
{
    const char *closest = NULL;
    size_t least = SIZE_MAX;
    for (; *words; words++) {
        const size_t away = distance(from, *words);
        if (away <= strlen(*words) / 3 + (strlen(*words) < 3) && away < least) {
            least = away;
            closest = *words;
        }
    }
    return closest;
}

// ---- Parts of a problem -------------------------------------------------------------------------

static void add_size(tune_problem *problem, const char *name, uint64_t value)
{
    tune_size *const size = &problem->size[problem->sizes++];
    put(size->name, sizeof(size->name), "%s", name);
    size->value = value;
}

static void add_buffer(tune_problem *problem, tune_role role, const char *type, const char *name,
                       const char *count)
{
    tune_buffer *const buffer = &problem->buffer[problem->buffers++];
    buffer->role = role;
    put(buffer->type, sizeof(buffer->type), "%s", type);
    put(buffer->name, sizeof(buffer->name), "%s", name);
    put(buffer->count, sizeof(buffer->count), "%s", count);
}

// The values end in 0.
static void add_knob(tune_problem *problem, const char *name, long standard, const long *values)
{
    tune_knob *const knob = &problem->knob[problem->knobs++];
    put(knob->name, sizeof(knob->name), "%s", name);
    knob->standard = standard;
    for (knob->count = 0; values[knob->count]; knob->count++)
        knob->value[knob->count] = values[knob->count];
}

static void add_powers(tune_problem *problem, const char *name, long standard, long first,
                       long last)
{
    long values[TUNE_VALUES + 1] = {0};
    for (int i = 0; first << i <= last; i++)
        values[i] = first << i;
    add_knob(problem, name, standard, values);
}

static void add_label(tune_problem *problem, const char *part)
{
    const size_t length = strlen(problem->label);
    put(problem->label + length, sizeof(problem->label) - length, "%s%s", length ? ", " : "", part);
}

typedef struct {
    const char *name, *c;
    int bytes;
    double unit; // half a unit in the last place of 1: what one rounding loses; 0: an integer
    // Its greatest and least finite value. COARSEN_GREATEST and COARSEN_LEAST need a builtin that
    // NVRTC lacks.
    const char *greatest, *least;
} element;

static const element elements[] = {
    {"f32", "float", 4, 0x1p-24, "0x1.fffffep127f", "-0x1.fffffep127f"},
    {"f64", "double", 8, 0x1p-53, "0x1.fffffffffffffp1023", "-0x1.fffffffffffffp1023"},
    {"i32", "int", 4, 0, "2147483647", "(-2147483647 - 1)"},
    {"u32", "unsigned int", 4, 0, NULL, NULL},
    {"u16", "unsigned short", 2, 0, NULL, NULL},
    {"u8", "unsigned char", 1, 0, NULL, NULL},
};

// ---- Reduction ----------------------------------------------------------------------------------

static bool fill_reduce(tune_problem *problem, const tune_shipped *given, const element *type,
                        char *message, size_t size)
{
    static const char *const ops[] = {"sum", "min", "max", NULL};
    const char *const op = given->op ? given->op : "sum";
    const bool sum = strcmp(op, "sum") == 0, least = strcmp(op, "min") == 0;
    if (!sum && !least && strcmp(op, "max") != 0) {
        const char *const closest = tune_closest(op, ops);
        return tune_fail(message, size, "--op: \"%s\" is not one of sum, min, max%s%s%s", op,
                         closest ? "; did you mean " : "", closest ? closest : "",
                         closest ? "?" : "");
    }
    // Sums of ints may overflow, which only an unsigned type defines. The reference adds floats up
    // in double.
    const char *const out = sum && type->unit == 0 ? "unsigned int" : type->c;
    const char *const wide = sum && type->unit != 0 ? "double" : out;
    const char *const macro = sum ? "COARSEN_SUM" : least ? "COARSEN_MIN" : "COARSEN_MAX";
    const char *const identity = sum ? "0" : least ? type->greatest : type->least;
    char *const given_op =
        sum ? text("#define COARSEN_ACC %s\n", out)
            : text("#define COARSEN_OP %s\n#define COARSEN_IDENTITY %s\n", macro, identity);
    problem->source = text("#define COARSEN_NAME tuned\n"
                           "#define COARSEN_TYPE %s\n"
                           "%s"
                           "#include <coarsen/reduce.h>\n",
                           type->c, given_op);
    problem->reference = text( // one block
        "COARSEN_KERNEL void tuned_kernel(const %s *in, %s *out, size_t n)\n"
        "{\n"
        "    __shared__ %s partial[1024];\n"
        "    %s sum = %s;\n"
        "    for (size_t i = threadIdx.x; i < n; i += 1024) {\n"
        "        const %s x = in[i];\n"
        "        sum = %s(sum, x);\n"
        "    }\n"
        "    partial[threadIdx.x] = sum;\n"
        "    __syncthreads();\n"
        "    if (threadIdx.x == 0) {\n"
        "        for (unsigned int t = 1; t < 1024; t++)\n"
        "            sum = %s(sum, partial[t]);\n"
        "        *out = (%s)sum;\n"
        "    }\n"
        "}\n"
        "COARSEN_HOST size_t tuned_scratch_bytes(size_t n)\n"
        "{\n"
        "    return n - n + 16;\n"
        "}\n"
        "COARSEN_HOST cudaError_t tuned_launch(const %s *in, %s *out, size_t n, void *scratch,\n"
        "                                      size_t scratch_bytes, cudaStream_t stream)\n"
        "{\n"
        "    (void)scratch, (void)scratch_bytes;\n"
        "    const cudaLaunchConfig_t config = coarsen_launch_config(1, 1024, 0, stream);\n"
        "    return cudaLaunchKernelEx(&config, tuned_kernel, in, out, n);\n"
        "}\n",
        type->c, out, wide, wide, identity, wide, macro, macro, out, type->c, out);
    free(given_op);
    put(problem->run, sizeof(problem->run), "%s",
        "tuned_launch(in, out, n, scratch, tuned_scratch_bytes(n), 0)");
    put(problem->work, sizeof(problem->work), "n");
    add_powers(problem, "BLOCK_DIM", 512, 64, 1024);
    add_powers(problem, "COARSE_FACTOR", 4, 1, 32);
    add_size(problem, "n", given->n);
    add_buffer(problem, TUNE_IN, type->c, "in", "n");
    add_buffer(problem, TUNE_OUT, out, "out", "1");
    add_buffer(problem, TUNE_SCRATCH, "unsigned char", "scratch", "tuned_scratch_bytes(n)");
    const double n = (double)given->n;
    problem->bytes = (n + 1) * type->bytes;
    // Where signs change, the sum is a random walk and so are its roundings, which stay well below
    // this up to 2^32 elements. Where they don't, a thread may lose a rounding of its sum at each
    // element that it adds up: of the reference's in double, n / 1024; of a kernel's on a device of
    // 32768 threads, n / 32768. What a file holds is not known.
    if (!sum || type->unit == 0)
        problem->tolerance = 0;
    else if (problem->data == TUNE_UNIFORM)
        problem->tolerance = (type->bytes == 8 ? 1024 : 64) * type->unit * sqrt(n);
    else if (problem->data == TUNE_FILE)
        problem->tolerance = -1;
    else
        problem->tolerance = type->unit * n * fmax(32, n / (type->bytes == 8 ? 1024 : 32768));
    if (!sum)
        add_label(problem, op);
    return true;
}

// ---- Map ----------------------------------------------------------------------------------------

static bool fill_map(tune_problem *problem, const tune_shipped *given, const element *type,
                     char *message, size_t size)
{
    const int inputs = given->inputs ? given->inputs : 2;
    if (inputs < 1 || inputs > 3)
        return tune_fail(message, size, "--inputs: %d is not from 1 to 3", inputs);
    // ints are added up as unsigned, as they may overflow.
    const char *const cast = type->unit == 0 ? "(unsigned int)" : "";
    static const char *const names[] = {"a", "a, b", "a, b, c"};
    char *const sum = inputs == 1   ? text("%s(a) + 1", cast)
                      : inputs == 2 ? text("%s(a) + %s(b)", cast, cast)
                                    : text("%s(a) + %s(b) + %s(c)", cast, cast, cast);
    problem->source = text("#define COARSEN_NAME tuned\n"
                           "#define COARSEN_TYPE %s\n"
                           "#define COARSEN_INPUTS %d\n"
                           "#define COARSEN_MAP(%s) ((%s)(%s))\n"
                           "#include <coarsen/map.h>\n",
                           type->c, inputs, names[inputs - 1], type->c, sum);
    char *const parameters =
        inputs == 1 ? text("const %s *in_a", type->c)
        : inputs == 2
            ? text("const %s *in_a, const %s *in_b", type->c, type->c)
            : text("const %s *in_a, const %s *in_b, const %s *in_c", type->c, type->c, type->c);
    static const char *const arrays[] = {"in_a", "in_a, in_b", "in_a, in_b, in_c"};
    char *const loads = text("%s a = in_a[i]%s%s", type->c, inputs > 1 ? ", b = in_b[i]" : "",
                             inputs > 2 ? ", c = in_c[i]" : "");
    problem->reference = text( // a thread an element
        "COARSEN_KERNEL void tuned_kernel(%s, %s *out, size_t n)\n"
        "{\n"
        "    const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;\n"
        "    if (i < n) {\n"
        "        const %s;\n"
        "        out[i] = (%s)(%s);\n"
        "    }\n"
        "}\n"
        "COARSEN_HOST cudaError_t tuned_launch(%s, %s *out, size_t n, cudaStream_t stream)\n"
        "{\n"
        "    const cudaLaunchConfig_t config =\n"
        "        coarsen_launch_config(coarsen_ceil_div(n, 256), 256, 0, stream);\n"
        "    return cudaLaunchKernelEx(&config, tuned_kernel, %s, out, n);\n"
        "}\n",
        parameters, type->c, loads, type->c, sum, parameters, type->c, arrays[inputs - 1]);
    free(sum);
    free(parameters);
    free(loads);
    put(problem->run, sizeof(problem->run), "tuned_launch(%s, out, n, 0)", arrays[inputs - 1]);
    put(problem->work, sizeof(problem->work), "n");
    add_powers(problem, "BLOCK_DIM", 256, 64, 1024);
    add_powers(problem, "COARSE_FACTOR", 1, 1, 16);
    add_size(problem, "n", given->n);
    static const char *const ins[] = {"in_a", "in_b", "in_c"};
    for (int i = 0; i < inputs; i++)
        add_buffer(problem, TUNE_IN, type->c, ins[i], "n");
    add_buffer(problem, TUNE_OUT, type->c, "out", "n");
    problem->bytes = (double)given->n * (inputs + 1) * type->bytes;
    problem->tolerance = 0; // the same operations in the same order
    char label[16];
    put(label, sizeof(label), "%d input%s", inputs, inputs == 1 ? "" : "s");
    add_label(problem, label);
    return true;
}

// ---- Matrix product -----------------------------------------------------------------------------

enum { BM, BN, BK, TM, TN, SLICES, STAGES }; // knobs, in their order

// What pipelined.h takes (its static_asserts), in blocks of 128 or 256 threads: its four shapes and
// those around them.
static bool matmul_legal(const tune_problem *problem, const tune_setting *setting)
{
    const long *const v = setting->value;
    const long items = strcmp(problem->type, "f64") == 0 ? 2 : 4;
    for (int k = 0; k < problem->knobs; k++)
        if (v[k] < 1)
            return false;
    const long threads = (v[BM] / v[TM]) * (v[BN] / v[TN]) * v[SLICES];
    if (threads != 128 && threads != 256)
        return false;
    const long lanes_n = v[BN] / v[TN] < 8 ? v[BN] / v[TN] : 8, lanes_m = 32 / lanes_n;
    return v[TM] % items == 0 && v[TN] % items == 0 && v[BN] % items == 0 &&
           v[TM] % v[SLICES] == 0 && v[BK] % (2 * v[SLICES]) == 0 && v[BK] % 8 == 0 &&
           32 % lanes_n == 0 && v[BM] % (lanes_m * v[TM]) == 0 && v[BN] % (lanes_n * v[TN]) == 0 &&
           v[BM] * v[BK] % threads == 0 && v[BK] * v[BN] / items % threads == 0 &&
           threads % (v[BN] / items) == 0 &&
           (8 * v[BM] % threads == 0 || threads % (8 * v[BM]) == 0);
}

static bool fill_matmul(tune_problem *problem, const tune_shipped *given, const element *type,
                        char *message, size_t size)
{
    (void)message, (void)size;
    problem->source = text("#define COARSEN_NAME tuned\n"
                           "#define COARSEN_TYPE %s\n"
                           "#include <coarsen/matmul/pipelined.h>\n",
                           type->c);
    problem->reference = text( // a thread an element
        "COARSEN_KERNEL void tuned_kernel(size_t rows, size_t cols, size_t inner, %s alpha,\n"
        "                                 const %s *m, size_t ldm, const %s *n, size_t ldn,\n"
        "                                 %s beta, %s *p, size_t ldp)\n"
        "{\n"
        "    const size_t e = (size_t)blockIdx.x * 256 + threadIdx.x;\n"
        "    if (e >= rows * cols)\n"
        "        return;\n"
        "    const size_t i = e / cols, j = e %% cols;\n"
        "    double sum = 0;\n"
        "    for (size_t k = 0; k < inner; k++)\n"
        "        sum += (double)m[i * ldm + k] * n[k * ldn + j];\n"
        "    p[i * ldp + j] = (%s)(alpha * sum + (beta == 0 ? 0 : beta * p[i * ldp + j]));\n"
        "}\n"
        "COARSEN_HOST cudaError_t tuned_launch(size_t rows, size_t cols, size_t inner, %s alpha,\n"
        "                                      const %s *m, size_t ldm, const %s *n, size_t ldn,\n"
        "                                      %s beta, %s *p, size_t ldp, cudaStream_t stream)\n"
        "{\n"
        "    const cudaLaunchConfig_t config =\n"
        "        coarsen_launch_config(coarsen_ceil_div(rows * cols, 256), 256, 0, stream);\n"
        "    return cudaLaunchKernelEx(&config, tuned_kernel, rows, cols, inner, alpha, m, ldm,\n"
        "                              n, ldn, beta, p, ldp);\n"
        "}\n",
        type->c, type->c, type->c, type->c, type->c, type->c, type->c, type->c, type->c, type->c,
        type->c);
    put(problem->run, sizeof(problem->run), "%s",
        "tuned_launch(rows, cols, inner, 1, m, inner, n, cols, 0, p, cols, 0)");
    put(problem->work, sizeof(problem->work), "(double)rows * cols * inner");
    // Widths are so many bytes, as in the header.
    const long wide = 8 / type->bytes;
    add_knob(problem, "BM", 128, (const long[]){32, 64, 128, 0});
    add_knob(problem, "BN", 128 * wide,
             (const long[]){8 * wide, 32 * wide, 64 * wide, 128 * wide, 0});
    add_knob(problem, "BK", 16, (const long[]){16, 32, 0});
    add_knob(problem, "TM", 8, (const long[]){4, 8, 0});
    add_knob(problem, "TN", 8 * wide, (const long[]){2 * wide, 4 * wide, 8 * wide, 0});
    add_knob(problem, "COARSEN_SLICES", 1, (const long[]){1, 4, 0});
    add_knob(problem, "COARSEN_STAGES", 2, (const long[]){2, 4, 0});
    problem->legal = matmul_legal;
    add_size(problem, "rows", given->rows);
    add_size(problem, "cols", given->cols);
    add_size(problem, "inner", given->inner);
    add_buffer(problem, TUNE_IN, type->c, "m", "rows * inner");
    add_buffer(problem, TUNE_IN, type->c, "n", "inner * cols");
    add_buffer(problem, TUNE_OUT, type->c, "p", "rows * cols");
    const double rows = (double)given->rows, cols = (double)given->cols;
    const double inner = (double)given->inner;
    problem->bytes = (rows * inner + inner * cols + rows * cols) * type->bytes;
    problem->flop = 2 * rows * cols * inner;
    // A random walk of inner steps, each rounded: about 0.1 unit * inner, and the greatest of all
    // elements six times that. Where signs don't change, a step may lose a rounding of the whole.
    // The reference has the same loss in double.
    problem->tolerance = problem->data == TUNE_UNIFORM ? type->unit * 2 * (inner + 32)
                         : problem->data == TUNE_FILE  ? -1
                                                       : type->unit * 2 * (inner + 1) * inner;
    return true;
}

// ---- Histogram ----------------------------------------------------------------------------------

static bool fill_histogram(tune_problem *problem, const tune_shipped *given, const element *type,
                           char *message, size_t size)
{
    const int bits = 8 * type->bytes;
    const uint64_t bins = given->bins ? given->bins : 256;
    if (bins > 2147483647)
        return tune_fail(message, size, "--bins: %llu is not from 1 to 2147483647",
                         (unsigned long long)bins);
    // Even ranges of all values; each value its own where there are bins enough.
    const bool power = (bins & (bins - 1)) == 0;
    char *const bin =
        type->unit != 0
            ? text("((x) >= -1 && (x) < 1 ? (int)(((x) + 1) * %.1ff) : -1)", (double)bins / 2)
        : bins >> bits ? text("(x)")
        : power && bins > 1
            ? text("((int)((x) >> %d))", bits - __builtin_ctzll(bins))
            : text("((int)((unsigned long long)(x) * %llu >> %d))", (unsigned long long)bins, bits);
    problem->source = text("#define COARSEN_NAME tuned\n"
                           "#define COARSEN_TYPE %s\n"
                           "#define NUM_BINS %llu\n"
                           "#define COARSEN_BIN(x) %s\n"
                           "#include <coarsen/histogram.h>\n",
                           type->c, (unsigned long long)bins, bin);
    problem->reference = text( // an atomic an element
        "COARSEN_KERNEL void tuned_kernel(const %s *in, unsigned int *counts, size_t n)\n"
        "{\n"
        "    const size_t threads = (size_t)gridDim.x * 256;\n"
        "    for (size_t i = (size_t)blockIdx.x * 256 + threadIdx.x; i < n; i += threads) {\n"
        "        const %s x = in[i];\n"
        "        const long long bin = %s;\n"
        "        if (bin >= 0 && bin < %llu)\n"
        "            atomicAdd(counts + bin, 1);\n"
        "    }\n"
        "}\n"
        "COARSEN_HOST cudaError_t tuned_launch(const %s *in, unsigned int *counts, size_t n,\n"
        "                                      void *scratch, size_t scratch_bytes,\n"
        "                                      cudaStream_t stream)\n"
        "{\n"
        "    (void)scratch, (void)scratch_bytes;\n"
        "    const cudaError_t status =\n"
        "        cudaMemsetAsync(counts, 0, %llu * sizeof(unsigned int), stream);\n"
        "    if (status != cudaSuccess)\n"
        "        return status;\n"
        "    const size_t blocks = coarsen_min(coarsen_ceil_div(n, 256), 4096);\n"
        "    const cudaLaunchConfig_t config = coarsen_launch_config(blocks, 256, 0, stream);\n"
        "    return cudaLaunchKernelEx(&config, tuned_kernel, in, counts, n);\n"
        "}\n",
        type->c, type->c, bin, (unsigned long long)bins, type->c, (unsigned long long)bins);
    free(bin);
    put(problem->run, sizeof(problem->run), "tuned_launch(in, counts, n, NULL, 0, 0)");
    put(problem->work, sizeof(problem->work), "n");
    add_powers(problem, "BLOCK_DIM", 1024, 128, 1024);
    add_powers(problem, "CFACTOR", 4, 1, 32);
    add_size(problem, "n", given->n);
    add_buffer(problem, TUNE_IN, type->c, "in", "n");
    char count[24];
    put(count, sizeof(count), "%llu", (unsigned long long)bins);
    add_buffer(problem, TUNE_OUT, "unsigned int", "counts", count);
    problem->bytes = (double)given->n * type->bytes + (double)bins * 4;
    char label[40];
    put(label, sizeof(label), "%llu bins", (unsigned long long)bins);
    add_label(problem, label);
    return true;
}

// ---- The patterns -------------------------------------------------------------------------------

const char *const tune_patterns[] = {"reduce", "map", "matmul", "histogram", NULL};

static const struct {
    const char *types[5]; // the first is taken where none is said
    bool (*fill)(tune_problem *, const tune_shipped *, const element *, char *, size_t);
} patterns[] = {
    // in the order of tune_patterns
    {{"f32", "f64", "i32"}, fill_reduce},
    {{"f32", "f64", "i32"}, fill_map},
    {{"f32", "f64"}, fill_matmul},
    {{"u8", "u16", "u32", "f32"}, fill_histogram},
};

bool tune_problem_shipped(tune_problem *problem, const char *pattern, const tune_shipped *given,
                          char *message, size_t size)
{
    static const char *const data[] = {"", "skewed", "one value", "long runs", "from a file"};
    const char *closest = NULL;
    size_t p = 0;
    while (tune_patterns[p] && strcmp(tune_patterns[p], pattern) != 0)
        p++;
    if (!tune_patterns[p]) {
        closest = tune_closest(pattern, tune_patterns);
        return tune_fail(
            message, size,
            "\"%s\" is not a pattern: take reduce, map, matmul or histogram, or --source "
            "FILE for a kernel of your own%s%s%s",
            pattern, closest ? "; did you mean " : "", closest ? closest : "", closest ? "?" : "");
    }
    const char *const type = given->type ? given->type : patterns[p].types[0];
    const element *of = NULL;
    char types[64] = "";
    for (int t = 0; t < 5 && patterns[p].types[t]; t++) {
        const size_t length = strlen(types);
        put(types + length, sizeof(types) - length, "%s%s", t ? ", " : "", patterns[p].types[t]);
        for (size_t e = 0; e < sizeof(elements) / sizeof(*elements); e++)
            if (strcmp(patterns[p].types[t], type) == 0 && strcmp(elements[e].name, type) == 0)
                of = &elements[e];
    }
    if (!of) {
        closest = tune_closest(type, patterns[p].types);
        return tune_fail(message, size, "--type: %s takes %s, not \"%s\"%s%s%s", pattern, types,
                         type, closest ? "; did you mean " : "", closest ? closest : "",
                         closest ? "?" : "");
    }
    problem->pattern = tune_patterns[p];
    put(problem->type, sizeof(problem->type), "%s", type);
    problem->shipped = true;
    if (!patterns[p].fill(problem, given, of, message, size))
        return false;
    if (problem->data != TUNE_UNIFORM)
        add_label(problem, data[problem->data]);
    return true;
}

// ---- A kernel of the user's own -----------------------------------------------------------------

static bool is_name(const char *from)
{
    if (!isalpha((unsigned char)*from) && *from != '_')
        return false;
    while (isalnum((unsigned char)*from) || *from == '_')
        from++;
    return *from == '\0';
}

// How much of it is the name of a function, which may be in a namespace or of a template:
// "mine::scale<float, 4>"; 0: none.
static size_t function_length(const char *from)
{
    const char *at = from;
    int depth = 0;
    do {
        at += 2 * (strncmp(at, "::", 2) == 0);
        if (!isalpha((unsigned char)*at) && *at != '_')
            return 0;
        while (isalnum((unsigned char)*at) || *at == '_')
            at++;
    } while (strncmp(at, "::", 2) == 0);
    if (*at != '<')
        return (size_t)(at - from);
    do {
        if (*at == '\0' || strchr("\"\\\n;{}", *at))
            return 0;
        depth += (*at == '<') - (*at == '>');
        at++;
    } while (depth > 0);
    return (size_t)(at - from);
}

// Knobs, sizes and buffers are names in one piece of C.
static bool taken(const tune_problem *problem, const char *name, char *message, size_t size)
{
    for (int i = 0; i < problem->sizes; i++)
        if (strcmp(problem->size[i].name, name) == 0)
            return !tune_fail(message, size,
                              "\"%s\" is a size already: each needs a name of its own", name);
    for (int i = 0; i < problem->buffers; i++)
        if (strcmp(problem->buffer[i].name, name) == 0)
            return !tune_fail(message, size,
                              "\"%s\" is a buffer already: each needs a name of its own", name);
    return false;
}

bool tune_problem_size(tune_problem *problem, const char *from, char *message, size_t size)
{
    const char *const equals = strchr(from, '=');
    char name[sizeof(problem->size[0].name)];
    uint64_t value;
    if (!equals || !put(name, sizeof(name), "%.*s", (int)(equals - from), from) || !is_name(name))
        return tune_fail(message, size, "\"%s\" should be like rows=4096, a name and a number",
                         from);
    if (!tune_number(equals + 1, &value) || value == 0)
        return tune_fail(message, size,
                         "\"%s\" is not a positive number: 1000000, 1e6, 2^20 and 1Mi are",
                         equals + 1);
    if (problem->sizes == TUNE_SIZES)
        return tune_fail(message, size, "there may be %d sizes at most", TUNE_SIZES);
    if (taken(problem, name, message, size))
        return false;
    add_size(problem, name, value);
    return true;
}

bool tune_problem_buffer(tune_problem *problem, tune_role role, const char *from, char *message,
                         size_t size)
{
    const size_t length = strlen(from);
    const char *const open = strchr(from, '[');
    tune_buffer parts;
    if (open && from[length - 1] == ']') {
        const char *end = open, *name;
        while (end > from && isspace((unsigned char)end[-1]))
            end--;
        for (name = end; name > from && (isalnum((unsigned char)name[-1]) || name[-1] == '_');)
            name--;
        const char *last = name, *first = from;
        while (last > from && isspace((unsigned char)last[-1]))
            last--;
        while (isspace((unsigned char)*first))
            first++;
        if (put(parts.name, sizeof(parts.name), "%.*s", (int)(end - name), name) &&
            put(parts.type, sizeof(parts.type), "%.*s", last > first ? (int)(last - first) : 0,
                first) &&
            put(parts.count, sizeof(parts.count), "%.*s", (int)(from + length - open - 2),
                open + 1) &&
            is_name(parts.name) && *parts.type && !strpbrk(parts.type, "*&[](){};,") &&
            strspn(parts.count, " \t") < strlen(parts.count)) {
            if (problem->buffers == TUNE_BUFFERS)
                return tune_fail(message, size, "there may be %d buffers at most", TUNE_BUFFERS);
            if (taken(problem, parts.name, message, size))
                return false;
            add_buffer(problem, role, parts.type, parts.name, parts.count);
            return true;
        }
    }
    return tune_fail(message, size,
                     "\"%s\" should be like 'float x[n]', a type, a name and how many there are",
                     from);
}

// How many expressions a list has, parted by commas outside of brackets; 0 where one of them is
// empty or a bracket has no partner.
static int expressions(const char *from)
{
    char open[64];
    int depth = 0, count = 1;
    bool any = false;
    for (; *from; from++) {
        static const char brackets[] = "()[]{}";
        const char *const bracket = strchr(brackets, *from);
        if (*from == ',' && depth == 0) {
            if (!any)
                return 0;
            any = false;
            count++;
            continue;
        }
        any = any || !isspace((unsigned char)*from);
        if (bracket && (bracket - brackets) % 2 == 0) {
            if (depth == sizeof(open))
                return 0;
            open[depth++] = bracket[1];
        } else if (bracket && (depth == 0 || open[--depth] != *from)) {
            return 0;
        }
    }
    return any && depth == 0 ? count : 0;
}

static char *include(const char *option, const char *path, char *message, size_t size)
{
    char whole[PATH_MAX];
    FILE *const file = fopen(path, "r");
    if (!file || getc(file) == EOF) {
        tune_fail(message, size, "%s: %s: %s", option, path,
                  !file          ? strerror(errno)
                  : ferror(file) ? strerror(errno)
                                 : "the file is empty");
        if (file)
            fclose(file);
        return NULL;
    }
    fclose(file);
    if (!realpath(path, whole) || strpbrk(whole, "\"\n\\")) {
        tune_fail(message, size,
                  "%s: %s: no #include can name this path: it has a quote, a backslash "
                  "or a line end",
                  option, path);
        return NULL;
    }
    return text("#include \"%s\"\n", whole);
}

// The source with what simt needs to be told: which arrays are a block's dynamic shared memory.
static char *with_dynamic_shared(const char *source, const char *path)
{
    static const char declared[] = "__shared__", told[] = "SIMT_DYNAMIC_SHARED";
    char *code = NULL, *lines = text("%s", source);
    size_t room = 0;
    FILE *const file = fopen(path, "r");
    if (file && getdelim(&code, &room, '\0', file) > 0 && !strstr(code, told))
        for (const char *at = code; (at = strstr(at, declared)); at += strlen(declared)) {
            // extern __shared__ float tile[];
            const char *const end = at + strcspn(at, ";=(");
            const char *name = memchr(at, '[', (size_t)(end - at));
            const char *before = at;
            while (before > code && isspace((unsigned char)before[-1]))
                before--;
            size_t length = 0;
            while (name && name > at && isspace((unsigned char)name[-1]))
                name--;
            while (name && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
                name--, length++;
            if (length == 0 || before - code < 6 || strncmp(before - 6, "extern", 6) != 0)
                continue;
            char *const line = text("%s(%.*s);\n", told, (int)length, name);
            if (!strstr(lines, line)) {
                char *const more = text("%s#ifdef SIMT\n%s#endif\n", lines, line);
                free(lines);
                lines = more;
            }
            free(line);
        }
    if (file)
        fclose(file);
    free(code);
    return lines;
}

bool tune_problem_own(tune_problem *problem, const tune_own *own, char *message, size_t size)
{
    if (!own->kernel == !own->launch)
        return tune_fail(
            message, size,
            "--source needs one of --kernel NAME, with --grid and --block, and --launch "
            "'CALL', a launcher that FILE has");
    if (own->kernel &&
        (*own->kernel == '\0' || function_length(own->kernel) != strlen(own->kernel)))
        return tune_fail(message, size, "--kernel: \"%s\" is not the name of a function",
                         own->kernel);
    const char *const beside = !own->launch  ? NULL
                               : own->grid   ? "--grid"
                               : own->block  ? "--block"
                               : own->shared ? "--shared"
                               : own->args   ? "--args"
                                             : NULL;
    if (beside)
        return tune_fail(message, size, "%s goes with --kernel: --launch says it all", beside);
    const size_t callee = own->launch ? function_length(own->launch) : 0;
    char *const launcher = own->launch ? text("%.*s", (int)callee, own->launch) : NULL;
    if (own->launch && (callee == 0 || expressions(own->launch + callee) != 1 ||
                        own->launch[callee + strspn(own->launch + callee, " \t")] != '(' ||
                        own->launch[strlen(own->launch) - 1] != ')'))
        return tune_fail(message, size,
                         "--launch: \"%s\" should be a call, like 'mine_launch(x, y, n, 0)'",
                         own->launch);
    if (problem->knobs == 0)
        return tune_fail(
            message, size,
            "--source needs a knob to tune: --knob COARSE_FACTOR=1:32:*2, a macro of FILE "
            "and its values");
    if (problem->sizes == 0)
        return tune_fail(message, size, "--source needs a size: --n 2^24, or --size rows=4096");
    int outputs = 0;
    for (int i = 0; i < problem->buffers; i++)
        outputs += problem->buffer[i].role == TUNE_OUT || problem->buffer[i].role == TUNE_INOUT;
    if (outputs == 0)
        return tune_fail(message, size,
                         "--source needs a result to verify: --out 'float y[n]' or --inout");
    for (int k = 0; k < problem->knobs; k++)
        if (taken(problem, problem->knob[k].name, message, size))
            return false;

    bool fits = true;
    if (own->kernel) {
        const char *block = own->block;
        for (int k = 0; k < problem->knobs && !block; k++)
            if (strcmp(problem->knob[k].name, "BLOCK_DIM") == 0)
                block = "BLOCK_DIM";
        if (!own->grid)
            return tune_fail(message, size,
                             "--kernel needs --grid, such as 'coarsen_ceil_div(n, BLOCK_DIM * "
                             "COARSE_FACTOR)'");
        if (!block)
            return tune_fail(message, size,
                             "--kernel needs --block, such as 256, or a knob BLOCK_DIM");
        const char *const options[] = {"--grid", "--block"}, *const dims[] = {own->grid, block};
        for (int i = 0; i < 2; i++)
            if (expressions(dims[i]) < 1 || expressions(dims[i]) > 3)
                return tune_fail(message, size,
                                 "%s: \"%s\" should be one to three expressions, parted "
                                 "by commas",
                                 options[i], dims[i]);
        if (own->shared && expressions(own->shared) != 1)
            return tune_fail(message, size, "--shared: \"%s\" should be one expression, of bytes",
                             own->shared);
        if (own->args && expressions(own->args) == 0)
            return tune_fail(message, size,
                             "--args: \"%s\" should be expressions, parted by commas", own->args);
        char args[sizeof(problem->run)] = "";
        if (own->args) {
            fits = put(args, sizeof(args), ", %s", own->args);
        } else {
            for (int i = 0; i < problem->buffers + problem->sizes; i++) {
                const size_t length = strlen(args);
                fits = put(args + length, sizeof(args) - length, ", %s",
                           i < problem->buffers ? problem->buffer[i].name
                                                : problem->size[i - problem->buffers].name) &&
                       fits;
            }
        }
        fits = put(problem->run, sizeof(problem->run),
                   "tune_launch_kernel(tune_dim(%s), tune_dim(%s), %s, %s%s)", own->grid, block,
                   own->shared ? own->shared : "0", own->kernel, args) &&
               fits;
        problem->pattern = own->kernel;
    } else {
        fits = put(problem->run, sizeof(problem->run), "%s", own->launch);
        problem->pattern = launcher;
    }
    if (!fits)
        return tune_fail(message, size,
                         "the launch is too long: it may have %zu characters. Give FILE "
                         "a launcher and name that with --launch",
                         sizeof(problem->run) - 1);

    if (own->work && expressions(own->work) != 1)
        return tune_fail(message, size, "--work: \"%s\" should be one expression of the sizes",
                         own->work);
    if (own->work)
        fits = put(problem->work, sizeof(problem->work), "(double)(%s)", own->work);
    else
        for (int i = 0; i < problem->sizes; i++) {
            const size_t length = strlen(problem->work);
            fits = put(problem->work + length, sizeof(problem->work) - length, "%s%s",
                       i ? " * " : "(double)", problem->size[i].name) &&
                   fits;
        }
    if (!fits)
        return tune_fail(message, size, "--work: it may have %zu characters",
                         sizeof(problem->work) - sizeof("(double)()"));

    char *const source = include("--source", own->source, message, size);
    if (!source)
        return false;
    problem->source = with_dynamic_shared(source, own->source);
    free(source);
    if (own->reference) {
        problem->reference = include("--reference", own->reference, message, size);
        if (!problem->reference)
            return false;
    }
    return true;
}
