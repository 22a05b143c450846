#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums and products of PyTorch's tensors by coarsen: compiled and loaded when the program runs. Checked.

ops.py INCLUDE: coarsen's folder include."""
import sys
from pathlib import Path

import torch
from torch.utils.cpp_extension import load

HERE = Path(__file__).resolve().parent


def ops(include):
    """torch.ops.coarsen, with sum(x) and matmul(m, n)."""
    load(name="coarsen_ops", sources=[str(HERE / "ops.cpp"), str(HERE / "kernels.cu")],
         extra_include_paths=[str(Path(include).resolve())], is_python_module=False)
    return torch.ops.coarsen


def main(include):
    coarsen, wrong = ops(include), 0
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # whichever is the current one
        for n in 0, 1, 1000, 100003, 5000000:
            whole = torch.rand(n + 1, device="cuda") - 0.25
            for offset in 0, 1:  # elements: any alignment works
                x = whole[offset:offset + n]
                got, exact, every = coarsen.sum(x).item(), x.double().sum().item(), x.double().abs().sum().item()
                right = abs(got - exact) <= 1e-6 * every
                wrong += not right
                print(f"sum of {n:7} at +{offset}: {got:.9g}, exactly {exact:.9g}: {'right' if right else 'WRONG'}")
        for rows, cols, inner in (1, 1, 1), (100, 300, 50), (1000, 1000, 1000), (64, 64, 100000), (3, 5, 0):
            whole_m, whole_n = torch.rand(rows, inner + 1, device="cuda"), torch.rand(inner, cols + 3, device="cuda")
            for offset in 0, 1:  # views: rows apart, and not aligned
                m, n = whole_m[:, offset:offset + inner], whole_n[:, offset:offset + cols]
                got, exact = coarsen.matmul(m, n).double(), m.double() @ n.double()
                right = bool((got - exact).abs().max() <= 2e-6 * max(inner, 1))
                wrong += not right
                print(f"{rows} x {inner} by {inner} x {cols} at +{offset}: {'right' if right else 'WRONG'}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
