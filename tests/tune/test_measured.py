# SPDX-License-Identifier: MIT
"""coarsen-tune as it measures, on a GPU that fake_driver.c makes believe: what is kept of a sweep in which a kernel
fails, and of what others it is then still believed. Factor 4 is the fastest, by 2 us a step."""
import os
import re
import signal
import subprocess
import time

import pytest
from test_tune import NVRTC, TUNE, failures, read_csv, table, without_progress

DRIVER = os.environ.get("FAKE_DRIVER")
pytestmark = pytest.mark.skipif(not TUNE or not DRIVER or not NVRTC,
                                reason="no coarsen-tune or no libnvrtc.so: install the CUDA Toolkit, and ./run test")

# A kernel factor_4 tells the driver what it is to run.
SCALE = """
#define MARK_(factor) factor_##factor
#define MARK(factor)  MARK_(factor)
extern "C" __global__ void MARK(COARSE_FACTOR)() {}
__global__ void scale(const float *x, float *y, size_t n)
{
    const size_t first = ((size_t)blockIdx.x * 256 + threadIdx.x) * COARSE_FACTOR;
    for (size_t i = first; i < first + COARSE_FACTOR && i < n; i++)
        y[i] = 2 * x[i];
}
"""
FACTORS = ["1", "2", "4", "8", "16"]


class Gpu:
    def __init__(self, folder):
        self.folder, self.log = folder, folder / "log"
        (folder / "scale.cu").write_text(SCALE)
        self.env = {**os.environ, "COARSEN_DRIVER": DRIVER, "FAKE_LOG": str(self.log), "LC_ALL": "C",
                    "CXX": "/nonexistent"}  # so that nothing is counted

    def command(self, *args, x="n", factors="1:16:*2", limit="60"):
        return [TUNE, "--source", "scale.cu", "--kernel", "scale", "--n", "5632", "--in", f"float x[{x}]",
                "--out", "float y[n]", "--block", "256", "--grid", "coarsen_ceil_div(n, 256 * COARSE_FACTOR)",
                "--knob", f"COARSE_FACTOR={factors}", "--limit", limit, "--cache", "cache", "--csv", "x.csv", *args]

    def tune(self, *args, fault="", padded=False, **more):
        self.log.write_text("")
        (self.folder / "x.csv").unlink(missing_ok=True)
        env = {**self.env, "FAKE_FAULT": fault, **({"FAKE_PADDED": "1"} if padded else {})}
        said = subprocess.run(self.command(*args, **more), cwd=self.folder, env=env, capture_output=True,
                              encoding="utf-8", timeout=100)
        said.stderr = re.sub(r"^measuring.*\n", "", without_progress(said.stderr), flags=re.MULTILINE)
        return said

    def rows(self):
        """The status and the time of each factor."""
        return {row["COARSE_FACTOR"]: (row["status"], row["measured_us"])
                for row in read_csv(self.folder / "x.csv")[1]}

    def noted(self, what):
        return [line.split()[1] for line in self.log.read_text().splitlines() if line.startswith(what)]


RIGHT = {factor: ("ok", us) for factor, us in zip(FACTORS, ["14", "12", "10", "12", "14"])}


@pytest.fixture
def gpu(tmp_path):
    return Gpu(tmp_path)


def test_sweep(gpu):
    said = gpu.tune()
    notes, _ = read_csv(gpu.folder / "x.csv")
    assert said.returncode == 0 and notes["result"] == "measured" and notes["driver"] == "13.0"
    assert notes["device"] == "NVIDIA H100" and gpu.rows() == RIGHT
    assert [(row["mark"], row["COARSE_FACTOR"]) for row in table(said)][0] == (">", "4")
    # One process finds the GPU, one measures, one does so again with the fastest: each is verified twice in both, and
    # timed.
    assert len(gpu.noted("process")) == 3 and set(gpu.noted("launch")) == set(FACTORS)
    assert "nothing is predicted" in said.stderr

    assert gpu.tune().returncode == 0 and gpu.rows() == RIGHT
    assert len(gpu.noted("process")) == 1 and not gpu.noted("launch")  # all from the cache


@pytest.mark.parametrize("what, status, reason, kept", [
    ("wrong", "wrong", r"wrong result: y\[3\] is \S+, not ", True),
    ("leaves", "wrong", r"wrong result: left y\[3\] unwritten$", True),
    # It is among what others are judged by that it writes, so that none may be judged by that any more.
    ("oob", "wrong", r"wrong result: y\[0\] is \S+, not ", True),
    ("illegal", "crashed", "crashes: an illegal memory access", False),
    ("dies", "crashed", "crashes: the process died", False),
    ("hangs", "timed out", "does not end in time: took longer than 5 s", False),
])
def test_one_that_fails(what, status, reason, kept, gpu):
    said = gpu.tune(fault=f"{what} 4", limit="5")
    assert said.returncode == 0 and gpu.rows() == {**RIGHT, "4": (status, "")}
    assert re.match(reason, failures(said)["COARSE_FACTOR=4"]) and len(failures(said)) == 1
    # Only what was its own fault is believed the next time.
    gpu.tune(fault="none")
    assert gpu.rows() == ({**RIGHT, "4": (status, "")} if kept else RIGHT)


