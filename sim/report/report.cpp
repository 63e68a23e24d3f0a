// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/report/version.h"

#include <array>

namespace sptc::report {

std::string_view program_version() {
  return SPTC_VERSION;
}

ReportFormat parse_report_format(std::string_view word) {
  static constexpr std::array<std::string_view, 3> kNames{"text", "json", "csv"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == word) {
      return static_cast<ReportFormat>(i);
    }
  }
  throw base::InputError("unknown --format " + base::unknown_name(word, kNames));
}

std::string report(const run::RunResult& result, ReportFormat format) {
  switch (format) {
    case ReportFormat::kJson:
      return json_report(result);
    case ReportFormat::kCsv:
      return csv_report(result);
    case ReportFormat::kText:
      break;
  }
  return text_report(result);
}

}  // namespace sptc::report
