// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/times/validate.h"

#include <string>

namespace sptc::report {

/// One page that needs no network: sim/report/validate.html with `validation`. `command` repeats it; empty: not known.
std::string validation_page(const check::times::Validation& validation, const std::string& command);

}  // namespace sptc::report
