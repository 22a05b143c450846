# SPDX-License-Identifier: MIT
"""examples/psnr beside NumPy."""
import numpy as np
import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, draw, run, save_ppm


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_of_itself(device):
    path = ROOT / "examples/data/astronaut.jpg"
    done = draw(f"psnr-{device}", path, path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "mean squared difference 0, PSNR inf dB\n", "")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width, height", [(1, 1), (50, 1), (17, 5), (131, 67), (1000, 300)])
def test_shapes(device, width, height, tmp_path):
    a, b = np.random.default_rng(width).integers(0, 256, (2, height, width, 3))
    for path, rgb in (("a.ppm", a), ("b.ppm", b)):
        save_ppm(tmp_path / path, rgb)
    done = draw(f"psnr-{device}", tmp_path / "a.ppm", tmp_path / "b.ppm")
    mean = ((a - b)**2).sum() / a.size
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"mean squared difference {mean:.6g}, PSNR {10 * np.log10(255**2 / mean):.2f} dB\n"


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    save_ppm(tmp_path / "a.ppm", np.zeros((2, 3, 3)))
    save_ppm(tmp_path / "b.ppm", np.zeros((3, 2, 3)))
    for other, said in [("b.ppm", "is 3 x 2 and "), ("none.ppm", "none.ppm: cannot read")]:
        done = draw(f"psnr-{device}", tmp_path / "a.ppm", tmp_path / other)
        assert done.returncode == 1 and done.stdout == "" and said in done.stderr and done.stderr.count("\n") == 1
    assert run(f"psnr-{device}", "a.png").returncode == 2
