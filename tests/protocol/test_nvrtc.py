# SPDX-License-Identifier: MIT
"""Every header goes through NVRTC, the compiler at run time, for every GPU from sm_75 that it knows."""
import ctypes
import functools
import re
from pathlib import Path

import pytest

from headers import HEADERS, INCLUDE, NVCC, TOOLKIT, defines, example, functions, inclusion, is_template, text, uses


def load():
    """NVRTC, from beside nvcc or wherever the loader finds it; None when there is none."""
    folder = Path(NVCC[0]).resolve().parents[1] / "lib64" if NVCC else Path()
    for path in [*sorted(folder.glob("libnvrtc.so*")), "libnvrtc.so"]:
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            pass
    return None


NVRTC = load()


def architectures():
    if not NVRTC:
        return []
    count = ctypes.c_int()
    assert NVRTC.nvrtcGetNumSupportedArchs(ctypes.byref(count)) == 0
    archs = (ctypes.c_int * count.value)()
    assert NVRTC.nvrtcGetSupportedArchs(archs) == 0
    return [arch for arch in sorted(archs) if arch >= 75]


def compile_program(source, options):
    """What NVRTC said, and the code: machine code, or PTX where the options name no GPU but a compute_NN."""
    program = ctypes.c_void_p()
    options = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    assert NVRTC.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"test.cu", 0, None,
                                    None) == 0
    try:
        status = NVRTC.nvrtcCompileProgram(program, len(options), options)
        size = ctypes.c_size_t()
        assert NVRTC.nvrtcGetProgramLogSize(program, ctypes.byref(size)) == 0
        log = ctypes.create_string_buffer(size.value)
        assert NVRTC.nvrtcGetProgramLog(program, log) == 0
        if status != 0:
            return f"{log.value.decode()}\nnvrtcCompileProgram returned {status}", b""
        kind = "PTX" if any("compute_" in option.decode() for option in options) else "CUBIN"
        assert NVRTC[f"nvrtcGet{kind}Size"](program, ctypes.byref(size)) == 0
        code = ctypes.create_string_buffer(size.value)
        assert NVRTC[f"nvrtcGet{kind}"](program, code) == 0
        return log.value.decode().strip(), code.raw
    finally:
        NVRTC.nvrtcDestroyProgram(ctypes.byref(program))


