# SPDX-License-Identifier: MIT
"""examples/colours beside numpy.unique."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, draw, run, save_ppm


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device):
    done = draw(f"colours-{device}", ROOT / "examples/data/astronaut.jpg")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    colours, times = zip(*(line.split() for line in done.stdout.splitlines()))
    assert list(colours) == sorted(set(colours)) and sum(map(int, times)) == 384 * 384


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tones", [1, 2, 6, 256])
@pytest.mark.parametrize("width, height", [(1, 1), (50, 1), (17, 5), (331, 67)])
def test_shapes(device, width, height, tones, tmp_path):
    rgb = np.random.default_rng(width).integers(0, tones, (height, width, 3)) * (255 // max(tones - 1, 1))
    save_ppm(tmp_path / "picture.ppm", rgb)
    colours, times = np.unique(rgb @ [1 << 16, 1 << 8, 1], return_counts=True)
    done = draw(f"colours-{device}", tmp_path / "picture.ppm")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [[f"#{colour:06x}", str(count)]
                                                                   for colour, count in zip(colours, times)]


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    for picture in ("text.png", "none.png"):
        done = draw(f"colours-{device}", tmp_path / picture)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
        assert picture in done.stderr
    for arguments in ([], ["a.png", "b.png"]):
        done = run(f"colours-{device}", *arguments)
        assert done.returncode == 2 and "usage: " in done.stderr, arguments
