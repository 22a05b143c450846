#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of others, changed to use coarsen, and judged by their own checks (needs a GPU, nvcc, and git or --sources).

  python3 bench/adoption.py [WORD...] [--sources FOLDER] [--build FOLDER]

Each program is built and run twice, as it is and changed. A change is the lines below and nothing else: one inclusion,
one call, and the scratch where one is needed. The programs are fetched at the commits below, or taken from
FOLDER/cuda-samples and FOLDER/SGEMM_CUDA. docs/adoption.md has what came out. WORD: a part of a program's name.
"""
import argparse
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPOSITORIES = {
    "cuda-samples": ("https://github.com/NVIDIA/cuda-samples", "c94ff366aed18c797b8a85dfaac7817b0228b420"),
    "SGEMM_CUDA": ("https://github.com/siboehm/SGEMM_CUDA", "60cba6f9b20a198116c76f18de8047f44df8c8b8"),
}
CONCEPTS = "cuda-samples/Samples/2_Concepts_and_Techniques"


class Program:
    """sources: in folder, what nvcc compiles. before, after: the arguments of each run, where the best counts. figure:
    a pattern for the program's own figure; the last one counts. edits: (file, how, words, text), where the text goes
    before the line, the only one that has the words, or in place of it and, with ("instead", words of the first
    line, words of the last), of all up to the other one."""

    def __init__(self, name, folder, sources, before, after, figure, unit, edits, flags=()):
        self.name, self.folder, self.sources, self.flags = name, folder, sources.split(), flags
        self.before, self.after, self.figure, self.unit, self.edits = before, after, figure, unit, edits


PROGRAMS = [
    Program("reduction", f"{CONCEPTS}/reduction", "reduction.cpp reduction_kernel.cu",
            before=[f"--type=float --n=16777216 --kernel={k} --maxblocks={blocks}"
                    for k in (6, 7, 9) for blocks in (64, 1024)],
            after=["--type=float --n=16777216 --kernel=6 --maxblocks=1"],
            figure=r"Throughput = ([\d.]+) GB/s", unit="GB/s", edits=[
                ("reduction_kernel.cu", "before", "template <class T> void reduce(int size", """
#define COARSEN_NAME total
#define COARSEN_TYPE float
#include <coarsen/reduce.h>
static void *ready(size_t bytes)
{
    void *scratch;
    checkCudaErrors(cudaMalloc(&scratch, bytes));
    checkCudaErrors(total_scratch_init(scratch, bytes, 0));
    return scratch;
}
"""),
                ("reduction_kernel.cu", "before", "dim3 dimBlock(threads, 1, 1);", """
    if (whichKernel == 6 && sizeof(T) == 4) {
        const size_t bytes = total_scratch_bytes(size);
        static void *const scratch = ready(bytes);
        checkCudaErrors(total_launch((float *)d_idata, (float *)d_odata, size, scratch, bytes, 0));
        return;
    }
"""),
                ("reduction_kernel.cu", "before", "#include <cooperative_groups.h>", "#include <helper_cuda.h>\n"),
            ]),
    Program("histogram256", f"{CONCEPTS}/histogram", "main.cpp histogram64.cu histogram256.cu histogram_gold.cpp",
            before=[""], after=[""],
            figure=r"histogram256, Throughput = ([\d.]+) MB/s", unit="MB/s", edits=[
                ("histogram256.cu", "before", 'extern "C" void initHistogram256(void)', """
#define COARSEN_NAME tones
#define COARSEN_TYPE unsigned char
#define NUM_BINS     256
#include <coarsen/histogram.h>
"""),
                ("histogram256.cu", "instead", "histogram256Kernel<<<", 'getLastCudaError("mergeHistogram256Kernel()', """
    checkCudaErrors(tones_launch((unsigned char *)d_Data, d_Histogram, byteCount, 0));
"""),
            ]),
    Program("scan", f"{CONCEPTS}/scan", "main.cpp scan.cu scan_gold.cpp", before=[""], after=[""],
            figure=r"scan, Throughput = ([\d.]+) MElements/s", unit="arrays' length (2^18) in 10^6 per second", edits=[
                ("scan.cu", "before", 'extern "C" void initScan(void)', """
#define COARSEN_NAME      sums
#define COARSEN_TYPE      uint
#define COARSEN_EXCLUSIVE 1
#include <coarsen/scan/segmented.h>
static void *scratch;
static int *offsets;
static __global__ void begin_each(int *offsets, uint arrays, uint length)
{
    for (uint a = threadIdx.x; a <= arrays; a += blockDim.x)
        offsets[a] = a * length;
}
"""),
                ("scan.cu", "before", "checkCudaErrors(cudaMalloc((void **)&d_Buf,", """
    const size_t bytes = sums_scratch_bytes(MAX_BATCH_ELEMENTS);
    checkCudaErrors(cudaMalloc(&scratch, bytes));
    checkCudaErrors(sums_scratch_init(scratch, bytes, 0));
    checkCudaErrors(cudaMalloc(&offsets, (MAX_BATCH_ELEMENTS / MIN_LARGE_ARRAY_SIZE + 1) * sizeof(int)));
