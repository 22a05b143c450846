#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random shapes: ours beside the peer's, where nobody chose the sizes.

    python3 bench/shapes.py [--seed S] [--count N] [--csv FOLDER] [--print] [PATTERN ...]

draws N shapes per pattern from the seed: sizes over the whole range, as likely between 2^10 and 2^11 as between 2^20 and
2^21; types, alignments and distributions of the data. It runs the program of each pattern (bench/shapes/*.cu), which
times ours and the peer beside each other, and prints the ten shapes where ours is slowest in comparison, and the
geometric mean, of each pattern and of all. It exits with 1 if a result was wrong. --print: prints the shapes instead.

The programs: ninja -C build/meson shapes-programs. They need a GPU, CUB, and for the products cuBLAS. Another folder of
theirs: --programs FOLDER.
"""
import argparse
import csv
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ["uniform", "few", "skewed", "sorted", "constant"]


# ---- What is drawn -------------------------------------------------------------------------------


def size(draw, least, most):
    """A whole number, likely by its logarithm; one in four is a multiple of many powers of two, as people's sizes are."""
    n = round(2 ** draw.uniform(math.log2(least), math.log2(most)))
    if draw.random() < 0.25:
        zeros = max(0, n.bit_length() - 3)
        n = max(least, n >> zeros << zeros)
    return n


def apart(draw):
    """How many elements an array begins after a boundary: none for half of them, as most are of an allocation's begin."""
    return draw.choice([0, draw.randrange(1, 32)])


def line(kind, **words):
    return " ".join([kind, *(f"{name}={value}" for name, value in words.items())])


def array(draw, types, most, **words):
    return line(draw.choice(types), n=size(draw, 1000, most), apart=apart(draw), data=draw.choice(DATA), **words)


def draw_reduce(draw):
    return array(draw, ["f32", "f64", "i32", "i8", "u16"], 2**28)


def draw_scan(draw):
    return array(draw, ["f32", "f64", "i32", "u8"], 2**27)


def draw_map(draw):
    same = apart(draw)
    places = [same] * 3 if draw.random() < 0.5 else [apart(draw) for _ in range(3)]
    return line(draw.choice(["f32", "f64", "u16", "u8"]), n=size(draw, 1000, 2**27), apart=places[0], apart_b=places[1],
                apart_out=places[2], data="uniform")


def draw_histogram(draw):
    return array(draw, ["u8_256", "u8_37", "u16_3000", "i32_100", "i32_1500", "i32_20000", "i32_150000"], 2**27)


def draw_select(draw):
    return array(draw, ["i32", "f64", "u8", "i32_unique"], 2**27, percent=draw.randrange(101))


def draw_sort(draw):
    return array(draw, ["u32", "i64", "f32", "u16", "u32_u32"], 2**26)


def draw_merge_sort(draw):
    return array(draw, ["i32", "f64"], 2**24)


def draw_merge(draw):
    return line(draw.choice(["i32", "f32", "u64"]), m=size(draw, 1000, 2**26), n=size(draw, 1000, 2**26),
                apart=apart(draw), apart_b=apart(draw), data=draw.choice(DATA))


def draw_rows(draw):
    all_of_it = size(draw, 2**12, 2**27)
    width = size(draw, 1, min(all_of_it, 2**24))
    return line(draw.choice(["f32", "f64", "u8"]), rows=max(1, all_of_it // width), width=width, apart=apart(draw),
                data=draw.choice(DATA))


def draw_segments(draw, types, most):
    n = size(draw, 1000, most)
    return line(draw.choice(types), n=n, mean=size(draw, 2, min(n, 2**17)), lengths=draw.choice(["even", "skewed"]),
                apart=apart(draw), data=draw.choice(DATA))


def draw_segmented(draw):
    return draw_segments(draw, ["f32", "i64"], 2**27)


def draw_sort_segments(draw):
    return draw_segments(draw, ["u32", "f64"], 2**24)


def draw_top_k(draw):
    n = size(draw, 2000, 2**27)
    return line(draw.choice(["f32", "i32", "f64"]), n=n, k=size(draw, 1, 1000), apart=apart(draw),
                data=draw.choice(DATA))


def draw_matmul(draw):
    """Of up to 2^36 multiplications, and arrays of up to 2^26 floats."""
    while True:
        rows, cols, inner = (size(draw, 1, 2**17) for _ in range(3))
        if 2**16 <= rows * cols * inner <= 2**36 and max(rows * cols, rows * inner, inner * cols) <= 2**26:
            return line("f32", rows=rows, cols=cols, inner=inner, apart=draw.choice([0, 0, 0, 1]),
                        pad=draw.choice([0, 0, 0, draw.randrange(1, 32)]), data="uniform")


def draw_batches(draw):
    """Products of up to 2^35 multiplications in all, and arrays of up to 2^26 floats."""
    while True:
        count = size(draw, 2, 2**17)
        rows, cols, inner = (size(draw, 1, 2**9) for _ in range(3))
        if draw.random() < 0.5:
            rows = cols = inner
        work, largest = count * rows * cols * inner, count * max(rows * cols, rows * inner, inner * cols)
        if 2**16 <= work <= 2**35 and largest <= 2**26:
            return line("f32", count=count, rows=rows, cols=cols, inner=inner, apart=draw.choice([0, 0, 0, 1]),
                        pad=draw.choice([0, 0, 0, draw.randrange(1, 32)]), data="uniform")


PATTERNS = {name.removeprefix("draw_"): draw for name, draw in list(globals().items()) if name.startswith("draw_")}
del PATTERNS["segments"]


def program(folder, name):
    return folder / f'shapes-{"matmul" if name == "batches" else name}'


# ---- What is printed -----------------------------------------------------------------------------


def report(name, rows):
    """The worst ten of (ratio, us, text), and the geometric mean, which it returns with the least."""
    mean = math.exp(sum(math.log(ratio) for ratio, _, _ in rows) / len(rows))
    print(f"\n{name}: {len(rows)} shapes; geometric mean {mean:.3f}, least {min(rows)[0]:.3f} of the peer's speed")
    print("   ratio         us  shape")
    for ratio, us, text in sorted(rows)[:10]:
        print(f"{ratio:8.3f} {us:10.2f}  {text}")
    sys.stdout.flush()


def run(name, lines, programs, folder, quick):
    """The rows of a pattern, or None if a result was wrong."""
    file = folder / f"shapes-{name}.csv"
    print(f"{name}: {len(lines)} shapes ...", file=sys.stderr, flush=True)
    done = subprocess.run([program(programs, name), *(["--quick"] if quick else []), "--csv", file],
                          input="\n".join(lines), text=True, stdout=subprocess.DEVNULL)
    with open(file) as text:
        table = list(csv.DictReader(row for row in text if not row.startswith("#")))
    rows = [(float(row["vs_peer"]), float(row["median_us"]), f'{name} {row["type"]} {row["data"]}')
            for row in table if row["kernel"] == "coarsen" and row["vs_peer"]]
    if done.returncode or len(rows) != len(lines):
        print(f"{name}: {len(rows)} of {len(lines)} shapes were right and timed; exit status {done.returncode}",
              file=sys.stderr)
    return rows, done.returncode or len(rows) != len(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="of: " + ", ".join(PATTERNS) + "; default all")
    parser.add_argument("--seed", default="1", help="of what is drawn (%(default)s)")
    parser.add_argument("--count", type=int, default=100, help="shapes per pattern (%(default)s)")
    parser.add_argument("--csv", type=Path, help="a folder for a CSV file per pattern")
    parser.add_argument("--thorough", action="store_true", help="three times as many samples")
    parser.add_argument("--print", action="store_true", help="print the shapes, and time nothing")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/meson/bench/shapes", help="folder (%(default)s)")
    options = parser.parse_args()
    options.programs = options.programs.resolve()
    if unknown := [name for name in options.patterns if name not in PATTERNS]:
        parser.error(f"no pattern {unknown[0]}: it is one of " + ", ".join(PATTERNS))
    if options.count < 1:
        parser.error("--count must be at least 1")

    names = options.patterns or sorted(PATTERNS)
    shapes = {}
    for name in names:  # each pattern's shapes depend on the seed and its name alone
        draw = random.Random(f"{options.seed} {name}")
        shapes[name] = [PATTERNS[name](draw) for _ in range(options.count)]
    if options.print:
        for name in names:
            for text in shapes[name]:
                print(name, text)
        return 0
    if missing := [name for name in names if not program(options.programs, name).is_file()]:
        sys.exit(f"shapes.py: no program {program(options.programs, missing[0])}: build it with "
                 "ninja -C build/meson shapes-programs, or name its folder with --programs")

    every, failed = [], False
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.csv or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            rows, wrong = run(name, shapes[name], options.programs, folder, not options.thorough)
            failed |= wrong
            if rows:
                report(name, rows)
                every += rows
    if len(names) > 1 and every:
        report("all", every)
    return failed


sys.exit(main())
