// SPDX-License-Identifier: MIT
//
// The settings, their order and the search; knobs and numbers as they are typed; and the problems
// that coarsen's patterns are. Linked with the tuner's parts.

#include "../../bench/tune/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

static tune_problem problem_of(const char *const *knobs)
{
    tune_problem problem = {.pattern = "test"};
    char message[512];
    for (; *knobs; knobs++)
        if (!tune_knob_parse(*knobs, &problem.knob[problem.knobs++], message, sizeof(message)))
            tap_ok(0, "%s: %s", *knobs, message);
    return problem;
}

static int same(const tune_problem *problem, const tune_setting *a, const tune_setting *b)
{
    return memcmp(a->value, b->value, (size_t)problem->knobs * sizeof(*a->value)) == 0;
}

// UINT64_MAX: it is none of the problem's.
static uint64_t index_of(const tune_problem *problem, const tune_setting *setting)
{
    const uint64_t count = tune_settings(problem);
    for (uint64_t i = 0; i < count; i++) {
        const tune_setting at = tune_setting_at(problem, i);
        if (same(problem, &at, setting))
            return i;
    }
    return UINT64_MAX;
}

// Both of the first two knobs even or both odd.
static void demand_alike(tune_problem *problem)
{
    static char text[160];
    snprintf(text, sizeof(text), "%s %% 2 == %s %% 2", problem->knob[0].name,
             problem->knob[1].name);
    problem->rule[0] = (tune_rule){.text = text};
    problem->rules = 1;
}

// ---- Settings -----------------------------------------------------------------------------------

static void test_settings(void)
{
    tune_problem problem = problem_of(
        (const char *[]){"BLOCK_DIM=64:1024:*2", "FLAG=0,1", "COARSE_FACTOR=1:7:+1", NULL});
    for (int restricted = 0; restricted < 2; restricted++) {
        if (restricted)
            demand_alike(&problem); // BLOCK_DIM is even: FLAG is 0
        const uint64_t count = tune_settings(&problem);
        bool once = true, all_legal = true;
        for (uint64_t i = 0; i < count; i++) {
            const tune_setting setting = tune_setting_at(&problem, i);
            once = once && index_of(&problem, &setting) == i;
            all_legal = all_legal && (!restricted || setting.value[1] == 0);
        }
        tap_ok(count == (restricted ? 35 : 70), "%llu settings", (unsigned long long)count);
        tap_ok(once && all_legal, "each is there once, and legal");
    }
    problem.rules = 0;

    tune_setting at = {{128, 1, 7}}, to = {{0}};
    tap_ok(tune_neighbour(&problem, &at, 0, 1, &to) && to.value[0] == 256 && to.value[1] == 1 &&
               to.value[2] == 7,
           "a neighbour differs in one knob");
    tap_ok(tune_neighbour(&problem, &at, 0, -1, &to) && to.value[0] == 64, "the one below");
    tap_ok(!tune_neighbour(&problem, &at, 2, 1, &to) && !tune_neighbour(&problem, &to, 0, -1, &to),
           "none past the ends");
    problem = problem_of((const char *[]){"A=1:6:+1", "B=1:6:+1", NULL});
    demand_alike(&problem);
    at = (tune_setting){{1, 3}};
    tap_ok(tune_neighbour(&problem, &at, 1, 1, &to) && to.value[1] == 5, "the next legal one");

    problem = problem_of((const char *[]){"COARSE_FACTOR=1,2,16", "BLOCK_DIM=64,1024", NULL});
    problem.knob[0].standard = 8;
    problem.knob[1].standard = 512;
    at = tune_standard(&problem);
    tap_ok(at.value[0] == 16 && at.value[1] == 1024, "the nearest to a default that is not there");
    demand_alike(&problem);
    problem.knob[0].value[2] = 17;
    at = tune_standard(&problem);
    tap_ok(at.value[0] == 2 && at.value[1] == 64, "the first, where that is not legal");

    char text[64], little[12];
    tune_setting_print(&problem, &at, text, sizeof(text));
    tune_setting_print(&problem, &at, little, sizeof(little));
    tap_ok(strcmp(text, "COARSE_FACTOR=2 BLOCK_DIM=64") == 0, "printed: %s", text);
    tap_ok(strcmp(little, "COARSE_FACT") == 0, "cut where there is no room");
    tap_ok(tune_coarseness(&problem, &at) == 2, "coarseness is the factor's");
    problem = problem_of((const char *[]){"BM=64", "TM=4", "TN=8", NULL});
    at = tune_setting_at(&problem, 0);
    tap_ok(tune_coarseness(&problem, &at) == 32, "of matmul, what a thread makes");
    problem = problem_of((const char *[]){"BLOCK=64", "ITEMS=3", "MORE=5", NULL});
    at = tune_setting_at(&problem, 0);
    tap_ok(tune_coarseness(&problem, &at) == 3, "else, the first knob that is not of blocks");
}

