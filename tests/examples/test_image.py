# SPDX-License-Identifier: MIT
"""examples/image beside NumPy, on pictures of odd shapes and on what is no picture; and the rungs that it takes."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, build, draw, gray, pixels, run, save_ppm

RUNGS = ["grayscale_single", "grayscale_coarsened"]
RADIUS = 3


def blurred(rgb):
    """The mean of each box, as far as it is in the picture, rounded to the nearest."""
    ones = np.pad(np.ones(rgb.shape[:2], np.int64), RADIUS)[..., None]
    inside = np.pad(rgb.astype(np.int64), ((RADIUS, RADIUS), (RADIUS, RADIUS), (0, 0)))
    height, width, _ = rgb.shape
    shifts = [np.s_[v:v + height, u:u + width] for v in range(2 * RADIUS + 1) for u in range(2 * RADIUS + 1)]
    total, count = (sum(array[shift] for shift in shifts) for array in (inside, ones))
    return (total + count // 2) // count


def check(program, rgb, tmp_path):
    save_ppm(tmp_path / "picture.ppm", rgb)
    done = draw(program, tmp_path / "picture.ppm", tmp_path / "gray.png", tmp_path / "blur.png")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout == "{0}/gray.png, {0}/blur.png: {1} x {2}\n".format(tmp_path, rgb.shape[1], rgb.shape[0])
    assert (pixels(tmp_path / "gray.png")[..., 0] == gray(rgb)).all()
    assert (pixels(tmp_path / "blur.png") == blurred(rgb)).all()


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device, tmp_path):
    """Its blur, blurred again, and what is gray already: the host reads no JPEG."""
    done = draw(f"image-{device}", ROOT / "examples/data/astronaut.jpg", tmp_path / "gray.png", tmp_path / "blur.png")
    assert done.returncode == 0 and done.stdout.endswith(": 384 x 384\n"), done.stderr
    check(f"image-{device}", pixels(tmp_path / "blur.png")[:97], tmp_path)
    tones = pixels(tmp_path / "gray.png")
    check(f"image-{device}", np.repeat(tones[:, 5:90], 3, axis=2), tmp_path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width, height", [(1, 1), (1, 50), (50, 1), (17, 5), (131, 67)])
def test_shapes(device, width, height, tmp_path):
    check(f"image-{device}", np.random.default_rng(width).integers(0, 256, (height, width, 3)), tmp_path)


@pytest.mark.parametrize("rung", RUNGS)
def test_rungs(rung, tmp_path):
    program = build("image", tmp_path / "build", flags=[f"-DRUNG=<coarsen/image/{rung}.h>"])
    check(program, np.random.default_rng(1).integers(0, 256, (67, 131, 3)), tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    for picture in ("text.png", "none.png"):
        done = draw(f"image-{device}", tmp_path / picture, tmp_path / "gray.png", tmp_path / "blur.png")
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
        assert picture in done.stderr
    save_ppm(tmp_path / "fine.ppm", [[[1, 2, 3]]])
    done = draw(f"image-{device}", tmp_path / "fine.ppm", tmp_path / "none" / "gray.png", tmp_path / "blur.png")
    assert done.returncode == 1 and "none/gray.png: cannot write" in done.stderr
    assert run(f"image-{device}").returncode == 2
