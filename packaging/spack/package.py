# SPDX-License-Identifier: MIT
# Untried. git: where you have coarsen from.
from spack.package import *


class Coarsen(CMakePackage):
    """Thread-coarsened CUDA kernels, a header each."""

    git = "https://example.org/coarsen.git"
    license("MIT")

    version("main", branch="main")

    depends_on("cmake@3.20:", type="build")
