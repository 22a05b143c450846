// SPDX-License-Identifier: MIT
//
// coarsen/sort.h: stable sort of keys, or of keys with values. Use this one.
//
//     #define COARSEN_NAME sort_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/sort.h>

#include "sort/onesweep.h"
