// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/sweep_table.h"

namespace sptc::sweep {

/// Throws InputError, with the nearest, unless `format` is "csv", "markdown" or "html".
void require_report_format(std::string_view format);

/// CSV: every row (RFC 4180). Markdown: what was swept, sensitivities, Pareto front, failures. HTML: one file that
/// shows all of it, and `command`, which writes it again; of many points those on the front and a part of the others.
std::string sweep_report(const SweepTable& table, std::string_view format, const std::string& command = "");
/// Throws InputError for another format, and where `results` holds no sweep.
std::string sweep_report(const std::filesystem::path& results, std::string_view format);

/// sim/sweep/report.html with the table inside, and the command that writes it, empty where none does.
std::string html_report(const SweepTable& table, const std::string& command);

}  // namespace sptc::sweep
