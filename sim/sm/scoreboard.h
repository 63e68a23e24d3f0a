// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "sim/isa/warp_instruction.h"

#include <array>
#include <bitset>
#include <cstdint>

namespace sptc::sim {

/// Register dependences of one warp: an instruction may issue when nothing that it reads or writes
/// is still being written, and nothing that it writes is still to be read.
class Scoreboard {
 public:
  static constexpr int kRegisters = 256;

  bool can_issue(const WarpInstruction& instruction) const {
    if (idle()) {  // sources are read before the result is written
      return true;
    }
    return none_written(instruction.a) && none_written(instruction.b) &&
           none_written(instruction.c) && none_written(instruction.metadata) &&
           none_written(instruction.d) && none_read(instruction.d);
  }

  void issue(const WarpInstruction& instruction) {
    for (const RegisterRange* range : sources(instruction)) {
      for (int r = range->base; r < range->base + range->count; ++r) {
        ++pending_reads_[index(r)];
      }
    }
    for (int r = instruction.d.base; r < instruction.d.base + instruction.d.count; ++r) {
      pending_writes_.set(index(r));
    }
    outstanding_ += instruction.d.count > 0 || instruction.opcode == Opcode::kStoreShared ? 1 : 0;
  }

  void sources_read(const WarpInstruction& instruction) {
    for (const RegisterRange* range : sources(instruction)) {
      for (int r = range->base; r < range->base + range->count; ++r) {
        ensure(pending_reads_[index(r)] > 0, "a register was read that nobody waits to read");
        --pending_reads_[index(r)];
      }
    }
  }

  /// Its result is there; of a store to shared memory: it is done.
  void written(const WarpInstruction& instruction) {
    for (int r = instruction.d.base; r < instruction.d.base + instruction.d.count; ++r) {
      pending_writes_.reset(index(r));
    }
    --outstanding_;
  }

  /// No instruction of the warp has a result under way.
  bool idle() const { return outstanding_ == 0; }

 private:
  static std::array<const RegisterRange*, 4> sources(const WarpInstruction& instruction) {
    return {&instruction.a, &instruction.b, &instruction.c, &instruction.metadata};
  }
  static std::size_t index(int reg) { return static_cast<std::size_t>(reg); }

  bool none_written(const RegisterRange& range) const {
    for (int r = range.base; r < range.base + range.count; ++r) {
      if (pending_writes_[index(r)]) {
        return false;
      }
    }
    return true;
  }
  // D may be the C of the same instruction: its own pending read does not count, and has not been
  // entered yet.
  bool none_read(const RegisterRange& range) const {
    for (int r = range.base; r < range.base + range.count; ++r) {
      if (pending_reads_[index(r)] != 0) {
        return false;
      }
    }
    return true;
  }

  std::bitset<kRegisters> pending_writes_;
  std::array<std::uint8_t, kRegisters> pending_reads_{};
  int outstanding_ = 0;
};

}  // namespace sptc::sim
