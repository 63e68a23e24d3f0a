// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/kernel_model.h"
#include "sim/io/json_reader.h"

namespace sptc::check::kernel {

/// Refuses operands that do not fit each other, and a sparse A that breaks its pattern. Throws InputError at the
/// operand that is wrong, a member of `file`; where A and B differ in k, the other extents tell which of them that is.
void require_extents(const KernelData& data, const KernelModel& declared, const io::JsonPlace& file);

}  // namespace sptc::check::kernel
