# SPDX-License-Identifier: MIT
"""What the headers work with: all of them through several releases of NVRTC, nvcc and clang, in each dialect, for each
GPU, and with the options that change what a compiler does. ./run compat installs the compilers and runs this.

    compat.py [--write] [--kept] [WORD...]   only the compilers whose name has one of the words, as "NVRTC" or
                                             "clang 19"; --write puts the table into docs/compat.md, and --kept tries
                                             nothing: the table has what was tried before of the headers as they are
"""
import concurrent.futures
import ctypes
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "protocol"))
from headers import HEADERS, INCLUDE, defines, inclusion, reached, uses  # noqa: E402

FOLDER = ROOT / "build" / "compat"  # of what ./run compat installed
KEPT = FOLDER / "results.json"  # what was tried, and of which sources, to go on from there
PAGE = ROOT / "docs" / "compat.md"
BEGIN, END = "<!-- ./run compat --write writes from here -->\n", "<!-- to here -->\n"

DIALECTS = ("C++11", "C++14", "C++17", "C++20")
GPUS = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120")  # the headers tell no others apart
OPTIONS = ("machine code", "-rdc", "fast math", "-G", "hidden")
COLUMNS = (*DIALECTS, *GPUS, *OPTIONS)
PLAIN = "C++17"  # of what is no question of the dialect
CLANGS = (14, 16, 19)  # Debian 12's


def versions():
    """The releases of CUDA of which something is installed."""
    return sorted((path.name for path in FOLDER.glob("[0-9]*.*")),
                  key=lambda name: [int(part) for part in name.split(".")])


def toolkit(version):
    """A folder with include, bin and nvvm of a release; None where its runtime is not installed."""
    packages = FOLDER / version / "nvidia"
    if (packages / "cu13" / "include" / "cuda_runtime.h").exists():
        found = packages / "cu13"
        # Clang up to 19, and perhaps later, includes it, and CUDA 13 has it no more.
        (found / "include" / "texture_fetch_functions.h").touch()
        return found
    if not (packages / "cuda_runtime").exists():
        return None
    found = FOLDER / version / "toolkit"
    if not found.exists():
        for package in sorted(packages.glob("cuda_*")):
            shutil.copytree(package, found, dirs_exist_ok=True)
    return found


# ---- The compilers ------------------------------------------------------------------------------


class Nvrtc:
    """The compiler at run time, of a release. Each program has a process of its own, with its own library."""

    def __init__(self, version):
        self.name = f"NVRTC {version}"
        self.loaded = next((FOLDER / version).glob("nvidia/*/lib/libnvrtc.so.*"))
        self.headers = toolkit(version) / "include"  # for cuda_fp16.h
        told = subprocess.run([sys.executable, __file__, "--nvrtc", self.loaded], check=True, stdout=subprocess.PIPE,
                              text=True)
        self.gpus = {f"sm_{number}" for number in told.stdout.split()}
        self.quick = "--device-debug"  # the optimizer takes nine tenths of the time
        if self.compile("", "--Ofast-compile=max")[0] == 0:
            self.quick = "--Ofast-compile=max"

    def compile(self, source, *options):
        return run([sys.executable, __file__, "--nvrtc", self.loaded, f"--include-path={INCLUDE}",
                    f"--include-path={self.headers}", *options], source)

    def options(self, column):
        dialect = f"--std={(column if column in DIALECTS else PLAIN).lower()}"
        if column in DIALECTS:
            return [dialect, "--gpu-architecture=compute_75" if "sm_75" in self.gpus else None, self.quick]
        if column in GPUS:
            return None if column not in self.gpus else [
                dialect, f"--gpu-architecture={column.replace('sm', 'compute')}", self.quick]
        return {
            "machine code": [dialect, "--gpu-architecture=sm_90", self.quick],
            "-rdc": [dialect, "--gpu-architecture=compute_75", self.quick, "--relocatable-device-code=true"],
            "fast math": [dialect, "--gpu-architecture=compute_75", self.quick, "--use_fast_math"],
            "-G": [dialect, "--gpu-architecture=compute_75", "--device-debug"],
        }.get(column)

    def attempt(self, column, source):
        return self.compile(source, *self.options(column))


