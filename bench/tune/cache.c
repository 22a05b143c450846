// SPDX-License-Identifier: MIT
//
// What was found before, in a file that is only ever appended to. A row is a line, its fields
// separated by tabs:
//
//     coarsen-tune-4  KEY  SETTING  STATUS  REASON  numbers, kernels and launches...  CHECKSUM
//
// A line is one write, under a lock, so that several tuners may share the file; the later of two
// lines holds. One that was cut short or changed has not the checksum it ends in, and is passed
// over.

#include "tune.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char WORD[] = "coarsen-tune-4"; // changes with the fields below
static const char KIND[] = "coarsen-tune-";  // of any version

enum { COUNTS = sizeof(tune_counts) / sizeof(double) };

typedef struct {
    char *setting; // "BLOCK_DIM=256 COARSE_FACTOR=4"
    tune_row row;
} entry;

struct tune_cache {
    int file;
    char *key; // as it is written
    entry *entries;
    size_t count, room;
};

static uint64_t checksum(const char *text, size_t bytes) // FNV-1a
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

// ---- A line -------------------------------------------------------------------------------------

// In a field, these are a backslash and a letter.
static const char SPECIAL[] = "\t\n\r\\", LETTER[] = "tnr\\";

static void put_text(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        const char *const special = strchr(SPECIAL, *text);
        if (special)
            fprintf(out, "\\%c", LETTER[special - SPECIAL]);
        else
            putc(*text, out);
    }
    putc('\t', out);
}

static void put_number(FILE *out, double value)
{
    fprintf(out, "%.17g\t", value);
}

static void put_row(FILE *out, const tune_row *row)
{
    put_text(out, tune_status_name[row->status]);
    put_text(out, row->reason);
    put_number(out, row->compile_ms);
    put_number(out, row->bytes);
    put_number(out, row->timed);
    put_number(out, row->us);
    put_number(out, row->first_us);
    put_number(out, row->least);
    put_number(out, row->spread);
    put_number(out, row->samples);
    put_number(out, row->rounds);

    put_number(out, row->kernels);
    for (int k = 0; k < row->kernels; k++) {
        const tune_kernel *const kernel = row->kernel + k;
        put_text(out, kernel->name);
        put_text(out, kernel->symbol);
        put_number(out, kernel->registers);
        put_number(out, kernel->static_shared);
        put_number(out, kernel->spill_stores);
        put_number(out, kernel->spill_loads);
        put_number(out, kernel->stack);
        put_number(out, kernel->most_threads);
        put_number(out, kernel->loop_instructions);
        put_number(out, kernel->loop_memory);
        put_number(out, kernel->loop_fma);
        put_number(out, kernel->inflight);
    }

    put_number(out, row->counted);
    put_number(out, row->launches);
    for (int l = 0; l < row->launches; l++) {
        const tune_launch *const launch = row->launch + l;
        double counts[COUNTS];
        put_text(out, launch->kernel);
        for (int d = 0; d < 3; d++)
            put_number(out, launch->grid[d]);
        for (int d = 0; d < 3; d++)
            put_number(out, launch->block[d]);
        put_number(out, (double)launch->shared_bytes);
        put_number(out, (double)launch->moved_bytes);
        put_number(out, launch->resident);
        put_text(out, launch->limited_by);
        memcpy(counts, &launch->counts, sizeof(counts));
        for (int c = 0; c < COUNTS; c++)
            put_number(out, counts[c]);
    }

    const tune_prediction *const predicted = &row->predicted;
    put_number(out, predicted->us);
    for (int t = 0; t < TUNE_TERMS; t++)
        put_number(out, predicted->term[t]);
    put_number(out, predicted->bound);
    put_number(out, predicted->waves);
    put_number(out, predicted->occupancy);
    put_number(out, predicted->busy);
    put_number(out, predicted->inflight);
    put_number(out, predicted->needed);
    put_number(out, predicted->lanes);
    put_number(out, predicted->coalesced);
}

