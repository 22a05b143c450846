// SPDX-License-Identifier: MIT
//
// What the terminal is told: the progress, and the table.

#include "tune.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

// ---- Progress -----------------------------------------------------------------------------------

static int bar_length; // of what stands on the terminal's last line; 0: nothing

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Where stderr is no terminal, a line every ten seconds.
void tune_progress(const char *what, size_t done, size_t of, const char *best)
{
    static double last;
    char line[512], bar[21];
    const bool any = best && *best;
    if (!isatty(STDERR_FILENO)) {
        if (last == 0)
            last = now();
        if (now() - last < 10)
            return;
        last = now();
        fprintf(stderr, "%s: %zu of %zu%s%s\n", what, done, of, any ? "; best so far: " : "",
                any ? best : "");
        return;
    }
    const size_t full = of == 0 ? 20 : done >= of ? 20 : 20 * done / of;
    for (size_t i = 0; i < 20; i++)
        bar[i] = i < full ? '#' : '.';
    bar[20] = '\0';
    struct winsize window = {0};
    ioctl(STDERR_FILENO, TIOCGWINSZ, &window);
    const int width = window.ws_col > 1 ? window.ws_col - 1 : 79; // the last one would wrap
    int length = snprintf(line, sizeof(line), "%s [%s] %zu of %zu%s%s", what, bar, done, of,
                          any ? "  best: " : "", any ? best : "");
    length = length < width ? length : width;
    length = length < (int)sizeof(line) ? length : (int)sizeof(line) - 1;
    // Spaces over what is left of a longer line: they work on every terminal.
    fprintf(stderr, "\r%.*s%*s", length, line, bar_length > length ? bar_length - length : 0, "");
    fflush(stderr);
    bar_length = length;
}

void tune_progress_end(void)
{
    if (bar_length > 0)
        fprintf(stderr, "\r%*s\r", bar_length, "");
    bar_length = 0;
}

// ---- What a row says ----------------------------------------------------------------------------

static bool shown(const tune_result *result, const tune_row *row)
{
    return row->status == TUNE_OK && (result->predicted ? row->counted : row->timed);
}

static bool failed(const tune_row *row)
{
    return row->status != TUNE_OK && row->status != TUNE_PENDING;
}

static double us_of(const tune_result *result, const tune_row *row)
{
    return result->predicted ? row->predicted.us : row->us;
}

const tune_launch *tune_main_launch(const tune_row *row)
{
    const tune_launch *most = NULL;
    double threads = 0;
    for (int i = 0; i < row->launches && i < TUNE_LAUNCHES; i++) {
        const tune_launch *const l = &row->launch[i];
        const double these =
            (double)l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] * l->block[2];
        if (*l->kernel && these > threads) {
            most = l;
            threads = these;
        }
    }
    return most;
}

const tune_kernel *tune_main_kernel(const tune_row *row)
{
    const tune_launch *const launch = tune_main_launch(row);
    const tune_kernel *most = NULL;
    for (int i = 0; i < row->kernels && i < TUNE_KERNELS; i++) {
        const tune_kernel *const k = &row->kernel[i];
        const bool ours = strncmp(k->name, "tune_", 5) == 0; // of unit/
        if (launch ? strcmp(k->name, launch->kernel) == 0
                   : !ours && (!most || k->registers > most->registers))
            most = k;
    }
    return most;
}

static const char *status_name(tune_status status)
{
    switch (status) {
    case TUNE_PENDING:
        return "not tried";
    case TUNE_OK:
        return "ok";
    case TUNE_NOT_COMPILED:
        return "does not compile";
    case TUNE_NOT_LAUNCHED:
        return "does not launch";
    case TUNE_WRONG:
        return "wrong result";
    case TUNE_TIMEOUT:
        return "does not end in time";
    case TUNE_CRASHED:
        return "crashes";
    }
    return "?";
}

// ---- Columns ------------------------------------------------------------------------------------

