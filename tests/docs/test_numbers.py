# SPDX-License-Identifier: MIT
"""The figures of the documentation are those of bench/results, as bench/tables.py says; and what it would miss."""
import functools
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
    assert "\n".join(known_problems()) == "", "after a change of a file or a page, run bench/tables.py"


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


@functools.lru_cache(None)
def known_problems():
    return list(tables.problems())


def problems(copy):
    """Those that the pages and files themselves do not have."""
    return [line for line in tables.problems(copy) if line not in known_problems()]


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
    assert [line.split("\n")[0].split(" ", 1)[1] for line in problems(copy)] == \
        ["is not as in reduce-float.csv:"]


def test_cell_of_a_file(copy):
    _, row = row_of("matmul-double.csv", 0)
    change(copy / "bench" / "results" / "matmul-double.csv", row, "1" + row)
    assert "is not as in matmul-double.csv" in "\n".join(problems(copy))
    tables.write(copy)
    assert not problems(copy), "the page was to be written as the file is"


def test_row_too_much(copy):
    page, _ = row_of("scan-types.csv", -1)
    change(copy / "docs" / "scan.md", page, f"{page}\n{page}")
    assert "is not as in scan-types.csv" in "\n".join(problems(copy))


def test_ratio(copy):
    result = tables.Result(copy / "bench" / "results" / "sort-keys.csv")
    column, _, _ = result.formulas()[0]
    result.rows[3][column] = str(float(result.rows[3][column]) + 0.1)  # one that no page quotes
    result.write()
    tables.write(copy)
    assert [bool(re.search(r"sort-keys.csv: .* is not .* / ", line)) for line in problems(copy)] == [True]


def test_table_without_a_file(copy):
    change(copy / "docs" / "map.md", "<!-- table: map-float.csv -->\n", "")
    found = "\n".join(problems(copy))
    assert "docs/map.md: 1225; 1464;" in found and "map-float.csv: no page has it" in found


def test_block_without_a_file(copy):
    change(copy / "README.md", "<!-- output: readme-tune.txt -->\n", "")
    assert "figures in a block without" in "\n".join(problems(copy))


@pytest.mark.parametrize("sentence, figures", [
    ("It takes 12.3 us.", "12.3 us"), ("That is 1.2 to 1.3 times as fast.", "1.2; 1.3 times"),
    ("Of 2^20 keys it takes 7.0, 8 and\n9 ms.", "7.0; 8; 9 ms"), ("It saves 5 % of the time with CUDA 13.0.", "5%"),
    ("They run at 0.84, in place of 1.", "0.84; 1"), ("It moves 53 TFLOP/s and 4 G keys/s.", "53 TFLOP/s; 4 G keys/s")])
def test_sentence_without_a_source(copy, sentence, figures):
    page = copy / "docs" / "fuse.md"
    page.write_text(page.read_text() + "\n" + sentence + "\n")
    assert problems(copy) == [
        f"docs/fuse.md: {figures}, not in fuse-text.csv with: {' '.join(sentence.split()[:8])} ..."]
    tables.write(copy)  # which does not know the source either
    assert [line.split(": ")[2] for line in problems(copy)] == ["no source"]


def test_what_is_no_figure():
    for text in ("2^20 keys of 4 bytes in 3 launches", "CUDA 13.0 and CUB 3.5.0, driver 580.159.04", "8 x 16 elements",
                 "it takes 16 bytes at a time", "compute capability 9.0"):
        assert tables.figures(text) == []


def test_sentence_that_changed(copy):
    """Its words are renewed, and what is known of it is kept; another figure is another matter."""
    file = copy / "bench" / "results" / "fuse-text.csv"
    row = next(row for row in tables.Result(file).rows if row[1] == "12.1 us; 7.7")
    change(copy / "docs" / "fuse.md", "For smaller arrays, which the", "Of small arrays, which the")
    tables.write(copy)
    assert not problems(copy)
    assert [other[1:] for other in tables.Result(file).rows if other[0].startswith("Of small")] == [row[1:]]
    change(copy / "docs" / "fuse.md", "takes 12.1 us", "takes 12.2 us")
    assert len(problems(copy)) == 2
    tables.write(copy)
    assert "no source" in "\n".join(problems(copy))


def test_figure_that_its_file_lacks(copy):
    """Of the README's ranges, which are those of the pages' tables."""
    row = next(row for row in tables.Result(RESULTS / "readme-text.csv").rows if row[2] == "fuse-float.csv")
    high = re.split("; | ", row[1])[1]
    other = str(float(high) + 1)
    change(copy / "README.md", f" to {high} times the speed of the kernels apart",
           f" to {other} times the speed of the kernels apart")
    change(copy / "bench" / "results" / "readme-text.csv", row[1], row[1].replace(high, other))
    assert "\n".join(problems(copy)).count(f"fuse-float.csv has no {other}") == 1


