// SPDX-License-Identifier: MIT
//
// The result, for other programs: CSV, the T4 format, and a header of defaults. Each is made in
// memory, written to a file beside its own, and renamed, so that a failure leaves what was there.

#include "tune.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *const tune_status_name[TUNE_STATUSES] = {
    [TUNE_PENDING] = "pending",
    [TUNE_OK] = "ok",
    [TUNE_NOT_COMPILED] = "not compiled",
    [TUNE_NOT_LAUNCHED] = "not launched",
    [TUNE_WRONG] = "wrong",
    [TUNE_TIMEOUT] = "timed out",
    [TUNE_CRASHED] = "crashed",
};

// ---- Files --------------------------------------------------------------------------------------

static bool write_all(int file, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(file, text, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        text += written;
        bytes -= (size_t)written;
    }
    return true;
}

// Into path, which may be a link, a pipe, a device, or where the table goes, as /dev/stdout: then it
// comes after that.
static bool replace(const char *path, const char *text, size_t bytes, char *message, size_t size)
{
    struct stat old, out;
    const bool exists = stat(path, &old) == 0, regular = exists && S_ISREG(old.st_mode);
    char *const real = regular ? realpath(path, NULL) : strdup(path);
    char *temporary = NULL;
    int file = -1;
    bool ok = real != NULL;
    if (ok && exists && fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == old.st_dev &&
        out.st_ino == old.st_ino) {
        ok = fflush(stdout) == 0 && write_all(STDOUT_FILENO, text, bytes);
    } else if (ok && exists && !regular) {
        ok = (file = open(path, O_WRONLY | O_CLOEXEC)) >= 0 && write_all(file, text, bytes);
        if (file >= 0 && close(file) != 0)
            ok = false;
    } else if (ok) {
        if (asprintf(&temporary, "%s.%ld.tmp", real, (long)getpid()) < 0)
            temporary = NULL;
        ok = temporary &&
             (file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) >= 0;
        if (ok) {
            ok = (!exists || fchmod(file, old.st_mode & 0777) == 0) &&
                 write_all(file, text, bytes) && fsync(file) == 0;
            int problem = errno;
            if (close(file) != 0 && ok) {
                ok = false;
                problem = errno;
            }
            if (ok && rename(temporary, real) != 0) {
                ok = false;
                problem = errno;
            }
            if (!ok)
                unlink(temporary);
            errno = problem;
        }
    }
    if (!ok)
        tune_fail(message, size, "%s cannot be written: %s; %s: give another file", path,
                  strerror(errno), exists ? "what was there is as it was" : "nothing was written");
    free(temporary);
    free(real);
    return ok;
}

// Ends what open_memstream began, and writes it.
static bool finish(FILE *out, char **text, const size_t *bytes, const char *path, char *message,
                   size_t size)
{
    bool ok = !ferror(out);
    ok = fclose(out) == 0 && ok;
    if (!ok)
        tune_fail(message, size, "%s cannot be written: out of memory", path);
    ok = ok && replace(path, *text, *bytes, message, size);
    free(*text);
    return ok;
}

// ---- What is known ------------------------------------------------------------------------------

// Of the whole: where its figures come from, a line each.
enum { NOTES = 16 };
typedef struct {
    char name[16], text[8192];
} note;

__attribute__((format(printf, 3, 4))) static void add_note(note **next, const char *name,
                                                           const char *format, ...)
{
    note *const new = (*next)++;
    va_list args;
    va_start(args, format);
    vsnprintf(new->text, sizeof(new->text), format, args);
    va_end(args);
    snprintf(new->name, sizeof(new->name), "%s", name);
    for (char *c = new->text; *c; c++) // one line, whatever was typed
        if (iscntrl((unsigned char)*c))
            *c = ' ';
}

