// SPDX-License-Identifier: MIT
//
// The data of the buffers: what kinds there are, in parts as in one go, and from files; and the
// comparison.

#include "../../bench/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"

// Elements, enough for several threads and no whole number of chunks; and to what they rise.
enum { MANY = (1 << 22) + 12345, MOST = 1 << 30 };

static char message[1024], path[] = "/tmp/coarsen-data-test-XXXXXX.npy";

static tune_problem problem_of(const char *type, tune_data data)
{
    tune_problem problem = {.data = data, .buffers = 3};
    const tune_role roles[] = {TUNE_OUT, TUNE_IN, TUNE_IN};
    for (int b = 0; b < 3; b++) {
        problem.buffer[b].role = roles[b];
        snprintf(problem.buffer[b].type, sizeof(problem.buffer[b].type), "%s", type);
        snprintf(problem.buffer[b].name, sizeof(problem.buffer[b].name), "buffer%d", b);
    }
    snprintf(problem.data_file, sizeof(problem.data_file), "%s", path);
    return problem;
}

static int fill(const tune_problem *problem, int buffer, void *to, size_t first, size_t elements,
                size_t item)
{
    *message = 0;
    return tune_data_fill(problem, buffer, to, first, elements, item, MANY, MOST, message,
                          sizeof(message));
}

// ---- Kinds -------------------------------------------------------------------------------------

static void test_kinds(void)
{
    float *const f = malloc(MANY * sizeof(*f)), *const part = malloc(MANY * sizeof(*part));
    unsigned char *const u = malloc(MANY);
    int *const k = malloc(MANY * sizeof(*k));
    if (!f || !part || !u || !k)
        abort();

    tune_problem p = problem_of("float", TUNE_UNIFORM);
    fill(&p, 1, f, 0, MANY, 4);
    double sum = 0, least = 1, most = -1;
    for (size_t i = 0; i < MANY; i++)
        sum += f[i], least = fmin(least, f[i]), most = fmax(most, f[i]);
    tap_ok(fabs(sum / MANY) < 0.005 && least >= -1 && least < -0.99 && most < 1 && most > 0.99,
           "uniform floats from %g to %g, mean %g", least, most, sum / MANY);
    fill(&p, 2, part, 0, MANY, 4);
    size_t same = 0;
    for (size_t i = 0; i < MANY; i++)
        same += f[i] == part[i];
    tap_ok(same < 100, "another buffer has other data: %zu elements are the same", same);

    static const tune_data kinds[] = {TUNE_UNIFORM, TUNE_SKEWED, TUNE_ONE, TUNE_RUNS};
    for (size_t d = 0; d < 4; d++) {
        p.data = kinds[d];
        fill(&p, 1, f, 0, MANY, 4);
        fill(&p, 1, part, 0, 70001, 4);
        fill(&p, 1, part + 70001, 70001, 100000, 4);
        fill(&p, 1, part + 170001, 170001, MANY - 170001, 4);
        tap_ok(memcmp(f, part, MANY * sizeof(*f)) == 0, "kind %zu in parts is as in one go", d);
    }
    size_t runs = 1, longest = 1, run = 1;
    for (size_t i = 1; i < MANY; i++) {
        run = f[i] == f[i - 1] ? run + 1 : 1;
        runs += run == 1;
        longest = run > longest ? run : longest;
    }
    tap_ok(longest >= 60 && longest <= 128 && fabs((double)MANY / (double)runs - 32.5) < 1,
           "runs of %g in the mean, %zu at most", (double)MANY / (double)runs, longest);

    p = problem_of("unsigned char", TUNE_SKEWED);
    fill(&p, 1, u, 0, MANY, 1);
    size_t zeros = 0, high = 0;
    for (size_t i = 0; i < MANY; i++)
        zeros += u[i] == 0, high += u[i] > 250;
    tap_ok(fabs((double)zeros / MANY - 0.5) < 0.01 && high > 0,
           "skewed: %g of the bytes are one value, %zu are above 250", (double)zeros / MANY, high);
    p.data = TUNE_UNIFORM;
    fill(&p, 1, u, 0, MANY, 1);
    size_t count[256] = {0}, few = MANY;
    for (size_t i = 0; i < MANY; i++)
        count[u[i]]++;
    for (int b = 0; b < 256; b++)
        few = count[b] < few ? count[b] : few;
    tap_ok(few > MANY / 256 * 0.95, "uniform bytes: each value at least %zu times", few);

    p = problem_of("int", TUNE_UNIFORM);
    fill(&p, 1, k, 0, MANY, 4);
    int from = 0, to = 0;
    for (size_t i = 0; i < MANY; i++)
        from = k[i] < from ? k[i] : from, to = k[i] > to ? k[i] : to;
    tap_ok(from == -1000 && to == 1000, "ints from %d to %d", from, to);
    p.data = TUNE_ONE;
    fill(&p, 1, k, 5, MANY, 4);
    tap_ok(k[0] == k[1] && memcmp(k, k + 1, (MANY - 1) * sizeof(*k)) == 0, "one value: %d", k[0]);
    // Numbers that rise to MOST, in parts as in one go.
    for (size_t d = 0; d < 4; d++) {
        p = problem_of("int", kinds[d]);
        strcpy(p.buffer[1].most, "m");
        fill(&p, 1, k, 0, MANY, 4);
        fill(&p, 1, part, 0, 70001, 4);
        fill(&p, 1, (int *)part + 70001, 70001, MANY - 70001, 4);
        size_t falls = 0, equal = 0;
        int widest = 0;
        for (size_t i = 1; i < MANY; i++) {
            falls += k[i] < k[i - 1], equal += k[i] == k[i - 1];
            widest = k[i] - k[i - 1] > widest ? k[i] - k[i - 1] : widest;
        }
        const double mean = (double)MOST / MANY;
        const bool is = d == 0   ? widest > 1.9 * mean && widest <= 2 * mean + 1
                        : d == 1 ? k[MANY / 2] < MOST / 250 && widest < 9 * mean
                        : d == 2 ? equal == MANY - 2
                                 : equal > MANY * 0.9;
        tap_ok(k[0] == 0 && k[MANY - 1] == MOST && falls == 0 && is &&
                   memcmp(k, part, MANY * sizeof(*k)) == 0,
               "kind %zu rises, by %d at most, and %zu are as the one before", d, widest, equal);
    }
    p = problem_of("short", TUNE_UNIFORM);
    strcpy(p.buffer[1].most, "m");
    tap_ok(!fill(&p, 1, k, 0, 10, 2) &&
               strstr(message, "buffer1 rises to 1073741824, which is no short"),
           "too far: %s", message);
    p = problem_of("float", TUNE_UNIFORM);
    strcpy(p.buffer[1].most, "m");
    tap_ok(!fill(&p, 1, k, 0, 10, 4), "only whole numbers rise: %s", message);
    p = problem_of("struct pixel", TUNE_UNIFORM);
    fill(&p, 1, u, 0, MANY / 12, 12);
    tap_ok(memcmp(u, u + 12, 12) != 0 && memcmp(u, u + 4, 4) != 0, "another type: bytes");
    free(f);
    free(part);
    free(u);
    free(k);
}

