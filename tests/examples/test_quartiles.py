# SPDX-License-Identifier: MIT
"""examples/quartiles beside numpy.sort."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run

NAMES = ["least", "quarter", "half", "three quarters", "greatest"]


def check(device, path, tmp_path):
    done = run(f"quartiles-{device}", path, tmp_path / "sorted.npy")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    out, wanted = np.load(tmp_path / "sorted.npy"), np.sort(np.load(path), axis=None)
    assert out.dtype == np.float32 and np.array_equal(out, wanted, equal_nan=True)
    assert done.stdout == "".join(f"{name:14} {wanted[(wanted.size - 1) * q // 4]:g}\n"
                                  for q, name in enumerate(NAMES) if wanted.size)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_sunspots(device, tmp_path):
    check(device, ROOT / "examples/data/sunspots.npy", tmp_path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 1000, 70001])
def test_sizes(device, size, tmp_path):
    array = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    if size > 10:
        array[::7], array[::11], array[::13] = np.nan, np.inf, -np.inf
    np.save(tmp_path / "x.npy", array)
    check(device, tmp_path / "x.npy", tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "double.npy", np.zeros(3))
    for arguments, status in [((), 2), (("x.npy",), 2), ((tmp_path / "double.npy", tmp_path / "out.npy"), 1),
                              ((tmp_path / "x.npy", tmp_path / "none" / "out.npy"), 1)]:
        done = run(f"quartiles-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, arguments
