# SPDX-License-Identifier: MIT
"""examples/similar beside NumPy's cosines."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def check(device, matrix, done):
    """Elements of 16 bits have 11 digits: the row that is named is the most alike, or nearly so."""
    assert done.returncode == 0 and done.stderr == "", done.stderr
    with np.errstate(invalid="ignore"):
        unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    cosines = np.nan_to_num(unit @ unit.T, nan=-9)
    np.fill_diagonal(cosines, -9)
    found = [(int(row), int(other), float(cosine)) for row, _, _, _, other, cosine in
             (line.replace(":", "").split() for line in done.stdout.splitlines())]
    assert [row for row, _, _ in found] == [row for row in range(len(matrix)) if len(matrix) > 1 and cosines[row].max() > -9]
    for row, other, cosine in found:
        assert abs(cosines[row, other] - cosine) <= 0.002 and cosines[row, other] >= cosines[row].max() - 0.003


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_years(device):
    path = ROOT / "examples/data/sunspots.npy"
    check(device, np.load(path).astype(np.float64).reshape(-1, 12), run(f"similar-{device}", path, 12))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (33, 1), (70, 100)])
@pytest.mark.parametrize("order", "CF")
def test_shapes(device, shape, order, tmp_path):
    matrix = np.random.default_rng(shape).standard_normal(shape).astype(np.float32, order=order)
    matrix[3:4] = 0
    np.save(tmp_path / "x.npy", matrix)
    check(device, matrix.astype(np.float64), run(f"similar-{device}", tmp_path / "x.npy"))


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(12, np.float32))
    for arguments, status in [((), 2), ((tmp_path / "x.npy", 0), 2), ((tmp_path / "x.npy", 5), 1),
                              ((tmp_path / "x.npy",), 1), ((tmp_path / "none.npy", 3), 1)]:
        done = run(f"similar-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, arguments
