// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_crosscheck.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "models/mma/instruction.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"
#include "sim/check/kernel/fault_finders.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/mma_batch.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;

// Rows, and columns, of samples: those that hold mismatches, and others. Most alternatives fail the
// small sample, nearly all wrong ones the large one, and only the rest is worth the whole D.
struct SampleSize {
  std::size_t wrong, other;
};
constexpr SampleSize kSmall{12, 4};
constexpr SampleSize kLarge{72, 24};
constexpr std::size_t kBeam = 3;     // alternatives that are combined with a second one
constexpr std::size_t kNear = 64;    // alternatives that are looked at closer for the nearest
constexpr std::size_t kFitting = 6;  // explanations that are listed
// A first change is worth a second one where the words come this much closer (in log2 of ulps).
constexpr double kCloser = 0.25;

/// Some lines that hold mismatches, and some others.
std::vector<std::size_t> sample_of(std::size_t count, const std::set<std::size_t>& wrong,
                                   const SampleSize& size) {
  std::set<std::size_t> sample;
  const auto take_evenly = [&](const std::vector<std::size_t>& from, std::size_t wanted) {
    const std::size_t step = std::max<std::size_t>(from.size() / wanted, 1);
    for (std::size_t i = 0; i < from.size() && i / step < wanted; i += step) {
      sample.insert(from[i]);
    }
  };
  take_evenly({wrong.begin(), wrong.end()}, size.wrong);
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < count; ++i) {
    if (!wrong.contains(i)) {
      others.push_back(i);
    }
  }
  take_evenly(others, wrong.size() < size.wrong ? size.wrong : size.other);
  return {sample.begin(), sample.end()};
}

/// An alternative and how it does on the sample.
struct Scored {
  Alternative alternative;
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

// Populations of errors --------------------------------------------------------------------------

/// The Euclidean length of each row.
std::vector<double> lengths(const base::Matrix<Word>& matrix, DataType type) {
  std::vector<double> result(matrix.rows());
  for (std::size_t row = 0; row < matrix.rows(); ++row) {
    double squares = 0;
    for (const Word word : matrix.row(row)) {
      const double value = numerics::to_double(word, type);
      squares += value * value;
    }
    result[row] = std::sqrt(squares);
  }
  return result;
}

class Bounds {
 public:
  explicit Bounds(const WrongKernel& kernel)
      : kernel_(kernel),
        a_(lengths(kernel.operands.a, kernel.model.instruction.a_type)),
        b_(lengths(kernel.operands.b_columns, kernel.model.instruction.b_type)) {
    const mma::StepRules& rules = kernel.model.rules;
    const auto depth = static_cast<std::int64_t>(kernel.operands.a.cols());
    const auto steps = base::ceil_div(depth, std::int64_t{rules.products_per_step});
    const int bits =
        rules.is_integer()
            ? 0
            : std::min(rules.fraction_bits, numerics::info(rules.output).format->mantissa_bits);
    lost_ = rules.is_integer()
                ? 0
                : static_cast<double>(steps * (rules.products_per_step + 2)) * std::ldexp(1, -bits);
  }

  /// By how much `x` and `y`, both of D[i, j], may differ.
  double of(std::size_t i, std::size_t j, double x, double y) const {
    const KernelData& data = kernel_.data;
    const Epilogue& epilogue = kernel_.model.epilogue;
    const double scale = std::fabs(double{epilogue.alpha} * epilogue.scale_a * epilogue.scale_b);
    double largest = scale * a_[i] * b_[j];
    if (!kernel_.operands.c.empty()) {
      largest +=
          std::fabs(epilogue.beta * numerics::to_double(kernel_.operands.c(i, j), data.c_type));
    }
    if (!kernel_.operands.bias.empty()) {
      largest += std::fabs(double{kernel_.operands.bias(i, j)});
    }
    const auto& format = numerics::info(data.d_type).format;
    const double unit_of_d =
        format ? std::ldexp(
                     std::max({std::fabs(x), std::fabs(y), std::ldexp(1, format->min_exponent())}),
                     -format->mantissa_bits)
               : 0;
    return 2 * lost_ * largest * std::fabs(double{epilogue.scale_d}) + unit_of_d;
  }

