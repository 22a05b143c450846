# SPDX-License-Identifier: MIT
"""examples/heat beside NumPy's steps."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, draw, pixels, run, save_ppm


def steps_of(cells, steps):
    """The cells after so many steps, in double."""
    for _ in range(steps):
        ends = np.pad(cells, 1, "edge")
        cells = 0.5 * cells + 0.125 * (ends[:-2, 1:-1] + ends[2:, 1:-1] + ends[1:-1, :-2] + ends[1:-1, 2:])
    return cells


def check(device, rgb, steps, tmp_path):
    save_ppm(tmp_path / "picture.ppm", rgb)
    done = draw(f"heat-{device}", tmp_path / "picture.ppm", steps, tmp_path / "warm.png")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout == f"{tmp_path}/warm.png: {rgb.shape[1]} x {rgb.shape[0]}, after {steps} steps\n"
    # A step rounds 8 times, by at most half an epsilon of 255; and the picture is rounded to whole grays.
    error = 0.5 + 4 * (steps + 1) * np.finfo(np.float32).eps * 255
    assert (abs(pixels(tmp_path / "warm.png")[..., 0] - steps_of(rgb @ [0.299, 0.587, 0.114], steps)) <= error).all()


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device, tmp_path):
    """What is gray stays what it is in 0 steps. So this is what the photograph is after 3 steps, and then after 2 more."""
    done = draw(f"heat-{device}", ROOT / "examples/data/astronaut.jpg", 3, tmp_path / "warm.png")
    assert done.returncode == 0 and done.stdout.endswith(": 384 x 384, after 3 steps\n"), done.stderr
    warm = pixels(tmp_path / "warm.png")
    assert warm.std() > 50
    check(device, np.repeat(warm, 3, axis=2), 2, tmp_path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("width, height", [(1, 1), (300, 1), (1, 5), (129, 33), (68, 17)])
def test_shapes(device, width, height, steps, tmp_path):
    check(device, np.random.default_rng(width).integers(0, 256, (height, width, 3)), steps, tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_white_stays_white(device, tmp_path):
    """No cell is more than 255, however it is rounded."""
    check(device, np.full((40, 70, 3), 255), 30, tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    done = draw(f"heat-{device}", tmp_path / "none.png", 1, tmp_path / "warm.png")
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1 and "none.png: " in done.stderr
    for words in ([], ["1"], ["x", "w.png"], ["-1", "w.png"], ["", "w.png"], ["9" * 30, "w.png"], ["1", "w.png", "x"]):
        done = run(f"heat-{device}", "a.png", *words)
        assert done.returncode == 2 and done.stderr.startswith("usage: ")
