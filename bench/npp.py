#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the folder of NPP (include/ and lib/) if the package nvidia-npp is installed for this python3, or nothing."""

import importlib.util
from pathlib import Path


def folder():
    found = importlib.util.find_spec("nvidia")
    for parent in found.submodule_search_locations if found else []:
        for candidate in sorted(Path(parent).glob("*/include/nppi_filtering_functions.h")):
            root = candidate.parents[1]
            if (root / "lib" / "libnppif.so.13").is_file():
                return root
    return None


if __name__ == "__main__":
    print(folder() or "")