"""),
                ("scan.cu", "before", "assert((arrayLength >= MIN_LARGE_ARRAY_SIZE)", """
    begin_each<<<1, 256>>>(offsets, batchSize, arrayLength);
    checkCudaErrors(sums_launch(d_Src, batchSize * arrayLength, offsets, batchSize, d_Dst, scratch,
                                sums_scratch_bytes(MAX_BATCH_ELEMENTS), 0));
    return THREADBLOCK_SIZE;
"""),
            ]),
    Program("mergeSort", "cuda-samples/Samples/0_Introduction/mergeSort",
            "main.cpp mergeSort.cu mergeSort_host.cpp mergeSort_validate.cpp bitonic.cu", before=["", ""],
            after=["", ""], figure=r"Time: ([\d.]+) ms", unit="ms for 2^22 pairs, the first launch", edits=[
                ("mergeSort.cu", "before", 'extern "C" void initMergeSort(void)', """
#define COARSEN_NAME  sort_pairs
#define COARSEN_TYPE  uint
#define COARSEN_VALUE uint
#include <coarsen/merge_sort.h>
static void *scratch;
"""),
                ("mergeSort.cu", "before", "checkCudaErrors(cudaMalloc((void **)&d_RanksA,", """
    checkCudaErrors(cudaMalloc(&scratch, sort_pairs_scratch_bytes(SAMPLE_STRIDE * MAX_SAMPLE_COUNT)));
"""),
                ("mergeSort.cu", "before", "uint stageCount = 0;", """
    checkCudaErrors(sort_pairs_launch(d_SrcKey, d_DstKey, d_SrcVal, d_DstVal, N, scratch,
                                      sort_pairs_scratch_bytes(N), 0));
    return;
"""),
            ]),
    Program("radixSortThrust, keys", f"{CONCEPTS}/radixSortThrust", "radixSortThrust.cu",
            before=["-n=67108864 -keysonly"], after=["-n=67108864 -keysonly"],
            figure=r"Throughput = ([\d.]+) MElements/s", unit="10^6 keys per second, 2^26", edits=[
                ("radixSortThrust.cu", "before", "template <typename T, bool floatKeys> bool testSort", """
#define COARSEN_NAME sort_keys
#define COARSEN_TYPE unsigned int
#include <coarsen/sort.h>
"""),
                ("radixSortThrust.cu", "before", "float totalTime = 0;", """
    const size_t bytes = sort_keys_scratch_bytes(numElements);
    thrust::device_vector<uint4> scratch(bytes / 16 + 1);
    checkCudaErrors(sort_keys_scratch_init(thrust::raw_pointer_cast(scratch.data()), bytes, 0));
"""),
                ("radixSortThrust.cu", "instead", "thrust::sort(d_keys.begin(), d_keys.end());",
                 "thrust::sort(d_keys.begin(), d_keys.end());", """
        {
            unsigned int *keys = (unsigned int *)thrust::raw_pointer_cast(d_keys.data());
            checkCudaErrors(sort_keys_launch(keys, keys, numElements, thrust::raw_pointer_cast(scratch.data()), bytes, 0));
        }
"""),
            ]),
    Program("FDTD3d", "cuda-samples/Samples/5_Domain_Specific/FDTD3d",
            "src/FDTD3d.cpp src/FDTD3dGPU.cu src/FDTD3dReference.cpp", flags=["-I", "inc", "-DGPU_PROFILING"],
            before=["--timesteps=10"], after=["--timesteps=10"],
            figure=r"FDTD3d, Throughput = ([\d.]+) MPoints/s", unit="10^6 points per second", edits=[
                ("src/FDTD3dGPU.cu", "before", "bool fdtdGPU(float       *output,", """
#define COARSEN_NAME         star
#define COARSEN_TYPE         float
#define COARSEN_ORDER        RADIUS
#define COARSEN_COEFFICIENTS stencil[0], stencil[1], stencil[2], stencil[3], stencil[4]
#include <coarsen/stencil.h>
"""),
                ("src/FDTD3dGPU.cu", "instead", "FiniteDifferencesKernel<<<dimGrid,", "FiniteDifferencesKernel<<<dimGrid,", """
        checkCudaErrors(star_launch(bufferSrc, bufferDst, outerDimx, outerDimy, outerDimz, outerDimx,
                                    (size_t)outerDimx * outerDimy, 0));
