// SPDX-License-Identifier: MIT
//
// What is tuned: a kernel of the user's own, or one of coarsen's patterns, whose files in patterns/
// are loaded as the user's is.

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

bool tune_put(char *to, size_t size, const char *format, ...)
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

const char *const tune_patterns[] = {"reduce",  "map",     "matmul", "histogram",     "scan",
                                     "select",  "sort",    "merge",  "rows",          "columns",
                                     "offsets", "stencil", "top_k",  "sort_segments", NULL};

void tune_add_label(tune_problem *problem, const char *part)
{
    const size_t length = strlen(problem->label);
    tune_put(problem->label + length, sizeof(problem->label) - length, "%s%s", length ? ", " : "",
             part);
}

static const char *type_in_c(const char *type)
{
    static const char *const types[][2] = {
        {"f32", "float"},        {"f64", "double"},         {"i32", "int"},
        {"u32", "unsigned int"}, {"u16", "unsigned short"}, {"u8", "unsigned char"}};
    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++)
        if (strcmp(types[t][0], type) == 0)
            return types[t][1];
    return NULL;
}

const char *tune_problem_type(tune_problem *problem, const char *type, char *message, size_t size)
{
    const char *const c = type_in_c(type);
    if (!c)
        tune_fail(message, size, "\"%s\" is not one of f32, f64, i32, u32, u16, u8", type);
    else
        tune_put(problem->type, sizeof(problem->type), "%s", type);
    return c;
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

bool tune_problem_size(tune_problem *problem, const char *from, bool is_file, char *message,
                       size_t size)
{
    const char *const equals = strchr(from, '=');
    tune_size made = {.is_file = is_file};
    if (!equals || !tune_put(made.name, sizeof(made.name), "%.*s", (int)(equals - from), from) ||
        !is_name(made.name))
        return tune_fail(message, size, "\"%s\" should be like rows=4096, a name and a number",
                         from);
    if (!tune_number(equals + 1, &made.value) || made.value == 0)
        return tune_fail(message, size,
                         "\"%s\" is not a positive number: 1000000, 1e6, 2^20 and 1Mi are",
                         equals + 1);
    for (int s = 0; s < problem->sizes && !is_file; s++)
        if (problem->size[s].is_file && strcmp(problem->size[s].name, made.name) == 0) {
            problem->size[s] = made;
            return true;
        }
    if (problem->sizes == TUNE_SIZES)
        return tune_fail(message, size, "there may be %d sizes at most", TUNE_SIZES);
    if (taken(problem, made.name, message, size))
        return false;
    problem->size[problem->sizes++] = made;
    return true;
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

bool tune_problem_buffer(tune_problem *problem, tune_role role, const char *from, char *message,
                         size_t size)
{
    static const char up_to[] = "] up to ";
    const char *const rises = role == TUNE_IN ? strstr(from, up_to) : NULL;
    const size_t length = rises ? (size_t)(rises + 1 - from) : strlen(from);
    const char *const open = strchr(from, '[');
    tune_buffer parts = {.role = role};
    if (open && open < from + length && from[length - 1] == ']' &&
        (!rises || (expressions(rises + strlen(up_to)) == 1 &&
                    tune_put(parts.most, sizeof(parts.most), "%s", rises + strlen(up_to))))) {
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
        if (tune_put(parts.name, sizeof(parts.name), "%.*s", (int)(end - name), name) &&
            tune_put(parts.type, sizeof(parts.type), "%.*s", last > first ? (int)(last - first) : 0,
                     first) &&
            tune_put(parts.count, sizeof(parts.count), "%.*s", (int)(from + length - open - 2),
                     open + 1) &&
            is_name(parts.name) && *parts.type && !strpbrk(parts.type, "*&[](){};,") &&
            strspn(parts.count, " \t") < strlen(parts.count)) {
            if (problem->buffers == TUNE_BUFFERS)
                return tune_fail(message, size, "there may be %d buffers at most", TUNE_BUFFERS);
            if (taken(problem, parts.name, message, size))
                return false;
            if (strcmp(parts.type, "TUNE_TYPE") == 0 && *problem->type)
                tune_put(parts.type, sizeof(parts.type), "%s", type_in_c(problem->type));
            problem->buffer[problem->buffers++] = parts;
            return true;
        }
    }
    return tune_fail(message, size,
                     "\"%s\" should be like 'float x[n]', a type, a name and how many there are",
                     from);
}

bool tune_problem_rule(tune_problem *problem, bool is_let, const char *from, char *message,
                       size_t size)
{
    tune_rule made = {.text = from};
    double value;
    if (is_let) {
        const char *const equals = strchr(from, '=');
        if (!equals ||
            !tune_put(made.name, sizeof(made.name), "%.*s", (int)(equals - from), from) ||
            !is_name(made.name))
            return tune_fail(message, size,
                             "\"%s\" should be like threads=BM / TM, a name and an expression",
                             from);
        made.text = equals + 1;
    }
    if (problem->rules == TUNE_RULES)
        return tune_fail(message, size, "there may be %d of --let and --require at most",
                         TUNE_RULES);
    if (!tune_evaluate(problem, NULL, problem->rules, made.text, &value, message, size))
        return false;
    problem->rule[problem->rules++] = made;
    return true;
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

bool tune_own_check(const tune_own *own, char *message, size_t size)
{
    const tune_problem *const room = NULL;
    if (own->kernel &&
        (*own->kernel == '\0' || function_length(own->kernel) != strlen(own->kernel)))
        return tune_fail(message, size, "--kernel: \"%s\" is not the name of a function",
                         own->kernel);
    const size_t callee = own->launch ? function_length(own->launch) : 0;
    if (own->launch && (callee == 0 || expressions(own->launch + callee) != 1 ||
                        own->launch[callee + strspn(own->launch + callee, " \t")] != '(' ||
                        own->launch[strlen(own->launch) - 1] != ')'))
        return tune_fail(message, size,
                         "--launch: \"%s\" should be a call, like 'mine_launch(x, y, n, 0)'",
                         own->launch);
    const char *const options[] = {"--grid", "--block"}, *const dims[] = {own->grid, own->block};
    for (int i = 0; i < 2; i++)
        if (dims[i] && (expressions(dims[i]) < 1 || expressions(dims[i]) > 3))
            return tune_fail(message, size,
                             "%s: \"%s\" should be one to three expressions, parted "
                             "by commas",
                             options[i], dims[i]);
    if (own->shared && expressions(own->shared) != 1)
        return tune_fail(message, size, "--shared: \"%s\" should be one expression, of bytes",
                         own->shared);
    if (own->args && expressions(own->args) == 0)
        return tune_fail(message, size, "--args: \"%s\" should be expressions, parted by commas",
                         own->args);
    if (own->work && expressions(own->work) != 1)
        return tune_fail(message, size, "--work: \"%s\" should be one expression of the sizes",
                         own->work);
    if (own->work && strlen(own->work) + sizeof("(double)()") > sizeof(room->work))
        return tune_fail(message, size, "--work: it may have %zu characters",
                         sizeof(room->work) - sizeof("(double)()"));
    char *end = NULL;
    const double number = own->tolerance ? strtod(own->tolerance, &end) : 0;
    if (own->tolerance &&
        (expressions(own->tolerance) != 1 || (*end == '\0' && !(isfinite(number) && number >= 0))))
        return tune_fail(
            message, size,
            "--tolerance: \"%s\" is not a number from 0 on, nor an expression of the sizes",
            own->tolerance);
    if (own->tolerance && strlen(own->tolerance) >= sizeof(room->tolerance))
        return tune_fail(message, size, "--tolerance: it may have %zu characters",
                         sizeof(room->tolerance) - 1);
    return true;
}

bool tune_problem_own(tune_problem *problem, const tune_own *own, char *message, size_t size)
{
    if (!own->kernel == !own->launch)
        return tune_fail(
            message, size,
            "--source needs one of --kernel NAME, with --grid and --block, and --launch "
            "'CALL', a launcher that FILE has");
    const char *const beside = !own->launch  ? NULL
                               : own->grid   ? "--grid"
                               : own->block  ? "--block"
                               : own->shared ? "--shared"
                               : own->args   ? "--args"
                                             : NULL;
    if (beside)
        return tune_fail(message, size, "%s goes with --kernel: --launch says it all", beside);
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
        char args[sizeof(problem->run)] = "";
        if (own->args) {
            fits = tune_put(args, sizeof(args), ", %s", own->args);
        } else {
            for (int i = 0; i < problem->buffers + problem->sizes; i++) {
                const size_t length = strlen(args);
                fits = tune_put(args + length, sizeof(args) - length, ", %s",
                                i < problem->buffers ? problem->buffer[i].name
                                                     : problem->size[i - problem->buffers].name) &&
                       fits;
            }
        }
        fits = tune_put(problem->run, sizeof(problem->run),
                        "tune_launch_kernel(tune_dim(%s), tune_dim(%s), %s, %s%s)", own->grid,
                        block, own->shared ? own->shared : "0", own->kernel, args) &&
               fits;
        problem->pattern = own->kernel;
    } else {
        fits = tune_put(problem->run, sizeof(problem->run), "%s", own->launch);
        problem->pattern = text("%.*s", (int)function_length(own->launch), own->launch);
    }
    if (!fits)
        return tune_fail(message, size,
                         "the launch is too long: it may have %zu characters. Give FILE "
                         "a launcher and name that with --launch",
                         sizeof(problem->run) - 1);

    if (own->work)
        tune_put(problem->work, sizeof(problem->work), "(double)(%s)", own->work);
    else
        for (int i = 0; i < problem->sizes; i++) {
            const size_t length = strlen(problem->work);
            tune_put(problem->work + length, sizeof(problem->work) - length, "%s%s",
                     i ? " * " : "(double)", problem->size[i].name);
        }
    tune_put(problem->tolerance, sizeof(problem->tolerance), "%s",
             own->tolerance ? own->tolerance : "-1");
    char why[512];
    if (own->flop &&
        !tune_evaluate(problem, NULL, problem->rules, own->flop, &problem->flop, why, sizeof(why)))
        return tune_fail(message, size, "--flop: \"%s\": %s", own->flop, why);
    if (isnan(problem->flop))
        return tune_fail(message, size, "--flop: \"%s\" divides by zero", own->flop);

    char *const source = include("--source", own->source, message, size);
    if (!source)
        return false;
    problem->source = text("%s%s", own->macros, with_dynamic_shared(source, own->source));
    if (own->reference) {
        char *const reference = include("--reference", own->reference, message, size);
        if (!reference)
            return false;
        problem->reference = text("%s#define TUNE_REFERENCE\n%s", own->macros, reference);
    }
    return true;
}
