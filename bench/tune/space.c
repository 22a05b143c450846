// SPDX-License-Identifier: MIT
//
// The settings of the knobs, and the order in which they are tried.
//
// Places: all combinations of the knobs' values, numbered, the last knob's value changing fastest.
// Settings are the legal ones among them, numbered in the same order.

#include "tune.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Places and settings ------------------------------------------------------------------------

static uint64_t places(const tune_problem *problem)
{
    uint64_t count = 1;
    for (int k = 0; k < problem->knobs; k++)
        count *= (uint64_t)problem->knob[k].count;
    return count;
}

static tune_setting setting_at_place(const tune_problem *problem, uint64_t place)
{
    tune_setting setting = {{0}};
    for (int k = problem->knobs; k-- > 0;) {
        const uint64_t count = (uint64_t)problem->knob[k].count;
        setting.value[k] = problem->knob[k].value[place % count];
        place /= count;
    }
    return setting;
}

// Which of the knob's values it is; -1: none.
static int position(const tune_knob *knob, long value)
{
    for (int i = 0; i < knob->count; i++)
        if (knob->value[i] == value)
            return i;
    return -1;
}

static uint64_t place_of(const tune_problem *problem, const tune_setting *setting)
{
    uint64_t place = 0;
    for (int k = 0; k < problem->knobs; k++) {
        const int i = position(&problem->knob[k], setting->value[k]);
        if (i < 0)
            return UINT64_MAX;
        place = place * (uint64_t)problem->knob[k].count + (uint64_t)i;
    }
    return place;
}

static bool legal(const tune_problem *problem, const tune_setting *setting)
{
    char message[256];
    double value;
    for (int i = 0; i < problem->rules; i++)
        if (!*problem->rule[i].name && (!tune_evaluate(problem, setting, i, problem->rule[i].text,
                                                       &value, message, sizeof(message)) ||
                                        isnan(value) || value == 0))
            return false;
    return true;
}

// Settings at the places before this one.
static uint64_t settings_before(const tune_problem *problem, uint64_t place)
{
    if (problem->rules == 0)
        return place;
    uint64_t count = 0;
    for (uint64_t p = 0; p < place; p++) {
        const tune_setting setting = setting_at_place(problem, p);
        count += legal(problem, &setting);
    }
    return count;
}

uint64_t tune_settings(const tune_problem *problem)
{
    return settings_before(problem, places(problem));
}

tune_setting tune_setting_at(const tune_problem *problem, uint64_t i)
{
    if (problem->rules == 0)
        return setting_at_place(problem, i);
    const uint64_t end = places(problem);
    tune_setting setting = {{0}};
    for (uint64_t p = 0; p < end; p++) {
        setting = setting_at_place(problem, p);
        if (legal(problem, &setting) && i-- == 0)
            break;
    }
    return setting;
}

bool tune_is_standard(const tune_problem *problem, const tune_setting *setting)
{
    for (int k = 0; k < problem->knobs; k++)
        if (setting->value[k] != problem->knob[k].standard)
            return false;
    return problem->shipped;
}

// Where the user took away the headers' defaults: the nearest values that are left, by ratio.
tune_setting tune_standard(const tune_problem *problem)
{
    tune_setting setting = {{0}};
    for (int k = 0; k < problem->knobs; k++) {
        const tune_knob *const knob = &problem->knob[k];
        double least = INFINITY;
        for (int i = 0; i < knob->count; i++) {
            const double away =
                fabs(log((double)knob->value[i] + 0.5) - log((double)knob->standard + 0.5));
            if (away < least) {
                least = away;
                setting.value[k] = knob->value[i];
            }
        }
    }
    return legal(problem, &setting) ? setting : tune_setting_at(problem, 0);
}

// The next legal setting in that direction.
bool tune_neighbour(const tune_problem *problem, const tune_setting *of, int knob, int step,
                    tune_setting *to)
{
    const tune_knob *const along = &problem->knob[knob];
    const int start = position(along, of->value[knob]);
    tune_setting found = *of;
    for (int i = start + step; start >= 0 && i >= 0 && i < along->count; i += step) {
        found.value[knob] = along->value[i];
        if (legal(problem, &found)) {
            *to = found;
            return true;
        }
    }
    return false;
}

