# SPDX-License-Identifier: MIT
"""examples/histogram beside Python's own count."""
import random
import string

import pytest
from programs import ALL_DEVICES, DEVICES, run

KINDS = {"--each": list(string.ascii_lowercase),
         None: [string.ascii_lowercase[i:i + 4] for i in range(0, 26, 4)]}


def histogram(device, path, kind):
    """(the bin's letters, the bar, the count, the percentage) of each row."""
    done = run(f"histogram-{device}", *([kind] if kind else []), path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    rows = []
    for line in done.stdout.splitlines():
        name, *bar, count, percent = line.split()
        rows.append((name, "".join(bar), int(count), percent))
    return rows


def check(device, text, tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(text)
    small = [chr(byte).lower() if byte < 128 else "" for byte in text]
    for kind, bins in KINDS.items():
        rows = histogram(device, path, kind)
        counts = [sum(small.count(letter) for letter in letters) for letters in bins]
        assert [row[0] for row in rows] == [
            letters if len(letters) == 1 else f"{letters[0]}-{letters[-1]}" for letters in bins]
        assert [row[2] for row in rows] == counts
        most, total = max(counts), sum(counts)
        for (_, bar, count, percent) in rows:
            assert abs(float(percent.rstrip("%")) - (100 * count / total if total else 0)) < 0.051
            assert abs(len(bar) - (50 * count / most if most else 0)) <= 1


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


@pytest.mark.parametrize("device", DEVICES)
def test_files_that_are_none(device, tmp_path):
    for path in (tmp_path / "missing.txt", tmp_path):
        done = run(f"histogram-{device}", path)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith(f"{path}: can't read it: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("device", DEVICES)
def test_usage(device, tmp_path):
    for arguments in ([], ["one", "two"], ["--bins", "file"]):
        done = run(f"histogram-{device}", *arguments)
        assert done.returncode == 2 and done.stdout == "" and "usage: histogram" in done.stderr
    assert run(f"histogram-{device}", "--help").stdout.startswith("usage: histogram")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width, height", [(1, 1), (31, 3), (257, 129)])
def test_tones(device, width, height, tmp_path):
    rgb = random.Random(width).randbytes(3 * width * height)
    path = tmp_path / "picture.ppm"
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + rgb)
    done = run(f"histogram-{device}", "--tones", path)
    if "built without stb_image" in done.stderr:
        pytest.skip("no stb_image")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    tones = [(19595 * r + 38470 * g + 7471 * b + 32768) >> 16
             for r, g, b in zip(rgb[::3], rgb[1::3], rgb[2::3])]
    counts = [sum(tone // 16 == bin for tone in tones) for bin in range(16)]
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [int(row[-2]) for row in rows] == counts
    assert [row[0] for row in rows] == [f"{16 * bin}-{16 * bin + 15}" for bin in range(16)]


@pytest.mark.parametrize("device", DEVICES)
def test_no_picture(device, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("no picture")
    done = run(f"histogram-{device}", "--tones", path)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert str(path) in done.stderr
