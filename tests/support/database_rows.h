// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <sqlite3.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace sptc::support {

/// Cell `column` of the row at hand, with its type: "7", "0.1", "'a word'", "null".
inline std::string database_cell(sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
      return "null";
    case SQLITE_FLOAT: {
      std::array<char, 32> text{};
      const double number = sqlite3_column_double(row, column);
      return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
    }
    case SQLITE_INTEGER:
      return std::to_string(sqlite3_column_int64(row, column));
    default: {
      const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
      return "'" + (bytes == nullptr ? "" : std::string(bytes, size)) + "'";
    }
  }
}

/// Every cell of every table of an SQLite file, tables by name and rows and columns in the order in
/// which the file has them: what equal results of a sweep have in common, however they came about.
inline std::string database_rows(const std::filesystem::path& file) {
  sqlite3* database = nullptr;
  int code = sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
  const auto for_each_row = [&](const std::string& sql, const std::function<void(sqlite3_stmt*)>& visit) {
    sqlite3_stmt* statement = nullptr;
    if (code == SQLITE_OK) {
      code = sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr);
    }
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
      visit(statement);
    }
    const int end = sqlite3_finalize(statement);
    code = code == SQLITE_OK ? end : code;
  };
  std::vector<std::string> tables;
  for_each_row("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", [&](sqlite3_stmt* row) {
    tables.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(row, 0)));
  });
  std::string text;
  for (const std::string& table : tables) {
    text += table + "\n";
    for_each_row("SELECT * FROM \"" + table + "\"", [&](sqlite3_stmt* row) {
      for (int column = 0; column < sqlite3_column_count(row); ++column) {
        text += std::string(sqlite3_column_name(row, column)) + "=" + database_cell(row, column);
        text += ' ';
      }
      text += '\n';
    });
  }
  const std::string problem = code == SQLITE_OK ? "" : sqlite3_errmsg(database);
  sqlite3_close(database);
  if (!problem.empty()) {
    throw std::runtime_error(file.string() + ": " + problem);
  }
  return text;
}

}  // namespace sptc::support
