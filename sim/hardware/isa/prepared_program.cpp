// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/isa/prepared_program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace sptc::isa {
namespace {

/// All code of a program but its producer's.
std::array<std::vector<WarpInstruction>*, 5> sections(WarpProgram& program) {
  return {&program.prologue, &program.loop, &program.epilogue, &program.partial_epilogue, &program.fix_up};
}

template <typename Visit>
void for_each_range(WarpProgram& program, Visit visit) {
  for (std::vector<WarpInstruction>* code : sections(program)) {
    for (WarpInstruction& instruction : *code) {
      for (RegisterRange* range :
           {&instruction.d, &instruction.a, &instruction.b, &instruction.c, &instruction.metadata}) {
        if (range->count > 0) {
          visit(*range);
        }
      }
    }
  }
}

void divide_registers(WarpProgram& program) {
  std::vector<int> begins;  // of parts, and of what nobody names
  for_each_range(program, [&](const RegisterRange& range) {
    begins.push_back(range.base);
    begins.push_back(range.base + range.count);
  });
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  const auto part_from = [&](int base) {
    return static_cast<int>(std::lower_bound(begins.begin(), begins.end(), base) - begins.begin());
  };
  for_each_range(program, [&](RegisterRange& range) {
    range.first_part = part_from(range.base);
    range.parts = part_from(range.base + range.count) - range.first_part;
  });
  program.register_parts = std::max(1, static_cast<int>(begins.size()));
}

void mark_single_parts(std::vector<WarpInstruction>& code) {
  for (WarpInstruction& instruction : code) {
    const auto single = [](const RegisterRange& range) { return range.parts == 1; };
    RegisterRange& metadata = instruction.metadata;
    instruction.in_single_parts = instruction.opcode == Opcode::kMma && single(instruction.d) &&
                                  single(instruction.a) && single(instruction.b) && single(instruction.c) &&
                                  metadata.parts <= 1;
    if (instruction.in_single_parts && metadata.parts == 0) {
      metadata.first_part = instruction.a.first_part;
    }
  }
}

void count_runs(std::vector<WarpInstruction>& code) {
  for (std::size_t i = code.size(); i-- > 0;) {
    const bool goes_on = i + 1 < code.size() && code[i].is_like(code[i + 1]);
    code[i].run = code[i].opcode != Opcode::kMma ? 0 : goes_on ? code[i + 1].run + 1 : 1;
  }
}

}  // namespace

WarpProgram prepared(const WarpProgram& program) {
  WarpProgram result = program;
  divide_registers(result);
  for (std::vector<WarpInstruction>* code : sections(result)) {
    count_runs(*code);
    mark_single_parts(*code);
  }
  if (program.producer != nullptr) {
    result.producer = std::make_shared<const WarpProgram>(prepared(*program.producer));
  }
  return result;
}

}  // namespace sptc::isa