ARCHS = architectures() or [75]
# The optimizer takes four fifths of the time: it is in full for the GPU that the defaults were measured on, where no
# kernel may spill registers. CUDA 12 may lack the option.
MEASURED = 90 if 90 in ARCHS else ARCHS[-1]
FAST = ["--Ofast-compile=max"]
QUICK = FAST if NVRTC and compile_program("", [*FAST, "--gpu-architecture=sm_75"])[0] == "" else []
# Machine code takes three quarters of what is left, and only the assembler knows which instructions a GPU lacks. So it
# is for the oldest, the newest, and the first of those that the headers tell from older ones; the others have PTX.
TOLD_APART = {int(bound) // 10 for header in HEADERS for bound in re.findall(r"COARSEN_PTX >= (\d+)", text(header))}
ASSEMBLED = {ARCHS[0], MEASURED, ARCHS[-1], *(min(arch for arch in ARCHS if arch >= bound) for bound in TOLD_APART)}


@functools.cache
def compile_headers(headers, arch):
    """What NVRTC said of a program of these headers, and which of their kernels are not in the code."""
    source, kernels = "", []
    for header in headers:
        mark = re.sub(r"\W", "_", header)
        named = {"COARSEN_NAME": mark} if "COARSEN_NAME" in defines(header) else {}
        source += inclusion(header, **named) + uses(header, named.get("COARSEN_NAME"), f"use_{mark}")
        kernels += [name for kind, name in functions(header, named.get("COARSEN_NAME")) if kind == "KERNEL"]
        kernels.append(f"use_{mark}_on_device")
    own = any("#include <cuda_" in example(header)[0] for header in headers)  # only they see CUDA's headers
    # What is fast with the features of one GPU alone is measured so.
    features = "a" if arch == MEASURED and any(f"sm_{arch}a" in text(header) for header in headers) else ""
    options = [f"-I{INCLUDE}", *(TOOLKIT if own else []),
               f"--gpu-architecture={'sm' if arch in ASSEMBLED else 'compute'}_{arch}{features}",
               *(QUICK if arch != MEASURED else ["--ptxas-options=--warn-on-spills"])]
    said, code = compile_program(source, options)
    # A function whose address is taken saves registers that are its caller's, and can't know what else is in a kernel
    # (C7508, C7520). Of a kernel it is a loss.
    of_function = "Registers are spilled", "(C7508)", "(C7520)"
    said = "\n".join(line for line in said.splitlines()
                     if not any(word in line for word in of_function) or any(name in line for name in kernels))
    return said, [name for name in kernels if name.encode() not in code]


ALL, FINE = tuple(HEADERS), ("", [])


@pytest.mark.skipif(not NVRTC, reason="no libnvrtc.so: install the CUDA Toolkit")
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("header", HEADERS)
def test_nvrtc(header, arch):
    """A program of each header for the oldest and the one measured. For the others one has all, and each its own once
    something is wrong with that."""
    if arch in (ARCHS[0], MEASURED) or compile_headers(ALL, arch) != FINE:
        assert compile_headers((header,), arch) == FINE


@pytest.mark.skipif(not NVRTC, reason="no libnvrtc.so: install the CUDA Toolkit")
@pytest.mark.parametrize("arch", [arch for arch in ARCHS if arch not in (ARCHS[0], MEASURED)])
def test_together(arch):
    """So that what is wrong with all of them, and with none alone, is noticed."""
    assert compile_headers(ALL, arch) == FINE


@pytest.mark.skipif(not NVRTC, reason="no libnvrtc.so: install the CUDA Toolkit")
def test_plain_names():
    """Kernels with COARSEN_LINKAGE extern "C" are there under their names, though nothing uses them; without it none is
    to be seen."""
    source, named = "", set()
    for header in (header for header in HEADERS if is_template(header)):
        mark = re.sub(r"\W", "_", header)
        kernels = {name for kind, name in functions(header, f"by_hand_{mark}") if kind == "KERNEL"}
        source += inclusion(header, COARSEN_NAME=f"by_hand_{mark}", COARSEN_LINKAGE='extern "C"')
        source += inclusion(header, again=True, COARSEN_NAME=f"hidden_{mark}")
        named |= kernels
    said, code = compile_program(source, [f"-I{INCLUDE}", *TOOLKIT, "--gpu-architecture=compute_90", *QUICK])
    assert said == "" and len(named) > len(HEADERS) / 2
    found = re.findall(r"^(\.visible )?\.entry (\w+)", code.decode(), re.M)
    assert named <= {name for seen, name in found}
    assert [name for seen, name in found if bool(seen) != bool(re.fullmatch(r"by_hand_coarsen_\w+_kernel", name))] == []


@pytest.mark.skipif(not NVRTC, reason="no libnvrtc.so: install the CUDA Toolkit")
def test_identities():
    """What base.h's comment promises of the identities of its operators, also where there is no host."""
    said, _ = compile_program("""
        #include <coarsen/base.h>
        static_assert(COARSEN_GREATEST(int) == 2147483647 && COARSEN_LEAST(int) == -2147483647 - 1, "");
        static_assert(COARSEN_GREATEST(unsigned char) == 255 && COARSEN_LEAST(unsigned char) == 0, "");
        static_assert(COARSEN_GREATEST(float) > 3.4028235e38f && COARSEN_LEAST(double) < -1.79e308, "");
        """, [f"-I{INCLUDE}", "--gpu-architecture=sm_90"])
    assert said == ""