"""),
            ]),
    Program("SGEMM_CUDA", "SGEMM_CUDA", "sgemm.cu src/runner.cu", flags=["-I", "src", "-lcublas"],
            before=["10", "12"], after=["10"],
            figure=r"performance: \(\s*([\d.]+)\) GFLOPS. size: \(4096\)", unit="GFLOP/s, 4096 square", edits=[
                ("src/runner.cu", "before", "void runSgemmWarptiling(int M, int N, int K,", """
#define COARSEN_NAME product
#define COARSEN_TYPE float
#include <coarsen/matmul.h>
"""),
                ("src/runner.cu", "instead", "runSgemmWarptiling(M, N, K, alpha,", "runSgemmWarptiling(M, N, K, alpha,", """
    {
        static const size_t bytes = 64 << 20;
        static void *scratch = NULL;
        if (scratch == NULL)
            cudaCheck(cudaMalloc(&scratch, bytes), __FILE__, __LINE__);
        cudaCheck(product_launch(M, N, K, alpha, A, K, B, N, beta, C, N, scratch, bytes, 0), __FILE__, __LINE__);
    }
"""),
            ]),
]


def change(path, how, words, *rest):
    """One edit; each of its words must be found once."""
    *until, text = rest
    lines = path.read_text().splitlines(keepends=True)
    places = [[i for i, line in enumerate(lines) if word in line] for word in (words, *until)]
    if any(len(place) != 1 for place in places):
        sys.exit(f"adoption: {path}: {words!r} is there {len(places[0])} times, not once: is it the right commit?")
    first, last = places[0][0], places[-1][0]
    lines[first:last + 1 if how == "instead" else first] = [text.lstrip("\n")]
    path.write_text("".join(lines))


def run(program, folder, arguments):
    """The best figure of the runs; the program's own check is its exit status."""
    figures = []
    for one in arguments:
        done = subprocess.run([folder / "program", *one.split()], cwd=folder, capture_output=True, text=True)
        found = re.findall(program.figure, done.stdout)
        if done.returncode != 0 or re.search(r"(?i)fail", done.stdout) or not found:
            (folder / "log").write_text(done.stdout + done.stderr)
            return None, f"status {done.returncode}: see {folder}/log"
        figures.append(float(found[-1]))
    best = min(figures) if program.unit.startswith("ms") else max(figures)
    return best, "passed"


def build(program, sources, folder, changed):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sources / program.folder, folder)
    for name, *edit in program.edits if changed else []:
        change(folder / name, *edit)
    command = ["nvcc", "-O3", "-std=c++17", "-arch=native", "-w", "-I", ROOT / "include", "-I", sources / "cuda-samples/Common",
               *program.flags, "-o", "program", *program.sources]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        (folder / "log").write_text(done.stdout + done.stderr)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "adoption")
    options = parser.parse_args()
    sources = options.sources
    if not sources:
        sources = options.build / "sources"
        for name, (url, commit) in REPOSITORIES.items():
            if not (sources / name).is_dir():
                subprocess.run(["git", "clone", "-q", "--filter=blob:none", url, sources / name], check=True)
                subprocess.run(["git", "-C", sources / name, "checkout", "-q", commit], check=True)
    chosen = [p for p in PROGRAMS if not options.words or any(word in p.name for word in options.words)]
    both = [(program, changed, options.build.resolve() / re.sub(r"\W+", "_", program.name) / name)
            for program in chosen for changed, name in ((False, "as_it_is"), (True, "changed"))]
    print("adoption: compiles", len(both), "programs", file=sys.stderr, flush=True)
    with ThreadPoolExecutor() as pool:
        built = list(pool.map(lambda one: build(one[0], sources.resolve(), one[2], one[1]), both))
    results = {}
    for (program, changed, folder), compiled in zip(both, built):
        print("adoption:", program.name, folder.name, file=sys.stderr, flush=True)
        results[program, changed] = (run(program, folder, program.after if changed else program.before) if compiled
                                     else (None, f"does not compile: see {folder}/log"))
    print("| program | its check | as it is | with coarsen | ratio | unit |\n|---|---|---|---|---|---|")
    for program in chosen:
        (before, as_it_is), (after, changed) = results[program, False], results[program, True]
        ratio = "" if before is None or after is None else \
            f"{before / after if program.unit.startswith('ms') else after / before:.2f}"
        check = changed if as_it_is == changed else f"{as_it_is}; {changed}"
        print(f"| {program.name} | {check} | {before} | {after} | {ratio} | {program.unit} |")
    return any(figure is None for figure, _ in results.values())


if __name__ == "__main__":
    sys.exit(main())
