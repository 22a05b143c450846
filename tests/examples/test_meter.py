# SPDX-License-Identifier: MIT
"""examples/meter beside NumPy's mean and standard deviation."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, draw, gray, run, save_ppm


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_photograph(device):
    done = draw(f"meter-{device}", ROOT / "examples/data/astronaut.jpg", 0, 0, 384, 384)
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("147456 pixels, mean "), done.stderr


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("part", [(0, 0, 131, 67), (0, 0, 1, 1), (130, 66, 1, 1), (3, 5, 17, 50), (90, 0, 41, 1),
                                  (64, 1, 1, 66)])
def test_parts(device, part, tmp_path):
    rgb = np.random.default_rng(1).integers(0, 256, (67, 131, 3))
    save_ppm(tmp_path / "picture.ppm", rgb)
    x, y, width, height = part
    tones = gray(rgb)[y:y + height, x:x + width]
    done = draw(f"meter-{device}", tmp_path / "picture.ppm", *part)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout == f"{tones.size} pixels, mean {tones.mean():.2f}, deviation {tones.std():.2f}\n"


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    save_ppm(tmp_path / "p.ppm", np.zeros((5, 7, 3)))
    for part in [(7, 0, 1, 1), (0, 5, 1, 1), (0, 0, 8, 1), (1, 0, 7, 1), (0, 1, 1, 5), (0, 0, 0, 1), (0, 0, 1, 0),
                 (2**63, 0, 1, 1), (1, 0, 2**64 - 1, 1)]:
        done = draw(f"meter-{device}", tmp_path / "p.ppm", *part)
        assert done.returncode == 2 and done.stdout == "" and "is 7 x 5: give a part" in done.stderr, part
    for arguments, status in [((), 2), ((tmp_path / "p.ppm", 0, 0, 1), 2), ((tmp_path / "p.ppm", 0, 0, 1, -1), 2),
                              ((tmp_path / "none.ppm", 0, 0, 1, 1), 1)]:
        done = run(f"meter-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, arguments
