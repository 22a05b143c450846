# SPDX-License-Identifier: MIT
"""A wrong parameter stops the compiler, and the first thing it says is the message promised.

Every #error of every header must be covered here: by what its message says (a parameter that is to be
defined, a range), or by a row of the table CASES.
"""
import re

import pytest

from headers import (CXX, HEADERS, INCLUDE, NO_NVCC, NVCC, SIMT, compile_source, inclusion, text)

# What a message begins with, after "coarsen/...: " -> the parameters that bring it about.
CASES = {
    "COARSEN_OP needs COARSEN_IDENTITY": [{"COARSEN_OP": "((a) * (b))", "COARSEN_IDENTITY": None}],
    "COARSEN_RED, _GREEN and _BLUE go together": [{"COARSEN_RED": "65536"}],
    "COARSEN_RED, _GREEN and _BLUE must be": [
        {"COARSEN_RED": "1", "COARSEN_GREEN": "2", "COARSEN_BLUE": "3"},
        {"COARSEN_RED": "-1", "COARSEN_GREEN": "65537", "COARSEN_BLUE": "0"}],
    "BM must be a multiple of TM": [{"TM": "3"}, {"TN": "3"}, {"BM": "0"}, {"BN": "-8"}],
    "a block has BM / TM": [{"BM": "1024"}, {"TM": "2", "TN": "4"}],
    "COARSEN_CHANNELS goes with COARSEN_RADIUS": [{"COARSEN_CHANNELS": "3"}],
    **{f"put the value of {name} in": [{name: value} for value in values] for name, values in {
        "BLOCK_DIM": ["32 + 64"], "COARSE_FACTOR": ["1 + 1", "1 << 2"], "CFACTOR": ["8 - 4"],
        "NUM_BINS": ["1 << 8", "255 + 1"], "TILE_WIDTH": ["2 * 8"]}.items()},
    "this rung works in place": [{"COARSEN_ACC": "double"}, {"COARSEN_LIFT": "(x)"}],
}
# What must change with a parameter for another value of it to be right.
ALONG = {"COARSEN_INPUTS": {"COARSEN_MAP": "0"}}
RANGE = re.compile(r"(\w+) must be (?:a multiple of (\d+) )?from (\d+) to (\d+)$")
REQUIRED = re.compile(r"define (\w+), ")


def messages(header):
    return re.findall(r'^#error "(.*)"$', text(header), re.M)


def wrong(message):
    """Parameters that must bring this message about."""
    what = message.split(": ", 1)[1]
    if (m := REQUIRED.match(what)):
        return [{m[1]: None}]
    if (m := RANGE.match(what)):
        step, low, high = int(m[2] or 1), int(m[3]), int(m[4])
        values = [low - step, high + step, -low, 0, "float"] + ([low + 1] if step > 1 else [])
        return [{m[1]: str(value)} for value in dict.fromkeys(values)]
    return next((cases for start, cases in CASES.items() if what.startswith(start)), [])


def right(message):
    """Parameters at the ends of a range, which must be taken."""
    m = RANGE.match(message.split(": ", 1)[1])
    return [{m[1]: end, **ALONG.get(m[1], {})} for end in m.group(3, 4)] if m else []


def label(header, changes):
    return f"{header}-" + "-".join(f"{k}={v}" for k, v in changes.items())


WRONG = [pytest.param(header, message, changes, id=label(header, changes))
         for header in HEADERS for message in messages(header) for changes in wrong(message)]
RIGHT = [pytest.param(header, changes, id=label(header, changes))
         for header in HEADERS for message in messages(header) for changes in right(message)]
FIRST = [pytest.param(header, message, wrong(message)[0], id=label(header, wrong(message)[0]))
         for header in HEADERS for message in messages(header) if wrong(message)]
CPP = [*CXX, "-x", "c++", "-E", "-D__CUDACC_RTC__", f"-I{INCLUDE}"]  # without the runtime: quick