static int notes_of(const tune_result *result, note notes[NOTES])
{
    const tune_problem *const problem = result->problem;
    note *next = notes;
    add_note(&next, "result", "%s%s", result->predicted ? "predicted" : "measured",
             result->interrupted ? ", interrupted" : "");
    add_note(&next, "device", "%s", result->device->name);
    add_note(&next, "sm", "%d", result->device->sm);
    if (result->driver > 0)
        add_note(&next, "driver", "%d.%d", result->driver / 1000, result->driver % 1000 / 10);
    if (result->toolkit > 0)
        add_note(&next, "toolkit", "%d.%d", result->toolkit / 1000, result->toolkit % 1000 / 10);

    char sizes[512] = "";
    for (int s = 0; s < problem->sizes; s++)
        snprintf(sizes + strlen(sizes), sizeof(sizes) - strlen(sizes), ", %s = %llu",
                 problem->size[s].name, (unsigned long long)problem->size[s].value);
    add_note(&next, "problem", "%s%s%s%s%s%s", problem->pattern, *problem->type ? " " : "",
             problem->type, *problem->label ? ", " : "", problem->label, sizes);
    if (problem->bytes > 0)
        add_note(&next, "bytes", "%.0f", problem->bytes);
    if (problem->flop > 0)
        add_note(&next, "flop", "%.0f", problem->flop);
    add_note(&next, "search", "%s", result->search ? result->search : "");
    add_note(&next, "command", "%s", result->command ? result->command : "");
    if (result->flags && *result->flags)
        add_note(&next, "flags", "%s", result->flags);

    const time_t now = time(NULL);
    struct tm utc;
    char date[32];
    if (gmtime_r(&now, &utc) && strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        add_note(&next, "date", "%s", date);
    return (int)(next - notes);
}

// Of a row: a name, a unit and a number or a text. NAN: not known.
enum { FACTS = 64 };
typedef struct {
    char name[40];
    const char *unit, *text;
    double value;
} fact;

static double product(const unsigned int of[3])
{
    return (double)of[0] * of[1] * of[2];
}

static double gbps(const tune_problem *problem, double us)
{
    return problem->bytes > 0 && us > 0 ? problem->bytes / us / 1e3 : NAN;
}

static int facts_of(const tune_result *result, const tune_row *row, fact facts[FACTS])
{
    const tune_launch *const launch = tune_main_launch(row);
    const tune_kernel *const kernel = tune_main_kernel(row);
    const tune_prediction *const predicted = row->counted ? &row->predicted : NULL;
    const tune_device *const device = result->device;
    const double blocks = launch ? product(launch->grid) : 0;
    const double threads = launch ? product(launch->block) : 0;
    const double resident = launch ? launch->resident : 0;
    tune_counts sum = {};
    for (int l = 0; l < row->launches; l++) {
        const tune_counts *const counts = &row->launch[l].counts;
        sum.global_requests += counts->global_requests;
        sum.global_sectors += counts->global_sectors;
        sum.global_bytes += counts->global_bytes;
        sum.shared_wavefronts += counts->shared_wavefronts;
        sum.shared_conflicts += counts->shared_conflicts;
        sum.atomics_global += counts->atomics_global;
        sum.atomics_shared += counts->atomics_shared;
        sum.barriers += counts->barriers;
        sum.active_lanes += counts->active_lanes;
        sum.lane_slots += counts->lane_slots;
    }

    int count = 0;
    fact *last;
#define FACT(fact_name, fact_unit, known, fact_value)                                              \
    last = facts + count++;                                                                        \
    snprintf(last->name, sizeof(last->name), "%s", fact_name);                                     \
    last->unit = fact_unit;                                                                        \
    last->text = NULL;                                                                             \
    last->value = (known) ? (double)(fact_value) : NAN
    FACT("measured_us", "us", row->timed, row->us);
    FACT("least_us", "us", row->timed, row->least);
    FACT("spread", "", row->timed, row->spread);
    FACT("samples", "", row->timed, row->samples);
    FACT("GBps", "GB/s", row->timed, gbps(result->problem, row->us));
    FACT("predicted_us", "us", predicted, predicted->us);
    for (int t = 0; t < TUNE_TERMS; t++) {
        FACT("", "us", predicted, predicted->term[t]);
        snprintf(last->name, sizeof(last->name), "%s_us", tune_term_name[t]);
    }
    FACT("bound", "", false, 0);
    last->text = predicted ? tune_term_name[predicted->bound] : NULL;
    FACT("registers", "", kernel, kernel->registers);
    FACT("static_shared", "bytes", kernel, kernel->static_shared);
    FACT("dynamic_shared", "bytes", launch, launch->shared_bytes);
    FACT("spill_bytes", "bytes", kernel, kernel->spill_stores + kernel->spill_loads);
    FACT("occupancy", "", predicted || launch,
         predicted ? predicted->occupancy : resident * threads / device->threads_per_processor);
    FACT("waves", "", predicted || launch,
         predicted ? predicted->waves : blocks / (resident * device->processors));
    FACT("busy", "", predicted, predicted->busy);
    FACT("inflight", "bytes", predicted, predicted->inflight);
    FACT("needed", "bytes", predicted, predicted->needed);
    FACT("blocks", "", launch, blocks);
    FACT("threads", "", launch, threads);
    FACT("global_requests", "", row->counted, sum.global_requests);
    FACT("global_sectors", "", row->counted, sum.global_sectors);
    FACT("global_bytes", "bytes", row->counted, sum.global_bytes);
    FACT("shared_wavefronts", "", row->counted, sum.shared_wavefronts);
    FACT("shared_conflicts", "", row->counted, sum.shared_conflicts);
    FACT("atomics_global", "", row->counted, sum.atomics_global);
    FACT("atomics_shared", "", row->counted, sum.atomics_shared);
    FACT("barriers", "", row->counted, sum.barriers);
    FACT("active_lanes", "", row->counted && sum.lane_slots > 0, sum.active_lanes / sum.lane_slots);
    return count;
#undef FACT
}

// The length of the UTF-8 character that text begins with; 0: none. A message that was cut short
// may end in a part of one.
static int utf8(const char *text)
{
    const unsigned char *const c = (const unsigned char *)text;
    const int length = *c < 0x80   ? 1
                       : *c < 0xc2 ? 0
                       : *c < 0xe0 ? 2
                       : *c < 0xf0 ? 3
                       : *c < 0xf5 ? 4
                                   : 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    if ((*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f) || (*c == 0xf0 && c[1] < 0x90) ||
        (*c == 0xf4 && c[1] > 0x8f))
        return 0; // too long a form, half of a pair, beyond the last
    return length;
}

// Puts the first character of text, and says how many bytes it took.
static int put_character(FILE *out, const char *text)
{
    const int length = utf8(text);
    fprintf(out, "%.*s", length > 0 ? length : 3, length > 0 ? text : "\xef\xbf\xbd"); // U+FFFD
    return length > 0 ? length : 1;
}

static void print_number(FILE *out, double value)
{
    const bool whole = value == floor(value) && fabs(value) < 1e15;
    fprintf(out, whole ? "%.0f" : "%.7g", value);
}

// ---- CSV ----------------------------------------------------------------------------------------

static void csv_text(FILE *out, const char *text)
{
    const bool quote = strpbrk(text, ",\"\r\n") != NULL;
    if (quote)
        putc('"', out);
    while (*text) {
        if (*text == '"')
            putc('"', out);
        text += put_character(out, text);
    }
    if (quote)
        putc('"', out);
}

bool tune_write_csv(const tune_result *result, const char *path, char *message, size_t size)
{
    const tune_problem *const problem = result->problem;
    char *text = NULL;
    size_t bytes;
    FILE *const out = open_memstream(&text, &bytes);
    if (!out)
        return tune_fail(message, size, "%s cannot be written: out of memory", path);

    note notes[NOTES];
    const int noted = notes_of(result, notes);
    for (int i = 0; i < noted; i++)
        fprintf(out, "# %s: %s\n", notes[i].name, notes[i].text);

    static const tune_row none;
    fact facts[FACTS];
    int count = facts_of(result, &none, facts);
    for (int k = 0; k < problem->knobs; k++)
        fprintf(out, "%s,", problem->knob[k].name);
    fputs("status,reason", out);
    for (int f = 0; f < count; f++)
        fprintf(out, ",%s", facts[f].name);
    fputs(",chosen,tie,default\n", out);

    for (size_t i = 0; i < result->count; i++) {
        const tune_row *const row = result->rows + i;
        for (int k = 0; k < problem->knobs; k++)
            fprintf(out, "%ld,", row->setting.value[k]);
        fprintf(out, "%s,", tune_status_name[row->status]);
        csv_text(out, row->reason);
        count = facts_of(result, row, facts);
        for (int f = 0; f < count; f++) {
            putc(',', out);
            if (facts[f].text)
                csv_text(out, facts[f].text);
            else if (isfinite(facts[f].value))
                print_number(out, facts[f].value);
        }
        const bool chosen = result->best >= 0 && (size_t)result->best == i;
        const bool standard = tune_is_standard(result->problem, &row->setting);
        fprintf(out, ",%d,%d,%d\n", chosen, result->tie && result->tie[i], standard);
    }
    return finish(out, &text, &bytes, path, message, size);
}

// ---- T4 -----------------------------------------------------------------------------------------

static void json_text(FILE *out, const char *text)
{
    putc('"', out);
    while (*text) {
        if ((unsigned char)*text < ' ') {
            fprintf(out, "\\u%04x", (unsigned int)*text++);
        } else {
            if (*text == '"' || *text == '\\')
                putc('\\', out);
            text += put_character(out, text);
        }
    }
    putc('"', out);
}

static void json_measurement(FILE *out, bool first, const char *name, const char *unit,
                             const char *text, double value)
{
    fprintf(out, "%s\n       {\"name\": ", first ? "" : ",");
    json_text(out, name);
    fputs(", \"value\": ", out);
    if (text)
        json_text(out, text);
    else
        print_number(out, value);
    fputs(", \"unit\": ", out);
    json_text(out, unit);
    putc('}', out);
}

// In T4's words, and in Kernel Tuner's, whose tools look for them in place of a failed setting's
// time.
static const char *const invalidity[][2] = {
    [TUNE_PENDING] = {"", ""},
    [TUNE_OK] = {"correct", ""},
    [TUNE_NOT_COMPILED] = {"compile", "CompilationFailedConfig"},
    [TUNE_NOT_LAUNCHED] = {"runtime", "RuntimeFailedConfig"},
    [TUNE_WRONG] = {"correctness", "RuntimeFailedConfig"},
    [TUNE_TIMEOUT] = {"timeout", "RuntimeFailedConfig"},
    [TUNE_CRASHED] = {"runtime", "RuntimeFailedConfig"},
};

static void json_row(FILE *out, const tune_result *result, const tune_row *row)
{
    const tune_problem *const problem = result->problem;
    const char *const objective = result->predicted ? "predicted_us" : "time";
    fputs("{\"configuration\": {", out);
    for (int k = 0; k < problem->knobs; k++) {
        fputs(k > 0 ? ", " : "", out);
        json_text(out, problem->knob[k].name);
        fprintf(out, ": %ld", row->setting.value[k]);
    }
    fprintf(out,
            "},\n     \"objectives\": [\"%s\"],\n     \"times\": {\"compilation\": ", objective);
    print_number(out, isfinite(row->compile_ms) ? row->compile_ms : 0);
    fputs(", \"runtimes\": [", out); // of the samples, the median is kept
    if (row->timed && isfinite(row->us))
        print_number(out, row->us / 1e3);
    fprintf(out, "]},\n     \"invalidity\": \"%s\", \"correctness\": %d,\n     \"measurements\": [",
            invalidity[row->status][0], row->status == TUNE_OK);
    bool first = true;
    if (row->status != TUNE_OK) {
        json_measurement(out, true, objective, "", invalidity[row->status][1], 0);
        json_measurement(out, false, "reason", "", row->reason, 0);
        first = false;
    } else if (!result->predicted) {
        json_measurement(out, true, "time", "ms", NULL, row->us / 1e3);
        first = false;
    }
    fact facts[FACTS];
    const int count = facts_of(result, row, facts);
    for (int f = 0; f < count; f++) {
        const bool taken = row->status != TUNE_OK && strcmp(facts[f].name, objective) == 0;
        if (!taken && (facts[f].text || isfinite(facts[f].value))) {
            json_measurement(out, first, facts[f].name, facts[f].unit, facts[f].text,
                             facts[f].value);
            first = false;
        }
    }
    fputs("]}", out);
}

bool tune_write_json(const tune_result *result, const char *path, char *message, size_t size)
{
    char *text = NULL;
    size_t bytes;
    FILE *const out = open_memstream(&text, &bytes);
    if (!out)
        return tune_fail(message, size, "%s cannot be written: out of memory", path);

    fputs("{\"schema_version\": \"1.0.0\",\n \"metadata\": {\"timeunit\": \"milliseconds\"", out);
    note notes[NOTES];
    const int noted = notes_of(result, notes);
    for (int i = 0; i < noted; i++) {
        fprintf(out, ",\n  \"%s\": ", notes[i].name);
        json_text(out, notes[i].text);
    }
    fputs("},\n \"results\": [", out);
    bool first = true;
    for (size_t i = 0; i < result->count; i++) {
        const tune_row *const row = result->rows + i;
        const bool value = result->predicted ? row->counted && isfinite(row->predicted.us)
                                             : row->timed && isfinite(row->us);
        if (row->status == TUNE_PENDING || (row->status == TUNE_OK && !value))
            continue; // no result: it was not come to
        fputs(first ? "\n    " : ",\n    ", out);
        json_row(out, result, row);
        first = false;
    }
    fputs("]}\n", out);
    return finish(out, &text, &bytes, path, message, size);
}

// ---- The header ---------------------------------------------------------------------------------

// What the file begins with, by which it is known again.
static const char OURS[] = "// Defaults for coarsen's headers, found by coarsen-tune.\n";

static const char PREAMBLE[] =
    "//\n"
    "// Include it before them. A knob that you define before an inclusion still wins, and so does "
    "a\n"
    "// default that you define before this file or by -D. The defaults are those of the lowest "
    "SM\n"
    "// compiled for. Where the compiler does not say which that is (g++ with simt, older clang), "
    "or to\n"
    "// have those of another, define COARSEN_SM: 90 for sm_90. For an SM with no section here "
    "the\n"
    "// headers' own hold. coarsen-tune --header replaces a section whole and leaves the others.\n"
    "\n"
    "#ifndef COARSEN_SM\n"
    "#ifdef __CUDA_ARCH_LIST__ // the same for the host and all devices, and in ascending order\n"
    "#define COARSEN_SM_FIRST(first, ...) ((first) / 10)\n"
    "#define COARSEN_SM_LOWEST(...)       COARSEN_SM_FIRST(__VA_ARGS__, 0)\n"
    "#define COARSEN_SM                   COARSEN_SM_LOWEST(__CUDA_ARCH_LIST__)\n"
    "#else\n"
    "#define COARSEN_SM 0\n"
    "#endif\n"
    "#endif\n";

// What is in the file; "" when it is not there yet, or is no place to read from.
static char *read_text(const char *path, char *message, size_t size)
{
    struct stat found;
    if (stat(path, &found) != 0 || S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode))
        return strdup("");
    FILE *const in = fopen(path, "r");
    char *text = NULL;
    size_t bytes = 0;
    errno = 0;
    const ssize_t length = in ? getdelim(&text, &bytes, '\0', in) : -1;
    bool ok = in && !ferror(in);
    if (!ok) {
        tune_fail(message, size, "%s cannot be read: %s; give --header another file", path,
                  strerror(errno));
    } else if (length > 0 && text[length - 1] == '\0') {
        ok = tune_fail(message, size,
                       "%s is left as it is: it is not a text; give --header another file", path);
    } else if (length < 0) {
        free(text);
        text = strdup("");
    }
    if (in)
        fclose(in);
    if (!ok)
        free(text);
    return ok ? text : NULL;
}

