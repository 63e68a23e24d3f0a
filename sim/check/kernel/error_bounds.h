// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/word.h"
#include "sim/check/kernel/kernel_model.h"
#include "sim/check/kernel/mismatch_region.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sptc::check::kernel {

/// By how much an element of D may be off and still counts as right. Nothing: equal bits alone.
struct Tolerance {
  std::optional<std::uint64_t> ulps = std::nullopt;
  std::optional<double> relative =
      std::nullopt;  ///< to the sum of |a||b| of the element, with |C| and |bias|

  bool is_given() const { return ulps || relative; }
};

/// "ulps:4", "rel:1e-6". Throws InputError with `what` in front.
Tolerance parse_tolerance(const std::string& what, const std::string& text);

/// How near two words of an element of D are. Without a tolerance: as near as two orders of the
/// same sum may bring them, which is proved (error_bounds.cpp).
class ErrorBounds {
 public:
  ErrorBounds(const KernelData& data, const KernelModel& model, const KernelOperands& operands,
              const Tolerance& tolerance = {});

  /// |x - y| in bounds of the element, at most 1 where they are near; nothing: NaN or infinity.
  std::optional<double> in_bounds(std::size_t row, std::size_t column, numerics::Word x,
                                  numerics::Word y) const;
  /// |x - y| relative to the sum of |a||b|: the backward error. Nothing as above.
  std::optional<double> backward_error(std::size_t row, std::size_t column, numerics::Word x,
                                       numerics::Word y) const;
  /// The backward error that another order may have.
  double proved() const { return proved_; }

 private:
  numerics::DataType type_;
  Tolerance tolerance_;
  base::Matrix<float> magnitude_;  ///< not below the sum of |a||b|, with |C| and |bias|
  double proved_ = 0;
};

/// Elements of D that differ, and by how much.
struct Population {
  std::size_t elements = 0;
  std::optional<std::uint64_t> least_ulps, most_ulps;  ///< nothing: all are NaN or infinite
  double most_relative = 0;                            ///< largest backward error

  void add(std::optional<std::uint64_t> ulps, std::optional<double> relative);
};

/// The wrong elements of D: those that another order of the same sum may explain, and those that
/// are off by more than any order can be.
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
