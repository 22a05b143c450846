// SPDX-License-Identifier: MIT
//
// The choice: the fastest, or rather the least coarse of those that can't be told from it.

#include "tune.h"

#include <math.h>

// Of the time: what two runs of one kernel differ by anyway, and what is no noise any more. A row
// that was disturbed is slow and spread, but no equal of the fastest.
static const double least_noise = 0.01, most_noise = 0.03;

// A row's time; 0: it has none, or failed.
static double us_of(const tune_row *row, bool timed)
{
    if (row->status != TUNE_OK || !(timed ? row->timed : row->counted))
        return 0;
    double us = timed ? row->us : row->predicted.us;
    return isfinite(us) ? us : 0;
}

int tune_choose(const tune_problem *problem, const tune_row *rows, size_t count, bool *tie)
{
    bool timed = false;     // one measured row, and no prediction counts
    bool unfounded = false; // one such row, and no row is known to be right
    for (size_t i = 0; i < count; ++i) {
        timed = timed || us_of(rows + i, true) > 0;
        unfounded = unfounded || rows[i].unfounded;
    }

    double fastest = 0, its_spread = 0;
    for (size_t i = 0; i < count; ++i) {
        double us = us_of(rows + i, timed);
        if (us > 0 && !unfounded && (fastest == 0 || us < fastest))
            fastest = us, its_spread = timed ? rows[i].spread : 0;
    }

    int best = -1;
    double least = 0;
    for (size_t i = 0; i < count; ++i) {
        // Closer than half the widths of the two middle halves together is a tie.
        double us = us_of(rows + i, timed), spread = timed ? rows[i].spread : 0;
        double noise = fmin(fmax((spread + its_spread) / 2, least_noise), most_noise);
        bool equal = us > 0 && us <= fastest * (1 + noise);
        if (tie)
            tie[i] = equal;
        if (!equal)
            continue;
        double coarseness = tune_coarseness(problem, &rows[i].setting);
        if (best < 0 || coarseness < least ||
            (coarseness == least && us < us_of(rows + best, timed)))
            best = (int)i, least = coarseness;
    }
    return best;
}
