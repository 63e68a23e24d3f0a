// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/recording.h"

#include <string>

namespace sptc::workload {

/// `recording` as gemm-workload JSON, which parse_workload_json() reads back. Throws InputError for
/// a network with real values, whose tensors stand in a file of its own.
std::string workload_json(const Recording& recording);

}  // namespace sptc::workload
