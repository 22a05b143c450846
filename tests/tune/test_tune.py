# SPDX-License-Identifier: MIT
"""coarsen-tune as a user runs it where there is no GPU: it predicts, says why not, and loses nothing."""
import csv
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "protocol"))
from headers import CXX, INCLUDE, SIMT, STRICT, compile_source
from test_nvrtc import NVRTC

TUNE = os.environ.get("COARSEN_TUNE")
pytestmark = pytest.mark.skipif(not TUNE, reason="COARSEN_TUNE is not set: run this through ./run test")
# What needs neither compiler comes without this mark.
works = pytest.mark.skipif(not NVRTC or not shutil.which(CXX[0]),
                           reason="no libnvrtc.so, or no g++: install the CUDA Toolkit and g++")

PATTERN_FILES = INCLUDE.parent / "bench" / "tune" / "patterns"
COPY = """
__global__ void copy(const int *x, int *y, size_t n)
{
    const size_t i = (size_t)blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}
"""
N = ["--n", "1000"]
ARRAYS = ["--in", "int x[n]", "--out", "int y[n]"]
GRID = ["--block", "64", "--grid", "coarsen_ceil_div(n, 64)"]
OF_COPY = ["--source", "copy.cu", "--kernel", "copy", *N, *ARRAYS, *GRID]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Environment of all runs: no one's cache, a place for temporary files of its own, and what every run compiles
    compiled once."""
    world = tmp_path_factory.mktemp("world")
    (world / "tmp").mkdir()
    env = {"ONCE": str(world / "once"), **os.environ, "TMPDIR": str(world / "tmp"), "XDG_CACHE_HOME": str(world / "xdg"),
           "LC_ALL": "C", "ONCE_CXX": shlex.join(CXX), "CXX": "cxx-once",
           "PATH": f"{Path(__file__).parent}:{os.environ['PATH']}"}
    return env


def tune(world, folder, *args, **env):
    said = subprocess.run([TUNE, "--static", *args], cwd=folder, env={**world, **env}, capture_output=True,
                          encoding="utf-8", timeout=100)
    said.stderr = without_progress(said.stderr)
    return said


def without_progress(text):
    """Where this is no terminal there is a line of it every ten seconds."""
    return re.sub(r"^(compiling|counting): \d+ of \d+.*\n", "", text, flags=re.MULTILINE)


def read_csv(path):
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    notes = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return notes, list(csv.DictReader(lines[len(notes):]))


def rows_of(path):
    return read_csv(path)[1]


def facts(path):
    """All that a CSV says and that is not of its run."""
    notes, rows = read_csv(path)
    return {name: notes[name] for name in notes if name not in ("command", "date")}, rows


def table(said):
    """The rows of the table: its columns by their titles, the mark as ''."""
    lines = said.stdout.split("\n\n")[1].splitlines()
    title = ["mark", *lines[0].split()]
    return [dict(zip(title, [line[:2].strip(), *line[2:].split()]))
            for line in lines[1:] if not line.startswith("> chosen")]


def failures(said):
    """Those that the table lists below it, by setting."""
    text = said.stdout.partition(" failed:\n")[2].split("\n\n")[0]
    return dict(line.strip().split(": ", 1) for line in text.splitlines())


# ---- Patterns -----------------------------------------------------------------------------------

PATTERNS = {  # knobs; one setting, and its counts by hand
    # One block loads 1000 floats and writes one: 32 lines of 128 bytes (31.25) in 125 sectors, and 1.
    "reduce": (["--n", "1000"], {"BLOCK_DIM": ["64", "128"], "COARSE_FACTOR": ["4"]}, {"BLOCK_DIM": "128"},
               {"global_bytes": "4004", "global_sectors": "126", "atomics_global": "0", "blocks": "1"}),
    # Two loads and a store of 1024 floats: 3 * 1024 * 4 bytes, 128 a request, 32 a sector.
    "map": (["--n", "1024"], {"BLOCK_DIM": ["64", "128"], "COARSE_FACTOR": ["1"]}, {"BLOCK_DIM": "128"},
            {"global_bytes": "12288", "global_requests": "96", "global_sectors": "384", "active_lanes": "1",
             "barriers": "0", "blocks": "2", "threads": "128"}),
    "histogram": (["--n", "1000", "--type", "u8", "--data", "skewed"], {"BLOCK_DIM": ["64"], "CFACTOR": ["8", "16"]},
                  {"CFACTOR": "8"}, {"threads": "64"}),
    # 36 rows of 64 vectors of 4 floats, by two blocks on each of 7 multiprocessors: 3 rows a block, which takes a ticket.
    "scan": (["--n", "9001"], {"BLOCK_DIM": ["64", "128"], "COARSE_FACTOR": ["4"]}, {"BLOCK_DIM": "64"},
             {"atomics_global": "12", "blocks": "12"}),
    # 1001 floats read and as many written, as the one value is above 0, and their number of 8 bytes.
    "select": (["--n", "1001", "--data", "one"], {"BLOCK_DIM": ["128"], "COARSE_FACTOR": ["2", "8"]},
               {"COARSE_FACTOR": "2"}, {"global_bytes": "8016", "atomics_global": "0", "blocks": "1"}),
    # So many that counting what comes before each would take longer: of each of 4 digits a block counts its keys.
    "sort": (["--n", "4001"], {"BLOCK_DIM": ["64"], "COARSE_FACTOR": ["8", "16"]}, {"COARSE_FACTOR": "8"},
             {"atomics_shared": "16004"}),
    # 2002 keys, of which a thread merges 3, for two tiles on each of 7 multiprocessors: more than 10 tiles of 192.
    "merge": (["--n", "1001"], {"BLOCK_DIM": ["64", "128"], "COARSE_FACTOR": ["9"]}, {"BLOCK_DIM": "64"},
              {"atomics_global": "0", "blocks": "11"}),
    # A warp for each row, one behind the other. Each lane loads a vector, those behind the last the first one again; and
    # 3 elements, on average, are beside the row's vectors.
    "rows": (["--rows", "80", "--width", "33"], {"BLOCK_DIM": ["64"], "COARSE_FACTOR": ["1", "4"]},
             {"COARSE_FACTOR": "1"}, {"global_bytes": str(80 * (32 * 16 + 3 * 4 + 4)), "blocks": "40"}),
    # A lane a row of 3.
    "columns": (["--rows", "64", "--width", "3"], {"BLOCK_DIM": ["64"], "COARSE_FACTOR": ["1", "2"]},
                {"COARSE_FACTOR": "1"}, {"global_bytes": str((64 * 3 + 3) * 4), "blocks": "1"}),
    # A block for each of the 143 segments, and one for what is more than a tile of 64 threads.
    "offsets": (["--n", "1001", "--width", "7"], {"BLOCK_DIM": ["64", "128"], "COARSE_FACTOR": ["1"]},
                {"BLOCK_DIM": "64"}, {"blocks": "144"}),
    # A thread has a vector of 4 cells, so there are 6, in 2 blocks of 2 rows. Each loads it from 3 slices; for each of
    # 3 results its 4 neighbours along x and y, and for 2 of them the next slice; and stores the 3.
    "stencil": (["--nx", "8", "--ny", "3", "--nz", "3"],
                {"BLOCK_DIM": ["64"], "COARSEN_THREAD_ROWS": ["1", "2"], "COARSE_FACTOR": ["4"]},
                {"COARSEN_THREAD_ROWS": "1"}, {"global_bytes": str(6 * (3 + 3 * 4 + 2 + 3) * 16), "blocks": "2"}),
    # Three parts of 256 numbers or more, or one.
    "top_k": (["--n", "1001", "--k", "10"],
              {"BLOCK_DIM": ["64"], "COARSE_FACTOR": ["2"], "COARSEN_PART": ["256", "1024"]},
              {"COARSEN_PART": "256"}, {"blocks": "3", "threads": "64"}),
    # Each key read and written, by one warp.
    "sort_segments": (["--rows", "40", "--width", "33"], {"BLOCK_DIM": ["64"], "COARSE_FACTOR": ["4", "8"]},
                      {"COARSE_FACTOR": "4"}, {"global_bytes": str(2 * 40 * 33 * 4), "barriers": "0"}),
}


@pytest.fixture(scope="module")
def tuned(world, tmp_path_factory):
    """Each pattern tuned on a device of the user's, with one header for all."""
    folder = tmp_path_factory.mktemp("tuned")
    (folder / "mine.txt").write_text("name = Mine\nsm = 90\nprocessors = 7\nlaunch_us = 3\n")
    said = {}
    for pattern, (size, knobs, _, _) in PATTERNS.items():
        given = sum((["--knob", f"{knob}={','.join(values)}"] for knob, values in knobs.items()), [])
        said[pattern] = tune(world, folder, pattern, *size, *given, "--no-cache", "--device", "mine.txt",
                             "--csv", f"{pattern}.csv", "--json", f"{pattern}.json", "--header", "tuned.h")
    return folder, said