 private:
  const WrongKernel& kernel_;
  std::vector<double> a_, b_;
  double lost_ = 0;  ///< of the largest term, by all steps
};

/// The bound of an element is proved: the terms and partial sums of any order are at most |a_i|
/// |b_j| (Cauchy and Schwarz), |C| and the bias. Of each step all of L + 1 addends and the sum lose
/// less than a unit of the accumulator, in both D, and the conversion to D's type a unit of that.
/// Integer sums are exact.
ErrorPopulations error_populations(const WrongKernel& kernel) {
  const DataType type = kernel.data.d_type;
  const Bounds bounds(kernel);
  ErrorPopulations result;
  result.beyond_rounding = WrongElements(kernel.wrong.rows(), kernel.wrong.cols());
  for (std::size_t i = 0; i < kernel.wrong.rows(); ++i) {
    for (std::size_t j = 0; j < kernel.wrong.cols(); ++j) {
      if (kernel.wrong(i, j) == 0) {
        continue;
      }
      const Word computed = kernel.computed(i, j), observed = kernel.observed()(i, j);
      const auto ulps = ulp_distance(computed, observed, type);
      const double x = numerics::to_double(computed, type), y = numerics::to_double(observed, type);
      if (std::fabs(x - y) <= bounds.of(i, j, x, y)) {
        result.rounding.add(ulps);
      } else {  // NaN too
        result.beyond.add(ulps);
        result.beyond_rounding(i, j) = 1;
      }
    }
  }
  return result;
}

// Diagnosis ---------------------------------------------------------------------------------------

class Diagnosing {
 public:
  Diagnosing(const KernelData& data, const KernelModel& declared, const mma::Target& target,
             int threads)
      : data_(data), declared_(declared), target_(target), threads_(threads) {}

  KernelDiagnosis run() {
    const KernelOperands operands = arrange(data_, declared_, Selection::all(data_));
    const base::Matrix<Word> computed = execute(data_, declared_, operands, threads_);
    result_.comparison = compare_words(computed, operands.d, data_.d_type);
    result_.invalid_metadata = find_invalid(operands.nibbles, declared_.instruction);
    if (result_.bit_exact()) {
      return std::move(result_);
    }
    find_differences(computed, operands.d);
    const WrongKernel kernel{data_, declared_, operands, computed, result_.wrong, threads_};
    if (explains_by_signs_of_zeros()) {
      return std::move(result_);
    }
    const std::optional<LocalFault> local = find_local_fault(data_, declared_, operands, computed);
    if (local && !local->could_be_rounding) {
      result_.fitting.push_back({std::string(local->cause), local->text, 0});
      return std::move(result_);
    }
    std::vector<Scored> singles = try_singles();
    if (result_.fitting.empty()) {
      locate(kernel);
    }
    if (result_.fitting.empty()) {
      try_combinations(std::move(singles));
    }
    if (result_.fitting.empty()) {
      explain_rest();
    }
    if (result_.fitting.empty() && !local) {
      part_errors(kernel);
    }
    if (local) {
      result_.fitting.push_back({std::string(local->cause), local->text, 0});
    }
    if (!result_.fitting.empty()) {
      result_.nearest.reset();
    }
    return std::move(result_);
  }

 private:
  void find_differences(const base::Matrix<Word>& computed, const base::Matrix<Word>& observed) {
    std::set<std::size_t> rows;
    std::set<std::size_t> columns;
    for (std::size_t i = 0; i < computed.rows(); ++i) {
      for (std::size_t j = 0; j < computed.cols(); ++j) {
        const Word x = computed(i, j);
        const Word y = observed(i, j);
        if (x == y) {
          continue;
        }
        rows.insert(i);
        columns.insert(j);
        if (!result_.first) {
          const int bytes = vectors::element_bytes(data_.d_type);
          result_.first = {i, j, vectors::hex_bits(y, bytes), vectors::hex_bits(x, bytes),
                           ulp_distance(x, y, data_.d_type)};
        }
      }
    }
    result_.wrong = wrong_elements(computed, observed);
    result_.location = find_places(result_.wrong);
    sample_ = {sample_of(data_.m, rows, kSmall), sample_of(data_.n, columns, kSmall)};
    large_sample_ = {sample_of(data_.m, rows, kLarge), sample_of(data_.n, columns, kLarge)};
  }

  /// Nothing where the memory cannot be read as the model does.
  std::optional<WordComparison> compare(const KernelModel& model, const Selection& selection,
                                        int threads) const {
    try {
      const KernelOperands operands = arrange(data_, model, selection);
      return compare_words(execute(data_, model, operands, threads), operands.d, data_.d_type);
    } catch (const base::InputError&) {
      return std::nullopt;
    }
  }

  /// Scores one alternative; whether it fits the sample, and then all of D.
  bool consider(const Alternative& alternative, std::vector<Scored>& scored) {
    const auto sampled = compare(alternative.model, sample_, 1);
    if (!sampled) {
      return false;
    }
    ++result_.tried;
    if (sampled->mismatches == 0 && result_.fitting.size() < kFitting &&
        fits_large_sample(alternative.model)) {
      const auto whole = compare(alternative.model, Selection::all(data_), threads_);
      base::ensure(whole.has_value(), "an alternative reads a sample but not the whole");
      keep_nearest(alternative, whole->mismatches);
      if (whole->mismatches == 0) {
        result_.fitting.push_back({alternative.cause, alternative.text, 0});
        return true;
      }
    }
    scored.push_back({alternative, sampled->mismatches, sampled->mean_log2_ulps});
    return false;
  }

  bool fits_large_sample(const KernelModel& model) const {
    const auto sampled = compare(model, large_sample_, threads_);
    return sampled && sampled->mismatches == 0;
  }

