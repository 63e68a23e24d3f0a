// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/sweep_table.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace sptc::sweep {

/// Throws InputError, with the nearest, unless `format` is "csv", "markdown" or "html".
void require_report_format(std::string_view format);

/// The results of a sweep for a reader. CSV: every row (RFC 4180). Markdown: what was swept,
/// sensitivities, Pareto front, failures. HTML: one file without network that shows all of it, with
/// a table that sorts and filters, and `command`, which writes it again, where one is known; of
/// many points it holds those on the front and a part of the others, and says how many.
std::string sweep_report(const SweepTable& table, std::string_view format,
                         const std::string& command = "");
/// Throws InputError for another format, and where `results` holds no sweep.
std::string sweep_report(const std::filesystem::path& results, std::string_view format);

/// One HTML file that needs no network: sim/sweep/report.html with the table inside, and
/// the command that writes it, empty where none does.
std::string html_report(const SweepTable& table, const std::string& command);

}  // namespace sptc::sweep
