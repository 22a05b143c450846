# SPDX-License-Identifier: MIT
"""examples/matmul beside NumPy's own product."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, run


def save(path, rows, cols, dtype="f4", order="C", seed=1):
    values = np.random.default_rng(seed).standard_normal((rows, cols))
    np.save(path, np.asarray(values, dtype=dtype, order=order))
    return path


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_product(device, dtype, tmp_path):
    for rows, inner, cols in [(1, 1, 1), (30, 50, 70), (65, 129, 33), (3, 0, 4), (0, 3, 4), (7, 2, 0)]:
        for order in "CF":
            m = save(tmp_path / "m.npy", rows, inner, dtype, order, 1)
            n = save(tmp_path / "n.npy", inner, cols, dtype, "C", 2)
            done = run(f"matmul-{device}", m, n, tmp_path / "p.npy")
            assert done.returncode == 0 and done.stderr == "", done.stderr
            assert done.stdout.endswith(": right\n")
            p = np.load(tmp_path / "p.npy")
            wanted = np.load(m).astype("f8") @ np.load(n).astype("f8")
            assert p.dtype == dtype and p.shape == (rows, cols)
            assert np.allclose(p, wanted, rtol=0, atol=1e-4 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_bad_input(device, tmp_path):
    m = save(tmp_path / "m.npy", 3, 4)
    three = tmp_path / "three.npy"
    np.save(three, np.zeros((2, 2, 2), "f4"))
    whole = tmp_path / "whole.npy"
    np.save(whole, np.zeros((4, 2), "i4"))
    for other, said in [(m, "is 3 x 4 and"), (three, "has 3 dimensions"), (whole, "holds integers"),
                        (save(tmp_path / "f8.npy", 4, 2, "f8"), "one is f4 and the other f8"),
                        (tmp_path / "none.npy", "cannot open")]:
        done = run(f"matmul-{device}", m, other)
        assert done.returncode == 1 and done.stdout == "" and said in done.stderr
    done = run(f"matmul-{device}", m, save(tmp_path / "n.npy", 4, 2), tmp_path / "no" / "p.npy")
    assert done.returncode == 1 and "cannot write" in done.stderr
    assert run(f"matmul-{device}", m).returncode == 2
