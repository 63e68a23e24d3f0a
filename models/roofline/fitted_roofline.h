// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"

#include <cstddef>
#include <span>

namespace sptc::roofline {

/// What a GEMM takes of a machine.
struct GemmWork {
  double flop = 0;
  double bytes = 0;  ///< operands and result once
};

/// Bytes of an element of A, B and D. Those of a sparse A count the elements that are not stored:
/// f16 at 2:4 has 1.
struct ElementBytes {
  double a = 2;
  double b = 2;
  double d = 2;
};

/// Multiplications by zeros that a sparse A leaves out count as work: the fitted rate is effective.
GemmWork work_of(const base::GemmShape& shape, const ElementBytes& bytes);

/// A measured GEMM.
struct TimedGemm {
  GemmWork work;
  double time_us = 0;
};

/// The four-constant roofline t = t0 + (tc^p + tb^p)^(1/p) with tc = flop / rate and tb = bytes /
/// bandwidth. Fitted to measurements of one type and sparsity it is the baseline that a simulator
/// has to beat.
struct FittedRoofline {
  double flop_per_us = 0;
  double bytes_per_us = 0;
  double fixed_us = 0;
  double exponent = 1;

  double time_us(const GemmWork& work) const;
};

/// Fewest rows that fit_roofline() takes.
inline constexpr std::size_t kFewestRows = 8;

/// The constants with the least mean absolute percentage error on `measured`, at least kFewestRows
/// of one type and sparsity, found by a pattern search from a robust start.
FittedRoofline fit_roofline(std::span<const TimedGemm> measured);

}  // namespace sptc::roofline