@pytest.mark.parametrize("key", ["device", "date"])
def test_file_without(copy, key):
    file = copy / "bench" / "results" / "reduce-int.csv"
    change(file, f"# {key}: {tables.Result(file).note(key)}\n", "")
    assert "reduce-int.csv: no device, or no date" in "\n".join(problems(copy))


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
                word = re.sub(r"^\d+( each| GPUs)?$|^\w+( \w+)? in \d+ bins$|^rows of \d+$", "", word)  # these are
                if f'"{word}"' not in source and word:
                    lacking.add(word)
    assert not lacking


# ---- Figures that are computed from others ---------------------------------------------------------------


def test_shapes():
    """The table of docs/shapes.md is what bench/shapes.py printed, for each of two seeds."""
    rows = sorted(tables.Result(RESULTS / "shapes.csv").rows, key=lambda row: row[0] == "all")
    printed = [re.findall(r"^(\w+): (\d+) shapes; geometric mean ([\d.]+), least ([\d.]+) .*\n.*\n((?: +[\d.]+ .*\n?)+)",
                          (RESULTS / f"shapes-h200-seed-{seed}.txt").read_text(), re.M) for seed in (2026, 60801)]
    known, more = [0, 0], ["", ""]
    for (name, *_), row, *of_seeds in zip(printed[0], rows, *printed, strict=True):
        least = []
        for seed, (_, count, mean, lowest, worst) in enumerate(of_seeds):
            ratios = [float(line.split()[0]) for line in worst.splitlines()]
            below = sum(ratio < 0.9 for ratio in ratios)
            if name == "all":
                below = known[seed]
            elif below == len(ratios):
                more[seed] = " or more"
            known[seed] += below
            written = f"{below}{more[seed] if name == 'all' or below == len(ratios) else ''} of {count}"
            assert [f"{float(mean):.2f}", f"{float(lowest):.2f}", written] == row[2 + 3 * seed:5 + 3 * seed], name
            least.append((ratios[0], worst.splitlines()[0].split(None, 3)[3]))
        assert name == "all" or min(least)[1] == row[8]


def test_counts_of_a_gpu():
    """The table of docs/counts.md has the GPU's counts that simt is tested against."""
    source = (ROOT / "bench" / "counts_measured.h").read_text()
    measured = dict(re.findall(r"^MEASURED\((\w+), ([\d, ]+),$", source, re.M))
    for name, *counts in tables.Result(RESULTS / "counts-foreign.csv").rows:
        of_gpu = [re.search(r"(\d+)\)?$", count)[1] for count in counts]  # the one in brackets, where there are two
        assert of_gpu == measured[name].split(", "), name


def test_devices():
    """The table of docs/thread.md has what coarsen-tune works with."""
    source = re.sub(r"\\\n", " ", (ROOT / "bench" / "tune" / "device.c").read_text())
    shared = dict(re.findall(r"^#define (\w+) +(.*)$", source, re.M))
    lines = (ROOT / "docs" / "thread.md").read_text().splitlines()
    first = lines.index("<!-- checked: bench/tune/device.c -->") + 1
    names, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[first:first + 10]]
    assert names[1:] == ["T4 (7.5)", "A100 (8.0)", "RTX 3090 (8.6)", "H100, H200 (9.0)", "B200 (10.0)"]
    of = {row[0]: row[1:] for row in rows}
    for i, name in enumerate(("T4", "A100-SXM4-80GB", "RTX 3090", "H200", "B200")):
        text = re.search(r'\{"[^"]*\b' + name + r'", (.*?)\.source', source, re.S)[1]
        for _ in range(4):  # a macro has others
            text = re.sub(r"\b[A-Z]+(_\d+)?\b", lambda match: shared.get(match[0], ""), text)
        has = dict(re.findall(r"\.(\w+) = (\d+)", text))
        for key, words in (("processors", "multiprocessors"), ("threads_per_processor", "threads per multiprocessor"),
                           ("blocks_per_processor", "blocks per multiprocessor"),
                           ("registers_per_processor", "registers per multiprocessor"),
                           ("shared_per_processor", "shared memory per multiprocessor, KiB"),
                           ("shared_per_block", "shared memory per block, KiB")):
            assert of[words][i] == has[key], (name, words)


def cells(file, letter, *begins):
    """The numbers of a column: of all rows, or of those that begin so."""
    result = tables.Result(RESULTS / file)
    column = tables.number_of(letter)
    return [float(re.match(r"[\d.]+", row[column])[0]) for row in result.rows
            if tables.range_of(row[column]) and " ".join(row[:3]).startswith(begins or "")]


