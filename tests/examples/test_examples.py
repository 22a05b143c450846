# SPDX-License-Identifier: MIT
"""The examples as a whole: they are short, they are in the README as they are run, and no header is without one."""
import os
import re
import shlex
import subprocess

import pytest
from programs import ALL_DEVICES, EXAMPLES, ROOT
from test_image import RUNGS

PROGRAMS = sorted(path.stem for path in (ROOT / "examples").glob("*.cu"))
TOURS = ["demo", "many"]  # which say on top why they are longer
README = (ROOT / "README.md").read_text()
ROWS = re.findall(r"^\| (.*?) \| \[(\w+)\]\(examples/(\w+)\.cu\) \| `(.*?)` \| .* \|$", README, re.M)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in TOURS])
def test_is_short(name):
    text = (ROOT / f"examples/{name}.cu").read_text()
    assert text.count("\n") <= 60, "what it checks belongs in tests/examples, what others need too in a header beside it"


def test_every_one_is_in_the_readme():
    assert [(name, file, command.split()[0]) for _, name, file, command in ROWS] == [(name,) * 3 for _, name, _, _ in ROWS]
    assert sorted(name for _, name, _, _ in ROWS) == [name for name in PROGRAMS if name not in TOURS]


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_commands_of_the_readme(device, tmp_path):
    """In the order of the table, as some read what others wrote."""
    for name in ("examples", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    for _, name, _, command in ROWS:
        done = subprocess.run([EXAMPLES / f"{name}-{device}", *shlex.split(command)[1:]], cwd=tmp_path, text=True,
                              capture_output=True)
        if "built without stb_image" not in done.stderr:
            assert done.returncode == 0 and done.stdout and done.stderr == "", (command, done.stderr)


def test_every_header_has_an_example():
    """Some program includes it, as the compiler says: directly, or through a header that takes it."""
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    reached = set()
    for name, flags in [*((name, []) for name in PROGRAMS), *(("image", [f"-DRUNG=<coarsen/image/{rung}.h>"]) for rung in RUNGS)]:
        rule = subprocess.run([*compiler, "-x", "c++", "-M", *flags, f"-I{ROOT}/include/simt", f"-I{ROOT}/include",
                               ROOT / f"examples/{name}.cu"], check=True, text=True, capture_output=True).stdout
        reached |= {os.path.normpath(path) for path in rule.replace("\\\n", " ").split()}
    missing = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "include/coarsen").rglob("*.h")) if str(path) not in reached]
    assert not missing, "no example has these: include each in one, a rung in its ladder of examples/demo"
