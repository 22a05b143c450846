// SPDX-License-Identifier: MIT
//
// bench/sweep.h: includes SWEEP_VARIANT once for each pair of SWEEP_BLOCK_DIM (128 to 1024) and
// SWEEP_COARSE_FACTOR (1 to 16), in powers of two; with SWEEP_ODD, 1 to 9, odd; with SWEEP_LONG, odd ones from 9 to 43.
// SWEEP_NAME(stem) is then stem_BLOCK_FACTOR, and SWEEP_KNOBS a string of both.

#ifndef SWEEP_BLOCK_DIM

#define SWEEP_NAME(stem)                                                                           \
    SWEEP_JOIN(SWEEP_JOIN(stem##_, SWEEP_BLOCK_DIM), SWEEP_JOIN(_, SWEEP_COARSE_FACTOR))
#define SWEEP_JOIN(a, b)  SWEEP_JOIN_(a, b)
#define SWEEP_JOIN_(a, b) a##b
#define SWEEP_KNOBS                                                                                \
    "BLOCK_DIM=" SWEEP_TEXT(SWEEP_BLOCK_DIM) " COARSE_FACTOR=" SWEEP_TEXT(SWEEP_COARSE_FACTOR)
#define SWEEP_TEXT(a)   SWEEP_TEXT_(a)
#define SWEEP_TEXT_(a)  #a

#define SWEEP_BLOCK_DIM 128
#include "sweep.h"
#undef SWEEP_BLOCK_DIM
#define SWEEP_BLOCK_DIM 256
#include "sweep.h"
#undef SWEEP_BLOCK_DIM
#define SWEEP_BLOCK_DIM 512
#include "sweep.h"
#undef SWEEP_BLOCK_DIM
#define SWEEP_BLOCK_DIM 1024
#include "sweep.h"
#undef SWEEP_BLOCK_DIM

#else

#ifdef SWEEP_LONG
#define SWEEP_COARSE_FACTOR 9
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 15
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 21
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 29
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 43
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#else
#define SWEEP_COARSE_FACTOR 1
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#ifdef SWEEP_ODD
#define SWEEP_COARSE_FACTOR 3
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 5
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 7
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 9
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#else
#define SWEEP_COARSE_FACTOR 2
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 4
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 8
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#define SWEEP_COARSE_FACTOR 16
#include SWEEP_VARIANT
#undef SWEEP_COARSE_FACTOR
#endif
#endif

#endif
