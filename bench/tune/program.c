// SPDX-License-Identifier: MIT

#include "program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 96, PATH = PROGRAM_PATH };

static const double compile_s = 120; // that g++ may take

// ---- The folder ---------------------------------------------------------------------------------

static char *compiler[16]; // g++, or the words of $CXX
static char folder[PATH];  // ours, with all that the programs are made of; removed at the end
static pid_t owner;        // a fork of this process leaves it alone

extern char **environ;
static char **surroundings; // the environment of what is run: temporary files go to the folder too

void program_end(void)
{
    if (!*folder || getpid() != owner)
        return;
    DIR *const all = opendir(folder);
    for (const struct dirent *entry; all && (entry = readdir(all));)
        unlinkat(dirfd(all), entry->d_name, 0);
    if (all)
        closedir(all);
    rmdir(folder);
    *folder = 0;
    free(surroundings);
    surroundings = NULL;
}

static bool make_surroundings(void)
{
    static char temporary[PATH + 8];
    size_t count = 0, kept_count = 0;
    while (environ[count])
        count++;
    surroundings = malloc((count + 2) * sizeof(*surroundings));
    if (!surroundings)
        return false;
    for (size_t e = 0; e < count; e++)
        if (strncmp(environ[e], "TMPDIR=", 7) != 0)
            surroundings[kept_count++] = environ[e];
    snprintf(temporary, sizeof(temporary), "TMPDIR=%s", folder);
    surroundings[kept_count++] = temporary;
    surroundings[kept_count] = NULL;
    return true;
}

static bool make_folder(char *message, size_t size)
{
    static bool registered;
    if (*folder)
        return true;
    const char *const parent = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/coarsen-tune-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder)) {
        snprintf(message, size,
                 "cannot make the folder %.200s: %s; TMPDIR says where folders can be made", folder,
                 strerror(errno));
        *folder = 0;
        return false;
    }
    char *const whole = realpath(folder, NULL); // its programs are run from another
    if (whole)
        snprintf(folder, sizeof(folder), "%s", whole);
    free(whole);
    owner = getpid();
    if (!registered)
        atexit(program_end);
    registered = true;
    if (make_surroundings())
        return true;
    snprintf(message, size, "out of memory");
    return false;
}

void program_path(char to[PATH], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = snprintf(to, PATH, "%s/", folder);
    if (length < PATH)
        vsnprintf(to + length, PATH - (size_t)length, format, args);
    va_end(args);
}

char *program_read(const char *path, size_t *bytes)
{
    FILE *const in = fopen(path, "rb");
    char *text = NULL;
    if (in && fseeko(in, 0, SEEK_END) == 0) {
        const off_t end = ftello(in);
        rewind(in);
        text = end < 0 ? NULL : malloc((size_t)end + 1);
        *bytes = text ? fread(text, 1, (size_t)end, in) : 0;
        if (text)
            text[*bytes] = 0;
    }
    if (in)
        fclose(in);
    return text;
}

bool program_write(const char *path, const void *data, size_t bytes)
{
    FILE *const out = fopen(path, "wb");
    const bool ok = out && fwrite(data, 1, bytes, out) == bytes;
    return out && fclose(out) == 0 && ok;
}

// ---- Processes ----------------------------------------------------------------------------------

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// In a process group of its own, so that nothing of it is left behind.
program_ending program_run(char *const *words, bool in_folder, const char *log, double limit,
                           const volatile int *stop, int *code)
{
    const pid_t parent = getpid(), child = fork();
    if (child < 0) {
        *code = errno;
        return PROGRAM_NOT_STARTED;
    }
    if (child == 0) {
        const struct rlimit none = {0, 0};
        const int nothing = open("/dev/null", O_RDWR);
        const int said = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        setpgid(0, 0);
        setrlimit(RLIMIT_CORE, &none);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || nothing < 0 || said < 0 || dup2(nothing, 0) < 0 ||
            dup2(nothing, 1) < 0 || dup2(said, 2) < 0 || (in_folder && chdir(folder) != 0))
            _exit(126);
        execvpe(words[0], words, surroundings ? surroundings : environ);
        _exit(127);
    }
    setpgid(child, child); // whoever comes first
    const double end = now() + limit;
    program_ending how = PROGRAM_ENDED;
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        const struct timespec pause = {0, 2000000};
        if (how == PROGRAM_ENDED && (*stop || now() > end)) {
            how = *stop ? PROGRAM_STOPPED : PROGRAM_TOO_LONG;
            kill(-child, SIGKILL);
        }
        nanosleep(&pause, NULL);
    }
    kill(-child, SIGKILL); // what it may have started
    *code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return how == PROGRAM_ENDED && *stop                 ? PROGRAM_STOPPED
           : how == PROGRAM_ENDED && WIFSIGNALED(status) ? PROGRAM_DIED
                                                         : how;
}

