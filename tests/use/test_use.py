# SPDX-License-Identifier: MIT
"""examples/use: each project does what its README says, as far as there is what it needs: it is built, and run where
there is a GPU. Those that are plain programs run on the CPU device."""
import ctypes
import os
import re
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
USE = ROOT / "examples" / "use"
EXAMPLES = sorted(path.name for path in USE.iterdir() if path.is_dir())
FILES = sorted(path for path in USE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
NVCC = os.environ.get("NVCC")
TOOLKIT = Path(NVCC).resolve().parents[1] if NVCC else None
CXX = shlex.split(os.environ.get("CXX") or "g++")
BUILD = Path(os.environ.get("BUILD") or ROOT / "build")

sys.path.insert(0, str(HERE.parent / "protocol"))
from headers import HEADERS, INCLUDE, inclusion, is_template  # noqa: E402
from test_nvrtc import NVRTC, QUICK, compile_program  # noqa: E402

no_nvcc = pytest.mark.skipif(not NVCC, reason="no nvcc: install the CUDA Toolkit")
no_nvrtc = pytest.mark.skipif(not NVRTC, reason="no libnvrtc.so: install the CUDA Toolkit")


def needs(name):
    return pytest.mark.skipif(not shutil.which(name), reason=f"no {name} on PATH: install it, or run COARSEN_CI=1 ./run test")


def have_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


GPU = have_gpu()


def python_with(*modules):
    """A python3 on PATH that has the packages; None where there is none. They are not imported."""
    script = f"import importlib.util as u; exit(not all(u.find_spec(name) for name in {modules}))"
    for folder in os.environ["PATH"].split(":"):
        python = Path(folder, "python3")
        if python.exists() and subprocess.run([python, "-c", script]).returncode == 0:
            return python
    return None


def with_package(name, gpu=True):
    """Its python3, or the test is skipped."""
    if gpu and not GPU:
        pytest.skip(f"no GPU, without which {name} runs nothing")
    if not (python := python_with(name)):
        pytest.skip(f"no python3 on PATH has {name}: pip install it")
    return python


def run(*command, status=0, cwd=None, **environment):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=cwd, env={**os.environ, **environment})
    assert done.returncode == status, f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout}"
    assert "WRONG" not in done.stdout, done.stdout
    return done.stdout


def copied(name, folder):
    """The project, in a folder where the rest of coarsen is where its README says."""
    place = folder / "examples" / "use"
    place.mkdir(parents=True)
    for part in ROOT.iterdir():
        if part.name not in ("examples", "build", ".git"):
            (folder / part.name).symlink_to(part)
    shutil.copytree(USE / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place / name


def follow(name, folder, python=None, status=None):
    """Does what the first block of the README says. Without a GPU, a program says that there is none by status 77."""
    place = copied(name, folder)
    block = re.search(r"(?:^    .*\n)+", (place / "README.md").read_text(), re.M)[0]
    paths = [python.parent] if python else []
    more = {"TORCH_EXTENSIONS_DIR": str(folder), "CUPY_CACHE_DIR": str(folder), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if NVCC:
        paths.append(TOOLKIT / "bin")
        more["CUDA_PATH"] = str(TOOLKIT)
        more["LD_LIBRARY_PATH"] = f"{os.environ.get('LD_LIBRARY_PATH', '')}:{TOOLKIT / 'lib64'}"
    if NVCC and not GPU:  # the toolkit has something to link with, which says that there is no driver
        (folder / "libcuda.so.1").symlink_to(TOOLKIT / "lib64/stubs/libcuda.so")
        more["LIBRARY_PATH"] = str(TOOLKIT / "lib64/stubs")
        more["LD_LIBRARY_PATH"] += f":{folder}"
    path = ":".join([*map(str, paths), os.environ["PATH"]])
    status = status if status is not None else 0 if GPU else 77
    return run("sh", "-e", "-c", block, status=status, cwd=place, PATH=path, **more)


# ---- The text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_readme(name):
    """Of a page at most, from docs/use.md, which the README leads to."""
    text = (USE / name / "README.md").read_text()
    assert text.startswith("# coarsen from ") and len(text.splitlines()) < 50
    assert f"(../examples/use/{name})" in (ROOT / "docs/use.md").read_text()
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (USE / name / link).exists(), link


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(USE)))
def test_text(path):
    """No path of some machine; and Python that python3 reads."""
    text = path.read_text()
    assert not re.search(r"/(work|root|tmp|home|opt|usr/local)/", text)
    if path.suffix == ".py":
        compile(text, path, "exec")