static void write_section(FILE *out, const tune_result *result, const char *title)
{
    const tune_problem *const problem = result->problem;
    const tune_row *const best = result->rows + result->best;
    char prefix[64] = "";
    for (size_t i = 0; problem->pattern[i] && i + 1 < sizeof(prefix); i++)
        prefix[i] = (char)toupper((unsigned char)problem->pattern[i]);

    fprintf(out, "%s", title);
    for (size_t i = strlen(title); i < 100; i++)
        putc('-', out);
    fputs("\n//\n", out);
    note notes[NOTES];
    const int noted = notes_of(result, notes);
    for (int i = 0; i < noted;
         i++) { // a line may not end in a backslash: the next one would join it
        const char *const text = notes[i].text;
        size_t length = strlen(text);
        while (length > 0 && text[length - 1] == ' ')
            length--;
        fprintf(out, "// %-8s %.*s%s\n", notes[i].name, (int)length, text,
                length > 0 && text[length - 1] == '\\' ? " ." : "");
    }
    const double us = result->predicted ? best->predicted.us : best->us;
    fprintf(out, "// %-8s %.4g us", "time", us);
    if (isfinite(gbps(problem, us)))
        fprintf(out, ", %.4g GB/s", gbps(problem, us));
    for (size_t i = 0; i < result->count; i++) {
        const tune_row *const row = result->rows + i;
        const bool known =
            row->status == TUNE_OK && (result->predicted ? row->counted : row->timed);
        if (known && tune_is_standard(problem, &row->setting)) {
            fprintf(out, "; the header's own default: %.4g us",
                    result->predicted ? row->predicted.us : row->us);
            break;
        }
    }
    fprintf(out, "\n\n#if COARSEN_SM == %d\n", result->device->sm);
    for (int k = 0; k < problem->knobs; k++) {
        const char *const knob = problem->knob[k].name;
        const char *const name = strncmp(knob, "COARSEN_", 8) == 0 ? knob + 8 : knob;
        fprintf(out, "#ifndef COARSEN_%s_%s\n#define COARSEN_%s_%s ", prefix, name, prefix, name);
        // The widths that matmul/pipelined.h measures in bytes, so that they fit other types.
        if (strcmp(problem->pattern, "matmul") == 0 &&
            (strcmp(knob, "BN") == 0 || strcmp(knob, "TN") == 0))
            fprintf(out, "(%ld / sizeof(COARSEN_TYPE))\n",
                    best->setting.value[k] * (strcmp(problem->type, "f64") == 0 ? 8 : 4));
        else
            fprintf(out, "%ld\n", best->setting.value[k]);
        fputs("#endif\n", out);
    }
    fputs("#endif\n", out);
}

