// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "sim/isa/warp_instruction.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sptc::sim {

/// From which cycles on the registers of a warp may be used, as far as instructions under way have
/// said it. Instructions name register parts (register_parts.h).
class RegisterTimes {
 public:
  RegisterTimes() = default;
  explicit RegisterTimes(const WarpProgram& program)
      : parts_(static_cast<std::size_t>(program.register_parts)) {
    ensure(program.register_parts > 0, "the registers of a program are not divided into parts");
  }

  /// `instruction` has read its sources by the cycle `sources_read`, and its result is there from
  /// `written` on.
  void pass(const WarpInstruction& instruction, std::int64_t sources_read, std::int64_t written) {
    for (const RegisterRange* range :
         {&instruction.a, &instruction.b, &instruction.c, &instruction.metadata}) {
      for (Part& part : of(*range)) {
        part.read = std::max(part.read, sources_read);
      }
    }
    for (Part& part : of(instruction.d)) {
      part.written = std::max(part.written, written);
    }
    idle_ = std::max(idle_, written);
  }

  /// First cycle in which `instruction` finds its sources written, and in which its result is
  /// neither still to be written nor still to be read by another one.
  std::int64_t ready_at(const WarpInstruction& instruction) const {
    std::int64_t ready = 0;
    for (const RegisterRange* range :
         {&instruction.a, &instruction.b, &instruction.c, &instruction.metadata}) {
      for (const Part& part : of(*range)) {
        ready = std::max(ready, part.written);
      }
    }
    for (const Part& part : of(instruction.d)) {
      ready = std::max({ready, part.written, part.read});
    }
    return ready;
  }

  /// Cycle from which on nothing is under way.
  std::int64_t idle_at() const { return idle_; }

 private:
  struct Part {
    std::int64_t written = 0, read = 0;
  };
  std::span<const Part> of(const RegisterRange& range) const {
    return {parts_.data() + range.first_part, static_cast<std::size_t>(range.parts)};
  }
  std::span<Part> of(const RegisterRange& range) {
    return {parts_.data() + range.first_part, static_cast<std::size_t>(range.parts)};
  }

  std::vector<Part> parts_;
  std::int64_t idle_ = 0;
};

}  // namespace sptc::sim
