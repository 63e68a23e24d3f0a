// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::kernels {

/// Rows of D of the asynchronous instructions of kernels: of wgmma 64, of tcgen05.mma the 128 of
/// the tensor memory (PTX ISA).
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

  bool is_for(numerics::DataType type) const {
    return types == 0 || (types >> static_cast<int>(type) & 1U) != 0;
  }

  bool operator==(const TileShape&) const = default;
};

/// In which type the partial sums of split-K pass memory, in cuBLAS's words.
enum class ReductionScheme {
  kComputeType,  ///< that of the accumulators
  kOutputType,   ///< that of D
};

/// Where wgmma of dense weights sums products of 8-bit floats, of which its own accumulators lose
/// bits. With 2:4 weights e4m3 takes cuSPARSELt as long as s8: those are not promoted.
enum class Fp8Accumulation {
  kFast,      ///< in them alone
  kPromoted,  ///< after each k-tile they are added to others (CUTLASS: GmmaFP8Accumulation)
};

/// What stands for the GEMM library of a GPU.
struct KernelLibrarySpec {
  /// What the library chooses from, for dense weights and, where that is something else, for dense
  /// integer and for 2:4 ones, and into how many slices of K it cuts them at most.
  std::vector<TileShape> tiles;
  std::vector<TileShape> integer_tiles;
  std::vector<TileShape> sparse_tiles;
  int most_split_k = 16;
  int integer_most_split_k = 16;
  int sparse_most_split_k = 16;
  ReductionScheme f16_reduction_scheme = ReductionScheme::kComputeType;  ///< of f16 operands
  Fp8Accumulation fp8_accumulation = Fp8Accumulation::kFast;
  /// Columns of tiles that CTAs go through together, row after row: 1 is column after column.
  int swizzle = 8;
  int sparse_swizzle = 8;

  const std::vector<TileShape>& tiles_for(bool sparse, bool integer) const {
    const std::vector<TileShape>& special = sparse ? sparse_tiles : integer_tiles;
    return (sparse || integer) && !special.empty() ? special : tiles;
  }
  int most_split_k_for(bool sparse, bool integer) const {
    return sparse ? sparse_most_split_k : integer ? integer_most_split_k : most_split_k;
  }
  int swizzle_for(bool sparse) const { return sparse ? sparse_swizzle : swizzle; }
};

}  // namespace sptc::kernels
