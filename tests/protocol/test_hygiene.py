# SPDX-License-Identifier: MIT
"""A user's names never meet the headers'. Every name that any header uses for a variable, a parameter or a member
is a global of the user's here, in his namespace, and part of every expression he gives; or it is a macro of his.
Nothing changes."""
import os
import re
import subprocess

import pytest

from headers import (CXX, HEADERS, INCLUDE, NO_NVCC, NVCC, QUICK_NVCC, SIMT, STRICT, compile_source, example,
                     inclusion, parameters, pattern, text)

SIMT_LIB = os.environ.get("SIMT_LIB")
CUDA = "".join(sorted({f"{line}\n" for header in HEADERS for line in example(header)[0].splitlines()
                       if line.startswith("#include <cuda_")}))  # that examples include first: once, and in no namespace
# Not variables: words of the language, of CUDA, and of the assembler; types and functions; attributes.
NOT_OURS = set("""
    alignas asm bool break case char const constexpr continue default do double else enum extern false float for if
    inline int long operator return short signed sizeof static static_assert struct switch true typedef union unsigned
    void volatile while
    cp async ca cg shared global commit_group wait_group ld cs v4 u32 memory r l
    blockDim blockIdx gridDim threadIdx dim3 size_t uint4 x y z memcpy clock64 printf
    gridDim blockDim dynamicSmemBytes stream aligned may_alias unused always_inline thread_local timespec
    """.split())


def names():
    """Every name in lower case in the code of the headers, except those above."""
    found = set()
    for header in HEADERS:
        code = re.sub(r"//.*|\"(\\.|[^\"\n])*\"", "", text(header))
        code = re.sub(r"^\s*#\s*(?!define).*", "", code, flags=re.M)
        found |= set(re.findall(r"(?<![\w#.>])[a-z]\w*(?!\w*\()", code))
    return sorted(name for name in found - NOT_OURS
                  if not name.startswith(("coarsen_", "cuda", "__", "atomic", "uint", "vector_functions", "nccl")))


