#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what the benchmarks measured, from the CSV files they wrote with --csv, as PNG files.

A comparison gives PATTERN-TYPE.png: speed against n, with one line per kernel, and below it the speed as a multiple of
the peer's. A sweep gives PATTERN-TYPE-KERNEL-sweep.png: speed against the coarsening factor, with one panel per size,
one line per BLOCK_DIM, and a panel of occupancy. Needs matplotlib."""

import argparse
import collections
import csv
import pathlib
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("plot.py: matplotlib is missing: pip install matplotlib, or apt-get install python3-matplotlib")

DPI = 200  # twice matplotlib's own
GREY = "#767676"

plt.rcParams.update({
    "figure.facecolor": "white", "axes.facecolor": "white", "axes.grid": True, "grid.color": "#e4e4e4",
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY,
    "axes.labelcolor": "#333333", "xtick.color": "#333333", "ytick.color": "#333333", "font.size": 9,
    "axes.titlesize": 9, "legend.frameon": False, "lines.linewidth": 1.6, "lines.markersize": 3.5,
})


def read(path):
    """The rows of one CSV, and the lines of '#' at its top, which say what was measured and where."""
    with open(path, newline="") as file:
        lines = file.read().splitlines()
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    if not rows:
        sys.exit(f"plot.py: {path}: no rows: was it written by a benchmark's --csv, to its end?")
    missing = {"pattern", "kernel", "type", "data", "n", "knobs", "median_us", "GBps"} - set(rows[0])
    if missing:
        sys.exit(f"plot.py: {path}: no column {', '.join(sorted(missing))}: not a benchmark's CSV")
    return rows, notes


def speed(row):
    return float(row["work_rate"] or row["GBps"])


def speed_unit(rows):
    return next((row["work_unit"] for row in rows if row["work_unit"]), "GB/s")


def knobs(row):
    """'BLOCK_DIM=256 COARSE_FACTOR=4' as a dictionary."""
    return {name: int(value) for name, value in (knob.split("=") for knob in row["knobs"].split())}


def factor(row):
    """The coarsening factor, which the histogram calls CFACTOR."""
    given = knobs(row)
    return given.get("COARSE_FACTOR", given.get("CFACTOR"))


def size(n):
    return f"$2^{{{n.bit_length() - 1}}}$" if n & (n - 1) == 0 else f"{n}"


def distinct(values):
    return list(dict.fromkeys(values))


def shades(count):
    """From light to dark along a ladder."""
    return [plt.cm.viridis(0.88 - 0.78 * i / max(1, count - 1)) for i in range(count)]


def save(figure, notes, folder, *name):
    text = "; ".join(notes[:2])
    figure.text(0.01, 0.005, text, fontsize=6, color=GREY, va="bottom")
    path = folder / ("-".join(part.replace(" ", "_") for part in name if part) + ".png")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    print(path)


def comparison(title, rows, notes, folder, names):
    peers = [k for k in distinct(row["kernel"] for row in rows) if k in ("CUB", "cuBLAS", "copy")]
    ladder = [k for k in distinct(row["kernel"] for row in rows) if k not in peers]
    style = {kernel: {"color": color, "marker": "o"} for kernel, color in zip(ladder, shades(len(ladder)))}
    for kernel in ladder:
        if kernel.endswith(".h"):  # the rung to use, drawn over the rung that it picks
            style[kernel] = {"color": "#d1495b", "marker": "o", "linestyle": "--"}
    for kernel in peers:
        style[kernel] = {"color": GREY, "linestyle": ":"} if kernel == "copy" else {"color": "black", "marker": "s"}
        style[kernel]["zorder"] = 1.5  # below the ladder's

    compared = any(row["vs_peer"] for row in rows)
    figure, panels = plt.subplots(1 + compared, 1, figsize=(7.5, 7 if compared else 4.5), sharex=True,
                                  height_ratios=[3, 2][:1 + compared], layout="constrained", squeeze=False)
    top, bottom = panels[0, 0], panels[-1, 0]
    for kernel in ladder + peers:
        mine = sorted((int(row["n"]), speed(row), row["vs_peer"]) for row in rows if row["kernel"] == kernel)
        top.plot([n for n, _, _ in mine], [s for _, s, _ in mine], label=kernel, **style[kernel])
        if compared and kernel != "copy" and all(v for _, _, v in mine):
            bottom.plot([n for n, _, _ in mine], [float(v) for _, _, v in mine], **style[kernel])
    top.set(title=title, ylabel=speed_unit(rows), yscale="log")
    if compared:
        bottom.set(ylabel="speed, CUB = 1" if "CUB" in peers else "speed, peer = 1", ylim=(0, None))
    bottom.set_xlabel("n")
    sizes = sorted({int(row["n"]) for row in rows})
    bottom.set_xscale("log", base=2)
    bottom.set_xticks(sizes, [size(n) for n in sizes])
    top.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.get_layout_engine().set(rect=(0, 0.025, 1, 0.975))
    save(figure, notes, folder, *names)


def sweep(title, rows, copies, notes, folder, names):
    sizes = sorted({int(row["n"]) for row in rows})
    blocks = sorted({knobs(row)["BLOCK_DIM"] for row in rows})
    colors = dict(zip(blocks, shades(len(blocks))))
    columns = min(3, len(sizes) + 1)
    lines = -(-(len(sizes) + 1) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(3.1 * columns + 1.4, 2.7 * lines + 0.4), layout="constrained",
                                squeeze=False)
    panels = list(axes.flat)
    for n, panel in zip(sizes, panels):
        for block in blocks:
            mine = sorted((factor(row), speed(row)) for row in rows
                          if int(row["n"]) == n and knobs(row)["BLOCK_DIM"] == block)
            panel.plot(*zip(*mine), color=colors[block], marker="o", label=f"BLOCK_DIM {block}")
        copy = [float(row["GBps"]) for row in copies if int(row["n"]) == n]
        if copy and speed_unit(rows) == "GB/s":
            panel.axhline(copy[0], color=GREY, linestyle=":", label="copy")
        panel.set(title=f"n = {size(n)}", ylabel=speed_unit(rows), ylim=(0, None))
    occupancy = panels[len(sizes)]
    for block in blocks:
        mine = sorted({(factor(row), float(row["occupancy_percent"])) for row in rows
                       if knobs(row)["BLOCK_DIM"] == block and row["occupancy_percent"]})
        if mine:
            occupancy.plot(*zip(*mine), color=colors[block], marker="o")
    occupancy.set(title="occupancy", ylabel="% of resident threads", ylim=(0, 105))
    for panel in panels[:len(sizes) + 1]:
        factors = sorted({factor(row) for row in rows})
        panel.set_xscale("log", base=2)
        panel.set_xticks(factors, [str(f) for f in factors], minor=False)
        panel.set_xlabel("coarsening factor")
    for panel in panels[len(sizes) + 1:]:
        panel.set_visible(False)
    figure.suptitle(title, fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    figure.get_layout_engine().set(rect=(0, 0.025, 1, 0.975))
    save(figure, notes, folder, *names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+", help="files that a benchmark wrote with --csv")
    parser.add_argument("--out", default=pathlib.Path(__file__).resolve().parent.parent / "docs" / "plots",
                        type=pathlib.Path, metavar="DIR", help="where the plots go (default: docs/plots)")
    args = parser.parse_args()

    for path in args.csv:
        try:
            rows, notes = read(path)
        except OSError as error:
            sys.exit(f"plot.py: {path}: {error.strerror}")
        problems = collections.defaultdict(list)
        for row in rows:
            problems[row["pattern"], row["type"], row["data"]].append(row)
        for (pattern, kind, data), all_rows in problems.items():
            title = ", ".join(part for part in (pattern, kind, data) if part)
            swept = [row for row in all_rows if row["knobs"] and factor(row) and "BLOCK_DIM" in knobs(row)]
            copies = [row for row in all_rows if row["kernel"] == "copy"]
            if not swept:
                comparison(title, all_rows, notes, args.out, (pattern, kind, data))
            for kernel in distinct(row["kernel"] for row in swept):
                sweep(f"{title}: {kernel}", [row for row in swept if row["kernel"] == kernel], copies, notes,
                      args.out, (pattern, kind, data, kernel, "sweep"))


if __name__ == "__main__":
    main()
