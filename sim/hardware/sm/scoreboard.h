// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "sim/hardware/isa/warp_instruction.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace sptc::sm {

/// Register dependences of one warp: an instruction may issue when nothing that it reads or writes is still being
/// written, and nothing that it writes is still to be read. The caller either knows when that will be (pass()) or
/// reports it later (issue(), then sources_read() and written()).
///
/// Instructions are those of a prepared program (isa::prepared()), which divides registers into parts that all
/// instructions name together: the scoreboard follows parts.
class Scoreboard {
 public:
  /// The cycle of what will be reported.
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

  Scoreboard() = default;
  explicit Scoreboard(const isa::WarpProgram& program) : parts_(static_cast<std::size_t>(program.register_parts)) {
    base::ensure(program.register_parts > 0, "a program is not prepared for a scoreboard");
  }

  /// Enters `instruction`, which has been issued: the caller will report when its sources are read, and when its
  /// result is written.
  void issue(const isa::WarpInstruction& instruction) {
    for (const isa::RegisterRange* range : sources(instruction)) {
      for (Part& part : of(*range)) {
        ++part.pending_reads;
      }
    }
    for (Part& part : of(instruction.d)) {
      part.written = kUnknown;
    }
    outstanding_ += counts(instruction) ? 1 : 0;
  }

  /// Reports that the sources of `instruction` are read in cycle `now`.
  void sources_read(const isa::WarpInstruction& instruction, std::int64_t now) {
    for (const isa::RegisterRange* range : sources(instruction)) {
      for (Part& part : of(*range)) {
        base::ensure(part.pending_reads > 0, "a register was read that nobody waits to read");
        --part.pending_reads;
        part.read = std::max(part.read, now);
      }
    }
  }

  /// Reports that the result of `instruction` is there from cycle `now` on, or that a store to shared memory is done.
  void written(const isa::WarpInstruction& instruction, std::int64_t now) {
    for (Part& part : of(instruction.d)) {
      part.written = now;
    }
    --outstanding_;
  }

  /// Enters `instruction`, of which all is known: it will have read its sources by the cycle `sources_read`, and its
  /// result is there from the cycle `written` on.
  void pass(const isa::WarpInstruction& instruction, std::int64_t sources_read, std::int64_t written) {
    last_written_ = std::max(last_written_, written);
    if (instruction.in_single_parts) {
      for (const isa::RegisterRange* range : sources(instruction)) {
        Part& part = first_of(*range);
        part.read = std::max(part.read, sources_read);
      }
      Part& result = first_of(instruction.d);
      result.written = std::max(result.written, written);
      return;
    }
    for (const isa::RegisterRange* range : sources(instruction)) {
      for (Part& part : of(*range)) {
        part.read = std::max(part.read, sources_read);
      }
    }
    for (Part& part : of(instruction.d)) {
      part.written = std::max(part.written, written);
    }
  }

  /// First cycle in which `instruction` may issue, or one that has passed; or kUnknown.
  std::int64_t ready_at(const isa::WarpInstruction& instruction) const {
    std::int64_t ready = 0;
    if (instruction.in_single_parts) {
      for (const isa::RegisterRange* range : sources(instruction)) {
        ready = std::max(ready, first_of(*range).written);
      }
      const Part& result = first_of(instruction.d);
      return std::max({ready, result.written, result.read_by()});
    }
    for (const isa::RegisterRange* range : sources(instruction)) {
      for (const Part& part : of(*range)) {
        ready = std::max(ready, part.written);
      }
    }
    // D may be the C of the same instruction: its own read has not been entered yet.
    for (const Part& part : of(instruction.d)) {
      ready = std::max({ready, part.written, part.read_by()});
    }
    return ready;
  }

  /// First cycle in which what `range` names is there; 0 where it was never written, or kUnknown.
  std::int64_t written_at(const isa::RegisterRange& range) const {
    std::int64_t cycle = 0;
    for (const Part& part : of(range)) {
      cycle = std::max(cycle, part.written);
    }
    return cycle;
  }

  /// Cycle from which on no instruction of the warp has a result under way; or kUnknown.
  std::int64_t idle_at() const { return outstanding_ == 0 ? last_written_ : kUnknown; }

 private:
  struct Part {
    std::int64_t written = 0;  ///< cycle from which on its latest value is there
    std::int64_t read = 0;     ///< cycle by which all have read it whose cycle is known
    int pending_reads = 0;     ///< reads that will be reported

    /// Cycle by which all have read it.
    std::int64_t read_by() const { return pending_reads > 0 ? kUnknown : read; }
  };

  static std::array<const isa::RegisterRange*, 4> sources(const isa::WarpInstruction& instruction) {
    return {&instruction.a, &instruction.b, &instruction.c, &instruction.metadata};
  }
  /// Whether written() will be called for `instruction`.
  static bool counts(const isa::WarpInstruction& instruction) {
    return instruction.d.count > 0 || instruction.opcode == isa::Opcode::kStoreShared;
  }
  const Part& first_of(const isa::RegisterRange& range) const {
    return parts_[static_cast<std::size_t>(range.first_part)];
  }
  Part& first_of(const isa::RegisterRange& range) { return parts_[static_cast<std::size_t>(range.first_part)]; }
  std::span<const Part> of(const isa::RegisterRange& range) const {
    return {parts_.data() + range.first_part, static_cast<std::size_t>(range.parts)};
  }
  std::span<Part> of(const isa::RegisterRange& range) {
    return {parts_.data() + range.first_part, static_cast<std::size_t>(range.parts)};
  }

  std::vector<Part> parts_;
  std::int64_t last_written_ = 0;  ///< latest cycle of a result that is known
  int outstanding_ = 0;            ///< instructions for which written() is still to be called
};

}  // namespace sptc::sm
