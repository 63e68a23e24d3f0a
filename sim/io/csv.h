// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::io {

/// One record of a CSV file and the line it starts on (from 1).
struct CsvRecord {
  std::int64_t line = 0;
  std::vector<std::string> fields;
};

/// The records of RFC 4180 text: fields may be quoted and then hold commas, line breaks and doubled
/// quotes; lines end with LF or CRLF. A byte-order mark and blank lines are skipped. Throws
/// InputError "file:line: ...".
std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& file);

std::string csv_field(std::string_view text);

}  // namespace sptc::io
