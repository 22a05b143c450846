# SPDX-License-Identifier: MIT
"""examples/threads: the lanes and warps it draws, worked out here from the definition."""
import re

import pytest
from programs import ALL_DEVICES, run

SHAPES = [(32, 1), (16, 2), (8, 4), (28, 1), (14, 2), (7, 4), (16, 8), (14, 8)]


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_warps_and_clocks(device):
    done = run(f"threads-{device}")
    assert done.returncode == 0 and done.stderr == ""
    parts = re.split(r"\n(?=\d+ x \d+: )", done.stdout)[1:]
    assert len(parts) == len(SHAPES) + 2
    for (width, height), part in zip(SHAPES, parts):
        threads = width * height
        warps = -(-threads // 32)
        idle = 32 * warps - threads
        head, *rows = part.split("\n\n")[0].splitlines()
        assert head.startswith(f"{width} x {height}: {threads} threads, {warps} warp")
        assert head.endswith(f", {idle} of {32 * warps} lanes idle ({100 * idle / 32 / warps:.1f}%)")
        block = [row[4:4 + width] for row in rows[:height]]
        assert block == ["".join(chr(ord("A") + (x + width * y) // 32) for x in range(width))
                         for y in range(height)]
        lanes = "".join(re.findall(r"warp [A-Z]  (\S{32})", part))
        assert lanes == "#" * threads + "." * idle
    for (width, height), part in zip([(16, 8), (14, 8)], parts[-2:]):
        head, *rows = part.splitlines()
        clocks = [int(cell) for row in rows for cell in row.split()]
        assert len(clocks) == width * height and min(clocks) == 0
        assert max(clocks) == int(re.search(r"the last: (\d+)", head)[1]) > 0
