# SPDX-License-Identifier: MIT
"""examples/image, which checks every sample itself, on pictures of odd shapes and on what is no picture."""
import random

import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def image(device, picture, tmp_path):
    done = run(f"image-{device}", picture, tmp_path / "gray.png", tmp_path / "blur.png")
    if "built without stb_image" in done.stderr:
        pytest.skip("no stb_image")
    return done


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device, tmp_path):
    done = image(device, ROOT / "examples" / "data" / "astronaut.jpg", tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.count("384 x 384, every sample checked") == 2
    for name in ("gray.png", "blur.png"):
        assert (tmp_path / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width, height", [(1, 1), (1, 50), (50, 1), (17, 5), (131, 67)])
def test_shapes(device, width, height, tmp_path):
    path = tmp_path / "picture.ppm"
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) +
                     random.Random(width).randbytes(3 * width * height))
    done = image(device, path, tmp_path)
    assert done.returncode == 0 and done.stdout.count("every sample checked") == 2, done.stderr


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    for picture in ("text.png", "none.png"):
        done = image(device, tmp_path / picture, tmp_path)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
        assert picture in done.stderr
    assert run(f"image-{device}").returncode == 2
