// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/throughput.h"
#include "sim/isa/warp_instruction.h"
#include "sim/tensor_core/tensor_core_spec.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sptc::sim {

/// The banks of a register file as operand fetch meets them, and the registers of A and B that it
/// still has from the instruction before (the reuse cache of Volta and later: Jia et al., arXiv
/// 1804.06826). An instruction starts when every bank that it reads is free.
class RegisterBanks {
 public:
  explicit RegisterBanks(const TensorCoreSpec& spec);

  /// Earliest cycle in which the registers of `instruction` of the warp in `slot` can be read.
  std::int64_t ready_at(std::int64_t now, int slot, const WarpInstruction& instruction) const;
  /// Reads them from cycle `now` on.
  void read(std::int64_t now, int slot, const WarpInstruction& instruction);

  /// Registers that came from the banks, and that did not have to.
  std::int64_t registers_read() const { return read_; }
  std::int64_t registers_reused() const { return reused_; }

 private:
  /// What an operand port kept.
  struct Kept {
    int slot = -1;
    RegisterRange registers;
  };

  /// Registers of `range` that have to be read, from the first one on that is not kept.
  RegisterRange missing(const Kept& kept, int slot, const RegisterRange& range) const;
  std::array<RegisterRange, 4> missing(int slot, const WarpInstruction& instruction) const;

  std::size_t bank_of(int reg) const { return static_cast<std::size_t>(reg) % banks_.size(); }
  std::size_t next_bank(std::size_t bank) const { return bank + 1 == banks_.size() ? 0 : bank + 1; }

  int reuse_registers_;
  std::vector<Throughput> banks_;
  Kept a_, b_;
  std::int64_t read_ = 0, reused_ = 0;
};

}  // namespace sptc::sim
