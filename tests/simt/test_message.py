# SPDX-License-Identifier: MIT
"""What simt says of a fault: the memory, the calls, all that it finds, what it suppresses, and the summary at exit."""
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SIMT = ROOT / "include" / "simt"
FILES = Path(__file__).resolve().parent / "message"
BUILD = Path(os.environ.get("BUILD") or ROOT / "build")
SOURCE = (FILES / "message.cu").read_text().splitlines()


def line(comment):
    """Of message.cu, the line that ends in a comment."""
    return f"message.cu:{[text.endswith('// ' + comment) for text in SOURCE].index(True) + 1}"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """message.cu, by the level of optimisation."""
    folder = tmp_path_factory.mktemp("message")
    made = {level: folder / f"message{level}" for level in "013"}
    compilers = [subprocess.Popen([SIMT / "simt-c++", f"-O{level}", "-Wall", "-Wextra", "-Werror", FILES / "message.cu", "-o", to],
                                  env={**os.environ, "SIMT_CACHE": str(BUILD / "simt")}) for level, to in made.items()]
    assert [compiler.wait() for compiler in compilers] == [0] * len(made)
    return made


@pytest.fixture
def said(programs):
    """Runs a case; what it prints on stderr, with no folders, and on stdout."""
    def run(*case, level="1", status=0, **environment):
        done = subprocess.run([programs[level], *case], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **environment}, timeout=60)
        assert done.returncode == status, done.stderr
        return done.stderr.replace(f"{FILES}/", ""), done.stdout
    return run


def test_memory(said):
    allocation = f"an allocation of 4096 bytes, made at {line('p')}"
    for case, data in {
        "global": f"element 17 (bytes 68 to 71) of {allocation}",
        "variable": "element 5 (bytes 20 to 23) of the variable table",
        "shared": "element 3 (bytes 12 to 15) of the shared variable tile",
        "dynamic": "element 4 (bytes 16 to 19) of the launch's 16 bytes of dynamic shared memory",
        "after": f"element 1024 (bytes 4096 to 4099) of {allocation}",
        "before": f"element -2 (bytes -8 to -5) of {allocation}",
        "misaligned": f"byte 6 of {allocation}",
        "freed": f"element 9 (bytes 36 to 39) of {allocation} and freed at {line('freed')}",
        "unwritten": f"element 0 (bytes 0 to 3) of {allocation}",
    }.items():
        assert re.findall("  data:  (.*)", said(case, "broken")[0]) == [data]
        assert said(case) == ("", "cudaSuccess\n")
    assert f"of 4096 bytes that was freed before, made at {line('p')} and freed at {line('freed first')}: " in said("twice", "broken")[0]
    assert f"offset 0 of {allocation}\n" in said("unwritten_copy", "broken")[0]
    assert said("twice") == said("unwritten_copy") == ("", "cudaSuccess\n")


@pytest.mark.parametrize("level", "013")
def test_calls(said, level):
    put, put_inline = "in:    put (helper.cuh:6)", "from:  put_inline (helper.cuh:11)"
    descend = "descend (helper.cuh:21)"
    for case, calls in {
        "global": [put, put_inline, f"from:  kernels::global ({line('global')})"],
        "after": [put, put_inline, f"from:  kernels::at<int> ({line('at')})"],
        "divide": ["in:    divided<7> (helper.cuh:16)", f"from:  kernels::divide ({line('divide')})"],  # raised by a signal
        "barrier": [],  # there is the kernel alone
    }.items():
        assert re.findall("^  ((?:in|from): .*)", said(case, "broken", level=level)[0], re.M) == calls
    # The read was before its report. The compiler may have inlined some of the recursion.
    calls = re.findall("^  ((?:in|from): .*)", said("unwritten", "broken", level=level)[0], re.M)
    assert calls[0] == f"in:    {descend}" and calls[-1] == f"from:  kernels::read ({line('read')})"
    assert set(calls[1:-1]) <= {f"from:  {descend}"} and (len(calls) == 4 or level == "3")
    deep = said("unwritten_deep", "broken", level=level)[0]
    assert "  from:  ...\n" in deep or level == "3"
    assert "  fix:   cudaMalloc" in deep


def test_slow_tool(said, tmp_path):
    """The alarm that finds a loop without end does not disturb its own report, however long that takes."""
    slow = tmp_path / "addr2line"
    # Time that the program itself spends is what counts, so there is much to read, which says nothing.
    slow.write_text(f'#!/bin/sh\nyes "" | head -c 100000000\nexec {shutil.which("addr2line")} "$@"\n')
    slow.chmod(0o755)
    text = said("spin", "broken", SIMT_WATCHDOG="1", PATH=f"{tmp_path}:{os.environ['PATH']}")[0]
    assert text.count("simt: deadlock") == 1 and line("spin") in text
    assert said("spin") == ("", "cudaSuccess\n")


def test_other_party(said):
    """Of the other side of a race, the calls that were inlined are known."""
    said_of = said("inlined", "broken")[0]
    assert re.search(r"  other: .* wrote it\n  in:    put_here \(helper.cuh:26\)\n  from:  kernels::inlined \(message.cu:\d+\)\n",
                     said_of)
    assert said("inlined") == ("", "cudaSuccess\n")


