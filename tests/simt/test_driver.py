# SPDX-License-Identifier: MIT
"""simt-c++, which compiles anyone's CUDA file for the CPU device; the launches that it rewrites; 16-bit numbers."""
import os
import re
import shlex
import string
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SIMT = ROOT / "include" / "simt"
FILES = Path(__file__).resolve().parent / "driver"
NVCC = os.environ.get("NVCC")
BUILD = Path(os.environ.get("BUILD") or ROOT / "build")
CXX = os.environ.get("CXX") or "g++"
ENVIRONMENT = {**os.environ, "SIMT_CACHE": str(BUILD / "simt"), "QUICK_CXX": CXX,
               "CXX": str(Path(__file__).resolve().parents[1] / "cxx-quick")}


def run(*command, ok=True, cwd=None, **environment):
    """What a command prints, on both streams."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**ENVIRONMENT, **environment}, cwd=cwd, timeout=300)
    assert (done.returncode == 0) == ok, f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout}"
    return done.stdout


def driver(*arguments, **options):
    return run(SIMT / "simt-c++", *arguments, **options)


@pytest.fixture(scope="module")
def launches(tmp_path_factory):
    """A program of two files and a header, by a command line for nvcc."""
    folder = tmp_path_factory.mktemp("launches")
    said = driver("-arch=sm_90", "-gencode", "arch=compute_90,code=sm_90", "--expt-extended-lambda", "-use_fast_math",
                  "--generate-line-info", "-lineinfo", "-Xptxas", "-v", "-Xcompiler", "-Wall,-Wextra,-Werror",
                  "-Xcompiler=-fno-strict-aliasing", "--std=c++17", "-O", "2", "-rdc=true", "--maxrregcount=32", "-DLEVEL=3",
                  "-Werror", "cross-execution-space-call", "-x", "cu", FILES / "launches.cu", FILES / "other.cu",
                  "-o", folder / "launches", "-lcudart", "-lnccl", "-lm", "-Xlinker", "--as-needed")
    assert said == ""
    return folder / "launches"


def test_launches(launches):
    assert run(launches) == "0 failures\n"
    assert run(launches, SIMT_ORDER="shuffle", SIMT_RESIDENT="4") == "0 failures\n"


def test_names_of_kernels(launches):
    said = run(launches, "names", SIMT_COUNT="1")
    names = re.findall(r"^simt: (.*) <<<", said, re.M)
    assert names[-3] == "scale<float>" and "outer::(anonymous namespace)::reverse<float>" in names
    assert {"over", "sum", "part<3, float>", "header_kernel", "file_kernel", "holder::set_nine"} <= set(names)
    assert names[-2:] == ["scale", "over"]  # C++ can't tell which function: the name is as written
    line = (FILES / "launches.cu").read_text().split("*p = d.x;")[0].count("\n") + 1
    assert f"ends 4 bytes past an allocation of 4096 bytes\n  where: block (0,0,0) thread (0,0,0), " in said
    assert f"launches.cu:{line}\n" in said


@pytest.mark.skipif(not NVCC, reason="no nvcc: install the CUDA Toolkit")
def test_is_cuda(tmp_path):
    """In one file, as most of the time is the runtime's own headers'."""
    (tmp_path / "all.cu").write_text("".join(
        f'#define main main_of_{name}\n#define kernel kernel_of_{name}\n#include "{FILES / name}.cu"\n#undef main\n#undef kernel\n'
        for name in ("launches", "other", "float16", "groups", "sides")))
    run(NVCC, "-arch=sm_90", "-extended-lambda", "-DLEVEL=3", "-Xcompiler", "-O0", "-c", "all.cu", "-o", "all.o", cwd=tmp_path)


PLAIN = """__global__ void k(int *p, int n)
{
    p[0] = n;
}
int main()
{
    int *p, h;
    cudaMalloc(&p, sizeof h);
    k<<<1, 1>>>(p, VALUE);
    cudaMemcpy(&h, p, sizeof h, cudaMemcpyDefault);
    return h;
}
"""


def test_files(tmp_path):
    """Objects, a preprocessed file, dependencies, a .cpp and a .c file; the default names."""
    (tmp_path / "a b.cu").write_text(PLAIN.replace("int main", '#include "c.h"\nextern "C" int in_c(void);\nint in_cpp();\n'
                                                    "int main").replace("return h", "return h + in_c() + in_cpp()"))
    (tmp_path / "c.h").write_text("\n")
    (tmp_path / "c.c").write_text("int in_c(void) { int *class = 0; return class == 0; }\n")
    (tmp_path / "d.cpp").write_text("#include <cuda_runtime.h>\nint in_cpp() { int n; cudaGetDeviceCount(&n); return n; }\n")
    driver("-c", "a b.cu", "-DVALUE=-1", "-MD", "-std=c++14", cwd=tmp_path)
    assert re.match(r"a\\ b\.o: a\\ b\.cu ", (tmp_path / "a b.d").read_text()) and " c.h" in (tmp_path / "a b.d").read_text()
    driver("--compile", "c.c", "d.cpp", cwd=tmp_path)
    run("ar", "rc", "libd.a", "d.o", cwd=tmp_path)
    driver("a b.o", "c.o", "-L.", "-ld", cwd=tmp_path)
    run(tmp_path / "a.out", ok=False)  # 1
    text = driver("-E", "a b.cu", "-DVALUE=1", cwd=tmp_path)
    assert "k<<<" not in text and '# 12 "a b.cu"' in text
    # Installed, it is a link to the script.
    (tmp_path / "simt-c++").symlink_to(SIMT / "simt-c++")
    (tmp_path / "plain.cu").write_text(PLAIN)
    run(tmp_path / "simt-c++", "plain.cu", "-DVALUE=0", "-o", "plain", cwd=tmp_path)
    assert run(tmp_path / "plain") == ""
    run(sys.executable, ROOT / "run", "simt", "plain.cu", "-DVALUE=0", "-oplain", "-O0", "-g", cwd=tmp_path)
    assert run(tmp_path / "plain") == ""


def test_itself_as_the_compiler():
    """CMake sets CXX to its compiler, for all that it starts."""
    assert "Free Software Foundation" in driver("--version", CXX=str(SIMT / "simt-c++"))


def test_script_alone(tmp_path):
    """chevrons.py, and g++ by hand."""
    (tmp_path / "plain.cu").write_text('#define TWICE(k, ...) k<<<1, 1>>>(__VA_ARGS__); \\\n    k<<<1, 1>>>(__VA_ARGS__)\n' +
                                       PLAIN.replace("k<<<1, 1>>>(p, VALUE)", "TWICE(k, p, 0)"))
    text = run(sys.executable, SIMT / "chevrons.py", "plain.cu", cwd=tmp_path)
    assert text.splitlines()[0] == "#include <cuda_runtime.h>" and text.splitlines()[1] == '# 1 "plain.cu"'
    assert text.splitlines()[2 + 4] == "    p[0] = n;"
    (tmp_path / "plain.cpp").write_text(text)
    run(*shlex.split(CXX), "-std=c++14", "-Wall", "-Wextra", "-Werror", "-I", SIMT, "-c", "plain.cpp",
        cwd=tmp_path)
    driver("plain.o", "-o", "plain", cwd=tmp_path)
    assert run(tmp_path / "plain") == ""


def test_device_is_kept(tmp_path):
    """Two at once make the device's object, and keep one; without a folder for it they make their own."""
    (tmp_path / "plain.cu").write_text(PLAIN)
    driver("-c", "plain.cu", "-DVALUE=0", cwd=tmp_path)
    started = [subprocess.Popen([SIMT / "simt-c++", "plain.o", "-o", f"plain{i}"], cwd=tmp_path,
                                env={**ENVIRONMENT, "SIMT_CACHE": str(tmp_path / "new" / "kept")}) for i in range(2)]
    assert [process.wait() for process in started] == [0, 0]
    assert len(list((tmp_path / "new" / "kept").iterdir())) == 1
    assert run(tmp_path / "plain0") == run(tmp_path / "plain1") == ""
    driver("plain.o", "-o", "plain2", cwd=tmp_path, SIMT_CACHE="/dev/null/none")
    assert run(tmp_path / "plain2") == ""


