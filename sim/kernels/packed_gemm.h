// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/register_map.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/register_allocation.h"
#include "sim/sm/kernel_launch.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sptc::kernels {

/// The memory of a GEMM kernel: operands packed as the hardware holds them (elements of the storage
/// type along K, zero beyond the edges), metadata as the register words of mma.sp, and D.
class PackedGemm : public sm::CtaMemory {
 public:
  /// `operands`: one per GEMM of the batch. They are packed here and not needed afterwards.
  PackedGemm(const GemmKernel& kernel, const mma::RegisterMap& map,
             const std::vector<GemmOperands>& operands);

  void load(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
            std::int64_t iteration, mma::LaneRegister* registers) const override;
  void store(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
             const mma::LaneRegister* registers) override;

  /// D of every GEMM of the batch [m, n], accumulator words.
  std::vector<base::Matrix<numerics::Word>> take_results() { return std::move(results_); }

 private:
  struct PackedOperands {
    base::Matrix<std::uint32_t> a;  ///< [m, words along (compressed) K]
    base::Matrix<std::uint32_t> b;  ///< [n, words along K]
    /// [(warp row * registers per warp + register) * k-steps + k-step]: sparse only
    std::vector<mma::LaneRegister> metadata;
  };
  /// Where a warp's tile starts, in elements of D.
  struct WarpOrigin {
    std::int64_t batch, row, col;
  };

  PackedOperands pack(const GemmOperands& operands) const;
  std::vector<mma::LaneRegister> pack_metadata(const sparsity::CompressedMatrix& a) const;
  std::int64_t metadata_registers_per_warp() const;
  WarpOrigin origin(std::int64_t cta, int warp) const;

  const GemmKernel& kernel_;
  const mma::RegisterMap& map_;
  int rows_per_metadata_register_;
  std::int64_t k_steps_;  ///< instructions along K, padding included
  std::vector<PackedOperands> operands_;
  std::vector<base::Matrix<numerics::Word>> results_;
};

}  // namespace sptc::kernels