static bool is_factor(const char *name)
{
    return strstr(name, "FACTOR") || strcmp(name, "TM") == 0 || strcmp(name, "TN") == 0;
}

// The knobs called factors, and the elements that a thread of matmul makes. A user's kernel may
// have none: then the first knob that isn't about blocks.
double tune_coarseness(const tune_problem *problem, const tune_setting *setting)
{
    double product = 1;
    bool any = false;
    for (int k = 0; k < problem->knobs; k++)
        if (is_factor(problem->knob[k].name)) {
            product *= (double)setting->value[k];
            any = true;
        }
    for (int k = 0; k < problem->knobs && !any; k++)
        if (!strstr(problem->knob[k].name, "BLOCK")) {
            product = (double)setting->value[k];
            any = true;
        }
    return product;
}

int tune_factor_knob(const tune_problem *problem)
{
    int found = -1;
    for (int k = 0; k < problem->knobs; k++)
        if (is_factor(problem->knob[k].name))
            found = k;
    for (int k = 0; k < problem->knobs && found < 0; k++)
        if (!strstr(problem->knob[k].name, "BLOCK"))
            found = k;
    return found < 0 ? problem->knobs - 1 : found;
}

void tune_setting_print(const tune_problem *problem, const tune_setting *setting, char *to,
                        size_t size)
{
    size_t length = 0;
    if (size > 0)
        *to = '\0';
    for (int k = 0; k < problem->knobs && length < size; k++)
        length += (size_t)snprintf(to + length, size - length, "%s%s=%ld", k ? " " : "",
                                   problem->knob[k].name, setting->value[k]);
}

// ---- The search ---------------------------------------------------------------------------------

// The search itself has no state: it is done again from the start at each call, with the rows for
// what it comes to know, up to the first setting that has no row.
typedef struct {
    uint64_t place;
    double us;
    bool seen; // in this repetition
} known;

typedef struct {
    const tune_problem *problem;
    known *rows; // by place
    size_t count;
    uint64_t budget;
    tune_setting *next;
    size_t wanted, max;
} search;

static int by_place(const void *a, const void *b)
{
    const uint64_t x = ((const known *)a)->place, y = ((const known *)b)->place;
    return x < y ? -1 : x > y;
}

static known *find(const search *s, uint64_t place)
{
    const known key = {.place = place};
    return s->count ? bsearch(&key, s->rows, s->count, sizeof(key), by_place) : NULL;
}

// Its time. NAN: it has none yet, and is wanted, or there is no budget for it.
static double visit(search *s, const tune_setting *setting)
{
    known *const row = find(s, place_of(s->problem, setting));
    if (row) {
        row->seen = true;
        return row->us;
    }
    if (s->count + s->wanted < s->budget && s->wanted < s->max)
        s->next[s->wanted++] = *setting;
    return NAN;
}

// From a setting to where no neighbour is better, one knob after the other. false: more has to be
// known for that.
static bool descend(search *s, tune_setting at)
{
    double us = visit(s, &at);
    if (isnan(us))
        return false;
    for (int k = 0, idle = 0; idle < s->problem->knobs;) {
        tune_setting better = at, to;
        double least = us;
        bool known = true;
        for (int step = -1; step <= 1; step += 2) {
            if (!tune_neighbour(s->problem, &at, k, step, &to))
                continue;
            const double there = visit(s, &to);
            known = known && !isnan(there);
            if (there < least) {
                least = there;
                better = to;
            }
        }
        if (!known)
            return false;
        if (least < us) {
            at = better;
            us = least;
            idle = 0;
        } else {
            k = (k + 1) % s->problem->knobs;
            idle++;
        }
    }
    return true;
}

