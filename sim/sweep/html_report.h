// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/sweep_table.h"

#include <string>

namespace sptc::sweep {

/// One HTML file that needs no network: sim/sweep/report.html with the table inside, and the
/// command that writes it, empty where none does.
std::string html_report(const SweepTable& table, const std::string& command);

}  // namespace sptc::sweep
