# SPDX-License-Identifier: MIT
"""Tests the tests: breaks the kernels, one place at a time, and demands that a test notices.

Each fault replaces one piece of a header in a copy. The header's part of its test (TESTED in
tests/device.h) is built against the copy for the CPU device, and run. The copy with a fault must
fail, the copy without one must pass what any of them failed. Prints TAP: what was broken, and what the test said of it.

    faults.py [WORD...]   only the faults whose header and name have all the words; SIMT_LIB and
                          SIMT_FLAGS are as tests/meson.build sets them
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CXX = shlex.split(os.environ.get("CXX") or "g++")
SECONDS = 120  # for one test; a kernel that hangs is noticed too

BARRIER = "__syncthreads();"
CHECKS = [
    ("take wrong arguments", "        return cudaErrorInvalidValue;\n", "        ;\n"),
]
CHECKS_OF_TWO = [  # of a merge
    ("take wrong arguments", "    if (!COARSEN_(arrays_ok)(arrays) || blocks > 0x7fffffff)\n        return cudaErrorInvalidValue;\n", ""),
]
START = [  # of a histogram, whose arguments base.h looks at
    ("take wrong arguments", "if (status != cudaSuccess || n == 0)", "if (n == 0)"),
]

# header -> (its test, [(what is broken, the piece, what replaces it)]). The piece is to be there once.
FAULTS = {
    "matmul/naive.h": ("matmul", [
        ("overrun by one", "row >= rows", "row > rows"),
        ("lose the last product", "k < inner; k++", "k + 1 < inner; k++"),
        ("forget a leading dimension", "n[k * ldn + col]", "n[k * cols + col]"),
        ("read P for nothing", "beta == (COARSEN_TYPE)0 ? alpha * sum : ", ""),
        ("read M and N for nothing", "    if (alpha == (COARSEN_TYPE)0)\n        inner = 0;\n", ""),
    ]),
    "matmul/tiled.h": ("matmul", [
        ("drop the first barrier", f"        {BARRIER}\n#pragma", "#pragma"),
        ("drop the second barrier", f"n_tile[k][j];\n        {BARRIER}\n", "n_tile[k][j];\n"),
        ("overrun in depth", "phase + j < inner", "phase + j <= inner"),
        ("read P for nothing", "beta == (COARSEN_TYPE)0 ? alpha * sum : ", ""),
    ]),
    "matmul/coarsened.h": ("matmul", [
        ("drop the first barrier", f"            {BARRIER}\n#pragma", "#pragma"),
        ("drop the second barrier", f"n_tile[k][j];\n            {BARRIER}\n", "n_tile[k][j];\n"),
        ("guard the uncoarsened column", "phase + i < inner && col < cols",
         "phase + i < inner && col_start < cols"),
        ("write past the last column", "row < rows && col < cols)", "row < rows && col_start < cols)"),
        ("reload M", "m_tile[i][j] =",
         "for (int again = 0; again < 2; again++)\n            m_tile[i][j] ="),
    ]),
    "matmul/register_tiled.h": ("matmul", [
        ("drop the first barrier", f"        {BARRIER}\n#pragma", "#pragma"),
        ("drop the second barrier", f"from_n[j];\n        }}\n        {BARRIER}\n",
         "from_n[j];\n        }\n"),
        ("overrun in depth", "k < inner ? m[", "k <= inner ? m["),
        ("write past the last row", "if (row < rows && col < cols)", "if (col < cols)"),
    ]),
    "matmul/pipelined.h": ("matmul", [
        ("drop the barrier of a stage", f"COARSEN_STAGES - 2);\n                {BARRIER}\n",
         "COARSEN_STAGES - 2);\n"),
        ("wait for one stage less at first", f"COARSEN_STAGES - 2);\n    {BARRIER}\n", f"COARSEN_STAGES - 1);\n    {BARRIER}\n"),
        ("wait for one stage less in the loop", f"COARSEN_STAGES - 2);\n                {BARRIER}\n",
         f"COARSEN_STAGES - 1);\n                {BARRIER}\n"),
        ("drop the barrier before the sums", f" // where the tiles were\n    {BARRIER}\n", "\n"),
        ("drop the barrier after the sums", f"    }}\n    {BARRIER}\n}}\n", "    }\n}\n"),
        ("take ragged rows for aligned", "if (inside && ((size_t)n | ldn * sizeof(COARSEN_TYPE)) % 16 == 0)",
         "if (inside)"),
        ("write ragged rows as vectors", "inside && ((size_t)p | ldp * sizeof(COARSEN_TYPE)) % 16 == 0;",
         "inside;"),
        ("take a part of the depth for all", "from->inside && from->k + BK <= from->inner",
         "from->inside && from->k < from->inner"),
        ("leave out the tiles after the last", "from->k < from->inner + BK", "from->k < from->inner"),
        ("copy over the stage in use", "next_stage = COARSEN_STAGES - 1;", "next_stage = 0;"),
        ("add the same slice twice", "slice < owner ? slice : slice - 1", "slice < owner ? slice : 0"),
        ("use P for nothing", "to[q] = beta == (COARSEN_TYPE)0 ?", "to[q] = beta == (COARSEN_TYPE)2 ?"),
    ]),
    "reduce/simple.h": ("reduce", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("lose the last element", "i + stride < n;", "i + stride < n - 1;"),
        ("overrun by one", "i + stride < n;", "i + stride <= n;"),
        ("shift an index", "data[i + stride])", "data[i + stride - 1])"),
        ("skip a step", "stride *= 2)", "stride *= 4)"),
        ("forget elements past the block's", "i += 2 * BLOCK_DIM", "i += 4 * BLOCK_DIM"),
        ("swap the operands", "data[i], data[i + stride]", "data[i + stride], data[i]"),
        ("read when there is nothing", "n > 0 ? data[0] : COARSEN_(identity)()", "data[0]"),
    ]),
    "reduce/convergent.h": ("reduce", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("lose the middle of an odd length", "half = length - length / 2", "half = length / 2"),
        ("overrun by one", "i + half < length;", "i + half <= length;"),
        ("forget elements past the block's", "i += BLOCK_DIM", "i += 2 * BLOCK_DIM"),
        ("read when there is nothing", "n > 0 ? data[0] : COARSEN_(identity)()", "data[0]"),
    ]),
    "reduce/shared.h": ("reduce", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("lose the last element", "i < n; i += BLOCK_DIM", "i + 1 < n; i += BLOCK_DIM"),
        ("overrun by one", "i < n; i += BLOCK_DIM", "i <= n; i += BLOCK_DIM"),
        ("give LIFT the wrong index", "COARSEN_(lift)(in[i], i)", "COARSEN_(lift)(in[i], (size_t)t)"),
        ("start from zero", "sum = COARSEN_(identity)();", "sum = (COARSEN_ACC){};"),
        ("stop the tree early", "length > 1; length", "length > 2; length"),
    ]),
    "reduce/multiblock.h": ("reduce", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)2 * BLOCK_DIM)", "n / (2 * BLOCK_DIM)"),
        ("overlap the blocks", "blockIdx.x * 2 * BLOCK_DIM", "blockIdx.x * BLOCK_DIM"),
        ("leave out as it was", "    *out = COARSEN_(identity)();\n", "    (void)out;\n"),
        ("leave the lock as it was", "    *lock = 0;\n", "    (void)lock;\n"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n)", "scratch_bytes > ~0ULL"),
    ]),
    "reduce/coarsened.h": ("reduce", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("guard the uncoarsened index", "if (i < n)", "if (segment + t < n)"),
        ("lose the last pair", "k < 2 * COARSE_FACTOR;", "k < 2 * COARSE_FACTOR - 1;"),
        ("overlap the rows", "segment + k * BLOCK_DIM + t", "segment + k * (BLOCK_DIM - 1) + t"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)2 * BLOCK_DIM * COARSE_FACTOR)",
         "n / (2 * BLOCK_DIM * COARSE_FACTOR)"),
        ("leave out as it was", "    *out = COARSEN_(identity)();\n", "    (void)out;\n"),
        ("leave the lock as it was", "    *lock = 0;\n", "    (void)lock;\n"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n)", "scratch_bytes > ~0ULL"),
    ]),
    "reduce/block_coarsened.h": ("fuse", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("commit one tree only", "f < COARSE_FACTOR; f++)\n            COARSEN_(commit)",
         "f < 1; f++)\n            COARSEN_(commit)"),
        ("overlap the blocks", "((size_t)blockIdx.x * COARSE_FACTOR + f)", "((size_t)blockIdx.x + f)"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n)", "scratch_bytes > ~0ULL"),
    ]),
    "reduce/last_block.h": ("reduce", CHECKS + [
        ("drop the barrier of the block's tree",
         f"partial[t] = sum;\n    for (unsigned int length = BLOCK_DIM, half; length > 1; length = half) {{\n"
         f"        half = length - length / 2;\n        {BARRIER}\n        if (t + half < length)\n"
         f"            partial[t] = COARSEN_(op)(partial[t], partial[t + half]);\n    }}\n"
         f"    if (t == 0)\n        partials",
         "partial[t] = sum;\n    for (unsigned int length = BLOCK_DIM, half; length > 1; length = half) {\n"
         "        half = length - length / 2;\n        if (t + half < length)\n"
         "            partial[t] = COARSEN_(op)(partial[t], partial[t + half]);\n    }\n"
         "    if (t == 0)\n        partials"),
        ("drop the barrier of the last tree",
         f"{BARRIER}\n        if (t + half < length)\n"
         f"            partial[t] = COARSEN_(op)(partial[t], partial[t + half]);\n    }}\n"
         f"    if (t == 0)\n        *out",
         "if (t + half < length)\n"
         "            partial[t] = COARSEN_(op)(partial[t], partial[t + half]);\n    }\n"
         "    if (t == 0)\n        *out"),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("guard the uncoarsened index", "if (i < n)", "if (segment + t < n)"),
        ("lose the last pair", "k < 2 * COARSE_FACTOR;", "k < 2 * COARSE_FACTOR - 1;"),
        ("overlap the blocks", "(size_t)blockIdx.x * 2 * BLOCK_DIM * COARSE_FACTOR",
         "(size_t)blockIdx.x * 2 * BLOCK_DIM"),
        ("lose the last block", "coarsen_ceil_div(n > 0 ? n : 1, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);\n    if",
         "coarsen_ceil_div(n > 0 ? n : 1, (size_t)2 * BLOCK_DIM * COARSE_FACTOR) - (n > 4000);\n    if"),
        ("launch no block for no elements",
         "coarsen_ceil_div(n > 0 ? n : 1, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);\n    if",
         "coarsen_ceil_div(n, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);\n    if"),
        ("ask for no scratch for no elements",
         "coarsen_ceil_div(n > 0 ? n : 1, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);\n    return",
         "coarsen_ceil_div(n, (size_t)2 * BLOCK_DIM * COARSE_FACTOR);\n    return"),
        ("take a counter that was less than the blocks", "if (t == 0 && arrived[1] != 0)", "if (false)"),
        ("let every block add up", "    if (!COARSEN_(last_block)(arrived))\n        return;\n",
         "    COARSEN_(last_block)(arrived);\n"),
        ("forget the first partial", "for (unsigned int b = t; b", "for (unsigned int b = t + 1; b"),
        ("forget partials past the threads", "b < gridDim.x; b += BLOCK_DIM", "b < gridDim.x; b += gridDim.x"),
        ("add the block's own sum twice", "    sum = COARSEN_(identity)();\n    for (unsigned int b",
         "    for (unsigned int b"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n)", "scratch_bytes > ~0ULL"),
        ("ask for too small a scratch", "return COARSEN_(first) + blocks", "return blocks"),
        ("take a misaligned scratch", "COARSEN_(scratch_bytes)(n), COARSEN_(first))",
         "COARSEN_(scratch_bytes)(n), 1)"),
    ]),
    "reduce/single_pass.h": ("reduce", CHECKS + [
        ("lose the head and tail", "threadIdx.x < parts.rest)", "threadIdx.x + 1 < parts.rest)"),
        ("add the head and tail in every block", "blockIdx.x == gridDim.x - 1 && threadIdx.x < parts.rest",
         "threadIdx.x < parts.rest"),
        ("add no head and tail", "blockIdx.x == gridDim.x - 1 && threadIdx.x < parts.rest", "false"),
        ("give LIFT the wrong index", "i + (size_t)k * BLOCK_DIM * COARSEN_ITEMS + j)", "i + j)"),
        ("give LIFT the wrong index in a small array", "(size_t)k * BLOCK_DIM + threadIdx.x));", "(size_t)k));"),
        ("lose the last vectors of a tile", "coarsen_min(parts.vectors - v, tile - threadIdx.x)",
         "coarsen_min(parts.vectors - v - 1, tile - threadIdx.x)"),
        ("run into the next tile", "coarsen_min(parts.vectors - v, tile - threadIdx.x)", "parts.vectors - v"),
        ("lose a whole tile", "v + full < parts.vectors; v += step)\n                sum = COARSEN_(add_vectors)"
         "(sum, parts.first + v, parts.head + v * COARSEN_ITEMS,\n"
         "                                            full + 1, true);",
         "v + full < parts.vectors; v += step) {\n            }"),
        ("never collect", "    COARSEN_(enter)(scratch, &ticket);\n",
         "    if (blockIdx.x > 0)\n        COARSEN_(enter)(scratch, &ticket);\n    else\n        ticket = 0;\n"),
        ("overrun a small array by one", "threadIdx.x < n)\n            load", "threadIdx.x <= n)\n            load"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n)", "scratch_bytes > ~0ULL"),
    ]),
    "scan/kogge_stone.h": ("scan", CHECKS + [
        ("drop the barrier of a step", f"            {BARRIER}\n            if (t >= stride)", "            if (t >= stride)"),
        ("drop the barrier at the end", f"        {BARRIER}\n        if (i < n)", "        if (i < n)"),
        ("take one half for all steps", "            half = BLOCK_DIM - half;\n        }", "        }"),
        ("take one half for two sections", "        half = BLOCK_DIM - half;\n    }\n}", "    }\n}"),
        ("forget the first of those that add", "if (t >= stride)", "if (t > stride)"),
        ("swap the operands", "COARSEN_(op)(sums[half + t - stride], sum)", "COARSEN_(op)(sum, sums[half + t - stride])"),
        ("stop the steps early", "stride < BLOCK_DIM; stride", "stride < BLOCK_DIM / 2; stride"),
        ("forget the sections before", "        before = sums[half + BLOCK_DIM - 1];\n", ""),
        ("swap the operands of the sections", "COARSEN_(op)(before, sum)", "COARSEN_(op)(sum, before)"),
        ("read past the end", "if (i < n)\n            sum", "if (i <= n)\n            sum"),
        ("write past the end", "if (i < n)\n            out", "if (i <= n)\n            out"),
        ("begin each section with the identity", "t > 0 ? sums[half + t - 1] : before",
         "t > 0 ? sums[half + t - 1] : COARSEN_(identity)()"),
        ("give LIFT the wrong index", "COARSEN_(lift)(in[i], i)", "COARSEN_(lift)(in[i], (size_t)t)"),
    ]),
    "scan/brent_kung.h": ("scan", CHECKS + [
        ("drop the barrier on the way up", f"            {BARRIER}\n            if (last < ", "            if (last < "),
        ("drop the barrier on the way down", f"            {BARRIER}\n            if (last + ", "            if (last + "),
        ("drop the barrier at the end", f"        {BARRIER}\n#pragma", "#pragma"),
        ("drop the barrier between sections", f"1];\n        {BARRIER}\n", "1];\n"),
        ("begin the way down too low", "stride /= 4;", "stride /= 8;"),
        ("stop the way down early", "stride > 0; stride", "stride > 1; stride"),
        ("swap the operands on the way up", "COARSEN_(op)(sums[last - stride], sums[last])",
         "COARSEN_(op)(sums[last], sums[last - stride])"),
        ("swap the operands on the way down", "COARSEN_(op)(sums[last], sums[last + stride])",
         "COARSEN_(op)(sums[last + stride], sums[last])"),
        ("pass the end of the section", "if (last + stride < ", "if (last + stride <= "),
        ("write half of the section", "k < 2; k++) {\n            const unsigned int j = k * BLOCK_DIM + t;\n            if",
         "k < 1; k++) {\n            const unsigned int j = k * BLOCK_DIM + t;\n            if"),
        ("forget the sections before", "        before = sums[COARSEN_(section) - 1];\n", ""),
        ("write past the end", "if (first + j < n)", "if (first + j <= n)"),
    ]),
    "scan/coarsened.h": ("scan", CHECKS + [
        ("drop the barrier before the runs", f"    {BARRIER}\n    COARSEN_ACC sum", "    COARSEN_ACC sum"),
        ("drop the barrier of a step", f"        {BARRIER}\n        if (t >= stride)", "        if (t >= stride)"),
        ("drop the barrier after the steps", f"    {BARRIER}\n    if (t > 0)", "    if (t > 0)"),
        ("drop the barrier after the runs", f"    }}\n    {BARRIER}\n}}", "    }\n}"),
        ("drop the barrier between sections", f"1];\n        {BARRIER}\n", "1];\n"),
        ("add nothing to the second run", "if (t > 0)", "if (t > 1)"),
        ("add nothing to the last of a run", "        run[COARSE_FACTOR - 1] = sum;\n", ""),
        ("swap the operands in a run", "COARSEN_(op)(sum, run[k])", "COARSEN_(op)(run[k], sum)"),
        ("swap the operands of the runs", "COARSEN_(op)(totals[half + t - stride], sum)",
         "COARSEN_(op)(sum, totals[half + t - stride])"),
        ("forget the sections before", "        before = sums[COARSEN_(section) - 1];\n", ""),
        ("guard the uncoarsened index", "            if (i < n)", "            if (first + t < n)"),
        ("write past the end", "if (first + j < n)", "if (first + j <= n)"),
        ("add to the last of a run for nothing", "k + 1 < COARSE_FACTOR", "k < COARSE_FACTOR"),
    ]),
    "scan/three_kernel.h": ("scan", CHECKS + [
        ("leave the total of another element", "totals[blockIdx.x] = sums[COARSEN_(section) - 1];",
         "totals[blockIdx.x] = sums[COARSEN_(section) - 2];"),
        ("drop the barrier between sections of totals", f"1];\n        {BARRIER}\n", "1];\n"),
        ("forget the sections of totals before", "        before = sums[COARSEN_(section) - 1];\n", ""),
        ("scan one total less", "totals, blocks - 1);", "totals, blocks - 2);"),
        ("add to the first section", "((size_t)blockIdx.x + 1) *", "((size_t)blockIdx.x) *"),
        ("add nothing to the last section", "coarsen_launch_config(blocks - 1,", "coarsen_launch_config(blocks - 1 - (blocks > 2),"),
        ("swap the operands", "COARSEN_(op)(before, out[first + j])", "COARSEN_(op)(out[first + j], before)"),
        ("take the identity for one on the right too", "COARSEN_EXCLUSIVE && j == 0 ? before : ", ""),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n)", "scratch_bytes > ~0ULL"),
    ]),
    "scan/chained.h": ("scan", CHECKS + [
        ("take the number of the block for a ticket", "atomicInc((unsigned int *)scratch, gridDim.x - 1);", "blockIdx.x;"),
        ("leave the ticket as it is", "atomicInc((unsigned int *)scratch, gridDim.x - 1);",
         "atomicAdd((unsigned int *)scratch, 1u);"),
        ("take a ticket that no block has", "if (ticket >= gridDim.x)", "if (false)"),
        ("drop the barrier after the ticket", f"    {BARRIER}\n    unsigned long long", "    unsigned long long"),
        ("drop the barrier before the results", f"start[0] = before;\n    }}\n    {BARRIER}\n", "start[0] = before;\n    }\n"),
        ("leave the section's own total", "COARSEN_(op)(before, sums[COARSEN_(section) - 1])", "sums[COARSEN_(section) - 1]"),
        ("swap the operands of the chain", "COARSEN_(op)(before, sums[COARSEN_(section) - 1])",
         "COARSEN_(op)(sums[COARSEN_(section) - 1], before)"),
        ("leave what nobody collects", "if (ticket < gridDim.x - 1)", "if (true)"),
        ("look without waiting", "before = COARSEN_(collect)(slot - COARSEN_(words_of_slot));",
         "COARSEN_(look)(slot - COARSEN_(words_of_slot), &before);"),
        ("swap the operands", "COARSEN_(op)(start[0], sums[j])", "COARSEN_(op)(sums[j], start[0])"),
        ("overlap the slots", "(size_t)ticket * COARSEN_(words_of_slot);", "(size_t)ticket;"),
        ("ask for too small a scratch", "return 16 + coarsen_ceil_div", "return coarsen_ceil_div"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n)", "scratch_bytes > ~0ULL"),
        ("take a misaligned scratch", "COARSEN_(scratch_bytes)(n), 16)", "COARSEN_(scratch_bytes)(n), 1)"),
    ]),
    "scan/single_pass.h": ("scan", [
        ("take wrong arguments", "scratch_bytes < COARSEN_(scratch_bytes)(n))\n        return cudaErrorInvalidValue;\n",
         "scratch_bytes < COARSEN_(scratch_bytes)(n))\n        ;\n"),
        ("write wide where it is not aligned", "    if (arrays.wide) {", "    if (true) {"),
        ("give LIFT the wrong index where a tile is added up",
         "COARSEN_(op)(sum, COARSEN_(lift)(load.item[j], i + j))", "COARSEN_(op)(sum, COARSEN_(lift)(load.item[j], i))"),
        ("give LIFT the wrong index where a tile is written",
         "COARSEN_(op)(before, COARSEN_(lift)(load.item[j], i + j))",
         "COARSEN_(op)(before, COARSEN_(lift)(load.item[j], i))"),
        ("give LIFT the wrong index at an end that is added up",
         "COARSEN_(op)(sum, COARSEN_(lift)(from->item[j], i + j))",
         "COARSEN_(op)(sum, COARSEN_(lift)(from->item[j], i))"),
        ("give LIFT the wrong index at an end that is written",
         "COARSEN_(op)(before, COARSEN_(lift)(from->item[j], i + j))",
         "COARSEN_(op)(before, COARSEN_(lift)(from->item[j], i))"),
        ("swap the operands of the rows", "COARSEN_(op)(total, below);", "COARSEN_(op)(below, total);"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n))", "scratch_bytes > ~0ULL)"),
        ("take a misaligned scratch", "COARSEN_(scratch_bytes)(n), 16)", "COARSEN_(scratch_bytes)(n), 1)"),
    ]),
    "merge/basic.h": ("merge", CHECKS_OF_TWO + [
        ("search one result too far", "COARSEN_(co_rank)(first, a, m, b, n), j", "COARSEN_(co_rank)(first + (first > 0), a, m, b, n), j"),
        ("take equal keys of b first", "(j < n && COARSEN_(less)(b[j], a[i]))", "(j < n && !COARSEN_(less)(a[i], b[j]))"),
        ("search as if those of b came first", "if (COARSEN_(less)(b[k - 1 - i], a[i]))", "if (!COARSEN_(less)(a[i], b[k - 1 - i]))"),
        ("compare with another key of b", "COARSEN_(less)(b[k - 1 - i]", "COARSEN_(less)(b[k - 2 - i + (k - 1 == i)]"),
        ("begin the search at 0", "low = k > n ? k - n : 0", "low = 0"),
        ("read past the end of a", "from_b = i == m || ", "from_b = "),
        ("read past the end of b", "(j < n && COARSEN", "(COARSEN"),
        ("write past the end", "&& k < m + n; k++", "&& k <= m + n; k++"),
        ("lose the last result", "&& k < m + n; k++", "&& k + 1 < m + n; k++"),
        ("lose the last block", "coarsen_ceil_div(m + n, BLOCK_DIM * COARSE_FACTOR);", "(m + n) / (BLOCK_DIM * COARSE_FACTOR);"),
        ("take the value of another key", "arrays.b_values[j] :", "arrays.b_values[n - 1 - j] :"),
    ]),
    "merge/tiled.h": ("merge", CHECKS_OF_TWO + [
        ("drop the barrier after the search", f"    {BARRIER}\n    const size_t a_first", "    const size_t a_first"),
        ("drop the barrier before the merge", f"    {BARRIER}\n\n    const COARSEN_TYPE", "\n    const COARSEN_TYPE"),
        ("drop the barrier before the results", f"    {BARRIER}\n    for (unsigned int k = t; k < count", "    for (unsigned int k = t; k < count"),
        ("take equal keys of b first", "COARSEN_(less)(b[j], a[i]))", "!COARSEN_(less)(a[i], b[j]))"),
        ("trust keys that are not sorted", "ends[1] > a_first ? (unsigned int)coarsen_min(ends[1] - a_first, count) : 0", "(unsigned int)(ends[1] - a_first)"),
        ("search for the end one too early", "first + t * count, arrays.a", "first + t * (count - 1), arrays.a"),
        ("read past the end of a", "from_b = i == of_a || ", "from_b = i > of_a || "),
        ("read past the end of b", "(j < of_b && COARSEN", "(j <= of_b && COARSEN"),
        ("write past the end", "for (unsigned int k = t; k < count; k", "for (unsigned int k = t; k <= count; k"),
        ("take the value of another key", "from[k] = from_b ? of_a + j : i;", "from[k] = from_b ? j : i;"),
        ("lose the last block", "coarsen_ceil_div(m + n, COARSEN_(tile));", "(m + n) / COARSEN_(tile);"),
    ]),
    "merge/circular.h": ("merge", CHECKS_OF_TWO + [
        ("drop the barrier after the search", f"    {BARRIER}\n    size_t a_first", "    size_t a_first"),
        ("drop the barrier before the merge", f"        {BARRIER}\n\n        const unsigned", "\n        const unsigned"),
        ("drop the barrier before the results", f"        {BARRIER}\n        for (unsigned int k = t; k < count", "        for (unsigned int k = t; k < count"),
        ("take equal keys of b first", "COARSEN_(less)(*COARSEN_(at)(b, j), *COARSEN_(at)(a, i)));",
         "!COARSEN_(less)(*COARSEN_(at)(a, i), *COARSEN_(at)(b, j)));"),
        ("search as if those of b came first", "if (COARSEN_(less)(*COARSEN_(at)(b, k - 1 - i), *COARSEN_(at)(a, i)))",
         "if (!COARSEN_(less)(*COARSEN_(at)(a, i), *COARSEN_(at)(b, k - 1 - i)))"),
        ("pass the end of a ring", "ring.keys + (ring.first + e) % COARSEN_(tile)", "ring.keys + ring.first + e"),
        ("copy a key again", "a_copied = a_first + a.count;", "a_copied = a_first;"),
        ("copy to the place of another key", "b_keys[(b.first + (unsigned int)(e - b_first))", "b_keys[(unsigned int)(e - b_first)"),
        ("forget how far the tile went", "a.first = (a.first + used) % COARSEN_(tile);", ";"),
        ("count what is used of a for b", "b_first += count - used;", "b_first += used;"),
        ("tell what another thread has used", "if (t == BLOCK_DIM - 1)", "if (t == BLOCK_DIM - 2)"),
        ("trust keys that are not sorted", "ends[1] > a_first ? coarsen_min(ends[1], a_first + (stop - start)) : a_first", "ends[1]"),
        ("take the value of another key", "arrays.b_values[b_first + (from[k] - COARSEN_(tile))]", "arrays.b_values[b_first]"),
        ("lose the last block", "coarsen_ceil_div(m + n, COARSEN_(walk) * COARSEN_(tile));", "(m + n) / (COARSEN_(walk) * COARSEN_(tile));"),
    ]),
    "merge/pipelined.h": ("merge", [
        ("take wrong arguments", "    if (!COARSEN_(arrays_ok)(arrays))\n        return cudaErrorInvalidValue;\n", ""),
        ("drop the barrier after the search", f"    {BARRIER}\n    const size_t a_start", "    const size_t a_start"),
        ("drop the barrier before the merge", f"        COARSEN_(copies_wait)(1);\n        {BARRIER}\n", "        COARSEN_(copies_wait)(1);\n"),
        ("drop the barrier before the results", f"        {BARRIER}\n\n        const unsigned int of_a", "        const unsigned int of_a"),
        ("wait for one copy too few", "COARSEN_(copies_wait)(1);", "COARSEN_(copies_wait)(2);"),
        ("leave out the empty group", "    COARSEN_(copies_end)(); // an empty group, in the place of the next tile's keys\n", ""),
        ("have rings too small", "#define COARSEN_RING(tile) (2 * (tile) + COARSEN_ITEMS)", "#define COARSEN_RING(tile) ((tile) + 2 * COARSEN_ITEMS)"),
        ("copy over a key that is to be merged", "* COARSEN_(items) + ring.size;", "* COARSEN_(items) + ring.size + COARSEN_(items);"),
        ("pass the end of a ring", "(to + (place < before ? place : before), from,", "(to + place, from,"),
        ("leave out what is there again", "place < again;", "place + 16 < again;"),
        ("forget that what is there again may wrap", "in < ring.size ? in : in + ring.size;", "in;"),
        ("put what was there before behind the ring", "        if (e < last - copied)\n", ""),
        ("read before the array", "(e < begin || e + COARSEN_(items) > end)", "(e + COARSEN_(items) > end)"),
        ("read past the array", "(e < begin || e + COARSEN_(items) > end)", "(e < begin)"),
        ("forget where the array begins", "next < past ? past - (unsigned int)next : 0,", "0,"),
        ("take a fill at the array's start for a whole one", "whole = input->copied >= input->begin && last <= input->end;", "whole = last <= input->end;"),
        ("take a fill at the array's end for a whole one", "whole = input->copied >= input->begin && last <= input->end;", "whole = input->copied >= input->begin;"),
        ("lose the end of the array", "if (e + v >= begin && e + v < end)", "if (e + v >= begin && e + v + 1 < end)"),
        ("forget what was copied", "    input->copied = last;\n", ""),
        ("forget from where it is copied", "    input->from += last - input->copied;\n", ""),
        ("forget how far the tile went", "    input->ring.first = COARSEN_(place)(input->ring, used) - input->ring.base;\n", ""),
        ("write wide before the array", "if (k >= begin && k + COARSEN_ITEMS <= stop)", "if (k + COARSEN_ITEMS <= stop)"),
        ("write wide past the section", "if (k >= begin && k + COARSEN_ITEMS <= stop)", "if (k >= begin)"),
        ("take a first tile for a whole one", "if (begin == 0 && stop == tile &&", "if (stop == tile &&"),
        ("take a last tile for a whole one", "if (begin == 0 && stop == tile &&", "if (begin == 0 &&"),
        ("write past a tile", "if (r + row <= tile || r + k < tile)", "if (true)"),
        ("leave out the end of a tile", "if (r + row <= tile || r + k < tile)", "if (r + row <= tile)"),
        ("trust keys that are not sorted", "ends[1] > a_start ? coarsen_min(ends[1], a_start + (stop - start)) : a_start;", "ends[1];"),
        ("tell what another thread has used", "if (t == BLOCK_DIM - 1)\n            used", "if (t == BLOCK_DIM - 2)\n            used"),
        ("take a run at the end for a whole one", "            count == each &&\n", ""),
        ("take a run at the end of b for a whole one", " &&\n            (j + each < b.ring.count || j == b.ring.count);", ";"),
        ("take values of the tile before", "arrays.b_values + (b.first + b.next);", "arrays.b_values + b_start;"),
        ("take a second tile for the first", "        left -= end;\n        begin = 0;\n", "        left -= end;\n"),
        ("take the value of another key", "place >> 31 ? b + ~place", "place >> 31 ? b + (place & 0xff)"),
        ("let four values be written where three are", "            if (k + v * BLOCK_DIM < stop)\n                out[", "            if (true)\n                out["),
        ("lose the last block of short arrays", "coarsen_launch_config(coarsen_ceil_div(all, BLOCK_DIM * each), BLOCK_DIM, bytes, stream);",
         "coarsen_launch_config((all - 1) / (BLOCK_DIM * each) + (all < 99), BLOCK_DIM, bytes, stream);"),
    ]),
    "block/merge.h": ("merge", [
        ("search as if those of b came first", "        if (COARSEN_(less)(b[k - 1 - i], a[i]))\n", "        if (!COARSEN_(less)(a[i], b[k - 1 - i]))\n"),
        ("probe as if those of b came first", "!COARSEN_(less)(b[k - 1 - i], a[i]);", "COARSEN_(less)(a[i], b[k - 1 - i]);"),
        ("probe past the end", "&& i < high && !COARSEN_(less)", "&& i <= high && !COARSEN_(less)"),
        ("probe with one step too small", "(high - low) / 257 : (high - low) / 33) + 1;", "(high - low) / 258 : (high - low) / 34);"),
        ("believe too few lanes", "low += step * count;", "low += step * (count & 127);"),
        ("keep what is ruled out", "coarsen_min(high, low + step - 1);", "coarsen_min(high, low + step - 2);"),
        ("pass the end of a ring", "return run.base + (place < before ? place : before);", "return run.base + place;"),
        ("search runs as if those of b came first",
         "if (COARSEN_(less)(*COARSEN_(at_byte)(keys, at_b - i * size),\n                           *COARSEN_(at_byte)(keys, at_a + i * size)))",
         "if (!COARSEN_(less)(*COARSEN_(at_byte)(keys, at_a + i * size),\n                            *COARSEN_(at_byte)(keys, at_b - i * size)))"),
        ("choose from both sides of a ring's end", "of_b < 2; of_b++", "of_b < 1; of_b++"),
        ("choose from both sides of the end of a's ring", "a.size - a.first;", "a.count;"),
        ("ask for what is no choice", "if (i - low < high - low) {", "if (i < high) {"),
        ("take equal keys of b first at a ring's end", "if (COARSEN_(less)(key_b, keys[COARSEN_(place)(a, i)]))", "if (!COARSEN_(less)(keys[COARSEN_(place)(a, i)], key_b))"),
        ("take equal keys of b first in whole runs", "from_b = COARSEN_(less)(key_b, key_a);", "from_b = !COARSEN_(less)(key_a, key_b);"),
        ("take equal keys of b first", "(in_b < b.count && COARSEN_(less)(*next_b, *next_a));", "(in_b < b.count && !COARSEN_(less)(*next_a, *next_b));"),
        ("read past the end of a", "in_a >= a.count || (in_b < b.count &&", "in_a > a.count || (in_b < b.count &&"),
        ("read past the end of b", "(in_b < b.count && COARSEN_(less)(*next_b", "(in_b <= b.count && COARSEN_(less)(*next_b"),
        ("tell the index of another key in whole runs", "from[k + p] = from_b ? ~in_b : in_a;", "from[k + p] = from_b ? in_b : in_a;"),
        ("tell the index of another key", "from[k] = from_b ? ~in_b : in_a;", "from[k] = from_b ? in_b : in_a;"),
        ("tell the index of another key of a run alone", "(e + k + p) ^ flip;", "e + k + p;"),
        ("copy a run alone from its start", "COARSEN_(copy_run)(*j, count,", "COARSEN_(copy_run)(0, count,"),
        ("take a's end for b's", "if (whole && *j >= b.count) {", "if (whole && *i >= a.count) {"),
        ("lose the last run", "const unsigned int count = all - first < each ? all - first : each;", "const unsigned int count = all - first < each ? 0 : each;"),
    ]),
    "scan/segmented.h": ("scan_segmented", [
        ("take wrong arguments", "segments == (size_t)-1 ||", ""),
        ("take null flags", " || !coarsen_array_ok(flags, n))", ")"),
        ("take too small a scratch", "scratch_bytes >= COARSEN_(scratch_bytes)(n);", "scratch_bytes > 0;"),
        ("combine over a head", "    if (b.head)\n        return b;\n", ""),
        ("forget the head before", "a.head);", "false);"),
        ("write wide where it is not aligned", "    if (arrays.wide) {", "    if (true) {"),
        ("read flags wide where they are not aligned", "r < rows && arrays.wide_flags && COARSEN_(there)", "r < rows && COARSEN_(there)"),
        ("forget the flags at an end", "                if (COARSEN_(there)(arrays, e + j, 1))\n                    memcpy", "                if (false)\n                    memcpy"),
        ("shift the marks", "heads >> element % 32 &", "heads >> (element + 1) % 32 &"),
        ("forget where the array begins", "1u << (here + skip) % 32", "1u << here % 32"),
        ("take an offset that falls", "here < before || here > n", "here > n"),
        ("take an offset behind the array", "here < before || here > n", "here < before"),
        ("leave marks of the launch before", "cudaMemsetAsync(scratch, 0, COARSEN_(scratch_bytes)(n), stream)", "cudaMemsetAsync(scratch, 0, 16, stream)"),
        ("reach over the segment's first lane", "lane + (unsigned int)__clz((int)upto) - 31", "lane"),
        ("reach one lane less", "if (delta <= reach[r])", "if (delta < reach[r])"),
        ("take a head of the lane for one before it", "const bool begins = votes[r] & below_lane;", "const bool begins = votes[r];"),
        ("forget the heads of the rows before", "(begins || begun ? 0u : 1u)", "(begins ? 0u : 1u)"),
        ("add a row to the segment before its head", "total = votes[r] != 0 ? row : COARSEN_(value_op)(total, row);", "total = COARSEN_(value_op)(total, row);"),
        ("forget what is before the part", "else if (kept->open >> r & 1)", "else if (false)"),
        ("put heads of two words in one", "kept->bits[at / 32] |= bits", "kept->bits[0] |= bits"),
        ("give LIFT the wrong index where a tile is added up", "x = COARSEN_(lift)(load.item[j], i + j);\n        sum", "x = COARSEN_(lift)(load.item[j], i);\n        sum"),
        ("give LIFT the wrong index at an end", "x = COARSEN_(lift)(from->item[j], i + j);", "x = COARSEN_(lift)(from->item[j], i);"),
        ("give a head what is before it", ": head             ? COARSEN_(value_identity)()", ": false            ? COARSEN_(value_identity)()"),
    ]),
    "segmented/runs.h": ("runs", [
        ("take wrong arguments", "!coarsen_array_ok(out, n))\n        return cudaErrorInvalidValue;\n", "!coarsen_array_ok(out, n))\n        ;\n"),
        ("take misaligned keys for the results", "(out_keys && !coarsen_array_ok(out_keys, n)) || ", ""),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n))", "scratch_bytes > ~0ULL)"),
        ("take a misaligned scratch", "COARSEN_(scratch_bytes)(n), 16)", "COARSEN_(scratch_bytes)(n), 1)"),
        ("leave the count of nothing as it was", "return cudaMemsetAsync(count, 0, sizeof(*count), stream);", "return cudaSuccess;"),
        ("copy keys wide where they are not aligned", "if (arrays.wide && COARSEN_(there)", "if (COARSEN_(there)"),
        ("forget the keys at an end", "            if (COARSEN_(there)(arrays, first + k, 1))\n", "            if (false)\n"),
        ("forget the key before the part", "if (lane == 0 && first > arrays.skip", "if (false && first > arrays.skip"),
        ("leave no room for the key before the part", "((sizeof(COARSEN_KEY) + 15) / 16 * 16)", "0"),
        ("leave room for elements and not for results", "sizeof(COARSEN_TYPE) > sizeof(COARSEN_(value)) ", "true "),
        ("leave room for results and not for elements", "sizeof(COARSEN_TYPE) > sizeof(COARSEN_(value)) ", "false "),
        ("copy too few keys", "k < most * 32 * COARSEN_ITEMS; k += 32 * COARSEN_KEYS_AT_ONCE)", "k < (most - 1) * 32 * COARSEN_ITEMS; k += 32 * COARSEN_KEYS_AT_ONCE)"),
        ("combine over a head", "heads > 0 ? COARSEN_(value_in)(b)", "false ? COARSEN_(value_in)(b)"),
        ("count heads of the second only", "COARSEN_(heads_in)(a) + heads", "heads"),
        ("take the array's first element for no head", "((!whole || k == 0) && e + j == arrays.skip) ||", ""),
        ("look for the key before the array", "if (element > arrays.skip && (whole ||", "if ((whole ||"),
        ("swap the keys", "COARSEN_(same)(before, keys.item[j])", "COARSEN_(same)(keys.item[j], before)"),
        ("compare with the head's key", "            before = keys.item[j];\n", "            if (head)\n                before = keys.item[j];\n"),
        ("go on over a head", "            sum = head ? x : COARSEN_(value_op)(sum, x);\n            before", "            sum = COARSEN_(value_op)(sum, x);\n            before"),
        ("give LIFT the wrong index", "(load.item[j], e + j - arrays.skip)", "(load.item[j], e - arrays.skip)"),
        ("give LIFT the wrong index at a head", "load[r].item[j], element + k - arrays.skip", "load[r].item[j], element - arrays.skip"),
        ("put heads of two words in one", "heads[k / 32] |=", "heads[0] |="),
        ("take elements that are not there", "            if (!whole && !COARSEN_(there)(arrays, e + j, 1))\n                continue;\n", ""),
        ("drop the wait for the other lanes' copies", "    __syncwarp(); // the copies of the other lanes\n", ""),
        ("write results over elements", "    __syncwarp(); // all lanes have read what is overwritten\n", ""),
        ("write keys over keys", "    __syncwarp(); // as above\n", ""),
        ("drop the wait before the next copy", "    __syncwarp(); // before another tile is copied there\n", ""),
        ("reach over the run's first lane", "lane + (unsigned int)__clz((int)upto) - 31", "lane"),
        ("reach one lane less", "if (delta <= reach)", "if (delta < reach)"),
        ("count the heads of lanes that are not below", "        if (delta <= lane)\n", ""),
        ("take the last lane's where it has nothing", "    if (!whole)\n        last =", "    if (false)\n        last ="),
        ("put a lane's results behind its own", "    place -= count;\n", ""),
        ("begin each lane with nothing", "    if (lane == 0)\n        before = COARSEN_(value_identity)();", "    before = COARSEN_(value_identity)();"),
        ("forget what is before the part", "kept->head ? open : COARSEN_(value_op)(open, totals[0].value)", "totals[0].value"),
        ("add nothing to a run that is over before the part", "kept->head ? open : COARSEN_", "COARSEN_"),
        ("write a run before the first", "kept->heads > 0 && before > 0)", "kept->heads > 0)"),
        ("write keys that nobody wants", "        if (arrays.out_keys)\n", ""),
        ("shift the keys", "arrays.out_keys[before + k] = runs[k].key;", "arrays.out_keys[before + k] = runs[k > 0 ? k - 1 : k].key;"),
        ("write one result of 32 too few", "k < kept->heads; k += 32)", "k < kept->heads; k += 33)"),
        ("leave the count as it was", "        *arrays.count = count;\n", ""),
        ("forget that the last run began before the part", "kept->heads > 0 ? kept->since :", "true ? kept->since :"),
        ("add what is before the part to the last run", "kept->heads > 0 ? kept->since :", "false ? kept->since :"),
    ]),
    "block/pipeline.h": ("scan", [
        ("lose what is before the array's first vector", "element >= arrays.skip && ", ""),
        ("wait for one copy too few", "COARSEN_(copies_wait)(1);", "COARSEN_(copies_wait)(2);"),
        ("begin each warp with the tile's start", "start = COARSEN_(op)(start, below_written);", ";"),
        ("drop the barrier of the turn", f"        {BARRIER}\n        if (works && written < tiles)", "        if (works && written < tiles)"),
        ("copy over what is written next", "at_written = at_read, at_read = at_added,", "at_read = at_added,"),
        ("drop the barrier after the ticket of a block's one tile", f"        {BARRIER}\n        element += tile * items;", "        element += tile * items;"),
        ("drop the barrier before the results of a block's one tile", f"        {BARRIER}\n        before = start[0];", "        before = start[0];"),
        ("forget the warps before", "threadIdx.x < 32 ? before : COARSEN_(op)(before, warps));", "before);"),
        ("leave a sum before all totals are there", "__all_sync(0xffffffff, *(volatile unsigned int *)&ready == parts)", "true"),
        ("leave the sum of the last turn again", "totals + turn * COARSEN_WARPS, &below_added", "totals + (1 - turn) * COARSEN_WARPS, &below_added"),
        ("forget what is before the warps of a sum left early", "below_read = below_added, sum_read = sum_added;", "sum_read = sum_added;"),
        ("ask for too small a scratch", "n / row / ((most + 1) / 2) + 2;", "2;"),
    ]),
    "sort/single_bit.h": ("sort", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n\n    unsigned", "        ;\n\n    unsigned"),
        ("lose the last key", "const bool there = i < n;", "const bool there = i + 1 < n;"),
        ("read past the end", "i < n && COARSEN_(digit)(in[i], first) == 1", "COARSEN_(digit)(in[i], first) == 1"),
        ("count the key itself", "((1u << t % 32) - 1)", "((2u << t % 32) - 1)"),
        ("drop the barrier", f"    {BARRIER}\n    for (unsigned int w = 0; w < t / 32; w++)", "    for (unsigned int w = 0; w < t / 32; w++)"),
        ("forget the warps before", "w < t / 32; w++)", "w + 1 < t / 32; w++)"),
        ("put all ones where the zeros go", "table[digit * (size_t)gridDim.x + blockIdx.x]", "table[blockIdx.x]"),
        ("stop one bit early", "p < passes && status", "p + 1 < passes && status"),
        ("scan each part of the table alone", "before += sums[", "before = 0 * sums["),
        ("drop the barrier of a step", f"sums[half + t] = sum;\n            {BARRIER}", "sums[half + t] = sum;"),
        ("drop the barrier between parts", f"        before += sums[half + BLOCK_DIM - 1];\n        {BARRIER}", "        before += sums[half + BLOCK_DIM - 1];"),
        ("leave the values", "arrays.out_values[place] = arrays.in_values[i];", ";"),
    ]),
    "sort/local.h": ("sort", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n\n    unsigned", "        ;\n\n    unsigned"),
        ("take what is not there for a 1", "const bool mine = t < count && (", "const bool mine = t >= count || ("),
        ("drop the barrier after the votes", f"    {BARRIER}\n    for (unsigned int w = 0; w < BLOCK_DIM / 32; w++)", "    for (unsigned int w = 0; w < BLOCK_DIM / 32; w++)"),
        ("drop the barrier after the split", f"    }}\n    {BARRIER}\n}}", "    }\n}"),
        ("add the warps behind", "ones += w < t / 32 ?", "ones += w <= t / 32 ?"),
        ("put the ones first", "mine ? count - all + ones : t - ones", "mine ? ones : all + t - ones"),
        ("forget where the ones begin", "(digit == 1 ? t - begin : t)", "t"),
        ("leave a value where it was", "        values[place] = value;", "        values[t] = value;"),
    ]),
    "sort/multi_bit.h": ("sort", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n\n    unsigned", "        ;\n\n    unsigned"),
        ("count without an atomic", "atomicAdd(counts + COARSEN_(digit)(in[i], first), 1u);", "counts[COARSEN_(digit)(in[i], first)]++;"),
        ("count before all counts are 0", f"        counts[t] = 0;\n    {BARRIER}", "        counts[t] = 0;"),
        ("read counts too early", f", 1u);\n    {BARRIER}", ", 1u);"),
        ("put a digit's blocks apart", "table[t * (size_t)gridDim.x + blockIdx.x] = counts[t];", "table[t + (size_t)blockIdx.x * COARSEN_RADIX] = counts[t];"),
        ("sort by a bit less", "bit < first + COARSEN_WIDTH", "bit + 1 < first + COARSEN_WIDTH"),
        ("forget the first key's digit", "(t == 0 || ", "(t > 0 && "),
        ("read begins too early", f"        begin[digit] = t;\n    {BARRIER}", "        begin[digit] = t;"),
        ("forget where the digit begins", "+ t - begin[digit]", "+ t"),
    ]),
    "sort/coarsened.h": ("sort", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n\n    unsigned", "        ;\n\n    unsigned"),
        ("count one key per thread", "k < COARSE_FACTOR; k++) {\n        const size_t i", "k < 1; k++) {\n        const size_t i"),
        ("shift the tiles", "blockIdx.x * COARSEN_TILE + k", "blockIdx.x * BLOCK_DIM + k"),
        ("drop the barrier before the split", f"    {BARRIER}\n    for (unsigned int bit = first", "    for (unsigned int bit = first"),
        ("drop the barrier after the totals", f"    ones -= run;\n    {BARRIER}\n", "    ones -= run;\n"),
        ("drop the barrier after the split", f"        }}\n    {BARRIER}\n}}", "        }\n}"),
        ("count the run itself", "    ones -= run;\n", ""),
        ("stop the steps early", "delta < 32; delta *= 2) {\n        const unsigned int below", "delta < 16; delta *= 2) {\n        const unsigned int below"),
        ("forget the ones of the run", "            ones += mine >> k & 1;\n", ""),
        ("put all ones in one place", "begin + k - ones;", "begin - ones;"),
        ("read begins too early", f"            begin[digit] = j;\n    }}\n    {BARRIER}", "            begin[digit] = j;\n    }"),
    ]),
    "sort/onesweep.h": ("sort", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n    if (width == 0)", "        ;\n    if (width == 0)"),
        ("take bits that there are not", "first > all || width > all - first", "first + width > all"),
        ("write no keys for no bits", "        return COARSEN_(copy)(in, out COARSEN_ALSO(in_values)", "        return 1 ? cudaSuccess : COARSEN_(copy)(in, out COARSEN_ALSO(in_values)"),
        ("let the block alone have one key too many", "    if (n <= coarsen_min(most * BLOCK_DIM, COARSEN_ALONE)) {", "    if (n <= coarsen_min(most * BLOCK_DIM + 1, COARSEN_ALONE)) {"),
        ("let 16 blocks have one key too many", "    if (n <= coarsen_min(COARSEN_MEETING * most * BLOCK_DIM, COARSEN_TOGETHER)) {",
         "    if (n <= coarsen_min(COARSEN_MEETING * most * BLOCK_DIM + 1, COARSEN_TOGETHER)) {"),
        ("write together before all have read", "        COARSEN_(wait)(meeting, turn);\n", f"        {BARRIER}\n"),
        ("read together before all have written", "            COARSEN_(wait)(meeting, COARSEN_(arrive)(meeting));", f"            {BARRIER}"),
        ("forget the keys of the blocks before", "                before += b < blockIdx.x ? its : 0;\n", ""),
        ("take a block's own keys for all", "                all += its;", "                all += b == blockIdx.x ? its : 0;"),
        ("add up totals of blocks that there are not", "its = b < gridDim.x ? table", "its = true ? table"),
        ("read the input again in each pass", "        arrays.in = arrays.out;\n", ""),
        ("read the values again in each pass", "        arrays.in_values = arrays.out_values;\n", ""),
        ("write together to places that are not there yet", f"            offsets[d] += ranking.begin[d];\n        {BARRIER}", "            offsets[d] += ranking.begin[d];"),
        ("put the values of 16 blocks over the keys", "(COARSEN_VALUE *)(keys + BLOCK_DIM * rows);\n    COARSEN_VALUE value", "(COARSEN_VALUE *)(keys + 32 * rows);\n    COARSEN_VALUE value"),
        ("have no place for the totals of 16 blocks", "COARSEN_STARTS + 16 * COARSEN_RADIX", "COARSEN_STARTS + 2 * COARSEN_RADIX"),
        ("count before the counts are 0", f"        counts[i] = 0;\n    {BARRIER}", "        counts[i] = 0;"),
        ("add up before all have counted", f"first, width);\n    {BARRIER}\n\n    for (unsigned int bin", "first, width);\n\n    for (unsigned int bin"),
        ("lose the keys around the vectors", "threadIdx.x < parts.rest)", "false)"),
        ("leave the counts to the next launch", "            mine[j] = 0; // for the next launch\n", ""),
        ("stop the scan of counts early", "delta < 32; delta *= 2) {\n            const unsigned long long below", "delta < 16; delta *= 2) {\n            const unsigned long long below"),
        ("count with other bits", "COARSEN_(bits)(key) >> first & all", "COARSEN_(bits)(key) & all"),
        ("count bits above the width", "~0ull >> (64 - width)", "~0ull"),
        ("go on with what is not there", "if (t == 0 || kind / 2 != flag / 2)", "if (t == 0)"),
        ("go on when all is known", "if (t == 0 || kind / 2 != flag / 2)", "if (kind / 2 != flag / 2)"),
        ("stop at the first tile before", "t = kind == flag ? t - 1 : 0;", "t = 0;"),
        ("leave what is before without the tile", "flag + 1, before + mine);", "flag + 1, before);"),
        ("take what one tile has for what all have", "tile == 0 ? flag + 1 : flag, ranking", "flag + 1, ranking"),
        ("use one flag for all launches", "((unsigned int)(shared->ticket >> 32) % 0x7fffffff + 1) * 2", "2u"),
        ("forget the portion before", "            next[d] = at + mine;", "            next[d] = starts[d];"),
        ("read in from the start for each portion", "            pass.in += here;\n", ""),
        ("read values from the start for each portion", "            pass.in_values += here;\n", ""),
        ("write before all keys are in place", f"            next[d] = at + mine;\n    }}\n    {BARRIER}", "            next[d] = at + mine;\n    }"),
        ("put values over the keys", "(COARSEN_VALUE *)(keys + BLOCK_DIM * rows);\n#endif\n#pragma", "(COARSEN_VALUE *)(keys + 32 * rows);\n#endif\n#pragma"),
        ("put the values of a block alone over the keys", "(keys + (n + BLOCK_DIM - 1) / BLOCK_DIM * BLOCK_DIM);", "(keys + n / BLOCK_DIM * BLOCK_DIM);"),
        ("take the rows of the next warp", "\n            key[k] = arrays.in[begin", "\n            key[k] = arrays.in[begin + (k > 0)"),
        ("begin before the tile is known", f"shared.ticket, gridDim.x);\n    }}\n    {BARRIER}", "shared.ticket, gridDim.x);\n    }"),
        ("take a last tile for a whole one", "    if (count == COARSE_FACTOR * BLOCK_DIM) {", "    if (rows == COARSE_FACTOR) {"),
        ("ask for too small a scratch", "(few > many ? few : many) * COARSEN_RADIX) * sizeof", "(few > many ? few : many)) * sizeof"),
        ("ask for slots of long tiles alone", "(few > many ? few : many) * COARSEN_RADIX", "many * COARSEN_RADIX"),
        ("make tiles too long for the memory", "coarsen_min((bytes - other) / row, COARSE_FACTOR)", "coarsen_min((bytes - other) / row + 3, COARSE_FACTOR)"),
        ("sort alone by all bits but those of the last digit", "COARSEN_ALSO(values), n, first, width);", "COARSEN_ALSO(values), n, first, width - 1);"),
    ]),
    "merge_sort.h": ("merge_sort", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n\n    unsigned", "        ;\n\n    unsigned"),
        ("take more tiles than a grid has", "tiles > 0x7fffffff ||", "false ||"),
        ("take too small a scratch", "        scratch_bytes < COARSEN_(scratch_bytes)(n))\n", "        false)\n"),
        ("ask for too small a scratch", "COARSEN_TILE) * 4 * sizeof", "COARSEN_TILE) * 3 * sizeof"),
        ("have more keys in a tile than threads can take", "((BLOCK_DIM - 1) * COARSE_FACTOR /", "(BLOCK_DIM * COARSE_FACTOR /"),
        ("forget where in a vector a part begins", "(first % COARSEN_ITEMS)) % COARSEN_ITEMS;", "(first % COARSEN_ITEMS) * 0) % COARSEN_ITEMS;"),
        ("put a part over the last vector of another", "(part.at + part.count + COARSEN_ITEMS - 1) / COARSEN_ITEMS", "(part.at + part.count) / COARSEN_ITEMS"),
        ("leave out what a thread reads behind the end", "parts[3].count + COARSE_FACTOR + COARSEN_ITEMS - 1;", "parts[3].count;"),
        ("copy the second part for the third", "(v >= second) + (v >= third)", "(v >= second)"),
        ("read past the end of the array", "e >= n || n - e < COARSEN_ITEMS", "e >= n"),
        ("read on behind the array", "in[coarsen_min(e + k, n - 1)]", "in[e + k]"),
        ("forget that a is used up", "from_b = i >= a_end || (", "from_b = ("),
        ("forget that b is used up", "(j < b_end && ", "("),
        ("let b go first", "COARSEN_(less)(key_b, key_a))", "!COARSEN_(less)(key_a, key_b))"),
        ("take the search's place for the first result", "b.first + (rank - of_a)", "b.first + rank"),
        ("write before the results", "e >= skip && e + COARSEN_ITEMS <= stop", "e + COARSEN_ITEMS <= stop"),
        ("write behind the results", "e >= skip && e + COARSEN_ITEMS <= stop", "e >= skip"),
        ("lose the results around the vectors", "if (k >= skip && k < stop)", "if (false)"),
        ("take a value from another part", "(place >= second) + (place >= third) + (place >= last)", "(place >= second) + (place >= third)"),
        ("sort a turn less", "turn < COARSE_FACTOR; turn++", "turn + 1 < COARSE_FACTOR; turn++"),
        ("swap equal keys", "swap = COARSEN_(less)(right, left)", "swap = !COARSEN_(less)(left, right)"),
        ("leave a value where it was", "from[k] = swap ? right_from : left_from;", "from[k] = left_from;"),
        ("read the tile before all know where it is", f"? 0 : COARSEN_ROOM;\n    }}\n    {BARRIER}", "? 0 : COARSEN_ROOM;\n    }"),
        ("sort before the keys are there", f"COARSEN_(copies_wait)(0);\n    {BARRIER}\n#pragma", "COARSEN_(copies_wait)(0);\n#pragma"),
        ("sort while the keys are on their way", f"    COARSEN_(copies_wait)(0);\n    {BARRIER}\n#pragma", f"    {BARRIER}\n#pragma"),
        ("leave a gap in the tile's last thread", "                item[k] = greatest;\n", "                ;\n"),
        ("write a run while others read it", f"run *= 2) {{\n        {BARRIER}\n", "run *= 2) {\n"),
        ("merge a run that is not there yet", f"        {BARRIER}\n        if (run >= count)", "        if (run >= count)"),
        ("merge one round less", "if (run >= count)", "if (2 * run >= count)"),
        ("forget where the values of a round came from", "        for (unsigned int k = 0; k < COARSE_FACTOR; k++)\n            from[k] = places[from[k]];\n#endif\n    }", "        ;\n#endif\n    }"),
        ("read another tile's values", "    arrays.in_values += first;\n", ""),
        ("take a run for longer than the array", "return start < n ? coarsen_min(n - start, (size_t)COARSEN_TILE << bits) : 0;", "return (size_t)COARSEN_TILE << bits;"),
        ("take each run for the group's first", "<< ways) + r) << bits)", "<< ways)) << bits)"),
        ("look past the end of a run", "there = rest > 0 && at < length;", "there = rest > 0;"),
        ("compare with keys that are not there yet", ">> shift & all;\n        __syncwarp();\n", ">> shift & all;\n"),
        ("look again while others read", "* step;\n        __syncwarp();\n", "* step;\n"),
        ("let a later run go first", "lower = l < lane;", "lower = l > lane;"),
        ("count more keys than are left", "!(before & last) && rank * step <= rest;", "!(before & last);"),
        ("count keys behind a run's last one", "there && !(before & last) && rank", "there && rank"),
        ("forget what was found", "found += (unsigned int)__popc(chosen & own) * step;", "(void)own;"),
        ("trust an order to be one", "if (chosen == 0 || (unsigned int)__popc(chosen) * step > rest)", "if (chosen == 0)"),
        ("take parts of more keys than a tile", "(unsigned int)coarsen_min(most, rest)", "(unsigned int)most"),
        ("end all runs where the next group begins", "const bool last = (tile + 1) >> (bits + ways) != tile >> (bits + ways);", "const bool last = false;"),
        ("forget the end of the array", "last || none || first + count == n ?", "last || none ?"),
        ("read splits that are not there yet", "    __syncwarp();\n    if (t == 0) {", "    if (t == 0) {"),
        ("read parts that are not there yet", f"    {BARRIER}\n    COARSEN_(fetch)(keys, arrays.in, n, parts);", "    COARSEN_(fetch)(keys, arrays.in, n, parts);"),
        ("merge before the keys are there", f"    {BARRIER}\n\n    COARSEN_(run) a", "\n    COARSEN_(run) a"),
        ("merge the first two parts twice", "p = t < threads ? 0 : 2,", "p = 0,"),
        ("write two results of a step to a place", "if (mine + k < all) {", "if (true) {"),
        ("write results while others read keys", f"mine, item, from);\n        {BARRIER}\n", "mine, item, from);\n"),
        ("read results that are not there yet", f"        {BARRIER}\n        a = COARSEN_(run_of)(0, half);", "        a = COARSEN_(run_of)(0, half);"),
        ("forget the first step's places", "if (ways == 2 && begin + k < count)", "if (false)"),
        ("write while others read the last step's keys", f"places[from[k]];\n#endif\n    {BARRIER}\n#pragma", "places[from[k]];\n#endif\n#pragma"),
        ("write out what is not there yet", f"    {BARRIER}\n    COARSEN_(write)(arrays, first, count, sorted, places, parts);\n}}\n\n// ---- the launch", "    COARSEN_(write)(arrays, first, count, sorted, places, parts);\n}\n\n// ---- the launch"),
        ("take a pass less", "most < tiles; most *= 4", "most < tiles; most *= 8"),
        ("merge two at a time where four are needed", "p == 1 && most / 2 >= tiles ? 1 : 2", "p == 1 ? 1 : 2"),
        ("read keys in place from elsewhere", "    pass.in = in; //", "    //"),
        ("sort values in place without a copy", "if (in_values != pass.out_values)", "if (true)"),
        ("take runs for longer than they are", "bits += ways;", "bits += 2;"),
    ]),
    "top_k.h": ("top_k", CHECKS + [
        ("take a k greater than the width", "k > width || ", ""),
        ("take a k for which there is no room", "k > COARSEN_MOST_K ||", ""),
        ("take indices that are too short", "(size_t)(COARSEN_INDEX)(width - 1) != width - 1", "false"),
        ("write indices to nowhere", "            if (matrix.out_indices)\n                matrix.out_indices[row * k + j]", "                matrix.out_indices[row * k + j]"),
        ("begin where the vector does", "tile.from = done == 0 ? lead : 0;", "tile.from = 0;"),
        ("forget what is before a vector's boundary", "done < end - begin + lead; done", "done < end - begin; done"),
        ("miss the ends of a part", "if (e + j >= tile.from && e + j < tile.to)\n                    least", "if (false)\n                    least"),
        ("miss the candidates at the ends", "                if (e + j >= tile.from && e + j < tile.to &&\n", "                if (false &&\n"),
        ("take a thread with nothing for one", "threadIdx.x * COARSEN_ITEMS < tile.to && COARSEN_(upto)", "COARSEN_(upto)"),
        ("lose what equals the edge", "(unsigned int)bits <= (unsigned int)edge : bits <= edge;", "(unsigned int)bits < (unsigned int)edge : bits < edge;"),
        ("take the edge for less", "upto = known ? edge - 1 : upto;", "upto = known ? edge - 2 : upto;"),
        ("take ties one too early", "return tile.first + high;", "return tile.first + high - 1;"),
        ("forget a place that was full", "waits = place >= room;", "waits = false;"),
        ("lose those that wait", "if (!waits)\n                                mask &= mask - 1;", "mask &= mask - 1;"),
        ("count one too few", "shared->count = k;", "shared->count = k - 1;"),
        ("move the edge too far", "edge = best[k - 1].bits;", "edge = best[k / 2].bits;"),
        ("forget the equal ones before", "last = best[k - 1].index;", "last = 0;"),
        ("look at one vector too few", "(tile.to + stride - 1) / stride;", "tile.to / stride;"),
        ("sort a run less", "run <= length; run", "run < length; run"),
        ("sort without turns", "== ((low & run) == 0)", "== true"),
        ("drop the barrier of a step", f"                }}\n            }}\n            {BARRIER}\n", "                }\n            }\n"),
        ("drop the barrier of a few", f"        {BARRIER}\n        if (threadIdx.x < count)\n            best[place]", "        if (threadIdx.x < count)\n            best[place]"),
        ("forget that equal ones have an order", "(a.bits == b.bits && a.index < b.index)", "false"),
        ("tell more than is known", "atomicMax(told, ~(upto + 1));", "atomicMax(told, ~upto);"),
        ("leave the words as they were", "words[p] = 0; // for the next launch", ";"),
        ("give a part too much", "part * each + coarsen_min(part, more)", "part * each"),
        ("lose the rest of a row", "part == parts - 1 ? matrix.width", "false ? matrix.width"),
        ("take places in the lists for indices", "(from ? from[index] : index)", "(index)"),
        ("arrive once more", "parts - 1); // 0 again", "parts); // 0 again"),
        ("drop the barrier before it arrives", f"    {BARRIER}\n    if (threadIdx.x == 0) {{\n        __threadfence();", "    if (threadIdx.x == 0) {\n        __threadfence();"),
        ("give the counters no place", "processors * COARSEN_BLOCKS * COARSEN_TOLD_BYTES +", "16 +"),
        ("give the lists too little", "(sizeof(unsigned long long) + sizeof(COARSEN_TYPE))", "sizeof(unsigned long long)"),
        ("put equal ones of a short row in one place", "__popc(equal & below)", "__popc(equal & 0)"),
        ("lose a short row's last", "j < (unsigned int)matrix.width; j++", "j + 1 < (unsigned int)matrix.width; j++"),
        ("write more than k of a short row", " && place[r] < k)", ")"),
    ]),
    "sort_segments.h": ("sort_segments", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n    if (n == 0 || of.segments == 0)", "        ;\n    if (n == 0 || of.segments == 0)"),
        ("take no offsets", "if (segments == (size_t)-1 || !coarsen_array_ok(offsets, segments + 1))", "if (false)"),
        ("take rows that overflow", "    if (rows > (size_t)-1 / width)\n        return cudaErrorInvalidValue;\n", ""),
        ("believe wrong offsets", "        if (start > end || end > of.n)\n            __trap(); // wrong offsets\n", ""),
        ("lose a key's sign", "        bits ^= sign;\n", "        ;\n"),
        ("give back descending keys upside down", "        bits ^= all;\n", "        ;\n"),
        ("give back NaN as other ones", "bits = (bits + (sign - 1 - infinite)) & all;", "bits &= all;"),
        ("forget the places of equal keys", "        item.word[0] = place;\n#pragma", "        item.word[0] = 0;\n#pragma"),
        ("put what is not there before keys", "item.word[w] = ~0u;", "item.word[w] = 0;"),
        ("leave half a step of the network out", "(i - gap % half) / gap % 2 == 0", "(i - gap % half) / gap % 2 == 1"),
        ("merge rows that both rise", "const COARSEN_(item) left = item[k], right = item[many - 1 - k];", "const COARSEN_(item) left = item[k], right = item[k];"),
        ("forget which lane is the upper", "!= upper ? theirs : mine", "? theirs : mine"),
        ("end the lanes a row early", "row <= lanes; row *= 2", "row < lanes; row *= 2"),
        ("leave out a lane's last steps", "gap = many / 2; gap > 0; gap /= 2", "gap = many / 2; gap > 1; gap /= 2"),
        ("skip lanes that are two apart", "delta = row / 4; delta > 0", "delta = row / 4; delta > 1"),
        ("merge past the end of a run", "i >= b || (j < end && COARSEN_(before)(of_b, of_a))", "j < end && COARSEN_(before)(of_b, of_a)"),
        ("search one too far", "rank > b_count ? rank - b_count : 0, high", "0, high"),
        ("read keys past a segment's end", "s < end && place < COARSEN_(count_of)(slots, row, s)", "s < end"),
        ("read past the last slot", "s < end && place < COARSEN_(count_of)(slots, row, s)", "place < COARSEN_(count_of)(slots, row, s)"),
        ("overwrite values that others need", "    __syncwarp(); // all are read, and may be overwritten\n", ""),
        ("read items before they are there", "    __syncwarp();\n#pragma unroll\n    for (unsigned int k = 0; k < many; k++)\n        item[k] =", "#pragma unroll\n    for (unsigned int k = 0; k < many; k++)\n        item[k] ="),
        ("take too few lanes", "(COARSEN_SOME << (kind - 1)) + 0u < count", "(COARSEN_SOME << (kind - 1)) + 1u < count"),
        ("put a kind's segments over another's", "place += counts[k];", ";"),
        ("lose the rounds that a warp has had", "        round -= (end - first + (1u << each_log) - 1) >> each_log;\n", "        round = threadIdx.x / 32;\n        round += BLOCK_DIM;\n"),
        ("list segments at one place", "of.lists[c][first + (unsigned int)__popc(mine & ((1u << lane) - 1))] = slot;", "of.lists[c][first] = slot;"),
        ("count no chunks of longer segments", "1ULL << 32 | COARSEN_(chunks)(of, slot.count)", "1ULL << 32 | 1"),
        ("end the merges a stage early", "if (chunks == 0 || number / chunks >= stages)", "if (chunks == 0 || number / chunks + 1 >= stages)"),
        ("give a tile's warps one run", "const unsigned int own = t / 32 * COARSEN_SHORT;", "const unsigned int own = 0 * COARSEN_SHORT;"),
        ("overwrite values that other warps need", f"    {BARRIER} // all are read, and may be overwritten\n", ""),
        ("drop the barrier behind a run", f"COARSEN_(put)(words, at + t * COARSE_FACTOR + k, item[k]);\n        {BARRIER}", "COARSEN_(put)(words, at + t * COARSE_FACTOR + k, item[k]);"),
        ("find the next segment's chunk", ".first <= chunk;", ".first <= chunk + 1;"),
        ("lose a segment's last tile", "coarsen_min(tiles - job.first, (size_t)1 << of.chunk_log);", "coarsen_min(tiles - 1 - job.first, (size_t)1 << of.chunk_log);"),
        ("split at a tile's end alone", "left <= COARSEN_TILE ? pair.a_count : job->splits[w + 1]", "job->splits[w + 1]"),
        ("merge before the splits are there", f"        {BARRIER} // the splits are there, and the tile before is written\n", ""),
        ("take values of the wrong run", "(place < a_part ? from_a : from_b) + place", "from_a + place"),
        ("do not wait for the stage before", "while (*(volatile unsigned long long *)&of.progress->done < stage * chunks) {", "while (false) {"),
        ("end in the spare array", "const bool to_out = (last - stage) % 2 == 0;", "const bool to_out = (last - stage) % 2 == 1;"),
        ("forget what the launch before did", "        status = cudaMemsetAsync(of.progress, 0, sizeof(*of.progress), stream);\n", "        ;\n"),
        ("forget that the spare array needs a place", "    return at + COARSEN_(spare_bytes)(n, true);", "    return at;"),
        ("take too few blocks of rows", "jobs = coarsen_ceil_div(of.segments, BLOCK_DIM / 32 / of.warps);", "jobs = of.segments / (BLOCK_DIM / 32 / of.warps);"),
        ("lose the last rows", "(unsigned int)coarsen_min(rows - first, each);", "each - 1;"),
    ]),
    "block/sort.h": ("sort", [
        ("forget the digit's width", "& ((1u << width) - 1);", "& 255;"),
        ("look at 7 bits", "digit & bit ? lows : ~lows) & (digit & (2 * bit) ? highs : ~highs)", "digit & bit ? lows : ~lows) & (digit & (2 * bit) || bit == 64 ? highs : ~highs)"),
        ("count the key itself", "lower = (1u << lane) - 1;", "lower = (2u << lane) - 1;"),
        ("let each lane move the next place on", "if (peers >> lane == 1)", "if (true)"),
        ("move the next place before all have read it", "    __syncwarp();           // all have read it\n", ""),
        ("take a next place that is not there yet", "        *next = place + 1;\n    __syncwarp();", "        *next = place + 1;"),
        ("begin before the counts are 0", "        counts[d + threadIdx.x % 32] = 0;\n    __syncwarp();\n", "        counts[d + threadIdx.x % 32] = 0;\n"),
        ("count what is not there", "            if (COARSEN_(mine)(rows, k) < count) {\n                key[k]", "            if (true) {\n                key[k]"),
        ("place what is not there", "const bool there = COARSEN_(mine)(rows, k) < count;", "const bool there = true;"),
        ("sort too few rows", "(count + BLOCK_DIM - 1) / BLOCK_DIM;", "count / BLOCK_DIM;"),
        ("add up before all warps have counted", f"    {BARRIER}\n    for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM) {{\n        unsigned int sum = 0;", "    for (unsigned int d = threadIdx.x; d < COARSEN_RADIX; d += BLOCK_DIM) {\n        unsigned int sum = 0;"),
        ("scan before all sums are there", f"begin[COARSEN_RADIX / 32], total = 0;\n    {BARRIER}", "begin[COARSEN_RADIX / 32], total = 0;"),
        ("place before the warp knows its begins", "            ranking->begin[lane * each + j] = begin[j];\n    __syncwarp();", "            ranking->begin[lane * each + j] = begin[j];"),
        ("leave begins to another warp", "lane * each / 32 % (BLOCK_DIM / 32) == threadIdx.x / 32", "lane * each / 32 == threadIdx.x / 32"),
        ("leave out what the warps before have", "            ranking->counts[w][d] = sum;\n", ""),
        ("stop the scan early", "delta < 32; delta *= 2) {\n        const unsigned int below", "delta < 16; delta *= 2) {\n        const unsigned int below"),
        ("forget the digits of the lane", "begin[j] += upto - total;", "begin[j] = upto - total;"),
        ("sort by one digit", "done < width; done += 8)", "done < 8; done += 8)"),
        ("drop the barrier between digits", f"        }}\n        {BARRIER}\n    }}\n}}", "        }\n    }\n}"),
        ("leave the values", "values[place] = value[k];", ";"),
    ]),
    "block/meeting.h": ("block", [
        ("arrive before the block's writes are done", f"    {BARRIER} // the block's writes", "    // the block's writes"),
        ("publish nothing", "        __threadfence();\n        before", "        before"),
        ("go on while one thread waits", f"    }}\n    {BARRIER}\n}}\n\n#ifndef", "    }\n}\n\n#ifndef"),
        ("wait for no one", "(volatile unsigned int *)meeting / 0x10000 == turn", "(volatile unsigned int *)meeting == turn"),
        ("let one block too few arrive", "before % 0x10000 == gridDim.x - 1", "before % 0x10000 + 2 >= gridDim.x"),
        ("leave the number of those that came", "atomicAdd(meeting, 0x10000 - gridDim.x);", "atomicAdd(meeting, 0x10000);"),
    ]),
    "block/ticket.h": ("scan", [
        ("forget to count the launch", "    if (tile == takes - 1)", "    if (false)"),
        ("go on with a scratch that was not made ready", "    if (tile >= takes)\n        __trap();", "    if (false)\n        __trap();"),
    ]),
    "block/look_back.h": ("scan", [
        ("use one flag for all launches", "(unsigned int)(ticket >> 32) + 1};", "1};"),
        ("go on with what is not there", "while (!COARSEN_(lane_answered)", "if (!COARSEN_(lane_answered)"),
        ("leave the group without its last tile", "COARSEN_(op)(before, sum))", "before)"),
        ("wait for no group before", "group > 0 && COARSEN_(value_of)(sight->group, &value) != slots.flag;", "false;"),
        ("forget the tile in a row of 32", "count > k * 32 + 32 ? 31", "count > k * 32 + 32 ? 30"),
        ("swap the operands", "before = COARSEN_(op)(before, all);", "before = COARSEN_(op)(all, before);"),
        ("ask for too small a scratch", "(tiles + tiles / COARSEN_GROUP) * COARSEN_(words_of_slot)", "tiles"),
    ]),
    "select/single_pass.h": ("select", [
        ("take wrong arguments", "        !coarsen_array_ok(out, n))\n        return cudaErrorInvalidValue;\n", "        !coarsen_array_ok(out, n))\n        ;\n"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n))", "scratch_bytes > ~0ULL)"),
        ("take a misaligned scratch", "COARSEN_(scratch_bytes)(n), 16)", "COARSEN_(scratch_bytes)(n), 1)"),
        ("take a misaligned array", "COARSEN_ITEM_ALIGN(COARSEN_TYPE))", "1)"),
        ("leave the count of nothing as it was", "return cudaMemsetAsync(count, 0, sizeof(*count), stream);", "return cudaSuccess;"),
        ("leave the count as it was", "        *arrays.count = start + kept->count;", "        ;"),
        ("count too often", "first + begin + there == arrays.end)", "true)"),
        ("drop the wait for the other lanes' copies", "    __syncwarp(); // the copies of the other lanes\n", ""),
        ("drop the wait before the next copy", "    __syncwarp(); // before another tile is copied there\n", ""),
        ("take what is not in the array", "(whole || e - begin < there)", "true"),
        ("forget where the array begins", "    *begin = first < arrays.skip ? (unsigned int)(arrays.skip - first) : 0;", "    *begin = 0;"),
        ("shift the index", "COARSEN_(kept_at)(kept, part + e, e == 0, arrays, first + e - arrays.skip))", "COARSEN_(kept_at)(kept, part + e, e == 0, arrays, first + e))"),
        ("forget that the first element is kept", "return i == 0 || ", "return "),
        ("look for the element before the part in shared memory", "first ? kept->before : here[-1]", "here[-1]"),
        ("fetch the first element of a part in place of the one before it", "arrays.in[element - arrays.skip - 1]", "arrays.in[element - arrays.skip]"),
        ("put bits of two words in one", "kept->bits[s / 32] |=", "kept->bits[0] |="),
        ("count the lane itself as before it", "votes & ((1u << lane) - 1)", "votes & ((2u << lane) - 1)"),
        ("stop the sum of the lanes early", "int delta = 16; delta > 0; delta /= 2)", "int delta = 16; delta > 1; delta /= 2)"),
        ("give LIFT the index in the tile", "out[before[s]] = COARSEN_(lift)(part[e], i ", "out[before[s]] = COARSEN_(lift)(part[e], e "),
        ("give LIFT the index in the tile where few are kept", "COARSEN_(lift)(part[e], first + e - arrays.skip", "COARSEN_(lift)(part[e], e"),
        ("transpose all but the last step", "delta /= 2, mask ^=", "delta /= 2, delta *= delta > 1, mask ^="),
        ("begin each lane of few with its own", "out + (upto - count)", "out + upto"),
        ("forget the steps of the words before", "        out += __shfl_sync(0xffffffff, upto, 31);\n", ""),
        ("write one per step where few are kept", "for (; votes != 0; votes &= votes - 1, to++)", "for (; votes != 0; votes = 0)"),
        ("shift the rest by one", "n - 1 - (i - before)", "n - (i - before)"),
        ("write as rest what is not in the array", "else if (COARSEN_PARTITION && e - begin < there)", "else if (COARSEN_PARTITION)"),
    ]),
    "segmented/rows.h": ("rows", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n    if (rows == 0)", "        ;\n    if (rows == 0)"),
        ("take no rows for some", "    if (rows == 0)\n        return cudaSuccess;\n", ""),
        ("lose the rest of short rows", "e < rest; e += lanes", "e + 1 < rest; e += lanes"),
        ("read past a short row", "        if (i < width)\n            load[k]", "        if (i <= width)\n            load[k]"),
        ("shift the rest of short rows", "load[k] = row[k].in[i];", "load[k] = row[k].in[i > 0 ? i - 1 : i];"),
        ("take vectors from where none are aligned", "(COARSEN_ITEMS - misaligned) % COARSEN_ITEMS", "0 * misaligned"),
        ("let the head pass the end", "head < width ? head : width", "head"),
        ("give LIFT the index in the vectors", "row[k].head + v * COARSEN_ITEMS + j));", "v * COARSEN_ITEMS + j));"),
        ("forget rounds of a short row", "v < width / COARSEN_ITEMS; v += lanes", "v < width / COARSEN_ITEMS; v += 2 * lanes"),
        ("exchange some words only", "w < COARSEN_(words_of_slot); w++)\n        words.word[w] = __shfl_xor", "w < 1; w++)\n        words.word[w] = __shfl_xor"),
        ("keep what is given", "give = upper ? sum[k] : sum[k + half]", "give = upper ? sum[k + half] : sum[k]"),
        ("return the wrong row", "row += upper ? half : 0;", "row += upper ? 1 : 0;"),
        ("stop the exchange early", "for (; delta > 0; delta /= 2)", "for (; delta > 1; delta /= 2)"),
        ("write rows past the last", "if (r < left && ", "if ("),
        ("read rows past the last", "(r < left ? r : left - 1) * pitch", "r * pitch"),
        ("write too few rows", "k * lanes < COARSE_FACTOR))", "k * lanes * 2 < COARSE_FACTOR))"),
        ("overrun a long row by a vector", "        if (k * threads < count)\n            load[k]", "        if (k * threads <= count)\n            load[k]"),
        ("give LIFT the index in the tile", "i + (size_t)k * threads * COARSEN_ITEMS + j", "i + j"),
        ("add the rest for every piece", "piece == 0 && thread < parts.rest", "thread < parts.rest"),
        ("let warps pass the last row", "    if (row >= rows)\n        return;\n    if (pieces", "    if (pieces"),
        ("overlap the pieces", "v = (size_t)piece * COARSE_FACTOR * threads", "v = (size_t)piece * threads"),
        ("overlap the slots of rows", "row * pieces * COARSEN_(words_of_slot)", "row * COARSEN_(words_of_slot)"),
        ("put slots over the counters", "scratch + rows + row", "scratch + row"),
        ("ask for too small a scratch", "(coarsen_min(rows, most) + pieces", "(0 * coarsen_min(rows, most) + pieces"),
    ]),
    "segmented/columns.h": ("rows", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n    if (width == 0)", "        ;\n    if (width == 0)"),
        ("take no columns for some", "    if (width == 0)\n        return cudaSuccess;\n", ""),
        ("stop the shuffles early", "delta >= lanes; delta", "delta > lanes; delta"),
        ("drop the barrier between columns", f"        if (j > 0)\n            {BARRIER}\n", ""),
        ("drop the barrier of a column", f"partial[warp * lanes + lane] = sum[j];\n        {BARRIER}\n", "partial[warp * lanes + lane] = sum[j];\n"),
        ("lose the last warp", "w < BLOCK_DIM / 32; w++)\n                sum", "w + 1 < BLOCK_DIM / 32; w++)\n                sum"),
        ("overrun by a row", "        if (k * steps < left)\n            load[k]", "        if (k * steps <= left)\n            load[k]"),
        ("overrun by a row of single columns", "if (k * steps < left && j < count)\n                load", "if (k * steps <= left && j < count)\n                load"),
        ("give LIFT the tile's row", "COARSEN_(lift)(load[k].item[j], row + (size_t)k * steps)", "COARSEN_(lift)(load[k].item[j], row)"),
        ("give LIFT the tile's row for single columns", "COARSEN_(lift)(load[k][j], row + (size_t)k * steps)", "COARSEN_(lift)(load[k][j], row)"),
        ("take unaligned rows for vectors", "vectors = aligned && ", "vectors = "),
        ("take a part of a vector for one", "aligned && columns % COARSEN_ITEMS == 0", "aligned"),
        ("overrun by a column", "(columns - first + apart - 1) / apart", "(columns - first + apart) / apart"),
        ("lose a column", "(columns - first + apart - 1) / apart", "(columns - first) / apart"),
        ("overlap the parts", "row = (size_t)part * COARSE_FACTOR * steps + step", "row = (size_t)part * steps + step"),
        ("let the first block collect", "if (number != layout.parts - 1)", "if (number != 0)"),
        ("take a ticket that no block has", "if (number >= layout.parts)", "if (false)"),
        ("forget a part", "p = step; p < parts;", "p = step; p + 1 < parts;"),
        ("do not wait for a part", "        return COARSEN_(collect)(slot);", "        return value;"),
        ("leave a slot full", "        ((volatile unsigned long long *)slot)[w] = 0;\n", "        (void)slot;\n"),
        ("leave the counter as it is", "            atomicExch(scratch + span, 0ULL);\n", "            (void)scratch;\n"),
        ("drop the barrier before the second sums", f"        {BARRIER} // the block's own part is left, and shared memory read\n", ""),
        ("overlap the slots of spans", "span * layout.parts * words + first", "span * words + first"),
        ("put slots over the counters", "scratch + layout.spans + span", "scratch + span"),
    ]),
    "segmented/offsets.h": ("segmented", [
        ("take wrong arguments", "        return cudaErrorInvalidValue;\n    return cudaSuccess;", "        ;\n    return cudaSuccess;"),
        ("take no segments for some", "status != cudaSuccess || segments == 0 ?", "status != cudaSuccess ?"),
        ("ask for too small a scratch", "        tiles, coarsen_attribute", "        tiles / 2, coarsen_attribute"),
        ("forget what boundaries weigh", "each = coarsen_ceil_div(arrays.n + COARSEN_WEIGHT *", "each = coarsen_ceil_div(arrays.n +"),
        ("search past the last boundary", "lane * step + step - 1 < count &&", "true &&"),
        ("let a run pass the last element", "    place.element = coarsen_min(place.element, arrays.n);\n", ""),
        ("overrun by a part of a vector", "element + i + COARSEN_ITEMS <= stop)) {", "element + i < stop)) {"),
        ("forget the elements before the first vector", "if (there >> k & 1)", "if ((there >> k & 1) && tile + place >= COARSEN_ITEMS)"),
        ("wait for one copy too few", "COARSEN_(copies_wait)(1);", "COARSEN_(copies_wait)(2);"),
        ("add up before the other lanes' copies", "COARSEN_(copies_wait)(1);\n        __syncwarp();\n", "COARSEN_(copies_wait)(1);\n"),
        ("read sums that are not written yet", "the segment before it ends.\n        __syncwarp();\n", "the segment before it ends.\n"),
        ("mark before all marks are cleared", "heads[i] = 0;\n        __syncwarp();\n", "heads[i] = 0;\n"),
        ("leave the marks", "            for (unsigned int i = lane; i < COARSEN_PLACES / 32; i += 32)\n                heads[i] = 0;", "            ;"),
        ("mark without an atomic", "atomicOr(&heads[place / 32], 1u << place % 32);", "heads[place / 32] |= 1u << place % 32;"),
        ("mark a place behind", "1u << place % 32);\n            count", "2u << place % 32);\n            count"),
        ("take a tile with a head for plain", "plain = boundary == tile_boundary && ", "plain = "),
        ("take the first elements' tile for plain", "boundary == tile_boundary && lowest == 0 &&", "boundary == tile_boundary &&"),
        ("go on over a head", "                sum = COARSEN_(identity)();\n", ""),
        ("go on over a head in the steps", "if (delta <= back)", "if (lane >= delta)"),
        ("forget the lane of the head", "if (delta <= back)", "if (delta < back)"),
        ("count LIFT's index over a head", "                start = tile + place + k;\n", ""),
        ("count LIFT's index over a lane's head", "lane_start = head != ~0u ? tile + head : start;", "lane_start = start;"),
        ("count LIFT's index over a tile's head", "start = last != ~0u ? tile + last : start;", "(void)last;"),
        ("swap the operands in the steps", "COARSEN_(op)(below, sum);", "COARSEN_(op)(sum, below);"),
        ("swap the operands of what is open", "COARSEN_(op)(open, lane_open);", "COARSEN_(op)(lane_open, open);"),
        ("swap the operands of the tail", "COARSEN_(op)(open, tail);", "COARSEN_(op)(tail, open);"),
        ("swap the operands of the runs before", "sum = COARSEN_(op)(sum, value[k]);", "sum = COARSEN_(op)(value[k], sum);"),
        ("swap the operands of a run's first head", "any ? COARSEN_(op)(others, first_open)", "any ? COARSEN_(op)(first_open, others)"),
        ("lose the element before a head", "place > lowest ? place - 1 : 0;", "place > lowest + 1 ? place - 2 : 0;"),
        ("forget the lanes before", "inside ? made : COARSEN_(op)(value, made);", "made;"),
        ("forget what a tile left open", "open = with_head != 0 ? tail : COARSEN_(op)(open, tail);", "open = tail;"),
        ("keep open what a head ended", "open = with_head != 0 ? tail : COARSEN_(op)(open, tail);", "open = COARSEN_(op)(open, tail);"),
        ("take an empty segment for one with a head", "(mine == 0 || previous < at)", "(mine == 0 || previous <= at)"),
        ("forget the boundary before these 32", "            if (lane == 0)\n                previous = before;\n", ""),
        ("forget the runs before", "if (segment_start < begin.element) {", "if (false) {"),
        ("begin with the wrong run", "(segment_start + COARSEN_WEIGHT * (first_boundary - 1)) / each", "(segment_start + (first_boundary - 1)) / each"),
        ("take nothing for an element", "any ? COARSEN_(op)(others, first_open) : others;", "COARSEN_(op)(others, first_open);"),
        ("write before the first segment", "if (first_boundary == end.boundary || first_boundary == 0)", "if (first_boundary == end.boundary)"),
        ("lose a boundary behind the last element", "for (; tile <= stop; tile", "for (; tile < stop; tile"),
        ("do not wait for a run", "all &= COARSEN_(value_of)(seen[k], &value[k]) == slots.flag;", "COARSEN_(value_of)(seen[k], &value[k]);"),
        ("take an offset less than the one before", "(previous > at || at + arrays.skip - tile > places)", "(at + arrays.skip - tile > places)"),
        ("take an offset past the run", "(previous > at || at + arrays.skip - tile > places)", "(previous > at)"),
        ("take boundaries that no tile has", "    if (boundary != end.boundary)\n        __trap(); // an offset is more than n\n", ""),
        ("take no number of segments", "    if (!coarsen_array_ok(segments, 1))\n        status = cudaErrorInvalidValue;\n", ""),
        ("take more segments than there is room for", "if (*segments > most)", "if (false)"),
        ("take as many segments as there is room for", "    if (arrays.count)\n        arrays.segments = *arrays.count;\n", ""),
        ("leave the end of the last segment unwritten", "    offsets[*segments] = (COARSEN_OFFSET)n;\n", ""),
    ]),
    "block/reduce.h": ("block", [
        ("stop the shuffles early", "delta > 0; delta /= 2", "delta > 1; delta /= 2"),
        ("shuffle some words only", "w < COARSEN_(words_of_slot); w++)", "w < 1; w++)"),
        ("drop the block's barrier", f"        partial[warp] = value;\n    {BARRIER}\n",
         "        partial[warp] = value;\n"),
        ("read partials of warps that are not", "if (lane < BLOCK_DIM / 32)", "if (lane < 32)"),
        ("lose the last warp", "if (lane < BLOCK_DIM / 32)", "if (lane < BLOCK_DIM / 32 - (BLOCK_DIM > 32))"),
        ("drop the barrier between reductions", f"    {BARRIER}\n    value = COARSEN_(block)(value);",
         "    value = COARSEN_(block)(value);"),
        ("let the first block collect", "if (number != blocks - 1) {", "if (number != 0) {"),
        ("let every block collect", "if (number != blocks - 1) {", "if (number >= blocks) {"),
        ("take a ticket that no block has", "if (number >= blocks)", "if (false)"),
        ("enter with every thread",
         "    if (threadIdx.x == 0)\n        *ticket = ", "    if (true)\n        *ticket = "),
        ("forget a slot", "b = threadIdx.x; b < blocks;", "b = threadIdx.x; b + 1 < blocks;"),
        ("forget slots past the threads", "b += BLOCK_DIM)", "b += blocks)"),
        ("overlap the slots", "block * COARSEN_(words_of_slot), 1, value", "block, 1, value"),
        ("begin the slots at the ticket", "scratch + 2, blockIdx.x", "scratch, blockIdx.x"),
        ("leave the ticket as it is", "        atomicExch(counter, 0ULL);\n", "        (void)counter;\n"),
        ("ask for too small a scratch", "return 16 + blocks", "return blocks"),
    ]),
    "block/scan.h": ("block", [
        ("stop the shuffles early", "delta < 32; delta *= 2", "delta < 16; delta *= 2"),
        ("take what is not below", "if (threadIdx.x % 32 >= delta)", "if (threadIdx.x % 32 + 1 >= delta)"),
        ("swap the operands within a warp", "COARSEN_(op)(below, row[r]);", "COARSEN_(op)(row[r], below);"),
        ("shuffle some words only", "w < COARSEN_(words_of_slot); w++)\n        words.word[w] = __shfl_up_sync",
         "w < 1; w++)\n        words.word[w] = __shfl_up_sync"),
        ("begin a warp with its first value", "threadIdx.x % 32 == 0 ? COARSEN_(identity)() : below", "below"),
        ("take another lane's for the warp's total", "if (lane == 31)", "if (lane == 30)"),
        ("drop the barrier", f"    {BARRIER}\n", ""),
        ("count a warp twice", "if (w == warp)", "if (w == warp + 1)"),
        ("swap the operands of the warps", "COARSEN_(op)(all, totals[w])", "COARSEN_(op)(totals[w], all)"),
        ("lose the last warp's total",
         "w < BLOCK_DIM / 32; w++) {", "w + 1 < BLOCK_DIM / 32 + (BLOCK_DIM == 32); w++) {"),
        ("swap the operands of the block", "COARSEN_(op)(COARSEN_(warps_before)(value, total), value)",
         "COARSEN_(op)(value, COARSEN_(warps_before)(value, total))"),
        ("forget the warps before",
         "threadIdx.x % 32 == 0 ? before :", "threadIdx.x % 32 == 0 ? COARSEN_(identity)() :"),
        ("swap the operands of an exclusive scan", "COARSEN_(op)(before, below)", "COARSEN_(op)(below, before)"),
    ]),
    "block/slots.h": ("block", [
        ("leave a slot full", "        word_of_slot[w] = 0;\n", ""),
        ("do not wait for a value", "while (flagged >> 32 == 0);", "while (false);"),
        ("take words of two values", "if (seen.word[w] >> 32 != flag)", "if (false)"),
        ("leave the first word only",
         "words.word[w];\n}", "words.word[w];\n    slot[COARSEN_(words_of_slot) - 1] *= COARSEN_(words_of_slot) == 1;\n}"),
        ("leave without the flag", "(unsigned long long)flag << 32 | words.word[w]", "words.word[w]"),
        ("take a flag for 16 bits", "(unsigned long long)flag << 32 | words.word[w]",
         "(unsigned long long)(flag & 0xffff) << 32 | words.word[w]"),
        ("hand a value over by plain stores", "((volatile unsigned long long *)slot)[w] =", "slot[w] ="),
        ("look by plain loads", "((const volatile unsigned long long *)slot)[w]", "slot[w]"),
        ("collect what is not for it", "if (flagged >> 32 != 1)", "if (false)"),
        ("lose a word's last bytes",
         "(sizeof(COARSEN_(acc)) + 3) / 4 }", "sizeof(COARSEN_(acc)) / 4 + (sizeof(COARSEN_(acc)) < 4) + (sizeof(COARSEN_(acc)) == 12) }"),
        ("give a value that is not whole", "            return 0; // words of two values", "            break;"),
    ]),
    "block/copy.h": ("block", [
        ("copy half of 16 bytes", "*(COARSEN_(words_4) *)to = *(const COARSEN_(words_4) *)from;",
         "*(COARSEN_(words_2) *)to = *(const COARSEN_(words_2) *)from;"),
        ("copy half of 8 bytes", "*(COARSEN_(words_2) *)to = *(const COARSEN_(words_2) *)from;",
         "*(COARSEN_(words_1) *)to = *(const COARSEN_(words_1) *)from;"),
        ("copy 8 bytes for 4", "*(COARSEN_(words_1) *)to = *(const COARSEN_(words_1) *)from;",
         "*(COARSEN_(words_2) *)to = *(const COARSEN_(words_2) *)from;"),
        ("read what is not there", "there ? from : &zeros", "from"),
        ("write no zeros", "    COARSEN_(copy_async)(to, there ? from : &zeros, bytes);",
         "    if (there)\n        COARSEN_(copy_async)(to, from, bytes);\n    (void)zeros;"),
        ("write zeros for what is there", "there ? from : &zeros", "&zeros"),
        ("wait for one group less", "COARSEN_PIPELINE(wait_prior(few));", "COARSEN_PIPELINE(wait_prior(few + 1));"),
        ("close no group", "    COARSEN_PIPELINE(commit());\n", ""),
    ]),
    "block/vector.h": ("block", [
        ("read vectors from where none are aligned", "misaligned == 0 ? 0 : COARSEN_ITEMS - misaligned", "0"),
        ("take a whole vector for a head", "misaligned == 0 ? 0 : COARSEN_ITEMS - misaligned",
         "COARSEN_ITEMS - misaligned"),
        ("let the head pass the end", "coarsen_min(n, misaligned == 0 ? 0 : COARSEN_ITEMS - misaligned)",
         "misaligned == 0 ? 0 : COARSEN_ITEMS - misaligned"),
        ("overrun by a vector", "(n - parts.head) / COARSEN_ITEMS;", "(n - parts.head) / COARSEN_ITEMS + 1;"),
        ("lose the last vector", "(n - parts.head) / COARSEN_ITEMS;",
         "(n - parts.head + COARSEN_ITEMS - 1) / COARSEN_ITEMS - (n > parts.head);"),
        ("lose the tail", "parts.rest = n - parts.vectors * COARSEN_ITEMS;", "parts.rest = parts.head;"),
        ("lose the head",
         "r < parts.head ? r : r + parts.vectors * COARSEN_ITEMS", "r + parts.vectors * COARSEN_ITEMS"),
        ("take the head for the tail", "r < parts.head ? r", "r <= parts.head ? r"),
    ]),
    "block/inputs.h": ("block", [
        ("take any boundary for a vector's", "            return head;\n    return n;",
         "            return head;\n    return 0;"),
        ("forget the array that is written",
         "(!out || (size_t)(out + head) % COARSEN_ALIGN(COARSEN_WRITTEN) == 0) &&", ""),
        ("forget the first array", "(size_t)(in.a + head) % COARSEN_ALIGN(COARSEN_TYPE) == 0", "true"),
        ("forget the second array",
         "            && (size_t)(in.b + head) % COARSEN_ALIGN(COARSEN_TYPE_B) == 0\n", ""),
        ("forget the third array", "            && (size_t)(in.c + head) % COARSEN_ALIGN(COARSEN_TYPE_C) == 0\n", ""),
        ("look at one element only", "head < COARSEN_ITEMS && head < n", "head < 1 && head < n"),
        ("lose the head of the second array", "(in.b + head))[v]", "in.b)[v]"),
        ("lose the head of the third array", "(in.c + head))[v]", "in.c)[v]"),
        ("mix up the arrays", "load->a.item[j], load->b.item[j], load->c.item[j]",
         "load->a.item[j], load->b.item[0], load->c.item[j]"),
        ("take more elements than are 16 bytes of the widest", "#define COARSEN_ITEMS ",
         "#define COARSEN_ITEMS COARSEN_VECTOR_ITEMS(COARSEN_TYPE)\n#define COARSEN_UNUSED_ITEMS "),
    ]),
    "histogram/basic.h": ("histogram", START + [
        ("lose the last element", "if (i < n)", "if (i + 1 < n)"),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("count what is past the bins", "bin < NUM_BINS)", "bin <= NUM_BINS)"),
        ("add without an atomic", "atomicAdd(counts + bin, (COARSEN_COUNT)1);", "counts[bin] += 1;"),
    ]),
    "histogram/private_global.h": ("histogram", START + [
        ("drop the barrier", f"    {BARRIER}\n", ""),
        ("add the first block's copy to itself", "    if (blockIdx.x == 0)\n        return;\n", ""),
        ("overlap the copies", "(blockIdx.x - 1) * NUM_BINS", "(blockIdx.x - 1) * (NUM_BINS - 1)"),
        ("leave the copies as they were", "status = cudaMemsetAsync(copies, 0, bytes, stream);", ";"),
        ("take too small a scratch", " || scratch_bytes < bytes)", ")"),
        ("take no scratch", "!coarsen_array_ok(copies, bytes / sizeof(*copies)) || ", ""),
    ]),
    "histogram/private_shared.h": ("histogram", START + [
        ("drop the barrier after the zeros", f"    {BARRIER}\n\n    const", "    const"),
        ("drop the barrier before the sums", f"    {BARRIER}\n    for", "    for"),
        ("leave a copy as it was", "copy[bin] = 0;", ";"),
        ("lose bins past the threads", "bin += BLOCK_DIM)\n        if", "bin += NUM_BINS)\n        if"),
    ]),
    "histogram/contiguous.h": ("histogram", START + [
        ("guard the uncoarsened index", "if (i < n)", "if (first < n)"),
        ("overlap the threads", "threadIdx.x) * CFACTOR;", "threadIdx.x) * (CFACTOR - 1);"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)BLOCK_DIM * CFACTOR)",
         "n / ((size_t)BLOCK_DIM * CFACTOR)"),
    ]),
    "histogram/interleaved.h": ("histogram", START + [
        ("guard the uncoarsened index", "if (i < n)", "if (first < n)"),
        ("a stride of the block", "first + k * threads", "first + k * BLOCK_DIM"),
    ]),
    "histogram/vectorized.h": ("histogram", START + [
        ("lose the head and tail", "threadIdx.x < parts.rest)", "threadIdx.x + 1 < parts.rest)"),
        ("count the head and tail in every block", "blockIdx.x == gridDim.x - 1 && threadIdx.x < parts.rest",
         "threadIdx.x < parts.rest"),
        ("lose the last vector", "if (first + k * threads < parts.vectors)\n            load",
         "if (first + k * threads + 1 < parts.vectors)\n            load"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)BLOCK_DIM * CFACTOR * COARSEN_ITEMS)",
         "n / ((size_t)BLOCK_DIM * CFACTOR * COARSEN_ITEMS)"),
    ]),
    "histogram/aggregated.h": ("histogram", START + [
        ("forget the last run", "    COARSEN_(flush)(copy, run_bin, run);\n", ""),
        ("forget a run where the next begins", "        COARSEN_(flush)(copy, *run_bin, *run);\n", ""),
        ("lose the first of a run", "*run = 0;", "*run = -1u;"),
        ("flush to the wrong bin", "if (bin != *run_bin) {", "if (bin == *run_bin + 1) {"),
    ]),
    "histogram/per_lane.h": ("histogram", START + [
        ("drop the barrier after the zeros", f"    {BARRIER}\n\n    const", "    const"),
        ("drop the barrier before the sums", f"    {BARRIER}\n    for", "    for"),
        ("leave some counters as they were", "(width + 31) / 32 * 32 * copies;", "width;"),
        ("ask for no more shared memory", "status == cudaSuccess && bytes > 48 << 10)", "false)"),
        ("one copy for all", "(unsigned int)row, threadIdx.x), 1u);", "(unsigned int)row, 0), 1u);"),
        ("stir the rows of two groups together", "(bin / group % group)", "(bin / group)"),
        ("forget a column", "k = 0; k < copies; k++", "k = 1; k < copies; k++"),
        ("count other ranges' bins", "if (row < width)", "if (row < NUM_BINS)"),
        ("lose the last range's end", "NUM_BINS - first_bin < full_width", "false"),
        ("lose the last vectors", "for (; v < parts.vectors; v += threads)",
         "for (; v + threads < parts.vectors; v += threads)"),
        ("overrun the vectors", "v + (CFACTOR - 1) * threads < parts.vectors", "v < parts.vectors"),
        ("count the head and tail in every block", "block == blocks - 1 && threadIdx.x < parts.rest",
         "threadIdx.x < parts.rest"),
        ("give the ranges other blocks", "block = blockIdx.x / ranges;", "block = blockIdx.x;"),
        ("give a small array's blocks a large one's threads", "threads = small ? COARSEN_SMALL_DIM : BLOCK_DIM",
         "threads = BLOCK_DIM"),
    ]),
    "map/single.h": ("map", [
        ("take a null input", "!COARSEN_(inputs_ok)(in, n) ||", ""),
        ("take a null output", "!coarsen_array_ok(out, n) ||", ""),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("lose the last element", "if (i < n)", "if (i + 1 < n)"),
        ("lose the last block", "coarsen_ceil_div(n, BLOCK_DIM)", "(n / BLOCK_DIM)"),
    ]),
    "map/consecutive.h": ("map", [
        ("take a null input", "!COARSEN_(inputs_ok)(in, n) ||", ""),
        ("take a null output", "!coarsen_array_ok(out, n) ||", ""),
        ("guard the uncoarsened index", "if (i < n)", "if (first < n)"),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("overlap the threads", "+ threadIdx.x) * COARSE_FACTOR",
         "+ threadIdx.x) * (COARSE_FACTOR - 1)"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSE_FACTOR)",
         "(n / (BLOCK_DIM * COARSE_FACTOR))"),
    ]),
    "map/interleaved.h": ("map", [
        ("take a null input", "!COARSEN_(inputs_ok)(in, n) ||", ""),
        ("take a null output", "!coarsen_array_ok(out, n) ||", ""),
        ("guard the uncoarsened index", "if (i < n)\n            out", "if (first < n)\n            out"),
        ("overrun by one", "if (i < n)\n            out", "if (i <= n)\n            out"),
        ("overlap the blocks", "blockIdx.x * BLOCK_DIM * COARSE_FACTOR", "blockIdx.x * BLOCK_DIM"),
    ]),
    "map/vectorized.h": ("map", [
        ("take a null input", "!COARSEN_(inputs_ok)(in, n) ||", ""),
        ("take a null output", "!coarsen_array_ok(out, n) ||", ""),
        ("overrun by a vector", "(n - head) / COARSEN_ITEMS;", "(n - head) / COARSEN_ITEMS + 1;"),
        ("lose the rest", "r < rest;", "r + 1 < rest;"),
        ("take the head for the tail", "r < head ? r", "r <= head ? r"),
        ("overlap the blocks", "blockIdx.x * BLOCK_DIM * COARSE_FACTOR", "blockIdx.x * BLOCK_DIM"),
    ]),
    "image/grayscale_single.h": ("image", [
        ("take a null array", "!COARSEN_(images_ok)(in, 3, out, 1, width, height) || ", ""),
        ("lose the last pixel", "if (i < n)", "if (i + 1 < n)"),
    ]),
    "image/grayscale_coarsened.h": ("image", [
        ("take a null array", "!COARSEN_(images_ok)(in, 3, out, 1, width, height) || ", ""),
        ("guard the uncoarsened index", "if (i < n)\n            out", "if (first < n)\n            out"),
        ("overlap the blocks", "blockIdx.x * BLOCK_DIM * COARSE_FACTOR", "blockIdx.x * BLOCK_DIM"),
    ]),
    "image/grayscale_vectorized.h": ("image", [
        ("take a null array", "!COARSEN_(images_ok)(in, 3, out, 1, width, height) || ", ""),
        ("mix up the pixels", "byte = 12 * w + 3 * j + c", "byte = 12 * w + 3 * (3 - j) + c"),
        ("take any boundary for a vector's", "            return head;\n    return n;",
         "            return head;\n    return 0;"),
        ("overrun by a vector", "(n - head) / 16;", "(n - head) / 16 + 1;"),
        ("lose the rest", "r < rest;", "r + 1 < rest;"),
    ]),
    "image/blur_single.h": ("image", [
        ("take a null array",
         "!COARSEN_(images_ok)(in, COARSEN_CHANNELS, out, COARSEN_CHANNELS, width, height) ||\n", ""),
        ("leave out a row", "v <= y + below", "v < y + below"),
        ("leave out a column", "u <= x + right", "u < x + right"),
        ("average over all of the box", "(above + 1 + below) * (left + 1 + right)",
         "(2 * COARSEN_RADIUS + 1) * (2 * COARSEN_RADIUS + 1)"),
        ("round down", "(sum + count / 2)", "(sum)"),
        ("mix up the channels", "s % COARSEN_CHANNELS]", "0]"),
    ]),
    "image/blur_coarsened.h": ("image", [
        ("take a null array",
         "!COARSEN_(images_ok)(in, COARSEN_CHANNELS, out, COARSEN_CHANNELS, width, height) ||\n", ""),
        ("keep the row that left", "            if (y > COARSEN_RADIUS)\n", "            if (0)\n"),
        ("add a row past the last", "if (y + COARSEN_RADIUS < height)", "if (1)"),
        ("begin a row late", "first - COARSEN_RADIUS - 1;", "first - COARSEN_RADIUS;"),
    ]),
    "image/blur_tiled.h": ("image", [
        ("take a null array",
         "!COARSEN_(images_ok)(in, COARSEN_CHANNELS, out, COARSEN_CHANNELS, width, height) ||\n", ""),
        ("drop the barrier", f"        {BARRIER}\n\n", "\n"),
        ("drop the barrier after the tile", f"        {BARRIER} // the tile", "        // the tile"),
        ("fill what is outside", "v < height && u < samples ? in[v * samples + u] : 0",
         "in[(v < height ? v : 0) * samples + (u < samples ? u : 0)]"),
        ("a halo too narrow", "(BLOCK_DIM + 2 * COARSEN_REACH)",
         "(BLOCK_DIM + 2 * COARSEN_REACH - 1)"),
        ("write outside", "if (y < height && s < samples)", "if (y < height)"),
    ]),
    "image/blur_rolling.h": ("image", [
        ("take a null array", "    if (!COARSEN_(images_ok)(in, COARSEN_CHANNELS, out, COARSEN_CHANNELS, width, height))\n"
         "        return cudaErrorInvalidValue;\n", ""),
        ("keep the row that left", "enters.word[w] - leaves.word[w]", "enters.word[w]"),
        ("mix up the neighbours", "mine_even[3 - w % 4]", "mine_even[w % 4]"),
        ("reach too far", "p - COARSEN_REACH - COARSEN_CHANNELS", "p - COARSEN_REACH"),
        ("take a border for the inside", "x >= COARSEN_REACH && x + 16", "x >= 0 && x + 16"),
        ("forget the rows that are not", "begin + 2 * COARSEN_RADIUS;", "2 * COARSEN_RADIUS;"),
        ("a reciprocal too small", "(1u << 24) / COARSEN_BOX + 1;", "(1u << 24) / COARSEN_BOX;"),
        ("round down", "+ count / 2 * reciprocal", ""),
        ("let helping lanes write", "lane >= COARSEN_HALO && lane < 32 - COARSEN_HALO && a < b",
         "a < b"),
        ("load outside the row", "loads = a < b ? (unsigned int)(end - begin) : 0",
         "loads = (unsigned int)(end - begin)"),
        ("take any alignment for 16", "| samples) % 16 == 0", "| samples) % 1 == 0"),
        ("lose the last strip", "columns * coarsen_ceil_div(height, rows)", "columns * (height / rows)"),
    ]),
    "fuse.h": ("fuse", [
        ("take a null input", "!COARSEN_(inputs_ok)(in, n) ||", ""),
        ("take a null output", "!coarsen_array_ok(out, 1) ||", ""),
        ("lose the rest", "r < rest;", "r + 1 < rest;"),
        ("overrun by a vector", "(n - head) / COARSEN_ITEMS;", "(n - head) / COARSEN_ITEMS + 1;"),
        ("overlap the blocks", "first = (size_t)blockIdx.x * BLOCK_DIM * COARSE_FACTOR",
         "first = (size_t)blockIdx.x * BLOCK_DIM"),
        ("take the head for the tail", "r < head ? r", "r <= head ? r"),
        ("leave the arrays' boundaries to chance", "COARSEN_(head)(in, 0, n),", "coarsen_min(0, n),"),
        ("launch no block for no elements", "n > 0 ? n : 1", "n"),
        ("take too small a scratch", "scratch_bytes < COARSEN_(scratch_bytes)(n)", "scratch_bytes > ~0ULL"),
    ]),
    "moments.h": ("fuse", [
        ("forget what is between the means", " + apart * (apart * (a.count * share))", ""),
        ("weigh by the other", "b.count / both.count", "a.count / both.count"),
        ("divide by no values", "both.count > 0 ? b.count / both.count : 0",
         "b.count / both.count"),
    ]),
    "arg.h": ("reduce", [
        ("let the later of equals win", "return a.index < b.index ? a : b;\n}",
         "return a.index < b.index ? b : a;\n}"),
        ("treat NaN as a number", "if (a_nan != b_nan)", "if (0)"),
        ("let no element win", "b.index == ~(size_t)0)", "0)"),
        ("swap min and max", "a.value < b.value, b.value < a.value", "b.value < a.value, a.value < b.value"),
    ]),
}

# base.h, of which each pattern has a part: (test, rung) -> faults, as above.
BASE = {
    ("map", "single"): [
        ("take a null array", "pointer && (size_t)pointer", "(size_t)pointer"),
        ("take a misaligned array", "(size_t)pointer % alignment == 0 &&", ""),
        ("refuse an array of no elements", "    if (n == 0)\n        return true;\n", ""),
        ("take a null second input", "           && coarsen_array_ok(in.b, n)\n", ""),
        ("take a null third input", "           && coarsen_array_ok(in.c, n)\n", ""),
        ("round a quotient down", "a / b + (a % b != 0)", "a / b"),
        ("mix up the inputs", "COARSEN_EACH(in.a[i], in.b[i], in.c[i])", "COARSEN_EACH(in.a[i], in.a[i], in.a[i])"),
    ],
    ("reduce", "multiblock"): [
        ("commit without the lock", "    COARSEN_(lock)(coarsen_lock);\n", ""),
        ("never unlock", "    COARSEN_(unlock)(coarsen_lock);\n", ""),
        ("take a lock that is held", "while (atomicCAS(lock, 0, 1) != 0) {\n    }", "atomicCAS(lock, 0, 1);"),
        ("commit over what is there", "*coarsen_out = COARSEN_(op)(*coarsen_out, coarsen_sum);",
         "*coarsen_out = coarsen_sum;"),
        ("commit with an atomic twice", "    COARSEN_ATOMIC(coarsen_out, coarsen_sum);",
         "    COARSEN_ATOMIC(coarsen_out, coarsen_sum);\n    COARSEN_ATOMIC(coarsen_out, coarsen_sum);"),
        ("begin a sum with 1", "#define COARSEN_IDENTITY ((COARSEN_ACC)0)",
         "#define COARSEN_IDENTITY ((COARSEN_ACC)1)"),
    ],
    ("reduce", "shared"): [
        ("take an array that overflows", "n <= ((size_t)-1 - (size_t)pointer) / bytes;", "true;"),
        ("give LIFT another index", "return COARSEN_LIFT(coarsen_x, coarsen_i);", "return COARSEN_LIFT(coarsen_x, 0);"),
    ],
    ("reduce", "coarsened"): [
        ("commit without the lock", "    COARSEN_(lock)(coarsen_lock);\n", ""),
        ("lose NaN in a maximum", "#define COARSEN_MAX(a, b) ((a) > (b) || (a) != (a) ?", "#define COARSEN_MAX(a, b) ((a) > (b) ?"),
        ("take the least finite number for the least", "(type)-COARSEN_INFINITY", "(type)-1"),
    ],
    ("fuse", "block_coarsened"): [
        ("commit without the lock", "    COARSEN_(lock)(coarsen_lock);\n", ""),
    ],
    ("fuse", "fuse"): [
        ("forget the scalar", "coarsen_c) COARSEN_ALSO(coarsen_scalar));", "coarsen_c) COARSEN_ALSO(COARSEN_SCALAR{}));"),
        ("take a null second input", "           && coarsen_array_ok(in.b, n)\n", ""),
        ("leave a scratch as it was", "cudaMemsetAsync(scratch, 0, scratch_bytes, stream)", "cudaSuccess"),
    ],
    ("reduce", "last_block"): [
        ("round a quotient up in the usual way", "a / b + (a % b != 0)", "(a + b - 1) / b"),
        ("drop last_block's second barrier", f"        __threadfence();\n    }}\n    {BARRIER}\n    return last;",
         "        __threadfence();\n    }\n    return last;"),
        ("drop the fence before arriving", "        __threadfence();\n        const unsigned int before",
         "        const unsigned int before"),
        ("take the first block for the last", "last = before == blocks - 1;", "last = before == 0;"),
        ("leave the counter as it is", "atomicInc(arrived, blocks - 1);", "atomicAdd(arrived, 1u);"),
        ("take a counter that was not 0", "if (before >= blocks)", "if (false)"),
        ("leave a scratch as it was", "cudaMemsetAsync(scratch, 0, scratch_bytes, stream)", "cudaSuccess"),
        ("make half a scratch ready", "cudaMemsetAsync(scratch, 0, scratch_bytes, stream)",
         "cudaMemsetAsync((char *)scratch + 4, 0, scratch_bytes - 4, stream)"),
    ],
    ("block", "grid"): [
        ("drop last_block's first barrier", f"    {BARRIER} // the block's writes, before the fence", "    //"),
        ("count the blocks of one dimension", "blocks = gridDim.x * gridDim.y * gridDim.z;", "blocks = gridDim.x;"),
        ("let every row of threads arrive", "threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0",
         "threadIdx.x == 0"),
        ("take a lock that is held", "while (atomicCAS(lock, 0, 1) != 0) {\n    }", "atomicCAS(lock, 0, 1);"),
        ("never unlock", "    atomicExch(lock, 0);\n", ""),
    ],
    ("reduce", "single_pass"): [
        ("round a quotient up in the usual way", "a / b + (a % b != 0)", "(a + b - 1) / b"),
        ("leave a scratch as it was", "cudaMemsetAsync(scratch, 0, scratch_bytes, stream)", "cudaSuccess"),
        ("make half a scratch ready", "cudaMemsetAsync(scratch, 0, scratch_bytes, stream)",
         "cudaMemsetAsync(scratch, 0, 8, stream)"),
        ("lose NaN in a minimum", "#define COARSEN_MIN(a, b) ((a) < (b) || (a) != (a) ?", "#define COARSEN_MIN(a, b) ((a) < (b) ?"),
    ],
    ("scan", "chained"): [
        ("leave a scratch as it was", "cudaMemsetAsync(scratch, 0, scratch_bytes, stream)", "cudaSuccess"),
        ("swap the operands of the user's", "return COARSEN_OP(coarsen_a, coarsen_b);", "return COARSEN_OP(coarsen_b, coarsen_a);"),
    ],
    ("merge", "basic"): [
        ("take two arrays that overflow together", "arrays.m <= (size_t)-1 - arrays.n &&", "true &&"),
        ("take a null first array", "coarsen_bytes_ok(arrays.a, arrays.m, bytes, alignment) &&", "true &&"),
        ("take a null second array", "coarsen_bytes_ok(arrays.b, arrays.n, bytes, alignment) &&", "true &&"),
        ("take a null output", "coarsen_bytes_ok(arrays.out, arrays.m + arrays.n, bytes, alignment)", "true"),
        ("take null values of the first", "coarsen_array_ok(arrays.a_values, arrays.m) &&", "true &&"),
        ("take null values of the second", "coarsen_array_ok(arrays.b_values, arrays.n) &&", "true &&"),
        ("take no room for values", "coarsen_array_ok(arrays.out_values, arrays.m + arrays.n)", "true"),
        ("swap the keys of the user's", "return COARSEN_LESS(coarsen_a, coarsen_b);", "return COARSEN_LESS(coarsen_b, coarsen_a);"),
    ],
    ("block", "vector"): [
        ("move more than 16 bytes at once", "(16 % sizeof(type) == 0 ? 16 / sizeof(type) : 1)",
         "(16 % sizeof(type) == 0 ? 32 / sizeof(type) : 1)"),
    ],
    ("histogram", "basic"): [
        ("take a null array", "!coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) ||", ""),
        ("take no counts", "!coarsen_array_ok(counts, NUM_BINS) ||", ""),
        ("take more blocks than a grid has", "NUM_BINS) || blocks > 0x7fffffff)", "NUM_BINS))"),
        ("leave the counts as they were",
         "cudaMemsetAsync(counts, 0, NUM_BINS * sizeof(COARSEN_COUNT), stream)", "cudaSuccess"),
        ("leave half of the counts as they were", "NUM_BINS * sizeof(COARSEN_COUNT), stream)", "NUM_BINS, stream)"),
    ],
    ("image", "blur_single"): [
        ("forget that a pixel has samples", "in_samples > out_samples ? in_samples : out_samples", "1"),
        ("take a null input", "           coarsen_array_ok(in, width * height * in_samples) &&\n", ""),
        ("take a null output", "coarsen_array_ok(out, width * height * out_samples)", "true"),
        ("take a size that overflows", "width <= (size_t)-1 / most / height &&", ""),
        ("take the larger for the smaller", "return a < b ? a : b;\n}\n\n// The dynamic",
         "return a < b ? b : a;\n}\n\n// The dynamic"),
    ],
    ("image", "grayscale_single"): [
        ("truncate", "+ 32768;", ";"),
        ("swap red and blue", "COARSEN_RED * red", "COARSEN_BLUE * red"),
        ("take a null input", "           coarsen_array_ok(in, width * height * in_samples) &&\n", ""),
    ],
    ("matmul", "naive"): [
        ("take rows that overlap", "return cols <= ld && ", "return "),
        ("take a matrix that overflows", " (rows - 1) <= ((size_t)-1 - cols) / ld &&", ""),
        ("take a null matrix", "coarsen_array_ok(pointer, (rows - 1) * ld + cols)", "true"),
        ("look at a matrix of nothing", "    if (rows == 0 || cols == 0)\n        return true;\n    return cols", "    return cols"),
        ("take no P", "!COARSEN_(matrix_ok)(p, rows, cols, ldp) ||", ""),
        ("take no M", "(cols > 0 && !COARSEN_(matrix_ok)(m, rows, inner, ldm)) ||", ""),
        ("take no N", "(rows > 0 && !COARSEN_(matrix_ok)(n, inner, cols, ldn)) ||", ""),
        ("look at M for nothing", "(cols > 0 && !COARSEN_(matrix_ok)(m", "(!COARSEN_(matrix_ok)(m"),
        ("look at N for nothing", "(rows > 0 && !COARSEN_(matrix_ok)(n", "(!COARSEN_(matrix_ok)(n"),
        ("take more tiles than a grid has blocks", "(cols > 0 && tile_rows > 0x7fffffff / tile_cols)", "false"),
        ("lose the last row of tiles", "tile_rows = coarsen_ceil_div(rows, height);", "tile_rows = rows / height;"),
        ("lose the last column of tiles", "tile_cols = coarsen_ceil_div(cols, width);",
         "tile_cols = cols / width + (cols < width);"),
    ],
    ("sort", "onesweep"): [
        ("leave negative NaN where its bits put it", "bits = (bits - (sign - 1 - infinite)) & all;", "bits &= all;"),
        ("forget the sign", "        bits ^= sign;\n", "        ;\n"),
        ("flip no negative number", "bits = bits & sign ? ~bits : bits | sign;", "bits |= sign;"),
        ("take ascending for descending", "COARSEN_DESCENDING ? bits ^ all : bits", "bits"),
        ("take a null array of keys", "return coarsen_bytes_ok(arrays.in, n, sizeof(*arrays.in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) &&", "return"),
        ("take no place for keys", "coarsen_bytes_ok(arrays.out, n, sizeof(*arrays.out), COARSEN_ITEM_ALIGN(COARSEN_TYPE));", "true;"),
        ("take a null array of values", "coarsen_array_ok(arrays.in_values, n) && coarsen_array_ok(arrays.out_values, n) &&", "true &&"),
        ("forget that the spare values need a place", "    bytes += values ? n * sizeof(COARSEN_VALUE) : 0;\n", ""),
        ("put the spare values over the keys", "(char *)spare + COARSEN_(spare_bytes)(n, false)", "(char *)spare"),
        ("forget that values are in place", "    if (arrays.in_values == arrays.out_values)\n        return true;\n", ""),
        ("forget that keys are in place", "    return arrays.in == arrays.out;", "    return false;"),
        ("begin in place without a copy", "!COARSEN_(in_place)(arrays) || passes % 2 == 0", "true"),
        ("copy no values", "if (status == cudaSuccess && in_values != out_values)", "if (false)"),
    ],
    ("histogram", "per_lane"): [
        ("take bins for 32 bits", "return (unsigned long long)((COARSEN_BIN(coarsen_x)) | 0);",
         "return (unsigned int)((COARSEN_BIN(coarsen_x)) | 0);"),
        ("count negative bins", "return (unsigned long long)((COARSEN_BIN(coarsen_x)) | 0);",
         "const long long bin = (COARSEN_BIN(coarsen_x)) | 0; return bin < 0 ? 0 : bin;"),
    ],
}


AT_ONCE = 12  # cases in one program: one compiler's memory

# What every program begins with, compiled once.
COMMON = ["device.h", "operators.h", "math.h", "algorithm", "functional", "limits"]


class Case:
    """A rung's part of a test, against a copy of the headers: with one fault, or (None) with none."""

    def __init__(self, test, rung, header, fault):
        self.test, self.rung, self.header, self.fault = test, rung, header, fault
        self.name = f"{header}: {fault[0]}" if fault else f"{test}, {rung}: as it is"

    def outdated(self):
        """What is wrong with the fault's description, or None."""
        if self.fault:
            piece = self.fault[1]
            count = (ROOT / "include" / "coarsen" / self.header).read_text().count(piece)
            if count != 1:
                return f"update FAULTS: {self.header} has not once but {count} times {piece!r}"
        return None

    def copy_headers(self, folder):
        """Makes a folder of links to the headers, with a copy of the one that has the fault."""
        shutil.copytree(ROOT / "include" / "coarsen", folder / "coarsen", copy_function=os.symlink)
        if self.fault:
            _, piece, other = self.fault
            path = folder / "coarsen" / self.header
            source = path.read_text()
            path.unlink()
            path.write_text(source.replace(piece, other))


