#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what nccl-bench measured, as SVG files that follow the reader's colour scheme.

  nccl_plot.py scaling FILE.csv ...   nccl-scaling.svg, from what it wrote with --csv: how many times as fast as one GPU
                                      all are, where each has n elements, and where they have n in all
  nccl_plot.py timeline FILE.json     nccl-timeline.svg, from what it wrote with --timeline: what each rank does, and
                                      what it waits for
"""
import argparse
import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "pictures"))
sys.path.insert(0, str(ROOT / "bench"))
from svg import SMALL, Picture  # noqa: E402
from tables import Result  # noqa: E402

LEFT, RIGHT = 8, 372


def rows_of(paths):
    """The rows of logs, as dictionaries, and on what they were measured."""
    rows, device = [], ""
    for path in paths:
        log = Result(path)
        device = log.note("device")
        rows += [dict(zip(log.header, row)) for row in log.rows]
    return rows, device


def size(n):
    """How it is written: as a power of two, or of the side of a cube or square."""
    if n & (n - 1) == 0 and round(n ** 0.5) ** 2 != n:
        return f"2^{n.bit_length() - 1}"
    for power in 3, 2:
        side = round(n ** (1 / power))
        if side ** power == n and n & (n - 1):
            return f"{side}^{power}"
    return f"2^{n.bit_length() - 1}"


def scaling(paths):
    rows, device = rows_of(paths)
    patterns = list(dict.fromkeys(row["pattern"] for row in rows))
    gpus = max(int(row["data"].split()[0]) for row in rows if row["kernel"] == "n in all")
    said = []
    picture = Picture("", "")
    picture.label(LEFT, 12, f"{device.split(',')[0]}, times as fast as one GPU", bold=True)
    picture.line(LEFT, 30, LEFT + 22, 30, "strong")
    picture.label(LEFT + 26, 30, "n elements in all", size=SMALL)
    picture.line(LEFT + 150, 30, LEFT + 172, 30, "strong dashed")
    picture.label(LEFT + 176, 30, "n on each", size=SMALL)
    width, height, top = 168, 74, 66
    for k, pattern in enumerate(patterns):
        x0, y0 = LEFT + 14 + k % 2 * (width + 20), top + k // 2 * (height + 52)
        mine = [row for row in rows if row["pattern"] == pattern]
        exponents = [math.log2(int(row["n"])) for row in mine]
        first, last = min(exponents), max(exponents)

        def place(n, times):
            return x0 + (math.log2(n) - first) / max(last - first, 1) * (width - 14), y0 + height * (1 - times / gpus)
        picture.heading(x0, y0 - 12, pattern)
        for times in range(gpus + 1):
            y = place(2 ** first, times)[1]
            picture.line(x0, y, x0 + width - 14, y)
            if gpus <= 2 or times % (gpus // 2) == 0:
                picture.label(x0 - 4, y, str(times), "end", "soft", SMALL)
        for kernel, kind in ("n on each", "strong dashed"), ("n in all", "strong"):
            # Of n on each, one GPU's speed times how many there are: what all do together.
            points = [(int(row["n"]), float(row["vs_peer"]) * (gpus if kernel == "n on each" else 1))
                      for row in mine if row["kernel"] == kernel]
            for a, b in zip(points, points[1:]):
                picture.line(*place(*a), *place(*b), kind)
            said.append(f"{pattern}, {kernel}: " + ", ".join(f"{size(n)} {times:.2f}" for n, times in points) + ".")
        picture.label(x0, y0 + height + 12, size(round(2 ** first)), "start", "soft", SMALL)
        picture.label(x0 + width - 14, y0 + height + 12, size(round(2 ** last)), "end", "soft", SMALL)
    picture.title = f"Patterns on {device}, by n"
    picture.desc = "How many times as fast as one GPU. " + " ".join(said)
    return picture


def spans(events, least):
    """Events that are so near each other that they are one in the picture."""
    joined = []
    for begin, end in sorted((event["ts"], event["ts"] + event["dur"]) for event in events):
        if joined and begin - joined[-1][1] < least:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def timeline(path):
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    whole = [event for event in events if event["tid"] == "pattern"]
    picture = Picture("What each rank does, and waits for", "")
    x0, said, y = LEFT + 52, [], 14
    picture.box(LEFT, y - 5, 10, 10, "a")
    picture.label(LEFT + 14, y, "kernels and copies", size=SMALL)
    picture.box(LEFT + 150, y - 5, 10, 10, "b")
    picture.label(LEFT + 164, y, "messages of NCCL", size=SMALL)
    y += 26
    for name in dict.fromkeys(event["name"] for event in whole):
        ranks = [event for event in whole if event["name"] == name]
        length, n = ranks[0]["dur"], ranks[0]["args"]["n"]
        scale = (RIGHT - x0) / length
        time = f"{length:.0f} us" if length < 10000 else f"{length / 1000:.1f} ms"
        picture.heading(LEFT, y, f"{name}, {size(n)} on each: {time}")
        y += 14
        for rank in ranks:
            picture.label(LEFT, y + 9, f"rank {rank['pid']}", kind="soft", size=SMALL)
            for lane, (what, fill) in enumerate((("computing", "a"), ("message", "b"))):
                mine = [event for event in events if event.get("cat") == what and event["pid"] == rank["pid"]
                        and event["args"]["pattern"] == name]
                picture.box(x0, y + 10 * lane, RIGHT - x0, 8, "idle")
                drawn = spans(mine, 0.25 / scale)
                for begin, end in drawn:
                    picture.box(x0 + (begin - rank["ts"]) * scale, y + 10 * lane, max((end - begin) * scale, 0.4), 8,
                                fill)
                said.append(f"{name}, rank {rank['pid']}, {what}: {sum(e - b for b, e in spans(mine, 0)):.0f} us.")
            y += 24
        y += 12
    picture.desc = "Of one launch of each pattern on all ranks, the time of kernels and that of messages. " + " ".join(said)
    return picture


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["scaling", "timeline"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", default=ROOT / "docs" / "plots", type=Path, metavar="DIR")
    options = parser.parse_args()
    picture = scaling(options.files) if options.what == "scaling" else timeline(options.files[0])
    (options.out / f"nccl-{options.what}.svg").write_text(picture.svg())


if __name__ == "__main__":
    main()