class Nvcc:
    def __init__(self, path, version):
        self.name, self.path = f"nvcc {version}", path
        said = subprocess.run([path, "--list-gpu-arch"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.gpus = {line.replace("compute", "sm") for line in said.split()}
        told = subprocess.run([path, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.quick = ["-Ofc=max"] if "-Ofc" in told else []

    def options(self, column):
        dialect = f"-std={(column if column in DIALECTS else PLAIN).lower()}"
        if column in DIALECTS:
            return [dialect, "-arch=compute_75", *self.quick]
        if column in GPUS:
            return [dialect, f"-arch={column}", "-ptx", *self.quick] if column in self.gpus else None
        return [dialect, *{
            "machine code": ["-arch=sm_90", *self.quick],
            "-rdc": ["-arch=compute_75", *self.quick, "-rdc=true"],
            "fast math": ["-arch=sm_75", "-ptx", *self.quick, "-use_fast_math"],
            "-G": ["-arch=sm_75", "-ptx", "-G"],
            "hidden": ["-arch=compute_75", *self.quick, "-Xcompiler=-fvisibility=hidden"],
        }[column]]

    def attempt(self, column, source):
        made = [] if "-ptx" in self.options(column) else ["-c"]
        return run([self.path, "-Wno-deprecated-gpu-targets", "-Xcompiler=-Wall,-Wextra", *self.options(column), *made,
                    "-x", "cu", "-o", os.devnull, f"-I{INCLUDE}", "FILE"], source)


class Clang:
    """CUDA as clang compiles it, against the headers of a release."""

    def __init__(self, path, version, release):
        self.name = f"clang {version}, CUDA {release}"
        self.path, self.toolkit = path, toolkit(release)
        libraries = path.parents[1] / "lib" / "x86_64-linux-gnu"  # where it was unpacked, and not installed
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)} if FOLDER in path.parents else None
        code, said = self.compile("", "-fsyntax-only", f"-std={PLAIN.lower()}")
        self.useless = first_error(said) if code != 0 else ""  # it can't compile anything against these
        self.gpus = set() if self.useless else {gpu for gpu in GPUS if self.compile("", *self.code(gpu))[0] == 0}

    def code(self, gpu):
        return [f"-std={PLAIN.lower()}", "-S", "--cuda-device-only", f"--cuda-gpu-arch={gpu}"]

    def options(self, column):
        if self.useless:
            return None
        if column in DIALECTS:
            return [f"-std={column.lower()}", "-fsyntax-only"]
        if column in GPUS:
            return self.code(column) if column in self.gpus else None
        plain = [f"-std={PLAIN.lower()}"]
        return {
            "machine code": ["-c" if word == "-S" else word for word in self.code("sm_90")]
                            if "sm_90" in self.gpus else None,
            "-rdc": [*plain, "-fsyntax-only", "-fgpu-rdc"],
            "fast math": [*self.code("sm_75"), "-ffast-math"],
            "-G": [*self.code("sm_75"), "-g"],
            "hidden": [*plain, "-fsyntax-only", "-fvisibility=hidden"],
        }.get(column)

    def compile(self, source, *options):
        default = [] if any("gpu-arch" in option for option in options) else ["--cuda-gpu-arch=sm_75"]
        return run([self.path, "-x", "cuda", f"--cuda-path={self.toolkit}", "-isystem", self.toolkit / "include",
                    "-Wno-unknown-cuda-version", "-Wno-pass-failed", "-Wall", "-Wextra", *default, *options,
                    "-o", os.devnull, f"-I{INCLUDE}", "FILE"], source, self.environment)

    def attempt(self, column, source):
        return self.compile(source, *self.options(column))


def run(command, source, environment=None):
    """(exit status, what was said) of a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test.cu").write_text(source)
        words = [str(word) if word != "FILE" else "test.cu" for word in command if word]
        done = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
        return done.returncode, done.stdout.strip()


def nvrtc(library, *options):
    """One program through an NVRTC, read from test.cu; without options, the GPUs that it knows."""
    nvrtc = ctypes.CDLL(library)
    number = ctypes.c_int()
    if not options:
        assert nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(number)) == 0
        gpus = (ctypes.c_int * number.value)()
        assert nvrtc.nvrtcGetSupportedArchs(gpus) == 0
        print(*gpus)
        return 0
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    source = Path("test.cu").read_bytes()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"test.cu", 0, None, None) == 0
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(
        *(option.encode() for option in options)))
    assert nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)) == 0
    log = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetProgramLog(program, log) == 0
    print(log.value.decode())
    return status


def clang(number):
    """Where it is: installed, or unpacked by ./run compat; None where it is not."""
    path = Path(shutil.which(f"clang++-{number}") or FOLDER / f"clang-{number}" / "usr" / "bin" / f"clang++-{number}")
    return path if path.exists() else None


def compilers():
    """All that are there, and a sentence for each that is not."""
    found, missing = [], []
    for version in versions():
        if list((FOLDER / version).glob("nvidia/*/lib/libnvrtc.so.*")):
            found.append(Nvrtc(version))
    installed = [FOLDER / version / "nvidia" / "cu13" / "bin" / "nvcc" for version in versions()]
    for path in (shutil.which("nvcc"), *installed):
        said = run([path, "--version"], "")[1] if path and Path(path).exists() else ""
        if (m := re.search(r"release (\d+\.\d+)", said)) and f"nvcc {m[1]}" not in [one.name for one in found]:
            found.append(Nvcc(path, m[1]))
    for number in CLANGS:
        if clang(number):
            found += [Clang(clang(number), number, release) for release in ("11.8", "12.4", "13.0") if toolkit(release)]
        else:
            missing.append(f"clang {number} is not here: install it (apt-get install clang-{number}, as root).")
    return found, missing


# ---- The programs -------------------------------------------------------------------------------


def program(headers):
    """A source with the example's inclusion of each header, in which all that it makes is used."""
    source = ""
    for header in headers:
        mark = re.sub(r"\W", "_", header)
        named = {"COARSEN_NAME": mark} if "COARSEN_NAME" in defines(header) else {}
        source += inclusion(header, **named) + uses(header, named.get("COARSEN_NAME"), f"use_{mark}")
    return source


def groups():
    """The headers in parts, a pattern's in each, so that a header that changes does not mean to try all again."""
    found = {}
    for header in HEADERS:
        found.setdefault(header.split("/")[1].split(".")[0], []).append(header)
    parts, few = [], []  # one header each takes longer to begin than to compile
    for part in found.values():
        few += part if len(part) < 4 else []
        parts += [tuple(part)] if len(part) >= 4 else []
    return [*parts, tuple(few)] if few else parts


def sources(part):
    """A name for what a program of these headers consists of."""
    read = sorted({"coarsen/base.h", *(inner for header in part for inner in reached(header))})
    return hashlib.sha256(program(part).encode() + b"".join((INCLUDE / header).read_bytes() for header in read)).hexdigest()


def first_error(said):
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    found = next((line for line in lines if re.search(r"\berror\b|\bfatal\b", line)), lines[0] if lines else "")
    return re.sub(r"^\S*/", "", found.replace(str(INCLUDE), ""))[:200]


def attempt(compiler, column, headers=tuple(HEADERS), again=False):
    """What failed: header -> the first error. None: not tried."""
    if compiler.options(column) is None:
        return None
    code, said = compiler.attempt(column, program(headers))
    if code == 0 and said == "":
        return {}
    if not again and compiler.attempt(column, "")[0] != 0:
        return None  # it has no such option
    if len(headers) == 1:
        return {headers[0]: first_error(said) or f"exit status {code}"}
    half = len(headers) // 2
    failed = {**attempt(compiler, column, headers[:half], True), **attempt(compiler, column, headers[half:], True)}
    return failed or {f"{headers[0]} to {headers[-1]} together": first_error(said)}


def label(compiler, column):
    return " ".join([compiler.name, *(option for option in compiler.options(column) if option)])


def cell(failed):
    return "–" if failed is None else f"{len(failed)} failed" if failed else "ok"


def table(found, results):
    """As Markdown: the cells, and below them what failed."""
    heads = [column.replace("C++", "").replace("sm_", "") if column in GPUS else column for column in COLUMNS]
    rows = [["", *heads], ["---"] * (len(COLUMNS) + 1)]
    rows += [[compiler.name, *(cell(results[compiler.name, column]) if (compiler.name, column) in results else ""
                                for column in COLUMNS)]
             for compiler in found if not getattr(compiler, "useless", "")]
    text = "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |").replace("|  |", "| |") for row in rows)
    notes = {}  # what was said -> where
    for compiler in found:
        if getattr(compiler, "useless", ""):
            notes.setdefault(f"compiles no file at all: `{compiler.useless}`", []).append(compiler.name)
    for (name, column), failed in results.items():
        for header, error in (failed or {}).items():
            notes.setdefault(f"{header}: `{error}`", []).append(f"{name}, {column}")
    lines = [f"- {'; '.join(places)}: {said}\n" for said, places in notes.items()]
    return "".join([text, *(["\n", *lines] if lines else [])])


