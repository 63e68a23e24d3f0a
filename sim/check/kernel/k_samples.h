// SPDX-License-Identifier: Apache-2.0
//
// Hypotheses about K: which parts of A and B a kernel multiplies with each other. Wrong elements in double precision
// tell which of many are worth an exact try.
#pragma once

#include "sim/check/kernel/trial.h"

namespace sptc::check::kernel {

/// Row `row` of A, column `column` of B at their places in K.
std::vector<double> row_in_k(const WrongKernel& kernel, std::size_t row);
std::vector<double> column_in_k(const WrongKernel& kernel, std::size_t column);

/// One wrong element of D in double precision.
class KSample {
 public:
  KSample(const WrongKernel& kernel, std::size_t row, std::size_t column);

  /// How many times what rounding may do the element differs; 0 where not all of it is finite.
  double certainty() const { return is_finite_ ? off_ / tolerance_ : 0; }
  /// The sum of the products that `map` has.
  double sum_of(const KMap& map) const;
  /// What the sum of products would have to change by, for the element to be as the kernel returned it; without an
  /// activation.
  double missing_sum() const;
  /// The factor by which its sum of products would have to be multiplied.
  double missing_factor() const { return 1 + missing_sum() / prefix_.back(); }
  /// Whether the element may be as the kernel returned it, were `sum` the sum of the products.
  bool may_be(double sum) const;

 private:
  const Epilogue* epilogue_;
  std::size_t unit_;
  std::vector<double> a_, b_, prefix_;  ///< of all logical k; sums of the products of the units before each
  double c_ = 0, bias_ = 0;
  double observed_ = 0, off_ = 0, tolerance_ = 0;
  bool is_finite_ = true;
};

/// Those of `places` that differ by more than rounding.
std::vector<KSample> k_samples(const WrongKernel& kernel,
                               const std::vector<std::pair<std::size_t, std::size_t>>& places);

/// Units [begin, end) of both operands, or zeros instead.
KPart part_of_k(std::size_t begin, std::size_t end);
KPart zeros_of_k(std::size_t count);

/// Collects kernels that multiply other parts of K, those that the wrong elements of a place allow.
class KMaps {
 public:
  explicit KMaps(const Trial& at);

  Proposals proposals;

  std::size_t unit() const { return unit_; }    ///< logical k of one
  std::size_t units() const { return units_; }  ///< in all of K
  /// Units of the k-tiles that kernels may have, long ones first. None where no element differs by more than rounding.
  std::vector<std::size_t> sizes() const;
  /// "k 64 to 95".
  std::string range(std::size_t begin, std::size_t end) const;
  /// K in tiles of `tile` units, of which tile t of A, B or both is `source(t)`; zeros where that is negative or
  /// beyond.
  KMap moved(std::size_t tile, bool of_a, bool of_b, const std::function<std::int64_t(std::int64_t)>& source) const;
  /// Tiles of `tile` units: "k 64 to 95, k 256 to 287", "k-tile 1 of every 2 tiles of 32 k".
  std::string tiles(const std::vector<std::size_t>& chosen, std::size_t tile) const;
  /// How many times a change of each k-tile of `tile` units is in the sums of a place, `least` to `most`. `adds` says
  /// what it adds to a sum once; every wrong element is a linear equation, solved by least squares. Empty where they
  /// tell too little, or the solution is not of whole numbers.
  std::vector<int> times_of_tiles(std::size_t tile, int least, int most,
                                  const std::function<double(const KSample& sample, std::size_t t)>& adds);
  void add(const char* cause, std::string text, KMap map);
  /// Adds it where most elements may be what they are with it: a place may have a second fault. No more than some
  /// dozens of one size of tiles.
  template <typename Text>
  void add_if_likely(std::size_t tile, const char* cause, KMap map, const Text& text) {
    if (is_likely(tile, map)) {
      add(cause, text(), std::move(map));
    }
  }

 private:
  bool is_likely(std::size_t tile, const KMap& map);

  const Trial& at_;
  const WrongKernel& kernel_;
  std::size_t unit_, units_;
  std::vector<KSample> samples_;  ///< that tell most
  std::vector<KSample> spread_;   ///< from all over the place, as many as were wanted so far
  std::size_t tile_ = 0, most_ = 0;
};

}  // namespace sptc::check::kernel
