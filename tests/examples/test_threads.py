# SPDX-License-Identifier: MIT
"""examples/threads: the warps and ids that it prints, worked out here from the definition."""
import re

import pytest
from programs import ALL_DEVICES, DEVICES, run


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("width, height", [(32, 1), (16, 2), (8, 4), (28, 1), (14, 2), (7, 4), (16, 8), (14, 8), (1, 1),
                                           (1024, 1), (1, 1000)])
def test_warps_and_clocks(device, width, height):
    done = run(f"threads-{device}", width, height)
    assert done.returncode == 0 and done.stderr == ""
    threads = width * height
    lanes = -(-threads // 32) * 32
    head, *blocks = re.split(r"^block [01]\n", done.stdout, flags=re.M)
    assert re.fullmatch(rf"2 blocks of {width} x {height}: {threads} threads each, {lanes - threads} of {lanes} lanes idle, "
                        r"\d+\.\d{4} ms\n", head)
    assert len(blocks) == 2
    for block in blocks:
        rows = block.splitlines()
        assert [row.split("  ids ")[1] for row in rows] == [f"{y * width} to {(y + 1) * width - 1}" for y in range(height)]
        cells = [cell for row in rows for cell in row.split("  ids ")[0].split()]
        assert [cell[0] for cell in cells] == ["ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"[i // 32] for i in range(threads)]
        clocks = [int(cell[1:]) for cell in cells]
        assert min(clocks) == 0  # and the lanes of a GPU's warp read together
        assert max(clocks) > 0 or threads <= (32 if device == "cuda" else 1)


@pytest.mark.parametrize("device", DEVICES)
def test_usage(device):
    for arguments in ([], [8], [0, 8], [8, 0], [33, 32], [2**63, 2], ["x", 1]):
        done = run(f"threads-{device}", *arguments)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("usage: "), arguments
