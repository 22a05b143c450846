// SPDX-License-Identifier: MIT
//
// The compiler: NVRTC, loaded when the tuner starts, and what its report and its PTX say of a
// kernel.

#include "tune.h"

#include <ctype.h>
#include <dlfcn.h>
#include <glob.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- NVRTC --------------------------------------------------------------------------------------

static struct {
    int version;
#define FUNCTIONS(_)                                                                               \
    _(nvrtcVersion)                                                                                \
    _(nvrtcGetErrorString)                                                                         \
    _(nvrtcGetNumSupportedArchs)                                                                   \
    _(nvrtcGetSupportedArchs)                                                                      \
    _(nvrtcCreateProgram)                                                                          \
    _(nvrtcCompileProgram)                                                                         \
    _(nvrtcDestroyProgram)                                                                         \
    _(nvrtcGetProgramLogSize)                                                                      \
    _(nvrtcGetProgramLog)                                                                          \
    _(nvrtcGetPTXSize)                                                                             \
    _(nvrtcGetPTX)                                                                                 \
    _(nvrtcGetCUBINSize)                                                                           \
    _(nvrtcGetCUBIN)
#define DECLARE(name) __typeof__(&name) name;
    FUNCTIONS(DECLARE)
#undef DECLARE
} nvrtc;

#ifndef TUNE_NVRTC
#define TUNE_NVRTC "" // where the build found it
#endif

// NVRTC opens a second library by name alone. Where the two are in no folder that the loader knows, as
// in a wheel, it is found if it is there already.
static void open_builtins(void)
{
    Dl_info place;
    glob_t found;
    char pattern[4200];
    if (!dladdr((void *)nvrtc.nvrtcVersion, &place) || !strchr(place.dli_fname, '/'))
        return;
    const int folder = (int)(strrchr(place.dli_fname, '/') - place.dli_fname);
    snprintf(pattern, sizeof(pattern), "%.*s/libnvrtc-builtins.so*", folder, place.dli_fname);
    if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0)
        dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
}

bool tune_compiler_open(char *message, size_t size)
{
    const char *const homes[] = {getenv("CUDA_PATH"), getenv("CUDA_HOME"), "/usr/local/cuda"};
    const char *const asked = getenv("COARSEN_NVRTC");
    char paths[16][4096];
    int count = 0;
    if (asked && *asked)
        snprintf(paths[count++], sizeof(*paths), "%s", asked);
    else {
        if (*TUNE_NVRTC)
            snprintf(paths[count++], sizeof(*paths), "%s", TUNE_NVRTC);
        for (int h = 0; h < 3; h++)
            if (homes[h] && *homes[h])
                snprintf(paths[count++], sizeof(*paths), "%s/lib64/libnvrtc.so", homes[h]);
        for (int v = 13; v >= 12; v--)
            snprintf(paths[count++], sizeof(*paths), "libnvrtc.so.%d", v);
        snprintf(paths[count++], sizeof(*paths), "libnvrtc.so");
    }
    // What NVRTC takes from a cache comes without ptxas's report.
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    void *library = NULL;
    for (int i = 0; i < count && !library; i++)
        library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        int used =
            snprintf(message, size, "can't load NVRTC, CUDA's compiler at run time; looked for ");
        for (int i = 0; i < count && used > 0 && (size_t)used < size; i++)
            used += snprintf(message + used, size - used, "%s%s", i ? ", " : "", paths[i]);
        if (used > 0 && (size_t)used < size)
            snprintf(message + used, size - used,
                     ". Install the CUDA Toolkit, or pip install nvidia-cuda-nvrtc and name its "
                     "libnvrtc.so in the environment variable COARSEN_NVRTC");
        return false;
    }
