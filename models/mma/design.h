// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::mma {

/// The mma instruction that a tensor core is built around. The default is PTX's.
struct MmaDesign {
  int m = 16, n = 8;
  int a_bytes_per_row = 32;
  bool operator==(const MmaDesign&) const = default;
};

/// An accumulator of one's own. 0: as the numerics have it.
struct AccumulatorDesign {
  int fraction_bits = 0;  ///< F
  int step_bytes = 0;     ///< of operand A whose products one step adds: L products
  bool operator==(const AccumulatorDesign&) const = default;
};

}  // namespace sptc::mma