// ---- The search ---------------------------------------------------------------------------------

typedef double (*landscape)(const tune_setting *);

// Least, 1, where the knobs are 16, 512 and 3, with no other place that is low.
static double bowl(const tune_setting *s)
{
    const double a = log2((double)s->value[0] / 16), b = log2((double)s->value[1] / 512),
                 c = (double)s->value[2] - 3;
    return 1 + a * a + b * b + c * c + 0.3 * a * b;
}

// Two dips; the deeper one is not where the search begins.
static double dips(const tune_setting *s)
{
    const double a = log2((double)s->value[0]), b = log2((double)s->value[1] / 64);
    return fmin(5 + a * a + b * b, 1 + 3 * ((a - 5) * (a - 5) + (b - 4) * (b - 4))) +
           (double)s->value[2];
}

// Tries settings until the search has no more; how many. failing: every third fails.
static size_t run_search(const tune_problem *problem, landscape height, uint64_t budget,
                         size_t batch, bool failing, tune_row *rows, size_t room)
{
    tune_setting next[64];
    size_t count = 0, got;
    while ((got = tune_search_next(problem, rows, count, budget, next, batch)) > 0)
        for (size_t i = 0; i < got && count < room; i++, count++) {
            rows[count] = (tune_row){.setting = next[i], .status = TUNE_OK, .timed = true};
            rows[count].us = rows[count].first_us = height(&next[i]);
            if (failing && count % 3 == 1)
                rows[count].status = TUNE_WRONG;
        }
    return count;
}

static size_t best_of(const tune_row *rows, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (rows[i].status == TUNE_OK && rows[i].us < rows[best].us)
            best = i;
    return best;
}

static int distinct(const tune_problem *problem, const tune_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (same(problem, &rows[i].setting, &rows[j].setting))
                return 0;
    return 1;
}

static void test_search(void)
{
    enum { ROOM = 512 };
    tune_problem problem = problem_of(
        (const char *[]){"COARSE_FACTOR=1:32:*2", "BLOCK_DIM=64:1024:*2", "UNROLL=1:8:+1", NULL});
    tune_row *const rows = calloc(ROOM, sizeof(*rows)), *const again = calloc(ROOM, sizeof(*again));
    tune_setting next[4];
    if (!rows || !again) {
        tap_ok(0, "out of memory");
        exit(1);
    }
    problem.knob[0].standard = 2;
    problem.knob[1].standard = 128;

    size_t count = run_search(&problem, bowl, 0, 64, false, rows, ROOM);
    bool in_order = count == 240;
    for (size_t i = 0; i < count; i++)
        in_order = in_order && index_of(&problem, &rows[i].setting) == i;
    tap_ok(in_order, "no budget: all settings, in their order");

    for (uint64_t budget = 1; budget <= 240; budget += budget < 8 ? 1 : 29) {
        count = run_search(&problem, bowl, budget, 64, false, rows, ROOM);
        tap_ok(count == budget && distinct(&problem, rows, count),
               "a budget of %llu, spent on as many", (unsigned long long)budget);
    }
    const tune_setting standard = tune_standard(&problem);
    count = run_search(&problem, bowl, 1, 64, false, rows, ROOM);
    tap_ok(same(&problem, &rows[0].setting, &standard), "the first is the default");

    count = run_search(&problem, bowl, 40, 64, false, rows, ROOM);
    tap_ok(bowl(&rows[best_of(rows, count)].setting) == 1, "40 of 240 find the bottom of a bowl");
    const size_t others = run_search(&problem, bowl, 40, 1, false, again, ROOM);
    bool equal = others == count;
    for (size_t i = 0; i < count; i++)
        equal = equal && same(&problem, &rows[i].setting, &again[i].setting);
    tap_ok(equal, "the same way, one at a time");
    count = run_search(&problem, bowl, 40, 64, true, rows, ROOM);
    tap_ok(count == 40 && distinct(&problem, rows, count), "failures are tried once, and count");

    count = run_search(&problem, dips, 20, 64, false, rows, ROOM);
    tap_ok(dips(&rows[best_of(rows, count)].setting) == 6, "it ends in the nearest of two dips");
    count = run_search(&problem, dips, 120, 64, false, rows, ROOM);
    tap_ok(dips(&rows[best_of(rows, count)].setting) == 2, "and others lead to the deeper one");

    for (size_t i = 0; i < count; i++)
        rows[i].timed = false, rows[i].counted = true,
        rows[i].predicted.us = dips(&rows[i].setting);
    const size_t measured = tune_search_next(&problem, rows, count / 2, 120, next, 4);
    bool goes_on = measured > 0;
    for (size_t i = 0; i < measured; i++)
        goes_on = goes_on && same(&problem, &next[i], &rows[count / 2 + i].setting);
    tap_ok(goes_on, "predictions lead the same way");

    // Of the default's two neighbours one failed: the other one is where it goes on.
    rows[0] = (tune_row){.setting = standard, .status = TUNE_OK, .timed = true, .first_us = 9};
    rows[1] = (tune_row){.setting = standard, .status = TUNE_WRONG, .timed = true, .first_us = 1};
    rows[2] = (tune_row){.setting = standard, .status = TUNE_OK, .timed = true, .first_us = 5};
    rows[1].setting.value[0] = 1;
    rows[2].setting.value[0] = 4;
    tap_ok(tune_search_next(&problem, rows, 3, 20, next, 4) == 1 && next[0].value[0] == 8,
           "a failure is not fast");
    tap_ok(tune_search_next(&problem, rows, 3, 3, next, 4) == 0, "the budget is spent");
    rows[2].setting = (tune_setting){{32, 1024, 8}};
    tap_ok(tune_search_next(&problem, rows, 3, 3, next, 4) == 0, "whoever spent it");

    problem = problem_of((const char *[]){"A=1:12:+1", "B=1:12:+1", "C=1", NULL});
    demand_alike(&problem);
    count = run_search(&problem, bowl, 50, 64, false, rows, ROOM);
    bool legal = count == 50 && distinct(&problem, rows, count);
    for (size_t i = 0; i < count; i++)
        legal = legal && rows[i].setting.value[0] % 2 == rows[i].setting.value[1] % 2;
    tap_ok(legal, "none that is not legal");
    free(rows);
    free(again);
}

