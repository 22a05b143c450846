#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How well matmul.h chooses among its plans, and costs by which it would choose better.

    python3 bench/shapes.py matmul --count 150 --seed 5 --print | sed 's/^matmul //; s/$/ plans=3/' |
        build/meson/bench/shapes/shapes-matmul --quick --csv plans.csv
    python3 bench/matmul_costs.py plans.csv ...

The first command times each random product by every plan that is estimated at no more than three times the best one's
cost. The second one prints by how much the chosen plan is slower than the best, and the worst ten products. Then it
fits the costs in include/coarsen/matmul.h, from which it starts (not those of narrow.h, flat.h, batched.h
and whole.h), and prints them, with the same figures for them: first to the times, and then to what the choice loses,
and to how many products are slower than 0.93 of cuBLAS because of it; by its slope, and then by changes at random. With
several files, the last one is not fitted to, but judged by: give it products of another seed. It needs NumPy and SciPy.
Batches (shapes.py batches) may be among the files. Of halves (s/^f32/f16/), in files of their own, the costs of code
for sm_90a are fitted likewise, and of doubles (s/^f32/f64/) those of tiles for tensor cores.

The second fit leaves alone what does not change a choice. So look at the cost of a shape that is seldom chosen (the large
one, among small products) before you take it over. Those that are left alone give all others their unit.
"""
import argparse
import csv
import math
import re
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares, minimize

HEADER = Path(__file__).resolve().parent.parent / "include/coarsen/matmul.h"
REST = "add", "add_element", "then", "element", "tall_element", "apart", "pack_launch", "pack_element"
GOOD = 0.93  # of cuBLAS's speed
WAVES = [int(n) for n in re.search(r"waves\[\] = \{(.*)\}", HEADER.read_text())[1].split(",")]  # of the parts of tiles
PACKING_WAYS = 1 + 2 * len(WAVES) + 3  # from there on, ways are the same again
HALF_WAVES = WAVES[:4]
HALF_PACKING_WAYS = 1 + 2 * len(HALF_WAVES) + 3


def present():
    """The costs in the header, by name: of each shape, as it counts them for floats stored row after row; and the rest.
    And the shapes' names; how many tiles of each a multiprocessor has at a time; and how many of the last ones are of
    tall.h."""
    text = HEADER.read_text()
    shapes = text[text.index("#else\n        COARSEN_ROW(tiny"):text.index("        COARSEN_ROW(tensor_")]
    shapes = re.sub(r"#ifdef COARSEN_M_TRANSPOSED.*?#else", "", shapes, flags=re.S)
    number = r"([\d.e]+)"
    costs, resident = {}, {}
    row = rf"\((\w+), {number}, {number}, {number}, (\d+)"
    tall = re.findall(rf"COARSEN_TALL{row}\)", shapes)
    for name, *numbers in re.findall(rf"COARSEN_(?:ROW|TALL){row}(?:, \w+)?\)", shapes):
        costs |= {f"{name} {what}": float(x) for what, x in zip(("cost", "begin", "lone"), numbers)}
        resident[name] = int(numbers[3])
    for name in REST:
        costs[name] = float(re.findall(rf"\b{name}\)? =\s(?:wide \? {number} : )?{number}", text)[-1][-1])
    return costs, list(resident), np.array(list(resident.values()), float), len(tall)


class Products:
    """Those of a file: all their plans as features of the cost, with their times."""

    def read(self, path):
        """The plans of a file, row after row, and how many multiprocessors made them."""
        text = path.read_text()
        found = re.search(r"(\d+) multiprocessors", text)
        rows = list(csv.DictReader(row for row in text.splitlines() if not row.startswith("#")))
        plans = [row for row in rows if row["kernel"] == "coarsen" and row["knobs"]]
        if not found or not plans:
            sys.exit(f"{path}: no plans: give the program of the first command lines with plans=3")
        processors = int(found[1])
        self.names = list(dict.fromkeys(row["data"] for row in plans))
        peers = {row["data"]: float(row["median_us"]) for row in rows if row["kernel"] == "cuBLAS"}
        self.peer = np.array([peers[name] for name in self.names])
        self.of = np.array([self.names.index(row["data"]) for row in plans])
        self.times = np.array([float(row["median_us"]) for row in plans])
        self.knobs = [row["knobs"] for row in plans]
        self.best = np.full(len(self.names), np.inf)
        np.minimum.at(self.best, self.of, self.times)
        return plans, processors

    def __init__(self, path, names, resident, tall):
        plans, processors = self.read(path)
        columns = {what: np.zeros(len(plans)) for what in (
            "tiles", "shape", "cost", "area", "whole", "inner", "waves", "depth", "sums", "packed", "pack", "element",
            "apart", "given")}
        for i, row in enumerate(plans):
            knob = {key: float(value) for key, value in (word.split("=") for word in row["knobs"].split())}
            size = {key: int(value) for key, value in re.findall(r"\b(rows|cols|inner|apart|pad)=(\d+)", row["data"])}
            now = {"shape": knob["shape"], "cost": knob["cost"], "inner": size["inner"]}
            if "way" not in knob:
                now["given"] = knob["cost"]  # by narrow.h, flat.h, batched.h or whole.h: left as they are
            else:
                tiles = math.ceil(size["rows"] / knob["rows"]) * math.ceil(size["cols"] / knob["cols"])
                lines = size["inner" if knob["shape"] >= len(names) - tall else "cols"]  # of M for tall.h, or else of N
                divided = tiles - knob["whole"] if knob["parts"] > 1 else 0
                aligned, sectors = (size["apart"] % n == 0 and (lines + size["pad"]) % n == 0 for n in (4, 8))
                area = knob["rows"] * knob["cols"]
                now |= {
                    "tiles": True, "area": area, "depth": knob["depth"], "packed": knob["packed"] > 0,
                    "whole": math.ceil(knob["whole"] / processors) if divided == 0 else knob["whole"] // processors,
                    "waves": WAVES[int(knob["way"] % PACKING_WAYS - 1) % len(WAVES)] if divided else 0,
                    "sums": divided * knob["parts"] * area / processors,
                    "pack": knob["packed"] * size["inner"] / processors,
                    "element": not aligned and knob["packed"] == 0,
                    "apart": aligned and not sectors and knob["packed"] == 0 and knob["shape"] < len(names) - tall}
            for what, value in now.items():
                columns[what][i] = value
        self.column = columns
        self.resident, self.tall = resident, tall
        self.shape = columns["shape"].astype(int)
        self.tiles = columns["tiles"] > 0

    def costs(self, by, names):
        """As NAME_plan_of counts them."""
        column, tiles = self.column, self.tiles
        shape = np.where(tiles, self.shape, 0)
        cost, begin, lone = (np.array([by[f"{name} {what}"] for name in names])[shape] for what in ("cost", "begin", "lone"))
        singly = np.where(shape < len(names) - self.tall, by["element"], by["tall_element"])
        slower = np.where(column["element"] > 0, singly, 1)
        cost, begin = cost * slower * np.where(column["apart"] > 0, by["apart"], 1), begin / slower

        def waves(count, depth):
            return (count + lone * np.ceil(count / self.resident[shape])) * (depth + begin) * column["area"] * cost

        total = waves(column["whole"], column["inner"]) + waves(column["waves"], column["depth"])
        total += (column["waves"] > 0) * by["add"] + column["sums"] * by["add_element"]
        total += (column["waves"] > 0) * (column["whole"] > 0) * by["then"]
        total += column["packed"] * by["pack_launch"] + column["pack"] * by["pack_element"]

        return np.where(column["given"] > 0, column["given"], total)

    def chosen(self, costs):
        """Of each product, the plan of least cost."""
        order = np.lexsort((costs, self.of))
        return order[np.unique(self.of[order], return_index=True)[1]]


# ---- Doubles, on tensor cores --------------------------------------------------------------------

DOUBLE_REST = {  # and where in the header they are
    "doubled": r"shape.cost \*= {0}", "add": r"add = wide \? {0}", "add_element": r"add_element = wide \? {0}",
    "then": r"then = wide \? {0}", "double_element": r"double_element = {0}", "tensor_element": r"tensor_element = {0}"}


def present_double():
    """The costs in the header, by name; the names of the shapes for tensor cores; and how many tiles of each a
    multiprocessor has at a time."""
    text = HEADER.read_text()
    number = r"([\d.e]+)"
    costs, resident = {}, {}
    for name, *numbers in re.findall(rf"COARSEN_ROW\(tensor_(\w+), {number}, {number}, {number}, (\d+)", text):
        costs |= {f"{name} {what}": float(x) for what, x in zip(("cost", "begin", "lone"), numbers)}
        resident[name] = int(numbers[3])
    costs |= {name: float(re.search(where.format(number), text)[1]) for name, where in DOUBLE_REST.items()}
    return costs, list(resident), np.array(list(resident.values()), float)


class Doubles(Products):
    """The same of a file of doubles, row after row: of tiles for tensor cores; and of the other tiles, which cost `doubled`
    times as much as of floats."""

    def __init__(self, path, names, resident):
        plans, processors = self.read(path)
        of_floats, float_names, float_resident, _ = present()
        columns = {what: np.zeros(len(plans)) for what in (
            "tensor", "plain", "given", "shape", "cost", "begin", "lone", "resident", "area", "whole", "inner", "waves", "depth",
            "sums", "pack", "element", "singly")}
        for i, row in enumerate(plans):
            knob = {key: float(value) for key, value in (word.split("=") for word in row["knobs"].split())}
            size = {"count": 1} | {key: int(value) for key, value in re.findall(r"\b(\w+)=(\d+)", row["data"])}
            now = {"cost": knob["cost"]}
            if "way" not in knob:
                now["given"] = knob["cost"]  # by narrow.h, flat.h, batched.h or whole.h: left as they are
            else:
                shape, area = int(knob["shape"]), knob["rows"] * knob["cols"]
                tiles = math.ceil(size["rows"] / knob["rows"]) * math.ceil(size["cols"] / knob["cols"]) * size["count"]
                divided = tiles - knob["whole"] if knob["parts"] > 1 else 0
                m_line, n_line = size["inner"] + size["pad"], size["cols"] + size["pad"]
                if size["count"] > 1:  # whose steps count as well
                    m_line, n_line = m_line | size["rows"] * m_line, n_line | size["inner"] * n_line
                m_singly, n_singly = ((size["apart"] | line) % 2 != 0 for line in (m_line, n_line))
                now |= {
                    "area": area, "inner": size["inner"], "depth": knob["depth"],
                    "whole": math.ceil(knob["whole"] / processors) if divided == 0 else knob["whole"] // processors,
                    "waves": WAVES[int(knob["way"] % PACKING_WAYS - 1) % len(WAVES)] if divided else 0,
                    "sums": divided * knob["parts"] * area / processors}
                if shape >= len(float_names):
                    at = shape - len(float_names)
                    now |= {"tensor": True, "shape": at, "resident": resident[at], "singly": m_singly or n_singly,
                            "inner": 16 * math.ceil(size["inner"] / 16)}
                else:
                    name = float_names[shape]
                    now |= {"plain": of_floats[f"{name} cost"], "begin": of_floats[f"{name} begin"],
                            "lone": of_floats[f"{name} lone"], "resident": float_resident[shape],
                            "element": n_singly and knob["packed"] == 0,
                            "pack": (knob["packed"] > 0) * of_floats["pack_launch"] +
                                    of_floats["pack_element"] * size["inner"] * knob["packed"] / processors}
            for what, value in now.items():
                columns[what][i] = value
        self.column = columns

    def costs(self, by, names):
        """As NAME_plan_of counts them."""
        column = self.column
        shape, tensor = column["shape"].astype(int), column["tensor"] > 0
        cost, begin, lone = (np.array([by[f"{name} {what}"] for name in names])[shape] for what in ("cost", "begin", "lone"))
        cost = np.where(tensor, cost, column["plain"] * by["doubled"])
        begin, lone = np.where(tensor, begin, column["begin"]), np.where(tensor, lone, column["lone"])
        slower = np.where(column["element"] > 0, by["double_element"], np.where(column["singly"] > 0, by["tensor_element"], 1))

        def waves(count, depth):
            return ((count + lone * np.ceil(count / np.maximum(column["resident"], 1))) * (depth + begin / slower) *
                    column["area"] * cost * slower)

        total = waves(column["whole"], column["inner"]) + waves(column["waves"], column["depth"])
        total += (column["waves"] > 0) * (by["add"] + (column["whole"] > 0) * by["then"]) + column["sums"] * by["add_element"]
        return np.where(column["given"] > 0, column["given"], total + column["pack"])


# ---- Halves, beside warp groups ------------------------------------------------------------------

# Blocks of each shape that a multiprocessor has, as warpgroup.h says.
GROUP_RESIDENT = {"group_large": 1, "group_wide": 1, "group_medium": 1, "group_alone": 1,
                  "group_square": 2, "group_small": 2, "group_low": 2, "group_little": 3}
HALF_REST = {  # and where in the header they are
    "add": r"add = groups \? {0}", "add_element": r"add_element = groups \? {0}", "then": r"then = groups \? {0}", "join": r"join = {0}",
    "pack_launch": r"launch = groups \? {0}", "pack_element": r"pack_element = groups \? {0}",
    "element": r"\belement = groups \? {0}", "end": r"\? 0 : {0};"}


def present_half():
    """The costs in the header, by name, and the shapes' names, in their order."""
    text = HEADER.read_text()
    number = r"([\d.e]+)"
    rows = text[text.index("// The same beside warp groups"):text.index("#else\n        COARSEN_ROW(tiny")]
    costs, shapes = {}, {}
    for name, *numbers in re.findall(rf"COARSEN_ROW\((\w+), {number}, {number}, {number}, (\d+)", rows):
        costs |= {f"{name} {what}": float(x) for what, x in zip(("cost", "begin", "lone"), numbers)}
        shapes[name] = 0, int(numbers[3])  # multiprocessors that make a tile; tiles of one at a time
    for name, *numbers in re.findall(rf"COARSEN_GROUP\((\w+), {number}, {number}, {number}, {number}, (\d+)", rows):
        costs |= {f"{name} {what}": float(x) for what, x in zip(("cost", "begin", "lone", "start"), numbers)}
        shapes[name] = int(numbers[4]), GROUP_RESIDENT[name]
    costs |= {name: float(re.search(where.format(number), text)[1]) for name, where in HALF_REST.items()}
    return costs, shapes


