# SPDX-License-Identifier: MIT
"""What MkDocs adds to docs/*.md for the site: the README and its like, a reference page for each header of
include/coarsen, made of the comment on its top, and pages with the sources that some page links to. None of these is
kept in the repository. Links to files of the repository become links to their pages."""
import os
import posixpath
import re
import textwrap
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "coarsen"
TEXTS = {"README.md": "project.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LANGUAGES = {".h": "cuda", ".cuh": "cuda", ".cu": "cuda", ".c": "c", ".cpp": "cpp", ".py": "python", ".build": "meson",
             ".yml": "yaml", ".json": "json", ".cmake": "cmake"}
# The pages of patterns whose headers are not in a folder of that name.
STORIES = {"arg.h": "reduce", "moments.h": "fuse", "merge_sort.h": "sort", "sort_segments.h": "sort"}
LINK = re.compile(r"(\]\()([^)#\s]*)(#[^)\s]*)?(\))")


# ---- Where a file of the repository is on the site ---------------------------------------------------


def page_of(path):
    """The site's source path of a file or folder of the repository, given from its root."""
    if path in TEXTS:
        return TEXTS[path]
    if path.startswith("docs/") and not path.endswith(".py"):
        return path.removeprefix("docs/")
    folder = (ROOT / path).is_dir()
    if path == "include/coarsen" or path.startswith("include/coarsen/"):
        page = "reference" + path.removeprefix("include/coarsen")
    else:
        page = "source/" + path
    return page + ("/index.md" if folder else ".md")


def repository_links(text, path):
    """(match, path from the root) of the links in a file of the repository to files and folders there."""
    for match in LINK.finditer(text):
        if match[2] and "://" not in match[2]:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))
            if not target.startswith("..") and (ROOT / target).exists():
                yield match, target


def with_links(text, path):
    """The text of a file of the repository, its links as they are from its page on the site."""
    here = posixpath.dirname(page_of(path))
    parts, end = [], 0
    for match, target in repository_links(text, path):
        page = page_of(target)
        anchor = match[3] or ""
        if page.startswith("source/"):
            anchor = ""  # of a line, perhaps
        parts += [text[end:match.start()], match[1], posixpath.relpath(page, here or "."), anchor, match[4]]
        end = match.end()
    return "".join(parts) + text[end:]


def with_lists(text):
    """What belongs to an item of a list is indented by 2 in the texts here (3 after a number), as GitHub has it; Python's
    Markdown takes 4."""
    made, begin, more, fenced = [], 0, 0, False  # of the item that this line may belong to, and the spaces to add
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        item = None if fenced else re.match(r"(-|\d+\.) ", line)
        if item:
            if more and made[-1] and "" in made[begin:]:
                made.append("")
            more, begin = 4 - len(item[0]), len(made)
        elif line and not line.startswith(" "):
            more = 0
        made.append(" " * more + line if line and not item else line)
    return "\n".join(made) + "\n"


def children(folder):
    return sorted((path for path in folder.iterdir() if not path.name.startswith((".", "__"))),
                  key=lambda path: (path.is_dir(), path.name))


def is_text(path):
    try:
        return "\0" not in path.read_text()
    except (OSError, UnicodeDecodeError):
        return False


# ---- A header's manual ------------------------------------------------------------------------------


