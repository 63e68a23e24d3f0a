// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/register_map.h"
#include "models/numerics/data_type.h"
#include "sim/hardware/sm/kernel_launch.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/register_allocation.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sptc::sparsity {
struct CompressedMatrix;
}  // namespace sptc::sparsity

namespace sptc::kernels {

struct GemmOperands;

/// The memory of a GEMM kernel: operands packed as the hardware holds them (elements of the storage
/// type along K, zero beyond the edges), metadata as the register words of mma.sp, and D.
class PackedGemm : public sm::CtaMemory {
 public:
  /// `operands`: one per GEMM of the batch. They are packed here and not needed afterwards.
  PackedGemm(const GemmKernel& kernel, const mma::RegisterMap& map, const std::vector<GemmOperands>& operands);

  void load(std::int64_t cta, int warp, const isa::WarpInstruction& instruction, std::int64_t iteration,
            mma::LaneRegister* registers) const override;
  void store(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
             const mma::LaneRegister* registers) override;

  /// D of every GEMM of the batch [m, n], accumulator words.
  std::vector<base::Matrix<numerics::Word>> take_results() { return std::move(results_); }

 private:
  struct PackedOperands {
    base::Matrix<std::uint32_t> a;  ///< [m, words along (compressed) K]
    base::Matrix<std::uint32_t> b;  ///< [n, words along K]
    /// [((warp row * groups per warp + group of fragments) * k-steps + k-step) * registers per
    /// group + register]: sparse only
    std::vector<mma::LaneRegister> metadata;
  };
  /// Where a warp's tile starts, in elements of D.
  struct WarpOrigin {
    std::int64_t batch, row, col;
  };

  PackedOperands pack(const GemmOperands& operands) const;
  std::vector<mma::LaneRegister> pack_metadata(const GemmOperands& operands) const;
  /// Registers of one step whose first row of A is `first_row`, for `fragments` fragments.
  void pack_nibbles(const sparsity::CompressedMatrix& a, std::int64_t first_row, std::int64_t fragments,
                    std::int64_t step, mma::LaneRegister* words) const;
  void pack_indices(const base::Matrix<std::uint8_t>& indices, std::int64_t first_row, std::int64_t fragments,
                    std::int64_t step, mma::LaneRegister* words) const;
  /// Fragment rows of a warp that share metadata registers make a group.
  std::int64_t metadata_groups_per_warp() const {
    return base::ceil_div(kernel_.fragments_m(), rows_per_metadata_register_);
  }
  WarpOrigin origin(std::int64_t cta, int warp) const;

  const GemmKernel& kernel_;
  const mma::RegisterMap& map_;
  int rows_per_metadata_register_;
  std::int64_t metadata_registers_;  ///< of a group of fragments
  std::int64_t k_steps_;             ///< instructions along K, padding included
  std::vector<PackedOperands> operands_;
  std::vector<base::Matrix<numerics::Word>> results_;
};

}  // namespace sptc::kernels
