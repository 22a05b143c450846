// SPDX-License-Identifier: MIT
//
// The cache, and that what is written is whole or not written. What the files hold is tested from outside,
// on files that this program writes when asked:
//
//     output_test csv|json FILE [predicted]
//     output_test header FILE PATTERN TYPE SM KNOB=VALUE...

#include "../../bench/tune/tune.h"
#include "../tap.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const tune_term_name[TUNE_TERMS] = {"launch", "latency", "memory", "requests",
                                                "shared", "atomics", "issue"};

enum { ROWS = 7 };

static const tune_problem problem = {
    .pattern = "reduce",
    .type = "f32",
    .label = "sum",
    .knobs = 2,
    .knob = {{.name = "BLOCK_DIM", .count = 2, .value = {128, 256}, .standard = 256},
             {.name = "COARSE_FACTOR", .count = 4, .value = {1, 2, 4, 8}, .standard = 1}},
    .sizes = 1,
    .size = {{.name = "n", .value = 1000}},
    .bytes = 4000,
    .shipped = true,
};
static const tune_device device = {.name = "NVIDIA \"Round\" 1", .sm = 90};
static tune_row rows[ROWS];
static bool tie[ROWS];

static tune_result make_result(void)
{
    for (int i = 0; i < ROWS; i++) {
        tune_row *const row = rows + i;
        memset(row, 0, sizeof(*row));
        row->setting.value[0] = i < 4 ? 256 : 128;
        row->setting.value[1] = 1 << i % 4;
        row->status = TUNE_OK;
        row->compile_ms = 12.5 + i;
        row->kernels = 3;
        row->kernel[0] = (tune_kernel){.name = "tuned_small_kernel", .registers = 20};
        row->kernel[2] = (tune_kernel){.name = "tune_compare", .registers = 99};
        row->kernel[1] = (tune_kernel){.name = "tuned_kernel<int, 2>",
                                       .symbol = "_Z12tuned_kernel",
                                       .registers = 32 + i,
                                       .static_shared = 128,
                                       .spill_stores = 4,
                                       .spill_loads = 8,
                                       .stack = 16,
                                       .loop_instructions = 20,
                                       .loop_memory = 5,
                                       .loop_fma = 3,
                                       .inflight = 64};
        row->launches = 2;
        row->launch[0] = (tune_launch){.moved_bytes = 64, .limited_by = ""};
        row->launch[1] = (tune_launch){.kernel = "tuned_kernel<int, 2>",
                                       .grid = {5, 2, 1},
                                       .block = {256, 1, 1},
                                       .shared_bytes = 1024,
                                       .resident = 8,
                                       .limited_by = "shared memory",
                                       .counts = {.global_loads = 1.0 / 3,
                                                  .global_requests = 3e12,
                                                  .global_sectors = 125,
                                                  .global_bytes = 4000,
                                                  .barriers = 20,
                                                  .active_lanes = 24,
                                                  .lane_slots = 32}};
        row->counted = true;
        row->predicted = (tune_prediction){.us = 2 + i,
                                           .term = {1, 0.25, 0.75},
                                           .bound = TUNE_MEMORY,
                                           .waves = 1.5,
                                           .occupancy = 0.75,
                                           .busy = 1,
                                           .inflight = 4096,
                                           .needed = 32768,
                                           .lanes = 0.75,
                                           .coalesced = 1};
        row->timed = true;
        row->us = 2.5 + i;
        row->least = 2.25 + i;
        row->spread = 0.015625;
        row->samples = 30;
    }
    tie[1] = true;

    // What goes wrong: a message in UTF-8 that was cut short, and what CSV and JSON quote.
    rows[2].predicted.lanes = NAN;
    rows[2].predicted.waves = INFINITY;
    rows[3].status = TUNE_NOT_COMPILED;
    strcpy(rows[3].reason,
           "mine.cu(3): error: expected \"a, b\"\t\xe2\x80\x98;\xe2\x80\x99 \\ \xe2\x80");
    memset(rows[3].kernel, 0, sizeof(rows[3].kernel));
    memset(rows[3].launch, 0, sizeof(rows[3].launch));
    rows[3].kernels = rows[3].launches = 0;
    rows[3].counted = rows[3].timed = false;
    rows[4].status = TUNE_WRONG;
    strcpy(rows[4].reason, "out[3] is 2, not 1");
    rows[4].timed = false;
    rows[5].status = TUNE_TIMEOUT;
    strcpy(rows[5].reason, "it took longer than 10 s");
    rows[5].timed = false;
    rows[6].status = TUNE_PENDING; // compiled, no more
    memset(rows[6].launch, 0, sizeof(rows[6].launch));
    rows[6].launches = 0;
    rows[6].counted = rows[6].timed = false;

    return (tune_result){.problem = &problem,
                         .device = &device,
                         .rows = rows,
                         .count = ROWS,
                         .best = 1,
                         .tie = tie,
                         .toolkit = 13000,
                         .driver = 12080,
                         .command = "coarsen-tune reduce\n#define X \\",
                         .flags = "",
                         .search = "every setting"};
}

