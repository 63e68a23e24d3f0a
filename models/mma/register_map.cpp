// SPDX-License-Identifier: Apache-2.0
#include "models/mma/register_map.h"

#include "models/sparsity/metadata_register.h"

namespace sptc::mma {

RegisterMap::RegisterMap(const MmaInstruction& instruction) : instruction_(instruction) {
  const auto words_of = [](const FragmentLayout& layout, bool columns, int row_words) {
    std::vector<std::uint16_t> table;
    for (int reg = 0; reg < layout.registers(); ++reg) {
      for (int lane = 0; lane < kWarpLanes; ++lane) {
        const FragmentCoordinate first = layout.coordinate({lane, reg, 0});
        const int line = columns ? first.col : first.row;
        const int along_k = columns ? first.row : first.col;
        table.push_back(static_cast<std::uint16_t>(line * row_words + along_k * layout.element_bits / 32));
      }
    }
    return table;
  };
  a_words_ = words_of(fragment_layout(instruction, FragmentOperand::kA), false, kMaxAWords);
  b_words_ = words_of(fragment_layout(instruction, FragmentOperand::kB), true, kMaxBWords);

  const FragmentLayout accumulator = fragment_layout(instruction, FragmentOperand::kAccumulator);
  accumulators_per_register_ = accumulator.elements_per_register();
  for (int reg = 0; reg < accumulator.registers(); ++reg) {
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      for (int i = 0; i < accumulators_per_register_; ++i) {
        const FragmentCoordinate where = accumulator.coordinate({lane, reg, i});
        accumulators_.push_back(static_cast<std::uint8_t>(where.row * kCols + where.col));
      }
    }
  }

  if (instruction.pattern) {
    indices_.emplace(*instruction.pattern, kRows, instruction.compressed_k());
  } else if (instruction.sparse) {
    const auto format = sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
    groups_ = format.groups();
    for (int selector = 0; selector < format.selectors(); ++selector) {
      std::vector<MetadataNibble>& table = metadata_.emplace_back();
      for (int row = 0; row < kRows; ++row) {
        for (int group = 0; group < groups_; ++group) {
          const auto slot = sparsity::metadata_slot(format, selector, {row, group});
          table.push_back({static_cast<std::uint8_t>(slot.lane), static_cast<std::uint8_t>(4 * slot.nibble)});
        }
      }
    }
  }
}

void RegisterMap::gather(const MmaRegisters& registers, OperandWords& words) const {
  std::uint32_t* a = &words.a[0][0];
  for (std::size_t i = 0; i < a_words_.size(); ++i) {
    a[a_words_[i]] = registers.a[i / kWarpLanes][i % kWarpLanes];
  }
  std::uint32_t* b = &words.b[0][0];
  for (std::size_t i = 0; i < b_words_.size(); ++i) {
    b[b_words_[i]] = registers.b[i / kWarpLanes][i % kWarpLanes];
  }
  gather_accumulators(registers.c, words.c);
  if (instruction_.sparse) {
    gather_metadata(registers, words);
  }
}

void RegisterMap::gather_metadata(const MmaRegisters& registers, OperandWords& words) const {
  if (indices_) {
    for (int row = 0; row < kRows; ++row) {
      for (int slot = 0; slot < instruction_.compressed_k(); ++slot) {
        words.indices[row][slot] = indices_->read(registers.selector, row, slot, registers.metadata);
      }
    }
    return;
  }
  const std::vector<MetadataNibble>& table = metadata_[static_cast<std::size_t>(registers.selector)];
  std::size_t i = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int group = 0; group < groups_; ++group) {
      const MetadataNibble& nibble = table[i++];
      words.nibbles[row][group] = static_cast<std::uint8_t>((registers.metadata[0][nibble.lane] >> nibble.shift) & 0xF);
    }
  }
}

void RegisterMap::gather_accumulators(const LaneRegister* registers, std::uint32_t (*words)[kCols]) const {
  std::uint32_t* c = &words[0][0];
  const int bits = 32 / accumulators_per_register_;
  const std::uint32_t mask = 0xFFFFFFFFU >> (32 - bits);
  std::size_t i = 0;
  for (int reg = 0; reg < accumulator_registers(); ++reg) {
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const std::uint32_t word = registers[reg][static_cast<std::size_t>(lane)];
      for (int element = 0; element < accumulators_per_register_; ++element) {
        c[accumulators_[i++]] = (word >> (element * bits)) & mask;
      }
    }
  }
}

void RegisterMap::scatter(const RoundedResults& results, LaneRegister* d) const {
  const std::uint32_t* words = &results.word[0][0];
  const int bits = 32 / accumulators_per_register_;
  std::size_t i = 0;
  for (int reg = 0; reg < accumulator_registers(); ++reg) {
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      std::uint32_t word = 0;
      for (int element = 0; element < accumulators_per_register_; ++element) {
        word |= words[accumulators_[i++]] << (element * bits);
      }
      d[reg][static_cast<std::size_t>(lane)] = word;
    }
  }
}

}  // namespace sptc::mma
