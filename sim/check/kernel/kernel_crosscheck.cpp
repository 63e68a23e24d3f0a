// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_crosscheck.h"

#include "models/base/error.h"
#include "models/sparsity/compress.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/mma_batch.h"

#include <algorithm>
#include <iterator>

namespace sptc::check::kernel {
namespace {

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
  for (std::size_t i = 0; i < nibbles.size(); ++i) {
    const std::uint8_t nibble = nibbles.data()[i];
    const bool is_valid = sparsity::is_valid_nibble(nibble, pattern) &&
                          (!instruction.needs_order() || sparsity::is_ordered_nibble(nibble));
    if (!is_valid && found.nibbles++ == 0) {
      found.row = i / nibbles.cols();
      found.group = i % nibbles.cols();
      found.nibble = nibble;
    }
  }
  return found.nibbles > 0 ? std::optional(found) : std::nullopt;
}

/// Whether a change that leaves `left` of `all` wrong elements says more than chance does.
bool explains_some(std::size_t left, std::size_t all) {
  constexpr std::size_t kLeastExplained = 16;  // one of so many is worth a look at the others
  return left < all && kLeastExplained * (all - left) >= all;
}

class Diagnosing {
 public:
  Diagnosing(const KernelData& data, const KernelModel& declared, const mma::Target& target, int threads,
             const Tolerance& tolerance)
      : kernel_(data, target, declared, threads), whole_(kernel_.whole()) {
    result_.tolerance = tolerance;
  }

  KernelDiagnosis run() {
    const numerics::DataType type = kernel_.data.d_type;
    result_.comparison = compare_words(kernel_.computed, kernel_.observed(), type);
    result_.invalid_metadata = find_invalid(kernel_.operands.nibbles, kernel_.model.instruction);
    if (result_.bit_exact()) {
      return std::move(result_);
    }
    if (result_.tolerance.is_given()) {
      bounds_.emplace(kernel_.data, kernel_.model, kernel_.operands, result_.tolerance);
      result_.tolerated = tolerate(kernel_);
    }
    result_.wrong = kernel_.wrong;
    result_.digits = base::Matrix<std::uint8_t>(kernel_.wrong.rows(), kernel_.wrong.cols());
    Selection::all(kernel_.data).each([&](std::size_t i, std::size_t j) { note_mismatch(i, j, type); });
    if (!result_.is_right()) {
      result_.location = find_places(kernel_.wrong);
      explain();
    }
    return std::move(result_);
  }

 private:
  /// Takes elements within the bounds for right; how many that are.
  std::size_t tolerate(WrongKernel& kernel) const {
    const std::size_t before = kernel.mismatches();
    kernel.near = &*bounds_;
    Selection::all(kernel.data).each([&](std::size_t i, std::size_t j) {
      kernel.wrong(i, j) = kernel.agrees(i, j, kernel.computed(i, j)) ? 0 : 1;
    });
    return before - kernel.mismatches();
  }

  /// How much the element is off, and whether it is the first; where all is tolerated, the first that is.
  void note_mismatch(std::size_t i, std::size_t j, numerics::DataType type) {
    const int bytes = vectors::element_bytes(type);
    const numerics::Word x = kernel_.computed(i, j), y = kernel_.observed()(i, j);
    const auto ulps = ulp_distance(x, y, type);
    if (kernel_.wrong(i, j) != 0) {
      result_.digits(i, j) = ulps ? std::uint8_t{1} : KernelDiagnosis::kNoDigits;
      for (std::uint64_t rest = ulps.value_or(0) / 10; rest > 0; rest /= 10) {
        ++result_.digits(i, j);
      }
    }
    if (!result_.first && x != y && (kernel_.wrong(i, j) != 0 || result_.is_right())) {
      result_.first = {i, j, vectors::hex_bits(y, bytes), vectors::hex_bits(x, bytes), ulps};
    }
  }

  /// The steps go on until one explains everything.
  void explain() {
    const Trial trial(kernel_, whole_);
    std::vector<Scored> scored = try_kernels(trial, nullptr);
    result_.may_be_chance = !result_.fitting.empty() && !trial.tells_apart(static_cast<double>(result_.tried));
    if (result_.fitting.empty()) {
      result_.location = located(kernel_, nullptr);
      name(result_.location, nullptr);
    }
    if (result_.fitting.empty()) {
      try_pairs(trial, scored);
    }
    if (result_.fitting.empty()) {
      explain_rest(trial, std::move(scored));
    }
    if (result_.fitting.empty() && !result_.tolerance.is_given()) {
      look_below_rounding();
    }
    if (!result_.fitting.empty()) {
      result_.nearest.reset();
    }
  }

  /// Takes `location` for an explanation, on top of `change` of the whole kernel, where it is one.
  void name(const FaultLocation& location, const Hypothesis* change) {
    if (location.is_complete()) {
      result_.fitting.push_back({(change != nullptr ? change->cause + "+" : "") + location.causes(),
                                 (change != nullptr ? change->text + "; " : "") + text_of(location, kernel_.data)});
    }
  }

  /// The faults of places; `kernel` stays as it is.
  static FaultLocation located(WrongKernel& kernel, std::vector<Found>* found) {
    WrongElements wrong = kernel.wrong;
    FaultLocation location = locate_faults(kernel, found);
    kernel.wrong = std::move(wrong);
    kernel.explained = WrongElements(kernel.wrong.rows(), kernel.wrong.cols());
    return location;
  }

