#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums of CuPy arrays by coarsen's kernel: CuPy compiles it when the program runs. Checked.

sum.py INCLUDE: coarsen's folder include."""
import sys

import cupy
import numpy

BLOCK_DIM, COARSE_FACTOR = 512, 4  # threads per block; vectors per thread
SOURCE = f"""
#define COARSEN_NAME    sum_f32
#define COARSEN_TYPE    float
#define COARSEN_LINKAGE extern "C" // so that get_function finds it
#define BLOCK_DIM       {BLOCK_DIM}
#define COARSE_FACTOR   {COARSE_FACTOR}
#include <coarsen/reduce.h>
"""


class Sum:
    def __init__(self, include):
        module = cupy.RawModule(code=SOURCE, options=(f"-I{include}", "--std=c++17"))
        self.kernel = module.get_function("sum_f32_kernel")
        device = cupy.cuda.Device()
        # What sum_f32_plan says where there is a runtime: no more blocks than the GPU holds at once, of which each
        # takes tiles in turn; and a scratch of 16 bytes, and 8 per block, zeros before the first launch.
        resident = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(self.kernel.kernel.ptr, BLOCK_DIM, 0)
        self.wave = device.attributes["MultiProcessorCount"] * resident
        self.scratch = cupy.zeros(2 + self.wave, cupy.uint64)  # for one stream

    def __call__(self, x):
        """The sum of a one-dimensional array of float32 without gaps, on the current stream; a scalar array."""
        assert x.dtype == cupy.float32 and x.flags.c_contiguous
        out = cupy.empty((), cupy.float32)
        tile = COARSE_FACTOR * BLOCK_DIM  # vectors, of 4 floats each
        blocks = min(x.size // (4 * tile) + 1, self.wave)
        self.kernel((blocks,), (BLOCK_DIM,), (x, out, numpy.uint64(x.size), numpy.uint32(tile), self.scratch))
        return out


def main(include):
    total, wrong = Sum(include), 0
    for n in 0, 1, 1000, 100003, 5000000:
        whole = cupy.random.random(n + 1, dtype=cupy.float32) - cupy.float32(0.25)
        for offset in 0, 1:  # elements: any alignment works
            x = whole[offset:offset + n]
            got, exact, every = float(total(x)), float(x.sum(dtype=cupy.float64)), float(abs(x).sum(dtype=cupy.float64))
            right = abs(got - exact) <= 1e-6 * every
            wrong += not right
            print(f"{n:7} floats at +{offset}: {got:.9g}, exactly {exact:.9g}: {'right' if right else 'WRONG'}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
