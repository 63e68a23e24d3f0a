// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_crosscheck.h"

#include "models/mma/instruction.h"
#include "models/sparsity/compress.h"
#include "sim/check/kernel/hypothesis.h"
#include "sim/check/kernel/trial.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/mma_batch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

using numerics::Word;

constexpr std::size_t kBeam = 3;     // changes that are combined with a second one
constexpr std::size_t kNear = 24;    // changes that are looked at closer for the nearest
constexpr std::size_t kFitting = 6;  // explanations that are listed
// A first change is worth a second one where the words come this much closer (in log2 of ulps).
constexpr double kCloser = 0.25;
// A change that explains one of so many wrong elements is worth a look at the others.
constexpr std::size_t kLeastExplained = 16;

/// A change of the whole kernel and how it does on a sample.
struct Scored {
  Hypothesis hypothesis;
  std::size_t mismatches = 0;
  double mean_log2_ulps = 0;
};

std::optional<InvalidMetadata> find_invalid(const base::Matrix<std::uint8_t>& nibbles,
                                            const mma::MmaInstruction& instruction) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
  InvalidMetadata found{.of = nibbles.size()};
  for (std::size_t row = 0; row < nibbles.rows(); ++row) {
    for (std::size_t group = 0; group < nibbles.cols(); ++group) {
      const std::uint8_t nibble = nibbles(row, group);
      if (sparsity::is_valid_nibble(nibble, pattern) &&
          (!instruction.needs_order() || sparsity::is_ordered_nibble(nibble))) {
        continue;
      }
      if (found.nibbles++ == 0) {
        found.row = row;
        found.group = group;
        found.nibble = nibble;
      }
    }
  }
  return found.nibbles > 0 ? std::optional(found) : std::nullopt;
}

class Diagnosing {
 public:
  Diagnosing(const KernelData& data, const KernelModel& declared, const mma::Target& target,
             int threads, const Tolerance& tolerance)
      : kernel_(data, target, declared, threads) {
    result_.tolerance = tolerance;
  }

  KernelDiagnosis run() {
    result_.comparison = compare_words(kernel_.computed, kernel_.observed(), kernel_.data.d_type);
    result_.invalid_metadata = find_invalid(kernel_.operands.nibbles, kernel_.model.instruction);
    if (result_.bit_exact()) {
      return std::move(result_);
    }
    if (tolerance_is_given()) {
      bounds_.emplace(kernel_.data, kernel_.model, kernel_.operands, result_.tolerance);
      result_.tolerated = tolerate(kernel_);
    }
    find_first();
    result_.wrong = kernel_.wrong;
    count_digits();
    if (!result_.is_right()) {
      result_.location = find_places(kernel_.wrong);
      explain();
    }
    if (!result_.fitting.empty()) {
      result_.nearest.reset();
    }
    return std::move(result_);
  }

 private:
  bool tolerance_is_given() const { return result_.tolerance.is_given(); }

  /// Takes elements within the bounds for right; how many that are.
  std::size_t tolerate(WrongKernel& kernel) const {
    const std::size_t before = kernel.mismatches();
    kernel.near = &*bounds_;
    for (std::size_t i = 0; i < kernel.wrong.rows(); ++i) {
      for (std::size_t j = 0; j < kernel.wrong.cols(); ++j) {
        if (kernel.agrees(i, j, kernel.computed(i, j), kernel.observed()(i, j))) {
          kernel.wrong(i, j) = 0;
        }
      }
    }
    return before - kernel.mismatches();
  }

  void find_first() {
    const int bytes = vectors::element_bytes(kernel_.data.d_type);
    for (std::size_t i = 0; i < kernel_.wrong.rows(); ++i) {
      for (std::size_t j = 0; j < kernel_.wrong.cols(); ++j) {
        const Word x = kernel_.computed(i, j), y = kernel_.observed()(i, j);
        // Where all is tolerated, the first that is.
        if (x != y && (kernel_.wrong(i, j) != 0 || result_.is_right())) {
          result_.first = {i, j, vectors::hex_bits(y, bytes), vectors::hex_bits(x, bytes),
                           ulp_distance(x, y, kernel_.data.d_type)};
          return;
        }
      }
    }
  }