// ---- Files -------------------------------------------------------------------------------------

static void write_file(const void *data, size_t bytes)
{
    FILE *const out = fopen(path, "wb");
    if (!out || fwrite(data, 1, bytes, out) != bytes || fclose(out) != 0)
        abort();
}

// Of so many elements that count from 0.
static void write_npy(const char *descr, const void *data, size_t count, size_t bytes)
{
    char file[1024] = "\x93NUMPY\x01\x00\x76\x00", header[128];
    const int length =
        snprintf(header, sizeof(header),
                 "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }", descr, count);
    memset(file + 10, ' ', 118);
    memcpy(file + 10, header, (size_t)length);
    memcpy(file + 128, data, bytes);
    write_file(file, 128 + bytes);
}

static int check(const char *type, uint64_t *elements)
{
    const tune_problem p = problem_of(type, TUNE_FILE);
    *message = 0;
    return tune_data_check(&p, elements, message, sizeof(message));
}

static void test_files(void)
{
    const int fd = mkstemps(path, 4);
    if (fd < 0)
        abort();
    close(fd);
    static const float three[] = {1, 2, 3};
    float f[8];
    uint64_t n;
    tune_problem p = problem_of("float", TUNE_FILE);
    write_npy("<f4", three, 3, sizeof(three));
    int ok = check("float", &n);
    tap_ok(ok && n == 3, ".npy: %llu elements: %s", (unsigned long long)n, message);
    tap_ok(fill(&p, 1, f, 2, 8, 4) && f[0] == 3 && f[1] == 1 && f[3] == 3 && f[7] == 1,
           ".npy: again from its start, from the third element on: %s", message);
    tap_ok(fill(&p, 2, f, 0, 8, 4) && f[0] != 1 && f[0] < 1, "the second input is not the file's");
    tap_ok(!check("int", &n) && strstr(message, "f4 (float)") && strstr(message, "of int") &&
               strstr(message, path),
           "another type: %s", message);
    tap_ok(!check("double", &n) && strstr(message, "of double"), "another width: %s", message);
    write_npy("|u1", three, 3, 3);
    tap_ok(!check("unsigned char", &n) && strstr(message, "tofile"), "bytes: %s", message);
    write_npy("<f4", three, 0, 0);
    tap_ok(!check("float", &n) && strstr(message, "no elements"), "nothing: %s", message);

    unlink(path);
    tap_ok(!check("float", &n) && strstr(message, "No such file"), "missing: %s", message);
    path[strlen(path) - 1] = 'x';
    p = problem_of("float", TUNE_FILE);
    tap_ok(!check("float", &n) && strstr(message, "No such file"), "missing: %s", message);
    write_file("", 0);
    tap_ok(!check("float", &n) && strstr(message, "empty"), "empty: %s", message);
    write_file(three, sizeof(three));
    ok = check("float", &n);
    tap_ok(ok && n == 3, "bytes: %llu elements: %s", (unsigned long long)n, message);
    tap_ok(fill(&p, 1, f, 1, 8, 4) && f[0] == 2 && f[1] == 3 && f[2] == 1 && f[7] == 3,
           "bytes: again from their start: %s", message);
    tap_ok(!check("double", &n) && strstr(message, "12 bytes") && strstr(message, "double"),
           "no whole number: %s", message);
    tap_ok(check("struct pixel", &n) && n == 0, "another type: its size isn't known here");
    unlink(path);
    snprintf(p.data_file, sizeof(p.data_file), "/tmp");
    tap_ok(!tune_data_check(&p, &n, message, sizeof(message)) && strstr(message, "no file"),
           "a folder: %s", message);
}

