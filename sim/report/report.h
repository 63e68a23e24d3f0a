// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>
#include <string_view>

namespace sptc::gpu {
struct GpuSpec;
}  // namespace sptc::gpu

namespace sptc::report {

enum class ReportFormat { kText, kJson, kCsv };

/// "text", "json", "csv". Throws InputError with the nearest of them.
ReportFormat parse_report_format(std::string_view word);

struct TextStyle {
  bool verbose = false;  ///< every operation with all its figures, and lists of at most 120 columns
  bool color = false;    ///< with escape sequences of a terminal, and all the rest printed()
};

/// Whether 2:4 pays, a row per operation, where the energy goes, checks and notes, in at most 100 columns.
std::string text_report(const run::RunResult& result, const TextStyle& style = {});

/// One JSON object (configs/schema/result.schema.json). What was not simulated is null; what this build cannot compute
/// is absent. Infinite errors (a NaN where a number belongs) are null.
std::string json_report(const run::RunResult& result);

/// RFC 4180 with a header row; one row per operation and variant, a column per figure.
std::string csv_report(const run::RunResult& result);

/// One page that needs no network: sim/report/run.html with the result of a run on `gpu`.
/// `command` repeats it; empty: not known.
std::string run_page(const run::RunResult& result, const gpu::GpuSpec& gpu, const std::string& command);

std::string report(const run::RunResult& result, ReportFormat format, const TextStyle& style = {});

}  // namespace sptc::report