@works
@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern(pattern, tuned):
    folder, said = tuned[0], tuned[1][pattern]
    _, knobs, at, counts = PATTERNS[pattern]
    assert (said.returncode, said.stderr) == (0, "")
    assert "\nMine, sm_90, 7 multiprocessors; CUDA " in said.stdout
    assert "\npredicted, not measured; every setting\n" in said.stdout

    notes, rows = read_csv(folder / f"{pattern}.csv")
    assert notes["result"] == "predicted" and notes["device"] == "Mine" and notes["sm"] == "90"
    assert [tuple(row[knob] for knob in knobs) for row in rows] == list(itertools.product(*knobs.values()))
    assert all(row["status"] == "ok" and row["reason"] == "" and row["measured_us"] == "" for row in rows)
    row, = [row for row in rows if all(row[knob] == value for knob, value in at.items())]
    assert {name: row[name] for name in counts} == counts
    assert all(float(row["launch_us"]) >= 3 for row in rows)

    # The table has the rows of the CSV, the fastest first, and one is chosen.
    shown = table(said)
    by_knobs = {tuple(row[knob] for knob in knobs): row for row in rows}
    assert len(shown) == len(rows)
    for line in shown:
        row = by_knobs[tuple(line[knob.removeprefix("COARSEN_")] for knob in knobs)]
        assert float(line["us"]) == pytest.approx(float(row["predicted_us"]), rel=0.01)
        assert line.get("regs", row["registers"]) == row["registers"]  # where it fits the line
        assert line["mark"][:1] == (">" if row["chosen"] == "1" else "~" if row["tie"] == "1" else line["mark"][:1])
    assert [float(line["us"]) for line in shown] == sorted(float(line["us"]) for line in shown)
    chosen, = [row for row in rows if row["chosen"] == "1"]
    assert [line["mark"][:1] for line in shown].count(">") == 1
    setting = " ".join(f"{knob}={chosen[knob]}" for knob in knobs)
    assert f"chosen, {setting}: predicted" in said.stdout

    results = json.loads((folder / f"{pattern}.json").read_text())["results"]
    assert [{knob: str(result["configuration"][knob]) for knob in knobs} for result in results] == [
        {knob: row[knob] for knob in knobs} for row in rows]
    for result, row in zip(results, rows):
        values = {fact["name"]: fact["value"] for fact in result["measurements"]}
        assert result["objectives"] == ["predicted_us"] and str(values["bound"]) == row["bound"]
        assert values["predicted_us"] == float(row["predicted_us"])

    header = (folder / "tuned.h").read_text()
    for knob in knobs:
        assert f"#define COARSEN_{pattern.upper()}_{knob.removeprefix('COARSEN_')} {chosen[knob]}\n" in header


@works
@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern_by_its_file(pattern, world, tuned):
    """It is loaded as any --source; but only by its name it is coarsen's, with defaults to mark."""
    folder = tuned[0]
    size, knobs, _, _ = PATTERNS[pattern]
    given = sum((["--knob", f"{knob}={','.join(values)}"] for knob, values in knobs.items()), [])
    said = tune(world, folder, "--source", PATTERN_FILES / f"{pattern}.cu", *size, *given, "--no-cache", "--device",
                "mine.txt", "--csv", "source.csv")
    assert (said.returncode, said.stderr) == (0, "")
    assert [{**row, "default": ""} for row in rows_of(folder / "source.csv")] == [
        {**row, "default": ""} for row in rows_of(folder / f"{pattern}.csv")]


@works
def test_matmul(world, tmp_path):
    """By asynchronous copies, of which the compiler must make those of the device."""
    knobs = ["BM=32", "BN=64", "BK=32", "TM=4", "TN=8", "COARSEN_SLICES=4", "COARSEN_STAGES=2,4"]
    said = tune(world, tmp_path, "matmul", "--n", "40", *sum((["--knob", knob] for knob in knobs), []), "--no-cache",
                "--arch", "sm_90", "--csv", "x.csv")
    assert (said.returncode, said.stderr) == (0, "")
    assert [row["status"] for row in rows_of(tmp_path / "x.csv")] == ["ok", "ok"]


