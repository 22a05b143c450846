# SPDX-License-Identifier: MIT
"""coarsen for Conan 2: conan create packaging. Only CMake is needed, and nothing is fetched."""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.files import copy


class Coarsen(ConanFile):
    name = "coarsen"
    description = "Thread-coarsened CUDA kernels, a header each"
    license = "MIT"
    topics = ("cuda", "header-only")
    package_type = "header-library"
    no_copy_source = True

    def set_version(self):
        text = Path(self.recipe_folder, "..", "meson.build").read_text()
        self.version = re.search(r"version: '(.*?)'", text)[1]

    def export_sources(self):
        for pattern in "CMakeLists.txt", "LICENSE", "meson.build", "include/*", "packaging/*.in":
            copy(self, pattern, Path(self.recipe_folder).parent, self.export_sources_folder)

    def package(self):
        self.run(f'cmake -S "{self.source_folder}" -B "{self.build_folder}"')
        self.run(f'cmake --install "{self.build_folder}" --prefix "{self.package_folder}"')
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        # find_package(coarsen) reads the package's own coarsen-config.cmake, which has coarsen::simt too.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/coarsen"]
        self.cpp_info.libdirs = []