// ---- What is typed ------------------------------------------------------------------------------

static void test_knobs(void)
{
    static const struct {
        const char *text, *name;
        int count;
        long first, second, last;
    } cases[] = {
        {"COARSE_FACTOR=1:32:*2", "COARSE_FACTOR", 6, 1, 2, 32},
        {"COARSE_FACTOR=1:31:*2", "COARSE_FACTOR", 5, 1, 2, 16},
        {"BLOCK_DIM=64,128,256", "BLOCK_DIM", 3, 64, 128, 256},
        {"UNROLL=1:8:+1", "UNROLL", 8, 1, 2, 8},
        {"UNROLL=1:8:+3", "UNROLL", 3, 1, 4, 7},
        {"MIXED=1,4:8:+2,32", "MIXED", 5, 1, 4, 32},
        {"FLAG=0,1", "FLAG", 2, 0, 1, 1},
        {"DOWN=9,3", "DOWN", 2, 9, 3, 3},
        {"_x2=0:32:+16", "_x2", 3, 0, 16, 32},
    };
    tune_knob knob;
    char message[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        tap_ok(tune_knob_parse(cases[i].text, &knob, message, sizeof(message)) &&
                   strcmp(knob.name, cases[i].name) == 0 && knob.count == cases[i].count &&
                   knob.value[0] == cases[i].first && knob.value[1] == cases[i].second &&
                   knob.value[knob.count - 1] == cases[i].last && knob.standard == cases[i].first,
               "--knob %s", cases[i].text);
    tap_ok(tune_knob_parse("TILE=32", &knob, message, sizeof(message)) && knob.count == 1 &&
               knob.value[0] == 32,
           "--knob TILE=32");
}

static void test_numbers(void)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"268435456", 268435456},
        {"2^28", 268435456},
        {"256Mi", 268435456},
        {"1e6", 1000000},
        {"1.5e3", 1500},
        {"1.5Ki", 1536},
        {"2k", 2000},
        {"3M", 3000000},
        {"1G", 1000000000},
        {"2Gi", 2147483648},
        {"1T", 1000000000000},
        {"2^0", 1},
        {"2^63", (uint64_t)1 << 63},
        {"0", 0},
        {"18446744073709551615", UINT64_MAX},
    };
    uint64_t value;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        tap_ok(tune_number(cases[i].text, &value) && value == cases[i].value, "%s is %llu",
               cases[i].text, (unsigned long long)cases[i].value);
    tap_ok(!tune_number("18446744073709551616", &value) && !tune_number("2^64", &value) &&
               !tune_number("16777216Ti", &value),
           "2^64 is too much");
}