def main(words):
    write, only_kept = "--write" in words, "--kept" in words
    words = [word for word in words if word not in ("--write", "--kept")]
    found, missing = compilers()
    found = [compiler for compiler in found if not words or any(word in compiler.name for word in words)]
    for sentence in missing:
        print(sentence)
    if not found:
        print("compat: no compiler's name has " + " or ".join(words))
        return 1
    cells = [(compiler, column) for column in sorted(COLUMNS, key="machine code".__eq__) for compiler in found
             if compiler.options(column) is not None]  # what takes long comes last
    parts = {sources(part): part for part in groups()}
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept = {name: failed for name, failed in kept.items() if name.split(": ")[0] in parts}
    tries = {f"{part}: {label(*one)}": (part, one) for one in cells for part in parts}  # each once
    left = [] if only_kept else [name for name in tries if name not in kept]
    start, done = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = {pool.submit(attempt, *tries[name][1], parts[tries[name][0]]): name for name in left}
        for future in concurrent.futures.as_completed(futures):
            name = futures[future]
            part, (compiler, column) = tries[name]
            kept[name] = failed = future.result()
            KEPT.write_text(json.dumps(kept))
            done += 1
            print(f"{done:4} of {len(left)}, {time.monotonic() - start:5.0f} s: {compiler.name}, {column}, "
                  f"{parts[part][0]} and {len(parts[part]) - 1} more: {cell(failed)}", flush=True)
    results = {}  # None: the compiler has no such column. Left out: not all parts were tried
    for compiler in found:
        for column in COLUMNS:
            told = [kept.get(f"{part}: {label(compiler, column)}", "") for part in parts] if (
                compiler, column) in cells else [None]
            if "" not in told:
                results[compiler.name, column] = None if None in told else {
                    header: error for failed in told for header, error in failed.items()}
    made = table(found, results)
    print(f"\n{made}")
    if write:
        before, rest = PAGE.read_text().split(BEGIN)
        after = rest.split(END)[1]
        head = f"{len(HEADERS)} headers, {datetime.date.today()}:\n\n"
        PAGE.write_text(before + BEGIN + "\n" + head + made + "\n" + END + after)
    return 1 if any(results.values()) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--nvrtc"]:
        sys.exit(nvrtc(*sys.argv[2:]))
    sys.exit(main(sys.argv[1:]))
