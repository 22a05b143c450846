# SPDX-License-Identifier: MIT
"""Builds tests/install by CMake, and runs its program on the CPU device."""
from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain


class Stranger(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        self.folders.root = "../.."
        self.folders.source = "tests/install"
        self.folders.build = self.folders.generators = "build/conan"

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        self.run(f'"{self.build_folder}/sum"')
