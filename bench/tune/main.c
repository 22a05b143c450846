// SPDX-License-Identifier: MIT
//
// coarsen-tune: the order of things. What is shared, and where each part is: tune.h.

#include "tune.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int stop; // SIGINT: end what can't be left half done, and say what is best so far

static void on_signal(int number)
{
    stop = 1;
    signal(number, SIG_DFL); // the second time, at once
}

static void die(const char *message)
{
    tune_progress_end();
    fprintf(stderr, "coarsen-tune: %s\n", message);
    exit(1);
}

typedef struct {
    tune_options *options;
    tune_problem *problem;
    tune_device device;
    bool predicted, counter; // nothing is timed; simt can count
    bool hopeless;           // the data or the reference can't be had, so more settings are no use
    tune_cache *cache;
    tune_row *rows;
    size_t count, room;
    tune_row reference;
    tune_code reference_code;
    // Of the step that is going on.
    const char *step;
    tune_row **batch;
    size_t batch_count, finished;
} tuner;

// ---- What has to be there -----------------------------------------------------------------------

// The folders of the headers and of unit/: those of the sources this was built from.
static void find_folders(void)
{
    const char *const include = getenv("COARSEN_INCLUDE");
    char file[4200];
    snprintf(tune_include_dir, sizeof(tune_include_dir), "%s", include ? include : TUNE_INCLUDE);
    snprintf(tune_unit_dir, sizeof(tune_unit_dir), "%s", TUNE_UNIT);
    snprintf(file, sizeof(file), "%s/coarsen/base.h", tune_include_dir);
    if (access(file, R_OK) != 0) {
        char message[4400];
        snprintf(
            message, sizeof(message),
            "no %s: name the folder that has coarsen/ in the environment variable COARSEN_INCLUDE",
            file);
        die(message);
    }
}

static void find_device(tuner *t, int *driver)
{
    char message[4096], why[1024];
    const tune_options *const o = t->options;
    tune_device gpu;
    const bool have_gpu = tune_gpu_find(&gpu, driver, why, sizeof(why));
    bool asked = true;

    if (o->device_file ? !tune_device_read(o->device_file, &t->device, message, sizeof(message))
        : o->arch      ? !tune_device_find(o->arch, &t->device, message, sizeof(message))
                       : (asked = false))
        die(message);
    if (!asked)
        t->device = gpu;
    if (!asked && !have_gpu && !tune_device_find("sm_90", &t->device, message, sizeof(message)))
        die(message);

    t->predicted = o->is_static || !have_gpu || (asked && t->device.sm != gpu.sm);
    if (!t->predicted)
        t->device = gpu;
    if (!t->predicted && (o->device_file || (o->arch && strncmp(o->arch, "sm_", 3) != 0)))
        fprintf(stderr,
                "The GPU here is %s, sm_%d too: measuring on it. To predict for what was "
                "asked, add --static.\n",
                gpu.name, gpu.sm);
    if (!o->is_static && !have_gpu)
        fprintf(stderr, "No GPU to measure on (%s): predicting for %s.\n", why, t->device.name);
    else if (!o->is_static && t->predicted)
        fprintf(stderr, "The GPU here is %s, sm_%d: predicting for %s.\n", gpu.name, gpu.sm,
                t->device.name);
    if (!tune_compiler_supports(t->device.sm, message, sizeof(message)))
        die(message);
}