#define LOAD(name)                                                                                 \
    nvrtc.name = (__typeof__(nvrtc.name))dlsym(library, #name);                                    \
    if (!nvrtc.name) {                                                                             \
        snprintf(message, size,                                                                    \
                 "this NVRTC has no " #name ": it is older than CUDA 12; install a "               \
                 "newer CUDA Toolkit, or name another in COARSEN_NVRTC");                          \
        return false;                                                                              \
    }
    FUNCTIONS(LOAD)
#undef LOAD
    open_builtins();
    int major = 0, minor = 0;
    nvrtc.nvrtcVersion(&major, &minor);
    nvrtc.version = major * 1000 + minor * 10;
    return true;
}

int tune_compiler_version(void)
{
    return nvrtc.version;
}

bool tune_compiler_supports(int sm, char *message, size_t size)
{
    int count = 0, archs[64];
    if (nvrtc.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > 64 ||
        nvrtc.nvrtcGetSupportedArchs(archs) != NVRTC_SUCCESS)
        count = 0;
    for (int i = 0; i < count; i++)
        if (archs[i] == sm)
            return true;
    int used = snprintf(message, size, "NVRTC %d.%d does not compile for sm_%d; it does for",
                        nvrtc.version / 1000, nvrtc.version / 10 % 100, sm);
    for (int i = 0; i < count && used > 0 && (size_t)used < size; i++)
        if (archs[i] >= 75)
            used += snprintf(message + used, size - used, " sm_%d", archs[i]);
    return false;
}

// ---- The report ---------------------------------------------------------------------------------

// The number before a text that stands in the line, as "32 registers".
static int number_before(const char *line, const char *end, const char *what)
{
    const char *at = memmem(line, end - line, what, strlen(what));
    if (!at)
        return 0;
    while (at > line && at[-1] == ' ')
        at--;
    while (at > line && isdigit((unsigned char)at[-1]))
        at--;
    return atoi(at);
}

// "_Z12tuned_kernelPKf" is tuned_kernel, "_ZN4mine5scaleEPf" mine::scale; what isn't mangled is
// itself.
static void readable(const char *symbol, char *name, size_t size)
{
    const bool nested = !strncmp(symbol, "_ZN", 3); // else after the name comes an argument's type
    if (strncmp(symbol, "_Z", 2) != 0) {
        snprintf(name, size, "%.*s", (int)size - 1, symbol);
        return;
    }
    *name = 0;
    const char *at = symbol + 2 + nested;
    do {
        at += *at == 'L'; // a static one
        char *text;
        const size_t length = isdigit((unsigned char)*at) ? strtoul(at, &text, 10) : 0;
        if (length == 0 || length > strlen(text))
            break;
        const size_t used = strlen(name);
        if (strncmp(text, "_GLOBAL__N_", 11) != 0) // a namespace without a name
            snprintf(name + used, size - used, "%s%.*s", used ? "::" : "", (int)length, text);
        at = text + length;
    } while (nested);
}

const tune_kernel *tune_kernel_named(const tune_row *row, const char *name)
{
    const tune_kernel *found = NULL;
    const size_t length = strlen(name);
    for (int k = 0; k < row->kernels; k++) {
        const char *const whole = row->kernel[k].name;
        const size_t more = strlen(whole) > length ? strlen(whole) - length : 0;
        if (!strcmp(whole, name))
            return &row->kernel[k];
        if (!found && more > 2 && !strncmp(whole + more - 2, "::", 2) &&
            !strcmp(whole + more, name)) // from within its namespace
            found = &row->kernel[k];
    }
    return found;
}

