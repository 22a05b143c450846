# SPDX-License-Identifier: MIT
"""An inclusion leaves no macro behind: not its parameters, not its defaults, not its own."""
import pytest

from headers import (CXX, HEADERS, INCLUDE, NO_NVCC, TOOLKIT, SIMT, compile_source, foreign, inclusion, is_template,
                     parameters, pattern)

INCLUDES = {
    "simt": SIMT[:1],
    "toolkit": TOOLKIT,
    "nvrtc": ["-D__CUDACC_RTC__"],  # which leaves the host part out, and so needs no runtime
}
# The preprocessor looks at the values of these only.
NUMBERS = {"BLOCK_DIM": "64", "COARSE_FACTOR": "2", "CFACTOR": "2", "NUM_BINS": "64",
           "COARSEN_EXCLUSIVE": "1", "COARSEN_FIXED_TREE": "1", "COARSEN_COUNTED": "1", "COARSEN_VIEW": "1", "COARSEN_INPUTS": "2", "COARSEN_RADIUS": "2", "COARSEN_CHANNELS": "2",
           "COARSEN_PARTITION": "1", "COARSEN_RED": "65536", "COARSEN_GREEN": "0", "COARSEN_BLUE": "0",
           "TILE_WIDTH": "8", "BM": "64", "BN": "64", "BK": "8", "TM": "4", "TN": "4",
           "COARSEN_SLICES": "1", "COARSEN_STAGES": "2", "COARSEN_AXIS": "0", "COARSEN_COMMUTES": "1",
           "COARSEN_ORDER": "2", "COARSEN_BOUNDARY": "COARSEN_CLAMPED", "COARSEN_THREAD_ROWS": "2",
           "COARSEN_STEPS": "2", "COARSEN_CHUNK": "1000", "COARSEN_PANEL": "1000",
           "COARSEN_PART": "1000", "COARSEN_DIVIDED": "1000", "COARSEN_M_TRANSPOSED": "1", "COARSEN_N_TRANSPOSED": "1"}


def macros(source, includes, folder):
    said = compile_source([*CXX, "-x", "c++", "-E", "-dM", *includes, f"-I{INCLUDE}"], source, folder)
    assert "exit status" not in said, said
    return set(said.splitlines())


# Ways to say one thing: with one of them an inclusion cannot have another.
WAYS = {"COARSEN_IF", "COARSEN_AXIS", "COARSEN_FLAG"}, {"COARSEN_OFFSET", "COARSEN_COMMUTES"}, {"COARSEN_KEY", "COARSEN_SAME"}, \
    {"COARSEN_COEFFICIENTS"}, {"COARSEN_STENCIL"}, {"COARSEN_ARGMIN"}, {"COARSEN_ARGMAX"}, \
    {"COARSEN_ACC", "COARSEN_OP", "COARSEN_IDENTITY", "COARSEN_LIFT", "COARSEN_KEY", "COARSEN_SAME"}

# Parameters that are errors in the patterns that do not take them (test_messages.py), as base.h lists them.
FOREIGN = {name for names in foreign().values() for name in names}

# What the user may have for himself when he includes a header of another pattern, or any.
HIS = {name: "(3)" for header in HEADERS for name in parameters(header)} | {
    name: f"{name}_is_mine" for name in ("NAME_", "NAME_kernel", "NAME_launch", "N", "TILE", "THREADS", "min", "max")}


@pytest.mark.parametrize("runtime", INCLUDES)
@pytest.mark.parametrize("header", HEADERS)
def test_macros_are_as_before(header, runtime, tmp_path):
    if not INCLUDES[runtime]:
        pytest.skip(NO_NVCC)
    own = {name for other in HEADERS if pattern(other) == pattern(header) for name in parameters(other)}
    clash = {"BLOCK_DIM", "COARSE_FACTOR", "CFACTOR"} | (  # errors, where they are not own: test_messages.py
        {"BM", "BN", "BK", "TM", "TN", "TILE_WIDTH", "COARSEN_SLICES", "COARSEN_STAGES"} & own) | (
        {"COARSEN_ACC", "COARSEN_OP", "COARSEN_IDENTITY"} if pattern(header) == "SELECT" else
        {"COARSEN_LESS"} if pattern(header) == "SORT" else
        {"COARSEN_TYPE"} if pattern(header) == "IMAGE" else
        {"COARSEN_FLAG", "COARSEN_OFFSET"} if header == "coarsen/nccl/scan.h" else
        {"COARSEN_DESCENDING"} if pattern(header) == "MERGESORT" else set()) | (
        set() if pattern(header) in (None, "TYPE", "BLOCK", "VALUE") else FOREIGN)
    his = "".join(f"#define {name} {value}\n" for name, value in sorted(HIS.items()) if name not in own | clash)
    every = {name: NUMBERS.get(name, "float") for name in parameters(header)}
    prefixed = {f"COARSEN_{name}": value for name, value in every.items() if not name.startswith("COARSEN_")}
    once = inclusion(header)  # the guarded helpers stay, so they come first
    before = macros(once + his, INCLUDES[runtime], tmp_path)
    assert any("COARSEN_VERSION" in line for line in before)
    fewer = {name: None for name in every if f"COARSEN_{name}" in prefixed}
    ways = [{name: None for name in set.union(*WAYS) - way} for way in WAYS if way & every.keys()]
    again = [once, inclusion(header, **prefixed | fewer),
             *(inclusion(header, **every | way) for way in ways or [{}])]
    if macros(once + his + "".join(again), INCLUDES[runtime], tmp_path) != before:
        for one in again:  # which of them
            assert macros(once + his + one, INCLUDES[runtime], tmp_path) ^ before == set()
        pytest.fail("the inclusions leave something behind together, and none of them alone")


@pytest.mark.parametrize("header", HEADERS)
def test_a_rung_for_another(header, tmp_path):
    """Where the line is: a rung takes the knobs of its pattern's other rungs, and ignores those it has no use for."""
    if header in ("coarsen/matmul.h", "coarsen/nccl/matmul.h") or not is_template(header):
        return  # matmul.h chooses its tiles
    mates = {name for other in HEADERS if pattern(other) == pattern(header) and "/block/" not in other
             for name in parameters(other) if name in NUMBERS and not name.startswith("COARSEN_")}
    source = inclusion(header, **{name: NUMBERS[name] for name in mates if pattern(header) not in ("TYPE", "BLOCK", "VALUE")})
    left = {line.split()[1] for line in macros(source, INCLUDES["simt"], tmp_path)}
    assert not left & mates
