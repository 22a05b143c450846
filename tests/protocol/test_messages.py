# SPDX-License-Identifier: MIT
"""A wrong parameter stops the compiler, and the first thing it says is the message promised.

Every #error of every header must be covered here: by what its message says (a parameter that is to be
defined, a range), or by a row of the table CASES.
"""
import functools
import re

import pytest

from headers import (CXX, HEADERS, INCLUDE, NO_NVCC, NVCC, SIMT, compile_each, compile_source, defines, foreign, inclusion, parameters,
                     pattern, text)

# What a message of a rung begins with, after "coarsen/...: " -> the parameters that bring it about.
CASES = {
    "BM must be a multiple of TM": [{"TM": "3"}, {"TN": "3"}, {"BM": "4"}, {"BN": "-8"}],
    "a block has BM / TM": [{"BM": "1024"}, {"TM": "2", "TN": "4"}],
    "this rung adds up in any order": [{"COARSEN_FIXED_TREE": "1"}],
    "this rung works in place": [{"COARSEN_ACC": "double"}, {"COARSEN_LIFT": "(x)"}, {"COARSEN_ARGMIN": "int"}, {"COARSEN_ARGMAX": "int"}],
    "BLOCK_DIM must be 64 or more": [{"BLOCK_DIM": "32"}],
    "BLOCK_DIM must be a power of two": [{"BLOCK_DIM": value} for value in ("96", "992")],
    "COARSE_FACTOR must be a power of two": [{"COARSE_FACTOR": value} for value in ("3", "-2", "64")],
    "COARSEN_RADIUS is a blur's": [{"COARSEN_RADIUS": "3"}],
    "COARSEN_AXIS is a matrix's": [{"COARSEN_AXIS": axis, "COARSEN_OFFSET": "int"} for axis in ("0", "1")],
    "COARSEN_AXIS must be": [{"COARSEN_AXIS": axis} for axis in ("2", "-1", "1 + 1")],
    "COARSEN_KEY goes without": [{"COARSEN_KEY": "int", name: "0"} for name in ("COARSEN_AXIS", "COARSEN_OFFSET")],
    "COARSEN_COMMUTES must be": [{"COARSEN_COMMUTES": value} for value in ("2", "-1", "3 - 1")],
    "out_indices says where": [{"COARSEN_VALUE": "int"}],
    "takes COARSEN_OP, COARSEN_IDENTITY": [{"COARSEN_REDUCE": "sum_f32"}],
    "COARSEN_M_TRANSPOSED and _N_TRANSPOSED go": [{"COARSEN_M_TRANSPOSED": ""}, {"COARSEN_N_TRANSPOSED": ""}],
    "COARSEN_ACC goes": [{"COARSEN_ACC": "double"}],
    **{f"{name} must be a number": [{name: value} for value in ("0", "kChunk", "1024 * 1024", "1 << 8")]
       for name in ("COARSEN_CHUNK", "COARSEN_PANEL", "COARSEN_PART", "COARSEN_DIVIDED")},
    "segments are for coarsen/scan.h": [{"COARSEN_FLAG": "int"}, {"COARSEN_OFFSET": "int"}],
    "COARSEN_M_TRANSPOSED goes": [{"COARSEN_M_TRANSPOSED": ""}],
    "COARSEN_N_TRANSPOSED goes": [{"COARSEN_N_TRANSPOSED": ""}],
    "matmul.h chooses its tiles: BM": [{name: "64"} for name in (
        "BM", "BN", "BK", "TM", "TN", "COARSEN_BM", "COARSEN_TN", "COARSEN_SLICES", "COARSEN_STAGES")],
    "matmul.h chooses its tiles: TILE_WIDTH": [{name: "16"} for name in (
        "TILE_WIDTH", "COARSEN_TILE_WIDTH", "COARSE_FACTOR", "COARSEN_COARSE_FACTOR")],
}
# What is no number to #if, or another one where it is divided by.
NO_NUMBER = ["0", "", "float", "kThreads", "32 + 64", "1 << 8", "2 * 8", "8 - 4"]
OPERATOR = {"REDUCE", "SCAN", "SEGSCAN", "RUNS", "SEGMENTED", "FUSE"}
BLOCKS = OPERATOR | {"SELECT", "MERGE", "SORT", "MERGESORT", "MAP", "HISTOGRAM", "IMAGE", "STENCIL"}  # take BLOCK_DIM
FACTOR = OPERATOR | {"SELECT", "MERGE", "SORT", "MERGESORT", "MAP", "IMAGE", "MATMUL", "STENCIL"}  # take COARSE_FACTOR
FEW = {"REDUCE", "MAP", "SORT"}  # of which each lacks most parameters of the others
EVERY = BLOCKS | {"MATMUL", "TYPE", "BLOCK", "VALUE"}


