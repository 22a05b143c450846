#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what coarsen-tune found, from the CSV files it wrote with --csv, as a PNG file each: speed against the
coarsening factor, the predicted over the measured, a panel for each value of the other knobs; or the best of
each factor, where those are too many. Needs matplotlib."""

import argparse
import collections
import csv
import importlib.util
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location("bench_plot", HERE.parent / "plot.py")
bench = importlib.util.module_from_spec(_spec)  # its style, too, and its word on a lack of matplotlib
_spec.loader.exec_module(bench)
plt = bench.plt

PANELS = 12
CHOSEN, FAILED = "#d1495b", "#b00020"


def read(path):
    """The knobs' names, the rows, and the '#' lines on top by name."""
    notes, lines = {}, []
    with open(path, newline="", encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") and not lines:
                name, _, text = line[1:].partition(":")
                notes[name.strip()] = text.strip()
            else:
                lines.append(line)
    table = csv.DictReader(lines)
    columns = table.fieldnames or []
    missing = {"status", "measured_us", "predicted_us", "chosen"} - set(columns)
    if missing:
        sys.exit(f"plot.py: {path}: no column {', '.join(sorted(missing))}: was it written by coarsen-tune --csv?")
    return columns[:columns.index("status")], list(table), notes


def factor_of(knobs, rows, wanted, path):
    """The knobs to draw against: their product is the factor."""
    if wanted:
        names = wanted.split("*")
        unknown = [name for name in names if name not in knobs]
        if unknown:
            sys.exit(f"plot.py: {path}: no knob {', '.join(unknown)}: there are {', '.join(knobs)}")
        return names
    for names in (["COARSE_FACTOR"], ["CFACTOR"], ["TM", "TN"]):
        if set(names) <= set(knobs):
            return names
    return [max(knobs, key=lambda knob: len({row[knob] for row in rows}))]


def factor(row, names):
    return math.prod(int(row[name]) for name in names)


def unit(notes):
    """The name of the speed, and what a time in us makes of it."""
    if notes.get("flop"):
        return "GFLOP/s", lambda us: float(notes["flop"]) / us / 1e3
    if notes.get("bytes"):
        return "GB/s", lambda us: float(notes["bytes"]) / us / 1e3
    return "runs per us", lambda us: 1 / us


def times(rows, column):
    return [(row, float(row[column])) for row in rows if row["status"] == "ok" and row[column]]


def draw(panel, rows, names, speed, only_best):
    main = "measured_us" if times(rows, "measured_us") else "predicted_us"
    for column, look in (("measured_us", {"color": bench.shades(3)[1], "marker": "o", "label": "measured"}),
                         ("predicted_us", {"color": "black", "linestyle": "--", "marker": ".", "zorder": 3,
                                           "label": "predicted"})):
        points = [(factor(row, names), speed(us)) for row, us in times(rows, column)]
        best = {x: y for x, y in sorted(points)}  # the last of each is the fastest
        if best:
            panel.plot(best.keys(), best.values(), **look)
        if only_best and column == main:
            panel.plot(*zip(*points), linestyle="", marker=".", alpha=0.4, color=look["color"], zorder=1.5,
                       label="each setting")
    for row, us in times([row for row in rows if row["chosen"] == "1"], main):
        panel.plot(factor(row, names), speed(us), linestyle="", marker="*", markersize=13, color=CHOSEN, zorder=5,
                   label="chosen")
    failed = [factor(row, names) for row in rows if row["status"] not in ("ok", "pending")]
    if failed:
        panel.plot(failed, [0] * len(failed), linestyle="", marker="x", markersize=7, color=FAILED, clip_on=False,
                   zorder=4, label="failed")


def figure_of(path, knobs, rows, notes, wanted):
    if not knobs or not any(times(rows, column) for column in ("measured_us", "predicted_us")):
        sys.exit(f"plot.py: {path}: no setting in it has a time, measured or predicted: nothing to draw")
    names = factor_of(knobs, rows, wanted, path)
    others = [knob for knob in knobs if knob not in names and len({row[knob] for row in rows}) > 1]
    groups = collections.defaultdict(list)
    for row in rows:
        groups[tuple(int(row[knob]) for knob in others)].append(row)
    only_best = len(groups) > PANELS
    if only_best:
        groups = {(): rows}

    columns = min(3, len(groups))
    lines = -(-len(groups) // columns)
    width, height = (5.5, 4) if len(groups) == 1 else (3.1 * columns, 2.7 * lines)
    figure, axes = plt.subplots(lines, columns, figsize=(width + 1.7, height + 0.4), sharex=True, sharey=True,
                                layout="constrained", squeeze=False)
    name, speed = unit(notes)
    factors = sorted({factor(row, names) for row in rows})
    legend = {}
    for panel, (values, mine) in zip(axes.flat, sorted(groups.items())):
        draw(panel, mine, names, speed, only_best)
        panel.set_title("the best of each factor" if only_best else
                        ", ".join(f"{knob} {value}" for knob, value in zip(others, values)))
        if min(factors) > 0:
            panel.set_xscale("log", base=2)
        panel.set_xticks(factors, [str(x) for x in factors], minor=False)
        panel.tick_params(labelbottom=True)
        panel.set_xlabel("coarsening factor" if names[0] in ("COARSE_FACTOR", "CFACTOR") else " x ".join(names))
        legend.update({label: handle for handle, label in zip(*panel.get_legend_handles_labels())})
    for panel in axes[:, 0]:
        panel.set_ylabel(name)
    axes[0, 0].set_ylim(0, 1.06 * max(panel.dataLim.y1 for panel in axes.flat))  # room for a star on top
    for panel in axes.flat[len(groups):]:
        panel.set_visible(False)
    failures = bench.distinct(row["status"] for row in rows if row["status"] not in ("ok", "pending"))
    order = [label for label in ("measured", "predicted", "each setting", "chosen", "failed") if label in legend]
    figure.suptitle(notes.get("problem", path.stem), fontsize=10)
    figure.legend([legend[label] for label in order],
                  ["failed:\n" + ",\n".join(failures) if label == "failed" else label for label in order],
                  loc="outside right center")
    figure.get_layout_engine().set(rect=(0, 0.025, 1, 0.975))
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+", type=pathlib.Path, help="files that coarsen-tune wrote with --csv")
    parser.add_argument("--factor", metavar="KNOB", help="the knob to draw against, or several: TM*TN (default: "
                        "COARSE_FACTOR, CFACTOR or TM*TN; without them, the one of the most values)")
    parser.add_argument("--out", default=HERE.parent.parent / "docs" / "plots", type=pathlib.Path, metavar="DIR",
                        help="where the plots go (default: docs/plots)")
    args = parser.parse_args()

    for path in args.csv:
        try:
            knobs, rows, notes = read(path)
        except OSError as error:
            sys.exit(f"plot.py: {path}: {error.strerror}")
        except (UnicodeDecodeError, csv.Error) as error:
            sys.exit(f"plot.py: {path}: {error}: was it written by coarsen-tune --csv?")
        figure = figure_of(path, knobs, rows, notes, args.factor)
        where = f"{notes.get('device', '')} (sm_{notes.get('sm', '')}): {notes.get('result', '')}"
        bench.save(figure, [where, notes.get("search", "")], args.out, path.stem)


if __name__ == "__main__":
    main()
