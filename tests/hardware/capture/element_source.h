// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/random.h"
#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sptc::hardware {

/// What a case is about. The first ten are the categories of the published sets.
enum class Category {
  kUniformBits,
  kNormal,
  kNarrowExponents,
  kCancellation,
  kSubnormalAndZero,
  kInfNan,
  kOverflow,
  kUnderflow,
  kTies,
  kZeroTimesHuge,
  kNanPayloads,
  kUnselected,  ///< sparse only
  kExtremes,    ///< integers: smallest and largest values
  kSaturation,  ///< s32 sums that cross a bound
  kUnordered,   ///< sparse only, undefined
  kInvalid,     ///< sparse only, undefined
};
std::string_view name(Category category);

/// Whether a category says something about operands of `type`.
bool applies(Category category, numerics::DataType type, bool sparse);

enum class Operand { kA, kB, kC };

/// An element of an operand and where it stands.
struct ElementPlace {
  std::size_t index = 0;  ///< case
  int row = 0;
  int col = 0;
};

/// Random operands of one instruction, a function of the place: the same on every platform.
class ElementSource {
 public:
  ElementSource(const mma::MmaInstruction& instruction, std::uint64_t seed);

  /// Storage bits of the element.
  std::uint64_t draw(Category category, Operand operand, const ElementPlace& place) const;
  /// Infinity, NaN or the largest number of B's type, by the place.
  std::uint64_t conspicuous(const ElementPlace& place) const;

 private:
  struct Random {
    std::uint64_t bits;
    std::uint64_t take(int count) {
      const std::uint64_t taken = bits & ((1ULL << count) - 1);
      bits >>= count;
      return taken;
    }
  };
  Random random(Operand operand, const ElementPlace& place) const;
  numerics::DataType type(Operand operand) const;

  std::uint64_t draw_float(Category category, Operand operand, const ElementPlace& place) const;
  std::uint64_t draw_integer(Category category, Operand operand, const ElementPlace& place) const;
  std::uint64_t cancelling(Operand operand, const ElementPlace& place) const;

  mma::MmaInstruction instruction_;
  base::RandomStream stream_;
};

}  // namespace sptc::hardware