LACKING = {  # the source -> the whole message
    "#include <stdio.h>\n#include <cub/cub.cuh>": "x.cu:2: error: simt does not have CUB, Thrust or libcu++ ",
    "#include <thrust/device_vector.h>": "x.cu:1: error: simt does not have CUB, Thrust or libcu++ ",
    '\n#include "inner.cuh"': "inner.cuh:3: error: simt does not have CUB, Thrust or libcu++ ",
    "#include <curand_kernel.h>": "x.cu:1: error: simt does not have NVIDIA's libraries ",
    "#include <mma.h>\nusing namespace nvcuda; __global__ void k() { wmma::fragment<wmma::accumulator, 16, 16, 16, float> f; }":
        "x.cu:1: error: simt does not have tensor cores ",
    "__global__ void k(cudaTextureObject_t t, float *p) { *p = tex1D<float>(t, 0.5f); }":
        "x.cu:1: error: simt does not have textures and surfaces (cudaTextureObject_t)",
    "\n__global__ void k(float *p) {\n *p = surf2Dread<float>(0, 1, 2); }":
        "x.cu:3: error: simt does not have textures and surfaces (surf2Dread)",
    'int tex2D;\n__global__ void k(unsigned *p) {\n asm volatile("mov.u32 %0, %%laneid;" : "=r"(*p)); }':
        'x.cu:3: error: simt does not have PTX ("mov.u32 %0, %%laneid;")',
    '__global__ void k() {\n asm("trap;"); }': 'x.cu:2: error: simt does not have PTX ("trap;")',
    "__global__ void __cluster_dims__(2, 1, 1) k() { }": "x.cu:1: error: simt does not have clusters (__cluster_dims__)",
    "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k() {\n cg::this_cluster().sync(); }":
        "x.cu:4: error: simt does not have these cooperative groups (this_cluster)",
    "#include <cooperative_groups.h>\n__global__ void k() {\n cooperative_groups::this_grid().sync(); }":
        "x.cu:3: error: simt does not have grid_group::sync(): ",
    "#include <cooperative_groups/memcpy_async.h>": "x.cu:1: error: simt does not have these cooperative groups",
    "int main() {\n int *p;\n k<<<1, 1>>p; }": "x.cu:3: error: <<< without a >>> and the arguments in parentheses after it",
    "int main() { <<<1, 1>>>(2); }": "x.cu:1: error: <<< without a kernel before it",
}


