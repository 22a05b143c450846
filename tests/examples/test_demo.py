# SPDX-License-Identifier: MIT
"""examples/demo: its tables, and that it sees a rung that is wrong."""
import os
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run

RUNGS = ["simple", "convergent", "shared", "multiblock", "coarsened", "last_block", "single_pass"]
ROW = re.compile(rf"^({'|'.join(RUNGS)}) +.{{20}} +(\S+) +(yes|NO) +(.*)$", re.M)


def rows(text):
    """(rung, result, right, the rest) of each row of the first ladder."""
    return ROW.findall(text.split("\nMatrix product")[0])


def demo(device, *arguments):
    """The rows, of both tables, when all is well."""
    done = run(f"demo-{device}", *arguments)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 100, done.stdout
    found = rows(done.stdout)
    assert [row[0] for row in found] == RUNGS * 2
    assert all(row[2] == "yes" for row in found)
    return found


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_shipped_series(device):
    total = np.load(ROOT / "examples/data/sunspots.npy").sum(dtype="f8")
    for _, result, _, _ in demo(device, "--n", "1000")[:len(RUNGS)]:
        assert float(result) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", ["0", "1", "31", "513", "2^12", "10007"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
def test_sizes_and_types(device, n, dtype, tmp_path):
    size = int(eval(n.replace("^", "**")))
    array = (np.arange(size) % 7 - 2).astype(dtype)
    np.save(tmp_path / "array.npy", array)
    found = demo(device, tmp_path / "array.npy", "--n", n)
    assert {float(result) for _, result, _, _ in found[:len(RUNGS)]} == {float(array.sum())}
    assert len({result for _, result, _, _ in found[len(RUNGS):]}) == 1


def test_counts(tmp_path):
    """Those of shared.h are plain: 256 floats lie on 8 lines, the result on one more; its 1024
    threads halve 10 times; and it has no atomics. multiblock.h commits by one, in global memory."""
    np.save(tmp_path / "array.npy", np.ones(256, "f4"))
    found = demo("simt", tmp_path / "array.npy", "--n", "0")
    requests, accesses, _, barriers, in_global, in_shared, busy = found[2][3].split()
    assert (requests, accesses, barriers, in_global, in_shared) == ("9", "257", "10", "0", "0")
    assert re.fullmatch(r"\d+%", busy)
    assert found[3][3].split()[4:6] == ["1", "0"]


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
    """Built against a rung that leaves out the last element."""
    library = os.environ.get("SIMT_LIB")
    if not library:
        pytest.skip("SIMT_LIB is not set: run it through meson test")
    for folder in ("include", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    rung = tmp_path / "include/coarsen/reduce/multiblock.h"
    text = rung.read_text()
    assert text.count("if (i < n)") == 1
    rung.write_text(text.replace("if (i < n)", "if (i + 1 < n)"))
    flags = shlex.split(os.environ.get("SIMT_FLAGS") or "")
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    subprocess.run([*compiler, "-x", "c++", "-O0", "-c", *flags, f"-I{tmp_path}/include/simt",
                    f"-I{tmp_path}/include", "-o", tmp_path / "demo.o",
                    tmp_path / "examples/demo.cu"], check=True)
    subprocess.run([*compiler, "-o", tmp_path / "demo", tmp_path / "demo.o", library, "-lpthread",
                    "-ldl"], check=True)
    done = subprocess.run([tmp_path / "demo", "--n", "1000"], cwd=ROOT, text=True,
                          capture_output=True)
    assert done.returncode == 1 and "2 results are wrong" in done.stderr
    assert [row[2] for row in rows(done.stdout)] == ["NO" if name == "multiblock" else "yes" for name in RUNGS] * 2
