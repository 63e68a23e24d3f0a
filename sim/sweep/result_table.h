// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/database.h"
#include "sim/sweep/point.h"

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sptc::sweep {

/// What the cells of a column hold.
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
  /// Names of all columns.
  std::vector<std::string> columns(const std::set<std::string>& figures) const;
  /// The statement that makes the table with these columns.
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

}  // namespace sptc::sweep
