#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums of NumPy's arrays on the GPU, by ctypes. Checked.

sum.py LIBRARY: made of sum.cu."""
import ctypes
import sys

import numpy

SIZE, POINTER = ctypes.c_size_t, ctypes.c_void_p
FUNCTIONS = {  # name -> what it returns, what it takes
    "allocate": (ctypes.c_int, ctypes.POINTER(POINTER), SIZE),
    "release": (ctypes.c_int, POINTER),
    "to_device": (ctypes.c_int, POINTER, POINTER, SIZE),
    "to_host": (ctypes.c_int, POINTER, POINTER, SIZE),
    "sum_f32_scratch_bytes": (SIZE, SIZE),
    "sum_f32_scratch_init": (ctypes.c_int, POINTER, SIZE),
    "sum_f32": (ctypes.c_int, POINTER, POINTER, SIZE, POINTER, SIZE),
    "error_text": (ctypes.c_char_p, ctypes.c_int),
}


class Sum:
    """Room on the GPU for arrays of up to `most` float32, and their sums."""

    def __init__(self, library, most):
        self.loaded = ctypes.CDLL(library)
        for name, (result, *arguments) in FUNCTIONS.items():
            function = getattr(self.loaded, name)
            function.restype, function.argtypes = result, arguments
        self.bytes = self.loaded.sum_f32_scratch_bytes(most)
        self.memory = self.allocate(4 * most), self.allocate(4), self.allocate(self.bytes)
        self.call("sum_f32_scratch_init", self.memory[2], self.bytes)  # once

    def call(self, name, *arguments):
        if error := getattr(self.loaded, name)(*arguments):
            raise RuntimeError(f"{name}: {self.loaded.error_text(error).decode()}")

    def allocate(self, size):
        memory = POINTER()
        self.call("allocate", ctypes.byref(memory), size)
        return memory.value

    def load(self, x):
        self.call("to_device", self.memory[0], x.ctypes.data, x.nbytes)

    def __call__(self, first, n):
        """The sum of n of the elements loaded, from that one on."""
        data, out, scratch = self.memory
        got = numpy.empty(1, numpy.float32)
        self.call("sum_f32", data + 4 * first, out, n, scratch, self.bytes)
        self.call("to_host", got.ctypes.data, out, 4)
        return float(got[0])

    def close(self):
        for memory in self.memory:
            self.call("release", memory)


def main(library):
    most, wrong = 1000001, 0
    total = Sum(library, most)
    whole = numpy.random.default_rng(1).random(most, numpy.float32) - numpy.float32(0.25)
    total.load(whole)
    for n in 0, 1, 1000, 100003, 1000000:
        for offset in 0, 1:  # elements: any alignment works
            x = whole[offset:offset + n]
            got, exact, every = total(offset, n), x.sum(dtype=numpy.float64), abs(x).sum(dtype=numpy.float64)
            right = abs(got - exact) <= 1e-6 * every
            wrong += not right
            print(f"{n:7} floats at +{offset}: {got:.9g}, exactly {exact:.9g}: {'right' if right else 'WRONG'}")
    total.close()
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
