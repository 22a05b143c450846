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
PATTERNS = ("reduce, map, matmul, histogram, scan, select, sort, merge, rows, columns, offsets, stencil, top_k or "
            "sort_segments")
LIKE = "should be like 'float x[n]', a type, a name and how many there are"
VALUES = "should be values like 64,128,256 or a range, 1:32:*2 or 1:8:+1"
NOT_POSITIVE = "is not a positive whole number: 1000000, 1e6, 2^20 and 1Mi are"

MISTAKES = [
    # What to tune
    ([], f"nothing to tune: give a pattern, {PATTERNS}, or --source FILE for a kernel of your own"),
    (["reduec"], f'"reduec" is not a pattern: take {PATTERNS}, or --source FILE for a kernel of your own; did you '
                 "mean reduce?"),
    (["column"], f'"column" is not a pattern: take {PATTERNS}, or --source FILE for a kernel of your own; did you '
                 "mean columns?"),
    (["transpose"], f'"transpose" is not a pattern: take {PATTERNS}, or --source FILE for a kernel of your own\n'),
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
    (["reduce", "--rows", "4"], "--rows is of matmul, rows, columns and sort_segments, not of reduce"),
    (["offsets", "--rows", "4"], "--rows is of matmul, rows, columns and sort_segments, not of offsets"),
    (["scan", "--width", "4"], "--width is of rows, columns, offsets and sort_segments, not of scan"),
    (["rows", "--width", "0"], '--width: "0" is not a whole number from 1 to 2147483647'),
    (["map", "--cols", "4"], "--cols is of matmul, not of map"),
    (["map", "--inner", "4"], "--inner is of matmul, not of map"),
    (["stencil", "--type", "i32"], '--type: stencil takes f32, f64, not "i32"'),
    *[(["stencil", f"--{axis}", "0"], f'--{axis}: "0" {NOT_POSITIVE}') for axis in ["nx", "ny", "nz"]],
    *[(["matmul", f"--{axis}", "4"], f"--{axis} is of stencil, not of matmul") for axis in ["nx", "ny", "nz"]],
    (["stencil", "--order", "5"], '--order: "5" is not a whole number from 1 to 4'),
    (["map", "--order", "2"], "--order is of stencil, not of map"),
    (["top_k", "--k", "1025"], '--k: "1025" is not a whole number from 1 to 1024'),
    (["sort", "--k", "2"], "--k is of top_k, not of sort"),
    (["map", "--op", "min"], "--op is of reduce and scan, not of map"),
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
    (["matmul", "--knob", "BM=33"], "--knob: no setting is left that matmul takes: it requires 32 % lanes_m == 0 && "
                                    "BM % (lanes_m * TM) == 0 && BN % (lanes_n * TN) == 0"),
    (sum((["--knob", f"K{k}=1"] for k in range(9)), ["reduce"]), "--knob: there may be 8 knobs at most"),
    # A kernel of the user's own: what goes with it, what is missing
    *[(["reduce", f"--{option}", value], f"--{option} is for a kernel of your own: give --source FILE too")
      for option, value in [("kernel", "k"), ("launch", "k()"), ("grid", "1"), ("block", "1"), ("shared", "1"),
                            ("args", "n"), ("size", "m=1"), ("in", "float x[n]"), ("out", "float x[n]"),
                            ("inout", "float x[n]"), ("scratch", "float x[n]"), ("reference", "mine.cu"),
                            ("work", "n")]],
    *[(KERNEL + [f"--{option}", value], f"--{option} is for coarsen's patterns, not for a kernel of your own")
      for option, value in [("type", "f32"), ("rows", "1"), ("nx", "1"), ("op", "min"), ("inputs", "1"), ("bins", "8"),
                            ("order", "1"), ("k", "1")]],
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
                  "float 2[n]", f"float x[{LONG}]", "int x[n] up to ", "int x[n] up to n, n", "int x up to n"]],
    (SOURCE + ["--out", "x"], f'--out: "x" {LIKE}'),
    (SOURCE + ["--out", "int x[n] up to n"], f'--out: "int x[n] up to n" {LIKE}'),
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