@pytest.mark.parametrize("source", LACKING, ids=lambda source: re.sub(r"\W+", " ", source)[-30:])
def test_lacking(source, tmp_path):
    (tmp_path / "x.cu").write_text(source + "\n")
    (tmp_path / "inner.cuh").write_text("\n\n#include <cuda/atomic>\n")
    said = driver("-c", "x.cu", ok=False, cwd=tmp_path)
    assert said.startswith(LACKING[source]) and said.count("\n") == 1, said


@pytest.mark.parametrize("arguments, message", [
    (["none.cu"], "simt-c++: error: none.cu: no such file"),
    (["-O2"], "simt-c++: error: no files: "),
    (["x.cu", "-o"], "simt-c++: error: -o lacks its argument"),
    (["x.cu", "-ptx"], "simt-c++: error: -ptx makes code for a GPU"),
    (["x.cu", "-lcublas"], "simt-c++: error: -lcublas: simt has none of NVIDIA's libraries"),
    (["-c", "x.cu", "x.cu", "-o", "x.o"], "simt-c++: error: -o x.o names one file"),
])
def test_wrong_command(arguments, message, tmp_path):
    (tmp_path / "x.cu").write_text(PLAIN)
    said = driver(*arguments, ok=False, cwd=tmp_path)
    assert said.startswith(message) and said.count("\n") == 1, said


def test_messages(tmp_path):
    """g++'s own name the user's file, line and column. A launch from a kernel ends the kernel."""
    (tmp_path / "x.cu").write_text("template <class T> __global__ void k(T *p, int n) { p[0] = n; }\n"
                                   "int main()\n{\n    k<<<1, 1>>>(1.5, 2); undeclared();\n}\n")
    said = driver("-c", "x.cu", ok=False, cwd=tmp_path)
    assert "x.cu:4:6: error: no matching function for call to ‘k(const double&, const int&)’" in said
    assert "x.cu:4:26: error: ‘undeclared’ was not declared" in said
    (tmp_path / "y.cu").write_text("__global__ void inner() { }\n__global__ void outer() { inner<<<1, 1>>>(); }\n"
                                   "int main() { outer<<<1, 1>>>(); return cudaDeviceSynchronize() == 0; }\n")
    driver("y.cu", "-o", "y", cwd=tmp_path)
    said = run(tmp_path / "y")
    assert said.startswith("simt: launch in a kernel in outer\n") and "y.cu:2\n" in said