def both(name, value="64"):
    return [{name: value, f"COARSEN_{name}": value}]


def numbers(name, values=NO_NUMBER):
    other = [] if name.startswith("COARSEN_") else [{f"COARSEN_{name}": values[0], name: None}]
    return [{name: value} for value in values] + other


# What a message of base.h begins with, after "coarsen: " -> the patterns that have it, and the parameters.
BASE = {
    "define COARSEN_NAME": (EVERY, [{"COARSEN_NAME": None}]),
    "define COARSEN_TYPE": (EVERY - {"BLOCK", "IMAGE"}, [{"COARSEN_TYPE": None}]),
    "an image has bytes": ({"IMAGE"}, [{"COARSEN_TYPE": "float"}]),
    "BLOCK_DIM and COARSEN_BLOCK_DIM": (BLOCKS, both("BLOCK_DIM")),
    "BLOCK_DIM must be a number": (BLOCKS, numbers("BLOCK_DIM")),
    "BLOCK_DIM must be a multiple": (BLOCKS, numbers("BLOCK_DIM", ["-32", "16", "33", "1056"])),
    "a matrix product takes TILE_WIDTH": ({"MATMUL"}, [{"BLOCK_DIM": "64"}, {"COARSEN_BLOCK_DIM": "64"}]),
    "a histogram takes CFACTOR": ({"HISTOGRAM"}, [{"COARSE_FACTOR": "4"}, {"COARSEN_COARSE_FACTOR": "4"}]),
    "CFACTOR is the histogram's": (FACTOR, [{"CFACTOR": "4"}, {"COARSEN_CFACTOR": "4"}]),
    **{f"{name} and COARSEN_{name} are one knob": (patterns, both(name)) for name, patterns in (
        ("CFACTOR", {"HISTOGRAM"}), ("NUM_BINS", {"HISTOGRAM"}), ("COARSE_FACTOR", FACTOR), ("TILE_WIDTH", {"MATMUL", "STENCIL"}))},
    **{f"{name} must be a number": (patterns, numbers(name)) for name, patterns in (
        ("CFACTOR", {"HISTOGRAM"}), ("NUM_BINS", {"HISTOGRAM"}), ("COARSE_FACTOR", FACTOR), ("TILE_WIDTH", {"MATMUL", "STENCIL"}))},
    "COARSEN_WEIGHT is for histogram.h": ({"COUNTS"}, [{"COARSEN_WEIGHT": "(x)"}]),
    "define NUM_BINS": ({"HISTOGRAM"}, [{"NUM_BINS": None}]),
    "NUM_BINS must be from": ({"HISTOGRAM"}, [{"NUM_BINS": "-1"}, {"NUM_BINS": "2147483648"}]),
    "BM and COARSEN_BM are one knob": ({"MATMUL"}, [case for name in ("BM", "BN", "BK", "TM", "TN")
                                                   for case in both(name, "8")]),
    "BM, BN, BK, TM and TN must be numbers": ({"MATMUL"}, [case for name in ("BM", "BN", "BK", "TM", "TN")
                                                          for case in numbers(name, ["0", "kTile", "64 + 64"])]),
    "COARSEN_M_TRANSPOSED and _N_TRANSPOSED are defined": ({"MATMUL"}, [
        {"COARSEN_M_TRANSPOSED": "0"}, {"COARSEN_N_TRANSPOSED": "0"}]),
    "COARSEN_SLICES and _STAGES": ({"MATMUL"}, [{"COARSEN_SLICES": "1 + 1"}, {"COARSEN_STAGES": "kStages"}]),
    "COARSEN_IDENTITY needs COARSEN_OP": (OPERATOR, [{"COARSEN_OP": None, "COARSEN_IDENTITY": "5"}]),
    "COARSEN_OP needs COARSEN_IDENTITY": (OPERATOR, [{"COARSEN_OP": "((a) * (b))", "COARSEN_IDENTITY": None}]),
    "COARSEN_EXCLUSIVE must be": ({"SCAN", "SEGSCAN"}, [{"COARSEN_EXCLUSIVE": value} for value in ("2", "-1", "3 - 1")]),
    "COARSEN_COUNTED must be": ({"REDUCE", "MAP", "HISTOGRAM"}, [{"COARSEN_COUNTED": value} for value in ("2", "-1", "3 - 1")]),
    "COARSEN_VIEW must be": ({"REDUCE", "HISTOGRAM"}, [{"COARSEN_VIEW": value} for value in ("2", "-1", "3 - 1")]),
    "COARSEN_ARGMIN and COARSEN_ARGMAX are two": ({"REDUCE"}, [{"COARSEN_ARGMIN": "int", "COARSEN_ARGMAX": "int"}]),
    "COARSEN_ARGMIN and _ARGMAX go": ({"REDUCE"}, [
        {arg: "int", name: "(1)"} for arg in ("COARSEN_ARGMIN", "COARSEN_ARGMAX")
        for name in ("COARSEN_ACC", "COARSEN_IDENTITY", "COARSEN_OP", "COARSEN_LIFT")]),
    "COARSEN_FIXED_TREE must be": ({"REDUCE", "FUSE"}, [{"COARSEN_FIXED_TREE": value} for value in ("2", "-1", "3 - 1")]),
    "COARSEN_FLAG and COARSEN_OFFSET are two": ({"SEGSCAN"}, [{"COARSEN_FLAG": "int", "COARSEN_OFFSET": "int"}]),
    "a radix sort takes the order": ({"SORT"}, [{"COARSEN_LESS": "((a) < (b))"}]),
    "a merge sort takes COARSEN_LESS": ({"MERGESORT"}, [{"COARSEN_DESCENDING": "1"}, {"COARSEN_DESCENDING": "0"}]),
    "COARSEN_DESCENDING must be": ({"SORT"}, [{"COARSEN_DESCENDING": value} for value in ("2", "-1", "3 - 1")]),
    "define COARSEN_KEY": ({"RUNS"}, [{"COARSEN_KEY": None}]),
    "a selection takes COARSEN_IF": ({"SELECT"}, [
        {"COARSEN_ACC": "int"}, {"COARSEN_OP": "((a) + (b))"}, {"COARSEN_IDENTITY": "0"}]),
    "define COARSEN_IF": ({"SELECT"}, [{"COARSEN_IF": None}]),
    "COARSEN_IF and COARSEN_SAME are two": ({"SELECT"}, [{"COARSEN_SAME": "((a) == (b))"}]),
    "COARSEN_PARTITION must be": ({"SELECT"}, [{"COARSEN_PARTITION": value} for value in ("2", "-1", "3 - 1")]),
    "define COARSEN_COEFFICIENTS, or": ({"STENCIL"}, [{"COARSEN_COEFFICIENTS": None}]),
    "COARSEN_STENCIL and COARSEN_COEFFICIENTS both": ({"STENCIL"}, [{"COARSEN_STENCIL": "x[0]"}]),
    "COARSEN_ORDER must be": ({"STENCIL"}, [{"COARSEN_ORDER": value} for value in ("0", "5", "-1", "kOrder", "1 + 1")]),
    "COARSEN_BOUNDARY must be": ({"STENCIL"}, [{"COARSEN_BOUNDARY": value} for value in ("0", "4", "-1", "COARSEN_CLAMP")]),
    "define COARSEN_MAP": ({"MAP", "FUSE"}, [{"COARSEN_MAP": None}]),
    "COARSEN_INPUTS must be": ({"MAP", "FUSE"}, [{"COARSEN_INPUTS": value} for value in ("0", "4", "-1", "kInputs", "1 + 1")]),
    "COARSEN_RADIUS must be": ({"BLUR"}, [{"COARSEN_RADIUS": value} for value in ("0", "32", "-1", "kRadius", "1 + 2")]),
    "COARSEN_CHANNELS must be": ({"BLUR"}, [{"COARSEN_CHANNELS": value} for value in ("0", "5", "-1", "1 + 2")]),
    "COARSEN_CHANNELS goes with": ({"GRAY"}, [{"COARSEN_CHANNELS": "3"}]),
    "COARSEN_RED, _GREEN and _BLUE go": ({"GRAY"}, [{"COARSEN_RED": "65536"}]),
    "COARSEN_RED, _GREEN and _BLUE must": ({"GRAY"}, [
        {"COARSEN_RED": "1", "COARSEN_GREEN": "2", "COARSEN_BLUE": "3"},
        {"COARSEN_RED": "-1", "COARSEN_GREEN": "65537", "COARSEN_BLUE": "0"},
        {"COARSEN_RED": "1 + 65535", "COARSEN_GREEN": "0", "COARSEN_BLUE": "0"}]),
    "COARSEN_BEGIN must be": (set(), []),  # only a new rung can bring it about
    "C++11 or later": (set(), []),  # TOO_OLD
    "CUDA 11.8 or later": (set(), []),
}
# Those of parameters of other patterns, for a few patterns that do not take them, nor have another message for them.
for start, names in foreign().items():
    BASE[start] = FEW - {pattern(header) for header in HEADERS if set(names) & set(parameters(header))} - {
        name for patterns, cases in BASE.values() if any(set(names) & case.keys() for case in cases) for name in patterns
    }, [{name: "1"} for name in names]
