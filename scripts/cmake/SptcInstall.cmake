# SPDX-License-Identifier: Apache-2.0
# cmake --install: the program with configs/ and traces/, and the C++ API. Other projects find it with
# find_package(sptcsim) and link sptcsim::values, sptcsim::estimate or sptcsim::simulate, or ask pkg-config for
# sptcsim-values, sptcsim-estimate or sptcsim-simulate. Libraries of models/ are there one by one, too: sptc::mma, ...
include(CMakePackageConfigHelpers)

# All sptc_ libraries that `target` links, itself first, and after them what is not ours.
function(sptc_link_closure target libraries others)
  set(own ${target})
  set(foreign "")
  set(todo ${target})
  while(todo)
    list(POP_FRONT todo next)
    get_target_property(links ${next} INTERFACE_LINK_LIBRARIES)
    foreach(link IN LISTS links)
      string(REGEX REPLACE "^sptc::" "sptc_" name "${link}")
      if(name MATCHES "^sptc_" AND TARGET ${name})
        # Again at the end: a static library stands after all that need it.
        list(REMOVE_ITEM own ${name})
        list(APPEND own ${name})
        list(REMOVE_ITEM todo ${name})
        list(APPEND todo ${name})
      elseif(link)
        list(APPEND foreign ${link})
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES foreign)
  set(${libraries} "${own}" PARENT_SCOPE)
  set(${others} "${foreign}" PARENT_SCOPE)
endfunction()

set(sptc_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sptcsim")
set(sptc_config_dir "${CMAKE_INSTALL_DATADIR}/sptcsim/configs")

# sptcsim-<component>.pc: which archives, in which order, and whose packages they need.
function(sptc_pkg_config component description)
  sptc_link_closure(sptc_api_${component} own others)
  set(sptc_pc_libs "")
  foreach(library IN LISTS own)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      string(APPEND sptc_pc_libs " -l${library}")
    endif()
  endforeach()
  set(sptc_pc_requires "")
  foreach(pair "hwy::hwy=libhwy" "fmt::fmt=fmt" "ZLIB::ZLIB=zlib" "LibArchive::LibArchive=libarchive"
               "SQLite::SQLite3=sqlite3" "re2::re2=re2" "SystemC::systemc=systemc")
    string(REPLACE "=" ";" pair "${pair}")
    list(GET pair 0 library)
    list(GET pair 1 package)
    if(library IN_LIST others)
      list(APPEND sptc_pc_requires ${package})
    endif()
  endforeach()
  list(JOIN sptc_pc_requires ", " sptc_pc_requires)
  set(sptc_pc_component ${component})
  set(sptc_pc_description "${description}")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sptcsim.pc.in"
    "${PROJECT_BINARY_DIR}/sptcsim-${component}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/sptcsim-${component}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
sptc_pkg_config(values "Bits of tensor-core instructions and GEMMs, 2:4 sparsity, the catalogue of instructions")
sptc_pkg_config(estimate "Times and energies of GEMMs on tensor cores in closed form")
sptc_pkg_config(simulate "A SystemC simulation of dense and 2:4 sparse GEMMs on GPUs")

# What the API links: all of models/ among it.
sptc_link_closure(sptc_api_simulate sptc_installed sptc_others)
install(TARGETS sptcsim RUNTIME)
install(TARGETS ${sptc_installed} EXPORT sptcsimTargets)
install(EXPORT sptcsimTargets NAMESPACE sptc:: DESTINATION "${sptc_package_dir}")
install(DIRECTORY sim/include/sptcsim DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(DIRECTORY models DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sptcsim"
        FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE)
install(DIRECTORY sim/hardware/memory/plugins/ DESTINATION "${CMAKE_INSTALL_DATADIR}/sptcsim/memory_plugins")
install(DIRECTORY configs traces DESTINATION "${CMAKE_INSTALL_DATADIR}/sptcsim")
set(sptc_completion "${PROJECT_BINARY_DIR}/completion")
if(SPTC_HELP2MAN)
  install(FILES "${sptc_completion}/sptcsim.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endif()
install(FILES "${sptc_completion}/sptcsim.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        RENAME sptcsim)
install(FILES "${sptc_completion}/_sptcsim" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES LICENSE CHANGELOG.md README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# The pages, in their folders: they name each other by their places.
file(GLOB_RECURSE sptc_pages CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" configs/*.md models/*.md sim/*.md
     traces/*.md)
foreach(page ${sptc_pages})
  cmake_path(GET page PARENT_PATH folder)
  install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}")
endforeach()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/sptcsimConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/sptcsimConfig.cmake" INSTALL_DESTINATION "${sptc_package_dir}" PATH_VARS sptc_config_dir)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sptcsimConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sptcsimConfig.cmake" "${PROJECT_BINARY_DIR}/sptcsimConfigVersion.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindSystemC.cmake" "${CMAKE_CURRENT_LIST_DIR}/FindRE2.cmake" DESTINATION "${sptc_package_dir}")
