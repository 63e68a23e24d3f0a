// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/region_trial.h"

#include "models/base/error.h"
#include "sim/check/kernel/word_comparison.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace sptc::check::kernel {
namespace {

using numerics::Word;

constexpr std::size_t kStrongest = 48;
/// One element says no more than this of what made it: its leading digits.
constexpr double kBitsOfElement = 10;
/// A hypothesis met by chance is this unlikely, in bits, over all that are tried.
constexpr double kMargin = 16;
constexpr std::size_t kFewLines = 6, kManyLines = 48;

/// `wanted` of `lines`, those of `first` before others that are spread evenly.
std::vector<std::size_t> sampled(const std::vector<std::size_t>& lines,
                                 const std::vector<std::size_t>& first, std::size_t wanted) {
  std::set<std::size_t> sample;
  for (const std::size_t line : first) {
    if (sample.size() < (wanted + 1) / 2) {
      sample.insert(line);
    }
  }
  const std::size_t step = std::max<std::size_t>(1, lines.size() / wanted);
  for (std::size_t i = 0; i < lines.size() && sample.size() < wanted; i += step) {
    sample.insert(lines[i]);
  }
  return {sample.begin(), sample.end()};
}

}  // namespace

RegionTrial::RegionTrial(const WrongKernel& kernel, const Region& region)
    : kernel_(kernel), region_(region), all_{numbers(region.rows), numbers(region.columns)} {
  find_strongest();
  std::vector<std::size_t> rows, columns;
  for (const auto& [row, column] : strongest_) {
    rows.push_back(row);
    columns.push_back(column);
  }
  for (const std::size_t lines : {kFewLines, kManyLines}) {
    if (all_.elements() > 4 * lines * lines) {
      steps_.push_back({sampled(all_.rows, rows, lines), sampled(all_.columns, columns, lines)});
    }
  }
  steps_.push_back(all_);
}

void RegionTrial::find_strongest() {
  struct Wrong {
    std::size_t row, column;
    double bits;
  };
  std::vector<Wrong> all;
  for (const std::size_t row : all_.rows) {
    for (const std::size_t column : all_.columns) {
      if (kernel_.wrong(row, column) == 0) {
        continue;
      }
      const auto apart = ulp_distance(kernel_.computed(row, column),
                                      kernel_.observed()(row, column), kernel_.data.d_type);
      // NaN and infinity say little of what made them.
      const double bits = apart ? std::log2(1 + static_cast<double>(*apart)) : 1;
      evidence_bits_ += std::min(bits, kBitsOfElement);
      all.push_back({row, column, bits});
    }
  }
  const std::size_t count = std::min(kStrongest, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(count),
                            std::ranges::greater{}, &Wrong::bits);
  for (std::size_t i = 0; i < count; ++i) {
    strongest_.emplace_back(all[i].row, all[i].column);
  }
}

bool RegionTrial::tells_apart(double candidates) const {
  return evidence_bits_ >= kMargin + std::log2(std::max(1.0, candidates));
}

template <typename OperandsOf>
bool RegionTrial::fits_each_step(const KernelModel& model, const OperandsOf& operands_of) const {
  return std::ranges::all_of(steps_, [&](const Selection& step) {
    const KernelOperands operands = operands_of(step);
    const int threads = &step == &steps_.back() ? kernel_.threads : 1;
    return execute(kernel_.data, model, operands, threads) == operands.d;
  });
}

bool RegionTrial::fits(const Hypothesis& hypothesis) const {
  const KernelModel& model = hypothesis.model ? *hypothesis.model : kernel_.model;
  return fits_each_step(model, [&](const Selection& step) {
    KernelOperands operands = taken(kernel_.operands, step);
    if (hypothesis.change) {
      hypothesis.change(operands, step);
    }
    return operands;
  });
}

std::optional<RegionFault> RegionTrial::first_that_fits(const std::vector<Hypothesis>& hypotheses,
                                                        double candidates) const {
  if (!tells_apart(candidates)) {
    return std::nullopt;
  }
  const auto found = std::ranges::find_if(
      hypotheses, [&](const Hypothesis& hypothesis) { return fits(hypothesis); });
  return found == hypotheses.end() ? std::nullopt : std::optional(found->fault);
}

bool RegionTrial::fits_read(const KernelModel& model) const {
  try {
    return fits_each_step(
        model, [&](const Selection& step) { return arrange(kernel_.data, model, step); });
  } catch (const base::InputError&) {
    return false;
  }
}

}  // namespace sptc::check::kernel
