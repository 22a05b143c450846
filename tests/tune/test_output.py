# SPDX-License-Identifier: MIT
"""What coarsen-tune writes for other programs: CSV, the T4 format of the auto-tuning community, and the plot."""
import csv
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRITER = os.environ.get("OUTPUT_TEST")  # output_test.c has the rows
pytestmark = pytest.mark.skipif(not WRITER, reason="OUTPUT_TEST is not set: run this through ./run test")

STATUS = ["ok", "ok", "ok", "not compiled", "wrong", "timed out", "pending"]
# The end is two bytes of a character that was cut short.
REASON = 'mine.cu(3): error: expected "a, b"\t\u2018;\u2019 \\ \ufffd\ufffd'


def write(kind, folder, *mode):
    path = folder / f"result.{kind}"
    subprocess.run([WRITER, kind, path, *mode], check=True)
    return path


def read_csv(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    notes = dict(line[2:].split(": ", 1) for line in lines if line.startswith("#"))
    return notes, list(csv.DictReader(lines[len(notes):]))


@pytest.mark.parametrize("mode", ["measured", "predicted"])
def test_csv(mode, tmp_path):
    notes, rows = read_csv(write("csv", tmp_path, *[mode] * (mode == "predicted")))
    assert notes["result"] == mode and notes["device"] == 'NVIDIA "Round" 1' and notes["sm"] == "90"
    assert notes["toolkit"] == "13.0" and notes["driver"] == "12.8" and notes["bytes"] == "4000"
    assert notes["problem"] == "reduce f32, sum, n = 1000"
    assert notes["command"] == "coarsen-tune reduce #define X \\"  # on one line
    assert [row["status"] for row in rows] == STATUS
    assert [(row["BLOCK_DIM"], row["COARSE_FACTOR"]) for row in rows] == [
        ("256", "1"), ("256", "2"), ("256", "4"), ("256", "8"), ("128", "1"), ("128", "2"), ("128", "4")]
    assert all(None not in row and None not in row.values() for row in rows)  # as many columns as names
    second = {"measured_us": "3.5", "least_us": "3.25", "spread": "0.015625", "samples": "30", "GBps": "1.142857",
              "predicted_us": "3", "launch_us": "1", "latency_us": "0.25", "memory_us": "0.75", "issue_us": "0",
              "bound": "memory", "registers": "33", "static_shared": "128", "dynamic_shared": "1024",
              "spill_bytes": "12", "occupancy": "0.75", "waves": "1.5", "busy": "1", "inflight": "4096",
              "needed": "32768", "blocks": "10", "threads": "256", "global_requests": "3000000000000",
              "global_sectors": "125", "global_bytes": "4000", "barriers": "20", "active_lanes": "0.75",
              "reason": "", "chosen": "1", "tie": "1"}
    assert {name: rows[1][name] for name in second} == second
    assert [row["chosen"] for row in rows].count("1") == 1
    assert rows[2]["waves"] == ""  # infinite
    assert rows[3]["reason"] == REASON
    assert rows[3]["measured_us"] == rows[3]["registers"] == rows[3]["predicted_us"] == ""
    assert rows[6]["registers"] == "38" and rows[6]["predicted_us"] == ""


def strictly(word):
    raise ValueError(f"{word} is not JSON")


@pytest.mark.parametrize("mode, objective", [("measured", "time"), ("predicted", "predicted_us")])
def test_json(mode, objective, tmp_path):
    text = write("json", tmp_path, *[mode] * (mode == "predicted")).read_text(encoding="utf-8")
    data = json.loads(text, parse_constant=strictly)
    assert data["schema_version"] == "1.0.0" and data["metadata"]["timeunit"] == "milliseconds"
    assert data["metadata"]["result"] == mode and data["metadata"]["device"] == 'NVIDIA "Round" 1'
    results = data["results"]
    assert [row["invalidity"] for row in results] == [
        "correct", "correct", "correct", "compile", "correctness", "timeout"]  # not the pending one
    assert [row["correctness"] for row in results] == [1, 1, 1, 0, 0, 0]
    assert results[1]["configuration"] == {"BLOCK_DIM": 256, "COARSE_FACTOR": 2}
    assert results[1]["times"] == {"compilation": 13.5, "runtimes": [0.0035]}
    for row in results:
        values = {measured["name"]: measured["value"] for measured in row["measurements"]}
        assert row["objectives"] == [objective] and len(values) == len(row["measurements"])
        assert objective in values  # a failed one's is a word, as of Kernel Tuner
        assert isinstance(values[objective], str) == (row["invalidity"] != "correct")
    values = {measured["name"]: measured["value"] for measured in results[1]["measurements"]}
    assert values[objective] == {"time": 0.0035, "predicted_us": 3}[objective]
    assert values["bound"] == "memory" and values["registers"] == 33
    assert "waves" not in {measured["name"] for measured in results[2]["measurements"]}
    assert {"name": "reason", "value": REASON, "unit": ""} in results[3]["measurements"]


def test_json_by_the_schema(tmp_path):
    """Kernel Tuner's own, where that is installed."""
    jsonschema = pytest.importorskip("jsonschema")
    files = pytest.importorskip("kernel_tuner.file_utils")
    version, schema = files.output_file_schema("results")
    for mode in [], ["predicted"]:
        data = json.loads(write("json", tmp_path, *mode).read_text(encoding="utf-8"))
        jsonschema.validate(data, schema)
        assert data["schema_version"] == version


def plot(folder, *arguments):
    result = subprocess.run([sys.executable, "-B", ROOT / "bench" / "tune" / "plot.py", "--out", folder, *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return result.returncode, result.stdout, result.stderr


def drawn(rows, folder, header, *arguments):
    """The size of the PNG made from these rows."""
    pytest.importorskip("matplotlib")
    path = folder / "made.csv"
    path.write_text("# problem: made up\n# device: none\n" + "\n".join([header, *rows]) + "\n")
    status, _, said = plot(folder, path, *arguments)
    assert status == 0, said
    png = (folder / "made.png").read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


def test_plot(tmp_path):
    header = "BLOCK_DIM,COARSE_FACTOR,status,reason,measured_us,predicted_us,chosen,tie"
    blocks, factors = (64, 128, 256, 512), (1, 2, 4, 8)
    rows = [f"{b},{f},ok,,{10 + abs(f - 4) + b / 64},{9 + f},{int((b, f) == (64, 4))},0"
            for b in blocks for f in factors]
    rows[-1] = '512,8,not compiled,"too much, it says",,,0,0'
    one = drawn(rows[:4], tmp_path, header)
    several = drawn(rows, tmp_path, header)
    assert several[0] > one[0] and several[1] > one[1]  # a panel for each BLOCK_DIM, in two lines
    predicted = [",".join([*row.split(",")[:4], "", *row.split(",")[5:]]) for row in rows[:-1]]
    assert drawn(predicted, tmp_path, header) == several
    many = [f"{b},{m},{f},ok,,{b + m + f},{b + m},0,0" for b in blocks for m in range(4) for f in factors]
    assert drawn(many, tmp_path, header.replace(",", ",MORE,", 1)) == one
    assert drawn(rows, tmp_path, header, "--factor", "BLOCK_DIM") == several

    real = write("csv", tmp_path)
    assert plot(tmp_path, real)[0] == 0 and (tmp_path / "result.png").exists()


@pytest.mark.parametrize("text, arguments, message", [
    (None, [], "No such file"),
    ("a,b\n1,2\n", [], "was it written by coarsen-tune --csv?"),
    ("F,status,measured_us,predicted_us,chosen\n1,wrong,,,0\n", [], "no setting in it has a time"),
    ("F,status,measured_us,predicted_us,chosen\n1,ok,2,,0\n", ["--factor", "G"], "no knob G: there are F"),
])
def test_plot_says_why_not(text, arguments, message, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "x.csv"
    if text:
        path.write_text(text)
    status, _, said = plot(tmp_path, path, *arguments)
    assert status == 1 and message in said and str(path) in said and "Traceback" not in said
