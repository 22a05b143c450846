// SPDX-License-Identifier: MIT
#include "scan/single_pass.h"
