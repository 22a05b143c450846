# SPDX-License-Identifier: MIT
"""examples/lines beside NumPy's sums."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def check(wanted, done):
    assert done.returncode == 0 and done.stderr == "", done.stderr
    found = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [int(row) for row, _ in found] == list(range(len(wanted)))
    assert np.allclose([float(sum) for _, sum in found], wanted, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_sum_of_each_year(device):
    path = ROOT / "examples/data/sunspots.npy"
    check(np.load(path).astype(np.float64).reshape(-1, 12).sum(axis=1), run(f"lines-{device}", path, 12))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(1, 1), (300, 3), (7, 1000), (2, 30000), (0, 5), (5, 0)])
def test_shapes(device, order, shape, tmp_path):
    matrix = np.random.default_rng(shape).standard_normal(shape).astype(np.float32)
    np.save(tmp_path / "x.npy", np.asarray(matrix, order=order))
    check(matrix.astype(np.float64).sum(axis=1), run(f"lines-{device}", tmp_path / "x.npy"))


@pytest.mark.parametrize("device", DEVICES)
def test_one_dimension_has_no_order(device, tmp_path):
    """A file may say that it is in Fortran order, which NumPy does not write of one dimension."""
    array = np.arange(12, dtype=np.float32)
    head = b"{'descr': '<f4', 'fortran_order': True, 'shape': (12,)}"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + array.tobytes())
    check(array.reshape(3, 4).sum(axis=1), run(f"lines-{device}", tmp_path / "x.npy", 4))


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(12, np.float32))
    np.save(tmp_path / "matrix.npy", np.zeros((3, 4), np.float32))
    np.save(tmp_path / "double.npy", np.zeros((3, 4)))
    for arguments, status in [((), 2), ((tmp_path / "x.npy", 0), 2), ((tmp_path / "x.npy", "4x"), 2),
                              ((tmp_path / "x.npy", 4, 4), 2), ((tmp_path / "x.npy",), 1), ((tmp_path / "x.npy", 5), 1),
                              ((tmp_path / "matrix.npy", 6), 1), ((tmp_path / "double.npy",), 1),
                              ((tmp_path / "none.npy",), 1)]:
        done = run(f"lines-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, arguments