def compiler(first):
    """The command that compiles: at first what shows most faults and builds in a third of the time, then all that
    NAME-simt has."""
    flags = [*shlex.split(os.environ["SIMT_FLAGS"]), "-fno-sanitize-coverage=trace-pc"]  # as tests/meson.build has it
    if first:  # without the compiler's own checks, and at -O0, which counts do not allow
        flags += ["-fno-sanitize=bounds,alignment", "-O0", "-DTEST_FIRST"]
    else:
        flags.append("-O1")
    # These tests do not need simt to name lines, nor exceptions. C++14's library is the smaller.
    return [*CXX, "-std=gnu++14", "-w", f"-I{ROOT / 'include' / 'simt'}", f"-I{ROOT / 'tests'}", *flags, "-g0",
            "-fno-exceptions", "-fno-rtti", "-fno-asynchronous-unwind-tables", "-DTEST_ONLY"]


def build(cases, folder, common, first):
    """Builds one program of cases of one rung, each in a namespace, as they have headers of the system and templates in
    common. The program runs the case whose number it is given. What the compiler said if it would not."""
    source = f'#include "{common}"\n#define TEST_{cases[0].rung} 1\n'
    name = f"{cases[0].test}.cu"
    for number, case in enumerate(cases):
        case.copy_headers(folder / str(number))
        text = re.sub("<(coarsen/.*?)>", r'"\1"', (ROOT / "tests" / name).read_text())  # beside it, the case's own
        (folder / str(number) / name).write_text(text)
        source += f'#undef COARSEN_BASE_H\nnamespace case_{number} {{\n#include "{number}/{name}"\n}}\n'
    mains = ", ".join(f"case_{number}::main" for number in range(len(cases)))
    source += f"int main(int, char **argv)\n{{\n    int (*const mains[])() = {{{mains}}};\n    return mains[atoi(argv[1])]();\n}}\n"
    (folder / "test.cu").write_text(source)
    compile_it = [*compiler(first), "-x", "c++", "-c", folder / "test.cu", "-o", folder / "test.o"]
    link_it = [*CXX, folder / "test.o", os.environ["SIMT_LIB"], "-pthread", "-ldl", "-o", folder / "test"]
    for command in compile_it, link_it:
        built = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if built.returncode != 0:
            return built.stdout
    return None