// What is left to read of a line, and whether all that was read is as it should be.
typedef struct {
    char *rest;
    bool ok;
} reader;

static const char *get_field(reader *line)
{
    const char *const field = strsep(&line->rest, "\t");
    line->ok = line->ok && field;
    return line->ok ? field : "";
}

static void get_text(reader *line, char *to, size_t size)
{
    size_t used = 0;
    for (const char *c = get_field(line); *c && used + 1 < size; c++) {
        const char *const letter = *c == '\\' && c[1] ? strchr(LETTER, c[1]) : NULL;
        to[used++] = letter ? SPECIAL[letter - LETTER] : *c;
        c += letter != NULL;
    }
    to[used] = '\0';
}

static double get_number(reader *line)
{
    const char *const field = get_field(line);
    char *end;
    const double value = strtod(field, &end);
    line->ok = line->ok && end != field && *end == '\0';
    return value;
}

// One that may be put in an integer; its fraction is lost.
static double get_in(reader *line, double least, double most)
{
    const double value = get_number(line);
    line->ok = line->ok && value >= least && value <= most;
    return line->ok ? value : 0;
}

static int get_int(reader *line)
{
    return (int)get_in(line, INT_MIN, INT_MAX);
}

static tune_status get_status(reader *line)
{
    const char *const field = get_field(line);
    for (size_t i = 0; i < TUNE_STATUSES; i++)
        if (strcmp(field, tune_status_name[i]) == 0)
            return (tune_status)i;
    line->ok = false;
    return TUNE_PENDING;
}

static bool get_row(reader *line, tune_row *row)
{
    row->status = get_status(line);
    get_text(line, row->reason, sizeof(row->reason));
    row->compile_ms = get_number(line);
    row->bytes = get_number(line);
    row->timed = get_in(line, 0, 1) != 0;
    row->us = get_number(line);
    row->first_us = get_number(line);
    row->least = get_number(line);
    row->spread = get_number(line);
    row->samples = get_int(line);
    row->rounds = get_int(line);

    row->kernels = (int)get_in(line, 0, TUNE_KERNELS);
    for (int k = 0; k < row->kernels; k++) {
        tune_kernel *const kernel = row->kernel + k;
        get_text(line, kernel->name, sizeof(kernel->name));
        get_text(line, kernel->symbol, sizeof(kernel->symbol));
        kernel->registers = get_int(line);
        kernel->static_shared = get_int(line);
        kernel->spill_stores = get_int(line);
        kernel->spill_loads = get_int(line);
        kernel->stack = get_int(line);
        kernel->most_threads = get_int(line);
        kernel->loop_instructions = get_int(line);
        kernel->loop_memory = get_int(line);
        kernel->loop_fma = get_int(line);
        kernel->inflight = get_int(line);
    }

    row->counted = get_in(line, 0, 1) != 0;
    row->launches = (int)get_in(line, 0, TUNE_LAUNCHES);
    for (int l = 0; l < row->launches; l++) {
        tune_launch *const launch = row->launch + l;
        double counts[COUNTS];
        get_text(line, launch->kernel, sizeof(launch->kernel));
        for (int d = 0; d < 3; d++)
            launch->grid[d] = (unsigned int)get_in(line, 0, UINT32_MAX);
        for (int d = 0; d < 3; d++)
            launch->block[d] = (unsigned int)get_in(line, 0, UINT32_MAX);
        launch->shared_bytes = (uint64_t)get_in(line, 0, 0x1p63);
        launch->moved_bytes = (uint64_t)get_in(line, 0, 0x1p63);
        launch->resident = get_int(line);
        get_text(line, launch->limited_by, sizeof(launch->limited_by));
        for (int c = 0; c < COUNTS; c++)
            counts[c] = get_number(line);
        memcpy(&launch->counts, counts, sizeof(counts));
    }

    tune_prediction *const predicted = &row->predicted;
    predicted->us = get_number(line);
    for (int t = 0; t < TUNE_TERMS; t++)
        predicted->term[t] = get_number(line);
    predicted->bound = (tune_term)get_in(line, 0, TUNE_TERMS - 1);
    predicted->waves = get_number(line);
    predicted->occupancy = get_number(line);
    predicted->busy = get_number(line);
    predicted->inflight = get_number(line);
    predicted->needed = get_number(line);
    predicted->lanes = get_number(line);
    predicted->coalesced = get_number(line);
    return line->ok;
}