// ---- Files ----------------------------------------------------------------------------------------

static char folder[] = "/tmp/output_test-XXXXXX";
static char message[1024];

static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static int next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static char *slurp(const char *path, size_t *bytes)
{
    static char *text;
    size_t room = 0;
    free(text);
    text = NULL;
    FILE *const in = fopen(path, "r");
    const ssize_t got = in ? getdelim(&text, &room, EOF, in) : -1;
    if (in)
        fclose(in);
    *bytes = got > 0 ? (size_t)got : 0;
    return text;
}

static void spit(const char *path, const char *text, size_t bytes)
{
    FILE *const out = fopen(path, "w");
    if (!out || fwrite(text, 1, bytes, out) != bytes || fclose(out) != 0) {
        perror(path);
        exit(2);
    }
}

static bool holds(const char *path, const char *text)
{
    size_t bytes;
    const char *const found = slurp(path, &bytes);
    return found && bytes == strlen(text) && memcmp(found, text, bytes) == 0;
}

static int files_in_folder(void)
{
    char command[256], count[32] = "";
    snprintf(command, sizeof(command), "ls %s | wc -l", folder);
    FILE *const in = popen(command, "r");
    if (!in || !fgets(count, sizeof(count), in))
        return -1;
    pclose(in);
    return atoi(count);
}

// ---- The cache ------------------------------------------------------------------------------------

static tune_cache *open_cache(const char *path, const char *key, size_t *skipped)
{
    tune_cache *const cache = tune_cache_open(path, key, skipped, message, sizeof(message));
    if (!cache)
        tap_diag("%s", message);
    return cache;
}

static bool same(const tune_row *a, const tune_row *b) // but that it was cached
{
    tune_row copy = *a;
    copy.cached = b->cached;
    return memcmp(&copy, b, sizeof(copy)) == 0;
}

// How many of the rows the cache has, right; -1: it has one that differs.
static int found_rows(const char *path, const char *key, size_t *skipped)
{
    tune_cache *const cache = open_cache(path, key, skipped);
    int found = 0;
    for (int i = 0; cache && i < ROWS && found >= 0; i++) {
        tune_row row;
        memset(&row, 0, sizeof(row));
        row.setting = rows[i].setting;
        if (tune_cache_find(cache, &problem, &row))
            found = same(rows + i, &row) && row.cached ? found + 1 : -1;
    }
    tune_cache_close(cache);
    return cache ? found : -2;
}

