# SPDX-License-Identifier: MIT
"""examples/cycles beside NumPy's running totals."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run

# Of the sunspots, by months: where the mean of 13 of them, half of the first and half of the last, is the least
# within four years.
MINIMA = [73, 209, 317, 428, 591, 735, 892, 1018, 1134, 1283, 1418, 1559, 1694, 1836, 1974, 2095, 2216, 2341, 2463,
          2589, 2726, 2852, 2968]


def check(device, path, begins, tmp_path):
    array = np.load(path).astype(np.float64)
    done = run(f"cycles-{device}", path, tmp_path / "totals.npy", *begins)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    out = np.load(tmp_path / "totals.npy")
    assert out.dtype == np.float64 and out.shape == array.shape
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert len(rows) == len(begins)
    for (first, count, total, half), begin, end in zip(rows, begins, [*begins[1:], array.size]):
        totals = array[begin:end].cumsum()
        rounding = np.arange(end - begin) * np.finfo(np.float64).eps * abs(array[begin:end]).cumsum()
        assert ((abs(out[begin:end] - totals) <= rounding) | (np.isnan(out[begin:end]) & np.isnan(totals))).all()
        reached = int((totals >= totals[-1] / 2).argmax()) if totals[-1] == totals[-1] else end - begin - 1
        assert (int(first), int(count), int(half)) == (begin, end - begin, begin + reached)
        assert float(total) == pytest.approx(totals[-1], rel=1e-7, nan_ok=True)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_solar_cycles(device, tmp_path):
    check(device, ROOT / "examples/data/sunspots.npy", MINIMA, tmp_path)


def test_minima():
    array = np.load(ROOT / "examples/data/sunspots.npy").astype(np.float64)
    means = np.convolve(array, np.r_[0.5, np.ones(11), 0.5] / 12, "valid")  # of the elements from 6 on
    for begin in MINIMA:
        assert means[begin - 6] == means[max(begin - 54, 0):begin + 43].min()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [1, 31, 1000, 70001])
@pytest.mark.parametrize("parts", [1, 2, 7, 500])
def test_sizes(device, size, parts, tmp_path):
    """Whole numbers, whose totals are exact; parts of one element, and elements before the first part."""
    chosen = np.random.default_rng(size + parts)
    np.save(tmp_path / "x.npy", chosen.integers(1, 1000, size).astype(np.float32))
    begins = chosen.choice(size, min(parts, size), replace=False)
    check(device, tmp_path / "x.npy", sorted(map(int, begins)), tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_a_nan_stays_in_its_part(device, tmp_path):
    array = np.ones(100, np.float32)
    array[50] = np.nan
    np.save(tmp_path / "x.npy", array)
    check(device, tmp_path / "x.npy", [0, 40, 60], tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "empty.npy", np.zeros(0, np.float32))
    np.save(tmp_path / "double.npy", np.zeros(3))
    for name, begins, status in [("x", (), 2), ("x", ("1x",), 2), ("x", ("",), 2), ("x", (3,), 2), ("x", (-1,), 2),
                                 ("x", (1, 1), 2), ("x", (2, 1), 2), ("empty", (0,), 2), ("double", (0,), 1),
                                 ("none", (0,), 1)]:
        done = run(f"cycles-{device}", tmp_path / f"{name}.npy", tmp_path / "totals.npy", *begins)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, (name, begins)
    done = run(f"cycles-{device}", tmp_path / "x.npy", tmp_path / "none" / "totals.npy", 0)
    assert done.returncode == 1 and "cannot write" in done.stderr
