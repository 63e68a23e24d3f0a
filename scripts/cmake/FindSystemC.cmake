# SPDX-License-Identifier: Apache-2.0
# Finds SystemC and defines the imported target SystemC::systemc.
#
# A SystemC build that ships its own CMake package is preferred. Debian's libsystemc-dev 2.3.4 ships none, and its
# library was compiled as C++17: the headers pin the language level into a symbol name (sc_api_version_*), so a C++20
# program does not link unless it is told which level the *library* has. SC_CPLUSPLUS does exactly that and, unlike
# SC_DISABLE_API_VERSION_CHECK, keeps the rest of the version check.
find_package(SystemCLanguage CONFIG QUIET)
if(SystemCLanguage_FOUND AND TARGET SystemC::systemc)
  set(SystemC_FOUND TRUE)
  return()
endif()

find_path(SystemC_INCLUDE_DIR NAMES systemc HINTS ENV SYSTEMC_HOME PATH_SUFFIXES include)
find_library(SystemC_LIBRARY NAMES systemc HINTS ENV SYSTEMC_HOME PATH_SUFFIXES lib lib-linux64)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SystemC REQUIRED_VARS SystemC_LIBRARY SystemC_INCLUDE_DIR)

if(SystemC_FOUND AND NOT TARGET SystemC::systemc)
  find_package(Threads REQUIRED)
  add_library(SystemC::systemc UNKNOWN IMPORTED)
  set_target_properties(SystemC::systemc PROPERTIES
    IMPORTED_LOCATION "${SystemC_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${SystemC_INCLUDE_DIR}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${SystemC_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "SC_CPLUSPLUS=201703L"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
mark_as_advanced(SystemC_INCLUDE_DIR SystemC_LIBRARY)
