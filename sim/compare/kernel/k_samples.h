// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/k_map.h"
#include "sim/compare/kernel/region_trial.h"

#include <cstddef>
#include <vector>

namespace sptc::compare::kernel {

/// One wrong element of D in double precision. What parts of K contribute to it tells, within the
/// rounding of the kernel, which of many hypotheses are worth an exact try.
class KSample {
 public:
  KSample(const WrongKernel& kernel, std::size_t row, std::size_t column);

  /// Whether all that it multiplies is finite, and whether the element differs by more than
  /// rounding.
  bool is_useful() const { return is_finite_ && off_ > 4 * tolerance_; }
  double certainty() const { return is_finite_ ? off_ / tolerance_ : 0; }

  /// The sum of the products of units [0, end).
  double prefix(std::size_t end) const { return prefix_[end]; }
  /// Products of `count` units of A from `a` with those of B from `b`; outside of K: zeros.
  double products(std::size_t a, std::size_t b, std::size_t count) const;
  /// What the sum of products would have to change by, for the element to be as the kernel returned
  /// it; without an activation.
  double missing_sum() const;
  /// Whether the element may be as the kernel returned it, had the sum changed by `change`.
  bool may_be(double change) const;

 private:
  const WrongKernel* kernel_;
  std::size_t unit_;
  std::vector<double> a_, b_, prefix_;  ///< of all logical k; of units
  double c_ = 0, bias_ = 0;
  double observed_ = 0;
  double tolerance_ = 0;
  double off_ = 0;
  bool is_finite_ = true;
};

/// The elements of a region that tell most, best first.
std::vector<KSample> k_samples(const RegionTrial& trial);

}  // namespace sptc::compare::kernel
