# SPDX-License-Identifier: MIT
"""The ends of what docs/compat.md says that the headers work with: the oldest NVRTC, the first and the last dialect,
and clang. ./run compat tries all of it."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import compat  # noqa: E402
from headers import NO_NVCC, NVCC  # noqa: E402

OLDEST = "11.8"  # the oldest CUDA that base.h takes
CLANGS = [number for number in compat.CLANGS if compat.clang(number)]
no_oldest = pytest.mark.skipif(not compat.toolkit(OLDEST), reason=f"no CUDA {OLDEST} in build/compat: run ./run compat")


@no_oldest
@pytest.mark.parametrize("column", ["C++11", "sm_90"])
def test_nvrtc(column):
    assert compat.attempt(compat.Nvrtc(OLDEST), column) == {}


@no_oldest
def test_nvrtc_says_which_option():
    """Its dialect is that of 2003, if it is not told another."""
    status, said = compat.Nvrtc(OLDEST).compile("#include <coarsen/reduce.h>\n")
    assert status != 0 and "NVRTC before 12.0 takes it with the option --std=c++11" in said.split("\n")[0]


@pytest.mark.skipif(not NVCC, reason=NO_NVCC)
@pytest.mark.parametrize("column", ["C++11", "C++20"])
def test_nvcc(column):
    """C++17 is what all other tests take."""
    assert compat.attempt(compat.Nvcc(NVCC[0], "here"), column) == {}


@no_oldest
@pytest.mark.skipif(not CLANGS, reason="no clang: install one (apt-get install clang, as root)")
@pytest.mark.parametrize("column", ["C++11", "C++20"])
def test_clang(column):
    compiler = compat.Clang(compat.clang(CLANGS[0]), CLANGS[0], OLDEST)
    assert compiler.useless == "" and compat.attempt(compiler, column) == {}


def test_the_page_has_each_compiler():
    """The table of docs/compat.md is one that ./run compat wrote: a row for each part of what it installs."""
    table = compat.PAGE.read_text().split(compat.BEGIN)[1].split(compat.END)[0]
    parts = [line[2:].strip() for line in (compat.ROOT / "requirements-compat.txt").read_text().splitlines()
             if line.startswith("# ") and line[2:].strip()[0].isdigit()]
    assert len(parts) > 3
    for name in [*(f"NVRTC {part}" for part in parts), *(f"clang {number}" for number in compat.CLANGS), "nvcc"]:
        assert name in table, name
