// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"

#include <span>

namespace sptc::roofline {

/// A measured GEMM: extents and microseconds.
struct TimedGemm {
  GemmShape shape;
  double time_us = 0;
};

/// The four-constant roofline t = t0 + (tc^p + tb^p)^(1/p) with tc = flop / rate and
/// tb = bytes / bandwidth (operands and result once, 2 bytes each). Fitted to the measurements
/// themselves it is the baseline that a simulator has to beat, and the trend that has to be taken
/// out before one can ask whether tiles and waves are predicted.
struct FittedRoofline {
  double flop_per_us = 0;
  double bytes_per_us = 0;
  double fixed_us = 0;
  double exponent = 1;

  double time_us(const GemmShape& shape) const;
};

/// The constants with the least mean absolute percentage error on `measured` (at least 8 rows),
/// found by a pattern search from a robust start.
FittedRoofline fit_roofline(std::span<const TimedGemm> measured);

}  // namespace sptc::roofline
