// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace sptc::sweep {

class Source;

/// Ends what SQLite made.
struct Close {
  void operator()(sqlite3* database) const;
  void operator()(sqlite3_stmt* statement) const;
};

/// A prepared SQL statement. Parameters and columns count from 1 and 0, as SQLite has it.
class Statement {
 public:
  /// Types with the numbers of SQLite.
  enum class Type { kInteger = 1, kReal, kText, kBlob, kNull };

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  /// The text must live until the statement was reset.
  void bind(int parameter, std::string_view value);
  void clear();

  /// The next row; false at the end.
  bool step();
  void reset();
  /// Runs a statement without rows once.
  void execute();
  /// Runs an insertion once with the cells of `row`.
  void insert(const Statement& row);

  int columns() const;
  Type type(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, std::string file, std::shared_ptr<const Source> source);

  std::shared_ptr<const Source> source_;  ///< outlives the statement
  std::unique_ptr<sqlite3_stmt, Close> statement_;
  std::string file_;
};

/// An SQLite file. Whatever SQLite refuses is an InputError that names the file and says why: no database, a full disk,
/// another program's lock. Triggers and views in the file do not run.
///
/// A file that is read is left alone, and so is what lies beside it: nothing is played back, written, removed or
/// locked. Rows that are in its log alone (-wal) are read from a copy. A file with a journal that holds what a program
/// has not undone is refused, in every mode: playing it back removes whatever file it names.
class Database {
 public:
  enum class Mode { kRead, kWrite, kCreate };
  Database(const std::filesystem::path& file, Mode mode);

  const std::string& file() const { return file_; }

  Statement prepare(const std::string& sql);
  void execute(const std::string& sql);
  /// The first column of the first row as text; empty where there is none.
  std::string value(const std::string& sql);

  /// What is written goes to a log first: a process that is killed leaves the file whole.
  void begin_log();
  /// What the log holds goes to the file, and the log goes. False where another program reads it.
  bool end_log();

 private:
  std::string file_;
  std::shared_ptr<const Source> source_;  ///< where it is read
  std::unique_ptr<sqlite3, Close> database_;
};

/// Bytes of what SQLite has beside `file` ("-wal"); 0 where it is not there. Throws InputError where it is no regular
/// file, or has another name: SQLite would wait for a pipe, and write through a link.
std::uintmax_t size_beside(const std::filesystem::path& file, std::string_view end);

std::string sql_name(std::string_view name);

/// `name` in lower case: the same for all names that SQLite takes for one column.
std::string as_column(std::string_view name);

}  // namespace sptc::sweep