  // Changes of the whole kernel -------------------------------------------------------------------

  /// Every change of the model of `trial`, which has `first` already (null: nothing).
  std::vector<Scored> try_kernels(const Trial& trial, const Hypothesis* first) {
    constexpr std::size_t kFitting = 6;  // explanations that are listed
    std::vector<Scored> scored;
    for (Hypothesis& hypothesis : kernel_changes(trial)) {
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
    constexpr std::size_t kBeam = 3;  // changes that are combined with a second one
    constexpr double kCloser = 0.25;  // by which words must come closer (in log2 of ulps) for a second change
    const auto declared = trial.score({});
    const std::vector<Scored> firsts(scored.begin(),
                                     scored.begin() + static_cast<std::ptrdiff_t>(std::min(kBeam, scored.size())));
    for (const Scored& first : firsts) {
      if (declared && result_.fitting.empty() && first.mean_log2_ulps + kCloser < declared->mean_log2_ulps) {
        base::ensure(first.hypothesis.model.has_value(), "try_pairs: a change of the kernel has no model");
        const Trial second(kernel_, whole_, &*first.hypothesis.model);
        std::ranges::move(try_kernels(second, &first.hypothesis), std::back_inserter(scored));
      }
    }
  }

  /// What is left by the change with fewest mismatches on a large sample, of those that do best on a small one.
  void explain_rest(const Trial& trial, std::vector<Scored> scored) {
    constexpr std::size_t kNear = 24;  // changes that are looked at closer
    const auto order = [](const Scored& one) { return std::pair(one.mismatches, one.mean_log2_ulps); };
    std::ranges::stable_sort(scored, {}, order);
    scored.erase(scored.begin() + static_cast<std::ptrdiff_t>(std::min(kNear, scored.size())), scored.end());
    for (Scored& one : scored) {
      if (const auto near = trial.score(one.hypothesis, true)) {
        one.mismatches = near->mismatches;
        one.mean_log2_ulps = near->mean_log2_ulps;
      }
    }
    const auto best = std::ranges::min_element(scored, {}, order);
    const auto declared = trial.score({}, true);
    if (best == scored.end() || !declared || !explains_some(best->mismatches, declared->mismatches)) {
      return;
    }
    const Hypothesis& change = best->hypothesis;
    base::ensure(change.model.has_value(), "explain_rest: a change of the kernel has no model");
    WrongKernel rest(kernel_.data, kernel_.target, *change.model, kernel_.threads);
    if (bounds_) {
      tolerate(rest);
    }
    if (const std::size_t left = rest.mismatches(); explains_some(left, kernel_.mismatches())) {
      result_.nearest = {change.cause, change.text, left};
      result_.rest = locate_faults(rest);
      name(result_.rest, &change);
    }
  }

  // Below the noise of an unknown order -----------------------------------------------------------

  /// Takes what is explained for right, and parts the rest by size.
  void look_below_rounding() {
    base::Matrix<numerics::Word> rest = kernel_.observed();
    result_.location.each_explained([&](std::size_t i, std::size_t j) { rest(i, j) = kernel_.computed(i, j); });
    bounds_.emplace(kernel_.data, kernel_.model, kernel_.operands);
    bounds_->narrow(kernel_.computed, rest);
    result_.populations = error_populations(*bounds_, kernel_.data.d_type, kernel_.computed, rest);
    if (result_.may_be_order()) {
      if (!result_.location.has_fault()) {
        name(locate_orders(kernel_), nullptr);
      }
      return;
    }
    if (kernel_.model.rules.is_integer()) {
      result_.beyond_rounding = find_places(result_.populations.beyond_rounding);
      return;
    }
    const WrongElements wrong = std::exchange(kernel_.wrong, result_.populations.beyond_rounding);
    kernel_.near = &*bounds_;
    std::vector<Found> found;
    FaultLocation larger = located(kernel_, &found);
    kernel_.near = nullptr;
    kernel_.wrong = wrong;
    if (found.size() == 1 && larger.is_complete()) {
      add_kernel_change(found.front(), larger);
    }
    if (result_.populations.are_two() || larger.has_fault()) {
      result_.beyond_rounding = std::move(larger);
    }
  }

  /// A change of the whole kernel under a fault that hides it: `local` explains its place but for rounding.
  void add_kernel_change(const Found& local, const FaultLocation& larger) {
    const Trial there(kernel_, local.region);
    const auto tried =
        local.hypothesis.change && !local.hypothesis.model ? kernel_changes(there) : std::vector<Hypothesis>();
    for (const Hypothesis& change : tried) {
      Hypothesis both = change;
      both.change = local.hypothesis.change;
      if (there.fit(both) != 1) {
        continue;
      }
      there.selection().each([&](std::size_t row, std::size_t column) { kernel_.explained(row, column) = 1; });
      const bool holds = Trial(kernel_, whole_).fit(change) == 1;
      kernel_.explained = WrongElements(kernel_.wrong.rows(), kernel_.wrong.cols());
      if (holds) {
        name(larger, &change);
        return;
      }
    }
  }

  WrongKernel kernel_;
  Region whole_;
  std::optional<ErrorBounds> bounds_;
  KernelDiagnosis result_;
};

}  // namespace

KernelDiagnosis crosscheck_kernel(const KernelData& data, const KernelModel& declared, const mma::Target& target,
                                  int threads, const Tolerance& tolerance) {
  return Diagnosing(data, declared, target, threads, tolerance).run();
}

}  // namespace sptc::check::kernel