int tune_read_report(const char *log, tune_kernel *kernels, int max)
{
    int count = 0;
    tune_kernel *kernel = NULL;
    for (const char *line = log; *line;) {
        const char *const end = line + strcspn(line, "\n");
        const char *const entry = memmem(line, end - line, "Compiling entry function '", 26);
        if (entry) {
            const char *const symbol = entry + 26;
            const char *const quote = memchr(symbol, '\'', end - symbol);
            const int length = quote ? (int)(quote - symbol) : 0;
            kernel = NULL;
            const bool own = !strncmp(symbol, "tune_entry'", 11) ||
                             !strncmp(symbol, "tune_compare'", 13); // of unit/entry.h
            if (length > 0 && !own && count < max) {
                kernel = &kernels[count++];
                memset(kernel, 0, sizeof(*kernel));
                snprintf(kernel->symbol, sizeof(kernel->symbol), "%.*s", length, symbol);
                readable(kernel->symbol, kernel->name, sizeof(kernel->name));
            }
        } else if (kernel && memmem(line, end - line, "spill stores", 12)) {
            kernel->stack = number_before(line, end, "bytes stack frame");
            kernel->spill_stores = number_before(line, end, "bytes spill stores");
            kernel->spill_loads = number_before(line, end, "bytes spill loads");
        } else if (kernel && memmem(line, end - line, " registers", 10)) {
            kernel->registers = number_before(line, end, "registers");
            kernel->static_shared = number_before(line, end, "bytes smem");
        }
        line = *end ? end + 1 : end;
    }
    return count;
}

// ---- The PTX ------------------------------------------------------------------------------------

typedef struct {
    int instructions, memory, fma, load_bytes, inflight;
    int run; // of load bytes, while counting
    int copied,
        groups; // bytes of asynchronous copies; groups of them that a wait leaves on their way
} region;

static int type_bytes(const char *part)
{
    static const struct {
        const char *suffix;
        int bytes;
    } types[] = {{"128", 16}, {"64", 8}, {"32", 4}, {"16", 2}, {"8", 1}};
    if (!strchr("busf", part[0]))
        return 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (!strcmp(part + 1, types[i].suffix))
            return types[i].bytes;
    return 0;
}

// One instruction, without its predicate.
static void take(region *r, const char *text, size_t length)
{
    char code[64], line[256];
    snprintf(line, sizeof(line), "%.*s", (int)length, text);
    snprintf(code, sizeof(code), "%.*s", (int)strcspn(line, " \t;"), line);
    r->instructions++;

    bool global = false, shared = false, of_thread = false, is_volatile = false;
    int vector = 1, bytes = 0;
    char *state = NULL, parts[64];
    snprintf(parts, sizeof(parts), "%s", code);
    const char *operation = strtok_r(parts, ".", &state);
    if (!operation)
        return;
    for (const char *part; (part = strtok_r(NULL, ".", &state));) {
        global |= !strcmp(part, "global");
        shared |= !strncmp(part, "shared", 6);
        of_thread |= !strcmp(part, "param") || !strcmp(part, "local") || !strcmp(part, "const");
        is_volatile |=
            !strcmp(part, "volatile") || !strcmp(part, "acquire") || !strcmp(part, "relaxed");
        if (part[0] == 'v' && isdigit((unsigned char)part[1]) && !part[2])
            vector = part[1] - '0';
        if (type_bytes(part))
            bytes = type_bytes(part);
    }
    const bool load = !strcmp(operation, "ld") || !strcmp(operation, "ldu");
    const bool store = !strcmp(operation, "st"), copy = !strncmp(code, "cp.async.c", 10);
    const bool atomic = !strcmp(operation, "atom") || !strcmp(operation, "red");
    r->fma += !strcmp(operation, "fma");
    if ((load || store || atomic) && !of_thread)
        r->memory++;
    if (copy) { // the bytes are its third operand
        const char *comma = strchr(line, ',');
        comma = comma ? strchr(comma + 1, ',') : NULL;
        r->memory++;
        bytes = comma ? atoi(comma + 1) : 0;
        r->load_bytes += bytes;
        r->copied += bytes;
    }
    if (!strcmp(code, "cp.async.wait_group")) {
        const int groups = atoi(line + strlen(code));
        r->groups = groups > r->groups ? groups : r->groups;
    }
    if (load && !of_thread && !shared && !is_volatile) {
        r->load_bytes += vector * bytes;
        r->run += vector * bytes;
        if (r->run > r->inflight)
            r->inflight = r->run;
    } else if (!of_thread &&
               (store || atomic || !strcmp(operation, "bar") || !strcmp(operation, "barrier"))) {
        // What comes after can't be asked for before it.
        if (!(global && shared))
            r->run = 0;
    }
}

