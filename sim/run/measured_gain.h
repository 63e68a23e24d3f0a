// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/numerics/data_type.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::run {

/// A launch that was measured, and what the closed form makes of it.
struct MeasuredTime {
  double measured_us = 0, simulated_us = 0;
  std::array<std::int64_t, 3> bytes{};  ///< of DRAM, L2 and shared memory, simulated
};

/// A shape that was measured dense and sparse.
struct MeasuredPair {
  base::GemmShape shape;
  numerics::DataType dtype = numerics::DataType::kF16;
  std::string pattern;
  MeasuredTime dense, sparse;
  std::string conditions;  ///< of its launches: L2, library, source, ...

  double gain() const { return dense.measured_us / sparse.measured_us; }
  double simulated_gain() const { return dense.simulated_us / sparse.simulated_us; }
  /// Whether a launch of one GEMM has its type and sparsity, and each of m, n, k within a factor of
  /// two.
  bool is_like(const base::GemmShape& other, numerics::DataType type,
               std::string_view sparsity) const;

  /// |simulated gain / measured gain - 1|.
  double gain_error() const;
};

/// How far simulated gains are from measured ones on shapes like those of a result.
struct MeasuredGain {
  std::vector<MeasuredPair> pairs;
  std::int64_t layers = 0;       ///< of the result, with both variants
  std::int64_t layers_like = 0;  ///< of them, those with a pair like them

  /// Enough pairs for a mean.
  bool is_known() const;
  /// Mean of MeasuredPair::gain_error(), in percent. There must be a pair.
  double mean_error_percent() const;
};

}  // namespace sptc::run