// Everything a result depends on that is not the setting.
static void open_cache(tuner *t, uint64_t hash)
{
    char key[1024], *path = NULL, message[4096];
    const tune_device *const d = &t->device;
    const char *const home = getenv("HOME"), *const xdg = getenv("XDG_CACHE_HOME");
    size_t skipped = 0;
    if (t->options->no_cache)
        return;
    if (hash == 0) {
        fprintf(stderr, "coarsen-tune: going on without a cache: a macro says what is included, so "
                        "that a change would not be seen\n");
        return;
    }
    snprintf(key, sizeof(key),
             "%s sm_%d %d %d %d %d %d %d %d %.9g %.9g %.9g %.9g %.9g %.9g %d %d %.9g nvrtc-%d "
             "%s of %d %d %016" PRIx64,
             d->name, d->sm, d->processors, d->threads_per_processor, d->blocks_per_processor,
             d->registers_per_processor, d->shared_per_processor, d->shared_per_block,
             d->shared_reserved, d->clock_ghz, d->memory_gbps, d->memory_gib, d->l2_mib, d->l2_gbps,
             d->latency_ns, d->fp32_per_clock, d->fp64_per_clock, d->launch_us,
             tune_compiler_version(), t->predicted ? "predicted" : "measured",
             t->predicted ? 0 : t->options->samples, t->counter, hash);
    const int made = t->options->cache ? asprintf(&path, "%s", t->options->cache)
                     : xdg && *xdg     ? asprintf(&path, "%s/coarsen/tune.cache", xdg)
                     : home && *home   ? asprintf(&path, "%s/.cache/coarsen/tune.cache", home)
                                       : 0;
    if (made < 0)
        die("out of memory");
    if (!path)
        return;
    t->cache = tune_cache_open(path, key, &skipped, message, sizeof(message));
    if (!t->cache && t->options->cache)
        die(message);
    if (!t->cache)
        fprintf(stderr, "coarsen-tune: %s: going on without a cache\n", message);
    if (skipped > 0)
        fprintf(stderr, "coarsen-tune: %s: %zu damaged lines passed over\n", path, skipped);
    free(path);
}

// ---- A batch of settings ------------------------------------------------------------------------

static const tune_row *best_row(const tuner *t)
{
    bool *const tie = calloc(t->count + 1, sizeof(*tie));
    const int best = tie ? tune_choose(t->problem, t->rows, t->count, tie) : -1;
    free(tie);
    return best < 0 ? NULL : &t->rows[best];
}

static void show_progress(const tuner *t)
{
    char best[256] = "", setting[192];
    if (t->options->quiet)
        return;
    const tune_row *const row = best_row(t);
    if (row && (row->timed || row->counted)) {
        tune_setting_print(t->problem, &row->setting, setting, sizeof(setting));
        snprintf(best, sizeof(best), "%s %.2f us", setting,
                 row->timed ? row->us : row->predicted.us);
    }
    tune_progress(t->step, t->finished, t->batch_count, best);
}

// A row is in the cache as soon as there is no more to find out of it. One that did not compile or
// launch is not: it may be for want of something that will be there the next time. Nor is one that
// did not end in time, as --limit may be another then, or whose process died, as that may have been
// ended by someone else; or that is unfounded, so that the next run finds so too.
static void keep(tuner *t, tune_row *row)
{
    const bool over = row->status == TUNE_OK && (t->predicted ? row->counted : row->timed);
    if (!t->cache || row->cached || !(over || (row->status == TUNE_WRONG && !row->unfounded)))
        return;
    row->cached = tune_cache_add(t->cache, t->problem, row);
    if (row->cached)
        return;
    tune_progress_end();
    fprintf(stderr, "coarsen-tune: the cache could not be written (is its disk full?): going on "
                    "without it\n");
    tune_cache_close(t->cache);
    t->cache = NULL;
}

static void compiled(size_t i, void *context)
{
    tuner *const t = context;
    t->finished++;
    keep(t, t->batch[i]);
    show_progress(t);
}

static void counted(size_t i, void *context)
{
    tuner *const t = context;
    tune_row *const row = t->batch[i];
    t->finished++;
    if (row->counted) {
        tune_predict(t->problem, &t->device, row);
        if (t->predicted && row->status == TUNE_PENDING)
            row->status = TUNE_OK;
    } else if (t->predicted && row->status == TUNE_PENDING)
        row->status = TUNE_NOT_LAUNCHED;
    keep(t, row);
    show_progress(t);
}

static void measured(size_t i, void *context)
{
    tuner *const t = context;
    t->finished++;
    t->batch[i]->first_us = t->batch[i]->us;
    keep(t, t->batch[i]);
    show_progress(t);
}

static void measured_again(size_t i, void *context)
{
    tuner *const t = context;
    (void)i;
    t->finished++;
    show_progress(t);
}

static void begin(tuner *t, const char *step, tune_row **batch, size_t count)
{
    t->step = step;
    t->batch = batch;
    t->batch_count = count;
    t->finished = 0;
}

static void prepare_reference(tuner *t)
{
    char message[8192];
    if (t->reference_code.cubin)
        return;
    t->reference.setting =
        t->problem->reference ? tune_standard(t->problem) : tune_setting_at(t->problem, 0);
    if (!tune_compile_reference(t->problem, &t->device, &t->reference, &t->reference_code, message,
                                sizeof(message)))
        die(message);
}