def test_keep_going(said):
    lines = [int(line(comment).split(":")[1]) for comment in ("first race", "second race", "beyond")]
    for environment in {}, {"SIMT_ORDER": "shuffle", "SIMT_RESIDENT": "4"}:
        text, out = said("several", "broken", SIMT_KEEP_GOING="1", **environment)
        out = out.splitlines()
        # Two races by each of two pairs of blocks, the second with a read and a write; and one block that ended.
        assert out[0] == "done 1 1 0 1" and out[-1] in ("cudaErrorLaunchFailure", "cudaErrorIllegalAddress")
        assert set(out[1:4]) == {f"race {lines[0]} 2", f"race {lines[1]} 4", f"out of bounds {lines[2]} 1"}
        assert out[4].startswith("first: " + out[1].rsplit(" ", 2)[0])
        # Three launches found the same, which is printed once.
        assert len(re.findall("^  what: ", text, re.M)) == 3
        report, found = text.split("simt: 3 launches failed: ")
        assert found.splitlines()[0] == "1 out of bounds, 2 race"
        assert set(found.splitlines()[1:]) == {f"  6 times: race in kernels::several, {line('first race')}",
                                               f"  12 times: race in kernels::several, {line('second race')}",
                                               f"  3 times: out of bounds in kernels::several, {line('beyond')}"}
        assert said("several", SIMT_KEEP_GOING="1", **environment) == ("", "done 1 1 1 1\nfirst: no fault, 0\ncudaSuccess\n")
    # Without it, the first ends each launch.
    text, out = said("several", "broken")
    assert out.splitlines() == ["done 1 0 0 0", f"race {lines[0]} 1", "first: race, 1", "cudaErrorLaunchFailure"]
    assert len(re.findall("^  what: ", text, re.M)) == 3 and text.endswith("simt: 3 launches failed: 3 race\n")
    # A block that waits for one that ended is no fault of its own.
    for resident in "12":
        text, out = said("follow", "broken", SIMT_KEEP_GOING="1", SIMT_RESIDENT=resident)
        assert out == "cudaErrorIllegalAddress\n" and text.count("  what: ") == 1 and "simt: out of bounds" in text
        assert said("follow", SIMT_KEEP_GOING="1", SIMT_RESIDENT=resident) == ("", "cudaSuccess\n")
    assert "SIMT_KEEP_GOING=2: must be a number from 0 to 1" in said("several", SIMT_KEEP_GOING="2", status=2)[0]
    assert "SIMT_DEVICES=0: must be a number from 1 to 16" in said("several", SIMT_DEVICES="0", status=2)[0]


def test_suppressions(said, tmp_path):
    lines = tmp_path / "suppressions"

    def with_lines(*text, case, **options):
        lines.write_text("\n".join(text))
        return said(*case.split(), SIMT_SUPPRESSIONS=str(lines), **options)

    silent = ("simt: 1 suppressed\n", "cudaSuccess\n")
    for text in ("*:kernels::glob*", "race:put_inline", "race:helper.cuh:6", f"race:{FILES}/helper.cuh:*", f"race:{line('global')}",
                 "  r[a]ce:p?t  "):
        assert with_lines("# known", "", text, case="global broken") == silent, text
    others = "race:global", "race:helper.cuh", "race:elper.cuh:6", "unwritten:*", "#race:*", "race:helper.cuh:60"
    assert with_lines(*others, case="global broken")[0].count("simt: race") == 1
    assert with_lines("unwritten:kernels::read", case="unwritten broken") == silent
    assert with_lines("unwritten copy:cudaMemcpy", case="unwritten_copy broken") == silent
    assert with_lines("race:*", case="global") == ("", "cudaSuccess\n")
    # A call that fails does so all the same.
    assert with_lines("invalid call:cudaFree", case="twice broken") == ("simt: 1 suppressed\n", "cudaErrorInvalidValue\n")
    # What can't go on is a fault all the same, and the fault that comes first no longer hides it.
    text, out = with_lines("race:*", "out of bounds:*", case="several broken")
    assert text.count("  note:  SIMT_SUPPRESSIONS names it, but the thread can't go on after it\n") == 3
    assert "simt: race" not in text and "cudaErrorIllegalAddress" in out
    assert text.endswith("simt: 3 launches failed: 3 out of bounds; 2 suppressed\n")
    # Mistakes.
    for text in "rase:x", "race x", "race:", ":x":
        said_of = with_lines("race:x", text, case="global", status=2)[0]
        assert said_of.startswith(f"simt: {lines}:2: `{text}' must be KIND:PATTERN, as race:my_kernel") and "out of bounds," in said_of
    assert said("global", SIMT_SUPPRESSIONS=str(tmp_path / "none"), status=2)[0] == (
        f"simt: SIMT_SUPPRESSIONS={tmp_path}/none: No such file or directory\n")


def test_summary(said):
    assert said("global", "broken")[0].endswith("\nsimt: 1 launch failed: 1 race\n")
    assert said("twice", "broken")[0].endswith("\nsimt: 1 call failed\n")
    assert said("unwritten_copy", "broken")[0].endswith("\nsimt: 1 warning\n")
    assert said("quiet", "broken")[0] == ""  # with simt_print_reports(0)
    assert said("global", "broken", SIMT_CHECK="0") == ("", "cudaSuccess\n")