def test_groups(tmp_path):
    """Cooperative groups, which reports don't name in place of the kernel."""
    driver(FILES / "groups.cu", "-o", tmp_path / "groups", "-Wall", "-Wextra", "-Werror")
    assert run(tmp_path / "groups") == "31 2016 85 0 2 64 1 no error\n"
    said = run(tmp_path / "groups", "apart")
    lines = [number for number, line in enumerate((FILES / "groups.cu").read_text().splitlines(), 1) if "sync(" in line]
    assert "threads of one block wait at different barriers" in said
    assert f"groups.cu:{lines[-1]}\n" in said and f"groups.cu:{lines[-2]} waits at another barrier" in said


def test_guards(tmp_path):
    """Between the shared variables lie bytes that are nobody's."""
    (tmp_path / "x.cu").write_text("""
__device__ __noinline__ void put(int *to, int i) { to[i] = i; }
template <class T> __global__ void other(T *out) { __shared__ T mine[32]; mine[threadIdx.x] = 1; *out = mine[0]; }
__global__ void k(int *out, int i)
{
    __shared__ int a[32], b[32], c[32];
    put(a, 0), put(b, i), put(c, 0);
    *out = a[0] + c[0];
}
int main(int, char **v)
{
    int *out;
    cudaMalloc(&out, 4);
    other<<<1, 1>>>(out);
    k<<<1, 1>>>(out, atoi(v[1]));
    cudaDeviceSynchronize();
}
""")
    driver("x.cu", "-o", "x", cwd=tmp_path)
    for index, says in (31, ""), (32, "ends 4 bytes past the shared variable b"), (-1, "4 bytes before the shared variable b"):
        assert says in run(tmp_path / "x", str(index))


def test_sides(tmp_path):
    """A kernel is compiled with __CUDA_ARCH__ and the host without it, in one program with one of each variable."""
    assert driver(FILES / "sides.cu", "-o", tmp_path / "x", "-Wall", "-Wextra", "-Werror") == ""
    assert run(tmp_path / "x") == "0 failures\n"
    said = run(tmp_path / "x", "overrun", ok=False)
    lines = (FILES / "sides.cu").read_text().split("\n")
    line = 1 + next(i for i, text in enumerate(lines) if "return p[x];" in text)
    assert f"thread (4,0,0), sides.cu:{line}\n" in said.replace(f"{FILES}/", ""), said


def test_one_side(tmp_path):
    (tmp_path / "x.cu").write_text("""__host__ __device__ int arch()
{
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__;
#else
    return 0;
#endif
}
__global__ void k(int *p) { *p = arch(); }
int main()
{
    int *p, h = 0;
    cudaMalloc(&p, 4), k<<<1, 1>>>(p), cudaMemcpy(&h, p, 4, cudaMemcpyDefault);
    printf("%d %d", h, arch());
}
""")
    for option, printed in ([], "900 0"), (["-D__CUDA_ARCH__=800"], "800 800"), (["-U__CUDA_ARCH__"], "0 0"):
        assert driver("x.cu", "-o", "x", *option, cwd=tmp_path) == ""
        assert run(tmp_path / "x") == printed


def test_standard_headers(tmp_path):
    """With macros of CUDA's names."""
    headers = "memory", "functional", "future", "regex", "filesystem", "algorithm", "iostream", "unordered_map"
    (tmp_path / "x.cu").write_text("".join(f"#include <{name}>\n" for name in headers))
    for standard in 14, 20:
        assert driver("-c", "x.cu", f"-std=c++{standard}", cwd=tmp_path) == ""


def test_macros_of_one_letter(tmp_path):
    """A size that is given on the command line, as -DN=256: the headers have no such name."""
    headers = "cooperative_groups.h", "cooperative_groups/reduce.h", "cuda_bf16.h", "cuda_fp16.h", "cuda_pipeline_primitives.h", "nccl.h"
    (tmp_path / "x.cu").write_text("".join(f"#include <{name}>\n" for name in headers) + PLAIN)
    driver("x.cu", "-o", "x", "-DVALUE=0", *(f"-D{letter}=256" for letter in string.ascii_uppercase), cwd=tmp_path)
    assert run(tmp_path / "x") == ""


def test_memset_of_shared_memory(tmp_path):
    """Its bytes are written, also in a file that includes <cstring>, which undefines macros of those names."""
    (tmp_path / "x.cu").write_text("""#include <cstring>
#include <cstdio>
__global__ void k(int *out) {
    __shared__ int s[64];
    if (threadIdx.x == 0) { std::memset(s, 0, sizeof s); memcpy(s + 8, out, 32); }
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x] + 1;
}
int main() {
    int *out, first = 0;
    cudaMalloc((void **)&out, 256);
    cudaMemset(out, 0, 256);
    k<<<1, 64>>>(out);
    cudaMemcpy(&first, out, 4, cudaMemcpyDeviceToHost);
    printf("%d\\n", first);
}
""")
    for level in 0, 2:
        assert driver("x.cu", "-o", "x", f"-O{level}", cwd=tmp_path) == ""
        assert run(tmp_path / "x") == "1\n"