NAMES = names()
ZERO = f"({' + '.join(NAMES)} - {len(NAMES)})"  # 0, if each of them is the user's
# const, so that the compiler knows a sum of the user's own, and only one with another's is added up in each expression.
GLOBALS = "".join(f"static const int {name} = 1;\n" for name in NAMES) + f"#define ZERO {ZERO}\n"
# A user's expressions, each of which reads all of his globals.
EXPRESSIONS = {
    "COARSEN_OP": "((a) + (b) + ZERO)", "COARSEN_IDENTITY": "(ZERO + 0.0f)", "COARSEN_LIFT": "((x) * 2 + (float)(i) + ZERO)",
    "COARSEN_IF": "((x) + (float)(i) > 6 + ZERO)", "COARSEN_SAME": "((a) == (b) + ZERO)", "COARSEN_LESS": "((a) < (b) + ZERO)",
    "COARSEN_ATOMIC": "atomicAdd(p, (a) + ZERO)", "COARSEN_BIN": "((int)(x) + ZERO)",
    "COARSEN_COEFFICIENTS": "2 + ZERO, 3 + ZERO", "COARSEN_STENCIL": "((x)[0] + (x)[-1] * 2 + (y)[1] * 3 + (z)[-1] * 4 + ZERO)",
}
CALLS = {
    "REDUCE": """
static int check_{name}(void)
{{
    float *in, *out, host[N], result = 0, wanted = 0;
    void *scratch;
    const size_t bytes = {name}_scratch_bytes(N);
    if (cudaMalloc((void **)&in, sizeof(host)) || cudaMalloc((void **)&out, 4) || cudaMalloc(&scratch, bytes + 16) ||
        {name}_scratch_init(scratch, bytes, 0))
        return 1;
    for (int e = 0; e < N; e++)
        wanted += (host[e] = (float)(e % 7)) * {twice} + {index} * (float)e;
    if (cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice) || {name}_launch(in, out, N, scratch, bytes, 0) ||
        cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost))
        return 1;
    return result != wanted;
}}
""",
    "SCAN": """
static int check_{name}(void)
{{
    float *in, *out, host[N], result[N], wanted = 0;
    void *scratch;
    const size_t bytes = {name}_scratch_bytes(N);
    if (cudaMalloc((void **)&in, sizeof(host)) || cudaMalloc((void **)&out, sizeof(host)) ||
        cudaMalloc(&scratch, bytes + 16) || {name}_scratch_init(scratch, bytes, 0))
        return 1;
    for (int e = 0; e < N; e++)
        host[e] = (float)(e % 7);
    if (cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice) || {name}_launch(in, out, N, scratch, bytes, 0) ||
        cudaMemcpy(result, out, sizeof(host), cudaMemcpyDeviceToHost))
        return 1;
    for (int e = 0; e < N; e++)
        if (result[e] != (wanted += host[e] * 2 + (float)e))
            return 1;
    return 0;
}}
""",
    "SELECT": """
static int check_{name}(void)
{{
    float *in, *out, host[N], result[N];
    unsigned long long *count, counted = 0, kept = 0, runs = 0;
    void *scratch;
    const size_t bytes = {name}_scratch_bytes(N);
    if (cudaMalloc((void **)&in, sizeof(host)) || cudaMalloc((void **)&out, sizeof(host)) ||
        cudaMalloc((void **)&count, 8) || cudaMalloc(&scratch, bytes + 16) || {name}_scratch_init(scratch, bytes, 0) ||
        cudaMemset(out, 0, sizeof(host)))
        return 1;
    for (int e = 0; e < N; e++)
        host[e] = (float)(e % 7);
    if (cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice) ||
        {name}_launch(in, out, N, count, scratch, bytes, 0) ||
        cudaMemcpy(result, out, sizeof(host), cudaMemcpyDeviceToHost) ||
        cudaMemcpy(&counted, count, 8, cudaMemcpyDeviceToHost))
        return 1;
    for (int e = 0; e < N; e++)
        if (host[e] + (float)e > 6 && result[kept++] != host[e] * 2 + (float)e)
            return 1;
    if (counted != kept || {name}_runs_launch(in, out, N, count, scratch, bytes, 0) ||
        cudaMemcpy(result, out, sizeof(host), cudaMemcpyDeviceToHost) ||
        cudaMemcpy(&counted, count, 8, cudaMemcpyDeviceToHost))
        return 1;
    for (int e = 0; e < N; e++)
        if ((e == 0 || host[e - 1] != host[e]) && result[runs++] != host[e] * 2 + (float)e)
            return 1;
    return counted != runs;
}}
""",
    "MERGE": """
static int check_{name}(void)
{{
    float *first, *second, *merged, host[N], result[N];
    if (cudaMalloc((void **)&first, sizeof(host)) || cudaMalloc((void **)&second, sizeof(host)) ||
        cudaMalloc((void **)&merged, sizeof(host)))
        return 1;
    for (int e = 0; e < N; e++)
        host[e] = (float)(e / 3);
    if (cudaMemcpy(first, host, 4 * 2000, cudaMemcpyHostToDevice) ||
        cudaMemcpy(second, host, 4 * (N - 2000), cudaMemcpyHostToDevice) ||
        {name}_launch(first, 2000, second, N - 2000, merged, 0) ||
        cudaMemcpy(result, merged, sizeof(host), cudaMemcpyDeviceToHost))
        return 1;
    for (int e = 0, x = 0, y = 0; e < N; e++)
        if (result[e] != (x < 2000 && host[x] <= host[y] ? host[x++] : host[y++]))
            return 1;
    return 0;
}}
""",
    "MERGESORT": """
static int check_{name}(void)
{{
    float *keys, host[N], result[N];
    void *scratch;
    const size_t bytes = {name}_scratch_bytes(N);
    if (cudaMalloc((void **)&keys, sizeof(host)) || cudaMalloc(&scratch, bytes))
        return 1;
    for (int e = 0; e < N; e++)
        host[e] = (float)(e * 7 % N);
    if (cudaMemcpy(keys, host, sizeof(host), cudaMemcpyHostToDevice) || {name}_launch(keys, keys, N, scratch, bytes, 0) ||
        cudaMemcpy(result, keys, sizeof(host), cudaMemcpyDeviceToHost))
        return 1;
    for (int e = 0; e < N; e++)
        if (result[e] != (float)e)
            return 1;
    return 0;
}}
""",
    "HISTOGRAM": """
static int check_{name}(void)
{{
    unsigned char *in, host[N];
    unsigned int *counts, result[16], wanted[16] = {{}};
    void *scratch;
    if (cudaMalloc((void **)&in, N) || cudaMalloc((void **)&counts, 64) || cudaMalloc(&scratch, 1 << 16))
        return 1;
    for (int e = 0; e < N; e++)
        wanted[host[e] = (unsigned char)(e * e % 16)]++;
    (void)scratch;
    if (cudaMemcpy(in, host, N, cudaMemcpyHostToDevice) || {name}_launch(in, counts, N, {scratch}0) ||
        cudaMemcpy(result, counts, 64, cudaMemcpyDeviceToHost))
        return 1;
    return memcmp(result, wanted, 64) != 0;
}}
""",
    "MAP": """
static int check_{name}(void)
{{
    float *in, *out, host[N], result[N];
    if (cudaMalloc((void **)&in, sizeof(host)) || cudaMalloc((void **)&out, sizeof(host)))
        return 1;
    for (int e = 0; e < N; e++)
        host[e] = (float)(e % 31);
    if (cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice) || {name}_launch(in, in, in, out, N, 3.0f, 0) ||
        cudaMemcpy(result, out, sizeof(host), cudaMemcpyDeviceToHost))
        return 1;
    for (int e = 0; e < N; e++)
        if (result[e] != host[e] * host[e] + host[e] * 3)
            return 1;
    return 0;
}}
""",
    "STENCIL": """
static int check_{name}(void)
{{
    float *in, *out, host[N], result[N], weighted[N];
    if (cudaMalloc((void **)&in, sizeof(host)) || cudaMalloc((void **)&out, sizeof(host)))
        return 1;
    for (int e = 0; e < N; e++)
        host[e] = (float)(e % 31);
    if (cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice) || {name}_launch(in, out, 20, 25, 10, 20, 500, 0) ||
        cudaMemcpy(result, out, sizeof(host), cudaMemcpyDeviceToHost) ||
        {name}_weights_launch(in, out, 20, 25, 10, 20, 500, 0) ||
        cudaMemcpy(weighted, out, sizeof(host), cudaMemcpyDeviceToHost))
        return 1;
    for (int e = 0; e < N; e++) {{
        const bool edge = e % 20 % 19 == 0 || e / 20 % 25 % 24 == 0 || e / 500 % 9 == 0;
        if (result[e] != (edge ? host[e] : host[e] + host[e - 1] * 2 + host[e + 20] * 3 + host[e - 500] * 4))
            return 1;
        if (weighted[e] != (edge ? host[e] : host[e] * 2 + 3 * (host[e - 1] + host[e + 1] + host[e - 20] + host[e + 20] +
                                                                host[e - 500] + host[e + 500])))
            return 1;
    }}
    return 0;
}}
""",
    "FUSE": """
static int check_{name}(void)
{{
    float *in, *out, host[N], result = 0, wanted = 0;
    void *scratch;
    const size_t bytes = {name}_scratch_bytes(N);
    if (cudaMalloc((void **)&in, sizeof(host)) || cudaMalloc((void **)&out, 4) || cudaMalloc(&scratch, bytes) ||
        {name}_scratch_init(scratch, bytes, 0))
        return 1;
    for (int e = 0; e < N; e++)
        host[e] = (float)(e % 5), wanted += host[e] * host[e] + host[e] * 3;
    if (cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice) ||
        {name}_launch(in, in, in, out, N, 3.0f, scratch, bytes, 0) || cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost))
        return 1;
    return result != wanted;
}}
""",
}
# A reduction of each row or column of a matrix, which has one here.
CALLS["MATRIX"] = CALLS["REDUCE"].replace("scratch_bytes(N)", "scratch_bytes({rows}, {width})").replace(
    "launch(in, out, N, ", "launch(in, {width}, out, {rows}, {width}, ")
