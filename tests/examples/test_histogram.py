# SPDX-License-Identifier: MIT
"""examples/histogram beside Python's own count."""
import random
import string

import pytest
from programs import ALL_DEVICES, DEVICES, build, run

BINS = [string.ascii_lowercase[i:i + 4] for i in range(0, 26, 4)]


def check(device, text, tmp_path, program=None, bins=BINS):
    path = tmp_path / "text.txt"
    path.write_bytes(text)
    done = run(program or f"histogram-{device}", path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    small = [chr(byte).lower() if byte < 128 else "" for byte in text]
    counts = [sum(small.count(letter) for letter in letters) for letters in bins]
    most = max(*counts, 1)
    assert [line.split() for line in done.stdout.splitlines()] == [
        [f"{letters[0]}-{letters[-1]}", str(count), *(["#" * (50 * count // most)] if 50 * count >= most else [])]
        for letters, count in zip(bins, counts)]


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_own_source(device, tmp_path):
    check(device, open(__file__, "rb").read(), tmp_path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 4099, 100003])
def test_any_bytes(device, size, tmp_path):
    check(device, random.Random(size).randbytes(size), tmp_path)


@pytest.mark.parametrize("device", DEVICES)
def test_every_byte_and_no_letter(device, tmp_path):
    check(device, bytes(range(256)), tmp_path)
    check(device, b"1234 @`[{\n" * 100, tmp_path)
    check(device, b"z" * 70000, tmp_path)


def test_a_bin_per_letter(tmp_path):
    program = build("histogram", tmp_path / "build", flags=["-DLETTERS=1"])
    check("simt", open(__file__, "rb").read(), tmp_path, program, list(string.ascii_lowercase))


@pytest.mark.parametrize("device", DEVICES)
def test_files_that_are_none(device, tmp_path):
    for path in (tmp_path / "missing.txt", tmp_path):
        done = run(f"histogram-{device}", path)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith(f"{path}: cannot read: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("device", DEVICES)
def test_usage(device, tmp_path):
    for arguments in ([], ["one", "two"]):
        done = run(f"histogram-{device}", *arguments)
        assert done.returncode == 2 and done.stdout == "" and "usage: histogram" in done.stderr
