# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

set(work "${BUILD}/tests/install/work")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: exit code ${code}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix")
run("${CMAKE_COMMAND}" -S "${SOURCE}/program" -B "${work}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_PREFIX_PATH=${work}/prefix")
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${work}/build/example")
message(STATUS "${output}")

# The program finds its own architectures, not those of the source tree or of whoever runs the tests.
unset(ENV{SPTCSIM_CONFIG_DIR})
run("${work}/prefix/bin/sptcsim" --version)
run("${work}/prefix/bin/sptcsim" arch list)
if(NOT output MATCHES "a100-sxm4-80gb")
  message(FATAL_ERROR "the installed program lists no architectures: ${output}")
endif()
file(RENAME "${work}/prefix/share/sptcsim/configs/a100-sxm4-80gb.json"
     "${work}/prefix/share/sptcsim/configs/renamed.json")
run("${work}/prefix/bin/sptcsim" arch list)
if(NOT output MATCHES "renamed")
  message(FATAL_ERROR "the installed program reads other files than the installed ones: ${output}")
endif()
