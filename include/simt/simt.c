// SPDX-License-Identifier: MIT
//
// The CPU device's engine: one C file, to be compiled without any -fsanitize and linked into the
// program:
//
//     gcc -O2 -g -c include/simt/simt.c
//
// Its parts are under engine/, in the order in which they use each other.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE // its longjmp refuses to go from one fiber's stack to another's

#include "engine/state.h"    // what the parts share
#include "engine/report.c"   // places in the source; faults
#include "engine/memory.c"   // device memory, its shadow, the program's own segments
#include "engine/streams.c"  // what orders the work of streams
#include "engine/fiber.c"    // CUDA threads on stacks of their own; the blocks that are resident
#include "engine/order.c"    // what orders two accesses: barriers, fences, atomics
#include "engine/count.c"    // lanes grouped into warp instructions
#include "engine/trace.c"    // the compiler's hooks: one access at a time
#include "engine/heap.c"     // malloc and new in kernels
#include "engine/copy.c"     // asynchronous copies
#include "engine/warp.c"     // barriers, shuffles, votes, atomics, fences
#include "engine/lines.c"    // the source lines of blocks
#include "engine/launch.c"   // a launch from beginning to end; settings
#include "engine/parallel.c" // blocks on several cores
#include "engine/runtime.c"  // the CUDA runtime API
#include "engine/nccl.c"     // NCCL
