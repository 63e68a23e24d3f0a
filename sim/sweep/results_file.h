// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/database.h"
#include "sim/sweep/point.h"

#include <unordered_map>

namespace sptc::sweep {

enum class Cell {
  kIndex,       ///< a whole number from 0
  kStatus,      ///< "done" or "failed"
  kText,        ///< text
  kTextOrNull,  ///< text, or nothing
  kValue,       ///< of an axis: text or a number
  kNumber,      ///< a finite number, or nothing
  kFigure,      ///< text in all rows or finite numbers in all rows, or nothing
};

/// A table of the results: columns that it always has and, behind the first `front` of them, the
/// figures of its rows in order of their names.
struct TableLayout {
  struct Column {
    std::string name;
    std::string_view declaration;  ///< " TEXT NOT NULL"
    Cell cell;
  };
  std::string table;
  std::vector<Column> fixed;
  std::size_t front;
  /// Before the name of a figure that is called like one of these; empty: it is that column.
  std::string clash_prefix;
  Cell figure;  ///< of the other columns

  bool is_fixed(std::string_view name) const;
  /// The fixed column that has this very name, or that of a figure.
  Column column(const std::string& name) const;
  std::vector<std::string> columns(const std::set<std::string>& figures) const;
  std::string create(const std::vector<std::string>& columns) const;
};

/// points: position, hash, status, reason, axes, totals, notes.
TableLayout points_layout(const std::vector<std::string>& axes);
/// operations: position, operation, variant, what the operation is, its figures.
TableLayout operations_layout();

/// The columns of a table that is there; none where it is not.
std::set<std::string> columns_of(Database& database, const std::string& table);

/// "INSERT INTO table(columns) VALUES(?, ...)".
std::string insert_sql(const std::string& table, std::span<const std::string> columns);

/// Inserts rows into a table that gets a column for each figure that it has not seen before.
class ResultTable {
 public:
  ResultTable(Database& database, TableLayout layout);

  /// The insertion of a row with `figures` bound. Its other parameters are, from 1 on, those of
  /// layout.fixed; they are NULL.
  Statement& row(const PointFigures& figures);

 private:
  /// The parameters of `figures`, for which the table gets the columns that it lacks.
  const std::vector<int>& parameters_of(const PointFigures& figures);
  void prepare();

  Database& database_;
  TableLayout layout_;
  std::unique_ptr<Statement> insert_;
  std::unordered_map<std::string, int> parameters_;  ///< of the insertion, by column
  std::unordered_map<std::string, std::vector<int>> parameters_of_names_;
};

inline constexpr std::string_view kResultsSchema = "sptcsim-sweep-results/0.2";

/// Opens results for reading, rows there or not: one state of them, whoever writes meanwhile.
/// Refuses a file that holds anything but the tables of a sweep, declared as a sweep declares them.
/// ResultRows checks the rows. Throws InputError.
Database open_sweep(const std::filesystem::path& file);

bool is_empty(Database& results);

struct SweepEntries {
  std::map<std::string, std::string> texts;  ///< all of them; schema, name, version, build, digest
  std::string description;                   ///< of the spec; empty where it has none
  std::vector<std::string> axes;
  std::uint64_t points = 0;  ///< planned

  const std::string& text(const std::string& key) const { return texts.at(key); }
  /// Points that a file with `rows` of them lacks: of parts not merged, or not done yet.
  std::size_t missing(std::size_t rows) const;
};

/// Throws InputError where an entry is missing or damaged.
SweepEntries read_entries(Database& results);

void write_entries(Database& results, const std::map<std::string, std::string>& texts);

/// Rows in ascending order of position, each checked when it is read; none where there is no table.
class ResultRows {
 public:
  /// Reads columns for `figures`, and the layout's; NULL where the table has none.
  ResultRows(Database& results, const TableLayout& layout, const std::set<std::string>& figures);
  ResultRows(Database& results, const TableLayout& layout);

  const std::vector<std::string>& columns() const { return columns_; }

  /// The next row; false at the end. Throws InputError for a row that no sweep has written.
  bool step();
  const Statement& row() const { return *statement_; }
  std::int64_t position() const { return statement_->integer(0); }
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
