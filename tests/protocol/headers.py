# SPDX-License-Identifier: MIT
"""The headers under include/coarsen, read as text: their examples, parameters, functions, messages.

Nothing here names a header, so a new one is tested from the day it is written.
"""
import functools
import os
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
HEADERS = sorted(str(path.relative_to(INCLUDE)) for path in (INCLUDE / "coarsen").rglob("*.h"))
assert HEADERS, f"no header under {INCLUDE / 'coarsen'}"

CXX = shlex.split(os.environ.get("CXX") or "g++")
NVCC = [os.environ["NVCC"]] if os.environ.get("NVCC") else []
TOOLKIT = [f"-I{Path(NVCC[0]).resolve().parents[1] / 'include'}"] if NVCC else []
SIMT = [f"-I{INCLUDE / 'simt'}", *shlex.split(os.environ.get("SIMT_FLAGS") or "")]
STRICT = ["-Wall", "-Wextra", "-Werror"]
NO_NVCC = "no nvcc: install the CUDA Toolkit"
# Little optimized: the optimizer takes most of the time, and test_nvrtc.py has it in full. CUDA 12 may lack the option.
QUICK_NVCC = ["-Ofc=max"] if NVCC and "-Ofc" in subprocess.run([*NVCC, "--help"], stdout=subprocess.PIPE,
                                                              text=True).stdout else []


@functools.cache
def text(header):
    return (INCLUDE / header).read_text()


@functools.cache
def includes(header):
    """The coarsen headers that this one includes, but for base.h."""
    found = re.findall(r'^#include "(.*)"', text(header), re.M)
    paths = [os.path.normpath(Path(header).parent / name) for name in found]
    return [path for path in paths if path != "coarsen/base.h"]


def reached(header):
    """This header and those it includes, but for base.h."""
    found = [header]
    for inner in includes(header):
        found += reached(inner)
    return found


@functools.cache
def taken(header):
    """Those of them that the example's own inclusion takes."""
    listed = subprocess.run([*CXX, "-x", "c++", "-M", f"-I{INCLUDE}", *SIMT[:1], "-"],
                            input=example(header)[0] + "\n" + example(header)[1] + "\n", check=True,
                            text=True, stdout=subprocess.PIPE).stdout
    files = [os.path.normpath(path) for path in listed.split()]
    return [inner for inner in reached(header) if str(INCLUDE / inner) in files]


def is_template(header):
    return any("#undef COARSEN_NAME" in text(inner) for inner in reached(header))


@functools.cache
def example(header):
    """The example in the comment on top, in parts: what it includes first, the inclusion of the header
    itself, what it includes next, and the statements at the end."""
    comment = text(header).split("\n#", 1)[0]
    for block in re.findall(r"(?:^//(?:     .*)?\n)+", comment, re.M):
        lines = [line[7:] for line in block.splitlines()]
        if f"#include <{header}>" in lines:
            lines = lines[next(i for i, line in enumerate(lines) if line.startswith("#")):]
            ends = [i + 1 for i, line in enumerate(lines) if line.startswith("#include")]
            end = lines.index(f"#include <{header}>") + 1
            start = max([0] + [i for i in ends if i < end])
            parts = (0, start, end, ends[-1], len(lines))
            return ["\n".join(lines[i:j]).strip() for i, j in zip(parts, parts[1:])]
    return "", f"#include <{header}>", "", ""


def defines(header):
    """The #define lines of the example's inclusion of the header: name -> (macro, value)."""
    pairs = (re.match(r"#define ((\w+)(?:\([^)]*\))?) +(.*)", line)
             for line in example(header)[1].splitlines())
    return {m[2]: (m[1], m[3]) for m in pairs if m}


def inclusion(header, quote="<>", again=False, **changes):
    """Source of one inclusion: the example's, with some parameters set, or left out (None)."""
    chosen = defines(header)
    for name, value in changes.items():
        chosen.pop(name, None)
        if value is not None:
            macro = name + {"COARSEN_OP": "(a, b)", "COARSEN_LIFT": "(x, i)",
                            "COARSEN_ATOMIC": "(p, a)", "COARSEN_MAP": "(...)", "COARSEN_BIN": "(x)"}.get(name, "")
            chosen[name] = (macro, value)
    lines = [f"#define {macro} {value}" for macro, value in chosen.values()]
    first = [] if again else [example(header)[0]]  # once a file: not every header can come twice
    return "\n".join([*first, *lines, f"#include {quote[0]}{header}{quote[1]}", ""])


def parameters(header):
    """The names in the table of parameters, of this header and those it includes."""
    found = {}
    for inner in reached(header):
        for name in re.findall(r"^// \| ([A-Z_]+)(?:\([^)]*\))? *\|", text(inner), re.M):
            found[name] = True
    return list(found)


def functions(header, prefix=None):
    """(kind, name) of each function an inclusion makes: kind is KERNEL, DEVICE, HOST_DEVICE, HOST."""
    prefix = prefix or defines(header).get("COARSEN_NAME", ("", ""))[1]
    found = []
    shapes = re.findall(r"^#define COARSEN_SHAPE +(\w+)", text(header), re.M)  # see matmul.h
    for inner in taken(header):
        for kind, name in re.findall(
                r"^COARSEN_(KERNEL|DEVICE|HOST_DEVICE|HOST)\b[^;{]*?\b((?:NAME|coarsen)_\w+)\(",
                text(inner), re.M):
            for shape in shapes if shapes and inner != header else [""]:
                found.append((kind, re.sub("^NAME", prefix + shape, name)))
    return found


def uses(header, prefix=None, name="use"):
    """Source that uses every function of an inclusion, so that the compiler must emit it."""
    device = [f for kind, f in functions(header, prefix) if "DEVICE" in kind]
    host = [f for kind, f in functions(header, prefix) if kind != "DEVICE"]
    return "\n".join([
        "#ifndef __CUDACC_RTC__",
        f"void {name}_on_host(void **where);", f"void {name}_on_host(void **where)", "{",
        *(f"    *where++ = (void *)&{f};" for f in host), "    *where = 0;", "}", "#endif",
        f"extern \"C\" __global__ void {name}_on_device(void **where);",
        f"extern \"C\" __global__ void {name}_on_device(void **where)", "{",
        *(f"    *where++ = (void *)&{f};" for f in device), "    *where = 0;", "}", ""])


def compile_source(compiler, source, folder, name="test.cu", flags=()):
    """Compiles; what the compiler said, empty when it succeeded and said nothing."""
    path = Path(folder) / name
    path.write_text(source)
    result = subprocess.run([*compiler, *flags, str(path)], cwd=folder, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")
    return result.stdout if result.returncode == 0 else (
        f"{result.stdout}\nexit status {result.returncode} of {shlex.join(result.args)}")
