// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/operand_files.h"

#include "sim/io/text_file.h"
#include "sim/run/option_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sptc::cli {

check::vectors::BitArray read_batch(const std::string& file) {
  check::vectors::BitArray array = check::vectors::read_bit_array(file);
  if (array.shape.size() == 2) {
    array.shape.insert(array.shape.begin(), 1);
  }
  if (array.shape.size() != 3) {
    io::refuse("{}: must have two axes, or three with the case first, not [{}]", io::printable(file),
               fmt::join(array.shape, ", "));
  }
  return array;
}

check::vectors::MmaOperands OperandFiles::read() const {
  check::vectors::MmaOperands operands;
  operands.a = read_batch(a);
  operands.b = read_batch(b);
  if (!c.empty()) {
    operands.c = read_batch(c);
  }
  return operands;
}

std::optional<check::vectors::MetadataInput> OperandFiles::read_metadata() const {
  if (metadata.empty()) {
    return std::nullopt;
  }
  return check::vectors::MetadataInput{check::vectors::read_bit_array(metadata),
                                       check::vectors::parse_metadata_layout(layout), parsed_selector()};
}

int OperandFiles::parsed_selector() const {
  return static_cast<int>(run::parse_integer("--selector", selector, 0, 3));
}

}  // namespace sptc::cli