typedef enum {
    MARK,
    KNOB,
    US,
    SPEED,
    PREDICTED,
    TERM,
    BOUND,
    WAVES,
    OCCUPANCY,
    REGISTERS,
    SPILLS,
    SHARED
} column_kind;

typedef struct {
    column_kind kind;
    int which; // of the knobs, or terms
    const char *title;
    bool optional; // left out where it is all zeros
    int width;
} column;

enum { COLUMNS = 12 + TUNE_KNOBS + TUNE_TERMS, WIDTH = 100 };

static void number(char *to, size_t size, double x)
{
    snprintf(to, size, "%.*f", x < 9.9995 ? 3 : x < 99.995 ? 2 : x < 999.95 ? 1 : 0, x);
}

static void cell(const tune_result *result, size_t i, const column *c, char *to, size_t size)
{
    const tune_problem *const problem = result->problem;
    const tune_row *const row = &result->rows[i];
    const tune_launch *const launch = tune_main_launch(row);
    const tune_kernel *const kernel = tune_main_kernel(row);
    const tune_prediction *const p = &row->predicted;
    const double us = us_of(result, row);

    snprintf(to, size, "-");
    switch (c->kind) {
    case MARK:
        snprintf(to, size, "%c%c",
                 (int)i == result->best          ? '>'
                 : result->tie && result->tie[i] ? '~'
                                                 : ' ',
                 tune_is_standard(problem, &row->setting) ? 'd' : ' ');
        break;
    case KNOB:
        snprintf(to, size, "%ld", row->setting.value[c->which]);
        break;
    case US:
        number(to, size, us);
        break;
    case SPEED:
        number(to, size, (problem->flop > 0 ? problem->flop : problem->bytes) / us / 1e3);
        break;
    case PREDICTED:
        if (row->counted)
            number(to, size, p->us);
        break;
    case TERM:
        snprintf(to, size, "%.*f%s", p->term[c->which] < 99.995 ? 2 : p->term[c->which] < 999.95,
                 p->term[c->which], c->which == (int)p->bound ? "*" : "");
        break;
    case BOUND:
        if (row->counted)
            snprintf(to, size, "%s", tune_term_name[p->bound]);
        break;
    case WAVES:
        if (row->counted)
            snprintf(to, size, "%.2f", p->waves);
        else if (launch && launch->resident > 0)
            snprintf(to, size, "%.2f",
                     (double)launch->grid[0] * launch->grid[1] * launch->grid[2] /
                         launch->resident / result->device->processors);
        break;
    case OCCUPANCY:
        if (row->counted)
            snprintf(to, size, "%.0f%%", 100 * p->occupancy);
        else if (launch)
            snprintf(to, size, "%.0f%%",
                     100.0 * launch->resident * launch->block[0] * launch->block[1] *
                         launch->block[2] / result->device->threads_per_processor);
        break;
    case REGISTERS:
        if (kernel)
            snprintf(to, size, "%d", kernel->registers);
        break;
    case SPILLS:
        if (kernel)
            snprintf(to, size, "%d", kernel->spill_stores + kernel->spill_loads);
        break;
    case SHARED:
        if (kernel)
            snprintf(to, size, "%" PRIu64,
                     (uint64_t)kernel->static_shared + (launch ? launch->shared_bytes : 0));
        break;
    }
}

