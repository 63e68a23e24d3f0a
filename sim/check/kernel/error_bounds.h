// SPDX-License-Identifier: Apache-2.0
//
// How far two D are apart: in units in the last place, and against a tolerance or a proved bound.
#pragma once

#include "sim/check/kernel/mismatch_region.h"

#include <limits>

namespace sptc::check::kernel {

/// Units in the last place between two words of `type`: steps along the numbers of the format, through zero (whose two
/// signs are one apart); of integers their difference. Nothing where one is NaN or infinite and the other is not the
/// same.
std::optional<std::uint64_t> ulp_distance(numerics::Word x, numerics::Word y, numerics::DataType type);

/// Elements whose distance is in [from, to].
struct UlpBucket {
  std::uint64_t from = 0, to = 0;
  std::size_t elements = 0;
};

/// How two matrices of words differ, bit for bit.
struct WordComparison {
  std::size_t elements = 0, mismatches = 0;
  std::size_t special = 0;           ///< mismatches of NaN or infinity
  std::vector<UlpBucket> histogram;  ///< 0, 1, 2, 3..4, 5..8 and so on to the largest distance
  double mean_log2_ulps = 0;         ///< of log2(1 + distance) over all elements; special: 33
};
WordComparison compare_words(const base::Matrix<numerics::Word>& computed, const base::Matrix<numerics::Word>& observed,
                             numerics::DataType type);

/// How far an element of D may be off and still counts as right. Nothing: equal bits alone.
struct Tolerance {
  std::optional<std::uint64_t> ulps = std::nullopt;
  std::optional<double> relative = std::nullopt;  ///< to the sum of |a||b| of the element, with |C| and |bias|

  bool is_given() const { return ulps || relative; }
};
/// "ulps:4", "rel:1e-6". Throws InputError with `what` in front.
Tolerance parse_tolerance(const std::string& what, const std::string& text);

/// How near two words of an element of D are. Without a tolerance: as near as two orders of the same sum may bring
/// them, which is proved (error_bounds.cpp), and where most elements are much nearer, in proportion to them.
class ErrorBounds {
 public:
  ErrorBounds(const KernelData& data, const KernelModel& model, const KernelOperands& operands,
              const Tolerance& tolerance = {});

  /// Whether |x - y| is within the bound of the element.
  bool are_near(std::size_t row, std::size_t column, numerics::Word x, numerics::Word y) const {
    return in_bounds(row, column, x, y).value_or(2) <= 1;
  }
  /// |x - y| in bounds of the element; nothing: NaN or infinity.
  std::optional<double> in_bounds(std::size_t row, std::size_t column, numerics::Word x, numerics::Word y) const;
  /// Narrows the proved bound: near is at most 8 times the error that orders usually have, relative to the size of
  /// partial sums, and where there are many errors in f32 64 times the median distance of `computed` and `observed`,
  /// relative to that size or to the sum of |a||b|.
  void narrow(const base::Matrix<numerics::Word>& computed, const base::Matrix<numerics::Word>& observed);
  /// |x - y| relative to the sum of |a||b|: the backward error. Of NaN and infinity 0.
  double backward_error(std::size_t row, std::size_t column, numerics::Word x, numerics::Word y) const;
  /// The backward error that another order may have.
  double proved() const { return proved_; }

 private:
  numerics::DataType type_;
  Tolerance tolerance_;
  /// How large partial sums of an element usually are, whose D is `value` or `other`.
  double size_of(std::size_t row, std::size_t column, double value, double other) const;

  base::Matrix<float> magnitude_;  ///< not below the sum of |a||b|, with |C| and |bias|
  double proved_ = 0, usual_ = 0, root_of_depth_ = 1;
  double of_magnitude_ = std::numeric_limits<double>::max(), of_size_ = of_magnitude_,
         most_of_size_ = of_magnitude_;  ///< of narrow()
};

/// Elements of D that differ, and by how much.
struct Population {
  std::size_t elements = 0;
  std::optional<std::uint64_t> least_ulps, most_ulps;  ///< nothing: all are NaN or infinite
  double most_relative = 0;                            ///< largest backward error
};

/// The wrong elements of D: those that another order of the same sum may explain, and those that are off by more than
/// it may, or by far more than most.
struct ErrorPopulations {
  Population rounding, beyond;
  WrongElements beyond_rounding;  ///< where those are
  double proved = 0;              ///< ErrorBounds::proved

  bool are_two() const { return rounding.elements > 0 && beyond.elements > 0; }
};
ErrorPopulations error_populations(const ErrorBounds& bounds, numerics::DataType type,
                                   const base::Matrix<numerics::Word>& computed,
                                   const base::Matrix<numerics::Word>& observed);

}  // namespace sptc::check::kernel