def test_lines_of_the_page():
    """What docs/use.md shows of a project is there."""
    page = (ROOT / "docs/use.md").read_text()
    sections = re.findall(r"^## .*\n\n\[.*?\]\(\.\./examples/use/(\w+)\).*\n((?:.*\n)*?)(?=^## |\Z)", page, re.M)
    assert sorted(name for name, _ in sections) == EXAMPLES
    for name, section in sections:
        sources = "\n".join(path.read_text() for path in FILES if path.parent.name == name)
        for block in re.findall(r"^```\w+\n((?:.*\n)*?)```", section, re.M):
            for line in block.splitlines():
                assert line.split("  //")[0].split("  #")[0].strip() in sources, (name, line)


# ---- Plain programs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["nvcc/sum.cu", "cmake/tones.cu", "meson/running.cu", "clang/keys.cu"])
def test_simt(source, tmp_path):
    """On the CPU device."""
    run(ROOT / "include/simt/simt-c++", "-Wall", "-Wextra", "-Werror", "-I", INCLUDE, USE / source, "-o", tmp_path / "program",
        SIMT_CACHE=str(BUILD / "simt"), CXX=shlex.join(CXX))
    assert "right" in run(tmp_path / "program", SIMT_CORES="1")


@no_nvcc
@pytest.mark.parametrize("source", ["nvcc/sum.cu", "cmake/tones.cu", "meson/running.cu", "clang/keys.cu"])
def test_warnings(source, tmp_path):
    run(NVCC, "-arch=sm_75", "-Wno-deprecated-gpu-targets", "-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra,-Werror", "-I",
        INCLUDE, "-c", "-o", tmp_path / "program.o", USE / source)


@no_nvcc
def test_nvcc(tmp_path):
    follow("nvcc", tmp_path)


@no_nvcc
@needs("cmake")
def test_cmake(tmp_path):
    follow("cmake", tmp_path)


@no_nvcc
@needs("meson")
def test_meson(tmp_path):
    (tmp_path / "coarsen").symlink_to(ROOT)
    place = copied("meson", tmp_path / "there")
    (place / "subprojects").mkdir()
    (place / "subprojects/coarsen").symlink_to(ROOT)  # so that the wrap has nothing to fetch
    shutil.copy(ROOT / "packaging/coarsen.wrap", place / "subprojects")
    path = {"PATH": f"{TOOLKIT / 'bin'}:{os.environ['PATH']}"}
    run("meson", "setup", "build", cwd=place, **path)
    run("meson", "compile", "-C", "build", cwd=place, **path)
    assert f"{'OK' if GPU else 'SKIP'}" in run("meson", "test", "-C", "build", cwd=place, **path)