@pytest.mark.parametrize("header", HEADERS)
def test_every_error_is_covered(header):
    assert len(re.findall(r"^\s*#\s*error", text(header), re.M)) == len(messages(header)), (
        'an #error is not written as #error "message"')
    assert [message for message in messages(header) if not wrong(message)] == []
    assert all(message.startswith("coarsen/") for message in messages(header))


def errors(said):
    return re.findall(r'#error "(.*)"', "\n".join(
        line for line in said.splitlines() if "error:" in line.lower() or "fatal" in line.lower()))


@pytest.mark.parametrize("header, message, changes", WRONG)
def test_wrong_parameter(header, message, changes, tmp_path):
    said = compile_source(CPP, inclusion(header, **changes), tmp_path)
    assert "exit status" in said and errors(said)[:1] == [message], said


@pytest.mark.parametrize("header, changes", RIGHT)
def test_ends_of_range(header, changes, tmp_path):
    said = compile_source(CPP, inclusion(header, **changes), tmp_path)
    assert "exit status" not in said, said


@pytest.mark.skipif(not NVCC, reason=NO_NVCC)
@pytest.mark.parametrize("header, message, changes", FIRST)
def test_wrong_parameter_nvcc(header, message, changes, tmp_path):
    said = compile_source([*NVCC, "-E", "-o", "/dev/null", f"-I{INCLUDE}"],
                          inclusion(header, **changes), tmp_path)
    assert "exit status" in said and errors(said)[:1] == [message], said


@pytest.mark.parametrize("header", [header for header in HEADERS if "COARSEN_BIN must" in text(header)])
def test_bin_is_an_integer(header, tmp_path):
    check = [*CXX, "-x", "c++", "-fsyntax-only", *SIMT, f"-I{INCLUDE}"]
    whole = inclusion(header, COARSEN_TYPE="float", COARSEN_BIN="((int)(x))")
    assert "must give an integer" not in compile_source(check, whole, tmp_path)
    real = inclusion(header, COARSEN_TYPE="float", COARSEN_BIN="(x)")
    assert "COARSEN_BIN must give an integer" in compile_source(check, real, tmp_path)


@pytest.mark.parametrize("header, name", [("coarsen/map.h", "COARSE_FACTOR"), ("coarsen/histogram.h", "NUM_BINS")])
def test_parentheses(header, name, tmp_path):
    """Whichever header takes it, for all include base.h; and it is no more than parentheses that are asked for."""
    said = compile_source(CPP, inclusion(header, **{name: "4 + 4"}), tmp_path)
    assert errors(said)[:1] == [f"coarsen/base.h: put the value of {name} in parentheses"], said
    assert "exit status" not in compile_source(CPP, inclusion(header, **{name: "(4 + 4)"}), tmp_path)


@pytest.mark.parametrize("header, message, changes", [
    *[("coarsen/matmul/pipelined.h", "BM, BN, BK, TM and TN must be greater than 0", {name: "0"})
      for name in ("BM", "BN", "BK", "TM", "TN")],
    ("coarsen/moments.h", "COARSEN_TYPE must be float or double", {"COARSEN_TYPE": "int"}),
    *[(header, "COARSEN_COUNT must be unsigned int or unsigned long long", {"COARSEN_COUNT": count})
      for header in HEADERS if "type of a count" in text(header) for count in ("int", "float", "unsigned char")],
    # Its size is right, but CUDA has no atomics on it, and simt none that CUDA lacks.
    ("coarsen/histogram.h", "atomicAdd(", {"COARSEN_COUNT": "unsigned long"}),
])
def test_wrong_type(header, message, changes, tmp_path):
    check = [*CXX, "-x", "c++", "-fsyntax-only", *SIMT, f"-I{INCLUDE}"]
    assert message in compile_source(check, inclusion(header, **changes), tmp_path)
