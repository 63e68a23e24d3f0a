// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>

namespace sptc::report {

// Parts that the long and the short text report have in common; empty where there is nothing.

/// How many samples the network classifies right.
std::string accuracy_text(const run::RunResult& result);

/// --explain: why each operation takes its time and its energy.
std::string explanation_text(const run::RunResult& result);

}  // namespace sptc::report