// What a turn of it is worth: the words it loads from global memory and its multiply-adds.
static int weight(const region *r)
{
    return r->load_bytes / 4 + r->fma;
}

// The weightiest loop; or the code outside of loops, if that weighs twice as much.
void tune_read_ptx(const char *ptx, tune_kernel *kernel)
{
    char entry[300];
    snprintf(entry, sizeof(entry), ".entry %s(", kernel->symbol);
    const char *const head = strstr(ptx, entry);
    const char *body = head;
    body = body ? strstr(body, "\n{") : NULL;
    const char *const end = body ? strstr(body, "\n}") : NULL;
    if (!end)
        return;
    const char *const bound = memmem(head, body - head, ".maxntid ", 9);
    if (bound) { // of __launch_bounds__
        int x = 1, y = 1, z = 1;
        sscanf(bound, ".maxntid %d, %d, %d", &x, &y, &z);
        kernel->most_threads = x * y * z;
    }
    const size_t lines_most = 1 << 16;
    typedef struct {
        const char *text;
        int length, loop; // the innermost loop it is in; -1: none
    } line;
    line *const lines = calloc(lines_most, sizeof(*lines));
    typedef struct {
        size_t from, to;
        bool outer;
    } span;
    span *const loops = calloc(lines_most, sizeof(*loops));
    int count = 0, loop_count = 0;
    for (const char *at = body + 2; lines && loops && at < end && count < (int)lines_most;) {
        at += strspn(at, " \t\n");
        const char *const stop = at + strcspn(at, "\n");
        if (at < end && *at != '/' && *at != '.')
            lines[count++] = (line){at, (int)(stop - at), -1};
        at = stop;
    }
    for (int i = 0; i < count; i++) { // branches to a label above
        const char *const branch = memmem(lines[i].text, lines[i].length, "bra", 3);
        const char *const label =
            branch ? memchr(branch, '$', lines[i].text + lines[i].length - branch) : NULL;
        if (!label || (branch != lines[i].text && branch[-1] != ' ' && branch[-1] != '\t'))
            continue;
        const size_t length = strcspn(label, "; \n");
        for (int j = 0; j < i; j++)
            if ((size_t)lines[j].length == length + 1 && lines[j].text[length] == ':' &&
                !strncmp(lines[j].text, label, length))
                loops[loop_count++] = (span){(size_t)j, (size_t)i, false};
    }
    for (int a = 0; a < loop_count; a++)
        for (int b = 0; b < loop_count; b++)
            if (a != b && loops[a].from <= loops[b].from && loops[b].to <= loops[a].to &&
                (loops[a].from != loops[b].from || loops[a].to != loops[b].to))
                loops[a].outer = true;
    for (int a = 0; a < loop_count; a++)
        for (size_t i = loops[a].from; i <= loops[a].to; i++)
            if (!loops[a].outer || lines[i].loop < 0)
                lines[i].loop = a;

    region best = {0}, outside = {0};
    for (int a = -1; a < loop_count; a++) {
        region r = {0};
        for (int i = 0; i < count; i++) {
            if (lines[i].loop != a)
                continue;
            const char *text = lines[i].text;
            if (*text == '@')
                text += strcspn(text, " \t"), text += strspn(text, " \t");
            const char *const semicolon = memchr(text, ';', lines[i].text + lines[i].length - text);
            if (semicolon && *text != '{' && *text != '}')
                take(&r, text, semicolon - text);
        }
        if (a < 0)
            outside = r;
        else if (weight(&r) > weight(&best))
            best = r;
    }
    if (weight(&best) * 2 <= weight(&outside))
        best = outside;
    kernel->loop_instructions = best.instructions;
    kernel->loop_memory = best.memory;
    kernel->loop_fma = best.fma;
    kernel->inflight = best.inflight + best.copied * (best.groups + 1);
    free(lines);
    free(loops);
}

