# SPDX-License-Identifier: MIT
"""examples/records beside a stable sort of NumPy."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def check(device, path, count):
    array = np.load(path)
    wanted = np.argsort(-array, stable=True)[:count]
    done = run(f"records-{device}", path, count)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout == "".join(f"{array[i]:12.7g} at {i}\n" for i in wanted)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_sunspots(device):
    check(device, ROOT / "examples/data/sunspots.npy", 10)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [0, 1, 31, 1000, 70001])
@pytest.mark.parametrize("count", [0, 1, 100, 1024])
def test_sizes(device, size, count, tmp_path):
    """Values that repeat: of equals the first come first."""
    np.save(tmp_path / "x.npy", np.random.default_rng(size).integers(1, 500, size).astype(np.float32))
    check(device, tmp_path / "x.npy", count)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "double.npy", np.zeros(3))
    for arguments, status in [((), 2), ((tmp_path / "x.npy",), 2), ((tmp_path / "x.npy", 1025), 2),
                              ((tmp_path / "x.npy", "2x"), 2), ((tmp_path / "double.npy", 2), 1),
                              ((tmp_path / "none.npy", 2), 1)]:
        done = run(f"records-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, arguments
