// SPDX-License-Identifier: Apache-2.0
#include "models/mma/integer_dot.h"

#include "models/base/error.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace sptc::mma {

using numerics::Word;

Word integer_dot(std::span<const Word> a, std::span<const Word> b, Word c,
                 const MmaInstruction& instruction) {
  base::ensure(a.size() == b.size(), "integer_dot: a and b differ in length");
  std::int64_t sum = numerics::to_integer(c, numerics::DataType::kS32);
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (instruction.a_type == numerics::DataType::kB1) {
      const bool is_and = instruction.bit_operation == BitOperation::kAnd;
      sum += std::popcount(is_and ? a[k] & b[k] : a[k] ^ b[k]);
    } else {
      sum += numerics::to_integer(a[k], instruction.a_type) *
             numerics::to_integer(b[k], instruction.b_type);
    }
  }
  if (instruction.satfinite) {
    using Limits = std::numeric_limits<std::int32_t>;
    sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  }
  return static_cast<Word>(sum);
}

}  // namespace sptc::mma
