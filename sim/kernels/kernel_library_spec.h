// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"
#include "sim/kernels/launch_conditions.h"

#include <cstdint>
#include <vector>

namespace sptc::kernels {

/// Rows of D of the asynchronous instructions of kernels: 64 of wgmma, the 128 of the tensor memory
/// of tcgen05.mma (PTX ISA).
constexpr int asynchronous_rows(mma::MmaFamily family) {
  return family == mma::MmaFamily::kTcgen05 ? 128 : 64;
}

/// Tiles of a kernel [elements of D], and what it is made of.
struct TileShape {
  int cta_m = 0, cta_n = 0;
  int warp_m = 0, warp_n = 0;
  mma::MmaFamily family = mma::MmaFamily::kMma;  ///< mma.sync where the SM does not have it
  int cta_group = 1;                             ///< of tcgen05.mma: CTAs that share an instruction
  std::uint32_t types = 0;                       ///< that it is for, one bit each; 0: all
  int cta_k = 0;                                 ///< depth of a k-tile, logical; 0: see fitted_kernel()
  int cluster_ctas = 0;                          ///< 0: as LaunchSpec says
  bool transposed = false;                       ///< computes D^T = B^T A^T: columns of D are rows of the instruction

  bool is_for(numerics::DataType type) const { return types == 0 || (types >> static_cast<int>(type) & 1U) != 0; }

  bool operator==(const TileShape&) const = default;
};

/// The kernel of 2:4 weights that a library takes without a search.
struct DefaultKernel {
  OperandLayout layout;
  std::vector<TileShape> tile;  ///< one, which names its types

  bool operator==(const DefaultKernel&) const = default;
};

/// Kernels that divide the k-tiles of few output tiles, or of a poor last round, evenly among CTAs
/// (cuSPARSELt's segment_k).
struct SegmentK {
  int least_k = 0;                     ///< of a part of a tile, of 8-bit types; 0: there are no such kernels
  int least_k_of_16_bits = 0;          ///< the same of 16-bit types
  int most_of_last_round_percent = 0;  ///< of the SMs that have a tile in the last round
  int sum_bytes_per_cycle = 0;         ///< of partial sums, which a CTA stores and another one adds

  bool operator==(const SegmentK&) const = default;
};

/// What stands for the GEMM library of a GPU.
struct KernelLibrarySpec {
  /// What the library chooses from, for dense weights and, where that is something else, for dense
  /// integer and for 2:4 ones, and into how many slices of K it cuts them at most.
  std::vector<TileShape> tiles;
  std::vector<TileShape> integer_tiles;
  std::vector<TileShape> integer_best_tiles;  ///< those of a search, where it finds others, too
  std::vector<TileShape> sparse_tiles;
  int most_split_k = 16;
  int integer_most_split_k = 16;
  int sparse_most_split_k = 16;
  ReductionScheme f16_reduction_scheme = ReductionScheme::kComputeType;  ///< of f16 operands
  Fp8Accumulation fp8_accumulation = Fp8Accumulation::kFast;
  /// Columns of tiles that CTAs go through together, row after row: 1 is column after column.
  int swizzle = 8;
  int sparse_swizzle = 8;
  SegmentK segment_k;  ///< of 2:4 weights
  std::vector<DefaultKernel> sparse_defaults;

  /// The kernel without a search; null where nobody knows it.
  const DefaultKernel* sparse_default(numerics::DataType type, OperandLayout layout) const {
    for (const DefaultKernel& known : sparse_defaults) {
      if (known.tile.front().is_for(type) && known.layout == layout) {
        return &known;
      }
    }
    return nullptr;
  }

  /// The accumulation of fp8 under `conditions`: theirs, or as the library does.
  Fp8Accumulation accumulation_for(const LaunchConditions& conditions) const {
    return conditions.fp8_accumulation.value_or(fp8_accumulation);
  }

  const std::vector<TileShape>& tiles_for(bool sparse, bool integer, Algorithm algorithm) const {
    const bool searched = algorithm == Algorithm::kBest && !integer_best_tiles.empty();
    const std::vector<TileShape>& special = sparse ? sparse_tiles : searched ? integer_best_tiles : integer_tiles;
    return (sparse || integer) && !special.empty() ? special : tiles;
  }
  int most_split_k_for(bool sparse, bool integer) const {
    return sparse ? sparse_most_split_k : integer ? integer_most_split_k : most_split_k;
  }
  int swizzle_for(bool sparse) const { return sparse ? sparse_swizzle : swizzle; }

  bool operator==(const KernelLibrarySpec&) const = default;
};

}  // namespace sptc::kernels
