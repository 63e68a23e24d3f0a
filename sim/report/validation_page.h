// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/times/validation_report.h"

#include <span>
#include <string>

namespace sptc::report {

/// One page that needs no network: sim/report/validate.html with `validation`, which was made of
/// `rows`. `command` repeats it; empty: not known.
std::string validation_page(const compare::times::Validation& validation,
                            std::span<const compare::times::Comparison> rows,
                            const std::string& command);

}  // namespace sptc::report