  void count_digits() {
    result_.digits = base::Matrix<std::uint8_t>(kernel_.wrong.rows(), kernel_.wrong.cols());
    for (std::size_t i = 0; i < result_.digits.size(); ++i) {
      if (kernel_.wrong.data()[i] != 0) {
        const auto ulps = ulp_distance(kernel_.computed.data()[i], kernel_.observed().data()[i],
                                       kernel_.data.d_type);
        std::uint8_t digits = ulps ? std::uint8_t{1} : kNoDigits;
        for (std::uint64_t rest = ulps.value_or(0) / 10; rest > 0; rest /= 10) {
          ++digits;
        }
        result_.digits.data()[i] = digits;
      }
    }
  }

  /// The steps go on until one explains everything.
  void explain() {
    const Region whole = kernel_.whole();
    const Trial trial(kernel_, whole);
    std::vector<Scored> scored = try_kernels(trial, nullptr);
    if (result_.fitting.empty()) {
      result_.location = located(kernel_);
      name(result_.location, nullptr);
    }
    if (result_.fitting.empty()) {
      try_pairs(trial, scored);
    }
    if (result_.fitting.empty()) {
      explain_rest(trial, std::move(scored));
    }
    if (result_.fitting.empty() && !tolerance_is_given()) {
      look_below_rounding(whole);
    }
  }

  /// Takes `location` for an explanation, on top of `kernel_change`, where it is one.
  void name(const FaultLocation& location, const Explanation* kernel_change) {
    if (location.is_complete()) {
      const std::string text = text_of(location, kernel_.data);
      result_.fitting.push_back(
          {kernel_change != nullptr ? kernel_change->cause + "+" + location.causes()
                                    : location.causes(),
           kernel_change != nullptr ? kernel_change->text + "; " + text : text, 0});
    }
  }

  /// The faults of places; `kernel` stays as it is.
  static FaultLocation located(WrongKernel& kernel, std::vector<Found>* found = nullptr) {
    WrongElements wrong = kernel.wrong;
    FaultLocation location = locate_faults(kernel, found);
    kernel.wrong = std::move(wrong);
    kernel.explained = WrongElements(kernel.wrong.rows(), kernel.wrong.cols());
    return location;
  }

  // Changes of the whole kernel -------------------------------------------------------------------

  /// Every change of the model of `trial`, which has `first` already (null: nothing).
  std::vector<Scored> try_kernels(const Trial& trial, const Hypothesis* first) {
    std::vector<Scored> scored;
    std::vector<Hypothesis> list = kernel_changes(trial);
    for (Hypothesis& hypothesis : list) {
      if (first != nullptr) {
        if (hypothesis.cause == first->cause || !result_.fitting.empty()) {
          continue;
        }
        hypothesis.cause = first->cause + "+" + hypothesis.cause;
        hypothesis.text = first->text + "; " + hypothesis.text;
      }
      const auto near = trial.score(hypothesis);
      if (!near) {
        continue;
      }
      ++result_.tried;
      const bool may_fit = near->mismatches == 0 || kernel_.near != nullptr;
      if (may_fit && result_.fitting.size() < kFitting && trial.fit(hypothesis) == 1) {
        result_.fitting.push_back({hypothesis.cause, hypothesis.text, 0});
      } else {
        scored.push_back({std::move(hypothesis), near->mismatches, near->mean_log2_ulps});
      }
    }
    std::ranges::stable_sort(scored, {}, &Scored::mean_log2_ulps);
    return scored;
  }

  /// A second change on top of those that come nearest; these pairs go to `scored`, too.
  void try_pairs(const Trial& trial, std::vector<Scored>& scored) {
    const auto declared = trial.score({});
    const std::vector<Scored> firsts(
        scored.begin(),
        scored.begin() + static_cast<std::ptrdiff_t>(std::min(kBeam, scored.size())));
    for (const Scored& first : firsts) {
      if (declared && result_.fitting.empty() &&
          first.mean_log2_ulps + kCloser < declared->mean_log2_ulps) {
        const Trial second(kernel_, trial.region(), &*first.hypothesis.model);
        std::ranges::move(try_kernels(second, &first.hypothesis), std::back_inserter(scored));
      }
    }
  }

  // What a change leaves --------------------------------------------------------------------------