FAULTY = {  # a fault of each pattern's header, and a problem at which it shows
    "scan": ("scan/single_pass.h", "COARSEN_EXCLUSIVE ? before : sum;", "before;", ["--n", "1003"]),
    "select": ("select/single_pass.h", "*arrays.count = start + kept->count;", "*arrays.count = start + kept->count + 1;",
               ["--n", "1003"]),
    "sort": ("sort/onesweep.h", "at - (one ? 0 : ranking->begin[d]);", "at - (one ? 0 : ranking->begin[d] / 2);",
             ["--n", "9003"]),
    "merge": ("merge/partitioned.h", "*(const COARSEN_(vector) *)(merged + k);",
              "*(const COARSEN_(vector) *)merged;", ["--n", "1003"]),
    "rows": ("segmented/rows.h", "end = r < mine ? width : 0;", "end = r < mine ? width - 1 : 0;",
             ["--rows", "99", "--width", "8"]),
    "columns": ("segmented/columns.h", "sum[j] = COARSEN_(op)(sum[j], partial[w * lanes + lane]);", ";",
                ["--rows", "99"]),
    "offsets": ("segmented/offsets.h", "arrays.out[blockIdx.x] = all;",
                "arrays.out[blockIdx.x] = COARSEN_(identity)();", ["--n", "2051", "--width", "7", "--data", "runs"]),
    "stencil": ("stencil/vectorized.h", "const bool kept_z = step < walk.inner || step >= walk.outer;",
                "const bool kept_z = false;", ["--n", "12", "--knob", "COARSEN_THREAD_ROWS=1"]),
    "top_k": ("top_k.h", "matrix.out_indices[row * plan.k + rank] = (COARSEN_INDEX)place;", "matrix.out_indices[row * plan.k + rank] = (COARSEN_INDEX)(place + 1);",
              ["--n", "1003", "--k", "10", "--knob", "COARSEN_PART=256"]),
    "sort_segments": ("sort_segments.h", "return COARSEN_(before)(theirs, mine) != upper ? theirs : mine;",
                      "return COARSEN_(before)(theirs, mine) == upper ? theirs : mine;",
                      ["--rows", "40", "--width", "33"]),
}


@works
def test_faulty_header(world, tmp_path):
    """What a header makes wrong is found by the pattern's reference, and by nothing else."""
    shutil.copytree(INCLUDE, tmp_path / "include")
    for name, right, wrong, _ in FAULTY.values():
        path = tmp_path / "include" / "coarsen" / name
        text = path.read_text()
        assert right in text
        path.write_text(text.replace(right, wrong))
    quick = {"QUICK_CXX": shlex.join(CXX), "ONCE_CXX": str(Path(__file__).resolve().parents[1] / "cxx-quick")}
    for pattern, (_, _, _, size) in FAULTY.items():
        said = tune(world, tmp_path, pattern, *size, "--knob", "BLOCK_DIM=128", "--knob", "COARSE_FACTOR=4",
                    "--no-cache", "--arch", "sm_90", COARSEN_INCLUDE=str(tmp_path / "include"), **quick)
        found = re.search(r"^ *BLOCK_DIM=128 .*COARSE_FACTOR=4.*: wrong result: ", said.stdout, re.M)
        assert said.returncode == 1 and found, said.stdout


@works
def test_header(tuned):
    """reduce.h, with no knob set, takes the chosen ones."""
    folder = tuned[0]
    chosen, = [row for row in rows_of(folder / "reduce.csv") if row["chosen"] == "1"]
    source = '#include "tuned.h"\n#define COARSEN_NAME sum\n#define COARSEN_TYPE float\n#include <coarsen/reduce.h>\n'
    assert chosen["BLOCK_DIM"] != "512"  # reduce.h's own
    for sm, block_dim in ("90", chosen["BLOCK_DIM"]), ("80", "512"):
        flags = [*CXX, "-x", "c++", f"-I{INCLUDE}", f"-DCOARSEN_SM={sm}"]
        assert compile_source([*flags, "-O1", *SIMT, *STRICT, "-c", "-o", "test.o"], source, folder) == ""
        text = compile_source([*flags, "-E", "-P", "-D__CUDACC_RTC__"], source, folder)  # without the runtime
        assert f"__launch_bounds__({block_dim})" in text


# ---- Devices and what has to be there -------------------------------------------------------------

def test_devices(world, tmp_path):
    said = tune(world, tmp_path, "--list-devices")
    assert said.returncode == 0
    for name in "Tesla T4", "A100", "RTX 3090", "H200", "B200", "sm_75", "sm_90", "sm_120":
        assert name in said.stdout

    for name in "sm_42", "Voodoo 2":
        said = tune(world, tmp_path, "map", "--arch", name)
        assert said.returncode == 2 and f"--arch: no device '{name}' in the table: write one of sm_75" in said.stderr
        assert "or describe it with --device FILE" in said.stderr
    for text, message in [
        ("sm = 90\nprocessors = ten\n", "2: processors = 'ten': write a whole number greater than 0"),
        ("sm = 70\n", "1: sm = '70': write a number from 75 on, as 90 for sm_90"),
        ("nme = Mine\n", "1: 'nme' is not known; the names are name, sm, "),
        ("", " no sm; add a line such as 'sm = 90'"),
    ]:
        (tmp_path / "mine.txt").write_text(text)
        said = tune(world, tmp_path, "map", "--device", "mine.txt")
        assert said.returncode == 2 and f"--device: mine.txt:{message}" in said.stderr and said.stdout == ""


@works
def test_memory(world, tmp_path):
    said = tune(world, tmp_path, "map", "--type", "f64", "--n", "2^31", "--arch", "t4", "--knob", "BLOCK_DIM=256",
                "--knob", "COARSE_FACTOR=1", "--no-cache")
    assert said.returncode == 1 and [*failures(said).values()] == [
        "does not launch: its arrays take 48.0 GiB, and the device has 16.0"]


FIGURES = ["processors", "threads_per_processor", "blocks_per_processor", "registers_per_processor",
           "shared_per_processor", "shared_per_block", "shared_reserved", "clock_ghz", "memory_gbps", "memory_gib",
           "l2_mib", "l2_gbps", "latency_ns", "fp32_per_clock", "fp64_per_clock", "launch_us"]


@pytest.mark.skipif(not NVRTC, reason="no libnvrtc.so: install the CUDA Toolkit")
def test_device_that_the_compiler_lacks(world, tmp_path):
    (tmp_path / "mine.txt").write_text("name = Mine\nsm = 99\n" + "".join(f"{name} = 1\n" for name in FIGURES))
    said = tune(world, tmp_path, "map", "--device", "mine.txt")
    assert said.returncode == 1 and said.stdout == ""
    assert re.search(r"NVRTC \d+\.\d+ does not compile for sm_99; it does for sm_75", said.stderr)


def test_no_nvrtc(world, tmp_path):
    said = tune(world, tmp_path, "map", "--cache", "x", COARSEN_NVRTC="/nonexistent")
    assert said.returncode == 1 and said.stdout == "" and not list(tmp_path.iterdir())
    assert "can't load NVRTC" in said.stderr and "looked for /nonexistent." in said.stderr
    assert "Install the CUDA Toolkit, or " in said.stderr and "COARSEN_NVRTC" in said.stderr


