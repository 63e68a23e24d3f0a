// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include "sim/report/version.h"
#include "sim/run/simulation_options.h"

#include <algorithm>
#include <array>

namespace sptc::report {

std::string_view program_version() {
  return SPTC_VERSION;
}

ReportFormat parse_report_format(std::string_view word) {
  static constexpr std::array<std::string_view, 3> kNames{"text", "json", "csv"};
  const auto* const found = std::ranges::find(kNames, word);
  if (found == kNames.end()) {
    run::refuse_word("--format", word, kNames);
  }
  return static_cast<ReportFormat>(found - kNames.begin());
}

std::string report(const run::RunResult& result, ReportFormat format, const TextStyle& style) {
  switch (format) {
    case ReportFormat::kJson:
      return json_report(result);
    case ReportFormat::kCsv:
      return csv_report(result);
    case ReportFormat::kText:
      break;
  }
  return text_report(result, style);
}

}  // namespace sptc::report
