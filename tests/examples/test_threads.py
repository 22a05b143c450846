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
    assert len(parts) == len(SHAPES)
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
    for (width, height), part in zip([(16, 8), (14, 8)], re.split(r"\n(?=2 blocks of )", done.stdout)[1:]):
        head, *blocks = re.split(r"\n(?=block )", part)
        assert re.fullmatch(rf"2 blocks of {width} x {height}: \d+\.\d{{4}} ms for {2 * width * height} threads, "
                            r"\d+\.\d{3} us each", head)
        assert len(blocks) == 2
        for block in blocks:
            title, *rows = block.rstrip("\n").splitlines()
            clocks = [int(cell) for row in rows for cell in row.split("ids")[0].split()]
            assert len(clocks) == width * height and min(clocks) == 0
            assert max(clocks) == int(re.search(r"the last: (\d+)", title)[1]) > 0
            for y, row in enumerate(rows):
                ids = range(y * width, (y + 1) * width)
                warps = " ".join(sorted({chr(ord("A") + i // 32) for i in ids}))
                assert row.endswith(f"   ids {ids[0]} to {ids[-1]}, warp {warps}")
