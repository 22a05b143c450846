#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The figures of the pages, and the files of bench/results that have them. Its README.md says what these files are.

  bench/tables.py           writes tables and output into the pages as their files have them, and sentences of the pages
                            into PAGE-text.csv
  bench/tables.py --check   changes nothing; prints what differs, and where
  bench/tables.py --take FILE.csv ...   first fills the files with what benchmarks wrote with --csv

In a page the line <!-- table: FILE --> stands before a table that is made from FILE, <!-- output: FILE --> before a
block that a program printed, and <!-- checked: FILE --> before a table of counts that the test in FILE checks. Each
other figure of a page has its source in PAGE-text.csv, by sentence."""

import argparse
import csv
import datetime
import io
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARKER = re.compile(r"<!-- (table|output|checked): (\S+) -->")
TEXT_HEADER = ["sentence", "figures", "source", "date"]
SOURCES = {  # of figures of which there is no file
    "measured": "in a run whose output is not kept",
    "profiled": "by Nsight Compute, likewise",
    "counted": "by simt, the compiler or a test",
    "computed": "from other numbers of the page",
    "predicted": "by the model of coarsen-tune",
    "literature": "as the literature says",
    "set": "by the code or what it needs, as a limit or a version; or by a data sheet",
}


def results(root=ROOT):
    return root / "bench" / "results"


def pages(root=ROOT):
    """The pages, by what the names of their files begin with."""
    return {"readme": root / "README.md", "docs": root / "docs" / "README.md",
            **{path.stem: path for path in sorted((root / "docs").glob("*.md")) if path.stem != "README"}}


# ---- A file ------------------------------------------------------------------------------------------


class Result:
    """A CSV file: lines '# key: value', a header, and rows of text."""

    def __init__(self, path, notes=(), header=()):
        self.path, self.notes, self.header, self.rows = path, list(notes), list(header), []
        if path.exists():
            lines = path.read_text().splitlines()
            self.notes = [line[1:].strip() for line in lines if line.startswith("#")]
            self.header, *self.rows = csv.reader(line for line in lines if not line.startswith("#"))
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"{path.name}: not {len(self.header)} columns: {row}")

    def note(self, key):
        return next((note.partition(":")[2].strip() for note in self.notes if note.startswith(key + ":")), "")

    def columns(self, key):
        return [number_of(letters) for letters in self.note(key).split()]

    def formulas(self):
        """(F, B, E) of '# F = B / E'."""
        found = [re.fullmatch(r"([A-Z]+) = ([A-Z]+) / ([A-Z]+)", note) for note in self.notes]
        return [tuple(map(number_of, match.groups())) for match in found if match]

    def by_benchmark(self):
        """Whether a benchmark wrote it."""
        return self.header[:2] == ["pattern", "kernel"]

    def write(self):
        out = io.StringIO()
        out.writelines(f"# {note}\n" for note in self.notes)
        csv.writer(out, lineterminator="\n").writerows([self.header, *self.rows])
        self.path.write_text(out.getvalue())


def number_of(letters):
    """Of a column, as spreadsheets call them: A is 0."""
    value = 0
    for letter in letters:
        value = 26 * value + ord(letter) - ord("A") + 1
    return value - 1


def range_of(cell):
    """The least and the greatest number that is written so when it is rounded, or None."""
    match = re.match(r"(\d+(?:\.(\d+))?) ?(%?)(?: |$)", cell)
    if not match:
        return None
    half, scale = 0.5 * 10.0 ** -len(match[2] or ""), 0.01 if match[3] else 1
    return (float(match[1]) - half) * scale, (float(match[1]) + half) * scale


def wrong_ratios(result):
    """What doesn't follow from the other columns, as far as these are rounded."""
    for columns in result.formulas():
        for row in result.rows:
            cells = [row[column] for column in columns]
            ratio, above, below = map(range_of, cells)
            if ratio and above and below and not (above[0] <= ratio[1] * below[1] * (1 + 1e-9) and
                                                  ratio[0] * below[0] <= above[1] * (1 + 1e-9)):
                yield f"{result.path.name}: {row[0]}: {cells[0]} is not {cells[1]} / {cells[2]}"


