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
# Away from the installed program and from the source tree, so that configs/ is found as an installation's.
unset(ENV{SPTCSIM_CONFIG_DIR})
foreach(component values estimate simulate)
  run("${work}/build/${component}")
  message(STATUS "${component}:\n${output}")
  run("${COMPILER}" -std=c++20 -c -x c++ -fsyntax-only "-I${work}/prefix/include" "-I${work}/prefix/include/sptcsim"
      "${work}/prefix/include/sptcsim/${component}.h")
endforeach()
execute_process(COMMAND ldd "${work}/build/estimate" OUTPUT_VARIABLE linked)
if(linked MATCHES "systemc")
  message(FATAL_ERROR "the program that links sptcsim::estimate needs SystemC: ${linked}")
endif()

# The same by pkg-config.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB pc_files "${work}/prefix/lib*/pkgconfig/sptcsim-values.pc" "${work}/prefix/lib/*/pkgconfig/sptcsim-values.pc")
  list(GET pc_files 0 pc_file)
  cmake_path(GET pc_file PARENT_PATH pc_dir)
  foreach(component values estimate simulate)
    run("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${pc_dir}:$ENV{PKG_CONFIG_PATH}"
        sh -c "${COMPILER} -std=c++20 ${FLAGS} ${SOURCE}/program/${component}.cpp -o ${work}/${component}_pc \
               $(pkg-config --cflags --libs sptcsim-${component}) \
               && SPTCSIM_CONFIG_DIR=$(pkg-config --variable=configdir sptcsim-${component}) ${work}/${component}_pc")
  endforeach()
endif()

# What shells complete is there, too.
foreach(file bash-completion/completions/sptcsim zsh/site-functions/_sptcsim
             sptcsim/configs/evidence/a100-pcie-80gb.csv)
  if(NOT EXISTS "${work}/prefix/share/${file}")
    message(FATAL_ERROR "share/${file} was not installed")
  endif()
endforeach()

# A DRAM that somebody else builds against the installed header runs behind the L2 of the installed program.
run("${CMAKE_COMMAND}" -S "${work}/prefix/share/sptcsim/memory_plugins" -B "${work}/plugins" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${work}/prefix")
run("${CMAKE_COMMAND}" --build "${work}/plugins")
run("${work}/prefix/bin/sptcsim" gemm 256 256 256 --variants dense --memory "${work}/plugins/fixed_dram.so")
if(NOT output MATCHES "fixed_dram 1")
  message(FATAL_ERROR "the report does not name the DRAM that was plugged in: ${output}")
endif()

# The program finds its own architectures, not those of the source tree or of whoever runs the tests.
run("${work}/prefix/bin/sptcsim" --version)
run("${work}/prefix/bin/sptcsim" arch list)
if(NOT output MATCHES "a100-sxm4-80gb")
  message(FATAL_ERROR "the installed program lists no architectures: ${output}")
endif()
file(RENAME "${work}/prefix/share/sptcsim/configs/a100-sxm4-80gb.json"
     "${work}/prefix/share/sptcsim/configs/renamed.json")
run("${work}/prefix/bin/sptcsim" arch list --names)
if(NOT output MATCHES "renamed")
  message(FATAL_ERROR "the installed program reads other files than the installed ones: ${output}")
endif()
