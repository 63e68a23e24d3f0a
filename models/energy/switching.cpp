// SPDX-License-Identifier: Apache-2.0
#include "models/energy/switching.h"

#include "models/base/error.h"
#include "models/base/random.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace sptc::energy {
namespace {

using numerics::DataType;
using numerics::Word;

/// Fraction bits of an aligned addend: F of Ampere (models/mma/step_rules).
constexpr int kFractionBits = 24;
constexpr int kStepBits = 128;  ///< operand bits of one dot product and step

int popcount(std::uint64_t bits) {
  return std::popcount(bits);
}

Word value_mask(DataType type) {
  const numerics::DataTypeInfo& row = numerics::info(type);
  const int bits = row.storage_bits;
  const Word all = bits >= 32 ? ~Word{0} : (Word{1} << bits) - 1;
  const int discarded = row.format ? row.format->discarded_low_bits : 0;
  return all & ~((Word{1} << discarded) - 1);
}

/// The bits that enter the multiplier array: a significand, or an integer as stored.
std::uint32_t multiplicand(Word word, DataType type) {
  const auto& format = numerics::info(type).format;
  if (!format) {
    return word;
  }
  const numerics::Unpacked parts = numerics::unpack(word, *format);
  return parts.kind == numerics::Unpacked::Class::kFinite ? parts.significand : 0;
}

/// Partial products a_i AND b_j that change when (a0, b0) becomes (a1, b1).
int partial_product_toggles(std::uint32_t a0, std::uint32_t b0, std::uint32_t a1, std::uint32_t b1) {
  return popcount(a0 & a1) * popcount(b0 ^ b1) + popcount(a0 & ~a1) * popcount(b0) + popcount(~a0 & a1) * popcount(b1);
}

double product_value(Word a, Word b, DataType type) {
  return numerics::to_double(a, type) * numerics::to_double(b, type);
}

std::uint32_t accumulator_bits(double sum, DataType type) {
  return numerics::info(type).is_float() ? numerics::from_double(sum, DataType::kF32)
                                         : static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
}

double ratio(double toggles, double reference) {
  return reference > 0 ? toggles / reference : 0;
}

Toggles sample_reference(DataType type) {
  constexpr std::uint64_t kDotProducts = 64;
  constexpr std::uint64_t kDepth = 512;
  // 32 standard units use the range of 8 bits, as in generated operands.
  const double scale = numerics::info(type).is_float() ? 1.0 : std::ldexp(1.0, numerics::storage_bits(type) - 3);
  const base::RandomStream stream = base::RandomStream(0).fork("switching reference");
  const base::RandomStream a_values = stream.fork("a");
  const base::RandomStream b_values = stream.fork("b");
  ToggleSampler sampler(type, products_per_step(type));
  std::vector<Word> a(kDepth);
  std::vector<Word> b(kDepth);
  for (std::uint64_t dot = 0; dot < kDotProducts; ++dot) {
    for (std::uint64_t k = 0; k < kDepth; ++k) {
      a[k] = numerics::from_double(a_values.normal(dot * kDepth + k) * scale, type);
      b[k] = numerics::from_double(b_values.normal(dot * kDepth + k) * scale, type);
    }
    sampler.add(a, b);
  }
  return sampler.toggles();
}

}  // namespace

int products_per_step(DataType type) {
  return std::max(1, kStepBits / numerics::storage_bits(type));
}

ToggleSampler::ToggleSampler(DataType type, int step_width)
    : type_(type),
      step_width_(static_cast<std::size_t>(step_width)),
      mask_(value_mask(type)),
      multipliers_(step_width_) {
  base::ensure(step_width > 0, "energy: a step without products");
}