// Splits at spaces; the words point into text.
static int split(char *text, char **words, int most)
{
    int count = 0;
    char *state = NULL;
    for (char *word = strtok_r(text, " ", &state); word && count < most;
         word = strtok_r(NULL, " ", &state))
        words[count++] = word;
    return count;
}

bool tune_counter_open(char *message, size_t size)
{
    static const volatile int stop;
    static char words[4096];
    const char *const given = getenv("CXX");
    snprintf(words, sizeof(words), "%s", given && *given ? given : "g++");
    compiler[split(words, compiler, 8)] = NULL;
    if (!compiler[0]) {
        snprintf(message, size, "CXX is blank: set it to g++, or leave it unset");
        return false;
    }
    char *version[16] = {0};
    int code, count = 0;
    for (; compiler[count]; count++)
        version[count] = compiler[count];
    version[count] = "--version";
    const program_ending how = program_run(version, false, "/dev/null", compile_s, &stop, &code);
    if (how != PROGRAM_ENDED || code != 0) {
        snprintf(message, size,
                 "%s, which makes the programs that count, %s; install g++ 12 or later "
                 "(apt install g++), or name one with CXX",
                 compiler[0], code == 127 ? "was not found" : "does not run");
        compiler[0] = NULL;
        return false;
    }
    return true;
}

// ---- Building -----------------------------------------------------------------------------------

void program_error(const char *log, char *to, size_t size)
{
    size_t bytes;
    char *const text = program_read(log, &bytes);
    const char *line = text ? strstr(text, "undefined reference") : NULL; // the linker's
    if (!line && text)
        line = strstr(text, "rror:"); // the assembler's begins with an E
    if (line && !strncmp(line, "rror: ld returned", 17))
        line = text; // the linker has said why before
    if (!line)
        line = text && *text ? text : "it gave no reason";
    while (line != text && text && line > text && line[-1] != '\n')
        line--;
    snprintf(to, size, "%.*s", (int)strcspn(line, "\n"), line);
    free(text);
}

// Runs g++. false: *why is its first error; empty when it was stopped.
static bool compile(char *const *words, const char *log, const volatile int *stop, char *why,
                    size_t size)
{
    char error[400];
    int code;
    const program_ending how = program_run(words, false, log, compile_s, stop, &code);
    *why = 0;
    if (how == PROGRAM_ENDED && code == 0)
        return true;
    if (how == PROGRAM_TOO_LONG)
        snprintf(why, size, "not counted: g++ took more than %g s", compile_s);
    else if (how == PROGRAM_NOT_STARTED)
        snprintf(why, size, "not counted: g++ could not be started: %s", strerror(code));
    else if (how == PROGRAM_DIED)
        snprintf(why, size, "not counted: g++ was ended by signal %d (%s)", code, strsignal(code));
    else if (how == PROGRAM_ENDED) {
        program_error(log, error, sizeof(error));
        snprintf(why, size, "not counted: g++: %s", error);
    }
    return false;
}

static int begin_command(char **words)
{
    int count = 0;
    for (; compiler[count]; count++)
        words[count] = compiler[count];
    return count;
}

static bool build_simt(const volatile int *stop, char *why, size_t size)
{
    char source[PATH], object[PATH], log[PATH];
    char *words[WORDS] = {0};
    program_path(object, "simt.o");
    program_path(log, "simt.log");
    if (access(object, R_OK) == 0)
        return true;
    if (snprintf(source, sizeof(source), "%s/simt/simt.c", tune_include_dir) >=
        (int)sizeof(source)) {
        snprintf(why, size, "not counted: the path of simt is too long");
        return false;
    }
    // -x c: there need not be a gcc beside the g++ that was asked for.
    static const char *const flags[] = {"-x", "c", "-O2", "-g", "-gdwarf-4", "-c"};
    int count = begin_command(words);
    for (size_t f = 0; f < sizeof(flags) / sizeof(*flags); f++)
        words[count++] = (char *)flags[f];
    words[count++] = source;
    words[count++] = "-o";
    words[count++] = object;
    const bool ok = compile(words, log, stop, why, size);
    if (!ok)
        unlink(object);
    return ok;
}

// What compiles a unit: g++, with simt's flags and those of the user's that it has too.
static char *unit_command[WORDS];
static int unit_words;