# What a file says of itself, in its first lines, and what is wrong with the last of them.
FILE = "// tune: --size n=100 --knob BLOCK_DIM=64,128 --out 'float y[n]' --kernel mine --grid n"
DESCRIPTIONS = [
    (["// tune: 64"], '1: "64" should be an option and its value, like --knob COARSE_FACTOR=1:32:*2'),
    (["", "  // tune: --knbo K=1"], "2: --knbo is no option that a file may have; did you mean knob?"),
    (["// tune: --csv x.csv"], "1: --csv is no option that a file may have\n"),
    (["// tune: --source x.cu"], "1: --source is no option that a file may have\n"),
    (["// tune: --knob K=1 --size"], "1: --size has no value: it should be like --knob COARSE_FACTOR=1:32:*2"),
    (["// tune: --out 'float y[n]"], "1: a ' is missing after float y[n]"),
    (["// tune: --knob K=x"], f'1: --knob: K: "x" {VALUES}'),
    ([FILE, "// tune: --knob BLOCK_DIM=1"], "2: --knob: BLOCK_DIM is given twice: list its values in one"),
    ([FILE, "// tune: --default K=1"], "2: --default: there is no knob K: give --knob K=VALUES first"),
    ([FILE, "// tune: --default BLOCK_DIM=1,2"], '2: --default: "BLOCK_DIM=1,2" has more than one value'),
    ([FILE, "// tune: --require 'BLOCK_DIM * ITEMS < n'"],
     '2: --require: "BLOCK_DIM * ITEMS < n": no knob, size or --let is called "ITEMS"'),
    ([FILE, "// tune: --require 'BLOCK_DIM <'"],
     '2: --require: "BLOCK_DIM <": a number or a name is missing before ""'),
    ([FILE, "// tune: --let 'BLOCK_DIM / 2'"],
     '2: --let: "BLOCK_DIM / 2": "BLOCK_DIM / 2" should be like threads=BM / TM, a name and an expression'),
    ([FILE, *["// tune: --let a=1"] * 17], "18: --let: \"a=1\": there may be 16 of --let and --require at most"),
    ([FILE, "// tune: --size n=5"], '2: --size: "n" is a size already: each needs a name of its own'),
    (["// tune: --in 'float x'"], f'1: --in: "float x" {LIKE}'),
    (["// tune: --grid '(n'"], '1: --grid: "(n" should be one to three expressions, parted by commas'),
    (["// tune: --launch go"], "1: --launch: \"go\" should be a call, like 'mine_launch(x, y, n, 0)'"),
    (["// tune: --tolerance 1,2"], '1: --tolerance: "1,2" is not a number from 0 on, nor an expression of the sizes'),
    (["// tune: --type f32,f23", "// tune: --type f23"],
     '2: --type: "f23" is not one of f32, f64, i32, u32, u16, u8'),
    (["// tune: --type ,"], '1: "," names none to choose from'),
    (["// tune f32: --knob K=1"],
     '1: "f32" is none of the types that the lines above have: give --type f32,f32'),
    (["// tune: --inputs 4"], '1: --inputs: "4" is not a whole number from 1 to 3'),
    (["// tune: --order 5"], '1: --order: "5" is not a whole number from 1 to 4'),
]
# A file that says all of itself, with what is typed besides, and what is wrong with that.
DESCRIBED = [
    (["--knob", "BLOCKDIM=64"], "--knob: said.cu has no knob BLOCKDIM: it has BLOCK_DIM; did you mean BLOCK_DIM?"),
    (["--default", "K=1"], "--default: there is no knob K: give --knob K=VALUES first"),
    (["--require", "BLOCK_DIM > 2 * n"],
     "--knob: no setting is left that said.cu takes: it requires BLOCK_DIM > 2 * n"),
    (["--flop", "2 * m"], '--flop: "2 * m": no knob, size or --let is called "m"'),
    (["--flop", "n / 0"], '--flop: "n / 0" divides by zero'),
    (["--n", "5", "--n", "6"], '--n: "n" is a size already: each needs a name of its own'),
    (["--in", "float y[n]"], '--in: "y" is a buffer already: each needs a name of its own'),
    (["--type", "f32"], "--type is for coarsen's patterns, not for a kernel of your own"),
    (["--launch", "go(y)"], "--source needs one of --kernel NAME"),
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


def test_mistakes_in_a_file(folder):
    wrong = []
    for lines, message in DESCRIPTIONS:
        (folder / "said.cu").write_text("\n".join(lines) + "\n")
        said = tune(["--source", "said.cu"], folder)
        if said.returncode != 2 or f"coarsen-tune: said.cu:{message}" not in said.stderr or said.stdout:
            wrong.append(f"{lines}\n  exit {said.returncode}, wanted: {message}\n  said: {said.stderr}{said.stdout}")
    (folder / "said.cu").write_text(f"{FILE}\n")
    for args, message in DESCRIBED:
        said = tune(["--source", "said.cu", *args], folder)
        if said.returncode != 2 or f"coarsen-tune: {message}" not in said.stderr or said.stdout:
            wrong.append(f"{args}\n  exit {said.returncode}, wanted: {message}\n  said: {said.stderr}{said.stdout}")
    (folder / "said.cu").unlink()
    assert not wrong, "\n".join(wrong)


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