# What a message of base.h begins with, of what it does not work with -> what brings it about, and what is just enough.
TOO_OLD = {
    "C++11 or later": ("-std=c++98", "-std=c++11"),
    "CUDA 11.8 or later": ("-DCUDART_VERSION=11070", "-DCUDART_VERSION=11080"),
}
NCCL_TOO_OLD = "coarsen/nccl: NCCL 2.18 or later is needed, and this is the header of an older one"
# What must change with a parameter for another value of it to be right.
ALONG = {"COARSEN_INPUTS": {"COARSEN_MAP": "0"}}
RANGE = re.compile(r"(\w+) must be (?:a multiple of (\d+) )?from (\d+) to (\d+)$")
REQUIRED = re.compile(r"define (\w+), ")


def messages(header):
    return re.findall(r'^#error "(.*)"$', text(header), re.M)


def wrong(message):
    """Parameters that must bring this message of a rung about."""
    what = message.split(": ", 1)[1]
    if (m := REQUIRED.match(what)):
        return [{m[1]: None}]
    if (m := RANGE.match(what)):
        step, low, high = int(m[2] or 1), int(m[3]), int(m[4])
        return [{m[1]: str(value)} for value in (high + step, *([-low] if step == 1 and m[1] != "COARSEN_RADIUS" else []))]
    return next((cases for start, cases in CASES.items() if what.startswith(start)), [])


