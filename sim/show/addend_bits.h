// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/element_trace.h"

#include <string>

namespace sptc::show {

/// A number in binary as the adders see it: bits of weight 2^top down to 2^unit, and those below
/// that the alignment cuts off.
struct AddendBits {
  bool negative = false;
  std::string kept;  ///< top first
  std::string cut;   ///< what follows, up to its last one; "" where nothing is lost
};

/// The window that all addends of a step and their sum fit in.
struct BitWindow {
  int unit_exponent = 0;  ///< weight of the last kept bit
  int bits = 0;           ///< kept
  int point = 0;          ///< kept bits before the point: those of weight 2^largest and more
  int largest_exponent = 0;
};

/// The window of an aligned step with addends. `fraction_bits` is F.
BitWindow bit_window(const mma::ElementStep& step, int fraction_bits);

AddendBits addend_bits(const mma::Addend& addend, const BitWindow& window);
AddendBits sum_bits(std::int64_t sum, const BitWindow& window);

}  // namespace sptc::show