static void test_cache(void)
{
    const char *const path = in_folder("new/folders/cache"), *const copy = in_folder("cache");
    const char *const key = "NVIDIA X\tsm_90\\ 13.0 -DA='b c' 0123";
    size_t skipped;
    make_result();
    rows[2].predicted.lanes = 0; // nothing equals NAN
    tune_cache *cache = open_cache(path, key, &skipped);
    bool ok = cache != NULL;
    for (int i = 0; ok && i < ROWS; i++)
        ok = tune_cache_add(cache, &problem, rows + i);
    tune_row again = {.setting = rows[0].setting};
    tap_ok(ok && tune_cache_find(cache, &problem, &again),
           "a new cache, in new folders: rows are added");
    tune_cache_close(cache);
    tap_ok(found_rows(path, key, &skipped) == ROWS && skipped == 0,
           "all of each row is found again");
    tap_ok(found_rows(path, "another", &skipped) == 0 && skipped == 0,
           "none by another key, and none is said to be bad");

    tune_problem other = problem;
    strcpy(other.knob[0].name, "BLOCK_DIMS");
    again = (tune_row){.setting = rows[0].setting};
    cache = open_cache(path, key, &skipped);
    tap_ok(cache && !tune_cache_find(cache, &other, &again), "nor by other knobs");
    again = rows[0];
    again.us = 99;
    ok = cache && tune_cache_add(cache, &problem, &again);
    tune_cache_close(cache);
    cache = open_cache(path, key, &skipped);
    again.us = 0;
    tap_ok(ok && tune_cache_find(cache, &problem, &again) && again.us == 99,
           "the later line holds");
    ok = cache && tune_cache_add(cache, &problem, rows);
    tune_cache_close(cache);

    size_t bytes;
    const char *const text = slurp(path, &bytes);
    char *const whole = malloc(bytes);
    memcpy(whole, text, bytes);
    const char *last = memrchr(whole, '\n', bytes - 1), *line = memchr(whole, '\n', bytes);
    const size_t before = (size_t)(last + 1 - whole), start = (size_t)(line + 1 - whole);

    // Killed while it wrote the last line, which is rows[0] again, or changed in the file.
    int bad = 0;
    for (size_t cut = before; cut < bytes; cut++) {
        spit(copy, whole, cut);
        const bool torn = cut > before && cut < bytes - 1;
        bad += found_rows(copy, key, &skipped) < 0 && cut == bytes - 1;
        cache = open_cache(copy, key, &skipped);
        bad += !cache || skipped != torn || !tune_cache_add(cache, &problem, rows);
        tune_cache_close(cache);
        bad += found_rows(copy, key, &skipped) != ROWS || skipped != torn;
    }
    tap_ok(bad == 0 && bytes > before, "a last line torn anywhere costs that line alone (%d wrong)",
           bad);

    bad = 0;
    const size_t end = (size_t)((const char *)memchr(line + 1, '\n', bytes - start) - whole);
    for (size_t i = start; i < end; i++) { // rows[1]
        const char old = whole[i];
        whole[i] = old == 'x' ? 'y' : 'x';
        spit(copy, whole, bytes);
        whole[i] = old;
        bad += found_rows(copy, key, &skipped) != ROWS - 1 || skipped != 1;
    }
    tap_ok(bad == 0 && end > start, "a line changed anywhere costs that line alone (%d wrong)",
           bad);

    spit(copy, "coarsen-tune-0\tof another version\n", 34);
    tap_ok(found_rows(copy, key, &skipped) == 0 && skipped == 1,
           "a line of another version is passed over");
    memset(whole, 0, bytes / 2);
    spit(copy, whole, bytes);
    tap_ok(found_rows(copy, key, &skipped) > 0 && skipped == 1,
           "zeros in half of it cost that half");
    spit(copy, "", 0);
    tap_ok(found_rows(copy, key, &skipped) == 0 && skipped == 0, "an empty file is a cache");
    free(whole);

    spit(copy, "my notes\n", 9);
    tap_ok(!tune_cache_open(copy, key, &skipped, message, sizeof(message)) &&
               strstr(message, copy) && strstr(message, "is not a cache of coarsen-tune") &&
               holds(copy, "my notes\n"),
           "a file of another kind is refused and left: %s", message);
    tap_ok(!tune_cache_open(folder, key, &skipped, message, sizeof(message)) &&
               strstr(message, "a folder"),
           "a folder is refused: %s", message);
    tap_ok(!tune_cache_open(in_folder("cache/below/a/file"), key, &skipped, message,
                            sizeof(message)) &&
               strstr(message, "Not a directory"),
           "a place that can't be is refused: %s", message);
    unlink(copy);
}

