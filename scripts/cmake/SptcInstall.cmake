# SPDX-License-Identifier: Apache-2.0
# cmake --install: the program with configs/ and traces/, and the libraries of models/ with their headers, which other
# projects find with find_package(sptcsim) and link as sptc::mma, sptc::sparsity, ...
include(CMakePackageConfigHelpers)

get_property(sptc_installed GLOBAL PROPERTY SPTC_INSTALLED_LIBRARIES)
set(sptc_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sptcsim")
install(TARGETS sptcsim RUNTIME)
install(TARGETS sptc_options ${sptc_installed} EXPORT sptcsimTargets)
install(EXPORT sptcsimTargets NAMESPACE sptc:: DESTINATION "${sptc_package_dir}")
install(DIRECTORY models DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sptcsim"
        FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE)
install(DIRECTORY configs traces DESTINATION "${CMAKE_INSTALL_DATADIR}/sptcsim")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/sptcsimConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/sptcsimConfig.cmake" INSTALL_DESTINATION "${sptc_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sptcsimConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sptcsimConfig.cmake" "${PROJECT_BINARY_DIR}/sptcsimConfigVersion.cmake"
        DESTINATION "${sptc_package_dir}")
