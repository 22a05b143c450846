# SPDX-License-Identifier: MIT
"""Every header compiles without a warning, for the GPU by nvcc and for the CPU device by g++: unused;
used, and twice in one file; in two files of one program; copied; and as its example says."""
import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from headers import (CXX, HEADERS, INCLUDE, NO_NVCC, NVCC, QUICK_NVCC, SIMT, STRICT, compile_source, example,
                     functions, inclusion, parameters, reached, uses)

FOUND = f"-I{INCLUDE}"
COMPILERS = {
    "nvcc": [*NVCC, "-arch=sm_75", "-Wno-deprecated-gpu-targets", "-Werror=all-warnings",
             f"-Xcompiler={','.join(STRICT)}", *QUICK_NVCC, "-c"],
    "simt": [*CXX, "-x", "c++", "-O1", *SIMT, *STRICT, "-c"],
}
SIMT_LIB = os.environ.get("SIMT_LIB")


@pytest.fixture(params=COMPILERS)
def compiler(request):
    if request.param == "nvcc" and not NVCC:
        pytest.skip(NO_NVCC)
    return COMPILERS[request.param]


each_header = pytest.mark.parametrize("header", HEADERS)


def renamed(header):
    """The parts of the header's example, with names that no other header's example has."""
    parts, mark = example(header), re.sub(r"\W", "_", header)
    for name in re.findall(r"^#define COARSEN_NAME +(\w+)", "\n".join(parts), re.M):
        parts = [re.sub(rf"(?<![\w/]){name}(?=_|\b)", f"{mark}_{name}", part) for part in parts]
    return parts


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """compiled(compiler, source): what is said of source(header), for each header, and the object file of all. They
    are compiled as one file, most of the time being the runtime's own headers'; each alone once that says anything."""
    @functools.cache
    def compiled(compiler, source):
        made = tmp_path_factory.mktemp("compiled") / "test.o"
        sources = {header: source(header) for header in HEADERS}
        # g++ says that it leaves this warning out where a source is that long.
        quiet = ["-Wno-misleading-indentation"] if compiler == tuple(COMPILERS["simt"]) else []
        together = compile_source([*compiler, FOUND, *quiet], "".join(sources.values()), made.parent, flags=["-o", made])
        said = {} if together == "" else {
            header: compile_source([*compiler, FOUND], text, made.parent) for header, text in sources.items()}
        return (said if any(said.values()) else dict.fromkeys(HEADERS, together)), made
    return compiled


def unused(header):
    return "\n".join([*renamed(header)[:3], ""])


@each_header
def test_unused(header, compiler, compiled):
    """As the example in the header has it, the statements at its end left out."""
    assert compiled(tuple(compiler), unused)[0][header] == ""


def twice(header):
    """With other parameters the second time, and all that either makes used."""
    name = re.sub(r"\W", "_", header)
    floats = (header in ("coarsen/moments.h", "coarsen/block/reduce.h", "coarsen/matmul/tensor.h") or
              "COARSEN_COEFFICIENTS" in parameters(header))
    halves = header in ("coarsen/matmul/tensor16.h", "coarsen/matmul/warpgroup.h")
    kind = "double" if floats else "__half" if halves else "int"  # no ints there
    first = {"COARSEN_NAME": f"first_{name}"} if "COARSEN_NAME" in parameters(header) else {}
    other = {"COARSEN_NAME": f"other_{name}", "COARSEN_TYPE": kind, "BLOCK_DIM": "64", "COARSE_FACTOR": "2",
             "COARSEN_STEPS": "1"}
    if "COARSEN_STEPS" in parameters(header):
        other["BLOCK_DIM"] = "96"  # a step needs three rows
    other = {name: value for name, value in other.items() if name in parameters(header)}
    return (inclusion(header, **first) + uses(header, f"first_{name}", f"use_{name}") +
            inclusion(header, again=True, **other) + uses(header, f"other_{name}", f"use_other_{name}"))


