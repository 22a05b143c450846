# SPDX-License-Identifier: MIT
"""The command line of coarsen-tune: each mistake gets its message, before anything is looked for or done."""
import os
import subprocess

import pytest

TUNE = os.environ.get("COARSEN_TUNE")
pytestmark = pytest.mark.skipif(not TUNE, reason="COARSEN_TUNE is not set: run this through ./run test")

# A kernel of the user's own that lacks nothing.
SOURCE = ["--source", "mine.cu"]
KNOB = ["--knob", "BLOCK_DIM=64,128"]
SIZE = ["--n", "100"]
OUT = ["--out", "float y[n]"]
GRID = ["--grid", "n"]
OWN = SOURCE + KNOB + SIZE + OUT
KERNEL = OWN + ["--kernel", "mine"] + GRID
LONG = "n" * 600
LIKE = "should be like 'float x[n]', a type, a name and how many there are"
VALUES = "should be values like 64,128,256 or a range, 1:32:*2 or 1:8:+1"
NOT_POSITIVE = "is not a positive whole number: 1000000, 1e6, 2^20 and 1Mi are"

MISTAKES = [
    # What to tune
    ([], "nothing to tune: give a pattern, reduce, map, matmul or histogram, or --source FILE for a kernel of "
         "your own"),
    (["reduec"], '"reduec" is not a pattern: take reduce, map, matmul or histogram, or --source FILE for a kernel '
                 "of your own; did you mean reduce?"),
    (["sort"], '"sort" is not a pattern: take reduce, map, matmul or histogram, or --source FILE for a kernel of '
               "your own\n"),
    (["reduce", "map"], '"reduce" and "map": one pattern at a time'),
    (["reduce", *OWN], '"reduce" and --source: give a pattern or a kernel of your own, not both'),
    (["reduce", "--frobnicate"], "unrecognized option '--frobnicate'"),
    (["reduce", "--n"], "option '--n' requires an argument"),
    # Its parameters
    (["reduce", "--type", "f23"], '--type: reduce takes f32, f64, i32, not "f23"; did you mean f32?'),
    (["reduce", "--type", "u8"], '--type: reduce takes f32, f64, i32, not "u8"'),
    (["map", "--type", "double"], '--type: map takes f32, f64, i32, not "double"\n'),
    (["matmul", "--type", "i32"], '--type: matmul takes f32, f64, not "i32"'),
    (["histogram", "--type", "i32"], '--type: histogram takes u8, u16, u32, f32, not "i32"; did you mean u32?'),
    *[(["reduce", "--n", bad], f'--n: "{bad}" {NOT_POSITIVE}')
      for bad in ["", "0", "-5", "many", "1.5", "2^64", "3^4", "2^", "1e20", "12Q", "0x10", " 7", "1e6e",
                  "99999999999999999999"]],
    (["matmul", "--rows", "0"], f'--rows: "0" {NOT_POSITIVE}'),
    (["matmul", "--cols", "x"], f'--cols: "x" {NOT_POSITIVE}'),
    (["matmul", "--inner", "x"], f'--inner: "x" {NOT_POSITIVE}'),
    (["reduce", "--rows", "4"], "--rows is of matmul, not of reduce"),
    (["map", "--cols", "4"], "--cols is of matmul, not of map"),
    (["map", "--inner", "4"], "--inner is of matmul, not of map"),
    (["map", "--op", "min"], "--op is of reduce, not of map"),
    (["reduce", "--inputs", "2"], "--inputs is of map, not of reduce"),
    (["reduce", "--bins", "2"], "--bins is of histogram, not of reduce"),
    (["reduce", "--op", "maxx"], '--op: "maxx" is not one of sum, min, max; did you mean max?'),
    (["map", "--inputs", "4"], '--inputs: "4" is not a whole number from 1 to 3'),
    (["histogram", "--bins", "0"], '--bins: "0" is not a whole number from 1 to 2147483647'),
    (["histogram", "--bins", "2^31"], '--bins: "2^31" is not a whole number from 1 to 2147483647'),
    (["reduce", "--data", "skwed"], '--data: "skwed" is not uniform, skewed, one or runs, nor a file: No such file '
                                    "or directory; did you mean skewed?"),
    (["reduce", "--data", "."], "--data: . is not a file that can be read"),
    # Knobs
    (["reduce", "--knob", "COARSE_FACTOR"],
     '--knob: "COARSE_FACTOR" should be like COARSE_FACTOR=1:32:*2, a macro of up to 63 characters and its values'),
    (["reduce", "--knob", "2=3"],
     '--knob: "2=3" should be like COARSE_FACTOR=1:32:*2, a macro of up to 63 characters and its values'),
    *[(["reduce", "--knob", f"BLOCK_DIM={bad}"], f'--knob: BLOCK_DIM: "{bad}" {VALUES}')
      for bad in ["", "x", "64,", ",64", "64 128", "1:8", "1:8:2", "1:8:*", "-1", "64x", "3000000000"]],
    *[(["reduce", "--knob", f"BLOCK_DIM={bad}"], f'--knob: BLOCK_DIM: a range goes up: "{bad}" has no second value')
      for bad in ["8:1:*2", "1:8:*1", "0:8:*2", "1:8:+0"]],
    (["reduce", "--knob", "BLOCK_DIM=64,128,64"], "--knob: BLOCK_DIM: 64 is there twice"),
    (["reduce", "--knob", "BLOCK_DIM=1:33:+1"], "--knob: BLOCK_DIM: there may be 32 values at most"),
    (["reduce", *KNOB, *KNOB], "--knob: BLOCK_DIM is given twice: list its values in one"),
    (["reduce", "--knob", "BLOCKDIM=64"],
     "--knob: reduce has no knob BLOCKDIM: it has BLOCK_DIM, COARSE_FACTOR; did you mean BLOCK_DIM?"),
    (["matmul", "--knob", "BM=33"], "--knob: no setting is left that matmul takes: it requires 32 % lanes_n == 0 && "
                                    "BM % (lanes_m * TM) == 0 && BN % (lanes_n * TN) == 0"),
    (sum((["--knob", f"K{k}=1"] for k in range(9)), ["reduce"]), "--knob: there may be 8 knobs at most"),
    # A kernel of the user's own: what goes with it, what is missing
    *[(["reduce", f"--{option}", value], f"--{option} is for a kernel of your own: give --source FILE too")
      for option, value in [("kernel", "k"), ("launch", "k()"), ("grid", "1"), ("block", "1"), ("shared", "1"),
                            ("args", "n"), ("size", "m=1"), ("in", "float x[n]"), ("out", "float x[n]"),
                            ("inout", "float x[n]"), ("scratch", "float x[n]"), ("reference", "mine.cu"),
                            ("work", "n")]],
    *[(KERNEL + [f"--{option}", value], f"--{option} is for coarsen's patterns, not for a kernel of your own")
      for option, value in [("type", "f32"), ("rows", "1"), ("op", "min"), ("inputs", "1"), ("bins", "8")]],
    (OWN, "--source needs one of --kernel NAME, with --grid and --block, and --launch 'CALL', a launcher that FILE "
          "has"),
    (KERNEL + ["--launch", "go(y, n)"], "--source needs one of --kernel NAME"),
    (SOURCE + SIZE + OUT + GRID + ["--kernel", "mine"], "--source needs a knob to tune: --knob COARSE_FACTOR=1:32:*2, "
                                                        "a macro of FILE and its values"),
    (SOURCE + KNOB + OUT + GRID + ["--kernel", "mine"], "--source needs a size: --n 2^24, or --size rows=4096"),
    (SOURCE + KNOB + SIZE + GRID + ["--kernel", "mine"],
     "--source needs a result to verify: --out 'float y[n]' or --inout"),
    (OWN + ["--kernel", "mine"],
     "--kernel needs --grid, such as 'coarsen_ceil_div(n, BLOCK_DIM * COARSE_FACTOR)'"),
    (SOURCE + SIZE + OUT + GRID + ["--kernel", "mine", "--knob", "K=1,2"],
     "--kernel needs --block, such as 256, or a knob BLOCK_DIM"),
    (OWN + GRID + ["--kernel", "mi ne"], '--kernel: "mi ne" is not the name of a function'),
    *[(OWN + ["--launch", bad], f"--launch: \"{bad}\" should be a call, like 'mine_launch(x, y, n, 0)'")
      for bad in ["go", "go(y", "go(y), go(y)", "3(y)", ""]],
    *[(OWN + ["--launch", "go(y)", f"--{option}", "1"], f"--{option} goes with --kernel: --launch says it all")
      for option in ["grid", "block", "shared", "args"]],
    *[(OWN + ["--kernel", "mine", "--grid", bad], f'--grid: "{bad}" should be one to three expressions, parted by '
                                                  "commas")
      for bad in ["", "n,", "(n", "n]", "(n]", "1, 1, 1, 1"]],
    (KERNEL + ["--block", "1, , 1"], '--block: "1, , 1" should be one to three expressions'),
    (KERNEL + ["--shared", "1, 2"], '--shared: "1, 2" should be one expression, of bytes'),
    (KERNEL + ["--args", "y,,n"], '--args: "y,,n" should be expressions, parted by commas'),
    (KERNEL + ["--args", LONG], "the launch is too long: it may have 511 characters. Give FILE a launcher and name "
                                "that with --launch"),
    (KERNEL + ["--work", "n, n"], '--work: "n, n" should be one expression of the sizes'),
    (KERNEL + ["--work", LONG], "--work: it may have 117 characters"),
    # Sizes and buffers
    *[(SOURCE + ["--size", bad], f'--size: "{bad}" should be like rows=4096, a name and a number')
      for bad in ["rows", "=5", "2x=5", "a b=5", "n" * 40 + "=5"]],
    (SOURCE + ["--size", "rows=0"], '--size: "0" is not a positive number: 1000000, 1e6, 2^20 and 1Mi are'),
    (SOURCE + SIZE + SIZE, '--n: "n" is a size already: each needs a name of its own'),
    (sum((["--size", f"s{i}=1"] for i in range(5)), SOURCE), "--size: there may be 4 sizes at most"),
    *[(SOURCE + ["--in", bad], f'--in: "{bad}" {LIKE}')
      for bad in ["", "float x", "x[n]", "float [n]", "float x[]", "float *x[n]", "float x[n", "float x[n] y",
                  "float 2[n]", f"float x[{LONG}]"]],
    (SOURCE + ["--out", "x"], f'--out: "x" {LIKE}'),
    (SOURCE + ["--inout", "x"], f'--inout: "x" {LIKE}'),
    (SOURCE + ["--scratch", "x"], f'--scratch: "x" {LIKE}'),
    (SOURCE + OUT + OUT, '--out: "y" is a buffer already: each needs a name of its own'),
    (SOURCE + SIZE + ["--in", "int n[4]"], '--in: "n" is a size already: each needs a name of its own'),
    (KERNEL + ["--knob", "y=1,2"], '"y" is a buffer already: each needs a name of its own'),
    (sum((["--in", f"int x{i}[n]"] for i in range(9)), SOURCE), "--in: there may be 8 buffers at most"),
    # Files
    (["--source", "absent.cu"] + KERNEL[2:], "--source: absent.cu: No such file or directory"),
    (["--source", "."] + KERNEL[2:], "--source: .: Is a directory"),
    (["--source", "empty.cu"] + KERNEL[2:], "--source: empty.cu: the file is empty"),
    (["--source", 'qu"ote.cu'] + KERNEL[2:], '--source: qu"ote.cu: no #include can name this path: it has a quote, a '
                                             "backslash or a line end"),
    (KERNEL + ["--reference", "absent.cu"], "--reference: absent.cu: No such file or directory"),
    # The device, the run, the outputs
    (["reduce", "--arch", "sm_12"], "--arch: no device 'sm_12' in the table: write one of "),
    (["reduce", "--device", "absent.txt"], "--device: absent.txt: No such file or directory"),
    (["reduce", "--arch", "sm_90", "--device", "x"], "--arch and --device both say which device: give one of them"),
    (["reduce", "--cache", "x", "--no-cache"], "--cache and --no-cache: give one of them"),
    (KERNEL + ["--header", "x.h"], "--header makes defaults for coarsen's headers, which a kernel of your own has none "
                                   "of: --csv FILE has its values"),
    (["reduce", "--budget", "0"], f'--budget: "0" {NOT_POSITIVE}'),
    (["reduce", "--samples", "0"], '--samples: "0" is not a whole number from 1 to 1000000'),
    *[(["reduce", "--limit", bad], f'--limit: "{bad}" is not a number above 0')
      for bad in ["", "0", "-1", "5s", "nan", "inf"]],
    (["reduce", "--tolerance", "-1"], '--tolerance: "-1" is not a number from 0 on'),
    (["reduce", "-D", "A B"], '-D: "A B" is empty or has a space, a quote, a backslash or a $'),
    (["reduce", "-I", ""], '-I: "" is empty or has a space, a quote, a backslash or a $'),
]