def comment_of(text):
    """The lines of the comment on top of a header, without their slashes; and how many lines it has."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[3:] if line.startswith("// ") else line[2:])
    return lines[2:], len(lines)  # the first two: the licence, and nothing


def escape(text):
    text = re.sub(r"([\\`_\[\]#]|(?<!\*)\*(?!\*))", r"\\\1", text)
    return text.replace("<", "&lt;").replace("|", "&#124;")


NAMES = re.compile(r"(?P<header>(?<![\w./])[\w./]+\.h\b)|`(?P<quoted>[^`]+)`|"
                   r"\b(?:NAME|COARSEN)_\w*(?:\([^()]*\))?|\b[A-Z]+(?:_[A-Z]+)+\b|\bcuda[A-Z]\w+|\b__\w+\b|"
                   r"\b\w+(?:\[[^\]]+\])+")


def prose(text, header):
    """As Markdown: names of code as code, and names of headers as links."""
    here, parts, end = posixpath.dirname(header), [], 0
    for match in NAMES.finditer(text):
        if match["header"]:
            name = match["header"].removeprefix("coarsen/")
            found = [path for path in (posixpath.normpath(posixpath.join(here, name)), name)
                     if path != header and (INCLUDE / path).is_file()]
            link = posixpath.relpath(found[0] + ".md", here or ".") if found else ""
            made = f"[{escape(match[0])}]({link})" if found else escape(match[0])
        else:
            made = f"`{match['quoted'] or match[0]}`"
        parts += [escape(text[end:match.start()]), made]
        end = match.end()
    return "".join(parts) + escape(text[end:])


def table_row(line, header):
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if set("".join(cells)) <= set("-: "):
        return line
    name, default, *meaning = cells
    if name != "parameter":
        name = f"`{name}`"
        if " " in default or default in ("required", "none", "undefined"):
            default = prose(default, header)
        else:
            default = f"`{default}`"
    return f"| {name} | {default} | {prose(' | '.join(meaning), header)} |"


def manual(lines, header):
    """The comment as Markdown: paragraphs, examples and lists as code, tables."""
    made, kind, block = [], "", []

    def end():
        """Of a paragraph or of code: what is in the block."""
        if block and kind == "prose":
            made.extend([prose(" ".join(block), header), ""])
        elif block and kind == "code":
            code = textwrap.dedent("\n".join(block)).rstrip()
            language = "cuda" if re.search(r"#define|#include|;|\w\(\w* \*|COARSEN_\w+ ", code) else "text"
            made.extend([f"```{language}", code, "```", ""])
        block.clear()

    for at, line in enumerate(lines):
        following = next((later for later in lines[at:] if later), "")
        if line.startswith("  ") or (not line and kind == "code" and following.startswith("  ")):
            now = "code"
        elif line.startswith("|"):
            now = "table"
        else:
            now = "prose" if line else ""
        # The formula on top, and what begins with "Errors: ", "Price saved: ", "in: ", are paragraphs of their own.
        formula = now == "prose" and "" not in lines[:at] and re.match(r"[\w\[\]]+ = (?:[^.]|\.\.\.)*$", line)
        labelled = now == "prose" and block and block[-1].endswith(".") and re.match(r"[\w ,]{1,30}: ", line)
        if now != kind or formula or labelled:
            end()
            made += [""] * (kind == "table")
        kind = now
        if formula:
            made += ["```text", line, "```", ""]
        elif now == "table":
            made.append(table_row(line, header))
        else:
            block.append(line)
    end()
    return "\n".join(made)


def story_of(header):
    """The page of docs/ that tells of a header, or None."""
    name = header.split("/")[0]
    page = STORIES.get(name, name.removesuffix(".h"))
    return page + ".md" if (ROOT / "docs" / (page + ".md")).is_file() else None


def tables(header):
    """[(header, {parameter: row})] of the headers that a header takes its parameters from: itself, and what it
    includes if COARSEN_NAME is none of its own."""
    text = (INCLUDE / header).read_text()
    rows = [line for line in comment_of(text)[0] if line.startswith("|")]
    found = [(header, {row.split("|")[1]: row for row in rows})] if rows else []
    if any(row.startswith("| COARSEN_NAME") for row in rows):
        return found
    for inner in re.findall(r'^#include "(.*)"', text, re.M):
        found += tables(posixpath.normpath(posixpath.join(posixpath.dirname(header), inner)))
    return found


def reference_page(header):
    """header: its path from include/coarsen."""
    text = (INCLUDE / header).read_text()
    lines, length = comment_of(text)
    lines[0] = lines[0].split(": ", 1)[1]
    lines[0] = lines[0][0].upper() + lines[0][1:]
    here = posixpath.dirname(header)
    page = ["# " + escape("coarsen/" + header).replace("/", "/<wbr>"), "", manual(lines, header), ""]
    if found := [of for of in tables(header) if of[0] != header]:
        links = [f"[{escape(inner)}]({posixpath.relpath(inner + '.md', here or '.')})" for inner, _ in found]
        rows = {parameter.strip(): row for _, rows in found for parameter, row in rows.items()}
        page += ["## Parameters", "", f"Those of {' and '.join(links)}.", "",
                 *(table_row(row, header) for row in rows.values()), ""]
    if story_of(header):
        link = posixpath.relpath(story_of(header), posixpath.join("reference", here))
        page += [f"What it is for, and how fast: [{escape(story_of(header).removesuffix('.md'))}]({link}).", ""]
    code = text.splitlines()[length:]
    page += ["## Source { data-search-exclude }", "", "```cuda", *code, "```", ""]
    return "\n".join(page)


def reference_index(folder):
    """The headers of a folder of include/coarsen, each with its first sentence."""
    path = INCLUDE / folder
    page = [f"# {escape('coarsen/' + folder if folder else 'The headers')}", "", "| header | |", "|---|---|"]
    for child in children(path):
        if child.is_dir():
            count = len(list(child.glob("*.h")))
            page.append(f"| [{escape(child.name)}/]({child.name}/index.md) | {count} header{'s' * (count > 1)} |")
        else:
            comment = " ".join(comment_of(child.read_text())[0]).split(": ", 1)[1]
            first = re.split(r"(?<=\.) |  ", comment)[0]
            header = posixpath.normpath(posixpath.join(folder, child.name))
            page.append(f"| [{escape(child.name)}]({child.name}.md) | {prose(first, header)} |")
    return "\n".join(page) + "\n"


# ---- Other sources -----------------------------------------------------------------------------------


def source_page(path):
    language = LANGUAGES.get(Path(path).suffix, "text")
    text = (ROOT / path).read_text()
    fence = "`" * max([4] + [len(ticks) + 1 for ticks in re.findall("`+", text)])
    return f"---\nsearch: {{exclude: true}}\n---\n# {escape(path)}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def source_index(path, pages):
    page = ["---", "search: {exclude: true}", "---", f"# {escape(path)}", ""]
    for child in children(ROOT / path):
        target = page_of(f"{path}/{child.name}")
        name = escape(child.name) + "/" * child.is_dir()
        link = posixpath.relpath(target, posixpath.dirname(page_of(path)))
        page.append(f"- [{name}]({link})" if target in pages else f"- {name}")
    return "\n".join(page) + "\n"


# ---- MkDocs' events ----------------------------------------------------------------------------------


def headers():
    return sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.h"))


def on_config(config):
    """Adds the reference to the navigation: the headers to use, and a section for each folder."""
    def pages(folder):
        inside = [name for name in headers() if posixpath.dirname(name) == folder]
        return [posixpath.join("reference", folder, "index.md")] + [
            {posixpath.basename(name): f"reference/{name}.md"} for name in inside]

    section = pages("")
    for folder in sorted({posixpath.dirname(name) for name in headers()} - {""}):
        section.append({f"{folder}/": pages(folder)})
    config.nav.insert(-1, {"Reference": section})
    return config


def on_files(files, config):
    made = {}
    for path, page in TEXTS.items():
        made[page] = with_lists(with_links((ROOT / path).read_text(), path))
    for header in headers():
        made[f"reference/{header}.md"] = reference_page(header)
    for folder in {posixpath.dirname(name) for name in headers()}:
        made[posixpath.normpath(f"reference/{folder}/index.md")] = reference_index(folder)

    linked = set()
    for path in [*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in TEXTS)]:
        name = str(path.relative_to(ROOT))
        linked |= {target for _, target in repository_links(path.read_text(), name)}
    for path in sorted(linked):
        if (ROOT / path).is_dir():
            linked |= {f"{path}/{child.name}" for child in children(ROOT / path) if child.is_file()}
    pages = {page_of(path): path for path in linked if (ROOT / path).is_dir() or is_text(ROOT / path)}
    for page, path in pages.items():
        if page not in made and page.startswith("source/"):
            made[page] = source_index(path, pages) if (ROOT / path).is_dir() else source_page(path)

    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    for name in "extra.css", "iframe-worker.js":
        files.append(File.generated(config, name, content=(ROOT / "docs/site" / name).read_text()))
    files.append(File.generated(config, "none.svg", content='<svg xmlns="http://www.w3.org/2000/svg"/>'))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.generated_by:
        return markdown
    return with_lists(with_links(markdown, f"docs/{page.file.src_uri}"))
