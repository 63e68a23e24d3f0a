// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/files/database.h"
#include "sim/sweep/point/point_figures.h"

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sptc::sweep::store {

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

/// A table of the results: columns that it always has, in front and at the end, and between them
/// the figures of its rows in order of their names.
struct TableLayout {
  struct Column {
    std::string name;
    std::string_view declaration;  ///< "TEXT NOT NULL"
    Cell cell;
  };
  std::string table;
  std::vector<Column> front, end;
  /// Before the name of a figure that is called like one of these; empty: it is that column.
  std::string clash_prefix;
  Cell figure;  ///< of the other columns

  bool is_fixed(std::string_view name) const;
  /// The column of front or end that has this very name; null for a figure.
  const Column* find(std::string_view name) const;
  /// What the column `name` holds.
  Cell cell(std::string_view name) const;
  /// What stands behind the name of a column where it is declared; "" behind that of a figure.
  std::string_view declaration(std::string_view name) const;
  /// Names of all columns.
  std::vector<std::string> columns(const std::set<std::string>& figures) const;
  std::string create(const std::set<std::string>& figures) const;
};

/// points: position, hash, status, reason, axes, totals, notes.
TableLayout points_layout(const std::vector<std::string>& axes);
/// operations: position, operation, variant, what the operation is, its figures.
TableLayout operations_layout();

/// The columns of a table that is there; none where it is not.
std::set<std::string> columns_of(files::Database& database, const std::string& table);

/// "INSERT INTO table(columns) VALUES(?, ...)".
std::string insert_sql(const std::string& table, std::span<const std::string> columns);

/// Inserts rows into a table that gets a column for each figure that it has not seen before.
class ResultTable {
 public:
  ResultTable(files::Database& database, TableLayout layout);

  const TableLayout& layout() const { return layout_; }

  /// The columns of the figures of a row that the table does not have.
  std::vector<std::string> missing(const point::PointFigures& figures);
  void add_columns(const std::vector<std::string>& names);

  /// The insertion of a row with `figures` bound. Its other parameters are, from 1 on, those of
  /// layout.front and layout.end; they are NULL.
  files::Statement& row(const point::PointFigures& figures);

 private:
  std::vector<std::string> columns_of(const point::PointFigures& figures) const;
  const std::vector<int>& parameters_of(const point::PointFigures& figures);
  void prepare();

  files::Database& database_;
  TableLayout layout_;
  std::unique_ptr<files::Statement> insert_;
  std::unordered_map<std::string, int> parameters_;  ///< of the insertion, by column
  std::unordered_map<std::string, std::vector<int>> parameters_of_names_;
};

}  // namespace sptc::sweep::store
