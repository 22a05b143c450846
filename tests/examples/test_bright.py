# SPDX-License-Identifier: MIT
"""examples/bright beside NumPy: how many are bright, and the picture, which has each of them and no other."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, draw, gray, pixels, run, save_ppm


def check(device, rgb, tone, tmp_path):
    save_ppm(tmp_path / "picture.ppm", rgb)
    done = draw(f"bright-{device}", tmp_path / "picture.ppm", tmp_path / "bright.png", *([] if tone is None else [tone]))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    bright = gray(rgb) >= (192 if tone is None else tone)
    assert done.stdout == f"{bright.sum()} of {bright.size} pixels are bright ({100 * bright.mean():.1f}%)\n"
    assert (pixels(tmp_path / "bright.png") == rgb * bright[..., None]).all()


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device, tmp_path):
    """With a tone of 0 it is the picture itself, for which the host has no reader."""
    done = draw(f"bright-{device}", ROOT / "examples/data/astronaut.jpg", tmp_path / "all.png", 0)
    assert done.stdout == "147456 of 147456 pixels are bright (100.0%)\n"
    check(device, pixels(tmp_path / "all.png"), None, tmp_path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tone", [0, 128, 250, 255])
@pytest.mark.parametrize("width, height", [(1, 1), (50, 1), (17, 5), (131, 67)])
def test_shapes(device, width, height, tone, tmp_path):
    check(device, np.random.default_rng(width).integers(0, 256, (height, width, 3)), tone, tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    for picture in ("text.png", "none.png"):
        done = draw(f"bright-{device}", tmp_path / picture, tmp_path / "bright.png")
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
        assert picture in done.stderr
    for arguments in ([], ["a.png"], ["a.png", "b.png", "x"], ["a.png", "b.png", "256"], ["a.png", "b.png", "1", "2"]):
        done = run(f"bright-{device}", *arguments)
        assert done.returncode == 2 and "usage: " in done.stderr, arguments
