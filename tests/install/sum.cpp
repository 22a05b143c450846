// SPDX-License-Identifier: MIT
#include "sum.cu"