static const char BANNER[] = "\n// ---- ";

// Whether the section of that title is there, and says so.
static bool was_measured(const char *header, const char *title)
{
    const char *section = strstr(header, title);
    while (section && section != header && section[-1] != '\n')
        section = strstr(section + 1, title);
    const char *const end = section ? strstr(section, BANNER) : NULL;
    const char *const said = section ? strstr(section, "\n// result   measured") : NULL;
    return said && (!end || said < end);
}

static bool write_header(const tune_result *result, const char *path, char *message, size_t size)
{
    if (!result->problem->shipped)
        return tune_fail(
            message, size,
            "%s is not written: %s is not one of coarsen's patterns, whose headers have "
            "defaults to set; leave out --header",
            path, result->problem->pattern);
    if (result->best < 0)
        return tune_fail(
            message, size,
            "%s is not written: no setting was found to be good, so there is no default "
            "to set; the reasons are in the table",
            path);
    if (result->interrupted)
        return tune_fail(
            message, size,
            "%s is left as it is: the run was interrupted, so that its choice is not of "
            "all settings; run it again to the end",
            path);
    char *const old = read_text(path, message, size);
    if (!old)
        return false;
    if (*old && strncmp(old, OURS, strlen(OURS)) != 0) {
        free(old);
        return tune_fail(
            message, size,
            "%s is left as it is: its first line is not that of a header that coarsen-tune "
            "wrote; give --header another file",
            path);
    }

    char title[128];
    snprintf(title, sizeof(title), "// ---- %s, sm_%d ", result->problem->pattern,
             result->device->sm);
    if (result->predicted && was_measured(old, title)) {
        free(old);
        return tune_fail(message, size,
                         "%s is left as it is: its section \"%s, sm_%d\" was measured, and this is "
                         "predicted; give --header another file, or remove that section",
                         path, result->problem->pattern, result->device->sm);
    }

    char *text = NULL;
    size_t bytes;
    FILE *const out = open_memstream(&text, &bytes);
    if (!out) {
        free(old);
        return tune_fail(message, size, "%s cannot be written: out of memory", path);
    }
    if (!*old)
        fprintf(out, "%s%s", OURS, PREAMBLE);
    bool written = false;
    for (const char *part = old; *part;) { // the preamble, then a section each
        const char *end = strstr(part, BANNER);
        end = end ? end + 1 : part + strlen(part);
        if (strncmp(part, title, strlen(title)) != 0) {
            fprintf(out, "%.*s", (int)(end - part), part);
        } else if (!written) {
            write_section(out, result, title);
            fputs(*end ? "\n" : "", out);
            written = true;
        }
        part = end;
    }
    if (!written) {
        const size_t length = strlen(old);
        fputs(length > 0 && old[length - 1] != '\n' ? "\n\n" : "\n", out);
        write_section(out, result, title);
    }
    free(old);
    return finish(out, &text, &bytes, path, message, size);
}

bool tune_write_header(const tune_result *result, const char *path, char *message, size_t size)
{
    // One at a time, so that no other's section is lost. The file is replaced, so its folder is what
    // can be locked; where that can't, we go on without.
    char *const whole = strdup(path);
    const int folder = whole ? open(dirname(whole), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder >= 0)
        flock(folder, LOCK_EX);
    const bool ok = write_header(result, path, message, size);
    if (folder >= 0)
        close(folder);
    free(whole);
    return ok;
}
