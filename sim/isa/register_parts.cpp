// SPDX-License-Identifier: Apache-2.0
#include "sim/isa/register_parts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace sptc::sim {
namespace {

/// Of all code of a program but its producer's.
template <typename Visit>
void for_each_range(WarpProgram& program, Visit visit) {
  for (std::vector<WarpInstruction>* code : {&program.prologue, &program.loop, &program.epilogue,
                                             &program.partial_epilogue, &program.fix_up}) {
    for (WarpInstruction& instruction : *code) {
      for (RegisterRange* range : {&instruction.d, &instruction.a, &instruction.b, &instruction.c,
                                   &instruction.metadata}) {
        if (range->count > 0) {
          visit(*range);
        }
      }
    }
  }
}

}  // namespace

WarpProgram with_register_parts(const WarpProgram& program) {
  WarpProgram divided = program;
  std::vector<int> begins;  // of parts, and of what nobody names
  for_each_range(divided, [&](const RegisterRange& range) {
    begins.push_back(range.base);
    begins.push_back(range.base + range.count);
  });
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  const auto part_from = [&](int base) {
    return static_cast<int>(std::lower_bound(begins.begin(), begins.end(), base) - begins.begin());
  };
  for_each_range(divided, [&](RegisterRange& range) {
    range.first_part = part_from(range.base);
    range.parts = part_from(range.base + range.count) - range.first_part;
  });
  divided.register_parts = std::max(1, static_cast<int>(begins.size()));
  if (program.producer != nullptr) {
    divided.producer = std::make_shared<const WarpProgram>(with_register_parts(*program.producer));
  }
  return divided;
}

}  // namespace sptc::sim