@each_header
def test_twice_in_one_file(header, compiler, compiled):
    assert compiled(tuple(compiler), twice)[0][header] == ""


def test_nothing_is_seen_by_the_linker(compiler, compiled):
    """So that another file of the program may include the same."""
    _, made = compiled(tuple(compiler), twice)
    symbols = subprocess.run(["nm", "-C", "--defined-only", "--extern-only", "--format=posix", made],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "use_coarsen_reduce_h_on_host" in symbols
    names = [f"{name}(" for header in HEADERS for which in ("first", "other")
            for _, name in functions(header, f"{which}_" + re.sub(r"\W", "_", header))]
    assert len(names) > len(HEADERS)
    assert [line for line in symbols.splitlines() if any(line.startswith(name) for name in names)] == []


def test_two_files_of_one_program(compiler, tmp_path):
    both = "coarsen/arg.h", "coarsen/reduce.h"
    for name in ("one", "two"):
        source = "".join(inclusion(header) + uses(header, name=f"{name}_{i}")
                         for i, header in enumerate(both))
        assert compile_source([*compiler, FOUND], source, tmp_path, f"{name}.cu",
                              ["-o", f"{name}.o"]) == ""
    calls = [f"{name}_{i}_on_host" for name in ("one", "two") for i in range(len(both))]
    main = "".join(f"void {call}(void **);\n" for call in calls) + (
        "int main(int argc, char **argv)\n{\n    if (argc > 99) {\n" +
        "".join(f"        {call}((void **)argv);\n" for call in calls) + "    }\n}\n")
    if compiler is COMPILERS["nvcc"]:
        link, libraries = compiler[:-1], []
    else:
        link, libraries = list(CXX), [SIMT_LIB, "-lpthread", "-ldl"]
    if None in libraries:
        pytest.skip("SIMT_LIB is not set: run this through ./run test")
    assert compile_source(link, main, tmp_path, "main.cpp",
                          ["one.o", "two.o", "-o", "program", *libraries]) == ""


@each_header
def test_copied(header, compiler, tmp_path):
    """base.h and a rung, in their folders, next to the file that includes them: no -I."""
    needed = reached(header)
    others = [name for name in needed[1:] if "/block/" not in name and Path(name).name != "launch.h"]
    assert not others or Path(header).parent.name in ("coarsen", "nccl"), \
        "a rung needs base.h, and block/'s headers and its folder's launch.h at most"
    first = re.findall("#include <(coarsen/.*)>", example(header)[0])  # what its example includes before it
    for name in ["coarsen/base.h", *needed, *(name for inner in first for name in reached(inner))]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(INCLUDE / name, tmp_path / name)
    source = re.sub("<(coarsen/.*)>", r'"\1"', inclusion(header))
    said = compile_source([*compiler[:-1], "-E"], source, tmp_path,
                          flags=["-o", "test.ii"])
    assert said == ""


def used(header):
    parts, name = renamed(header), "example_" + re.sub(r"\W", "_", header)
    given = {"in": "const float *", "out": "float *", "n": "size_t ", "count": "unsigned long long *", "scratch": "void *",
             "stream": "cudaStream_t "}
    if "/nccl/" in header:
        given.update({"comm": "ncclComm_t ", "counts": "const size_t *", "splits": "unsigned long long *"})
    if header == "coarsen/nccl/matmul.h":
        given.update({"m": "const float *", "n": "const float *", "p": "float *", "inner_counts": "const size_t *"})
    given = {what: kind for what, kind in given.items() if f"*{what};" not in parts[3]}  # it declares the others
    signature = f"void {name}({', '.join(kind + what for what, kind in given.items())})"
    return "\n".join([*parts[:3], signature + ";", signature, "{", *(f"    (void){what};" for what in given), parts[3], "}", ""])


@pytest.mark.parametrize("header", [header for header in HEADERS if example(header)[3]])
def test_example(header, compiler, compiled):
    assert compiled(tuple(compiler), used)[0][header] == ""
