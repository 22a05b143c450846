# SPDX-License-Identifier: MIT
"""examples/heat beside NumPy's steps."""
import re

import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, build_wrong, pixels, run


def steps_of(array, steps):
    """The array after each step, in double."""
    for _ in range(steps):
        before, array = array, 0.25 * array
        for axis in range(before.ndim):
            ends = np.pad(before, [(int(axis == d),) * 2 for d in range(before.ndim)], "edge")
            array += 0.125 * (ends.take(range(before.shape[axis]), axis) +
                              ends.take(range(2, before.shape[axis] + 2), axis))
        array += 0.25 * (3 - before.ndim) * before  # an axis that it has not is one of one cell
        yield array


def lines(done):
    """The steps that have a line, and the largest change of each."""
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return {int(step): float(change)
            for step, change in re.findall(r"^step (\d+): the largest change is (.*)$", done.stdout, re.M)}


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device, tmp_path):
    done = run(f"heat-{device}", ROOT / "examples/data/astronaut.jpg", 6, 3, tmp_path / "warm")
    if "built without stb_image" in done.stderr:
        pytest.skip("no stb_image")
    assert list(lines(done)) == [3, 6] and "384 x 384 x 1 cells from 0 to 255" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["warm-3.png", "warm-6.png"]
    early, late = (pixels(tmp_path / f"warm-{s}.png")[..., 0].astype(float) for s in (3, 6))
    assert early.shape == (384, 384) and abs(early.mean() - late.mean()) < 0.01
    for _, wanted in zip(range(3), steps_of(early, 3)):
        pass
    assert abs(wanted - late).max() <= 1.01  # each picture is rounded to whole grays


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1,), (7,), (300,), (5, 1), (33, 129), (3, 5, 7), (1, 1, 64), (17, 9, 68)])
@pytest.mark.parametrize("order", "CF")
def test_shapes(device, shape, order, tmp_path):
    array = np.random.default_rng(sum(shape)).normal(0, 100, shape).astype(np.float32, order=order)
    np.save(tmp_path / "x.npy", array)
    done = run(f"heat-{device}", tmp_path / "x.npy", 5, 0, tmp_path / "x")
    fastest_first = shape if array.flags.f_contiguous and not array.flags.c_contiguous else shape[::-1]
    assert done.stdout.startswith("%d x %d x %d cells from " % (*fastest_first, 1, 1)[:3])
    *_, before, after = [array, *steps_of(array.astype(np.float64), 5)]
    assert lines(done) == {5: pytest.approx(abs(after - before).max(), rel=1e-3, abs=1e-4)}
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize("device", DEVICES)
def test_a_volume_is_drawn(device, tmp_path):
    """A warm middle slice between cold ones, of which the first row alone stays in its picture."""
    array = np.zeros((5, 4, 6), np.float32)
    array[2, 0] = 8
    np.save(tmp_path / "x.npy", array)
    done = run(f"heat-{device}", tmp_path / "x.npy", 1, 1, tmp_path / "x")
    if "built without stb_image" in done.stderr:
        pytest.skip("no stb_image")
    assert lines(done) == {1: 3.0}
    assert pixels(tmp_path / "x-1.png")[..., 0].tolist() == [[159] * 6, [32] * 6, [0] * 6, [0] * 6]


@pytest.mark.parametrize("device", DEVICES)
def test_no_steps(device, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    assert lines(run(f"heat-{device}", tmp_path / "x.npy", 0, 1, tmp_path / "x")) == {}


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    ones = np.ones(3, np.float32)
    for name, array in [("fine", ones), ("double", np.ones(3)), ("none", ones[:0]), ("nan", ones * np.nan),
                        ("large", ones * 1e38), ("number", np.float32(3)), ("four", ones.reshape(1, 1, 1, 3))]:
        np.save(tmp_path / f"{name}.npy", array)
    for name in ("double", "none", "nan", "large", "number", "four", "missing"):
        done = run(f"heat-{device}", tmp_path / f"{name}.npy", 1, 0, tmp_path / "x")
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, name
        assert f"{name}.npy: " in done.stderr
    for words in ([], ["1", "1"], ["x", "1", "x"], ["1", "-1", "x"], ["1", "", "x"], ["9" * 30, "1", "x"]):
        done = run(f"heat-{device}", tmp_path / "fine.npy", *words)
        assert done.returncode == 2 and done.stderr.startswith("usage: ")


def test_a_wrong_cell_is_seen(tmp_path):
    """Built against a stencil that does not move on to the next slice."""
    fault = ("stencil/vectorized.h", "along_z[r][s] = along_z[r][s + 1];", ";")
    np.save(tmp_path / "x.npy", np.random.default_rng(1).random((5, 6, 7)).astype(np.float32))
    done = run(build_wrong("heat", [fault], tmp_path / "build"), tmp_path / "x.npy", 3, 1, tmp_path / "x")
    assert done.returncode == 1 and done.stderr.startswith("heat: after step 1 cell ")