static bool prepare_command(void)
{
    // docs/simt.md says what each is for. -g1 has the lines, and nobody debugs this program.
    static const char *const flags[] = {"-std=gnu++17",
                                        "-O1",
                                        "-g1",
                                        "-gdwarf-4",
                                        "-w",
                                        "-fsanitize=thread,bounds,alignment",
                                        "--param=tsan-instrument-func-entry-exit=0",
                                        "--param=tsan-distinguish-volatile=1",
                                        "-fsanitize-coverage=trace-pc",
                                        "-fno-thread-jumps",
                                        "-fno-tree-sra",
                                        "-Dcoarsen_shared=simt_dynamic_shared",
                                        "-c"};
    static char include[3][sizeof(tune_include_dir) + 16];
    static char map[PATH + 32]; // so that a report's places are from here on
    static char *text;
    char here[PATH], *given[WORDS / 2];
    snprintf(include[0], sizeof(include[0]), "-I%s/simt", tune_include_dir);
    snprintf(include[1], sizeof(include[1]), "-I%s", tune_include_dir);
    snprintf(include[2], sizeof(include[2]), "-I%s", tune_unit_dir);

    int count = begin_command(unit_command);
    for (size_t f = 0; f < sizeof(flags) / sizeof(*flags); f++)
        unit_command[count++] = (char *)flags[f];
    for (int i = 0; i < 3; i++)
        unit_command[count++] = include[i];
    if (getcwd(here, sizeof(here))) {
        snprintf(map, sizeof(map), "-fdebug-prefix-map=%s=.", here);
        unit_command[count++] = map;
    }
    free(text);
    text = strdup(tune_flags);
    const int flags_given = text ? split(text, given, WORDS / 2) : 0;
    for (int f = 0; f < flags_given; f++)
        if (!strncmp(given[f], "-D", 2) || !strncmp(given[f], "-U", 2) ||
            !strncmp(given[f], "-I", 2)) {
            unit_command[count++] = given[f];
            if (!given[f][2] && f + 1 < flags_given)
                unit_command[count++] = given[++f];
        }
    unit_words = count;
    return text;
}

// What every unit begins with, which is half of g++'s work. Where that fails, each does it all.
static void precompile(const volatile int *stop)
{
    char source[sizeof(tune_unit_dir) + 16], object[PATH], log[PATH], why[512];
    char *words[WORDS + 8] = {0};
    program_path(object, "launches.h.gch"); // where a unit's #include looks first
    program_path(log, "launches.log");
    snprintf(source, sizeof(source), "%s/launches.h", tune_unit_dir);
    memcpy(words, unit_command, sizeof(*words) * (size_t)unit_words);
    memcpy(words + unit_words, (char *const[]){"-x", "c++-header", source, "-o", object},
           5 * sizeof(*words));
    if (!compile(words, log, stop, why, sizeof(why)))
        unlink(object);
}

bool program_build(const tune_problem *problem, const char *unit, const tune_setting *setting,
                   const char *name, const volatile int *stop, char *why, size_t size)
{
    char source[PATH], object[PATH], program[PATH], log[PATH], simt[PATH], knobs[TUNE_KNOBS][96];
    char *words[WORDS + TUNE_KNOBS + 8] = {0};
    program_path(source, "%s", unit);
    program_path(object, "%s.o", name);
    program_path(program, "%s", name);
    program_path(log, "%s.log", name);
    program_path(simt, "simt.o");

    int count = unit_words;
    memcpy(words, unit_command, sizeof(*words) * (size_t)count);
    for (int k = 0; setting && k < problem->knobs; k++) {
        snprintf(knobs[k], sizeof(knobs[k]), "-DTUNE_KNOB_%d=%ld", k, setting->value[k]); // unit.c
        words[count++] = knobs[k];
    }
    memcpy(words + count, (char *const[]){source, "-o", object}, 3 * sizeof(*words));
    bool ok = compile(words, log, stop, why, size);
    if (ok) {
        memset(words, 0, sizeof(words));
        memcpy(words + begin_command(words),
               (char *const[]){object, simt, "-o", program, "-lpthread", "-ldl"},
               6 * sizeof(*words));
        ok = compile(words, log, stop, why, size);
    }
    unlink(object);
    return ok;
}

bool program_begin(const volatile int *stop, char *why, size_t size)
{
    char message[400];
    if (!compiler[0]) {
        snprintf(why, size, "not counted: no compiler for the CPU device was found");
        return false;
    }
    program_end();
    if (!make_folder(message, sizeof(message))) {
        snprintf(why, size, "not counted: %s", message);
        return false;
    }
    if (!prepare_command()) {
        snprintf(why, size, "not counted: out of memory");
        return false;
    }
    if (!build_simt(stop, why, size))
        return false;
    precompile(stop);
    return true;
}
