// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/trial.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace sptc::check::kernel {
namespace {

using numerics::Word;

/// `wanted` of `lines`, those of `first` before others that are spread evenly.
std::vector<std::size_t> sampled(const std::vector<std::size_t>& lines, const std::vector<std::size_t>& first,
                                 std::size_t wanted) {
  std::set<std::size_t> sample;
  for (std::size_t i = 0; i < first.size() && sample.size() < (wanted + 1) / 2; ++i) {
    sample.insert(first[i]);
  }
  const std::size_t step = std::max<std::size_t>(1, lines.size() / wanted);
  for (std::size_t i = 0; i < lines.size() && sample.size() < wanted; i += step) {
    sample.insert(lines[i]);
  }
  return {sample.begin(), sample.end()};
}

}  // namespace

WrongKernel::WrongKernel(const KernelData& data_in, const mma::Target& target_in, KernelModel model_in, int threads_in)
    : data(data_in),
      target(target_in),
      model(std::move(model_in)),
      threads(threads_in),
      operands(arrange(data, model, Selection::all(data))),
      computed(execute(data, model, operands, threads)),
      wrong(wrong_elements(computed, operands.d)),
      explained(wrong.rows(), wrong.cols()) {}

std::size_t WrongKernel::mismatches() const {
  return std::accumulate(wrong.data(), wrong.data() + wrong.size(), std::size_t{0});
}

Region WrongKernel::whole() const {
  return {{{0, data.m}}, {{0, data.n}}, mismatches()};
}

double WrongKernel::computed_value(std::size_t row, std::size_t column) const {
  return numerics::to_double(computed(row, column), data.d_type);
}

double WrongKernel::observed_value(std::size_t row, std::size_t column) const {
  return numerics::to_double(observed()(row, column), data.d_type);
}

std::optional<Outcome> outcome_of(const WrongKernel& kernel, const KernelModel& model, const Hypothesis& hypothesis,
                                  const Selection& selection, int threads) {
  const KernelModel& own = hypothesis.model ? *hypothesis.model : model;
  try {
    KernelOperands operands =
        reads_alike(own, kernel.model) ? taken(kernel.operands, selection) : arrange(kernel.data, own, selection);
    if (hypothesis.change) {
      hypothesis.change(operands, selection);
    }
    base::Matrix<Word> words;
    if (hypothesis.word) {
      words = operands.d;
      selection.each([&](std::size_t row, std::size_t column, std::size_t i, std::size_t j) {
        words(i, j) = hypothesis.word(row, column);
      });
    } else {
      words = execute(kernel.data, own, operands, threads);
    }
    return Outcome{std::move(words), std::move(operands.d)};
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

Trial::Trial(const WrongKernel& kernel, const Region& region, const KernelModel* from)
    : kernel_(kernel), model_(from != nullptr ? *from : kernel.model), region_(region), all_(region.selection()) {
  constexpr std::size_t kFewLines = 6, kSomeLines = 16, kManyLines = 48, kMostLines = 96;
  find_strongest();
  std::vector<std::size_t> rows, columns;
  for (const auto& [row, column] : strongest_) {
    rows.push_back(row);
    columns.push_back(column);
  }
  const auto some = [&](std::size_t lines) {
    return Selection{sampled(all_.rows, rows, lines), sampled(all_.columns, columns, lines)};
  };
  for (const std::size_t lines : {kFewLines, kManyLines}) {
    if (all_.elements() > 4 * lines * lines) {
      steps_.push_back(some(lines));
    }
  }
  steps_.push_back(all_);
  some_ = some(kSomeLines);
  many_ = some(kMostLines);
}

void Trial::find_strongest() {
  struct Wrong {
    std::size_t row, column;
    double bits;
  };
  constexpr std::size_t kStrongest = 48;
  constexpr std::size_t kMostLookedAt = std::size_t{1} << 18;  // of very many wrong elements some say enough
  constexpr double kBitsOfElement = 10;                        // one says no more of what made it: its leading digits
  const std::size_t step = 1 + region_.mismatches / kMostLookedAt;
  std::size_t seen = 0;
  std::vector<Wrong> all;
  all_.each([&](std::size_t row, std::size_t column) {
    if (kernel_.wrong(row, column) == 0 || seen++ % step != 0) {
      return;
    }
    const Word computed = kernel_.computed(row, column), observed = kernel_.observed()(row, column);
    double bits = 1;  // NaN and infinity say little of what made them
    if (const auto ulps = ulp_distance(computed, observed, kernel_.data.d_type)) {
      const double apart = kernel_.near != nullptr  // what is near fits all
                               ? std::max(0.0, *kernel_.near->in_bounds(row, column, computed, observed) - 1)
                               : static_cast<double>(*ulps);
      bits = std::log2(1 + apart);
    }
    evidence_bits_ += std::min(bits, kBitsOfElement);
    all.push_back({row, column, bits});
  });
  const std::size_t count = std::min(kStrongest, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(count), std::ranges::greater{},
                            &Wrong::bits);
  for (std::size_t i = 0; i < count; ++i) {
    strongest_.emplace_back(all[i].row, all[i].column);
  }
}

bool Trial::tells_apart(double candidates, std::size_t choices) const {
  constexpr double kMargin = 16;  // bits by which one met by chance is unlikely, over all that are tried
  return evidence_bits_ >= kMargin + static_cast<double>(choices) * std::log2(std::max(1.0, candidates));
}

bool Trial::allows(const Proposals& proposals) const {
  return proposals.is_certain || tells_apart(std::max(proposals.among, static_cast<double>(proposals.list.size())));
}

double Trial::fit(const Hypothesis& hypothesis) const {
  for (const Selection& step : steps_) {
    const int threads = &step == &steps_.back() ? kernel_.threads : 1;
    std::size_t wrong = 0, right = 0, broken = 0;
    const bool made =
        compare(kernel_, model_, hypothesis, step, threads, [&](std::size_t row, std::size_t column, bool agrees) {
          const bool is_wrong = kernel_.wrong(row, column) != 0;
          const bool counts = kernel_.explained(row, column) == 0;
          wrong += counts && is_wrong ? 1 : 0;
          right += counts && is_wrong && agrees ? 1 : 0;
          broken += counts && !is_wrong && !agrees ? 1 : 0;
        });
    if (!made || right < wrong || broken > 0) {
      constexpr double kNotAll = 0.99;
      return wrong == 0 ? 0 : kNotAll * static_cast<double>(right) / static_cast<double>(wrong);
    }
  }
  return 1;
}

std::optional<WordComparison> Trial::score(const Hypothesis& hypothesis, bool on_many) const {
  const auto made = outcome_of(kernel_, model_, hypothesis, on_many ? many_ : some_, on_many ? kernel_.threads : 1);
  return made ? std::optional(compare_words(made->computed, made->observed, kernel_.data.d_type)) : std::nullopt;
}

}  // namespace sptc::check::kernel
