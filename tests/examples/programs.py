# SPDX-License-Identifier: MIT
"""The examples as built, each for the CPU device and, where there is one, for the GPU."""
import ctypes
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = Path(os.environ.get("BUILD") or ROOT / "build" / "meson") / "examples"


def have_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and not driver.cuDeviceGetCount(ctypes.byref(count)) and count.value > 0


def devices():
    """Parameters of a test: the endings of the programs' names."""
    reason = ("" if have_gpu() else "no GPU") or ("" if (EXAMPLES / "stats-cuda").exists() else
                                                  "not built for the GPU")
    return ["simt", pytest.param("cuda", marks=pytest.mark.skipif(bool(reason), reason=reason))]


def run(name, *arguments, cwd=ROOT):
    return subprocess.run([EXAMPLES / name, *map(str, arguments)], cwd=cwd, text=True,
                          capture_output=True)