class Halves(Products):
    """The same of a file of halves, row after row."""

    def __init__(self, path, shapes):
        plans, processors = self.read(path)
        self.shapes = list(shapes)
        first = sum(group == 0 for group, _ in shapes.values())  # as many are without warp groups

        def unit(element):  # bytes, at multiples of which lines begin
            return 2 * ((element | 8) & -(element | 8))

        columns = {what: np.zeros(len(plans)) for what in (
            "shape", "cost", "given", "whole", "inner", "waves", "depth", "resident", "area", "group", "lines", "ragged", "divided",
            "sums", "sliced", "packed", "pack", "unaligned")}
        for i, row in enumerate(plans):
            knob = {key: float(value) for key, value in (word.split("=") for word in row["knobs"].split())}
            rows_, cols, inner, apart, pad = (int(value) for key, value in re.findall(
                r"\b(rows|cols|inner|apart|pad)=(\d+)", row["data"]))
            count = int((re.findall(r"count=(\d+)", row["data"]) or [1])[0])
            units = unit(apart | inner + pad), unit(apart | cols + pad)
            now = {"cost": knob["cost"]}
            if "way" not in knob:  # by narrow.h or whole.h
                now["given"] = knob["cost"]
            else:
                group, resident = shapes[self.shapes[int(knob["shape"]) - first]]
                at_a_time = processors // max(group, 1)
                tiles = math.ceil(rows_ / knob["rows"]) * math.ceil(cols / knob["cols"]) * count
                divided = tiles - knob["whole"] if knob["parts"] > 1 else 0
                area = knob["rows"] * knob["cols"]
                way = knob["way"] % HALF_PACKING_WAYS
                now |= {
                    "shape": knob["shape"] - first, "area": area, "resident": resident, "group": group, "divided": divided > 0,
                    "whole": knob["whole"] // at_a_time if divided else math.ceil(tiles / at_a_time), "inner": inner,
                    "waves": HALF_WAVES[int(way - 1) % len(HALF_WAVES)] if divided else 0, "depth": knob["depth"],
                    "sums": divided * knob["parts"] * area / processors, "sliced": knob["slices"] > 0}
                if knob["slices"]:
                    now |= {"whole": math.ceil(tiles * knob["slices"] / at_a_time),
                            "inner": 64 * math.ceil(math.ceil(inner / 64) / knob["slices"])}
                if knob["packed"]:
                    now |= {"packed": True, "pack": (64 * math.ceil(inner / 64) * rows_ * (units[0] < 16) +
                                                     64 * math.ceil(cols / 64) * inner * (units[1] < 16)) / processors}
                elif group == 0:
                    now |= {"unaligned": min(units) < 16}
                if group:
                    high = knob["rows"] / group
                    now |= {"lines": high + knob["cols"], "ragged": units[1] < 16,
                            "area": min(high, 64 * math.ceil(rows_ / 64)) + min(knob["cols"], 64 * math.ceil(cols / 64))}
            for what, value in now.items():
                columns[what][i] = value
        self.column = columns

    def costs(self, by, names):
        """As NAME_plan_of counts them."""
        column = self.column
        shape = column["shape"].astype(int)
        cost, begin, lone, start = (np.array([by.get(f"{name} {what}", 0) for name in names])[shape]
                                    for what in ("cost", "begin", "lone", "start"))
        cost = np.where(column["unaligned"] > 0, cost * by["element"], cost)
        begin = np.where(column["unaligned"] > 0, begin / by["element"], begin)
        begin = np.where(column["group"] > 0, (begin + column["ragged"] * by["end"]) * column["lines"] /
                         np.maximum(column["area"], 1), begin)

        def waves(count, depth):
            return (count + lone * np.ceil(count / np.maximum(column["resident"], 1))) * (depth + begin) * column["area"] * cost

        total = start + waves(column["whole"], column["inner"]) + waves(column["waves"], column["depth"])
        total += column["divided"] * (by["add"] + (column["whole"] > 0) * by["then"]) + column["sums"] * by["add_element"]
        total += column["sliced"] * by["join"] + column["packed"] * by["pack_launch"] + column["pack"] * by["pack_element"]
        return np.where(column["given"] > 0, column["given"], total)