// The finaliser of SplitMix64.
static uint64_t drawn(uint64_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

size_t tune_search_next(const tune_problem *problem, const tune_row *rows, size_t count,
                        uint64_t budget, tune_setting *next, size_t max)
{
    const uint64_t all = places(problem), total = tune_settings(problem);
    search s = {.problem = problem, .budget = budget, .next = next, .max = max};
    if (max == 0 || total == 0 || (budget != 0 && count >= budget))
        return 0;
    s.rows = calloc(count + 1, sizeof(*s.rows));
    if (!s.rows)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const bool ok = rows[i].status == TUNE_OK;
        s.rows[i].place = place_of(problem, &rows[i].setting);
        s.rows[i].us = ok && rows[i].timed     ? rows[i].first_us
                       : ok && rows[i].counted ? rows[i].predicted.us
                                               : INFINITY;
    }
    s.count = count;
    qsort(s.rows, s.count, sizeof(*s.rows), by_place);

    if (budget == 0 || budget >= total) { // all, in their order
        for (uint64_t p = 0; p < all && s.wanted < max; p++) {
            const tune_setting setting = setting_at_place(problem, p);
            if (!find(&s, p) && legal(problem, &setting))
                next[s.wanted++] = setting;
        }
    } else {
        bool more = descend(&s, tune_standard(problem));
        for (uint64_t restart = 0; more; restart++) {
            // From the place drawn on, the first legal one that was not tried.
            uint64_t p = drawn(restart) % all;
            tune_setting from = setting_at_place(problem, p);
            known *row = find(&s, p);
            while (!legal(problem, &from) || (row && row->seen)) {
                p = (p + 1) % all;
                from = setting_at_place(problem, p);
                row = find(&s, p);
            }
            more = descend(&s, from);
        }
    }
    free(s.rows);
    return s.wanted;
}

// ---- Knobs, as the user types them --------------------------------------------------------------

static bool knob_value(const char **from, long *value)
{
    char *end;
    if (!isdigit((unsigned char)**from))
        return false;
    *value = strtol(*from, &end, 10);
    *from = end;
    return *value <= 1L << 31; // so that a product of two does not overflow
}

bool tune_knob_parse(const char *text, tune_knob *knob, char *message, size_t size)
{
    const char *const equals = strchr(text, '=');
    size_t length = 0;
    *knob = (tune_knob){.count = 0};
    if (isalpha((unsigned char)*text) || *text == '_')
        while (isalnum((unsigned char)text[length]) || text[length] == '_')
            length++;
    if (!equals || length == 0 || text + length != equals || length >= sizeof(knob->name)) {
        snprintf(message, size,
                 "\"%s\" should be like COARSE_FACTOR=1:32:*2, a macro of up to %zu "
                 "characters and its values",
                 text, sizeof(knob->name) - 1);
        return false;
    }
    memcpy(knob->name, text, length);
    const char *from = equals + 1;
    do {
        long value, last, step = 0;
        bool times = false, good = knob_value(&from, &value);
        last = value;
        if (good && *from == ':') { // first:last:*2 or first:last:+8
            from++;
            good = knob_value(&from, &last) && *from == ':';
            if (good) {
                times = from[1] == '*';
                good = times || from[1] == '+';
                from += 1 + good;
                good = good && knob_value(&from, &step);
            }
            if (good && (last < value || (times ? step < 2 || value < 1 : step < 1))) {
                snprintf(message, size, "%s: a range goes up: \"%s\" has no second value",
                         knob->name, equals + 1);
                return false;
            }
        }
        if (!good || (*from != ',' && *from != '\0')) {
            snprintf(message, size,
                     "%s: \"%s\" should be values like 64,128,256 or a range, 1:32:*2 or 1:8:+1",
                     knob->name, equals + 1);
            return false;
        }
        for (; value <= last; value = step == 0 ? last + 1 : times ? value * step : value + step) {
            if (position(knob, value) >= 0) {
                snprintf(message, size, "%s: %ld is there twice", knob->name, value);
                return false;
            }
            if (knob->count == TUNE_VALUES) {
                snprintf(message, size, "%s: there may be %d values at most", knob->name,
                         TUNE_VALUES);
                return false;
            }
            knob->value[knob->count++] = value;
        }
    } while (*from++ == ',');
    knob->standard = knob->value[0];
    return true;
}
