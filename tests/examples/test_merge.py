# SPDX-License-Identifier: MIT
"""examples/merge beside numpy.sort, and what it says of files that it cannot take."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def merge(device, tmp_path, a, b):
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    return run(f"merge-{device}", tmp_path / "a.npy", tmp_path / "b.npy", tmp_path / "out.npy")


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_shipped_series(device, tmp_path):
    series = np.load(ROOT / "examples/data/sunspots.npy").ravel()
    done = merge(device, tmp_path, np.sort(series[::2]), np.sort(series[1::2]))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert (np.load(tmp_path / "out.npy") == np.sort(series)).all()
    assert f"{series.size} elements" in done.stdout


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("m, n", [(0, 0), (0, 5), (7, 0), (1, 1), (1000, 3), (3001, 5000)])
def test_sizes(device, m, n, tmp_path):
    values = np.random.default_rng(m + n).integers(-900, 900, m + n).astype("f4")
    values[::17] = np.nan
    values[::29] = -np.inf
    done = merge(device, tmp_path, np.sort(values[:m]), np.sort(values[m:]))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.float32 and np.array_equal(out, np.sort(values), equal_nan=True)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    low, high = np.arange(9, dtype="f4"), np.arange(5, 30, dtype="f4")
    turned = high.copy()
    turned[20] = 3
    holed = low.copy()
    holed[4] = np.nan
    for a, b, said in [
            (low, turned, "b.npy: is not sorted: element 20 is less than element 19; save it sorted, as by numpy.sort"),
            (holed, high, "a.npy: is not sorted: element 5 is less than element 4; save it sorted, as by numpy.sort"),
            (low, high.astype("i4"), "b.npy: holds no f4; save it so")]:
        done = merge(device, tmp_path, a, b)
        assert done.returncode == 1 and done.stdout == "" and said in done.stderr and done.stderr.count("\n") == 1
        assert not (tmp_path / "out.npy").exists()
    done = run(f"merge-{device}", tmp_path / "none.npy", tmp_path / "b.npy", tmp_path / "out.npy")
    assert done.returncode == 1 and "none.npy" in done.stderr
    np.save(tmp_path / "a.npy", low)
    np.save(tmp_path / "b.npy", low)
    done = run(f"merge-{device}", tmp_path / "a.npy", tmp_path / "b.npy", tmp_path / "no folder" / "out.npy")
    assert done.returncode == 1 and "cannot write" in done.stderr
    for arguments in ([], ["a.npy"], ["a.npy", "b.npy", "c.npy", "d.npy"]):
        done = run(f"merge-{device}", *arguments)
        assert done.returncode == 2 and "usage" in done.stderr