// ---- Compiling ----------------------------------------------------------------------------------

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

// The first line of the log that tells an error, without the place where NVRTC keeps its own.
static void first_error(const char *log, char *to, size_t size)
{
    const char *at = strstr(log, "error");
    if (!at)
        at = log;
    while (at > log && at[-1] != '\n')
        at--;
    const int length = (int)strcspn(at, "\n");
    if (memmem(at, length, "device-side kernel launch", 25))
        snprintf(to, size,
                 "%.*s: <<<>>> is not understood here; launch with cudaLaunchKernelEx, or give "
                 "--kernel and a file without <<<>>>",
                 (int)(strcspn(at, ")") + 1), at);
    else if (memmem(at, length, "\"tune_", 6) && memmem(at, length, " matches ", 9))
        snprintf(to, size,
                 "error: the arguments do not fit the kernel, or fit more than one; of a template "
                 "its own are needed too, as in --kernel 'NAME<float>'");
    else if (length > 0)
        snprintf(to, size, "%.*s", length, at);
    else
        snprintf(to, size, "the compiler gave no reason");
}

// Why it failed: the log, or what ptxas, which writes no error to it, must have refused. malloc'd.
static char *complaint(const char *log, nvrtcResult status)
{
    enum { MOST = 48 << 10 }; // CUDA's limit on what is not dynamic
    tune_kernel kernels[TUNE_KERNELS];
    char *text = NULL;
    if (log && strstr(log, "error"))
        return strdup(log);
    const int count = log ? tune_read_report(log, kernels, TUNE_KERNELS) : 0;
    for (int k = 0; k < count; k++)
        if (kernels[k].static_shared > MOST &&
            asprintf(&text, "error: %s has %d bytes of static shared memory, and may have %d",
                     kernels[k].name, kernels[k].static_shared, MOST) > 0)
            return text;
    return strdup(nvrtc.nvrtcGetErrorString(status));
}

// Compiles one text at the row's setting. On failure the log is *error, malloc'd.
static bool compile(const tune_problem *problem, const tune_device *device, const char *text,
                    tune_row *row, tune_code *code, char **error)
{
    static const char *const empty[] = {"cuda_runtime.h", "stddef.h", "stdint.h",
                                        "stdbool.h",      "string.h", "math.h",
                                        "assert.h",       "stdio.h",  "stdlib.h"};
    enum { EMPTY = sizeof(empty) / sizeof(*empty) };
    const char *nothing[EMPTY];
    for (int i = 0; i < EMPTY; i++)
        nothing[i] = "";

    char arch[32], knobs[TUNE_KNOBS][96], *flags = strdup(tune_flags), *state = NULL;
    char include[4200], unit[4200];
    const char *options[64];
    int count = 0;
    *error = NULL;
    snprintf(arch, sizeof(arch), "--gpu-architecture=sm_%d", device->sm);
    snprintf(include, sizeof(include), "-I%s", tune_include_dir);
    snprintf(unit, sizeof(unit), "-I%s", tune_unit_dir);
    options[count++] = arch;
    options[count++] = include;
    options[count++] = unit;
    options[count++] = "--std=c++17";
    options[count++] = "--device-as-default-execution-space";
    options[count++] = "--ptxas-options=-v";
    for (int k = 0; k < problem->knobs; k++) {
        snprintf(knobs[k], sizeof(knobs[k]), "-DTUNE_KNOB_%d=%ld", k, row->setting.value[k]);
        options[count++] = knobs[k];
    }
    for (char *flag = flags ? strtok_r(flags, " ", &state) : NULL; flag && count < 60;
         flag = strtok_r(NULL, " ", &state))
        options[count++] = flag;

    const double start = now_ms();
    nvrtcProgram program = NULL;
    nvrtcResult status =
        nvrtc.nvrtcCreateProgram(&program, text, problem->pattern, EMPTY, nothing, empty);
    if (status == NVRTC_SUCCESS)
        status = nvrtc.nvrtcCompileProgram(program, count, options);
    size_t bytes = 0;
    char *log = NULL, *ptx = NULL;
    if (program && nvrtc.nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS &&
        (log = malloc(bytes + 1))) {
        nvrtc.nvrtcGetProgramLog(program, log);
        log[bytes] = 0;
    }
    bool done = status == NVRTC_SUCCESS && log;
    if (done) {
        row->kernels = tune_read_report(log, row->kernel, TUNE_KERNELS);
        if (nvrtc.nvrtcGetPTXSize(program, &bytes) == NVRTC_SUCCESS && (ptx = malloc(bytes + 1)) &&
            nvrtc.nvrtcGetPTX(program, ptx) == NVRTC_SUCCESS) {
            ptx[bytes] = 0;
            for (int k = 0; k < row->kernels; k++)
                tune_read_ptx(ptx, &row->kernel[k]);
        }
        done = row->kernels > 0 &&
               nvrtc.nvrtcGetCUBINSize(program, &code->cubin_bytes) == NVRTC_SUCCESS &&
               (code->cubin = malloc(code->cubin_bytes)) &&
               nvrtc.nvrtcGetCUBIN(program, code->cubin) == NVRTC_SUCCESS;
    }
    if (!done)
        *error = status == NVRTC_SUCCESS ? strdup("error: ptxas names no kernel in its report")
                                         : complaint(log, status);
    if (program)
        nvrtc.nvrtcDestroyProgram(&program);
    row->compile_ms = now_ms() - start;
    free(flags);
    free(log);
    free(ptx);
    return done;
}