def ratios(file, above, below, *begins):
    rows = [row for row in tables.Result(RESULTS / file).rows if " ".join(row[:3]).startswith(begins or "")]
    pairs = [(row[tables.number_of(above)], row[tables.number_of(below)]) for row in rows]
    return [float(a) / float(b) for a, b in pairs if tables.range_of(a) and tables.range_of(b)]


def ends(*lists):
    every = [x for values in lists for x in values]
    return [min(every), max(every)]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def percent(values):
    return [100 * x - 100 for x in values]


def behind(*lists):
    """By how many percent the peer is faster, where it is."""
    return percent(1 / x for values in lists for x in values if x < 1)


def up_to_2_20(letter):
    """Of a rung of the reduction, for floats and ints."""
    sizes = [f"2^{e} " for e in range(10, 21, 2)]
    return cells("reduce-float.csv", letter, *sizes) + cells("reduce-int.csv", letter, *sizes)


def apart(a, b):
    return [abs(x - y) for x, y in zip(up_to_2_20(a), up_to_2_20(b))]


def of_copies(count):
    log = tables.Result(RESULTS / "contention.csv")
    wanted = ["64 KiB apart", "u32", "copies of one bin", str(count)]
    return next(float(row[6]) for row in log.rows if row[1:5] == wanted)


LARGE = "2^24", "2^26", "2^28", "2^30"
OFFSETS = [f"{kind} 2^28" for kind in ("mean 16", "mean 256", "power law, mean 16", "power law, mean 256",
                                       "4 huge among 1000000 tiny")]
WIDTHS = "4 ", "16 ", "64 ", "256 ", "1024 ", "4096 "