def right(message):
    """Parameters at the ends of a range, which must be taken."""
    m = RANGE.match(message.split(": ", 1)[1])
    return [{m[1]: end, **ALONG.get(m[1], {})} for end in m.group(3, 4)] if m else []


def of_base(header):
    """The messages of base.h that the header can give, with parameters that bring them about: all that are known for
    the first header of a pattern, and one for the others, for which base.h does the same."""
    first = header == next(other for other in HEADERS if alike(other) == alike(header))
    for message in messages("coarsen/base.h"):
        patterns, cases = next(row for start, row in BASE.items() if message.startswith(f"coarsen: {start}"))
        if {pattern(header), kind_of_image(header), kind_of_histogram(header)} & patterns:
            mine = [changes for changes in cases if all(takes(header, name) for name in changes)]
            yield from ((message, changes) for changes in (mine if first else mine[:1]))


def alike(header):
    return pattern(header), kind_of_image(header), kind_of_histogram(header), "/block/" in header


def kind_of_image(header):
    return pattern(header) == "IMAGE" and ("BLUR" if "COARSEN_RADIUS" in defines(header) else "GRAY")


def kind_of_histogram(header):
    return pattern(header) == "HISTOGRAM" and ("WEIGHTS" if "COARSEN_WEIGHT" in parameters(header) else "COUNTS")


def takes(header, name):
    """Whether base.h is the one to say something of this parameter: matmul.h speaks of its tiles first, what works
    in place of indices, and a rung that takes no transposed matrix of that."""
    if any("this rung works in place" in message for message in messages(header)):
        return not name.startswith("COARSEN_ARG")
    if name.endswith("_TRANSPOSED") and pattern(header) == "MATMUL":
        return name in parameters(header)
    return header != "coarsen/matmul.h" or name.removeprefix("COARSEN_") in ("NAME", "TYPE", "BLOCK_DIM", "CFACTOR")


def label(header, changes):
    return f"{header}-" + "-".join(f"{k}={v}" for k, v in changes.items())


WRONG = [pytest.param(header, message, changes, id=label(header, changes))
         for header in HEADERS if header != "coarsen/base.h"
         for message, changes in [*((m, c) for m in messages(header) for c in wrong(m)), *of_base(header)]]
