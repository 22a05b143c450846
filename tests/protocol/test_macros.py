# SPDX-License-Identifier: MIT
"""An inclusion leaves no macro behind: not its parameters, not its defaults, not its own."""
import pytest

from headers import (CXX, HEADERS, INCLUDE, NO_NVCC, TOOLKIT, SIMT, compile_source, inclusion, is_template,
                     parameters)

INCLUDES = {
    "simt": SIMT[:1],
    "toolkit": TOOLKIT,
    "nvrtc": ["-D__CUDACC_RTC__"],  # which leaves the host part out, and so needs no runtime
}
# The preprocessor looks at the values of these only.
NUMBERS = {"BLOCK_DIM": "64", "COARSE_FACTOR": "2", "CFACTOR": "2", "NUM_BINS": "64",
           "COARSEN_INPUTS": "2", "COARSEN_RADIUS": "2", "COARSEN_CHANNELS": "2",
           "COARSEN_RED": "65536", "COARSEN_GREEN": "0", "COARSEN_BLUE": "0",
           "TILE_WIDTH": "8", "BM": "64", "BN": "64", "BK": "8", "TM": "4", "TN": "4",
           "COARSEN_SLICES": "1", "COARSEN_STAGES": "2"}


def macros(source, includes, folder):
    said = compile_source([*CXX, "-x", "c++", "-E", "-dM", *includes, f"-I{INCLUDE}"], source, folder)
    assert "exit status" not in said, said
    return set(said.splitlines())


@pytest.mark.parametrize("runtime", INCLUDES)
@pytest.mark.parametrize("header", HEADERS)
def test_macros_are_as_before(header, runtime, tmp_path):
    if not INCLUDES[runtime]:
        pytest.skip(NO_NVCC)
    every = {name: NUMBERS.get(name, "float") for name in parameters(header)}
    once = inclusion(header)  # the guarded helpers stay, so they come first
    before = macros(once, INCLUDES[runtime], tmp_path)
    assert any("COARSEN_VERSION" in line for line in before)
    assert macros(once * 2, INCLUDES[runtime], tmp_path) ^ before == set()
    assert macros(once + inclusion(header, **every), INCLUDES[runtime], tmp_path) ^ before == set()
    if is_template(header):
        left = {line.split()[1].split("(")[0] for line in before} & set(parameters(header))
        assert not left
