// SPDX-License-Identifier: MIT
//
// The data of the buffers, and the comparison of two results. An element depends on its seed and
// its place alone, so that any number of threads may make any part of it; of numbers that rise, also
// on how many there are and to what.

#include "tune.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../examples/npy.h"

// ---- Types --------------------------------------------------------------------------------------

typedef enum { BYTES, REAL, SIGNED, UNSIGNED, FLAG } kind;

static const struct {
    const char *name;
    kind of;
    size_t item;
} types[] = {
    {"float", REAL, 4},
    {"double", REAL, 8},
    {"char", SIGNED, 1},
    {"signed char", SIGNED, 1},
    {"int8_t", SIGNED, 1},
    {"short", SIGNED, 2},
    {"int16_t", SIGNED, 2},
    {"int", SIGNED, 4},
    {"int32_t", SIGNED, 4},
    {"long", SIGNED, 8},
    {"long long", SIGNED, 8},
    {"int64_t", SIGNED, 8},
    {"unsigned char", UNSIGNED, 1},
    {"uint8_t", UNSIGNED, 1},
    {"unsigned short", UNSIGNED, 2},
    {"uint16_t", UNSIGNED, 2},
    {"unsigned", UNSIGNED, 4},
    {"unsigned int", UNSIGNED, 4},
    {"uint32_t", UNSIGNED, 4},
    {"unsigned long", UNSIGNED, 8},
    {"unsigned long long", UNSIGNED, 8},
    {"uint64_t", UNSIGNED, 8},
    {"size_t", UNSIGNED, 8},
    {"bool", FLAG, 1},
    // Of CUDA's vectors, without the number.
    {"uchar", UNSIGNED, 1},
    {"ushort", UNSIGNED, 2},
    {"uint", UNSIGNED, 4},
    {"ulong", UNSIGNED, 8},
    {"longlong", SIGNED, 8},
    {"ulonglong", UNSIGNED, 8},
};

// Its place in the table, or -1; *parts: 4 of a float4.
static int type_of(const char *type, size_t *parts)
{
    const size_t length = strlen(type);
    const char last = length > 0 ? type[length - 1] : 0;
    *parts = 1;
    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
        if (!strcmp(types[t].name, type))
            return (int)t;
        if (last >= '1' && last <= '4' && strlen(types[t].name) == length - 1 &&
            !strncmp(types[t].name, type, length - 1)) {
            *parts = (size_t)(last - '0');
            return (int)t;
        }
    }
    return -1;
}

// Bytes of one, or 0 where the table does not know it.
static size_t item_of(const char *type)
{
    size_t parts;
    const int t = type_of(type, &parts);
    return t < 0 ? 0 : types[t].item * parts;
}

// *part: the bytes of what has that kind. A type whose size isn't the table's is another of that
// name: bytes.
static kind kind_of(const char *type, size_t item, size_t *part)
{
    size_t parts;
    const int t = type_of(type, &parts);
    const bool known = t >= 0 && types[t].item * parts == item;
    *part = known ? types[t].item : item;
    return known ? types[t].of : BYTES;
}

size_t tune_data_part(const char *type, size_t item, bool *floating)
{
    size_t part;
    *floating = kind_of(type, item, &part) == REAL;
    return part;
}

// ---- Values -------------------------------------------------------------------------------------

enum { CHUNK = 1 << 16, RUN = 64, THREADS = 64 };

