#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums of JAX's arrays by coarsen, through the foreign function interface. Checked.

sum.py LIBRARY: made of sum.cu."""
import ctypes
import sys

import jax
import jax.numpy as jnp
import numpy


def load(library):
    """A function that sums an array of float32."""
    handler = ctypes.CDLL(library).sum_f32_handler
    jax.ffi.register_ffi_target("coarsen_sum_f32", jax.ffi.pycapsule(handler), platform="CUDA")
    return jax.jit(jax.ffi.ffi_call("coarsen_sum_f32", jax.ShapeDtypeStruct((), jnp.float32)))


def main(library):
    total, wrong = load(library), 0
    random = numpy.random.default_rng(1)
    for n in 0, 1, 1000, 100003, 5000000:
        whole = random.random(n + 1, numpy.float32) - numpy.float32(0.25)
        for offset in 0, 1:  # a slice is a copy in JAX: there is no pointer that is not aligned
            x = whole[offset:offset + n]
            got = float(total(jnp.asarray(x)))
            exact, every = x.sum(dtype=numpy.float64), abs(x).sum(dtype=numpy.float64)
            right = abs(got - exact) <= 1e-6 * every
            wrong += not right
            print(f"{n:7} floats from {offset}: {got:.9g}, exactly {exact:.9g}: {'right' if right else 'WRONG'}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
