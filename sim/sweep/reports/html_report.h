// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/analysis/sweep_table.h"

#include <string>

namespace sptc::sweep::reports {

/// One HTML file that needs no network: sim/sweep/reports/report.html with the table inside, and
/// the command that writes it, empty where none does.
std::string html_report(const analysis::SweepTable& table, const std::string& command);

}  // namespace sptc::sweep::reports