def rendered(result):
    """The lines of the table. '# once: A B': of equal cells below each other in these columns only the first is shown.
    '# best: B D': the greatest of these in each row is bold."""
    once, best = result.columns("once"), result.columns("best")
    lines, above = [], None
    for row in result.rows:
        cells = list(row)
        for i, column in enumerate(once):
            if above and all(row[c] == above[c] for c in once[:i + 1]):
                cells[column] = ""
        numbers = {column: range_of(row[column])[0] for column in best if range_of(row[column])}
        if numbers:
            greatest = max(numbers, key=numbers.get)
            cells[greatest] = f"**{cells[greatest]}**"
        lines.append(cells)
        above = row
    lines = ["|" + "".join(f" {cell} |" if cell else " |" for cell in cells) for cells in [result.header, *lines]]
    return [lines[0], "|" + "---|" * len(result.header), *lines[1:]]


# ---- A page ------------------------------------------------------------------------------------------


def parts(lines):
    """(kind, file, first line, last line + 1) of tables, of marked blocks of code, and of other blocks with figures."""
    kind = file = None
    i = 0
    while i < len(lines):
        end = i + 1
        if lines[i].startswith("|"):
            end = next((k for k in range(i, len(lines)) if not lines[k].startswith("|")), len(lines))
            yield kind, file, i, end
        elif lines[i].startswith("```"):
            end = next(k for k in range(i + 1, len(lines)) if lines[k].startswith("```"))
            if kind or any(map(figures, lines[i + 1:end])):
                yield kind or "unmarked", file, i + 1, end
            end += 1
        marker = MARKER.fullmatch(lines[i])
        if lines[i]:
            kind, file = marker.groups() if marker else (None, None)
        i = end


def expected(kind, file, root=ROOT):
    """The lines that a table or a block has by its file."""
    path = results(root) / file
    return rendered(Result(path)) if kind == "table" else path.read_text().splitlines()


UNIT = (r"(?:us|ms|ns|min|s|GB/s|TB/s|MB/s|[GT]FLOP/s|%|times|MHz|[GMT] ?[a-z]*/s|thousand million|"
        r"million (?:[a-z]+ )?per second)(?![\w/])")
NUMBER = re.compile(r"(?<![\w.^/-])(\d+(?:\.\d+)?)(?![\w^]|\.\d)(?: ?(" + UNIT + r"))?")
LISTED = re.compile(r"(?: to|,| and|, and| or| instead of| in place of| against| and not) ")
BEFORE = re.compile(r"\b(?:takes?|took|in place of|instead of|and not|against) $")  # the unit was said before
AFTER = re.compile(r"[.,;:)]|$| (?:at|and|for|where|with)\b")
VERSION = re.compile(r"(?:CUDA|CUB|NPP|cuBLAS|NVRTC|nvcc|[Cc]lang|g\+\+|CMake|Meson|PyTorch|JAX|CuPy|DWARF|capability|"
                     r"Compute|coarsen|runtime|before|versions?|[>=]=) $")


def figures(text):
    """The measured figures in a text: a number with a unit of measurement, each number of a list that ends in one, each
    number with decimals that is no version, and what 'takes' 12 or is one thing 'in place of' 12. Other whole numbers are
    held to be sizes and counts."""
    found, listed, end = [], False, 0
    for match in reversed(list(NUMBER.finditer(text))):
        before, after = text[:match.start()], text[match.end():]
        listed = bool(match[2] or BEFORE.search(before) and AFTER.match(after) or
                      listed and LISTED.fullmatch(text[match.end():end]))
        if listed or "." in match[1] and not VERSION.search(before):
            found.append(match[1] + (" " if match[2] and match[2] != "%" else "") + (match[2] or ""))
        end = match.start()
    return found[::-1]


