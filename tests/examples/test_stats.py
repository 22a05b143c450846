# SPDX-License-Identifier: MIT
"""examples/stats beside NumPy."""
import math
import subprocess

import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, EXAMPLES, ROOT, run

SIZES = (1, 2, 31, 32, 33, 257, 1009, 2048, 4099, 65537, 100003)
ROWS = ["count", "sum", "mean", "min", "argmin", "max", "argmax"]


def stats(device, path):
    """The rows, by name, of an array given by its file."""
    done = run(f"stats-{device}", path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def check(device, array, tmp_path):
    path = tmp_path / "array.npy"
    np.save(path, array)
    rows = stats(device, path)
    assert list(rows) == ROWS
    flat = array.ravel(order="A")  # as it lies in the file
    count = len(flat)
    assert int(rows["count"]) == count
    assert int(rows["argmin"]) == flat.argmin()
    assert int(rows["argmax"]) == flat.argmax()
    for name, value in (("min", flat.min()), ("max", flat.max())):
        np.testing.assert_equal(float(rows[name]), float(f"{value:.7g}"))
    if np.isfinite(flat).all():
        values = flat.tolist()
        total = math.fsum(values)
        error = count * 2.0**-53 * math.fsum(map(abs, values))
        digits = 5e-15  # of which 15 are printed
        assert abs(float(rows["sum"]) - total) <= error + digits * abs(total)
        mean = total / count
        assert abs(float(rows["mean"]) - mean) <= error / count + digits * abs(mean) + 5e-324
    else:
        with np.errstate(invalid="ignore"):
            total = flat.astype("f8").sum()
        np.testing.assert_equal(float(rows["sum"]), total)
        np.testing.assert_equal(float(rows["mean"]), total)


def random_array(shape, seed=1):
    """Finite values of every magnitude."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-9, 9, shape)).astype("f4")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", SIZES)
def test_random(device, size, tmp_path):
    check(device, random_array(size, size), tmp_path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(), (1, 1), (13, 17), (5, 7, 11)], ids=str)
def test_shapes(device, order, shape, tmp_path):
    check(device, np.array(random_array(shape), order=order), tmp_path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(0,), (3, 0)], ids=str)
def test_empty(device, shape, tmp_path):
    np.save(tmp_path / "empty.npy", np.zeros(shape, "f4"))
    assert stats(device, tmp_path / "empty.npy") == {"count": "0", "sum": "0"}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("special", [
    [np.inf], [-np.inf], [np.nan], [np.inf, -np.inf], [np.nan, np.inf, np.nan],
], ids=str)
@pytest.mark.parametrize("size", [8, 5000])
def test_nan_and_infinity(device, special, size, tmp_path):
    array = random_array(size)
    for i, value in enumerate(special):
        array[(i + 1) * size // (len(special) + 1)] = value
    check(device, array, tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_limits_of_floats(device, tmp_path):
    limits = np.finfo("f4")
    check(device, np.array([limits.max / 4, limits.tiny, -limits.max / 4, 0.1,
                            limits.smallest_subnormal], "f4"), tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_the_first_of_equals(device, tmp_path):
    array = np.zeros(30011, "f4")
    array[[777, 778, 20000, 30010]] = 1
    array[[555, 556, 20001]] = -1
    check(device, array, tmp_path)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_shipped_series(device):
    rows = stats(device, "examples/data/sunspots.npy")
    assert rows["count"] == "3120"
    assert rows["max"] == "253.8" and rows["argmax"] == str((1957 - 1749) * 12 + 9)  # October 1957


# ---- Bad files -----------------------------------------------------------------------------------


def header(text):
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def save(array):
    return lambda path: np.save(path, array)


def write(content):
    return lambda path: path.write_bytes(content)


def cut(path):
    np.save(path, np.arange(100.0))
    path.write_bytes(path.read_bytes()[:-1])


def cut_header(path):
    np.save(path, np.arange(100.0))
    path.write_bytes(path.read_bytes()[:40])


def extend(path):
    np.save(path, np.arange(100.0))
    path.write_bytes(path.read_bytes() + b"\0")


BAD = {
    "missing": (lambda path: None, "cannot open: No such file or directory; give the path"),
    "directory": (lambda path: path.mkdir(), "cannot read: Is a directory"),
    "empty file": (write(b""), "truncated: the file is empty; save or copy it again"),
    "f8": (save(np.arange(3.0)), "holds no f4; save it so: numpy.save(path, a.astype('f4'))"),
    "i4": (save(np.arange(3, dtype="i4")), "holds no f4; save it so"),
    "truncated data": (cut, "truncated: 799 of the 800 bytes of its data are there"),
    "truncated header": (cut_header, "truncated: 30 of the 118 bytes of its header are there"),
    "trailing bytes": (extend, "trailing bytes after its 100 elements"),
    "wrong magic": (write(b"PK\x03\x04 a zip"), "not a .npy file"),
    "version 4": (write(b"\x93NUMPY\x04\x00"), "format version 4.0; 1.0, 2.0 and 3.0 are taken"),
    "big-endian": (save(np.arange(3, dtype=">f8")), "big-endian ('>f8'); save it little-endian"),
    "f2": (save(np.arange(3, dtype="f2")), "elements are '<f2'; f4, f8, i4 and i8 are taken"),
    "u1": (save(np.arange(3, dtype="u1")), "elements are '|u1'; f4, f8, i4 and i8 are taken"),
    "bool": (save(np.ones(3, bool)), "elements are '|b1'; f4, f8, i4 and i8 are taken"),
    "complex": (save(np.ones(3, complex)), "elements are '<c16'; f4, f8, i4 and i8 are taken"),
    "text": (save(np.array(["a", "b"])), "elements are '<U1'; f4, f8, i4 and i8 are taken"),
    "records": (save(np.zeros(3, [("x", "f4"), ("y", "i4")])), "elements are records"),
    "no dictionary": (write(header("[1, 2]\n")), "header malformed: it is no dictionary"),
    "no shape": (write(header("{'descr': '<f4', 'fortran_order': False}")),
                 "header malformed: 'descr', 'fortran_order' or 'shape' is missing"),
    "shape no tuple": (write(header("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}")),
                       "header malformed: 'shape' is no tuple of sizes"),
    "negative": (write(header("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}")),
                 "header malformed: 'shape' is no tuple of sizes"),
    "overflow": (write(header("{'descr': '<f8', 'fortran_order': False, "
                              "'shape': (4294967296, 4294967296)}")),
                 "its shape has more elements than memory can hold"),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bad", BAD)
def test_bad_file(device, bad, tmp_path):
    make, message = BAD[bad]
    path = tmp_path / "bad.npy"
    make(path)
    done = run(f"stats-{device}", path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"{path}: {message}"), done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("arguments", [(), ("a.npy", "b.npy")], ids=str)
def test_usage(device, arguments):
    done = run(f"stats-{device}", *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("usage: ") and "FILE.npy" in done.stderr


@pytest.mark.parametrize("device", DEVICES)
def test_results_that_cannot_be_written(device):
    with open("/dev/full", "w") as full:
        done = subprocess.run([EXAMPLES / f"stats-{device}", ROOT / "examples/data/sunspots.npy"],
                              stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "cannot write" in done.stderr