# A reduction of segments: two of them.
CALLS["SEGMENTED"] = """
static int check_{name}(void)
{{
    float *in, *out, host[N], result[2], wanted[2] = {{0, 0}};
    int *where;
    const int ends[3] = {{0, 7, N}};
    void *scratch;
    const size_t bytes = {name}_scratch_bytes(N, 2);
    if (cudaMalloc((void **)&in, sizeof(host)) || cudaMalloc((void **)&out, 8) || cudaMalloc((void **)&where, 12) ||
        cudaMalloc(&scratch, bytes + 16) || {name}_scratch_init(scratch, bytes, 0))
        return 1;
    for (int e = 0; e < N; e++)
        wanted[e >= 7] += (host[e] = (float)(e % 7)) * 2 + (float)(e < 7 ? e : e - 7);
    if (cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice) ||
        cudaMemcpy(where, ends, 12, cudaMemcpyHostToDevice) || {name}_launch(in, N, where, 2, out, scratch, bytes, 0) ||
        cudaMemcpy(result, out, 8, cudaMemcpyDeviceToHost))
        return 1;
    return memcmp(result, wanted, 8) != 0;
}}
"""
# And of runs of equal keys.
CALLS["RUNS"] = """
static int check_{name}(void)
{{
    float *in, *keys, *out, *out_keys, host[N], marks[N], result[N], found[N], wanted = 0;
    unsigned long long *count, counted = 0, runs = 0;
    void *scratch;
    const size_t bytes = {name}_scratch_bytes(N);
    if (cudaMalloc((void **)&in, sizeof(host)) || cudaMalloc((void **)&keys, sizeof(host)) ||
        cudaMalloc((void **)&out, sizeof(host)) || cudaMalloc((void **)&out_keys, sizeof(host)) ||
        cudaMalloc((void **)&count, 8) || cudaMalloc(&scratch, bytes + 16) || {name}_scratch_init(scratch, bytes, 0) ||
        cudaMemset(out, 0, sizeof(host)) || cudaMemset(out_keys, 0, sizeof(host)))
        return 1;
    for (int e = 0; e < N; e++)
        host[e] = (float)(e % 7), marks[e] = (float)(e / 10);
    if (cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice) ||
        cudaMemcpy(keys, marks, sizeof(host), cudaMemcpyHostToDevice) ||
        {name}_launch(keys, in, N, out_keys, out, count, scratch, bytes, 0) ||
        cudaMemcpy(result, out, sizeof(host), cudaMemcpyDeviceToHost) ||
        cudaMemcpy(found, out_keys, sizeof(host), cudaMemcpyDeviceToHost) ||
        cudaMemcpy(&counted, count, 8, cudaMemcpyDeviceToHost))
        return 1;
    for (int e = 0; e < N; e++) {{
        wanted += host[e] * 2 + (float)e;
        if (e % 10 == 9 && (result[runs] != wanted || found[runs++] != marks[e]))
            return 1;
        wanted = e % 10 == 9 ? 0 : wanted;
    }}
    return counted != runs;
}}
"""
RUNGS = [header for header in HEADERS if pattern(header) in CALLS and "/block/" not in header]


