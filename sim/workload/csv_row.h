// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload_text.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::workload {

/// A record of a table in CSV by the names of its columns. They and the fields stay.
class CsvRow {
 public:
  /// `place` is for messages: "x.csv:7".
  CsvRow(std::span<const std::string> columns, std::span<const std::string> fields,
         std::string place)
      : columns_(columns), fields_(fields), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  /// Throws InputError with the place.
  [[noreturn]] void fail(std::string_view problem) const;

  /// Returns the field; empty where the table has no such column, or the record no such field.
  std::string_view text(std::string_view column) const;
  /// Throws InputError for what is no integer from `least` to `most`.
  std::int64_t integer(std::string_view column, std::int64_t least = 1,
                       std::int64_t most = kMaxExtent) const;
  /// Returns `absent` for an empty field, else what integer() does.
  std::int64_t integer_or(std::string_view column, std::int64_t absent, std::int64_t least = 1,
                          std::int64_t most = kMaxExtent) const;

 private:
  std::size_t index(std::string_view column) const;

  std::span<const std::string> columns_, fields_;
  std::string place_;
};

}  // namespace sptc::workload