@pytest.mark.parametrize("fault, status", [
    ("wrong 4 3", "wrong"), ("illegal 4 3", "crashed"), ("hangs 4 3", "timed out"), ("hangs 4 3 130", "timed out")])
def test_fastest_fails_again(fault, status, gpu):
    """It was right in the sweep, but not when the leaders were measured again, at first or in a later round."""
    assert gpu.tune(fault=fault, limit="5").returncode == 0
    assert {factor: s for factor, (s, _) in gpu.rows().items()} == {
        **{factor: "ok" for factor in FACTORS}, "4": status}
    gpu.tune(fault="none")
    assert gpu.rows()["4"][0] == ("wrong" if status == "wrong" else "ok")


def test_search_goes_on_alike(gpu):
    """What is known from the cache leads the same way: nothing is left to measure."""
    assert gpu.tune("--budget", "4").returncode == 0
    rows = gpu.rows()
    assert gpu.tune("--budget", "4").returncode == 0 and gpu.rows() == rows and not gpu.noted("launch")


def test_another_device(gpu):
    assert "measuring on it. To predict" in gpu.tune("--arch", "h200").stderr


def test_first_one_fails(gpu):
    """All are compared with it, so that none can be measured; and there is no second try for each batch."""
    said = gpu.tune("--budget", "3", fault="dies 1")
    assert said.returncode == 1 and len(gpu.noted("process")) == 2
    assert set(failures(said).values()) == {"does not launch: the process died on the data and the reference"}


def test_another_first_one(gpu):
    """What was wrong beside a first setting that was wrong is not wrong beside another."""
    assert gpu.tune(fault="wrong 1").returncode == 0
    assert [status for status, _ in gpu.rows().values()] == ["ok"] + ["wrong"] * 4
    assert gpu.tune(factors="2:16:*2").returncode == 0
    assert gpu.rows() == {factor: RIGHT[factor] for factor in FACTORS[1:]}


def test_first_one_leaves_some_unwritten(gpu):
    """So that no other is known to be right, and none is chosen; nor is that kept."""
    said = gpu.tune(fault="leaves 1")
    assert said.returncode == 1 and said.stderr.endswith("or name a right source by --reference FILE\n")
    assert "none chosen" in said.stdout and set(failures(said)) == {f"COARSE_FACTOR={f}" for f in FACTORS[1:]}
    assert all(re.match(r"wrong result: y\[3\] is -?[\d.]+, which the reference, COARSE_FACTOR=1, left unwritten: is the "
                        r"grid right for it\?$", reason) for reason in failures(said).values())
    gpu.tune(fault="none")
    assert gpu.rows() == RIGHT


def test_padded_input(gpu):
    """A coarser setting has more of it than the first had."""
    tile = "256 * COARSE_FACTOR"
    assert gpu.tune(x=f"coarsen_ceil_div(n, {tile}) * {tile}", padded=True).returncode == 0
    assert gpu.rows() == RIGHT


def test_many_kernels(gpu):
    others = "".join(f"__global__ void other_{i}(int *x) {{ *x = {i}; }}\n" for i in range(20))
    (gpu.folder / "scale.cu").write_text(SCALE + others)
    assert gpu.tune().returncode == 0 and gpu.rows() == RIGHT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt(number, gpu):
    """To all processes of it, as a terminal and timeout(1) send it."""
    gpu.log.write_text("")
    process = subprocess.Popen(gpu.command(), cwd=gpu.folder, env={**gpu.env, "FAKE_FAULT": "hangs 8"},
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
                               start_new_session=True)
    end = time.monotonic() + 60
    while "8" not in gpu.noted("launch") and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(process.pid, number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "\nInterrupted: the best so far is marked >\n" in out
    # Each setting is measured when it is built, so on a busy machine 8 may come before 2.
    before = set(gpu.noted("launch")) - {"8"}
    assert gpu.rows() == {factor: RIGHT[factor] if factor in before else ("pending", "") for factor in FACTORS}
    gpu.log.write_text("")
    assert gpu.tune().returncode == 0 and gpu.rows() == RIGHT
    # Those before were known, but for the leaders' second time; the others were not.
    assert set(FACTORS) - before <= set(gpu.noted("launch"))