// ---- Comparison --------------------------------------------------------------------------------

static int same(const char *type, const void *got, const void *want, size_t n, size_t item,
                double tolerance, const char *why)
{
    tune_problem p = {.buffer = {{.role = TUNE_OUT}}};
    tune_row row = {.status = TUNE_OK};
    size_t first;
    bool real;
    snprintf(p.buffer[0].type, sizeof(p.buffer[0].type), "%s", type);
    const int equal = tune_data_compare(type, got, want, n, item, tolerance, &first);
    if (!equal) {
        const size_t at = first * tune_data_part(type, item, &real);
        tune_data_wrong(&p, 0, item, first, (const char *)got + at, (const char *)want + at,
                        n * item - at, "K=1", "", &row);
    }
    if (!strcmp(row.reason, why))
        return equal == !*why && row.status == (equal ? TUNE_OK : TUNE_WRONG);
    tap_diag("\"%s\", not \"%s\"", row.reason, why);
    return 0;
}

static void test_comparison(void)
{
    static const int i[] = {1, 2, -3}, j[] = {1, 2, 7};
    static const unsigned char b[] = {200, 1, 2}, c[] = {200, 1, 3};
    tap_ok(same("int", i, i, 3, 4, 0, "") && same("int", i, j, 3, 4, 99, "[2] is -3, not 7") &&
               same("int", i, j, 2, 4, 0, "") && same("int", i, j, 0, 4, 0, ""),
           "integers are compared exactly");
    tap_ok(same("unsigned char", c, b, 3, 1, 0, "[2] is 3, not 2") &&
               same("signed char", b, (char[]){0}, 1, 1, 0, "[0] is -56, not 0"),
           "bytes, with their sign");
    tap_ok(same("struct pair", i, j, 1, 12, 0,
                "[0] is 0x0100000002000000fdffffff, not "
                "0x010000000200000007000000"),
           "another type is bytes");

    static const float f[] = {100, 1, -2}, g[] = {100, 1.0009f, -2}, h[] = {100, 1.01f, -2};
    tap_ok(same("float", f, g, 3, 4, -1, "") &&
               same("float", f, h, 3, 4, -1, "[1] is 1, not 1.00999999"),
           "1e-5 of the greatest");
    tap_ok(same("float", f, h, 3, 4, 0.02, "") &&
               same("float", f, g, 3, 4, 0, "[1] is 1, not 1.00090003"),
           "an absolute tolerance");
    const double nan_ = NAN, inf = INFINITY, one = 1, down = -INFINITY;
    tap_ok(same("double", &nan_, &nan_, 1, 8, 0, "") &&
               same("double", &nan_, &one, 1, 8, 1e300, "[0] is nan, not 1") &&
               same("double", &one, &nan_, 1, 8, 1e300, "[0] is 1, not nan"),
           "NaN is NaN alone");
    tap_ok(same("double", &inf, &inf, 1, 8, 0, "") &&
               same("double", &inf, &one, 1, 8, INFINITY, "[0] is inf, not 1") &&
               same("double", &inf, &down, 1, 8, 1e300, "[0] is inf, not -inf"),
           "so is infinity");

    static const unsigned char left[] = {0xa5, 0xa5, 0xa5, 0xa5}, r[] = {0xa5, 1, 0xa5, 0xa5};
    tap_ok(same("unsigned char", left, b, 3, 1, 0, "left [0] unwritten") &&
               same("unsigned char", r, b, 3, 1, 0, "[0] is 165, not 200") &&
               same("unsigned char", left, b, 1, 1, 0, "[0] is 165, not 200") &&
               same("int", left, j, 1, 4, 0, "left [0] unwritten"),
           "what was left unwritten; a byte may have that value");
    tap_ok(same("int", j, left, 1, 4, 0,
                "[0] is 1, which the reference, K=1, left unwritten: is the grid right for it?"),
           "the reference left it so");
}

int main(void)
{
    test_kinds();
    test_files();
    test_comparison();
    return tap_done();
}
