# SPDX-License-Identifier: MIT
"""`./run bundle` makes one file of any header: it compiles alone, any number of them go into one file, they leave no
macro behind, and they run."""
import functools
import os
import re
import subprocess
import sys

import pytest

from headers import (CXX, HEADERS, INCLUDE, NO_NVCC, NVCC, QUICK_NVCC, ROOT, SIMT, STRICT, compile_source, inclusion,
                     needs_of_cuda, uses)

SIMT_LIB = os.environ.get("SIMT_LIB")
RUNTIME = [f"-I{INCLUDE / 'simt'}", *SIMT[1:]]
COMPILERS = {  # what test_compile.py finds at -O1, and test_nvrtc.py in the machine code, needs no second look
    "nvcc": [*NVCC, "-arch=compute_80", "-Werror=all-warnings", f"-Xcompiler={','.join(STRICT)}", *QUICK_NVCC, "-c",
             "-o", "test.o"],
    "simt": [*CXX, "-x", "c++", "-O1", *RUNTIME, *STRICT, "-c", "-o", "test.o"],
}


@functools.cache
def bundled(header):
    return subprocess.run([sys.executable, ROOT / "run", "bundle", header], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def bundle(header, folder):
    """Writes the header's bundle, and returns its name."""
    name = header.replace("/", "_")
    (folder / name).write_text(bundled(header))
    return name


def use(header, name, prefix):
    changes = {"COARSEN_NAME": prefix} if "COARSEN_NAME" in inclusion(header) else {}
    return needs_of_cuda(header) + re.sub(r"#include .*", f'#include "{name}"', inclusion(header, again=True, **changes))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_all_in_one_file(compiler, tmp_path):
    """Each bundle, one after the other, and again in the other order, with no coarsen header to be found."""
    if compiler == "nvcc" and not NVCC:
        pytest.skip(NO_NVCC)
    bundles = [(header, bundle(header, tmp_path)) for header in HEADERS]
    assert not [name for _, name in bundles if '#include "' in (tmp_path / name).read_text()]
    source = "".join(use(header, name, f"one_{i}") for i, (header, name) in enumerate(bundles))
    source += "".join(use(header, name, f"two_{i}") for i, (header, name) in enumerate(reversed(bundles)))
    assert compile_source(COMPILERS[compiler], source, tmp_path) == ""


@pytest.mark.parametrize("header", HEADERS)
def test_macros(header, tmp_path):
    """It leaves the macros that the header itself leaves, and no other."""
    source = use(header, bundle(header, tmp_path), "bundled")
    (tmp_path / "cuda_runtime.h").touch()  # a runtime of nothing will do

    def macros(source, flags):
        said = compile_source([*CXX, "-x", "c++", "-E", "-dM", f"-I{tmp_path}", *flags], source, tmp_path)
        return {line for line in said.splitlines() if "COARSEN" in line or "coarsen" in line}
    assert macros(source, []) == macros(inclusion(header), [f"-I{INCLUDE}"])


def test_runs(tmp_path):
    if not SIMT_LIB:
        pytest.skip("SIMT_LIB is not set: run this through ./run test")
    source = f"""
        #include <stdio.h>
        #define COARSEN_NAME sum
        #define COARSEN_TYPE int
        #include "{bundle("coarsen/reduce.h", tmp_path)}"
        #define COARSEN_NAME twice
        #define COARSEN_TYPE int
        #define COARSEN_MAP(a) (2 * (a))
        #include "{bundle("map.h", tmp_path)}"
        int main()
        {{
            int *data, *out, host[20000], result = 0;
            void *scratch;
            for (int i = 0; i < 20000; i++)
                host[i] = i;
            const size_t bytes = sum_scratch_bytes(20000);
            cudaMalloc((void **)&data, sizeof(host)), cudaMalloc((void **)&out, 4), cudaMalloc(&scratch, bytes);
            cudaMemcpy(data, host, sizeof(host), cudaMemcpyHostToDevice);
            if (sum_scratch_init(scratch, bytes, 0) || twice_launch(data, data, 20000, 0) ||
                sum_launch(data, out, 20000, scratch, bytes, 0))
                return 1;
            cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost);
            printf("%d", result);
        }}
        """
    assert compile_source([flag for flag in COMPILERS["simt"] if flag != "-Werror"], source, tmp_path) == ""
    subprocess.run([*CXX, "test.o", SIMT_LIB, "-pthread", "-ldl", "-o", "test"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "test"], check=True, stdout=subprocess.PIPE, text=True).stdout == str(20000 * 19999)


@pytest.mark.parametrize("header, choice", [("coarsen/segmented.h", {"COARSEN_OFFSET": "int"}),
                                            ("coarsen/segmented.h", {"COARSEN_AXIS": "0"}),
                                            ("coarsen/segmented.h", {"COARSEN_KEY": "int"}),
                                            ("coarsen/image.h", {"COARSEN_RADIUS": "3"})])
def test_a_header_that_chooses(header, choice, tmp_path):
    """Each choice is whole, and not only the first in the file."""
    source = re.sub(r"#include .*", f'#include "{bundle(header, tmp_path)}"', inclusion(header, again=True, **choice))
    assert compile_source(COMPILERS["simt"], source, tmp_path) == ""


def test_no_such_header():
    made = subprocess.run([sys.executable, ROOT / "run", "bundle", "sum.h"], stderr=subprocess.PIPE, text=True)
    assert made.returncode != 0 and "no header sum.h; there are" in made.stderr
