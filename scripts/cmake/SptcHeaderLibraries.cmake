# SPDX-License-Identifier: Apache-2.0
# For SPTC_ONLY_HARDWARE: the libraries of hardware_capture as headers alone, so that the program runs where none of them is
# installed. Highway then has one target, HWY_SCALAR, whose code needs no library.
set(sptc_missing "")
function(sptc_header_library target header package)
  string(MAKE_C_IDENTIFIER "SPTC_${package}_INCLUDE_DIR" directory)
  find_path(${directory} "${header}")
  if(NOT ${directory})
    set(sptc_missing "${sptc_missing} ${header} (${package})" PARENT_SCOPE)
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${${directory}}")
  target_compile_definitions(${target} INTERFACE ${ARGN})
endfunction()

sptc_header_library(nlohmann_json::nlohmann_json nlohmann/json.hpp nlohmann-json3-dev)
sptc_header_library(fmt::fmt fmt/format.h libfmt-dev FMT_HEADER_ONLY=1)
sptc_header_library(CLI11::CLI11 CLI/CLI.hpp libcli11-dev)
sptc_header_library(hwy::hwy hwy/highway.h libhwy-dev HWY_COMPILE_ONLY_SCALAR=1)
if(sptc_missing)
  message(FATAL_ERROR "hardware_capture needs headers that are not here (in brackets the Debian package):${sptc_missing}")
endif()