// Takes in a line, without its end and with a zero there, which it changes. false: it is not whole,
// or not one of these. true of one with another key or of another version, too.
static bool take_line(tune_cache *cache, char *text, size_t bytes)
{
    char *const last = memrchr(text, '\t', bytes);
    char sum[20];
    if (!last)
        return false;
    snprintf(sum, sizeof(sum), "%016" PRIx64, checksum(text, (size_t)(last - text)));
    if (strcmp(last + 1, sum) != 0 || memchr(text, '\0', bytes))
        return false;

    *last = '\0';
    reader line = {.rest = text, .ok = true};
    const char *const word = get_field(&line);
    if (strcmp(word, WORD) != 0)
        return strncmp(word, KIND, strlen(KIND)) == 0;
    if (strcmp(get_field(&line), cache->key) != 0)
        return line.ok;
    if (cache->count == cache->room) {
        const size_t room = cache->room > 0 ? 2 * cache->room : 64;
        entry *const entries = realloc(cache->entries, room * sizeof(*entries));
        if (!entries)
            return false;
        cache->entries = entries;
        cache->room = room;
    }
    entry *const new = cache->entries + cache->count;
    memset(new, 0, sizeof(*new));
    const char *const setting = get_field(&line);
    if (!get_row(&line, &new->row) || line.rest)
        return false;
    new->setting = strdup(setting);
    if (new->setting)
        cache->count++;
    return new->setting != NULL;
}

// ---- The file -----------------------------------------------------------------------------------