@pytest.mark.parametrize("device, host, says", [
    ("constexpr int N = 1;\n", "constexpr int N = 2;\n", "N depends on __CUDA_ARCH__, and the host gets the device's"),
    ("using T = float;\n", "using T = double;\n", "T depends on __CUDA_ARCH__"),
    ("struct S { int a; };\n", "struct S { char a; };\n", "a depends on __CUDA_ARCH__"),
    ("struct S { int a; };\n", "struct __align__(16) S { int a; };\n", ""),
    ("__constant__ int n = 1;\n", "int n = 1;\n", ""),
    ("__device__ void f() {}\n", "__device__ inline void g() {}\n", ""),
    ("inline int f() { return 1; }\n", "static __host__ __device__ __forceinline__ int f() { return 2; }\n", ""),
    ('__host__ __device__ int f() { asm("mov.u32 %0, %%laneid;"); return 1; }\n',
     "__host__ __device__ int f() { return 2; }\n", 'simt does not have PTX ("mov.u32 %0, %%laneid;"), so a kernel'),
    ("namespace a {\n", "namespace b {\n", ""),
    ("const __device__ std::pair<int, int> b{1, 2};\n", "constexpr auto b = std::make_pair(1, 2);\n", "b depends"),
    ("struct S { int a, b; __host__ __device__ S() : a(1) {} };\n",
     "struct S { int a, b; __host__ __device__ S() : b{1} {} };\n", "a constructor's initializers depend"),
])
def test_declarations(tmp_path, device, host, says):
    """What is not a function has one side: a warning says so where it matters."""
    end = "}\n" if device.startswith("namespace") else ""
    (tmp_path / "x.cu").write_text(f"#ifdef __CUDA_ARCH__\n{device}{end}#else\n{host}{end}#endif\n")
    said = driver("-c", "x.cu", cwd=tmp_path)
    assert (said.startswith(f"x.cu:2: warning: {says}") and said.count("\n") == 1) if says else said == "", said


def test_sides_of_ptx(tmp_path):
    """A __device__ function has no other side to take."""
    (tmp_path / "x.cu").write_text("""__global__ void k()
{
#if __CUDA_ARCH__ >= 700
    asm volatile("nanosleep.u32 1;");
#endif
}
int main() { k<<<1, 1>>>(); }
""")
    assert driver("x.cu", cwd=tmp_path, ok=False).startswith("x.cu:4: error: simt does not have PTX")
    assert driver("-c", "x.cu", "-U__CUDA_ARCH__", cwd=tmp_path) == ""


# ---- numbers of 16 bits --------------------------------------------------------------------------


