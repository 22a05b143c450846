# SPDX-License-Identifier: MIT
"""A header of defaults, as coarsen-tune writes it: the shipped headers take its values, for the SM it has
them for, and compile with it everywhere. What is compared is what the preprocessor makes of an inclusion."""
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "protocol"))
from headers import CXX, INCLUDE, NO_NVCC, NVCC, QUICK_NVCC, SIMT, STRICT, compile_source, inclusion, uses
from test_nvrtc import NVRTC, QUICK, compile_program

WRITER = os.environ.get("OUTPUT_TEST")
pytestmark = pytest.mark.skipif(not WRITER, reason="OUTPUT_TEST is not set: run this through ./run test")

HEADER = {"reduce": "coarsen/reduce.h", "map": "coarsen/map.h", "histogram": "coarsen/histogram.h",
          "matmul": "coarsen/matmul/pipelined.h", "scan": "coarsen/scan.h", "select": "coarsen/select.h",
          "sort": "coarsen/sort.h", "merge": "coarsen/merge.h",
          "rows": "coarsen/segmented/rows.h", "columns": "coarsen/segmented/columns.h",
          "offsets": "coarsen/segmented/offsets.h",
          "stencil": "coarsen/stencil.h", "top_k": "coarsen/top_k.h", "sort_segments": "coarsen/sort_segments.h"}
# Not one of them is what a header has without. Of matmul, BN and TN are written as bytes.
VALUES = {
    90: {"reduce": {"BLOCK_DIM": "256", "COARSE_FACTOR": "8"}, "map": {"BLOCK_DIM": "128", "COARSE_FACTOR": "2"},
         "histogram": {"BLOCK_DIM": "512", "CFACTOR": "16"},
         "scan": {"BLOCK_DIM": "256", "COARSE_FACTOR": "4"}, "select": {"BLOCK_DIM": "128", "COARSE_FACTOR": "2"},
         "sort": {"BLOCK_DIM": "512", "COARSE_FACTOR": "16"}, "merge": {"BLOCK_DIM": "256", "COARSE_FACTOR": "15"},
         "rows": {"BLOCK_DIM": "128", "COARSE_FACTOR": "8"}, "columns": {"BLOCK_DIM": "256", "COARSE_FACTOR": "2"},
         "offsets": {"BLOCK_DIM": "128", "COARSE_FACTOR": "3"},
         "stencil": {"BLOCK_DIM": "256", "COARSEN_THREAD_ROWS": "2", "COARSE_FACTOR": "16"},
         "top_k": {"BLOCK_DIM": "512", "COARSE_FACTOR": "4", "COARSEN_PART": "8192"},
         "sort_segments": {"BLOCK_DIM": "128", "COARSE_FACTOR": "8"},
         "matmul": {"BM": "64", "BN": "64", "BK": "32", "TM": "4", "TN": "4", "COARSEN_SLICES": "2",
                    "COARSEN_STAGES": "3"}},
    80: {"reduce": {"BLOCK_DIM": "128", "COARSE_FACTOR": "2"}, "map": {"BLOCK_DIM": "512", "COARSE_FACTOR": "4"},
         "histogram": {"BLOCK_DIM": "256", "CFACTOR": "8"},
         "scan": {"BLOCK_DIM": "128", "COARSE_FACTOR": "2"}, "select": {"BLOCK_DIM": "256", "COARSE_FACTOR": "4"},
         "sort": {"BLOCK_DIM": "256", "COARSE_FACTOR": "20"}, "merge": {"BLOCK_DIM": "512", "COARSE_FACTOR": "9"},
         "rows": {"BLOCK_DIM": "512", "COARSE_FACTOR": "2"}, "columns": {"BLOCK_DIM": "128", "COARSE_FACTOR": "8"},
         "offsets": {"BLOCK_DIM": "512", "COARSE_FACTOR": "1"},
         "stencil": {"BLOCK_DIM": "64", "COARSEN_THREAD_ROWS": "3", "COARSE_FACTOR": "32"},
         "top_k": {"BLOCK_DIM": "256", "COARSE_FACTOR": "2", "COARSEN_PART": "2048"},
         "sort_segments": {"BLOCK_DIM": "512", "COARSE_FACTOR": "4"},
         "matmul": {"BM": "32", "BN": "64", "BK": "32", "TM": "4", "TN": "4", "COARSEN_SLICES": "2",
                    "COARSEN_STAGES": "4"}},
}
TUNED = '#include "tuned.h"\n'
CPP = [*CXX, "-x", "c++", "-E", "-P", "-D__CUDACC_RTC__", f"-I{INCLUDE}"]  # without the runtime: quick

