// SPDX-License-Identifier: Apache-2.0
//
// D times a constant, or each row or column by one of its own: scales of quantised operands, also
// along an axis.
#include "models/numerics/codec.h"
#include "sim/check/kernel/hypotheses/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {

using numerics::DataType;

namespace {

/// How many numbers a factor may be.
constexpr double kFactors = 1 << 16;

/// Rows and columns of elements of D.
using Elements = std::vector<std::pair<std::size_t, std::size_t>>;

/// What the kernel returned relative to what is computed, of the largest finite one of `elements`;
/// 0: none tells it.
double ratio_of(const WrongKernel& kernel, const Elements& elements) {
  const DataType type = kernel.data.d_type;
  double largest = 0, ratio = 0;
  for (const auto& [row, column] : elements) {
    const double got = numerics::to_double(kernel.observed()(row, column), type);
    const double want = numerics::to_double(kernel.computed(row, column), type);
    if (std::isfinite(got) && std::isfinite(want) && got != 0 && std::fabs(want) > largest) {
      largest = std::fabs(want);
      ratio = got / want;
    }
  }
  return ratio;
}

/// Numbers that a factor may be, where an element has become `ratio` times itself.
std::vector<float> factors_near(double ratio, DataType d_type) {
  int exponent = 0;
  const double mantissa = std::frexp(ratio, &exponent);
  constexpr int kShortBits = 8;
  std::vector<float> factors{static_cast<float>(
      std::ldexp(std::nearbyint(std::ldexp(mantissa, kShortBits)), exponent - kShortBits))};
  if (d_type == DataType::kF32) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto nearest = static_cast<float>(ratio);
    factors.insert(factors.end(), {nearest, std::nextafter(nearest, kInfinity),
                                   std::nextafter(nearest, -kInfinity)});
  }
  return factors;
}

numerics::Word scaled(const WrongKernel& kernel, std::size_t row, std::size_t column, float by) {
  const DataType type = kernel.data.d_type;
  return numerics::from_double(
      static_cast<float>(numerics::to_double(kernel.computed(row, column), type)) * by, type);
}

/// The factor of all of `elements`; nothing where no single one explains them.
std::optional<float> factor_of_line(const WrongKernel& kernel, const Elements& elements) {
  const DataType type = kernel.data.d_type;
  const double ratio = ratio_of(kernel, elements);
  for (const float by : ratio == 0 ? std::vector<float>{} : factors_near(ratio, type)) {
    int exponent = 0;
    // Words that were rounded to a short type are multiplied exactly by powers of two alone.
    const bool is_exact = type == DataType::kF32 || std::frexp(by, &exponent) == 0.5F;
    if (is_exact && std::ranges::all_of(elements, [&](const auto& at) {
          return kernel.agrees(at.first, at.second, scaled(kernel, at.first, at.second, by),
                               kernel.observed()(at.first, at.second));
        })) {
      return by;
    }
  }
  return std::nullopt;
}

/// "rows 0 to 63 of D are 0.5 times, rows 64 to 127 of D are 2 times ...".
std::string text_of_factors(const std::map<float, std::vector<std::size_t>>& by_factor,
                            std::string_view unit, std::size_t lines) {
  constexpr std::size_t kListed = 4;
  if (by_factor.size() > kListed) {
    return fmt::format("each {} of D has a factor of its own, from {} to {}", unit,
                       by_factor.begin()->first, by_factor.rbegin()->first);
  }
  std::string text;
  for (const auto& [by, same] : by_factor) {
    text += fmt::format("{}{} of D are {} times", text.empty() ? "" : ", ",
                        text_of(intervals_of(same), unit, lines + 1), by);
  }
  return text + " what they should be";
}

}  // namespace

Proposals factor(const Trial& at) {
  const double ratio = ratio_of(at.kernel(), at.strongest());
  constexpr float kLeast = 1e-3F;  // below is rounding
  Proposals proposals{{}, kFactors};
  if (at.model().rules.is_integer() || ratio == 0) {
    return proposals;
  }
  for (const float by : factors_near(ratio, at.kernel().data.d_type)) {
    if (std::fabs(by - 1) > kLeast) {
      KernelModel model = at.model();
      model.epilogue.scale_d *= by;
      proposals.add("scale", fmt::format("D is {} times what it should be", by), model);
    }
  }
  return proposals;
}

Proposals factors_of_lines(const Trial& at, bool of_rows) {
  constexpr std::size_t kLeastOthers = 4;  // elements of a line that tell its factor
  const auto& lines = of_rows ? at.selection().rows : at.selection().columns;
  const auto& others = of_rows ? at.selection().columns : at.selection().rows;
  if (at.model().rules.is_integer() || others.size() < kLeastOthers || lines.size() < 2) {
    return {};
  }
  std::map<float, std::vector<std::size_t>> by_factor;
  std::map<std::size_t, float> factors;
  for (const std::size_t line : lines) {
    Elements elements;
    for (const std::size_t other : others) {
      elements.emplace_back(of_rows ? line : other, of_rows ? other : line);
    }
    const auto found = factor_of_line(at.kernel(), elements);
    if (!found) {
      return {};
    }
    by_factor[*found].push_back(line);
    factors[line] = *found;
  }
  Hypothesis scale{"scale", text_of_factors(by_factor, of_rows ? "row" : "column", lines.size())};
  scale.word = [&kernel = at.kernel(), of_rows, factors](std::size_t row, std::size_t column) {
    const auto own = factors.find(of_rows ? row : column);
    return scaled(kernel, row, column, own == factors.end() ? 1 : own->second);
  };
  return {{scale}, kFactors};
}

}  // namespace sptc::check::kernel::hypotheses
