# SPDX-License-Identifier: MIT
"""Tests the tests: breaks the kernels, one place at a time, and demands that a test notices.

Each fault replaces one piece of a header in a copy, builds the header's test against the copy for the
CPU device, and runs it. The copy without a fault must pass, the copy with one must not. Prints TAP:
what was broken, and what the test said of it.

    faults.py [WORD...]   only the faults whose header and name have all the words
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 120  # for one test; a kernel that hangs is noticed too

BARRIER = "__syncthreads();"
CHECKS = [
    ("take wrong arguments", "        return cudaErrorInvalidValue;\n", "        ;\n"),
]

# header -> (its test, [(what is broken, the piece, what replaces it)]). The piece is to be there once.
FAULTS = {
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
    "reduce/multiblock.h": ("reduce", CHECKS + [
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
    "reduce/coarsened.h": ("reduce", CHECKS + [
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
        ("lose the last vector", "(n - head) / COARSEN_ITEMS;", "(n - head - 1) / COARSEN_ITEMS;"),
        ("give LIFT the wrong index", "i + (size_t)k * BLOCK_DIM * COARSEN_ITEMS + j)", "i + j)"),
        ("overrun a small array by one", "threadIdx.x < n)\n            load", "threadIdx.x <= n)\n            load"),
        ("take too small a scratch", "scratch_bytes < NAME_scratch_bytes(n)", "scratch_bytes > ~0ULL"),
    ]),
    "arg.h": ("reduce", [
        ("let the later of equals win", "return a.index < b.index ? a : b;\n}",
         "return a.index < b.index ? b : a;\n}"),
        ("treat NaN as a number", "if (a_nan != b_nan)", "if (0)"),
        ("let no element win", "b.index == ~(size_t)0)", "0)"),
        ("swap min and max", "a.value < b.value, b.value < a.value", "b.value < a.value, a.value < b.value"),
    ]),
}


def compiler():
    cxx = shlex.split(os.environ.get("CXX") or "g++")
    flags = shlex.split(os.environ["SIMT_FLAGS"])
    return [*cxx, "-x", "c++", "-std=gnu++17", "-O1", "-g", f"-I{ROOT / 'include' / 'simt'}", *flags, "-w"]


def attempt(header, test, fault):
    """Runs the test on a copy with the fault, or as it is; (it passed, what it said)."""
    with tempfile.TemporaryDirectory() as folder:
        include = Path(folder) / "include"
        shutil.copytree(ROOT / "include" / "coarsen", include / "coarsen")
        if fault:
            _, piece, other = fault
            path = include / "coarsen" / header
            source = path.read_text()
            if source.count(piece) != 1:
                return None, f"{header} has {source.count(piece)} times, where 1 is needed: {piece!r}"
            path.write_text(source.replace(piece, other))

        objects, program = Path(folder) / "test.o", Path(folder) / "test"
        only = [f"-DONLY_{header.removesuffix('.h').replace('/', '_').upper()}"]
        for command in ([*compiler(), f"-I{include}", *only, "-c", ROOT / "tests" / f"{test}.cu",
                         "-o", objects],
                        [compiler()[0], objects, os.environ["SIMT_LIB"], "-pthread", "-ldl", "-o", program]):
            built = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if built.returncode != 0:
                return None, f"does not compile, so it shows nothing:\n{built.stdout}"
        try:
            ran = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return False, f"no end in {SECONDS} s"
        said = [line for line in ran.stdout.splitlines() if line.startswith("not ok")]
        if ran.returncode == 0 and not said:
            return True, ran.stdout[-2000:]
        return False, said[0] if said else f"exit status {ran.returncode}"


def main(words):
    jobs = [(header, test, fault) for header, (test, faults) in FAULTS.items()
            for fault in [None, *faults]
            if all(word in f"{header} {fault[0] if fault else 'as it is'}" for word in words)]
    missed = 0
    print(f"1..{len(jobs)}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: attempt(*job), jobs)
        for number, ((header, _, fault), (passed, said)) in enumerate(zip(jobs, results), 1):
            good = passed is (fault is None)
            missed += not good
            said = said.replace("#", "no. ").splitlines() or [""]
            remark = f" ({re.sub('^not ok ', 'test ', said[0])})" if fault and good else ""
            print(f"{'' if good else 'not '}ok {number} - "
                  f"{header}: {fault[0] if fault else 'as it is'}{remark}", flush=True)
            if not good:
                print("#   no test noticed" if passed else "\n".join(f"#   {line}" for line in said))
    return 1 if missed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