// Those that have something to say and fit the line, in the order of what they matter.
static int choose_columns(const tune_result *result, const size_t *rows, size_t count,
                          column columns[COLUMNS])
{
    const tune_problem *const problem = result->problem;
    column all[COLUMNS];
    char text[64];
    int n = 0, kept = 0, width = 0, must;
    all[n++] = (column){MARK, 0, "", false, 0};
    for (int k = 0; k < problem->knobs; k++) {
        const char *const name = problem->knob[k].name;
        const char *const prefix = "COARSEN_"; // which no one needs to tell them apart
        const bool has = problem->shipped && strncmp(name, prefix, strlen(prefix)) == 0;
        all[n++] = (column){KNOB, k, has ? name + strlen(prefix) : name, false, 0};
    }
    all[n++] = (column){US, 0, "us", false, 0};
    must = n;
    if (!result->predicted && (problem->flop > 0 || problem->bytes > 0))
        all[n++] = (column){SPEED, 0, problem->flop > 0 ? "GFLOP/s" : "GB/s", false, 0};
    if (!result->predicted)
        all[n++] = (column){PREDICTED, 0, "predicted", false, 0};
    for (int t = 0; t < TUNE_TERMS && result->predicted; t++)
        all[n++] = (column){TERM, t, tune_term_name[t], true, 0};
    if (!result->predicted)
        all[n++] = (column){BOUND, 0, "bound", false, 0};
    all[n++] = (column){WAVES, 0, "waves", false, 0};
    all[n++] = (column){OCCUPANCY, 0, "occ.", false, 0};
    all[n++] = (column){REGISTERS, 0, "regs", false, 0};
    all[n++] = (column){SPILLS, 0, "spills", true, 0};
    all[n++] = (column){SHARED, 0, "shared", true, 0};
    if (result->predicted && (problem->flop > 0 || problem->bytes > 0))
        all[n++] = (column){SPEED, 0, problem->flop > 0 ? "GFLOP/s" : "GB/s", false, 0};

    for (int c = 0; c < n; c++) {
        bool zeros = all[c].optional;
        all[c].width = (int)strlen(all[c].title);
        for (size_t i = 0; i < count; i++) {
            cell(result, rows[i], &all[c], text, sizeof(text));
            zeros = zeros && strspn(text, "0.-") == strlen(text);
            if ((int)strlen(text) > all[c].width)
                all[c].width = (int)strlen(text);
        }
        if (zeros || (c >= must && width + 1 + all[c].width > WIDTH))
            continue;
        width += all[c].width + (c > 0);
        columns[kept++] = all[c];
    }
    return kept;
}

// ---- The table ----------------------------------------------------------------------------------

static const tune_result *sorting; // qsort() has no context

static int by_time(const void *a, const void *b)
{
    const size_t i = *(const size_t *)a, j = *(const size_t *)b;
    const double x = us_of(sorting, &sorting->rows[i]), y = us_of(sorting, &sorting->rows[j]);
    return x < y ? -1 : x > y ? 1 : i < j ? -1 : i > j;
}

static void print_head(const tune_result *result, FILE *out)
{
    const tune_problem *const problem = result->problem;
    fprintf(out, "%s%s%s%s%s", problem->pattern, *problem->type ? " " : "", problem->type,
            *problem->label ? ", " : "", problem->label);
    for (int s = 0; s < problem->sizes; s++)
        fprintf(out, ", %s = %" PRIu64, problem->size[s].name, problem->size[s].value);
    fprintf(out, "\n%s, sm_%d, %d multiprocessors", result->device->name, result->device->sm,
            result->device->processors);
    if (result->toolkit)
        fprintf(out, "; CUDA %d.%d", result->toolkit / 1000, result->toolkit % 1000 / 10);
    if (result->driver)
        fprintf(out, ", driver for %d.%d", result->driver / 1000, result->driver % 1000 / 10);
    fprintf(out, "\n%s; %s\n", result->predicted ? "predicted, not measured" : "measured",
            result->search ? result->search : "");
}

