// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/kernel_model.h"
#include "sim/check/kernel/trial.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sptc::check::kernel {

/// Which parts of K a kernel multiplies with each other, one after the other, in units: groups of
/// the pattern of a sparse instruction, single k of a dense one.
struct KMap {
  static constexpr std::int64_t kZero = -1;  ///< zeros instead of a part

  std::vector<std::int64_t> a, b;  ///< of the same length

  /// All of K in its order.
  static KMap identity(std::size_t units);
};

/// Row `row` of A at its places in K.
std::vector<double> row_in_k(const WrongKernel& kernel, std::size_t row);

/// Logical k of a unit of `instruction`.
std::size_t unit_of(const mma::MmaInstruction& instruction);

/// Makes A, its metadata and B those that a kernel by `map` multiplies.
void rearrange(KernelOperands& operands, const KMap& map, const mma::MmaInstruction& instruction);

/// K of a kernel in units, and the hypotheses that move whole tiles of it.
class KTiles {
 public:
  explicit KTiles(const WrongKernel& kernel);

  std::size_t unit() const { return unit_; }    ///< logical k of one
  std::size_t units() const { return units_; }  ///< in all of K
  /// Units of the k-tiles that kernels may have, long ones first.
  std::vector<std::size_t> sizes() const;
  /// "k 64 to 95".
  std::string range(std::size_t begin, std::size_t end) const;
  /// K in tiles of `tile` units, of which tile t of A, B or both is `source(t)`; zeros where that
  /// is negative or beyond K.
  KMap moved(std::size_t tile, bool of_a, bool of_b,
             const std::function<std::int64_t(std::int64_t)>& source) const;
  /// A kernel that multiplies by `map`.
  Hypothesis summed_by(KMap map, const char* cause, std::string text) const;

 private:
  const WrongKernel& kernel_;
  std::size_t unit_, units_;
};

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

/// The elements of a place that tell most, best first.
std::vector<KSample> k_samples(const Trial& trial);
/// Whether most of `samples` may be what they are, had their sums changed by `change(sample)`: a
/// place may have a second fault.
bool most_may_be(const std::vector<KSample>& samples,
                 const std::function<double(const KSample&)>& change);

/// How often each k-tile of `tile` units enters the sums of a place: 1 as it should, 0 where it is
/// missing, 2 where it is there twice. From the wrong elements, each of which is a linear equation,
/// by least squares. Nothing where they tell too little, or the solution is not of whole numbers.
std::optional<std::vector<int>> k_contributions(const Trial& trial, std::size_t tile);

}  // namespace sptc::check::kernel