@no_nvcc
def test_clang(tmp_path):
    """Where clang knows the toolkit."""
    clang = shutil.which("clang++")
    if not clang:
        pytest.skip("no clang++ on PATH: install clang 19 or later")
    (tmp_path / "empty.cu").write_text("__global__ void kernel() {}\n")
    if subprocess.run([clang, "-x", "cuda", f"--cuda-path={TOOLKIT}", "--cuda-gpu-arch=sm_75", "-fsyntax-only", "-std=c++17",
                       tmp_path / "empty.cu"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("clang++ is too old for the CUDA Toolkit here: install clang 19 or later")
    follow("clang", tmp_path / "there")


# ---- NVRTC --------------------------------------------------------------------------------------------


@no_nvcc
def test_nvrtc(tmp_path):
    """Without a GPU, the program compiles coarsen's header and says so."""
    said = follow("nvrtc", tmp_path)
    assert GPU or "compiled; no GPU" in said


# What CuPy 14.2 gives NVRTC for a RawModule with options=("-I...", "--std=c++17"), but for its own folders of headers.
CUPY = [f"-I{INCLUDE}", "--std=c++17", *([f"-I{TOOLKIT / 'include'}"] if TOOLKIT else []), "-ftz=true", "-arch=sm_90",
        "--device-as-default-execution-space"]


@no_nvrtc
def test_cupy_compiles():
    """What the example has CuPy compile: CuPy is not there, and so is nothing of it."""
    here = types.ModuleType("sum")
    sys.modules.setdefault("cupy", types.ModuleType("cupy"))
    exec(compile((USE / "cupy/sum.py").read_text(), "sum.py", "exec"), here.__dict__)
    said, code = compile_program(here.SOURCE, CUPY)
    assert said == "" and b"\0sum_f32_kernel\0" in code


@no_nvrtc
def test_every_header_from_cupy():
    """All headers, with CuPy's options."""
    source = "".join(inclusion(header, COARSEN_NAME="name_" + re.sub(r"\W", "_", header), COARSEN_LINKAGE='extern "C"')
                     for header in HEADERS if is_template(header))
    said, code = compile_program(source, [*CUPY, *QUICK])
    assert said == "" and code


def test_cupy(tmp_path):
    follow("cupy", tmp_path, with_package("cupy"))


# ---- Libraries ----------------------------------------------------------------------------------------


@no_nvcc
def test_python(tmp_path):
    """The library shows the functions that the example calls, and no other."""
    said = follow("python", tmp_path, status=0 if GPU else 1)
    assert GPU or "allocate: " in said
    library = tmp_path / "examples/use/python/libsum.so"
    symbols = run("nm", "-D", "--defined-only", "--format=posix", library)
    shown = {line.split()[0] for line in symbols.splitlines()}
    assert shown == set(re.findall(r'^    "(\w+)": \(', (USE / "python/sum.py").read_text(), re.M))


# Those of torch.utils.cpp_extension 2.11.
PYTORCH = ["-DTORCH_EXTENSION_NAME=coarsen_ops", "-DTORCH_API_INCLUDE_EXTENSION_H", "-D__CUDA_NO_HALF_OPERATORS__",
           "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__",
           "--expt-relaxed-constexpr", "--compiler-options", "-fPIC", "-std=c++17",
           "-gencode=arch=compute_90,code=compute_90"]


@no_nvcc
def test_pytorch_compiles(tmp_path):
    run(NVCC, *PYTORCH, "-Werror=all-warnings", "-I", INCLUDE, "-c", "-o", tmp_path / "kernels.o", USE / "pytorch/kernels.cu")


def test_pytorch(tmp_path):
    python = with_package("torch")
    follow("pytorch", tmp_path, python)


@no_nvcc
def test_jax_compiles(tmp_path):
    """With the headers of jaxlib, which need no GPU."""
    python = with_package("jaxlib", gpu=False)
    headers = Path(run(python, "-c", "import importlib.util as u; print(u.find_spec('jaxlib').origin)").strip()).parent / "include"
    run(NVCC, "-std=c++17", "-arch=sm_75", "-Wno-deprecated-gpu-targets", "-shared", "-Xcompiler=-fPIC", "-I", INCLUDE, "-isystem",
        headers, "-o", tmp_path / "libsum.so", USE / "jax/sum.cu")
    shown = run("nm", "-D", "--defined-only", "--format=posix", tmp_path / "libsum.so")
    assert "\nsum_f32_handler T" in f"\n{shown}"


def test_jax(tmp_path):
    python = with_package("jax")
    if not python_with("jax", "jax_cuda13_plugin") and not python_with("jax", "jax_cuda12_plugin"):
        pytest.skip("JAX here has no CUDA: pip install jax[cuda13]")
    follow("jax", tmp_path, python)
