// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/region_trial.h"

#include "models/base/error.h"
#include "sim/compare/kernel/word_comparison.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace sptc::compare::kernel {
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

bool RegionTrial::fits_on(const KernelModel& model, const Change& change,
                          const Selection& selection, int threads) const {
  KernelOperands operands = taken(kernel_.operands, selection);
  change(operands, selection);
  return execute(kernel_.data, model, operands, threads) == operands.d;
}

bool RegionTrial::fits(const KernelModel& model, const Change& change) const {
  return std::ranges::all_of(steps_, [&](const Selection& step) {
    return fits_on(model, change, step, &step == &steps_.back() ? kernel_.threads : 1);
  });
}

bool RegionTrial::reads_on(const KernelModel& model, const Selection& selection,
                           int threads) const {
  try {
    const KernelOperands operands = arrange(kernel_.data, model, selection);
    return execute(kernel_.data, model, operands, threads) == operands.d;
  } catch (const base::InputError&) {
    return false;
  }
}

bool RegionTrial::fits_read(const KernelModel& model) const {
  return std::ranges::all_of(steps_, [&](const Selection& step) {
    return reads_on(model, step, &step == &steps_.back() ? kernel_.threads : 1);
  });
}

}  // namespace sptc::compare::kernel