RIGHT = [pytest.param(header, changes, id=label(header, changes))
         for header in HEADERS for message in messages(header) for changes in right(message)
         if header != "coarsen/base.h"]
CPP = [*CXX, "-x", "c++", "-E", "-D__CUDACC_RTC__", f"-I{INCLUDE}"]  # without the runtime: quick


def test_every_parameter_is_an_error_elsewhere():
    """Else it would do nothing in another pattern, and stay for the next inclusion."""
    everywhere = {"COARSEN_NAME", "COARSEN_TYPE", "COARSEN_LINKAGE"}
    taken = {name for header in HEADERS for name in parameters(header) if name.startswith("COARSEN_")}
    assert taken - everywhere <= {name for names in foreign().values() for name in names}


@pytest.mark.parametrize("header", HEADERS)
def test_every_error_is_covered(header):
    assert len(re.findall(r"^\s*#\s*error", text(header), re.M)) == len(messages(header)), (
        'an #error is not written as #error "message"')
    if header == "coarsen/base.h":
        found = {message for other in HEADERS if other != header for message, _ in of_base(other)}
        assert {message for message in messages(header) if "COARSEN_BEGIN" not in message and
                not message.startswith(tuple(f"coarsen: {start}" for start in TOO_OLD))} == found
    else:
        assert [message for message in messages(header) if not wrong(message) and message != NCCL_TOO_OLD] == []
        assert all(message.startswith(("coarsen/", "coarsen: ")) for message in messages(header))


def errors(said):
    return re.findall(r'#error "(.*)"', "\n".join(
        line for line in said.splitlines() if "error:" in line.lower() or "fatal" in line.lower()))


@functools.cache
def said_of(header):
    """label -> what the preprocessor says of each case of the header."""
    cases = [case.values for case in [*WRONG, *RIGHT] if case.values[0] == header]
    return compile_each(CPP, {label(header, changes): without(inclusion(header, again=True, **changes))
                              for _, *_, changes in cases})


def without(source):
    """The source, after which what an error left defined is not."""
    return source + "".join(f"#undef {name}\n" for name in re.findall(r"^#define (\w+)", source, re.M))


@pytest.mark.parametrize("header, message, changes", WRONG)
def test_wrong_parameter(header, message, changes):
    said = said_of(header)[label(header, changes)]
    assert errors(said)[:1] == [message], said


@pytest.mark.parametrize("header, changes", RIGHT)
def test_ends_of_range(header, changes):
    assert errors(said_of(header)[label(header, changes)]) == []


@pytest.mark.parametrize("message", TOO_OLD)
def test_too_old(tmp_path, message):
    said, not_said = (compile_source([*CPP, flag], "#include <coarsen/base.h>\n", tmp_path) for flag in TOO_OLD[message])
    assert errors(said)[0].startswith(f"coarsen: {message}") and errors(not_said) == []


@pytest.mark.parametrize("version, said", [("21705", [NCCL_TOO_OLD]), ("21800", [])])
def test_too_old_nccl(tmp_path, version, said):
    (tmp_path / "nccl.h").write_text(f"#define NCCL_VERSION_CODE {version}\n")
    (tmp_path / "cuda_runtime.h").touch()
    assert errors(compile_source([*CXX, "-x", "c++", "-E", "-I.", f"-I{INCLUDE}"], "#include <coarsen/nccl/base.h>\n",
                                 tmp_path)) == said


@pytest.mark.skipif(not NVCC, reason=NO_NVCC)
def test_wrong_parameter_nvcc(tmp_path):
    """By nvcc too: the messages are the preprocessor's, so once each will do."""
    once = {message: (header, changes) for header, message, changes in (case.values for case in WRONG)}
    for message, (header, changes) in once.items():
        said = compile_source([*NVCC, "-E", "-o", "/dev/null", f"-I{INCLUDE}"], inclusion(header, **changes), tmp_path)
        assert "exit status" in said and errors(said)[:1] == [message], said


CHECK = [*CXX, "-x", "c++", "-fsyntax-only", *SIMT, f"-I{INCLUDE}"]


def test_bin_is_an_integer():
    headers = [header for header in HEADERS if pattern(header) == "HISTOGRAM"]
    said = compile_each(CHECK, {(header, bin): inclusion(header, COARSEN_TYPE="float", COARSEN_BIN=bin)
                                for header in headers for bin in ("((int)(x))", "(x)")})
    for header in headers:
        assert said[header, "((int)(x))"] == ""
        assert "COARSEN_BIN must give an integer" in said[header, "(x)"]