@pytest.mark.skipif(not NVRTC, reason="no libnvrtc.so: install the CUDA Toolkit")
def test_no_compiler(world, tmp_path):
    said = tune(world, tmp_path, "map", "--cache", "x", CXX="/nonexistent")
    assert said.returncode == 1 and said.stdout == "" and not list(tmp_path.iterdir())
    assert "/nonexistent, which makes the programs that count, was not found" in said.stderr
    assert "install g++ 12 or later" in said.stderr and "name one with CXX" in said.stderr


# ---- A kernel of the user's own ---------------------------------------------------------------------

KINDS = """
struct line { float slope; int shift; };
#define EACH(i) size_t k = 0, i = blockIdx.x * (size_t)128 * CF + threadIdx.x; k < CF; k++, i += 128
namespace mine {
__global__ void map(const float *x, float *y, line of, size_t n)
{
    for (EACH(i))
        if (i < n)
            y[i] = of.slope * x[i] + of.shift;
}
}
extern "C" __global__ void plain(const float *x, float *y, size_t n)
{
    for (EACH(i))
        if (i < n)
            y[i] = -x[i];
}
template <typename T, int FACTOR> __global__ void generic(const T *x, T *y, size_t n)
{
    for (EACH(i))
        if (i < n)
            y[i] = x[i] * FACTOR / CF;
}
__global__ void change(float *z, size_t n)
{
    for (EACH(i))
        if (i < n)
            z[i] += 1;
}
__global__ void transpose(const float *a, float *b, size_t rows, size_t cols)
{
    const size_t c = blockIdx.x * 16 + threadIdx.x;
    for (int k = 0; k < CF; k++) {
        const size_t r = (blockIdx.y * CF + k) * 16 + threadIdx.y;
        if (r < rows && c < cols)
            b[c * rows + r] = a[r * cols + c];
    }
}
__global__ void tally(const unsigned char *x, unsigned int *scratch, size_t n)
{
    for (EACH(i))
        if (i < n)
            atomicAdd(&scratch[x[i]], 1);
}
__global__ void totals(unsigned int *count, unsigned int *scratch)
{
    count[threadIdx.x] = scratch[threadIdx.x];
    scratch[threadIdx.x] = 0;
}
static cudaError_t copied_launch(const float *x, float *y, size_t n, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((n + 128 * CF - 1) / (128 * CF));
    config.blockDim = dim3(128);
    config.stream = stream;
    int cache_bytes = 0;
    cudaError_t status = cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, 0);
    if (status == cudaSuccess && cache_bytes < 1 << 20)
        status = cudaErrorInvalidValue;
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    return status != cudaSuccess ? status : cudaLaunchKernelEx(&config, change, y, n);
}
template <typename T>
static cudaError_t tally_launch(const T *x, unsigned int *count, unsigned int *scratch, size_t n, cudaStream_t stream)
{
    cudaLaunchConfig_t first = {}, second = {};
    first.gridDim = dim3((n + 128 * CF - 1) / (128 * CF));
    first.blockDim = dim3(128);
    second.gridDim = dim3(1);
    second.blockDim = dim3(256);
    first.stream = second.stream = stream;
    cudaFuncAttributes code = {};
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = cudaFuncGetAttributes(&code, (const void *)totals) == cudaSuccess;
    second.attrs = &attribute;
    second.numAttrs = 1;
    const cudaError_t status = cudaLaunchKernelEx(&first, tally, x, scratch, n);
    return status != cudaSuccess ? status : cudaLaunchKernelEx(&second, totals, count, scratch);
}
"""
PLUS_ONE = """
static __global__ void plus_one(const float *x, float *y, size_t n)
{
    for (size_t i = threadIdx.x; i < n; i += 32)
        y[i] = x[i] + 1;
}
static cudaError_t copied_launch(const float *x, float *y, size_t n, cudaStream_t)
{
    return tune_launch_kernel(1, 32, 0, plus_one, x, y, n);
}
"""
LINES = ["--block", "128", "--grid", "coarsen_ceil_div(n, 128 * CF)"]
FLOATS = ["--in", "float x[n]", "--out", "float y[n]"]
# Its call, and what each setting's CSV must have: bytes and atomics by hand.
CALLS = {
    "namespace and struct": (["--kernel", "mine::map", *N, *FLOATS, *LINES, "--args", "x, y, line{2, 3}, n"],
                             {"global_bytes": "8000"}),
    "extern C": (["--kernel", "plain", *N, *FLOATS, *LINES], {"global_bytes": "8000"}),
    "template": (["--kernel", "generic<float, CF>", *N, *FLOATS, *LINES], {"global_bytes": "8000"}),
    "inout": (["--kernel", "change", *N, "--inout", "float z[n]", *LINES], {"global_bytes": "8000"}),
    "two sizes, 2D": (["--kernel", "transpose", "--size", "rows=50", "--size", "cols=33", "--in",
                       "float a[rows * cols]", "--out", "float b[rows * cols]", "--block", "16, 16", "--grid",
                       "coarsen_ceil_div(cols, 16), coarsen_ceil_div(rows, 16 * CF)"],
                      {"global_bytes": str(2 * 50 * 33 * 4), "threads": "256"}),
    "copy": (["--launch", "copied_launch(x, y, n, 0)", *N, *FLOATS, "--reference", "plus_one.cu"],
             {"global_bytes": "8000"}),
    # 1000 bytes read; 256 words read and twice written; an atomic for each byte, which is not a load.
    "launch, scratch": (["--launch", "tally_launch<unsigned char>(x, count, scratch, n, 0)", *N, "--in",
                         "unsigned char x[n]", "--out", "unsigned int count[256]", "--scratch",
                         "unsigned int scratch[256]"], {"atomics_global": "1000"}),
}


@works
@pytest.mark.parametrize("call", CALLS)
def test_kernel(call, world, tmp_path):
    (tmp_path / "kinds.cu").write_text(KINDS)
    (tmp_path / "plus_one.cu").write_text(PLUS_ONE)
    args, counts = CALLS[call]
    said = tune(world, tmp_path, "--source", "kinds.cu", *args, "--knob", "CF=1,3", "--no-cache", "--csv", "x.csv")
    assert (said.returncode, said.stderr) == (0, ""), said.stdout + said.stderr
    rows = rows_of(tmp_path / "x.csv")
    assert [(row["CF"], row["status"], row["reason"]) for row in rows] == [("1", "ok", ""), ("3", "ok", "")]
    assert all(row[name] == value for row in rows for name, value in counts.items())
    assert int(rows[0]["blocks"]) > int(rows[1]["blocks"])


