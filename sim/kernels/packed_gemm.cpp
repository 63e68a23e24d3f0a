// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/packed_gemm.h"

#include "models/base/error.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/packed_indices.h"
#include "sim/kernels/gemm_operands.h"

#include <algorithm>
#include <functional>

namespace sptc::kernels {
namespace {

constexpr int kBitsPerWord = 32;

/// Elements side by side in 32-bit words, `row_words` of them per row.
base::Matrix<std::uint32_t> pack_rows(const base::Matrix<numerics::Word>& elements, int bits, std::size_t row_words) {
  const auto per_word = static_cast<std::size_t>(kBitsPerWord / bits);
  base::Matrix<std::uint32_t> packed(elements.rows(), row_words);
  for (std::size_t row = 0; row < elements.rows(); ++row) {
    const auto source = elements.row(row);
    const auto target = packed.row(row);
    for (std::size_t k = 0; k < source.size(); ++k) {
      target[k / per_word] |= source[k] << (k % per_word * static_cast<std::size_t>(bits));
    }
  }
  return packed;
}

std::uint32_t word_or_zero(const base::Matrix<std::uint32_t>& words, std::int64_t row, std::int64_t word) {
  const bool inside = row < static_cast<std::int64_t>(words.rows());
  return inside ? words(static_cast<std::size_t>(row), static_cast<std::size_t>(word)) : 0;
}

}  // namespace

PackedGemm::PackedGemm(const GemmKernel& kernel, const mma::RegisterMap& map, const std::vector<GemmOperands>& operands)
    : kernel_(kernel),
      map_(map),
      rows_per_metadata_register_(RegisterAllocation(kernel.instruction, 1, 1).rows_per_metadata_register()),
      metadata_registers_(mma::operand_registers(kernel.instruction).metadata),
      k_steps_(kernel.k_tiles() * kernel.k_steps_per_tile()) {
  base::ensure(kernel.split_k == 1, "values travel through kernels that do not cut K");
  base::ensure(static_cast<std::int64_t>(operands.size()) == kernel.problem.batch,
               "one set of operands per GEMM of the batch");
  for (const GemmOperands& gemm : operands) {
    operands_.push_back(pack(gemm));
    results_.emplace_back(static_cast<std::size_t>(kernel.problem.shape.m),
                          static_cast<std::size_t>(kernel.problem.shape.n));
  }
}

PackedGemm::PackedOperands PackedGemm::pack(const GemmOperands& operands) const {
  const base::GemmShape& shape = kernel_.problem.shape;
  const bool sparse = kernel_.instruction.sparse;
  const base::Matrix<numerics::Word>& a = sparse ? operands.compressed_a.values : operands.a;
  const auto a_depth = sparse ? operands.compressed_a.logical_k : operands.a.cols();
  base::ensure(static_cast<std::int64_t>(a.rows()) == shape.m && static_cast<std::int64_t>(a_depth) == shape.k &&
                   static_cast<std::int64_t>(operands.b_columns.rows()) == shape.n &&
                   static_cast<std::int64_t>(operands.b_columns.cols()) == shape.k,
               "operands do not have the shape of the GEMM");
  const int bits = numerics::storage_bits(kernel_.problem.dtype);
  const auto row_words = [&](int elements_per_step) {
    return static_cast<std::size_t>(k_steps_ * elements_per_step * bits / kBitsPerWord);
  };
  PackedOperands packed;
  packed.a = pack_rows(a, bits, row_words(kernel_.instruction.compressed_k()));
  packed.b = pack_rows(operands.b_columns, bits, row_words(kernel_.instruction.shape.k));
  if (sparse) {
    packed.metadata = pack_metadata(operands);
  }
  return packed;
}

std::vector<mma::LaneRegister> PackedGemm::pack_metadata(const GemmOperands& operands) const {
  const std::int64_t groups = metadata_groups_per_warp();
  const std::int64_t rows = kernel_.tiles_m() * kernel_.warps_m() * groups;
  std::vector<mma::LaneRegister> words(static_cast<std::size_t>(rows * k_steps_ * metadata_registers_));
  for (std::int64_t r = 0; r < rows; ++r) {
    // Fragment rows of one warp share registers; those of two warps never do.
    const std::int64_t first_fragment = r % groups * rows_per_metadata_register_;
    const std::int64_t fragments =
        std::min<std::int64_t>(rows_per_metadata_register_, kernel_.fragments_m() - first_fragment);
    const std::int64_t first_row = r / groups * kernel_.warp_tile.m + first_fragment * kernel_.instruction.shape.m;
    for (std::int64_t step = 0; step < k_steps_; ++step) {
      mma::LaneRegister* const place = &words[static_cast<std::size_t>((r * k_steps_ + step) * metadata_registers_)];
      if (kernel_.instruction.pattern) {
        pack_indices(operands.indices, first_row, fragments, step, place);
      } else {
        pack_nibbles(operands.compressed_a, first_row, fragments, step, place);
      }
    }
  }
  return words;
}

void PackedGemm::pack_nibbles(const sparsity::CompressedMatrix& a, std::int64_t first_row, std::int64_t fragments,
                              std::int64_t step, mma::LaneRegister* words) const {
  const auto format = sparsity::metadata_register_format(kernel_.instruction.a_type, kernel_.instruction.shape.k);
  for (int selector = 0; selector < fragments; ++selector) {
    const auto lanes = sparsity::gather_metadata(
        format, selector, a.nibbles, static_cast<std::size_t>(first_row + selector * kernel_.instruction.shape.m),
        static_cast<std::size_t>(step * format.groups()));
    // Lanes that a selector leaves out are zero, so the selectors of a register add up.
    std::transform(words->begin(), words->end(), lanes.begin(), words->begin(), std::bit_or<>());
  }
}

void PackedGemm::pack_indices(const base::Matrix<std::uint8_t>& indices, std::int64_t first_row, std::int64_t fragments,
                              std::int64_t step, mma::LaneRegister* words) const {
  const mma::MmaInstruction& instruction = kernel_.instruction;
  const int kept = instruction.compressed_k();
  const sparsity::PackedIndices packed(*instruction.pattern, instruction.shape.m, kept);
  for (int selector = 0; selector < fragments; ++selector) {
    for (int row = 0; row < instruction.shape.m; ++row) {
      const auto from = static_cast<std::size_t>(first_row + selector * instruction.shape.m + row);
      for (int slot = 0; slot < kept; ++slot) {
        const auto column = static_cast<std::size_t>(step * kept + slot);
        // Beyond the edges a group keeps its first elements, all of them zeros.
        const bool inside = from < indices.rows() && column < indices.cols();
        const auto index = inside ? indices(from, column) : static_cast<std::uint8_t>(slot % instruction.pattern->kept);
        packed.write(selector, row, slot, index, {words, static_cast<std::size_t>(metadata_registers_)});
      }
    }
  }
}

PackedGemm::WarpOrigin PackedGemm::origin(std::int64_t cta, int warp) const {
  const CtaTile tile = kernel_.rasterise(cta);
  return {tile.batch, tile.tile_m * kernel_.cta_tile.m + warp % kernel_.warps_m() * kernel_.warp_tile.m,
          tile.tile_n * kernel_.cta_tile.n + warp / kernel_.warps_m() * kernel_.warp_tile.n};
}

void PackedGemm::load(std::int64_t cta, int warp, const isa::WarpInstruction& instruction, std::int64_t iteration,
                      mma::LaneRegister* registers) const {
  const WarpOrigin warp_origin = origin(cta, warp);
  const PackedOperands& source = operands_[static_cast<std::size_t>(warp_origin.batch)];
  const std::int64_t step = iteration * kernel_.k_steps_per_tile() + instruction.where.k_step;
  switch (instruction.operand) {
    case isa::Operand::kA:
    case isa::Operand::kB: {
      const bool is_b = instruction.operand == isa::Operand::kB;
      const base::Matrix<std::uint32_t>& words = is_b ? source.b : source.a;
      const int each = is_b ? map_.b_registers() : map_.a_registers();
      const auto depth = static_cast<std::int64_t>(words.cols()) / k_steps_;
      for (int reg = 0; reg < instruction.d.count; reg += each) {
        const std::int64_t fragment = (is_b ? instruction.where.col : instruction.where.row) + reg / each;
        const std::int64_t first = is_b ? warp_origin.col + fragment * kernel_.instruction.shape.n
                                        : warp_origin.row + fragment * kernel_.instruction.shape.m;
        const auto word_at = [&](int line, int w) { return word_or_zero(words, first + line, step * depth + w); };
        is_b ? map_.load_b(word_at, registers + reg) : map_.load_a(word_at, registers + reg);
      }
      break;
    }
    case isa::Operand::kMetadata: {
      const std::int64_t group = warp_origin.row / kernel_.warp_tile.m * metadata_groups_per_warp() +
                                 instruction.where.row / rows_per_metadata_register_;
      const auto first =
          source.metadata.begin() + static_cast<std::ptrdiff_t>((group * k_steps_ + step) * metadata_registers_);
      base::ensure(instruction.d.count % metadata_registers_ == 0, "a load of metadata has no whole groups");
      std::copy_n(first, metadata_registers_, registers);
      break;
    }
    case isa::Operand::kPartialSum:
      throw base::InternalError("partial sums carry no values");
  }
}

void PackedGemm::store(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
                       const mma::LaneRegister* registers) {
  const WarpOrigin warp_origin = origin(cta, warp);
  std::uint32_t words[mma::kRows][mma::kCols];
  map_.gather_accumulators(registers, words);
  base::Matrix<numerics::Word>& d = results_[static_cast<std::size_t>(warp_origin.batch)];
  const std::int64_t first_row = warp_origin.row + instruction.where.row * mma::kRows;
  const std::int64_t first_col = warp_origin.col + instruction.where.col * mma::kCols;
  const std::int64_t rows = std::min<std::int64_t>(mma::kRows, kernel_.problem.shape.m - first_row);
  const std::int64_t cols = std::min<std::int64_t>(mma::kCols, kernel_.problem.shape.n - first_col);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      d(static_cast<std::size_t>(first_row + r), static_cast<std::size_t>(first_col + c)) = words[r][c];
    }
  }
}

}  // namespace sptc::kernels
