# SPDX-License-Identifier: MIT
"""examples/words beside sorted()."""
import random
import re

import pytest
from programs import ALL_DEVICES, DEVICES, ROOT, run


def check(path, device):
    words = re.findall(rb"[a-z\x80-\xff]+", path.read_bytes().lower())
    done = run(f"words-{device}", path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.splitlines() == [word.decode() for word in sorted(words)]


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("path", ["README.md", "LICENSE", "docs/simt.md"])
def test_a_text(device, path):
    check(ROOT / path, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("text", ["", " ", "one", "One one, two!", "a b a\n" * 3000, "x" * 100000, "é e\nè é",
                                  "x" * 65536, "x" * 65535 + " y"])
def test_texts(device, text, tmp_path):
    (tmp_path / "text").write_text(text)
    check(tmp_path / "text", device)


@pytest.mark.parametrize("device", DEVICES)
def test_beginnings(device, tmp_path):
    """Words that begin alike, so that one ends where another goes on; a zero byte is no letter."""
    chosen = random.Random(3)
    (tmp_path / "text").write_text("\0".join("ab" * chosen.randrange(20) + "abc"[:chosen.randrange(4)] for _ in range(20000)))
    check(tmp_path / "text", device)


@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, tmp_path):
    for arguments, status in [((), 2), (("LICENSE", 4), 2), ((tmp_path / "none",), 1), ((tmp_path,), 1)]:
        done = run(f"words-{device}", *arguments)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, arguments
