# SPDX-License-Identifier: MIT
"""The examples as built, each for the CPU device and, where there is one, for the GPU."""
import ctypes
import os
import shlex
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
STB = ROOT / "build" / "stb" / "usr" / "include"  # where ./run unpacks it, if the system has none
EXAMPLES = Path(os.environ.get("BUILD") or ROOT / "build" / "meson") / "examples"


def have_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return (driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and
            count.value > 0)


if not have_gpu():
    NO_CUDA = "no GPU"
elif not (EXAMPLES / "stats-cuda").exists():
    NO_CUDA = "not built for the GPU"
else:
    NO_CUDA = ""

# Parameters of tests, the endings of the programs' names: those that can run; and all, for the one
# test of each program that says what was left out.
DEVICES = ["simt"] if NO_CUDA else ["simt", "cuda"]
ALL_DEVICES = ["simt", pytest.param("cuda", marks=pytest.mark.skipif(NO_CUDA != "",
                                                                     reason=NO_CUDA))]


def build(name, folder, faults=(), flags=()):
    """Builds an example for the CPU device in a new folder, after the faults: (header, right, wrong)."""
    library = os.environ.get("SIMT_LIB")
    if not library:
        pytest.skip("SIMT_LIB is not set: run it through meson test")
    for part in ("include", "examples"):
        shutil.copytree(ROOT / part, folder / part)
    for header, right, wrong in faults:
        path = folder / "include/coarsen" / header
        text = path.read_text()
        assert text.count(right) == 1, header
        path.write_text(text.replace(right, wrong))
    flags = [*shlex.split(os.environ.get("SIMT_FLAGS") or ""), f"-I{STB}", *flags]
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    subprocess.run([*compiler, "-x", "c++", "-O0", "-c", *flags, f"-I{folder}/include/simt", f"-I{folder}/include",
                    "-o", folder / f"{name}.o", folder / f"examples/{name}.cu"], check=True)
    stb = [f"-I{STB}", folder / "examples/stb.c"] if "picture.h" in (folder / f"examples/{name}.cu").read_text() else []
    subprocess.run([*compiler, "-w", "-o", folder / name, folder / f"{name}.o", *stb, library, "-lpthread", "-ldl"],
                   check=True)
    return folder / name


def gray(rgb):
    """Of an array of pixels, as coarsen/image.h has it."""
    r, g, b = np.moveaxis(np.asarray(rgb, np.int64), -1, 0)
    return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16


def save_ppm(path, rgb):
    """A picture of height x width x 3 bytes, which stb_image reads too."""
    rgb = np.asarray(rgb, np.uint8)
    path.write_bytes(b"P6 %d %d 255\n" % (rgb.shape[1], rgb.shape[0]) + rgb.tobytes())


def draw(name, *arguments):
    """Runs an example that reads pictures, where there is stb_image."""
    done = run(name, *arguments)
    if "built without stb_image" in done.stderr:
        pytest.skip("no stb_image")
    return done


def run(name, *arguments, cwd=ROOT):
    return subprocess.run([EXAMPLES / name, *map(str, arguments)], cwd=cwd, text=True,
                          capture_output=True)


def pixels(path):
    """The bytes of a PNG of 8-bit gray or RGB, as height x width x channels."""
    data = path.read_bytes()
    at, parts = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        parts[kind] = parts.get(kind, b"") + data[at + 8:at + 8 + size]
        at += size + 12
    width, height, depth, colour = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    channels = {0: 1, 2: 3}[colour]
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, -1)
    before = np.zeros(channels * width, int)
    out = []
    for row in rows:
        line, (kind, *rest) = [0] * channels, map(int, row)
        corner = [*[0] * channels, *before]
        for i, value in enumerate(rest):  # PNG's filters: none, left, above, mean, Paeth
            left, above, both = line[i], int(before[i]), int(corner[i])
            near = min((left, above, both), key=lambda x: abs(left + above - both - x))
            line.append((value + [0, left, above, (left + above) // 2, near][kind]) % 256)
        out.append(line[channels:])
        before = np.array(line[channels:])
    return np.array(out).reshape(height, width, channels)