// ---- Problems -----------------------------------------------------------------------------------

static int settings_have(const tune_problem *problem, const long *values)
{
    tune_setting setting = {{0}};
    memcpy(setting.value, values, (size_t)problem->knobs * sizeof(*values));
    return index_of(problem, &setting) != UINT64_MAX;
}

static void test_problems(void)
{
    static const char *const requests[][2] = {
        {"reduce", "f32"},   {"reduce", "f64"},    {"reduce", "i32"},    {"map", "f32"},
        {"map", "f64"},      {"map", "i32"},       {"matmul", "f32"},    {"matmul", "f64"},
        {"histogram", "u8"}, {"histogram", "u16"}, {"histogram", "u32"}, {"histogram", "f32"},
        {"scan", "f64"},     {"select", "i32"},    {"rows", "f32"},      {"columns", "i32"},
        {"offsets", "f64"},
    };
    for (size_t r = 0; r < sizeof(requests) / sizeof(*requests); r++) {
        char *const command[] = {"coarsen-tune", (char *)requests[r][0], "--type",
                                 (char *)requests[r][1], NULL};
        static tune_options options;
        tune_options_parse(4, (char **)command, &options);
        const tune_problem problem = options.problem;
        bool good = problem.shipped && problem.source && problem.reference &&
                    strcmp(problem.pattern, requests[r][0]) == 0 &&
                    strcmp(problem.type, requests[r][1]) == 0 &&
                    strstr(problem.run, "tuned_launch(");
        // What is declared is what is passed; of map's inputs by a macro.
        for (int b = 0; b < problem.buffers; b++)
            good = good && (strstr(problem.run, problem.buffer[b].name) ||
                            strstr(problem.run, "TUNED_INPUTS(in_)"));
        const tune_setting standard = tune_standard(&problem);
        for (int k = 0; k < problem.knobs; k++)
            good = good && standard.value[k] == problem.knob[k].standard;
        tap_ok(good && tune_settings(&problem) > 1, "%s of %s", requests[r][0], requests[r][1]);

        if (strcmp(requests[r][0], "matmul") == 0) {
            const long wide = strcmp(requests[r][1], "f32") == 0 ? 2 : 1;
            const long shapes[][7] = {{128, 128 * wide, 16, 8, 8 * wide, 1, 2}, // matmul.h's
                                      {64, 64 * wide, 16, 8, 4 * wide, 1, 2},
                                      {64, 64 * wide, 32, 8, 8 * wide, 4, 2},
                                      {32, 32 * wide, 32, 4, 4 * wide, 4, 4},
                                      {32, 8 * wide, 32, 4, 2 * wide, 4, 4}};
            int have = 0;
            for (int s = 0; s < 5; s++)
                have += settings_have(&problem, shapes[s]);
            tap_ok(have == 5, "shapes of matmul.h are settings, of %llu",
                   (unsigned long long)tune_settings(&problem));
            tap_ok(problem.flop == 2.0 * 1024 * 1024 * 1024, "its operations");
        }
    }
}

static bool equal(const char *a, const char *b)
{
    return !a || !b ? a == b : strcmp(a, b) == 0;
}

// Given by its name, and as --source its file.
static void test_source(void)
{
    for (int i = 0; tune_patterns[i]; i++) {
        static tune_options by_name, by_file;
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s.cu", TUNE_PATTERNS, tune_patterns[i]);
        tune_options_parse(
            4, (char *[]){"coarsen-tune", (char *)tune_patterns[i], "--n", "500", NULL}, &by_name);
        tune_options_parse(5, (char *[]){"coarsen-tune", "--n", "500", "--source", path, NULL},
                           &by_file);
        const tune_problem *const a = &by_name.problem, *const b = &by_file.problem;
        bool same =
            a->knobs == b->knobs && a->sizes == b->sizes && a->buffers == b->buffers &&
            a->rules == b->rules && a->data == b->data && a->flop == b->flop &&
            equal(a->type, b->type) && equal(a->label, b->label) && equal(a->source, b->source) &&
            equal(a->reference, b->reference) && equal(a->run, b->run) && equal(a->work, b->work) &&
            equal(a->tolerance, b->tolerance) && memcmp(a->knob, b->knob, sizeof(a->knob)) == 0 &&
            memcmp(a->size, b->size, sizeof(a->size)) == 0 &&
            memcmp(a->buffer, b->buffer, sizeof(a->buffer)) == 0;
        for (int r = 0; r < a->rules && same; r++)
            same =
                equal(a->rule[r].name, b->rule[r].name) && equal(a->rule[r].text, b->rule[r].text);
        tap_ok(same && a->shipped && !b->shipped, "%s by its name and by its file",
               tune_patterns[i]);
    }
}

