// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/codec.h"
#include "sim/compare/kernel/kernel_model.h"

#include <optional>
#include <string>
#include <string_view>

namespace sptc::compare::kernel {

/// A fault of one place, not of the method.
struct LocalFault {
  std::string_view cause;  ///< "bit-of-d", "bit-of-a", "bit-of-b", "metadata-nibble"
  std::string text;        ///< where and what, in words
  /// Whether a difference of another kind would look the same: single units in the last place.
  bool could_be_rounding = false;
};

/// Where few elements differ: the one flipped bit of D, the flipped bit of an element of A or B, or
/// the changed nibble of metadata that explains every word of `operands.d` bit for bit. `operands`
/// and `computed` are of all of D. Nothing where differences are not in one or two rows or columns,
/// or nothing fits.
std::optional<LocalFault> find_local_fault(const KernelData& data, const KernelModel& model,
                                           const KernelOperands& operands,
                                           const base::Matrix<numerics::Word>& computed);

}  // namespace sptc::compare::kernel
