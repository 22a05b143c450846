#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a roofline of the stencil's ladder from the CSV that bench/stencil wrote with --csv, as a PNG file.

Each rung has its operations per second over its operations per byte. The bytes are those that the kernel asks for, as
the CPU device counts them; docs/stencil.md has the formulas. A rung above the roof of memory is one whose loads the
caches answer. The dotted line is at the bytes that memory must move: each cell once in and once out per pass. Needs
matplotlib."""

import argparse
import pathlib
import re

import plot
from plot import plt

OPERATIONS = {1: 13, 2: 25, 4: 49}  # a product per point, and their sum
LOADS = {  # cells loaded per cell, of order r, on a large grid
    "basic": lambda r: 6 * r + 1,
    "tiled": lambda r: (8 + 2 * r)**3 / 8**3,
    "coarsened": lambda r: (width(r) + 2 * r)**2 / width(r)**2 * (32 + 2 * r) / 32,
    "register_tiled": lambda r: (32 + 2 * r) / 32 + 4 * r / 32,
    "stencil.h": lambda r: (8 * r + 2 * r) / (8 * r) + 2 * r + 2,
    "time_tiled 2 steps": lambda r: time_tiled(r, 2, 512),
    "time_tiled 3 steps": lambda r: time_tiled(r, 3, 640),
    "time_tiled 4 steps": lambda r: time_tiled(r, 4, 640),
}


def width(order):
    return 32 if order < 4 else 16


def time_tiled(order, steps, threads):
    halo = steps * order
    margin = -(-halo // 4) * 4
    return 128 / (128 - 2 * margin) * (threads / 32) / (threads / 32 - 2 * halo) * (34 * halo) / (32 * halo)


def draw(axes, rows, order, peak):
    copy = float(next(row for row in rows if row["kernel"] == "copy")["GBps"])
    span = [0.1, 20]
    axes.loglog(span, [min(peak, copy * x / 1000) for x in span], color=plot.GREY, lw=1)
    axes.axhline(peak, color=plot.GREY, lw=1)
    axes.text(span[0] * 1.1, peak * 0.85, f"{peak:.0f} T/s: all lanes multiply and add", va="top", fontsize=7)
    axes.text(0.13, 0.13 * copy / 1000 * 1.2, f"memory: {copy:.0f} GB/s", rotation=37, fontsize=7)
    operations = OPERATIONS[order]
    axes.axvline(operations / 8, color=plot.GREY, ls=":", lw=1)
    axes.text(operations / 8 * 1.05, 0.21, "8 bytes per cell", fontsize=7, color=plot.GREY)
    for row in rows:
        if row["kernel"] not in LOADS:
            continue
        steps = int(re.search(r"(\d) steps|$", row["kernel"])[1] or 1)
        cells = float(row["work_rate"])  # G cells/s, each step counts
        asked = operations * steps / (4 * (LOADS[row["kernel"]](order) + 1))
        axes.plot(asked, cells * operations / 1000, "o")
        below = row["kernel"] == "coarsened" or steps == 4  # where two are near each other
        axes.annotate(row["kernel"] if steps <= 2 else f"{steps}", (asked, cells * operations / 1000), fontsize=7,
                      textcoords="offset points", ha="right" if steps == 2 else "left",
                      xytext=(4, -9) if below else (-4, 4) if steps == 2 else (2, 4) if steps == 3 else (4, -2))
    axes.set_xlim(span)
    axes.set_ylim(0.2, peak * 1.5)
    axes.set_title(f"{operations // 2 + 1} points, {rows[0]['data'].split(' of ')[0]} floats")
    axes.set_xlabel("operations per byte that the kernel asks for")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", type=pathlib.Path)
    parser.add_argument("--peak", type=float, default=66.9,
                        help="operations per second with float, in T/s; 66.9 is an H200's")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    rows, notes = plot.read(options.csv)
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
    for axes, (data, order) in zip(panels, [("512 x 512 x 512 of order 1", 1), ("640 x 640 x 640 of order 4", 4)]):
        chosen = [row for row in rows if row["data"] == data and row["type"] == "float"]
        if not chosen:
            parser.error(f"{options.csv}: no rows of {data}: was it written by bench/stencil?")
        draw(axes, chosen, order, options.peak)
    panels[0].set_ylabel("T operations per second")
    figure.text(0.01, 0.01, notes[0], fontsize=6, color=plot.GREY)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    to = options.out / "stencil-roofline.png"
    figure.savefig(to, dpi=plot.DPI)
    print(to)


if __name__ == "__main__":
    main()
