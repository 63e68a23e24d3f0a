// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/throughput.h"
#include "sim/hardware/isa/warp_instruction.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sptc::tensor_core {

/// The banks of a register file as operand fetch meets them, and the registers of A and B that it
/// still has from the instruction before (the reuse cache of Volta and later: Jia et al., arXiv
/// 1804.06826). An instruction starts when every bank that it reads is free.
class RegisterBanks {
 public:
  explicit RegisterBanks(const TensorCoreSpec& spec);

  static constexpr std::size_t kMostBanks = 64;
  static constexpr std::size_t kOperands = 4;

  /// Registers that an instruction of the warp in `slot` needs from the banks.
  struct Demand {
    int slot = 0;
    const isa::WarpInstruction* instruction = nullptr;
    int of_each = 0;  ///< registers of every bank,
    int others = 0;   ///< and single ones, of these banks
    std::array<std::uint8_t, kOperands * kMostBanks> bank_of_other;

    /// Registers that the busiest bank reads.
    int most_of_a_bank() const;

    /// A code that demands share which take as much of every bank; none for one of too many banks.
    std::optional<std::uint64_t> code() const {
      constexpr int kMostOthers = 8;
      constexpr std::uint64_t kCodes = kMostBanks + 1;
      if (others > kMostOthers || of_each > 255) {
        return std::nullopt;
      }
      std::uint64_t code = 0;
      for (int i = 0; i < others; ++i) {
        code = code * kCodes + bank_of_other[static_cast<std::size_t>(i)] + 1;
      }
      return code << 8 | static_cast<std::uint64_t>(of_each);
    }
  };

  /// The demand of `instruction`, if it is the next one to read.
  Demand demand(int slot, const isa::WarpInstruction& instruction) const;
  /// Earliest cycle in which `demand` can be read.
  std::int64_t ready_at(std::int64_t now, const Demand& demand) const;
  void read(std::int64_t now, const Demand& demand);
  /// What is left of that when the banks need not be kept busy: the operand ports keep its
  /// registers.
  void keep(const Demand& demand);
  /// Registers `written` of the warp in `slot` hold something else from here on.
  void overwrite(int slot, const isa::RegisterRange& written);

  template <typename Visitor>
  void visit_backlog(Visitor& visitor) {
    for (base::Throughput& bank : banks_) {
      visitor.unit(bank);
    }
  }

 private:
  /// What an operand port kept.
  struct Kept {
    int slot = -1;
    isa::RegisterRange registers;
  };

  /// The first registers of `range`, so many, need not be read.
  int kept(const Kept& port, int slot, const isa::RegisterRange& range) const;

  std::size_t bank_of(int r) const {
    const bool power_of_two = mask_ != 0 || banks_.size() == 1;
    return power_of_two ? static_cast<unsigned>(r) & mask_ : static_cast<std::size_t>(r) % banks_.size();
  }

  /// Registers of so many next to each other that are not as many of every bank.
  int others_of(int registers) const { return static_cast<int>(bank_of(registers)); }

  int reuse_registers_;
  unsigned mask_;  ///< of a power of two of banks, their number less one; else 0
  std::vector<base::Throughput> banks_;
  Kept a_, b_;
};

}  // namespace sptc::tensor_core