std::vector<std::uint64_t> ToggleSampler::addends(std::span<const Word> a, std::span<const Word> b) const {
  std::vector<std::uint64_t> result(a.size(), 0);
  const auto& format = numerics::info(type_).format;
  if (!format) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::int64_t product = numerics::to_integer(a[i], type_) * numerics::to_integer(b[i], type_);
      // Two's complement in twice the operand's width.
      result[i] = static_cast<std::uint64_t>(product) & ((std::uint64_t{1} << (2 * numerics::storage_bits(type_))) - 1);
    }
    return result;
  }
  std::vector<std::uint64_t> significands(a.size());
  std::vector<int> exponents(a.size());
  int largest = std::numeric_limits<int>::min();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const numerics::Unpacked left = numerics::unpack(a[i], *format);
    const numerics::Unpacked right = numerics::unpack(b[i], *format);
    significands[i] = std::uint64_t{multiplicand(a[i], type_)} * multiplicand(b[i], type_);
    exponents[i] = left.exponent + right.exponent;
    if (significands[i] != 0) {
      largest = std::max(largest, exponents[i]);
    }
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (significands[i] == 0) {
      continue;
    }
    const int shift = std::min(largest - exponents[i], 63);
    const std::uint64_t magnitude = (significands[i] << (kFractionBits - 2 * format->mantissa_bits)) >> shift;
    const bool negative = product_value(a[i], b[i], type_) < 0;
    result[i] = magnitude << 1 | (negative && magnitude != 0 ? 1 : 0);
  }
  return result;
}

void ToggleSampler::step(std::span<const Word> a, std::span<const Word> b, std::size_t index) {
  const std::vector<std::uint64_t> aligned = addends(a, b);
  for (std::size_t lane = 0; lane < a.size(); ++lane) {
    Multiplier& before = multipliers_[lane];
    const Word wa = a[lane] & mask_;
    const Word wb = b[lane] & mask_;
    total_.operand_a += popcount(before.a ^ wa);
    total_.operand_b += popcount(before.b ^ wb);
    total_.products += partial_product_toggles(multiplicand(before.a, type_), multiplicand(before.b, type_),
                                               multiplicand(wa, type_), multiplicand(wb, type_));
    total_.addends += popcount(before.addend ^ aligned[lane]);
    before = {wa, wb, aligned[lane]};
    sum_ += product_value(wa, wb, type_);
    ++values_;
  }
  const std::uint32_t accumulator = accumulator_bits(sum_, type_);
  if (accumulators_.size() <= index) {
    accumulators_.resize(index + 1, 0);
  }
  total_.accumulators += popcount(accumulators_[index] ^ accumulator);
  accumulators_[index] = accumulator;
  ++steps_;
}

void ToggleSampler::add(std::span<const Word> a, std::span<const Word> b) {
  base::ensure(a.size() == b.size(), "energy: operands of a dot product differ in length");
  sum_ = 0;
  for (std::size_t k = 0; k < a.size(); k += step_width_) {
    const std::size_t width = std::min(step_width_, a.size() - k);
    step(a.subspan(k, width), b.subspan(k, width), k / step_width_);
  }
}

Toggles ToggleSampler::toggles() const {
  if (values_ == 0) {
    return {};
  }
  const auto values = static_cast<double>(values_);
  return {total_.operand_a / values, total_.operand_b / values, total_.products / values, total_.addends / values,
          total_.accumulators / static_cast<double>(steps_)};
}

const Toggles& reference_toggles(DataType type) {
  thread_local std::map<DataType, Toggles> cache;
  const auto found = cache.find(type);
  return found != cache.end() ? found->second : cache.emplace(type, sample_reference(type)).first->second;
}

Switching relative_switching(const Toggles& toggles, DataType type) {
  const Toggles& reference = reference_toggles(type);
  return {ratio(toggles.operand_a, reference.operand_a), ratio(toggles.operand_b, reference.operand_b),
          ratio(toggles.products, reference.products), ratio(toggles.addends, reference.addends),
          ratio(toggles.accumulators, reference.accumulators)};
}

}  // namespace sptc::energy
