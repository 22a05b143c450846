#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/, as SVG files beside this one (or in --out DIR). A test compares them with these.

What a picture shows is computed by the conditions and indices of the kernel that it explains, at a small size: each
function names the header."""
import argparse
from collections import Counter
from pathlib import Path

from svg import SMALL, Picture

BLOCKS = "abcd"  # a fill for each


# ---- Reduction -------------------------------------------------------------------------------------


def simple_steps(n):
    """reduce/simple.h, one block of n / 2 threads: (name, distance, {thread: element} of those that add) per step."""
    stride = 1
    while stride < n:
        yield stride, stride, {t: 2 * t for t in range(n // 2) if 2 * t + stride < n and 2 * t % (2 * stride) == 0}
        stride *= 2


def convergent_steps(n):
    """reduce/convergent.h, likewise."""
    length = n
    while length > 1:
        half = length - length // 2
        yield half, half, {t: t for t in range(n // 2) if t + half < length}
        length = half


LADDER = (("simple: thread t keeps element 2t", simple_steps, lambda t: 2 * t),
          ("convergent: thread t keeps element t", convergent_steps, lambda t: t))


def reduce_trees():
    n, pitch, size, left = 16, 19, 17, 8
    picture = Picture("The trees of simple.h and convergent.h for 16 elements",
                      """Each step is a row, with a box for each of 8 threads, at the element that it keeps. Of
                      simple.h the threads that still add are 1, then 2, 4 and 8 apart. Of convergent.h they are
                      always the first ones, side by side: 8, 4, 2 and 1 of them. In both, 8 + 4 + 2 + 1 = 15
                      additions.""")
    y = 16
    for name, steps, keeps in LADDER:
        picture.heading(left, y, name)
        y += 14
        for i in range(n):
            picture.box(left + i * pitch, y, size, size, "idle", i)
        picture.label(376, y + size / 2, "elements", "end", "soft", SMALL)
        for stride, distance, active in steps(n):
            row = 38 + 2 * distance  # so that lines that go far do not lie on each other
            for i in active.values():
                centre = left + i * pitch + size / 2
                picture.line(centre, y + size, centre, y + row)
                picture.line(centre + distance * pitch, y + size, centre, y + row)
            y += row
            for t in range(n // 2):
                look = ("a", t, "strong") if t in active else ("idle",)
                picture.box(left + keeps(t) * pitch, y, size, size, *look)
            picture.label(376, y + size / 2, f"stride {stride}", "end", "soft", SMALL)
        y += size + 24
    picture.box(left, y - 8, size, size, "a", "t", "strong")
    picture.label(left + 24, y, "thread t adds")
    picture.box(left + 130, y - 8, size, size, "idle")
    picture.label(left + 154, y, "a thread that does not")
    return picture


def reduce_active():
    n, lane, gap, left, row = 256, 1.85, 3, 46, 13
    right = left + 128 * lane + 3 * gap + 38
    picture = Picture("Which of 128 threads work in each step, for 256 elements",
                      """Each row is a step, of four warps of 32 threads. Of simple.h all four warps have threads at
                      work in the first six steps, ever fewer of each. Of convergent.h whole warps are at work or idle
                      in the first three steps, and only the first warp has threads at work in the last five, where it
                      diverges.""")
    y = 16
    for name, steps, _ in LADDER:
        picture.heading(8, y, name.split(":")[0])
        for x, text in ((left - 8, "stride"), (right, "warps"), (372, "diverge")):
            picture.label(x, y + 16, text, "end", "soft", SMALL)
        y += 26
        lanes = issued = 0
        for stride, _, active in steps(n):
            picture.label(left - 8, y + 5, stride, "end", size=SMALL)
            at_work = [[t in active for t in range(first, first + 32)] for first in range(0, n // 2, 32)]
            for warp, threads in enumerate(at_work):
                x = left + warp * (32 * lane + gap)
                picture.box(x, y, 32 * lane, 10, "waste" if any(threads) else "idle")
                t = 0
                while t < 32:  # neighbours at work as one box
                    end = t
                    while end < 32 and threads[end]:
                        end += 1
                    if end > t:
                        picture.box(x + t * lane, y, (end - t) * lane, 10, "work")
                    t = end + 1
            warps = sum(map(any, at_work))
            lanes, issued = lanes + len(active), issued + 32 * warps
            picture.label(right, y + 5, warps, "end", size=SMALL)
            diverge = sum(any(threads) and not all(threads) for threads in at_work)
            picture.label(372, y + 5, diverge or "-", "end", size=SMALL)
            y += row
        picture.label(left, y + 8, f"{lanes} additions in {issued} lanes: {lanes / issued:.3f}")
        y += 36
    y -= 8
    for x, fill, text in ((8, "work", "adds"), (76, "waste", "idle, and paid for"), (210, "idle", "its warp is idle")):
        picture.box(x, y, 10, 10, fill)
        picture.label(x + 15, y + 5, text, size=SMALL)
    return picture


def reduce_parallelism():
    n, unit, pitch, base = 64, 4, 15, 178
    tree = [len(active) for _, _, active in convergent_steps(n)]
    threads = 8  # reduce/coarsened.h: each adds n / threads elements, then the tree of as many threads
    coarse = [threads] * (n // threads - 1) + [len(active) for _, _, active in convergent_steps(threads)]
    picture = Picture("Additions at the same time, step by step, for 64 elements",
                      f"""With a thread for two elements, the steps have {', '.join(map(str, tree))} additions:
                      {sum(tree)} in {len(tree)} steps, {sum(tree) / len(tree):.1f} on average, with {tree[0]} threads.
                      With {threads} threads of {n // threads} elements each, the steps have
                      {', '.join(map(str, coarse))}: {sum(coarse) / len(coarse):.1f} on average.""")
    for left, steps, name in ((34, tree, "two elements each"), (196, coarse, f"{n // threads} elements each")):
        picture.heading(left - 20, 16, f"{steps[0]} threads,")
        picture.label(left - 20, 31, name)
        for s, count in enumerate(steps):
            picture.box(left + s * pitch, base - count * unit, pitch - 2, count * unit, "a", outline="line")
            picture.label(left + s * pitch + 6.5, base + 9, s + 1, "middle", "soft", SMALL)
        for tick in (8, 16, 32):
            if tick <= steps[0]:
                picture.label(left - 5, base - tick * unit, tick, "end", "soft", SMALL)
        mean = sum(steps) / len(steps)
        right = left + max(len(steps) * pitch, 96)
        picture.line(left, base - mean * unit, right, base - mean * unit, "strong dashed")
        picture.label(right, base - mean * unit - 9, f"mean {mean:.1f}", "end", size=SMALL)
        picture.label(left - 20, base + 28, f"{sum(steps)} additions in {len(steps)} steps:")
        picture.label(left - 20, base + 43, f"{mean / steps[0]:.0%} of the threads' time")
    return picture


# ---- Matrix product --------------------------------------------------------------------------------


def matmul_tiles():
    tile, tiles, phase, row, factor = 20, 4, 1, 2, 4

    def loads(block_factor, blocks):
        """How often the blocks load each tile of M and N in one phase, by matmul/tiled.h and matmul/coarsened.h, and
        which block makes each tile of P. Tiles are of one element: TILE_WIDTH is 1."""
        m, n, p = Counter(), Counter(), {}
        tile_cols = tiles // block_factor
        for block in blocks:
            i, col_start = block // tile_cols, block % tile_cols * block_factor
            m[i, phase] += 1
            for c in range(block_factor):
                n[phase, col_start + c] += 1
                p[i, col_start + c] = block
        return m, n, p

    picture = Picture("Tiles of M and N that blocks load in one phase, tiled and coarsened",
                      """Four tiles of P, side by side. As four blocks they load the same tile of M four times, and
                      four tiles of N: 8 tiles. As one block with a factor of 4 they load the tile of M once, and four
                      tiles of N: 5 tiles.""")
    for left, name, block_factor in ((8, "tiled: 4 blocks", 1), (198, "coarsened: 1 block", factor)):
        per_row = tiles // block_factor
        m, n, p = loads(block_factor, range(row * per_row, (row + 1) * per_row))
        names = {block: k for k, block in enumerate(sorted(set(p.values())))}
        picture.heading(left, 16, name)
        m_top, n_left = 132, left + 92
        picture.label(n_left - 6, 40, "N", "end")
        picture.label(left, m_top - 10, "M")
        picture.label(n_left, m_top - 10, "P")
        for i in range(tiles):
            for j in range(tiles):
                for x, y, counts in ((left, m_top, m), (n_left, 30, n)):
                    fill = "waste" if counts[i, j] > 1 else "c" if counts[i, j] else "idle"
                    picture.box(x + j * tile, y + i * tile, tile - 2, tile - 2, fill,
                                f"{counts[i, j]}x" if counts[i, j] else "")
                made = (i, j) in p
                picture.box(n_left + j * tile, m_top + i * tile, tile - 2, tile - 2,
                            BLOCKS[names[p[i, j]]] if made else "idle",
                            f"{names[p[i, j]] + 1}" if made else "", "strong" if made else "")
        total = sum(m.values()) + sum(n.values())
        picture.label(left, m_top + 96, f"M {sum(m.values())} + N {sum(n.values())} = {total} tiles,")
        picture.label(left, m_top + 111, f"for {len(p)} tiles of P")
    picture.label(8, 268, "A number in P: which block makes the tile.", kind="soft")
    return picture


# ---- Histogram -------------------------------------------------------------------------------------


def partition():
    n, factor, line = 16, 4, 4
    threads, pitch, size, left = n // factor, 22, 20, 14

    def owned_by(element):  # of each thread, its elements in its order
        return [[element(t, k) for k in range(factor)] for t in range(threads)]

    # histogram/contiguous.h and histogram/interleaved.h
    ways = (("contiguous: element t * CFACTOR + k", owned_by(lambda t, k: t * factor + k)),
            ("interleaved: element t + k * threads", owned_by(lambda t, k: t + k * threads)))
    picture = Picture("Contiguous beside interleaved partition",
                      """16 elements in 4 lines of the cache, 4 threads of 4 elements each. Contiguous: each thread has
                      one line for itself, and the first elements of all threads lie in 4 lines. Interleaved: the first
                      elements of all threads lie in one line, and each thread needs all 4 lines.""")
    y = 16
    for name, owned in ways:
        thread_of = {i: t for t, mine in enumerate(owned) for i in mine}
        first = {mine[0] for mine in owned}
        picture.heading(left, y, name)
        y += 16
        for i in range(n):
            picture.box(left + i * pitch, y, size, size, BLOCKS[thread_of[i]], f"t{thread_of[i]}",
                        "strong" if i in first else "")
        for start in range(0, n, line):
            a, b = left + start * pitch, left + (start + line) * pitch - 2
            picture.line(a, y + size + 5, b, y + size + 5)
            picture.label((a + b) / 2, y + size + 14, f"line {start // line}", "middle", "soft", SMALL)
        together = len({i // line for i in first})
        alone = len({i // line for i in owned[0]})
        lines = lambda count: f"{count} line{'s' * (count != 1)}"
        picture.label(left, y + size + 34, f"all threads' first loads (outlined): {lines(together)}")
        picture.label(left, y + size + 50, f"all loads of one thread: {lines(alone)}")
        y += size + 84
    return picture


def private_copies():
    blocks, block_dim, bins = 4, 4, 4
    n, pitch, size, left, step = blocks * block_dim, 22, 20, 14, 96
    bin_of = [(7 * i * i + 3 * i) % 11 % bins for i in range(n)]  # any data
    picture = Picture("One copy of the counters, and a private copy per block",
                      """16 threads in 4 blocks each add one to a counter of 4. With one copy, up to 6 additions meet in
                      a counter. With a copy per block, at most 3 meet in a counter of a copy; then each block adds
                      its copy to the result.""")

    def threads(y):
        for i in range(n):
            picture.box(left + i * pitch, y, size, size, BLOCKS[i // block_dim], bin_of[i])
        picture.label(left, y - 10, "each thread's bin, by blocks", kind="soft", size=SMALL)

    def counter_x(copy, copies, bin):
        width = bins * pitch
        start = left + (n * pitch - copies * width) / 2
        return start + copy * width + bin * pitch

    picture.heading(left, 16, "basic: one copy")
    y = 48
    threads(y)
    whole = Counter(bin_of)
    for i in range(n):
        picture.line(left + i * pitch + 10, y + size, counter_x(0, 1, bin_of[i]) + 10, y + step)
    for bin in range(bins):
        picture.box(counter_x(0, 1, bin), y + step, size, size, "idle", whole[bin], "strong")
    picture.label(left, y + step + 36, f"up to {max(whole.values())} additions take turns at a counter")

    y += step + 66
    picture.heading(left, y, "a private copy per block")
    y += 32
    threads(y)
    copies = [Counter(bin_of[b * block_dim:(b + 1) * block_dim]) for b in range(blocks)]
    met = 0
    for i in range(n):
        picture.line(left + i * pitch + 10, y + size, counter_x(i // block_dim, blocks, bin_of[i]) + 10, y + 62)
    for b, copy in enumerate(copies):
        for bin in range(bins):
            x = counter_x(b, blocks, bin)
            picture.box(x, y + 62, size, size, BLOCKS[b], copy[bin], "strong")
            if copy[bin]:
                met += 1
                picture.line(x + 10, y + 62 + size, counter_x(0, 1, bin) + 10, y + 62 + step)
    for bin in range(bins):
        assert sum(copy[bin] for copy in copies) == whole[bin]
        picture.box(counter_x(0, 1, bin), y + 62 + step, size, size, "idle", whole[bin], "strong")
    picture.label(left, y + 62 + step + 36, f"up to {max(max(c.values()) for c in copies)} take turns in a copy;")
    picture.label(left, y + 62 + step + 52, f"then {met} of {blocks} x {bins} counters are committed")
    return picture


# ---- Stencil ---------------------------------------------------------------------------------------


def halo():
    t, r, cell = 8, 1, 11
    picture = Picture("The halo of tiles that lie side by side, and of one column",
                      """Above, a slice of two tiles of 8 x 8 that lie side by side, with a halo of 1: each loads 10 x
                      10 cells, and two columns are loaded by both. Below, from the side: two cubes, one above the
                      other, load 10 slices each, 20 in all. One block that walks up through both loads 18.""")
    loaded = Counter()
    for block in range(2):  # stencil/tiled.h: tile and halo from -r to t + r
        for y in range(-r, t + r):
            for x in range(block * t - r, (block + 1) * t + r):
                loaded[x, y] += 1
    left, top = 14, 42
    picture.heading(left, 16, "tiled: a slice of two tiles, from above")

    def draw(left, top, cells, inner):
        for (x, y), count in sorted(cells.items()):
            owner = inner(x, y)
            picture.box(left + (x + r) * cell, top + (y + r) * cell, cell - 1, cell - 1,
                        "waste" if count > 1 else "idle" if owner is None else BLOCKS[owner],
                        outline="")

    draw(left, top, loaded, lambda x, y: x // t if 0 <= x < 2 * t and 0 <= y < t else None)
    for block in range(2):
        picture.box(left + (r + block * t) * cell - 0.5, top + r * cell - 0.5, t * cell, t * cell, "none",
                    outline="strong")
    both = sum(count > 1 for count in loaded.values())
    x = left + (2 * t + 2 * r) * cell + 8
    for k, text in enumerate((f"each loads {(t + 2 * r) ** 2} cells", f"for {t * t} results,", f"{both} of them",
                              "by both")):
        picture.label(x, top + 12 + 16 * k, text)

    top += (t + 2 * r) * cell + 26
    picture.heading(left, top, "two cubes, and one column, from the side")
    top += 16
    tall = 2 * t + 2 * r
    cubes, column = Counter(), Counter()
    for block in range(2):
        for z in range(block * t - r, (block + 1) * t + r):
            for x in range(-r, t + r):
                cubes[x, z] += 1
    for z in range(-r, 2 * t + r):  # stencil/coarsened.h with COARSE_FACTOR = 2 t
        for x in range(-r, t + r):
            column[x, z] += 1
    for k, (cells, name, rows) in enumerate(((cubes, "tiled", t), (column, "coarsened", 2 * t))):
        x = left + k * 180
        draw(x, top, cells, lambda cx, z: z // rows if 0 <= cx < t and 0 <= z < 2 * t else None)
        for z in range(0, 2 * t, rows):
            picture.box(x + r * cell - 0.5, top + (z + r) * cell - 0.5, t * cell, rows * cell, "none", outline="strong")
        slices = sum(cells.values()) // (t + 2 * r)
        picture.label(x, top + tall * cell + 12, f"{name}: {slices} slices")
        picture.label(x, top + tall * cell + 28, f"loaded for {2 * t}")
    y = top + tall * cell + 48
    for x, fill, text in ((left, "a", "a block's"), (left + 84, "b", "another's"), (left + 168, "idle", "halo"),
                          (left + 222, "waste", "loaded twice")):
        picture.box(x, y, 10, 10, fill)
        picture.label(x + 15, y + 5, text, size=SMALL)
    return picture


# ---- Fusion ----------------------------------------------------------------------------------------


def fusion():
    picture = Picture("Kernels apart, fused one after the other, and fused side by side",
                      """A map of two arrays and the sum of what it makes: as two kernels the arrays a and b are read, c
                      is written and read again, 16 bytes per element; as one kernel, 8 bytes. A sum and a maximum of
                      one array: as two kernels it is read twice, 8 bytes; as one, once, 4 bytes.""")

    def panel(left, top, name, kernels):
        """kernels: (name, arrays read, arrays written), floats."""
        picture.heading(left, top, name)
        memory, box, width = top + 14, top + 78, 170
        picture.box(left, memory, width, 20, "idle", "memory", "line")
        each, total = width / len(kernels), 0
        for k, (kernel, reads, writes) in enumerate(kernels):
            x = left + k * each
            picture.box(x + 2, box, each - 4, 24, "ab"[k], kernel, "strong")
            for j, (array, read) in enumerate([(a, True) for a in reads] + [(a, False) for a in writes]):
                total += 4
                at = x + each * (j + 1) / (len(reads) + len(writes) + 1)
                picture.arrow(at, memory + 20 if read else box, at, box if read else memory + 20)
                picture.label(at + 4, (memory + 20 + box) / 2, array)
        picture.label(left, box + 38, f"{total} bytes per element")
        picture.label(left, box + 53, f"{len(kernels)} launch{'es' * (len(kernels) > 1)}")

    panel(8, 16, "apart", [("c = a b", "ab", "c"), ("sum of c", "c", "")])
    panel(202, 16, "fused: vertical", [("sum of a b", "ab", "")])
    panel(8, 186, "apart", [("sum of a", "a", ""), ("max of a", "a", "")])
    panel(202, 186, "fused: horizontal", [("sum, max of a", "a", "")])
    return picture


def coarsening():
    n, block_dim, factor = 16, 4, 2
    pitch, size, left = 22, 20, 14

    def owners(elements):
        """{element: (block, thread, tree)} from (block, thread, tree, element)."""
        return {i: (b, t, tree) for b, t, tree, i in elements}

    # reduce/multiblock.h, reduce/coarsened.h and reduce/block_coarsened.h: which thread adds an element, to which tree
    ways = (
        ("the original: 2 blocks", owners(
            (b, t, b, b * 2 * block_dim + k * block_dim + t)
            for b in range(factor) for t in range(block_dim) for k in range(2))),
        ("threads coarsened: 1 block", owners(
            (0, t, 0, k * block_dim + t) for t in range(block_dim) for k in range(2 * factor))),
        ("blocks coarsened: 1 block", owners(
            (0, t, f, f * 2 * block_dim + k * block_dim + t)
            for f in range(factor) for t in range(block_dim) for k in range(2))))
    picture = Picture("Which thread adds which element: the original, threads coarsened, blocks coarsened",
                      """16 elements, blocks of 4 threads. The original has two blocks with a tree of 4 partial sums
                      each. With threads coarsened by 2, one block has one tree of 4, and each thread adds 4 elements.
                      With blocks coarsened by 2, one block has two trees of 4.""")
    y = 16
    for name, owner in ways:
        picture.heading(left, y, name)
        y += 14
        for i in range(n):
            b, t, _ = owner[i]
            picture.box(left + i * pitch, y, size, size, BLOCKS[b], f"t{t}")
        trees = sorted({(b, tree) for b, _, tree in owner.values()})
        leaves = {}
        for k, tree in enumerate(trees):
            for t in range(block_dim):
                leaves[(*tree, t)] = left + (n * pitch * (2 * k + 1) / len(trees) - block_dim * pitch) / 2 + t * pitch
        for i in range(n):
            b, t, tree = owner[i]
            picture.line(left + i * pitch + 10, y + size, leaves[b, tree, t] + 10, y + 52)
        for (b, _, t), x in leaves.items():
            picture.box(x, y + 52, size, size, BLOCKS[b], f"t{t}", "strong")
        each = n // len({(b, t) for b, t, _ in owner.values()})
        picture.label(left, y + 88, f"{each} elements per thread, {len(trees)} tree{'s' * (len(trees) > 1)} "
                      f"and commit{'s' * (len(trees) > 1)}")
        y += 122
    return picture


PICTURES = {
    "reduce-trees": reduce_trees, "reduce-active": reduce_active, "reduce-parallelism": reduce_parallelism,
    "matmul-tiles": matmul_tiles, "histogram-partition": partition, "histogram-copies": private_copies,
    "stencil-halo": halo, "fuse-kernels": fusion, "fuse-coarsening": coarsening,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=Path(__file__).resolve().parent, type=Path, metavar="DIR")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw().svg())


if __name__ == "__main__":
    main()