// 64 random bits (the finaliser of SplitMix64).
static uint64_t random_bits(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// The element for those bits: real numbers in [-1, 1), signed ones in [-1000, 1000] (of 8 bits
// [-100, 100]), unsigned ones of all values. skewed: the eighth power of a number in [0, 1), on
// that range, so that the least 1/256 of it gets half of the elements.
static void put(void *to, kind of, size_t item, uint64_t bits, bool skewed)
{
    // No more bits than the type has, as rounding could make it 1.
    double u = of == REAL && item == 4 ? (double)(bits >> 40) / 16777216.0          // 2^24
                                       : (double)(bits >> 11) / 9007199254740992.0; // 2^53
    if (skewed)
        u *= u, u *= u, u *= u;
    if (of == REAL) {
        const double x = 2 * u - 1;
        const float f = (float)x;
        memcpy(to, item == 4 ? (const void *)&f : (const void *)&x, item);
        return;
    }
    if (of == SIGNED) {
        const int most = item == 1 ? 100 : 1000;
        const int64_t x = (int64_t)(u * (2 * most + 1)) - most;
        memcpy(to, &x, item); // little-endian
        return;
    }
    if (of == FLAG) {
        *(char *)to = u >= 0.5;
        return;
    }
    if (of == UNSIGNED && skewed)
        bits = (uint64_t)(u * 18446744073709551616.0); // 2^64
    // The high bits: as they are for one element, stirred on for what is longer.
    for (size_t b = 0; b < item; b += 8, bits = random_bits(bits, b)) {
        const size_t part = item - b < 8 ? item - b : 8;
        const uint64_t high = bits >> (64 - 8 * part);
        memcpy((char *)to + b, &high, part);
    }
}

// Element i of count numbers that rise from 0 to `most`: how far from one to the next, varies by up to
// twice the mean. skewed: the eighth power of where it is, so that half of them are in the least 1/256.
static void put_rising(void *to, size_t item, uint64_t i, size_t count, uint64_t most,
                       uint64_t bits, tune_data data)
{
    const double u = data == TUNE_UNIFORM ? (double)(bits >> 11) / 9007199254740992.0 : 0; // 2^53
    double at = count > 1 ? ((double)i + u) / (double)(count - 1) : 0;
    if (data == TUNE_SKEWED)
        at *= at, at *= at, at *= at;
    uint64_t x = (uint64_t)(at * (double)most);
    if (i == 0 || i + 1 >= count || x > most)
        x = i == 0 ? 0 : most;
    memcpy(to, &x, item); // little-endian
}

typedef struct {
    tune_data data;
    kind of;
    size_t first, elements, item;
    size_t count; // of numbers that rise to `most`; else 0
    uint64_t most, seed;
    char *to;
    size_t next; // chunk, taken by one thread at a time
} filling;

// A run ends where its chunk does, so that no chunk needs another.
static void fill_chunk(const filling *f, size_t chunk)
{
    const size_t last = f->first + f->elements;
    const size_t end = last - chunk * CHUNK < CHUNK ? last : (chunk + 1) * CHUNK;
    size_t run = chunk * CHUNK, run_end = run;
    for (size_t i = run; i < end; i++) {
        uint64_t at = i;
        if (f->data == TUNE_ONE)
            at = 0;
        if (f->data == TUNE_RUNS) {
            if (i == run_end) {
                run = i;
                run_end = i + 1 + random_bits(~f->seed, i) % RUN;
            }
            at = run;
        }
        if (i >= f->first && f->count > 0)
            put_rising(f->to + (i - f->first) * f->item, f->item, i + 1 < f->count ? at : i,
                       f->count, f->most, random_bits(f->seed, at), f->data);
        else if (i >= f->first)
            put(f->to + (i - f->first) * f->item, f->of, f->item, random_bits(f->seed, at),
                f->data == TUNE_SKEWED);
    }
}

static void *fill_chunks(void *argument)
{
    filling *const f = (filling *)argument;
    const size_t last = (f->first + f->elements - 1) / CHUNK;
    size_t chunk;
    while ((chunk = __atomic_fetch_add(&f->next, 1, __ATOMIC_RELAXED)) <= last)
        fill_chunk(f, chunk);
    return NULL;
}

// ---- Files --------------------------------------------------------------------------------------

// The buffer that gets the file: the first that has data.
static int file_buffer(const tune_problem *problem)
{
    for (int b = 0; b < problem->buffers; b++)
        if (problem->buffer[b].role == TUNE_IN || problem->buffer[b].role == TUNE_INOUT)
            return b;
    return -1;
}

static bool is_npy(const char *path)
{
    const size_t length = strlen(path);
    return length >= 4 && !strcmp(path + length - 4, ".npy");
}

// The whole of a .npy file, which must have the buffer's type.
static bool read_npy(const tune_problem *problem, const tune_buffer *buffer, npy_array *array,
                     char *message, size_t size)
{
    static const char *const names[] = {"f4 (float)", "f8 (double)", "i4 (int)", "i8 (long long)"};
    const char *const path = problem->data_file;
    char error[NPY_ERROR];
    if (!npy_read(path, array, error))
        return tune_fail(message, size, "%s%s", error,
                         strstr(error, "elements are")
                             ? "; or give the elements alone, as a.tofile(path) writes them"
                             : "");
    const size_t have = npy_item_bytes(array->type);
    const kind of = array->type == NPY_F4 || array->type == NPY_F8 ? REAL : SIGNED;
    size_t part;
    if (kind_of(buffer->type, have, &part) != of || part != have) {
        npy_free(array);
        return tune_fail(message, size,
                         "%s: its elements are %s, and \"%s\" is of %s: convert it with a.astype()",
                         path, names[array->type], buffer->name, buffer->type);
    }
    if (array->count == 0) {
        npy_free(array);
        return tune_fail(message, size, "%s: it has no elements", path);
    }
    return true;
}

// `bytes` of the file's bytes from `from` on, and from its beginning again where it ends; its
// size in *all.
static bool read_raw(const tune_problem *problem, size_t from, char *to, size_t bytes, size_t *all,
                     char *message, size_t size)
{
    const char *const path = problem->data_file;
    FILE *const in = fopen(path, "rb");
    struct stat info;
    if (!in)
        return tune_fail(message, size, "%s: cannot open it: %s", path, strerror(errno));
    bool ok = fstat(fileno(in), &info) == 0;
    if (!ok)
        tune_fail(message, size, "%s: cannot read it: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        ok = tune_fail(message, size,
                       "%s: it is no file; give one with the elements' bytes, or a .npy", path);
    else if (info.st_size == 0)
        ok = tune_fail(message, size, "%s: the file is empty", path);
    *all = ok ? (size_t)info.st_size : 1;
    for (size_t done = 0; ok && done < bytes;) {
        const size_t at = (from + done) % *all;
        const size_t part = *all - at < bytes - done ? *all - at : bytes - done;
        if (fseeko(in, (off_t)at, SEEK_SET) != 0 || fread(to + done, 1, part, in) != part)
            ok = tune_fail(message, size, "%s: cannot read all of it: %s", path,
                           ferror(in) ? strerror(errno) : "it has become shorter");
        done += part;
    }
    fclose(in);
    return ok;
}

static bool whole(const tune_problem *problem, const tune_buffer *buffer, size_t item, size_t all,
                  char *message, size_t size)
{
    if (item && all % item)
        return tune_fail(message, size,
                         "%s: its %zu bytes are no whole number of %s, of %zu bytes each",
                         problem->data_file, all, buffer->type, item);
    return true;
}

bool tune_data_check(const tune_problem *problem, uint64_t *elements, char *message, size_t size)
{
    *elements = 0;
    if (problem->data != TUNE_FILE)
        return true;
    const int b = file_buffer(problem);
    if (b < 0)
        return tune_fail(message, size, "%s: no buffer is read, so that it has nothing to fill",
                         problem->data_file);
    const tune_buffer *const buffer = &problem->buffer[b];
    const size_t item = item_of(buffer->type);
    size_t all;
    npy_array array;
    if (is_npy(problem->data_file)) {
        if (!read_npy(problem, buffer, &array, message, size))
            return false;
        *elements = array.count;
        npy_free(&array);
        return true;
    }
    if (!read_raw(problem, 0, NULL, 0, &all, message, size) ||
        !whole(problem, buffer, item, all, message, size))
        return false;
    *elements = item ? all / item : 0;
    return true;
}

static bool fill_from_file(const tune_problem *problem, const tune_buffer *buffer, char *to,
                           size_t first, size_t elements, size_t item, char *message, size_t size)
{
    size_t all;
    npy_array array;
    if (!is_npy(problem->data_file))
        return read_raw(problem, 0, NULL, 0, &all, message, size) &&
               whole(problem, buffer, item, all, message, size) &&
               read_raw(problem, first % (all / item) * item, to, elements * item, &all, message,
                        size);
    if (!read_npy(problem, buffer, &array, message, size))
        return false;
    for (size_t done = 0, part; done < elements; done += part) {
        const size_t at = (first + done) % array.count;
        part = array.count - at < elements - done ? array.count - at : elements - done;
        memcpy(to + done * item, (char *)array.data + at * item, part * item);
    }
    npy_free(&array);
    return true;
}

bool tune_data_fill(const tune_problem *problem, int b, void *to, size_t first, size_t elements,
                    size_t item, size_t count, uint64_t most, char *message, size_t size)
{
    const tune_buffer *const buffer = &problem->buffer[b];
    if (elements == 0)
        return true;
    if (problem->data == TUNE_FILE && b == file_buffer(problem))
        return fill_from_file(problem, buffer, (char *)to, first, elements, item, message, size);

    filling f;
    f.data = problem->data == TUNE_FILE ? TUNE_UNIFORM : problem->data;
    f.of = kind_of(buffer->type, item, &f.item);
    f.first = first * (item / f.item), f.elements = elements * (item / f.item);
    f.next = f.first / CHUNK;
    f.count = *buffer->most ? count : 0;
    f.most = most;
    f.seed = (uint64_t)b + 1;
    const size_t bits = f.of == SIGNED ? 8 * f.item - 1 : f.of == UNSIGNED ? 8 * f.item : 0;
    if (f.count > 0 && bits < 64 && most >> bits > 0)
        return tune_fail(message, size, "%s rises to %llu, which is no %s", buffer->name,
                         (unsigned long long)most, buffer->type);
    f.to = (char *)to;
    // Threads that can't be had are not needed: this one takes what is left.
    pthread_t thread[THREADS];
    long wanted = f.elements > (size_t)1 << 22 ? sysconf(_SC_NPROCESSORS_ONLN) - 1 : 0;
    int threads = 0;
    while (threads < wanted && threads < THREADS &&
           pthread_create(&thread[threads], NULL, fill_chunks, &f) == 0)
        threads++;
    fill_chunks(&f);
    while (threads > 0)
        pthread_join(thread[--threads], NULL);
    return true;
}

// ---- Comparison ---------------------------------------------------------------------------------

static double real(const void *array, size_t i, size_t item)
{
    double d;
    float f;
    if (item == 8) {
        memcpy(&d, (const char *)array + i * 8, 8);
        return d;
    }
    memcpy(&f, (const char *)array + i * 4, 4);
    return f;
}

// Of an array of numbers, or of bytes, of which 16 are shown.
static void print_element(char *to, size_t size, const void *array, size_t i, kind of, size_t item)
{
    const unsigned char *const at = (const unsigned char *)array + i * item;
    uint64_t bits = 0;
    if (of == REAL) {
        snprintf(to, size, "%.*g", item == 4 ? 9 : 17, real(array, i, item));
    } else if (of == BYTES) {
        size_t length = (size_t)snprintf(to, size, "0x");
        for (size_t b = 0; b < item && b < 16 && length < size; b++)
            length += (size_t)snprintf(to + length, size - length, "%02x", at[b]);
    } else {
        memcpy(&bits, at, item);
        const unsigned int shift = 64 - 8 * (unsigned int)item;
        if (of == SIGNED)
            snprintf(to, size, "%lld", (long long)(bits << shift) >> shift);
        else
            snprintf(to, size, "%llu", (unsigned long long)bits);
    }
}

bool tune_data_compare(const char *type, const void *got, const void *want, size_t elements,
                       size_t item, double tolerance, size_t *first)
{
    size_t i = 0, part;
    const kind of = kind_of(type, item, &part);
    const size_t parts = item / part;
    if (elements == 0 || memcmp(got, want, elements * item) == 0)
        return true;
    elements *= parts;
    item = part;
    if (of == REAL) {
        if (tolerance < 0) {
            double greatest = 0;
            for (size_t j = 0; j < elements; j++) {
                const double x = fabs(real(want, j, item));
                if (isfinite(x) && x > greatest)
                    greatest = x;
            }
            tolerance = 1e-5 * greatest;
        }
        for (; i < elements; i++) {
            const double g = real(got, i, item), w = real(want, i, item);
            // An infinity equals itself, but its difference to itself is no number.
            if (!(g == w || fabs(g - w) <= tolerance || (isnan(g) && isnan(w))) ||
                (isinf(g) && !isinf(w)) || (isinf(w) && !isinf(g)))
                break;
        }
        if (i == elements)
            return true;
    } else {
        while (memcmp((const char *)got + i * item, (const char *)want + i * item, item) == 0)
            i++;
    }
    *first = i;
    return false;
}

// Whether a part is as an output is filled at first (unit/count.h, gpu.c). One of fewer than 4 bytes
// may well have that value, unless what follows it has it too.
static bool unwritten(const void *part, size_t item, size_t bytes)
{
    const size_t most = item < 4 ? 4 : item, all = bytes < most ? bytes : most;
    size_t same = 0;
    while (same < all && ((const unsigned char *)part)[same] == 0xa5)
        same++;
    return all > 1 && same == all;
}

void tune_data_wrong(const tune_problem *problem, int b, size_t item, uint64_t first,
                     const void *got, const void *want, size_t bytes, const char *by,
                     const char *sizes, tune_row *row)
{
    static const char *const names[] = {"", ".x", ".y", ".z", ".w"};
    const tune_buffer *const buffer = &problem->buffer[b];
    char is[64], not_[64], where[96];
    const size_t size = sizeof(row->reason);
    size_t part;
    const kind of = kind_of(buffer->type, item, &part);
    const size_t parts = item / part;
    const bool filled = buffer->role == TUNE_OUT; // else it has data at first
    snprintf(where, sizeof(where), "%s[%llu]%s", buffer->name, (unsigned long long)(first / parts),
             names[parts > 1 ? 1 + first % parts : 0]);
    print_element(is, sizeof(is), got, 0, of, part);
    print_element(not_, sizeof(not_), want, 0, of, part);
    const bool hole = filled && unwritten(want, part, bytes);
    row->status = TUNE_WRONG;
    row->unfounded = hole && !problem->reference;
    if (row->unfounded)
        snprintf(row->reason, size,
                 "%s is %s, which the reference, %s, left unwritten%s: is the grid right for it?",
                 where, is, by, sizes);
    else if (hole)
        snprintf(row->reason, size, "%s is %s, which the reference left unwritten%s", where, is,
                 sizes);
    else if (filled && unwritten(got, part, bytes))
        snprintf(row->reason, size, "left %s unwritten%s", where, sizes);
    else
        snprintf(row->reason, size, "%s is %s, not %s%s", where, is, not_, sizes);
}