def programs(cases, folder, common, first):
    """Of each case its program, its number in that, and what the compiler said if it would not: then it is alone."""
    folder.mkdir()
    said = build(cases, folder, common, first)
    if said is not None and len(cases) > 1:
        return [programs([case], folder / f"alone_{number}", common, first)[0] for number, case in enumerate(cases)]
    return [(folder / "test", number, said) for number in range(len(cases))]


def first_failure(program, number, enough=None):
    """The first failure that a test prints, which ends it, or None when it passes, as it has after `enough` lines; and
    how many lines there were."""
    process = subprocess.Popen([program, str(number)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, text=True, errors="replace")
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    lines = 0
    try:
        for line in process.stdout:
            lines += line.startswith(("ok", "not ok"))
            if line.startswith("not ok"):
                return line.strip(), lines
            if lines == enough:
                return None, lines
        if process.wait() == 0:
            return None, lines
        if not timer.is_alive():
            return f"no end in {SECONDS} s", lines + 1
        return f"exit status {process.returncode}", lines + 1
    finally:
        timer.cancel()
        process.kill()
        process.wait()


def attempt(cases, common):
    """[(whether all is well, what the test or the compiler said)] of the cases of a rung, the first with no fault."""
    results = {case: (False, case.outdated()) for case in cases if case.outdated()}
    with tempfile.TemporaryDirectory() as folder:
        for first in True, False:
            rest = [cases[0], *(case for case in cases[1:] if case not in results)]
            if len(rest) == 1 and not first:
                break
            count = -(-len(rest) // AT_ONCE)
            found = []
            for i in range(count):
                found += programs(rest[i * len(rest) // count:(i + 1) * len(rest) // count],
                                  Path(folder) / f"{first}_{i}", common, first)
            furthest = 0  # line of the test that showed a fault
            for case, (program, which, wrong) in list(zip(rest, found))[1:]:
                said, lines = (None, 0) if wrong else first_failure(program, which)
                if wrong:
                    results[case] = False, f"does not compile, so it shows nothing:\n{wrong}"
                elif said:
                    results[case] = True, said
                    furthest = max(furthest, lines)
                elif not first:
                    results[case] = False, "no test noticed"
            # Without a fault: as far as any got with one, or it would be none of the fault's doing. NAME-simt has the rest.
            program, which, wrong = found[0]
            said = wrong or furthest and first_failure(program, which, furthest)[0]
            if results.get(cases[0], (True,))[0]:
                results[cases[0]] = not said, said or ""
    return [results[case] for case in cases]


def main(words):
    rungs = {}  # (test, rung) -> its cases
    parts = [(header, test, Path(header).stem, faults) for header, (test, faults) in FAULTS.items()]
    parts += [("base.h", test, rung, faults) for (test, rung), faults in BASE.items()]
    for header, test, rung, faults in parts:
        chosen = [fault for fault in faults if all(word in f"{header} {fault[0]}" for word in words)]
        if chosen:
            cases = rungs.setdefault((test, rung), [Case(test, rung, header, None)])
            cases += [Case(test, rung, header, fault) for fault in chosen]
    failed = number = 0
    print(f"1..{sum(map(len, rungs.values()))}", flush=True)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(
            len(os.sched_getaffinity(0))) as pool:
        common = Path(folder) / "common.h"
        common.write_text("".join(f"#include <{name}>\n" for name in COMMON))
        # If this fails, so do all that include it, and say why.
        subprocess.run([*compiler(first=True), "-x", "c++-header", common, "-o", f"{common}.gch"],
                       stderr=subprocess.DEVNULL)
        for cases, results in zip(rungs.values(), pool.map(lambda cases: attempt(cases, common), rungs.values())):
            for case, (good, said) in zip(cases, results):
                number += 1
                failed += not good
                said = said.replace("#", "no. ").splitlines() or [""]
                remark = " -> " + re.sub(r"^not ok \d+ - ", "", said[0]) if case.fault and good else ""
                print(f"{'' if good else 'not '}ok {number} - {case.name}{remark}", flush=True)
                if not good:
                    print("\n".join(f"#   {line}" for line in said), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