def sentences(text):
    """(its first words, its figures) of each sentence that has figures, outside of code and of what has a marker. A row
    of a table is a sentence, and a cell that is a number a figure."""
    lines = text.split("\n")
    skipped = {i for kind, _, first, end in parts(lines) if kind for i in range(first, end)}
    pieces, fenced, goes_on = [], False, False
    for i, line in enumerate(lines):
        fence = line.startswith("```")
        fenced ^= fence
        header = line.startswith("|") and re.match(r"\| ?--", "".join(lines[i + 1:i + 2]))
        if (not line.strip() or i in skipped or fence or fenced or header or line.startswith("    ") or
                MARKER.fullmatch(line) or re.fullmatch(r"[|\- ]+", line)):
            goes_on = False
        elif goes_on and not re.match(r"\||#|\s*(-|\d+\.) ", line):
            pieces[-1] += " " + line.strip()
        else:
            pieces.append(line.strip())
            goes_on = not line.startswith(("|", "#"))
    for piece in pieces:
        row = piece.startswith("|")
        for sentence in [piece] if row else re.split(r"(?<=[.?!])\)?\**\s+(?=[\[\"`(]?\**[A-Z0-9\[`])", piece):
            read = re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", sentence))
            found = [figure for cell in read.split("|") for figure in figures(cell) or re.findall(r"^ (\d+) $", cell)] \
                if row else figures(read)
            if found:
                words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", sentence).replace("`", "").replace("**", "")
                yield " ".join(words.lstrip("|-# ").split()[:8]), "; ".join(found)


# ---- Figures in sentences ----------------------------------------------------------------------------


def numbers_in(path):
    """Those of a file's cells; 47% is 0.47, too."""
    result = Result(path)
    cells = [cell for row in result.rows for cell in (row[1].split("; ") if result.header == TEXT_HEADER else row)]
    found = [match for match in (re.match(r"(\d+(?:\.\d+)?)(%?)(?= |$)", cell) for cell in cells) if match]
    return {float(match[1]) for match in found} | {float(match[1]) / 100 for match in found if match[2]}


def untraced(row, root=ROOT):
    """What is wrong with the source or date of a row of PAGE-text.csv, if anything is. The source is words of SOURCES,
    files, or both. If it is files alone, they have each figure, or one that is rounded to it."""
    words, found, source, date = row
    files = [file for file in source.split() if file not in SOURCES]
    missing = [file for file in files if not (results(root) / file).exists()]
    if not source or missing or not re.fullmatch(r"20\d\d-\d\d-\d\d", date):
        return f"no file {missing[0]}" if missing else "no source" if not source else "no date"
    if len(files) == len(source.split()):
        numbers = set().union(*(numbers_in(results(root) / file) for file in files))
        for figure in found.split("; "):
            least, greatest = range_of(re.match(r"[\d.]+", figure)[0])
            scales = (1, 1000) if " T" in figure else (1,)  # TB/s of GB/s
            if not any(least - 1e-9 <= number / scale <= greatest + 1e-9 for number in numbers for scale in scales):
                return f"{source} has no {figure}"
    return ""


def text_of(page, root=ROOT):
    return Result(results(root) / f"{page}-text.csv", header=TEXT_HEADER)


def renewed(rows, found):
    """The rows for the sentences that are found. Of a sentence with the same figures source and date are kept."""
    kept = [next((row for row in rows if (row[0], row[1]) == pair), None) for pair in found]
    rest = [row for row in rows if row not in kept]
    for (words, figures_), row in zip(found, kept):
        row = row or next((row for row in rest if row[1] == figures_), None)
        if row in rest:
            rest.remove(row)
        yield [words, figures_, *(row[2:] if row else ["", datetime.date.today().isoformat()])]


# ---- What a benchmark wrote --------------------------------------------------------------------------


def rounded(text, field):
    """A value of a benchmark, as the tables have it."""
    value = float(text)
    if field.endswith("_us"):
        return f"{value:.{1 if value < 1000 else 0}f}"
    if field == "percent_copy":
        return f"{value:.0f}%"
    return f"{value:.{2 if field == 'vs_peer' or value < 10 else 1 if value < 100 else 0}f}"


def plan(result):
    """Of each column of a table, by '# take: CONDITIONS; COLUMN; COLUMN; ...': a column of the log that says which row
    this is, and how the log calls what the table calls otherwise; or conditions on the log, and the value's column."""
    conditions, *columns = [part.strip() for part in result.note("take").split(";")]
    pairs = lambda text: dict(pair.split("=") for pair in (text or "").split(" & ") if pair)  # noqa: E731
    for column in columns:
        key = re.fullmatch(r"(pattern|kernel|type|data|n)(?: \((.*)\))?", column)
        value = re.fullmatch(r"(?:\[(.*)\] )?(.*?)(?:\|(\w+))?", column)
        if key:
            yield key[1], pairs(key[2])
        else:
            kernel = {"kernel": value[2]} if value[2] else {}
            yield {**pairs(conditions), **pairs(value[1]), **kernel}, value[3] or "median_us"


def alike(name, value, wanted):
    """Sizes of some data are only near those that were asked for."""
    return value == wanted or name == "n" and wanted.isdigit() and abs(int(value) - int(wanted)) < 0.05 * int(wanted)


def taken(result, log):
    """The rows of a table with what a log has for it; how many values that is, and how many it lacks."""
    lines = [dict(zip(log.header, row)) for row in log.rows]
    rows, count, lacking = [], 0, 0
    for row in result.rows:
        columns = list(zip(plan(result), row))
        here = {what: names.get(cell, cell) for (what, names), cell in columns if isinstance(what, str)}
        if here.get("n", "").startswith("2^"):
            here["n"] = str(2 ** int(here["n"][2:]))
        rows.append([])
        for (what, field), cell in columns:
            if not isinstance(what, str):
                found = [line[field] for line in lines if line[field] and
                         all(alike(name, line[name], value) for name, value in {**what, **here}.items())]
                count += len(found) == 1
                lacking += len(found) != 1 and bool(cell)
                cell = rounded(found[0], field) if len(found) == 1 else cell
            rows[-1].append(cell)
    return rows, count, lacking


def take(path, root=ROOT):
    log = Result(path)
    date = re.search(r"20\d\d-\d\d-\d\d", " ".join(log.notes))
    if not log.by_benchmark() or not date:
        sys.exit(f"tables.py: {path}: not what a benchmark wrote with --csv")
    for file in sorted(results(root).glob("*.csv")):
        result = Result(file)
        if not result.note("take"):
            continue
        result.rows, count, lacking = taken(result, log)
        if count:
            print(f"{file.name}: {count} values of {path.name}; {lacking} others are older")
            dates = f"{result.note('date').split()[0]} to {date[0]}" if lacking else date[0]
            device = "; ".join([log.note("device"), *(note for note in log.notes if note.startswith("driver"))])
            result.notes = [f"device: {device}" if note.startswith("device:") else
                            f"date: {dates}" if note.startswith("date:") else note for note in result.notes]
            result.write()


# ---- All of them -------------------------------------------------------------------------------------


def problems(root=ROOT):
    """What differs between pages and files, or has no file; and whose ratios are wrong."""
    used = set()
    for page, path in pages(root).items():
        name, text = path.relative_to(root), path.read_text()
        lines = text.split("\n")
        for kind, file, first, end in parts(lines):
            if kind == "unmarked":
                yield f"{name}:{first}: figures in a block without <!-- output: FILE --> before it"
            elif kind and not (ROOT / file if kind == "checked" else results(root) / file).exists():
                yield f"{name}:{first}: there is no {file}"
            elif kind in ("table", "output"):
                used.add(file)
                wanted = expected(kind, file, root)
                for i in range(max(len(wanted), end - first)):
                    pair = ["".join(lines[first + i:end][:1]), "".join(wanted[i:i + 1])]
                    if pair[0] != pair[1]:
                        yield f"{name}:{first + i + 1} is not as in {file}:\n  {pair[0]}\n  {pair[1]}"
        known = text_of(page, root)
        here, there = Counter(sentences(text)), Counter((row[0], row[1]) for row in known.rows)
        for words, found in here - there:
            yield f"{name}: {found}, not in {known.path.name} with: {words} ..."
        for words, found in there - here:
            yield f"{known.path.name}: {found}, not in {name} with: {words} ..."
        for row in known.rows:
            if untraced(row, root):
                yield f"{known.path.name}: {row[1]}: {untraced(row, root)}: {row[0]} ..."
    for path in sorted(results(root).glob("*.csv")):
        result = Result(path)
        text = result.header == TEXT_HEADER
        yield from wrong_ratios(result)
        if not result.note("device") or not text and not re.search(r"20\d\d-\d\d-\d\d", " ".join(result.notes)):
            yield f"{path.name}: no device, or no date"
        if not text and path.name not in used and not result.by_benchmark():
            yield f"{path.name}: no page has it"


def write(root=ROOT):
    for page, path in pages(root).items():
        lines = path.read_text().split("\n")
        for kind, file, first, end in reversed(list(parts(lines))):
            if kind in ("table", "output"):
                lines[first:end] = expected(kind, file, root)
        text = "\n".join(lines)
        path.write_text(text)
        known = text_of(page, root)
        known.rows = list(renewed(known.rows, list(sentences(text))))
        if known.rows:
            known.write()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", nargs="+", type=Path, default=[], metavar="FILE.csv")
    options = parser.parse_args()
    for path in options.take:
        take(path)
    if not options.check:
        write()
    found = list(problems())
    print("\n".join(found or ["every page is as bench/results says"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