// Rows from first on: those that the cache does not know are compiled, counted and measured.
static void work_on(tuner *t, size_t first)
{
    const size_t most = t->count - first;
    tune_row **const batch = calloc(most + 1, sizeof(*batch));
    tune_code *const code = calloc(most + 1, sizeof(*code));
    size_t count = 0;
    if (!batch || !code)
        die("out of memory");
    for (size_t i = first; i < t->count; i++)
        if (!t->cache || !tune_cache_find(t->cache, t->problem, &t->rows[i]))
            batch[count++] = &t->rows[i];
        else if (t->rows[i].counted) // what was counted is still true; the model may have changed
            tune_predict(t->problem, &t->device, &t->rows[i]);

    begin(t, "compiling", batch, count);
    tune_compile(t->problem, &t->device, batch, code, count, &stop, compiled, t);
    if (t->counter && !stop) {
        begin(t, "counting", batch, count);
        tune_count(t->problem, &t->device, batch, count, &stop, counted, t);
    }
    if (!t->predicted && count > 0 && !stop) {
        prepare_reference(t);
        begin(t, "measuring", batch, count);
        t->hopeless =
            !tune_measure(t->problem, batch, code, count, &t->reference, &t->reference_code,
                          t->options->limit, t->options->samples, 1, &stop, measured, t);
    }
    for (size_t i = 0; i < count; i++)
        free(code[i].cubin);
    free(batch);
    free(code);
}

// The fastest again, forth and back, so that chance has less of a say in who is first.
static void rerun_leaders(tuner *t)
{
    enum { LEADERS = 6, ROUNDS = 4 };
    tune_row *leader[LEADERS], again[LEADERS], *batch[LEADERS];
    tune_code code[LEADERS] = {{0}};
    size_t count = 0;
    bool known = true;
    for (size_t i = 0; i < t->count; i++) {
        tune_row *const row = &t->rows[i];
        size_t at = count;
        if (row->status != TUNE_OK || !row->timed)
            continue;
        while (at > 0 && leader[at - 1]->us > row->us)
            at--;
        if (at == LEADERS)
            continue;
        count += count < LEADERS;
        memmove(leader + at + 1, leader + at, (count - at - 1) * sizeof(*leader));
        leader[at] = row;
    }
    for (size_t i = 0; i < count; i++)
        known &= leader[i]->rounds > 1; // to an earlier run
    if (count < 2 || known)
        return;
    for (size_t i = 0; i < count; i++) {
        again[i] = *leader[i];
        again[i].status = TUNE_PENDING;
        again[i].samples = again[i].rounds = 0;
        again[i].timed = false;
        again[i].cached = false;
        batch[i] = &again[i];
    }
    prepare_reference(t);
    begin(t, "measuring the leaders again", batch, count * ROUNDS);
    tune_compile(t->problem, &t->device, batch, code, count, &stop, NULL, NULL);
    tune_measure(t->problem, batch, code, count, &t->reference, &t->reference_code,
                 t->options->limit, t->options->samples, ROUNDS, &stop, measured_again, t);
    for (size_t i = 0; i < count; i++) {
        // One round more may show what the first did not, as a race.
        const tune_status now = again[i].status;
        if ((now == TUNE_OK && again[i].rounds > 1) || now == TUNE_WRONG || now == TUNE_CRASHED ||
            now == TUNE_TIMEOUT) {
            *leader[i] = again[i];
            keep(t, leader[i]);
        }
        free(code[i].cubin);
    }
}

// ---- All of it ----------------------------------------------------------------------------------

static void explore(tuner *t)
{
    enum { BATCH = 64 };
    static tune_setting next[BATCH];
    size_t got;
    while (!stop && !t->hopeless &&
           (got = tune_search_next(t->problem, t->rows, t->count, t->options->budget, next,
                                   BATCH)) > 0) {
        if (t->count + got > t->room) {
            t->room = 2 * (t->count + got);
            t->rows = realloc(t->rows, t->room * sizeof(*t->rows));
            if (!t->rows)
                die("out of memory");
        }
        const size_t first = t->count;
        for (size_t i = 0; i < got; i++) {
            memset(&t->rows[t->count], 0, sizeof(*t->rows));
            t->rows[t->count++].setting = next[i];
        }
        work_on(t, first);
    }
    if (!t->predicted && !stop)
        rerun_leaders(t);
    tune_progress_end();
    if (t->problem->bytes <= 0)
        for (size_t i = 0; i < t->count && t->problem->bytes <= 0; i++)
            t->problem->bytes = t->rows[i].bytes;
}

