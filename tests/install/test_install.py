# SPDX-License-Identifier: MIT
"""coarsen in a stranger's project (this folder): installed, as a subproject, and by -I alone."""
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CXX = shlex.split(os.environ.get("CXX") or "g++")
NVCC = os.environ.get("NVCC")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "NVCC"}
OLD_MESON = ROOT / "build/.venv/meson-1.0"  # where COARSEN_CI=1 ./run installs it
NO_COMPILER = {"CC": "false", "CXX": "false", "NVCC": "false"}


def needs(name):
    return pytest.mark.skipif(not shutil.which(name), reason=f"no {name} on PATH: install it, or run COARSEN_CI=1 ./run test")


no_meson = pytest.mark.skipif(not shutil.which("meson"), reason="no meson on PATH: run this through ./run test")
no_old_meson = pytest.mark.skipif(not OLD_MESON.exists(), reason="no Meson 1.0: run COARSEN_CI=1 ./run test")


def run(*command, ok=True, cwd=None, **environment):
    """What the command says."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=cwd, env={**ENVIRONMENT, **environment})
    assert (done.returncode == 0) == ok, done.stdout
    return done.stdout


def tree(folder):
    """Of each file below, its place, its kind and mode, and what is in it."""
    return {str(path.relative_to(folder)): (oct(path.lstat().st_mode), os.readlink(path) if path.is_symlink() else
                                            path.read_bytes())
            for path in Path(folder).rglob("*") if not stat.S_ISDIR(path.lstat().st_mode)}


def meson(*arguments, old=False, **environment):
    if not old:
        return run("meson", *arguments, **environment)
    return run(sys.executable, OLD_MESON / "bin/meson", *arguments, PYTHONPATH=str(OLD_MESON), **environment)


def install(build, prefix, old=False):
    """Installs with no compiler at hand; checks that nothing is built."""
    meson("setup", build, ROOT, "--prefix", prefix, old=old, **NO_COMPILER)
    assert json.loads(meson("introspect", "--targets", build, old=old)) == []
    meson("install", "-C", build, old=old, **NO_COMPILER)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    if not shutil.which("meson"):
        pytest.skip("no meson on PATH: run this through ./run test")
    folder = tmp_path_factory.mktemp("meson")
    install(folder / "build", folder / "prefix")
    return folder / "prefix"


# ---- What is installed -----------------------------------------------------------------------------


def test_files(prefix):
    headers = {f"include/{path.relative_to(ROOT / 'include')}" for part in ("coarsen", "simt")
               for path in (ROOT / "include" / part).rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert set(tree(prefix)) == headers | {
        "bin/simt-c++", "share/pkgconfig/coarsen.pc", "share/cmake/coarsen/coarsen-config.cmake",
        "share/cmake/coarsen/coarsen-config-version.cmake"}
    assert (prefix / "bin/simt-c++").resolve() == prefix / "include/simt/simt-c++"


@needs("cmake")
def test_cmake_installs_the_same(prefix, tmp_path):
    run("cmake", "-S", ROOT, "-B", tmp_path / "build", **NO_COMPILER)
    run("cmake", "--install", tmp_path / "build", "--prefix", tmp_path / "prefix")
    assert tree(tmp_path / "prefix") == tree(prefix)


@no_old_meson
def test_old_meson_installs_the_same(prefix, tmp_path):
    install(tmp_path / "build", tmp_path / "prefix", old=True)
    assert tree(tmp_path / "prefix") == tree(prefix)


def test_versions_and_flags():
    """What is written twice is the same."""
    port = json.loads((ROOT / "packaging/vcpkg/vcpkg.json").read_text())
    assert f"version: '{port['version']}'" in (ROOT / "meson.build").read_text()
    driver = re.search(r"^FLAGS = \[(.*?)\]", (ROOT / "include/simt/simt-c++").read_text(), re.M | re.S)[1]
    config = re.search(r"SHELL:-x c\+\+;(.*?)>", (ROOT / "packaging/coarsen-config.cmake.in").read_text(), re.S)[1]
    assert config.replace("\\\n", "").split(";") == [*re.findall(r"'(.*?)'", driver), "-fno-tree-sra"]


@needs("cmake")
def test_version_by_cmake(tmp_path):
    """Which requests find 0.1.2. A script of CMake can't make targets, so the package here is a version alone."""
    text = (ROOT / "packaging/coarsen-config-version.cmake.in").read_text()
    (tmp_path / "coarsen-config-version.cmake").write_text(text.replace("@version@", "0.1.2"))
    (tmp_path / "coarsen-config.cmake").write_text("")
    requests = {"": 1, "0.1": 1, "0.1.2": 1, "0.1.2 EXACT": 1, "0.1...<0.2": 1, "0.1...1": 1, "0.0...0.1.2": 1,
                "0.1.3": 0, "0.1.1 EXACT": 0, "0.0": 0, "0.2": 0, "1.1": 0, "0.10": 0, "0.1...<0.1.2": 0, "0.1.3...1": 0}
    (tmp_path / "ask.cmake").write_text("cmake_minimum_required(VERSION 3.20)\n" + "".join(
        f'find_package(coarsen {request} QUIET CONFIG PATHS "{tmp_path}" NO_DEFAULT_PATH)\n'
        f'message("{request}: ${{coarsen_FOUND}}")\nunset(coarsen_DIR CACHE)\n' for request in requests))
    assert run("cmake", "-P", tmp_path / "ask.cmake").splitlines() == [f"{r}: {found}" for r, found in requests.items()]


