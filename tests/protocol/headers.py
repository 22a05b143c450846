# SPDX-License-Identifier: MIT
"""The headers under include/coarsen, read as text: their examples, parameters, functions, messages.

Nothing here names a header, so a new one is tested from the day it is written.
"""
import functools
import os
import re
import shlex
import shutil
import subprocess
import tempfile
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
# What the headers of several GPUs include: where there is no NCCL, simt's header, alone, will do to compile them.
if subprocess.run([*CXX, *TOOLKIT, "-x", "c++", "-fsyntax-only", "-"], input="#if !__has_include(<nccl.h>)\n#error\n#endif\n",
                  stderr=subprocess.DEVNULL, text=True).returncode != 0:
    NCCL = tempfile.TemporaryDirectory()
    shutil.copy(INCLUDE / "simt/nccl.h", NCCL.name)
    os.environ["CPATH"] = os.pathsep.join(filter(None, [os.environ.get("CPATH"), NCCL.name]))
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


def pattern(header):
    """Which of base.h's patterns the header opens; None if it opens none."""
    found = [m[1] for inner in reached(header)
             if (m := re.search(r"^#define COARSEN_BEGIN COARSEN_PATTERN_(\w+)", text(inner), re.M))]
    return found[0] if found else None


def is_template(header):
    return header != "coarsen/base.h" and any("#define COARSEN_END" in text(inner) for inner in reached(header))


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


def needs_of_cuda(header):
    """The lines of the example that include CUDA's own headers."""
    return "".join(f"{line}\n" for line in example(header)[0].splitlines() if line.startswith("#include <cuda_"))


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
            macro = name + {"COARSEN_OP": "(a, b)", "COARSEN_LIFT": "(x, i)", "COARSEN_IF": "(x, i)", "COARSEN_SAME": "(a, b)", "COARSEN_LESS": "(a, b)", "COARSEN_STENCIL": "(x, y, z)",
                            "COARSEN_ATOMIC": "(p, a)", "COARSEN_MAP": "(...)", "COARSEN_BIN": "(x)"}.get(name, "")
            chosen[name] = (macro, value)
    lines = [f"#define {macro} {value}" for macro, value in chosen.values()]
    first = [] if again else [example(header)[0]]  # once a file: not every header can come twice
    return "\n".join([*first, *lines, f"#include {quote[0]}{header}{quote[1]}", ""])


def table(header):
    return re.findall(r"^// \| ([A-Z_]+)(?:\([^)]*\))? *\|", text(header), re.M)


@functools.cache
def foreign():
    """What base.h says of parameters where the pattern does not take them: how the message begins -> their names."""
    found = re.findall(r'^#error "coarsen: ((COARSEN_[^"]*) (?:is|are) for )[^:"]+"$', text("coarsen/base.h"), re.M)
    return {start: [f"COARSEN{name.removeprefix('COARSEN')}" for name in re.findall(r"\b(?:COARSEN)?_\w+", names)]
            for start, names in found}


def parameters(header):
    """The names in the table of parameters: of this header, with those of the headers that it includes if COARSEN_NAME
    is none of them; and of base.h, which are every inclusion's."""
    if not is_template(header):
        return []
    found = table(header)
    if "COARSEN_NAME" not in found:
        found += [name for inner in includes(header) for name in parameters(inner)]
    return list(dict.fromkeys(found + table("coarsen/base.h")))


@functools.cache
def functions(header, prefix=None):
    """(kind, name) of each function an inclusion makes: kind is KERNEL, DEVICE, HOST_DEVICE, HOST."""
    unused = "__attribute__((unused))"
    kinds = {f"static {unused} __global__": "KERNEL", f"{unused} static inline __device__": "DEVICE",
             f"{unused} static __forceinline__ __device__": "DEVICE",
             f"{unused} static inline __host__ __device__": "HOST_DEVICE", f"{unused} static inline": "HOST"}
    prefix = prefix or defines(header).get("COARSEN_NAME", ("", "coarsen"))[1]
    changes = {"COARSEN_NAME": prefix} if "COARSEN_NAME" in defines(header) else {}
    with tempfile.TemporaryDirectory() as folder:  # a runtime of nothing: the qualifiers stay to be read
        for name in ["cuda_runtime.h", *re.findall("#include <(cuda.*)>", example(header)[0])]:
            (Path(folder) / name).touch()
        (Path(folder) / "nccl.h").write_text("#define NCCL_VERSION_CODE 21800\n")
        source = f"{example(header)[0]}\nint coarsen_begin;\n{inclusion(header, again=True, **changes)}\n"
        made = subprocess.run([*CXX, "-x", "c++", "-E", "-P", f"-I{folder}", f"-I{INCLUDE}", "-"], input=source,
                              check=True, text=True, stdout=subprocess.PIPE).stdout
    made = made.split("int coarsen_begin;")[1]
    return [(kinds[kind], name) for kind, name in re.findall(
        rf"({'|'.join(map(re.escape, kinds))})\b[^;{{=]*?\b({prefix}_\w+)\(", made)]


def uses(header, prefix=None, name="use"):
    """Source that uses every function of an inclusion, so that the compiler must emit it."""
    device = [f for kind, f in functions(header, prefix) if "DEVICE" in kind]
    host = [f for kind, f in functions(header, prefix) if kind != "DEVICE"]
    return "\n".join([
        "#ifndef __CUDACC_RTC__",
        f"void {name}_on_host(void **where);", f"void {name}_on_host(void **where)", "{",
        *(f"    *where++ = reinterpret_cast<void *>(&{f});" for f in host), "    *where = 0;", "}", "#endif",
        f"extern \"C\" __global__ void {name}_on_device(void **where);",
        f"extern \"C\" __global__ void {name}_on_device(void **where)", "{",
        *(f"    *where++ = reinterpret_cast<void *>(&{f});" for f in device), "    *where = 0;", "}", ""])


def compile_source(compiler, source, folder, name="test.cu", flags=()):
    """Compiles; what the compiler said, empty when it succeeded and said nothing."""
    path = Path(folder) / name
    path.write_text(source)
    result = subprocess.run([*compiler, *map(str, flags), str(path)], cwd=folder, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")
    return result.stdout if result.returncode == 0 else (
        f"{result.stdout}\nexit status {result.returncode} of {shlex.join(result.args)}")


def compile_each(compiler, sources):
    """label -> what the compiler says of each of the sources, which are one file, each in a namespace: most of the
    time is the runtime's own headers'. The compiler goes on after an error of the kind that the headers give."""
    labels = {f"case {i}": label for i, label in enumerate(sources)}
    source = "#include <coarsen/nccl/base.h>\n" + "".join(
        f'# 1 "{case}"\nnamespace case_{i} {{\n{sources[label]}\n}}\n' for i, (case, label) in enumerate(labels.items()))
    said, case = dict.fromkeys(sources, ""), None
    with tempfile.TemporaryDirectory() as folder:
        whole = compile_source(compiler, source, folder, flags=["-o", os.devnull])
    for part in re.split(r"^(?=In file included from)", whole, flags=re.M):
        if (m := re.search(r"^(?:In file included| +) from (case \d+):\d+", part, re.M)):
            case = m[1]
        assert case or not part, part
        if part:
            said[labels[case]] += part
    return said
