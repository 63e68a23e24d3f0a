// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <string>
#include <vector>

namespace sptc::hardware {

/// Arguments of one launch of an own GEMM kernel: memory of the GPU. Extents are padded to whole
/// tiles and stages (padded_extents).
struct GemmLaunch {
  const std::uint8_t* a = nullptr;          ///< [m][bytes along K, as stored]
  const std::uint8_t* b = nullptr;          ///< [n][bytes along K]
  const std::uint32_t* metadata = nullptr;  ///< [m / 16][steps][32 lanes]: mma.sp, selector 0
  void* d = nullptr;                        ///< [m][n] of d_type
  int m = 0, n = 0;
  int steps = 0;                                         ///< instructions along K
  numerics::DataType d_type = numerics::DataType::kF32;  ///< one of result_types()
  float s8_scale = 1;                                    ///< what sums are multiplied with that become s8
};

/// One own kernel: instruction and sparsity.
struct OwnKernel {
  std::string library;  ///< "own": mma.sync; "wgmma"
  std::string dtype;    ///< "f16", "bf16", "s8", "e4m3"
  bool sparse = false;
  std::string ptx;
  std::string description;  ///< tile, stages, instruction
  int first_arch = 0;       ///< __CUDA_ARCH__ / 10: 80, 89
  int last_arch = 0;
  /// Throws std::runtime_error where the launch fails; errors of the execution surface at the next
  /// synchronisation.
  void (*launch)(const GemmLaunch& launch, cudaStream_t stream) = nullptr;
};
std::vector<OwnKernel> mma_kernels();
std::vector<OwnKernel> wgmma_kernels();

inline constexpr int kGemmTile = 128;       ///< m and n of the kernels are multiples of it
inline constexpr int kGemmStepsAtOnce = 2;  ///< steps are a multiple of it

}  // namespace sptc::hardware