each_pattern = pytest.mark.parametrize("pattern", HEADER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Has tuned.h, with a section for each pattern and SM."""
    folder = tmp_path_factory.mktemp("tuned")
    for sm, pattern in itertools.product(VALUES, HEADER):
        knobs = [f"{name}={value}" for name, value in VALUES[sm][pattern].items()]
        subprocess.run([WRITER, "header", "tuned.h", pattern, "f32", str(sm), *knobs], cwd=folder, check=True)
    return folder


def preprocessed(source, folder, *flags):
    said = compile_source([*CPP, *flags], source, folder)
    assert "exit status" not in said, said
    # So many bytes of floats, as matmul's widths are written, as the number that they come to.
    return re.sub(r"\((\d+) / sizeof\(\w+_type\)\)", lambda bytes: str(int(bytes[1]) // 4), said)


def plain(pattern, folder, **knobs):
    """What the header's inclusion comes to with these knobs given, and no tuned.h."""
    return preprocessed(inclusion(HEADER[pattern], **knobs), folder)


@each_pattern
@pytest.mark.parametrize("sm, flags", [
    (90, ["-D__CUDA_ARCH_LIST__=900"]),
    (80, ["-D__CUDA_ARCH_LIST__=800,900,1000"]),  # the lowest
    (90, ["-DCOARSEN_SM=90"]),
    (80, ["-DCOARSEN_SM=80", "-D__CUDA_ARCH_LIST__=900"]),
    (None, ["-D__CUDA_ARCH_LIST__=1000"]),
    (None, ["-D__CUDA_ARCH_LIST__=750,800,900"]),
    (None, ["-DCOARSEN_SM=9"]),
    (None, []),
])
def test_values(pattern, sm, flags, folder):
    found = preprocessed(TUNED + TUNED + inclusion(HEADER[pattern]), folder, *flags)
    assert found == plain(pattern, folder, **(VALUES[sm][pattern] if sm else {}))
    assert (found == plain(pattern, folder)) == (sm is None)


@pytest.mark.parametrize("pattern, knob", [(pattern, knob) for pattern in HEADER for knob in VALUES[90][pattern]])
def test_what_is_given_wins(pattern, knob, folder):
    """A knob given before the inclusion; and a default given before tuned.h, or by -D."""
    value = {"BLOCK_DIM": "64", "COARSE_FACTOR": "16", "COARSEN_SLICES": "4"}.get(knob, "7")
    tuned = VALUES[90][pattern]
    # Of matmul the knobs are a set, so that one given leaves the others as the header has them.
    others = {} if pattern == "matmul" else tuned
    found = preprocessed(TUNED + inclusion(HEADER[pattern], **{knob: value}), folder, "-DCOARSEN_SM=90")
    assert found == plain(pattern, folder, **{**others, knob: value})

    default = f"COARSEN_{pattern.upper()}_{knob.removeprefix('COARSEN_')}"
    wanted = plain(pattern, folder, **{**tuned, knob: value})
    source = TUNED + inclusion(HEADER[pattern])
    assert preprocessed(source, folder, "-DCOARSEN_SM=90", f"-D{default}={value}") == wanted
    assert preprocessed(f"#define {default} {value}\n" + source, folder, "-DCOARSEN_SM=90") == wanted


@each_pattern
def test_defaults(pattern, folder):
    """Those that the pattern's file names are the header's."""
    file = INCLUDE.parent / "bench" / "tune" / "patterns" / f"{pattern}.cu"
    lines = "".join(re.findall(r"^// tune(?: f32)?:(.*\n)", file.read_text(), flags=re.MULTILINE))
    knobs = {name: values.split(":")[0].split(",")[0] for name, values in re.findall(r"--knob (\w+)=(\S+)", lines)}
    knobs.update(re.findall(r"--default (\w+)=(\d+)", lines))
    assert knobs.keys() == VALUES[90][pattern].keys()
    if pattern in ("sort", "stencil"):  # of a sort it depends on the type, and of a stencil on the device
        del knobs["COARSE_FACTOR"]

    def of_floats(text):  # of those for items of a word and of two, the one that keys of 4 bytes have
        text = re.sub(r"\(sizeof\(\w+_type\) <= 4 \? (\d+) : \d+\)", r"\1", text)
        text = re.sub(r"\(\(sizeof\(\w+_type\) < 4\) \? \d+ : (\d+)\)", r"\1", text)
        text = re.sub(r"\(sizeof\(\w+_type\) == 4 \? (\d+) : \d+\)", r"\1", text)
        return re.sub(r"\(1 == 2 \? \d+ : (\d+)\)|\(1 == 1 \? (\d+) : \d+\)", lambda m: m[1] or m[2], text)

    assert of_floats(plain(pattern, folder, **knobs)) == of_floats(plain(pattern, folder))


@pytest.mark.parametrize("header", ["coarsen/matmul.h", "coarsen/matmul/tiled.h", "coarsen/reduce/coarsened.h",
                                    "coarsen/map/interleaved.h", "coarsen/histogram/vectorized.h",
                                    "coarsen/scan/chained.h", "coarsen/sort/coarsened.h",
                                    "coarsen/stencil/register_tiled.h"])
def test_other_headers_are_as_they_were(header, folder):
    """Those that set their own shapes, and the lower rungs."""
    assert (preprocessed(TUNED + inclusion(header), folder, "-DCOARSEN_SM=90") ==
            preprocessed(inclusion(header), folder))


@pytest.mark.parametrize("header", ["coarsen/sort.h", "coarsen/sort_segments.h"])
def test_values_beside_keys(header, folder):
    """What is tuned is the sort of keys alone."""
    once = inclusion(header, COARSEN_VALUE="int")
    assert preprocessed(TUNED + once, folder, "-DCOARSEN_SM=90") == preprocessed(once, folder)


@each_pattern
def test_no_macro_is_left(pattern, folder):
    def macros(source):
        return set(preprocessed(source, folder, "-dM", "-DCOARSEN_SM=90").splitlines())

    once = inclusion(HEADER[pattern])
    assert macros(TUNED + once) == macros(TUNED) | macros(once)


def every_pattern(sm):
    """A file with all of them, that says what it was compiled with."""
    parts = [TUNED]
    for pattern, header in HEADER.items():
        name = f"my_{pattern}"
        parts += [inclusion(header, COARSEN_NAME=name), uses(header, prefix=name, name=f"use_{pattern}")]
    matmul, reduce = VALUES[sm]["matmul"], VALUES[sm]["reduce"]
    parts.append(f"""
static_assert(COARSEN_SM == {sm}, "the lowest SM");
static_assert(COARSEN_REDUCE_BLOCK_DIM == {reduce['BLOCK_DIM']}, "reduce");
static_assert(my_matmul_tile_rows == {matmul['BM']} && my_matmul_tile_cols == {matmul['BN']}, "matmul");
""")
    return "".join(parts)


@pytest.mark.skipif(not NVCC, reason=NO_NVCC)
@pytest.mark.parametrize("sm, flags", [(90, ["-arch=sm_90"]),
                                       (80, ["-gencode=arch=compute_90,code=sm_90",
                                             "-gencode=arch=compute_80,code=sm_80"])])
def test_nvcc(sm, flags, folder):
    """Both the host's pass and those of the devices have the same."""
    said = compile_source([*NVCC, *QUICK_NVCC, *flags, "-Wno-deprecated-gpu-targets", "-Werror=all-warnings",
                           f"-Xcompiler={','.join(STRICT)}", f"-I{INCLUDE}", "-c", "-o", "test.o"],
                          every_pattern(sm), folder)
    assert said == ""


@pytest.mark.parametrize("sm", VALUES)
def test_simt(sm, folder):
    said = compile_source([*CXX, "-x", "c++", "-O1", *SIMT, *STRICT, f"-I{INCLUDE}", f"-DCOARSEN_SM={sm}", "-c",
                           "-o", "test.o"], every_pattern(sm), folder)
    assert said == ""


@pytest.mark.skipif(not NVRTC, reason="no libnvrtc.so: install the CUDA Toolkit")
def test_nvrtc(folder):
    said, code = compile_program(every_pattern(90),
                                 [f"-I{INCLUDE}", f"-I{folder}", "--gpu-architecture=sm_90", *QUICK])
    assert said == "" and b"my_map_kernel" in code
