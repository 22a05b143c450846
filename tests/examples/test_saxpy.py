# SPDX-License-Identifier: MIT
"""examples/saxpy beside NumPy."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, run


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("size", [0, 1, 5, 33, 100003])
def test_saxpy(device, size, tmp_path):
    x, y = np.random.default_rng(size).standard_normal((2, size)).astype(np.float32)
    if size > 5:
        x[:3], y[1:4] = [np.nan, np.inf, 3e38], [-np.inf, 1, 2]
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    done = run(f"saxpy-{device}", 2.5, tmp_path / "x.npy", tmp_path / "y.npy", tmp_path / "out.npy")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    out, product = np.load(tmp_path / "out.npy"), 2.5 * x.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = product + y
        error = np.finfo(np.float32).eps * (abs(product) + abs(y))
        assert out.dtype == np.float32 and out.shape == (size,)
        assert ((out == wanted.astype(np.float32)) | (abs(out - wanted) <= error) | (np.isnan(out) & np.isnan(wanted))).all()
    head, shown = done.stdout.rstrip("\n").rsplit(":", 1)
    assert head == f"{tmp_path}/out.npy: {size} elements" and shown.endswith(" ...") == (size > 6)
    np.testing.assert_allclose([float(word) for word in shown.removesuffix(" ...").split()], out[:6], rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "y.npy", np.zeros(4, np.float32))
    np.save(tmp_path / "double.npy", np.zeros(3))
    x, out = tmp_path / "x.npy", tmp_path / "out.npy"
    for arguments, status in [((), 2), (("two", x, x, out), 2), ((2, x, x), 2), ((2, x, tmp_path / "y.npy", out), 1),
                              ((2, x, tmp_path / "double.npy", out), 1), ((2, x, tmp_path / "none.npy", out), 1),
                              ((2, x, x, tmp_path / "none" / "out.npy"), 1)]:
        done = run(f"saxpy-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, arguments