// The failures: each, or each reason with how many have it and the first of them.
static void print_failures(const tune_result *result, bool each, FILE *out)
{
    enum { REASONS = 10 };
    char setting[768];
    size_t all = 0, reasons = 0;
    for (size_t i = 0; i < result->count; i++)
        all += failed(&result->rows[i]);
    if (all == 0)
        return;
    fprintf(out, "\n%zu setting%s failed:\n", all, all == 1 ? "" : "s");
    for (size_t i = 0; i < result->count; i++) {
        const tune_row *const row = &result->rows[i];
        size_t same = 0, first = result->count;
        for (size_t j = 0; j < result->count && failed(row) && !each; j++)
            if (result->rows[j].status == row->status &&
                strcmp(result->rows[j].reason, row->reason) == 0) {
                same++;
                first = first < j ? first : j;
            }
        if (!failed(row) || (!each && first != i))
            continue;
        if (!each && ++reasons > REASONS)
            continue;
        tune_setting_print(result->problem, &row->setting, setting, sizeof(setting));
        if (each)
            fprintf(out, "    %s: ", setting);
        else
            fprintf(out, "%5zu  ", same);
        if (strncmp(row->reason, "not counted", 11) == 0) // which says it all
            fputs(row->reason, out);
        else
            fprintf(out, "%s%s%s", status_name(row->status), *row->reason ? ": " : "", row->reason);
        if (!each)
            fprintf(out, " (%s%s)", setting, same > 1 ? ", ..." : "");
        fputc('\n', out);
    }
    if (reasons > REASONS)
        fprintf(out, "       and %zu other reasons: --all has them\n", reasons - REASONS);
}

// What was counted, but compared with nothing.
static void print_unverified(const tune_result *result, FILE *out)
{
    const char *reason = NULL;
    size_t all = 0;
    for (size_t i = 0; i < result->count; i++) {
        const tune_row *const row = &result->rows[i];
        if (!shown(result, row) || strncmp(row->reason, "not verified", 12) != 0)
            continue;
        reason = all++ == 0 ? row->reason : reason;
    }
    if (all > 0)
        fprintf(out, "\n%zu setting%s %s\n", all, all == 1 ? "" : "s", reason);
}

void tune_table(const tune_result *result, size_t most, FILE *out)
{
    size_t *const rows = calloc(result->count + 1, sizeof(*rows));
    column columns[COLUMNS];
    char text[64];
    size_t count = 0, printed = 0, none = 0;
    bool ties = false, standard = false;
    if (!rows) {
        fputs("coarsen-tune: out of memory\n", stderr);
        return;
    }
    for (size_t i = 0; i < result->count; i++) {
        none += !shown(result, &result->rows[i]) && !failed(&result->rows[i]);
        if (shown(result, &result->rows[i]))
            rows[count++] = i;
    }
    sorting = result;
    qsort(rows, count, sizeof(*rows), by_time);
    // Beyond the best, only what was chosen and what is the default.
    for (size_t r = 0; r < count; r++)
        if (r < most || (int)rows[r] == result->best ||
            tune_is_standard(result->problem, &result->rows[rows[r]].setting)) {
            ties = ties || ((int)rows[r] != result->best && result->tie && result->tie[rows[r]]);
            standard =
                standard || tune_is_standard(result->problem, &result->rows[rows[r]].setting);
            rows[printed++] = rows[r];
        }

    print_head(result, out);
    if (count > 0) {
        const int n = choose_columns(result, rows, printed, columns);
        fputc('\n', out);
        for (int c = 0; c < n; c++)
            fprintf(out, "%s%*s", c ? " " : "", columns[c].width, columns[c].title);
        fputc('\n', out);
        for (size_t r = 0; r < printed; r++)
            for (int c = 0; c < n; c++) {
                cell(result, rows[r], &columns[c], text, sizeof(text));
                fprintf(out, "%s%*s%s", c ? " " : "", columns[c].width, text,
                        c == n - 1 ? "\n" : "");
            }
        if (printed < count)
            fprintf(out, "   %zu more: --all has them\n", count - printed);
        fputs(result->best >= 0 ? "> chosen" : "none chosen", out);
        if (ties)
            fputs("   ~ too close to the best to tell", out);
        if (standard)
            fputs("   d the header's default", out);
        fputs(result->predicted ? "   * the term that binds; all are us\n" : "\n", out);
    }
    print_failures(result, most >= result->count, out);
    print_unverified(result, out);
    if (none > 0)
        fprintf(out, "\n%zu setting%s without a result\n", none, none == 1 ? "" : "s");
    if (result->interrupted)
        fprintf(out, "\nInterrupted: %s\n",
                result->best >= 0 ? "the best so far is marked >" : "no setting has a result yet");
    free(rows);
}
