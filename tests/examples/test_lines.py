# SPDX-License-Identifier: MIT
"""examples/lines beside NumPy's sums, and the average line of pictures whose every byte is known."""
import random

import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, pixels, run


def check(path, wanted, done):
    assert done.returncode == 0 and done.stderr == "", done.stderr
    found = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [int(row) for row, _ in found] == list(range(len(wanted)))
    assert np.allclose([float(sum) for _, sum in found], wanted, rtol=1e-10, atol=1e-9), path


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_sum_of_each_year(device):
    path = ROOT / "examples/data/sunspots.npy"
    check(path, np.load(path).astype(np.float64).reshape(-1, 12).sum(axis=1), run(f"lines-{device}", path, 12))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(1, 1), (300, 3), (7, 1000), (2, 30000), (0, 5), (5, 0)])
def test_shapes(device, order, shape, tmp_path):
    matrix = np.random.default_rng(shape).standard_normal(shape).astype(np.float32)
    np.save(tmp_path / "x.npy", np.asarray(matrix, order=order))
    check(shape, matrix.astype(np.float64).sum(axis=1), run(f"lines-{device}", tmp_path / "x.npy"))


def mean_line(device, picture, line):
    done = run(f"lines-{device}", "--mean", picture, line)
    if "built without stb_image" in done.stderr:
        pytest.skip("no stb_image")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return pixels(line)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device, tmp_path):
    """All lines are alike, and no column is black or white throughout."""
    line = mean_line(device, ROOT / "examples/data/astronaut.jpg", tmp_path / "line.png")
    assert line.shape == (32, 384, 3) and (line == line[0]).all() and line.min() > 20 and line.max() < 235


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width, height", [(1, 1), (1, 50), (50, 1), (17, 5), (131, 67)])
def test_pictures(device, width, height, tmp_path):
    data = random.Random(width).randbytes(3 * width * height)
    (tmp_path / "picture.ppm").write_bytes(b"P6 %d %d 255\n" % (width, height) + data)
    sums = np.frombuffer(data, np.uint8).reshape(height, width, 3).sum(axis=0, dtype=np.int64)
    line = mean_line(device, tmp_path / "picture.ppm", tmp_path / "line.png")
    assert (line == (sums + height // 2) // height).all() and line.shape == (32, width, 3)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(12, np.float32))
    np.save(tmp_path / "double.npy", np.zeros((3, 4)))
    for arguments, status in [((), 2), ((tmp_path / "x.npy", 0), 2), ((tmp_path / "x.npy", "4x"), 2),
                              (("--mean", "picture"), 2), ((tmp_path / "x.npy",), 1), ((tmp_path / "x.npy", 5), 1),
                              ((tmp_path / "double.npy",), 1), ((tmp_path / "none.npy",), 1),
                              (("--mean", tmp_path / "none.png", tmp_path / "line.png"), 1)]:
        done = run(f"lines-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr, arguments
