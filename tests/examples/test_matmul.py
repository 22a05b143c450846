# SPDX-License-Identifier: MIT
"""examples/matmul beside NumPy's own product."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def save(path, rows, cols, dtype="f4", order="C", seed=1):
    values = np.random.default_rng(seed).standard_normal((rows, cols))
    np.save(path, np.asarray(values, dtype=dtype, order=order))
    return path


def check(device, m, n, tmp_path):
    """Each entry, beside the sum in double: each of the additions rounds by at most half a unit."""
    done = run(f"matmul-{device}", m, n, tmp_path / "p.npy")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    p, n = np.load(tmp_path / "p.npy"), np.load(n).astype("f8")
    m = np.load(m).astype("f8")
    m = m if m.ndim == 2 else m.reshape(-1, len(n))
    assert p.dtype == np.float32 and p.shape == (len(m), n.shape[1])
    assert (abs(p - m @ n) <= (len(n) + 1) * np.finfo("f4").eps * (abs(m) @ abs(n))).all()
    head, *corner = done.stdout.splitlines()
    assert head.endswith(": %d x %d" % p.shape) and len(corner) == min(len(p), 4)
    for line, row in zip(corner, p):
        assert np.allclose([float(x) for x in line.removesuffix(" ...").split()], row[:4], rtol=1e-6)
        assert line.endswith(" ...") == (len(row) > 4)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_product(device, tmp_path):
    for rows, inner, cols in [(1, 1, 1), (30, 50, 70), (65, 129, 33), (3, 0, 4), (0, 3, 4), (7, 2, 0)]:
        for order in "CF":
            m = save(tmp_path / "m.npy", rows, inner, "f4", order, 1)
            n = save(tmp_path / "n.npy", inner, cols, "f4", "CF"[order == "C"], 2)
            check(device, m, n, tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_quarters_of_years(device, tmp_path):
    data = ROOT / "examples/data"
    check(device, data / "sunspots.npy", data / "quarters.npy", tmp_path)
    months = np.load(data / "sunspots.npy").astype("f8").reshape(-1, 4, 3)
    assert np.allclose(np.load(tmp_path / "p.npy"), months.mean(axis=2), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_bad_input(device, tmp_path):
    m = save(tmp_path / "m.npy", 3, 4)
    for name, array in [("three", np.zeros((2, 2, 2), "f4")), ("flat", np.zeros(7, "f4")),
                        ("whole", np.zeros((4, 2), "i4"))]:
        np.save(tmp_path / f"{name}.npy", array)
    fine, out = save(tmp_path / "n.npy", 4, 2), tmp_path / "p.npy"
    for a, b, said in [(m, m, "m.npy: is 3 x 4, and its rows must have 3 elements"),
                       (m, tmp_path / "three.npy", "three.npy: has 3 dimensions"),
                       (m, tmp_path / "whole.npy", "whole.npy: holds no f4"),
                       (m, save(tmp_path / "f8.npy", 4, 2, "f8"), "f8.npy: holds no f4"),
                       (tmp_path / "flat.npy", fine, "flat.npy: its 7 elements are no rows of 4"),
                       (m, save(tmp_path / "no_rows.npy", 0, 4), "m.npy: its rows must have no elements"),
                       (m, tmp_path / "flat.npy", "flat.npy: has 1 dimension, and a matrix has 2"),
                       (m, tmp_path / "none.npy", "cannot open")]:
        done = run(f"matmul-{device}", a, b, out)
        assert done.returncode == 1 and done.stdout == "" and said in done.stderr, (said, done.stderr)
    done = run(f"matmul-{device}", m, fine, tmp_path / "no" / "p.npy")
    assert done.returncode == 1 and "cannot write" in done.stderr
    assert run(f"matmul-{device}", m, fine).returncode == 2