# ---- What they are worth -------------------------------------------------------------------------


def judge(what, products, costs):
    """How much longer the plans of least cost take than the fastest ones."""
    chosen = products.chosen(costs)
    loss, peer = products.times[chosen] / products.best, products.peer / products.times[chosen]
    print(f"\n{what}: {len(loss)} products; the choice takes {np.exp(np.log(loss).mean()):.3f} times the best's time (geometric "
          f"mean);\nbeside cuBLAS {np.exp(np.log(peer).mean()):.3f}, {(peer < 0.9).sum()} below 0.9, and of the best plans "
          f"{(products.peer / products.best < 0.9).sum()}")
    for i in np.argsort(-loss)[:10]:
        best = np.where(products.of == i)[0]
        best = best[products.times[best].argmin()]
        print(f"{loss[i]:8.3f} {products.best[i]:10.2f} us  {products.names[i]}:\n{'':21}{products.knobs[chosen[i]]}\n{'':15}"
              f"best: {products.knobs[best]}")


def fit(fitted, by, names):
    """Costs that are fitted to the times, and then to what the choice loses."""
    keys = list(by)
    start = np.log([max(by[key], 1e-3) for key in keys])
    scale = math.log(np.median(np.concatenate([p.times / p.column["cost"] for p in fitted])))

    def as_costs(x):
        return dict(zip(keys, np.exp(x)))

    # By the logarithms, so that a short product weighs as much as a long one; slow plans need not be told apart.
    def wrong(x):
        out = [0.3 * (x[:-2] - start)]  # what no product tells stays
        for p in fitted:
            near = p.times < 1.6 * p.best[p.of]
            times = p.costs(as_costs(x[:-2]), names) * math.exp(x[-2]) + math.exp(x[-1])
            out.append(np.log(times / p.times)[near])
        return np.concatenate(out)

    x = least_squares(wrong, np.concatenate([start, [scale, 1]]), loss="soft_l1", f_scale=0.1).x
    middle, unit, launch = x[:-2], math.exp(x[-2]), 0.3 * math.exp(x[-1])

    # A choice that is the likelier the less it costs, so that there is a slope.
    def lost(x, width):
        sums, count = 0, 0
        for p in fitted:
            costs = np.log(p.costs(as_costs(x), names) * unit + launch)
            least = np.full(len(p.names), np.inf)
            np.minimum.at(least, p.of, costs)
            weight = np.exp((least[p.of] - costs) / width)
            bad = np.log(p.times / p.best[p.of])
            bad += np.maximum(0, np.log(GOOD * p.times / p.peer[p.of]))
            bad -= np.maximum(0, np.log(GOOD * p.best / p.peer))[p.of]
            each = np.bincount(p.of, weight * bad) / np.bincount(p.of, weight)
            sums, count = sums + each.sum(), count + len(each)
        return sums / count + 3e-4 * ((x - middle) ** 2).sum()

    x = middle
    for width in (0.06, 0.03):
        x = minimize(lost, x, args=(width,), method="L-BFGS-B", options={"maxiter": 150}).x

    # What the choice itself loses has steps, and no slope: small changes at random are kept where it loses less.
    def loses(x):
        sums, count = 0, 0
        for p in fitted:
            times = p.times[p.chosen(p.costs(as_costs(x), names))]
            bad = np.log(times / p.best)
            bad += np.maximum(0, np.log(GOOD * times / p.peer)) - np.maximum(0, np.log(GOOD * p.best / p.peer))
            sums, count = sums + bad.sum(), count + len(bad)
        return sums / count + 2e-4 * ((x - middle) ** 2).sum()

    random, least = np.random.default_rng(1), loses(x)
    for far in np.linspace(0.1, 0.01, 10000):
        tried = x + random.normal(0, far, len(x)) * (random.random(len(x)) < 2 / len(x))
        if (now := loses(tried)) < least:
            x, least = tried, now
    return as_costs(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="CSV")
    paths = parser.parse_args().files
    halves, doubles = (f",{kind}," in paths[0].read_text() for kind in ("f16", "f64"))
    if doubles:
        by, names, resident = present_double()
        files = [Doubles(path, names, resident) for path in paths]
    elif halves:
        by, shapes = present_half()
        names = list(shapes)
        files = [Halves(path, shapes) for path in paths]
    else:
        by, names, resident, tall = present()
        files = [Products(path, names, resident, tall) for path in paths]
    fitted, judged = files[:-1] or files, files[-1]
    for p in files:
        off = np.abs(p.costs(by, names) / p.column["cost"] - 1)
        if off.max() > 1e-3:
            i = off.argmax()
            sys.exit(f"{p.names[p.of[i]]}: {p.knobs[i]}: another cost than the header's: time the plans again, with this header")
        judge("as it is", p, p.column["cost"])

    now = fit(fitted, by, names)
    print("\nfitted:")
    for i, name in enumerate(names):
        group = f"{name} start" in now
        numbers = ", ".join(f"{now[f'{name} {what}']:.3g}" for what in ("cost", "begin", "lone", "start")[:4 if group else 3])
        row = "GROUP" if group else "ROW" if halves or doubles or i < len(names) - tall else "TALL"
        print(f"    COARSEN_{row}({'tensor_' * doubles}{name}, {numbers}, ...),")
    rest = HALF_REST if halves else DOUBLE_REST if doubles else REST
    print("    " + ", ".join(f"{name} = {now[name]:.3g}" for name in rest))
    judge("fitted", judged, judged.costs(now, names))


if __name__ == "__main__":
    main()
