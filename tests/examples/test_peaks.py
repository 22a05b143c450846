# SPDX-License-Identifier: MIT
"""examples/peaks beside NumPy's argmax."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def check(device, path, window):
    array = np.load(path)
    wanted = [(start, start + int(np.argmax(array[start:start + window]))) for start in range(0, array.size, window)]
    done = run(f"peaks-{device}", path, window)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    found = [line.split() for line in done.stdout.splitlines()]
    assert [(int(start), int(at)) for start, at, _ in found] == wanted
    assert np.array_equal(np.array([value for _, _, value in found], np.float64).astype(np.float32),
                          array[[at for _, at in wanted]] if wanted else [], equal_nan=True)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_month_of_each_year(device):
    check(device, ROOT / "examples/data/sunspots.npy", 12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 1000])
@pytest.mark.parametrize("window", [1, 12, 129, 500, 10**12])
def test_sizes(device, size, window, tmp_path):
    """Values that repeat, all below zero, and a NaN among them."""
    array = -np.arange(1, size + 1, dtype=np.float32) % 7 - 8
    array[size // 2:size // 2 + 1] = np.nan
    np.save(tmp_path / "x.npy", array)
    check(device, tmp_path / "x.npy", window)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "double.npy", np.zeros(3))
    for arguments, status in [((), 2), ((tmp_path / "x.npy",), 2), ((tmp_path / "x.npy", 0), 2),
                              ((tmp_path / "x.npy", "12x"), 2), ((tmp_path / "double.npy", 12), 1),
                              ((tmp_path / "none.npy", 12), 1)]:
        done = run(f"peaks-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr, arguments
