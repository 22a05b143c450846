# SPDX-License-Identifier: MIT
"""The figures of the documentation are those of bench/results, as bench/tables.py says; and what it would miss."""
import math
import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench")]
import tables  # noqa: E402

RESULTS = tables.results()


def test_pages_are_as_their_files():
    assert "\n".join(tables.problems()) == "", "after a change of a file or a page, run bench/tables.py"


# ---- What is wrong is seen --------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path):
    """Of the pages and their files."""
    shutil.copytree(RESULTS, tmp_path / "bench" / "results")
    for page in tables.pages().values():
        there = tmp_path / page.relative_to(ROOT)
        there.parent.mkdir(exist_ok=True)
        shutil.copy(page, there)
    return tmp_path


def change(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f"{path.name}: not once: {old}"
    path.write_text(text.replace(old, new))


def row_of(file, at):
    """A row of a table: as it is in the page, and as it is in the file."""
    result = tables.Result(RESULTS / file)
    return tables.rendered(result)[2:][at], ",".join(result.rows[at])


def test_cell_of_a_page(copy):
    page, _ = row_of("reduce-float.csv", -2)
    change(copy / "docs" / "reduce.md", page, page.replace(" 2^28 | ", " 2^28 | 1", 1))
    assert [line.split("\n")[0].split(" ", 1)[1] for line in tables.problems(copy)] == \
        ["is not as in reduce-float.csv:"]


def test_cell_of_a_file(copy):
    _, row = row_of("matmul-double.csv", 0)
    change(copy / "bench" / "results" / "matmul-double.csv", row, "1" + row)
    assert "is not as in matmul-double.csv" in "\n".join(tables.problems(copy))
    tables.write(copy)
    assert not list(tables.problems(copy)), "the page was to be written as the file is"


def test_row_too_much(copy):
    page, _ = row_of("scan-types.csv", -1)
    change(copy / "docs" / "scan.md", page, f"{page}\n{page}")
    assert "is not as in scan-types.csv" in "\n".join(tables.problems(copy))


def test_ratio(copy):
    result = tables.Result(copy / "bench" / "results" / "sort-keys.csv")
    column, _, _ = result.formulas()[0]
    result.rows[0][column] = str(float(result.rows[0][column]) + 0.03)
    result.write()
    tables.write(copy)
    assert [bool(re.search(r"sort-keys.csv: .* is not .* / ", line)) for line in tables.problems(copy)] == [True]


def test_table_without_a_file(copy):
    change(copy / "docs" / "map.md", "<!-- table: map-float.csv -->\n", "")
    found = "\n".join(tables.problems(copy))
    assert "docs/map.md: 1225; 1464;" in found and "map-float.csv: no page has it" in found


def test_block_without_a_file(copy):
    change(copy / "README.md", "<!-- output: readme-tune.txt -->\n", "")
    assert "figures in a block without" in "\n".join(tables.problems(copy))


@pytest.mark.parametrize("sentence, figures", [
    ("It takes 12.3 us.", "12.3 us"), ("That is 1.2 to 1.3 times as fast.", "1.2; 1.3 times"),
    ("Of 2^20 keys it takes 7.0, 8 and\n9 ms.", "7.0; 8; 9 ms"), ("It saves 5 % of the time with CUDA 13.0.", "5%"),
    ("They run at 0.84, in place of 1.", "0.84; 1"), ("It moves 53 TFLOP/s and 4 G keys/s.", "53 TFLOP/s; 4 G keys/s")])
def test_sentence_without_a_source(copy, sentence, figures):
    page = copy / "docs" / "fuse.md"
    page.write_text(page.read_text() + "\n" + sentence + "\n")
    assert list(tables.problems(copy)) == [
        f"docs/fuse.md: {figures}, not in fuse-text.csv with: {' '.join(sentence.split()[:8])} ..."]
    tables.write(copy)  # which does not know the source either
    assert [line.split(": ")[2] for line in tables.problems(copy)] == ["no source"]


def test_what_is_no_figure():
    for text in ("2^20 keys of 4 bytes in 3 launches", "CUDA 13.0 and CUB 3.5.0, driver 580.159.04", "8 x 16 elements",
                 "it takes 16 bytes at a time", "compute capability 9.0"):
        assert tables.figures(text) == []


def test_sentence_that_changed(copy):
    """Its words are renewed, and what is known of it is kept; another figure is another matter."""
    file = copy / "bench" / "results" / "fuse-text.csv"
    row = next(row for row in tables.Result(file).rows if row[1] == "12.1 us; 7.7")
    change(copy / "docs" / "fuse.md", "For smaller arrays, which the cache holds", "Of small arrays, which the cache holds")
    tables.write(copy)
    assert not list(tables.problems(copy))
    assert [other[1:] for other in tables.Result(file).rows if other[0].startswith("Of small")] == [row[1:]]
    change(copy / "docs" / "fuse.md", "takes 12.1 us", "takes 12.2 us")
    assert len(list(tables.problems(copy))) == 2
    tables.write(copy)
    assert "no source" in "\n".join(tables.problems(copy))


def test_figure_that_its_file_lacks(copy):
    """Of the README's ranges, which are those of the pages' tables."""
    row = next(row for row in tables.Result(RESULTS / "readme-text.csv").rows if row[2] == "fuse-float.csv")
    high = re.split("; | ", row[1])[1]
    other = str(float(high) + 1)
    change(copy / "README.md", f" to {high} times the speed of the kernels apart",
           f" to {other} times the speed of the kernels apart")
    change(copy / "bench" / "results" / "readme-text.csv", row[1], row[1].replace(high, other))
    assert "\n".join(tables.problems(copy)).count(f"fuse-float.csv has no {other}") == 1


@pytest.mark.parametrize("key", ["device", "date"])
def test_file_without(copy, key):
    file = copy / "bench" / "results" / "reduce-int.csv"
    change(file, f"# {key}: {tables.Result(file).note(key)}\n", "")
    assert "reduce-int.csv: no device, or no date" in "\n".join(tables.problems(copy))


# ---- What a benchmark wrote -------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["histogram-bins-in-use.csv", "histogram-copies.csv"])
def test_tables_are_as_their_logs(file):
    """Of these the log is there, too."""
    result = tables.Result(RESULTS / file)
    assert tables.taken(result, tables.Result(RESULTS / "contention.csv"))[::2] == (result.rows, 0)


def test_taking(copy):
    """Of a log with two sizes: their rows and the date are new, and the others stay."""
    log = copy / "reduce.csv"
    head = (RESULTS / "contention.csv").read_text().splitlines()[4]
    lines = ["# device: NVIDIA T4", "# driver 1.2", "# 2030-01-02", head]
    for n in (1 << 10, 1 << 30):
        for kernel in ("simple", "reduce.h", "CUB"):
            lines.append(f"reduce,{kernel},float,,{n},,1234.56,1,0,9,4321.2,,,98.7,1.2345,,")
        lines.append(f'reduce,"other, one",float,,{n},,9,9,0,9,9,,,9,9,,')
    log.write_text("\n".join(lines) + "\n")
    tables.take(log, copy)
    before, after = (tables.Result(tables.results(root) / "reduce-float.csv") for root in (ROOT, copy))
    assert [len(row) for row in after.rows] == [len(row) for row in before.rows]
    assert after.rows[1:-1] == before.rows[1:-1]
    assert after.rows[-1][1] == "1235" and after.rows[-1][7:] == ["1235", "1235", "1.23", "4321", "99%"]
    assert after.rows[-1][2:7] == before.rows[-1][2:7]
    assert after.note("device") == "NVIDIA T4; driver 1.2"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d to 2030-01-02", after.note("date"))


def test_benchmarks_have_what_is_taken():
    """The names of kernels and data, as the programs print them; they are made of parts there."""
    source = "\n".join(path.read_text() for path in (ROOT / "bench").glob("*.[ch]*"))
    lacking = set()
    for path in RESULTS.glob("*.csv"):
        result = tables.Result(path)
        if not result.note("take"):
            continue
        columns = list(tables.plan(result))
        assert len(columns) == len(result.header), path.name
        for what, names in columns:
            words = names.values() if isinstance(what, str) else [v for k, v in what.items() if k != "n"]
            for word in words:
                word = re.sub(r"^\d+ each$|^\w+( \w+)? in \d+ bins$", "", word)  # these are
                if f'"{word}"' not in source and word:
                    lacking.add(word)
    assert not lacking


# ---- Figures that are computed from others ---------------------------------------------------------------


def test_shapes():
    """The table of docs/shapes.md is what bench/shapes.py printed."""
    printed = re.findall(r"^(\w+): (\d+) shapes; geometric mean ([\d.]+), least ([\d.]+) .*\n.*\n((?: +[\d.]+ .*\n?)+)",
                         (RESULTS / "shapes-h200-seed-2026.txt").read_text(), re.M)
    rows = tables.Result(RESULTS / "shapes.csv").rows
    assert len(printed) == len(rows)
    known = 0
    for (name, count, mean, least, worst), row in zip(printed, rows):
        ratios = [float(line.split()[0]) for line in worst.splitlines()]
        below = sum(ratio < 0.9 for ratio in ratios)
        if name == "all":
            below = known
        more = " or more" if below == len(ratios) or name == "all" else ""
        known += below
        assert [f"{float(mean):.2f}", f"{float(least):.2f}", f"{below}{more} of {count}"] == row[2:5], name
        assert name == "all" or worst.splitlines()[0].split(None, 3)[3] == row[5]


@pytest.mark.parametrize("file", ["tune-problems.csv", "tune-problems-later.csv"])
def test_means_of_the_choices(file):
    """Of docs/tune.md: geometric means and the worst of the static choices and of the defaults."""
    rows = tables.Result(RESULTS / file).rows
    text = re.sub(r"\s+", " ", (ROOT / "docs" / "tune.md").read_text())
    for column, words in ((4, r"static choice takes {} times the best's time(?: \(geometric mean of the {count}\))?, and "
                              r"{} at worst"), (6, "defaults take {}, and {} at worst")):
        ratios = [float(row[column]) for row in rows]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        assert re.search(words.replace("{count}", str(len(rows))).format(f"{mean:.3f}", f"{max(ratios):.3f}"), text), (
            f"{mean:.4f}, {max(ratios)}")
