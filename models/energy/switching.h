// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sptc::energy {

/// Bits that change between successive values at one place of the data path, per value.
struct Toggles {
  double operand_a = 0;
  double operand_b = 0;
  double products = 0;      ///< partial-product bits of the multiplier array
  double addends = 0;       ///< bits of the aligned addend, sign and magnitude
  double accumulators = 0;  ///< bits of the accumulator register
};

/// Toggles relative to those of the reference operands: 1 = N(0,1) rounded to the type (8-bit
/// integers: 32 N(0,1)).
struct Switching {
  double operand_a = 1;
  double operand_b = 1;
  double products = 1;
  double addends = 1;
  double accumulators = 1;
};

/// Counts the bits that toggle when the dot-product unit of a tensor core works through sampled dot
/// products: each multiplier sees every `step_width`-th pair of a dot product in turn; the
/// accumulator port sees the same step of one dot product after the other. Addends are products
/// aligned to the largest exponent of their step with 24 fraction bits (Ampere; models/mma).
class ToggleSampler {
 public:
  ToggleSampler(numerics::DataType type, int step_width);

  /// One dot product: a[i] is multiplied with b[i]; words of the type, the same number of each.
  void add(std::span<const numerics::Word> a, std::span<const numerics::Word> b);

  Toggles toggles() const;

 private:
  struct Multiplier {
    numerics::Word a = 0, b = 0;
    std::uint64_t addend = 0;
  };

  void step(std::span<const numerics::Word> a, std::span<const numerics::Word> b, std::size_t index);
  std::vector<std::uint64_t> addends(std::span<const numerics::Word> a, std::span<const numerics::Word> b) const;

  numerics::DataType type_;
  std::size_t step_width_;
  numerics::Word mask_;  ///< storage bits that carry the value
  std::vector<Multiplier> multipliers_;
  std::vector<std::uint32_t> accumulators_;  ///< of the previous dot product, by step
  double sum_ = 0;                           ///< of the dot product under way
  Toggles total_;
  std::int64_t values_ = 0;
  std::int64_t steps_ = 0;
};

/// Toggles of the reference operands; each thread samples them once per type from a fixed seed.
const Toggles& reference_toggles(numerics::DataType type);

Switching relative_switching(const Toggles& toggles, numerics::DataType type);

/// Products that one rounding step adds in operands of `type`: 16 bytes of them (Ampere).
int products_per_step(numerics::DataType type);

}  // namespace sptc::energy
