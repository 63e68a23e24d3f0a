// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/database.h"
#include "sim/sweep/result_table.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sweep {

inline constexpr std::string_view kResultsSchema = "sptcsim-sweep-results/0.2";

/// Opens the results of a sweep for reading, rows there or not: one state of them, whoever writes
/// meanwhile. A file comes from anywhere: here it is refused unless it holds the tables of a sweep,
/// declared as a sweep declares them, and nothing else. ResultRows checks its rows. Throws
/// InputError.
Database open_sweep(const std::filesystem::path& file);

/// Whether `results` is a database without anything in it.
bool is_empty(Database& results);

/// What the table `sweep` of a file says.
struct SweepEntries {
  std::map<std::string, std::string> texts;  ///< all of them; schema, name, version, build, digest
  std::string description;                   ///< of the spec; empty where it has none
  std::vector<std::string> axes;
  std::uint64_t points = 0;  ///< planned

  const std::string& text(const std::string& key) const { return texts.at(key); }
  /// Points of the sweep that a file with `rows` points lacks: of parts that were not merged, or
  /// not done yet.
  std::size_t missing(std::size_t rows) const;
};

/// Throws InputError where an entry is missing or damaged.
SweepEntries read_entries(Database& results);

/// Puts the table `sweep` into an empty file.
void write_entries(Database& results, const std::map<std::string, std::string>& texts);

/// The rows of a table in ascending order of position, each checked when it is read; none where the
/// table is not there.
class ResultRows {
 public:
  /// With columns for `figures`, and the layout's; NULL where the table has none.
  ResultRows(Database& results, const TableLayout& layout, const std::set<std::string>& figures);
  /// With the figures that the table has.
  ResultRows(Database& results, const TableLayout& layout);

  const std::vector<std::string>& columns() const { return columns_; }

  /// The next row; false at the end. Throws InputError for a row that no sweep has written.
  bool step();
  const Statement& row() const { return *statement_; }
  std::int64_t position() const { return statement_->integer(0); }
  /// Throws the InputError for the row at hand.
  [[noreturn]] void refuse(const std::string& problem) const;

 private:
  void check_order();
  void check_cell(int column);

  std::string file_;
  std::string table_;
  bool one_per_position_;
  std::vector<std::string> columns_;
  std::vector<Cell> cells_;
  std::vector<bool> has_text_, has_number_;  ///< by column: what came so far
  std::optional<Statement> statement_;
  std::optional<std::int64_t> last_;  ///< position of the row before
};

/// Whether a file says that merge_sweeps() has written it, rows in order (user_version is 1).
bool is_finished(Database& database);
void set_finished(Database& database, bool finished);

}  // namespace sptc::sweep