def tune(args, folder):
    return subprocess.run([TUNE, *args], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    for name in ["mine.cu", 'qu"ote.cu']:
        (folder / name).write_text("__global__ void mine(float *y, size_t n) { y[0] = n; }\n")
    (folder / "empty.cu").touch()
    return folder


def test_mistakes(folder):
    before = sorted(folder.iterdir())
    wrong = []
    for args, message in MISTAKES:
        said = tune(args, folder)
        if said.returncode != 2 or f"coarsen-tune: {message}" not in said.stderr or said.stdout:
            wrong.append(f"{args}\n  exit {said.returncode}, wanted: {message}\n  said: {said.stderr}{said.stdout}")
    assert not wrong, "\n".join(wrong)
    assert sorted(folder.iterdir()) == before


def test_information(folder):
    said = tune(["--help"], folder)
    assert said.returncode == 0 and said.stderr == ""
    assert "Examples:" in said.stdout and "coarsen-tune reduce --n 2^28" in said.stdout
    for option in {arg for args, _ in MISTAKES for arg in args if arg.startswith("--")} - {"--frobnicate"}:
        assert option in said.stdout
    said = tune(["--version"], folder)
    assert (said.returncode, said.stderr) == (0, "") and said.stdout.startswith("coarsen-tune ")
    said = tune(["--list-devices"], folder)
    assert (said.returncode, said.stderr) == (0, "") and "H200" in said.stdout
