// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"

#include <compare>
#include <cstdint>
#include <optional>

namespace sptc::mma {
enum class MmaFamily;
}  // namespace sptc::mma

namespace sptc::kernels {

enum class Decomposition;

/// What a user may ask for at most, beyond what libraries have.
inline constexpr int kMaxStages = 16;
inline constexpr int kMaxSplitK = 64;
inline constexpr int kMaxClusterCtas = 16;
inline constexpr std::int64_t kMaxTileExtent = 1024;

/// Choices a user may force; the heuristic fills the rest.
struct KernelOverrides {
  std::optional<base::GemmShape> cta_tile;  ///< logical k
  std::optional<int> stages;
  std::optional<int> split_k;
  std::optional<Decomposition> decomposition = std::nullopt;
  /// Whether `cta_tile` stands for a pair of kernels, dense and sparse, that stage as many bytes of
  /// A, and its k may be that of the other one.
  bool tile_of_pair = false;
  /// CTAs that share an instruction of tcgen05.mma. Both kinds may have a tile of that size.
  std::optional<int> cta_group = std::nullopt;
  /// Family of the instructions that run: two families may have a tile of that size.
  std::optional<mma::MmaFamily> family = std::nullopt;
  /// Whether to choose among all kernels that fit the SM instead of those of the library: see
  /// kernel_search.h. With `cta_tile` the kernel that a search found, which these tell from others
  /// of that tile.
  bool search = false;
  base::GemmShape warp_tile = {};
  int swizzle = 0, cluster_ctas = 0, ctas_per_sm = 0;
  bool transposed = false;

  auto operator<=>(const KernelOverrides&) const = default;
};

}  // namespace sptc::kernels
