// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/fragment_layout.h"
#include "models/mma/instruction.h"
#include "models/mma/stage_data.h"
#include "models/sparsity/packed_indices.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sptc::mma {

/// The registers of one instruction, per operand.
struct MmaRegisters {
  const LaneRegister* a;
  const LaneRegister* b;
  const LaneRegister* c;
  const LaneRegister* metadata;  ///< sparse only
  int selector = 0;
};

/// The fragment layouts of one instruction, tabulated: which word of the operand matrices each
/// register of each lane is. Layouts come from FragmentLayout and MetadataRegisterFormat; this only
/// makes walking them quick.
class RegisterMap {
 public:
  explicit RegisterMap(const MmaInstruction& instruction);

  int a_registers() const { return static_cast<int>(a_words_.size()) / kWarpLanes; }
  int b_registers() const { return static_cast<int>(b_words_.size()) / kWarpLanes; }
  int accumulator_registers() const {
    return static_cast<int>(accumulators_.size()) / kWarpLanes / accumulators_per_register_;
  }

  /// Registers to matrix order: what the operand collectors of the hardware do.
  void gather(const MmaRegisters& registers, OperandWords& words) const;

  /// Result words to the registers of D.
  void scatter(const RoundedResults& results, LaneRegister* d) const;
  /// Accumulator registers to matrix order.
  void gather_accumulators(const LaneRegister* registers, std::uint32_t (*words)[kCols]) const;

  /// 32-bit word of a row of A (fragment row, word along K) -> registers.
  template <typename WordAt>
  void load_a(WordAt word_at, LaneRegister* registers) const {
    load(a_words_, kMaxAWords, word_at, registers);
  }
  /// 32-bit word of a column of B (fragment column, word along K) -> registers.
  template <typename WordAt>
  void load_b(WordAt word_at, LaneRegister* registers) const {
    load(b_words_, kMaxBWords, word_at, registers);
  }

 private:
  template <typename WordAt>
  static void load(const std::vector<std::uint16_t>& table, int row_words, WordAt word_at, LaneRegister* registers) {
    for (std::size_t i = 0; i < table.size(); ++i) {
      registers[i / kWarpLanes][i % kWarpLanes] = word_at(table[i] / row_words, table[i] % row_words);
    }
  }

  struct MetadataNibble {
    std::uint8_t lane;
    std::uint8_t shift;
  };

  void gather_metadata(const MmaRegisters& registers, OperandWords& words) const;

  MmaInstruction instruction_;
  std::vector<std::uint16_t> a_words_;      ///< [register][lane] -> row * kMaxAWords + word
  std::vector<std::uint16_t> b_words_;      ///< [register][lane] -> column * kMaxBWords + word
  std::vector<std::uint8_t> accumulators_;  ///< [register][lane][element] -> row * 8 + column
  int accumulators_per_register_ = 1;
  int groups_ = 0;
  std::vector<std::vector<MetadataNibble>> metadata_;  ///< [selector][row * groups + group]
  std::optional<sparsity::PackedIndices> indices_;     ///< of a pattern of one's own
};

}  // namespace sptc::mma
