// SPDX-License-Identifier: Apache-2.0
//
// Words of D that are right but for their bits, or that something else than the sum put there: NaN, signs of zero, a
// limit, C.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

using numerics::Word;

// Elements of which only the bits differ, not what they are.
Proposals other_bits(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  Proposals proposals{{}, 0, true};
  const auto add = [&](const char* cause, const char* text, auto is_same) {
    Hypothesis hypothesis{cause, text};
    hypothesis.word = [&kernel, is_same](std::size_t row, std::size_t column) {
      const bool same = is_same(kernel.computed_value(row, column), kernel.observed_value(row, column));
      return same ? kernel.observed()(row, column) : kernel.computed(row, column);
    };
    proposals.list.push_back(std::move(hypothesis));
  };
  if (!numerics::info(kernel.data.d_type).is_float()) {
    return proposals;
  }
  add("nan-bits", "NaN stands where NaN is due, with other bits",
      [](double due, double found) { return std::isnan(due) && std::isnan(found); });
  add("zero-sign", "zeros have the other sign", [](double due, double found) { return due == 0 && found == 0; });
  if (kernel.model.epilogue.activation == Activation::kRelu) {
    add("epilogue", "the ReLU makes 0 of NaN, as fmaxf does",
        [](double due, double found) { return std::isnan(due) && found == 0; });
  }
  return proposals;
}

// A limit that D does not exceed: saturation, a clamp of the epilogue.
Proposals limits(const Trial& at) {
  constexpr std::size_t kLeast = 8;
  const WrongKernel& kernel = at.kernel();
  Proposals proposals;
  for (const bool upper : {true, false}) {
    const auto exceeds = [upper](double value, double limit) { return upper ? value > limit : value < limit; };
    std::optional<std::pair<double, Word>> limit;
    std::size_t met = 0;
    at.selection().each([&](std::size_t row, std::size_t column) {
      const double value = kernel.observed_value(row, column);
      if (kernel.wrong(row, column) == 0 || !exceeds(kernel.computed_value(row, column), value)) {
        return;
      }
      if (!limit || exceeds(value, limit->first)) {
        limit.emplace(value, kernel.observed()(row, column));
        met = 0;
      }
      met += value == limit->first ? 1 : 0;
    });
    if (met >= kLeast) {
      Hypothesis clamped{"epilogue",
                         fmt::format("D is clamped to {} {:g}", upper ? "at most" : "at least", limit->first)};
      clamped.word = [&kernel, exceeds, bound = *limit](std::size_t row, std::size_t column) {
        return exceeds(kernel.computed_value(row, column), bound.first) ? bound.second : kernel.computed(row, column);
      };
      proposals.list.push_back(std::move(clamped));
    }
  }
  if (proposals.list.size() == 2) {  // both ends
    Hypothesis both{"epilogue", proposals.list[0].text + " and" +
                                    proposals.list[1].text.substr(std::string("D is clamped to").size())};
    both.word = [&kernel, upper = proposals.list[0].word, lower = proposals.list[1].word](std::size_t row,
                                                                                          std::size_t column) {
      const Word word = upper(row, column);
      return word != kernel.computed(row, column) ? word : lower(row, column);
    };
    proposals.list.push_back(std::move(both));
  }
  return proposals;
}

// D that is as it was before the kernel, where it lies in C.
Proposals left_as_c(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  const KernelData& data = kernel.data;
  if (!data.c || kernel.operands.c.empty()) {
    return {};
  }
  Hypothesis left{"unwritten-region", "D still holds C: nobody wrote it"};
  left.word = [&kernel, &data](std::size_t row, std::size_t column) {
    return numerics::from_double(numerics::to_double(kernel.operands.c(row, column), data.c_type), data.d_type);
  };
  return {{left}};
}

}  // namespace sptc::check::kernel::hypotheses
