// SPDX-License-Identifier: Apache-2.0
//
// D times a constant, or each row or column by one of its own: scales of quantised operands, also along an axis.
#include "sim/check/kernel/hypotheses/families.h"

#include <limits>

namespace sptc::check::kernel::hypotheses {
namespace {

using numerics::DataType;
/// Rows and columns of elements of D.
using Elements = std::vector<std::pair<std::size_t, std::size_t>>;

constexpr double kFactors = 1 << 16;  // numbers that a factor may be

/// Numbers that the factor of `elements` may be, by what the largest finite one of them has become.
std::vector<float> factors_of(const WrongKernel& kernel, const Elements& elements) {
  double largest = 0, ratio = 0;
  for (const auto& [row, column] : elements) {
    const double got = kernel.observed_value(row, column), want = kernel.computed_value(row, column);
    if (std::isfinite(got) && std::isfinite(want) && got != 0 && std::fabs(want) > largest) {
      largest = std::fabs(want);
      ratio = got / want;
    }
  }
  if (ratio == 0) {
    return {};
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  int exponent = 0;
  const double mantissa = std::frexp(ratio, &exponent);
  const auto short_one = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8));
  const auto nearest = static_cast<float>(ratio);
  return kernel.data.d_type == DataType::kF32
             ? std::vector{short_one, nearest, std::nextafter(nearest, kInfinity), std::nextafter(nearest, -kInfinity)}
             : std::vector{short_one};
}

numerics::Word scaled(const WrongKernel& kernel, std::size_t row, std::size_t column, float by) {
  return numerics::from_double(static_cast<float>(kernel.computed_value(row, column)) * by, kernel.data.d_type);
}

/// A factor for each row, or column; nothing where no single one explains a line.
std::optional<Hypothesis> factors_along(const Trial& at, bool of_rows) {
  constexpr std::size_t kLeastOthers = 4;  // elements of a line that tell its factor
  constexpr std::size_t kListed = 4;
  const WrongKernel& kernel = at.kernel();
  const char* const unit = of_rows ? "row" : "column";
  std::map<float, std::vector<std::size_t>> by_factor;
  std::map<std::size_t, float> factors;
  for (const std::size_t line : at.lines(of_rows)) {
    Elements elements;
    for (const std::size_t other : at.lines(!of_rows)) {
      elements.emplace_back(of_rows ? line : other, of_rows ? other : line);
    }
    const std::vector<float> candidates = factors_of(kernel, elements);
    const auto found = std::ranges::find_if(candidates, [&](float by) {
      int exponent = 0;
      // Words that were rounded to a short type are multiplied exactly by powers of two alone.
      const bool is_exact = kernel.data.d_type == DataType::kF32 || std::frexp(by, &exponent) == 0.5F;
      return is_exact && std::ranges::all_of(elements, [&](const auto& element) {
               const auto [row, column] = element;
               return kernel.agrees(row, column, scaled(kernel, row, column, by));
             });
    });
    if (found == candidates.end() || elements.size() < kLeastOthers || at.lines(of_rows).size() < 2) {
      return std::nullopt;
    }
    by_factor[*found].push_back(line);
    factors[line] = *found;
  }
  std::string text;
  for (const auto& [by, same] : by_factor) {
    text += fmt::format("{}{} of D are {} times", text.empty() ? "" : ", ", text_of(intervals_of(same), unit, 0), by);
  }
  text = by_factor.size() <= kListed ? text + " what they should be"
                                     : fmt::format("each {} of D has a factor of its own, from {} to {}", unit,
                                                   by_factor.begin()->first, by_factor.rbegin()->first);
  Hypothesis scale{"scale", std::move(text)};
  scale.word = [&kernel, of_rows, factors](std::size_t row, std::size_t column) {
    const auto own = factors.find(of_rows ? row : column);
    return scaled(kernel, row, column, own == factors.end() ? 1 : own->second);
  };
  return scale;
}

}  // namespace

Proposals factor(const Trial& at) {
  constexpr float kLeast = 1e-3F;  // below is rounding
  Proposals proposals{{}, kFactors};
  for (const float by : factors_of(at.kernel(), at.strongest())) {
    if (std::fabs(by - 1) > kLeast && !at.model().rules.is_integer()) {
      proposals.add_model("scale", fmt::format("D is {} times what it should be", by), at.model(),
                          [&](KernelModel& model) { model.epilogue.scale_d *= by; });
    }
  }
  return proposals;
}

Proposals factors_of_lines(const Trial& at) {
  Proposals proposals{{}, kFactors};
  for (const bool of_rows : {true, false}) {
    const auto found = at.model().rules.is_integer() ? std::nullopt : factors_along(at, of_rows);
    if (found) {
      proposals.list.push_back(*found);
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
