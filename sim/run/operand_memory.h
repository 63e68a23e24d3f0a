// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

namespace sptc::run {

/// Throws InputError where the memory does not suffice for the values of `op`: its operands in both
/// forms, D, and what the reference needs.
void require_operand_memory(const workload::Operation& op);

}  // namespace sptc::run