  /// The change with fewest mismatches on a large sample, of those that do best on a small one.
  /// Nothing where it does no better than none.
  static std::optional<Hypothesis> nearest_of(const Trial& trial, std::vector<Scored> scored) {
    const auto order = [](const Scored& one) {
      return std::pair(one.mismatches, one.mean_log2_ulps);
    };
    std::ranges::stable_sort(scored, {}, order);
    if (scored.size() > kNear) {
      scored.erase(scored.begin() + kNear, scored.end());
    }
    for (Scored& one : scored) {
      if (const auto near = trial.score(one.hypothesis, true)) {
        one.mismatches = near->mismatches;
        one.mean_log2_ulps = near->mean_log2_ulps;
      }
    }
    const auto best = std::ranges::min_element(scored, {}, order);
    const auto declared = trial.score({}, true);
    const bool explains =
        best != scored.end() && declared && explains_some(best->mismatches, declared->mismatches);
    return explains ? std::optional(best->hypothesis) : std::nullopt;
  }

  /// Whether a change that leaves `left` of `all` wrong elements says more than chance does.
  static bool explains_some(std::size_t left, std::size_t all) {
    return left < all && kLeastExplained * (all - left) >= all;
  }

  void explain_rest(const Trial& trial, std::vector<Scored> scored) {
    const auto change = nearest_of(trial, std::move(scored));
    if (!change) {
      return;
    }
    WrongKernel rest(kernel_.data, kernel_.target, *change->model, kernel_.threads);
    if (tolerance_is_given()) {
      tolerate(rest);
    }
    const std::size_t left = rest.mismatches(), all = kernel_.mismatches();
    if (!explains_some(left, all)) {
      return;
    }
    result_.nearest = {change->cause, change->text, left};
    result_.rest = locate_faults(rest);
    name(result_.rest, &*result_.nearest);
  }

  // Below the noise of an unknown order -----------------------------------------------------------

  void look_below_rounding(const Region& whole) {
    bounds_.emplace(kernel_.data, kernel_.model, kernel_.operands);
    result_.populations =
        error_populations(*bounds_, kernel_.data.d_type, kernel_.computed, kernel_.observed());
    if (result_.may_be_order()) {
      const FaultLocation orders = locate_orders(kernel_);
      name(orders, nullptr);
      return;
    }
    if (kernel_.model.rules.is_integer() || result_.location.has_fault()) {
      result_.beyond_rounding = find_places(result_.populations.beyond_rounding);
      return;
    }
    const WrongElements wrong = kernel_.wrong;
    kernel_.near = &*bounds_;
    kernel_.wrong = result_.populations.beyond_rounding;
    std::vector<Found> found;
    FaultLocation larger = located(kernel_, &found);
    kernel_.near = nullptr;
    kernel_.wrong = wrong;
    if (found.size() == 1 && larger.is_complete()) {
      add_kernel_change(whole, found.front(), larger);
    }
    if (result_.populations.are_two() || larger.has_fault()) {
      result_.beyond_rounding = std::move(larger);
    }
  }

  /// A change of the whole kernel under a fault that hides it: `local` explains its place but for
  /// rounding.
  void add_kernel_change(const Region& whole, const Found& local, const FaultLocation& larger) {
    if (!local.hypothesis.change || local.hypothesis.model) {
      return;
    }
    const Trial there(kernel_, local.region);
    const std::vector<std::size_t> rows = numbers(local.region.rows);
    const std::vector<std::size_t> columns = numbers(local.region.columns);
    const std::vector<Hypothesis> list = kernel_changes(there);
    for (const Hypothesis& change : list) {
      Hypothesis both = change;
      both.change = local.hypothesis.change;
      if (there.fit(both) != 1) {
        continue;
      }
      for (const std::size_t row : rows) {
        for (const std::size_t column : columns) {
          kernel_.explained(row, column) = 1;
        }
      }
      const bool holds = Trial(kernel_, whole).fit(change) == 1;
      kernel_.explained = WrongElements(kernel_.wrong.rows(), kernel_.wrong.cols());
      if (holds) {
        const Explanation kernel_change{change.cause, change.text, 0};
        name(larger, &kernel_change);
        return;
      }
    }
  }

  WrongKernel kernel_;
  std::optional<ErrorBounds> bounds_;
  KernelDiagnosis result_;
};

}  // namespace

KernelDiagnosis crosscheck_kernel(const KernelData& data, const KernelModel& declared,
                                  const mma::Target& target, int threads,
                                  const Tolerance& tolerance) {
  return Diagnosing(data, declared, target, threads, tolerance).run();
}

}  // namespace sptc::check::kernel
