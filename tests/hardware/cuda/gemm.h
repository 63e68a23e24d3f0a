// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sptc::hardware {

/// Arguments of one launch of an own GEMM kernel: memory of the GPU. Extents are padded to whole
/// tiles and stages (padded_extents).
struct GemmLaunch {
  const std::uint8_t* a = nullptr;          ///< [m][bytes along K, as stored]
  const std::uint8_t* b = nullptr;          ///< [n][bytes along K]
  const std::uint32_t* metadata = nullptr;  ///< [m / 16][steps][32 lanes]: mma.sp, selector 0
  std::uint32_t* d = nullptr;               ///< [m][n] f32 or s32
  int m = 0, n = 0;
  int steps = 0;  ///< instructions along K
};

/// One own kernel: instruction and sparsity.
struct OwnKernel {
  std::string dtype;  ///< "f16", "bf16", "s8", "e4m3"
  bool sparse = false;
  std::string ptx;
  std::string description;  ///< tile, stages, instruction
  int first_arch = 0;       ///< __CUDA_ARCH__ / 10: 80, 89
};
std::vector<OwnKernel> own_kernels();

inline constexpr int kGemmTile = 128;       ///< m and n of the kernels are multiples of it
inline constexpr int kGemmStepsAtOnce = 2;  ///< steps are a multiple of it

/// Launches kernel number `index` of own_kernels() on the default stream. Throws std::runtime_error
/// where the launch fails; errors of the execution surface at the next synchronisation.
void launch_gemm(std::size_t index, const GemmLaunch& launch);

}  // namespace sptc::hardware
