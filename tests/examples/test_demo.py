# SPDX-License-Identifier: MIT
"""examples/demo: its tables, and that it sees a rung that is wrong."""
import re
from pathlib import Path

import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, build, run

# Of the ladders that are checked here, by the first word of the title.
LADDERS = {
    "Reduction": ["simple", "convergent", "shared", "multiblock", "block_coarsened", "coarsened", "last_block", "single_pass"],
    "Scan": ["kogge_stone", "brent_kung", "coarsened", "three_kernel", "chained", "single_pass"],
    "Sort": ["single_bit", "local", "multi_bit", "coarsened", "onesweep", "merge_sort"],
    "The k greatest": ["sort", "top_k"],
    "Segments": ["rows", "columns", "offsets", "runs", "segmented", "sort_segments"],
    "Stencil": ["basic", "tiled", "coarsened", "register_tiled", "vectorized"],
}


def wanted(ladder, array):
    """The result of each of its rungs, for an array of up to 2^15 elements."""
    if ladder in ("Reduction", "Scan"):
        return array.sum(dtype="f8")
    if ladder == "Segments":
        years = array[:array.size // 12 * 12].reshape(-1, 12)
        return years.max(axis=1).mean(dtype="f8") if years.size else 0
    if ladder == "Stencil":
        side = max(side for side in range(33) if side**3 <= array.size)
        old = array[:side**3].reshape(side, side, side).astype("f8")
        new = old.copy()
        new[1:-1, 1:-1, 1:-1] += 0.125 * sum(np.roll(old, by, axis) - old for by in (-1, 1) for axis in range(3)
                                            )[1:-1, 1:-1, 1:-1]
        return new.sum()
    ordered = np.sort(array)
    return ordered[ordered.size // 2 if ladder == "Sort" else -min(100, ordered.size)] if ordered.size else 0


def rows(text, ladder):
    """(rung, result, right, the rest) of each row of a ladder."""
    # The next title is the next line that begins with a capital letter.
    part = re.split(r"^[A-Z]", text.split(f"\n{ladder}: ")[1], maxsplit=1, flags=re.M)[0]
    return re.findall(rf"^({'|'.join(LADDERS[ladder])}) .*? (\S+) +(yes|NO) +(.*)$", part, re.M)


def demo(device, *arguments):
    """The rows of each ladder, of both tables, when all is well."""
    done = run(f"demo-{device}", *arguments)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 100, done.stdout
    found = {ladder: rows(done.stdout, ladder) for ladder in LADDERS}
    for ladder, rungs in LADDERS.items():
        assert [row[0] for row in found[ladder]] == rungs * 2
        assert all(row[2] == "yes" for row in found[ladder])
    return found


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_shipped_series(device):
    array = np.load(ROOT / "examples/data/sunspots.npy")
    for ladder, found in demo(device, "--n", "1000").items():
        for _, result, _, _ in found[:len(LADDERS[ladder])]:
            assert float(result) == pytest.approx(wanted(ladder, array), rel=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", ["0", "1", "31", "513", "2^12", "10007"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
def test_sizes_and_types(device, n, dtype, tmp_path):
    size = int(eval(n.replace("^", "**")))
    array = (np.arange(size) % 7 - 2).astype(dtype)
    np.save(tmp_path / "array.npy", array)
    for ladder, found in demo(device, tmp_path / "array.npy", "--n", n).items():
        count = len(LADDERS[ladder])
        for _, result, _, _ in found[:count]:
            assert float(result) == pytest.approx(float(wanted(ladder, array)), rel=1e-5)
        assert len({result for _, result, _, _ in found[count:]}) == 1


def test_counts(tmp_path):
    """Those of shared.h are plain: 256 floats lie on 8 lines, the result on one more; its 1024
    threads halve 10 times; and it has no atomics. multiblock.h commits by one, in global memory."""
    np.save(tmp_path / "array.npy", np.ones(256, "f4"))
    found = demo("simt", tmp_path / "array.npy", "--n", "0")["Reduction"]
    requests, accesses, _, barriers, in_global, in_shared, busy = found[2][3].split()
    assert (requests, accesses, barriers, in_global, in_shared) == ("9", "257", "10", "0", "0")
    assert re.fullmatch(r"\d+%", busy)
    assert found[3][3].split()[4:6] == ["1", "0"]


def test_counts_of_the_scan(tmp_path):
    """1792 floats lie on 56 lines, read and written. kogge_stone.h takes them in 2 sections of 11
    barriers each, brent_kung.h in one of 21 + 2 (its section is of 2048), coarsened.h in one of 11 + 1."""
    np.save(tmp_path / "array.npy", np.ones(1792, "f4"))
    found = demo("simt", tmp_path / "array.npy", "--n", "0")["Scan"]
    counts = [row[3].split() for row in found[:3]]
    assert [row[:2] for row in counts] == [["112", "3584"]] * 3
    assert [row[3] for row in counts] == ["22", "23", "12"]


def test_atomics_of_global_and_shared_memory(tmp_path):
    """What privatisation is for: the atomics leave global memory. 4096 elements, all of one value, in
    blocks of 1024: of 4 blocks all but the first add the one bin that they met."""
    np.save(tmp_path / "array.npy", np.ones(4096, "f4"))
    done = run("demo-simt", tmp_path / "array.npy", "--n", "0")
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("\nHistogram: ")[1]
    atomics = {name: tuple(re.search(rf"^{name} .* yes +(.*)$", table, re.M)[1].split()[4:6])
               for name in ("basic", "private_global", "private_shared")}
    assert atomics == {"basic": ("4096", "0"), "private_global": ("4099", "0"),
                       "private_shared": ("4", "4096")}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("values", [[1, np.nan], [np.inf], [3e38, 3e38], [1e300]], ids=str)
def test_values_that_floats_cannot_add_up(device, values, tmp_path):
    path = tmp_path / "array.npy"
    np.save(path, np.array(values, "f8"))
    done = run(f"demo-{device}", path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"{path}: holds a NaN, an infinity or values too large")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("arguments", [
    ("--n", "x"), ("--n", "-1"), ("--n", "1e6"), ("--n", "2^"), ("--n", "2^64"), ("--n", ""),
    ("--n", "99999999999999999999"), ("--n",), ("--m", "1"), ("a.npy", "b.npy"),
], ids=" ".join)
def test_usage(device, arguments):
    done = run(f"demo-{device}", *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert "usage: demo [FILE.npy] [--n N]" in done.stderr


@pytest.mark.parametrize("device", DEVICES)
def test_too_many_elements(device):
    done = run(f"demo-{device}", "--n", "2^62")
    assert done.returncode == 1 and "no memory for the 4611686018427387904 floats" in done.stderr


@pytest.mark.parametrize("device", DEVICES)
def test_missing_file(device, tmp_path):
    done = run(f"demo-{device}", tmp_path / "none.npy")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"{tmp_path}/none.npy: cannot open")


def test_a_wrong_rung_is_seen(tmp_path):
    """Built against rungs of each ladder that are wrong, each in what only it makes."""
    wrong = {
        "Reduction": [("reduce/multiblock.h", "if (i < n)", "if (i + 1 < n)")],
        "Scan": [("scan/brent_kung.h", "if (i < n)", "if (i + 1 < n)")],
        "Sort": [("merge_sort.h", "if (run >= count ||", "if (2 * run >= count ||"),  # of many keys, and of few
                 ("merge_sort.h", "arrays.out[place] = arrays.in[from];", "arrays.out[place] = arrays.in[place];")],
        "The k greatest": [("top_k.h", "if (rank < plan.k) {", "if (rank + 1 < plan.k) {")],
        "Segments": [("segmented/rows.h", "end = r < mine ? width : 0;", "end = r < mine ? width - 1 : 0;"),
                     ("segmented/runs.h", "*arrays.count = count;", "*arrays.count = count + 1;"),
                     ("scan/segmented.h", "if (delta <= reach[r])", "if (delta < reach[r])"),
                     ("sort_segments.h", "row <= lanes; row *= 2", "row < lanes; row *= 2")],
        "Stencil": [("stencil/coarsened.h", "along_y[i] = own[d * COARSEN_SIDE];", "along_y[i] = own[d];")],
    }
    done = run(build("demo", tmp_path / "build", sum(wrong.values(), [])), "--n", "1000")
    assert done.returncode == 1 and "18 results are wrong" in done.stderr
    for ladder, rungs in LADDERS.items():
        assert [row[2] for row in rows(done.stdout, ladder)] == \
            ["NO" if name in [Path(rung).stem for rung, _, _ in wrong[ladder]] else "yes" for name in rungs] * 2