static void test_cache_shared(void)
{
    enum { WRITERS = 4, EACH = 40 };
    const char *const path = in_folder("cache");
    size_t skipped;
    make_result();
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            tune_cache *const cache = open_cache(path, "key", &skipped);
            bool ok = cache != NULL;
            for (int i = 0; ok && i < EACH; i++) {
                tune_row row = rows[0];
                row.setting.value[0] = w;
                row.setting.value[1] = i;
                ok = tune_cache_add(cache, &problem, &row);
            }
            _exit(!ok);
        }
    int failures = 0, found = 0;
    for (int w = 0, status; w < WRITERS; w++)
        failures += wait(&status) < 0 || status != 0;
    tune_cache *const cache = open_cache(path, "key", &skipped);
    for (int i = 0; cache && i < WRITERS * EACH; i++) {
        tune_row row = {.setting = {{i / EACH, i % EACH}}};
        found += tune_cache_find(cache, &problem, &row);
    }
    tune_cache_close(cache);
    tap_ok(failures == 0 && found == WRITERS * EACH && skipped == 0,
           "%d processes write one cache: %d rows of %d", WRITERS, found, WRITERS * EACH);
    unlink(path);
}

// ---- What is written ------------------------------------------------------------------------------

typedef bool writer(const tune_result *, const char *, char *, size_t);
static writer *const writers[] = {tune_write_csv, tune_write_json, tune_write_header};
static const char *const names[] = {"result.csv", "result.json", "result.h"};

// By a process whose files may be no longer than so many bytes.
static bool write_limited(writer *write_it, const tune_result *result, const char *path,
                          rlim_t most)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {most, most};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(!write_it(result, path, message, sizeof(message)));
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status == 0;
}

static void test_files(void)
{
    const tune_result result = make_result();
    for (int w = 0; w < 3; w++) {
        const char *const path = in_folder(names[w]), *const link = in_folder("link");
        size_t bytes, more;
        bool ok = writers[w](&result, path, message, sizeof(message)) && chmod(path, 0640) == 0;
        slurp(path, &bytes);
        char *const before = strdup(slurp(path, &more));
        ok = ok && !write_limited(writers[w], &result, path, bytes / 2) && holds(path, before);
        tap_ok(ok && files_in_folder() == 1,
               "%s: a full disk leaves what was there, and nothing beside", names[w]);

        struct stat file;
        ok = symlink(path, link) == 0 && writers[w](&result, link, message, sizeof(message));
        ok = ok && lstat(link, &file) == 0 && S_ISLNK(file.st_mode);
        ok = ok && stat(path, &file) == 0 && (file.st_mode & 0777) == 0640;
        tap_ok(ok && files_in_folder() == 2, "%s: a link stays one, and the file's mode as it was",
               names[w]);
        unlink(link);
        unlink(path);

        ok = writers[w](&result, in_folder("none/of/it"), message, sizeof(message));
        tap_ok(!ok && strstr(message, "none/of/it cannot be written: No such file or directory"),
               "%s: no such folder: %s", names[w], message);
        tap_ok(!writers[w](&result, folder, message, sizeof(message)) && strstr(message, folder),
               "%s: a folder is refused: %s", names[w], message);
        tap_ok(writers[w](&result, "/dev/null", message, sizeof(message)) &&
                   stat("/dev/null", &file) == 0 && S_ISCHR(file.st_mode),
               "%s: a device is written to, not replaced", names[w]);
        free(before);
    }
}

