# SPDX-License-Identifier: Apache-2.0
# Finds RE2 and defines the imported target re2::re2. A build of RE2 with CMake ships its own package, which is
# preferred; Debian's libre2-dev has none.
find_package(re2 CONFIG QUIET)
if(TARGET re2::re2)
  set(RE2_FOUND TRUE)
  return()
endif()

find_path(RE2_INCLUDE_DIR NAMES re2/re2.h)
find_library(RE2_LIBRARY NAMES re2)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RE2 REQUIRED_VARS RE2_LIBRARY RE2_INCLUDE_DIR)

if(RE2_FOUND AND NOT TARGET re2::re2)
  find_package(Threads REQUIRED)
  add_library(re2::re2 UNKNOWN IMPORTED)
  set_target_properties(re2::re2 PROPERTIES
    IMPORTED_LOCATION "${RE2_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${RE2_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
mark_as_advanced(RE2_INCLUDE_DIR RE2_LIBRARY)