typedef struct {
    const tune_problem *problem;
    const tune_device *device;
    const char *text;
    tune_row *const *rows;
    tune_code *code;
    size_t count, next;
    const volatile int *stop;
    void (*done)(size_t i, void *context);
    void *context;
    pthread_mutex_t lock;
} work;

static void *compile_some(void *context)
{
    work *const w = context;
    for (;;) {
        pthread_mutex_lock(&w->lock);
        const size_t i = w->next < w->count && !(w->stop && *w->stop) ? w->next++ : w->count;
        pthread_mutex_unlock(&w->lock);
        if (i == w->count)
            return NULL;
        tune_row *const row = w->rows[i];
        char *error = NULL;
        if (row->status == TUNE_PENDING &&
            !compile(w->problem, w->device, w->text, row, &w->code[i], &error)) {
            row->status = TUNE_NOT_COMPILED;
            first_error(error ? error : "out of memory", row->reason, sizeof(row->reason));
        }
        free(error);
        pthread_mutex_lock(&w->lock);
        if (w->done)
            w->done(i, w->context);
        pthread_mutex_unlock(&w->lock);
    }
}

void tune_compile(const tune_problem *problem, const tune_device *device, tune_row *const *rows,
                  tune_code *code, size_t count, const volatile int *stop,
                  void (*done)(size_t i, void *context), void *context)
{
    char *const text = tune_unit(problem, false);
    work w = {problem,
              device,
              text ? text : "#error out of memory",
              rows,
              code,
              count,
              0,
              stop,
              done,
              context,
              PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread[64];
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    threads = threads < 1 ? 1 : threads > 64 ? 64 : threads;
    if ((size_t)threads > count)
        threads = (long)count;
    long started = 0;
    while (started < threads - 1 && pthread_create(&thread[started], NULL, compile_some, &w) == 0)
        started++;
    compile_some(&w);
    for (long t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
    free(text);
}

bool tune_compile_reference(const tune_problem *problem, const tune_device *device, tune_row *row,
                            tune_code *code, char *message, size_t size)
{
    char *error = NULL, *const text = tune_unit(problem, problem->reference != NULL);
    const bool done = text && compile(problem, device, text, row, code, &error);
    if (!done)
        snprintf(message, size, "the reference does not compile:\n%s",
                 error ? error : "out of memory");
    free(text);
    free(error);
    return done;
}
