# SPDX-License-Identifier: MIT
# Untried. An overlay port, of the sources that it lies in.
set(VCPKG_BUILD_TYPE release) # headers only
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled) # they are in share/cmake/coarsen
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}")
vcpkg_cmake_install()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
