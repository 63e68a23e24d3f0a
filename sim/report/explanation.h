// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>

namespace sptc::report {

/// What the tensor cores of one launch do in its cycles, where it was simulated; how much faster it
/// would be with twice of each resource; dense above sparse, and explanation_sentence().
std::string explain(const run::OperationResult& operation);

/// What the sparse weights gain, and of each variant what its tensor cores do and what would make
/// it faster.
std::string explanation_sentence(const run::OperationResult& operation);

}  // namespace sptc::report