def test_parentheses_are_all_that_is_asked_for(tmp_path):
    for header, name in ("coarsen/map.h", "COARSE_FACTOR"), ("coarsen/histogram.h", "NUM_BINS"), ("coarsen/image/blur_single.h", "COARSEN_RADIUS"):
        assert "exit status" not in compile_source(CPP, inclusion(header, **{name: "(4 + 4)"}), tmp_path)


@pytest.mark.parametrize("kind", ["unsigned char", "short"])
def test_a_sum_that_wraps(kind):
    plain = {"COARSEN_TYPE": kind, "COARSEN_OP": None, "COARSEN_IDENTITY": None, "COARSEN_ATOMIC": None}
    headers = [header for header in HEADERS if pattern(header) in OPERATOR]
    wider = [header for header in headers if "COARSEN_ACC" in parameters(header)]
    greatest = {**plain, "COARSEN_OP": "COARSEN_MAX(a, b)", "COARSEN_IDENTITY": f"COARSEN_LEAST({kind})"}
    said = compile_each(CHECK, {
        **{(header, "wraps"): inclusion(header, **plain) for header in headers},
        **{(header, "is wider"): inclusion(header, **plain, COARSEN_ACC="int") for header in wider},
        **{(header, "is no sum"): inclusion(header, **greatest) for header in headers}})
    for (header, what), text in said.items():
        assert ("define COARSEN_ACC, a wider type" in text) if what == "wraps" else text == "", (header, what, text)


def test_wrong_type():
    cases = [
        *[("coarsen/matmul/pipelined.h", "BM, BN, BK, TM and TN must be greater than 0", {name: "-8"})
          for name in ("BM", "BN", "BK", "TM", "TN")],
        *[("coarsen/matmul/warpgroup.h", "BM must be 64, 128, 192 or 256, and BN 64, 128, 192 or 256", {"BM": rows, "BN": cols})
          for rows, cols in (("96", "64"), ("320", "64"), ("64", "32"), ("192", "256"))],
        *[(header, "COARSEN_OFFSET must be an integer type", {"COARSEN_OFFSET": "float"})
          for header in ("coarsen/segmented/offsets.h", "coarsen/sort_segments.h")],
        # A name has no value for #if, and would be 0.
        ("coarsen/segmented.h", "COARSEN_AXIS must be a number for #if", {"COARSEN_AXIS": "one"}),
        ("coarsen/moments.h", "COARSEN_TYPE must be float or double", {"COARSEN_TYPE": "int"}),
        *[(header, "keys must have an alignment of 16 bytes or less", {"COARSEN_TYPE": "wide"})
          for header in HEADERS if pattern(header) in ("SORT", "MERGESORT") or header in (
              "coarsen/merge.h", "coarsen/merge/partitioned.h", "coarsen/merge/pipelined.h")],
        *[("coarsen/merge_sort.h", "a tile takes more than 47 KiB of shared memory", {"BLOCK_DIM": "1024", **changes})
          for changes in ({"COARSE_FACTOR": "12"}, {"COARSE_FACTOR": "11", "COARSEN_VALUE": "int"})],
        *[("coarsen/sort_segments.h", "COARSEN_FEW_WAVES must be from 0 to 64", {"COARSEN_FEW_WAVES": many}) for many in ("-1", "65")],
        *[("coarsen/sort_segments.h", "a block takes more than 48 KiB of shared memory", {"BLOCK_DIM": "1024", **changes})
          for changes in ({"COARSE_FACTOR": "8"}, {"COARSE_FACTOR": "16"},
                          {"COARSE_FACTOR": "8", "COARSEN_VALUE": "int"})],
        *[(header, "COARSEN_COUNT must be unsigned int or unsigned long long", {"COARSEN_COUNT": count})
          for header in HEADERS if pattern(header) == "HISTOGRAM" for count in ("int", "float", "unsigned char")],
        # Its size is right, but CUDA has no atomics on it, and simt none that CUDA lacks.
        ("coarsen/histogram.h", "atomicAdd(", {"COARSEN_COUNT": "unsigned long"}),
    ]
    known = "enum { one = 1 };\nstruct alignas(32) wide { int x; };\n"
    said = compile_each(CHECK, {label(header, changes): known + without(inclusion(header, **changes))
                                for header, _, changes in cases})
    for header, message, changes in cases:
        assert message in said[label(header, changes)], label(header, changes)