# (page, how the sentence begins, what its figures are by the tables; None, or too few: of these nothing is known here)
FOLLOW = [
    ("reduce", "Up to 2^20 elements it takes as long", lambda: [max(apart("F", "G"))]),
    ("reduce", "From 2^22 on it is slower", lambda: ends(
        ratios("reduce-float.csv", "G", "F", *LARGE), ratios("reduce-int.csv", "G", "F", *LARGE))),
    ("reduce", "From 2^16 to 2^20 last_block takes", lambda: ends(apart("G", "H")[3:6], apart("G", "H")[9:])),
    ("reduce", "There last_block takes", lambda: ends(apart("G", "D")[::6])),
    ("reduce", "The additions that are made at the same", lambda: [255 / 8]),
    ("reduce", "At 2^28 the kernel reaches", lambda: [cells("reduce-int.csv", "K", "2^28")[0] / 48]),
    ("histogram", "Where they lie 64 KiB apart", lambda: [of_copies(1) / of_copies(2), of_copies(1) / of_copies(4)]),
    ("histogram", "256 are 27 times", lambda: [of_copies(1) / of_copies(256)]),
    ("matmul", "What is read once", lambda: ends(
        4 * size / time / 1e6 for shape, size in (("1 x 16384", 2**28), ("16384 x 1 ", 2**28), ("8 x 8192", 2**26))
        for time in cells("matmul-shapes.csv", "C", shape))),
    ("matmul", "So in the first table coarsened loses", lambda: [
        *cells("matmul-float.csv", "D", "128"), *cells("matmul-float.csv", "C", "128"),
        *(2 * 128**3 / x / 1000 for letter in "DC" for x in cells("matmul-float.csv", letter, "128"))]),
    ("merge", "CUB is the faster one for 4-byte keys", lambda: [
        max(behind(ratios("merge-keys.csv", "C", "H")))]),
    ("segmented", "CUB is the faster one, by", lambda: ends(behind(ratios("segmented-runs.csv", "D", "G")))),
    ("select", "A compaction is faster than CUB's at all", lambda: percent(
        ends(*(cells("select-sizes.csv", letter) for letter in "EHK")) +
        cells("select-types.csv", "H", "compaction signed char 3"))),
    ("select", "A partition of 2^28 elements", lambda: percent(
        ends(cells("select-types.csv", "H", "partition int", "partition double")))),
    ("select", "For unique of 2^28 CUB is", lambda: ends(behind(ratios("select-types.csv", "E", "F", "unique")))),
    ("sort", "2^28 keys are", lambda: [2**28 / cells("sort-keys.csv", "H", "2^28")[0] / 1000]),
    ("sort", "2^26 random keys are", lambda: [2**26 / cells("sort-merge.csv", "C", "2^26")[0] / 1000]),
    ("sort", "2^26 keys in rows of 64", lambda: [2**26 / cells("sort-segments.csv", "D", "64 ")[0] / 1000]),
    ("stencil", "Where the dotted line meets", lambda: [
        None, 13 * cells("stencil-steps.csv", "C", "float 512 x 512 x 512")[0] / 1000]),
    ("top_k", "Rows of 4096 and k = 16 run", lambda: [244 / x for x in cells("top_k-rows.csv", "C", "65536 x 4096 ")]),
    ("top_k", "Shorter rows have the same steps", lambda: [
        244 / x for x in cells("top_k-rows.csv", "C", "262144 x 1024", "2^20 x 256")]),
    ("tune", "The static choice takes", lambda: [
        mean(cells("tune-problems.csv", "E")), max(cells("tune-problems.csv", "E"))]),
    ("tune", "The headers' defaults take", lambda: [
        mean(cells("tune-problems.csv", "G")), max(cells("tune-problems.csv", "G"))]),
    ("tune", "There the static choice takes", lambda: [
        end(cells("tune-problems-later.csv", letter)) for letter in "EG" for end in (mean, max)]),
    ("tune", "For stencils, the k greatest", lambda: [
        mean(cells("tune-problems-later.csv", letter, "stencil", "top_k", "sort_segments")) for letter in "EG"]),
    ("tune", "For sums of rows, columns and segments", lambda: [
        mean(cells("tune-problems-later.csv", "E", "rows", "columns", "offsets"))]),
    ("readme", "reduction |", lambda: [
        *ends(cells("reduce-float.csv", "J"), cells("reduce-int.csv", "J")),
        cells("reduce-float.csv", "K", "2^28")[0] / 1000]),
    ("readme", "scan |", lambda: [
        None, max(cells("scan-float.csv", "J")), cells("scan-types.csv", "E", "float")[0] / 1000,
        *ends(cells("scan-segments.csv", "H", "mean 4096 2^28", *OFFSETS))]),
    ("readme", "selection |", lambda: [
        *ends(*(cells("select-sizes.csv", letter) for letter in "EHK")),
        *ends(cells("select-types.csv", "H", "unique int")),
        cells("select-types.csv", "G", "compaction int half")[0] / 1000]),
    ("readme", "sort |", lambda: [
        *ends(cells("sort-keys.csv", "I")), 2**28 / cells("sort-keys.csv", "H", "2^28")[0] / 1000,
        *ends(*[cells("sort-types.csv", column, "32 bits, values") for column in "DGJMP"]),
        *ends(cells("sort-merge.csv", "D")), *ends(cells("sort-segments.csv", "E", *WIDTHS)),
        *ends(cells("sort-segments.csv", "G", *WIDTHS))]),
    ("readme", "segments |", lambda: [
        *ends(cells("segmented-rows.csv", "G")),
        max(cells("segmented-rows.csv", "E")) / 1000, *(x / 100 for x in ends(cells("segmented-columns.csv", "E"))),
        *cells("segmented-offsets.csv", "H", "mean 4096 2^28"), *ends(cells("segmented-offsets.csv", "H", *OFFSETS)),
        *ends(cells("segmented-runs.csv", "H"))]),
    ("readme", "merge |", lambda: [
        *ends(cells("merge-keys.csv", "J")), cells("merge-types.csv", "E", "8 bits")[0],
        max(cells("merge-keys.csv", "I")) / 1000]),
    ("readme", "map |", lambda: cells("map-float.csv", "H", "a + b, 2^28")),
    ("readme", "image |", lambda: [*9 * [None], *ends(
        ratios("image-gray.csv", "C", "D", "8192 x 8192 "),
        ratios("image-blur.csv", "C", "D", "8192 x 8192, gray", "8192 x 8192, RGB"))]),
    ("readme", "matrix product |", lambda: [
        *ends(cells("matmul-float.csv", "I")), max(cells("matmul-float.csv", "G")) / 1000,
        *ends(cells("matmul-shapes.csv", "E")), *ends(cells("matmul-double.csv", "F")),
        *ends(cells("matmul-half-choice.csv", "E"))]),
    ("readme", "histogram |", lambda: [
        *ends(cells("histogram-data.csv", "G")),
        *ends(*(cells("histogram-bytes.csv", letter, "2^20", "2^22") for letter in "BCDEF"))]),
    ("readme", "fusion |", lambda: ends(cells("fuse-float.csv", "D"))),
]


@pytest.mark.parametrize("page, begin, values", FOLLOW, ids=lambda x: x if isinstance(x, str) else "")
def test_follows_from_tables(page, begin, values):
    rows = [row for row in tables.Result(RESULTS / f"{page}-text.csv").rows if row[0].startswith(begin)]
    assert len(rows) == 1
    written, wanted = re.findall(r"(?:^|; )([\d.]+)", rows[0][1]), values()
    assert 0 < len(wanted) <= len(written)
    for figure, value in zip(written, wanted):
        least, greatest = tables.range_of(figure)
        margin = 0.006 * (value or 0)  # the tables are rounded, too
        assert value is None or least - margin <= value <= greatest + margin, f"{figure} is {value:.4g}: {rows[0][1]}"