DESCRIBED = """
// A kernel of my own. Tune it with coarsen-tune --source:
//
// tune: --type f32,i32 --size rows=30 --size cols=20 --knob CF=1:8:+1 --default CF=2
// tune: --in 'TUNE_TYPE x[rows * cols]' --out "TUNE_TYPE y[rows * cols]"
// tune: --kernel twice --block 32 --grid 'coarsen_ceil_div(rows * cols, 32 * CF)' --args 'x, y, rows * cols'
// tune: --reference twice.cu
// tune f32: --tolerance 'off(rows)' --flop 'rows * cols'
// tune: --let twice='2 * CF' --require 'twice % 3 != 0 && twice < rows'
// tune this by hand: no
#if defined TUNE_TYPE_f32 && defined TUNE_DATA_skewed
static inline double off(size_t rows)
{
    return rows / 10.0;
}
#endif
#ifdef TUNE_REFERENCE
#define ADDED 0
#else
#define ADDED 2
#endif
__global__ void twice(const TUNE_TYPE *x, TUNE_TYPE *y, size_t n)
{
    for (size_t k = 0, i = blockIdx.x * (size_t)32 * CF + threadIdx.x; k < CF; k++, i += 32)
        if (i < n)
            y[i] = 2 * x[i] + ADDED;
}
"""


