# SPDX-License-Identifier: Apache-2.0
# CUDA kernels of hardware_capture. SPTC_CUDA: AUTO builds them where nvcc is found, ON demands it, OFF leaves them out.
# SPTC_CUDA_TARGETS: the GPUs that code is made for; scripts/hardware_capture.sh sets the one that is present.
set(SPTC_CUDA AUTO CACHE STRING "CUDA kernels of tests/hardware: AUTO (where nvcc is found), ON, OFF")
set_property(CACHE SPTC_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SPTC_CUDA_TARGETS "80;86;89;90a" CACHE STRING "Compute capabilities that the CUDA kernels are compiled for")

set(SPTC_HAS_CUDA FALSE)
if(SPTC_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(SPTC_HAS_CUDA TRUE)
  elseif(NOT SPTC_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "SPTC_CUDA is ON, and nvcc was not found: install a CUDA toolkit or set CUDACXX")
  endif()
endif()
if(NOT SPTC_HAS_CUDA)
  message(STATUS "Hardware kit: no CUDA kernels (SPTC_CUDA=${SPTC_CUDA}, nvcc: ${CMAKE_CUDA_COMPILER}); no test of them")
  target_sources(hardware_capture PRIVATE capture/no_gpu.cpp)
  return()
endif()

list(TRANSFORM SPTC_CUDA_TARGETS APPEND "-real" OUTPUT_VARIABLE architectures)
set(CMAKE_CUDA_ARCHITECTURES ${architectures})
set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  # CMake 3.25 knows no C++20 for the compilers of CUDA 13.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
find_package(CUDAToolkit REQUIRED)
message(STATUS "Hardware kit: CUDA ${CMAKE_CUDA_COMPILER_VERSION}, kernels for ${SPTC_CUDA_TARGETS}")

add_library(sptc_hardware_kernels OBJECT
  cuda/chase_bench.cu cuda/clock_probe.cu cuda/gemm_kernel.cu cuda/gemm_reference.cu cuda/gpu_device.cu cuda/memory_bench.cu cuda/mma_bench.cu
  cuda/mma_bits.cu cuda/wgmma_bench.cu cuda/wgmma_bits.cu cuda/wgmma_gemm.cu)

set_target_properties(sptc_hardware_kernels PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
target_include_directories(sptc_hardware_kernels PRIVATE "${PROJECT_SOURCE_DIR}")

# 177: members of an operation that a target does not have are not referenced in its pass.
target_compile_options(sptc_hardware_kernels PRIVATE -diag-suppress=177 -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # ptxas 13 advises ordered_metadata for every mma.sp; the kit measures both meanings on purpose.
  target_compile_options(sptc_hardware_kernels PRIVATE -Xptxas=-suppress-sparse-mma-advisory-info)
endif()

target_sources(hardware_capture PRIVATE
  cuda/conditioned_launches.cpp cuda/cublaslt.cpp cuda/cuda_timing.cpp cuda/cusparselt.cpp cuda/dynamic_library.cpp
  cuda/gemm_workload.cpp cuda/nvml.cpp)
target_link_libraries(hardware_capture PRIVATE sptc_hardware_kernels CUDA::cudart_static ${CMAKE_DL_LIBS})
set_target_properties(hardware_capture PROPERTIES LINKER_LANGUAGE CXX)

if(SPTC_BUILD_TESTS)
  # A machine with a GPU must answer like one without.
  add_test(NAME hardware.CaptureWithoutAGpuSaysSo
           COMMAND hardware_capture "${CMAKE_CURRENT_BINARY_DIR}/no_gpu_capture")
  set_tests_properties(hardware.CaptureWithoutAGpuSaysSo PROPERTIES
    LABELS hardware ENVIRONMENT CUDA_VISIBLE_DEVICES= PASS_REGULAR_EXPRESSION "hardware_capture: no usable GPU: ")
  find_program(SPTC_CUOBJDUMP cuobjdump HINTS "${CUDAToolkit_BIN_DIR}")
  find_program(SPTC_NVDISASM nvdisasm HINTS "${CUDAToolkit_BIN_DIR}")
  if(SPTC_CUOBJDUMP AND SPTC_NVDISASM)
    find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
    list(TRANSFORM SPTC_CUDA_TARGETS PREPEND "sm_" OUTPUT_VARIABLE sass_targets)
    add_test(NAME hardware.KernelsHoldTheMatrixInstructionsOfTheCatalogue
             COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/check_sass.py" --cuobjdump "${SPTC_CUOBJDUMP}"
                     --program $<TARGET_FILE:hardware_capture> --targets ${sass_targets})
    set_tests_properties(hardware.KernelsHoldTheMatrixInstructionsOfTheCatalogue PROPERTIES LABELS hardware)
  else()
    message(STATUS "Hardware kit: cuobjdump or nvdisasm not found; the check of SASS is not registered")
  endif()
endif()