def kind_of(header):
    return "MATRIX" if pattern(header) == "SEGMENTED" and "offsets" not in header else pattern(header)


def included(header, name):
    """The inclusion of a rung by this user, and a function that checks what it does."""
    kind = kind_of(header)
    changes = {"COARSEN_NAME": name}
    taken = parameters(header)
    lift = "COARSEN_LIFT" in taken
    if kind in ("REDUCE", "MATRIX", "SEGMENTED", "RUNS", "SCAN", "FUSE"):
        changes |= {"COARSEN_TYPE": "float"}
        changes |= {key: EXPRESSIONS[key] for key in ("COARSEN_OP", "COARSEN_IDENTITY", "COARSEN_LIFT", "COARSEN_ATOMIC")
                    if key in taken}
    if kind == "RUNS":
        changes |= {"COARSEN_KEY": "float", "COARSEN_SAME": EXPRESSIONS["COARSEN_SAME"]}
    if kind == "HISTOGRAM":
        changes |= {"COARSEN_TYPE": "unsigned char", "NUM_BINS": "16", "COARSEN_BIN": EXPRESSIONS["COARSEN_BIN"]}
    if kind in ("MERGE", "MERGESORT"):
        changes |= {"COARSEN_TYPE": "float", "COARSEN_LESS": EXPRESSIONS["COARSEN_LESS"]}
    if kind == "STENCIL":  # by each of its two ways too
        changes |= {"COARSEN_COEFFICIENTS": None, "COARSEN_STENCIL": EXPRESSIONS["COARSEN_STENCIL"]}
        if "COARSEN_STEPS" in taken:
            changes |= {"COARSEN_STEPS": "1"}
    if kind == "SELECT":  # by each of its two expressions
        changes |= {"COARSEN_TYPE": "float", "COARSEN_LIFT": EXPRESSIONS["COARSEN_LIFT"],
                    "COARSEN_IF": EXPRESSIONS["COARSEN_IF"]}
    source = inclusion(header, again=True, **changes)
    if kind == "SELECT":
        source += inclusion(header, again=True, **changes | {
            "COARSEN_NAME": f"{name}_runs", "COARSEN_IF": None, "COARSEN_SAME": EXPRESSIONS["COARSEN_SAME"]})
    if kind == "STENCIL":
        source += inclusion(header, again=True, **changes | {
            "COARSEN_NAME": f"{name}_weights", "COARSEN_STENCIL": None, "COARSEN_COEFFICIENTS": EXPRESSIONS["COARSEN_COEFFICIENTS"]})
    if kind in ("MAP", "FUSE"):
        changes |= {"COARSEN_INPUTS": "3", "COARSEN_SCALAR": "float", "COARSEN_MAP": None, "COARSEN_TYPE": "float"}
        source = ("#define COARSEN_MAP(a, b, c, s) ((a) * (b) + (c) * (s) + ZERO)\n" +
                  inclusion(header, again=True, **changes))
    return source + CALLS[kind].format(name=name, twice=2 if lift else 1, index=1 if lift else 0,
                                       rows="N" if "columns" in header else 1, width=1 if "columns" in header else "N",
                                       scratch="scratch, 1 << 16, " if re.search("private_global|partitioned", header) else "")


