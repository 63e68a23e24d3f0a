// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/analysis/sweep_table.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace sptc::sweep::reports {

enum class SweepReportFormat { kCsv, kMarkdown, kHtml };

/// "csv", "markdown", "html". Throws InputError with the nearest of them.
SweepReportFormat parse_sweep_report_format(std::string_view word);

/// The results of a sweep for a reader. CSV: every row (RFC 4180). Markdown: what was swept,
/// sensitivities, Pareto front, failures. HTML: one file without network that shows all of it, with
/// a table that sorts and filters, and `command`, which writes it again, where one is known; of
/// many points it holds those on the front and a part of the others, and says how many.
std::string sweep_report(const analysis::SweepTable& table, SweepReportFormat format,
                         const std::string& command = "");
/// Throws InputError where `results` holds no sweep.
std::string sweep_report(const std::filesystem::path& results, SweepReportFormat format,
                         const std::string& command = "");

/// One HTML file that needs no network: sim/sweep/reports/report.html with the table inside, and
/// the command that writes it, empty where none does.
std::string html_report(const analysis::SweepTable& table, const std::string& command);

/// Whether `file` is the spec of the sweep in `results`, which hold no more than its text. Throws
/// InputError where `results` holds no sweep.
bool is_spec_of(const std::filesystem::path& results, const std::filesystem::path& file);

}  // namespace sptc::sweep::reports
