#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How well matmul.h chooses among its plans, and costs by which it would choose better.

    python3 bench/shapes.py matmul --count 150 --seed 5 --print | sed 's/^matmul //; s/$/ plans=3/' |
        build/meson/bench/shapes/shapes-matmul --quick --csv plans.csv
    python3 bench/matmul_costs.py plans.csv ...

The first command times each random product by every plan that is estimated at no more than three times the best one's
cost. The second one prints by how much the chosen plan is slower than the best, and the worst ten products. Then it fits
the costs in include/coarsen/matmul.h, from which it starts, to the times, and prints them, with the same figures for them.
With several files, the last one is not fitted to, but judged by: give it products of another seed. It needs NumPy and SciPy.
"""
import argparse
import csv
import math
import re
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

REST = "add", "add_element", "launch", "pack_element", "narrow"
HEADER = Path(__file__).resolve().parent.parent / "include/coarsen/matmul.h"


def present():
    """The costs in the header, by name: of each shape, as it counts them for floats stored row after row; and of the rest."""
    text = HEADER.read_text()
    shapes = text[text.index("#else\n        COARSEN_ROW(tiny"):text.index("        COARSEN_ROW(tensor_little")]
    shapes = re.sub(r"#ifdef COARSEN_M_TRANSPOSED.*?#else", "", shapes, flags=re.S)
    costs, names = {}, []
    for name, *numbers in re.findall(r"COARSEN_ROW\((\w+), ([\d.]+), ([\d.]+), ([\d.]+), \w+\)", shapes):
        names.append(name)
        costs |= {f"{name} {what}": float(x) for what, x in zip(("cost", "begin", "lone"), numbers)}
    for name in REST[:-1]:
        costs[name] = float(re.findall(rf"\b{name} = ([\d.e]+)", text)[-1])
    costs["narrow"] = 1  # times what NAME_narrow_cost says
    return costs, names


class Product:
    """One shape, its plans as features of the cost, and their times."""

    def __init__(self, name, rows):
        words = dict(word.split("=") for word in name.split())
        self.name, self.inner = name, int(words["inner"])
        self.by_element = int(words["apart"]) % 4 != 0 or (int(words["cols"]) + int(words["pad"])) % 4 != 0
        self.plans = [dict(word.split("=") for word in row["knobs"].split()) for row in rows]
        self.plans = [{key: float(value) for key, value in plan.items()} for plan in self.plans]
        self.times = np.array([float(row["median_us"]) for row in rows])
        self.given = np.array([plan["cost"] for plan in self.plans])

    def costs(self, by, names, processors):
        """As NAME_plan_of counts them; of narrow.h's, what it said, times a factor."""
        out = []
        for plan in self.plans:
            if plan["shape"] >= len(names) or not plan["rows"]:
                out.append(plan["cost"] * by["narrow"])
                continue
            name, area = names[int(plan["shape"])], plan["rows"] * plan["cols"]
            cost, begin, lone = (by[f"{name} {what}"] for what in ("cost", "begin", "lone"))
            if self.by_element and name != "packed":
                cost, begin = cost * 1.1, begin / 1.1
            words = dict(word.split("=") for word in self.name.split())
            tiles = math.ceil(int(words["rows"]) / plan["rows"]) * math.ceil(int(words["cols"]) / plan["cols"])
            divided = tiles - plan["whole"] if plan["parts"] > 1 else 0
            whole = math.ceil(plan["whole"] / processors)

            def waves(count, depth):
                return (count + lone) * (depth + begin) * area * cost if count else 0

            total = waves(whole, self.inner)
            if divided:
                sums = divided * plan["parts"]
                total += waves((plan["way"] - 1) % 4 + 1, plan["depth"])
                total += by["add"] + sums * area * by["add_element"] / processors
            if plan["packed"]:
                total += by["launch"] + plan["packed"] * self.inner * by["pack_element"] / processors
            out.append(total)
        return np.array(out)


def read(path):
    """The products of a file, and the multiprocessors of its device."""
    text = path.read_text()
    found = re.search(r"(\d+) multiprocessors", text)
    rows = list(csv.DictReader(row for row in text.splitlines() if not row.startswith("#")))
    products = {}
    for row in rows:
        if row["kernel"] == "coarsen" and row["knobs"]:
            products.setdefault(row["data"], []).append(row)
    if not found or not products:
        sys.exit(f"{path}: no plans: give the program of the first command lines with plans=3")
    return [Product(name, rows) for name, rows in products.items()], int(found[1])


def judge(what, products, costs):
    """How much longer the plans of least cost take than the fastest ones."""
    ratios = sorted(((p.times[np.argmin(c)] / p.times.min(), p, np.argmin(c)) for p, c in zip(products, costs)),
                    key=lambda r: -r[0])
    mean = math.exp(np.mean([math.log(ratio) for ratio, _, _ in ratios]))
    print(f"\n{what}: {len(products)} products; the choice takes {mean:.3f} times the best's time (geometric mean)")
    for ratio, p, chosen in ratios[:10]:
        best = p.plans[p.times.argmin()]
        print(f"{ratio:8.3f} {p.times.min():10.2f} us  {p.name}: shape {p.plans[chosen]['shape']:.0f} in "
              f"{p.plans[chosen]['parts']:.0f}, best {best['shape']:.0f} in {best['parts']:.0f} parts")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="CSV")
    files = [read(path) for path in parser.parse_args().files]
    by, names = present()
    fitted, (judged, _) = files[:-1] or files, files[-1]
    for products, processors in files:
        for p in products:
            if not np.allclose(p.costs(by, names, processors), p.given, rtol=1e-4):
                sys.exit(f"{p.name}: other costs than the header's: time the plans again, with this header")
        judge("as it is", products, [p.given for p in products])

    # By the logarithms, so that a short product weighs as much as a long one; slow plans need not be told apart.
    keys = list(by)
    scale = np.median([p.times.min() / p.given.min() for products, _ in fitted for p in products])

    def wrong(x):
        now, unit, launch = dict(zip(keys, np.exp(x[:-2]))), math.exp(x[-2]), math.exp(x[-1])
        out = [1e-2 * (x[:-2] - start[:-2])]  # what no product tells stays
        for products, processors in fitted:
            for p in products:
                near = p.times < 2 * p.times.min()
                out.append(np.log((p.costs(now, names, processors)[near] * unit + launch) / p.times[near]))
        return np.concatenate(out)

    start = np.log([max(by[key], 1e-3) for key in keys] + [scale, 2])
    found = least_squares(wrong, start, loss="soft_l1", f_scale=0.1)
    now = dict(zip(keys, np.exp(found.x[:-2])))
    unit = now["large cost"]  # costs are relative to the large shape's
    for key in keys:
        if key.endswith(" cost") or key in REST:
            now[key] /= unit
    print("\nfitted:")
    for name in names:
        print(f"    COARSEN_ROW({name}, " + ", ".join(f"{now[f'{name} {what}']:.3g}" for what in ("cost", "begin", "lone")) + ", ...),")
    print("    " + ", ".join(f"{name} = {now[name]:.3g}" for name in REST))
    judge("fitted", judged, [p.costs(now, names, files[-1][1]) for p in judged])


if __name__ == "__main__":
    main()
