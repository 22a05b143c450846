#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good is the choice that coarsen-tune makes without a GPU, and are the headers' defaults? For each problem of the
list below: the time of the setting it predicts to be best, and of the headers' default, over the time of the best one
found by timing every setting.

  truth.py measure FOLDER   times every setting, on the GPU here: FOLDER/measured-*.csv
  truth.py predict FOLDER   chooses without it, for --device: FOLDER/predicted-*.csv
  truth.py table FOLDER     the table, in Markdown"""

import argparse
import csv
import math
import pathlib
import re
import shlex
import subprocess
import sys

PROBLEMS = (
    [f"reduce --type f32 --n 2^{e}" for e in (12, 16, 20, 24, 28)] +
    [f"map --type f32 --n 2^{e}" for e in (12, 16, 20, 24, 28)] +
    [f"matmul --type f32 --n {n}" for n in (512, 1024, 4096)] +
    [f"histogram --type {kind} --bins {bins} --data {data} --n 2^{e}" for kind, bins in (("u8", 256), ("u32", 2048))
     for data in ("uniform", "skewed") for e in (16, 22, 28)] +
    [f"scan --type f32 --n 2^{e}" for e in (12, 16, 20, 24, 28)] +
    [f"select --type f32 --n 2^{e}" for e in (16, 22, 28)] +
    [f"{matrix} --type f32 --rows 2^{rows} --width {width}" for matrix, shapes in
     (("rows", ((12, 256), (24, 16), (20, 256), (16, 4096))), ("columns", ((12, 256), (24, 16), (18, 1024))))
     for rows, width in shapes] +
    [f"offsets --type f32 --n 2^{e} --width {width}" for e, width in ((20, 256), (28, 16), (28, 256), (28, 4096))] +
    [f"sort --type u32 --n 2^{e}" for e in (16, 20, 24, 28)] +
    [f"merge --type u32 --n 2^{e}" for e in (16, 20, 24, 27)] +
    [f"stencil --type {kind} --n {n} --order {order}"
     for kind, n, order in (("f32", 512, 1), ("f32", 640, 4), ("f64", 512, 1))] +
    ["top_k --type f32 --n 2^24 --k 100"] +
    [f"sort_segments --type u32 --rows 2^{rows} --width {width}" for rows, width in ((14, 4096), (20, 64))])


def file_of(folder, what, problem):
    words = problem.replace("--", "").replace("^", "e").split()
    return folder / f"{what}-{'-'.join(word for word in words if word not in ('type', 'n', 'data'))}.csv"


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def tune(args, what, more):
    failed = 0
    for i, problem in enumerate(PROBLEMS):
        if args.only and args.only not in problem:
            continue
        path = file_of(args.folder, what, problem)
        command = [args.tune, *problem.split(), *more, "--quiet", "--csv", path]
        print(f"[{i + 1}/{len(PROBLEMS)}] {shlex.join(map(str, command))}", file=sys.stderr, flush=True)
        with open(path.with_suffix(".txt"), "w") as log:
            failed += subprocess.run(list(map(str, command)), stdout=log).returncode != 0
    return failed


# Headers that choose by the sizes, or by the device: as they are, each a source and what describes it. matmul.h has no
# knobs: it is pipelined.h in eight shapes. stencil.h has no factor until it knows the device.
OWN = {
    "matmul": ("""#define COARSEN_NAME tuned
#define COARSEN_TYPE TYPE
#include <coarsen/matmul.h>
""", ["--launch", "tuned_launch(n, n, n, 1, a, n, b, n, 0, p, n, 0)", "--in", "TYPE a[n * n]", "--in", "TYPE b[n * n]",
      "--out", "TYPE p[n * n]"]),
    "stencil": ("""#define COARSEN_NAME         tuned
#define COARSEN_TYPE         TYPE
#define COARSEN_ORDER        RADIUS
#define COARSEN_COEFFICIENTS WEIGHTS
#include <coarsen/stencil.h>
""", ["--launch", "tuned_launch(a, p, n, n, n, n, n * n, 0)", "--in", "TYPE a[n * n * n]",
      "--out", "TYPE p[n * n * n]"]),
}


def measure(args):
    failed = tune(args, "measured", ["--no-cache"])
    for problem in PROBLEMS:
        pattern, *words = problem.split()
        if pattern not in OWN or (args.only and args.only not in problem):
            continue
        given = dict(zip(words[::2], words[1::2]))
        source, options = OWN[pattern]
        radius = int(given.get("--order", 1))
        for name, value in (("TYPE", {"f32": "float", "f64": "double"}[given["--type"]]), ("RADIUS", str(radius)),
                            ("WEIGHTS", ", ".join(["0.1"] * (radius + 1)))):
            source = re.sub(rf"\b{name}\b", value, source)
            options = [re.sub(rf"\b{name}\b", value, option) for option in options]
        path = args.folder / f"{pattern}.cu"
        path.write_text(source)
        command = [args.tune, "--source", path, *options, "--knob", "OWN=1", "--n", given["--n"], "--no-cache",
                   "--quiet", "--csv", file_of(args.folder, "default", problem)]
        failed += subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL).returncode != 0
    return failed


def table(args):
    """A row a problem; the knobs as BLOCK_DIM x COARSE_FACTOR."""
    print("| problem | best | us | static choice | its time / the best's | default | its time / the best's |")
    print("|---|---|---|---|---|---|---|")
    ratios = {"chosen": [], "default": []}
    for problem in PROBLEMS:
        measured_path, predicted_path = (file_of(args.folder, what, problem) for what in ("measured", "predicted"))
        if not measured_path.exists() or not predicted_path.exists():
            continue
        measured = [row for row in rows_of(measured_path) if row["status"] == "ok"]
        knobs = list(measured[0])[:list(measured[0]).index("status")]
        key = lambda row: tuple(row[knob] for knob in knobs)
        times = {key(row): float(row["measured_us"]) for row in measured}
        predicted = rows_of(predicted_path)
        best = min(times, key=times.get)
        cells = [problem.replace("--", ""), " x ".join(best), f"{times[best]:.2f}"]
        for which in ("chosen", "default"):
            setting = key(next(row for row in predicted if row[which] == "1"))
            time = times.get(setting, math.inf)
            if which == "default" and file_of(args.folder, which, problem).exists():
                setting = [f"{problem.split()[0]}.h's own"]
                time = float(rows_of(file_of(args.folder, which, problem))[0]["measured_us"])
            ratios[which].append(time / times[best])
            cells += [" x ".join(setting), f"{ratios[which][-1]:.3f}"]
        print("| " + " | ".join(cells) + " |")
    if not ratios["chosen"]:
        sys.exit(f"truth.py: {args.folder} has no problem both measured and predicted: run those first")
    for which, all_ratios in ratios.items():
        mean = math.exp(sum(map(math.log, all_ratios)) / len(all_ratios))
        print(f"\n{which}: geometric mean {mean:.3f}, worst {max(all_ratios):.3f}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["measure", "predict", "table"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tune", default="coarsen-tune", help="the program (default: on PATH)")
    parser.add_argument("--device", default="h200", help="to predict for (default: %(default)s)")
    parser.add_argument("--only", help="only problems with this in their arguments")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.action == "measure":
        sys.exit(measure(args))
    if args.action == "predict":
        sys.exit(tune(args, "predicted", ["--static", "--arch", args.device]))
    sys.exit(table(args))


if __name__ == "__main__":
    main()
