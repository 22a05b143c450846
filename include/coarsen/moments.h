// SPDX-License-Identifier: MIT
//
// coarsen/moments.h: count, mean and sum of squared deviations: mean and variance in one pass.
//
//     #define COARSEN_NAME moments
//     #define COARSEN_TYPE double
//     #include <coarsen/moments.h>
//
//     #define COARSEN_NAME       spread
//     #define COARSEN_TYPE       float
//     #define COARSEN_ACC        moments
//     #define COARSEN_LIFT(x, i) moments_lift(x)
//     #define COARSEN_OP         moments_merge
//     #define COARSEN_IDENTITY   moments_none()
//     #include <coarsen/reduce.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | the triple's name, and what every name begins with   |
// | COARSEN_TYPE         | required         | float or double, to compute in                       |
// Defines struct NAME { COARSEN_TYPE count, mean, squares; } and, for host and device,
//     NAME         NAME_lift(COARSEN_TYPE x)       one value: 1, x, 0
//     NAME         NAME_none(void)                 no value: 0, 0, 0
//     NAME         NAME_merge(NAME a, NAME b)      of two sets, that of both; NAME_none() is the identity
//     COARSEN_TYPE NAME_variance(NAME a)           squares / count; NaN of no value
// squares is the sum of (x - mean)^2. The shorter formula, the sum of squares minus the square of
// the sum, subtracts two nearly equal numbers if the mean is large beside the deviations, and may
// leave nothing, or less. Merging subtracts means only. The counts are numbers of COARSEN_TYPE:
// exact up to 2^24 in float and 2^53 in double, and rounded above, as mean and squares are.
// Source: T. F. Chan, G. H. Golub, R. J. LeVeque, Updating Formulae and a Pairwise Algorithm for
// Computing Sample Variances (1979).

#define COARSEN_BEGIN COARSEN_PATTERN_TYPE
#include "base.h"

static_assert((COARSEN_TYPE)0.5 != 0, "coarsen/moments.h: COARSEN_TYPE must be float or double");

typedef struct {
    COARSEN_TYPE count, mean, squares;
} COARSEN_NAME;

COARSEN_HOST_DEVICE COARSEN_NAME COARSEN_(lift)(COARSEN_TYPE x)
{
    COARSEN_NAME a;
    a.count = 1;
    a.mean = x;
    a.squares = 0;
    return a;
}

COARSEN_HOST_DEVICE COARSEN_NAME COARSEN_(none)(void)
{
    COARSEN_NAME a;
    a.count = a.mean = a.squares = 0;
    return a;
}

COARSEN_HOST_DEVICE COARSEN_NAME COARSEN_(merge)(COARSEN_NAME a, COARSEN_NAME b)
{
    COARSEN_NAME both;
    both.count = a.count + b.count;
    const COARSEN_TYPE share = both.count > 0 ? b.count / both.count : 0; // b's
    const COARSEN_TYPE apart = b.mean - a.mean;
    both.mean = a.mean + apart * share;
    both.squares = a.squares + b.squares + apart * (apart * (a.count * share));
    return both;
}

COARSEN_HOST_DEVICE COARSEN_TYPE COARSEN_(variance)(COARSEN_NAME a)
{
    return a.squares / a.count;
}

#define COARSEN_END
#include "base.h"
