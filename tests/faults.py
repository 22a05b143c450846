# SPDX-License-Identifier: MIT
"""Tests the tests: breaks the kernels, one place at a time, and demands that a test notices.

Each fault replaces one piece of a header in a copy, builds the header's part of its test (TESTED in
tests/device.h) against the copy for the CPU device, and runs it. The copy without a fault must pass,
the copy with one must not. Prints TAP: what was broken, and what the test said of it.

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
SECONDS = 120  # for one test; a kernel that hangs is noticed too

BARRIER = "__syncthreads();"
CHECKS = [
    ("take wrong arguments", "        return cudaErrorInvalidValue;\n", "        ;\n"),
]

# header -> (its test, [(what is broken, the piece, what replaces it)]). The piece is to be there once.
FAULTS = {
    "matmul/naive.h": ("matmul", [
        ("overrun by one", "row >= rows", "row > rows"),
        ("lose the last product", "k < inner; k++", "k + 1 < inner; k++"),
        ("forget a leading dimension", "n[k * ldn + col]", "n[k * cols + col]"),
        ("read P for nothing", "beta == 0 ? alpha * sum : ", ""),
        ("read M and N for nothing", "    if (alpha == 0)\n        inner = 0;\n", ""),
        ("lose the last column of tiles", "tile_cols = coarsen_ceil_div(cols, TILE_WIDTH);\n    if",
         "tile_cols = cols / TILE_WIDTH;\n    if"),
    ]),
    "matmul/tiled.h": ("matmul", [
        ("drop the first barrier", f"        {BARRIER}\n#pragma", "#pragma"),
        ("drop the second barrier", f"n_tile[k][tx];\n        {BARRIER}\n", "n_tile[k][tx];\n"),
        ("overrun in depth", "phase + tx < inner", "phase + tx <= inner"),
        ("read P for nothing", "beta == 0 ? alpha * sum : ", ""),
    ]),
    "matmul/coarsened.h": ("matmul", [
        ("drop the first barrier", f"            {BARRIER}\n#pragma", "#pragma"),
        ("drop the second barrier", f"n_tile[k][tx];\n            {BARRIER}\n", "n_tile[k][tx];\n"),
        ("guard the uncoarsened column", "phase + ty < inner && col < cols",
         "phase + ty < inner && col_start < cols"),
        ("write past the last column", "row < rows && col < cols)", "row < rows && col_start < cols)"),
        ("reload M", "m_tile[ty][tx] = row",
         "for (int again = 0; again < 2; again++)\n            m_tile[ty][tx] = row"),
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
        ("drop the barrier before the sums", f"coarsen_shared;\n    {BARRIER}\n", "coarsen_shared;\n"),
        ("drop the barrier after the sums", f"    {BARRIER}\n#endif\n\n    const bool wide",
         "#endif\n\n    const bool wide"),
        ("take ragged rows for aligned", "if (inside && ((size_t)n | ldn * sizeof(COARSEN_TYPE)) % 16 == 0)",
         "if (inside)"),
        ("write ragged rows as vectors", "inside && ((size_t)p | ldp * sizeof(COARSEN_TYPE)) % 16 == 0;",
         "inside;"),
        ("take a part of the depth for all", "from->inside && from->k + BK <= from->inner",
         "from->inside && from->k < from->inner"),
        ("leave out the tiles after the last", "from->k < from->inner + BK", "from->k < from->inner"),
        ("copy over the stage in use", "next_stage = COARSEN_STAGES - 1;", "next_stage = 0;"),
        ("add the same slice twice", "slice < owner ? slice : slice - 1", "slice < owner ? slice : 0"),
        ("use P for nothing", "to[q] = beta == 0 ?", "to[q] = beta == 2 ?"),
    ]),
    "reduce/simple.h": ("reduce", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("lose the last element", "i + stride < n;", "i + stride < n - 1;"),
        ("overrun by one", "i + stride < n;", "i + stride <= n;"),
        ("shift an index", "data[i + stride])", "data[i + stride - 1])"),
        ("skip a step", "stride *= 2)", "stride *= 4)"),
        ("forget elements past the block's", "i += 2 * BLOCK_DIM", "i += 4 * BLOCK_DIM"),
        ("swap the operands", "data[i], data[i + stride]", "data[i + stride], data[i]"),
        ("read when there is nothing", "n > 0 ? data[0] : COARSEN_IDENTITY", "data[0]"),
    ]),
    "reduce/convergent.h": ("reduce", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("lose the middle of an odd length", "half = length - length / 2", "half = length / 2"),
        ("overrun by one", "i + half < length;", "i + half <= length;"),
        ("forget elements past the block's", "i += BLOCK_DIM", "i += 2 * BLOCK_DIM"),
        ("read when there is nothing", "n > 0 ? data[0] : COARSEN_IDENTITY", "data[0]"),
    ]),
    "reduce/shared.h": ("reduce", CHECKS + [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("lose the last element", "i < n; i += BLOCK_DIM", "i + 1 < n; i += BLOCK_DIM"),
        ("overrun by one", "i < n; i += BLOCK_DIM", "i <= n; i += BLOCK_DIM"),
        ("give LIFT the wrong index", "COARSEN_LIFT(in[i], i)", "COARSEN_LIFT(in[i], (size_t)t)"),
        ("start from zero", "sum = COARSEN_IDENTITY;", "sum = (COARSEN_ACC){};"),
        ("stop the tree early", "length > 1; length", "length > 2; length"),
    ]),
    "reduce/multiblock.h": ("reduce", [
        ("take wrong arguments", "NAME_scratch_bytes(n))\n        return cudaErrorInvalidValue;",
         "NAME_scratch_bytes(n))\n        ;"),
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)2 * BLOCK_DIM)", "n / (2 * BLOCK_DIM)"),
        ("overlap the blocks", "blockIdx.x * 2 * BLOCK_DIM", "blockIdx.x * BLOCK_DIM"),
        ("commit without the lock", "    coarsen_lock(lock);\n", ""),
        ("never unlock", "    coarsen_unlock(lock);\n", ""),
        ("leave out as it was", "    *out = COARSEN_IDENTITY;\n", "    (void)out;\n"),
        ("leave the lock as it was", "    *lock = 0;\n", "    (void)lock;\n"),
        ("take too small a scratch", "scratch_bytes < NAME_scratch_bytes(n)", "scratch_bytes > ~0ULL"),
    ]),
    "reduce/coarsened.h": ("reduce", [
        ("take wrong arguments", "NAME_scratch_bytes(n))\n        return cudaErrorInvalidValue;",
         "NAME_scratch_bytes(n))\n        ;"),
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("guard the uncoarsened index", "if (i < n)", "if (segment + t < n)"),
        ("lose the last pair", "k < 2 * COARSE_FACTOR;", "k < 2 * COARSE_FACTOR - 1;"),
        ("overlap the rows", "segment + k * BLOCK_DIM + t", "segment + k * (BLOCK_DIM - 1) + t"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)2 * BLOCK_DIM * COARSE_FACTOR)",
         "n / (2 * BLOCK_DIM * COARSE_FACTOR)"),
        ("commit without the lock", "    coarsen_lock(lock);\n", ""),
        ("leave the lock as it was", "    *lock = 0;\n", "    (void)lock;\n"),
    ]),
    "reduce/single_pass.h": ("reduce", CHECKS + [
        ("drop the block's barrier", f"        partial[warp] = sum;\n    {BARRIER}\n",
         "        partial[warp] = sum;\n"),
        ("drop the barrier between reductions", f"    {BARRIER}\n    sum = NAME_block(sum);",
         "    sum = NAME_block(sum);"),
        ("stop the shuffles early", "delta > 0; delta /= 2", "delta > 1; delta /= 2"),
        ("shuffle some words only", "w < COARSEN_WORDS; w++)\n            words",
         "w < 1; w++)\n            words"),
        ("read partials of warps that are not", "if (lane < BLOCK_DIM / 32)", "if (lane < 32)"),
        ("do not wait for a block", "while (flagged >> 32 == 0)", "while (0)"),
        ("leave a slot full", "        slot[w] = 0;\n", ""),
        ("leave the ticket as it is", "        atomicExch(ticket, 0);\n", ""),
        ("let the first block collect", "== gridDim.x - 1;", "== 0;"),
        ("read vectors from where none are aligned", "misaligned == 0 ? 0 : COARSEN_ITEMS - misaligned",
         "0"),
        ("lose the head and tail", "threadIdx.x < rest)", "threadIdx.x + 1 < rest)"),
        ("add the head and tail in every block", "blockIdx.x == gridDim.x - 1 && threadIdx.x < rest",
         "threadIdx.x < rest"),
        ("lose the tail", "rest = n - vectors * COARSEN_ITEMS;", "rest = head;"),
        ("give LIFT the wrong index", "i + (size_t)k * BLOCK_DIM * COARSEN_ITEMS + j)", "i + j)"),
        ("overrun a small array by one", "threadIdx.x < n)\n            load", "threadIdx.x <= n)\n            load"),
        ("take too small a scratch", "scratch_bytes < NAME_scratch_bytes(n)", "scratch_bytes > ~0ULL"),
    ]),
    "histogram/basic.h": ("histogram", CHECKS + [
        ("lose the last element", "if (i < n)", "if (i + 1 < n)"),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("count what is past the bins", "bin < NUM_BINS)", "bin <= NUM_BINS)"),
        ("count negative bins", "bin >= 0 && ", ""),
        ("add without an atomic", "atomicAdd(counts + bin, (COARSEN_COUNT)1);", "counts[bin] += 1;"),
        ("leave the counts as they were", "cudaMemsetAsync(counts, 0, NUM_BINS * sizeof(COARSEN_COUNT), stream)",
         "cudaSuccess"),
    ]),
    "histogram/private_global.h": ("histogram", CHECKS + [
        ("drop the barrier", f"    {BARRIER}\n", ""),
        ("add the first block's copy to itself", "    if (blockIdx.x == 0)\n        return;\n", ""),
        ("overlap the copies", "(blockIdx.x - 1) * NUM_BINS", "(blockIdx.x - 1) * (NUM_BINS - 1)"),
        ("leave the copies as they were", "status = cudaMemsetAsync(scratch, 0, copies, stream);", ";"),
        ("take too small a scratch", "scratch_bytes < copies ||", ""),
    ]),
    "histogram/private_shared.h": ("histogram", CHECKS + [
        ("drop the barrier after the zeros", f"    {BARRIER}\n\n    const", "    const"),
        ("drop the barrier before the sums", f"    {BARRIER}\n    for", "    for"),
        ("leave a copy as it was", "copy[bin] = 0;", ";"),
        ("lose bins past the threads", "bin += BLOCK_DIM)\n        if", "bin += NUM_BINS)\n        if"),
    ]),
    "histogram/contiguous.h": ("histogram", CHECKS + [
        ("guard the uncoarsened index", "if (i < n)", "if (first < n)"),
        ("overlap the threads", "threadIdx.x) * CFACTOR;", "threadIdx.x) * (CFACTOR - 1);"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)BLOCK_DIM * CFACTOR)",
         "n / ((size_t)BLOCK_DIM * CFACTOR)"),
    ]),
    "histogram/interleaved.h": ("histogram", CHECKS + [
        ("guard the uncoarsened index", "if (i < n)", "if (first < n)"),
        ("a stride of the block", "first + k * threads", "first + k * BLOCK_DIM"),
    ]),
    "histogram/vectorized.h": ("histogram", CHECKS + [
        ("read vectors from where none are aligned", "misaligned == 0 ? 0 : COARSEN_ITEMS - misaligned", "0"),
        ("lose the head and tail", "threadIdx.x < rest)", "threadIdx.x + 1 < rest)"),
        ("count the head and tail in every block", "blockIdx.x == gridDim.x - 1 && threadIdx.x < rest",
         "threadIdx.x < rest"),
        ("lose the last vector", "(n - head) / COARSEN_ITEMS;", "(n - head - 1) / COARSEN_ITEMS;"),
    ]),
    "histogram/aggregated.h": ("histogram", CHECKS + [
        ("forget the last run", "    NAME_flush(copy, run_bin, run);\n", ""),
        ("forget a run where the next begins", "        NAME_flush(copy, *run_bin, *run);\n", ""),
        ("lose the first of a run", "*run = 0;", "*run = -1u;"),
        ("flush to the wrong bin", "if (bin != *run_bin) {", "if (bin == *run_bin + 1) {"),
    ]),
    "histogram/per_lane.h": ("histogram", [
        ("take wrong arguments", "__alignof__(COARSEN_COUNT)))\n        return cudaErrorInvalidValue;",
         "__alignof__(COARSEN_COUNT)))\n        ;"),
        ("drop the barrier after the zeros", f"    {BARRIER}\n\n    // From", "    // From"),
        ("drop the barrier before the sums", f"    {BARRIER}\n    for", "    for"),
        ("leave some counters as they were", "(width + 31) / 32 * 32 * copies;", "width;"),
        ("one copy for all", "threadIdx.x), 1);", "0), 1);"),
        ("stir the rows of two groups together", "(bin / group % group)", "(bin / group)"),
        ("forget a column", "k = 0; k < copies; k++", "k = 1; k < copies; k++"),
        ("count other ranges' bins", "if (row < width)", "if (row < NUM_BINS)"),
        ("lose the last range's end", "NUM_BINS - first_bin < full_width", "false"),
        ("lose the last vectors", "for (; v < vectors; v += threads)", "for (; v + threads < vectors; v += threads)"),
        ("overrun the vectors", "v + (CFACTOR - 1) * threads < vectors", "v < vectors"),
        ("count the head and tail in every block", "block == blocks - 1 && threadIdx.x < rest",
         "threadIdx.x < rest"),
        ("give the ranges other blocks", "block = blockIdx.x / ranges;", "block = blockIdx.x;"),
        ("give a small array's blocks a large one's threads", "threads = small ? COARSEN_SMALL : BLOCK_DIM",
         "threads = BLOCK_DIM"),
    ]),
    "map/single.h": ("map", [
        ("take a null array", "!coarsen_array_ok(a, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||",
         ""),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("lose the last element", "if (i < n)", "if (i + 1 < n)"),
        ("lose the last block", "coarsen_ceil_div(n, BLOCK_DIM)", "(n / BLOCK_DIM)"),
    ]),
    "map/consecutive.h": ("map", [
        ("take a null array", "!coarsen_array_ok(a, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||",
         ""),
        ("guard the uncoarsened index", "if (i < n)", "if (first < n)"),
        ("overrun by one", "if (i < n)", "if (i <= n)"),
        ("overlap the threads", "+ threadIdx.x) * COARSE_FACTOR",
         "+ threadIdx.x) * (COARSE_FACTOR - 1)"),
        ("lose the last block", "coarsen_ceil_div(n, (size_t)BLOCK_DIM * COARSE_FACTOR)",
         "(n / (BLOCK_DIM * COARSE_FACTOR))"),
    ]),
    "map/interleaved.h": ("map", [
        ("take a null array", "!coarsen_array_ok(a, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||",
         ""),
        ("guard the uncoarsened index", "if (i < n)\n            out", "if (first < n)\n            out"),
        ("overrun by one", "if (i < n)\n            out", "if (i <= n)\n            out"),
        ("overlap the blocks", "blockIdx.x * BLOCK_DIM * COARSE_FACTOR", "blockIdx.x * BLOCK_DIM"),
    ]),
    "map/vectorized.h": ("map", [
        ("take a null array", "!coarsen_array_ok(a, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||",
         ""),
        ("take any boundary for a vector's", "            return head;\n    return n;",
         "            return head;\n    return 0;"),
        ("overrun by a vector", "(n - head) / COARSEN_ITEMS;", "(n - head) / COARSEN_ITEMS + 1;"),
        ("lose the rest", "r < rest;", "r + 1 < rest;"),
        ("take the head for the tail", "r < head ? r", "r <= head ? r"),
        ("overlap the blocks", "blockIdx.x * BLOCK_DIM * COARSE_FACTOR", "blockIdx.x * BLOCK_DIM"),
    ]),
    "image/grayscale_single.h": ("image", [
        ("take a null array", "!coarsen_array_ok(in, 3 * n, 1, 1) || ", ""),
        ("truncate", "+ 32768;", ";"),
        ("swap red and blue", "COARSEN_RED * red", "COARSEN_BLUE * red"),
        ("lose the last pixel", "if (i < n)", "if (i + 1 < n)"),
    ]),
    "image/grayscale_coarsened.h": ("image", [
        ("take a null array", "!coarsen_array_ok(in, 3 * n, 1, 1) || ", ""),
        ("guard the uncoarsened index", "if (i < n)\n            out", "if (first < n)\n            out"),
        ("overlap the blocks", "blockIdx.x * BLOCK_DIM * COARSE_FACTOR", "blockIdx.x * BLOCK_DIM"),
    ]),
    "image/grayscale_vectorized.h": ("image", [
        ("take a null array", "!coarsen_array_ok(in, 3 * n, 1, 1) || ", ""),
        ("mix up the pixels", "byte = 12 * w + 3 * j + c", "byte = 12 * w + 3 * (3 - j) + c"),
        ("take any boundary for a vector's", "            return head;\n    return n;",
         "            return head;\n    return 0;"),
        ("overrun by a vector", "(n - head) / 16;", "(n - head) / 16 + 1;"),
        ("lose the rest", "r < rest;", "r + 1 < rest;"),
    ]),
    "image/blur_single.h": ("image", [
        ("take a null array", "!coarsen_array_ok(in, height, samples, 1) || ", ""),
        ("leave out a row", "v <= y + below", "v < y + below"),
        ("leave out a column", "u <= x + right", "u < x + right"),
        ("average over all of the box", "(above + 1 + below) * (left + 1 + right)",
         "(2 * COARSEN_RADIUS + 1) * (2 * COARSEN_RADIUS + 1)"),
        ("round down", "(sum + count / 2)", "(sum)"),
        ("mix up the channels", "s % COARSEN_CHANNELS]", "0]"),
    ]),
    "image/blur_coarsened.h": ("image", [
        ("take a null array", "!coarsen_array_ok(in, height, samples, 1) || ", ""),
        ("keep the row that left", "            if (y > COARSEN_RADIUS)\n", "            if (0)\n"),
        ("add a row past the last", "if (y + COARSEN_RADIUS < height)", "if (1)"),
        ("begin a row late", "first - COARSEN_RADIUS - 1;", "first - COARSEN_RADIUS;"),
    ]),
    "image/blur_tiled.h": ("image", [
        ("take a null array", "!coarsen_array_ok(in, height, samples, 1) || ", ""),
        ("drop the barrier", f"        {BARRIER}\n\n", "\n"),
        ("drop the barrier after the tile", f"        {BARRIER} // the tile", "        // the tile"),
        ("fill what is outside", "v < height && u < samples ? in[v * samples + u] : 0",
         "in[(v < height ? v : 0) * samples + (u < samples ? u : 0)]"),
        ("a halo too narrow", "(BLOCK_DIM + 2 * COARSEN_REACH)",
         "(BLOCK_DIM + 2 * COARSEN_REACH - 1)"),
        ("write outside", "if (y < height && s < samples)", "if (y < height)"),
    ]),
    "image/blur_rolling.h": ("image", [
        ("take a null array", "!coarsen_array_ok(in, height, samples, 1) || ", ""),
        ("keep the row that left", "enters.word[w] - leaves.word[w]", "enters.word[w]"),
        ("mix up the neighbours", "mine_even[3 - w % 4]", "mine_even[w % 4]"),
        ("reach too far", "p - COARSEN_REACH - COARSEN_CHANNELS", "p - COARSEN_REACH"),
        ("take a border for the inside", "x >= COARSEN_REACH && x + 16", "x >= 0 && x + 16"),
        ("forget the rows that are not", "begin + 2 * COARSEN_RADIUS;", "2 * COARSEN_RADIUS;"),
        ("a reciprocal too small", "(1u << 24) / COARSEN_COUNT + 1;", "(1u << 24) / COARSEN_COUNT;"),
        ("round down", "+ count / 2 * reciprocal", ""),
        ("let helping lanes write", "lane >= COARSEN_HALO && lane < 32 - COARSEN_HALO && a < b",
         "a < b"),
        ("load outside the row", "loads = a < b ? end - begin : 0", "loads = end - begin"),
        ("take any alignment for 16", "| samples) % 16 == 0", "| samples) % 1 == 0"),
        ("lose the last strip", "columns * coarsen_ceil_div(height, rows)", "columns * (height / rows)"),
    ]),
    "fuse.h": ("fuse", [
        ("take a null array", "!coarsen_array_ok(a, n, sizeof(COARSEN_TYPE), __alignof__(COARSEN_TYPE)) ||",
         ""),
        ("lose the rest", "r < rest;", "r + 1 < rest;"),
        ("overrun by a vector", "(n - head) / COARSEN_ITEMS;", "(n - head) / COARSEN_ITEMS + 1;"),
        ("take any boundary for a vector's", "            return head;\n    return n;",
         "            return head;\n    return 0;"),
        ("overlap the blocks", "blockIdx.x * REDUCE_block_dim * COARSE_FACTOR",
         "blockIdx.x * REDUCE_block_dim"),
        ("let the first block collect", "== gridDim.x - 1;", "== 0;"),
        ("take too small a scratch", "scratch_bytes < NAME_scratch_bytes(n)", "scratch_bytes > ~0ULL"),
    ]),
    "fuse/block_coarsened.h": ("fuse", [
        ("drop the barrier", f"        {BARRIER}\n", ""),
        ("commit one tree only", "f < COARSE_FACTOR; f++)\n            NAME_commit",
         "f < 1; f++)\n            NAME_commit"),
        ("overlap the blocks", "((size_t)blockIdx.x * COARSE_FACTOR + f)", "((size_t)blockIdx.x + f)"),
        ("commit without the lock", "    coarsen_lock(lock);\n", ""),
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


def build(test, header, include, folder):
    """Builds a header's part of a test for the CPU device; what the compiler said if it would not."""
    cxx = shlex.split(os.environ.get("CXX") or "g++")
    flags = shlex.split(os.environ["SIMT_FLAGS"])
    # -O0 builds in half the time of -O1, which the counts need, and these tests do not; nor do they need
    # simt to name lines. C++14's library is the smaller.
    compile_it = [*cxx, "-x", "c++", "-std=gnu++14", "-O0", "-w", f"-I{ROOT / 'include' / 'simt'}",
                  f"-I{include}", *flags, "-g0", "-DTEST_ONLY", f"-DTEST_{Path(header).stem}",
                  "-c", ROOT / "tests" / f"{test}.cu", "-o", folder / "test.o"]
    link_it = [*cxx, folder / "test.o", os.environ["SIMT_LIB"], "-pthread", "-ldl", "-o", folder / "test"]
    for command in compile_it, link_it:
        built = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if built.returncode != 0:
            return built.stdout
    return None