@works
def test_described(world, tmp_path):
    """A file that says all of itself, from anywhere; what is typed comes after it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "twice.cu").write_text(DESCRIBED)
    for args, factors, title, status in [
        # ADDED, 2, is within rows / 10 = 3; but not with 10 rows.
        (["--data", "skewed"], "1 2 4 5 7 8", "f32, skewed, rows = 30, cols = 20", "ok"),
        (["--data", "skewed", "--size", "rows=10"], "1 2 4", "f32, skewed, rows = 10, cols = 20", "wrong"),
        (["--type", "i32", "--n", "16", "--knob", "CF=5:8:+1"], "5 7", "i32, rows = 16, cols = 16", "wrong"),
    ]:
        said = tune(world, tmp_path, "--source", "folder/twice.cu", *args, "--no-cache", "--csv", "x.csv")
        rows = rows_of(tmp_path / "x.csv")
        assert [row["CF"] for row in rows] == factors.split() and {row["status"] for row in rows} == {status}, said
        assert said.stdout.startswith(f"twice {title}\n")
        assert ("GFLOP/s" in said.stdout) == (status == "ok")


FAULTS = """
__global__ void faults(const int *x, int *y, size_t n)
{
    const size_t i = (size_t)blockIdx.x * 64 + threadIdx.x;
#if K == 1
    y[i] = x[i] +;
#elif K == 2
    __shared__ int s[64];
    s[threadIdx.x] = x[i];
    y[i] = s[63 - threadIdx.x];
#elif K == 3
    y[i + 1] = x[i];
#elif K == 4
    for (;;)
        y[i] = x[i];
#elif K == 5
    y[i] = x[i] + (i == 7);
#elif K == 6
    __shared__ int s[1 << 16];
    s[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = s[63 - threadIdx.x];
#elif K == 7
    if (threadIdx.x < 5)
        __syncthreads();
    y[i] = x[i];
#else
    y[i] = x[i];
#endif
}
"""
OF_FAULTS = ["--source", "faults.cu", "--kernel", "faults", "--n", "1024", *ARRAYS, "--grid", "n / 64 / (K != 9)",
             "--block", "K == 8 ? 4096 : 64", "--no-cache", "--csv", "x.csv", "--limit", "2"]
REASONS = {
    "1": ("not compiled", r"does not compile: .*/faults\.cu\(6\): error: expected an expression"),
    "2": ("wrong", r"wrong result: race in faults: .*faults\.cu:\d+"),
    "3": ("wrong", r"wrong result: out of bounds in faults: write of 4 bytes that ends 4 bytes past .*faults\.cu:12"),
    "4": ("timed out", r"does not end in time: the CPU device took more than 2 s at n = 1024 \(--limit\)"),
    "5": ("wrong", r"wrong result: y\[7\] is -?\d+, not -?\d+ \(n = 1024\)"),
    "6": ("not compiled", r"does not compile: error: faults has 262144 bytes of static shared memory, and may have "
                          "49152"),
    "7": ("wrong", r"wrong result: divergent barrier in faults: .*faults\.cu:\d+"),
    "8": ("not launched", r"does not launch: faults: no device launches \(16, 1, 1\) blocks of \(4096, 1, 1\) threads"),
    "9": ("not launched", r"not counted: its program was ended by signal 8 \(Floating point exception\) at n = 1024"),
}


@works
def test_faults(world, tmp_path):
    """A setting that fails is a row with its reason, and the others have theirs."""
    (tmp_path / "faults.cu").write_text(FAULTS)
    said = tune(world, tmp_path, *OF_FAULTS, "--knob", "K=0:10:+1")
    assert said.returncode == 0, said.stderr
    found, rows = failures(said), {row["K"]: row for row in rows_of(tmp_path / "x.csv")}
    assert sorted(found) == sorted(f"K={k}" for k in REASONS) and len(rows) == 11
    for k, (status, reason) in REASONS.items():
        assert re.match(reason, found[f"K={k}"]), found[f"K={k}"]
        assert rows[k]["status"] == status and found[f"K={k}"].endswith(rows[k]["reason"])
        assert rows[k]["chosen"] == rows[k]["tie"] == "0" and rows[k]["predicted_us"] == ""
    assert [row["K"] for row in table(said)] == ["0", "10"] and rows["0"]["chosen"] == "1"

    said = tune(world, tmp_path, *OF_FAULTS, "--knob", "K=1,6")
    assert said.returncode == 1 and sorted(failures(said)) == ["K=1", "K=6"]
    assert "no setting works; the reasons are above" in said.stderr
    assert [row["status"] for row in rows_of(tmp_path / "x.csv")] == ["not compiled"] * 2


MORE = """
#define FOR(i) size_t i = (size_t)blockIdx.x * 128 + threadIdx.x; i < n; i += n
namespace big {
__global__ void same(const float *x, float *y, size_t n)
{
    __shared__ float s[2560];
    for (int j = threadIdx.x; j < 2560; j += 128)
        s[j] = 1;
    __syncthreads();
    for (FOR(i))
        y[i] = x[i] + s[i % 2560];
}
}
namespace small {
__global__ void same(float *x, float *y, size_t n) // which does not say that it only reads
{
    for (FOR(i))
        y[i] = x[i];
}
}
__global__ void nothing(const float *x, int *z, size_t n)
{
    for (FOR(i))
        if (CF == 1)
            z[i] = x[i] > 5;
}
__global__ void part(const float *x, float *y, size_t n)
{
    for (FOR(i))
        if (i * CF < n)
            y[i] = x[i * CF];
}
__global__ void __launch_bounds__(64 * CF) bounded(const float *x, float *y, size_t n)
{
    for (FOR(i))
        y[i] = x[i];
}
__global__ void dynamic(const float *x, float *y, size_t n)
{
    extern __shared__ float tile[];
    for (FOR(i)) {
        tile[threadIdx.x] = x[i];
        y[i] = tile[threadIdx.x];
    }
}
__global__ void vectors(const float4 *a, float4 *b, size_t n)
{
    for (FOR(i)) {
        const float x = CF == 1 ? a[i].x + a[i].y + a[i].z : a[i].x + (a[i].y + a[i].z);
        b[i] = make_float4(x, CF == 3 && i == 5, 0, 0);
    }
}
static cudaError_t idle(const float *x, float *y, size_t n)
{
    return cudaSuccess;
}
"""
LINE = ["--block", "128", "--grid", "coarsen_ceil_div(n, 128)"]
MORE_CALLS = {  # the call, and of each setting whether it is right, or why not
    "the larger of one name": (["--kernel", "big::same", *N, *FLOATS, *LINE], {"1": "10240"}),
    "the smaller": (["--kernel", "small::same", *N, *FLOATS, *LINE], {"1": "0"}),
    "nothing is written": (["--kernel", "nothing", *N, "--in", "float x[n]", "--out", "int z[n]", *LINE],
                           {"1": "0", "2": r"wrong result: left z\[0\] unwritten \(n = 1000\)$"}),
    "other outputs": (["--kernel", "part", *N, "--in", "float x[n]", "--out", "float y[coarsen_ceil_div(n, CF)]", *LINE],
                      {"2": "0", "1": "does not launch: its outputs have 4000 bytes, and the reference's 2000 "}),
    "launch bounds": (["--kernel", "bounded", *N, *FLOATS, *LINE],
                      {"1": "does not launch: bounded: a block has 128 threads, and its __launch_bounds__ allow 64",
                       "2": "0"}),
    "dynamic shared memory": (["--kernel", "dynamic", *N, *FLOATS, *LINE, "--shared", "512"], {"1": "0"}),
    "vectors": (["--kernel", "vectors", *N, "--in", "float4 a[n]", "--out", "float4 b[n]", *LINE],
                {"1": "0", "2": "0", "3": r"wrong result: b\[5\].y is 1, not 0"}),
    "a grid beyond 32 bits": (["--kernel", "small::same", "--n", str(2**32 + 128), *FLOATS, "--block", "1",
                               "--grid", "n"],
                              {"1": r"does not launch: small::same: no device launches \(4294967295, 1, 1\) blocks"}),
    "idle": (["--launch", "idle(x, y, n)", *N, *FLOATS], {"1": "does not launch: it launches nothing"}),
    "no work": (["--kernel", "small::same", *N, *FLOATS, *LINE, "--work", "n - n"],
                {"1": "does not launch: its work is 0: --work should be greater than 0"}),
}


@works
@pytest.mark.parametrize("call", MORE_CALLS)
def test_more_kernels(call, world, tmp_path):
    """What is right has its static shared memory here, of the kernel asked for and not of another."""
    (tmp_path / "more.cu").write_text(MORE)
    args, expected = MORE_CALLS[call]
    said = tune(world, tmp_path, "--source", "more.cu", *args, "--knob", f"CF={','.join(expected)}", "--no-cache",
                "--csv", "x.csv", TMPDIR=".")
    found, rows = failures(said), {row["CF"]: row for row in rows_of(tmp_path / "x.csv")}
    assert rows.keys() == expected.keys()
    for factor, is_so in expected.items():
        if is_so.isdigit():
            assert (rows[factor]["status"], rows[factor]["static_shared"]) == ("ok", is_so), said.stdout + said.stderr
        else:
            assert re.match(is_so, found[f"CF={factor}"]), found


@works
def test_include_by_macro(world, tmp_path):
    """What it names is not known, so that nothing is taken from the cache."""
    (tmp_path / "x.cu").write_text('#define BODY "copy.cu"\n#include BODY\n')
    for code, status in (COPY, 0), ("not C", 1):
        (tmp_path / "copy.cu").write_text(code)
        said = tune(world, tmp_path, "--source", "x.cu", *OF_COPY[2:], "--knob", "K=1", "--cache", "cache")
        assert said.returncode == status and "going on without a cache: a macro says what is" in said.stderr


@works
def test_table_and_csv_in_one(world, tmp_path):
    (tmp_path / "copy.cu").write_text(COPY)
    for out in subprocess.PIPE, open(tmp_path / "out", "w+"):
        said = subprocess.run([TUNE, "--static", *OF_COPY, "--knob", "K=1", "--no-cache", "--csv", "/dev/stdout"],
                              cwd=tmp_path, env=world, stdout=out, stderr=subprocess.PIPE, encoding="utf-8")
        text = said.stdout or (tmp_path / "out").read_text()
        assert said.returncode == 0 and text.startswith("copy, n = 1000\n") and "\n# result: predicted\n" in text


@works
@pytest.mark.parametrize("args, reason", [
    (["--kernel", "scale"], 'identifier "scale" is undefined'),
    (["--kernel", "map"], 'identifier "map" is undefined'),  # it is in a namespace
    (["--kernel", "generic"], "the arguments do not fit the kernel, or fit more than one; of a template its own are "
                              "needed too"),
    (["--kernel", "plain", "--args", "x, y"], "the kernel takes another number of arguments"),
    (["--kernel", "plain", "--args", "n, y, x"], "the arguments do not fit the kernel"),
    (["--launch", "missing(x, y, n)"], 'identifier "missing" is undefined'),
    (["--launch", "chevrons(x, y, n)"], "<<<>>> is not understood here; launch with cudaLaunchKernelEx, or give "
                                        "--kernel and a file without <<<>>>"),
])
def test_what_cannot_be_called(args, reason, world, tmp_path):
    chevrons = """cudaError_t chevrons(const float *x, float *y, size_t n)
{
    plain<<<1, 64>>>(x, y, n);
    return cudaSuccess;
}
"""
    (tmp_path / "kinds.cu").write_text(KINDS + chevrons * (args[1] == "chevrons(x, y, n)"))
    said = tune(world, tmp_path, "--source", "kinds.cu", *args, *LINES * ("--kernel" in args), *N, *FLOATS, "--knob",
                "CF=1", "--no-cache")
    assert said.returncode == 1 and reason in failures(said)["CF=1"]


@works
@pytest.mark.parametrize("line, status, message", [
    ("y[i] = -x[i];", "ok", ""),
    ("y[i] = -x[i] - (i == 900);", "wrong", "CF=3: wrong result: y[900] is "),
    ("y[i] = -x[i]", "not launched", "CF=3: not counted: the reference: g++: "),
])
def test_reference(line, status, message, world, tmp_path):
    """One of the user's own, which is launched by the same --grid and so may need the knobs."""
    (tmp_path / "kinds.cu").write_text(KINDS)
    (tmp_path / "right.cu").write_text(f"""__global__ void plain(const float *x, float *y, size_t n)
{{
    for (size_t i = threadIdx.x; i < n && blockIdx.x == 0; i += 128) {{
        {line}
    }}
}}
""")
    said = tune(world, tmp_path, "--source", "kinds.cu", "--kernel", "plain", *N, *FLOATS, *LINES, "--reference",
                "right.cu", "--knob", "CF=1,3", "--no-cache", "--csv", "x.csv")
    rows = rows_of(tmp_path / "x.csv")
    assert said.returncode == (status != "ok") and [row["status"] for row in rows] == [status] * 2
    assert message in said.stdout and "not verified" not in said.stdout


UNWRITTEN = """
__global__ void strips(const float *x, float *y, size_t n)
{
    for (int k = 0; k < CF; k++) {
        const size_t i = ((size_t)blockIdx.x * CF + k) * 64 + threadIdx.x;
        if (i < n - TAIL)
            y[i] = x[i] + 2;
    }
}
"""


@works
@pytest.mark.parametrize("factors, tail, chosen, failed", [
    ("1,2,4", 0, None, {f"CF={factor}": r"wrong result: y\[256\] is \d\S*, which the reference, CF=1 BLOCK_DIM=64, left "
                                        r"unwritten \(n = 1000\): is the grid right for it\?$" for factor in "24"}),
    ("4,2", 0, "4", {"CF=2": r"wrong result: left y\[512\] unwritten \(n = 1000\)$"}),
    ("4,8", 100, "4", {}),  # neither writes the last 100
])
def test_left_unwritten(factors, tail, chosen, failed, world, tmp_path):
    """The grid is right for 4 and more: 1, as the reference, is none to judge others by, whether or not from the
    cache."""
    (tmp_path / "strips.cu").write_text(UNWRITTEN)
    for _ in range(2):
        said = tune(world, tmp_path, "--source", "strips.cu", "--kernel", "strips", *N, *FLOATS, "--grid",
                    "coarsen_ceil_div(n, BLOCK_DIM * 4)", "--knob", f"CF={factors}", "--knob", "BLOCK_DIM=64",
                    f"-DTAIL={tail}", "--cache", "cache", "--csv", "x.csv")
        rows = rows_of(tmp_path / "x.csv")
        assert [row["CF"] for row in rows if row["chosen"] == "1"] == ([chosen] if chosen else [])
        assert ("> chosen" in said.stdout) == bool(chosen) and said.returncode == (not chosen)
        found = {setting.split()[0]: reason for setting, reason in failures(said).items()}
        assert found.keys() == failed.keys() and all(re.match(failed[name], found[name]) for name in failed), found
        assert chosen or said.stderr.endswith("mend the grid, or name a right source by --reference FILE\n")
        assert not chosen or not said.stderr


@works
def test_budget(world, tmp_path):
    """A search says that it is one. The knobs have names that other code has too."""
    (tmp_path / "copy.cu").write_text(COPY)
    said = tune(world, tmp_path, *OF_COPY, "--knob", "P=1:8:+1", "--knob", "T=1:8:+1", "--budget", "4", "--no-cache",
                "--csv", "x.csv")
    notes, rows = read_csv(tmp_path / "x.csv")
    assert said.returncode == 0 and len({(row["P"], row["T"]) for row in rows}) == len(rows) == len(table(said)) == 4
    assert notes["search"].startswith("4 settings of 64: ")
    assert f"predicted, not measured; {notes['search']}\n" in said.stdout


@works
def test_paths(world, tmp_path):
    """Spaces in paths, and another folder than the source's, whose headers are found all the same."""
    source, other = tmp_path / "a folder", tmp_path / "and another"
    source.mkdir()
    other.mkdir()
    (source / "my kernel.cu").write_text('#include "the size.h"\n' + COPY.replace("64", "SIZE"))
    (source / "the size.h").write_text("#define SIZE 64\n")
    said = tune(world, other, "--source", "../a folder/my kernel.cu", *OF_COPY[2:], "--knob", "K=1", "--csv",
                "../the table.csv", "--cache", "../a folder/new/the cache", TMPDIR=str(other))
    assert (said.returncode, said.stderr) == (0, "") and not list(other.iterdir())
    row, = rows_of(tmp_path / "the table.csv")
    assert row["status"] == "ok" and (source / "new" / "the cache").exists()


# ---- The cache ------------------------------------------------------------------------------------------

class Sweep:
    """Five settings that differ in nothing, and what a run without trouble finds."""

    ARGS = [*OF_COPY, "--knob", "K=1:5:+1", "--csv", "x.csv", "--cache"]

    def __init__(self, world, folder):
        self.world, self.folder = world, folder
        (folder / "copy.cu").write_text(COPY)
        self.said = self.run("whole.cache")
        self.cache = (folder / "whole.cache").read_bytes()
        self.facts = facts(folder / "x.csv")

    def run(self, cache):
        (self.folder / "x.csv").unlink(missing_ok=True)
        return tune(self.world, self.folder, *self.ARGS, cache)

    def interrupt(self, cache, number):
        """Sends the signal when two settings are in the cache. The lines that are, and what was said."""
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        process = subprocess.Popen([TUNE, "--static", *self.ARGS, cache.name], cwd=self.folder, encoding="utf-8",
                                   env={**self.world, "TMPDIR": str(temporary)}, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        end = time.monotonic() + 60
        while len(settings(cache)) < 2 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(number)
        said = process.communicate(timeout=60)
        assert len(settings(cache)) < 5, "it was over before it was interrupted"
        return temporary, process.returncode, *said

    def check_resumed(self, cache, before):
        """Runs again: what there was is still there, and only what was missing is added."""
        said = self.run(cache.name)
        after = cache.read_bytes()
        assert said.returncode == 0 and after.startswith(before)
        assert sorted(settings(cache)) == [f"K={k}" for k in range(1, 6)]
        assert facts(self.folder / "x.csv") == self.facts
        return said


def settings(cache):
    lines = cache.read_bytes().split(b"\n")[:-1] if cache.exists() else []
    return [line.split(b"\t")[2].decode() for line in lines if line.count(b"\t") > 3]


@pytest.fixture(scope="module")
def sweep(world, tmp_path_factory):
    return Sweep(world, tmp_path_factory.mktemp("sweep"))


def processes(word):
    """Ids of those that have the word in their command."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended
            pass
    return found


def none_left(temporary):
    end = time.monotonic() + 10  # what g++ started ends a moment after it
    while processes(str(temporary)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not processes(str(temporary))


@works
def test_whole(sweep):
    assert (sweep.said.returncode, sweep.said.stderr) == (0, "")
    assert sorted(settings(sweep.folder / "whole.cache")) == [f"K={k}" for k in range(1, 6)]
    sweep.check_resumed(sweep.folder / "whole.cache", sweep.cache)  # of which nothing is missing


@works
def test_kill(sweep):
    cache = sweep.folder / "kill.cache"
    temporary, status, out, _ = sweep.interrupt(cache, signal.SIGKILL)
    assert status == -signal.SIGKILL and out == ""
    none_left(temporary)
    shutil.rmtree(temporary)
    before = cache.read_bytes()
    assert sweep.check_resumed(cache, before).stderr == ""


@works
def test_kill_of_what_does_not_end(world, tmp_path):
    (tmp_path / "faults.cu").write_text(FAULTS)
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen([TUNE, "--static", *OF_FAULTS, "--limit", "300", "--knob", "K=4"], cwd=tmp_path,
                               env={**world, "TMPDIR": str(tmp_path / "tmp")}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    before, running = set(), set()
    while not before & running and process.poll() is None and time.monotonic() < end:
        time.sleep(0.5)
        before, running = running, set(processes(str(tmp_path / "tmp"))) & set(processes(".job"))
    process.kill()
    process.wait()
    assert before & running
    none_left(tmp_path / "tmp")


@works
def test_interrupt(sweep):
    cache = sweep.folder / "interrupt.cache"
    temporary, status, out, err = sweep.interrupt(cache, signal.SIGINT)
    assert status == 130 and without_progress(err) == ""
    assert "\nInterrupted: the best so far is marked >\n" in out and "settings without a result\n" in out
    assert re.search(r"^> +\d ", out, re.MULTILINE) and "> chosen" in out
    assert not list(temporary.iterdir())
    none_left(temporary)
    notes, rows = read_csv(sweep.folder / "x.csv")
    assert notes["result"] == "predicted, interrupted"
    assert {row["status"] for row in rows} == {"ok", "pending"}
    assert sweep.check_resumed(cache, cache.read_bytes()).stderr == ""


@works
def test_damaged_lines(sweep):
    """A torn last line and garbage between the others cost the settings that they had, and nothing else."""
    cache = sweep.folder / "damaged.cache"
    lines = sweep.cache.splitlines(keepends=True)
    assert len(lines) == 5
    lost = lines[2].replace(b"\t8000\t", b"\t9000\t")  # a number still, but the line's sum is another
    assert lost != lines[2]
    before = b"".join([*lines[:2], lost, b"\x00\xff garbage \t\n", lines[3], lines[4][:-20]])
    cache.write_bytes(before)
    said = sweep.run(cache.name)
    assert said.returncode == 0 and said.stderr == "coarsen-tune: damaged.cache: 3 damaged lines passed over\n"
    after = cache.read_bytes()
    assert after.startswith(before + b"\n") and after.count(b"\n") == before.count(b"\n") + 3
    again = {line.split(b"\t")[2] for line in after[len(before) + 1:].splitlines()}
    assert again == {line.split(b"\t")[2] for line in (lines[2], lines[4])}
    assert facts(sweep.folder / "x.csv") == sweep.facts


@works
@pytest.mark.parametrize("path, message", [
    ("binary", "binary is not a cache of coarsen-tune, and is left as it is: give --cache another file"),
    ("folder", "the cache folder is a folder: give --cache another file, or take --no-cache"),
    ("/dev/full", "the cache /dev/full is not a file: give --cache another file, or take --no-cache"),
    ("binary/x", "the cache binary/x cannot be opened: Not a directory; give --cache another file, or take"),
    ("/proc/none/x", "the cache /proc/none/x cannot be opened: No such file or directory; give --cache another"),
])
def test_not_a_cache(path, message, world, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "copy.cu").write_text(COPY)
    said = tune(world, tmp_path, *OF_COPY, "--knob", "K=1", "--cache", path)
    assert said.returncode == 1 and said.stdout == "" and said.stderr.startswith(f"coarsen-tune: {message}")
    assert (tmp_path / "binary").read_bytes() == bytes(range(256)) * 9 and not list((tmp_path / "folder").iterdir())


@works
def test_changed_source(world, tmp_path):
    """The kernel, a header that it includes, a flag: each makes another of it, and what was is not forgotten."""
    cache = tmp_path / "x.cache"

    def lines(*flags, factor=1, add=""):
        (tmp_path / "copy.cu").write_text(f'#include "inner.h"\n{COPY.replace("x[i];", f"FACTOR * x[i]{add};")}')
        (tmp_path / "inner.h").write_text(f"#define FACTOR {factor}\n")
        said = tune(world, tmp_path, *OF_COPY, "--knob", "K=1", "--cache", "x.cache", *flags)
        assert (said.returncode, said.stderr) == (0, "")
        return len(cache.read_bytes().splitlines())

    assert lines() == 1
    assert lines(add=" + 1") == 2
    assert lines(factor=3) == 3
    assert lines("-DUNUSED") == 4
    assert lines() == lines(factor=3) == 4


@works
def test_changed_simt(world, tmp_path):
    """What counts is part of it: its engine, and the headers that kernels see."""
    (tmp_path / "copy.cu").write_text(COPY)
    shutil.copytree(INCLUDE, tmp_path / "include")
    cache = tmp_path / "x.cache"
    quick = {"QUICK_CXX": shlex.join(CXX), "ONCE_CXX": str(Path(__file__).resolve().parents[1] / "cxx-quick")}
    for lines, changed in enumerate([None, "engine/count.c", "cuda_runtime.h"], 1):
        if changed:
            with open(tmp_path / "include" / "simt" / changed, "a") as header:
                header.write("// Changed.\n")
        said = tune(world, tmp_path, *OF_COPY, "--knob", "K=1", "--cache", cache.name,
                    COARSEN_INCLUDE=str(tmp_path / "include"), **quick)
        assert (said.returncode, said.stderr) == (0, "")
        assert len(cache.read_bytes().splitlines()) == lines, changed


@works
def test_full_disk(world, tmp_path):
    (tmp_path / "copy.cu").write_text(COPY)
    args = [*OF_COPY, "--knob", "K=1", "--cache", "x.cache"]
    said = tune(world, tmp_path, *args, "--csv", "/dev/full")
    assert said.returncode == 1 and table(said)
    assert said.stderr.startswith("coarsen-tune: /dev/full cannot be written: No space left on device")
    with open("/dev/full", "w") as full:
        said = subprocess.run([TUNE, "--static", *args], cwd=tmp_path, env=world, stdout=full, stderr=subprocess.PIPE,
                              encoding="utf-8")
    assert said.returncode == 1
    assert without_progress(said.stderr) == "coarsen-tune: the table could not be written: No space left on device\n"
