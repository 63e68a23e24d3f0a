// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/reference/gemm_reference.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sptc::reference {

/// One element of D that is not what it must be.
struct Violation {
  std::size_t row = 0, col = 0;
  numerics::Word got = 0;
  numerics::Word expected = 0;  ///< the reference rounded to nearest, or the word that bits are compared with
};

/// What a comparison of D with its reference found.
struct Findings {
  std::int64_t elements = 0;                 ///< compared
  std::int64_t mismatches = 0;               ///< beyond their bound, or of the wrong class (NaN, infinity)
  std::int64_t undecided = 0;                ///< of `elements`: neither right nor wrong, see Expectation::kUndecided
  double worst_error = 0;                    ///< largest |got - reference|; infinite where classes differ
  double bound_at_worst = 0;                 ///< bound of that element
  double worst_ratio = 0;                    ///< largest error / bound
  std::optional<Violation> first_violation;  ///< in the order in which elements were compared

  /// Adds what was found elsewhere, after this.
  void add(const Findings& other);
};

/// Every element of D [m, n] against the double-precision reference and its proved bound.
Findings check_against_reference(const GemmInputs& inputs, const BlockFma& arithmetic,
                                 const base::Matrix<numerics::Word>& d, numerics::DataType d_type);

/// Every element of D against expected words, bit for bit. Errors are those of the values; every
/// bound is 0.
Findings check_bits(const base::Matrix<numerics::Word>& d, const base::Matrix<numerics::Word>& expected,
                    numerics::DataType d_type);

}  // namespace sptc::reference
