// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/pattern.h"

#include "models/base/error.h"
#include "models/base/text.h"

#include <bit>
#include <string>
#include <vector>

namespace sptc::sparsity {

int Pattern::metadata_bits() const {
  if (candidates() == 2 && choices() == 1) {  // 2:4 of half elements
    return 4;
  }
  return choices() * static_cast<int>(std::bit_width(static_cast<unsigned>(candidates() - 1)));
}

Pattern hardware_pattern(numerics::DataType type) {
  if (!numerics::is_operand_type(type)) {
    const std::vector<std::string_view> allowed = numerics::operand_type_names();
    throw base::InputError("no N:M pattern for the accumulator type " +
                           base::unknown_name(numerics::name(type), allowed));
  }
  const int bits = numerics::storage_bits(type);
  if (bits == 32) {
    return {.kept = 1, .group = 2, .run = 1};
  }
  if (bits == 4) {
    return {.kept = 4, .group = 8, .run = 2};
  }
  return {.kept = 2, .group = 4, .run = 1};
}

}  // namespace sptc::sparsity
