#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What including coarsen costs the compiler: the wall time of nvcc for a file with one trivial kernel, for the same file
with one sum from coarsen/reduce.h, and with one from CUB. The three alternate, and a ratio is the median of the ratios
of the rounds, so other work of the machine hits both sides of it. Exits with 1 if coarsen's ratio is above the bar."""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import cccl

TRIVIAL = """
__global__ void trivial(float *p) { p[threadIdx.x] = 1; }
void run(float *p) { trivial<<<1, 32>>>(p); }
"""

FILES = {
    "trivial": TRIVIAL,
    "coarsen": """
#define COARSEN_NAME sum_f32
#define COARSEN_TYPE float
#include <coarsen/reduce.h>
cudaError_t sum(const float *in, float *out, size_t n, void *scratch, size_t bytes)
{
    return sum_f32_launch(in, out, n, scratch, bytes, 0);
}
""" + TRIVIAL,
    "CUB": """
#include <cub/device/device_reduce.cuh>
cudaError_t sum(const float *in, float *out, size_t n, void *scratch, size_t bytes)
{
    return cub::DeviceReduce::Sum(scratch, bytes, in, out, n);
}
""" + TRIVIAL,
}


def cub_version(compiler, folder):
    """The version of the CUB that the compiler finds, as 3.5.0."""
    path = pathlib.Path(folder, "version.cu")
    path.write_text("#include <cub/version.cuh>\n")
    done = subprocess.run([*compiler, "-E", "-Xcompiler", "-dM", path], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compile_cost.py: nvcc finds no CUB:\n{done.stderr}")
    number = int(re.search(r"#define CUB_VERSION (\d+)", done.stdout)[1])
    return f"{number // 100000}.{number // 100 % 1000}.{number % 100}"


def main():
    include = pathlib.Path(__file__).resolve().parent.parent / "include"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", help="the compiler (default: on PATH, else /usr/local/cuda/bin/nvcc)")
    parser.add_argument("--arch", default="sm_90", help="the architecture to compile for (default: %(default)s)")
    parser.add_argument("--cccl", default=cccl.folder(), type=os.path.abspath, metavar="DIR",
                        help="the folder that has CUB's folder, cub (default: the wheel of requirements-bench.txt, else "
                        "nvcc's own)")
    parser.add_argument("--runs", type=int, default=11, help="compilations of each file (default: %(default)s)")
    parser.add_argument("--bar", type=float, default=1.15, help="highest ratio for coarsen (default: %(default)s)")
    parser.add_argument("--csv", help="write the times to this file too")
    args = parser.parse_args()
    nvcc = args.nvcc or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not shutil.which(nvcc):
        sys.exit(f"compile_cost.py: no nvcc at {nvcc}: install the CUDA Toolkit, or name it with --nvcc")
    if args.runs < 1:
        sys.exit("compile_cost.py: --runs must be at least 1")
    folders = ["-I", include] + (["-I", args.cccl] if args.cccl else [])

    times = {name: [] for name in FILES}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            pathlib.Path(folder, name + ".cu").write_text(text)
        cub = cub_version([nvcc, *folders], folder)
        for run in range(-1, args.runs):  # the first round fills the file cache and is not counted
            for name in FILES:
                if sys.stderr.isatty():
                    print(f"\r\033[Kround {run + 1} of {args.runs}: {name}", end="", file=sys.stderr, flush=True)
                command = [nvcc, "-arch", args.arch, *folders, "-c", name + ".cu", "-o", name + ".o"]
                start = time.perf_counter()
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                elapsed = time.perf_counter() - start
                if done.returncode != 0:
                    sys.exit(f"compile_cost.py: nvcc failed on {name}.cu:\n{done.stderr}")
                if run >= 0:
                    times[name].append(elapsed)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)

    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout.split("release ")[-1]
    print(f"nvcc {version.split(',')[0]}, CUB {cub}, {args.arch}, {os.cpu_count()} cores, {args.runs} runs of each\n")
    ratios = {name: statistics.median(a / b for a, b in zip(t, times["trivial"])) for name, t in times.items()}
    rows = [(name, statistics.median(t), min(t), ratios[name]) for name, t in times.items()]
    print(f"{'file':10} {'median s':>9} {'min s':>9} {'ratio':>9}")
    for name, middle, least, ratio in rows:
        print(f"{name:10} {middle:9.3f} {least:9.3f} {ratio:9.2f}")
    if args.csv:
        with open(args.csv, "w") as out:
            print("file,median_s,min_s,ratio", file=out)
            for row in rows:
                print("%s,%.4f,%.4f,%.4f" % row, file=out)
    if ratios["coarsen"] > args.bar:
        sys.exit(f"\ncoarsen costs {ratios['coarsen']:.2f} times the trivial file; the bar is {args.bar}")


if __name__ == "__main__":
    main()
