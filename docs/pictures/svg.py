# SPDX-License-Identifier: MIT
"""Boxes, arrows and labels, as SVG: what draw.py draws with.

A picture is made for a phone: as wide as one, and no text smaller than 11. It follows the reader's colour scheme, and
brings its own background, so that it can be read on any page. What it shows is said in words too (desc)."""
from html import escape

WIDTH = 380
SMALL, NORMAL = 11, 12  # sizes of text
# name: (light, dark). The last four tell threads, blocks or arrays apart; each box also has a text that does.
FILLS = {
    "paper": ("#ffffff", "#16181d"),
    "idle": ("#e9edf1", "#2b313a"),
    "waste": ("#f4bdb6", "#75332f"),
    "work": ("#2563c9", "#6ea8ff"),
    "none": ("none", "none"),
    "a": ("#cfe3ff", "#1f4b86"),
    "b": ("#ffdcb5", "#75470f"),
    "c": ("#cdeccf", "#1f5c30"),
    "d": ("#ead3f6", "#5d3578"),
}
INKS = {"ink": ("#1f2328", "#e8eaed"), "soft": ("#57606a", "#a3adb8")}
STROKES = {"line": ("#8a939c", "#7b8590"), "strong": ("#1f2328", "#e8eaed")}


def style():
    def rules(scheme):
        return "".join([f".{name}{{fill:{pair[scheme]}}}" for name, pair in (FILLS | INKS).items()] +
                       [f".{name}{{stroke:{pair[scheme]}}}" for name, pair in STROKES.items()] +
                       [f".head{{fill:{STROKES['line'][scheme]}}}"])
    return ("<style>text{font:12px system-ui,sans-serif}.small{font-size:11px}.bold{font-weight:600}"
            ".line,.strong{fill:none}.line{stroke-width:1}.strong{stroke-width:2}.dashed{stroke-dasharray:4 3}"
            f"{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}</style>")


def number(x):
    """At most two places, so that a picture is the same bytes everywhere."""
    return f"{x:.2f}".rstrip("0").rstrip(".")


class Picture:
    def __init__(self, title, desc):
        self.title, self.desc, self.parts, self.bottom = title, " ".join(desc.split()), [], 0

    def inside(self, left, top, right, bottom):
        assert 0 <= left and right <= WIDTH and 0 <= top, f"{self.title}: out of the picture: {left} to {right}, {top}"
        self.bottom = max(self.bottom, bottom)

    def label(self, x, y, text, anchor="start", kind="ink", size=NORMAL, bold=False):
        """y is the middle of the line."""
        width = len(str(text)) * size * (0.6 if bold else 0.56)  # of most fonts, this or less
        left = x - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        self.inside(left, y - size / 2, left + width, y + size / 2)
        names = kind + " small" * (size == SMALL) + " bold" * bold
        self.parts.append(f'<text class="{names}" x="{number(x)}" y="{number(y + size * 0.36)}" '
                          f'text-anchor="{anchor}">{escape(str(text))}</text>')

    def heading(self, x, y, text):
        self.label(x, y, text, bold=True)

    def box(self, x, y, width, height, fill="paper", text="", outline="", size=SMALL):
        self.inside(x, y, x + width, y + height)
        self.parts.append(f'<rect class="{fill}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
                          f'height="{number(height)}"/>')
        if outline:
            self.parts.append(f'<rect class="{outline}" x="{number(x)}" y="{number(y)}" '
                              f'width="{number(width)}" height="{number(height)}"/>')
        if text != "":
            self.label(x + width / 2, y + height / 2, text, "middle", size=size)

    def line(self, x1, y1, x2, y2, kind="line"):
        self.inside(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        self.parts.append(f'<path class="{kind}" d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"/>')

    def arrow(self, x1, y1, x2, y2):
        """With a head at the second end."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        u, v = (x2 - x1) / length, (y2 - y1) / length
        self.line(x1, y1, x2 - 5 * u, y2 - 5 * v)
        corners = [(x2, y2), (x2 - 7 * u - 3 * v, y2 - 7 * v + 3 * u), (x2 - 7 * u + 3 * v, y2 - 7 * v - 3 * u)]
        self.parts.append('<path class="head" d="M' + "L".join(f"{number(x)} {number(y)}" for x, y in corners) + 'Z"/>')

    def svg(self):
        height = number(self.bottom + 10)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                f'height="{height}" role="img" aria-labelledby="title desc">\n'
                f'<title id="title">{escape(self.title)}</title>\n<desc id="desc">{escape(self.desc)}</desc>\n'
                f'{style()}\n<rect class="paper" width="{WIDTH}" height="{height}"/>\n' +
                "\n".join(self.parts) + "\n</svg>\n")
