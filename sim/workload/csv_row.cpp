// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/csv_row.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace sptc::workload {

void CsvRow::fail(std::string_view problem) const {
  throw base::InputError(fmt::format("{}: {}", place_, problem));
}

std::size_t CsvRow::index(std::string_view column) const {
  return static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), column) -
                                  columns_.begin());
}

std::string_view CsvRow::text(std::string_view column) const {
  const std::size_t at = index(column);
  return at < columns_.size() && at < fields_.size() ? std::string_view(fields_[at])
                                                     : std::string_view();
}

std::int64_t CsvRow::integer(std::string_view column, std::int64_t least, std::int64_t most) const {
  const std::size_t at = index(column);
  if (at < columns_.size() && at >= fields_.size()) {
    fail(fmt::format("{} fields, so {} is missing", fields_.size(), column));
  }
  const std::string_view field = text(column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || value < least || value > most) {
    fail(fmt::format("{} must be an integer from {} to {}, not '{}'", column, least, most,
                     io::printable(field)));
  }
  return value;
}

std::int64_t CsvRow::integer_or(std::string_view column, std::int64_t absent, std::int64_t least,
                                std::int64_t most) const {
  return text(column).empty() ? absent : integer(column, least, most);
}

}  // namespace sptc::workload
