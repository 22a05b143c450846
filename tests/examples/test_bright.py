# SPDX-License-Identifier: MIT
"""examples/bright, which checks every place itself, beside a count in Python."""
import random

import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def bright(device, picture, tmp_path, *tone):
    done = run(f"bright-{device}", picture, tmp_path / "bright.png", *tone)
    if "built without stb_image" in done.stderr:
        pytest.skip("no stb_image")
    return done


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device, tmp_path):
    done = bright(device, ROOT / "examples" / "data" / "astronaut.jpg", tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert " of 147456 pixels are bright " in done.stdout and done.stdout.endswith(", every place checked\n")
    assert (tmp_path / "bright.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tone", [0, 128, 250, 255])
@pytest.mark.parametrize("width, height", [(1, 1), (50, 1), (17, 5), (131, 67)])
def test_shapes(device, width, height, tone, tmp_path):
    rgb = random.Random(width).randbytes(3 * width * height)
    path = tmp_path / "picture.ppm"
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + rgb)
    places = [i for i, (r, g, b) in enumerate(zip(rgb[::3], rgb[1::3], rgb[2::3]))
              if (19595 * r + 38470 * g + 7471 * b + 32768) >> 16 >= tone]
    columns = [i % width for i in places]
    where = places and (f", in columns {min(columns)} to {max(columns)} and rows {places[0] // width} "
                        f"to {places[-1] // width}")
    done = bright(device, path, tmp_path, tone)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout == (f"{len(places)} of {width * height} pixels are bright "
                           f"({100 * len(places) / (width * height):.1f}%){where or ''}, every place checked\n")


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    for picture in ("text.png", "none.png"):
        done = bright(device, tmp_path / picture, tmp_path)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
        assert picture in done.stderr
    for arguments in ([], ["a.png"], ["a.png", "b.png", "x"], ["a.png", "b.png", "256"], ["a.png", "b.png", "1", "2"]):
        done = run(f"bright-{device}", *arguments)
        assert done.returncode == 2 and "usage: " in done.stderr, arguments