// Bytes in flight, from the PTX: loads up to where they are waited for; copies also past that, as many
// groups as the wait leaves.
static void test_in_flight(void)
{
    static const struct {
        const char *loop;
        int inflight;
    } loops[] = {
        {"ld.global.f32 %f1, [%rd1];\nld.global.v4.f32 {%f2, %f3, %f4, %f5}, [%rd2];\n", 20},
        {"ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;\nld.global.f64 %d1, [%rd3];\n", 8},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16;\ncp.async.wait_group 0;\n", 16},
        {"cp.async.ca.shared.global [%r1], [%rd1], 4;\nst.shared.f32 [%r2], %f1;\n"
         "cp.async.ca.shared.global [%r3], [%rd2], 8;\ncp.async.wait_group 2;\n",
         36},
    };
    for (size_t l = 0; l < sizeof(loops) / sizeof(*loops); l++) {
        char ptx[1024];
        tune_kernel kernel = {.symbol = "mine"};
        snprintf(ptx, sizeof(ptx), ".visible .entry mine(\n)\n{\n$L1:\n%s@%%p1 bra $L1;\nret;\n}\n",
                 loops[l].loop);
        tune_read_ptx(ptx, &kernel);
        tap_ok(kernel.inflight == loops[l].inflight, "loop %zu: %d bytes in flight", l,
               kernel.inflight);
    }
}

static void test_expressions(void)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"7", 7},
        {"1 + 2 * 3 - 4 / 3", 6},
        {"(1 + 2) * 3 % 5", 4},
        {"10 - 4 - 3", 3},
        {"-7 / 2", -3},
        {"1 < 2 == 1 && !(3 >= 4) || 0", 1},
        {"0 && 1 || 0", 0},
        {"2 <= 1 ? 5 : 3 != 3 ? 6 : 7", 7},
        {"A * B + n", 64 * 3 + 1000},
        {"half * 2 == A && half > B", 1},
        {"1 / 0", NAN},
        {"1 % (A - 64) != 5", NAN},
        {"B == 3 || 1 / 0", 1},
        {"B == 4 && 1 / 0", 0},
        {"B == 3 ? 4 : 1 / 0", 4},
        {"2 * n * 1000000000000000000", 2e21},
    };
    static const char *const wrong[][2] = {
        {"", "a number or a name is missing before \"\""},
        {"A +", "a number or a name is missing before \"\""},
        {"(A", "a ) is missing before \"\""},
        {"A ? B", "a : is missing before \"\""},
        {"A B", "an operator is missing before \"B\""},
        {"A = 3", "an operator is missing before \"= 3\""},
        {"A + other / 2", "no knob, size or --let is called \"other\""},
        {"later", "no knob, size or --let is called \"later\""},
    };
    tune_problem problem = problem_of((const char *[]){"A=64:1024:*2", "B=3", NULL});
    problem.size[problem.sizes++] = (tune_size){.name = "n", .value = 1000};
    problem.rule[problem.rules++] = (tune_rule){"half", "A / 2"};
    problem.rule[problem.rules++] = (tune_rule){"later", "half"};
    char message[256];
    double value;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const bool read =
            tune_evaluate(&problem, NULL, 1, cases[i].text, &value, message, sizeof(message));
        tap_ok(read && (value == cases[i].value || (isnan(value) && isnan(cases[i].value))),
               "%s is %g", cases[i].text, value);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        tap_ok(!tune_evaluate(&problem, NULL, 1, wrong[i][0], &value, message, sizeof(message)) &&
                   strcmp(message, wrong[i][1]) == 0,
               "\"%s\": %s", wrong[i][0], message);
    const tune_setting at = {{512, 3}};
    tap_ok(tune_evaluate(&problem, &at, 2, "later", &value, message, sizeof(message)) &&
               value == 256,
           "at a setting");
}

int main(void)
{
    test_settings();
    test_search();
    test_knobs();
    test_numbers();
    test_in_flight();
    test_expressions();
    test_problems();
    test_source();
    return tap_done();
}
