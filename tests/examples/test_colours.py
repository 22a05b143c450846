# SPDX-License-Identifier: MIT
"""examples/colours beside collections.Counter."""
import collections
import random

import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def colours(device, *arguments):
    done = run(f"colours-{device}", *arguments)
    if "built without stb_image" in done.stderr:
        pytest.skip("no stb_image")
    return done


def check(device, path, rgb, most=None):
    count = len(rgb) // 3
    pixels = collections.Counter(rgb[i:i + 3].hex() for i in range(0, len(rgb), 3))
    ordered = sorted(pixels.items(), key=lambda item: (-item[1], item[0]))
    done = colours(device, path, *([most] if most else []))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    head, *lines = done.stdout.splitlines()
    assert head == f"{count} pixels, {len(pixels)} colours"
    assert [line.split() for line in lines] == [[f"#{colour}", str(times), f"{100 * times / count:.2f}%"]
                                                for colour, times in ordered[:most or 10]]


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device):
    done = colours(device, ROOT / "examples" / "data" / "astronaut.jpg")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.startswith("147456 pixels, ") and len(lines) == 10
    times = [int(line.split()[1]) for line in lines]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tones", [1, 2, 6, 256])
@pytest.mark.parametrize("width, height", [(1, 1), (50, 1), (17, 5), (331, 67)])
def test_shapes(device, width, height, tones, tmp_path):
    chosen = random.Random(width)
    rgb = bytes(chosen.randrange(tones) * (255 // max(tones - 1, 1)) for _ in range(3 * width * height))
    path = tmp_path / "picture.ppm"
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + rgb)
    check(device, path, rgb, 1000 if tones == 6 else None)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    for picture in ("text.png", "none.png"):
        done = colours(device, tmp_path / picture)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
        assert picture in done.stderr
    for arguments in ([], ["a.png", "x"], ["a.png", "0"], ["a.png", "-3"], ["a.png", "4", "4"]):
        done = run(f"colours-{device}", *arguments)
        assert done.returncode == 2 and "usage: " in done.stderr, arguments