static void test_header(void)
{
    const char *const path = in_folder("tuned.h");
    tune_result result = make_result();
    char mine[] = "#define MINE 1\n",
         zero[] = "// Defaults for coarsen's headers, found by coarsen-tune.\n\0x";
    spit(path, mine, strlen(mine));
    tap_ok(!tune_write_header(&result, path, message, sizeof(message)) && holds(path, mine),
           "a file that isn't ours is refused and left: %s", message);
    spit(path, zero, sizeof(zero));
    tap_ok(!tune_write_header(&result, path, message, sizeof(message)),
           "nor one that is no text: %s", message);
    unlink(path);
    result.best = -1;
    tap_ok(!tune_write_header(&result, path, message, sizeof(message)) && access(path, F_OK) != 0,
           "no best setting, no header: %s", message);
    result.best = 1;

    // Sections: others stay as they are, whatever was done to them; a section of its own is replaced.
    tune_problem map = problem;
    tune_device older = device;
    map.pattern = "map";
    older.sm = 9; // sm_9 begins as sm_90 does
    result.problem = &map;
    bool ok = tune_write_header(&result, path, message, sizeof(message));
    result.problem = &problem;
    ok = ok && tune_write_header(&result, path, message, sizeof(message));
    result.device = &older;
    ok = ok && tune_write_header(&result, path, message, sizeof(message));
    FILE *const more = fopen(path, "a");
    ok = ok && more && fputs("// a line of mine", more) >= 0;
    ok = more && fclose(more) == 0 && ok;
    size_t bytes;
    char *const before = strdup(ok ? slurp(path, &bytes) : "");
    result.device = &device;
    result.best = 2;
    ok = ok && tune_write_header(&result, path, message, sizeof(message));
    const char *const after = slurp(path, &bytes);
    // The section in question is between these two, in both.
    const char *const from = strstr(before, "// ---- reduce, sm_90 ");
    const char *const to = strstr(before, "// ---- reduce, sm_9 ");
    const char *const after_to = strstr(after, "// ---- reduce, sm_9 ");
    ok = ok && from && to && after_to && strncmp(before, after, (size_t)(from - before)) == 0 &&
         strcmp(to, after_to) == 0;
    const char *const there = strstr(after, "#define COARSEN_REDUCE_COARSE_FACTOR 4\n");
    ok = ok && there && there < after_to &&
         !strstr(there + 1, "#define COARSEN_REDUCE_COARSE_FACTOR 4");
    tap_ok(ok, "a section is replaced, the others are as they were");
    free(before);
    result.predicted = true;
    tap_ok(!tune_write_header(&result, path, message, sizeof(message)) &&
               strstr(message, "\"reduce, sm_90\" was measured"),
           "but not what was measured by what is predicted: %s", message);
    result.interrupted = true;
    tap_ok(!tune_write_header(&result, path, message, sizeof(message)) &&
               strstr(message, "interrupted"),
           "nor by what is not of all settings: %s", message);
    result.interrupted = false;
    older.sm = 80;
    result.device = &older;
    ok = tune_write_header(&result, path, message, sizeof(message)) &&
         tune_write_header(&result, path, message, sizeof(message));
    result.predicted = false;
    ok = ok && tune_write_header(&result, path, message, sizeof(message));
    tap_ok(ok, "what was predicted is, by what is predicted and by what is measured%s%s",
           ok ? "" : ": ", ok ? "" : message);
    unlink(path);

    tune_problem user = problem;
    user.shipped = false;
    user.pattern = "mine";
    result.problem = &user;
    tap_ok(!tune_write_header(&result, path, message, sizeof(message)) && strstr(message, "mine"),
           "a user's kernel has no header to set: %s", message);
}

// ---- On request -----------------------------------------------------------------------------------

static int write_one(int argc, char **argv)
{
    tune_result result = make_result();
    bool ok = false;
    snprintf(message, sizeof(message), "see the comment on top");
    if (argc >= 3 && strcmp(argv[1], "csv") == 0) {
        result.predicted = argc > 3;
        ok = tune_write_csv(&result, argv[2], message, sizeof(message));
    } else if (argc >= 3 && strcmp(argv[1], "json") == 0) {
        result.predicted = argc > 3;
        ok = tune_write_json(&result, argv[2], message, sizeof(message));
    } else if (argc >= 6 && strcmp(argv[1], "header") == 0) {
        tune_problem asked = problem;
        tune_device its = device;
        asked.pattern = argv[3];
        snprintf(asked.type, sizeof(asked.type), "%s", argv[4]);
        its.sm = atoi(argv[5]);
        asked.knobs = 0;
        for (int a = 6; a < argc && asked.knobs < TUNE_KNOBS; a++, asked.knobs++) {
            rows[0].setting.value[asked.knobs] = atol(strchr(argv[a], '=') + 1);
            snprintf(asked.knob[asked.knobs].name, sizeof(asked.knob[0].name), "%s",
                     strtok(argv[a], "="));
        }
        result.problem = &asked;
        result.device = &its;
        result.best = 0;
        ok = tune_write_header(&result, argv[2], message, sizeof(message));
    }
    if (!ok)
        fprintf(stderr, "output_test: %s\n", message);
    return !ok;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return write_one(argc, argv);
    if (!mkdtemp(folder)) {
        perror(folder);
        return 2;
    }
    test_files(); // first, as it counts the files
    test_header();
    test_cache();
    test_cache_shared();
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command) != 0)
        tap_diag("%s is left behind", folder);
    return tap_done();
}