def build_and_run(source, folder):
    if not SIMT_LIB:
        pytest.skip("SIMT_LIB is not set: run this through ./run test")
    # As tests/faults.py compiles: for what is right, simt needs neither the steps of each lane nor the lines.
    said = compile_source([*CXX, "-x", "c++", "-O0", "-w", *SIMT, "-fno-sanitize-coverage=trace-pc", "-g0",
                           f"-I{INCLUDE}", "-c"], source, folder,
                          flags=["-o", "test.o"])
    assert said == ""
    subprocess.run([*CXX, "test.o", SIMT_LIB, "-pthread", "-ldl", "-o", "test"], cwd=folder, check=True)
    return subprocess.run([folder / "test"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def program(rungs, around=("namespace user {\n", "}\n"), before="", mine=GLOBALS):
    """A program with those rungs, each between the lines around; it prints which of them are wrong."""
    parts = ["#include <cuda_runtime.h>\n#include <coarsen/nccl/base.h>\n#include <stdio.h>\n#include <string.h>\n#define N 5000\n", before]
    calls = []
    for place, (begin, end) in enumerate([around] if isinstance(around[0], str) else around):
        parts += [begin, mine]
        for number, header in enumerate(rungs):
            parts.append(included(header, f"rung_{number}"))
            scope = re.sub(r"namespace (\w+).*", r"\1::", begin.strip()) if "namespace" in begin else ""
            calls.append(f'    if ({scope}check_rung_{number}())\n        puts("{scope}{header} is wrong");\n')
        parts += ["#undef ZERO\n", end]
    return "".join([*parts, "int main()\n{\n", *calls, '    puts("done");\n}\n'])


def test_names_are_found():
    """What this file looks for is what it means to: if the headers are written otherwise, it must follow."""
    assert {"n", "width", "in", "out", "sum", "head", "t", "lane", "value", "blocks", "ticket", "row"} <= set(NAMES)


def test_globals(tmp_path):
    """In two namespaces, one after the other, with all names as globals."""
    result = build_and_run(program(RUNGS, [("namespace foo {\n", "}\n"), ("namespace bar {\n", "}\n")]), tmp_path)
    assert result.stdout == "done\n" and result.returncode == 0


def test_macros(tmp_path):
    """All names as macros: with arguments, which a header would call by mistake, then as names of themselves; and
    those that a kernel's author is likely to have, some of which have a value."""
    bad = "".join(f"#define {name}(...) [[wrong]]\n" for name in {*NAMES, "min", "max", "swap", "row", "col"})
    bad += "".join(f"#define {name} 3\n" for name in "N M K T S BLOCK THREADS WIDTH NAME_kernel TILE DEPTH".split())
    bad += "".join(f"#define {name} threadIdx.{name[1]}\n#define b{name[1]} blockIdx.{name[1]}\n" for name in ("tx", "ty"))
    bad += "#define NAME_(x) x\n#define tid threadIdx.x\n#define gid (blockIdx.x * blockDim.x + threadIdx.x)\n"
    same = "".join(f"#define {name} {name}\n" for name in NAMES)
    for macros in bad, same:
        others = "".join(inclusion(header, again=True, COARSEN_NAME=f"other_{number}")
                         for number, header in enumerate(HEADERS)
                         if header not in RUNGS and "COARSEN_NAME" in parameters(header))
        source = program(RUNGS, before=CUDA + "#define HOST_N 5000\n" + macros, mine="#define ZERO 0\n" + others)
        source = source.replace("#define N 5000\n", "").replace("host[N]", "host[HOST_N]").replace("result[N]", "result[HOST_N]")
        source = re.sub(r"\bN\b(?! 3)", "HOST_N", source)
        result = build_and_run(source, tmp_path)
        assert result.stdout == "done\n" and result.returncode == 0


def test_the_width_of_a_bin(tmp_path):
    """What was wrong once: all elements fell in bin 0, as a header had a parameter `width`."""
    result = build_and_run("""
        #include <stdio.h>
        #include <cuda_runtime.h>
        static __constant__ float width = 10;
        #define COARSEN_NAME tens
        #define COARSEN_TYPE float
        #define NUM_BINS     10
        #define COARSEN_BIN(v) ((int)((v) / width))
        #include <coarsen/histogram.h>
        int main()
        {
            float *in, host[100];
            unsigned int *counts, result[10];
            for (int i = 0; i < 100; i++)
                host[i] = (float)i;
            cudaMalloc((void **)&in, sizeof(host)), cudaMalloc((void **)&counts, sizeof(result));
            cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
            if (tens_launch(in, counts, 100, 0))
                return 1;
            cudaMemcpy(result, counts, sizeof(result), cudaMemcpyDeviceToHost);
            for (int b = 0; b < 10; b++)
                printf("%u ", result[b]);
        }
        """, tmp_path)
    assert result.stdout.split() == ["10"] * 10


COMPILERS = {  # of what is named, the optimizer and the assembler say nothing
    "nvcc": [*NVCC, "-arch=compute_80", "-Werror=all-warnings", f"-Xcompiler={','.join(STRICT)}", *QUICK_NVCC, "-c",
             "-o", "test.o"],
    "simt": [*CXX, "-x", "c++", "-O1", *SIMT, *STRICT, "-c", "-o", "test.o"],
}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_places(compiler, tmp_path):
    """Every header in a namespace, in another one after it, and in extern "C"; also those for views and counted inputs."""
    if compiler == "nvcc" and not NVCC:
        pytest.skip(NO_NVCC)
    source = "#include <cuda_runtime.h>\n#include <coarsen/nccl/base.h>\n" + CUDA
    templates = [header for header in HEADERS if "COARSEN_NAME" in parameters(header)]
    for begin, end, tag in (("namespace foo {", "}", "f"), ("namespace bar {", "}", "b"), ('extern "C" {', "}", "c")):
        source += begin + "\n"
        for number, header in enumerate(templates):
            assert f"{example(header)[0]}\n".strip() in CUDA, "an example that needs another inclusion first: include that here, too"
            source += inclusion(header, again=True, COARSEN_NAME=f"{tag}{number}")
            for option in {"COARSEN_VIEW", "COARSEN_COUNTED"} & set(parameters(header)):
                source += inclusion(header, again=True, COARSEN_NAME=f"{tag}{number}{option[8]}", **{option: "1"})
        source += end + "\n"
    # GCC says that it leaves this warning out where a source is that long.
    quiet = [] if compiler == "nvcc" else ["-Wno-misleading-indentation"]
    assert compile_source([*COMPILERS[compiler], *quiet, f"-I{INCLUDE}"], source, tmp_path) == ""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_macro_that_names_a_type(compiler, tmp_path):
    """What was wrong once: matmul.h passed the name of a shape on, and headers of Windows have a macro of that name."""
    if compiler == "nvcc" and not NVCC:
        pytest.skip(NO_NVCC)
    source = "#include <cuda_runtime.h>\n#include <coarsen/nccl/base.h>\n" + CUDA + "#define small char\n"
    for number, header in enumerate(HEADERS):
        if "COARSEN_NAME" in parameters(header):
            source += inclusion(header, again=True, COARSEN_NAME=f"mine{number}")
    quiet = [] if compiler == "nvcc" else ["-Wno-misleading-indentation"]
    assert compile_source([*COMPILERS[compiler], *quiet, f"-I{INCLUDE}"], source, tmp_path) == ""


STRICTER = ["-Wundef", "-Wshadow", "-Wsign-conversion", "-Wold-style-cast"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_quiet(compiler, tmp_path):
    """No warning of these kinds in any header, with globals that a local of ours hides; nvcc's own headers give some."""
    if compiler == "nvcc" and not NVCC:
        pytest.skip(NO_NVCC)
    flags = [f"-Xcompiler={','.join(STRICTER)}"] if compiler == "nvcc" else STRICTER
    command = [flag for flag in COMPILERS[compiler] if "Werror" not in flag]
    source = CUDA + "static int n = 1, sum = 2, width = 3;\nint use(void);\nint use(void)\n{\n    return n + sum + width;\n}\n"
    for number, header in enumerate(HEADERS):
        changes = {"COARSEN_NAME": f"quiet_{number}"} if "COARSEN_NAME" in parameters(header) else {}
        source += inclusion(header, again=True, **changes)
    said = compile_source([*command, *flags, f"-I{INCLUDE}"], source, tmp_path)
    assert [line for line in said.splitlines() if "coarsen/" in line and ("warning" in line or "error" in line)] == []
    assert "exit status" not in said
