# SPDX-License-Identifier: MIT
"""examples/saxpy beside NumPy; it checks every element itself."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, run


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("size", [0, 1, 5, 33, 100003])
def test_saxpy(device, size, tmp_path):
    x, y = np.random.default_rng(size).standard_normal((2, size)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    done = run(f"saxpy-{device}", 2.5, tmp_path / "x.npy", tmp_path / "y.npy")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    for line, wanted in zip(done.stdout.splitlines(), [2.5 * x.astype(float) + y, x.astype(float)**2]):
        shown = [float(word) for word in line.split("(")[0].replace("...", "").split()[1:]
                 if word.replace(".", "").replace("-", "").replace("e", "").replace("+", "").isdigit()]
        assert f"({size} elements, checked)" in line
        assert np.allclose(shown[-min(size, 6):] if size else [], wanted[:6], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "y.npy", np.zeros(4, np.float32))
    np.save(tmp_path / "double.npy", np.zeros(3))
    for arguments, status in [((), 2), (("two", tmp_path / "x.npy", tmp_path / "x.npy"), 2),
                              ((2, tmp_path / "x.npy", tmp_path / "y.npy"), 1),
                              ((2, tmp_path / "x.npy", tmp_path / "double.npy"), 1),
                              ((2, tmp_path / "x.npy", tmp_path / "none.npy"), 1)]:
        done = run(f"saxpy-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr, arguments