  void keep_nearest(const Alternative& alternative, std::size_t mismatches) {
    const std::size_t best =
        result_.nearest ? result_.nearest->mismatches : result_.comparison.mismatches;
    if (mismatches < best) {
      result_.nearest = {alternative.cause, alternative.text, mismatches};
      nearest_model_ = alternative.model;
    }
  }

  /// Elements that a compressor lost for a -0.0 are single nibbles, too.
  bool explains_by_signs_of_zeros() {
    std::vector<Scored> scored;
    for (const Alternative& alternative : alternatives(data_, declared_, target_)) {
      if (alternative.model.reading.pruning == Pruning::kZeroSigns &&
          consider(alternative, scored)) {
        return true;
      }
    }
    return false;
  }

  void locate(const WrongKernel& kernel) {
    FaultLocation location = locate_faults(kernel, target_);
    if (location.is_complete()) {
      result_.fitting.push_back({location.causes(), text_of(location, data_), 0});
    }
    result_.location = std::move(location);
  }

  /// Looks for faults of places in what the nearest alternative leaves.
  void explain_rest() {
    if (!result_.nearest) {
      return;
    }
    const Explanation& nearest = *result_.nearest;
    const KernelOperands operands = arrange(data_, nearest_model_, Selection::all(data_));
    const base::Matrix<Word> computed = execute(data_, nearest_model_, operands, threads_);
    const WrongElements wrong = wrong_elements(computed, operands.d);
    if (2 * nearest.mismatches > result_.comparison.mismatches) {
      result_.rest = find_places(wrong);
      return;
    }
    result_.rest =
        locate_faults({data_, nearest_model_, operands, computed, wrong, threads_}, target_);
    if (result_.rest.is_complete()) {
      result_.fitting.push_back({nearest.cause + "+" + result_.rest.causes(),
                                 nearest.text + "; " + text_of(result_.rest, data_), 0});
    }
  }

  void part_errors(const WrongKernel& kernel) {
    result_.populations = error_populations(kernel);
    if (result_.populations.are_two()) {
      result_.beyond_rounding = find_places(result_.populations.beyond_rounding);
    }
  }

  std::vector<Scored> try_singles() {
    std::vector<Scored> singles;
    for (const Alternative& alternative : alternatives(data_, declared_, target_)) {
      consider(alternative, singles);
    }
    std::ranges::stable_sort(singles, {}, &Scored::mean_log2_ulps);
    return singles;
  }

  void try_combinations(std::vector<Scored> singles) {
    const auto declared = compare(declared_, sample_, 1);
    base::ensure(declared.has_value(), "the declared model reads the whole but not a sample");
    std::vector<Scored> all = singles;
    for (std::size_t i = 0; i < std::min(kBeam, singles.size()); ++i) {
      if (singles[i].mean_log2_ulps + kCloser < declared->mean_log2_ulps) {
        try_pairs(singles[i], all);
      }
    }
    if (result_.fitting.empty()) {
      find_nearest(std::move(all));
    }
  }

  void try_pairs(const Scored& first, std::vector<Scored>& all) {
    for (Alternative& second : alternatives(data_, first.alternative.model, target_)) {
      if (second.cause == first.alternative.cause) {
        continue;
      }
      if (!result_.fitting.empty()) {
        return;
      }
      second.cause = first.alternative.cause + "+" + second.cause;
      second.text = first.alternative.text + "; " + second.text;
      consider(second, all);
    }
  }

  /// The alternative with fewest mismatches on the large sample, of those that do best on the small
  /// one; counted over all of D.
  void find_nearest(std::vector<Scored> all) {
    const auto order = [](const Scored& scored) {
      return std::pair(scored.mismatches, scored.mean_log2_ulps);
    };
    std::ranges::stable_sort(all, {}, order);
    all.resize(std::min(all.size(), kNear));
    for (Scored& scored : all) {
      if (const auto sampled = compare(scored.alternative.model, large_sample_, threads_)) {
        scored.mismatches = sampled->mismatches;
        scored.mean_log2_ulps = sampled->mean_log2_ulps;
      }
    }
    const auto best = std::ranges::min_element(all, {}, order);
    if (best == all.end()) {
      return;
    }
    if (const auto whole = compare(best->alternative.model, Selection::all(data_), threads_)) {
      keep_nearest(best->alternative, whole->mismatches);
    }
  }

  const KernelData& data_;
  const KernelModel& declared_;
  const mma::Target& target_;
  int threads_;
  Selection sample_, large_sample_;
  KernelModel nearest_model_{};  ///< of result_.nearest
  KernelDiagnosis result_;
};

}  // namespace

void Population::add(std::optional<std::uint64_t> ulps) {
  ++elements;
  if (ulps) {
    least_ulps = std::min(least_ulps.value_or(*ulps), *ulps);
    most_ulps = std::max(most_ulps.value_or(*ulps), *ulps);
  }
}

KernelDiagnosis crosscheck_kernel(const KernelData& data, const KernelModel& declared,
                                  const mma::Target& target, int threads) {
  return Diagnosing(data, declared, target, threads).run();
}

}  // namespace sptc::check::kernel
