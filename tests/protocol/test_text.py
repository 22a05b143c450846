# SPDX-License-Identifier: MIT
"""What can be told from the text of the files alone."""
import os
import re

import pytest

from headers import HEADERS, ROOT, defines, is_template, parameters, text

SOURCES = [path for folder in ("include", "tests", "examples", "bench", ".ci")
           for path in sorted((ROOT / folder).rglob("*"))
           if path.suffix in (".h", ".c", ".cc", ".cpp", ".cu", ".py", ".build", ".in") or
           path == ROOT / ".ci" / "run"]
SOURCES += [ROOT / "run", ROOT / "meson.build", ROOT / "meson_options.txt"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_licence_line(path):
    first = path.read_text().splitlines()[:2]
    mark = "//" if path.suffix in (".h", ".c", ".cc", ".cpp", ".cu", ".in") else "#"
    wanted = f"{mark} SPDX-License-Identifier: MIT"
    assert wanted in (first[1:] if first[0].startswith("#!") else first[:1])


def test_version_is_one():
    parts = re.findall(r"^#define COARSEN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$",
                       text("coarsen/base.h"), re.M)
    assert ".".join(parts) == os.environ["VERSION"], "base.h and meson.build differ"


@pytest.mark.parametrize("header", HEADERS)
def test_manual(header):
    """A template has an example of itself, and a table with a row for each parameter it undefines."""
    assert text(header).splitlines()[2].startswith(f"// {header}: ")
    if not is_template(header):
        return
    assert "COARSEN_NAME" in defines(header), "the comment on top has no example"
    assert set(defines(header)) <= set(parameters(header)), "the example sets what the table lacks"


@pytest.mark.parametrize("header", [header for header in HEADERS if not header.endswith("/base.h")])
def test_words_of_one_compiler(header):
    """They are in base.h alone, and nccl's, with the forms that other compilers have. CUDA itself has __builtin_assume_aligned."""
    code = re.sub(r"//.*|/\*.*?\*/|\"(\\.|[^\"\n])*\"", "", text(header))
    code = code.replace("__builtin_assume_aligned", "")
    assert not re.search(r"__attribute__|__declspec|__alignof|__typeof|\btypeof\b|__extension__|__builtin_|__GNUC__|"
                         r"_MSC_VER|__int128|\(\{|#pragma (?!unroll)", code)


@pytest.mark.parametrize("header", HEADERS)
def test_language(header):
    """C as CUDA has it: nothing of C++, and no host header but those that base.h may take."""
    code = re.sub(r"//.*|/\*.*?\*/|\"(\\.|[^\"\n])*\"", "", text(header))
    assert not re.search(r"\b(template|class|namespace|using|constexpr|auto|std)\b", code)
    assert "simt" not in text(header).lower()
    if not header.endswith("/base.h"):
        assert not re.search(r"#include\s*<", code)