# ---- In a stranger's project -----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["find_package", "add_subdirectory", "FetchContent"])
@needs("cmake")
def test_cmake(how, prefix, tmp_path):
    run("cmake", "-S", HERE, "-B", tmp_path, f"-DHOW={how}", f"-DCOARSEN={ROOT}", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "sum") == "1000\n"


@pytest.mark.skipif(not NVCC, reason="no nvcc: install the CUDA Toolkit")
@needs("cmake")
def test_cmake_cuda(prefix, tmp_path):
    """CUDA alone: no C++, and so no coarsen::simt."""
    run("cmake", "-S", HERE, "-B", tmp_path, "-DLANGUAGE=CUDA", f"-DCMAKE_CUDA_COMPILER={NVCC}",
        "-DCMAKE_CUDA_ARCHITECTURES=75", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)


def stranger(folder, **more):
    """Builds this folder's project by Meson; its tests and its targets, of which coarsen's are none."""
    meson("setup", folder / "build", folder, f"-Dcpp_args=-I{ROOT}/include/simt -Wno-unknown-pragmas", **more)
    run("ninja", "-C", folder / "build")
    tests, targets = (json.loads(meson("introspect", f"--{what}", folder / "build", **more)) for what in ("tests", "targets"))
    assert tests == [] and [target["name"] for target in targets] == ["sum"]


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config: install it")
def test_pkg_config(prefix, tmp_path):
    """By Meson, by g++ and by nvcc."""
    found = {"PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}
    flags = shlex.split(run("pkg-config", "--cflags", "coarsen >= 0.1", **found))
    shutil.copytree(HERE, tmp_path / "project")
    stranger(tmp_path / "project", **found)
    run(*CXX, "-x", "c++", "-I", prefix / "include/simt", *flags, "-Wno-unknown-pragmas", "-Wall", "-Wextra", "-Werror",
        "-fsyntax-only", HERE / "sum.cu")
    if NVCC:
        run(NVCC, "-o", tmp_path / "sum", *flags, HERE / "sum.cu")


@pytest.mark.skipif(not NVCC, reason="no nvcc: install the CUDA Toolkit")
def test_nvcc_alone(tmp_path):
    run(NVCC, "-I", ROOT / "include", "-o", tmp_path / "sum", HERE / "sum.cu")


def subproject(folder):
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    (folder / "subprojects").mkdir()
    shutil.copy(ROOT / "packaging/coarsen.wrap", folder / "subprojects")
    (folder / "subprojects/coarsen").symlink_to(ROOT)  # so that the wrap has nothing to fetch
    return folder


@no_meson
def test_subproject(tmp_path):
    stranger(subproject(tmp_path))


@no_old_meson
def test_subproject_of_old_meson(tmp_path):
    stranger(subproject(tmp_path), old=True)


@needs("conan")
@needs("cmake")
def test_conan(tmp_path):
    """Without a remote. The recipe's own test builds this folder and runs its program."""
    home = {"CONAN_HOME": str(tmp_path)}
    run("conan", "profile", "detect", **home)
    said = run("conan", "create", ROOT / "packaging", "--no-remote", **home)
    assert "\n1000\n" in said.split("Running test()")[1]


# ---- An nvcc that does not work --------------------------------------------------------------------


@pytest.mark.parametrize("body, said", [
    ("exec /opt/gone/bin/nvcc \"$@\"", "/opt/gone/bin/nvcc: not found"),
    ("echo 'please log in' >&2", "please log in"),
    ("exit 127", ""),
], ids=["gone", "rubbish", "silent"])
@no_meson
def test_broken_nvcc(body, said, tmp_path):
    """Meson goes on without the GPU's programs, unless they are asked for."""
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{body}\n")
    nvcc.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    line = rf"An nvcc that does not work: {nvcc} \(--version says: .*{re.escape(said)}\)"
    asked = meson("setup", tmp_path / "asked", ROOT, "-Dprograms=true", "-Dcuda=enabled", ok=False, **path)
    assert re.search(f"ERROR: .*{line}", asked) and "Traceback" not in asked and "Meson bug" not in asked
    gone_on = meson("setup", tmp_path / "build", ROOT, "-Dprograms=true", **path)
    assert re.search(f"WARNING: {line}: programs for the GPU are left out", gone_on) and "Traceback" not in gone_on
    assert re.search(r"GPU \(nvcc\) *: NO", gone_on)