static const tune_row *neighbour(const tuner *t, const tune_row *of, int step)
{
    tune_setting setting;
    if (!tune_neighbour(t->problem, &of->setting, tune_factor_knob(t->problem), step, &setting))
        return NULL;
    for (size_t i = 0; i < t->count; i++)
        if (!memcmp(t->rows[i].setting.value, setting.value,
                    t->problem->knobs * sizeof(*setting.value)))
            return &t->rows[i];
    return NULL;
}

int main(int argc, char **argv)
{
    static tune_options options;
    static tuner t;
    char message[4096], search[256];
    int driver = 0;
    const int worked = tune_worker_main(argc, argv);
    if (worked >= 0)
        return worked;
    tune_options_parse(argc, argv, &options);
    t.options = &options;
    t.problem = &options.problem;
    uint64_t elements;
    if (!tune_data_check(t.problem, &elements, message, sizeof(message)))
        die(message);
    find_folders();
    if (!tune_compiler_open(message, sizeof(message)))
        die(message);
    find_device(&t, &driver);
    t.counter = tune_counter_open(message, sizeof(message));
    if (!t.counter && t.predicted)
        die(message);
    if (!t.counter)
        fprintf(stderr, "coarsen-tune: %s: nothing is predicted\n", message);

    if (t.predicted) // else it is the GPU's
        tune_count_limit(options.limit);

    char *const unit = tune_unit(t.problem, false);
    if (!unit)
        die("out of memory");
    const uint64_t hash = tune_unit_hash(t.problem, unit);
    free(unit);
    open_cache(&t, hash);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGPIPE, SIG_IGN);
    explore(&t);

    bool *const tie = calloc(t.count + 1, sizeof(*tie));
    if (!tie)
        die("out of memory");
    const uint64_t all = tune_settings(t.problem);
    if (options.budget && options.budget < all)
        snprintf(search, sizeof(search),
                 "%zu settings of %" PRIu64 ": along one knob at a time from the default", t.count,
                 all);
    else
        snprintf(search, sizeof(search), "every setting");
    const tune_result result = {.problem = t.problem,
                                .device = &t.device,
                                .rows = t.rows,
                                .count = t.count,
                                .best = tune_choose(t.problem, t.rows, t.count, tie),
                                .tie = tie,
                                .predicted = t.predicted,
                                .interrupted = stop,
                                .toolkit = tune_compiler_version(),
                                .driver = t.predicted ? 0 : driver,
                                .command = options.command,
                                .flags = tune_flags,
                                .search = search};
    tune_table(&result, options.all ? t.count : 20, stdout);
    if (result.best >= 0 && !options.quiet) {
        const tune_row *const best = &t.rows[result.best];
        printf("\n");
        tune_why(t.problem, &t.device, best, neighbour(&t, best, -1), neighbour(&t, best, 1),
                 stdout);
    }
    bool written = true;
    const struct {
        const char *path;
        bool (*write)(const tune_result *, const char *, char *, size_t);
    } outputs[] = {{options.csv, tune_write_csv},
                   {options.json, tune_write_json},
                   {options.header, tune_write_header}};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++)
        if (outputs[i].path &&
            !outputs[i].write(&result, outputs[i].path, message, sizeof(message))) {
            fprintf(stderr, "coarsen-tune: %s\n", message);
            written = false;
        }
    tune_cache_close(t.cache);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "coarsen-tune: the table could not be written: %s\n", strerror(errno));
        written = false;
    }
    bool unfounded = false;
    for (size_t i = 0; i < t.count; i++)
        unfounded = unfounded || t.rows[i].unfounded;
    if (unfounded && !stop)
        fprintf(stderr, "coarsen-tune: no setting is chosen: the one that the others are compared "
                        "with left unwritten what another writes; mend the grid, or name a right "
                        "source by --reference FILE\n");
    else if (result.best < 0 && !stop)
        fprintf(stderr, "coarsen-tune: no setting works; the reasons are above\n");
    return stop ? 130 : result.best < 0 || !written ? 1 : 0;
}
