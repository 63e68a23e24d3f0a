// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include "models/base/text.h"
#include "sim/report/version.h"

#include <array>

namespace sptc::report {

std::string_view program_version() {
  return SPTC_VERSION;
}

ReportFormat parse_report_format(std::string_view word) {
  static constexpr std::array<std::string_view, 3> kNames{"text", "json", "csv"};
  return static_cast<ReportFormat>(base::place_of_name("--format", word, kNames));
}

std::string report(const run::RunResult& result, ReportFormat format, const TextStyle& style) {
  return format == ReportFormat::kJson  ? json_report(result)
         : format == ReportFormat::kCsv ? csv_report(result)
                                        : text_report(result, style);
}

}  // namespace sptc::report
