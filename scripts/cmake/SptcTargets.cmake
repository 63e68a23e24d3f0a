# SPDX-License-Identifier: Apache-2.0
# One CMake target per folder, all compiled the same way.

include(GNUInstallDirs)
# One build of the libraries serves the program and the Python module. Their functions are not replaced at run time, so
# position independence costs no speed (tests/bench).
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# A compiler cache keeps files that stand alone, and it is the quicker of the two. Clang rejects a precompiled header
# where a macro of the command line differs, GCC only where the header looks at that macro.
if(CMAKE_CXX_COMPILER_LAUNCHER OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
add_library(sptc_options INTERFACE)
set_target_properties(sptc_options PROPERTIES EXPORT_NAME options)
target_compile_features(sptc_options INTERFACE cxx_std_20)
target_include_directories(sptc_options INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/sptcsim>")
# Warnings are ours: who links an installed library chooses their own.
target_compile_options(sptc_options INTERFACE
  "$<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wno-sign-conversion>")
# A name of one file shadows that of another one where both are compiled together.
if(NOT SPTC_UNITY)
  target_compile_options(sptc_options INTERFACE "$<BUILD_INTERFACE:-Wshadow>")
endif()
target_compile_options(sptc_options INTERFACE "$<BUILD_INTERFACE:-fno-semantic-interposition>")
# GCC 12 sees overlapping copies in operator+(const char*, std::string&&) where there are none (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(sptc_options INTERFACE "$<BUILD_INTERFACE:-Wno-restrict>")
  # It sees overflows in std::string that are none, and reports them where a header is precompiled.
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(sptc_options INTERFACE
      "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds>>")
  endif()
endif()
# GCC takes a tenth less time where it collects its garbage less often. A compiler cache keeps its entries.
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  target_compile_options(sptc_options INTERFACE
    "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>>")
endif()
# SystemC 2.3 declares the comparisons of sc_vector's iterators without const: every loop over one is "ambiguous".
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(sptc_options INTERFACE -Wno-ambiguous-reversed-operator)
endif()
if(SPTC_LIBFUZZER)
  target_compile_options(sptc_options INTERFACE "$<BUILD_INTERFACE:-fsanitize=fuzzer-no-link,address;-g1>")
  target_link_options(sptc_options INTERFACE "$<BUILD_INTERFACE:-fsanitize=address>")
endif()
if(SPTC_WERROR)
  target_compile_options(sptc_options INTERFACE "$<BUILD_INTERFACE:-Werror>")
endif()

# sptc_library(<folder target> SOURCES a.cpp ... DEPENDS sptc::other ... [SYSTEMC_SOURCES b.cpp ...] [SYSTEMC_DEPENDS ...])
# defines the library sptc_<name> with the alias sptc::<name>. Without sources it is header-only. A folder with SystemC has
# two: sptc::<name>_plain of SOURCES, which links no SystemC, and sptc::<name>, which adds SYSTEMC_SOURCES.
function(sptc_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;SYSTEMC_SOURCES;SYSTEMC_DEPENDS" ${ARGN})
  if(ARG_SYSTEMC_SOURCES OR ARG_SYSTEMC_DEPENDS)
    sptc_add_library(${name}_plain "${ARG_SOURCES}" "${ARG_DEPENDS}")
    sptc_add_library(${name} "${ARG_SYSTEMC_SOURCES}" "sptc::${name}_plain;${ARG_SYSTEMC_DEPENDS};SystemC::systemc")
  else()
    sptc_add_library(${name} "${ARG_SOURCES}" "${ARG_DEPENDS}")
  endif()
endfunction()

function(sptc_add_library name sources depends)
  if(sources)
    add_library(sptc_${name} STATIC ${sources})
    target_link_libraries(sptc_${name} PUBLIC sptc_options ${depends})
    set_target_properties(sptc_${name} PROPERTIES UNITY_BUILD "${SPTC_UNITY}" UNITY_BUILD_BATCH_SIZE 10)
  else()
    add_library(sptc_${name} INTERFACE)
    target_link_libraries(sptc_${name} INTERFACE sptc_options ${depends})
  endif()
  # Who names one of these libraries has headers to compile that take longer than its own text (sim/CMakeLists.txt).
  if(sources AND "SystemC::systemc" IN_LIST depends)
    target_precompile_headers(sptc_${name} REUSE_FROM sptc_systemc_headers)
  elseif(sources AND "nlohmann_json::nlohmann_json" IN_LIST depends AND TARGET sptc_text_headers)
    target_precompile_headers(sptc_${name} REUSE_FROM sptc_text_headers)
  endif()
  add_library(sptc::${name} ALIAS sptc_${name})
  set_target_properties(sptc_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY SPTC_LIBRARIES sptc_${name})
endfunction()

# sptc_precompiled_headers(<name> DEPENDS fmt::fmt ... HEADERS <a> <b> ...) compiles headers once for the libraries that
# reuse them. A file still includes what it uses: a build with a compiler cache has no precompiled headers.
function(sptc_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;HEADERS" ${ARGN})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(sptc_${name} OBJECT "${source}")
  target_link_libraries(sptc_${name} PRIVATE sptc_options ${ARG_DEPENDS})
  target_precompile_headers(sptc_${name} PRIVATE ${ARG_HEADERS})
endfunction()

# sptc_test(<name> LABEL unit SOURCES a.cpp ... DEPENDS sptc::x ... [SYSTEMC] [APART])
# one GoogleTest executable; every TEST becomes a ctest entry in a process of its own (a SystemC context
# elaborates once). With SYSTEMC the program starts in sc_main. With APART each source is compiled by itself, because
# two of them call different things by one name.
function(sptc_test name)
  cmake_parse_arguments(ARG "SYSTEMC;APART" "LABEL" "SOURCES;DEPENDS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  if(NOT ARG_APART)
    set_target_properties(test_${name} PROPERTIES UNITY_BUILD "${SPTC_UNITY}" UNITY_BUILD_BATCH_SIZE 6)
  endif()
  target_link_libraries(test_${name} PRIVATE sptc_options ${ARG_DEPENDS})
  if(ARG_SYSTEMC)
    target_link_libraries(test_${name} PRIVATE sptc_systemc_main GTest::gtest SystemC::systemc)
  else()
    target_link_libraries(test_${name} PRIVATE GTest::gtest_main)
  endif()
  target_compile_definitions(test_${name} PRIVATE SPTC_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_precompile_headers(test_${name} REUSE_FROM sptc_test_headers)
  gtest_discover_tests(test_${name} TEST_PREFIX "${ARG_LABEL}." DISCOVERY_MODE PRE_TEST
                       # Both limits are for what hangs: the longest test takes a minute on two idle processors, and
                       # those of others may be slow and busy.
                       DISCOVERY_TIMEOUT 120
                       # RapidCheck draws a new seed in every run; a test run must be repeatable.
                       PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 1800 ENVIRONMENT "RC_PARAMS=seed=20261121"
                                  ENVIRONMENT_MODIFICATION "SPTCSIM_CONFIG_DIR=unset:")
endfunction()
