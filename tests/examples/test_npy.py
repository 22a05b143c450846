# SPDX-License-Identifier: MIT
"""examples/npy.h beside NumPy's own reader, on good and on damaged files, under the sanitizers."""
import io
import os
import random
import shlex
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TYPES = ("f4", "f8", "i4", "i8")


@pytest.fixture(scope="session")
def check(tmp_path_factory):
    """check(contents) writes each to a file, and returns what npy.h makes of it:
    (type, count, bytes) or the error."""
    folder = tmp_path_factory.mktemp("npy")
    program = folder / "npy_check"
    subprocess.run([*shlex.split(os.environ.get("CXX") or "g++"), "-x", "c++", "-g", "-O1", "-Wall",
                    "-Wextra", "-Werror", "-fsanitize=address,undefined",
                    "-fno-sanitize-recover=all", f"-I{ROOT / 'examples'}", "-o", program,
                    ROOT / "tests/examples/npy_check.c"], check=True)

    def run(contents):
        paths = []
        for i, content in enumerate(contents):
            paths.append(folder / f"{i}.npy")
            paths[-1].write_bytes(content)
        # Refuse what could not be allocated as malloc does, with NULL.
        done = subprocess.run([program], input="".join(f"{path}\n" for path in paths), text=True,
                              capture_output=True,
                              env={"ASAN_OPTIONS": "allocator_may_return_null=1"})
        assert done.returncode == 0, done.stderr
        results = []
        for path, line in zip(paths, done.stdout.splitlines(), strict=True):
            if line.startswith("error "):
                assert line.startswith(f"error {path}: ") and line.isprintable(), line
                results.append(line.removeprefix(f"error {path}: "))
            else:
                kind, count, data = line.split(" ")
                results.append((kind, int(count), bytes.fromhex(data)))
        return results

    return run


def saved(array, version=None):
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.lib.format.write_array(stream, array, version)
    return stream.getvalue()


def expected(array):
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return array.dtype.str[1:], array.size, array.tobytes(order)


def file_of(header, data=b"", version=1):
    text = header.encode() if isinstance(header, str) else header
    width = 2 if version == 1 else 4
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(width, "little") + text + data


def test_good_files(check):
    random_bytes = np.random.default_rng(1)
    arrays, files = [], []
    for kind in TYPES:
        for shape in ((), (0,), (1,), (7,), (3, 0, 2), (2, 3), (2, 3, 4), (1,) * 30):
            for order in "CF":
                for version in ((1, 0), (2, 0), (3, 0)):
                    raw = random_bytes.bytes(int(np.prod(shape)) * int(kind[1]))
                    array = np.frombuffer(raw, kind).reshape(shape).copy(order)
                    arrays.append(array)
                    files.append(saved(array, version))
    assert check(files) == [expected(array) for array in arrays]


def test_shipped_series(check):
    path = ROOT / "examples/data/sunspots.npy"
    array = np.load(path)
    assert array.shape == (3120,) and array.dtype == "<f4"
    assert check([path.read_bytes()]) == [expected(array)]


def test_header_variants(check):
    """What NumPy writes nowhere, or wrote once, but reads."""
    data = bytes(range(12))
    headers = [
        "{'descr':'<f4','fortran_order':False,'shape':(3,)}",
        "{'shape': (3,), 'fortran_order': True, 'descr': '<f4'}\n",
        '{"descr": "<f4", "fortran_order": False, "shape": (3, 1,), }   \n',
        "  { 'descr' : '=f4' ,\t'fortran_order' : False , 'shape' : ( 1 , 3 ) , }",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (3,)}",
    ]
    assert check([file_of(h, data) for h in headers]) == [("f4", 3, data)] * len(headers)
    python2 = file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (3L,), }", data)
    assert check([python2]) == [("f4", 3, data)]


HUGE = [
    "(9223372036854775807,)", "(18446744073709551615,)", "(18446744073709551616,)",
    "(4611686018427387904, 2)", "(4294967296, 4294967296)", "(2305843009213693952,)",
    "(99999999999999999999999999999999999999,)", "(1152921504606846975,)",
    "(9999999999, 9999999999, 9999999999)",
]


@pytest.mark.parametrize("shape", HUGE)
def test_sizes_that_overflow(check, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    [result] = check([file_of(header, b"\0" * 16)])
    assert "header is damaged" in result


def test_an_empty_dimension_beside_huge_ones(check):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }"
    assert check([file_of(header)]) == [("f8", 0, b"")]


def test_every_truncation(check):
    whole = saved(np.arange(5, dtype="<i4"))
    results = check([whole[:length] for length in range(len(whole))])
    for length, result in enumerate(results):
        assert isinstance(result, str) and "truncated" in result, (length, result)


def test_damaged_files(check):
    """Whatever npy.h takes, NumPy takes, and reads as the same."""
    rng = random.Random(1)
    originals = [saved(np.arange(12, dtype=kind).reshape(3, 4)) for kind in TYPES]
    files = []
    syntax = b"(){}',:0123L <>|fiTF"
    for whole in originals:
        for at in range(len(whole) - 12 * 4):  # the header and the first data
            for byte in (0, 0xff, *rng.sample(range(256), 3), *rng.sample(syntax, 3)):
                files.append(whole[:at] + bytes([byte]) + whole[at + 1:])
        for _ in range(300):
            at, end = sorted(rng.sample(range(len(whole)), 2))
            files.append(whole[:at] + whole[end:])
    taken = 0
    for content, result in zip(files, check(files)):
        if isinstance(result, str):
            continue
        array = np.lib.format.read_array(io.BytesIO(content))
        assert expected(array) == result, content
        taken += 1
    assert 0 < taken < len(files)