def narrow(x, fraction):
    """Bits of the doubles x, rounded to nearest."""
    lowest = 2 - (1 << (14 - fraction))
    exponent = np.maximum(np.frexp(x)[1] - 1, lowest)
    steps = np.rint(np.ldexp(np.abs(x), fraction - exponent))
    value = np.copysign(np.ldexp(steps, exponent - fraction), x)
    value[np.abs(value) >= 2.0 ** (2 - lowest)] *= np.inf
    if fraction == 10:
        bits = value.astype(np.float16).view(np.uint16)
    else:
        bits = (value.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    bits[np.isnan(x)] = 0x7fff
    return bits


def widen(bits, fraction):
    bits = np.ascontiguousarray(bits, np.uint16)
    return (bits.view(np.float16).astype(np.float64) if fraction == 10 else
            (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64))


def exact_fma(a, b, c, fraction):
    """The nearest to a * b + c, from exact arithmetic, as bits."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return None
    lowest, exponent = 2 - (1 << (14 - fraction)), 0
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(exact) < Fraction(2) ** exponent and exponent > lowest:
        exponent -= 1
    nearest = float(round(exact / Fraction(2) ** (exponent - fraction)) * Fraction(2) ** (exponent - fraction))
    return narrow(np.array([nearest or (-0.0 if exact < 0 else 0.0)]), fraction)[0]


@np.errstate(all="ignore")
def test_float16(tmp_path):
    draw = np.random.default_rng(1)
    numbers = np.concatenate([
        draw.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32),  # with all that isn't a number
        draw.integers(0, 2**16, 10000, dtype=np.uint16).view(np.float16).astype(np.float32),
        draw.standard_normal(10000).astype(np.float32) * np.float32(1000),
        (draw.standard_normal(10000) * 2.0 ** -20).astype(np.float32),
        np.array([0, -0.0, 1, 65504, 65519.996, 65520, -65520, 5.97e-8, 2.9802322e-8, 2.980233e-8, 1 + 2**-11, 1 + 2**-8,
                  1 + 3 * 2**-8, 3.39e38, 3.4e38, np.inf, -np.inf, np.nan, 1, 1 + 2**-8, 2**-133, 256, 1 + 2**-8, -1e-38],
                 np.float32)])
    numbers.tofile(tmp_path / "in")
    driver(FILES / "float16.cu", "-o", tmp_path / "float16", "-Wall", "-Wextra", "-Werror")
    said = run(tmp_path / "float16", tmp_path / "in", tmp_path / "out").splitlines()
    of_kernel = ["no error 48 48 (112, 32) 7", "loads 3 stores 2 bytes 322 atomics 64"]  # 2 and 4 bytes an access
    assert said == ["1.5 3 1", *of_kernel, *of_kernel]

    data, x, triples = (tmp_path / "out").read_bytes(), numbers.astype(np.float64), len(numbers) - 2
    for fraction, data in (10, data[:len(data) // 2]), (7, data[len(data) // 2:]):
        table = np.frombuffer(data[:16 << 16], np.dtype([("wide", "f4"), ("back", "i4"), ("root", "f4"), ("whole", "i4")]))
        every = np.arange(65536, dtype=np.uint16)
        value = widen(every, fraction)
        nan = np.isnan(value)
        assert (table["wide"].view(np.uint32)[~nan] == value.astype(np.float32).view(np.uint32)[~nan]).all()
        assert np.isnan(table["wide"][nan]).all() and (table["back"] == np.where(nan, 0x7fff, every)).all()
        root = widen(narrow(np.sqrt(value), fraction), fraction)
        assert np.array_equal(table["root"], root, equal_nan=True)
        assert (table["whole"] == np.clip(np.trunc(np.where(nan, 0, value)), -2**31, 2**31 - 1)).all()

        data = data[16 << 16:]
        rounded = np.frombuffer(data[:12 * len(x)], np.uint16).reshape(-1, 6)
        assert (rounded[:, 0] == narrow(x, fraction)).all() and (rounded[:, 4] == rounded[:, 0]).all()
        toward, up, down = (widen(rounded[:, i], fraction) for i in (1, 2, 3))
        some = ~np.isnan(x)
        assert (np.abs(toward) <= np.abs(x))[some].all() and (up >= x)[some].all() and (down <= x)[some].all()
        assert ((toward == down) | (toward == up))[some].all()
        step = rounded[:, 2].astype(int) - rounded[:, 3]  # up and down are the same or neighbours
        assert (np.abs(step)[some & (x != 0)] <= 1).all() and ((step == 0) == (up == x))[some & (x != 0)].all()
        big = np.abs(x * 1e6) < 9e18
        whole = np.trunc((numbers * np.float32(1e6)).astype(np.float64))
        assert (rounded[big, 5] & 0x7fff == narrow(whole[big], fraction) & 0x7fff).all()

        made = np.frombuffer(data[12 * len(x):], np.uint16).reshape(triples, 11)
        a, b, c = (widen(made[:, i], fraction) for i in (7, 8, 9))
        for i, wanted in enumerate((a + b, a - b, a * b, a / b)):
            assert (made[:, i] == narrow(wanted, fraction)).all(), i
        assert np.array_equal(widen(made[:, 5], fraction), np.fmax(a, b), equal_nan=True)
        assert np.array_equal(widen(made[:, 6], fraction), np.minimum(a, b), equal_nan=True)
        neither = np.isnan(a) | np.isnan(b)
        assert (made[:, 10] == ((a < b) | (a <= b) * 2 | (a == b) * 4 | (a != b) * 8 | ((a < b) | neither) * 16 |
                                ((a != b) & ~neither) * 32)).all()
        finite = np.flatnonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
        for i in [*finite[::20], *finite[-30:]]:
            wanted = exact_fma(a[i], b[i], c[i], fraction)
            assert wanted is None or made[i, 4] == wanted, (a[i], b[i], c[i])
