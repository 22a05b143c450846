# SPDX-License-Identifier: MIT
"""The documentation: links and anchors, as they are read in the repository and on the site; the pictures; the site."""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "protocol")]
from headers import HEADERS, parameters, table  # noqa: E402

TEXTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
PICTURES = ROOT / "docs" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"


def name(path):
    return str(path.relative_to(ROOT))


def without_code(text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"(^|\n\n)(    .*\n?|\n)+", r"\1\n", text)  # indented
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """Of the headings, as GitHub makes them."""
    found = []
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S), re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return found


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_links(path):
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text())):
        file, _, anchor = target.partition("#")
        if "://" in file:
            continue
        there = path.parent / unquote(file) if file else path
        if not there.exists():
            wrong.append(f"{target}: no such file")
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            wrong.append(f"{target}: no such heading")
    assert not wrong


def rungs(folder):
    """Of a ladder: the headers that take a COARSEN_NAME, and no other header's."""
    return [path.stem for path in sorted(folder.glob("*.h")) if "| COARSEN_NAME " in path.read_text()]


LADDERS = sorted(path for path in (ROOT / "include" / "coarsen").iterdir() if path.is_dir() and path.name != "block")


@pytest.mark.parametrize("folder", LADDERS, ids=lambda path: path.name)
def test_rungs_are_linked(folder):
    """From the ladder's page, and in each paragraph of it that names one so that it is no English word: NAME.h, or a name
    with an underscore."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / "docs" / f"{folder.name}.md").read_text(), flags=re.M | re.S)
    paragraphs = [part for part in re.split(r"\n\s*\n|\n(?=- )", text)
                  if not part.startswith(("    ", "![", "<!--")) and not part.lstrip().startswith("|")]
    wrong = []
    for rung in rungs(folder):
        link = f"](../include/coarsen/{folder.name}/{rung}.h)"
        if link not in text:
            wrong.append(f"{rung}: no link")
        named = rf"(?<![\w/]){rung}\.h\b" + (rf"|(?<![\w/`.]){rung}(?![\w`])" if "_" in rung else "")
        wrong += [f"{rung}, in: {part[:60]}" for part in paragraphs
                  if re.search(named, re.sub(r"\]\([^)]*\)", "]", part)) and link not in part]
    assert not wrong


def test_examples_are_linked():
    """Each from a page; and from the page of each pattern, one that uses it."""
    linked = {page.stem: set(re.findall(r"\]\(\.\./examples/(\w+)\.cu\)", page.read_text()))
              for page in sorted((ROOT / "docs").glob("*.md"))}
    every = {path.stem for path in (ROOT / "examples").glob("*.cu")} - {"demo"}
    assert set.union(*linked.values()) == every
    for pattern in [*(folder.name for folder in LADDERS), "fuse", "top_k"]:
        headers = [f"<coarsen/{pattern}.h>", f"<coarsen/{pattern}/"]
        assert any(header in (ROOT / f"examples/{name}.cu").read_text() for name in linked[pattern] for header in headers), pattern


# ---- Pictures -----------------------------------------------------------------------------------------


def test_pictures_are_what_the_script_draws(tmp_path):
    subprocess.run([sys.executable, "-B", PICTURES / "draw.py", "--out", tmp_path], check=True)
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert drawn and drawn == {path.name: path.read_text() for path in PICTURES.glob("*.svg")}, (
        "run docs/pictures/draw.py")


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_picture(path):
    """It fits a phone, is large enough to read, has a dark form, says in words what it shows, and is on a page."""
    svg = xml.parse(path).getroot()
    left, top, width, _ = map(float, svg.get("viewBox").split())
    assert (left, top) == (0, 0) and 360 <= width <= 400
    named = {element.get("id"): element.text for element in svg.iter() if element.get("id")}
    title, desc = (named[key] for key in svg.get("aria-labelledby").split())
    assert len(title) > 10 and len(desc) > 100
    style = svg.find(SVG + "style").text
    assert "prefers-color-scheme:dark" in style
    assert min(float(size) for size in re.findall(r"([\d.]+)px", style)) >= 11
    used = [text for text in TEXTS if f"](pictures/{path.name})" in text.read_text()]
    assert used, "no page shows it"


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_images_have_alternatives(path):
    for alternative, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", path.read_text()):
        least = 30 if target.startswith("pictures/") else 3  # a plot has its caption beside it
        assert len(alternative) >= least, f"{target}: '{alternative}'"


# ---- The site -----------------------------------------------------------------------------------------


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.rows = re.findall(r"<td><code>(\w+)", text)  # what tables begin their rows with
        self.paragraphs = re.findall(r"<p>(.*?)</p>", text, re.S)
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.ids.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif given.get("src") or (tag == "link" and given.get("href")):
            self.loaded.append(given.get("src") or given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages of the site, by their paths: built as ./run docs does."""
    pytest.importorskip("material", reason="no mkdocs-material: COARSEN_CI=1 ./run test installs it")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run([sys.executable, "-B", "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
                           cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    assert built.returncode == 0, built.stdout
    return {path: Page(path.read_text()) for path in folder.rglob("*.html") if path.name != "404.html"}, folder


def test_site_links(site):
    """Each leads to a page, and to a place on it; and nothing is loaded from elsewhere."""
    pages, folder = site
    wrong = []
    for path, page in pages.items():
        here = path.relative_to(folder)
        for target in page.links + page.loaded:
            file, _, anchor = target.partition("#")
            if "://" in file or file.startswith(("mailto:", "data:")):
                if target in page.loaded:
                    wrong.append(f"{here}: loads {target}")
                continue
            there = (path.parent / unquote(file)).resolve() if file else path
            if there.is_dir():
                there = there / "index.html"
            if not there.is_file():
                wrong.append(f"{here}: {target}: no such page")
            elif anchor and there in pages and unquote(anchor) not in pages[there].ids and anchor != "__skip":
                wrong.append(f"{here}: {target}: no such place")
    assert not wrong, "\n".join(wrong[:20])


def test_site_has_every_manual(site):
    """A page for each header, with its parameters; and a page for each text."""
    pages, folder = site
    every = table("coarsen/base.h")  # which every inclusion takes
    for header in HEADERS:
        page = pages[folder / "reference" / (header.removeprefix("coarsen/") + ".html")]
        assert set(parameters(header)) - set(every) <= set(page.rows), header
    assert set(every) <= set(pages[folder / "reference" / "base.h.html"].rows)
    for text in (ROOT / "docs").glob("*.md"):
        assert folder / ("index.html" if text.name == "README.md" else text.stem + ".html") in pages


def test_site_has_lists(site):
    """No item of a list, and no row of a table, was taken for a line of a paragraph."""
    pages, folder = site
    wrong = [f"{path.relative_to(folder)}: {line}" for path, page in pages.items() for paragraph in page.paragraphs
             for line in paragraph.splitlines()[1:] if re.match(r"(-|\d\.|\|) ", line)]
    assert not wrong