def first_failure(program):
    """The first failure that a test prints, which ends it; None when it passes."""
    process = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, text=True, errors="replace")
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        for line in process.stdout:
            if line.startswith("not ok"):
                return line.strip()
        if process.wait() == 0:
            return None
        if not timer.is_alive():
            return f"no end in {SECONDS} s"
        return f"exit status {process.returncode}"
    finally:
        timer.cancel()
        process.kill()
        process.wait()


def attempt(test, header, fault):
    """(whether all is well, what the test or the compiler said)."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        include = folder / "include"
        shutil.copytree(ROOT / "include" / "coarsen", include / "coarsen")
        if fault:
            _, piece, other = fault
            path = include / "coarsen" / header
            source = path.read_text()
            if source.count(piece) != 1:
                return False, f"update FAULTS: {header} has not once but {source.count(piece)} times {piece!r}"
            path.write_text(source.replace(piece, other))
        said = build(test, header, include, folder)
        if said is not None:
            return False, f"does not compile, so it shows nothing:\n{said}"
        said = first_failure(folder / "test")
        if fault:
            return said is not None, said or "no test noticed"
        return said is None, said or ""


def main(words):
    jobs = []
    for header, (test, faults) in FAULTS.items():
        chosen = [fault for fault in faults if all(word in f"{header} {fault[0]}" for word in words)]
        jobs += [(test, header, fault) for fault in [None, *chosen] if chosen]
    failed = 0
    print(f"1..{len(jobs)}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, ((_, where, fault), (good, said)) in enumerate(
                zip(jobs, pool.map(attempt, *zip(*jobs))), 1):
            failed += not good
            said = said.replace("#", "no. ").splitlines() or [""]
            remark = " -> " + re.sub(r"^not ok \d+ - ", "", said[0]) if fault and good else ""
            print(f"{'' if good else 'not '}ok {number} - "
                  f"{where}: {fault[0] if fault else 'as it is'}{remark}", flush=True)
            if not good:
                print("\n".join(f"#   {line}" for line in said), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