// The setting by the knobs' names; a name is an identifier, so it needs no escape.
static char *setting_text(const tune_problem *problem, const tune_setting *setting)
{
    char *text = NULL;
    size_t bytes;
    FILE *const out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    for (int k = 0; k < problem->knobs; k++)
        fprintf(out, "%s%s=%ld", k > 0 ? " " : "", problem->knob[k].name, setting->value[k]);
    if (fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

// The folders that path is in.
static bool make_folders(const char *path)
{
    char *const folder = strdup(path);
    bool ok = folder != NULL;
    for (char *slash = folder; ok && (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = '\0';
        ok = mkdir(folder, 0777) == 0 || errno == EEXIST;
    }
    free(folder);
    return ok;
}

static bool ours(const char *text, size_t bytes)
{
    const size_t kind = strlen(KIND);
    if (bytes < kind)
        return strncmp(text, KIND, bytes) == 0; // empty, or cut short at once
    for (const char *line = text; line && (size_t)(text + bytes - line) >= kind;) {
        if (memcmp(line, KIND, kind) == 0)
            return true;
        line = memchr(line, '\n', (size_t)(text + bytes - line));
        line = line ? line + 1 : NULL;
    }
    return false;
}

static char *read_file(int file, size_t *bytes)
{
    struct stat found;
    if (fstat(file, &found) != 0)
        return NULL;
    char *const text = malloc((size_t)found.st_size + 1);
    *bytes = 0;
    while (text && *bytes < (size_t)found.st_size) {
        const ssize_t got = read(file, text + *bytes, (size_t)found.st_size - *bytes);
        if (got < 0 && errno != EINTR) {
            free(text);
            return NULL;
        }
        if (got == 0)
            break;
        *bytes += got > 0 ? (size_t)got : 0;
    }
    if (text)
        text[*bytes] = '\0';
    return text;
}

tune_cache *tune_cache_open(const char *path, const char *key, size_t *skipped, char *message,
                            size_t size)
{
    static const char advice[] = "give --cache another file, or take --no-cache";
    struct stat found;
    *skipped = 0;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        snprintf(message, size, "the cache %s is %s: %s", path,
                 S_ISDIR(found.st_mode) ? "a folder" : "not a file", advice);
        return NULL;
    }
    tune_cache *const cache = calloc(1, sizeof(*cache));
    char *text = NULL;
    size_t bytes = 0, key_bytes;
    if (cache) {
        FILE *const out = open_memstream(&cache->key, &key_bytes);
        cache->file = -1;
        if (out) {
            put_text(out, key);
            if (fclose(out) == 0)
                cache->key[key_bytes - 1] = '\0'; // the tab
        }
    }
    if (!cache || !cache->key) {
        snprintf(message, size, "the cache %s cannot be opened: out of memory", path);
    } else if (!make_folders(path) ||
               (cache->file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) < 0) {
        snprintf(message, size, "the cache %s cannot be opened: %s; %s", path, strerror(errno),
                 advice);
    } else if (!(text = read_file(cache->file, &bytes))) {
        snprintf(message, size, "the cache %s cannot be read: %s; %s", path, strerror(errno),
                 advice);
    } else if (!ours(text, bytes)) {
        snprintf(message, size,
                 "%s is not a cache of coarsen-tune, and is left as it is: give --cache another "
                 "file",
                 path);
    } else {
        for (char *line = text, *end; line < text + bytes; line = end + 1) {
            end = memchr(line, '\n', (size_t)(text + bytes - line));
            end = end ? end : text + bytes;
            *end = '\0';
            if (end > line && !take_line(cache, line, (size_t)(end - line)))
                ++*skipped;
        }
        free(text);
        return cache;
    }
    free(text);
    tune_cache_close(cache);
    return NULL;
}

bool tune_cache_find(tune_cache *cache, const tune_problem *problem, tune_row *row)
{
    char *const setting = setting_text(problem, &row->setting);
    bool found = false;
    for (size_t i = cache->count; setting && !found && i-- > 0;) {
        found = strcmp(cache->entries[i].setting, setting) == 0;
        if (found) {
            const tune_setting kept = row->setting;
            *row = cache->entries[i].row;
            row->setting = kept;
            row->cached = true;
        }
    }
    free(setting);
    return found;
}

bool tune_cache_add(tune_cache *cache, const tune_problem *problem, const tune_row *row)
{
    char *const setting = setting_text(problem, &row->setting);
    char *text = NULL;
    size_t bytes;
    FILE *const out = open_memstream(&text, &bytes);
    if (!setting || !out) {
        if (out)
            fclose(out);
        free(text);
        free(setting);
        return false;
    }
    fprintf(out, "\n%s\t%s\t%s\t", WORD, cache->key, setting);
    put_row(out, row);
    fflush(out);
    bool ok = !ferror(out);
    if (ok)
        fprintf(out, "%016" PRIx64 "\n", checksum(text + 1, bytes - 2)); // up to the last tab
    ok = fclose(out) == 0 && ok;

    // The end of line at the front is for a line that another writer was killed in.
    const bool locked = flock(cache->file, LOCK_EX) == 0;
    struct stat found;
    char last = '\n';
    ok = ok && fstat(cache->file, &found) == 0 &&
         (found.st_size == 0 || pread(cache->file, &last, 1, found.st_size - 1) == 1);
    const char *next = text + (last == '\n');
    while (ok && next < text + bytes) {
        const ssize_t written = write(cache->file, next, (size_t)(text + bytes - next));
        ok = written >= 0 || errno == EINTR;
        next += written > 0 ? written : 0;
    }
    if (locked)
        flock(cache->file, LOCK_UN);

    if (ok) { // as if it had been there before
        text[bytes - 1] = '\0';
        ok = take_line(cache, text + 1, bytes - 2);
    }
    free(text);
    free(setting);
    return ok;
}

void tune_cache_close(tune_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        free(cache->entries[i].setting);
    free(cache->entries);
    if (cache->file >= 0)
        close(cache->file);
    free(cache->key);
    free(cache);
}
